//! Collects findings and places them: line and column of a node, lines of rules.

use crate::diagnostic::{Diagnostic, Severity};
use crate::limits;

use super::node::{self, Step};

/// The findings of one layer. Past [`limits::MAX_DIAGNOSTICS`] they are only counted: each place costs a reading of
/// the whole text.
pub(super) struct Report<'a> {
    source: &'a str,
    text: &'a str,
    diagnostics: Vec<Diagnostic>,
    n_unlisted: usize,
    rule_line: u32,
}

impl<'a> Report<'a> {
    pub(super) const fn new(source: &'a str, text: &'a str) -> Self {
        Self { source, text, diagnostics: Vec::new(), n_unlisted: 0, rule_line: 0 }
    }

    pub(super) const fn text(&self) -> &'a str {
        self.text
    }

    /// The line of the rule that is being read: where a finding is placed whose own place cannot be found.
    pub(super) const fn at_rule_line(&mut self, line: u32) {
        self.rule_line = line;
    }

    /// A finding about a node.
    pub(super) fn at(
        &mut self,
        severity: Severity,
        path: &[Step],
        field: &str,
        rule_id: Option<&str>,
        message: String,
    ) {
        if self.diagnostics.len() >= limits::MAX_DIAGNOSTICS {
            self.n_unlisted += 1;
            return;
        }
        let (line, column) = node::locate(self.text, path).unwrap_or((self.rule_line, 0));
        self.diagnostics.push(Diagnostic {
            severity,
            source: self.source.to_owned(),
            line,
            column,
            field: field.to_owned(),
            rule_id: rule_id.map(one_line),
            message: one_line(&message),
        });
    }

    /// A finding about the layer as a whole.
    pub(super) fn whole(&mut self, severity: Severity, message: String) {
        self.whole_at_place(severity, 0, 0, message);
    }

    /// A finding about the layer as a whole that has a line.
    pub(super) fn whole_at(&mut self, severity: Severity, line: u32, message: String) {
        self.whole_at_place(severity, line, 0, message);
    }

    /// A finding about the layer as a whole that has a place.
    pub(super) fn whole_at_place(&mut self, severity: Severity, line: u32, column: u32, message: String) {
        self.diagnostics.push(Diagnostic {
            severity,
            source: self.source.to_owned(),
            line,
            column,
            field: String::new(),
            rule_id: None,
            message: one_line(&message),
        });
    }

    /// In the order of the text; what is about the layer as a whole comes last.
    pub(super) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|it| (it.line == 0, it.line, it.column));
        if self.n_unlisted > 0 {
            let message = format!("{} further findings are not listed; mend these first", self.n_unlisted);
            self.whole(Severity::Error, message);
        }
        self.diagnostics
    }
}

/// A message holds values as they were read; a finding is one line.
fn one_line(message: &str) -> String {
    message.replace(char::is_control, " ")
}

/// The lines of the rules, from 1; empty if they cannot be told.
///
/// Rules in block style are found by one pass over the lines: each begins with a dash at the indentation of the first.
/// Others are asked for one by one, if they are few.
pub(super) fn item_lines(text: &str, patterns_at: usize, n_items: usize) -> Vec<u32> {
    let lines = dash_lines(text);
    if lines.len() == n_items {
        return lines;
    }
    if n_items > limits::MAX_DIAGNOSTICS {
        return Vec::new();
    }
    let place = |index| node::locate(text, &[Step::Value(patterns_at), Step::Item(index)]);
    (0..n_items).map(|index| place(index).map_or(0, |(line, _)| line)).collect()
}

fn dash_lines(text: &str) -> Vec<u32> {
    let mut lines = Vec::new();
    let mut indent = None;
    let mut inside = false;
    for (number, line) in (1_u32..).zip(text.lines()) {
        let content = line.trim_start_matches(' ');
        let at = line.len() - content.len();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if !inside {
            inside = at == 0 && content.starts_with("patterns:");
            continue;
        }
        let is_dash = content == "-" || content.starts_with("- ") || content.starts_with("-\t");
        match indent {
            None if is_dash => {
                indent = Some(at);
                lines.push(number);
            }
            None => return Vec::new(),
            Some(of_items) if at == of_items && is_dash => lines.push(number),
            Some(of_items) if at < of_items || (at == of_items && at == 0) => break,
            Some(_) => {}
        }
    }
    lines
}
