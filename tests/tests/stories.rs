//! The core stories over gRPC, each on memory, SQLite and PostgreSQL: who saw what and why.

use agrajag_proto::v1;
use agrajag_proto::v1::{
    Classification, DiagnosisState, DispatchCode, Durability, EventOutcome, Remedy, RetryBasis, Scope,
    SuccessOutcome, ToolEvent, ToolState,
};
use agrajag_tests::messages::{
    at_micros, at_project, caller, check, client, connection_refused, event, exception, http, http_header,
    in_session, key, lookup, micros, rest, seconds, success,
};
use agrajag_tests::on_every_store;
use agrajag_tests::server::Server;

on_every_store! {
    a_disconnected_client_is_unreachable_and_not_unknown,
    a_missing_right_stays_with_its_user,
    a_rate_limit_is_passed_on_exactly,
    a_refused_connection_is_told_once_and_recovers,
    an_unclear_failure_makes_one_job,
    a_result_that_says_it_failed_clears_nothing,
    older_events_lose,
    one_fault_has_one_name_in_every_language,
    an_expired_token_is_its_users_alone,
}

/// C24, R1, R10, R57, R58, R81, R141: after a disconnect the registry has forgotten the tool, and the answer is
/// "unreachable", for this session only, until it is back.
async fn a_disconnected_client_is_unreachable_and_not_unknown(server: &Server) {
    let (alice, other) = (in_session("alice", "s1"), in_session("alice", "s2"));
    let tool = client("client_read_file");
    let unknown = v1::Failure { dispatch_code: DispatchCode::NotRegistered.into(), ..Default::default() };

    let before = server.client.verdict(alice.clone(), tool.clone(), unknown.clone()).await;
    assert_eq!(before.dispatch_code(), DispatchCode::NotRegistered, "nothing explains it: {before:?}");

    let closed = v1::RecordEventRequest {
        connection_id: "ws-1".to_owned(),
        sequence: 2,
        ..event(alice.clone(), tool.clone(), ToolEvent::ConnectionClosed)
    };
    let answer = server.client.event(closed).await;
    assert_eq!(answer.results[0].outcome(), EventOutcome::Applied);
    assert_eq!(answer.results[0].state(), ToolState::Down);
    assert_eq!(answer.durability(), Durability::Committed);

    let verdict = server.client.verdict(alice.clone(), tool.clone(), unknown.clone()).await;
    assert_eq!(verdict.dispatch_code(), DispatchCode::BackendUnreachable);
    assert_eq!(verdict.remedy(), Remedy::ReopenSession);
    assert_eq!(verdict.health.expect("health").state(), ToolState::Down);
    assert!(!verdict.text.contains("no tool of this name"), "{}", verdict.text);
    assert!(verdict.text.starts_with("Call of `client_read_file` failed"), "{}", verdict.text);

    let health = server.client.health(alice.clone(), tool.clone()).await;
    assert_eq!((health.state(), health.scope()), (ToolState::Down, Scope::Session));
    assert!(health.words.starts_with("unavailable in this session since "), "{}", health.words);
    assert_eq!(health.retry_at, None, "nobody knows when it is back");

    // Another session of the same person has a client of its own.
    assert_eq!(server.client.state(other.clone(), tool.clone()).await, ToolState::Ok);
    let elsewhere = server.client.verdict(other, tool.clone(), unknown).await;
    assert_eq!(elsewhere.dispatch_code(), DispatchCode::NotRegistered);

    let opened = v1::RecordEventRequest {
        connection_id: "ws-2".to_owned(),
        sequence: 3,
        ..event(alice.clone(), tool.clone(), ToolEvent::ConnectionOpened)
    };
    let answer = server.client.event(opened).await;
    assert_eq!(
        (answer.results[0].outcome(), answer.results[0].state()),
        (EventOutcome::Applied, ToolState::Ok)
    );
    assert_eq!(server.client.state(alice, tool).await, ToolState::Ok);
}

