//! Deletes: a document becomes a tombstone, its counters and jobs go, its outages end unseen or go too.

use std::time::Duration;

use health_model::Instant;
use ports::{DeleteSelector, Revision, StoreError};
use sqlx::Row;
use sqlx::postgres::PgArguments;

use crate::connection::{Database, Failure, Transaction};
use crate::document::{Query, key_args};
use crate::feed;
use crate::row::{micros, signed, unsigned};
use crate::statement::{args, key_is, own_id, same_key, statements};
use crate::text::escape;

/// A tenant may have many documents.
const LIMIT: Duration = Duration::from_secs(120);

/// Tries against writers of the same documents.
const TRIES: u32 = 16;

const DOING: &str = "delete documents";

/// Makes tombstones of the documents that satisfy a condition on `d`, at the instant `$1`, and runs further parts of the
/// statement on the same `victim`s. Returns how many, whether a version of one was above this transaction's, the revision
/// and the epoch.
macro_rules! delete_where {
    ($condition:literal $(, $part:expr)*) => {
        concat!(
            "with victim as materialized (
                select d.tenant_id, d.scope, d.scope_id, d.tool_name, d.revision from document d
                where d.body is not null and ", $condition, "
                for update
            ), gone as (
                update document d set body = null, status = null, next_cooldown_at = null, replaced = d.revision,
                    revision = ", own_id!(), ", deleted_at = $1
                from victim v where ", same_key!("d", "v"), "
            ), uncounted as (
                delete from counter c using victim v where ", same_key!("c", "v"), "
            )", $($part,)* "
            select count(*), coalesce(max(v.revision) >= pg_current_xact_id_if_assigned()::text::bigint, false),
                pg_current_xact_id_if_assigned()::text::bigint, (select epoch::text from store)
            from victim v"
        )
    };
}

