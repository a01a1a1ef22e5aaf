//! The queue of diagnoses (R194…R200): persistent, one open job per coalescing key.

use async_trait::async_trait;
use health_model::vocabulary::Scope;
use health_model::{DocumentKey, Instant};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::store::StoreError;

/// Why a job was created (R197).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trigger {
    /// An unclear failure.
    #[serde(rename = "tool_call_error")]
    ToolCallError,
    /// A person or a brain asked. Goes before failures' jobs.
    #[serde(rename = "user_request")]
    UserRequest,
    /// A check that was planned.
    #[serde(rename = "scheduled_recheck")]
    ScheduledRecheck,
}

/// Where a job is in its life. Open = queued or running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobState {
    /// Waits.
    #[serde(rename = "QUEUED")]
    Queued,
    /// Claimed under a lease.
    #[serde(rename = "RUNNING")]
    Running,
    /// Completed.
    #[serde(rename = "DONE")]
    Done,
    /// Given up, with a reason.
    #[serde(rename = "STALE")]
    Stale,
}

impl Trigger {
    /// The stable spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToolCallError => "tool_call_error",
            Self::UserRequest => "user_request",
            Self::ScheduledRecheck => "scheduled_recheck",
        }
    }
}

impl JobState {
    /// The stable spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "QUEUED",
            Self::Running => "RUNNING",
            Self::Done => "DONE",
            Self::Stale => "STALE",
        }
    }
}

/// One failure that a job is about. Text is cut to 2 KiB and masked before it gets here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// When.
    pub at: Instant,
    /// Whose call, if a person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The session of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The error, cut and masked.
    pub detail: String,
}

impl Signal {
    /// Drops all but the time: whose call it was, its session, and the error, which may name both.
    pub fn forget(&mut self) {
        self.user_id = None;
        self.session_id = None;
        self.detail.clear();
    }
}

/// Signals kept in a job: the first and the last four (the table of constants).
pub const SIGNAL_LIMIT: usize = 5;

/// Jobs that may be queued in one (tenant, project), beside the one that runs: "1 running, 100 queued, then drop oldest
/// UNCLEAR" (the table of constants). See [`Store::commit`](crate::Store::commit).
pub const QUEUE_LIMIT: usize = 100;

/// The reason of a job that [`QUEUE_LIMIT`] made STALE.
pub const QUEUE_FULL: &str = "queue full";

/// Adds a signal to those of a job: the first and the last four stay (R199).
pub fn merge_signal(signals: &mut Vec<Signal>, signal: Signal) {
    if signals.len() >= SIGNAL_LIMIT {
        signals.remove(1);
    }
    signals.push(signal);
}

/// A job to enqueue. Its coalescing key is (service type, document key, signature, key user) over queued and running jobs
/// (R198, C6): while one is open, a further one is merged into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueue {
    /// The id, if a new job is created.
    pub id: Uuid,
    /// `agrajag`.
    pub service_type: String,
    /// The tenant and project whose queue it is in (R194).
    pub tenant_id: String,
    /// The project.
    pub project_id: String,
    /// The document that the diagnosis is about.
    pub key: DocumentKey,
    /// The kind of error.
    pub signature: String,
    /// The user part of the coalescing key: set for signatures of the 401 and 403 family only (C6).
    pub key_user: Option<String>,
    /// Why.
    pub trigger: Trigger,
    /// The failure.
    pub signal: Signal,
    /// When.
    pub now: Instant,
}

/// What became of an [`Enqueue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnqueueOutcome {
    /// A new job. It may be STALE already, if a later one of the same commit found its queue full.
    Created(Uuid),
    /// Merged into this open job: one more in its count, the signal among the last four.
    Coalesced(Uuid),
}

impl EnqueueOutcome {
    /// The job's id.
    #[must_use]
    pub const fn id(self) -> Uuid {
        match self {
            Self::Created(id) | Self::Coalesced(id) => id,
        }
    }
}

/// A job as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its id.
    pub id: Uuid,
    /// `agrajag`.
    pub service_type: String,
    /// The tenant.
    pub tenant_id: String,
    /// The project whose queue it is in.
    pub project_id: String,
    /// The document that it is about.
    pub key: DocumentKey,
    /// The kind of error.
    pub signature: String,
    /// The user part of the coalescing key.
    pub key_user: Option<String>,
    /// Why it was created; a merged user request raises it to that.
    pub trigger: Trigger,
    /// The first signal and the last four, in order; see [`merge_signal`].
    pub signals: Vec<Signal>,
    /// How many signals it took in.
    pub signal_count: u64,
    /// Where it is.
    pub state: JobState,
    /// Grows with each claim: a completion with an older token does nothing.
    pub lease_token: u64,
    /// Until when it is claimed.
    pub lease_until: Option<Instant>,
    /// When it was created.
    pub created_at: Instant,
    /// When it ended.
    pub ended_at: Option<Instant>,
    /// Why it was given up, for [`JobState::Stale`].
    pub reason: Option<String>,
}

/// Which jobs to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// The tenant; required.
    pub tenant_id: String,
    /// The project.
    pub project_id: Option<String>,
    /// The state.
    pub state: Option<JobState>,
    /// The scope of the document.
    pub scope: Option<Scope>,
    /// Exactly this tool.
    pub tool_name: Option<String>,
}

/// A claimed job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The job, RUNNING.
    pub job: Job,
    /// The token to extend and complete it with.
    pub token: u64,
}

/// The queue. Enqueueing happens in [`Store::commit`](crate::Store::commit) alone, so that a job and the cooldown that
/// announces it are one write.
#[async_trait]
pub trait JobQueue: Send + Sync + 'static {
    /// Claims the next job: a person's request first, then the oldest. Before that, every running job whose lease ended
    /// before `now` is queued again and its token is void, so that a late extension cannot let two jobs of a project run.
    /// Of one (tenant, project) at most one runs. No two claims get the same job.
    async fn claim_job(&self, now: Instant, lease_until: Instant) -> Result<Option<Claim>, StoreError>;

    /// Extends a lease; `false` if the token is not the current one.
    async fn extend_job(&self, id: Uuid, token: u64, lease_until: Instant) -> Result<bool, StoreError>;

    /// Ends a job as DONE, or STALE with a reason; `false` if the token is not the current one.
    async fn complete_job(
        &self,
        id: Uuid,
        token: u64,
        stale_reason: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError>;

    /// A page of jobs, newest first, after the id `after`, at most `limit`.
    async fn list_jobs(
        &self,
        filter: &JobFilter,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError>;

    /// How many jobs are queued, over all tenants.
    async fn count_queued(&self) -> Result<u64, StoreError>;
}
