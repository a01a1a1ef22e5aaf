//! What the rules see of one failure: its fields, its canonical kind, its codes and its text.
//!
//! Owns no opinion: a fact is read or derived, never judged. Costly facts are computed at most once, and only when a
//! rule asks for them. No fact is an HTTP status guessed from prose.

mod finder;
mod literals;
mod providers;

use std::cell::OnceCell;

use health_model::{Failure, FailureKind, Target, Tool};

use crate::limits;
use crate::names::{self, Derived};
use crate::rule::{BodyShape, Case, Codes, Needles, Pattern, ProviderNames};
use crate::unwrap::{self, Bits, CodeMap, Signals};

pub(crate) use literals::{Literal, Literals};
pub use providers::Provider;
pub(crate) use providers::Providers;

/// What the facts of a table are read with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lexicon {
    pub(crate) literals: Literals,
    pub(crate) codes: CodeMap,
    pub(crate) providers: Providers,
}

/// The facts of one failure of one tool.
pub struct Facts<'a> {
    tool: &'a Tool,
    failure: &'a Failure,
    lexicon: &'a Lexicon,
    literal: bool,
    signals: Signals<'a>,
    found: Bits,
    tool_name: OnceCell<String>,
    kind: OnceCell<Option<Derived>>,
    body_code: OnceCell<Option<String>>,
    rpc_code: OnceCell<Option<String>>,
    providers: OnceCell<Bits>,
    json: OnceCell<Option<serde_json::Value>>,
}

