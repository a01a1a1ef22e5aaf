//! Labelled failures, and how well a table does on them.
//!
//! Owns the format of a row (one JSON object a line) and the terms of the score. A row is decided exactly as a check
//! would be, by [`decide`](crate::decide::decide) with an empty store, for a caller who has every id. Two simple classifiers
//! without rules are here to compare with.

mod baseline;
mod row;
mod score;
mod unknown;

pub use baseline::Baseline;
pub use row::{Certainty, EXAMPLE, Expected, Row, RowError, RowFault, parse_row, parse_rows};
pub use score::{
    Got, Miss, OfCertainty, OfClass, OfUnclear, RetryMiss, Score, got, line, score, score_baseline,
};
pub use unknown::{UnknownField, unknown_fields};

#[cfg(test)]
mod tests;
