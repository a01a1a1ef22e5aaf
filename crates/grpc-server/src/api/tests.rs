//! How answers of the use cases come out on the wire: parts, order, reasons.

use chrono::TimeZone as _;
use health_model::vocabulary::EffectiveStatus;
use health_service::lookup::{ToolHealth, Visibility};
use v1::watch_response::Event;

use super::*;

fn at() -> Instant {
    chrono::Utc.with_ymd_and_hms(2026, 11, 30, 14, 0, 0).unwrap()
}

fn message(event: WatchEvent, notes: Vec<Note>) -> WatchMessage {
    WatchMessage { event, evaluated_at: at(), revision: "e:5".parse().ok(), stale: false, notes }
}

fn tool(n: usize) -> ToolHealth {
    ToolHealth {
        tool_name: format!("tool_{n}"),
        state: EffectiveStatus::Down,
        visibility: Visibility::Listed,
        words: String::new(),
        retry_at: None,
        reason_code: String::new(),
        classification: None,
        scope: None,
        since: None,
        report_success: true,
        hold: None,
    }
}

#[test]
fn a_large_snapshot_comes_in_parts_and_the_last_one_says_so() {
    for (n, expected) in [(0, vec![0]), (1, vec![1]), (1_000, vec![1_000]), (2_001, vec![1_000, 1_000, 1])] {
        let snapshot = WatchEvent::Snapshot((0..n).map(tool).collect());
        let parts = watch_parts(message(snapshot, vec![Note::StoreAway]), Warnings::default());
        let read: Vec<(usize, bool)> = parts
            .iter()
            .map(|it| match it.event.as_ref() {
                Some(Event::Snapshot(it)) => (it.tools.len(), it.last),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(read.iter().map(|it| it.0).collect::<Vec<_>>(), expected);
        assert!(read.iter().rev().skip(1).all(|it| !it.1) && read.last().unwrap().1);
        assert!(parts.iter().all(|it| it.revision == "e:5"));
        let warned: Vec<usize> = parts.iter().map(|it| it.warnings.len()).collect();
        assert_eq!(warned.iter().sum::<usize>(), 1, "a warning is told once");
    }
}

#[test]
fn changes_and_heartbeats_are_told_as_such() {
    let parts = watch_parts(message(WatchEvent::Change(vec![tool(1)]), Vec::new()), Warnings::default());
    assert!(
        matches!(&parts[..], [v1::WatchResponse { event: Some(Event::Change(it)), .. }] if it.tools.len() == 1)
    );
    let parts = watch_parts(message(WatchEvent::Heartbeat, Vec::new()), Warnings::default());
    assert!(matches!(&parts[..], [v1::WatchResponse { event: Some(Event::Heartbeat(_)), .. }]));
}

/// DESIGN §5: per-item status, request order.
#[test]
fn results_of_a_batch_keep_the_requests_order() {
    let names = ["a", "b", "c"].map(str::to_owned).to_vec();
    let violation = Violation { field: "successes[1].tool.name".to_owned(), message: "is empty".to_owned() };
    let results = [10, 20];
    let merged = in_order(
        names,
        vec![Ok(0), Err(violation), Ok(1)],
        &results,
        |name, it| format!("{name}={it}"),
        |name, status| format!("{name}!{}", status.message),
    );
    assert_eq!(merged, ["a=10", "b!`successes[1].tool.name` is empty", "c=20"]);
}

#[test]
fn what_could_not_be_stored_says_why() {
    let result = success::SuccessResult {
        outcome: success::SuccessOutcome::NotStored,
        state: EffectiveStatus::Down,
        n_cooldowns_cleared: 0,
    };
    let wire = success_result("a".to_owned(), &result);
    assert_eq!(wire.outcome(), v1::SuccessOutcome::NotStored);
    assert_eq!(wire.status.unwrap().reason(), ErrorReason::StoreUnavailable);
    let result = event::EventResult { outcome: event::EventOutcome::NoScopeId, state: EffectiveStatus::Ok };
    let wire = event_result("a".to_owned(), &result);
    assert_eq!(wire.outcome(), v1::EventOutcome::Unspecified);
    assert_eq!(wire.status.unwrap().field, "caller.session_id");
}
