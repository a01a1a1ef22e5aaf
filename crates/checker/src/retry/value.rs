//! One written time, whole or at the start of a text: a number, a span, a date. Knows nothing of failures.
//!
//! Numbers are read as decimals, never as floats, and rounded up to a millisecond: never earlier than said.

use chrono::{DateTime, NaiveTime, TimeDelta};
use health_model::Instant;

use super::cursor::Cursor;
use super::date;
use super::{Clock, Unit};

/// One billionth of a second.
pub(super) type Nanos = i128;

pub(super) const SECOND: Nanos = 1_000_000_000;
const MILLISECOND: Nanos = 1_000_000;
pub(super) const MINUTE: Nanos = 60 * SECOND;
const HOUR: Nanos = 60 * MINUTE;
pub(super) const DAY: Nanos = 24 * HOUR;
const WEEK: Nanos = 7 * DAY;
/// The longest month: never earlier.
const MONTH: Nanos = 31 * DAY;

/// From this number on, a count is one since the epoch (2001-09-09): nobody asks to wait for thirty years.
const FIRST_EPOCH_SECOND: Nanos = 1_000_000_000;

/// A time of day that is past by no more means now, and not tomorrow: the statement was on its way, or our clock is ahead.
const PAST: TimeDelta = TimeDelta::minutes(5);

/// A time as the other side wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// So much later.
    Wait(Nanos),
    /// At this instant of the other side's clock.
    At(Instant),
    /// When this much has passed since midnight, in UTC, for the next time; now, if that was [`PAST`] ago at most.
    Daily(TimeDelta),
}

impl Moment {
    /// By our clock; `None` where the time is absurd. What is past means now.
    pub(super) fn on(self, clock: Clock) -> Option<Instant> {
        let millis = match self {
            Self::Wait(nanos) => ceil(nanos, MILLISECOND),
            // Exactly, and not in milliseconds: where nobody told another time, `at` itself.
            Self::At(at) => return clock.after(at - clock.theirs()),
            Self::Daily(time) => {
                let midnight = clock.theirs().date_naive().and_time(NaiveTime::MIN).and_utc();
                let day = TimeDelta::days(1);
                let wait = time - (clock.theirs() - midnight);
                return clock.after(if wait < -PAST {
                    wait + day
                } else if wait >= day - PAST {
                    // Yesterday's, read right after midnight.
                    TimeDelta::zero()
                } else {
                    wait
                });
            }
        };
        clock.after(TimeDelta::milliseconds(i64::try_from(millis).ok()?))
    }
}

fn ceil(value: Nanos, unit: Nanos) -> Nanos {
    (value + unit - 1).div_euclid(unit)
}

/// A whole value, as a header or a field has it.
///
/// With an explicit unit in the text that unit counts, else `unit`.
pub(super) fn whole(text: &str, unit: Unit) -> Option<Moment> {
    let text = text.trim().trim_matches(['"', '\'']);
    if text.len() > 80 {
        return None;
    }
    if let Some(it) = number(text, unit) {
        return Some(it);
    }
    if let Some((at, length)) = date::instant(text) {
        // A browser's date ends with the name of its zone in brackets.
        let rest = text.get(length..).unwrap_or_default().trim();
        return (rest.is_empty() || rest.starts_with('(')).then_some(Moment::At(at));
    }
    let mut cursor = Cursor::new(text, 0);
    let span = span(&mut cursor)?;
    (span.has_unit && cursor.rest().is_empty()).then_some(Moment::Wait(span.nanos))
}

/// A bare decimal number in `unit`.
pub(super) fn number(text: &str, unit: Unit) -> Option<Moment> {
    let scaled = billionths(text)?;
    let count = scaled / SECOND;
    match unit {
        Unit::Seconds => Some(Moment::Wait(scaled)),
        Unit::Milliseconds => Some(Moment::Wait(ceil(scaled, 1_000))),
        Unit::Minutes => scaled.checked_mul(60).map(Moment::Wait),
        Unit::Auto if count < FIRST_EPOCH_SECOND => Some(Moment::Wait(scaled)),
        Unit::Auto | Unit::Epoch => {
            let to_millis = match count {
                ..100_000_000_000 => 1_000_000,
                100_000_000_000..100_000_000_000_000 => 1_000_000_000,
                100_000_000_000_000..100_000_000_000_000_000 => 1_000_000_000_000,
                _ => 1_000_000_000_000_000,
            };
            let millis = i64::try_from(ceil(scaled, to_millis)).ok()?;
            DateTime::from_timestamp_millis(millis).map(Moment::At)
        }
    }
}

