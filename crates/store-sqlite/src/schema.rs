//! The schema: embedded migrations, and the table that says what the file holds.
//!
//! Each migration raises `version`, and `min_reader` where older programs can no longer work with the result. A program goes on
//! with a newer schema that it can still read, and leaves it as it is (DESIGN §8).

use ports::StoreError;
use sqlx::{Row, SqliteConnection};

use crate::failure::{Failure, Place, other};
use crate::rows::unsigned;
use crate::sql;

/// The newest schema that this program knows.
pub(crate) const SUPPORTED: u32 = 2;

/// Marks the file as ours, in SQLite's own header: "Agra".
const APPLICATION_ID: i64 = 0x4167_7261;

const MARK: &str = "pragma application_id = 1097298529";

const CREATE: &str = "create table agrajag_schema (id integer primary key check (id = 1), version integer not null,
    min_reader integer not null) strict; insert into agrajag_schema (id, version, min_reader) values (1, 0, 0)";

const RAISE: &str = "update agrajag_schema set version = ?1, min_reader = max(min_reader, ?2)";

/// One step of the schema.
struct Migration {
    version: u32,
    /// The least schema version that a reader must know afterwards.
    min_reader: u32,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, min_reader: 1, sql: include_str!("../migrations/0001_first.sql") },
    Migration { version: 2, min_reader: 1, sql: include_str!("../migrations/0002_failures.sql") },
];

/// Brings the schema to this program's version. All of it runs in the transaction that `connection` is in, so of several
/// processes that open a new file one makes the schema.
pub(crate) async fn migrate(connection: &mut SqliteConnection, place: &Place) -> Result<(), Failure> {
    let mark: i64 = sqlx::query_scalar("pragma application_id").fetch_one(&mut *connection).await?;
    if mark != APPLICATION_ID {
        let n_tables: i64 =
            sqlx::query_scalar("select count(*) from sqlite_schema").fetch_one(&mut *connection).await?;
        if mark != 0 || n_tables != 0 {
            let path = place.path.display();
            return Err(
                other(format!("`{path}` is the database of another program: name another file")).into()
            );
        }
        sqlx::raw_sql(MARK).execute(&mut *connection).await?;
        sqlx::raw_sql(CREATE).execute(&mut *connection).await?;
    }
    let (version, min_reader) = load(connection).await?;
    if min_reader > SUPPORTED {
        return Err(StoreError::TooNew { min_reader, supported: SUPPORTED }.into());
    }
    for migration in MIGRATIONS.iter().filter(|it| it.version > version) {
        sqlx::raw_sql(migration.sql).execute(&mut *connection).await?;
        sqlx::query(RAISE)
            .bind(i64::from(migration.version))
            .bind(i64::from(migration.min_reader))
            .execute(&mut *connection)
            .await?;
        tracing::info!(version = migration.version, path = %place.path.display(), "migrated the store");
    }
    Ok(())
}

/// The version of the schema, and the least that a reader must know.
pub(crate) async fn load(connection: &mut SqliteConnection) -> Result<(u32, u32), Failure> {
    let row = sqlx::query(sql::LOAD_SCHEMA).fetch_one(connection).await?;
    let number = |it: i64| u32::try_from(unsigned(it)).unwrap_or(u32::MAX);
    Ok((number(row.try_get(0)?), number(row.try_get(1)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_in_order_and_end_with_the_supported_version() {
        let versions: Vec<u32> = MIGRATIONS.iter().map(|it| it.version).collect();
        assert_eq!(versions, (1..=SUPPORTED).collect::<Vec<_>>());
        assert!(MIGRATIONS.iter().all(|it| it.min_reader <= it.version));
    }

    #[test]
    fn the_mark_is_the_application_id() {
        assert_eq!(MARK.rsplit(' ').next().and_then(|it| it.parse().ok()), Some(APPLICATION_ID));
    }
}
