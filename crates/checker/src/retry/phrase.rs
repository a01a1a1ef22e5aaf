//! Phrases in a text that say when to call again, and `key: value` pairs.
//!
//! One pass over the words. At a word that can begin a statement ("retry", "wait", "resets"), a short closed grammar has to
//! follow: filler words, a preposition, a time. "In 5 minutes" alone means nothing, and neither does what a client says
//! of itself ("retrying in 5 s", "will retry in 5 s").

use chrono::TimeDelta;
use health_model::Failure;

use super::best::Best;
use super::cursor::Cursor;
use super::date::{self, TimeOfDay};
use super::field;
use super::limit::{self, Limit};
use super::pair;
use super::value::{self, Moment};
use super::words::{self, Gap, Recent};
use super::{Clock, Source, Unit};

/// What one text told.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub times: Best,
    pub limits: Vec<Limit>,
    pub old_discord: Option<u64>,
}

/// More pairs of one text that describe limits are not read.
const MOST_PAIRS: usize = 64;

/// Words that go with "again": "call again in 5 s".
const VERBS: [&str; 18] = [
    "ask", "attempt", "back", "call", "check", "come", "connect", "log", "login", "make", "query", "request",
    "retry", "send", "sign", "submit", "try", "upload",
];

/// Words that may stand between the verb and the time. "least", "most" and the like only follow a preposition.
const FILLERS: [&str; 40] = [
    "a",
    "about",
    "additional",
    "again",
    "another",
    "approximately",
    "approx",
    "around",
    "attempt",
    "back",
    "call",
    "calls",
    "further",
    "is",
    "it",
    "least",
    "more",
    "next",
    "of",
    "off",
    "once",
    "online",
    "only",
    "operation",
    "over",
    "please",
    "required",
    "request",
    "requests",
    "roughly",
    "than",
    "that",
    "the",
    "this",
    "time",
    "your",
    "up",
    "using",
    "model",
    "s",
];

/// Words that make a time an upper bound.
const BOUNDS: [&str; 3] = ["most", "less", "under"];

/// Words that a reset has to be about.
const LIMITS: [&str; 17] = [
    "allowance",
    "budget",
    "complexity",
    "counter",
    "credits",
    "limit",
    "limits",
    "limited",
    "points",
    "quota",
    "quotas",
    "rate",
    "ratelimit",
    "throttle",
    "tokens",
    "usage",
    "window",
];

/// Who can be locked out.
const LOCKED: [&str; 14] = [
    "access",
    "account",
    "address",
    "client",
    "engine",
    "ip",
    "key",
    "login",
    "requests",
    "service",
    "temporarily",
    "user",
    "you",
    "your",
];

/// The preposition before a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preposition {
    In,
    After,
    At,
    For,
    Until,
    /// "on", "from".
    From,
}

/// What may follow a verb.
#[derive(Debug, Clone, Copy)]
struct Grammar {
    allowed: &'static [Preposition],
    /// The time may follow without a preposition, as after "wait".
    is_direct: bool,
    /// "Within" tells the end of a wait, as after "resets"; after "retry" it tells how long one may.
    is_within: bool,
}

const AGAIN: Grammar = Grammar {
    allowed: &[Preposition::In, Preposition::After, Preposition::At, Preposition::From],
    is_direct: false,
    is_within: false,
};
const RESET: Grammar = Grammar { is_within: true, ..AGAIN };
const NOT_BEFORE: Grammar =
    Grammar { allowed: &[Preposition::For, Preposition::Until], is_direct: false, is_within: false };
const WAIT: Grammar = Grammar { is_direct: true, ..NOT_BEFORE };
const FOR: Grammar = Grammar { allowed: &[Preposition::For], ..NOT_BEFORE };

/// Everything that a text says about calling again.
pub(super) fn scan(text: &str, clock: Clock, failure: &Failure) -> Told {
    let lower = text.to_ascii_lowercase();
    let mut told = Told::default();
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut recent = Recent::default();
    let is_limit = ["limit", "quota"].iter().any(|it| lower.contains(it));
    let is_discord = lower.contains("you are being rate limited") && lower.contains("global");
    let is_loading = lower.contains("loading");
    let mut cursor = Cursor::new(&lower, 0);
    loop {
        match words::gap(&mut cursor) {
            Gap::Space => {}
            Gap::Clause => recent.end_clause(),
            Gap::Sentence => recent.end_sentence(),
        }
        let start = cursor.at();
        let word = words::word(&mut cursor);
        if word.is_empty() {
            break;
        }
        let after = Cursor::new(text, cursor.at());
        let found = statement(word, &recent, after, is_limit).or_else(|| {
            let field = Some(after)
                .filter(|it| pair::is_key(*it))
                .and_then(|_| field::field(word))
                .filter(|_| is_loading || !word.starts_with("estimated"))?;
            let mut end = after;
            let mut moment = pair::pair(&mut end, field)?;
            if is_discord && let Some(count) = pair::old_discord(field, after, failure) {
                told.old_discord = Some(count);
                moment = Moment::Wait(i128::from(count) * 1_000_000);
            }
            Some(Statement { moment, end: end.at(), start: None, is_bound: false })
        });
        if let Some(found) = found {
            let piece = text.get(found.start.unwrap_or(start)..found.end).unwrap_or_default();
            told.times.add(found.moment, found.is_bound, clock, Source::text(piece));
        }
        if is_limit
            && pairs.len() < MOST_PAIRS
            && word.contains('-')
            && word.contains("limit")
            && let Some(value) = pair::listed(after)
        {
            pairs.push((word.to_owned(), value));
        }
        recent.push(word, start);
    }
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    told.limits = limit::of_pairs(pairs, Source::text);
    told
}

