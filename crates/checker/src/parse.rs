//! Rule YAML to validated rules (R103…R120, DESIGN §6): strict and located, and one bad rule is skipped alone.
//!
//! Strict: a field that is unknown, given twice, of the wrong type, out of its range or over its limit is an error at its
//! line and column, and its rule is skipped, so that a mistake in `match` never makes a rule match more. The rest of the
//! layer stays. Only a text that is no YAML, is too large or too deep, or has no list of rules is refused as a whole; the
//! caller then keeps the layer that it had.
//!
//! Owns the format. Knows nothing of other layers: merging, `before:` and shadowing are [`table`](crate::table)'s.

mod duration;
mod expressions;
mod fields;
mod locate;
mod matcher;
mod node;
mod prescan;
mod providers;
mod rules;

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Severity};
use crate::facts::Provider;
use crate::limits;
use crate::rule::{LayerKind, Rule};

use expressions::Expressions;
use locate::Report;
use node::{Node, Step};

pub use duration::parse_duration;
pub(crate) use fields::nearest;

/// One layer of rules, as parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedLayer {
    /// Which layer it is.
    pub kind: LayerKind,
    /// Its name for people: a file's path, or a name of the stored layer.
    pub source: String,
    /// The rules without mistakes, in order; ids are unique.
    pub rules: Vec<Rule>,
    /// The providers that it describes.
    pub providers: Vec<Provider>,
    /// Evaluated and counted, never acted upon.
    pub is_shadow: bool,
    /// What was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The text could not be read as a layer at all: `rules` is empty, and a layer that was good before should stay.
    pub is_refused: bool,
}

impl ParsedLayer {
    /// How many findings are errors.
    #[must_use]
    pub fn n_errors(&self) -> usize {
        self.diagnostics.iter().filter(|it| it.severity == Severity::Error).count()
    }

    /// The layer to try out, with a warning if it says `shadow: true`: as a shadow it would change nothing, and what it would
    /// change is the question.
    #[must_use]
    pub fn tried(mut self) -> Self {
        if std::mem::take(&mut self.is_shadow) {
            self.diagnostics.push(Diagnostic {
                severity: Severity::Warning,
                source: self.source.clone(),
                line: 0,
                column: 0,
                field: "shadow".to_owned(),
                rule_id: None,
                message: "`true` puts the layer in force for nobody; here it is judged as if it were `false`"
                    .to_owned(),
            });
        }
        self
    }
}

/// Parses the text of one layer. Never fails: what is wrong is in [`ParsedLayer::diagnostics`].
#[must_use]
pub fn parse(kind: LayerKind, source: &str, text: &str) -> ParsedLayer {
    let mut report = Report::new(source, text);
    let content = read_layer(text, &mut report);
    let is_refused = content.is_none();
    let content = content.unwrap_or_default();
    ParsedLayer {
        kind,
        source: source.to_owned(),
        is_refused,
        rules: content.rules,
        providers: content.providers,
        is_shadow: content.is_shadow,
        diagnostics: report.into_diagnostics(),
    }
}

/// What a layer holds.
#[derive(Default)]
struct Content {
    rules: Vec<Rule>,
    providers: Vec<Provider>,
    is_shadow: bool,
}

