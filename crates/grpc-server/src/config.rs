//! The configuration: every setting and every limit, with its default.
//!
//! Owns the shape, the ranges and the checks. [`load`] owns the order of the sources: defaults, `agrajag.yaml`,
//! environment, flags. It must not know what the settings do.

mod convert;
mod error;
pub mod load;
pub mod values;

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use error::ConfigError;
pub use load::{Loaded, Sources};
pub use values::{Retention, Span, StoreUrl};

/// The settings of a server (DESIGN §10). Unknown fields are refused, so that a slip of the pen is noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where gRPC and HTTP are served, one port for both. Port 0 takes a free one; `localhost` is
    /// 127.0.0.1. Default `127.0.0.1:4242`.
    #[serde(deserialize_with = "values::address")]
    pub listen: SocketAddr,
    /// Allows an address that other machines reach, without TLS and without tokens. Default `false`.
    pub insecure: bool,
    /// The store: `sqlite:PATH`, `postgres://…` or `memory:`. Default: `agrajag/agrajag.db` in the user's data
    /// directory.
    pub store: Option<StoreUrl>,
    /// Refuses to start while the store cannot be reached. Default `false`: start without, and keep trying.
    pub require_store: bool,
    /// Whether verdicts are written. Default `active`.
    pub mode: Mode,
    /// The directory with the rule layers of tenants and projects:
    /// `DIR/TENANT[/PROJECT]/_vance/agrajag/error-patterns.yaml`. Default: none.
    pub documents: Option<PathBuf>,
    /// Which rules ship into force, and how files are followed.
    pub rules: Rules,
    /// How rules are read.
    pub checker: Checker,
    /// How trouble shows in the tool list.
    pub surface: Surface,
    /// Where the words about tools go.
    pub annotation: Annotation,
    /// How long a tool stays down.
    pub down: Down,
    /// Which cooldowns a successful call clears (C2). Default `all`.
    pub clear_on_success: ClearOnSuccess,
    /// What is kept of the past.
    pub history: History,
    /// How long cooldowns run.
    pub cooldown: Cooldown,
    /// When like failures of several users ask for a diagnosis of the tool.
    pub promotion: Promotion,
    /// How long the documents of sessions are kept.
    pub sessions: Sessions,
    /// The journal of failures that rules are tried on.
    pub journal: Journal,
    /// How much a server takes in.
    pub limits: Limits,
    /// Where metrics are shown.
    pub metrics: Metrics,
    /// Logs and traces.
    pub telemetry: Telemetry,
    /// How a server stops.
    pub shutdown: Shutdown,
}

/// Whether verdicts are written (DESIGN §10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// They are.
    #[default]
    Active,
    /// They are given and nothing is written.
    Observe,
}

/// Which rules ship into force, and how files are followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// The rule packs. Default `all`; `none` leaves the twelve bundled rules alone.
    pub packs: Packs,
    /// How often the documents directory is looked at, 50 ms to 1 s. Default 500 ms.
    pub poll_interval: Span,
}

/// The rule packs in force (DESIGN §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Packs {
    /// Every pack that ships.
    #[default]
    All,
    /// None: the twelve bundled rules alone.
    None,
}

/// How rules are read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Checker {
    /// What a rule without a health action does (C4). Default `auto`.
    pub default_action: DefaultAction,
}

/// What a rule without a health action does (C4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefaultAction {
    /// What its class demands.
    #[default]
    Auto,
    /// Nothing, as the specification has it literally.
    None,
}

/// How trouble shows in the tool list.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Surface {
    /// The mode where a request names none. Default `annotate`.
    pub mode: SurfaceMode,
}

/// How trouble shows in the tool list (C26).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SurfaceMode {
    /// Every tool stays listed, with words.
    #[default]
    Annotate,
    /// Every tool stays listed, and the list never changes.
    Stable,
    /// Tools that are down are hidden.
    Hide,
    /// Tools that are down are offered by name only.
    Demote,
}

/// Where the words about tools go.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Annotation {
    /// The place where a request names none. Default `block`.
    pub placement: Placement,
}

/// Where the words about tools go (C22).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Into one block behind the cached part of the prompt.
    #[default]
    Block,
    /// Behind each tool's description, the specification's literal form.
    Description,
    /// Nowhere.
    None,
}

/// How long a tool stays down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Down {
    /// After how long a tool that is down without a known end is tried again (C17), 1 min to 7 d. Default 1 h.
    pub max_without_eta: Span,
}

