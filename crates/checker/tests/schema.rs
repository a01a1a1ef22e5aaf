//! The JSON Schema of rule files: it takes what the parser takes, refuses what it refuses, and names the same fields.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;

use boon::{Compiler, SchemaIndex, Schemas};
use checker::{LayerKind, bundled, packs, parse, schema};
use serde_json::{Value, json};

/// The schema, compiled.
struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    fn new() -> Self {
        let text: Value = serde_json::from_str(schema::TEXT).unwrap();
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.add_resource("mem:/schema.json", text).unwrap();
        let index = compiler.compile("mem:/schema.json", &mut schemas).unwrap();
        Self { schemas, index }
    }

    /// What is wrong with a rule file; `None` if nothing is.
    fn refusal(&self, yaml: &str) -> Option<String> {
        let value: Value = serde_yaml::from_str(yaml).unwrap();
        self.schemas.validate(&value, self.index).err().map(|it| format!("{it:#}"))
    }
}

/// R105, R107: an editor has nothing to say about what ships.
#[test]
fn every_shipped_file_is_accepted() {
    let schema = Schema::new();
    for (name, text) in packs::SOURCES.iter().copied().chain([("bundled.yaml", bundled::TEXT)]) {
        assert_eq!(schema.refusal(text), None, "{name}");
    }
}

/// A rule in which `field` stands, at the place of that field.
fn rule(place: &str, line: &str) -> String {
    let (matches, own) = if place == "match" { (line, "") } else { ("httpStatus: 403", line) };
    format!(
        "patterns:\n  - id: a\n    match: {{ {matches} }}\n    signature: a\n    classification: UNCLEAR\n    {own}\n"
    )
}

/// R105…R120: every field with what it takes. The parser agrees.
#[test]
fn what_the_fields_take_is_accepted_by_both() {
    let schema = Schema::new();
    let mut fields = BTreeSet::new();
    for line in [
        "httpStatus: 403",
        "httpStatus: [403, '500..599']",
        "httpStatusRange: [500, 599]",
        "exceptionType: [java.net.ConnectException]",
        "bodyContains: ['a b']",
        "errorCode: 1045",
        "errorCode: [a, -1]",
        "kind: [dns, timeout]",
        "schemaViolation: true",
        "notFoundOf: entity",
        "toolKind: [MCP]",
        "target: ARGUMENT",
        "dispatchCode: [DISALLOWED]",
        "status: '400..499'",
        "code: [AccessDenied, 1045]",
        "jsonRpcCode: [-32602, '-32099..-32000']",
        "grpcStatus: [UNAVAILABLE]",
        "sqlState: ['28P01', '40']",
        "closeCode: 1012",
        "exitCode: [-9, 127]",
        "text: ['rate limit*', '*abc', '超时']",
        "regex: ['quota .{0,80}exceeded']",
        "json: { /a: true, /b: [1, x, null], /c: false }",
        "header: { retry-after: true, x-left: 0, x-kind: [a*, 1] }",
        "bodyShape: [html, empty]",
        "provider: [github]",
        "toolName: ['*jira*']",
        "method: [GET]",
        "phase: [spawn]",
        "isError: true",
        "any: [{ status: 400 }, { not: { status: 401 } }]",
        "not: { any: [{ status: 400 }] }",
    ] {
        fields.insert(line.split(':').next().unwrap());
        both_take(&schema, &rule("match", line));
    }
    for line in [
        "cooldown: PT5M",
        "cooldown: P1DT1H30M",
        "cooldown: PT8.5S",
        "cooldown: header:x-ratelimit-reset",
        "healthAction: markDegraded",
        "locked: true",
        "note: why",
        "before: first",
        "scope: credential",
        "fault: USER_RIGHT",
        "remedy: RETRY_AT",
        "retry: none",
        "retry: header:x-reset",
        "retry: json:/error/0/after milliseconds",
        "retry: json:/after",
        "retry: within:PT1M",
        "healthSignal: false",
    ] {
        fields.insert(line.split(':').next().unwrap());
        both_take(&schema, &rule("rule", line));
    }
    both_take(
        &schema,
        "providers: { a: { hosts: [a.example], words: [a], headers: [x-a], texts: [Aaaa] } }\nshadow: true\npatterns: []\n",
    );
    // Every field was there.
    for field in fields_of("/$defs/conditions").union(&fields_of("/$defs/rule")) {
        assert!(
            ["id", "match", "signature", "classification"].contains(&field.as_str())
                || fields.contains(field.as_str()),
            "{field}"
        );
    }
}

fn both_take(schema: &Schema, yaml: &str) {
    assert_eq!(schema.refusal(yaml), None, "{yaml}");
    let layer = parse(LayerKind::Tenant, "a.yaml", yaml);
    assert_eq!(layer.n_errors(), 0, "{yaml}{:?}", layer.diagnostics);
}

