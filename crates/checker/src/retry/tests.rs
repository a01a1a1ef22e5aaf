//! Tables of real spellings, and what holds for all texts.

mod bodies;
mod laws;
mod limits;
mod phrases;
mod trust;

use chrono::DateTime;
use health_model::{Failure, Instant, RetryBasis};

use super::{Said, said};

fn now() -> Instant {
    DateTime::parse_from_rfc3339("2026-11-30T14:00:00Z").unwrap().to_utc()
}

fn failure(status: u16, headers: &[(&str, &str)], message: &str, body: &str) -> Failure {
    Failure {
        http_status: (status > 0).then_some(status),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        message: message.to_owned(),
        body: body.to_owned(),
        ..Failure::default()
    }
}

/// "12014 ms, header `x`": how long to wait and who says so; "≤ 60000 ms, …" for an upper bound.
fn line(said: Option<&Said>) -> String {
    let Some(said) = said else { return "nothing".to_owned() };
    let bound = if said.basis == RetryBasis::Exact { "" } else { "≤ " };
    format!("{bound}{} ms, {}", (said.at - now()).num_milliseconds(), said.source)
}

fn told(failure: &Failure) -> String {
    line(said(failure, now()).as_ref())
}