/// R3, R8, R16, R45, R46, R47, R76, R90, R101: a 403 is Alice's. It never changes a status, starts no diagnosis however
/// often it comes, shows in no words, and does not hold back Bob.
async fn a_missing_right_stays_with_its_user(server: &Server) {
    let (alice, bob) = (caller("alice"), caller("bob"));
    let tool = rest("jira_search");
    for n in 1..=5 {
        let verdict = server.client.verdict(alice.clone(), tool.clone(), http(403)).await;
        assert_eq!(verdict.classification(), Classification::UserPermission);
        assert_eq!(verdict.signature, "http-403");
        assert_eq!(verdict.fault(), v1::Fault::UserRight);
        assert_eq!(verdict.remedy(), Remedy::AskAdmin);
        assert_eq!(verdict.diagnosis(), DiagnosisState::None);
        assert_eq!(verdict.job_id, "");
        assert_eq!(verdict.health.expect("health").state(), ToolState::Ok);
        let cooldown = verdict.cooldown.expect("a cooldown");
        assert_eq!((cooldown.active, cooldown.hits, cooldown.episodes), (n > 1, n, 1), "time {n}");
        assert_eq!(cooldown.scope(), Scope::User);
    }
    let health = server.client.health(alice.clone(), tool.clone()).await;
    assert_eq!((health.state(), health.words.as_str()), (ToolState::Ok, ""));
    assert_eq!(server.client.state(bob.clone(), tool.clone()).await, ToolState::Ok);
    let of_bob = server.client.verdict(bob.clone(), tool.clone(), http(403)).await;
    assert!(!of_bob.cooldown.expect("a cooldown").active, "Alice's cooldown is not Bob's");
    let success = server.client.success(bob, tool).await;
    assert_ne!(success.outcome(), SuccessOutcome::NotASuccess);

    let document = server.client.document(key(Scope::User, "alice", "jira_search")).await;
    assert_eq!(document.status(), v1::HealthStatus::Unspecified, "no verdict about the tool was written");
    assert!(document.history.is_empty());
    let stored = &document.cooldowns[0];
    assert_eq!((stored.signature.as_str(), stored.hits), ("http-403", 5));
    let until = micros(stored.until.as_ref().expect("an end"));
    let opened = micros(stored.opened_at.as_ref().expect("a beginning"));
    assert_eq!(until - opened, 24 * 3_600 * 1_000_000, "24 h, constant");
    assert!(server.client.jobs().await.is_empty());
}

/// R18, R51, R117, R129 and the table of constants: a Retry-After, in seconds or as a date, is passed on exactly: in the
/// verdict, in its words, in the status and in what Lookup says.
async fn a_rate_limit_is_passed_on_exactly(server: &Server) {
    let (alice, bob) = (caller("alice"), caller("bob"));
    let before = server.client.now().await;
    let verdict =
        server.client.verdict(alice.clone(), rest("mail_send"), http_header(429, "Retry-After", "120")).await;
    let after = server.client.now().await;
    assert_eq!(verdict.classification(), Classification::Intermittent);
    assert_eq!(verdict.retry_basis(), RetryBasis::Exact);
    let retry_at = micros(verdict.retry_at.as_ref().expect("a retry time"));
    assert!((before..=after).contains(&(retry_at - 120_000_000)), "{before} ≤ {retry_at} − 120 s ≤ {after}");

    // The same as a date: an hour ahead, at a full second.
    let at = (after / 1_000_000 + 3_600) * 1_000_000;
    let date = http_date(at / 1_000_000);
    let failure = http_header(429, "retry-after", &date);
    let verdict = server.client.verdict(alice.clone(), rest("wiki_read"), failure).await;
    assert_eq!(verdict.retry_at, Some(at_micros(at)), "{date}");
    let summary = verdict.health.expect("health");
    assert_eq!((summary.state(), summary.scope()), (ToolState::Degraded, Scope::User));
    assert_eq!(summary.expected_recovery_at, Some(at_micros(at)));
    let words = format!("Do not call it again before {}.", utc(at / 1_000_000));
    assert!(verdict.text.ends_with(&words), "{} / {words}", verdict.text);

    let health = server.client.health(alice.clone(), rest("wiki_read")).await;
    assert_eq!((health.state(), health.retry_at), (ToolState::Degraded, Some(at_micros(at))));
    assert_eq!(health.reason_code, "http-429");
    assert_eq!(
        server.client.state(bob.clone(), rest("wiki_read")).await,
        ToolState::Ok,
        "the quota is Alice's"
    );

    // A credential that the project shares: then it is everybody's.
    let shared = v1::Failure {
        credential: v1::CredentialOwner::Project.into(),
        ..http_header(429, "Retry-After", "600")
    };
    let verdict = server.client.verdict(alice, rest("chat_post"), shared).await;
    assert_eq!(verdict.health.expect("health").scope(), Scope::Project);
    assert_eq!(server.client.state(bob, rest("chat_post")).await, ToolState::Degraded);
}

