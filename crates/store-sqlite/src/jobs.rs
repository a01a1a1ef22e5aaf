//! The queue of diagnoses (R194…R199).
//!
//! Two unique indexes keep its laws even against a mistake in here: one open job per coalescing key, one running job per project.

use std::collections::BTreeMap;

use health_model::Instant;
use ports::job::{QUEUE_FULL, QUEUE_LIMIT, merge_signal};
use ports::{Claim, Enqueue, EnqueueOutcome, Job, JobFilter, JobState, Signal, StoreError};
use sqlx::{Row, SqliteConnection, SqlitePool};
use tracing::instrument;
use uuid::Uuid;

use crate::commit::BEGIN;
use crate::failure::{Failure, corrupt, log_skipped};
use crate::rows::{self, micros, scope_code, signed, unsigned};
use crate::sql;

/// Why a job ends that nobody can read.
pub(crate) const UNREADABLE: &str = "the row of this job cannot be read";

/// Merges into the open job of the same key, or creates one.
pub(crate) async fn enqueue(tx: &mut SqliteConnection, enqueue: &Enqueue) -> Result<EnqueueOutcome, Failure> {
    let open = rows::bind_key(sqlx::query(sql::LOAD_OPEN_JOB), &enqueue.key)
        .bind(&enqueue.service_type)
        .bind(&enqueue.signature)
        .bind(enqueue.key_user.as_deref())
        .fetch_optional(&mut *tx)
        .await?;
    let Some(open) = open else {
        insert(tx, enqueue).await?;
        return Ok(EnqueueOutcome::Created(enqueue.id));
    };

    let text: &str = open.try_get(0)?;
    let id = Uuid::try_parse(text).map_err(|error| corrupt("jobs", text, error))?;
    let mut signals = rows::signals(open.try_get(1)?).unwrap_or_else(|error| {
        // A list that cannot be read starts again: the failure that comes in must not be lost with it.
        log_skipped(&corrupt("jobs", id, error));
        Vec::new()
    });
    merge_signal(&mut signals, enqueue.signal.clone());
    sqlx::query(sql::MERGE_JOB)
        .bind(id.to_string())
        .bind(encode(&signals)?)
        .bind(enqueue.trigger.as_str())
        .execute(tx)
        .await?;
    Ok(EnqueueOutcome::Coalesced(id))
}

async fn insert(tx: &mut SqliteConnection, enqueue: &Enqueue) -> Result<(), Failure> {
    let signals = std::slice::from_ref(&enqueue.signal);
    sqlx::query(sql::INSERT_JOB)
        .bind(enqueue.id.to_string())
        .bind(&enqueue.service_type)
        .bind(&enqueue.tenant_id)
        .bind(&enqueue.project_id)
        .bind(&enqueue.key.tenant_id)
        .bind(scope_code(enqueue.key.scope))
        .bind(&enqueue.key.scope_id)
        .bind(&enqueue.key.tool_name)
        .bind(&enqueue.signature)
        .bind(enqueue.key_user.as_deref())
        .bind(enqueue.trigger.as_str())
        .bind(encode(signals)?)
        .bind(micros(enqueue.now))
        .execute(tx)
        .await?;
    Ok(())
}

fn encode(signals: &[Signal]) -> Result<String, sqlx::Error> {
    rows::signals_text(signals).map_err(|it| sqlx::Error::Encode(Box::new(it)))
}

/// Ends the oldest failures' jobs of each queue that a job was created in and that is over its limit. The last one created in
/// a queue stays.
pub(crate) async fn drop_excess(
    tx: &mut SqliteConnection,
    jobs: &[Enqueue],
    outcomes: &[EnqueueOutcome],
) -> Result<(), Failure> {
    let mut last_created: BTreeMap<(&str, &str), &Enqueue> = BTreeMap::new();
    for (job, outcome) in jobs.iter().zip(outcomes) {
        if matches!(outcome, EnqueueOutcome::Created(_)) {
            last_created.insert((&job.tenant_id, &job.project_id), job);
        }
    }
    for ((tenant_id, project_id), last) in last_created {
        sqlx::query(sql::DROP_EXCESS_JOBS)
            .bind(tenant_id)
            .bind(project_id)
            .bind(last.id.to_string())
            .bind(QUEUE_FULL)
            .bind(micros(last.now))
            .bind(rows::row_count(QUEUE_LIMIT))
            .execute(&mut *tx)
            .await?;
    }
    Ok(())
}