/// R105…R120: the mistakes that the documentation names, and their kin, are marked in the editor. The parser agrees.
#[test]
fn mistakes_are_refused_by_both() {
    let schema = Schema::new();
    let in_match = [
        "httpStatus: '502'",
        "httpStatus: 99",
        "httpStatus: []",
        "httpStatus: '500-599'",
        "statusCode: 503",
        "httpStatusRange: [500]",
        "httpStatusRange: 500",
        "status: 1000",
        "code: AccessDenied",
        "code: ['--']",
        "bodyContains: text",
        "bodyContains: ['']",
        "bodyContains: [5]",
        "text: [ab]",
        "text: ['a*b']",
        "kind: [refused]",
        "target: argument",
        "toolKind: [mcp]",
        "grpcStatus: [OK]",
        "sqlState: [28000]",
        "sqlState: ['280']",
        "closeCode: '1012'",
        "json: { error: 1 }",
        "json: {}",
        "header: { 'retry after': true }",
        "header: { retry-after: false }",
        "bodyShape: [yaml]",
        "phase: [called]",
        "isError: 'yes'",
        "any: []",
        "any: [{}]",
        "any: { status: 400 }",
        "not: {}",
        "not: [{ status: 400 }]",
        "notFoundOf: route",
        "schemaViolation: 1",
        "provider: github",
    ];
    let in_rule = [
        "cooldown: 5m",
        "cooldown: P",
        "cooldown: PT",
        "cooldown: P1M",
        "cooldown: PT1H1D",
        "cooldown: 300",
        "healthAction: markDown",
        "locked: 'true'",
        "before: [a]",
        "before: 'a b'",
        "scope: global",
        "fault: USER",
        "remedy: RETRY",
        "retry: sometimes",
        "retry: json:error seconds",
        "retry: json:/error hours",
        "retry: within:1m",
        "healthSignal: 'no'",
        "notes: why",
    ];
    let all = in_match.iter().map(|it| rule("match", it)).chain(in_rule.iter().map(|it| rule("rule", it)));
    let whole = [
        "rules: []\n".to_owned(),
        "- id: a\n".to_owned(),
        "patterns: {}\n".to_owned(),
        "patterns: [{ id: a, match: { status: 400 }, signature: a }]\n".to_owned(),
        "patterns: [{ id: a, match: { status: 400 }, signature: a, classification: INTERMITENT }]\n"
            .to_owned(),
        "patterns: [{ id: 'a b', match: { status: 400 }, signature: a, classification: UNCLEAR }]\n"
            .to_owned(),
        "providers: { a: { host: [a.example] } }\npatterns: []\n".to_owned(),
        "providers: { a: [a.example] }\npatterns: []\n".to_owned(),
        "shadow: 1\npatterns: []\n".to_owned(),
    ];
    for yaml in all.chain(whole) {
        assert!(schema.refusal(&yaml).is_some(), "accepted: {yaml}");
        assert!(parse(LayerKind::Tenant, "a.yaml", &yaml).n_errors() > 0, "parsed: {yaml}");
    }
}

/// The fields of an object of the schema.
fn fields_of(pointer: &str) -> BTreeSet<String> {
    let schema: Value = serde_json::from_str(schema::TEXT).unwrap();
    let object = schema.pointer(pointer).unwrap();
    assert_eq!(object["additionalProperties"], json!(false), "{pointer}");
    object["properties"].as_object().unwrap().keys().cloned().collect()
}

/// The fields that the parser lists for someone who wrote another one.
fn fields_of_parser(yaml: &str) -> BTreeSet<String> {
    let layer = parse(LayerKind::Tenant, "a.yaml", yaml);
    let listed = layer.diagnostics.iter().find_map(|it| it.message.split_once("; the fields "));
    let (_, listed) = listed.unwrap();
    let (_, names) = listed.split_once("are ").unwrap();
    names.split(", ").map(str::to_owned).collect()
}

/// The schema names the parser's fields, no more and no fewer.
#[test]
fn the_fields_are_those_of_the_parser() {
    let odd = "zzzzzzzzzzzz: 1";
    for (pointer, yaml) in [
        ("", format!("patterns: []\n{odd}\n")),
        ("/$defs/rule", rule("rule", odd)),
        ("/$defs/conditions", rule("match", odd)),
    ] {
        assert_eq!(fields_of(pointer), fields_of_parser(&yaml), "{pointer}");
    }
    // A provider's fields are so short that any word is near to none of them.
    let provider = format!("providers: {{ a: {{ {odd} }} }}\npatterns: []\n");
    assert_eq!(fields_of("/$defs/provider"), fields_of_parser(&provider));
}
