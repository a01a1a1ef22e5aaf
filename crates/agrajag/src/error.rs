//! What can go wrong in a command, how it is told, and with which exit code the process ends.
//!
//! Every error says what happened and what to do about it. Text that came from a server is shown without its control
//! characters. Knows the reasons of `agrajag.v1.ErrorReason` and their remedies; knows no command.

use std::error::Error as StdError;
use std::io;

use agrajag_proto::v1;
use serde_json::json;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::output::printable;
use crate::wire::WireEnum;

/// How a command that did its work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Fine.
    Ok,
    /// `lookup`: a tool is degraded and none is down.
    Degraded,
    /// `lookup`: a tool is down.
    Down,
    /// The command worked and found what it looks for to be bad: rules with errors, a failed check of `doctor`.
    Findings(u8),
}

impl Exit {
    /// The process's exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Degraded => 10,
            Self::Down => 11,
            Self::Findings(code) => code,
        }
    }
}

/// What ended a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line, a file or standard input holds something unusable.
    #[error("{message}")]
    Input {
        /// What is wrong, with field and value.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// No server answered.
    #[error("no Agrajag server answers at `{server}`")]
    Unreachable {
        /// The address that was tried.
        server: String,
        /// What the command can do without a server; empty if nothing.
        instead: &'static str,
        /// Why.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server answered with an error.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
    /// Something on this machine failed: a port in use, a store that cannot be opened, a demo that went otherwise.
    #[error("{message}")]
    Failed {
        /// What failed.
        message: String,
        /// What to do.
        remedy: String,
    },
    /// The output could not be written.
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// An error of the server.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The gRPC code.
    pub(crate) code: Code,
    /// The reason of `google.rpc.ErrorInfo`; empty if the server named none.
    pub(crate) reason: String,
    /// What the server says.
    pub(crate) message: String,
    /// Every field that is wrong, with what is wrong with it.
    pub(crate) violations: Vec<(String, String)>,
}

impl Error {
    /// Something unusable in the input.
    pub(crate) fn input(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Input { message: message.into(), remedy: remedy.into() }
    }

    /// Something that failed on this machine.
    pub(crate) fn failed(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), remedy: remedy.into() }
    }

    /// The error behind a status. One that names a reason, or a code that only a server gives, is a refusal; the rest
    /// means that nothing answered. A passed deadline always counts as no answer: whether the server or this side
    /// notices it first is chance.
    pub(crate) fn from_status(server: &str, status: Status) -> Self {
        let details = status.get_error_details();
        let reason = details.error_info().map_or_else(String::new, |it| it.reason.clone());
        let transport =
            matches!(status.code(), Code::Unavailable | Code::Cancelled) || status.source().is_some();
        if status.code() == Code::DeadlineExceeded || (reason.is_empty() && transport) {
            return Self::Unreachable {
                server: server.to_owned(),
                instead: "",
                source: Box::new(Unanswered::from(status)),
            };
        }
        let violations = details.bad_request().map_or_else(Vec::new, |it| {
            it.field_violations.iter().map(|it| (it.field.clone(), it.description.clone())).collect()
        });
        Self::Refused(Box::new(Refusal {
            code: status.code(),
            reason,
            message: status.message().to_owned(),
            violations,
        }))
    }

    /// With what the command can do without a server, for the remedy.
    pub(crate) fn or_else_do(self, instead: &'static str) -> Self {
        match self {
            Self::Unreachable { server, source, .. } => Self::Unreachable { server, instead, source },
            other => other,
        }
    }

    /// The process's exit code: 1 refused or failed, 2 bad input, 3 nobody there. A reader that closed the pipe has
    /// what it wanted: 0.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Input { .. } => 2,
            Self::Refused(refusal) if refusal.code == Code::InvalidArgument => 2,
            Self::Refused(_) | Self::Failed { .. } => 1,
            Self::Unreachable { .. } => 3,
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Output(_) => 1,
        }
    }

    /// A short stable word for scripts: the server's reason, or what kind of error this is.
    fn reason(&self) -> &str {
        match self {
            Self::Input { .. } => "BAD_INPUT",
            Self::Unreachable { .. } => "SERVER_UNREACHABLE",
            Self::Refused(refusal) if refusal.reason.is_empty() => code_name(refusal.code),
            Self::Refused(refusal) => &refusal.reason,
            Self::Failed { .. } => "FAILED",
            Self::Output(_) => "OUTPUT",
        }
    }

    /// What to do about it.
    fn remedy(&self) -> String {
        match self {
            Self::Input { remedy, .. } | Self::Failed { remedy, .. } => remedy.clone(),
            Self::Unreachable { server, instead, .. } => {
                let first = if instead.is_empty() { String::new() } else { format!("{instead}, ") };
                format!(
                    "{first}start one with `agrajag serve`, name another with `--server` or AGRAJAG_SERVER (tried \
                     `{server}`), or give more time with `--timeout`"
                )
            }
            Self::Refused(refusal) => remedy(refusal).to_owned(),
            Self::Output(_) => "check the disk or the program that reads the output".to_owned(),
        }
    }

    /// The error for people: one line what, one a field, the chain of causes, the remedy.
    pub(crate) fn to_text(&self) -> String {
        let mut text = match self {
            Self::Refused(refusal) => format!(
                "error: {} ({}): {}",
                printable(self.reason()),
                code_name(refusal.code),
                printable(&refusal.message)
            ),
            other => format!("error: {}", printable(&other.to_string())),
        };
        if let Self::Refused(refusal) = self {
            for (field, description) in &refusal.violations {
                text.push_str(&format!("\n  field `{}`: {}", printable(field), printable(description)));
            }
        }
        for cause in causes(self) {
            text.push_str(&format!("\n  because: {}", printable(&cause)));
        }
        text.push_str(&format!("\n  remedy: {}\n", printable(&self.remedy())));
        text
    }

    /// The error for programs: one object with the key `error`.
    pub(crate) fn to_json(&self) -> String {
        let mut error = json!({
            "exitCode": self.exit_code(),
            "reason": self.reason(),
            "message": self.to_string(),
            "remedy": self.remedy(),
        });
        if let Self::Refused(refusal) = self {
            error["code"] = json!(code_name(refusal.code));
            error["fieldViolations"] = refusal
                .violations
                .iter()
                .map(|(field, description)| json!({"field": field, "description": description}))
                .collect();
        }
        let causes = causes(self);
        if !causes.is_empty() {
            error["causes"] = json!(causes);
        }
        let mut text = json!({ "error": error }).to_string();
        text.push('\n');
        text
    }
}

