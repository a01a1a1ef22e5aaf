//! The twelve bundled rules, each by a failure that only it matches, over gRPC.

use agrajag_proto::v1;
use agrajag_proto::v1::{Classification, DiagnosisState, RuleOrigin, Scope, ToolState};
use agrajag_tests::messages::{caller, exception, http, http_body, http_header, micros, rest};
use agrajag_tests::server::{Server, Setup};

/// The twelve alone: what packs lay before them is another test's business.
async fn server() -> Server {
    Setup::memory().set("rules.packs", "none").start().await
}

/// What a bundled rule is to give.
struct Row {
    rule: &'static str,
    failure: v1::Failure,
    signature: &'static str,
    classification: Classification,
    /// Seconds of the first window.
    window: i64,
    /// How the tool reads for the caller afterwards, and where that is kept.
    state: (ToolState, Scope),
    locked: bool,
}

const FINE: (ToolState, Scope) = (ToolState::Ok, Scope::Unspecified);

fn rows() -> Vec<Row> {
    let unclear = |rule, failure, signature| Row {
        rule,
        failure,
        signature,
        classification: Classification::Unclear,
        window: 30,
        state: FINE,
        locked: false,
    };
    let endpoint = v1::Failure { not_found_of: v1::NotFoundOf::Endpoint.into(), ..http(404) };
    let misfit = v1::Failure { schema_violation: true, ..Default::default() };
    let tool_exception = v1::Failure { kind: v1::FailureKind::ToolException.into(), ..Default::default() };
    let manual =
        v1::Failure { message: "Manual not found: deploy-guide".to_owned(), ..tool_exception.clone() };
    vec![
        Row {
            rule: "http-401-expired-token",
            failure: http_body(401, r#"{"error":"expired_token"}"#),
            signature: "http-401-expired",
            classification: Classification::UserSpecificTechnical,
            window: 24 * 3_600,
            state: (ToolState::Down, Scope::User),
            locked: true,
        },
        unclear("http-401-generic", http(401), "http-401"),
        Row {
            rule: "http-403",
            failure: http(403),
            signature: "http-403",
            classification: Classification::UserPermission,
            window: 24 * 3_600,
            state: FINE,
            locked: true,
        },
        unclear("http-404-endpoint", endpoint, "http-404"),
        Row {
            rule: "http-429",
            failure: http_header(429, "Retry-After", "90"),
            signature: "http-429",
            classification: Classification::Intermittent,
            window: 90,
            state: (ToolState::Degraded, Scope::User),
            locked: true,
        },
        unclear("http-5xx", http(503), "http-5xx"),
        unclear("socket-timeout", exception("java.net.SocketTimeoutException", "Read timed out"), "timeout"),
        Row {
            rule: "connect-refused",
            failure: exception("java.net.ConnectException", "Connection refused"),
            signature: "connect-refused",
            classification: Classification::TechnicallyBroken,
            window: 300,
            state: (ToolState::Down, Scope::Project),
            locked: true,
        },
        unclear("schema-violation", misfit, "schema-violation"),
        Row {
            rule: "manual-read-not-found",
            failure: manual,
            signature: "manual-not-found",
            classification: Classification::UserInput,
            window: 300,
            state: FINE,
            locked: true,
        },
        unclear("tool-exception-generic", tool_exception, "tool-exception"),
        Row { locked: true, ..unclear("fallback", v1::Failure::default(), "unclassified") },
    ]
}

/// R48, R53, R96, R97, R125…R136: id, signature, class, first window, status and scope of each; R102: the unclear ones
/// make a job, the others none.
#[tokio::test(flavor = "multi_thread")]
async fn each_rule_gives_its_verdict() {
    let server = server().await;
    for row in rows() {
        let tool = rest(&format!("tool_of_{}", row.rule));
        let verdict = server.client.verdict(caller("alice"), tool.clone(), row.failure).await;
        let rule = row.rule;
        assert_eq!(verdict.rule_id, rule);
        assert_eq!(verdict.signature, row.signature, "{rule}");
        assert_eq!(verdict.classification(), row.classification, "{rule}");
        let is_unclear = row.classification == Classification::Unclear;
        let diagnosis = if is_unclear { DiagnosisState::Enqueued } else { DiagnosisState::None };
        assert_eq!(verdict.diagnosis(), diagnosis, "{rule}");
        let cooldown = verdict.cooldown.expect("a cooldown");
        let document = server.client.document(document_of(&cooldown, &tool.name)).await;
        let stored = &document.cooldowns[0];
        let length = micros(stored.until.as_ref().expect("an end"))
            - micros(stored.opened_at.as_ref().expect("a beginning"));
        assert_eq!(length, row.window * 1_000_000, "{rule}");
        let health = server.client.health(caller("alice"), tool).await;
        assert_eq!((health.state(), health.scope()), row.state, "{rule}");
    }
    assert_eq!(server.client.jobs().await.len(), 7, "one for each rule that escalates");
}

fn document_of(cooldown: &v1::Cooldown, tool: &str) -> v1::DocumentKey {
    let scope_id = if cooldown.scope() == Scope::User { "alice" } else { "essay" };
    agrajag_tests::messages::key(cooldown.scope(), scope_id, tool)
}

/// R106, R119, R137: the list in force without any layer is the twelve, in their order, with their locks.
#[tokio::test(flavor = "multi_thread")]
async fn the_effective_rules_are_the_twelve_in_their_order() {
    let server = server().await;
    let response = server.client.admin().get_effective_rules(v1::GetEffectiveRulesRequest::default()).await;
    let rules = response.expect("the rules").into_inner().rules;
    let found: Vec<_> = rules
        .iter()
        .map(|it| (it.rule_id.as_str(), it.signature.as_str(), it.classification(), it.locked))
        .collect();
    let wanted = rows();
    let wanted: Vec<_> =
        wanted.iter().map(|it| (it.rule, it.signature, it.classification, it.locked)).collect();
    assert_eq!(found, wanted);
    for (at, rule) in rules.iter().enumerate() {
        assert_eq!((rule.position as usize, rule.origin()), (at + 1, RuleOrigin::Bundled));
        assert!(rule.yaml.contains(&rule.rule_id), "{}", rule.yaml);
    }
}

/// R138, R139: an input that names nothing is the caller's; the tool stays usable and no job is made, however often.
#[tokio::test(flavor = "multi_thread")]
async fn an_input_error_never_degrades_and_never_diagnoses() {
    let server = server().await;
    let failure = exception("ToolException", "Manual not found: no-such-page");
    for _ in 0..20 {
        let verdict = server.client.verdict(caller("alice"), rest("manual_read"), failure.clone()).await;
        assert_eq!(verdict.classification(), Classification::UserInput);
        assert_eq!(verdict.remedy(), v1::Remedy::FixInput);
        assert_eq!(verdict.retry_at, None, "it may be called again at once");
        assert_eq!(verdict.health.expect("health").state(), ToolState::Ok);
    }
    assert_eq!(server.client.state(caller("alice"), rest("manual_read")).await, ToolState::Ok);
    assert!(server.client.jobs().await.is_empty());
}

/// C15: a 404 of a thing that the call named is the caller's input and not the endpoint's fault.
#[tokio::test(flavor = "multi_thread")]
async fn a_404_of_a_thing_is_not_the_endpoint() {
    let server = server().await;
    let entity = v1::Failure { not_found_of: v1::NotFoundOf::Entity.into(), ..http(404) };
    let verdict = server.client.verdict(caller("alice"), rest("issue_read"), entity).await;
    assert_ne!(verdict.rule_id, "http-404-endpoint", "{verdict:?}");
    assert_eq!(verdict.health.expect("health").state(), ToolState::Ok);
}

/// DESIGN §5: cancelled calls and refusals by policy are no health signal: no status, no cooldown, no job.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_signal_changes_nothing() {
    let server = server().await;
    let cancelled = v1::Failure { kind: v1::FailureKind::Cancelled.into(), ..http(500) };
    let disallowed = v1::Failure { dispatch_code: v1::DispatchCode::Disallowed.into(), ..Default::default() };
    for failure in [cancelled, disallowed] {
        let verdict = server.client.verdict(caller("alice"), rest("jira_search"), failure).await;
        assert_eq!(verdict.classification(), Classification::NotASignal);
        assert_eq!((verdict.diagnosis(), verdict.durability()), (DiagnosisState::None, v1::Durability::None));
        assert_eq!(verdict.cooldown, None);
    }
    assert!(server.client.jobs().await.is_empty());
    let listed = v1::ListDocumentsRequest { tenant_id: "acme".to_owned(), ..Default::default() };
    let listed = server.client.admin().list_documents(listed).await.expect("a page").into_inner();
    assert!(listed.documents.is_empty(), "{listed:?}");
}

/// DESIGN §4: the host of a fetch tool comes with the call, so that a refused connection says nothing about the tool.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_target_never_takes_the_tool_down() {
    let server = server().await;
    let fetch = v1::Tool { target: v1::ToolTarget::Argument.into(), ..rest("fetch_url") };
    let verdict = server
        .client
        .verdict(caller("alice"), fetch.clone(), exception("java.net.ConnectException", "refused"))
        .await;
    assert_eq!(verdict.fault(), v1::Fault::Target, "{verdict:?}");
    assert_eq!(server.client.state(caller("alice"), fetch).await, ToolState::Ok);
}
