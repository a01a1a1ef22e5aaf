//! Reads `match`: one condition a field, every field checked.

mod values;

use health_model::failure::GRPC_STATUSES;
use health_model::{DispatchCode, FailureKind, Phase, ToolKind};

use crate::limits;
use crate::rule::{
    BodyShape, Case, Codes, Condition, ExceptionTypes, HeaderTest, JsonTest, KindSet, Needles, ProviderNames,
    Wildcard,
};

use super::expressions::Expressions;
use super::fields::{self, Fields};
use super::node::{Node, Step};

use values::{code, numbers, one_or_list, range, status, tests};

/// The fields of `match`: the specification's five (R109…R113), then ours.
pub(super) const FIELDS: &[&str] = &[
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
    "status",
    "code",
    "jsonRpcCode",
    "grpcStatus",
    "sqlState",
    "closeCode",
    "exitCode",
    "text",
    "regex",
    "json",
    "header",
    "bodyShape",
    "provider",
    "toolName",
    "method",
    "phase",
    "isError",
    "any",
    "not",
];

/// Levels of `any` and `not`.
const MAX_LEVELS: usize = 3;

/// The conditions, cheap ones first; `None` if anything is wrong.
pub(super) fn read(fields: &mut Fields<'_, '_, '_>, expressions: &Expressions) -> Option<Vec<Condition>> {
    read_level(fields, expressions, 0)
}

fn read_level(
    fields: &mut Fields<'_, '_, '_>,
    expressions: &Expressions,
    level: usize,
) -> Option<Vec<Condition>> {
    let value = || fields::text(limits::MAX_NEEDLE_BYTES);
    fields.check_names(FIELDS);
    let mut all = Vec::new();
    all.extend(fields.read_list("dispatchCode", fields::word::<DispatchCode>).map(Condition::DispatchCode));
    all.extend(fields.read_list("toolKind", fields::word::<ToolKind>).map(Condition::ToolKind));
    all.extend(fields.read("target", fields::word).map(Condition::Target));
    all.extend(fields.read_list("phase", fields::word::<Phase>).map(Condition::Phase));
    all.extend(fields.read("isError", fields::truth).map(Condition::IsError));
    all.extend(fields.read("httpStatus", |it| numbers(it, status)).map(Condition::HttpStatus));
    all.extend(fields.read("httpStatusRange", range).map(|(from, to)| Condition::HttpStatusRange(from, to)));
    all.extend(fields.read("status", |it| numbers(it, status)).map(Condition::Status));
    all.extend(fields.read("schemaViolation", fields::truth).map(Condition::SchemaViolation));
    all.extend(fields.read("notFoundOf", fields::word).map(Condition::NotFoundOf));
    all.extend(fields.read_list("code", code).map(|it| Condition::Code(Codes::new(it))));
    let whole = |it: &Node| numbers(it, values::whole);
    all.extend(fields.read("jsonRpcCode", whole).map(Condition::JsonRpcCode));
    all.extend(fields.read_list("grpcStatus", grpc_status).map(Condition::GrpcStatus));
    all.extend(fields.read_list("sqlState", sql_state).map(Condition::SqlState));
    all.extend(fields.read("closeCode", whole).map(Condition::CloseCode));
    all.extend(fields.read("exitCode", whole).map(Condition::ExitCode));
    let kinds = fields.read_list("kind", fields::word::<FailureKind>);
    all.extend(kinds.map(|it| Condition::Kind(it.into_iter().collect::<KindSet>())));
    all.extend(
        fields
            .read_list("exceptionType", value())
            .map(|it| Condition::ExceptionType(ExceptionTypes::new(it))),
    );
    all.extend(fields.read("errorCode", |it| one_or_list(it, code)).map(Condition::ErrorCode));
    let wildcard = |it: &Node| value()(it).map(|it| Wildcard::new(&it));
    all.extend(fields.read_list("toolName", wildcard).map(Condition::ToolName));
    all.extend(fields.read_list("method", wildcard).map(Condition::Method));
    all.extend(fields.read("header", headers).map(Condition::Header));
    all.extend(fields.read_list("bodyShape", body_shape).map(Condition::BodyShape));
    all.extend(
        fields
            .read_list("provider", fields::name(limits::MAX_ID_BYTES))
            .map(|it| Condition::Provider(ProviderNames::new(it))),
    );
    all.extend(
        fields
            .read_list("bodyContains", value())
            .map(|it| Condition::Contains(Needles::new(it, Case::Exact))),
    );
    all.extend(fields.read_list("text", words).map(|it| Condition::Contains(Needles::new(it, Case::Words))));
    all.extend(fields.read("json", json).map(Condition::Json));
    all.extend(fields.read_list("regex", |it| expressions.read(it)).map(Condition::Regex));
    all.extend(read_any(fields, expressions, level).map(Condition::Any));
    all.extend(read_nested(fields, "not", expressions, level).map(Condition::Not));
    (!fields.has_failed()).then_some(all)
}

