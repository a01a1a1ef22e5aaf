//! Cooldown windows, recoveries and retry times.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use chrono::TimeDelta;
use health_model::{Classification, EffectKind, EtaBasis, Failure, RetryBasis, Scope, Status};
use support::{World, caller, status, typed, with_header};

/// The lengths of the windows that one failure opens, each at the end of the one before.
fn windows(failure: &Failure, n: usize) -> Vec<i64> {
    let mut world = World::new();
    let mut lengths = Vec::new();
    for _ in 0..n {
        let decision = world.fail(failure);
        let until = decision.verdict.cooldown.unwrap().until;
        lengths.push((until - world.now).num_seconds());
        world.now = until;
    }
    lengths
}

/// R47, R48, R49, R50, R51, R53, R102: each class has its windows, and the stored ones rule.
#[test]
fn windows_grow_by_class() {
    let day = 86_400;
    assert_eq!(windows(&status(403), 3), [day, day, day], "R47: constant");
    let input = typed("ToolException", "Manual not found: x");
    assert_eq!(windows(&input, 3), [300, 300, 300], "R48: constant");
    let expired = Failure { body: "token_expired".to_owned(), ..status(401) };
    assert_eq!(windows(&expired, 2), [day, day], "the rule's own first length is the cap too");
    assert_eq!(windows(&typed("ECONNREFUSED", ""), 6), [300, 600, 1_200, 2_400, 3_600, 3_600], "R50");
    assert_eq!(windows(&status(429), 6), [30, 120, 480, 1_920, 7_200, 7_200], "R51");
    assert_eq!(windows(&status(500), 7), [30, 60, 120, 240, 480, 900, 900], "R102");
}

/// R49: the default of a class that is the account's: 15 min, doubled, at most a day.
#[test]
fn an_accounts_windows_double() {
    let mut world = World::with_rules(
        "patterns:\n  - {id: q, before: first, match: {httpStatus: 402}, signature: q, classification: USER_SPECIFIC_TECHNICAL}\n",
    );
    let mut minutes = Vec::new();
    for _ in 0..9 {
        let until = world.fail(&status(402)).verdict.cooldown.unwrap().until;
        minutes.push((until - world.now).num_minutes());
        world.now = until;
    }
    assert_eq!(minutes, [15, 30, 60, 120, 240, 480, 960, 1_440, 1_440]);
}

/// R43, R44: the key is tool, scope, scope id, user and signature.
#[test]
fn windows_are_apart_by_signature() {
    let mut world = World::new();
    world.fail(&status(500));
    assert!(world.decide(&typed("TimeoutError", "")).job.is_some(), "another signature, another window");
    let document = world.document(Scope::Project).unwrap();
    assert_eq!(document.cooldowns.len(), 1);
    assert_eq!(document.cooldowns[0].signature, "http-5xx");
}

/// R50, R18: the expected recovery of a status is the end of its window.
#[test]
fn a_recovery_is_expected_at_the_end_of_the_window() {
    let mut world = World::new();
    let decision = world.fail(&typed("ECONNREFUSED", ""));
    let health = world.documents[0].health.clone().unwrap();
    assert_eq!(health.status, Status::Down);
    assert_eq!(health.expected_recovery_at, Some(decision.verdict.cooldown.unwrap().until));
    assert_eq!(health.eta_basis, EtaBasis::Computed);
    let mut world = World::new();
    world.fail(&status(429));
    let health = world.documents[0].health.clone().unwrap();
    assert_eq!(
        (health.status, health.expected_recovery_at),
        (Status::Degraded, Some(world.now + TimeDelta::seconds(30)))
    );
}

/// R129, R117, R2: what the other side said is passed on exactly; only the stored window is clamped.
#[test]
fn a_retry_after_is_passed_on_exactly() {
    let mut world = World::new();
    let said = with_header(status(429), "retry-after", "20");
    let decision = world.fail(&said);
    let at = world.now + TimeDelta::seconds(20);
    assert_eq!(
        (decision.verdict.retry_at, decision.verdict.retry_basis),
        (Some(at), Some(RetryBasis::Exact))
    );
    let health = world.documents[0].health.clone().unwrap();
    assert_eq!((health.expected_recovery_at, health.eta_basis), (Some(at), EtaBasis::RetryAfter));
    assert!(
        decision.verdict.model_text.contains("Do not call it again before 2026-11-30 14:00:20 UTC"),
        "{}",
        decision.verdict.model_text
    );

    world.advance(TimeDelta::seconds(5));
    let again = world.decide(&status(429)).verdict;
    assert_eq!(
        (again.retry_at, again.retry_basis),
        (Some(at), Some(RetryBasis::Exact)),
        "R99: as said, for the next one too"
    );
    let later = world.decide(&with_header(status(429), "retry-after", "60")).verdict;
    assert_eq!(later.retry_at, Some(world.now + TimeDelta::seconds(60)), "what is said last is passed on");

    let long = World::new().decide(&with_header(status(429), "retry-after", "172800"));
    assert_eq!(long.verdict.retry_at, Some(support::start() + TimeDelta::days(2)));
    assert_eq!(long.verdict.cooldown.unwrap().until, support::start() + TimeDelta::days(1), "clamped");
}