/// A decimal number times 10^9, rounded up; `None` for signs, exponents, more than 19 digits before the point.
fn billionths(text: &str) -> Option<Nanos> {
    let plain = text.replace(',', "");
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let is_digits = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || whole.len() > 19 || whole.len() + fraction.len() == 0 {
        return None;
    }
    let mut scaled: Nanos = whole.parse().unwrap_or(0);
    for place in 0..9 {
        let digit = fraction.as_bytes().get(place).map_or(0, |it| it - b'0');
        scaled = scaled * 10 + Nanos::from(digit);
    }
    let is_more = fraction.bytes().skip(9).any(|it| it != b'0');
    Some(scaled + Nanos::from(is_more))
}

/// A span of time at the start of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<'a> {
    /// Its length; without a unit the number in seconds.
    pub nanos: Nanos,
    /// Whether a unit was written.
    pub has_unit: bool,
    /// Whether it is the far end of a range ("5-10 minutes").
    pub is_range: bool,
    /// The number itself, where there is no unit.
    pub bare: &'a str,
}

/// Reads "6ms", "1h2m3.5s", "2 minutes, 5 seconds", "'17' minutes", "00:05:00", "PT30S", "an hour", "5-10 minutes", "40".
pub(super) fn span<'a>(cursor: &mut Cursor<'a>) -> Option<Span<'a>> {
    if let Some(nanos) = iso(cursor) {
        return Some(Span { nanos, has_unit: true, is_range: false, bare: "" });
    }
    let mut sum: Nanos = 0;
    let mut last = Nanos::MAX;
    let mut is_range = false;
    let mut end = *cursor;
    for part in 0..6 {
        let mut ahead = end;
        if part > 0 {
            ahead.spaces();
            ahead.eat(b',');
            ahead.spaces();
            ahead.eat_word("and");
            ahead.spaces();
        }
        let after_number;
        let scaled = if let Some(text) = ahead.decimal() {
            if part == 0
                && let Some(nanos) = days_and_clock(text, &mut ahead)
            {
                *cursor = ahead;
                return Some(Span { nanos, has_unit: true, is_range: false, bare: "" });
            }
            after_number = ahead;
            let mut scaled = billionths(text)?;
            if part == 0
                && let Some(far) = range_end(&mut ahead)
            {
                scaled = scaled.max(far);
                is_range = true;
            }
            if part == 0 && unit_after(&mut ahead.clone()).is_none() {
                *cursor = after_number;
                return Some(Span { nanos: scaled, has_unit: false, is_range, bare: text });
            }
            scaled
        } else if part == 0
            && let Some(count) = number_word(&mut ahead)
        {
            count * SECOND
        } else {
            break;
        };
        let Some(unit) = unit_after(&mut ahead).filter(|it| *it < last) else { break };
        sum = sum.checked_add(ceil(scaled.checked_mul(unit)?, SECOND))?;
        last = unit;
        end = ahead;
    }
    if last == Nanos::MAX {
        return None;
    }
    *cursor = end;
    Some(Span { nanos: sum, has_unit: true, is_range, bare: "" })
}

fn unit_after(cursor: &mut Cursor<'_>) -> Option<Nanos> {
    let mut ahead = *cursor;
    ahead.take(2, |it| matches!(it, b'\'' | b'"' | b'`' | b'\\'));
    ahead.spaces();
    ahead.eat(b'-');
    let letters = if ahead.rest().starts_with("µs") || ahead.rest().starts_with("μs") {
        ahead.skip("µs".len());
        "us"
    } else {
        ahead.letters()
    };
    let unit = unit(letters)?;
    if ahead.peek() == Some(b'_') {
        return None;
    }
    if ahead.rest().starts_with("(s)") {
        ahead.skip(3);
    }
    *cursor = ahead;
    Some(unit)
}

/// The length of a named unit.
pub(super) fn unit(name: &str) -> Option<Nanos> {
    let lower = name.to_ascii_lowercase();
    Some(match lower.as_str() {
        "ns" | "nanosecond" | "nanoseconds" => 1,
        "us" | "microsecond" | "microseconds" => 1_000,
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => MILLISECOND,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE,
        "h" | "hr" | "hrs" | "hour" | "hours" => HOUR,
        "d" | "day" | "days" => DAY,
        "w" | "week" | "weeks" => WEEK,
        "month" | "months" => MONTH,
        _ => return None,
    })
}

