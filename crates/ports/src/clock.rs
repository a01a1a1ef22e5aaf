//! Time and ids, the only sources of both. Transitions take `now` as an argument; the edge reads it once a request.

use async_trait::async_trait;
use health_model::Instant;
use uuid::Uuid;

/// A clock.
#[async_trait]
pub trait Clock: Send + Sync + 'static {
    /// The current instant. Never goes backwards within one process.
    fn now(&self) -> Instant;

    /// Returns once `now()` is at or after `at`; at once if it is already.
    async fn sleep_until(&self, at: Instant);
}

/// A source of ids that are unique over all servers of one store.
pub trait Ids: Send + Sync + 'static {
    /// The next id. Production ids are version 7, so that they sort by time.
    fn next(&self) -> Uuid;
}
