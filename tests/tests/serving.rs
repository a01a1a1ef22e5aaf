//! The server itself: modes, limits, deadlines, what it says of itself, and its end.

use std::time::Duration;

use agrajag_proto::v1;
use agrajag_proto::v1::{DiagnosisState, Durability, ErrorReason, SuccessOutcome, ToolState, WarningCode};
use agrajag_tests::client::{refusal, warned, with_deadline};
use agrajag_tests::messages::{
    at_project, caller, check, client as client_tool, connection_refused, event, http, http_body, in_session,
    lookup, rest, success,
};
use agrajag_tests::refusal::Refusal;
use agrajag_tests::server::Setup;
use agrajag_tests::wait::{SOON, until};
use agrajag_tests::{http as plain, on_every_store};
use tonic::Code;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{FileDescriptorResponse, ServerReflectionRequest};

on_every_store! { it_says_what_it_is }

/// DESIGN §10: `observe` gives every verdict and writes nothing, says so in each answer, and refuses writes by hand.
#[tokio::test(flavor = "multi_thread")]
async fn mode_observe_writes_nothing() {
    // Trouble that was there before, to be shown and not cleared.
    let server = Setup::sqlite().start().await;
    server.client.verdict(caller("alice"), rest("wiki"), connection_refused()).await;
    let server = server.stop().await.set("mode", "observe").start().await;
    let client = &server.client;
    assert_eq!(client.info().await.mode(), v1::ServerMode::Observe);
    assert_eq!(client.state(caller("bob"), rest("wiki")).await, ToolState::Down);
    let observing = |it: &[v1::Warning]| warned(it).iter().any(|(code, _)| *code == WarningCode::ObserveMode);

    let response = client.check(check(caller("alice"), rest("jira"), connection_refused())).await;
    assert!(observing(&response.warnings), "{response:?}");
    let verdict = response.verdict.expect("a verdict");
    assert_eq!((verdict.signature.as_str(), verdict.durability()), ("connect-refused", Durability::None));
    let response = client.check(check(caller("alice"), rest("search"), http(500))).await;
    assert_ne!(response.verdict.expect("a verdict").diagnosis(), DiagnosisState::Enqueued);
    let response = client.successes(success(caller("bob"), rest("wiki"))).await;
    assert_eq!(response.results[0].outcome(), SuccessOutcome::WouldClear);
    assert!(observing(&response.warnings), "{response:?}");
    let lost = event(in_session("alice", "s1"), client_tool("editor"), v1::ToolEvent::ConnectionClosed);
    assert_eq!(client.event(lost).await.results[0].outcome(), v1::EventOutcome::WouldApply);

    let mark = v1::MarkUnavailableRequest {
        tenant_id: "acme".to_owned(),
        key: Some(at_project("jira")),
        ..Default::default()
    };
    let refused = refusal(client.admin().mark_unavailable(mark).await);
    assert_eq!((refused.code, refused.reason), (Code::FailedPrecondition, ErrorReason::ObserveMode));
    assert_eq!(client.state(caller("alice"), rest("jira")).await, ToolState::Ok);
    assert_eq!(client.state(caller("bob"), rest("wiki")).await, ToolState::Down, "not cleared");
    assert!(client.jobs().await.is_empty());
}

/// DESIGN §5: version, store and its epoch, limits and modes; and the store's kind and standing in the health service.
async fn it_says_what_it_is(server: &agrajag_tests::server::Server) {
    let info = server.client.info().await;
    assert!(["memory", "sqlite", "postgres"].contains(&info.store_kind.as_str()), "{info:?}");
    assert!(!info.version.is_empty() && !info.store_epoch.is_empty() && info.store_available && !info.stale);
    assert_eq!((info.mode(), info.default_action.as_str()), (v1::ServerMode::Active, "auto"));
    let limits = info.limits.expect("limits");
    assert_eq!((limits.max_tools, limits.max_tool_name_bytes, limits.history_size), (1_000, 256, 20));
    assert_eq!((limits.max_matched_body_bytes, limits.max_rule_layer_bytes), (16 << 10, 512 << 10));
    assert_eq!(server.client.serving("").await, Some(ServingStatus::Serving));
    assert_eq!(server.client.serving("agrajag.store").await, Some(ServingStatus::Serving));
    assert_eq!(server.client.serving("agrajag.nothing").await, None);
}