/// Which cooldowns a successful call clears (C2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClearOnSuccess {
    /// All that apply to the caller.
    #[default]
    All,
    /// All but those of rights and inputs.
    Technical,
    /// Only those whose signature the success names.
    Signature,
}

/// What is kept of the past.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct History {
    /// Entries kept in one document, 5 to 200 (R35, R77). Default 20.
    pub limit: usize,
}

/// How long cooldowns run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cooldown {
    /// No cooldown and no computed recovery is longer, 1 h to 7 d. Default 24 h.
    pub max: Span,
}

/// When like failures of several users ask for a diagnosis of the tool (DESIGN §2.3, C7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Promotion {
    /// Different users whose own credential failed alike, 2 to 32. Default 3.
    pub users: usize,
    /// Within how long, 1 min to 1 d. Default 15 min.
    pub window: Span,
}

/// How long the documents of sessions are kept (DESIGN §11.8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// How long after the last write, 1 h or more, or `never` to keep them. Default 7 d.
    pub retention: Retention,
}

/// The journal of failures that rules are tried on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Journal {
    /// Keeps reported failures, redacted and without users. Default `true`.
    pub enabled: bool,
    /// Failures kept of a tenant, the latest ones, 1 to 100,000. Default 2,000.
    pub max_entries: usize,
}

/// How much a server takes in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Tools or items of one request, 1 to 10,000. Default 1,000.
    pub max_tools: usize,
    /// Bytes of one request, 64 KiB to 256 MiB. Default 16 MiB: the body of a failure is cut after 16 KiB, and one
    /// that is a thousand times longer is still read.
    pub max_request_bytes: usize,
    /// Requests at the same time, all connections together, from 1. Default 4,096.
    pub max_concurrent_requests: usize,
    /// Streams at the same time on one HTTP/2 connection, from 1. Default 256.
    pub max_streams_per_connection: u32,
    /// Watches at the same time, from 1. Default 1,000.
    pub max_watches: usize,
    /// Entries of one page, 1 to 1,000. Default 1,000.
    pub max_page_size: usize,
    /// The longest time for one request that is no stream, 100 ms to 10 min. A client's own deadline counts where it
    /// is shorter. Default 30 s.
    pub request_timeout: Span,
    /// How long a connection may be silent before the server asks whether it lives, 1 s or more. Default 30 s.
    pub keepalive_interval: Span,
    /// How long the answer to that may take, 1 s or more. Default 20 s.
    pub keepalive_timeout: Span,
}

/// Where metrics are shown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// An address of their own. Default: `/metrics` on the port of `listen`.
    #[serde(deserialize_with = "values::optional_address")]
    pub listen: Option<SocketAddr>,
    /// Counts verdicts by tool too. Every tool name makes a time series of its own. Default `false`.
    pub by_tool: bool,
}

/// Logs and traces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// What is logged, in the form of `tracing`'s filters, for example `info,grpc_server=debug`. Default `info`.
    pub log: String,
    /// How it is logged. Default `text`.
    pub log_format: LogFormat,
    /// Where traces and metrics are sent by OTLP over gRPC, for example `http://127.0.0.1:4317`. Default: nowhere.
    pub otlp_endpoint: Option<String>,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// How a server stops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shutdown {
    /// How long requests under way and unwritten reports may take after SIGTERM, up to 10 min. Default 10 s.
    pub grace: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 4242)),
            insecure: false,
            store: None,
            require_store: false,
            mode: Mode::default(),
            documents: None,
            rules: Rules::default(),
            checker: Checker::default(),
            surface: Surface::default(),
            annotation: Annotation::default(),
            down: Down::default(),
            clear_on_success: ClearOnSuccess::default(),
            history: History::default(),
            cooldown: Cooldown::default(),
            promotion: Promotion::default(),
            sessions: Sessions::default(),
            journal: Journal::default(),
            limits: Limits::default(),
            metrics: Metrics::default(),
            telemetry: Telemetry::default(),
            shutdown: Shutdown::default(),
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self { packs: Packs::default(), poll_interval: Span::millis(500) }
    }
}

impl Default for Down {
    fn default() -> Self {
        Self { max_without_eta: Span::hours(1) }
    }
}

impl Default for History {
    fn default() -> Self {
        Self { limit: 20 }
    }
}

impl Default for Cooldown {
    fn default() -> Self {
        Self { max: Span::hours(24) }
    }
}

