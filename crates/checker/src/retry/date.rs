//! A date with a time at the start of a text: RFC 3339 and its relatives, HTTP dates in three forms, a browser's dates.
//!
//! A date that names no zone counts as UTC; one that names a zone without a fixed offset is none. Weekdays are not checked:
//! a wrong one does not make the rest wrong.

use chrono::{NaiveDate, NaiveTime, TimeDelta};
use health_model::Instant;
use health_model::cooldown::saturating_add;

use super::cursor::Cursor;
use super::zone::{Zone, zone};

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

/// What a time of day tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeOfDay {
    /// So long after midnight, in UTC.
    Utc(TimeDelta),
    /// A clock shows it somewhere: no instant follows.
    Somewhere,
}

/// A time of day that says so, by its zone or its half of the day: "14:30 UTC", "14:30:00Z", "2:30 PM PST".
pub(super) fn time_of_day(cursor: &mut Cursor<'_>) -> Option<TimeOfDay> {
    const DAY: i64 = 86_400_000;

    let mut ahead = *cursor;
    let face = Face::read(&mut ahead)?;
    let mut behind = ahead;
    behind.take(2, |it| it == b' ');
    // "14:00-15:00 UTC": the end of a span of time, and no offset.
    if matches!(behind.peek(), Some(b'+' | b'-')) {
        return None;
    }
    let zone = zone(&mut ahead);
    let told = match (face.since_midnight(), zone) {
        (Some(time), Zone::Ahead(zone)) => {
            TimeOfDay::Utc(TimeDelta::milliseconds((time - zone).num_milliseconds().rem_euclid(DAY)))
        }
        (Some(_), Zone::Unknown) => TimeOfDay::Somewhere,
        _ if face.half.is_some() => TimeOfDay::Somewhere,
        _ => return None,
    };
    *cursor = ahead;
    Some(told)
}

fn numeric(cursor: &mut Cursor<'_>) -> Option<(NaiveDate, TimeDelta, TimeDelta)> {
    let year = i32::try_from(cursor.number(4)?).ok()?;
    cursor.eat(b'-').then_some(())?;
    let month = cursor.number(2)?;
    cursor.eat(b'-').then_some(())?;
    let date = NaiveDate::from_ymd_opt(year, month, cursor.number(2)?)?;
    let mut ahead = *cursor;
    let has_separator = ahead.eat(b'T') || ahead.eat(b't') || ahead.eat(b' ');
    let face = has_separator.then(|| Face::read(&mut ahead)).flatten();
    if let Some(face) = face {
        *cursor = ahead;
        let time = face.since_midnight()?;
        return Some((date, time, ahead_of_utc(cursor)?));
    }
    // A day begins with its zone's midnight; a sign behind it belongs to something else.
    let is_word = |it: u8| it.is_ascii_alphabetic() || it == b'(';
    let has_word = cursor.peek() == Some(b' ') && cursor.second().is_some_and(is_word);
    let zone = if has_word { ahead_of_utc(cursor)? } else { TimeDelta::zero() };
    Some((date, TimeDelta::zero(), zone))
}

