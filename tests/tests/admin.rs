//! AdminService: documents, holds, cooldowns, clearing, deleting and listing.

use agrajag_proto::v1;
use agrajag_proto::v1::delete_documents_request::Target;
use agrajag_proto::v1::{Classification, ErrorReason, HealthStatus, Scope, SuccessOutcome, ToolState};
use agrajag_tests::client::refusal;
use agrajag_tests::messages::{
    at_micros, at_project, caller, connection_refused, http, http_body, in_session, key, micros, rest,
    seconds,
};
use agrajag_tests::on_every_store;
use agrajag_tests::server::{Server, Setup};
use agrajag_tests::wait::until;
use tonic::Code;

on_every_store! {
    a_hold_wins_until_it_is_released,
    marks_are_written_and_told,
    a_version_grows_with_each_write,
    a_degraded_tool_is_expected_back,
    cooldowns_are_set_and_cleared_by_hand,
    documents_are_cleared_and_deleted,
    listings_are_paged_and_filtered,
}

fn tenant() -> String {
    "acme".to_owned()
}

/// DESIGN §4, §11.3: a hold wins over health, in both directions; a success does not touch it; health decides again when
/// it is released or over.
async fn a_hold_wins_until_it_is_released(server: &Server) {
    let client = &server.client;
    let (alice, tool) = (caller("alice"), rest("jira_search"));
    let hold = |status: HealthStatus| v1::SetHoldRequest {
        tenant_id: tenant(),
        key: Some(at_project("jira_search")),
        status: status.into(),
        reason: "migration of the issue tracker".to_owned(),
        by: "olga".to_owned(),
        ..Default::default()
    };
    let answer = client.admin().set_hold(hold(HealthStatus::Down)).await.expect("held").into_inner();
    let document = answer.document.expect("the document");
    assert_eq!((document.status(), document.state()), (HealthStatus::Unspecified, ToolState::Down));
    let health = client.health(alice.clone(), tool.clone()).await;
    assert_eq!((health.state(), health.reason_code.as_str()), (ToolState::Down, "hold"));
    let shown = health.hold.expect("the hold");
    assert_eq!(shown.reason, "migration of the issue tracker");
    assert!(shown.by.contains("olga"), "{shown:?}");
    assert!(health.words.starts_with("unavailable since "), "{}", health.words);
    assert!(!health.words.contains("migration"), "the reason is for people: {}", health.words);
    assert!(!health.report_success, "a success would change nothing");
    let result = client.success(alice.clone(), tool.clone()).await;
    assert_eq!((result.outcome(), result.state()), (SuccessOutcome::Held, ToolState::Down));

    client.admin().set_hold(hold(HealthStatus::Ok)).await.expect("held");
    client.verdict(alice.clone(), tool.clone(), connection_refused()).await;
    assert_eq!(client.state(alice.clone(), tool.clone()).await, ToolState::Ok, "held usable");
    let release = v1::ReleaseHoldRequest {
        tenant_id: tenant(),
        key: Some(at_project("jira_search")),
        ..Default::default()
    };
    client.admin().release_hold(release).await.expect("released");
    assert_eq!(client.state(alice.clone(), tool.clone()).await, ToolState::Down, "health decides again");

    let until_soon = at_micros(client.now().await + 1_200_000);
    let brief = v1::SetHoldRequest { until: Some(until_soon), ..hold(HealthStatus::Degraded) };
    client.admin().set_hold(brief).await.expect("held");
    assert_eq!(client.state(alice.clone(), tool.clone()).await, ToolState::Degraded);
    until("the hold ends by itself", async || {
        (client.state(alice.clone(), tool.clone()).await == ToolState::Down).then_some(())
    })
    .await;
}

