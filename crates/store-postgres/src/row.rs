//! Rows to values and back: keys, documents, instants, numbers.

use health_model::document::DOCUMENT_FORMAT;
use health_model::vocabulary::Scope;
use health_model::{Document, DocumentKey, Instant};
use ports::{StoreError, Versioned};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::corrupt;
use crate::text::{escape, from_json, unescape};

/// The columns of a [`DocumentRow`], of a relation named `d`.
macro_rules! document_columns {
    () => {
        "d.tenant_id, d.scope::text, d.scope_id, d.tool_name, d.revision, d.format, d.body::text"
    };
}
pub(crate) use document_columns;

/// A row of `document`, not yet decoded: one that cannot be must not hide the others.
#[derive(Debug)]
pub(crate) struct DocumentRow {
    pub(crate) key: DocumentKey,
    pub(crate) revision: u64,
    format: i32,
    /// `None` = a tombstone.
    body: Option<String>,
}

impl DocumentRow {
    /// Reads [`document_columns!`] that begin at column `at`.
    pub(crate) fn read(row: &PgRow, at: usize) -> Result<Self, sqlx::Error> {
        Ok(Self {
            key: key(row, at)?,
            revision: unsigned(row.try_get(at + 4)?),
            format: row.try_get(at + 5)?,
            body: row.try_get(at + 6)?,
        })
    }

    /// The document; `None` for a tombstone.
    pub(crate) fn decode(&self) -> Result<Option<Versioned>, StoreError> {
        let Some(body) = &self.body else { return Ok(None) };
        let failed =
            |source: Box<dyn std::error::Error + Send + Sync>| corrupt("document", &self.key, source);
        if u32::try_from(self.format).is_ok_and(|it| it > DOCUMENT_FORMAT) {
            return Err(failed(
                format!("format {} is newer than this program's {DOCUMENT_FORMAT}", self.format).into(),
            ));
        }
        let document: Document = from_json(body).map_err(|error| failed(error.into()))?;
        if document.key != self.key {
            return Err(failed(format!("it holds the document `{}`", document.key).into()));
        }
        Ok(Some(Versioned { document, version: self.revision }))
    }
}

/// Reads a key whose four columns begin at `at`.
pub(crate) fn key(row: &PgRow, at: usize) -> Result<DocumentKey, sqlx::Error> {
    Ok(DocumentKey {
        tenant_id: text(row, at)?,
        scope: scope(row, at + 1)?,
        scope_id: text(row, at + 2)?,
        tool_name: text(row, at + 3)?,
    })
}

/// Reads a text as it was before it was escaped.
pub(crate) fn text(row: &PgRow, at: usize) -> Result<String, sqlx::Error> {
    row.try_get(at).map(unescape)
}

/// Reads an optional text as it was before it was escaped.
pub(crate) fn optional_text(row: &PgRow, at: usize) -> Result<Option<String>, sqlx::Error> {
    Ok(row.try_get::<Option<String>, _>(at)?.map(unescape))
}

/// Reads a scope.
pub(crate) fn scope(row: &PgRow, at: usize) -> Result<Scope, sqlx::Error> {
    let word: &str = row.try_get(at)?;
    word.parse().map_err(|error| sqlx::Error::ColumnDecode { index: at.to_string(), source: Box::new(error) })
}

/// Reads an instant.
pub(crate) fn instant(row: &PgRow, at: usize) -> Result<Instant, sqlx::Error> {
    to_instant(row.try_get(at)?, at)
}

/// Reads an optional instant.
pub(crate) fn optional_instant(row: &PgRow, at: usize) -> Result<Option<Instant>, sqlx::Error> {
    row.try_get::<Option<i64>, _>(at)?.map(|micros| to_instant(micros, at)).transpose()
}

fn to_instant(micros: i64, at: usize) -> Result<Instant, sqlx::Error> {
    Instant::from_timestamp_micros(micros).ok_or_else(|| sqlx::Error::ColumnDecode {
        index: at.to_string(),
        source: format!("`{micros}` is no instant").into(),
    })
}

/// As it is stored: microseconds, rounded down.
pub(crate) fn micros(at: Instant) -> i64 {
    at.timestamp_micros()
}

/// An instant without what the store does not keep.
pub(crate) fn truncated(at: Instant) -> Instant {
    Instant::from_timestamp_micros(micros(at)).unwrap_or(at)
}

/// A count or revision for a `bigint` column.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The inverse of [`signed`].
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// The columns of keys, for `unnest`.
#[derive(Debug, Default)]
pub(crate) struct KeyArrays {
    pub(crate) tenant_ids: Vec<String>,
    pub(crate) scopes: Vec<&'static str>,
    pub(crate) scope_ids: Vec<String>,
    pub(crate) tool_names: Vec<String>,
}

impl KeyArrays {
    pub(crate) fn push(&mut self, key: &DocumentKey) {
        self.tenant_ids.push(escape(&key.tenant_id).into_owned());
        self.scopes.push(key.scope.as_str());
        self.scope_ids.push(escape(&key.scope_id).into_owned());
        self.tool_names.push(escape(&key.tool_name).into_owned());
    }
}

impl<'a> FromIterator<&'a DocumentKey> for KeyArrays {
    fn from_iter<T: IntoIterator<Item = &'a DocumentKey>>(keys: T) -> Self {
        let mut arrays = Self::default();
        keys.into_iter().for_each(|key| arrays.push(key));
        arrays
    }
}
