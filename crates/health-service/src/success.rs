//! RecordSuccess: successful calls clear what began before them (R54, R55, R61; DESIGN §11.3).

use std::sync::Arc;

use chrono::TimeDelta;
use health_model::success::{self, Evidence};
use health_model::vocabulary::{EffectiveStatus, Status};
use health_model::{Caller, Cascade, ContainerKey, EffectKind, Instant, Tool};
use ports::Revision;

use crate::check::Durability;
use crate::error::Error;
use crate::reports::report_key;
use crate::settings::Mode;
use crate::writer::{Planned, World};
use crate::{Note, Service};

/// One call that is reported as successful, with its evidence. Evidence to the contrary wins.
#[derive(Debug, Clone, Default)]
pub struct Success {
    /// What was called.
    pub tool: Tool,
    /// The brain's own word.
    pub ok: Option<bool>,
    /// HTTP status of the answer.
    pub http_status: Option<u16>,
    /// The result was flagged as an error.
    pub is_error: Option<bool>,
    /// The answer was a JSON-RPC error.
    pub json_rpc_code: Option<i64>,
    /// How long the call took; unset counts as no time.
    pub elapsed: Option<TimeDelta>,
    /// The signature that is over, for `clear_on_success: signature`.
    pub signature: Option<String>,
}

impl Success {
    /// Whether the evidence says that the call failed: a result with `ok: false`, `isError`, an error status.
    #[must_use]
    pub fn is_a_failure(&self) -> bool {
        self.ok == Some(false)
            || self.is_error == Some(true)
            || self.json_rpc_code.is_some()
            || self.http_status.is_some_and(|it| it >= 400)
    }
}

/// Reports of successes.
#[derive(Debug, Clone)]
pub struct RecordSuccessRequest {
    /// Who called.
    pub caller: Caller,
    /// The calls.
    pub successes: Vec<Success>,
    /// Makes a retried report count once.
    pub report_id: Option<String>,
}

/// What one success did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuccessOutcome {
    /// It cleared a status or a cooldown, or disproved what was noted of several users' failures.
    Cleared,
    /// There was nothing to clear: the usual case.
    NothingToClear,
    /// The evidence says that the call failed; nothing was cleared.
    NotASuccess,
    /// The trouble began after the call did; nothing was cleared.
    TooOld,
    /// A hold decides; nothing was cleared.
    Held,
    /// Mode `observe`: it would have been cleared.
    WouldClear,
    /// It should have been cleared, and could not be stored.
    NotStored,
}

/// The answer to one success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuccessResult {
    /// What it did.
    pub outcome: SuccessOutcome,
    /// What Lookup says afterwards.
    pub state: EffectiveStatus,
    /// Cooldowns that it ended.
    pub n_cooldowns_cleared: u32,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct RecordSuccessAnswer {
    /// In the order of the request.
    pub results: Vec<SuccessResult>,
    /// Whether what was cleared is stored.
    pub durability: Durability,
    /// A reader that has reached it sees what was cleared.
    pub revision: Option<Revision>,
    /// The answer rests on a copy that may be out of date.
    pub stale: bool,
    /// What else there is to say.
    pub notes: Vec<Note>,
}

impl Service {
    /// Takes in successful calls. Where nothing is to be cleared, which is the usual case, no store is touched.
    pub async fn record_success(&self, request: RecordSuccessRequest) -> RecordSuccessAnswer {
        let now = self.clock.now();
        let tools = request.successes.iter().map(|it| it.tool.name.as_str());
        let report = report_key(request.report_id.as_deref(), &request.caller, tools);
        let work = self.record_success_once(request, now);
        let is_final = |it: &RecordSuccessAnswer| !it.notes.iter().any(Note::is_lost);
        let (answer, repeated) = self.successes.once(report, now, work, is_final).await;
        let mut answer = Arc::unwrap_or_clone(answer);
        if repeated {
            answer.notes.push(Note::RepeatedReport);
        }
        answer
    }

