//! What only the inside can bring about: rows that went bad, calls that are dropped half way, spans.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use health_model::document::DOCUMENT_FORMAT;
use health_model::vocabulary::Scope;
use health_model::{Document, DocumentKey, Instant};
use ports::{
    Batch, DeleteSelector, DocumentFilter, DocumentWrite, Enqueue, EnqueueOutcome, JobFilter, JobQueue,
    JobState, Revision, Signal, Store, StoreError, Trigger,
};
use sqlx::AssertSqlSafe;
use tempfile::TempDir;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use uuid::Uuid;

use crate::{SqliteOptions, SqliteStore};

async fn fresh() -> (TempDir, SqliteStore) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::open(&path, SqliteOptions::default()).await.expect("the store opens");
    (directory, store)
}

fn at(seconds: i64) -> Instant {
    Instant::from_timestamp(1_767_600_000 + seconds, 0).expect("a valid instant")
}

fn tool(name: &str) -> DocumentKey {
    DocumentKey {
        tenant_id: "acme".to_owned(),
        scope: Scope::Project,
        scope_id: "essay".to_owned(),
        tool_name: name.to_owned(),
    }
}

fn insert(name: &str) -> Batch {
    let document = Document::new(tool(name), at(0));
    Batch { documents: vec![DocumentWrite { expected: None, document }], ..Batch::default() }
}

fn job(n: u64, project: &str) -> Enqueue {
    Enqueue {
        id: Uuid::from_u64_pair(0x7000 + n, 0x8000_0000_0000_0000),
        service_type: "agrajag".to_owned(),
        tenant_id: "acme".to_owned(),
        project_id: project.to_owned(),
        key: DocumentKey { scope_id: project.to_owned(), ..tool("t") },
        signature: "http_500".to_owned(),
        key_user: None,
        trigger: Trigger::ToolCallError,
        signal: Signal { at: at(0), user_id: None, session_id: None, detail: format!("signal {n}") },
        now: at(0),
    }
}

async fn vandalise(store: &SqliteStore, sql: &str) {
    let done =
        sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&store.writer).await.expect("the statement runs");
    assert_eq!(done.rows_affected(), 1);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_hurts_no_other() {
    let newer = format!("format = {}", DOCUMENT_FORMAT + 1);
    for damage in
        ["body = 'not json'", "body = '{}'", "body = ''", &newer, "body = replace(body, 'acme', 'bolt')"]
    {
        let (_directory, store) = fresh().await;
        let start = store.head().await.expect("a head");
        for name in ["a", "bad", "c"] {
            store.commit(&insert(name)).await.expect("the commit");
        }
        vandalise(&store, &format!("update documents set {damage} where tool_name = 'bad'")).await;
        let bad = tool("bad");

        let error = store.load_document(&bad).await.expect_err("it cannot be read");
        assert!(
            matches!(&error, StoreError::Corrupt { table: "documents", key, source: Some(_) } if *key == bad.to_string()),
            "{damage}: {error:?}"
        );
        let loaded = store.load_containers(&[bad.container()]).await.expect("the others load");
        let names: Vec<_> = loaded[0].documents.iter().map(|it| &it.document.key.tool_name).collect();
        assert_eq!(names, ["a", "c"], "{damage}");

        let filter = DocumentFilter { tenant_id: "acme".to_owned(), ..DocumentFilter::default() };
        let mut listed = Vec::new();
        let mut after = None;
        loop {
            let page = store.list_documents(&filter, after.as_ref(), 1).await.expect("a page");
            listed.extend(page.documents.into_iter().map(|it| it.document.key.tool_name));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, ["a", "c"], "{damage}: a list goes on behind it");
        let changes = store.changes(&start, 10).await.expect("the feed goes on");
        let told: Vec<_> =
            changes.changes.iter().map(|it| (it.key.tool_name.as_str(), it.document.is_some())).collect();
        assert_eq!(told, [("a", true), ("bad", false), ("c", true)], "{damage}: its copies are dropped");
        assert_eq!(changes.next, store.head().await.expect("a head"));

        let error = store.commit(&insert("bad")).await.expect_err("a conflict would be retried for ever");
        assert!(matches!(error, StoreError::Corrupt { .. }), "{damage}: {error:?}");
        let (n, _) = store.delete(&DeleteSelector::One(bad.clone()), at(1)).await.expect("a delete mends it");
        assert_eq!(n, 1);
        store.commit(&insert("bad")).await.expect("the key is free");
    }
}

