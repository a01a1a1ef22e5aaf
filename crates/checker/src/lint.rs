//! What is wrong with rules that parse: those that can never match, are never reached, match too much or contradict
//! themselves (R105, R106, C14, DESIGN §6).
//!
//! Pure: texts in, findings out. A rule with a finding works as it is written; whether that is what was meant is what
//! the findings ask. Errors are what can be proved to be a mistake, warnings are what hardly anybody means.
//!
//! Owns the checks and the shape of a finding. The format's own mistakes are [`parse`](mod@crate::parse)'s, the order's are
//! [`table`](crate::table)'s: both are passed on here, so that one list holds all that is to be said of a file.

mod conflict;
mod evidence;
mod odd;
mod order;
mod place;
mod wide;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::diagnostic::{Diagnostic, Severity};
use crate::limits;
use crate::packs;
use crate::parse::{ParsedLayer, parse};
use crate::rule::{LayerKind, Rule};
use crate::table::{Options, RuleTable};

use place::Lines;

/// What was looked at. The spelling is part of the output that programs read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The text does not follow the format; the rule is skipped, or a field is ignored.
    Format,
    /// The rule to stand before does not exist.
    Place,
    /// Conditions contradict each other: no failure meets them all.
    NeverMatches,
    /// An earlier rule matches all that this one does (C14).
    NeverReached,
    /// No layer describes the provider.
    UnknownProvider,
    /// No failure has such a value.
    ImpossibleValue,
    /// The rule hangs on a word that failures of every kind print.
    CommonWord,
    /// The rule hangs on a wide range of statuses.
    WideStatus,
    /// The expression reaches over any distance.
    WideRegex,
    /// The rule takes every failure of a provider.
    ProviderAlone,
    /// A provider is recognised by a word that others print as well.
    CommonEvidence,
    /// Two fields of the rule contradict each other, or one of them does nothing.
    Contradiction,
    /// The first window is longer than the class's longest.
    LongCooldown,
    /// A rule of another pack has the id.
    IdTaken,
    /// A rule of a pack gives no reason.
    NoteMissing,
}

impl Check {
    /// Every check, in the order of the documentation.
    pub const ALL: &'static [Self] = &[
        Self::Format,
        Self::Place,
        Self::NeverMatches,
        Self::NeverReached,
        Self::UnknownProvider,
        Self::ImpossibleValue,
        Self::CommonWord,
        Self::WideStatus,
        Self::WideRegex,
        Self::ProviderAlone,
        Self::CommonEvidence,
        Self::Contradiction,
        Self::LongCooldown,
        Self::IdTaken,
        Self::NoteMissing,
    ];

    /// The stable spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Place => "place",
            Self::NeverMatches => "never-matches",
            Self::NeverReached => "never-reached",
            Self::UnknownProvider => "unknown-provider",
            Self::ImpossibleValue => "impossible-value",
            Self::CommonWord => "common-word",
            Self::WideStatus => "wide-status",
            Self::WideRegex => "wide-regex",
            Self::ProviderAlone => "provider-alone",
            Self::CommonEvidence => "common-evidence",
            Self::Contradiction => "contradiction",
            Self::LongCooldown => "long-cooldown",
            Self::IdTaken => "id-taken",
            Self::NoteMissing => "note-missing",
        }
    }
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One finding about a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// An error is a mistake for sure; a warning is hardly meant.
    pub severity: Severity,
    /// What was looked at.
    pub check: Check,
    /// The file, as its owner knows it.
    pub file: String,
    /// The line, from 1; 0 = the file as a whole.
    pub line: u32,
    /// The rule, where its id could be read.
    pub rule_id: Option<String>,
    /// The field, as a path like `match.any[1].text`; empty for the file as a whole.
    pub field: String,
    /// The value that it is about; empty where the message says it.
    pub value: String,
    /// What is wrong. Lower case, no full stop.
    pub message: String,
    /// What to do. Lower case, no full stop.
    pub remedy: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}: ", self.severity.as_str())?;
        if let Some(id) = &self.rule_id {
            write!(f, "rule `{id}`: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        if !self.value.is_empty() {
            write!(f, "`{}` ", self.value)?;
        }
        f.write_str(&self.message)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        write!(f, " [{}]", self.check)
    }
}

/// A rule file to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source<'a> {
    /// Which layer it is to be.
    pub kind: LayerKind,
    /// Its name for people.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// The packs that ship, to be looked at.
#[must_use]
pub fn shipped() -> Vec<Source<'static>> {
    packs::SOURCES.iter().map(|(name, text)| Source { kind: LayerKind::Pack, name, text }).collect()
}

