//! Requests of the admin service: wire → use case, strictly: what is odd is refused, all of it at once (DESIGN §5).

use agrajag_proto::v1;
use health_model::vocabulary::{Classification, Scope, Status};
use health_model::{DocumentKey, Instant};
use health_service::admin::AdminChange;
use ports::{DeleteSelector, DocumentFilter, JobFilter, RuleLayerKey};

use super::caller::document_key;
use super::fields::{MAX_ID, MAX_NAME, Violations, given};
use super::{jobs, time, words};
use crate::error::Error;

/// A change of one document, who makes it, and their note for the audit log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub(crate) key: DocumentKey,
    pub(crate) kind: AdminChange,
    pub(crate) by: String,
    pub(crate) note: String,
}

/// One document.
pub(crate) fn key(tenant_id: &str, wire: Option<v1::DocumentKey>) -> Result<DocumentKey, Error> {
    let mut violations = Violations::default();
    let key = document_key(tenant_id, wire, &mut violations);
    violations.finish()?;
    key.ok_or(Error::Internal)
}

pub(crate) fn mark_unavailable(it: v1::MarkUnavailableRequest, now: Instant) -> Result<Change, Error> {
    let mut violations = Violations::default();
    let classification = class(
        it.classification,
        Some(Classification::TechnicallyBroken),
        &[Classification::TechnicallyBroken, Classification::UserSpecificTechnical],
        &mut violations,
    );
    let is_users = classification == Classification::UserSpecificTechnical;
    let at_user = it.key.as_ref().and_then(|it| words::scope(it.scope)) == Some(Scope::User);
    if is_users && !at_user {
        violations.push("classification", "USER_SPECIFIC_TECHNICAL is only written at scope USER");
    }
    violations.note("note", &it.note);
    let kind = AdminChange::Mark {
        status: Status::Down,
        classification,
        expected_recovery_at: future(it.expected_recovery_at, "expected_recovery_at", now, &mut violations),
        note: it.note,
    };
    change(&it.tenant_id, it.key, kind, it.by, String::new(), violations)
}

pub(crate) fn mark_degraded(it: v1::MarkDegradedRequest, now: Instant) -> Result<Change, Error> {
    let mut violations = Violations::default();
    violations.note("note", &it.note);
    let kind = AdminChange::Mark {
        status: Status::Degraded,
        classification: class(
            it.classification,
            Some(Classification::Intermittent),
            &[Classification::Intermittent, Classification::Unclear],
            &mut violations,
        ),
        expected_recovery_at: future(it.expected_recovery_at, "expected_recovery_at", now, &mut violations),
        note: it.note,
    };
    change(&it.tenant_id, it.key, kind, it.by, String::new(), violations)
}

pub(crate) fn mark_available(it: v1::MarkAvailableRequest) -> Result<Change, Error> {
    let mut violations = Violations::default();
    violations.note("note", &it.note);
    let kind = AdminChange::Mark {
        status: Status::Ok,
        classification: Classification::Working,
        expected_recovery_at: None,
        note: it.note,
    };
    change(&it.tenant_id, it.key, kind, it.by, String::new(), violations)
}

pub(crate) fn set_hold(it: v1::SetHoldRequest, now: Instant) -> Result<Change, Error> {
    let mut violations = Violations::default();
    let status = words::status(it.status).unwrap_or_else(|| {
        violations.push("status", format!("is {}; give OK, DEGRADED or DOWN", it.status));
        Status::Ok
    });
    if it.reason.is_empty() {
        violations.push("reason", "is empty; say why, in 1 to 500 characters");
    }
    violations.note("reason", &it.reason);
    let until = future(it.until, "until", now, &mut violations);
    let kind = AdminChange::SetHold { status, reason: it.reason, until };
    change(&it.tenant_id, it.key, kind, it.by, String::new(), violations)
}

pub(crate) fn release_hold(it: v1::ReleaseHoldRequest) -> Result<Change, Error> {
    let kind = AdminChange::ReleaseHold;
    change(&it.tenant_id, it.key, kind, it.by, String::new(), Violations::default())
}

pub(crate) fn set_cooldown(it: v1::SetCooldownRequest) -> Result<Change, Error> {
    let mut violations = Violations::default();
    violations.required("signature", &it.signature, MAX_NAME);
    violations.optional("user_id", &it.user_id, MAX_ID);
    violations.note("note", &it.note);
    let duration = it.duration.and_then(|it| {
        let delta = time::delta(&it).filter(|it| *it > chrono::TimeDelta::zero());
        if delta.is_none() {
            violations
                .push("duration", "is not more than zero; give a length, or leave it out for the default");
        }
        delta
    });
    let allowed: Vec<_> =
        Classification::ALL.iter().copied().filter(|it| *it != Classification::Working).collect();
    let kind = AdminChange::SetCooldown {
        signature: it.signature,
        user_id: given(it.user_id),
        duration,
        classification: class(it.classification, None, &allowed, &mut violations),
    };
    change(&it.tenant_id, it.key, kind, it.by, it.note, violations)
}

pub(crate) fn clear_cooldown(it: v1::ClearCooldownRequest) -> Result<Change, Error> {
    let mut violations = Violations::default();
    violations.optional("signature", &it.signature, MAX_NAME);
    if let Some(user) = &it.user_id {
        violations.optional("user_id", user, MAX_ID);
    }
    let kind = AdminChange::ClearCooldown { signature: it.signature, user_id: it.user_id.map(given) };
    change(&it.tenant_id, it.key, kind, it.by, String::new(), violations)
}

