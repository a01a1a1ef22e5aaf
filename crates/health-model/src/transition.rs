//! Effects and what each does to a document (R54…R60).
//!
//! An effect names its document by key, so that a list of effects is data: it can be shown, stored, replayed and
//! applied again to a newer document after a conflict. [`apply`] is the only way a document changes.

use crate::Instant;
use crate::cooldown::{self, Window};
use crate::document::{Connection, Cooldown, Diagnosis, Document, Health, HistoryEntry, Hold};
use crate::key::DocumentKey;
use crate::policy::Policy;
use crate::promotion;
use crate::vocabulary::{Classification, EtaBasis, Origin, Status};
use crate::words;

/// A change of one document.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The document.
    pub key: DocumentKey,
    /// The change.
    pub kind: EffectKind,
}

/// The kinds of change.
#[derive(Debug, Clone, PartialEq)]
pub enum EffectKind {
    /// Sets a status: mark unavailable, degraded or available.
    Mark(Mark),
    /// Opens the next cooldown window of (signature, user). Never touches the status (R6).
    OpenCooldown {
        /// The kind of error.
        signature: String,
        /// The user; `None` = everybody in scope.
        user_id: Option<String>,
        /// The class.
        classification: Classification,
        /// How long.
        window: Window,
    },
    /// Removes the cooldown of exactly (signature, user), its episodes too.
    ClearCooldown {
        /// The kind of error.
        signature: String,
        /// The user; `None` = the scope-wide one.
        user_id: Option<String>,
    },
    /// Ends the window of (signature, user) after a success. The count of episodes falls only if no failure came for
    /// one window (DESIGN §11.3).
    EndCooldown {
        /// The kind of error.
        signature: String,
        /// The user; `None` = the scope-wide one.
        user_id: Option<String>,
    },
    /// Removes status, diagnosis, history and cooldowns; a hold stays (C11).
    Clear,
    /// Sets or replaces the hold.
    SetHold(Hold),
    /// Removes the hold.
    ReleaseHold,
    /// A connection opened or closed, or a process was killed (R57, R58). Older events lose.
    ConnectionEvent {
        /// The connection, its number and its time.
        connection: Connection,
        /// Audit text.
        note: String,
    },
    /// Records a diagnosis beside the marks that it led to (R34).
    RecordDiagnosis(Diagnosis),
    /// Notes one user's trouble where the tool is at home (DESIGN §2.3). Never touches the status.
    NoteLikeFailure {
        /// The kind of error.
        signature: String,
        /// The user's [pseudonym](promotion::pseudonym).
        user: String,
        /// A diagnosis is asked for with it.
        asks: bool,
    },
    /// Drops the like failures of all users that came before a call began which succeeded.
    ForgetLikeFailures {
        /// When that call began.
        before: Instant,
    },
    /// Drops the like failures of one user, who is deleted.
    ForgetUser {
        /// The user's [pseudonym](promotion::pseudonym).
        user: String,
    },
}

/// A status and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The status.
    pub status: Status,
    /// The class.
    pub classification: Classification,
    /// When it should be usable again; ignored for OK.
    pub expected_recovery_at: Option<Instant>,
    /// How that is founded.
    pub eta_basis: EtaBasis,
    /// Who sets it.
    pub origin: Origin,
    /// The kind of error, if a failed call was behind it.
    pub signature: Option<String>,
    /// The user whose call was behind it.
    pub user_id: Option<String>,
    /// For the audit trail.
    pub by: String,
    /// Audit text.
    pub note: String,
}

impl Mark {
    /// The mark that a success leaves.
    #[must_use]
    pub fn working(by: &str, origin: Origin) -> Self {
        Self {
            status: Status::Ok,
            classification: Classification::Working,
            expected_recovery_at: None,
            eta_basis: EtaBasis::Computed,
            origin,
            signature: None,
            user_id: None,
            by: by.to_owned(),
            note: String::new(),
        }
    }
}

/// What an effect did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    /// The document differs.
    pub changed: bool,
    /// An outage began or ended with it.
    pub outage: Option<OutageChange>,
}

/// An outage is the time that a document's status is DOWN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutageChange {
    /// The status became DOWN.
    Opened,
    /// The status left DOWN.
    Closed,
}

