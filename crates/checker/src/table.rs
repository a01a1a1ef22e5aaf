//! The rule table: layers merged into one order and compiled; classification of one failure (R103, R106, R121…R124).
//!
//! Owns the order of the rules and the reports about it. The first rule that matches decides (R106, C13); there always is
//! one, since the fallback stands last.

mod follows;
mod index;
mod merge;
mod shadow;

use std::sync::Arc;

use health_model::verdict::Evidence;
use health_model::{Failure, FailureKind, Tool};

use crate::bundled;
use crate::diagnostic::Diagnostic;
use crate::facts::{Facts, Lexicon, Literal};
use crate::parse::ParsedLayer;
use crate::rule::{Condition, LayerKind, Rule};
use crate::unwrap::{Bits, CodeMap, Mask};

pub(crate) use follows::{AsWritten, covers, follows};
use index::Index;

/// How a table is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Exception names stand for themselves alone, and nothing is derived from names or text: the specification's letter.
    pub literal: bool,
    /// Layers of kind [`LayerKind::Pack`] count.
    pub packs: bool,
}

impl Options {
    /// The bundled twelve rules without packs, names and texts read by their meaning.
    pub const BUNDLED: Self = Self { literal: false, packs: false };
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
    lexicon: Lexicon,
    index: Index,
    options: Options,
    diagnostics: Vec<Diagnostic>,
    shadow: Option<Arc<RuleTable>>,
}

/// What the rules say about one failure.
#[derive(Debug, Clone, Copy)]
pub struct Classified<'t> {
    /// The rule that decides.
    pub entry: &'t Entry,
    /// Nothing but a rule that matches everything did.
    pub is_fallback: bool,
}

impl Classified<'_> {
    /// The rule that decides.
    #[must_use]
    pub const fn rule(&self) -> &Rule {
        &self.entry.rule
    }

    /// Why: the conditions that held, a field each.
    #[must_use]
    pub fn evidence(&self, facts: &Facts<'_>) -> Vec<Evidence> {
        self.entry.rule.conditions.iter().map(|it| it.evidence(facts)).collect()
    }
}

impl RuleTable {
    /// Merges the layers over the bundled rules, in the order pack, tenant, project (R122, R123), and compiles them.
    ///
    /// Rules replace those of the same id in place, whole (R107). Other rules of packs stand before the bundled ones,
    /// those of tenants and projects right before the fallback (R124), unless they say `before:` (C14). Rules that are
    /// never reached are named in [`RuleTable::diagnostics`].
    ///
    /// Layers marked as shadows have no part in it; they stand in [`RuleTable::shadow`].
    #[must_use]
    pub fn build<'a>(layers: impl IntoIterator<Item = &'a ParsedLayer>, options: Options) -> Self {
        let layers: Vec<&ParsedLayer> = layers.into_iter().collect();
        let mut table = Self::merged(layers.iter().filter(|it| !it.is_shadow).copied(), options);
        if layers.iter().any(|it| it.is_shadow) {
            table.shadow = Some(Arc::new(Self::merged(layers.iter().copied(), options)));
        }
        table
    }

    fn merged<'a>(layers: impl Iterator<Item = &'a ParsedLayer>, options: Options) -> Self {
        let shipped = if options.packs { crate::packs::layers() } else { &[] };
        let mut layers: Vec<&ParsedLayer> =
            shipped.iter().chain(layers.filter(|it| options.packs || it.kind != LayerKind::Pack)).collect();
        layers.sort_by_key(|it| it.kind);
        let mut diagnostics = Vec::new();
        let mut order = merge::Order::new(bundled::layer());
        for layer in &layers {
            order.merge(layer, &mut diagnostics);
        }
        let mut entries = order.finish();
        let lexicon = lexicon(&mut entries, &layers);
        shadow::report(&entries, &lexicon.literals, options.literal, &mut diagnostics);
        let index = Index::build(&entries, lexicon.codes.len(), lexicon.literals.len(), options.literal);
        Self { entries, lexicon, index, options, diagnostics, shadow: None }
    }

    /// The table that would be if the layers marked as shadows were not (`shadow: true`), if there are any.
    #[must_use]
    pub fn shadow(&self) -> Option<&Self> {
        self.shadow.as_deref()
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
        self.lexicon.literals.len()
    }

    /// The facts of a failure, as this table reads them.
    #[must_use]
    pub fn facts<'a>(&'a self, tool: &'a Tool, failure: &'a Failure) -> Facts<'a> {
        Facts::new(&self.lexicon, tool, failure, self.options.literal)
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
        Classified { entry, is_fallback: entry.rule.matches_everything() }
    }

    fn first_match(&self, facts: &Facts<'_>) -> &Entry {
        static LAST_RESORT: std::sync::LazyLock<Entry> = std::sync::LazyLock::new(|| Entry {
            rule: Rule::last_resort(),
            layer: LayerKind::Bundled,
            source: Arc::from("bundled.yaml"),
        });
        let candidates: Bits = self.index.candidates(facts);
        let entries = candidates.iter().filter_map(|it| self.entries.get(it as usize));
        let matches = |it: &&Entry| it.rule.conditions.iter().all(|condition| condition.holds(facts));
        entries.into_iter().find(matches).unwrap_or(&LAST_RESORT)
    }
}

