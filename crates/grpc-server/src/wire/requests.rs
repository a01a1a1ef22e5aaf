//! Requests of the tool health service: wire → use case.

use agrajag_proto::v1::{self, ErrorReason, WarningCode};
use health_model::{Instant, Scope, Tool};
use health_service::explain::ExplainRequest;
use health_service::settings::{Placement, Surface};
use health_service::{check, event, lookup, success, watch};
use ports::Revision;

use super::caller::{caller, known, tool};
use super::failure::{elapsed, failure, occurred_at};
use super::fields::{MAX_ID, Violations, Warnings, given};
use super::{time, words};
use crate::error::{Error, Violation};

/// Bytes of the name of a report.
const MAX_REPORT_ID: usize = 128;

/// Check. Whose state it is about must be said; how the call failed is taken as it comes.
pub(crate) fn check(
    wire: v1::CheckRequest,
    now: Instant,
    warnings: &mut Warnings,
) -> Result<(check::CheckRequest, bool), Error> {
    let mut violations = Violations::default();
    violations.optional("report_id", &wire.report_id, MAX_REPORT_ID);
    let caller = caller(wire.caller, &mut violations);
    let tool = tool(wire.tool, &|| "tool".to_owned(), &mut violations, warnings);
    violations.finish()?;
    let is_full = known(
        wire.detail,
        |it| v1::DetailLevel::try_from(it).ok().filter(|it| *it != v1::DetailLevel::Unspecified),
        || "detail".to_owned(),
        warnings,
    ) == Some(v1::DetailLevel::Full);
    let request = check::CheckRequest {
        caller,
        tool,
        failure: failure(wire.failure, now, warnings),
        report_id: given(wire.report_id),
        at_least: revision(&wire.at_least, warnings),
    };
    Ok((request, is_full))
}

/// A dry run of Check.
pub(crate) fn explain(
    wire: v1::ExplainRequest,
    now: Instant,
    warnings: &mut Warnings,
) -> Result<ExplainRequest, Error> {
    let mut violations = Violations::default();
    let caller = caller(wire.caller, &mut violations);
    let tool = tool(wire.tool, &|| "tool".to_owned(), &mut violations, warnings);
    violations.finish()?;
    let failure = failure(wire.failure, now, warnings);
    Ok(ExplainRequest { caller, tool, failure, rules_yaml: wire.rules_yaml })
}

/// The successes that can be taken in, and for each of the request either its place among them or what is wrong.
pub(crate) type Items<T> = (Vec<T>, Vec<Result<usize, Violation>>);

/// RecordSuccess. An item that is wrong is answered in its place; the others count.
pub(crate) fn record_success(
    wire: v1::RecordSuccessRequest,
    max_items: usize,
    warnings: &mut Warnings,
) -> Result<(success::RecordSuccessRequest, Vec<Result<usize, Violation>>), Error> {
    let mut violations = Violations::default();
    violations.optional("report_id", &wire.report_id, MAX_REPORT_ID);
    let caller = caller(wire.caller, &mut violations);
    count("successes", wire.successes.len(), max_items, true, &mut violations)?;
    violations.finish()?;
    let (successes, places) = items(wire.successes, |at, it| {
        let path = || format!("successes[{at}]");
        let mut violations = Violations::default();
        let tool = tool(it.tool, &|| format!("{}.tool", path()), &mut violations, warnings);
        match violations.first() {
            Some(it) => Err(it),
            None => Ok(success::Success {
                tool,
                ok: it.ok,
                // What no status can be proves nothing, unless it is beyond every success.
                http_status: it.http_status.and_then(|it| u16::try_from(it.min(999)).ok()),
                is_error: it.is_error,
                json_rpc_code: it.json_rpc_code,
                elapsed: it.elapsed.map(|it| elapsed(&it, &format!("{}.elapsed", path()), warnings)),
                signature: given(it.signature),
            }),
        }
    });
    let request = success::RecordSuccessRequest { caller, successes, report_id: given(wire.report_id) };
    Ok((request, places))
}

