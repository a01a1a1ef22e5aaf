//! HTTP with JSON on the same port: a curl line is the first minute.

use agrajag_proto::v1::{ErrorReason, ToolState};
use agrajag_tests::http::{Reply, exchange, get, head, post};
use agrajag_tests::messages::{caller, rest};
use agrajag_tests::on_every_store;
use agrajag_tests::refusal::named;
use agrajag_tests::server::{Server, Setup};
use serde_json::{Value, json};

on_every_store! { the_three_calls_work_over_json }

/// The reason of a problem, checked to have a page, and its fields.
fn problem(reply: &Reply) -> (ErrorReason, Vec<String>) {
    assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{reply:?}");
    let body = reply.json();
    assert_eq!((&body["domain"], &body["status"]), (&json!("agrajag"), &json!(reply.status)), "{body}");
    let fields = body["violations"].as_array().cloned().unwrap_or_default();
    let fields = fields.iter().filter_map(|it| it["field"].as_str().map(str::to_owned));
    (named(body["reason"].as_str().expect("a reason")), fields.collect())
}

/// DESIGN §5: Check, Lookup and RecordSuccess by JSON have the effects of gRPC, and answer in its JSON mapping.
async fn the_three_calls_work_over_json(server: &Server) {
    let call = json!({
        "caller": { "tenantId": "acme", "projectId": "essay", "userId": "alice" },
        "tool": { "name": "jira_search", "kind": "TOOL_KIND_REST" },
        "failure": {
            "exceptionType": "java.net.ConnectException", "message": "Connection refused",
            "headers": [], "elapsed": "1.5s"
        },
        "detail": "DETAIL_LEVEL_FULL"
    });
    let reply = post(server.address, "/v1/check", call.to_string()).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")), "{reply:?}");
    let verdict = &reply.json()["verdict"];
    assert_eq!(verdict["classification"], "CLASSIFICATION_TECHNICALLY_BROKEN");
    assert_eq!(verdict["signature"], "connect-refused");
    assert_eq!(verdict["cooldown"]["hits"], "1", "64-bit numbers are texts");
    assert!(verdict["retryAt"].as_str().is_some_and(|it| it.ends_with('Z')), "{verdict}");
    assert!(!verdict["evidence"].as_array().expect("evidence").is_empty());
    assert_eq!(server.client.state(caller("bob"), rest("jira_search")).await, ToolState::Down);

    let tools = json!({ "caller": { "tenant_id": "acme", "project_id": "essay" }, "tools": [{ "name": "jira_search" }] });
    let reply = post(server.address, "/v1/lookup", tools.to_string()).await.json();
    assert_eq!(reply["tools"][0]["state"], "TOOL_STATE_DOWN");
    let again = json!({
        "caller": { "tenant_id": "acme", "project_id": "essay" }, "tools": [{ "name": "jira_search" }],
        "shown": reply["shown"]
    });
    let done = json!({
        "caller": { "tenantId": "acme", "projectId": "essay", "userId": "bob" },
        "successes": [{ "tool": { "name": "jira_search" }, "httpStatus": 200 }]
    });
    let reply = post(server.address, "/v1/record-success", done.to_string()).await.json();
    assert_eq!(reply["results"][0]["outcome"], "SUCCESS_OUTCOME_CLEARED");
    assert_eq!(reply["durability"], "DURABILITY_COMMITTED");
    let reply = post(server.address, "/v1/lookup", again.to_string()).await.json();
    assert_eq!(reply["recovered"], json!(["jira_search"]));
}

