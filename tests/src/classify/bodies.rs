//! The rows with bodies of a wanted length.
//!
//! A body is a JSON object as APIs answer it: the row's own body or message inside, then records until it is long enough.

use std::fmt::Write as _;

use checker::corpus::Row;
use health_model::{Failure, Tool};
use serde_json::json;

/// A failure with its tool.
pub type Case = (Tool, Failure);

/// The rows as they are.
#[must_use]
pub fn as_they_are(rows: &[Row]) -> Vec<Case> {
    rows.iter().map(|it| (it.tool.clone(), it.failure.clone())).collect()
}

/// The rows with bodies of exactly this many bytes; 0 is none.
#[must_use]
pub fn of_length(rows: &[Row], bytes: usize) -> Vec<Case> {
    let mut cases = as_they_are(rows);
    for (at, (_, failure)) in cases.iter_mut().enumerate() {
        let own = if failure.body.is_empty() { &failure.message } else { &failure.body };
        failure.body = if bytes == 0 { String::new() } else { body(own, at, bytes) };
    }
    cases
}

/// An object of this length, if it is not too short for what has to be in it.
fn body(own: &str, at: usize, bytes: usize) -> String {
    let mut head = own.to_owned();
    head.truncate((0..=bytes / 4).rev().find(|it| own.is_char_boundary(*it)).unwrap_or_default());
    let mut text =
        format!("{{\"error\":{{\"message\":{},\"request\":\"req-{at}\"}},\"records\":[", json!(head));
    const TAIL: usize = 16;
    let mut n = at;
    loop {
        let record = format!(
            "{{\"id\":{n},\"name\":\"record {n} of the page\",\"state\":\"open\",\"score\":{}.5,\"tags\":[\"a{n}\",\"b\"]}},",
            n * 7 % 100
        );
        if text.len() + record.len() + TAIL > bytes {
            break;
        }
        text.push_str(&record);
        n += 1;
    }
    // The rest is one text, so that the length is the same for all.
    let rest = bytes.saturating_sub(text.len() + 4);
    let _ = write!(text, "\"{}\"]}}", "x".repeat(rest));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_the_wanted_length_and_is_json() {
        for bytes in [1 << 12, 1 << 16] {
            let text = body("said \"no\"\n", 3, bytes);
            assert_eq!(text.len(), bytes);
            let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(json["error"]["message"], "said \"no\"\n");
        }
    }
}