/// RecordEvent. What happened and where must be said in words that are known.
pub(crate) fn record_event(
    wire: v1::RecordEventRequest,
    max_items: usize,
    now: Instant,
    warnings: &mut Warnings,
) -> Result<(event::RecordEventRequest, Vec<Result<usize, Violation>>), Error> {
    use health_service::event::Event;
    let mut violations = Violations::default();
    let caller = caller(wire.caller, &mut violations);
    count("tools", wire.tools.len(), max_items, true, &mut violations)?;
    let scope = words::scope(wire.scope);
    if wire.scope != 0 && !matches!(scope, Some(Scope::Session | Scope::Project | Scope::Tenant)) {
        violations
            .push("scope", format!("is {}; give SESSION, PROJECT or TENANT, or leave it out", wire.scope));
    }
    violations.optional("scope_id", &wire.scope_id, MAX_ID);
    violations.optional("connection_id", &wire.connection_id, MAX_ID);
    violations.note("reason", &wire.reason);
    if !wire.scope_id.is_empty() && scope.is_none() {
        violations.push("scope_id", "is given without `scope`; name the scope that it belongs to");
    }
    if scope == Some(Scope::Tenant) && !wire.scope_id.is_empty() && wire.scope_id != caller.tenant_id {
        violations.push("scope_id", "is not the caller's tenant; at scope TENANT leave it out");
    }
    let event = match v1::ToolEvent::try_from(wire.event) {
        Ok(v1::ToolEvent::ConnectionOpened) => Event::ConnectionOpened,
        Ok(v1::ToolEvent::ConnectionClosed) => Event::ConnectionClosed,
        Ok(v1::ToolEvent::SubprocessKilled) => Event::SubprocessKilled,
        Ok(v1::ToolEvent::Unspecified) | Err(_) => {
            let message =
                format!("is {}; give CONNECTION_OPENED, CONNECTION_CLOSED or SUBPROCESS_KILLED", wire.event);
            violations.push("event", message);
            Event::ConnectionOpened
        }
    };
    violations.finish()?;
    let (tools, places) = items(wire.tools, |at, it| one_tool(it, at, warnings));
    let request = event::RecordEventRequest {
        caller,
        scope,
        scope_id: given(wire.scope_id),
        tools,
        event,
        connection_id: wire.connection_id,
        sequence: wire.sequence,
        occurred_at: wire.occurred_at.map(|it| occurred_at(&it, "occurred_at", now, warnings)),
        reason: wire.reason,
    };
    Ok((request, places))
}

/// Lookup. Every tool must have a name: an answer keeps the request's order.
pub(crate) fn lookup(
    wire: v1::LookupRequest,
    max_items: usize,
    warnings: &mut Warnings,
) -> Result<lookup::LookupRequest, Error> {
    let mut violations = Violations::default();
    let caller = caller(wire.caller, &mut violations);
    count("tools", wire.tools.len(), max_items, false, &mut violations)?;
    let tools = tools(wire.tools, &mut violations, warnings);
    violations.finish()?;
    let consistency = known(
        wire.consistency,
        |it| v1::Consistency::try_from(it).ok(),
        || "consistency".to_owned(),
        warnings,
    );
    Ok(lookup::LookupRequest {
        caller,
        tools,
        shown: wire.shown,
        at_least: revision(&wire.at_least, warnings),
        fresh: consistency == Some(v1::Consistency::Store),
        surface: known(wire.surface, surface, || "surface".to_owned(), warnings),
        placement: known(wire.placement, placement, || "placement".to_owned(), warnings),
    })
}

/// Watch. A revision that this service did not make is refused: going on from it would skip changes.
pub(crate) fn watch(
    wire: v1::WatchRequest,
    max_items: usize,
    warnings: &mut Warnings,
) -> Result<watch::WatchRequest, Error> {
    let mut violations = Violations::default();
    let caller = caller(wire.caller, &mut violations);
    count("tools", wire.tools.len(), max_items, false, &mut violations)?;
    let tools = tools(wire.tools, &mut violations, warnings);
    let from = given(wire.from_revision).and_then(|it| {
        let parsed = it.parse::<Revision>();
        if parsed.is_err() {
            violations.push("from_revision", "was not made by this service; leave it empty to begin anew");
        }
        parsed.ok()
    });
    violations.finish()?;
    Ok(watch::WatchRequest {
        caller,
        tools,
        from,
        // The service clamps what is out of its bounds.
        heartbeat: wire.heartbeat_interval.as_ref().map(time::length),
        surface: known(wire.surface, surface, || "surface".to_owned(), warnings),
        placement: known(wire.placement, placement, || "placement".to_owned(), warnings),
    })
}

