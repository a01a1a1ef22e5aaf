//! Whose trouble it is: scopes, users of cooldowns, and what never crosses from one user to another.

mod support;

use health_model::{
    Caller, Classification, CredentialOwner, Diagnosis, DiagnosisState, Failure, Fault, Scope, Status,
    ToolKind,
};
use support::{World, caller, marks, opened, status, tool, typed, verdicts};

const EXPIRED: &str = r#"{"error": "expired_token"}"#;

fn expired() -> Failure {
    Failure { body: EXPIRED.to_owned(), ..status(401) }
}

/// R24, R25, R26, R29: a fault of the tool goes to the tool's home.
#[test]
fn a_fault_of_the_tool_goes_home() {
    let refused = typed("ECONNREFUSED", "connect ECONNREFUSED h:1");
    for (kind, declared, home) in [
        (ToolKind::Client, None, Scope::Session),
        (ToolKind::Mcp, None, Scope::Project),
        (ToolKind::Rest, None, Scope::Project),
        (ToolKind::Rest, Some(Scope::Tenant), Scope::Tenant),
        (ToolKind::Client, Some(Scope::Project), Scope::Project),
    ] {
        let mut world = World::new();
        world.tool = tool(kind);
        world.tool.declared_home_scope = declared;
        let decision = world.decide(&refused);
        assert_eq!(marks(&decision), [(home, Status::Down, Classification::TechnicallyBroken)]);
        assert_eq!(opened(&decision), [(home, "connect-refused", None)], "R45: scope-wide");
    }
}

/// R27, C7, DESIGN §4: trouble of a credential, right, quota or rate follows the credential; unset is the user's.
#[test]
fn trouble_of_a_credential_follows_it() {
    use CredentialOwner::{None as Nobody, Project, Tenant, User};
    for (owner, scope) in [
        (None, Scope::User),
        (Some(User), Scope::User),
        (Some(Project), Scope::Project),
        (Some(Tenant), Scope::Tenant),
        (Some(Nobody), Scope::Project),
    ] {
        for failure in [expired(), status(403), status(401), status(402), status(407), status(429)] {
            let failure = Failure { credential: owner, ..failure };
            let decision = World::new().decide(&failure);
            assert_eq!(decision.verdict.scope, Some(scope), "{owner:?} {:?}", failure.http_status);
            assert!(verdicts(&decision).all(|it| it.key.scope == scope));
        }
        let decision = World::new().decide(&Failure { credential: owner, ..status(500) });
        assert_eq!(decision.verdict.scope, Some(Scope::Project), "a server's fault is nobody's credential");
    }
}

/// R15, R46: one user's expired token takes the tool from nobody else.
#[test]
fn another_user_is_not_touched() {
    let mut world = World::new();
    world.fail(&expired());
    world.fail(&status(403));
    let bob = world.decide_for(&caller("bob"), &status(403));
    assert!(!bob.verdict.cooldown.unwrap().active, "R46");
    assert_eq!(
        opened(&world.decide_for(&caller("bob"), &status(403))),
        [(Scope::User, "http-403", Some("bob"))]
    );
    let (own, home): (Vec<_>, Vec<_>) = world.documents.iter().partition(|it| it.key.scope == Scope::User);
    assert!(own.iter().all(|it| it.key.scope_id == "alice"));
    assert!(home.iter().all(|it| it.health.is_none() && it.cooldowns.is_empty()), "a note is no verdict");
}

/// R30: entries of different scopes live side by side.
#[test]
fn entries_of_scopes_are_apart() {
    let mut world = World::new();
    world.fail(&status(403));
    world.fail(&typed("ECONNREFUSED", ""));
    let user = world.document(Scope::User).unwrap();
    let project = world.document(Scope::Project).unwrap();
    assert!(user.health.is_none() && user.cooldowns.len() == 1);
    assert!(project.health.is_some() && project.cooldowns.len() == 1);
}

/// R45: the user of a cooldown is set where the document is the user's, and nowhere else.
#[test]
fn the_user_of_a_cooldown() {
    let world = World::new();
    assert_eq!(opened(&world.decide(&status(403))), [(Scope::User, "http-403", Some("alice"))]);
    assert_eq!(opened(&world.decide(&status(429))), [(Scope::User, "http-429", Some("alice"))]);
    assert_eq!(opened(&world.decide(&status(500))), [(Scope::Project, "http-5xx", None)]);
    let shared = Failure { credential: Some(CredentialOwner::Project), ..status(429) };
    assert_eq!(opened(&world.decide(&shared)), [(Scope::Project, "http-429", None)]);
}

