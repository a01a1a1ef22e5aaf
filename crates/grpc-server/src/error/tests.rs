//! Reasons, codes and what a client may read.

use std::path::Path;
use std::sync::Arc;

use super::*;

fn details(error: &Error) -> ErrorDetails {
    error.status().get_error_details()
}

/// Each reason has a page, each page a reason.
#[test]
fn reasons_and_pages_are_paired() {
    let reasons: Vec<String> = (1..64)
        .filter_map(|it| ErrorReason::try_from(it).ok())
        .map(|it| reason_name(it).to_owned())
        .collect();
    let mut pages: Vec<String> = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/errors")
        .read_dir()
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .filter_map(|it| it.strip_suffix(".md").map(str::to_owned))
        .collect();
    pages.sort();
    let mut sorted = reasons.clone();
    sorted.sort();
    assert_eq!(sorted, pages);
}

#[test]
fn every_wrong_field_is_in_the_details_with_the_reason() {
    let violation = |field: &str| Violation { field: field.to_owned(), message: "is empty".to_owned() };
    let error = Error::InvalidField(vec![violation("caller.tenant_id"), violation("tool.name")]);
    let status = error.status();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.message(), "`caller.tenant_id` is empty (and one more field is wrong)");
    let details = status.get_error_details();
    let info = details.error_info().unwrap();
    assert_eq!((info.reason.as_str(), info.domain.as_str()), ("INVALID_FIELD", "agrajag"));
    let fields: Vec<_> =
        details.bad_request().unwrap().field_violations.iter().map(|it| it.field.as_str()).collect();
    assert_eq!(fields, ["caller.tenant_id", "tool.name"]);
}

#[test]
fn a_flood_of_violations_is_bounded() {
    let violation = Violation { field: "tools[0]".to_owned(), message: "is empty".to_owned() };
    let error = Error::InvalidField(vec![violation; 5_000]);
    assert_eq!(details(&error).bad_request().unwrap().field_violations.len(), MAX_VIOLATIONS);
}

#[test]
fn causes_stay_inside() {
    let secret = || Some("password=hunter2".into());
    let away =
        Error::from(StoreError::Unavailable { reason: "connection refused".to_owned(), source: secret() });
    assert_eq!(away.kind(), (ErrorReason::StoreUnavailable, Code::Unavailable));
    assert!(details(&away).retry_info().is_some(), "waiting helps");
    let other = Error::from(StoreError::Other { reason: "row 17 of alice".to_owned(), source: secret() });
    assert_eq!(other.kind(), (ErrorReason::Internal, Code::Internal));
    for error in [away, other] {
        let message = error.status().message().to_owned();
        assert!(!message.contains("hunter2") && !message.contains("alice"), "{message}");
    }
}

#[test]
fn store_errors_have_their_codes() {
    let cases = [
        (
            StoreError::TooNew { min_reader: 9, supported: 1 },
            ErrorReason::StoreTooNew,
            Code::FailedPrecondition,
        ),
        (
            StoreError::Corrupt { table: "documents", key: "k".to_owned(), source: None },
            ErrorReason::StoreCorrupt,
            Code::DataLoss,
        ),
        (
            StoreError::RevisionTooOld { revision: "e:1".parse().unwrap() },
            ErrorReason::RevisionTooOld,
            Code::OutOfRange,
        ),
    ];
    for (error, reason, code) in cases {
        assert_eq!(Error::from(error).kind(), (reason, code));
    }
    let inner = Arc::new(StoreError::TooNew { min_reader: 9, supported: 1 });
    let message = Error::Service(ServiceError::Store(inner)).message();
    assert!(message.contains('9') && message.contains('1'), "{message}");
}
