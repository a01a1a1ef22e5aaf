//! Health as the wire shows it: documents, what a tool reads, what became of reports.

use agrajag_proto::v1;
use health_model::{Document, Hold, Instant, Policy, cascade};
use health_service::check::Durability;
use health_service::lookup::{ToolHealth, Visibility};
use ports::{Counter, Versioned};

use super::caller::wire_key;
use super::time::timestamp;
use super::words;

pub(crate) const fn durability(it: Durability) -> v1::Durability {
    match it {
        Durability::Committed => v1::Durability::Committed,
        Durability::None => v1::Durability::None,
    }
}

/// One tool of a lookup or watch.
pub(crate) fn tool_health(it: ToolHealth) -> v1::ToolHealth {
    v1::ToolHealth {
        tool_name: it.tool_name,
        state: words::wire_state(it.state).into(),
        visibility: visibility(it.visibility).into(),
        words: it.words,
        retry_at: it.retry_at.map(timestamp),
        reason_code: it.reason_code,
        scope: it.scope.map_or(0, |it| words::wire_scope(it).into()),
        since: it.since.map(timestamp),
        report_success: it.report_success,
        hold: it.hold.as_ref().map(hold),
        classification: it.classification.map_or(0, |it| words::wire_classification(it).into()),
    }
}

const fn visibility(it: Visibility) -> v1::Visibility {
    match it {
        Visibility::Listed => v1::Visibility::Listed,
        Visibility::Deferred => v1::Visibility::Deferred,
        Visibility::Hidden => v1::Visibility::Hidden,
    }
}

/// A document with its counters, as it reads at `now`.
pub(crate) fn document(
    versioned: &Versioned,
    counters: &[Counter],
    policy: &Policy,
    now: Instant,
) -> v1::HealthDocument {
    let Versioned { document, version } = versioned;
    let health = document.health.as_ref();
    let state = cascade::Cascade::new([document]).state(policy, now).effective;
    v1::HealthDocument {
        key: Some(wire_key(&document.key)),
        status: health.map_or(0, |it| words::wire_status(it.status).into()),
        state: words::wire_state(state).into(),
        since: health.map(|it| timestamp(it.since)),
        last_checked_at: document.last_checked_at.map(timestamp),
        expected_recovery_at: health.and_then(|it| it.expected_recovery_at).map(timestamp),
        last_diagnosis: document.last_diagnosis.as_ref().map(diagnosis),
        history: document.history.iter().rev().map(history_entry).collect(),
        cooldowns: document.cooldowns.iter().map(|it| cooldown(document, it, counters)).collect(),
        hold: document.hold.as_ref().map(hold),
        created_at: Some(timestamp(document.created_at)),
        updated_at: Some(timestamp(document.updated_at)),
        version: *version,
        classification: health.map_or(0, |it| words::wire_classification(it.classification).into()),
        signature: health.and_then(|it| it.signature.clone()).unwrap_or_default(),
        origin: health.map_or(0, |it| words::wire_origin(it.origin).into()),
        recovery_basis: health
            .filter(|it| it.expected_recovery_at.is_some())
            .map_or(0, |it| words::wire_eta_basis(it.eta_basis).into()),
        last_success_at: document.last_success_at.map(timestamp),
        connection: document.connection.as_ref().map(|it| v1::Connection {
            id: it.id.clone(),
            sequence: it.sequence,
            open: it.open,
            at: Some(timestamp(it.at)),
        }),
    }
}

fn hold(it: &Hold) -> v1::Hold {
    v1::Hold {
        status: words::wire_status(it.status).into(),
        reason: it.reason.clone(),
        until: it.until.map(timestamp),
        by: it.by.clone(),
        since: Some(timestamp(it.since)),
    }
}

fn diagnosis(it: &health_model::Diagnosis) -> v1::Diagnosis {
    v1::Diagnosis {
        classification: words::wire_classification(it.classification).into(),
        signature: it.signature.clone().unwrap_or_default(),
        user_id: it.user_id.clone().unwrap_or_default(),
        note: it.note.clone(),
        by: it.by.clone(),
        at: Some(timestamp(it.at)),
    }
}

fn history_entry(it: &health_model::HistoryEntry) -> v1::HistoryEntry {
    v1::HistoryEntry {
        classification: words::wire_classification(it.classification).into(),
        status: words::wire_status(it.status).into(),
        signature: it.signature.clone().unwrap_or_default(),
        user_id: it.user_id.clone().unwrap_or_default(),
        note: it.note.clone(),
        by: it.by.clone(),
        at: Some(timestamp(it.at)),
        recovery_at: it.recovery_at.map(timestamp),
    }
}

/// Hits and the last trigger are beside the document, under the instant at which the window was opened (DESIGN §8).
fn cooldown(document: &Document, it: &health_model::Cooldown, counters: &[Counter]) -> v1::CooldownEntry {
    let counter = counters.iter().find(|counter| {
        counter.key == document.key
            && counter.signature == it.signature
            && counter.user_id == it.user_id
            && counter.episode == it.opened_at.timestamp_micros()
    });
    v1::CooldownEntry {
        signature: it.signature.clone(),
        user_id: it.user_id.clone().unwrap_or_default(),
        until: Some(timestamp(it.next_spawn_allowed_at)),
        hits: counter.map_or(0, |it| it.hits),
        episodes: it.episodes,
        classification: words::wire_classification(it.classification).into(),
        last_triggered_at: counter.map(|it| timestamp(it.last_triggered_at)),
        opened_at: Some(timestamp(it.opened_at)),
        cleared_at: it.cleared_at.map(timestamp),
    }
}

#[cfg(test)]
mod tests;
