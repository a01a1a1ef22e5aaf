//! Servers of our own: in this process, or as a child of the binary.
//!
//! Owns where they keep their things (a folder or database that goes with them), when they are ready, and how they end.
//! Both kinds take the same settings, by the paths of the configuration file.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use grpc_server::{Server as Serving, Sources};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic_health::pb::health_check_response::ServingStatus;

use crate::child::{self, Process};
use crate::client::Client;
use crate::postgres::Database;
use crate::wait;

/// A free port may be taken by somebody else before the child listens on it; then the next one is tried.
const START_ATTEMPTS: usize = 5;

/// What a server is to be like.
#[derive(Debug)]
pub struct Setup {
    home: TempDir,
    database: Option<Database>,
    settings: Vec<(String, String)>,
    waits_for_store: bool,
    max_file_kib: Option<u64>,
}

/// A running server, ended with this value.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// A client of it.
    pub client: Client,
    running: Running,
    setup: Setup,
}

#[derive(Debug)]
enum Running {
    Here(Option<InProcess>),
    Child(Process),
}

#[derive(Debug)]
struct InProcess {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Setup {
    fn with_store(store: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        // Most tests are about what follows from a verdict, and use the twelve rules whose words are fixed.
        let settings = vec![("rules.packs".to_owned(), "none".to_owned())];
        Self { home, database: None, settings, waits_for_store: true, max_file_kib: None }.set("store", store)
    }

    /// On a store that is gone with the server.
    ///
    /// # Panics
    ///
    /// If there is no room for a temporary folder.
    #[must_use]
    pub fn memory() -> Self {
        Self::with_store("memory:")
    }

    /// On a SQLite file of its own.
    ///
    /// # Panics
    ///
    /// As [`Setup::memory`].
    #[must_use]
    pub fn sqlite() -> Self {
        let setup = Self::memory();
        let store = format!("sqlite:{}", setup.sqlite_file().display());
        setup.set("store", &store)
    }

    /// On this SQLite file.
    ///
    /// # Panics
    ///
    /// As [`Setup::memory`].
    #[must_use]
    pub fn sqlite_at(file: &Path) -> Self {
        Self::with_store(&format!("sqlite:{}", file.display()))
    }

    /// On a PostgreSQL database of its own.
    ///
    /// # Panics
    ///
    /// If there is no cluster.
    #[must_use]
    pub fn postgres() -> Self {
        let database = Database::fresh();
        let mut setup = Self::postgres_at(&database.url());
        setup.database = Some(database);
        setup
    }

    /// On this PostgreSQL database.
    ///
    /// # Panics
    ///
    /// As [`Setup::memory`].
    #[must_use]
    pub fn postgres_at(url: &str) -> Self {
        Self::with_store(url)
    }

    /// The file of [`Setup::sqlite`].
    #[must_use]
    pub fn sqlite_file(&self) -> PathBuf {
        self.home.path().join("agrajag.db")
    }

    /// Sets one setting by its path, for example `limits.max_tools`; the last word counts.
    #[must_use]
    pub fn set(mut self, path: &str, value: impl ToString) -> Self {
        self.settings.retain(|(it, _)| it != path);
        self.settings.push((path.to_owned(), value.to_string()));
        self
    }

    /// With the rules as they ship: packs too.
    #[must_use]
    pub fn with_packs(self) -> Self {
        self.set("rules.packs", "all")
    }

    /// With the rule layers of a directory.
    ///
    /// # Panics
    ///
    /// If the path is no UTF-8.
    #[must_use]
    pub fn documents(self, directory: &Path) -> Self {
        self.set("documents", directory.to_str().expect("a path in UTF-8"))
    }

    /// Is ready without its store: for tests that take it away.
    #[must_use]
    pub const fn without_waiting_for_the_store(mut self) -> Self {
        self.waits_for_store = false;
        self
    }

    /// As a child that may write no file beyond this size; it is told as a full disk tells it, not by a signal.
    #[must_use]
    pub const fn limit_files(mut self, kib: u64) -> Self {
        self.max_file_kib = if kib == u64::MAX { None } else { Some(kib) };
        self
    }

