//! Values of `match`: numbers and ranges, codes, tests by name.

use serde_json::Value;

use crate::limits;
use crate::rule::Numbers;

use super::super::fields;
use super::super::node::Node;

/// A number, a text of a range, or a list of those.
pub(super) fn numbers(node: &Node, one: impl Fn(&Node) -> Result<i64, String>) -> Result<Numbers, String> {
    let items = match node {
        Node::List(items) if items.is_empty() => {
            return Err("the list is empty; leave the field out, or name what it is to match".to_owned());
        }
        Node::List(items) if items.len() > limits::MAX_VALUES => {
            return Err(format!(
                "the list has {} values, at most {} are allowed; split the rule",
                items.len(),
                limits::MAX_VALUES
            ));
        }
        Node::List(items) => items.as_slice(),
        other => std::slice::from_ref(other),
    };
    let ranges = items.iter().map(|item| match item {
        Node::Text(text) if text.contains("..") => {
            let (from, to) = text.split_once("..").unwrap_or_default();
            let end = |it: &str| match it.trim().parse::<i128>() {
                Ok(it) => one(&Node::Int(it)),
                Err(_) => Err(format!("`{}` is no range; write one like 500..599", limits::head(text, 80))),
            };
            let (from, to) = (end(from)?, end(to)?);
            if from > to {
                return Err(format!(
                    "the range `{text}` is reversed and matches nothing; write {to}..{from}"
                ));
            }
            Ok((from, to))
        }
        item => one(item).map(|it| (it, it)),
    });
    Ok(Numbers::new(ranges.collect::<Result<_, String>>()?))
}

/// Any whole number.
pub(super) fn whole(node: &Node) -> Result<i64, String> {
    match node {
        Node::Int(it) => i64::try_from(*it).map_err(|_| format!("`{it}` is out of range")),
        Node::Text(it) if it.trim().parse::<i64>().is_ok() => {
            Err(format!("expected a number, found {}; write {} without quotes", node.describe(), it.trim()))
        }
        other => Err(format!("expected a whole number, found {}", other.describe())),
    }
}

/// An HTTP status.
pub(super) fn status(node: &Node) -> Result<i64, String> {
    match node {
        Node::Int(it) => match i64::try_from(*it) {
            Ok(status @ 100..=999) => Ok(status),
            _ => Err(format!("`{it}` is no HTTP status; write a number from 100 to 999")),
        },
        Node::Text(it) if it.trim().parse::<u16>().is_ok() => {
            Err(format!("expected a number, found {}; write {} without quotes", node.describe(), it.trim()))
        }
        other => Err(format!("expected a number from 100 to 999, found {}", other.describe())),
    }
}

/// Two HTTP statuses.
pub(super) fn range(node: &Node) -> Result<(u16, u16), String> {
    let Node::List(items) = node else {
        return Err(format!("expected a list of two numbers, found {}; write [500, 599]", node.describe()));
    };
    let [from, to] = items.as_slice() else {
        return Err(format!("expected two numbers, found {}; write [500, 599]", items.len()));
    };
    let status = |it| status(it).map(|it| u16::try_from(it).unwrap_or(u16::MAX));
    let (from, to) = (status(from)?, status(to)?);
    if from > to {
        return Err(format!(
            "the range [{from}, {to}] is reversed and matches nothing; write [{to}, {from}]"
        ));
    }
    Ok((from, to))
}

/// A machine code; a whole number stands for its digits.
pub(super) fn code(node: &Node) -> Result<String, String> {
    match node {
        Node::Int(it) => Ok(it.to_string()),
        other => {
            let it = fields::text(limits::MAX_NEEDLE_BYTES)(other)?;
            if it.bytes().any(|it| it.is_ascii_alphanumeric()) {
                Ok(it)
            } else {
                Err(format!(
                    "`{}` has no letter or digit; codes are compared by these",
                    limits::head(&it, 80)
                ))
            }
        }
    }
}

/// One value, or a list of them.
pub(super) fn one_or_list<T>(
    node: &Node,
    one: impl Fn(&Node) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    match node {
        Node::List(items) if items.is_empty() => {
            Err("the list is empty; leave the field out, or name what it is to match".to_owned())
        }
        Node::List(items) if items.len() > limits::MAX_VALUES => Err(format!(
            "the list has {} values, at most {} are allowed; split the rule",
            items.len(),
            limits::MAX_VALUES
        )),
        Node::List(items) => items.iter().map(one).collect(),
        other => one(other).map(|it| vec![it]),
    }
}

/// A mapping from names to wanted values: `true` = there is one, else a value or a list of values.
pub(super) fn tests<T>(
    node: &Node,
    test: impl Fn(&str, Option<&[Node]>) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let Node::Map(entries) = node else {
        return Err(format!("expected a mapping from names to values, found {}", node.describe()));
    };
    if entries.is_empty() || entries.len() > limits::MAX_VALUES {
        return Err(format!("expected 1 to {} names, found {}", limits::MAX_VALUES, entries.len()));
    }
    entries
        .iter()
        .map(|(key, value)| {
            let name = key.as_text().ok_or_else(|| format!("expected a name, found {}", key.describe()))?;
            match value {
                Node::Bool(true) => test(name, None),
                Node::List(items) if items.is_empty() => {
                    Err(format!("`{}`: the list is empty", limits::head(name, 80)))
                }
                Node::List(items) => test(name, Some(items)),
                value => test(name, Some(std::slice::from_ref(value))),
            }
        })
        .collect()
}

/// A plain JSON value.
pub(super) fn json(node: &Node) -> Result<Value, String> {
    match node {
        Node::Null => Ok(Value::Null),
        Node::Bool(it) => Ok(Value::Bool(*it)),
        Node::Int(it) => i64::try_from(*it).map(Value::from).map_err(|_| format!("`{it}` is out of range")),
        Node::Float(it) => Ok(Value::from(*it)),
        Node::Text(it) => Ok(Value::String(it.clone())),
        other => Err(format!("expected a plain value, found {}", other.describe())),
    }
}
