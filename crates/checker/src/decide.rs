//! The decision tree (R94…R102, C3…C7): one failed call, what is known, `now` → verdict, effects, job.
//!
//! Pure: the same arguments give the same decision, so that a caller can decide again after a conflict. Writes nothing;
//! the effects are data. Reads of the documents the status, the cooldowns and the last diagnosis, never the history (R145).
//!
//! The steps:
//! 1. Cancelled calls and refusals by policy are no health signals and change nothing.
//! 2. NOT_REGISTERED is answered as unreachable where a disconnect or a recent success says that the tool exists (C24).
//! 3. The rules say what it is (`finding`).
//! 4. A target that came with the call is not the tool.
//! 5. Whose trouble it is decides the scope (`scope`).
//! 6. An active cooldown or a fresh diagnosis answers and changes nothing (R99, R200).
//! 7. Else the cooldown is opened, the status marked, an unclear failure enqueued: in one decision.
//! 8. Trouble of a user's own credential is noted at the tool's home; like failures of several users are enqueued there
//!    (`promotion`).

mod advice;
mod alone;
mod finding;
mod promotion;
mod safety;
mod scope;

use health_model::cooldown::{self, Window};
use health_model::transition::Mark;
use health_model::verdict::{CooldownSeen, Evidence};
use health_model::words::{self, Failed};
use health_model::{
    Caller, Classification, Cooldown, Diagnosis, DiagnosisState, DispatchCode, Document, DocumentKey, Effect,
    EffectKind, EtaBasis, Failure, HealthAction, Instant, Origin, Policy, Remedy, RetryBasis, Scope, Status,
    Target, Tool, Verdict, View,
};

use crate::redact;
use crate::rule::CooldownSpec;
use crate::table::RuleTable;
use finding::Finding;

pub use crate::retry::retry_after;
pub use alone::decide_alone;
pub use safety::retry_safety;

/// What a rule without `healthAction` does (C4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultAction {
    /// What the class does by default.
    #[default]
    Auto,
    /// Nothing: the specification's letter.
    None,
}

/// The constants of deciding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// What a rule without `healthAction` does.
    pub default_action: DefaultAction,
}

impl Settings {
    /// The specification's letter.
    #[must_use]
    pub const fn literal() -> Self {
        Self { default_action: DefaultAction::None }
    }
}

/// What follows from one failed call.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The answer to the caller.
    pub verdict: Verdict,
    /// What is to be written, all or nothing, together with the job; empty where nothing changes.
    pub effects: Vec<Effect>,
    /// The diagnosis to enqueue, in the same commit as the effects (R102).
    pub job: Option<JobRequest>,
    /// The cooldown window that this failure counts for (C19): the active one, or the one that `effects` opens, at `now`.
    pub hit: Option<Hit>,
}

/// A diagnosis to enqueue (R102, R196).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// The document that it is about.
    pub key: DocumentKey,
    /// The kind of error.
    pub signature: String,
    /// The user part of the coalescing key: set for the 401 and 403 family only (C6).
    pub key_user: Option<String>,
    /// Whose call failed.
    pub user_id: Option<String>,
    /// The session of the call.
    pub session_id: Option<String>,
    /// The failure, masked and cut to 2 KiB.
    pub detail: String,
}

/// One failure that a cooldown counts (C19): suppressed ones and the one that opened the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The document that holds the cooldown.
    pub key: DocumentKey,
    /// The kind of error.
    pub signature: String,
    /// The user of a user-specific cooldown.
    pub user_id: Option<String>,
    /// When the window was opened; names the episode.
    pub opened_at: Instant,
}

/// Everything that is known of one failed call.
#[derive(Clone, Copy)]
struct Call<'a> {
    caller: &'a Caller,
    tool: &'a Tool,
    failure: &'a Failure,
    view: &'a View<'a>,
    policy: &'a Policy,
    settings: &'a Settings,
    now: Instant,
}

/// Decides one failed call.
///
/// `view` holds the documents of the caller's cascade for this tool. Never fails; what cannot be told is UNCLEAR.
#[must_use]
#[expect(
    clippy::too_many_arguments,
    reason = "each is a different thing, and all are borrowed for the call alone"
)]
pub fn decide(
    table: &RuleTable,
    caller: &Caller,
    tool: &Tool,
    failure: &Failure,
    view: &View<'_>,
    policy: &Policy,
    settings: &Settings,
    now: Instant,
) -> Decision {
    let call = Call { caller, tool, failure, view, policy, settings, now };
    match finding::find(table, call) {
        finding::Found::Answered(decision) => *decision,
        finding::Found::Finding(finding) => settle(call, &finding),
    }
}

