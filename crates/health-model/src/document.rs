//! The health document (R32…R37): one per (tenant, scope, scope id, tool), stored as JSON.
//!
//! A document without a [`Health`] holds cooldowns only: it has no say in the status (C1, C3).
//! Hits and the time of the last trigger are kept beside it, in the counter table (DESIGN §8): they change with
//! every failure and must not cost a version.

use serde::{Deserialize, Serialize};

use crate::Instant;
use crate::key::DocumentKey;
use crate::vocabulary::{Classification, EtaBasis, Origin, Status};

/// The format of the stored JSON. A reader refuses a greater one.
pub const DOCUMENT_FORMAT: u32 = 1;

/// What is known of one tool at one scope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The key; unique.
    pub key: DocumentKey,
    /// The status verdict, or `None` if there never was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// The last probe, verdict or success that changed this document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_checked_at: Option<Instant>,
    /// The last diagnosis of the engine or a person (R34); decides freshness (C20).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_diagnosis: Option<Diagnosis>,
    /// Ring of changes, oldest first (R35). The newest entry agrees with `health`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
    /// Sorted by signature, then user; at most one per (signature, user).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cooldowns: Vec<Cooldown>,
    /// Of a home document: users whose own credential failed lately (DESIGN §2.3). Sorted by signature, then user; at most
    /// one per (signature, user), and [`LIKE_FAILURE_LIMIT`](crate::policy::LIKE_FAILURE_LIMIT) in all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub like_failures: Vec<LikeFailure>,
    /// An administrator's hold; wins over health while it lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// The newest connection event that was taken in; older ones lose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// The last success that this document heard of (C24). Only successes that changed something are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_success_at: Option<Instant>,
    /// When the document was first written.
    pub created_at: Instant,
    /// When it was last written.
    pub updated_at: Instant,
}

/// A status verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// The status on record.
    pub status: Status,
    /// The class behind it.
    pub classification: Classification,
    /// When status or class last changed (DESIGN §11.1).
    pub since: Instant,
    /// When it should be usable again; `None` = unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_recovery_at: Option<Instant>,
    /// The expected recovery that words name: the first one told, until it moves by over ten minutes (DESIGN §10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced_recovery_at: Option<Instant>,
    /// How `expected_recovery_at` is founded.
    pub eta_basis: EtaBasis,
    /// Who set it.
    pub origin: Origin,
    /// The kind of error behind it, if a failed call was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// One row of the history ring (R35, DESIGN §11.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// The status that was set.
    pub status: Status,
    /// The class that was set.
    pub classification: Classification,
    /// Audit text; never shown to a model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Who wrote it: `checker`, `event`, `success`, `admin/<name>`, `agrajag-engine/<process id>`.
    pub by: String,
    /// When.
    pub at: Instant,
    /// The expected recovery at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_at: Option<Instant>,
    /// The kind of error, if a failed call was behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The user whose call was behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
}

/// What the last diagnosis said (R34, DESIGN §11.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The class.
    pub classification: Classification,
    /// Audit text; never shown to a model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Who diagnosed.
    pub by: String,
    /// When.
    pub at: Instant,
    /// The signature that was diagnosed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The user, for signatures of the 401 and 403 family (C6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
}

/// One cooldown (R36, R43). Hits and the last trigger are in the counter table, under `opened_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cooldown {
    /// The kind of error.
    pub signature: String,
    /// The user it applies to; `None` = everybody in scope (R45).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The class that opened the window.
    pub classification: Classification,
    /// When the window was opened; names the episode in the counter table.
    pub opened_at: Instant,
    /// No diagnosis before this instant. Carries no jitter.
    pub next_spawn_allowed_at: Instant,
    /// Windows opened in a row, at least 1; drives backoff (C19).
    pub episodes: u32,
    /// Set when a success ended the window early while the tool may be flapping: the window is over, the count of
    /// episodes stays (DESIGN §11.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared_at: Option<Instant>,
}

/// One user's trouble with their own credential, noted where the tool is at home: evidence, never a status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LikeFailure {
    /// The kind of error.
    pub signature: String,
    /// The user's [pseudonym](crate::promotion::pseudonym), never the id.
    pub user: String,
    /// The user's last failure of this kind that was no repetition under their own cooldown.
    pub at: Instant,
    /// It made the users enough: a diagnosis was asked for with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
}

/// An administrator's word, beside health and above it (DESIGN §4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// The status that is shown.
    pub status: Status,
    /// For people; never shown to a model.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When it was set.
    pub since: Instant,
    /// When it ends by itself; `None` = by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
    /// Who set it.
    pub by: String,
}

/// The newest connection event that was taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// The connection's id; empty if the reporter named none.
    pub id: String,
    /// The number of the event, growing over the events of this connection; 0 = not numbered.
    pub sequence: u64,
    /// When it happened, not after it was received. Decides between connections, and where there are no numbers.
    pub at: Instant,
    /// Whether it opened (else it closed).
    pub open: bool,
}

impl Document {
    /// A document that says nothing yet.
    #[must_use]
    pub const fn new(key: DocumentKey, now: Instant) -> Self {
        Self {
            key,
            health: None,
            last_checked_at: None,
            last_diagnosis: None,
            history: Vec::new(),
            cooldowns: Vec::new(),
            like_failures: Vec::new(),
            hold: None,
            connection: None,
            last_success_at: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// The cooldown of exactly this signature and user, active or not.
    #[must_use]
    pub fn cooldown(&self, signature: &str, user_id: Option<&str>) -> Option<&Cooldown> {
        self.cooldowns.iter().find(|it| it.signature == signature && it.user_id.as_deref() == user_id)
    }

    /// The hold, if it has not ended by itself.
    #[must_use]
    pub fn active_hold(&self, now: Instant) -> Option<&Hold> {
        self.hold.as_ref().filter(|it| it.until.is_none_or(|until| now < until))
    }

    /// The earliest instant after `now` at which a cooldown of this document ends (R41).
    #[must_use]
    pub fn next_cooldown_at(&self, now: Instant) -> Option<Instant> {
        self.cooldowns.iter().filter(|it| it.is_active(now)).map(|it| it.next_spawn_allowed_at).min()
    }
}
