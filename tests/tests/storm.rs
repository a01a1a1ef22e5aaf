//! A retry storm: many callers at once on one tool.

use std::collections::BTreeSet;

use agrajag_proto::v1;
use agrajag_proto::v1::{DiagnosisState, ToolState};
use agrajag_tests::messages::{at_project, caller, check, connection_refused, http, rest};
use agrajag_tests::server::Server;
use agrajag_tests::{metric, on_every_store};
use futures::future::join_all;

on_every_store! {
    a_storm_of_unclear_failures_is_one_job,
    a_storm_of_refused_connections_is_one_outage,
}

const CALLERS: usize = 1_000;

/// Commits that a storm may cost: the first, those that were decided beside it, and what the counters need.
const HANDFUL: u64 = 25;

async fn storm(server: &Server, tool: &str, failure: &v1::Failure) -> Vec<v1::Verdict> {
    let calls = (0..CALLERS).map(|n| {
        let request = check(caller(&format!("user-{n}")), rest(tool), failure.clone());
        let mut client = server.client.tools();
        async move { client.check(request).await }
    });
    let answers = join_all(calls).await;
    let answers = answers.into_iter().map(|it| it.expect("Check answers").into_inner());
    answers.map(|it| it.verdict.expect("a verdict")).collect()
}

/// DESIGN §8, R99, R198, C19: a thousand callers, one job, a handful of commits; every failure is counted.
async fn a_storm_of_unclear_failures_is_one_job(server: &Server) {
    let before = metric(server, "agrajag_store_commits_total").await;
    let verdicts = storm(server, "search_issues", &http(500)).await;
    let commits = metric(server, "agrajag_store_commits_total").await - before;
    let enqueued = verdicts.iter().filter(|it| it.diagnosis() == DiagnosisState::Enqueued).count();
    assert_eq!(enqueued, 1, "one caller made the job");
    let held = verdicts.iter().filter(|it| it.diagnosis() == DiagnosisState::Suppressed).count();
    assert_eq!(held, CALLERS - 1, "its cooldown was in the same commit");
    let jobs = server.client.jobs().await;
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    assert!(commits <= HANDFUL, "{commits} commits for {CALLERS} callers");
    let document = server.client.document(at_project("search_issues")).await;
    assert_eq!(document.cooldowns[0].hits, CALLERS as u64);
    assert_eq!(document.cooldowns[0].episodes, 1);
}

/// R36, R132, DESIGN §11.1: a thousand callers, one status, one entry in the history; and they do not come back at once:
/// retry times differ, within a tenth of the window (C18).
async fn a_storm_of_refused_connections_is_one_outage(server: &Server) {
    let before = metric(server, "agrajag_store_commits_total").await;
    let verdicts = storm(server, "jira_search", &connection_refused()).await;
    let commits = metric(server, "agrajag_store_commits_total").await - before;
    assert!(commits <= HANDFUL, "{commits} commits for {CALLERS} callers");
    assert!(verdicts.iter().all(|it| it.health.as_ref().is_some_and(|it| it.state() == ToolState::Down)));
    let document = server.client.document(at_project("jira_search")).await;
    assert_eq!(document.history.len(), 1, "{document:?}");
    assert_eq!(document.cooldowns[0].hits, CALLERS as u64);
    let times: BTreeSet<i64> = verdicts
        .iter()
        .map(|it| agrajag_tests::messages::micros(it.retry_at.as_ref().expect("a retry time")))
        .collect();
    assert!(times.len() > CALLERS / 2, "only {} different times", times.len());
    let (first, last) = (times.first().expect("one"), times.last().expect("one"));
    assert!(last - first <= 30_000_000, "more than a tenth of 5 minutes");
}
