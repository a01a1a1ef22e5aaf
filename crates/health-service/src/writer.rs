//! The writer: one per server (DESIGN §8). It gathers decisions, applies their effects to working copies, and commits
//! all of them in one transaction.
//!
//! A decision is a function of the documents, so that it can be made again: the copy it was first made on may be out of
//! date, decisions of the same batch come before it, and after a [`StoreError::Conflict`] the documents are loaded
//! anew. Of a storm on one tool the first decision opens the cooldown and all others see it: a handful of writes.
//! A document has one commit in flight, since there is one batch in flight.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use health_model::transition::{self, OutageChange as OutageEdge};
use health_model::{Cascade, ContainerKey, Document, DocumentKey, Effect, Instant};
use ports::{
    Batch, Change, DocumentWrite, Enqueue, EnqueueOutcome, OutageChange, Revision, Store, StoreError,
    Versioned,
};
use tokio::sync::{mpsc, oneshot};

use crate::error::Error;
use crate::settings::Settings;
use crate::view::{Container, View};

/// Tries against other servers before a decision is given up.
const ATTEMPT_LIMIT: u32 = 32;

/// Containers that one step may need loaded.
const CONTAINER_LIMIT: usize = 512;

/// Tries of a batch before its decisions are written one by one: a document that never lets itself be written, such as
/// a corrupt row, then costs only its own.
const BATCH_ATTEMPT_LIMIT: u32 = 8;

/// What a decision wants written.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    pub(crate) effects: Vec<Effect>,
    pub(crate) jobs: Vec<Enqueue>,
}

/// What became of it.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    /// The revision of the commit; `None` = nothing had to be written.
    pub(crate) revision: Option<Revision>,
    /// The jobs, in the order planned.
    pub(crate) jobs: Vec<EnqueueOutcome>,
    /// Per effect: whether it changed its document.
    pub(crate) changed: Vec<bool>,
    /// The documents that were written, as they are now.
    pub(crate) documents: Vec<Arc<Versioned>>,
}

/// The documents that a decision is made on: the batch's working copies over what the store has.
pub(crate) struct World<'a> {
    containers: &'a BTreeMap<ContainerKey, Arc<Container>>,
    working: &'a BTreeMap<DocumentKey, Working>,
}

struct Working {
    document: Document,
    expected: Option<u64>,
}

impl World<'_> {
    pub(crate) fn document(&self, key: &DocumentKey) -> Option<&Document> {
        if let Some(it) = self.working.get(key) {
            return Some(&it.document);
        }
        Some(&self.containers.get(&key.container())?.document(&key.tool_name)?.document)
    }

    /// The cascade of one tool over these containers.
    pub(crate) fn cascade(&self, containers: &[ContainerKey], tool: &str) -> Cascade<'_> {
        Cascade::new(containers.iter().filter_map(|it| self.document(&it.document(tool))))
    }
}

type Plan = Box<dyn FnMut(&World<'_>) -> Planned + Send>;

struct Work {
    containers: Vec<ContainerKey>,
    plan: Plan,
    now: Instant,
    reply: oneshot::Sender<Result<Written, Error>>,
}

/// The handle to the writer.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Work>,
    limit: usize,
}

/// Counts of the writer, for metrics.
#[derive(Debug, Default)]
pub(crate) struct WriterStats {
    pub(crate) commits: AtomicU64,
    pub(crate) documents: AtomicU64,
    pub(crate) conflicts: AtomicU64,
    pub(crate) failures: AtomicU64,
}

impl Writer {
    /// Starts the writer's task. It ends when every handle is gone and the queue is empty.
    pub(crate) fn start(
        view: Arc<View>,
        store: Arc<dyn Store>,
        settings: Arc<Settings>,
        stats: Arc<WriterStats>,
    ) -> (Self, tokio::task::JoinHandle<()>) {
        let limit = settings.queue_limit.max(1);
        let (queue, works) = mpsc::channel(limit);
        let task = tokio::spawn(Run { view, store, settings, stats }.run(works));
        (Self { queue, limit }, task)
    }

