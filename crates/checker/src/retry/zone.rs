//! The zone behind a time of a clock: an offset, a name with a fixed one, or a name that leaves it open.

use chrono::TimeDelta;

use super::cursor::Cursor;
use super::value;

/// What a text says of a time's zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    /// Nothing.
    Unnamed,
    /// So far ahead of UTC.
    Ahead(TimeDelta),
    /// It names one whose offset depends on the day or on the reader: no instant follows.
    Unknown,
}

/// Names with one offset, in hours. Those of the United States are RFC 5322's. `BST` and `IST` are missing, since each is
/// the name of several zones.
const FIXED: [(&str, i64); 19] = [
    ("UTC", 0),
    ("GMT", 0),
    ("UT", 0),
    ("Z", 0),
    ("EST", -5),
    ("EDT", -4),
    ("CST", -6),
    ("CDT", -5),
    ("MST", -7),
    ("MDT", -6),
    ("PST", -8),
    ("PDT", -7),
    ("CET", 1),
    ("CEST", 2),
    ("EET", 2),
    ("EEST", 3),
    ("JST", 9),
    ("KST", 9),
    ("AEST", 10),
];

/// Reads the zone. What is none is left where it is.
pub(super) fn zone(cursor: &mut Cursor<'_>) -> Zone {
    let mut ahead = *cursor;
    ahead.take(2, |it| it == b' ');
    if let Some(offset) = offset(&mut ahead) {
        *cursor = ahead;
        skip_name(cursor);
        return Zone::Ahead(offset);
    }
    let is_bracketed = ahead.eat(b'(');
    let name = ahead;
    let word = ahead.letters();
    if ahead.peek() == Some(b'/')
        && ahead.second().is_some_and(|it| it.is_ascii_alphabetic())
        && is_name(word)
    {
        return Zone::Unknown;
    }
    if let Some((fixed, hours)) = FIXED.iter().find(|(it, _)| it.eq_ignore_ascii_case(word)) {
        let more = if *hours == 0 && *fixed != "Z" { offset(&mut ahead) } else { None };
        if is_bracketed {
            ahead.eat(b')');
        }
        *cursor = ahead;
        return Zone::Ahead(more.unwrap_or(TimeDelta::hours(*hours)));
    }
    if is_abbreviation(word) || is_described(name) { Zone::Unknown } else { Zone::Unnamed }
}

/// "+02:00", "-0500", "+2".
fn offset(cursor: &mut Cursor<'_>) -> Option<TimeDelta> {
    let mut ahead = *cursor;
    let sign = match ahead.peek()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    ahead.skip(1);
    // No zone is further away.
    let hours = ahead.number(2).filter(|it| *it <= 14)?;
    let mut behind = ahead;
    behind.eat(b':');
    let minutes = behind.number(2).filter(|it| *it < 60);
    *cursor = if minutes.is_some() { behind } else { ahead };
    Some(TimeDelta::minutes(sign * i64::from(hours * 60 + minutes.unwrap_or(0))))
}

/// The name that Go prints behind an offset: "+0100 CET".
fn skip_name(cursor: &mut Cursor<'_>) {
    let mut ahead = *cursor;
    ahead.spaces();
    if is_capitals(ahead.letters()) {
        *cursor = ahead;
    }
}

fn is_capitals(word: &str) -> bool {
    (2..=5).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_uppercase())
}

fn is_name(word: &str) -> bool {
    word.starts_with(|it: char| it.is_ascii_uppercase())
}

/// "BST", "PT"; no word of a sentence in capitals, and no unit.
fn is_abbreviation(word: &str) -> bool {
    const WORDS: [&str; 10] = ["AND", "AT", "BUT", "BY", "FOR", "IF", "IN", "ON", "OR", "TO"];
    is_capitals(word) && !WORDS.contains(&word) && value::unit(word).is_none()
}

/// "Pacific Time", "Central European Summer Time", "your local time".
fn is_described(mut cursor: Cursor<'_>) -> bool {
    const WORDS: [&str; 8] =
        ["daylight", "eastern", "local", "pacific", "server", "standard", "summer", "your"];
    for at in 0..4 {
        let word = cursor.letters();
        if at > 0 && word.eq_ignore_ascii_case("time") {
            return true;
        }
        if word.is_empty() || !(is_name(word) || WORDS.contains(&word)) {
            return false;
        }
        cursor.take(2, |it| it == b' ');
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_an_offset_a_fixed_name_or_unknown() {
        let of = |text: &str| {
            let mut cursor = Cursor::new(text, 0);
            let zone = zone(&mut cursor);
            (zone, cursor.rest().to_owned())
        };
        let ahead = |minutes| Zone::Ahead(TimeDelta::minutes(minutes));
        for (text, expected, rest) in [
            ("", Zone::Unnamed, ""),
            ("Z", ahead(0), ""),
            (" UTC.", ahead(0), "."),
            ("+02:00", ahead(120), ""),
            (" -0530 x", ahead(-330), " x"),
            (" +0100 CET", ahead(60), ""),
            (" +0000 UTC", ahead(0), ""),
            (" GMT+0100 (CET)", ahead(60), " (CET)"),
            (" UTC+2", ahead(120), ""),
            (" UTC-05:00", ahead(-300), ""),
            (" PST", ahead(-480), ""),
            (" edt and", ahead(-240), " and"),
            (" (EST)", ahead(-300), ""),
            (" CEST", ahead(120), ""),
            (" BST", Zone::Unknown, " BST"),
            (" IST", Zone::Unknown, " IST"),
            (" PT", Zone::Unknown, " PT"),
            (" America/New_York", Zone::Unknown, " America/New_York"),
            (" (America/New_York)", Zone::Unknown, " (America/New_York)"),
            (" Pacific Time", Zone::Unknown, " Pacific Time"),
            (" Central European Summer Time", Zone::Unknown, " Central European Summer Time"),
            (" local time", Zone::Unknown, " local time"),
            (" and", Zone::Unnamed, " and"),
            (" OR CALL US", Zone::Unnamed, " OR CALL US"),
            (" MIN", Zone::Unnamed, " MIN"),
            (" Please try next time", Zone::Unnamed, " Please try next time"),
            (" - 16:00", Zone::Unnamed, " - 16:00"),
            ("-15:00", Zone::Unnamed, "-15:00"),
        ] {
            assert_eq!(of(text), (expected, rest.to_owned()), "{text:?}");
        }
    }
}
