//! What a store gives to the suite, and how a case is run.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use health_model::DocumentKey;
use ports::Store;
use uuid::Uuid;

/// A case that takes longer hangs.
const CASE_LIMIT: Duration = Duration::from_secs(180);

/// Why a document cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Its body is no document.
    Torn,
    /// Its format is newer than this program's.
    NewerFormat,
    /// Its health has a status that this program does not know.
    UnknownWord,
}

impl Damage {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Torn, Self::NewerFormat, Self::UnknownWord];
}

/// Data of a store that no other fixture sees.
#[async_trait]
pub trait Fixture: Send + Sync {
    /// Opens a handle on the data: at the first call they are empty. Every handle sees what the others committed, as servers on
    /// one store do, and what was committed before all others were closed.
    async fn open(&self) -> Arc<dyn Store>;

    /// Damages the document, which is there and has a health, behind the store's back: nothing else changes, neither its
    /// version nor its place in the feed. A store that cannot tell the kinds apart makes it unreadable.
    async fn damage(&self, key: &DocumentKey, damage: Damage);

    /// Makes the entry of a journal, which is there, one that cannot be read, behind the store's back: it keeps its place.
    async fn damage_failure(&self, id: Uuid);

    /// Removes the data after a case that passed.
    async fn tear_down(&self) {}
}

/// Runs one case on a fresh fixture, on a runtime of two threads. [`store_conformance!`](crate::store_conformance) makes
/// tests of it.
///
/// # Panics
///
/// If the store breaks the contract, or the case takes more than three minutes.
pub fn run<Fresh, Fut, F>(fresh: Fresh, case: impl AsyncFnOnce(&dyn Fixture))
where
    Fresh: FnOnce() -> Fut,
    Fut: Future<Output = F>,
    F: Fixture,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(async {
        let in_time = tokio::time::timeout(CASE_LIMIT, async {
            let fixture = fresh().await;
            case(&fixture).await;
            fixture.tear_down().await;
        });
        in_time.await.expect("the case ends in time");
    });
}
