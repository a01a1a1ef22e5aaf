//! Reports with odd values: taken in with warnings, never refused for how a failure is described (DESIGN §5).

use agrajag_proto::v1;
use agrajag_proto::v1::{Classification, ErrorReason, SuccessOutcome, ToolState, WarningCode};
use agrajag_tests::client::{refusal, warned};
use agrajag_tests::messages::{
    at_micros, at_project, caller, check, client, connection_refused, event, header, http, http_body,
    in_session, micros, rest, seconds, success,
};
use agrajag_tests::on_every_store;
use agrajag_tests::server::{Server, Setup};
use tonic::Code;

on_every_store! { a_report_with_an_id_counts_once }

/// DESIGN §5: a retried report with the same id counts once, gets the same answer, and says so; another tenant's report of
/// the same id is another report.
async fn a_report_with_an_id_counts_once(server: &Server) {
    let report = |tenant: &str| v1::CheckRequest {
        report_id: "7f8d".to_owned(),
        ..check(v1::Caller { tenant_id: tenant.to_owned(), ..caller("alice") }, rest("search"), http(500))
    };
    let first = server.client.check(report("acme")).await;
    assert!(first.warnings.is_empty(), "{first:?}");
    let again = server.client.check(report("acme")).await;
    assert_eq!(again.verdict, first.verdict, "the same answer");
    assert_eq!(warned(&again.warnings), [(WarningCode::RepeatedReport, "report_id")]);
    // Copies that arrive at once are one as well.
    let copies = (0..20).map(|_| {
        let (mut tools, request) = (server.client.tools(), report("acme"));
        async move { tools.check(request).await.expect("Check answers").into_inner().verdict }
    });
    for verdict in futures::future::join_all(copies).await {
        assert_eq!(verdict, first.verdict);
    }
    let stranger = server.client.check(report("globex")).await;
    assert!(stranger.warnings.is_empty(), "{stranger:?}");
    let jobs = server.client.jobs().await;
    assert_eq!((jobs.len(), jobs[0].n_signals), (1, 1));
    let document = server.client.document(at_project("search")).await;
    assert_eq!(document.cooldowns[0].hits, 1, "counted once");

    server.client.verdict(caller("alice"), rest("jira"), connection_refused()).await;
    let report =
        v1::RecordSuccessRequest { report_id: "9a".to_owned(), ..success(caller("alice"), rest("jira")) };
    let first = server.client.successes(report.clone()).await;
    assert_eq!(first.results[0].outcome(), SuccessOutcome::Cleared);
    server.client.verdict(caller("alice"), rest("jira"), connection_refused()).await;
    let again = server.client.successes(report).await;
    assert_eq!(again.results, first.results);
    assert_eq!(
        server.client.state(caller("alice"), rest("jira")).await,
        ToolState::Down,
        "the retry cleared nothing"
    );
}

/// DESIGN §5: unknown words, odd headers, numbers out of range, future and ancient clocks are passed over, dropped or
/// clamped, each with a warning that names the field; the verdict is given all the same.
#[tokio::test(flavor = "multi_thread")]
async fn odd_values_become_warnings() {
    let server = Setup::memory().start().await;
    let now = server.client.now().await;
    let failure = v1::Failure {
        http_status: Some(403),
        dispatch_code: 77,
        kind: -3,
        phase: 1_000,
        credential: i32::MAX,
        not_found_of: i32::MIN,
        grpc_status: Some(99),
        sql_state: "way too long".to_owned(),
        headers: vec![
            header("Retry-After", "5"),
            header("", "no name"),
            header("two words", "x"),
            header("naïve", "x"),
            header("x\r\ny", "x"),
        ],
        elapsed: Some(seconds(-5)),
        occurred_at: Some(at_micros(now + 3_600_000_000)),
        ..Default::default()
    };
    let tool = v1::Tool { kind: 40, target: 41, home_scope: v1::Scope::Global.into(), ..rest("jira_search") };
    let request = v1::CheckRequest { detail: 42, ..check(caller("alice"), tool, failure) };
    let response = server.client.check(request).await;
    let verdict = response.verdict.expect("a verdict");
    assert_eq!(
        (verdict.classification(), verdict.signature.as_str()),
        (Classification::UserPermission, "http-403")
    );
    let warned = warned(&response.warnings);
    let unknown = ["failure.dispatch_code", "failure.kind", "failure.phase", "failure.credential"];
    let unknown =
        unknown.into_iter().chain(["failure.not_found_of", "tool.kind", "tool.target", "tool.home_scope"]);
    for field in unknown.chain(["detail"]) {
        assert!(warned.contains(&(WarningCode::UnknownValue, field)), "{field}: {warned:?}");
    }
    let dropped = ["failure.grpc_status", "failure.sql_state"].map(str::to_owned);
    let headers = (1..5).map(|at| format!("failure.headers[{at}].name"));
    for field in dropped.into_iter().chain(headers) {
        assert!(warned.contains(&(WarningCode::Dropped, field.as_str())), "{field}: {warned:?}");
    }
    for field in ["failure.elapsed", "failure.occurred_at"] {
        assert!(warned.contains(&(WarningCode::Clamped, field)), "{field}: {warned:?}");
    }
}

