//! Repeated reports: a `report_id` makes a retried report count once (DESIGN §5). Kept in this server's memory, bounded;
//! two copies of a report that arrive at once are one flight.

use std::future::Future;
use std::sync::Arc;

use health_model::Instant;
use quick_cache::sync::Cache;

/// How long an answer is repeated.
const KEPT_FOR: chrono::TimeDelta = chrono::TimeDelta::hours(1);

/// The answers of one kind of report, by tenant and id.
pub(crate) struct Reports<T> {
    answers: Cache<(String, String), (Instant, Arc<T>)>,
}

impl<T> Reports<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { answers: Cache::new(limit.max(1)) }
    }

    /// The answer, and whether it is a repeated one. An answer that did not store what it should is not kept: the
    /// retried report is then worked on again.
    pub(crate) async fn once(
        &self,
        tenant_id: &str,
        report_id: Option<&str>,
        now: Instant,
        work: impl Future<Output = T>,
        is_final: impl Fn(&T) -> bool,
    ) -> (Arc<T>, bool) {
        let Some(report_id) = report_id.filter(|it| !it.is_empty()) else {
            return (Arc::new(work.await), false);
        };
        let key = (tenant_id.to_owned(), report_id.to_owned());
        if self.answers.peek(&key).is_some_and(|(at, _)| now - at > KEPT_FOR) {
            self.answers.remove(&key);
        }
        match self.answers.get_value_or_guard_async(&key).await {
            Ok((_, answer)) => (answer, true),
            Err(guard) => {
                let answer = Arc::new(work.await);
                if is_final(&answer) {
                    let _ = guard.insert((now, Arc::clone(&answer)));
                }
                (answer, false)
            }
        }
    }
}
