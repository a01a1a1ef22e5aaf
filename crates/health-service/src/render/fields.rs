//! What a program reads of a verdict: one object, spelt the same in every form that has room for it.

use chrono::SecondsFormat;
use health_model::vocabulary::{DiagnosisState, Fault, Remedy, RetryBasis, RetrySafety, Scope};
use health_model::{Instant, Verdict};
use serde::Serialize;

/// The class of a call that says nothing about the tool's health: cancelled, or refused on the caller's side.
const NOT_A_SIGNAL: &str = "NOT_A_SIGNAL";

/// The fields, in the order in which they are written. Words are those of the vocabulary.
#[derive(Debug, Serialize)]
pub(super) struct Fields<'a> {
    classification: &'static str,
    signature: &'a str,
    fault: Fault,
    remedy: Remedy,
    /// RFC 3339, as exact as the verdict says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_basis: Option<RetryBasis>,
    retry_safety: RetrySafety,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<Scope>,
    diagnosis: DiagnosisState,
    #[serde(skip_serializing_if = "str::is_empty")]
    rule_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_hint: Option<&'a str>,
}

pub(super) fn fields(verdict: &Verdict) -> Fields<'_> {
    Fields {
        classification: classification(verdict),
        signature: &verdict.signature,
        fault: verdict.fault,
        remedy: verdict.remedy,
        retry_at: verdict.retry_at.map(rfc3339),
        retry_basis: verdict.retry_basis,
        retry_safety: verdict.retry_safety,
        scope: verdict.scope,
        diagnosis: verdict.diagnosis,
        rule_id: &verdict.rule_id,
        user_hint: verdict.user_hint.as_deref().filter(|it| !it.is_empty()),
    }
}

/// The class in one word.
pub(super) fn classification(verdict: &Verdict) -> &'static str {
    if verdict.is_health_signal { verdict.classification.as_str() } else { NOT_A_SIGNAL }
}

fn rfc3339(at: Instant) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}