/// `any`: a list of mappings.
fn read_any(
    fields: &mut Fields<'_, '_, '_>,
    expressions: &Expressions,
    level: usize,
) -> Option<Vec<Vec<Condition>>> {
    let (at, _) = fields.entry("any")?;
    let items = fields.read("any", |node| match node {
        Node::List(items) if items.is_empty() => Err("the list is empty; leave the field out".to_owned()),
        Node::List(items) if items.len() > limits::MAX_VALUES => Err(format!(
            "the list has {} values, at most {} are allowed; split the rule",
            items.len(),
            limits::MAX_VALUES
        )),
        Node::List(items) if items.iter().all(|it| matches!(it, Node::Map(_))) => Ok(items),
        Node::List(_) => Err("expected mappings with the fields of `match`".to_owned()),
        other => Err(format!("expected a list of mappings, found {}", other.describe())),
    })?;
    let mut branches = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Node::Map(entries) = item else { continue };
        let name = format!("any[{index}]");
        let steps = [Step::Value(at), Step::Item(index)];
        branches.push(read_inner(fields, &steps, &name, entries, expressions, level)?);
    }
    Some(branches)
}

/// `not`: a mapping.
fn read_nested(
    fields: &mut Fields<'_, '_, '_>,
    field: &str,
    expressions: &Expressions,
    level: usize,
) -> Option<Vec<Condition>> {
    let (at, _) = fields.entry(field)?;
    let entries = fields.read(field, |node| match node {
        Node::Map(entries) => Ok(entries.as_slice()),
        other => Err(format!("expected a mapping with the fields of `match`, found {}", other.describe())),
    })?;
    read_inner(fields, &[Step::Value(at)], field, entries, expressions, level)
}

fn read_inner<'n>(
    fields: &mut Fields<'n, '_, '_>,
    steps: &[Step],
    name: &str,
    entries: &'n [(Node, Node)],
    expressions: &Expressions,
    level: usize,
) -> Option<Vec<Condition>> {
    if level >= MAX_LEVELS {
        fields.fail(
            name.split('[').next().unwrap_or(name),
            format!("nested deeper than {MAX_LEVELS} levels; flatten it"),
        );
        return None;
    }
    if entries.is_empty() {
        fields.fail(
            name.split('[').next().unwrap_or(name),
            "an empty mapping matches everything; name a field in it".to_owned(),
        );
        return None;
    }
    let mut inner = fields.inside(steps, name, entries);
    let conditions = read_level(&mut inner, expressions, level + 1);
    if conditions.is_none() {
        fields.mark_failed();
    }
    conditions
}

/// A text that is compared as words: something must stand between its stars.
fn words(node: &Node) -> Result<String, String> {
    let it = fields::text(limits::MAX_NEEDLE_BYTES)(node)?;
    let bare = it.strip_prefix('*').unwrap_or(&it);
    let bare = bare.strip_suffix('*').unwrap_or(bare);
    if bare.len() < 3 {
        return Err(format!("`{it}` is too short to mean anything; write at least three characters"));
    }
    if bare.contains('*') {
        return Err(format!(
            "`{it}` has a `*` inside; it stands at an end, for a part of a word; else write a regex"
        ));
    }
    Ok(it)
}

fn grpc_status(node: &Node) -> Result<String, String> {
    let it = fields::text(limits::MAX_NEEDLE_BYTES)(node)?;
    if GRPC_STATUSES.iter().skip(1).any(|name| *name == it) {
        return Ok(it);
    }
    Err(format!(
        "`{}` is no gRPC status; write one of {}",
        limits::head(&it, 80),
        GRPC_STATUSES.split_first().map(|(_, rest)| rest.join(", ")).unwrap_or_default()
    ))
}

fn sql_state(node: &Node) -> Result<String, String> {
    let it = match node {
        Node::Int(_) => return Err(format!("expected a text, found {}; put it in quotes", node.describe())),
        other => fields::text(limits::MAX_NEEDLE_BYTES)(other)?,
    };
    if matches!(it.len(), 2 | 5) && it.bytes().all(|it| it.is_ascii_digit() || it.is_ascii_uppercase()) {
        return Ok(it);
    }
    Err(format!(
        "`{}` is no SQLSTATE; write five digits and capitals, or the two of a class",
        limits::head(&it, 80)
    ))
}

fn body_shape(node: &Node) -> Result<BodyShape, String> {
    let it = fields::text(limits::MAX_NEEDLE_BYTES)(node)?;
    BodyShape::ALL.iter().find(|(word, _)| *word == it).map(|(_, shape)| *shape).ok_or_else(|| {
        let words: Vec<&str> = BodyShape::ALL.iter().map(|(word, _)| *word).collect();
        format!("unknown shape `{}`; write one of {}", limits::head(&it, 80), words.join(", "))
    })
}

fn headers(node: &Node) -> Result<Vec<HeaderTest>, String> {
    let is_name = |it: &str| {
        !it.is_empty()
            && it.len() <= limits::MAX_ID_BYTES
            && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
    };
    tests(node, |name, values| {
        if !is_name(name) {
            return Err(format!("`{}` is no name of a header", limits::head(name, 80)));
        }
        let wildcards = values.map(|it| {
            let texts = it.iter().map(|it| match it {
                Node::Int(it) => Ok(it.to_string()),
                other => fields::text(limits::MAX_NEEDLE_BYTES)(other),
            });
            texts.map(|it| it.map(|it| Wildcard::new(&it))).collect::<Result<Vec<_>, _>>()
        });
        Ok(HeaderTest::new(name, wildcards.transpose()?))
    })
}

fn json(node: &Node) -> Result<Vec<JsonTest>, String> {
    tests(node, |pointer, values| {
        if !pointer.starts_with('/') {
            let pointer = limits::head(pointer, 80);
            return Err(format!("`{pointer}` is no JSON pointer; it begins with a slash, as in /error/code"));
        }
        let values = values.map(|it| it.iter().map(values::json).collect::<Result<Vec<_>, _>>());
        Ok(JsonTest::new(pointer.to_owned(), values.transpose()?))
    })
}
