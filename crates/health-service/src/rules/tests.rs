//! Tests of what is read without waiting for what is compiled.

use super::*;

fn key(project_id: Option<&str>) -> RuleLayerKey {
    RuleLayerKey { tenant_id: "acme".to_owned(), project_id: project_id.map(str::to_owned) }
}

fn record(key: RuleLayerKey, text: &str) -> RuleLayerRecord {
    RuleLayerRecord {
        key,
        text: text.to_owned(),
        updated_at: health_model::Instant::UNIX_EPOCH,
        updated_by: "eve".to_owned(),
        version: 1,
    }
}

const TEAPOT: &str =
    "patterns:\n  - {id: teapot, match: {httpStatus: 418}, signature: s, classification: USER_INPUT}\n";

#[test]
fn questions_are_answered_while_layers_are_replaced() {
    let rules = Rules::new(Options::BUNDLED);
    rules.set_store_layers(1, vec![record(key(None), TEAPOT)]);
    let _replacing = rules.changing.lock().unwrap();
    assert_eq!((rules.layers().len(), rules.n_findings()), (1, (0, 0)));
    assert_eq!(rules.table("acme", "essay").entries().len(), rules.base.entries().len() + 1);
    assert!(rules.validate(&key(Some("essay")), TEAPOT).diagnostics.is_empty());
    assert!(rules.replacing(&key(None), TEAPOT).diagnostics.is_empty());
}

#[test]
fn only_a_text_that_is_in_force_as_it_stands_is_known() {
    let rules = Rules::new(Options::BUNDLED);
    let hidden = TEAPOT.replace("418", "403");
    let shadow = format!("shadow: true\n{TEAPOT}");
    let stored =
        [record(key(None), &hidden), record(key(Some("a")), TEAPOT), record(key(Some("b")), &shadow)];
    rules.set_store_layers(1, stored.to_vec());
    for (key, text, is_known) in [
        (key(None), hidden.as_str(), true),
        (key(Some("a")), TEAPOT, true),
        (key(Some("a")), hidden.as_str(), false),
        (key(Some("b")), shadow.as_str(), false),
        (key(Some("c")), TEAPOT, false),
    ] {
        let known = rules.known(&key, text);
        assert_eq!(known.is_some(), is_known, "{key:?}");
        let (layer, table) = rules.with_layer(&key, text);
        let anew = validated(&layer, &table);
        assert_eq!(rules.validate(&key, text).diagnostics, anew.diagnostics, "{key:?}");
        assert_eq!(rules.validate(&key, text).n_rules, 1);
    }
    // Of a text that cannot be read the last good one is in force.
    rules.set_store_layers(2, vec![record(key(None), TEAPOT)]);
    rules.set_store_layers(3, vec![record(key(None), "patterns: [")]);
    assert!(rules.known(&key(None), "patterns: [").is_none());
    assert_eq!(rules.validate(&key(None), "patterns: [").n_rules, 0);
}
