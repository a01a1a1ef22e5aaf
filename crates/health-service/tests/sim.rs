//! Two servers on one store under random calls: what must hold after every step, whatever happens (STYLE: simulation).
//! The seed of a failing run is in its message; such a seed becomes a case of its own here.

mod support;

use std::collections::BTreeMap;

use health_model::vocabulary::{CredentialOwner, Scope, Status, ToolKind};
use health_model::{Caller, Document, DocumentKey, Failure, Tool};
use health_service::admin::{AdminChange, document_key};
use health_service::check::{CheckRequest, Durability};
use health_service::event::{Event, RecordEventRequest};
use health_service::lookup::LookupRequest;
use health_service::success::{RecordSuccessRequest, Success};
use health_service::{Service, Settings};
use ports::{DocumentFilter, JobFilter, JobQueue, JobState, Revision, Store};
use store_memory::MemoryStore;
use support::{caller, http, refused, service_on, start};
use test_support::ManualClock;

/// xorshift64*: the same sequence for the same seed on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % n
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[usize::try_from(self.below(items.len() as u64)).unwrap_or(0)]
    }
}

struct Sim {
    seed: u64,
    random: Random,
    clock: ManualClock,
    store: MemoryStore,
    servers: Vec<Service>,
}

type Healths = BTreeMap<DocumentKey, (Status, chrono::DateTime<chrono::Utc>)>;

