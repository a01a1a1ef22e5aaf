//! Odd values in a write: INVALID_ARGUMENT, with every wrong field named at once (DESIGN §5).

use agrajag_proto::v1;
use agrajag_proto::v1::delete_documents_request::Target;
use agrajag_proto::v1::{Classification, ErrorReason, HealthStatus, Scope};
use agrajag_tests::client::{Client, refusal};
use agrajag_tests::messages::{
    at_micros, at_project, caller, client as client_tool, event, key, rest, seconds,
};
use agrajag_tests::refusal::Refusal;
use agrajag_tests::server::Setup;
use tonic::Code;

fn fields(refused: &Refusal) -> Vec<&str> {
    assert_eq!(
        (refused.code, refused.reason),
        (Code::InvalidArgument, ErrorReason::InvalidField),
        "{refused:?}"
    );
    assert!(
        refused.violations.iter().all(|(field, told)| !field.is_empty() && !told.is_empty()),
        "{refused:?}"
    );
    let mut fields = refused.fields();
    fields.sort_unstable();
    fields
}

async fn mark(client: &Client, request: v1::MarkUnavailableRequest) -> Refusal {
    refusal(client.admin().mark_unavailable(request).await)
}

/// Keys are checked strictly in every write: tenant, scope, ids, name and provider.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_strict() {
    let server = Setup::memory().start().await;
    let of = |key: Option<v1::DocumentKey>| v1::MarkUnavailableRequest {
        tenant_id: "acme".to_owned(),
        key,
        ..Default::default()
    };
    assert_eq!(fields(&mark(&server.client, of(None)).await), ["key"]);
    let unknown = v1::DocumentKey { scope: 77, ..at_project("a") };
    assert_eq!(fields(&mark(&server.client, of(Some(unknown))).await), ["key.scope"]);
    let nothing =
        v1::MarkUnavailableRequest { tenant_id: String::new(), ..of(Some(v1::DocumentKey::default())) };
    assert_eq!(fields(&mark(&server.client, nothing).await), ["key.scope", "key.tool_name", "tenant_id"]);
    let project = key(Scope::Project, "", &"n".repeat(257));
    let provider = v1::DocumentKey { provider: "github".to_owned(), ..project };
    let wanted = ["key.provider", "key.scope_id", "key.tool_name"];
    assert_eq!(fields(&mark(&server.client, of(Some(provider))).await), wanted);
    let global = key(Scope::Global, "acme", "a");
    assert_eq!(fields(&mark(&server.client, of(Some(global))).await), ["key.provider", "key.scope_id"]);
    let tenant = key(Scope::Tenant, "globex", "a");
    assert_eq!(fields(&mark(&server.client, of(Some(tenant))).await), ["key.scope_id"], "of another tenant");
}

/// Values of marks, holds and cooldowns: unknown words, classes that do not fit, notes that are too long, times past.
#[tokio::test(flavor = "multi_thread")]
async fn values_are_strict() {
    let server = Setup::memory().start().await;
    let client = &server.client;
    let now = client.now().await;
    let (tenant_id, key) = ("acme".to_owned(), Some(at_project("a")));
    let odd = v1::MarkUnavailableRequest {
        tenant_id: tenant_id.clone(),
        key: key.clone(),
        classification: 99,
        expected_recovery_at: Some(prost_types::Timestamp { seconds: i64::MAX, nanos: -1 }),
        note: "n".repeat(501),
        by: "b".repeat(129),
    };
    assert_eq!(
        fields(&mark(client, odd.clone()).await),
        ["by", "classification", "expected_recovery_at", "note"]
    );
    for class in [Classification::UserPermission, Classification::Working, Classification::Intermittent] {
        let odd = v1::MarkUnavailableRequest {
            classification: class.into(),
            expected_recovery_at: None,
            note: String::new(),
            by: String::new(),
            ..odd.clone()
        };
        assert_eq!(fields(&mark(client, odd).await), ["classification"], "{class:?} is no reason to be down");
    }
    let personal = v1::MarkUnavailableRequest {
        tenant_id: tenant_id.clone(),
        key: key.clone(),
        classification: Classification::UserSpecificTechnical.into(),
        ..Default::default()
    };
    assert_eq!(fields(&mark(client, personal).await), ["classification"], "that needs scope USER");

    let hold = v1::SetHoldRequest {
        tenant_id: tenant_id.clone(),
        key: key.clone(),
        status: 9,
        until: Some(at_micros(now - 1_000_000)),
        ..Default::default()
    };
    assert_eq!(fields(&refusal(client.admin().set_hold(hold.clone()).await)), ["reason", "status", "until"]);
    let hold = v1::SetHoldRequest {
        status: HealthStatus::Unspecified.into(),
        until: None,
        reason: "x".to_owned(),
        ..hold
    };
    assert_eq!(fields(&refusal(client.admin().set_hold(hold).await)), ["status"]);

    let cooldown = v1::SetCooldownRequest {
        tenant_id: tenant_id.clone(),
        key: key.clone(),
        duration: Some(seconds(-1)),
        classification: 0,
        user_id: "u".repeat(257),
        ..Default::default()
    };
    let refused = refusal(client.admin().set_cooldown(cooldown.clone()).await);
    assert_eq!(fields(&refused), ["classification", "duration", "signature", "user_id"]);
    let cooldown = v1::SetCooldownRequest {
        signature: "s".repeat(129),
        classification: Classification::Unclear.into(),
        user_id: String::new(),
        duration: Some(prost_types::Duration { seconds: i64::MAX, nanos: 0 }),
        ..cooldown
    };
    assert_eq!(fields(&refusal(client.admin().set_cooldown(cooldown).await)), ["duration", "signature"]);

    // Nothing of all this was written.
    let list = v1::ListDocumentsRequest { tenant_id, ..Default::default() };
    assert!(client.admin().list_documents(list).await.expect("a page").into_inner().documents.is_empty());
}

