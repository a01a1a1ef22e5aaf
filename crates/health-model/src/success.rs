//! What one successful call clears (R54, R55, R61, C2; DESIGN §11.3).
//!
//! A success is evidence only against what began before the call did: a verdict that is younger than the call's
//! start stays. It speaks against every older verdict of the caller's cascade, not only the one that is shown: what
//! works for one caller of a project is not down for the project (ADR 0011). Holds and GLOBAL entries stay; where GLOBAL
//! is shown the caller's home scope gets an OK entry instead. Other users' entries are never touched.
//! Like failures of several users are evidence against the tool, and a success of anybody is evidence for it: it drops
//! them (ADR 0016).

use crate::Instant;
use crate::cascade::Cascade;
use crate::document::{Cooldown, LikeFailure};
use crate::key::{Caller, DocumentKey, Tool};
use crate::policy::{ClearOnSuccess, Policy};
use crate::promotion;
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
    let mut effects: Vec<Effect> = disproved(cascade, caller, tool, policy, now)
        .filter(|(_, since)| *since < evidence.started_at)
        .map(|(key, _)| Effect { key, kind: EffectKind::Mark(Mark::working("success", Origin::Success)) })
        .collect();
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
        let disproves =
            |it: &LikeFailure| it.at < evidence.started_at && promotion::is_counted(it, policy, now);
        if document.like_failures.iter().any(disproves) {
            let kind = EffectKind::ForgetLikeFailures { before: evidence.started_at };
            effects.push(Effect { key: document.key.clone(), kind });
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
    disproved(cascade, caller, tool, policy, now).next().is_some()
        || cascade.documents().filter(|it| it.key.scope != Scope::Global).any(|document| {
            document.cooldowns.iter().any(|it| {
                crate::cascade::applies(it, caller.user_id.as_deref())
                    && (it.is_active(now) || it.is_outlived(now))
                    && policy.clear_on_success != ClearOnSuccess::Signature
                    && is_cleared(it, None, policy.clear_on_success)
            }) || document.like_failures.iter().any(|it| promotion::is_counted(it, policy, now))
        })
}

/// The documents that a success of this caller sets OK, with the time that their trouble began. None under a hold: an
/// administrator's word is not touched.
fn disproved<'a>(
    cascade: &'a Cascade<'_>,
    caller: &'a Caller,
    tool: &'a Tool,
    policy: &Policy,
    now: Instant,
) -> impl Iterator<Item = (DocumentKey, Instant)> + 'a {
    let state = cascade.state(policy, now);
    let global = state.decided_by.filter(|it| it.key.scope == Scope::Global).map(|it| it.key.clone());
    let is_held = state.hold.is_some();
    cascade.documents().filter(move |_| !is_held).filter_map(move |document| {
        let health = document.health.as_ref().filter(|it| it.status != Status::Ok)?;
        let key = match document.key.scope {
            Scope::Global if global.as_ref() == Some(&document.key) => {
                caller.container(tool.home_scope(), None)?.document(&tool.name)
            }
            Scope::Global => return None,
            _ => document.key.clone(),
        };
        Some((key, health.since))
    })
}

fn is_cleared(cooldown: &Cooldown, signature: Option<&str>, mode: ClearOnSuccess) -> bool {
    match mode {
        ClearOnSuccess::All => true,
        ClearOnSuccess::Technical => !cooldown.classification.is_never_health(),
        ClearOnSuccess::Signature => signature == Some(cooldown.signature.as_str()),
    }
}
