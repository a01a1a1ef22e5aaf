//! Clients in windows: how many calls they got through, and how long each took.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use hdrhistogram::Histogram;
use http::uri::PathAndQuery;
use prost::Message;
use tonic::transport::{Channel, Endpoint};

use super::codec::{Outgoing, Shared};

/// More clients than this share connections, as an agent runtime's callers do.
const MAX_CONNECTIONS: usize = 4;

/// One kind of call, made over and over.
pub type Call = Arc<dyn Fn(Channel) -> Pin<Box<dyn Future<Output = Result<()>> + Send>> + Send + Sync>;

/// A call of the method at `path`. `request` makes the message of each call from a number that is never used twice.
///
/// # Errors
///
/// `path` is none.
pub fn call<Q, A>(path: &str, request: impl Fn(u64) -> Arc<Q> + Send + Sync + 'static) -> Result<Call>
where
    Q: Message + Send + Sync + 'static,
    A: Message + Default + Send + 'static,
{
    let path: PathAndQuery = path.parse().with_context(|| format!("`{path}` is no path"))?;
    let calls = AtomicU64::new(0);
    Ok(Arc::new(move |channel| {
        let request = Outgoing::Message(request(calls.fetch_add(1, Ordering::Relaxed)));
        let path = path.clone();
        Box::pin(async move {
            let mut grpc = tonic::client::Grpc::new(channel).max_decoding_message_size(64 << 20);
            grpc.ready().await.context("the connection is gone")?;
            let answer = grpc.unary(tonic::Request::new(request), path, Shared::<Q, A>::default()).await?;
            std::hint::black_box(answer.get_ref());
            Ok(())
        })
    }))
}

/// What one window measured.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Calls a second.
    pub rps: f64,
    /// The median time of a call, in microseconds.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// Processor time of the server's threads for a call, in microseconds.
    pub server_cpu: f64,
}

/// Connections for so many clients.
///
/// # Errors
///
/// Nothing answers at `url`.
pub async fn connect(url: &str, clients: usize) -> Result<Vec<Channel>> {
    let mut channels = Vec::new();
    for _ in 0..clients.min(MAX_CONNECTIONS) {
        let endpoint = Endpoint::from_shared(url.to_owned())?.tcp_nodelay(true);
        channels.push(endpoint.connect().await.with_context(|| format!("nothing answers at `{url}`"))?);
    }
    Ok(channels)
}

/// Runs `clients` callers for `length`, each with one call at a time.
///
/// # Errors
///
/// A call fails: a measurement of errors is none.
pub async fn window(
    channels: &[Channel],
    call: &Call,
    clients: usize,
    length: Duration,
    server: &ServerThreads,
) -> Result<Window> {
    let cpu_before = server.cpu();
    let began = Instant::now();
    let callers = (0..clients).map(|n| {
        let (channel, call) = (channels[n % channels.len()].clone(), Arc::clone(call));
        tokio::spawn(async move {
            let mut times = histogram()?;
            while began.elapsed() < length {
                let sent = Instant::now();
                call(channel.clone()).await?;
                times.saturating_record(u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX));
            }
            anyhow::Ok(times)
        })
    });
    let callers: Vec<_> = callers.collect();
    let mut times = histogram()?;
    for caller in callers {
        times.add(caller.await??).context("histograms of one kind add up")?;
    }
    let took = began.elapsed();
    let cpu = server.cpu().saturating_sub(cpu_before);
    ensure!(!times.is_empty(), "no call came back within {length:?}");
    let n = times.len() as f64;
    let micros = |nanos: u64| nanos as f64 / 1e3;
    Ok(Window {
        rps: n / took.as_secs_f64(),
        p50: micros(times.value_at_quantile(0.5)),
        p99: micros(times.value_at_quantile(0.99)),
        server_cpu: cpu.as_secs_f64() * 1e6 / n,
    })
}

fn histogram() -> Result<Histogram<u64>> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).context("a histogram from 1 ns to 60 s")
}

/// The threads of the server's runtime, found by their name, and how long they have been computing.
#[derive(Debug, Clone)]
pub struct ServerThreads {
    schedules: Vec<PathBuf>,
}

impl ServerThreads {
    /// Those of this process whose name begins with `name`. None where the system does not tell: then processor times
    /// read 0.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let named = threads.filter(|it| {
            let found = std::fs::read_to_string(it.path().join("comm"));
            found.is_ok_and(|it| it.starts_with(name))
        });
        Self { schedules: named.map(|it| it.path().join("schedstat")).collect() }
    }

    fn cpu(&self) -> Duration {
        let nanos = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        Duration::from_nanos(self.schedules.iter().filter_map(nanos).sum())
    }
}
