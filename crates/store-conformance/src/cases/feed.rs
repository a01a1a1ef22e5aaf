//! The change feed: complete, in commit order, in whole transactions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant as RealInstant};

use futures::future::join_all;
use health_model::DocumentKey;
use ports::{DeleteSelector, Revision, StoreError};

use crate::Fixture;
use crate::follower::Follower;
use crate::values::*;

/// Inserts, updates and deletes appear with content and version; a delete without content.
pub async fn the_feed_tells_inserts_updates_and_deletes(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut follower = Follower::from_head(&store).await;
    let key = tool("t");

    let inserted = try_put(&*store, None, noted(&key, "1")).await.expect("the insert");
    follower.reach(&inserted.revision, 10).await;
    assert_eq!(follower.documents[&key].document, noted(&key, "1"));
    assert_eq!(follower.versions[&key], inserted.versions[0]);

    let updated = try_put(&*store, Some(inserted.versions[0]), noted(&key, "2")).await.expect("the update");
    follower.reach(&updated.revision, 10).await;
    assert_eq!(follower.documents[&key].document, noted(&key, "2"));

    let (n, deleted) = store.delete(&DeleteSelector::One(key.clone()), at(1)).await.expect("the delete");
    assert_eq!(n, 1);
    follower.reach(&deleted, 10).await;
    assert!(follower.documents.is_empty());
    assert!(follower.versions[&key] > updated.versions[0], "a delete has a version of its own");

    let again = try_put(&*store, None, noted(&key, "3")).await.expect("the new insert");
    follower.reach(&again.revision, 10).await;
    assert_eq!(follower.documents[&key].document, noted(&key, "3"));
    assert!(follower.page(10).await.changes.is_empty(), "nothing comes twice");
}

/// Pages resume where the last one ended: every commit once, in commit order, `more` while there is more.
pub async fn pages_of_the_feed_resume(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut follower = Follower::from_head(&store).await;
    let keys: Vec<_> = [5, 2, 9, 1, 7, 3, 8].iter().map(|n| tool(&format!("t{n}"))).collect();
    let mut last = follower.at.clone();
    for key in &keys {
        last = try_put(&*store, None, document(key)).await.expect("the insert").revision;
    }
    let mut told = Vec::new();
    while follower.at.position < last.position {
        let page = follower.page(2).await;
        assert!(page.changes.len() <= 2, "no transaction is greater than the page");
        told.extend(page.changes.into_iter().map(|it| it.key));
    }
    assert_eq!(told, keys);
    let page = follower.page(2).await;
    assert!(page.changes.is_empty() && !page.more);
}

/// A transaction is never split over pages, however small the page and however large the transaction; deletes of many too.
pub async fn a_page_never_splits_a_transaction(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut follower = Follower::from_head(&store).await;
    let name = |batch: usize, n: usize| tool(&format!("b{batch}-{n}"));
    for batch in 0..4 {
        let writes = (0..5).map(|n| write(None, document(&name(batch, n)))).collect();
        store.commit(&documents(writes)).await.expect("the commit");
    }
    let mut pages = Vec::new();
    let last = store.head().await.expect("a head");
    while follower.at.position < last.position {
        pages.push(follower.page(3).await.changes);
    }
    assert!(pages.len() > 1, "there is more than one page of three");
    for page in &pages {
        for batch in 0..4 {
            let prefix = format!("b{batch}-");
            let n = page.iter().filter(|it| it.key.tool_name.starts_with(&prefix)).count();
            assert!(n == 0 || n == 5, "{n} of 5 changes of one transaction");
        }
    }
    let tenant = DeleteSelector::Tenant { tenant_id: TENANT.to_owned() };
    let (n, deleted) = store.delete(&tenant, at(1)).await.expect("the delete");
    assert_eq!(n, 20);
    loop {
        let page = follower.page(1).await.changes;
        assert!(page.is_empty() || page.len() == 20, "{} of 20 deletes of one transaction", page.len());
        if follower.at.position >= deleted.position {
            break;
        }
    }
    assert!(follower.documents.is_empty());
}

