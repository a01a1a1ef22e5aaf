//! `agrajag doctor`: is everything that a server needs in order, and if not, what to do.
//!
//! Looks at the settings that `serve` would take, the rules, the address, the server that answers and the store. A store
//! that a running server holds is asked for there; else it is opened as `serve` would, but a file that does not exist is
//! not made.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use agrajag_proto::v1;
use grpc_server::config::{Mode, StoreUrl};
use grpc_server::{Config, Loaded, ServeError, Sources};
use serde_json::json;

use super::{Context, serve};
use crate::client::Remote;
use crate::error::{Error, Exit};
use crate::local::{Local, with_causes};
use crate::output::{Format, Out};
use crate::show;
use crate::table::Table;

/// The tenant under which the store is tried: nothing of it exists, and nothing stays.
const PROBE_TENANT: &str = "agrajag-doctor";

/// Flags of `doctor`: the settings that `serve` would take.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    serve: serve::SettingArgs,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Ok,
    Warn,
    Fail,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Check {
    name: &'static str,
    status: Status,
    detail: String,
    /// What to do; empty if all is well.
    remedy: String,
}

fn ok(name: &'static str, detail: impl Into<String>) -> Check {
    Check { name, status: Status::Ok, detail: detail.into(), remedy: String::new() }
}

fn warn(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Check {
    Check { name, status: Status::Warn, detail: detail.into(), remedy: remedy.into() }
}

fn fail(name: &'static str, detail: impl Into<String>, remedy: impl Into<String>) -> Check {
    Check { name, status: Status::Fail, detail: detail.into(), remedy: remedy.into() }
}

/// Looks at everything. Exit code 1 if something fails.
pub(crate) async fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let mut checks = vec![ok("program", format!("version {}", env!("CARGO_PKG_VERSION")))];
    let mut sources = Sources::from_process();
    args.serve.apply(&mut sources);
    let server = context.connect().await;
    let info = match &server {
        Ok(remote) => {
            Some(remote.answer(remote.health().get_info(remote.request(v1::GetInfoRequest {})).await))
        }
        Err(_) => None,
    };
    match sources.load() {
        Ok(loaded) => {
            checks.push(settings(&loaded));
            checks.push(rules(&loaded.config, context).await);
            checks.push(address(loaded.config.listen, context).await);
            checks.push(store(&loaded.config, info.as_ref().and_then(|it| it.as_ref().ok()), context).await);
        }
        Err(error) => checks.push(fail(
            "settings",
            serve::config_message(&error),
            "correct the setting; rules, address and store are looked at after that",
        )),
    }
    checks.push(answering(&context.global.server, info));
    let worst = checks.iter().map(|it| it.status).max().unwrap_or(Status::Ok);
    render(&mut context.out, &checks, worst)?;
    Ok(if worst == Status::Fail { Exit::Findings(1) } else { Exit::Ok })
}

fn settings(loaded: &Loaded) -> Check {
    let given: Vec<&str> = loaded.origins.keys().map(String::as_str).collect();
    let detail = match given.len() {
        0 => "every setting has its default".to_owned(),
        n => format!("{} not default: {}", show::plural(n as u64, "setting"), given.join(", ")),
    };
    if loaded.warnings.is_empty() {
        ok("settings", detail)
    } else {
        warn("settings", format!("{detail}; {}", loaded.warnings.join("; ")), "remove it or correct its name")
    }
}

/// Loads the rules as a server would and counts what is wrong with them.
async fn rules(config: &Config, context: &Context) -> Check {
    match rule_findings(config, context).await {
        Err(error) => fail("rules", with_causes(&error), "correct the setting that is named"),
        Ok((n_rules, findings)) => {
            let n_errors =
                findings.iter().filter(|it| it.severity() == v1::RuleSeverity::Error).count() as u64;
            let shipped = show::plural(n_rules as u64, "shipped rule");
            let of_documents = match &config.documents {
                None => "no documents directory".to_owned(),
                Some(directory) => format!("layers below `{}`", directory.display()),
            };
            let detail = format!("{shipped}, {of_documents}");
            if findings.is_empty() {
                return ok("rules", detail);
            }
            let n_warnings = findings.len() as u64 - n_errors;
            let listed = show::diagnostics(&findings).join("; ");
            let detail = format!(
                "{detail}; {}, {}: {listed}",
                show::plural(n_errors, "error"),
                show::plural(n_warnings, "warning")
            );
            let remedy = "correct the files; `agrajag rules validate FILE` checks one; a rule with an error is skipped alone";
            if n_errors > 0 { fail("rules", detail, remedy) } else { warn("rules", detail, remedy) }
        }
    }
}

