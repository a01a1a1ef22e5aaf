//! The database is away, comes back, or refuses.

use std::time::{Duration, Instant as Tick};

use ports::{Store, StoreError};

use super::database::{TestDatabase, batch, connect, insert, run, tool, url_of, value};
use crate::{Options, PostgresStore};

fn reason(error: StoreError) -> String {
    match error {
        StoreError::Unavailable { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

/// Host, database and remedy in every reason, and no password.
#[tokio::test]
async fn reasons_name_what_is_wrong_and_what_helps() {
    let database = TestDatabase::create().await;
    let mut connection = database.connect().await;
    let name: String = value(&mut connection, "select current_database()::text").await;
    let role = format!("{name}_refused");
    run(&mut connection, &format!("drop role if exists {role}; create role {role} nologin")).await;

    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = nobody.local_addr().expect("its number").port();
    drop(nobody);
    let separator = if database.url.contains('?') { '&' } else { '?' };
    let cases = [
        (format!("postgres://ada:s3cret@127.0.0.1:{port}/health"), "nothing accepts connections", "`health`"),
        ("postgres://ada:s3cret@no-such-host.invalid/health".to_owned(), "cannot be reached", "`health`"),
        (url_of("no_such_database"), "does not exist", "`no_such_database`"),
        (format!("{}{separator}user={role}&password=s3cret", database.url), "is refused", name.as_str()),
    ];
    for (url, what, database) in cases {
        let began = Tick::now();
        let error = PostgresStore::connect(&url, Options::default()).await.expect_err("it is refused");
        assert!(began.elapsed() < Duration::from_secs(5), "{what}");
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
        let reason = reason(error);
        assert!(reason.contains(what) && reason.contains(database) && reason.contains("; "), "{reason}");
    }
    database.remove().await;
    run(&mut connect(&url_of("postgres")).await, &format!("drop role {role}")).await;
}

/// A server that answers nothing is not waited for beyond the limit.
#[tokio::test]
async fn a_silent_server_is_given_up_on() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("postgres://ada@127.0.0.1:{}/health", silent.local_addr().expect("its number").port());
    let options = Options { connect_timeout: Duration::from_millis(300), ..Options::default() };
    let error = PostgresStore::connect(&url, options).await.expect_err("it is silent");
    assert!(reason(error).contains("no answer within 300ms"));
}

/// Every connection is cut: the next call works, on new ones.
#[tokio::test]
async fn lost_connections_are_replaced() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    let mut connection = database.connect().await;
    for n in 0..3 {
        let key = tool("t");
        let load = || store.load_document(&key);
        let (a, b, c, d) = tokio::join!(load(), load(), load(), load());
        for loaded in [a, b, c, d] {
            loaded.expect("it answers");
        }
        run(
            &mut connection,
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'",
        )
        .await;
        let committed = store.commit(&batch([insert(&tool(&format!("t{n}")))])).await;
        committed.expect("a commit begins on a living connection");
    }
    database.remove().await;
}

/// A database that is away: the first call says so soon, the others at once, and the first after its return succeeds.
#[tokio::test]
async fn an_outage_fails_fast_and_ends_by_itself() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    store.commit(&batch([insert(&tool("t"))])).await.expect("the commit");
    let mut connection = connect(&url_of("postgres")).await;
    let name = database.url.rsplit('/').next().expect("a path").split('?').next().expect("a name").to_owned();
    run(
        &mut connection,
        &format!(
            "alter database {name} allow_connections false;
            select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{name}'"
        ),
    )
    .await;
    let began = Tick::now();
    for n in 0..20 {
        let error = store.load_document(&tool("t")).await.expect_err("it is away");
        let reason = reason(error);
        assert!(reason.contains(&name) && reason.contains("cannot load a document"), "{n}: {reason}");
    }
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    run(&mut connection, &format!("alter database {name} allow_connections true")).await;
    assert!(store.load_document(&tool("t")).await.expect("it is back").is_some());
    database.remove().await;
}

/// A row that another session holds for too long.
#[tokio::test]
async fn a_locked_row_is_not_waited_for_beyond_the_limit() {
    let database = TestDatabase::create().await;
    let options = Options { lock_timeout: Duration::from_millis(100), ..Options::default() };
    let store = PostgresStore::connect(&database.url, options).await.expect("the store opens");
    let version = store.commit(&batch([insert(&tool("t"))])).await.expect("the commit").versions[0];
    let mut connection = database.connect().await;
    run(&mut connection, "begin; select from document for update").await;
    let mut write = insert(&tool("t"));
    write.expected = Some(version);
    let error = store.commit(&batch([write.clone()])).await.expect_err("it is locked");
    assert!(reason(error).contains("a row stayed locked"));
    run(&mut connection, "rollback").await;
    store.commit(&batch([write])).await.expect("the commit");
    database.remove().await;
}