/// Numbers the codes and texts of all rules, and compiles what looks for them.
fn lexicon(entries: &mut [Entry], layers: &[&ParsedLayer]) -> Lexicon {
    let mut lexicon = Lexicon::default();
    let mut codes = Vec::new();
    for entry in entries.iter() {
        for condition in &entry.rule.conditions {
            condition.visit(&mut |it| {
                if let Condition::Code(it) = it {
                    codes.extend(it.normalised().iter().cloned());
                }
            });
        }
    }
    for provider in layers.iter().flat_map(|it| &it.providers) {
        lexicon.providers.add(provider, &mut lexicon.literals);
    }
    lexicon.codes = CodeMap::build(codes);
    for entry in entries.iter_mut() {
        for condition in &mut entry.rule.conditions {
            condition.visit_mut(&mut |it| match it {
                Condition::Provider(it) => {
                    it.ids = it.names().iter().filter_map(|it| lexicon.providers.id(it)).collect();
                }
                Condition::Code(it) => {
                    it.ids = it.normalised().iter().filter_map(|it| lexicon.codes.id(it)).collect();
                    it.mask = Mask::of(&it.ids);
                }
                Condition::Contains(it) => {
                    let case = it.case();
                    let literals = it.texts().iter().map(|text| Literal::new(text, case));
                    it.ids = literals.map(|it| lexicon.literals.number(it)).collect();
                    it.mask = Mask::of(&it.ids);
                }
                Condition::Regex(patterns) => {
                    for it in patterns {
                        let literals =
                            it.literals().iter().map(|it| lexicon.literals.number(Literal::needed(it)));
                        it.ids = literals.collect();
                        it.mask = Mask::of(&it.ids);
                        let mut number = |set: &Vec<String>| {
                            let ids: Vec<u32> =
                                set.iter().map(|it| lexicon.literals.number(Literal::needed(it))).collect();
                            Mask::of(&ids)
                        };
                        it.other_masks = it.others().iter().map(&mut number).collect();
                    }
                }
                _ => {}
            });
        }
    }
    sort_by_rarity(entries, lexicon.literals.len());
    let n_literals = lexicon.literals.len();
    lexicon.providers.finish(n_literals);
    lexicon.literals.finish();
    lexicon
}

/// Of each rule's texts those come first that the fewest rules have: by them rules are told apart soonest.
fn sort_by_rarity(entries: &mut [Entry], n_literals: usize) {
    let mut counts = vec![0_u32; n_literals];
    for condition in entries.iter().flat_map(|it| &it.rule.conditions) {
        condition.visit(&mut |it| {
            let Condition::Contains(needles) = it else { return };
            for id in &needles.ids {
                if let Some(count) = counts.get_mut(*id as usize) {
                    *count += 1;
                }
            }
        });
    }
    for condition in entries.iter_mut().flat_map(|it| &mut it.rule.conditions) {
        condition.visit_mut(&mut |it| {
            if let Condition::Contains(needles) = it {
                needles.ids.sort_by_key(|id| counts.get(*id as usize).copied().unwrap_or_default());
            }
        });
    }
}
