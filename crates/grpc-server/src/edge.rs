//! What every request passes, gRPC or HTTP: the limit of requests under way, the deadline, the span, the measurement.
//!
//! Knows methods by their path and nothing of what they do. A request whose deadline is over is dropped and answered
//! DEADLINE_EXCEEDED; a write that it had handed over is completed by the writer all the same.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue, Request, Response, header};
use tonic::body::Body;
use tonic::service::Routes;
use tracing::Instrument as _;
use tracing::field::Empty;

use crate::error::Error;
use crate::{http_api, metrics::Metrics, telemetry};

/// The answer to a request whose time is over leaves this much earlier, so that it arrives before the client gives up.
const HEAD_START: Duration = Duration::from_millis(3);

/// Limits and state that all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) max_concurrent_requests: usize,
    pub(crate) max_request_bytes: usize,
    pub(crate) request_timeout: Duration,
    pub(crate) under_way: AtomicUsize,
    /// Set once the server was told to stop.
    pub(crate) stopping: AtomicBool,
}

/// See the module.
#[derive(Clone)]
pub(crate) struct Edge {
    routes: Routes,
    shared: Arc<Shared>,
    metrics: Arc<Metrics>,
    /// Routes below a prefix that pass nothing of this.
    beside: Option<(&'static str, Routes)>,
}

/// Counts one request under way.
struct UnderWay(Arc<Shared>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Edge {
    pub(crate) fn new(routes: Routes, shared: Arc<Shared>, metrics: Arc<Metrics>) -> Self {
        Self { routes, shared, metrics, beside: None }
    }

    pub(crate) fn with_beside(self, beside: Option<(&'static str, Routes)>) -> Self {
        Self { beside, ..self }
    }

    /// Whether the request may begin.
    fn admit(&self) -> Result<UnderWay, Error> {
        let before = self.shared.under_way.fetch_add(1, Ordering::Relaxed);
        let under_way = UnderWay(Arc::clone(&self.shared));
        if self.shared.stopping.load(Ordering::Relaxed) {
            return Err(Error::ShuttingDown);
        }
        if before >= self.shared.max_concurrent_requests {
            return Err(Error::Overloaded { limit: self.shared.max_concurrent_requests });
        }
        Ok(under_way)
    }
}

impl tower::Service<Request<Body>> for Edge {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        tower::Service::<Request<Body>>::poll_ready(&mut self.routes, context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if let Some((prefix, routes)) = &mut self.beside
            && request.uri().path().starts_with(*prefix)
        {
            return Box::pin(routes.call(request));
        }
        let method = Method::of(request.uri().path());
        let is_grpc = is_grpc(request.headers());
        let began = Instant::now();
        let metrics = Arc::clone(&self.metrics);
        // Watching health and metrics must work on a server that is busy or stopping.
        let under_way = if method.is_for_operators() { Ok(None) } else { self.admit().map(Some) };
        let under_way = match under_way {
            Ok(it) => it,
            Err(error) => {
                let response = refused(&error, is_grpc);
                metrics.request(method, is_grpc, outcome(&response, is_grpc), began.elapsed());
                return Box::pin(std::future::ready(Ok(response)));
            }
        };
        let span = tracing::debug_span!(
            "rpc",
            otel.name = method.name(),
            otel.kind = "server",
            rpc.system.name = if is_grpc { "grpc" } else { "http" },
            rpc.method = method.name(),
            rpc.response.status_code = Empty,
        );
        telemetry::adopt_parent(&span, request.headers());
        let allowed = grpc_timeout(request.headers())
            .map_or(self.shared.request_timeout, |it| it.min(self.shared.request_timeout));
        let max_request_bytes = self.shared.max_request_bytes;
        let work = self.routes.call(request);
        let is_watched = !span.is_disabled();
        let answer = async move {
            let _under_way = under_way;
            let response = match tokio::time::timeout(head_start(allowed), work).await {
                Ok(Ok(response)) => response,
                Ok(Err(never)) => match never {},
                Err(_) => refused(&Error::Deadline { allowed }, is_grpc),
            };
            let response = told_too_large(response, max_request_bytes);
            let outcome = outcome(&response, is_grpc);
            if is_watched {
                tracing::Span::current().record("rpc.response.status_code", outcome);
            }
            metrics.request(method, is_grpc, outcome, began.elapsed());
            Ok(response)
        };
        if is_watched { Box::pin(answer.instrument(span)) } else { Box::pin(answer) }
    }
}

macro_rules! methods {
    ($($variant:ident = $path:literal => $name:literal),+ $(,)?) => {
        /// The methods that are measured by name; everything else is `other`, so that no client can make time series.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Method {
            $($variant,)+
            Other,
        }

        impl Method {
            fn of(path: &str) -> Self {
                match path {
                    $($path => Self::$variant,)+
                    _ => Self::Other,
                }
            }

            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                    Self::Other => "other",
                }
            }

            #[cfg(test)]
            const PATHS: &'static [&'static str] = &[$($path),+];
        }
    };
}