/// R129: a rendering over JSON holds the verdict's own words and time; an unknown dialect, or one that needs the call's
/// id, is left out with a warning (DESIGN §5).
#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_is_rendered_on_request() {
    let server = Setup::memory().start().await;
    let mut call = json!({
        "caller": { "tenantId": "acme", "userId": "alice" },
        "tool": { "name": "mail_send" },
        "failure": { "httpStatus": 429, "headers": [{ "name": "Retry-After", "value": "1800" }] }
    });
    let plain = post(server.address, "/v1/check", call.to_string()).await.json();
    assert_eq!(plain.get("renderings"), None, "nothing is rendered unasked: {plain}");
    call["render"] = json!(["problem_json", "RENDER_DIALECT_LANGCHAIN", "SMOKE_SIGNS"]);
    let reply = post(server.address, "/v1/check", call.to_string()).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let reply = reply.json();
    let renderings = reply["renderings"].as_array().expect("renderings");
    assert_eq!(renderings.len(), 1, "{reply}");
    assert_eq!(renderings[0]["dialect"], "RENDER_DIALECT_PROBLEM_JSON");
    assert_eq!(renderings[0]["mediaType"], "application/problem+json");
    let problem: Value =
        serde_json::from_str(renderings[0]["content"].as_str().expect("a text")).expect("JSON");
    assert_eq!(problem["detail"], reply["verdict"]["text"]);
    let time =
        |it: &Value| chrono::DateTime::parse_from_rfc3339(it.as_str().expect("a time")).expect("RFC 3339");
    assert_eq!(time(&problem["retry_at"]), time(&reply["verdict"]["retryAt"]));
    let header = problem["retry_after"].as_str().expect("a date");
    let header = chrono::DateTime::parse_from_rfc2822(header).expect("a date of HTTP");
    let late = (header - time(&problem["retry_at"])).num_milliseconds();
    assert!((0..1_000).contains(&late), "{problem}");
    let warnings = reply["warnings"].as_array().expect("warnings");
    let fields: Vec<&str> = warnings.iter().filter_map(|it| it["field"].as_str()).collect();
    assert_eq!(fields, ["render[2]", "call_id"]);
}

/// DESIGN §5: odd words of a report are passed over with a warning, over JSON too.
#[tokio::test(flavor = "multi_thread")]
async fn odd_words_become_warnings() {
    let server = Setup::memory().start().await;
    let call = json!({
        "caller": { "tenantId": "acme" },
        "tool": { "name": "a", "kind": "TOOL_KIND_QUANTUM" },
        "failure": { "httpStatus": 4_030_000_000_u64, "kind": "nonsense", "occurredAt": "2999-01-01T00:00:00Z" }
    });
    let reply = post(server.address, "/v1/check", call.to_string()).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let reply = reply.json();
    let warnings = reply["warnings"].as_array().expect("warnings");
    let fields: Vec<&str> = warnings.iter().filter_map(|it| it["field"].as_str()).collect();
    for field in ["tool.kind", "failure.kind", "failure.http_status", "failure.occurred_at"] {
        assert!(fields.contains(&field), "{field}: {fields:?}");
    }
}

