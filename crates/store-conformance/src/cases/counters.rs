//! Hits: added up beside the documents, without a version and without an event.

use std::sync::Arc;

use chrono::TimeDelta;
use futures::future::join_all;
use health_model::vocabulary::Scope;
use ports::{DeleteSelector, HitDelta};

use crate::Fixture;
use crate::values::*;

/// Hits of many tasks add up, and the latest trigger stays, whatever order they come in.
pub async fn hits_add_up(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    put(&*store, None, document(&key)).await;
    let adders = (0..16_i64).map(|n| {
        let (store, key) = (Arc::clone(&store), key.clone());
        tokio::spawn(async move {
            for m in 0..10 {
                let late = hits(&key, "a", None, 2, at(1_000 - n * 10 - m));
                let other = hits(&key, "b", Some("alice"), 1, at(n));
                store.add_hits(&[late.clone(), other, late]).await.expect("the hits");
            }
        })
    });
    for done in join_all(adders).await {
        done.expect("the task ends");
    }
    let counters = store.load_counters(&key).await.expect("the counters");
    assert_eq!(
        counters,
        [hits(&key, "a", None, 640, at(1_000)), hits(&key, "b", Some("alice"), 160, at(15))]
    );
}

/// DESIGN §8: a hit changes no version and makes no event of the feed.
pub async fn hits_change_no_version(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    let version = put(&*store, None, document(&key)).await;
    let head = store.head().await.expect("a head");
    store.add_hits(&[hits(&key, "a", None, 3, at(1))]).await.expect("the hits");
    assert_eq!(load(&*store, &key).await.expect("it is there").version, version);
    assert!(store.changes(&head, 10).await.expect("the feed").changes.is_empty());
    put(&*store, Some(version), noted(&key, "the version is still current")).await;
    assert_eq!(store.load_counters(&key).await.expect("the counters").len(), 1, "a write keeps the counters");
}

/// Hits of a document that is not there are dropped, those beside them are not; none come back with the document.
pub async fn hits_of_absent_documents_are_dropped(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (there, absent) = (tool("there"), tool("absent"));
    put(&*store, None, document(&there)).await;
    let deltas = [hits(&absent, "a", None, 1, at(1)), hits(&there, "a", None, 1, at(1))];
    store.add_hits(&deltas).await.expect("dropping is no error");
    store.add_hits(&[]).await.expect("nothing to add");
    assert!(store.load_counters(&absent).await.expect("the counters").is_empty());
    assert_eq!(store.load_counters(&there).await.expect("the counters").len(), 1);
    put(&*store, None, document(&absent)).await;
    assert!(store.load_counters(&absent).await.expect("the counters").is_empty());
}

/// Signature, user and episode make a counter, nobody is not a user, and counters are sorted by them.
pub async fn counters_are_kept_apart_and_sorted(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    put(&*store, None, document(&key)).await;
    let mut all = Vec::new();
    for signature in ["", "a", "A", "ä", "a'"] {
        for user_id in [None, Some("alice"), Some("Alice"), Some("null"), Some(" ")] {
            for episode in [i64::MIN, -1, 0, 7, i64::MAX] {
                all.push(HitDelta { episode, ..hits(&key, signature, user_id, 1 + all.len() as u64, at(1)) });
            }
        }
    }
    store.add_hits(&all).await.expect("the hits");
    all.sort_by(|a, b| (&a.signature, &a.user_id, a.episode).cmp(&(&b.signature, &b.user_id, b.episode)));
    assert_eq!(store.load_counters(&key).await.expect("the counters"), all);
}

/// A deleted document takes its counters along; a new one of its key starts without.
pub async fn counters_go_with_their_document(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (key, other) = (tool("t"), tool("other"));
    for it in [&key, &other] {
        put(&*store, None, document(it)).await;
        store.add_hits(&[hits(it, "a", None, 1, at(1))]).await.expect("the hits");
    }
    store.delete(&DeleteSelector::One(key.clone()), at(1)).await.expect("the delete");
    assert!(store.load_counters(&key).await.expect("the counters").is_empty());
    put(&*store, None, document(&key)).await;
    assert!(store.load_counters(&key).await.expect("the counters").is_empty());
    assert_eq!(store.load_counters(&other).await.expect("the counters").len(), 1);
}

/// Sums stop at the greatest number instead of failing the write.
pub async fn sums_of_hits_saturate(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    put(&*store, None, document(&key)).await;
    let most = i64::MAX.unsigned_abs();
    for n in [most - 1, 5, most] {
        store.add_hits(&[hits(&key, "a", None, n, at(1))]).await.expect("the hits");
    }
    let counters = store.load_counters(&key).await.expect("the counters");
    assert!(counters[0].hits >= most, "{}", counters[0].hits);
}

/// The sweep takes counters of episodes that no cooldown names any more, and only those.
pub async fn the_sweep_takes_counters_of_past_episodes(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = key(TENANT, Scope::User, "alice", "t");
    let opened = at(1) + TimeDelta::microseconds(123_456);
    let mut document = document(&key);
    document.cooldowns =
        vec![cooldown("a", None, opened), cooldown("a", Some("alice"), opened), cooldown("b", None, at(2))];
    put(&*store, None, document).await;
    let named = |signature: &str, user: Option<&str>, episode| HitDelta {
        episode: micros(episode),
        ..hits(&key, signature, user, 1, at(3))
    };
    let kept = [named("a", None, opened), named("a", Some("alice"), opened), named("b", None, at(2))];
    let past = [named("a", None, at(0)), named("a", Some("bob"), opened), named("b", Some("alice"), at(2))];
    let gone = [named("c", None, opened), named("b", None, opened)];
    for deltas in [&kept[..], &past, &gone] {
        store.add_hits(deltas).await.expect("the hits");
    }
    assert_eq!(store.sweep(None, at(0), at(10)).await.expect("the sweep"), 5);
    assert_eq!(store.load_counters(&key).await.expect("the counters"), kept);
    assert_eq!(store.sweep(None, at(0), at(10)).await.expect("the sweep"), 0);
}
