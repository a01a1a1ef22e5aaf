//! When the other side says to call again (R117; DESIGN §5, §6).
//!
//! Owns every spelling of a retry time: headers, fields of a JSON body, phrases in a text, limits that are used up, and
//! windows that a limit is named after. It knows nothing of rules, classes or documents: whether a time matters for a
//! failure is decided elsewhere. The table of all sources is in `docs/rules.md`.
//!
//! - What was said is passed on exactly: never negative, never earlier, at most a millisecond later.
//! - A time that is past means now. A time over 366 days away says nothing.
//! - Instants are measured on the other side's clock where the answer has a `Date` header: what counts is how far they
//!   are from that date.
//! - Every text is seen up to [`MAX_MATCHED_BYTES`], in one pass that looks back and ahead by a bounded distance.
//!
//! [`MAX_MATCHED_BYTES`]: crate::limits::MAX_MATCHED_BYTES

mod best;
mod cursor;
mod date;
mod field;
mod header;
mod limit;
mod pair;
mod phrase;
mod text;
mod value;
mod window;
mod words;
mod zone;

use std::fmt;

use chrono::TimeDelta;
use health_model::cooldown::saturating_add;
use health_model::{Failure, Instant, RetryBasis};

use crate::limits::head;

pub use field::from_pointer;
pub use header::{from_header, retry_after};
pub use text::from_phrases;

/// What is longer says nothing.
const LONGEST: TimeDelta = TimeDelta::days(366);

/// Two statements within this are one, told with different precision: the later one counts.
const ROUNDING: TimeDelta = TimeDelta::seconds(1);

/// When to call again, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// When to call again; never before the `now` that was asked for.
    pub at: Instant,
    /// Whether that was said, or follows from the length of a window.
    pub basis: RetryBasis,
    /// Where it stands, for evidence.
    pub source: Source,
}

/// Where a retry time stands. Its [`Display`](fmt::Display) is made for evidence; the text in it comes from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A header, by name.
    Header(String),
    /// A field of the body, as a JSON pointer (RFC 6901).
    Body(String),
    /// A piece of a message, a cause, a body or the standard error.
    Text(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header `{name}`"),
            Self::Body(pointer) => write!(f, "body `{pointer}`"),
            Self::Text(text) => write!(f, "text `{text}`"),
        }
    }
}

impl Source {
    /// Longer names and pieces are cut to this many bytes.
    const LONGEST: usize = 120;

    fn header(name: &str) -> Self {
        Self::Header(head(name, Self::LONGEST).to_ascii_lowercase())
    }

    fn body(pointer: &str) -> Self {
        Self::Body(head(pointer, Self::LONGEST).to_owned())
    }

    /// A piece of a text, in one line.
    fn text(piece: &str) -> Self {
        let words: Vec<&str> = head(piece, Self::LONGEST).split_whitespace().collect();
        Self::Text(words.join(" "))
    }
}

/// What a number counts. A unit that stands beside the number ("500ms") counts before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds to wait.
    Seconds,
    /// Milliseconds to wait.
    Milliseconds,
    /// Minutes to wait.
    Minutes,
    /// Time since 1970: seconds, milliseconds, microseconds or nanoseconds, told apart by size.
    Epoch,
    /// Seconds to wait; from 1,000,000,000 on [`Unit::Epoch`].
    Auto,
}

/// Our clock and the other side's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    ours: Instant,
    theirs: Option<Instant>,
}

impl From<Instant> for Clock {
    /// Theirs is not known: it counts as showing `now` too.
    fn from(now: Instant) -> Self {
        Self { ours: now, theirs: None }
    }
}

impl Clock {
    /// Ours shows `now`; theirs shows the `Date` header of the answer, where there is one.
    #[must_use]
    pub fn of(failure: &Failure, now: Instant) -> Self {
        let date = failure.header("date").find_map(|it| date::instant(it.trim()));
        Self { ours: now, theirs: date.map(|(it, _)| it) }
    }

    fn theirs(self) -> Instant {
        self.theirs.unwrap_or(self.ours)
    }

    /// Whether the other side told what its clock shows.
    fn is_shared(self) -> bool {
        self.theirs.is_some()
    }

    /// So long after now; `None` where that is absurd.
    fn after(self, wait: TimeDelta) -> Option<Instant> {
        (wait <= LONGEST).then(|| saturating_add(self.ours, wait.max(TimeDelta::zero())))
    }
}

/// When the other side says to call again, from all that the failure holds.
///
/// The first of these that names a time to come counts:
/// 1. headers made for it (`retry-after`, `retry-after-ms`, …);
/// 2. fields of the JSON body (`retryDelay`, `retry_after`, …);
/// 3. phrases and `key: value` pairs in texts ("try again in 6ms");
/// 4. the reset of a limit that is shown as used up, or of any limit where the failure is a rate limit.
///
/// A source that says "now" counts where none of them names a time to come. A limit that has a remainder, and a window
/// that an exceeded limit is named after ("per minute"), are upper bounds and count where nothing else does.
#[must_use]
pub fn said(failure: &Failure, now: Instant) -> Option<Said> {
    let clock = Clock::of(failure, now);
    let texts = text::Texts::of(failure);
    let found = texts.scan(failure, clock);
    let is_rate_limit = || failure.http_status == Some(429) || texts.name_rate_limit();

    let mut limits = limit::of_headers(failure);
    limits.extend(found.limits);
    let reset = if limits.is_empty() { None } else { limit::choose(&limits, is_rate_limit(), clock) };
    let (reset, bound) = match reset {
        Some(it) if it.basis == RetryBasis::Exact => (Some(it), None),
        other => (None, other),
    };
    let header = header::made_for_it(failure, found.old_discord, clock);
    let exact = [header, found.fields.exact(clock), found.phrases.exact(clock), reset];
    let mut exact = exact.into_iter().flatten();
    if let Some(first) = exact.next() {
        return Some(exact.fold(first, |best, it| {
            let is_same = it.at > best.at && it.at <= saturating_add(best.at, ROUNDING);
            if is_same || (best.at <= now && it.at > now) { it } else { best }
        }));
    }
    let window = || texts.window(clock).filter(|_| is_rate_limit() || texts.name_exceeded_limit());
    found.phrases.bound().or(bound).or_else(window)
}

/// The later of two.
fn later(a: Option<Said>, b: Option<Said>) -> Option<Said> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.at > a.at { b } else { a }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests;
