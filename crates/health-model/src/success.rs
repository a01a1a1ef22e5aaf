//! What one successful call clears (R54, R55, R61, C2; DESIGN §11.3).
//!
//! A success is evidence only against what began before the call did: a verdict that is younger than the call's
//! start stays. Holds and GLOBAL entries stay; at GLOBAL the caller's home scope gets an OK entry instead. Other
//! users' entries are never touched.

use crate::Instant;
use crate::cascade::Cascade;
use crate::document::{Cooldown, Health};
use crate::key::{Caller, DocumentKey, Tool};
use crate::policy::{ClearOnSuccess, Policy};
use crate::transition::{Effect, EffectKind, Mark};
use crate::vocabulary::{Origin, Scope, Status};

/// What is known of the successful call.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// When the call began, by our clock: received − elapsed.
    pub started_at: Instant,
    /// The signature that the caller says is over, for [`ClearOnSuccess::Signature`].
    pub signature: Option<&'a str>,
}

/// The effects of the success; empty where it changes nothing, which is the usual case.
#[must_use]
pub fn plan(
    cascade: &Cascade<'_>,
    caller: &Caller,
    tool: &Tool,
    evidence: Evidence<'_>,
    policy: &Policy,
    now: Instant,
) -> Vec<Effect> {
    let mut effects = Vec::new();
    let state = cascade.state(policy, now);
    if let (Some(document), Some(health)) = (state.decided_by, state.health)
        && is_cleared_by(health, evidence.started_at)
        && let Some(key) = written_key(&document.key, caller, tool)
    {
        effects.push(Effect { key, kind: EffectKind::Mark(Mark::working("success", Origin::Success)) });
    }
    for document in cascade.documents().filter(|it| it.key.scope != Scope::Global) {
        for cooldown in &document.cooldowns {
            if crate::cascade::applies(cooldown, caller.user_id.as_deref())
                && (cooldown.is_active(now) || cooldown.is_outlived(now))
                && cooldown.opened_at < evidence.started_at
                && is_cleared(cooldown, evidence.signature, policy.clear_on_success)
            {
                effects.push(Effect {
                    key: document.key.clone(),
                    kind: EffectKind::EndCooldown {
                        signature: cooldown.signature.clone(),
                        user_id: cooldown.user_id.clone(),
                    },
                });
            }
        }
    }
    effects
}

/// Whether a success that is reported at or after `now` could change anything: what a brain asks before it reports.
#[must_use]
pub fn is_worth_reporting(
    cascade: &Cascade<'_>,
    caller: &Caller,
    tool: &Tool,
    policy: &Policy,
    now: Instant,
) -> bool {
    let state = cascade.state(policy, now);
    let clears_status = match (state.decided_by, state.health) {
        (Some(document), Some(health)) => {
            health.status != Status::Ok && written_key(&document.key, caller, tool).is_some()
        }
        _ => false,
    };
    clears_status
        || cascade.documents().filter(|it| it.key.scope != Scope::Global).any(|document| {
            document.cooldowns.iter().any(|it| {
                crate::cascade::applies(it, caller.user_id.as_deref())
                    && (it.is_active(now) || it.is_outlived(now))
                    && policy.clear_on_success != ClearOnSuccess::Signature
                    && is_cleared(it, None, policy.clear_on_success)
            })
        })
}

fn is_cleared_by(health: &Health, started_at: Instant) -> bool {
    health.status != Status::Ok && health.since < started_at
}

fn written_key(shown: &DocumentKey, caller: &Caller, tool: &Tool) -> Option<DocumentKey> {
    match shown.scope {
        Scope::Global => Some(caller.container(tool.home_scope(), None)?.document(&tool.name)),
        _ => Some(shown.clone()),
    }
}

fn is_cleared(cooldown: &Cooldown, signature: Option<&str>, mode: ClearOnSuccess) -> bool {
    match mode {
        ClearOnSuccess::All => true,
        ClearOnSuccess::Technical => !cooldown.classification.is_never_health(),
        ClearOnSuccess::Signature => signature == Some(cooldown.signature.as_str()),
    }
}