/// R14, R55, R56, R61, R72, R73, R100, R132, C22: one refused connection is everybody's, with the same words each time;
/// a success heals it, and the conversation that was told of the trouble is told of its end, once.
async fn a_refused_connection_is_told_once_and_recovers(server: &Server) {
    let (alice, bob) = (caller("alice"), caller("bob"));
    let tool = rest("jira_search");
    assert!(!server.client.health(alice.clone(), tool.clone()).await.report_success, "nothing to clear yet");
    let verdict = server.client.verdict(alice.clone(), tool.clone(), connection_refused()).await;
    assert_eq!(verdict.classification(), Classification::TechnicallyBroken);
    assert_eq!(verdict.signature, "connect-refused");
    assert_eq!(verdict.durability(), Durability::Committed);
    assert_eq!(verdict.remedy(), Remedy::PlanWithout);
    assert!(verdict.text.contains("No data came back"), "{}", verdict.text);

    let first = server.client.lookup(lookup(bob.clone(), [tool.clone(), rest("wiki_read")])).await;
    let (down, fine) = (&first.tools[0], &first.tools[1]);
    assert_eq!((down.state(), down.scope(), fine.state()), (ToolState::Down, Scope::Project, ToolState::Ok));
    assert!(down.words.starts_with("currently unavailable, expected back at "), "{}", down.words);
    assert!(down.words.ends_with("do not call it, plan without it"), "{}", down.words);
    assert_eq!(first.block, format!("Tool availability:\n- jira_search: {}\n", down.words));
    assert!(down.report_success && !fine.report_success, "only where a success would change something");
    assert!(first.shown.len() <= 1_024 && !first.shown.is_empty());
    let again = server.client.lookup(lookup(alice.clone(), [tool.clone(), rest("wiki_read")])).await;
    assert_eq!((&again.block, &again.shown), (&first.block, &first.shown), "the same state, the same words");

    let result = server.client.success(bob.clone(), tool.clone()).await;
    assert_eq!((result.outcome(), result.state()), (SuccessOutcome::Cleared, ToolState::Ok));
    let shown = |shown: &[u8]| v1::LookupRequest {
        shown: shown.to_vec(),
        ..lookup(bob.clone(), [tool.clone(), rest("wiki_read")])
    };
    let told = server.client.lookup(shown(&first.shown)).await;
    assert_eq!(told.recovered, ["jira_search"]);
    assert_eq!(told.block, "Tool availability:\n- available again: jira_search\n");
    assert!(!told.tools[0].report_success, "nothing is left to clear");
    let later = server.client.lookup(shown(&told.shown)).await;
    assert!(later.recovered.is_empty() && later.block.is_empty(), "told once: {later:?}");
    let result = server.client.success(bob, tool).await;
    assert_eq!(result.outcome(), SuccessOutcome::NothingToClear);

    let document = server.client.document(at_project("jira_search")).await;
    let history: Vec<_> = document.history.iter().map(v1::HistoryEntry::classification).collect();
    assert_eq!(history, [Classification::Working, Classification::TechnicallyBroken], "newest first");
    assert_eq!(document.history[1].signature, "connect-refused");
    assert_eq!(document.origin(), v1::StatusOrigin::Success);
}

