//! Several handles on the same data: several servers, or one that was started again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant as RealInstant};

use futures::future::join_all;
use ports::{
    Batch, DeleteSelector, EnqueueOutcome, FailureEntry, JobState, RuleLayerKey, RuleLayerRecord, StoreError,
};

use crate::Fixture;
use crate::follower::Follower;
use crate::values::*;

/// What a store says of itself: a kind, an identity, a schema that it can read itself; the same by every handle.
pub async fn a_store_names_itself(fixture: &dyn Fixture) {
    let (first, second) = (fixture.open().await, fixture.open().await);
    let info = first.info().await.expect("info");
    assert!(["memory", "sqlite", "postgres"].contains(&info.kind), "{}", info.kind);
    assert!(!info.epoch.is_empty());
    assert!(info.schema_version >= 1 && info.min_reader <= info.schema_version);
    assert_eq!(second.info().await.expect("info"), info);
    assert_eq!(first.head().await.expect("a head"), second.head().await.expect("a head"));
}

/// What one handle committed the other sees at once; its feed tells it; who waits there is woken.
pub async fn a_second_handle_sees_commits(fixture: &dyn Fixture) {
    let (first, second) = (fixture.open().await, fixture.open().await);
    let mut follower = Follower::from_head(&second).await;
    let key = tool("t");
    let mut version = None;
    for round in 0..10 {
        let document = noted(&key, &round.to_string());
        let committed = try_put(&*first, version, document.clone()).await.expect("the commit");
        version = Some(committed.versions[0]);
        let loaded = second.load_containers(&[key.container()]).await.expect("the container loads");
        assert_eq!(loaded[0].documents[0].document, document, "an acknowledged commit is seen at once");
        follower.reach(&committed.revision, 10).await;
        assert_eq!(follower.documents[&key].document, document);
    }
    let begun = RealInstant::now();
    let waiter = tokio::spawn({
        let (second, at) = (Arc::clone(&second), follower.at.clone());
        async move { second.wait_for_changes(&at, Duration::from_secs(60)).await }
    });
    tokio::task::yield_now().await;
    first.delete(&DeleteSelector::One(key), at(1)).await.expect("the delete");
    waiter.await.expect("the waiter ends").expect("waiting does not fail");
    assert!(begun.elapsed() < Duration::from_secs(20), "woken after {:?}", begun.elapsed());
}

/// Writers of two handles on one document lose no update, and versions are of one sequence.
pub async fn writers_of_two_handles_lose_no_update(fixture: &dyn Fixture) {
    let handles = [fixture.open().await, fixture.open().await];
    let key = tool("t");
    let writers = (0..24_usize).map(|n| {
        let (store, key) = (Arc::clone(&handles[n % 2]), key.clone());
        tokio::spawn(async move {
            let mine = cooldown(&format!("w{n:02}"), None, at(1));
            update(&*store, &key, |document| document.cooldowns.push(mine.clone())).await
        })
    });
    for n_conflicts in join_all(writers).await {
        assert!(n_conflicts.expect("the writer ends") < 24);
    }
    let loaded = [load(&*handles[0], &key).await, load(&*handles[1], &key).await];
    assert_eq!(loaded[0], loaded[1]);
    let document = loaded[0].as_ref().map(|it| &it.document).expect("it was written");
    let all: BTreeSet<_> = document.cooldowns.iter().map(|it| it.signature.as_str()).collect();
    assert_eq!(all.len(), 24);
}

/// Claimers of two handles never get one job, and a lease of one holds for the other.
pub async fn claims_of_two_handles_are_exclusive(fixture: &dyn Fixture) {
    let handles = [fixture.open().await, fixture.open().await];
    for n in 1..=20 {
        enqueue(&*handles[0], &job(n, &format!("p{n}"), "t")).await;
    }
    assert_eq!(enqueue(&*handles[1], &job(50, "p1", "t")).await, EnqueueOutcome::Coalesced(id(1)));
    let claimers = (0..6_usize).map(|n| {
        let store = Arc::clone(&handles[n % 2]);
        tokio::spawn(async move {
            let mut mine = Vec::new();
            while let Some(claim) = store.claim_job(at(100), at(200)).await.expect("a claim") {
                mine.push(claim.job.id);
            }
            mine
        })
    });
    let mut all = Vec::new();
    for mine in join_all(claimers).await {
        all.extend(mine.expect("the claimer ends"));
    }
    assert_eq!(all.len(), 20);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>().len(), 20);
}

/// Rules that one handle put the other lists, under the same number.
pub async fn a_second_handle_sees_rule_layers(fixture: &dyn Fixture) {
    let (first, second) = (fixture.open().await, fixture.open().await);
    let layer = RuleLayerRecord {
        key: RuleLayerKey { tenant_id: TENANT.to_owned(), project_id: None },
        text: "patterns: []".to_owned(),
        updated_at: at(1),
        updated_by: "root".to_owned(),
        version: 0,
    };
    let version = first.put_rule_layer(&layer, None).await.expect("the put");
    assert_eq!(second.rules_revision().await.expect("the number"), version);
    assert_eq!(
        second.list_rule_layers().await.expect("the layers"),
        first.list_rule_layers().await.expect("same")
    );
    let next = second.put_rule_layer(&layer, Some(version)).await.expect("the put");
    assert!(next > version);
    assert!(first.put_rule_layer(&layer, Some(version)).await.is_err(), "the other handle was ahead");
}

