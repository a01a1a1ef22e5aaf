//! What the driver's errors mean, and what an operator does about them.
//!
//! Reasons name host, database and remedy. They never hold the password, and never the text of their source.

use std::io::ErrorKind;
use std::time::Duration;

use health_model::DocumentKey;
use ports::StoreError;
use sqlx::postgres::PgConnectOptions;

/// Where the database is, for people.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    place: String,
    database: String,
    user: String,
    schema: String,
}

impl Target {
    pub(crate) fn new(login: &PgConnectOptions, schema: &str) -> Self {
        let place = match login.get_socket() {
            Some(socket) => format!("{}:{}", socket.display(), login.get_port()),
            None => format!("{}:{}", login.get_host(), login.get_port()),
        };
        let user = login.get_username().to_owned();
        // PostgreSQL's own rule.
        let database = login.get_database().unwrap_or(&user).to_owned();
        Self { place, database, user, schema: schema.to_owned() }
    }

    /// The port's error. `doing` completes "cannot …".
    pub(crate) fn error(&self, doing: &str, error: sqlx::Error) -> StoreError {
        match self.trouble(&error) {
            Some((what, remedy)) => StoreError::Unavailable {
                reason: self.reason(doing, &what, remedy),
                source: Some(Box::new(error)),
            },
            None => {
                let why = if has_code(&error, "54000") {
                    ": a key is longer than an index takes (2,600 bytes)"
                } else {
                    ""
                };
                let reason =
                    format!("cannot {doing} in database `{}` at `{}`{why}", self.database, self.place);
                StoreError::Other { reason, source: Some(Box::new(error)) }
            }
        }
    }

    /// The error of a call that this process gave up on.
    pub(crate) fn timed_out(&self, doing: &str, limit: Duration) -> StoreError {
        let reason = self.reason(
            doing,
            &format!("no answer within {limit:?}"),
            "check the network and the load of the database",
        );
        StoreError::Unavailable { reason, source: None }
    }

    /// The error of a handle after `close`.
    pub(crate) fn closed(&self) -> StoreError {
        let reason = format!("this handle of database `{}` at `{}` was closed", self.database, self.place);
        StoreError::Unavailable { reason, source: None }
    }

    fn reason(&self, doing: &str, what: &str, remedy: &str) -> String {
        format!(
            "cannot {doing} on PostgreSQL at `{}`, database `{}`: {what}; {remedy}",
            self.place, self.database
        )
    }

    /// What is wrong and what helps, if the error means that the database is not available.
    fn trouble(&self, error: &sqlx::Error) -> Option<(String, &'static str)> {
        let (what, remedy) = match error {
            sqlx::Error::Io(error) => match error.kind() {
                ErrorKind::ConnectionRefused | ErrorKind::NotFound => (
                    "nothing accepts connections there".to_owned(),
                    "start the database, or correct host and port",
                ),
                ErrorKind::PermissionDenied => {
                    ("the socket may not be opened".to_owned(), "check the rights of the socket's folder")
                }
                ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::BrokenPipe
                | ErrorKind::UnexpectedEof => (
                    "the connection broke".to_owned(),
                    "look into the database's log; the next call opens another connection",
                ),
                _ => ("the host cannot be reached".to_owned(), "check name, port and network"),
            },
            sqlx::Error::Tls(_) => {
                ("no TLS connection could be made".to_owned(), "check `sslmode` and the certificates")
            }
            sqlx::Error::Protocol(_) => (
                "what answers there does not speak PostgreSQL's protocol as expected".to_owned(),
                "check host and port, and that no pooler in transaction mode stands between",
            ),
            sqlx::Error::PoolTimedOut => (
                "no connection became free in time".to_owned(),
                "raise the pool size, or find what holds the connections",
            ),
            sqlx::Error::PoolClosed => ("this handle was closed".to_owned(), "open another one"),
            sqlx::Error::Database(error) => return self.refusal(&error.code().unwrap_or_default()),
            _ => return None,
        };
        Some((what, remedy))
    }

