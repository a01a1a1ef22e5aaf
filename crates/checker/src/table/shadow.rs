//! Rules that are never reached, because an earlier one matches everything that they do (C14).
//!
//! Conservative: a rule is named only where that can be proved from the conditions alone. What is compared is bounded: a
//! table is built while somebody waits for it, and whoever writes rules chooses how much there is to compare.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Severity};
use crate::facts::Literals;
use crate::limits;
use crate::rule::{Codes, Condition, LayerKind, Needles};

use super::Entry;
use super::follows::{Values, covers};

/// The most texts that are looked for in one other text.
const MAX_WITHIN: usize = 64;

/// Names the rules of packs, tenants and projects that are never reached, each with the first rule that hides it. What
/// ships and is hidden by a tenant is hidden on purpose. The rules have their numbers.
pub(super) fn report(
    entries: &[Entry],
    literals: &Literals,
    literal: bool,
    diagnostics: &mut Vec<Diagnostic>,
) {
    report_within(limits::MAX_COMPARISONS, entries, literals, literal, diagnostics);
}

/// As [`report`], with so many steps. Returns how many are left.
fn report_within(
    steps: usize,
    entries: &[Entry],
    literals: &Literals,
    literal: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> usize {
    let mut fields = Fields::default();
    let shapes: Vec<Shape> = entries.iter().map(|it| Shape::of(&it.rule.conditions, &mut fields)).collect();
    let mut numbers = Numbered { literals, within: BTreeMap::new(), left: steps };
    let mut n_named = 0;
    // By layer: those that were found and are not named, and those that were not compared.
    let mut unnamed: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (at, (entry, shape)) in entries.iter().zip(&shapes).enumerate() {
        if entry.layer == LayerKind::Bundled {
            continue;
        }
        let mut earlier = entries.iter().zip(&shapes).take(at).filter(|(_, wide)| wide.may_cover(shape));
        let hiding = earlier.find(|(wide, wide_shape)| {
            // Without steps left nothing is known: the search ends here.
            !numbers.spend(1 + wide_shape.n_nested.min(shape.n_nested))
                || covers(&wide.rule.conditions, &entry.rule.conditions, literal, &mut numbers)
                || numbers.left == 0
        });
        let hiding = hiding.map(|(wide, _)| wide);
        if hiding.is_some() && numbers.left == 0 {
            unnamed.entry(&entry.source).or_default().1 += 1;
            continue;
        }
        // Whoever stands in a higher layer overrules on purpose.
        let Some(hiding) =
            hiding.filter(|it| !(entry.layer == LayerKind::Pack && it.layer > LayerKind::Pack))
        else {
            continue;
        };
        if n_named >= limits::MAX_DIAGNOSTICS {
            unnamed.entry(&entry.source).or_default().0 += 1;
            continue;
        }
        n_named += 1;
        diagnostics.push(Diagnostic {
            severity: Severity::Warning,
            source: entry.source.to_string(),
            line: entry.rule.line,
            column: 0,
            field: "match".to_owned(),
            rule_id: Some(entry.rule.id.clone()),
            message: format!(
                "never reached: rule `{0}` of the {1} layer stands before it and matches all that it does; write before: {0}",
                hiding.rule.id, hiding.layer
            ),
        });
    }
    for (source, (n_further, n_skipped)) in unnamed {
        if n_further > 0 {
            let message =
                format!("{n_further} further rules are never reached; mend those that are named first");
            diagnostics.push(of_layer(source, message));
        }
        if n_skipped > 0 {
            let message = format!(
                "{n_skipped} rules are not compared with all those before them, which would take over {steps} steps, so that it is not known whether they are ever reached; shorten the lists of the rules"
            );
            diagnostics.push(of_layer(source, message));
        }
    }
    numbers.left
}

/// What is to be said of a layer as a whole.
fn of_layer(source: &str, message: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        source: source.to_owned(),
        line: 0,
        column: 0,
        field: "patterns".to_owned(),
        rule_id: None,
        message,
    }
}

