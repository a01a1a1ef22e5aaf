//! The words that a language model reads (R69…R76, C22, C23; DESIGN §10).
//!
//! Fixed templates only: no text from outside gets in, but for the tool's name and a rule's signature. Times are
//! absolute and rounded, so that words change only when the state does and a prompt cache stays warm.

use chrono::{DurationRound, TimeDelta};

use crate::Instant;
use crate::cascade::State;
use crate::vocabulary::{Classification, EffectiveStatus, Remedy, RetryBasis, Scope};

/// Words keep the first expected recovery until it moves by more than this.
pub const ETA_TOLERANCE: TimeDelta = TimeDelta::minutes(10);

/// An entry whose expected recovery is nearer than this has no words.
pub const SHORT_ETA: TimeDelta = TimeDelta::minutes(2);

/// Expected recoveries are rounded up to this.
const ETA_GRID: TimeDelta = TimeDelta::minutes(5);

/// The suffix of a tool's line: `None` for OK and RETESTING, and where the expected recovery is under two minutes
/// away. Cooldowns never show (R76).
#[must_use]
pub fn annotation(state: &State<'_>, now: Instant) -> Option<String> {
    let (since, eta) = match (state.hold, state.health) {
        (Some(hold), _) => (hold.since, hold.until),
        (None, Some(health)) => {
            let real = health.expected_recovery_at;
            (health.since, health.announced_recovery_at.filter(|it| *it > now).or(real))
        }
        (None, None) => return None,
    };
    let real_eta = state.health.map_or(eta, |it| it.expected_recovery_at);
    if real_eta.is_some_and(|it| it - now < SHORT_ETA) {
        return None;
    }
    match state.effective {
        EffectiveStatus::Ok | EffectiveStatus::Retesting => None,
        EffectiveStatus::Degraded => {
            Some(format!("intermittent since {}, a retry is tolerated", minute(since)))
        }
        EffectiveStatus::Down => {
            let whom = match state.decided_by.map(|it| it.key.scope) {
                Some(Scope::User) => " for this user",
                Some(Scope::Session) => " in this session",
                _ => "",
            };
            Some(match eta {
                Some(eta) => format!(
                    "currently unavailable{whom}, expected back at {}; do not call it, plan without it",
                    eta_minute(eta)
                ),
                None => {
                    format!("unavailable{whom} since {}; do not call it, plan without it", minute(since))
                }
            })
        }
    }
}

/// When [`annotation`] of this state changes without a write, if ever.
#[must_use]
pub fn annotation_changes_at(state: &State<'_>, now: Instant) -> Option<Instant> {
    let health = state.health;
    let short = health.and_then(|it| it.expected_recovery_at).or(state.hold.and_then(|it| it.until));
    let announced = health.and_then(|it| it.announced_recovery_at);
    [short.map(|it| it - SHORT_ETA), announced, state.next_change_at]
        .into_iter()
        .flatten()
        .filter(|it| *it > now)
        .min()
}

/// What the words of a failed call are made of.
#[derive(Debug, Clone, Copy)]
pub struct Failed<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The signature of the error.
    pub signature: &'a str,
    /// The class.
    pub classification: Classification,
    /// What to do.
    pub remedy: Remedy,
    /// When to call again, and how that is founded.
    pub retry: Option<(Instant, RetryBasis)>,
    /// Whether this failed call is known to be a refusal by policy or a cancellation.
    pub is_health_signal: bool,
    /// The tool is in no registry.
    pub is_unknown_tool: bool,
}

/// The text for the model after a failed call. Begins with the failure, says that no data came back, then what to do.
#[must_use]
pub fn failure_text(failed: &Failed<'_>) -> String {
    let Failed { tool, signature, .. } = failed;
    let what = match failed.classification {
        _ if failed.is_unknown_tool => "no tool of this name is registered",
        _ if !failed.is_health_signal => "the call was refused or cancelled on this side",
        Classification::TechnicallyBroken => "the tool is out of order for everybody who shares it",
        Classification::UserSpecificTechnical => "this user's access to it does not work",
        Classification::UserPermission => "this user lacks the right to do that",
        Classification::UserInput => "the arguments do not fit; the tool itself works",
        Classification::Intermittent => "a passing fault or a rate limit",
        Classification::Working => "the call failed although the tool was seen to work",
        Classification::Unclear => "the cause is not known yet",
    };
    let advice = match failed.remedy {
        Remedy::FixInput if failed.is_unknown_tool => {
            "Check the name against the tools that are offered.".to_owned()
        }
        Remedy::FixInput => "Correct the arguments and call it again.".to_owned(),
        Remedy::RetryAt => match failed.retry {
            Some((at, _)) => format!("Do not call it again before {}.", second(at)),
            None => "It may be called again later.".to_owned(),
        },
        Remedy::Reauthenticate => {
            "Ask the user to log in again or renew the credential; do not call it before.".to_owned()
        }
        Remedy::AskAdmin => "Calling again does not help; tell the user which right is missing.".to_owned(),
        Remedy::ReopenSession => {
            "Its host is not connected; plan without it until the host is back.".to_owned()
        }
        Remedy::PlanWithout => match failed.retry {
            Some((at, _)) => format!("Plan without it; do not call it before {}.", second(at)),
            None => "Plan without it.".to_owned(),
        },
        Remedy::AwaitDiagnosis => match failed.retry {
            Some((at, _)) => format!("It is being diagnosed; do not call it again before {}.", second(at)),
            None => "It is being diagnosed.".to_owned(),
        },
    };
    format!(
        "Call of `{tool}` failed ({signature}): {what}. No data came back: do not report or assume a result. {advice}"
    )
}

/// The block for after the prompt-cache marker: one line a tool, in the order given, then what recovered. `None` if
/// there is nothing to say.
#[must_use]
pub fn block<'a>(
    annotated: impl IntoIterator<Item = (&'a str, &'a str)>,
    recovered: &[&str],
) -> Option<String> {
    let mut text = String::new();
    for (tool, words) in annotated {
        text.push_str("- ");
        text.push_str(tool);
        text.push_str(": ");
        text.push_str(words);
        text.push('\n');
    }
    if !recovered.is_empty() {
        text.push_str("- available again: ");
        text.push_str(&recovered.join(", "));
        text.push('\n');
    }
    if text.is_empty() {
        return None;
    }
    Some(format!("Tool availability:\n{text}"))
}

fn minute(at: Instant) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

fn second(at: Instant) -> String {
    let up = at.duration_trunc(TimeDelta::seconds(1)).unwrap_or(at);
    let up = if up < at { crate::cooldown::saturating_add(up, TimeDelta::seconds(1)) } else { up };
    up.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn eta_minute(at: Instant) -> String {
    let down = at.duration_trunc(ETA_GRID).unwrap_or(at);
    minute(if down < at { crate::cooldown::saturating_add(down, ETA_GRID) } else { down })
}
