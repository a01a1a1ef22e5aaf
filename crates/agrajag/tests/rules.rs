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
fn a_line_that_is_no_failure_is_named_with_what_is_wanted() {
    let output = run(&["rules", "test", &fixture("bad-rules.yaml")]);
    assert_eq!(code(&output), 2);
    let text = stderr(&output);
    assert!(text.contains("line 1") && text.contains("\"expected\": \"USER_PERMISSION\""), "{text}");
    assert!(!text.contains("struct") && !text.contains("FILE "), "{text}");

    let dir = tempfile::tempdir().expect("a temporary directory");
    let empty = dir.path().join("empty.jsonl");
    std::fs::write(&empty, "\n\n").expect("written");
    let output = run(&["rules", "test", empty.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("holds no row"), "{}", stderr(&output));

    // The example of the help is a row.
    let help = stdout(&run(&["rules", "test", "--help"]));
    let row = help.lines().map(str::trim).find(|it| it.starts_with("{\"id\"")).expect("a row");
    let file = dir.path().join("one.jsonl");
    std::fs::write(&file, row).expect("written");
    let score = json(&run(&["rules", "test", file.to_str().expect("UTF-8"), "--output", "json"]));
    assert_eq!((score["rows"].as_u64(), score["right"].as_u64()), (Some(1), Some(1)));
}

/// R123: a single file is the project's layer, for each of the commands that take rules.
#[test]
fn rules_may_be_one_file() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_owned();
    let (rules, bad, corpus) = (path("mine.yaml"), path("bad.yaml"), path("corpus.jsonl"));
    let rule = "patterns:\n  - id: plan\n    before: http-403\n    match: { httpStatus: 403 }\n    signature: plan\n    \
                classification: USER_SPECIFIC_TECHNICAL\n";
    std::fs::write(&rules, rule).expect("written");
    std::fs::write(&bad, rule.replace("403 }", "\"403\" }")).expect("written");
    let row = r#"{"id": "a", "tool": {"name": "t"}, "error": {"httpStatus": 403}, "expected": "USER_SPECIFIC_TECHNICAL"}"#;
    std::fs::write(&corpus, row).expect("written");

    let score = json(&run(&["rules", "test", &corpus, "--rules", &rules, "--output", "json"]));
    assert_eq!(score["right"].as_u64(), Some(1));

    let shown = json(&run(&["rules", "show", "--rules", &rules, "--output", "json"]));
    let list = shown["rules"].as_array().expect("rules");
    let mine = list.iter().find(|it| it["ruleId"] == "plan").expect("the rule of the file");
    assert_eq!(mine["origin"], "RULE_ORIGIN_PROJECT");

    for flag in ["--rules", "--rules-file"] {
        let line =
            ["explain", "--local", flag, &rules, "--tool", "t", "--http-status", "403", "--output", "json"];
        let answer = json(&run(&line));
        assert_eq!(answer["verdict"]["ruleId"], "plan", "{answer}");
    }

    // A finding reads the same wherever it is shown, and names the file that was given.
    let validated = stdout(&run(&["rules", "validate", &bad]));
    let finding = validated.lines().next().expect("a finding");
    let output = run(&["rules", "show", "--rules", &bad]);
    assert!(finding.starts_with(&format!("{bad}:4:")), "{finding}");
    assert!(stdout(&output).lines().any(|it| it == finding), "{finding}\n{}", stdout(&output));
    assert!(stderr(&output).contains("`--effective`"), "{}", stderr(&output));
}

/// Without a server the remedy names the way that needs none.
#[test]
fn explain_without_a_server_names_local() {
    let output = run(&["explain", "--server", "http://127.0.0.1:1", "--tool", "t", "--http-status", "403"]);
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("`--local`"), "{}", stderr(&output));
}

