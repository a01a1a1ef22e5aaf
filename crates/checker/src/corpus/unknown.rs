//! Fields that a row has and nothing reads: a misspelt one makes the row say less than its author thinks.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::limits;
use crate::parse::nearest;

/// The objects of a row of which every field is known, with those. A row itself may carry whatever it likes.
const KNOWN: [(&str, &[&str]); 3] = [
    ("error", &["httpStatus", "headers", "exceptionType", "errorCode", "message", "body"]),
    ("tool", &["name", "kind", "target"]),
    ("expected", &["classification", "alsoAcceptable", "certainty", "retryAfter", "why"]),
];

/// Different fields that are named; further ones are passed over.
const MAX_NAMED: usize = 64;

/// A field that no row has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// The field as a path like `error.mesage`.
    pub field: String,
    /// The first line that has it, from 1.
    pub line: usize,
    /// How many rows have it.
    pub rows: usize,
    /// The field that is meant, if one is much like it.
    pub near: Option<&'static str>,
}

impl std::fmt::Display for UnknownField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (field, line) = (&self.field, self.line);
        let rows = if self.rows == 1 { String::new() } else { format!(" and {} more", self.rows - 1) };
        write!(f, "line {line}{rows}: `{field}` is unknown and passed over")?;
        match self.near {
            Some(near) => write!(f, "; is `{near}` meant?"),
            None => Ok(()),
        }
    }
}

/// The unknown fields of `error`, `tool` and `expected` in the rows of a text, each once, in the order in which they come.
/// Lines that are no row are passed over.
#[must_use]
pub fn unknown_fields(text: &str) -> Vec<UnknownField> {
    let mut found: Vec<UnknownField> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (line, text) in (1..).zip(text.lines()) {
        let Ok(Value::Object(row)) = serde_json::from_str(text) else { continue };
        for (object, known) in KNOWN {
            let Some(Value::Object(fields)) = row.get(object) else { continue };
            for name in fields.keys().filter(|it| !known.contains(&it.as_str())) {
                let field = format!("{object}.{}", limits::head(name, limits::MAX_SHOWN_BYTES));
                let n_found = found.len();
                if let Some(it) = places.get(&field).and_then(|it| found.get_mut(*it)) {
                    it.rows += 1;
                } else if n_found < MAX_NAMED {
                    places.insert(field.clone(), n_found);
                    found.push(UnknownField { field, line, rows: 1, near: nearest(name, known) });
                }
            }
        }
    }
    found
}