/// Why an item of a batch was not taken in.
pub(crate) fn item_status(it: Violation) -> v1::ItemStatus {
    v1::ItemStatus {
        code: tonic::Code::InvalidArgument as i32,
        reason: ErrorReason::InvalidField.into(),
        message: format!("`{}` {}", it.field, it.message),
        field: it.field,
    }
}

/// A revision in a request that must not fail for it.
fn revision(text: &str, warnings: &mut Warnings) -> Option<Revision> {
    if text.is_empty() {
        return None;
    }
    let parsed = text.parse().ok();
    if parsed.is_none() {
        warnings.push(WarningCode::Dropped, "at_least", "was not made by this service and is passed over");
    }
    parsed
}

fn one_tool(wire: v1::Tool, at: usize, warnings: &mut Warnings) -> Result<Tool, Violation> {
    let mut violations = Violations::default();
    let tool = tool(Some(wire), &|| format!("tools[{at}]"), &mut violations, warnings);
    violations.first().map_or(Ok(tool), Err)
}

fn tools(wire: Vec<v1::Tool>, violations: &mut Violations, warnings: &mut Warnings) -> Vec<Tool> {
    wire.into_iter()
        .enumerate()
        .map(|(at, it)| tool(Some(it), &|| format!("tools[{at}]"), violations, warnings))
        .collect()
}

fn items<W, T>(wire: Vec<W>, mut read: impl FnMut(usize, W) -> Result<T, Violation>) -> Items<T> {
    let mut good = Vec::with_capacity(wire.len());
    let mut places = Vec::with_capacity(wire.len());
    for (at, it) in wire.into_iter().enumerate() {
        places.push(read(at, it).map(|it| {
            good.push(it);
            good.len() - 1
        }));
    }
    (good, places)
}

fn count(
    field: &'static str,
    n: usize,
    max: usize,
    must_be_some: bool,
    violations: &mut Violations,
) -> Result<(), Error> {
    if n > max {
        return Err(Error::TooManyItems { field, n, max });
    }
    if n == 0 && must_be_some {
        violations.push(field, format!("is empty; give 1 to {max}"));
    }
    Ok(())
}

fn surface(word: i32) -> Option<Surface> {
    match v1::SurfaceMode::try_from(word).ok()? {
        v1::SurfaceMode::Unspecified => None,
        v1::SurfaceMode::Annotate => Some(Surface::Annotate),
        v1::SurfaceMode::Stable => Some(Surface::Stable),
        v1::SurfaceMode::Hide => Some(Surface::Hide),
        v1::SurfaceMode::Demote => Some(Surface::Demote),
    }
}

fn placement(word: i32) -> Option<Placement> {
    match v1::Placement::try_from(word).ok()? {
        v1::Placement::Unspecified => None,
        v1::Placement::Block => Some(Placement::Block),
        v1::Placement::Description => Some(Placement::Description),
        v1::Placement::None => Some(Placement::None),
    }
}

pub(crate) const fn wire_surface(it: Surface) -> v1::SurfaceMode {
    match it {
        Surface::Annotate => v1::SurfaceMode::Annotate,
        Surface::Stable => v1::SurfaceMode::Stable,
        Surface::Hide => v1::SurfaceMode::Hide,
        Surface::Demote => v1::SurfaceMode::Demote,
    }
}

pub(crate) const fn wire_placement(it: Placement) -> v1::Placement {
    match it {
        Placement::Block => v1::Placement::Block,
        Placement::Description => v1::Placement::Description,
        Placement::None => v1::Placement::None,
    }
}

#[cfg(test)]
mod tests;
