//! Opening the file: what must hold before, how connections are set up, and waiting for another process that opens it too.

use std::path::Path;
use std::time::Duration;

use ports::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, SqliteConnection, SqlitePool};

use crate::SqliteOptions;
use crate::commit::BEGIN;
use crate::failure::{Failure, Place, absolute, unavailable};
use crate::{schema, sql};

/// The size of a page of a new file, SQLite's default.
const PAGE_SIZE: u64 = 4_096;

/// The log beside the file is cut to this when it has been taken over.
const LOG_LIMIT: &str = "67108864";

/// How long to wait before trying again to open a file that another process is opening.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// The connections to one file.
pub(crate) struct Connections {
    pub(crate) place: Place,
    /// One: SQLite has one writer at a time, and here they queue fairly.
    pub(crate) writer: SqlitePool,
    pub(crate) readers: SqlitePool,
    /// To open one more for reading.
    pub(crate) reading: SqliteConnectOptions,
}

pub(crate) async fn open(path: &Path, options: &SqliteOptions) -> Result<Connections, StoreError> {
    let path = absolute(path)?;
    let place = Place { path, busy_timeout: options.busy_timeout };
    check_path(&place.path)?;

    let common = SqliteConnectOptions::new()
        .filename(&place.path)
        .busy_timeout(options.busy_timeout)
        .foreign_keys(true)
        .pragma("temp_store", "memory");
    let common = quiet(common);
    let mut writing = common
        .clone()
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // Durable once committed, also over a loss of power (DESIGN §2.5).
        .synchronous(SqliteSynchronous::Full)
        .pragma("journal_size_limit", LOG_LIMIT);
    if let Some(max_bytes) = options.max_bytes {
        writing = writing.pragma("max_page_count", (max_bytes / PAGE_SIZE).max(1).to_string());
    }
    let reading = common.pragma("query_only", "on");

    let deadline = tokio::time::Instant::now() + options.busy_timeout;
    let writer = loop {
        match connect(&place, writing.clone()).await {
            Ok(writer) => break writer,
            // Switching to the write-ahead log does not wait for other processes by itself.
            Err(failure) if failure.is_busy() && tokio::time::Instant::now() < deadline => {
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(failure) => return Err(place.explain("opening", failure)),
        }
    };
    let readers = pool(options.readers.max(1)).connect_lazy_with(reading.clone());
    Ok(Connections { place, writer, readers, reading })
}

/// Connects the writer and brings the schema up to date. Ends with a write, of nothing: a file that may not be written is told
/// now, and not at the first report.
async fn connect(place: &Place, options: SqliteConnectOptions) -> Result<SqlitePool, Failure> {
    let writer = pool(1).after_release(|it, _| Box::pin(is_whole(it))).connect_with(options).await?;
    let migrated = async {
        let mut tx = writer.begin_with(BEGIN).await?;
        schema::migrate(&mut tx, place).await?;
        sqlx::query(sql::WRITE_NOTHING).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(())
    };
    match migrated.await {
        Ok(()) => Ok(writer),
        Err(failure) => {
            writer.close().await;
            Err(failure)
        }
    }
}

/// Whether a connection that comes back may be used again. SQLite ends a transaction by itself when the disk is full, and
/// what is then rolled back is none: the driver goes on to count it, and would begin no other. Asking first carries out
/// what the driver still has to do.
async fn is_whole(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

fn pool(n_connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(n_connections)
        .idle_timeout(None)
        .max_lifetime(None)
        // The connection is to a file in this process.
        .test_before_acquire(false)
}

/// Statements are spans already.
fn quiet(options: SqliteConnectOptions) -> SqliteConnectOptions {
    use sqlx::ConnectOptions;
    options.disable_statement_logging()
}

/// What SQLite would only call "unable to open database file".
fn check_path(path: &Path) -> Result<(), StoreError> {
    let shown = path.display();
    if path.is_dir() {
        return Err(unavailable(
            format!("`{shown}` is a directory: a store needs the path of a file in it"),
            None,
        ));
    }
    let Some(directory) = path.parent() else { return Ok(()) };
    match std::fs::metadata(directory) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => {
            let directory = directory.display();
            Err(unavailable(format!("`{directory}` is not a directory, so `{shown}` cannot be in it"), None))
        }
        Err(error) => {
            let directory = directory.display();
            let reason = format!(
                "the directory of `{shown}` cannot be used: create `{directory}`, or name another file"
            );
            Err(unavailable(reason, Some(error)))
        }
    }
}
