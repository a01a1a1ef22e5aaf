//! Sweeps: what was kept long enough.

use std::collections::HashMap;
use std::time::Duration;

use health_model::vocabulary::Scope;
use health_model::{Document, DocumentKey, Instant};
use ports::store::orphaned_outages_before;
use ports::{Counter, StoreError};
use sqlx::postgres::PgArguments;
use sqlx::{AssertSqlSafe, Row};

use crate::connection::Database;
use crate::counter::{self, counter_columns};
use crate::document::{self, Query, key_args};
use crate::row::{KeyArrays, micros, signed, unsigned};
use crate::statement::{args, same_key, statements};
use crate::text::escape;
use crate::{delete, feed};

/// Rows that one statement takes.
const PAGE: usize = 500;

/// A sweep reads whole tables.
const LIMIT: Duration = Duration::from_secs(120);

const BEGIN: &str = "begin isolation level read committed";

const DOING: &str = "sweep";

statements! {
    /// Tombstones of before `$1`. Only those below `$2`, under which nothing is in flight: the feed's floor follows them.
    TOMBSTONES = "with gone as (
            delete from document where deleted_at < $1 and revision < $2 returning revision
        ), lifted as (
            update store set feed_floor = greatest(feed_floor, (select max(revision) from gone))
            where exists (select from gone)
        )
        select count(*) from gone";

    /// Jobs that ended before `$1`.
    JOBS = "with gone as (delete from job where ended_at < $1 returning 1) select count(*) from gone";

    /// Outages over the limit of a document.
    OUTAGES = "with gone as (
            delete from outage o using (
                select o.id, row_number() over (
                    partition by o.tenant_id, o.scope, o.scope_id, o.tool_name
                    order by o.started_at desc, o.id desc) as place
                from outage o
            ) v
            where o.id = v.id and v.place > 200
            returning 1
        )
        select count(*) from gone";

    /// Outages that ended before `$1`, of documents that do not exist.
    ORPHANED_OUTAGES = "with gone as (
            delete from outage o
            where o.ended_at < $1 and not exists (
                select from document d where ", same_key!("d", "o"), " and d.body is not null)
            returning 1
        )
        select count(*) from gone";

    /// The counters of the next documents.
    COUNTERS = "select ", counter_columns!(), "
        from (
            select distinct c.tenant_id, c.scope, c.scope_id, c.tool_name from counter c
            where (c.tenant_id, c.scope, c.scope_id, c.tool_name) > ($1, $2::text::document_scope, $3, $4)
            order by c.tenant_id, c.scope, c.scope_id, c.tool_name limit $5
        ) k
        join counter c on ", same_key!("c", "k"), "
        order by c.tenant_id, c.scope, c.scope_id, c.tool_name";

    FORGET_COUNTERS = "with gone as (
            delete from counter c
            using unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
                as i (tenant_id, scope_name, scope_id, tool_name, signature, user_id, episode)
            where c.tenant_id = i.tenant_id and c.scope = i.scope_name::document_scope and c.scope_id = i.scope_id
                and c.tool_name = i.tool_name and c.signature = i.signature
                and c.user_id is not distinct from i.user_id and c.episode = i.episode
            returning 1
        )
        select count(*) from gone";
}

/// Sweeps everything; returns how many rows went.
pub(crate) async fn sweep(
    database: &Database,
    sessions_before: Option<Instant>,
    tombstones_before: Instant,
    now: Instant,
) -> Result<u64, StoreError> {
    let mut n_gone = 0;
    if let Some(before) = sessions_before {
        loop {
            let n_deleted = delete::delete_sessions(database, before, now, PAGE).await?;
            n_gone += n_deleted;
            if n_deleted < PAGE as u64 {
                break;
            }
        }
    }
    let horizon = feed::own_horizon(database).await?;
    n_gone += count(database, TOMBSTONES, args![micros(tombstones_before), horizon]).await?;
    n_gone += count(database, JOBS, args![micros(tombstones_before)]).await?;
    n_gone += sweep_counters(database).await?;
    n_gone += count(database, OUTAGES, args![]).await?;
    n_gone += count(database, ORPHANED_OUTAGES, args![micros(orphaned_outages_before(now))]).await?;
    Ok(n_gone)
}

