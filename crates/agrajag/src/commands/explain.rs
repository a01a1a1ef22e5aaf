//! `agrajag explain`: what would match a failed call and why. Writes nothing.
//!
//! Asks the server of the flags, or with `--local` one of its own that holds nothing but rules.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use agrajag_proto::v1;

use super::{Context, write_warnings};
use crate::args::call::CallArgs;
use crate::args::read;
use crate::args::rules::{MAX_LAYER, RulesPath, rules_path};
use crate::error::{Error, Exit};
use crate::local::{Local, Packs};
use crate::output::{Out, printable};
use crate::show;
use crate::table::Table;
use crate::wire::word;

/// The rules that nearly matched of which is told.
const MAX_MISSES: usize = 8;

/// What a thing weighs that held for one rule alone: more rules share it.
const SHARES: u64 = 1 << 20;

/// Characters of what a rule that nearly matched looks for, and of what it found there.
const MAX_SHOWN: usize = 100;

/// Flags of `explain`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// A rule file to try in the place of the caller's project layer, `-` is standard input; or with `--local` a
    /// directory with the layers of tenants and projects: `DIR/TENANT[/PROJECT]/_vance/agrajag/error-patterns.yaml`.
    #[arg(long, visible_alias = "rules-file", value_name = "FILE|DIR", value_parser = rules_path)]
    rules: Option<RulesPath>,
    /// Ask no server: the rules of this program, with those of `--rules` if given.
    #[arg(long)]
    local: bool,
    /// With `--local`: the rule packs in force, `all` that ship or `none`.
    #[arg(long, value_name = "PACKS", default_value = "all", requires = "local")]
    packs: Packs,
    /// Show every rule, not only those that match and the nearest of those that do not.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    call: CallArgs,
}

/// Asks and shows verdict, rules and what would be written.
pub(crate) async fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let request = request(args)?;
    let tool = request.tool.as_ref().map_or_else(String::new, |it| it.name.clone());
    let response = if args.local {
        let documents = match &args.rules {
            Some(RulesPath::Directory(directory)) => Some(directory.clone()),
            _ => None,
        };
        let local = Local::in_memory(documents, args.packs).await?;
        let remote = local.connect(context.global.timeout).await?;
        let response = remote.answer(remote.health().explain(remote.request(request)).await);
        local.stop().await?;
        response?
    } else {
        let asked = async {
            let remote = context.connect().await?;
            remote.answer(remote.health().explain(remote.request(request)).await)
        };
        asked.await.map_err(|error| error.or_else_do("ask no server with `--local`"))?
    };
    context.out.answer(&response, |out| render(out, &tool, &response, args.all))?;
    Ok(Exit::Ok)
}

fn request(args: &Args) -> Result<v1::ExplainRequest, Error> {
    let request = args.call.to_request()?;
    let rules_yaml = match &args.rules {
        None => None,
        Some(RulesPath::File(file)) => Some(read("--rules", file, MAX_LAYER)?),
        // A server reads its own directory.
        Some(RulesPath::Directory(_)) if args.local => None,
        Some(RulesPath::Directory(directory)) => {
            return Err(Error::input(
                format!("`--rules {}` is a directory, and a server takes one file", directory.display()),
                "name a rule file, or ask no server with `--local`",
            ));
        }
    };
    Ok(v1::ExplainRequest {
        caller: request.caller,
        tool: request.tool,
        failure: request.failure,
        rules_yaml,
    })
}

fn render(out: &mut Out, tool: &str, response: &v1::ExplainResponse, all: bool) -> io::Result<()> {
    let verdict = response.verdict.clone().unwrap_or_default();
    out.line(&show::headline(tool, &verdict))?;
    out.table(&show::verdict(&verdict, true))?;

    let shown = if all { response.rules.iter().collect() } else { nearest(&response.rules) };
    let mut rules = Table::new(["#", "RULE", "FROM", "RESULT"]);
    for rule in &shown {
        rules.row([
            &rule.position.to_string(),
            &rule.rule_id,
            &word::<v1::RuleOrigin>(rule.origin),
            &result(rule, all),
        ]);
    }
    out.line("")?;
    out.table(&rules)?;
    let n_left = response.rules.len() - shown.len();
    if n_left > 0 {
        let others = show::plural(n_left as u64, "rule");
        out.line(&format!("{others} further from a match: `--all` shows them"))?;
    }

    out.line("")?;
    if response.writes.is_empty() {
        out.line("A check would write nothing.")?;
    }
    for write in &response.writes {
        let place = match &write.key {
            Some(key) => format!("A check would write at {}", show::place(Some(key))),
            None => "Besides".to_owned(),
        };
        out.line(&printable(&format!("{place}: {}", write.what)))?;
    }
    show::diagnostics(&response.diagnostics).iter().try_for_each(|it| out.line(it))?;
    write_warnings(out, &response.warnings, response.stale)
}

