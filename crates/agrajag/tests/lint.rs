//! `agrajag rules lint` and `rules schema` from outside.

mod common;

use common::{code, json, run, stderr, stdout};

/// C14, DESIGN §6: findings with file, line, field, value and remedy; exit codes 0, 1 and 2.
#[test]
fn lint_names_what_is_hardly_meant() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let rule = |matches: &str| {
        format!(
            "patterns:\n  - id: a\n    before: first\n    match: {matches}\n    signature: a\n    classification: USER_INPUT\n"
        )
    };
    let wide = path("wide.yaml", &rule("{ text: [\"not found\"] }"));
    let output = run(&["rules", "lint", &wide]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("wide.yaml:4: warning: rule `a`: match.text: `not found` is printed"), "{text}");
    assert!(text.contains("; write the whole phrase") && text.contains("[common-word]"), "{text}");
    assert!(text.ends_with("1 file: 0 errors, 1 warning\n"), "{text}");
    assert_eq!(code(&run(&["rules", "lint", &wide, "--errors-only"])), 0);

    let broken = path("broken.yaml", &rule("{ httpStatus: 404, httpStatusRange: [500, 599] }"));
    let output = run(&["rules", "lint", &broken, "--packs", "none", "--output", "json"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let report = json(&output);
    assert_eq!((report["nErrors"].as_u64(), report["nWarnings"].as_u64()), (Some(1), Some(0)));
    let finding = &report["findings"][0];
    assert_eq!(finding["check"], "never-matches");
    assert_eq!((finding["ruleId"].as_str(), finding["line"].as_u64()), (Some("a"), Some(4)));
    assert_eq!(finding["field"], "match.httpStatusRange");
    assert_eq!(finding["value"], "500 to 599");
    assert!(finding["remedy"].as_str().is_some_and(|it| !it.is_empty()), "{finding}");

    let good = path("good.yaml", &rule("{ code: [vault_sealed] }"));
    let output = run(&["rules", "lint", &good]);
    assert_eq!((code(&output), stdout(&output).as_str()), (0, "1 file: 0 errors, 0 warnings\n"));
    let owes = run(&["rules", "lint", &good, "--layer", "pack"]);
    assert_eq!(code(&owes), 1);
    assert!(stdout(&owes).contains("[note-missing]"), "{}", stdout(&owes));

    // A shadow is no mistake, and it is told.
    let shadow = path("shadow.yaml", &format!("shadow: true\n{}", rule("{ code: [vault_sealed] }")));
    let output = run(&["rules", "lint", &shadow]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    assert!(
        stdout(&output).starts_with(&format!("{shadow}: `shadow: true`, in force for nobody")),
        "{}",
        stdout(&output)
    );
    assert_eq!(
        json(&run(&["rules", "lint", &shadow, "--output", "json"]))["shadows"],
        serde_json::json!([shadow])
    );
    assert!(stdout(&run(&["rules", "validate", &shadow])).contains("in force for nobody"));

    let refused = run(&["rules", "lint", &path("refused.yaml", "rules: []\n")]);
    assert_eq!(code(&refused), 2, "{}", stdout(&refused));
    assert_eq!(code(&run(&["rules", "lint", "no/such/file.yaml"])), 2);
    assert_eq!(code(&run(&["rules", "lint"])), 2);
}

/// The packs of the program keep to what is asked of others.
#[test]
fn the_shipped_packs_can_be_looked_at() {
    let output = run(&["rules", "lint", "--shipped"]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
}

/// R105: the schema that editors read is printed as it ships.
#[test]
fn the_schema_is_printed() {
    let output = run(&["rules", "schema"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), checker::schema::TEXT);
    let schema = json(&output);
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}