methods! {
    Check = "/agrajag.v1.ToolHealthService/Check" => "agrajag.v1.ToolHealthService/Check",
    RecordSuccess = "/agrajag.v1.ToolHealthService/RecordSuccess" => "agrajag.v1.ToolHealthService/RecordSuccess",
    RecordEvent = "/agrajag.v1.ToolHealthService/RecordEvent" => "agrajag.v1.ToolHealthService/RecordEvent",
    Lookup = "/agrajag.v1.ToolHealthService/Lookup" => "agrajag.v1.ToolHealthService/Lookup",
    Watch = "/agrajag.v1.ToolHealthService/Watch" => "agrajag.v1.ToolHealthService/Watch",
    Explain = "/agrajag.v1.ToolHealthService/Explain" => "agrajag.v1.ToolHealthService/Explain",
    GetInfo = "/agrajag.v1.ToolHealthService/GetInfo" => "agrajag.v1.ToolHealthService/GetInfo",
    GetDocument = "/agrajag.v1.AdminService/GetDocument" => "agrajag.v1.AdminService/GetDocument",
    ListDocuments = "/agrajag.v1.AdminService/ListDocuments" => "agrajag.v1.AdminService/ListDocuments",
    MarkUnavailable = "/agrajag.v1.AdminService/MarkUnavailable" => "agrajag.v1.AdminService/MarkUnavailable",
    MarkDegraded = "/agrajag.v1.AdminService/MarkDegraded" => "agrajag.v1.AdminService/MarkDegraded",
    MarkAvailable = "/agrajag.v1.AdminService/MarkAvailable" => "agrajag.v1.AdminService/MarkAvailable",
    SetHold = "/agrajag.v1.AdminService/SetHold" => "agrajag.v1.AdminService/SetHold",
    ReleaseHold = "/agrajag.v1.AdminService/ReleaseHold" => "agrajag.v1.AdminService/ReleaseHold",
    SetCooldown = "/agrajag.v1.AdminService/SetCooldown" => "agrajag.v1.AdminService/SetCooldown",
    ClearCooldown = "/agrajag.v1.AdminService/ClearCooldown" => "agrajag.v1.AdminService/ClearCooldown",
    ClearDocument = "/agrajag.v1.AdminService/ClearDocument" => "agrajag.v1.AdminService/ClearDocument",
    DeleteDocuments = "/agrajag.v1.AdminService/DeleteDocuments" => "agrajag.v1.AdminService/DeleteDocuments",
    GetEffectiveRules = "/agrajag.v1.AdminService/GetEffectiveRules" => "agrajag.v1.AdminService/GetEffectiveRules",
    ValidateRules = "/agrajag.v1.AdminService/ValidateRules" => "agrajag.v1.AdminService/ValidateRules",
    BacktestRules = "/agrajag.v1.AdminService/BacktestRules" => "agrajag.v1.AdminService/BacktestRules",
    PutRuleLayer = "/agrajag.v1.AdminService/PutRuleLayer" => "agrajag.v1.AdminService/PutRuleLayer",
    DeleteRuleLayer = "/agrajag.v1.AdminService/DeleteRuleLayer" => "agrajag.v1.AdminService/DeleteRuleLayer",
    ListRuleLayers = "/agrajag.v1.AdminService/ListRuleLayers" => "agrajag.v1.AdminService/ListRuleLayers",
    ListJobs = "/agrajag.v1.AdminService/ListJobs" => "agrajag.v1.AdminService/ListJobs",
    HttpCheck = "/v1/check" => "POST /v1/check",
    HttpRecordSuccess = "/v1/record-success" => "POST /v1/record-success",
    HttpLookup = "/v1/lookup" => "POST /v1/lookup",
    Healthz = "/healthz" => "GET /healthz",
    MetricsText = "/metrics" => "GET /metrics",
    HealthCheck = "/grpc.health.v1.Health/Check" => "grpc.health.v1.Health/Check",
    HealthWatch = "/grpc.health.v1.Health/Watch" => "grpc.health.v1.Health/Watch",
}

