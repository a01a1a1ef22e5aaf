//! The embedded store: one SQLite file, made at the first start, safe with several processes on it.
//!
//! It compares versions and keeps what it is given; the rules of health are in `health-model`. No type of the driver leaves it.
//!
//! - Write-ahead log with `synchronous = FULL`: a commit that returned survives a kill -9 and a loss of power (DESIGN §2.5).
//! - One connection writes, and takes the file's lock before it compares anything; four read, each in a snapshot. Positions,
//!   versions and the number of the rules come from the file inside the write: no counter of a process can contradict another's.
//! - Commits of this process wake who waits at once; those of other processes within 100 ms, by `PRAGMA data_version` on a
//!   connection of its own, while somebody waits.
//! - Every statement is a constant of `sql`, and runs in a span `db.<thing>.<verb>` at level debug.
//! - A row that cannot be read is skipped and logged where many are read, and is [`StoreError::Corrupt`] where it is asked for
//!   alone or is to be written over. Deleting it works.
//!
//! [`StoreError::Corrupt`]: ports::StoreError::Corrupt
//!
//! In reading order: `open`, `schema`, `commit`, `documents`, `feed`, `counters`, `outages`, `jobs`, `rules`, `journal`, `deletes`; `rows`
//! and `failure` are what they share.

mod commit;
mod counters;
mod deletes;
mod documents;
mod failure;
mod feed;
mod jobs;
mod journal;
mod open;
mod outages;
mod rows;
mod rules;
mod schema;
mod sql;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use health_model::{ContainerKey, DocumentKey, Instant};
use ports::{
    Batch, Changes, Claim, Committed, Counter, DeleteSelector, DocumentFilter, DocumentPage, FailureEntry,
    FailurePage, FailurePlace, HitDelta, Job, JobFilter, JobQueue, LoadedContainer, Outage, Revision,
    RuleLayerKey, RuleLayerRecord, Store, StoreError, StoreInfo, Versioned,
};
use sqlx::SqlitePool;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tracing::instrument;
use uuid::Uuid;

use crate::failure::{Failure, Place};

/// How to open a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteOptions {
    /// How long to wait for another process that writes, before the store counts as unavailable. Five seconds by default.
    pub busy_timeout: Duration,
    /// Connections that read, at least 1. Four by default.
    pub readers: u32,
    /// The greatest size of the file in bytes; `None` (the default) = the room that the disk has. A write beyond it fails as one
    /// on a full disk does. The log beside the file comes on top.
    pub max_bytes: Option<u64>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(5), readers: 4, max_bytes: None }
    }
}

/// A store in one file.
#[derive(Debug)]
pub struct SqliteStore {
    place: Place,
    writer: SqlitePool,
    readers: SqlitePool,
    /// The newest position that this process knows of.
    head: Arc<watch::Sender<u64>>,
    /// Somebody listens to `head`.
    listened: Arc<Notify>,
    closed: watch::Sender<bool>,
    watcher: Mutex<Option<JoinHandle<()>>>,
}

impl SqliteStore {
    /// Opens the file at `path`, or makes it, and brings its schema up to date. The directory must exist. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// Each names the path and what to do. [`StoreError::Unavailable`]: the path is a directory, its directory is missing, file or
    /// directory cannot be written, the disk is full, another process keeps the file locked. [`StoreError::TooNew`]: a newer program
    /// wrote it. [`StoreError::Other`]: not a database, a damaged one, or one of another program; nothing in it was changed.
    pub async fn open(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let open::Connections { place, writer, readers, reading } = open::open(path, &options).await?;
        let head = Arc::new(watch::Sender::new(0));
        let listened = Arc::new(Notify::new());
        let closed = watch::Sender::new(false);
        let watcher = tokio::spawn(feed::watch_file(
            reading,
            Arc::clone(&head),
            Arc::clone(&listened),
            closed.subscribe(),
        ));
        Ok(Self { place, writer, readers, head, listened, closed, watcher: Mutex::new(Some(watcher)) })
    }

