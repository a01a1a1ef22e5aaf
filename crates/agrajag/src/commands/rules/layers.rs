//! `agrajag rules layers|put|delete`: the rule layers that a server keeps.

use std::io;

use agrajag_proto::v1;

use crate::args::caller::DEFAULT_TENANT;
use crate::args::read;
use crate::args::rules::MAX_LAYER;
use crate::args::time::shown_in_column;
use crate::commands::{Context, write_warnings};
use crate::error::{Error, Exit};
use crate::output::{Out, printable};
use crate::show;
use crate::table::Table;
use crate::wire::word;

/// Flags of `rules layers`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ListArgs {
    /// The tenant.
    #[arg(long, value_name = "ID", default_value = DEFAULT_TENANT)]
    tenant: String,
    /// Show the texts too.
    #[arg(long)]
    yaml: bool,
}

/// Flags of `rules put`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PutArgs {
    /// The rule file; `-` is standard input. With an error in it, nothing is put.
    #[arg(value_name = "FILE")]
    file: String,
    #[command(flatten)]
    change: ChangeArgs,
}

/// Flags of `rules delete`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    change: ChangeArgs,
}

/// Whose layer, and who changes it. Without a project it is the tenant's own.
#[derive(Debug, Clone, clap::Args)]
struct ChangeArgs {
    /// The tenant.
    #[arg(long, value_name = "ID", default_value = DEFAULT_TENANT)]
    tenant: String,
    /// The project [default: the tenant's own layer].
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// The version that is to be replaced: another one in the store is refused. 0: there must be none.
    #[arg(long, value_name = "N")]
    expected_version: Option<u64>,
    /// Who writes [default: admin].
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// Lists the layers.
pub(super) async fn list(args: ListArgs, context: &mut Context) -> Result<Exit, Error> {
    let remote = context.connect().await?;
    let request = v1::ListRuleLayersRequest { tenant_id: args.tenant, include_yaml: args.yaml };
    let response = remote.answer(remote.admin().list_rule_layers(remote.request(request)).await)?;
    context.out.answer(&response, |out| {
        if response.layers.is_empty() {
            out.line("No layer.")?;
        }
        render(out, &response.layers)?;
        write_warnings(out, &response.warnings, response.stale)
    })?;
    Ok(Exit::Ok)
}

/// Puts a layer.
pub(super) async fn put(args: PutArgs, context: &mut Context) -> Result<Exit, Error> {
    let yaml = read("", &args.file, MAX_LAYER)?;
    let remote = context.connect().await?;
    let request = v1::PutRuleLayerRequest {
        tenant_id: args.change.tenant,
        project_id: args.change.project.unwrap_or_default(),
        yaml,
        by: args.change.by.unwrap_or_default(),
        expected_version: args.change.expected_version,
    };
    let response = remote.answer(remote.admin().put_rule_layer(remote.request(request)).await)?;
    context.out.answer(&response, |out| {
        render(out, response.layer.as_slice())?;
        write_warnings(out, &response.warnings, false)
    })?;
    Ok(Exit::Ok)
}

/// Deletes a layer.
pub(super) async fn delete(args: DeleteArgs, context: &mut Context) -> Result<Exit, Error> {
    let remote = context.connect().await?;
    let request = v1::DeleteRuleLayerRequest {
        tenant_id: args.change.tenant,
        project_id: args.change.project.unwrap_or_default(),
        by: args.change.by.unwrap_or_default(),
        expected_version: args.change.expected_version,
    };
    let response = remote.answer(remote.admin().delete_rule_layer(remote.request(request)).await)?;
    context.out.answer(&response, |out| {
        out.line(if response.deleted { "deleted" } else { "there was no such layer" })?;
        write_warnings(out, &response.warnings, false)
    })?;
    Ok(Exit::Ok)
}

fn render(out: &mut Out, layers: &[v1::RuleLayer]) -> io::Result<()> {
    if layers.is_empty() {
        return Ok(());
    }
    let mut table = Table::new([
        "TENANT",
        "PROJECT",
        "KEPT IN",
        "VERSION",
        "RULES",
        "SKIPPED",
        "IN FORCE",
        "UPDATED (UTC)",
        "BY",
    ]);
    for layer in layers {
        table.row([
            &layer.tenant_id,
            if layer.project_id.is_empty() { "(tenant)" } else { &layer.project_id },
            &word::<v1::RuleLayerSource>(layer.source),
            &layer.version.to_string(),
            &layer.n_rules.to_string(),
            &layer.n_skipped.to_string(),
            if layer.shadow { "no: SHADOW" } else { "yes" },
            &shown_in_column(layer.updated_at.as_ref()),
            &layer.by,
        ]);
    }
    out.table(&table)?;
    for layer in layers {
        show::diagnostics(&layer.diagnostics).iter().try_for_each(|it| out.line(it))?;
        if !layer.yaml.is_empty() {
            out.line(&printable(&format!("# {} {}", layer.tenant_id, layer.project_id)))?;
            layer.yaml.lines().try_for_each(|it| out.line(&printable(it)))?;
        }
    }
    Ok(())
}
