//! `agrajag serve`: the server on this machine, until a signal ends it.
//!
//! Flags become settings; what they mean and which values they may have is the server's own business.

use std::io;
use std::path::PathBuf;
use std::pin::pin;

use grpc_server::{ConfigError, Loaded, ServeError, Server, Sources, telemetry};
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::Context;
use crate::error::{Error, Exit};
use crate::local::{serve_error, with_causes};
use crate::output::{Format, Out, printable};

/// What to do about a setting that cannot be used.
const CONFIG_REMEDY: &str = "correct the setting; `agrajag serve --print-config` shows all of them";

/// Where a client asks that is told nothing else.
const DEFAULT_ADDRESS: &str = "127.0.0.1:4242";

/// Flags of `serve`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Args {
    /// Show the settings in force with their origins, and end.
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    settings: SettingArgs,
}

/// Settings of a server. Each wins over the environment, that over the file, that over the default.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Settings: flags win over the environment, that over the file")]
pub(crate) struct SettingArgs {
    /// Where to listen, gRPC and HTTP on one port; port 0 takes a free one [default: 127.0.0.1:4242].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The store: `sqlite:PATH`, `postgres://…` or `memory:` [default: SQLite in the user's data directory].
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// The directory with the rule layers of tenants and projects, in files
    /// `DIR/<tenant>/[<project>/]_vance/agrajag/error-patterns.yaml`; changes count within 2 seconds.
    #[arg(long, value_name = "DIR")]
    documents: Option<String>,
    /// The configuration file [default: agrajag.yaml in the working directory, if there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Allow an address that other machines reach. TLS and tokens are not built in yet: put a proxy in front.
    #[arg(long)]
    insecure: bool,
    /// `observe` gives all verdicts and writes nothing [default: active].
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Refuse to start while the store cannot be reached, instead of starting without.
    #[arg(long)]
    require_store: bool,
    /// The rule packs: `all` that ship, or `none` for the twelve bundled rules alone [default: all].
    #[arg(long, value_name = "PACKS")]
    packs: Option<String>,
    /// Where to serve /metrics, if not on the main port.
    #[arg(long, value_name = "ADDRESS")]
    metrics_listen: Option<String>,
    /// What is logged, for example `info,grpc_server=debug` [default: info].
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// How it is logged: `text` or `json` [default: text].
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// Where traces and metrics are sent by OTLP over gRPC [default: nowhere].
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// Any other setting by its path, for example `limits.max_tools=200`; may be repeated.
    #[arg(long = "set", value_name = "PATH=VALUE", value_parser = setting)]
    others: Vec<(String, String)>,
}

/// Serves until SIGTERM or Ctrl-C, then lets the requests under way end. A second signal ends at once.
pub(crate) async fn run(args: Args, context: &mut Context) -> Result<Exit, Error> {
    let mut sources = Sources::from_process();
    args.settings.apply(&mut sources);
    let loaded = load(&sources)?;
    if args.print_config {
        print_config(&mut context.out, &loaded)?;
        return Ok(Exit::Ok);
    }
    let guard = telemetry::init(&loaded.config.telemetry)
        .map_err(|error| Error::input(with_causes(&error), CONFIG_REMEDY))?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let server = Server::bind(loaded.config).await.map_err(serve_error)?;
    // From here on a signal ends the server in order, so that whoever reads the address may send one.
    let signals = Signals::new().map_err(serve_error)?;
    // Whoever started it need not read this.
    let _ = announce(&mut context.out, &server);
    let result = serve_until_signalled(server, signals).await;
    // What is left of the traces is sent off the runtime, which must stay free for it.
    let _ = tokio::task::spawn_blocking(move || guard.shutdown()).await;
    result.map_err(serve_error)?;
    Ok(Exit::Ok)
}

/// Runs the server until a first signal, then until everything is in order or a second signal comes.
async fn serve_until_signalled(server: Server, mut signals: Signals) -> Result<(), ServeError> {
    let (ask, asked) = oneshot::channel::<()>();
    let mut running = pin!(server.run(async {
        // The other end goes when a signal has come, and says nothing before.
        let _ = asked.await;
    }));
    tokio::select! {
        result = &mut running => return result,
        () = signals.next() => drop(ask),
    }
    tokio::select! {
        result = running => result,
        () = signals.next() => Err(ServeError::Interrupted),
    }
}