/// Where a finding belongs and what is on record there.
struct Place<'a> {
    scope: Scope,
    /// `None` = the caller has no id at the scope: answered, never stored, never widened.
    key: Option<DocumentKey>,
    document: Option<&'a Document>,
    /// The user of the cooldown.
    user: Option<&'a str>,
}

/// From what it is to what follows.
fn settle(call: Call<'_>, finding: &Finding<'_>) -> Decision {
    let Call { caller, tool, view, now, .. } = call;
    let scope = scope::of(call, finding);
    let key = match scope {
        Scope::Global => None,
        _ => caller.container(scope, None).map(|it| it.document(&tool.name)),
    };
    let user = scope::cooldown_user(call, finding, scope);
    let place = Place { scope, key, document: view.cascade.at(scope), user };
    let active = view.cascade.active_cooldown(&finding.signature, caller.user_id.as_deref(), now);
    let hit = active.map(|(document, it)| Hit {
        key: document.key.clone(),
        signature: it.signature.clone(),
        user_id: it.user_id.clone(),
        opened_at: it.opened_at,
    });
    if let Some(diagnosis) = fresh_diagnosis(call, finding, &place) {
        let answer = Answer {
            classification: diagnosis.classification,
            diagnosis: DiagnosisState::AlreadyDiagnosed,
            cooldown: active.map(|(document, it)| seen(it, document.key.scope, true)),
            until: eta_on_record(place.document, now),
            evidence: None,
        };
        return Decision {
            verdict: verdict(call, finding, &place, answer),
            effects: Vec::new(),
            job: None,
            hit,
        };
    }
    if let Some((document, cooldown)) = active {
        let diagnosis = match finding.classification {
            Classification::Unclear => DiagnosisState::Suppressed,
            _ => DiagnosisState::None,
        };
        let answer = Answer {
            classification: finding.classification,
            diagnosis,
            cooldown: Some(seen(cooldown, document.key.scope, true)),
            until: Some(until_of(document, cooldown)),
            evidence: promotion::on_record(call, finding),
        };
        return Decision {
            verdict: verdict(call, finding, &place, answer),
            effects: Vec::new(),
            job: None,
            hit,
        };
    }
    act(call, finding, &place)
}

/// No cooldown is active and no diagnosis fresh: opens the window, marks, enqueues, and notes what may be more than one
/// user's trouble.
fn act(call: Call<'_>, finding: &Finding<'_>, place: &Place<'_>) -> Decision {
    let Call { policy, now, .. } = call;
    let class = finding.classification;
    let (window, basis) = window(call, finding);
    let before = place.document.and_then(|it| it.cooldown(&finding.signature, place.user));
    let opened = cooldown::open(before, &finding.signature, place.user, class, window, policy, now);
    let until = Until { opened_at: opened.opened_at, at: opened.next_spawn_allowed_at, basis };
    let is_unclear = class == Classification::Unclear;
    let promotion = promotion::of(call, finding);
    let mut decision = Decision {
        verdict: verdict(
            call,
            finding,
            place,
            Answer {
                classification: class,
                diagnosis: match (is_unclear, &place.key) {
                    (false, _) if promotion.job.is_none() => DiagnosisState::None,
                    (false, _) | (true, Some(_)) => DiagnosisState::Enqueued,
                    (true, None) => DiagnosisState::Suppressed,
                },
                cooldown: (class != Classification::Working && place.key.is_some())
                    .then(|| seen(&opened, place.scope, false)),
                until: Some(until),
                evidence: promotion.evidence,
            },
        ),
        effects: Vec::new(),
        job: None,
        hit: None,
    };
    let Some(key) = &place.key else { return decision };
    if class != Classification::Working {
        // R52: WORKING clears cooldowns, it opens none.
        decision.effects.push(Effect {
            key: key.clone(),
            kind: EffectKind::OpenCooldown {
                signature: finding.signature.to_string(),
                user_id: place.user.map(str::to_owned),
                classification: class,
                window,
            },
        });
        decision.hit = Some(Hit {
            key: key.clone(),
            signature: finding.signature.to_string(),
            user_id: place.user.map(str::to_owned),
            opened_at: opened.opened_at,
        });
    }
    decision
        .effects
        .extend(mark(call, finding, place, until).map(|it| Effect { key: key.clone(), kind: it }));
    decision.effects.extend(promotion.effect);
    let unclear = is_unclear.then(|| JobRequest {
        key: key.clone(),
        signature: finding.signature.to_string(),
        key_user: place.user.filter(|_| finding.told.is_auth()).map(str::to_owned),
        user_id: call.caller.user_id.clone(),
        session_id: call.caller.session_id.clone(),
        detail: redact::detail(call.failure),
    });
    decision.job = unclear.or(promotion.job);
    decision
}

