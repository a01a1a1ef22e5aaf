//! A report never fails for what it says about the failure.

use chrono::TimeZone as _;
use health_model::vocabulary::{DispatchCode, FailureKind};

use super::*;

fn now() -> Instant {
    chrono::Utc.with_ymd_and_hms(2026, 11, 30, 14, 0, 0).unwrap()
}

fn read(wire: v1::Failure) -> (Failure, Warnings) {
    let mut warnings = Warnings::default();
    (failure(Some(wire), now(), &mut warnings), warnings)
}

#[test]
fn an_absent_failure_is_an_empty_one() {
    let mut warnings = Warnings::default();
    assert_eq!(failure(None, now(), &mut warnings), Failure::default());
    assert_eq!(read(v1::Failure::default()).0, Failure::default());
    assert!(warnings.codes().is_empty());
}

#[test]
fn an_ordinary_report_comes_through_without_a_warning() {
    let header = |name: &str, value: &str| v1::Header { name: name.to_owned(), value: value.to_owned() };
    let (failure, warnings) = read(v1::Failure {
        dispatch_code: v1::DispatchCode::BackendFailed.into(),
        http_status: Some(429),
        headers: vec![
            header("Retry-After", "120"),
            header("Set-Cookie", "a"),
            header("set-cookie", "b"),
            header("Content-Type", "application/json"),
        ],
        kind: v1::FailureKind::ReadTimeout.into(),
        grpc_status: Some(14),
        sql_state: "28p01".to_owned(),
        json_rpc_code: Some(-32_602),
        body: "slow down".to_owned(),
        elapsed: Some(prost_types::Duration { seconds: 2, nanos: 0 }),
        occurred_at: Some(time::timestamp(now() - TimeDelta::seconds(1))),
        ..v1::Failure::default()
    });
    assert_eq!(warnings.codes(), []);
    assert_eq!(failure.dispatch_code, Some(DispatchCode::BackendFailed));
    assert_eq!(failure.http_status, Some(429));
    assert_eq!(failure.header("retry-after").collect::<Vec<_>>(), ["120"]);
    assert_eq!(failure.header("Set-Cookie").collect::<Vec<_>>(), ["a", "b"], "repeated names are kept");
    assert_eq!(failure.content_type.as_deref(), Some("application/json"));
    assert_eq!(failure.kind, Some(FailureKind::ReadTimeout));
    assert_eq!(failure.grpc_status.as_deref(), Some("UNAVAILABLE"));
    assert_eq!(failure.sql_state.as_deref(), Some("28P01"));
    assert_eq!(failure.json_rpc_code, Some(-32_602));
    assert_eq!(failure.elapsed, Some(TimeDelta::seconds(2)));
    assert_eq!(failure.occurred_at, Some(now() - TimeDelta::seconds(1)));
}

/// DESIGN §5: unknown words, odd header names, numbers out of range and future clocks never fail a report.
#[test]
fn odd_values_are_dropped_or_clamped_with_a_warning_each() {
    let (failure, warnings) = read(v1::Failure {
        dispatch_code: 99,
        http_status: Some(42),
        headers: vec![
            v1::Header { name: "no header\n".to_owned(), value: "x".to_owned() },
            v1::Header::default(),
        ],
        kind: 4_711,
        grpc_status: Some(-1),
        sql_state: "nope".to_owned(),
        phase: 50,
        credential: 50,
        not_found_of: -3,
        elapsed: Some(prost_types::Duration { seconds: -5, nanos: 0 }),
        occurred_at: Some(time::timestamp(now() + TimeDelta::days(400))),
        ..v1::Failure::default()
    });
    assert_eq!(failure.http_status, None);
    assert!(failure.headers.is_empty());
    assert_eq!((failure.elapsed, failure.occurred_at), (Some(TimeDelta::zero()), Some(now())));
    let mut fields: Vec<_> = warnings.codes().into_iter().map(|it| it.1).collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "failure.credential",
            "failure.dispatch_code",
            "failure.elapsed",
            "failure.grpc_status",
            "failure.headers[0].name",
            "failure.headers[1].name",
            "failure.http_status",
            "failure.kind",
            "failure.not_found_of",
            "failure.occurred_at",
            "failure.phase",
            "failure.sql_state",
        ]
    );
}

#[test]
fn clocks_are_clamped_to_the_last_day() {
    let at = |seconds: i64| prost_types::Timestamp { seconds, nanos: 0 };
    for (wire, expected) in [
        (at(i64::MAX), now()),
        (at(0), now() - TimeDelta::hours(24)),
        (time::timestamp(now()), now()),
        (time::timestamp(now() - TimeDelta::hours(23)), now() - TimeDelta::hours(23)),
    ] {
        assert_eq!(occurred_at(&wire, "x", now(), &mut Warnings::default()), expected, "{wire:?}");
    }
    let long = prost_types::Duration { seconds: i64::MAX, nanos: 0 };
    assert_eq!(elapsed(&long, "x", &mut Warnings::default()), TimeDelta::hours(24));
}

/// Bad input: a body over the limit is cut for matching, never rejected.
#[test]
fn long_texts_are_cut_between_characters() {
    let (failure, warnings) = read(v1::Failure {
        body: format!("a{}", "é".repeat(1 << 20)),
        message: "m".repeat(MATCHED_BODY),
        stderr_tail: format!("{}tail", "é".repeat(1 << 20)),
        ..v1::Failure::default()
    });
    assert_eq!(failure.body.len(), MATCHED_BODY - 1, "the character that does not fit is left out whole");
    assert_eq!(failure.message.len(), MATCHED_BODY);
    let stderr = failure.stderr_tail.unwrap();
    assert!(stderr.ends_with("tail") && stderr.len() <= MAX_STDERR);
    assert_eq!(
        warnings.codes(),
        [(WarningCode::Cut, "failure.stderr_tail"), (WarningCode::Cut, "failure.body")]
    );
}

/// DESIGN §9: what is cut here is masked later, when nothing tells any more what half a secret was.
#[test]
fn a_cut_leaves_no_half_of_a_secret() {
    let token = format!("ghp_{}", "A1".repeat(18));
    for shift in 0..60 {
        let filler = |n: usize| "fill ".repeat(n / 5 + 1)[..n].to_owned();
        let (failure, _) = read(v1::Failure {
            body: format!("{} {token} rest", filler(MATCHED_BODY - shift)),
            stderr_tail: format!("x\npassword={token}\n{}", filler(MAX_STDERR - shift)),
            ..v1::Failure::default()
        });
        for text in [failure.body, failure.stderr_tail.unwrap()] {
            let masked = checker::redact::mask(&text);
            assert!(!masked.contains("A1A1"), "{shift}: {masked}");
        }
    }
}

#[test]
fn floods_of_parts_are_bounded() {
    let header = v1::Header { name: "a".to_owned(), value: "v".repeat(MAX_HEADER_VALUE + 1) };
    let (failure, warnings) = read(v1::Failure {
        headers: vec![header; 10_000],
        causes: vec![v1::Cause { message: "c".repeat(100_000), ..v1::Cause::default() }; 1_000],
        ..v1::Failure::default()
    });
    assert_eq!(failure.headers.len(), MAX_HEADERS);
    assert_eq!(failure.causes.len(), MAX_CAUSES);
    assert!(failure.causes.iter().all(|it| it.message.len() == MAX_CAUSE));
    assert!(warnings.into_vec().len() <= 20, "warnings are bounded too");
}
