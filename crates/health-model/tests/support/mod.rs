//! Builders for the tests of the model.
#![allow(dead_code, reason = "each test binary uses a part")]

use chrono::{TimeDelta, TimeZone, Utc};
use health_model::cooldown::Window;
use health_model::transition::{self, Change, Mark};
use health_model::{
    Caller, Classification, Document, DocumentKey, EffectKind, EtaBasis, Instant, Origin, Policy, Scope,
    Status, Tool,
};

/// 2026-11-30 14:00:00 UTC plus seconds.
pub(crate) fn t(seconds: i64) -> Instant {
    Utc.with_ymd_and_hms(2026, 11, 30, 14, 0, 0).unwrap() + TimeDelta::seconds(seconds)
}

pub(crate) fn key(scope: Scope, id: &str) -> DocumentKey {
    let tenant_id = if scope == Scope::Global { "" } else { "acme" };
    DocumentKey {
        tenant_id: tenant_id.to_owned(),
        scope,
        scope_id: id.to_owned(),
        tool_name: "jira_search".to_owned(),
    }
}

pub(crate) fn new(scope: Scope, id: &str) -> Document {
    Document::new(key(scope, id), t(0))
}

pub(crate) fn mark(status: Status, eta: Option<Instant>) -> Mark {
    let classification = match status {
        Status::Ok => Classification::Working,
        Status::Degraded => Classification::Intermittent,
        Status::Down => Classification::TechnicallyBroken,
    };
    Mark {
        status,
        classification,
        expected_recovery_at: eta,
        eta_basis: EtaBasis::Computed,
        origin: Origin::Checker,
        signature: Some("connect-refused".to_owned()),
        user_id: None,
        by: "checker".to_owned(),
        note: String::new(),
    }
}

pub(crate) fn apply(document: &mut Document, kind: &EffectKind, at: Instant) -> Change {
    transition::apply(document, kind, &Policy::default(), at)
}

/// A document that was marked at `at`.
pub(crate) fn marked(scope: Scope, id: &str, status: Status, eta: Option<Instant>, at: Instant) -> Document {
    let mut document = new(scope, id);
    apply(&mut document, &EffectKind::Mark(mark(status, eta)), at);
    document
}

pub(crate) fn open(signature: &str, user: Option<&str>, class: Classification) -> EffectKind {
    EffectKind::OpenCooldown {
        signature: signature.to_owned(),
        user_id: user.map(str::to_owned),
        classification: class,
        window: Window::Default,
    }
}

pub(crate) fn alice() -> Caller {
    Caller {
        tenant_id: "acme".to_owned(),
        project_id: "essay".to_owned(),
        user_id: Some("alice".to_owned()),
        session_id: Some("s1".to_owned()),
        locale: None,
    }
}

pub(crate) fn tool() -> Tool {
    Tool { name: "jira_search".to_owned(), ..Tool::default() }
}