/// What ends a server from outside.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self, ServeError> {
        let open = |kind| signal(kind).map_err(ServeError::Signals);
        Ok(Self { terminate: open(SignalKind::terminate())?, interrupt: open(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Says where the server listens: a script that asked for a free port reads it here.
fn announce(out: &mut Out, server: &Server) -> io::Result<()> {
    let address = server.local_addr();
    match out.format() {
        Format::Table => {
            out.line(&format!("Agrajag serves gRPC and JSON at http://{address}; Ctrl-C ends it. Try:"))?;
            let server = match address.to_string().as_str() {
                DEFAULT_ADDRESS => String::new(),
                other => format!(" --server http://{other}"),
            };
            out.line(&format!(
                "  agrajag check{server} --tool jira_search --user alice --exception-type ConnectionRefusedError"
            ))?;
        }
        Format::Json => out.line(&json!({ "listening": format!("http://{address}") }).to_string())?,
    }
    out.flush()
}

/// Writes the settings in force, without passwords.
fn print_config(out: &mut Out, loaded: &Loaded) -> io::Result<()> {
    match out.format() {
        Format::Table => loaded.print().lines().try_for_each(|it| out.line(&printable(it)))?,
        Format::Json => {
            let mut settings = serde_json::to_value(&loaded.config)?;
            // The serialised form of the store holds its password.
            settings["store"] = json!(loaded.config.store.as_ref().map(ToString::to_string));
            let object = json!({
                "settings": settings,
                "effectiveStore": loaded.store.as_ref().map(ToString::to_string),
                "origins": loaded.origins,
                "warnings": loaded.warnings,
            });
            out.line(&object.to_string())?;
        }
    }
    out.flush()
}

impl SettingArgs {
    /// Lays the flags over the other sources.
    pub(crate) fn apply(&self, sources: &mut Sources) {
        if self.config.is_some() {
            sources.file.clone_from(&self.config);
        }
        let texts = [
            ("listen", &self.listen),
            ("store", &self.store),
            ("documents", &self.documents),
            ("mode", &self.mode),
            ("rules.packs", &self.packs),
            ("metrics.listen", &self.metrics_listen),
            ("telemetry.log", &self.log),
            ("telemetry.log_format", &self.log_format),
            ("telemetry.otlp_endpoint", &self.otlp_endpoint),
        ];
        let given = texts.into_iter().filter_map(|(path, text)| Some((path, text.clone()?)));
        let switches = [("insecure", self.insecure), ("require_store", self.require_store)];
        let on = switches.into_iter().filter(|(_, is_on)| *is_on).map(|(path, _)| (path, "true".to_owned()));
        sources.flags.extend(given.chain(on).map(|(path, text)| (path.to_owned(), text)));
        sources.flags.extend(self.others.iter().cloned());
    }
}

/// Puts the settings together.
fn load(sources: &Sources) -> Result<Loaded, Error> {
    sources.load().map_err(|error| Error::input(config_message(&error), CONFIG_REMEDY))
}

/// The error on one line. The value of the store is left out: it may hold a password, and the message says without it
/// what is wrong.
pub(crate) fn config_message(error: &ConfigError) -> String {
    match error {
        ConfigError::Value { field, origin, message, .. } if field == "store" => {
            format!("`store` (from {origin}): {message}")
        }
        other => with_causes(other),
    }
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (path, value) =
        text.split_once('=').ok_or("expected PATH=VALUE, for example `limits.max_tools=200`")?;
    Ok((path.trim().to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::output::Format;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn loaded(line: &[&str]) -> Result<Loaded, Error> {
        let line = Line::parse_from(std::iter::once(&"serve").chain(line));
        let mut sources = Sources::default();
        line.args.settings.apply(&mut sources);
        load(&sources)
    }

    /// DESIGN §10: every flag of the page is a setting of the server.
    #[test]
    fn every_flag_reaches_its_setting() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().to_str().expect("UTF-8");
        let config = loaded(&[
            "--listen",
            "0.0.0.0:0",
            "--store",
            "memory:",
            "--documents",
            path,
            "--insecure",
            "--mode",
            "observe",
            "--require-store",
            "--packs",
            "none",
            "--metrics-listen",
            "127.0.0.1:0",
            "--log",
            "warn",
            "--log-format",
            "json",
            "--otlp-endpoint",
            "http://127.0.0.1:4317",
            "--set",
            "limits.max_tools=7",
        ])
        .expect("usable")
        .config;
        let value = serde_json::to_value(&config).expect("serialisable");
        assert_eq!(value["listen"], "0.0.0.0:0");
        assert_eq!(value["store"], "memory:");
        assert_eq!(value["documents"], path);
        assert_eq!(value["insecure"], true);
        assert_eq!(value["mode"], "observe");
        assert_eq!(value["require_store"], true);
        assert_eq!(value["rules"]["packs"], "none");
        assert_eq!(value["metrics"]["listen"], "127.0.0.1:0");
        assert_eq!(value["telemetry"]["log"], "warn");
        assert_eq!(value["telemetry"]["log_format"], "json");
        assert_eq!(value["telemetry"]["otlp_endpoint"], "http://127.0.0.1:4317");
        assert_eq!(value["limits"]["max_tools"], 7);
    }

    /// DESIGN §9: an address that others reach needs a word of its own.
    #[test]
    fn unusable_settings_are_bad_input_and_name_field_value_and_remedy() {
        let lines: [(&[&str], &str); 5] = [
            (&["--listen", "0.0.0.0:4242"], "--insecure"),
            (&["--store", "mysql://u:secret@h/d"], "sqlite:PATH"),
            (&["--mode", "asleep"], "asleep"),
            (&["--set", "limits.max_toolz=1"], "limits.max_toolz"),
            (&["--config", "no/such/agrajag.yaml"], "no/such/agrajag.yaml"),
        ];
        for (line, expected) in lines {
            let error = loaded(line).expect_err("unusable");
            assert_eq!(error.exit_code(), 2, "{line:?}");
            let text = error.to_text();
            assert!(text.contains(expected) && !text.contains("secret"), "{line:?}: {text}");
        }
    }

    #[test]
    fn the_printed_settings_hold_no_password() {
        let loaded = loaded(&["--store", "postgres://u:secret@h/d"]).expect("usable");
        for format in [Format::Table, Format::Json] {
            let (mut out, written) = Out::captured(format);
            print_config(&mut out, &loaded).expect("memory");
            let text = written.text();
            assert!(text.contains("postgres://u:***@h/d") && !text.contains("secret"), "{text}");
        }
    }
}
