//! Two simple classifiers to compare a table with: what one gets without rules.
//!
//! Owns which status and which word stands for which class. Both look at what a row shows and nothing else; neither sets a
//! status of a tool nor a retry time, so that harm and retry errors say nothing of them.

use health_model::{Classification, Failure};

/// A classifier without rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// The reported HTTP status and nothing else.
    StatusOnly,
    /// The reported status; where that decides nothing, the first group of words of which one is anywhere in the text.
    ///
    /// This is how common LLM gateways map what a provider answers to the exceptions of one client library, rebuilt from
    /// what they document: a table of statuses, and lower-case substrings of the error's text for the rest.
    StatusThenWords,
}

/// Statuses that name one class by their definition. Others, such as a plain 500, name none.
const STATUSES: &[(u16, Classification)] = &[
    (400, Classification::UserInput),
    (401, Classification::UserSpecificTechnical),
    (403, Classification::UserPermission),
    (404, Classification::UserInput),
    (405, Classification::UserInput),
    (408, Classification::Intermittent),
    (409, Classification::UserInput),
    (410, Classification::UserInput),
    (413, Classification::UserInput),
    (415, Classification::UserInput),
    (422, Classification::UserInput),
    (429, Classification::Intermittent),
    (503, Classification::Intermittent),
];

/// Words by group, the first group first. A status is looked for as a word too, as gateways do with errors that they get
/// as a text.
const WORDS: &[(Classification, &[&str])] = &[
    // Rate limits.
    (
        Classification::Intermittent,
        &[
            "429",
            "rate limit",
            "too many requests",
            "service tier capacity exceeded",
            "resource_exhausted",
            "throttl",
        ],
    ),
    // Exhausted accounts.
    (Classification::UserSpecificTechnical, &["insufficient_quota", "quota exceeded", "billing"]),
    // Authentication.
    (
        Classification::UserSpecificTechnical,
        &[
            "401",
            "api key",
            "api_key",
            "unauthorized",
            "authentication",
            "unauthenticated",
            "expired",
            "password",
            "credential",
            "login",
        ],
    ),
    // Permission.
    (
        Classification::UserPermission,
        &["403", "permission", "forbidden", "denied", "not authorized", "insufficient", "scope"],
    ),
    // Timeouts.
    (Classification::Intermittent, &["timeout", "timed out", "deadline exceeded"]),
    // Overload.
    (Classification::Intermittent, &["503", "overloaded", "unavailable"]),
    // Bad requests.
    (
        Classification::UserInput,
        &["invalid", "bad request", "unsupported", "validation", "context length", "unknown"],
    ),
    // Nothing there.
    (Classification::UserInput, &["404", "not found", "not_found", "does not exist", "no such"]),
];

impl Baseline {
    /// Both, the simpler one first.
    pub const ALL: [Self; 2] = [Self::StatusOnly, Self::StatusThenWords];

    /// The class of a failure; UNCLEAR where nothing decides.
    #[must_use]
    pub fn classify(self, failure: &Failure) -> Classification {
        let by_status = failure.http_status.and_then(by_status);
        let class = match self {
            Self::StatusOnly => by_status,
            Self::StatusThenWords => by_status.or_else(|| by_words(failure)),
        };
        class.unwrap_or(Classification::Unclear)
    }
}

fn by_status(status: u16) -> Option<Classification> {
    STATUSES.iter().find(|(it, _)| *it == status).map(|(_, class)| *class)
}

fn by_words(failure: &Failure) -> Option<Classification> {
    let texts = [
        failure.message.as_str(),
        failure.body.as_str(),
        failure.exception_type.as_deref().unwrap_or_default(),
        failure.error_code.as_deref().unwrap_or_default(),
    ];
    let text = texts.join(" ").to_lowercase();
    WORDS.iter().find(|(_, words)| words.iter().any(|it| text.contains(it))).map(|(class, _)| *class)
}
