//! `key: value` pairs in a text, as programs print them: JSON, Python, Node, headers, protobuf text.

use health_model::Failure;

use super::Unit;
use super::cursor::Cursor;
use super::date::{self, TimeOfDay};
use super::field::{self, Field};
use super::value::{self, Moment};

/// As much of a text as one time can take.
pub(super) fn bounded(text: &str) -> &str {
    crate::limits::head(text, 96)
}

/// Whether the word before may be a key: what follows it is not the next word of a sentence.
pub(super) fn is_key(mut after: Cursor<'_>) -> bool {
    after.take(2, |it| it == b' ');
    after.peek().is_some_and(|it| b"\"'\\`:={>".contains(&it))
}

/// What stands between a key and its value: `": "`, `=`, `' => [ '`, `", b"`, the `>` of an XML element.
fn separator(cursor: &mut Cursor<'_>) -> Option<()> {
    let is_quote = |it: u8| matches!(it, b'"' | b'\'' | b'\\' | b'`');
    let is_quoted = !cursor.take(6, is_quote).is_empty();
    cursor.spaces();
    let is_separator = cursor.eat(b':')
        || cursor.eat(b'=')
        || (is_quoted && cursor.eat(b','))
        || (!is_quoted && cursor.peek() == Some(b'>'));
    is_separator.then_some(())?;
    cursor.eat(b'>');
    cursor.take(24, |it| it.is_ascii_whitespace() || is_quote(it) || matches!(it, b'[' | b'('));
    // Bytes in Python, options in Rust and Swift.
    let mut ahead = *cursor;
    let prefix = ahead.letters();
    if ["b", "u", "some", "optional"].iter().any(|it| it.eq_ignore_ascii_case(prefix))
        && !ahead.take(4, |it| is_quote(it) || it == b'(').is_empty()
    {
        *cursor = ahead;
    }
    Some(())
}

/// The value of a field in a text: `retry_after=5`, `"retryDelay": "12s"`, `'Retry-After': '30'`, `retry_delay { seconds: 33 }`.
pub(super) fn pair(cursor: &mut Cursor<'_>, field: Field) -> Option<Moment> {
    let mut message = *cursor;
    if field == Field::Span
        && let Some(moment) = message_span(&mut message)
    {
        *cursor = message;
        return Some(moment);
    }
    separator(cursor)?;
    if let Some((at, length)) = date::instant(bounded(cursor.rest())) {
        cursor.skip(length);
        return Some(Moment::At(at));
    }
    match date::time_of_day(cursor) {
        Some(TimeOfDay::Utc(time)) => return Some(Moment::Daily(time)),
        Some(TimeOfDay::Somewhere) => return None,
        None => {}
    }
    let span = value::span(cursor)?;
    let is_end =
        !cursor.peek().is_some_and(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'/' | b'%'));
    match field {
        _ if !is_end => None,
        _ if span.has_unit => Some(Moment::Wait(span.nanos)),
        Field::Number(unit) => value::number(span.bare, unit),
        Field::Span => None,
    }
}

/// A protobuf duration as text or as an object: `{ seconds: 33 nanos: 5 }`, `: {"seconds": 33}`.
fn message_span(cursor: &mut Cursor<'_>) -> Option<Moment> {
    let glue = |it: u8| it.is_ascii_whitespace() || b"\"'\\:=,".contains(&it);
    cursor.take(16, glue);
    cursor.eat(b'{').then_some(())?;
    // Escaped line breaks are letters after a backslash.
    let mut seconds = None;
    let mut nanos = 0;
    for _ in 0..2 {
        while !cursor.take(24, glue).is_empty() {
            let mut ahead = *cursor;
            if ahead.eat(b'n') && ahead.peek() == Some(b' ') {
                *cursor = ahead;
            }
        }
        let mut ahead = *cursor;
        let name = ahead.letters();
        ahead.take(8, glue);
        let Some(text) = ahead.decimal() else { break };
        match (name, value::number(text, Unit::Seconds)?) {
            ("seconds", Moment::Wait(it)) => seconds = Some(it),
            ("nanos", Moment::Wait(it)) => nanos = it / value::SECOND,
            _ => break,
        }
        *cursor = ahead;
    }
    Some(Moment::Wait(seconds? + nanos))
}

/// The whole number of an old Discord answer that a text quotes.
pub(super) fn old_discord(field: Field, mut cursor: Cursor<'_>, failure: &Failure) -> Option<u64> {
    separator(&mut cursor).filter(|()| field == Field::Number(Unit::Auto))?;
    let text = cursor.decimal()?;
    let count: u64 = text.parse().ok()?;
    let is_whole = cursor.peek() != Some(b'.');
    (is_whole && field::is_old_discord(count, failure)).then_some(count)
}

/// The value of a header that a text lists.
pub(super) fn listed(mut cursor: Cursor<'_>) -> Option<String> {
    separator(&mut cursor)?;
    let rest = bounded(cursor.rest());
    let end = rest.find(['"', '\'', '\\', '\n', '\r', ']', ')', '}']).unwrap_or(rest.len());
    let value = rest.get(..end).unwrap_or_default();
    // Without quotes, the next pair may follow on the same line.
    let value = value.split_once(", ").filter(|(_, it)| it.contains([':', '='])).map_or(value, |(it, _)| it);
    let value = value.trim().trim_end_matches([',', ';']);
    (!value.is_empty()).then(|| value.to_owned())
}
