//! The use cases on a memory store: what is answered, what is written, who sees it.

mod support;

use health_model::vocabulary::{DiagnosisState, EffectiveStatus, Remedy, RetryBasis};
use health_model::{Classification, DispatchCode, Failure, Scope, ToolKind};
use health_service::check::{CheckRequest, Durability};
use health_service::event::{Event, EventOutcome, RecordEventRequest};
use health_service::lookup::LookupRequest;
use health_service::settings::{Mode, Surface};
use health_service::success::{Success, SuccessOutcome};
use health_service::{Note, Settings};
use ports::{DocumentFilter, JobFilter, Store};
use support::{
    caller, eventually, http, lookup, refused, request, start, success_of, tool, world, world_with,
};

async fn n_documents(store: &dyn Store) -> usize {
    let filter = DocumentFilter { tenant_id: "acme".to_owned(), ..DocumentFilter::default() };
    store.list_documents(&filter, None, 1_000).await.expect("memory answers").documents.len()
}

async fn jobs(store: &dyn Store) -> Vec<ports::Job> {
    let filter = JobFilter { tenant_id: "acme".to_owned(), ..JobFilter::default() };
    store.list_jobs(&filter, None, 100).await.expect("memory answers")
}

/// R3, R8, R16, R46, R90, R101, R127
#[tokio::test]
async fn a_missing_right_of_one_user_changes_no_status_and_stops_nobody_else() {
    let world = world();
    for _ in 0..50 {
        let answer = world.check("alice", http(403)).await;
        assert_eq!(answer.verdict.classification, Classification::UserPermission);
        assert_eq!(answer.health.state, EffectiveStatus::Ok);
        assert_eq!(answer.verdict.diagnosis, DiagnosisState::None);
    }
    let bob = world.check("bob", http(403)).await;
    assert_eq!(bob.durability, Durability::Committed, "bob's own window opens");
    assert!(!bob.verdict.cooldown.unwrap().active);
    assert!(jobs(&*world.store).await.is_empty());
    assert_eq!(world.lookup("alice").await.tools[0].state, EffectiveStatus::Ok);
}

/// R2, R14, R72, R73, R100, R132, R55, R56, R61 and the announcement of recovery
#[tokio::test]
async fn a_refused_connection_is_down_for_the_project_until_a_success() {
    let world = world();
    let answer = world.check("alice", refused()).await;
    assert_eq!(answer.verdict.classification, Classification::TechnicallyBroken);
    assert_eq!((answer.health.state, answer.health.scope), (EffectiveStatus::Down, Some(Scope::Project)));
    assert!(answer.health.changed && answer.revision.is_some());
    let bob = world.lookup("bob").await;
    assert_eq!(bob.tools[0].state, EffectiveStatus::Down);
    assert!(bob.block.contains("jira_search: currently unavailable"), "{}", bob.block);
    assert!(bob.tools[0].report_success);
    world.advance(10);
    let cleared = world.success("bob").await;
    assert_eq!(cleared.results[0].outcome, SuccessOutcome::Cleared);
    assert_eq!(cleared.results[0].state, EffectiveStatus::Ok);
    let after = lookup(&world.service, "bob", &bob.shown).await;
    assert_eq!(after.recovered, ["jira_search"]);
    assert!(after.block.contains("available again: jira_search"));
    let later = lookup(&world.service, "bob", &after.shown).await;
    assert!(later.recovered.is_empty() && later.block.is_empty(), "told once");
}

/// R74, R2: the row is still DOWN, but due.
#[tokio::test]
async fn past_the_expected_recovery_the_tool_is_retested_and_a_failed_retest_marks_it_again() {
    let world = world();
    world.check("alice", refused()).await;
    world.advance(301);
    let due = world.lookup("bob").await;
    assert_eq!((due.tools[0].state, due.tools[0].words.as_str()), (EffectiveStatus::Retesting, ""));
    assert!(due.tools[0].report_success);
    let again = world.check("bob", refused()).await;
    assert_eq!(again.health.state, EffectiveStatus::Down);
    assert_eq!(again.verdict.cooldown.unwrap().episodes, 2, "backs off");
}

