//! Reading documents.
//!
//! A row that cannot be read is the error of [`load_document`], which asks for it alone. Where many are asked for it is logged and
//! skipped: one bad row must not take a whole cascade or list away from its readers (unknown means usable, DESIGN §2.4).

use std::collections::HashMap;

use health_model::vocabulary::{Scope, Status};
use health_model::{ContainerKey, DocumentKey};
use ports::{DocumentFilter, DocumentPage, LoadedContainer, Versioned};
use sqlx::SqlitePool;
use tracing::instrument;

use crate::failure::{Failure, log_skipped};
use crate::rows::{self, scope_code};
use crate::sql;

#[instrument(name = "db.containers.load", level = "debug", skip_all, fields(n = keys.len()))]
pub(crate) async fn load_containers(
    readers: &SqlitePool,
    keys: &[ContainerKey],
) -> Result<Vec<LoadedContainer>, Failure> {
    let mut found: HashMap<&ContainerKey, Vec<Versioned>> = keys.iter().map(|it| (it, Vec::new())).collect();
    let asked: Vec<_> = found.keys().map(|it| (&it.tenant_id, scope_code(it.scope), &it.scope_id)).collect();
    let asked = serde_json::to_string(&asked).map_err(|error| sqlx::Error::Encode(Box::new(error)))?;
    for row in sqlx::query(sql::LOAD_CONTAINERS).bind(asked).fetch_all(readers).await? {
        match rows::document(&row) {
            Ok(document) => {
                if let Some(documents) = found.get_mut(&document.document.key.container()) {
                    documents.push(document);
                }
            }
            Err(error) => log_skipped(&error),
        }
    }
    for documents in found.values_mut() {
        documents.sort_by(|a, b| a.document.key.tool_name.cmp(&b.document.key.tool_name));
    }
    let loaded = keys.iter().map(|key| LoadedContainer {
        key: key.clone(),
        documents: found.get(key).cloned().unwrap_or_default(),
    });
    Ok(loaded.collect())
}

#[instrument(name = "db.document.load", level = "debug", skip_all)]
pub(crate) async fn load_document(
    readers: &SqlitePool,
    key: &DocumentKey,
) -> Result<Option<Versioned>, Failure> {
    let row = rows::bind_key(sqlx::query(sql::LOAD_DOCUMENT), key).fetch_optional(readers).await?;
    Ok(row.as_ref().map(rows::document).transpose()?)
}

#[instrument(name = "db.documents.list", level = "debug", skip_all)]
pub(crate) async fn list_documents(
    readers: &SqlitePool,
    filter: &DocumentFilter,
    after: Option<&DocumentKey>,
    limit: usize,
) -> Result<DocumentPage, Failure> {
    let statement = match (filter.scope, &filter.scope_id, &filter.tool_name, filter.status) {
        (Some(_), Some(_), _, None) => sql::LIST_CONTAINER,
        (Some(_), Some(_), _, Some(_)) => sql::LIST_CONTAINER_STATUS,
        (_, _, Some(_), _) => sql::LIST_TOOL,
        (_, _, None, Some(_)) => sql::LIST_STATUS,
        (_, _, None, None) => sql::LIST,
    };
    let first = filter.scope.unwrap_or(Scope::Session);
    let start = DocumentKey {
        tenant_id: filter.tenant_id.clone(),
        scope: first,
        scope_id: String::new(),
        tool_name: String::new(),
    };
    // Behind the place in the key's own order: a place in another tenant is before or behind all of this one.
    let start = after.unwrap_or(&start).max(&start);
    if start.tenant_id != filter.tenant_id {
        return Ok(DocumentPage { documents: Vec::new(), next: None });
    }
    let query = sqlx::query(statement)
        .bind(&filter.tenant_id)
        .bind(scope_code(start.scope))
        .bind(&start.scope_id)
        .bind(&start.tool_name)
        .bind(scope_code(filter.scope.unwrap_or(Scope::Global)))
        .bind(filter.scope_id.as_deref())
        .bind(filter.tool_name.as_deref())
        .bind(filter.status.map(Status::as_str))
        .bind(rows::row_count(limit.saturating_add(1)));
    let mut found = query.fetch_all(readers).await?;
    let next = if found.len() > limit {
        found.truncate(limit);
        found.last().map(|row| rows::key(row, 0, "documents")).transpose()?
    } else {
        None
    };
    let mut documents = Vec::with_capacity(found.len());
    for row in &found {
        match rows::document(row) {
            Ok(document) => documents.push(document),
            Err(error) => log_skipped(&error),
        }
    }
    Ok(DocumentPage { documents, next })
}
