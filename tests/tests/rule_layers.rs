//! Rule layers: put over AdminService, kept as files, validated, hot reloaded, one bad rule skipped alone.

use std::fs;
use std::path::Path;
use std::time::Duration;

use agrajag_proto::v1;
use agrajag_proto::v1::{Classification, ErrorReason, RuleLayerSource, RuleSeverity, WarningCode};
use agrajag_tests::client::{Client, refusal, warned};
use agrajag_tests::messages::{caller, check, http, http_body, rest};
use agrajag_tests::on_every_store;
use agrajag_tests::server::{Server, Setup};
use agrajag_tests::wait::within;
use tonic::Code;

on_every_store! { layers_are_put_and_deleted }

/// The time in which a change is to be in force (DESIGN §6), and what a busy machine may add to it.
const IN_FORCE: Duration = Duration::from_secs(2);
const SLACK: Duration = Duration::from_secs(3);

/// The project's oddity of R105: an error of rights that comes with a 200.
const MARKER: &str = "\
patterns:
  - id: jira-auth-as-200
    match: { httpStatus: 200, bodyContains: [\"no permission for this board\"] }
    signature: jira-no-board
    classification: USER_PERMISSION
";

const TWO: &str = "\
patterns:
  - id: good
    match: { httpStatus: 418 }
    signature: teapot
    classification: USER_INPUT
  - id: bad
    match: { httpStatus: \"tea\" }
    signature: pot
    classification: USER_INPUT
  - id: also-good
    match: { httpStatus: 451 }
    signature: legal
    classification: USER_PERMISSION
";

fn put(yaml: &str, project: &str) -> v1::PutRuleLayerRequest {
    v1::PutRuleLayerRequest {
        tenant_id: "acme".to_owned(),
        project_id: project.to_owned(),
        yaml: yaml.to_owned(),
        by: "olga".to_owned(),
        ..Default::default()
    }
}

async fn signature(client: &Client, failure: v1::Failure) -> String {
    // A tool of its own for every look: a cooldown does not change the verdict, and here none is even met.
    client.verdict(caller("alice"), rest("board"), failure).await.signature
}

fn file(documents: &Path, folder: &str, yaml: &str) {
    let folder = documents.join(folder).join("_vance/agrajag");
    fs::create_dir_all(&folder).expect("a folder");
    // Written beside and moved, as editors and deployments do: a reader never sees half of it.
    fs::write(folder.join("new"), yaml).expect("a file");
    fs::rename(folder.join("new"), folder.join("error-patterns.yaml")).expect("a file");
}

/// R105, R121…R124: a layer of a project counts there, before the fallback and behind what stands above; versions guard
/// against lost updates; deleting it brings back what was.
async fn layers_are_put_and_deleted(server: &Server) {
    let client = &server.client;
    let failure = http_body(200, "no permission for this board");
    let before = signature(client, failure.clone()).await;
    assert_ne!(before, "jira-no-board");
    let first = client.admin().put_rule_layer(put(MARKER, "essay")).await.expect("put").into_inner();
    let layer = first.layer.expect("the layer");
    assert_eq!((layer.source(), layer.n_rules, layer.n_skipped), (RuleLayerSource::Store, 1, 0));
    assert!(layer.version > 0);
    assert_eq!(
        signature(client, failure.clone()).await,
        "jira-no-board",
        "in force at once where it was put"
    );
    let elsewhere = v1::Caller { project_id: "other".to_owned(), ..caller("alice") };
    let verdict = client.verdict(elsewhere, rest("board"), failure.clone()).await;
    assert_eq!(verdict.signature, before, "another project has another table");

    let taken = v1::PutRuleLayerRequest { expected_version: Some(0), ..put(MARKER, "essay") };
    let refused = refusal(client.admin().put_rule_layer(taken).await);
    assert_eq!((refused.code, refused.reason), (Code::Aborted, ErrorReason::RuleLayerChanged));
    let next = v1::PutRuleLayerRequest { expected_version: Some(layer.version), ..put(MARKER, "essay") };
    let next = client.admin().put_rule_layer(next).await.expect("put").into_inner().layer.expect("the layer");
    assert!(next.version > layer.version);

    let list = v1::ListRuleLayersRequest { tenant_id: "acme".to_owned(), include_yaml: true };
    let layers = client.admin().list_rule_layers(list).await.expect("a list").into_inner().layers;
    let listed: Vec<_> =
        layers.iter().map(|it| (it.project_id.as_str(), it.yaml.as_str(), it.version)).collect();
    assert_eq!(listed, [("essay", MARKER, next.version)]);
    assert!(layers[0].by.contains("olga"));

    let delete = v1::DeleteRuleLayerRequest {
        tenant_id: "acme".to_owned(),
        project_id: "essay".to_owned(),
        expected_version: Some(layer.version),
        ..Default::default()
    };
    let refused = refusal(client.admin().delete_rule_layer(delete.clone()).await);
    assert_eq!(refused.reason, ErrorReason::RuleLayerChanged, "somebody else has put it since");
    let delete = v1::DeleteRuleLayerRequest { expected_version: None, ..delete };
    assert!(client.admin().delete_rule_layer(delete.clone()).await.expect("deleted").into_inner().deleted);
    assert!(!client.admin().delete_rule_layer(delete).await.expect("an answer").into_inner().deleted);
    assert_eq!(signature(client, failure).await, before);
}

/// DESIGN §5, §6: a put with an error is refused whole, every error at once, and what is in force stays; a dry run says
/// the same and writes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_put_with_errors_is_refused_whole() {
    let server = Setup::memory().start().await;
    let client = &server.client;
    client.admin().put_rule_layer(put(MARKER, "")).await.expect("put");
    let bad = "\
patterns:
  - id: a
    match: { httpStatus: 418, bodyContans: [\"x\"] }
    signature: s
    classification: USER_INPUT
  - id: a
    match: { httpStatus: 418 }
    signature: s
    classification: SOMETHING
";
    let refused = refusal(client.admin().put_rule_layer(put(bad, "")).await);
    assert_eq!((refused.code, refused.reason), (Code::InvalidArgument, ErrorReason::RulesInvalid));
    assert!(refused.violations.len() >= 2, "all of them at once: {refused:?}");
    let told = format!("{:?}", refused.violations);
    assert!(told.contains("bodyContans") && told.contains("SOMETHING"), "{told}");
    let failure = http_body(200, "no permission for this board");
    assert_eq!(signature(client, failure).await, "jira-no-board", "what was in force stays");

    let validate =
        v1::ValidateRulesRequest { yaml: bad.to_owned(), tenant_id: "acme".to_owned(), ..Default::default() };
    let answer = client.admin().validate_rules(validate).await.expect("an answer").into_inner();
    assert!(!answer.valid && answer.n_skipped >= 1, "{answer:?}");
    let errors: Vec<_> =
        answer.diagnostics.iter().filter(|it| it.severity() == RuleSeverity::Error).collect();
    assert!(errors.len() >= 2 && errors.iter().all(|it| it.line > 0 && !it.message.is_empty()), "{errors:?}");
    let good = v1::ValidateRulesRequest { yaml: MARKER.to_owned(), ..Default::default() };
    let answer = client.admin().validate_rules(good).await.expect("an answer").into_inner();
    assert_eq!((answer.valid, answer.n_rules, answer.n_skipped), (true, 1, 0), "{answer:?}");
    let list = v1::ListRuleLayersRequest { tenant_id: "acme".to_owned(), include_yaml: true };
    let layers = client.admin().list_rule_layers(list).await.expect("a list").into_inner().layers;
    assert_eq!(layers.len(), 1);
    assert_eq!(layers[0].yaml, MARKER);
}

/// R104, R121: files of a documents directory are in force at the start, and within two seconds after every change.
#[tokio::test(flavor = "multi_thread")]
async fn files_are_followed() {
    let documents = tempfile::tempdir().expect("a folder");
    file(documents.path(), "acme", &MARKER.replace("jira-no-board", "tenant"));
    let server = Setup::memory().documents(documents.path()).start().await;
    let client = &server.client;
    let failure = || http_body(200, "no permission for this board");
    assert_eq!(signature(client, failure()).await, "tenant", "in force at the start");
    let in_force = async |wanted: &str| {
        let began = std::time::Instant::now();
        within(IN_FORCE + SLACK, wanted, async || {
            (signature(client, failure()).await == wanted).then_some(())
        })
        .await;
        let took = began.elapsed();
        eprintln!("`{wanted}` in force after {took:?}");
    };
    file(documents.path(), "acme/essay", &MARKER.replace("jira-no-board", "project"));
    in_force("project").await;
    file(documents.path(), "acme/essay", &MARKER.replace("jira-no-board", "changed"));
    in_force("changed").await;
    fs::remove_file(documents.path().join("acme/essay/_vance/agrajag/error-patterns.yaml")).expect("removed");
    in_force("tenant").await;

    // A layer in the store wins over a file of the same place, and gives way when it is deleted.
    client.admin().put_rule_layer(put(&MARKER.replace("jira-no-board", "stored"), "")).await.expect("put");
    assert_eq!(signature(client, failure()).await, "stored");
    let delete = v1::DeleteRuleLayerRequest { tenant_id: "acme".to_owned(), ..Default::default() };
    client.admin().delete_rule_layer(delete).await.expect("deleted");
    assert_eq!(signature(client, failure()).await, "tenant");
}

/// The interface's word about `ListRuleLayers`: the tenant's own first, then by project; of one place the store's first.
#[tokio::test(flavor = "multi_thread")]
async fn layers_are_listed_in_their_order() {
    let documents = tempfile::tempdir().expect("a folder");
    for folder in ["acme/zoo", "acme", "acme/essay"] {
        file(documents.path(), folder, MARKER);
    }
    let server = Setup::memory().documents(documents.path()).start().await;
    for project in ["", "essay"] {
        server.client.admin().put_rule_layer(put(MARKER, project)).await.expect("put");
    }
    let list = v1::ListRuleLayersRequest { tenant_id: "acme".to_owned(), include_yaml: false };
    let layers = server.client.admin().list_rule_layers(list).await.expect("a list").into_inner().layers;
    assert!(layers.iter().all(|it| it.yaml.is_empty()), "the texts were not asked for");
    let found: Vec<_> = layers.iter().map(|it| (it.project_id.as_str(), it.source())).collect();
    use RuleLayerSource::{File, Store};
    assert_eq!(found, [("", Store), ("", File), ("essay", Store), ("essay", File), ("zoo", File)]);
}

/// DESIGN §6, "Incidents and defects": one bad rule of a file is skipped alone, and the error is visible: in the answer,
/// in the effective rules with file, line and field, and in what the server says of itself.
#[tokio::test(flavor = "multi_thread")]
async fn one_bad_rule_is_skipped_alone() {
    let documents = tempfile::tempdir().expect("a folder");
    file(documents.path(), "acme", TWO);
    let server = Setup::memory().documents(documents.path()).start().await;
    let client = &server.client;
    assert_eq!(signature(client, http(418)).await, "teapot");
    assert_eq!(signature(client, http(451)).await, "legal");
    within(IN_FORCE + SLACK, "answers say that a rule is skipped", async || {
        let response = client.check(check(caller("alice"), rest("board"), http(418))).await;
        warned(&response.warnings).iter().any(|(code, _)| *code == WarningCode::RuleSkipped).then_some(())
    })
    .await;
    let of_acme = v1::GetEffectiveRulesRequest { tenant_id: "acme".to_owned(), ..Default::default() };
    let rules = client.admin().get_effective_rules(of_acme).await.expect("rules").into_inner();
    assert!(
        rules.rules.iter().any(|it| it.rule_id == "good")
            && !rules.rules.iter().any(|it| it.rule_id == "bad")
    );
    let error = rules.diagnostics.iter().find(|it| it.severity() == RuleSeverity::Error).expect("the error");
    assert_eq!(error.file, "acme/_vance/agrajag/error-patterns.yaml");
    assert_eq!((error.rule_id.as_str(), error.line), ("bad", 7));
    assert!(error.field.contains("httpStatus"), "{error:?}");
    assert_eq!(client.info().await.n_rule_errors, 1);
    // Another tenant's files are no concern.
    let stranger = v1::Caller { tenant_id: "globex".to_owned(), ..caller("alice") };
    let response = client.check(check(stranger, rest("board"), http(418))).await;
    assert!(response.warnings.is_empty(), "{response:?}");
}

/// "Bad input": texts that are no rules, too long, too deep or made to explode are refused with a reason, quickly, and
/// the server goes on.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_texts_are_refused_quickly() {
    let server = Setup::memory().start().await;
    let client = &server.client;
    let deep = format!("patterns: {}", "[".repeat(100_000));
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for n in 1..10 {
        let before = vec![format!("*a{}", n - 1); 9].join(", ");
        bomb.push_str(&format!("a{n}: &a{n} [{before}]\n"));
    }
    bomb.push_str("patterns: *a9\n");
    let long = format!("patterns: []\n{}", "# nothing\n".repeat(60_000));
    let regex = "\
patterns:
  - id: a
    match: { bodyMatches: \"(unclosed\" }
    signature: s
    classification: USER_INPUT
";
    let cases = [
        ("no YAML", "patterns: [".to_owned()),
        ("no list", "patterns: 7".to_owned()),
        ("no mapping", "- a\n- b\n".to_owned()),
        ("unknown field", "patern: []".to_owned()),
        ("no patterns of a kind", "patterns: [1, 2]".to_owned()),
        ("control character", "patterns: \u{1}".to_owned()),
        ("deep", deep),
        ("alias bomb", bomb),
        ("too long", long),
        ("a regular expression that does not compile", regex.to_owned()),
    ];
    for (what, yaml) in cases {
        let began = std::time::Instant::now();
        let refused = refusal(client.admin().put_rule_layer(put(&yaml, "")).await);
        assert_eq!(refused.code, Code::InvalidArgument, "{what}: {refused:?}");
        assert!(!refused.violations.is_empty(), "{what}: {refused:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "{what} took {:?}", began.elapsed());
    }
    assert_eq!(client.verdict(caller("alice"), rest("board"), http(403)).await.signature, "http-403");
}

/// "Bad input": a file of 10 MB is not loaded, is told, and takes nothing else away.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_ten_megabytes_is_refused() {
    let documents = tempfile::tempdir().expect("a folder");
    file(documents.path(), "acme", &format!("{MARKER}{}", "# nothing at all\n".repeat(640_000)));
    file(documents.path(), "acme/essay", &MARKER.replace("jira-no-board", "project"));
    let server = Setup::memory().documents(documents.path()).start().await;
    let failure = http_body(200, "no permission for this board");
    assert_eq!(signature(&server.client, failure).await, "project");
    let of_acme = v1::GetEffectiveRulesRequest { tenant_id: "acme".to_owned(), ..Default::default() };
    let rules = server.client.admin().get_effective_rules(of_acme).await.expect("rules").into_inner();
    let error = rules.diagnostics.iter().find(|it| it.severity() == RuleSeverity::Error).expect("the error");
    assert!(error.message.contains("KiB") || error.message.contains("524288"), "{error:?}");
}

/// R106…R110, R114, DESIGN §5: a dry run says for every rule whether it matched and what did not, and writes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn explain_tells_every_rule_and_writes_nothing() {
    let server = Setup::memory().start().await;
    let client = &server.client;
    let request = v1::ExplainRequest {
        caller: Some(caller("alice")),
        tool: Some(rest("jira_search")),
        failure: Some(agrajag_tests::messages::connection_refused()),
        ..Default::default()
    };
    let answer = client.tools().explain(request.clone()).await.expect("Explain answers").into_inner();
    let verdict = answer.verdict.expect("a verdict");
    assert_eq!((verdict.rule_id.as_str(), verdict.durability()), ("connect-refused", v1::Durability::None));
    let selected: Vec<_> =
        answer.rules.iter().filter(|it| it.selected).map(|it| it.rule_id.as_str()).collect();
    assert_eq!(selected, ["connect-refused"]);
    let fallback = answer.rules.last().expect("rules");
    assert!(fallback.matched && !fallback.selected && fallback.rule_id == "fallback", "{fallback:?}");
    let forbidden = answer.rules.iter().find(|it| it.rule_id == "http-403").expect("the rule");
    let mismatch = forbidden.first_mismatch.as_ref().expect("why not");
    assert_eq!(
        (forbidden.matched, mismatch.field.as_str(), mismatch.expected.as_str()),
        (false, "httpStatus", "403")
    );
    assert!(answer.writes.iter().any(|it| it.what.contains("DOWN")), "{:?}", answer.writes);

    assert_eq!(client.state(caller("alice"), rest("jira_search")).await, v1::ToolState::Ok);
    let list = v1::ListDocumentsRequest { tenant_id: "acme".to_owned(), ..Default::default() };
    assert!(client.admin().list_documents(list).await.expect("a page").into_inner().documents.is_empty());
    assert!(client.jobs().await.is_empty());

    // A layer can be tried out before it is put.
    let tried = v1::ExplainRequest {
        failure: Some(http_body(200, "no permission for this board")),
        rules_yaml: Some(MARKER.to_owned()),
        ..request
    };
    let answer = client.tools().explain(tried).await.expect("Explain answers").into_inner();
    assert_eq!(answer.verdict.expect("a verdict").classification(), Classification::UserPermission);
    assert_ne!(signature(client, http_body(200, "no permission for this board")).await, "jira-no-board");
}