/// Bars for a pipeline: exit code 1 with a line for each figure that misses its bar, and 2 for one that is none.
#[test]
fn test_ends_with_one_where_a_bar_is_missed() {
    let corpus = fixture("corpus.jsonl");
    let line = ["rules", "test", &corpus, "--packs", "none"];
    let with = |more: &[&str]| run(&[&line[..], more].concat());
    // Precision is 3 of 4, coverage 4 of 4, overclaimed 0 of 1, harm 0.
    let bars =
        ["--min-precision", "0.75", "--min-coverage", "1", "--max-overclaimed", "0", "--max-harm", "0"];
    let met = with(&bars);
    assert_eq!(code(&met), 0, "{}{}", stdout(&met), stderr(&met));
    assert!(!stdout(&met).contains("missed:"), "{}", stdout(&met));

    let output = with(&["--min-precision", "0.7501", "--min-coverage", "0.5"]);
    assert_eq!(code(&output), 1);
    let missed: Vec<String> =
        stdout(&output).lines().filter(|it| it.starts_with("missed:")).map(str::to_owned).collect();
    assert_eq!(missed, ["missed: precision is 0.7500 (3 of 4), below --min-precision 0.7501"]);

    let output = with(&["--min-precision", "0.93", "--output", "json"]);
    assert_eq!((code(&output), json(&output)["right"].as_u64()), (1, Some(3)), "the score stays one object");
    assert!(stderr(&output).contains("precision is 0.7500"), "{}", stderr(&output));

    // A rule that claims to know what nobody can, and marks the tool down for what is the user's own.
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("UTF-8").to_owned();
    let (rules, corpus) = (path("mine.yaml"), path("corpus.jsonl"));
    let rule = "patterns:\n  - id: all\n    before: first\n    match: { httpStatusRange: [400, 599] }\n    signature: all\n    \
                classification: TECHNICALLY_BROKEN\n    scope: project\n";
    std::fs::write(&rules, rule).expect("written");
    let rows = "{\"id\": \"a\", \"tool\": {\"name\": \"t\"}, \"error\": {\"httpStatus\": 403}, \"expected\": \"USER_PERMISSION\"}\n\
                {\"id\": \"b\", \"tool\": {\"name\": \"t\"}, \"error\": {\"httpStatus\": 500}, \"expected\": \"UNCLEAR\"}\n";
    std::fs::write(&corpus, rows).expect("written");
    let output =
        run(&["rules", "test", &corpus, "--rules", &rules, "--max-overclaimed", "0.5", "--max-harm", "0"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("missed: overclaimed is 1.0000 (1 of 1), above --max-overclaimed 0.5"), "{text}");
    assert!(text.contains("missed: harm is 1, above --max-harm 0"), "{text}");

    let output = with(&["--min-precision", "93"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("0.93"), "{}", stderr(&output));
}

/// A retry time that is another one names its row, and has a bar.
#[test]
fn test_names_rows_with_another_retry_time() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let corpus = dir.path().join("corpus.jsonl");
    let row = |id: &str, header: &str| {
        format!(
            r#"{{"id": "{id}", "tool": {{"name": "t"}}, "error": {{"httpStatus": 429, "headers": {{"retry-after": "{header}"}}}}, "expected": {{"classification": "INTERMITTENT", "retryAfter": "PT20S"}}}}"#
        )
    };
    std::fs::write(&corpus, [row("good", "20"), row("late", "90")].join("\n")).expect("written");
    let corpus = corpus.to_str().expect("UTF-8");
    let score = json(&run(&["rules", "test", corpus, "--output", "json"]));
    assert_eq!(score["retry_errors"].as_u64(), Some(1));
    assert_eq!(
        score["retry_misses"],
        serde_json::json!([{"id": "late", "wanted": "PT20S", "got": "PT90S", "rule_id": score["retry_misses"][0]["rule_id"]}])
    );
    let text = stdout(&run(&["rules", "test", corpus, "--misses", "1"]));
    assert!(text.contains("RETRY AFTER") && text.contains("late     PT20S        PT90S"), "{text}");
    let text = stdout(&run(&["rules", "test", corpus]));
    assert!(text.contains("1 with another retry time: `--misses N`"), "{text}");

    assert_eq!(code(&run(&["rules", "test", corpus, "--max-retry-errors", "1"])), 0);
    let output = run(&["rules", "test", corpus, "--max-retry-errors", "0"]);
    assert_eq!(code(&output), 1);
    assert!(
        stdout(&output).ends_with("\nmissed: retry errors are 1, above --max-retry-errors 0\n"),
        "{}",
        stdout(&output)
    );
}

/// A misspelt field of a row, and what is found in the rules, is told besides: the score stays what it is.
#[test]
fn test_tells_what_it_passes_over() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let row = r#"{"id": "a", "tool": {"name": "t"}, "error": {"mesage": "zzz"}, "expected": "UNCLEAR"}"#;
    let corpus = path("corpus.jsonl", &[row, row].join("\n"));
    let rules = path(
        "mine.yaml",
        "shadow: true\npatterns:\n  - id: a\n    mach: {}\n    signature: a\n    classification: UNCLEAR\n",
    );
    let told = format!(
        "warning: `{corpus}`: line 1 and 1 more: `error.mesage` is unknown and passed over; is `message` meant?"
    );
    let output = run(&["rules", "test", &corpus]);
    assert_eq!((code(&output), stderr(&output)), (0, format!("{told}\n")));
    let output = run(&["rules", "test", &corpus, "--rules", &rules, "--output", "json"]);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    let warnings = json(&output)["warnings"].clone();
    assert_eq!(warnings[0], told.as_str());
    assert!(warnings[1].as_str().is_some_and(|it| it.contains(":4:5: error: rule `a`")), "{warnings}");
    assert!(warnings[2].as_str().is_some_and(|it| it.contains("shadow: `true`")), "{warnings}");
    assert_eq!(warnings.as_array().map(Vec::len), Some(3));
}

