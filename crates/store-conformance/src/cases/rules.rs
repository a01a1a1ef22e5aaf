//! Rule layers that were put into the store.

use std::sync::Arc;

use futures::future::join_all;
use ports::{RuleLayerKey, RuleLayerRecord, Store, StoreError};

use crate::Fixture;
use crate::values::*;

fn name(tenant: &str, project: Option<&str>) -> RuleLayerKey {
    RuleLayerKey { tenant_id: tenant.to_owned(), project_id: project.map(str::to_owned) }
}

fn layer(tenant: &str, project: Option<&str>, text: &str) -> RuleLayerRecord {
    RuleLayerRecord {
        key: name(tenant, project),
        text: text.to_owned(),
        updated_at: at(1),
        updated_by: "root".to_owned(),
        version: 0,
    }
}

async fn layers(store: &dyn Store) -> Vec<RuleLayerRecord> {
    store.list_rule_layers().await.expect("the layers").1
}

/// Layers are put, replaced, listed by key (the tenant's own before its projects') and deleted, text as it was put.
pub async fn rule_layers_are_put_listed_and_deleted(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let big = "# \u{1f600} 'quoted' \"text\"\n".repeat(20_000);
    let put_first = [
        layer("bolt", None, "bolt"),
        layer("acme", Some("essay"), "essay"),
        layer("acme", None, &big),
        layer("acme", Some("null"), "null"),
        layer("acme", Some("Essay"), "Essay"),
    ];
    for it in &put_first {
        store.put_rule_layer(it, None).await.expect("the put");
    }
    let replaced = RuleLayerRecord {
        updated_at: at(9),
        updated_by: "al'ice".to_owned(),
        ..layer("acme", Some("essay"), "replaced")
    };
    let version = store.put_rule_layer(&replaced, None).await.expect("the put");
    let found = layers(&*store).await;
    let keys: Vec<_> = found.iter().map(|it| it.key.clone()).collect();
    let sorted = [
        ("acme", None),
        ("acme", Some("Essay")),
        ("acme", Some("essay")),
        ("acme", Some("null")),
        ("bolt", None),
    ];
    assert_eq!(keys, sorted.map(|(tenant, project)| name(tenant, project)));
    assert_eq!(found[0].text, big);
    assert_eq!(found[2], RuleLayerRecord { version, ..replaced });

    assert!(store.delete_rule_layer(&name("acme", None), None).await.expect("the delete"));
    assert!(!store.delete_rule_layer(&name("acme", None), None).await.expect("there is none"));
    assert!(!store.delete_rule_layer(&name("bolt", Some("essay")), None).await.expect("there is none"));
    assert_eq!(layers(&*store).await, found[1..]);
}

/// The number grows with each put and delete, is the version of what was put last, and nothing else moves it.
pub async fn the_number_of_the_rules_grows(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let number = async || {
        let (number, _) = store.list_rule_layers().await.expect("the layers");
        assert_eq!(store.rules_revision().await.expect("the number"), number);
        number
    };
    let start = number().await;
    let first = store.put_rule_layer(&layer("acme", None, "1"), None).await.expect("the put");
    assert!(first > start);
    assert_eq!(number().await, first);
    let second = store.put_rule_layer(&layer("acme", None, "1"), None).await.expect("the same text again");
    assert!(second > first);
    assert_eq!(layers(&*store).await[0].version, second);
    put(&*store, None, document(&tool("t"))).await;
    store.sweep(None, at(0), at(0)).await.expect("the sweep");
    assert_eq!(number().await, second);
    store.delete_rule_layer(&name("acme", None), None).await.expect("the delete");
    let deleted = number().await;
    assert!(deleted > second);
    let again = store.put_rule_layer(&layer("acme", None, "2"), None).await.expect("the put");
    assert!(again > deleted, "a version does not come twice");
}

/// A put or delete that expects a version writes only on that version; 0 = there is none.
pub async fn a_rule_layer_is_changed_on_the_expected_version(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = name("acme", None);
    let refused = |error: StoreError, expected: u64, found: u64| {
        let same = matches!(error, StoreError::RuleLayerChanged { expected: e, found: f } if (e, f) == (expected, found));
        assert!(same, "{error:?} instead of {found} where {expected} was expected");
    };

    let error = store.put_rule_layer(&layer("acme", None, "x"), Some(7)).await.expect_err("there is none");
    refused(error, 7, 0);
    let error = store.delete_rule_layer(&key, Some(7)).await.expect_err("there is none");
    refused(error, 7, 0);
    assert!(!store.delete_rule_layer(&key, Some(0)).await.expect("none, as expected"));
    let first = store.put_rule_layer(&layer("acme", None, "1"), Some(0)).await.expect("none, as expected");
    let error = store.put_rule_layer(&layer("acme", None, "x"), Some(0)).await.expect_err("there is one");
    refused(error, 0, first);
    let second =
        store.put_rule_layer(&layer("acme", None, "2"), Some(first)).await.expect("the expected one");
    for expected in [0, first, second + 1] {
        let error =
            store.put_rule_layer(&layer("acme", None, "x"), Some(expected)).await.expect_err("changed");
        refused(error, expected, second);
        let error = store.delete_rule_layer(&key, Some(expected)).await.expect_err("changed");
        refused(error, expected, second);
    }
    assert_eq!(layers(&*store).await, [RuleLayerRecord { version: second, ..layer("acme", None, "2") }]);
    assert_eq!(store.rules_revision().await.expect("the number"), second, "a refusal writes nothing");
    assert!(store.delete_rule_layer(&key, Some(second)).await.expect("the expected one"));
    assert!(layers(&*store).await.is_empty());
}

/// Of several who change the same version of a layer at once one gets through; every put has a version of its own.
pub async fn concurrent_puts_of_a_rule_layer_do_not_overwrite(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut version = 0;
    for round in 0..5 {
        let putters = (0..8).map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                (n, store.put_rule_layer(&layer("acme", Some("essay"), &format!("{n}")), Some(version)).await)
            })
        });
        let mut winners = Vec::new();
        for done in join_all(putters).await {
            match done.expect("the task ends") {
                (n, Ok(version)) => winners.push((n, version)),
                (_, Err(StoreError::RuleLayerChanged { expected, .. })) => assert_eq!(expected, version),
                (_, Err(error)) => panic!("a put failed: {error:?}"),
            }
        }
        assert_eq!(winners.len(), 1, "round {round}");
        assert!(winners[0].1 > version);
        version = winners[0].1;
        let found = layers(&*store).await;
        assert_eq!((&found[0].text, found[0].version), (&winners[0].0.to_string(), version));
    }
}
