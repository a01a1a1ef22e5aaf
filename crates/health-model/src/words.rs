//! The words that a language model reads (R69…R76, C22, C23; DESIGN §10).
//!
//! Fixed templates only: no text from outside gets in, but for the tool's name and a rule's signature. Times are
//! absolute and rounded, so that words change only when the state does and a prompt cache stays warm.
//!
//! - Here: what is said of a tool before it is called.
//! - `reason`: why a call failed, where more is known than the class. `failure`: what is said after it failed.

mod failure;
mod reason;

use chrono::{DurationRound, TimeDelta};

use crate::Instant;
use crate::cascade::State;
use crate::vocabulary::{EffectiveStatus, Scope};

pub use failure::{Failed, failure_text, user_hint};
pub use reason::Reason;

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

fn eta_minute(at: Instant) -> String {
    let down = at.duration_trunc(ETA_GRID).unwrap_or(at);
    minute(if down < at { crate::cooldown::saturating_add(down, ETA_GRID) } else { down })
}
