//! Spans and instants as people write them, and back.
//!
//! Owns the spelling: `90s`, `1.5h`, `250ms`, and RFC 3339 for instants. Reads no clock.

use std::time::Duration;

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

/// Parses a span: a number with `ms`, `s`, `m`, `h` or `d`; a bare number counts seconds. Never negative, at most 366
/// days.
///
/// # Errors
///
/// A sentence that names what was expected.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let expected =
        || format!("`{text}` is no span of time, expected for example `250ms`, `90s`, `15m`, `1.5h` or `7d`");
    let digits = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| expected())?;
    let seconds = match unit {
        "ms" => number / 1e3,
        "" | "s" => number,
        "m" => number * 60.0,
        "h" => number * 3600.0,
        "d" => number * 86_400.0,
        _ => return Err(expected()),
    };
    if seconds > 366.0 * 86_400.0 {
        return Err(format!("`{text}` is longer than 366 days"));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| expected())
}

/// Parses an instant by RFC 3339.
///
/// # Errors
///
/// A sentence that names what was expected.
pub(crate) fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    DateTime::parse_from_rfc3339(text)
        .map(|it| it.to_utc())
        .map_err(|_| format!("`{text}` is no instant, expected for example `2026-11-30T14:05:00Z`"))
}

/// A span as it goes over the wire.
pub(crate) fn wire_span(span: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(span.subsec_nanos()).unwrap_or(0),
    }
}

/// An instant as it goes over the wire.
pub(crate) fn wire_instant(at: DateTime<Utc>) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: at.timestamp(),
        nanos: i32::try_from(at.timestamp_subsec_nanos()).unwrap_or(0),
    }
}

/// An instant that came over the wire. `None` if it is absent or no instant.
pub(crate) fn from_wire(at: Option<&prost_types::Timestamp>) -> Option<DateTime<Utc>> {
    let at = at?;
    DateTime::from_timestamp(at.seconds, u32::try_from(at.nanos).ok()?)
}

/// [`shown`] without the zone, for columns whose head names it.
pub(crate) fn shown_in_column(at: Option<&prost_types::Timestamp>) -> String {
    shown(at).trim_end_matches(" UTC").to_owned()
}

/// The instant for people, to the second; empty if absent. Rounded up, so that nobody is told to come too early.
pub(crate) fn shown(at: Option<&prost_types::Timestamp>) -> String {
    let Some(at) = from_wire(at) else { return String::new() };
    let floor = at.trunc_subsecs(0);
    let up =
        if floor < at { floor.checked_add_signed(TimeDelta::seconds(1)).unwrap_or(floor) } else { floor };
    up.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_take_the_usual_units_and_refuse_the_rest() {
        assert_eq!(span("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(span("90"), Ok(Duration::from_secs(90)));
        assert_eq!(span("1.5h"), Ok(Duration::from_secs(5400)));
        assert_eq!(span("7d"), Ok(Duration::from_secs(604_800)));
        for text in ["", "s", "-1s", "1 s", "1w", "1e9s", "400d", "1.2.3s", "."] {
            assert!(span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn instants_survive_the_wire_and_are_shown_rounded_up() {
        let at = instant("2026-11-30T14:04:59.2+01:00").expect("RFC 3339");
        let wire = wire_instant(at);
        assert_eq!(from_wire(Some(&wire)), Some(at));
        assert_eq!(shown(Some(&wire)), "2026-11-30 13:05:00 UTC");
        assert_eq!(shown(None), "");
        assert!(instant("tomorrow").is_err());
        let odd = prost_types::Timestamp { seconds: i64::MAX, nanos: -1 };
        assert_eq!(shown(Some(&odd)), "");
    }
}