/// The status that the finding writes, if it writes one (C4).
fn mark(call: Call<'_>, finding: &Finding<'_>, place: &Place<'_>, until: Until) -> Option<EffectKind> {
    let class = finding.classification;
    // R3, R138, and the target is not the tool: whatever a rule says.
    if class.is_never_health() || call.tool.target == Some(Target::Argument) {
        return None;
    }
    let action = finding.action.unwrap_or(match call.settings.default_action {
        DefaultAction::Auto => HealthAction::Auto,
        DefaultAction::None => HealthAction::None,
    });
    let status = match action {
        HealthAction::None => return None,
        HealthAction::Auto => class.default_status()?,
        _ if class == Classification::Working => Status::Ok,
        HealthAction::MarkUnavailable => Status::Down,
        HealthAction::MarkDegraded => Status::Degraded,
    };
    if status == Status::Ok {
        // R19: clears what there is; with nothing to clear there is nothing to write.
        let has_something = |it: &Document| {
            it.health.as_ref().is_some_and(|it| it.status != Status::Ok) || !it.cooldowns.is_empty()
        };
        return place
            .document
            .is_some_and(has_something)
            .then(|| EffectKind::Mark(Mark::working("checker", Origin::Checker)));
    }
    Some(EffectKind::Mark(Mark {
        status,
        classification: class,
        expected_recovery_at: Some(until.at),
        eta_basis: match until.basis {
            RetryBasis::Exact => EtaBasis::RetryAfter,
            RetryBasis::UpperBound | RetryBasis::Computed => EtaBasis::Computed,
        },
        origin: Origin::Checker,
        signature: Some(finding.signature.to_string()),
        user_id: call.caller.user_id.clone(),
        by: "checker".to_owned(),
        note: finding.note.to_owned(),
    }))
}

/// How long the window is to be, and how that is founded (R117).
fn window(call: Call<'_>, finding: &Finding<'_>) -> (Window, RetryBasis) {
    match finding.cooldown {
        // What the other side says is when it passes, where it passes by itself.
        CooldownSpec::Default => match &finding.said {
            Some(said) if finding.classification == Classification::Intermittent => {
                (Window::Until(said.at), said.basis)
            }
            _ => (Window::Default, RetryBasis::Computed),
        },
        CooldownSpec::Base(length) => (Window::Base(*length), RetryBasis::Computed),
        CooldownSpec::Header(name) => match retry_after(call.failure, name, call.now) {
            Some(at) => (Window::Until(at), RetryBasis::Exact),
            None => (Window::Default, RetryBasis::Computed),
        },
    }
}

/// The diagnosis that answers an unclear failure (R200, DESIGN §11.2): same signature, young enough, its recovery not
/// past, and about this caller.
fn fresh_diagnosis<'a>(call: Call<'_>, finding: &Finding<'_>, place: &Place<'a>) -> Option<&'a Diagnosis> {
    if finding.classification != Classification::Unclear {
        return None;
    }
    let document = place.document.filter(|_| place.key.is_some())?;
    let diagnosis = document.last_diagnosis.as_ref()?;
    let is_of_caller = diagnosis.user_id.as_deref() == call.caller.user_id.as_deref();
    // What was found of one user says nothing about another.
    let is_personal = finding.told.is_auth()
        || diagnosis.classification.is_never_health()
        || diagnosis.classification == Classification::UserSpecificTechnical;
    let is_fresh = call.now - diagnosis.at < call.policy.fresh_diagnosis;
    let eta = document.health.as_ref().and_then(|it| it.expected_recovery_at);
    (diagnosis.signature.as_deref() == Some(finding.signature.as_ref())
        && diagnosis.classification != Classification::Unclear
        && is_fresh
        && eta.is_none_or(|it| call.now < it)
        && (is_of_caller || !is_personal))
        .then_some(diagnosis)
}

/// The end of a wait and how it is founded.
#[derive(Debug, Clone, Copy)]
struct Until {
    opened_at: Instant,
    at: Instant,
    basis: RetryBasis,
}

/// The end of a window on record. It is exact where the status that came with it says so.
fn until_of(document: &Document, cooldown: &Cooldown) -> Until {
    let is_exact = document.health.as_ref().is_some_and(|it| {
        it.eta_basis == EtaBasis::RetryAfter
            && it.signature.as_deref() == Some(cooldown.signature.as_str())
            && it.expected_recovery_at == Some(cooldown.next_spawn_allowed_at)
    });
    Until {
        opened_at: cooldown.opened_at,
        at: cooldown.next_spawn_allowed_at,
        basis: if is_exact { RetryBasis::Exact } else { RetryBasis::Computed },
    }
}

