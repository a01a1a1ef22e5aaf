//! Hits of cooldowns. They go with their document by a foreign key.

use health_model::DocumentKey;
use ports::{Counter, HitDelta};
use sqlx::{Row, SqlitePool};
use tracing::instrument;

use crate::commit::BEGIN;
use crate::failure::{Failure, log_skipped};
use crate::rows::{self, micros, signed, unsigned};
use crate::sql;

#[instrument(name = "db.counters.add", level = "debug", skip_all, fields(n = deltas.len()))]
pub(crate) async fn add_hits(writer: &SqlitePool, deltas: &[HitDelta]) -> Result<(), Failure> {
    if deltas.is_empty() {
        return Ok(());
    }
    let mut tx = writer.begin_with(BEGIN).await?;
    for delta in deltas {
        rows::bind_key(sqlx::query(sql::ADD_HITS), &delta.key)
            .bind(&delta.signature)
            .bind(delta.user_id.as_deref())
            .bind(delta.episode)
            .bind(signed(delta.hits))
            .bind(micros(delta.last_triggered_at))
            .execute(&mut *tx)
            .await?;
    }
    tx.commit().await?;
    Ok(())
}

#[instrument(name = "db.counters.load", level = "debug", skip_all)]
pub(crate) async fn load_counters(readers: &SqlitePool, key: &DocumentKey) -> Result<Vec<Counter>, Failure> {
    let found = rows::bind_key(sqlx::query(sql::LOAD_COUNTERS), key).fetch_all(readers).await?;
    let mut counters = Vec::with_capacity(found.len());
    for row in &found {
        match rows::instant_in("counters", key, row.try_get(4)?) {
            Ok(last_triggered_at) => counters.push(Counter {
                key: key.clone(),
                signature: row.try_get(0)?,
                user_id: row.try_get(1)?,
                episode: row.try_get(2)?,
                hits: unsigned(row.try_get(3)?),
                last_triggered_at,
            }),
            Err(error) => log_skipped(&error),
        }
    }
    Ok(counters)
}