    /// Starts it in this process and waits until it is ready.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub async fn start(self) -> Server {
        let mut sources = Sources { flags: self.settings.clone(), ..Sources::default() };
        sources.flags.push(("listen".to_owned(), "127.0.0.1:0".to_owned()));
        let config = sources.load().expect("a configuration").config;
        let serving = Serving::bind(config).await.expect("the server starts");
        let address = serving.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            // A sender that was dropped stops it as well.
            let run = serving.run(async { drop(stopped.await) });
            run.await.expect("the server ends in order");
        });
        let running = Running::Here(Some(InProcess { stop, task }));
        let client = Client::new(&format!("http://{address}"));
        let server = Server { address, client, running, setup: self };
        server.ready().await;
        server
    }

    /// Starts the binary as a child and waits until it is ready.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub async fn spawn(self) -> Server {
        for _ in 0..START_ATTEMPTS {
            let address = free_address();
            let mut process = self.process(address);
            let client = Client::new(&format!("http://{address}"));
            let is_up = wait::until("the child answers or ends", async || match client.serving("").await {
                Some(ServingStatus::Serving) => Some(true),
                _ => (!process.is_running()).then_some(false),
            });
            if !is_up.await {
                assert!(process.printed().contains("in use"), "the child ended: {}", process.printed());
                continue;
            }
            let server = Server { address, client, running: Running::Child(process), setup: self };
            server.ready().await;
            return server;
        }
        panic!("no free port in {START_ATTEMPTS} attempts");
    }

    /// Starts the binary at this address and waits for nothing.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    #[must_use]
    pub fn process(&self, address: SocketAddr) -> Process {
        let mut command = match self.max_file_kib {
            None => child::command(self.home.path()),
            Some(kib) => child::limited_command(self.home.path(), kib),
        };
        command.arg("serve").arg("--listen").arg(address.to_string());
        for (path, value) in &self.settings {
            command.arg("--set").arg(format!("{path}={value}"));
        }
        Process::start(command, &self.home.path().join("server.log")).expect("the binary starts")
    }
}

impl Server {
    async fn ready(&self) {
        wait::until("the server is ready", async || {
            let serving = self.client.serving("").await? == ServingStatus::Serving;
            (serving && (!self.setup.waits_for_store || self.has_store().await)).then_some(())
        })
        .await;
    }

    /// Whether it says that its store answers.
    pub async fn has_store(&self) -> bool {
        self.client.serving("agrajag.store").await == Some(ServingStatus::Serving)
    }

    /// Its address as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The file of [`Setup::sqlite`].
    #[must_use]
    pub fn sqlite_file(&self) -> PathBuf {
        self.setup.sqlite_file()
    }

    /// The database of [`Setup::postgres`].
    ///
    /// # Panics
    ///
    /// If it has none of its own.
    #[must_use]
    pub fn database(&self) -> &Database {
        self.setup.database.as_ref().expect("a database of its own")
    }

    /// Ends it in order and waits for the end; gives back what it was set up with, to start it again.
    ///
    /// # Panics
    ///
    /// If it does not end in order.
    pub async fn stop(self) -> Setup {
        let Self { running, setup, .. } = self;
        match running {
            Running::Here(Some(server)) => {
                // The receiver is gone only if the server has ended by itself.
                let _ = server.stop.send(());
                tokio::time::timeout(wait::SOON, server.task)
                    .await
                    .expect("it ends in time")
                    .expect("no panic");
            }
            Running::Here(None) => {}
            Running::Child(mut process) => {
                process.terminate();
                let status = process.ended().await;
                assert!(status.success(), "ended with {status}: {}", process.printed());
            }
        }
        setup
    }

    /// Kills a child with `kill -9`; gives back what it was set up with, to start it again.
    ///
    /// # Panics
    ///
    /// If it is no child.
    #[must_use]
    pub fn kill(self) -> Setup {
        let Self { running, setup, .. } = self;
        match running {
            Running::Child(mut process) => process.kill(),
            Running::Here(_) => panic!("only a child can be killed"),
        }
        setup
    }

    /// The child's process.
    ///
    /// # Panics
    ///
    /// If it is no child.
    #[must_use]
    pub fn process(&mut self) -> &mut Process {
        match &mut self.running {
            Running::Child(process) => process,
            Running::Here(_) => panic!("this server is no child"),
        }
    }
}

/// An address of this machine on which nothing listens at this moment.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("bound")
}
