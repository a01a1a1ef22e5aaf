//! Files that cannot be used: each is an error that names the path and the remedy, and nothing in it is changed.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use health_model::vocabulary::Scope;
use health_model::{Document, DocumentKey, Instant};
use ports::{Batch, Committed, DocumentWrite, Store, StoreError};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use store_sqlite::{SqliteOptions, SqliteStore};

async fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, SqliteOptions::default()).await
}

async fn raw(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .connect()
        .await
        .expect("SQLite opens it")
}

async fn put(store: &SqliteStore, name: &str, note: &str) -> Result<Committed, StoreError> {
    let key = DocumentKey {
        tenant_id: "acme".to_owned(),
        scope: Scope::Project,
        scope_id: "essay".to_owned(),
        tool_name: name.to_owned(),
    };
    let now = Instant::from_timestamp(1_767_600_000, 0).expect("a valid instant");
    let mut document = Document::new(key, now);
    document.connection =
        Some(health_model::document::Connection { id: note.to_owned(), sequence: 1, at: now, open: true });
    let batch = Batch { documents: vec![DocumentWrite { expected: None, document }], ..Batch::default() };
    store.commit(&batch).await
}

/// An operator finds the path and a remedy in the message; the driver's words are its source.
fn names(error: &StoreError, path: &Path, remedy: &str) {
    let text = error.to_string();
    assert!(text.contains(&format!("`{}`", path.display())), "no path in: {text}");
    assert!(text.contains(remedy), "no `{remedy}` in: {text}");
    if let Some(source) = error.source() {
        assert!(!text.contains(&source.to_string()), "the source is told twice: {text}");
    }
}

fn is_unavailable(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { .. })
}

fn is_other(error: &StoreError) -> bool {
    matches!(error, StoreError::Other { .. })
}

#[tokio::test]
async fn a_missing_file_is_made_and_found_again() {
    let directory = tempfile::tempdir().expect("a directory");
    // Names that SQLite would take for something else.
    for name in ["store.db", ":memory:", "file:a?mode=memory", "with space & ümlaut#1%20.db"] {
        let path = directory.path().join(name);
        let store = open(&path).await.expect("the store opens");
        put(&store, "t", "").await.expect("the commit");
        let info = store.info().await.expect("info");
        assert_eq!((info.kind, info.schema_version, info.min_reader), ("sqlite", 2, 1));
        store.close().await;
        assert!(path.is_file(), "{name}");
        assert!(!path.with_file_name(format!("{name}-wal")).exists(), "closing takes the log into the file");
        let again = open(&path).await.expect("the store opens again");
        assert_eq!(again.info().await.expect("info"), info);
        assert_eq!(again.head().await.expect("a head").position, 1);
    }
}

#[tokio::test]
async fn every_new_store_has_an_identity_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let a = open(&directory.path().join("a.db")).await.expect("the store opens");
    let b = open(&directory.path().join("b.db")).await.expect("the store opens");
    assert_ne!(a.info().await.expect("info").epoch, b.info().await.expect("info").epoch);
}

#[tokio::test]
async fn a_path_that_is_no_file_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    std::fs::write(&file, "text").expect("a file");
    let missing = directory.path().join("missing").join("store.db");
    let error = open(&missing).await.expect_err("the directory is missing");
    assert!(is_unavailable(&error));
    names(&error, &missing, "create `");
    assert!(!missing.parent().expect("a parent").exists(), "it is not made: the path may be mistyped");

    let error = open(directory.path()).await.expect_err("it is a directory");
    assert!(is_unavailable(&error));
    names(&error, directory.path(), "path of a file in it");

    let below = file.join("store.db");
    let error = open(&below).await.expect_err("a file is no directory");
    assert!(is_unavailable(&error));
    names(&error, &below, "not a directory");

    let error = open(&PathBuf::new()).await.expect_err("no path");
    assert!(is_unavailable(&error), "{error:?}");
    assert!(error.to_string().contains("needs the path of a file"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    for content in [
        &b"just some notes, longer than the header of a database file would be: 100 bytes and then some"[..],
        &[0xff; 8_192],
    ] {
        let path = directory.path().join("notes.txt");
        std::fs::write(&path, content).expect("a file");
        let error = open(&path).await.expect_err("not a database");
        assert!(is_other(&error), "{error:?}");
        names(&error, &path, "is not a SQLite database: name another file");
        assert_eq!(std::fs::read(&path).expect("it is there"), content);
    }
}

#[tokio::test]
async fn the_database_of_another_program_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    for statement in ["create table cookies (id integer)", "pragma application_id = 42"] {
        let path = directory.path().join("other.db");
        let _ = std::fs::remove_file(&path);
        let mut connection = raw(&path).await;
        sqlx::raw_sql(statement).execute(&mut connection).await.expect("the statement runs");
        let error = open(&path).await.expect_err("it is of another program");
        assert!(is_other(&error), "{error:?}");
        names(&error, &path, "another program: name another file");
        let tables: Vec<String> = sqlx::query_scalar("select name from sqlite_schema")
            .fetch_all(&mut connection)
            .await
            .expect("it reads");
        assert!(tables.iter().all(|it| it == "cookies"), "{tables:?}");
    }
}

