//! Enqueueing, coalescing and listing of jobs (R194…R199, C6).

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;
use health_model::vocabulary::Scope;
use ports::{Batch, Enqueue, EnqueueOutcome, Job, JobFilter, JobState, Trigger};
use uuid::Uuid;

use crate::Fixture;
use crate::values::*;

/// R196, R197: a job comes back with everything that it was enqueued with, control characters of the error included.
pub async fn a_job_comes_back_whole(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for (n, trigger) in
        [(1, Trigger::ToolCallError), (2, Trigger::UserRequest), (3, Trigger::ScheduledRecheck)]
    {
        let mut wanted = job(n, "essay", &format!("t{n}"));
        wanted.trigger = trigger;
        wanted.key_user = (n == 2).then(|| "al'ice".to_owned());
        wanted.signal.detail = "\u{0}\u{1b}[31m \"'\\ \u{1f600}\n".to_owned();
        wanted.signal.user_id = (n == 2).then(|| "al'ice".to_owned());
        wanted.signal.session_id = None;
        assert_eq!(enqueue(&*store, &wanted).await, EnqueueOutcome::Created(id(n)));
        let expected = Job {
            id: wanted.id,
            service_type: wanted.service_type,
            tenant_id: wanted.tenant_id,
            project_id: wanted.project_id,
            key: wanted.key,
            signature: wanted.signature,
            key_user: wanted.key_user,
            trigger,
            signals: vec![wanted.signal],
            signal_count: 1,
            state: JobState::Queued,
            lease_token: 0,
            lease_until: None,
            created_at: wanted.now,
            ended_at: None,
            reason: None,
        };
        assert_eq!(load_job(&*store, id(n)).await, expected);
    }
}

/// R198, R199, C6: one open job per (service type, document, signature, key user); a difference in any of them makes a job of
/// its own, and a key without a user is not the key of a user.
pub async fn one_open_job_per_coalescing_key(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let first = job(1, "essay", "t");
    let mut kinds: Vec<Enqueue> = vec![first.clone()];
    kinds.push(Enqueue { service_type: "other".to_owned(), ..first.clone() });
    kinds.push(Enqueue { signature: "http_502".to_owned(), ..first.clone() });
    kinds.push(Enqueue { key_user: Some("alice".to_owned()), ..first.clone() });
    kinds.push(Enqueue { key_user: Some("bob".to_owned()), ..first.clone() });
    kinds.push(Enqueue { key: key(TENANT, Scope::Project, "essay", "u"), ..first.clone() });
    kinds.push(Enqueue { key: key(TENANT, Scope::User, "essay", "t"), ..first.clone() });
    kinds.push(Enqueue { key: key("bolt", Scope::Project, "essay", "t"), ..first });
    for (n, kind) in (1..).zip(&kinds) {
        let mut kind = kind.clone();
        kind.id = id(n);
        assert_eq!(enqueue(&*store, &kind).await, EnqueueOutcome::Created(id(n)), "{kind:?}");
    }
    for (n, kind) in (1..).zip(&kinds) {
        let mut kind = kind.clone();
        kind.id = id(100 + n);
        assert_eq!(enqueue(&*store, &kind).await, EnqueueOutcome::Coalesced(id(n)), "{kind:?}");
    }
    let counts: BTreeSet<_> = jobs(&*store).await.iter().map(|it| (it.id, it.signal_count)).collect();
    assert_eq!(counts, (1..=8).map(|n| (id(n), 2)).collect());
    assert_eq!(store.count_queued().await.expect("a count"), 8);
}

/// Jobs of one batch coalesce with each other too.
pub async fn jobs_of_one_batch_coalesce(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let batch = Batch {
        jobs: vec![job(1, "essay", "t"), job(2, "essay", "u"), job(3, "essay", "t")],
        ..Batch::default()
    };
    let outcomes = store.commit(&batch).await.expect("the commit").jobs;
    let expected =
        [EnqueueOutcome::Created(id(1)), EnqueueOutcome::Created(id(2)), EnqueueOutcome::Coalesced(id(1))];
    assert_eq!(outcomes, expected);
    let details: Vec<_> = load_job(&*store, id(1)).await.signals.into_iter().map(|it| it.detail).collect();
    assert_eq!(details, ["signal 1", "signal 3"]);
}

/// R199: the first signal and the last four are kept, all are counted.
pub async fn the_first_and_the_last_four_signals_are_kept(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let details = |job: Job| -> Vec<String> { job.signals.into_iter().map(|it| it.detail).collect() };
    for n in 1..=5 {
        enqueue(&*store, &job(n, "essay", "t")).await;
    }
    let all: Vec<_> = (1..=5).map(|n| format!("signal {n}")).collect();
    assert_eq!(details(load_job(&*store, id(1)).await), all);
    for n in 6..=20 {
        assert_eq!(enqueue(&*store, &job(n, "essay", "t")).await, EnqueueOutcome::Coalesced(id(1)));
    }
    let merged = load_job(&*store, id(1)).await;
    assert_eq!(merged.signal_count, 20);
    assert_eq!(merged.created_at, at(1), "a merge does not make a job younger");
    assert_eq!(merged.signals[0], signal("signal 1", at(1)));
    assert_eq!(details(merged), ["signal 1", "signal 17", "signal 18", "signal 19", "signal 20"]);
}

