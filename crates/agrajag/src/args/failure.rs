//! What went wrong: the flags behind `agrajag.v1.Failure`.

use std::time::Duration;

use agrajag_proto::v1;
use chrono::{DateTime, Utc};

use super::{read, time};
use crate::error::Error;
use crate::wire::choice;

/// How much of a body or error stream is sent. The server looks at the first 16 KiB of a body and the last 4 KiB of an
/// error stream, and says so when it cuts.
const MAX_TEXT: u64 = 64 << 10;

/// What went wrong. Say what is at hand, as raw as it is.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "The failure: say what is at hand, as raw as it is")]
pub(crate) struct FailureArgs {
    /// What the runtime's dispatcher knows for certain.
    #[arg(long, value_parser = choice::<v1::DispatchCode>(), ignore_case = true)]
    dispatch_code: Option<v1::DispatchCode>,
    /// The HTTP status of the answer.
    #[arg(long, value_name = "CODE")]
    http_status: Option<i32>,
    /// A response header as `NAME: VALUE`; may be repeated.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<v1::Header>,
    /// The type of the body [default: taken from the headers].
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// The outermost exception as the runtime prints it, for example `java.net.ConnectException`.
    #[arg(long, value_name = "NAME")]
    exception_type: Option<String>,
    /// A link of the chain of causes as `TYPE=MESSAGE`, outermost first; may be repeated.
    #[arg(long = "cause", value_name = "TYPE=MESSAGE", value_parser = cause)]
    causes: Vec<v1::Cause>,
    /// The canonical kind, if the runtime can tell.
    #[arg(long, value_parser = choice::<v1::FailureKind>(), ignore_case = true)]
    failure_kind: Option<v1::FailureKind>,
    /// A machine code: `error.code` of a JSON result, an errno name such as `ECONNREFUSED`.
    #[arg(long, value_name = "CODE")]
    error_code: Option<String>,
    /// The code of a JSON-RPC error, for example -32602.
    #[arg(long, value_name = "CODE", allow_negative_numbers = true)]
    json_rpc_code: Option<i64>,
    /// The gRPC status, 0 to 16.
    #[arg(long, value_name = "CODE")]
    grpc_status: Option<i32>,
    /// The SQLSTATE, for example `28P01`.
    #[arg(long, value_name = "CODE")]
    sql_state: Option<String>,
    /// `isError` of an MCP tool result.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    is_error: Option<bool>,
    /// How far the call came.
    #[arg(long, value_parser = choice::<v1::CallPhase>(), ignore_case = true)]
    phase: Option<v1::CallPhase>,
    /// The system call that failed, for example `connect`.
    #[arg(long, value_name = "NAME")]
    syscall: Option<String>,
    /// The exit code of a subprocess.
    #[arg(long, value_name = "CODE", allow_negative_numbers = true)]
    exit_code: Option<i32>,
    /// The end of what a subprocess wrote to its error stream.
    #[arg(long, value_name = "TEXT")]
    stderr: Option<String>,
    /// The error message.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// The body of the answer.
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// The body from a file; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    body_file: Option<String>,
    /// The host that was called.
    #[arg(long, value_name = "HOST")]
    target_host: Option<String>,
    /// The method, for example `GET` or `tools/call`.
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// The operation inside the tool, for example `issues.search`.
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,
    /// Whose credential was used [default: user].
    #[arg(long, value_parser = choice::<v1::CredentialOwner>(), ignore_case = true)]
    credential: Option<v1::CredentialOwner>,
    /// Repeating the call has no further effect.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    idempotent: Option<bool>,
    /// The call only reads.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    read_only: Option<bool>,
    /// The request may already have taken effect.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    may_have_run: Option<bool>,
    /// Which try it was, from 1.
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// How long the call took, for example `250ms` or `30s`.
    #[arg(long, value_name = "SPAN", value_parser = time::span)]
    elapsed: Option<Duration>,
    /// The result was well-formed and did not fit the tool's schema.
    #[arg(long)]
    schema_violation: bool,
    /// What a 404 did not find.
    #[arg(long, value_parser = choice::<v1::NotFoundOf>(), ignore_case = true)]
    not_found_of: Option<v1::NotFoundOf>,
    /// When it failed, for example `2026-11-30T14:05:00Z` [default: at arrival].
    #[arg(long, value_name = "INSTANT", value_parser = time::instant)]
    occurred_at: Option<DateTime<Utc>>,
}

