//! One pass over a text: words, numbers, and what stands right before each.
//!
//! The pass is linear, keeps no copy of the text, and looks at most a few dozen bytes around a word.

use super::field::{CODE_FIELDS, NUMBER_FIELDS, may_be_field};
use super::{Reader, grpc_status, number, state};
use crate::names::errno;

/// Shape of a word.
#[derive(Clone, Copy, Default)]
struct Shape {
    n_upper: usize,
    n_lower: usize,
    n_digits: usize,
    /// A capital right behind a small letter or a digit.
    n_humps: usize,
    has_underscore: bool,
}

impl Shape {
    fn of(word: &str) -> Self {
        let mut shape = Self::default();
        let mut last = 0;
        for byte in word.bytes() {
            let class = class(byte);
            shape.n_lower += usize::from(class == LOWER);
            shape.n_upper += usize::from(class == UPPER);
            shape.n_digits += usize::from(class == DIGIT);
            shape.has_underscore |= class == UNDERSCORE;
            shape.n_humps += usize::from(last == LOWER && class == UPPER);
            last = class;
        }
        shape
    }

    const fn is_number(self) -> bool {
        self.n_digits > 0 && self.n_upper + self.n_lower == 0 && !self.has_underscore
    }

    /// Whether it is written like a code: no word of a sentence is.
    const fn is_code(self) -> bool {
        let letters = self.n_upper + self.n_lower;
        (self.has_underscore && letters > 0)
            || self.n_humps > 0
            || (self.n_lower == 0 && self.n_upper >= 4)
            || (self.n_lower == 0 && self.n_upper >= 1 && self.n_digits >= 3)
            || (self.n_upper >= 2 && self.n_digits >= 2)
    }
}

/// A word and where it stands.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    from: usize,
    to: usize,
    is_number: bool,
}

/// What a byte is to a word, as bits; 0 = it is outside.
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const UNDERSCORE: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let letter = byte as u8;
        #[expect(clippy::indexing_slicing, reason = "below 256")]
        {
            classes[byte] = match letter {
                b'a'..=b'z' => LOWER,
                b'A'..=b'Z' => UPPER,
                b'0'..=b'9' => DIGIT,
                b'_' => UNDERSCORE,
                _ => 0,
            };
        }
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(0)
}

pub(super) fn read<'a>(text: &'a str, reader: &mut Reader<'a, '_>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut previous: Option<Word<'a>> = None;
    let mut before_previous: Option<Word<'a>> = None;
    let mut compound_from = 0;
    while at < bytes.len() {
        let from = at;
        let mut kinds = 0;
        while let Some(&byte) = bytes.get(at) {
            let class = class(byte);
            if class == 0 {
                break;
            }
            kinds |= class;
            at += 1;
        }
        if at == from {
            at += 1;
            continue;
        }
        let Some(word) = text.get(from..at) else { continue };
        let is_joined = previous.is_some_and(|it| it.to + 1 == from && bytes.get(it.to) == Some(&b'-'));
        if !is_joined {
            compound_from = from;
        }
        let is_sentence = kinds == LOWER
            && at - from != 5
            && !is_joined
            && previous.is_none_or(|it| it.to + 1 == from && bytes.get(it.to) == Some(&b' '));
        let shape =
            if kinds == LOWER { Shape { n_lower: at - from, ..Shape::default() } } else { Shape::of(word) };
        let word = Word { text: word, from, to: at, is_number: shape.is_number() };
        // Words of a sentence, which most are, say nothing.
        if !is_sentence {
            Context { text, reader, previous, before_previous, compound_from, is_joined }.word(word, shape);
        }
        before_previous = previous;
        previous = Some(word);
    }
}

struct Context<'a, 'r, 'c> {
    text: &'a str,
    reader: &'r mut Reader<'a, 'c>,
    previous: Option<Word<'a>>,
    before_previous: Option<Word<'a>>,
    compound_from: usize,
    is_joined: bool,
}

impl<'a> Context<'a, '_, '_> {
    fn word(&mut self, word: Word<'a>, shape: Shape) {
        let next = self.text.as_bytes().get(word.to).copied().unwrap_or(0);
        if word.is_number {
            self.number(word, next);
        } else if shape.is_code() {
            self.reader.code(word.text);
            self.named(word, shape);
        }
        if self.is_joined && next != b'-' {
            // `ORA-00942`, `rate-limit-exceeded`.
            if let Some(compound) = self.text.get(self.compound_from..word.to).filter(|it| it.len() <= 64) {
                self.reader.code(compound);
            }
        }
        if shape.n_digits > 0 && word.text.len() == 5 {
            self.state(word);
        }
        if let Some(previous) = self.previous
            && !word.is_number
            && may_be_field(previous.text)
        {
            self.valued(word, previous, next);
        }
    }

    /// Five characters that may be a SQLSTATE.
    fn state(&mut self, word: Word<'a>) {
        if !state::has_shape(word.text) {
            return;
        }
        let from = self.previous.map_or(0, |it| it.to);
        let place = state::Place {
            before_previous: self.before_previous.map_or("", |it| it.text),
            previous: self.previous.map_or("", |it| it.text),
            is_behind_number: self.previous.is_some_and(|it| it.is_number),
            gap: self.text.get(from..word.from).unwrap_or_default(),
            after: self.text.get(word.to..).unwrap_or_default(),
        };
        if place.holds(word.text) {
            self.reader.sql_state(word.text);
        }
    }

