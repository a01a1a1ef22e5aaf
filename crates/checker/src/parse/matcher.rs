//! Reads `match`: one condition a field, every field checked.

use health_model::{DispatchCode, FailureKind, ToolKind};

use crate::limits;
use crate::rule::{Condition, ExceptionTypes, KindSet, Needles};

use super::fields::{self, Fields};
use super::node::Node;

/// The fields of `match`: the specification's five (R109…R113), then ours.
const FIELDS: &[&str] = &[
    "httpStatus",
    "httpStatusRange",
    "exceptionType",
    "bodyContains",
    "errorCode",
    "kind",
    "schemaViolation",
    "notFoundOf",
    "toolKind",
    "target",
    "dispatchCode",
];

/// The conditions, cheap ones first; `None` if anything is wrong.
pub(super) fn read(fields: &mut Fields<'_, '_, '_>) -> Option<Vec<Condition>> {
    fields.check_names(FIELDS);
    let mut conditions = Vec::new();
    conditions
        .extend(fields.read_list("dispatchCode", fields::word::<DispatchCode>).map(Condition::DispatchCode));
    conditions.extend(fields.read_list("toolKind", fields::word::<ToolKind>).map(Condition::ToolKind));
    conditions.extend(fields.read("target", fields::word).map(Condition::Target));
    conditions.extend(fields.read("httpStatus", status).map(Condition::HttpStatus));
    conditions
        .extend(fields.read("httpStatusRange", range).map(|(from, to)| Condition::HttpStatusRange(from, to)));
    conditions.extend(fields.read("schemaViolation", fields::truth).map(Condition::SchemaViolation));
    conditions.extend(fields.read("notFoundOf", fields::word).map(Condition::NotFoundOf));
    let kinds = fields.read_list("kind", fields::word::<FailureKind>);
    conditions.extend(kinds.map(|it| Condition::Kind(it.into_iter().collect::<KindSet>())));
    let types = fields.read_list("exceptionType", fields::text(limits::MAX_NEEDLE_BYTES));
    conditions.extend(types.map(|it| Condition::ExceptionType(ExceptionTypes::new(it))));
    conditions.extend(fields.read("errorCode", code).map(Condition::ErrorCode));
    let needles = fields.read_list("bodyContains", fields::text(limits::MAX_NEEDLE_BYTES));
    conditions.extend(needles.map(|it| Condition::BodyContains(Needles::new(it))));
    (!fields.has_failed()).then_some(conditions)
}

fn status(node: &Node) -> Result<u16, String> {
    match node {
        Node::Int(it) => match u16::try_from(*it) {
            Ok(status @ 100..=999) => Ok(status),
            _ => Err(format!("`{it}` is no HTTP status; write a number from 100 to 999")),
        },
        Node::Text(it) if it.trim().parse::<u16>().is_ok() => {
            Err(format!("expected a number, found {}; write {} without quotes", node.describe(), it.trim()))
        }
        other => Err(format!("expected a number from 100 to 999, found {}", other.describe())),
    }
}

fn range(node: &Node) -> Result<(u16, u16), String> {
    let Node::List(items) = node else {
        return Err(format!("expected a list of two numbers, found {}; write [500, 599]", node.describe()));
    };
    let [from, to] = items.as_slice() else {
        return Err(format!("expected two numbers, found {}; write [500, 599]", items.len()));
    };
    let (from, to) = (status(from)?, status(to)?);
    if from > to {
        return Err(format!(
            "the range [{from}, {to}] is reversed and matches nothing; write [{to}, {from}]"
        ));
    }
    Ok((from, to))
}

/// A machine code; a whole number stands for its digits.
fn code(node: &Node) -> Result<String, String> {
    match node {
        Node::Int(it) => Ok(it.to_string()),
        other => fields::text(limits::MAX_NEEDLE_BYTES)(other),
    }
}
