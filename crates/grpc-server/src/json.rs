//! Canonical proto3 JSON by reflection over the descriptor that gRPC serves too: one contract, two spellings.
//!
//! A request is read in two steps: [`lenient`] walks the JSON beside the descriptor, so that unknown fields are named by
//! their path and unknown enum words of a report become unspecified with a warning (DESIGN §5); then the message is
//! built.

use std::sync::OnceLock;

use agrajag_proto::FILE_DESCRIPTOR_SET;
use agrajag_proto::v1::{Warning, WarningCode};
use prost_reflect::{
    DescriptorPool, DynamicMessage, EnumDescriptor, Kind, MessageDescriptor, SerializeOptions,
};
use serde_json::Value;

use crate::error::Error;
use crate::wire::fields::Warnings;

/// Well-known types have a JSON form of their own, which the walk leaves to the parser.
const WELL_KNOWN: &str = "google.protobuf.";

/// Reads a request. `T` is the generated type of the message `agrajag.v1.NAME`.
pub(crate) fn read<T: prost::Message + Default>(name: &str, body: &[u8]) -> Result<(T, Vec<Warning>), Error> {
    let descriptor = message(name)?;
    let mut json: Value = serde_json::from_slice(body)
        .map_err(|error| Error::Malformed { message: format!("the body is no JSON: {error}") })?;
    let mut warnings = Warnings::default();
    lenient(&descriptor, &mut json, "", &mut warnings)?;
    // The parser's own error names no field: the walk has already found those that can be named.
    let message = DynamicMessage::deserialize(descriptor, json)
        .map_err(|error| Error::Malformed { message: format!("the body is no {name}: {error}") })?;
    let message = message.transcode_to().map_err(|_| Error::Internal)?;
    Ok((message, warnings.into_vec()))
}

/// Writes a response, 64-bit numbers as texts, fields with their default left out.
pub(crate) fn write<T: prost::Message>(name: &str, response: &T) -> Result<Vec<u8>, Error> {
    let mut dynamic = DynamicMessage::new(message(name)?);
    dynamic.transcode_from(response).map_err(|_| Error::Internal)?;
    let mut body = Vec::with_capacity(512);
    dynamic
        .serialize_with_options(&mut serde_json::Serializer::new(&mut body), &SerializeOptions::new())
        .map_err(|_| Error::Internal)?;
    Ok(body)
}

fn message(name: &str) -> Result<MessageDescriptor, Error> {
    static POOL: OnceLock<Option<DescriptorPool>> = OnceLock::new();
    POOL.get_or_init(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).ok())
        .as_ref()
        .and_then(|it| it.get_message_by_name(&format!("agrajag.v1.{name}")))
        .ok_or(Error::Internal)
}

/// Checks names and kinds, and replaces enum words that are not known.
fn lenient(
    descriptor: &MessageDescriptor,
    json: &mut Value,
    path: &str,
    warnings: &mut Warnings,
) -> Result<(), Error> {
    let Value::Object(fields) = json else {
        return Err(malformed(path, &format!("is {}; an object is wanted", kind_of(json))));
    };
    for (name, value) in fields {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let field = descriptor.get_field_by_json_name(name).or_else(|| descriptor.get_field_by_name(name));
        let Some(field) = field else {
            let known: Vec<String> = descriptor.fields().map(|it| it.json_name().to_owned()).collect();
            return Err(malformed(
                &path,
                &format!("is no field of this message; it has {}", known.join(", ")),
            ));
        };
        if value.is_null() {
            continue;
        }
        if !field.is_list() {
            one(&field.kind(), value, &path, warnings)?;
            continue;
        }
        let Value::Array(items) = value else {
            return Err(malformed(&path, &format!("is {}; a list is wanted", kind_of(value))));
        };
        for (at, item) in items.iter_mut().enumerate() {
            one(&field.kind(), item, &format!("{path}[{at}]"), warnings)?;
        }
    }
    Ok(())
}

