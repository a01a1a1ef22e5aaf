//! The reference store: everything in memory, behind one lock.
//!
//! It is the model that the other stores are compared with, and the store of tests and simulations. The same calls in
//! the same order give the same answers: it reads no clock and draws nothing at random, and whatever it lists comes out
//! of ordered maps. It knows nothing of health rules, and keeps what it is given.
//!
//! - [`MemoryStore`]: a handle. [`MemoryStore::handle`] opens a further one on the same data, as a second server would.
//! - `state`: documents, change feed, outages, counters, rule layers.
//! - `queue`: jobs. `journal`: failures.
//!
//! The data lives until the last handle is gone; closing a handle closes that handle alone.

mod journal;
mod queue;
mod state;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use health_model::{ContainerKey, DocumentKey, Instant};
use ports::{
    Batch, Changes, Claim, Committed, Counter, DeleteSelector, DocumentFilter, DocumentPage, FailureEntry,
    FailurePage, FailurePlace, HitDelta, Job, JobFilter, JobQueue, LoadedContainer, Outage, Revision,
    RuleLayerKey, RuleLayerRecord, Store, StoreError, StoreInfo, Versioned,
};
use tokio::sync::watch;
use uuid::Uuid;

use crate::state::State;

/// The version of the schema that [`StoreInfo`] names: there is one.
const SCHEMA_VERSION: u32 = 1;

/// A handle on a store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    closed: watch::Sender<bool>,
}

/// What the handles of one store share.
#[derive(Debug)]
struct Shared {
    epoch: String,
    state: Mutex<State>,
    /// The position of the last commit, for those who wait for it.
    head: watch::Sender<u64>,
}

impl MemoryStore {
    /// An empty store. `epoch` is its identity: give each store another, or a revision of one is taken for one of the
    /// other.
    #[must_use]
    pub fn new(epoch: impl Into<String>) -> Self {
        let shared = Shared { epoch: epoch.into(), state: Mutex::default(), head: watch::Sender::new(0) };
        Self { shared: Arc::new(shared), closed: watch::Sender::new(false) }
    }

    /// A further handle on the same data, open even if this one is closed.
    #[must_use]
    pub fn handle(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), closed: watch::Sender::new(false) }
    }

    /// Makes a document one that cannot be read, as a damaged row of another store, or one that a newer program wrote; `false`
    /// if there is none. A write of its version replaces it, a delete removes it.
    pub fn damage(&self, key: &DocumentKey) -> Result<bool, StoreError> {
        self.with(|state| state.damage(key))
    }

    /// Makes an entry of a journal one that cannot be read; `false` if there is none that can.
    pub fn damage_failure(&self, id: Uuid) -> Result<bool, StoreError> {
        self.with(|state| state.journal.damage(id))
    }

    /// Runs `f` under the lock and tells those who wait if it moved the head.
    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> Result<T, StoreError> {
        if *self.closed.borrow() {
            return Err(closed());
        }
        // A panic under the lock is a bug of this crate; the state is still the best there is.
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = f(&mut state);
        let head = state.position();
        self.shared.head.send_if_modified(|it| std::mem::replace(it, head) != head);
        Ok(result)
    }

    fn revision(&self, position: u64) -> Revision {
        Revision { epoch: self.shared.epoch.clone(), position }
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable { reason: "this handle of the store was closed".to_owned(), source: None }
}

#[async_trait]
impl Store for MemoryStore {
    async fn info(&self) -> Result<StoreInfo, StoreError> {
        self.with(|_| StoreInfo {
            kind: "memory",
            epoch: self.shared.epoch.clone(),
            schema_version: SCHEMA_VERSION,
            min_reader: SCHEMA_VERSION,
        })
    }

    async fn load_containers(&self, keys: &[ContainerKey]) -> Result<Vec<LoadedContainer>, StoreError> {
        self.with(|state| {
            keys.iter()
                .map(|key| LoadedContainer { key: key.clone(), documents: state.container(key) })
                .collect()
        })
    }

    async fn load_document(&self, key: &DocumentKey) -> Result<Option<Versioned>, StoreError> {
        self.with(|state| state.document(key))?
    }

    async fn commit(&self, batch: &Batch) -> Result<Committed, StoreError> {
        self.with(|state| {
            let (versions, jobs) = state.commit(batch)?;
            Ok(Committed { revision: self.revision(state.position()), versions, jobs })
        })?
    }

    async fn list_documents(
        &self,
        filter: &DocumentFilter,
        after: Option<&DocumentKey>,
        limit: usize,
    ) -> Result<DocumentPage, StoreError> {
        self.with(|state| state.list_documents(filter, after, page(limit)))
    }

