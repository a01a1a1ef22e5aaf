//! Hits: every failure that met a window (C19). Added up in memory and flushed to the counter table, where they cost
//! no version and no event. On a kill at most what was not flushed is lost.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use health_model::{DocumentKey, Instant};
use ports::HitDelta;

const SHARDS: usize = 16;

/// One window, borrowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window<'a> {
    pub(crate) key: &'a DocumentKey,
    pub(crate) signature: &'a str,
    pub(crate) user_id: Option<&'a str>,
    pub(crate) opened_at: Instant,
}

struct Counted {
    delta: HitDelta,
    /// Hits of the window since this server knows it, flushed ones too.
    total: u64,
    expires_at: Instant,
}

/// The counters that were not flushed yet, and the totals of open windows.
pub(crate) struct Hits {
    shards: Vec<Mutex<HashMap<u64, Vec<Counted>>>>,
    hasher: RandomState,
}

impl Hits {
    pub(crate) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), hasher: RandomState::new() }
    }

    /// Counts one failure. Returns how many met this window, as far as this server has seen.
    pub(crate) fn add(&self, window: Window<'_>, until: Instant, now: Instant) -> u64 {
        self.with(window, until, now, |it| {
            it.delta.hits += 1;
            it.total += 1;
            it.total
        })
    }

    fn with<T>(
        &self,
        window: Window<'_>,
        until: Instant,
        at: Instant,
        then: impl FnOnce(&mut Counted) -> T,
    ) -> T {
        let episode = window.opened_at.timestamp_micros();
        let hash = self.hasher.hash_one((
            &window.key.tenant_id,
            window.key.scope,
            &window.key.scope_id,
            &window.key.tool_name,
            window.signature,
            window.user_id,
            episode,
        ));
        let shard = &self.shards[hash as usize % SHARDS];
        let mut table = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = table.entry(hash).or_default();
        let at_index = bucket.iter().position(|it| {
            it.delta.episode == episode
                && it.delta.signature == window.signature
                && it.delta.user_id.as_deref() == window.user_id
                && it.delta.key == *window.key
        });
        let index = at_index.unwrap_or_else(|| {
            bucket.push(Counted {
                delta: HitDelta {
                    key: window.key.clone(),
                    signature: window.signature.to_owned(),
                    user_id: window.user_id.map(str::to_owned),
                    episode,
                    hits: 0,
                    last_triggered_at: at,
                },
                total: 0,
                expires_at: until,
            });
            bucket.len() - 1
        });
        let counted = &mut bucket[index];
        counted.delta.last_triggered_at = counted.delta.last_triggered_at.max(at);
        then(counted)
    }

    /// Takes what was not flushed yet, and forgets windows that are over.
    pub(crate) fn take(&self, now: Instant) -> Vec<HitDelta> {
        let mut taken = Vec::new();
        for shard in &self.shards {
            let mut table = shard.lock().unwrap_or_else(PoisonError::into_inner);
            table.retain(|_, bucket| {
                for it in bucket.iter_mut().filter(|it| it.delta.hits > 0) {
                    taken.push(it.delta.clone());
                    it.delta.hits = 0;
                }
                bucket.retain(|it| now < it.expires_at);
                !bucket.is_empty()
            });
        }
        taken
    }

    /// Puts back what could not be flushed.
    pub(crate) fn give_back(&self, deltas: Vec<HitDelta>, now: Instant) {
        for delta in deltas {
            let window = Window {
                key: &delta.key,
                signature: &delta.signature,
                user_id: delta.user_id.as_deref(),
                opened_at: Instant::from_timestamp_micros(delta.episode).unwrap_or(now),
            };
            self.with(window, now, delta.last_triggered_at, |it| it.delta.hits += delta.hits);
        }
    }
}
