//! One server on loopback with a store in memory: what the port answers, whatever is behind it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::time::Duration;

use agrajag_proto::v1;
use grpc_server::Server;
use grpc_server::config::{Config, StoreUrl};
use support::{Running, caller, config, eventually, failed, reason, refused, tool};
use tonic::Code;
use tonic_types::StatusExt as _;

/// R3, R16: a missing right is answered and never a status; R132: a refused connection is one; R54, R55: a success clears it.
#[tokio::test]
async fn a_failure_is_judged_shown_and_cleared() {
    let running = Running::start(config()).await;
    let mut client = running.health().await;
    let verdict = client.check(failed("jira_search", 403)).await.unwrap().into_inner().verdict.unwrap();
    assert_eq!(verdict.classification(), v1::Classification::UserPermission);
    assert_eq!(verdict.health.unwrap().state(), v1::ToolState::Ok);

    let down = v1::CheckRequest { failure: Some(refused()), ..failed("wiki", 0) };
    let answer = client.check(down).await.unwrap().into_inner();
    let verdict = answer.verdict.unwrap();
    assert_eq!(verdict.classification(), v1::Classification::TechnicallyBroken);
    assert_eq!(verdict.durability(), v1::Durability::Committed);
    assert!(verdict.evidence.is_empty(), "the short form has none");

    let lookup = |names: &[&str]| v1::LookupRequest {
        caller: caller(),
        tools: names.iter().filter_map(|it| tool(it)).collect(),
        at_least: answer.revision.clone(),
        ..v1::LookupRequest::default()
    };
    let names = ["wiki", "jira_search", "wiki"];
    let seen = client.lookup(lookup(&names)).await.unwrap().into_inner();
    let states: Vec<_> = seen.tools.iter().map(|it| (it.tool_name.as_str(), it.state())).collect();
    let (down, ok) = (v1::ToolState::Down, v1::ToolState::Ok);
    assert_eq!(states, [("wiki", down), ("jira_search", ok), ("wiki", down)], "the request's order");
    assert!(seen.block.contains("wiki") && !seen.block.contains("jira_search"), "{}", seen.block);
    let everything = client.lookup(lookup(&[])).await.unwrap().into_inner();
    assert_eq!(everything.tools.iter().map(|it| it.tool_name.as_str()).collect::<Vec<_>>(), ["wiki"]);

    let success = |tool: Option<v1::Tool>, http_status| v1::Success {
        tool,
        http_status: Some(http_status),
        ..v1::Success::default()
    };
    let report = v1::RecordSuccessRequest {
        caller: caller(),
        successes: vec![success(tool("wiki"), 500), success(None, 200), success(tool("wiki"), 200)],
        ..v1::RecordSuccessRequest::default()
    };
    let results = client.record_success(report).await.unwrap().into_inner().results;
    let outcomes: Vec<_> = results.iter().map(v1::SuccessResult::outcome).collect();
    let expected =
        [v1::SuccessOutcome::NotASuccess, v1::SuccessOutcome::Unspecified, v1::SuccessOutcome::Cleared];
    assert_eq!(outcomes, expected);
    assert_eq!(results[1].status.as_ref().unwrap().field, "successes[1].tool");
    assert_eq!(results[2].state(), v1::ToolState::Ok);
    running.stop().await;
}

/// DESIGN §5: all field violations at once, with the reason; too many tools.
#[tokio::test]
async fn errors_carry_reason_and_every_field() {
    let running = Running::start(config()).await;
    let mut client = running.health().await;
    let status = client.check(v1::CheckRequest::default()).await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::InvalidArgument, "INVALID_FIELD"));
    let fields = status.get_details_bad_request().unwrap().field_violations;
    assert_eq!(fields.iter().map(|it| it.field.as_str()).collect::<Vec<_>>(), ["caller", "tool"]);

    let tools = vec![tool("a").unwrap(); 1_001];
    let request = v1::LookupRequest { caller: caller(), tools, ..v1::LookupRequest::default() };
    let status = client.lookup(request).await.unwrap_err();
    assert_eq!(reason(&status), "TOO_MANY_ITEMS");

    let request = v1::GetDocumentRequest {
        tenant_id: "acme".to_owned(),
        key: Some(v1::DocumentKey {
            scope: v1::Scope::Project.into(),
            scope_id: "essay".to_owned(),
            tool_name: "never".to_owned(),
            provider: String::new(),
        }),
        ..v1::GetDocumentRequest::default()
    };
    let status = running.admin().await.get_document(request).await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::NotFound, "DOCUMENT_NOT_FOUND"));
    running.stop().await;
}

