//! Commits: compare, write, enqueue, in one transaction.

use std::collections::HashSet;

use health_model::DocumentKey;
use health_model::document::DOCUMENT_FORMAT;
use ports::{Batch, Committed, DocumentWrite, EnqueueOutcome, Revision, StoreError};
use sqlx::Row;
use sqlx::postgres::{PgArguments, PgRow};

use crate::connection::{Database, Failure, Transaction};
use crate::document::{self, Query, key_args};
use crate::feed::take_lock;
use crate::row::{KeyArrays, key, micros, unsigned};
use crate::statement::{args, key_is, own_id, statements};
use crate::text::to_json;
use crate::{enqueue, feed, outage};

pub(crate) const DOING: &str = "commit";

/// The id of a transaction of one statement, which is given to it once it has its lock: see `feed`.
macro_rules! own_id_under_lock {
    () => {
        concat!(
            "with gate as materialized (select ",
            take_lock!(),
            "::text as held),
            own as materialized (select case when gate.held is not null then ",
            own_id!(),
            " end as id from gate)"
        )
    };
}

statements! {
    /// The first document of a key, as a transaction of one statement.
    INSERT_ONE = own_id_under_lock!(), "
        insert into document as d (tenant_id, scope, scope_id, tool_name, revision, replaced, format, body, status,
            next_cooldown_at, updated_at)
        select $1, $2::text::document_scope, $3, $4, own.id, 0, $5, $6::text::jsonb, $7, $8, $9 from own
        on conflict (tenant_id, scope, scope_id, tool_name) do update set revision = excluded.revision,
            replaced = excluded.replaced, format = excluded.format, body = excluded.body, status = excluded.status,
            next_cooldown_at = excluded.next_cooldown_at, updated_at = excluded.updated_at, deleted_at = null
        where d.body is null and d.revision < excluded.revision
        returning d.revision, (select epoch::text from store)";

    /// A further one, of the version `$10`.
    UPDATE_ONE = own_id_under_lock!(), "
        update document d set revision = own.id, replaced = d.revision, format = $5, body = $6::text::jsonb, status = $7,
            next_cooldown_at = $8, updated_at = $9
        from own
        where ", key_is!("d"), " and d.body is not null and d.revision = $10 and d.revision < own.id
        returning d.revision, (select epoch::text from store)";

    /// Writes documents, in key order; what was expected is compared under the row's lock. Returns what was written: a
    /// row that is missing was not as expected, nor one whose first write expected a version.
    WRITE = "insert into document as d (tenant_id, scope, scope_id, tool_name, revision, replaced, format, body, status,
            next_cooldown_at, updated_at)
        select i.tenant_id, i.scope::document_scope, i.scope_id, i.tool_name, x.id, -i.expected, $1, i.body::jsonb,
            i.status, i.next_cooldown_at, i.updated_at
        from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::bigint[],
                $10::bigint[]) with ordinality
            as i (tenant_id, scope, scope_id, tool_name, expected, body, status, next_cooldown_at, updated_at, place)
        cross join (select ", own_id!(), " as id) x
        order by i.place
        on conflict (tenant_id, scope, scope_id, tool_name) do update set revision = excluded.revision,
            replaced = -excluded.replaced, format = excluded.format, body = excluded.body, status = excluded.status,
            next_cooldown_at = excluded.next_cooldown_at, updated_at = excluded.updated_at, deleted_at = null
        where -excluded.replaced = case when d.body is null then 0 else d.revision end
            and d.revision < excluded.revision
        returning d.tenant_id, d.scope::text, d.scope_id, d.tool_name, d.revision, d.replaced,
            (select epoch::text from store)";
}

