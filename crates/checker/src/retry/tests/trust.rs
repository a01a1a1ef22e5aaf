//! Which of several sources counts.

use super::{failure, told};

// R117: headers before fields before phrases before limits before windows.
#[test]
fn the_more_trusted_source_counts() {
    let limit = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "50")];
    let all = [("retry-after", "10"), limit[0], limit[1]];
    let body = r#"{"retry_after": 20, "message": "100 per minute exceeded"}"#;
    let message = "limit exceeded, try again in 30 s";
    assert_eq!(told(&failure(429, &all, message, body)), "10000 ms, header `retry-after`");
    assert_eq!(told(&failure(429, &limit, message, body)), "20000 ms, body `/retry_after`");
    assert_eq!(told(&failure(429, &limit, message, "")), "30000 ms, text `try again in 30 s`");
    assert_eq!(
        told(&failure(429, &limit, "100 per minute exceeded", "")),
        "50000 ms, header `x-ratelimit-reset`"
    );
    assert_eq!(told(&failure(429, &[], "100 per minute exceeded", "")), "≤ 60000 ms, text `per minute`");
    assert_eq!(told(&failure(429, &[], "", "")), "nothing");
}

// The counter of another limit does not overrule.
#[test]
fn another_limit_does_not_overrule() {
    let headers = [("retry-after", "5"), ("x-ms-ratelimit-remaining-subscription-writes", "1199")];
    assert_eq!(told(&failure(429, &headers, "", "")), "5000 ms, header `retry-after`");
    let headers = [("retry-after", "0"), ("x-ratelimit-remaining", "10"), ("x-ratelimit-reset", "100")];
    assert_eq!(told(&failure(429, &headers, "", "")), "0 ms, header `retry-after`");
}

// Two statements of one wait, rounded differently: never earlier than either.
#[test]
fn statements_that_agree_count_as_the_later() {
    let headers = [("retry-after", "1"), ("retry-after-ms", "574")];
    assert_eq!(told(&failure(429, &headers, "", "")), "1000 ms, header `retry-after`");
    let body = r#"{"message": "Please retry in 58.934310785s.", "details": [{"retryDelay": "58s"}]}"#;
    assert_eq!(told(&failure(429, &[], "", body)), "58935 ms, text `retry in 58.934310785s`");
}

// A source that says "now" yields to one that names a time to come, but not to a bound.
#[test]
fn now_yields() {
    let headers = [("retry-after", "0")];
    assert_eq!(told(&failure(429, &headers, "try again in 5 s", "")), "5000 ms, text `try again in 5 s`");
    assert_eq!(told(&failure(429, &headers, "3 per minute exceeded", "")), "0 ms, header `retry-after`");
    let past = [("retry-after", "Mon, 30 Nov 2026 13:00:00 GMT")];
    assert_eq!(told(&failure(503, &past, "", "")), "0 ms, header `retry-after`");
}

// R117: absurd times say nothing, and the next source is asked.
#[test]
fn absurd_times_say_nothing() {
    let headers = [("retry-after", "99999999")];
    assert_eq!(told(&failure(429, &headers, "", "")), "nothing");
    assert_eq!(told(&failure(429, &headers, "try again in 5 s", "")), "5000 ms, text `try again in 5 s`");
    assert_eq!(
        told(&failure(429, &[("retry-after", "31622400")], "", "")),
        "31622400000 ms, header `retry-after`"
    );
    assert_eq!(told(&failure(429, &[("retry-after", "31622401")], "", "")), "nothing");
}

// R117: instants are measured on the clock of the side that named them, in every source.
#[test]
fn instants_are_measured_against_the_date_header() {
    let date = ("date", "Sun, 13 Jun 2021 11:48:53 GMT");
    let reset = [date, ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1623584964")];
    assert_eq!(told(&failure(403, &reset, "", "")), "31000 ms, header `x-ratelimit-reset`");
    let text = "retry after 2021-06-13T11:49:24Z";
    assert_eq!(told(&failure(403, &[date], text, "")), format!("31000 ms, text `{text}`"));
    let body = r#"{"retry_at": "2021-06-13T11:49:24.5Z"}"#;
    assert_eq!(told(&failure(403, &[date], "", body)), "31500 ms, body `/retry_at`");
}
