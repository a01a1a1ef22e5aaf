//! The journal: reported failures, redacted and bounded, kept to try rules on (ADR 0018).
//!
//! A Check hands its failure over and goes on: no copy of texts, no masking, no store. Once a flush what was handed over is
//! masked, cut, and appended in one transaction. Whatever does not fit or cannot be stored is dropped and counted; no verdict
//! waits for it. How an entry is written down, and what is left out of it, is the business of `record`.

pub(crate) mod record;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use health_model::{Caller, Failure, Instant, Tool, Verdict};
use ports::FailureEntry;
use uuid::Uuid;

use crate::Service;

/// Failures that one flush takes. More are dropped: in a storm they are alike, and masking them would cost the others.
const QUEUE_LIMIT: usize = 512;

/// Bytes that waiting failures may hold. One body can have as many as a request.
const QUEUE_BYTES: usize = 8 << 20;

/// A failure as it was handed over. Lives in memory only.
pub(crate) struct Noted {
    pub(crate) caller: Caller,
    pub(crate) tool: Tool,
    pub(crate) failure: Arc<Failure>,
    pub(crate) at: Instant,
    pub(crate) verdict: record::RecordedVerdict,
}

#[derive(Default)]
struct Queue {
    noted: Vec<Noted>,
    bytes: usize,
}

/// What waits to be written, and the counts.
pub(crate) struct Journal {
    /// Entries kept of a tenant; `None` = there is no journal.
    keep: Option<usize>,
    /// Ids count up from here.
    first_id: Uuid,
    n_ids: AtomicU64,
    queue: Mutex<Queue>,
    /// Held while what was taken from the queue is on its way to the store.
    turn: tokio::sync::Mutex<()>,
    pub(crate) written: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

impl Journal {
    /// `first_id` is unique over all servers of the store.
    pub(crate) fn new(keep: Option<usize>, first_id: Uuid) -> Self {
        Self {
            keep,
            first_id,
            n_ids: AtomicU64::new(0),
            queue: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            written: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.keep.is_some()
    }

    /// Takes a failure in, or drops it. Never waits for anything but other calls of this.
    pub(crate) fn note(
        &self,
        caller: &Caller,
        tool: &Tool,
        failure: &Arc<Failure>,
        verdict: &Verdict,
        at: Instant,
    ) {
        if !self.is_on() {
            return;
        }
        let bytes = record::weight(failure);
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.noted.len() >= QUEUE_LIMIT || queue.bytes.saturating_add(bytes) > QUEUE_BYTES {
            self.drop_some(1);
            return;
        }
        queue.bytes += bytes;
        queue.noted.push(Noted {
            caller: caller.clone(),
            tool: tool.clone(),
            failure: Arc::clone(failure),
            at,
            verdict: record::RecordedVerdict::of(verdict),
        });
    }

    fn take(&self) -> Vec<Noted> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *queue).noted
    }

    fn next_id(&self) -> Uuid {
        let n = self.n_ids.fetch_add(1, Ordering::Relaxed);
        Uuid::from_u128(self.first_id.as_u128().wrapping_add(u128::from(n)))
    }

    /// What is written of one flush, and how many failures do not fit into an entry. Failures that are alike are one entry.
    fn entries(&self, noted: Vec<Noted>) -> (Vec<FailureEntry>, usize) {
        let mut known = HashSet::new();
        let mut entries = Vec::with_capacity(noted.len());
        let mut n_unfit = 0;
        for it in noted {
            let Some(content) = record::write(&it) else {
                n_unfit += 1;
                continue;
            };
            let Caller { tenant_id, project_id, .. } = it.caller;
            if known.insert((tenant_id.clone(), project_id.clone(), content.clone())) {
                let id = self.next_id();
                entries.push(FailureEntry { id, tenant_id, project_id, at: it.at, content });
            }
        }
        (entries, n_unfit)
    }

    fn drop_some(&self, n: usize) {
        self.dropped.fetch_add(n as u64, Ordering::Relaxed);
    }
}

impl Service {
    /// Writes what was handed over before the call. Returns when it is stored, or dropped because it cannot be.
    pub(crate) async fn flush_journal(&self) {
        let Some(keep) = self.journal.keep else { return };
        let _turn = self.journal.turn.lock().await;
        let noted = self.journal.take();
        if noted.is_empty() {
            return;
        }
        let n_noted = noted.len();
        // Masking hundreds of bodies takes milliseconds: not on the threads that answer.
        let service = self.clone();
        let prepared = tokio::task::spawn_blocking(move || service.journal.entries(noted)).await;
        let Ok((entries, n_unfit)) = prepared else {
            self.journal.drop_some(n_noted);
            tracing::warn!(n_noted, "failures are missing in the journal: they could not be written down");
            return;
        };
        self.journal.drop_some(n_unfit);
        let append = self.store.append_failures(&entries, keep);
        match self.view.patient(self.settings.store_timeout, append).await {
            Ok(()) => {
                self.journal.written.fetch_add(entries.len() as u64, Ordering::Relaxed);
            }
            Err(error) => {
                self.journal.drop_some(entries.len());
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "failures are missing in the journal"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests;
