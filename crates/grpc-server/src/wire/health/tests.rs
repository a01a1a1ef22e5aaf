//! Documents as the wire shows them.

use chrono::{TimeDelta, TimeZone as _};
use health_model::document::{Connection, Diagnosis, Health, HistoryEntry};
use health_model::vocabulary::{Classification, EtaBasis, Origin, Status};
use health_model::{Cooldown, DocumentKey, Scope};

use super::*;

fn at(minute: u32) -> Instant {
    chrono::Utc.with_ymd_and_hms(2026, 11, 30, 14, minute, 0).unwrap()
}

fn full() -> Document {
    let key = DocumentKey {
        tenant_id: "acme".to_owned(),
        scope: Scope::Project,
        scope_id: "essay".to_owned(),
        tool_name: "jira_search".to_owned(),
    };
    let entry = |classification, status, minute| HistoryEntry {
        status,
        classification,
        note: "n".to_owned(),
        by: "checker".to_owned(),
        at: at(minute),
        recovery_at: Some(at(minute + 5)),
        signature: Some("http-503".to_owned()),
        user_id: Some("alice".to_owned()),
    };
    Document {
        health: Some(Health {
            status: Status::Down,
            classification: Classification::TechnicallyBroken,
            since: at(1),
            expected_recovery_at: Some(at(10)),
            announced_recovery_at: Some(at(10)),
            eta_basis: EtaBasis::RetryAfter,
            origin: Origin::Checker,
            signature: Some("http-503".to_owned()),
        }),
        last_checked_at: Some(at(2)),
        last_diagnosis: Some(Diagnosis {
            classification: Classification::Unclear,
            note: String::new(),
            by: "agrajag-engine/1".to_owned(),
            at: at(2),
            signature: None,
            user_id: None,
        }),
        history: vec![
            entry(Classification::Working, Status::Ok, 0),
            entry(Classification::TechnicallyBroken, Status::Down, 1),
        ],
        cooldowns: vec![Cooldown {
            signature: "http-503".to_owned(),
            user_id: None,
            classification: Classification::TechnicallyBroken,
            opened_at: at(1),
            next_spawn_allowed_at: at(6),
            episodes: 2,
            cleared_at: None,
        }],
        hold: None,
        connection: Some(Connection { id: "c1".to_owned(), sequence: 7, at: at(4), open: true }),
        last_success_at: Some(at(0)),
        ..Document::new(key, at(0))
    }
}

fn shown(document: Document, counters: &[Counter], now: Instant) -> v1::HealthDocument {
    super::document(&Versioned { document, version: 3 }, counters, &Policy::default(), now)
}

/// R33 to R37: every field of the document is shown.
#[test]
fn a_document_is_shown_whole() {
    let document = full();
    let counter = Counter {
        key: document.key.clone(),
        signature: "http-503".to_owned(),
        user_id: None,
        episode: at(1).timestamp_micros(),
        hits: 41,
        last_triggered_at: at(5),
    };
    let of_an_older_episode = Counter { episode: 0, hits: 9, ..counter.clone() };
    let it = shown(document, &[of_an_older_episode, counter], at(3));
    assert_eq!((it.status(), it.state()), (v1::HealthStatus::Down, v1::ToolState::Down));
    assert_eq!(it.since, Some(timestamp(at(1))));
    assert_eq!(it.last_checked_at, Some(timestamp(at(2))));
    assert_eq!(it.expected_recovery_at, Some(timestamp(at(10))));
    assert_eq!(
        (it.origin(), it.recovery_basis()),
        (v1::StatusOrigin::Checker, v1::RecoveryBasis::RetryAfter)
    );
    assert_eq!(it.signature, "http-503");
    assert_eq!(it.last_diagnosis.as_ref().map(|it| it.by.as_str()), Some("agrajag-engine/1"));
    let newest_first: Vec<_> = it.history.iter().map(|it| it.classification()).collect();
    assert_eq!(newest_first, [v1::Classification::TechnicallyBroken, v1::Classification::Working]);
    let cooldown = &it.cooldowns[0];
    assert_eq!((cooldown.hits, cooldown.episodes, cooldown.until), (41, 2, Some(timestamp(at(6)))));
    assert_eq!(it.connection.as_ref().map(|it| (it.sequence, it.open)), Some((7, true)));
    assert_eq!(it.version, 3);
}

/// R74: past its expected recovery a document reads RETESTING, and a hold wins over it.
#[test]
fn the_state_follows_the_clock_and_the_hold() {
    assert_eq!(shown(full(), &[], at(11)).state(), v1::ToolState::Retesting);
    let mut held = full();
    held.hold = Some(Hold {
        status: Status::Degraded,
        reason: "maintenance".to_owned(),
        since: at(2),
        until: Some(at(12)),
        by: "ops".to_owned(),
    });
    let it = shown(held.clone(), &[], at(11));
    assert_eq!((it.status(), it.state()), (v1::HealthStatus::Down, v1::ToolState::Degraded));
    assert_eq!(it.hold.map(|it| it.reason), Some("maintenance".to_owned()));
    assert_eq!(shown(held, &[], at(12) + TimeDelta::seconds(1)).state(), v1::ToolState::Retesting);
}

/// C3: a document that holds cooldowns only has no status.
#[test]
fn a_document_without_a_verdict_has_no_status() {
    let mut document = full();
    document.health = None;
    let it = shown(document, &[], at(3));
    assert_eq!((it.status(), it.state()), (v1::HealthStatus::Unspecified, v1::ToolState::Ok));
    assert_eq!(
        (it.origin(), it.since, it.recovery_basis()),
        (v1::StatusOrigin::Unspecified, None, v1::RecoveryBasis::Unspecified)
    );
    assert_eq!(it.cooldowns.len(), 1);
}
