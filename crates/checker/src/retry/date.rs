//! A date with a time at the start of a text: RFC 3339 and its relatives, HTTP dates in three forms, a browser's dates.
//!
//! A date that names no zone counts as UTC. Weekdays are not checked: a wrong one does not make the rest wrong.

use chrono::{NaiveDate, NaiveTime, TimeDelta};
use health_model::Instant;
use health_model::cooldown::saturating_add;

use super::cursor::Cursor;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// The instant at the start of `text`, rounded up to a millisecond, and how many bytes it takes.
pub(super) fn instant(text: &str) -> Option<(Instant, usize)> {
    let mut cursor = Cursor::new(text, 0);
    let (date, since_midnight, zone) =
        if text.bytes().next()?.is_ascii_digit() && text.as_bytes().get(4) == Some(&b'-') {
            numeric(&mut cursor)?
        } else {
            named(&mut cursor)?
        };
    if cursor.peek().is_some_and(|it| it.is_ascii_alphanumeric()) {
        return None;
    }
    let midnight = date.and_time(NaiveTime::MIN).and_utc();
    Some((saturating_add(midnight, since_midnight - zone), cursor.at()))
}

/// A time of day that says that it is UTC: "14:30 UTC", "14:30:00Z".
///
/// Told as what has passed since midnight.
pub(super) fn time_of_day(cursor: &mut Cursor<'_>) -> Option<TimeDelta> {
    let mut ahead = *cursor;
    let time = time(&mut ahead)?;
    ahead.take(2, |it| it == b' ' || it == b'(');
    let is_utc = ["UTC", "GMT", "Z"].iter().any(|it| ahead.eat_word(it));
    if !is_utc || matches!(ahead.peek(), Some(b'+' | b'-')) {
        return None;
    }
    *cursor = ahead;
    Some(time)
}

fn numeric(cursor: &mut Cursor<'_>) -> Option<(NaiveDate, TimeDelta, TimeDelta)> {
    let year = i32::try_from(cursor.number(4)?).ok()?;
    cursor.eat(b'-').then_some(())?;
    let month = cursor.number(2)?;
    cursor.eat(b'-').then_some(())?;
    let date = NaiveDate::from_ymd_opt(year, month, cursor.number(2)?)?;
    let mut ahead = *cursor;
    let has_separator = ahead.eat(b'T') || ahead.eat(b't') || ahead.eat(b' ');
    let time = has_separator.then(|| time(&mut ahead)).flatten();
    let Some(time) = time else { return Some((date, TimeDelta::zero(), TimeDelta::zero())) };
    *cursor = ahead;
    Some((date, time, zone(cursor)))
}

/// "Wed, 21 Oct 2015 07:28:00 GMT", "Wednesday, 21-Oct-15 07:28:00 GMT", "Wed Oct 21 07:28:00 2015", "Wed Oct 21 2015
/// 07:28:00 GMT+0200", "Oct 21, 2015, 7:28 AM UTC".
fn named(cursor: &mut Cursor<'_>) -> Option<(NaiveDate, TimeDelta, TimeDelta)> {
    let mut ahead = *cursor;
    if position(&WEEKDAYS, ahead.letters()).is_some() {
        gap(&mut ahead);
        *cursor = ahead;
    }
    let (month, day);
    if cursor.peek()?.is_ascii_digit() {
        day = cursor.number(2)?;
        gap(cursor);
        month = position(&MONTHS, cursor.letters())?;
    } else {
        month = position(&MONTHS, cursor.letters())?;
        gap(cursor);
        day = cursor.number(2)?;
        if ["st", "nd", "rd", "th"].contains(&cursor.clone().letters()) {
            cursor.skip(2);
        }
    }
    gap(cursor);
    let mut year = year_of(cursor);
    if year.is_some() {
        gap(cursor);
        let mut ahead = *cursor;
        if ahead.eat_word("at") {
            ahead.spaces();
            *cursor = ahead;
        }
    }
    let time = time(cursor)?;
    let mut zone = zone(cursor);
    if year.is_none() {
        cursor.spaces();
        year = year_of(cursor);
        if zone.is_zero() {
            zone = self::zone(cursor);
        }
    }
    Some((NaiveDate::from_ymd_opt(year?, month, day)?, time, zone))
}

fn gap(cursor: &mut Cursor<'_>) {
    cursor.take(3, |it| matches!(it, b' ' | b',' | b'-' | b'.'));
}

fn position(names: &[&str], word: &str) -> Option<u32> {
    let lower = word.to_ascii_lowercase();
    let start = lower.get(..3)?;
    let at = names.iter().position(|it| *it == start)?;
    u32::try_from(at + 1).ok()
}

/// A year of four digits, or of two, that no colon follows.
fn year_of(cursor: &mut Cursor<'_>) -> Option<i32> {
    let mut ahead = *cursor;
    let digits = ahead.take(4, |it| it.is_ascii_digit());
    let number: i32 = digits.parse().ok()?;
    let year = match digits.len() {
        4 => number,
        2 if ahead.peek() != Some(b':') => number + if number < 70 { 2_000 } else { 1_900 },
        _ => return None,
    };
    *cursor = ahead;
    Some(year)
}

