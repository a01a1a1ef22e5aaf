//! Like failures of several users on a memory store: one job, also in parallel and over two servers; users' own
//! documents stay as they are.

mod support;

use std::collections::BTreeSet;

use chrono::TimeDelta;
use health_model::policy::Promotion;
use health_model::vocabulary::{DiagnosisState, EffectiveStatus};
use health_model::{Classification, CredentialOwner, Document, Failure, Policy, Scope};
use health_service::check::{CheckAnswer, Durability};
use health_service::explain::ExplainRequest;
use health_service::settings::Mode;
use health_service::success::{Success, SuccessOutcome};
use health_service::{Service, Settings, document_key};
use ports::{DeleteSelector, Job, JobFilter, JobQueue as _, Store as _};
use support::{World, caller, check, http, lookup, success_of, tool, world, world_with};

fn expired() -> Failure {
    Failure { body: r#"{"error": "token_expired"}"#.to_owned(), ..http(401) }
}

async fn jobs(world: &World) -> Vec<Job> {
    let filter = JobFilter { tenant_id: "acme".to_owned(), ..JobFilter::default() };
    world.store.list_jobs(&filter, None, 100).await.expect("memory answers")
}

async fn stored(world: &World, scope: Scope, scope_id: &str) -> Option<Document> {
    let key = document_key("acme", scope, scope_id, "jira_search");
    world.store.load_document(&key).await.expect("memory answers").map(|it| it.document)
}

/// Every user's call fails at the same time, spread over the servers.
async fn all_at_once(servers: &[Service], users: &[String]) -> Vec<CheckAnswer> {
    let calls = users.iter().enumerate().map(|(n, user)| {
        let (service, user) = (servers[n % servers.len()].clone(), user.clone());
        tokio::spawn(async move { check(&service, &user, expired()).await })
    });
    let answers = futures::future::join_all(calls).await;
    answers.into_iter().map(|it| it.expect("Check answers")).collect()
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|it| format!("user-{it}")).collect()
}

fn evidence(answer: &CheckAnswer) -> Option<&str> {
    answer.verdict.evidence.iter().find(|it| it.field == "likeFailures").map(|it| it.seen.as_str())
}

/// DESIGN §2.3, R198, C7: three users at once, on one server or on two that meet at one document, make exactly one job:
/// the decision is made again on what the other has written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_users_in_parallel_make_exactly_one_job() {
    for round in 0..40 {
        let world = world();
        let servers = match round % 2 {
            0 => vec![world.service.clone()],
            _ => vec![world.service.clone(), world.second()],
        };
        let answers = all_at_once(&servers, &names(3)).await;
        let asked: Vec<_> =
            answers.iter().filter(|it| it.verdict.diagnosis == DiagnosisState::Enqueued).collect();
        assert_eq!(asked.len(), 1, "round {round}");
        let jobs = jobs(&world).await;
        assert_eq!(jobs.len(), 1, "round {round}");
        assert_eq!(asked[0].job_id, Some(jobs[0].id));
        assert_eq!(jobs[0].signal_count, 1);
        assert_eq!((jobs[0].key.scope, jobs[0].key.scope_id.as_str()), (Scope::Project, "essay"));
        assert!(jobs[0].signals[0].detail.starts_with("like failures: 3 users within 1 s\n"));
        assert_eq!(evidence(asked[0]), Some("3 users within 1 s"));
        for answer in &answers {
            assert_eq!(answer.verdict.classification, Classification::UserSpecificTechnical);
            assert_eq!((answer.verdict.scope, answer.durability), (Some(Scope::User), Durability::Committed));
        }
        let home = stored(&world, Scope::Project, "essay").await.expect("the notes are stored");
        let users: BTreeSet<_> = home.like_failures.iter().map(|it| it.user.as_str()).collect();
        assert_eq!(users.len(), 3, "no note was lost");
        assert!(home.health.is_none() && home.cooldowns.is_empty());
        for server in servers {
            server.shutdown(std::time::Duration::from_secs(5)).await;
        }
    }
}