impl Method {
    const fn is_for_operators(self) -> bool {
        matches!(self, Self::Healthz | Self::MetricsText | Self::HealthCheck | Self::HealthWatch)
    }
}

pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|it| it.as_bytes().starts_with(b"application/grpc"))
}

/// The deadline that the client gave; a header that cannot be read is passed over, as other servers do.
fn grpc_timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let n: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(n * 3_600),
        "M" => Duration::from_secs(n * 60),
        "S" => Duration::from_secs(n),
        "m" => Duration::from_millis(n),
        "u" => Duration::from_micros(n),
        "n" => Duration::from_nanos(n),
        _ => return None,
    })
}

/// A little less than what is allowed.
fn head_start(allowed: Duration) -> Duration {
    allowed.saturating_sub(HEAD_START.min(allowed / 4))
}

/// The answer of a request that was not begun or not finished.
fn refused(error: &Error, is_grpc: bool) -> Response<Body> {
    if is_grpc {
        return error.status().into_http();
    }
    http_api::problem(error).map(Body::new)
}

/// What came of it, for spans and metrics: the gRPC code's name, or the HTTP status.
fn outcome(response: &Response<Body>, is_grpc: bool) -> &'static str {
    if !is_grpc {
        return match response.status().as_u16() {
            200..=299 => "2xx",
            400 => "400",
            404 => "404",
            413 => "413",
            429 => "429",
            503 => "503",
            504 => "504",
            401..=499 => "4xx",
            _ => "5xx",
        };
    }
    // An answer without the header carries its status behind the message: it has one.
    match response.headers().get("grpc-status").map(HeaderValue::as_bytes) {
        None | Some(b"0") => "OK",
        Some(b"1") => "CANCELLED",
        Some(b"3") => "INVALID_ARGUMENT",
        Some(b"4") => "DEADLINE_EXCEEDED",
        Some(b"5") => "NOT_FOUND",
        Some(b"7") => "PERMISSION_DENIED",
        Some(b"8") => "RESOURCE_EXHAUSTED",
        Some(b"9") => "FAILED_PRECONDITION",
        Some(b"10") => "ABORTED",
        Some(b"11") => "OUT_OF_RANGE",
        Some(b"12") => "UNIMPLEMENTED",
        Some(b"13") => "INTERNAL",
        Some(b"14") => "UNAVAILABLE",
        Some(b"15") => "DATA_LOSS",
        Some(b"16") => "UNAUTHENTICATED",
        Some(_) => "UNKNOWN",
    }
}

/// The transport refuses a message over the limit in its own words; the answer gets ours, with a reason.
fn told_too_large(response: Response<Body>, max: usize) -> Response<Body> {
    let is_out_of_range = response.headers().get("grpc-status").is_some_and(|it| it == "11");
    let is_length = response
        .headers()
        .get("grpc-message")
        .is_some_and(|it| it.as_bytes().windows(18).any(|it| it == b"length%20too%20lar"));
    if is_out_of_range && is_length { refused(&Error::TooLarge { max }, true) } else { response }
}

#[cfg(test)]
mod tests {
    use agrajag_proto::FILE_DESCRIPTOR_SET;
    use prost_reflect::DescriptorPool;

    use super::*;

