//! Tables of a wanted number of rules, made up in the shape of the shipped ones.
//!
//! Texts are two to five words that errors are full of, so that parts of them do occur; codes are names as providers
//! give them. Everything follows from the number of the rule.

use std::fmt::Write as _;

use checker::{LayerKind, Options, RuleTable};

use crate::random::Random;

const NOUNS: &[&str] = &[
    "token",
    "request",
    "resource",
    "project",
    "account",
    "workspace",
    "table",
    "index",
    "bucket",
    "object",
    "session",
    "channel",
    "message",
    "queue",
    "topic",
    "cluster",
    "replica",
    "volume",
    "branch",
    "commit",
    "issue",
    "page",
    "record",
    "column",
    "schema",
    "field",
    "parameter",
    "argument",
    "quota",
    "limit",
    "connection",
    "certificate",
    "credential",
    "subscription",
    "webhook",
];
const TROUBLES: &[&str] = &[
    "is not valid",
    "has expired",
    "was revoked",
    "could not be parsed",
    "is locked by another",
    "exceeds the maximum",
    "is required for",
    "is archived in",
    "was deleted from",
    "is read-only for",
    "has no access to",
    "is suspended for",
    "is being migrated to",
    "is temporarily frozen in",
    "does not support",
    "was throttled by",
];
const CLASSES: &[&str] =
    &["USER_INPUT", "USER_PERMISSION", "USER_SPECIFIC_TECHNICAL", "INTERMITTENT", "TECHNICALLY_BROKEN"];

/// A table of exactly this many rules, the twelve bundled ones among them; at least twelve.
///
/// # Panics
///
/// If a rule that is made up here is not one.
#[must_use]
pub fn table(n: usize) -> RuleTable {
    let made_up = n.saturating_sub(RuleTable::bundled(Options::BUNDLED).entries().len());
    let yaml = yaml(made_up);
    let layer = checker::parse(LayerKind::Project, "made-up.yaml", &yaml);
    assert!(layer.diagnostics.is_empty(), "{}", layer.diagnostics[0]);
    let table = RuleTable::build([&layer], Options::BUNDLED);
    assert_eq!(table.entries().len(), n.max(12));
    table
}

/// This many rules as a file.
fn yaml(n: usize) -> String {
    let mut yaml = String::from("patterns:\n");
    for at in 0..n {
        let mut random = Random::new(at as u64);
        let mut text = |count: usize| {
            let texts: Vec<String> = (0..count)
                .map(|_| {
                    let (one, two) = (random.pick(NOUNS), random.pick(NOUNS));
                    format!("\"the {one} {} this {two} {at}\"", random.pick(TROUBLES))
                })
                .collect();
            texts.join(", ")
        };
        let noun = NOUNS[at % NOUNS.len()];
        let code = format!("{noun}_error_{at}, {}Exception{at}, E{}", capital(noun), 10_000 + at);
        // As in the packs: most rules have codes or texts, some an expression, a JSON value, a status with a text.
        let matches = match at % 8 {
            0 | 1 => format!("{{ code: [{code}] }}"),
            2 | 3 => format!("{{ text: [{}] }}", text(4)),
            4 => format!("{{ any: [{{ code: [{code}] }}, {{ text: [{}] }}] }}", text(3)),
            5 => format!("{{ status: [{}, {}], text: [{}] }}", 400 + at % 30, 500 + at % 12, text(2)),
            6 => format!("{{ json: {{ /error/type: [{noun}_{at}] }}, status: {} }}", 400 + at % 30),
            _ => format!("{{ regex: ['{noun} [a-z0-9-]+ was refused {at}'], not: {{ kind: [dns] }} }}"),
        };
        let class = CLASSES[at % CLASSES.len()];
        let _ = writeln!(
            yaml,
            "  - id: made-up-{at}\n    match: {matches}\n    signature: made-up-{at}\n    classification: {class}\n    note: \"Made up.\""
        );
    }
    yaml
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|it| it.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_wanted_number_of_rules_and_all_can_be_told_apart() {
        for n in [12, 100, 1_000] {
            let table = table(n);
            assert_eq!(table.entries().len(), n);
            assert_eq!(table.diagnostics(), []);
        }
    }
}
