//! Cooldown arithmetic (R43…R53, C19): windows, episodes, backoff, and the spreading of retry times.
//!
//! A *hit* is every failure that meets a window, suppressed ones too. An *episode* is a window that was opened; the
//! number of episodes in a row drives backoff. Windows carry no jitter; only [`spread`] differs between callers.

use chrono::TimeDelta;

use crate::Instant;
use crate::document::Cooldown;
use crate::policy::{Backoff, Policy};
use crate::vocabulary::Classification;

/// How long a window is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// The default of the classification, growing with each episode.
    Default,
    /// A rule's own first length, growing like the default of the classification does; where the class does not
    /// grow, constant.
    Base(TimeDelta),
    /// To this instant, as the other side said: only clamped, never scaled.
    Until(Instant),
    /// To this instant, as an administrator said: not clamped.
    Exactly(Instant),
}

impl Cooldown {
    /// Whether the window is open at `now`.
    #[must_use]
    pub fn is_active(&self, now: Instant) -> bool {
        self.cleared_at.is_none() && now < self.next_spawn_allowed_at
    }

    /// The length of the window; never negative.
    #[must_use]
    pub fn window(&self) -> TimeDelta {
        (self.next_spawn_allowed_at - self.opened_at).max(TimeDelta::zero())
    }

    /// Whether no failure can have come for one window: a success then sets the count of episodes back (DESIGN §11.3).
    /// Counted from the end of the window, since suppressed failures may have come until then.
    #[must_use]
    pub fn is_outlived(&self, now: Instant) -> bool {
        now >= saturating_add(self.next_spawn_allowed_at, self.window())
    }

    /// When the count of episodes is forgotten: quiet for max(2 × the last window, 1 h). Quiet counts from the end of
    /// the window, since a suppressed failure may have come until then.
    #[must_use]
    pub fn forgotten_at(&self) -> Instant {
        let quiet = (self.window() * 2).max(TimeDelta::hours(1));
        saturating_add(self.next_spawn_allowed_at, quiet)
    }
}

/// The length of window number `episode` (1 = first): base × factor^(episode − 1), at most the cap.
#[must_use]
pub fn window_length(backoff: Backoff, episode: u32) -> TimeDelta {
    let mut length = backoff.base.min(backoff.cap);
    if backoff.factor <= 1 {
        return length;
    }
    for _ in 1..episode {
        if length >= backoff.cap || length <= TimeDelta::zero() {
            break;
        }
        length = length.checked_mul(i32::try_from(backoff.factor).unwrap_or(i32::MAX)).unwrap_or(backoff.cap);
    }
    length.min(backoff.cap)
}

/// Opens the next window for (signature, user), following on `before`, the entry on record.
#[must_use]
pub fn open(
    before: Option<&Cooldown>,
    signature: &str,
    user_id: Option<&str>,
    classification: Classification,
    window: Window,
    policy: &Policy,
    now: Instant,
) -> Cooldown {
    let episodes = before.filter(|it| now < it.forgotten_at()).map_or(1, |it| it.episodes.saturating_add(1));
    let mut backoff = policy.backoff(classification);
    let clamp = |it: TimeDelta| it.clamp(policy.min_window, policy.max_window.max(policy.min_window));
    let until = match window {
        Window::Default => saturating_add(now, clamp(window_length(backoff, episodes))),
        Window::Base(base) => {
            backoff.base = base;
            backoff.cap = backoff.cap.max(base);
            saturating_add(now, clamp(window_length(backoff, episodes)))
        }
        Window::Until(at) => saturating_add(now, clamp(at - now)),
        Window::Exactly(at) => at,
    };
    Cooldown {
        signature: signature.to_owned(),
        user_id: user_id.map(str::to_owned),
        classification,
        opened_at: now,
        next_spawn_allowed_at: until,
        episodes,
        cleared_at: None,
    }
}

/// The earliest retry of one caller after a computed window: `until` plus a share of at most a tenth of the window
/// (C18). The share depends only on the caller and the episode: equal input, equal time. A time that the other side
/// named must not go through here: it is passed on exactly.
#[must_use]
pub fn spread(opened_at: Instant, until: Instant, caller: &str) -> Instant {
    let tenth = (until - opened_at).max(TimeDelta::zero()).num_milliseconds() / 10;
    if tenth <= 0 {
        return until;
    }
    let hash = hash(caller.bytes().chain(opened_at.timestamp_micros().to_le_bytes()));
    let share = i64::try_from(hash % u64::try_from(tenth).unwrap_or(1)).unwrap_or(0);
    saturating_add(until, TimeDelta::milliseconds(share))
}

/// FNV-1a with its upper half folded in: the same on every machine and in every version.
pub(crate) fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^ (hash >> 32)
}

/// `at + delta`, or the last instant that can be told.
#[must_use]
pub fn saturating_add(at: Instant, delta: TimeDelta) -> Instant {
    at.checked_add_signed(delta).unwrap_or(if delta > TimeDelta::zero() {
        Instant::MAX_UTC
    } else {
        Instant::MIN_UTC
    })
}
