//! The store: versioned documents, committed in batches, with a change feed.
//!
//! The rules of health live in `health-model`, never in a store: a store compares versions and keeps what it is given.
//! It reads no clock: every instant it writes is an argument.

use async_trait::async_trait;
use health_model::vocabulary::{Scope, Status};
use health_model::{ContainerKey, Document, DocumentKey, Instant};

use crate::job::{Enqueue, EnqueueOutcome, JobQueue};
use crate::journal::{FailureEntry, FailurePage, FailurePlace};

/// What can go wrong. Absence is never an error: it is `Ok(None)` or an empty list.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A document's version was not the expected one, or a first insert met an existing row. Nothing of the batch was
    /// written. Load again, decide again, commit again.
    #[error("conflicting write of `{key}`")]
    Conflict {
        /// One of the documents that conflicted.
        key: DocumentKey,
    },
    /// Somebody else put or deleted the rule layer in between. Nothing was written.
    #[error("the rule layer has version {found}, not the expected {expected}")]
    RuleLayerChanged {
        /// The version asked for.
        expected: u64,
        /// The version found; 0 = there is none.
        found: u64,
    },
    /// The store cannot be reached, does not answer in time, is read-only or full. Whether a commit that failed so was
    /// written is not known; committing the same expected versions again is safe.
    #[error("the store is unavailable: {reason}")]
    Unavailable {
        /// What to look at, for operators.
        reason: String,
        /// The driver's error.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// A row that this program cannot read: its body is damaged, of a newer [`DOCUMENT_FORMAT`], or holds a word that this
    /// program does not know. Other rows are not affected. See [`Store`] for what each method makes of it.
    ///
    /// [`DOCUMENT_FORMAT`]: health_model::document::DOCUMENT_FORMAT
    #[error("corrupt row `{key}` in table `{table}`")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The row's key.
        key: String,
        /// What is wrong with it.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The schema was written by a newer program, and needs at least `min_reader`.
    #[error("the store's schema needs a program that reads schema {min_reader}, this one reads {supported}")]
    TooNew {
        /// The least schema version that a reader must know.
        min_reader: u32,
        /// The schema version that this program knows.
        supported: u32,
    },
    /// The revision is older than what the change feed keeps, ahead of it, or of another epoch. Start from a snapshot.
    #[error("revision `{revision}` is too old or of another store")]
    RevisionTooOld {
        /// The revision asked for.
        revision: Revision,
    },
    /// Anything else.
    #[error("{reason}")]
    Other {
        /// What was being done.
        reason: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

/// A place in the change feed. Opaque to clients; ordered within one epoch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision {
    /// The store's identity; a restored or new store has another.
    pub epoch: String,
    /// Commit-ordered position within the epoch.
    pub position: u64,
}

impl std::fmt::Display for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.epoch, self.position)
    }
}

impl std::str::FromStr for Revision {
    type Err = String;

    /// Reads what `Display` writes; an error names the text.
    fn from_str(text: &str) -> Result<Self, String> {
        let (epoch, position) = text.rsplit_once(':').ok_or_else(|| format!("not a revision: `{text}`"))?;
        let position = position.parse().map_err(|_| format!("not a revision: `{text}`"))?;
        Ok(Self { epoch: epoch.to_owned(), position })
    }
}

/// A document and its version.
#[derive(Debug, Clone, PartialEq)]
pub struct Versioned {
    /// The document.
    pub document: Document,
    /// Grows with each write of this key, also over a delete and a new insert.
    pub version: u64,
}

/// All documents of one container; empty if it holds none.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedContainer {
    /// The container.
    pub key: ContainerKey,
    /// Sorted by tool name.
    pub documents: Vec<Versioned>,
}

/// One document to write.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentWrite {
    /// The version it was decided on; `None` = there must be no row.
    pub expected: Option<u64>,
    /// The new content.
    pub document: Document,
}

/// Days that an ended outage outlives its document: how long outages last is worth knowing after it (DESIGN §7).
pub const ORPHANED_OUTAGE_DAYS: i64 = 90;

/// The instant before which an outage whose document does not exist any more must have ended for [`Store::sweep`] to take it.
#[must_use]
pub fn orphaned_outages_before(now: Instant) -> Instant {
    let micros = now.timestamp_micros().saturating_sub(ORPHANED_OUTAGE_DAYS * 24 * 60 * 60 * 1_000_000);
    Instant::from_timestamp_micros(micros).unwrap_or(Instant::MIN_UTC)
}

