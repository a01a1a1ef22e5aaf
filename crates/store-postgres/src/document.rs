//! Reading documents: whole containers, single documents, pages.

use std::collections::HashMap;

use health_model::{ContainerKey, DocumentKey};
use ports::{DocumentFilter, DocumentPage, LoadedContainer, StoreError, Versioned};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments, AssertSqlSafe, Encode, Postgres, Type};

use crate::connection::Database;
use crate::error::log_corrupt;
use crate::row::{DocumentRow, KeyArrays, document_columns, signed};
use crate::statement::{args, key_is, same_key, statements};
use crate::text::escape;

/// The greatest page.
const PAGE: usize = 1_000;

/// Up to so many containers are loaded by [`few_containers_query`].
const FEW: usize = 8;

statements! {
    /// Any number of containers.
    LOAD_CONTAINERS = "select ", document_columns!(), "
        from unnest($1::text[], $2::text[], $3::text[]) as c (tenant_id, scope, scope_id)
        join document d on d.tenant_id = c.tenant_id and d.scope = c.scope::document_scope and d.scope_id = c.scope_id
        where d.body is not null";

    /// One container; [`few_containers_query`] joins several.
    LOAD_CONTAINER = "select ", document_columns!(), " from document d where d.body is not null";

    /// Any number of documents.
    LOAD_MANY = "select ", document_columns!(), "
        from unnest($1::text[], $2::text[], $3::text[], $4::text[])
            as i (tenant_id, scope_name, scope_id, tool_name)
        cross join lateral (select i.tenant_id, i.scope_name::document_scope as scope, i.scope_id, i.tool_name) k
        join document d on ", same_key!("d", "k"), "
        where d.body is not null";

    LOAD = "select ", document_columns!(), " from document d where ", key_is!("d"), " and d.body is not null";

    /// The head of the listing; [`list_query`] appends conditions.
    LIST = "select ", document_columns!(), " from document d where d.body is not null and d.tenant_id = $1";
}

/// Containers in the order asked for. A row that cannot be read is left out and logged.
pub(crate) async fn load_containers(
    database: &Database,
    keys: &[ContainerKey],
) -> Result<Vec<LoadedContainer>, StoreError> {
    const DOING: &str = "load documents";
    let mut places: HashMap<&ContainerKey, usize> = HashMap::with_capacity(keys.len());
    let mut distinct: Vec<&ContainerKey> = Vec::with_capacity(keys.len());
    for key in keys {
        places.entry(key).or_insert_with(|| {
            distinct.push(key);
            distinct.len() - 1
        });
    }
    if distinct.is_empty() {
        return Ok(Vec::new());
    }
    let rows = if distinct.len() <= FEW {
        let (sql, args) =
            few_containers_query(&distinct).map_err(|error| database.target().error(DOING, error))?;
        database.read(DOING, AssertSqlSafe(sql), Ok(args)).await?
    } else {
        let args = args![
            distinct.iter().map(|it| escape(&it.tenant_id).into_owned()).collect::<Vec<_>>(),
            distinct.iter().map(|it| it.scope.as_str()).collect::<Vec<_>>(),
            distinct.iter().map(|it| escape(&it.scope_id).into_owned()).collect::<Vec<_>>(),
        ];
        database.read(DOING, LOAD_CONTAINERS, args).await?
    };
    let rows = read_all(&rows).map_err(|error| database.target().error(DOING, error))?;
    let mut documents: Vec<Vec<Versioned>> = vec![Vec::new(); distinct.len()];
    for row in rows {
        let Some(documents) = places.get(&row.key.container()).and_then(|&at| documents.get_mut(at)) else {
            continue;
        };
        documents.extend(readable(&row));
    }
    for documents in &mut documents {
        documents.sort_by(|a, b| a.document.key.tool_name.cmp(&b.document.key.tool_name));
    }
    let load = |key: &ContainerKey| LoadedContainer {
        key: key.clone(),
        documents: places.get(key).and_then(|&at| documents.get(at)).cloned().unwrap_or_default(),
    };
    Ok(keys.iter().map(load).collect())
}

/// The statement for the containers of a caller. One condition a container lets the planner see which of them are absent
/// or small, where a join would have it guess from the average, and scan the table if one container is most of it.
pub(crate) fn few_containers_query(keys: &[&ContainerKey]) -> Result<(String, PgArguments), sqlx::Error> {
    let mut query = Query { sql: String::new(), args: PgArguments::default() };
    for key in keys {
        if !query.sql.is_empty() {
            query.sql.push_str(" union all ");
        }
        query.sql.push_str(LOAD_CONTAINER);
        query.condition(" and d.tenant_id = ", escape(&key.tenant_id).into_owned(), "")?;
        query.condition(" and d.scope = ", key.scope.as_str(), "::text::document_scope")?;
        query.condition(" and d.scope_id = ", escape(&key.scope_id).into_owned(), "")?;
    }
    Ok((query.sql, query.args))
}

