//! Documents one by one: versions, conflicts, containers, keys that are easily mixed up.

use std::collections::BTreeSet;
use std::sync::Arc;

use health_model::DocumentKey;
use health_model::vocabulary::Scope;
use ports::{Batch, DeleteSelector, Store, StoreError};

use crate::Fixture;
use crate::values::*;

/// Absence is no error anywhere: nothing is on record, everything answers empty.
pub async fn absence_is_no_error(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let absent = tool("absent");
    assert_eq!(load(&*store, &absent).await, None);
    assert!(list_tenant(&*store, TENANT).await.is_empty());
    assert!(store.list_outages(&absent, 10).await.expect("outages").is_empty());
    assert!(store.load_counters(&absent).await.expect("counters").is_empty());
    assert!(jobs(&*store).await.is_empty());
    assert_eq!(store.claim_job(at(0), at(90)).await.expect("a claim"), None);
    assert_eq!(store.count_queued().await.expect("a count"), 0);
    assert!(!store.extend_job(id(1), 1, at(90)).await.expect("an answer"));
    assert!(!store.complete_job(id(1), 1, None, at(0)).await.expect("an answer"));
    let (_, layers) = store.list_rule_layers().await.expect("rule layers");
    assert!(layers.is_empty());
    let loaded = store.load_containers(&[]).await.expect("no containers");
    assert!(loaded.is_empty());
    let selector = DeleteSelector::One(absent);
    assert_eq!(store.delete(&selector, at(0)).await.expect("a delete").0, 0);
}

/// R33…R37: every field of a document comes back as it was written: nanoseconds, the last instant that can be told,
/// quotes, control characters and text in any script.
pub async fn a_document_comes_back_whole(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let full = full_document(&tool("full"));
    let version = put(&*store, None, full.clone()).await;
    let loaded = load(&*store, &full.key).await.expect("the document is there");
    assert_eq!(loaded.document, full);
    assert_eq!(loaded.version, version);

    let bare = document(&tool("bare"));
    put(&*store, None, bare.clone()).await;
    let loaded = store.load_containers(&[bare.key.container()]).await.expect("the container loads");
    let found: Vec<_> = loaded[0].documents.iter().map(|it| &it.document).collect();
    assert_eq!(found, [&bare, &full]);
}

/// A write that was decided on the current version replaces the content and makes a greater version.
pub async fn an_update_of_the_current_version_replaces(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    let mut version = put(&*store, None, noted(&key, "0")).await;
    for n in 1..5 {
        let next = put(&*store, Some(version), noted(&key, &n.to_string())).await;
        assert!(next > version, "{next} follows {version}");
        version = next;
    }
    let loaded = load(&*store, &key).await.expect("the document is there");
    assert_eq!((loaded.document, loaded.version), (noted(&key, "4"), version));
    assert_eq!(list_tenant(&*store, TENANT).await.len(), 1, "one row for one key (R32)");
}

/// A write on an older version is a conflict that names the key and writes nothing.
pub async fn a_stale_write_conflicts(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    let first = put(&*store, None, noted(&key, "first")).await;
    let second = put(&*store, Some(first), noted(&key, "second")).await;
    for expected in [Some(first), Some(second + 1), Some(0), None] {
        let error = try_put(&*store, expected, noted(&key, "stale")).await.expect_err("a conflict");
        assert!(matches!(&error, StoreError::Conflict { key: named } if *named == key), "{error:?}");
        let loaded = load(&*store, &key).await.expect("the document is there");
        assert_eq!((loaded.document, loaded.version), (noted(&key, "second"), second));
    }
}

/// An update of a document that is not there is a conflict, also after a delete.
pub async fn an_update_of_an_absent_document_conflicts(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    let error = try_put(&*store, Some(1), document(&key)).await.expect_err("there is none");
    assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");
    let version = put(&*store, None, document(&key)).await;
    store.delete(&DeleteSelector::One(key.clone()), at(1)).await.expect("the delete");
    let error = try_put(&*store, Some(version), document(&key)).await.expect_err("it was deleted");
    assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");
    assert_eq!(load(&*store, &key).await, None);
}

