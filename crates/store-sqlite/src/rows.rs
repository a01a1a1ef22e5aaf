//! Between rows and values.

use health_model::document::DOCUMENT_FORMAT;
use health_model::vocabulary::Scope;
use health_model::{Document, DocumentKey, Instant};
use ports::{Job, JobState, Signal, StoreError, Trigger, Versioned};
use sqlx::Row;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use uuid::Uuid;

use crate::failure::corrupt;

type Query<'q> = sqlx::query::Query<'q, sqlx::Sqlite, SqliteArguments>;

/// The number of a scope: its place from narrow to wide. Stored; never change one.
pub(crate) const fn scope_code(scope: Scope) -> i64 {
    match scope {
        Scope::Session => 1,
        Scope::User => 2,
        Scope::Project => 3,
        Scope::Tenant => 4,
        Scope::Global => 5,
    }
}

fn scope(code: i64) -> Option<Scope> {
    Scope::ALL.iter().copied().find(|it| scope_code(*it) == code)
}

/// Instants outside of documents are kept to the microsecond.
pub(crate) const fn micros(at: Instant) -> i64 {
    at.timestamp_micros()
}

fn instant(micros: i64) -> Result<Instant, String> {
    Instant::from_timestamp_micros(micros).ok_or_else(|| format!("`{micros}` is no instant"))
}

/// Numbers are stored with a sign; none that a store gives out needs the last bit.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The size of a page, for `limit`.
pub(crate) fn row_count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A number that is never stored below zero.
pub(crate) const fn unsigned(number: i64) -> u64 {
    if number < 0 { 0 } else { number.unsigned_abs() }
}

/// Binds the four parts of a key, ?1 to ?4.
pub(crate) fn bind_key<'q>(query: Query<'q>, key: &'q DocumentKey) -> Query<'q> {
    query.bind(&key.tenant_id).bind(scope_code(key.scope)).bind(&key.scope_id).bind(&key.tool_name)
}

/// The key in the columns from `first` on.
pub(crate) fn key(row: &SqliteRow, first: usize, table: &'static str) -> Result<DocumentKey, StoreError> {
    let read = || -> Result<_, sqlx::Error> {
        Ok((row.try_get(first)?, row.try_get(first + 1)?, row.try_get(first + 2)?, row.try_get(first + 3)?))
    };
    let (tenant_id, code, scope_id, tool_name): (String, i64, String, String) =
        read().map_err(|error| corrupt(table, "unknown", error))?;
    let Some(scope) = scope(code) else {
        let shown = format!("{tenant_id}/{code}/{scope_id}/{tool_name}");
        return Err(corrupt(table, shown, format!("`{code}` is no scope")));
    };
    Ok(DocumentKey { tenant_id, scope, scope_id, tool_name })
}

/// Reads the columns that statements on documents begin with.
pub(crate) fn document(row: &SqliteRow) -> Result<Versioned, StoreError> {
    let key = key(row, 0, "documents")?;
    let read = || -> Result<(i64, i64, &str), sqlx::Error> {
        Ok((row.try_get(4)?, row.try_get(5)?, row.try_get(6)?))
    };
    let (version, format, body) = read().map_err(|error| corrupt("documents", &key, error))?;
    if format > i64::from(DOCUMENT_FORMAT) {
        let reason = format!("format {format} is of a newer program, this one reads {DOCUMENT_FORMAT}");
        return Err(corrupt("documents", &key, reason));
    }
    let document: Document = serde_json::from_str(body).map_err(|error| corrupt("documents", &key, error))?;
    if document.key != key {
        return Err(corrupt("documents", &key, format!("it holds the document of `{}`", document.key)));
    }
    Ok(Versioned { document, version: unsigned(version) })
}

/// Reads the columns of a job.
pub(crate) fn job(row: &SqliteRow) -> Result<Job, StoreError> {
    let shown: String = row.try_get(0).unwrap_or_default();
    let key = key(row, 4, "jobs")?;
    read_job(row, key).map_err(|error| corrupt("jobs", shown, error))
}

fn read_job(row: &SqliteRow, key: DocumentKey) -> Result<Job, Box<dyn std::error::Error + Send + Sync>> {
    let id: &str = row.try_get(0)?;
    let optional = |at: Option<i64>| at.map(instant).transpose();
    Ok(Job {
        id: Uuid::try_parse(id)?,
        service_type: row.try_get(1)?,
        tenant_id: row.try_get(2)?,
        project_id: row.try_get(3)?,
        key,
        signature: row.try_get(8)?,
        key_user: row.try_get(9)?,
        trigger: trigger(row.try_get(10)?)?,
        signals: signals(row.try_get(11)?)?,
        signal_count: unsigned(row.try_get(12)?),
        state: state(row.try_get(13)?)?,
        lease_token: unsigned(row.try_get(14)?),
        lease_until: optional(row.try_get(15)?)?,
        created_at: instant(row.try_get(16)?)?,
        ended_at: optional(row.try_get(17)?)?,
        reason: row.try_get(18)?,
    })
}

/// The signals of a job, to JSON; instants as all stores keep them.
pub(crate) fn signals_text(signals: &[Signal]) -> serde_json::Result<String> {
    use chrono::SubsecRound;
    let signals: Vec<_> =
        signals.iter().map(|it| Signal { at: it.at.trunc_subsecs(6), ..it.clone() }).collect();
    serde_json::to_string(&signals)
}

/// The signals of a job, from JSON.
pub(crate) fn signals(text: &str) -> serde_json::Result<Vec<Signal>> {
    serde_json::from_str(text)
}

fn trigger(word: &str) -> Result<Trigger, String> {
    [Trigger::ToolCallError, Trigger::UserRequest, Trigger::ScheduledRecheck]
        .into_iter()
        .find(|it| it.as_str() == word)
        .ok_or_else(|| format!("`{word}` is no trigger"))
}

fn state(word: &str) -> Result<JobState, String> {
    [JobState::Queued, JobState::Running, JobState::Done, JobState::Stale]
        .into_iter()
        .find(|it| it.as_str() == word)
        .ok_or_else(|| format!("`{word}` is no state of a job"))
}

/// The instant in a column; `key` names the row in an error.
pub(crate) fn instant_in(
    table: &'static str,
    key: &dyn std::fmt::Display,
    micros: i64,
) -> Result<Instant, StoreError> {
    instant(micros).map_err(|error| corrupt(table, key, error))
}