/// The same with the beginning of what is long.
fn brief(evidence: v1::Evidence) -> v1::Evidence {
    let cut = |text: String| match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    };
    v1::Evidence { expected: cut(evidence.expected), seen: cut(evidence.seen), ..evidence }
}

/// The rules that match, the one that decided first, then the nearest of the others: those of which rare things held. What
/// holds for many rules, such as a status, says little of which of them was meant.
fn nearest(rules: &[v1::RuleExplanation]) -> Vec<&v1::RuleExplanation> {
    let (mut shown, mut others): (Vec<_>, Vec<_>) = rules.iter().partition(|it| it.matched);
    shown.sort_by_key(|it| !it.selected);
    others.retain(|it| it.n_matched > 0);
    let mut held: BTreeMap<String, u64> = BTreeMap::new();
    for it in others.iter().flat_map(|it| &it.matched_fields) {
        *held.entry(kind_of_fact(it)).or_default() += 1;
    }
    let weight = |it: &v1::Evidence| SHARES / held.get(&kind_of_fact(it)).copied().unwrap_or(1).max(1);
    others.sort_by_cached_key(|it| Reverse(it.matched_fields.iter().map(weight).sum::<u64>()));
    shown.extend(others.into_iter().take(MAX_MISSES));
    shown
}

/// What held, in the words that are the same in every rule.
fn fact(evidence: &v1::Evidence) -> String {
    match evidence.field.as_str() {
        // It names the fields of its branch itself.
        "any" => evidence.seen.clone(),
        field => format!("{field} {}", evidence.seen),
    }
}

/// The same for facts that differ only in the field that asks for them.
fn kind_of_fact(evidence: &v1::Evidence) -> String {
    let fact = fact(evidence);
    let status = fact.strip_prefix("httpStatusRange ").or_else(|| fact.strip_prefix("httpStatus "));
    status.map_or_else(|| fact.clone(), |it| format!("status {it}"))
}

