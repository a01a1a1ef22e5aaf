//! Everything that a store keeps, with the rules of keeping it. No lock and no task in here.
//!
//! A position is the number of the commit that moved it. The version of a document is the position of its last write:
//! it grows over a delete and a new insert without a memory of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use health_model::vocabulary::Scope;
use health_model::{ContainerKey, Document, DocumentKey, Instant};
use ports::store::orphaned_outages_before;
use ports::{
    Batch, Change, Counter, DeleteSelector, DocumentFilter, DocumentPage, EnqueueOutcome, HitDelta, Outage,
    OutageChange, RuleLayerKey, RuleLayerRecord, StoreError, Versioned,
};

use crate::journal::Journal;
use crate::micros;
use crate::queue::Queue;

/// Outages kept for a document.
const OUTAGE_LIMIT: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct State {
    position: u64,
    /// The feed is complete after this position: tombstones up to it may be gone.
    floor: u64,
    documents: BTreeMap<DocumentKey, Versioned>,
    /// Those of the documents that cannot be read.
    unreadable: BTreeSet<DocumentKey>,
    tombstones: BTreeMap<DocumentKey, Tombstone>,
    /// One entry for each document and each tombstone, at the position of its last write.
    feed: BTreeSet<(u64, DocumentKey)>,
    counters: BTreeMap<DocumentKey, BTreeMap<CounterKey, Hits>>,
    /// Oldest first.
    outages: BTreeMap<DocumentKey, Vec<Outage>>,
    rules: BTreeMap<RuleLayerKey, RuleLayerRecord>,
    rules_revision: u64,
    pub(crate) journal: Journal,
    pub(crate) queue: Queue,
}

#[derive(Debug)]
struct Tombstone {
    version: u64,
    deleted_at: Instant,
}

/// Within one document; the order is that of [`State::load_counters`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CounterKey {
    signature: String,
    user_id: Option<String>,
    episode: i64,
}

#[derive(Debug)]
struct Hits {
    hits: u64,
    last_triggered_at: Instant,
}

impl State {
    pub(crate) const fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn damage(&mut self, key: &DocumentKey) -> bool {
        let is_there = self.documents.contains_key(key);
        if is_there {
            self.unreadable.insert(key.clone());
        }
        is_there
    }

    /// Which documents lists and containers show.
    fn is_readable(&self, it: &Versioned) -> bool {
        !self.unreadable.contains(&it.document.key)
    }

    pub(crate) fn document(&self, key: &DocumentKey) -> Result<Option<Versioned>, StoreError> {
        if self.unreadable.contains(key) {
            return Err(corrupt(key));
        }
        Ok(self.documents.get(key).cloned())
    }

    pub(crate) fn container(&self, key: &ContainerKey) -> Vec<Versioned> {
        self.documents
            .range(key.document("")..)
            .take_while(|(it, _)| {
                it.scope == key.scope && it.scope_id == key.scope_id && it.tenant_id == key.tenant_id
            })
            .map(|(_, document)| document)
            .filter(|it| self.is_readable(it))
            .cloned()
            .collect()
    }

    /// Checks everything before it writes anything.
    pub(crate) fn commit(&mut self, batch: &Batch) -> Result<(Vec<u64>, Vec<EnqueueOutcome>), StoreError> {
        let mut keys = BTreeSet::new();
        for write in &batch.documents {
            let key = &write.document.key;
            if !keys.insert(key) {
                return Err(other(format!("a batch holds two writes of `{key}`")));
            }
            if self.documents.get(key).map(|it| it.version) != write.expected {
                if write.expected.is_none() && self.unreadable.contains(key) {
                    return Err(corrupt(key));
                }
                return Err(StoreError::Conflict { key: key.clone() });
            }
        }
        let mut ids = BTreeSet::new();
        for enqueue in &batch.jobs {
            let is_new = self.queue.open_job(enqueue).is_none();
            if is_new && (self.queue.has(enqueue.id) || !ids.insert(enqueue.id)) {
                return Err(other(format!("a job `{}` is on record already", enqueue.id)));
            }
        }

        if !batch.documents.is_empty() {
            self.position += 1;
        }
        let versions = batch.documents.iter().map(|it| self.write(&it.document)).collect();
        let jobs: Vec<_> = batch.jobs.iter().map(|it| self.queue.enqueue(it)).collect();
        self.queue.drop_excess(batch.jobs.iter().zip(&jobs));
        for change in &batch.outages {
            self.change_outage(change);
        }
        Ok((versions, jobs))
    }