/// Bad input: a body over the limit is cut for matching and never rejected; a whole request over the limit is.
#[tokio::test]
async fn long_bodies_are_read_and_endless_requests_are_not() {
    let mut config = config();
    config.limits.max_request_bytes = 1 << 20;
    let running = Running::start(config).await;
    let mut client = running.health().await;
    let with_body = |n: usize| v1::CheckRequest {
        failure: Some(v1::Failure { body: "x".repeat(n), ..v1::Failure::default() }),
        ..failed("jira_search", 500)
    };
    let answer = client.check(with_body(900_000)).await.unwrap().into_inner();
    assert_eq!(answer.warnings[0].code(), v1::WarningCode::Cut);
    assert_eq!(answer.warnings[0].field, "failure.body");
    let status = client.check(with_body(2 << 20)).await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::ResourceExhausted, "REQUEST_TOO_LARGE"));
    let (status, _, body) = running.http("POST /v1/check", "", &"x".repeat(2 << 20)).await;
    assert_eq!(status, 413, "{body}");
    assert!(body.contains("REQUEST_TOO_LARGE"), "{body}");
    running.stop().await;
}

/// DESIGN §5: JSON for Check, RecordSuccess and Lookup on the same port.
#[tokio::test]
async fn the_same_port_speaks_json() {
    let running = Running::start(config()).await;
    let check = r#"{"caller": {"tenantId": "acme", "userId": "alice"}, "tool": {"name": "jira_search"},
                    "failure": {"httpStatus": 403, "kind": "FAILURE_KIND_UNHEARD_OF"}}"#;
    let (status, head, body) = running.http("POST /v1/check", "", check).await;
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let json: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(json["verdict"]["classification"], "CLASSIFICATION_USER_PERMISSION");
    assert_eq!(json["warnings"][0]["field"], "failure.kind");

    let lookup = r#"{"caller": {"tenant_id": "acme"}, "tools": [{"name": "jira_search"}]}"#;
    let (status, _, body) = running.http("POST /v1/lookup", "", lookup).await;
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("TOOL_STATE_OK"), "{body}");

    let success = r#"{"caller": {"tenant_id": "acme"}, "successes": [{"tool": {"name": "jira_search"}}]}"#;
    let (status, _, body) = running.http("POST /v1/record-success", "", success).await;
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("NOTHING_TO_CLEAR"), "{body}");

    for (body, reason, needle) in [
        (r#"{"caler": {}}"#, "MALFORMED_REQUEST", "caler"),
        ("nonsense", "MALFORMED_REQUEST", "no JSON"),
        (r#"{"caller": {"tenant_id": "acme"}}"#, "INVALID_FIELD", "tool"),
    ] {
        let (status, head, problem) = running.http("POST /v1/check", "", body).await;
        assert_eq!(status, 400, "{problem}");
        assert!(head.contains("content-type: application/problem+json"), "{head}");
        let json: serde_json::Value = serde_json::from_str(&problem).unwrap();
        assert_eq!(json["reason"], reason);
        assert!(json["detail"].as_str().unwrap().contains(needle), "{problem}");
    }
    running.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_said_in_the_callers_own_protocol() {
    let running = Running::start(config()).await;
    assert_eq!(running.http("GET /nowhere", "", "").await.0, 404);
    assert_eq!(running.http("GET /v1/check", "", "").await.0, 405);
    let page = "origin: http://evil.example\r\n";
    let (status, _, body) = running.http("POST /v1/check", page, "{}").await;
    assert_eq!(status, 400);
    assert!(body.contains("web page"), "{body}");

    let mut grpc = tonic::client::Grpc::new(running.channel().await);
    grpc.ready().await.unwrap();
    let path = http::uri::PathAndQuery::from_static("/agrajag.v1.ToolHealthService/Nothing");
    let codec = tonic_prost::ProstCodec::<v1::GetInfoRequest, v1::GetInfoResponse>::default();
    let request = tonic::Request::new(v1::GetInfoRequest {});
    assert_eq!(grpc.unary(request, path, codec).await.unwrap_err().code(), Code::Unimplemented);
    running.stop().await;
}

/// Health service, metrics and the server's own description.
#[tokio::test]
async fn operators_see_how_it_stands() {
    let running = Running::start(config()).await;
    let mut health = tonic_health::pb::health_client::HealthClient::new(running.channel().await);
    for service in ["", "agrajag.store"] {
        let is_serving = eventually(Duration::from_secs(10), || {
            let mut health = health.clone();
            async move {
                let request = tonic_health::pb::HealthCheckRequest { service: service.to_owned() };
                health.check(request).await.is_ok_and(|it| it.into_inner().status == 1)
            }
        })
        .await;
        assert!(is_serving, "{service}");
    }
    let unknown = tonic_health::pb::HealthCheckRequest { service: "nobody".to_owned() };
    assert_eq!(health.check(unknown).await.unwrap_err().code(), Code::NotFound);

    running.health().await.check(failed("jira_search", 403)).await.unwrap();
    let (status, _, text) = running.http("GET /metrics", "", "").await;
    assert_eq!(status, 200);
    assert!(text.contains("agrajag_checks_total{classification=\"USER_PERMISSION\"} 1"), "{text}");
    assert!(text.contains("agrajag_store_available 1"), "{text}");
    assert!(!text.contains("acme") && !text.contains("jira_search"), "{text}");

    let (status, _, body) = running.http("GET /healthz", "", "").await;
    assert_eq!(status, 200);
    assert!(body.contains("\"store\":\"available\""), "{body}");

    let info = running.health().await.get_info(v1::GetInfoRequest {}).await.unwrap().into_inner();
    assert_eq!((info.store_kind.as_str(), info.store_available), ("memory", true));
    assert_eq!(info.mode(), v1::ServerMode::Active);
    assert_eq!(info.limits.unwrap().max_tools, 1_000);

    let mut reflection = tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient::new(
        running.channel().await,
    );
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    let request = tonic_reflection::pb::v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers =
        reflection.server_reflection_info(futures::stream::iter([request])).await.unwrap().into_inner();
    let answer = format!("{:?}", answers.message().await.unwrap());
    assert!(
        answer.contains("agrajag.v1.AdminService") && answer.contains("grpc.health.v1.Health"),
        "{answer}"
    );
    running.stop().await;
}

/// A watch sees changes of others, and is told when the server ends.
#[tokio::test]
async fn a_watch_sees_changes_and_the_end() {
    use v1::watch_response::Event;
    let running = Running::start(config()).await;
    let request = v1::WatchRequest {
        caller: caller(),
        tools: vec![tool("wiki").unwrap()],
        ..v1::WatchRequest::default()
    };
    let mut watch = running.health().await.watch(request).await.unwrap().into_inner();
    let first = watch.message().await.unwrap().unwrap();
    let Some(Event::Snapshot(snapshot)) = first.event else { panic!("{first:?}") };
    assert!(snapshot.last);
    assert_eq!(snapshot.tools[0].state(), v1::ToolState::Ok);

    let down = v1::CheckRequest { failure: Some(refused()), ..failed("wiki", 0) };
    running.health().await.check(down).await.unwrap();
    let second = watch.message().await.unwrap().unwrap();
    let Some(Event::Change(change)) = second.event else { panic!("{second:?}") };
    assert_eq!((change.tools[0].tool_name.as_str(), change.tools[0].state()), ("wiki", v1::ToolState::Down));

    running.stop().await;
    let status = watch.message().await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::Unavailable, "SHUTTING_DOWN"));
}

