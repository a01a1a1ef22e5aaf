//! Runs every example of `docs/rules.md`: rules without findings, failures with their rule, mistakes with their findings.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use checker::corpus::{EXAMPLE, got, parse_row, parse_rows};
use checker::{LayerKind, Options, RuleTable, Settings, bundled, parse};
use chrono::TimeDelta;
use health_model::{Classification, FailureKind, Fault, Policy, Remedy};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../docs/rules.md");

/// The fenced blocks: line, info string, text.
fn blocks() -> Vec<(usize, String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    for (at, line) in (1..).zip(PAGE.lines()) {
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

/// C14, C15, C16, R105, R129, R140: what the page promises is what happens.
#[test]
fn every_example_of_the_page_runs() {
    let mut table = RuleTable::bundled(Options::default());
    let mut findings: Option<Vec<String>> = None;
    let (mut n_rules, mut n_failures, mut n_findings, mut n_rows) = (0, 0, 0, 0);
    for (at, info, text) in blocks() {
        match info.as_str() {
            "yaml" | "yaml bad" => {
                assert!(findings.is_none(), "line {at}: the findings of the block before are missing");
                let layer = parse(LayerKind::Tenant, "rules.yaml", &text);
                table = RuleTable::build([&layer], Options::default());
                let told: Vec<String> =
                    layer.diagnostics.iter().chain(table.diagnostics()).map(ToString::to_string).collect();
                if info == "yaml" {
                    assert_eq!(told, [""; 0], "line {at}");
                    n_rules += 1;
                } else {
                    findings = Some(told);
                }
            }
            "text" => {
                let expected: Vec<&str> = text.lines().collect();
                assert_eq!(findings.take().unwrap(), expected, "line {at}");
                n_findings += expected.len();
            }
            "json" => {
                run(&table, at, &serde_json::from_str(&text).unwrap());
                n_failures += 1;
            }
            // The rows: the first is the one that help and errors show.
            "jsonl" => {
                let rows = parse_rows(&text).unwrap();
                assert!(text.lines().any(|it| it == EXAMPLE), "line {at}");
                assert!(rows.len() >= 2, "line {at}");
                n_rows += rows.len();
            }
            // What to type: nothing that the checker reads.
            "sh" => {}
            other => panic!("line {at}: what is a block of `{other}`?"),
        }
    }
    assert!(findings.is_none());
    assert!(n_rules >= 5 && n_failures >= 8 && n_findings >= 7, "{n_rules} {n_failures} {n_findings}");
    assert!(n_rows >= 2, "{n_rows}");
}

fn run(table: &RuleTable, at: usize, example: &Value) {
    let class = example["classification"].as_str().unwrap();
    let row = json!({
        "id": "example",
        "tool": example.get("tool").cloned().unwrap_or_else(|| json!({"name": "tool", "kind": "rest"})),
        "error": example["error"],
        "expected": {"classification": class, "certainty": "certain", "retryAfter": example.get("retryAfter")},
    });
    let row = parse_row(&row.to_string()).unwrap();
    let got = got(&row, table, &Policy::default(), &Settings::default());
    assert_eq!(got.rule_id, example["rule"].as_str().unwrap(), "line {at}");
    assert_eq!(got.classification.as_str(), class, "line {at}");
    let writes: Vec<String> = got.marks.iter().map(|(scope, status)| format!("{scope} {status}")).collect();
    assert_eq!(writes.join(", "), example["writes"].as_str().unwrap(), "line {at}");
    if let Some(wait) = row.expected.retry_after {
        assert_eq!(got.retry_at.map(|it| it - row.now), Some(wait), "line {at}");
    }
}

/// The tables of the page name every word of their sets, and the windows that the model has (R47 to R51).
#[test]
fn the_tables_of_the_page_are_complete() {
    for kind in FailureKind::ALL {
        assert!(PAGE.contains(&format!("\n| `{kind}` |")), "kind {kind}");
    }
    for word in Fault::ALL.iter().map(|it| it.as_str()).chain(Remedy::ALL.iter().map(|it| it.as_str())) {
        assert!(PAGE.contains(&format!("`{word}`")), "{word}");
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
            assert!(PAGE.contains(&format!("\n| `{}` |", condition.field())), "{}", condition.field());
        }
    }
}
