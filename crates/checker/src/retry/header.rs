//! Headers that are made to say when to call again.

use health_model::{Failure, Instant, RetryBasis};

use super::value::{self, Moment};
use super::{Clock, Said, Source, Unit, later};

/// Headers that say when to call again and nothing else. `x-ms-retry-after-ms` is Microsoft's, `retry-after-ms` of
/// several model APIs, the others of common rate limiting middleware.
const MADE_FOR_IT: [&str; 7] = [
    "retry-after",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "x-retry-after",
    "x-ratelimit-retry-after",
    "ratelimit-retry-after",
    "x-rate-limit-retry-after-seconds",
];

/// When the header says to call again; `None` if it is absent or unreadable.
///
/// Without a `unit`, a number is milliseconds where the name ends in `-ms`, else [`Unit::Auto`]. Besides numbers, spans
/// (`6m0s`, `PT30S`), HTTP dates in any of their three forms and RFC 3339 dates are read; dates and times since 1970 are
/// measured against the `Date` header. Of several values the latest counts: never earlier than said. An instant that
/// is past means now.
#[must_use]
pub fn from_header(failure: &Failure, name: &str, unit: Option<Unit>, now: Instant) -> Option<Said> {
    on(failure, name, unit, Clock::of(failure, now))
}

/// When the header says to call again; `None` if it is absent or unreadable (R117). See [`from_header`].
#[must_use]
pub fn retry_after(failure: &Failure, header: &str, now: Instant) -> Option<Instant> {
    from_header(failure, header, None, now).map(|it| it.at)
}

fn on(failure: &Failure, name: &str, unit: Option<Unit>, clock: Clock) -> Option<Said> {
    let end = name.get(name.len().saturating_sub(3)..).unwrap_or_default();
    let is_millis = end.eq_ignore_ascii_case("-ms");
    let unit = unit.unwrap_or(if is_millis { Unit::Milliseconds } else { Unit::Auto });
    let at = failure.header(name).filter_map(|it| latest(it, unit, clock)).max()?;
    Some(Said { at, basis: RetryBasis::Exact, source: Source::header(name) })
}

/// A value, or the latest of a list: a proxy may join repeated headers.
fn latest(value: &str, unit: Unit, clock: Clock) -> Option<Instant> {
    if let Some(moment) = value::whole(value, unit) {
        return moment.on(clock);
    }
    let moments: Option<Vec<Moment>> = value.split(',').map(|it| value::whole(it, unit)).collect();
    moments?.into_iter().filter_map(|it| it.on(clock)).max()
}

/// The latest of all headers that are made for it.
///
/// `old_discord` is the number of milliseconds in the body of an old Discord answer: it had the same number in
/// `retry-after`.
pub(super) fn made_for_it(failure: &Failure, old_discord: Option<u64>, clock: Clock) -> Option<Said> {
    MADE_FOR_IT.iter().fold(None, |best, name| {
        let is_millis = *name == "retry-after"
            && old_discord.is_some_and(|body| {
                failure.header(name).any(|it| value::number(it.trim(), Unit::Seconds) == number_of(body))
            });
        let unit = is_millis.then_some(Unit::Milliseconds);
        later(best, on(failure, name, unit, clock))
    })
}

fn number_of(count: u64) -> Option<Moment> {
    value::number(&count.to_string(), Unit::Seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

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
            ("12 s", "2026-11-30T14:00:12.000Z"),
            ("30, 20", "2026-11-30T14:00:30.000Z"),
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
        for value in ["", "soon", "-5", "1e9", "NaN", "inf", "1.2.3", "12 x", "99999999999999999999", "0x10"]
        {
            assert_eq!(at("retry-after", &[value]), None, "{value}");
        }
        assert_eq!(at("retry-after", &[]), None);
        assert_eq!(at("x-other", &["5"]), None);
    }

    // R117: an instant is measured on the clock of the side that named it.
    #[test]
    fn dates_are_measured_against_the_date_header() {
        for (value, wait) in [
            ("Tue, 14 Jun 2022 11:49:24 GMT", 31),
            ("1655207364", 31),
            ("1655207364000", 31),
            ("2022-06-14T11:49:24Z", 31),
            ("31", 31),
            ("Tue, 14 Jun 2022 11:48:00 GMT", 0),
        ] {
            let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            let headers = vec![header("date", "Tue, 14 Jun 2022 11:48:53 GMT"), header("retry-after", value)];
            let failure = Failure { headers, ..Failure::default() };
            let at = retry_after(&failure, "retry-after", now()).unwrap();
            assert_eq!((at - now()).num_seconds(), wait, "{value}");
        }
    }

    // R117: a rule may name the unit of a header that is not like the others.
    #[test]
    fn a_rule_may_name_the_unit() {
        let failure = Failure { headers: vec![("x-wait".to_owned(), "90".to_owned())], ..Failure::default() };
        for (unit, millis) in [
            (Some(Unit::Minutes), 5_400_000),
            (Some(Unit::Milliseconds), 90),
            (Some(Unit::Seconds), 90_000),
            (None, 90_000),
        ] {
            let said = from_header(&failure, "X-Wait", unit, now()).unwrap();
            assert_eq!((said.at - now()).num_milliseconds(), millis, "{unit:?}");
            assert_eq!(said.source.to_string(), "header `x-wait`");
        }
    }
}
