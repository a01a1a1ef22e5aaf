//! A server of our own in this process, on a free loopback port: for `demo`, `explain --local` and `doctor`.
//!
//! It is the real one, asked over real gRPC, so that what it says is what any server would say.

use std::error::Error as StdError;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use grpc_server::config::{Packs as ServerPacks, StoreUrl};
use grpc_server::{Config, ServeError, Server};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::Remote;
use crate::error::Error;

/// The rule packs in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Packs {
    /// Every pack that ships.
    #[default]
    All,
    /// The twelve bundled rules alone.
    None,
}

/// A running server. Dropping it ends it without waiting.
pub(crate) struct Local {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), ServeError>>,
}

impl Local {
    /// Starts it with this configuration, but for the address: that is a free port of this machine.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a setting, [`Error::Failed`] for a store that is required and cannot be opened.
    pub(crate) async fn start(config: Config) -> Result<Self, Error> {
        Self::bind(config).await.map_err(serve_error)
    }

    /// As [`Local::start`], with the server's own error.
    ///
    /// # Errors
    ///
    /// See [`Server::bind`].
    pub(crate) async fn bind(config: Config) -> Result<Self, ServeError> {
        let mut config = config;
        config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
        config.metrics.listen = None;
        let server = Server::bind(config).await?;
        let (stop, stopped) = oneshot::channel();
        let address = server.local_addr();
        let running = tokio::spawn(server.run(async {
            // A sender that was dropped stops it as well.
            let _ = stopped.await;
        }));
        Ok(Self { address, stop, running })
    }

    /// Starts one that holds rules and nothing else.
    ///
    /// # Errors
    ///
    /// See [`Local::start`].
    pub(crate) async fn in_memory(documents: Option<PathBuf>, packs: Packs) -> Result<Self, Error> {
        let mut config = Config { store: Some(StoreUrl::Memory), documents, ..Config::default() };
        config.rules.packs = match packs {
            Packs::All => ServerPacks::All,
            Packs::None => ServerPacks::None,
        };
        Self::start(config).await
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A client of it.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`] if it ended meanwhile.
    pub(crate) async fn connect(&self, timeout: Duration) -> Result<Remote, Error> {
        Remote::connect(&self.address.to_string(), timeout).await
    }

    /// Ends it in order.
    ///
    /// # Errors
    ///
    /// [`Error::Failed`] if the port broke.
    pub(crate) async fn stop(self) -> Result<(), Error> {
        // One that ended by itself hears no signal; its result says why.
        let _ = self.stop.send(());
        match self.running.await {
            Ok(result) => result.map_err(serve_error),
            Err(error) => {
                Err(Error::failed(format!("the server broke: {error}"), "report this with the lines above"))
            }
        }
    }
}

/// Why a server does not start or stops, as an error of ours.
pub(crate) fn serve_error(error: ServeError) -> Error {
    let message = with_causes(&error);
    match error {
        ServeError::Config(_) => {
            Error::input(message, "correct the setting; `agrajag serve --print-config` shows all of them")
        }
        ServeError::Listen { .. } => Error::failed(
            message,
            "free the address or name another with `--listen`; `--listen 127.0.0.1:0` takes a free port",
        ),
        ServeError::Store { .. } => Error::failed(
            message,
            "correct the store (`agrajag doctor` checks it), or start without `--require-store`",
        ),
        ServeError::Interrupted => {
            Error::failed(message, "send one signal and wait: the grace is `shutdown.grace`")
        }
        _ => Error::failed(message, "look into the log above"),
    }
}

/// The error with its chain of causes on one line, each part once.
pub(crate) fn with_causes(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let part = cause.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        next = cause.source();
    }
    text
}
