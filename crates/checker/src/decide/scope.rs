//! Whose trouble it is: the scope of a verdict and the user of its cooldown (R24…R29, C6, C7, DESIGN §4).

use health_model::{Classification, CredentialOwner, Failure, Scope};

use crate::rule::RuleScope;

use super::Call;
use super::finding::Finding;

/// The scope that the verdict belongs to. Never GLOBAL.
///
/// Trouble of a credential, right, quota or rate follows the credential; everything else goes to the tool's home. A rule
/// may say otherwise, but the trouble of a user's own credential stays with the user (C7).
pub(super) fn of(call: Call<'_>, finding: &Finding<'_>) -> Scope {
    let home = call.tool.home_scope();
    let of_credential = match owner(call.failure) {
        CredentialOwner::User => Scope::User,
        CredentialOwner::Project => Scope::Project,
        CredentialOwner::Tenant => Scope::Tenant,
        CredentialOwner::None => home,
    };
    if finding.classification == Classification::UserSpecificTechnical && of_credential == Scope::User {
        return Scope::User;
    }
    match finding.scope {
        Some(RuleScope::Session) => Scope::Session,
        Some(RuleScope::User) => Scope::User,
        Some(RuleScope::Project) => Scope::Project,
        Some(RuleScope::Tenant) => Scope::Tenant,
        Some(RuleScope::Home) => home,
        Some(RuleScope::Credential) => of_credential,
        None if follows_credential(call.failure, finding.classification) => of_credential,
        None => home,
    }
}

/// The user that the cooldown is for (R45): of a document of the user, the user; of a wider one nobody, except that one
/// user's own 401 or 403 must not hold up another's diagnosis (C6), nor one user's missing right another user (R46).
pub(super) fn cooldown_user<'a>(call: Call<'a>, finding: &Finding<'_>, scope: Scope) -> Option<&'a str> {
    let user = call.caller.user_id.as_deref();
    let is_personal = match finding.classification {
        Classification::Unclear => {
            is_auth_family(call.failure) && owner(call.failure) == CredentialOwner::User
        }
        Classification::UserPermission => owner(call.failure) == CredentialOwner::User,
        _ => false,
    };
    user.filter(|_| scope == Scope::User || is_personal)
}

/// Whether the failure is about who called: the 401 and 403 family, of HTTP and of gRPC (C6).
pub(super) fn is_auth_family(failure: &Failure) -> bool {
    matches!(failure.http_status, Some(401 | 403))
        || matches!(failure.grpc_status.as_deref(), Some("UNAUTHENTICATED" | "PERMISSION_DENIED"))
}

fn follows_credential(failure: &Failure, classification: Classification) -> bool {
    matches!(
        classification,
        Classification::UserSpecificTechnical | Classification::UserPermission | Classification::UserInput
    ) || is_auth_family(failure)
        || matches!(failure.http_status, Some(402 | 407 | 429))
}

/// Unset counts as the user's.
pub(super) fn owner(failure: &Failure) -> CredentialOwner {
    failure.credential.unwrap_or(CredentialOwner::User)
}
