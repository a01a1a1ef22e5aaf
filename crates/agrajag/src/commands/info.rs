//! `agrajag info`: what the server is.

use std::io;

use agrajag_proto::v1;

use super::{Context, write_warnings};
use crate::args::time::shown;
use crate::error::{Error, Exit};
use crate::output::Out;
use crate::table::Table;
use crate::wire::word;

/// Flags of `info`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {}

/// Asks and shows the answer.
pub(crate) async fn run(_: &Args, context: &mut Context) -> Result<Exit, Error> {
    let remote = context.connect().await?;
    let response = remote.answer(remote.health().get_info(remote.request(v1::GetInfoRequest {})).await)?;
    let server = remote.server().to_owned();
    context.out.answer(&response, |out| render(out, &server, &response))?;
    Ok(Exit::Ok)
}

fn render(out: &mut Out, server: &str, info: &v1::GetInfoResponse) -> io::Result<()> {
    let store = format!("{} ({})", info.store_kind, if info.store_available { "available" } else { "away" });
    let packs = if info.packs.is_empty() { "none".to_owned() } else { info.packs.join(", ") };
    let rules = format!("{} errors, {} warnings", info.n_rule_errors, info.n_rule_warnings);
    let mut table = Table::list();
    table
        .entry("server", server)
        .entry("version", &info.version)
        .entry("mode", &word::<v1::ServerMode>(info.mode))
        .entry("store", &store)
        .entry("store epoch", &info.store_epoch)
        .entry("packs", &packs)
        .entry("default action", &info.default_action)
        .entry("rules", &rules)
        .entry("surface", &word::<v1::SurfaceMode>(info.surface))
        .entry("placement", &word::<v1::Placement>(info.placement))
        .entry("started", &shown(info.started_at.as_ref()))
        .entry("time", &shown(info.now.as_ref()));
    if let Some(limits) = &info.limits {
        let limits = [
            ("tools of a request", limits.max_tools),
            ("bytes of a tool's name", limits.max_tool_name_bytes),
            ("bytes of an id", limits.max_id_bytes),
            ("bytes of a body looked at", limits.max_matched_body_bytes),
            ("bytes of a request", limits.max_request_bytes),
            ("bytes of a rule layer", limits.max_rule_layer_bytes),
            ("entries of a page", limits.max_page_size),
            ("calls of a connection", limits.max_concurrent_requests_per_connection),
            ("entries of a history", limits.history_size),
            ("watches", limits.max_watches),
        ];
        for (name, limit) in limits {
            table.entry(name, &format!("at most {limit}"));
        }
    }
    out.table(&table)?;
    write_warnings(out, &info.warnings, info.stale)
}
