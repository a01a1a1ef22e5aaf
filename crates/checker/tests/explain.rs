//! What an explanation says: for every rule, matched or the first field that did not (DESIGN §2.8).

mod support;

use std::path::Path;

use checker::{Explanation, LayerKind, Options, Outcome, RuleTable, explain};
use health_model::{Failure, Tool};
use support::{layer, status, typed};

/// The explanation as lines: decides, rule, layer, line, what happened.
fn rendered(explained: &Explanation) -> String {
    let mut text = format!("kind: {}\n", explained.kind.as_deref().unwrap_or("none"));
    for it in &explained.rules {
        let what = match &it.outcome {
            Outcome::Matched { evidence } => {
                let fields: Vec<String> = evidence
                    .iter()
                    .map(|it| format!("{} wants {}, has {}", it.field, it.expected, it.seen))
                    .collect();
                format!("matched: {}", fields.join("; "))
            }
            Outcome::Failed { field, wanted, seen, n_held } => {
                format!("{field} wants {wanted}, has {seen} ({n_held} held)")
            }
        };
        let mark = if it.decides { '>' } else { ' ' };
        text.push_str(format!("{mark} {} ({}:{}): {what}", it.rule_id, it.layer, it.line).trim_end());
        text.push('\n');
    }
    text
}

fn assert_rendered(name: &str, explained: &Explanation) {
    insta::with_settings!({
        snapshot_path => Path::new("fixtures/explain"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, rendered(explained));
    });
}

#[test]
fn every_rule_says_why() {
    let tenant = layer(
        LayerKind::Tenant,
        "patterns:\n  - {id: quota, before: first, match: {httpStatus: 403, bodyContains: [quota, \"over the limit\"]}, signature: quota, classification: USER_SPECIFIC_TECHNICAL}\n",
    );
    let table = RuleTable::build([&tenant], Options::BUNDLED);
    let failure = Failure { message: "over the limit".to_owned(), ..status(403) };
    assert_rendered("every-rule", &explain(&table, &Tool::default(), &failure));
}

#[test]
fn a_kind_is_told_with_its_source() {
    let table = RuleTable::bundled(Options::BUNDLED);
    let failure =
        typed("requests.exceptions.ConnectionError", "x (Caused by Y('[Errno 111] Connection refused'))");
    assert_rendered("kind", &explain(&table, &Tool::default(), &failure));
}

/// What is seen comes from outside: it is cut and masked.
#[test]
fn what_is_seen_is_cut_and_masked() {
    let table = RuleTable::bundled(Options::BUNDLED);
    let failure = typed(&format!("Error password=hunter22 {}", "x".repeat(1_000)), "");
    let explained = explain(&table, &Tool::default(), &failure);
    let timeout = explained.rules.iter().find(|it| it.rule_id == "socket-timeout").unwrap();
    let Outcome::Failed { field, wanted, seen, n_held } = &timeout.outcome else { panic!("it matched") };
    assert_eq!((*field, wanted.as_str(), *n_held), ("exceptionType", "java.net.SocketTimeoutException", 0));
    assert!(seen.len() <= 200 && seen.contains("[secret]") && !seen.contains("hunter22"), "{seen}");
}