impl Sim {
    fn new(seed: u64) -> Self {
        let clock = ManualClock::new(start());
        let store = MemoryStore::new("sim");
        let servers = (0..2)
            .map(|it| service_on(std::sync::Arc::new(store.handle()), &clock, it + 1, Settings::default()))
            .collect();
        Self { seed, random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1), clock, store, servers }
    }

    async fn documents(&self) -> Vec<Document> {
        let mut all = Vec::new();
        for tenant in ["", "acme", "globex"] {
            let filter = DocumentFilter { tenant_id: tenant.to_owned(), ..DocumentFilter::default() };
            let page = self.store.list_documents(&filter, None, 1_000).await.expect("memory answers");
            all.extend(page.documents.into_iter().map(|it| it.document));
        }
        all
    }

    async fn healths(&self) -> Healths {
        let documents = self.documents().await;
        documents
            .into_iter()
            .filter_map(|it| it.health.map(|health| (it.key, (health.status, health.since))))
            .collect()
    }

    fn caller(&mut self) -> Caller {
        let user = *self.random.pick(&["alice", "bob", "carol"]);
        let mut caller = caller(user);
        caller.tenant_id = (*self.random.pick(&["acme", "acme", "globex"])).to_owned();
        if self.random.below(8) == 0 {
            caller.user_id = None;
        }
        caller
    }

    fn tool(&mut self) -> Tool {
        Tool {
            name: (*self.random.pick(&["jira", "wiki"])).to_owned(),
            kind: *self.random.pick(&[None, Some(ToolKind::Client), Some(ToolKind::Mcp)]),
            ..Tool::default()
        }
    }

    fn failure(&mut self) -> Failure {
        let mut failure = match self.random.below(6) {
            0 => http(403),
            1 => http(401),
            2 => http(500),
            3 => Failure { headers: vec![("retry-after".to_owned(), "37".to_owned())], ..http(429) },
            4 => Failure { body: "token_expired".to_owned(), ..http(401) },
            _ => refused(),
        };
        failure.credential =
            *self.random.pick(&[None, Some(CredentialOwner::Project), Some(CredentialOwner::None)]);
        failure
    }

    async fn step(&mut self) {
        let server = self.random.pick(&self.servers).clone();
        let (caller, tool) = (self.caller(), self.tool());
        match self.random.below(10) {
            0..=4 => {
                let before = self.healths().await;
                let failure = self.failure();
                let request = CheckRequest {
                    caller: caller.clone(),
                    tool: tool.clone(),
                    failure,
                    report_id: None,
                    at_least: None,
                };
                let answer = server.check(request).await;
                if answer.verdict.classification.is_never_health() {
                    assert_eq!(before, self.healths().await, "R3, R138: seed {}", self.seed);
                }
                if answer.durability == Durability::Committed {
                    self.read_everywhere(&caller, &tool, answer.revision, answer.health.state).await;
                }
            }
            5 | 6 => {
                let success = Success { tool, ok: Some(self.random.below(5) > 0), ..Success::default() };
                let successes = vec![success];
                server.record_success(RecordSuccessRequest { caller, successes, report_id: None }).await;
            }
            7 => {
                let request = RecordEventRequest {
                    caller,
                    scope: None,
                    scope_id: None,
                    tools: vec![tool],
                    event: *self.random.pick(&[Event::ConnectionOpened, Event::ConnectionClosed]),
                    connection_id: (*self.random.pick(&["c1", "c2"])).to_owned(),
                    sequence: self.random.below(20),
                    occurred_at: None,
                    reason: String::new(),
                };
                server.record_event(request).await.expect("memory answers");
            }
            8 => {
                let key = document_key(&caller.tenant_id, Scope::Project, "essay", &tool.name);
                let change = AdminChange::Mark {
                    status: *self.random.pick(Status::ALL),
                    classification: health_model::Classification::TechnicallyBroken,
                    expected_recovery_at: None,
                    note: String::new(),
                };
                server.change(key, change, "sim").await.expect("memory answers");
            }
            _ => {
                let gap = 1 + i64::try_from(self.random.below(900)).unwrap_or(0);
                self.clock.advance(chrono::TimeDelta::seconds(gap));
            }
        }
    }

    /// R222; DESIGN §5: what one server has acknowledged every server answers to a caller that brings the revision.
    async fn read_everywhere(
        &self,
        caller: &Caller,
        tool: &Tool,
        revision: Option<Revision>,
        state: health_model::EffectiveStatus,
    ) {
        for server in &self.servers {
            let request = LookupRequest {
                caller: caller.clone(),
                tools: vec![tool.clone()],
                at_least: revision.clone(),
                ..LookupRequest::default()
            };
            let answer = server.lookup(request).await;
            assert_eq!(answer.tools[0].state, state, "seed {}", self.seed);
        }
    }

    async fn check_invariants(&self) {
        for it in self.documents().await {
            assert_ne!(it.key.scope, Scope::Global, "GLOBAL was written: seed {}", self.seed);
            let newest = it.history.last().map(|it| (it.status, it.classification));
            let health = it.health.as_ref().map(|it| (it.status, it.classification));
            assert_eq!(newest, health, "status and history: seed {} at {}", self.seed, it.key);
            let of_another = it.key.scope == Scope::User
                && it.cooldowns.iter().any(|cooldown| cooldown.user_id.as_deref() != Some(&it.key.scope_id));
            assert!(!of_another, "R46: seed {} at {}", self.seed, it.key);
            let is_home = matches!(it.key.scope, Scope::Project | Scope::Tenant);
            assert!(is_home || it.like_failures.is_empty(), "DESIGN §2.3: seed {} at {}", self.seed, it.key);
        }
        for tenant in ["acme", "globex"] {
            let filter = JobFilter { tenant_id: tenant.to_owned(), ..JobFilter::default() };
            let jobs = self.store.list_jobs(&filter, None, 1_000).await.expect("memory answers");
            let mut open = BTreeMap::new();
            for it in jobs.into_iter().filter(|it| matches!(it.state, JobState::Queued | JobState::Running)) {
                let n: &mut u32 = open.entry((it.key, it.signature, it.key_user)).or_default();
                *n += 1;
                assert_eq!(*n, 1, "R198: one open job a key: seed {}", self.seed);
            }
        }
    }
}

/// R3, R46, R138, R198, R222, C6
#[tokio::test]
async fn what_must_hold_holds_after_every_step() {
    for seed in 1..=150 {
        let mut sim = Sim::new(seed);
        for _ in 0..40 {
            sim.step().await;
            sim.check_invariants().await;
        }
        for server in &sim.servers {
            server.shutdown(std::time::Duration::from_secs(5)).await;
        }
    }
}
