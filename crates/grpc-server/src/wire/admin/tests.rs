//! What a write by hand may hold, and what is said where it may not.

use chrono::{TimeDelta, TimeZone as _};

use super::*;

fn now() -> Instant {
    chrono::Utc.with_ymd_and_hms(2026, 11, 30, 14, 0, 0).unwrap()
}

fn key_at(scope: v1::Scope, scope_id: &str) -> Option<v1::DocumentKey> {
    Some(v1::DocumentKey {
        scope: scope.into(),
        scope_id: scope_id.to_owned(),
        tool_name: "jira_search".to_owned(),
        provider: String::new(),
    })
}

fn fields<T: std::fmt::Debug>(result: Result<T, Error>) -> Vec<String> {
    result.unwrap_err().violations().into_iter().map(|it| it.field).collect()
}

#[test]
fn a_mark_has_the_class_of_its_status_by_default() {
    let request = v1::MarkUnavailableRequest {
        tenant_id: "acme".to_owned(),
        key: key_at(v1::Scope::Project, "essay"),
        expected_recovery_at: Some(time::timestamp(now() + TimeDelta::hours(1))),
        ..Default::default()
    };
    let change = mark_unavailable(request.clone(), now()).unwrap();
    assert_eq!(
        change.kind,
        AdminChange::Mark {
            status: Status::Down,
            classification: Classification::TechnicallyBroken,
            expected_recovery_at: Some(now() + TimeDelta::hours(1)),
            note: String::new(),
        }
    );
    let degraded = v1::MarkDegradedRequest {
        tenant_id: "acme".to_owned(),
        key: key_at(v1::Scope::Project, "essay"),
        ..Default::default()
    };
    let change = mark_degraded(degraded, now()).unwrap();
    assert!(matches!(change.kind, AdminChange::Mark { classification: Classification::Intermittent, .. }));
}

/// R3, R90: a missing right or a wrong input is no status that anybody can write.
#[test]
fn a_class_that_is_no_health_matter_is_refused() {
    for class in
        [v1::Classification::UserPermission, v1::Classification::UserInput, v1::Classification::Working]
    {
        let request = v1::MarkUnavailableRequest {
            tenant_id: "acme".to_owned(),
            key: key_at(v1::Scope::Project, "essay"),
            classification: class.into(),
            ..Default::default()
        };
        assert_eq!(fields(mark_unavailable(request, now())), ["classification"]);
    }
}

/// C7: what is one user's alone is written at that user.
#[test]
fn one_users_trouble_is_written_at_the_user() {
    let at = |key| v1::MarkUnavailableRequest {
        tenant_id: "acme".to_owned(),
        key,
        classification: v1::Classification::UserSpecificTechnical.into(),
        ..Default::default()
    };
    assert_eq!(fields(mark_unavailable(at(key_at(v1::Scope::Project, "essay")), now())), ["classification"]);
    assert!(mark_unavailable(at(key_at(v1::Scope::User, "alice")), now()).is_ok());
}

/// DESIGN §5: in a write every odd value is INVALID_ARGUMENT, all of them at once.
#[test]
fn a_write_names_everything_that_is_wrong() {
    let request = v1::SetHoldRequest {
        tenant_id: String::new(),
        key: key_at(v1::Scope::Project, ""),
        status: 77,
        reason: String::new(),
        until: Some(time::timestamp(now())),
        by: "b".repeat(129),
    };
    assert_eq!(
        fields(set_hold(request, now())),
        ["status", "reason", "until", "tenant_id", "key.scope_id", "by"]
    );
    let request = v1::SetCooldownRequest {
        tenant_id: "acme".to_owned(),
        key: key_at(v1::Scope::Project, "essay"),
        duration: Some(prost_types::Duration { seconds: -1, nanos: 0 }),
        note: "n".repeat(501),
        ..Default::default()
    };
    assert_eq!(fields(set_cooldown(request)), ["signature", "note", "duration", "classification"]);
}

#[test]
fn a_cooldown_without_duration_has_the_classs_own() {
    let request = v1::SetCooldownRequest {
        tenant_id: "acme".to_owned(),
        key: key_at(v1::Scope::User, "alice"),
        signature: "http-403".to_owned(),
        user_id: "alice".to_owned(),
        classification: v1::Classification::UserPermission.into(),
        ..Default::default()
    };
    let kind = AdminChange::SetCooldown {
        signature: "http-403".to_owned(),
        user_id: Some("alice".to_owned()),
        duration: None,
        classification: Classification::UserPermission,
    };
    assert_eq!(set_cooldown(request).unwrap().kind, kind);
}

/// Absent, empty and named users are three different wishes.
#[test]
fn cooldowns_of_all_of_nobody_and_of_one_are_told_apart() {
    for (wire, expected) in
        [(None, None), (Some(""), Some(None)), (Some("alice"), Some(Some("alice".to_owned())))]
    {
        let request = v1::ClearCooldownRequest {
            tenant_id: "acme".to_owned(),
            key: key_at(v1::Scope::Project, "essay"),
            signature: "http-403".to_owned(),
            user_id: wire.map(str::to_owned),
            by: String::new(),
        };
        let AdminChange::ClearCooldown { user_id, .. } = clear_cooldown(request).unwrap().kind else {
            panic!()
        };
        assert_eq!(user_id, expected);
    }
}

#[test]
fn a_deletion_says_what_it_deletes() {
    use v1::delete_documents_request::Target;
    let of = |tenant: &str, target| v1::DeleteDocumentsRequest {
        tenant_id: tenant.to_owned(),
        target,
        by: String::new(),
    };
    assert_eq!(fields(delete_documents(of("acme", None))), ["target"]);
    assert_eq!(fields(delete_documents(of("acme", Some(Target::WholeTenant(false))))), ["whole_tenant"]);
    assert_eq!(fields(delete_documents(of("", Some(Target::WholeTenant(true))))), ["tenant_id"]);
    assert_eq!(fields(delete_documents(of("acme", Some(Target::UserId(String::new()))))), ["user_id"]);
    let (selector, _) = delete_documents(of("acme", Some(Target::SessionId("s".to_owned())))).unwrap();
    assert_eq!(
        selector,
        DeleteSelector::Session { tenant_id: "acme".to_owned(), session_id: "s".to_owned() }
    );
}

#[test]
fn a_list_of_global_documents_needs_no_tenant_and_every_other_does() {
    let global = v1::ListDocumentsRequest { scope: v1::Scope::Global.into(), ..Default::default() };
    assert_eq!(document_filter(&global).unwrap().tenant_id, "");
    assert_eq!(fields(document_filter(&v1::ListDocumentsRequest::default())), ["tenant_id"]);
    let odd = v1::ListDocumentsRequest {
        tenant_id: "acme".to_owned(),
        status: 9,
        scope: 99,
        scope_id: "x".to_owned(),
        ..Default::default()
    };
    assert_eq!(fields(document_filter(&odd)), ["scope", "status", "scope_id"]);
    let odd = v1::ListJobsRequest { state: 42, ..Default::default() };
    assert_eq!(fields(job_filter(&odd)), ["tenant_id", "state"]);
}
