//! What can be configured, beside the URL.

use std::time::Duration;

use ports::StoreError;

/// How the store uses the database. [`Options::default`] suits a server beside its database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The schema that holds the tables: 1 to 48 characters, lower-case letters, digits and `_`, not a digit first.
    /// Made at the first start if the role may. Default `agrajag`.
    pub schema: String,
    /// Connections for statements, at least 1; two more carry notifications. Default 10.
    pub pool_size: u32,
    /// Limit on connecting, and on waiting for a free connection. Default 5 s.
    pub connect_timeout: Duration,
    /// Limit on one statement; deletes of whole tenants, sweeps and migrations have longer ones. Default 5 s.
    pub statement_timeout: Duration,
    /// Limit on waiting for a row that another transaction holds. Default 2 s.
    pub lock_timeout: Duration,
    /// The name that `pg_stat_activity` shows. Default `agrajag`.
    pub application_name: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            schema: "agrajag".to_owned(),
            pool_size: 10,
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
            application_name: "agrajag".to_owned(),
        }
    }
}

/// The longest name of a schema: a suffix is appended for the notification channel, and names end at 63 bytes.
const SCHEMA_LENGTH: usize = 48;

impl Options {
    /// Refuses values that the database would misread.
    pub(crate) fn validate(&self) -> Result<(), StoreError> {
        let letters = |c: char| c.is_ascii_lowercase() || c == '_';
        let is_name = self.schema.len() <= SCHEMA_LENGTH
            && self.schema.starts_with(letters)
            && self.schema.chars().all(|c| letters(c) || c.is_ascii_digit())
            && !self.schema.starts_with("pg_");
        if !is_name {
            return refuse(format!(
                "`{}` is no name for a schema: use at most {SCHEMA_LENGTH} lower-case letters, digits and `_`, \
                 beginning with neither a digit nor `pg_`",
                self.schema
            ));
        }
        if self.pool_size == 0 {
            return refuse("the pool size must be at least 1, not `0`".to_owned());
        }
        let limits = [
            ("connect timeout", self.connect_timeout),
            ("statement timeout", self.statement_timeout),
            ("lock timeout", self.lock_timeout),
        ];
        for (name, limit) in limits {
            // PostgreSQL takes 0 for no limit.
            if !(1..=i32::MAX as u128).contains(&limit.as_millis()) {
                return refuse(format!("the {name} must be 1 ms to 24 days, not `{limit:?}`"));
            }
        }
        Ok(())
    }

    /// The notification channel: one a schema, so that two stores in one database do not wake each other.
    pub(crate) fn channel(&self) -> String {
        format!("{}_changes", self.schema)
    }
}

fn refuse(reason: String) -> Result<(), StoreError> {
    Err(StoreError::Other { reason, source: None })
}
