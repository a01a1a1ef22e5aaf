//! Typed reading of the fields of one mapping: which fields there may be, what type each has, what to say if not.

use std::str::FromStr;

use health_model::vocabulary::UnknownWord;

use crate::diagnostic::Severity;
use crate::limits;

use super::locate::Report;
use super::node::{Node, Step};

/// The fields of one mapping of a rule. Reports what is wrong and remembers that something was.
pub(super) struct Fields<'n, 'r, 't> {
    entries: &'n [(Node, Node)],
    path: Vec<Step>,
    /// The path for people, such as `patterns[3].match`.
    name: String,
    rule_id: Option<String>,
    report: &'r mut Report<'t>,
    failed: bool,
    /// Fields that a misspelt one was told to be: nothing is said of their absence besides.
    suggested: Vec<String>,
}

impl<'n, 'r, 't> Fields<'n, 'r, 't> {
    pub(super) fn new(
        entries: &'n [(Node, Node)],
        path: &[Step],
        name: String,
        rule_id: Option<String>,
        report: &'r mut Report<'t>,
    ) -> Self {
        Self { entries, path: path.to_vec(), name, rule_id, report, failed: false, suggested: Vec::new() }
    }

    /// Whether an error was reported.
    pub(super) const fn has_failed(&self) -> bool {
        self.failed
    }

    /// Reports fields that are not in the list, and fields that are given twice.
    pub(super) fn check_names(&mut self, allowed: &[&str]) {
        for (at, (key, _)) in self.entries.iter().enumerate() {
            let Some(name) = key.as_text() else {
                self.fail_at(
                    Step::Key(at),
                    None,
                    format!("expected a field's name, found {}", key.describe()),
                );
                continue;
            };
            if !allowed.contains(&name) {
                let message = match nearest(name, allowed) {
                    Some(near) => {
                        self.suggested.push(near.to_owned());
                        format!("unknown field `{}`; is `{near}` meant?", limits::head(name, 80))
                    }
                    None => format!(
                        "unknown field `{}`; the fields are {}",
                        limits::head(name, 80),
                        allowed.join(", ")
                    ),
                };
                self.fail_at(Step::Key(at), None, message);
            } else if self.entries.iter().take(at).any(|(it, _)| it.as_text() == Some(name)) {
                self.fail_at(Step::Key(at), Some(name), "given twice; keep one of the two".to_owned());
            }
        }
    }

    /// The place and value of a field.
    pub(super) fn entry(&self, name: &str) -> Option<(usize, &'n Node)> {
        let at = self.entries.iter().position(|(key, _)| key.as_text() == Some(name))?;
        self.entries.get(at).map(|(_, value)| (at, value))
    }

    /// The steps to the value at `at`.
    pub(super) fn path_of(&self, at: usize) -> Vec<Step> {
        let mut path = self.path.clone();
        path.push(Step::Value(at));
        path
    }

    pub(super) fn name_of(&self, field: &str) -> String {
        format!("{}.{field}", self.name)
    }

    /// Reads a field with `read`; `None` if it is absent or wrong, which is then reported.
    pub(super) fn read<T>(
        &mut self,
        field: &str,
        read: impl FnOnce(&'n Node) -> Result<T, String>,
    ) -> Option<T> {
        let (at, value) = self.entry(field)?;
        match read(value) {
            Ok(it) => Some(it),
            Err(message) => {
                self.fail_at(Step::Value(at), Some(field), message);
                None
            }
        }
    }

    /// As [`Fields::read`], for a field that must be there.
    pub(super) fn require<T>(
        &mut self,
        field: &str,
        read: impl FnOnce(&'n Node) -> Result<T, String>,
    ) -> Option<T> {
        if self.entry(field).is_none() {
            let (path, name) = (self.path.clone(), self.name_of(field));
            self.failed = true;
            if self.suggested.iter().any(|it| it == field) {
                return None;
            }
            let message = "missing; every rule has it".to_owned();
            self.report.at(Severity::Error, &path, &name, self.rule_id.as_deref(), message);
            return None;
        }
        self.read(field, read)
    }

    /// As [`Fields::read`], for a list of which every item is read by `read`; wrong items are reported one by one.
    pub(super) fn read_list<T>(
        &mut self,
        field: &str,
        read: impl Fn(&'n Node) -> Result<T, String>,
    ) -> Option<Vec<T>> {
        let (at, value) = self.entry(field)?;
        let items = match value {
            Node::List(items) if items.is_empty() => {
                let message =
                    "the list is empty; leave the field out, or name what it is to match".to_owned();
                self.fail_at(Step::Value(at), Some(field), message);
                return None;
            }
            Node::List(items) if items.len() > limits::MAX_VALUES => {
                let message = format!(
                    "the list has {} values, at most {} are allowed; split the rule",
                    items.len(),
                    limits::MAX_VALUES
                );
                self.fail_at(Step::Value(at), Some(field), message);
                return None;
            }
            Node::List(items) => items,
            Node::Text(text) => {
                let text = limits::head(text, 80);
                let message = format!("expected a list, found the text `{text}`; write [\"{text}\"]");
                self.fail_at(Step::Value(at), Some(field), message);
                return None;
            }
            other => {
                self.fail_at(
                    Step::Value(at),
                    Some(field),
                    format!("expected a list, found {}", other.describe()),
                );
                return None;
            }
        };
        let mut read_items = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match read(item) {
                Ok(it) => read_items.push(it),
                Err(message) => {
                    let mut path = self.path_of(at);
                    path.push(Step::Item(index));
                    let name = self.name_of(&format!("{field}[{index}]"));
                    self.failed = true;
                    self.report.at(Severity::Error, &path, &name, self.rule_id.as_deref(), message);
                }
            }
        }
        (read_items.len() == items.len()).then_some(read_items)
    }

    /// Reports an error about a field that could be read.
    pub(super) fn fail(&mut self, field: &str, message: String) {
        match self.entry(field) {
            Some((at, _)) => self.fail_at(Step::Value(at), Some(field), message),
            None => self.failed = true,
        }
    }

    /// Reports a warning about a field.
    pub(super) fn warn(&mut self, field: &str, message: String) {
        if let Some((at, _)) = self.entry(field) {
            let (path, name) = (self.path_of(at), self.name_of(field));
            self.report.at(Severity::Warning, &path, &name, self.rule_id.as_deref(), message);
        }
    }

    fn fail_at(&mut self, step: Step, field: Option<&str>, message: String) {
        self.failed = true;
        let mut path = self.path.clone();
        path.push(step);
        let name = field.map_or_else(|| self.name.clone(), |it| self.name_of(it));
        self.report.at(Severity::Error, &path, &name, self.rule_id.as_deref(), message);
    }

    /// The fields of a mapping inside this one.
    pub(super) fn inner<'s>(
        &'s mut self,
        at: usize,
        name: &str,
        entries: &'n [(Node, Node)],
    ) -> Fields<'n, 's, 't> {
        let (path, name) = (self.path_of(at), self.name_of(name));
        Fields::new(entries, &path, name, self.rule_id.clone(), self.report)
    }

