//! Deletes and the sweep. Neither reads a body where it can do without: what cannot be read can be deleted.

use health_model::vocabulary::Scope;
use health_model::{ContainerKey, DocumentKey, Instant};
use ports::store::orphaned_outages_before;
use ports::{DeleteSelector, Revision};
use sqlx::{Row, SqliteConnection, SqlitePool};
use tracing::instrument;

use crate::commit::{BEGIN, advance};
use crate::failure::{Failure, log_skipped};
use crate::rows::{self, micros, signed};
use crate::{feed, jobs, rules, sql};

/// Outages kept for a document.
const OUTAGE_LIMIT: i64 = 200;

/// Deletes what `selector` names; how many documents, and the revision.
#[instrument(name = "db.documents.delete", level = "debug", skip_all)]
pub(crate) async fn delete(
    writer: &SqlitePool,
    selector: &DeleteSelector,
    now: Instant,
) -> Result<(u64, Revision), Failure> {
    let whole = |tenant_id: &str, scope, scope_id: &str| {
        ContainerKey { tenant_id: tenant_id.to_owned(), scope, scope_id: scope_id.to_owned() }.document("")
    };
    let container = [
        sql::BURY_CONTAINER,
        sql::DELETE_CONTAINER,
        sql::DELETE_CONTAINER_OUTAGES,
        sql::DELETE_CONTAINER_JOBS,
    ];
    let (key, [bury, delete, outages, jobs]) = match selector {
        DeleteSelector::One(key) => {
            (key.clone(), [sql::BURY_ONE, sql::DELETE_ONE, sql::CENSOR_ONE, sql::DELETE_ONE_JOBS])
        }
        DeleteSelector::User { tenant_id, user_id } => (whole(tenant_id, Scope::User, user_id), container),
        DeleteSelector::Session { tenant_id, session_id } => {
            (whole(tenant_id, Scope::Session, session_id), container)
        }
        DeleteSelector::Tenant { tenant_id } => (
            whole(tenant_id, Scope::Tenant, ""),
            [sql::BURY_TENANT, sql::DELETE_TENANT, sql::DELETE_TENANT_OUTAGES, sql::DELETE_TENANT_JOBS],
        ),
    };

    let mut tx = writer.begin_with(BEGIN).await?;
    let (mut revision, _) = feed::place(&mut tx).await?;
    let position = revision.position + 1;
    let n = run(&mut tx, bury, &key, position, now).await?;
    for statement in [delete, outages, jobs] {
        run(&mut tx, statement, &key, position, now).await?;
    }
    if n > 0 {
        revision = advance(&mut tx).await?;
    }
    match selector {
        DeleteSelector::One(_) | DeleteSelector::Session { .. } => {}
        DeleteSelector::User { tenant_id, user_id } => {
            sqlx::query(sql::DELETE_USER_COUNTERS).bind(tenant_id).bind(user_id).execute(&mut *tx).await?;
            jobs::forget_user(&mut tx, tenant_id, user_id).await?;
        }
        DeleteSelector::Tenant { .. } => {
            run(&mut tx, sql::DELETE_TENANT_FAILURES, &key, position, now).await?;
            if run(&mut tx, sql::DELETE_TENANT_RULES, &key, position, now).await? > 0 {
                rules::advance(&mut tx).await?;
            }
        }
    }
    tx.commit().await?;
    Ok((n, revision))
}

/// Runs a statement on what `key` names: a document, or the part of it that the statement reads.
async fn run(
    tx: &mut SqliteConnection,
    statement: &'static str,
    key: &DocumentKey,
    position: u64,
    now: Instant,
) -> Result<u64, Failure> {
    let query = rows::bind_key(sqlx::query(statement), key).bind(signed(position)).bind(micros(now));
    Ok(query.execute(tx).await?.rows_affected())
}