/// A phrase that was read.
struct Statement {
    moment: Moment,
    end: usize,
    /// Where it begins, if before the word at hand.
    start: Option<usize>,
    is_bound: bool,
}

/// The statement that `word` begins or closes; `after` stands behind the word.
fn statement(word: &str, recent: &Recent<'_>, after: Cursor<'_>, is_limit: bool) -> Option<Statement> {
    let again = || tail(after, if recent.is_negated() { NOT_BEFORE } else { AGAIN });
    match word {
        "retry" | "try" | "retried" | "resume" if !recent.is_own_plan(usize::MAX) => again(),
        "again" => {
            let (_, start) = recent.iter().take(6).find(|(it, _)| VERBS.contains(it))?;
            if recent.is_own_plan(start) {
                return None;
            }
            let found = again()?;
            Some(Statement { start: Some(start), ..found })
        }
        "wait" if may_wait(recent) => tail(after, WAIT),
        "available" | "unavailable" | "allowed" | "restored" | "unlocked" | "lifted" => {
            let is_not = word == "unavailable" || recent.is_negated();
            tail(after, if is_not { NOT_BEFORE } else { RESET })
        }
        "back" if recent.has(1, &["be", "come", "check", "try"]) => tail(after, AGAIN),
        "back" if after.rest().trim_start().starts_with("off") => tail(after, FOR),
        "reset" | "resets" | "refreshes" | "renews" | "replenishes" | "replenished" | "refilled" => {
            let is_about_limit =
                recent.has(8, &LIMITS) || (is_limit && (word == "resets" || recent.is_empty()));
            let is_other = recent.has(8, &["connection", "stream", "peer", "socket", "password", "link"]);
            if is_about_limit && !is_other { tail(after, RESET) } else { None }
        }
        "blocked" | "locked" | "suspended" | "banned" | "throttled" | "limited" | "paused"
            if recent.has(8, &LOCKED) =>
        {
            tail(after, NOT_BEFORE)
        }
        "out" if recent.last() == "locked" && recent.has(8, &LOCKED) => tail(after, NOT_BEFORE),
        "maintenance" => tail(after, NOT_BEFORE),
        // "you can only request this after 53 seconds"
        "request" if recent.has(2, &["only"]) => tail(after, AGAIN),
        "break" if recent.has(1, &["a"]) => tail(after, FOR),
        // "limit reached|1750003200"
        "reached" if after.peek() == Some(b'|') => {
            let mut end = after;
            end.skip(1);
            let digits = end.take(20, |it| it.is_ascii_digit());
            let moment = (digits.len() >= 10).then(|| value::number(digits, Unit::Epoch))??;
            Some(Statement { moment, end: end.at(), start: None, is_bound: false })
        }
        _ if word.starts_with(['f', 's']) => {
            // Telegram: FLOOD_WAIT_34, FLOOD_PREMIUM_WAIT_5, SLOWMODE_WAIT_30.
            let (name, seconds) = word.rsplit_once("_wait_")?;
            let is_known = ["flood", "flood_premium", "slowmode"].contains(&name);
            let moment = value::number(seconds, Unit::Seconds).filter(|_| is_known)?;
            Some(Statement { moment, end: after.at(), start: None, is_bound: false })
        }
        _ => None,
    }
}

/// Whether "wait" is asked of the caller, not told of what happened.
fn may_wait(recent: &Recent<'_>) -> bool {
    const ASKED: [&str; 16] = [
        "please",
        "must",
        "should",
        "to",
        "and",
        "then",
        "just",
        "kindly",
        "need",
        "or",
        "a",
        "estimated",
        "required",
        "remaining",
        "the",
        "you",
    ];
    const TOLD: [&str; 7] = ["failed", "unable", "timed", "had", "lock", "after", "timeout"];
    (recent.is_clause_start() || ASKED.contains(&recent.last())) && !recent.has(4, &TOLD)
}