/// R117: an absent or unreadable header falls back to the default of the class.
#[test]
fn an_unreadable_header_is_the_default() {
    for failure in [status(429), with_header(status(429), "retry-after", "soon")] {
        let decision = World::new().decide(&failure);
        assert_eq!(decision.verdict.cooldown.unwrap().until, support::start() + TimeDelta::seconds(30));
        assert_eq!(decision.verdict.retry_basis, Some(RetryBasis::Computed));
    }
}

/// A Retry-After counts for every failure that waiting helps, never for the caller's own mistake or right.
#[test]
fn a_retry_after_counts_for_other_rules_too() {
    let at = Some(support::start() + TimeDelta::seconds(90));
    let unavailable = World::new().decide(&with_header(status(503), "retry-after", "90")).verdict;
    assert_eq!((unavailable.retry_at, unavailable.retry_basis), (at, Some(RetryBasis::Exact)));
    assert_eq!(
        unavailable.cooldown.unwrap().until,
        support::start() + TimeDelta::seconds(30),
        "the window is the rule's"
    );
    assert_eq!(World::new().decide(&with_header(status(403), "retry-after", "90")).verdict.retry_at, None);
}

/// R2, C18: a computed time is spread over callers by at most a tenth of the window, never earlier, and repeats exactly.
#[test]
fn a_computed_time_is_spread() {
    let world = World::new();
    let (from, to) = (world.now + TimeDelta::seconds(30), world.now + TimeDelta::seconds(33));
    let mut times = Vec::new();
    for user in 0..50 {
        let who = caller(&format!("user-{user}"));
        let at = world.decide_for(&who, &status(500)).verdict.retry_at.unwrap();
        assert!(from <= at && at <= to, "{at}");
        assert_eq!(world.decide_for(&who, &status(500)).verdict.retry_at, Some(at));
        times.push(at);
    }
    times.sort_unstable();
    times.dedup();
    assert!(times.len() > 40, "{}", times.len());
}

/// DESIGN §11.1: the retry time agrees with a recovery on record that no verdict shortens.
#[test]
fn a_retry_time_is_not_before_a_protected_recovery() {
    let mut world = World::new();
    world.fail(&typed("ECONNREFUSED", ""));
    let eta = world.now + TimeDelta::hours(3);
    let health = world.documents[0].health.as_mut().unwrap();
    (health.expected_recovery_at, health.eta_basis) = (Some(eta), EtaBasis::Engine);
    world.advance(TimeDelta::minutes(6));
    let decision = world.fail(&typed("ECONNREFUSED", ""));
    assert!(decision.verdict.retry_at.unwrap() >= eta);
    assert_eq!(world.documents[0].health.as_ref().unwrap().expected_recovery_at, Some(eta));
}

/// C19: each failure counts for one window, the one that opened it too.
#[test]
fn every_failure_counts_for_a_window() {
    let mut world = World::new();
    let first = world.fail(&status(500));
    let opened = first.hit.unwrap();
    assert_eq!((opened.key.scope, opened.opened_at, opened.user_id), (Scope::Project, world.now, None));
    assert!(matches!(first.effects[0].kind, EffectKind::OpenCooldown { .. }));
    assert_eq!(world.documents[0].cooldowns[0].opened_at, opened.opened_at);
    world.advance(TimeDelta::seconds(1));
    assert_eq!(world.decide(&status(500)).hit.unwrap().opened_at, opened.opened_at);
}

/// R117: a rule's own length grows as its class does.
#[test]
fn a_rules_own_length_grows() {
    let mut world = World::with_rules(
        "patterns:\n  - {id: a, before: first, match: {errorCode: E}, signature: a, classification: INTERMITTENT, cooldown: PT1M}\n",
    );
    let failure = Failure { error_code: Some("E".to_owned()), ..Failure::default() };
    let mut lengths = Vec::new();
    for _ in 0..3 {
        let decision = world.fail(&failure);
        assert_eq!(decision.verdict.classification, Classification::Intermittent);
        let until = decision.verdict.cooldown.unwrap().until;
        lengths.push((until - world.now).num_minutes());
        world.now = until;
    }
    assert_eq!(lengths, [1, 4, 16]);
}