    async fn record_success_once(&self, request: RecordSuccessRequest, now: Instant) -> RecordSuccessAnswer {
        let mut answer = RecordSuccessAnswer {
            results: Vec::with_capacity(request.successes.len()),
            durability: Durability::None,
            revision: None,
            stale: false,
            notes: Vec::new(),
        };
        for it in &request.successes {
            let result = self.one_success(&request.caller, it, now, &mut answer).await;
            answer.results.push(result);
        }
        if answer.revision.is_none() {
            answer.revision = self.view.position();
        }
        answer
    }

    async fn one_success(
        &self,
        caller: &Caller,
        report: &Success,
        now: Instant,
        answer: &mut RecordSuccessAnswer,
    ) -> SuccessResult {
        let read = self.read(caller, report.tool.provider.as_deref(), None, false).await;
        answer.stale |= read.stale;
        if read.away {
            answer.note(Note::StoreAway);
        }
        let policy = &self.settings.policy;
        let cascade = read.containers.cascade(&report.tool.name);
        let state = cascade.state(policy, now);
        let result = |outcome, state| SuccessResult { outcome, state, n_cooldowns_cleared: 0 };
        if report.is_a_failure() {
            return result(SuccessOutcome::NotASuccess, state.effective);
        }
        let started_at = now - report.elapsed.unwrap_or_default().max(TimeDelta::zero());
        let evidence = Evidence { started_at, signature: report.signature.as_deref() };
        if success::plan(&cascade, caller, &report.tool, evidence, policy, now).is_empty() {
            let non_ok = state.health.is_some_and(|it| it.status != Status::Ok);
            let outcome = match state.hold {
                Some(_) => SuccessOutcome::Held,
                None if non_ok || has_younger_cooldown(&cascade, caller, started_at, now) => {
                    SuccessOutcome::TooOld
                }
                None => SuccessOutcome::NothingToClear,
            };
            return result(outcome, state.effective);
        }
        if self.settings.mode == Mode::Observe {
            answer.note(Note::ObserveMode);
            return result(SuccessOutcome::WouldClear, state.effective);
        }
        if read.away {
            return result(SuccessOutcome::NotStored, state.effective);
        }
        match self.write_success(caller, report, started_at, now).await {
            Ok((cleared, revision)) => {
                if revision.is_some() {
                    answer.durability = Durability::Committed;
                    answer.revision = revision;
                }
                let after = self.read(caller, report.tool.provider.as_deref(), None, false).await;
                let state = after.containers.cascade(&report.tool.name).state(policy, now).effective;
                SuccessResult { outcome: SuccessOutcome::Cleared, state, n_cooldowns_cleared: cleared }
            }
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a success could not be stored");
                answer.note(Note::of(&error));
                answer.stale = true;
                result(SuccessOutcome::NotStored, state.effective)
            }
        }
    }

    async fn write_success(
        &self,
        caller: &Caller,
        report: &Success,
        started_at: Instant,
        now: Instant,
    ) -> Result<(u32, Option<Revision>), Error> {
        let tool = report.tool.clone();
        let keys: Vec<ContainerKey> = caller.cascade(tool.provider.as_deref()).collect();
        let containers = keys.clone();
        let (caller, signature) = (caller.clone(), report.signature.clone());
        let settings = Arc::clone(&self.settings);
        let plan = move |world: &World<'_>| {
            let cascade = world.cascade(&keys, &tool.name);
            let evidence = Evidence { started_at, signature: signature.as_deref() };
            let effects = success::plan(&cascade, &caller, &tool, evidence, &settings.policy, now);
            let ended = effects.iter().filter(|it| matches!(it.kind, EffectKind::EndCooldown { .. })).count();
            (u32::try_from(ended).unwrap_or(u32::MAX), Planned { effects, jobs: Vec::new() })
        };
        let (ended, written) = self.writer()?.write(containers, now, plan).await?;
        Ok((ended, written.revision))
    }
}

impl RecordSuccessAnswer {
    fn note(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

fn has_younger_cooldown(cascade: &Cascade<'_>, caller: &Caller, started_at: Instant, now: Instant) -> bool {
    cascade.open_cooldowns(caller.user_id.as_deref(), now).any(|(_, it)| it.opened_at >= started_at)
}
