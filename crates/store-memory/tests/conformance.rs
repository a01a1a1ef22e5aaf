//! The suite that every store passes.

use std::sync::Arc;

use async_trait::async_trait;
use health_model::DocumentKey;
use ports::Store;
use store_conformance::{Damage, Fixture};
use store_memory::MemoryStore;
use uuid::Uuid;

store_conformance::store_conformance!(fresh);

/// One store; it lives as long as the fixture.
struct Memory(MemoryStore);

#[async_trait]
impl Fixture for Memory {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.handle())
    }

    async fn damage(&self, key: &DocumentKey, _: Damage) {
        assert!(self.0.damage(key).expect("the store is open"), "there is no `{key}`");
    }

    async fn damage_failure(&self, id: Uuid) {
        assert!(self.0.damage_failure(id).expect("the store is open"), "there is no `{id}`");
    }
}

async fn fresh() -> Memory {
    Memory(MemoryStore::new("conformance"))
}
