//! Errors at the edge: a closed set, and the one function that makes a gRPC status of each.
//!
//! Owns reasons, codes and texts. Internals stay hidden: what a client reads never holds a driver's message, except for
//! the store's own reason of being away, which names no data. Each reason has a page in `docs/errors`.

use std::collections::HashMap;
use std::time::Duration;

use agrajag_proto::v1::ErrorReason;
use checker::redact;
use health_service::Error as ServiceError;
use ports::StoreError;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

/// The domain in every `google.rpc.ErrorInfo`.
pub(crate) const DOMAIN: &str = "agrajag";

/// How long a client should wait before it tries again where the server has too much to do.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// More violations than this are counted, not told.
const MAX_VIOLATIONS: usize = 100;

/// Bytes of one text in an error. Errors travel in metadata, of which most clients read 8 KiB, and some give up the whole
/// connection beyond 16.
const MAX_TEXT: usize = 300;

/// Bytes of all violations together, for the same reason: written as base64 they grow by a third.
const MAX_TEXTS: usize = 3_000;

/// One field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Its path in the request.
    pub(crate) field: String,
    /// What is wrong, with the value and what is allowed.
    pub(crate) message: String,
}

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Fields are missing or wrong.
    #[error("{}", summary(.0))]
    InvalidField(Vec<Violation>),
    /// More items than allowed.
    #[error("`{field}` holds {n} items, {max} are allowed; send several requests")]
    TooManyItems {
        /// The field.
        field: &'static str,
        /// How many came.
        n: usize,
        /// How many are allowed.
        max: usize,
    },
    /// No JSON of the message.
    #[error("{message}")]
    Malformed {
        /// What is wrong, and where.
        message: String,
    },
    /// The whole request is too large.
    #[error(
        "the request is larger than {max} bytes; a body of a failure is only looked at for its first 16 KiB"
    )]
    TooLarge {
        /// The limit in bytes.
        max: usize,
    },
    /// A use case failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// Too much is going on.
    #[error("the server is doing as much as it may at the same time: {limit} requests")]
    Overloaded {
        /// The limit.
        limit: usize,
    },
    /// The time is over.
    #[error(
        "the time of {allowed:?} for this call is over; a write that was handed over is completed all the same"
    )]
    Deadline {
        /// How long the call was allowed to take.
        allowed: Duration,
    },
    /// The server stops.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// A fault of the service itself.
    #[error("internal error; the server's log has the cause")]
    Internal,
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Service(error.into())
    }
}