/// R20, R94, R102, R130, R198, R199
#[tokio::test]
async fn an_unclear_failure_makes_one_job_and_a_cooldown() {
    let world = world();
    let first = world.check("alice", http(500)).await;
    assert_eq!(first.verdict.classification, Classification::Unclear);
    assert_eq!(first.verdict.diagnosis, DiagnosisState::Enqueued);
    assert_eq!(first.verdict.remedy, Remedy::AwaitDiagnosis);
    assert!(first.verdict.model_text.contains("It will be looked into"), "{}", first.verdict.model_text);
    let second = world.check("bob", http(502)).await;
    assert_eq!(second.verdict.diagnosis, DiagnosisState::Suppressed, "R99: the cooldown is active");
    assert!(second.verdict.cooldown.unwrap().active);
    world.advance(31);
    let third = world.check("bob", http(503)).await;
    assert_eq!(third.verdict.diagnosis, DiagnosisState::Coalesced);
    assert_eq!(third.job_id, first.job_id);
    let jobs = jobs(&*world.store).await;
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].signal_count, 2);
    assert_eq!(first.health.state, EffectiveStatus::Ok, "an unclear failure is no verdict");
}

/// DESIGN §8: a retry storm on one tool makes one job and a handful of writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_on_one_tool_is_one_job_and_a_handful_of_commits() {
    let world = world();
    let storm = (0..10_000).map(|it| {
        let service = world.service.clone();
        tokio::spawn(async move { service.check(request(&format!("u{}", it % 100), http(500))).await })
    });
    let answers = futures::future::join_all(storm).await;
    let opened = answers.iter().filter(|it| it.as_ref().unwrap().durability == Durability::Committed).count();
    assert_eq!(opened, 1, "one call opened the window");
    assert_eq!(jobs(&*world.store).await.len(), 1);
    assert!(world.service.stats().commits <= 3, "{} commits", world.service.stats().commits);
    world.service.shutdown(std::time::Duration::from_secs(5)).await;
    let filter = DocumentFilter { tenant_id: "acme".to_owned(), ..DocumentFilter::default() };
    let page = world.store.list_documents(&filter, None, 10).await.unwrap();
    let counters = world.store.load_counters(&page.documents[0].document.key).await.unwrap();
    assert_eq!(counters.iter().map(|it| it.hits).sum::<u64>(), 10_000, "every failure is counted");
}

/// R129, C4: the time that was said is passed on exactly.
#[tokio::test]
async fn a_retry_after_is_passed_on_exactly() {
    let world = world();
    let failure = Failure {
        http_status: Some(429),
        headers: vec![("retry-after".to_owned(), "37".to_owned())],
        ..Failure::default()
    };
    for user in ["alice", "alice"] {
        let answer = world.check(user, failure.clone()).await;
        assert_eq!(answer.verdict.retry_at, Some(start() + chrono::TimeDelta::seconds(37)));
        assert_eq!(answer.verdict.retry_basis, Some(RetryBasis::Exact));
    }
    assert_eq!(world.lookup("alice").await.tools[0].state, EffectiveStatus::Degraded);
    assert_eq!(
        world.lookup("bob").await.tools[0].state,
        EffectiveStatus::Ok,
        "a rate follows the credential"
    );
}