/// What has passed since midnight, rounded up to a millisecond.
fn time(cursor: &mut Cursor<'_>) -> Option<TimeDelta> {
    let mut ahead = *cursor;
    let mut hour = ahead.number(2)?;
    ahead.eat(b':').then_some(())?;
    let digits = ahead.take(2, |it| it.is_ascii_digit());
    let minute: u32 = if digits.len() == 2 { digits.parse().ok()? } else { return None };
    let mut second = 0;
    let mut millis = 0;
    if ahead.eat(b':') {
        second = ahead.number(2)?;
        if matches!(ahead.peek(), Some(b'.' | b',')) && ahead.second().is_some_and(|it| it.is_ascii_digit()) {
            ahead.skip(1);
            // Up to a whole millisecond: never earlier than said.
            let fraction = ahead.take(18, |it| it.is_ascii_digit());
            let place = |at: usize| fraction.as_bytes().get(at).map_or(0, |it| u32::from(it - b'0'));
            let is_more = fraction.bytes().skip(3).any(|it| it != b'0');
            millis = place(0) * 100 + place(1) * 10 + place(2) + u32::from(is_more);
        }
    }
    let mut half = ahead;
    half.spaces();
    if half.eat_word("pm") {
        hour = hour % 12 + 12;
        ahead = half;
    } else if half.eat_word("am") {
        hour %= 12;
        ahead = half;
    }
    // 60 is a leap second.
    let is_time = hour < 24 && minute < 60 && second <= 60;
    let seconds = i64::from(hour * 3_600 + minute * 60 + second);
    *cursor = ahead;
    is_time.then(|| TimeDelta::seconds(seconds) + TimeDelta::milliseconds(i64::from(millis)))
}

/// How far local time is ahead of UTC; zero where no zone is named.
fn zone(cursor: &mut Cursor<'_>) -> TimeDelta {
    let mut ahead = *cursor;
    ahead.take(1, |it| it == b' ');
    let has_name = ["GMT", "UTC", "Z"].iter().any(|it| ahead.eat_word(it));
    if has_name {
        *cursor = ahead;
    }
    let sign = match ahead.peek() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return TimeDelta::zero(),
    };
    ahead.skip(1);
    let Some(hours) = ahead.number(2).filter(|it| *it < 24) else { return TimeDelta::zero() };
    ahead.eat(b':');
    let minutes = ahead.number(2).filter(|it| *it < 60).unwrap_or(0);
    *cursor = ahead;
    ahead.spaces();
    if !has_name && ["GMT", "UTC"].iter().any(|it| ahead.eat_word(it)) {
        *cursor = ahead;
    }
    TimeDelta::minutes(sign * i64::from(hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    // R117: dates in the forms of HTTP, of RFC 3339 and of what real services send instead.
    #[test]
    fn dates_are_read() {
        for (text, expected) in [
            ("Wed, 21 Oct 2015 07:28:00 GMT", "2015-10-21T07:28:00+00:00"),
            ("Thu, 21 Oct 2015 07:28:00 GMT", "2015-10-21T07:28:00+00:00"),
            ("Wednesday, 21-Oct-15 07:28:00 GMT", "2015-10-21T07:28:00+00:00"),
            ("Wed Oct 21 07:28:00 2015", "2015-10-21T07:28:00+00:00"),
            ("Wed Oct  1 07:28:00 2015", "2015-10-01T07:28:00+00:00"),
            ("Wed, 21 Oct 2015 07:28:00 +0200", "2015-10-21T05:28:00+00:00"),
            ("Tue Feb 16 2021 09:02:42 GMT+0100", "2021-02-16T08:02:42+00:00"),
            ("Oct 21, 2015, 7:28 PM UTC", "2015-10-21T19:28:00+00:00"),
            ("Oct 9th, 2025 4:35 PM", "2025-10-09T16:35:00+00:00"),
            ("2015-10-21T07:28:00Z", "2015-10-21T07:28:00+00:00"),
            ("2015-10-21T07:28Z", "2015-10-21T07:28:00+00:00"),
            ("2015-10-21T07:28:00.1234+02:00", "2015-10-21T05:28:00.124+00:00"),
            ("2015-10-21T07:28:59.9999Z", "2015-10-21T07:29:00+00:00"),
            ("2015-10-21 07:28:00 UTC", "2015-10-21T07:28:00+00:00"),
            ("2015-10-21 07:28:00 +0000 UTC", "2015-10-21T07:28:00+00:00"),
            ("2015-10-21 07:28:00", "2015-10-21T07:28:00+00:00"),
            ("2015-10-21", "2015-10-21T00:00:00+00:00"),
        ] {
            assert_eq!(instant(text).map(|(it, _)| it.to_rfc3339()).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "Oct",
            "2015-13-01T00:00:00Z",
            "2015-1",
            "Wed, 32 Oct 2015 07:28:00 GMT",
            "Monday",
            "2015-10-21x",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