/// An outage row: the time that one document's status was DOWN. The last 200 of a document are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Outage {
    /// The document.
    pub key: DocumentKey,
    /// The kind of error that opened it; empty if none did.
    pub signature: String,
    /// When it began.
    pub started_at: Instant,
    /// When it ended; `None` = it lasts.
    pub ended_at: Option<Instant>,
    /// The document was deleted while it lasted: the end was not seen.
    pub censored: bool,
}

/// An outage that a commit opens or closes.
#[derive(Debug, Clone, PartialEq)]
pub enum OutageChange {
    /// Begins; a document has at most one open outage, a second open is ignored.
    Open {
        /// The document.
        key: DocumentKey,
        /// The kind of error; empty if none.
        signature: String,
        /// When.
        at: Instant,
    },
    /// Ends the open outage of the document, if there is one.
    Close {
        /// The document.
        key: DocumentKey,
        /// When.
        at: Instant,
    },
}

/// One transaction: all of it or nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// At most one write per key; two are an error.
    pub documents: Vec<DocumentWrite>,
    /// Jobs to enqueue or to merge into an open one.
    pub jobs: Vec<Enqueue>,
    /// Outages that open or close.
    pub outages: Vec<OutageChange>,
}

/// What a commit did.
#[derive(Debug, Clone, PartialEq)]
pub struct Committed {
    /// A revision at or after this commit: a reader that has reached it sees the commit.
    pub revision: Revision,
    /// The new versions, in the order of [`Batch::documents`].
    pub versions: Vec<u64>,
    /// What became of the jobs, in the order of [`Batch::jobs`].
    pub jobs: Vec<EnqueueOutcome>,
}

/// One change of the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The document.
    pub key: DocumentKey,
    /// Its content and version; `None` = deleted, or there and not to be read by this program. Either way: drop your copy.
    pub document: Option<Versioned>,
    /// The version of the change, also of a delete.
    pub version: u64,
}

/// A page of the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// In commit order. A key that changed several times may appear once, with its newest content.
    pub changes: Vec<Change>,
    /// Where to go on. With `more` unset, every commit at or before it has been delivered.
    pub next: Revision,
    /// There is more at once. Until the last page a commit may be missing whose document was written again since: the
    /// later content comes at its own place.
    pub more: bool,
}

/// Hits to add to a counter (DESIGN §8): keyed by document, signature, user and episode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitDelta {
    /// The document that holds the cooldown.
    pub key: DocumentKey,
    /// The kind of error.
    pub signature: String,
    /// The user of a user-specific cooldown.
    pub user_id: Option<String>,
    /// `opened_at` of the window, in microseconds since the epoch.
    pub episode: i64,
    /// How many.
    pub hits: u64,
    /// The last of them.
    pub last_triggered_at: Instant,
}

/// A counter as read back.
pub type Counter = HitDelta;

/// Which documents to list. Empty fields match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    /// The tenant; GLOBAL documents have the empty tenant. Required: no listing crosses tenants.
    pub tenant_id: String,
    /// The scope.
    pub scope: Option<Scope>,
    /// The id at that scope.
    pub scope_id: Option<String>,
    /// Exactly this tool.
    pub tool_name: Option<String>,
    /// Exactly this status on record.
    pub status: Option<Status>,
}

/// A page of documents, sorted by (scope, scope id, tool name).
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentPage {
    /// The documents.
    pub documents: Vec<Versioned>,
    /// The last key, if there is more: pass it as `after`.
    pub next: Option<DocumentKey>,
}