/// Of a shadow nothing is in the list, and why is told besides.
#[test]
fn show_tells_of_a_shadow() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let rules = dir.path().join("shadow.yaml");
    let text = "shadow: true\npatterns:\n  - id: mine\n    before: first\n    match: { httpStatus: 403 }\n    signature: mine\n    classification: UNCLEAR\n";
    std::fs::write(&rules, text).expect("written");
    let output = run(&["rules", "show", "--rules", rules.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(!stdout(&output).contains(" mine "), "{}", stdout(&output));
    assert!(stderr(&output).contains("SHADOW: the layer of tenant"), "{}", stderr(&output));
    assert!(stderr(&output).contains("1 rule in force for nobody"), "{}", stderr(&output));
}

/// Ids of rules stay whole, so that they can be copied, and the list stays in its width.
#[test]
fn show_breaks_no_id() {
    let text = stdout(&run(&["rules", "show"]));
    let shown = json(&run(&["rules", "show", "--output", "json"]));
    for rule in shown["rules"].as_array().expect("rules") {
        let id = rule["ruleId"].as_str().expect("an id");
        assert!(text.lines().any(|it| it.split_whitespace().nth(1) == Some(id)), "{id}");
    }
    assert!(text.lines().all(|it| it.chars().count() <= 100), "{text}");
    assert!(text.contains(" USER-SPEC") && !text.contains("USER_SPEC"), "{text}");
}

/// R103, R107: each rule is shown with its layer, and the file and line that it stands in.
#[test]
fn show_names_file_and_line_of_each_rule() {
    let documents = fixture("documents");
    let line =
        ["rules", "show", "--rules", &documents, "--tenant", "acme", "--project", "essay", "--packs", "none"];
    let shown = json(&run(&[&line[..], &["--output", "json"]].concat()));
    let place = |id: &str| {
        let rule = shown["rules"].as_array().expect("rules").iter().find(|it| it["ruleId"] == id);
        let rule = rule.expect("the rule is there");
        (rule["source"].as_str().expect("a place").to_owned(), rule["line"].as_u64().expect("a line"))
    };
    let (file, at) = place("essay-quota");
    assert_eq!(file, "acme/essay/_vance/agrajag/error-patterns.yaml");
    let text = std::fs::read_to_string(format!("{documents}/{file}")).expect("the file");
    let found = text.lines().nth(usize::try_from(at).expect("a line") - 1).expect("a line");
    assert!(found.contains("id: essay-quota"), "{at}: {found}");
    assert_eq!(place("http-403").0, "acme/_vance/agrajag/error-patterns.yaml");
    let (file, at) = place("fallback");
    assert!(file.ends_with(".yaml") && at > 0, "{file}:{at}");

    let text = stdout(&run(&line));
    assert!(text.contains("essay-quota") && text.contains("PLACE"), "{text}");
    assert!(
        stdout(&run(&[&line[..], &["--yaml"]].concat()))
            .contains("essay/_vance/agrajag/error-patterns.yaml:")
    );
}
