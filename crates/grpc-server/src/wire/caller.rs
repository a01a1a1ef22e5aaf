//! Who calls, which tool, which key.
//!
//! These decide whose state is read and written, so they are checked strictly even in a report; only words that the
//! server does not know are passed over with a warning.

use agrajag_proto::v1::{self, WarningCode};
use health_model::key::DEFAULT_PROJECT;
use health_model::{Caller, DocumentKey, Scope, Tool};

use super::fields::{MAX_ID, Violations, Warnings, given};
use super::words;

/// The caller. The tenant must be there; without a project it is `default` (DESIGN §4).
pub(crate) fn caller(wire: Option<v1::Caller>, violations: &mut Violations) -> Caller {
    let Some(wire) = wire else {
        violations.push("caller", "is missing; give at least `caller.tenant_id`");
        return Caller::default();
    };
    violations.required("caller.tenant_id", &wire.tenant_id, MAX_ID);
    violations.optional("caller.project_id", &wire.project_id, MAX_ID);
    violations.optional("caller.user_id", &wire.user_id, MAX_ID);
    violations.optional("caller.session_id", &wire.session_id, MAX_ID);
    violations.optional("caller.locale", &wire.locale, MAX_ID);
    Caller {
        tenant_id: wire.tenant_id,
        project_id: given(wire.project_id).unwrap_or_else(|| DEFAULT_PROJECT.to_owned()),
        user_id: given(wire.user_id),
        session_id: given(wire.session_id),
        locale: given(wire.locale),
    }
}

/// A tool; `path` is where it stands in the request, made only where there is something to say about it.
pub(crate) fn tool(
    wire: Option<v1::Tool>,
    path: &dyn Fn() -> String,
    violations: &mut Violations,
    warnings: &mut Warnings,
) -> Tool {
    let Some(wire) = wire else {
        let path = path();
        violations.push(&path, format!("is missing; give at least `{path}.name`"));
        return Tool::default();
    };
    if !is_plain(&wire.name) {
        violations.required(&format!("{}.name", path()), &wire.name, MAX_ID);
    }
    if !wire.provider.is_empty() && !is_plain(&wire.provider) {
        violations.optional(&format!("{}.provider", path()), &wire.provider, MAX_ID);
    }
    let home = words::scope(wire.home_scope);
    let declared_home_scope = home.filter(|it| !matches!(it, Scope::User | Scope::Global));
    if wire.home_scope != 0 && declared_home_scope.is_none() {
        let message = "is no home of a tool and is read as unspecified; SESSION, PROJECT or TENANT are";
        warnings.push(WarningCode::UnknownValue, format!("{}.home_scope", path()), message);
    }
    Tool {
        kind: known(wire.kind, words::tool_kind, || format!("{}.kind", path()), warnings),
        target: known(wire.target, words::target, || format!("{}.target", path()), warnings),
        name: wire.name,
        declared_home_scope,
        provider: given(wire.provider),
    }
}

/// Most names are short and plain; looking at them this way costs no allocation in a lookup of hundreds.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_ID && name.bytes().all(|it| it.is_ascii_graphic())
}

/// A word of a report: an unknown one is read as unspecified, with a warning (DESIGN §5).
pub(crate) fn known<T>(
    word: i32,
    to_model: impl FnOnce(i32) -> Option<T>,
    field: impl FnOnce() -> String,
    warnings: &mut Warnings,
) -> Option<T> {
    let found = to_model(word);
    if word != 0 && found.is_none() {
        let message = format!("the value {word} is not known to this server and is read as unspecified");
        warnings.push(WarningCode::UnknownValue, field(), message);
    }
    found
}

/// The key of a document in a write or read of an administrator: strict.
pub(crate) fn document_key(
    tenant_id: &str,
    wire: Option<v1::DocumentKey>,
    violations: &mut Violations,
) -> Option<DocumentKey> {
    let Some(wire) = wire else {
        violations.push("key", "is missing; give at least `key.scope` and `key.tool_name`");
        violations.required("tenant_id", tenant_id, MAX_ID);
        return None;
    };
    violations.required("key.tool_name", &wire.tool_name, MAX_ID);
    let Some(scope) = words::scope(wire.scope) else {
        violations
            .push("key.scope", format!("is {}; give SESSION, USER, PROJECT, TENANT or GLOBAL", wire.scope));
        violations.required("tenant_id", tenant_id, MAX_ID);
        return None;
    };
    if scope == Scope::Global {
        violations.required("key.provider", &wire.provider, MAX_ID);
        if !wire.scope_id.is_empty() {
            violations
                .push("key.scope_id", "must be empty at scope GLOBAL; name the provider in `key.provider`");
        }
        return Some(health_model::ContainerKey::global(&wire.provider).document(&wire.tool_name));
    }
    violations.required("tenant_id", tenant_id, MAX_ID);
    if !wire.provider.is_empty() {
        violations.push("key.provider", "must be empty at every scope but GLOBAL");
    }
    let scope_id = match scope {
        Scope::Tenant if wire.scope_id.is_empty() => tenant_id.to_owned(),
        Scope::Tenant if wire.scope_id != tenant_id => {
            let message =
                format!("is `{}`; at scope TENANT leave it empty or repeat `tenant_id`", wire.scope_id);
            violations.push("key.scope_id", message);
            wire.scope_id
        }
        _ => {
            violations.required("key.scope_id", &wire.scope_id, MAX_ID);
            wire.scope_id
        }
    };
    Some(DocumentKey { tenant_id: tenant_id.to_owned(), scope, scope_id, tool_name: wire.tool_name })
}

/// The key as the wire shows it: a GLOBAL document names its provider and no id.
pub(crate) fn wire_key(key: &DocumentKey) -> v1::DocumentKey {
    let (scope_id, provider) = match key.scope {
        Scope::Global => (String::new(), key.scope_id.clone()),
        _ => (key.scope_id.clone(), String::new()),
    };
    v1::DocumentKey {
        scope: words::wire_scope(key.scope).into(),
        scope_id,
        tool_name: key.tool_name.clone(),
        provider,
    }
}

#[cfg(test)]
mod tests;
