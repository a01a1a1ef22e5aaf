//! The suite that every store passes.

use std::sync::Arc;

use async_trait::async_trait;
use health_model::DocumentKey;
use ports::Store;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use store_conformance::{Damage, Fixture};
use store_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;
use uuid::Uuid;

store_conformance::store_conformance!(fresh);

/// One file; each handle opens it with connections of its own, as another process would.
struct File(TempDir);

#[async_trait]
impl Fixture for File {
    async fn open(&self) -> Arc<dyn Store> {
        let path = self.0.path().join("store.db");
        Arc::new(SqliteStore::open(&path, SqliteOptions::default()).await.expect("the store opens"))
    }

    async fn damage(&self, key: &DocumentKey, damage: Damage) {
        let sql = match damage {
            Damage::Torn => "update documents set body = substr(body, 1, 40)",
            Damage::NewerFormat => "update documents set format = 99",
            Damage::UnknownWord => "update documents set body = json_set(body, '$.health.status', 'WOBBLY')",
        };
        let sql = format!("{sql} where tenant_id = ?1 and scope_id = ?2 and tool_name = ?3");
        let options = SqliteConnectOptions::new().filename(self.0.path().join("store.db"));
        let mut connection: SqliteConnection = options.connect().await.expect("the file opens");
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(&key.tenant_id).bind(&key.scope_id);
        let done = query.bind(&key.tool_name).execute(&mut connection).await.expect("the statement runs");
        assert_eq!(done.rows_affected(), 1, "one row of `{key}`");
        connection.close().await.expect("the connection closes");
    }

    async fn damage_failure(&self, id: Uuid) {
        let options = SqliteConnectOptions::new().filename(self.0.path().join("store.db"));
        let mut connection: SqliteConnection = options.connect().await.expect("the file opens");
        // No UTF-8.
        let query = sqlx::query("update failures set content = cast(x'ff' as text) where id = ?1");
        let done = query.bind(id.to_string()).execute(&mut connection).await.expect("the statement runs");
        assert_eq!(done.rows_affected(), 1, "one row of `{id}`");
        connection.close().await.expect("the connection closes");
    }
}

async fn fresh() -> File {
    File(TempDir::new().expect("a directory"))
}
