//! The window that a limit is named after: "per minute", "(TPM)", "requests_per_day", "time window of 300 seconds".
//!
//! Its length is an upper bound of the wait. Of several windows the longest counts.

use super::cursor::Cursor;
use super::value::{self, Nanos};

/// Names of limits that hold their window in the last letter: requests, tokens, queries or images per time.
const SHORT_NAMES: [&str; 14] =
    ["RPS", "RPM", "RPH", "RPD", "TPS", "TPM", "TPH", "TPD", "QPS", "QPM", "QPD", "IPM", "IPD", "ASPH"];

/// What limits count: a slash after one of these ("calls/min") reads "per".
const COUNTED: [&str; 12] = [
    "request", "requests", "req", "reqs", "call", "calls", "token", "tokens", "query", "queries", "message",
    "messages",
];

const DAY: Nanos = value::DAY;

/// The longest window that is named, and the text that names it.
pub(super) fn longest(text: &str) -> Option<(Nanos, &str)> {
    let mut best: Option<(Nanos, &str)> = None;
    let mut before = "";
    let mut cursor = Cursor::new(text, 0);
    while !cursor.rest().is_empty() {
        let start = cursor.at();
        let word = cursor.take(4_096, |it| it.is_ascii_alphanumeric());
        if word.is_empty() {
            let is_slash = cursor.peek() == Some(b'/');
            cursor.skip(cursor.rest().chars().next().map_or(1, char::len_utf8));
            let is_number = (1..=12).contains(&before.len()) && before.bytes().all(|it| it.is_ascii_digit());
            let is_count = is_number || COUNTED.iter().any(|it| it.eq_ignore_ascii_case(before));
            if is_slash && is_count {
                let mut ahead = cursor;
                ahead.spaces();
                keep(&mut best, unit_alone(&mut ahead), text, start, ahead.at());
            }
            continue;
        }
        let mut ahead = cursor;
        let window = match word.to_ascii_lowercase().as_str() {
            "per" | "every" | "each" => length(&mut ahead),
            "secondly" if is_of_limit(ahead) => {
                Some(value::SECOND * if before.eq_ignore_ascii_case("ten") { 10 } else { 1 })
            }
            "minutely" => Some(60 * value::SECOND),
            "hourly" => Some(DAY / 24),
            "daily" => Some(DAY),
            "weekly" => Some(7 * DAY),
            "monthly" => Some(31 * DAY),
            "window" => window_of(&mut ahead),
            "within" if COUNTED.iter().any(|it| it.eq_ignore_ascii_case(before)) => length(&mut ahead),
            _ if word.bytes().all(|it| it.is_ascii_digit()) => {
                ahead = Cursor::new(text, start);
                period(&mut ahead)
            }
            _ if SHORT_NAMES.contains(&word) => short(word),
            _ => {
                // "RequestsPerMinutePerProject" is one word.
                camel(text, start, word, &mut best);
                None
            }
        };
        keep(&mut best, window, text, start, ahead.at());
        before = word;
    }
    best
}

fn keep<'a>(
    best: &mut Option<(Nanos, &'a str)>,
    window: Option<Nanos>,
    text: &'a str,
    from: usize,
    to: usize,
) {
    if let Some(window) = window.filter(|it| *it > 0)
        && best.is_none_or(|(longest, _)| window > longest)
    {
        *best = Some((window, text.get(from..to).unwrap_or_default()));
    }
}

/// Whether what follows is about a limit: "secondly" also counts a speaker's points.
fn is_of_limit(mut cursor: Cursor<'_>) -> bool {
    gap(&mut cursor);
    ["limit", "limits", "rolling", "quota", "rate"].iter().any(|it| cursor.letters().eq_ignore_ascii_case(it))
}

/// After "per": "minute", "100 seconds", "1m0s", "_minute_per_project", "-min".
fn length(cursor: &mut Cursor<'_>) -> Option<Nanos> {
    gap(cursor);
    if !cursor.peek()?.is_ascii_digit() {
        return unit_alone(cursor);
    }
    let mut ahead = *cursor;
    match value::span(&mut ahead) {
        Some(span) if span.has_unit => {
            *cursor = ahead;
            Some(span.nanos)
        }
        _ => counted(cursor),
    }
}

fn counted(cursor: &mut Cursor<'_>) -> Option<Nanos> {
    let count: Nanos = cursor.take(6, |it| it.is_ascii_digit()).parse().ok()?;
    gap(cursor);
    unit_alone(cursor)?.checked_mul(count)
}