pub(crate) fn clear_document(it: v1::ClearDocumentRequest) -> Result<Change, Error> {
    let mut violations = Violations::default();
    violations.note("note", &it.note);
    change(&it.tenant_id, it.key, AdminChange::Clear, it.by, it.note, violations)
}

pub(crate) fn delete_documents(it: v1::DeleteDocumentsRequest) -> Result<(DeleteSelector, String), Error> {
    use v1::delete_documents_request::Target;
    let mut violations = Violations::default();
    violations.optional("by", &it.by, MAX_NAME);
    let tenant_id = it.tenant_id;
    let selector = match it.target {
        None => {
            violations.push("target", "is missing; give `key`, `user_id`, `session_id` or `whole_tenant`");
            None
        }
        Some(Target::Key(key)) => {
            document_key(&tenant_id, Some(key), &mut violations).map(DeleteSelector::One)
        }
        Some(Target::UserId(user_id)) => {
            violations.required("tenant_id", &tenant_id, MAX_ID);
            violations.required("user_id", &user_id, MAX_ID);
            Some(DeleteSelector::User { tenant_id, user_id })
        }
        Some(Target::SessionId(session_id)) => {
            violations.required("tenant_id", &tenant_id, MAX_ID);
            violations.required("session_id", &session_id, MAX_ID);
            Some(DeleteSelector::Session { tenant_id, session_id })
        }
        Some(Target::WholeTenant(is_meant)) => {
            violations.required("tenant_id", &tenant_id, MAX_ID);
            if !is_meant {
                violations.push("whole_tenant", "is false; set it to true, or name another target");
            }
            Some(DeleteSelector::Tenant { tenant_id })
        }
    };
    violations.finish()?;
    Ok((selector.ok_or(Error::Internal)?, it.by))
}

/// The filter of a list; GLOBAL documents belong to no tenant.
pub(crate) fn document_filter(it: &v1::ListDocumentsRequest) -> Result<DocumentFilter, Error> {
    let mut violations = Violations::default();
    let scope = words::scope(it.scope);
    if it.scope != 0 && scope.is_none() {
        violations.push("scope", format!("is {}; give SESSION, USER, PROJECT, TENANT or GLOBAL", it.scope));
    }
    let status = words::status(it.status);
    if it.status != 0 && status.is_none() {
        violations.push("status", format!("is {}; give OK, DEGRADED or DOWN", it.status));
    }
    let tenant_id = if scope == Some(Scope::Global) {
        String::new()
    } else {
        violations.required("tenant_id", &it.tenant_id, MAX_ID);
        it.tenant_id.clone()
    };
    violations.optional("scope_id", &it.scope_id, MAX_ID);
    if !it.scope_id.is_empty() && scope.is_none() {
        violations.push("scope_id", "is given without `scope`; name the scope that it belongs to");
    }
    violations.optional("tool_name", &it.tool_name, MAX_ID);
    violations.finish()?;
    Ok(DocumentFilter {
        tenant_id,
        scope,
        scope_id: given(it.scope_id.clone()),
        tool_name: given(it.tool_name.clone()),
        status,
    })
}

pub(crate) fn job_filter(it: &v1::ListJobsRequest) -> Result<JobFilter, Error> {
    let mut violations = Violations::default();
    violations.required("tenant_id", &it.tenant_id, MAX_ID);
    violations.optional("tool_name", &it.tool_name, MAX_ID);
    let state = jobs::state(it.state).unwrap_or_else(|word| {
        violations.push("state", format!("is {word}; give QUEUED, RUNNING, DONE or STALE"));
        None
    });
    violations.finish()?;
    Ok(JobFilter {
        tenant_id: it.tenant_id.clone(),
        state,
        tool_name: given(it.tool_name.clone()),
        ..JobFilter::default()
    })
}

/// The name of a rule layer, and who writes it.
pub(crate) fn layer_key(tenant_id: String, project_id: String, by: &str) -> Result<RuleLayerKey, Error> {
    let mut violations = Violations::default();
    violations.required("tenant_id", &tenant_id, MAX_ID);
    violations.optional("project_id", &project_id, MAX_ID);
    violations.optional("by", by, MAX_NAME);
    violations.finish()?;
    Ok(RuleLayerKey { tenant_id, project_id: given(project_id) })
}

fn change(
    tenant_id: &str,
    key: Option<v1::DocumentKey>,
    kind: AdminChange,
    by: String,
    note: String,
    mut violations: Violations,
) -> Result<Change, Error> {
    let key = document_key(tenant_id, key, &mut violations);
    violations.optional("by", &by, MAX_NAME);
    violations.finish()?;
    Ok(Change { key: key.ok_or(Error::Internal)?, kind, by, note })
}

fn class(
    word: i32,
    default: Option<Classification>,
    allowed: &[Classification],
    violations: &mut Violations,
) -> Classification {
    let said = if word == 0 { default } else { words::classification(word) };
    said.filter(|it| allowed.contains(it)).unwrap_or_else(|| {
        let words: Vec<_> = allowed.iter().map(|it| it.as_str()).collect();
        let shown = v1::Classification::try_from(word).map_or_else(
            |_| word.to_string(),
            |it| it.as_str_name().trim_start_matches("CLASSIFICATION_").to_owned(),
        );
        violations.push("classification", format!("is {shown}; give {}", words.join(", ")));
        Classification::Unclear
    })
}

fn future(
    wire: Option<prost_types::Timestamp>,
    field: &str,
    now: Instant,
    violations: &mut Violations,
) -> Option<Instant> {
    let at = time::instant(&wire?);
    match at {
        None => violations.push(field, "is no time of the calendar"),
        Some(at) if at <= now => violations.push(field, format!("is {at}, which is not in the future")),
        Some(_) => {}
    }
    at
}

#[cfg(test)]
mod tests;