/// Deleting needs a target, and the whole tenant a clear yes.
#[tokio::test(flavor = "multi_thread")]
async fn deleting_needs_a_target() {
    let server = Setup::memory().start().await;
    let delete = async |target: Option<Target>| {
        let request =
            v1::DeleteDocumentsRequest { tenant_id: "acme".to_owned(), target, ..Default::default() };
        refusal(server.client.admin().delete_documents(request).await)
    };
    assert_eq!(fields(&delete(None).await), ["target"]);
    assert_eq!(fields(&delete(Some(Target::WholeTenant(false))).await), ["whole_tenant"]);
    assert_eq!(fields(&delete(Some(Target::UserId(String::new()))).await), ["user_id"]);
    assert_eq!(fields(&delete(Some(Target::SessionId("s\u{7}".to_owned()))).await), ["session_id"]);
}

/// Listings: the tenant is required, filters must be words, a page token must be ours and of the same filters.
#[tokio::test(flavor = "multi_thread")]
async fn listings_are_strict() {
    let server = Setup::memory().start().await;
    for n in 0..3 {
        let failure = agrajag_tests::messages::connection_refused();
        server.client.verdict(caller("alice"), rest(&format!("tool_{n}")), failure).await;
    }
    let mut admin = server.client.admin();
    let odd = v1::ListDocumentsRequest { status: 50, scope: 51, ..Default::default() };
    assert_eq!(fields(&refusal(admin.list_documents(odd).await)), ["scope", "status", "tenant_id"]);
    let lonely = v1::ListDocumentsRequest {
        tenant_id: "acme".to_owned(),
        scope_id: "essay".to_owned(),
        ..Default::default()
    };
    assert_eq!(fields(&refusal(admin.list_documents(lonely).await)), ["scope_id"], "an id without its scope");
    let first = v1::ListDocumentsRequest { tenant_id: "acme".to_owned(), page_size: 1, ..Default::default() };
    let page = admin.list_documents(first.clone()).await.expect("a page").into_inner();
    let moved = v1::ListDocumentsRequest {
        page_token: page.next_page_token,
        status: HealthStatus::Degraded.into(),
        ..first.clone()
    };
    assert_eq!(fields(&refusal(admin.list_documents(moved).await)), ["page_token"], "of other filters");
    let nonsense = v1::ListDocumentsRequest { page_token: "not ours".to_owned(), ..first };
    assert_eq!(fields(&refusal(admin.list_documents(nonsense).await)), ["page_token"]);
    let odd = v1::ListJobsRequest { state: 50, ..Default::default() };
    assert_eq!(fields(&refusal(admin.list_jobs(odd).await)), ["state", "tenant_id"]);
    let nonsense = v1::ListJobsRequest {
        tenant_id: "acme".to_owned(),
        page_token: "x".to_owned(),
        ..Default::default()
    };
    assert_eq!(fields(&refusal(admin.list_jobs(nonsense).await)), ["page_token"]);
}

/// RecordEvent writes a status: what happened and where must be words that are known.
#[tokio::test(flavor = "multi_thread")]
async fn events_are_strict_about_what_and_where() {
    let server = Setup::memory().start().await;
    let mut tools = server.client.tools();
    let base = || event(caller("alice"), client_tool("a"), v1::ToolEvent::ConnectionClosed);
    let odd = v1::RecordEventRequest {
        event: 12,
        scope: Scope::User.into(),
        connection_id: "c".repeat(257),
        reason: "r".repeat(501),
        tools: Vec::new(),
        ..base()
    };
    let refused = refusal(tools.record_event(odd).await);
    assert_eq!(fields(&refused), ["connection_id", "event", "reason", "scope", "tools"]);
    let lonely = v1::RecordEventRequest { scope_id: "essay".to_owned(), ..base() };
    assert_eq!(fields(&refusal(tools.record_event(lonely).await)), ["scope_id"]);
    let stranger =
        v1::RecordEventRequest { scope: Scope::Tenant.into(), scope_id: "globex".to_owned(), ..base() };
    assert_eq!(fields(&refusal(tools.record_event(stranger).await)), ["scope_id"]);
    let many =
        v1::RecordEventRequest { tools: (0..1_001).map(|n| rest(&format!("t{n}"))).collect(), ..base() };
    let refused = refusal(tools.record_event(many).await);
    assert_eq!((refused.reason, refused.fields()), (ErrorReason::TooManyItems, vec!["tools"]));
    let many = v1::RecordSuccessRequest {
        caller: Some(caller("alice")),
        successes: vec![v1::Success::default(); 1_001],
        ..Default::default()
    };
    let refused = refusal(tools.record_success(many).await);
    assert_eq!((refused.reason, refused.fields()), (ErrorReason::TooManyItems, vec!["successes"]));
    let none = v1::RecordSuccessRequest { caller: Some(caller("alice")), ..Default::default() };
    assert_eq!(fields(&refusal(tools.record_success(none).await)), ["successes"]);
}