/// One transaction, or nothing.
pub(crate) async fn commit(database: &Database, batch: &Batch) -> Result<Committed, StoreError> {
    if batch.documents.is_empty() && batch.jobs.is_empty() && batch.outages.is_empty() {
        return Ok(Committed {
            revision: feed::head(database).await?,
            versions: Vec::new(),
            jobs: Vec::new(),
        });
    }
    if let ([write], [], []) = (&*batch.documents, &*batch.jobs, &*batch.outages) {
        return commit_one(database, write).await;
    }
    let documents = Documents::of(batch)?;
    let Some(first) = documents.first_key().or_else(|| first_key(batch)) else {
        return Err(StoreError::Other { reason: "a batch without a key".to_owned(), source: None });
    };
    let mut transaction = database.begin(DOING, feed::BEGIN).await?;
    match write(&mut transaction, &documents, batch).await {
        Ok(Outcome::Written { revision, jobs }) => {
            transaction.commit().await?;
            let revision = match revision {
                Some(revision) => revision,
                // Without documents there is nothing in the feed to wait for.
                None => feed::head(database).await?,
            };
            let versions = vec![revision.position; batch.documents.len()];
            Ok(Committed { revision, versions, jobs })
        }
        Ok(Outcome::Conflict(writes)) => {
            transaction.roll_back().await;
            Err(refusal(database, writes).await)
        }
        Err(failure) if failure.is_contention() => {
            transaction.roll_back().await;
            Err(StoreError::Conflict { key: first })
        }
        Err(Failure::Driver(error)) if enqueue::is_known_id(&error) => {
            transaction.roll_back().await;
            Err(StoreError::Other {
                reason: "a job of this id is on record already".to_owned(),
                source: None,
            })
        }
        Err(failure) => Err(transaction.error(failure)),
    }
}

/// One document and nothing else, the usual commit of a server without load: one message to the database, not three.
async fn commit_one(database: &Database, write: &DocumentWrite) -> Result<Committed, StoreError> {
    let Columns { body, status, next_cooldown_at, updated_at } = Columns::of(write)?;
    let failed = |error| database.target().error(DOING, error);
    let mut query = Query { sql: String::new(), args: key_args(&write.document.key).map_err(failed)? };
    let bound = query
        .bind(DOCUMENT_FORMAT.cast_signed())
        .and_then(|()| query.bind(body))
        .and_then(|()| query.bind(status))
        .and_then(|()| query.bind(next_cooldown_at))
        .and_then(|()| query.bind(updated_at));
    bound.map_err(failed)?;
    let sql = match expected(write) {
        0 => INSERT_ONE,
        version => {
            query.bind(version).map_err(failed)?;
            UPDATE_ONE
        }
    };
    // Twice does no harm: the second time it conflicts.
    let rows = database.read(DOING, sql, Ok(query.args)).await?;
    let Some(row) = rows.first() else {
        return Err(refusal(database, vec![write]).await);
    };
    let read = || Ok(Revision { position: unsigned(row.try_get(0)?), epoch: row.try_get(1)? });
    let revision = read().map_err(failed)?;
    Ok(Committed { versions: vec![revision.position], revision, jobs: Vec::new() })
}

/// Why writes were refused that did not find what they expected. A row that cannot be read looks absent to whoever loads its
/// container. A conflict would send the writer back to load it again, for ever: say what is wrong instead.
async fn refusal(database: &Database, writes: Vec<&DocumentWrite>) -> StoreError {
    let inserts: KeyArrays =
        writes.iter().filter(|it| it.expected.is_none()).map(|it| &it.document.key).collect();
    if !inserts.scopes.is_empty() {
        // Where they cannot be loaded, the conflict is still true.
        let rows = document::load_many(database, DOING, inserts).await.unwrap_or_default();
        if let Some(error) = rows.iter().find_map(|it| it.decode().err()) {
            return error;
        }
    }
    match writes.first() {
        Some(write) => StoreError::Conflict { key: write.document.key.clone() },
        None => StoreError::Other { reason: "a conflict without a document".to_owned(), source: None },
    }
}

/// What was expected to be there, as the statements compare it: 0 for no row, and for a version that no row can have one
/// that no row has.
fn expected(write: &DocumentWrite) -> i64 {
    match write.expected {
        None => 0,
        Some(version) => i64::try_from(version).ok().filter(|it| *it > 0).unwrap_or(i64::MAX),
    }
}

/// A document as columns, beside its key.
struct Columns {
    body: String,
    status: Option<&'static str>,
    next_cooldown_at: Option<i64>,
    updated_at: i64,
}

