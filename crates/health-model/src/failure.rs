//! One failed call as a brain reports it (DESIGN §5). All fields are optional: absence proves nothing.
//!
//! A failure is data, never an error of ours. Text in it comes from outside: it is matched, redacted and cut, and
//! never chooses which tool, user or tenant is written.

use crate::Instant;
use crate::vocabulary::{CredentialOwner, DispatchCode, FailureKind, NotFoundOf, Phase};

/// The canonical names of the gRPC status codes, by number.
pub const GRPC_STATUSES: [&str; 17] = [
    "OK",
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

/// One failed call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Failure {
    /// What the dispatcher knew (R9…R12).
    pub dispatch_code: Option<DispatchCode>,
    /// HTTP status of the answer that carried the error. Never guessed from text.
    pub http_status: Option<u16>,
    /// Response headers, names in lower case, repeated names kept, in order of arrival.
    pub headers: Vec<(String, String)>,
    /// Media type of the body.
    pub content_type: Option<String>,
    /// The name that the runtime prints: a class, a type, or a Node errno.
    pub exception_type: Option<String>,
    /// The chain of causes, outermost first.
    pub causes: Vec<Cause>,
    /// Canonical kind, where the reporter knows it.
    pub kind: Option<FailureKind>,
    /// A machine code: `error.code` of a JSON body, a provider's code, an errno name.
    pub error_code: Option<String>,
    /// Code of a JSON-RPC error object.
    pub json_rpc_code: Option<i64>,
    /// gRPC status, as its canonical name in upper case.
    pub grpc_status: Option<String>,
    /// SQLSTATE, five characters.
    pub sql_state: Option<String>,
    /// The tool answered with a result that is flagged as an error (MCP `isError`).
    pub is_error: Option<bool>,
    /// The tool's result violated its own schema (R133, C15).
    pub schema_violation: bool,
    /// What a 404 is about.
    pub not_found_of: Option<NotFoundOf>,
    /// How far the call had come.
    pub phase: Option<Phase>,
    /// The system call that failed.
    pub syscall: Option<String>,
    /// Exit code of the tool's process.
    pub exit_code: Option<i32>,
    /// The end of the process's standard error.
    pub stderr_tail: Option<String>,
    /// The message.
    pub message: String,
    /// The body; rules see its first 16 KiB.
    pub body: String,
    /// The host that was called.
    pub target_host: Option<String>,
    /// HTTP method or RPC name.
    pub method: Option<String>,
    /// The operation within the tool.
    pub operation: Option<String>,
    /// Who owns the credential that was used; unset counts as the user.
    pub credential: Option<CredentialOwner>,
    /// Calling twice has the effect of calling once.
    pub idempotent: Option<bool>,
    /// The call changes nothing at the backend.
    pub read_only: Option<bool>,
    /// Whether the request may already have run.
    pub may_have_run: Option<bool>,
    /// 1 for the first try; 0 if not said.
    pub attempt: u32,
    /// How long the call took.
    pub elapsed: Option<chrono::TimeDelta>,
    /// When it failed, by the reporter's clock.
    pub occurred_at: Option<Instant>,
}

/// One link of a chain of causes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cause {
    /// The name that the runtime prints.
    pub exception_type: Option<String>,
    /// Its message.
    pub message: String,
    /// Its machine code.
    pub code: Option<String>,
}

impl Failure {
    /// The values of a header, in order of arrival. `name` is compared without case.
    pub fn header<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.headers
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}
