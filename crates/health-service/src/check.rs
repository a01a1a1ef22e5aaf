//! Check: one failed call → a verdict, and what it writes (R94…R102).

use std::sync::Arc;

use checker::{Decision, RuleTable};
use health_model::vocabulary::{DiagnosisState, EffectiveStatus, Scope};
use health_model::{
    Caller, Cascade, ContainerKey, Failure, Instant, State, Tool, Verdict, View as CallerView,
};
use ports::{Enqueue, EnqueueOutcome, Revision, Signal, Trigger};
use uuid::Uuid;

use crate::error::Error;
use crate::hits::Window;
use crate::reports::report_key;
use crate::settings::{Mode, Settings};
use crate::writer::{Planned, World, Written};
use crate::{Note, Service};

/// The service that diagnoses (R196).
const SERVICE_TYPE: &str = "agrajag";

/// One failed call.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// Who called.
    pub caller: Caller,
    /// What was called.
    pub tool: Tool,
    /// How it failed.
    pub failure: Failure,
    /// Makes a retried report count once.
    pub report_id: Option<String>,
    /// The caller has seen this revision: the verdict is to know it.
    pub at_least: Option<Revision>,
}

/// Whether what should be stored is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Committed.
    Committed,
    /// Nothing was to be stored, or it could not be: see the notes.
    None,
}

/// The health of the tool for the caller, after the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthSummary {
    /// What Lookup would say.
    pub state: EffectiveStatus,
    /// The scope that decides; `None` = nothing is known.
    pub scope: Option<Scope>,
    /// Since when.
    pub since: Option<Instant>,
    /// When it should be usable again.
    pub expected_recovery_at: Option<Instant>,
    /// This call changed it.
    pub changed: bool,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct CheckAnswer {
    /// The verdict.
    pub verdict: Verdict,
    /// How many failures met the open window, as this server counted.
    pub hits: u64,
    /// The job of an unclear failure, or of like failures of several users.
    pub job_id: Option<Uuid>,
    /// Health after the call.
    pub health: HealthSummary,
    /// What is stored.
    pub durability: Durability,
    /// A reader that has reached it sees what this call wrote.
    pub revision: Option<Revision>,
    /// The answer rests on a copy that may be out of date.
    pub stale: bool,
    /// What else there is to say.
    pub notes: Vec<Note>,
}

impl Service {
    /// Judges one failed call. Never fails for the store's sake: without it the verdict is given, nothing is stored,
    /// and the answer says so.
    pub async fn check(&self, request: CheckRequest) -> CheckAnswer {
        let now = self.clock.now();
        let report = report_key(request.report_id.as_deref(), &request.caller, [request.tool.name.as_str()]);
        let work = self.check_once(request, now);
        let (answer, repeated) =
            self.checks.once(report, now, work, |it| !it.notes.iter().any(Note::is_lost)).await;
        let mut answer = Arc::unwrap_or_clone(answer);
        if repeated {
            answer.notes.push(Note::RepeatedReport);
        }
        answer
    }

