//! Rules, findings and explanations as the wire shows them.

use checker::{RuleTable, parse};
use health_model::{Failure, Tool};

use super::*;

const TENANT: &str = "patterns:\n  - id: mine\n    match: {httpStatus: 403}\n    signature: mine\n    classification: UNCLEAR\n  \
                      - id: broken\n    match: {httpStatus: 'x'}\n    signature: broken\n    classification: NOBODY_KNOWS\n";

fn table() -> (checker::ParsedLayer, RuleTable) {
    let layer = parse(LayerKind::Tenant, "acme/rules.yaml", TENANT);
    let table = RuleTable::build([&layer], checker::Options::default());
    (layer, table)
}

/// DESIGN §6: the loader names the rules that shadow a tenant's.
#[test]
fn a_rule_that_is_never_reached_names_the_one_before_it() {
    let (_, table) = table();
    let rules: Vec<_> =
        table.entries().iter().enumerate().map(|(at, it)| rule(at, it, table.diagnostics())).collect();
    let mine = rules.iter().find(|it| it.rule_id == "mine").unwrap();
    assert_eq!(mine.shadowed_by, ["http-403"]);
    assert_eq!(mine.origin(), v1::RuleOrigin::Tenant);
    let last = rules.last().unwrap();
    assert_eq!((last.rule_id.as_str(), last.position), ("fallback", rules.len() as u32));
    assert!(last.shadowed_by.is_empty());
}

/// DESIGN §6: one bad rule is skipped alone; what is wrong is located.
#[test]
fn findings_are_told_with_their_place() {
    let (layer, _) = table();
    assert_eq!(n_skipped(&layer.diagnostics), 1, "two findings, one rule");
    let shown: Vec<_> = layer.diagnostics.iter().map(diagnostic).collect();
    let first = shown.iter().find(|it| it.field.ends_with("httpStatus")).unwrap();
    assert_eq!((first.file.as_str(), first.rule_id.as_str()), ("acme/rules.yaml", "broken"));
    assert_eq!((first.line, first.severity()), (7, v1::RuleSeverity::Error));
    let violation = violation(&layer.diagnostics[0]);
    assert!(violation.field.starts_with("yaml:patterns[1]."), "{violation:?}");
    assert!(violation.message.contains("rule `broken`"), "{violation:?}");
}

#[test]
fn an_explanation_tells_why_not() {
    let (_, table) = table();
    let failure = Failure { http_status: Some(404), ..Failure::default() };
    let tool = Tool { name: "a".to_owned(), ..Tool::default() };
    let explained = checker::explain(&table, &tool, &failure);
    let rules: Vec<_> = explained.rules.iter().enumerate().map(explanation).collect();
    assert_eq!(rules.iter().filter(|it| it.selected).count(), 1);
    let forbidden = rules.iter().find(|it| it.rule_id == "http-403").unwrap();
    let mismatch = forbidden.first_mismatch.as_ref().unwrap();
    assert!(!forbidden.matched);
    assert_eq!(
        (mismatch.field.as_str(), mismatch.expected.as_str(), mismatch.seen.as_str()),
        ("httpStatus", "403", "404")
    );
    let selected = rules.iter().find(|it| it.selected).unwrap();
    assert_eq!(selected.rule_id, "http-404-endpoint");
    assert!(selected.matched_fields.iter().any(|it| it.field == "httpStatus" && it.seen == "404"));
}

#[test]
fn a_layers_text_has_bounds() {
    assert!(check_length("patterns: []", "yaml").is_ok());
    for text in [String::new(), "#".repeat(MAX_LAYER + 1)] {
        assert_eq!(check_length(&text, "yaml").unwrap_err().violations()[0].field, "yaml");
    }
}
