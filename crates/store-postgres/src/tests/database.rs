//! A database for each test.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use health_model::vocabulary::Scope;
use health_model::{Document, DocumentKey, Instant};
use ports::{Batch, DocumentWrite, Store};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection};
use store_conformance::{Damage, Fixture};
use uuid::Uuid;

use crate::{Options, PostgresStore};

/// A superuser's URL of a cluster that tests may fill.
const CLUSTER: &str = "AGRAJAG_TEST_PG";

pub(crate) struct TestDatabase {
    pub(crate) url: String,
    name: String,
}

/// The URL of another database of the cluster.
pub(crate) fn url_of(database: &str) -> String {
    let cluster = std::env::var(CLUSTER).unwrap_or_else(|_| {
        panic!(
            "{CLUSTER} is not set: run the tests with `cargo xtask test`, which starts a PostgreSQL for them"
        )
    });
    let (start, query) = cluster.split_once('?').map_or((cluster.as_str(), None), |(a, b)| (a, Some(b)));
    let host = start.rfind('/').filter(|at| *at > "postgres://".len()).map_or(start, |at| &start[..at]);
    match query {
        Some(query) => format!("{host}/{database}?{query}"),
        None => format!("{host}/{database}"),
    }
}

impl TestDatabase {
    /// An empty database that no other test uses.
    pub(crate) async fn create() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("store_postgres_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut connection = connect(&url_of("postgres")).await;
        // A process of this number may have been ended before it removed its own.
        let drop = format!("drop database if exists {name} with (force)");
        let create =
            format!("create database {name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'");
        for sql in [drop, create] {
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("the database is made");
        }
        connection.close().await.expect("the connection closes");
        Self { url: url_of(&name), name }
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        PostgresStore::connect(&self.url, Options::default()).await.expect("the store opens")
    }

    /// A connection beside the store, with its search path.
    pub(crate) async fn connect(&self) -> PgConnection {
        let mut connection = connect(&self.url).await;
        run(&mut connection, "set search_path = agrajag").await;
        connection
    }

    /// Removes it, whoever is connected.
    pub(crate) async fn remove(&self) {
        let mut connection = connect(&url_of("postgres")).await;
        let sql = format!("drop database if exists {} with (force)", self.name);
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("the database is removed");
    }
}

#[async_trait]
impl Fixture for TestDatabase {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.open().await)
    }

    async fn damage(&self, key: &DocumentKey, damage: Damage) {
        let sql = match damage {
            Damage::Torn => "update document set body = '[]'",
            Damage::NewerFormat => "update document set format = 99",
            Damage::UnknownWord => {
                "update document set body = jsonb_set(body, '{health,status}', '\"WOBBLY\"')"
            }
        };
        let sql = format!(
            "{sql} where tenant_id = $1 and scope = $2::text::document_scope and scope_id = $3
            and tool_name = $4"
        );
        let args = crate::document::key_args(key).expect("it is encoded");
        let mut connection = self.connect().await;
        let done = sqlx::query_with(AssertSqlSafe(sql), args).execute(&mut connection).await;
        assert_eq!(done.expect("the statement runs").rows_affected(), 1, "one row of `{key}`");
        connection.close().await.expect("the connection closes");
    }

    async fn damage_failure(&self, id: Uuid) {
        let mut connection = self.connect().await;
        run(&mut connection, "alter table failure alter content drop not null").await;
        let done = sqlx::query("update failure set content = null where id = $1").bind(id);
        let done = done.execute(&mut connection).await.expect("the statement runs");
        assert_eq!(done.rows_affected(), 1, "one row of `{id}`");
        connection.close().await.expect("the connection closes");
    }

    async fn tear_down(&self) {
        self.remove().await;
    }
}

pub(crate) async fn connect(url: &str) -> PgConnection {
    let login: sqlx::postgres::PgConnectOptions = url.parse().expect("a URL");
    login.disable_statement_logging().connect().await.expect("the cluster accepts connections")
}

pub(crate) async fn run(connection: &mut PgConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.expect("the statement runs");
}

/// The first column of the only row.
pub(crate) async fn value<T>(connection: &mut PgConnection, sql: &str) -> T
where
    T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres> + Send + Unpin,
{
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await.expect("one row")
}

pub(crate) fn at(seconds: i64) -> Instant {
    Instant::from_timestamp(1_800_000_000 + seconds, 0).expect("an instant")
}

pub(crate) fn tool(name: &str) -> DocumentKey {
    DocumentKey {
        tenant_id: "acme".to_owned(),
        scope: Scope::Project,
        scope_id: "essay".to_owned(),
        tool_name: name.to_owned(),
    }
}

pub(crate) fn insert(key: &DocumentKey) -> DocumentWrite {
    DocumentWrite { expected: None, document: Document::new(key.clone(), at(0)) }
}

pub(crate) fn batch(documents: impl IntoIterator<Item = DocumentWrite>) -> Batch {
    Batch { documents: documents.into_iter().collect(), ..Batch::default() }
}