/// One document.
pub(crate) async fn load(database: &Database, key: &DocumentKey) -> Result<Option<Versioned>, StoreError> {
    const DOING: &str = "load a document";
    let rows = database.read(DOING, LOAD, key_args(key)).await?;
    let rows = read_all(&rows).map_err(|error| database.target().error(DOING, error))?;
    match rows.first() {
        Some(row) => row.decode(),
        None => Ok(None),
    }
}

/// The rows of those documents that exist, in no order.
pub(crate) async fn load_many(
    database: &Database,
    doing: &str,
    keys: KeyArrays,
) -> Result<Vec<DocumentRow>, StoreError> {
    let args = args![keys.tenant_ids, keys.scopes, keys.scope_ids, keys.tool_names];
    let rows = database.read(doing, LOAD_MANY, args).await?;
    read_all(&rows).map_err(|error| database.target().error(doing, error))
}

/// A page. A row that cannot be read is left out and logged.
pub(crate) async fn list(
    database: &Database,
    filter: &DocumentFilter,
    after: Option<&DocumentKey>,
    limit: usize,
) -> Result<DocumentPage, StoreError> {
    const DOING: &str = "list documents";
    let limit = limit.clamp(1, PAGE);
    let failed = |error| database.target().error(DOING, error);
    let (sql, args) = list_query(filter, after, limit + 1).map_err(failed)?;
    let rows = database.read(DOING, AssertSqlSafe(sql), Ok(args)).await?;
    let mut rows = read_all(&rows).map_err(failed)?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = if has_more { rows.last().map(|it| it.key.clone()) } else { None };
    Ok(DocumentPage { documents: rows.iter().filter_map(readable).collect(), next })
}

/// The statement of a page: only the conditions that are asked for, so that the planner sees which index fits.
pub(crate) fn list_query(
    filter: &DocumentFilter,
    after: Option<&DocumentKey>,
    limit: usize,
) -> Result<(String, PgArguments), sqlx::Error> {
    let mut query = Query { sql: LIST.to_owned(), args: PgArguments::default() };
    query.bind(escape(&filter.tenant_id).into_owned())?;
    if let Some(scope) = filter.scope {
        query.condition(" and d.scope = ", scope.as_str(), "::text::document_scope")?;
    }
    if let Some(scope_id) = &filter.scope_id {
        query.condition(" and d.scope_id = ", escape(scope_id).into_owned(), "")?;
    }
    if let Some(tool_name) = &filter.tool_name {
        query.condition(" and d.tool_name = ", escape(tool_name).into_owned(), "")?;
    }
    if let Some(status) = filter.status {
        query.condition(" and d.status = ", status.as_str(), "")?;
    }
    if let Some(after) = after {
        query.condition(
            " and (d.tenant_id, d.scope, d.scope_id, d.tool_name) > (",
            escape(&after.tenant_id).into_owned(),
            "",
        )?;
        query.condition(", ", after.scope.as_str(), "::text::document_scope")?;
        query.condition(", ", escape(&after.scope_id).into_owned(), "")?;
        query.condition(", ", escape(&after.tool_name).into_owned(), ")")?;
    }
    query.condition(" order by d.scope, d.scope_id, d.tool_name limit ", signed(limit as u64), "")?;
    Ok((query.sql, query.args))
}

/// A statement put together of literal pieces; values are always parameters.
pub(crate) struct Query {
    pub(crate) sql: String,
    pub(crate) args: PgArguments,
}

impl Query {
    /// Appends a piece, the next parameter, and another piece.
    pub(crate) fn condition<'q, T>(
        &mut self,
        before: &'static str,
        value: T,
        after: &'static str,
    ) -> Result<(), sqlx::Error>
    where
        T: Encode<'q, Postgres> + Type<Postgres>,
    {
        self.bind(value)?;
        self.sql.push_str(before);
        self.sql.push('$');
        self.sql.push_str(&self.args.len().to_string());
        self.sql.push_str(after);
        Ok(())
    }

    /// Adds the value of a parameter that the text names already.
    pub(crate) fn bind<'q, T>(&mut self, value: T) -> Result<(), sqlx::Error>
    where
        T: Encode<'q, Postgres> + Type<Postgres>,
    {
        self.args.add(value).map_err(sqlx::Error::Encode)
    }
}

/// Parameters 1 to 4 of [`key_is!`].
pub(crate) fn key_args(key: &DocumentKey) -> Result<PgArguments, sqlx::Error> {
    args![
        escape(&key.tenant_id).into_owned(),
        key.scope.as_str(),
        escape(&key.scope_id).into_owned(),
        escape(&key.tool_name).into_owned(),
    ]
}

fn read_all(rows: &[PgRow]) -> Result<Vec<DocumentRow>, sqlx::Error> {
    rows.iter().map(|row| DocumentRow::read(row, 0)).collect()
}

fn readable(row: &DocumentRow) -> Option<Versioned> {
    row.decode().unwrap_or_else(|error| {
        log_corrupt(&row.key, &error);
        None
    })
}
