//! Whose trouble it is: the scope of a verdict and the user of its cooldown (R24…R29, C6, C7, DESIGN §4).

use health_model::{Classification, CredentialOwner, Failure, Scope};

use crate::facts::Facts;
use crate::rule::RuleScope;

use super::Call;
use super::finding::Finding;

/// The statuses of a failure, HTTP's and gRPC's: the reported ones, and those that its texts name as a rule sees them.
///
/// A limit, a bill or a missing right that only a text names is as much one caller's as a reported one. Where the two
/// differ, what either says of the caller counts: an answer of the outer one is never widened by what it quotes.
#[derive(Debug, Default)]
pub(super) struct Told {
    http: [Option<u16>; 2],
    grpc: Vec<&'static str>,
}

impl Told {
    pub(super) fn of(facts: &Facts<'_>) -> Self {
        Self { http: [facts.failure().http_status, facts.status()], grpc: facts.grpc_statuses().to_vec() }
    }

    /// Whether the failure is about who called: the 401 and 403 family (C6).
    pub(super) fn is_auth(&self) -> bool {
        self.has(&[401, 403], &["UNAUTHENTICATED", "PERMISSION_DENIED"])
    }

    /// Whether somebody called too often, or used too much.
    pub(super) fn is_rate(&self) -> bool {
        self.has(&[429], &["RESOURCE_EXHAUSTED"])
    }

    /// Whether a bill is due.
    pub(super) fn is_unpaid(&self) -> bool {
        self.has(&[402], &[])
    }

    /// Whether a server says that the fault is its own.
    pub(super) fn is_of_server(&self) -> bool {
        self.http.iter().flatten().any(|it| *it >= 500)
    }

    fn is_of_caller(&self) -> bool {
        self.is_auth() || self.is_rate() || self.is_unpaid() || self.has(&[407], &[])
    }

    fn has(&self, http: &[u16], grpc: &[&str]) -> bool {
        self.http.iter().flatten().any(|it| http.contains(it)) || self.grpc.iter().any(|it| grpc.contains(it))
    }
}

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
        None if follows_credential(finding) => of_credential,
        None => home,
    }
}

/// The user that the cooldown is for (R45): of a document of the user, the user; of a wider one nobody, except that one
/// user's own 401 or 403 must not hold up another's diagnosis (C6), nor one user's missing right another user (R46).
pub(super) fn cooldown_user<'a>(call: Call<'a>, finding: &Finding<'_>, scope: Scope) -> Option<&'a str> {
    let user = call.caller.user_id.as_deref();
    let is_personal = match finding.classification {
        Classification::Unclear => finding.told.is_auth() && owner(call.failure) == CredentialOwner::User,
        Classification::UserPermission => owner(call.failure) == CredentialOwner::User,
        _ => false,
    };
    user.filter(|_| scope == Scope::User || is_personal)
}

fn follows_credential(finding: &Finding<'_>) -> bool {
    matches!(
        finding.classification,
        Classification::UserSpecificTechnical | Classification::UserPermission | Classification::UserInput
    ) || finding.told.is_of_caller()
}

/// Unset counts as the user's.
pub(super) fn owner(failure: &Failure) -> CredentialOwner {
    failure.credential.unwrap_or(CredentialOwner::User)
}
