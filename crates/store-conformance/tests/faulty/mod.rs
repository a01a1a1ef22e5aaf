//! A store with one fault.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use chrono::SubsecRound;
use health_model::vocabulary::Scope;
use health_model::{ContainerKey, DocumentKey, Instant};
use ports::{
    Batch, Changes, Claim, Committed, Counter, DeleteSelector, DocumentFilter, DocumentPage, FailureEntry,
    FailurePage, FailurePlace, HitDelta, Job, JobFilter, JobQueue, JobState, LoadedContainer, Outage,
    Revision, RuleLayerKey, RuleLayerRecord, Store, StoreError, StoreInfo, Trigger, Versioned,
};
use store_memory::MemoryStore;
use uuid::Uuid;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    Overwrites,
    CommitsInParts,
    AnswersBackwards,
    CutsInstants,
    ReadsLate,
    SortsContainers,
    MixesTenants,
    IgnoresStatus,
    SaysThereIsMore,
    SplitsTransactions,
    SkipsChanges,
    HidesDeletes,
    NeverTooOld,
    HitsAreWrites,
    KeepsStrayHits,
    ForgetsCensoring,
    ClaimsTwice,
    IgnoresTokens,
    ForgetsRequests,
    IgnoresRuleVersions,
    NeverSweeps,
    StaysOpen,
    HidesDamage,
    AnswersDamageAsAbsent,
    ConflictsOverDamage,
    NeverMends,
    KeepsJobs,
    DeletesOneByOne,
    DropsNothing,
    KeepsFailures,
    EndsAtDamage,
}

/// store-memory with a fault in front of it.
pub(crate) struct Faulty {
    inner: MemoryStore,
    fault: Fault,
    /// The jobs as they were before the first delete, for a store that keeps them.
    kept: Mutex<BTreeMap<String, Vec<Job>>>,
}

impl Faulty {
    pub(crate) fn new(inner: MemoryStore, fault: Fault) -> Self {
        Self { inner, fault, kept: Mutex::default() }
    }

    /// Keeps what a delete is about to take.
    async fn keep_jobs(&self) -> Result<(), StoreError> {
        for tenant_id in ["", "acme", "bolt", "r1", "r2"].map(str::to_owned) {
            let filter = JobFilter { tenant_id: tenant_id.clone(), ..JobFilter::default() };
            let jobs = self.inner.list_jobs(&filter, None, 1_000).await?;
            self.kept.lock().expect("no panic").entry(tenant_id).or_insert(jobs);
        }
        Ok(())
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// The running job of this id, whatever tenant it is of.
    async fn current_token(&self, id: Uuid) -> Option<u64> {
        let filter = JobFilter { tenant_id: "acme".to_owned(), ..JobFilter::default() };
        let jobs = self.inner.list_jobs(&filter, None, 1_000).await.ok()?;
        jobs.into_iter().find(|it| it.id == id).map(|it| it.lease_token)
    }
}

#[async_trait]
impl Store for Faulty {
    async fn info(&self) -> Result<StoreInfo, StoreError> {
        self.inner.info().await
    }

    async fn load_containers(&self, keys: &[ContainerKey]) -> Result<Vec<LoadedContainer>, StoreError> {
        let mut loaded = self.inner.load_containers(keys).await?;
        if self.has(Fault::SortsContainers) {
            loaded.sort_by(|a, b| a.key.cmp(&b.key));
        }
        if self.has(Fault::ReadsLate) {
            for document in loaded.iter_mut().flat_map(|it| &mut it.documents) {
                document.document.last_diagnosis = None;
            }
        }
        Ok(loaded)
    }

    async fn load_document(&self, key: &DocumentKey) -> Result<Option<Versioned>, StoreError> {
        let mut found = match self.inner.load_document(key).await {
            Err(StoreError::Corrupt { .. }) if self.has(Fault::AnswersDamageAsAbsent) => None,
            found => found?,
        };
        if let Some(found) = found.as_mut().filter(|_| self.has(Fault::CutsInstants)) {
            found.document.updated_at = found.document.updated_at.trunc_subsecs(6);
        }
        Ok(found)
    }

