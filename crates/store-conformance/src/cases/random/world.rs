//! The store and its model, driven side by side.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::TimeDelta;
use health_model::vocabulary::{Scope, Status};
use health_model::{Document, DocumentKey, Instant};
use ports::store::ORPHANED_OUTAGE_DAYS;
use ports::{
    Batch, DeleteSelector, DocumentFilter, DocumentWrite, Enqueue, HitDelta, Ids, Job, JobFilter, JobQueue,
    OutageChange, RuleLayerKey, RuleLayerRecord, Signal, Store, StoreError, Trigger,
};
use store_memory::MemoryStore;
use test_support::SeededIds;
use uuid::Uuid;

use super::operations::{Expectation, N_KEYS, Operation, Report, Write};
use crate::follower::Follower;
use crate::values::{at, cooldown, document, health, key, micros, signal};

const TENANTS: [&str; 2] = ["r1", "r2"];
const SCOPES: [Scope; 4] = [Scope::Session, Scope::User, Scope::Project, Scope::Tenant];
const IDS: [&str; 2] = ["x", "y"];
const TOOLS: [&str; 2] = ["t", "u"];
const USERS: [Option<&str>; 2] = [None, Some("x")];

/// A number that the model chose, and the one that the store chose in its place.
#[derive(Debug, Clone, Copy)]
struct Pair {
    model: u64,
    store: u64,
}

pub(super) struct World {
    model: MemoryStore,
    store: Arc<dyn Store>,
    follower: Follower,
    ids: SeededIds,
    now: Instant,
    /// The versions that each key has had.
    versions: BTreeMap<DocumentKey, Vec<Pair>>,
    layer_versions: BTreeMap<RuleLayerKey, Vec<Pair>>,
    /// The tokens of all claims.
    claims: Vec<(Uuid, Pair)>,
}

impl World {
    /// Begins with empty tenants.
    pub(super) async fn new(store: Arc<dyn Store>) -> Self {
        for tenant in TENANTS {
            let selector = DeleteSelector::Tenant { tenant_id: tenant.to_owned() };
            store.delete(&selector, at(0)).await.expect("the delete");
        }
        let follower = Follower::from_head(&store).await;
        Self {
            model: MemoryStore::new("model"),
            store,
            follower,
            ids: SeededIds::new(0),
            now: at(1_000),
            versions: BTreeMap::new(),
            layer_versions: BTreeMap::new(),
            claims: Vec::new(),
        }
    }

    pub(super) async fn apply(&mut self, operation: &Operation) {
        self.now += TimeDelta::milliseconds(1);
        match operation {
            Operation::Commit { writes, jobs, outages } => self.commit(writes, jobs, outages).await,
            Operation::DeleteOne(n) => self.delete(DeleteSelector::One(nth_key(*n))).await,
            Operation::DeleteTenant(n) => {
                self.delete(DeleteSelector::Tenant { tenant_id: nth(&TENANTS, *n).to_owned() }).await;
            }
            Operation::DeleteUser(n) => {
                let user_id = nth(&IDS, *n).to_owned();
                self.delete(DeleteSelector::User { tenant_id: TENANTS[0].to_owned(), user_id }).await;
            }
            Operation::DeleteSession(n) => {
                let session_id = nth(&IDS, *n).to_owned();
                self.delete(DeleteSelector::Session { tenant_id: TENANTS[0].to_owned(), session_id }).await;
            }
            Operation::AddHits(deltas) => self.add_hits(deltas).await,
            Operation::List { filter, limit } => self.list(*filter, *limit).await,
            Operation::Claim { lease } => self.claim(*lease).await,
            Operation::Extend { claim, lease } => {
                if let Some((id, token)) = self.nth_claim(*claim) {
                    let until = self.now + TimeDelta::seconds(*lease);
                    let model =
                        self.model.extend_job(id, token.model, until).await.expect("the model answers");
                    let store =
                        self.store.extend_job(id, token.store, until).await.expect("the store answers");
                    assert_eq!(store, model, "extend");
                }
            }
            Operation::Complete { claim, is_stale } => {
                if let Some((id, token)) = self.nth_claim(*claim) {
                    let reason = is_stale.then_some("given up");
                    let now = self.now;
                    let model = self
                        .model
                        .complete_job(id, token.model, reason, now)
                        .await
                        .expect("the model answers");
                    let store = self
                        .store
                        .complete_job(id, token.store, reason, now)
                        .await
                        .expect("the store answers");
                    assert_eq!(store, model, "complete");
                }
            }
            Operation::PutRules { layer, expectation } => self.put_rules(*layer, *expectation).await,
            Operation::DeleteRules { layer, expectation } => self.delete_rules(*layer, *expectation).await,
            Operation::Sweep { session_age, tombstone_age } => {
                self.follow().await;
                let sessions = session_age.map(|it| self.now - TimeDelta::seconds(it));
                let tombstones = self.now - TimeDelta::seconds(*tombstone_age);
                // Outages of deleted documents go after months: let some pass at times.
                let now = if tombstone_age % 4 == 0 {
                    self.now + TimeDelta::days(ORPHANED_OUTAGE_DAYS)
                } else {
                    self.now
                };
                self.model.sweep(sessions, tombstones, now).await.expect("the model sweeps");
                self.store.sweep(sessions, tombstones, now).await.expect("the store sweeps");
                // What the sweep deleted is told, unless its tombstones went in the same sweep.
                self.follower = follow_from_here(&self.store, &self.follower).await;
            }
            Operation::Pass { seconds } => self.now += TimeDelta::seconds(*seconds),
            Operation::Compare => self.compare().await,
        }
    }

