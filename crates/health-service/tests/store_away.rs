//! The store is away: the service answers without it, blocks nobody, and recovers by itself (DESIGN §2.4).

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant as Tick};

use async_trait::async_trait;
use health_model::vocabulary::EffectiveStatus;
use health_model::{Classification, ContainerKey, DocumentKey, Instant};
use health_service::check::Durability;
use health_service::success::SuccessOutcome;
use health_service::{Error, Note, Service, Settings};
use ports::{
    Batch, Changes, Claim, Committed, Counter, DeleteSelector, DocumentFilter, DocumentPage, FailureEntry,
    FailurePage, FailurePlace, HitDelta, Job, JobFilter, JobQueue, LoadedContainer, Outage, Revision,
    RuleLayerKey, RuleLayerRecord, Store, StoreError, StoreInfo, Versioned,
};
use store_memory::MemoryStore;
use support::{check, eventually, http, lookup, refused, service_on, start, success_of, tool};
use test_support::ManualClock;
use uuid::Uuid;

/// A memory store behind a switch: off, every call fails or hangs.
struct Switched {
    inner: MemoryStore,
    off: Arc<AtomicBool>,
    hangs: bool,
    /// A document that never lets itself be written.
    corrupt: &'static str,
}

impl Switched {
    async fn gate(&self) -> Result<&MemoryStore, StoreError> {
        if !self.off.load(Ordering::SeqCst) {
            return Ok(&self.inner);
        }
        if self.hangs {
            std::future::pending::<()>().await;
        }
        Err(StoreError::Unavailable { reason: "switched off".to_owned(), source: None })
    }
}

macro_rules! forward {
    ($($name:ident($($arg:ident: $type:ty),*) -> $out:ty;)+) => {
        #[async_trait]
        impl Store for Switched {
            $(async fn $name(&self, $($arg: $type),*) -> Result<$out, StoreError> {
                self.gate().await?.$name($($arg),*).await
            })+
            async fn commit(&self, batch: &Batch) -> Result<Committed, StoreError> {
                let inner = self.gate().await?;
                match batch.documents.iter().find(|it| it.document.key.tool_name == self.corrupt) {
                    Some(it) => Err(StoreError::Corrupt {
                        table: "document",
                        key: it.document.key.to_string(),
                        source: None,
                    }),
                    None => inner.commit(batch).await,
                }
            }
            async fn close(&self) {
                self.inner.close().await;
            }
        }
    };
}

forward! {
    info() -> StoreInfo;
    load_containers(keys: &[ContainerKey]) -> Vec<LoadedContainer>;
    load_document(key: &DocumentKey) -> Option<Versioned>;
    list_documents(filter: &DocumentFilter, after: Option<&DocumentKey>, limit: usize) -> DocumentPage;
    delete(selector: &DeleteSelector, now: Instant) -> (u64, Revision);
    list_outages(key: &DocumentKey, limit: usize) -> Vec<Outage>;
    add_hits(deltas: &[HitDelta]) -> ();
    load_counters(key: &DocumentKey) -> Vec<Counter>;
    head() -> Revision;
    changes(after: &Revision, limit: usize) -> Changes;
    wait_for_changes(after: &Revision, timeout: Duration) -> ();
    list_rule_layers() -> (u64, Vec<RuleLayerRecord>);
    rules_revision() -> u64;
    put_rule_layer(layer: &RuleLayerRecord, expected: Option<u64>) -> u64;
    delete_rule_layer(key: &RuleLayerKey, expected: Option<u64>) -> bool;
    append_failures(entries: &[FailureEntry], keep: usize) -> ();
    list_failures(
        tenant_id: &str, project_id: Option<&str>, before: Option<FailurePlace>, limit: usize
    ) -> FailurePage;
    sweep(sessions_before: Option<Instant>, tombstones_before: Instant, now: Instant) -> u64;
}

#[async_trait]
impl JobQueue for Switched {
    async fn claim_job(&self, now: Instant, lease_until: Instant) -> Result<Option<Claim>, StoreError> {
        self.gate().await?.claim_job(now, lease_until).await
    }
    async fn extend_job(&self, id: Uuid, token: u64, lease_until: Instant) -> Result<bool, StoreError> {
        self.gate().await?.extend_job(id, token, lease_until).await
    }
    async fn complete_job(
        &self,
        id: Uuid,
        token: u64,
        stale_reason: Option<&str>,
        now: Instant,
    ) -> Result<bool, StoreError> {
        self.gate().await?.complete_job(id, token, stale_reason, now).await
    }
    async fn list_jobs(
        &self,
        filter: &JobFilter,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        self.gate().await?.list_jobs(filter, after, limit).await
    }
    async fn count_queued(&self) -> Result<u64, StoreError> {
        self.gate().await?.count_queued().await
    }
}