    /// Plans, applies and commits. `plan` may be called several times; its last answer counts. `containers` must hold
    /// every document that it reads or writes. Once handed over the write goes on even if the caller gives up waiting.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        containers: Vec<ContainerKey>,
        now: Instant,
        mut plan: impl FnMut(&World<'_>) -> (T, Planned) + Send + 'static,
    ) -> Result<(T, Written), Error> {
        let (reply, answer) = oneshot::channel();
        let (made, last) = std::sync::mpsc::channel();
        let plan: Plan = Box::new(move |world| {
            let (value, planned) = plan(world);
            let _ = made.send(value);
            planned
        });
        let work = Work { containers, plan, now, reply };
        self.queue.try_send(work).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Error::Overloaded { limit: self.limit },
            mpsc::error::TrySendError::Closed(_) => Error::ShuttingDown,
        })?;
        let written = answer.await.map_err(|_| Error::ShuttingDown)??;
        let value = last.try_iter().last().ok_or(Error::ShuttingDown)?;
        Ok((value, written))
    }

    pub(crate) fn waiting(&self) -> usize {
        self.limit - self.queue.capacity()
    }
}

struct Run {
    view: Arc<View>,
    store: Arc<dyn Store>,
    settings: Arc<Settings>,
    stats: Arc<WriterStats>,
}

/// How the decisions that wait are tried.
#[derive(Debug, Default)]
struct Pace {
    /// Conflicts in a row.
    attempts: u32,
    /// One by one.
    alone: bool,
}

/// One decision of a batch, with what it did.
struct Done {
    work: Work,
    changed: Vec<bool>,
    touched: Vec<DocumentKey>,
    jobs: std::ops::Range<usize>,
}

impl Run {
    async fn run(self, mut works: mpsc::Receiver<Work>) {
        while let Some(first) = works.recv().await {
            let mut pending = vec![first];
            while pending.len() < 4_096
                && let Ok(next) = works.try_recv()
            {
                pending.push(next);
            }
            let mut pace = Pace::default();
            while !pending.is_empty() {
                pending = self.step(pending, &mut pace).await;
            }
        }
    }

    /// Writes one batch. Returns what has to be done again, or did not fit.
    async fn step(&self, works: Vec<Work>, pace: &mut Pace) -> Vec<Work> {
        let (works, mut rest) = Self::take(works, pace.alone);
        let containers = match self.view.many(Self::keys(&works), false).await {
            Ok(it) => it,
            Err(error) => {
                self.stats.failures.fetch_add(1, Ordering::Relaxed);
                fail(works, &Error::from(error));
                return rest;
            }
        };
        let mut working: BTreeMap<DocumentKey, Working> = BTreeMap::new();
        let mut dirty: HashSet<DocumentKey> = HashSet::new();
        let mut batch = Batch::default();
        let mut done: Vec<Done> = Vec::new();
        let mut works = works.into_iter();
        while dirty.len() < self.settings.batch_documents.max(1)
            && let Some(mut work) = works.next()
        {
            let planned = (work.plan)(&World { containers: &containers, working: &working });
            let mut changed = Vec::with_capacity(planned.effects.len());
            let mut touched = Vec::new();
            for effect in &planned.effects {
                let change = self.apply(effect, &containers, &mut working, &mut batch, work.now);
                changed.push(change);
                if change {
                    dirty.insert(effect.key.clone());
                    if !touched.contains(&effect.key) {
                        touched.push(effect.key.clone());
                    }
                }
            }
            let first = batch.jobs.len();
            batch.jobs.extend(planned.jobs);
            done.push(Done { work, changed, touched, jobs: first..batch.jobs.len() });
        }
        let mut left: Vec<Work> = works.collect();
        left.append(&mut rest);
        let mut rest = left;
        batch.documents = working
            .iter()
            .filter(|(key, _)| dirty.contains(*key))
            .map(|(_, it)| DocumentWrite { expected: it.expected, document: it.document.clone() })
            .collect();
        if batch.documents.is_empty() && batch.jobs.is_empty() {
            for it in done {
                reply(it, None, &[], &BTreeMap::new());
            }
            return rest;
        }
        match self.view.guarded(self.store.commit(&batch)).await {
            Ok(committed) => {
                pace.attempts = 0;
                self.stats.commits.fetch_add(1, Ordering::Relaxed);
                self.stats.documents.fetch_add(batch.documents.len() as u64, Ordering::Relaxed);
                let mut written = BTreeMap::new();
                let mut changes = Vec::with_capacity(batch.documents.len());
                for (write, &version) in batch.documents.into_iter().zip(&committed.versions) {
                    let versioned = Versioned { document: write.document, version };
                    let key = versioned.document.key.clone();
                    written.insert(key.clone(), Arc::new(versioned.clone()));
                    changes.push(Change { key, document: Some(versioned), version });
                }
                self.view.apply(&changes);
                for it in done {
                    reply(it, Some(&committed.revision), &committed.jobs, &written);
                }
                rest
            }
            Err(StoreError::Conflict { key }) => {
                pace.attempts += 1;
                self.stats.conflicts.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(%key, attempts = pace.attempts, "another server wrote first; deciding again");
                pace.alone |= pace.attempts >= BATCH_ATTEMPT_LIMIT;
                let mut again: Vec<Work> = done.into_iter().map(|it| it.work).collect();
                if pace.attempts >= ATTEMPT_LIMIT {
                    fail(again, &Error::Conflict { attempts: pace.attempts });
                    // The next decision has its own tries, alone from the start.
                    pace.attempts = 0;
                    return rest;
                }
                // Grows with the tries and differs between batches, so that two servers do not meet forever.
                let spread = pace.attempts.min(8) * (1 + (again.len() as u32 % 3));
                tokio::time::sleep(Duration::from_millis(u64::from(spread))).await;
                if let Err(error) = self.view.load(&Self::keys(&again), true).await {
                    fail(again, &Error::from(error));
                    return rest;
                }
                again.append(&mut rest);
                again
            }
            Err(error @ StoreError::Unavailable { .. }) => {
                self.stats.failures.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(error = &error as &dyn std::error::Error, "a batch could not be committed");
                fail(done.into_iter().map(|it| it.work).collect(), &Error::from(error));
                rest
            }
            // One of them is at fault: found by trying each alone.
            Err(_) if done.len() > 1 => {
                pace.alone = true;
                let mut again: Vec<Work> = done.into_iter().map(|it| it.work).collect();
                again.append(&mut rest);
                again
            }
            Err(error) => {
                self.stats.failures.fetch_add(1, Ordering::Relaxed);
                tracing::error!(error = &error as &dyn std::error::Error, "a decision cannot be stored");
                fail(done.into_iter().map(|it| it.work).collect(), &Error::from(error));
                rest
            }
        }
    }