    async fn commit(&mut self, writes: &[Write], jobs: &[Report], outages: &[(u8, bool)]) {
        let (mut model, mut store) = (Batch::default(), Batch::default());
        for write in writes {
            let document = content(&nth_key(write.key), write.content, self.now);
            if model.documents.iter().any(|it| it.document.key == document.key) {
                continue;
            }
            let expected = self.expected(&document.key, write.expectation).await;
            model.documents.push(DocumentWrite { expected: expected.0, document: document.clone() });
            store.documents.push(DocumentWrite { expected: expected.1, document });
        }
        for report in jobs {
            let key = nth_key(report.key);
            let user_id = [None, Some(IDS[0]), Some(IDS[1])][usize::from(report.user)].map(str::to_owned);
            let enqueue = Enqueue {
                id: self.ids.next(),
                service_type: "agrajag".to_owned(),
                tenant_id: key.tenant_id.clone(),
                project_id: key.scope_id.clone(),
                key,
                signature: format!("s{}", report.signature),
                // One of the signatures is each user's own.
                key_user: user_id.clone().filter(|_| report.signature == 1),
                trigger: if report.is_request { Trigger::UserRequest } else { Trigger::ToolCallError },
                signal: Signal { user_id, ..signal(&format!("{}", self.now), self.now) },
                now: self.now,
            };
            model.jobs.push(enqueue.clone());
            store.jobs.push(enqueue);
        }
        for (n, opens) in outages {
            let (key, at) = (nth_key(*n), self.now);
            let is_written = model.documents.iter().any(|it| it.document.key == key);
            if !is_written && self.model.load_document(&key).await.expect("the model loads").is_none() {
                // An outage is of a document.
                continue;
            }
            let change = if *opens {
                OutageChange::Open { key, signature: "s".to_owned(), at }
            } else {
                OutageChange::Close { key, at }
            };
            model.outages.push(change.clone());
            store.outages.push(change);
        }
        match (self.model.commit(&model).await, self.store.commit(&store).await) {
            (Ok(by_model), Ok(by_store)) => {
                assert_eq!(by_store.jobs, by_model.jobs, "what became of the jobs");
                assert_eq!(by_store.versions.len(), by_model.versions.len());
                for (n, write) in model.documents.iter().enumerate() {
                    let pair = Pair { model: by_model.versions[n], store: by_store.versions[n] };
                    let known = self.versions.entry(write.document.key.clone()).or_default();
                    assert!(known.iter().all(|it| it.store < pair.store), "a version does not come twice");
                    known.push(pair);
                }
            }
            (Err(StoreError::Conflict { .. }), Err(StoreError::Conflict { key })) => {
                assert!(store.documents.iter().any(|it| it.document.key == key));
            }
            (by_model, by_store) => panic!("the model says {by_model:?}, the store {by_store:?}"),
        }
    }

    async fn expected(&self, key: &DocumentKey, expectation: Expectation) -> (Option<u64>, Option<u64>) {
        match expectation {
            Expectation::Current => {
                let model = self.model.load_document(key).await.expect("the model loads");
                let store = self.store.load_document(key).await.expect("the store loads");
                (model.map(|it| it.version), store.map(|it| it.version))
            }
            Expectation::None => (None, None),
            Expectation::Stale => match self.versions.get(key).map(Vec::as_slice) {
                Some([.., before, _]) => (Some(before.model), Some(before.store)),
                _ => (Some(0), Some(0)),
            },
        }
    }

    async fn delete(&mut self, selector: DeleteSelector) {
        let (model, _) = self.model.delete(&selector, self.now).await.expect("the model deletes");
        let (store, _) = self.store.delete(&selector, self.now).await.expect("the store deletes");
        assert_eq!(store, model, "deleted by {selector:?}");
    }

