//! Rule layers of files and of the store (R103…R107, R121…R124; ADR 0008).

mod support;

use health_model::Classification;
use health_service::explain::ExplainRequest;
use health_service::rules::FileLayer;
use health_service::{Error, Rules};
use ports::{RuleLayerKey, Store};
use support::{check, eventually, http, world};

fn tenant() -> RuleLayerKey {
    RuleLayerKey { tenant_id: "acme".to_owned(), project_id: None }
}

fn project() -> RuleLayerKey {
    RuleLayerKey { tenant_id: "acme".to_owned(), project_id: Some("essay".to_owned()) }
}

fn rule(id: &str, status: u16, signature: &str) -> String {
    format!(
        "  - id: {id}\n    match: {{ httpStatus: {status} }}\n    signature: {signature}\n    classification: USER_INPUT\n"
    )
}

fn layer(rules: &[String]) -> String {
    format!("patterns:\n{}", rules.concat())
}

fn file(key: RuleLayerKey, text: &str) -> FileLayer {
    FileLayer { key, path: "acme/error-patterns.yaml".to_owned(), text: Ok(text.to_owned()) }
}

fn signature(rules: &Rules, tenant: &str, project: &str, status: u16) -> String {
    let table = rules.table(tenant, project);
    table.classify(&support::tool("jira_search"), &http(status)).rule().signature.clone()
}

/// R103, R105, R107, R122, R123, R124
#[test]
fn layers_merge_bundled_tenant_file_tenant_store_project() {
    let rules = Rules::new(checker::Options::BUNDLED);
    assert_eq!(signature(&rules, "acme", "essay", 418), "unclassified");
    rules.set_file_layers(vec![file(tenant(), &layer(&[rule("teapot", 418, "tenant-file")]))]);
    assert_eq!(signature(&rules, "acme", "essay", 418), "tenant-file");
    assert_eq!(signature(&rules, "globex", "essay", 418), "unclassified", "tenants never mix");
    let record = |key, text| ports::RuleLayerRecord {
        key,
        text,
        updated_at: support::start(),
        updated_by: "eve".to_owned(),
        version: 1,
    };
    let stored = record(tenant(), layer(&[rule("teapot", 418, "tenant-store")]));
    rules.set_store_layers(1, vec![stored.clone()]);
    assert_eq!(signature(&rules, "acme", "essay", 418), "tenant-store");
    let narrow = record(project(), layer(&[rule("teapot", 418, "project-store")]));
    rules.set_store_layers(2, vec![stored, narrow]);
    rules.set_store_layers(1, Vec::new());
    assert_eq!(signature(&rules, "acme", "essay", 418), "project-store");
    assert_eq!(signature(&rules, "acme", "other", 418), "tenant-store");
    rules.set_store_layers(3, Vec::new());
    rules.set_file_layers(Vec::new());
    assert_eq!(signature(&rules, "acme", "essay", 418), "unclassified");
}

/// DESIGN §6 and the defect: one bad rule discarded the whole layer.
#[test]
fn a_bad_rule_is_skipped_alone_and_a_broken_file_keeps_its_last_good_content() {
    let rules = Rules::new(checker::Options::BUNDLED);
    let bad =
        "  - id: typo\n    match: { httpStatsu: 418 }\n    signature: x\n    classification: USER_INPUT\n";
    let text = layer(&[bad.to_owned(), rule("teapot", 418, "teapot")]);
    rules.set_file_layers(vec![file(tenant(), &text)]);
    assert_eq!(signature(&rules, "acme", "essay", 418), "teapot");
    assert_eq!(rules.n_findings().0, 1);
    let found = &rules.layers()[0].diagnostics[0];
    assert!(found.line > 0 && found.message.contains("httpStatsu"), "{found}");
    rules.set_file_layers(vec![file(tenant(), "patterns: [")]);
    assert_eq!(signature(&rules, "acme", "essay", 418), "teapot", "the last good content");
    assert!(rules.n_findings().0 > 0, "and the error is visible");
}

