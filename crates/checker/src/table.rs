//! The rule table: layers merged into one order and compiled; classification of one failure (R103, R106, R121…R124).
//!
//! Owns the order of the rules and the reports about it. The first rule that matches decides (R106, C13); there always is
//! one, since the fallback stands last.

mod merge;
mod shadow;

use std::sync::Arc;

use health_model::verdict::Evidence;
use health_model::{Failure, FailureKind, Tool};

use crate::bundled;
use crate::diagnostic::Diagnostic;
use crate::facts::{Facts, Literals};
use crate::parse::ParsedLayer;
use crate::rule::{Condition, LayerKind, Rule};

/// How a table is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Exception names stand for themselves alone, and nothing is derived from names or text: the specification's letter.
    pub literal: bool,
    /// Layers of kind [`LayerKind::Pack`] count.
    pub packs: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { literal: false, packs: true }
    }
}

/// One rule of a table and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The rule.
    pub rule: Rule,
    /// Its layer.
    pub layer: LayerKind,
    /// The layer's name for people.
    pub source: Arc<str>,
}

/// The effective rules of one (tenant, project), compiled. Cheap to share, never changed.
#[derive(Debug, Clone)]
pub struct RuleTable {
    entries: Vec<Entry>,
    literals: Literals,
    options: Options,
    diagnostics: Vec<Diagnostic>,
}

/// What the rules say about one failure.
#[derive(Debug, Clone)]
pub struct Classified<'t> {
    /// The rule that decides.
    pub entry: &'t Entry,
    /// The conditions that held, a field each.
    pub evidence: Vec<Evidence>,
    /// Nothing but a rule that matches everything did.
    pub is_fallback: bool,
}

impl Classified<'_> {
    /// The rule that decides.
    #[must_use]
    pub const fn rule(&self) -> &Rule {
        &self.entry.rule
    }
}

impl RuleTable {
    /// Merges the layers over the bundled rules, in the order pack, tenant, project (R122, R123), and compiles them.
    ///
    /// Rules replace those of the same id in place, whole (R107). Other rules of packs stand before the bundled ones,
    /// those of tenants and projects right before the fallback (R124), unless they say `before:` (C14). Rules that are
    /// never reached are named in [`RuleTable::diagnostics`].
    #[must_use]
    pub fn build<'a>(layers: impl IntoIterator<Item = &'a ParsedLayer>, options: Options) -> Self {
        let mut layers: Vec<&ParsedLayer> =
            layers.into_iter().filter(|it| options.packs || it.kind != LayerKind::Pack).collect();
        layers.sort_by_key(|it| it.kind);
        let mut diagnostics = Vec::new();
        let mut entries = merge::base(bundled::layer());
        for layer in layers {
            merge::layer(&mut entries, layer, &mut diagnostics);
        }
        shadow::report(&entries, options.literal, &mut diagnostics);
        let needles = entries.iter_mut().flat_map(|it| &mut it.rule.conditions).filter_map(|it| match it {
            Condition::BodyContains(needles) => Some(needles),
            _ => None,
        });
        let literals = Literals::build(needles);
        Self { entries, literals, options, diagnostics }
    }

    /// The bundled rules alone.
    #[must_use]
    pub fn bundled(options: Options) -> Self {
        Self::build([], options)
    }

    /// The effective rules, in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How it was built.
    #[must_use]
    pub const fn options(&self) -> Options {
        self.options
    }

    /// What merging found: rules that are never reached, and places that do not exist. The findings of parsing are in
    /// the layers.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// How many different texts the rules look for.
    #[must_use]
    pub const fn n_literals(&self) -> usize {
        self.literals.n_literals()
    }

    /// The facts of a failure, as this table reads them.
    #[must_use]
    pub const fn facts<'a>(&'a self, tool: &'a Tool, failure: &'a Failure) -> Facts<'a> {
        Facts::new(tool, failure, self.options.literal).with_literals(&self.literals)
    }

    /// The canonical kind of a failure, as this table reads it.
    #[must_use]
    pub fn kind(&self, tool: &Tool, failure: &Failure) -> Option<FailureKind> {
        self.facts(tool, failure).kind()
    }

    /// The rule that decides, and why.
    #[must_use]
    pub fn classify(&self, tool: &Tool, failure: &Failure) -> Classified<'_> {
        self.classify_facts(&self.facts(tool, failure))
    }

    /// As [`RuleTable::classify`], on facts that [`RuleTable::facts`] gave.
    #[must_use]
    pub fn classify_facts(&self, facts: &Facts<'_>) -> Classified<'_> {
        let entry = self.first_match(facts);
        Classified {
            entry,
            evidence: entry.rule.conditions.iter().map(|it| it.evidence(facts)).collect(),
            is_fallback: entry.rule.matches_everything(),
        }
    }

    fn first_match(&self, facts: &Facts<'_>) -> &Entry {
        static LAST_RESORT: std::sync::LazyLock<Entry> = std::sync::LazyLock::new(|| Entry {
            rule: Rule::last_resort(),
            layer: LayerKind::Bundled,
            source: Arc::from("bundled.yaml"),
        });
        let matches = |it: &&Entry| it.rule.conditions.iter().all(|condition| condition.holds(facts));
        self.entries.iter().find(matches).unwrap_or(&LAST_RESORT)
    }
}
