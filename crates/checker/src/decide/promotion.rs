//! Promotion with evidence (DESIGN §2.3, C7): like failures of several users ask for a diagnosis of the tool.
//!
//! Each user's own verdict stays as it is, at (USER, user); no status is set at the tool's home and nothing at GLOBAL.
//! Failures under a user's own cooldown are repetitions and count for nothing further.

use chrono::TimeDelta;
use health_model::promotion::{self, Tally};
use health_model::verdict::Evidence;
use health_model::{
    Classification, CredentialOwner, Document, DocumentKey, Effect, EffectKind, Scope, Target,
};

use crate::redact;

use super::finding::Finding;
use super::{Call, JobRequest, scope};

/// What one more user's failure leads to at the tool's home.
#[derive(Debug, Default)]
pub(super) struct Promotion {
    /// The failure is noted there.
    pub(super) effect: Option<Effect>,
    /// It is the one that makes them enough.
    pub(super) job: Option<JobRequest>,
    /// How many users, in how short a time.
    pub(super) evidence: Option<Evidence>,
}

/// Where the tool is at home, and what is on record there of this kind of failure.
struct Home<'a> {
    key: DocumentKey,
    document: Option<&'a Document>,
    pseudonym: String,
    tally: Tally,
}

/// A failure that opens the user's window. It is noted until one makes the users enough and asks for a diagnosis; while
/// that one counts, further ones change nothing.
pub(super) fn of(call: Call<'_>, finding: &Finding<'_>) -> Promotion {
    let Some(home) = home(call, finding) else { return Promotion::default() };
    let is_enough = home.tally.users >= call.policy.promotion.users;
    let evidence = is_enough.then(|| home.evidence(call));
    if home.tally.has_asked {
        return Promotion { evidence, ..Promotion::default() };
    }
    if is_enough && has_fresh_diagnosis(call, finding, home.document) {
        // Not noted: once the diagnosis has aged, the next failure is the one that makes them enough.
        return Promotion { evidence, ..Promotion::default() };
    }
    let job = evidence.as_ref().map(|it| JobRequest {
        key: home.key.clone(),
        signature: finding.signature.to_string(),
        key_user: None,
        user_id: call.caller.user_id.clone(),
        session_id: call.caller.session_id.clone(),
        detail: redact::cut(
            &format!("like failures: {}\n{}", it.seen, redact::detail(call.failure)),
            redact::DETAIL_LIMIT,
        ),
    });
    let kind = EffectKind::NoteLikeFailure {
        signature: finding.signature.to_string(),
        user: home.pseudonym,
        asks: is_enough,
    };
    Promotion { effect: Some(Effect { key: home.key, kind }), job, evidence }
}

/// What is told besides while a cooldown answers: that enough users have failed and a diagnosis was asked for.
pub(super) fn on_record(call: Call<'_>, finding: &Finding<'_>) -> Option<Evidence> {
    let home = home(call, finding)?;
    let is_enough = home.tally.has_asked && home.tally.users >= call.policy.promotion.users;
    is_enough.then(|| home.evidence(call))
}

/// `None` where the failure says nothing of the tool: it is not a user's own credential, it came with a target of the
/// call's, or the tool lives in one user's session.
fn home<'a>(call: Call<'a>, finding: &Finding<'_>) -> Option<Home<'a>> {
    let Call { caller, tool, failure, view, policy, now, .. } = call;
    let is_users_own = finding.classification == Classification::UserSpecificTechnical
        && scope::owner(failure) == CredentialOwner::User;
    if !is_users_own || tool.target == Some(Target::Argument) {
        return None;
    }
    let user = caller.user_id.as_deref()?;
    let at = tool.home_scope();
    if !matches!(at, Scope::Project | Scope::Tenant) {
        return None;
    }
    let key = caller.container(at, None)?.document(&tool.name);
    let document = view.cascade.at(at);
    let pseudonym = promotion::pseudonym(&caller.tenant_id, user);
    let tally = promotion::tally(document, &finding.signature, &pseudonym, policy, now);
    Some(Home { key, document, pseudonym, tally })
}

/// Whether somebody has looked lately, whatever they found.
fn has_fresh_diagnosis(call: Call<'_>, finding: &Finding<'_>, home: Option<&Document>) -> bool {
    home.and_then(|it| it.last_diagnosis.as_ref()).is_some_and(|it| {
        it.signature.as_deref() == Some(finding.signature.as_ref())
            && call.now - it.at < call.policy.fresh_diagnosis
    })
}

impl Home<'_> {
    fn evidence(&self, call: Call<'_>) -> Evidence {
        let wanted = call.policy.promotion;
        let Tally { users, since, .. } = self.tally;
        Evidence {
            field: "likeFailures".to_owned(),
            expected: format!("{} users within {}", wanted.users, span(wanted.window)),
            seen: format!("{users} users within {}", span(call.now - since)),
        }
    }
}

/// Whole minutes as minutes, else whole seconds, rounded up and at least one.
fn span(span: TimeDelta) -> String {
    let seconds = span.num_milliseconds().saturating_add(999).div_euclid(1_000).max(1);
    if seconds % 60 == 0 { format!("{} min", seconds / 60) } else { format!("{seconds} s") }
}
