//! The sweep (R42, DESIGN §11.8).

use chrono::TimeDelta;
use health_model::vocabulary::Scope;
use ports::store::ORPHANED_OUTAGE_DAYS;
use ports::{Batch, DeleteSelector, JobState};

use crate::Fixture;
use crate::follower::Follower;
use crate::values::*;

/// The sweep deletes SESSION documents not written since the bound, as a delete does; other scopes and younger sessions stay,
/// and without a bound (R42) everything does.
pub async fn the_sweep_deletes_old_sessions(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut keys = Vec::new();
    for scope in [Scope::Session, Scope::User, Scope::Project, Scope::Tenant] {
        for (n, seconds) in [(1, 100), (2, 200), (3, 300)] {
            let mut it = document(&key(TENANT, scope, &format!("s{n}"), "t"));
            it.updated_at = at(seconds);
            keys.push(it.key.clone());
            put(&*store, None, it).await;
        }
    }
    let old = keys[0].clone();
    let batch = Batch { outages: vec![open_outage(&old, at(1))], ..Batch::default() };
    store.commit(&batch).await.expect("the commit");
    store.add_hits(&[hits(&old, "a", None, 1, at(1))]).await.expect("the hits");

    assert_eq!(
        store.sweep(None, at(0), at(1_000)).await.expect("the sweep"),
        1,
        "the counter of no cooldown"
    );
    assert_eq!(list_tenant(&*store, TENANT).await.len(), keys.len());

    let mut follower = Follower::from_head(&store).await;
    assert_eq!(store.sweep(Some(at(200)), at(0), at(1_000)).await.expect("the sweep"), 1);
    let left: Vec<_> = list_tenant(&*store, TENANT).await.into_iter().map(|it| it.document.key).collect();
    assert_eq!(left, keys[1..]);
    let head = store.head().await.expect("a head");
    follower.reach(&head, 10).await;
    assert_eq!(follower.versions.keys().collect::<Vec<_>>(), [&old], "it left a tombstone");
    let outages = store.list_outages(&old, 10).await.expect("the outages");
    assert_eq!((outages[0].ended_at, outages[0].censored), (Some(at(1_000)), true));
    assert_eq!(
        store.sweep(Some(at(200)), at(0), at(1_000)).await.expect("the sweep"),
        0,
        "nothing is left to do"
    );
}

/// A sweep of many old sessions takes all of them.
pub async fn the_sweep_takes_any_number(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for hundred in 0..13 {
        let writes = (0..100)
            .map(|n| write(None, document(&key(TENANT, Scope::Session, &format!("s{hundred}-{n}"), "t"))));
        store.commit(&documents(writes.collect())).await.expect("the commit");
    }
    put(&*store, None, document(&tool("stays"))).await;
    assert_eq!(store.sweep(Some(at(1_000)), at(0), at(2_000)).await.expect("the sweep"), 1_300);
    assert_eq!(list_tenant(&*store, TENANT).await.len(), 1);
    assert_eq!(store.sweep(None, at(3_000), at(3_000)).await.expect("the sweep"), 1_300, "their tombstones");
}

/// Jobs that ended before the bound of the tombstones are gone, DONE and STALE; younger and open ones stay.
pub async fn the_sweep_takes_jobs_that_ended(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for n in 1..=6 {
        enqueue(&*store, &job(n, &format!("p{n}"), "t")).await;
    }
    for (n, reason, ended_at) in [(1, None, 100), (2, Some("given up"), 100), (3, None, 200), (4, None, 300)]
    {
        let claim = store.claim_job(at(50), at(1_000)).await.expect("a claim").expect("a job");
        assert_eq!(claim.job.id, id(n));
        store.complete_job(id(n), claim.token, reason, at(ended_at)).await.expect("an answer");
    }
    store.claim_job(at(50), at(1_000)).await.expect("a claim").expect("it runs on");

    assert_eq!(store.sweep(None, at(100), at(1_000)).await.expect("the sweep"), 0, "they ended at the bound");
    assert_eq!(store.sweep(None, at(200), at(1_000)).await.expect("the sweep"), 2);
    let left: Vec<_> = jobs(&*store).await.into_iter().map(|it| (it.id, it.state)).collect();
    let expected = [
        (id(6), JobState::Queued),
        (id(5), JobState::Running),
        (id(4), JobState::Done),
        (id(3), JobState::Done),
    ];
    assert_eq!(left, expected);
}

/// Jobs about a session go with its documents, and with those alone that were old.
pub async fn the_sweep_takes_jobs_of_old_sessions(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for (n, seconds) in [(1, 100), (2, 300)] {
        let mut it = document(&key(TENANT, Scope::Session, &format!("s{n}"), "t"));
        it.updated_at = at(seconds);
        let mut about = job(n, "essay", "t");
        about.key = it.key.clone();
        let batch = Batch { documents: vec![write(None, it)], jobs: vec![about], ..Batch::default() };
        store.commit(&batch).await.expect("the commit");
    }
    assert_eq!(store.sweep(Some(at(200)), at(0), at(400)).await.expect("the sweep"), 1);
    assert_eq!(jobs(&*store).await.into_iter().map(|it| it.id).collect::<Vec<_>>(), [id(2)]);
}

/// DESIGN §7: ended outages outlive their document by 90 days; those of a document that is there stay, and so do open ones.
pub async fn the_sweep_takes_old_outages_of_deleted_documents(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (gone, there) = (tool("gone"), tool("there"));
    for key in [&gone, &there] {
        let changes = vec![
            open_outage(key, at(1)),
            close_outage(key, at(2)),
            open_outage(key, at(3)),
            close_outage(key, at(1_000)),
            open_outage(key, at(2_000)),
        ];
        let batch =
            Batch { documents: vec![write(None, document(key))], outages: changes, ..Batch::default() };
        store.commit(&batch).await.expect("the commit");
    }
    store.delete(&DeleteSelector::One(gone.clone()), at(3_000)).await.expect("the delete");
    let sweep = async |seconds: i64| {
        let now = at(seconds) + TimeDelta::days(ORPHANED_OUTAGE_DAYS);
        store.sweep(None, at(0), now).await.expect("the sweep")
    };
    let starts = async |key| -> Vec<_> {
        let outages = store.list_outages(key, 10).await.expect("the outages");
        outages.into_iter().map(|it| it.started_at).collect()
    };
    assert_eq!(sweep(2).await, 0, "it ended 90 days before");
    assert_eq!(sweep(999).await, 1);
    assert_eq!(starts(&gone).await, [at(2_000), at(3)]);
    assert_eq!(sweep(3_001).await, 2, "the censored one too");
    assert!(starts(&gone).await.is_empty());
    assert_eq!(starts(&there).await, [at(2_000), at(3), at(1)]);
}
