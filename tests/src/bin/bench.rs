//! `cargo xtask bench`: what the product's calls cost, beside bare ones on the same port.
//!
//! Each server runs in this process on a runtime of its own, of the flavour of `agrajag serve`; the clients have another.
//! Of each case a window of the product and one of each baseline take turns, so that both meet the same machine.

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use agrajag_tests::bench::baseline::{self, Baseline};
use agrajag_tests::bench::case::{Case, Surroundings, warm};
use agrajag_tests::bench::load::{self, ServerThreads, Window};
use agrajag_tests::bench::report::{Report, Row};
use agrajag_tests::client::Client;
use agrajag_tests::env;
use agrajag_tests::postgres::Database;
use anyhow::{Context as _, Result, bail};
use clap::{Parser, ValueEnum};
use grpc_server::{Server, Sources};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tonic_health::pb::health_check_response::ServingStatus;

/// The names of the server's threads.
const SERVER: &str = "bench-server";

/// Every case, in the order of the report.
const CASES: [&str; 6] = [
    "check_cooldown",
    "check_durable_sqlite",
    "check_durable_postgres",
    "record_success_noop",
    "lookup_1",
    "lookup_300",
];

/// Measures the product's calls beside bare ones.
#[derive(Debug, Parser)]
#[command(max_term_width = 100)]
struct Args {
    /// Turns of each case: in each one window of the product and one of every baseline.
    #[arg(long, value_name = "N", default_value_t = 10)]
    windows: usize,
    /// How long a window is, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    window_ms: u64,
    /// Callers, each with one call at a time; more than 4 share 4 connections.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 16, 64])]
    clients: Vec<usize>,
    /// Only these cases.
    #[arg(long = "case", value_name = "NAME", value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(CASES))]
    cases: Vec<String>,
    /// A PostgreSQL cluster with durability on; a database is made in it [default: AGRAJAG_TEST_PG_DURABLE].
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// The runtime of the server, for product and baselines alike.
    #[arg(long, value_name = "FLAVOUR", default_value = "multi-thread")]
    runtime: Flavour,
    /// For people or for programs.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Flavour {
    /// As `agrajag serve`: a worker for each processor.
    MultiThread,
    /// One thread.
    CurrentThread,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

/// A server with the bare calls beside it, on threads of its own. Ends with this value.
struct Measured {
    client: Client,
    url: String,
    baseline: Baseline,
    threads: ServerThreads,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<Result<()>>>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let clients = Builder::new_multi_thread().thread_name("bench-client").enable_all().build()?;
    clients.block_on(run(&args))
}

async fn run(args: &Args) -> Result<()> {
    let wanted = |name: &str| args.cases.is_empty() || args.cases.iter().any(|it| it == name);
    let mut run = Run { args, report: Report::default() };
    run.say(&Report::head())?;

    let folder = tempfile::tempdir()?;
    let server =
        Measured::start(args.runtime, &format!("sqlite:{}", folder.path().join("bench.db").display()))?;
    server.ready().await?;
    let surroundings = Surroundings { client: &server.client, baseline: &server.baseline };
    if wanted("check_cooldown") {
        run.case(&server, &surroundings.check_cooldown().await?).await?;
    }
    if wanted("check_durable_sqlite") {
        run.case(&server, &surroundings.check_durable("check_durable_sqlite").await?).await?;
    }
    if wanted("check_durable_postgres") {
        match args.postgres.clone().or_else(|| std::env::var(env::POSTGRES_DURABLE).ok()) {
            Some(url) => {
                let database = Database::create(&url)?;
                let server = Measured::start(args.runtime, &database.url())?;
                server.ready().await?;
                let surroundings = Surroundings { client: &server.client, baseline: &server.baseline };
                run.case(&server, &surroundings.check_durable("check_durable_postgres").await?).await?;
            }
            None if args.cases.is_empty() => {
                eprintln!(
                    "check_durable_postgres is left out: give --postgres URL, or set {}",
                    env::POSTGRES_DURABLE
                );
            }
            None => bail!("`check_durable_postgres` needs --postgres URL, or {}", env::POSTGRES_DURABLE),
        }
    }
    if wanted("record_success_noop") {
        run.case(&server, &surroundings.record_success_noop().await?).await?;
    }
    if wanted("lookup_1") {
        run.case(&server, &surroundings.lookup_1().await?).await?;
    }
    if wanted("lookup_300") {
        run.case(&server, &surroundings.lookup_300().await?).await?;
    }
    if args.output == Format::Json {
        writeln!(std::io::stdout(), "{}", serde_json::to_string(&run.report)?)?;
    }
    Ok(())
}

struct Run<'a> {
    args: &'a Args,
    report: Report,
}

