//! `agrajag rules …` from outside, without a server: files checked, listed and scored in process.

mod common;

use common::{code, fixture, json, run, stderr, stdout};

/// DESIGN §6: findings name file, line and field; exit code 2 if one is an error.
#[test]
fn validate_names_file_line_and_field() {
    let bad = fixture("bad-rules.yaml");
    let output = run(&["rules", "validate", &bad]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("bad-rules.yaml:7:"), "{text}");
    assert!(text.contains("wrong-type") && text.contains("httpStatus"), "{text}");
    assert!(text.contains("clasification"), "{text}");
    assert!(text.contains("1 rule, 2 skipped"), "{text}");

    let report = json(&run(&["rules", "validate", &bad, "--output", "json"]));
    assert_eq!((report["nRules"].as_u64(), report["nSkipped"].as_u64()), (Some(1), Some(2)));
    assert_eq!(report["diagnostics"][0]["severity"], "RULE_SEVERITY_ERROR");

    let good = run(&["rules", "validate", &fixture("documents/acme/_vance/agrajag/error-patterns.yaml")]);
    assert_eq!(code(&good), 0, "{}{}", stdout(&good), stderr(&good));
    let missing = run(&["rules", "validate", "no/such/file.yaml"]);
    assert_eq!(code(&missing), 2);
    assert!(stderr(&missing).contains("no/such/file.yaml"));
}

/// R103, R122: layers of tenant and project lie over the bundled rules, and the list says which rule is whose.
#[test]
fn show_lists_the_order_and_the_layer_of_each_rule() {
    let documents = fixture("documents");
    let line =
        ["rules", "show", "--rules", &documents, "--tenant", "acme", "--project", "essay", "--packs", "none"];
    let output = run(&line);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().all(|it| it.chars().count() <= 100), "{text}");
    let rules = json(&run(&[&line[..], &["--output", "json"]].concat()));
    let list: Vec<(&str, &str)> = rules["rules"]
        .as_array()
        .expect("rules")
        .iter()
        .map(|it| (it["ruleId"].as_str().expect("an id"), it["origin"].as_str().expect("an origin")))
        .collect();
    assert!(list.contains(&("http-403", "RULE_ORIGIN_TENANT")), "{list:?}");
    assert_eq!(list[list.len() - 2], ("essay-quota", "RULE_ORIGIN_PROJECT"), "{list:?}");
    assert_eq!(list[list.len() - 1], ("fallback", "RULE_ORIGIN_BUNDLED"), "{list:?}");
    assert_eq!(list.len(), 13);

    let bundled = json(&run(&["rules", "show", "--packs", "none", "--output", "json"]));
    assert_eq!(bundled["rules"].as_array().map(Vec::len), Some(12), "the specification's rules alone");
}

/// The figures of a corpus by hand: 4 of 4 tellable rows are answered, 3 of them rightly; the suspended account is read
/// as a missing right until a tenant's rule knows better.
#[test]
fn test_scores_with_the_layers_asked_for() {
    let corpus = fixture("corpus.jsonl");
    let score = json(&run(&["rules", "test", &corpus, "--packs", "none", "--output", "json"]));
    assert_eq!((score["rows"].as_u64(), score["tellable"].as_u64()), (Some(5), Some(4)));
    assert_eq!((score["answered"].as_u64(), score["right"].as_u64()), (Some(4), Some(3)));
    assert_eq!((score["coverage"].as_f64(), score["precision"].as_f64()), (Some(1.0), Some(0.75)));
    assert_eq!(score["certain"], serde_json::json!({"rows": 3, "right": 3}));
    assert_eq!(score["unclear"], serde_json::json!({"rows": 1, "overclaimed": 0}));
    assert_eq!((score["harm"].as_u64(), score["retry_errors"].as_u64()), (Some(0), Some(0)));
    assert_eq!(score["misses"].as_array().map(Vec::len), Some(1));
    assert_eq!(score["misses"][0]["id"], "a-5");
    assert_eq!(score["misses"][0]["rule_id"], "http-403");

    let documents = fixture("documents");
    let line = ["rules", "test", &corpus, "--packs", "none", "--rules", &documents, "--tenant", "acme"];
    let better = json(&run(&[&line[..], &["--output", "json"]].concat()));
    // The tenant's rule takes the place of the bundled one, so the plain 403 is unclear.
    assert_eq!(better["by_class"]["USER_SPECIFIC_TECHNICAL"]["right"].as_u64(), Some(1));
    assert_eq!(better["by_class"]["USER_PERMISSION"]["right"].as_u64(), Some(0));

    let twice = json(&run(&["rules", "test", &corpus, &corpus, "--packs", "none", "--output", "json"]));
    assert_eq!(twice["rows"].as_u64(), Some(10));
}

#[test]
fn test_shows_figures_and_a_confusion_matrix() {
    let output = run(&["rules", "test", &fixture("corpus.jsonl"), "--packs", "none", "--misses", "5"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    insta::assert_snapshot!(stdout(&output));
}

#[test]
fn a_line_that_is_no_failure_is_named() {
    let output = run(&["rules", "test", &fixture("bad-rules.yaml")]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("line 1"), "{}", stderr(&output));
}
