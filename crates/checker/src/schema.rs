//! The format of rule files as a JSON Schema (draft 2020-12), for editors. Owns nothing but the file.
//!
//! The schema knows fields, types, words and limits. What only the parser can tell (a range that is reversed, an id given
//! twice, a regular expression without a literal) it lets pass. A test keeps its fields equal to the parser's.

/// The text of the file.
pub const TEXT: &str = include_str!("../rules/error-patterns.schema.json");