/// A call that got no answer from a server of ours.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct Unanswered {
    what: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl From<Status> for Unanswered {
    fn from(status: Status) -> Self {
        let what = match status.code() {
            Code::DeadlineExceeded | Code::Cancelled => {
                format!("no answer within the time allowed ({})", code_name(status.code()))
            }
            code if status.message().is_empty() => code_name(code).to_owned(),
            _ => status.message().to_owned(),
        };
        Self { what, source: None }
    }
}

/// The messages of the chain of causes, outermost first, without repetitions.
fn causes(error: &Error) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    let mut next = StdError::source(error);
    while let Some(cause) = next {
        let message = cause.to_string();
        if messages.last() != Some(&message) {
            messages.push(message);
        }
        next = cause.source();
    }
    messages
}

/// The canonical name of a gRPC code.
pub(crate) fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// What to do about an error of the server.
fn remedy(refusal: &Refusal) -> &'static str {
    use v1::ErrorReason as Reason;
    let reason = Reason::all().find(|it| it.word() == refusal.reason).unwrap_or(Reason::Unspecified);
    match reason {
        Reason::InvalidField => "correct the fields named above and send the request again",
        Reason::TooManyItems => "split the request",
        Reason::RulesInvalid => {
            "correct the rules; `agrajag rules validate FILE` shows every error with its line"
        }
        Reason::MalformedRequest => {
            "write the body as JSON of the message; the text above says where it is none"
        }
        Reason::RequestTooLarge => "send less: of a body the first 16 KiB are looked at",
        Reason::RevisionTooOld => "start again without `--from-revision`: the answer begins with a snapshot",
        Reason::DocumentNotFound => {
            "check scope, id and tool name; `agrajag documents list` shows what there is"
        }
        Reason::WriteConflict => "send it again: nothing was written",
        Reason::RuleLayerChanged => {
            "look at the layer as it is now (`agrajag rules layers --yaml`) and put it again"
        }
        Reason::StoreUnavailable => {
            "look after the store (`agrajag doctor`) and send it again; the server keeps trying by itself"
        }
        Reason::StoreTooNew => "run a server of the version that wrote the store, or name another store",
        Reason::StoreCorrupt => {
            "drop the document that cannot be read with `agrajag documents delete` (its scope, id and tool), or restore the \
             store from a backup; the server's log names table and key"
        }
        Reason::ObserveMode => "start the server without `--mode observe` to write",
        Reason::Overloaded => "send it again a little later, or with fewer calls at the same time",
        Reason::DeadlineExceeded => "give more time with `--timeout`",
        Reason::ShuttingDown => "send it again when the server is back",
        Reason::Internal => "look into the server's log; it names the cause",
        Reason::Unspecified => match refusal.code {
            Code::Unimplemented => {
                "this server does not know the call: it is older than this command, or not Agrajag"
            }
            Code::Unauthenticated | Code::PermissionDenied => "use a credential that may do this",
            _ => "see the message; `agrajag doctor` checks server and store",
        },
    }
}

#[cfg(test)]
mod tests;
