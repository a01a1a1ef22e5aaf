//! Runs every example of `docs/rules.md`, `docs/rules-match.md` and `docs/rules-retry.md`: rules without findings, failures
//! with their rule, mistakes with their findings.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use checker::corpus::{EXAMPLE, got, parse_row, parse_rows};
use checker::lint::{Check, Source, lint};
use checker::rule::{BodyShape, RETRY_UNITS, RuleScope};
use checker::{LayerKind, Options, RuleTable, Settings, bundled, decide_alone, limits, packs, parse, schema};
use chrono::TimeDelta;
use health_model::words::Reason;
use health_model::{Classification, Failure, FailureKind, Fault, Policy, Remedy};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../docs/rules.md");
const MATCH: &str = include_str!("../../../docs/rules-match.md");
const RETRY: &str = include_str!("../../../docs/rules-retry.md");

/// The fenced blocks of a page: line, info string, text.
fn blocks(page: &str) -> Vec<(usize, String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    for (at, line) in (1..).zip(page.lines()) {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => open = Some((at, info.to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, _, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is left open");
    blocks
}

/// How much of a page ran.
#[derive(Debug, Default)]
struct Ran {
    rules: usize,
    failures: usize,
    findings: usize,
    rows: usize,
}

/// Runs the blocks of a page. What the second word of a block's info string means:
/// `bad`: the findings of loading it are the next block; `lint`: those of the linter are; `none`: without the packs;
/// `shadow`: a shadow layer; `of …`: not for the checker.
fn run_page(page: &str) -> Ran {
    let mut table = RuleTable::bundled(Options::default());
    let mut findings: Option<Vec<String>> = None;
    let mut ran = Ran::default();
    for (at, info, text) in blocks(page) {
        match info.as_str() {
            "yaml lint" => {
                let source = Source { kind: LayerKind::Tenant, name: "rules.yaml", text: &text };
                let (found, is_refused) = lint(&[source], Options::default());
                assert!(!is_refused, "line {at}");
                findings = Some(found.iter().map(ToString::to_string).collect());
            }
            "yaml" | "yaml bad" | "yaml none" | "yaml shadow" => {
                assert!(findings.is_none(), "line {at}: the findings of the block before are missing");
                let options = if info == "yaml none" { Options::BUNDLED } else { Options::default() };
                let layer = parse(LayerKind::Tenant, "rules.yaml", &text);
                assert_eq!(layer.is_shadow, info == "yaml shadow", "line {at}");
                table = RuleTable::build([&layer], options);
                // Rules of a pack that an example overrules are hidden on purpose.
                let of_table = table.diagnostics().iter().filter(|it| it.source == layer.source);
                let told: Vec<String> =
                    layer.diagnostics.iter().chain(of_table).map(ToString::to_string).collect();
                if info == "yaml bad" {
                    findings = Some(told);
                } else {
                    assert_eq!(told, [""; 0], "line {at}");
                    ran.rules += 1;
                }
            }
            "text" => {
                let expected: Vec<&str> = text.lines().collect();
                assert_eq!(findings.take().unwrap(), expected, "line {at}");
                ran.findings += expected.len();
            }
            "json" => {
                run(&table, at, &serde_json::from_str(&text).unwrap());
                ran.failures += 1;
            }
            // The rows: the first is the one that help and errors show.
            "jsonl" => {
                let rows = parse_rows(&text).unwrap();
                assert!(text.lines().any(|it| it == EXAMPLE), "line {at}");
                ran.rows += rows.len();
            }
            // What to type, and what is no output of the checker.
            "sh" => {}
            other if other.starts_with("text of ") => {}
            other => panic!("line {at}: what is a block of `{other}`?"),
        }
    }
    assert!(findings.is_none());
    ran
}

/// One failure: decided by `rule`, or by any but `not`; with a class, what is written and when to call again, where told.
fn run(table: &RuleTable, at: usize, example: &Value) {
    let rule_class = |id: &str| {
        table.entries().iter().find(|it| it.rule.id == id).map(|it| it.rule.classification.as_str())
    };
    let told = example.get("classification").and_then(Value::as_str);
    let class = told.or_else(|| rule_class(example["rule"].as_str()?)).unwrap_or("UNCLEAR");
    let row = json!({
        "id": "example",
        "tool": example.get("tool").cloned().unwrap_or_else(|| json!({"name": "tool", "kind": "rest"})),
        "error": example["error"],
        "expected": {"classification": class, "certainty": "certain", "retryAfter": example.get("retryAfter")},
    });
    let mut row = parse_row(&row.to_string()).unwrap();
    more_fields(&mut row.failure, &example["error"]);
    let got = got(&row, table, &Policy::default(), &Settings::default());
    match (example.get("rule"), example.get("not")) {
        (Some(rule), None) => assert_eq!(got.rule_id, rule.as_str().unwrap(), "line {at}"),
        (None, Some(rule)) => {
            let rule = rule.as_str().unwrap();
            let known = table.shadow().unwrap_or(table).entries().iter().any(|it| it.rule.id == rule);
            assert!(known, "line {at}: there is no rule `{rule}`");
            assert_ne!(got.rule_id, rule, "line {at}");
        }
        _ => assert!(told.is_some(), "line {at}: what is it to show?"),
    }
    if told.is_some() || example.get("rule").is_some() {
        assert_eq!(got.classification.as_str(), class, "line {at}: by {}", got.rule_id);
    }
    if let Some(writes) = example.get("writes") {
        let marks: Vec<String> =
            got.marks.iter().map(|(scope, status)| format!("{scope} {status}")).collect();
        assert_eq!(marks.join(", "), writes.as_str().unwrap(), "line {at}");
    }
    if let Some(remedy) = example.get("remedy") {
        let (policy, settings) = (Policy::default(), Settings::default());
        let decision =
            decide_alone(table, "acme", "default", &row.tool, &row.failure, &policy, &settings, row.now);
        assert_eq!(decision.verdict.remedy.as_str(), remedy.as_str().unwrap(), "line {at}");
    }
    if let Some(shadow) = example.get("shadow") {
        let would = table.shadow().unwrap().classify(&row.tool, &row.failure);
        assert_eq!(would.rule().id, shadow.as_str().unwrap(), "line {at}");
    }
    if let Some(wait) = row.expected.retry_after {
        assert_eq!(got.retry_at.map(|it| it - row.now), Some(wait), "line {at}");
    }
}

/// Fields of a failure that a row of a corpus does not have.
fn more_fields(failure: &mut Failure, error: &Value) {
    let text = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
    let flag = |name: &str| error.get(name).and_then(Value::as_bool);
    failure.method = text("method");
    failure.operation = text("operation");
    failure.phase = text("phase").map(|it| it.parse().unwrap());
    failure.not_found_of = text("notFoundOf").map(|it| it.parse().unwrap());
    failure.dispatch_code = text("dispatchCode").map(|it| it.parse().unwrap());
    failure.is_error = flag("isError");
    failure.schema_violation = flag("schemaViolation").unwrap_or(false);
    failure.exit_code = error.get("exitCode").and_then(Value::as_i64).map(|it| i32::try_from(it).unwrap());
}

/// C14, C15, C16, R105, R129, R140: what the pages promise is what happens.
#[test]
fn every_example_of_the_rules_runs() {
    let ran = run_page(PAGE);
    assert!(ran.rules >= 8 && ran.failures >= 9 && ran.findings >= 9 && ran.rows >= 2, "{ran:?}");
}

/// R109…R114: every field of the match language has an example that holds, and most one that does not.
#[test]
fn every_example_of_the_match_language_runs() {
    let ran = run_page(MATCH);
    assert!(ran.rules >= 12 && ran.failures >= 40, "{ran:?}");
    let examples: String =
        blocks(MATCH).into_iter().filter(|(_, info, _)| info == "yaml").map(|(_, _, text)| text).collect();
    for field in fields("/$defs/conditions") {
        assert!(MATCH.contains(&format!("\n| `{field}` |")), "{field} is in no table");
        assert!(
            [" ", "{ ", "- "].iter().any(|before| examples.contains(&format!("{before}{field}: "))),
            "{field} has no example"
        );
    }
}

/// R117: what is said of retry times is what is read.
#[test]
fn every_example_of_retry_times_runs() {
    let ran = run_page(RETRY);
    assert!(ran.rules >= 1 && ran.failures >= 6, "{ran:?}");
    for (unit, _) in RETRY_UNITS {
        assert!(RETRY.contains(&format!("`{unit}`")), "{unit}");
    }
}

/// The fields of an object of the schema, which are the parser's: another test keeps them equal.
fn fields(pointer: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema::TEXT).unwrap();
    schema.pointer(pointer).unwrap()["properties"].as_object().unwrap().keys().cloned().collect()
}

/// The words of a signature mean what the table of remedies says: those of a row one reason, each row another one.
#[test]
fn the_words_of_signatures_are_as_the_page_says() {
    let (_, section) = PAGE.split_once("\n## Remedies\n").unwrap();
    let rows = section.lines().skip_while(|it| !it.starts_with("|---")).skip(1);
    let reasons: Vec<Reason> = rows
        .take_while(|it| it.starts_with('|'))
        .map(|row| {
            let words = row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2);
            let of = |it: &str| Reason::of(Classification::UserSpecificTechnical, it).unwrap();
            let mut reasons: Vec<Reason> = words.map(of).collect();
            reasons.dedup();
            assert_eq!(reasons.len(), 1, "{row}");
            reasons[0]
        })
        .collect();
    assert_eq!(
        reasons,
        [Reason::Quota, Reason::AccountShut, Reason::Credential, Reason::Payment, Reason::AccountSetting]
    );
}

/// The tables of the pages name every word of their sets, and the windows that the model has (R47 to R51).
#[test]
fn the_tables_of_the_pages_are_complete() {
    for kind in FailureKind::ALL {
        assert!(MATCH.contains(&format!("\n| `{kind}` |")), "kind {kind}");
    }
    let words = Fault::ALL.iter().map(|it| it.as_str()).chain(Remedy::ALL.iter().map(|it| it.as_str()));
    for word in words.chain(RuleScope::ALL.iter().map(|(word, _)| *word)) {
        assert!(PAGE.contains(&format!("`{word}`")), "{word}");
    }
    for (word, _) in BodyShape::ALL {
        assert!(MATCH.contains(&format!("`{word}`")), "{word}");
    }
    for field in fields("").iter().chain(&fields("/$defs/rule")) {
        assert!(PAGE.contains(&format!("\n| `{field}` |")), "{field}");
    }
    for field in fields("/$defs/provider") {
        assert!(MATCH.contains(&format!("\n| `{field}` |")), "{field}");
    }
    let policy = Policy::default();
    for class in Classification::ALL {
        let row = PAGE.lines().find(|it| it.starts_with(&format!("| `{class}` |"))).unwrap();
        if *class == Classification::Working {
            continue;
        }
        let backoff = policy.backoff(*class);
        let span = |it: TimeDelta| match it.num_seconds() {
            it if it < 60 => format!("{it} s"),
            it if it < 3_600 => format!("{} min", it / 60),
            it => format!("{} h", it / 3_600),
        };
        let growth = if backoff.factor > 1 {
            format!("{}, ×{}, {}", span(backoff.base), backoff.factor, span(backoff.cap))
        } else {
            span(backoff.base)
        };
        assert!(row.ends_with(&format!("| {growth} |")), "{row} should end with {growth}");
    }
    for rule in &bundled::layer().rules {
        for condition in &rule.conditions {
            assert!(MATCH.contains(&format!("\n| `{}` |", condition.field())), "{}", condition.field());
        }
    }
}

/// The packs stand on the page in their order, and every check of the linter with what it finds.
#[test]
fn packs_and_checks_are_listed() {
    let listed: Vec<&str> = PAGE
        .lines()
        .filter_map(|it| it.strip_prefix("| `")?.split_once(".yaml` | "))
        .map(|(name, _)| name)
        .collect();
    let packs: Vec<&str> = packs::SOURCES.iter().map(|(name, _)| name.trim_end_matches(".yaml")).collect();
    assert_eq!(listed, packs);
    for check in Check::ALL {
        assert!(PAGE.contains(&format!("\n| `{check}` | ")), "{check}");
    }
}

/// The limits that the page names are those in force.
#[test]
fn the_limits_are_those_in_force() {
    for (what, limit) in [
        ("bytes of a file", limits::MAX_FILE_BYTES),
        ("rules of a file; those beyond are skipped", limits::MAX_RULES),
        ("values of a list", limits::MAX_VALUES),
        ("bytes of a value", limits::MAX_NEEDLE_BYTES),
        ("bytes of an `id` and of a provider's name", limits::MAX_ID_BYTES),
        ("bytes of a `signature`", limits::MAX_SIGNATURE_BYTES),
        ("bytes of a `note`", limits::MAX_NOTE_BYTES),
        ("levels of lists and mappings in a file", limits::MAX_NESTING),
        ("days of a `cooldown`", usize::try_from(limits::MAX_COOLDOWN_DAYS).unwrap()),
        ("findings listed for a file; the rest is counted", limits::MAX_DIAGNOSTICS),
        ("bytes of the body, and of each message, that rules see", limits::MAX_MATCHED_BYTES),
        ("causes of a failure that rules see", limits::MAX_CAUSES),
    ] {
        let grouped = match limit {
            it if it >= 1_000 => format!("{},{:03}", it / 1_000, it % 1_000),
            it => it.to_string(),
        };
        assert!(PAGE.contains(&format!("\n| {what} | {grouped} |\n")), "{what} {grouped}");
    }
}