impl Run<'_> {
    /// A line of the table, if that is asked for.
    fn say(&self, line: &str) -> Result<()> {
        if self.args.output == Format::Table {
            writeln!(std::io::stdout(), "{line}")?;
        }
        Ok(())
    }

    /// Measures one case with every number of clients.
    async fn case(&mut self, server: &Measured, case: &Case) -> Result<()> {
        let length = Duration::from_millis(self.args.window_ms.max(1));
        for &clients in &self.args.clients {
            let clients = clients.max(1);
            let channels = load::connect(&server.url, clients).await?;
            warm(&channels[0], case).await?;
            let mut product: Vec<Window> = Vec::new();
            let mut bare: Vec<Vec<Window>> = vec![Vec::new(); case.baselines.len()];
            for _ in 0..self.args.windows.max(1) {
                product.push(load::window(&channels, &case.product, clients, length, &server.threads).await?);
                for (windows, (_, call)) in bare.iter_mut().zip(&case.baselines) {
                    windows.push(load::window(&channels, call, clients, length, &server.threads).await?);
                }
            }
            for (windows, (baseline, _)) in bare.iter().zip(&case.baselines) {
                let row = Row::new(&case.name, baseline, clients, &product, windows);
                self.say(&Report::line(&row))?;
                self.report.cases.push(row);
            }
        }
        Ok(())
    }
}

impl Measured {
    fn start(flavour: Flavour, store: &str) -> Result<Self> {
        let mut sources = Sources::default();
        for (path, value) in [("listen", "127.0.0.1:0"), ("store", store), ("require_store", "true")] {
            sources.flags.push((path.to_owned(), value.to_owned()));
        }
        let config = sources.load()?.config;
        let baseline = Baseline::default();
        let routes = baseline.routes();
        let (stop, stopped) = oneshot::channel();
        let (bound, address) = std::sync::mpsc::channel();
        let serve = move || -> Result<()> {
            runtime(flavour)?.block_on(async {
                let server = Server::bind(config).await?.with_routes_beside(baseline::PREFIX, routes);
                // Whoever waits for it is in `start`.
                let _ = bound.send(server.local_addr());
                Ok(server.run(async { drop(stopped.await) }).await?)
            })
        };
        let thread = std::thread::Builder::new().name(SERVER.to_owned()).spawn(serve)?;
        let address: SocketAddr = match address.recv() {
            Ok(address) => address,
            Err(_) => match thread.join() {
                Ok(Err(error)) => return Err(error),
                _ => bail!("the server ended at its start"),
            },
        };
        let url = format!("http://{address}");
        Ok(Self {
            client: Client::new(&url),
            url,
            baseline,
            threads: ServerThreads::named(SERVER),
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    async fn ready(&self) -> Result<()> {
        let serving = self.client.serving("agrajag.store").await;
        for _ in 0..500 {
            if self.client.serving("agrajag.store").await == Some(ServingStatus::Serving) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        bail!("the server is not ready: {serving:?}")
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(Err(error)) = self.thread.take().map(std::thread::JoinHandle::join) {
            eprintln!("the server's thread panicked: {error:?}");
        }
    }
}

fn runtime(flavour: Flavour) -> Result<Runtime> {
    let mut builder = match flavour {
        Flavour::MultiThread => Builder::new_multi_thread(),
        Flavour::CurrentThread => Builder::new_current_thread(),
    };
    builder.thread_name(SERVER).enable_all().build().context("cannot start the server's runtime")
}
