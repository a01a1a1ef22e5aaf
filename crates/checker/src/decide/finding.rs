//! What a failure is, before whose it is: refusals, unknown tools, the rules, the dispatch code, the target.

use std::borrow::Cow;

use chrono::TimeDelta;
use health_model::verdict::Evidence;
use health_model::words::{self, Failed, Reason};
use health_model::{
    Classification, DiagnosisState, DispatchCode, EffectiveStatus, FailureKind, Fault, HealthAction,
    NotFoundOf, Origin, Remedy, RetryBasis, Target, Verdict,
};

use crate::facts::Facts;
use crate::retry::{self, Clock, Said, Source};
use crate::rule::{CooldownSpec, RetrySpec, RuleScope};
use crate::table::RuleTable;

use super::scope::Told;
use super::{Call, Decision, advice, needs_reopening, retry_safety};

/// The signature of a failure of which only the dispatcher knew that the backend is gone (R100).
pub(super) const BACKEND_UNREACHABLE: &str = "backend-unreachable";

/// What a failure is.
pub(super) struct Finding<'a> {
    pub(super) classification: Classification,
    pub(super) signature: Cow<'a, str>,
    /// Empty where no rule decided.
    pub(super) rule_id: &'a str,
    pub(super) evidence: Vec<Evidence>,
    pub(super) cooldown: &'a CooldownSpec,
    pub(super) action: Option<HealthAction>,
    pub(super) scope: Option<RuleScope>,
    pub(super) fault: Option<Fault>,
    pub(super) remedy: Option<Remedy>,
    pub(super) note: &'a str,
    /// As answered: differs from the reported one after C24.
    pub(super) dispatch_code: Option<DispatchCode>,
    pub(super) kind: Option<FailureKind>,
    /// Which statuses the failure names.
    pub(super) told: Told,
    /// When the other side says to call again, where a rule decided that it may pass.
    pub(super) said: Option<Said>,
}

/// A finding, or an answer that needs none.
pub(super) enum Found<'a> {
    Answered(Box<Decision>),
    Finding(Finding<'a>),
}

pub(super) fn find<'a>(table: &'a RuleTable, call: Call<'a>) -> Found<'a> {
    let Call { tool, failure, .. } = call;
    let facts = table.facts(tool, failure);
    if failure.dispatch_code == Some(DispatchCode::Disallowed) {
        return answered(refusal(call, &facts, Refusal::Disallowed));
    }
    // The dispatcher's word that the backend is gone outweighs a cancellation that only names and texts tell.
    let is_cancelled = failure.kind == Some(FailureKind::Cancelled)
        || (failure.http_status.is_none()
            && failure.dispatch_code != Some(DispatchCode::BackendUnreachable)
            && facts.kind() == Some(FailureKind::Cancelled));
    if is_cancelled {
        return answered(refusal(call, &facts, Refusal::Cancelled));
    }
    if failure.dispatch_code == Some(DispatchCode::NotRegistered) {
        return not_registered(call, &facts);
    }
    let classified = table.classify_facts(&facts);
    if classified.is_fallback {
        if failure.dispatch_code == Some(DispatchCode::BackendUnreachable) {
            return Found::Finding(unreachable(call, &facts, "no rule knew better"));
        }
        if failure.not_found_of == Some(NotFoundOf::Entity) && !facts.is_literal() {
            return Found::Finding(entity_not_found(call, &facts));
        }
    }
    let rule = &classified.entry.rule;
    let mut finding = Finding {
        classification: rule.classification,
        signature: Cow::Borrowed(&rule.signature),
        rule_id: &rule.id,
        evidence: classified.evidence(&facts),
        cooldown: &rule.cooldown,
        action: rule.health_action,
        scope: rule.scope,
        fault: rule.fault,
        remedy: rule.remedy,
        note: &rule.note,
        dispatch_code: failure.dispatch_code,
        // An answer with a status came over the network: what its text says of one is about somebody else's.
        kind: if failure.http_status.is_some() && tool.target != Some(Target::Argument) {
            failure.kind
        } else {
            facts.kind()
        },
        told: Told::of(&facts),
        said: None,
    };
    blame_the_target(call, &mut finding);
    if !rule.is_health_signal {
        return answered(no_signal(call, &facts, &finding));
    }
    finding.said = said(&rule.retry, &facts, finding.classification, call.now);
    if let Some(said) = &finding.said {
        let source = crate::redact::excerpt(&said.source.to_string());
        finding.evidence.push(evidence("retry", "", &source));
    }
    Found::Finding(finding)
}

