//! The admin service through the port: what is written is read back, and what is odd is refused.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use agrajag_proto::v1;
use agrajag_proto::v1::delete_documents_request::Target;
use grpc_server::config::{Config, Mode};
use support::{Running, caller, config, failed, reason, refused, tool};
use tonic::Code;

fn key(tool_name: &str) -> Option<v1::DocumentKey> {
    Some(v1::DocumentKey {
        scope: v1::Scope::Project.into(),
        scope_id: "essay".to_owned(),
        tool_name: tool_name.to_owned(),
        provider: String::new(),
    })
}

fn down(tool_name: &str) -> v1::MarkUnavailableRequest {
    v1::MarkUnavailableRequest {
        tenant_id: "acme".to_owned(),
        key: key(tool_name),
        note: "maintenance".to_owned(),
        by: "ops".to_owned(),
        ..v1::MarkUnavailableRequest::default()
    }
}

fn lookup(tool_name: &str) -> v1::LookupRequest {
    v1::LookupRequest {
        caller: caller(),
        tools: tool(tool_name).into_iter().collect(),
        consistency: v1::Consistency::Store.into(),
        ..v1::LookupRequest::default()
    }
}

/// R57, R60, R33 to R35: marks by hand, with their history.
#[tokio::test]
async fn a_mark_by_hand_is_shown_with_who_and_why() {
    let running = Running::start(config()).await;
    let mut admin = running.admin().await;
    let document = admin.mark_unavailable(down("wiki")).await.unwrap().into_inner().document.unwrap();
    assert_eq!((document.status(), document.state()), (v1::HealthStatus::Down, v1::ToolState::Down));
    assert_eq!(document.origin(), v1::StatusOrigin::Admin);
    let request =
        v1::GetDocumentRequest { tenant_id: "acme".to_owned(), key: key("wiki"), at_least: String::new() };
    let read = admin.get_document(request).await.unwrap().into_inner().document.unwrap();
    assert_eq!((read.history[0].by.as_str(), read.history[0].note.as_str()), ("admin/ops", "maintenance"));
    let available = v1::MarkAvailableRequest {
        tenant_id: "acme".to_owned(),
        key: key("wiki"),
        ..v1::MarkAvailableRequest::default()
    };
    let document = admin.mark_available(available).await.unwrap().into_inner().document.unwrap();
    assert_eq!(document.state(), v1::ToolState::Ok);
    assert_eq!(document.history.len(), 2, "newest first");
    assert_eq!(document.history[0].classification(), v1::Classification::Working);
    running.stop().await;
}

/// DESIGN §4: a hold wins over health until it ends.
#[tokio::test]
async fn a_hold_wins_until_it_is_released() {
    let running = Running::start(config()).await;
    let (mut admin, mut health) = (running.admin().await, running.health().await);
    admin.mark_unavailable(down("wiki")).await.unwrap();
    let hold = v1::SetHoldRequest {
        tenant_id: "acme".to_owned(),
        key: key("wiki"),
        status: v1::HealthStatus::Ok.into(),
        reason: "known false alarm".to_owned(),
        ..v1::SetHoldRequest::default()
    };
    admin.set_hold(hold).await.unwrap();
    let seen = health.lookup(lookup("wiki")).await.unwrap().into_inner().tools.remove(0);
    assert_eq!((seen.state(), seen.reason_code.as_str()), (v1::ToolState::Ok, "hold"));
    assert_eq!(seen.hold.unwrap().reason, "known false alarm");
    let release = v1::ReleaseHoldRequest {
        tenant_id: "acme".to_owned(),
        key: key("wiki"),
        ..v1::ReleaseHoldRequest::default()
    };
    admin.release_hold(release).await.unwrap();
    let seen = health.lookup(lookup("wiki")).await.unwrap().into_inner().tools.remove(0);
    assert_eq!(seen.state(), v1::ToolState::Down);
    running.stop().await;
}

