//! The use cases over the ports: Check, RecordSuccess, RecordEvent, Lookup, Watch, Explain, Admin.
//!
//! This crate owns the view and the writer (DESIGN §8), and the order of things: read, decide, write, answer. It knows no
//! wire format and no driver: time, ids and the store come in through `ports`; verdicts come from `checker`.
//!
//! - [`settings`], [`error`]: what can be set, what can fail.
//! - [`check`], [`success`], [`event`], [`lookup`], [`watch`], [`explain`], [`admin`]: one module a use case.
//! - [`render`]: a verdict in the forms that other programs take.
//! - [`rules`]: rule layers of files and of the store, compiled per tenant and project.
//! - [`backtest`]: the journal of failures under changed rules.
//! - `view`, `writer`, `hits`, `journal`, `reports`, `shadow`, `shown`: inside.
//!
//! Invariants: it fails open (unknown means usable); what it calls committed is; every task it starts ends with
//! [`Service::shutdown`].

pub mod admin;
pub mod backtest;
pub mod check;
mod erase;
pub mod error;
pub mod event;
pub mod explain;
mod hits;
mod journal;
pub mod lookup;
pub mod render;
mod reports;
pub mod rules;
pub mod settings;
mod shadow;
mod shown;
pub mod success;
mod view;
pub mod watch;
mod writer;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use health_model::{Caller, Instant};
use ports::{Clock, Ids, Revision, Store, StoreError, StoreInfo};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::hits::Hits;
use crate::journal::Journal;
use crate::reports::Reports;
use crate::shadow::Shadow;
use crate::view::{Containers, View};
use crate::writer::{Writer, WriterStats};
pub use admin::{AdminChange, DocumentView, DocumentViews, document_key};
pub use backtest::{BacktestAnswer, BacktestRequest};
pub use check::{CheckAnswer, CheckRequest, Durability, HealthSummary};
pub use error::Error;
pub use event::{Event, EventOutcome, EventResult, RecordEventAnswer, RecordEventRequest};
pub use explain::{ExplainAnswer, ExplainRequest};
pub use lookup::{LookupAnswer, LookupRequest, ToolHealth, Visibility};
pub use rules::Rules;
pub use settings::{Mode, Placement, Settings, Surface};
pub use shadow::ShadowChange;
pub use success::{RecordSuccessAnswer, RecordSuccessRequest, Success, SuccessOutcome, SuccessResult};
pub use watch::{WatchEvent, WatchMessage, WatchRequest};

/// Something that an answer has to say besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// The store did not answer: the answer rests on what is in memory, and nothing was stored.
    StoreAway,
    /// Nothing was stored: what is on record for the tool cannot be read. An administrator deletes the document.
    Corrupt,
    /// Nothing was stored: too many writes are waiting.
    Overloaded,
    /// Nothing was stored: the caller has no id at the scope of the verdict, and it is never widened.
    NotStored,
    /// Nothing was stored: the server only observes.
    ObserveMode,
    /// The report was known; this is the answer given then.
    RepeatedReport,
    /// The `shown` token could not be read and counts as empty.
    ShownUnreadable,
    /// The heartbeat interval was out of bounds and was clamped.
    HeartbeatClamped,
}

impl Note {
    /// What should have been stored was not, and the same report may be sent again.
    fn is_lost(&self) -> bool {
        matches!(self, Self::StoreAway | Self::Overloaded | Self::Corrupt)
    }

    /// What an error of a write means for an answer that is given all the same.
    fn of(error: &Error) -> Self {
        match error {
            Error::Overloaded { .. } => Self::Overloaded,
            Error::Store(it) if matches!(**it, StoreError::Corrupt { .. }) => Self::Corrupt,
            _ => Self::StoreAway,
        }
    }
}

/// The service. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Service {
    inner: Arc<Inner>,
}

