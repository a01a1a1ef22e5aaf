//! Another history, another epoch.

use ports::{Store, StoreError};

use super::database::{TestDatabase, batch, insert, run, tool, value};

/// A logical restore keeps positions of a cluster whose transaction ids were far ahead.
#[tokio::test]
async fn a_restored_store_has_another_epoch_and_a_working_feed() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    let before =
        store.commit(&batch([insert(&tool("a")), insert(&tool("b"))])).await.expect("the commit").revision;
    store.close().await;

    let mut connection = database.connect().await;
    run(
        &mut connection,
        "update store set home = 'elsewhere', feed_floor = 8000000000;
        update document set revision = 9000000000 where tool_name = 'a'",
    )
    .await;
    let store = database.open().await;
    let head = store.head().await.expect("a head");
    assert_ne!(head.epoch, before.epoch);
    let ids: i64 =
        value(&mut connection, "select pg_snapshot_xmax(pg_current_snapshot())::text::bigint").await;
    assert!(head.position < ids.cast_unsigned(), "{head} is in the future of {ids}");
    let error = store.changes(&before, 10).await.expect_err("it is of another epoch");
    assert!(matches!(error, StoreError::RevisionTooOld { .. }), "{error:?}");

    let loaded = store.load_document(&tool("a")).await.expect("it answers").expect("it is there");
    let mut write = insert(&tool("a"));
    write.expected = Some(loaded.version);
    let committed = store.commit(&batch([write])).await.expect("the version is current");
    let changes = store.changes(&head, 10).await.expect("the feed goes on");
    assert_eq!(changes.changes.len(), 1);
    assert_eq!(changes.next, committed.revision);
    database.remove().await;
}

/// A failover is seen by the first connection to the new primary, without a start of the server.
#[tokio::test]
async fn a_new_history_is_seen_by_a_running_store() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    let before = store.head().await.expect("a head");
    let mut connection = database.connect().await;
    run(&mut connection, "update store set home = 'the old primary'").await;
    // What a failover does to connections.
    run(
        &mut connection,
        "select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'",
    )
    .await;
    let after = store.head().await.expect("the store connects again");
    assert_ne!(after.epoch, before.epoch);
    let stored: String = value(&mut connection, "select epoch::text from store").await;
    assert_eq!(stored, after.epoch);
    database.remove().await;
}