impl Columns {
    fn of(write: &DocumentWrite) -> Result<Self, StoreError> {
        let document = &write.document;
        let body = to_json(document).map_err(|error| StoreError::Other {
            reason: format!("cannot encode the document `{}`", document.key),
            source: Some(Box::new(error)),
        })?;
        Ok(Self {
            body,
            status: document.health.as_ref().map(|it| it.status.as_str()),
            next_cooldown_at: document.next_cooldown_at(document.updated_at).map(micros),
            updated_at: micros(document.updated_at),
        })
    }
}

enum Outcome<'a> {
    Written {
        revision: Option<Revision>,
        jobs: Vec<EnqueueOutcome>,
    },
    /// These writes were not as expected.
    Conflict(Vec<&'a DocumentWrite>),
}

async fn write<'a>(
    transaction: &mut Transaction<'_>,
    documents: &Documents<'a>,
    batch: &Batch,
) -> Result<Outcome<'a>, Failure> {
    let mut revision = None;
    if !documents.writes.is_empty() {
        let rows = transaction.run(WRITE, documents.args()).await?;
        match documents.check(&rows).map_err(Failure::Driver)? {
            Ok(written) => revision = written,
            Err(writes) => return Ok(Outcome::Conflict(writes)),
        }
    }
    let jobs = enqueue::enqueue(transaction, &batch.jobs).await?;
    enqueue::drop_excess(transaction, &batch.jobs, &jobs).await?;
    outage::apply(transaction, &batch.outages).await?;
    Ok(Outcome::Written { revision, jobs })
}

fn first_key(batch: &Batch) -> Option<DocumentKey> {
    let job = batch.jobs.first().map(|it| &it.key);
    let outage = batch.outages.first().map(outage::key);
    job.or(outage).cloned()
}

/// The documents of a batch, in key order and encoded.
struct Documents<'a> {
    writes: Vec<&'a DocumentWrite>,
    columns: Vec<Columns>,
}

impl<'a> Documents<'a> {
    fn of(batch: &'a Batch) -> Result<Self, StoreError> {
        let mut writes: Vec<&DocumentWrite> = batch.documents.iter().collect();
        writes.sort_by(|a, b| a.document.key.cmp(&b.document.key));
        if let Some(pair) = writes.windows(2).find(|pair| pair[0].document.key == pair[1].document.key) {
            let reason = format!("a batch holds two writes of `{}`", pair[0].document.key);
            return Err(StoreError::Other { reason, source: None });
        }
        let columns = writes.iter().map(|it| Columns::of(it)).collect::<Result<_, _>>()?;
        Ok(Self { writes, columns })
    }

    fn first_key(&self) -> Option<DocumentKey> {
        self.writes.first().map(|it| it.document.key.clone())
    }

    fn args(&self) -> Result<PgArguments, sqlx::Error> {
        let keys: KeyArrays = self.writes.iter().map(|it| &it.document.key).collect();
        args![
            DOCUMENT_FORMAT.cast_signed(),
            keys.tenant_ids,
            keys.scopes,
            keys.scope_ids,
            keys.tool_names,
            self.writes.iter().map(|it| expected(it)).collect::<Vec<_>>(),
            self.columns.iter().map(|it| it.body.as_str()).collect::<Vec<_>>(),
            self.columns.iter().map(|it| it.status).collect::<Vec<_>>(),
            self.columns.iter().map(|it| it.next_cooldown_at).collect::<Vec<_>>(),
            self.columns.iter().map(|it| it.updated_at).collect::<Vec<_>>(),
        ]
    }

    /// The revision of the rows that were written, or the writes that were not as expected.
    fn check(&self, rows: &[PgRow]) -> Result<Result<Option<Revision>, Vec<&'a DocumentWrite>>, sqlx::Error> {
        let mut written = HashSet::with_capacity(rows.len());
        let mut revision = None;
        for row in rows {
            let replaced: i64 = row.try_get(5)?;
            if replaced >= 0 {
                written.insert(key(row, 0)?);
                revision = Some(Revision { epoch: row.try_get(6)?, position: unsigned(row.try_get(4)?) });
            }
        }
        let missing: Vec<_> =
            self.writes.iter().copied().filter(|it| !written.contains(&it.document.key)).collect();
        Ok(if missing.is_empty() { Ok(revision) } else { Err(missing) })
    }
}