/// Deletes up to 500 sessions; how many, and the revision.
#[instrument(name = "db.sessions.sweep", level = "debug", skip_all)]
pub(crate) async fn sweep_sessions(
    writer: &SqlitePool,
    before: Instant,
    now: Instant,
) -> Result<(u64, Revision), Failure> {
    let (before, now) = (micros(before), micros(now));
    let mut tx = writer.begin_with(BEGIN).await?;
    let (mut revision, _) = feed::place(&mut tx).await?;
    let n = sqlx::query(sql::BURY_SESSIONS)
        .bind(before)
        .bind(signed(revision.position + 1))
        .bind(now)
        .execute(&mut *tx)
        .await?
        .rows_affected();
    if n > 0 {
        sqlx::query(sql::CENSOR_SESSIONS).bind(before).bind(now).execute(&mut *tx).await?;
        sqlx::query(sql::DELETE_SESSION_JOBS).bind(before).execute(&mut *tx).await?;
        sqlx::query(sql::DELETE_SESSIONS).bind(before).execute(&mut *tx).await?;
        revision = advance(&mut tx).await?;
    }
    tx.commit().await?;
    Ok((n, revision))
}

/// Removes what is not a document: old tombstones and ended jobs, counters of past episodes, outages over the limit or left
/// behind for long.
#[instrument(name = "db.remains.sweep", level = "debug", skip_all)]
pub(crate) async fn sweep_remains(
    readers: &SqlitePool,
    writer: &SqlitePool,
    tombstones_before: Instant,
    now: Instant,
) -> Result<u64, Failure> {
    let before = micros(tombstones_before);
    let mut tx = writer.begin_with(BEGIN).await?;
    sqlx::query(sql::RAISE_FLOOR).bind(before).execute(&mut *tx).await?;
    let mut n = sqlx::query(sql::DELETE_TOMBSTONES).bind(before).execute(&mut *tx).await?.rows_affected();
    n += sqlx::query(sql::DELETE_ENDED_JOBS).bind(before).execute(&mut *tx).await?.rows_affected();
    n += sqlx::query(sql::DELETE_EXCESS_OUTAGES).bind(OUTAGE_LIMIT).execute(&mut *tx).await?.rows_affected();
    let before = micros(orphaned_outages_before(now));
    n += sqlx::query(sql::DELETE_ORPHANED_OUTAGES).bind(before).execute(&mut *tx).await?.rows_affected();
    tx.commit().await?;
    Ok(n + sweep_counters(readers, writer).await?)
}

/// Reads beside the writers, document by document, and deletes only where the document is still the one that was read.
async fn sweep_counters(readers: &SqlitePool, writer: &SqlitePool) -> Result<u64, Failure> {
    let mut n = 0;
    let mut last = 0_i64;
    loop {
        let counted = sqlx::query(sql::LIST_COUNTED).bind(last).fetch_all(readers).await?;
        if counted.is_empty() {
            return Ok(n);
        }
        let mut past: Vec<(i64, i64, u64)> = Vec::new();
        for row in &counted {
            last = row.try_get(7)?;
            let document = match rows::document(row) {
                Ok(document) => document,
                Err(error) => {
                    log_skipped(&error);
                    continue;
                }
            };
            for counter in sqlx::query(sql::LIST_COUNTER_KEYS).bind(last).fetch_all(readers).await? {
                let (signature, user_id): (&str, Option<&str>) = (counter.try_get(1)?, counter.try_get(2)?);
                let episode: i64 = counter.try_get(3)?;
                let cooldown = document.document.cooldown(signature, user_id);
                if cooldown.is_none_or(|it| micros(it.opened_at) != episode) {
                    past.push((counter.try_get(0)?, last, document.version));
                }
            }
        }
        if past.is_empty() {
            continue;
        }
        let mut tx = writer.begin_with(BEGIN).await?;
        for (id, document_id, version) in past {
            let query = sqlx::query(sql::DELETE_COUNTER).bind(id).bind(document_id).bind(signed(version));
            n += query.execute(&mut *tx).await?.rows_affected();
        }
        tx.commit().await?;
    }
}
