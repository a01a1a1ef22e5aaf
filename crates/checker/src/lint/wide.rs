//! Rules that match too much: a word that everything prints, a wide range of statuses, an expression without bounds.
//!
//! A rule that says UNCLEAR claims nothing, so that it may be as wide as it likes.

use health_model::Classification;

use crate::rule::{Condition, Rule, text_ends};

use super::{Check, Remark};

/// As many statuses tell nothing.
const MANY_STATUSES: i64 = 20;

/// Letters of a word that is too short to stand alone.
const SHORT: usize = 3;

/// What failures of every kind print, in lower case.
const COMMON: &[&str] = &[
    "a problem occurred",
    "access",
    "access denied",
    "account",
    "aborted",
    "an error occurred",
    "api",
    "application error",
    "bad request",
    "blocked",
    "call",
    "cannot",
    "client",
    "client error",
    "closed",
    "code",
    "command",
    "connect",
    "connection",
    "connection error",
    "connection failed",
    "could not",
    "data",
    "database",
    "denied",
    "disconnected",
    "does not exist",
    "empty",
    "error",
    "error code",
    "error message",
    "error occurred",
    "errors",
    "exception",
    "exceeded",
    "expired",
    "fail",
    "failed",
    "failed to",
    "failure",
    "fatal",
    "file",
    "forbidden",
    "host",
    "http",
    "http error",
    "https",
    "internal",
    "internal error",
    "internal server error",
    "invalid",
    "invalid request",
    "issue",
    "limit",
    "message",
    "missing",
    "network",
    "network error",
    "no such",
    "not allowed",
    "not available",
    "not found",
    "not permitted",
    "object",
    "operation failed",
    "permission",
    "please try again",
    "please try again later",
    "problem",
    "process",
    "quota",
    "refused",
    "rejected",
    "request",
    "request error",
    "request failed",
    "required",
    "response",
    "result",
    "retry",
    "server",
    "server error",
    "service",
    "service error",
    "session",
    "something went wrong",
    "status",
    "stopped",
    "temporarily",
    "terminated",
    "time out",
    "timed out",
    "timeout",
    "token",
    "tool",
    "try again",
    "try again later",
    "unable to",
    "unauthorised",
    "unauthorized",
    "unavailable",
    "unexpected",
    "unexpected error",
    "unknown",
    "unknown error",
    "unsupported",
    "user",
    "value",
    "warning",
];

/// Refusals that say by themselves what class USER_PERMISSION says. Of any other class they are common words.
const REFUSALS: &[&str] = &["access denied", "not permitted"];

/// What is too wide in a rule.
pub(super) fn check(rule: &Rule, add: &mut impl FnMut(Remark)) {
    let mut path = vec!["match".to_owned()];
    regexes(&rule.conditions, &mut path, add);
    if rule.classification != Classification::Unclear {
        conjunction(rule, &[], &rule.conditions, &mut path, add);
    }
}

/// Whether a text says too little to stand alone in this rule.
fn is_too_common(rule: &Rule, text: &str) -> bool {
    let is_refusal = || REFUSALS.contains(&text.trim().to_ascii_lowercase().as_str());
    is_common(text) && !(rule.classification == Classification::UserPermission && is_refusal())
}

/// Whether a text says too little to stand alone.
pub(super) fn is_common(text: &str) -> bool {
    let bare = text.trim().to_ascii_lowercase();
    let is_word = bare.bytes().all(|it| it.is_ascii_lowercase());
    COMMON.contains(&bare.as_str()) || (is_word && bare.len() <= SHORT)
}