/// All connections that the role may have are in use: callers wait for one of them and do not take it for an outage.
#[tokio::test]
async fn a_crowded_database_is_not_an_outage() {
    let database = TestDatabase::create().await;
    let mut connection = database.connect().await;
    let name: String = value(&mut connection, "select current_database()::text").await;
    let role = format!("{name}_role");
    run(
        &mut connection,
        &format!(
            "drop role if exists {role}; create role {role} login password 'x' connection limit 3;
            create schema agrajag authorization {role}"
        ),
    )
    .await;
    let separator = if database.url.contains('?') { '&' } else { '?' };
    let url = format!("{}{separator}user={role}&password=x", database.url);
    // One for statements, two for notifications.
    let options = Options { pool_size: 1, lock_timeout: Duration::from_secs(20), ..Options::default() };
    let options = Options { statement_timeout: Duration::from_secs(20), ..options };
    let store = std::sync::Arc::new(PostgresStore::connect(&url, options).await.expect("the store opens"));
    let version = store.commit(&batch([insert(&tool("t"))])).await.expect("the commit").versions[0];
    let n_connections = format!("select count(*) from pg_stat_activity where usename = '{role}'");
    while value::<i64>(&mut connection, &n_connections).await < 3 {}

    let mut holder = database.connect().await;
    run(&mut holder, "begin; select from document for update").await;
    let held = tokio::spawn({
        let store = std::sync::Arc::clone(&store);
        let mut write = insert(&tool("t"));
        write.expected = Some(version);
        async move { store.commit(&batch([write])).await }
    });
    let n_waiting = format!("{n_connections} and wait_event_type = 'Lock'");
    while value::<i64>(&mut connection, &n_waiting).await == 0 {}
    let key = tool("t");
    let load = || tokio::time::timeout(Duration::from_millis(700), store.load_document(&key));
    let (a, b) = tokio::join!(load(), load());
    assert!(a.is_err() && b.is_err(), "they wait: {a:?} {b:?}");
    run(&mut holder, "rollback").await;
    held.await.expect("the task ends").expect("the commit");
    assert!(store.load_document(&key).await.expect("it answers").is_some());
    store.close().await;
    database.remove().await;
    run(&mut connect(&url_of("postgres")).await, &format!("drop role {role}")).await;
}

/// A key that no index takes is told so; the others are not harmed.
#[tokio::test]
async fn a_key_that_is_too_long_is_refused() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    // Text that does not compress.
    let mut number = 1_u32;
    let long: String = std::iter::repeat_with(|| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'!' + u8::try_from(number >> 24).unwrap_or_default() % 90)
    })
    .take(6_000)
    .collect();
    let error = store.commit(&batch([insert(&tool(&long))])).await.expect_err("it is too long");
    assert!(
        matches!(&error, StoreError::Other { .. }) && error.to_string().contains("longer than an index"),
        "{error:?}"
    );
    store.commit(&batch([insert(&tool("t"))])).await.expect("the commit");
    database.remove().await;
}

/// A database that may only be read answers reads, and says why it refuses writes.
#[tokio::test]
async fn a_read_only_database_is_read() {
    let database = TestDatabase::create().await;
    drop(database.open().await);
    let mut connection = database.connect().await;
    let name: String = value(&mut connection, "select current_database()::text").await;
    run(&mut connection, &format!("alter database {name} set default_transaction_read_only = on")).await;
    let store = database.open().await;
    assert!(store.load_document(&tool("t")).await.expect("it answers").is_none());
    let error = store.commit(&batch([insert(&tool("t"))])).await.expect_err("it is read-only");
    assert!(reason(error).contains("it is read-only"));
    database.remove().await;
}

/// More callers than connections wait for their turn; a cancelled one harms nobody.
#[tokio::test]
async fn callers_share_few_connections() {
    let database = TestDatabase::create().await;
    let options = Options { pool_size: 2, ..Options::default() };
    let store =
        std::sync::Arc::new(PostgresStore::connect(&database.url, options).await.expect("the store opens"));
    let calls: Vec<_> = (0..64)
        .map(|n| {
            let store = std::sync::Arc::clone(&store);
            tokio::spawn(async move {
                let commit = batch([insert(&tool(&format!("t{n}")))]);
                if n % 8 == 0 {
                    let limit = Duration::from_micros(50 * n);
                    return tokio::time::timeout(limit, store.commit(&commit))
                        .await
                        .map_or(true, |it| it.is_ok());
                }
                store.commit(&commit).await.is_ok()
            })
        })
        .collect();
    for call in calls {
        assert!(call.await.expect("the task ends"));
    }
    let filter = ports::DocumentFilter { tenant_id: "acme".to_owned(), ..ports::DocumentFilter::default() };
    let page = store.list_documents(&filter, None, 100).await.expect("it answers");
    assert!(page.documents.len() >= 56, "{}", page.documents.len());
    database.remove().await;
}
