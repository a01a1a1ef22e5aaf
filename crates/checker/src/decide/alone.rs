//! Deciding by the rules alone, to compare rules with labels or with other rules.

use health_model::{Caller, Cascade, Failure, Instant, Policy, Tool, View};

use crate::table::RuleTable;

use super::{Decision, Settings, decide};

/// Decides one failed call of a project as if nothing were on record, for a caller who has every id.
#[must_use]
#[expect(
    clippy::too_many_arguments,
    reason = "each is a different thing, and all are borrowed for the call alone"
)]
pub fn decide_alone(
    table: &RuleTable,
    tenant_id: &str,
    project_id: &str,
    tool: &Tool,
    failure: &Failure,
    policy: &Policy,
    settings: &Settings,
    now: Instant,
) -> Decision {
    let caller = Caller {
        tenant_id: tenant_id.to_owned(),
        project_id: project_id.to_owned(),
        user_id: Some("u".to_owned()),
        session_id: Some("s".to_owned()),
        locale: None,
    };
    let view = View { cascade: Cascade::default(), user_id: caller.user_id.as_deref() };
    decide(table, &caller, tool, failure, &view, policy, settings, now)
}