/// Deletes the jobs that are one user's alone, and what the tenant's other jobs say of the user.
pub(crate) async fn forget_user(
    tx: &mut SqliteConnection,
    tenant_id: &str,
    user_id: &str,
) -> Result<(), Failure> {
    sqlx::query(sql::DELETE_USER_JOBS).bind(tenant_id).bind(user_id).execute(&mut *tx).await?;
    for row in sqlx::query(sql::LIST_SIGNALS).bind(tenant_id).fetch_all(&mut *tx).await? {
        let (id, text): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let mut signals = rows::signals(text).unwrap_or_else(|error| {
            // Nobody can say whom a list names that cannot be read: it goes.
            log_skipped(&corrupt("jobs", id, error));
            Vec::new()
        });
        let mut names_user = false;
        for signal in signals.iter_mut().filter(|it| it.user_id.as_deref() == Some(user_id)) {
            signal.forget();
            names_user = true;
        }
        if names_user || signals.is_empty() {
            sqlx::query(sql::REPLACE_SIGNALS).bind(id).bind(encode(&signals)?).execute(&mut *tx).await?;
        }
    }
    Ok(())
}

/// Puts jobs whose lease ended back into the queue, their tokens void, then claims the first that may run. Were they left
/// RUNNING, their worker could extend the lease beside another job of the same project.
#[instrument(name = "db.job.claim", level = "debug", skip_all)]
pub(crate) async fn claim_job(
    writer: &SqlitePool,
    now: Instant,
    lease_until: Instant,
) -> Result<Option<Claim>, Failure> {
    let mut tx = writer.begin_with(BEGIN).await?;
    sqlx::query(sql::REQUEUE_JOBS).bind(micros(now)).execute(&mut *tx).await?;
    let mut claim = None;
    while claim.is_none() {
        let next: Option<String> = sqlx::query_scalar(sql::NEXT_JOB).fetch_optional(&mut *tx).await?;
        let Some(id) = next else { break };
        let row = sqlx::query(sql::CLAIM_JOB).bind(&id).bind(micros(lease_until)).fetch_one(&mut *tx).await?;
        match rows::job(&row) {
            Ok(job) => claim = Some(Claim { token: job.lease_token, job }),
            Err(error) => {
                // Claimed again and again it would keep its project from ever running another.
                log_skipped(&error);
                sqlx::query(sql::GIVE_UP_JOB)
                    .bind(&id)
                    .bind(UNREADABLE)
                    .bind(micros(now))
                    .execute(&mut *tx)
                    .await?;
            }
        }
    }
    tx.commit().await?;
    Ok(claim)
}

#[instrument(name = "db.job.extend", level = "debug", skip_all)]
pub(crate) async fn extend_job(
    writer: &SqlitePool,
    id: Uuid,
    token: u64,
    lease_until: Instant,
) -> Result<bool, Failure> {
    let query =
        sqlx::query(sql::EXTEND_JOB).bind(id.to_string()).bind(signed(token)).bind(micros(lease_until));
    let mut tx = writer.begin_with(BEGIN).await?;
    let done = query.execute(&mut *tx).await?.rows_affected() > 0;
    tx.commit().await?;
    Ok(done)
}

#[instrument(name = "db.job.complete", level = "debug", skip_all)]
pub(crate) async fn complete_job(
    writer: &SqlitePool,
    id: Uuid,
    token: u64,
    stale_reason: Option<&str>,
    now: Instant,
) -> Result<bool, Failure> {
    let state = if stale_reason.is_some() { JobState::Stale } else { JobState::Done };
    let query = sqlx::query(sql::COMPLETE_JOB)
        .bind(id.to_string())
        .bind(signed(token))
        .bind(state.as_str())
        .bind(stale_reason)
        .bind(micros(now));
    let mut tx = writer.begin_with(BEGIN).await?;
    let done = query.execute(&mut *tx).await?.rows_affected() > 0;
    tx.commit().await?;
    Ok(done)
}

#[instrument(name = "db.jobs.list", level = "debug", skip_all)]
pub(crate) async fn list_jobs(
    readers: &SqlitePool,
    filter: &JobFilter,
    after: Option<Uuid>,
    limit: usize,
) -> Result<Vec<Job>, Failure> {
    let statement = if after.is_some() { sql::LIST_JOBS_AFTER } else { sql::LIST_JOBS };
    let query = sqlx::query(statement)
        .bind(&filter.tenant_id)
        .bind(filter.project_id.as_deref())
        .bind(filter.state.map(JobState::as_str))
        .bind(filter.scope.map(scope_code))
        .bind(filter.tool_name.as_deref())
        .bind(rows::row_count(limit))
        .bind(after.map(|it| it.to_string()));
    let mut jobs = Vec::new();
    for row in query.fetch_all(readers).await? {
        match rows::job(&row) {
            Ok(job) => jobs.push(job),
            Err(error @ StoreError::Corrupt { .. }) => log_skipped(&error),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(jobs)
}

#[instrument(name = "db.jobs.count", level = "debug", skip_all)]
pub(crate) async fn count_queued(readers: &SqlitePool) -> Result<u64, Failure> {
    let n: i64 = sqlx::query_scalar(sql::COUNT_QUEUED).fetch_one(readers).await?;
    Ok(unsigned(n))
}
