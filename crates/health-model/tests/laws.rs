//! Laws of the model, over random effects.

mod support;

use std::collections::BTreeMap;

use chrono::TimeDelta;
use health_model::cooldown::{Window, window_length};
use health_model::document::Connection;
use health_model::policy::Backoff;
use health_model::{
    Cascade, Classification, Document, EffectKind, EffectiveStatus, EtaBasis, Hold, Instant, Origin, Policy,
    Scope, Status, transition,
};
use proptest::prelude::*;
use support::{alice, t, tool};

fn status() -> impl Strategy<Value = Status> {
    prop::sample::select(Status::ALL)
}

fn instant() -> impl Strategy<Value = Instant> {
    (-1_000_i64..200_000).prop_map(t)
}

fn mark() -> impl Strategy<Value = EffectKind> {
    let parts = (
        status(),
        prop::sample::select(Classification::ALL),
        prop::option::of(instant()),
        prop::sample::select(EtaBasis::ALL),
        prop::sample::select(Origin::ALL),
    );
    parts.prop_map(|(status, classification, eta, basis, origin)| {
        let mut mark = support::mark(status, eta);
        mark.classification = classification;
        mark.eta_basis = basis;
        mark.origin = origin;
        EffectKind::Mark(mark)
    })
}

fn cooldown() -> impl Strategy<Value = EffectKind> {
    let window = prop_oneof![
        Just(Window::Default),
        (0_i64..100_000).prop_map(|it| Window::Base(TimeDelta::seconds(it))),
        instant().prop_map(Window::Until),
    ];
    let parts = (
        "[a-c]",
        prop::option::of(prop::sample::select(vec!["alice".to_owned(), "bob".to_owned()])),
        prop::sample::select(Classification::ALL),
        window,
    );
    parts.prop_map(|(signature, user_id, classification, window)| EffectKind::OpenCooldown {
        signature,
        user_id,
        classification,
        window,
    })
}

fn effect() -> impl Strategy<Value = EffectKind> {
    prop_oneof![
        4 => mark(),
        4 => cooldown(),
        1 => "[a-c]".prop_map(|signature| EffectKind::EndCooldown { signature, user_id: None }),
        1 => "[a-c]".prop_map(|signature| EffectKind::ClearCooldown { signature, user_id: None }),
        1 => Just(EffectKind::Clear),
        1 => ("[a-c]", "[x-z]", any::<bool>()).prop_map(|(signature, user, asks)| EffectKind::NoteLikeFailure {
            signature,
            user,
            asks,
        }),
        1 => instant().prop_map(|before| EffectKind::ForgetLikeFailures { before }),
        1 => Just(EffectKind::ReleaseHold),
        1 => status().prop_map(|status| EffectKind::SetHold(Hold {
            status,
            reason: String::new(),
            since: t(0),
            until: Some(t(50)),
            by: "admin".to_owned(),
        })),
        1 => (any::<bool>(), 0_u64..5).prop_map(|(open, sequence)| EffectKind::ConnectionEvent {
            connection: Connection { id: "c".to_owned(), sequence, at: t(0), open },
            note: String::new(),
        }),
    ]
}

fn scope() -> impl Strategy<Value = Scope> {
    prop::sample::select(Scope::ALL)
}

fn id_of(scope: Scope, user: &str) -> String {
    match scope {
        Scope::Session => format!("session-of-{user}"),
        Scope::User => user.to_owned(),
        Scope::Project => "essay".to_owned(),
        Scope::Tenant => "acme".to_owned(),
        Scope::Global => "atlassian".to_owned(),
    }
}

type Steps = Vec<(Scope, bool, EffectKind, i64)>;

fn steps() -> impl Strategy<Value = Steps> {
    prop::collection::vec((scope(), any::<bool>(), effect(), 0_i64..100_000), 0..24)
}