/// A call whose time is over is answered DEADLINE_EXCEEDED with its reason: the client's own deadline, or the server's
/// limit where that is shorter. The server goes on.
#[tokio::test(flavor = "multi_thread")]
async fn deadlines_are_honoured() {
    // A call waits for its turn behind a writer that holds the database.
    let server = Setup::postgres().set("limits.request_timeout", "400ms").start().await;
    server.client.verdict(caller("alice"), rest("jira"), http(403)).await;
    let holder = hold_documents(server.database());
    let began = std::time::Instant::now();
    let request = check(caller("alice"), rest("jira"), connection_refused());
    let refused = refusal(server.client.tools().check(request.clone()).await);
    assert_eq!((refused.code, refused.reason), (Code::DeadlineExceeded, ErrorReason::DeadlineExceeded));
    let deadline = Duration::from_millis(200);
    let status = server.client.tools().check(with_deadline(request, deadline)).await.expect_err("it is over");
    // On a machine that is busy the client may notice it before the server's answer is there.
    let by_client = status.code() == Code::Cancelled && status.message() == "Timeout expired";
    assert!(by_client || Refusal::of(&status).reason == ErrorReason::DeadlineExceeded, "{status:?}");
    assert!(began.elapsed() < Duration::from_secs(2), "answered after {:?}", began.elapsed());
    holder.join().expect("the holder ends");
    let request = with_deadline(check(caller("alice"), rest("wiki"), connection_refused()), SOON);
    server.client.tools().check(request).await.expect("answered in time");
}

/// Locks every table of the database for a while, as a long migration would.
fn hold_documents(database: &agrajag_tests::postgres::Database) -> std::thread::JoinHandle<()> {
    let tables = database
        .execute("SELECT 'agrajag.' || quote_ident(tablename) FROM pg_tables WHERE schemaname = 'agrajag'")
        .expect("the tables");
    let names: Vec<String> = tables.into_iter().flatten().collect();
    let lock = format!("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", names.join(", "));
    let other = database.session().expect("a connection");
    let (locked, is_locked) = std::sync::mpsc::channel();
    let holder = std::thread::spawn(move || {
        let mut other = other;
        other.execute("BEGIN").expect("a transaction");
        other.execute(&lock).expect("the lock");
        locked.send(()).expect("somebody waits");
        other.execute("SELECT pg_sleep(1)").expect("a pause");
        other.execute("COMMIT").expect("the end");
    });
    is_locked.recv().expect("the tables are locked");
    holder
}

/// "Bad input": a whole request over the limit is refused with the limit; one just under it is read.
#[tokio::test(flavor = "multi_thread")]
async fn whole_requests_have_a_limit() {
    let limit = 256 << 10;
    let server = Setup::memory().set("limits.max_request_bytes", limit).start().await;
    let body = |bytes: usize| check(caller("alice"), rest("jira"), http_body(500, &"x".repeat(bytes)));
    server.client.check(body(limit - 1_024)).await;
    let refused = refusal(server.client.tools().check(body(limit + 1_024)).await);
    assert_eq!((refused.code, refused.reason), (Code::ResourceExhausted, ErrorReason::RequestTooLarge));
    assert!(refused.message.contains(&limit.to_string()), "{}", refused.message);
    server.client.check(body(10)).await;
}