    async fn commit(&self, batch: &Batch) -> Result<Committed, StoreError> {
        let mut batch = batch.clone();
        if self.has(Fault::ForgetsRequests) {
            for job in batch.jobs.iter_mut().filter(|it| it.trigger == Trigger::UserRequest) {
                job.trigger = Trigger::ToolCallError;
            }
        }
        if self.has(Fault::Overwrites) {
            loop {
                for write in &mut batch.documents {
                    write.expected =
                        self.inner.load_document(&write.document.key).await?.map(|it| it.version);
                }
                match self.inner.commit(&batch).await {
                    Err(StoreError::Conflict { .. }) => {}
                    result => return result,
                }
            }
        }
        if self.has(Fault::CommitsInParts) {
            let mut versions = Vec::new();
            for write in batch.documents.drain(..) {
                let part = Batch { documents: vec![write], ..Batch::default() };
                versions.extend(self.inner.commit(&part).await?.versions);
                tokio::task::yield_now().await;
            }
            let rest = self.inner.commit(&batch).await?;
            return Ok(Committed { versions, ..rest });
        }
        if self.has(Fault::DropsNothing) {
            for job in &mut batch.jobs {
                job.trigger = Trigger::UserRequest;
            }
        }
        if self.has(Fault::NeverMends) {
            for write in &batch.documents {
                self.inner.load_document(&write.document.key).await?;
            }
        }
        let mut committed = match self.inner.commit(&batch).await {
            Err(StoreError::Corrupt { .. }) if self.has(Fault::ConflictsOverDamage) => {
                return Err(StoreError::Conflict { key: batch.documents[0].document.key.clone() });
            }
            committed => committed?,
        };
        if self.has(Fault::AnswersBackwards) {
            committed.jobs.reverse();
        }
        Ok(committed)
    }

    async fn list_documents(
        &self,
        filter: &DocumentFilter,
        after: Option<&DocumentKey>,
        limit: usize,
    ) -> Result<DocumentPage, StoreError> {
        let mut filter = filter.clone();
        if self.has(Fault::IgnoresStatus) {
            filter.status = None;
        }
        let mut page = self.inner.list_documents(&filter, after, limit).await?;
        if self.has(Fault::MixesTenants) && filter.tenant_id == "acme" && after.is_none() {
            filter.tenant_id = "bolt".to_owned();
            page.documents.extend(self.inner.list_documents(&filter, None, limit).await?.documents);
        }
        if self.has(Fault::SaysThereIsMore) && page.next.is_none() {
            page.next = page.documents.last().map(|it| it.document.key.clone());
        }
        Ok(page)
    }

    async fn delete(&self, selector: &DeleteSelector, now: Instant) -> Result<(u64, Revision), StoreError> {
        if self.has(Fault::KeepsJobs) {
            self.keep_jobs().await?;
        }
        let (tenant_id, scope, scope_id) = match selector {
            DeleteSelector::User { tenant_id, user_id } => (tenant_id, Scope::User, user_id),
            DeleteSelector::Session { tenant_id, session_id } => (tenant_id, Scope::Session, session_id),
            DeleteSelector::One(_) | DeleteSelector::Tenant { .. } => {
                return self.inner.delete(selector, now).await;
            }
        };
        if !self.has(Fault::DeletesOneByOne) {
            return self.inner.delete(selector, now).await;
        }
        let container = ContainerKey { tenant_id: tenant_id.clone(), scope, scope_id: scope_id.clone() };
        let mut n_deleted = 0;
        for loaded in self.inner.load_containers(&[container]).await? {
            for it in loaded.documents {
                n_deleted += self.inner.delete(&DeleteSelector::One(it.document.key), now).await?.0;
            }
        }
        Ok((n_deleted, self.inner.head().await?))
    }

    async fn list_outages(&self, key: &DocumentKey, limit: usize) -> Result<Vec<Outage>, StoreError> {
        let mut outages = self.inner.list_outages(key, limit).await?;
        for outage in outages.iter_mut().filter(|_| self.has(Fault::ForgetsCensoring)) {
            outage.censored = false;
        }
        Ok(outages)
    }

    async fn add_hits(&self, deltas: &[HitDelta]) -> Result<(), StoreError> {
        for delta in deltas {
            let found = self.inner.load_document(&delta.key).await?;
            let document = match found {
                Some(found) if self.has(Fault::HitsAreWrites) => Some((Some(found.version), found.document)),
                None if self.has(Fault::KeepsStrayHits) => {
                    Some((None, health_model::Document::new(delta.key.clone(), delta.last_triggered_at)))
                }
                _ => None,
            };
            if let Some((expected, document)) = document {
                let write = ports::DocumentWrite { expected, document };
                self.inner.commit(&Batch { documents: vec![write], ..Batch::default() }).await?;
            }
        }
        self.inner.add_hits(deltas).await
    }

    async fn load_counters(&self, key: &DocumentKey) -> Result<Vec<Counter>, StoreError> {
        self.inner.load_counters(key).await
    }

    async fn head(&self) -> Result<Revision, StoreError> {
        self.inner.head().await
    }

    async fn changes(&self, after: &Revision, limit: usize) -> Result<Changes, StoreError> {
        let mut page = match self.inner.changes(after, limit).await {
            Err(StoreError::RevisionTooOld { .. }) if self.has(Fault::NeverTooOld) => {
                let next = Revision { epoch: after.epoch.clone(), ..self.inner.head().await? };
                return Ok(Changes { changes: Vec::new(), next, more: false });
            }
            result => result?,
        };
        if self.has(Fault::SplitsTransactions) {
            page.changes.truncate(limit);
        }
        if self.has(Fault::SkipsChanges) {
            page.changes.retain(|it| it.version % 7 != 3);
        }
        if self.has(Fault::HidesDamage) {
            let mut readable = Vec::new();
            for change in page.changes {
                if self.inner.load_document(&change.key).await.is_ok() {
                    readable.push(change);
                }
            }
            page.changes = readable;
        }
        if self.has(Fault::HidesDeletes) {
            page.changes.retain(|it| it.document.is_some());
        }
        Ok(page)
    }