    async fn delete(&self, selector: &DeleteSelector, now: Instant) -> Result<(u64, Revision), StoreError> {
        self.with(|state| (state.delete(selector, now), self.revision(state.position())))
    }

    async fn list_outages(&self, key: &DocumentKey, limit: usize) -> Result<Vec<Outage>, StoreError> {
        self.with(|state| state.list_outages(key, limit))
    }

    async fn add_hits(&self, deltas: &[HitDelta]) -> Result<(), StoreError> {
        self.with(|state| state.add_hits(deltas))
    }

    async fn load_counters(&self, key: &DocumentKey) -> Result<Vec<Counter>, StoreError> {
        self.with(|state| state.load_counters(key))
    }

    async fn head(&self) -> Result<Revision, StoreError> {
        self.with(|state| self.revision(state.position()))
    }

    async fn changes(&self, after: &Revision, limit: usize) -> Result<Changes, StoreError> {
        self.with(|state| {
            if after.epoch != self.shared.epoch || !state.reaches_back_to(after.position) {
                return Err(StoreError::RevisionTooOld { revision: after.clone() });
            }
            let (changes, next, more) = state.changes(after.position, limit.max(1));
            Ok(Changes { changes, next: self.revision(next), more })
        })?
    }

    async fn wait_for_changes(&self, after: &Revision, timeout: Duration) -> Result<(), StoreError> {
        let mut head = self.shared.head.subscribe();
        let mut is_closed = self.closed.subscribe();
        if *is_closed.borrow() {
            return Err(closed());
        }
        let news = head.wait_for(|it| *it > after.position || after.epoch != self.shared.epoch);
        tokio::select! {
            _ = news => Ok(()),
            _ = is_closed.wait_for(|it| *it) => Err(closed()),
            () = tokio::time::sleep(timeout) => Ok(()),
        }
    }

    async fn list_rule_layers(&self) -> Result<(u64, Vec<RuleLayerRecord>), StoreError> {
        self.with(|state| state.list_rule_layers())
    }

    async fn rules_revision(&self) -> Result<u64, StoreError> {
        self.with(|state| state.rules_revision())
    }

    async fn put_rule_layer(
        &self,
        layer: &RuleLayerRecord,
        expected: Option<u64>,
    ) -> Result<u64, StoreError> {
        self.with(|state| state.put_rule_layer(layer, expected))?
    }

    async fn delete_rule_layer(&self, key: &RuleLayerKey, expected: Option<u64>) -> Result<bool, StoreError> {
        self.with(|state| state.delete_rule_layer(key, expected))?
    }

    async fn append_failures(&self, entries: &[FailureEntry], keep: usize) -> Result<(), StoreError> {
        self.with(|state| state.journal.append(entries, keep))
    }

    async fn list_failures(
        &self,
        tenant_id: &str,
        project_id: Option<&str>,
        before: Option<FailurePlace>,
        limit: usize,
    ) -> Result<FailurePage, StoreError> {
        self.with(|state| state.journal.list(tenant_id, project_id, before, page(limit)))
    }

    async fn sweep(
        &self,
        sessions_before: Option<Instant>,
        tombstones_before: Instant,
        now: Instant,
    ) -> Result<u64, StoreError> {
        self.with(|state| state.sweep(sessions_before, tombstones_before, now))
    }

    async fn close(&self) {
        self.closed.send_replace(true);
    }
}

#[async_trait]
impl JobQueue for MemoryStore {
    async fn claim_job(&self, now: Instant, lease_until: Instant) -> Result<Option<Claim>, StoreError> {
        self.with(|state| state.queue.claim(micros(now), micros(lease_until)))
    }

    async fn extend_job(&self, id: Uuid, token: u64, lease_until: Instant) -> Result<bool, StoreError> {
        self.with(|state| state.queue.extend(id, token, micros(lease_until)))
    }

    async fn complete_job(
        &self,
        id: Uuid,
        token: u64,
        stale_reason: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        self.with(|state| state.queue.complete(id, token, stale_reason, micros(now)))
    }

    async fn list_jobs(
        &self,
        filter: &JobFilter,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        self.with(|state| state.queue.list(filter, after, page(limit)))
    }

    async fn count_queued(&self) -> Result<u64, StoreError> {
        self.with(|state| state.queue.count_queued())
    }
}

/// The size of a page: 1 to 1,000.
fn page(limit: usize) -> usize {
    limit.clamp(1, 1_000)
}

/// Outside of documents the stores keep instants to the microsecond; so does the model of them.
fn micros(at: Instant) -> Instant {
    use chrono::SubsecRound;
    at.trunc_subsecs(6)
}
