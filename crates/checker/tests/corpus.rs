//! The crate's own labelled failures: one snapshot a runtime, one line a row, so that a rule change is a readable diff.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;
use std::path::Path;

use checker::corpus::{self, Row};
use checker::{Options, RuleTable, Settings};
use health_model::{Classification, Policy};

const FILES: [(&str, &str); 7] = [
    ("python", include_str!("fixtures/corpus/python.jsonl")),
    ("node", include_str!("fixtures/corpus/node.jsonl")),
    ("java", include_str!("fixtures/corpus/java.jsonl")),
    ("go", include_str!("fixtures/corpus/go.jsonl")),
    ("rust", include_str!("fixtures/corpus/rust.jsonl")),
    ("dotnet", include_str!("fixtures/corpus/dotnet.jsonl")),
    ("http", include_str!("fixtures/corpus/http.jsonl")),
];

fn all_rows() -> Vec<Row> {
    FILES.iter().flat_map(|(_, text)| corpus::parse_rows(text).unwrap()).collect()
}

/// C16: what each runtime prints for the same faults, as the bundled rules read it.
#[test]
fn one_table_a_runtime() {
    let table = RuleTable::bundled(Options::BUNDLED);
    let (policy, settings) = (Policy::default(), Settings::default());
    for (runtime, text) in FILES {
        let rows = corpus::parse_rows(text).unwrap();
        let mut shown = String::new();
        for row in &rows {
            let got = corpus::got(row, &table, &policy, &settings);
            let mark = if row.expected.accepts(got.classification) { ' ' } else { '!' };
            let kind =
                table.facts(&row.tool, &row.failure).derived().map(ToString::to_string).unwrap_or_default();
            let rule = if got.rule_id.is_empty() { "-" } else { &got.rule_id };
            let written: Vec<String> =
                got.marks.iter().map(|(scope, status)| format!("{scope} {status}")).collect();
            writeln!(
                shown,
                "{mark} {:<6} {:<24} {:<24} {rule:<24} {:<14} {kind}",
                row.id,
                row.expected.classification.as_str(),
                got.classification.as_str(),
                written.join(", ")
            )
            .unwrap();
        }
        let score = corpus::score(&rows, &table, &policy, &settings);
        writeln!(
            shown,
            "answered {} of {} tellable, right {}; overclaimed {} of {}; harm {}; retry errors {}",
            score.answered,
            score.tellable,
            score.right,
            score.unclear.overclaimed,
            score.unclear.rows,
            score.harm,
            score.retry_errors
        )
        .unwrap();
        insta::with_settings!({
            snapshot_path => Path::new("fixtures/corpus"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(runtime, shown.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"));
        });
    }
}

/// No status that a label forbids, in any mode; nothing claimed that nobody could tell, except by the letter, where a Java
/// name that stands for a refused connection stands for a silent host too.
#[test]
fn no_mode_does_harm() {
    for literal in [false, true] {
        let table = RuleTable::bundled(Options { literal, ..Options::BUNDLED });
        for settings in [Settings::default(), Settings::literal()] {
            let score = corpus::score(&all_rows(), &table, &Policy::default(), &settings);
            let overclaimed = usize::from(literal);
            assert_eq!(
                (score.harm, score.unclear.overclaimed),
                (0, overclaimed),
                "literal {literal}, {settings:?}"
            );
        }
    }
}

/// Names by the letter answer what Java prints; names by their kind answer the rest, and nothing that was right is lost.
#[test]
fn kinds_answer_more_than_names() {
    let rows = all_rows();
    let right = |literal| {
        let table = RuleTable::bundled(Options { literal, ..Options::BUNDLED });
        let got =
            |row: &Row| corpus::got(row, &table, &Policy::default(), &Settings::default()).classification;
        rows.iter()
            .filter(|row| {
                row.expected.classification != Classification::Unclear && row.expected.accepts(got(row))
            })
            .map(|row| row.id.as_str())
            .collect::<Vec<_>>()
    };
    let (by_letter, by_kind) = (right(true), right(false));
    assert!(by_letter.iter().all(|it| by_kind.contains(it)));
    assert!(by_kind.len() >= 2 * by_letter.len(), "{} and {}", by_letter.len(), by_kind.len());
}