/// What to delete. What goes besides documents goes whether or not there is a document, and jobs whether they are open or
/// ended, whichever queue they are in, with all their signals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeleteSelector {
    /// One document, its counters, and the jobs about it. Its outages stay: they say nothing of a person, and how long they
    /// last is worth knowing after it. An open one ends as censored.
    One(DocumentKey),
    /// Everything of a tenant: documents, counters, outages, rule layers, its journal of failures, the jobs of its queues and
    /// those about its documents.
    Tenant {
        /// The tenant.
        tenant_id: String,
    },
    /// What names a user, beside the contents of other documents:
    ///
    /// - the user's documents with their counters, their outages, and the jobs about them;
    /// - in the whole tenant, counters of the user's cooldowns in other documents;
    /// - in the tenant's queues, jobs whose [`key_user`](crate::Job::key_user) is the user;
    /// - in the tenant's other jobs, all of each signal of the user's but its time, as by
    ///   [`Signal::forget`](crate::Signal::forget). The job and its count stay.
    ///
    /// Other documents are not written: a cooldown, a history entry or a diagnosis that names the user stays in them.
    User {
        /// The tenant.
        tenant_id: String,
        /// The user.
        user_id: String,
    },
    /// Everything kept under a session: its documents with their counters, their outages, and the jobs about them.
    Session {
        /// The tenant.
        tenant_id: String,
        /// The session.
        session_id: String,
    },
}

/// Names a rule layer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleLayerKey {
    /// The tenant.
    pub tenant_id: String,
    /// The project; `None` = the tenant's layer.
    pub project_id: Option<String>,
}

/// A rule layer that was put into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleLayerRecord {
    /// Its name.
    pub key: RuleLayerKey,
    /// The YAML, as it was put.
    pub text: String,
    /// When.
    pub updated_at: Instant,
    /// Who put it.
    pub updated_by: String,
    /// The number of [`Store::rules_revision`] that its put made: grows with each put. Ignored when putting.
    pub version: u64,
}

/// What a store says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreInfo {
    /// `memory`, `sqlite` or `postgres`.
    pub kind: &'static str,
    /// See [`Revision::epoch`].
    pub epoch: String,
    /// The version of the schema as it is in the store.
    pub schema_version: u32,
    /// The least schema version that a reader must know.
    pub min_reader: u32,
}

/// The store. All methods are safe to call from many tasks and, but for memory, from many processes at once.
///
/// # Rows that cannot be read
///
/// A document that is there and cannot be read ([`StoreError::Corrupt`]) must hide no other, and nobody may go on with what
/// it said before: containers and lists leave it out and log it, [`Store::changes`] tells to drop it, and
/// [`Store::load_document`] of it is the error. To a writer that loaded its container it looks absent: a first insert over it
/// is the error too, not a conflict, which would send the writer back to load it again for ever. A write of its very version
/// replaces it, and a delete removes it.
#[async_trait]
pub trait Store: JobQueue {
    /// Identity and schema. Fails if the store cannot be reached: the cheapest health check.
    async fn info(&self) -> Result<StoreInfo, StoreError>;

    /// Loads whole containers in one query, in the order asked for; an absent one is empty.
    /// Sees every commit that was acknowledged before the call, by any server. Leaves out documents that cannot be read.
    async fn load_containers(&self, keys: &[ContainerKey]) -> Result<Vec<LoadedContainer>, StoreError>;

    /// Loads one document; [`StoreError::Corrupt`] if it is there and cannot be read.
    async fn load_document(&self, key: &DocumentKey) -> Result<Option<Versioned>, StoreError>;

    /// Writes a batch in one transaction, or nothing and [`StoreError::Conflict`]. Durable once it returns: it survives a
    /// kill -9 of this process and a crash of the database. Of two first inserts of one key one wins. A first insert over a
    /// document that cannot be read is [`StoreError::Corrupt`] with the document's key. An empty batch writes nothing and
    /// answers the head.
    ///
    /// A queue that has more than [`QUEUE_LIMIT`](crate::job::QUEUE_LIMIT) queued jobs after a job was created in it drops
    /// some in the same transaction: its oldest queued jobs of [`ToolCallError`](crate::Trigger::ToolCallError), by creation
    /// and id, become STALE with the reason [`QUEUE_FULL`](crate::job::QUEUE_FULL), until it holds no more than the limit or
    /// none of them is left. What people asked for and planned checks stay, and so does the last job that this commit
    /// created in the queue.
    async fn commit(&self, batch: &Batch) -> Result<Committed, StoreError>;

    /// A page of documents after the key `after`, at most `limit` (clamped to 1…1,000), in the order of `DocumentKey`:
    /// scopes narrow to wide, text by bytes. Leaves out documents that cannot be read.
    async fn list_documents(
        &self,
        filter: &DocumentFilter,
        after: Option<&DocumentKey>,
        limit: usize,
    ) -> Result<DocumentPage, StoreError>;