/// C6: one user's 401 does not hold up another's diagnosis; that of a shared credential is one outage for all of them.
#[test]
fn unclear_auth_failures_are_per_user() {
    let mut world = World::new();
    let alice = world.fail(&status(401));
    assert_eq!(alice.job.unwrap().key_user.as_deref(), Some("alice"));
    let bob = world.fail_for(&caller("bob"), &status(401));
    assert_eq!(bob.job.unwrap().key_user.as_deref(), Some("bob"));
    assert!(world.decide(&status(401)).job.is_none(), "alice's own window is open");
    let shared = Failure { credential: Some(CredentialOwner::Project), ..status(401) };
    let mut world = World::new();
    assert_eq!(world.fail(&shared).job.unwrap().key_user, None);
    assert!(world.decide_for(&caller("bob"), &shared).job.is_none(), "one job, however many users");
    let mut world = World::new();
    world.fail(&status(500));
    assert!(world.decide_for(&caller("bob"), &status(500)).job.is_none(), "scope-wide otherwise");
}

/// DESIGN §2.3, C6: a limit, a bill or a missing right that only a text or gRPC names follows the credential as a reported
/// status does, whatever class a rule gives it: one user's limit is nobody else's.
#[test]
fn trouble_of_a_credential_that_only_a_text_names() {
    let said =
        |message: &str| Failure { message: message.to_owned(), is_error: Some(true), ..Failure::default() };
    let coded = |code: &str| Failure { error_code: Some(code.to_owned()), ..Failure::default() };
    let grpc = |status: &str| Failure { grpc_status: Some(status.to_owned()), ..Failure::default() };
    for class in ["INTERMITTENT", "UNCLEAR", "TECHNICALLY_BROKEN"] {
        for (matcher, failure) in [
            ("status: 429", said("HTTP 429 Too Many Requests")),
            (
                "status: 429",
                Failure { http_status: Some(200), ..said("upstream answered: HTTP 429 Too Many Requests") },
            ),
            ("status: 402", said("HTTP 402 Payment Required")),
            ("status: 407", said("HTTP 407 Proxy Authentication Required")),
            ("status: 401", said("HTTP 401 Unauthorized")),
            ("status: 403", said("HTTP 403 Forbidden")),
            ("status: 403", Failure { body: r#"{"error": {"code": 403}}"#.to_owned(), ..Failure::default() }),
            ("grpcStatus: [RESOURCE_EXHAUSTED]", grpc("RESOURCE_EXHAUSTED")),
            (
                "grpcStatus: [RESOURCE_EXHAUSTED]",
                said("rpc error: code = ResourceExhausted desc = slow down"),
            ),
            ("grpcStatus: [PERMISSION_DENIED]", said("rpc error: code = PermissionDenied desc = no")),
            ("grpcStatus: [UNAUTHENTICATED]", coded("UNAUTHENTICATED")),
            // What an answer quotes does not widen what it says itself.
            ("status: 500", Failure { http_status: Some(429), ..said("HTTP 500 Internal Server Error") }),
        ] {
            let yaml = format!(
                "patterns:\n  - {{id: a, before: first, match: {{{matcher}}}, signature: a, classification: {class}}}\n"
            );
            let world = World::with_rules(&yaml);
            let decision = world.decide(&failure);
            assert_eq!(decision.verdict.rule_id, "a", "{failure:?}");
            assert_eq!(opened(&decision), [(Scope::User, "a", Some("alice"))], "{class} {failure:?}");
            assert!(marks(&decision).iter().all(|(scope, ..)| *scope == Scope::User), "{class} {failure:?}");
            let shared = Failure { credential: Some(CredentialOwner::Project), ..failure };
            assert_eq!(world.decide(&shared).verdict.scope, Some(Scope::Project), "{class} {shared:?}");
        }
    }
    let fallback = World::new().decide(&grpc("RESOURCE_EXHAUSTED"));
    assert_eq!(fallback.verdict.classification, Classification::Unclear);
    assert_eq!(opened(&fallback), [(Scope::User, "unclassified", Some("alice"))]);
}

/// C6: one job a user of a 403 that only a text names, one for all of anything else; what was found of one user is no answer
/// for another.
#[test]
fn unclear_auth_failures_of_a_text_are_per_user() {
    let rule = |status: u16| {
        World::with_rules(&format!(
            "patterns:\n  - {{id: a, before: first, match: {{status: {status}}}, signature: a, classification: UNCLEAR, scope: project}}\n"
        ))
    };
    let said = |text: &str| Failure { message: text.to_owned(), ..Failure::default() };
    let (mut world, refused) = (rule(403), said("HTTP 403 Forbidden"));
    for user in ["alice", "bob"] {
        let job = world.fail_for(&caller(user), &refused).job.unwrap();
        assert_eq!((job.key.scope, job.key_user.as_deref()), (Scope::Project, Some(user)));
    }
    let diagnosis = diagnosed(&world, Classification::TechnicallyBroken, "a", Some("alice"));
    world.documents.iter_mut().find(|it| it.key.scope == Scope::Project).unwrap().last_diagnosis =
        Some(diagnosis);
    let state = |user| world.decide_for(&caller(user), &refused).verdict.diagnosis;
    assert_eq!(state("alice"), DiagnosisState::AlreadyDiagnosed);
    assert_eq!(state("bob"), DiagnosisState::Suppressed, "bob's own window is open");

    let (mut world, broken) = (rule(500), said("HTTP 500 Internal Server Error"));
    assert_eq!(world.fail(&broken).job.unwrap().key_user, None);
    assert!(world.decide_for(&caller("bob"), &broken).job.is_none());
}

/// A rate is a limit of the other side's and a due bill is told as one, wherever it stands.
#[test]
fn advice_on_what_only_a_text_names() {
    let rule = |status: u16, class: &str| {
        World::with_rules(&format!(
            "patterns:\n  - {{id: a, before: first, match: {{status: {status}}}, signature: a, classification: {class}}}\n"
        ))
    };
    let said = |text: &str| Failure { message: text.to_owned(), ..Failure::default() };
    let rate = rule(429, "INTERMITTENT").decide(&said("HTTP 429 Too Many Requests")).verdict;
    assert_eq!(rate.fault, Fault::Upstream);
    let own = rule(503, "UNCLEAR").decide(&said("HTTP 503 Service Unavailable")).verdict;
    assert_eq!(own.fault, Fault::Upstream);
    let bill = rule(402, "USER_SPECIFIC_TECHNICAL").decide(&said("HTTP 402 Payment Required")).verdict;
    assert!(bill.user_hint.unwrap().contains("A bill of the account"));
}

/// DESIGN §4: a caller without an id at the scope is answered; nothing is stored and nothing widened.
#[test]
fn a_caller_without_an_id_is_answered_only() {
    let nobody = Caller { user_id: None, ..caller("x") };
    let world = World::new();
    for failure in [status(403), expired(), status(401), status(429)] {
        let decision = world.decide_for(&nobody, &failure);
        assert!(
            decision.effects.is_empty() && decision.job.is_none() && decision.hit.is_none(),
            "{failure:?}"
        );
        assert_eq!(decision.verdict.scope, None);
        assert_ne!(decision.verdict.diagnosis, DiagnosisState::Enqueued);
    }
    assert!(world.decide_for(&nobody, &status(429)).verdict.retry_at.is_some(), "the answer is complete");

    let mut client = World::new();
    client.tool = tool(ToolKind::Client);
    let no_session = Caller { session_id: None, ..caller("alice") };
    let decision = client.decide_for(&no_session, &typed("ECONNREFUSED", ""));
    assert!(decision.effects.is_empty());
    assert_eq!(decision.verdict.scope, None);
}

/// A rule may choose the scope, but never GLOBAL (R28 is not a tenant's to write), and not for a user's own token (C7).
#[test]
fn a_rule_may_choose_the_scope() {
    let rule = |scope: &str, class: &str| {
        format!(
            "patterns:\n  - {{id: a, before: first, match: {{errorCode: E}}, signature: a, classification: {class}, scope: {scope}}}\n"
        )
    };
    let failure = Failure { error_code: Some("E".to_owned()), ..Failure::default() };
    for (word, scope) in [
        ("home", Scope::Project),
        ("credential", Scope::User),
        ("session", Scope::Session),
        ("user", Scope::User),
        ("project", Scope::Project),
        ("tenant", Scope::Tenant),
    ] {
        let broken = World::with_rules(&rule(word, "TECHNICALLY_BROKEN")).decide(&failure);
        assert_eq!(marks(&broken), [(scope, Status::Down, Classification::TechnicallyBroken)], "{word}");
        let own = World::with_rules(&rule(word, "USER_SPECIFIC_TECHNICAL")).decide(&failure);
        assert_eq!(marks(&own)[0].0, Scope::User, "{word}");
        let right = World::with_rules(&rule(word, "USER_PERMISSION")).decide(&failure);
        assert_eq!(opened(&right)[0].2, Some("alice"), "R46, {word}");
    }
    let shared = Failure { credential: Some(CredentialOwner::Tenant), ..failure };
    let shared = World::with_rules(&rule("tenant", "USER_SPECIFIC_TECHNICAL")).decide(&shared);
    assert_eq!(marks(&shared)[0].0, Scope::Tenant);
    let global = support::layer(checker::LayerKind::Tenant, &rule("global", "TECHNICALLY_BROKEN"));
    assert!(global.rules.is_empty());
    assert!(global.diagnostics[0].message.contains("unknown scope `global`"), "{}", global.diagnostics[0]);
}

fn diagnosed(world: &World, class: Classification, signature: &str, user: Option<&str>) -> Diagnosis {
    Diagnosis {
        classification: class,
        note: String::new(),
        by: "agrajag-engine/1".to_owned(),
        at: world.now,
        signature: Some(signature.to_owned()),
        user_id: user.map(str::to_owned),
    }
}

/// R20, C20, DESIGN §11.2: an unclear failure under a fresh diagnosis is answered with it, and starts none.
#[test]
fn a_fresh_diagnosis_answers() {
    let mut world = World::new();
    world.fail(&status(500));
    let at = world.documents.iter().position(|it| it.key.scope == Scope::Project).unwrap();
    world.documents[at].last_diagnosis =
        Some(diagnosed(&world, Classification::TechnicallyBroken, "http-5xx", Some("alice")));
    for seconds in [10, 250] {
        world.now = support::start() + chrono::TimeDelta::seconds(seconds);
        let decision = world.decide_for(&caller("bob"), &status(503));
        assert_eq!(decision.verdict.diagnosis, DiagnosisState::AlreadyDiagnosed);
        assert_eq!(decision.verdict.classification, Classification::TechnicallyBroken);
        assert!(decision.effects.is_empty() && decision.job.is_none());
    }
    world.now = support::start() + chrono::TimeDelta::minutes(5);
    assert!(world.decide(&status(503)).job.is_some(), "five minutes are not fresh");
}

/// R20, C6: what was found of one user, or of another signature, is no answer.
#[test]
fn another_users_diagnosis_is_no_answer() {
    for (class, signature, user, failure, is_fresh) in [
        (Classification::UserSpecificTechnical, "http-401", Some("bob"), status(401), false),
        (Classification::UserSpecificTechnical, "http-401", Some("alice"), status(401), true),
        (Classification::TechnicallyBroken, "http-401", Some("bob"), status(401), false),
        (Classification::UserPermission, "http-5xx", Some("bob"), status(500), false),
        (Classification::TechnicallyBroken, "timeout", Some("alice"), status(500), false),
        (Classification::Unclear, "http-5xx", Some("alice"), status(500), false),
    ] {
        let mut world = World::new();
        let failure = Failure { credential: Some(CredentialOwner::Project), ..failure };
        let diagnosis = diagnosed(&world, class, signature, user);
        let mut document = health_model::Document::new(world.key(Scope::Project), world.now);
        document.last_diagnosis = Some(diagnosis);
        world.documents.push(document);
        let state = world.decide(&failure).verdict.diagnosis;
        assert_eq!(state == DiagnosisState::AlreadyDiagnosed, is_fresh, "{class} {signature} {user:?}");
    }
}

/// R20: a recovery that is past ends the freshness.
#[test]
fn a_past_recovery_is_not_fresh() {
    let mut world = World::with_rules(
        "patterns:\n  - {id: http-5xx, match: {httpStatusRange: [500, 599]}, signature: http-5xx, classification: UNCLEAR, healthAction: markDegraded}\n",
    );
    world.fail(&status(500));
    world.documents[0].last_diagnosis =
        Some(diagnosed(&world, Classification::Intermittent, "http-5xx", None));
    assert_eq!(world.decide(&status(500)).verdict.diagnosis, DiagnosisState::AlreadyDiagnosed);
    world.now += chrono::TimeDelta::seconds(31);
    assert!(world.decide(&status(500)).job.is_some());
}
