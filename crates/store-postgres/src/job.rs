//! The queue: claims under a lease, completions by token, listing (R194 to R199).

use health_model::Instant;
use ports::{Claim, Job, JobFilter, JobState, StoreError, Trigger};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{AssertSqlSafe, Row};
use uuid::Uuid;

use crate::connection::{Database, Failure};
use crate::document::Query;
use crate::error::{corrupt, is_duplicate};
use crate::row::{instant, key, micros, optional_instant, optional_text, signed, text, unsigned};
use crate::statement::{args, statements};
use crate::text::{escape, from_json};

/// The greatest page.
const PAGE: usize = 1_000;

/// Tries of a claim against claims of other jobs of the same queues: each loss means that another claim won.
const TRIES: u32 = 32;

const BEGIN: &str = "begin isolation level read committed";

/// The columns of a [`JobRow`], of a relation named `j`.
macro_rules! job_columns {
    () => {
        "j.key_tenant_id, j.scope::text, j.scope_id, j.tool_name, j.id, j.service_type, j.tenant_id, j.project_id,
            j.signature, j.key_user, j.trigger, j.signals::text, j.signal_count, j.state, j.lease_token, j.lease_until,
            j.created_at, j.ended_at, j.reason"
    };
}

statements! {
    /// Puts jobs whose lease ended back into the queue. Their tokens are void at once: another job of the same queue may
    /// be claimed next, and two must not run.
    REQUEUE = "update job set state = 'QUEUED', lease_until = null, lease_token = lease_token + 1
        where id in (
            select id from job where state = 'RUNNING' and lease_until < $1 order by id for update skip locked)";

    /// Claims the first job that may run: a person's request before a failure's job, then the oldest.
    CLAIM = "update job j set state = 'RUNNING', lease_token = j.lease_token + 1, lease_until = $1
        where j.id = (
            select q.id from job q
            where q.state = 'QUEUED' and not exists (
                select from job r
                where r.state = 'RUNNING' and r.tenant_id = q.tenant_id and r.project_id = q.project_id)
            order by (q.trigger <> 'user_request'), q.created_at, q.id
            limit 1 for update skip locked)
        returning ", job_columns!();

    EXTEND = "update job set lease_until = $3 where id = $1 and lease_token = $2 and state = 'RUNNING' returning 1";

    COMPLETE = "update job set state = $3, reason = $4, ended_at = $5, lease_until = null
        where id = $1 and lease_token = $2 and state = 'RUNNING' returning 1";

    /// The head of the listing; conditions are appended.
    LIST = "select ", job_columns!(), " from job j where j.tenant_id = $1";

    COUNT_QUEUED = "select count(*) from job where state = 'QUEUED'";
}

/// Claims a job. One that cannot be read is given up, so that it does not stop its queue.
pub(crate) async fn claim(
    database: &Database,
    now: Instant,
    lease_until: Instant,
) -> Result<Option<Claim>, StoreError> {
    const DOING: &str = "claim a job";
    database.write(DOING, REQUEUE, args![micros(now)]).await?;
    for _ in 0..TRIES {
        let mut transaction = database.begin(DOING, BEGIN).await?;
        let rows = match transaction.run(CLAIM, args![micros(lease_until)]).await {
            Ok(rows) => rows,
            Err(Failure::Driver(error)) if is_duplicate(&error, "job_running") => {
                transaction.roll_back().await;
                continue;
            }
            Err(failure) if failure.is_contention() => {
                transaction.roll_back().await;
                continue;
            }
            Err(failure) => return Err(transaction.error(failure)),
        };
        transaction.commit().await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let row = JobRow::read(row).map_err(|error| database.target().error(DOING, error))?;
        match row.decode() {
            Ok(job) => return Ok(Some(Claim { token: job.lease_token, job })),
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "a job cannot be read and is given up"
                );
                complete(database, row.job.id, row.job.lease_token, Some("its row cannot be read"), now)
                    .await?;
            }
        }
    }
    Ok(None)
}

/// Extends a lease.
pub(crate) async fn extend(
    database: &Database,
    id: Uuid,
    token: u64,
    lease_until: Instant,
) -> Result<bool, StoreError> {
    let args = args![id, signed(token), micros(lease_until)];
    Ok(!database.write("extend a lease", EXTEND, args).await?.is_empty())
}

/// Ends a job.
pub(crate) async fn complete(
    database: &Database,
    id: Uuid,
    token: u64,
    stale_reason: Option<&str>,
    now: Instant,
) -> Result<bool, StoreError> {
    let state = if stale_reason.is_some() { JobState::Stale } else { JobState::Done };
    let reason = stale_reason.map(|it| escape(it).into_owned());
    let args = args![id, signed(token), state.as_str(), reason, micros(now)];
    Ok(!database.write("complete a job", COMPLETE, args).await?.is_empty())
}

