//! A position in a text, moved forward byte by byte. Knows nothing of times.

/// A position in a text. All moves go forward, and the position is always on the border of a character.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    pub(super) fn at(self) -> usize {
        self.at
    }

    pub(super) fn rest(self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The byte after the next one.
    pub(super) fn second(self) -> Option<u8> {
        self.text.as_bytes().get(self.at + 1).copied()
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.text.len());
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let is_next = byte.is_ascii() && self.peek() == Some(byte);
        if is_next {
            self.at += 1;
        }
        is_next
    }

    /// Takes `word`, in any case, if it stands next and no letter follows.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let mut ahead = *self;
        let is_next = ahead.letters().eq_ignore_ascii_case(word);
        if is_next {
            *self = ahead;
        }
        is_next
    }

    /// Takes ASCII bytes while `test` holds, at most `most`, and tells what was taken.
    pub(super) fn take(&mut self, most: usize, test: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().take(most).take_while(|it| it.is_ascii() && test(*it)).count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    pub(super) fn spaces(&mut self) {
        self.take(16, |it| it.is_ascii_whitespace());
    }

    /// The letters that stand next.
    pub(super) fn letters(&mut self) -> &'a str {
        self.take(32, |it| it.is_ascii_alphabetic())
    }

    /// A number of up to `most` digits.
    pub(super) fn number(&mut self, most: usize) -> Option<u32> {
        self.take(most, |it| it.is_ascii_digit()).parse().ok()
    }

    /// Digits with an optional fraction; thousands may be set apart by commas.
    pub(super) fn decimal(&mut self) -> Option<&'a str> {
        let start = self.at;
        let mut digits = self.take(24, |it| it.is_ascii_digit()).len();
        while (1..=21).contains(&digits) && self.peek() == Some(b',') {
            let mut ahead = *self;
            ahead.skip(1);
            let is_group = ahead.take(4, |it| it.is_ascii_digit()).len() == 3;
            if !is_group {
                break;
            }
            digits += 3;
            *self = ahead;
        }
        if self.peek() == Some(b'.') && self.second().is_some_and(|it| it.is_ascii_digit()) {
            self.at += 1;
            digits += self.take(24, |it| it.is_ascii_digit()).len();
        }
        if digits == 0 || self.peek().is_some_and(|it| it.is_ascii_digit()) {
            self.at = start;
            return None;
        }
        self.text.get(start..self.at)
    }
}
