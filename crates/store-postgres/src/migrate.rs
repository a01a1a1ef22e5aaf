//! The schema, and the epoch.
//!
//! Migrations run under an advisory lock, each in the transaction that records it, so two servers that start at once, or
//! one that is killed, leave a whole schema. A schema newer than this program is used as it is, unless it says that
//! its readers must be newer.
//!
//! Positions in the feed are transaction ids, which mean something only in the history that they come from. The `home` of
//! a store names that history: cluster, database, timeline. After a restore, a copy or a failover it is another, and the
//! first connection that sees this gives the store another epoch.

use ports::StoreError;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection, Row};
use std::time::Duration;

use crate::connection::Setup;
use crate::error::Target;
use crate::feed;
use crate::options::Options;
use crate::statement::{args, own_id, statements};

/// A step of the schema.
struct Migration {
    version: u32,
    /// The least schema version that a program must know to use the schema after this step.
    min_reader: u32,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, min_reader: 1, sql: include_str!("../migrations/0001_initial.sql") },
    Migration { version: 2, min_reader: 1, sql: include_str!("../migrations/0002_failure.sql") },
];

/// The schema version that this program knows.
pub(crate) const SUPPORTED: u32 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// PostgreSQL 14.
const OLDEST_SERVER: i32 = 140_000;

/// A migration may rewrite tables.
const MIGRATION_LIMIT: Duration = Duration::from_secs(600);

/// How long to wait for another server that is migrating.
const MIGRATION_LOCK_LIMIT: Duration = Duration::from_secs(60);

const DOING: &str = "prepare the schema";

/// The table that records migrations. Not a migration itself: it must be readable to find out which of them ran.
const BOOKKEEPING: &str = "create table if not exists schema_migration (
    version integer primary key, min_reader integer not null)";

const SERVER: &str =
    "select current_setting('server_version_num')::integer, current_setting('server_encoding'),
    current_setting('fsync') = 'on'";
const LOCK: &str = "select pg_advisory_xact_lock(hashtext('agrajag.migrate'), hashtext($1))";
const HAS_SCHEMA: &str = "select to_regnamespace($1) is not null";
const IS_MIGRATED: &str = "select to_regclass($1) is not null";

statements! {
    /// The schema as it is.
    VERSION = "select coalesce(max(version), 0), coalesce(max(min_reader), 0) from schema_migration";

    RECORD = "insert into schema_migration (version, min_reader) values ($1, $2)";

    /// Which history transaction ids belong to; null on a standby, which has none of its own.
    HOME = "select case when not pg_is_in_recovery() then
        (select system_identifier::text from pg_control_system()) || '/'
        || (select oid::text from pg_database where datname = current_database()) || '/'
        || left(pg_walfile_name(pg_current_wal_lsn()), 8) end";

    KNOWN_HOME = "select home from store";

    KNOWN_HOME_LOCKED = "select home from store for update";

    SET_HOME = "update store set home = $1";

    /// Another history: no revision that was given out means anything in it.
    RENEW = "update store set home = $1, epoch = gen_random_uuid(), feed_floor = 0";

    /// Positions that this history has not reached yet would be above the next writes.
    REBASE = "update document set revision = ", own_id!(), "
        where revision >= pg_snapshot_xmin(pg_current_snapshot())::text::bigint";
}

/// Connects, brings the schema up to date, and checks the server.
pub(crate) async fn prepare(
    login: &PgConnectOptions,
    target: &Target,
    options: &Options,
) -> Result<Setup, StoreError> {
    let connected = tokio::time::timeout(options.connect_timeout, login.connect()).await;
    let mut connection = match connected {
        Ok(connected) => connected.map_err(|error| target.error("connect", error))?,
        Err(_) => return Err(target.timed_out("connect", options.connect_timeout)),
    };
    let setup = Setup::new(options);
    let prepared = prepare_over(&mut connection, &setup, target, options).await;
    let _ = tokio::time::timeout(options.connect_timeout, connection.close()).await;
    prepared.map(|()| setup)
}

async fn prepare_over(
    connection: &mut PgConnection,
    setup: &Setup,
    target: &Target,
    options: &Options,
) -> Result<(), StoreError> {
    let failed = |error| target.error(DOING, error);
    setup.settings(connection).await.map_err(failed)?;
    check_server(connection, target).await?;
    let limits = [("statement_timeout", MIGRATION_LIMIT), ("lock_timeout", MIGRATION_LOCK_LIMIT)];
    for (name, limit) in limits {
        let args = args![name, limit.as_millis().to_string()].map_err(failed)?;
        sqlx::query_with("select set_config($1, $2, false)", args)
            .execute(&mut *connection)
            .await
            .map_err(failed)?;
    }
    if schema_version(connection, options)
        .await
        .map_err(failed)?
        .is_none_or(|(version, _)| version < SUPPORTED)
    {
        migrate(connection, options).await.map_err(failed)?;
    }
    let (_, min_reader) = schema_version(connection, options).await.map_err(failed)?.unwrap_or_default();
    if min_reader > SUPPORTED {
        return Err(StoreError::TooNew { min_reader, supported: SUPPORTED });
    }
    settle_home(connection).await.map_err(failed)
}