    async fn wait_for_changes(&self, after: &Revision, timeout: Duration) -> Result<(), StoreError> {
        self.inner.wait_for_changes(after, timeout).await
    }

    async fn list_rule_layers(&self) -> Result<(u64, Vec<RuleLayerRecord>), StoreError> {
        self.inner.list_rule_layers().await
    }

    async fn rules_revision(&self) -> Result<u64, StoreError> {
        self.inner.rules_revision().await
    }

    async fn put_rule_layer(
        &self,
        layer: &RuleLayerRecord,
        expected: Option<u64>,
    ) -> Result<u64, StoreError> {
        self.inner.put_rule_layer(layer, expected.filter(|_| !self.has(Fault::IgnoresRuleVersions))).await
    }

    async fn delete_rule_layer(&self, key: &RuleLayerKey, expected: Option<u64>) -> Result<bool, StoreError> {
        self.inner.delete_rule_layer(key, expected.filter(|_| !self.has(Fault::IgnoresRuleVersions))).await
    }

    async fn append_failures(&self, entries: &[FailureEntry], keep: usize) -> Result<(), StoreError> {
        let keep = if self.has(Fault::KeepsFailures) { usize::MAX } else { keep };
        self.inner.append_failures(entries, keep).await
    }

    async fn list_failures(
        &self,
        tenant_id: &str,
        project_id: Option<&str>,
        before: Option<FailurePlace>,
        limit: usize,
    ) -> Result<FailurePage, StoreError> {
        let mut page = self.inner.list_failures(tenant_id, project_id, before, limit).await?;
        if self.has(Fault::EndsAtDamage) {
            page.entries.truncate(limit.saturating_sub(page.n_unreadable));
        }
        if self.has(Fault::MixesTenants) && tenant_id == "acme" && before.is_none() {
            page.entries.extend(self.inner.list_failures("bolt", project_id, None, limit).await?.entries);
        }
        Ok(page)
    }

    async fn sweep(
        &self,
        sessions_before: Option<Instant>,
        tombstones_before: Instant,
        now: Instant,
    ) -> Result<u64, StoreError> {
        if self.has(Fault::NeverSweeps) {
            return Ok(0);
        }
        self.inner.sweep(sessions_before, tombstones_before, now).await
    }

    async fn close(&self) {
        if !self.has(Fault::StaysOpen) {
            self.inner.close().await;
        }
    }
}

#[async_trait]
impl JobQueue for Faulty {
    async fn claim_job(&self, now: Instant, lease_until: Instant) -> Result<Option<Claim>, StoreError> {
        let claim = self.inner.claim_job(now, lease_until).await?;
        if self.has(Fault::ClaimsTwice) && claim.is_none() {
            for tenant in ["acme", "r1"] {
                let filter = JobFilter {
                    tenant_id: tenant.to_owned(),
                    state: Some(JobState::Running),
                    ..JobFilter::default()
                };
                if let Some(job) = self.inner.list_jobs(&filter, None, 1).await?.pop() {
                    let token = job.lease_token;
                    // Once: a claimer that never hears of an end would go on for ever.
                    self.inner.complete_job(job.id, token, None, now).await?;
                    return Ok(Some(Claim { job, token }));
                }
            }
        }
        Ok(claim)
    }

    async fn extend_job(&self, id: Uuid, token: u64, lease_until: Instant) -> Result<bool, StoreError> {
        let current = self.current_token(id).await.filter(|_| self.has(Fault::IgnoresTokens));
        let extended = self.inner.extend_job(id, current.unwrap_or(token), lease_until).await?;
        Ok(extended || current.is_some())
    }

    async fn complete_job(
        &self,
        id: Uuid,
        token: u64,
        stale_reason: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        let current = self.current_token(id).await.filter(|_| self.has(Fault::IgnoresTokens));
        let completed = self.inner.complete_job(id, current.unwrap_or(token), stale_reason, now).await?;
        Ok(completed || current.is_some())
    }

    async fn list_jobs(
        &self,
        filter: &JobFilter,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        if let Some(kept) = self.kept.lock().expect("no panic").get(&filter.tenant_id) {
            return Ok(if after.is_none() { kept.clone() } else { Vec::new() });
        }
        self.inner.list_jobs(filter, after, limit).await
    }

    async fn count_queued(&self) -> Result<u64, StoreError> {
        self.inner.count_queued().await
    }
}
