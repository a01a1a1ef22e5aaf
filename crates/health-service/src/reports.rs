//! Repeated reports: a `report_id` makes a retried report count once (DESIGN §5). Kept in this server's memory, bounded;
//! two copies of a report that arrive at once are one flight.

use std::future::Future;
use std::sync::Arc;

use health_model::{Caller, Instant};
use quick_cache::sync::Cache;

/// How long an answer is repeated.
const KEPT_FOR: chrono::TimeDelta = chrono::TimeDelta::hours(1);

/// What makes two reports the same one: caller, tools and id. Two brains of a tenant that number their reports alike do
/// not answer each other. `None` = the report has no id.
pub(crate) fn report_key<'a>(
    report_id: Option<&str>,
    caller: &Caller,
    tools: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let report_id = report_id.filter(|it| !it.is_empty())?;
    let mut key = format!("{}\0{report_id}", caller.spread_key());
    for tool in tools {
        key.push('\0');
        key.push_str(tool);
    }
    Some(key)
}

/// The answers of one kind of report, by [`report_key`].
pub(crate) struct Reports<T> {
    answers: Cache<String, (Instant, Arc<T>)>,
}

impl<T> Reports<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { answers: Cache::new(limit.max(1)) }
    }

    /// The answer, and whether it is a repeated one. An answer that did not store what it should is not kept: the
    /// retried report is then worked on again.
    pub(crate) async fn once(
        &self,
        key: Option<String>,
        now: Instant,
        work: impl Future<Output = T>,
        is_final: impl Fn(&T) -> bool,
    ) -> (Arc<T>, bool) {
        let Some(key) = key else {
            return (Arc::new(work.await), false);
        };
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