/// At the head there is nothing: no change, no more, and the place stays.
pub async fn the_feed_is_empty_at_the_head(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for n in 0..3 {
        put(&*store, None, document(&tool(&format!("t{n}")))).await;
    }
    let mut follower = Follower::from_head(&store).await;
    let page = follower.page(10).await;
    assert!(page.changes.is_empty() && !page.more);
    let head = store.head().await.expect("a head");
    assert!(follower.at.position <= head.position);
    assert_eq!(head.epoch, store.info().await.expect("info").epoch);
    assert_eq!(head.to_string().parse::<Revision>(), Ok(head), "a revision survives being text");
}

/// Writers commit batches and deletes at once while a reader pages through: nothing is passed over. Whenever the reader has
/// all there is, it knows at least the version of every commit that its place covers; in the end it knows what is there.
pub async fn the_feed_is_complete_under_concurrent_commits(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut follower = Follower::from_head(&store).await;
    // What was acknowledged, newest of each key.
    let acknowledged: Arc<Mutex<BTreeMap<DocumentKey, (u64, Revision)>>> = Arc::default();
    let writers = (0..8_usize).map(|writer| {
        let (store, acknowledged) = (Arc::clone(&store), Arc::clone(&acknowledged));
        tokio::spawn(async move {
            for round in 0..25_usize {
                let mine: Vec<_> = (0..=(round % 3)).map(|n| tool(&format!("w{writer}-{n}"))).collect();
                let mut writes = Vec::new();
                for key in &mine {
                    let expected = load(&*store, key).await.map(|it| it.version);
                    writes.push(write(expected, noted(key, &round.to_string())));
                }
                let committed = store.commit(&documents(writes)).await.expect("nobody else writes these");
                for (key, version) in mine.iter().zip(&committed.versions) {
                    let entry = (*version, committed.revision.clone());
                    acknowledged.lock().expect("no panic").insert(key.clone(), entry);
                }
                if round % 5 == 4 {
                    store.delete(&DeleteSelector::One(mine[0].clone()), at(1)).await.expect("the delete");
                }
                if round % 4 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        })
    });
    let writers = tokio::spawn(join_all(writers));
    loop {
        let is_over = writers.is_finished();
        let page = follower.page(3).await;
        if page.more {
            continue;
        }
        for (key, (version, revision)) in &*acknowledged.lock().expect("no panic") {
            if revision.position <= follower.at.position {
                let known = follower.versions.get(key).copied().unwrap_or(0);
                assert!(
                    known >= *version,
                    "`{key}` was passed over: {known} is known, {version} was committed"
                );
            }
        }
        if is_over {
            break;
        }
    }
    for done in writers.await.expect("the writers end") {
        done.expect("the writer ends");
    }
    let last = try_put(&*store, None, document(&tool("last"))).await.expect("the insert");
    follower.reach(&last.revision, 3).await;
    let told: BTreeMap<_, _> = follower.documents;
    let there: BTreeMap<_, _> =
        list_tenant(&*store, TENANT).await.into_iter().map(|it| (it.document.key.clone(), it)).collect();
    assert_eq!(told, there);
}

/// A key that changes again while a reader pages is not lost: the reader ends with its newest content.
pub async fn a_key_that_changes_again_is_told_again(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut follower = Follower::from_head(&store).await;
    let keys: Vec<_> = (0..4).map(|n| tool(&format!("t{n}"))).collect();
    let mut versions = Vec::new();
    for key in &keys {
        versions.push(put(&*store, None, noted(key, "1")).await);
    }
    follower.page(2).await;
    let last = try_put(&*store, Some(versions[0]), noted(&keys[0], "2")).await.expect("the update");
    follower.reach(&last.revision, 2).await;
    assert_eq!(follower.documents.len(), 4);
    assert_eq!(follower.documents[&keys[0]].document, noted(&keys[0], "2"));
}

/// A revision of another epoch is of another store.
pub async fn a_revision_of_another_epoch_is_refused(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    put(&*store, None, document(&tool("t"))).await;
    let head = store.head().await.expect("a head");
    for epoch in ["", "another", &format!("{}x", head.epoch)] {
        let foreign = Revision { epoch: epoch.to_owned(), position: head.position };
        let error = store.changes(&foreign, 10).await.expect_err("it is of another store");
        assert!(
            matches!(&error, StoreError::RevisionTooOld { revision } if *revision == foreign),
            "{error:?}"
        );
    }
}

/// Tombstones stay as long as asked; once one was swept, a revision from before it is too old, and later ones are not.
pub async fn a_revision_before_a_swept_tombstone_is_too_old(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let start = store.head().await.expect("a head");
    for n in 0..3 {
        put(&*store, None, document(&tool(&format!("t{n}")))).await;
    }
    let before = store.head().await.expect("a head");
    let (_, between) = store.delete(&DeleteSelector::One(tool("t0")), at(10)).await.expect("the delete");
    let (_, after) = store.delete(&DeleteSelector::One(tool("t1")), at(20)).await.expect("the delete");

    store.sweep(None, at(10), at(30)).await.expect("the sweep");
    let mut follower = Follower::from_head(&store).await;
    follower.at = before.clone();
    follower.reach(&after, 1).await;
    let told: BTreeSet<_> = follower.versions.keys().cloned().collect();
    assert_eq!(told, BTreeSet::from([tool("t0"), tool("t1")]), "no tombstone is older than the bound");

    assert!(store.sweep(None, at(15), at(30)).await.expect("the sweep") >= 1);
    for old in [&start, &before] {
        let error = store.changes(old, 10).await.expect_err("a delete after it is forgotten");
        assert!(matches!(&error, StoreError::RevisionTooOld { revision } if revision == old), "{error:?}");
    }
    follower.at = between;
    follower.versions.clear();
    follower.reach(&after, 1).await;
    assert_eq!(follower.versions.keys().collect::<Vec<_>>(), [&tool("t1")]);
}

/// Who waits at the head is woken by a commit and by a delete, long before the time is up.
pub async fn a_commit_wakes_who_waits(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    for delete in [false, true] {
        let mut follower = Follower::from_head(&store).await;
        follower.catch_up(10).await;
        let begun = RealInstant::now();
        let waiter = tokio::spawn({
            let (store, at) = (Arc::clone(&store), follower.at.clone());
            async move { store.wait_for_changes(&at, Duration::from_secs(60)).await }
        });
        tokio::task::yield_now().await;
        let revision = if delete {
            store.delete(&DeleteSelector::One(key.clone()), at(1)).await.expect("the delete").1
        } else {
            try_put(&*store, None, document(&key)).await.expect("the insert").revision
        };
        waiter.await.expect("the waiter ends").expect("waiting does not fail");
        assert!(begun.elapsed() < Duration::from_secs(20), "woken after {:?}", begun.elapsed());
        follower.reach(&revision, 10).await;
    }
}

/// Who is behind does not wait; who is at the head waits no longer than asked.
pub async fn waiting_ends(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let behind = store.head().await.expect("a head");
    put(&*store, None, document(&tool("t"))).await;
    let mut follower = Follower::from_head(&store).await;
    follower.at = behind.clone();
    follower.catch_up(10).await;
    let begun = RealInstant::now();
    store.wait_for_changes(&behind, Duration::from_secs(60)).await.expect("waiting does not fail");
    store.wait_for_changes(&follower.at, Duration::from_millis(50)).await.expect("waiting does not fail");
    assert!(begun.elapsed() < Duration::from_secs(20), "waited {:?}", begun.elapsed());
}