/// DESIGN §9: a server takes in so many requests at the same time; the rest is refused at once with the time to wait.
#[tokio::test(flavor = "multi_thread")]
async fn only_so_many_requests_at_once() {
    let server = Setup::postgres().set("limits.max_concurrent_requests", 4).start().await;
    server.client.verdict(caller("alice"), rest("jira"), http(403)).await;
    let holder = hold_documents(server.database());
    let calls =
        (0..20).map(|n| {
            let mut tools = server.client.tools();
            async move {
                tools.check(check(caller("alice"), rest(&format!("tool_{n}")), connection_refused())).await
            }
        });
    let answers = futures::future::join_all(calls).await;
    holder.join().expect("the holder ends");
    let (answered, turned_away): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((answered.len(), turned_away.len()), (4, 16));
    for result in turned_away {
        let refused = refusal(result);
        assert_eq!((refused.code, refused.reason), (Code::ResourceExhausted, ErrorReason::Overloaded));
        assert!(refused.retry, "{refused:?}");
    }
    server.client.verdict(caller("alice"), rest("jira"), connection_refused()).await;
}

/// STYLE, DESIGN §5: reflection tells both services and every file, so that any generic client can call them.
#[tokio::test(flavor = "multi_thread")]
async fn reflection_describes_the_services() {
    let server = Setup::memory().start().await;
    let mut client = ServerReflectionClient::new(server.client.channel());
    let ask = |message_request| ServerReflectionRequest {
        host: String::new(),
        message_request: Some(message_request),
    };
    let requests = vec![
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol("agrajag.v1.ToolHealthService".to_owned())),
        ask(MessageRequest::FileContainingSymbol("agrajag.v1.Nobody".to_owned())),
    ];
    let answers =
        client.server_reflection_info(tokio_stream::iter(requests)).await.expect("reflection").into_inner();
    let answers: Vec<_> = tokio_stream::StreamExt::collect(answers).await;
    let (unknown, answers) = answers.split_last().expect("answers");
    let mut answers =
        answers.iter().cloned().map(|it| it.expect("an answer").message_response.expect("an answer"));
    let Some(MessageResponse::ListServicesResponse(services)) = answers.next() else {
        panic!("the services")
    };
    let names: Vec<_> = services.service.into_iter().map(|it| it.name).collect();
    for name in ["agrajag.v1.ToolHealthService", "agrajag.v1.AdminService", "grpc.health.v1.Health"] {
        assert!(names.iter().any(|it| it == name), "{name}: {names:?}");
    }
    let Some(MessageResponse::FileDescriptorResponse(file)) = answers.next() else { panic!("a file") };
    let FileDescriptorResponse { file_descriptor_proto } = file;
    let text = String::from_utf8_lossy(&file_descriptor_proto.concat()).into_owned();
    assert!(text.contains("CheckRequest") && text.contains("RecordSuccessRequest"));
    assert_eq!(unknown.as_ref().expect_err("no such symbol").code(), Code::NotFound);
}

/// A client may compress what it sends.
#[tokio::test(flavor = "multi_thread")]
async fn compressed_requests_are_read() {
    let server = Setup::memory().start().await;
    let mut tools = server.client.tools().send_compressed(tonic::codec::CompressionEncoding::Gzip);
    let request = check(
        caller("alice"),
        rest("jira"),
        http_body(401, &format!("token_expired{}", " ".repeat(100_000))),
    );
    let answer = tools.check(request).await.expect("Check answers").into_inner();
    assert_eq!(answer.verdict.expect("a verdict").signature, "http-401-expired");
}

/// A method that does not exist is UNIMPLEMENTED, and the server goes on.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_methods_are_unimplemented() {
    let server = Setup::memory().start().await;
    let mut grpc = tonic::client::Grpc::new(server.client.channel());
    grpc.ready().await.expect("ready");
    let path = "/agrajag.v1.ToolHealthService/Undo".parse().expect("a path");
    let codec = tonic_prost::ProstCodec::<v1::CheckRequest, v1::CheckResponse>::default();
    let status = grpc.unary(tonic::Request::new(v1::CheckRequest::default()), path, codec).await;
    assert_eq!(status.expect_err("no such method").code(), Code::Unimplemented);
    server.client.info().await;
}

