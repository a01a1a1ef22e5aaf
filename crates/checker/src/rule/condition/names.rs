//! Kinds and names of exception types (C16).

use health_model::FailureKind;

use crate::facts::Facts;
use crate::names;

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
    /// How many of `raw`, from its start, have no package.
    n_bare: usize,
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
        raw.sort_by_key(|it: &String| it.contains(names::SEPARATORS));
        let n_bare = raw.iter().filter(|it| !it.contains(names::SEPARATORS)).count();
        Self { names, kinds, raw, n_bare }
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

    pub(super) fn hold(&self, facts: &Facts<'_>) -> bool {
        let by_kind = !facts.is_literal() && !self.kinds.is_empty();
        (by_kind && facts.kind().is_some_and(|it| self.kinds.contains(it))) || self.holds_by_name(facts)
    }

    pub(super) fn holds_by_name(&self, facts: &Facts<'_>) -> bool {
        if facts.is_literal() {
            return self.names.iter().any(|name| facts.exception_types().any(|it| is_name(it, name)));
        }
        // A name without a package is looked for among the last segments, which are at hand.
        let (bare, qualified) = self.raw.split_at_checked(self.n_bare).unwrap_or_default();
        facts.type_names().iter().any(|it| bare.iter().any(|name| name == it))
            || qualified.iter().any(|name| facts.exception_types().any(|it| it == name))
    }
}

/// Whether an exception type that a runtime printed is this name: equal, or equal in its last segment if the name has
/// no package.
pub(crate) fn is_name(printed: &str, name: &str) -> bool {
    printed == name || (!name.contains(names::SEPARATORS) && names::last_segment(printed) == name)
}
