//! Secrets masked and text cut, before a failure is stored, logged or shown to a model (DESIGN §9).
//!
//! One pass over the text, in time linear to its length. Owns what a secret looks like: values behind telling names
//! (`api_key=…`, `"password": "…"`, `Authorization: …`, `Cookie: …`), tokens with a known beginning, JSON web tokens,
//! private keys, credentials in URLs, and e-mail addresses. Masking twice changes nothing.
//!
//! What is cut before it is masked is cut by [`beginning`] or [`end`]: no half of a secret is left that nothing tells.

mod known;
mod secrets;
mod value;

use std::ops::Range;

use health_model::Failure;

use crate::limits;
use secrets::Part;

/// Bytes on either side of a cut, or of a part, in which secrets are looked for.
const CUT_WINDOW: usize = 4_096;

/// A longer run of letters is no word; it is cut where the limit is.
const MAX_WORD: usize = 256;

/// Bytes of a failure that a job keeps (the table of constants).
pub const DETAIL_LIMIT: usize = 2_048;

/// What stands for a secret.
pub const SECRET: &str = "[secret]";

/// What stands for an e-mail address.
pub const EMAIL: &str = "[e-mail]";

/// The text with its secrets masked.
#[must_use]
pub fn mask(text: &str) -> String {
    replaced(text, 0..text.len(), &secrets::find(text))
}

/// The masked form of `part`, a slice of `text`: what is secret shows in the text around it.
#[must_use]
pub fn mask_part(text: &str, part: &str) -> String {
    let from = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let range = from..from.saturating_add(part.len());
    if text.get(range.clone()) != Some(part) {
        // It is from elsewhere.
        return mask(part);
    }
    let parts = between(text, range.start.saturating_sub(CUT_WINDOW), range.end.saturating_add(CUT_WINDOW));
    replaced(text, range, &parts)
}

/// Whether the value of this name is secret, such as of `client_secret` or `Set-Cookie`.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    known::telling(name).is_some()
}

/// A range of a text with marks instead of its secrets; one that begins or ends outside the range has its mark too.
fn replaced(text: &str, range: Range<usize>, parts: &[Part]) -> String {
    let mut masked = String::with_capacity(range.len());
    let mut done = range.start;
    for part in parts.iter().filter(|it| it.to > range.start && it.from < range.end) {
        masked.push_str(text.get(done..part.from).unwrap_or_default());
        masked.push_str(part.by);
        done = part.to;
    }
    masked.push_str(text.get(done..range.end).unwrap_or_default());
    masked
}

/// The beginning of a text that is not masked yet: at most `limit` bytes, without half a word or half a secret at its
/// end.
#[must_use]
pub fn beginning(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut end = text.floor_char_boundary(limit);
    let (before, after) = text.split_at_checked(end).unwrap_or_default();
    if !after.starts_with(ends_word) {
        let n = before.bytes().rev().take(MAX_WORD + 1).take_while(|it| !ends_word(char::from(*it))).count();
        end -= if n > MAX_WORD { 0 } else { n };
    }
    for part in around(text, limit) {
        if part.from < end && end < part.to {
            end = part.from;
        }
    }
    text.get(..end).unwrap_or_default()
}

/// The end of a text that is not masked yet: at most `limit` bytes, without half a word or half a secret at its
/// beginning, and without a secret whose name is not there.
#[must_use]
pub fn end(text: &str, limit: usize) -> &str {
    let Some(from) = text.len().checked_sub(limit).filter(|it| *it > 0) else { return text };
    let mut from = text.ceil_char_boundary(from);
    let (before, after) = text.split_at_checked(from).unwrap_or_default();
    if !before.ends_with(ends_word) {
        let n = after.bytes().take(MAX_WORD + 1).take_while(|it| !ends_word(char::from(*it))).count();
        from += if n > MAX_WORD { 0 } else { n };
    }
    for part in around(text, text.len() - limit) {
        if part.context < from && from < part.to {
            from = part.to;
        }
    }
    text.get(from..).unwrap_or_default()
}

/// The secrets around a cut at `at`, in their order.
fn around(text: &str, at: usize) -> Vec<Part> {
    between(text, at.saturating_sub(CUT_WINDOW), at.saturating_add(CUT_WINDOW))
}

/// The secrets that begin behind `from` and before `to`.
fn between(text: &str, from: usize, to: usize) -> Vec<Part> {
    let from = text.ceil_char_boundary(from);
    let to = text.floor_char_boundary(to);
    let mut parts = secrets::find(text.get(from..to).unwrap_or_default());
    for part in &mut parts {
        part.context += from;
        part.from += from;
        part.to += from;
    }
    parts
}

/// Whether words are separated here: no id, address or token goes on.
const fn ends_word(it: char) -> bool {
    it.is_ascii_whitespace()
        || matches!(it, '"' | '\'' | '`' | ',' | ';' | '&' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}')
}

/// The text cut to `limit` bytes: the first three quarters and the last one, between characters, with a mark that says
/// how much is missing. The end of an error often names its cause.
#[must_use]
pub fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mark = format!("\n[{} bytes cut]\n", text.len() - limit);
    // The mark's own length is cut too; a few digits more do not matter, the limit holds.
    let room = limit.saturating_sub(mark.len() + 4);
    let head = limits::head(text, room / 4 * 3);
    let tail = limits::tail(text, room.saturating_sub(room / 4 * 3));
    let missing = text.len() - head.len() - tail.len();
    let cut = format!("{head}\n[{missing} bytes cut]\n{tail}");
    if cut.len() <= limit { cut } else { limits::head(text, limit).to_owned() }
}

/// A value from outside, masked and cut for one line of an explanation.
#[must_use]
pub fn excerpt(text: &str) -> String {
    let short = beginning(text, limits::MAX_SHOWN_BYTES * 4);
    let masked = mask(short).replace(['\n', '\r'], " ");
    limits::head(&masked, limits::MAX_SHOWN_BYTES).to_owned()
}

/// A failure as a job keeps it: its fields on lines of their own, masked, cut to [`DETAIL_LIMIT`].
#[must_use]
pub fn detail(failure: &Failure) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: Option<&str>| {
        if let Some(value) = value.filter(|it| !it.trim().is_empty()) {
            text.push_str(name);
            text.push_str(": ");
            text.push_str(beginning(value, limits::MAX_MATCHED_BYTES));
            text.push('\n');
        }
    };
    line("dispatch code", failure.dispatch_code.map(|it| it.as_str()));
    line("status", failure.http_status.map(|it| it.to_string()).as_deref());
    line("type", failure.exception_type.as_deref());
    line("kind", failure.kind.map(|it| it.as_str()));
    line("code", failure.error_code.as_deref());
    line("json-rpc code", failure.json_rpc_code.map(|it| it.to_string()).as_deref());
    line("grpc status", failure.grpc_status.as_deref());
    line("sqlstate", failure.sql_state.as_deref());
    line("phase", failure.phase.map(|it| it.as_str()));
    line("exit code", failure.exit_code.map(|it| it.to_string()).as_deref());
    line("operation", failure.operation.as_deref());
    line("message", Some(&failure.message));
    for cause in failure.causes.iter().take(limits::MAX_CAUSES) {
        let kind = cause.exception_type.as_deref().unwrap_or_default();
        line("cause", Some(&format!("{kind} {}", beginning(&cause.message, limits::MAX_MATCHED_BYTES))));
    }
    line("body", Some(&failure.body));
    line("stderr", failure.stderr_tail.as_deref());
    cut(mask(&text).trim_end(), DETAIL_LIMIT)
}

#[cfg(test)]
mod tests;
