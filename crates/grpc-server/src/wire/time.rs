//! Instants and spans.

use chrono::{DateTime, TimeDelta, Utc};
use health_model::Instant;
use prost_types::{Duration, Timestamp};

/// The instant, or `None` if the calendar has no such one (DESIGN §5: a report is not refused for it).
pub(crate) fn instant(at: &Timestamp) -> Option<Instant> {
    let nanos = u32::try_from(at.nanos).ok().filter(|it| *it < 1_000_000_000)?;
    // Years 1 to 9999, as the well-known type allows.
    if !(-62_135_596_800..=253_402_300_799).contains(&at.seconds) {
        return None;
    }
    DateTime::<Utc>::from_timestamp(at.seconds, nanos)
}

pub(crate) fn timestamp(at: Instant) -> Timestamp {
    let nanos = i32::try_from(at.timestamp_subsec_nanos().min(999_999_999)).unwrap_or(0);
    Timestamp { seconds: at.timestamp().clamp(-62_135_596_800, 253_402_300_799), nanos }
}

/// The span, `None` where it is out of range (over 10,000 years) or malformed.
pub(crate) fn delta(span: &Duration) -> Option<TimeDelta> {
    if span.nanos.unsigned_abs() >= 1_000_000_000 || span.seconds.unsigned_abs() > 315_576_000_000 {
        return None;
    }
    let seconds = TimeDelta::try_seconds(span.seconds)?;
    seconds.checked_add(&TimeDelta::nanoseconds(i64::from(span.nanos)))
}

/// The nearest length that is none below zero: a negative or malformed span is zero, one of over 10,000 years the
/// longest. The conversion of `prost_types` negates what it is given, so the least number ends it with an overflow.
pub(crate) fn length(span: &Duration) -> std::time::Duration {
    match delta(span) {
        Some(delta) => delta.to_std().unwrap_or_default(),
        None if span.seconds > 0 => std::time::Duration::MAX,
        None => std::time::Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_survive_the_wire() {
        for (seconds, nanos) in [(0, 0), (1_700_000_000, 999_999_999), (-1, 1), (253_402_300_799, 0)] {
            let at = Timestamp { seconds, nanos };
            assert_eq!(timestamp(instant(&at).unwrap()), at);
        }
    }

    #[test]
    fn impossible_times_are_none() {
        for (seconds, nanos) in
            [(i64::MAX, 0), (i64::MIN, 0), (0, -1), (0, 1_000_000_000), (253_402_300_800, 0)]
        {
            assert_eq!(instant(&Timestamp { seconds, nanos }), None, "{seconds} {nanos}");
        }
        assert_eq!(timestamp(Instant::MAX_UTC).seconds, 253_402_300_799);
    }

    #[test]
    fn spans_are_exact_or_none() {
        assert_eq!(delta(&Duration { seconds: 1, nanos: 500_000_000 }), Some(TimeDelta::milliseconds(1_500)));
        assert_eq!(
            delta(&Duration { seconds: -1, nanos: -500_000_000 }),
            Some(TimeDelta::milliseconds(-1_500))
        );
        assert_eq!(delta(&Duration { seconds: i64::MAX, nanos: 0 }), None);
        assert_eq!(delta(&Duration { seconds: 0, nanos: i32::MIN }), None);
    }
    #[test]
    fn a_length_is_never_below_zero_nor_the_end_of_the_server() {
        let of = |seconds, nanos| length(&Duration { seconds, nanos });
        assert_eq!(of(1, 500_000_000), std::time::Duration::from_millis(1_500));
        for (seconds, nanos) in [(i64::MIN, i32::MIN), (i64::MIN, 0), (-1, 0), (0, -1), (0, i32::MAX), (0, 0)]
        {
            assert_eq!(of(seconds, nanos), std::time::Duration::ZERO, "{seconds} {nanos}");
        }
        assert_eq!(of(i64::MAX, i32::MAX), std::time::Duration::MAX);
    }
}