/// How many rules ship, and what is wrong in the layers of the documents directory.
async fn rule_findings(
    config: &Config,
    context: &Context,
) -> Result<(usize, Vec<v1::RuleDiagnostic>), Error> {
    let local = Local::start(Config { store: Some(StoreUrl::Memory), ..config.clone() }).await?;
    let findings = ask_for_rules(&local, config.documents.as_deref(), context).await;
    local.stop().await?;
    findings
}

async fn ask_for_rules(
    local: &Local,
    documents: Option<&Path>,
    context: &Context,
) -> Result<(usize, Vec<v1::RuleDiagnostic>), Error> {
    let remote = local.connect(context.global.timeout).await?;
    let request = remote.request(v1::GetEffectiveRulesRequest::default());
    let shipped = remote.answer(remote.admin().get_effective_rules(request).await)?;
    let mut findings = shipped.diagnostics;
    for tenant_id in tenants(documents) {
        let request = remote.request(v1::ListRuleLayersRequest { tenant_id, include_yaml: false });
        let layers = remote.answer(remote.admin().list_rule_layers(request).await)?.layers;
        findings.extend(layers.into_iter().flat_map(|it| it.diagnostics));
    }
    Ok((shipped.rules.len(), findings))
}

/// The tenants that have a folder in the documents directory.
fn tenants(documents: Option<&Path>) -> BTreeSet<String> {
    let Some(entries) = documents.and_then(|it| it.read_dir().ok()) else { return BTreeSet::new() };
    entries
        .flatten()
        .filter(|it| it.path().is_dir())
        .filter_map(|it| it.file_name().into_string().ok())
        .filter(|it| !it.starts_with('.'))
        .collect()
}

/// Whether the address is free, or taken by a server of ours.
async fn address(listen: SocketAddr, context: &Context) -> Check {
    let error = match TcpListener::bind(listen) {
        Ok(_) => return ok("address", format!("`{listen}` is free")),
        Err(error) => error,
    };
    if error.kind() != io::ErrorKind::AddrInUse {
        return fail(
            "address",
            format!("cannot listen on `{listen}`: {error}"),
            "choose another with `--listen ADDRESS:PORT`",
        );
    }
    let info = match Remote::connect(&listen.to_string(), context.global.timeout).await {
        Ok(remote) => remote.answer(remote.health().get_info(remote.request(v1::GetInfoRequest {})).await),
        Err(error) => Err(error),
    };
    match info {
        Ok(info) => {
            ok("address", format!("`{listen}` is held by an Agrajag server, version {}", info.version))
        }
        Err(_) => fail(
            "address",
            format!("`{listen}` is held by another program"),
            "stop that program, or choose another port with `--listen`; port 0 takes a free one",
        ),
    }
}

/// Whether the store can be reached and written.
async fn store(config: &Config, info: Option<&v1::GetInfoResponse>, context: &Context) -> Check {
    if let Some(info) = info {
        return store_of_server(info);
    }
    let url = match config.store_url(&|name| std::env::var(name).ok()) {
        Ok(url) => url,
        Err(error) => return fail("store", with_causes(&error), "name one with `--store sqlite:PATH`"),
    };
    match &url {
        StoreUrl::Memory => {
            return warn(
                "store",
                "`memory:` forgets everything when the server ends",
                "name a lasting one with `--store sqlite:PATH` or `--store postgres://…`",
            );
        }
        StoreUrl::Sqlite(path) if !path.exists() => return new_file(path),
        StoreUrl::Sqlite(_) | StoreUrl::Postgres(_) => {}
    }
    match try_store(config, url.clone(), context).await {
        Ok(info) => {
            let epoch = info.store_epoch;
            ok(
                "store",
                format!("`{url}` is a {} store of epoch {epoch}, opened and written", info.store_kind),
            )
        }
        Err(why) => fail(
            "store",
            format!("`{url}`: {why}"),
            "correct path, rights or address of the store; until then a server starts without it and keeps trying",
        ),
    }
}

/// What a running server says of its store.
fn store_of_server(info: &v1::GetInfoResponse) -> Check {
    let kind = &info.store_kind;
    match (info.store_available, info.stale) {
        (true, false) => {
            ok("store", format!("the server's {kind} store answers, epoch {}", info.store_epoch))
        }
        (true, true) => warn(
            "store",
            format!("the server's {kind} store answers, but the server cannot follow its changes"),
            "look into the server's log; answers say `stale` until it can",
        ),
        (false, _) => fail(
            "store",
            format!("the server's {kind} store does not answer"),
            "start the database or free the file; the server keeps trying and answers from rules and memory",
        ),
    }
}