/// The recovery that is expected on record, if it is still to come.
fn eta_on_record(document: Option<&Document>, now: Instant) -> Option<Until> {
    let health = document?.health.as_ref().filter(|it| it.status != Status::Ok)?;
    let at = health.expected_recovery_at.filter(|it| *it > now)?;
    let basis = match health.eta_basis {
        EtaBasis::RetryAfter => RetryBasis::Exact,
        EtaBasis::Computed | EtaBasis::Engine | EtaBasis::Admin => RetryBasis::Computed,
    };
    Some(Until { opened_at: health.since, at, basis })
}

const fn seen(cooldown: &Cooldown, scope: Scope, active: bool) -> CooldownSeen {
    CooldownSeen { active, until: cooldown.next_spawn_allowed_at, episodes: cooldown.episodes, scope }
}

/// What differs between the ways to answer.
struct Answer {
    classification: Classification,
    diagnosis: DiagnosisState,
    cooldown: Option<CooldownSeen>,
    until: Option<Until>,
    /// What decides besides what the rule matched.
    evidence: Option<Evidence>,
}

fn verdict(call: Call<'_>, finding: &Finding<'_>, place: &Place<'_>, answer: Answer) -> Verdict {
    let Call { tool, failure, .. } = call;
    let class = answer.classification;
    let retry = retry(call, finding, place, class, answer.until);
    let is_own_class = class == finding.classification;
    let fault = finding.fault.filter(|_| is_own_class).unwrap_or_else(|| advice::fault(call, class, finding));
    let reason = advice::reason(class, finding);
    let remedy = finding.remedy.filter(|_| is_own_class).unwrap_or_else(|| {
        let basis = retry.map(|(_, basis)| basis);
        advice::remedy(call, class, reason, answer.diagnosis, basis, finding.dispatch_code)
    });
    let failed = Failed {
        tool: &tool.name,
        signature: &finding.signature,
        classification: class,
        reason,
        remedy,
        retry,
        is_health_signal: true,
    };
    Verdict {
        classification: class,
        signature: finding.signature.to_string(),
        rule_id: finding.rule_id.to_owned(),
        evidence: finding.evidence.iter().cloned().chain(answer.evidence).collect(),
        dispatch_code: finding.dispatch_code,
        fault,
        remedy,
        retry_at: retry.map(|(at, _)| at),
        retry_basis: retry.map(|(_, basis)| basis),
        retry_safety: retry_safety(failure, finding.kind, class),
        scope: place.key.as_ref().map(|it| it.scope),
        cooldown: answer.cooldown,
        diagnosis: answer.diagnosis,
        model_text: words::failure_text(&failed),
        user_hint: words::user_hint(&failed),
        is_health_signal: true,
    }
}

/// When to call again at the earliest, and how that is founded.
///
/// What the other side said is passed on exactly. Else the end of the window, spread per caller, but not before a
/// recovery on record that no verdict shortens (DESIGN §11.1). No time where waiting does not help.
fn retry(
    call: Call<'_>,
    finding: &Finding<'_>,
    place: &Place<'_>,
    class: Classification,
    until: Option<Until>,
) -> Option<(Instant, RetryBasis)> {
    let Call { caller, failure, now, .. } = call;
    if class.is_never_health() || class == Classification::Working {
        return None;
    }
    if let CooldownSpec::Header(name) = finding.cooldown
        && let Some(at) = retry_after(failure, name, now)
    {
        return Some((at, RetryBasis::Exact));
    }
    if let Some(said) = &finding.said {
        return Some((said.at, said.basis));
    }
    let protected = eta_on_record(place.document, now).filter(|_| {
        let basis = place.document.and_then(|it| it.health.as_ref()).map(|it| it.eta_basis);
        basis.is_some_and(|it| it != EtaBasis::Computed)
    });
    let until = [until, protected].into_iter().flatten().max_by_key(|it| it.at)?;
    Some(match until.basis {
        RetryBasis::Exact => (until.at, RetryBasis::Exact),
        basis => (cooldown::spread(until.opened_at, until.at, &caller.spread_key()), basis),
    })
}

/// Whether the tool runs in a client that has to come back by itself.
fn needs_reopening(tool: &Tool, dispatch_code: Option<DispatchCode>) -> Remedy {
    let is_client = tool.kind == Some(health_model::ToolKind::Client);
    if is_client && dispatch_code == Some(DispatchCode::BackendUnreachable) {
        Remedy::ReopenSession
    } else {
        Remedy::PlanWithout
    }
}
