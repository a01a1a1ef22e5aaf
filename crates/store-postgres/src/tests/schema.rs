//! Statements, indexes and migrations.

use std::collections::BTreeMap;

use health_model::ContainerKey;
use health_model::vocabulary::{Scope, Status};
use ports::{DocumentFilter, JobFilter, JobState, Store, StoreError};
use sqlx::postgres::PgArguments;
use sqlx::{AssertSqlSafe, Column, Executor, PgConnection, Row, SqlSafeStr, Statement, TypeInfo};
use uuid::Uuid;

use super::database::{TestDatabase, at, batch, insert, run, tool, value};
use crate::{
    Options, PostgresStore, commit, connection, counter, delete, document, enqueue, feed, job, journal,
    migrate, notify,
};
use crate::{outage, rule_layer, store, sweep};

fn statements() -> Vec<(&'static str, &'static str)> {
    let modules = [
        commit::STATEMENTS,
        connection::STATEMENTS,
        counter::STATEMENTS,
        delete::STATEMENTS,
        document::STATEMENTS,
        enqueue::STATEMENTS,
        feed::STATEMENTS,
        job::STATEMENTS,
        journal::STATEMENTS,
        migrate::STATEMENTS,
        notify::STATEMENTS,
        outage::STATEMENTS,
        rule_layer::STATEMENTS,
        store::STATEMENTS,
        sweep::STATEMENTS,
    ];
    modules.concat()
}

/// Every listing that filters can ask for, and loads of containers.
fn listings() -> Vec<(String, String)> {
    let mut listings = Vec::new();
    let container = tool("t").container();
    for n in 1..=8 {
        let (sql, _) = document::few_containers_query(&vec![&container; n]).expect("it is encoded");
        listings.push((format!("{n} containers"), sql));
    }
    for bits in 0..32_u8 {
        let has = |bit: u8| bits & (1 << bit) != 0;
        let filter = DocumentFilter {
            tenant_id: "acme".to_owned(),
            scope: has(0).then_some(Scope::Project),
            scope_id: has(1).then(|| "essay".to_owned()),
            tool_name: has(2).then(|| "t".to_owned()),
            status: has(3).then_some(Status::Down),
        };
        let after = has(4).then(|| tool("t"));
        let (sql, _) = document::list_query(&filter, after.as_ref(), 10).expect("it is encoded");
        listings.push((format!("documents {bits:05b}"), sql));
        let filter = JobFilter {
            tenant_id: "acme".to_owned(),
            project_id: has(0).then(|| "essay".to_owned()),
            state: has(1).then_some(JobState::Running),
            scope: has(2).then_some(Scope::Project),
            tool_name: has(3).then(|| "t".to_owned()),
        };
        let (sql, _) = job::list_query(&filter, has(4).then(Uuid::nil), 10).expect("it is encoded");
        listings.push((format!("jobs {bits:05b}"), sql));
    }
    listings
}

#[tokio::test]
async fn every_statement_fits_the_schema() {
    let database = TestDatabase::create().await;
    let _store = database.open().await;
    let mut connection = database.connect().await;
    let mut described = BTreeMap::new();
    let fixed = statements().into_iter().map(|(name, sql)| (name.to_owned(), sql.to_owned()));
    for (name, sql) in fixed.chain(listings()) {
        if sql.starts_with("begin") {
            // Two statements, which run as one message.
            run(&mut connection, &sql).await;
            run(&mut connection, "rollback").await;
            continue;
        }
        let statement = connection.prepare(AssertSqlSafe(sql).into_sql_str()).await;
        let statement = statement.unwrap_or_else(|error| panic!("{name}: {error}"));
        let columns: Vec<String> =
            statement.columns().iter().map(|it| format!("{} {}", it.name(), it.type_info().name())).collect();
        described.insert(name, columns.join(", "));
    }
    // What `DocumentRow` reads, wherever it does.
    let document =
        "tenant_id TEXT, scope TEXT, scope_id TEXT, tool_name TEXT, revision INT8, format INT4, body TEXT";
    for name in ["document::LOAD", "document::LOAD_CONTAINERS", "document::LIST", "document::LOAD_MANY"] {
        assert_eq!(described[&format!("store_postgres::{name}")], document, "{name}");
    }
    assert!(described["store_postgres::feed::CHANGES"].ends_with(document));
    database.remove().await;
}

/// The plan of a statement, as text.
async fn plan(connection: &mut PgConnection, sql: &str, args: PgArguments) -> String {
    let rows = sqlx::query_with(AssertSqlSafe(format!("explain {sql}")), args).fetch_all(connection).await;
    let lines: Vec<String> = rows.expect("a plan").iter().map(|row| row.get(0)).collect();
    lines.join("\n")
}

