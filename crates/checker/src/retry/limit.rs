//! Limits with a remainder and a reset: `x-ratelimit-remaining-requests: 0`, `"default";r=0;t=30`.
//!
//! The parts of a limit stand in several headers, whose names differ in one word: `reset`, `remaining`, `limit`,
//! `status`. The names without that word tell which belong together. The same pairs are read from an object of a JSON
//! body and from headers that a text lists.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use health_model::{Failure, Instant, RetryBasis};

use super::value::{self, Moment, Nanos};
use super::{Clock, Said, Source, Unit, later};

/// A limit of which more than a tenth is left did not strike: then its reset says something only if it is this near.
const NEAR: TimeDelta = TimeDelta::minutes(5);

/// Longer lists of limits in one header are cut.
const MOST_ITEMS: usize = 32;

/// One limit, as far as it was told.
#[derive(Debug, Clone, Default)]
pub(super) struct Limit {
    total: Option<Nanos>,
    remaining: Option<Nanos>,
    /// Told in words (`rejected`, `allowed`) instead of a remainder.
    is_allowed: Option<bool>,
    reset: Option<Moment>,
    window: Option<Nanos>,
    source: Option<Source>,
}

/// What a header tells of its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Reset {
        is_millis: bool,
    },
    Remaining,
    Total,
    Status,
    /// All parts in one structured value.
    All,
}

/// The limits in the headers of an answer.
pub(super) fn of_headers(failure: &Failure) -> Vec<Limit> {
    let pairs = failure.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    of_pairs(pairs, Source::header)
}

/// The limits in pairs that are named like headers; `source` tells where a name stands.
pub(super) fn of_pairs<'a>(
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
    source: impl Fn(&str) -> Source,
) -> Vec<Limit> {
    let mut limits: BTreeMap<(String, usize), Limit> = BTreeMap::new();
    for (name, value) in pairs {
        let Some((role, key, window)) = role(name, value) else { continue };
        if role == Role::All {
            structured(&mut limits, value, || source(name));
            continue;
        }
        for (at, item) in items(value).into_iter().enumerate() {
            let mut parts = item.split(';').map(str::trim);
            let own = parts.next().unwrap_or_default();
            let limit = limits.entry((key.clone(), at)).or_default();
            let in_value = parts.find_map(|it| value::number(it.strip_prefix("w=")?, Unit::Seconds));
            if let Some(Moment::Wait(nanos)) = in_value {
                limit.window = Some(nanos);
            }
            limit.window = limit.window.or(window);
            match role {
                Role::Reset { is_millis } => {
                    limit.reset = reset(own, is_millis);
                    limit.source = Some(source(name));
                }
                Role::Remaining => limit.remaining = count(own),
                Role::Total => limit.total = count(own),
                Role::Status => {
                    limit.is_allowed =
                        Some(own.starts_with("allowed")).filter(|it| *it || own.starts_with("reject"));
                }
                Role::All => {}
            }
            if limit.source.is_none() {
                limit.source = Some(source(name));
            }
        }
    }
    limits.into_values().collect()
}

/// Role, name without the word of the role, and the window that the name holds (`x-ratelimit-remaining-minute`).
fn role(name: &str, value: &str) -> Option<(Role, String, Option<Nanos>)> {
    if name.len() > 80 {
        return None;
    }
    let mut kebab = String::with_capacity(name.len() + 4);
    let mut was_lower = false;
    for it in name.chars() {
        if it.is_ascii_uppercase() && was_lower {
            kebab.push('-');
        }
        was_lower = it.is_ascii_lowercase();
        kebab.push(if it == '_' || it == '.' { '-' } else { it.to_ascii_lowercase() });
    }
    let mut words: Vec<&str> = kebab.split('-').filter(|it| !it.is_empty()).collect();
    if !words.iter().any(|it| it.ends_with("limit")) {
        return None;
    }
    let find = |words: &[&str], names: &[&str]| words.iter().rposition(|it| names.contains(it));
    let role = if let Some(at) = find(&words, &["reset", "resets", "resetat", "resettime", "resetafter"]) {
        let is_millis = find(&words, &["ms", "millis", "milliseconds"]).is_some();
        words.remove(at);
        words.retain(|it| !TAILS.contains(it));
        Role::Reset { is_millis }
    } else if let Some(at) = find(&words, &["remaining"]) {
        words.remove(at);
        Role::Remaining
    } else if let Some(at) = find(&words, &["status"]) {
        words.remove(at);
        Role::Status
    } else if words.last().is_some_and(|it| it.ends_with("ratelimit") || *it == "policy")
        || words.ends_with(&["rate", "limit"])
        || value.contains("remaining=")
    {
        Role::All
    } else {
        let at = find(&words, &["limit"])?;
        words.remove(at);
        Role::Total
    };
    let window = words.iter().find_map(|it| window(it));
    Some((role, words.join("-"), window))
}

/// What may follow "reset" in a name.
const TAILS: [&str; 11] =
    ["after", "at", "in", "time", "timestamp", "epoch", "date", "seconds", "ms", "millis", "milliseconds"];

