//! Problem details after RFC 9457: for a gateway that answers a failed call over HTTP.

use std::fmt::Write as _;

use chrono::{TimeDelta, Timelike as _};
use health_model::vocabulary::{Classification, Remedy, Scope};
use health_model::words::Reason;
use health_model::{Instant, Verdict};
use serde::Serialize;

use super::fields::{Fields, classification, fields};

/// The members of the RFC, then ours.
#[derive(Debug, Serialize)]
pub(super) struct Problem<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    /// The value of the header of that name: a date and no number of seconds, so that it stays true while the answer
    /// is kept or passed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<String>,
    #[serde(flatten)]
    fields: Fields<'a>,
}

pub(super) fn problem<'a>(verdict: &'a Verdict, call_id: Option<&str>) -> Problem<'a> {
    Problem {
        r#type: format!("urn:agrajag:verdict:{}", classification(verdict)),
        title: title(verdict),
        status: status(verdict),
        detail: &verdict.model_text,
        instance: call_id.map(instance),
        retry_after: verdict.retry_at.map(http_date),
        fields: fields(verdict),
    }
}

/// The same for every occurrence of a type, as the RFC wants it.
fn title(verdict: &Verdict) -> &'static str {
    match verdict.classification {
        _ if !verdict.is_health_signal => "The call was refused or cancelled on the caller's side",
        Classification::TechnicallyBroken => "The tool is out of order",
        Classification::UserSpecificTechnical => "The user's access to the tool does not work",
        Classification::UserPermission => "The user lacks a right",
        Classification::UserInput => "The arguments do not fit",
        Classification::Intermittent => "A passing fault",
        Classification::Working => "The call failed although the tool works",
        Classification::Unclear => "The cause is not known yet",
    }
}

/// The status that a gateway answers with. Never 401: that is about the caller's credential for the gateway, must name a
/// challenge, and makes clients throw away a good token; the credential that failed is the one for the tool.
fn status(verdict: &Verdict) -> u16 {
    match verdict.classification {
        _ if !verdict.is_health_signal => 409,
        Classification::UserInput => 422,
        Classification::UserPermission => 403,
        Classification::UserSpecificTechnical if verdict.remedy == Remedy::RetryAt => 429,
        Classification::UserSpecificTechnical => 403,
        Classification::Intermittent if is_limit(verdict) => 429,
        Classification::Intermittent | Classification::TechnicallyBroken => 503,
        Classification::Working | Classification::Unclear => 502,
    }
}

/// What passes and is named a rate limit, or holds for this user alone, is the caller's pace; all else is the service's
/// state.
fn is_limit(verdict: &Verdict) -> bool {
    verdict.scope == Some(Scope::User)
        || Reason::of(verdict.classification, &verdict.signature) == Some(Reason::RateLimit)
}

/// The call as a URI: what is not plain is percent-encoded.
fn instance(call_id: &str) -> String {
    let mut uri = "urn:agrajag:call:".to_owned();
    for byte in call_id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a text does not fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// The date format of HTTP. It has whole seconds: rounded up, so that nobody comes too early.
fn http_date(at: Instant) -> String {
    let up =
        if at.nanosecond() > 0 { at.checked_add_signed(TimeDelta::seconds(1)).unwrap_or(at) } else { at };
    up.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
