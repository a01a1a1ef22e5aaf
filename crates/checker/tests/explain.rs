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
            Outcome::Failed { field, wanted, seen, held } => {
                format!("{field} wants {wanted}, has {seen} ({} held)", held.len())
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
    let Outcome::Failed { field, wanted, seen, held } = &timeout.outcome else { panic!("it matched") };
    assert_eq!(
        (*field, wanted.as_str(), held.len()),
        ("exceptionType", "java.net.SocketTimeoutException", 0)
    );
    assert!(seen.len() <= 200 && seen.contains("[secret]") && !seen.contains("hunter22"), "{seen}");
}

/// What held is told where it says something, also behind the first condition that did not hold; what holds for nearly
/// every failure is not.
#[test]
fn what_holds_of_nothing_does_not_count() {
    let tenant = layer(
        LayerKind::Tenant,
        "patterns:\n\
         - {id: empty, before: first, signature: s, classification: UNCLEAR, match: {code: [own_code], target: FIXED, isError: false, schemaViolation: false, notFoundOf: endpoint, bodyShape: [empty], not: {text: [vault]}}}\n\
         - {id: branch, before: first, signature: s, classification: UNCLEAR, match: {code: [own_code], any: [{target: FIXED, not: {text: [vault]}}, {status: 500}]}}\n\
         - {id: told, before: first, signature: s, classification: UNCLEAR, match: {code: [own_code], any: [{status: [403, 404], target: FIXED}], toolName: [jira], not: {text: [vault]}}}\n",
    );
    let table = RuleTable::build([&tenant], Options::BUNDLED);
    let tool = Tool { name: "jira".to_owned(), ..Tool::default() };
    let explained = explain(&table, &tool, &status(403));
    let held = |id: &str| {
        let rule = explained.rules.iter().find(|it| it.rule_id == id).unwrap();
        let Outcome::Failed { held, field, .. } = &rule.outcome else { panic!("{id} matched") };
        assert_eq!(*field, "code", "{id}");
        held.iter().map(|it| format!("{} {}", it.field, it.seen)).collect::<Vec<_>>()
    };
    assert_eq!(held("empty"), [""; 0]);
    assert_eq!(held("branch"), [""; 0]);
    assert_eq!(held("told"), ["toolName jira", "any target FIXED and status 403"]);
}

/// Whether a value is secret shows in the name before it, or in the text around it.
#[test]
fn evidence_keeps_no_secret_without_its_name() {
    for (matches, failure, seen) in [
        (
            "header: {set-cookie: true}",
            Failure {
                headers: vec![("set-cookie".to_owned(), "sid=hunter2".to_owned())],
                ..Failure::default()
            },
            "set-cookie: [secret]",
        ),
        (
            "json: {/client_secret: true}",
            Failure { body: "{\"client_secret\": \"hunter2\"}".to_owned(), ..Failure::default() },
            "/client_secret: [secret]",
        ),
        (
            "json: {/credentials/0/value: true}",
            Failure {
                body: "{\"credentials\": [{\"value\": \"hunter2\"}]}".to_owned(),
                ..Failure::default()
            },
            "/credentials/0/value: [secret]",
        ),
        (
            "json: {/error: true}",
            Failure {
                body: "{\"error\": {\"password\": \"hunter2\", \"n\": 1}}".to_owned(),
                ..Failure::default()
            },
            "/error: {\"n\":1,\"password\":\"[secret]\"}",
        ),
        (
            "regex: ['\\w+ was rejected']",
            Failure { message: "password=hunter2x was rejected".to_owned(), ..Failure::default() },
            "`[secret] was rejected` in the message",
        ),
    ] {
        let rule = format!(
            "patterns:\n  - {{id: t, before: first, match: {{{matches}}}, signature: t, classification: UNCLEAR}}\n"
        );
        let tenant = layer(LayerKind::Tenant, &rule);
        let explained = explain(&RuleTable::build([&tenant], Options::BUNDLED), &Tool::default(), &failure);
        let Outcome::Matched { evidence } = &explained.rules[0].outcome else { panic!("{matches}") };
        assert_eq!(evidence[0].seen, seen, "{matches}");
    }
}

/// An explanation of all packs stays small: long lists are cut where a value ends.
#[test]
fn long_lists_are_cut_in_explanations() {
    let explained = explain(&RuleTable::bundled(Options::default()), &Tool::default(), &status(418));
    for it in &explained.rules {
        let Outcome::Failed { wanted, seen, .. } = &it.outcome else { continue };
        assert!(wanted.len() <= 200 && seen.len() <= 200, "{}: {wanted}, {seen}", it.rule_id);
    }
    let codes: Vec<String> = (0..100).map(|it| format!("E_CODE_{it:02}")).collect();
    let rule = format!(
        "patterns:\n  - {{id: t, before: first, match: {{code: [{}]}}, signature: t, classification: UNCLEAR}}\n",
        codes.join(", ")
    );
    let tenant = layer(LayerKind::Tenant, &rule);
    let table = RuleTable::build([&tenant], Options::BUNDLED);
    let Outcome::Failed { wanted, .. } = &explain(&table, &Tool::default(), &status(418)).rules[0].outcome
    else {
        panic!("it matched")
    };
    assert!(wanted.len() <= 200 && wanted.ends_with("E_CODE_16, …"), "{wanted}");
}
