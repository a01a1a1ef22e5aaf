//! From what the driver says to what an operator can do about it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ports::StoreError;

/// What goes wrong inside of this crate. It becomes a [`StoreError`] where a method of a port ends: there it is known which file
/// it was about.
#[derive(Debug)]
pub(crate) enum Failure {
    Driver(sqlx::Error),
    Store(StoreError),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Driver(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Failure {
    /// Another process holds the lock: trying again may help.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Driver(error) if matches!(primary_code(error), Some(BUSY | LOCKED)))
    }
}

/// The file that errors are about.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) busy_timeout: Duration,
}

// The primary result codes of SQLite.
const BUSY: u32 = 5;
const LOCKED: u32 = 6;
const READONLY: u32 = 8;
const IOERR: u32 = 10;
const CORRUPT: u32 = 11;
const FULL: u32 = 13;
const CANTOPEN: u32 = 14;
const NOTADB: u32 = 26;

impl Place {
    /// Names the file and the remedy. `doing` says what failed, as in "the store failed at …".
    pub(crate) fn explain(&self, doing: &str, failure: Failure) -> StoreError {
        let error = match failure {
            Failure::Store(error) => return error,
            Failure::Driver(error) => error,
        };
        let path = self.path.display();
        let reason = match (&error, primary_code(&error)) {
            (sqlx::Error::PoolClosed, _) => format!("the store `{path}` was closed"),
            (sqlx::Error::PoolTimedOut, _) => {
                format!(
                    "no connection to `{path}` was free in time: it is overloaded, or its disk does not answer"
                )
            }
            (sqlx::Error::WorkerCrashed, _) => format!("the connection to `{path}` broke"),
            (sqlx::Error::Io(_), _) => {
                format!("`{path}` cannot be used: it must be the path of a file, in UTF-8")
            }
            (_, Some(BUSY | LOCKED)) => format!(
                "another process has locked `{path}` for more than {:?}: wait for it or stop it",
                self.busy_timeout
            ),
            (_, Some(READONLY)) => {
                format!("`{path}` is read-only: make the file and its directory writable for this user")
            }
            (_, Some(IOERR)) => {
                format!("reading or writing `{path}` failed: check its disk and the room on it")
            }
            (_, Some(FULL)) => {
                format!("there is no room for `{path}`: free some on its disk, or raise its limit")
            }
            (_, Some(CANTOPEN)) => format!(
                "`{path}` cannot be opened: its directory must exist and be writable for this user, and the file too"
            ),
            (_, Some(NOTADB)) => {
                let reason = format!(
                    "`{path}` is not a SQLite database: name another file, or move it away to start an empty store"
                );
                return StoreError::Other { reason, source: Some(Box::new(error)) };
            }
            (_, Some(CORRUPT)) => {
                let reason = format!(
                    "the database file `{path}` is damaged: restore a backup, or move it away to start an empty store"
                );
                return StoreError::Other { reason, source: Some(Box::new(error)) };
            }
            _ => {
                let reason = format!("the store `{path}` failed at {doing}");
                return StoreError::Other { reason, source: Some(Box::new(error)) };
            }
        };
        StoreError::Unavailable { reason, source: Some(Box::new(error)) }
    }

    pub(crate) fn closed(&self) -> StoreError {
        self.explain("", Failure::Driver(sqlx::Error::PoolClosed))
    }
}

/// A row that cannot be read.
pub(crate) fn corrupt(
    table: &'static str,
    key: impl std::fmt::Display,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    StoreError::Corrupt { table, key: key.to_string(), source: Some(source.into()) }
}

/// Something that only a caller's mistake leads to, or a file that is none of ours.
pub(crate) fn other(reason: String) -> StoreError {
    StoreError::Other { reason, source: None }
}

/// Something that an operator can mend while the server runs.
pub(crate) fn unavailable(reason: String, source: Option<std::io::Error>) -> StoreError {
    StoreError::Unavailable { reason, source: source.map(|it| Box::new(it) as _) }
}

/// Logs what is skipped because it cannot be read.
pub(crate) fn log_skipped(error: &StoreError) {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    tracing::error!(%error, cause, "skipped a row that cannot be read");
}

/// An extended code holds its primary one in the low byte.
fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let code: u32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

/// `path` as SQLite gets it: absolute, so that no name is taken for a URI or for a database in memory.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|error| {
        unavailable("a store needs the path of a file: none was given".to_owned(), Some(error))
    })
}