    /// Writes a document at the current position.
    fn write(&mut self, document: &Document) -> u64 {
        let version = self.position;
        let key = &document.key;
        let before = self.documents.insert(key.clone(), Versioned { document: document.clone(), version });
        self.unreadable.remove(key);
        let gone = self.tombstones.remove(key);
        let last = before.map(|it| it.version).or(gone.map(|it| it.version));
        self.move_in_feed(key, last);
        version
    }

    fn move_in_feed(&mut self, key: &DocumentKey, last: Option<u64>) {
        if let Some(last) = last {
            self.feed.remove(&(last, key.clone()));
        }
        self.feed.insert((self.position, key.clone()));
    }

    pub(crate) fn list_documents(
        &self,
        filter: &DocumentFilter,
        after: Option<&DocumentKey>,
        limit: usize,
    ) -> DocumentPage {
        let first = ContainerKey {
            tenant_id: filter.tenant_id.clone(),
            scope: filter.scope.unwrap_or(Scope::Session),
            scope_id: String::new(),
        };
        let first = first.document("");
        let start = match after {
            Some(after) if *after >= first => Bound::Excluded(after),
            _ => Bound::Included(&first),
        };
        let mut matching = self
            .documents
            .range((start, Bound::Unbounded))
            .map(|(_, document)| document)
            .take_while(|it| it.document.key.tenant_id == filter.tenant_id)
            .filter(|it| self.is_readable(it) && matches(filter, &it.document));
        let documents: Vec<Versioned> = matching.by_ref().take(limit).cloned().collect();
        let next = matching.next().and_then(|_| documents.last()).map(|it| it.document.key.clone());
        DocumentPage { documents, next }
    }

    pub(crate) fn delete(&mut self, selector: &DeleteSelector, now: Instant) -> u64 {
        let keys: Vec<DocumentKey> =
            self.documents.keys().filter(|it| selects(selector, it)).cloned().collect();
        self.delete_documents(&keys, now);
        self.queue.delete(|job| selects(selector, &job.key));
        if let DeleteSelector::One(key) = selector {
            self.censor(key, micros(now));
        } else {
            self.outages.retain(|key, _| !selects(selector, key));
        }
        match selector {
            DeleteSelector::One(_) | DeleteSelector::Session { .. } => {}
            DeleteSelector::User { tenant_id, user_id } => {
                self.queue.forget_user(tenant_id, user_id);
                for (_, counters) in self.counters.iter_mut().filter(|(key, _)| key.tenant_id == *tenant_id) {
                    counters.retain(|key, _| key.user_id.as_ref() != Some(user_id));
                }
            }
            DeleteSelector::Tenant { tenant_id } => {
                self.queue.delete(|job| job.tenant_id == *tenant_id);
                self.journal.delete(tenant_id);
                let n_rules = self.rules.len();
                self.rules.retain(|key, _| key.tenant_id != *tenant_id);
                self.rules_revision += u64::from(self.rules.len() != n_rules);
            }
        }
        keys.len() as u64
    }

    fn delete_documents(&mut self, keys: &[DocumentKey], now: Instant) {
        let now = micros(now);
        if !keys.is_empty() {
            self.position += 1;
        }
        for key in keys {
            let before = self.documents.remove(key).map(|it| it.version);
            self.unreadable.remove(key);
            self.counters.remove(key);
            self.tombstones.insert(key.clone(), Tombstone { version: self.position, deleted_at: now });
            self.move_in_feed(key, before);
            self.censor(key, now);
        }
    }

    /// Ends the open outage of a document: nobody saw its end.
    fn censor(&mut self, key: &DocumentKey, now: Instant) {
        for outage in self.outages.get_mut(key).into_iter().flatten().filter(|it| it.ended_at.is_none()) {
            outage.ended_at = Some(now);
            outage.censored = true;
        }
    }