/// The version of a key grows over a delete and a new insert, also once the tombstone was swept: a writer that decided
/// before the delete never succeeds on the new document.
pub async fn versions_grow_over_a_delete(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    let mut last = 0;
    for round in 0..3 {
        let first = put(&*store, None, noted(&key, "first")).await;
        assert!(first > last, "round {round}: {first} follows {last}");
        let second = put(&*store, Some(first), noted(&key, "second")).await;
        store.delete(&DeleteSelector::One(key.clone()), at(round)).await.expect("the delete");
        if round > 0 {
            store.sweep(None, at(1_000), at(1_000)).await.expect("the sweep");
        }
        last = second;
    }
}

/// All documents of the containers that were asked for, in that order: an absent one empty, one asked for twice twice,
/// documents sorted by tool name in the order of their bytes.
pub async fn containers_come_in_the_order_asked(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for project in ["p1", "p2"] {
        for tool in ["b", "a", "B", "ä", "a-", "aa"] {
            put(&*store, None, document(&key(TENANT, Scope::Project, project, tool))).await;
        }
    }
    put(&*store, None, document(&key(TENANT, Scope::User, "p1", "a user's"))).await;
    let asked = [
        container(TENANT, Scope::Project, "p2"),
        container(TENANT, Scope::Project, "absent"),
        container(TENANT, Scope::User, "p1"),
        container(TENANT, Scope::Project, "p1"),
        container(TENANT, Scope::Project, "p2"),
    ];
    let loaded = store.load_containers(&asked).await.expect("the containers load");
    let keys: Vec<_> = loaded.iter().map(|it| &it.key).collect();
    assert_eq!(keys, asked.iter().collect::<Vec<_>>());
    let names = |n: usize| -> Vec<&str> {
        loaded[n].documents.iter().map(|it| it.document.key.tool_name.as_str()).collect()
    };
    let sorted = ["B", "a", "a-", "aa", "b", "ä"];
    assert_eq!(names(0), sorted);
    assert!(names(1).is_empty());
    assert_eq!(names(2), ["a user's"]);
    assert_eq!(names(3), sorted);
    assert_eq!(loaded[4], loaded[0]);
}

/// A cascade of many callers loads in one call.
pub async fn many_containers_load_at_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let containers: Vec<_> = (0..600).map(|n| container(TENANT, Scope::User, &format!("u{n:03}"))).collect();
    let writes = containers.iter().step_by(3).map(|it| write(None, document(&it.document("t")))).collect();
    store.commit(&documents(writes)).await.expect("the commit");
    let loaded = store.load_containers(&containers).await.expect("the containers load");
    assert_eq!(loaded.len(), containers.len());
    for (n, loaded) in loaded.iter().enumerate() {
        assert_eq!(loaded.key, containers[n]);
        assert_eq!(loaded.documents.len(), usize::from(n % 3 == 0));
    }
}

/// The answers of a batch stand in its order, whatever order a store writes in.
pub async fn a_batch_answers_in_its_order(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let names = ["m", "a", "z", "c"];
    let writes = names.iter().map(|it| write(None, document(&tool(it)))).collect();
    let jobs = names.iter().zip(1..).map(|(it, n)| job(n, "essay", it)).collect();
    let batch = Batch { documents: writes, jobs, ..Batch::default() };
    let committed = store.commit(&batch).await.expect("the commit");
    for (name, version) in names.iter().zip(&committed.versions) {
        let loaded = load(&*store, &tool(name)).await.expect("it was written");
        assert_eq!(loaded.version, *version, "{name}");
    }
    assert_eq!(committed.versions.len(), names.len());
    let ids: Vec<_> = committed.jobs.iter().map(|it| it.id()).collect();
    assert_eq!(ids, [id(1), id(2), id(3), id(4)]);
}

/// An empty batch writes nothing and answers the head.
pub async fn an_empty_batch_answers_the_head(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    put(&*store, None, document(&tool("t"))).await;
    let head = store.head().await.expect("a head");
    let committed = store.commit(&Batch::default()).await.expect("an empty commit");
    assert_eq!(committed.revision, head);
    assert!(committed.versions.is_empty() && committed.jobs.is_empty());
    assert_eq!(store.head().await.expect("a head"), head);
}

/// A batch with two writes of one key breaks the contract: it is refused whole.
pub async fn two_writes_of_one_key_in_a_batch_are_refused(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    let twice = documents(vec![
        write(None, document(&tool("other"))),
        write(None, noted(&key, "1")),
        write(None, noted(&key, "2")),
    ]);
    store.commit(&twice).await.expect_err("at most one write per key");
    assert!(list_tenant(&*store, TENANT).await.is_empty());
}