/// A closed handle answers as unavailable and never hangs; other handles are not touched.
pub async fn a_closed_store_is_unavailable(fixture: &dyn Fixture) {
    let (first, second) = (fixture.open().await, fixture.open().await);
    put(&*first, None, document(&tool("t"))).await;
    let head = first.head().await.expect("a head");
    first.close().await;
    first.close().await;
    let unavailable =
        |error: StoreError| assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    unavailable(first.info().await.expect_err("closed"));
    unavailable(first.head().await.expect_err("closed"));
    unavailable(first.load_containers(&[tool("t").container()]).await.expect_err("closed"));
    unavailable(try_put(&*first, None, document(&tool("u"))).await.expect_err("closed"));
    unavailable(first.changes(&head, 10).await.expect_err("closed"));
    unavailable(first.wait_for_changes(&head, Duration::from_secs(60)).await.expect_err("closed"));
    unavailable(first.claim_job(at(0), at(1)).await.expect_err("closed"));
    assert!(load(&*second, &tool("t")).await.is_some());
    assert_eq!(load(&*second, &tool("u")).await, None);
}

/// DESIGN §2.5: after a close and a new start everything is there: documents, counters, outages, jobs with their leases, rules,
/// failures, tombstones; the identity is the same, and a reader goes on from its revision.
pub async fn a_reopened_store_has_kept_everything(fixture: &dyn Fixture) {
    let first = fixture.open().await;
    let (kept, deleted) = (tool("kept"), tool("deleted"));
    let start = first.head().await.expect("a head");
    let batch = Batch {
        documents: vec![write(None, full_document(&kept)), write(None, document(&deleted))],
        jobs: vec![job(1, "p1", "t"), job(2, "p2", "t")],
        outages: vec![open_outage(&kept, at(1))],
    };
    let committed = first.commit(&batch).await.expect("the commit");
    first.add_hits(&[hits(&kept, "a", None, 3, at(1))]).await.expect("the hits");
    first.delete(&DeleteSelector::One(deleted.clone()), at(2)).await.expect("the delete");
    let claim = first.claim_job(at(10), at(100)).await.expect("a claim").expect("a job");
    let layer = RuleLayerRecord {
        key: RuleLayerKey { tenant_id: TENANT.to_owned(), project_id: Some("essay".to_owned()) },
        text: "patterns: []".to_owned(),
        updated_at: at(1),
        updated_by: "root".to_owned(),
        version: 0,
    };
    first.put_rule_layer(&layer, None).await.expect("the put");
    let failure = FailureEntry {
        id: id(9),
        tenant_id: TENANT.to_owned(),
        project_id: "essay".to_owned(),
        at: at(1),
        content: "a failure".to_owned(),
    };
    first.append_failures(&[failure], 5).await.expect("the append");
    let before = (
        first.info().await.expect("info"),
        first.head().await.expect("a head"),
        list_tenant(&*first, TENANT).await,
        first.load_counters(&kept).await.expect("the counters"),
        first.list_outages(&kept, 10).await.expect("the outages"),
        jobs(&*first).await,
        first.list_rule_layers().await.expect("the layers"),
        first.list_failures(TENANT, None, None, 10).await.expect("the failures").entries,
    );
    first.close().await;
    drop(first);

    let again = fixture.open().await;
    let after = (
        again.info().await.expect("info"),
        again.head().await.expect("a head"),
        list_tenant(&*again, TENANT).await,
        again.load_counters(&kept).await.expect("the counters"),
        again.list_outages(&kept, 10).await.expect("the outages"),
        jobs(&*again).await,
        again.list_rule_layers().await.expect("the layers"),
        again.list_failures(TENANT, None, None, 10).await.expect("the failures").entries,
    );
    assert_eq!(before, after);
    assert_eq!(after.7.len(), 1);
    assert_eq!(after.2[0].document, full_document(&kept));
    assert_eq!(load_job(&*again, claim.job.id).await.state, JobState::Running);

    let mut follower = Follower::from_head(&again).await;
    follower.at = start;
    follower.reach(&before.1, 1).await;
    assert_eq!(follower.documents.keys().collect::<Vec<_>>(), [&kept]);
    assert_eq!(follower.versions.keys().collect::<BTreeSet<_>>(), BTreeSet::from([&deleted, &kept]));
    let next = put(&*again, Some(committed.versions[0]), document(&kept)).await;
    assert!(next > committed.versions[0], "versions go on");
    assert!(again.complete_job(claim.job.id, claim.token, None, at(20)).await.expect("the lease holds"));
}