    fn change_outage(&mut self, change: &OutageChange) {
        match change {
            OutageChange::Open { key, signature, at } => {
                let outages = self.outages.entry(key.clone()).or_default();
                if outages.iter().all(|it| it.ended_at.is_some()) {
                    outages.push(Outage {
                        key: key.clone(),
                        signature: signature.clone(),
                        started_at: micros(*at),
                        ended_at: None,
                        censored: false,
                    });
                    outages.sort_by_key(|it| it.started_at);
                }
            }
            OutageChange::Close { key, at } => {
                let open = self.outages.get_mut(key).into_iter().flatten().find(|it| it.ended_at.is_none());
                if let Some(outage) = open {
                    outage.ended_at = Some(micros(*at));
                }
            }
        }
    }

    pub(crate) fn list_outages(&self, key: &DocumentKey, limit: usize) -> Vec<Outage> {
        self.outages.get(key).into_iter().flatten().rev().take(limit).cloned().collect()
    }

    pub(crate) fn add_hits(&mut self, deltas: &[HitDelta]) {
        for delta in deltas.iter().filter(|it| self.documents.contains_key(&it.key)) {
            let key = CounterKey {
                signature: delta.signature.clone(),
                user_id: delta.user_id.clone(),
                episode: delta.episode,
            };
            let at = micros(delta.last_triggered_at);
            let counter = self
                .counters
                .entry(delta.key.clone())
                .or_default()
                .entry(key)
                .or_insert(Hits { hits: 0, last_triggered_at: at });
            counter.hits = counter.hits.saturating_add(delta.hits);
            counter.last_triggered_at = counter.last_triggered_at.max(at);
        }
    }

    pub(crate) fn load_counters(&self, key: &DocumentKey) -> Vec<Counter> {
        let counters = self.counters.get(key).into_iter().flatten();
        counters
            .map(|(counter, hits)| Counter {
                key: key.clone(),
                signature: counter.signature.clone(),
                user_id: counter.user_id.clone(),
                episode: counter.episode,
                hits: hits.hits,
                last_triggered_at: hits.last_triggered_at,
            })
            .collect()
    }

    /// Whether the feed is complete after `position`. A position that was never given out is of a store that this one
    /// was restored from.
    pub(crate) const fn reaches_back_to(&self, position: u64) -> bool {
        self.floor <= position && position <= self.position
    }

    /// The changes after a position, where to go on, and whether there are more. `limit` ends a page only between
    /// transactions.
    pub(crate) fn changes(&self, after: u64, limit: usize) -> (Vec<Change>, u64, bool) {
        let mut changes = Vec::new();
        let mut last = after;
        let none = DocumentKey {
            tenant_id: String::new(),
            scope: Scope::Session,
            scope_id: String::new(),
            tool_name: String::new(),
        };
        for (position, key) in self.feed.range((after.saturating_add(1), none)..) {
            if changes.len() >= limit && *position != last {
                return (changes, last, true);
            }
            last = *position;
            // Deleted, or not to be read: its copies are to be dropped.
            let document = self.documents.get(key).filter(|it| self.is_readable(it)).cloned();
            changes.push(Change { key: key.clone(), document, version: *position });
        }
        (changes, self.position, false)
    }

    pub(crate) fn list_rule_layers(&self) -> (u64, Vec<RuleLayerRecord>) {
        (self.rules_revision, self.rules.values().cloned().collect())
    }

    pub(crate) const fn rules_revision(&self) -> u64 {
        self.rules_revision
    }

    pub(crate) fn put_rule_layer(
        &mut self,
        layer: &RuleLayerRecord,
        expected: Option<u64>,
    ) -> Result<u64, StoreError> {
        self.expect_rule_layer(&layer.key, expected)?;
        self.rules_revision += 1;
        let version = self.rules_revision;
        let layer = RuleLayerRecord { updated_at: micros(layer.updated_at), version, ..layer.clone() };
        self.rules.insert(layer.key.clone(), layer);
        Ok(version)
    }