    /// Deletes what the selector says, in one transaction. Outages that are kept and open end as censored at `now`. Each
    /// deleted document leaves a tombstone in the feed for 24 h. Returns how many documents were deleted, and the revision.
    async fn delete(&self, selector: &DeleteSelector, now: Instant) -> Result<(u64, Revision), StoreError>;

    /// The outages of one document, newest first, at most `limit`.
    async fn list_outages(&self, key: &DocumentKey, limit: usize) -> Result<Vec<Outage>, StoreError>;

    /// Adds hits: sums, keeps the latest `last_triggered_at`. No version changes, no feed event. Deltas of documents
    /// that do not exist are dropped.
    async fn add_hits(&self, deltas: &[HitDelta]) -> Result<(), StoreError>;

    /// The counters of one document, sorted by (signature, user, episode).
    async fn load_counters(&self, key: &DocumentKey) -> Result<Vec<Counter>, StoreError>;

    /// The newest revision that a reader of the feed can have reached.
    async fn head(&self) -> Result<Revision, StoreError>;

    /// The changes after `after`, at most about `limit` (a transaction is never split). Every commit appears: none is
    /// passed over because a transaction that began earlier commits later. A document that cannot be read is told as a
    /// change without a document, at its version.
    async fn changes(&self, after: &Revision, limit: usize) -> Result<Changes, StoreError>;

    /// Returns when there may be changes after `after`, or after `timeout`, whichever is first. An accelerator only:
    /// readers must poll all the same. `timeout` is real time.
    async fn wait_for_changes(
        &self,
        after: &Revision,
        timeout: std::time::Duration,
    ) -> Result<(), StoreError>;

    /// All rule layers, sorted by key, with a number that grows with each put and delete.
    async fn list_rule_layers(&self) -> Result<(u64, Vec<RuleLayerRecord>), StoreError>;

    /// The number of [`Store::list_rule_layers`] alone: cheap, polled for hot reload.
    async fn rules_revision(&self) -> Result<u64, StoreError>;

    /// Puts or replaces a rule layer and returns its new version. `expected`: `None` = whatever is there, `Some(0)` = there
    /// must be none, else the version that must be there; otherwise [`StoreError::RuleLayerChanged`] and nothing written.
    async fn put_rule_layer(&self, layer: &RuleLayerRecord, expected: Option<u64>)
    -> Result<u64, StoreError>;

    /// Deletes a rule layer; `false` if there was none. `expected` as in [`Store::put_rule_layer`].
    async fn delete_rule_layer(&self, key: &RuleLayerKey, expected: Option<u64>) -> Result<bool, StoreError>;

    /// Appends failures to the journals of their tenants, and in the same transaction takes from each of these journals all
    /// but its `keep` latest entries, in the order of [`FailurePlace`]; an entry that comes too late for them is among those
    /// taken. Of several appends at once the last one to return leaves no more than that. An id that is on record is passed
    /// over, so that an append that failed as unavailable can be repeated. No version changes, no feed event.
    async fn append_failures(&self, entries: &[FailureEntry], keep: usize) -> Result<(), StoreError>;

    /// A page of a tenant's journal, the latest first: entries before the place `before`, at most `limit` (clamped to
    /// 1…1,000). `project_id`: only of this project. A place need not be on record any more. Rows that cannot be read are
    /// passed over and counted, and hide no other: a page goes on behind them until it is full or there are no more, and a
    /// journal read page by page counts each once.
    async fn list_failures(
        &self,
        tenant_id: &str,
        project_id: Option<&str>,
        before: Option<FailurePlace>,
        limit: usize,
    ) -> Result<FailurePage, StoreError>;

    /// Sweeps, and returns how many rows went (counters and jobs that go with their document are not counted):
    ///
    /// - SESSION documents not written since `sessions_before`, each as by [`DeleteSelector::One`]; `None` = never;
    /// - tombstones older than `tombstones_before`, and DONE and STALE jobs that ended before it;
    /// - counters of episodes that no cooldown names any more;
    /// - outages over 200 a document, and outages that ended, seen or censored, more than [`ORPHANED_OUTAGE_DAYS`] before
    ///   `now` and whose document does not exist any more.
    async fn sweep(
        &self,
        sessions_before: Option<Instant>,
        tombstones_before: Instant,
        now: Instant,
    ) -> Result<u64, StoreError>;

    /// Closes connections after pending work. Further calls fail as unavailable.
    async fn close(&self);
}
