//! Outage rows: opened and closed inside a commit, read newest first.

use std::collections::HashMap;

use health_model::DocumentKey;
use ports::{Outage, OutageChange, StoreError};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::connection::{Database, Failure, Transaction};
use crate::document::Query;
use crate::document::key_args;
use crate::row::{KeyArrays, instant, key as read_key, micros, optional_instant, signed, text};
use crate::statement::{args, key_is, same_key, statements};
use crate::text::escape;

statements! {
    OPEN = "insert into outage (tenant_id, scope, scope_id, tool_name, signature, started_at)
        select i.tenant_id, i.scope::document_scope, i.scope_id, i.tool_name, i.signature, i.at
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) with ordinality
            as i (tenant_id, scope, scope_id, tool_name, signature, at, place)
        order by i.place
        on conflict (tenant_id, scope, scope_id, tool_name) where ended_at is null do nothing";

    CLOSE = "update outage o set ended_at = v.at
        from (
            select o.id, i.at
            from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
                as i (tenant_id, scope_name, scope_id, tool_name, at)
            cross join lateral (select i.tenant_id, i.scope_name::document_scope as scope, i.scope_id, i.tool_name) k
            join outage o on ", same_key!("o", "k"), "
            where o.ended_at is null
            order by o.tenant_id, o.scope, o.scope_id, o.tool_name
            for update of o
        ) v
        where o.id = v.id";

    LIST = "select o.tenant_id, o.scope::text, o.scope_id, o.tool_name, o.signature, o.started_at, o.ended_at, o.censored
        from outage o where ", key_is!("o"), " order by o.started_at desc, o.id desc limit $5";
}

/// The document of a change.
pub(crate) const fn key(change: &OutageChange) -> &DocumentKey {
    match change {
        OutageChange::Open { key, .. } | OutageChange::Close { key, .. } => key,
    }
}

/// Applies the changes of a batch. Those of one document keep their order: the changes go in rounds, with at most one a
/// document in each, so that a round is at most two statements. Nearly every batch has one round.
pub(crate) async fn apply(
    transaction: &mut Transaction<'_>,
    changes: &[OutageChange],
) -> Result<(), Failure> {
    for round in rounds(changes) {
        let opened: Vec<_> = round
            .iter()
            .filter_map(|it| match it {
                OutageChange::Open { key, signature, at } => Some((key, signature, *at)),
                OutageChange::Close { .. } => None,
            })
            .collect();
        let closed: Vec<_> = round
            .iter()
            .filter_map(|it| match it {
                OutageChange::Open { .. } => None,
                OutageChange::Close { key, at } => Some((key, *at)),
            })
            .collect();
        if !closed.is_empty() {
            let keys: KeyArrays = closed.iter().map(|(key, _)| *key).collect();
            let at: Vec<_> = closed.iter().map(|(_, at)| micros(*at)).collect();
            let args = args![keys.tenant_ids, keys.scopes, keys.scope_ids, keys.tool_names, at];
            transaction.run(CLOSE, args).await?;
        }
        if !opened.is_empty() {
            let keys: KeyArrays = opened.iter().map(|(key, ..)| *key).collect();
            let signatures: Vec<_> =
                opened.iter().map(|(_, signature, _)| escape(signature).into_owned()).collect();
            let at: Vec<_> = opened.iter().map(|(.., at)| micros(*at)).collect();
            let args = args![keys.tenant_ids, keys.scopes, keys.scope_ids, keys.tool_names, signatures, at];
            transaction.run(OPEN, args).await?;
        }
    }
    Ok(())
}

/// The n-th round holds the n-th change of each document, in key order.
fn rounds(changes: &[OutageChange]) -> Vec<Vec<&OutageChange>> {
    let mut rounds: Vec<Vec<&OutageChange>> = Vec::new();
    let mut taken: HashMap<&DocumentKey, usize> = HashMap::new();
    for change in changes {
        let n = taken.entry(key(change)).or_default();
        if *n == rounds.len() {
            rounds.push(Vec::new());
        }
        rounds[*n].push(change);
        *n += 1;
    }
    for round in &mut rounds {
        round.sort_by(|a, b| key(a).cmp(key(b)));
    }
    rounds
}

/// The outages of one document, newest first.
pub(crate) async fn list(
    database: &Database,
    key: &DocumentKey,
    limit: usize,
) -> Result<Vec<Outage>, StoreError> {
    const DOING: &str = "list outages";
    let failed = |error| database.target().error(DOING, error);
    let mut query = Query { sql: String::new(), args: key_args(key).map_err(failed)? };
    query.bind(signed(limit as u64)).map_err(failed)?;
    let rows = database.read(DOING, LIST, Ok(query.args)).await?;
    rows.iter().map(read).collect::<Result<_, _>>().map_err(failed)
}

fn read(row: &PgRow) -> Result<Outage, sqlx::Error> {
    Ok(Outage {
        key: read_key(row, 0)?,
        signature: text(row, 4)?,
        started_at: instant(row, 5)?,
        ended_at: optional_instant(row, 6)?,
        censored: row.try_get(7)?,
    })
}

#[cfg(test)]
mod tests {
    use health_model::Instant;
    use health_model::vocabulary::Scope;

    use super::*;

    #[test]
    fn changes_of_one_document_keep_their_order() {
        let key = |tool: &str| DocumentKey {
            tenant_id: "t".into(),
            scope: Scope::Tenant,
            scope_id: "t".into(),
            tool_name: tool.into(),
        };
        let open = |tool: &str| OutageChange::Open {
            key: key(tool),
            signature: "s".into(),
            at: Instant::UNIX_EPOCH,
        };
        let close = |tool: &str| OutageChange::Close { key: key(tool), at: Instant::UNIX_EPOCH };
        let changes = [close("b"), open("a"), open("b"), close("b"), close("a")];
        let rounds = rounds(&changes);
        let expected = [vec![open("a"), close("b")], vec![close("a"), open("b")], vec![close("b")]];
        assert_eq!(rounds.len(), expected.len());
        for (round, expected) in rounds.into_iter().zip(&expected) {
            assert_eq!(round, expected.iter().collect::<Vec<_>>());
        }
    }
}
