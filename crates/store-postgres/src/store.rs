//! The port, put together. Every call is a span `db.<thing>.<verb>` at debug level.

use std::time::Duration;

use async_trait::async_trait;
use health_model::{ContainerKey, DocumentKey, Instant};
use ports::{
    Batch, Changes, Claim, Committed, Counter, DeleteSelector, DocumentFilter, DocumentPage, FailureEntry,
    FailurePage, FailurePlace, HitDelta, Job, JobFilter, JobQueue, LoadedContainer, Outage, Revision,
    RuleLayerKey, RuleLayerRecord, Store, StoreError, StoreInfo, Versioned,
};
use sqlx::ConnectOptions;
use sqlx::Row;
use sqlx::postgres::PgConnectOptions;
use tracing::instrument;
use uuid::Uuid;

use crate::connection::Database;
use crate::error::Target;
use crate::notify::Wakeups;
use crate::options::Options;
use crate::statement::{args, statements};
use crate::{commit, counter, delete, document, feed, job, journal, migrate, outage, rule_layer, sweep};

statements! {
    INFO = "select s.epoch::text, m.version, m.min_reader
        from store s
        cross join (select max(version) as version, max(min_reader) as min_reader from schema_migration) m";
}

/// The store on PostgreSQL.
///
/// Connections are made when they are needed and replaced when they are lost, so a handle outlives restarts of the
/// database. While it is away calls fail as [`StoreError::Unavailable`] within milliseconds, the first one within the
/// limits of [`Options`].
pub struct PostgresStore {
    database: Database,
    wakeups: Wakeups,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("database", self.database.target()).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Connects to `postgres://USER:PASSWORD@HOST:PORT/DATABASE` and brings the schema up to date, beside other servers
    /// that may be doing the same. What the URL leaves out comes from the environment variables and the password file of
    /// PostgreSQL's own programs. A pooler in between must keep one session a connection.
    ///
    /// Must be called in a tokio runtime. Errors: [`StoreError::Unavailable`] with a reason that names host, database and
    /// remedy, [`StoreError::TooNew`], [`StoreError::Other`] for a URL or an option that is none, and for a database of
    /// an encoding other than UTF8 or older than version 14. No error holds the password.
    pub async fn connect(url: &str, options: Options) -> Result<Self, StoreError> {
        options.validate()?;
        let login = login(url, &options)?;
        let target = Target::new(&login, &options.schema);
        let setup = migrate::prepare(&login, &target, &options).await?;
        let wakeups = Wakeups::start(&login, &options);
        Ok(Self { database: Database::new(login, target, options, setup), wakeups })
    }
}

fn login(url: &str, options: &Options) -> Result<PgConnectOptions, StoreError> {
    // The URL itself may hold a password and is not repeated.
    let refuse = |source: Option<Box<dyn std::error::Error + Send + Sync>>| StoreError::Other {
        reason: "the URL of the database cannot be read; write `postgres://USER@HOST:PORT/DATABASE`"
            .to_owned(),
        source,
    };
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(refuse(None));
    }
    let login: PgConnectOptions = url.parse().map_err(|error| refuse(Some(Box::new(error))))?;
    // Statements are traced by the spans of this module.
    Ok(login.application_name(&options.application_name).disable_statement_logging())
}

#[async_trait]
impl Store for PostgresStore {
    #[instrument(name = "db.store.info", level = "debug", skip_all, err(level = "debug"))]
    async fn info(&self) -> Result<StoreInfo, StoreError> {
        const DOING: &str = "read the schema's version";
        let rows = self.database.read(DOING, INFO, args![]).await?;
        let read = || {
            let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
            Ok(StoreInfo {
                kind: "postgres",
                epoch: row.try_get(0)?,
                schema_version: row.try_get::<i32, _>(1)?.cast_unsigned(),
                min_reader: row.try_get::<i32, _>(2)?.cast_unsigned(),
            })
        };
        read().map_err(|error| self.database.target().error(DOING, error))
    }

    #[instrument(name = "db.container.load", level = "debug", skip_all, fields(n = keys.len()), err(level = "debug"))]
    async fn load_containers(&self, keys: &[ContainerKey]) -> Result<Vec<LoadedContainer>, StoreError> {
        document::load_containers(&self.database, keys).await
    }

    #[instrument(name = "db.document.load", level = "debug", skip_all, err(level = "debug"))]
    async fn load_document(&self, key: &DocumentKey) -> Result<Option<Versioned>, StoreError> {
        document::load(&self.database, key).await
    }

