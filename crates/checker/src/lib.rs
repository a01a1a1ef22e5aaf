//! The checker: rule YAML → validated, merged, compiled table → verdict and effects for one failed call (DESIGN §6).
//!
//! Pure functions of values and `now`. This crate does no I/O, reads no clock, calls no model and probes nothing (R143,
//! R144); of a document it reads status, cooldowns and the last diagnosis, never the history (R145). It knows nothing of
//! stores, wire formats or transports, and writes no inbox (R146).
//!
//! Reading order:
//! - [`limits`]: how much a rule file and a failure may hold.
//! - [`diagnostic`]: what is said about a rule file, and where in it.
//! - [`rule`]: a validated rule and its match language.
//! - [`mod@parse`]: YAML text to rules, strict, one bad rule skipped alone.
//! - [`bundled`]: the specification's twelve rules.
//! - [`names`]: what runtimes call a failure, brought to canonical kinds.
//! - `unwrap`: what a failure's own texts say of its innermost cause.
//! - [`facts`]: what the rules see of one failure.
//! - [`table`]: layers merged and compiled; classification.
//! - [`mod@explain`]: for every rule, matched or the first field that did not.
//! - [`mod@decide`]: the decision tree: verdict, effects, job.
//! - [`mod@retry`]: when the other side says to call again.
//! - [`mod@lint`]: rules that parse and are hardly meant.
//! - [`schema`]: the format for editors.
//! - [`redact`]: secrets masked, text cut.
//! - [`corpus`]: labelled failures, and how well a table does on them.
//!
//! Invariants, each a property test:
//! - no YAML makes [`parse::parse`] panic, and a rule with a mistake never becomes a rule that matches more;
//! - no failure of class USER_PERMISSION or USER_INPUT changes a status, whatever the rules say;
//! - nothing is ever written at GLOBAL, and no user's own trouble wider than the user;
//! - merging a layer twice is merging it once, ids stay unique, the fallback stays last.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::todo,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

pub mod bundled;
pub mod corpus;
pub mod decide;
pub mod diagnostic;
pub mod explain;
pub mod facts;
pub mod limits;
pub mod lint;
pub mod names;
pub mod packs;
pub mod parse;
pub mod redact;
pub mod retry;
pub mod rule;
pub mod schema;
pub mod table;
mod unwrap;

pub use decide::{Decision, DefaultAction, Hit, JobRequest, Settings, decide, decide_alone};
pub use diagnostic::{Diagnostic, Severity};
pub use explain::{Explanation, Outcome, RuleExplanation, explain};
pub use parse::{ParsedLayer, parse};
pub use rule::{LayerKind, Rule};
pub use table::{Classified, Entry, Options, RuleTable};
