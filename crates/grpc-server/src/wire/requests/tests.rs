//! Requests of the tool health service: what is refused, what is taken as it comes.

use chrono::TimeZone as _;

use super::*;

fn now() -> Instant {
    chrono::Utc.with_ymd_and_hms(2026, 11, 30, 14, 0, 0).unwrap()
}

fn acme() -> Option<v1::Caller> {
    Some(v1::Caller { tenant_id: "acme".to_owned(), ..v1::Caller::default() })
}

fn named(name: &str) -> v1::Tool {
    v1::Tool { name: name.to_owned(), ..v1::Tool::default() }
}

fn fields(error: Error) -> Vec<String> {
    error.violations().into_iter().map(|it| it.field).collect()
}

#[test]
fn a_check_needs_a_tenant_and_a_tool_and_nothing_else() {
    let mut warnings = Warnings::default();
    let wire = v1::CheckRequest { caller: acme(), tool: Some(named("a")), ..v1::CheckRequest::default() };
    let (request, is_full) = check(wire.clone(), now(), &mut warnings).unwrap();
    assert_eq!((request.report_id, request.at_least, is_full), (None, None, false));
    let empty = v1::CheckRequest { report_id: "r".repeat(129), ..v1::CheckRequest::default() };
    assert_eq!(fields(check(empty, now(), &mut warnings).unwrap_err()), ["report_id", "caller", "tool"]);
    assert!(warnings.codes().is_empty());
}

/// A report is not refused for a revision that cannot be read, nor for an unknown level of detail.
#[test]
fn a_check_survives_odd_wishes() {
    let mut warnings = Warnings::default();
    let wire = v1::CheckRequest {
        caller: acme(),
        tool: Some(named("a")),
        at_least: "yesterday".to_owned(),
        detail: 77,
        ..v1::CheckRequest::default()
    };
    let (request, is_full) = check(wire, now(), &mut warnings).unwrap();
    assert_eq!((request.at_least, is_full), (None, false));
    assert_eq!(warnings.codes(), [(WarningCode::UnknownValue, "detail"), (WarningCode::Dropped, "at_least")]);
}

#[test]
fn too_many_tools_are_refused_with_the_limit() {
    let mut warnings = Warnings::default();
    let wire = v1::LookupRequest { caller: acme(), tools: vec![named("a"); 1_001], ..Default::default() };
    let error = lookup(wire, 1_000, &mut warnings).unwrap_err();
    assert_eq!(error.kind().0, ErrorReason::TooManyItems);
    assert_eq!(error.to_string(), "`tools` holds 1001 items, 1000 are allowed; send several requests");
}

#[test]
fn a_lookup_names_every_tool_that_has_no_name() {
    let mut warnings = Warnings::default();
    let tools = vec![named("a"), named(""), named("b"), named(&"x".repeat(257))];
    let wire = v1::LookupRequest { caller: acme(), tools, ..Default::default() };
    assert_eq!(fields(lookup(wire, 1_000, &mut warnings).unwrap_err()), ["tools[1].name", "tools[3].name"]);
}

/// DESIGN §5: per-item status in batches, in the order of the request.
#[test]
fn a_wrong_item_of_a_batch_leaves_the_others() {
    let mut warnings = Warnings::default();
    let success = |name: &str| v1::Success { tool: Some(named(name)), ..v1::Success::default() };
    let wire = v1::RecordSuccessRequest {
        caller: acme(),
        successes: vec![success("a"), success(""), v1::Success::default(), success("b")],
        ..Default::default()
    };
    let (request, places) = record_success(wire, 1_000, &mut warnings).unwrap();
    let names: Vec<_> = request.successes.iter().map(|it| it.tool.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let places: Vec<_> = places.into_iter().map(|it| it.map_err(|it| it.field)).collect();
    assert_eq!(
        places,
        [Ok(0), Err("successes[1].tool.name".to_owned()), Err("successes[2].tool".to_owned()), Ok(1)]
    );
    let none = v1::RecordSuccessRequest { caller: acme(), ..Default::default() };
    assert_eq!(fields(record_success(none, 1_000, &mut warnings).unwrap_err()), ["successes"]);
}

/// A success that carries evidence of a failure keeps it, whatever number it is.
#[test]
fn evidence_of_a_success_is_kept() {
    let read = |http_status| {
        let success = v1::Success { tool: Some(named("a")), http_status, ..v1::Success::default() };
        let wire =
            v1::RecordSuccessRequest { caller: acme(), successes: vec![success], ..Default::default() };
        let (request, _) = record_success(wire, 10, &mut Warnings::default()).unwrap();
        request.successes[0].is_a_failure()
    };
    assert!(!read(None) && !read(Some(200)) && !read(Some(-1)));
    assert!(read(Some(400)) && read(Some(503)) && read(Some(i32::MAX)));
}

#[test]
fn an_event_must_be_one_that_is_known() {
    let mut warnings = Warnings::default();
    let wire = v1::RecordEventRequest {
        caller: acme(),
        scope: v1::Scope::User.into(),
        scope_id: "s".repeat(257),
        tools: vec![named("a")],
        event: 99,
        reason: "r".repeat(501),
        ..Default::default()
    };
    let refused = record_event(wire.clone(), 10, now(), &mut warnings).unwrap_err();
    assert_eq!(fields(refused), ["scope", "scope_id", "reason", "event"]);
    let good = v1::RecordEventRequest {
        scope: v1::Scope::Session.into(),
        scope_id: "s1".to_owned(),
        event: v1::ToolEvent::ConnectionClosed.into(),
        reason: "laptop closed".to_owned(),
        tools: vec![named("a"), named("")],
        occurred_at: Some(super::super::time::timestamp(now() + chrono::TimeDelta::hours(1))),
        ..wire
    };
    let (request, places) = record_event(good, 10, now(), &mut warnings).unwrap();
    assert_eq!(request.scope, Some(Scope::Session));
    assert_eq!(request.occurred_at, Some(now()), "a clock that is ahead is clamped");
    assert!(places[0].is_ok() && places[1].is_err());
    assert_eq!(warnings.codes(), [(WarningCode::Clamped, "occurred_at")]);
}

/// One tenant cannot name another one's scope.
#[test]
fn an_event_at_the_tenant_is_the_callers_tenant() {
    let wire = v1::RecordEventRequest {
        caller: acme(),
        scope: v1::Scope::Tenant.into(),
        scope_id: "other".to_owned(),
        tools: vec![named("a")],
        event: v1::ToolEvent::ConnectionClosed.into(),
        ..Default::default()
    };
    let error = record_event(wire, 10, now(), &mut Warnings::default()).unwrap_err();
    assert_eq!(fields(error), ["scope_id"]);
}

#[test]
fn a_watch_refuses_a_revision_that_is_none() {
    let wire = v1::WatchRequest { caller: acme(), from_revision: "nope".to_owned(), ..Default::default() };
    assert_eq!(fields(watch(wire, 10, &mut Warnings::default()).unwrap_err()), ["from_revision"]);
    let wire =
        v1::WatchRequest { caller: acme(), from_revision: "epoch:17".to_owned(), ..Default::default() };
    let request = watch(wire, 10, &mut Warnings::default()).unwrap();
    assert_eq!(request.from.map(|it| it.position), Some(17));
}