/// What a rule says is no signal: answered, and nothing is written.
fn no_signal(call: Call<'_>, facts: &Facts<'_>, finding: &Finding<'_>) -> Verdict {
    let class = finding.classification;
    let reason = Reason::of_no_signal(class, &finding.signature);
    let remedy = finding.remedy.unwrap_or_else(|| {
        advice::remedy(call, class, reason, DiagnosisState::None, None, finding.dispatch_code)
    });
    let fault = finding.fault.unwrap_or_else(|| advice::fault(call, class, finding));
    let failed = Failed {
        tool: &call.tool.name,
        signature: &finding.signature,
        classification: class,
        reason,
        remedy,
        retry: None,
        is_health_signal: false,
    };
    Verdict { fault, ..bare(call, facts, finding, &failed) }
}

/// When the other side says to call again. Texts are read only where the failure may pass by itself or says until when an
/// account is shut; else a header made for it counts.
fn said(
    spec: &RetrySpec,
    facts: &Facts<'_>,
    class: Classification,
    now: health_model::Instant,
) -> Option<Said> {
    if class.is_never_health() || class == Classification::Working {
        return None;
    }
    let failure = facts.failure();
    let header = |name: &str| retry::from_header(failure, name, None, now);
    if facts.is_literal() {
        return header("retry-after");
    }
    match spec {
        RetrySpec::Nowhere => None,
        RetrySpec::Header(name) => header(name),
        RetrySpec::Json(pointer, unit) => {
            retry::from_pointer(facts.json()?, pointer, *unit, Clock::of(failure, now))
        }
        RetrySpec::Within(length) => header("retry-after").or_else(|| {
            let at = health_model::cooldown::saturating_add(now, *length);
            Some(Said {
                at,
                basis: RetryBasis::UpperBound,
                source: Source::Text("the window of this limit".to_owned()),
            })
        }),
        RetrySpec::Common => match class {
            Classification::Intermittent | Classification::UserSpecificTechnical => retry::said(failure, now),
            _ => header("retry-after"),
        },
    }
}

fn evidence(field: &str, expected: &str, seen: &str) -> Evidence {
    Evidence { field: field.to_owned(), expected: expected.to_owned(), seen: seen.to_owned() }
}

fn answered<'a>(verdict: Verdict) -> Found<'a> {
    Found::Answered(Box::new(Decision { verdict, effects: Vec::new(), job: None, hit: None }))
}

/// The target is not the tool: a host that came with the call and cannot be reached is the input's fault, unless the rule
/// knows that the fault is on this side.
fn blame_the_target(call: Call<'_>, finding: &mut Finding<'_>) {
    let is_trouble =
        matches!(finding.classification, Classification::TechnicallyBroken | Classification::Intermittent);
    let is_ours = matches!(finding.fault, Some(Fault::Network | Fault::ToolHost));
    if call.tool.target == Some(Target::Argument)
        && is_trouble
        && !is_ours
        && finding.kind.is_some_and(is_network)
    {
        finding.classification = Classification::UserInput;
        finding.fault = Some(Fault::Target);
        finding.remedy = None;
        finding.cooldown = &CooldownSpec::Default;
        finding.scope = None;
        finding.evidence.push(evidence("target", "ARGUMENT", "ARGUMENT"));
    }
}

/// Kinds that happen on the way to the target or at its door.
const fn is_network(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::ConnectRefused
            | FailureKind::Dns
            | FailureKind::NetworkUnreachable
            | FailureKind::Tls
            | FailureKind::ConnectTimeout
            | FailureKind::ReadTimeout
            | FailureKind::Timeout
            | FailureKind::Reset
            | FailureKind::Protocol
    )
}

/// R100: only the dispatcher knew.
fn unreachable<'a>(call: Call<'a>, facts: &Facts<'_>, why: &str) -> Finding<'a> {
    let reported = call.failure.dispatch_code.map_or("nothing", |it| it.as_str());
    Finding {
        classification: Classification::TechnicallyBroken,
        signature: Cow::Borrowed(BACKEND_UNREACHABLE),
        rule_id: "",
        evidence: vec![evidence("dispatchCode", "BACKEND_UNREACHABLE", &format!("{reported}, {why}"))],
        cooldown: &CooldownSpec::Default,
        action: Some(HealthAction::MarkUnavailable),
        scope: Some(RuleScope::Home),
        fault: Some(Fault::ToolHost),
        remedy: Some(needs_reopening(call.tool, Some(DispatchCode::BackendUnreachable))),
        note: "",
        dispatch_code: Some(DispatchCode::BackendUnreachable),
        kind: call.failure.kind,
        told: Told::of(facts),
        said: None,
    }
}