/// R20, R94, R99, R102, R130, R198: an unclear failure makes a job in the same commit as its cooldown; while that runs
/// further ones are held back; behind it they are taken in by the open job.
async fn an_unclear_failure_makes_one_job(server: &Server) {
    let alice = caller("alice");
    let tool = rest("search_issues");
    let first = server.client.verdict(alice.clone(), tool.clone(), http(500)).await;
    assert_eq!((first.classification(), first.signature.as_str()), (Classification::Unclear, "http-5xx"));
    assert_eq!(first.diagnosis(), DiagnosisState::Enqueued);
    assert_eq!(first.durability(), Durability::Committed);
    assert!(!first.cooldown.as_ref().expect("a cooldown").active);
    assert_eq!(server.client.state(alice.clone(), tool.clone()).await, ToolState::Ok, "unclear is no status");

    let second = server.client.verdict(caller("bob"), tool.clone(), http(502)).await;
    assert_eq!(second.diagnosis(), DiagnosisState::Suppressed);
    let cooldown = second.cooldown.expect("a cooldown");
    assert!(cooldown.active && cooldown.hits == 2, "{cooldown:?}");

    let clear = v1::ClearCooldownRequest {
        tenant_id: "acme".to_owned(),
        key: Some(at_project("search_issues")),
        signature: "http-5xx".to_owned(),
        ..Default::default()
    };
    let cleared = server.client.admin().clear_cooldown(clear).await.expect("cleared").into_inner();
    assert_eq!(cleared.n_cleared, 1);
    let third = server.client.verdict(caller("carol"), tool.clone(), http(503)).await;
    assert_eq!(third.diagnosis(), DiagnosisState::Coalesced);
    assert_eq!(third.job_id, first.job_id);

    let jobs = server.client.jobs().await;
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    let job = &jobs[0];
    assert_eq!(job.job_id, first.job_id);
    assert_eq!((job.state(), job.n_signals, job.user_id.as_str()), (v1::JobState::Queued, 2, ""));
    assert_eq!(job.key, Some(at_project("search_issues")));
    let users: Vec<_> = job.signals.iter().map(|it| it.user_id.as_str()).collect();
    assert_eq!(users, ["alice", "carol"]);
}

/// "Incidents and defects": a result with `ok: false`, `isError`, an error status or a JSON-RPC error is no success.
/// R54, R55: and a success that began before the trouble did clears nothing.
async fn a_result_that_says_it_failed_clears_nothing(server: &Server) {
    let (alice, tool) = (caller("alice"), rest("jira_search"));
    server.client.verdict(alice.clone(), tool.clone(), connection_refused()).await;
    let evidence = [
        v1::Success { ok: Some(false), ..Default::default() },
        v1::Success { http_status: Some(503), ..Default::default() },
        v1::Success { ok: Some(true), is_error: Some(true), ..Default::default() },
        v1::Success { json_rpc_code: Some(-32_000), ..Default::default() },
    ];
    let successes: Vec<_> =
        evidence.into_iter().map(|it| v1::Success { tool: Some(tool.clone()), ..it }).collect();
    let request = v1::RecordSuccessRequest { caller: Some(alice.clone()), successes, ..Default::default() };
    let response = server.client.successes(request).await;
    for result in &response.results {
        assert_eq!((result.outcome(), result.state()), (SuccessOutcome::NotASuccess, ToolState::Down));
    }
    assert_eq!(response.durability(), Durability::None);
    let mut late = success(alice.clone(), tool.clone());
    late.successes[0].elapsed = Some(seconds(3_600));
    let response = server.client.successes(late).await;
    assert_eq!(response.results[0].outcome(), SuccessOutcome::TooOld);
    assert_eq!(server.client.state(alice, tool).await, ToolState::Down);
}

/// R57, R58, R80, R142, DESIGN §5: numbered events of a connection count in their order, not in that of their arrival,
/// and the end of a connection that was replaced changes nothing.
async fn older_events_lose(server: &Server) {
    let (alice, tool) = (in_session("alice", "s1"), client("client_open"));
    let send = async |kind: ToolEvent, connection: &str, sequence: u64| {
        let request = v1::RecordEventRequest {
            connection_id: connection.to_owned(),
            sequence,
            ..event(alice.clone(), tool.clone(), kind)
        };
        let result = server.client.event(request).await.results.remove(0);
        (result.outcome(), server.client.state(alice.clone(), tool.clone()).await)
    };
    use ToolEvent::{ConnectionClosed, ConnectionOpened, SubprocessKilled};
    assert_eq!(send(ConnectionClosed, "a", 5).await, (EventOutcome::Applied, ToolState::Down));
    assert_eq!(send(ConnectionOpened, "a", 4).await, (EventOutcome::Older, ToolState::Down), "it came late");
    assert_eq!(send(ConnectionOpened, "b", 6).await, (EventOutcome::Applied, ToolState::Ok));
    assert_eq!(
        send(ConnectionClosed, "a", 7).await,
        (EventOutcome::Older, ToolState::Ok),
        "b has replaced a"
    );
    assert_eq!(send(SubprocessKilled, "b", 8).await, (EventOutcome::Applied, ToolState::Down));
    assert_eq!(send(SubprocessKilled, "b", 8).await, (EventOutcome::Older, ToolState::Down), "sent twice");

    // An MCP server's tools are the project's; events without a number are ordered by their times.
    let mcp = v1::Tool { kind: v1::ToolKind::Mcp.into(), ..rest("mcp_query") };
    let now = server.client.now().await;
    let at = |seconds_ago: i64| Some(at_micros(now - seconds_ago * 1_000_000));
    let send = async |kind, occurred_at| {
        let request = v1::RecordEventRequest { occurred_at, ..event(alice.clone(), mcp.clone(), kind) };
        server.client.event(request).await.results.remove(0).outcome()
    };
    assert_eq!(send(ConnectionClosed, at(10)).await, EventOutcome::Applied);
    assert_eq!(send(ConnectionOpened, at(20)).await, EventOutcome::Older);
    let health = server.client.health(caller("bob"), mcp.clone()).await;
    assert_eq!((health.state(), health.scope()), (ToolState::Down, Scope::Project));
    assert_eq!(send(ConnectionOpened, None).await, EventOutcome::Applied);
    assert_eq!(server.client.state(caller("bob"), mcp).await, ToolState::Ok);
}