fn number_word(cursor: &mut Cursor<'_>) -> Option<Nanos> {
    const WORDS: [(&str, Nanos); 18] = [
        ("a", 1),
        ("an", 1),
        ("one", 1),
        ("two", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("seven", 7),
        ("eight", 8),
        ("nine", 9),
        ("ten", 10),
        ("fifteen", 15),
        ("twenty", 20),
        ("thirty", 30),
        ("forty", 40),
        ("sixty", 60),
        ("ninety", 90),
    ];
    let word = cursor.letters();
    WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, count)| *count)
}

/// The other number of "5-10 minutes" and "2 to 3 minutes".
fn range_end(cursor: &mut Cursor<'_>) -> Option<Nanos> {
    let mut ahead = *cursor;
    ahead.spaces();
    if ahead.rest().starts_with('–') {
        ahead.skip('–'.len_utf8());
    } else if !ahead.eat(b'-') && !ahead.eat_word("to") {
        return None;
    }
    ahead.spaces();
    let far = billionths(ahead.decimal()?)?;
    unit_after(&mut ahead.clone())?;
    *cursor = ahead;
    Some(far)
}

/// "17.23:59:59": days before a point, as .NET prints spans; else a clock face. `first` has been read.
fn days_and_clock(first: &str, cursor: &mut Cursor<'_>) -> Option<Nanos> {
    match first.split_once('.') {
        Some((days, hours)) if hours.len() == 2 => {
            let mut ahead = *cursor;
            let clock = clock_face(hours, &mut ahead)?;
            let days = days.parse::<u16>().ok()?;
            *cursor = ahead;
            Some(Nanos::from(days) * DAY + clock)
        }
        _ => clock_face(first, cursor),
    }
}

/// "00:05:00" and "05:00.5": what a countdown shows. `first` has been read.
fn clock_face(first: &str, cursor: &mut Cursor<'_>) -> Option<Nanos> {
    let mut ahead = *cursor;
    let first: Nanos = first.parse().ok()?;
    let pair = |it: &mut Cursor<'_>| -> Option<Nanos> {
        let digits = it.take(2, |it| it.is_ascii_digit());
        (digits.len() == 2).then(|| digits.parse::<Nanos>().ok())?.filter(|it| *it < 60)
    };
    if !ahead.eat(b':') {
        return None;
    }
    let second = pair(&mut ahead)?;
    let mut nanos = first.checked_mul(MINUTE)? + second * SECOND;
    if ahead.eat(b':') {
        nanos = first.checked_mul(HOUR)? + second * MINUTE + pair(&mut ahead)? * SECOND;
    }
    if ahead.peek() == Some(b'.') && ahead.second().is_some_and(|it| it.is_ascii_digit()) {
        ahead.skip(1);
        let digits = ahead.take(18, |it| it.is_ascii_digit());
        nanos += billionths(&format!("0.{digits}"))?;
    }
    *cursor = ahead;
    Some(nanos)
}

