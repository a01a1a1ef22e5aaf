//! What a use case can fail with. A tool's failure is never among it.

use std::sync::Arc;

use ports::{Revision, StoreError};

/// Errors of the use cases. Check, RecordSuccess and Lookup fail open: they answer without the store and say so.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The store failed.
    #[error("the store failed")]
    Store(#[source] Arc<StoreError>),
    /// A write lost against others many times in a row; nothing was written.
    #[error("the write lost against other writers {attempts} times in a row")]
    Conflict {
        /// How often it was tried.
        attempts: u32,
    },
    /// The writer's queue is full; nothing was written.
    #[error("more than {limit} writes are waiting")]
    Overloaded {
        /// The limit.
        limit: usize,
    },
    /// The service is shutting down; nothing was written.
    #[error("the service is shutting down")]
    ShuttingDown,
    /// The server only observes.
    #[error("the server runs in mode `observe` and writes nothing")]
    ObserveMode,
    /// There is no such document.
    #[error("there is no document `{key}`")]
    DocumentNotFound {
        /// The key.
        key: String,
    },
    /// The revision is of another store, or older than what the feed keeps.
    #[error("revision `{revision}` is too old or of another store")]
    RevisionTooOld {
        /// The revision.
        revision: Revision,
    },
    /// A rule layer has errors; nothing was stored.
    #[error("the rule layer has {n_errors} errors")]
    RulesInvalid {
        /// How many.
        n_errors: usize,
        /// All findings, warnings too.
        diagnostics: Vec<checker::Diagnostic>,
    },
    /// More streams than allowed.
    #[error("more than {limit} watches are open")]
    TooManyWatches {
        /// The limit.
        limit: usize,
    },
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::RevisionTooOld { revision } => Self::RevisionTooOld { revision },
            other => Self::Store(Arc::new(other)),
        }
    }
}

impl Error {
    /// Whether the store is away, as opposed to refusing.
    #[must_use]
    pub fn is_store_away(&self) -> bool {
        matches!(self, Self::Store(it) if matches!(**it, StoreError::Unavailable { .. } | StoreError::Other { .. }))
    }
}