#[tokio::test]
async fn a_damaged_file_is_named_as_such() {
    let directory = tempfile::tempdir().expect("a directory");
    let whole = directory.path().join("whole.db");
    let store = open(&whole).await.expect("the store opens");
    for n in 0..200 {
        put(&store, &format!("t{n}"), &"x".repeat(500)).await.expect("the commit");
    }
    store.close().await;
    let bytes = std::fs::read(&whole).expect("the file");
    let path = directory.path().join("damaged.db");
    let mut n_found = 0;
    // Page after page of noise, and files that end too early: wherever it hits, an error or a right answer, never a panic.
    for page in 0..bytes.len() / 4_096 {
        for cut in [false, true] {
            let mut damaged = bytes.clone();
            if cut {
                damaged.truncate(page * 4_096 + 100);
            } else {
                let start = if page == 0 { 100 } else { page * 4_096 };
                damaged[start..(page + 1) * 4_096].fill(0xa5);
            }
            std::fs::write(&path, &damaged).expect("a file");
            for suffix in ["-wal", "-shm"] {
                let _ = std::fs::remove_file(directory.path().join(format!("damaged.db{suffix}")));
            }
            let result = async {
                let store = open(&path).await?;
                let head = store.head().await?;
                store.changes(&ports::Revision { position: 0, ..head }, 1_000).await?;
                put(&store, "new", "").await?;
                store.close().await;
                Ok::<_, StoreError>(())
            };
            if let Err(error) = result.await {
                n_found += 1;
                // A cut into the first page leaves a text of 100 bytes; noise may look like any fault.
                let text = format!("{error} {:?}", error.source());
                assert!(text.contains("damaged.db") || matches!(error, StoreError::Corrupt { .. }), "{text}");
            }
        }
    }
    assert!(n_found > 5, "{n_found} of the damages were met");
}

#[tokio::test]
async fn a_newer_schema_is_read_if_it_allows_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = open(&path).await.expect("the store opens");
    put(&store, "t", "").await.expect("the commit");
    store.close().await;

    let mut connection = raw(&path).await;
    sqlx::raw_sql("update agrajag_schema set version = 7").execute(&mut connection).await.expect("it runs");
    let newer = open(&path).await.expect("it needs no newer reader");
    let info = newer.info().await.expect("info");
    assert_eq!((info.schema_version, info.min_reader), (7, 1));
    assert_eq!(newer.head().await.expect("a head").position, 1);
    put(&newer, "u", "").await.expect("the commit");
    newer.close().await;

    sqlx::raw_sql("update agrajag_schema set min_reader = 5")
        .execute(&mut connection)
        .await
        .expect("it runs");
    let error = open(&path).await.expect_err("it needs a newer reader");
    assert!(matches!(error, StoreError::TooNew { min_reader: 5, supported: 2 }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains('5') && text.contains('2'), "{text}");
}

/// A file of the first schema is brought up to date and loses nothing.
#[tokio::test]
async fn an_older_schema_is_brought_up_to_date() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = open(&path).await.expect("the store opens");
    put(&store, "t", "").await.expect("the commit");
    store.close().await;
    let mut connection = raw(&path).await;
    sqlx::raw_sql("drop table failures; update agrajag_schema set version = 1")
        .execute(&mut connection)
        .await
        .expect("it runs");
    drop(connection);

    let store = open(&path).await.expect("the store opens");
    assert_eq!(store.info().await.expect("info").schema_version, 2);
    assert_eq!(store.head().await.expect("a head").position, 1);
    let failure = ports::FailureEntry {
        id: uuid::Uuid::nil(),
        tenant_id: "acme".to_owned(),
        project_id: "p".to_owned(),
        at: health_model::Instant::UNIX_EPOCH,
        content: String::new(),
    };
    store.append_failures(std::slice::from_ref(&failure), 1).await.expect("the append");
    assert_eq!(store.list_failures("acme", None, None, 1).await.expect("a page").entries, [failure]);
}