#[tokio::test]
async fn a_job_that_cannot_be_read_does_not_stop_the_queue() {
    let (_directory, store) = fresh().await;
    for n in 1..=2 {
        let batch = Batch { jobs: vec![job(n, "essay")], ..Batch::default() };
        store.commit(&batch).await.expect("the commit");
        // The second is of another tool, so that it is a job of its own.
        vandalise(&store, &format!("update jobs set tool_name = 't{n}' where tool_name = 't'")).await;
    }
    vandalise(&store, "update jobs set signals = '[' where tool_name = 't1'").await;
    let claim = store.claim_job(at(10), at(100)).await.expect("a claim").expect("the readable one");
    assert_eq!(claim.job.key.tool_name, "t2");
    assert!(store.complete_job(claim.job.id, claim.token, None, at(20)).await.expect("an answer"));
    assert_eq!(store.claim_job(at(30), at(100)).await.expect("a claim"), None);

    vandalise(&store, "update jobs set signals = '[]' where tool_name = 't1'").await;
    let filter =
        JobFilter { tenant_id: "acme".to_owned(), state: Some(JobState::Stale), ..JobFilter::default() };
    let given_up = store.list_jobs(&filter, None, 10).await.expect("the jobs");
    assert_eq!(given_up.len(), 1);
    assert_eq!(given_up[0].reason.as_deref(), Some(crate::jobs::UNREADABLE));
}

#[tokio::test]
async fn signals_that_cannot_be_read_do_not_keep_a_failure_out() {
    let (_directory, store) = fresh().await;
    let batch = |n| Batch { jobs: vec![job(n, "essay")], ..Batch::default() };
    store.commit(&batch(1)).await.expect("the commit");
    vandalise(&store, "update jobs set signals = '['").await;
    let outcomes = store.commit(&batch(2)).await.expect("the commit").jobs;
    assert_eq!(outcomes, [EnqueueOutcome::Coalesced(job(1, "essay").id)]);
    let claim = store.claim_job(at(10), at(100)).await.expect("a claim").expect("the job");
    assert_eq!((claim.job.signals.len(), claim.job.signal_count), (1, 2));
    assert_eq!(claim.job.signals[0].detail, "signal 2");
}

/// A file that was put back from a copy has forgotten positions that readers know: they must not wait for them in silence.
#[tokio::test]
async fn a_position_that_was_never_given_out_is_of_another_file() {
    let (_directory, store) = fresh().await;
    store.commit(&insert("t")).await.expect("the commit");
    let head = store.head().await.expect("a head");
    let future = Revision { position: head.position + 1, ..head };
    let error = store.changes(&future, 10).await.expect_err("it was never given out");
    assert!(matches!(error, StoreError::RevisionTooOld { revision } if revision == future));
}

/// A caller that goes away in the middle of a commit leaves no lock and no half of a transaction behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_commit_is_whole_or_nothing() {
    let (_directory, store) = fresh().await;
    let mut n_cut = 0;
    for n_polls in 0..60 {
        let pair = [format!("{n_polls}-a"), format!("{n_polls}-b")];
        let mut batch = insert(&pair[0]);
        batch.documents.extend(insert(&pair[1]).documents);
        {
            let mut commit = pin!(store.commit(&batch));
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..n_polls {
                if commit.as_mut().poll(&mut context).is_ready() {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_micros(50)).await;
            }
        }
        store.commit(&insert(&format!("{n_polls}-after"))).await.expect("nothing is locked");
        let a = store.load_document(&tool(&pair[0])).await.expect("it loads");
        let b = store.load_document(&tool(&pair[1])).await.expect("it loads");
        assert_eq!(a.is_some(), b.is_some());
        n_cut += usize::from(a.is_none());
    }
    assert!(n_cut > 0, "some were dropped before they were committed");
}

/// Names of spans, as they begin.
struct Spans(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Spans {
    fn on_new_span(
        &self,
        attributes: &tracing::span::Attributes<'_>,
        _id: &tracing::span::Id,
        _context: tracing_subscriber::layer::Context<'_, S>,
    ) {
        let metadata = attributes.metadata();
        if metadata.target().starts_with("store_sqlite") {
            assert_eq!(*metadata.level(), tracing::Level::DEBUG);
            self.0.lock().expect("no panic").push(metadata.name().to_owned());
        }
    }
}

#[tokio::test]
async fn statements_run_in_spans() {
    let names = Arc::new(Mutex::new(Vec::new()));
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(Spans(Arc::clone(&names))));
    let (_directory, store) = fresh().await;
    store.commit(&insert("t")).await.expect("the commit");
    store.load_containers(&[tool("t").container()]).await.expect("the container loads");
    store.claim_job(at(0), at(1)).await.expect("a claim");
    let names = names.lock().expect("no panic").clone();
    assert_eq!(names, ["db.batch.commit", "db.containers.load", "db.job.claim"]);
}
