//! The decision tree (R91…R102), branch by branch.

mod support;

use chrono::TimeDelta;
use health_model::document::Connection;
use health_model::{
    Classification, DiagnosisState, DispatchCode, Effect, EffectKind, EffectiveStatus, Failure, FailureKind,
    Fault, NotFoundOf, Remedy, RetrySafety, Scope, Status, Target, ToolKind,
};
use support::{World, caller, marks, opened, status, tool, typed};

fn dispatched(code: DispatchCode) -> Failure {
    Failure { dispatch_code: Some(code), ..Failure::default() }
}

/// R94, R96, R97, R14 to R20: what each outcome of the rules leads to.
#[test]
fn each_class_has_its_branch() {
    use Classification::{
        Intermittent, TechnicallyBroken, Unclear, UserInput, UserPermission, UserSpecificTechnical,
    };
    let expired = Failure { body: r#"{"error": "token_expired"}"#.to_owned(), ..status(401) };
    let table = [
        // failure, signature, class, marks, job
        (expired, "http-401-expired", UserSpecificTechnical, vec![(Scope::User, Status::Down)], false),
        (status(401), "http-401", Unclear, vec![], true),
        (status(403), "http-403", UserPermission, vec![], false),
        (status(404), "http-404", Unclear, vec![], true),
        (status(429), "http-429", Intermittent, vec![(Scope::User, Status::Degraded)], false),
        (status(500), "http-5xx", Unclear, vec![], true),
        (status(599), "http-5xx", Unclear, vec![], true),
        (typed("java.net.SocketTimeoutException", "x"), "timeout", Unclear, vec![], true),
        (
            typed("java.net.ConnectException", "Connection refused"),
            "connect-refused",
            TechnicallyBroken,
            vec![(Scope::Project, Status::Down)],
            false,
        ),
        (Failure { schema_violation: true, ..Failure::default() }, "schema-violation", Unclear, vec![], true),
        (
            typed("brain.tools.ToolException", "Manual not found: 'x'"),
            "manual-not-found",
            UserInput,
            vec![],
            false,
        ),
        (typed("brain.tools.ToolException", "odd"), "tool-exception", Unclear, vec![], true),
        (status(418), "unclassified", Unclear, vec![], true),
        (Failure::default(), "unclassified", Unclear, vec![], true),
    ];
    for (failure, signature, class, expected_marks, has_job) in table {
        let decision = World::new().decide(&failure);
        let verdict = &decision.verdict;
        assert_eq!((verdict.signature.as_str(), verdict.classification), (signature, class));
        let marked: Vec<_> = marks(&decision).into_iter().map(|(scope, status, _)| (scope, status)).collect();
        assert_eq!(marked, expected_marks, "{signature}");
        assert_eq!(decision.job.is_some(), has_job, "{signature}");
        assert_eq!(opened(&decision).len(), 1, "{signature}: every health signal opens one cooldown");
        let diagnosis = if has_job { DiagnosisState::Enqueued } else { DiagnosisState::None };
        assert_eq!(verdict.diagnosis, diagnosis, "{signature}");
        assert!(verdict.model_text.starts_with("Call of `search` failed"), "{}", verdict.model_text);
        assert!(verdict.is_health_signal);
    }
}

/// R91, R95, R143, R144, R146: a decision is a function of its arguments and nothing else: no model, no probe, no inbox.
#[test]
fn the_same_arguments_give_the_same_decision() {
    let mut world = World::new();
    world.fail(&status(500));
    for code in [401, 403, 404, 429, 500, 418] {
        assert_eq!(world.decide(&status(code)), world.decide(&status(code)));
    }
}

/// R145: what the history says makes no difference.
#[test]
fn the_history_is_not_read() {
    let mut world = World::new();
    world.fail(&typed("java.net.ConnectException", ""));
    world.advance(TimeDelta::hours(1));
    let before = world.decide(&typed("java.net.ConnectException", ""));
    assert!(!world.documents[0].history.is_empty());
    world.documents[0].history.clear();
    assert_eq!(world.decide(&typed("java.net.ConnectException", "")), before);
}

/// R98, R99: under an active cooldown nothing is written and nothing enqueued, and the answer is complete all the same.
#[test]
fn an_active_cooldown_answers_and_changes_nothing() {
    let mut world = World::new();
    let first = world.fail(&status(500));
    world.advance(TimeDelta::seconds(10));
    let second = world.decide(&status(502));
    assert!(second.effects.is_empty() && second.job.is_none());
    let verdict = &second.verdict;
    assert_eq!((verdict.signature.as_str(), verdict.classification), ("http-5xx", Classification::Unclear));
    assert_eq!((verdict.diagnosis, verdict.remedy), (DiagnosisState::Suppressed, Remedy::RetryAt));
    let cooldown = verdict.cooldown.as_ref().unwrap();
    assert!(cooldown.active && cooldown.episodes == 1 && cooldown.scope == Scope::Project);
    assert_eq!(cooldown.until, support::start() + TimeDelta::seconds(30));
    assert_eq!(verdict.retry_at, first.verdict.retry_at, "the same window, the same caller, the same time");
    assert_eq!(second.hit.unwrap().opened_at, support::start(), "it counts for the window that was opened");
    world.advance(TimeDelta::seconds(20));
    assert!(world.decide(&status(500)).job.is_some(), "the window is over");
}

/// R101, R138, R3, C3: the user's own mistake or right is reflected and cooled down, however often it repeats.
#[test]
fn never_health_classes_leave_no_status() {
    for (failure, remedy) in
        [(status(403), Remedy::AskAdmin), (typed("ToolException", "Manual not found: 'x'"), Remedy::FixInput)]
    {
        let mut world = World::new();
        for _ in 0..40 {
            let decision = world.fail(&failure);
            assert!(marks(&decision).is_empty() && decision.job.is_none());
            assert_eq!((decision.verdict.remedy, decision.verdict.retry_at), (remedy, None));
            world.advance(TimeDelta::hours(13));
        }
        assert!(world.documents.iter().all(|it| it.health.is_none() && it.history.is_empty()));
    }
}

/// R102: the job and the cooldown are one decision; the text says that a diagnosis is on its way.
#[test]
fn an_unclear_failure_is_enqueued_with_its_cooldown() {
    let world = World::new();
    let failure = Failure { message: "password=hunter22 boom".to_owned(), ..status(500) };
    let decision = world.decide(&failure);
    let job = decision.job.unwrap();
    assert_eq!((job.key.scope, job.signature.as_str(), job.key_user), (Scope::Project, "http-5xx", None));
    assert_eq!(
        (job.user_id.as_deref(), job.session_id.as_deref()),
        (Some("alice"), Some("session-of-alice"))
    );
    assert!(job.detail.contains("boom") && !job.detail.contains("hunter22"), "{}", job.detail);
    assert_eq!(decision.effects.len(), 1);
    assert_eq!(decision.verdict.remedy, Remedy::AwaitDiagnosis);
    assert!(
        decision.verdict.model_text.contains("It will be looked into; do not call it again before"),
        "{}",
        decision.verdict.model_text
    );
}

/// R10, R100, C5: where only the dispatcher knows, its word decides; a rule that knows better wins (R13).
#[test]
fn an_unreachable_backend_is_down() {
    let mut world = World::new();
    let decision = world.decide(&dispatched(DispatchCode::BackendUnreachable));
    let verdict = &decision.verdict;
    assert_eq!(verdict.signature, "backend-unreachable");
    assert_eq!((verdict.classification, verdict.rule_id.as_str()), (Classification::TechnicallyBroken, ""));
    assert_eq!(marks(&decision), [(Scope::Project, Status::Down, Classification::TechnicallyBroken)]);
    assert_eq!((verdict.fault, verdict.remedy), (Fault::ToolHost, Remedy::PlanWithout));
    world.settings = checker::Settings::literal();
    assert_eq!(
        marks(&world.decide(&dispatched(DispatchCode::BackendUnreachable))).len(),
        1,
        "R100 by the letter"
    );

    world.tool = tool(ToolKind::Client);
    let decision = world.decide(&dispatched(DispatchCode::BackendUnreachable));
    assert_eq!(marks(&decision)[0].0, Scope::Session, "R25");
    assert_eq!(decision.verdict.remedy, Remedy::ReopenSession);
    assert!(decision.verdict.user_hint.unwrap().contains("open it again"));

    let forbidden = Failure { http_status: Some(403), ..dispatched(DispatchCode::BackendUnreachable) };
    assert_eq!(world.decide(&forbidden).verdict.signature, "http-403");
}

/// R11, R13: BACKEND_FAILED says nothing that the rules would not.
#[test]
fn a_failed_backend_is_for_the_rules() {
    let decision =
        World::new().decide(&Failure { http_status: Some(500), ..dispatched(DispatchCode::BackendFailed) });
    assert_eq!(decision.verdict.rule_id, "http-5xx");
    assert_eq!(decision.verdict.dispatch_code, Some(DispatchCode::BackendFailed));
}

/// R12: a refusal by policy is no health signal.
#[test]
fn a_refusal_changes_nothing() {
    let decision =
        World::new().decide(&Failure { http_status: Some(500), ..dispatched(DispatchCode::Disallowed) });
    let verdict = &decision.verdict;
    assert!(decision.effects.is_empty() && decision.job.is_none() && decision.hit.is_none());
    assert!(!verdict.is_health_signal && verdict.scope.is_none());
    assert_eq!(
        (verdict.signature.as_str(), verdict.classification),
        ("disallowed", Classification::UserPermission)
    );
    assert_eq!((verdict.fault, verdict.remedy, verdict.retry_at), (Fault::UserRight, Remedy::AskAdmin, None));
}

/// DESIGN §5: a cancelled call changes nothing, said or derived; a time-out is none.
#[test]
fn a_cancelled_call_changes_nothing() {
    let said = Failure { kind: Some(FailureKind::Cancelled), ..status(500) };
    for failure in
        [said, typed("asyncio.CancelledError", ""), typed("*url.Error", "Get \"x\": context canceled")]
    {
        let decision = World::new().decide(&failure);
        assert!(decision.effects.is_empty() && decision.job.is_none());
        assert!(!decision.verdict.is_health_signal);
        assert_eq!(decision.verdict.signature, "cancelled");
    }
    let timeout = typed("System.Threading.Tasks.TaskCanceledException", "x ---> System.TimeoutException: y");
    assert_eq!(World::new().decide(&timeout).verdict.signature, "timeout");
    let gone = Failure { dispatch_code: Some(DispatchCode::BackendUnreachable), ..typed("AbortError", "") };
    assert_eq!(World::new().decide(&gone).verdict.signature, "backend-unreachable");
}

/// R9: a name that nothing speaks for is an unknown tool, and leaves no trace.
#[test]
fn an_unknown_tool_leaves_no_trace() {
    let decision = World::new().decide(&dispatched(DispatchCode::NotRegistered));
    let verdict = &decision.verdict;
    assert!(decision.effects.is_empty() && decision.job.is_none() && decision.hit.is_none());
    assert_eq!(
        (verdict.signature.as_str(), verdict.classification),
        ("not-registered", Classification::UserInput)
    );
    assert_eq!((verdict.remedy, verdict.scope), (Remedy::FixInput, None));
    assert_eq!(verdict.dispatch_code, Some(DispatchCode::NotRegistered));
    assert!(verdict.model_text.contains("no tool of this name is registered"), "{}", verdict.model_text);
}

/// R1, C24: after a disconnect the tool is unreachable, not unknown, and nothing is written over the event.
#[test]
fn a_tool_whose_client_left_is_unreachable() {
    let mut world = World::new();
    world.tool = tool(ToolKind::Client);
    let gone = Effect {
        key: world.key(Scope::Session),
        kind: EffectKind::ConnectionEvent {
            connection: Connection { id: "c1".to_owned(), sequence: 1, at: world.now, open: false },
            note: "closed".to_owned(),
        },
    };
    world.apply(&[gone]);
    world.advance(TimeDelta::hours(30));
    let decision = world.decide(&dispatched(DispatchCode::NotRegistered));
    let verdict = &decision.verdict;
    assert!(decision.effects.is_empty() && decision.job.is_none());
    assert_eq!(verdict.dispatch_code, Some(DispatchCode::BackendUnreachable));
    assert_eq!(verdict.classification, Classification::TechnicallyBroken);
    assert_eq!((verdict.remedy, verdict.scope), (Remedy::ReopenSession, Some(Scope::Session)));
    assert!(verdict.is_health_signal);
    assert!(!verdict.model_text.contains("no tool of this name"), "{}", verdict.model_text);

    let bob = world.decide_for(&caller("bob"), &dispatched(DispatchCode::NotRegistered));
    assert_eq!(bob.verdict.signature, "not-registered", "it is another session's tool");
}

/// C24, DESIGN §11.4: a success not long ago speaks for the tool, and then it is marked.
#[test]
fn a_tool_that_worked_not_long_ago_is_unreachable() {
    let mut world = World::new();
    world.fail(&typed("java.net.ConnectException", ""));
    world.documents[0].last_success_at = Some(world.now);
    world.documents[0].health = None;
    world.advance(TimeDelta::hours(23));
    let decision = world.decide(&dispatched(DispatchCode::NotRegistered));
    assert_eq!(decision.verdict.dispatch_code, Some(DispatchCode::BackendUnreachable));
    assert_eq!(marks(&decision), [(Scope::Project, Status::Down, Classification::TechnicallyBroken)]);
    world.advance(TimeDelta::hours(1));
    assert_eq!(world.decide(&dispatched(DispatchCode::NotRegistered)).verdict.signature, "not-registered");
}

/// C24: a DOWN that no event set does not speak for a name.
#[test]
fn a_verdict_alone_does_not_make_a_name_known() {
    let mut world = World::new();
    world.fail(&typed("java.net.ConnectException", ""));
    let decision = world.decide(&dispatched(DispatchCode::NotRegistered));
    assert_eq!(decision.verdict.signature, "not-registered");
    assert!(decision.effects.is_empty());
}

/// R139: what does not exist is never probed and never marks the tool.
#[test]
fn an_entity_that_does_not_exist_is_input() {
    let entity = Failure { not_found_of: Some(NotFoundOf::Entity), ..status(404) };
    let decision = World::new().decide(&entity);
    assert_eq!(decision.verdict.classification, Classification::UserInput);
    assert!(marks(&decision).is_empty() && decision.job.is_none());
    let route = Failure { not_found_of: Some(NotFoundOf::Endpoint), ..status(404) };
    assert_eq!(World::new().decide(&route).verdict.rule_id, "http-404-endpoint");
}

/// The target is not the tool: its faults are the input's, and no status of the tool is ever written.
#[test]
fn a_target_that_came_with_the_call_is_not_the_tool() {
    let mut world = World::new();
    world.tool.target = Some(Target::Argument);
    let decision = world.decide(&typed("ConnectionRefusedError", "[Errno 111] Connection refused"));
    assert_eq!(decision.verdict.classification, Classification::UserInput);
    assert_eq!((decision.verdict.fault, decision.verdict.remedy), (Fault::Target, Remedy::FixInput));
    assert!(marks(&decision).is_empty() && decision.job.is_none());
    for failure in [status(429), status(500), dispatched(DispatchCode::BackendUnreachable)] {
        assert!(marks(&world.decide(&failure)).is_empty(), "{failure:?}");
    }
}

/// C4: a rule without `healthAction` does what its class does, `none` nothing, and the switch makes absence mean none.
#[test]
fn absent_and_none_are_different() {
    let yaml = |action: &str| {
        format!(
            "patterns:\n  - id: mine\n    before: first\n    match: {{errorCode: E1}}\n    signature: mine\n    classification: INTERMITTENT\n    {action}\n"
        )
    };
    let failure = Failure { error_code: Some("E1".to_owned()), ..Failure::default() };
    let marked = |action: &str, settings| {
        let mut world = World::with_rules(&yaml(action));
        world.settings = settings;
        marks(&world.decide(&failure)).first().map(|(_, status, _)| *status)
    };
    let (auto, literal) = (checker::Settings::default(), checker::Settings::literal());
    assert_eq!(marked("", auto), Some(Status::Degraded));
    assert_eq!(marked("", literal), None);
    assert_eq!(marked("healthAction: none", auto), None);
    assert_eq!(marked("healthAction: auto", literal), Some(Status::Degraded));
    assert_eq!(marked("healthAction: markUnavailable", literal), Some(Status::Down), "R118");
    assert_eq!(marked("healthAction: markDegraded", auto), Some(Status::Degraded), "R118");
}

/// R118, C8: a status is written directly, also where a diagnosis follows; UNCLEAR is never told as a cause.
#[test]
fn an_unclear_rule_may_mark_and_enqueue() {
    let world = World::with_rules(
        "patterns:\n  - {id: http-5xx, match: {httpStatusRange: [500, 599]}, signature: http-5xx, classification: UNCLEAR, healthAction: markDegraded}\n",
    );
    let decision = world.decide(&status(500));
    assert_eq!(marks(&decision), [(Scope::Project, Status::Degraded, Classification::Unclear)]);
    assert!(decision.job.is_some());
    let text = &decision.verdict.model_text;
    assert!(text.contains("the cause is not known yet") && !text.contains("UNCLEAR"), "{text}");
}

/// R19, R52: WORKING clears what is on record and opens nothing.
#[test]
fn a_working_rule_clears() {
    let mut world = World::with_rules(
        "patterns:\n  - {id: ok, before: first, match: {errorCode: WARN}, signature: warn, classification: WORKING}\n",
    );
    let warning = Failure { error_code: Some("WARN".to_owned()), ..Failure::default() };
    assert!(world.decide(&warning).effects.is_empty(), "with nothing on record there is nothing to write");
    world.fail(&typed("java.net.ConnectException", ""));
    let decision = world.fail(&warning);
    assert_eq!(marks(&decision), [(Scope::Project, Status::Ok, Classification::Working)]);
    let document = world.document(Scope::Project).unwrap();
    assert!(document.cooldowns.is_empty());
    assert_eq!(document.health.as_ref().unwrap().status, Status::Ok);
}

/// R120: the note of a rule goes to the history of the document that it changes.
#[test]
fn a_note_goes_to_the_history() {
    let mut world = World::with_rules(
        "patterns:\n  - {id: a, before: first, match: {errorCode: E}, signature: a, classification: TECHNICALLY_BROKEN, note: look at the gateway}\n",
    );
    world.fail(&Failure { error_code: Some("E".to_owned()), ..Failure::default() });
    let entry = &world.documents[0].history[0];
    assert_eq!(
        (entry.note.as_str(), entry.by.as_str(), entry.signature.as_deref()),
        ("look at the gateway", "checker", Some("a"))
    );
    assert_eq!(entry.user_id.as_deref(), Some("alice"), "R21");
}

/// R21, R31, C1: the class is on record, and the status shows.
#[test]
fn a_mark_shows_in_the_cascade() {
    let mut world = World::new();
    world.fail(&typed("java.net.ConnectException", ""));
    world.fail(&status(403));
    let cascade = health_model::Cascade::new(&world.documents);
    let state = cascade.state(&world.policy, world.now);
    assert_eq!(state.effective, EffectiveStatus::Down, "a cooldown of the user's hides nothing");
    assert_eq!(state.health.unwrap().classification, Classification::TechnicallyBroken);
}

/// Fault, remedy and safety of the usual cases.
#[test]
fn the_advice_fits_the_case() {
    for (failure, kind, fault, remedy, safety) in [
        (status(429), ToolKind::Rest, Fault::Upstream, Remedy::RetryAt, RetrySafety::Safe),
        (status(500), ToolKind::Rest, Fault::Upstream, Remedy::AwaitDiagnosis, RetrySafety::VerifyFirst),
        (status(401), ToolKind::Rest, Fault::Unknown, Remedy::AwaitDiagnosis, RetrySafety::Safe),
        (
            typed("X", "[Errno -2] Name or service not known"),
            ToolKind::Rest,
            Fault::Network,
            Remedy::PlanWithout,
            RetrySafety::Safe,
        ),
        (
            typed("X", "connect ECONNREFUSED h:1"),
            ToolKind::Rest,
            Fault::Upstream,
            Remedy::PlanWithout,
            RetrySafety::Safe,
        ),
        (
            typed("X", "connect ECONNREFUSED h:1"),
            ToolKind::Mcp,
            Fault::ToolHost,
            Remedy::PlanWithout,
            RetrySafety::Safe,
        ),
        (
            typed("X", "Read timed out"),
            ToolKind::Rest,
            Fault::Network,
            Remedy::AwaitDiagnosis,
            RetrySafety::VerifyFirst,
        ),
        (
            Failure { schema_violation: true, ..Failure::default() },
            ToolKind::Mcp,
            Fault::ToolHost,
            Remedy::AwaitDiagnosis,
            RetrySafety::VerifyFirst,
        ),
    ] {
        let mut world = World::new();
        world.tool = tool(kind);
        let verdict = world.decide(&failure).verdict;
        assert_eq!(
            (verdict.fault, verdict.remedy, verdict.retry_safety),
            (fault, remedy, safety),
            "{failure:?}"
        );
    }
}

/// A rule may know better than the tables.
#[test]
fn a_rule_names_fault_and_remedy() {
    let world = World::with_rules(
        "patterns:\n  - {id: http-403, match: {httpStatus: 403}, signature: http-403, classification: USER_PERMISSION, fault: UPSTREAM, remedy: PLAN_WITHOUT}\n",
    );
    let verdict = world.decide(&status(403)).verdict;
    assert_eq!((verdict.fault, verdict.remedy), (Fault::Upstream, Remedy::PlanWithout));
}
