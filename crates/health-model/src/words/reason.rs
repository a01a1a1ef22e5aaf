//! Why a call failed, where more is known than the class: the one derivation that words, hints and remedies rest on.

use crate::vocabulary::Classification;

/// Why a call failed, where more is known than the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The credential is expired, revoked, missing or wrong: whoever owns it renews it.
    Credential,
    /// The account has used up what it may use. Some allowances fill again at a time.
    Quota,
    /// A bill is due, or the plan does not cover the call. No time helps.
    Payment,
    /// The account is locked, suspended, closed or not yet active.
    AccountShut,
    /// The account works, and is not set up for this.
    AccountSetting,
    /// The other side limits how often it may be called.
    RateLimit,
    /// It passes, and may be a rate limit: the rule says that it follows the credential, and no more.
    MaybeRateLimit,
    /// Too much work at this moment.
    Overload,
    /// Two wanted the same thing at once.
    Lock,
    /// A person or the host said no to this call.
    Declined,
    /// This side gave up on the call.
    Stopped,
    /// The host does not offer this tool here.
    Disallowed,
    /// No source of tools knows the name.
    UnknownTool,
}

impl Reason {
    /// Every reason.
    pub const ALL: &'static [Self] = &[
        Self::Credential,
        Self::Quota,
        Self::Payment,
        Self::AccountShut,
        Self::AccountSetting,
        Self::RateLimit,
        Self::MaybeRateLimit,
        Self::Overload,
        Self::Lock,
        Self::Declined,
        Self::Stopped,
        Self::Disallowed,
        Self::UnknownTool,
    ];

    /// What the words of a signature say of a health signal's reason: `quota-exhausted`, `account-locked`,
    /// `github-rate-limit`. `None` where they say no more than the class.
    #[must_use]
    pub fn of(classification: Classification, signature: &str) -> Option<Self> {
        let table = match classification {
            Classification::UserSpecificTechnical => ACCOUNT,
            Classification::Intermittent => PASSING,
            _ => return None,
        };
        named(table, signature)
    }

    /// As [`Reason::of`], of what is no health signal: `refused-by-user`, `stopped`.
    #[must_use]
    pub fn of_no_signal(classification: Classification, signature: &str) -> Option<Self> {
        Self::of(classification, signature).or_else(|| named(REFUSED, signature))
    }
}

type Table = &'static [(Reason, &'static [&'static str])];

/// The first row with a word of the signature counts: `key-limit` and `token-locked` are about the account,
/// `billing-token-expired` and `subscription-key` about the credential.
const ACCOUNT: Table = &[
    (Reason::Quota, &["quota", "quotas", "limit", "limits", "allowance", "credits", "exhausted"]),
    (
        Reason::AccountShut,
        &[
            "locked",
            "lockout",
            "suspended",
            "shut",
            "disabled",
            "deactivated",
            "blocked",
            "banned",
            "frozen",
            "closed",
            "inactive",
        ],
    ),
    (
        Reason::Credential,
        &[
            "credential",
            "credentials",
            "token",
            "key",
            "login",
            "sign",
            "password",
            "auth",
            "unauthorized",
            "401",
        ],
    ),
    (
        Reason::Payment,
        &[
            "payment",
            "bill",
            "billing",
            "unpaid",
            "invoice",
            "plan",
            "subscription",
            "trial",
            "licence",
            "license",
            "credit",
            "balance",
            "funds",
            "money",
            "402",
        ],
    ),
    (Reason::AccountSetting, &["account", "setting", "settings"]),
];

const PASSING: Table = &[
    (Reason::RateLimit, &["rate", "ratelimit", "throttled", "throttling", "throttle", "429"]),
    (Reason::Overload, &["overloaded", "overload", "busy", "capacity"]),
    (Reason::Lock, &["lock", "locked", "deadlock", "conflict"]),
];

const REFUSED: Table = &[
    (Reason::Declined, &["refused", "declined", "denied", "rejected", "vetoed"]),
    (Reason::Stopped, &["stopped", "interrupted", "aborted", "cancelled", "canceled"]),
    (Reason::Disallowed, &["disallowed"]),
];

fn named(table: Table, signature: &str) -> Option<Reason> {
    let has = |word: &&str| {
        signature.split(|it: char| !it.is_alphanumeric()).any(|part| part.eq_ignore_ascii_case(word))
    };
    table.iter().find(|(_, words)| words.iter().any(has)).map(|(reason, _)| *reason)
}

#[cfg(test)]
mod tests {
    use Classification::{Intermittent, TechnicallyBroken, Unclear, UserPermission, UserSpecificTechnical};

    use super::*;

    #[test]
    fn a_signature_says_why() {
        for (class, signature, reason) in [
            (UserSpecificTechnical, "quota-exhausted", Some(Reason::Quota)),
            (UserSpecificTechnical, "billing-over-quota", Some(Reason::Quota)),
            (UserSpecificTechnical, "account-limit", Some(Reason::Quota)),
            (UserSpecificTechnical, "account-locked", Some(Reason::AccountShut)),
            (UserSpecificTechnical, "User_Suspended", Some(Reason::AccountShut)),
            (UserSpecificTechnical, "http-402", Some(Reason::Payment)),
            (UserSpecificTechnical, "asana-plan", Some(Reason::Payment)),
            (UserSpecificTechnical, "http-401-expired", Some(Reason::Credential)),
            (UserSpecificTechnical, "billing-token-expired", Some(Reason::Credential)),
            (UserSpecificTechnical, "account-setting", Some(Reason::AccountSetting)),
            // `credential` holds `credit` neither as a word nor as a part.
            (UserSpecificTechnical, "github-credential", Some(Reason::Credential)),
            (UserSpecificTechnical, "elicitation-required", None),
            (Intermittent, "http-429", Some(Reason::RateLimit)),
            (Intermittent, "github-rate-limit", Some(Reason::RateLimit)),
            (Intermittent, "process-limit", None),
            (Intermittent, "terraform-lock", Some(Reason::Lock)),
            (Intermittent, "overloaded", Some(Reason::Overload)),
            (TechnicallyBroken, "billing-token-locked", None),
            (Unclear, "http-429", None),
        ] {
            assert_eq!(Reason::of(class, signature), reason, "{class} {signature}");
        }
        assert_eq!(Reason::of_no_signal(UserPermission, "refused-by-user"), Some(Reason::Declined));
        assert_eq!(Reason::of_no_signal(Unclear, "stopped"), Some(Reason::Stopped));
        assert_eq!(Reason::of_no_signal(Intermittent, "lock"), Some(Reason::Lock));
    }
}
