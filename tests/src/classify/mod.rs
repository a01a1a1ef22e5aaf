//! The benchmark of classification: how long the rules take for one failure, whatever their number and the body's length.
//!
//! No server and no store: this is the pure part of a check. Rules of several numbers are made up in the shape of the
//! shipped ones; failures are the repository's own labelled rows.
//!
//! - [`rules`]: tables of a wanted number of rules.
//! - [`bodies`]: the rows with bodies of a wanted length.
//! - [`measure`]: the time of each step, batch by batch.
//! - [`report`]: the table and the JSON.

pub mod bodies;
pub mod measure;
pub mod report;
pub mod rules;