    async fn add_hits(&mut self, deltas: &[(u8, u8, u64)]) {
        let deltas: Vec<_> = deltas
            .iter()
            .map(|(n, kind, hits)| HitDelta {
                key: nth_key(*n),
                signature: format!("s{}", kind % 2),
                user_id: nth(&USERS, kind / 2).map(str::to_owned),
                episode: episode(kind / 4),
                hits: *hits,
                last_triggered_at: self.now,
            })
            .collect();
        self.model.add_hits(&deltas).await.expect("the model adds");
        self.store.add_hits(&deltas).await.expect("the store adds");
    }

    async fn list(&mut self, filter: (Option<u8>, Option<u8>, Option<u8>, Option<u8>), limit: usize) {
        let filter = DocumentFilter {
            tenant_id: TENANTS[0].to_owned(),
            scope: filter.0.map(|it| nth(&SCOPES, it)),
            scope_id: filter.1.map(|it| nth(&IDS, it).to_owned()),
            tool_name: filter.2.map(|it| nth(&TOOLS, it).to_owned()),
            status: filter.3.map(|it| nth(Status::ALL, it)),
        };
        let mut after = None;
        loop {
            let model =
                self.model.list_documents(&filter, after.as_ref(), limit).await.expect("the model lists");
            let store =
                self.store.list_documents(&filter, after.as_ref(), limit).await.expect("the store lists");
            let bare = |it: ports::DocumentPage| -> Vec<Document> {
                it.documents.into_iter().map(|it| it.document).collect()
            };
            assert_eq!(store.next, model.next, "{filter:?}");
            after.clone_from(&model.next);
            assert_eq!(bare(store), bare(model), "{filter:?}");
            if after.is_none() {
                return;
            }
        }
    }

    async fn claim(&mut self, lease: i64) {
        let until = self.now + TimeDelta::seconds(lease);
        let model = self.model.claim_job(self.now, until).await.expect("the model claims");
        let store = self.store.claim_job(self.now, until).await.expect("the store claims");
        match (model, store) {
            (None, None) => {}
            (Some(model), Some(store)) => {
                assert_eq!(without_token(store.job), without_token(model.job.clone()), "the claimed job");
                self.claims.push((model.job.id, Pair { model: model.token, store: store.token }));
            }
            (model, store) => panic!("the model claims {model:?}, the store {store:?}"),
        }
    }

    fn nth_claim(&self, n: usize) -> Option<(Uuid, Pair)> {
        // The last few matter most.
        self.claims.iter().rev().take(4).nth(n % 4).copied()
    }

    async fn put_rules(&mut self, n: u8, expectation: Expectation) {
        let key = layer_key(n);
        let (model, store) = self.expected_layer(&key, expectation);
        let layer = RuleLayerRecord {
            key: key.clone(),
            text: format!("{}", self.now),
            updated_at: self.now,
            updated_by: "root".to_owned(),
            version: 0,
        };
        match (self.model.put_rule_layer(&layer, model).await, self.store.put_rule_layer(&layer, store).await)
        {
            (Ok(model), Ok(store)) => {
                self.layer_versions.entry(key).or_default().push(Pair { model, store });
            }
            (Err(StoreError::RuleLayerChanged { .. }), Err(StoreError::RuleLayerChanged { .. })) => {}
            (by_model, by_store) => panic!("the model says {by_model:?}, the store {by_store:?}"),
        }
    }

    async fn delete_rules(&mut self, n: u8, expectation: Expectation) {
        let key = layer_key(n);
        let (model, store) = self.expected_layer(&key, expectation);
        match (
            self.model.delete_rule_layer(&key, model).await,
            self.store.delete_rule_layer(&key, store).await,
        ) {
            (Ok(by_model), Ok(by_store)) => assert_eq!(by_store, by_model, "deleted {key:?}"),
            (Err(StoreError::RuleLayerChanged { .. }), Err(StoreError::RuleLayerChanged { .. })) => {}
            (by_model, by_store) => panic!("the model says {by_model:?}, the store {by_store:?}"),
        }
    }

    fn expected_layer(&self, key: &RuleLayerKey, expectation: Expectation) -> (Option<u64>, Option<u64>) {
        let known = self.layer_versions.get(key).map_or(&[][..], Vec::as_slice);
        match (expectation, known) {
            (Expectation::None, _) => (None, None),
            (Expectation::Current, [.., last]) | (Expectation::Stale, [.., last, _]) => {
                (Some(last.model), Some(last.store))
            }
            _ => (Some(0), Some(0)),
        }
    }

