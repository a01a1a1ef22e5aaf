//! The journal of failures: what tools failed with lately, bounded, redacted, and of no person.
//!
//! Rules are tried on it before they are put into force. A store keeps the content of an entry as it is given and never
//! looks into it: what is in there, and that no secret and no user is, is the business of who appends.

use health_model::Instant;
use uuid::Uuid;

/// The most bytes of [`FailureEntry::content`]. Who appends keeps to it; a store keeps whatever it is given.
pub const MAX_FAILURE_BYTES: usize = 8 * 1024;

/// One failure of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureEntry {
    /// Unique over all servers of one store.
    pub id: Uuid,
    /// Whose journal.
    pub tenant_id: String,
    /// The project of the call.
    pub project_id: String,
    /// When it was reported. Kept to the microsecond.
    pub at: Instant,
    /// What is known of it, as text of the appender's own versioned format. Names no user and no session.
    pub content: String,
}

/// A page of a tenant's journal, the latest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FailurePage {
    /// The entries. Less than were asked for: there are no more before them.
    pub entries: Vec<FailureEntry>,
    /// Rows among and right before them that cannot be read, and are passed over.
    pub n_unreadable: usize,
}

/// A place in one tenant's journal. Later entries have greater places; of one instant, the greater id is the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FailurePlace {
    /// [`FailureEntry::at`].
    pub at: Instant,
    /// [`FailureEntry::id`].
    pub id: Uuid,
}

impl FailureEntry {
    /// Where it stands.
    #[must_use]
    pub const fn place(&self) -> FailurePlace {
        FailurePlace { at: self.at, id: self.id }
    }
}
