//! `agrajag rules show`: the rules in the order in which they are tried.

use std::io;

use agrajag_proto::v1;

use super::{LayerArgs, OwnerArgs};
use crate::args::rules::{DEFAULT_PROJECT, Documents, LAYER_FILE};
use crate::client::Remote;
use crate::commands::{Context, write_warnings};
use crate::error::{Error, Exit};
use crate::local::{Local, Packs};
use crate::output::{Format, Out, note, printable};
use crate::show;
use crate::table::Table;
use crate::wire::word;

/// Letters of a place; of a longer one the end is shown.
const MAX_PLACE: usize = 24;

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
    let (mut response, shadows) = if args.effective {
        ask(&context.connect().await?, request).await?
    } else {
        if context.out.format() == Format::Table {
            note("the rules of this program; `--effective` shows those of the server");
        }
        let local = Local::in_memory(documents.path(), args.packs).await?;
        let remote = local.connect(context.global.timeout).await?;
        let answered = ask(&remote, request).await;
        drop(remote);
        local.stop().await?;
        answered?
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
    shadows.iter().map(shadow).for_each(|it| note(&it));
    Ok(Exit::Ok)
}

/// The rules, and the layers of theirs that are in force for nobody.
async fn ask(
    remote: &Remote,
    request: v1::GetEffectiveRulesRequest,
) -> Result<(v1::GetEffectiveRulesResponse, Vec<v1::RuleLayer>), Error> {
    let (tenant_id, project) = (request.tenant_id.clone(), request.project_id.clone());
    let project = if project.is_empty() { DEFAULT_PROJECT.to_owned() } else { project };
    let response = remote.answer(remote.admin().get_effective_rules(remote.request(request)).await)?;
    let request = v1::ListRuleLayersRequest { tenant_id, include_yaml: false };
    let mut layers = remote.answer(remote.admin().list_rule_layers(remote.request(request)).await)?.layers;
    layers.retain(|it| it.shadow && (it.project_id.is_empty() || it.project_id == project));
    Ok((response, layers))
}

/// That a layer's rules are not in the list, and why.
fn shadow(layer: &v1::RuleLayer) -> String {
    let of_project = match layer.project_id.as_str() {
        "" => String::new(),
        project => format!(", project {project}"),
    };
    let (rules, tenant) = (show::plural(layer.n_rules.into(), "rule"), &layer.tenant_id);
    format!(
        "SHADOW: the layer of tenant {tenant}{of_project} says `shadow: true`: {rules} in force for nobody and not listed"
    )
}

fn render(out: &mut Out, response: &v1::GetEffectiveRulesResponse) -> io::Result<()> {
    let mut table = Table::new(["#", "RULE", "FROM", "PLACE", "SIGNATURE", "CLASS", "NOTE"]).keep([1]);
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
            &short_place(rule),
            &rule.signature,
            &show::short_wire_class(rule.classification),
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
        let rule = if it.rule_id.is_empty() { "no rule" } else { &it.rule_id };
        let line = format!(
            "shadow: {failures} decided by {rule} ({class}) would be decided by {} ({shadow})",
            it.shadow_rule_id
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

/// The same in a few letters: of a layer's file in a directory whose it is, of a longer path its end.
fn short_place(rule: &v1::Rule) -> String {
    let place = place(rule);
    let owner = place.replacen(&format!("/{LAYER_FILE}:"), ":", 1);
    match owner.rsplit_once('/') {
        Some((_, name)) if owner.chars().count() > MAX_PLACE => format!("…/{name}"),
        _ => owner,
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
    fn a_place_is_shown_in_a_few_letters() {
        let short = |source: &str| {
            short_place(&v1::Rule { source: source.to_owned(), line: 7, ..Default::default() })
        };
        for (source, expected) in [
            ("dev.yaml", "dev.yaml:7"),
            ("acme/_vance/agrajag/error-patterns.yaml", "acme:7"),
            ("acme/essay/_vance/agrajag/error-patterns.yaml", "acme/essay:7"),
            ("store:acme/essay", "store:acme/essay:7"),
            ("rules/mine.yaml", "rules/mine.yaml:7"),
            ("/home/someone/work/of/today/mine.yaml", "…/mine.yaml:7"),
        ] {
            assert_eq!(short(source), expected);
        }
        let layer = |project: &str| v1::RuleLayer {
            tenant_id: "acme".to_owned(),
            project_id: project.to_owned(),
            n_rules: 2,
            ..Default::default()
        };
        assert!(shadow(&layer("")).starts_with("SHADOW: the layer of tenant acme says"));
        assert!(
            shadow(&layer("essay"))
                .contains("tenant acme, project essay says `shadow: true`: 2 rules in force for nobody")
        );
    }

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
