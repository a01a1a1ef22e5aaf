//! What a server refuses with: code, reason and fields, and that each reason has its page.

use agrajag_proto::v1::ErrorReason;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::env;

/// Metadata that every client reads; 8 KiB are what gRPC's own libraries promise to take.
const MAX_METADATA: usize = 8 << 10;

/// An error of the server, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The gRPC code.
    pub code: Code,
    /// The reason in `google.rpc.ErrorInfo`.
    pub reason: ErrorReason,
    /// What a person reads.
    pub message: String,
    /// Field and description of every violation.
    pub violations: Vec<(String, String)>,
    /// The server says after how long to try again.
    pub retry: bool,
}

impl Refusal {
    /// Takes a status apart.
    ///
    /// # Panics
    ///
    /// If it carries no `ErrorInfo` of our domain, if its reason is not in the proto enum, if there is no page for it in
    /// `docs/errors`, or if it is larger than clients read.
    #[must_use]
    pub fn of(status: &Status) -> Self {
        let details = status.get_error_details();
        let info = details.error_info().unwrap_or_else(|| panic!("no ErrorInfo: {status:?}"));
        assert_eq!(info.domain, "agrajag", "{status:?}");
        let reason = named(&info.reason);
        // Details travel in base64, four bytes for three.
        let size = status.details().len() / 3 * 4 + status.message().len();
        assert!(size <= MAX_METADATA, "{reason:?} takes {size} bytes of metadata");
        let violations = details.bad_request().map_or_else(Vec::new, |it| {
            let told = it.field_violations.iter();
            told.map(|it| (it.field.clone(), it.description.clone())).collect()
        });
        Self {
            code: status.code(),
            reason,
            message: status.message().to_owned(),
            violations,
            retry: details.retry_info().is_some(),
        }
    }

    /// The fields that are wrong, in the order told.
    #[must_use]
    pub fn fields(&self) -> Vec<&str> {
        self.violations.iter().map(|(field, _)| field.as_str()).collect()
    }
}

/// The reason of this name, without the prefix of its enum.
///
/// # Panics
///
/// If there is none, or no page for it.
#[must_use]
pub fn named(name: &str) -> ErrorReason {
    let reason = ErrorReason::from_str_name(&format!("ERROR_REASON_{name}"));
    let reason = reason.filter(|it| *it != ErrorReason::Unspecified);
    let reason = reason.unwrap_or_else(|| panic!("`{name}` is no reason of the proto enum"));
    let page = env::repository().join("docs/errors").join(format!("{name}.md"));
    assert!(page.is_file(), "reason `{name}` has no page `{}`", page.display());
    reason
}