/// What is found in these files, each on the shipped rules that the options ask for, in the order of files and lines.
///
/// The second value says whether one of them could not be read as a layer at all.
#[must_use]
pub fn lint(sources: &[Source<'_>], options: Options) -> (Vec<Finding>, bool) {
    let mut layers: Vec<ParsedLayer> = sources.iter().map(|it| parse(it.kind, it.name, it.text)).collect();
    // What a shadow will be in force as is to be without fault too.
    layers.iter_mut().for_each(|it| it.is_shadow = false);
    let table = RuleTable::build(layers.iter().filter(|it| !is_shipped(it)), options);
    let known: BTreeSet<&str> = packs::layers()
        .iter()
        .filter(|_| options.packs)
        .chain(&layers)
        .flat_map(|it| it.providers.iter().map(|it| it.name.as_str()))
        .collect();
    let mut ids = pack_ids(sources);
    let mut findings = Vec::new();
    for (source, layer) in sources.iter().zip(&layers) {
        let lines = Lines::new(source.text, layer);
        let of_table = table.diagnostics().iter().filter(|it| it.source == source.name);
        let mut found: Vec<Finding> =
            layer.diagnostics.iter().map(of_format).chain(of_table.map(of_order)).collect();
        for provider in &layer.providers {
            evidence::check(provider, &mut |it| found.push(it.into_finding(source.name, None, &lines)));
        }
        let is_hidden = |rule: &Rule| {
            table.diagnostics().iter().any(|it| {
                it.source == source.name && it.field == "match" && it.rule_id.as_deref() == Some(&*rule.id)
            })
        };
        for rule in &layer.rules {
            let mut add = |it: Remark| found.push(it.into_finding(source.name, Some(rule), &lines));
            conflict::check(rule, options.literal, &mut add);
            conflict::check_providers(rule, &known, &mut add);
            wide::check(rule, &mut add);
            odd::check(rule, &mut add);
            if layer.kind > LayerKind::Pack && !is_hidden(rule) {
                order::check(rule, source.name, &table, options.literal, &mut add);
            }
            if layer.kind == LayerKind::Pack {
                odd::check_pack(rule, &mut add);
                let owner = ids.entry(rule.id.clone()).or_insert_with(|| base_name(source.name).to_owned());
                if owner != base_name(source.name) {
                    add(Remark::error(Check::IdTaken, "id", &rule.id)
                        .say(format!("is a rule of {owner} already"))
                        .remedy("begin the id with the family's name"));
                }
            }
        }
        found.sort_by_key(|it| (it.line, it.check));
        findings.extend(found);
    }
    (findings, layers.iter().any(|it| it.is_refused))
}

/// Whether a layer is a shipped pack as it ships, which every table holds already.
fn is_shipped(layer: &ParsedLayer) -> bool {
    packs::layers().contains(layer)
}

/// The ids of the shipped packs other than those looked at, with the pack of each.
fn pack_ids(sources: &[Source<'_>]) -> BTreeMap<String, String> {
    let looked_at: BTreeSet<&str> = sources.iter().map(|it| base_name(it.name)).collect();
    let others = packs::layers().iter().filter(|it| !looked_at.contains(it.source.as_str()));
    others.flat_map(|it| it.rules.iter().map(|rule| (rule.id.clone(), it.source.clone()))).collect()
}

fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A finding of the parser. What it says last is what to do.
fn of_format(found: &Diagnostic) -> Finding {
    of_diagnostic(found, Check::Format)
}

/// A finding of the merge: a place that is not there, or a rule that is never reached.
fn of_order(found: &Diagnostic) -> Finding {
    of_diagnostic(found, if found.field == "before" { Check::Place } else { Check::NeverReached })
}

fn of_diagnostic(found: &Diagnostic, check: Check) -> Finding {
    let (message, remedy) = found.message.rsplit_once("; ").unwrap_or((&found.message, ""));
    Finding {
        severity: found.severity,
        check,
        file: found.source.clone(),
        line: found.line,
        rule_id: found.rule_id.clone(),
        field: found.field.clone(),
        value: String::new(),
        message: message.to_owned(),
        remedy: remedy.to_owned(),
    }
}

/// A finding on its way: what a check knows of it.
struct Remark {
    severity: Severity,
    check: Check,
    field: String,
    value: String,
    message: String,
    remedy: String,
}

impl Remark {
    fn new(severity: Severity, check: Check, field: &str, value: &str) -> Self {
        let value = limits::head(value, limits::MAX_SHOWN_BYTES).to_owned();
        Self {
            severity,
            check,
            field: field.to_owned(),
            value,
            message: String::new(),
            remedy: String::new(),
        }
    }

    fn error(check: Check, field: &str, value: &str) -> Self {
        Self::new(Severity::Error, check, field, value)
    }

    fn warning(check: Check, field: &str, value: &str) -> Self {
        Self::new(Severity::Warning, check, field, value)
    }

    fn say(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    fn into_finding(self, file: &str, rule: Option<&Rule>, lines: &Lines<'_>) -> Finding {
        let line = match rule {
            Some(rule) => lines.in_rule(rule.line, &self.field, &self.value),
            None => lines.in_providers(&self.field, &self.value),
        };
        Finding {
            severity: self.severity,
            check: self.check,
            file: file.to_owned(),
            line,
            rule_id: rule.map(|it| it.id.clone()),
            field: self.field,
            value: self.value,
            message: self.message,
            remedy: self.remedy,
        }
    }
}
