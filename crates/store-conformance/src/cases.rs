//! The cases: one function each, which panics where a store breaks the contract.

pub(crate) mod counters;
pub(crate) mod deletes;
pub(crate) mod documents;
pub(crate) mod erasure;
pub(crate) mod feed;
pub(crate) mod handles;
pub(crate) mod jobs;
pub(crate) mod journal;
pub(crate) mod leases;
pub(crate) mod listing;
pub(crate) mod outages;
pub(crate) mod queue_limit;
pub(crate) mod random;
pub(crate) mod rules;
pub(crate) mod sweeps;
pub(crate) mod unreadable;
pub(crate) mod writers;

pub use counters::*;
pub use deletes::*;
pub use documents::*;
pub use erasure::*;
pub use feed::*;
pub use handles::*;
pub use jobs::*;
pub use journal::*;
pub use leases::*;
pub use listing::*;
pub use outages::*;
pub use queue_limit::*;
pub use random::*;
pub use rules::*;
pub use sweeps::*;
pub use unreadable::*;
pub use writers::*;
