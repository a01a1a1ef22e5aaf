//! The health model: what is known of a tool, for whom, and until when.
//!
//! Pure functions of values and `now`: this crate does no I/O, reads no clock and draws no random number.
//! It knows nothing of rules, stores, wire formats or transports.
//!
//! Reading order:
//! - [`vocabulary`]: the closed sets of words (statuses, classifications, scopes, faults, remedies).
//! - [`key`]: callers, tools, document and container keys, the cascade of a caller.
//! - [`document`]: the health document and its parts.
//! - [`policy`]: every constant of the model, in one place, with its source.
//! - [`cooldown`]: windows, episodes, backoff, spreading of retry times.
//! - [`promotion`]: like failures of several users.
//! - [`transition`]: the effects and what each does to a document.
//! - [`success`]: what a successful call may clear.
//! - [`cascade`]: which of several documents speaks for a caller.
//! - [`words`]: the fixed templates that a language model reads.
//!
//! Invariants, each a property test in `tests/laws.rs`:
//! - the narrowest verdict wins; a cooldown never changes a status;
//! - a user's entry never changes another user's answer;
//! - backoff is monotone and capped;
//! - the same effects in the same order give the same document;
//! - status and newest history entry agree.

#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::todo,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

pub mod cascade;
pub mod cooldown;
pub mod document;
pub mod failure;
pub mod key;
pub mod policy;
pub mod promotion;
pub mod success;
pub mod transition;
pub mod verdict;
pub mod vocabulary;
pub mod words;

/// An instant in Coordinated Universal Time. Every function of this crate takes it as an argument.
pub type Instant = chrono::DateTime<chrono::Utc>;

pub use cascade::{Cascade, State, View};
pub use document::{Cooldown, Diagnosis, Document, Health, HistoryEntry, Hold, LikeFailure};
pub use failure::Failure;
pub use key::{Caller, ContainerKey, DocumentKey, Tool};
pub use policy::Policy;
pub use transition::{Effect, EffectKind};
pub use verdict::Verdict;
pub use vocabulary::*;