/// Which fields a rule asks for: most pairs of rules are told apart by these.
#[derive(Default)]
struct Shape {
    /// One bit each.
    fields: u64,
    /// Of each field and each `any` the fields of which one must be asked for wherever the rule covers another.
    needs: Vec<u64>,
    /// Conditions in `any` and `not`, and their values: these are compared as a whole.
    n_nested: usize,
}

/// The bits of the fields that were seen; those that can imply each other share one.
#[derive(Default)]
struct Fields(Vec<&'static str>);

impl Fields {
    fn bit(&mut self, condition: &Condition) -> u64 {
        let name = match condition.field() {
            "httpStatusRange" => "httpStatus",
            "exceptionType" => "kind",
            "bodyContains" => "text",
            name => name,
        };
        let at = self.0.iter().position(|it| *it == name).unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        });
        1 << at.min(63)
    }
}

impl Shape {
    fn of(conditions: &[Condition], fields: &mut Fields) -> Self {
        let mut shape = Self::default();
        for condition in conditions {
            let mut needs = fields.bit(condition);
            shape.fields |= needs;
            if let Condition::Any(branches) = condition {
                for branch in branches {
                    if let [one] = branch.as_slice() {
                        needs |= fields.bit(one);
                    }
                }
            }
            shape.needs.push(needs);
            if matches!(condition, Condition::Any(_) | Condition::Not(_)) {
                condition.visit(&mut |it| shape.n_nested = shape.n_nested.saturating_add(1 + n_values(it)));
            }
        }
        shape.needs.sort_unstable();
        shape.needs.dedup();
        shape
    }

    fn may_cover(&self, narrow: &Self) -> bool {
        self.needs.iter().all(|it| it & narrow.fields != 0)
    }
}

/// How many values a condition has, roughly.
fn n_values(condition: &Condition) -> usize {
    match condition {
        Condition::Contains(it) => it.texts().len(),
        Condition::Regex(it) => it.len(),
        Condition::Code(it) => it.names().len(),
        Condition::ErrorCode(it) | Condition::GrpcStatus(it) | Condition::SqlState(it) => it.len(),
        Condition::ExceptionType(it) => it.names().len(),
        Condition::Provider(it) => it.names().len(),
        Condition::ToolName(it) | Condition::Method(it) => it.len(),
        Condition::Header(it) => it.iter().map(|it| 1 + it.values().map_or(0, <[_]>::len)).sum(),
        Condition::Json(it) => it.iter().map(|it| 1 + it.values().map_or(0, <[_]>::len)).sum(),
        _ => 0,
    }
}

/// Compares texts and codes by their numbers in the table.
struct Numbered<'t> {
    literals: &'t Literals,
    /// The texts that are within a text.
    within: BTreeMap<u32, Vec<u32>>,
    left: usize,
}

impl Values for Numbered<'_> {
    /// Once there is no room for so many steps more, there is none at all.
    fn spend(&mut self, n_values: usize) -> bool {
        self.left = self.left.saturating_sub(n_values);
        self.left > 0
    }

    fn needles(&mut self, wide: &Needles, narrow: &Needles) -> bool {
        // The rarest one comes first, so that most pairs are told apart by it.
        narrow.ids.iter().all(|id| {
            let literals = self.literals;
            let n_before = self.within.len();
            let within = self.within.entry(*id).or_insert_with(|| literals.within(*id, MAX_WITHIN));
            let is_in = within.iter().any(|it| wide.mask.contains(*it));
            // One that was not looked into before cost more.
            let steps = within.len() * if self.within.len() > n_before { 64 } else { 1 };
            self.spend(steps) && is_in
        })
    }

    fn codes(&mut self, wide: &Codes, narrow: &Codes) -> bool {
        narrow.ids.iter().all(|it| self.spend(1) && wide.mask.contains(*it))
    }
}

#[cfg(test)]
mod tests;
