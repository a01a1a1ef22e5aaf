//! One condition of a rule: when it holds, what it wanted and what it saw.
//!
//! Conditions read a failure only through [`Facts`], so that a costly fact is computed once and only if asked for.

use health_model::verdict::Evidence;
use health_model::{DispatchCode, FailureKind, NotFoundOf, Target, ToolKind};

use crate::facts::Facts;
use crate::limits;
use crate::names;

/// A test of one fact. A rule's conditions are tested in the order of these variants: cheap ones first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// `dispatchCode`: one of these.
    DispatchCode(Vec<DispatchCode>),
    /// `toolKind`: one of these.
    ToolKind(Vec<ToolKind>),
    /// `target`: exactly this; a tool that does not say has a fixed one.
    Target(Target),
    /// `httpStatus`: exactly this (R109).
    HttpStatus(u16),
    /// `httpStatusRange`: from, to, both inclusive (R110).
    HttpStatusRange(u16, u16),
    /// `schemaViolation`: the reporter's flag (R133, C15).
    SchemaViolation(bool),
    /// `notFoundOf` (R128, C15): `entity` where the reporter says so, `endpoint` where it says so or cannot tell.
    NotFoundOf(NotFoundOf),
    /// `kind`: the canonical kind is one of these.
    Kind(KindSet),
    /// `exceptionType`: one of these (R111).
    ExceptionType(ExceptionTypes),
    /// `errorCode`: exactly this machine code (R113).
    ErrorCode(String),
    /// `bodyContains`: one of these is in the message, a cause's message or the body (R112).
    BodyContains(Needles),
}

/// A set of canonical kinds. `timeout` is the kind of a time limit of which nobody knows which it was: a set with it
/// holds `connect_timeout` and `read_timeout` too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KindSet(u32);

impl KindSet {
    /// Adds a kind.
    pub fn insert(&mut self, kind: FailureKind) {
        self.0 |= Self::bit(kind);
        if kind == FailureKind::Timeout {
            self.0 |= Self::bit(FailureKind::ConnectTimeout) | Self::bit(FailureKind::ReadTimeout);
        }
    }

    const fn bit(kind: FailureKind) -> u32 {
        1 << (kind as u32)
    }

    /// Whether the kind is in the set.
    #[must_use]
    pub const fn contains(self, kind: FailureKind) -> bool {
        (self.0 & Self::bit(kind)) != 0
    }

    /// Whether there is no kind in it.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether every kind of this set is in the other.
    #[must_use]
    pub const fn is_subset(self, of: Self) -> bool {
        (self.0 & !of.0) == 0
    }

    /// The kinds, in declaration order.
    pub fn iter(self) -> impl Iterator<Item = FailureKind> {
        FailureKind::ALL.iter().copied().filter(move |it| self.contains(*it))
    }
}

impl FromIterator<FailureKind> for KindSet {
    fn from_iter<I: IntoIterator<Item = FailureKind>>(kinds: I) -> Self {
        let mut set = Self::default();
        kinds.into_iter().for_each(|it| set.insert(it));
        set
    }
}

/// The names of an `exceptionType` condition (C16).
///
/// A name whose meaning is known in some runtime stands for its canonical kind, so that a rule for
/// `java.net.ConnectException` matches the same failure of every runtime. Any other name stands for itself, and so does
/// a known one that leaves the kind open (`java.net.SocketException`). A name without a package matches the last
/// segment of a longer one. In literal mode every name stands for itself alone, exactly.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExceptionTypes {
    names: Vec<String>,
    kinds: KindSet,
    raw: Vec<String>,
}

impl ExceptionTypes {
    /// From the names as written.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        let mut kinds = KindSet::default();
        let mut raw = Vec::new();
        for name in &names {
            let known = names::kind_of_name(name);
            if let Some(known) = known {
                kinds.insert(known.kind);
            }
            if known.is_none_or(|it| it.strength < names::Strength::Exact) {
                raw.push(name.clone());
            }
        }
        Self { names, kinds, raw }
    }

    /// The names as written.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The canonical kinds that they stand for.
    #[must_use]
    pub const fn kinds(&self) -> KindSet {
        self.kinds
    }

    /// The names that also, or only, stand for themselves.
    #[must_use]
    pub fn raw(&self) -> &[String] {
        &self.raw
    }

    fn matching_name<'a>(&'a self, facts: &Facts<'_>) -> Option<&'a str> {
        let names = if facts.is_literal() { &self.names } else { &self.raw };
        names.iter().map(String::as_str).find(|name| facts.exception_types().any(|it| is_name(it, name)))
    }
}

/// Whether an exception type that a runtime printed is this name: equal, or equal in its last segment if the name has
/// no package.
pub(crate) fn is_name(printed: &str, name: &str) -> bool {
    printed == name || (!name.contains(names::SEPARATORS) && names::last_segment(printed) == name)
}

/// The needles of a `bodyContains` condition, compared byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needles {
    texts: Vec<String>,
    /// The needles' numbers in the automaton of a table; empty outside one.
    pub(crate) ids: Vec<u32>,
}

impl Needles {
    /// From the texts as written; none may be empty.
    #[must_use]
    pub const fn new(texts: Vec<String>) -> Self {
        Self { texts, ids: Vec::new() }
    }

    /// The texts.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }
}

