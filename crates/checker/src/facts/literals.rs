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

    /// Whether this one, whose letters stand at `from` in those of another one, is in every text that the other is in: at
    /// its ends a word of this one must be one of the other too.
    fn stands_within(&self, other: &Self, from: usize) -> bool {
        let to = from + self.text.len();
        match (self.case, other.case) {
            (Case::Exact, Case::Exact) => other.text.get(from..to).is_some_and(|it| it == self.text),
            (Case::Exact, Case::Words) => false,
            (Case::Words, _) => {
                let bytes = other.text.as_bytes();
                let is_word = |it: Option<&u8>| it.is_some_and(u8::is_ascii_alphanumeric);
                let own = self.text.as_bytes();
                let before = from.checked_sub(1).and_then(|it| bytes.get(it));
                let left = if from == 0 { other.begins } else { !is_word(before) };
                let right = if to == bytes.len() { other.closes } else { !is_word(bytes.get(to)) };
                (!self.begins || !is_word(own.first()) || left)
                    && (!self.closes || !is_word(own.last()) || right)
            }
        }
    }

    /// Whether it is in every text that another one is in.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let (own, others) = (self.text.to_ascii_lowercase(), other.text.to_ascii_lowercase());
        places(&others, &own).any(|from| self.stands_within(other, from))
    }

    /// Whether it is in a text; without a table, for explanations.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        match self.case {
            Case::Exact => text.contains(&self.text),
            Case::Words => {
                let lower = text.to_ascii_lowercase();
                places(&lower, &self.text).any(|at| self.stands(&lower, at, at + self.text.len()))
            }
        }
    }
}

/// Where a part stands in a text, also where it overlaps itself.
fn places(text: &str, part: &str) -> impl Iterator<Item = usize> {
    let find = move |from: usize| text.get(from..)?.find(part).map(|at| from + at);
    let next = move |at: &usize| {
        let letter = text.get(*at..)?.chars().next()?;
        find(at + letter.len_utf8())
    };
    std::iter::successors(find(0), next)
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

    /// The texts that are in every text that this one is in, itself among them; not more than `limit` of them.
    pub(crate) fn within(&self, id: u32, limit: usize) -> Vec<u32> {
        let mut within = vec![id];
        let Some(other) = self.literals.get(id as usize) else { return within };
        self.finder.find(&other.text, &mut Vec::new(), |it, from, _| {
            let stands = |it: &Literal| it.stands_within(other, from);
            if within.len() < limit
                && !within.contains(&it)
                && self.literals.get(it as usize).is_some_and(stands)
            {
                within.push(it);
            }
        });
        within
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
