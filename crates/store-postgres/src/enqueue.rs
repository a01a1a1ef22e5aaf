//! Enqueueing jobs, inside a commit: one open job a coalescing key (R198, R199, C6).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use health_model::DocumentKey;
use ports::job::{QUEUE_FULL, QUEUE_LIMIT, merge_signal};
use ports::{Enqueue, EnqueueOutcome, Signal, Trigger};
use sqlx::Row;
use sqlx::postgres::{PgArguments, PgRow};
use uuid::Uuid;

use crate::connection::{Failure, Transaction};
use crate::error::is_duplicate;
use crate::row::{KeyArrays, key, micros, optional_text, signed, text, truncated};
use crate::statement::{args, statements};
use crate::text::{escape, to_json};

statements! {
    /// Creates jobs, or merges each into the open one of its key: the first signal and the last four stay (R199).
    ENQUEUE = "insert into job as j (id, service_type, tenant_id, project_id, key_tenant_id, scope, scope_id, tool_name,
            signature, key_user, trigger, signals, signal_count, state, created_at)
        select i.id, i.service_type, i.tenant_id, i.project_id, i.key_tenant_id, i.scope::document_scope, i.scope_id,
            i.tool_name, i.signature, i.key_user, i.trigger, i.signals::jsonb, i.signal_count, 'QUEUED', i.created_at
        from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                $9::text[], $10::text[], $11::text[], $12::text[], $13::bigint[], $14::bigint[]) with ordinality
            as i (id, service_type, tenant_id, project_id, key_tenant_id, scope, scope_id, tool_name, signature, key_user,
                trigger, signals, signal_count, created_at, place)
        order by i.place
        on conflict (service_type, key_tenant_id, scope, scope_id, tool_name, signature, (coalesce(key_user, '')),
                (key_user is null)) where state in ('QUEUED', 'RUNNING')
        do update set
            trigger = case excluded.trigger when 'user_request' then 'user_request' else j.trigger end,
            signal_count = j.signal_count + excluded.signal_count,
            signals = case
                when jsonb_array_length(j.signals) + jsonb_array_length(excluded.signals) <= 5
                then j.signals || excluded.signals
                else jsonb_build_array(j.signals -> 0) || (
                    select jsonb_agg(s.signal order by s.place)
                    from (
                        select e.signal, e.place
                        from jsonb_array_elements(j.signals || excluded.signals) with ordinality as e (signal, place)
                        order by e.place desc limit 4
                    ) s)
                end
        returning j.key_tenant_id, j.scope::text, j.scope_id, j.tool_name, j.service_type, j.signature, j.key_user, j.id";

    /// Ends the oldest jobs of failures where more than `$5` are queued. Two transactions that fill a queue at once do not see
    /// each other's job: a row that the other one ends is skipped, so each makes room for its own.
    DROP_EXCESS = "update job j set state = 'STALE', reason = $6, ended_at = v.at
        from (
            select d.id, q.at
            from unnest($1::text[], $2::text[], $3::uuid[], $4::bigint[]) as q (tenant_id, project_id, last_id, at)
            cross join lateral (
                select o.id from job o
                where o.state = 'QUEUED' and o.tenant_id = q.tenant_id and o.project_id = q.project_id
                    and o.trigger = 'tool_call_error' and o.id <> q.last_id
                order by o.created_at, o.id
                limit greatest(0, (select count(*) from job n
                    where n.state = 'QUEUED' and n.tenant_id = q.tenant_id and n.project_id = q.project_id) - $5::bigint)
                for update skip locked
            ) d
        ) v
        where j.id = v.id";
}

/// Ends the oldest failures' jobs of each queue that a job was created in and that is over its limit. The last one created in
/// a queue stays.
pub(crate) async fn drop_excess(
    transaction: &mut Transaction<'_>,
    jobs: &[Enqueue],
    outcomes: &[EnqueueOutcome],
) -> Result<(), Failure> {
    let mut last_created: HashMap<(&str, &str), &Enqueue> = HashMap::new();
    for (job, outcome) in jobs.iter().zip(outcomes) {
        if matches!(outcome, EnqueueOutcome::Created(_)) {
            last_created.insert((&job.tenant_id, &job.project_id), job);
        }
    }
    if last_created.is_empty() {
        return Ok(());
    }
    let last: Vec<&Enqueue> = last_created.into_values().collect();
    let args = args![
        last.iter().map(|it| escape(&it.tenant_id).into_owned()).collect::<Vec<_>>(),
        last.iter().map(|it| escape(&it.project_id).into_owned()).collect::<Vec<_>>(),
        last.iter().map(|it| it.id).collect::<Vec<_>>(),
        last.iter().map(|it| micros(it.now)).collect::<Vec<_>>(),
        signed(QUEUE_LIMIT as u64),
        QUEUE_FULL,
    ];
    transaction.run(DROP_EXCESS, args).await.map(drop)
}