/// The end of a server: what was acknowledged and what was counted is stored, watches are told to come back, and a new
/// server knows it all.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_ends_in_order_and_keeps_everything() {
    let server = Setup::sqlite().spawn().await;
    let alice = caller("alice");
    server.client.verdict(alice.clone(), rest("jira"), connection_refused()).await;
    for _ in 0..50 {
        server.client.verdict(alice.clone(), rest("wiki"), http(403)).await;
    }
    let watch = v1::WatchRequest { caller: Some(alice.clone()), ..Default::default() };
    let mut watch = server.client.tools().watch(watch).await.expect("a watch").into_inner();
    watch.message().await.expect("the snapshot").expect("a message");
    let (setup, end) = tokio::join!(server.stop(), tokio::time::timeout(SOON, watch.message()));
    let refused = refusal(end.expect("the watch ends"));
    assert_eq!((refused.code, refused.reason), (Code::Unavailable, ErrorReason::ShuttingDown));
    assert!(refused.retry, "come back: {refused:?}");
    let server = setup.spawn().await;
    assert_eq!(server.client.state(caller("bob"), rest("jira")).await, ToolState::Down);
    let document =
        server.client.document(agrajag_tests::messages::key(v1::Scope::User, "alice", "wiki")).await;
    assert_eq!(document.cooldowns[0].hits, 50, "the last counters were flushed");
    let again = server.client.verdict(alice, rest("wiki"), http(403)).await;
    assert!(again.cooldown.expect("a cooldown").active, "the cooldown outlived the server");
}

/// DESIGN §5: the end is told before it comes: not serving while requests under way are finished.
#[tokio::test(flavor = "multi_thread")]
async fn requests_under_way_are_finished() {
    let server = Setup::postgres().start().await;
    server.client.verdict(caller("alice"), rest("jira"), http(403)).await;
    let holder = hold_documents(server.database());
    let mut tools = server.client.tools();
    let under_way =
        tokio::spawn(
            async move { tools.check(check(caller("alice"), rest("jira"), connection_refused())).await },
        );
    let waiting =
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    until("the request's write waits for the lock", async || {
        let found = server.database().execute(waiting).expect("an answer");
        (!found.is_empty()).then_some(())
    })
    .await;
    let setup = server.stop().await;
    let answer = under_way.await.expect("no panic").expect("answered").into_inner();
    assert_eq!(answer.verdict.expect("a verdict").durability(), Durability::Committed);
    holder.join().expect("the holder ends");
    drop(setup);
}

/// DESIGN §5: `/healthz` and `/metrics` on the same port; no tenant, user or tool is in what is counted.
#[tokio::test(flavor = "multi_thread")]
async fn operators_read_health_and_metrics() {
    let server = Setup::memory().start().await;
    server.client.verdict(caller("alice"), rest("jira_search"), connection_refused()).await;
    server.client.lookup(lookup(caller("alice"), [rest("jira_search"), rest("wiki")])).await;
    let health = plain::get(server.address, "/healthz").await;
    assert_eq!((health.status, health.json()["status"].as_str()), (200, Some("serving")));
    assert_eq!(health.json()["store"], "available");
    let metrics = plain::get(server.address, "/metrics").await;
    assert_eq!(metrics.status, 200);
    assert!(
        metrics.header("content-type").is_some_and(|it| it.starts_with("text/plain")),
        "{:?}",
        metrics.headers
    );
    for line in [
        "agrajag_checks_total{classification=\"TECHNICALLY_BROKEN\"} 1",
        "agrajag_lookup_tools_total 2",
        "agrajag_store_available 1",
    ] {
        assert!(metrics.body.contains(line), "{line}: {}", metrics.body);
    }
    for name in ["acme", "alice", "jira_search", "essay"] {
        assert!(!metrics.body.contains(name), "`{name}` is in the metrics");
    }
    assert!(agrajag_tests::metric(&server, "rpc_server_call_duration_seconds_count").await >= 2);
}

/// `metrics.listen` gives metrics an address of their own.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_can_have_their_own_address() {
    let address = agrajag_tests::server::free_address();
    let server = Setup::memory().set("metrics.listen", address).start().await;
    let metrics = plain::get(address, "/metrics").await;
    assert_eq!(metrics.status, 200);
    assert_eq!(plain::get(server.address, "/metrics").await.status, 404);
}