/// Applies one effect. `document` is the document on record, or a new one.
pub fn apply(document: &mut Document, kind: &EffectKind, policy: &Policy, now: Instant) -> Change {
    let was_down = is_down(document);
    let changed = match kind {
        EffectKind::Mark(it) => mark(document, it, policy, now),
        EffectKind::OpenCooldown { signature, user_id, classification, window } => {
            open_cooldown(document, signature, user_id.as_deref(), *classification, *window, policy, now)
        }
        EffectKind::ClearCooldown { signature, user_id } => {
            remove(&mut document.cooldowns, signature, user_id.as_deref()).is_some()
        }
        EffectKind::EndCooldown { signature, user_id } => {
            end_cooldown(&mut document.cooldowns, signature, user_id.as_deref(), now)
        }
        EffectKind::Clear => clear(document),
        EffectKind::SetHold(hold) => document.hold.replace(hold.clone()).as_ref() != Some(hold),
        EffectKind::ReleaseHold => document.hold.take().is_some(),
        EffectKind::ConnectionEvent { connection, note } => {
            connection_event(document, connection, note, policy, now)
        }
        EffectKind::RecordDiagnosis(it) => document.last_diagnosis.replace(it.clone()).as_ref() != Some(it),
        EffectKind::NoteLikeFailure { signature, user, asks } => {
            promotion::note(document, signature, user, *asks, policy, now)
        }
        EffectKind::ForgetLikeFailures { before } => promotion::retain(document, |it| it.at >= *before),
        EffectKind::ForgetUser { user } => promotion::retain(document, |it| it.user != *user),
    };
    if changed {
        document.updated_at = now;
    }
    let outage = match (was_down, is_down(document)) {
        (false, true) => Some(OutageChange::Opened),
        (true, false) => Some(OutageChange::Closed),
        _ => None,
    };
    Change { changed, outage }
}

fn is_down(document: &Document) -> bool {
    document.health.as_ref().is_some_and(|it| it.status == Status::Down)
}

/// Sets a status. `since` and history change only when status or class changes; an expected recovery that the engine,
/// an administrator or a Retry-After set is never shortened by a verdict (DESIGN §11.1).
fn mark(document: &mut Document, mark: &Mark, policy: &Policy, now: Instant) -> bool {
    if document.health.as_ref().is_some_and(|it| outranks(it, mark, now)) {
        document.last_checked_at = Some(document.last_checked_at.map_or(now, |it| it.max(now)));
        return true;
    }
    let before = document.health.as_ref();
    let same = before.is_some_and(|it| it.status == mark.status && it.classification == mark.classification);
    let (mut eta, mut basis) = match mark.status {
        Status::Ok => (None, EtaBasis::Computed),
        Status::Degraded | Status::Down => (mark.expected_recovery_at, mark.eta_basis),
    };
    if let Some(kept) = before.filter(|it| mark.status != Status::Ok && protects_eta(it, mark, eta, now)) {
        (eta, basis) = (kept.expected_recovery_at, kept.eta_basis);
    }
    let since = before.filter(|_| same).map_or(now, |it| it.since);
    let told = before.filter(|_| same).and_then(|it| it.announced_recovery_at);
    let announced = match (told, eta) {
        (Some(told), Some(eta)) if (eta - told).abs() <= words::ETA_TOLERANCE => Some(told),
        _ => eta,
    };
    document.health = Some(Health {
        status: mark.status,
        classification: mark.classification,
        since,
        expected_recovery_at: eta,
        announced_recovery_at: announced,
        eta_basis: basis,
        origin: mark.origin,
        signature: mark.signature.clone(),
    });
    document.last_checked_at = Some(document.last_checked_at.map_or(now, |it| it.max(now)));
    if mark.status == Status::Ok {
        document.last_success_at = document.last_checked_at;
        // R52: WORKING clears all entries, where somebody says so who knows. A success ends its own windows; a connection
        // event writes status and history only (R57), or a flapping server would never back off.
        if !matches!(mark.origin, Origin::Success | Origin::Event) {
            document.cooldowns.clear();
            document.like_failures.clear();
        }
    }
    if !same {
        document.history.push(HistoryEntry {
            status: mark.status,
            classification: mark.classification,
            note: mark.note.clone(),
            by: mark.by.clone(),
            at: now,
            recovery_at: eta,
            signature: mark.signature.clone(),
            user_id: mark.user_id.clone(),
        });
        let surplus = document.history.len().saturating_sub(policy.history_limit.max(1));
        document.history.drain(..surplus);
    }
    true
}

