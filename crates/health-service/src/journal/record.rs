//! How an entry of the journal is written down: versioned JSON of at most 8 KiB, without secrets and without persons.
//!
//! Holds every field of a failure that a rule can ask for. What only times or counts one call (attempt, duration, the
//! reporter's clock) is left out, as are users and sessions: where a text repeats the caller's own id, it is replaced.
//! Text is masked before it is cut, so that no half of a secret is left; a text that is longer than what rules see is
//! cut to that first, where no secret, no id and no word stands.

use std::borrow::Cow;

use checker::limits::{MAX_CAUSES, MAX_MATCHED_BYTES};
use checker::redact;
use health_model::failure::Cause;
use health_model::vocabulary::{
    Classification, CredentialOwner, DispatchCode, FailureKind, NotFoundOf, Phase, Scope, Target, ToolKind,
};
use health_model::{Caller, Failure, Tool, Verdict};
use ports::journal::MAX_FAILURE_BYTES;
use serde::{Deserialize, Serialize};

use super::Noted;

/// The format that is written. Readers take this one and older ones.
const FORMAT: u32 = 1;

/// Bytes of the body, and of each message, tried until the entry fits. 0 leaves names and numbers.
const LIMITS: [usize; 9] = [4_096, 2_048, 1_024, 512, 256, 128, 64, 32, 0];

/// Bytes of a name, a code, a header's value.
const NAME_LIMIT: usize = 256;

/// Response headers kept.
const MAX_HEADERS: usize = 64;

/// An id of fewer bytes is not looked for in texts: it would be found in every number.
const MIN_ID_BYTES: usize = 3;

/// An entry of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    format: u32,
    tool: RecordedTool,
    failure: RecordedFailure,
    /// What was answered.
    pub(crate) verdict: RecordedVerdict,
    /// Something was cut: a rule may see less than it saw then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) is_cut: bool,
}

/// What was answered to the failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordedVerdict {
    pub(crate) classification: Classification,
    pub(crate) rule_id: String,
    pub(crate) signature: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedTool {
    name: String,
    #[serde(default, skip_serializing_if = "is_default")]
    kind: Option<ToolKind>,
    #[serde(default, skip_serializing_if = "is_default")]
    home_scope: Option<Scope>,
    #[serde(default, skip_serializing_if = "is_default")]
    provider: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    target: Option<Target>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RecordedFailure {
    #[serde(skip_serializing_if = "is_default")]
    dispatch_code: Option<DispatchCode>,
    #[serde(skip_serializing_if = "is_default")]
    http_status: Option<u16>,
    #[serde(skip_serializing_if = "is_default")]
    headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "is_default")]
    content_type: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    exception_type: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    causes: Vec<RecordedCause>,
    #[serde(skip_serializing_if = "is_default")]
    kind: Option<FailureKind>,
    #[serde(skip_serializing_if = "is_default")]
    error_code: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    json_rpc_code: Option<i64>,
    #[serde(skip_serializing_if = "is_default")]
    grpc_status: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    sql_state: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "is_default")]
    schema_violation: bool,
    #[serde(skip_serializing_if = "is_default")]
    not_found_of: Option<NotFoundOf>,
    #[serde(skip_serializing_if = "is_default")]
    phase: Option<Phase>,
    #[serde(skip_serializing_if = "is_default")]
    syscall: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "is_default")]
    stderr_tail: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    message: String,
    #[serde(skip_serializing_if = "is_default")]
    body: String,
    #[serde(skip_serializing_if = "is_default")]
    target_host: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    method: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    operation: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    credential: Option<CredentialOwner>,
    #[serde(skip_serializing_if = "is_default")]
    idempotent: Option<bool>,
    #[serde(skip_serializing_if = "is_default")]
    read_only: Option<bool>,
    #[serde(skip_serializing_if = "is_default")]
    may_have_run: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RecordedCause {
    #[serde(skip_serializing_if = "is_default")]
    exception_type: Option<String>,
    #[serde(skip_serializing_if = "is_default")]
    message: String,
    #[serde(skip_serializing_if = "is_default")]
    code: Option<String>,
}