/// R15, C7, R125: an expired token is the user's own.
#[tokio::test]
async fn an_expired_token_takes_the_tool_down_for_its_user_only() {
    let world = world();
    let failure = Failure { body: r#"{"error":"token_expired"}"#.to_owned(), ..http(401) };
    let answer = world.check("alice", failure).await;
    assert_eq!(answer.verdict.classification, Classification::UserSpecificTechnical);
    assert_eq!((answer.health.state, answer.health.scope), (EffectiveStatus::Down, Some(Scope::User)));
    assert_eq!(answer.verdict.remedy, Remedy::Reauthenticate);
    assert_eq!(world.lookup("bob").await.tools[0].state, EffectiveStatus::Ok);
}

/// DESIGN §4: never stored, never widened.
#[tokio::test]
async fn without_a_user_a_users_verdict_is_answered_and_not_stored() {
    let world = world();
    let mut request = request("alice", http(403));
    request.caller.user_id = None;
    let answer = world.service.check(request).await;
    assert_eq!(answer.verdict.classification, Classification::UserPermission);
    assert_eq!((answer.durability, answer.verdict.scope), (Durability::None, None));
    assert!(answer.notes.contains(&Note::NotStored));
    assert_eq!(n_documents(&*world.store).await, 0);
}

fn event(event: Event, connection: &str, sequence: u64) -> RecordEventRequest {
    let mut edit = tool("client_file_edit");
    edit.kind = Some(ToolKind::Client);
    RecordEventRequest {
        caller: caller("alice"),
        scope: None,
        scope_id: None,
        tools: vec![edit],
        event,
        connection_id: connection.to_owned(),
        sequence,
        occurred_at: None,
        reason: String::new(),
    }
}

/// R1, R9, R10, R25, R57, R81, R141, C24; DESIGN §11.4
#[tokio::test]
async fn after_a_disconnect_an_unregistered_tool_reads_unreachable_and_reconnecting_brings_it_back() {
    let world = world();
    let ask = |service: health_service::Service| async move {
        let mut request = request(
            "alice",
            Failure { dispatch_code: Some(DispatchCode::NotRegistered), ..Failure::default() },
        );
        request.tool = tool("client_file_edit");
        request.tool.kind = Some(ToolKind::Client);
        service.check(request).await
    };
    let unknown = ask(world.service.clone()).await;
    assert_eq!(unknown.verdict.dispatch_code, Some(DispatchCode::NotRegistered));
    assert_eq!(n_documents(&*world.store).await, 0, "invented names fill no store");
    world.service.record_event(event(Event::ConnectionOpened, "c1", 1)).await.unwrap();
    let closed = world.service.record_event(event(Event::ConnectionClosed, "c1", 2)).await.unwrap();
    assert_eq!(closed.results[0].outcome, EventOutcome::Applied);
    let gone = ask(world.service.clone()).await;
    assert_eq!(gone.verdict.dispatch_code, Some(DispatchCode::BackendUnreachable));
    assert_eq!((gone.health.state, gone.health.scope), (EffectiveStatus::Down, Some(Scope::Session)));
    let opened = world.service.record_event(event(Event::ConnectionOpened, "c2", 3)).await.unwrap();
    assert_eq!(opened.results[0].outcome, EventOutcome::Applied);
    let late = world.service.record_event(event(Event::ConnectionClosed, "c1", 2)).await.unwrap();
    assert_eq!(late.results[0].outcome, EventOutcome::Older);
    assert_eq!(late.results[0].state, EffectiveStatus::Ok);
}

/// R54, R61 and the defect: a result flagged as an error counted as success and cleared DOWN.
#[tokio::test]
async fn a_success_whose_evidence_says_that_it_failed_clears_nothing() {
    let world = world();
    world.check("alice", refused()).await;
    world.advance(10);
    let reports = [
        Success { ok: Some(false), ..Success::default() },
        Success { ok: Some(true), is_error: Some(true), ..Success::default() },
        Success { http_status: Some(503), ..Success::default() },
        Success { json_rpc_code: Some(-32_000), ..Success::default() },
    ];
    for report in reports {
        let report = Success { tool: tool("jira_search"), ..report };
        let answer = success_of(&world.service, "alice", report).await;
        assert_eq!(answer.results[0].outcome, SuccessOutcome::NotASuccess);
        assert_eq!(answer.results[0].state, EffectiveStatus::Down);
    }
}

/// DESIGN §11.3: the call began before the trouble did.
#[tokio::test]
async fn a_success_of_an_older_call_is_too_old() {
    let world = world();
    world.advance(100);
    world.check("alice", refused()).await;
    world.advance(10);
    let report = Success {
        tool: tool("jira_search"),
        elapsed: Some(chrono::TimeDelta::seconds(30)),
        ..Success::default()
    };
    let answer = success_of(&world.service, "alice", report).await;
    assert_eq!(answer.results[0].outcome, SuccessOutcome::TooOld);
}

/// The hot path: nothing is written where nothing changes.
#[tokio::test]
async fn a_success_with_nothing_to_clear_touches_no_store() {
    let world = world();
    eventually(async || !world.service.stats().stale).await;
    world.lookup("alice").await;
    let before = world.service.stats();
    for _ in 0..100 {
        let answer = world.success("alice").await;
        assert_eq!(answer.results[0].outcome, SuccessOutcome::NothingToClear);
    }
    let after = world.service.stats();
    assert_eq!((after.commits, after.view_misses), (before.commits, before.view_misses));
}

/// DESIGN §5: a retried report counts once.
#[tokio::test]
async fn a_report_id_makes_a_report_count_once() {
    let world = world();
    let report = || CheckRequest { report_id: Some("r-1".to_owned()), ..request("alice", http(500)) };
    let first = world.service.check(report()).await;
    let again = world.service.check(report()).await;
    assert!(again.notes.contains(&Note::RepeatedReport));
    assert_eq!((again.hits, again.job_id), (first.hits, first.job_id));
    let other = world.service.check(request("alice", http(500))).await;
    assert_eq!(other.hits, 2, "the repeated one was not counted");
    let bobs = CheckRequest { report_id: Some("r-1".to_owned()), ..request("bob", http(403)) };
    let bobs = world.service.check(bobs).await;
    assert_eq!(bobs.verdict.signature, "http-403", "bob numbers his reports himself");
    assert!(!bobs.notes.contains(&Note::RepeatedReport));
}

/// DESIGN §10: all verdicts, no writes.
#[tokio::test]
async fn mode_observe_writes_nothing() {
    let world = world_with(Settings { mode: Mode::Observe, ..Settings::default() });
    let answer = world.check("alice", refused()).await;
    assert_eq!(answer.verdict.classification, Classification::TechnicallyBroken);
    assert!(answer.notes.contains(&Note::ObserveMode));
    assert_eq!(answer.durability, Durability::None);
    let unclear = world.check("alice", http(500)).await;
    assert_eq!(unclear.verdict.diagnosis, DiagnosisState::Suppressed);
    let event = world.service.record_event(event(Event::ConnectionClosed, "c1", 1)).await.unwrap();
    assert_eq!(event.results[0].outcome, EventOutcome::WouldApply);
    assert_eq!(n_documents(&*world.store).await, 0);
}

/// R69; DESIGN §5: order kept, and without tools all that is not OK.
#[tokio::test]
async fn lookup_keeps_the_order_and_lists_what_is_not_ok() {
    let world = world();
    world.check("alice", refused()).await;
    let names = ["zeta", "jira_search", "alpha"];
    let request = LookupRequest {
        caller: caller("alice"),
        tools: names.iter().map(|it| tool(it)).collect(),
        ..LookupRequest::default()
    };
    let answer = world.service.lookup(request).await;
    assert_eq!(answer.tools.iter().map(|it| it.tool_name.as_str()).collect::<Vec<_>>(), names);
    let request = LookupRequest { caller: caller("alice"), ..LookupRequest::default() };
    let all = world.service.lookup(request).await;
    assert_eq!(all.tools.len(), 1);
    assert_eq!(all.next_change_at, Some(start() + chrono::TimeDelta::seconds(300 - 120)), "the words end");
}

/// C18: one caller is told one time, whoever asks.
#[tokio::test]
async fn check_and_lookup_name_the_same_retry_time() {
    let world = world();
    let first = world.check("alice", refused()).await;
    world.advance(7);
    let again = world.check("alice", refused()).await;
    assert_eq!(again.verdict.retry_at, first.verdict.retry_at);
    assert_eq!(world.lookup("alice").await.tools[0].retry_at, first.verdict.retry_at);
}

/// C26: one state, several projections.
#[tokio::test]
async fn the_surface_mode_decides_what_a_model_may_see_of_a_down_tool() {
    use health_service::lookup::Visibility;
    let world = world();
    world.check("alice", refused()).await;
    for (surface, expected) in [
        (Surface::Annotate, Visibility::Listed),
        (Surface::Stable, Visibility::Listed),
        (Surface::Hide, Visibility::Hidden),
        (Surface::Demote, Visibility::Deferred),
    ] {
        let request = LookupRequest {
            caller: caller("alice"),
            tools: vec![tool("jira_search"), tool("tool_list")],
            surface: Some(surface),
            ..LookupRequest::default()
        };
        let answer = world.service.lookup(request).await;
        assert_eq!(answer.tools[0].visibility, expected);
        assert_eq!(answer.tools[1].visibility, Visibility::Listed);
    }
}

/// R222; DESIGN §5: read your writes on any server.
#[tokio::test]
async fn a_second_server_knows_what_the_caller_has_seen() {
    let world = world();
    let second = world.second();
    let request = |at_least| LookupRequest {
        caller: caller("alice"),
        tools: vec![tool("jira_search")],
        at_least,
        ..LookupRequest::default()
    };
    assert_eq!(second.lookup(request(None)).await.tools[0].state, EffectiveStatus::Ok);
    let written = world.check("alice", refused()).await;
    let answer = second.lookup(request(written.revision)).await;
    assert_eq!(answer.tools[0].state, EffectiveStatus::Down);
    eventually(async || second.lookup(request(None)).await.tools[0].state == EffectiveStatus::Down).await;
}

/// Two servers write one document at once: no update is lost, both decide on the newest state.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_on_one_document_lose_no_update() {
    let world = world();
    let second = world.second();
    let mut calls = Vec::new();
    for it in 0..64 {
        let service = if it % 2 == 0 { world.service.clone() } else { second.clone() };
        calls.push(tokio::spawn(async move {
            // Every project-wide signature differs: each opens its own window in one document.
            let key = health_service::admin::document_key("acme", Scope::Project, "essay", "jira_search");
            let change = health_service::admin::AdminChange::SetCooldown {
                signature: format!("sig-{it}"),
                user_id: None,
                duration: None,
                classification: Classification::Unclear,
            };
            service.change(key, change, "test").await
        }));
    }
    for call in calls {
        call.await.unwrap().unwrap();
    }
    let key = health_service::admin::document_key("acme", Scope::Project, "essay", "jira_search");
    let stored = world.store.load_document(&key).await.unwrap().unwrap();
    assert_eq!(stored.document.cooldowns.len(), 64);
}
