//! Rule layers that were put through the API, with one number that every put and delete raises.

use ports::{RuleLayerKey, RuleLayerRecord, StoreError};
use sqlx::Row;
use sqlx::postgres::{PgArguments, PgRow};

use crate::connection::{Database, Failure, Transaction};
use crate::row::{instant, micros, optional_text, text, unsigned};
use crate::statement::{args, statements};
use crate::text::escape;

const BEGIN: &str = "begin isolation level read committed";

/// The layer of parameters 1 and 2.
macro_rules! layer_is {
    () => {
        "tenant_id = $1 and coalesce(project_id, '') = coalesce($2::text, '')
            and (project_id is null) = ($2::text is null)"
    };
}

statements! {
    /// The number, and each layer; one row without a layer if there is none.
    LIST = "select s.rules_revision, l.version is not null, l.tenant_id, l.project_id, l.body, l.updated_at, l.updated_by,
            l.version
        from store s left join rule_layer l on true
        order by l.tenant_id, l.project_id nulls first";

    REVISION = "select rules_revision from store";

    /// Raises the number. Puts and deletes of all servers wait for each other here.
    RAISE = "update store set rules_revision = rules_revision + 1 returning rules_revision";

    FOUND = "select version from rule_layer where ", layer_is!();

    PUT = "insert into rule_layer (tenant_id, project_id, body, updated_at, updated_by, version)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (tenant_id, (coalesce(project_id, '')), (project_id is null)) do update set
            body = excluded.body, updated_at = excluded.updated_at, updated_by = excluded.updated_by,
            version = excluded.version";

    DELETE = "delete from rule_layer where ", layer_is!();
}

/// All layers, with the number.
pub(crate) async fn list(database: &Database) -> Result<(u64, Vec<RuleLayerRecord>), StoreError> {
    const DOING: &str = "list rule layers";
    let rows = database.read(DOING, LIST, args![]).await?;
    let read = || {
        let revision = rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)?;
        let mut layers = Vec::with_capacity(rows.len());
        for row in &rows {
            if row.try_get(1)? {
                layers.push(read_layer(row)?);
            }
        }
        Ok((unsigned(revision), layers))
    };
    read().map_err(|error| database.target().error(DOING, error))
}

fn read_layer(row: &PgRow) -> Result<RuleLayerRecord, sqlx::Error> {
    Ok(RuleLayerRecord {
        key: RuleLayerKey { tenant_id: text(row, 2)?, project_id: optional_text(row, 3)? },
        text: text(row, 4)?,
        updated_at: instant(row, 5)?,
        updated_by: text(row, 6)?,
        version: unsigned(row.try_get(7)?),
    })
}

/// The number alone.
pub(crate) async fn revision(database: &Database) -> Result<u64, StoreError> {
    const DOING: &str = "read the revision of the rules";
    let rows = database.read(DOING, REVISION, args![]).await?;
    let revision = rows.first().ok_or(sqlx::Error::RowNotFound).and_then(|row| row.try_get(0));
    revision.map(unsigned).map_err(|error| database.target().error(DOING, error))
}

/// Puts a layer; returns its version.
pub(crate) async fn put(
    database: &Database,
    layer: &RuleLayerRecord,
    expected: Option<u64>,
) -> Result<u64, StoreError> {
    let mut transaction = database.begin("put a rule layer", BEGIN).await?;
    match put_in(&mut transaction, layer, expected).await {
        Ok(Step::Done(version)) => transaction.commit().await.map(|()| version),
        Ok(Step::Changed { expected, found }) => {
            transaction.roll_back().await;
            Err(StoreError::RuleLayerChanged { expected, found })
        }
        Err(failure) => Err(transaction.error(failure)),
    }
}

/// Deletes a layer; `false` if there was none.
pub(crate) async fn delete(
    database: &Database,
    key: &RuleLayerKey,
    expected: Option<u64>,
) -> Result<bool, StoreError> {
    let mut transaction = database.begin("delete a rule layer", BEGIN).await?;
    match delete_in(&mut transaction, key, expected).await {
        Ok(Step::Done(true)) => transaction.commit().await.map(|()| true),
        Ok(Step::Done(false)) => {
            transaction.roll_back().await;
            Ok(false)
        }
        Ok(Step::Changed { expected, found }) => {
            transaction.roll_back().await;
            Err(StoreError::RuleLayerChanged { expected, found })
        }
        Err(failure) => Err(transaction.error(failure)),
    }
}

enum Step<T> {
    Done(T),
    Changed { expected: u64, found: u64 },
}

async fn put_in(
    transaction: &mut Transaction<'_>,
    layer: &RuleLayerRecord,
    expected: Option<u64>,
) -> Result<Step<u64>, Failure> {
    let rows = transaction.run(RAISE, args![]).await?;
    let version: i64 = rows
        .first()
        .ok_or(sqlx::Error::RowNotFound)
        .and_then(|row| row.try_get(0))
        .map_err(Failure::Driver)?;
    let found = found(transaction, &layer.key).await?;
    if let Some(expected) = expected.filter(|it| *it != found) {
        return Ok(Step::Changed { expected, found });
    }
    let args = args![
        escape(&layer.key.tenant_id).into_owned(),
        layer.key.project_id.as_deref().map(|it| escape(it).into_owned()),
        escape(&layer.text).into_owned(),
        micros(layer.updated_at),
        escape(&layer.updated_by).into_owned(),
        version,
    ];
    transaction.run(PUT, args).await?;
    Ok(Step::Done(unsigned(version)))
}

async fn delete_in(
    transaction: &mut Transaction<'_>,
    key: &RuleLayerKey,
    expected: Option<u64>,
) -> Result<Step<bool>, Failure> {
    transaction.run(RAISE, args![]).await?;
    let found = found(transaction, key).await?;
    if let Some(expected) = expected.filter(|it| *it != found) {
        return Ok(Step::Changed { expected, found });
    }
    transaction.run(DELETE, layer_args(key)).await?;
    Ok(Step::Done(found > 0))
}

/// The version of a layer; 0 = there is none.
async fn found(transaction: &mut Transaction<'_>, key: &RuleLayerKey) -> Result<u64, Failure> {
    let rows = transaction.run(FOUND, layer_args(key)).await?;
    match rows.first() {
        Some(row) => row.try_get(0).map(unsigned).map_err(Failure::Driver),
        None => Ok(0),
    }
}

fn layer_args(key: &RuleLayerKey) -> Result<PgArguments, sqlx::Error> {
    args![escape(&key.tenant_id).into_owned(), key.project_id.as_deref().map(|it| escape(it).into_owned())]
}