/// The reporter says that what the call named does not exist: never a fault of the tool (R138, R139).
fn entity_not_found<'a>(call: Call<'a>, facts: &Facts<'_>) -> Finding<'a> {
    Finding {
        classification: Classification::UserInput,
        signature: Cow::Borrowed("entity-not-found"),
        rule_id: "",
        evidence: vec![evidence("notFoundOf", "entity", "entity")],
        cooldown: &CooldownSpec::Default,
        action: None,
        scope: None,
        fault: None,
        remedy: None,
        note: "",
        dispatch_code: call.failure.dispatch_code,
        kind: call.failure.kind,
        told: Told::of(facts),
        said: None,
    }
}

/// R1, C24: a known tool whose backend is gone is never an unknown tool. A name that nothing speaks for is one, and
/// leaves no trace: made-up names must not fill the store.
fn not_registered<'a>(call: Call<'a>, facts: &Facts<'_>) -> Found<'a> {
    let Call { view, policy, now, tool, .. } = call;
    let state = view.cascade.state(policy, now);
    let is_down = state.effective == EffectiveStatus::Down;
    let shown = state.decided_by.zip(state.health);
    if let Some((document, health)) = shown.filter(|(_, health)| is_down && health.origin == Origin::Event) {
        let finding = unreachable(call, facts, "shown DOWN by a connection event");
        let failed = Failed {
            tool: &tool.name,
            signature: &finding.signature,
            classification: finding.classification,
            reason: None,
            remedy: needs_reopening(tool, finding.dispatch_code),
            retry: health.expected_recovery_at.map(|it| (it, RetryBasis::Computed)),
            is_health_signal: true,
        };
        let verdict = bare(call, facts, &finding, &failed);
        return answered(Verdict { scope: Some(document.key.scope), ..verdict });
    }
    let is_recent = |it: health_model::Instant| now - it < policy.recent_success.max(TimeDelta::zero());
    if view.cascade.documents().filter_map(|it| it.last_success_at).any(is_recent) {
        return Found::Finding(unreachable(call, facts, "used with success not long ago"));
    }
    answered(refusal(call, facts, Refusal::UnknownTool))
}

/// Answers that change nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Cancelled,
    Disallowed,
    UnknownTool,
}

fn refusal(call: Call<'_>, facts: &Facts<'_>, refusal: Refusal) -> Verdict {
    let (classification, reason, signature, found, fault, remedy) = match refusal {
        Refusal::Cancelled => (
            Classification::Unclear,
            Reason::Stopped,
            "cancelled",
            evidence("kind", "cancelled", &facts.kind_evidence()),
            Fault::Unknown,
            Remedy::RetryAt,
        ),
        Refusal::Disallowed => (
            Classification::UserPermission,
            Reason::Disallowed,
            "disallowed",
            evidence("dispatchCode", "DISALLOWED", "DISALLOWED"),
            Fault::UserRight,
            Remedy::AskAdmin,
        ),
        Refusal::UnknownTool => (
            Classification::UserInput,
            Reason::UnknownTool,
            "not-registered",
            evidence("dispatchCode", "NOT_REGISTERED", "NOT_REGISTERED"),
            Fault::CallerInput,
            Remedy::FixInput,
        ),
    };
    let finding = Finding {
        classification,
        signature: Cow::Borrowed(signature),
        rule_id: "",
        evidence: vec![found],
        cooldown: &CooldownSpec::Default,
        action: None,
        scope: None,
        fault: Some(fault),
        remedy: Some(remedy),
        note: "",
        dispatch_code: call.failure.dispatch_code,
        kind: call.failure.kind,
        told: Told::of(facts),
        said: None,
    };
    let failed = Failed {
        tool: &call.tool.name,
        signature,
        classification,
        reason: Some(reason),
        remedy,
        retry: None,
        is_health_signal: false,
    };
    bare(call, facts, &finding, &failed)
}

/// A verdict that nothing is stored for.
fn bare(call: Call<'_>, facts: &Facts<'_>, finding: &Finding<'_>, failed: &Failed<'_>) -> Verdict {
    Verdict {
        classification: finding.classification,
        signature: finding.signature.to_string(),
        rule_id: finding.rule_id.to_owned(),
        evidence: finding.evidence.clone(),
        dispatch_code: finding.dispatch_code,
        fault: finding.fault.unwrap_or(Fault::Unknown),
        remedy: failed.remedy,
        retry_at: failed.retry.map(|(at, _)| at),
        retry_basis: failed.retry.map(|(_, basis)| basis),
        retry_safety: retry_safety(call.failure, facts.kind(), finding.classification),
        scope: None,
        cooldown: None,
        diagnosis: DiagnosisState::None,
        model_text: words::failure_text(failed),
        user_hint: words::user_hint(failed),
        is_health_signal: failed.is_health_signal,
    }
}
