//! Texts to look for: literals, and regular expressions.

use std::sync::Arc;

use regex_automata::meta::{BuildError, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::syntax;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

use crate::limits;
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
#[derive(Debug, Clone)]
pub struct Needles {
    texts: Vec<String>,
    case: Case,
    /// The needles' numbers in a table; empty outside one.
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

/// By what they say: their numbers differ from table to table.
impl PartialEq for Needles {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts && self.case == other.case
    }
}

impl Eq for Needles {}

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

/// The memory that an expression takes for what it has seen while it looks through one text, in bytes. What does not fit is
/// seen anew.
const MAX_CACHE_BYTES: usize = 512 * 1024;

/// A regular expression: linear in the text, and with a literal that is in everything it matches. Cheap to copy: rules stand
/// in many tables, their expressions in memory once.
#[derive(Debug, Clone)]
pub struct Pattern {
    compiled: Arc<Compiled>,
    /// The literals' numbers in a table; empty outside one.
    pub(crate) ids: Vec<u32>,
    pub(crate) mask: Mask,
    pub(crate) other_masks: Vec<Mask>,
}

#[derive(Debug)]
struct Compiled {
    source: String,
    regex: Regex,
    literals: Vec<String>,
    /// Further sets of literals, of each of which one is in every match too.
    others: Vec<Vec<String>>,
}

/// Why a text is no expression that can be looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Its syntax.
    #[error("is no regular expression: {0}")]
    Syntax(String),
    /// It would take too much memory.
    #[error(
        "compiles to more than {} bytes; shorten it or bound its repetitions",
        limits::MAX_COMPILED_BYTES
    )]
    TooLarge,
    /// It would have to be tried on every text.
    #[error(
        "has no text of three characters that every match holds, so that it would be tried on everything; add one"
    )]
    NoText,
}

impl Pattern {
    /// Compiles an expression. ASCII letters are compared without case unless it says `(?-i)`; classes such as `\w` are
    /// ASCII's.
    ///
    /// # Errors
    /// It is none, is too large, or has no literal of at least three characters that every match holds, so that each text
    /// would have to be searched for it.
    pub fn new(source: &str) -> Result<Self, PatternError> {
        let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(source);
        let mut sets = required(&hir.map_err(|it| syntax_error(&it))?);
        sets.retain(|set| set.iter().all(|it| it.len() >= MIN_LITERAL_BYTES));
        // The one whose shortest is the longest is looked for first.
        sets.sort_by_key(|set| std::cmp::Reverse(set.iter().map(String::len).min()));
        let mut sets = sets.into_iter();
        let literals = sets.next().ok_or(PatternError::NoText)?;
        let others = sets.take(MAX_OTHERS).collect();
        let regex = compile(source)?;
        let compiled = Compiled { source: source.to_owned(), regex, literals, others };
        Ok(Self {
            compiled: Arc::new(compiled),
            ids: Vec::new(),
            mask: Mask::default(),
            other_masks: Vec::new(),
        })
    }

    /// How much memory it takes, in bytes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.compiled.others.iter().flatten().chain(&self.compiled.literals);
        self.compiled.regex.memory_usage() + texts.map(String::len).sum::<usize>()
    }

    /// The expression as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.compiled.source
    }

    /// Texts of which one is in everything that it matches.
    pub(crate) fn literals(&self) -> &[String] {
        &self.compiled.literals
    }

    /// Further sets, of each of which one is in everything that it matches.
    pub(crate) fn others(&self) -> &[Vec<String>] {
        &self.compiled.others
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.compiled.regex.is_match(text)
    }

    pub(super) fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.compiled.regex.find(text)?;
        text.get(text.floor_char_boundary(found.start())..text.ceil_char_boundary(found.end()))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.compiled, &other.compiled) || self.compiled.source == other.compiled.source
    }
}

impl Eq for Pattern {}

fn compile(source: &str) -> Result<Regex, PatternError> {
    // Neither groups nor engines that trade memory for time are of use: most texts are short and do not match.
    let settings = Regex::config()
        .nfa_size_limit(Some(limits::MAX_COMPILED_BYTES))
        .hybrid_cache_capacity(MAX_CACHE_BYTES)
        .onepass(false)
        .dfa(false)
        .which_captures(WhichCaptures::Implicit)
        .utf8_empty(false);
    let syntax = syntax::Config::new().case_insensitive(true).unicode(false).utf8(false);
    Regex::builder().configure(settings).syntax(syntax).build(source).map_err(|error| {
        match (error.size_limit(), error.syntax_error()) {
            (Some(_), _) => PatternError::TooLarge,
            (None, Some(error)) => syntax_error(error),
            (None, None) => PatternError::Syntax(BuildError::to_string(&error)),
        }
    })
}

fn syntax_error(error: &regex_syntax::Error) -> PatternError {
    let text = error.to_string();
    let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
    PatternError::Syntax(reason.to_owned())
}

/// The shortest literal that is looked for.
const MIN_LITERAL_BYTES: usize = 3;

/// Further sets of literals that are looked for.
const MAX_OTHERS: usize = 3;

/// Sets of texts, of each of which one is in every match, without capitals.
fn required(hir: &Hir) -> Vec<Vec<String>> {
    const MAX_LITERALS: usize = 32;
    match hir.kind() {
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0)
            .ok()
            .filter(|it| it.is_ascii())
            .map(|it| vec![it.to_ascii_lowercase()])
            .into_iter()
            .collect(),
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Concat(parts) => parts.iter().flat_map(required).collect(),
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                let shortest = |it: &Vec<String>| it.iter().map(String::len).min();
                match required(branch).into_iter().max_by_key(shortest) {
                    Some(best) => all.extend(best),
                    None => return Vec::new(),
                }
            }
            all.sort();
            all.dedup();
            if all.len() <= MAX_LITERALS { vec![all] } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}