/// C16, R96: Java, Python, Node, Go, .NET and Rust spell one fault differently, and it has one name.
async fn one_fault_has_one_name_in_every_language(server: &Server) {
    let errno = v1::Failure {
        error_code: "ECONNREFUSED".to_owned(),
        syscall: "connect".to_owned(),
        ..exception("Error", "connect ECONNREFUSED 127.0.0.1:8443")
    };
    let cause = v1::Cause {
        r#type: "java.net.ConnectException".to_owned(),
        message: "Connection refused".to_owned(),
        code: String::new(),
    };
    let wrapped = v1::Failure {
        causes: vec![cause],
        ..exception("org.springframework.web.client.ResourceAccessException", "I/O error on GET request")
    };
    let kind = v1::Failure { kind: v1::FailureKind::ConnectRefused.into(), ..Default::default() };
    let spellings = [
        ("java", exception("java.net.ConnectException", "Connection refused")),
        ("java, wrapped", wrapped),
        (
            ".net",
            exception(
                "System.Net.Sockets.SocketException",
                "No connection could be made because the target machine actively refused it.",
            ),
        ),
        ("rust", exception("std::io::Error", "Connection refused (os error 111)")),
        ("python", connection_refused()),
        ("python, plain", exception("ConnectionRefusedError", "[Errno 111] Connection refused")),
        ("node", errno),
        ("go", exception("*net.OpError", "dial tcp 127.0.0.1:8443: connect: connection refused")),
        ("kind", kind),
    ];
    for (n, (language, failure)) in spellings.into_iter().enumerate() {
        let tool = rest(&format!("tool_{n}"));
        let verdict = server.client.verdict(caller("alice"), tool.clone(), failure).await;
        assert_eq!(verdict.signature, "connect-refused", "{language}: {verdict:?}");
        assert_eq!(verdict.classification(), Classification::TechnicallyBroken, "{language}");
        assert_eq!(server.client.state(caller("bob"), tool).await, ToolState::Down, "{language}");
    }
}

/// R15, R27, R125, C7: an expired token takes the tool from its owner and from nobody else, in every project of the
/// owner.
async fn an_expired_token_is_its_users_alone(server: &Server) {
    let (alice, tool) = (caller("alice"), rest("calendar"));
    let failure = agrajag_tests::messages::http_body(401, r#"{"error": "token_expired"}"#);
    let response = server.client.check(check(alice.clone(), tool.clone(), failure)).await;
    let verdict = response.verdict.expect("a verdict");
    assert_eq!(verdict.signature, "http-401-expired");
    assert_eq!((verdict.fault(), verdict.remedy()), (v1::Fault::UserCredential, Remedy::Reauthenticate));
    let health = server.client.health(alice, tool.clone()).await;
    assert_eq!((health.state(), health.scope()), (ToolState::Down, Scope::User));
    assert!(health.words.contains("unavailable for this user"), "{}", health.words);
    let elsewhere = v1::Caller { project_id: "other".to_owned(), ..caller("alice") };
    assert_eq!(
        server.client.state(elsewhere, tool.clone()).await,
        ToolState::Down,
        "her token is the same there"
    );
    assert_eq!(server.client.state(caller("bob"), tool).await, ToolState::Ok);
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` for seconds since the epoch.
fn http_date(seconds: i64) -> String {
    let at = chrono::DateTime::from_timestamp(seconds, 0).expect("an instant");
    at.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn utc(seconds: i64) -> String {
    let at = chrono::DateTime::from_timestamp(seconds, 0).expect("an instant");
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}
