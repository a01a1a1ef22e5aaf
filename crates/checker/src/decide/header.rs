//! Times that a response header names (R117): seconds, milliseconds, HTTP dates, epochs.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use health_model::cooldown::saturating_add;
use health_model::{Failure, Instant};

/// From this number on, seconds are counted from the epoch (2001-09-09): nobody asks to wait for thirty years.
const FIRST_EPOCH_SECOND: f64 = 1e9;

/// From this number on, they are milliseconds since the epoch.
const FIRST_EPOCH_MILLI: f64 = 1e12;

/// When the header says to call again; `None` if it is absent or unreadable.
///
/// A number is a wait in seconds, or from 1,000,000,000 on an instant in seconds (from 10^12 on milliseconds) since the
/// epoch; for a header whose name ends in `-ms` a wait in milliseconds. Else it is an HTTP date in any of its three
/// forms, or an RFC 3339 date. Of several values the latest counts: never earlier than said. An instant that is past
/// means now.
#[must_use]
pub fn retry_after(failure: &Failure, header: &str, now: Instant) -> Option<Instant> {
    let is_millis = header.to_ascii_lowercase().ends_with("-ms");
    failure.header(header).filter_map(|it| instant(it.trim(), is_millis, now)).max().map(|it| it.max(now))
}

fn instant(value: &str, is_millis: bool, now: Instant) -> Option<Instant> {
    let is_number = |it: u8| it.is_ascii_digit() || it == b'.';
    if value.bytes().all(is_number)
        && let Ok(number) = value.parse::<f64>()
    {
        return number_to_instant(number, is_millis, now);
    }
    date(value)
}

fn number_to_instant(number: f64, is_millis: bool, now: Instant) -> Option<Instant> {
    if !number.is_finite() {
        return None;
    }
    if is_millis {
        return Some(saturating_add(now, millis(number)?));
    }
    if number >= FIRST_EPOCH_MILLI {
        return DateTime::from_timestamp_millis(millis(number)?.num_milliseconds());
    }
    if number >= FIRST_EPOCH_SECOND {
        return DateTime::from_timestamp_millis(millis(number * 1_000.0)?.num_milliseconds());
    }
    Some(saturating_add(now, millis(number * 1_000.0)?))
}

/// A whole number of milliseconds, rounded up: never earlier than said.
fn millis(number: f64) -> Option<TimeDelta> {
    /// Over 250,000 years: what is longer is nonsense.
    const LONGEST: f64 = 8e15;
    let up = (number - 1e-6).ceil();
    #[expect(clippy::cast_possible_truncation, reason = "within the bounds that are checked first")]
    (0.0..=LONGEST).contains(&up).then(|| TimeDelta::milliseconds(up as i64))
}

fn date(value: &str) -> Option<Instant> {
    if let Ok(it) = DateTime::parse_from_rfc2822(value) {
        return Some(it.with_timezone(&Utc));
    }
    if let Ok(it) = DateTime::parse_from_rfc3339(value) {
        return Some(it.with_timezone(&Utc));
    }
    ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"]
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(value, format).ok())
        .map(|it| it.and_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Instant {
        DateTime::parse_from_rfc3339("2026-11-30T14:00:00Z").unwrap().to_utc()
    }

    fn at(name: &str, values: &[&str]) -> Option<String> {
        let headers = values.iter().map(|it| ("retry-after".to_owned(), (*it).to_owned()));
        let more = values.iter().map(|it| ("retry-after-ms".to_owned(), (*it).to_owned()));
        let failure = Failure { headers: headers.chain(more).collect(), ..Failure::default() };
        retry_after(&failure, name, now()).map(|it| it.to_rfc3339_opts(chrono::SecondsFormat::Millis, true))
    }

    // R117, R129: passed on exactly as said, never earlier.
    #[test]
    fn every_form_of_a_retry_time_is_read() {
        for (value, expected) in [
            ("120", "2026-11-30T14:02:00.000Z"),
            ("0", "2026-11-30T14:00:00.000Z"),
            ("1.574", "2026-11-30T14:00:01.574Z"),
            ("0.0001", "2026-11-30T14:00:00.001Z"),
            (" 30 ", "2026-11-30T14:00:30.000Z"),
            ("Mon, 30 Nov 2026 14:05:00 GMT", "2026-11-30T14:05:00.000Z"),
            ("Monday, 30-Nov-26 14:05:00 GMT", "2026-11-30T14:05:00.000Z"),
            ("Mon Nov 30 14:05:00 2026", "2026-11-30T14:05:00.000Z"),
            ("2026-11-30T15:05:00+01:00", "2026-11-30T14:05:00.000Z"),
            ("1796047500", "2026-11-30T14:05:00.000Z"),
            ("1796047500000", "2026-11-30T14:05:00.000Z"),
            ("Mon, 30 Nov 2020 14:05:00 GMT", "2026-11-30T14:00:00.000Z"),
        ] {
            assert_eq!(at("retry-after", &[value]).as_deref(), Some(expected), "{value}");
        }
        assert_eq!(at("Retry-After", &["10", "40", "soon"]).as_deref(), Some("2026-11-30T14:00:40.000Z"));
        assert_eq!(at("retry-after-ms", &["1500"]).as_deref(), Some("2026-11-30T14:00:01.500Z"));
    }

    #[test]
    fn an_absent_or_unreadable_header_says_nothing() {
        for value in ["", "soon", "-5", "1e9", "NaN", "inf", "1.2.3", "12 s", "99999999999999999999", "0x10"]
        {
            assert_eq!(at("retry-after", &[value]), None, "{value}");
        }
        assert_eq!(at("retry-after", &[]), None);
        assert_eq!(at("x-other", &["5"]), None);
    }
}