/// R33…R37, R57, R60, DESIGN §11.1: what an administrator marks is in the document, its history and every caller's
/// Lookup; a verdict does not shorten the time that a person has set.
async fn marks_are_written_and_told(server: &Server) {
    let client = &server.client;
    let tool = rest("jira_search");
    let eta = at_micros((client.now().await / 1_000_000 + 7_200) * 1_000_000);
    let mark = v1::MarkUnavailableRequest {
        tenant_id: tenant(),
        key: Some(at_project("jira_search")),
        expected_recovery_at: Some(eta),
        note: "vendor maintenance".to_owned(),
        by: "olga".to_owned(),
        ..Default::default()
    };
    let document = client.admin().mark_unavailable(mark).await.expect("marked").into_inner().document;
    let document = document.expect("the document");
    assert_eq!(document.status(), HealthStatus::Down);
    assert_eq!(document.origin(), v1::StatusOrigin::Admin);
    assert_eq!(document.recovery_basis(), v1::RecoveryBasis::Admin);
    assert_eq!(document.classification(), Classification::TechnicallyBroken);
    assert_eq!(
        (document.history[0].note.as_str(), document.history[0].by.as_str()),
        ("vendor maintenance", "admin/olga")
    );
    let health = client.health(caller("bob"), tool.clone()).await;
    assert_eq!(health.retry_at, Some(eta), "a person's word is passed on as it is");
    assert!(!health.words.contains("vendor"), "{}", health.words);

    client.verdict(caller("bob"), tool.clone(), connection_refused()).await;
    let document = client.document(at_project("jira_search")).await;
    assert_eq!(document.expected_recovery_at, Some(eta), "5 minutes of a rule do not shorten it");

    let degraded = v1::MarkDegradedRequest {
        tenant_id: tenant(),
        key: Some(at_project("jira_search")),
        ..Default::default()
    };
    let document = client.admin().mark_degraded(degraded).await.expect("marked").into_inner().document;
    assert_eq!(document.expect("the document").status(), HealthStatus::Degraded);
    let available = v1::MarkAvailableRequest {
        tenant_id: tenant(),
        key: Some(at_project("jira_search")),
        ..Default::default()
    };
    let document = client.admin().mark_available(available).await.expect("marked").into_inner().document;
    let document = document.expect("the document");
    assert_eq!((document.status(), document.state()), (HealthStatus::Ok, ToolState::Ok));
    assert!(document.cooldowns.is_empty(), "WORKING clears all entries");
    let statuses: Vec<_> = document.history.iter().map(v1::HistoryEntry::status).collect();
    assert_eq!(statuses, [HealthStatus::Ok, HealthStatus::Degraded, HealthStatus::Down], "newest first");
    assert_eq!(client.state(caller("bob"), tool).await, ToolState::Ok);
}

/// The interface's word about `HealthDocument.version`: it grows with each write.
async fn a_version_grows_with_each_write(server: &Server) {
    let mut last = 0;
    for n in 1_i32..=3 {
        let mark = v1::MarkUnavailableRequest {
            tenant_id: tenant(),
            key: Some(at_project("jira_search")),
            note: format!("write {n}"),
            expected_recovery_at: Some(at_micros(server.client.now().await + i64::from(n) * 3_600_000_000)),
            ..Default::default()
        };
        let answer = server.client.admin().mark_unavailable(mark).await.expect("marked").into_inner();
        let version = answer.document.expect("the document").version;
        assert!(version > last, "{version} after {last}");
        last = version;
    }
}

/// C9, R155, and the interface's word about `MarkDegraded`: without an expected recovery the default of 15 minutes counts.
async fn a_degraded_tool_is_expected_back(server: &Server) {
    let degraded = v1::MarkDegradedRequest {
        tenant_id: tenant(),
        key: Some(at_project("jira_search")),
        ..Default::default()
    };
    let document = server.client.admin().mark_degraded(degraded).await.expect("marked").into_inner().document;
    let document = document.expect("the document");
    assert_eq!(document.status(), HealthStatus::Degraded);
    let left = micros(document.expected_recovery_at.as_ref().expect("a default")) - server.client.now().await;
    assert!((14 * 60_000_000..=15 * 60_000_000).contains(&left), "15 minutes, not {left} µs");
}