impl Condition {
    /// The field of `match`, as written in a rule file.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::DispatchCode(_) => "dispatchCode",
            Self::ToolKind(_) => "toolKind",
            Self::Target(_) => "target",
            Self::HttpStatus(_) => "httpStatus",
            Self::HttpStatusRange(..) => "httpStatusRange",
            Self::SchemaViolation(_) => "schemaViolation",
            Self::NotFoundOf(_) => "notFoundOf",
            Self::Kind(_) => "kind",
            Self::ExceptionType(_) => "exceptionType",
            Self::ErrorCode(_) => "errorCode",
            Self::BodyContains(_) => "bodyContains",
        }
    }

    /// Whether it holds.
    #[must_use]
    pub fn holds(&self, facts: &Facts<'_>) -> bool {
        let failure = facts.failure();
        match self {
            Self::DispatchCode(codes) => failure.dispatch_code.is_some_and(|it| codes.contains(&it)),
            Self::ToolKind(kinds) => facts.tool().kind.is_some_and(|it| kinds.contains(&it)),
            Self::Target(target) => facts.target() == *target,
            Self::HttpStatus(status) => failure.http_status == Some(*status),
            Self::HttpStatusRange(from, to) => failure.http_status.is_some_and(|it| *from <= it && it <= *to),
            Self::SchemaViolation(flag) => failure.schema_violation == *flag,
            Self::NotFoundOf(NotFoundOf::Endpoint) => failure.not_found_of != Some(NotFoundOf::Entity),
            Self::NotFoundOf(NotFoundOf::Entity) => failure.not_found_of == Some(NotFoundOf::Entity),
            Self::Kind(kinds) => facts.kind().is_some_and(|it| kinds.contains(it)),
            Self::ExceptionType(types) => {
                let by_kind = !facts.is_literal() && !types.kinds.is_empty();
                (by_kind && facts.kind().is_some_and(|it| types.kinds.contains(it)))
                    || types.matching_name(facts).is_some()
            }
            Self::ErrorCode(code) => facts.error_codes().any(|it| it == code),
            Self::BodyContains(needles) => facts.contains_any(needles),
        }
    }

    /// What it looks for, for people.
    #[must_use]
    pub fn wanted(&self) -> String {
        match self {
            Self::DispatchCode(codes) => join(codes.iter().map(|it| it.as_str())),
            Self::ToolKind(kinds) => join(kinds.iter().map(|it| it.as_str())),
            Self::Target(target) => target.to_string(),
            Self::HttpStatus(status) => status.to_string(),
            Self::HttpStatusRange(from, to) => format!("{from} to {to}"),
            Self::SchemaViolation(flag) => flag.to_string(),
            Self::NotFoundOf(of) => of.to_string(),
            Self::Kind(kinds) => join(kinds.iter().map(FailureKind::as_str)),
            Self::ExceptionType(types) => join(types.names.iter().map(String::as_str)),
            Self::ErrorCode(code) => code.clone(),
            Self::BodyContains(needles) => join(needles.texts.iter().map(|it| format!("`{it}`"))),
        }
    }

    /// What the failure has there, for people: cut and masked, since it comes from outside.
    #[must_use]
    pub fn seen(&self, facts: &Facts<'_>) -> String {
        let failure = facts.failure();
        let or_nothing = |it: Option<String>| it.unwrap_or_else(|| "nothing".to_owned());
        match self {
            Self::DispatchCode(_) => or_nothing(failure.dispatch_code.map(|it| it.to_string())),
            Self::ToolKind(_) => or_nothing(facts.tool().kind.map(|it| it.to_string())),
            Self::Target(_) => facts.target().to_string(),
            Self::HttpStatus(_) | Self::HttpStatusRange(..) => {
                or_nothing(failure.http_status.map(|it| it.to_string()))
            }
            Self::SchemaViolation(_) => failure.schema_violation.to_string(),
            Self::NotFoundOf(_) => or_nothing(failure.not_found_of.map(|it| it.to_string())),
            Self::Kind(_) => or_nothing(facts.kind().map(|it| it.to_string())),
            Self::ExceptionType(_) => {
                let names = facts.exception_types().map(crate::redact::excerpt).collect::<Vec<_>>();
                match (names.is_empty(), facts.kind()) {
                    (true, None) => "nothing".to_owned(),
                    (true, Some(kind)) => format!("kind {kind}"),
                    (false, None) => join(names),
                    (false, Some(kind)) => format!("{}, kind {kind}", join(names)),
                }
            }
            Self::ErrorCode(_) => {
                let codes = facts.error_codes().map(crate::redact::excerpt).collect::<Vec<_>>();
                if codes.is_empty() { "nothing".to_owned() } else { join(codes) }
            }
            Self::BodyContains(_) => format!("none of them in {} bytes of text", facts.text_bytes()),
        }
    }

    /// Why it holds: the field, what it looks for, and what is there.
    #[must_use]
    pub fn evidence(&self, facts: &Facts<'_>) -> Evidence {
        let seen = match self {
            Self::Kind(_) => facts.kind_evidence(),
            Self::ExceptionType(types) => match types.matching_name(facts) {
                Some(_) => self.seen(facts),
                None => facts.kind_evidence(),
            },
            Self::ErrorCode(code) => code.clone(),
            Self::BodyContains(needles) => {
                match needles.texts.iter().find_map(|it| Some((it, facts.place_of(it)?))) {
                    Some((needle, place)) => format!("`{needle}` in the {place}"),
                    None => self.wanted(),
                }
            }
            _ => self.seen(facts),
        };
        Evidence {
            field: self.field().to_owned(),
            expected: limits::head(&self.wanted(), limits::MAX_SHOWN_BYTES).to_owned(),
            seen: limits::head(&seen, limits::MAX_SHOWN_BYTES).to_owned(),
        }
    }
}

fn join<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(word.as_ref());
    }
    text
}