/// What the clones share.
pub struct Inner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    settings: Arc<Settings>,
    rules: Arc<Rules>,
    view: Arc<View>,
    writer: Mutex<Option<Writer>>,
    writer_stats: Arc<WriterStats>,
    hits: Hits,
    journal: Journal,
    shadow: Shadow,
    checks: Reports<CheckAnswer>,
    successes: Reports<RecordSuccessAnswer>,
    watches: Arc<AtomicUsize>,
    stop: CancellationToken,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl std::ops::Deref for Service {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

/// Counters in one flush.
const FLUSH_PART: usize = 500;

/// The longest sweep.
const SWEEP_LIMIT: Duration = Duration::from_secs(60);

/// What a read of a caller's containers found.
pub(crate) struct Read {
    pub(crate) containers: Containers,
    pub(crate) stale: bool,
    pub(crate) away: bool,
}

/// Counts for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Transactions committed.
    pub commits: u64,
    /// Documents written.
    pub documents_written: u64,
    /// Batches that lost against another server.
    pub conflicts: u64,
    /// Batches that could not be stored.
    pub failures: u64,
    /// Decisions waiting for the writer.
    pub queue_depth: u64,
    /// Failures appended to the journal.
    pub journal_written: u64,
    /// Failures that the journal lacks: too many at once, or the store did not take them.
    pub journal_dropped: u64,
    /// Failures that the shadow layers decide alike.
    pub shadow_same: u64,
    /// Failures that the shadow layers decide otherwise.
    pub shadow_different: u64,
    /// Containers that had to be loaded.
    pub view_misses: u64,
    /// Bytes of the view, estimated.
    pub view_bytes: u64,
    /// Open watches.
    pub watches: u64,
    /// The view may be out of date.
    pub stale: bool,
    /// The store did not answer the last call.
    pub store_away: bool,
}

impl Service {
    /// Starts the service and its tasks: writer, feed, counters, rule reload, sweep. Must be called within a tokio
    /// runtime. A store that is away is no error: the service answers without it and keeps trying.
    #[must_use]
    pub fn start(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        settings: Settings,
        rules: Arc<Rules>,
    ) -> Self {
        let settings = Arc::new(settings);
        let view = Arc::new(View::new(Arc::clone(&store), Arc::clone(&settings)));
        let writer_stats = Arc::new(WriterStats::default());
        let (writer, writing) = Writer::start(
            Arc::clone(&view),
            Arc::clone(&store),
            Arc::clone(&settings),
            Arc::clone(&writer_stats),
        );
        let stop = CancellationToken::new();
        let keep = settings.journal_limit.filter(|_| settings.mode == Mode::Active);
        let journal = Journal::new(keep, keep.map_or(Uuid::nil(), |_| ids.next()));
        let service = Self {
            inner: Arc::new(Inner {
                store,
                clock,
                ids,
                rules,
                view: Arc::clone(&view),
                writer: Mutex::new(Some(writer)),
                writer_stats,
                hits: Hits::new(),
                journal,
                shadow: Shadow::default(),
                checks: Reports::new(settings.report_limit),
                successes: Reports::new(settings.report_limit),
                watches: Arc::default(),
                stop: stop.clone(),
                tasks: Mutex::default(),
                settings,
            }),
        };
        let mut tasks = vec![
            writing,
            tokio::spawn(view::follow(view, stop)),
            tokio::spawn(service.clone().flush_task()),
            tokio::spawn(service.clone().rules_task()),
        ];
        if service.settings.mode == Mode::Active {
            tasks.push(tokio::spawn(service.clone().sweep_task()));
        }
        *service.tasks.lock().unwrap_or_else(PoisonError::into_inner) = tasks;
        service
    }

    /// Ends the service: no new writes, waiting writes and counters are stored, watches end. Returns `false` if that took
    /// longer than `limit`; what was acknowledged is stored in either case.
    pub async fn shutdown(&self, limit: Duration) -> bool {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.stop.cancel();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let ending = async {
            for task in tasks {
                let _ = task.await;
            }
            self.flush_hits().await;
            self.flush_journal().await;
            self.store.close().await;
        };
        tokio::time::timeout(limit, ending).await.is_ok()
    }

    /// What the store says of itself, or why it does not.
    ///
    /// # Errors
    ///
    /// The store's failure.
    pub async fn store_info(&self) -> Result<StoreInfo, Error> {
        Ok(self.view.timed(self.settings.store_timeout, self.store.info()).await?)
    }

    /// How many diagnoses are queued.
    ///
    /// # Errors
    ///
    /// The store's failure.
    pub async fn queued_jobs(&self) -> Result<u64, Error> {
        Ok(self.view.guarded(self.store.count_queued()).await?)
    }

