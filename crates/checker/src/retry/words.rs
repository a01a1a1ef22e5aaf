//! The words of a text, one after the other, with what came before them in the sentence.

use super::cursor::Cursor;

/// Words of a client that tells of its own plans: what follows is not the other side's word.
const OWN_PLANS: [&str; 9] =
    ["will", "ll", "automatic", "automatically", "attempting", "next", "scheduled", "scheduling", "auto"];

const NEGATIONS: [&str; 6] = ["not", "cannot", "never", "t", "unable", "no"];

/// The words of the sentence so far, the last eight.
#[derive(Debug, Default)]
pub(super) struct Recent<'a> {
    /// A ring; `next` is where the next word goes.
    words: [(&'a str, usize); 8],
    next: usize,
    length: usize,
    /// How many of them belong to the clause: no punctuation lies between.
    clause: usize,
}

impl<'a> Recent<'a> {
    pub(super) fn push(&mut self, word: &'a str, at: usize) {
        if let Some(place) = self.words.get_mut(self.next) {
            *place = (word, at);
        }
        self.next = (self.next + 1) % self.words.len();
        self.length = (self.length + 1).min(self.words.len());
        self.clause += 1;
    }

    /// The latest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, usize)> + '_ {
        let (newer, older) = self.words.split_at_checked(self.next).unwrap_or_default();
        newer.iter().rev().chain(older.iter().rev()).copied().take(self.length)
    }

    pub(super) fn last(&self) -> &'a str {
        self.iter().next().map_or("", |(word, _)| word)
    }

    /// A sentence ended.
    pub(super) fn end_sentence(&mut self) {
        self.length = 0;
        self.clause = 0;
    }

    /// Punctuation was met.
    pub(super) fn end_clause(&mut self) {
        self.clause = 0;
    }

    /// Whether the sentence begins here.
    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether a sentence or a clause begins here.
    pub(super) fn is_clause_start(&self) -> bool {
        self.clause == 0
    }

    /// Whether the clause says "not": "cannot retry", "won't be able to try again".
    pub(super) fn is_negated(&self) -> bool {
        let clause = self.iter().take(self.clause.min(5)).take_while(|(word, _)| *word != "please");
        clause.map(|(word, _)| word).any(|it| NEGATIONS.contains(&it))
    }

    /// Whether the word that begins at `at`, or is to come, is what a client is about to do: "will retry",
    /// "attempting to retry".
    pub(super) fn is_own_plan(&self, at: usize) -> bool {
        const BEFORE_TO: [&str; 4] = ["about", "attempting", "going", "scheduled"];
        let mut words = self.iter().filter(|(_, start)| *start < at).map(|(word, _)| word);
        match words.next() {
            Some("to") => words.next().is_some_and(|it| BEFORE_TO.contains(&it)),
            Some(word) => OWN_PLANS.contains(&word),
            None => false,
        }
    }

    /// Whether one of the `most` latest words is among `words`.
    pub(super) fn has(&self, most: usize, words: &[&str]) -> bool {
        self.iter().take(most).any(|(word, _)| words.contains(&word))
    }
}

/// What lies between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    Space,
    /// Punctuation within a sentence.
    Clause,
    /// The end of a sentence or of a line.
    Sentence,
}

/// Moves to the next word.
pub(super) fn gap(cursor: &mut Cursor<'_>) -> Gap {
    let mut gap = Gap::Space;
    while let Some(byte) = cursor.peek() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => break,
            b'\n' | b';' => gap = Gap::Sentence,
            b'.' | b'!' | b'?' if cursor.second().is_none_or(|it| !it.is_ascii_alphanumeric()) => {
                gap = Gap::Sentence;
            }
            // A line break that was escaped.
            b'\\' if matches!(cursor.second(), Some(b'n' | b'r' | b't')) => {
                gap = Gap::Sentence;
                cursor.skip(1);
            }
            b'\'' => {}
            _ if byte.is_ascii_whitespace() || cursor.rest().starts_with('’') => {}
            _ => gap = gap.max(Gap::Clause),
        }
        cursor.skip(cursor.rest().chars().next().map_or(1, char::len_utf8));
    }
    gap
}

/// A run of letters, digits, `_`, and `-` between them.
pub(super) fn word<'a>(cursor: &mut Cursor<'a>) -> &'a str {
    let start = *cursor;
    loop {
        cursor.take(usize::MAX, |it| it.is_ascii_alphanumeric() || it == b'_');
        let is_joined = cursor.peek() == Some(b'-')
            && cursor.at() > start.at()
            && cursor.second().is_some_and(|it| it.is_ascii_alphanumeric());
        if !is_joined {
            break;
        }
        cursor.skip(1);
    }
    start.rest().get(..cursor.at() - start.at()).unwrap_or_default()
}
