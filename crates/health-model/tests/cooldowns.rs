//! Cooldowns (R6, R8, R36, R43…R54, C2, C18, C19; DESIGN §8, §11.3).

mod support;

use chrono::TimeDelta;
use health_model::cooldown::{self, Window};
use health_model::success::{self, Evidence};
use health_model::{Cascade, Classification, EffectKind, Policy, Scope, Status};
use support::{alice, apply, marked, new, open, t, tool};

fn windows(class: Classification, count: u32) -> Vec<i64> {
    let backoff = Policy::default().backoff(class);
    (1..=count).map(|it| cooldown::window_length(backoff, it).num_seconds()).collect()
}

#[test]
fn the_default_windows_of_each_class() {
    // R47, R48, R49, R50, R51 and the table of constants
    assert_eq!(windows(Classification::UserPermission, 3), [86_400, 86_400, 86_400]);
    assert_eq!(windows(Classification::UserInput, 3), [300, 300, 300]);
    assert_eq!(windows(Classification::UserSpecificTechnical, 3), [900, 1_800, 3_600]);
    assert_eq!(windows(Classification::UserSpecificTechnical, 9)[8], 86_400);
    assert_eq!(windows(Classification::TechnicallyBroken, 6), [300, 600, 1_200, 2_400, 3_600, 3_600]);
    assert_eq!(windows(Classification::Intermittent, 6), [30, 120, 480, 1_920, 7_200, 7_200]);
    assert_eq!(windows(Classification::Unclear, 7), [30, 60, 120, 240, 480, 900, 900]);
}

#[test]
fn a_window_that_opens_again_grows_and_quiet_resets_it() {
    // C19, R49, R53: the stored entry rules, defaults only for the first.
    let mut document = new(Scope::Project, "essay");
    let unclear = open("http-5xx", None, Classification::Unclear);
    apply(&mut document, &unclear, t(0));
    assert_eq!(document.cooldowns[0].next_spawn_allowed_at, t(30));
    apply(&mut document, &unclear, t(40));
    assert_eq!((document.cooldowns[0].episodes, document.cooldowns[0].window()), (2, TimeDelta::seconds(60)));
    let quiet = t(40 + 60 + 3_600);
    apply(&mut document, &unclear, quiet);
    assert_eq!(document.cooldowns[0].episodes, 1);
}

#[test]
fn one_users_cooldown_never_stops_another() {
    // R36, R43, R45, R46
    let mut project = new(Scope::Project, "essay");
    apply(&mut project, &open("http-403", Some("alice"), Classification::UserPermission), t(0));
    let documents = [project];
    let cascade = Cascade::new(&documents);
    assert!(cascade.active_cooldown("http-403", Some("alice"), t(1)).is_some());
    assert!(cascade.active_cooldown("http-403", Some("bob"), t(1)).is_none());
    assert!(cascade.active_cooldown("http-403", None, t(1)).is_none());
}

#[test]
fn a_user_meets_the_scope_wide_cooldown_too() {
    // R45; the defect: a look-up with a user missed the scope-wide cooldown.
    let mut project = new(Scope::Project, "essay");
    apply(&mut project, &open("http-5xx", None, Classification::Unclear), t(0));
    let documents = [project];
    let cascade = Cascade::new(&documents);
    assert!(cascade.active_cooldown("http-5xx", Some("alice"), t(1)).is_some());
    assert!(cascade.active_cooldown("http-5xx", Some("alice"), t(30)).is_none(), "over at its end");
    assert!(cascade.active_cooldown("http-4xx", Some("alice"), t(1)).is_none(), "R44: by signature");
}

#[test]
fn windows_named_by_the_other_side_are_clamped_and_never_scaled() {
    // R117 and the table of constants: 1 s to 24 h.
    let policy = Policy::default();
    let open = |window| {
        cooldown::open(None, "http-429", None, Classification::Intermittent, window, &policy, t(0))
            .next_spawn_allowed_at
    };
    assert_eq!(open(Window::Until(t(47))), t(47));
    assert_eq!(open(Window::Until(t(-5))), t(1));
    assert_eq!(open(Window::Until(t(10 * 86_400))), t(86_400));
    assert_eq!(open(Window::Exactly(t(10 * 86_400))), t(10 * 86_400), "an administrator is not capped");
}

#[test]
fn a_rules_own_window_grows_as_its_class_does() {
    // R117, R132: PT5M for a broken tool.
    let policy = Policy::default();
    let base = Window::Base(TimeDelta::minutes(1));
    let first = cooldown::open(None, "x", None, Classification::TechnicallyBroken, base, &policy, t(0));
    let second =
        cooldown::open(Some(&first), "x", None, Classification::TechnicallyBroken, base, &policy, t(61));
    assert_eq!((first.window(), second.window()), (TimeDelta::minutes(1), TimeDelta::minutes(2)));
    let day = Window::Base(TimeDelta::hours(24));
    let fixed = cooldown::open(None, "x", None, Classification::UserPermission, day, &policy, t(0));
    let again =
        cooldown::open(Some(&fixed), "x", None, Classification::UserPermission, day, &policy, t(86_401));
    assert_eq!(again.window(), TimeDelta::hours(24), "R47: constant");
}