    async fn check_once(&self, request: CheckRequest, now: Instant) -> CheckAnswer {
        let CheckRequest { caller, tool, failure, at_least, .. } = request;
        let failure = Arc::new(failure);
        let read = self.read(&caller, tool.provider.as_deref(), at_least.as_ref(), false).await;
        let cascade = read.containers.cascade(&tool.name);
        let rules = self.rules.in_force(&caller.tenant_id, &caller.project_id);
        let decision = self.decide(&rules.table, &caller, &tool, &failure, &cascade, now);
        self.journal.note(&caller, &tool, &failure, &decision.verdict, now);
        self.shadow.note(&rules, &tool, &failure, &decision.verdict);
        let before = summary(&cascade.state(&self.settings.policy, now));
        let mut notes = Vec::new();
        if read.away {
            notes.push(Note::StoreAway);
        }
        if decision.verdict.is_health_signal && decision.verdict.scope.is_none() {
            notes.push(Note::NotStored);
        }
        let writes = !decision.effects.is_empty() || decision.job.is_some();
        if writes && self.settings.mode == Mode::Observe {
            notes.push(Note::ObserveMode);
        } else if writes && !read.away {
            match self.write_decision(rules.table, &caller, &tool, &failure, now).await {
                Ok((decision, written)) => {
                    let after = self.read(&caller, tool.provider.as_deref(), None, false).await;
                    let health =
                        summary(&after.containers.cascade(&tool.name).state(&self.settings.policy, now));
                    let mut answer = self.answered(decision, before, health, read.stale, notes, now);
                    if let (Some(job), Some(outcome)) = (&mut answer.job_id, written.jobs.first()) {
                        *job = outcome.id();
                        answer.verdict.diagnosis = match outcome {
                            EnqueueOutcome::Created(_) => DiagnosisState::Enqueued,
                            EnqueueOutcome::Coalesced(_) => DiagnosisState::Coalesced,
                        };
                    }
                    if written.revision.is_some() {
                        answer.durability = Durability::Committed;
                        answer.revision = written.revision;
                    }
                    return answer;
                }
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a verdict could not be stored");
                    notes.push(Note::of(&error));
                }
            }
        }
        // Nothing is stored: no job was created, whatever the decision asked for, and no window was opened that a hit
        // could count for.
        let mut decision = decision;
        decision.hit = decision.hit.filter(|_| !writes);
        if decision.job.take().is_some() {
            decision.verdict.diagnosis = DiagnosisState::Suppressed;
        }
        decision.effects.clear();
        self.answered(decision, before.clone(), before, read.stale, notes, now)
    }

    fn decide(
        &self,
        table: &RuleTable,
        caller: &Caller,
        tool: &Tool,
        failure: &Failure,
        cascade: &Cascade<'_>,
        now: Instant,
    ) -> Decision {
        let view = CallerView { cascade: cascade.clone(), user_id: caller.user_id.as_deref() };
        let Settings { policy, decide, .. } = &*self.settings;
        checker::decide(table, caller, tool, failure, &view, policy, decide, now)
    }

    async fn write_decision(
        &self,
        table: Arc<RuleTable>,
        caller: &Caller,
        tool: &Tool,
        failure: &Failure,
        now: Instant,
    ) -> Result<(Decision, Written), Error> {
        let keys: Vec<ContainerKey> = caller.cascade(tool.provider.as_deref()).collect();
        let containers = keys.clone();
        let service = self.clone();
        let job_id = self.ids.next();
        let (caller, tool, failure) = (caller.clone(), tool.clone(), failure.clone());
        let plan = move |world: &World<'_>| {
            let cascade = world.cascade(&keys, &tool.name);
            let decision = service.decide(&table, &caller, &tool, &failure, &cascade, now);
            let jobs = decision.job.iter().map(|job| Enqueue {
                id: job_id,
                service_type: SERVICE_TYPE.to_owned(),
                tenant_id: caller.tenant_id.clone(),
                project_id: caller.project_id.clone(),
                key: job.key.clone(),
                signature: job.signature.clone(),
                key_user: job.key_user.clone(),
                trigger: Trigger::ToolCallError,
                signal: Signal {
                    at: now,
                    user_id: job.user_id.clone(),
                    session_id: job.session_id.clone(),
                    detail: job.detail.clone(),
                },
                now,
            });
            let planned = Planned { effects: decision.effects.clone(), jobs: jobs.collect() };
            (decision, planned)
        };
        self.writer()?.write(containers, now, plan).await
    }

    /// Counts the failure against its window and completes the answer.
    fn answered(
        &self,
        decision: Decision,
        before: HealthSummary,
        health: HealthSummary,
        stale: bool,
        notes: Vec<Note>,
        now: Instant,
    ) -> CheckAnswer {
        let until = decision.verdict.cooldown.as_ref().map_or(now, |it| it.until);
        let met = decision.hit.as_ref().map(|it| Window {
            key: &it.key,
            signature: &it.signature,
            user_id: it.user_id.as_deref(),
            opened_at: it.opened_at,
        });
        let counts = self.settings.mode == Mode::Active;
        let hits = met.filter(|_| counts).map_or(0, |it| self.hits.add(it, until, now));
        let changed = before != health;
        CheckAnswer {
            job_id: decision.job.is_some().then(Uuid::nil),
            verdict: decision.verdict,
            hits,
            health: HealthSummary { changed, ..health },
            durability: Durability::None,
            revision: self.view.position(),
            stale,
            notes,
        }
    }
}

fn summary(state: &State<'_>) -> HealthSummary {
    HealthSummary {
        state: state.effective,
        scope: state.decided_by.map(|it| it.key.scope),
        since: state.hold.map(|it| it.since).or(state.health.map(|it| it.since)),
        expected_recovery_at: state
            .hold
            .and_then(|it| it.until)
            .or(state.health.and_then(|it| it.expected_recovery_at)),
        changed: false,
    }
}
