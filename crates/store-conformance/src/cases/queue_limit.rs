//! The limit of a queue: "1 running, 100 queued, then drop oldest UNCLEAR" (the table of constants).

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;
use ports::job::{QUEUE_FULL, QUEUE_LIMIT};
use ports::{Batch, Enqueue, EnqueueOutcome, JobState, Store, Trigger};
use uuid::Uuid;

use crate::Fixture;
use crate::values::*;

const LIMIT: u64 = QUEUE_LIMIT as u64;

/// Failures' jobs of these numbers, each of a tool of its own.
fn failures(project: &str, numbers: impl Iterator<Item = u64>) -> Batch {
    Batch { jobs: numbers.map(|n| job(n, project, &format!("t{n}"))).collect(), ..Batch::default() }
}

fn request(n: u64, project: &str) -> Enqueue {
    Enqueue { trigger: Trigger::UserRequest, ..job(n, project, &format!("t{n}")) }
}

async fn in_state(store: &dyn Store, state: JobState) -> BTreeSet<Uuid> {
    let mut found = BTreeSet::new();
    for tenant in [TENANT, "bolt"] {
        let filter =
            ports::JobFilter { tenant_id: tenant.to_owned(), state: Some(state), ..Default::default() };
        let jobs = store.list_jobs(&filter, None, 1_000).await.expect("the jobs");
        found.extend(jobs.into_iter().map(|it| it.id));
    }
    found
}

fn ids(numbers: impl IntoIterator<Item = u64>) -> BTreeSet<Uuid> {
    numbers.into_iter().map(id).collect()
}

/// The job after the hundredth ends the oldest queued one of the same queue: not the one that runs, and not another queue's. A
/// merge makes no job and ends none. The dropped one's coalescing key is free.
pub async fn a_full_queue_drops_its_oldest_failure(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut foreign = job(1_000, "essay", "t");
    foreign.now = at(0);
    foreign.tenant_id = "bolt".to_owned();
    foreign.key.tenant_id = "bolt".to_owned();
    enqueue(&*store, &foreign).await;
    enqueue(&*store, &job(1_001, "other", "t")).await;
    // The newest is committed first: the oldest is the one created first.
    store.commit(&failures("essay", (1..=LIMIT + 1).rev())).await.expect("the commit");
    assert_eq!(in_state(&*store, JobState::Stale).await, ids([2]), "the last of the batch is never dropped");
    for expected in [id(1_000), id(1)] {
        let claim = store.claim_job(at(2_000), at(9_000)).await.expect("a claim").expect("a job");
        assert_eq!(claim.job.id, expected);
    }
    assert_eq!(enqueue(&*store, &job(1_500, "essay", "t7")).await, EnqueueOutcome::Coalesced(id(7)));
    enqueue(&*store, &job(1_501, "essay", "t1501")).await;
    assert_eq!(in_state(&*store, JobState::Stale).await, ids([2]), "there was room for one");
    let mut full = job(1_502, "essay", "t1502");
    full.now = at(3_000);
    assert_eq!(enqueue(&*store, &full).await, EnqueueOutcome::Created(id(1_502)));
    assert_eq!(in_state(&*store, JobState::Stale).await, ids([2, 3]));
    let dropped = load_job(&*store, id(3)).await;
    assert_eq!(
        (dropped.reason.as_deref(), dropped.ended_at, dropped.lease_until),
        (Some(QUEUE_FULL), Some(at(3_000)), None)
    );
    assert_eq!(in_state(&*store, JobState::Running).await, ids([1_000, 1]));
    assert_eq!(store.count_queued().await.expect("a count"), LIMIT + 1, "and the other queue's");
    assert_eq!(enqueue(&*store, &job(1_503, "essay", "t3")).await, EnqueueOutcome::Created(id(1_503)));
}

/// What a person asked for is never dropped, nor a planned check: a queue may be longer than its limit. A failure's job that a
/// request was merged into is a request.
pub async fn a_full_queue_keeps_what_people_asked_for(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut batch = failures("essay", 1..=3);
    batch.jobs.extend((4..LIMIT).map(|n| request(n, "essay")));
    batch
        .jobs
        .push(Enqueue { trigger: Trigger::ScheduledRecheck, ..job(LIMIT, "essay", &format!("t{LIMIT}")) });
    store.commit(&batch).await.expect("the commit");
    let asked = Enqueue { trigger: Trigger::UserRequest, ..job(1_000, "essay", "t1") };
    assert_eq!(enqueue(&*store, &asked).await, EnqueueOutcome::Coalesced(id(1)));
    for (n, dropped) in [(1_001, vec![2]), (1_002, vec![2, 3]), (1_003, vec![2, 3]), (1_004, vec![2, 3])] {
        enqueue(&*store, &request(n, "essay")).await;
        assert_eq!(in_state(&*store, JobState::Stale).await, ids(dropped), "after {n}");
    }
    assert_eq!(store.count_queued().await.expect("a count"), LIMIT + 2);
    enqueue(&*store, &job(1_005, "essay", "t1005")).await;
    assert_eq!(in_state(&*store, JobState::Stale).await, ids([2, 3]), "not the new one");
    enqueue(&*store, &job(1_006, "essay", "t1006")).await;
    assert_eq!(in_state(&*store, JobState::Stale).await, ids([2, 3, 1_005]));
}

/// A batch fills several queues at once, each within its limit; a batch that is not written drops nothing.
pub async fn a_batch_drops_from_the_queues_that_it_fills(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for (project, numbers) in [("a", 1..=LIMIT), ("b", 201..=200 + LIMIT), ("c", 401..=400 + LIMIT)] {
        store.commit(&failures(project, numbers)).await.expect("the commit");
    }
    let mut batch = failures("a", 601..=605);
    batch.jobs.extend(failures("b", 701..=702).jobs);
    batch.documents.push(write(Some(1), document(&tool("absent"))));
    store.commit(&batch).await.expect_err("a conflict");
    assert_eq!(in_state(&*store, JobState::Stale).await, ids([]));
    batch.documents.clear();
    let outcomes = store.commit(&batch).await.expect("the commit").jobs;
    let created: Vec<_> = batch.jobs.iter().map(|it| EnqueueOutcome::Created(it.id)).collect();
    assert_eq!(outcomes, created);
    assert_eq!(in_state(&*store, JobState::Stale).await, ids([1, 2, 3, 4, 5, 201, 202]));
    assert_eq!(store.count_queued().await.expect("a count"), 3 * LIMIT);
}

/// Writers that fill a full queue at once each make room for their own job.
pub async fn a_queue_stays_full_under_a_storm(fixture: &dyn Fixture) {
    let stores = [fixture.open().await, fixture.open().await];
    stores[0].commit(&failures("essay", 1..=LIMIT)).await.expect("the commit");
    let writers = (0..16).map(|n| {
        let store = Arc::clone(&stores[usize::try_from(n % 2).expect("a place")]);
        tokio::spawn(async move {
            for m in 0..5 {
                let number = 1_000 + n * 10 + m;
                enqueue(&*store, &job(number, "essay", &format!("t{number}"))).await;
            }
        })
    });
    for writer in join_all(writers).await {
        writer.expect("the task ends");
    }
    assert_eq!(stores[0].count_queued().await.expect("a count"), LIMIT);
    assert_eq!(in_state(&*stores[1], JobState::Stale).await, ids(1..=80), "the oldest");
}
