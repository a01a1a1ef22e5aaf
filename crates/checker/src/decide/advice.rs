//! Whose fault it is, why, and what to do: closed tables by class, kind, reason and owner.

use health_model::words::Reason;
use health_model::{
    Classification, CredentialOwner, DiagnosisState, DispatchCode, FailureKind, Fault, Remedy, RetryBasis,
    ToolKind,
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
        // Whoever limits does so; the credential is good.
        Classification::Intermittent
            if finding.told.is_rate() || finding.scope == Some(RuleScope::Credential) =>
        {
            Fault::Upstream
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
            if finding.told.is_of_server() || classification != Classification::Unclear {
                Fault::Upstream
            } else {
                Fault::Unknown
            }
        }
    }
}

/// Why it failed, where more is known than the class: the words of the signature, then what the statuses say.
pub(super) fn reason(class: Classification, finding: &Finding<'_>) -> Option<Reason> {
    let named = Reason::of(class, &finding.signature);
    match (class, named) {
        // Nobody answers 402 to a bad credential.
        (Classification::UserSpecificTechnical, Some(Reason::Credential) | None)
            if finding.told.is_unpaid() =>
        {
            Some(Reason::Payment)
        }
        (Classification::UserSpecificTechnical, None) => {
            let says_otherwise = finding.remedy.is_some_and(|it| it != Remedy::Reauthenticate)
                && class == finding.classification;
            match finding.told.is_rate() {
                true => Some(Reason::Quota),
                false => (!says_otherwise).then_some(Reason::Credential),
            }
        }
        (Classification::Intermittent, None) if finding.told.is_rate() => Some(Reason::RateLimit),
        (Classification::Intermittent, None) if finding.scope == Some(RuleScope::Credential) => {
            Some(Reason::MaybeRateLimit)
        }
        (_, named) => named,
    }
}

/// What to do, where no rule says so. `basis` is how a time to call again is founded, if there is one.
pub(super) fn remedy(
    call: Call<'_>,
    classification: Classification,
    reason: Option<Reason>,
    diagnosis: DiagnosisState,
    basis: Option<RetryBasis>,
    dispatch_code: Option<DispatchCode>,
) -> Remedy {
    match classification {
        Classification::UserInput => Remedy::FixInput,
        Classification::UserPermission => Remedy::AskAdmin,
        Classification::UserSpecificTechnical => of_account(call, reason, basis),
        Classification::TechnicallyBroken => needs_reopening(call.tool, dispatch_code),
        Classification::Intermittent | Classification::Working => Remedy::RetryAt,
        Classification::Unclear if diagnosis == DiagnosisState::Enqueued => Remedy::AwaitDiagnosis,
        Classification::Unclear => Remedy::RetryAt,
    }
}

/// A new login helps against a credential that does not work, and against nothing else; waiting where the other side
/// says until when.
fn of_account(call: Call<'_>, reason: Option<Reason>, basis: Option<RetryBasis>) -> Remedy {
    let is_said = basis.is_some_and(|it| it != RetryBasis::Computed);
    let is_shared =
        matches!(call.failure.credential, Some(CredentialOwner::Project | CredentialOwner::Tenant));
    match reason {
        Some(Reason::Quota | Reason::AccountShut) if is_said => Remedy::RetryAt,
        Some(Reason::Credential) if !is_shared => Remedy::Reauthenticate,
        _ => Remedy::AskAdmin,
    }
}