/// `None` = refused.
fn read_layer(text: &str, report: &mut Report<'_>) -> Option<Content> {
    if text.len() > limits::MAX_FILE_BYTES {
        let message = format!(
            "the layer has {} bytes, at most {} are read; split it or remove rules",
            text.len(),
            limits::MAX_FILE_BYTES
        );
        report.whole(Severity::Error, message);
        return None;
    }
    if let Some(line) = prescan::line_nested_over(text, limits::MAX_NESTING) {
        let message = format!("brackets are nested deeper than {} levels; flatten it", limits::MAX_NESTING);
        report.whole_at(Severity::Error, line, message);
        return None;
    }
    let root = match node::read(text) {
        Ok(root) => root,
        Err(error) => {
            report.whole_at_place(Severity::Error, error.line, error.column, error.message);
            return None;
        }
    };
    let entries = match &root {
        Node::Null => {
            report.whole(
                Severity::Warning,
                "the layer is empty; write `patterns: []` if that is meant".to_owned(),
            );
            return Some(Content::default());
        }
        Node::Map(entries) => entries,
        other => {
            let message = format!("expected a mapping with the field `patterns`, found {}", other.describe());
            report.at(Severity::Error, &[], "", None, message);
            return None;
        }
    };
    const FIELDS: [&str; 3] = ["patterns", "providers", "shadow"];
    let mut found: [Option<(usize, &Node)>; 3] = [None; 3];
    let mut is_misspelt = false;
    for (at, (key, value)) in entries.iter().enumerate() {
        let field = key.as_text().and_then(|it| FIELDS.iter().position(|field| *field == it));
        match field.and_then(|it| found.get_mut(it)) {
            Some(slot @ None) => *slot = Some((at, value)),
            Some(_) => {
                let field = key.as_text().unwrap_or_default();
                let message = match field {
                    "patterns" => "given twice; put all rules into one list",
                    _ => "given twice; keep one of the two",
                };
                report.at(Severity::Error, &[Step::Key(at)], field, None, message.to_owned());
            }
            None => {
                let near = key.as_text().and_then(|it| fields::nearest(it, &FIELDS));
                is_misspelt |= near == Some("patterns");
                let message = match near {
                    Some(near) => format!("unknown field {}; is `{near}` meant?", key.describe()),
                    None => format!(
                        "unknown field {}; the fields of a layer are {}",
                        key.describe(),
                        FIELDS.join(", ")
                    ),
                };
                report.at(Severity::Error, &[Step::Key(at)], "", None, message);
            }
        }
    }
    let [patterns, providers, shadow] = found;
    let Some((at, list)) = patterns else {
        if !is_misspelt {
            let message = "missing; write `patterns:` and a list of rules".to_owned();
            report.at(Severity::Error, &[], "patterns", None, message);
        }
        return None;
    };
    let items = match list {
        Node::List(items) => items.as_slice(),
        Node::Null => &[],
        other => {
            let message = format!("expected a list of rules, found {}", other.describe());
            report.at(Severity::Error, &[Step::Value(at)], "patterns", None, message);
            return None;
        }
    };
    let is_shadow = match shadow {
        None => false,
        Some((_, Node::Bool(flag))) => *flag,
        Some((at, other)) => {
            // Nothing acts of a layer of which it is not known whether it may.
            let message =
                format!("expected true or false, found {}; the layer counts as a shadow", other.describe());
            report.at(Severity::Error, &[Step::Value(at)], "shadow", None, message);
            true
        }
    };
    let providers = providers.map(|(at, it)| providers::read(it, at, report)).unwrap_or_default();
    Some(Content { rules: read_items(items, at, report), providers, is_shadow })
}

fn read_items(items: &[Node], patterns_at: usize, report: &mut Report<'_>) -> Vec<Rule> {
    let lines = locate::item_lines(report.text(), patterns_at, items.len());
    let mut rules: Vec<Rule> = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let expressions = Expressions::default();
    for (index, item) in items.iter().enumerate() {
        let path = [Step::Value(patterns_at), Step::Item(index)];
        let line = lines.get(index).copied().unwrap_or(0);
        report.at_rule_line(line);
        if index >= limits::MAX_RULES {
            let message = format!(
                "a layer has at most {} rules, this one {}; those from here on are skipped",
                limits::MAX_RULES,
                items.len()
            );
            report.at(Severity::Error, &path, &format!("patterns[{index}]"), None, message);
            break;
        }
        let Some(mut rule) = rules::read(item, &path, index, &expressions, report) else { continue };
        if let Some(first) = seen.get(&rule.id) {
            let message = format!(
                "the id stands at patterns[{first}] already; give this rule an id of its own, it is skipped"
            );
            report.at(Severity::Error, &path, &format!("patterns[{index}].id"), Some(&rule.id), message);
            continue;
        }
        seen.insert(rule.id.clone(), index);
        rule.line = line;
        rules.push(rule);
    }
    rules
}

#[cfg(test)]
mod tests;