/// DESIGN §7: a signal during a run is merged into the running job; after the end there is a new job.
pub async fn a_running_job_takes_signals_in_an_ended_one_does_not(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    enqueue(&*store, &job(1, "essay", "t")).await;
    let claim = store.claim_job(at(10), at(100)).await.expect("a claim").expect("the job");
    assert_eq!(enqueue(&*store, &job(2, "essay", "t")).await, EnqueueOutcome::Coalesced(id(1)));
    let running = load_job(&*store, id(1)).await;
    assert_eq!((running.state, running.signal_count), (JobState::Running, 2));
    assert_eq!(running.lease_until, Some(at(100)), "a merge leaves the lease alone");
    assert!(store.complete_job(id(1), claim.token, None, at(20)).await.expect("an answer"));
    assert_eq!(enqueue(&*store, &job(3, "essay", "t")).await, EnqueueOutcome::Created(id(3)));
    assert_eq!(load_job(&*store, id(1)).await.signal_count, 2, "an ended job is not touched");

    let claim = store.claim_job(at(30), at(100)).await.expect("a claim").expect("the new job");
    assert!(store.complete_job(id(3), claim.token, Some("given up"), at(40)).await.expect("an answer"));
    assert_eq!(enqueue(&*store, &job(4, "essay", "t")).await, EnqueueOutcome::Created(id(4)));
}

/// A merged user request raises the trigger, and nothing lowers it.
pub async fn a_user_request_raises_the_trigger(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let with = |n, trigger| Enqueue { trigger, ..job(n, "essay", "t") };
    for (n, trigger, expected) in [
        (1, Trigger::ToolCallError, Trigger::ToolCallError),
        (2, Trigger::ScheduledRecheck, Trigger::ToolCallError),
        (3, Trigger::UserRequest, Trigger::UserRequest),
        (4, Trigger::ToolCallError, Trigger::UserRequest),
        (5, Trigger::ScheduledRecheck, Trigger::UserRequest),
    ] {
        enqueue(&*store, &with(n, trigger)).await;
        assert_eq!(load_job(&*store, id(1)).await.trigger, expected, "after {n}");
    }
}

/// A storm on one tool makes one job, whoever reports it at once; every signal is counted.
pub async fn a_storm_makes_one_job(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let reporters = (1..=32).map(|n| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { enqueue(&*store, &job(n, "essay", "t")).await })
    });
    let mut created = Vec::new();
    let mut coalesced = BTreeSet::new();
    for outcome in join_all(reporters).await {
        match outcome.expect("the task ends") {
            EnqueueOutcome::Created(id) => created.push(id),
            EnqueueOutcome::Coalesced(id) => {
                coalesced.insert(id);
            }
        }
    }
    assert_eq!(created.len(), 1);
    assert_eq!(coalesced, created.iter().copied().collect());
    let all = jobs(&*store).await;
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].signal_count, all[0].signals.len()), (32, 5));
}

/// Jobs are listed newest first, page by page, by every filter; another tenant's never.
pub async fn jobs_are_listed_newest_first(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for n in 1..=12 {
        let mut it = job(n, if n % 2 == 0 { "even" } else { "odd" }, &format!("t{}", n % 3));
        it.signature = format!("s{n}");
        if n % 4 == 0 {
            it.key.scope = Scope::User;
        }
        enqueue(&*store, &it).await;
    }
    let mut foreign = job(50, "even", "t0");
    foreign.tenant_id = "bolt".to_owned();
    foreign.key.tenant_id = "bolt".to_owned();
    enqueue(&*store, &foreign).await;
    let claim = store.claim_job(at(100), at(200)).await.expect("a claim").expect("the oldest");
    assert_eq!(claim.job.id, id(1));
    store.complete_job(id(1), claim.token, None, at(101)).await.expect("an answer");
    store.claim_job(at(102), at(200)).await.expect("a claim").expect("the next");

    let all = JobFilter { tenant_id: TENANT.to_owned(), ..JobFilter::default() };
    let filters: [(JobFilter, Vec<u64>); 9] = [
        (all.clone(), (1..=12).collect()),
        (JobFilter { project_id: Some("even".to_owned()), ..all.clone() }, vec![2, 4, 6, 8, 10, 12]),
        (JobFilter { project_id: Some("absent".to_owned()), ..all.clone() }, vec![]),
        (JobFilter { state: Some(JobState::Done), ..all.clone() }, vec![1]),
        (JobFilter { state: Some(JobState::Running), ..all.clone() }, vec![2]),
        (JobFilter { state: Some(JobState::Stale), ..all.clone() }, vec![]),
        (JobFilter { scope: Some(Scope::User), ..all.clone() }, vec![4, 8, 12]),
        (JobFilter { tool_name: Some("t0".to_owned()), ..all.clone() }, vec![3, 6, 9, 12]),
        (
            JobFilter {
                project_id: Some("even".to_owned()),
                state: Some(JobState::Queued),
                scope: Some(Scope::Project),
                tool_name: Some("t0".to_owned()),
                ..all
            },
            vec![6],
        ),
    ];
    for (filter, expected) in filters {
        let expected: Vec<Uuid> = expected.into_iter().rev().map(id).collect();
        for limit in [1, 5, 1_000] {
            let mut found = Vec::new();
            let mut after = None;
            loop {
                let page = store.list_jobs(&filter, after, limit).await.expect("a page");
                assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                after = Some(last.id);
                found.extend(page.iter().map(|it| it.id));
            }
            assert_eq!(found, expected, "{filter:?}, {limit} a page");
        }
    }
    assert_eq!(store.count_queued().await.expect("a count"), 11, "queued ones alone, of all tenants");
}
