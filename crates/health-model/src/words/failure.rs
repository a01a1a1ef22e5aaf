//! The words after a failed call: for the model, and a hint for the person.

use chrono::{DurationRound, TimeDelta};

use super::Reason;
use crate::Instant;
use crate::vocabulary::{Classification, Remedy, RetryBasis};

/// What the words of a failed call are made of.
#[derive(Debug, Clone, Copy)]
pub struct Failed<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The signature of the error.
    pub signature: &'a str,
    /// The class.
    pub classification: Classification,
    /// Why it failed, where more is known than the class.
    pub reason: Option<Reason>,
    /// What to do.
    pub remedy: Remedy,
    /// When to call again, and how that is founded.
    pub retry: Option<(Instant, RetryBasis)>,
    /// False for what says nothing of the tool: refusals by policy, cancellations.
    pub is_health_signal: bool,
}

/// The text for the model after a failed call. Begins with the failure, says that no data came back, then what to do.
#[must_use]
pub fn failure_text(failed: &Failed<'_>) -> String {
    let Failed { tool, signature, .. } = failed;
    let (what, advice) = (what(failed), advice(failed));
    format!(
        "Call of `{tool}` failed ({signature}): {what}. No data came back: do not report or assume a result. {advice}"
    )
}

fn what(failed: &Failed<'_>) -> &'static str {
    match (failed.reason, failed.classification) {
        (Some(Reason::UnknownTool), _) => "no tool of this name is registered",
        (Some(Reason::Disallowed), _) => "this tool is not allowed here",
        (Some(Reason::Declined), _) => "the user or the host declined this call",
        (Some(Reason::Stopped), _) => "the call was stopped on this side",
        (Some(Reason::Credential), _) => "the credential that it is called with does not work",
        (Some(Reason::Quota), _) => "the account behind it has no quota left, or a bill is due",
        (Some(Reason::Payment), _) => {
            "a bill of the account behind it is due, or its plan does not cover this call"
        }
        (Some(Reason::AccountShut), _) => "the account behind it is locked, suspended or not active",
        (Some(Reason::AccountSetting), _) => "the account behind it is not set up for this call",
        (Some(Reason::RateLimit), _) => "a rate limit is reached",
        (Some(Reason::MaybeRateLimit), _) => "a passing fault or a rate limit",
        (Some(Reason::Overload), _) => "it is overloaded at this moment",
        (Some(Reason::Lock), _) => "something else holds or has just changed what the call needs",
        (None, Classification::UserInput) => "the arguments do not fit; the tool itself works",
        (None, _) if !failed.is_health_signal => {
            "the call was refused or stopped, which says nothing of the tool's health"
        }
        (None, Classification::TechnicallyBroken) => "the tool is out of order for everybody who shares it",
        (None, Classification::UserSpecificTechnical) => "this user's access to it does not work",
        (None, Classification::UserPermission) => "this user lacks the right to do that",
        (None, Classification::Intermittent) => "a passing fault",
        (None, Classification::Working) => "the call failed although the tool was seen to work",
        (None, Classification::Unclear) => "the cause is not known yet",
    }
}

fn advice(failed: &Failed<'_>) -> String {
    let at = failed.retry.map(|(at, _)| second(at));
    let until = |first: &str, or: &str, end: &str| match &at {
        Some(at) => format!("{first}; {or}do not call it again before {at}."),
        None => format!("{first}{end}."),
    };
    match (failed.remedy, failed.reason) {
        (_, Some(Reason::Declined | Reason::Stopped))
            if matches!(failed.remedy, Remedy::PlanWithout | Remedy::AskAdmin) =>
        {
            until("Ask the user before calling it again, or plan without it", "", "")
        }
        (Remedy::FixInput, Some(Reason::UnknownTool)) => {
            "Check the name against the tools that are offered.".to_owned()
        }
        (Remedy::FixInput, _) => "Correct the arguments and call it again.".to_owned(),
        (Remedy::RetryAt, reason) => match (&at, reason) {
            (Some(at), _) => format!("Do not call it again before {at}."),
            (None, Some(Reason::Stopped)) => "It may be called again if that is still wanted.".to_owned(),
            (None, _) => "It may be called again later.".to_owned(),
        },
        (Remedy::Reauthenticate, _) => until(
            "Ask the user to log in again or renew the credential",
            "without that, ",
            "; calling it again before that does not help",
        ),
        (Remedy::AskAdmin, _) => until(whom_to_ask(failed), "without that, ", ""),
        (Remedy::ReopenSession, _) => until(
            "Its host is not connected; plan without it until the host is back",
            "without word of that, ",
            "",
        ),
        (Remedy::PlanWithout, _) => until("Plan without it", "", ""),
        (Remedy::AwaitDiagnosis, _) => until("It will be looked into", "", ""),
    }
}

/// Whom the user has to turn to, and for what.
fn whom_to_ask(failed: &Failed<'_>) -> &'static str {
    match (failed.reason, failed.classification) {
        (Some(Reason::Disallowed), _) => "Plan without it; whoever sets what is allowed here can allow it",
        (Some(Reason::Credential), _) => {
            "Tell the user that whoever looks after the credential has to renew it"
        }
        (Some(Reason::Quota | Reason::Payment), _) => {
            "Tell the user that whoever looks after the account has to see to its plan or bill"
        }
        (Some(Reason::AccountShut), _) => {
            "Tell the user that whoever looks after the account has to have it opened"
        }
        (Some(Reason::AccountSetting), _) => {
            "Tell the user that whoever looks after the account has to set it up"
        }
        (None, Classification::UserPermission) => {
            "Calling again does not help; tell the user which right is missing"
        }
        _ => "Plan without it, and tell the user that whoever looks after it has to act",
    }
}

/// A hint for the person, where there is something that they can do, or know. Fixed words but for the tool's name.
#[must_use]
pub fn user_hint(failed: &Failed<'_>) -> Option<String> {
    let tool = failed.tool;
    if failed.remedy == Remedy::ReopenSession {
        return Some(format!("The client that runs `{tool}` is not connected: open it again."));
    }
    if !failed.is_health_signal {
        return None;
    }
    let then = |before: String, known: &str, end: &str| match failed.retry {
        Some((at, RetryBasis::Computed)) => format!("{before}; it can be tried again at {}.", second(at)),
        Some((at, _)) => format!("{before}; {known} at {}.", second(at)),
        None => format!("{before}{end}."),
    };
    match (failed.reason, failed.classification) {
        (Some(Reason::RateLimit), _) => Some(then(
            format!("`{tool}` limits how often it may be called"),
            "it can be used again",
            ": wait a while",
        )),
        (Some(Reason::Quota), _) if failed.remedy == Remedy::RetryAt => Some(then(
            format!("The account behind `{tool}` has no quota left"),
            "it has some again",
            ": check its plan",
        )),
        (Some(Reason::Quota), _) => {
            Some(format!("The account behind `{tool}` has no quota left, or a bill is due: check its plan."))
        }
        (Some(Reason::Payment), _) => Some(format!(
            "A bill of the account behind `{tool}` is due, or its plan does not cover this: check both."
        )),
        (Some(Reason::AccountShut), _) => Some(format!(
            "The account behind `{tool}` is locked, suspended or not active: ask whoever looks after it."
        )),
        (Some(Reason::AccountSetting), _) => {
            Some(format!("The account behind `{tool}` is not set up for this: ask whoever looks after it."))
        }
        (Some(Reason::Credential), _) if failed.remedy == Remedy::AskAdmin => {
            Some(format!("The credential of `{tool}` does not work: tell whoever looks after it."))
        }
        (_, Classification::UserSpecificTechnical) if failed.remedy == Remedy::Reauthenticate => {
            Some(format!("Your access to `{tool}` does not work: log in again or renew its credential."))
        }
        (_, Classification::UserSpecificTechnical) => Some(format!("Your access to `{tool}` does not work.")),
        (_, Classification::UserPermission) => {
            Some(format!("You lack a right that `{tool}` needs: ask whoever grants it."))
        }
        _ => None,
    }
}

fn second(at: Instant) -> String {
    let up = at.duration_trunc(TimeDelta::seconds(1)).unwrap_or(at);
    let up = if up < at { crate::cooldown::saturating_add(up, TimeDelta::seconds(1)) } else { up };
    up.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}
