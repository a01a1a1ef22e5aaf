//! `agrajag rules show`: the rules in the order in which they are tried.

use std::io;

use agrajag_proto::v1;

use super::{LayerArgs, OwnerArgs};
use crate::args::rules::Documents;
use crate::commands::{Context, write_warnings};
use crate::error::{Error, Exit};
use crate::local::{Local, Packs};
use crate::output::{Format, Out, note, printable};
use crate::show;
use crate::table::Table;
use crate::wire::word;

/// Flags of `rules show`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Ask the server for what is in force there; else this program shows its own rules, with those of `--rules`.
    #[arg(long, conflicts_with_all = ["rules", "packs"])]
    effective: bool,
    /// The rule packs in force: `all` that ship, or `none`, the bundled twelve rules alone.
    #[arg(long, value_name = "PACKS", default_value = "all")]
    packs: Packs,
    /// Show the rules as YAML instead of a table.
    #[arg(long)]
    yaml: bool,
    #[command(flatten)]
    layers: LayerArgs,
}

/// Asks and shows.
pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Error> {
    let OwnerArgs { tenant, project } = args.layers.owner;
    let documents = Documents::of(args.layers.rules.as_ref(), &tenant, project.as_deref())?;
    let request = v1::GetEffectiveRulesRequest { tenant_id: tenant, project_id: project.unwrap_or_default() };
    let mut response = if args.effective {
        let remote = context.connect().await?;
        remote.answer(remote.admin().get_effective_rules(remote.request(request)).await)?
    } else {
        if context.out.format() == Format::Table {
            note("the rules of this program; `--effective` shows those of the server");
        }
        let local = Local::in_memory(documents.path(), args.packs).await?;
        let remote = local.connect(context.global.timeout).await?;
        let response = remote.answer(remote.admin().get_effective_rules(remote.request(request)).await);
        drop(remote);
        local.stop().await?;
        response?
    };
    for it in &mut response.diagnostics {
        it.file = documents.named(std::mem::take(&mut it.file));
    }
    for it in &mut response.rules {
        it.source = documents.named(std::mem::take(&mut it.source));
    }
    context
        .out
        .answer(&response, |out| if args.yaml { yaml(out, &response) } else { render(out, &response) })?;
    Ok(Exit::Ok)
}

fn render(out: &mut Out, response: &v1::GetEffectiveRulesResponse) -> io::Result<()> {
    let mut table = Table::new(["#", "RULE", "FROM", "PLACE", "SIGNATURE", "CLASS", "NOTE"]);
    for rule in &response.rules {
        let mut notes = Vec::new();
        if rule.locked {
            notes.push("locked".to_owned());
        }
        if !rule.shadowed_by.is_empty() {
            notes.push(format!("never reached, shadowed by {}", rule.shadowed_by.join(", ")));
        }
        table.row([
            &rule.position.to_string(),
            &rule.rule_id,
            &word::<v1::RuleOrigin>(rule.origin),
            &place(rule),
            &rule.signature,
            &word::<v1::Classification>(rule.classification),
            &notes.join("; "),
        ]);
    }
    out.table(&table)?;
    for it in &response.shadow_changes {
        let (class, shadow) = (
            word::<v1::Classification>(it.classification),
            word::<v1::Classification>(it.shadow_classification),
        );
        let failures = show::plural(it.count, "failure");
        let line = format!(
            "shadow: {failures} decided by {} ({class}) would be decided by {} ({shadow})",
            it.rule_id, it.shadow_rule_id
        );
        out.line(&crate::output::printable(&line))?;
    }
    show::diagnostics(&response.diagnostics).iter().try_for_each(|it| out.line(it))?;
    write_warnings(out, &response.warnings, response.stale)
}

/// The text that the rule stands in, and its line.
fn place(rule: &v1::Rule) -> String {
    match rule.line {
        0 => rule.source.clone(),
        line => format!("{}:{line}", rule.source),
    }
}

/// The texts of the rules one below the other: each is an item of a list, so that together they are a layer.
fn yaml(out: &mut Out, response: &v1::GetEffectiveRulesResponse) -> io::Result<()> {
    for rule in &response.rules {
        let origin = word::<v1::RuleOrigin>(rule.origin).to_ascii_lowercase();
        out.line(printable(&format!("# {} {origin} {}", rule.position, place(rule))).trim_end())?;
        rule.yaml.lines().try_for_each(|it| out.line(&printable(it)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_shows_order_origin_and_what_is_never_reached() {
        let rule = |position, id: &str, origin: v1::RuleOrigin| v1::Rule {
            source: "bundled.yaml".to_owned(),
            line: position * 10,
            position,
            rule_id: id.to_owned(),
            origin: origin.into(),
            signature: format!("{id}-signature"),
            classification: v1::Classification::Unclear.into(),
            ..Default::default()
        };
        let response = v1::GetEffectiveRulesResponse {
            rules: vec![
                v1::Rule { locked: true, ..rule(1, "http-403", v1::RuleOrigin::Bundled) },
                v1::Rule {
                    shadowed_by: vec!["http-403".to_owned()],
                    source: "acme/_vance/agrajag/error-patterns.yaml".to_owned(),
                    ..rule(2, "mine", v1::RuleOrigin::Tenant)
                },
            ],
            diagnostics: vec![v1::RuleDiagnostic {
                severity: v1::RuleSeverity::Warning.into(),
                file: "acme/_vance/agrajag/error-patterns.yaml".to_owned(),
                line: 3,
                column: 5,
                rule_id: "mine".to_owned(),
                field: String::new(),
                message: "is never reached".to_owned(),
            }],
            ..Default::default()
        };
        let (mut out, written) = Out::captured(Format::Table);
        render(&mut out, &response).expect("memory");
        insta::assert_snapshot!(written.text());
    }
}
