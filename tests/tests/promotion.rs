//! Like failures of several users: evidence against the tool, told and diagnosed, and nobody else's trouble.

use agrajag_proto::v1;
use agrajag_proto::v1::{Classification, DiagnosisState, Scope, ToolState};
use agrajag_tests::messages::{at_project, caller, check, http_body, key, rest, success};
use agrajag_tests::on_every_store;
use agrajag_tests::server::{Server, Setup};
use futures::future::join_all;

on_every_store! {
    three_users_ask_for_one_diagnosis,
    users_at_once_ask_for_one_diagnosis,
    a_success_speaks_for_the_tool,
    a_deleted_user_does_not_count,
}

fn expired() -> v1::Failure {
    http_body(401, r#"{"error": "token_expired"}"#)
}

/// The verdict with its evidence.
async fn fails(server: &Server, user: &str, tool: &str, failure: v1::Failure) -> v1::Verdict {
    let request =
        v1::CheckRequest { detail: v1::DetailLevel::Full.into(), ..check(caller(user), rest(tool), failure) };
    server.client.check(request).await.verdict.expect("a verdict")
}

fn evidence(verdict: &v1::Verdict) -> Option<(&str, &str)> {
    let found = verdict.evidence.iter().find(|it| it.field == "likeFailures")?;
    Some((found.expected.as_str(), found.seen.as_str()))
}

/// DESIGN §2.3, C7: the third user whose token is refused makes a job at the project, with the evidence in the verdict and
/// in the job; each verdict stays the user's, nobody else is told anything, and GLOBAL is not written.
async fn three_users_ask_for_one_diagnosis(server: &Server) {
    for user in ["alice", "bob", "alice"] {
        let verdict = fails(server, user, "calendar", expired()).await;
        assert_eq!((evidence(&verdict), verdict.diagnosis()), (None, DiagnosisState::None), "{user}");
    }
    assert!(server.client.jobs().await.is_empty());
    let third = fails(server, "carol", "calendar", expired()).await;
    assert_eq!(third.classification(), Classification::UserSpecificTechnical);
    assert_eq!((third.diagnosis(), third.remedy()), (DiagnosisState::Enqueued, v1::Remedy::Reauthenticate));
    let (wanted, seen) = evidence(&third).expect("the evidence");
    assert_eq!(wanted, "3 users within 15 min");
    assert!(seen.starts_with("3 users within "), "{seen}");
    let further = fails(server, "dave", "calendar", expired()).await;
    assert_eq!(further.diagnosis(), DiagnosisState::None);
    assert!(evidence(&further).is_some_and(|(_, seen)| seen.starts_with("4 users")), "{further:?}");

    let jobs = server.client.jobs().await;
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    assert_eq!((jobs[0].key.clone(), jobs[0].n_signals), (Some(at_project("calendar")), 1));
    assert_eq!(jobs[0].signature, third.signature);
    let signal = &jobs[0].signals[0];
    assert!(signal.detail.starts_with(&format!("like failures: {seen}\n")), "{}", signal.detail);
    assert_eq!(signal.user_id, "carol");

    let home = server.client.document(at_project("calendar")).await;
    assert!(home.history.is_empty() && home.cooldowns.is_empty(), "no verdict at home: {home:?}");
    for user in ["alice", "bob", "carol", "dave"] {
        assert_eq!(server.client.state(caller(user), rest("calendar")).await, ToolState::Down);
        let own = server.client.document(key(Scope::User, user, "calendar")).await;
        assert_eq!((own.history.len(), own.cooldowns.len()), (1, 1), "{own:?}");
    }
    assert_eq!(server.client.state(caller("erin"), rest("calendar")).await, ToolState::Ok);
    let global = v1::ListDocumentsRequest { scope: Scope::Global.into(), ..Default::default() };
    let listed = server.client.admin().list_documents(global).await.expect("ListDocuments answers");
    assert!(listed.into_inner().documents.is_empty(), "GLOBAL was written");

    let shared = v1::Failure { credential: v1::CredentialOwner::Project.into(), ..expired() };
    for user in ["alice", "bob", "carol", "dave"] {
        assert_eq!(evidence(&fails(server, user, "crm", shared.clone()).await), None);
    }
    assert_eq!(server.client.jobs().await.len(), 1, "a shared credential is no user's trouble");
}

/// DESIGN §2.3, R198: fifty users at once: one job.
async fn users_at_once_ask_for_one_diagnosis(server: &Server) {
    let users: Vec<String> = (0..50).map(|n| format!("user-{n}")).collect();
    let verdicts = join_all(users.iter().map(|it| fails(server, it, "mail", expired()))).await;
    let asked = verdicts.iter().filter(|it| it.diagnosis() == DiagnosisState::Enqueued).count();
    let jobs = server.client.jobs().await;
    assert_eq!((asked, jobs.len(), jobs[0].n_signals), (1, 1, 1));
}

/// DESIGN §2.3, §11.3: a success of another user in between is evidence for the tool.
async fn a_success_speaks_for_the_tool(server: &Server) {
    fails(server, "alice", "search", expired()).await;
    fails(server, "bob", "search", expired()).await;
    assert!(server.client.health(caller("zoe"), rest("search")).await.report_success);
    let report = server.client.successes(success(caller("zoe"), rest("search"))).await;
    assert_eq!(report.results[0].outcome(), v1::SuccessOutcome::Cleared);
    assert!(!server.client.health(caller("zoe"), rest("search")).await.report_success);
    assert_eq!(evidence(&fails(server, "carol", "search", expired()).await), None);
    assert!(server.client.jobs().await.is_empty());
    assert_eq!(server.client.state(caller("alice"), rest("search")).await, ToolState::Down);
}

/// R42: who is deleted is evidence no longer.
async fn a_deleted_user_does_not_count(server: &Server) {
    fails(server, "alice", "wiki", expired()).await;
    fails(server, "bob", "wiki", expired()).await;
    let request = v1::DeleteDocumentsRequest {
        tenant_id: agrajag_tests::messages::TENANT.to_owned(),
        target: Some(v1::delete_documents_request::Target::UserId("alice".to_owned())),
        ..Default::default()
    };
    server.client.admin().delete_documents(request).await.expect("deleted");
    assert_eq!(evidence(&fails(server, "carol", "wiki", expired()).await), None);
    assert!(server.client.jobs().await.is_empty());
}

/// DESIGN §10: how many users, and within how long, are settings.
#[tokio::test(flavor = "multi_thread")]
async fn the_numbers_are_settings() {
    let server = Setup::memory().set("promotion.users", 2).set("promotion.window", "90s").start().await;
    fails(&server, "alice", "calendar", expired()).await;
    let second = fails(&server, "bob", "calendar", expired()).await;
    assert_eq!(evidence(&second).map(|it| it.0), Some("2 users within 90 s"));
    assert_eq!(server.client.jobs().await.len(), 1);
}