/// A text that is to be a shadow is explained and validated as if it were in force, and that is said.
#[tokio::test]
async fn a_shadow_is_explained_and_validated_as_if_it_were_in_force() {
    let world = world();
    let shadow = format!("shadow: true\n{}", layer(&[rule("teapot", 418, "teapot")]));
    let request = support::request("alice", http(418));
    let explained = world
        .service
        .explain(ExplainRequest {
            caller: request.caller,
            tool: request.tool,
            failure: request.failure,
            rules_yaml: Some(shadow.clone()),
        })
        .await
        .unwrap();
    assert_eq!(explained.verdict.rule_id, "teapot");
    assert!(explained.rules.iter().any(|it| it.rule_id == "teapot"));
    let is_told = |found: &[checker::Diagnostic]| found.iter().any(|it| it.field == "shadow");
    assert!(is_told(&explained.diagnostics));
    // What is found in its place among the others is found of a shadow too.
    let hidden = format!("{shadow}{}", rule("late", 418, "late"));
    let found = world.service.validate_rules(project(), hidden).await.unwrap().diagnostics;
    assert!(is_told(&found) && found.iter().any(|it| it.message.contains("never reached")), "{found:?}");
    let plain = layer(&[rule("teapot", 418, "x")]);
    assert!(!is_told(&world.service.validate_rules(project(), plain).await.unwrap().diagnostics));
}

/// What reads and compiles a tenant's text does so where nobody waits for the thread.
#[tokio::test]
async fn texts_are_read_off_the_threads_that_serve() {
    let world = world();
    let text = layer(&[rule("teapot", 418, "teapot")]);
    let explained = ExplainRequest {
        caller: support::request("alice", http(418)).caller,
        tool: support::tool("jira_search"),
        failure: http(418),
        rules_yaml: Some(text.clone()),
    };
    // Whatever is done on this thread is done when it is first asked for.
    let is_done_at_once = tokio::select! {
        biased;
        _ = world.service.validate_rules(project(), text.clone()) => true,
        _ = world.service.explain(explained) => true,
        () = std::future::ready(()) => false,
    };
    assert!(!is_done_at_once);
}

/// What is listed of a layer in force is what would be said of its text, and so is that of one that is not.
#[tokio::test]
async fn a_layer_of_the_store_is_listed_with_its_findings() {
    let world = world();
    let hidden = layer(&[rule("forbidden", 403, "forbidden"), rule("teapot", 418, "teapot")]);
    let (_, put) = world.service.put_rule_layer(tenant(), hidden, "eve", None).await.unwrap();
    assert!(put.diagnostics.iter().any(|it| it.message.starts_with("never reached")), "{put:?}");
    let shadow = format!("shadow: true\n{}", layer(&[rule("teapot", 418, "tried")]));
    world.service.put_rule_layer(project(), shadow, "eve", None).await.unwrap();
    let listed = world.service.rule_layers("acme").await.unwrap();
    let [(_, of_tenant), (_, of_project)] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((of_tenant.n_rules, of_tenant.is_shadow), (2, false));
    assert_eq!(of_tenant.diagnostics, put.diagnostics);
    assert_eq!((of_project.n_rules, of_project.is_shadow), (1, true));
    assert!(world.service.rule_layers("globex").await.unwrap().is_empty());
}

/// R121: put over the API, in force at once here and soon on other servers; refused as a whole where it has errors.
#[tokio::test]
async fn layers_in_the_store_reach_every_server() {
    let world = world();
    let second = world.second();
    assert_eq!(check(&second, "alice", http(418)).await.verdict.classification, Classification::Unclear);
    let bad = layer(&["  - id: x\n".to_owned()]);
    let refused = world.service.put_rule_layer(project(), bad, "eve", None).await;
    assert!(matches!(refused, Err(Error::RulesInvalid { .. })), "{refused:?}");
    assert_eq!(world.store.rules_revision().await.unwrap(), 0, "nothing was stored");
    let good = layer(&[rule("teapot", 418, "teapot")]);
    world.service.put_rule_layer(project(), good, "eve", None).await.unwrap();
    assert_eq!(check(&world.service, "bob", http(418)).await.verdict.signature, "teapot");
    eventually(async || check(&second, "bob", http(418)).await.verdict.signature == "teapot").await;
    assert!(world.service.delete_rule_layer(&project(), None).await.unwrap());
    assert_eq!(check(&world.service, "carol", http(418)).await.verdict.signature, "unclassified");
}
