//! ISO-8601 durations of a fixed length.

use chrono::TimeDelta;

/// Reads `PT5M`, `PT1H30M`, `PT8.5S`, `P1D`, `P1DT12H`, `P2W`. Years and months have no fixed length and are refused, as
/// are negative durations. `None` if the text is no such duration.
#[must_use]
pub fn parse_duration(text: &str) -> Option<TimeDelta> {
    let rest = text.strip_prefix('P')?;
    let (date, time) = match rest.split_once('T') {
        Some((date, time)) if !time.is_empty() => (date, time),
        Some(_) => return None,
        None => (rest, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let mut total = TimeDelta::zero();
    for (part, units) in [(date, ["W", "D", ""]), (time, ["H", "M", "S"])] {
        let mut rest = part;
        let mut allowed = units.as_slice();
        while !rest.is_empty() {
            let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
            let (number, tail) = rest.split_at_checked(end)?;
            let unit = tail.get(..1)?;
            let at = allowed.iter().position(|it| *it == unit)?;
            allowed = allowed.get(at + 1..)?;
            rest = tail.get(1..)?;
            total = total.checked_add(&span(number, unit)?)?;
        }
    }
    Some(total)
}

fn span(number: &str, unit: &str) -> Option<TimeDelta> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty()
        || (number.contains('.') && (unit != "S" || fraction.is_empty() || fraction.contains('.')))
    {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let base = match unit {
        "W" => TimeDelta::try_weeks(whole),
        "D" => TimeDelta::try_days(whole),
        "H" => TimeDelta::try_hours(whole),
        "M" => TimeDelta::try_minutes(whole),
        "S" => TimeDelta::try_seconds(whole),
        _ => None,
    }?;
    let nanos: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    base.checked_add(&TimeDelta::nanoseconds(nanos.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    // R117
    #[test]
    fn durations_of_a_fixed_length_are_read() {
        for (text, seconds) in [
            ("PT30S", 30),
            ("PT5M", 300),
            ("PT24H", 86_400),
            ("PT1H30M", 5_400),
            ("P1D", 86_400),
            ("P1DT1S", 86_401),
            ("P1W", 604_800),
            ("PT0S", 0),
        ] {
            assert_eq!(parse_duration(text), Some(TimeDelta::seconds(seconds)), "{text}");
        }
        assert_eq!(parse_duration("PT8.605S"), Some(TimeDelta::milliseconds(8_605)));
        assert_eq!(parse_duration("PT1.0000000019S"), Some(TimeDelta::nanoseconds(1_000_000_001)));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "P",
            "PT",
            "5M",
            "PT5",
            "PTM",
            "P1Y",
            "P1M",
            "PT5M1H",
            "PT-5M",
            "-PT5M",
            "P1DT",
            "PT1.5M",
            "PT1.S",
            "PT.5S",
            "PT1..5S",
            "PT5m",
            "pt5m",
            "PT5M ",
            "PT99999999999999999999S",
            "PT9223372036854775807H",
            "PTé",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