/// R43, R59: cooldowns by hand; every signature at once, or one user's.
#[tokio::test]
async fn cooldowns_are_set_and_cleared() {
    let running = Running::start(config()).await;
    let mut admin = running.admin().await;
    for (signature, user_id) in [("http-403", "alice"), ("http-403", ""), ("timeout", "")] {
        let request = v1::SetCooldownRequest {
            tenant_id: "acme".to_owned(),
            key: key("wiki"),
            signature: signature.to_owned(),
            user_id: user_id.to_owned(),
            duration: Some(prost_types::Duration { seconds: 3_600, nanos: 0 }),
            classification: v1::Classification::Unclear.into(),
            ..v1::SetCooldownRequest::default()
        };
        admin.set_cooldown(request).await.unwrap();
    }
    let mut clear = async |signature: &str, user_id: Option<&str>| {
        let request = v1::ClearCooldownRequest {
            tenant_id: "acme".to_owned(),
            key: key("wiki"),
            signature: signature.to_owned(),
            user_id: user_id.map(str::to_owned),
            by: String::new(),
        };
        let answer = admin.clear_cooldown(request).await.unwrap().into_inner();
        (answer.n_cleared, answer.document.map_or(0, |it| it.cooldowns.len()))
    };
    assert_eq!(clear("http-403", Some("bob")).await, (0, 3));
    assert_eq!(clear("http-403", Some("alice")).await, (1, 2));
    assert_eq!(clear("", None).await, (2, 0));
    assert_eq!(clear("", None).await, (0, 0));
    running.stop().await;
}

/// R39, R42: lists by page and status; nothing of another tenant; deletion for good.
#[tokio::test]
async fn documents_are_listed_page_by_page_and_deleted() {
    let running = Running::start(config()).await;
    let mut admin = running.admin().await;
    for n in 0..5 {
        admin.mark_unavailable(down(&format!("tool_{n}"))).await.unwrap();
    }
    let other = v1::MarkUnavailableRequest { tenant_id: "beta".to_owned(), ..down("tool_0") };
    admin.mark_unavailable(other).await.unwrap();
    let mut request = v1::ListDocumentsRequest {
        tenant_id: "acme".to_owned(),
        status: v1::HealthStatus::Down.into(),
        page_size: 2,
        ..v1::ListDocumentsRequest::default()
    };
    let (mut names, mut sizes) = (Vec::new(), Vec::new());
    loop {
        let page = admin.list_documents(request.clone()).await.unwrap().into_inner();
        sizes.push(page.documents.len());
        names.extend(page.documents.into_iter().map(|it| it.key.unwrap().tool_name));
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
    }
    assert_eq!(sizes, [2, 2, 1]);
    assert_eq!(names, ["tool_0", "tool_1", "tool_2", "tool_3", "tool_4"]);
    let first = v1::ListDocumentsRequest { page_token: String::new(), ..request.clone() };
    let token = admin.list_documents(first).await.unwrap().into_inner().next_page_token;
    let elsewhere = v1::ListDocumentsRequest { tenant_id: "beta".to_owned(), page_token: token, ..request };
    assert_eq!(admin.list_documents(elsewhere).await.unwrap_err().code(), Code::InvalidArgument);

    let delete = |tenant_id: &str, target| v1::DeleteDocumentsRequest {
        tenant_id: tenant_id.to_owned(),
        target: Some(target),
        by: "ops".to_owned(),
    };
    let one = Target::Key(key("tool_0").unwrap());
    assert_eq!(admin.delete_documents(delete("acme", one)).await.unwrap().into_inner().n_deleted, 1);
    let all = Target::WholeTenant(true);
    assert_eq!(admin.delete_documents(delete("acme", all)).await.unwrap().into_inner().n_deleted, 4);
    let left =
        v1::ListDocumentsRequest { tenant_id: "beta".to_owned(), ..v1::ListDocumentsRequest::default() };
    assert_eq!(admin.list_documents(left).await.unwrap().into_inner().documents.len(), 1);
    running.stop().await;
}

const LAYER: &str = "patterns:\n  - id: teapot\n    match: {httpStatus: 418}\n    signature: teapot\n    classification: USER_INPUT\n";