    #[instrument(name = "db.batch.commit", level = "debug", skip_all,
        fields(documents = batch.documents.len(), jobs = batch.jobs.len(), outages = batch.outages.len()),
        err(level = "debug"))]
    async fn commit(&self, batch: &Batch) -> Result<Committed, StoreError> {
        let committed = commit::commit(&self.database, batch).await?;
        if !batch.documents.is_empty() {
            self.wakeups.send();
        }
        Ok(committed)
    }

    #[instrument(name = "db.document.list", level = "debug", skip_all, err(level = "debug"))]
    async fn list_documents(
        &self,
        filter: &DocumentFilter,
        after: Option<&DocumentKey>,
        limit: usize,
    ) -> Result<DocumentPage, StoreError> {
        document::list(&self.database, filter, after, limit).await
    }

    #[instrument(name = "db.document.delete", level = "debug", skip_all, err(level = "debug"))]
    async fn delete(&self, selector: &DeleteSelector, now: Instant) -> Result<(u64, Revision), StoreError> {
        let deleted = delete::delete(&self.database, selector, now).await?;
        self.wakeups.send();
        Ok(deleted)
    }

    #[instrument(name = "db.outage.list", level = "debug", skip_all, err(level = "debug"))]
    async fn list_outages(&self, key: &DocumentKey, limit: usize) -> Result<Vec<Outage>, StoreError> {
        outage::list(&self.database, key, limit).await
    }

    #[instrument(name = "db.counter.add", level = "debug", skip_all, fields(n = deltas.len()), err(level = "debug"))]
    async fn add_hits(&self, deltas: &[HitDelta]) -> Result<(), StoreError> {
        counter::add(&self.database, deltas).await
    }

    #[instrument(name = "db.counter.load", level = "debug", skip_all, err(level = "debug"))]
    async fn load_counters(&self, key: &DocumentKey) -> Result<Vec<Counter>, StoreError> {
        counter::load(&self.database, key).await
    }

    #[instrument(name = "db.feed.head", level = "debug", skip_all, err(level = "debug"))]
    async fn head(&self) -> Result<Revision, StoreError> {
        feed::head(&self.database).await
    }

    #[instrument(name = "db.feed.read", level = "debug", skip_all, fields(%after), err(level = "debug"))]
    async fn changes(&self, after: &Revision, limit: usize) -> Result<Changes, StoreError> {
        feed::changes(&self.database, after, limit.max(1)).await
    }

    #[instrument(name = "db.feed.wait", level = "debug", skip_all, fields(%after), err(level = "debug"))]
    async fn wait_for_changes(&self, after: &Revision, timeout: Duration) -> Result<(), StoreError> {
        // Subscribed before the head is read: what comes in between wakes.
        let mut news = self.wakeups.subscribe();
        let wait = async {
            let head = self.head().await?;
            if head.epoch == after.epoch && head.position <= after.position {
                // The sender lives as long as this store.
                let _ = news.changed().await;
            }
            if self.database.is_closed() { Err(self.database.target().closed()) } else { Ok(()) }
        };
        tokio::time::timeout(timeout, wait).await.unwrap_or(Ok(()))
    }

    #[instrument(name = "db.rule_layer.list", level = "debug", skip_all, err(level = "debug"))]
    async fn list_rule_layers(&self) -> Result<(u64, Vec<RuleLayerRecord>), StoreError> {
        rule_layer::list(&self.database).await
    }

    #[instrument(name = "db.rule_layer.revision", level = "debug", skip_all, err(level = "debug"))]
    async fn rules_revision(&self) -> Result<u64, StoreError> {
        rule_layer::revision(&self.database).await
    }

    #[instrument(name = "db.rule_layer.put", level = "debug", skip_all, err(level = "debug"))]
    async fn put_rule_layer(
        &self,
        layer: &RuleLayerRecord,
        expected: Option<u64>,
    ) -> Result<u64, StoreError> {
        rule_layer::put(&self.database, layer, expected).await
    }

    #[instrument(name = "db.rule_layer.delete", level = "debug", skip_all, err(level = "debug"))]
    async fn delete_rule_layer(&self, key: &RuleLayerKey, expected: Option<u64>) -> Result<bool, StoreError> {
        rule_layer::delete(&self.database, key, expected).await
    }

    #[instrument(name = "db.failure.append", level = "debug", skip_all, fields(n = entries.len()), err(level = "debug"))]
    async fn append_failures(&self, entries: &[FailureEntry], keep: usize) -> Result<(), StoreError> {
        journal::append(&self.database, entries, keep).await
    }

    #[instrument(name = "db.failure.list", level = "debug", skip_all, err(level = "debug"))]
    async fn list_failures(
        &self,
        tenant_id: &str,
        project_id: Option<&str>,
        before: Option<FailurePlace>,
        limit: usize,
    ) -> Result<FailurePage, StoreError> {
        journal::list(&self.database, tenant_id, project_id, before, limit.clamp(1, 1_000)).await
    }

    #[instrument(name = "db.store.sweep", level = "debug", skip_all, err(level = "debug"))]
    async fn sweep(
        &self,
        sessions_before: Option<Instant>,
        tombstones_before: Instant,
        now: Instant,
    ) -> Result<u64, StoreError> {
        let n_gone = sweep::sweep(&self.database, sessions_before, tombstones_before, now).await?;
        if n_gone > 0 {
            self.wakeups.send();
        }
        Ok(n_gone)
    }

    #[instrument(name = "db.store.close", level = "debug", skip_all)]
    async fn close(&self) {
        // Closed to new calls first, so that a reader that wakes finds it closed.
        let closing = self.database.close();
        self.wakeups.stop();
        closing.await;
    }
}

#[async_trait]
impl JobQueue for PostgresStore {
    #[instrument(name = "db.job.claim", level = "debug", skip_all, err(level = "debug"))]
    async fn claim_job(&self, now: Instant, lease_until: Instant) -> Result<Option<Claim>, StoreError> {
        job::claim(&self.database, now, lease_until).await
    }

    #[instrument(name = "db.job.extend", level = "debug", skip_all, fields(%id), err(level = "debug"))]
    async fn extend_job(&self, id: Uuid, token: u64, lease_until: Instant) -> Result<bool, StoreError> {
        job::extend(&self.database, id, token, lease_until).await
    }

    #[instrument(name = "db.job.complete", level = "debug", skip_all, fields(%id), err(level = "debug"))]
    async fn complete_job(
        &self,
        id: Uuid,
        token: u64,
        stale_reason: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        job::complete(&self.database, id, token, stale_reason, now).await
    }

    #[instrument(name = "db.job.list", level = "debug", skip_all, err(level = "debug"))]
    async fn list_jobs(
        &self,
        filter: &JobFilter,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        job::list(&self.database, filter, after, limit).await
    }

    #[instrument(name = "db.job.count_queued", level = "debug", skip_all, err(level = "debug"))]
    async fn count_queued(&self) -> Result<u64, StoreError> {
        job::count_queued(&self.database).await
    }
}
