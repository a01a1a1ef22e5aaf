//! `agrajag rules backtest`: a rule file tried on the failures that a server has on record.

use std::io;

use agrajag_proto::v1;

use super::OwnerArgs;
use crate::args::read;
use crate::args::rules::MAX_LAYER;
use crate::args::time::{shown, shown_in_column};
use crate::commands::{Context, write_warnings};
use crate::error::{Error, Exit};
use crate::output::{Out, printable};
use crate::show::{self, plural};
use crate::table::Table;
use crate::wire::{choice_of, word};

/// How it ends, for `--help`.
pub(super) const EXIT_CODES: &str = "Exit codes: 0 if nothing would change, 1 if something would, 2 if the file has an \
                                     error or the input is bad, 3 if no server answers.";

/// Flags of `rules backtest`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// The rule file to try; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    rules: String,
    #[command(flatten)]
    owner: OwnerArgs,
    /// Whose layer the file is to be [default: the project's if one is given, else the tenant's].
    #[arg(long, value_name = "LAYER", ignore_case = true,
          value_parser = choice_of(vec![v1::RuleOrigin::Tenant, v1::RuleOrigin::Project]))]
    layer: Option<v1::RuleOrigin>,
    /// Replay at most so many failures, the latest ones; 0: all that are on record.
    #[arg(long, value_name = "N", default_value_t = 0)]
    limit: u32,
}

/// Asks and shows. Exit code 1 if something would change.
pub(super) async fn run(args: Args, context: &mut Context) -> Result<Exit, Error> {
    let yaml = read("--rules", &args.rules, MAX_LAYER)?;
    let OwnerArgs { tenant, project } = args.owner;
    let remote = context.connect().await?;
    let request = v1::BacktestRulesRequest {
        tenant_id: tenant,
        project_id: project.unwrap_or_default(),
        layer: args.layer.unwrap_or_default().into(),
        yaml,
        limit: args.limit,
    };
    let mut response = remote.answer(remote.admin().backtest_rules(remote.request(request)).await)?;
    // All findings are about the text that was sent.
    for it in &mut response.diagnostics {
        it.file.clone_from(&args.rules);
    }
    context.out.answer(&response, |out| render(out, &response))?;
    Ok(exit(&response))
}

fn exit(response: &v1::BacktestRulesResponse) -> Exit {
    if response.diagnostics.iter().any(|it| it.severity() == v1::RuleSeverity::Error) {
        Exit::Findings(2)
    } else if response.changes.is_empty() {
        Exit::Ok
    } else {
        Exit::Findings(1)
    }
}

fn render(out: &mut Out, response: &v1::BacktestRulesResponse) -> io::Result<()> {
    show::diagnostics(&response.diagnostics).iter().try_for_each(|it| out.line(it))?;
    let n_changed = response.n_replayed - response.n_unchanged;
    out.line(&format!(
        "{} replayed: {} unchanged, {n_changed} changed",
        plural(response.n_replayed.into(), "failure"),
        response.n_unchanged
    ))?;
    if response.n_replayed > 0 {
        let (from, to) = (shown(response.oldest_at.as_ref()), shown(response.newest_at.as_ref()));
        out.line(&format!("reported {from} to {to}"))?;
    }
    if !response.changes.is_empty() {
        out.table(&changes(&response.changes))?;
        out.line("")?;
        out.table(&examples(&response.changes))?;
    }
    remarks(response).iter().try_for_each(|it| out.line(it))?;
    write_warnings(out, &response.warnings, false)
}

fn changes(changes: &[v1::BacktestChange]) -> Table {
    let mut table = Table::new(["#", "COUNT", "RULE BEFORE", "CLASS", "RULE AFTER", "CLASS", "DIFFERS IN"]);
    for (n, it) in (1..).zip(changes) {
        let [(before, before_class), (after, after_class)] = [&it.before, &it.after].map(outcome);
        table.row([
            &i32::to_string(&n),
            &it.count.to_string(),
            &before,
            &before_class,
            &after,
            &after_class,
            &it.parts.join(", "),
        ]);
    }
    table
}

fn outcome(it: &Option<v1::BacktestOutcome>) -> (String, String) {
    let it = it.clone().unwrap_or_default();
    let rule = if it.rule_id.is_empty() { "(none)".to_owned() } else { it.rule_id };
    (rule, word::<v1::Classification>(it.classification))
}

