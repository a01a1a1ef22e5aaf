//! Commits: compare, write, enqueue, in one transaction.

use std::collections::HashSet;

use health_model::DocumentKey;
use health_model::document::DOCUMENT_FORMAT;
use ports::{Batch, Committed, DocumentWrite, EnqueueOutcome, Revision, StoreError};
use sqlx::Row;
use sqlx::postgres::{PgArguments, PgRow};

use crate::connection::{Database, Failure, Transaction};
use crate::row::{KeyArrays, key, micros, unsigned};
use crate::statement::{args, own_id, statements};
use crate::text::to_json;
use crate::{enqueue, feed, outage};

pub(crate) const DOING: &str = "commit";

statements! {
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
        Ok(Outcome::Conflict(key)) => {
            transaction.roll_back().await;
            Err(StoreError::Conflict { key })
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

enum Outcome {
    Written { revision: Option<Revision>, jobs: Vec<EnqueueOutcome> },
    Conflict(DocumentKey),
}

async fn write(
    transaction: &mut Transaction<'_>,
    documents: &Documents<'_>,
    batch: &Batch,
) -> Result<Outcome, Failure> {
    let mut revision = None;
    if !documents.writes.is_empty() {
        let rows = transaction.run(WRITE, documents.args()).await?;
        match documents.check(&rows).map_err(Failure::Driver)? {
            Ok(written) => revision = written,
            Err(key) => return Ok(Outcome::Conflict(key)),
        }
    }
    let jobs = enqueue::enqueue(transaction, &batch.jobs).await?;
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
    bodies: Vec<String>,
}

impl<'a> Documents<'a> {
    fn of(batch: &'a Batch) -> Result<Self, StoreError> {
        let mut writes: Vec<&DocumentWrite> = batch.documents.iter().collect();
        writes.sort_by(|a, b| a.document.key.cmp(&b.document.key));
        if let Some(pair) = writes.windows(2).find(|pair| pair[0].document.key == pair[1].document.key) {
            let reason = format!("a batch holds two writes of `{}`", pair[0].document.key);
            return Err(StoreError::Other { reason, source: None });
        }
        let encode = |it: &&DocumentWrite| {
            to_json(&it.document).map_err(|error| StoreError::Other {
                reason: format!("cannot encode the document `{}`", it.document.key),
                source: Some(Box::new(error)),
            })
        };
        let bodies = writes.iter().map(encode).collect::<Result<_, _>>()?;
        Ok(Self { writes, bodies })
    }

    fn first_key(&self) -> Option<DocumentKey> {
        self.writes.first().map(|it| it.document.key.clone())
    }

    fn args(&self) -> Result<PgArguments, sqlx::Error> {
        let keys: KeyArrays = self.writes.iter().map(|it| &it.document.key).collect();
        let documents = || self.writes.iter().map(|it| &it.document);
        // 0 stands for no row; a version that no row can have stands for each such version.
        let expected = |it: &&DocumentWrite| match it.expected {
            None => 0,
            Some(version) => i64::try_from(version).ok().filter(|it| *it > 0).unwrap_or(i64::MAX),
        };
        args![
            DOCUMENT_FORMAT.cast_signed(),
            keys.tenant_ids,
            keys.scopes,
            keys.scope_ids,
            keys.tool_names,
            self.writes.iter().map(expected).collect::<Vec<_>>(),
            &self.bodies,
            documents().map(|it| it.health.as_ref().map(|it| it.status.as_str())).collect::<Vec<_>>(),
            documents().map(|it| it.next_cooldown_at(it.updated_at).map(micros)).collect::<Vec<_>>(),
            documents().map(|it| micros(it.updated_at)).collect::<Vec<_>>(),
        ]
    }

    /// The revision of the rows that were written, or a key that was not as expected.
    fn check(&self, rows: &[PgRow]) -> Result<Result<Option<Revision>, DocumentKey>, sqlx::Error> {
        let mut written = HashSet::with_capacity(rows.len());
        let mut revision = None;
        for row in rows {
            let replaced: i64 = row.try_get(5)?;
            if replaced >= 0 {
                written.insert(key(row, 0)?);
                revision = Some(Revision { epoch: row.try_get(6)?, position: unsigned(row.try_get(4)?) });
            }
        }
        let missing = self.writes.iter().map(|it| &it.document.key).find(|it| !written.contains(*it));
        Ok(match missing {
            Some(key) => Err(key.clone()),
            None => Ok(revision),
        })
    }
}