/// DESIGN §2.3, §8: of a thousand users over two servers still one asks, and the home document is written a few times
/// only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_users_makes_one_job_and_few_notes() {
    let world = world();
    let servers = [world.service.clone(), world.second()];
    let answers = all_at_once(&servers, &names(1_000)).await;
    let asked = answers.iter().filter(|it| it.verdict.diagnosis == DiagnosisState::Enqueued).count();
    assert_eq!((asked, jobs(&world).await.len()), (1, 1));
    assert!(answers.iter().all(|it| it.durability == Durability::Committed));
    let home = stored(&world, Scope::Project, "essay").await.expect("the notes are stored");
    assert_eq!(home.like_failures.len(), 3, "further users add nothing");
    assert_eq!(stored(&world, Scope::User, "user-999").await.expect("stored").cooldowns.len(), 1);
}

/// C7, invariant 3: two users, or one user three times, are no evidence.
#[tokio::test]
async fn fewer_than_three_users_make_no_job() {
    let world = world();
    for user in ["alice", "alice", "alice", "bob", "bob", "alice"] {
        let answer = world.check(user, expired()).await;
        assert_eq!((answer.job_id, evidence(&answer)), (None, None));
        assert_ne!(answer.verdict.diagnosis, DiagnosisState::Enqueued);
    }
    // Past the window, so that a further failure is no repetition any more.
    world.advance(16 * 60);
    for _ in 0..3 {
        world.check("alice", expired()).await;
    }
    assert!(jobs(&world).await.is_empty());
}

/// DESIGN §2.3: failures outside of the window do not count; the window is a setting.
#[tokio::test]
async fn users_outside_of_the_window_do_not_count() {
    let world = world();
    world.check("alice", expired()).await;
    world.advance(15 * 60);
    world.check("bob", expired()).await;
    world.check("carol", expired()).await;
    assert!(jobs(&world).await.is_empty());
    world.check("dave", expired()).await;
    assert_eq!(jobs(&world).await.len(), 1);

    let promotion = Promotion { users: 2, window: TimeDelta::minutes(1) };
    let settings = Settings { policy: Policy { promotion, ..Policy::default() }, ..Settings::default() };
    let world = world_with(settings);
    world.check("alice", expired()).await;
    world.advance(60);
    world.check("bob", expired()).await;
    assert!(jobs(&world).await.is_empty());
    world.advance(59);
    let carol = world.check("carol", expired()).await;
    assert_eq!(evidence(&carol), Some("2 users within 59 s"));
    assert_eq!(jobs(&world).await.len(), 1);
}

/// R198, R199: while the job is open no second one is made: not by further users, and not by another three once the first
/// episode is over; they are merged into it.
#[tokio::test]
async fn a_job_is_not_opened_twice() {
    let world = world();
    for user in ["alice", "bob", "carol", "dave", "erin", "alice"] {
        world.check(user, expired()).await;
    }
    let first = jobs(&world).await;
    assert_eq!((first.len(), first[0].signal_count), (1, 1));
    world.advance(16 * 60);
    let mut last = None;
    for user in ["frank", "gina", "hans"] {
        last = Some(world.check(user, expired()).await);
    }
    let last = last.expect("an answer");
    assert_eq!(last.verdict.diagnosis, DiagnosisState::Coalesced);
    assert_eq!(last.job_id, Some(first[0].id));
    let jobs = jobs(&world).await;
    assert_eq!((jobs.len(), jobs[0].signal_count), (1, 2));
}

/// DESIGN §2.3, R46: nobody else's answer changes: the tool stays usable for who has not failed, and each user's document
/// says what it said before.
#[tokio::test]
async fn promotion_changes_nobodys_status() {
    let world = world();
    world.check("alice", expired()).await;
    let before = stored(&world, Scope::User, "alice").await;
    for user in ["bob", "carol"] {
        world.check(user, expired()).await;
    }
    assert_eq!(stored(&world, Scope::User, "alice").await, before);
    assert_eq!(world.lookup("alice").await.tools[0].state, EffectiveStatus::Down);
    let dave = world.lookup("dave").await;
    assert_eq!((dave.tools[0].state, dave.block.as_str()), (EffectiveStatus::Ok, ""));
}

