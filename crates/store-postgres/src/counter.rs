//! Counters of hits: added up, without version and without an event (DESIGN §8).

use std::collections::BTreeMap;

use health_model::{DocumentKey, Instant};
use ports::{Counter, HitDelta, StoreError};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::connection::Database;
use crate::document::key_args;
use crate::row::{KeyArrays, instant, key, micros, optional_text, signed, text, unsigned};
use crate::statement::{args, key_is, same_key, statements};
use crate::text::escape;

/// The columns of a counter, of a relation named `c`.
macro_rules! counter_columns {
    () => {
        "c.tenant_id, c.scope::text, c.scope_id, c.tool_name, c.signature, c.user_id, c.episode, c.hits,
            c.last_triggered_at"
    };
}
pub(crate) use counter_columns;

statements! {
    /// Adds up, in key order; what belongs to no document is dropped.
    ADD = "insert into counter as c (tenant_id, scope, scope_id, tool_name, signature, user_id, episode, hits,
            last_triggered_at)
        select d.tenant_id, d.scope, d.scope_id, d.tool_name, i.signature, i.user_id, i.episode, i.hits, i.at
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
                $9::bigint[]) with ordinality
            as i (tenant_id, scope_name, scope_id, tool_name, signature, user_id, episode, hits, at, place)
        cross join lateral (select i.tenant_id, i.scope_name::document_scope as scope, i.scope_id, i.tool_name) k
        join document d on ", same_key!("d", "k"), "
        where d.body is not null
        order by i.place
        on conflict (tenant_id, scope, scope_id, tool_name, signature, (coalesce(user_id, '')), (user_id is null), episode)
        do update set
            hits = case when excluded.hits > 9223372036854775807 - c.hits then 9223372036854775807
                else c.hits + excluded.hits end,
            last_triggered_at = greatest(c.last_triggered_at, excluded.last_triggered_at)";

    LOAD = "select ", counter_columns!(), " from counter c join document d on ", same_key!("d", "c"), "
        where ", key_is!("c"), " and d.body is not null
        order by c.signature, c.user_id nulls first, c.episode";
}

/// Adds hits.
pub(crate) async fn add(database: &Database, deltas: &[HitDelta]) -> Result<(), StoreError> {
    let sums = sums(deltas);
    if sums.is_empty() {
        return Ok(());
    }
    let keys: KeyArrays = sums.keys().map(|it| it.0).collect();
    let args = args![
        keys.tenant_ids,
        keys.scopes,
        keys.scope_ids,
        keys.tool_names,
        sums.keys().map(|it| escape(it.1).into_owned()).collect::<Vec<_>>(),
        sums.keys().map(|it| it.2.map(|it| escape(it).into_owned())).collect::<Vec<_>>(),
        sums.keys().map(|it| it.3).collect::<Vec<_>>(),
        sums.values().map(|it| signed(it.0)).collect::<Vec<_>>(),
        sums.values().map(|it| micros(it.1)).collect::<Vec<_>>(),
    ];
    database.write("add hits", ADD, args).await.map(drop)
}

/// The counters of a document.
pub(crate) async fn load(database: &Database, key: &DocumentKey) -> Result<Vec<Counter>, StoreError> {
    const DOING: &str = "load counters";
    let rows = database.read(DOING, LOAD, key_args(key)).await?;
    let counters = rows.iter().map(read).collect::<Result<_, _>>();
    counters.map_err(|error| database.target().error(DOING, error))
}

/// Reads [`counter_columns!`] from the first column on.
pub(crate) fn read(row: &PgRow) -> Result<Counter, sqlx::Error> {
    Ok(Counter {
        key: key(row, 0)?,
        signature: text(row, 4)?,
        user_id: optional_text(row, 5)?,
        episode: row.try_get(6)?,
        hits: unsigned(row.try_get(7)?),
        last_triggered_at: instant(row, 8)?,
    })
}

type CounterKey<'a> = (&'a DocumentKey, &'a str, Option<&'a str>, i64);

/// One entry a counter: a statement cannot write a row twice. In key order.
fn sums(deltas: &[HitDelta]) -> BTreeMap<CounterKey<'_>, (u64, Instant)> {
    let mut sums: BTreeMap<CounterKey<'_>, (u64, Instant)> = BTreeMap::new();
    for delta in deltas {
        let key = (&delta.key, delta.signature.as_str(), delta.user_id.as_deref(), delta.episode);
        let (hits, at) = sums.entry(key).or_insert((0, delta.last_triggered_at));
        *hits = hits.saturating_add(delta.hits);
        *at = (*at).max(delta.last_triggered_at);
    }
    sums
}
