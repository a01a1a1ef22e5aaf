//! One labelled failure, as a line of JSON.

use chrono::{DateTime, TimeDelta, Utc};
use health_model::failure::GRPC_STATUSES;
use health_model::{Classification, Failure, Instant, Target, Tool, ToolKind};
use serde_json::{Map, Value};

use crate::parse::parse_duration;

/// A complete row, the shortest that is useful: for help, remedies and `docs/rules.md`.
pub const EXAMPLE: &str =
    r#"{"id": "a", "tool": {"name": "wiki"}, "error": {"httpStatus": 403}, "expected": "USER_PERMISSION"}"#;

/// Why a text is no row: the line, the field and what is wanted there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct RowError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong in it.
    pub fault: RowFault,
}

/// Why one line is no row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowFault {
    /// The line is no JSON.
    #[error("no JSON at column {column}, wanted one object a line")]
    Json {
        /// The column, from 1, at which the reader stopped.
        column: usize,
    },
    /// A field is missing or holds something unusable.
    #[error("{} {found}, wanted {wanted}", if .field.is_empty() { "the row".to_owned() } else { format!("`{field}`") })]
    Field {
        /// The field as a path like `expected.classification`; empty for the row itself.
        field: String,
        /// What was found: `is missing`, or what it is.
        found: String,
        /// What is wanted there.
        wanted: String,
    },
}

/// How sure the label is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Certainty {
    /// Both readers agreed and were sure.
    Certain,
    /// Both readers agreed, or one person labelled the row: what a row that does not say has.
    #[default]
    Likely,
    /// They differed; either label counts as right.
    Contested,
}

/// One labelled failure.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The row's name.
    pub id: String,
    /// Where it was seen: the address of a page, or `provoked: …` with what was run; empty if the row does not say.
    pub source: String,
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
/// The first line that is no row, with its field.
pub fn parse_rows(text: &str) -> Result<Vec<Row>, RowError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(at, line)| parse_row(line).map_err(|fault| RowError { line: at + 1, fault })).collect()
}

/// Reads one row. Fields that it does not know are passed over, so that a row may carry its source.
///
/// # Errors
/// The text is no JSON object of a row's shape.
pub fn parse_row(line: &str) -> Result<Row, RowFault> {
    let json: Value =
        serde_json::from_str(line).map_err(|error| RowFault::Json { column: error.column().max(1) })?;
    let row = Fields::of("", &json, "an object with `id`, `tool`, `error` and `expected`")?;
    let (tool, error) = (row.object("tool", "an object with `name`")?, row.object("error", AN_ERROR)?);
    let failure = failure(&error)?;
    let date = failure.headers.iter().find(|(name, _)| name == "date");
    let now = date
        .and_then(|(_, it)| DateTime::parse_from_rfc2822(it).ok())
        .map_or_else(fixed_now, |it| it.to_utc());
    Ok(Row {
        id: row.required_text("id")?,
        source: row.text("source")?.unwrap_or_default(),
        runtime: row.text("runtime")?.unwrap_or_default(),
        tool: Tool {
            name: tool.required_text("name")?,
            kind: tool.text("kind")?.and_then(|it| it.to_ascii_uppercase().parse::<ToolKind>().ok()),
            target: match tool.text("target")?.as_deref() {
                Some("fixed") => Some(Target::Fixed),
                Some("argument") => Some(Target::Argument),
                _ => None,
            },
            ..Tool::default()
        },
        failure,
        expected: expected(&row)?,
        now,
    })
}

fn failure(error: &Fields<'_>) -> Result<Failure, RowFault> {
    let headers = match error.given("headers") {
        None => Vec::new(),
        Some(value) => match value.as_object() {
            Some(headers) => {
                headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), plain(value))).collect()
            }
            None => return Err(error.wrong("headers", "an object of names and values")),
        },
    };
    let http_status = match error.given("httpStatus") {
        None => None,
        Some(value) => match value.as_u64().and_then(|it| u16::try_from(it).ok()) {
            Some(status) => Some(status),
            None => return Err(error.wrong("httpStatus", "a number such as 403")),
        },
    };
    let code = error.given("errorCode").map(plain).filter(|it| !it.is_empty());
    Ok(Failure {
        http_status,
        headers,
        exception_type: error.text("exceptionType")?,
        json_rpc_code: code.as_deref().and_then(json_rpc_code),
        sql_state: code.clone().filter(|it| is_sql_state(it)),
        grpc_status: code.clone().filter(|it| it != "OK" && GRPC_STATUSES.contains(&it.as_str())),
        error_code: code,
        message: error.text("message")?.unwrap_or_default(),
        body: error.text("body")?.unwrap_or_default(),
        ..Failure::default()
    })
}