/// "Bad input": what is no JSON, or no JSON of the message, is told with the place; a field that is missing with its path.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_bodies_are_told_where() {
    let server = Setup::memory().start().await;
    for (body, word) in [
        ("", "JSON"),
        ("{", "JSON"),
        ("[]", "object"),
        ("null", "object"),
        ("\u{feff}{}", "JSON"),
        (r#"{"caler": {}}"#, "caler"),
        (r#"{"tool": {"name": 5}}"#, "tool.name"),
        (r#"{"failure": {"headers": [{"nam": "x"}]}}"#, "failure.headers[0].nam"),
    ] {
        let reply = post(server.address, "/v1/check", body).await;
        assert_eq!(
            (reply.status, problem(&reply).0),
            (400, ErrorReason::MalformedRequest),
            "{body}: {reply:?}"
        );
        assert!(
            reply.json()["detail"].as_str().is_some_and(|it| it.contains(word)),
            "{body}: {}",
            reply.body
        );
    }
    let deep = "[".repeat(200_000);
    let reply = post(server.address, "/v1/check", deep).await;
    assert_eq!(problem(&reply).0, ErrorReason::MalformedRequest);
    let reply = post(server.address, "/v1/check", [0xff, 0xfe, 0x00]).await;
    assert_eq!(problem(&reply).0, ErrorReason::MalformedRequest);

    let reply = post(server.address, "/v1/check", r#"{"caller": {}, "tool": {}}"#).await;
    let (reason, fields) = problem(&reply);
    assert_eq!((reply.status, reason), (400, ErrorReason::InvalidField));
    assert_eq!(fields, ["caller.tenant_id", "tool.name"]);
    let many: Vec<Value> = (0..1_001).map(|n| json!({ "name": format!("t{n}") })).collect();
    let many = json!({ "caller": { "tenantId": "acme" }, "tools": many });
    let reply = post(server.address, "/v1/lookup", many.to_string()).await;
    assert_eq!((problem(&reply).0, reply.status), (ErrorReason::TooManyItems, 400));
}

/// `docs/errors/MALFORMED_REQUEST`: a time, span or number that is none is told with the path of its field as well.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_values_are_told_where() {
    let server = Setup::memory().start().await;
    for (body, field) in [
        (r#"{"failure": {"occurredAt": "yesterday"}}"#, "failure.occurredAt"),
        (r#"{"failure": {"elapsed": "long"}}"#, "failure.elapsed"),
        (r#"{"failure": {"jsonRpcCode": "minus one"}}"#, "failure.jsonRpcCode"),
        (r#"{"failure": {"attempt": -1}}"#, "failure.attempt"),
    ] {
        let reply = post(server.address, "/v1/check", body).await;
        assert_eq!(
            (reply.status, problem(&reply).0),
            (400, ErrorReason::MalformedRequest),
            "{body}: {reply:?}"
        );
        assert!(
            reply.json()["detail"].as_str().is_some_and(|it| it.contains(field)),
            "{body}: {}",
            reply.body
        );
    }
}

/// A body over the limit is refused with 413, and what is announced is not believed.
#[tokio::test(flavor = "multi_thread")]
async fn whole_requests_have_a_limit() {
    let limit = 128 << 10;
    let server = Setup::memory().set("limits.max_request_bytes", limit).start().await;
    let call = |bytes: usize| {
        json!({ "caller": { "tenantId": "acme" }, "tool": { "name": "a" }, "failure": { "body": "x".repeat(bytes) } })
            .to_string()
    };
    assert_eq!(post(server.address, "/v1/check", call(100 << 10)).await.status, 200);
    let reply = post(server.address, "/v1/check", call(200 << 10)).await;
    assert_eq!((reply.status, problem(&reply).0), (413, ErrorReason::RequestTooLarge), "{reply:?}");
}

/// Requests that a web page sent are refused: no page of somebody's browser writes to a server on their machine.
#[tokio::test(flavor = "multi_thread")]
async fn web_pages_are_refused() {
    let server = Setup::memory().start().await;
    let body = r#"{"caller": {"tenantId": "acme"}, "tool": {"name": "a"}}"#;
    let plain = head("POST", "/v1/check", server.address, Some("text/plain"), body.len());
    assert_eq!(
        exchange(server.address, &plain, body.as_bytes()).await.status,
        200,
        "any content type is JSON"
    );
    let paged = plain.replacen("\r\n\r\n", "\r\norigin: https://evil.example\r\n\r\n", 1);
    let reply = exchange(server.address, &paged, body.as_bytes()).await;
    assert!((400..500).contains(&reply.status), "{reply:?}");
}

/// Other paths and methods are answered as HTTP has it.
#[tokio::test(flavor = "multi_thread")]
async fn other_paths_and_methods_are_told() {
    let server = Setup::memory().start().await;
    assert_eq!(get(server.address, "/").await.status, 404);
    assert_eq!(get(server.address, "/v1/check").await.status, 405);
    assert_eq!(post(server.address, "/healthz", "{}").await.status, 405);
    let reply = exchange(server.address, "NONSENSE\r\n\r\n", b"").await;
    assert_eq!(reply.status, 400);
    assert_eq!(get(server.address, "/healthz").await.status, 200);
}
