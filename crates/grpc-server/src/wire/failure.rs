//! A report of a failed call. It must not fail itself (DESIGN §5): what cannot be used is dropped, cut or clamped, each
//! with a warning that names the field.

use agrajag_proto::v1::{self, WarningCode};
use chrono::TimeDelta;
use health_model::failure::Cause;
use health_model::{Failure, Instant};

use super::caller::known;
use super::fields::{Warnings, given};
use super::{time, words};

/// Bytes of a body or message that rules see (DESIGN §6).
pub(crate) const MATCHED_BODY: usize = checker::limits::MAX_MATCHED_BYTES;

const MAX_HEADERS: usize = 128;
const MAX_CAUSES: usize = checker::limits::MAX_CAUSES;
const MAX_HEADER_VALUE: usize = 8 << 10;
const MAX_CAUSE: usize = 4 << 10;
const MAX_STDERR: usize = 4 << 10;
const MAX_WORD: usize = 256;
const MAX_NAME: usize = 1 << 10;

/// How old a report may be; and how long a call may have taken.
const MAX_AGE: TimeDelta = TimeDelta::hours(24);

/// The failure; an absent one is an empty one.
pub(crate) fn failure(wire: Option<v1::Failure>, now: Instant, warnings: &mut Warnings) -> Failure {
    let Some(wire) = wire else { return Failure::default() };
    let headers = headers(wire.headers, warnings);
    let content_type = given(short(wire.content_type, "content_type", MAX_NAME, warnings))
        .or_else(|| headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.clone()));
    Failure {
        dispatch_code: word(wire.dispatch_code, words::dispatch_code, "dispatch_code", warnings),
        http_status: in_range(wire.http_status, 100..=999, "http_status", warnings)
            .and_then(|it| u16::try_from(it).ok()),
        headers,
        content_type,
        exception_type: given(short(wire.exception_type, "exception_type", MAX_NAME, warnings)),
        causes: causes(wire.causes, warnings),
        kind: word(wire.kind, words::failure_kind, "kind", warnings),
        error_code: given(short(wire.error_code, "error_code", MAX_WORD, warnings)),
        json_rpc_code: wire.json_rpc_code,
        grpc_status: in_range(wire.grpc_status, 0..=16, "grpc_status", warnings)
            .and_then(|it| health_model::failure::GRPC_STATUSES.get(usize::try_from(it).ok()?))
            .map(|it| (*it).to_owned()),
        sql_state: sql_state(wire.sql_state, warnings),
        is_error: wire.is_error,
        schema_violation: wire.schema_violation,
        not_found_of: word(wire.not_found_of, words::not_found_of, "not_found_of", warnings),
        phase: word(wire.phase, words::phase, "phase", warnings),
        syscall: given(short(wire.syscall, "syscall", MAX_WORD, warnings)),
        exit_code: wire.exit_code,
        stderr_tail: given(tail(wire.stderr_tail, warnings)),
        message: short(wire.message, "message", MATCHED_BODY, warnings),
        body: short(wire.body, "body", MATCHED_BODY, warnings),
        target_host: given(short(wire.target_host, "target_host", MAX_NAME, warnings)),
        method: given(short(wire.method, "method", MAX_WORD, warnings)),
        operation: given(short(wire.operation, "operation", MAX_NAME, warnings)),
        credential: word(wire.credential, words::credential, "credential", warnings),
        idempotent: wire.idempotent,
        read_only: wire.read_only,
        may_have_run: wire.may_have_run,
        attempt: wire.attempt,
        elapsed: wire.elapsed.map(|it| elapsed(&it, "failure.elapsed", warnings)),
        occurred_at: wire.occurred_at.map(|it| occurred_at(&it, "failure.occurred_at", now, warnings)),
    }
}

fn word<T>(
    word: i32,
    to_model: impl FnOnce(i32) -> Option<T>,
    field: &str,
    warnings: &mut Warnings,
) -> Option<T> {
    known(word, to_model, || format!("failure.{field}"), warnings)
}

/// How long a call took: 0 to 24 hours.
pub(crate) fn elapsed(wire: &prost_types::Duration, field: &str, warnings: &mut Warnings) -> TimeDelta {
    let said = time::delta(wire);
    let taken = said.unwrap_or(if wire.seconds > 0 { MAX_AGE } else { TimeDelta::zero() });
    let clamped = taken.clamp(TimeDelta::zero(), MAX_AGE);
    if said != Some(clamped) {
        warnings.push(
            WarningCode::Clamped,
            field,
            "is outside 0 to 24 hours and was moved to the nearer end",
        );
    }
    clamped
}

