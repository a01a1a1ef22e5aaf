//! A failure as a text of fields, so that a mutation of the text is one of a field.
//!
//! Mutated JSON would mostly be no JSON; here every text is a failure. Fields are separated by the character 0x1e, in the
//! order of [`decode`]; those that are missing are empty.

use checker::corpus::Row;
use health_model::failure::Cause;
use health_model::{Failure, Target, Tool, ToolKind};

const SEPARATOR: char = '\u{1e}';

/// The failure that a text stands for, and the tool that failed. Every text stands for one.
#[must_use]
pub fn decode(text: &str) -> (Tool, Failure) {
    let mut fields = text.split(SEPARATOR);
    let mut next = || fields.next().unwrap_or_default();
    let (name, flags, status, headers) = (next(), next(), next(), next());
    let (exception_type, code, stderr, message, body) = (next(), next(), next(), next(), next());
    let given = |it: &str| Some(it.to_owned()).filter(|it| !it.is_empty());
    let has = |flag: char| flags.contains(flag);
    let header =
        |line: &str| line.split_once(':').map(|(name, it)| (name.to_ascii_lowercase(), it.trim().to_owned()));
    let kind =
        [('m', ToolKind::Mcp), ('r', ToolKind::Rest), ('c', ToolKind::Client), ('b', ToolKind::Builtin)];
    let tool = Tool {
        name: name.to_owned(),
        kind: kind.into_iter().find(|(flag, _)| has(*flag)).map(|(_, kind)| kind),
        target: has('a').then_some(Target::Argument),
        ..Tool::default()
    };
    let failure = Failure {
        http_status: status.trim().parse().ok(),
        headers: headers.lines().filter_map(header).collect(),
        exception_type: given(exception_type),
        json_rpc_code: code.trim().parse().ok(),
        exit_code: code.trim().parse().ok().filter(|_| has('x')),
        sql_state: given(code).filter(|_| has('s')),
        grpc_status: given(code).filter(|_| has('g')),
        error_code: given(code),
        stderr_tail: given(stderr),
        message: message.to_owned(),
        body: body.to_owned(),
        is_error: has('e').then_some(true),
        schema_violation: has('v'),
        read_only: has('o').then_some(true),
        idempotent: has('i').then_some(true),
        // What is left are causes, outermost first: the type up to the first colon.
        causes: fields
            .map(|it| match it.split_once(':') {
                Some((name, message)) => {
                    Cause { exception_type: given(name), message: message.to_owned(), ..Cause::default() }
                }
                None => Cause { message: it.to_owned(), ..Cause::default() },
            })
            .collect(),
        ..Failure::default()
    };
    (tool, failure)
}

/// The text that stands for a labelled failure.
#[must_use]
pub fn encode(row: &Row) -> String {
    let failure = &row.failure;
    let mut flags = String::new();
    flags.extend(row.tool.kind.map(|it| match it {
        ToolKind::Mcp => 'm',
        ToolKind::Rest => 'r',
        ToolKind::Client => 'c',
        ToolKind::Builtin => 'b',
    }));
    flags.extend((row.tool.target == Some(Target::Argument)).then_some('a'));
    flags.extend(failure.sql_state.as_ref().map(|_| 's'));
    flags.extend(failure.grpc_status.as_ref().map(|_| 'g'));
    let headers: Vec<String> =
        failure.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let fields = [
        row.tool.name.clone(),
        flags,
        failure.http_status.map(|it| it.to_string()).unwrap_or_default(),
        headers.join("\n"),
        failure.exception_type.clone().unwrap_or_default(),
        failure.error_code.clone().unwrap_or_default(),
        String::new(),
        failure.message.clone(),
        failure.body.clone(),
    ];
    fields.join(&SEPARATOR.to_string())
}