/// R38, R39, R40, R41: the indexes exist and the planner takes them.
#[tokio::test]
async fn lists_by_status_and_by_tool_use_their_indexes() {
    let database = TestDatabase::create().await;
    let _store = database.open().await;
    let mut connection = database.connect().await;
    run(
        &mut connection,
        "insert into document (tenant_id, scope, scope_id, tool_name, revision, replaced, format, body, status,
            next_cooldown_at, updated_at)
        select 'acme', 'PROJECT', 'p' || n % 10, 't' || n % 500, n, 0, 1, '{}',
            case when n % 100 = 0 then 'DOWN' else 'OK' end, case when n % 50 = 0 then n end, n
        from generate_series(1, 20000) n on conflict do nothing;
        insert into document (tenant_id, scope, scope_id, tool_name, revision, replaced, format, body, status, updated_at)
        select 'other', 'USER', 'u' || n, 't' || n % 1000, n, 0, 1, '{}', 'OK', n from generate_series(1, 20000) n;
        analyze document",
    )
    .await;

    let project = DocumentFilter {
        tenant_id: "acme".to_owned(),
        scope: Some(Scope::Project),
        scope_id: Some("p3".to_owned()),
        ..DocumentFilter::default()
    };
    let by_status = DocumentFilter { status: Some(Status::Down), ..project.clone() };
    let by_tool = DocumentFilter {
        tenant_id: "other".to_owned(),
        tool_name: Some("t7".to_owned()),
        ..DocumentFilter::default()
    };
    let tool_by_status = DocumentFilter { status: Some(Status::Ok), ..by_tool.clone() };
    let cases = [
        (by_status, "document_by_status"),
        (by_tool, "document_by_tool"),
        (tool_by_status, "document_by_tool"),
    ];
    for (filter, index) in cases {
        let (sql, args) = document::list_query(&filter, None, 50).expect("it is encoded");
        let plan = plan(&mut connection, &sql, args).await;
        assert!(plan.contains(&format!(" {index} ")) && !plan.contains("Seq Scan"), "{filter:?}\n{plan}");
    }

    // Absent containers are not looked for by a scan.
    let containers = ["SESSION", "USER"].map(|scope| ContainerKey {
        tenant_id: "other".to_owned(),
        scope: scope.parse().expect("a scope"),
        scope_id: "nobody".to_owned(),
    });
    let (sql, args) = document::few_containers_query(&containers.each_ref()).expect("it is encoded");
    let found = plan(&mut connection, &sql, args).await;
    assert!(found.matches("Index Scan").count() == 2 && !found.contains("Seq Scan"), "{found}");
    let key = document::key_args(&tool("t7")).expect("it is encoded");
    let found = plan(&mut connection, document::LOAD, key).await;
    assert!(found.contains("Index Scan") && found.contains("tool_name = 't7'"), "{found}");
    let due = "select 1 from document where next_cooldown_at < 5000";
    let found = plan(&mut connection, due, PgArguments::default()).await;
    assert!(found.contains("document_by_cooldown"), "{found}");
    let page = crate::statement::args![0_i64, 39_900_i64, 10_i64].expect("it is encoded");
    let found = plan(&mut connection, feed::CHANGES, page).await;
    assert!(found.contains("document_by_revision") && !found.contains("Seq Scan on document"), "{found}");
    database.remove().await;
}

#[tokio::test]
async fn servers_that_start_at_once_make_one_schema() {
    let database = TestDatabase::create().await;
    let starts = (0..8).map(|_| {
        let url = database.url.clone();
        tokio::spawn(async move { PostgresStore::connect(&url, Options::default()).await })
    });
    let mut epochs = Vec::new();
    for start in starts.collect::<Vec<_>>() {
        let store = start.await.expect("the task ends").expect("the store opens");
        let info = store.info().await.expect("the store answers");
        assert_eq!((info.kind, info.schema_version, info.min_reader), ("postgres", migrate::SUPPORTED, 1));
        epochs.push(info.epoch);
    }
    epochs.dedup();
    assert_eq!(epochs.len(), 1);
    let mut connection = database.connect().await;
    let n_migrations: i64 = value(&mut connection, "select count(*) from schema_migration").await;
    assert_eq!(n_migrations, i64::from(migrate::SUPPORTED));
    database.remove().await;
}

#[tokio::test]
async fn a_newer_schema_is_used_unless_it_refuses() {
    let database = TestDatabase::create().await;
    drop(database.open().await);
    let mut connection = database.connect().await;
    run(&mut connection, "insert into schema_migration values (98, 1)").await;
    let store = database.open().await;
    store.commit(&batch([insert(&tool("t"))])).await.expect("the commit");
    assert_eq!(store.info().await.expect("the store answers").schema_version, 98);

    run(&mut connection, "insert into schema_migration values (99, 97)").await;
    let error = PostgresStore::connect(&database.url, Options::default()).await.expect_err("it is too new");
    assert!(
        matches!(error, StoreError::TooNew { min_reader: 97, supported: migrate::SUPPORTED }),
        "{error:?}"
    );
    database.remove().await;
}

/// A database of the first schema is brought up to date and loses nothing.
#[tokio::test]
async fn an_older_schema_is_brought_up_to_date() {
    let database = TestDatabase::create().await;
    let store = database.open().await;
    store.commit(&batch([insert(&tool("t"))])).await.expect("the commit");
    store.close().await;
    let mut connection = database.connect().await;
    run(&mut connection, "drop table failure; delete from schema_migration where version > 1").await;
    let store = database.open().await;
    assert_eq!(store.info().await.expect("it answers").schema_version, migrate::SUPPORTED);
    assert!(store.load_document(&tool("t")).await.expect("it answers").is_some());
    assert_eq!(store.list_failures("acme", None, None, 1).await.expect("a page").entries, []);
    database.remove().await;
}

