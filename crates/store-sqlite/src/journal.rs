//! The journal of failures. Its content is opaque here.

use std::collections::BTreeSet;

use ports::{FailureEntry, FailurePage, FailurePlace};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqlitePool};
use tracing::instrument;
use uuid::Uuid;

use crate::commit::BEGIN;
use crate::failure::{Failure, corrupt, log_skipped};
use crate::rows::{self, micros, row_count};
use crate::sql;

#[instrument(name = "db.failures.append", level = "debug", skip_all, fields(n = entries.len()))]
pub(crate) async fn append(
    writer: &SqlitePool,
    entries: &[FailureEntry],
    keep: usize,
) -> Result<(), Failure> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut tx = writer.begin_with(BEGIN).await?;
    for entry in entries {
        sqlx::query(sql::APPEND_FAILURE)
            .bind(entry.id.to_string())
            .bind(&entry.tenant_id)
            .bind(&entry.project_id)
            .bind(micros(entry.at))
            .bind(&entry.content)
            .execute(&mut *tx)
            .await?;
    }
    let tenants: BTreeSet<&str> = entries.iter().map(|it| it.tenant_id.as_str()).collect();
    for tenant_id in tenants {
        sqlx::query(sql::TRIM_FAILURES).bind(tenant_id).bind(row_count(keep)).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Rows of a further query of one page.
const MANY: usize = 1_000;

#[instrument(name = "db.failures.list", level = "debug", skip_all)]
pub(crate) async fn list(
    readers: &SqlitePool,
    tenant_id: &str,
    project_id: Option<&str>,
    before: Option<FailurePlace>,
    limit: usize,
) -> Result<FailurePage, Failure> {
    let mut place =
        before.map_or((i64::MAX, String::new()), |place| (micros(place.at), place.id.to_string()));
    let mut page = FailurePage::default();
    let mut n_rows = limit;
    loop {
        let (at, id) = place.clone();
        let query = match project_id {
            None => sqlx::query(sql::LIST_FAILURES).bind(tenant_id).bind(at).bind(id).bind(row_count(n_rows)),
            Some(project_id) => sqlx::query(sql::LIST_FAILURES_OF_PROJECT)
                .bind(tenant_id)
                .bind(at)
                .bind(id)
                .bind(row_count(n_rows))
                .bind(project_id),
        };
        let rows = query.fetch_all(readers).await?;
        for row in &rows {
            if page.entries.len() >= limit {
                return Ok(page);
            }
            // An id that is no text is before all of its instant: the next query begins behind that.
            place = (row.try_get(3)?, row.try_get(0).unwrap_or_default());
            match read(row) {
                Ok(entry) => page.entries.push(entry),
                Err(error) => {
                    log_skipped(&error);
                    page.n_unreadable += 1;
                }
            }
        }
        if page.entries.len() >= limit || rows.len() < n_rows {
            return Ok(page);
        }
        // Rows that cannot be read are rarely alone.
        n_rows = MANY;
    }
}

fn read(row: &SqliteRow) -> Result<FailureEntry, ports::StoreError> {
    let shown: String = row.try_get(0).unwrap_or_default();
    let text = |at: usize| row.try_get(at).map_err(|error| corrupt("failures", &shown, error));
    let at = row.try_get(3).map_err(|error| corrupt("failures", &shown, error))?;
    Ok(FailureEntry {
        id: Uuid::try_parse(&shown).map_err(|error| corrupt("failures", &shown, error))?,
        tenant_id: text(1)?,
        project_id: text(2)?,
        at: rows::instant_in("failures", &shown, at)?,
        content: text(4)?,
    })
}