/// What became of one rule. What a miss looks for may be long, and its beginning tells it.
fn result(rule: &v1::RuleExplanation, whole: bool) -> String {
    let fields = || rule.matched_fields.iter().map(show::evidence).collect::<Vec<_>>().join("; ");
    let facts = || rule.matched_fields.iter().map(fact).collect::<Vec<_>>().join(", ");
    let mismatch = rule.first_mismatch.clone().map(|it| if whole { it } else { brief(it) });
    match (&mismatch, rule.selected) {
        (Some(mismatch), _) if rule.n_matched == 0 => format!("no: {}", show::evidence(mismatch)),
        (Some(mismatch), _) => format!("nearly: {} held; not {}", facts(), show::evidence(mismatch)),
        (None, true) if fields().is_empty() => "DECIDED: matches everything".to_owned(),
        (None, true) => format!("DECIDED: {}", fields()),
        (None, false) if rule.matched && fields().is_empty() => "matches everything, too late".to_owned(),
        (None, false) if rule.matched => format!("matches, too late: {}", fields()),
        (None, false) => "no".to_owned(),
    }
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

    fn evidence(field: &str, expected: &str, seen: &str) -> v1::Evidence {
        v1::Evidence { field: field.to_owned(), expected: expected.to_owned(), seen: seen.to_owned() }
    }

    fn rule(
        position: u32,
        id: &str,
        matched: Vec<v1::Evidence>,
        miss: Option<v1::Evidence>,
    ) -> v1::RuleExplanation {
        v1::RuleExplanation {
            position,
            rule_id: id.to_owned(),
            origin: v1::RuleOrigin::Bundled.into(),
            matched: miss.is_none(),
            n_matched: matched.len() as u32,
            matched_fields: matched,
            first_mismatch: miss,
            ..Default::default()
        }
    }

    /// DESIGN §2.8: the rule, the fields that matched, the rules that nearly did.
    #[test]
    fn the_rule_that_decided_and_those_that_nearly_did_are_shown() {
        let status = || evidence("httpStatus", "401", "401");
        let mut generic = rule(2, "http-401-generic", vec![status()], None);
        generic.selected = true;
        let response = v1::ExplainResponse {
            verdict: Some(v1::Verdict {
                classification: v1::Classification::Unclear.into(),
                signature: "http-401".to_owned(),
                rule_id: "http-401-generic".to_owned(),
                ..Default::default()
            }),
            rules: vec![
                rule(
                    1,
                    "http-401-expired-token",
                    vec![status()],
                    Some(evidence("bodyContains", "expired_token", "")),
                ),
                generic,
                rule(3, "http-403", Vec::new(), Some(evidence("httpStatus", "403", "401"))),
                rule(4, "fallback", Vec::new(), None),
            ],
            writes: vec![v1::PlannedWrite {
                key: Some(v1::DocumentKey {
                    scope: v1::Scope::User.into(),
                    scope_id: "alice".to_owned(),
                    tool_name: "jira_search".to_owned(),
                    provider: String::new(),
                }),
                what: "cooldown http-401 until 2026-11-30 14:05 UTC".to_owned(),
            }],
            ..Default::default()
        };
        let (mut out, written) = Out::captured(Format::Table);
        render(&mut out, "jira_search", &response, false).expect("memory");
        let text = written.text();
        assert!(text.lines().all(|it| it.chars().count() <= 100), "{text}");
        insta::assert_snapshot!(text);
        let (mut out, written) = Out::captured(Format::Table);
        render(&mut out, "jira_search", &response, true).expect("memory");
        assert!(written.text().contains("no: httpStatus: wants 403, saw 401"), "{}", written.text());
    }

    /// DESIGN §2.8: of many rules only those that say something are shown, the nearest first: what few rules look for
    /// says more than what many do, in whichever branch it stands.
    #[test]
    fn at_most_eight_misses_are_shown_the_nearest_first() {
        let wanted = format!("`{}the end`", "é".repeat(200));
        let miss = || Some(evidence("text", &wanted, "none of them in 3 bytes of text"));
        let status = || evidence("status", "404, 410", "404");
        let provider = |name: &str| evidence("provider", name, name);
        let held = |at: u32| match at {
            3 | 4 => Vec::new(),
            8 => vec![evidence("httpStatusRange", "400 to 499", "404")],
            9 => vec![evidence("any", "status 404", "status 404")],
            14 | 15 => vec![status(), provider("jira")],
            18 => vec![provider("rare")],
            _ => vec![status()],
        };
        let mut rules: Vec<v1::RuleExplanation> =
            (1..=20).map(|at| rule(at, &format!("miss-{at}"), held(at), miss())).collect();
        rules.push(rule(21, "late", vec![evidence("status", "404", "404")], None));
        let mut decided = rule(22, "decided", vec![evidence("status", "404", "404")], None);
        decided.selected = true;
        rules.push(decided);
        let ids: Vec<&str> = nearest(&rules).iter().map(|it| it.rule_id.as_str()).collect();
        let expected = [
            "decided", "late", "miss-18", "miss-14", "miss-15", "miss-1", "miss-2", "miss-5", "miss-6",
            "miss-7",
        ];
        assert_eq!(ids, expected);

        let response = v1::ExplainResponse { rules, ..Default::default() };
        let shown = |all| {
            let (mut out, written) = Out::captured(Format::Table);
            render(&mut out, "x", &response, all).expect("memory");
            written.text()
        };
        assert!(
            shown(false).contains("nearly: status 404, provider jira held; not text"),
            "{}",
            shown(false)
        );
        assert!(shown(false).contains("12 rules further from a match"), "{}", shown(false));
        assert!(!shown(false).contains("the end"), "what is long is cut");
        assert!(
            shown(true).contains("miss-20")
                && shown(true).replace(['\n', ' '], "").contains("theend")
                && !shown(true).contains("further"),
            "{}",
            shown(true)
        );
    }

    #[test]
    fn a_rule_file_is_sent_and_a_directory_needs_local() {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        io::Write::write_all(&mut file, b"patterns: []\n").expect("written");
        let path = file.path().to_str().expect("UTF-8");
        for flag in ["--rules", "--rules-file"] {
            let line = Line::parse_from(["explain", "--tool", "x", flag, path]);
            assert_eq!(request(&line.args).expect("usable").rules_yaml.as_deref(), Some("patterns: []\n"));
        }
        let line = Line::parse_from(["explain", "--tool", "x", "--rules", "."]);
        let error = request(&line.args).expect_err("a server takes no directory");
        assert!(error.to_text().contains("--local"), "{}", error.to_text());
        let line = Line::parse_from(["explain", "--tool", "x", "--rules", ".", "--local"]);
        assert_eq!(request(&line.args).expect("usable").rules_yaml, None);
    }
}
