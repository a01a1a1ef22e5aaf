//! Which of several documents speaks for a caller (R22…R31, C1, C17, C22; DESIGN §4).
//!
//! A [`Cascade`] borrows the documents of one tool at the caller's scopes, narrow to wide. Everything a verdict or a
//! tool list needs is answered from it.

use crate::Instant;
use crate::document::{Cooldown, Document, Health, Hold};
use crate::policy::Policy;
use crate::vocabulary::{EffectiveStatus, Origin, Scope, Status};

/// The documents of one tool that apply to one caller, ordered narrow to wide.
#[derive(Debug, Clone, Default)]
pub struct Cascade<'a> {
    documents: [Option<&'a Document>; 5],
}

/// What may be read when a failure is decided: the cascade and the user it is read for.
#[derive(Debug, Clone)]
pub struct View<'a> {
    /// The documents.
    pub cascade: Cascade<'a>,
    /// The calling user.
    pub user_id: Option<&'a str>,
}

/// The answer of a status lookup.
#[derive(Debug, Clone, PartialEq)]
pub struct State<'a> {
    /// What the caller is told.
    pub effective: EffectiveStatus,
    /// The document that decided; `None` = nothing is known, so OK.
    pub decided_by: Option<&'a Document>,
    /// The hold, if one decided.
    pub hold: Option<&'a Hold>,
    /// The status verdict, if one decided.
    pub health: Option<&'a Health>,
    /// When the answer may change without a write: an expected recovery or the end of a hold.
    pub next_change_at: Option<Instant>,
}

impl<'a> Cascade<'a> {
    /// Orders `documents` by scope. Of two at one scope the later counts; a caller has at most one there.
    pub fn new(documents: impl IntoIterator<Item = &'a Document>) -> Self {
        let mut cascade = Self::default();
        for document in documents {
            if let Some(slot) = cascade.documents.get_mut(rank(document.key.scope)) {
                *slot = Some(document);
            }
        }
        cascade
    }

    /// The documents, narrow to wide.
    pub fn documents(&self) -> impl Iterator<Item = &'a Document> + '_ {
        self.documents.iter().copied().flatten()
    }

    /// The document at one scope.
    #[must_use]
    pub fn at(&self, scope: Scope) -> Option<&'a Document> {
        self.documents.get(rank(scope)).copied().flatten()
    }

    /// The state that the caller is told.
    ///
    /// The narrowest active hold wins. Else the narrowest status verdict (R23), except that a wider DEGRADED or DOWN
    /// shows through a narrower verdict that is less bad and not newer than the wider one's `since` (C1), and through
    /// RETESTING always. Documents that hold only cooldowns have no say (R31).
    #[must_use]
    pub fn state(&self, policy: &Policy, now: Instant) -> State<'a> {
        let held = self.documents().find_map(|it| it.active_hold(now).map(|hold| (it, hold)));
        if let Some((document, hold)) = held {
            return State {
                effective: EffectiveStatus::of(hold.status),
                decided_by: Some(document),
                hold: Some(hold),
                health: None,
                next_change_at: hold.until,
            };
        }
        let mut shown: Option<(&'a Document, &'a Health, EffectiveStatus)> = None;
        let mut next_change_at: Option<Instant> = None;
        for document in self.documents() {
            let Some(health) = &document.health else { continue };
            let effective = effective(document, health, policy, now);
            let due = due_at(document, health, policy).filter(|it| *it > now);
            next_change_at = [next_change_at, due].into_iter().flatten().min();
            let shadowed = shown.is_some_and(|(narrower, _, state)| {
                let is_active = matches!(effective, EffectiveStatus::Degraded | EffectiveStatus::Down);
                let is_newer = narrower.last_checked_at.is_some_and(|it| it > health.since);
                !is_active || state >= effective || (state != EffectiveStatus::Retesting && is_newer)
            });
            if !shadowed {
                shown = Some((document, health, effective));
            }
        }
        match shown {
            None => State {
                effective: EffectiveStatus::Ok,
                decided_by: None,
                hold: None,
                health: None,
                next_change_at,
            },
            Some((document, health, effective)) => State {
                effective,
                decided_by: Some(document),
                hold: None,
                health: Some(health),
                next_change_at,
            },
        }
    }

    /// The active cooldown of this signature that applies to the user: their own, or a scope-wide one, in any document
    /// of the cascade (DESIGN §4). Of several the one that ends last.
    #[must_use]
    pub fn active_cooldown(
        &self,
        signature: &str,
        user_id: Option<&str>,
        now: Instant,
    ) -> Option<(&'a Document, &'a Cooldown)> {
        self.documents()
            .flat_map(|it| it.cooldowns.iter().map(move |cooldown| (it, cooldown)))
            .filter(|(_, it)| it.signature == signature && applies(it, user_id) && it.is_active(now))
            .max_by_key(|(_, it)| it.next_spawn_allowed_at)
    }

    /// The cooldowns that apply to the user and that a success could end, with their documents.
    pub fn open_cooldowns<'b>(
        &'b self,
        user_id: Option<&'b str>,
        now: Instant,
    ) -> impl Iterator<Item = (&'a Document, &'a Cooldown)> + 'b {
        self.documents()
            .flat_map(|it| it.cooldowns.iter().map(move |cooldown| (it, cooldown)))
            .filter(move |(_, it)| applies(it, user_id) && it.is_active(now))
    }
}

/// Whether a cooldown speaks for this user: their own, or scope-wide. Never another user's (R46).
#[must_use]
pub fn applies(cooldown: &Cooldown, user_id: Option<&str>) -> bool {
    cooldown.user_id.is_none() || cooldown.user_id.as_deref() == user_id
}

/// What one document's verdict reads at `now`.
#[must_use]
pub fn effective(document: &Document, health: &Health, policy: &Policy, now: Instant) -> EffectiveStatus {
    match due_at(document, health, policy) {
        Some(due) if due <= now => EffectiveStatus::Retesting,
        _ => EffectiveStatus::of(health.status),
    }
}

/// When a verdict that is not OK becomes due: at the expected recovery; without one, an hour after the last mark,
/// unless a connection event set it, which ends by reconnect or by hand (C17, DESIGN §11.4).
#[must_use]
pub fn due_at(document: &Document, health: &Health, policy: &Policy) -> Option<Instant> {
    match (health.status, health.expected_recovery_at) {
        (Status::Ok, _) => None,
        (_, Some(eta)) => Some(eta),
        (_, None) if health.origin == Origin::Event => None,
        (_, None) => {
            let marked = document.last_checked_at.map_or(health.since, |it| it.max(health.since));
            Some(crate::cooldown::saturating_add(marked, policy.max_without_eta))
        }
    }
}

const fn rank(scope: Scope) -> usize {
    match scope {
        Scope::Session => 0,
        Scope::User => 1,
        Scope::Project => 2,
        Scope::Tenant => 3,
        Scope::Global => 4,
    }
}
