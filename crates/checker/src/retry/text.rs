//! The texts of a failure, and everything that they say about calling again.

use std::cell::OnceCell;

use health_model::{Failure, RetryBasis};
use serde_json::Value;

use super::best::Best;
use super::field::{self, Walk};
use super::limit::Limit;
use super::phrase::{self, Told};
use super::value::Moment;
use super::window;
use super::{Clock, Said, Source};
use crate::limits::{MAX_CAUSES, MAX_MATCHED_BYTES, head, tail};

/// What the body and the texts say.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// What fields of the body say.
    pub fields: Best,
    /// What texts say.
    pub phrases: Best,
    /// Limits that the body or a text describes.
    pub limits: Vec<Limit>,
    /// The number in the body of an old Discord answer, in milliseconds.
    pub old_discord: Option<u64>,
}

impl Found {
    /// Adds what one text told.
    pub(super) fn add(&mut self, told: Told) {
        self.phrases.merge(told.times);
        self.limits.extend(told.limits);
        self.old_discord = self.old_discord.or(told.old_discord);
    }
}

/// The texts of a failure, each cut to [`MAX_MATCHED_BYTES`].
pub(super) struct Texts<'a> {
    /// The body, where it is JSON; then it is not among the texts that are scanned.
    json: Option<Value>,
    /// Message, causes, standard error, and last the body.
    all: Vec<&'a str>,
    /// The same in lower case.
    lower: OnceCell<Vec<String>>,
}

impl<'a> Texts<'a> {
    pub(super) fn of(failure: &'a Failure) -> Self {
        let mut all = vec![head(&failure.message, MAX_MATCHED_BYTES)];
        all.extend(failure.causes.iter().take(MAX_CAUSES).map(|it| head(&it.message, MAX_MATCHED_BYTES)));
        if let Some(text) = &failure.stderr_tail {
            all.push(tail(text, MAX_MATCHED_BYTES));
        }
        all.push(head(&failure.body, MAX_MATCHED_BYTES));
        Self { json: json(&failure.body), all, lower: OnceCell::new() }
    }

    fn lower(&self) -> &[String] {
        self.lower.get_or_init(|| self.all.iter().map(|it| it.to_ascii_lowercase()).collect())
    }

    /// What all texts and the body say.
    pub(super) fn scan(&self, failure: &Failure, clock: Clock) -> Found {
        let mut found = Found::default();
        let texts = match self.all.split_last() {
            Some((_, others)) if self.json.is_some() => others,
            _ => &self.all,
        };
        if let Some(json) = &self.json {
            Walk { failure, clock, found: &mut found, pointer: String::new() }.visit(json, false);
        }
        for text in texts {
            found.add(phrase::scan(text, clock, failure));
        }
        found
    }

    /// Whether a text says that this is a rate limit.
    pub(super) fn name_rate_limit(&self) -> bool {
        const NAMES: [&str; 9] = [
            "rate-limit",
            "ratelimit",
            "rate limit",
            "rate_limit",
            "too many request",
            "too_many_requests",
            "toomanyrequests",
            "throttl",
            "quota exceeded",
        ];
        let is_named = |text: &str, name: &str| {
            text.match_indices(name).any(|(at, _)| !is_header_name(text.get(at..).unwrap_or_default()))
        };
        self.lower().iter().any(|text| NAMES.iter().any(|it| is_named(text, it)))
    }

    /// Whether a text says that a limit was exceeded.
    pub(super) fn name_exceeded_limit(&self) -> bool {
        const LIMITS: [&str; 2] = ["limit", "quota"];
        const EXCEEDED: [&str; 5] = ["exceed", "reached", "exhausted", "too many", "used up"];
        let has = |text: &String, names: &[&str]| names.iter().any(|it| text.contains(it));
        self.lower().iter().any(|text| has(text, &LIMITS) && has(text, &EXCEEDED))
    }

    /// The longest window that a text names a limit after.
    pub(super) fn window(&self, clock: Clock) -> Option<Said> {
        let (length, piece) =
            self.all.iter().filter_map(|it| window::longest(it)).max_by_key(|(length, _)| *length)?;
        let at = Moment::Wait(length).on(clock)?;
        Some(Said { at, basis: RetryBasis::UpperBound, source: Source::text(piece) })
    }
}

/// Whether a text begins with the end of a header's name: "ratelimit-remaining: ", "rate-limit-reset': ".
fn is_header_name(text: &str) -> bool {
    let text = head(text, 80);
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '-';
    let name = text.find(|it| !is_part(it)).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(name).unwrap_or((text, ""));
    name.contains("limit-") && rest.trim_start_matches(['"', '\'', '\\']).starts_with([':', '=', ','])
}

fn json(body: &str) -> Option<Value> {
    let body = body.trim();
    let is_json =
        body.starts_with(['{', '[']) && body.len() <= MAX_MATCHED_BYTES && !field::is_too_deep(body);
    if is_json { serde_json::from_str(body).ok() } else { None }
}

/// When a text says to call again, in a phrase ("try again in 6ms") or a pair (`retry_after=5`); `None` if it does not.
///
/// Of several times the latest counts. Instants are measured on the other side's clock: pass [`Clock::of`] the failure,
/// or only `now`.
#[must_use]
pub fn from_phrases(text: &str, clock: impl Into<Clock>) -> Option<Said> {
    let clock = clock.into();
    let told = phrase::scan(head(text, MAX_MATCHED_BYTES), clock, &Failure::default());
    told.times.exact(clock).or(told.times.bound())
}
