//! The suite that every store passes.

use std::sync::Arc;

use async_trait::async_trait;
use ports::Store;
use store_conformance::Fixture;
use store_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

store_conformance::store_conformance!(fresh);

/// One file; each handle opens it with connections of its own, as another process would.
struct File(TempDir);

#[async_trait]
impl Fixture for File {
    async fn open(&self) -> Arc<dyn Store> {
        let path = self.0.path().join("store.db");
        Arc::new(SqliteStore::open(&path, SqliteOptions::default()).await.expect("the store opens"))
    }
}

async fn fresh() -> File {
    File(TempDir::new().expect("a directory"))
}