    pub(crate) fn delete_rule_layer(
        &mut self,
        key: &RuleLayerKey,
        expected: Option<u64>,
    ) -> Result<bool, StoreError> {
        self.expect_rule_layer(key, expected)?;
        let was_there = self.rules.remove(key).is_some();
        self.rules_revision += u64::from(was_there);
        Ok(was_there)
    }

    fn expect_rule_layer(&self, key: &RuleLayerKey, expected: Option<u64>) -> Result<(), StoreError> {
        let found = self.rules.get(key).map_or(0, |it| it.version);
        match expected {
            Some(expected) if expected != found => Err(StoreError::RuleLayerChanged { expected, found }),
            _ => Ok(()),
        }
    }

    pub(crate) fn sweep(
        &mut self,
        sessions_before: Option<Instant>,
        tombstones_before: Instant,
        now: Instant,
    ) -> u64 {
        let mut n_gone = 0;

        if let Some(before) = sessions_before.map(micros) {
            let keys: Vec<DocumentKey> = self
                .documents
                .values()
                .map(|it| &it.document)
                .filter(|it| it.key.scope == Scope::Session && micros(it.updated_at) < before)
                .map(|it| it.key.clone())
                .collect();
            self.delete_documents(&keys, now);
            // The keys are in order.
            self.queue.delete(|job| keys.binary_search(&job.key).is_ok());
            n_gone += keys.len();
        }

        let before = micros(tombstones_before);
        let feed = &mut self.feed;
        let floor = &mut self.floor;
        let n_tombstones = self.tombstones.len();
        self.tombstones.retain(|key, it| {
            let keep = it.deleted_at >= before;
            if !keep {
                feed.remove(&(it.version, key.clone()));
                *floor = (*floor).max(it.version);
            }
            keep
        });
        n_gone += n_tombstones - self.tombstones.len();
        n_gone += self.queue.delete(|job| job.ended_at.is_some_and(|it| it < before));

        for (key, counters) in &mut self.counters {
            let Some(Versioned { document, .. }) = self.documents.get(key) else { continue };
            if self.unreadable.contains(key) {
                // It may name the episode.
                continue;
            }
            let n_counters = counters.len();
            counters.retain(|counter, _| {
                document
                    .cooldown(&counter.signature, counter.user_id.as_deref())
                    .is_some_and(|it| it.opened_at.timestamp_micros() == counter.episode)
            });
            n_gone += n_counters - counters.len();
        }

        let before = micros(orphaned_outages_before(now));
        for (key, outages) in &mut self.outages {
            let n_outages = outages.len();
            outages.drain(..n_outages.saturating_sub(OUTAGE_LIMIT));
            if !self.documents.contains_key(key) {
                outages.retain(|it| it.ended_at.is_none_or(|it| it >= before));
            }
            n_gone += n_outages - outages.len();
        }
        n_gone as u64
    }
}

fn matches(filter: &DocumentFilter, document: &Document) -> bool {
    filter.scope.is_none_or(|it| it == document.key.scope)
        && filter.scope_id.as_ref().is_none_or(|it| *it == document.key.scope_id)
        && filter.tool_name.as_ref().is_none_or(|it| *it == document.key.tool_name)
        && filter.status.is_none_or(|it| document.health.as_ref().is_some_and(|health| health.status == it))
}

fn selects(selector: &DeleteSelector, key: &DocumentKey) -> bool {
    match selector {
        DeleteSelector::One(it) => it == key,
        DeleteSelector::Tenant { tenant_id } => *tenant_id == key.tenant_id,
        DeleteSelector::User { tenant_id, user_id } => {
            key.scope == Scope::User && *tenant_id == key.tenant_id && *user_id == key.scope_id
        }
        DeleteSelector::Session { tenant_id, session_id } => {
            key.scope == Scope::Session && *tenant_id == key.tenant_id && *session_id == key.scope_id
        }
    }
}

fn corrupt(key: &DocumentKey) -> StoreError {
    StoreError::Corrupt { table: "documents", key: key.to_string(), source: None }
}

fn other(reason: String) -> StoreError {
    StoreError::Other { reason, source: None }
}