/// The label: the name of a class alone, or an object.
fn expected(row: &Fields<'_>) -> Result<Expected, RowFault> {
    const WANTED: &str = "a class, or an object with `classification`";
    if let Some(Value::String(_)) = row.given("expected") {
        return Ok(Expected {
            classification: row.class("expected")?,
            also_acceptable: Vec::new(),
            certainty: Certainty::default(),
            retry_after: None,
        });
    }
    let label = row.object("expected", WANTED)?;
    let also_acceptable = match label.given("alsoAcceptable") {
        None => Vec::new(),
        Some(Value::Array(classes)) => classes
            .iter()
            .map(|it| {
                class(it)
                    .ok_or_else(|| label.wrong("alsoAcceptable", &format!("a list of {}", classes_text())))
            })
            .collect::<Result<_, _>>()?,
        Some(_) => return Err(label.wrong("alsoAcceptable", &format!("a list of {}", classes_text()))),
    };
    let certainty = match label.text("certainty")?.as_deref() {
        None => Certainty::default(),
        Some("certain") => Certainty::Certain,
        Some("likely") => Certainty::Likely,
        Some("contested") => Certainty::Contested,
        Some(_) => return Err(label.wrong("certainty", "`certain`, `likely` or `contested`")),
    };
    let retry_after = match label.text("retryAfter")? {
        None => None,
        Some(text) => match parse_duration(&text) {
            Some(span) => Some(span),
            None => {
                return Err(label.wrong("retryAfter", "an ISO-8601 duration of a fixed length such as PT20S"));
            }
        },
    };
    Ok(Expected { classification: label.class("classification")?, also_acceptable, certainty, retry_after })
}

const AN_ERROR: &str =
    "an object with what the failure shows, such as `httpStatus`, `exceptionType`, `message` or `body`";

/// An object and where it stands in the row.
struct Fields<'a> {
    path: &'static str,
    object: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn of(path: &'static str, value: &'a Value, wanted: &str) -> Result<Self, RowFault> {
        match value.as_object() {
            Some(object) => Ok(Self { path, object }),
            None => Err(RowFault::Field {
                field: path.to_owned(),
                found: found(Some(value)),
                wanted: wanted.to_owned(),
            }),
        }
    }

    /// The value, if there is one: `null` is none.
    fn given(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|it| !it.is_null())
    }

    fn object(&self, name: &'static str, wanted: &str) -> Result<Fields<'a>, RowFault> {
        match self.given(name) {
            Some(value) => Fields::of(name, value, wanted),
            None => Err(self.wrong(name, wanted)),
        }
    }

    fn text(&self, name: &str) -> Result<Option<String>, RowFault> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(name, "a text")),
        }
    }

    fn required_text(&self, name: &str) -> Result<String, RowFault> {
        self.text(name)?.ok_or_else(|| self.wrong(name, "a text"))
    }

    fn class(&self, name: &str) -> Result<Classification, RowFault> {
        self.given(name)
            .and_then(class)
            .ok_or_else(|| self.wrong(name, &format!("one of {}", classes_text())))
    }

    /// That the field is not what is wanted.
    fn wrong(&self, name: &str, wanted: &str) -> RowFault {
        let field = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        RowFault::Field { field, found: found(self.given(name)), wanted: wanted.to_owned() }
    }
}

fn class(value: &Value) -> Option<Classification> {
    value.as_str().and_then(|it| it.parse().ok())
}

fn classes_text() -> String {
    Classification::ALL.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ")
}

/// What a person reads of a value: short, and in the words of JSON.
fn found(value: Option<&Value>) -> String {
    match value {
        None => "is missing".to_owned(),
        Some(Value::Object(_)) => "is an object".to_owned(),
        Some(Value::Array(_)) => "is a list".to_owned(),
        Some(value) => {
            let text = plain(value);
            let short: String = text.chars().take(MAX_SHOWN).collect();
            format!("is `{short}{}`", if short.len() < text.len() { "…" } else { "" })
        }
    }
}

/// Characters of a value that an error repeats.
const MAX_SHOWN: usize = 60;

/// The instant of a row without a `date` header.
fn fixed_now() -> Instant {
    DateTime::<Utc>::from_timestamp(1_796_040_000, 0).unwrap_or_default()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
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