/// R103, R122, DESIGN §6: a layer in the store is checked, versioned, in force at once, and gone when it is deleted.
#[tokio::test]
async fn a_rule_layer_is_put_used_and_deleted() {
    let running = Running::start(config()).await;
    let (mut admin, mut health) = (running.admin().await, running.health().await);
    let put = |yaml: &str, expected_version| v1::PutRuleLayerRequest {
        tenant_id: "acme".to_owned(),
        project_id: "essay".to_owned(),
        yaml: yaml.to_owned(),
        by: "ops".to_owned(),
        expected_version,
    };
    let broken = format!(
        "{LAYER}  - id: bad\n    match: {{httpStatus: 'x'}}\n    signature: s\n    classification: UNCLEAR\n"
    );
    let check = v1::ValidateRulesRequest { yaml: broken.clone(), ..v1::ValidateRulesRequest::default() };
    let checked = admin.validate_rules(check).await.unwrap().into_inner();
    assert_eq!((checked.valid, checked.n_rules, checked.n_skipped), (false, 1, 1));
    let status = admin.put_rule_layer(put(&broken, None)).await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::InvalidArgument, "RULES_INVALID"));

    let layer = admin.put_rule_layer(put(LAYER, Some(0))).await.unwrap().into_inner().layer.unwrap();
    assert_eq!((layer.n_rules, layer.n_skipped, layer.by.as_str()), (1, 0, "ops"));
    let status = admin.put_rule_layer(put(LAYER, Some(0))).await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::Aborted, "RULE_LAYER_CHANGED"));
    let verdict = health.check(failed("wiki", 418)).await.unwrap().into_inner().verdict.unwrap();
    assert_eq!(verdict.rule_id, "teapot");

    let rules = v1::GetEffectiveRulesRequest { tenant_id: "acme".to_owned(), project_id: "essay".to_owned() };
    let rules = admin.get_effective_rules(rules).await.unwrap().into_inner().rules;
    let ours = rules.iter().find(|it| it.rule_id == "teapot").unwrap();
    assert_eq!(ours.origin(), v1::RuleOrigin::Project);
    assert!(ours.yaml.contains("httpStatus: 418"), "{}", ours.yaml);
    let list = v1::ListRuleLayersRequest { tenant_id: "acme".to_owned(), include_yaml: true };
    let layers = admin.list_rule_layers(list).await.unwrap().into_inner().layers;
    assert_eq!(layers.iter().map(|it| it.yaml.as_str()).collect::<Vec<_>>(), [LAYER]);

    let delete = v1::DeleteRuleLayerRequest {
        tenant_id: "acme".to_owned(),
        project_id: "essay".to_owned(),
        by: String::new(),
        expected_version: Some(layer.version),
    };
    assert!(admin.delete_rule_layer(delete).await.unwrap().into_inner().deleted);
    let verdict = health.check(failed("wiki", 418)).await.unwrap().into_inner().verdict.unwrap();
    assert_eq!(verdict.rule_id, "fallback");
    running.stop().await;
}

/// R102, R194, R199: an unclear failure is a job; the next one is taken in by it.
#[tokio::test]
async fn jobs_of_unclear_failures_are_listed() {
    let running = Running::start(config()).await;
    let (mut admin, mut health) = (running.admin().await, running.health().await);
    let verdict = health.check(failed("wiki", 500)).await.unwrap().into_inner().verdict.unwrap();
    assert_eq!(verdict.diagnosis(), v1::DiagnosisState::Enqueued);
    let list = v1::ListJobsRequest { tenant_id: "acme".to_owned(), ..v1::ListJobsRequest::default() };
    let jobs = admin.list_jobs(list.clone()).await.unwrap().into_inner().jobs;
    assert_eq!(jobs.iter().map(|it| it.job_id.as_str()).collect::<Vec<_>>(), [verdict.job_id.as_str()]);
    assert_eq!((jobs[0].state(), jobs[0].trigger()), (v1::JobState::Queued, v1::JobTrigger::ToolCallError));
    let done = v1::ListJobsRequest { state: v1::JobState::Done.into(), ..list };
    assert!(admin.list_jobs(done).await.unwrap().into_inner().jobs.is_empty());
    running.stop().await;
}

