//! Merging layers: replace by id in place, insert the rest, move what says `before:`.

use std::sync::Arc;

use crate::bundled;
use crate::diagnostic::{Diagnostic, Severity};
use crate::limits;
use crate::parse::ParsedLayer;
use crate::rule::{FALLBACK_ID, LayerKind, Position, Rule};

use super::Entry;

/// The bundled rules. Makes sure of a fallback.
pub(super) fn base(layer: &ParsedLayer) -> Vec<Entry> {
    let source: Arc<str> = Arc::from(layer.source.as_str());
    let entry = |rule: Rule| Entry { rule, layer: layer.kind, source: Arc::clone(&source) };
    let mut entries: Vec<Entry> = layer.rules.iter().cloned().map(entry).collect();
    if entries.last().is_none_or(|it| it.rule.id != FALLBACK_ID) {
        entries.retain(|it| it.rule.id != FALLBACK_ID);
        entries.push(entry(Rule::last_resort()));
    }
    entries
}

/// Merges one layer into the order.
pub(super) fn layer(entries: &mut Vec<Entry>, layer: &ParsedLayer, diagnostics: &mut Vec<Diagnostic>) {
    let source: Arc<str> = Arc::from(layer.source.as_str());
    let entry = |rule: &Rule| Entry { rule: rule.clone(), layer: layer.kind, source: Arc::clone(&source) };
    for rule in layer.rules.iter().filter(|it| it.position.is_none()) {
        match place_of(entries, &rule.id) {
            Some(at) => replace(entries, at, entry(rule)),
            None => {
                let at = default_place(entries, layer.kind);
                entries.insert(at, entry(rule));
            }
        }
    }
    let mut n_first = 0;
    let mut waiting: Vec<&Rule> = layer.rules.iter().filter(|it| it.position.is_some()).collect();
    while !waiting.is_empty() {
        let n_before = waiting.len();
        // A rule waits while the one that it is to stand before is itself still waiting.
        let names: Vec<&str> = waiting.iter().map(|it| it.id.as_str()).collect();
        let mut still_waiting = Vec::new();
        for rule in waiting {
            match &rule.position {
                Some(Position::First) => {
                    remove(entries, &rule.id);
                    entries.insert(n_first.min(entries.len().saturating_sub(1)), entry(rule));
                    n_first += 1;
                }
                Some(Position::Before(id))
                    if !names.contains(&id.as_str()) && place_of(entries, id).is_some() =>
                {
                    remove(entries, &rule.id);
                    let at = place_before(entries, id, layer.kind);
                    entries.insert(at, entry(rule));
                }
                _ => still_waiting.push(rule),
            }
        }
        waiting = still_waiting;
        if waiting.len() == n_before {
            break;
        }
    }
    for rule in waiting {
        diagnostics.push(no_such_place(rule, layer));
        match place_of(entries, &rule.id) {
            Some(at) => replace(entries, at, entry(rule)),
            None => {
                let at = default_place(entries, layer.kind);
                entries.insert(at, entry(rule));
            }
        }
    }
}

fn place_of(entries: &[Entry], id: &str) -> Option<usize> {
    entries.iter().position(|it| it.rule.id == id)
}

fn replace(entries: &mut [Entry], at: usize, entry: Entry) {
    if let Some(slot) = entries.get_mut(at) {
        *slot = entry;
    }
}

fn remove(entries: &mut Vec<Entry>, id: &str) {
    entries.retain(|it| it.rule.id != id);
}

/// Right before the rule; where a tenant or project names one of the twelve, ahead of the packs too, which stand between:
/// what it says of a 403 counts before what any pack does (DESIGN §6).
fn place_before(entries: &[Entry], id: &str, kind: LayerKind) -> usize {
    let at = place_of(entries, id).unwrap_or_else(|| default_place(entries, kind));
    let is_bundled = || id != FALLBACK_ID && bundled::layer().rules.iter().any(|it| it.id == id);
    match entries.iter().position(|it| it.layer == LayerKind::Pack) {
        Some(first_pack) if kind > LayerKind::Pack && first_pack < at && is_bundled() => first_pack,
        _ => at,
    }
}

/// Right before the fallback; for packs right before the first bundled rule.
fn default_place(entries: &[Entry], kind: LayerKind) -> usize {
    let last = entries.len().saturating_sub(1);
    match kind {
        LayerKind::Pack => {
            entries.iter().position(|it| it.layer == LayerKind::Bundled).unwrap_or(last).min(last)
        }
        _ => last,
    }
}

fn no_such_place(rule: &Rule, layer: &ParsedLayer) -> Diagnostic {
    let before = match &rule.position {
        Some(Position::Before(id)) => id.as_str(),
        _ => "first",
    };
    Diagnostic {
        severity: Severity::Warning,
        source: layer.source.clone(),
        line: rule.line,
        column: 0,
        field: "before".to_owned(),
        rule_id: Some(rule.id.clone()),
        message: format!(
            "there is no rule `{}` to stand before; the rule stands right before the fallback, name one that exists",
            limits::head(before, limits::MAX_ID_BYTES)
        ),
    }
}