/// Why an entry cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    /// A newer program wrote it.
    #[error("format {found} is newer than this program's {FORMAT}")]
    TooNew {
        /// Its format.
        found: u32,
    },
    /// It is no entry.
    #[error("not an entry of the journal")]
    Malformed(#[source] serde_json::Error),
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl RecordedVerdict {
    pub(crate) fn of(verdict: &Verdict) -> Self {
        Self {
            classification: verdict.classification,
            rule_id: verdict.rule_id.clone(),
            signature: verdict.signature.clone(),
        }
    }
}

/// The bytes of a failure's longer texts.
pub(crate) fn weight(failure: &Failure) -> usize {
    let headers: usize = failure.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let causes: usize = failure.causes.iter().map(|it| it.message.len()).sum();
    let stderr = failure.stderr_tail.as_ref().map_or(0, String::len);
    failure.message.len() + failure.body.len() + stderr + headers + causes
}

/// The entry of a failure: at most [`MAX_FAILURE_BYTES`]. `None` = the tool's names alone are longer.
pub(crate) fn write(noted: &Noted) -> Option<String> {
    let (whole, is_longer) = masked(&noted.failure, &noted.caller);
    LIMITS.into_iter().find_map(|limit| {
        let (failure, is_cut) = cut(&whole, limit);
        let record = Record {
            format: FORMAT,
            tool: tool(&noted.tool),
            failure,
            verdict: noted.verdict.clone(),
            is_cut: is_longer || is_cut,
        };
        serde_json::to_string(&record).ok().filter(|it| it.len() <= MAX_FAILURE_BYTES)
    })
}

/// Reads an entry.
pub(crate) fn read(content: &str) -> Result<Record, RecordError> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let Format { format } = serde_json::from_str(content).map_err(RecordError::Malformed)?;
    if format > FORMAT {
        return Err(RecordError::TooNew { found: format });
    }
    serde_json::from_str(content).map_err(RecordError::Malformed)
}

impl Record {
    /// The tool and the failure, as far as they were kept.
    pub(crate) fn into_parts(self) -> (Tool, Failure) {
        let RecordedTool { name, kind, home_scope, provider, target } = self.tool;
        let it = self.failure;
        let cause = |it: RecordedCause| Cause {
            exception_type: it.exception_type,
            message: it.message,
            code: it.code,
        };
        let failure = Failure {
            dispatch_code: it.dispatch_code,
            http_status: it.http_status,
            headers: it.headers,
            content_type: it.content_type,
            exception_type: it.exception_type,
            causes: it.causes.into_iter().map(cause).collect(),
            kind: it.kind,
            error_code: it.error_code,
            json_rpc_code: it.json_rpc_code,
            grpc_status: it.grpc_status,
            sql_state: it.sql_state,
            is_error: it.is_error,
            schema_violation: it.schema_violation,
            not_found_of: it.not_found_of,
            phase: it.phase,
            syscall: it.syscall,
            exit_code: it.exit_code,
            stderr_tail: it.stderr_tail,
            message: it.message,
            body: it.body,
            target_host: it.target_host,
            method: it.method,
            operation: it.operation,
            credential: it.credential,
            idempotent: it.idempotent,
            read_only: it.read_only,
            may_have_run: it.may_have_run,
            attempt: 0,
            elapsed: None,
            occurred_at: None,
        };
        (Tool { name, kind, declared_home_scope: home_scope, provider, target }, failure)
    }
}

fn tool(it: &Tool) -> RecordedTool {
    RecordedTool {
        name: it.name.clone(),
        kind: it.kind,
        home_scope: it.declared_home_scope,
        provider: it.provider.clone(),
        target: it.target,
    }
}

/// The failure with secrets and the caller's ids masked; and whether it was longer than what rules see.
///
/// A field that is added to [`Failure`] has to be decided upon here: it is stored from then on, or it is not.
fn masked(failure: &Failure, caller: &Caller) -> (RecordedFailure, bool) {
    let Failure {
        dispatch_code,
        http_status,
        headers,
        content_type,
        exception_type,
        causes,
        kind,
        error_code,
        json_rpc_code,
        grpc_status,
        sql_state,
        is_error,
        schema_violation,
        not_found_of,
        phase,
        syscall,
        exit_code,
        stderr_tail,
        message,
        body,
        target_host,
        method,
        operation,
        credential,
        idempotent,
        read_only,
        may_have_run,
        attempt: _,
        elapsed: _,
        occurred_at: _,
    } = failure;
    let mut mask = Masker { caller, is_cut: headers.len() > MAX_HEADERS || causes.len() > MAX_CAUSES };
    let failure = RecordedFailure {
        dispatch_code: *dispatch_code,
        http_status: *http_status,
        headers: headers.iter().take(MAX_HEADERS).map(|(name, value)| mask.header(name, value)).collect(),
        content_type: mask.name(content_type.as_ref()),
        exception_type: mask.name(exception_type.as_ref()),
        causes: causes.iter().take(MAX_CAUSES).map(|it| mask.cause(it)).collect(),
        kind: *kind,
        error_code: mask.name(error_code.as_ref()),
        json_rpc_code: *json_rpc_code,
        grpc_status: mask.name(grpc_status.as_ref()),
        sql_state: mask.name(sql_state.as_ref()),
        is_error: *is_error,
        schema_violation: *schema_violation,
        not_found_of: *not_found_of,
        phase: *phase,
        syscall: mask.name(syscall.as_ref()),
        exit_code: *exit_code,
        stderr_tail: stderr_tail.as_deref().map(|it| mask.end(it)),
        message: mask.beginning(message),
        body: mask.beginning(body),
        target_host: mask.name(target_host.as_ref()),
        method: mask.name(method.as_ref()),
        operation: mask.name(operation.as_ref()),
        credential: *credential,
        idempotent: *idempotent,
        read_only: *read_only,
        may_have_run: *may_have_run,
    };
    (failure, mask.is_cut)
}

