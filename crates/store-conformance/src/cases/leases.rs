//! Claiming jobs: order, exclusivity, leases and their tokens.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;
use ports::{Claim, Enqueue, JobFilter, JobState, Store, Trigger};

use crate::Fixture;
use crate::values::*;

async fn claim(store: &dyn Store, now: i64, until: i64) -> Option<Claim> {
    store.claim_job(at(now), at(until)).await.expect("claiming does not fail")
}

/// A claim makes the job RUNNING under a lease and a token; it is the job as stored.
pub async fn a_claim_leases_the_job(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    enqueue(&*store, &job(1, "essay", "t")).await;
    let claim = claim(&*store, 10, 100).await.expect("the job");
    assert_eq!(claim.job, load_job(&*store, id(1)).await);
    assert_eq!(claim.job.state, JobState::Running);
    assert_eq!(claim.job.lease_until, Some(at(100)));
    assert_eq!(claim.job.lease_token, claim.token);
    assert!(claim.token > 0);
    assert_eq!(store.count_queued().await.expect("a count"), 0);
}

/// DESIGN §7: a person's request goes before failures' jobs, then the oldest; a raised job moves ahead with its own age.
pub async fn user_requests_go_first_then_the_oldest(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let asked = |n, project: &str| Enqueue { trigger: Trigger::UserRequest, ..job(n, project, "t") };
    enqueue(&*store, &job(3, "p3", "t")).await;
    enqueue(&*store, &job(1, "p1", "t")).await;
    enqueue(&*store, &Enqueue { trigger: Trigger::ScheduledRecheck, ..job(2, "p2", "t") }).await;
    enqueue(&*store, &asked(9, "p9")).await;
    enqueue(&*store, &job(5, "p5", "t")).await;
    enqueue(&*store, &asked(8, "p8")).await;
    enqueue(&*store, &Enqueue { id: id(10), ..asked(10, "p5") }).await;
    let mut order = Vec::new();
    while let Some(claim) = claim(&*store, 100, 200).await {
        order.push(claim.job.id);
    }
    assert_eq!(order, [5, 8, 9, 1, 2, 3].map(id));
}

/// No two claims get the same job: parallel claimers share the queue out.
pub async fn no_two_claims_get_one_job(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for n in 1..=40 {
        enqueue(&*store, &job(n, &format!("p{n}"), "t")).await;
    }
    let claimers = (0..8).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let mut mine = Vec::new();
            while let Some(claim) = claim(&*store, 100, 200).await {
                mine.push(claim.job.id);
            }
            mine
        })
    });
    let mut all = Vec::new();
    for mine in join_all(claimers).await {
        all.extend(mine.expect("the claimer ends"));
    }
    assert_eq!(all.len(), 40);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), (1..=40).map(id).collect());
}

/// R194: of one (tenant, project) at most one job runs, however many claim at once; equal names in another tenant are
/// another project.
pub async fn one_job_of_a_project_runs(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for n in 1..=12 {
        let mut it = job(n, &format!("p{}", n % 3), &format!("t{n}"));
        if n > 6 {
            it.tenant_id = "bolt".to_owned();
            it.key.tenant_id = "bolt".to_owned();
        }
        enqueue(&*store, &it).await;
    }
    let mut ended = BTreeSet::new();
    for round in 0..2 {
        let claimers = (0..16).map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { claim(&*store, 100, 200).await })
        });
        let mut running = BTreeSet::new();
        for claimed in join_all(claimers).await {
            if let Some(claim) = claimed.expect("the claimer ends") {
                let project = (claim.job.tenant_id.clone(), claim.job.project_id.clone());
                assert!(running.insert(project), "two of one project run");
                assert!(
                    store.complete_job(claim.job.id, claim.token, None, at(150)).await.expect("an answer")
                );
                assert!(ended.insert(claim.job.id));
            }
        }
        assert_eq!(running.len(), 6, "round {round}: each project gets its turn");
    }
    assert_eq!(ended.len(), 12);
}

/// A lease that ended counts as queued: the job is claimed again, with a greater token, and the older token does nothing.
pub async fn an_ended_lease_is_taken_over(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    enqueue(&*store, &job(1, "essay", "t")).await;
    let first = claim(&*store, 10, 100).await.expect("the job");
    assert_eq!(claim(&*store, 99, 200).await, None, "the lease lasts");
    let second = claim(&*store, 101, 200).await.expect("the lease ended");
    assert_eq!(second.job.id, id(1));
    assert!(second.token > first.token);

    assert!(!store.extend_job(id(1), first.token, at(500)).await.expect("an answer"));
    assert!(!store.complete_job(id(1), first.token, None, at(110)).await.expect("an answer"));
    assert!(!store.complete_job(id(1), first.token, Some("late"), at(110)).await.expect("an answer"));
    assert_eq!(load_job(&*store, id(1)).await, second.job, "a stale token does nothing");
    assert!(!store.extend_job(id(1), second.token + 1, at(500)).await.expect("an answer"));
    assert!(store.complete_job(id(1), second.token, None, at(120)).await.expect("an answer"));
}

