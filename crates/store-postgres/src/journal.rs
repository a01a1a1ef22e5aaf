//! The journal of failures. Its content is opaque here.

use std::collections::BTreeSet;

use ports::{FailureEntry, FailurePage, FailurePlace, StoreError};
use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::connection::{Database, Failure, Transaction};
use crate::row::{instant, micros, signed, text};
use crate::statement::{args, statements};
use crate::text::escape;

const BEGIN: &str = "begin isolation level read committed";

/// Tries of an append against a delete of the same journal.
const TRIES: u32 = 4;

statements! {
    /// Appends of one store wait for each other: each sees what the one before it left, so that none leaves too much. Taken
    /// before the transaction has an id.
    LOCK = "select pg_advisory_xact_lock(hashtext('agrajag.failure'), hashtext(current_schema()))";

    APPEND = "insert into failure (id, tenant_id, project_id, at, content)
        select i.id, i.tenant_id, i.project_id, i.at, i.content
        from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[])
            as i (id, tenant_id, project_id, at, content)
        on conflict (id) do nothing";

    /// Takes all but the latest `$2` of each of these tenants.
    TRIM = "delete from failure f
        using unnest($1::text[]) as t (tenant_id)
        cross join lateral (
            select k.at, k.id from failure k where k.tenant_id = t.tenant_id
            order by k.at desc, k.id desc limit 1 offset $2
        ) v
        where f.tenant_id = t.tenant_id and (f.at, f.id) <= (v.at, v.id)";

    LIST = "select f.id, f.tenant_id, f.project_id, f.at, f.content from failure f
        where f.tenant_id = $1 and (f.at, f.id) < ($2, $3) order by f.at desc, f.id desc limit $4";

    LIST_OF_PROJECT = "select f.id, f.tenant_id, f.project_id, f.at, f.content from failure f
        where f.tenant_id = $1 and (f.at, f.id) < ($2, $3) and f.project_id = $5
        order by f.at desc, f.id desc limit $4";
}

/// Appends and trims in one transaction.
pub(crate) async fn append(
    database: &Database,
    entries: &[FailureEntry],
    keep: usize,
) -> Result<(), StoreError> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut tries = 0;
    loop {
        tries += 1;
        let mut transaction = database.begin("append failures", BEGIN).await?;
        match append_in(&mut transaction, entries, keep).await {
            Ok(()) => return transaction.commit().await,
            Err(failure) if failure.is_contention() && tries < TRIES => transaction.roll_back().await,
            Err(failure) => return Err(transaction.error(failure)),
        }
    }
}

async fn append_in(
    transaction: &mut Transaction<'_>,
    entries: &[FailureEntry],
    keep: usize,
) -> Result<(), Failure> {
    transaction.run(LOCK, args![]).await?;
    let owned = |text: &str| escape(text).into_owned();
    let args = args![
        entries.iter().map(|it| it.id).collect::<Vec<_>>(),
        entries.iter().map(|it| owned(&it.tenant_id)).collect::<Vec<_>>(),
        entries.iter().map(|it| owned(&it.project_id)).collect::<Vec<_>>(),
        entries.iter().map(|it| micros(it.at)).collect::<Vec<_>>(),
        entries.iter().map(|it| owned(&it.content)).collect::<Vec<_>>(),
    ];
    transaction.run(APPEND, args).await?;
    let tenants: BTreeSet<&str> = entries.iter().map(|it| it.tenant_id.as_str()).collect();
    let args = args![tenants.into_iter().map(owned).collect::<Vec<_>>(), signed(keep as u64)];
    transaction.run(TRIM, args).await?;
    Ok(())
}

/// Rows of a further query of one page.
const MANY: usize = 1_000;

/// A page, the latest first. It goes on behind rows that cannot be read.
pub(crate) async fn list(
    database: &Database,
    tenant_id: &str,
    project_id: Option<&str>,
    before: Option<FailurePlace>,
    limit: usize,
) -> Result<FailurePage, StoreError> {
    // No instant is the greatest number, so that a page before nothing begins with the latest.
    let mut place = before.map_or((i64::MAX, Uuid::nil()), |place| (micros(place.at), place.id));
    let mut page = FailurePage::default();
    let mut n_rows = limit;
    loop {
        let rows = rows(database, tenant_id, project_id, place, n_rows).await?;
        for row in &rows {
            if page.entries.len() >= limit {
                return Ok(page);
            }
            match read(row) {
                Ok(entry) => page.entries.push(entry),
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "a failure of the journal cannot be read and is left out"
                    );
                    page.n_unreadable += 1;
                }
            }
        }
        let last = rows.last().filter(|_| page.entries.len() < limit && rows.len() >= n_rows);
        // Id and instant are of types that every row keeps, whatever is wrong with it.
        let Some(last) = last.and_then(|it| Some((it.try_get(3).ok()?, it.try_get(0).ok()?))) else {
            return Ok(page);
        };
        place = last;
        // Rows that cannot be read are rarely alone.
        n_rows = MANY;
    }
}

async fn rows(
    database: &Database,
    tenant_id: &str,
    project_id: Option<&str>,
    (at, id): (i64, Uuid),
    limit: usize,
) -> Result<Vec<PgRow>, StoreError> {
    const DOING: &str = "list failures";
    let (tenant, limit) = (escape(tenant_id).into_owned(), signed(limit as u64));
    match project_id {
        None => database.read(DOING, LIST, args![tenant, at, id, limit]).await,
        Some(project) => {
            let args = args![tenant, at, id, limit, escape(project).into_owned()];
            database.read(DOING, LIST_OF_PROJECT, args).await
        }
    }
}

fn read(row: &PgRow) -> Result<FailureEntry, sqlx::Error> {
    Ok(FailureEntry {
        id: row.try_get(0)?,
        tenant_id: text(row, 1)?,
        project_id: text(row, 2)?,
        at: instant(row, 3)?,
        content: text(row, 4)?,
    })
}
