//! Jobs as the wire shows them, and the filter of their list.

use agrajag_proto::v1;
use ports::{Job, JobState, Signal, Trigger};

use super::caller::wire_key;
use super::time::timestamp;

pub(crate) fn job(it: Job) -> v1::Job {
    v1::Job {
        job_id: it.id.to_string(),
        tenant_id: it.tenant_id,
        key: Some(wire_key(&it.key)),
        signature: it.signature,
        user_id: it.key_user.unwrap_or_default(),
        trigger: match it.trigger {
            Trigger::ToolCallError => v1::JobTrigger::ToolCallError,
            Trigger::UserRequest => v1::JobTrigger::UserRequest,
            Trigger::ScheduledRecheck => v1::JobTrigger::ScheduledRecheck,
        }
        .into(),
        state: match it.state {
            JobState::Queued => v1::JobState::Queued,
            JobState::Running => v1::JobState::Running,
            JobState::Done => v1::JobState::Done,
            JobState::Stale => v1::JobState::Stale,
        }
        .into(),
        n_signals: it.signal_count,
        attempts: it.lease_token,
        created_at: Some(timestamp(it.created_at)),
        ended_at: it.ended_at.map(timestamp),
        reason: it.reason.unwrap_or_default(),
        project_id: it.project_id,
        signals: it.signals.into_iter().map(signal).collect(),
    }
}

fn signal(it: Signal) -> v1::JobSignal {
    v1::JobSignal {
        at: Some(timestamp(it.at)),
        user_id: it.user_id.unwrap_or_default(),
        session_id: it.session_id.unwrap_or_default(),
        detail: it.detail,
    }
}

/// `Ok(None)` = every state; `Err` = a word that this server does not know.
pub(crate) fn state(word: i32) -> Result<Option<JobState>, i32> {
    match v1::JobState::try_from(word) {
        Ok(v1::JobState::Unspecified) => Ok(None),
        Ok(v1::JobState::Queued) => Ok(Some(JobState::Queued)),
        Ok(v1::JobState::Running) => Ok(Some(JobState::Running)),
        Ok(v1::JobState::Done) => Ok(Some(JobState::Done)),
        Ok(v1::JobState::Stale) => Ok(Some(JobState::Stale)),
        Err(_) => Err(word),
    }
}
