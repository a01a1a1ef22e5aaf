//! Values that the cases are made of, and short forms of the calls that most of them make.

use chrono::TimeDelta;
use health_model::vocabulary::{Classification, EtaBasis, Origin, Scope, Status};
use health_model::{
    ContainerKey, Cooldown, Diagnosis, Document, DocumentKey, Health, HistoryEntry, Hold, Instant,
};
use ports::{
    Batch, Committed, DocumentFilter, DocumentWrite, Enqueue, EnqueueOutcome, HitDelta, Job, JobFilter,
    OutageChange, Signal, Store, StoreError, Trigger, Versioned,
};
use uuid::Uuid;

/// The tenant that most cases write.
pub(crate) const TENANT: &str = "acme";

/// `seconds` after the start of the suite's time.
pub(crate) fn at(seconds: i64) -> Instant {
    Instant::from_timestamp(1_767_600_000, 0).expect("a valid instant") + TimeDelta::seconds(seconds)
}

/// What a store keeps of an instant outside of documents.
pub(crate) fn micros(at: Instant) -> i64 {
    at.timestamp_micros()
}

/// An id that names `n`.
pub(crate) fn id(n: u64) -> Uuid {
    Uuid::from_u64_pair(0x0190_0000_0000_7000 + n, 0x8000_0000_0000_0000)
}

pub(crate) fn key(tenant: &str, scope: Scope, scope_id: &str, tool: &str) -> DocumentKey {
    container(tenant, scope, scope_id).document(tool)
}

pub(crate) fn container(tenant: &str, scope: Scope, scope_id: &str) -> ContainerKey {
    ContainerKey { tenant_id: tenant.to_owned(), scope, scope_id: scope_id.to_owned() }
}

/// The document of a tool of project `essay`.
pub(crate) fn tool(name: &str) -> DocumentKey {
    key(TENANT, Scope::Project, "essay", name)
}

pub(crate) fn document(key: &DocumentKey) -> Document {
    Document::new(key.clone(), at(0))
}

/// A document that differs from others of its key by `note`.
pub(crate) fn noted(key: &DocumentKey, note: &str) -> Document {
    let mut document = document(key);
    document.last_diagnosis = Some(Diagnosis {
        classification: Classification::Unclear,
        note: note.to_owned(),
        by: "suite".to_owned(),
        at: at(1),
        signature: None,
        user_id: None,
    });
    document
}

pub(crate) fn with_status(key: &DocumentKey, status: Status) -> Document {
    let mut document = document(key);
    document.health = Some(health(status));
    document
}

pub(crate) fn health(status: Status) -> Health {
    Health {
        status,
        classification: Classification::TechnicallyBroken,
        since: at(2),
        expected_recovery_at: Some(at(300)),
        announced_recovery_at: Some(at(310)),
        eta_basis: EtaBasis::Computed,
        origin: Origin::Checker,
        signature: Some("http_503".to_owned()),
    }
}

pub(crate) fn cooldown(signature: &str, user_id: Option<&str>, opened_at: Instant) -> Cooldown {
    Cooldown {
        signature: signature.to_owned(),
        user_id: user_id.map(str::to_owned),
        classification: Classification::Unclear,
        opened_at,
        next_spawn_allowed_at: opened_at + TimeDelta::seconds(30),
        episodes: 1,
        cleared_at: None,
    }
}

/// A document in which every field says something, with text and instants that are easily bent.
pub(crate) fn full_document(key: &DocumentKey) -> Document {
    let nanos = Instant::from_timestamp(1_767_600_123, 123_456_789).expect("a valid instant");
    let text = "\"'\\/ \u{0} \r\n\t \u{7f} \u{1f600} \u{5d0}\u{202e} e\u{301} \u{e9} \u{feff} %s {} ?1 $1 --";
    Document {
        key: key.clone(),
        health: Some(Health { since: nanos, signature: Some(text.to_owned()), ..health(Status::Down) }),
        last_checked_at: Some(nanos),
        last_diagnosis: Some(Diagnosis {
            classification: Classification::Intermittent,
            note: text.to_owned(),
            by: "agrajag-engine/1".to_owned(),
            at: nanos,
            signature: Some("s".to_owned()),
            user_id: Some("alice".to_owned()),
        }),
        history: vec![
            HistoryEntry {
                status: Status::Degraded,
                classification: Classification::Intermittent,
                note: text.to_owned(),
                by: "checker".to_owned(),
                at: at(1),
                recovery_at: Some(at(9)),
                signature: Some("s".to_owned()),
                user_id: None,
            };
            20
        ],
        cooldowns: vec![
            cooldown("a", None, at(3)),
            Cooldown {
                next_spawn_allowed_at: Instant::MAX_UTC,
                episodes: u32::MAX,
                cleared_at: Some(at(4)),
                ..cooldown("b", Some("alice"), at(3))
            },
            Cooldown { next_spawn_allowed_at: Instant::MAX_UTC, ..cooldown("c", Some(""), nanos) },
        ],
        like_failures: vec![health_model::LikeFailure {
            signature: text.to_owned(),
            user: "0123456789abcdef".to_owned(),
            at: nanos,
            asks: true,
        }],
        hold: Some(Hold {
            status: Status::Down,
            reason: text.to_owned(),
            since: at(5),
            until: Some(Instant::MAX_UTC),
            by: "root".to_owned(),
        }),
        connection: Some(health_model::document::Connection {
            id: text.to_owned(),
            sequence: u64::MAX,
            at: at(3),
            open: true,
        }),
        last_success_at: Some(at(6)),
        created_at: at(0),
        updated_at: nanos,
    }
}

