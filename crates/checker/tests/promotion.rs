//! Promotion with evidence: like failures of several users ask for a diagnosis of the tool, once, and widen no verdict.

mod support;

use checker::Decision;
use checker::redact::DETAIL_LIMIT;
use chrono::TimeDelta;
use health_model::promotion::pseudonym;
use health_model::{
    Caller, Classification, CredentialOwner, Diagnosis, DiagnosisState, EffectKind, Failure, Scope, Status,
    Target, ToolKind,
};
use support::{World, caller, marks, status, tool, verdicts};

fn expired() -> Failure {
    Failure { body: r#"{"error": "token_expired"}"#.to_owned(), ..status(401) }
}

/// Each of the users fails so, a minute after the one before.
fn fail_all(world: &mut World, users: &[&str], failure: &Failure) -> Vec<Decision> {
    let mut decisions = Vec::new();
    for user in users {
        world.advance(TimeDelta::minutes(1));
        decisions.push(world.fail_for(&caller(user), failure));
    }
    decisions
}

fn evidence(decision: &Decision) -> Option<(&str, &str)> {
    let found = decision.verdict.evidence.iter().find(|it| it.field == "likeFailures")?;
    Some((found.expected.as_str(), found.seen.as_str()))
}

fn n_jobs(decisions: &[Decision]) -> usize {
    decisions.iter().filter(|it| it.job.is_some()).count()
}

/// DESIGN §2.3, C7: the third user makes one job at the tool's home, with the evidence; each verdict stays the user's
/// own, and no status is written anywhere else.
#[test]
fn the_third_user_asks_for_a_diagnosis_of_the_tool() {
    let mut world = World::new();
    let decisions = fail_all(&mut world, &["alice", "bob", "carol"], &expired());
    assert!(decisions[..2].iter().all(|it| it.job.is_none() && evidence(it).is_none()));
    let third = &decisions[2];
    let job = third.job.as_ref().unwrap();
    assert_eq!((job.key.scope, job.key.scope_id.as_str()), (Scope::Project, "essay"));
    assert_eq!((&job.signature, job.key_user.as_deref()), (&third.verdict.signature, None));
    assert_eq!(job.user_id.as_deref(), Some("carol"), "the diagnosis asks as a user whose call failed");
    assert_eq!(job.session_id.as_deref(), Some("session-of-carol"));
    assert!(job.detail.starts_with("like failures: 3 users within 2 min\nstatus: 401"), "{}", job.detail);
    assert_eq!(evidence(third), Some(("3 users within 15 min", "3 users within 2 min")));
    for (user, decision) in ["alice", "bob", "carol"].iter().zip(&decisions) {
        let verdict = &decision.verdict;
        assert_eq!(verdict.classification, Classification::UserSpecificTechnical);
        assert_eq!(verdict.scope, Some(Scope::User));
        let own = (Scope::User, Status::Down, Classification::UserSpecificTechnical);
        assert_eq!(marks(decision), [own]);
        assert!(verdicts(decision).all(|it| it.key.scope_id == *user));
    }
    assert_eq!(decisions[1].verdict.diagnosis, DiagnosisState::None);
    assert_eq!(third.verdict.diagnosis, DiagnosisState::Enqueued);
    assert_eq!(third.verdict.remedy, decisions[0].verdict.remedy, "carol logs in again all the same");
    let home = world.document(Scope::Project).unwrap();
    assert!(home.health.is_none() && home.history.is_empty() && home.cooldowns.is_empty());
    assert!(world.documents.iter().all(|it| it.key.scope != Scope::Global));
}

/// DESIGN §2.3, §9: what is written at home names no user, only pseudonyms.
#[test]
fn the_home_document_shows_no_user() {
    let mut world = World::new();
    fail_all(&mut world, &["alice", "bob"], &expired());
    let home = world.document(Scope::Project).unwrap();
    let users: Vec<_> = home.like_failures.iter().map(|it| it.user.clone()).collect();
    assert_eq!(users.len(), 2);
    assert!(users.contains(&pseudonym("acme", "alice")) && users.contains(&pseudonym("acme", "bob")));
    let text = format!("{:?}", home.like_failures);
    assert!(!text.contains("alice") && !text.contains("bob"), "{text}");
}

/// C7, invariant 3: however often two users fail, or one, it is their own trouble.
#[test]
fn fewer_users_make_no_job() {
    let mut world = World::new();
    for _ in 0..5 {
        let decisions = fail_all(&mut world, &["alice", "alice", "bob"], &expired());
        assert_eq!(n_jobs(&decisions), 0);
        // Past every window that may be open, so that each of them opens another one.
        world.advance(TimeDelta::hours(30));
    }
    let mut world = World::with_rules(
        "patterns:\n  - {id: a, before: first, match: {httpStatus: 401}, signature: a, classification: USER_SPECIFIC_TECHNICAL, cooldown: PT1S}\n",
    );
    let decisions = fail_all(&mut world, &["alice", "alice", "alice", "alice", "bob"], &status(401));
    assert!(decisions.iter().all(|it| !it.effects.is_empty()), "each opened a window of its own");
    assert_eq!(n_jobs(&decisions), 0);
}

/// R99: under the user's own cooldown a failure is a repetition: it is counted once and writes nothing.
#[test]
fn repetitions_under_a_cooldown_count_once() {
    let mut world = World::new();
    fail_all(&mut world, &["alice", "bob"], &expired());
    let before = world.documents.clone();
    for decision in fail_all(&mut world, &["alice", "bob", "alice"], &expired()) {
        assert!(decision.effects.is_empty() && decision.job.is_none() && evidence(&decision).is_none());
    }
    assert_eq!(world.documents, before);
}

/// DESIGN §2.3: a failure that is older than the window does not count.
#[test]
fn users_outside_of_the_window_do_not_count() {
    let mut world = World::new();
    fail_all(&mut world, &["alice", "bob"], &expired());
    world.advance(TimeDelta::minutes(14));
    let decision = world.fail_for(&caller("carol"), &expired());
    assert!(decision.job.is_none(), "alice's is 15 min old");
    world.advance(TimeDelta::minutes(1));
    assert!(world.fail_for(&caller("dave"), &expired()).job.is_none(), "bob's is 15 min old as well");
    assert!(world.fail_for(&caller("erin"), &expired()).job.is_some());
}

/// DESIGN §2.3: one job an episode; further users are told the evidence and write nothing at home.
#[test]
fn further_users_make_no_further_job() {
    let mut world = World::new();
    fail_all(&mut world, &["alice", "bob", "carol"], &expired());
    let home = world.document(Scope::Project).unwrap().clone();
    let decisions = fail_all(&mut world, &["dave", "erin", "frank"], &expired());
    assert_eq!(n_jobs(&decisions), 0);
    assert_eq!(evidence(&decisions[0]), Some(("3 users within 15 min", "4 users within 3 min")));
    assert_eq!(decisions[0].verdict.diagnosis, DiagnosisState::None);
    assert!(decisions.iter().all(|it| verdicts(it).count() == it.effects.len()), "nothing is noted");
    assert_eq!(world.document(Scope::Project), Some(&home));
    let again = world.decide_for(&caller("carol"), &expired());
    assert!(again.effects.is_empty() && evidence(&again).is_some(), "a repetition is told so too");
    // The first of them are out of the window; the one that asked is not.
    world.advance(TimeDelta::minutes(10));
    let late = fail_all(&mut world, &["gina"], &expired());
    assert!(late[0].job.is_none() && verdicts(&late[0]).count() == late[0].effects.len());
    // The trouble goes on: another three make it again, and again once only.
    world.advance(TimeDelta::minutes(1));
    let decisions = fail_all(&mut world, &["hans", "ida", "jo", "kim", "leo", "mia"], &expired());
    let asked: Vec<_> = decisions.iter().map(|it| it.job.is_some()).collect();
    assert_eq!(asked, [false, false, true, false, false, false]);
}

/// R200, C20: what was diagnosed a moment ago is not diagnosed again; later it is.
#[test]
fn a_fresh_diagnosis_stands_against_another_one() {
    let mut world = World::new();
    let before = fail_all(&mut world, &["alice", "bob"], &expired());
    let diagnosis = Diagnosis {
        classification: Classification::UserSpecificTechnical,
        note: String::new(),
        by: "agrajag-engine/1".to_owned(),
        at: world.now,
        signature: Some(before[0].verdict.signature.clone()),
        user_id: None,
    };
    let home = world.documents.iter_mut().find(|it| it.key.scope == Scope::Project).unwrap();
    home.last_diagnosis = Some(diagnosis);
    let decisions = fail_all(&mut world, &["carol"], &expired());
    assert_eq!(n_jobs(&decisions), 0);
    assert!(evidence(&decisions[0]).is_some(), "told all the same");
    world.advance(TimeDelta::minutes(5));
    assert_eq!(n_jobs(&fail_all(&mut world, &["dave"], &expired())), 1, "it has aged");
    let home = world.documents.iter_mut().find(|it| it.key.scope == Scope::Project).unwrap();
    home.like_failures.clear();
    home.last_diagnosis.as_mut().unwrap().signature = Some("other".to_owned());
    home.last_diagnosis.as_mut().unwrap().at = world.now;
    let decisions = fail_all(&mut world, &["erin", "frank", "gina"], &expired());
    assert_eq!(n_jobs(&decisions), 1, "a diagnosis of something else says nothing");
}

/// DESIGN §4, C7: only a user's own credential, of a tool that several users share, is evidence.
#[test]
fn what_is_not_user_trouble_is_not_promoted() {
    use CredentialOwner::{None as Nobody, Project, Tenant, User};
    for (owner, jobs) in
        [(None, 1), (Some(User), 1), (Some(Project), 0), (Some(Tenant), 0), (Some(Nobody), 0)]
    {
        let mut world = World::new();
        let failure = Failure { credential: owner, ..expired() };
        let decisions = fail_all(&mut world, &["alice", "bob", "carol", "dave"], &failure);
        assert_eq!(n_jobs(&decisions), jobs, "{owner:?}");
        let n_noted = world.documents.iter().map(|it| it.like_failures.len()).sum::<usize>();
        assert_eq!(n_noted, 3 * jobs, "{owner:?}");
    }
    let users = ["alice", "bob", "carol"];
    let mut session = World::new();
    session.tool = tool(ToolKind::Client);
    assert_eq!(n_jobs(&fail_all(&mut session, &users, &expired())), 0, "a session is one user's");
    let mut argument = World::new();
    argument.tool.target = Some(Target::Argument);
    assert_eq!(n_jobs(&fail_all(&mut argument, &users, &expired())), 0, "each may have called another host");
    for failure in [status(403), status(429)] {
        let mut world = World::new();
        let decisions = fail_all(&mut world, &users, &failure);
        assert_eq!(n_jobs(&decisions), 0, "a right or a rate is no broken credential");
        assert!(world.documents.iter().all(|it| it.like_failures.is_empty()));
    }
    let world = World::new();
    let nobody = Caller { user_id: None, ..caller("x") };
    assert!(world.decide_for(&nobody, &expired()).effects.is_empty());
}

/// R26, R29: the diagnosis is of the tool's home scope, and users of other projects and tenants count elsewhere.
#[test]
fn each_home_counts_for_itself() {
    let mut world = World::new();
    world.tool.declared_home_scope = Some(Scope::Tenant);
    for (user, project) in [("alice", "essay"), ("bob", "thesis")] {
        let decision = world.fail_for(&Caller { project_id: project.to_owned(), ..caller(user) }, &expired());
        assert!(decision.job.is_none());
    }
    let stranger = Caller { tenant_id: "globex".to_owned(), ..caller("carol") };
    assert!(world.fail_for(&stranger, &expired()).job.is_none());
    let job = world.fail_for(&caller("carol"), &expired()).job.unwrap();
    assert_eq!((job.key.scope, job.key.scope_id.as_str()), (Scope::Tenant, "acme"));

    let mut world = World::new();
    for (user, project) in [("alice", "essay"), ("bob", "thesis"), ("carol", "essay")] {
        let decision = world.fail_for(&Caller { project_id: project.to_owned(), ..caller(user) }, &expired());
        assert!(decision.job.is_none(), "two projects, two homes");
    }
}

/// R44: failures of different kinds are not alike.
#[test]
fn different_kinds_are_not_alike() {
    let mut world = World::with_rules(
        "patterns:\n  - {id: a, before: first, match: {errorCode: E1}, signature: a, classification: USER_SPECIFIC_TECHNICAL}\n  \
         - {id: b, before: first, match: {errorCode: E2}, signature: b, classification: USER_SPECIFIC_TECHNICAL}\n",
    );
    let coded = |code: &str| Failure { error_code: Some(code.to_owned()), ..Failure::default() };
    fail_all(&mut world, &["alice", "bob"], &coded("E1"));
    assert_eq!(n_jobs(&fail_all(&mut world, &["carol", "dave"], &coded("E2"))), 0);
    assert_eq!(n_jobs(&fail_all(&mut world, &["erin"], &coded("E1"))), 1);
}

/// DESIGN §2.3: the numbers are the server's to set, and told in the evidence.
#[test]
fn users_and_window_can_be_set() {
    let mut world = World::new();
    world.policy.promotion.users = 2;
    world.policy.promotion.window = TimeDelta::seconds(90);
    let decisions = fail_all(&mut world, &["alice", "bob"], &expired());
    assert_eq!(n_jobs(&decisions), 1);
    assert_eq!(evidence(&decisions[1]), Some(("2 users within 90 s", "2 users within 1 min")));
}

/// R102: the job's detail keeps its bound, and begins with the evidence.
#[test]
fn the_detail_keeps_its_bound() {
    let mut world = World::new();
    let failure = Failure { message: "x".repeat(10_000), ..expired() };
    let decisions = fail_all(&mut world, &["alice", "bob", "carol"], &failure);
    let job = decisions[2].job.as_ref().unwrap();
    assert!(job.detail.len() <= DETAIL_LIMIT && job.detail.starts_with("like failures: "));
    let noted = decisions[2].effects.iter().any(|it| {
        it.key == job.key && matches!(&it.kind, EffectKind::NoteLikeFailure { signature, .. } if *signature == job.signature)
    });
    assert!(noted, "noted in the commit that makes the job");
}