#[tokio::test]
async fn a_port_in_use_is_an_error_that_says_what_to_do() {
    let running = Running::start(config()).await;
    let second = Config { listen: running.address, ..config() };
    let Err(error) = Server::bind(second).await else { panic!() };
    let text = error.to_string();
    assert!(text.contains(&running.address.to_string()) && text.contains("port is in use"), "{text}");
    running.stop().await;
}

/// DESIGN §10, §2.4: a store that is away at the start is no reason to fail; nothing blocks, and the answers say so.
#[tokio::test]
async fn a_server_starts_without_its_store_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let store = Some(StoreUrl::Sqlite(dir.path().join("file/agrajag.db")));
    let required = Config { store: store.clone(), require_store: true, ..config() };
    let Err(error) = Server::bind(required).await else { panic!() };
    assert!(error.to_string().contains("cannot open the store"), "{error}");

    let running = Running::start(Config { store, ..config() }).await;
    let down = v1::CheckRequest { failure: Some(refused()), ..failed("wiki", 0) };
    let answer = running.health().await.check(down).await.unwrap().into_inner();
    assert!(answer.stale);
    assert!(
        answer.warnings.iter().any(|it| it.code() == v1::WarningCode::StoreAway),
        "{:?}",
        answer.warnings
    );
    let verdict = answer.verdict.unwrap();
    assert_eq!(verdict.classification(), v1::Classification::TechnicallyBroken, "the rules need no store");
    assert_eq!(verdict.durability(), v1::Durability::None);

    let list =
        v1::ListDocumentsRequest { tenant_id: "acme".to_owned(), ..v1::ListDocumentsRequest::default() };
    let status = running.admin().await.list_documents(list).await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::Unavailable, "STORE_UNAVAILABLE"));
    let (status, _, body) = running.http("GET /healthz", "", "").await;
    assert_eq!(status, 200, "serving goes on");
    assert!(body.contains("\"store\":\"away\""), "{body}");

    // The place becomes usable: the server finds it by itself.
    std::fs::remove_file(dir.path().join("file")).unwrap();
    let is_back = eventually(Duration::from_secs(20), || async {
        running.http("GET /healthz", "", "").await.2.contains("\"store\":\"available\"")
    })
    .await;
    assert!(is_back);
    running.stop().await;
}