fn one(kind: &Kind, value: &mut Value, path: &str, warnings: &mut Warnings) -> Result<(), Error> {
    match kind {
        Kind::Message(inner) if inner.full_name().starts_with(WELL_KNOWN) => {
            let wanted = if inner.name() == "Duration" { "\"1.5s\"" } else { "\"2026-11-30T14:05:00Z\"" };
            let message = format!("is {}; a text such as {wanted} is wanted", shown(value));
            return if is_well_known(inner.name(), value) { Ok(()) } else { Err(malformed(path, &message)) };
        }
        Kind::Message(inner) => lenient(inner, value, path, warnings)?,
        Kind::Enum(words) => {
            let known = match &*value {
                Value::String(word) => words.get_value_by_name(word).is_some(),
                Value::Number(number) => number.as_i64().is_some_and(|it| i32::try_from(it).is_ok()),
                _ => return Err(malformed(path, &format!("is {}; a word is wanted", kind_of(value)))),
            };
            // People write `MCP` for `TOOL_KIND_MCP`.
            let spelled = value.as_str().map(|it| format!("{}{}", prefix(words), it.to_ascii_uppercase()));
            if let Some(word) = spelled.filter(|it| !known && words.get_value_by_name(it).is_some()) {
                *value = Value::from(word);
            } else if !known {
                let all: Vec<String> = words.values().skip(1).map(|it| it.name().to_owned()).collect();
                let message = format!(
                    "{} is not known to this server and is read as unspecified; it knows {}",
                    shown(value),
                    all.join(", ")
                );
                warnings.push(WarningCode::UnknownValue, path, message);
                *value = Value::from(0);
            }
        }
        Kind::String if !value.is_string() => {
            return Err(malformed(path, &format!("is {}; a text is wanted", kind_of(value))));
        }
        Kind::Bool if !value.is_boolean() => {
            return Err(malformed(path, &format!("is {}; true or false is wanted", kind_of(value))));
        }
        Kind::Int32 | Kind::Int64 | Kind::Uint32 | Kind::Uint64 if number(value).is_none() => {
            return Err(malformed(path, &format!("is {}; a number is wanted", shown(value))));
        }
        Kind::Uint32 | Kind::Uint64 if number(value).is_some_and(|it| it < 0.0) => {
            return Err(malformed(path, &format!("is {}; 0 or more is wanted", shown(value))));
        }
        Kind::Int32 => {
            // A number that no field can hold is one out of range, which a report does not fail for.
            if let Some(number) = value.as_f64().filter(|it| it.fract() == 0.0) {
                *value = Value::from(number.clamp(f64::from(i32::MIN), f64::from(i32::MAX)) as i32);
            }
        }
        _ => {}
    }
    Ok(())
}

/// What every word of an enum begins with: the name of its zero without `UNSPECIFIED`.
fn prefix(words: &EnumDescriptor) -> String {
    words.values().next().map(|it| it.name().trim_end_matches("UNSPECIFIED").to_owned()).unwrap_or_default()
}

/// Whether a text is one of the well-known type: an RFC 3339 time, or seconds as `1.5s`.
fn is_well_known(name: &str, value: &Value) -> bool {
    let Value::String(text) = value else { return false };
    match name {
        "Timestamp" => chrono::DateTime::parse_from_rfc3339(text).is_ok(),
        "Duration" => {
            let number = text.strip_suffix('s').unwrap_or_default();
            let digits = number.strip_prefix('-').unwrap_or(number);
            let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
            let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
            is_number(whole) && whole.len() <= 12 && is_number(part) && part.len() <= 9
        }
        _ => true,
    }
}

/// A number, also one that is written as a text, as 64-bit numbers are.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(it) => it.as_f64(),
        Value::String(it) => it.parse::<i128>().ok().map(|it| it as f64),
        _ => None,
    }
}

/// A value in an error: what it is, and short ones themselves.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{}`", checker::redact::excerpt(text)),
        Value::Number(number) => format!("`{number}`"),
        other => kind_of(other).to_owned(),
    }
}

fn malformed(path: &str, message: &str) -> Error {
    let field = if path.is_empty() { "the body".to_owned() } else { format!("`{path}`") };
    Error::Malformed { message: format!("{field} {message}") }
}

const fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use agrajag_proto::v1::{self, CheckRequest, CheckResponse};

    use super::*;

    fn check(json: &str) -> Result<(CheckRequest, Vec<Warning>), String> {
        read("CheckRequest", json.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn both_spellings_of_field_names_are_read() {
        let (request, warnings) = check(
            r#"{"caller": {"tenant_id": "acme", "userId": "alice"},
                "tool": {"name": "jira_search", "kind": "TOOL_KIND_REST"},
                "failure": {"httpStatus": 403, "headers": [{"name": "a", "value": "b"}], "elapsed": "1.5s",
                            "occurred_at": "2026-11-30T14:05:00Z", "json_rpc_code": -32602}}"#,
        )
        .unwrap();
        assert!(warnings.is_empty());
        let (caller, failure) = (request.caller.unwrap(), request.failure.unwrap());
        assert_eq!((caller.tenant_id.as_str(), caller.user_id.as_str()), ("acme", "alice"));
        assert_eq!(request.tool.unwrap().kind(), v1::ToolKind::Rest);
        assert_eq!((failure.http_status, failure.json_rpc_code), (Some(403), Some(-32_602)));
        assert_eq!(failure.elapsed.unwrap().nanos, 500_000_000);
    }

    #[test]
    fn unknown_fields_and_wrong_kinds_are_named_by_their_path() {
        for (json, expected) in [
            (r#"{"caler": {}}"#, "`caler` is no field of this message; it has caller, tool,"),
            (
                r#"{"failure": {"headers": [{"name": "a"}, {"nam": "b"}]}}"#,
                "`failure.headers[1].nam` is no field",
            ),
            (r#"{"failure": {"message": 1}}"#, "`failure.message` is a number; a text is wanted"),
            (r#"{"failure": {"headers": {}}}"#, "`failure.headers` is an object; a list is wanted"),
            (r#"{"failure": {"elapsed": 1}}"#, "`failure.elapsed` is `1`; a text such as \"1.5s\""),
            (r#"{"failure": {"elapsed": "long"}}"#, "`failure.elapsed` is `long`; a text such as \"1.5s\""),
            (r#"{"failure": {"attempt": -1}}"#, "`failure.attempt` is `-1`; 0 or more is wanted"),
            (r#"{"failure": {"jsonRpcCode": "one"}}"#, "`failure.jsonRpcCode` is `one`; a number is wanted"),
            (r#"{"failure": {"isError": "yes"}}"#, "`failure.isError` is a text; true or false is wanted"),
            (r#"{"tool": "jira"}"#, "`tool` is a text; an object is wanted"),
            ("[]", "the body is a list; an object is wanted"),
            ("{", "the body is no JSON: "),
            (
                r#"{"failure": {"occurredAt": "yesterday"}}"#,
                "`failure.occurredAt` is `yesterday`; a text such as",
            ),
        ] {
            let error = check(json).unwrap_err();
            assert!(error.starts_with(expected), "{json}: {error}");
        }
    }

    /// DESIGN §5: in a report unknown enum values become UNSPECIFIED, with a warning.
    #[test]
    fn unknown_words_of_a_report_are_unspecified_with_a_warning() {
        let (request, warnings) =
            check(r#"{"tool": {"name": "a", "kind": "TOOL_KIND_QUANTUM"}, "failure": {"kind": 1e30}}"#)
                .unwrap();
        assert_eq!(request.tool.unwrap().kind, 0);
        let fields: Vec<_> = warnings.iter().map(|it| (it.code(), it.field.as_str())).collect();
        assert_eq!(
            fields,
            [(WarningCode::UnknownValue, "failure.kind"), (WarningCode::UnknownValue, "tool.kind")]
        );
    }

    #[test]
    fn words_may_be_written_without_their_prefix() {
        let json =
            r#"{"tool": {"name": "a", "kind": "mcp", "target": "ARGUMENT"}, "failure": {"kind": "DNS"}}"#;
        let (request, warnings) = check(json).unwrap();
        let tool = request.tool.unwrap();
        assert_eq!((tool.kind(), tool.target()), (v1::ToolKind::Mcp, v1::ToolTarget::Argument));
        assert_eq!(request.failure.unwrap().kind(), v1::FailureKind::Dns);
        assert!(warnings.is_empty());
    }

    #[test]
    fn numbers_out_of_range_do_not_fail_a_report() {
        let (request, _) = check(r#"{"failure": {"httpStatus": 99999999999, "exitCode": -1e20}}"#).unwrap();
        let failure = request.failure.unwrap();
        assert_eq!((failure.http_status, failure.exit_code), (Some(i32::MAX), Some(i32::MIN)));
    }

    #[test]
    fn answers_are_canonical_json() {
        let response = CheckResponse {
            verdict: Some(v1::Verdict {
                classification: v1::Classification::UserPermission.into(),
                retry_at: Some(prost_types::Timestamp { seconds: 0, nanos: 0 }),
                cooldown: Some(v1::Cooldown { hits: 3, ..v1::Cooldown::default() }),
                ..v1::Verdict::default()
            }),
            revision: "e:1".to_owned(),
            ..CheckResponse::default()
        };
        let text = String::from_utf8(write("CheckResponse", &response).unwrap()).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["verdict"]["classification"], "CLASSIFICATION_USER_PERMISSION");
        assert_eq!(json["verdict"]["retryAt"], "1970-01-01T00:00:00Z");
        assert_eq!(json["verdict"]["cooldown"]["hits"], "3");
        assert_eq!(json["revision"], "e:1");
    }
}
