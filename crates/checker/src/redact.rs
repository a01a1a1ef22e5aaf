//! Secrets masked and text cut, before a failure is stored, logged or shown to a model (DESIGN §9).
//!
//! One pass over the text, in time linear to its length. Owns what a secret looks like: values behind telling names
//! (`api_key=…`, `"password": "…"`, `Authorization: …`, `Cookie: …`), tokens with a known beginning, JSON web tokens,
//! private keys, credentials in URLs, and e-mail addresses. Masking twice changes nothing.

mod secrets;

use health_model::Failure;

use crate::limits;
use secrets::Scanner;

/// Bytes of a failure that a job keeps (the table of constants).
pub const DETAIL_LIMIT: usize = 2_048;

/// What stands for a secret.
pub const SECRET: &str = "[secret]";

/// What stands for an e-mail address.
pub const EMAIL: &str = "[e-mail]";

/// The text with its secrets masked.
#[must_use]
pub fn mask(text: &str) -> String {
    Scanner::new(text).run()
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
    let short = limits::head(text, limits::MAX_SHOWN_BYTES * 4);
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
            text.push_str(limits::head(value, limits::MAX_MATCHED_BYTES));
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
        line("cause", Some(&format!("{kind} {}", limits::head(&cause.message, limits::MAX_MATCHED_BYTES))));
    }
    line("body", Some(&failure.body));
    line("stderr", failure.stderr_tail.as_deref());
    cut(mask(&text).trim_end(), DETAIL_LIMIT)
}

#[cfg(test)]
mod tests;