fn switched(hangs: bool) -> (Service, Arc<AtomicBool>) {
    let off = Arc::new(AtomicBool::new(true));
    let store =
        Switched { inner: MemoryStore::new("test"), off: Arc::clone(&off), hangs, corrupt: "corrupt" };
    let settings = Settings {
        store_timeout: Duration::from_millis(200),
        store_retry: Duration::from_millis(100),
        ..Settings::default()
    };
    (service_on(Arc::new(store), &ManualClock::new(start()), 1, settings), off)
}

/// DESIGN §2.4, R2
#[tokio::test]
async fn without_a_store_everything_is_answered_and_nothing_is_claimed_to_be_stored() {
    for hangs in [false, true] {
        let (service, off) = switched(hangs);
        let asked = Tick::now();
        for _ in 0..20 {
            let answer = check(&service, "alice", refused()).await;
            assert_eq!(answer.verdict.classification, Classification::TechnicallyBroken);
            assert_eq!((answer.durability, answer.stale), (Durability::None, true));
            assert!(answer.notes.contains(&Note::StoreAway));
            let found = lookup(&service, "alice", &[]).await;
            assert_eq!(found.tools[0].state, EffectiveStatus::Ok, "unknown means usable");
            assert!(found.stale && found.notes.contains(&Note::StoreAway));
        }
        assert!(asked.elapsed() < Duration::from_secs(8), "nobody waits for a store that is away");
        let key = health_service::admin::document_key("acme", health_model::Scope::Project, "essay", "x");
        assert!(service.document(&key).await.is_err_and(|it: Error| it.is_store_away()));
        off.store(false, Ordering::SeqCst);
        eventually(async || {
            let answer = check(&service, "alice", refused()).await;
            answer.health.state == EffectiveStatus::Down
        })
        .await;
        assert_eq!(lookup(&service, "bob", &[]).await.tools[0].state, EffectiveStatus::Down);
    }
}

/// DESIGN §8: what is in memory goes on to be answered, as stale.
#[tokio::test]
async fn what_the_view_holds_outlives_the_store() {
    let (service, off) = switched(false);
    off.store(false, Ordering::SeqCst);
    eventually(async || check(&service, "alice", refused()).await.health.state == EffectiveStatus::Down)
        .await;
    lookup(&service, "alice", &[]).await;
    off.store(true, Ordering::SeqCst);
    eventually(async || lookup(&service, "alice", &[]).await.stale).await;
    assert_eq!(lookup(&service, "alice", &[]).await.tools[0].state, EffectiveStatus::Down);
    let report = health_service::success::Success { tool: tool("jira_search"), ..Default::default() };
    let answer = success_of(&service, "alice", report).await;
    assert_ne!(answer.results[0].outcome, SuccessOutcome::Cleared);
    assert_eq!(check(&service, "alice", http(403)).await.durability, Durability::None);
}

/// One document that cannot be written costs only its own decisions, whatever batch they meet in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_corrupt_document_harms_no_other() {
    let (service, off) = switched(false);
    off.store(false, Ordering::SeqCst);
    eventually(async || !service.stats().stale && !service.stats().store_away).await;
    let calls = (0..200).map(|it| {
        let name = if it % 10 == 0 { "corrupt".to_owned() } else { format!("tool_{it}") };
        let service = service.clone();
        tokio::spawn(async move {
            let mut request = support::request("alice", refused());
            request.tool = tool(&name);
            (name, service.check(request).await)
        })
    });
    for call in futures::future::join_all(calls).await {
        let (name, answer) = call.expect("the check ends");
        let stored = answer.durability == Durability::Committed;
        assert_eq!(stored, name != "corrupt", "{name}: {:?}", answer.notes);
        assert_eq!(answer.notes.contains(&Note::Corrupt), name == "corrupt");
    }
}

/// A store that takes no journal costs no Check anything; what is missing is counted.
#[tokio::test]
async fn without_a_store_the_journal_is_dropped_and_counted() {
    for hangs in [false, true] {
        let (service, off) = switched(hangs);
        for n in 0..3 {
            let asked = Tick::now();
            let failure = health_model::Failure { operation: Some(format!("search {n}")), ..refused() };
            let answer = check(&service, "alice", failure).await;
            assert_eq!(answer.verdict.classification, Classification::TechnicallyBroken);
            assert!(asked.elapsed() < Duration::from_secs(2));
        }
        eventually(async || service.stats().journal_dropped == 3).await;
        off.store(false, Ordering::SeqCst);
        eventually(async || {
            check(&service, "alice", http(404)).await;
            service.stats().journal_written > 0
        })
        .await;
        service.shutdown(Duration::from_secs(10)).await;
    }
}