    /// Every RPC of the interface is measured by its own name.
    #[test]
    fn no_method_is_forgotten() {
        let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
        for service in pool.services() {
            for method in service.methods() {
                let path = format!("/{}/{}", service.full_name(), method.name());
                assert_ne!(Method::of(&path), Method::Other, "{path}");
                assert_eq!(format!("/{}", Method::of(&path).name()), path);
            }
        }
        assert_eq!(Method::of("/nobody.knows/This"), Method::Other);
        assert!(Method::PATHS.iter().all(|it| it.starts_with('/')));
    }

    #[test]
    fn deadlines_are_read_as_the_protocol_has_them() {
        let read = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-timeout", HeaderValue::from_str(text).unwrap());
            grpc_timeout(&headers)
        };
        assert_eq!(read("250m"), Some(Duration::from_millis(250)));
        assert_eq!(read("1S"), Some(Duration::from_secs(1)));
        assert_eq!(read("2H"), Some(Duration::from_secs(7_200)));
        assert_eq!(read("99999999n"), Some(Duration::from_nanos(99_999_999)));
        for odd in ["", "S", "1", "1x", "-1S", "123456789S", "1.5S"] {
            assert_eq!(read(odd), None, "{odd}");
        }
        assert_eq!(grpc_timeout(&HeaderMap::new()), None);
        assert!(head_start(Duration::from_secs(1)) < Duration::from_secs(1));
        assert_eq!(head_start(Duration::ZERO), Duration::ZERO);
    }

    fn edge(routes: axum::Router, max_concurrent_requests: usize) -> Edge {
        let shared = Shared {
            max_concurrent_requests,
            max_request_bytes: 1 << 20,
            request_timeout: Duration::from_secs(30),
            under_way: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        };
        Edge::new(Routes::from(routes), Arc::new(shared), Arc::new(Metrics::new(false, None).unwrap()))
    }

    fn slow() -> axum::Router {
        axum::Router::new()
            .route("/v1/check", axum::routing::get(async || std::future::pending::<()>().await))
    }

    fn get(path: &str, headers: &[(&'static str, &'static str)]) -> Request<Body> {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = path.parse().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_static(value));
        }
        request
    }

    async fn call(edge: &Edge, request: Request<Body>) -> Response<Body> {
        let Ok(response) = tower::Service::call(&mut edge.clone(), request).await;
        response
    }

    /// Deadlines honoured: the client's, and the server's own where there is none.
    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_dropped_and_said_so() {
        let edge = edge(slow(), 10);
        let began = tokio::time::Instant::now();
        let grpc = [("content-type", "application/grpc"), ("grpc-timeout", "200m")];
        let response = call(&edge, get("/v1/check", &grpc)).await;
        assert_eq!(outcome(&response, true), "DEADLINE_EXCEEDED");
        assert!(began.elapsed() < Duration::from_millis(200), "{:?}", began.elapsed());
        let response = call(&edge, get("/v1/check", &[])).await;
        assert_eq!(response.status(), http::StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(edge.shared.under_way.load(Ordering::Relaxed), 0, "nothing is under way any more");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_too_much_is_refused_and_operators_are_not() {
        let edge = edge(slow().route("/healthz", axum::routing::get(async || "fine")), 1);
        let first = tokio::spawn({
            let edge = edge.clone();
            async move { call(&edge, get("/v1/check", &[])).await }
        });
        while edge.shared.under_way.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        let response = call(&edge, get("/v1/check", &[])).await;
        assert_eq!(response.status(), http::StatusCode::TOO_MANY_REQUESTS);
        assert!(response.headers().contains_key(header::RETRY_AFTER));
        assert_eq!(call(&edge, get("/healthz", &[])).await.status(), http::StatusCode::OK);
        edge.shared.stopping.store(true, Ordering::Relaxed);
        let response = call(&edge, get("/v1/check", &[("content-type", "application/grpc")])).await;
        assert_eq!(outcome(&response, true), "UNAVAILABLE");
        assert_eq!(first.await.unwrap().status(), http::StatusCode::GATEWAY_TIMEOUT);
    }
}
