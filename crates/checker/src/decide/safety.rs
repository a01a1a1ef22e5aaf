//! Whether calling again can do harm.

use health_model::{Classification, Failure, FailureKind, Phase, RetrySafety};

/// How safe it is to call again.
///
/// SAFE where the call changes nothing, may run twice, or never ran: it was refused at the door, or failed before it was
/// sent. UNSAFE where the reporter says that it may have run and must not run twice. Else it is worth a look first.
#[must_use]
pub fn retry_safety(
    failure: &Failure,
    kind: Option<FailureKind>,
    classification: Classification,
) -> RetrySafety {
    if failure.read_only == Some(true)
        || failure.idempotent == Some(true)
        || failure.may_have_run == Some(false)
    {
        return RetrySafety::Safe;
    }
    if failure.may_have_run != Some(true) && never_ran(failure, kind, classification) {
        return RetrySafety::Safe;
    }
    if failure.idempotent == Some(false) && failure.may_have_run == Some(true) {
        return RetrySafety::Unsafe;
    }
    RetrySafety::VerifyFirst
}

fn never_ran(failure: &Failure, kind: Option<FailureKind>, classification: Classification) -> bool {
    let before_the_call = matches!(
        failure.phase,
        Some(Phase::Spawn | Phase::Connect | Phase::Initialize | Phase::List | Phase::Auth)
    );
    let before_sending = matches!(
        kind,
        Some(
            FailureKind::ConnectRefused
                | FailureKind::Dns
                | FailureKind::NetworkUnreachable
                | FailureKind::Tls
                | FailureKind::ConnectTimeout
                | FailureKind::NotStarted
        )
    );
    // 408, 409 and 499 may come after the call had an effect; other refusals of the request come instead of one.
    let refused =
        failure.http_status.is_some_and(|it| (400..500).contains(&it) && !matches!(it, 408 | 409 | 499));
    before_the_call || before_sending || refused || classification.is_never_health()
}

#[cfg(test)]
mod tests {
    use RetrySafety::{Safe, Unsafe, VerifyFirst};

    use super::*;

    #[test]
    fn the_table_of_retry_safety() {
        let unclear = Classification::Unclear;
        let sent = Failure { idempotent: Some(false), may_have_run: Some(true), ..Failure::default() };
        for (failure, kind, class, expected) in [
            (Failure::default(), None, unclear, VerifyFirst),
            (Failure { read_only: Some(true), ..sent.clone() }, None, unclear, Safe),
            (Failure { idempotent: Some(true), ..sent.clone() }, None, unclear, Safe),
            (
                Failure { may_have_run: Some(false), ..Failure::default() },
                Some(FailureKind::Reset),
                unclear,
                Safe,
            ),
            (Failure::default(), Some(FailureKind::ConnectRefused), unclear, Safe),
            (Failure::default(), Some(FailureKind::ConnectTimeout), unclear, Safe),
            (Failure::default(), Some(FailureKind::ReadTimeout), unclear, VerifyFirst),
            (Failure::default(), Some(FailureKind::Reset), unclear, VerifyFirst),
            (sent.clone(), Some(FailureKind::ReadTimeout), unclear, Unsafe),
            // The reporter knows of an earlier attempt that may have run.
            (sent.clone(), Some(FailureKind::ConnectRefused), unclear, Unsafe),
            (Failure { idempotent: Some(false), ..Failure::default() }, None, unclear, VerifyFirst),
            (Failure { phase: Some(Phase::Initialize), ..Failure::default() }, None, unclear, Safe),
            (Failure { phase: Some(Phase::Call), ..Failure::default() }, None, unclear, VerifyFirst),
            (Failure { http_status: Some(429), ..Failure::default() }, None, unclear, Safe),
            (Failure { http_status: Some(409), ..Failure::default() }, None, unclear, VerifyFirst),
            (Failure { http_status: Some(502), ..Failure::default() }, None, unclear, VerifyFirst),
            (Failure::default(), None, Classification::UserInput, Safe),
        ] {
            assert_eq!(retry_safety(&failure, kind, class), expected, "{failure:?} {kind:?} {class}");
        }
    }
}