/// Whether what is on record knows better than a failed call (DESIGN §11.1, §11.4): a connection event ends by reconnect
/// or by hand, an outage without an expected end as its author says, and a DOWN that the engine, an administrator or
/// the other side gave an end to is not softened before that.
fn outranks(before: &Health, mark: &Mark, now: Instant) -> bool {
    if mark.origin != Origin::Checker || mark.status == Status::Ok || before.status == Status::Ok {
        return false;
    }
    let is_pending = before.expected_recovery_at.is_some_and(|it| now < it);
    match before.origin {
        Origin::Event => true,
        Origin::Admin | Origin::Engine if before.expected_recovery_at.is_none() => true,
        _ => before.eta_basis != EtaBasis::Computed && is_pending && mark.status < before.status,
    }
}

fn protects_eta(before: &Health, mark: &Mark, eta: Option<Instant>, now: Instant) -> bool {
    let Some(kept) = before.expected_recovery_at.filter(|it| *it > now) else { return false };
    before.eta_basis != EtaBasis::Computed && mark.origin == Origin::Checker && eta.is_none_or(|it| it < kept)
}

fn open_cooldown(
    document: &mut Document,
    signature: &str,
    user_id: Option<&str>,
    classification: Classification,
    window: Window,
    policy: &Policy,
    now: Instant,
) -> bool {
    let before = remove(&mut document.cooldowns, signature, user_id);
    document.cooldowns.retain(|it| it.is_active(now) || now < it.forgotten_at());
    while document.cooldowns.len() >= policy.cooldown_limit.max(1) {
        // An open window goes last: without it every further failure would be a first one.
        let Some(first) = (0..document.cooldowns.len()).min_by_key(|&at| {
            document.cooldowns.get(at).map(|it| (it.is_active(now), it.next_spawn_allowed_at))
        }) else {
            break;
        };
        document.cooldowns.remove(first);
    }
    let next = cooldown::open(before.as_ref(), signature, user_id, classification, window, policy, now);
    let at = document
        .cooldowns
        .partition_point(|it| (it.signature.as_str(), it.user_id.as_deref()) < (signature, user_id));
    document.cooldowns.insert(at, next);
    true
}

fn remove(cooldowns: &mut Vec<Cooldown>, signature: &str, user_id: Option<&str>) -> Option<Cooldown> {
    let at = cooldowns.iter().position(|it| it.signature == signature && it.user_id.as_deref() == user_id)?;
    Some(cooldowns.remove(at))
}

fn end_cooldown(cooldowns: &mut Vec<Cooldown>, signature: &str, user_id: Option<&str>, now: Instant) -> bool {
    let Some(mut entry) = remove(cooldowns, signature, user_id) else { return false };
    if entry.is_outlived(now) {
        return true;
    }
    let was_active = entry.is_active(now);
    if was_active {
        entry.cleared_at = Some(now);
    }
    let at =
        cooldowns.partition_point(|it| (it.signature.as_str(), it.user_id.as_deref()) < (signature, user_id));
    cooldowns.insert(at, entry);
    was_active
}

fn clear(document: &mut Document) -> bool {
    let cleared = Document {
        hold: document.hold.clone(),
        connection: document.connection.clone(),
        created_at: document.created_at,
        updated_at: document.updated_at,
        ..Document::new(document.key.clone(), document.created_at)
    };
    let changed = *document != cleared;
    *document = cleared;
    changed
}

fn connection_event(
    document: &mut Document,
    event: &Connection,
    note: &str,
    policy: &Policy,
    now: Instant,
) -> bool {
    let is_older = match &document.connection {
        // Of one connection its numbers decide, where it has them; else time does.
        Some(newest) if newest.id == event.id && event.sequence != 0 => event.sequence <= newest.sequence,
        // The close of a connection that another one has replaced.
        Some(newest) if newest.id != event.id && !event.open && newest.open => true,
        Some(newest) => event.at < newest.at,
        None => !event.open && document.last_success_at.is_some_and(|it| it > event.at),
    };
    if is_older {
        return false;
    }
    document.connection = Some(event.clone());
    let mut change = Mark::working("event", Origin::Event);
    change.note = note.to_owned();
    if event.open {
        if document.health.as_ref().is_some_and(|it| it.status != Status::Ok) {
            mark(document, &change, policy, now);
        }
        return true;
    }
    change.status = Status::Down;
    change.classification = Classification::TechnicallyBroken;
    mark(document, &change, policy, now);
    true
}
