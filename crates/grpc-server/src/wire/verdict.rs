//! The verdict as the wire shows it.

use agrajag_proto::v1;
use health_model::Verdict;
use health_model::verdict::Evidence;
use health_service::check::{CheckAnswer, HealthSummary};

use super::time::timestamp;
use super::words;

/// The verdict of a Check. With `full` the evidence too: without it the answer fits one packet (DESIGN §8).
pub(crate) fn checked(answer: &CheckAnswer, full: bool) -> v1::Verdict {
    let mut wire = verdict(&answer.verdict, full);
    if let Some(cooldown) = &mut wire.cooldown {
        cooldown.hits = answer.hits;
    }
    wire.job_id = answer.job_id.map(|it| it.to_string()).unwrap_or_default();
    wire.health = Some(summary(&answer.health));
    wire.durability = super::health::durability(answer.durability).into();
    wire
}

/// What is said of the failure itself; health, job and durability are the caller's to add.
pub(crate) fn verdict(it: &Verdict, full: bool) -> v1::Verdict {
    let classification = if it.is_health_signal {
        words::wire_classification(it.classification)
    } else {
        v1::Classification::NotASignal
    };
    v1::Verdict {
        classification: classification.into(),
        signature: it.signature.clone(),
        rule_id: it.rule_id.clone(),
        fault: words::wire_fault(it.fault).into(),
        remedy: words::wire_remedy(it.remedy).into(),
        retry_at: it.retry_at.map(timestamp),
        retry_basis: it.retry_basis.map_or(v1::RetryBasis::None, words::wire_retry_basis).into(),
        retry_safety: words::wire_retry_safety(it.retry_safety).into(),
        dispatch_code: it.dispatch_code.map_or(0, |it| words::wire_dispatch_code(it).into()),
        text: it.model_text.clone(),
        user_hint: it.user_hint.clone().unwrap_or_default(),
        cooldown: it.cooldown.as_ref().map(|it| v1::Cooldown {
            active: it.active,
            until: Some(timestamp(it.until)),
            hits: 0,
            episodes: it.episodes,
            scope: words::wire_scope(it.scope).into(),
        }),
        diagnosis: words::wire_diagnosis_state(it.diagnosis).into(),
        job_id: String::new(),
        health: None,
        durability: v1::Durability::None.into(),
        evidence: if full { it.evidence.iter().map(evidence).collect() } else { Vec::new() },
    }
}

pub(crate) fn summary(it: &HealthSummary) -> v1::HealthSummary {
    v1::HealthSummary {
        state: words::wire_state(it.state).into(),
        scope: it.scope.map_or(0, |it| words::wire_scope(it).into()),
        since: it.since.map(timestamp),
        expected_recovery_at: it.expected_recovery_at.map(timestamp),
        changed: it.changed,
    }
}

pub(super) fn evidence(it: &Evidence) -> v1::Evidence {
    v1::Evidence { field: it.field.clone(), expected: it.expected.clone(), seen: it.seen.clone() }
}
