//! Several processes on one file, and processes that are killed.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use health_model::document::Connection;
use health_model::vocabulary::Scope;
use health_model::{Document, DocumentKey, Instant};
use ports::{Batch, DocumentWrite, Store, StoreError};
use store_sqlite::{SqliteOptions, SqliteStore};

/// Writers at once, and what each adds.
const N_PROCESSES: u64 = 3;
const N_ADDED: u64 = 40;

fn tool(name: &str) -> DocumentKey {
    DocumentKey {
        tenant_id: "acme".to_owned(),
        scope: Scope::Project,
        scope_id: "essay".to_owned(),
        tool_name: name.to_owned(),
    }
}

/// A document that holds a number.
fn numbered(name: &str, number: u64) -> Document {
    let now = Instant::from_timestamp(1_767_600_000, 0).expect("a valid instant");
    let mut document = Document::new(tool(name), now);
    document.connection = Some(Connection { id: "x".repeat(500), sequence: number, at: now, open: true });
    document
}

fn number(document: &Document) -> u64 {
    document.connection.as_ref().map_or(0, |it| it.sequence)
}

async fn open(directory: &Path) -> SqliteStore {
    let options = SqliteOptions { busy_timeout: Duration::from_secs(30), ..SqliteOptions::default() };
    SqliteStore::open(&directory.join("store.db"), options).await.expect("the store opens")
}

/// The directory that a parent named, if this is a child.
fn child_directory() -> Option<PathBuf> {
    std::env::var_os(support::CHILD).map(PathBuf::from)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(future)
}

/// Adds one, again on conflict.
async fn add_one(store: &SqliteStore, name: &str) {
    loop {
        let before = store.load_document(&tool(name)).await.expect("it loads");
        let expected = before.as_ref().map(|it| it.version);
        let document = numbered(name, before.map_or(0, |it| number(&it.document)) + 1);
        let batch = Batch { documents: vec![DocumentWrite { expected, document }], ..Batch::default() };
        match store.commit(&batch).await {
            Ok(_) => return,
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Processes that add to one document lose no update, and the feed of another process tells each version in order.
#[test]
fn processes_lose_no_update() {
    const NAME: &str = "processes_lose_no_update";
    if let Some(directory) = child_directory() {
        block_on(async {
            let store = open(&directory).await;
            for _ in 0..N_ADDED {
                add_one(&store, "shared").await;
            }
            store.close().await;
        });
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    block_on(async {
        let store = open(directory.path()).await;
        let mut at = store.head().await.expect("a head");
        let mut children: Vec<Child> = (0..N_PROCESSES)
            .map(|_| support::child(NAME, directory.path()).stdout(Stdio::null()).spawn().expect("a child"))
            .collect();
        let (mut seen, mut version) = (0, 0);
        while seen < N_PROCESSES * N_ADDED {
            store.wait_for_changes(&at, Duration::from_secs(60)).await.expect("waiting does not fail");
            let page = store.changes(&at, 10).await.expect("the feed");
            assert!(!page.changes.is_empty(), "woken for nothing, or not within a minute, at {seen}");
            for change in page.changes {
                let document = change.document.expect("nothing is deleted");
                assert!(document.version > version && number(&document.document) > seen);
                (seen, version) = (number(&document.document), document.version);
            }
            at = page.next;
        }
        for child in &mut children {
            assert!(child.wait().expect("the child ends").success());
        }
        assert_eq!(seen, N_PROCESSES * N_ADDED);
    });
}

/// DESIGN §2.5: what a killed process had been told is committed is there afterwards, and a transaction is whole.
#[test]
fn a_killed_process_loses_nothing_that_was_committed() {
    const NAME: &str = "a_killed_process_loses_nothing_that_was_committed";
    if let Some(directory) = child_directory() {
        block_on(async {
            let store = open(&directory).await;
            let first = store.load_document(&tool("a")).await.expect("it loads");
            let mut n = first.map_or(0, |it| number(&it.document));
            loop {
                n += 1;
                let mut batch = Batch::default();
                for name in ["a", "b"] {
                    let expected =
                        store.load_document(&tool(name)).await.expect("it loads").map(|it| it.version);
                    batch.documents.push(DocumentWrite { expected, document: numbered(name, n) });
                }
                store.commit(&batch).await.expect("nobody else writes");
                let mut out = std::io::stdout().lock();
                writeln!(out, "committed {n}").and_then(|()| out.flush()).expect("the parent reads");
            }
        });
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let mut committed = 0;
    for round in 0..12_usize {
        let mut child =
            support::child(NAME, directory.path()).stdout(Stdio::piped()).spawn().expect("a child");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let numbers =
            lines.map_while(Result::ok).filter_map(|it| it.strip_prefix("committed ")?.parse::<u64>().ok());
        // Killed after another number of commits each time, somewhere in the next one.
        let mut n_left = 1 + round * 7;
        for number in numbers {
            committed = number;
            n_left = n_left.saturating_sub(1);
            if n_left == 0 {
                child.kill().expect("it is killed");
            }
        }
        child.wait().expect("the child ends");
        assert_eq!(n_left, 0, "the child ended by itself");
        block_on(async {
            let store = open(directory.path()).await;
            let mut found = Vec::new();
            for name in ["a", "b"] {
                let document =
                    store.load_document(&tool(name)).await.expect("it loads").expect("it was committed");
                found.push(number(&document.document));
            }
            assert!(found[0] >= committed, "round {round}: {committed} was committed, {} is there", found[0]);
            assert!(found[0] <= committed + 1, "no more than one commit was under way");
            assert_eq!(found[0], found[1], "a transaction is whole");
            store.close().await;
        });
    }
}