    fn apply(
        &self,
        effect: &Effect,
        containers: &BTreeMap<ContainerKey, Arc<Container>>,
        working: &mut BTreeMap<DocumentKey, Working>,
        batch: &mut Batch,
        now: Instant,
    ) -> bool {
        let entry = working.entry(effect.key.clone()).or_insert_with(|| {
            let held =
                containers.get(&effect.key.container()).and_then(|it| it.document(&effect.key.tool_name));
            match held {
                Some(it) => Working { document: it.document.clone(), expected: Some(it.version) },
                None => Working { document: Document::new(effect.key.clone(), now), expected: None },
            }
        });
        let change = transition::apply(&mut entry.document, &effect.kind, &self.settings.policy, now);
        let key = effect.key.clone();
        match change.outage {
            Some(OutageEdge::Opened) => {
                let signature = entry.document.health.as_ref().and_then(|it| it.signature.clone());
                batch.outages.push(OutageChange::Open {
                    key,
                    signature: signature.unwrap_or_default(),
                    at: now,
                });
            }
            Some(OutageEdge::Closed) => batch.outages.push(OutageChange::Close { key, at: now }),
            None => {}
        }
        change.changed
    }

    /// The works of one step: as many as have up to [`CONTAINER_LIMIT`] containers together, at least one.
    fn take(works: Vec<Work>, alone: bool) -> (Vec<Work>, Vec<Work>) {
        let mut containers: HashSet<&ContainerKey> = HashSet::new();
        let n = works
            .iter()
            .take_while(|it| {
                let is_first = containers.is_empty();
                containers.extend(&it.containers);
                is_first || (!alone && containers.len() <= CONTAINER_LIMIT)
            })
            .count();
        let mut works = works;
        let rest = works.split_off(n.max(1).min(works.len()));
        (works, rest)
    }

    fn keys(works: &[Work]) -> Vec<ContainerKey> {
        let mut keys: Vec<ContainerKey> = works.iter().flat_map(|it| it.containers.iter().cloned()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

fn fail(works: Vec<Work>, error: &Error) {
    for work in works {
        let _ = work.reply.send(Err(error.clone()));
    }
}

fn reply(
    done: Done,
    revision: Option<&Revision>,
    jobs: &[EnqueueOutcome],
    written: &BTreeMap<DocumentKey, Arc<Versioned>>,
) {
    let wrote = !done.touched.is_empty() || !done.jobs.is_empty();
    let answer = Written {
        revision: revision.filter(|_| wrote).cloned(),
        jobs: jobs.get(done.jobs).unwrap_or_default().to_vec(),
        changed: done.changed,
        documents: done.touched.iter().filter_map(|key| written.get(key).cloned()).collect(),
    };
    let _ = done.work.reply.send(Ok(answer));
}
