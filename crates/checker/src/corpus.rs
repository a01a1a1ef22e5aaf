//! Labelled failures, and how well a table does on them.
//!
//! Owns the format of a row (one JSON object a line) and the terms of the score. A row is decided exactly as a check
//! would be, by [`decide`](crate::decide::decide) with an empty store, for a caller who has every id.

mod row;
mod score;

pub use row::{Certainty, EXAMPLE, Expected, Row, RowError, RowFault, parse_row, parse_rows};
pub use score::{Got, Miss, OfCertainty, OfClass, OfUnclear, Score, got, score};

#[cfg(test)]
mod tests;
