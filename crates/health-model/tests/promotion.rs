//! Like failures of several users: how they are noted, counted, kept few and dropped.

mod support;

use chrono::TimeDelta;
use health_model::policy::{LIKE_FAILURE_LIMIT, Promotion};
use health_model::promotion::{Tally, pseudonym, tally};
use health_model::transition::{self, Mark};
use health_model::{
    Cascade, Document, Effect, EffectKind, Instant, LikeFailure, Origin, Policy, Scope, success,
};
use support::{alice, apply, new, t, tool};

fn note(signature: &str, user: &str) -> EffectKind {
    EffectKind::NoteLikeFailure { signature: signature.to_owned(), user: user.to_owned(), asks: false }
}

fn noted(users: &[(&str, i64)]) -> Document {
    let mut home = new(Scope::Project, "essay");
    for (user, at) in users {
        apply(&mut home, &note("expired", user), t(*at));
    }
    home
}

fn users(home: &Document) -> Vec<&str> {
    home.like_failures.iter().map(|it| it.user.as_str()).collect()
}

fn count(home: &Document, user: &str, at: Instant) -> Tally {
    tally(Some(home), "expired", user, &Policy::default(), at)
}

/// DESIGN §2.3, C7: different users within the window count, each once; the same kind of failure only.
#[test]
fn different_users_of_one_kind_within_the_window_count() {
    let mut home = noted(&[("a", 0), ("b", 100), ("a", 200)]);
    apply(&mut home, &note("other", "c"), t(300));
    let tally_of = |users, since| Tally { users, since: t(since), has_asked: false };
    assert_eq!(count(&home, "c", t(400)), tally_of(3, 100));
    assert_eq!(count(&home, "a", t(400)), tally_of(2, 100), "a is among them");
    assert_eq!(count(&home, "c", t(999)), tally_of(3, 100));
    assert_eq!(count(&home, "c", t(1_000)), tally_of(2, 200), "15 min are over");
    assert_eq!(count(&home, "c", t(2_000)), tally_of(1, 2_000));
    assert_eq!(tally(None, "expired", "c", &Policy::default(), t(5)), tally_of(1, 5));
}

/// DESIGN §2.3: the episode lasts as long as the failure that asked for a diagnosis counts.
#[test]
fn an_episode_lasts_as_long_as_its_last_note_counts() {
    let mut home = noted(&[("a", 0), ("b", 100)]);
    let asks = EffectKind::NoteLikeFailure { signature: "expired".into(), user: "c".into(), asks: true };
    apply(&mut home, &asks, t(200));
    assert!(count(&home, "d", t(1_099)).has_asked, "though the others are out of the window");
    assert!(!count(&home, "d", t(1_100)).has_asked);
    assert!(!tally(Some(&home), "other", "d", &Policy::default(), t(300)).has_asked);
    apply(&mut home, &EffectKind::ForgetLikeFailures { before: t(250) }, t(300));
    assert!(!count(&home, "d", t(300)).has_asked, "a success ends it");
}

/// DESIGN §2.3: the list is bounded: one entry a user and kind, the newest users of a kind, 64 entries in all, none
/// that is too old to count; sorted.
#[test]
fn the_list_is_bounded() {
    let home = noted(&[("d", 0), ("a", 1), ("b", 2), ("c", 3), ("a", 4)]);
    assert_eq!(users(&home), ["a", "b", "c"], "as many users as are needed, the newest");
    assert_eq!(home.like_failures[0].at, t(4), "the last failure of a user counts");
    let mut home = home;
    apply(&mut home, &note("expired", "e"), t(904));
    assert_eq!(users(&home), ["e"], "what is out of the window goes with the next write");

    let mut home = new(Scope::Project, "essay");
    for n in 0..100 {
        apply(&mut home, &note(&format!("s{n:02}"), "a"), t(n));
    }
    assert_eq!(home.like_failures.len(), LIKE_FAILURE_LIMIT);
    let signatures: Vec<_> = home.like_failures.iter().map(|it| it.signature.as_str()).collect();
    assert_eq!((signatures[0], signatures[63]), ("s36", "s99"), "the oldest made room");
    assert!(signatures.is_sorted());
}

/// DESIGN §2.3: the numbers are the server's to set.
#[test]
fn users_and_window_are_policy() {
    let policy =
        Policy { promotion: Promotion { users: 2, window: TimeDelta::minutes(1) }, ..Policy::default() };
    let mut home = new(Scope::Project, "essay");
    for (user, at) in [("a", 0), ("b", 30), ("c", 40)] {
        transition::apply(&mut home, &note("expired", user), &policy, t(at));
    }
    assert_eq!(users(&home), ["b", "c"]);
    assert_eq!(tally(Some(&home), "expired", "d", &policy, t(95)).users, 2, "b is 65 s old");
}