/// Counters of episodes that no cooldown names. Which those are only the document can say.
async fn sweep_counters(database: &Database) -> Result<u64, StoreError> {
    let failed = |error| database.target().error(DOING, error);
    let mut n_gone = 0;
    // Before every key that a document can have.
    let mut last = DocumentKey {
        tenant_id: String::new(),
        scope: Scope::Session,
        scope_id: String::new(),
        tool_name: String::new(),
    };
    loop {
        let mut query = Query { sql: COUNTERS.to_owned(), args: key_args(&last).map_err(failed)? };
        query.bind(signed(PAGE as u64)).map_err(failed)?;
        // Counters before documents: an episode that begins in between is in the document and not among the counters.
        let rows = database.read(DOING, AssertSqlSafe(query.sql), Ok(query.args)).await?;
        let counters: Vec<Counter> =
            rows.iter().map(counter::read).collect::<Result<_, _>>().map_err(failed)?;
        match counters.last() {
            Some(counter) => last = counter.key.clone(),
            None => return Ok(n_gone),
        }
        let documents = documents(database, &counters).await?;
        let forgotten: Vec<&Counter> = counters.iter().filter(|it| is_forgotten(it, &documents)).collect();
        if !forgotten.is_empty() {
            n_gone += count(database, FORGET_COUNTERS, forget_args(&forgotten)).await?;
        }
    }
}

/// The documents that the counters belong to; `None` for one that cannot be read.
async fn documents(
    database: &Database,
    counters: &[Counter],
) -> Result<HashMap<DocumentKey, Option<Document>>, StoreError> {
    let mut keys: Vec<&DocumentKey> = counters.iter().map(|it| &it.key).collect();
    keys.dedup();
    let rows = document::load_many(database, DOING, keys.into_iter().collect()).await?;
    let mut documents = HashMap::with_capacity(rows.len());
    for row in rows {
        let document = row.decode().ok().flatten().map(|it| it.document);
        documents.insert(row.key, document);
    }
    Ok(documents)
}

fn is_forgotten(counter: &Counter, documents: &HashMap<DocumentKey, Option<Document>>) -> bool {
    match documents.get(&counter.key) {
        Some(Some(document)) => document
            .cooldown(&counter.signature, counter.user_id.as_deref())
            .is_none_or(|it| micros(it.opened_at) != counter.episode),
        // It may name the episode.
        Some(None) => false,
        // Hits that came while the document was deleted.
        None => true,
    }
}

fn forget_args(counters: &[&Counter]) -> Result<PgArguments, sqlx::Error> {
    let keys: KeyArrays = counters.iter().map(|it| &it.key).collect();
    args![
        keys.tenant_ids,
        keys.scopes,
        keys.scope_ids,
        keys.tool_names,
        counters.iter().map(|it| escape(&it.signature).into_owned()).collect::<Vec<_>>(),
        counters.iter().map(|it| it.user_id.as_deref().map(|it| escape(it).into_owned())).collect::<Vec<_>>(),
        counters.iter().map(|it| it.episode).collect::<Vec<_>>(),
    ]
}

/// Runs a statement that deletes and returns how many rows went.
async fn count(
    database: &Database,
    sql: &'static str,
    args: Result<PgArguments, sqlx::Error>,
) -> Result<u64, StoreError> {
    let mut transaction = database.begin(DOING, BEGIN).await?;
    let run = async {
        transaction.allow(LIMIT).await?;
        transaction.run(sql, args).await
    };
    match run.await {
        Ok(rows) => {
            transaction.commit().await?;
            let n_gone = rows.first().ok_or(sqlx::Error::RowNotFound).and_then(|row| row.try_get(0));
            n_gone.map(unsigned).map_err(|error| database.target().error(DOING, error))
        }
        Err(failure) => Err(transaction.error(failure)),
    }
}