    /// The same for an error that the database answered with.
    fn refusal(&self, code: &str) -> Option<(String, &'static str)> {
        let (what, remedy) = match code {
            "28P01" | "28000" => (
                format!("role `{}` is refused", self.user),
                "check user, password and the database's pg_hba.conf",
            ),
            "3D000" => ("the database does not exist".to_owned(), "create it, or correct its name"),
            "42501" => (
                format!("role `{}` lacks a right", self.user),
                "make it the owner of the schema, or let it create one in the database",
            ),
            "42P01" | "42703" | "3F000" | "42704" | "42883" => (
                format!("schema `{}` is missing or incomplete", self.schema),
                "start a server again: it makes what is missing",
            ),
            "53100" => ("its disk is full".to_owned(), "free space on the database's disk"),
            "53200" => ("it is out of memory".to_owned(), "give the database more memory"),
            "53300" => (
                "it has too many connections".to_owned(),
                "raise `max_connections`, or lower the pool size of its clients",
            ),
            "25006" => (
                "it is read-only".to_owned(),
                "name the primary in the URL, or end what made it read-only (often a full disk)",
            ),
            "57014" => ("a statement took too long".to_owned(), "check the load of the database"),
            "55P03" => (
                "a row stayed locked for too long".to_owned(),
                "find the transaction that holds it in `pg_stat_activity`",
            ),
            "55000" => {
                ("it is not in a state to do that".to_owned(), "let it accept connections and writes again")
            }
            "57P03" => ("it is starting or stopping".to_owned(), "wait until it accepts connections"),
            "25P03" | "57P05" => {
                ("it ended an idle connection".to_owned(), "none needed: the next call opens another")
            }
            code if code.starts_with("57P") => (
                "it ended the connection".to_owned(),
                "look into the database's log; the next call opens another",
            ),
            code if code.starts_with("08") => ("the connection failed".to_owned(), "check the network"),
            code if code.starts_with("53") => {
                ("it lacks a resource".to_owned(), "look into the database's log")
            }
            code if code.starts_with("58") => {
                ("its host reports an error".to_owned(), "look into the database's log, then at its disk")
            }
            _ => return None,
        };
        Some((what, remedy))
    }
}

/// Whether the connection behind the error is of no more use.
pub(crate) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            code.starts_with("08") || code.starts_with("57P") || code == "25P03"
        }
        _ => false,
    }
}

/// Whether the transaction lost against another one, and doing it again may win.
pub(crate) fn is_contention(error: &sqlx::Error) -> bool {
    has_code(error, "40001") || has_code(error, "40P01")
}

/// Whether the database has no room for a further connection of this role.
pub(crate) fn is_crowded(error: &sqlx::Error) -> bool {
    has_code(error, "53300")
}

fn has_code(error: &sqlx::Error, code: &str) -> bool {
    matches!(error, sqlx::Error::Database(error) if error.code().as_deref() == Some(code))
}

/// Whether the error is a second row of this unique index.
pub(crate) fn is_duplicate(error: &sqlx::Error, index: &str) -> bool {
    has_code(error, "23505") && error.as_database_error().and_then(|it| it.constraint()) == Some(index)
}

/// A row that this program cannot read.
pub(crate) fn corrupt(
    table: &'static str,
    key: impl std::fmt::Display,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    StoreError::Corrupt { table, key: key.to_string(), source: Some(source.into()) }
}

/// Logs a row that is left out of an answer, or told as gone, with what frees the way.
pub(crate) fn log_corrupt(key: &DocumentKey, error: &StoreError) {
    tracing::error!(
        %key,
        error = error as &dyn std::error::Error,
        "a stored document cannot be read and is left out; delete it to start over"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        let login: PgConnectOptions = "postgres://ada:s3cret@db.example:5444/health".parse().unwrap();
        Target::new(&login, "agrajag")
    }

    #[test]
    fn reasons_name_place_database_and_remedy_but_no_password() {
        let refused = std::io::Error::from(ErrorKind::ConnectionRefused);
        let error = target().error("load documents", sqlx::Error::Io(refused));
        assert_eq!(
            error.to_string(),
            "the store is unavailable: cannot load documents on PostgreSQL at `db.example:5444`, database `health`: \
             nothing accepts connections there; start the database, or correct host and port"
        );
        assert!(!format!("{error:?}").contains("s3cret"));
    }

    #[test]
    fn what_is_no_outage_is_told_apart() {
        let error = target().error("load documents", sqlx::Error::RowNotFound);
        assert!(matches!(error, StoreError::Other { .. }), "{error}");
        for code in ["53100", "53300", "25006", "28P01", "3D000", "57014", "57P01", "08006", "58030"] {
            assert!(target().refusal(code).is_some(), "{code}");
        }
        for code in ["23505", "22P02", "42601", "XX001"] {
            assert!(target().refusal(code).is_none(), "{code}");
        }
    }

    #[test]
    fn a_socket_is_named_by_its_folder() {
        let login: PgConnectOptions = "postgres:///health?host=/run/pg&user=ada".parse().unwrap();
        assert!(Target::new(&login, "agrajag").place.starts_with("/run/pg:"));
    }
}