/// The failure with its texts cut to `limit`; and whether anything was.
fn cut(whole: &RecordedFailure, limit: usize) -> (RecordedFailure, bool) {
    let mut failure = whole.clone();
    let mut is_cut = false;
    // Fewer headers and causes where there is little room: 64 and 16 of them at the greatest limit.
    let mut shorten = |n: usize, room: usize| {
        is_cut |= n > room;
        n.min(room)
    };
    failure.headers.truncate(shorten(failure.headers.len(), limit / 64));
    failure.causes.truncate(shorten(failure.causes.len(), limit / 64));
    let mut text = |it: &mut String| {
        if it.len() > limit {
            *it = redact::cut(it, limit);
            is_cut = true;
        }
    };
    text(&mut failure.message);
    text(&mut failure.body);
    failure.stderr_tail.iter_mut().for_each(&mut text);
    failure.causes.iter_mut().for_each(|it| text(&mut it.message));
    // Names are short already, and only cut further where everything else was not enough.
    let RecordedFailure { content_type, exception_type, error_code, grpc_status, sql_state, .. } =
        &mut failure;
    [content_type, exception_type, error_code, grpc_status, sql_state]
        .into_iter()
        .flatten()
        .for_each(&mut text);
    let RecordedFailure { syscall, target_host, method, operation, .. } = &mut failure;
    [syscall, target_host, method, operation].into_iter().flatten().for_each(&mut text);
    for cause in &mut failure.causes {
        [&mut cause.exception_type, &mut cause.code].into_iter().flatten().for_each(&mut text);
    }
    failure.headers.iter_mut().for_each(|(name, value)| {
        text(name);
        text(value);
    });
    (failure, is_cut)
}

/// Masks the texts of one failure, and notes whether more was there than is kept.
struct Masker<'a> {
    caller: &'a Caller,
    is_cut: bool,
}

impl Masker<'_> {
    /// What rules see of a text.
    fn beginning(&mut self, text: &str) -> String {
        self.is_cut |= text.len() > MAX_MATCHED_BYTES;
        self.mask(redact::beginning(text, MAX_MATCHED_BYTES))
    }

    fn end(&mut self, text: &str) -> String {
        self.is_cut |= text.len() > MAX_MATCHED_BYTES;
        self.mask(redact::end(text, MAX_MATCHED_BYTES))
    }

    fn short(&mut self, text: &str) -> String {
        self.is_cut |= text.len() > NAME_LIMIT;
        redact::cut(text, NAME_LIMIT)
    }

    fn name(&mut self, name: Option<&String>) -> Option<String> {
        let masked = self.beginning(name?);
        Some(self.short(&masked))
    }

    fn cause(&mut self, it: &Cause) -> RecordedCause {
        RecordedCause {
            exception_type: self.name(it.exception_type.as_ref()),
            message: self.beginning(&it.message),
            code: self.name(it.code.as_ref()),
        }
    }

    /// A header with its value masked: whether a value is secret shows in the name before it.
    fn header(&mut self, name: &str, value: &str) -> (String, String) {
        let name = self.short(name);
        let line = self.beginning(&format!("{name}: {value}"));
        let value = line.strip_prefix(&name).and_then(|it| it.strip_prefix(": ")).unwrap_or(redact::SECRET);
        (name, self.short(value))
    }

    /// The text without secrets and without the caller's own ids.
    fn mask(&self, text: &str) -> String {
        let mut text = redact::mask(text);
        for (id, mark) in [(&self.caller.user_id, "[user]"), (&self.caller.session_id, "[session]")] {
            if let Some(id) = id.as_deref().filter(|it| it.len() >= MIN_ID_BYTES)
                && let Cow::Owned(without) = replace_word(&text, id, mark)
            {
                text = without;
            }
        }
        text
    }
}

/// `text` with `mark` for each `word` that stands alone: no letter or digit touches it.
fn replace_word<'a>(text: &'a str, word: &str, mark: &str) -> Cow<'a, str> {
    let mut without = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices(word) {
        let end = at + word.len();
        let touches = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
        let (Some(before), Some(after)) = (text.get(..at), text.get(end..)) else { continue };
        if touches(before.chars().next_back()) || touches(after.chars().next()) {
            continue;
        }
        without.push_str(text.get(done..at).unwrap_or_default());
        without.push_str(mark);
        done = end;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    without.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(without)
}
