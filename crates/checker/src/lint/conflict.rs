//! Rules that no failure meets: conditions that exclude each other, a `not` that takes back what the rule asks for, values
//! that do not occur.
//!
//! Conservative: a rule is named only where that can be proved from its conditions alone.

use std::collections::BTreeSet;

use health_model::{DispatchCode, FailureKind};

use crate::rule::{Condition, Numbers};
use crate::table::{AsWritten, follows};
use crate::unwrap;

use super::{Check, Remark};

/// What is wrong in a rule's conditions.
pub(super) fn check(rule: &crate::rule::Rule, literal: bool, add: &mut impl FnMut(Remark)) {
    let mut path = vec!["match".to_owned()];
    impossible_values(&[], &rule.conditions, literal, &mut path, add);
    if let Some(why) = dead(&[], &rule.conditions, literal, &mut path, add) {
        add(why.remark(Check::NeverMatches, "no failure meets the rule"));
    }
}

/// Names of providers that no layer describes.
pub(super) fn check_providers(
    rule: &crate::rule::Rule,
    known: &BTreeSet<&str>,
    add: &mut impl FnMut(Remark),
) {
    for condition in &rule.conditions {
        condition.visit(&mut |it| {
            let Condition::Provider(providers) = it else { return };
            for name in providers.names().iter().filter(|it| !known.contains(it.as_str())) {
                add(Remark::error(Check::UnknownProvider, "match.provider", name)
                    .say("is described by no layer, so that it is never seen")
                    .remedy(format!("describe it under providers{}", nearest(name, known))));
            }
        });
    }
}

/// The two known names with the longest common beginning, to be written instead.
fn nearest(name: &str, known: &BTreeSet<&str>) -> String {
    let common = |it: &str| it.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let mut all: Vec<&str> = known.iter().copied().filter(|it| common(it) > 0).collect();
    all.sort_by_key(|it| std::cmp::Reverse(common(it)));
    all.truncate(2);
    if all.is_empty() { String::new() } else { format!(", or write {}", all.join(" or ")) }
}

/// Values that no failure has.
fn impossible_values(
    context: &[&Condition],
    conditions: &[Condition],
    literal: bool,
    path: &mut Vec<String>,
    add: &mut impl FnMut(Remark),
) {
    let all: Vec<&Condition> = context.iter().copied().chain(conditions).collect();
    for condition in conditions {
        let field = format!("{}.{}", path.join("."), condition.field());
        let mut name = |value: &str, message: &str, remedy: &str| {
            add(Remark::error(Check::ImpossibleValue, &field, value).say(message).remedy(remedy));
        };
        match condition {
            Condition::Code(codes) => {
                for code in codes.names().iter().filter(|it| unwrap::normalise(it).is_none()) {
                    name(code, "is longer than any code that is read", "write it as `text`");
                }
            }
            Condition::CloseCode(codes) => {
                for (from, to) in codes.ranges().iter().filter(|(from, to)| *to < 1_000 || *from > 4_999) {
                    let value = Numbers::new(vec![(*from, *to)]).to_string();
                    name(&value, "is no close code of a WebSocket", "write one from 1000 to 4999");
                }
            }
            Condition::ExitCode(codes) => {
                let exits = i64::from(i32::MIN)..=i64::from(i32::MAX);
                for (from, to) in
                    codes.ranges().iter().filter(|(from, to)| !exits.contains(from) && !exits.contains(to))
                {
                    let value = Numbers::new(vec![(*from, *to)]).to_string();
                    name(&value, "is no exit code", "write 0 to 255, or a signal as its negative number");
                }
            }
            Condition::Kind(kinds) if kinds.contains(FailureKind::Cancelled) => {
                add_cancelled(&field, &all, literal, add);
            }
            Condition::Any(branches) => {
                for (index, branch) in branches.iter().enumerate() {
                    path.push(format!("any[{index}]"));
                    impossible_values(&all, branch, literal, path, add);
                    path.pop();
                }
            }
            _ => {}
        }
    }
}

/// A cancelled call is no health signal, so that it reaches the rules only where more is known: a status was reported, or
/// the dispatcher says that the backend is gone.
fn add_cancelled(field: &str, all: &[&Condition], literal: bool, add: &mut impl FnMut(Remark)) {
    let value = FailureKind::Cancelled.as_str();
    let is_gone = |codes: &[DispatchCode]| codes.contains(&DispatchCode::BackendUnreachable);
    let has_no_status = all.iter().any(|it| {
        matches!(it, Condition::Not(inner) if matches!(inner.as_slice(), [one]
            if statuses(one).is_some_and(|(_, it)| Numbers::new(vec![(100, 599)]).is_subset(&it))))
    });
    let is_other = |it: &&Condition| matches!(it, Condition::DispatchCode(codes) if !is_gone(codes));
    if literal || (has_no_status && all.iter().any(is_other)) {
        add(Remark::error(Check::ImpossibleValue, field, value)
            .say("never reaches the rules")
            .remedy("remove it: a cancelled call is no health signal"));
    } else if has_no_status || !all.iter().any(|it| asks_for_more(it)) {
        add(Remark::warning(Check::ImpossibleValue, field, value)
            .say("reaches the rules only beside a status that was reported, or where the backend is gone")
            .remedy("ask for httpStatus or dispatchCode: [BACKEND_UNREACHABLE] too, or remove it"));
    }
}

