//! The rules as they ship, over gRPC: real shapes of failures get the verdict that somebody who is called at night would
//! give, with whose fault it is, what to do and when.

use agrajag_proto::v1;
use agrajag_proto::v1::{Classification, Fault, Remedy, RetryBasis, Scope, ToolState};
use agrajag_tests::messages::{caller, exception, http, http_body, micros, rest};
use agrajag_tests::server::{Server, Setup};

async fn server() -> Server {
    Setup::memory().with_packs().start().await
}

/// DESIGN §6: the packs are on and named in their order.
#[tokio::test]
async fn the_packs_that_ship_are_named_in_their_order() {
    let info = server().await.client.info().await;
    assert_eq!(info.packs.first().map(String::as_str), Some("dev"));
    assert_eq!(info.packs.last().map(String::as_str), Some("status"));
    assert!(info.packs.len() >= 13, "{:?}", info.packs);
}

/// Codes before words before the status; the innermost cause wins.
#[tokio::test]
async fn the_innermost_cause_decides() {
    let server = server().await;
    let wrapped = "Error code: 500 - {'error': {'message': \"Http status code: 403 (Forbidden)\", 'code': 'http_error'}}";
    let cases: [(&str, v1::Failure, Classification, Fault, Remedy); 7] = [
        (
            "wrapped",
            v1::Failure { message: wrapped.to_owned(), ..http(500) },
            Classification::UserPermission,
            Fault::UserRight,
            Remedy::AskAdmin,
        ),
        (
            "empty_account",
            http_body(
                429,
                r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            ),
            Classification::UserSpecificTechnical,
            Fault::UserCredential,
            Remedy::AskAdmin,
        ),
        (
            "dead_grant",
            v1::Failure {
                message: "Error: Failed to send email: invalid_grant".to_owned(),
                ..Default::default()
            },
            Classification::UserSpecificTechnical,
            Fault::UserCredential,
            Remedy::Reauthenticate,
        ),
        (
            "deadlock",
            exception("org.postgresql.util.PSQLException", "ERROR: deadlock detected (SQLSTATE 40P01)"),
            Classification::Intermittent,
            Fault::Upstream,
            Remedy::RetryAt,
        ),
        (
            "certificate",
            exception(
                "javax.net.ssl.SSLHandshakeException",
                "PKIX path building failed: unable to find valid certification path to requested target",
            ),
            Classification::TechnicallyBroken,
            Fault::Upstream,
            Remedy::PlanWithout,
        ),
        (
            "argument",
            v1::Failure {
                message:
                    "MCP error -32602: Invalid arguments for tool chart: expected array, received string"
                        .to_owned(),
                ..Default::default()
            },
            Classification::UserInput,
            Fault::CallerInput,
            Remedy::FixInput,
        ),
        ("plain_500", http(500), Classification::Unclear, Fault::Upstream, Remedy::AwaitDiagnosis),
    ];
    for (tool, failure, class, fault, remedy) in cases {
        let verdict = server.client.verdict(caller("alice"), rest(tool), failure).await;
        assert_eq!(verdict.classification(), class, "{tool}: {verdict:?}");
        assert_eq!((verdict.fault(), verdict.remedy()), (fault, remedy), "{tool}: {verdict:?}");
        assert!(verdict.text.starts_with(&format!("Call of `{tool}` failed")), "{}", verdict.text);
    }
}

/// R117, R129: what the other side says of when is passed on exactly, wherever it says so.
#[tokio::test]
async fn a_retry_time_in_a_body_or_a_sentence_is_exact() {
    let server = server().await;
    for (tool, failure, millis) in [
        ("in_body", http_body(429, r#"{"retry_after":7,"ok":false,"error":"ratelimited"}"#), 7_000),
        ("in_words", http_body(429, "Rate limit reached for requests. Please try again in 18.642s."), 18_642),
    ] {
        let before = server.client.now().await;
        let verdict = server.client.verdict(caller("alice"), rest(tool), failure).await;
        let after = server.client.now().await;
        assert_eq!(verdict.classification(), Classification::Intermittent, "{verdict:?}");
        assert_eq!(verdict.retry_basis(), RetryBasis::Exact, "{verdict:?}");
        let at = micros(&verdict.retry_at.expect("a time"));
        assert!((before + millis * 1_000..=after + millis * 1_000).contains(&at), "{before} {at} {after}");
        assert_eq!(server.client.health(caller("alice"), rest(tool)).await.scope(), Scope::User);
        assert_eq!(server.client.state(caller("bob"), rest(tool)).await, ToolState::Ok);
    }
}

/// What the host or a person refused says nothing of the tool: answered, and nothing is written.
#[tokio::test]
async fn a_refusal_of_the_host_is_no_health_signal() {
    let server = server().await;
    let failure = v1::Failure {
        message: "The user doesn't want to proceed with this tool use.".to_owned(),
        ..Default::default()
    };
    for user in ["alice", "bob", "carol", "dave"] {
        let verdict = server.client.verdict(caller(user), rest("editor"), failure.clone()).await;
        assert_eq!(verdict.durability(), v1::Durability::None, "{verdict:?}");
        assert!(verdict.cooldown.is_none(), "{verdict:?}");
        assert_eq!((verdict.fault(), verdict.remedy()), (Fault::Unknown, Remedy::PlanWithout), "{verdict:?}");
        assert!(verdict.text.contains("the user or the host declined this call"), "{}", verdict.text);
    }
    assert_eq!(server.client.state(caller("alice"), rest("editor")).await, ToolState::Ok);
    assert!(server.client.jobs().await.is_empty());
}
