//! Reads one rule: every field checked, what contradicts itself reported.

use chrono::TimeDelta;
use health_model::{Classification, HealthAction};

use crate::diagnostic::Severity;
use crate::limits;
use crate::rule::{CooldownSpec, FALLBACK_ID, Position, RETRY_UNITS, RetrySpec, Rule, RuleScope};

use super::duration::parse_duration;
use super::expressions::Expressions;
use super::fields::{self, Fields};
use super::locate::Report;
use super::matcher;
use super::node::{Node, Step};

/// The fields of a rule: the specification's (R107…R120), then ours.
const FIELDS: &[&str] = &[
    "id",
    "match",
    "signature",
    "classification",
    "cooldown",
    "healthAction",
    "locked",
    "note",
    "before",
    "scope",
    "fault",
    "remedy",
    "retry",
    "healthSignal",
];

/// The rule, or `None` if anything is wrong with it, which is then reported.
pub(super) fn read(
    item: &Node,
    path: &[Step],
    index: usize,
    expressions: &Expressions,
    report: &mut Report<'_>,
) -> Option<Rule> {
    let name = format!("patterns[{index}]");
    let Node::Map(entries) = item else {
        let message = format!("expected a rule, found {}; it is skipped", item.describe());
        report.at(Severity::Error, path, &name, None, message);
        return None;
    };
    let id =
        entries.iter().find(|(key, _)| key.as_text() == Some("id")).and_then(|(_, value)| value.as_text());
    let id = id.map(|it| limits::head(it, limits::MAX_ID_BYTES).to_owned());
    let mut fields = Fields::new(entries, path, name, id, report);
    fields.check_names(FIELDS);
    let id = fields.require("id", fields::name(limits::MAX_ID_BYTES));
    let conditions = read_match(&mut fields, id.as_deref(), expressions);
    let signature = fields.require("signature", fields::name(limits::MAX_SIGNATURE_BYTES));
    let classification = fields.require("classification", fields::word::<Classification>);
    let cooldown = fields.read("cooldown", cooldown);
    let health_action = fields.read("healthAction", fields::word::<HealthAction>);
    let locked = fields.read("locked", fields::truth);
    let note = fields.read("note", fields::text(limits::MAX_NOTE_BYTES));
    let position = read_before(&mut fields, id.as_deref());
    let scope = fields.read("scope", scope);
    let fault = fields.read("fault", fields::word);
    let remedy = fields.read("remedy", fields::word);
    let retry = fields.read("retry", retry);
    let is_health_signal = fields.read("healthSignal", fields::truth);
    if let (Some(class), Some(action)) = (classification, health_action) {
        warn_of_contradiction(&mut fields, class, action);
    }
    if fields.has_failed() {
        return None;
    }
    Some(Rule {
        id: id?,
        conditions: conditions?,
        signature: signature?,
        classification: classification?,
        cooldown: cooldown.unwrap_or_default(),
        health_action,
        locked: locked.unwrap_or(false),
        note: note.unwrap_or_default(),
        position,
        scope,
        fault,
        remedy,
        retry: retry.unwrap_or_default(),
        is_health_signal: is_health_signal.unwrap_or(true),
        line: 0,
    })
}

fn read_match(
    fields: &mut Fields<'_, '_, '_>,
    id: Option<&str>,
    expressions: &Expressions,
) -> Option<Vec<crate::rule::Condition>> {
    let entries = fields.require("match", |node| match node {
        Node::Map(entries) => Ok(entries.as_slice()),
        other => Err(format!(
            "expected a mapping of conditions, found {}; a rule that matches everything says so: {{}}",
            other.describe()
        )),
    })?;
    let (at, _) = fields.entry("match")?;
    let mut inner = fields.inner(at, "match", entries);
    let conditions = matcher::read(&mut inner, expressions);
    if conditions.is_none() {
        fields.mark_failed();
    }
    let conditions = conditions?;
    match (id == Some(FALLBACK_ID), conditions.is_empty()) {
        (true, false) => {
            let message =
                "the fallback matches everything; give this rule another id, or write match: {}".to_owned();
            fields.fail("match", message);
        }
        (false, true) => {
            let message =
                "matches everything, so that no rule behind it is ever reached; is that meant?".to_owned();
            fields.warn("match", message);
        }
        _ => {}
    }
    Some(conditions)
}