    /// As [`Fields::inner`], for a mapping some steps further inside.
    pub(super) fn inside<'s>(
        &'s mut self,
        steps: &[Step],
        name: &str,
        entries: &'n [(Node, Node)],
    ) -> Fields<'n, 's, 't> {
        let path = [self.path.as_slice(), steps].concat();
        Fields::new(entries, &path, self.name_of(name), self.rule_id.clone(), self.report)
    }

    /// Remembers that something inside was wrong.
    pub(super) const fn mark_failed(&mut self) {
        self.failed = true;
    }
}

/// A non-empty text of at most `limit` bytes.
pub(super) fn text(limit: usize) -> impl Fn(&Node) -> Result<String, String> {
    move |node| match node {
        Node::Text(it) if it.trim().is_empty() => Err("the text is empty; write what is meant".to_owned()),
        Node::Text(it) if it.len() > limit => {
            Err(format!("the text has {} bytes, at most {limit} are allowed; shorten it", it.len()))
        }
        Node::Text(it) => Ok(it.clone()),
        Node::Int(_) | Node::Float(_) | Node::Bool(_) => {
            Err(format!("expected a text, found {}; put it in quotes", node.describe()))
        }
        other => Err(format!("expected a text, found {}", other.describe())),
    }
}

/// A name made of letters, digits and `. _ - : /`, of at most `limit` bytes.
pub(super) fn name(limit: usize) -> impl Fn(&Node) -> Result<String, String> {
    move |node| {
        let it = text(limit)(node)?;
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '/');
        match it.chars().find(|c| !is_allowed(*c)) {
            None => Ok(it),
            Some(odd) => {
                Err(format!("`{it}` holds {odd:?}; a name is made of letters, digits and . _ - : /"))
            }
        }
    }
}

/// A truth value.
pub(super) fn truth(node: &Node) -> Result<bool, String> {
    match node {
        Node::Bool(it) => Ok(*it),
        other => Err(format!("expected true or false, found {}", other.describe())),
    }
}

/// A word of a closed set of the vocabulary.
pub(super) fn word<T: FromStr<Err = UnknownWord>>(node: &Node) -> Result<T, String> {
    let it = text(limits::MAX_NEEDLE_BYTES)(node)?;
    it.parse().map_err(|error: UnknownWord| {
        let expected: Vec<&str> = error.expected.split(", ").collect();
        match nearest(&it, &expected) {
            Some(near) => format!("unknown {} `{}`; is `{near}` meant?", error.set, limits::head(&it, 80)),
            None => {
                format!("unknown {} `{}`; write one of {}", error.set, limits::head(&it, 80), error.expected)
            }
        }
    })
}

/// The allowed word that is most like this one, if one is much like it.
pub(crate) fn nearest<'a>(word: &str, allowed: &[&'a str]) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    let squeeze = |it: &str| it.replace(['_', '-'], "").to_ascii_lowercase();
    let squeezed = squeeze(word);
    let near = allowed.iter().map(|it| (distance(&squeezed, &squeeze(it)), *it));
    near.filter(|(far, it)| *far <= 2 && *far * 3 < it.len()).min().map(|(_, it)| it)
}

/// Edit distance by insertions, deletions and replacements.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in (1..).zip(a.chars()) {
        let mut diagonal = std::mem::replace(&mut row, vec![i]).into_iter();
        let mut left_up = diagonal.next().unwrap_or(0);
        for (up, y) in diagonal.zip(&b) {
            let left = row.last().copied().unwrap_or(0);
            row.push((left_up + usize::from(x != *y)).min(up + 1).min(left + 1));
            left_up = up;
        }
    }
    row.last().copied().unwrap_or(0)
}