/// DESIGN §2.8, §5: Explain tells every rule and what would be written, and writes nothing.
#[tokio::test]
async fn explain_tells_everything_and_writes_nothing() {
    let running = Running::start(config()).await;
    let mut health = running.health().await;
    let request = v1::ExplainRequest {
        caller: caller(),
        tool: tool("wiki"),
        failure: Some(refused()),
        rules_yaml: None,
    };
    let answer = health.explain(request.clone()).await.unwrap().into_inner();
    assert_eq!(answer.verdict.unwrap().classification(), v1::Classification::TechnicallyBroken);
    let selected: Vec<_> =
        answer.rules.iter().filter(|it| it.selected).map(|it| it.rule_id.as_str()).collect();
    assert_eq!(selected, ["network-unreachable-peer"]);
    assert!(answer.rules.iter().filter(|it| !it.matched).all(|it| it.first_mismatch.is_some()));
    assert!(answer.writes.iter().any(|it| it.what.contains("DOWN")), "{:?}", answer.writes);
    let seen = health.lookup(lookup("wiki")).await.unwrap().into_inner().tools.remove(0);
    assert_eq!(seen.state(), v1::ToolState::Ok, "nothing was written");

    let with_layer = v1::ExplainRequest {
        failure: Some(v1::Failure { http_status: Some(418), ..v1::Failure::default() }),
        rules_yaml: Some(LAYER.to_owned()),
        ..request
    };
    let answer = health.explain(with_layer).await.unwrap().into_inner();
    assert_eq!(answer.verdict.unwrap().rule_id, "teapot");
    running.stop().await;
}

/// R57, R58, R81, R141: a connection that closes takes its tools down for that session, and brings them back.
#[tokio::test]
async fn a_connections_events_move_its_tools() {
    let running = Running::start(config()).await;
    let mut health = running.health().await;
    let client_tool =
        v1::Tool { name: "client_read".to_owned(), kind: v1::ToolKind::Client.into(), ..v1::Tool::default() };
    let mut in_session = caller();
    in_session.as_mut().unwrap().session_id = "s1".to_owned();
    let event = |caller, event: v1::ToolEvent, sequence| v1::RecordEventRequest {
        caller,
        tools: vec![client_tool.clone(), v1::Tool::default()],
        event: event.into(),
        connection_id: "c1".to_owned(),
        sequence,
        ..v1::RecordEventRequest::default()
    };
    let closed = event(in_session.clone(), v1::ToolEvent::ConnectionClosed, 2);
    let answer = health.record_event(closed).await.unwrap().into_inner();
    assert_eq!(answer.results[0].outcome(), v1::EventOutcome::Applied);
    assert_eq!(answer.results[1].status.as_ref().unwrap().field, "tools[1].name");
    assert_eq!(answer.durability(), v1::Durability::Committed);
    let older = event(in_session.clone(), v1::ToolEvent::ConnectionOpened, 1);
    let answer = health.record_event(older).await.unwrap().into_inner();
    assert_eq!(answer.results[0].outcome(), v1::EventOutcome::Older, "older events lose");
    let opened = event(in_session, v1::ToolEvent::ConnectionOpened, 3);
    let answer = health.record_event(opened).await.unwrap().into_inner();
    assert_eq!(answer.results[0].state(), v1::ToolState::Ok);
    let without_session = event(caller(), v1::ToolEvent::ConnectionClosed, 4);
    let answer = health.record_event(without_session).await.unwrap().into_inner();
    assert_eq!(answer.results[0].status.as_ref().unwrap().field, "caller.session_id");
    running.stop().await;
}

/// DESIGN §10: mode observe gives all verdicts and writes nothing.
#[tokio::test]
async fn a_server_that_observes_writes_nothing() {
    let running = Running::start(Config { mode: Mode::Observe, ..config() }).await;
    let mut health = running.health().await;
    let check = v1::CheckRequest { failure: Some(refused()), ..failed("wiki", 0) };
    let answer = health.check(check).await.unwrap().into_inner();
    assert!(
        answer.warnings.iter().any(|it| it.code() == v1::WarningCode::ObserveMode),
        "{:?}",
        answer.warnings
    );
    let verdict = answer.verdict.unwrap();
    assert_eq!(verdict.classification(), v1::Classification::TechnicallyBroken);
    assert_eq!(verdict.durability(), v1::Durability::None);
    let seen = health.lookup(lookup("wiki")).await.unwrap().into_inner().tools.remove(0);
    assert_eq!(seen.state(), v1::ToolState::Ok);
    let status = running.admin().await.mark_unavailable(down("wiki")).await.unwrap_err();
    assert_eq!((status.code(), reason(&status).as_str()), (Code::FailedPrecondition, "OBSERVE_MODE"));
    running.stop().await;
}