/// R38…R41: the indexes are there.
#[tokio::test]
async fn the_schema_has_the_indexes_of_the_requirements() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let _store = open(&path).await.expect("the store opens");
    let mut connection = raw(&path).await;
    for (index, is_unique, columns) in [
        ("documents_by_key", true, "tenant_id scope scope_id tool_name"), // R38, C25
        ("documents_by_status", false, "tenant_id status scope scope_id tool_name"), // R39
        ("documents_by_tool", false, "tenant_id tool_name scope scope_id status"), // R40
        ("documents_by_cooldown", false, "next_cooldown_at"),             // R41
    ] {
        let found: Vec<String> = sqlx::query_scalar("select name from pragma_index_info(?1) order by seqno")
            .bind(index)
            .fetch_all(&mut connection)
            .await
            .expect("it reads");
        assert_eq!(found.join(" "), columns, "{index}");
        let unique: bool =
            sqlx::query_scalar("select \"unique\" from pragma_index_list('documents') where name = ?1")
                .bind(index)
                .fetch_one(&mut connection)
                .await
                .expect("it reads");
        assert_eq!(unique, is_unique, "{index}");
    }
}

#[tokio::test]
async fn a_full_disk_fails_the_write_and_keeps_what_was_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let options = SqliteOptions { max_bytes: Some(300_000), ..SqliteOptions::default() };
    let store = SqliteStore::open(&path, options).await.expect("the store opens");
    let mut n_written = 0;
    let error = loop {
        match put(&store, &format!("t{n_written}"), &"x".repeat(5_000)).await {
            Ok(_) => n_written += 1,
            Err(error) => break error,
        }
        assert!(n_written < 1_000, "there is a limit");
    };
    assert!(n_written > 10);
    assert!(is_unavailable(&error), "{error:?}");
    names(&error, &path, "free some on its disk");
    assert_eq!(store.head().await.expect("it reads on").position, n_written);
    put(&store, "again", &"x".repeat(5_000)).await.expect_err("it is still full");
    store.close().await;

    let roomy = open(&path).await.expect("the store opens");
    assert_eq!(roomy.head().await.expect("a head").position, n_written);
    put(&roomy, "again", &"x".repeat(5_000)).await.expect("there is room");
}

#[tokio::test]
async fn a_file_that_another_process_keeps_locked_is_unavailable() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let options = SqliteOptions { busy_timeout: Duration::from_millis(100), ..SqliteOptions::default() };
    let store = SqliteStore::open(&path, options.clone()).await.expect("the store opens");
    put(&store, "t", "").await.expect("the commit");

    let mut other = raw(&path).await;
    sqlx::raw_sql("begin immediate").execute(&mut other).await.expect("it locks");
    for error in [
        put(&store, "u", "").await.map(drop).expect_err("it is locked"),
        SqliteStore::open(&path, options).await.map(drop).expect_err("it is locked"),
    ] {
        assert!(is_unavailable(&error), "{error:?}");
        names(&error, &path, "another process has locked");
    }
    assert_eq!(store.head().await.expect("readers are not kept out").position, 1);
    sqlx::raw_sql("rollback").execute(&mut other).await.expect("it unlocks");
    put(&store, "u", "").await.expect("the lock is gone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_open_a_new_file_at_once_make_one_store() {
    let directory = tempfile::tempdir().expect("a directory");
    for round in 0..5 {
        let path = directory.path().join(format!("store{round}.db"));
        let openers = (0..8).map(|n| {
            let path = path.clone();
            tokio::spawn(async move {
                let store = open(&path).await.expect("the store opens");
                put(&store, &format!("t{n}"), "").await.expect("the commit");
                store.info().await.expect("info").epoch
            })
        });
        let mut epochs = Vec::new();
        for epoch in futures::future::join_all(openers).await {
            epochs.push(epoch.expect("the task ends"));
        }
        epochs.dedup();
        assert_eq!(epochs.len(), 1);
        let store = open(&path).await.expect("the store opens");
        assert_eq!(store.head().await.expect("a head").position, 8);
    }
}
