//! All texts that the rules of a table look for, numbered, and which of them stand in a failure.

use std::collections::BTreeMap;

use super::finder::Finder;
use crate::rule::{Case, text_ends, text_is_boundary};
use crate::unwrap::Bits;

/// One text to look for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Literal {
    text: String,
    case: Case,
    begins: bool,
    closes: bool,
}

impl Literal {
    pub(crate) fn new(needle: &str, case: Case) -> Self {
        let (text, begins, closes) = text_ends(needle, case);
        let text = match case {
            Case::Exact => text.to_owned(),
            Case::Words => text.to_ascii_lowercase(),
        };
        Self { text, case, begins, closes }
    }

    /// A text that a regular expression needs: anywhere, in any case.
    pub(crate) fn needed(text: &str) -> Self {
        Self { text: text.to_ascii_lowercase(), case: Case::Words, begins: false, closes: false }
    }

    /// Whether it stands at a place where its letters do.
    fn stands(&self, text: &str, from: usize, to: usize) -> bool {
        let bytes = text.as_bytes();
        match self.case {
            Case::Exact => bytes.get(from..to) == Some(self.text.as_bytes()),
            Case::Words => {
                (!self.begins || text_is_boundary(bytes, from))
                    && (!self.closes || text_is_boundary(bytes, to))
            }
        }
    }

    /// Whether it is in a text; without a table, for explanations.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        match self.case {
            Case::Exact => text.contains(&self.text),
            Case::Words => {
                let lower = text.to_ascii_lowercase();
                lower.match_indices(&self.text).any(|(at, _)| self.stands(&lower, at, at + self.text.len()))
            }
        }
    }
}

/// The texts of a table, numbered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Literals {
    finder: Finder,
    literals: Vec<Literal>,
    numbers: BTreeMap<Literal, u32>,
}

impl Literals {
    /// The number of a text, which is added if it is new.
    pub(crate) fn number(&mut self, literal: Literal) -> u32 {
        let next = u32::try_from(self.literals.len()).unwrap_or(u32::MAX);
        let literals = &mut self.literals;
        *self.numbers.entry(literal).or_insert_with_key(|literal| {
            literals.push(literal.clone());
            next
        })
    }

    /// Builds what finds them; no text is added after that.
    pub(crate) fn finish(&mut self) {
        self.numbers = BTreeMap::new();
        let texts: Vec<(String, bool)> =
            self.literals.iter().map(|it| (it.text.to_ascii_lowercase(), it.begins)).collect();
        self.finder = Finder::new(texts.iter().map(|(text, begins)| (text.as_str(), *begins)));
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.literals.len()
    }

    /// One bit for each text that is there.
    pub(crate) fn find<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Bits {
        let mut found = Bits::with_room(self.literals.len());
        if self.literals.is_empty() {
            return found;
        }
        let mut scratch = Vec::new();
        for text in texts.filter(|it| !it.is_empty()) {
            self.finder.find(text, &mut scratch, |id, from, to| {
                let stands = |it: &Literal| !found.contains(id) && it.stands(text, from, to);
                if self.literals.get(id as usize).is_some_and(stands) {
                    found.insert(id);
                }
            });
        }
        found
    }
}