impl<'a> Facts<'a> {
    /// Reads the texts. In literal mode nothing is derived from names or text: the kind is the reporter's or none.
    pub(crate) fn new(lexicon: &'a Lexicon, tool: &'a Tool, failure: &'a Failure, literal: bool) -> Self {
        let mut facts = Self {
            tool,
            failure,
            lexicon,
            literal,
            signals: unwrap::read(failure, &lexicon.codes, !literal),
            found: Bits::default(),
            tool_name: OnceCell::new(),
            kind: OnceCell::new(),
            body_code: OnceCell::new(),
            rpc_code: OnceCell::new(),
            providers: OnceCell::new(),
            json: OnceCell::new(),
        };
        facts.found = lexicon.literals.find(facts.texts().map(|(_, text)| text));
        facts
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

    /// The tool's name without capitals.
    pub(crate) fn tool_name(&self) -> &str {
        self.tool_name.get_or_init(|| self.tool.name.to_ascii_lowercase())
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

    /// The innermost HTTP status: the last one that a text names, else the reported one. Texts are read from the message
    /// inwards, the body last.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.signals.statuses.last().copied().or(self.failure.http_status)
    }

    /// The names that the runtime printed: of the failure and, unless literal, of its causes and in its texts.
    pub fn exception_types(&self) -> impl Iterator<Item = &str> {
        let n_causes = if self.literal { 0 } else { limits::MAX_CAUSES };
        let causes = self.failure.causes.iter().take(n_causes).filter_map(|it| it.exception_type.as_deref());
        let printed = if self.literal { &[] } else { self.signals.printed_types() };
        self.failure.exception_type.as_deref().into_iter().chain(causes).chain(printed.iter().copied())
    }

    /// Their last segments, unless literal the printed ones too.
    pub(crate) fn type_names(&self) -> &[&'a str] {
        &self.signals.types
    }

    /// The machine codes: the reported ones; without a reported error code also `error.code` of a JSON body (R113).
    pub fn error_codes(&self) -> impl Iterator<Item = &str> {
        let failure = self.failure;
        let from_body = match failure.error_code {
            Some(_) => None,
            None => self.body_code.get_or_init(|| self.code_of_body()).as_deref(),
        };
        let rpc = self.rpc_code.get_or_init(|| failure.json_rpc_code.map(|it| it.to_string())).as_deref();
        let other = [failure.grpc_status.as_deref(), failure.sql_state.as_deref(), rpc, from_body];
        failure.error_code.as_deref().into_iter().chain(other.into_iter().flatten())
    }

    /// Whether one of the codes stands in the failure.
    #[must_use]
    pub fn has_code(&self, codes: &Codes) -> bool {
        codes.mask.meets(&self.signals.codes)
    }

    /// The code that stands in the failure, as the rule spells it.
    pub(crate) fn code_found<'c>(&self, codes: &'c Codes) -> Option<&'c str> {
        let at = codes.ids.iter().position(|it| self.signals.codes.contains(*it))?;
        codes.names().get(at).map(String::as_str)
    }

    pub(crate) const fn code_bits(&self) -> &Bits {
        &self.signals.codes
    }

    pub(crate) const fn literal_bits(&self) -> &Bits {
        &self.found
    }

    /// JSON-RPC codes of the reserved range.
    #[must_use]
    pub fn rpc_codes(&self) -> &[i64] {
        &self.signals.rpc_codes
    }

    /// gRPC statuses, by their canonical names.
    #[must_use]
    pub fn grpc_statuses(&self) -> &[&'static str] {
        &self.signals.grpc
    }

    /// SQLSTATEs.
    #[must_use]
    pub fn sql_states(&self) -> &[&'a str] {
        &self.signals.sql_states
    }

    /// WebSocket close codes.
    #[must_use]
    pub fn close_codes(&self) -> &[u16] {
        &self.signals.close_codes
    }

    /// Exit codes, signals as negative numbers.
    #[must_use]
    pub fn exit_codes(&self) -> &[i64] {
        &self.signals.exit_codes
    }

    /// The providers that there is evidence of.
    pub fn providers(&self) -> impl Iterator<Item = &'a str> {
        let lexicon = self.lexicon;
        self.provider_bits().iter().filter_map(|it| lexicon.providers.name(it))
    }

    /// Whether there is evidence of one of these providers.
    #[must_use]
    pub fn has_provider(&self, names: &ProviderNames) -> bool {
        let evident = self.provider_bits();
        names.ids.iter().any(|it| evident.contains(*it))
    }

    fn provider_bits(&self) -> &Bits {
        self.providers.get_or_init(|| self.lexicon.providers.evident(self.tool, self.failure, &self.found))
    }

    /// What the body looks like; without one, what the message does if it is a page or an object.
    #[must_use]
    pub fn body_shape(&self) -> BodyShape {
        match (BodyShape::of(&self.failure.body), BodyShape::of(&self.failure.message)) {
            (BodyShape::Empty, BodyShape::Text) => BodyShape::Empty,
            (BodyShape::Empty, of_message) => of_message,
            (of_body, _) => of_body,
        }
    }

    /// The JSON of the body; without one, the first JSON object or list that stands in the message.
    #[must_use]
    pub fn json(&self) -> Option<&serde_json::Value> {
        let (body, message) = (&self.failure.body, &self.failure.message);
        self.json.get_or_init(|| json_in(body).or_else(|| json_in(message))).as_ref()
    }

    /// Whether an object of the JSON may have this key. Reading the JSON costs more than looking for the name.
    pub(crate) fn may_have_key(&self, key: &str) -> bool {
        // A name may be written with escapes.
        let has = |text: &str| text.contains(key) || text.contains("\\u");
        has(&self.failure.body) || has(&self.failure.message)
    }

    /// `error.code` of a JSON body, as text.
    fn code_of_body(&self) -> Option<String> {
        if !self.failure.body.trim_start().starts_with('{') || !self.may_have_key("code") {
            return None;
        }
        match self.json()?.get("error")?.get("code")? {
            serde_json::Value::String(code) => Some(code.clone()),
            serde_json::Value::Number(code) => Some(code.to_string()),
            _ => None,
        }
    }

    /// The texts that `bodyContains` and `text` see: the message, the causes' messages, the first 16 KiB of the body, and
    /// unless literal the end of the error stream.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let failure = self.failure;
        let causes = failure.causes.iter().take(limits::MAX_CAUSES).map(|it| ("causes", it.message.as_str()));
        let stderr = failure.stderr_tail.as_deref().filter(|_| !self.literal).map(|it| ("error stream", it));
        // What a client repeats as message and body is read once.
        let body = Some(failure.body.as_str()).filter(|it| *it != failure.message).map(|it| ("body", it));
        std::iter::once(("message", failure.message.as_str()))
            .chain(causes)
            .chain(stderr)
            .chain(body)
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
        if needles.ids.is_empty() {
            return needles.texts().iter().any(|it| self.place_of(it, needles.case()).is_some());
        }
        needles.mask.meets(&self.found)
    }

    /// Whether an expression is in the text. It is tried only where one of the texts is that it needs.
    #[must_use]
    pub fn matches(&self, pattern: &Pattern) -> bool {
        let may = pattern.mask.is_empty()
            || (pattern.mask.meets(&self.found)
                && pattern.other_masks.iter().all(|it| it.meets(&self.found)));
        may && self.texts().any(|(_, text)| pattern.is_in(text))
    }

    /// Where a needle is: `message`, `causes`, `error stream` or `body`.
    #[must_use]
    pub fn place_of(&self, needle: &str, case: Case) -> Option<&'static str> {
        let literal = Literal::new(needle, case);
        self.texts().find(|(_, text)| literal.is_in(text)).map(|(place, _)| place)
    }
}

/// The first JSON object or list of a text, whatever stands around it. Few places are tried.
fn json_in(text: &str) -> Option<serde_json::Value> {
    const MAX_TRIES: usize = 4;
    let text = limits::head(text, limits::MAX_MATCHED_BYTES);
    let starts = text.match_indices(['{', '[']).map(|(at, _)| at);
    starts.take(MAX_TRIES).find_map(|at| {
        let rest = text.get(at..)?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>();
        values.next()?.ok().filter(|it| it.is_object() || it.as_array().is_some_and(|it| !it.is_empty()))
    })
}

#[cfg(test)]
mod tests;