/// An ISO 8601 duration without months and years.
fn iso(cursor: &mut Cursor<'_>) -> Option<Nanos> {
    let mut ahead = *cursor;
    if !ahead.eat(b'P') {
        return None;
    }
    let mut sum: Nanos = 0;
    let mut is_time = false;
    let mut parts = 0;
    while parts < 6 {
        if !is_time && ahead.eat(b'T') {
            is_time = true;
        }
        let Some(text) = ahead.decimal() else { break };
        let unit = match (ahead.peek()?, is_time) {
            (b'W', false) => WEEK,
            (b'D', false) => DAY,
            (b'H', true) => HOUR,
            (b'M', true) => MINUTE,
            (b'S', true) => SECOND,
            _ => return None,
        };
        ahead.skip(1);
        sum = sum.checked_add(ceil(billionths(text)?.checked_mul(unit)?, SECOND))?;
        parts += 1;
    }
    if parts == 0 || ahead.peek().is_some_and(|it| it.is_ascii_alphanumeric()) {
        return None;
    }
    *cursor = ahead;
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    // R117: a time of day that has just passed means now, and no time is earlier than said.
    #[test]
    fn a_time_of_day_is_the_next_one_or_has_just_passed() {
        let at = |text: &str| DateTime::parse_from_rfc3339(text).unwrap().to_utc();
        for (now, minutes, expected) in [
            ("2026-11-30T14:00:00Z", 840, "2026-11-30T14:00:00Z"),
            ("2026-11-30T13:59:59.9995Z", 840, "2026-11-30T14:00:00Z"),
            ("2026-11-30T14:00:01Z", 840, "2026-11-30T14:00:01Z"),
            ("2026-11-30T14:05:00Z", 840, "2026-11-30T14:05:00Z"),
            ("2026-11-30T14:05:01Z", 840, "2026-12-01T14:00:00Z"),
            ("2026-11-30T14:05:01.0005Z", 840, "2026-12-01T14:00:00Z"),
            ("2026-11-30T23:59:00Z", 0, "2026-12-01T00:00:00Z"),
            ("2026-12-01T00:00:01Z", 0, "2026-12-01T00:00:01Z"),
            ("2026-12-01T00:01:00Z", 1_439, "2026-12-01T00:01:00Z"),
            ("2026-12-01T00:05:00Z", 1_439, "2026-12-01T23:59:00Z"),
        ] {
            let moment = Moment::Daily(TimeDelta::minutes(minutes));
            assert_eq!(moment.on(Clock::from(at(now))), Some(at(expected)), "{now} {minutes}");
        }
    }

    fn millis(moment: Option<Moment>) -> Option<i128> {
        match moment? {
            Moment::Wait(nanos) => Some(ceil(nanos, MILLISECOND)),
            Moment::At(at) => Some(i128::from(at.timestamp_millis())),
            Moment::Daily(_) => None,
        }
    }

    // R117: every way to write a span.
    #[test]
    fn spans_are_read_whole() {
        for (text, expected) in [
            ("6ms", 6),
            ("20ms", 20),
            ("1s", 1_000),
            ("6m0s", 360_000),
            ("1h2m3.5s", 3_723_500),
            ("45.837906927s", 45_838),
            ("985.711258ms", 986),
            ("250µs", 1),
            ("2 minutes 5 seconds", 125_000),
            ("2 minutes, 5 seconds", 125_000),
            ("1 hour and 30 minutes", 5_400_000),
            ("00:05:00", 300_000),
            ("00:00:00.5070000", 507),
            ("05:30", 330_000),
            ("17.23:59:59", 1_555_199_000),
            ("PT30S", 30_000),
            ("PT1H0.5S", 3_600_500),
            ("P1DT1M", 86_460_000),
            ("an hour", 3_600_000),
            ("5-10 minutes", 600_000),
            ("2 to 3 minutes", 180_000),
            ("1,200 ms", 1_200),
            ("30 second(s)", 30_000),
            ("1 month", 31 * 86_400_000),
        ] {
            assert_eq!(millis(whole(text, Unit::Auto)), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "soon",
            "-5",
            "1e9",
            "NaN",
            "inf",
            "1.2.3",
            "0x10",
            "5 attempts",
            "3/5",
            "P",
            "PT",
            "P1M",
            "5:7",
            "1 second 2 hours",
            "a few minutes",
            "12 34",
        ] {
            assert_eq!(whole(text, Unit::Auto), None, "{text}");
        }
        assert_eq!(whole(&"9".repeat(30), Unit::Auto), None);
    }

    // R117: seconds, milliseconds, minutes, and counts since the epoch in four precisions.
    #[test]
    fn a_number_is_read_in_its_unit() {
        for (text, unit, expected) in [
            ("1.5", Unit::Seconds, 1_500),
            ("1500", Unit::Milliseconds, 1_500),
            ("0.1", Unit::Milliseconds, 1),
            ("2", Unit::Minutes, 120_000),
            ("1655207364", Unit::Auto, 1_655_207_364_000),
            ("1655207364.25", Unit::Auto, 1_655_207_364_250),
            ("1655207364123", Unit::Auto, 1_655_207_364_123),
            ("1655207364123456", Unit::Auto, 1_655_207_364_124),
            ("1655207364123456789", Unit::Auto, 1_655_207_364_124),
            ("1655207364", Unit::Epoch, 1_655_207_364_000),
            ("30s", Unit::Milliseconds, 30_000),
        ] {
            assert_eq!(millis(whole(text, unit)), Some(expected), "{text}");
        }
    }
}