/// R194: where a lease ended and another job of the project is claimed before the old one, the old one's worker has lost its
/// right: else two would run.
pub async fn an_ended_lease_does_not_run_beside_another(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    enqueue(&*store, &job(1, "essay", "t")).await;
    let old = claim(&*store, 10, 100).await.expect("the job");
    enqueue(&*store, &Enqueue { trigger: Trigger::UserRequest, ..job(2, "essay", "u") }).await;
    assert_eq!(claim(&*store, 50, 200).await, None, "one of the project runs");
    let asked = claim(&*store, 101, 200).await.expect("the lease ended");
    assert_eq!(asked.job.id, id(2), "the person's request goes first");
    assert!(!store.extend_job(id(1), old.token, at(500)).await.expect("an answer"));
    let running =
        JobFilter { tenant_id: TENANT.to_owned(), state: Some(JobState::Running), ..JobFilter::default() };
    let running = store.list_jobs(&running, None, 10).await.expect("the jobs");
    assert_eq!(running.iter().map(|it| it.id).collect::<Vec<_>>(), [id(2)]);
    assert!(store.complete_job(id(2), asked.token, None, at(150)).await.expect("an answer"));
    let again = claim(&*store, 160, 300).await.expect("the old job is still to do");
    assert_eq!(again.job.id, id(1));
    assert!(again.token > old.token);
}

/// An extended lease lasts until its new end.
pub async fn a_lease_can_be_extended(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    enqueue(&*store, &job(1, "essay", "t")).await;
    let first = claim(&*store, 10, 100).await.expect("the job");
    assert!(store.extend_job(id(1), first.token, at(300)).await.expect("an answer"));
    assert_eq!(load_job(&*store, id(1)).await.lease_until, Some(at(300)));
    assert_eq!(claim(&*store, 299, 400).await, None);
    assert!(store.extend_job(id(1), first.token, at(310)).await.expect("an answer"));
    assert!(claim(&*store, 311, 400).await.is_some());
}

/// A job ends as DONE, or as STALE with its reason, once: a second completion and an extension do nothing.
pub async fn a_job_ends_once(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for (n, reason) in [(1, None), (2, Some("the tool is gone: `it's`"))] {
        enqueue(&*store, &job(n, "essay", "t")).await;
        let claim = claim(&*store, 10, 100).await.expect("the job");
        assert!(store.complete_job(id(n), claim.token, reason, at(20)).await.expect("an answer"));
        let ended = load_job(&*store, id(n)).await;
        assert_eq!(ended.state, if reason.is_some() { JobState::Stale } else { JobState::Done });
        assert_eq!(ended.reason.as_deref(), reason);
        assert_eq!(ended.ended_at, Some(at(20)));
        assert!(!store.complete_job(id(n), claim.token, Some("again"), at(30)).await.expect("an answer"));
        assert!(!store.extend_job(id(n), claim.token, at(500)).await.expect("an answer"));
        assert_eq!(load_job(&*store, id(n)).await, ended);
    }
    assert_eq!(claim(&*store, 1_000, 2_000).await, None, "an ended job is not claimed again");
}

/// Claims, merges and completions at once: every job ends, none twice, none is left open.
pub async fn a_busy_queue_runs_dry(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let reporters = (0..6_u64).map(|reporter| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for n in 0..10 {
                enqueue(&*store, &job(1 + reporter * 10 + n, &format!("p{}", n % 5), "t")).await;
            }
        })
    });
    let reporters = tokio::spawn(join_all(reporters));
    let workers = (0..4).map(|_| {
        let store = Arc::clone(&store);
        let reporters = reporters.abort_handle();
        tokio::spawn(async move {
            let mut n_done = 0_usize;
            loop {
                let is_over = reporters.is_finished();
                match claim(&*store, 1_000, 2_000).await {
                    Some(claim) => {
                        let ended = store.complete_job(claim.job.id, claim.token, None, at(1_500)).await;
                        assert!(ended.expect("an answer"), "nobody else holds the lease");
                        n_done += 1;
                    }
                    None if is_over && store.count_queued().await.expect("a count") == 0 => return n_done,
                    None => tokio::task::yield_now().await,
                }
            }
        })
    });
    let mut n_done = 0;
    for worker in join_all(workers).await {
        n_done += worker.expect("the worker ends");
    }
    for reporter in reporters.await.expect("the reporters end") {
        reporter.expect("the reporter ends");
    }
    let all = jobs(&*store).await;
    assert_eq!(all.len(), n_done);
    assert!(all.iter().all(|it| it.state == JobState::Done));
    assert_eq!(all.iter().map(|it| it.signal_count).sum::<u64>(), 60, "every signal is in one job");
}