/// Filler words, a preposition, a time.
fn tail(after: Cursor<'_>, grammar: Grammar) -> Option<Statement> {
    let mut cursor = after;
    let mut preposition = None;
    let mut is_bound = false;
    let mut is_up = false;
    for _ in 0..9 {
        cursor.take(6, |it| it.is_ascii_whitespace() || b"'\"`\\([:=~*".contains(&it));
        if preposition.is_some() || grammar.is_direct {
            let mut end = cursor;
            if let Some((moment, is_range)) = time(&mut end, preposition.unwrap_or(Preposition::For)) {
                return Some(Statement {
                    moment,
                    end: end.at(),
                    start: None,
                    is_bound: is_bound || is_range,
                });
            }
        }
        let letters = cursor.letters();
        let found = match letters.to_ascii_lowercase().as_str() {
            "in" => Some(Preposition::In),
            "within" if grammar.is_within => {
                is_bound = true;
                Some(Preposition::In)
            }
            "after" => Some(Preposition::After),
            "at" => Some(Preposition::At),
            "for" => Some(Preposition::For),
            "until" | "till" | "before" => Some(Preposition::Until),
            "on" | "from" => Some(Preposition::From),
            "" => return None,
            word => {
                // "up to 5 minutes"
                is_bound |= BOUNDS.contains(&word) || (word == "to" && is_up);
                is_up = word == "up";
                if !FILLERS.contains(&word) && !BOUNDS.contains(&word) && word != "to" {
                    return None;
                }
                if word == "least" || word == "most" {
                    preposition = preposition.map(|_| Preposition::For);
                }
                None
            }
        };
        if let Some(found) = found {
            // "at least", "at most" after a preposition that was allowed, or directly after "wait".
            let is_amount = found == Preposition::At
                && (preposition.is_some() || grammar.is_direct)
                && ["least", "most"].iter().any(|it| cursor.rest().trim_start().starts_with(it));
            if is_amount {
                continue;
            }
            if preposition.is_some() || !grammar.allowed.contains(&found) {
                return None;
            }
            preposition = Some(found);
        }
    }
    None
}

/// The time after a preposition, and whether it is the far end of a range.
fn time(cursor: &mut Cursor<'_>, preposition: Preposition) -> Option<(Moment, bool)> {
    use Preposition::{After, At, For, From, In, Until};

    if let Some((at, length)) = date::instant(pair::bounded(cursor.rest())) {
        cursor.skip(length);
        return Some((Moment::At(at), false));
    }
    if cursor.eat_word("midnight") {
        // Where the zone is not told, the next midnight is a day away at most.
        cursor.take(2, |it| it == b' ' || it == b'(');
        let is_utc = ["utc", "gmt"].iter().any(|it| cursor.eat_word(it));
        return Some(if is_utc {
            (Moment::Daily(TimeDelta::zero()), false)
        } else {
            (Moment::Wait(value::DAY), true)
        });
    }
    if matches!(preposition, At | Until | From | After)
        && let Some(time) = date::time_of_day(cursor)
    {
        return match time {
            TimeOfDay::Utc(it) => Some((Moment::Daily(it), false)),
            TimeOfDay::Somewhere => None,
        };
    }
    let span = value::span(cursor)?;
    if !is_end(*cursor, !span.has_unit) {
        return None;
    }
    if span.has_unit {
        return matches!(preposition, In | After | For).then_some((Moment::Wait(span.nanos), span.is_range));
    }
    let moment = value::number(span.bare, Unit::Auto)?;
    let is_allowed = matches!(preposition, In | After | For) || matches!(moment, Moment::At(_));
    is_allowed.then_some((moment, false))
}

/// Whether a time can end here; after a number without a unit, no word may follow that it could count.
fn is_end(cursor: Cursor<'_>, is_bare: bool) -> bool {
    /// Words that can follow a number without being what it counts.
    const FOLLOWING: [&str; 9] = ["and", "or", "at", "then", "before", "to", "for", "on", "but"];
    let Some(next) = cursor.peek() else { return true };
    match next {
        b'/' | b'%' | b'_' | b'-' => false,
        b'.' | b',' | b':' => !cursor.second().is_some_and(|it| it.is_ascii_digit()),
        _ if next.is_ascii_alphanumeric() => false,
        b' ' | b'\t' if is_bare => {
            let mut ahead = cursor;
            ahead.take(4, |it| it == b' ' || it == b'\t');
            let word = ahead.letters();
            word.is_empty() || FOLLOWING.iter().any(|it| it.eq_ignore_ascii_case(word))
        }
        _ => true,
    }
}