fn gap(cursor: &mut Cursor<'_>) {
    cursor.take(12, |it| it.is_ascii_whitespace() || matches!(it, b'_' | b'-'));
}

/// A unit that is a word of its own. One letter is too little but for seconds and hours after a slash.
fn unit_alone(cursor: &mut Cursor<'_>) -> Option<Nanos> {
    let letters = cursor.letters();
    let is_word = letters.len() > 1 || matches!(letters, "s" | "h");
    let is_end = !cursor.peek().is_some_and(|it| it.is_ascii_digit());
    value::unit(letters).filter(|_| is_word && is_end)
}

/// "window of 300 seconds".
fn window_of(cursor: &mut Cursor<'_>) -> Option<Nanos> {
    cursor.spaces();
    cursor.eat_word("of").then_some(())?;
    cursor.spaces();
    counted(cursor)
}

/// "24 hour period", "10-second window", "60s interval".
fn period(cursor: &mut Cursor<'_>) -> Option<Nanos> {
    let window = counted(cursor)?;
    gap(cursor);
    ["period", "window", "interval"].iter().any(|it| cursor.eat_word(it)).then_some(window)
}

fn short(name: &str) -> Option<Nanos> {
    Some(match name.bytes().last()? {
        b'S' => value::SECOND,
        b'M' => value::MINUTE,
        b'H' => DAY / 24,
        _ => DAY,
    })
}

/// Windows in the parts of a word in camel case.
fn camel<'a>(text: &'a str, start: usize, word: &str, best: &mut Option<(Nanos, &'a str)>) {
    for (at, _) in word.match_indices("Per") {
        let mut cursor = Cursor::new(text, start + at + "Per".len());
        let count = cursor.take(6, |it| it.is_ascii_digit()).parse::<Nanos>().unwrap_or(1);
        let first = cursor.take(1, |it| it.is_ascii_uppercase());
        let tail = cursor.take(32, |it| it.is_ascii_lowercase());
        let unit = if first.is_empty() { None } else { value::unit(&format!("{first}{tail}")) };
        let window = unit.filter(|_| tail.len() > 1).and_then(|it| it.checked_mul(count));
        keep(best, window, text, start + at, cursor.at());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Issue texts and documents of the services that write so.
    #[test]
    fn windows_are_read() {
        for (text, seconds, named) in [
            ("limit 'Write requests per user per 100 seconds' of service", 100, "per 100 seconds"),
            ("embed_requests_per_minute_per_project_per_model", 60, "per_minute"),
            ("tokens per min (TPM): Limit 90000", 60, "per min"),
            ("\"quotaId\":\"GenerateRequestsPerDayPerProjectPerModel-FreeTier\"", 86_400, "PerDay"),
            ("\"quota_limit\": \"Gemini25ProRequestsPerDay\"", 86_400, "PerDay"),
            ("Rate limit exceeded: free-models-per-min.", 60, "per-min"),
            ("limited to 40 API calls / minute", 60, "/ minute"),
            ("Limit: 3 / min. Current: 4 / min.", 60, "/ min"),
            ("5 req/s", 1, "/s"),
            ("exceeded the limit of 6000 over time window of 300 seconds.", 300, "window of 300 seconds"),
            (
                "100 requests over a 24 hour period (50 requests available every 12 hours)",
                86_400,
                "24 hour period",
            ),
            ("5 calls per minute and 500 calls per day", 86_400, "per day"),
            ("Daily Limit Exceeded", 86_400, "Daily"),
            ("Requests per\n   day per user", 86_400, "per day"),
            ("limit of 20 requests within 60 seconds", 60, "within 60 seconds"),
            ("rate limit (RPM) reached", 60, "RPM"),
            ("20 requests per 1m0s", 60, "per 1m0s"),
            ("ReadRequestsPer100SecondsPerUser", 100, "Per100Seconds"),
        ] {
            let (window, at) = longest(text).unwrap_or_else(|| panic!("{text}"));
            let words: Vec<&str> = at.split_whitespace().collect();
            assert_eq!((window / value::SECOND, words.join(" ").as_str()), (seconds, named), "{text}");
        }
    }

    #[test]
    fn other_words_are_no_windows() {
        for text in [
            "",
            "per",
            "per user",
            "per project",
            "super minute",
            "Permin",
            "requests per model",
            "https://h/v1/minute",
            "within 60 seconds",
            "upper day",
            "per 100",
            "wrapper min",
            "300 seconds",
            "the window of opportunity",
        ] {
            assert_eq!(longest(text), None, "{text}");
        }
    }
}