/// C7, R46: noting says nothing of the status, opens no window and moves no check.
#[test]
fn a_note_is_no_verdict() {
    let before = new(Scope::Project, "essay");
    let mut after = before.clone();
    let change = apply(&mut after, &note("expired", "a"), t(10));
    assert!(change.changed && change.outage.is_none());
    assert_eq!(
        after.like_failures,
        [LikeFailure { signature: "expired".into(), user: "a".into(), at: t(10), asks: false }]
    );
    after.like_failures.clear();
    after.updated_at = before.updated_at;
    assert_eq!(after, before, "nothing else moved");
}

/// DESIGN §2.3, §11.3: a success of anybody in the cascade drops what came before its call began, and only that; then
/// there is nothing to report any more.
#[test]
fn a_success_disproves_what_came_before_it() {
    let mut home = noted(&[("a", 0), ("b", 100)]);
    let policy = Policy::default();
    let plan = |home: &Document, started_at: Instant, now: Instant| {
        let evidence = success::Evidence { started_at, signature: None };
        success::plan(&Cascade::new([home]), &alice(), &tool(), evidence, &policy, now)
    };
    let worth = |home: &Document, now: Instant| {
        success::is_worth_reporting(&Cascade::new([home]), &alice(), &tool(), &policy, now)
    };
    assert!(worth(&home, t(150)));
    assert!(plan(&home, t(0), t(150)).is_empty(), "a call that began before all of them says nothing");
    let effects = plan(&home, t(50), t(150));
    assert_eq!(
        effects,
        [Effect { key: home.key.clone(), kind: EffectKind::ForgetLikeFailures { before: t(50) } }]
    );
    assert!(apply(&mut home, &effects[0].kind, t(150)).changed);
    assert_eq!(users(&home), ["b"]);
    let effects = plan(&home, t(150), t(160));
    apply(&mut home, &effects[0].kind, t(160));
    assert!(home.like_failures.is_empty() && !worth(&home, t(160)));
    assert!(!apply(&mut home, &effects[0].kind, t(160)).changed, "a second success writes nothing");
    let old = noted(&[("a", 0)]);
    assert!(
        !worth(&old, t(900)) && plan(&old, t(900), t(900)).is_empty(),
        "too old to count, too old to clear"
    );
}

/// R52, C11: who knows that the tool works, or clears the entry, leaves no notes; a connection that opened does not know.
#[test]
fn a_word_that_it_works_drops_the_notes() {
    for (origin, left) in [
        (Origin::Admin, 0),
        (Origin::Engine, 0),
        (Origin::Checker, 0),
        (Origin::Event, 2),
        (Origin::Success, 2),
    ] {
        let mut home = noted(&[("a", 0), ("b", 1)]);
        apply(&mut home, &EffectKind::Mark(Mark::working("x", origin)), t(2));
        assert_eq!(home.like_failures.len(), left, "{origin}");
    }
    let mut home = noted(&[("a", 0)]);
    assert!(apply(&mut home, &EffectKind::Clear, t(1)).changed);
    assert!(home.like_failures.is_empty());
}

/// R42, DESIGN §9: a deleted user is taken out, and nobody else.
#[test]
fn a_user_is_forgotten() {
    let mut home = noted(&[("a", 0), ("b", 1)]);
    apply(&mut home, &note("other", "a"), t(2));
    let forget = EffectKind::ForgetUser { user: "a".to_owned() };
    assert!(apply(&mut home, &forget, t(3)).changed);
    assert_eq!(users(&home), ["b"]);
    assert!(!apply(&mut home, &forget, t(4)).changed);
}

/// C25, DESIGN §4: a pseudonym is stable, does not show the id, and differs between users and between tenants.
#[test]
fn a_pseudonym_is_stable_and_of_one_tenant() {
    assert_eq!(pseudonym("acme", "alice"), "85ef77c54735f948", "stored: it must never change");
    assert_ne!(pseudonym("acme", "alice"), pseudonym("globex", "alice"));
    assert_ne!(pseudonym("acme", "alice"), pseudonym("acme", "bob"));
    assert_ne!(pseudonym("ab", "c"), pseudonym("a", "bc"));
    assert_eq!(pseudonym("", "").len(), 16);
}

/// R32, R33: a document without the list reads as one with an empty list, and an empty list is not stored: what was
/// stored before stays as it is.
#[test]
fn documents_without_the_list_stay_readable() {
    let plain = new(Scope::Project, "essay");
    let stored = serde_json::to_string(&plain).unwrap();
    assert!(!stored.contains("like_failures"), "{stored}");
    assert_eq!(serde_json::from_str::<Document>(&stored).unwrap(), plain);
    let home = noted(&[("a", 0), ("b", 1)]);
    let stored = serde_json::to_string(&home).unwrap();
    assert!(!stored.contains("asks"), "{stored}");
    assert!(stored.contains(r#""like_failures":[{"signature":"expired","user":"a","at":"#), "{stored}");
    assert_eq!(serde_json::from_str::<Document>(&stored).unwrap(), home);
}