/// Whether a condition asks for what lets a cancelled call reach the rules.
fn asks_for_more(condition: &Condition) -> bool {
    match condition {
        Condition::DispatchCode(codes) => codes.contains(&DispatchCode::BackendUnreachable),
        Condition::Any(branches) => branches.iter().flatten().any(asks_for_more),
        other => statuses(other).is_some(),
    }
}

/// Why conditions cannot all hold.
struct Why {
    field: String,
    value: String,
    message: String,
    remedy: &'static str,
}

impl Why {
    fn remark(self, check: Check, what: &str) -> Remark {
        Remark::error(check, &self.field, &self.value)
            .say(format!("{}: {what}", self.message))
            .remedy(self.remedy)
    }
}

/// Whether the conditions exclude each other where those of the context hold. Branches of `any` that can never hold are
/// named, unless none can.
fn dead(
    context: &[&Condition],
    conditions: &[Condition],
    literal: bool,
    path: &mut Vec<String>,
    add: &mut impl FnMut(Remark),
) -> Option<Why> {
    let here = path.join(".");
    let all: Vec<&Condition> = context.iter().copied().chain(conditions).collect();
    for (at, one) in conditions.iter().enumerate() {
        let earlier = all.iter().take(context.len() + at);
        if let Some(other) = earlier.copied().find(|it| disjoint(it, one, literal)) {
            return Some(Why {
                field: format!("{here}.{}", one.field()),
                value: one.wanted(),
                message: format!("and {} `{}` exclude each other", other.field(), other.wanted()),
                remedy: "keep one of the two, or put them into branches of any",
            });
        }
    }
    for condition in conditions {
        if let Condition::Not(inner) = condition
            && inner.iter().all(|not| all.iter().any(|it| follows(not, it, literal, &mut AsWritten)))
        {
            return Some(Why {
                field: format!("{here}.not"),
                value: inner
                    .iter()
                    .map(|it| format!("{} {}", it.field(), it.wanted()))
                    .collect::<Vec<_>>()
                    .join(" and "),
                message: "takes back what the rule asks for".to_owned(),
                remedy: "narrow what stands in not, or remove it",
            });
        }
    }
    for condition in conditions {
        let Condition::Any(branches) = condition else { continue };
        let outside: Vec<&Condition> =
            all.iter().copied().filter(|it| !std::ptr::eq(*it, condition)).collect();
        let mut dead_ones = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            path.push(format!("any[{index}]"));
            dead_ones.extend(dead(&outside, branch, literal, path, add));
            path.pop();
        }
        if dead_ones.len() == branches.len() {
            return dead_ones.into_iter().next();
        }
        for why in dead_ones {
            add(why.remark(Check::NeverMatches, "no failure meets the branch"));
        }
    }
    None
}

/// Whether no failure meets both.
fn disjoint(a: &Condition, b: &Condition, literal: bool) -> bool {
    use Condition::{
        BodyShape, DispatchCode, ExceptionType, IsError, Kind, NotFoundOf, Phase, SchemaViolation, Target,
        ToolKind,
    };
    if let (Some((reported_a, a)), Some((reported_b, b))) = (statuses(a), statuses(b)) {
        return reported_a == reported_b && !overlap(&a, &b);
    }
    match (a, b) {
        (DispatchCode(a), DispatchCode(b)) => none_of(a, b),
        (ToolKind(a), ToolKind(b)) => none_of(a, b),
        (Phase(a), Phase(b)) => none_of(a, b),
        (BodyShape(a), BodyShape(b)) => none_of(a, b),
        (Target(a), Target(b)) => a != b,
        (IsError(a), IsError(b)) | (SchemaViolation(a), SchemaViolation(b)) => a != b,
        (NotFoundOf(a), NotFoundOf(b)) => a != b,
        (Kind(a), Kind(b)) => !a.iter().any(|it| b.contains(it)),
        (Kind(kinds), ExceptionType(types)) | (ExceptionType(types), Kind(kinds)) => {
            !literal && types.raw().is_empty() && !types.kinds().iter().any(|it| kinds.contains(it))
        }
        _ => false,
    }
}

/// Whether it is the reported status, and which numbers.
fn statuses(condition: &Condition) -> Option<(bool, Numbers)> {
    match condition {
        Condition::HttpStatus(numbers) => Some((true, numbers.clone())),
        Condition::HttpStatusRange(from, to) => {
            Some((true, Numbers::new(vec![(i64::from(*from), i64::from(*to))])))
        }
        Condition::Status(numbers) => Some((false, numbers.clone())),
        _ => None,
    }
}

fn overlap(a: &Numbers, b: &Numbers) -> bool {
    a.ranges().iter().any(|(from, to)| {
        b.ranges().iter().any(|(other_from, other_to)| from <= other_to && other_from <= to)
    })
}

fn none_of<T: PartialEq>(a: &[T], b: &[T]) -> bool {
    !a.iter().any(|it| b.contains(it))
}