/// Conditions that hold together. Each branch of an `any` is looked at with what stands around it.
fn conjunction(
    rule: &Rule,
    context: &[&Condition],
    conditions: &[Condition],
    path: &mut Vec<String>,
    add: &mut impl FnMut(Remark),
) {
    let all: Vec<&Condition> = context.iter().copied().chain(conditions).collect();
    for (index, branch, any) in branches(conditions) {
        let outside: Vec<&Condition> = all.iter().copied().filter(|it| !std::ptr::eq(*it, any)).collect();
        path.push(format!("any[{index}]"));
        conjunction(rule, &outside, branch, path, add);
        path.pop();
    }
    for condition in conditions {
        let others = || all.iter().copied().filter(|it| !std::ptr::eq(*it, condition));
        let field = format!("{}.{}", path.join("."), condition.field());
        match condition {
            Condition::Contains(needles) if !others().any(narrows) => {
                let is_wide = |it: &&String| is_too_common(rule, text_ends(it, needles.case()).0);
                for text in needles.texts().iter().filter(is_wide) {
                    add(Remark::warning(Check::CommonWord, &field, text)
                        .say("is printed by failures of every kind")
                        .remedy("write the whole phrase, or add a code, a status or a provider"));
                }
            }
            Condition::Regex(patterns) if !others().any(narrows) => {
                let plain = |it: &str| it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b' ');
                let is_wide = |it: &&str| plain(it) && is_too_common(rule, it);
                for it in patterns.iter().map(crate::rule::Pattern::as_str).filter(is_wide) {
                    add(Remark::warning(Check::CommonWord, &field, it)
                        .say("is printed by failures of every kind")
                        .remedy("write the whole phrase, or add a code, a status or a provider"));
                }
            }
            Condition::HttpStatus(_) | Condition::HttpStatusRange(..) | Condition::Status(_)
                if n_statuses(condition) >= MANY_STATUSES && !others().any(narrows) =>
            {
                let any = branches(conditions).next().is_some();
                if !any {
                    add(Remark::warning(Check::WideStatus, &field, &condition.wanted())
                        .say("alone says little: its statuses mean many things")
                        .remedy(
                            "name the statuses that are meant, add a code or words, or classify UNCLEAR",
                        ));
                }
            }
            Condition::Provider(_) if others().all(is_weak) => {
                add(Remark::warning(Check::ProviderAlone, &field, &condition.wanted())
                    .say("alone takes every failure of the service")
                    .remedy("add what this failure is known by: a code, a status or words"));
            }
            _ => {}
        }
    }
}

/// Every branch of every `any`, with its number and the condition it belongs to.
fn branches(conditions: &[Condition]) -> impl Iterator<Item = (usize, &[Condition], &Condition)> {
    conditions.iter().flat_map(|any| {
        let branches = match any {
            Condition::Any(branches) => branches.as_slice(),
            _ => &[],
        };
        branches.iter().enumerate().map(move |(index, it)| (index, it.as_slice(), any))
    })
}

/// Whether a condition says what failure is meant, so that a word beside it may be a common one.
fn narrows(condition: &Condition) -> bool {
    match condition {
        Condition::Any(branches) => branches.iter().all(|it| it.iter().any(narrows)),
        Condition::Contains(needles) => {
            !needles.texts().iter().any(|it| is_common(text_ends(it, needles.case()).0))
        }
        Condition::HttpStatus(_) | Condition::HttpStatusRange(..) | Condition::Status(_) => {
            n_statuses(condition) < MANY_STATUSES
        }
        other => !is_weak(other),
    }
}

/// Conditions on the circumstances: they hold for very many failures.
const fn is_weak(condition: &Condition) -> bool {
    matches!(
        condition,
        Condition::Target(_)
            | Condition::ToolKind(_)
            | Condition::Phase(_)
            | Condition::IsError(_)
            | Condition::DispatchCode(_)
            | Condition::SchemaViolation(_)
            | Condition::NotFoundOf(_)
            | Condition::BodyShape(_)
            | Condition::Method(_)
            | Condition::Not(_)
    )
}

fn n_statuses(condition: &Condition) -> i64 {
    let count = |from: i64, to: i64| to.saturating_sub(from).saturating_add(1);
    match condition {
        Condition::HttpStatus(numbers) | Condition::Status(numbers) => {
            numbers.ranges().iter().map(|(from, to)| count(*from, *to)).fold(0, i64::saturating_add)
        }
        Condition::HttpStatusRange(from, to) => count(i64::from(*from), i64::from(*to)),
        _ => 0,
    }
}

/// Expressions that reach over any distance.
fn regexes(conditions: &[Condition], path: &mut Vec<String>, add: &mut impl FnMut(Remark)) {
    for condition in conditions {
        match condition {
            Condition::Regex(patterns) => {
                let field = format!("{}.regex", path.join("."));
                for it in patterns.iter().map(crate::rule::Pattern::as_str) {
                    let Some(part) = unbounded(it) else { continue };
                    add(Remark::warning(Check::WideRegex, &field, it)
                        .say(format!("holds `{part}`, which reaches over any distance"))
                        .remedy("bound it, as in .{0,80}; at either end leave it out"));
                }
            }
            Condition::Any(inner) => {
                for (index, branch) in inner.iter().enumerate() {
                    path.push(format!("any[{index}]"));
                    regexes(branch, path, add);
                    path.pop();
                }
            }
            Condition::Not(inner) => {
                path.push("not".to_owned());
                regexes(inner, path, add);
                path.pop();
            }
            _ => {}
        }
    }
}

/// The first `.*` or `.+` outside of a class.
fn unbounded(pattern: &str) -> Option<&'static str> {
    let mut is_class = false;
    let mut bytes = pattern.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'[' => is_class = true,
            b']' => is_class = false,
            b'.' if !is_class => match bytes.peek() {
                Some(b'*') => return Some(".*"),
                Some(b'+') => return Some(".+"),
                _ => {}
            },
            _ => {}
        }
    }
    None
}
