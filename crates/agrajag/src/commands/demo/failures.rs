//! The failures of the story, as agent runtimes report them.
//!
//! Machine-printed errors stand as the runtimes print them; hosts and names are made up. Nothing here knows what the
//! server makes of them.

use agrajag_proto::v1;

/// An HTTP answer: status, headers, body.
fn answer(status: i32, headers: &[(&str, &str)], body: &str) -> v1::Failure {
    v1::Failure {
        dispatch_code: v1::DispatchCode::BackendFailed.into(),
        http_status: Some(status),
        headers: headers
            .iter()
            .map(|(name, value)| v1::Header { name: (*name).to_owned(), value: (*value).to_owned() })
            .collect(),
        body: body.to_owned(),
        phase: v1::CallPhase::Call.into(),
        ..Default::default()
    }
}

/// An exception with its chain of causes: name, message, code.
fn thrown(name: &str, message: &str, causes: &[(&str, &str, &str)]) -> v1::Failure {
    v1::Failure {
        exception_type: name.to_owned(),
        message: message.to_owned(),
        causes: causes
            .iter()
            .map(|(name, message, code)| v1::Cause {
                r#type: (*name).to_owned(),
                message: (*message).to_owned(),
                code: (*code).to_owned(),
            })
            .collect(),
        ..Default::default()
    }
}

/// The registry forgot a tool because its client is gone.
pub(super) fn not_registered() -> v1::Failure {
    v1::Failure {
        dispatch_code: v1::DispatchCode::NotRegistered.into(),
        message: "no tool `editor_open` in any source".to_owned(),
        ..Default::default()
    }
}

/// A user lacks a right.
pub(super) fn forbidden() -> v1::Failure {
    answer(
        403,
        &[("content-type", "application/json")],
        r#"{"errorMessages":["no permission to browse project PAY"],"errors":{}}"#,
    )
}

/// A rate limit that says how many seconds it lasts.
pub(super) fn rate_limited(seconds: u32) -> v1::Failure {
    answer(
        429,
        &[("content-type", "application/json"), ("retry-after", &seconds.to_string())],
        r#"{"error":"rate_limited"}"#,
    )
}

/// Nothing listens behind the tool, as Go prints it.
pub(super) fn refused_in_go() -> v1::Failure {
    v1::Failure {
        kind: v1::FailureKind::ConnectRefused.into(),
        phase: v1::CallPhase::Connect.into(),
        ..thrown(
            "*url.Error",
            "Get \"http://wiki.internal:8090/rest/api/content\": dial tcp 10.1.2.3:8090: connect: connection refused",
            &[],
        )
    }
}

/// The same fault as three runtimes print it: language, what the line shows, failure.
pub(super) fn refused_in_three_languages() -> [(&'static str, &'static str, v1::Failure); 3] {
    [
        ("java", "ConnectException", thrown("java.net.ConnectException", "Connection refused", &[])),
        (
            "python",
            "ConnectionRefusedError",
            thrown(
                "requests.exceptions.ConnectionError",
                "HTTPConnectionPool(host='billing.internal', port=8443): Max retries exceeded with url: /v2/invoices \
                 (Caused by NewConnectionError(\"HTTPConnection(host='billing.internal', port=8443): Failed to \
                 establish a new connection: [Errno 111] Connection refused\"))",
                &[
                    ("urllib3.exceptions.NewConnectionError", "Failed to establish a new connection", ""),
                    ("ConnectionRefusedError", "[Errno 111] Connection refused", ""),
                ],
            ),
        ),
        (
            "node",
            "fetch failed, ECONNREFUSED",
            thrown(
                "TypeError",
                "fetch failed",
                &[("Error", "connect ECONNREFUSED 10.1.2.4:8443", "ECONNREFUSED")],
            ),
        ),
    ]
}

/// An error that tells nothing.
pub(super) fn internal_error() -> v1::Failure {
    answer(
        500,
        &[("content-type", "text/html"), ("server", "nginx")],
        "<html><head><title>500 Internal Server Error</title></head><body></body></html>",
    )
}
