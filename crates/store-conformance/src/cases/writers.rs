//! Many writers at once, and transactions as a whole.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::join_all;
use health_model::DocumentKey;
use ports::{Batch, Store, StoreError};

use crate::Fixture;
use crate::values::*;

/// Writers on one document at once.
const N_WRITERS: usize = 64;

/// Of two first inserts one wins, the others conflict, and one document is there (R38).
pub async fn two_first_inserts_make_one_document(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for round in 0..10 {
        let key = tool(&format!("t{round}"));
        let inserts = (0..8).map(|n| {
            let (store, document) = (Arc::clone(&store), noted(&key, &n.to_string()));
            tokio::spawn(async move { (n, try_put(&*store, None, document).await) })
        });
        let mut winner = None;
        for done in join_all(inserts).await {
            match done.expect("the task ends") {
                (n, Ok(_)) => assert_eq!(winner.replace(n), None, "one first insert wins"),
                (_, Err(StoreError::Conflict { key: named })) => assert_eq!(named, key),
                (_, Err(error)) => panic!("a first insert failed: {error:?}"),
            }
        }
        let winner = winner.expect("one first insert wins");
        let loaded = load(&*store, &key).await.expect("it was written");
        assert_eq!(loaded.document, noted(&key, &winner.to_string()));
    }
    assert_eq!(list_tenant(&*store, TENANT).await.len(), 10);
}

/// 64 writers add to one document: each load, change and commit, again on conflict. No update is lost, and as a conflict
/// means that another writer got ahead, nobody conflicts more often than there are others.
pub async fn sixty_four_writers_lose_no_update(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    let writers = (0..N_WRITERS).map(|n| {
        let (store, key) = (Arc::clone(&store), key.clone());
        tokio::spawn(async move {
            let mine = cooldown(&format!("w{n:02}"), None, at(1));
            update(&*store, &key, |document| document.cooldowns.push(mine.clone())).await
        })
    });
    for n_conflicts in join_all(writers).await {
        let n_conflicts = n_conflicts.expect("the writer ends");
        assert!((n_conflicts as usize) < N_WRITERS, "{n_conflicts} conflicts: a livelock");
    }
    let loaded = load(&*store, &key).await.expect("it was written");
    let found: BTreeSet<String> = loaded.document.cooldowns.into_iter().map(|it| it.signature).collect();
    let all: BTreeSet<String> = (0..N_WRITERS).map(|n| format!("w{n:02}")).collect();
    assert_eq!(found, all);
}

/// Writers whose batches overlap in opposite order neither deadlock nor lose an update: conflicts are retried and end.
pub async fn overlapping_batches_end(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let keys: Vec<DocumentKey> = (0..4).map(|n| tool(&format!("t{n}"))).collect();
    for key in &keys {
        put(&*store, None, document(key)).await;
    }
    let writers = (0..16_usize).map(|n| {
        let store = Arc::clone(&store);
        let mut mine = vec![keys[n % 4].clone(), keys[(n + 1) % 4].clone(), keys[(n + 2) % 4].clone()];
        if n % 2 == 1 {
            mine.reverse();
        }
        tokio::spawn(async move {
            let add = cooldown(&format!("w{n:02}"), None, at(1));
            for _ in 0..10_000 {
                let mut batch = Batch::default();
                for key in &mine {
                    let before = load(&*store, key).await.expect("it is there");
                    let mut document = before.document;
                    document.cooldowns.push(add.clone());
                    batch.documents.push(write(Some(before.version), document));
                }
                tokio::task::yield_now().await;
                match store.commit(&batch).await {
                    Ok(_) => return,
                    Err(StoreError::Conflict { key }) => assert!(mine.contains(&key)),
                    Err(error) => panic!("a batch failed: {error:?}"),
                }
            }
            panic!("writer {n} does not get through");
        })
    });
    for done in join_all(writers).await {
        done.expect("the writer ends");
    }
    let mut n_written = 0;
    for key in &keys {
        n_written += load(&*store, key).await.expect("it is there").document.cooldowns.len();
    }
    assert_eq!(n_written, 16 * 3);
}

