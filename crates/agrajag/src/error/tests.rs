//! Errors become exit codes and words with a remedy.

use tonic_types::ErrorDetails;

use super::*;

fn refused(code: Code, reason: &str, violations: &[(&str, &str)]) -> Error {
    let mut details = ErrorDetails::with_error_info(reason, "agrajag", []);
    for (field, description) in violations {
        details.add_bad_request_violation(*field, *description);
    }
    Error::from_status("http://127.0.0.1:4242", Status::with_error_details(code, "not accepted", details))
}

/// DESIGN §5: every field violation is shown, with the reason and what to do.
#[test]
fn a_refusal_shows_reason_fields_and_remedy() {
    let error = refused(
        Code::InvalidArgument,
        "INVALID_FIELD",
        &[("caller.tenant_id", "must not be empty"), ("tool.name", "is longer than 256 bytes")],
    );
    insta::assert_snapshot!(error.to_text(), @"
    error: INVALID_FIELD (INVALID_ARGUMENT): not accepted
      field `caller.tenant_id`: must not be empty
      field `tool.name`: is longer than 256 bytes
      remedy: correct the fields named above and send the request again
    ");
    insta::assert_snapshot!(error.to_json(), @r#"{"error":{"code":"INVALID_ARGUMENT","exitCode":2,"fieldViolations":[{"description":"must not be empty","field":"caller.tenant_id"},{"description":"is longer than 256 bytes","field":"tool.name"}],"message":"not accepted","reason":"INVALID_FIELD","remedy":"correct the fields named above and send the request again"}}"#);
}

#[test]
fn the_exit_code_tells_bad_input_refusal_and_silence_apart() {
    assert_eq!(refused(Code::InvalidArgument, "INVALID_FIELD", &[]).exit_code(), 2);
    assert_eq!(refused(Code::NotFound, "DOCUMENT_NOT_FOUND", &[]).exit_code(), 1);
    assert_eq!(refused(Code::Unavailable, "STORE_UNAVAILABLE", &[]).exit_code(), 1);
    let silent =
        Error::from_status("http://127.0.0.1:4242", Status::new(Code::Unavailable, "tcp connect error"));
    assert_eq!(silent.exit_code(), 3);
    let late = Error::from_status("http://127.0.0.1:4242", Status::new(Code::DeadlineExceeded, ""));
    assert_eq!(late.exit_code(), 3);
    assert_eq!(refused(Code::DeadlineExceeded, "DEADLINE_EXCEEDED", &[]).exit_code(), 3);
    let foreign = Error::from_status("http://127.0.0.1:4242", Status::new(Code::Unimplemented, ""));
    assert_eq!(foreign.exit_code(), 1);
    assert_eq!(Error::input("x", "y").exit_code(), 2);
    assert_eq!(Error::Output(io::ErrorKind::BrokenPipe.into()).exit_code(), 0);
    assert_eq!(Error::Output(io::ErrorKind::StorageFull.into()).exit_code(), 1);
}

#[test]
fn text_from_a_server_cannot_steer_the_terminal() {
    let status = Status::with_error_details(
        Code::NotFound,
        "no \u{1b}[2Jdocument\n\rerror: forged",
        ErrorDetails::with_error_info("DOCUMENT_NOT_FOUND", "agrajag", []),
    );
    let text = Error::from_status("http://127.0.0.1:4242", status).to_text();
    assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{text:?}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

/// Every reason has words of its own: a reason without a remedy would send people to the generic line.
#[test]
fn every_reason_has_a_remedy() {
    let generic = remedy(&Refusal {
        code: Code::Internal,
        reason: String::new(),
        message: String::new(),
        violations: Vec::new(),
    });
    for reason in v1::ErrorReason::all() {
        let refusal = Refusal {
            code: Code::Internal,
            reason: reason.word().to_owned(),
            message: String::new(),
            violations: Vec::new(),
        };
        assert_ne!(remedy(&refusal), generic, "{}", reason.word());
    }
}