    async fn follow(&mut self) {
        let head = self.store.head().await.expect("a head");
        self.follower.reach(&head, 3).await;
    }

    /// Everything that can be read is the same on both sides, and the follower knows the documents.
    pub(super) async fn compare(&mut self) {
        self.follow().await;
        let keys: Vec<DocumentKey> = (0..N_KEYS).map(nth_key).collect();
        let containers: Vec<_> = keys.iter().map(DocumentKey::container).collect();
        let model = self.model.load_containers(&containers).await.expect("the model loads");
        let store = self.store.load_containers(&containers).await.expect("the store loads");
        let mut there = BTreeMap::new();
        for (model, store) in model.iter().zip(&store) {
            assert_eq!(store.key, model.key);
            let bare = |it: &[ports::Versioned]| -> Vec<Document> {
                it.iter().map(|it| it.document.clone()).collect()
            };
            assert_eq!(bare(&store.documents), bare(&model.documents), "{:?}", model.key);
            for (in_model, in_store) in model.documents.iter().zip(&store.documents) {
                let last = self.versions[&in_store.document.key].last().expect("it was written");
                assert_eq!((in_model.version, in_store.version), (last.model, last.store));
                there.insert(in_store.document.key.clone(), in_store.clone());
            }
        }
        assert_eq!(self.follower.documents, there, "what the feed told");
        for key in &keys {
            let model = self.model.load_counters(key).await.expect("the model's counters");
            assert_eq!(self.store.load_counters(key).await.expect("the counters"), model, "{key}");
            let model = self.model.list_outages(key, 200).await.expect("the model's outages");
            assert_eq!(self.store.list_outages(key, 200).await.expect("the outages"), model, "{key}");
        }
        for tenant in TENANTS {
            let filter = JobFilter { tenant_id: tenant.to_owned(), ..JobFilter::default() };
            let bare = |it: Vec<Job>| -> Vec<Job> { it.into_iter().map(without_token).collect() };
            let model = self.model.list_jobs(&filter, None, 1_000).await.expect("the model's jobs");
            let store = self.store.list_jobs(&filter, None, 1_000).await.expect("the jobs");
            assert_eq!(bare(store), bare(model), "jobs of {tenant}");
        }
        let model = self.model.count_queued().await.expect("the model counts");
        assert_eq!(self.store.count_queued().await.expect("a count"), model);
        let bare = |it: Vec<RuleLayerRecord>| -> Vec<RuleLayerRecord> {
            it.into_iter().map(|it| RuleLayerRecord { version: 0, ..it }).collect()
        };
        let (_, model) = self.model.list_rule_layers().await.expect("the model's layers");
        let (_, store) = self.store.list_rule_layers().await.expect("the layers");
        assert_eq!(bare(store), bare(model), "rule layers");
    }
}

/// A follower that stands at the head and knows what is there, as one that took a snapshot.
async fn follow_from_here(store: &Arc<dyn Store>, before: &Follower) -> Follower {
    let mut follower = Follower::from_head(store).await;
    follower.versions.clone_from(&before.versions);
    for key in (0..N_KEYS).map(nth_key) {
        if let Some(document) = store.load_document(&key).await.expect("the store loads") {
            follower.documents.insert(key, document);
        }
    }
    follower
}

fn nth<T: Copy>(all: &[T], n: u8) -> T {
    all[usize::from(n) % all.len()]
}

fn nth_key(n: u8) -> DocumentKey {
    // Half of the keys are of the first tenant.
    let (tenant, n) = (n / 8, n % 8);
    key(nth(&TENANTS, tenant), nth(&SCOPES, n / 2), nth(&IDS, n), nth(&TOOLS, n / 4))
}

fn layer_key(n: u8) -> RuleLayerKey {
    RuleLayerKey { tenant_id: nth(&TENANTS, n).to_owned(), project_id: nth(&USERS, n / 2).map(str::to_owned) }
}

fn episode(n: u8) -> i64 {
    micros(at(i64::from(n)))
}

fn content(key: &DocumentKey, content: u8, now: Instant) -> Document {
    let mut document = document(key);
    document.updated_at = now;
    document.health = (content % 4 < 3).then(|| health(nth(Status::ALL, content % 4)));
    if content & 4 != 0 {
        let opened_at = at(i64::from(content >> 5 & 1));
        document.cooldowns =
            vec![cooldown(&format!("s{}", content >> 4 & 1), nth(&USERS, content >> 3 & 1), opened_at)];
    }
    document
}

fn without_token(job: Job) -> Job {
    Job { lease_token: 0, ..job }
}