impl FailureArgs {
    /// Lays the flags over `failure`. Headers and causes take the place of those that are there.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the file of the body cannot be read.
    pub(crate) fn apply(&self, failure: &mut v1::Failure) -> Result<(), Error> {
        let texts = [
            (&self.content_type, &mut failure.content_type),
            (&self.exception_type, &mut failure.exception_type),
            (&self.error_code, &mut failure.error_code),
            (&self.sql_state, &mut failure.sql_state),
            (&self.syscall, &mut failure.syscall),
            (&self.stderr, &mut failure.stderr_tail),
            (&self.message, &mut failure.message),
            (&self.body, &mut failure.body),
            (&self.target_host, &mut failure.target_host),
            (&self.method, &mut failure.method),
            (&self.operation, &mut failure.operation),
        ];
        for (flag, field) in texts {
            if let Some(value) = flag {
                field.clone_from(value);
            }
        }
        let bools = [
            (self.is_error, &mut failure.is_error),
            (self.idempotent, &mut failure.idempotent),
            (self.read_only, &mut failure.read_only),
            (self.may_have_run, &mut failure.may_have_run),
        ];
        for (flag, field) in bools {
            *field = flag.or(*field);
        }
        let enums = [
            (self.dispatch_code.map(i32::from), &mut failure.dispatch_code),
            (self.failure_kind.map(i32::from), &mut failure.kind),
            (self.phase.map(i32::from), &mut failure.phase),
            (self.credential.map(i32::from), &mut failure.credential),
            (self.not_found_of.map(i32::from), &mut failure.not_found_of),
        ];
        for (flag, field) in enums {
            *field = flag.unwrap_or(*field);
        }
        failure.http_status = self.http_status.or(failure.http_status);
        failure.json_rpc_code = self.json_rpc_code.or(failure.json_rpc_code);
        failure.grpc_status = self.grpc_status.or(failure.grpc_status);
        failure.exit_code = self.exit_code.or(failure.exit_code);
        failure.attempt = self.attempt.unwrap_or(failure.attempt);
        failure.elapsed = self.elapsed.map(time::wire_span).or(failure.elapsed);
        failure.occurred_at = self.occurred_at.map(time::wire_instant).or(failure.occurred_at);
        failure.schema_violation |= self.schema_violation;
        if !self.headers.is_empty() {
            failure.headers.clone_from(&self.headers);
        }
        if !self.causes.is_empty() {
            failure.causes.clone_from(&self.causes);
        }
        if let Some(file) = &self.body_file {
            failure.body = read("--body-file", file, MAX_TEXT)?;
        }
        Ok(())
    }
}

/// `NAME: VALUE`. Whether the name is a legal one is the server's to say.
fn header(text: &str) -> Result<v1::Header, String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok(v1::Header { name: name.trim().to_owned(), value: value.trim().to_owned() })
        }
        _ => Err("expected `NAME: VALUE`, for example `Retry-After: 30`".to_owned()),
    }
}

/// `TYPE=MESSAGE`, or a type alone.
fn cause(text: &str) -> Result<v1::Cause, String> {
    let (name, message) = text.split_once('=').unwrap_or((text, ""));
    if name.trim().is_empty() {
        return Err(
            "expected `TYPE=MESSAGE`, for example `java.net.ConnectException=Connection refused`".to_owned()
        );
    }
    Ok(v1::Cause { r#type: name.trim().to_owned(), message: message.to_owned(), code: String::new() })
}