/// DESIGN §4: the shared credential of a project is no user's trouble.
#[tokio::test]
async fn a_shared_credential_is_not_promoted() {
    let world = world();
    for user in ["alice", "bob", "carol", "dave"] {
        let failure = Failure { credential: Some(CredentialOwner::Project), ..expired() };
        world.check(user, failure).await;
    }
    assert!(jobs(&world).await.is_empty());
    let home = stored(&world, Scope::Project, "essay").await.expect("the project's own verdict");
    assert!(home.like_failures.is_empty());
}

/// R54, R55, DESIGN §2.3: a success of anybody says that the tool works: the notes are gone, and only three further
/// users would ask. A success of a call that began earlier says nothing.
#[tokio::test]
async fn a_success_drops_the_notes() {
    let world = world();
    assert!(!lookup(&world.service, "zoe", &[]).await.tools[0].report_success);
    world.check("alice", expired()).await;
    world.check("bob", expired()).await;
    assert!(world.lookup("zoe").await.tools[0].report_success, "it is worth knowing");
    world.advance(10);
    let long = Success {
        tool: tool("jira_search"),
        ok: Some(true),
        elapsed: Some(TimeDelta::seconds(10)),
        ..Success::default()
    };
    let early = success_of(&world.service, "zoe", long).await;
    assert_eq!(early.results[0].outcome, SuccessOutcome::NothingToClear);
    let answer = world.success("zoe").await;
    assert_eq!(
        (answer.results[0].outcome, answer.durability),
        (SuccessOutcome::Cleared, Durability::Committed)
    );
    assert_eq!(world.success("zoe").await.results[0].outcome, SuccessOutcome::NothingToClear);
    assert!(!world.lookup("zoe").await.tools[0].report_success);
    world.check("carol", expired()).await;
    assert!(jobs(&world).await.is_empty());
    assert_eq!(
        world.lookup("alice").await.tools[0].state,
        EffectiveStatus::Down,
        "her token is as expired as before"
    );
}

/// R42, DESIGN §9: a deleted user is in no home document any more; others are.
#[tokio::test]
async fn a_deleted_user_is_not_noted_any_more() {
    let world = world();
    for user in ["alice", "bob"] {
        world.check(user, expired()).await;
    }
    let selector = DeleteSelector::User { tenant_id: "acme".to_owned(), user_id: "alice".to_owned() };
    let (deleted, _) = world.service.delete(&selector).await.expect("deleted");
    assert_eq!(deleted, 1, "her own document");
    let home = stored(&world, Scope::Project, "essay").await.expect("the notes are stored");
    let users: Vec<_> = home.like_failures.iter().map(|it| it.user.as_str()).collect();
    assert_eq!(users, [health_model::promotion::pseudonym("acme", "bob")]);
    world.check("carol", expired()).await;
    assert!(jobs(&world).await.is_empty(), "bob and carol are two");
}

/// DESIGN §10: mode `observe` and a dry run write nothing, and tell what they would.
#[tokio::test]
async fn observing_and_explaining_write_nothing() {
    let observing = world_with(Settings { mode: Mode::Observe, ..Settings::default() });
    for user in ["alice", "bob", "carol"] {
        observing.check(user, expired()).await;
    }
    assert!(jobs(&observing).await.is_empty());
    assert_eq!(stored(&observing, Scope::Project, "essay").await, None);

    let world = world();
    world.check("alice", expired()).await;
    world.check("bob", expired()).await;
    let before = stored(&world, Scope::Project, "essay").await;
    let request = ExplainRequest {
        caller: caller("carol"),
        tool: tool("jira_search"),
        failure: expired(),
        rules_yaml: None,
    };
    let told = world.service.explain(request).await.unwrap();
    assert!(told.enqueues && told.effects.len() == 3, "{:?}", told.effects);
    assert!(jobs(&world).await.is_empty());
    assert_eq!(stored(&world, Scope::Project, "essay").await, before);
}
