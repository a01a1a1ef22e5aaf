//! Errors travel in metadata, of which most clients read 8 KiB and some give up the whole connection beyond 16: whatever was
//! sent, values are cut in an error, and of many violations the first are told (DESIGN §5, §9).

use agrajag_proto::v1;
use agrajag_proto::v1::{ErrorReason, Scope};
use agrajag_tests::client::refusal;
use agrajag_tests::messages::{caller, key, lookup, rest};
use agrajag_tests::refusal::Refusal;
use agrajag_tests::server::Setup;

fn long() -> String {
    "x".repeat(70_000)
}

fn layer(yaml: String) -> v1::PutRuleLayerRequest {
    v1::PutRuleLayerRequest { tenant_id: "acme".to_owned(), yaml, ..Default::default() }
}

/// A long id, told as the value that is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_id() {
    let server = Setup::memory().start().await;
    let tenant = v1::MarkUnavailableRequest {
        tenant_id: "acme".to_owned(),
        key: Some(key(Scope::Tenant, &long(), "a")),
        ..Default::default()
    };
    let refused = refusal(server.client.admin().mark_unavailable(tenant).await);
    assert_eq!((refused.reason, refused.fields()[0]), (ErrorReason::InvalidField, "key.scope_id"));
}

/// A thousand tools, each of them wrong.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_violations() {
    let server = Setup::memory().start().await;
    let request = lookup(caller("alice"), (0..1_000).map(|_| rest(&"n".repeat(300))));
    let refused = refusal(server.client.tools().lookup(request).await);
    assert_eq!((refused.reason, refused.fields()[0]), (ErrorReason::InvalidField, "tools[0].name"));
    assert!(refused.message.contains("999"), "how many more there are: {}", refused.message);
}

/// A layer of five hundred rules, each with several errors.
#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_rules_with_errors() {
    let server = Setup::memory().start().await;
    let rule = "  - { id: a, match: { nothing: 1 }, signature: s, classification: X }\n";
    let request = layer(format!("patterns:\n{}", rule.repeat(500)));
    let refused = refusal(server.client.admin().put_rule_layer(request).await);
    assert_eq!(refused.reason, ErrorReason::RulesInvalid);
}

/// One rule with a long value that is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_value_in_a_rule() {
    let server = Setup::memory().start().await;
    let rule =
        format!("{{ id: a, match: {{ httpStatus: {} }}, signature: s, classification: UNCLEAR }}", long());
    let refused = refusal(server.client.admin().put_rule_layer(layer(format!("patterns: [{rule}]"))).await);
    assert_eq!(refused.reason, ErrorReason::RulesInvalid);
    let rule = format!("{{ id: {}, match: {{ }}, signature: s, classification: NONSENSE }}", long());
    let refused = refusal(server.client.admin().put_rule_layer(layer(format!("patterns: [{rule}]"))).await);
    assert_eq!(refused.reason, ErrorReason::RulesInvalid);
}

/// A long revision to go on from.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_revision() {
    let server = Setup::memory().start().await;
    let request = v1::WatchRequest {
        caller: Some(caller("alice")),
        from_revision: format!("{}:1", long()),
        ..Default::default()
    };
    let refused = match server.client.tools().watch(request).await {
        Ok(stream) => refusal(stream.into_inner().message().await),
        Err(status) => Refusal::of(&status),
    };
    assert!(matches!(refused.reason, ErrorReason::RevisionTooOld | ErrorReason::InvalidField), "{refused:?}");
}

/// A document that does not exist, with the longest key that is allowed.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_key() {
    let server = Setup::memory().start().await;
    let id = "\u{10ffff}".repeat(64);
    let request = v1::GetDocumentRequest {
        tenant_id: id.clone(),
        key: Some(key(Scope::Project, &id, &id)),
        ..Default::default()
    };
    let refused = refusal(server.client.admin().get_document(request).await);
    assert_eq!(refused.reason, ErrorReason::DocumentNotFound);
}