statements! {
    DELETE_ONE = delete_where!("d.tenant_id = $2 and d.scope = $3::text::document_scope and d.scope_id = $4
        and d.tool_name = $5");

    DELETE_CONTAINER = delete_where!("d.tenant_id = $2 and d.scope = $3::text::document_scope and d.scope_id = $4
        order by d.tool_name");

    DELETE_TENANT = delete_where!("d.tenant_id = $2 order by d.scope, d.scope_id, d.tool_name");

    /// A page of SESSION documents that were last written before `$2`.
    DELETE_SESSIONS = delete_where!("d.scope = 'SESSION' and d.updated_at < $2
        order by d.tenant_id, d.scope_id, d.tool_name limit $3",
        ", censored as (
            update outage o set ended_at = $1, censored = true
            from victim v where ", same_key!("o", "v"), " and o.ended_at is null
        ), unqueued as (
            delete from job j using victim v
            where j.key_tenant_id = v.tenant_id and j.scope = v.scope and j.scope_id = v.scope_id
                and j.tool_name = v.tool_name
        )");

    /// Ends the open outage of a document at `$5`: nobody saw its end.
    CENSOR_ONE = "update outage o set ended_at = $5, censored = true where ", key_is!("o"), " and o.ended_at is null";

    FORGET_JOBS_OF_ONE = "delete from job
        where key_tenant_id = $1 and scope = $2::text::document_scope and scope_id = $3 and tool_name = $4";

    FORGET_CONTAINER_OUTAGES = "delete from outage
        where tenant_id = $1 and scope = $2::text::document_scope and scope_id = $3";

    FORGET_CONTAINER_JOBS = "delete from job
        where key_tenant_id = $1 and scope = $2::text::document_scope and scope_id = $3";

    /// Jobs that are one user's alone.
    FORGET_USER_JOBS = "delete from job where tenant_id = $1 and key_user = $2";

    /// What the tenant's other jobs say of a user: of each signal the time stays, as by `Signal::forget`.
    FORGET_USER_SIGNALS = "update job j set signals = (
            select jsonb_agg(
                case when s.signal ->> 'user_id' = $2::text
                    then jsonb_build_object('at', s.signal -> 'at', 'detail', '')
                    else s.signal end
                order by s.place)
            from jsonb_array_elements(j.signals) with ordinality as s (signal, place))
        where j.tenant_id = $1 and j.signals @> jsonb_build_array(jsonb_build_object('user_id', $2::text))";

    /// That user's cooldowns in documents of others.
    FORGET_USER_COUNTERS = "delete from counter where tenant_id = $1 and user_id = $2";

    FORGET_COUNTERS = "delete from counter where tenant_id = $1";

    FORGET_OUTAGES = "delete from outage where tenant_id = $1";

    FORGET_JOBS = "delete from job where tenant_id = $1 or key_tenant_id = $1";

    FORGET_FAILURES = "delete from failure where tenant_id = $1";

    FORGET_RULE_LAYERS = "with gone as (delete from rule_layer where tenant_id = $1 returning 1)
        update store set rules_revision = rules_revision + 1 where exists (select from gone)";
}

/// Deletes what the selector names.
pub(crate) async fn delete(
    database: &Database,
    selector: &DeleteSelector,
    now: Instant,
) -> Result<(u64, Revision), StoreError> {
    let plan = Plan::of(selector, now).map_err(|error| database.target().error(DOING, error))?;
    let (n_documents, revision) = run(database, &plan).await?;
    let revision = match revision {
        Some(revision) => revision,
        None => feed::head(database).await?,
    };
    Ok((n_documents, revision))
}

/// Deletes a page of SESSION documents that were last written before `before`; returns how many.
pub(crate) async fn delete_sessions(
    database: &Database,
    before: Instant,
    now: Instant,
    limit: usize,
) -> Result<u64, StoreError> {
    let args = args![micros(now), micros(before), signed(limit as u64)];
    let args = args.map_err(|error| database.target().error(DOING, error))?;
    run(database, &Plan { sql: DELETE_SESSIONS, args, further: Vec::new() })
        .await
        .map(|(n_documents, _)| n_documents)
}

/// What a selector comes down to.
struct Plan {
    sql: &'static str,
    args: PgArguments,
    further: Vec<(&'static str, PgArguments)>,
}

impl Plan {
    fn of(selector: &DeleteSelector, now: Instant) -> Result<Self, sqlx::Error> {
        let now = micros(now);
        let owned = |text: &str| escape(text).into_owned();
        let (sql, args, further) = match selector {
            DeleteSelector::One(key) => {
                let (tenant, scope_id, tool) =
                    (owned(&key.tenant_id), owned(&key.scope_id), owned(&key.tool_name));
                let mut censor = Query { sql: String::new(), args: key_args(key)? };
                censor.bind(now)?;
                let further = vec![(CENSOR_ONE, censor.args), (FORGET_JOBS_OF_ONE, key_args(key)?)];
                (DELETE_ONE, args![now, tenant, key.scope.as_str(), scope_id, tool]?, further)
            }
            DeleteSelector::Session { tenant_id, session_id } => {
                let container = args![owned(tenant_id), "SESSION", owned(session_id)]?;
                (
                    DELETE_CONTAINER,
                    args![now, owned(tenant_id), "SESSION", owned(session_id)]?,
                    vec![(FORGET_CONTAINER_OUTAGES, container.clone()), (FORGET_CONTAINER_JOBS, container)],
                )
            }
            DeleteSelector::User { tenant_id, user_id } => {
                let container = args![owned(tenant_id), "USER", owned(user_id)]?;
                let user = args![owned(tenant_id), owned(user_id)]?;
                (
                    DELETE_CONTAINER,
                    args![now, owned(tenant_id), "USER", owned(user_id)]?,
                    vec![
                        (FORGET_CONTAINER_OUTAGES, container.clone()),
                        (FORGET_CONTAINER_JOBS, container),
                        (FORGET_USER_COUNTERS, user.clone()),
                        (FORGET_USER_JOBS, user.clone()),
                        (FORGET_USER_SIGNALS, user),
                    ],
                )
            }
            DeleteSelector::Tenant { tenant_id } => {
                let tenant = args![owned(tenant_id)]?;
                let further =
                    [FORGET_COUNTERS, FORGET_OUTAGES, FORGET_JOBS, FORGET_FAILURES, FORGET_RULE_LAYERS];
                (
                    DELETE_TENANT,
                    args![now, owned(tenant_id)]?,
                    further.into_iter().map(|sql| (sql, tenant.clone())).collect(),
                )
            }
        };
        Ok(Self { sql, args, further })
    }
}

/// The count and, if anything was deleted, the revision.
async fn run(database: &Database, plan: &Plan) -> Result<(u64, Option<Revision>), StoreError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut transaction = database.begin(DOING, feed::BEGIN).await?;
        match step(&mut transaction, plan).await {
            Ok(Some(outcome)) => {
                transaction.commit().await?;
                return Ok(outcome);
            }
            // A version must grow: another transaction, with a greater id, will do.
            Ok(None) if tries < TRIES => transaction.roll_back().await,
            Ok(None) => {
                let reason = "documents are written faster than they can be deleted; try again".to_owned();
                return Err(StoreError::Other { reason, source: None });
            }
            Err(failure) if failure.is_contention() && tries < TRIES => transaction.roll_back().await,
            Err(failure) => return Err(transaction.error(failure)),
        }
    }
}

/// `None` = a version was in the way.
async fn step(
    transaction: &mut Transaction<'_>,
    plan: &Plan,
) -> Result<Option<(u64, Option<Revision>)>, Failure> {
    transaction.allow(LIMIT).await?;
    let rows = transaction.run(plan.sql, Ok(plan.args.clone())).await?;
    let read = || {
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        let n_documents = unsigned(row.try_get(0)?);
        let is_overtaken: bool = row.try_get(1)?;
        let position: Option<i64> = row.try_get(2)?;
        let epoch: String = row.try_get(3)?;
        let revision = position.map(|it| Revision { epoch, position: unsigned(it) });
        Ok((is_overtaken, (n_documents, revision.filter(|_| n_documents > 0))))
    };
    let (is_overtaken, outcome) = read().map_err(Failure::Driver)?;
    if is_overtaken {
        return Ok(None);
    }
    for (sql, args) in &plan.further {
        transaction.run(*sql, Ok(args.clone())).await?;
    }
    Ok(Some(outcome))
}
