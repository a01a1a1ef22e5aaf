//! Changes of an input: of a byte, of a stretch, with a word that means something, with a piece of another input.

use crate::random::Random;

/// An input has at most this many bytes: several times what is matched of a body.
pub const MAX_BYTES: usize = 64 * 1024;

/// Words and marks that parsers of YAML, JSON, dates, numbers and error texts treat apart.
const WORDS: &[&str] = &[
    "\u{1e}",
    "\u{0}",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\"",
    "\\\"",
    "\\u0000",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "'",
    "`",
    "é",
    "文",
    "\u{202e}",
    "\u{1f980}",
    "İ",
    "ß",
    "K",
    "null",
    "true",
    "None",
    "-0",
    "1e999",
    "18446744073709551616",
    "-9223372036854775809",
    "00000000000000000000",
    "NaN",
    "0x10",
    "429",
    "500",
    "-32001",
    "-32700",
    "{\"error\": {\"code\": ",
    "{'error': {'message': '",
    "{\"error\":\"{\\\"error\\\":\\\"",
    "<html><head><title>",
    "</title>",
    "Caused by: ",
    "caused by: java.net.",
    "cause: Error: ",
    "Traceback (most recent call last):\n",
    "  at x (y:1:1)\n",
    "retry-after: ",
    "x-ratelimit-reset: ",
    "ratelimit: limit=1, ",
    "date: Mon, 30 Nov 2026 14:00:00 GMT\n",
    "try again in ",
    "99999999999999999999 seconds",
    "6ms",
    "1h2m3s",
    "per day",
    "2026-02-30T25:61:61Z",
    "Mon, 99 Foo 0000",
    "PT1H",
    "P1000000Y",
    "exit code ",
    "SQLSTATE[",
    "rpc error: code = ",
    " desc = ",
    "status code ",
    "HTTP/1.1 ",
    "errno ",
    "patterns:\n",
    "  - id: a\n",
    "    match: ",
    "    classification: USER_INPUT\n",
    "&a ",
    "*a ",
    "<<: ",
    "!!binary ",
    "!!str ",
    "? ",
    "- - - - ",
    "|\n",
    ">-\n",
    "%YAML 1.1\n",
    "---\n",
    "...\n",
    "#",
    "{{",
    "[[[[",
    "regex: ",
    "(?i)",
    "(a|b)*",
    "(a*)*b",
    "a{1000}",
    "[^\\x00]",
    "\\pL",
    "\\b",
    "any:\n",
    "not: {",
    "text: [",
    "\"*\"",
    "before: ",
    "cooldown: ",
    "header:retry-after",
    "shadow: true\n",
    "providers:\n",
];

/// Changes an input in one to six places.
pub fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(5) {
        once(input, other, random);
    }
    input.truncate(MAX_BYTES);
}

fn once(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.index(input.len() + 1);
    let end = (at + 1 + random.index(32)).min(input.len());
    match random.below(12) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 => input.insert(at, random.next_u64().to_le_bytes()[0]),
        2 if at < end => drop(input.drain(at..end)),
        3 if at < end => {
            let piece = input[at..end].to_vec();
            let to = random.index(input.len());
            input.splice(to..to, piece);
        }
        4 => input.truncate(at),
        5 | 6 => drop(input.splice(at..at, random.pick(WORDS).bytes())),
        7 if at < end => drop(input.splice(at..end, random.pick(WORDS).bytes())),
        8 if !other.is_empty() => {
            let from = random.index(other.len());
            let to = (from + 1 + random.index(256)).min(other.len());
            input.splice(at..at, other[from..to].iter().copied());
        }
        9 if !other.is_empty() => {
            input.truncate(at);
            input.extend(&other[random.index(other.len())..]);
        }
        10 => number(input, at, random),
        // What grows with the square of its length shows only when it is long.
        11 if at < end && random.once_in(8) => repeat(input, at, end, random),
        _ => {}
    }
}

/// Writes another number where one is.
fn number(input: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(from) = input.iter().skip(at).position(u8::is_ascii_digit).map(|it| it + at) else { return };
    let to = input.iter().skip(from).position(|it| !it.is_ascii_digit()).map_or(input.len(), |it| it + from);
    let new = match random.below(4) {
        0 => random.next_u64(),
        1 => random.below(70_000),
        2 => 1 << random.below(63),
        _ => random.below(10),
    };
    input.splice(from..to, new.to_string().into_bytes());
}

/// Repeats a stretch until the input is long.
fn repeat(input: &mut Vec<u8>, at: usize, end: usize, random: &mut Random) {
    let long = *random.pick(&[1 << 10, 4 << 10, 16 << 10, MAX_BYTES]);
    let room = long.saturating_sub(input.len());
    let piece: Vec<u8> = input[at..end].iter().copied().cycle().take(room).collect();
    input.splice(at..at, piece);
}