/// Applies the steps to documents of alice (`true`) and bob (`false`); wider scopes are shared.
fn play(steps: &Steps) -> BTreeMap<(Scope, String), Document> {
    let mut documents = BTreeMap::new();
    let mut now = 0;
    for (scope, of_alice, kind, gap) in steps {
        now += gap / 100;
        let id = id_of(*scope, if *of_alice { "alice" } else { "bob" });
        let document = documents.entry((*scope, id.clone())).or_insert_with(|| support::new(*scope, &id));
        transition::apply(document, kind, &Policy::default(), t(now));
    }
    documents
}

fn cascade_of<'a>(documents: &'a BTreeMap<(Scope, String), Document>, user: &str) -> Cascade<'a> {
    Cascade::new(Scope::ALL.iter().filter_map(|it| documents.get(&(*it, id_of(*it, user)))))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// R22, R23, C1: an entry that is narrower than the one that decides is less bad, or is itself shadowed by a newer and
    /// still narrower one.
    #[test]
    fn the_narrowest_verdict_wins(steps in steps(), at in 0_i64..30_000) {
        let documents = play(&steps);
        let cascade = cascade_of(&documents, "alice");
        let policy = Policy::default();
        let state = cascade.state(&policy, t(at));
        let read = |it: &Document| {
            it.health.as_ref().map(|health| health_model::cascade::effective(it, health, &policy, t(at)))
        };
        if let (Some(decided), None) = (state.decided_by, state.hold) {
            for it in cascade.documents().filter(|it| it.key.scope < decided.key.scope) {
                let is_less_bad = read(it).is_none_or(|narrower| narrower < state.effective);
                let since = it.health.as_ref().map(|it| it.since);
                let is_shadowed = cascade.documents().filter(|other| other.key.scope < it.key.scope).any(|other| {
                    read(other).is_some_and(|it| it != EffectiveStatus::Retesting) && other.last_checked_at > since
                });
                prop_assert!(is_less_bad || is_shadowed, "{} under {}", it.key, state.effective);
            }
        }
    }

    /// R6, R8, R59: opening, ending or clearing cooldowns never changes what anybody is told.
    #[test]
    fn a_cooldown_never_changes_a_status(steps in steps(), kind in cooldown(), at in 0_i64..30_000) {
        let mut documents = play(&steps);
        let before: Vec<_> = documents.values().map(|it| it.health.clone()).collect();
        let told = cascade_of(&documents, "alice").state(&Policy::default(), t(at)).effective;
        for document in documents.values_mut() {
            transition::apply(document, &kind, &Policy::default(), t(at));
        }
        let after: Vec<_> = documents.values().map(|it| it.health.clone()).collect();
        prop_assert_eq!(before, after);
        prop_assert_eq!(told, cascade_of(&documents, "alice").state(&Policy::default(), t(at)).effective);
    }

    /// R46 and invariant 3: what is written for alice alone never changes bob's answer, cooldowns included.
    #[test]
    fn a_users_entry_never_changes_another_users_answer(
        steps in steps(),
        kinds in prop::collection::vec((any::<bool>(), effect()), 1..8),
        at in 0_i64..30_000,
    ) {
        let mut documents = play(&steps);
        let answer = |documents: &BTreeMap<(Scope, String), Document>| {
            let cascade = cascade_of(documents, "bob");
            let cooldowns: Vec<_> = ["a", "b", "c"]
                .iter()
                .map(|it| cascade.active_cooldown(it, Some("bob"), t(at)).map(|it| it.1.clone()))
                .collect();
            (cascade.state(&Policy::default(), t(at)).effective, cooldowns)
        };
        let before = answer(&documents);
        for (session, kind) in &kinds {
            let scope = if *session { Scope::Session } else { Scope::User };
            let id = id_of(scope, "alice");
            let document = documents.entry((scope, id.clone())).or_insert_with(|| support::new(scope, &id));
            transition::apply(document, kind, &Policy::default(), t(at));
        }
        prop_assert_eq!(before, answer(&documents));
    }

    /// R49, R51: windows grow and stop at the cap.
    #[test]
    fn backoff_is_monotone_and_capped(
        base in 0_i64..100_000, factor in 0_u32..10, cap in 0_i64..1_000_000, episode in 1_u32..200,
    ) {
        let backoff =
            Backoff { base: TimeDelta::seconds(base), factor, cap: TimeDelta::seconds(cap) };
        let (this, next) = (window_length(backoff, episode), window_length(backoff, episode + 1));
        prop_assert!(this <= next);
        prop_assert!(next <= backoff.cap);
    }

    /// Determinism: the same effects in the same order give the same document.
    #[test]
    fn the_same_effects_in_the_same_order_give_the_same_document(steps in steps()) {
        prop_assert_eq!(play(&steps), play(&steps));
    }

    /// R21, R35: the newest history entry tells the status on record.
    #[test]
    fn status_and_newest_history_entry_agree(steps in steps()) {
        for document in play(&steps).values() {
            let newest = document.history.last().map(|it| (it.status, it.classification));
            let health = document.health.as_ref().map(|it| (it.status, it.classification));
            prop_assert_eq!(newest, health);
            prop_assert!(document.history.len() <= Policy::default().history_limit);
        }
    }

    /// DESIGN §2.3: notes of users' failures stay few and sorted, and change nobody's answer.
    #[test]
    fn notes_of_failures_are_bounded_and_change_no_answer(steps in steps(), user in "[v-z]", at in 0_i64..30_000) {
        let mut documents = play(&steps);
        let policy = Policy::default();
        let told = cascade_of(&documents, "alice").state(&policy, t(at)).effective;
        let kind = EffectKind::NoteLikeFailure { signature: "a".to_owned(), user, asks: false };
        for document in documents.values_mut() {
            transition::apply(document, &kind, &policy, t(at));
            let keys: Vec<_> = document.like_failures.iter().map(|it| (&it.signature, &it.user)).collect();
            prop_assert!(keys.windows(2).all(|it| it[0] < it[1]), "sorted, one a user: {:?}", keys);
            let like = document.like_failures.iter().filter(|it| it.signature == "a").count();
            prop_assert!(like <= policy.promotion.users);
        }
        prop_assert_eq!(told, cascade_of(&documents, "alice").state(&policy, t(at)).effective);
    }

    /// R55, R61: after its own success a caller is told OK or RETESTING nowhere, unless a hold, a younger verdict or a
    /// wider entry is in the way; and the success is never worth reporting again for the same entry.
    #[test]
    fn a_success_clears_what_the_caller_is_shown(steps in steps()) {
        let mut documents = play(&steps);
        let now = t(40_000);
        let policy = Policy::default();
        let cascade = cascade_of(&documents, "alice");
        let shown = cascade.state(&policy, now);
        prop_assume!(shown.hold.is_none());
        let decided = shown.decided_by.map(|it| it.key.clone());
        let caller = alice();
        let evidence = health_model::success::Evidence { started_at: now, signature: None };
        let effects = health_model::success::plan(&cascade, &caller, &tool(), evidence, &policy, now);
        let worth = health_model::success::is_worth_reporting(&cascade, &caller, &tool(), &policy, now);
        prop_assert_eq!(worth, !effects.is_empty());
        for effect in &effects {
            let id = (effect.key.scope, effect.key.scope_id.clone());
            let document = documents
                .entry(id)
                .or_insert_with(|| Document::new(effect.key.clone(), now));
            transition::apply(document, &effect.kind, &policy, now);
        }
        if let Some(key) = decided.filter(|it| it.scope != Scope::Global) {
            let health = documents[&(key.scope, key.scope_id)].health.as_ref().map(|it| it.status);
            prop_assert_eq!(health, Some(Status::Ok));
        }
        let cascade = cascade_of(&documents, "alice");
        prop_assert!(cascade.open_cooldowns(Some("alice"), now).all(|(it, _)| it.key.scope == Scope::Global));
    }
}