/// One transaction: a conflict of one document keeps out the other documents, the jobs and the outages of its batch.
pub async fn a_commit_is_all_or_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let taken = tool("taken");
    put(&*store, None, noted(&taken, "before")).await;
    let head = store.head().await.expect("a head");
    let fresh = tool("fresh");
    let batch = |expected| Batch {
        documents: vec![write(None, document(&fresh)), write(expected, noted(&taken, "after"))],
        jobs: vec![job(1, "essay", "fresh")],
        outages: vec![open_outage(&fresh, at(1)), open_outage(&taken, at(1))],
    };

    let error = store.commit(&batch(None)).await.expect_err("one document is there already");
    assert!(matches!(&error, StoreError::Conflict { key } if *key == taken), "{error:?}");
    assert_eq!(load(&*store, &fresh).await, None);
    let kept = load(&*store, &taken).await.expect("it is there");
    assert_eq!(kept.document, noted(&taken, "before"));
    assert!(jobs(&*store).await.is_empty());
    for key in [&fresh, &taken] {
        assert!(store.list_outages(key, 10).await.expect("outages").is_empty());
    }
    assert_eq!(store.changes(&head, 10).await.expect("the feed").changes, []);

    let committed = store.commit(&batch(Some(kept.version))).await.expect("the versions are current");
    assert_eq!(committed.versions.len(), 2);
    assert!(load(&*store, &fresh).await.is_some());
    assert_eq!(load(&*store, &taken).await.expect("it is there").document, noted(&taken, "after"));
    assert_eq!(jobs(&*store).await.len(), 1);
    for key in [&fresh, &taken] {
        assert_eq!(store.list_outages(key, 10).await.expect("outages").len(), 1);
    }
}

/// Readers see a transaction whole or not at all, while it is being written over and over.
pub async fn readers_see_whole_transactions(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let keys: Vec<DocumentKey> = (0..5).map(|n| tool(&format!("t{n}"))).collect();
    let containers = [keys[0].container()];
    let insert = keys.iter().map(|it| write(None, noted(it, "0"))).collect();
    let mut versions = store.commit(&documents(insert)).await.expect("the commit").versions;
    let is_over = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (store, keys, is_over) = (Arc::clone(&store), keys.clone(), Arc::clone(&is_over));
        async move {
            let mut n = 0;
            while !is_over.load(Ordering::Relaxed) {
                n += 1;
                let note = n.to_string();
                let writes =
                    keys.iter().zip(&versions).map(|(it, v)| write(Some(*v), noted(it, &note))).collect();
                versions = store.commit(&documents(writes)).await.expect("the commit").versions;
                tokio::task::yield_now().await;
            }
        }
    });
    let mut seen = BTreeSet::new();
    while seen.len() < 20 {
        let loaded = store.load_containers(&containers).await.expect("the container loads");
        let notes: BTreeSet<String> = loaded[0]
            .documents
            .iter()
            .filter_map(|it| it.document.last_diagnosis.as_ref().map(|it| it.note.clone()))
            .collect();
        assert_eq!(loaded[0].documents.len(), keys.len());
        assert_eq!(notes.len(), 1, "documents of one transaction differ: {notes:?}");
        seen.extend(notes);
        tokio::task::yield_now().await;
    }
    is_over.store(true, Ordering::Relaxed);
    writer.await.expect("the writer ends");
}

/// One transaction takes a batch of the writer's greatest size, with documents of a full history.
pub async fn a_large_batch_is_one_transaction(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let head = store.head().await.expect("a head");
    let keys: Vec<_> = (0..64).map(|n| tool(&format!("t{n:02}"))).collect();
    let writes = keys
        .iter()
        .map(|key| {
            let mut document = full_document(key);
            for entry in &mut document.history {
                entry.note = "n".repeat(2_000);
            }
            write(None, document)
        })
        .collect();
    let committed = store.commit(&documents(writes)).await.expect("the commit");
    assert_eq!(committed.versions.len(), keys.len());
    let store: Arc<dyn Store> = store;
    let mut follower = crate::follower::Follower::from_head(&store).await;
    follower.at = head;
    follower.reach(&committed.revision, 10).await;
    assert_eq!(follower.documents.len(), keys.len());
}