#[tokio::test]
async fn two_schemas_of_one_database_are_two_stores() {
    let database = TestDatabase::create().await;
    let first = database.open().await;
    let options = Options { schema: "second".to_owned(), ..Options::default() };
    let second = PostgresStore::connect(&database.url, options).await.expect("the store opens");
    first.commit(&batch([insert(&tool("t"))])).await.expect("the commit");
    assert!(second.load_document(&tool("t")).await.expect("it answers").is_none());
    assert_ne!(first.info().await.expect("it answers").epoch, second.info().await.expect("it answers").epoch);
    database.remove().await;
}

/// Whatever a role or a database is set to: another search path, commits that are not durable, another isolation.
#[tokio::test]
async fn settings_of_role_and_database_do_not_matter() {
    let database = TestDatabase::create().await;
    let mut connection = database.connect().await;
    let name: String = value(&mut connection, "select current_database()::text").await;
    run(
        &mut connection,
        &format!(
            "create schema evil; create table evil.document (trap text); create table evil.store (trap text);
            alter database {name} set search_path = evil; alter database {name} set synchronous_commit = off;
            alter database {name} set default_transaction_isolation = serializable;
            alter database {name} set datestyle = 'German'; alter database {name} set intervalstyle = 'sql_standard'"
        ),
    )
    .await;
    let store = database.open().await;
    store.commit(&batch([insert(&tool("t"))])).await.expect("the commit");
    let loaded = store.load_document(&tool("t")).await.expect("it answers").expect("it is there");
    assert_eq!(loaded.document, insert(&tool("t")).document);
    let mut settings = crate::connection::Setup::new(&Options::default());
    settings.lock_timeout = std::time::Duration::from_millis(1234);
    let mut other = super::database::connect(&database.url).await;
    settings.settings(&mut other).await.expect("the settings are taken");
    for (name, expected) in [
        ("synchronous_commit", "on"),
        ("default_transaction_isolation", "read committed"),
        ("search_path", "\"agrajag\", pg_temp"),
        ("lock_timeout", "1234ms"),
    ] {
        let found: String = value(&mut other, &format!("select current_setting('{name}')")).await;
        assert_eq!(found, expected, "{name}");
    }
    database.remove().await;
}

/// A role without any right on the database but to use a schema that was made for it.
#[tokio::test]
async fn a_role_needs_its_schema_and_nothing_else() {
    let database = TestDatabase::create().await;
    let mut connection = database.connect().await;
    let name: String = value(&mut connection, "select current_database()::text").await;
    let role = format!("{name}_role");
    run(
        &mut connection,
        &format!(
            "drop role if exists {role}; create role {role} login password 'x';
            revoke create on database {name} from public; create schema agrajag authorization {role}"
        ),
    )
    .await;
    let separator = if database.url.contains('?') { '&' } else { '?' };
    let url = format!("{}{separator}user={role}&password=x", database.url);
    let store = PostgresStore::connect(&url, Options::default()).await.expect("the store opens");
    store.commit(&batch([insert(&tool("t"))])).await.expect("the commit");
    store.sweep(None, at(0), at(0)).await.expect("the sweep");

    let options = Options { schema: "not_there".to_owned(), ..Options::default() };
    let error = PostgresStore::connect(&url, options).await.expect_err("it may not make a schema");
    let StoreError::Unavailable { reason, .. } = &error else { panic!("{error:?}") };
    assert!(reason.contains(&role) && reason.contains(&name) && reason.contains("lacks a right"), "{reason}");
    database.remove().await;
    let mut connection = super::database::connect(&super::database::url_of("postgres")).await;
    run(&mut connection, &format!("drop role {role}")).await;
}

#[tokio::test]
async fn odd_options_and_urls_are_refused_by_name() {
    let url = "postgres://ada:s3cret@127.0.0.1:1/health";
    let with = |change: fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        options
    };
    let cases = [
        (url, with(|it| it.schema = "a b".to_owned()), "`a b`"),
        (url, with(|it| it.schema = "pg_x".to_owned()), "`pg_x`"),
        (url, with(|it| it.schema = "\"; drop".to_owned()), "name for a schema"),
        (url, with(|it| it.schema = String::new()), "name for a schema"),
        (url, with(|it| it.pool_size = 0), "pool size"),
        (url, with(|it| it.statement_timeout = std::time::Duration::ZERO), "statement timeout"),
        ("mysql://ada:s3cret@h/d", Options::default(), "postgres://USER@HOST:PORT/DATABASE"),
        ("postgres://ada:s3cret@h:no/d", Options::default(), "postgres://USER@HOST:PORT/DATABASE"),
    ];
    for (url, options, expected) in cases {
        let error = PostgresStore::connect(url, options).await.expect_err("it is refused");
        assert!(matches!(error, StoreError::Other { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}
