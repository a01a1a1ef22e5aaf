//! Whose fault it is, what to do, and a hint for the person: closed tables by class, kind and owner.

use health_model::{
    Classification, CredentialOwner, DiagnosisState, DispatchCode, FailureKind, Fault, Remedy, ToolKind,
};

use crate::rule::RuleScope;

use super::finding::Finding;
use super::{Call, needs_reopening};

/// Whose fault it is, where no rule says so.
pub(super) fn fault(call: Call<'_>, classification: Classification, finding: &Finding<'_>) -> Fault {
    match classification {
        Classification::UserInput => Fault::CallerInput,
        Classification::UserPermission => Fault::UserRight,
        Classification::UserSpecificTechnical => Fault::UserCredential,
        // A rate is an account's.
        Classification::Intermittent
            if call.failure.http_status == Some(429) || finding.scope == Some(RuleScope::Credential) =>
        {
            Fault::UserCredential
        }
        Classification::Working => Fault::Unknown,
        Classification::TechnicallyBroken | Classification::Intermittent | Classification::Unclear => {
            technical_fault(call, classification, finding)
        }
    }
}

fn technical_fault(call: Call<'_>, classification: Classification, finding: &Finding<'_>) -> Fault {
    if call.failure.schema_violation {
        return Fault::ToolHost;
    }
    let is_hosted = matches!(call.tool.kind, Some(ToolKind::Client | ToolKind::Mcp));
    match finding.kind {
        Some(
            FailureKind::Dns
            | FailureKind::NetworkUnreachable
            | FailureKind::ConnectTimeout
            | FailureKind::ReadTimeout
            | FailureKind::Timeout
            | FailureKind::Reset,
        ) => Fault::Network,
        Some(FailureKind::NotStarted | FailureKind::Closed) => Fault::ToolHost,
        Some(FailureKind::ConnectRefused) if is_hosted => Fault::ToolHost,
        Some(FailureKind::ConnectRefused | FailureKind::Tls | FailureKind::Protocol) => Fault::Upstream,
        Some(FailureKind::Decode | FailureKind::ToolException | FailureKind::Cancelled) | None => {
            let is_server_error = call.failure.http_status.is_some_and(|it| it >= 500);
            if is_server_error || classification != Classification::Unclear {
                Fault::Upstream
            } else {
                Fault::Unknown
            }
        }
    }
}

/// What to do, where no rule says so.
pub(super) fn remedy(
    call: Call<'_>,
    classification: Classification,
    diagnosis: DiagnosisState,
    dispatch_code: Option<DispatchCode>,
) -> Remedy {
    match classification {
        Classification::UserInput => Remedy::FixInput,
        Classification::UserPermission => Remedy::AskAdmin,
        Classification::UserSpecificTechnical if is_shared_credential(call) => Remedy::AskAdmin,
        Classification::UserSpecificTechnical => Remedy::Reauthenticate,
        Classification::TechnicallyBroken => needs_reopening(call.tool, dispatch_code),
        Classification::Intermittent | Classification::Working => Remedy::RetryAt,
        Classification::Unclear if diagnosis == DiagnosisState::Enqueued => Remedy::AwaitDiagnosis,
        Classification::Unclear => Remedy::RetryAt,
    }
}

/// A hint for the person, where there is something that they can do. Fixed words but for the tool's name.
pub(super) fn user_hint(call: Call<'_>, classification: Classification, remedy: Remedy) -> Option<String> {
    let tool = &call.tool.name;
    match (classification, remedy) {
        (_, Remedy::ReopenSession) => {
            Some(format!("The client that runs `{tool}` is not connected: open it again."))
        }
        (Classification::UserSpecificTechnical, _) if call.failure.http_status == Some(402) => {
            Some(format!("The account behind `{tool}` has no quota left, or a bill is due: check its plan."))
        }
        (Classification::UserSpecificTechnical, _) if is_shared_credential(call) => {
            Some(format!("The shared credential of `{tool}` does not work: tell whoever looks after it."))
        }
        (Classification::UserSpecificTechnical, _) => {
            Some(format!("Your access to `{tool}` does not work: log in again or renew its credential."))
        }
        (Classification::UserPermission, _) => {
            Some(format!("You lack a right that `{tool}` needs: ask whoever grants it."))
        }
        _ => None,
    }
}

fn is_shared_credential(call: Call<'_>) -> bool {
    matches!(call.failure.credential, Some(CredentialOwner::Project | CredentialOwner::Tenant))
}