    /// Words that say more than that they are codes.
    fn named(&mut self, word: Word<'a>, shape: Shape) {
        let text = word.text;
        if shape.n_humps > 0
            && ["Exception", "Error", "Failure", "Fault", "Timeout", "Elapsed"]
                .iter()
                .any(|it| text.ends_with(it))
        {
            self.reader.exception_type(text);
        }
        // `RESOURCE_EXHAUSTED`; `UNAVAILABLE: …` and `14 UNAVAILABLE: …` only as a heading.
        if shape.n_lower == 0
            && shape.n_digits == 0
            && (shape.has_underscore || self.text.get(word.to..).is_some_and(|it| it.starts_with(": ")))
            && let Some(status) = grpc_status(text)
        {
            self.reader.grpc(status);
        }
    }

    /// A word that stands where a value stands.
    fn valued(&mut self, word: Word<'a>, previous: Word<'a>, next: u8) {
        let Some(gap) = self.text.get(previous.to..word.from) else { return };
        // Words of a sentence, which most are.
        if gap == " " {
            return;
        }
        let is_field = gap.len() <= 8
            && gap.bytes().all(|it| b" :=(\"'\\[>.".contains(&it))
            && (gap.contains([':', '=', '.', '[']) || gap == ">");
        if !is_field {
            return;
        }
        let is_grpc_field = ["code", "StatusCode", "status", "Code", "Status"].contains(&previous.text);
        if is_grpc_field && let Some(status) = grpc_status(word.text) {
            self.reader.grpc(status);
        }
        let ends = matches!(
            next,
            b'"' | b'\'' | b',' | b';' | b')' | b'}' | b']' | b'\n' | b'\r' | b'\\' | b'&' | b'<' | 0
        );
        if ends && CODE_FIELDS.iter().any(|it| previous.text.eq_ignore_ascii_case(it)) {
            self.reader.code(word.text);
        }
    }

    /// A number with a minus in front.
    fn negative(&mut self, word: Word<'a>, number: i64, before: &str) {
        if (32_000..=32_768).contains(&number) && word.text.len() == 5 {
            self.reader.rpc_code(-number);
        } else if number <= 64 && before.ends_with("status -") {
            self.reader.exit_code(-number);
        } else if let Some(previous) = self.previous.filter(|it| it.text.eq_ignore_ascii_case("errno")) {
            let gap = self.text.get(previous.to..word.from).unwrap_or_default();
            // Python's `[Errno -3]` is the resolver's; libuv's are `errno: -4077` and, on Linux, `errno: -111`.
            let name = match gap {
                " -" if previous.text == "Errno" => errno::resolver(-number),
                _ if gap.len() <= 6 && gap.bytes().all(|it| b" :=\"'-".contains(&it)) => {
                    errno::libuv(-number)
                }
                _ => None,
            };
            if let Some(name) = name {
                self.reader.code(name);
            }
        }
    }

    fn number(&mut self, word: Word<'a>, next: u8) {
        if word.text.len() > 10 || next == b'%' {
            return;
        }
        let Ok(number) = word.text.parse::<i64>() else { return };
        let before = self.text.get(..word.from).unwrap_or_default();
        let is_negative = before.ends_with('-')
            && !before
                .get(..before.len() - 1)
                .is_some_and(|it| it.ends_with(|c: char| c.is_ascii_alphanumeric()));
        if is_negative {
            self.negative(word, number, before);
            return;
        }
        let after = self.text.get(word.to..).unwrap_or_default();
        let (previous, gap) = match self.previous {
            Some(it) => (it.text, self.text.get(it.to..word.from).unwrap_or_default()),
            None => ("", before),
        };
        if word.text.len() == 3
            && let Ok(status) = u16::try_from(number)
            && number::is_status(status, before, after, previous, gap)
        {
            self.reader.status(status);
        }
        let is_close = gap.len() <= 6 && gap.bytes().all(|it| b" :=(\"'\\[#-".contains(&it));
        let may_be_of = is_close && may_be_field(previous);
        let is_of = |words: &[&str]| may_be_of && words.iter().any(|it| previous.eq_ignore_ascii_case(it));
        // `ERROR 1045 (28000)`, `"code": 50001`, `[Errno 28]`, `ORA-00942` say what they are.
        if (next == b',' && number::is_in_tuple(word.text, word.from, gap, after))
            || (next == b']' && number::is_of_type(previous, gap))
            || is_of(&NUMBER_FIELDS)
            || (self.is_joined && previous.bytes().all(|it| it.is_ascii_uppercase()))
        {
            self.reader.code(word.text);
        }
        if is_of(&["errno", "error"]) || previous.is_empty() {
            let is_errno = previous.eq_ignore_ascii_case("errno") || before.ends_with("os error ");
            if let Some(name) = errno::system(number).filter(|_| is_errno) {
                self.reader.code(name);
            }
        }
        if is_of(&["curl"]) {
            let mut name = *b"curl000";
            if let Some(tail) = name.get_mut(4..) {
                for (slot, digit) in tail.iter_mut().zip(format!("{number:03}").bytes()) {
                    *slot = digit;
                }
            }
            self.reader.code(std::str::from_utf8(&name).unwrap_or_default());
        }
        if (1_000..=4_999).contains(&number)
            && word.text.len() == 4
            && is_of(&["received", "sent", "close", "closed", "code"])
        {
            self.reader.close_code(number);
        }
        let is_exit = is_of(&["status", "code"])
            && self.before_previous.is_some_and(|it| {
                let text = it.text;
                ["exit", "exited", "with", "exitcode"].iter().any(|word| text.eq_ignore_ascii_case(word))
            });
        if (is_exit || is_of(&["exitcode", "exit_code"])) && (0..=255).contains(&number) {
            self.reader.exit_code(number);
        }
    }
}
