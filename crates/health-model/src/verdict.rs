//! The answer to one failed call (DESIGN §5): what it is, whose fault, whether and when to call again.

use crate::Instant;
use crate::vocabulary::{
    Classification, DiagnosisState, DispatchCode, Fault, Remedy, RetryBasis, RetrySafety, Scope,
};

/// What is said of one failed call. Health after the call and durability are added by the service.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The class; UNCLEAR means that nobody can tell from the error alone.
    pub classification: Classification,
    /// The short stable name of this kind of error (R44), part of the cooldown key.
    pub signature: String,
    /// The rule that decided; empty where the dispatch code alone did.
    pub rule_id: String,
    /// The fields that matched, for people; or what else decided.
    pub evidence: Vec<Evidence>,
    /// The dispatch code as answered: differs from the reported one after C24.
    pub dispatch_code: Option<DispatchCode>,
    /// Whose fault it is.
    pub fault: Fault,
    /// What to do.
    pub remedy: Remedy,
    /// When to call again at the earliest; `None` = nothing is known, or no time helps.
    pub retry_at: Option<Instant>,
    /// How `retry_at` is founded; `None` exactly when `retry_at` is.
    pub retry_basis: Option<RetryBasis>,
    /// Whether calling again can do harm.
    pub retry_safety: RetrySafety,
    /// Where the verdict belongs; `None` = the caller has no id there, or it is no health signal: nothing is stored.
    pub scope: Option<Scope>,
    /// The cooldown that applies to the caller for this signature.
    pub cooldown: Option<CooldownSeen>,
    /// What becomes of the diagnosis.
    pub diagnosis: DiagnosisState,
    /// Words for the model: begins with the failure and says that no data came back.
    pub model_text: String,
    /// A hint for the person, where there is something that they can do.
    pub user_hint: Option<String>,
    /// False for cancelled calls and refusals by policy: they change nothing.
    pub is_health_signal: bool,
}

/// One field that a decision rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The field, as rule files spell it: `httpStatus`, `bodyContains`.
    pub field: String,
    /// What the rule asks for.
    pub expected: String,
    /// What the failure has; cut to 200 bytes and masked.
    pub seen: String,
}

/// A cooldown as one caller sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CooldownSeen {
    /// Whether it was active before this failure: then nothing was written and no diagnosis was started (R99).
    pub active: bool,
    /// The end of the window, as stored: without spreading.
    pub until: Instant,
    /// How many windows have been opened in a row; drives backoff.
    pub episodes: u32,
    /// Where it is stored.
    pub scope: Scope,
}