pub(crate) fn write(expected: Option<u64>, document: Document) -> DocumentWrite {
    DocumentWrite { expected, document }
}

pub(crate) fn documents(writes: Vec<DocumentWrite>) -> Batch {
    Batch { documents: writes, ..Batch::default() }
}

/// Commits one write.
pub(crate) async fn try_put(
    store: &dyn Store,
    expected: Option<u64>,
    document: Document,
) -> Result<Committed, StoreError> {
    store.commit(&documents(vec![write(expected, document)])).await
}

/// Commits one write that must succeed; its version.
pub(crate) async fn put(store: &dyn Store, expected: Option<u64>, document: Document) -> u64 {
    let committed = try_put(store, expected, document).await.expect("the write is committed");
    assert_eq!(committed.versions.len(), 1);
    committed.versions[0]
}

/// Loads, changes and commits until no other write came between; how often it was in conflict.
pub(crate) async fn update(store: &dyn Store, key: &DocumentKey, change: impl Fn(&mut Document)) -> u32 {
    let mut n_conflicts = 0;
    loop {
        let before = load(store, key).await;
        let expected = before.as_ref().map(|it| it.version);
        let mut next = before.map_or_else(|| document(key), |it| it.document);
        change(&mut next);
        // Others get their turn between the load and the commit, however fast the store is.
        tokio::task::yield_now().await;
        match try_put(store, expected, next).await {
            Ok(_) => return n_conflicts,
            Err(StoreError::Conflict { key: named }) => assert_eq!(named, *key),
            Err(error) => panic!("the update of `{key}` failed: {error:?}"),
        }
        n_conflicts += 1;
    }
}

pub(crate) async fn load(store: &dyn Store, key: &DocumentKey) -> Option<Versioned> {
    store.load_document(key).await.expect("the document loads")
}

/// All documents of a tenant.
pub(crate) async fn list_tenant(store: &dyn Store, tenant: &str) -> Vec<Versioned> {
    list(store, &DocumentFilter { tenant_id: tenant.to_owned(), ..DocumentFilter::default() }, 1_000).await
}

/// All pages of a listing, `limit` documents a page.
pub(crate) async fn list(store: &dyn Store, filter: &DocumentFilter, limit: usize) -> Vec<Versioned> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let page = store.list_documents(filter, after.as_ref(), limit).await.expect("a page is listed");
        assert!(page.documents.len() <= limit, "a page holds at most {limit}");
        if let Some(next) = &page.next {
            assert_eq!(Some(next), page.documents.last().map(|it| &it.document.key));
        }
        all.extend(page.documents);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

pub(crate) fn hits(
    key: &DocumentKey,
    signature: &str,
    user_id: Option<&str>,
    n: u64,
    at: Instant,
) -> HitDelta {
    HitDelta {
        key: key.clone(),
        signature: signature.to_owned(),
        user_id: user_id.map(str::to_owned),
        episode: 7,
        hits: n,
        last_triggered_at: at,
    }
}

pub(crate) fn open_outage(key: &DocumentKey, at: Instant) -> OutageChange {
    OutageChange::Open { key: key.clone(), signature: "http_503".to_owned(), at }
}

pub(crate) fn close_outage(key: &DocumentKey, at: Instant) -> OutageChange {
    OutageChange::Close { key: key.clone(), at }
}

/// A failure's job number `n` about a tool, in the queue of `project`, created `n` seconds in.
pub(crate) fn job(n: u64, project: &str, tool_name: &str) -> Enqueue {
    let now = at(i64::try_from(n).expect("a small number"));
    Enqueue {
        id: id(n),
        service_type: "agrajag".to_owned(),
        tenant_id: TENANT.to_owned(),
        project_id: project.to_owned(),
        key: key(TENANT, Scope::Project, project, tool_name),
        signature: "http_500".to_owned(),
        key_user: None,
        trigger: Trigger::ToolCallError,
        signal: signal(&format!("signal {n}"), now),
        now,
    }
}

pub(crate) fn signal(detail: &str, at: Instant) -> Signal {
    Signal {
        at,
        user_id: Some("alice".to_owned()),
        session_id: Some("s1".to_owned()),
        detail: detail.to_owned(),
    }
}

pub(crate) async fn enqueue(store: &dyn Store, job: &Enqueue) -> EnqueueOutcome {
    let batch = Batch { jobs: vec![job.clone()], ..Batch::default() };
    let committed = store.commit(&batch).await.expect("the job is committed");
    assert_eq!(committed.jobs.len(), 1);
    committed.jobs[0]
}

/// All jobs of the suite's tenant, newest first.
pub(crate) async fn jobs(store: &dyn Store) -> Vec<Job> {
    let filter = JobFilter { tenant_id: TENANT.to_owned(), ..JobFilter::default() };
    store.list_jobs(&filter, None, 1_000).await.expect("the jobs are listed")
}

pub(crate) async fn load_job(store: &dyn Store, id: Uuid) -> Job {
    jobs(store).await.into_iter().find(|it| it.id == id).expect("the job is on record")
}
