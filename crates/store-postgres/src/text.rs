//! Text that PostgreSQL cannot hold.
//!
//! Neither `text` nor `jsonb` takes the NUL character, and error texts of tools do carry it. It is escaped with a
//! private-use character, which is escaped with itself. Everything else goes through untouched.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const ESCAPE: char = '\u{E000}';
const NUL: char = '0';
const ITSELF: char = '1';

/// For a column or parameter.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => escaped.extend([ESCAPE, NUL]),
            ESCAPE => escaped.extend([ESCAPE, ITSELF]),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// The inverse of [`escape`].
pub(crate) fn unescape(text: String) -> String {
    if !text.contains(ESCAPE) {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ESCAPE => match chars.next() {
                Some(NUL) => plain.push('\0'),
                Some(ITSELF) | None => plain.push(ESCAPE),
                Some(other) => plain.extend([ESCAPE, other]),
            },
            c => plain.push(c),
        }
    }
    plain
}

/// A value as JSON for a `jsonb` column.
pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string(value)?;
    if !text.contains(r"\u0000") && !text.contains(ESCAPE) {
        return Ok(text);
    }
    let mut value: Value = serde_json::from_str(&text)?;
    map_strings(&mut value, &|text| escape(&text).into_owned());
    serde_json::to_string(&value)
}

/// The inverse of [`to_json`].
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    if !text.contains(ESCAPE) {
        return serde_json::from_str(text);
    }
    let mut value: Value = serde_json::from_str(text)?;
    map_strings(&mut value, &unescape);
    serde_json::from_value(value)
}

fn map_strings(value: &mut Value, map: &impl Fn(String) -> String) {
    match value {
        Value::String(text) => *text = map(std::mem::take(text)),
        Value::Array(items) => items.iter_mut().for_each(|it| map_strings(it, map)),
        Value::Object(fields) => fields.values_mut().for_each(|it| map_strings(it, map)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back() {
        for text in
            ["", "a", "a\0b", "\0\0", "\u{E000}", "\u{E000}0", "x\u{E000}\0\u{E000}1y", r"\u0000", "ä😀"]
        {
            let escaped = escape(text).into_owned();
            assert!(!escaped.contains('\0'), "{text:?}");
            assert_eq!(unescape(escaped), text);

            let json = to_json(&vec![text]).unwrap();
            assert!(!json.contains(r"[\u0000") && from_json::<Value>(&json).is_ok());
            assert_eq!(from_json::<Vec<String>>(&json).unwrap(), [text]);
        }
    }

    #[test]
    fn usual_text_is_not_copied() {
        assert!(matches!(escape("a usual text"), Cow::Borrowed(_)));
    }
}