/// DESIGN §5: times are clamped into the last 24 hours, and times of no calendar are the time of arrival.
#[tokio::test(flavor = "multi_thread")]
async fn impossible_clocks_do_not_fail_a_report() {
    let server = Setup::memory().start().await;
    let times = [
        prost_types::Timestamp { seconds: i64::MAX, nanos: 0 },
        prost_types::Timestamp { seconds: i64::MIN, nanos: i32::MIN },
        prost_types::Timestamp { seconds: 0, nanos: -1 },
        prost_types::Timestamp { seconds: 0, nanos: 0 },
    ];
    for (n, at) in times.into_iter().enumerate() {
        let failure = v1::Failure {
            occurred_at: Some(at),
            elapsed: Some(prost_types::Duration { seconds: i64::MAX, nanos: i32::MAX }),
            ..connection_refused()
        };
        let response = server.client.check(check(caller("alice"), rest(&format!("tool_{n}")), failure)).await;
        let warned = warned(&response.warnings);
        assert!(warned.contains(&(WarningCode::Clamped, "failure.occurred_at")), "{at:?}: {warned:?}");
        assert!(warned.contains(&(WarningCode::Clamped, "failure.elapsed")), "{at:?}: {warned:?}");
        let until = response.verdict.expect("a verdict").cooldown.expect("a cooldown").until.expect("an end");
        let left = micros(&until) - server.client.now().await;
        assert!((1..=300_000_000).contains(&left), "a window of 5 minutes from arrival on, not {left} µs");
    }
}

/// "Bad input", DESIGN §6: a body over the limit is cut for matching and never rejected; what stands in its first 16 KiB
/// counts, what stands behind does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_body_is_cut_and_not_rejected() {
    let server = Setup::memory().start().await;
    let marker = "token_expired";
    let inside = format!("{}{marker}{}", "x".repeat((16 << 10) - marker.len()), "y".repeat(4 << 20));
    let response = server.client.check(check(caller("alice"), rest("a"), http_body(401, &inside))).await;
    assert_eq!(response.verdict.expect("a verdict").signature, "http-401-expired");
    assert!(
        warned(&response.warnings).contains(&(WarningCode::Cut, "failure.body")),
        "{:?}",
        response.warnings
    );
    let behind = format!("{}{marker}", "x".repeat(16 << 10));
    let response = server.client.check(check(caller("alice"), rest("b"), http_body(401, &behind))).await;
    assert_eq!(response.verdict.expect("a verdict").signature, "http-401");
    // Cut between characters: every byte of these takes two.
    let wide = "ä".repeat(1 << 20);
    let failure = v1::Failure { message: wide.clone(), stderr_tail: wide.clone(), ..http_body(500, &wide) };
    let response = server.client.check(check(caller("alice"), rest("c"), failure)).await;
    let warned = warned(&response.warnings);
    for field in ["failure.body", "failure.message", "failure.stderr_tail"] {
        assert!(warned.contains(&(WarningCode::Cut, field)), "{field}: {warned:?}");
    }
}

