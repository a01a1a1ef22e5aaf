//! Requests in few words: the callers, tools and failures that most stories are made of.

use agrajag_proto::v1;
use prost_types::{Duration, Timestamp};

/// The tenant of most stories.
pub const TENANT: &str = "acme";

/// The project of most stories.
pub const PROJECT: &str = "essay";

/// A user of `acme/essay`, without a session.
#[must_use]
pub fn caller(user: &str) -> v1::Caller {
    v1::Caller {
        tenant_id: TENANT.to_owned(),
        project_id: PROJECT.to_owned(),
        user_id: user.to_owned(),
        ..Default::default()
    }
}

/// A user of `acme/essay` in a session.
#[must_use]
pub fn in_session(user: &str, session: &str) -> v1::Caller {
    v1::Caller { session_id: session.to_owned(), ..caller(user) }
}

/// A tool that calls an HTTP API.
#[must_use]
pub fn rest(name: &str) -> v1::Tool {
    v1::Tool { name: name.to_owned(), kind: v1::ToolKind::Rest.into(), ..Default::default() }
}

/// A tool that runs in the client.
#[must_use]
pub fn client(name: &str) -> v1::Tool {
    v1::Tool { name: name.to_owned(), kind: v1::ToolKind::Client.into(), ..Default::default() }
}

/// A failure with an HTTP status.
#[must_use]
pub fn http(status: i32) -> v1::Failure {
    v1::Failure { http_status: Some(status), ..Default::default() }
}

/// A failure with an HTTP status and a body.
#[must_use]
pub fn http_body(status: i32, body: &str) -> v1::Failure {
    v1::Failure { body: body.to_owned(), ..http(status) }
}

/// A failure with an HTTP status and one header.
#[must_use]
pub fn http_header(status: i32, name: &str, value: &str) -> v1::Failure {
    v1::Failure { headers: vec![header(name, value)], ..http(status) }
}

/// A header.
#[must_use]
pub fn header(name: &str, value: &str) -> v1::Header {
    v1::Header { name: name.to_owned(), value: value.to_owned() }
}

/// An exception.
#[must_use]
pub fn exception(name: &str, message: &str) -> v1::Failure {
    v1::Failure { exception_type: name.to_owned(), message: message.to_owned(), ..Default::default() }
}

/// A refused connection as Python's requests prints it.
#[must_use]
pub fn connection_refused() -> v1::Failure {
    exception(
        "requests.exceptions.ConnectionError",
        "HTTPSConnectionPool(host='jira.example.com', port=443): Max retries exceeded with url: /rest/api/3/search \
         (Caused by NewConnectionError('<urllib3.connection.HTTPSConnection object>: Failed to establish a new \
         connection: [Errno 111] Connection refused'))",
    )
}

/// A report of a failed call.
#[must_use]
pub fn check(caller: v1::Caller, tool: v1::Tool, failure: v1::Failure) -> v1::CheckRequest {
    v1::CheckRequest { caller: Some(caller), tool: Some(tool), failure: Some(failure), ..Default::default() }
}

/// A report of one successful call that took no time.
#[must_use]
pub fn success(caller: v1::Caller, tool: v1::Tool) -> v1::RecordSuccessRequest {
    let success = v1::Success { tool: Some(tool), ok: Some(true), ..Default::default() };
    v1::RecordSuccessRequest { caller: Some(caller), successes: vec![success], ..Default::default() }
}

/// A report about a connection that hosts one tool.
#[must_use]
pub fn event(caller: v1::Caller, tool: v1::Tool, event: v1::ToolEvent) -> v1::RecordEventRequest {
    v1::RecordEventRequest {
        caller: Some(caller),
        tools: vec![tool],
        event: event.into(),
        ..Default::default()
    }
}

/// A question about tools.
#[must_use]
pub fn lookup(caller: v1::Caller, tools: impl IntoIterator<Item = v1::Tool>) -> v1::LookupRequest {
    v1::LookupRequest { caller: Some(caller), tools: tools.into_iter().collect(), ..Default::default() }
}

/// The key of a document.
#[must_use]
pub fn key(scope: v1::Scope, scope_id: &str, tool: &str) -> v1::DocumentKey {
    v1::DocumentKey {
        scope: scope.into(),
        scope_id: scope_id.to_owned(),
        tool_name: tool.to_owned(),
        provider: String::new(),
    }
}

/// The key of a tool at the project of most stories.
#[must_use]
pub fn at_project(tool: &str) -> v1::DocumentKey {
    key(v1::Scope::Project, PROJECT, tool)
}

/// A span.
#[must_use]
pub const fn seconds(n: i64) -> Duration {
    Duration { seconds: n, nanos: 0 }
}

/// An instant in microseconds since the epoch, to compare and to add to.
#[must_use]
pub fn micros(at: &Timestamp) -> i64 {
    at.seconds * 1_000_000 + i64::from(at.nanos) / 1_000
}

/// The instant at so many microseconds since the epoch.
#[must_use]
pub fn at_micros(micros: i64) -> Timestamp {
    let nanos = i32::try_from(micros.rem_euclid(1_000_000) * 1_000).unwrap_or(0);
    Timestamp { seconds: micros.div_euclid(1_000_000), nanos }
}

/// `at` moved by so many milliseconds.
#[must_use]
pub fn moved(at: &Timestamp, millis: i64) -> Timestamp {
    at_micros(micros(at) + millis * 1_000)
}