/// Enqueues or merges; the outcomes are in the order of `jobs`.
pub(crate) async fn enqueue(
    transaction: &mut Transaction<'_>,
    jobs: &[Enqueue],
) -> Result<Vec<EnqueueOutcome>, Failure> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let groups = groups(jobs);
    let rows = transaction.run(ENQUEUE, enqueue_args(&groups)).await?;
    let ids = ids(&rows).map_err(Failure::Driver)?;
    let mut created: Vec<Uuid> = Vec::new();
    let outcome = |job: &Enqueue| {
        let id = ids.get(&CoalescingKey::of(job)).copied().unwrap_or(job.id);
        if id == job.id && !created.contains(&id) {
            created.push(id);
            EnqueueOutcome::Created(id)
        } else {
            EnqueueOutcome::Coalesced(id)
        }
    };
    Ok(jobs.iter().map(outcome).collect())
}

/// Whether the error says that a job of this id was enqueued before.
pub(crate) fn is_known_id(error: &sqlx::Error) -> bool {
    is_duplicate(error, "job_pkey")
}

#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Clone)]
struct CoalescingKey {
    key: DocumentKey,
    service_type: String,
    signature: String,
    key_user: Option<String>,
}

impl CoalescingKey {
    fn of(job: &Enqueue) -> Self {
        Self {
            key: job.key.clone(),
            service_type: job.service_type.clone(),
            signature: job.signature.clone(),
            key_user: job.key_user.clone(),
        }
    }
}

/// Jobs of one batch with the same coalescing key: one row of the statement, which cannot write a row twice.
struct Group<'a> {
    first: &'a Enqueue,
    trigger: Trigger,
    signals: Vec<Signal>,
    count: u64,
}

/// In key order, the order in which rows are locked.
fn groups(jobs: &[Enqueue]) -> Vec<Group<'_>> {
    let mut groups: HashMap<CoalescingKey, Group<'_>> = HashMap::new();
    for job in jobs {
        let signal = Signal { at: truncated(job.signal.at), ..job.signal.clone() };
        match groups.entry(CoalescingKey::of(job)) {
            Entry::Vacant(entry) => {
                entry.insert(Group { first: job, trigger: job.trigger, signals: vec![signal], count: 1 });
            }
            Entry::Occupied(mut entry) => {
                let group = entry.get_mut();
                merge_signal(&mut group.signals, signal);
                group.count += 1;
                if job.trigger == Trigger::UserRequest {
                    group.trigger = Trigger::UserRequest;
                }
            }
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|(a, _), (b, _)| a.cmp(b));
    groups.into_iter().map(|(_, group)| group).collect()
}

fn enqueue_args(groups: &[Group<'_>]) -> Result<PgArguments, sqlx::Error> {
    let keys: KeyArrays = groups.iter().map(|it| &it.first.key).collect();
    let texts = |text: fn(&Enqueue) -> &str| -> Vec<String> {
        groups.iter().map(|it| escape(text(it.first)).into_owned()).collect()
    };
    let signals = groups.iter().map(|it| to_json(&it.signals)).collect::<Result<Vec<_>, _>>();
    args![
        groups.iter().map(|it| it.first.id).collect::<Vec<_>>(),
        texts(|it| &it.service_type),
        texts(|it| &it.tenant_id),
        texts(|it| &it.project_id),
        keys.tenant_ids,
        keys.scopes,
        keys.scope_ids,
        keys.tool_names,
        texts(|it| &it.signature),
        groups.iter().map(|it| it.first.key_user.as_deref().map(escape)).collect::<Vec<_>>(),
        groups.iter().map(|it| it.trigger.as_str()).collect::<Vec<_>>(),
        signals.map_err(|error| sqlx::Error::Encode(error.into()))?,
        groups.iter().map(|it| signed(it.count)).collect::<Vec<_>>(),
        groups.iter().map(|it| micros(it.first.now)).collect::<Vec<_>>(),
    ]
}

fn ids(rows: &[PgRow]) -> Result<HashMap<CoalescingKey, Uuid>, sqlx::Error> {
    let read = |row: &PgRow| {
        let key = CoalescingKey {
            key: key(row, 0)?,
            service_type: text(row, 4)?,
            signature: text(row, 5)?,
            key_user: optional_text(row, 6)?,
        };
        Ok((key, row.try_get(7)?))
    };
    rows.iter().map(read).collect()
}