async fn check_server(connection: &mut PgConnection, target: &Target) -> Result<(), StoreError> {
    let failed = |error| target.error(DOING, error);
    let row = sqlx::query(SERVER).fetch_one(connection).await.map_err(failed)?;
    let version: i32 = row.try_get(0).map_err(failed)?;
    let encoding: String = row.try_get(1).map_err(failed)?;
    let fsync: bool = row.try_get(2).map_err(failed)?;
    let refuse = |reason| Err(StoreError::Other { reason, source: None });
    if version < OLDEST_SERVER {
        return refuse(format!(
            "PostgreSQL 14 or newer is needed, the server is version {}",
            version / 10_000
        ));
    }
    if encoding != "UTF8" {
        return refuse(format!("the database's encoding is `{encoding}`; create it with encoding UTF8"));
    }
    if !fsync {
        tracing::warn!("the database runs with fsync off: its crash can lose acknowledged writes");
    }
    Ok(())
}

/// Version and least reader of the schema; `None` = there is none yet.
async fn schema_version(
    connection: &mut PgConnection,
    options: &Options,
) -> Result<Option<(u32, u32)>, sqlx::Error> {
    let table = format!("{}.schema_migration", options.schema);
    let row = sqlx::query(IS_MIGRATED).bind(table).fetch_one(&mut *connection).await?;
    if !row.try_get::<bool, _>(0)? {
        return Ok(None);
    }
    let row = sqlx::query(VERSION).fetch_one(connection).await?;
    let number = |at| row.try_get::<i32, _>(at).map(|it| u32::try_from(it).unwrap_or_default());
    Ok(Some((number(0)?, number(1)?)))
}

async fn migrate(connection: &mut PgConnection, options: &Options) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    sqlx::query(LOCK).bind(&options.schema).execute(&mut *transaction).await?;
    let has_schema = sqlx::query(HAS_SCHEMA).bind(&options.schema).fetch_one(&mut *transaction).await?;
    // Asking first: a role that owns the schema need not have the right to make one.
    if !has_schema.try_get::<bool, _>(0)? {
        let sql = format!("create schema \"{}\"", options.schema);
        // The name was validated.
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *transaction).await?;
    }
    sqlx::raw_sql(BOOKKEEPING).execute(&mut *transaction).await?;
    let (version, _) = schema_version(&mut transaction, options).await?.unwrap_or_default();
    for migration in MIGRATIONS.iter().filter(|it| it.version > version) {
        sqlx::raw_sql(migration.sql).execute(&mut *transaction).await?;
        let args = args![migration.version.cast_signed(), migration.min_reader.cast_signed()]?;
        sqlx::query_with(RECORD, args).execute(&mut *transaction).await?;
        tracing::info!(version = migration.version, schema = options.schema, "migrated the database");
    }
    transaction.commit().await
}

/// Gives the store another epoch if this connection leads to another history than the store's positions come from. Safe
/// from several connections at once.
pub(crate) async fn settle_home(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let Some(home) = home(connection).await? else { return Ok(()) };
    // Not locked at first: this must work on a database that is read-only.
    let row = sqlx::query(KNOWN_HOME).fetch_one(&mut *connection).await?;
    if row.try_get::<Option<String>, _>(0)?.as_ref() == Some(&home) {
        return Ok(());
    }
    let mut transaction = connection.begin_with(feed::BEGIN).await?;
    let row = sqlx::query(KNOWN_HOME_LOCKED).fetch_one(&mut *transaction).await?;
    match row.try_get::<Option<String>, _>(0)? {
        Some(known) if known == home => return transaction.rollback().await,
        Some(known) => {
            tracing::warn!(
                known,
                found = home,
                "the database is a restored, copied or promoted one: new epoch"
            );
            sqlx::query(RENEW).bind(home).execute(&mut *transaction).await?;
            sqlx::query(REBASE).execute(&mut *transaction).await?;
        }
        None => {
            sqlx::query(SET_HOME).bind(home).execute(&mut *transaction).await?;
        }
    }
    transaction.commit().await
}

/// The history that this connection writes to. `None` on a standby, and where the provider hides it.
async fn home(connection: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
    match sqlx::query(HOME).fetch_one(connection).await {
        Ok(row) => row.try_get(0),
        Err(sqlx::Error::Database(error)) if matches!(error.code().as_deref(), Some("0A000" | "42501")) => {
            tracing::debug!(code = error.code().as_deref(), "the database does not tell its history");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
