//! Waiting for a condition instead of for luck.

use std::time::Duration;

use tokio::time::Instant;

/// How often a condition is looked at.
const PAUSE: Duration = Duration::from_millis(10);

/// Long enough for anything that is to happen soon, on a busy machine too.
pub const SOON: Duration = Duration::from_secs(20);

/// Looks until `look` finds something, and returns it.
///
/// # Panics
///
/// If nothing is found within `limit`; the message says what was waited for.
pub async fn within<T>(limit: Duration, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {limit:?} in vain: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// [`within`] [`SOON`].
///
/// # Panics
///
/// As [`within`].
pub async fn until<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    within(SOON, what, look).await
}
