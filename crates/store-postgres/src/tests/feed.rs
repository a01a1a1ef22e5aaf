//! The feed beside transactions in flight.

use std::time::Duration;

use ports::{DeleteSelector, Store};

use super::database::{TestDatabase, at, batch, insert, run, tool, value};
use crate::feed;

/// A commit that began earlier and ends later is not passed over, neither by readers nor by the head.
#[tokio::test]
async fn a_transaction_in_flight_holds_the_feed() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    let start = store.commit(&batch([insert(&tool("first"))])).await.expect("the commit").revision;

    // Another server's commit, stopped in the middle: it has an id, and a row that nobody sees.
    let mut slow = database.connect().await;
    run(&mut slow, feed::BEGIN).await;
    run(
        &mut slow,
        "insert into document (tenant_id, scope, scope_id, tool_name, revision, replaced, format, body, updated_at)
        select tenant_id, scope, scope_id, 'slow', pg_current_xact_id()::text::bigint, 0, format,
            jsonb_set(body, '{key,tool_name}', '\"slow\"'), updated_at
        from document where tool_name = 'first'",
    )
    .await;
    let fast = store.commit(&batch([insert(&tool("fast"))])).await.expect("the commit").revision;

    assert_eq!(store.head().await.expect("a head"), start);
    let page = store.changes(&start, 10).await.expect("the feed");
    let tools: Vec<_> = page.changes.iter().map(|it| it.key.tool_name.as_str()).collect();
    assert_eq!((tools, page.more), (vec!["fast"], false), "what is visible is told");
    assert_eq!(page.next, start, "but nobody goes past what is in flight");
    assert!(store.load_document(&tool("fast")).await.expect("it answers").is_some(), "loads do not wait");

    run(&mut slow, "commit").await;
    let page = store.changes(&start, 10).await.expect("the feed");
    let tools: Vec<_> = page.changes.iter().map(|it| it.key.tool_name.as_str()).collect();
    assert_eq!(tools, ["slow", "fast"], "in the order of their ids");
    assert_eq!(page.next, fast);
    assert_eq!(store.head().await.expect("a head"), fast);
    database.remove().await;
}

/// A write below the horizon that was followed by one above it: who goes past the first is told the second.
#[tokio::test]
async fn a_write_is_not_hidden_by_a_later_one_above_the_horizon() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    let start = store.head().await.expect("a head");
    let first = store.commit(&batch([insert(&tool("t"))])).await.expect("the commit");
    let beside = store.commit(&batch([insert(&tool("beside"))])).await.expect("the commit");
    let mut slow = database.connect().await;
    run(&mut slow, feed::BEGIN).await;
    let _: i64 = value(&mut slow, "select pg_current_xact_id()::text::bigint").await;
    let mut write = insert(&tool("t"));
    write.expected = Some(first.versions[0]);
    let second = store.commit(&batch([write])).await.expect("the commit");

    for limit in [1, 10] {
        let mut place = start.clone();
        let mut told = Vec::new();
        loop {
            let page = store.changes(&place, limit).await.expect("the feed");
            told.extend(page.changes.into_iter().map(|it| (it.key.tool_name, it.version)));
            place = page.next;
            if !page.more {
                break;
            }
        }
        assert_eq!(place, beside.revision, "past the first write of `t`");
        let expected = [("beside".to_owned(), beside.versions[0]), ("t".to_owned(), second.versions[0])];
        assert_eq!(told, expected, "pages of {limit}");
    }
    run(&mut slow, "rollback").await;
    assert_eq!(store.changes(&start, 10).await.expect("the feed").next, second.revision);
    database.remove().await;
}

/// Transactions that are not of this store, in this or another database of the cluster, hold nothing up.
#[tokio::test]
async fn foreign_transactions_do_not_hold_the_feed() {
    let database = TestDatabase::create().await;
    let elsewhere = TestDatabase::create().await;
    let store = database.open().await;
    let start = store.head().await.expect("a head");
    let mut here = database.connect().await;
    let mut there = super::database::connect(&elsewhere.url).await;
    for foreign in [&mut here, &mut there] {
        run(foreign, "begin; create temporary table held (x integer)").await;
        let _: i64 = value(foreign, "select pg_current_xact_id()::text::bigint").await;
    }
    let committed = store.commit(&batch([insert(&tool("t"))])).await.expect("the commit").revision;
    let oldest: i64 = value(&mut here, "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint").await;
    assert!(oldest.cast_unsigned() < committed.position, "the snapshot's xmin is held back");

    assert_eq!(store.head().await.expect("a head"), committed);
    let page = store.changes(&start, 10).await.expect("the feed");
    assert_eq!((page.changes.len(), page.next), (1, committed));
    database.remove().await;
    elsewhere.remove().await;
}

/// A sweep takes no tombstone above a transaction in flight: the feed's floor would pass it.
#[tokio::test]
async fn a_sweep_leaves_tombstones_above_a_transaction_in_flight() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    store.commit(&batch([insert(&tool("t"))])).await.expect("the commit");
    let mut slow = database.connect().await;
    run(&mut slow, feed::BEGIN).await;
    let _: i64 = value(&mut slow, "select pg_current_xact_id()::text::bigint").await;
    let (n_deleted, deleted) =
        store.delete(&DeleteSelector::One(tool("t")), at(1)).await.expect("the delete");
    assert_eq!(n_deleted, 1);
    assert_eq!(store.sweep(None, at(2), at(2)).await.expect("the sweep"), 0);
    run(&mut slow, "rollback").await;
    assert_eq!(store.sweep(None, at(2), at(2)).await.expect("the sweep"), 1);
    assert_eq!(store.head().await.expect("a head"), deleted);
    database.remove().await;
}

/// Another server's commit wakes who waits, long before the poll would.
#[tokio::test]
async fn another_server_wakes_who_waits() {
    let database = TestDatabase::create().await;
    let (reader, writer) = (database.open().await, database.open().await);
    let mut head = reader.head().await.expect("a head");
    // The first rounds may come before the reader listens.
    let mut n_woken = 0;
    for n in 0..20 {
        let waiting = reader.wait_for_changes(&head, Duration::from_secs(20));
        let (waited, committed) =
            tokio::join!(tokio::time::timeout(Duration::from_secs(10), waiting), async {
                // So that the reader has looked and waits: the other order is woken by looking.
                tokio::time::sleep(Duration::from_millis(20)).await;
                writer.commit(&batch([insert(&tool(&format!("t{n}")))])).await.expect("the commit")
            });
        if matches!(waited, Ok(Ok(()))) {
            n_woken += 1;
        }
        head = committed.revision;
        if n_woken == 3 {
            break;
        }
    }
    assert_eq!(n_woken, 3);
    database.remove().await;
}

/// A page that ends inside a transaction is filled up with it.
#[tokio::test]
async fn a_page_takes_the_whole_of_its_last_transaction() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    let start = store.head().await.expect("a head");
    for n in 0..3 {
        let keys: Vec<_> = (0..5).map(|m| tool(&format!("t{n}{m}"))).collect();
        store.commit(&batch(keys.iter().map(insert))).await.expect("the commit");
    }
    let mut sizes = Vec::new();
    let mut next = start;
    loop {
        let page = store.changes(&next, 6).await.expect("the feed");
        sizes.push(page.changes.len());
        next = page.next;
        if !page.more {
            break;
        }
    }
    assert_eq!(sizes, [10, 5]);
    database.remove().await;
}