impl Default for Promotion {
    fn default() -> Self {
        Self { users: 3, window: Span::secs(15 * 60) }
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self { retention: Retention::After(Span::hours(7 * 24)) }
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self { enabled: true, max_entries: 2_000 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_tools: 1_000,
            max_request_bytes: 16 << 20,
            max_concurrent_requests: 4_096,
            max_streams_per_connection: 256,
            max_watches: 1_000,
            max_page_size: 1_000,
            request_timeout: Span::secs(30),
            keepalive_interval: Span::secs(30),
            keepalive_timeout: Span::secs(20),
        }
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self { log: "info".to_owned(), log_format: LogFormat::default(), otlp_endpoint: None }
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { grace: Span::secs(10) }
    }
}

impl Config {
    /// Checks ranges and what does not go together. The first problem is the error.
    ///
    /// # Errors
    /// [`ConfigError::Range`], with field, value and remedy.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_addresses()?;
        let limits = &self.limits;
        within("limits.max_tools", limits.max_tools, 1, 10_000)?;
        within("limits.max_request_bytes", limits.max_request_bytes, 64 << 10, 256 << 20)?;
        within("limits.max_concurrent_requests", limits.max_concurrent_requests, 1, 1 << 20)?;
        within("limits.max_streams_per_connection", limits.max_streams_per_connection, 1, 1 << 20)?;
        within("limits.max_watches", limits.max_watches, 1, 1 << 20)?;
        within("limits.max_page_size", limits.max_page_size, 1, 1_000)?;
        within("limits.request_timeout", limits.request_timeout, Span::millis(100), Span::secs(600))?;
        within("limits.keepalive_interval", limits.keepalive_interval, Span::secs(1), Span::hours(24))?;
        within("limits.keepalive_timeout", limits.keepalive_timeout, Span::secs(1), Span::hours(24))?;
        within("history.limit", self.history.limit, 5, 200)?;
        within("cooldown.max", self.cooldown.max, Span::hours(1), Span::hours(7 * 24))?;
        within("down.max_without_eta", self.down.max_without_eta, Span::secs(60), Span::hours(7 * 24))?;
        within("promotion.users", self.promotion.users, 2, 32)?;
        within("promotion.window", self.promotion.window, Span::secs(60), Span::hours(24))?;
        within("journal.max_entries", self.journal.max_entries, 1, 100_000)?;
        within("rules.poll_interval", self.rules.poll_interval, Span::millis(50), Span::secs(1))?;
        within("shutdown.grace", self.shutdown.grace, Span::millis(0), Span::secs(600))?;
        if let Retention::After(span) = self.sessions.retention {
            within("sessions.retention", span, Span::hours(1), Span::hours(100 * 365 * 24))?;
        }
        if let Some(directory) = self.documents.as_ref().filter(|it| !it.is_dir()) {
            return Err(ConfigError::Range {
                field: "documents",
                value: directory.display().to_string(),
                remedy: "there is no such directory; make it, or leave the setting out".to_owned(),
            });
        }
        Ok(())
    }

    fn validate_addresses(&self) -> Result<(), ConfigError> {
        let addresses = [("listen", Some(self.listen)), ("metrics.listen", self.metrics.listen)];
        for (field, address) in addresses {
            if let Some(address) = address.filter(|it| !it.ip().is_loopback() && !self.insecure) {
                return Err(ConfigError::Range {
                    field,
                    value: address.to_string(),
                    remedy: "other machines would reach it without TLS and without a token; listen on 127.0.0.1, or \
                             set `insecure: true` (`--insecure`) if the network is yours alone"
                        .to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The store to open.
    ///
    /// # Errors
    /// [`ConfigError::NoDataDirectory`] if none is configured and the environment names no place for one.
    pub fn store_url(&self, env: &dyn Fn(&str) -> Option<String>) -> Result<StoreUrl, ConfigError> {
        if let Some(url) = &self.store {
            return Ok(url.clone());
        }
        let absolute = |name: &str| env(name).map(PathBuf::from).filter(|it| it.is_absolute());
        let data = absolute("XDG_DATA_HOME")
            .or_else(|| absolute("HOME").map(|it| it.join(".local/share")))
            .ok_or(ConfigError::NoDataDirectory)?;
        Ok(StoreUrl::Sqlite(data.join("agrajag/agrajag.db")))
    }
}

fn within<T: PartialOrd + std::fmt::Display>(
    field: &'static str,
    value: T,
    least: T,
    most: T,
) -> Result<(), ConfigError> {
    if least <= value && value <= most {
        return Ok(());
    }
    Err(ConfigError::Range {
        field,
        value: value.to_string(),
        remedy: format!("choose a value from {least} to {most}"),
    })
}

#[cfg(test)]
mod docs_tests;
#[cfg(test)]
mod tests;