#[test]
fn a_success_ends_windows_but_a_flapping_tool_keeps_its_episodes() {
    // R54, C2, C19; DESIGN §11.3
    let mut document = new(Scope::Project, "essay");
    apply(&mut document, &open("timeout", None, Classification::Unclear), t(0));
    let end = EffectKind::EndCooldown { signature: "timeout".to_owned(), user_id: None };
    assert!(apply(&mut document, &end, t(10)).changed);
    assert!(!document.cooldowns[0].is_active(t(11)));
    apply(&mut document, &open("timeout", None, Classification::Unclear), t(12));
    assert_eq!(document.cooldowns[0].episodes, 2, "a failure came within one window");
    assert!(!apply(&mut document, &end, t(12 + 60)).changed, "a suppressed failure may have come just now");
    assert!(apply(&mut document, &end, t(12 + 120)).changed);
    assert!(document.cooldowns.is_empty(), "no failure came for one window: forgotten");
}

#[test]
fn a_success_after_the_window_sets_backoff_back() {
    // The table of constants: backoff reset by success; DESIGN §11.3.
    let mut user = new(Scope::User, "alice");
    let expired = open("http-401-expired", Some("alice"), Classification::UserSpecificTechnical);
    for at in [0, 1_000, 3_000] {
        apply(&mut user, &expired, t(at));
    }
    assert_eq!(user.cooldowns[0].episodes, 3);
    let now = t(3_000 + 2 * 3_600);
    let documents = [user.clone()];
    let evidence = Evidence { started_at: now, signature: None };
    let effects =
        success::plan(&Cascade::new(&documents), &alice(), &tool(), evidence, &Policy::default(), now);
    assert_eq!(effects.len(), 1);
    apply(&mut user, &effects[0].kind, now);
    assert!(user.cooldowns.is_empty());
}

#[test]
fn an_open_window_is_not_evicted_for_a_new_one() {
    // R36
    let policy = Policy { cooldown_limit: 2, ..Policy::default() };
    let mut document = new(Scope::Project, "essay");
    let mut add = |signature: &str, class, at| {
        health_model::transition::apply(&mut document, &open(signature, None, class), &policy, t(at));
    };
    add("short", Classification::Unclear, 0);
    add("long", Classification::UserPermission, 1);
    add("new", Classification::Unclear, 40);
    let kept: Vec<&str> = document.cooldowns.iter().map(|it| it.signature.as_str()).collect();
    assert_eq!(kept, ["long", "new"]);
}

#[test]
fn a_success_clears_the_callers_and_the_scope_wide_windows_only() {
    // R54, R61, C2
    let mut project = new(Scope::Project, "essay");
    apply(&mut project, &open("http-5xx", None, Classification::Unclear), t(0));
    apply(&mut project, &open("http-401", Some("bob"), Classification::Unclear), t(0));
    let mut user = new(Scope::User, "alice");
    apply(&mut user, &open("http-403", Some("alice"), Classification::UserPermission), t(0));
    let documents = [user, project];
    let cascade = Cascade::new(&documents);
    let plan = |policy: &Policy, started| {
        let evidence = Evidence { started_at: started, signature: None };
        success::plan(&cascade, &alice(), &tool(), evidence, policy, t(5))
            .into_iter()
            .map(|it| match it.kind {
                EffectKind::EndCooldown { signature, .. } => signature,
                other => format!("{other:?}"),
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(plan(&Policy::default(), t(4)), ["http-403", "http-5xx"]);
    assert!(plan(&Policy::default(), t(0)).is_empty(), "the call began before the trouble did");
    let technical =
        Policy { clear_on_success: health_model::policy::ClearOnSuccess::Technical, ..Policy::default() };
    assert_eq!(plan(&technical, t(4)), ["http-5xx"]);
}

#[test]
fn a_cooldown_never_touches_the_status() {
    // R6, R8, R59
    let mut document = marked(Scope::Project, "essay", Status::Ok, None, t(0));
    let before = document.health.clone();
    apply(&mut document, &open("http-403", Some("alice"), Classification::UserPermission), t(1));
    assert_eq!(document.health, before);
    assert_eq!(document.history.len(), 1);
}

#[test]
fn retry_times_spread_over_a_tenth_of_the_window_and_repeat_for_equal_input() {
    // C18; DESIGN §8
    let (opened, until) = (t(0), t(600));
    let of = |caller: &str| cooldown::spread(opened, until, caller);
    assert_eq!(of("acme/alice"), of("acme/alice"));
    let times: std::collections::BTreeSet<_> = (0..200).map(|it| of(&format!("acme/u{it}"))).collect();
    assert!(times.len() > 150, "callers differ: {}", times.len());
    assert!(times.iter().all(|it| *it >= until && *it < until + TimeDelta::seconds(60)));
}

#[test]
fn a_document_keeps_a_bounded_number_of_cooldowns() {
    // R36
    let policy = Policy { cooldown_limit: 4, ..Policy::default() };
    let mut document = new(Scope::Project, "essay");
    for at in 0..10 {
        let kind = open(&format!("sig-{at}"), None, Classification::UserInput);
        health_model::transition::apply(&mut document, &kind, &policy, t(at));
    }
    let kept: Vec<&str> = document.cooldowns.iter().map(|it| it.signature.as_str()).collect();
    assert_eq!(kept, ["sig-6", "sig-7", "sig-8", "sig-9"]);
}
