//! The shipped packs on their families' labelled failures: one snapshot a family, one line a row, so that a rule change is
//! a readable diff. `cargo xtask corpus` rewrites them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use checker::corpus::{self, Row};
use checker::{Options, RuleTable, Settings};
use health_model::Policy;

macro_rules! families {
    ($($name:literal),+ $(,)?) => {
        [$((
            $name,
            include_str!(concat!("../packs/tests/", $name, ".jsonl")),
            include_str!(concat!("fixtures/packs/", $name, ".txt")),
        )),+]
    };
}

const FAMILIES: [(&str, &str, &str); 16] = families![
    "broker", "browser", "business", "cloud", "database", "dev", "grpc", "http", "llm", "mcp", "network",
    "oauth", "object", "office", "search", "shell",
];

fn rows(text: &str) -> Vec<Row> {
    corpus::parse_rows(text).unwrap()
}

/// Each family as its snapshot has it.
#[test]
fn a_line_a_row() {
    let table = RuleTable::bundled(Options::default());
    let (policy, settings) = (Policy::default(), Settings::default());
    let mut changed = Vec::new();
    for (family, text, snapshot) in FAMILIES {
        let rows = rows(text);
        let lines: Vec<String> =
            rows.iter().map(|row| corpus::line(row, &corpus::got(row, &table, &policy, &settings))).collect();
        let wanted: Vec<&str> = snapshot.lines().collect();
        changed.extend(
            lines.iter().filter(|it| !wanted.contains(&it.as_str())).map(|it| format!("+ {family}: {it}")),
        );
        changed.extend(
            wanted
                .iter()
                .filter(|it| !lines.iter().any(|line| line == *it))
                .map(|it| format!("- {family}: {it}")),
        );
    }
    assert!(changed.is_empty(), "`cargo xtask corpus` takes these over:\n{}", changed.join("\n"));
}

/// R145, C3: whatever a pack says, no status that a label forbids, in no family.
#[test]
fn no_pack_does_harm() {
    let table = RuleTable::bundled(Options::default());
    for (family, text, _) in FAMILIES {
        let score = corpus::score(&rows(text), &table, &Policy::default(), &Settings::default());
        assert_eq!(score.harmed, [""; 0], "{family}");
    }
}

/// Every family of packs is in the list above: a pack without rows is untested.
#[test]
fn every_pack_has_a_family() {
    for (file, _) in checker::packs::SOURCES {
        let name = file.trim_end_matches(".yaml");
        let is_of_all = ["words", "status"].contains(&name);
        assert!(is_of_all || FAMILIES.iter().any(|(family, _, _)| *family == name), "{name}");
    }
}

/// R93: the rules settle most failures without a model, and almost all of what they settle rightly.
#[test]
fn most_failures_are_settled_by_rules() {
    let table = RuleTable::bundled(Options::default());
    for (family, text, _) in FAMILIES {
        let score = corpus::score(&rows(text), &table, &Policy::default(), &Settings::default());
        assert!(score.coverage >= 0.9 && score.precision >= 0.95, "{family}: {score:?}");
    }
}
