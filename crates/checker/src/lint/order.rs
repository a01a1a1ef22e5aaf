//! Rules to which an earlier one leaves next to nothing (C14): what it leaves must be said expressly, and hardly any
//! reporter does. Rules to which nothing is left at all are the table's finding.

use health_model::{NotFoundOf, Target};

use crate::rule::{Condition, Rule};
use crate::table::{AsWritten, Entry, RuleTable, covers};

use super::{Check, Remark};

/// Names the first rule before this one that takes everything but what is said expressly.
pub(super) fn check(rule: &Rule, file: &str, table: &RuleTable, literal: bool, add: &mut impl FnMut(Remark)) {
    let is_it = |it: &Entry| it.rule.id == rule.id && &*it.source == file;
    let earlier = table.entries().iter().take_while(|it| !is_it(it));
    for Entry { rule: wide, layer, .. } in earlier {
        let Some(left) = left(wide, rule, literal) else { continue };
        add(Remark::warning(Check::NeverReached, "match", "")
            .say(format!(
                "reached only where {left}: rule `{}` of the {layer} layer stands before it and takes all else",
                wide.id
            ))
            .remedy(format!("write before: {}", wide.id)));
        return;
    }
}

/// What is left to the second rule; `None` if that is more than what is said expressly, or nothing.
fn left(wide: &Rule, narrow: &Rule, literal: bool) -> Option<String> {
    let (by_default, asked): (Vec<&Condition>, Vec<&Condition>) =
        wide.conditions.iter().partition(|it| unless(it).is_some());
    let is_asked_too = |it: &Condition| narrow.conditions.iter().any(|other| other.field() == it.field());
    if by_default.is_empty() || by_default.iter().any(|it| is_asked_too(it)) {
        return None;
    }
    let asked: Vec<Condition> = asked.into_iter().cloned().collect();
    let left: Vec<&str> = by_default.iter().filter_map(|it| unless(it)).collect();
    covers(&asked, &narrow.conditions, literal, &mut AsWritten).then(|| left.join(" or "))
}

/// Where a condition does not hold that holds for every failure of which nothing is said.
const fn unless(condition: &Condition) -> Option<&'static str> {
    match condition {
        Condition::NotFoundOf(NotFoundOf::Endpoint) => Some("the reporter says notFoundOf: entity"),
        Condition::Target(Target::Fixed) => Some("the target is ARGUMENT"),
        Condition::IsError(false) => Some("isError is true"),
        Condition::SchemaViolation(false) => Some("schemaViolation is true"),
        _ => None,
    }
}
