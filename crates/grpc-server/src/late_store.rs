//! A store that may not be there yet: the server starts without it and keeps trying (DESIGN §10).
//!
//! Until the inner store is open every call fails as unavailable, with the reason of the last try; a store that is too
//! new says so. Once open it is passed through and never replaced.

use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use health_model::{ContainerKey, DocumentKey, Instant};
use ports::{
    Batch, Changes, Claim, Committed, Counter, DeleteSelector, DocumentFilter, DocumentPage, FailureEntry,
    FailurePage, FailurePlace, HitDelta, Job, JobFilter, JobQueue, LoadedContainer, Outage, Revision,
    RuleLayerKey, RuleLayerRecord, Store, StoreError, StoreInfo, Versioned,
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The first pause between two tries to open the store, doubled up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// See the module.
pub(crate) struct LateStore {
    inner: OnceLock<Arc<dyn Store>>,
    why_not: Mutex<WhyNot>,
}

#[derive(Debug, Clone)]
enum WhyNot {
    Unavailable(String),
    TooNew { min_reader: u32, supported: u32 },
}

impl LateStore {
    pub(crate) fn new() -> Self {
        let why_not = WhyNot::Unavailable("it is being opened".to_owned());
        Self { inner: OnceLock::new(), why_not: Mutex::new(why_not) }
    }

    /// Takes the outcome of one try to open the store.
    pub(crate) fn settle(&self, opened: Result<Arc<dyn Store>, StoreError>) -> Result<(), StoreError> {
        let error = match opened {
            Ok(store) => {
                let _ = self.inner.set(store);
                return Ok(());
            }
            Err(error) => error,
        };
        let why_not = match &error {
            StoreError::TooNew { min_reader, supported } => {
                WhyNot::TooNew { min_reader: *min_reader, supported: *supported }
            }
            StoreError::Unavailable { reason, .. } => WhyNot::Unavailable(reason.clone()),
            other => WhyNot::Unavailable(other.to_string()),
        };
        *self.why_not.lock().unwrap_or_else(PoisonError::into_inner) = why_not;
        Err(error)
    }

    /// Tries until the store is open or `stop`. Each new reason is logged once.
    pub(crate) async fn open_until<F, Fut>(self: Arc<Self>, stop: CancellationToken, open: F)
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<Arc<dyn Store>, StoreError>>,
    {
        let mut pause = FIRST_PAUSE;
        let mut told = String::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            match self.settle(open().await) {
                Ok(()) => return tracing::info!("the store is open"),
                Err(error) => {
                    if told != error.to_string() {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "the store cannot be opened; trying again until it can"
                        );
                        told = error.to_string();
                    }
                }
            }
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    fn get(&self) -> Result<&dyn Store, StoreError> {
        match self.inner.get() {
            Some(store) => Ok(store.as_ref()),
            None => Err(match self.why_not.lock().unwrap_or_else(PoisonError::into_inner).clone() {
                WhyNot::Unavailable(reason) => StoreError::Unavailable { reason, source: None },
                WhyNot::TooNew { min_reader, supported } => StoreError::TooNew { min_reader, supported },
            }),
        }
    }
}

#[async_trait]
impl JobQueue for LateStore {
    async fn claim_job(&self, now: Instant, lease_until: Instant) -> Result<Option<Claim>, StoreError> {
        self.get()?.claim_job(now, lease_until).await
    }

    async fn extend_job(&self, id: Uuid, token: u64, lease_until: Instant) -> Result<bool, StoreError> {
        self.get()?.extend_job(id, token, lease_until).await
    }

    async fn complete_job(
        &self,
        id: Uuid,
        token: u64,
        stale_reason: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        self.get()?.complete_job(id, token, stale_reason, now).await
    }

    async fn list_jobs(
        &self,
        filter: &JobFilter,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        self.get()?.list_jobs(filter, after, limit).await
    }

    async fn count_queued(&self) -> Result<u64, StoreError> {
        self.get()?.count_queued().await
    }
}

#[async_trait]
impl Store for LateStore {
    async fn info(&self) -> Result<StoreInfo, StoreError> {
        self.get()?.info().await
    }

    async fn load_containers(&self, keys: &[ContainerKey]) -> Result<Vec<LoadedContainer>, StoreError> {
        self.get()?.load_containers(keys).await
    }

    async fn load_document(&self, key: &DocumentKey) -> Result<Option<Versioned>, StoreError> {
        self.get()?.load_document(key).await
    }

    async fn commit(&self, batch: &Batch) -> Result<Committed, StoreError> {
        self.get()?.commit(batch).await
    }

    async fn list_documents(
        &self,
        filter: &DocumentFilter,
        after: Option<&DocumentKey>,
        limit: usize,
    ) -> Result<DocumentPage, StoreError> {
        self.get()?.list_documents(filter, after, limit).await
    }

    async fn delete(&self, selector: &DeleteSelector, now: Instant) -> Result<(u64, Revision), StoreError> {
        self.get()?.delete(selector, now).await
    }

    async fn list_outages(&self, key: &DocumentKey, limit: usize) -> Result<Vec<Outage>, StoreError> {
        self.get()?.list_outages(key, limit).await
    }

    async fn add_hits(&self, deltas: &[HitDelta]) -> Result<(), StoreError> {
        self.get()?.add_hits(deltas).await
    }

    async fn load_counters(&self, key: &DocumentKey) -> Result<Vec<Counter>, StoreError> {
        self.get()?.load_counters(key).await
    }

    async fn head(&self) -> Result<Revision, StoreError> {
        self.get()?.head().await
    }

    async fn changes(&self, after: &Revision, limit: usize) -> Result<Changes, StoreError> {
        self.get()?.changes(after, limit).await
    }

    async fn wait_for_changes(&self, after: &Revision, timeout: Duration) -> Result<(), StoreError> {
        self.get()?.wait_for_changes(after, timeout).await
    }

    async fn list_rule_layers(&self) -> Result<(u64, Vec<RuleLayerRecord>), StoreError> {
        self.get()?.list_rule_layers().await
    }

    async fn rules_revision(&self) -> Result<u64, StoreError> {
        self.get()?.rules_revision().await
    }

    async fn put_rule_layer(
        &self,
        layer: &RuleLayerRecord,
        expected: Option<u64>,
    ) -> Result<u64, StoreError> {
        self.get()?.put_rule_layer(layer, expected).await
    }

    async fn delete_rule_layer(&self, key: &RuleLayerKey, expected: Option<u64>) -> Result<bool, StoreError> {
        self.get()?.delete_rule_layer(key, expected).await
    }

    async fn append_failures(&self, entries: &[FailureEntry], keep: usize) -> Result<(), StoreError> {
        self.get()?.append_failures(entries, keep).await
    }

    async fn list_failures(
        &self,
        tenant_id: &str,
        project_id: Option<&str>,
        before: Option<FailurePlace>,
        limit: usize,
    ) -> Result<FailurePage, StoreError> {
        self.get()?.list_failures(tenant_id, project_id, before, limit).await
    }

    async fn sweep(
        &self,
        sessions_before: Option<Instant>,
        tombstones_before: Instant,
        now: Instant,
    ) -> Result<u64, StoreError> {
        self.get()?.sweep(sessions_before, tombstones_before, now).await
    }

    async fn close(&self) {
        if let Some(store) = self.inner.get() {
            store.close().await;
        }
    }
}