/// R121: rule files are in force within 2 s.
#[tokio::test]
async fn rule_files_are_followed() {
    let documents = tempfile::tempdir().unwrap();
    let running = Running::start(Config { documents: Some(documents.path().to_owned()), ..config() }).await;
    let verdict = async || {
        let teapot = v1::CheckRequest { detail: v1::DetailLevel::Full.into(), ..failed("jira_search", 418) };
        running.health().await.check(teapot).await.unwrap().into_inner().verdict.unwrap()
    };
    assert_eq!(verdict().await.rule_id, "fallback");
    let folder = documents.path().join("acme/essay/_vance/agrajag");
    std::fs::create_dir_all(&folder).unwrap();
    let rule = "patterns:\n  - id: teapot\n    match: {httpStatus: 418}\n    signature: teapot\n    classification: USER_INPUT\n";
    std::fs::write(folder.join("error-patterns.yaml"), rule).unwrap();
    let in_force = eventually(Duration::from_secs(2), || async { verdict().await.rule_id == "teapot" }).await;
    assert!(in_force);
    let verdict = verdict().await;
    assert_eq!(verdict.classification(), v1::Classification::UserInput);
    assert!(verdict.evidence.iter().any(|it| it.field.contains("httpStatus")), "{:?}", verdict.evidence);
    running.stop().await;
}
