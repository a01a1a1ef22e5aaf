//! Documents that are there and cannot be read: damaged, or of a newer program.

use health_model::vocabulary::Status;
use health_model::{Document, DocumentKey};
use ports::{DeleteSelector, DocumentFilter, StoreError};

use crate::follower::Follower;
use crate::values::*;
use crate::{Damage, Fixture};

fn sick(key: &DocumentKey) -> Document {
    with_status(key, Status::Down)
}

fn is_corrupt_of<T: std::fmt::Debug>(result: Result<T, StoreError>, key: &DocumentKey) {
    match result {
        Err(StoreError::Corrupt { key: named, .. }) => assert_eq!(named, key.to_string()),
        other => panic!("`{key}` cannot be read, the store says {other:?}"),
    }
}

/// The feed tells a document that cannot be read as one to drop, at its version and in its place: a view that has the content
/// before it must not keep that. Once it can be read again, it comes with the write that mended it.
pub async fn the_feed_tells_to_drop_what_cannot_be_read(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for (n, damage) in Damage::ALL.into_iter().enumerate() {
        let [before, bad, after] = ["a", "b", "c"].map(|it| tool(&format!("{it}{n}")));
        let known = put(&*store, None, sick(&bad)).await;
        let mut follower = Follower::from_head(&store).await;
        follower.documents.insert(bad.clone(), load(&*store, &bad).await.expect("it is there"));

        put(&*store, None, sick(&before)).await;
        let version = put(&*store, Some(known), with_status(&bad, Status::Degraded)).await;
        put(&*store, None, sick(&after)).await;
        fixture.damage(&bad, damage).await;
        let page = follower.page(100).await;
        let told: Vec<_> = page.changes.iter().map(|it| (&it.key, it.document.is_some())).collect();
        assert_eq!(told, [(&before, true), (&bad, false), (&after, true)], "{damage:?}");
        assert_eq!(page.changes[1].version, version, "{damage:?}");
        assert!(!page.more && !follower.documents.contains_key(&bad));
        assert_eq!(store.changes(&follower.at, 10).await.expect("the feed").changes, [], "it is told once");

        let mended = put(&*store, Some(version), sick(&bad)).await;
        follower.catch_up(100).await;
        assert_eq!(follower.documents.get(&bad).map(|it| it.version), Some(mended), "{damage:?}");
    }
}

/// Containers and lists leave it out, a page goes on behind it, and asked for alone it is the error.
pub async fn an_unreadable_document_hides_no_other(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let keys = ["a", "b", "c", "d", "e"].map(tool);
    for key in &keys {
        put(&*store, None, sick(key)).await;
    }
    for (key, damage) in keys[1..4].iter().zip(Damage::ALL) {
        fixture.damage(key, damage).await;
        is_corrupt_of(store.load_document(key).await, key);
    }
    let shown = |it: &[ports::Versioned]| -> Vec<String> {
        it.iter().map(|it| it.document.key.tool_name.clone()).collect()
    };
    for n in [1, 20] {
        // A store may load many containers in another way than few.
        let mut containers = vec![keys[0].container()];
        containers.extend((1..n).map(|n| container(TENANT, health_model::Scope::User, &format!("u{n}"))));
        let loaded = store.load_containers(&containers).await.expect("the container loads");
        assert_eq!(shown(&loaded[0].documents), ["a", "e"], "among {n}");
    }
    let all = DocumentFilter { tenant_id: TENANT.to_owned(), ..DocumentFilter::default() };
    for filter in [all.clone(), DocumentFilter { status: Some(Status::Down), ..all }] {
        for limit in [1, 2, 1_000] {
            let mut found = Vec::new();
            let mut after = None;
            loop {
                let page = store.list_documents(&filter, after.as_ref(), limit).await.expect("a page");
                found.extend(shown(&page.documents));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(found, ["a", "e"], "{limit} a page");
        }
    }
}

/// To a writer that loaded its container it looks absent. The first insert is told what is wrong: of a conflict it would load
/// again and insert again, for ever. Nothing of the batch is written.
pub async fn a_first_insert_over_an_unreadable_document_is_corrupt(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for (n, damage) in Damage::ALL.into_iter().enumerate() {
        let [bad, other] = ["bad", "other"].map(|it| tool(&format!("{it}{n}")));
        put(&*store, None, sick(&bad)).await;
        fixture.damage(&bad, damage).await;
        let head = store.head().await.expect("a head");
        is_corrupt_of(try_put(&*store, None, sick(&bad)).await, &bad);
        for keys in [[&bad, &other], [&other, &bad]] {
            let batch = documents(keys.map(|it| write(None, sick(it))).into());
            is_corrupt_of(store.commit(&batch).await, &bad);
        }
        let mut batch = documents(vec![write(None, sick(&bad))]);
        batch.jobs.push(job(1, "essay", "t"));
        is_corrupt_of(store.commit(&batch).await, &bad);
        assert!(load(&*store, &other).await.is_none() && jobs(&*store).await.is_empty(), "{damage:?}");
        assert_eq!(store.head().await.expect("a head"), head, "{damage:?}");
    }
}

/// A write of its very version replaces it, one of another conflicts, and a delete removes it: it can be mended.
pub async fn an_unreadable_document_can_be_replaced_and_deleted(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    for damage in Damage::ALL {
        let first = put(&*store, None, sick(&key)).await;
        let second = put(&*store, Some(first), sick(&key)).await;
        fixture.damage(&key, damage).await;
        let stale = try_put(&*store, Some(first), sick(&key)).await.expect_err("it is not that version");
        assert!(matches!(&stale, StoreError::Conflict { key: named } if *named == key), "{stale:?}");
        let third = put(&*store, Some(second), with_status(&key, Status::Ok)).await;
        assert!(third > second);
        let mended = load(&*store, &key).await.expect("it can be read again");
        assert_eq!((mended.version, mended.document), (third, with_status(&key, Status::Ok)));

        fixture.damage(&key, damage).await;
        let (n, _) = store.delete(&DeleteSelector::One(key.clone()), at(5)).await.expect("the delete");
        assert_eq!(n, 1, "{damage:?}");
        assert!(load(&*store, &key).await.is_none());
    }
}