fn read_before(fields: &mut Fields<'_, '_, '_>, id: Option<&str>) -> Option<Position> {
    let before = fields.read("before", fields::name(limits::MAX_ID_BYTES))?;
    if id == Some(FALLBACK_ID) {
        fields.fail("before", "the fallback stands last; remove the field".to_owned());
    } else if id == Some(before.as_str()) {
        fields.fail(
            "before",
            format!("the rule cannot stand before itself, `{before}`; name another rule, or first"),
        );
    }
    Some(if before == "first" { Position::First } else { Position::Before(before) })
}

/// The caller's own input or right never changes a status, whatever a rule says (R3, R138).
fn warn_of_contradiction(fields: &mut Fields<'_, '_, '_>, class: Classification, action: HealthAction) {
    if !matches!(action, HealthAction::MarkUnavailable | HealthAction::MarkDegraded) {
        return;
    }
    if class.is_never_health() {
        let message = format!(
            "`{action}` is ignored: a failure of class {class} never changes a status; remove the field"
        );
        fields.warn("healthAction", message);
    } else if class == Classification::Working {
        let message =
            format!("`{action}` is ignored: class {class} makes a tool available; remove the field");
        fields.warn("healthAction", message);
    }
}

fn cooldown(node: &Node) -> Result<CooldownSpec, String> {
    const REMEDY: &str = "write an ISO-8601 duration like PT5M, or header:retry-after";
    let text = match node {
        Node::Text(text) => text,
        other => return Err(format!("expected a duration, found {}; {REMEDY}", other.describe())),
    };
    if let Some(header) = text.strip_prefix("header:") {
        let is_token = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it);
        if header.is_empty() || header.len() > limits::MAX_ID_BYTES || !header.bytes().all(is_token) {
            let header = limits::head(header, 80);
            return Err(format!("`{header}` is no name of a header; write one like header:retry-after"));
        }
        return Ok(CooldownSpec::Header(header.to_ascii_lowercase()));
    }
    let shown = limits::head(text, 80);
    match parse_duration(text) {
        None => Err(format!("`{shown}` is no duration of a fixed length; {REMEDY}")),
        Some(it) if it <= TimeDelta::zero() => {
            Err(format!("`{shown}` is no time at all; leave the field out for the default of the class"))
        }
        Some(it) if it > TimeDelta::days(limits::MAX_COOLDOWN_DAYS) => {
            Err(format!("`{shown}` is longer than P{}D; shorten it", limits::MAX_COOLDOWN_DAYS))
        }
        Some(it) => Ok(CooldownSpec::Base(it)),
    }
}

fn scope(node: &Node) -> Result<RuleScope, String> {
    let text = fields::text(limits::MAX_NEEDLE_BYTES)(node)?;
    RuleScope::ALL.iter().find(|(word, _)| *word == text).map(|(_, scope)| *scope).ok_or_else(|| {
        let words: Vec<&str> = RuleScope::ALL.iter().map(|(word, _)| *word).collect();
        format!("unknown scope `{}`; write one of {}", limits::head(&text, 80), words.join(", "))
    })
}

/// `common`, `none`, `header:NAME`, `json:/POINTER UNIT` or `within:DURATION`.
fn retry(node: &Node) -> Result<RetrySpec, String> {
    const REMEDY: &str = "write common, none, header:NAME, json:/POINTER UNIT, or within:PT1M";
    let text = match node {
        Node::Text(text) => text.as_str(),
        other => return Err(format!("expected a place, found {}; {REMEDY}", other.describe())),
    };
    let wrong = || format!("`{}` is no place of a retry time; {REMEDY}", limits::head(text, 80));
    if let Some(name) = text.strip_prefix("header:") {
        let is_name =
            !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it));
        return if is_name { Ok(RetrySpec::Header(name.to_ascii_lowercase())) } else { Err(wrong()) };
    }
    if let Some(place) = text.strip_prefix("json:") {
        let (pointer, unit) = place.split_once(' ').unwrap_or((place, "seconds"));
        let unit = RETRY_UNITS.iter().find(|(word, _)| *word == unit.trim()).map(|(_, unit)| *unit);
        return match unit.filter(|_| pointer.starts_with('/')) {
            Some(unit) => Ok(RetrySpec::Json(pointer.to_owned(), unit)),
            None => Err(wrong()),
        };
    }
    if let Some(length) = text.strip_prefix("within:") {
        return parse_duration(length)
            .filter(|it| *it > TimeDelta::zero())
            .map(RetrySpec::Within)
            .ok_or_else(wrong);
    }
    match text {
        "common" => Ok(RetrySpec::Common),
        "none" => Ok(RetrySpec::Nowhere),
        _ => Err(wrong()),
    }
}