/// DESIGN §5: more headers and causes than are looked at are dropped with a warning.
#[tokio::test(flavor = "multi_thread")]
async fn long_lists_are_shortened() {
    let server = Setup::memory().start().await;
    let cause = |n: usize| v1::Cause { r#type: format!("Cause{n}"), ..Default::default() };
    let failure = v1::Failure {
        headers: (0..500).map(|n| header(&format!("x-{n}"), "v")).collect(),
        causes: (0..100).map(cause).collect(),
        ..http(500)
    };
    let response = server.client.check(check(caller("alice"), rest("a"), failure)).await;
    let warned = warned(&response.warnings);
    assert!(warned.contains(&(WarningCode::Dropped, "failure.headers")), "{warned:?}");
    assert!(warned.contains(&(WarningCode::Dropped, "failure.causes")), "{warned:?}");
}

/// "Bad input": what decides whose state is written is strict in a report too, and every wrong field is named at once.
#[tokio::test(flavor = "multi_thread")]
async fn whose_state_it_is_must_be_said() {
    let server = Setup::memory().start().await;
    let mut tools = server.client.tools();
    let long = "n".repeat(257);
    let request = v1::CheckRequest {
        caller: Some(v1::Caller {
            tenant_id: String::new(),
            project_id: long.clone(),
            user_id: "a\nb".to_owned(),
            session_id: long.clone(),
            ..Default::default()
        }),
        tool: Some(v1::Tool { provider: long.clone(), ..rest("") }),
        report_id: "r".repeat(129),
        ..Default::default()
    };
    let refused = refusal(tools.check(request).await);
    assert_eq!((refused.code, refused.reason), (Code::InvalidArgument, ErrorReason::InvalidField));
    let mut fields = refused.fields();
    fields.sort_unstable();
    let wanted =
        ["caller.project_id", "caller.session_id", "caller.tenant_id", "caller.user_id", "report_id"];
    assert_eq!(fields, wanted.into_iter().chain(["tool.name", "tool.provider"]).collect::<Vec<_>>());
    assert!(
        refused
            .violations
            .iter()
            .all(|(_, it)| it.contains("128") || it.contains("256") || it.contains("control"))
    );

    let name = |name: &str| check(caller("alice"), rest(name), http(500));
    for odd in ["", &long, "two\nlines", "\0"] {
        let refused = refusal(tools.check(name(odd)).await);
        assert_eq!(refused.fields(), ["tool.name"], "{odd:?}");
    }
    tools.check(name(&"n".repeat(256))).await.expect("256 bytes are a name");
    let refused = refusal(tools.check(v1::CheckRequest::default()).await);
    assert_eq!(refused.fields(), ["caller", "tool"]);
}

/// DESIGN §5: in a batch a bad item is answered in its place, and the others count.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_item_does_not_spoil_its_batch() {
    let server = Setup::memory().start().await;
    server.client.verdict(caller("alice"), rest("jira"), connection_refused()).await;
    let item = |tool: Option<v1::Tool>| v1::Success { tool, ok: Some(true), ..Default::default() };
    let request = v1::RecordSuccessRequest {
        caller: Some(caller("alice")),
        successes: vec![item(Some(rest(""))), item(Some(rest("jira"))), item(None)],
        ..Default::default()
    };
    let response = server.client.successes(request).await;
    let outcomes: Vec<_> = response.results.iter().map(v1::SuccessResult::outcome).collect();
    assert_eq!(outcomes, [SuccessOutcome::Unspecified, SuccessOutcome::Cleared, SuccessOutcome::Unspecified]);
    let status = response.results[0].status.as_ref().expect("why not");
    assert_eq!((status.code, status.reason()), (3, ErrorReason::InvalidField));
    assert_eq!(status.field, "successes[0].tool.name");
    let status = response.results[2].status.as_ref().expect("why not");
    assert_eq!(status.field, "successes[2].tool");

    let alice = in_session("alice", "s1");
    let request = v1::RecordEventRequest {
        tools: vec![client("a"), client(""), client("b")],
        ..event(alice, client("a"), v1::ToolEvent::ConnectionClosed)
    };
    let response = server.client.event(request).await;
    let outcomes: Vec<_> = response.results.iter().map(v1::EventResult::outcome).collect();
    use v1::EventOutcome::{Applied, Unspecified};
    assert_eq!(outcomes, [Applied, Unspecified, Applied]);
    assert_eq!(response.results[1].status.as_ref().expect("why not").field, "tools[1].name");
}

/// DESIGN §4: a verdict for a user or session whose id was not sent is answered, not stored and never widened.
#[tokio::test(flavor = "multi_thread")]
async fn without_an_id_nothing_is_stored() {
    let server = Setup::memory().start().await;
    let response = server.client.check(check(caller(""), rest("jira"), http(403))).await;
    assert_eq!(response.verdict.expect("a verdict").durability(), v1::Durability::None);
    assert!(
        warned(&response.warnings).iter().any(|(it, _)| *it == WarningCode::NotStored),
        "{:?}",
        response.warnings
    );
    let expired = http_body(401, "token_expired");
    let response = server.client.check(check(caller(""), rest("jira"), expired)).await;
    assert_eq!(response.verdict.expect("a verdict").classification(), Classification::UserSpecificTechnical);
    let lost = event(caller("alice"), client("editor"), v1::ToolEvent::ConnectionClosed);
    let refused_or_told = server.client.event(lost).await;
    assert_ne!(
        refused_or_told.results[0].outcome(),
        v1::EventOutcome::Applied,
        "there is no session to write it at"
    );
    let list = v1::ListDocumentsRequest { tenant_id: "acme".to_owned(), ..Default::default() };
    assert!(
        server.client.admin().list_documents(list).await.expect("a page").into_inner().documents.is_empty()
    );
}

/// DESIGN §2.6, §9: secrets in a failure never come back: not in a verdict, a document, a job or the evidence.
#[tokio::test(flavor = "multi_thread")]
async fn secrets_do_not_come_back() {
    let server = Setup::memory().start().await;
    let secret = "sk-live-4eC39HqLyjWDarjtT1zdp7dc";
    let body =
        format!("{{\"error\":\"boom\",\"authorization\":\"Bearer {secret}\",\"password\": \"{secret}\"}}");
    let failure = v1::Failure {
        message: format!("GET https://alice:{secret}@api.example.com/v1?api_key={secret} failed"),
        headers: vec![
            header("Authorization", &format!("Bearer {secret}")),
            header("Set-Cookie", &format!("s={secret}")),
        ],
        ..http_body(500, &body)
    };
    let request = v1::CheckRequest {
        detail: v1::DetailLevel::Full.into(),
        ..check(caller("alice"), rest("search"), failure)
    };
    let response = server.client.check(request).await;
    assert!(!format!("{response:?}").contains(secret), "{response:?}");
    let jobs = format!("{:?}", server.client.jobs().await);
    assert!(jobs.contains("boom") && !jobs.contains(secret), "{jobs}");
    let document = format!("{:?}", server.client.document(at_project("search")).await);
    assert!(!document.contains(secret), "{document}");
}