/// How far the zone that stands next is ahead of UTC; `None` if nobody can tell.
fn ahead_of_utc(cursor: &mut Cursor<'_>) -> Option<TimeDelta> {
    match zone(cursor) {
        Zone::Unnamed => Some(TimeDelta::zero()),
        Zone::Ahead(it) => Some(it),
        Zone::Unknown => None,
    }
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
    let time = Face::read(cursor)?.since_midnight()?;
    let mut zone = ahead_of_utc(cursor)?;
    if year.is_none() {
        cursor.spaces();
        year = year_of(cursor);
        if zone.is_zero() {
            zone = ahead_of_utc(cursor)?;
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

/// What a clock shows.
struct Face {
    hour: u32,
    minute: u32,
    second: u32,
    /// Rounded up: never earlier than said.
    millis: u32,
    /// The half of the day.
    half: Option<Half>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Am,
    Pm,
}

impl Face {
    /// Two numbers or three with colons, of any size.
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let mut ahead = *cursor;
        let mut face = Self { hour: ahead.number(2)?, minute: 0, second: 0, millis: 0, half: None };
        ahead.eat(b':').then_some(())?;
        let digits = ahead.take(2, |it| it.is_ascii_digit());
        face.minute = if digits.len() == 2 { digits.parse().ok()? } else { return None };
        if ahead.eat(b':') {
            face.second = ahead.number(2)?;
            if matches!(ahead.peek(), Some(b'.' | b','))
                && ahead.second().is_some_and(|it| it.is_ascii_digit())
            {
                ahead.skip(1);
                let fraction = ahead.take(18, |it| it.is_ascii_digit());
                let place = |at: usize| fraction.as_bytes().get(at).map_or(0, |it| u32::from(it - b'0'));
                let is_more = fraction.bytes().skip(3).any(|it| it != b'0');
                face.millis = place(0) * 100 + place(1) * 10 + place(2) + u32::from(is_more);
            }
        }
        let mut behind = ahead;
        behind.spaces();
        face.half = Half::read(&mut behind);
        *cursor = if face.half.is_some() { behind } else { ahead };
        Some(face)
    }

    /// What has passed since midnight; `None` if no clock shows this.
    fn since_midnight(&self) -> Option<TimeDelta> {
        let hour = match self.half {
            None => self.hour,
            Some(_) if self.hour > 12 => return None,
            Some(Half::Am) => self.hour % 12,
            Some(Half::Pm) => self.hour % 12 + 12,
        };
        // 60 is a leap second.
        let is_time = hour < 24 && self.minute < 60 && self.second <= 60;
        let seconds = i64::from(hour * 3_600 + self.minute * 60 + self.second);
        is_time.then(|| TimeDelta::seconds(seconds) + TimeDelta::milliseconds(i64::from(self.millis)))
    }
}

impl Half {
    /// "pm", "PM", "p.m.".
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let mut ahead = *cursor;
        let mut letters = ahead.letters().to_ascii_lowercase();
        if letters.len() == 1 && ahead.eat(b'.') {
            letters.push_str(&ahead.letters().to_ascii_lowercase());
            ahead.eat(b'.');
        }
        let half = match letters.as_str() {
            "am" => Self::Am,
            "pm" => Self::Pm,
            _ => return None,
        };
        *cursor = ahead;
        Some(half)
    }
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
            ("2015-10-21 07:28:00 PST", "2015-10-21T15:28:00+00:00"),
            ("2015-10-21 07:28:00 (EDT)", "2015-10-21T11:28:00+00:00"),
            ("2015-10-21 07:28:00 +0100 CET", "2015-10-21T06:28:00+00:00"),
            ("2015-10-21 EST", "2015-10-21T05:00:00+00:00"),
            ("2015-10-21 3:00 PM CEST", "2015-10-21T13:00:00+00:00"),
            ("Wed Oct 21 07:28:00 EDT 2015", "2015-10-21T11:28:00+00:00"),
            ("Nov 30, 2026 4:35 PM PST", "2026-12-01T00:35:00+00:00"),
            ("Nov 30, 2026 at 4:35 p.m. UTC", "2026-11-30T16:35:00+00:00"),
            ("Nov 30, 2026 12:05 AM", "2026-11-30T00:05:00+00:00"),
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
            "2026-11-30 15:00:00 America/New_York",
            "2026-11-30 15:00:00 (Pacific Time)",
            "2026-11-30 15:00:00 local time",
            "2026-11-30 15:00:00 BST",
            "2026-11-30 IST",
            "Nov 30, 2026 4:35 PM PT",
            "Wed Oct 21 07:28:00 XYZ 2015",
            "2026-11-30 99:00",
            "2026-11-30 15:00 PM",
            "Nov 30, 2026 99:00 pm",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
