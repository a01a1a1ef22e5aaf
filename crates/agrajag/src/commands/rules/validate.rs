//! `agrajag rules validate`: rule files checked without a server.

use std::collections::BTreeSet;
use std::io;

use agrajag_proto::v1;
use checker::{Diagnostic, LayerKind, Options, ParsedLayer, RuleTable, Severity};

use super::read_layer;
use crate::commands::Context;
use crate::error::{Error, Exit};
use crate::output::{Format, Out, printable};
use crate::show::{self, plural};

/// Flags of `rules validate`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// A rule file; `-` is standard input. Several are checked one by one, each on the shipped rules.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Check them as layers of a project; else as layers of a tenant.
    #[arg(long)]
    project_layer: bool,
}

/// Checks every file. Exit code 2 if one has an error.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let kind = if args.project_layer { LayerKind::Project } else { LayerKind::Tenant };
    let mut all = v1::ValidateRulesResponse { valid: true, ..Default::default() };
    for file in &args.files {
        let response = validate(&read_layer(kind, file)?.tried());
        if context.out.format() == Format::Table {
            render(&mut context.out, file, &response)?;
        }
        all.valid &= response.valid;
        all.n_rules += response.n_rules;
        all.n_skipped += response.n_skipped;
        all.diagnostics.extend(response.diagnostics);
    }
    context.out.answer(&all, |_| Ok(()))?;
    Ok(if all.valid { Exit::Ok } else { Exit::Findings(2) })
}

/// What a server says about the layer, as the same message.
fn validate(layer: &ParsedLayer) -> v1::ValidateRulesResponse {
    let table = RuleTable::build([layer], Options::default());
    // A finding names its rule by the place in the list.
    let skipped: BTreeSet<&str> = layer
        .diagnostics
        .iter()
        .filter(|it| it.severity == Severity::Error)
        .filter_map(|it| it.field.split_once(']').map(|(rule, _)| rule))
        .collect();
    let n_rules = layer.rules.len();
    v1::ValidateRulesResponse {
        valid: layer.n_errors() == 0,
        n_rules: u32::try_from(n_rules).unwrap_or(u32::MAX),
        n_skipped: u32::try_from(skipped.len()).unwrap_or(u32::MAX),
        diagnostics: layer.diagnostics.iter().chain(table.diagnostics()).map(diagnostic).collect(),
        ..Default::default()
    }
}

/// A finding as it goes over the wire.
fn diagnostic(found: &Diagnostic) -> v1::RuleDiagnostic {
    let severity = match found.severity {
        Severity::Error => v1::RuleSeverity::Error,
        Severity::Warning => v1::RuleSeverity::Warning,
    };
    v1::RuleDiagnostic {
        severity: severity.into(),
        file: found.source.clone(),
        line: found.line,
        column: found.column,
        rule_id: found.rule_id.clone().unwrap_or_default(),
        field: found.field.clone(),
        message: found.message.clone(),
    }
}

fn render(out: &mut Out, file: &str, response: &v1::ValidateRulesResponse) -> io::Result<()> {
    show::diagnostics(&response.diagnostics).iter().try_for_each(|it| out.line(it))?;
    let n = |wanted: v1::RuleSeverity| {
        response.diagnostics.iter().filter(|it| it.severity() == wanted).count() as u64
    };
    out.line(&printable(&format!(
        "{file}: {}, {} skipped, {}, {}",
        plural(response.n_rules.into(), "rule"),
        response.n_skipped,
        plural(n(v1::RuleSeverity::Error), "error"),
        plural(n(v1::RuleSeverity::Warning), "warning"),
    )))
}