/// A file that the server will make: whether its folder lets it.
fn new_file(path: &Path) -> Check {
    let folder: PathBuf = path
        .ancestors()
        .skip(1)
        .map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it })
        .find(|it| it.exists())
        .unwrap_or(Path::new("."))
        .to_owned();
    match tempfile::tempfile_in(&folder) {
        Ok(_) => {
            ok("store", format!("`sqlite:{}` does not exist yet; `agrajag serve` makes it", path.display()))
        }
        Err(error) => fail(
            "store",
            format!(
                "`sqlite:{}` cannot be made: `{}` cannot be written: {error}",
                path.display(),
                folder.display()
            ),
            "choose a file in a folder that may be written, with `--store sqlite:PATH`",
        ),
    }
}

/// Opens the store and sends it a write that changes nothing; else why that failed.
async fn try_store(config: &Config, url: StoreUrl, context: &Context) -> Result<v1::GetInfoResponse, String> {
    let mut config = Config { store: Some(url), require_store: true, documents: None, ..config.clone() };
    config.mode = Mode::Active;
    let local = match Local::bind(config).await {
        Ok(local) => local,
        Err(ServeError::Store { source, .. }) => return Err(with_causes(&source)),
        Err(error) => return Err(with_causes(&error)),
    };
    let tried = write_nothing(&local, context).await;
    let stopped = local.stop().await;
    let info = tried.map_err(|error| with_causes(&error))?;
    stopped.map_err(|error| with_causes(&error))?;
    Ok(info)
}

async fn write_nothing(local: &Local, context: &Context) -> Result<v1::GetInfoResponse, Error> {
    let remote = local.connect(context.global.timeout).await?;
    let request = v1::DeleteDocumentsRequest {
        tenant_id: PROBE_TENANT.to_owned(),
        target: Some(v1::delete_documents_request::Target::SessionId(PROBE_TENANT.to_owned())),
        by: "doctor".to_owned(),
    };
    remote.answer(remote.admin().delete_documents(remote.request(request)).await)?;
    remote.answer(remote.health().get_info(remote.request(v1::GetInfoRequest {})).await)
}

/// The server of `--server`.
fn answering(server: &str, info: Option<Result<v1::GetInfoResponse, Error>>) -> Check {
    let info = match info {
        Some(Ok(info)) => info,
        Some(Err(error)) if error.exit_code() != 3 => {
            return fail(
                "server",
                format!("`{server}`: {}", with_causes(&error)),
                "check that an Agrajag server of this version runs there",
            );
        }
        Some(Err(_)) | None => {
            return warn(
                "server",
                format!("no server answers at `{server}`"),
                "start one with `agrajag serve`, or name another with `--server`",
            );
        }
    };
    let detail = format!("`{server}` runs version {}", info.version);
    if info.version != env!("CARGO_PKG_VERSION") {
        return warn(
            "server",
            detail,
            format!("use the program of the same version ({} here)", env!("CARGO_PKG_VERSION")),
        );
    }
    if info.n_rule_errors > 0 {
        let errors = show::plural(info.n_rule_errors.into(), "error");
        return fail(
            "server",
            format!("{detail}; {errors} in its rules"),
            "`agrajag rules layers --tenant ID` and `agrajag rules show --effective` show them",
        );
    }
    if info.mode() == v1::ServerMode::Observe {
        return warn(
            "server",
            format!("{detail} and only observes"),
            "start it without `--mode observe` to write",
        );
    }
    ok("server", detail)
}

fn render(out: &mut Out, checks: &[Check], worst: Status) -> io::Result<()> {
    match out.format() {
        Format::Json => {
            let checks: Vec<_> = checks
                .iter()
                .map(|it| {
                    json!({"name": it.name, "status": it.status.word(), "detail": it.detail, "remedy": it.remedy})
                })
                .collect();
            out.line(&json!({"worst": worst.word(), "checks": checks}).to_string())?;
        }
        Format::Table => {
            let mut table = Table::new(["STATUS", "WHAT", "FOUND"]);
            for it in checks {
                table.row([it.status.word(), it.name, &it.detail]);
                if !it.remedy.is_empty() {
                    table.row(["", "", &format!("remedy: {}", it.remedy)]);
                }
            }
            out.table(&table)?;
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests;