/// R43, R53, R59, C11: a cooldown set by hand holds back as one that a rule opened; clearing names signature and user.
async fn cooldowns_are_set_and_cleared_by_hand(server: &Server) {
    let client = &server.client;
    let set = |signature: &str, user: &str| v1::SetCooldownRequest {
        tenant_id: tenant(),
        key: Some(at_project("search")),
        signature: signature.to_owned(),
        user_id: user.to_owned(),
        duration: Some(seconds(40 * 24 * 3_600)),
        classification: Classification::Unclear.into(),
        ..Default::default()
    };
    let answer = client.admin().set_cooldown(set("http-5xx", "")).await.expect("set").into_inner();
    let stored = answer.document.expect("the document").cooldowns.remove(0);
    let length =
        micros(stored.until.as_ref().expect("an end")) - micros(stored.opened_at.as_ref().expect("a start"));
    assert_eq!(length, 40 * 24 * 3_600 * 1_000_000, "an administrator's word is not capped");
    for (signature, user) in [("timeout", ""), ("timeout", "alice"), ("timeout", "bob")] {
        client.admin().set_cooldown(set(signature, user)).await.expect("set");
    }
    let verdict = client.verdict(caller("alice"), rest("search"), http(500)).await;
    assert_eq!(verdict.diagnosis(), v1::DiagnosisState::Suppressed);
    assert!(client.jobs().await.is_empty());
    assert_eq!(client.state(caller("alice"), rest("search")).await, ToolState::Ok, "a cooldown is no status");

    let clear = |signature: &str, user: Option<&str>| v1::ClearCooldownRequest {
        tenant_id: tenant(),
        key: Some(at_project("search")),
        signature: signature.to_owned(),
        user_id: user.map(str::to_owned),
        ..Default::default()
    };
    let cleared =
        async |request| client.admin().clear_cooldown(request).await.expect("cleared").into_inner().n_cleared;
    assert_eq!(cleared(clear("no-such", None)).await, 0);
    assert_eq!(cleared(clear("timeout", Some("alice"))).await, 1, "hers alone");
    assert_eq!(cleared(clear("timeout", Some(""))).await, 1, "the scope-wide one alone");
    assert_eq!(cleared(clear("", None)).await, 2, "every signature, every user");
    let verdict = client.verdict(caller("alice"), rest("search"), http(500)).await;
    assert_eq!(verdict.diagnosis(), v1::DiagnosisState::Enqueued);
}

/// R42, C11: clearing empties a document and keeps its hold; deleting takes it away, and the tool counts as usable.
async fn documents_are_cleared_and_deleted(server: &Server) {
    let client = &server.client;
    let alice = in_session("alice", "s1");
    for tool in ["a", "b", "c"] {
        client.verdict(alice.clone(), rest(tool), connection_refused()).await;
        client.verdict(alice.clone(), rest(tool), http_body(401, "token_expired")).await;
    }
    let lost = agrajag_tests::messages::event(
        alice.clone(),
        agrajag_tests::messages::client("d"),
        v1::ToolEvent::ConnectionClosed,
    );
    client.event(lost).await;
    let clear =
        v1::ClearDocumentRequest { tenant_id: tenant(), key: Some(at_project("a")), ..Default::default() };
    let document = client.admin().clear_document(clear.clone()).await.expect("cleared").into_inner().document;
    let document = document.expect("the document");
    assert!(document.history.is_empty() && document.cooldowns.is_empty());
    assert_eq!(document.status(), HealthStatus::Unspecified);
    let missing = v1::ClearDocumentRequest { key: Some(at_project("nothing")), ..clear };
    let refused = refusal(client.admin().clear_document(missing).await);
    assert_eq!((refused.code, refused.reason), (Code::NotFound, ErrorReason::DocumentNotFound));

    let delete = async |target: Target| {
        let request =
            v1::DeleteDocumentsRequest { tenant_id: tenant(), target: Some(target), ..Default::default() };
        let answer = client.admin().delete_documents(request).await.expect("deleted").into_inner();
        (answer.n_deleted, answer.revision)
    };
    assert_eq!(delete(Target::Key(at_project("nothing"))).await.0, 0);
    assert_eq!(delete(Target::Key(at_project("b"))).await.0, 1);
    let missing =
        v1::GetDocumentRequest { tenant_id: tenant(), key: Some(at_project("b")), ..Default::default() };
    let refused = refusal(client.admin().get_document(missing).await);
    assert_eq!(refused.reason, ErrorReason::DocumentNotFound);
    assert_eq!(delete(Target::UserId("alice".to_owned())).await.0, 3, "of hers, and of nobody else");
    assert_eq!(client.state(alice.clone(), rest("c")).await, ToolState::Down, "the project's is still there");
    assert_eq!(delete(Target::SessionId("s1".to_owned())).await.0, 1);
    let (n_deleted, revision) = delete(Target::WholeTenant(true)).await;
    assert_eq!(n_deleted, 2);
    let after = v1::LookupRequest {
        at_least: revision,
        ..agrajag_tests::messages::lookup(alice, [rest("a"), rest("c")])
    };
    let states: Vec<_> = client.lookup(after).await.tools.iter().map(v1::ToolHealth::state).collect();
    assert_eq!(states, [ToolState::Ok, ToolState::Ok], "to a reader that brings the revision, at once");
}