impl Error {
    /// One wrong field.
    pub(crate) fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::InvalidField(vec![Violation { field: field.into(), message: message.into() }])
    }

    /// The reason and the code: the closed set (DESIGN §5).
    pub(crate) fn kind(&self) -> (ErrorReason, Code) {
        match self {
            Self::InvalidField(_) => (ErrorReason::InvalidField, Code::InvalidArgument),
            Self::TooManyItems { .. } => (ErrorReason::TooManyItems, Code::InvalidArgument),
            Self::Malformed { .. } => (ErrorReason::MalformedRequest, Code::InvalidArgument),
            Self::TooLarge { .. } => (ErrorReason::RequestTooLarge, Code::ResourceExhausted),
            Self::Overloaded { .. } => (ErrorReason::Overloaded, Code::ResourceExhausted),
            Self::Deadline { .. } => (ErrorReason::DeadlineExceeded, Code::DeadlineExceeded),
            Self::ShuttingDown => (ErrorReason::ShuttingDown, Code::Unavailable),
            Self::Internal => (ErrorReason::Internal, Code::Internal),
            Self::Service(error) => service_kind(error),
        }
    }

    /// What the client reads.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Service(ServiceError::Store(error)) => match &**error {
                StoreError::Unavailable { .. }
                | StoreError::Corrupt { .. }
                | StoreError::TooNew { .. }
                | StoreError::RuleLayerChanged { .. }
                | StoreError::RevisionTooOld { .. } => error.to_string(),
                StoreError::Conflict { .. } => "the write lost against another writer".to_owned(),
                StoreError::Other { .. } => Self::Internal.to_string(),
            },
            _ => self.to_string(),
        }
    }

    /// The fields that are wrong.
    pub(crate) fn violations(&self) -> Vec<Violation> {
        match self {
            Self::InvalidField(violations) => violations.clone(),
            Self::TooManyItems { field, .. } => {
                vec![Violation { field: (*field).to_owned(), message: self.to_string() }]
            }
            Self::Service(ServiceError::RulesInvalid { diagnostics, .. }) => {
                diagnostics.iter().map(crate::wire::rules::violation).collect()
            }
            _ => Vec::new(),
        }
    }

    /// How long to wait before trying again, where waiting helps.
    pub(crate) fn retry_delay(&self) -> Option<Duration> {
        match self.kind().0 {
            ErrorReason::Overloaded | ErrorReason::StoreUnavailable | ErrorReason::ShuttingDown => {
                Some(RETRY_DELAY)
            }
            _ => None,
        }
    }

    /// The gRPC status, with `google.rpc.ErrorInfo`, `BadRequest` and `RetryInfo`.
    pub(crate) fn status(&self) -> Status {
        let (reason, code) = self.kind();
        let mut details = ErrorDetails::with_error_info(reason_name(reason), DOMAIN, HashMap::new());
        let violations = self.violations();
        if !violations.is_empty() {
            let mut size = 0;
            let told: Vec<FieldViolation> = violations
                .into_iter()
                .take(MAX_VIOLATIONS)
                .map(|it| {
                    FieldViolation::new(redact::cut(&it.field, MAX_TEXT), redact::cut(&it.message, MAX_TEXT))
                })
                .take_while(|it| {
                    let is_first = size == 0;
                    size += it.field.len() + it.description.len() + 8;
                    is_first || size <= MAX_TEXTS
                })
                .collect();
            details.set_bad_request(told);
        }
        if let Some(delay) = self.retry_delay() {
            details.set_retry_info(Some(delay));
        }
        if code == Code::Internal {
            tracing::error!(error = self as &dyn std::error::Error, "request failed");
        }
        Status::with_error_details(code, redact::cut(&self.message(), 2 * MAX_TEXT), details)
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        error.status()
    }
}

/// The reason without the prefix of its enum: the name of its page in `docs/errors`.
pub(crate) fn reason_name(reason: ErrorReason) -> &'static str {
    reason.as_str_name().trim_start_matches("ERROR_REASON_")
}

fn service_kind(error: &ServiceError) -> (ErrorReason, Code) {
    match error {
        ServiceError::Store(error) => match &**error {
            StoreError::Conflict { .. } => (ErrorReason::WriteConflict, Code::Aborted),
            StoreError::RuleLayerChanged { .. } => (ErrorReason::RuleLayerChanged, Code::Aborted),
            StoreError::Unavailable { .. } => (ErrorReason::StoreUnavailable, Code::Unavailable),
            StoreError::Corrupt { .. } => (ErrorReason::StoreCorrupt, Code::DataLoss),
            StoreError::TooNew { .. } => (ErrorReason::StoreTooNew, Code::FailedPrecondition),
            StoreError::RevisionTooOld { .. } => (ErrorReason::RevisionTooOld, Code::OutOfRange),
            StoreError::Other { .. } => (ErrorReason::Internal, Code::Internal),
        },
        ServiceError::Conflict { .. } => (ErrorReason::WriteConflict, Code::Aborted),
        ServiceError::Overloaded { .. } | ServiceError::TooManyWatches { .. } => {
            (ErrorReason::Overloaded, Code::ResourceExhausted)
        }
        ServiceError::ShuttingDown => (ErrorReason::ShuttingDown, Code::Unavailable),
        ServiceError::ObserveMode => (ErrorReason::ObserveMode, Code::FailedPrecondition),
        ServiceError::DocumentNotFound { .. } => (ErrorReason::DocumentNotFound, Code::NotFound),
        ServiceError::RevisionTooOld { .. } => (ErrorReason::RevisionTooOld, Code::OutOfRange),
        ServiceError::RulesInvalid { .. } => (ErrorReason::RulesInvalid, Code::InvalidArgument),
    }
}

fn summary(violations: &[Violation]) -> String {
    match violations {
        [] => "the request is not valid".to_owned(),
        [only] => format!("`{}` {}", only.field, only.message),
        [first, _] => format!("`{}` {} (and one more field is wrong)", first.field, first.message),
        [first, rest @ ..] => {
            format!("`{}` {} (and {} more fields are wrong)", first.field, first.message, rest.len())
        }
    }
}

#[cfg(test)]
mod tests;
