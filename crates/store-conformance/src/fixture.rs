//! What a store gives to the suite, and how a case is run.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ports::Store;

/// A case that takes longer hangs.
const CASE_LIMIT: Duration = Duration::from_secs(180);

/// Data of a store that no other fixture sees.
#[async_trait]
pub trait Fixture: Send + Sync {
    /// Opens a handle on the data: at the first call they are empty. Every handle sees what the others committed, as servers on
    /// one store do, and what was committed before all others were closed.
    async fn open(&self) -> Arc<dyn Store>;

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
