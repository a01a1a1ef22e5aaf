//! A service on a memory store and a clock that stands still, for the tests of the use cases.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, TimeZone, Utc};
use health_model::{Caller, Failure, Instant, Tool};
use health_service::check::{CheckAnswer, CheckRequest};
use health_service::lookup::{LookupAnswer, LookupRequest};
use health_service::success::{RecordSuccessAnswer, RecordSuccessRequest, Success};
use health_service::{Rules, Service, Settings};
use ports::Store;
use store_memory::MemoryStore;
use test_support::{ManualClock, SeededIds};

pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) clock: ManualClock,
    pub(crate) store: Arc<MemoryStore>,
}

pub(crate) fn start() -> Instant {
    Utc.with_ymd_and_hms(2026, 11, 30, 14, 0, 0).unwrap()
}

pub(crate) fn service_on(
    store: Arc<dyn Store>,
    clock: &ManualClock,
    seed: u64,
    settings: Settings,
) -> Service {
    let rules = Arc::new(Rules::new(checker::Options::BUNDLED));
    Service::start(store, Arc::new(clock.clone()), Arc::new(SeededIds::new(seed)), settings, rules)
}

pub(crate) fn world_with(settings: Settings) -> World {
    let clock = ManualClock::new(start());
    let store = Arc::new(MemoryStore::new("test"));
    let service = service_on(Arc::new(store.handle()), &clock, 1, settings);
    World { service, clock, store }
}

pub(crate) fn world() -> World {
    world_with(Settings::default())
}

impl World {
    /// A second server on the same store.
    pub(crate) fn second(&self) -> Service {
        service_on(Arc::new(self.store.handle()), &self.clock, 2, Settings::default())
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.advance(TimeDelta::seconds(seconds));
    }

    pub(crate) async fn check(&self, user: &str, failure: Failure) -> CheckAnswer {
        check(&self.service, user, failure).await
    }

    pub(crate) async fn success(&self, user: &str) -> RecordSuccessAnswer {
        let success = Success { tool: tool("jira_search"), ok: Some(true), ..Success::default() };
        success_of(&self.service, user, success).await
    }

    pub(crate) async fn lookup(&self, user: &str) -> LookupAnswer {
        lookup(&self.service, user, &[]).await
    }
}

pub(crate) async fn check(service: &Service, user: &str, failure: Failure) -> CheckAnswer {
    service.check(request(user, failure)).await
}

pub(crate) async fn success_of(service: &Service, user: &str, success: Success) -> RecordSuccessAnswer {
    let request = RecordSuccessRequest { caller: caller(user), successes: vec![success], report_id: None };
    service.record_success(request).await
}

pub(crate) async fn lookup(service: &Service, user: &str, shown: &[u8]) -> LookupAnswer {
    let request = LookupRequest {
        caller: caller(user),
        tools: vec![tool("jira_search")],
        shown: shown.to_vec(),
        ..LookupRequest::default()
    };
    service.lookup(request).await
}

pub(crate) fn request(user: &str, failure: Failure) -> CheckRequest {
    CheckRequest { caller: caller(user), tool: tool("jira_search"), failure, report_id: None, at_least: None }
}

pub(crate) fn caller(user: &str) -> Caller {
    Caller {
        tenant_id: "acme".to_owned(),
        project_id: "essay".to_owned(),
        user_id: Some(user.to_owned()),
        session_id: Some(format!("session-of-{user}")),
        locale: None,
    }
}

pub(crate) fn tool(name: &str) -> Tool {
    Tool { name: name.to_owned(), ..Tool::default() }
}

pub(crate) fn http(status: u16) -> Failure {
    Failure { http_status: Some(status), ..Failure::default() }
}

pub(crate) fn refused() -> Failure {
    Failure { exception_type: Some("java.net.ConnectException".to_owned()), ..Failure::default() }
}

/// Waits until `holds`, at most ten seconds.
pub(crate) async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while !holds().await {
        assert!(tokio::time::Instant::now() < deadline, "it did not come true within ten seconds");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
