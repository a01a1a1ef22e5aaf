//! Rule layers. The version of a layer is the number that its last put made.

use ports::{RuleLayerKey, RuleLayerRecord, StoreError};
use sqlx::{Row, SqliteConnection, SqlitePool};
use tracing::instrument;

use crate::commit::BEGIN;
use crate::failure::{Failure, log_skipped};
use crate::rows::{self, micros, signed, unsigned};
use crate::sql;

#[instrument(name = "db.rule_layers.list", level = "debug", skip_all)]
pub(crate) async fn list_rule_layers(readers: &SqlitePool) -> Result<(u64, Vec<RuleLayerRecord>), Failure> {
    // One snapshot: the number is that of the list.
    let mut tx = readers.begin().await?;
    let number: i64 = sqlx::query_scalar(sql::RULES_REVISION).fetch_one(&mut *tx).await?;
    let mut layers = Vec::new();
    for row in sqlx::query(sql::LIST_RULE_LAYERS).fetch_all(&mut *tx).await? {
        let key = RuleLayerKey { tenant_id: row.try_get(0)?, project_id: row.try_get(1)? };
        let shown = format!("{}/{}", key.tenant_id, key.project_id.as_deref().unwrap_or_default());
        match rows::instant_in("rule_layers", &shown, row.try_get(3)?) {
            Ok(updated_at) => layers.push(RuleLayerRecord {
                key,
                text: row.try_get(2)?,
                updated_at,
                updated_by: row.try_get(4)?,
                version: unsigned(row.try_get(5)?),
            }),
            Err(error) => log_skipped(&error),
        }
    }
    Ok((unsigned(number), layers))
}

#[instrument(name = "db.rule_layers.revision", level = "debug", skip_all)]
pub(crate) async fn rules_revision(readers: &SqlitePool) -> Result<u64, Failure> {
    let number: i64 = sqlx::query_scalar(sql::RULES_REVISION).fetch_one(readers).await?;
    Ok(unsigned(number))
}

#[instrument(name = "db.rule_layer.put", level = "debug", skip_all)]
pub(crate) async fn put_rule_layer(
    writer: &SqlitePool,
    layer: &RuleLayerRecord,
    expected: Option<u64>,
) -> Result<u64, Failure> {
    let mut tx = writer.begin_with(BEGIN).await?;
    expect(&mut tx, &layer.key, expected).await?;
    let version = advance(&mut tx).await?;
    sqlx::query(sql::PUT_RULE_LAYER)
        .bind(&layer.key.tenant_id)
        .bind(layer.key.project_id.as_deref())
        .bind(&layer.text)
        .bind(micros(layer.updated_at))
        .bind(&layer.updated_by)
        .bind(signed(version))
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(version)
}

#[instrument(name = "db.rule_layer.delete", level = "debug", skip_all)]
pub(crate) async fn delete_rule_layer(
    writer: &SqlitePool,
    key: &RuleLayerKey,
    expected: Option<u64>,
) -> Result<bool, Failure> {
    let mut tx = writer.begin_with(BEGIN).await?;
    expect(&mut tx, key, expected).await?;
    let gone = sqlx::query(sql::DELETE_RULE_LAYER)
        .bind(&key.tenant_id)
        .bind(key.project_id.as_deref())
        .execute(&mut *tx)
        .await?;
    let was_there = gone.rows_affected() > 0;
    if was_there {
        advance(&mut tx).await?;
    }
    tx.commit().await?;
    Ok(was_there)
}

/// The next number of the rules.
pub(crate) async fn advance(tx: &mut SqliteConnection) -> Result<u64, Failure> {
    let number: i64 = sqlx::query_scalar(sql::ADVANCE_RULES).fetch_one(tx).await?;
    Ok(unsigned(number))
}

async fn expect(tx: &mut SqliteConnection, key: &RuleLayerKey, expected: Option<u64>) -> Result<(), Failure> {
    let Some(expected) = expected else { return Ok(()) };
    let found: Option<i64> = sqlx::query_scalar(sql::RULE_LAYER_VERSION)
        .bind(&key.tenant_id)
        .bind(key.project_id.as_deref())
        .fetch_optional(tx)
        .await?;
    let found = found.map_or(0, unsigned);
    if found == expected {
        return Ok(());
    }
    Err(StoreError::RuleLayerChanged { expected, found }.into())
}
