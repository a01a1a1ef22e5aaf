//! One pass over a text: words, numbers, and what stands right before each.
//!
//! The pass is linear, keeps no copy of the text, and looks at most a few dozen bytes around a word.

use super::{Reader, grpc_status, number};

/// Fields whose value is a code.
const CODE_FIELDS: [&str; 26] = [
    "code",
    "error",
    "error_code",
    "errorcode",
    "errcode",
    "err_code",
    "type",
    "error_type",
    "errortype",
    "reason",
    "status",
    "errno",
    "kind",
    "subcode",
    "error_subcode",
    "suberror",
    "error_codes",
    "faultcode",
    "tag",
    "__type",
    "exception",
    "err",
    "name",
    "status_code",
    "statuscode",
    "title",
];

/// Words right before a number that make it a code.
const NUMBER_FIELDS: [&str; 18] = [
    "code",
    "error",
    "error_code",
    "errorcode",
    "errcode",
    "errno",
    "err",
    "number",
    "subcode",
    "error_subcode",
    "msg",
    "error_codes",
    "ora",
    "sqlcode",
    "exception",
    "codes",
    "curl",
    "returncode",
];

/// The shapes of all words that a value is looked for behind: for each first letter, by its last five bits, one bit for
/// each length. Most words in front of a value have none of these shapes, and need not be compared with each.
const FIELD_SHAPES: [u32; 32] = {
    const OTHERS: [&str; 12] = [
        "received",
        "sent",
        "close",
        "closed",
        "code",
        "status",
        "exitcode",
        "exit_code",
        "curl",
        "errno",
        "sqlstate",
        "state",
    ];
    let mut shapes = [0; 32];
    add_shapes(&mut shapes, &CODE_FIELDS);
    add_shapes(&mut shapes, &NUMBER_FIELDS);
    add_shapes(&mut shapes, &OTHERS);
    shapes
};

#[expect(clippy::indexing_slicing, reason = "evaluated while compiling")]
const fn add_shapes(shapes: &mut [u32; 32], words: &[&str]) {
    let mut at = 0;
    while at < words.len() {
        let word = words[at].as_bytes();
        shapes[(word[0] & 31) as usize] |= 1 << word.len();
        at += 1;
    }
}

/// Whether a word may be one of the fields, in any case.
fn may_be_field(word: &str) -> bool {
    let first = word.as_bytes().first().copied().unwrap_or_default();
    word.len() < 32 && FIELD_SHAPES.get(usize::from(first & 31)).is_some_and(|it| it >> word.len() & 1 == 1)
}

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
        if let Some(previous) = self.previous {
            self.valued(word, previous, next, shape.n_digits > 0);
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
    fn valued(&mut self, word: Word<'a>, previous: Word<'a>, next: u8, has_digit: bool) {
        let may_be_state = has_digit && word.text.len() == 5;
        if !may_be_state && (word.is_number || !may_be_field(previous.text)) {
            return;
        }
        let Some(gap) = self.text.get(previous.to..word.from) else { return };
        // Words of a sentence, which most are.
        if gap == " " && word.text.len() != 5 {
            return;
        }
        let is_field = gap.len() <= 8
            && gap.bytes().all(|it| b" :=(\"'\\[>.".contains(&it))
            && (gap.contains([':', '=', '.', '[']) || gap == ">");
        if may_be_state && gap.len() <= 8 && is_sql_state(word.text) {
            let is_state = ["SQLSTATE", "sqlstate", "SQLState", "state"].contains(&previous.text);
            // MySQL's `ERROR 1045 (28000): …`, Snowflake's `250001 (08001): …`.
            let is_second = gap == " (" && next == b')' && previous.is_number;
            if is_state || is_second {
                self.reader.sql_state(word.text);
            }
        }
        if !is_field || word.is_number {
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
            if (32_000..=32_768).contains(&number) && word.text.len() == 5 {
                self.reader.rpc_code(-number);
            } else if number <= 64 && before.ends_with("status -") {
                self.reader.exit_code(-number);
            }
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
        // A database's `(1142, "…")` opens the text; `ERROR 1045 (28000)`, `"code": 50001`, `[Errno 28]` say what they are.
        let is_tuple = next == b',' && gap == "(" && word.from <= 2;
        if is_tuple
            || is_of(&NUMBER_FIELDS)
            || (self.is_joined && previous.bytes().all(|it| it.is_ascii_uppercase()))
        {
            self.reader.code(word.text);
        }
        if is_of(&["errno", "error"]) || previous.is_empty() {
            let is_errno = previous.eq_ignore_ascii_case("errno") || before.ends_with("os error ");
            if let Some(name) = number::errno(number).filter(|_| is_errno) {
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

/// Five characters, of which at least one is a digit. Digits alone may be anything: only the classes that databases print
/// as such count.
pub(super) fn is_sql_state(text: &str) -> bool {
    const CLASSES_OF_DIGITS: [&str; 12] =
        ["08", "22", "23", "25", "28", "40", "42", "53", "54", "55", "57", "58"];
    let is_part = |it: u8| it.is_ascii_digit() || it.is_ascii_uppercase();
    text.len() == 5
        && text.bytes().all(is_part)
        && text.bytes().any(|it| it.is_ascii_digit())
        && (text.bytes().any(|it| it.is_ascii_uppercase())
            || CLASSES_OF_DIGITS.iter().any(|it| text.starts_with(it)))
}
