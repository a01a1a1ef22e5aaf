//! One labelled failure, as a line of JSON.

use chrono::{DateTime, TimeDelta, Utc};
use health_model::{Classification, Failure, Instant, Target, Tool, ToolKind};
use serde::Deserialize;

use crate::parse::parse_duration;

/// Why a line is no row.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: not a corpus row; expected an object with `id`, `tool`, `error` and `expected`")]
pub struct RowError {
    /// The line, from 1.
    pub line: usize,
    /// What the reader met.
    #[source]
    pub source: serde_json::Error,
}

/// How sure the label is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// Both readers agreed and were sure.
    Certain,
    /// Both readers agreed.
    Likely,
    /// They differed; either label counts as right.
    Contested,
}

/// One labelled failure.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The row's name.
    pub id: String,
    /// The runtime that printed it; empty if the row does not say.
    pub runtime: String,
    /// The tool that failed.
    pub tool: Tool,
    /// How.
    pub failure: Failure,
    /// What it is.
    pub expected: Expected,
    /// When it happened: the row's `date` header, else a fixed instant.
    pub now: Instant,
}

/// The label of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The label.
    pub classification: Classification,
    /// Other labels that count as right.
    pub also_acceptable: Vec<Classification>,
    /// How sure the label is.
    pub certainty: Certainty,
    /// How long the other side asked to wait.
    pub retry_after: Option<TimeDelta>,
}

impl Expected {
    /// Whether a class counts as right.
    #[must_use]
    pub fn accepts(&self, class: Classification) -> bool {
        self.classification == class || self.also_acceptable.contains(&class)
    }

    /// The label and the other acceptable ones.
    pub fn labels(&self) -> impl Iterator<Item = Classification> {
        std::iter::once(self.classification).chain(self.also_acceptable.iter().copied())
    }

    /// Whether the error alone tells what it is: no label is UNCLEAR.
    #[must_use]
    pub fn is_tellable(&self) -> bool {
        self.labels().all(|it| it != Classification::Unclear)
    }

    /// Whether nobody could tell: UNCLEAR is the only label.
    #[must_use]
    pub fn is_unclear(&self) -> bool {
        self.labels().all(|it| it == Classification::Unclear)
    }
}

/// Reads the rows of a text, one a line; blank lines are passed over.
///
/// # Errors
/// The first line that is no row.
pub fn parse_rows(text: &str) -> Result<Vec<Row>, RowError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, line)| parse_row(line).map_err(|source| RowError { line: at + 1, source })).collect()
}

/// Reads one row.
///
/// # Errors
/// The text is no JSON object of a row's shape.
pub fn parse_row(line: &str) -> Result<Row, serde_json::Error> {
    let raw: RawRow = serde_json::from_str(line)?;
    let tool = Tool {
        name: raw.tool.name,
        kind: raw.tool.kind.as_deref().and_then(|it| it.to_ascii_uppercase().parse::<ToolKind>().ok()),
        target: match raw.tool.target.as_deref() {
            Some("fixed") => Some(Target::Fixed),
            Some("argument") => Some(Target::Argument),
            _ => None,
        },
        ..Tool::default()
    };
    let headers: Vec<(String, String)> = raw
        .error
        .headers
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), plain(&value)))
        .collect();
    let date = headers.iter().find(|(name, _)| name == "date");
    let now = date
        .and_then(|(_, it)| DateTime::parse_from_rfc2822(it).ok())
        .map_or_else(fixed_now, |it| it.to_utc());
    let code = raw.error.error_code.as_ref().map(plain).filter(|it| !it.is_empty());
    let failure = Failure {
        http_status: raw.error.http_status,
        headers,
        exception_type: raw.error.exception_type,
        json_rpc_code: code.as_deref().and_then(json_rpc_code),
        sql_state: code.clone().filter(|it| is_sql_state(it)),
        grpc_status: code.clone().filter(|it| GRPC_STATUSES.contains(&it.as_str())),
        error_code: code,
        message: raw.error.message.unwrap_or_default(),
        body: raw.error.body.unwrap_or_default(),
        ..Failure::default()
    };
    let expected = Expected {
        classification: raw.expected.classification,
        also_acceptable: raw.expected.also_acceptable,
        certainty: raw.expected.certainty,
        retry_after: match raw.expected.retry_after {
            None => None,
            Some(text) => Some(parse_duration(&text).ok_or_else(|| {
                serde::de::Error::custom(format!("`{text}` is no ISO-8601 duration of a fixed length"))
            })?),
        },
    };
    Ok(Row { id: raw.id, runtime: raw.runtime, tool, failure, expected, now })
}

/// The instant of a row without a `date` header.
fn fixed_now() -> Instant {
    DateTime::<Utc>::from_timestamp(1_796_040_000, 0).unwrap_or_default()
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A code of the range that JSON-RPC reserves is one; any other number may be anything.
fn json_rpc_code(code: &str) -> Option<i64> {
    code.parse().ok().filter(|it| (-32_768..=-32_000).contains(it))
}

/// Five characters, of which at least one is a letter and one a digit: five digits alone may be anything.
fn is_sql_state(code: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_digit() || it.is_ascii_uppercase();
    code.len() == 5
        && code.bytes().all(is_part)
        && code.bytes().any(|it| it.is_ascii_digit())
        && code.bytes().any(|it| it.is_ascii_uppercase())
}

const GRPC_STATUSES: [&str; 16] = [
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

#[derive(Deserialize)]
struct RawRow {
    id: String,
    #[serde(default)]
    runtime: String,
    tool: RawTool,
    error: RawError,
    expected: RawExpected,
}

#[derive(Deserialize)]
struct RawTool {
    name: String,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    target: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawError {
    #[serde(default)]
    http_status: Option<u16>,
    #[serde(default)]
    headers: std::collections::BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    exception_type: Option<String>,
    #[serde(default)]
    error_code: Option<serde_json::Value>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    body: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawExpected {
    classification: Classification,
    #[serde(default)]
    also_acceptable: Vec<Classification>,
    certainty: Certainty,
    #[serde(default)]
    retry_after: Option<String>,
}
