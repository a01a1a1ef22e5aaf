//! Deleting by selector: documents, and what is kept beside them.

use std::collections::BTreeSet;

use health_model::DocumentKey;
use health_model::vocabulary::Scope;
use ports::{Batch, DeleteSelector, JobFilter, RuleLayerKey, RuleLayerRecord, Store};

use crate::Fixture;
use crate::follower::Follower;
use crate::values::*;

/// Two tenants with the same ids at each scope, a counter of `ann` and an open outage on each document.
async fn populate(store: &dyn Store) -> BTreeSet<DocumentKey> {
    let mut keys = BTreeSet::new();
    for tenant in ["acme", "bolt"] {
        for (scope, ids) in [
            (Scope::Session, ["ann", "s2"]),
            (Scope::User, ["ann", "bob"]),
            (Scope::Project, ["ann", "p2"]),
            (Scope::Tenant, ["ann", tenant]),
        ] {
            for id in ids {
                for tool in ["t1", "t2"] {
                    let key = key(tenant, scope, id, tool);
                    let batch = Batch {
                        documents: vec![write(None, document(&key))],
                        outages: vec![open_outage(&key, at(1))],
                        ..Batch::default()
                    };
                    store.commit(&batch).await.expect("the commit");
                    let deltas = [hits(&key, "a", Some("ann"), 1, at(1)), hits(&key, "a", None, 1, at(1))];
                    store.add_hits(&deltas).await.expect("the hits");
                    keys.insert(key);
                }
            }
        }
    }
    keys
}

async fn all_keys(store: &dyn Store) -> BTreeSet<DocumentKey> {
    let mut keys = BTreeSet::new();
    for tenant in ["acme", "bolt"] {
        keys.extend(list_tenant(store, tenant).await.into_iter().map(|it| it.document.key));
    }
    keys
}

/// Deletes and checks that exactly the documents that `selected` names are gone, and told by the feed.
async fn check_delete(
    fixture: &dyn Fixture,
    selector: DeleteSelector,
    selected: impl Fn(&DocumentKey) -> bool,
) -> std::sync::Arc<dyn Store> {
    let store = fixture.open().await;
    let before = populate(&*store).await;
    let mut follower = Follower::from_head(&store).await;
    let (n, revision) = store.delete(&selector, at(5)).await.expect("the delete");
    let (gone, left): (BTreeSet<_>, BTreeSet<_>) = before.into_iter().partition(|it| selected(it));
    assert!(!gone.is_empty());
    assert_eq!(n, gone.len() as u64);
    assert_eq!(all_keys(&*store).await, left);
    follower.reach(&revision, 100).await;
    assert_eq!(follower.versions.into_keys().collect::<BTreeSet<_>>(), gone);
    assert!(follower.documents.is_empty());
    for key in &gone {
        assert!(store.load_counters(key).await.expect("the counters").is_empty());
    }
    let (n, after) = store.delete(&selector, at(6)).await.expect("there is nothing left");
    assert_eq!(n, 0);
    assert_eq!(store.changes(&revision, 10).await.expect("the feed").changes, []);
    assert!(after.position >= revision.position);
    store
}

/// One document, with its counters; its neighbours stay.
pub async fn one_document_is_deleted(fixture: &dyn Fixture) {
    let one = key("acme", Scope::User, "ann", "t1");
    let store = check_delete(fixture, DeleteSelector::One(one.clone()), |it| *it == one).await;
    let neighbour = key("acme", Scope::User, "ann", "t2");
    assert_eq!(store.load_counters(&neighbour).await.expect("the counters").len(), 2);
}

/// A user's documents, and that user's counters wherever they are in the tenant.
pub async fn what_is_kept_under_a_user_is_deleted(fixture: &dyn Fixture) {
    let selector = DeleteSelector::User { tenant_id: "acme".to_owned(), user_id: "ann".to_owned() };
    let store = check_delete(fixture, selector, |it| {
        it.tenant_id == "acme" && it.scope == Scope::User && it.scope_id == "ann"
    })
    .await;
    for (tenant, expected) in [("acme", 1), ("bolt", 2)] {
        let key = key(tenant, Scope::Project, "p2", "t1");
        let counters = store.load_counters(&key).await.expect("the counters");
        assert_eq!(counters.len(), expected, "{tenant}");
        assert!(counters.iter().any(|it| it.user_id.is_none()));
    }
}

/// A session's documents.
pub async fn what_is_kept_under_a_session_is_deleted(fixture: &dyn Fixture) {
    let selector = DeleteSelector::Session { tenant_id: "acme".to_owned(), session_id: "ann".to_owned() };
    check_delete(fixture, selector, |it| {
        it.tenant_id == "acme" && it.scope == Scope::Session && it.scope_id == "ann"
    })
    .await;
}

/// Everything of a tenant: documents, counters, outages, jobs whether open or ended, rule layers; nothing of another.
pub async fn everything_of_a_tenant_is_deleted(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for (n, tenant) in (0..).zip(["acme", "bolt"]) {
        for m in 1..=3 {
            let mut it = job(n * 10 + m, &format!("p{m}"), "t");
            it.tenant_id = tenant.to_owned();
            it.key.tenant_id = tenant.to_owned();
            enqueue(&*store, &it).await;
        }
        let rules = RuleLayerRecord {
            key: RuleLayerKey { tenant_id: tenant.to_owned(), project_id: None },
            text: "patterns: []".to_owned(),
            updated_at: at(1),
            updated_by: "root".to_owned(),
            version: 0,
        };
        store.put_rule_layer(&rules, None).await.expect("the put");
    }
    let ended = store.claim_job(at(50), at(100)).await.expect("a claim").expect("acme's oldest");
    store.complete_job(ended.job.id, ended.token, None, at(51)).await.expect("an answer");
    let running = store.claim_job(at(50), at(100)).await.expect("a claim").expect("acme's next");
    assert_eq!((running.job.tenant_id.as_str(), ended.job.tenant_id.as_str()), ("acme", "acme"));
    let rules_before = store.rules_revision().await.expect("the number");

    let selector = DeleteSelector::Tenant { tenant_id: "acme".to_owned() };
    let store = check_delete(fixture, selector, |it| it.tenant_id == "acme").await;

    for (tenant, n_jobs, n_outages) in [("acme", 0, 0), ("bolt", 3, 1)] {
        let filter = JobFilter { tenant_id: tenant.to_owned(), ..JobFilter::default() };
        assert_eq!(store.list_jobs(&filter, None, 10).await.expect("the jobs").len(), n_jobs, "{tenant}");
        let key = key(tenant, Scope::User, "ann", "t1");
        assert_eq!(store.list_outages(&key, 10).await.expect("the outages").len(), n_outages, "{tenant}");
    }
    assert!(!store.complete_job(running.job.id, running.token, None, at(60)).await.expect("it is gone"));
    assert_eq!(store.count_queued().await.expect("a count"), 3);
    let (number, layers) = store.list_rule_layers().await.expect("the layers");
    assert_eq!(layers.iter().map(|it| it.key.tenant_id.as_str()).collect::<Vec<_>>(), ["bolt"]);
    assert!(number > rules_before, "a reader of the rules hears of it");
}
