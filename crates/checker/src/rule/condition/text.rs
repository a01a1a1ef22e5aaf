//! Texts to look for: literals, and regular expressions.

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

use crate::unwrap::Mask;

/// How a needle is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Case {
    /// Byte by byte, anywhere (R112).
    Exact,
    /// Without regard to the case of ASCII letters, and as whole words: no letter or digit stands right before or behind
    /// it. A `*` at either end lifts that there.
    Words,
}

/// The needles of a `bodyContains` or `text` condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needles {
    texts: Vec<String>,
    case: Case,
    /// The needles' numbers in the automaton of a table; empty outside one.
    pub(crate) ids: Vec<u32>,
    pub(crate) mask: Mask,
}

impl Needles {
    /// From the texts as written; none may be empty.
    #[must_use]
    pub fn new(texts: Vec<String>, case: Case) -> Self {
        Self { texts, case, ids: Vec::new(), mask: Mask::default() }
    }

    /// The texts.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// How they are compared.
    #[must_use]
    pub const fn case(&self) -> Case {
        self.case
    }
}

/// A needle without the stars of its ends, and whether a word must begin and end there.
pub(crate) fn ends(needle: &str, case: Case) -> (&str, bool, bool) {
    if case == Case::Exact {
        return (needle, false, false);
    }
    let (bare, begins) = needle.strip_prefix('*').map_or((needle, true), |it| (it, false));
    let (bare, closes) = bare.strip_suffix('*').map_or((bare, true), |it| (it, false));
    (bare, begins, closes)
}

/// Whether a word begins at `at`, or ends there: no two letters or digits meet.
pub(crate) fn is_boundary(text: &[u8], at: usize) -> bool {
    let is_word = |it: Option<&u8>| it.is_some_and(|it| it.is_ascii_alphanumeric());
    !(is_word(at.checked_sub(1).and_then(|it| text.get(it))) && is_word(text.get(at)))
}

/// The longest memory of one compiled expression, in bytes.
const MAX_COMPILED_BYTES: usize = 256 * 1024;

/// A regular expression: linear in the text, and with a literal that is in everything it matches.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: String,
    regex: Regex,
    literals: Vec<String>,
    /// The literals' numbers in the automaton of a table; empty outside one.
    pub(crate) ids: Vec<u32>,
    pub(crate) mask: Mask,
}

impl Pattern {
    /// Compiles an expression. ASCII letters are compared without case unless it says `(?-i)`; classes such as `\w` are
    /// ASCII's.
    ///
    /// # Errors
    /// It is none, is too large, or has no literal of at least three characters that every match holds, so that each text
    /// would have to be searched for it.
    pub fn new(source: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(source)
            .case_insensitive(true)
            .unicode(false)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(limit) => {
                    format!("compiles to more than {limit} bytes; shorten it or bound its repetitions")
                }
                error => {
                    let text = error.to_string();
                    let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                    format!("is no regular expression: {reason}")
                }
            })?;
        let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(source);
        let hir = hir.map_err(|_| "is no regular expression".to_owned())?;
        let literals = required(&hir).filter(|it| it.iter().all(|it| it.len() >= 3));
        let literals = literals.ok_or_else(|| {
            "has no text of three characters that every match holds, so that it would be tried on everything; add one".to_owned()
        })?;
        Ok(Self { source: source.to_owned(), regex, literals, ids: Vec::new(), mask: Mask::default() })
    }

    /// The expression as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Texts of which one is in everything that it matches.
    pub(crate) fn literals(&self) -> &[String] {
        &self.literals
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex.is_match(text.as_bytes())
    }

    pub(super) fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.regex.find(text.as_bytes())?;
        text.get(text.floor_char_boundary(found.start())..text.ceil_char_boundary(found.end()))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Pattern {}

/// Texts of which one is in every match; `None` if there is no such set. Of a sequence the part with the longest.
fn required(hir: &Hir) -> Option<Vec<String>> {
    const MAX_LITERALS: usize = 32;
    match hir.kind() {
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0)
            .ok()
            .filter(|it| it.is_ascii())
            .map(|it| vec![it.to_ascii_lowercase()]),
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Concat(parts) => {
            let shortest = |it: &Vec<String>| it.iter().map(String::len).min().unwrap_or(0);
            parts.iter().filter_map(required).max_by_key(shortest)
        }
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(required(branch)?);
            }
            (all.len() <= MAX_LITERALS).then_some(all)
        }
        _ => None,
    }
}
