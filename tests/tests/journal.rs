//! The journal of failures over the wire: rules tried on what was reported, restarts, the off switch, privacy.

use std::collections::BTreeSet;
use std::path::Path;

use agrajag_proto::v1;
use agrajag_proto::v1::{Classification, ErrorReason, RuleOrigin};
use agrajag_tests::child::{self, Output};
use agrajag_tests::client::{Client, refusal};
use agrajag_tests::messages::{caller, http, http_body, rest};
use agrajag_tests::on_every_store;
use agrajag_tests::server::{Server, Setup};
use tonic::Code;

on_every_store! { a_rule_layer_is_tried_on_what_was_reported }

/// A missing right of one board is the input's fault.
const BOARDS: &str = "\
patterns:
  - id: no-board
    before: first
    match: { httpStatus: 403, bodyContains: [\"no such board\"] }
    signature: no-board
    classification: USER_INPUT
";

fn request(yaml: &str, project: &str) -> v1::BacktestRulesRequest {
    v1::BacktestRulesRequest {
        tenant_id: "acme".to_owned(),
        project_id: project.to_owned(),
        yaml: yaml.to_owned(),
        ..Default::default()
    }
}

async fn backtest(client: &Client, request: v1::BacktestRulesRequest) -> v1::BacktestRulesResponse {
    client.admin().backtest_rules(request).await.expect("an answer").into_inner()
}

/// Reports nine failures; the rule that decided eight of them.
async fn report(client: &Client) -> String {
    let mut rules = BTreeSet::new();
    for n in 0..8 {
        let failure = http_body(403, &format!("no such board: {n}; token=hunter2hunter2 of alice"));
        rules.insert(client.verdict(caller("alice"), rest("board"), failure).await.rule_id);
    }
    client.verdict(caller("bob"), rest("wiki"), http(404)).await;
    assert_eq!(rules.len(), 1, "{rules:?}");
    rules.pop_first().unwrap_or_default()
}

/// What was reported is judged by the rules in force and by the changed ones; what changes is told by rule and class, without
/// users and secrets; nothing is put into force; and a deleted tenant has nothing to replay.
async fn a_rule_layer_is_tried_on_what_was_reported(server: &Server) {
    let client = &server.client;
    let rule = report(client).await;
    let answer = backtest(client, request(BOARDS, "essay")).await;
    assert!(answer.journal_enabled && answer.diagnostics.is_empty(), "{answer:?}");
    assert_eq!((answer.n_replayed, answer.n_unchanged, answer.n_drifted), (9, 1, 0));
    assert_eq!(answer.changes.len(), 1, "{answer:?}");
    let change = &answer.changes[0];
    let (before, after) = (change.before.clone().expect("a rule"), change.after.clone().expect("a rule"));
    assert_eq!(
        (before.rule_id.as_str(), before.classification()),
        (rule.as_str(), Classification::UserPermission)
    );
    assert_eq!((after.rule_id.as_str(), after.classification()), ("no-board", Classification::UserInput));
    assert_eq!((change.count, change.examples.len()), (8, 5));
    assert!(change.parts.contains(&"classification".to_owned()), "{change:?}");
    let example = &change.examples[0];
    assert_eq!((example.project_id.as_str(), example.tool_name.as_str()), ("essay", "board"));
    assert!(example.excerpt.starts_with("no such board: 7; token=[secret]"), "{example:?}");
    let told = format!("{answer:?}");
    assert!(!told.contains("hunter2") && !told.contains("alice"), "{told}");

    // Nothing is in force.
    let verdict = client.verdict(caller("carol"), rest("new"), http_body(403, "no such board")).await;
    assert_eq!(verdict.rule_id, rule);

    // Once it is, the file without the rule changes all of it back.
    let put = v1::PutRuleLayerRequest {
        tenant_id: "acme".to_owned(),
        project_id: "essay".to_owned(),
        yaml: BOARDS.to_owned(),
        ..Default::default()
    };
    client.admin().put_rule_layer(put).await.expect("put");
    let answer = backtest(client, request(BOARDS, "essay")).await;
    assert_eq!((answer.n_replayed, answer.n_unchanged, answer.n_drifted), (10, 10, 9));
    let answer =
        backtest(client, v1::BacktestRulesRequest { limit: 1, ..request("patterns: []", "essay") }).await;
    assert_eq!((answer.n_replayed, answer.changes.len()), (1, 1));
    assert_eq!(answer.oldest_at, answer.newest_at);
    // The project's layer stands above whatever the tenant's is.
    let of_tenant =
        v1::BacktestRulesRequest { layer: RuleOrigin::Tenant.into(), ..request("patterns: []", "essay") };
    let answer = backtest(client, of_tenant).await;
    assert_eq!((answer.n_replayed, answer.n_unchanged), (10, 10));
    let elsewhere = backtest(client, request(BOARDS, "poem")).await;
    assert_eq!(elsewhere.n_replayed, 0, "another project's failures are none of its business");

    let refused = refusal(
        client
            .admin()
            .backtest_rules(v1::BacktestRulesRequest { layer: RuleOrigin::Pack.into(), ..Default::default() })
            .await,
    );
    assert_eq!((refused.code, refused.reason), (Code::InvalidArgument, ErrorReason::InvalidField));
    assert_eq!(refused.violations.len(), 2, "tenant and layer at once: {refused:?}");

    let delete = v1::DeleteDocumentsRequest {
        tenant_id: "acme".to_owned(),
        target: Some(v1::delete_documents_request::Target::WholeTenant(true)),
        ..Default::default()
    };
    client.admin().delete_documents(delete).await.expect("deleted");
    assert_eq!(backtest(client, request(BOARDS, "essay")).await.n_replayed, 0);
}

/// DESIGN §2.5, §9: the journal outlives the server, and the file holds neither users nor secrets in it; the setting switches
/// it off.
#[tokio::test(flavor = "multi_thread")]
async fn the_journal_outlives_the_server() {
    let server = Setup::sqlite().start().await;
    report(&server.client).await;
    let setup = server.stop().await;
    let server = setup.start().await;
    let answer = backtest(&server.client, request(BOARDS, "essay")).await;
    assert_eq!((answer.n_replayed, answer.n_unchanged), (9, 1));

    let setup = server.stop().await;
    let server = setup.set("journal.enabled", false).start().await;
    report(&server.client).await;
    let answer = backtest(&server.client, request(BOARDS, "")).await;
    assert!(!answer.journal_enabled);
    assert_eq!(answer.n_replayed, 9, "what is on record stays, and nothing comes to it");
    let file = std::fs::read(server.sqlite_file()).expect("the store's file");
    assert!(!String::from_utf8_lossy(&file).contains("hunter2"), "no secret is in the file");
}

/// `journal.max_entries` bounds each tenant.
#[tokio::test(flavor = "multi_thread")]
async fn the_latest_failures_are_kept() {
    let server = Setup::memory().set("journal.max_entries", 3).start().await;
    report(&server.client).await;
    let answer = backtest(&server.client, request(BOARDS, "")).await;
    assert_eq!((answer.n_replayed, answer.changes[0].count), (3, 2));
    assert!(answer.changes[0].examples[0].excerpt.starts_with("no such board: 7"));
    assert_eq!(agrajag_tests::metric(&server, "agrajag_journal_dropped_total").await, 0);
    assert_eq!(agrajag_tests::metric(&server, "agrajag_journal_entries_total").await, 9);
}

fn agrajag(home: &Path, server: &Server, line: &[&str]) -> Output {
    let mut command = child::command(home);
    command.env("AGRAJAG_SERVER", server.url()).args(line);
    child::run(command)
}

/// Exit codes of `rules backtest`: 0 nothing changes, 1 something does, 2 the file is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn the_command_tells_by_its_exit_code_whether_something_changes() {
    let server = Setup::memory().start().await;
    let rule = report(&server.client).await;
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("mine.yaml");
    let run = |yaml: &str, more: &[&str]| {
        std::fs::write(&file, yaml).expect("a file");
        let file = file.to_str().expect("UTF-8");
        let line = ["rules", "backtest", "--rules", file, "--tenant", "acme", "--project", "essay"];
        agrajag(home.path(), &server, &[&line[..], more].concat())
    };
    let output = run("patterns: []\n", &[]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("9 failures replayed: 9 unchanged, 0 changed"), "{}", output.stdout);

    let output = run(BOARDS, &[]);
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);
    for word in
        ["9 failures replayed: 1 unchanged, 8 changed", rule.as_str(), "no-board", "USER_INPUT", "[secret]"]
    {
        assert!(output.stdout.contains(word), "{word}: {}", output.stdout);
    }
    assert!(!output.stdout.contains("hunter2") && !output.stdout.contains("alice"), "{}", output.stdout);

    let output = run(BOARDS, &["--output", "json", "--limit", "2"]);
    assert_eq!(output.code, Some(1));
    let answer: serde_json::Value = serde_json::from_str(&output.stdout).expect("one JSON object");
    assert_eq!(answer["nReplayed"], 2);
    assert_eq!(answer["changes"][0]["after"]["ruleId"], "no-board");

    let output = run(&BOARDS.replace("403", "\"403\""), &[]);
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert!(output.stdout.contains("mine.yaml:4:"), "the file is named as it was given: {}", output.stdout);
    assert_eq!(run(BOARDS, &["--layer", "pack"]).code, Some(2), "no layer that could be replaced");
}
