//! The feed beside transactions in flight.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ports::{DeleteSelector, DocumentFilter, DocumentWrite, Revision, Store, StoreError};

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

/// The same for a commit of one document, which is a single statement: it waits for a row, its id already given to it.
#[tokio::test]
async fn a_single_statement_in_flight_holds_the_feed() {
    let database = TestDatabase::create().await;
    let store = Arc::new(database.open().await);
    for (names, n_told) in [(["update", "beside"], 2), (["insert", "beside too"], 2)] {
        let held = insert(&tool(names[0]));
        let version = store.commit(&batch([held.clone()])).await.expect("the commit").versions[0];
        let expected = if names[0] == "insert" {
            store.delete(&DeleteSelector::One(held.document.key.clone()), at(1)).await.expect("the delete");
            None
        } else {
            Some(version)
        };
        let start = store.head().await.expect("a head");
        let mut holder = database.connect().await;
        run(&mut holder, &format!("begin; select from document where tool_name = '{}' for update", names[0]))
            .await;
        let waiting = tokio::spawn({
            let (store, write) = (Arc::clone(&store), DocumentWrite { expected, ..held });
            async move { store.commit(&batch([write])).await.expect("the commit").revision }
        });
        let n_waiting = "select count(*) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and backend_xid is not null";
        // Not over the holder's connection: within a transaction the view does not change.
        let mut watcher = database.connect().await;
        while value::<i64>(&mut watcher, n_waiting).await == 0 {}

        let fast = store.commit(&batch([insert(&tool(names[1]))])).await.expect("the commit").revision;
        assert_eq!(store.head().await.expect("a head"), start, "{names:?}");
        assert_eq!(store.changes(&start, 10).await.expect("the feed").next, start, "{names:?}");
        run(&mut holder, "rollback").await;
        let slow = waiting.await.expect("the task ends");
        assert!(start.position < slow.position && slow.position < fast.position);
        let page = store.changes(&start, 10).await.expect("the feed");
        assert_eq!((page.changes.len(), page.next), (n_told, fast));
    }
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

/// Two servers write the same keys, deletes among them, while strangers hold transactions open and a third server reads:
/// whoever has reached a commit has seen it, or what replaced it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_feed_is_complete_over_servers_and_beside_strangers() {
    let database = TestDatabase::create().await;
    let acknowledged: Arc<Mutex<BTreeMap<String, (u64, Revision)>>> = Arc::default();
    let mut writers = Vec::new();
    for server in 0..2_u64 {
        let store = Arc::new(database.open().await);
        for writer in 0..4_u64 {
            let (store, acknowledged) = (Arc::clone(&store), Arc::clone(&acknowledged));
            writers.push(tokio::spawn(async move {
                for round in 0..40 {
                    let names: Vec<_> = (0..3)
                        .map(|n| format!("t{}", (server + writer * 3 + round * 5 + n * 7) % 9))
                        .collect();
                    let (versions, revision) = if (round + writer) % 10 == 9 {
                        let one = DeleteSelector::One(tool(&names[0]));
                        match store.delete(&one, at(1)).await.expect("the delete") {
                            (0, _) => continue,
                            (_, revision) => (vec![revision.position], revision),
                        }
                    } else {
                        let mut writes = Vec::new();
                        for name in &names {
                            let mut write = insert(&tool(name));
                            let loaded = store.load_document(&write.document.key).await.expect("it answers");
                            write.expected = loaded.map(|it| it.version);
                            writes.push(write);
                        }
                        match store.commit(&batch(writes)).await {
                            Ok(committed) => (committed.versions, committed.revision),
                            Err(StoreError::Conflict { .. }) => continue,
                            Err(error) => panic!("{error:?}"),
                        }
                    };
                    let mut acknowledged = acknowledged.lock().expect("no panic");
                    for (name, version) in names.into_iter().zip(versions) {
                        let newest = acknowledged.entry(name).or_insert((version, revision.clone()));
                        if newest.0 < version {
                            *newest = (version, revision.clone());
                        }
                    }
                }
            }));
        }
    }
    let mut stranger = database.connect().await;
    let strangers = tokio::spawn(async move {
        for _ in 0..100 {
            let sql = "begin; select pg_current_xact_id(); select pg_sleep(0.02); rollback";
            run(&mut stranger, sql).await;
        }
    });

    let reader = database.open().await;
    let mut place = Revision { position: 0, ..reader.head().await.expect("a head") };
    let mut known: BTreeMap<String, (u64, bool)> = BTreeMap::new();
    let mut n_pages = 0;
    loop {
        let is_over = writers.iter().all(|it| it.is_finished());
        // Whatever is acknowledged by now and within reach must be in the page.
        let before = acknowledged.lock().expect("no panic").clone();
        let page = reader.changes(&place, 4).await.expect("the feed");
        n_pages += 1;
        assert!(page.next.position >= place.position);
        place = page.next;
        for change in page.changes {
            let told = known.entry(change.key.tool_name).or_default();
            assert!(told.0 <= change.version, "a version goes back");
            *told = (change.version, change.document.is_some());
        }
        if page.more {
            continue;
        }
        for (name, (version, revision)) in before {
            let told = known.get(&name).map_or(0, |it| it.0);
            let is_reached = revision.position <= place.position;
            assert!(!is_reached || told >= version, "`{name}`: {told} is known, {version} was committed");
        }
        if is_over {
            break;
        }
    }
    for writer in writers {
        writer.await.expect("the writer ends");
    }
    strangers.await.expect("they end");
    assert!(n_pages > 10, "{n_pages}");
    let filter = DocumentFilter { tenant_id: "acme".to_owned(), ..DocumentFilter::default() };
    let there = reader.list_documents(&filter, None, 100).await.expect("the listing").documents;
    let there: Vec<_> = there.into_iter().map(|it| (it.document.key.tool_name, it.version)).collect();
    known.retain(|_, (_, is_there)| *is_there);
    let told: Vec<_> = known.into_iter().map(|(name, (version, _))| (name, version)).collect();
    assert_eq!(told, there);
    database.remove().await;
}