/// R38…R40: a listing is ordered by scope, id and tool, has pages that fit together, and filters that narrow each other.
async fn listings_are_paged_and_filtered(server: &Server) {
    let client = &server.client;
    for n in 0..7 {
        client.verdict(caller("alice"), rest(&format!("tool_{n}")), connection_refused()).await;
    }
    for user in ["alice", "bob"] {
        client.verdict(caller(user), rest("calendar"), http_body(401, "token_expired")).await;
        client.verdict(caller(user), rest("wiki"), http(403)).await;
    }
    let all = async |request: v1::ListDocumentsRequest| {
        let mut found = Vec::new();
        let mut request = v1::ListDocumentsRequest { tenant_id: tenant(), page_size: 2, ..request };
        loop {
            let page = client.admin().list_documents(request.clone()).await.expect("a page").into_inner();
            assert!(
                page.documents.len() <= 2 && !page.documents.is_empty() || page.next_page_token.is_empty()
            );
            found.extend(page.documents.into_iter().map(|it| it.key.expect("a key")));
            if page.next_page_token.is_empty() {
                return found;
            }
            request.page_token = page.next_page_token;
        }
    };
    let everything = all(v1::ListDocumentsRequest::default()).await;
    // The tool's own document notes that two users' credentials failed alike.
    assert_eq!(everything.len(), 12);
    let mut sorted = everything.clone();
    sorted.sort_by(|a, b| (a.scope, &a.scope_id, &a.tool_name).cmp(&(b.scope, &b.scope_id, &b.tool_name)));
    assert_eq!(everything, sorted);
    let narrowed = |scope: Scope, status: HealthStatus, tool: &str| v1::ListDocumentsRequest {
        scope: scope.into(),
        status: status.into(),
        tool_name: tool.to_owned(),
        ..Default::default()
    };
    let count = async |scope, status, tool: &str| all(narrowed(scope, status, tool)).await.len();
    assert_eq!(count(Scope::Project, HealthStatus::Unspecified, "").await, 8);
    assert_eq!(count(Scope::Project, HealthStatus::Down, "").await, 7);
    assert_eq!(count(Scope::Unspecified, HealthStatus::Down, "").await, 9);
    assert_eq!(count(Scope::User, HealthStatus::Down, "").await, 2);
    assert_eq!(count(Scope::User, HealthStatus::Unspecified, "wiki").await, 2);
    let of_bob = v1::ListDocumentsRequest {
        scope_id: "bob".to_owned(),
        ..narrowed(Scope::User, HealthStatus::Unspecified, "")
    };
    assert_eq!(all(of_bob).await, [key(Scope::User, "bob", "calendar"), key(Scope::User, "bob", "wiki")]);
    assert_eq!(count(Scope::Session, HealthStatus::Unspecified, "").await, 0);
}

/// R32, R35: a document holds at most as many entries of history as configured, the newest.
#[tokio::test(flavor = "multi_thread")]
async fn the_history_is_a_ring() {
    let server = Setup::memory().set("history.limit", "5").start().await;
    for n in 0..4 {
        server.client.verdict(caller("alice"), rest("jira_search"), connection_refused()).await;
        server.client.success(caller("alice"), rest("jira_search")).await;
        let document = server.client.document(at_project("jira_search")).await;
        assert_eq!(document.history.len(), (2 * (n + 1)).min(5));
        assert_eq!(document.history[0].classification(), Classification::Working);
    }
}
