//! The match language: when each condition holds, alone and together.

mod support;

use checker::RuleTable;
use health_model::failure::Cause;
use health_model::{DispatchCode, Failure, FailureKind, NotFoundOf, Target, Tool, ToolKind};
use support::{status, table, tool, typed};

/// A table whose first rule has this `match`.
fn first(matched: &str) -> RuleTable {
    table(&format!(
        "patterns:\n  - {{id: it, before: first, match: {matched}, signature: it, classification: UNCLEAR}}\n"
    ))
}

fn holds(matched: &str, failure: &Failure) -> bool {
    holds_for(matched, &tool(ToolKind::Mcp), failure)
}

fn holds_for(matched: &str, tool: &Tool, failure: &Failure) -> bool {
    first(matched).classify(tool, failure).rule().id == "it"
}

fn body(text: &str) -> Failure {
    Failure { body: text.to_owned(), ..Failure::default() }
}

/// R109, R110: a status exactly, a range with both ends; never one that stands in the text.
#[test]
fn statuses() {
    assert!(holds("{httpStatus: 418}", &status(418)));
    assert!(!holds("{httpStatus: 418}", &status(419)));
    for (code, expected) in [(409, false), (410, true), (415, true), (420, true), (421, false)] {
        assert_eq!(holds("{httpStatusRange: [410, 420]}", &status(code)), expected, "{code}");
    }
    for text in ["HTTP 418", "after 418 ms", "status: 418", "(418) I'm a teapot"] {
        let failure = Failure { message: text.to_owned(), ..body(text) };
        assert!(!holds("{httpStatus: 418}", &failure), "{text}");
        assert!(!holds("{httpStatusRange: [400, 499]}", &failure), "{text}");
    }
}

/// R108: all fields must hold; a rule with only an error code does not match everything.
#[test]
fn fields_are_anded() {
    let both = "{httpStatus: 418, errorCode: E1}";
    let coded = Failure { error_code: Some("E1".to_owned()), ..status(418) };
    assert!(holds(both, &coded));
    assert!(!holds(both, &status(418)));
    assert!(!holds(both, &Failure { http_status: Some(500), ..coded }));
    assert!(!holds("{errorCode: E1}", &Failure::default()));
    assert!(!holds("{exceptionType: [a.B]}", &Failure::default()));
    assert!(!holds("{bodyContains: [x]}", &Failure::default()));
    assert!(!holds("{kind: [dns]}", &Failure::default()));
}

/// R111, C16: one of several names, also of a cause, also by its last segment, also by its kind.
#[test]
fn exception_types() {
    let matched = "{exceptionType: [com.acme.OddException, PlainOdd, java.net.NoRouteToHostException]}";
    assert!(holds(matched, &typed("com.acme.OddException", "")));
    assert!(!holds(matched, &typed("com.other.OddException", "")));
    assert!(!holds(matched, &typed("OddException", "")));
    assert!(holds(matched, &typed("acme::errors::PlainOdd", "")));
    assert!(holds(matched, &typed("EHOSTUNREACH", "")));
    let cause = Cause { exception_type: Some("x.PlainOdd".to_owned()), ..Cause::default() };
    assert!(holds(matched, &Failure { causes: vec![cause], ..typed("Outer", "") }));
}

/// R112: one of several texts, in the message, a cause or the body, with case.
#[test]
fn texts() {
    let matched = "{bodyContains: [\"over quota\", nope]}";
    assert!(holds(matched, &body("you are over quota now")));
    assert!(holds(matched, &Failure { message: "nope".to_owned(), ..Failure::default() }));
    let cause = Cause { message: "over quota".to_owned(), ..Cause::default() };
    assert!(holds(matched, &Failure { causes: vec![cause], ..Failure::default() }));
    assert!(!holds(matched, &body("Over quota")));
    assert!(
        !holds(matched, &Failure { message: "over ".to_owned(), ..body("quota") }),
        "not across two texts"
    );
    assert!(!holds(matched, &body(&format!("{}over quota", "x".repeat(16 * 1024)))), "past 16 KiB");
}