    /// Names the file in what went wrong.
    fn explain<T>(&self, doing: &str, result: Result<T, Failure>) -> Result<T, StoreError> {
        result.map_err(|failure| self.place.explain(doing, failure))
    }

    /// Wakes who waits for this position.
    fn announce(&self, revision: &Revision) {
        let position = revision.position;
        self.head.send_if_modified(|it| std::mem::replace(it, position.max(*it)) < position);
    }

    #[instrument(name = "db.store.info", level = "debug", skip_all)]
    async fn load_info(&self) -> Result<StoreInfo, Failure> {
        let mut connection = self.readers.acquire().await?;
        let (schema_version, min_reader) = schema::load(&mut connection).await?;
        let epoch = feed::place(&mut connection).await?.0.epoch;
        Ok(StoreInfo { kind: "sqlite", epoch, schema_version, min_reader })
    }
}

impl Drop for SqliteStore {
    /// A store that was not closed: the task that watches the file ends by itself.
    fn drop(&mut self) {
        self.closed.send_replace(true);
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn info(&self) -> Result<StoreInfo, StoreError> {
        self.explain("reading its identity", self.load_info().await)
    }

    async fn load_containers(&self, keys: &[ContainerKey]) -> Result<Vec<LoadedContainer>, StoreError> {
        self.explain("loading containers", documents::load_containers(&self.readers, keys).await)
    }

    async fn load_document(&self, key: &DocumentKey) -> Result<Option<Versioned>, StoreError> {
        self.explain("loading a document", documents::load_document(&self.readers, key).await)
    }

    async fn commit(&self, batch: &Batch) -> Result<Committed, StoreError> {
        let result = commit::commit(&self.readers, &self.writer, batch).await;
        let committed = self.explain("committing a batch", result)?;
        self.announce(&committed.revision);
        Ok(committed)
    }

    async fn list_documents(
        &self,
        filter: &DocumentFilter,
        after: Option<&DocumentKey>,
        limit: usize,
    ) -> Result<DocumentPage, StoreError> {
        let result = documents::list_documents(&self.readers, filter, after, page(limit)).await;
        self.explain("listing documents", result)
    }

    async fn delete(&self, selector: &DeleteSelector, now: Instant) -> Result<(u64, Revision), StoreError> {
        let result = deletes::delete(&self.writer, selector, now).await;
        let (n, revision) = self.explain("deleting documents", result)?;
        self.announce(&revision);
        Ok((n, revision))
    }

    async fn list_outages(&self, key: &DocumentKey, limit: usize) -> Result<Vec<Outage>, StoreError> {
        self.explain("listing outages", outages::list_outages(&self.readers, key, limit).await)
    }

    async fn add_hits(&self, deltas: &[HitDelta]) -> Result<(), StoreError> {
        self.explain("adding hits", counters::add_hits(&self.writer, deltas).await)
    }

    async fn load_counters(&self, key: &DocumentKey) -> Result<Vec<Counter>, StoreError> {
        self.explain("loading counters", counters::load_counters(&self.readers, key).await)
    }

    async fn head(&self) -> Result<Revision, StoreError> {
        self.explain("reading the head of the feed", feed::head(&self.readers).await)
    }

    async fn changes(&self, after: &Revision, limit: usize) -> Result<Changes, StoreError> {
        self.explain("reading the feed", feed::changes(&self.readers, after, limit).await)
    }

    async fn wait_for_changes(&self, after: &Revision, timeout: Duration) -> Result<(), StoreError> {
        let mut head = self.head.subscribe();
        self.listened.notify_one();
        // What another process committed before anybody listened.
        let current = self.head().await?;
        if current.epoch != after.epoch || current.position > after.position {
            return Ok(());
        }
        let mut closed = self.closed.subscribe();
        tokio::select! {
            _ = head.wait_for(|it| *it > after.position) => Ok(()),
            _ = closed.wait_for(|it| *it) => Err(self.place.closed()),
            () = tokio::time::sleep(timeout) => Ok(()),
        }
    }

    async fn list_rule_layers(&self) -> Result<(u64, Vec<RuleLayerRecord>), StoreError> {
        self.explain("listing rule layers", rules::list_rule_layers(&self.readers).await)
    }

    async fn rules_revision(&self) -> Result<u64, StoreError> {
        self.explain("reading the number of the rules", rules::rules_revision(&self.readers).await)
    }

    async fn put_rule_layer(
        &self,
        layer: &RuleLayerRecord,
        expected: Option<u64>,
    ) -> Result<u64, StoreError> {
        self.explain("putting a rule layer", rules::put_rule_layer(&self.writer, layer, expected).await)
    }

    async fn delete_rule_layer(&self, key: &RuleLayerKey, expected: Option<u64>) -> Result<bool, StoreError> {
        self.explain("deleting a rule layer", rules::delete_rule_layer(&self.writer, key, expected).await)
    }

    async fn append_failures(&self, entries: &[FailureEntry], keep: usize) -> Result<(), StoreError> {
        self.explain("appending failures", journal::append(&self.writer, entries, keep).await)
    }

    async fn list_failures(
        &self,
        tenant_id: &str,
        project_id: Option<&str>,
        before: Option<FailurePlace>,
        limit: usize,
    ) -> Result<FailurePage, StoreError> {
        let result = journal::list(&self.readers, tenant_id, project_id, before, page(limit)).await;
        self.explain("listing failures", result)
    }

    async fn sweep(
        &self,
        sessions_before: Option<Instant>,
        tombstones_before: Instant,
        now: Instant,
    ) -> Result<u64, StoreError> {
        let mut n = 0;
        if let Some(before) = sessions_before {
            // In steps, so that no writer waits long.
            loop {
                let result = deletes::sweep_sessions(&self.writer, before, now).await;
                let (n_sessions, revision) = self.explain("sweeping sessions", result)?;
                if n_sessions == 0 {
                    break;
                }
                self.announce(&revision);
                n += n_sessions;
            }
        }
        let result = deletes::sweep_remains(&self.readers, &self.writer, tombstones_before, now).await;
        Ok(n + self.explain("sweeping", result)?)
    }

    async fn close(&self) {
        self.closed.send_replace(true);
        let watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(watcher) = watcher {
            let _ = watcher.await;
        }
        self.readers.close().await;
        // Last, so that the last connection takes the log into the file.
        self.writer.close().await;
    }
}

#[async_trait]
impl JobQueue for SqliteStore {
    async fn claim_job(&self, now: Instant, lease_until: Instant) -> Result<Option<Claim>, StoreError> {
        self.explain("claiming a job", jobs::claim_job(&self.writer, now, lease_until).await)
    }

    async fn extend_job(&self, id: Uuid, token: u64, lease_until: Instant) -> Result<bool, StoreError> {
        self.explain("extending a job", jobs::extend_job(&self.writer, id, token, lease_until).await)
    }

    async fn complete_job(
        &self,
        id: Uuid,
        token: u64,
        stale_reason: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        let result = jobs::complete_job(&self.writer, id, token, stale_reason, now).await;
        self.explain("completing a job", result)
    }

    async fn list_jobs(
        &self,
        filter: &JobFilter,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        self.explain("listing jobs", jobs::list_jobs(&self.readers, filter, after, page(limit)).await)
    }

    async fn count_queued(&self) -> Result<u64, StoreError> {
        self.explain("counting jobs", jobs::count_queued(&self.readers).await)
    }
}

/// The size of a page: 1 to 1,000.
fn page(limit: usize) -> usize {
    limit.clamp(1, 1_000)
}