/// A page of jobs, newest first. A row that cannot be read is left out and logged.
pub(crate) async fn list(
    database: &Database,
    filter: &JobFilter,
    after: Option<Uuid>,
    limit: usize,
) -> Result<Vec<Job>, StoreError> {
    const DOING: &str = "list jobs";
    let failed = |error| database.target().error(DOING, error);
    let (sql, args) = list_query(filter, after, limit.clamp(1, PAGE)).map_err(failed)?;
    let rows = database.read(DOING, AssertSqlSafe(sql), Ok(args)).await?;
    let mut jobs = Vec::with_capacity(rows.len());
    for row in &rows {
        match JobRow::read(row).map_err(failed)?.decode() {
            Ok(job) => jobs.push(job),
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "a job cannot be read and is left out"
                );
            }
        }
    }
    Ok(jobs)
}

/// The statement of a page, with the conditions that are asked for.
pub(crate) fn list_query(
    filter: &JobFilter,
    after: Option<Uuid>,
    limit: usize,
) -> Result<(String, PgArguments), sqlx::Error> {
    let mut query = Query { sql: LIST.to_owned(), args: PgArguments::default() };
    query.bind(escape(&filter.tenant_id).into_owned())?;
    if let Some(project_id) = &filter.project_id {
        query.condition(" and j.project_id = ", escape(project_id).into_owned(), "")?;
    }
    if let Some(state) = filter.state {
        query.condition(" and j.state = ", state.as_str(), "")?;
    }
    if let Some(scope) = filter.scope {
        query.condition(" and j.scope = ", scope.as_str(), "::text::document_scope")?;
    }
    if let Some(tool_name) = &filter.tool_name {
        query.condition(" and j.tool_name = ", escape(tool_name).into_owned(), "")?;
    }
    if let Some(after) = after {
        query.condition(
            " and (j.created_at, j.id) < (select a.created_at, a.id from job a where a.id = ",
            after,
            ")",
        )?;
    }
    query.condition(" order by j.created_at desc, j.id desc limit ", signed(limit as u64), "")?;
    Ok((query.sql, query.args))
}

/// How many jobs are queued.
pub(crate) async fn count_queued(database: &Database) -> Result<u64, StoreError> {
    const DOING: &str = "count queued jobs";
    let rows = database.read(DOING, COUNT_QUEUED, args![]).await?;
    let count = rows.first().ok_or(sqlx::Error::RowNotFound).and_then(|row| row.try_get(0));
    count.map(unsigned).map_err(|error| database.target().error(DOING, error))
}

/// A row of `job` whose words and signals are not yet decoded.
struct JobRow {
    /// Without signals; trigger and state are to be replaced.
    job: Job,
    trigger: String,
    state: String,
    signals: String,
}

impl JobRow {
    fn read(row: &PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            job: Job {
                key: key(row, 0)?,
                id: row.try_get(4)?,
                service_type: text(row, 5)?,
                tenant_id: text(row, 6)?,
                project_id: text(row, 7)?,
                signature: text(row, 8)?,
                key_user: optional_text(row, 9)?,
                trigger: Trigger::ToolCallError,
                signals: Vec::new(),
                signal_count: unsigned(row.try_get(12)?),
                state: JobState::Queued,
                lease_token: unsigned(row.try_get(14)?),
                lease_until: optional_instant(row, 15)?,
                created_at: instant(row, 16)?,
                ended_at: optional_instant(row, 17)?,
                reason: optional_text(row, 18)?,
            },
            trigger: row.try_get(10)?,
            state: row.try_get(13)?,
            signals: row.try_get(11)?,
        })
    }

    fn decode(&self) -> Result<Job, StoreError> {
        const TRIGGERS: [Trigger; 3] =
            [Trigger::ToolCallError, Trigger::UserRequest, Trigger::ScheduledRecheck];
        const STATES: [JobState; 4] = [JobState::Queued, JobState::Running, JobState::Done, JobState::Stale];
        let unknown = |what, word: &str| corrupt("job", self.job.id, format!("unknown {what} `{word}`"));
        let trigger = TRIGGERS.into_iter().find(|it| it.as_str() == self.trigger);
        let state = STATES.into_iter().find(|it| it.as_str() == self.state);
        Ok(Job {
            trigger: trigger.ok_or_else(|| unknown("trigger", &self.trigger))?,
            state: state.ok_or_else(|| unknown("state", &self.state))?,
            signals: from_json(&self.signals).map_err(|error| corrupt("job", self.job.id, error))?,
            ..self.job.clone()
        })
    }
}
