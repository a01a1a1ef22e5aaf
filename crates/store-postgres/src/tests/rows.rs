//! Rows that cannot be read, text that PostgreSQL does not hold, and writers that overtake each other.

use health_model::DocumentKey;
use ports::{
    DeleteSelector, DocumentFilter, Enqueue, JobFilter, JobQueue, JobState, Signal, Store, StoreError,
    Trigger,
};
use uuid::Uuid;

use super::database::{TestDatabase, at, batch, insert, run, tool, value};

fn job(id: u128, project: &str, key: &DocumentKey) -> Enqueue {
    Enqueue {
        id: Uuid::from_u128(id),
        service_type: "agrajag".to_owned(),
        tenant_id: "acme".to_owned(),
        project_id: project.to_owned(),
        key: key.clone(),
        signature: "http_500".to_owned(),
        key_user: None,
        trigger: Trigger::ToolCallError,
        signal: Signal {
            at: at(1),
            user_id: None,
            session_id: None,
            detail: "a\0b \u{E000}0 \\u0000".to_owned(),
        },
        now: at(1),
    }
}

/// One row that cannot be read hides no other; it is named when asked for, and can be deleted.
#[tokio::test]
async fn a_corrupt_document_hides_no_other() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    let start = store.head().await.expect("a head");
    let keys = [tool("good"), tool("newer"), tool("other_key"), tool("torn")];
    store.commit(&batch(keys.iter().map(insert))).await.expect("the commit");
    let mut connection = database.connect().await;
    run(
        &mut connection,
        "update document set body = '{\"key\": 7}' where tool_name = 'torn';
        update document set format = 99 where tool_name = 'newer';
        update document set body = jsonb_set(body, '{key,tool_name}', '\"good\"') where tool_name = 'other_key'",
    )
    .await;

    let loaded = store.load_containers(&[keys[0].container()]).await.expect("the container loads");
    let tools: Vec<_> = loaded[0].documents.iter().map(|it| it.document.key.tool_name.as_str()).collect();
    assert_eq!(tools, ["good"]);
    let filter = DocumentFilter { tenant_id: "acme".to_owned(), ..DocumentFilter::default() };
    let page = store.list_documents(&filter, None, 2).await.expect("the listing");
    assert_eq!(page.documents.len(), 1);
    assert_eq!(page.next, Some(tool("newer")), "a page goes on behind a row that cannot be read");
    let changes = store.changes(&start, 10).await.expect("the feed").changes;
    assert_eq!(changes.len(), 4);
    assert!(changes.iter().all(|it| it.document.is_some() == (it.key == keys[0])), "{changes:?}");
    for key in &keys[1..] {
        let error = store.load_document(key).await.expect_err("it cannot be read");
        let StoreError::Corrupt { table, key: named, .. } = &error else { panic!("{error:?}") };
        assert_eq!((*table, named), ("document", &key.to_string()));
        let (n_deleted, _) =
            store.delete(&DeleteSelector::One(key.clone()), at(2)).await.expect("the delete");
        assert_eq!(n_deleted, 1);
        assert!(store.load_document(key).await.expect("it answers").is_none());
    }
    database.remove().await;
}

/// A job that cannot be read is given up, so that the queue goes on.
#[tokio::test]
async fn a_corrupt_job_does_not_stop_its_queue() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    let keys = [tool("a"), tool("b")];
    let mut both = batch([]);
    both.jobs = vec![job(1, "essay", &keys[0]), job(2, "essay", &keys[1])];
    store.commit(&both).await.expect("the commit");
    let mut connection = database.connect().await;
    run(&mut connection, "update job set signals = '[{\"at\": \"never\"}]' where tool_name = 'a'").await;

    let claim = store.claim_job(at(2), at(60)).await.expect("the claim").expect("a job is left");
    assert_eq!(claim.job.id, Uuid::from_u128(2));
    assert_eq!(claim.job.signals[0].detail, "a\0b \u{E000}0 \\u0000");
    let state: String =
        value(&mut connection, "select state || ': ' || reason from job where tool_name = 'a'").await;
    assert_eq!(state, "STALE: its row cannot be read");
    let filter = JobFilter { tenant_id: "acme".to_owned(), ..JobFilter::default() };
    let listed = store.list_jobs(&filter, None, 10).await.expect("the listing");
    assert_eq!(listed.iter().map(|it| it.state).collect::<Vec<_>>(), [JobState::Running]);
    database.remove().await;
}

/// A write whose transaction is older than the version that it would replace conflicts, and a delete takes a younger one:
/// versions grow.
#[tokio::test]
async fn versions_grow_even_where_transactions_overtake() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    let key = tool("t");
    let version = store.commit(&batch([insert(&key)])).await.expect("the commit").versions[0];
    // As if a transaction that began after ours had written and ended already.
    let mut connection = database.connect().await;
    let ahead: i64 = value(
        &mut connection,
        "update document set revision = pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 3 returning revision",
    )
    .await;
    let mut write = insert(&key);
    write.expected = Some(ahead.cast_unsigned());
    let error = store.commit(&batch([write.clone()])).await.expect_err("it is older than what it replaces");
    assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");

    let (n_deleted, revision) =
        store.delete(&DeleteSelector::One(key.clone()), at(2)).await.expect("the delete");
    assert_eq!(n_deleted, 1);
    assert!(revision.position > ahead.cast_unsigned() && ahead.cast_unsigned() > version);
    let again = store.commit(&batch([insert(&key)])).await.expect("the commit").versions[0];
    assert!(again > revision.position);
    database.remove().await;
}

/// Versions that no row can have conflict, whether there is a row or not.
#[tokio::test]
async fn impossible_versions_conflict() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    store.commit(&batch([insert(&tool("there"))])).await.expect("the commit");
    for name in ["there", "absent"] {
        for expected in [0, 1, u64::MAX, i64::MAX as u64] {
            let mut write = insert(&tool(name));
            write.expected = Some(expected);
            let error = store.commit(&batch([write])).await.expect_err("no row has it");
            assert!(matches!(error, StoreError::Conflict { .. }), "{error:?}");
        }
    }
    assert!(store.load_document(&tool("absent")).await.expect("it answers").is_none());
    database.remove().await;
}

/// An id that was enqueued before is an error of the caller, not of the database.
#[tokio::test]
async fn a_job_id_is_used_once() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    let mut first = batch([]);
    first.jobs = vec![job(1, "essay", &tool("a"))];
    store.commit(&first).await.expect("the commit");
    let mut second = batch([insert(&tool("b"))]);
    second.jobs = vec![job(1, "essay", &tool("b"))];
    let error = store.commit(&second).await.expect_err("the id is taken");
    assert!(matches!(error, StoreError::Other { .. }), "{error:?}");
    assert!(store.load_document(&tool("b")).await.expect("it answers").is_none());
    database.remove().await;
}
