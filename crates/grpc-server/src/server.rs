//! The wiring: one port for gRPC and HTTP, the store, the service, the tasks beside it, and the way they end.
//!
//! Order of the end: refuse what is new, end the streams, let requests under way finish, write what waits, close the
//! store. Each step within the grace of the configuration.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use agrajag_proto::FILE_DESCRIPTOR_SET;
use agrajag_proto::v1::admin_service_server::AdminServiceServer;
use agrajag_proto::v1::tool_health_service_server::ToolHealthServiceServer;
use futures::Stream;
use health_service::Service;
use ports::{Store, StoreError};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::admin_api::AdminApi;
use crate::api::{Api, HealthApi};
use crate::config::{Config, ConfigError, StoreUrl};
use crate::edge::{Edge, Shared};
use crate::late_store::LateStore;
use crate::metrics::{Metrics, MetricsError};
use crate::rules_dir::RulesDir;
use crate::system::{SystemClock, SystemIds};
use crate::{http_api, stores, wire};

/// The name under which the health service tells how the store stands.
pub const STORE_HEALTH: &str = "agrajag.store";

/// How long a server waits for its store before it starts without.
const FIRST_OPEN: Duration = Duration::from_secs(10);

/// How often the store's standing and the queue are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long nothing is accepted after accepting failed, for example for want of file handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why a server does not start or stops.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}` (`{field}`): {}", listen_remedy(.source))]
    Listen {
        /// The setting.
        field: &'static str,
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The store cannot be opened, and the configuration demands it.
    #[error(
        "cannot open the store `{url}`; correct `store`, or leave `require_store` out to start without it"
    )]
    Store {
        /// The store, without its password.
        url: StoreUrl,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// Metrics cannot be set up.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// The descriptor that ships with the program cannot be read.
    #[error("the interface's own description cannot be read")]
    Reflection(#[source] tonic_reflection::server::Error),
    /// The signals that end a server cannot be received.
    #[error("signals cannot be received")]
    Signals(#[source] io::Error),
    /// A second signal came before everything was in order.
    #[error("ended at once by a second signal; reports that were not acknowledged are lost")]
    Interrupted,
    /// The port broke.
    #[error("serving failed")]
    Transport(#[source] tonic::transport::Error),
}

fn listen_remedy(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "the port is in use; stop the other program, or choose another port (`--listen 127.0.0.1:0` takes a free one)"
                .to_owned()
        }
        io::ErrorKind::AddrNotAvailable => "this machine has no such address".to_owned(),
        io::ErrorKind::PermissionDenied => "ports below 1024 need more rights; choose a higher one".to_owned(),
        _ => error.to_string(),
    }
}

/// A server that listens and is ready to run. Dropping it ends its tasks without waiting for them.
pub struct Server {
    listener: Option<TcpListener>,
    local_addr: SocketAddr,
    metrics_listener: Option<TcpListener>,
    config: Config,
    service: Service,
    routes: Routes,
    beside: Option<(&'static str, Routes)>,
    shared: Arc<Shared>,
    metrics: Arc<Metrics>,
    reporter: HealthReporter,
    streams: CancellationToken,
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.streams.cancel();
        self.stop.cancel();
    }
}

/// Serves until SIGTERM or SIGINT, then ends in order. A second signal ends at once.
///
/// # Errors
/// See [`Server::bind`] and [`Server::run`].
pub async fn serve(config: Config) -> Result<(), ServeError> {
    let server = Server::bind(config).await?;
    let mut signals = Signals::new().map_err(ServeError::Signals)?;
    let (asked, told) = tokio::sync::oneshot::channel::<()>();
    let run = server.run(async {
        // The sender goes only when the signal came.
        let _ = told.await;
    });
    let mut run = std::pin::pin!(run);
    tokio::select! {
        result = &mut run => return result,
        () = signals.next() => drop(asked),
    }
    tokio::select! {
        result = run => result,
        () = signals.next() => Err(ServeError::Interrupted),
    }
}

impl Server {
    /// Opens port and store and starts the service. A store that cannot be reached is no error unless the
    /// configuration says so: the server starts without it and keeps trying (DESIGN §10).
    ///
    /// # Errors
    /// The configuration, the port, or a store that is required.
    pub async fn bind(config: Config) -> Result<Self, ServeError> {
        config.validate()?;
        let url = config.store_url(&|name| std::env::var(name).ok())?;
        let (listener, local_addr) = listen("listen", config.listen).await?;
        let metrics_listener = match config.metrics.listen {
            Some(address) => Some(listen("metrics.listen", address).await?.0),
            None => None,
        };
        let metrics =
            Arc::new(Metrics::new(config.metrics.by_tool, config.telemetry.otlp_endpoint.as_deref())?);
        let stop = CancellationToken::new();
        let mut tasks = Vec::new();
        let store = open_store(&config, &url, &stop, &mut tasks).await?;
        let rules = wire::rules::registry(&config);
        if let Some(directory) = config.documents.clone() {
            tasks.push(follow_rules(&config, directory, &rules, &stop));
        }
        let service = Service::start(
            store,
            Arc::new(SystemClock::new()),
            Arc::new(SystemIds),
            config.service_settings(),
            rules,
        );
        metrics.observe(&service);
        let streams = CancellationToken::new();
        let shared = Arc::new(Shared {
            max_concurrent_requests: config.limits.max_concurrent_requests,
            max_request_bytes: config.limits.max_request_bytes,
            request_timeout: config.limits.request_timeout.duration(),
            under_way: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        });
        let api = Arc::new(Api::new(
            service.clone(),
            config.clone(),
            url.kind(),
            Arc::clone(&metrics),
            Arc::clone(&shared),
            streams.clone(),
        ));
        let (reporter, routes) = routes(&config, &api, metrics_listener.is_none())?;
        tasks.push(tokio::spawn(look_after(Arc::clone(&api), reporter.clone(), stop.clone())));
        Ok(Self {
            local_addr,
            listener: Some(listener),
            metrics_listener,
            config,
            service,
            routes,
            beside: None,
            shared,
            metrics,
            reporter,
            streams,
            stop,
            tasks,
        })
    }

    /// Where it listens: the port taken, if the configuration asked for a free one.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Where metrics are shown, if they have an address of their own.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn metrics_addr(&self) -> io::Result<Option<SocketAddr>> {
        self.metrics_listener.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// Serves further routes on the same port, those whose path begins with `prefix`. They pass none of the limits and
    /// measurements of a request: a benchmark has something bare to compare with.
    #[must_use]
    pub fn with_routes_beside(mut self, prefix: &'static str, routes: Routes) -> Self {
        self.beside = Some((prefix, routes));
        self
    }

    /// The service behind the port.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Serves until `shutdown`, then ends in order within the grace of the configuration.
    ///
    /// # Errors
    /// The port broke.
    pub async fn run(mut self, shutdown: impl Future<Output = ()> + Send) -> Result<(), ServeError> {
        let Some(listener) = self.listener.take() else { return Ok(()) };
        let limits = &self.config.limits;
        let edge = Edge::new(self.routes.clone(), Arc::clone(&self.shared), Arc::clone(&self.metrics))
            .with_beside(self.beside.take());
        let drained = CancellationToken::new();
        if let Some(listener) = self.metrics_listener.take() {
            let router = http_api::metrics_router(Arc::clone(&self.metrics));
            let serving = axum_serve(listener, router, self.stop.clone());
            self.tasks.push(tokio::spawn(serving));
        }
        let serving = tonic::transport::Server::builder()
            .accept_http1(true)
            .max_concurrent_streams(limits.max_streams_per_connection)
            .http2_keepalive_interval(Some(limits.keepalive_interval.duration()))
            .http2_keepalive_timeout(Some(limits.keepalive_timeout.duration()))
            .serve_with_incoming_shutdown(edge, accepted(listener), drained.clone().cancelled_owned());
        tracing::info!(address = %self.local_addr, "serving");
        let mut serving = std::pin::pin!(serving);
        let mut shutdown = std::pin::pin!(shutdown);
        let broke = tokio::select! {
            result = &mut serving => Some(result),
            () = &mut shutdown => None,
        };
        let result = match broke {
            Some(result) => result.map_err(ServeError::Transport),
            None => {
                tracing::info!("shutting down");
                self.shared.stopping.store(true, Ordering::Relaxed);
                self.reporter.set_service_status("", ServingStatus::NotServing).await;
                self.streams.cancel();
                drained.cancel();
                let grace = self.config.shutdown.grace.duration();
                match tokio::time::timeout(grace, serving).await {
                    Ok(result) => result.map_err(ServeError::Transport),
                    Err(_) => {
                        tracing::warn!(?grace, "requests were still under way at the end of the grace");
                        Ok(())
                    }
                }
            }
        };
        self.end().await;
        result
    }

    /// Writes what waits and ends every task.
    async fn end(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        self.streams.cancel();
        let grace = self.config.shutdown.grace.duration().max(Duration::from_secs(1));
        if !self.service.shutdown(grace).await {
            tracing::warn!("what waited to be written was not all written in time");
        }
        self.stop.cancel();
        for task in std::mem::take(&mut self.tasks) {
            let _ = task.await;
        }
        let metrics = Arc::clone(&self.metrics);
        let _ = tokio::task::spawn_blocking(move || metrics.shutdown()).await;
        tracing::info!("ended");
    }
}

async fn listen(field: &'static str, address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let wrong = |source| ServeError::Listen { field, address, source };
    let listener = TcpListener::bind(address).await.map_err(wrong)?;
    let local = listener.local_addr().map_err(wrong)?;
    Ok((listener, local))
}

/// Connections without Nagle's delay, which would hold back every small answer (DESIGN §8).
fn accepted(listener: TcpListener) -> impl Stream<Item = io::Result<TcpStream>> {
    futures::stream::unfold(listener, |listener| async move {
        loop {
            match listener.accept().await {
                Ok((connection, _)) => {
                    if let Err(error) = connection.set_nodelay(true) {
                        tracing::debug!(
                            error = &error as &dyn std::error::Error,
                            "a connection keeps its delay"
                        );
                    }
                    return Some((Ok(connection), listener));
                }
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    })
}

async fn axum_serve(listener: TcpListener, router: axum::Router, stop: CancellationToken) {
    let serving = tonic::transport::Server::builder().accept_http1(true).serve_with_incoming_shutdown(
        Routes::from(router),
        accepted(listener),
        stop.clone().cancelled_owned(),
    );
    if let Err(error) = serving.await {
        tracing::error!(error = &error as &dyn std::error::Error, "metrics are not shown any more");
    }
}

fn routes(
    config: &Config,
    api: &Arc<Api>,
    with_metrics: bool,
) -> Result<(HealthReporter, Routes), ServeError> {
    let (reporter, health) = tonic_health::server::health_reporter();
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(ServeError::Reflection)?;
    let max = config.limits.max_request_bytes;
    let routes = Routes::from(http_api::router(Arc::clone(api), with_metrics))
        .add_service(
            ToolHealthServiceServer::new(HealthApi(Arc::clone(api)))
                .max_decoding_message_size(max)
                .accept_compressed(tonic::codec::CompressionEncoding::Gzip),
        )
        .add_service(
            AdminServiceServer::new(AdminApi(Arc::clone(api)))
                .max_decoding_message_size(max)
                .accept_compressed(tonic::codec::CompressionEncoding::Gzip),
        )
        .add_service(health)
        .add_service(reflection)
        .prepare();
    Ok((reporter, routes))
}

/// Opens the store, or leaves a task that keeps trying.
async fn open_store(
    config: &Config,
    url: &StoreUrl,
    stop: &CancellationToken,
    tasks: &mut Vec<JoinHandle<()>>,
) -> Result<Arc<dyn Store>, ServeError> {
    let late = Arc::new(LateStore::new());
    let first = match tokio::time::timeout(FIRST_OPEN, stores::open(url)).await {
        Ok(opened) => opened,
        Err(_) => {
            Err(StoreError::Unavailable { reason: format!("no answer within {FIRST_OPEN:?}"), source: None })
        }
    };
    if let Err(source) = late.settle(first) {
        if config.require_store {
            return Err(ServeError::Store { url: url.clone(), source });
        }
        tracing::warn!(
            error = &source as &dyn std::error::Error,
            store = %url,
            "starting without the store; trying again until it can be opened"
        );
        let url = url.clone();
        let opening = Arc::clone(&late).open_until(stop.clone(), move || {
            let url = url.clone();
            async move { stores::open(&url).await }
        });
        tasks.push(tokio::spawn(opening));
    }
    Ok(late)
}

fn follow_rules(
    config: &Config,
    directory: std::path::PathBuf,
    rules: &Arc<health_service::Rules>,
    stop: &CancellationToken,
) -> JoinHandle<()> {
    let (rules, stop) = (Arc::clone(rules), stop.clone());
    let every = config.rules.poll_interval.duration();
    let mut directory = RulesDir::new(directory);
    // The first look is taken before the first request.
    match directory.poll() {
        Ok(layers) => wire::rules::take_files(&rules, layers.unwrap_or_default()),
        Err(error) => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the documents directory cannot be read"
            );
        }
    }
    tokio::spawn(directory.follow(every, stop, move |layers| wire::rules::take_files(&rules, layers)))
}

/// Tells clients and operators how the store stands.
async fn look_after(api: Arc<Api>, reporter: HealthReporter, stop: CancellationToken) {
    let mut told = None;
    loop {
        let is_available = api.is_store_available();
        if told != Some(is_available) {
            let status = if is_available { ServingStatus::Serving } else { ServingStatus::NotServing };
            reporter.set_service_status(STORE_HEALTH, status).await;
            told = Some(is_available);
        }
        if is_available && let Ok(n) = api.service.queued_jobs().await {
            api.metrics().set_queued_jobs(n);
        }
        api.refresh();
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
