//! What the rules see of one failure: its fields, its canonical kind, its codes and its text.
//!
//! Owns no opinion: a fact is read or derived, never judged. Costly facts are computed at most once, and only when a
//! rule asks for them. No fact is an HTTP status guessed from text.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;
use health_model::{Failure, FailureKind, Target, Tool};

use crate::limits;
use crate::names::{self, Derived};
use crate::rule::Needles;

/// All texts that the rules of a table look for, in one automaton: the cost of looking stays flat as rules grow.
#[derive(Debug, Clone, Default)]
pub struct Literals {
    automaton: Option<AhoCorasick>,
    n_literals: usize,
}

impl Literals {
    /// Numbers the needles of all conditions and builds the automaton.
    pub(crate) fn build<'a>(needles: impl Iterator<Item = &'a mut Needles>) -> Self {
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut texts: Vec<String> = Vec::new();
        for needles in needles {
            needles.ids = needles
                .texts()
                .iter()
                .map(|text| {
                    *numbers.entry(text.clone()).or_insert_with(|| {
                        texts.push(text.clone());
                        u32::try_from(texts.len() - 1).unwrap_or(u32::MAX)
                    })
                })
                .collect();
        }
        if texts.is_empty() {
            return Self::default();
        }
        // A table too large for one automaton is searched needle by needle: slower, with the same answers.
        Self { automaton: AhoCorasick::new(&texts).ok(), n_literals: texts.len() }
    }

    /// How many different texts are looked for.
    #[must_use]
    pub const fn n_literals(&self) -> usize {
        self.n_literals
    }
}

/// The facts of one failure of one tool.
pub struct Facts<'a> {
    tool: &'a Tool,
    failure: &'a Failure,
    literals: Option<&'a Literals>,
    literal: bool,
    kind: OnceCell<Option<Derived>>,
    body_code: OnceCell<Option<String>>,
    rpc_code: OnceCell<Option<String>>,
    hits: OnceCell<Option<Vec<u64>>>,
}

impl<'a> Facts<'a> {
    /// The facts. In literal mode nothing is derived from names or text: the kind is the reporter's or none.
    #[must_use]
    pub const fn new(tool: &'a Tool, failure: &'a Failure, literal: bool) -> Self {
        Self {
            tool,
            failure,
            literals: None,
            literal,
            kind: OnceCell::new(),
            body_code: OnceCell::new(),
            rpc_code: OnceCell::new(),
            hits: OnceCell::new(),
        }
    }

    /// The same facts, searched with the automaton of a table.
    #[must_use]
    pub const fn with_literals(mut self, literals: &'a Literals) -> Self {
        self.literals = Some(literals);
        self
    }

    /// The failure.
    #[must_use]
    pub const fn failure(&self) -> &'a Failure {
        self.failure
    }

    /// The tool.
    #[must_use]
    pub const fn tool(&self) -> &'a Tool {
        self.tool
    }

    /// Whether names stand for themselves alone.
    #[must_use]
    pub const fn is_literal(&self) -> bool {
        self.literal
    }

    /// Where the target comes from; a tool that does not say has a fixed one.
    #[must_use]
    pub fn target(&self) -> Target {
        self.tool.target.unwrap_or(Target::Fixed)
    }

    /// The canonical kind: the reporter's, else the derived one.
    #[must_use]
    pub fn kind(&self) -> Option<FailureKind> {
        self.derived().map(|it| it.kind)
    }

    /// The kind with what it was derived from.
    #[must_use]
    pub fn derived(&self) -> Option<&Derived> {
        self.kind
            .get_or_init(|| match self.failure.kind {
                Some(kind) => Some(Derived::reported(kind)),
                None if self.literal => None,
                None => names::derive(self.failure),
            })
            .as_ref()
    }

    /// The kind and its source, for people.
    #[must_use]
    pub fn kind_evidence(&self) -> String {
        self.derived().map_or_else(|| "none".to_owned(), ToString::to_string)
    }

    /// The names that the runtime printed: of the failure and, unless literal, of its causes.
    pub fn exception_types(&self) -> impl Iterator<Item = &'a str> {
        let n_causes = if self.literal { 0 } else { limits::MAX_CAUSES };
        let causes = self.failure.causes.iter().take(n_causes).filter_map(|it| it.exception_type.as_deref());
        self.failure.exception_type.as_deref().into_iter().chain(causes)
    }

    /// The machine codes: the reported ones; without a reported error code also `error.code` of a JSON body (R113).
    pub fn error_codes(&self) -> impl Iterator<Item = &str> {
        let failure = self.failure;
        let from_body = match failure.error_code {
            Some(_) => None,
            None => self.body_code.get_or_init(|| body_code(&failure.body)).as_deref(),
        };
        let rpc = self.rpc_code.get_or_init(|| failure.json_rpc_code.map(|it| it.to_string())).as_deref();
        let other = [failure.grpc_status.as_deref(), failure.sql_state.as_deref(), rpc, from_body];
        failure.error_code.as_deref().into_iter().chain(other.into_iter().flatten())
    }

    /// The texts that `bodyContains` sees: the message, the causes' messages, the first 16 KiB of the body.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let failure = self.failure;
        let causes = failure.causes.iter().take(limits::MAX_CAUSES).map(|it| ("causes", it.message.as_str()));
        std::iter::once(("message", failure.message.as_str()))
            .chain(causes)
            .chain(std::iter::once(("body", failure.body.as_str())))
            .map(|(place, text)| (place, limits::head(text, limits::MAX_MATCHED_BYTES)))
    }

    /// How much text there is to see.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.texts().map(|(_, text)| text.len()).sum()
    }

    /// Whether one of the needles is in the text.
    #[must_use]
    pub fn contains_any(&self, needles: &Needles) -> bool {
        match self.hits() {
            Some(hits) if !needles.ids.is_empty() => needles
                .ids
                .iter()
                .any(|&id| hits.get(id as usize / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)),
            _ => needles.texts().iter().any(|it| self.place_of(it).is_some()),
        }
    }

    /// Where a needle is: `message`, `causes` or `body`.
    #[must_use]
    pub fn place_of(&self, needle: &str) -> Option<&'static str> {
        self.texts().find(|(_, text)| text.contains(needle)).map(|(place, _)| place)
    }

    /// One bit for each literal of the table that is in the text.
    fn hits(&self) -> Option<&[u64]> {
        let literals = self.literals?;
        let automaton = literals.automaton.as_ref()?;
        self.hits
            .get_or_init(|| {
                let mut hits = vec![0_u64; literals.n_literals.div_ceil(64)];
                for (_, text) in self.texts() {
                    for found in automaton.find_overlapping_iter(text) {
                        let id = found.pattern().as_usize();
                        if let Some(word) = hits.get_mut(id / 64) {
                            *word |= 1 << (id % 64);
                        }
                    }
                }
                Some(hits)
            })
            .as_deref()
    }
}

/// `error.code` of a JSON object, as text.
fn body_code(body: &str) -> Option<String> {
    let body = limits::head(body, limits::MAX_MATCHED_BYTES);
    if !body.trim_start().starts_with('{') {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(body).ok()?;
    match value.get("error")?.get("code")? {
        serde_json::Value::String(code) => Some(code.clone()),
        serde_json::Value::Number(code) => Some(code.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