/// When it happened: not later than now, not earlier than 24 hours ago.
pub(crate) fn occurred_at(
    wire: &prost_types::Timestamp,
    field: &str,
    now: Instant,
    warnings: &mut Warnings,
) -> Instant {
    let earliest = now.checked_sub_signed(MAX_AGE).unwrap_or(Instant::MIN_UTC);
    let Some(at) = time::instant(wire) else {
        warnings.push(WarningCode::Clamped, field, "is no time of the calendar; the time of arrival counts");
        return now;
    };
    if at > now {
        warnings.push(
            WarningCode::Clamped,
            field,
            "is later than the server's clock; the time of arrival counts",
        );
        return now;
    }
    if at < earliest {
        warnings.push(WarningCode::Clamped, field, "is more than 24 hours ago; 24 hours ago counts");
        return earliest;
    }
    at
}

/// The first `max` bytes, without half a word or half a secret at their end: what is cut here is masked later.
pub(crate) fn cut(text: &mut String, max: usize) -> bool {
    if text.len() <= max {
        return false;
    }
    let end = checker::redact::beginning(text, max).len();
    text.truncate(end);
    text.shrink_to_fit();
    true
}

fn short(mut text: String, field: &str, max: usize, warnings: &mut Warnings) -> String {
    let length = text.len();
    if cut(&mut text, max) {
        let message = format!("has {length} bytes; the first {max} are looked at");
        warnings.push(WarningCode::Cut, format!("failure.{field}"), message);
    }
    text
}

fn tail(text: String, warnings: &mut Warnings) -> String {
    if text.len() <= MAX_STDERR {
        return text;
    }
    let message = format!("has {} bytes; the last {MAX_STDERR} are looked at", text.len());
    warnings.push(WarningCode::Cut, "failure.stderr_tail", message);
    checker::redact::end(&text, MAX_STDERR).to_owned()
}

fn headers(wire: Vec<v1::Header>, warnings: &mut Warnings) -> Vec<(String, String)> {
    let n = wire.len();
    if n > MAX_HEADERS {
        let message = format!("{n} headers came; the first {MAX_HEADERS} are looked at");
        warnings.push(WarningCode::Dropped, "failure.headers", message);
    }
    let mut headers = Vec::with_capacity(n.min(MAX_HEADERS));
    for (at, header) in wire.into_iter().take(MAX_HEADERS).enumerate() {
        // The same names that HTTP allows, lower-cased.
        let Ok(name) = http::HeaderName::from_bytes(header.name.trim().as_bytes()) else {
            let message = "is no header name that HTTP allows; the header was left out";
            warnings.push(WarningCode::Dropped, format!("failure.headers[{at}].name"), message);
            continue;
        };
        let mut value = header.value;
        if cut(&mut value, MAX_HEADER_VALUE) {
            let message = format!("is longer than {MAX_HEADER_VALUE} bytes and was cut");
            warnings.push(WarningCode::Cut, format!("failure.headers[{at}].value"), message);
        }
        headers.push((name.as_str().to_owned(), value));
    }
    headers
}

fn causes(wire: Vec<v1::Cause>, warnings: &mut Warnings) -> Vec<Cause> {
    let n = wire.len();
    if n > MAX_CAUSES {
        let message = format!("{n} causes came; the first {MAX_CAUSES} are looked at");
        warnings.push(WarningCode::Dropped, "failure.causes", message);
    }
    wire.into_iter()
        .take(MAX_CAUSES)
        .map(|mut it| {
            cut(&mut it.r#type, MAX_NAME);
            cut(&mut it.message, MAX_CAUSE);
            cut(&mut it.code, MAX_WORD);
            Cause { exception_type: given(it.r#type), message: it.message, code: given(it.code) }
        })
        .collect()
}

fn in_range(
    value: Option<i32>,
    range: std::ops::RangeInclusive<i32>,
    field: &str,
    warnings: &mut Warnings,
) -> Option<i32> {
    let value = value?;
    if range.contains(&value) {
        return Some(value);
    }
    let message = format!("is {value}, outside {} to {}; it was left out", range.start(), range.end());
    warnings.push(WarningCode::Dropped, format!("failure.{field}"), message);
    None
}

fn sql_state(text: String, warnings: &mut Warnings) -> Option<String> {
    let text = given(text)?;
    if text.len() == 5 && text.bytes().all(|it| it.is_ascii_alphanumeric()) {
        return Some(text.to_ascii_uppercase());
    }
    warnings.push(
        WarningCode::Dropped,
        "failure.sql_state",
        "is not five letters and digits; it was left out",
    );
    None
}

#[cfg(test)]
mod tests;
