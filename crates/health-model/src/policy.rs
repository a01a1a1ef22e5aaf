//! Every constant of the model, with its source. Those that are fields of [`Policy`] can be set, for the whole server.

use chrono::TimeDelta;

use crate::vocabulary::Classification;

/// How windows and recoveries are computed. [`Policy::default`] holds the values of the requirements.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Rows kept in the history ring, 5 to 200 (R35, R77).
    pub history_limit: usize,
    /// Cooldowns kept in one document; the one that ended first makes room.
    pub cooldown_limit: usize,
    /// No window and no computed recovery is longer; 1 h to 7 d. An administrator's word is not capped.
    pub max_window: TimeDelta,
    /// No stored window is shorter.
    pub min_window: TimeDelta,
    /// A DOWN without expected recovery reads RETESTING after this long (C17).
    pub max_without_eta: TimeDelta,
    /// An unclear failure under a diagnosis younger than this is answered with it (R200).
    pub fresh_diagnosis: TimeDelta,
    /// A success younger than this makes NOT_REGISTERED read as unreachable (DESIGN §11.4).
    pub recent_success: TimeDelta,
    /// What a success clears (C2).
    pub clear_on_success: ClearOnSuccess,
    /// When like failures of several users ask for a diagnosis of the tool.
    pub promotion: Promotion,
}

/// How many users in how short a time are evidence against the tool (DESIGN §2.3, C7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promotion {
    /// Different users with failures of one signature, 2 to 32: one user's trouble stays that user's.
    pub users: usize,
    /// All within this time, 1 min to 24 h.
    pub window: TimeDelta,
}

/// Like failures noted in one document, of all signatures together; the oldest make room.
pub const LIKE_FAILURE_LIMIT: usize = 64;

/// When a DEGRADED tool is expected back where nobody says (C9, R155).
pub const FALLBACK_RECOVERY: TimeDelta = TimeDelta::minutes(15);

/// Which cooldowns a success clears (C2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClearOnSuccess {
    /// All that apply to the caller.
    All,
    /// All but those of USER_PERMISSION and USER_INPUT.
    Technical,
    /// Only those whose signature the success names.
    Signature,
}

/// Window lengths of one classification (R47…R51).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first window.
    pub base: TimeDelta,
    /// What each further episode multiplies it by.
    pub factor: u32,
    /// The longest window.
    pub cap: TimeDelta,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            history_limit: 20,
            cooldown_limit: 64,
            max_window: TimeDelta::hours(24),
            min_window: TimeDelta::seconds(1),
            max_without_eta: TimeDelta::hours(1),
            fresh_diagnosis: TimeDelta::minutes(5),
            recent_success: TimeDelta::hours(24),
            clear_on_success: ClearOnSuccess::All,
            promotion: Promotion { users: 3, window: TimeDelta::minutes(15) },
        }
    }
}

impl Policy {
    /// The windows of a classification: R47 to R51; UNCLEAR and TECHNICALLY_BROKEN from the table of constants.
    #[must_use]
    pub const fn backoff(&self, classification: Classification) -> Backoff {
        let (base, factor, cap) = match classification {
            Classification::UserPermission => (TimeDelta::hours(24), 1, TimeDelta::hours(24)),
            Classification::UserInput => (TimeDelta::minutes(5), 1, TimeDelta::minutes(5)),
            Classification::UserSpecificTechnical => (TimeDelta::minutes(15), 2, TimeDelta::hours(24)),
            Classification::TechnicallyBroken => (TimeDelta::minutes(5), 2, TimeDelta::hours(1)),
            Classification::Intermittent => (TimeDelta::seconds(30), 4, TimeDelta::hours(2)),
            Classification::Unclear | Classification::Working => {
                (TimeDelta::seconds(30), 2, TimeDelta::minutes(15))
            }
        };
        Backoff { base, factor, cap }
    }
}