/// R113: the error code, wherever it was reported.
#[test]
fn error_codes() {
    for failure in [
        Failure { error_code: Some("-32001".to_owned()), ..Failure::default() },
        Failure { json_rpc_code: Some(-32_001), ..Failure::default() },
        body(r#"{"error": {"code": -32001}}"#),
        body(r#"{"error": {"code": "-32001"}}"#),
    ] {
        assert!(holds("{errorCode: -32001}", &failure), "{failure:?}");
        assert!(!holds("{errorCode: -3200}", &failure), "exactly");
    }
    assert!(holds(
        "{errorCode: 40P01}",
        &Failure { sql_state: Some("40P01".to_owned()), ..Failure::default() }
    ));
    assert!(holds(
        "{errorCode: ABORTED}",
        &Failure { grpc_status: Some("ABORTED".to_owned()), ..Failure::default() }
    ));
}

/// C16: the reporter's kind wins over every name; `timeout` stands for both of its special cases.
#[test]
fn kinds() {
    let said =
        Failure { kind: Some(FailureKind::Tls), ..typed("java.net.ConnectException", "Connection refused") };
    assert!(holds("{kind: [tls]}", &said));
    assert!(!holds("{kind: [connect_refused]}", &said));
    assert!(!holds("{exceptionType: [java.net.ConnectException]}", &said));
    for kind in [FailureKind::Timeout, FailureKind::ConnectTimeout, FailureKind::ReadTimeout] {
        let failure = Failure { kind: Some(kind), ..Failure::default() };
        assert!(holds("{kind: [timeout]}", &failure), "{kind}");
        assert_eq!(holds("{kind: [read_timeout]}", &failure), kind == FailureKind::ReadTimeout, "{kind}");
    }
}

/// C15: what the specification's five fields cannot say.
#[test]
fn flags_and_words() {
    let broken = Failure { schema_violation: true, ..Failure::default() };
    assert!(
        holds("{schemaViolation: true}", &broken) && !holds("{schemaViolation: true}", &Failure::default())
    );
    assert!(
        holds("{schemaViolation: false}", &Failure::default()) && !holds("{schemaViolation: false}", &broken)
    );
    let of = |it| Failure { not_found_of: it, ..status(404) };
    for (it, endpoint, entity) in [
        (None, true, false),
        (Some(NotFoundOf::Endpoint), true, false),
        (Some(NotFoundOf::Entity), false, true),
    ] {
        assert_eq!(holds("{httpStatus: 404, notFoundOf: endpoint}", &of(it)), endpoint, "{it:?}");
        assert_eq!(holds("{httpStatus: 404, notFoundOf: entity}", &of(it)), entity, "{it:?}");
    }
}

/// R13: what the dispatcher and the tool say are inputs like any other.
#[test]
fn tool_and_dispatcher() {
    let failed = Failure { dispatch_code: Some(DispatchCode::BackendFailed), ..Failure::default() };
    assert!(holds("{dispatchCode: [BACKEND_UNREACHABLE, BACKEND_FAILED]}", &failed));
    assert!(!holds("{dispatchCode: [BACKEND_UNREACHABLE]}", &failed));
    assert!(holds_for("{toolKind: [REST, CLIENT]}", &tool(ToolKind::Client), &Failure::default()));
    assert!(!holds_for("{toolKind: [REST, CLIENT]}", &tool(ToolKind::Mcp), &Failure::default()));
    assert!(!holds_for("{toolKind: [REST]}", &Tool::default(), &Failure::default()), "not said");
    let at = |target| Tool { target, ..tool(ToolKind::Builtin) };
    assert!(holds_for("{target: ARGUMENT}", &at(Some(Target::Argument)), &Failure::default()));
    assert!(holds_for("{target: FIXED}", &at(None), &Failure::default()), "not said = fixed");
    assert!(!holds_for("{target: FIXED}", &at(Some(Target::Argument)), &Failure::default()));
}
