//! What an operator can set, with defaults. Parsing configuration is the edge's business.

use std::time::Duration;

use chrono::TimeDelta;
use health_model::Policy;

/// Whether verdicts are acted upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Verdicts are written.
    Active,
    /// All verdicts are given, nothing is written: to adopt without risk (DESIGN §10).
    Observe,
}

/// How trouble shows in a tool list (DESIGN §10, C26).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// Every tool stays listed, with words.
    Annotate,
    /// Every tool stays listed; membership never changes.
    Stable,
    /// Tools that are out of order for everybody are hidden.
    Hide,
    /// Tools that are down are offered by name only.
    Demote,
}

/// Where words for the model go (C22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// A separate block for after the prompt-cache marker, and per tool.
    Block,
    /// Per tool only, as a suffix of its description.
    Description,
    /// Nowhere.
    None,
}

/// Settings of the service. `default()` holds the documented defaults.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Active or observe.
    pub mode: Mode,
    /// The constants of the model.
    pub policy: Policy,
    /// The constants of deciding.
    pub decide: checker::Settings,
    /// Default surface mode.
    pub surface: Surface,
    /// Default placement.
    pub placement: Placement,
    /// Memory for the view, in bytes (estimated). Default 256 MiB.
    pub view_bytes: u64,
    /// Longest time that one store call may take. Default 2 s.
    pub store_timeout: Duration,
    /// Longest time that an administrator's read or rule layer may take. Default 10 s.
    pub admin_timeout: Duration,
    /// Longest time that a delete may take: a tenant can be large. Default 2 min.
    pub delete_timeout: Duration,
    /// After a failed store call, further ones fail at once for this long. Default 1 s.
    pub store_retry: Duration,
    /// The view is trusted while the last feed heartbeat is younger than this (DESIGN §8). Default 1 s.
    pub stale_after: Duration,
    /// The feed is polled at least this often. Default 500 ms.
    pub feed_poll: Duration,
    /// Documents in one transaction. Default 64.
    pub batch_documents: usize,
    /// Decisions waiting for the writer; more are refused as overloaded. Default 16,384.
    pub queue_limit: usize,
    /// How often counters and the journal are flushed; on a kill at most this much is lost of them. Default 1 s.
    pub flush_every: Duration,
    /// Failures kept in the journal of a tenant, the latest ones; `None` = no journal. Default 2,000.
    pub journal_limit: Option<usize>,
    /// How often rule layers in the store are looked for. Default 1 s.
    pub rules_poll: Duration,
    /// SESSION documents are swept this long after their last write; `None` = never (DESIGN §11.8). Default 7 d.
    pub session_retention: Option<TimeDelta>,
    /// How long a deleted document stays in the feed. Default 24 h.
    pub tombstone_retention: TimeDelta,
    /// How often the sweep runs. Default 10 min.
    pub sweep_every: TimeDelta,
    /// Answers kept for repeated reports. Default 65,536.
    pub report_limit: usize,
    /// Streams open at once. Default 1,000.
    pub watch_limit: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Active,
            policy: Policy::default(),
            decide: checker::Settings::default(),
            surface: Surface::Annotate,
            placement: Placement::Block,
            view_bytes: 256 << 20,
            store_timeout: Duration::from_secs(2),
            admin_timeout: Duration::from_secs(10),
            delete_timeout: Duration::from_secs(120),
            store_retry: Duration::from_secs(1),
            stale_after: Duration::from_secs(1),
            feed_poll: Duration::from_millis(500),
            batch_documents: 64,
            queue_limit: 16_384,
            flush_every: Duration::from_secs(1),
            journal_limit: Some(2_000),
            rules_poll: Duration::from_secs(1),
            session_retention: Some(TimeDelta::days(7)),
            tombstone_retention: TimeDelta::hours(24),
            sweep_every: TimeDelta::minutes(10),
            report_limit: 65_536,
            watch_limit: 1_000,
        }
    }
}
