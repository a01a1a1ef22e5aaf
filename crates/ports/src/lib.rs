//! The ports: every trait that the core needs from outside, with its contract.
//!
//! The contract is in the rustdoc of each method; each promise is kept by a case of the `store-conformance` suite, which
//! every store passes. No type of a driver or transport appears here. A tool's failure is data, never an `Err`.
//!
//! - [`store`]: documents, commits, the change feed, counters, rule layers.
//! - [`job`]: the queue of diagnoses.
//! - [`journal`]: failures kept to try rules on.
//! - [`clock`]: time and ids.

pub mod clock;
pub mod job;
pub mod journal;
pub mod store;

pub use clock::{Clock, Ids};
pub use job::{Claim, Enqueue, EnqueueOutcome, Job, JobFilter, JobQueue, JobState, Signal, Trigger};
pub use journal::{FailureEntry, FailurePage, FailurePlace};
pub use store::{
    Batch, Change, Changes, Committed, Counter, DeleteSelector, DocumentFilter, DocumentPage, DocumentWrite,
    HitDelta, LoadedContainer, Outage, OutageChange, Revision, RuleLayerKey, RuleLayerRecord, Store,
    StoreError, StoreInfo, Versioned,
};
