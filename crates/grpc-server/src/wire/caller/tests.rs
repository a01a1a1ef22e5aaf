//! Callers, tools and keys: what is refused and what is passed over.

use health_model::ContainerKey;

use super::*;
use crate::error::Error;

fn fields(violations: Violations) -> Vec<String> {
    match violations.finish() {
        Ok(()) => Vec::new(),
        Err(Error::InvalidField(it)) => it.into_iter().map(|it| it.field).collect(),
        Err(other) => panic!("{other}"),
    }
}

fn key(scope: v1::Scope, scope_id: &str, tool: &str, provider: &str) -> Option<v1::DocumentKey> {
    Some(v1::DocumentKey {
        scope: scope.into(),
        scope_id: scope_id.to_owned(),
        tool_name: tool.to_owned(),
        provider: provider.to_owned(),
    })
}

#[test]
fn a_caller_without_project_is_in_the_default_one() {
    let mut violations = Violations::default();
    let wire = v1::Caller { tenant_id: "acme".to_owned(), ..v1::Caller::default() };
    let caller = caller(Some(wire), &mut violations);
    assert!(violations.is_empty());
    assert_eq!((caller.project_id.as_str(), caller.user_id, caller.session_id), ("default", None, None));
}

#[test]
fn all_fields_that_are_wrong_are_named_at_once() {
    let mut violations = Violations::default();
    let wire = v1::Caller {
        tenant_id: String::new(),
        project_id: "p".repeat(257),
        user_id: "a\nb".to_owned(),
        session_id: "s".repeat(256),
        ..v1::Caller::default()
    };
    caller(Some(wire), &mut violations);
    tool(Some(v1::Tool::default()), &|| "tool".to_owned(), &mut violations, &mut Warnings::default());
    assert_eq!(fields(violations), ["caller.tenant_id", "caller.project_id", "caller.user_id", "tool.name"]);
}

#[test]
fn a_missing_caller_or_tool_is_said_so() {
    let mut violations = Violations::default();
    caller(None, &mut violations);
    tool(None, &|| "tools[3]".to_owned(), &mut violations, &mut Warnings::default());
    assert_eq!(fields(violations), ["caller", "tools[3]"]);
}

#[test]
fn tool_names_are_1_to_256_bytes() {
    for (name, is_good) in
        [("", false), ("a", true), (&"é".repeat(128), true), (&"é".repeat(129), false), ("a\u{7}", false)]
    {
        let mut violations = Violations::default();
        let wire = v1::Tool { name: name.to_owned(), ..v1::Tool::default() };
        tool(Some(wire), &|| "tool".to_owned(), &mut violations, &mut Warnings::default());
        assert_eq!(violations.is_empty(), is_good, "{name:?}");
    }
}

/// DESIGN §5: unknown words in a report are read as unspecified with a warning.
#[test]
fn unknown_words_of_a_tool_are_passed_over() {
    let (mut violations, mut warnings) = (Violations::default(), Warnings::default());
    let wire = v1::Tool { name: "a".to_owned(), kind: 77, target: -1, home_scope: 2, ..v1::Tool::default() };
    let tool = tool(Some(wire), &|| "tool".to_owned(), &mut violations, &mut warnings);
    assert!(violations.is_empty());
    assert_eq!((tool.kind, tool.target, tool.declared_home_scope), (None, None, None));
    let fields: Vec<_> = warnings.codes().into_iter().map(|it| it.1).collect();
    assert_eq!(fields, ["tool.home_scope", "tool.kind", "tool.target"]);
}

/// R32, C25: a GLOBAL entry names a provider and has no id; at TENANT the id is the tenant's.
#[test]
fn keys_follow_their_scope() {
    let mut violations = Violations::default();
    let read = document_key("acme", key(v1::Scope::Tenant, "", "search", ""), &mut violations).unwrap();
    assert_eq!((read.scope_id.as_str(), read.tenant_id.as_str()), ("acme", "acme"));
    let global = document_key("", key(v1::Scope::Global, "", "search", "github"), &mut violations).unwrap();
    assert_eq!(global, ContainerKey::global("github").document("search"));
    assert!(violations.is_empty());
    for read in [read, global] {
        let again = document_key("acme", Some(wire_key(&read)), &mut Violations::default());
        assert_eq!(again, Some(read));
    }
}

#[test]
fn keys_that_name_nothing_are_refused() {
    let cases: [(&str, Option<v1::DocumentKey>, &[&str]); 7] = [
        ("acme", None, &["key"]),
        ("", key(v1::Scope::User, "alice", "a", ""), &["tenant_id"]),
        ("acme", key(v1::Scope::Unspecified, "", "a", ""), &["key.scope"]),
        ("acme", key(v1::Scope::User, "", "", ""), &["key.tool_name", "key.scope_id"]),
        ("acme", key(v1::Scope::Tenant, "other", "a", ""), &["key.scope_id"]),
        ("acme", key(v1::Scope::Global, "x", "a", ""), &["key.provider", "key.scope_id"]),
        ("acme", key(v1::Scope::Project, "p", "a", "github"), &["key.provider"]),
    ];
    for (tenant, wire, expected) in cases {
        let mut violations = Violations::default();
        document_key(tenant, wire.clone(), &mut violations);
        assert_eq!(fields(violations), expected, "{wire:?}");
    }
}