/// "minute", "24hour".
fn window(word: &str) -> Option<Nanos> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = word.split_at_checked(digits)?;
    let unit = value::unit(unit).filter(|_| unit.len() > 1 || !count.is_empty())?;
    if count.is_empty() { Some(unit) } else { count.parse::<u16>().ok().map(|it| Nanos::from(it) * unit) }
}

/// The members of a list, where every member is a number or a span with its parameters; else the whole value.
fn items(value: &str) -> Vec<&str> {
    let is_plain = |it: &str| value::whole(it.split(';').next().unwrap_or_default(), Unit::Auto).is_some();
    let parts: Vec<&str> = value.split(',').take(MOST_ITEMS).map(str::trim).collect();
    if parts.iter().all(|it| is_plain(it)) { parts } else { vec![value.trim()] }
}

fn reset(text: &str, is_millis: bool) -> Option<Moment> {
    match value::whole(text, Unit::Auto) {
        Some(Moment::Wait(_)) if is_millis => value::whole(text, Unit::Milliseconds),
        other => other,
    }
}

/// A remainder or a total; below zero is nothing left.
fn count(text: &str) -> Option<Nanos> {
    if text.starts_with('-') {
        return Some(0);
    }
    match value::number(text, Unit::Seconds)? {
        Moment::Wait(nanos) => Some(nanos),
        Moment::At(_) | Moment::Daily(_) => None,
    }
}

/// The structured fields of the IETF drafts, and lists of the same kind: `"default";r=0;t=30`, `limit=10, remaining=0,
/// reset=5`, `total=100; remaining=0; resets=41`, `"burst";q=100;w=60`.
fn structured(limits: &mut BTreeMap<(String, usize), Limit>, value: &str, source: impl Fn() -> Source) {
    let mut name = "";
    for part in value.split([',', ';']).take(4 * MOST_ITEMS).map(str::trim) {
        let Some((key, value)) = part.split_once('=') else {
            name = part;
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        // The parts of a policy and of its state meet here: both name it.
        let limit = limits.entry((format!("={name}"), 0)).or_default();
        match key {
            "l" | "q" | "limit" | "total" => limit.total = count(value),
            "r" | "remaining" => limit.remaining = count(value),
            "t" | "reset" | "resets" => {
                limit.reset = value::whole(value, Unit::Auto);
                limit.source = Some(source());
            }
            "w" => limit.window = count(value),
            _ => continue,
        }
        if limit.source.is_none() {
            limit.source = Some(source());
        }
    }
}

impl Limit {
    fn is_used_up(&self) -> bool {
        self.remaining.is_some_and(|it| it == 0) || self.is_allowed == Some(false)
    }

    fn is_untold(&self) -> bool {
        self.remaining.is_none() && self.is_allowed != Some(true)
    }

    fn said(&self, at: Option<Instant>, basis: RetryBasis) -> Option<Said> {
        Some(Said { at: at?, basis, source: self.source.clone()? })
    }

    fn at_reset(&self, basis: RetryBasis, clock: Clock) -> Option<Said> {
        self.said(self.reset?.on(clock), basis)
    }

    fn at_window(&self, clock: Clock) -> Option<Said> {
        self.said(Moment::Wait(self.window?).on(clock), RetryBasis::UpperBound)
    }

    /// How much of a thousand is left; `None` where that is not told.
    fn per_mille(&self) -> Option<Nanos> {
        self.remaining?.checked_mul(1_000)?.checked_div(self.total?)
    }
}

/// When the limit that struck lets the next call through.
///
/// Used-up limits come first: the latest of their resets is exact, a window without a reset is an upper bound. Where none
/// is shown as used up, but the failure is a rate limit: a reset without any remainder is exact; with a remainder it
/// is an upper bound, and the limit of which the least is left counts.
pub(super) fn choose(limits: &[Limit], is_rate_limit: bool, clock: Clock) -> Option<Said> {
    let latest = |all: &mut dyn Iterator<Item = Option<Said>>| all.fold(None, later);
    let used_up = || limits.iter().filter(|it| it.is_used_up());
    let found = latest(&mut used_up().map(|it| it.at_reset(RetryBasis::Exact, clock)))
        .or_else(|| latest(&mut used_up().map(|it| it.at_window(clock))));
    if found.is_some() || !is_rate_limit {
        return found;
    }
    let untold = || limits.iter().filter(|it| it.is_untold());
    latest(&mut untold().map(|it| it.at_reset(RetryBasis::Exact, clock)))
        .or_else(|| least_left(limits, clock))
        .or_else(|| latest(&mut untold().map(|it| it.at_window(clock))))
}

fn least_left(limits: &[Limit], clock: Clock) -> Option<Said> {
    let told = limits.iter().filter(|it| it.remaining.is_some_and(|it| it > 0));
    let candidates = told.filter_map(|it| {
        let said = it.at_reset(RetryBasis::UpperBound, clock)?;
        let is_low = it.per_mille().is_some_and(|it| it <= 100);
        let is_near = clock.after(NEAR).is_some_and(|near| said.at <= near);
        (is_low || is_near).then(|| (it.per_mille().unwrap_or(1_000), said))
    });
    let best = candidates.reduce(|a, b| {
        let is_better = b.0 < a.0 || (b.0 == a.0 && b.1.at > a.1.at);
        if is_better { b } else { a }
    });
    best.map(|(_, said)| said)
}