    /// Counts for metrics.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let writer = &self.writer_stats;
        let waiting =
            self.writer.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, Writer::waiting);
        let (shadow_same, shadow_different) = self.shadow.counts();
        Stats {
            commits: writer.commits.load(Ordering::Relaxed),
            documents_written: writer.documents.load(Ordering::Relaxed),
            conflicts: writer.conflicts.load(Ordering::Relaxed),
            failures: writer.failures.load(Ordering::Relaxed),
            queue_depth: waiting as u64,
            journal_written: self.journal.written.load(Ordering::Relaxed),
            journal_dropped: self.journal.dropped.load(Ordering::Relaxed),
            shadow_same,
            shadow_different,
            view_misses: self.view.misses.load(Ordering::Relaxed),
            view_bytes: self.view.weight(),
            watches: self.watches.load(Ordering::Relaxed) as u64,
            stale: self.view.is_stale(),
            store_away: self.view.is_away(),
        }
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What the layers marked as shadows would have changed, see [`Rules::shadow_changes`].
    #[must_use]
    pub fn shadow_changes(&self, tenant_id: &str, project_id: Option<&str>) -> Vec<(ShadowChange, u64)> {
        self.rules.shadow_changes(tenant_id, project_id)
    }

    /// The rule layers.
    #[must_use]
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// The current instant, by the service's clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// What the view has seen.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.view.position()
    }

    fn writer(&self) -> Result<Writer, Error> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Error::ShuttingDown)
    }

    /// Reads a caller's containers: from the view, or from the store where the caller has seen more than the view.
    async fn read(
        &self,
        caller: &Caller,
        provider: Option<&str>,
        at_least: Option<&Revision>,
        fresh: bool,
    ) -> Read {
        let fresh = fresh || self.view.is_behind(at_least);
        match self.view.containers(caller, provider, fresh).await {
            Ok(found) => {
                let stale = found.from_view && self.view.is_stale();
                Read { containers: found, stale, away: false }
            }
            Err(error) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "answered without the store");
                Read { containers: self.view.held(caller, provider), stale: true, away: true }
            }
        }
    }

    async fn flush_hits(&self) {
        let now = self.clock.now();
        let deltas = self.hits.take(now);
        for (at, part) in deltas.chunks(FLUSH_PART).enumerate() {
            // A slow flush says nothing about the store that others should act upon.
            if let Err(error) =
                self.view.patient(self.settings.store_timeout, self.store.add_hits(part)).await
            {
                tracing::debug!(error = &error as &dyn std::error::Error, "counters are flushed later");
                // What timed out may have been written: counting it twice is worse than not at all.
                let done = if view::is_timeout(&error) { at + 1 } else { at };
                let rest = deltas.chunks(FLUSH_PART).skip(done).flatten().cloned().collect();
                self.hits.give_back(rest, now);
                return;
            }
        }
    }

    async fn flush_task(self) {
        while self.pause(self.settings.flush_every).await {
            self.flush_hits().await;
            self.flush_journal().await;
        }
    }

    async fn rules_task(self) {
        let mut seen = None;
        loop {
            match self.view.guarded(self.store.rules_revision()).await {
                Ok(revision) if seen != Some(revision) => match self.reload_rules().await {
                    Ok(()) => seen = Some(revision),
                    Err(error) => warn(&error, "rule layers cannot be read"),
                },
                Ok(_) => {}
                Err(error) => warn(&Error::from(error), "the revision of the rules cannot be read"),
            }
            if !self.pause(self.settings.rules_poll).await {
                return;
            }
        }
    }

    /// Compiles off the runtime's threads: a tenant with a thousand rules must hold up nobody else.
    async fn reload_rules(&self) -> Result<(), Error> {
        let limit = self.settings.admin_timeout;
        let (revision, layers) = self.view.patient(limit, self.store.list_rule_layers()).await?;
        let rules = Arc::clone(&self.rules);
        let compiled = tokio::task::spawn_blocking(move || rules.set_store_layers(revision, layers)).await;
        compiled.map_err(|_| Error::ShuttingDown)
    }

    async fn sweep_task(self) {
        loop {
            let next = health_model::cooldown::saturating_add(self.clock.now(), self.settings.sweep_every);
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.clock.sleep_until(next) => {}
            }
            let now = self.clock.now();
            let sessions = self.settings.session_retention.map(|it| now - it);
            let tombstones = now - self.settings.tombstone_retention;
            let sweep = self.view.patient(SWEEP_LIMIT, self.store.sweep(sessions, tombstones, now));
            let swept = tokio::select! {
                () = self.stop.cancelled() => return,
                swept = sweep => swept,
            };
            match swept {
                Ok(rows) => tracing::debug!(rows, "swept"),
                Err(error) => warn(&Error::from(error), "the sweep failed"),
            }
        }
    }

    /// Waits; `false` = the service ends.
    async fn pause(&self, span: Duration) -> bool {
        tokio::select! {
            () = self.stop.cancelled() => false,
            () = tokio::time::sleep(span) => true,
        }
    }
}

fn warn(error: &Error, what: &'static str) {
    let away = matches!(error, Error::Store(it) if matches!(**it, StoreError::Unavailable { .. }));
    if away {
        tracing::debug!(error = error as &dyn std::error::Error, what);
    } else {
        tracing::warn!(error = error as &dyn std::error::Error, what);
    }
}