/// R32, C25: ids are compared byte by byte and never read: what looks like a wildcard, a quote, a separator, a keyword, a
/// number or nothing is an id like any other, at any length.
pub async fn odd_ids_are_kept_apart(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let long = "x".repeat(1_000);
    let longer = "x".repeat(1_001);
    let odd = [
        "a",
        "A",
        "a ",
        " a",
        "ä",
        "a\u{308}",
        " ",
        "  ",
        "\t",
        "\n",
        "'",
        "''",
        "\"",
        "\\",
        "`",
        "%",
        "_",
        "*",
        "?",
        "/",
        "a/b",
        "a//b",
        "null",
        "NULL",
        "0",
        "00",
        "-0",
        "1e0",
        "true",
        "{}",
        "[]",
        "$1",
        ";--",
        "\u{1f600}",
        "\u{200b}",
        "\u{202e}b",
        "\u{10ffff}",
        "\u{1}",
        &long,
        &longer,
    ];
    let mut keys: BTreeSet<DocumentKey> = BTreeSet::new();
    for it in odd {
        keys.insert(key(it, Scope::User, "u", "t"));
        keys.insert(key(TENANT, Scope::User, it, "t"));
        keys.insert(key(TENANT, Scope::User, "u", &it.chars().take(64).collect::<String>()));
        keys.insert(key(it, Scope::Project, it, "t"));
    }
    for key in &keys {
        put(&*store, None, noted(key, &key.to_string())).await;
    }
    for key in &keys {
        let loaded = load(&*store, key).await.expect("each key has its own document");
        assert_eq!(loaded.document, noted(key, &key.to_string()));
    }
    let containers: BTreeSet<_> = keys.iter().map(DocumentKey::container).collect();
    let containers: Vec<_> = containers.into_iter().collect();
    let loaded = store.load_containers(&containers).await.expect("the containers load");
    let found: Vec<_> = loaded.iter().flat_map(|it| &it.documents).map(|it| &it.document.key).collect();
    assert_eq!(found, keys.iter().collect::<Vec<_>>());
    let listed = list_tenant(&*store, TENANT).await;
    let of_tenant: Vec<_> = keys.iter().filter(|it| it.tenant_id == TENANT).collect();
    assert_eq!(listed.iter().map(|it| &it.document.key).collect::<Vec<_>>(), of_tenant);
}

/// DESIGN §4: equal strings in different tenants name different things, in every part of the store; GLOBAL documents have
/// the empty tenant and are no tenant's.
pub async fn tenants_never_mix(fixture: &dyn Fixture) {
    let store: Arc<dyn Store> = fixture.open().await;
    let tenants = ["acme", "bolt", ""];
    for (n, tenant) in (1..).zip(tenants) {
        let scope = if tenant.is_empty() { Scope::Global } else { Scope::Project };
        let key = key(tenant, scope, "essay", "search");
        let mut enqueue = job(n, "essay", "search");
        enqueue.tenant_id = tenant.to_owned();
        enqueue.key = key.clone();
        let batch = Batch {
            documents: vec![write(None, noted(&key, tenant))],
            jobs: vec![enqueue],
            outages: vec![open_outage(&key, at(1))],
        };
        store.commit(&batch).await.expect("each tenant has its own row");
        store.add_hits(&[hits(&key, tenant, None, 1, at(1))]).await.expect("the hits");
    }
    for tenant in tenants {
        let listed = list_tenant(&*store, tenant).await;
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].document.key.tenant_id, tenant);
        let filter = ports::JobFilter { tenant_id: tenant.to_owned(), ..ports::JobFilter::default() };
        let jobs = store.list_jobs(&filter, None, 10).await.expect("the jobs");
        assert_eq!(jobs.iter().map(|it| it.tenant_id.as_str()).collect::<Vec<_>>(), [tenant]);
    }
    let acme = DeleteSelector::Tenant { tenant_id: "acme".to_owned() };
    assert_eq!(store.delete(&acme, at(2)).await.expect("the delete").0, 1);
    for (tenant, scope) in [("bolt", Scope::Project), ("", Scope::Global)] {
        let key = key(tenant, scope, "essay", "search");
        assert!(load(&*store, &key).await.is_some());
        assert_eq!(store.load_counters(&key).await.expect("the counters").len(), 1);
        let outages = store.list_outages(&key, 10).await.expect("the outages");
        assert!(outages.len() == 1 && outages[0].ended_at.is_none());
    }
}