fn examples(changes: &[v1::BacktestChange]) -> Table {
    let mut table = Table::new(["#", "REPORTED (UTC)", "PROJECT", "TOOL", "FAILURE"]);
    for (n, it) in (1..).zip(changes) {
        for example in &it.examples {
            table.row([
                &i32::to_string(&n),
                &shown_in_column(example.at.as_ref()),
                &example.project_id,
                &example.tool_name,
                &printable(&example.excerpt),
            ]);
        }
    }
    table
}

/// What limits the answer.
fn remarks(response: &v1::BacktestRulesResponse) -> Vec<String> {
    let mut remarks = Vec::new();
    if !response.journal_enabled {
        remarks.push(
            "The server keeps no journal of failures (`journal.enabled`, or mode `observe`): what is on record is older."
                .to_owned(),
        );
    } else if response.n_replayed == 0 && exit(response) == Exit::Ok {
        remarks.push("No failure is on record yet.".to_owned());
    }
    let failures = |n: u32| plural(n.into(), "failure");
    if response.n_cut > 0 {
        remarks.push(format!(
            "{} had longer texts than are kept: rules may see less of them than they saw then.",
            failures(response.n_cut)
        ));
    }
    if response.n_drifted > 0 {
        remarks.push(format!(
            "{} would be decided by another rule today than when reported, without this file.",
            failures(response.n_drifted)
        ));
    }
    if response.n_unreadable > 0 {
        remarks.push(format!(
            "Passed over, because this server cannot read what is on record: {}.",
            failures(response.n_unreadable)
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use prost_types::Timestamp;

    use super::*;
    use crate::output::Format;

    fn outcome(rule: &str, class: v1::Classification) -> Option<v1::BacktestOutcome> {
        Some(v1::BacktestOutcome { rule_id: rule.to_owned(), classification: class.into() })
    }

    fn response() -> v1::BacktestRulesResponse {
        let at = |seconds: i64| Some(Timestamp { seconds: 1_796_047_200 + seconds, nanos: 0 });
        let example = |seconds, excerpt: &str| v1::BacktestExample {
            at: at(seconds),
            project_id: "essay".to_owned(),
            tool_name: "jira_search".to_owned(),
            excerpt: excerpt.to_owned(),
        };
        v1::BacktestRulesResponse {
            n_replayed: 120,
            n_unchanged: 112,
            changes: vec![
                v1::BacktestChange {
                    before: outcome("http-403", v1::Classification::UserPermission),
                    after: outcome("quota", v1::Classification::UserSpecificTechnical),
                    count: 7,
                    parts: ["rule", "classification", "remedy"].map(str::to_owned).to_vec(),
                    examples: vec![
                        example(60, "quota exceeded for project [secret]"),
                        example(0, "quota\u{1b}[2J exceeded"),
                    ],
                },
                v1::BacktestChange {
                    before: outcome("", v1::Classification::Unclear),
                    after: outcome("quota", v1::Classification::UserSpecificTechnical),
                    count: 1,
                    parts: vec!["rule".to_owned()],
                    examples: vec![example(30, "")],
                },
            ],
            n_cut: 2,
            n_drifted: 1,
            n_unreadable: 3,
            oldest_at: at(0),
            newest_at: at(60),
            journal_enabled: true,
            ..Default::default()
        }
    }

    #[test]
    fn what_would_change_is_shown_by_rule_with_examples() {
        let (mut out, written) = Out::captured(Format::Table);
        render(&mut out, &response()).expect("memory");
        assert!(written.text().lines().all(|it| it.chars().count() <= 100), "{}", written.text());
        insta::assert_snapshot!(written.text());
    }

    #[test]
    fn the_exit_code_tells_whether_something_changes() {
        let with = |severity: v1::RuleSeverity, it: v1::BacktestRulesResponse| v1::BacktestRulesResponse {
            diagnostics: vec![v1::RuleDiagnostic { severity: severity.into(), ..Default::default() }],
            ..it
        };
        let nothing = v1::BacktestRulesResponse { journal_enabled: true, ..Default::default() };
        for (expected, it) in [
            (0, nothing.clone()),
            (0, with(v1::RuleSeverity::Warning, nothing.clone())),
            (1, response()),
            (1, with(v1::RuleSeverity::Warning, response())),
            (2, with(v1::RuleSeverity::Error, response())),
            (2, with(v1::RuleSeverity::Error, nothing.clone())),
        ] {
            assert_eq!(exit(&it).code(), expected, "{it:?}");
        }
        assert_eq!(remarks(&nothing), ["No failure is on record yet."]);
        let off = v1::BacktestRulesResponse::default();
        assert!(remarks(&off)[0].contains("`journal.enabled`"));
    }
}
