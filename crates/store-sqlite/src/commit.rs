//! The transaction that documents, jobs and outages are written in.
//!
//! It begins as a writer (`begin immediate`), so what it compares stays true until it ends, whatever other processes do. Positions
//! and versions come from the row of `meta` inside of it: no counter lives in a process.

use std::collections::BTreeSet;

use health_model::Document;
use health_model::document::DOCUMENT_FORMAT;
use ports::{Batch, Committed, DocumentWrite, Revision, StoreError};
use sqlx::{Row, SqliteConnection, SqlitePool};
use tracing::instrument;

use crate::failure::{Failure, other};
use crate::rows::{self, micros, signed, unsigned};
use crate::{feed, jobs, outages, sql};

/// How every write begins.
pub(crate) const BEGIN: &str = "begin immediate";

#[instrument(
    name = "db.batch.commit",
    level = "debug",
    skip_all,
    fields(documents = batch.documents.len(), jobs = batch.jobs.len(), outages = batch.outages.len())
)]
pub(crate) async fn commit(
    readers: &SqlitePool,
    writer: &SqlitePool,
    batch: &Batch,
) -> Result<Committed, Failure> {
    let mut keys = BTreeSet::new();
    for DocumentWrite { document, .. } in &batch.documents {
        if !keys.insert(&document.key) {
            return Err(other(format!("a batch holds two writes of `{}`", document.key)).into());
        }
    }
    if batch.documents.is_empty() && batch.jobs.is_empty() && batch.outages.is_empty() {
        let revision = feed::head(readers).await?;
        return Ok(Committed { revision, versions: Vec::new(), jobs: Vec::new() });
    }
    // Outside of the transaction: it keeps other writers out.
    let mut bodies = Vec::with_capacity(batch.documents.len());
    for write in &batch.documents {
        bodies.push(serde_json::to_string(&write.document).map_err(|it| sqlx::Error::Encode(Box::new(it)))?);
    }

    let mut tx = writer.begin_with(BEGIN).await?;
    let revision =
        if batch.documents.is_empty() { feed::place(&mut tx).await?.0 } else { advance(&mut tx).await? };
    for (write, body) in batch.documents.iter().zip(bodies) {
        write_document(&mut tx, write, body, revision.position).await?;
    }
    let mut outcomes = Vec::with_capacity(batch.jobs.len());
    for enqueue in &batch.jobs {
        outcomes.push(jobs::enqueue(&mut tx, enqueue).await?);
    }
    jobs::drop_excess(&mut tx, &batch.jobs, &outcomes).await?;
    for change in &batch.outages {
        outages::change(&mut tx, change).await?;
    }
    tx.commit().await?;

    let versions = vec![revision.position; batch.documents.len()];
    Ok(Committed { revision, versions, jobs: outcomes })
}

/// The position of this commit.
pub(crate) async fn advance(tx: &mut SqliteConnection) -> Result<Revision, Failure> {
    let row = sqlx::query(sql::ADVANCE).fetch_one(tx).await?;
    Ok(Revision { epoch: row.try_get(0)?, position: unsigned(row.try_get(1)?) })
}

async fn write_document(
    tx: &mut SqliteConnection,
    write: &DocumentWrite,
    body: String,
    version: u64,
) -> Result<(), Failure> {
    let Document { key, health, updated_at, .. } = &write.document;
    let statement = if write.expected.is_some() { sql::UPDATE_DOCUMENT } else { sql::INSERT_DOCUMENT };
    let query = rows::bind_key(sqlx::query(statement), key)
        .bind(signed(version))
        .bind(health.as_ref().map(|it| it.status.as_str()))
        .bind(write.document.next_cooldown_at(*updated_at).map(micros))
        .bind(micros(*updated_at))
        .bind(i64::from(DOCUMENT_FORMAT))
        .bind(body)
        .bind(write.expected.map(signed));
    if query.execute(&mut *tx).await?.rows_affected() == 0 {
        if write.expected.is_none() {
            // A row that cannot be read looks absent to whoever loads its container. A conflict would send the writer back to
            // load it again, for ever: say what is wrong instead. An admin's delete removes the row.
            let row = rows::bind_key(sqlx::query(sql::LOAD_DOCUMENT), key).fetch_optional(&mut *tx).await?;
            row.as_ref().map(rows::document).transpose()?;
        }
        return Err(StoreError::Conflict { key: key.clone() }.into());
    }
    if write.expected.is_none() {
        rows::bind_key(sqlx::query(sql::DELETE_TOMBSTONE), key).execute(tx).await?;
    }
    Ok(())
}
