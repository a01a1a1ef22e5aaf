//! Outage rows. They outlive their document, unless it was a deleted user's or session's.

use health_model::DocumentKey;
use ports::{Outage, OutageChange};
use sqlx::{Row, SqliteConnection, SqlitePool};
use tracing::instrument;

use crate::failure::{Failure, log_skipped};
use crate::rows::{self, micros};
use crate::sql;

pub(crate) async fn change(tx: &mut SqliteConnection, change: &OutageChange) -> Result<(), Failure> {
    let query = match change {
        OutageChange::Open { key, signature, at } => {
            rows::bind_key(sqlx::query(sql::OPEN_OUTAGE), key).bind(signature).bind(micros(*at))
        }
        OutageChange::Close { key, at } => {
            rows::bind_key(sqlx::query(sql::CLOSE_OUTAGE), key).bind(micros(*at))
        }
    };
    query.execute(tx).await?;
    Ok(())
}

#[instrument(name = "db.outages.list", level = "debug", skip_all)]
pub(crate) async fn list_outages(
    readers: &SqlitePool,
    key: &DocumentKey,
    limit: usize,
) -> Result<Vec<Outage>, Failure> {
    let query = rows::bind_key(sqlx::query(sql::LIST_OUTAGES), key).bind(rows::row_count(limit));
    let mut outages = Vec::new();
    for row in query.fetch_all(readers).await? {
        let started_at = rows::instant_in("outages", key, row.try_get(1)?);
        let ended_at: Option<i64> = row.try_get(2)?;
        let ended_at = ended_at.map(|it| rows::instant_in("outages", key, it)).transpose();
        match (started_at, ended_at) {
            (Ok(started_at), Ok(ended_at)) => outages.push(Outage {
                key: key.clone(),
                signature: row.try_get(0)?,
                started_at,
                ended_at,
                censored: row.try_get(3)?,
            }),
            (Err(error), _) | (_, Err(error)) => log_skipped(&error),
        }
    }
    Ok(outages)
}
