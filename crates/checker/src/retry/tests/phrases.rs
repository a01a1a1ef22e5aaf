//! What texts say. The spellings are those of the named services, libraries and proxies.

use super::{failure, line, now, told};
use crate::retry::from_phrases;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(line(from_phrases(text, now()).as_ref()), expected, "{text}");
}

// R117: model providers.
#[test]
fn model_providers() {
    for (text, expected) in [
        (
            "Limit 3, Used 3, Requested 1. Please try again in 20s. Visit https://x",
            "20000 ms, text `try again in 20s`",
        ),
        ("Requested 900. Please try again in 6ms. Visit", "6 ms, text `try again in 6ms`"),
        ("Please try again in 7m54.336s.", "474336 ms, text `try again in 7m54.336s`"),
        ("Please try again in 1h2m3.5s.", "3723500 ms, text `try again in 1h2m3.5s`"),
        ("Please retry after 26 seconds.", "26000 ms, text `retry after 26 seconds`"),
        ("limit: 15\nPlease retry in 39.617351287s.", "39618 ms, text `retry in 39.617351287s`"),
        ("Please retry in 985.711258ms.", "986 ms, text `retry in 985.711258ms`"),
        ("Your quota will reset after 48m20s.", "2900000 ms, text `reset after 48m20s`"),
        ("Claude AI usage limit reached|1796047500", "300000 ms, text `reached|1796047500`"),
        (
            "You can resume using this model at 2026-11-30T14:05:00Z",
            "300000 ms, text `resume using this model at 2026-11-30T14:05:00Z`",
        ),
        (
            "[violations {\n}\n, retry_delay {\n  seconds: 33\n}\n]",
            "33000 ms, text `retry_delay { seconds: 33`",
        ),
        (
            "retry_delay { seconds: 3 nanos: 500000001 }",
            "3501 ms, text `retry_delay { seconds: 3 nanos: 500000001`",
        ),
        (
            "{'@type': 'type.googleapis.com/google.rpc.RetryInfo', 'retryDelay': '58s'}",
            "58000 ms, text `retryDelay': '58s`",
        ),
        (
            r#"{\"@type\":\"…RetryInfo\",\"retryDelay\":\"12.5s\"}"#,
            r#"12500 ms, text `retryDelay\":\"12.5s`"#,
        ),
        (r"429 x\nPlease retry in 5s", "5000 ms, text `retry in 5s`"),
    ] {
        check(text, expected);
    }
}

// R117: other services.
#[test]
fn services() {
    for (text, expected) in [
        ("Too Many Requests: retry after 35", "35000 ms, text `retry after 35`"),
        ("Flood control exceeded. Retry in 34 seconds", "34000 ms, text `Retry in 34 seconds`"),
        (
            "A wait of 34 seconds is required (caused by GetHistoryRequest)",
            "34000 ms, text `wait of 34 seconds`",
        ),
        ("Telegram says: [420 FLOOD_WAIT_29]", "29000 ms, text `FLOOD_WAIT_29`"),
        (
            "Request was throttled. Expected available in 86 seconds.",
            "86000 ms, text `available in 86 seconds`",
        ),
        (
            "too many requests from this IP, more requests available in 34359 seconds",
            "34359000 ms, text `available in 34359 seconds`",
        ),
        ("you are doing that too much. try again in 9 minutes.", "540000 ms, text `try again in 9 minutes`"),
        ("Take a break for 5 minutes before trying again.", "300000 ms, text `break for 5 minutes`"),
        (
            "You have gone over your limit, please try again in 30 seconds",
            "30000 ms, text `try again in 30 seconds`",
        ),
        ("Please try again after '17' minutes.", "1020000 ms, text `try again after '17' minutes`"),
        ("retry after '299' seconds", "299000 ms, text `retry after '299' seconds`"),
        (
            "Rate limit exceeded. Upgrade or please retry after 57s, resets at Tue Aug 18 2026 19:08:46 GMT+0000",
            "57000 ms, text `retry after 57s`",
        ),
        (
            "Too many login attempts. You'll be able to try again in an hour.",
            "3600000 ms, text `try again in an hour`",
        ),
        ("Your account is locked for 30 minutes.", "1800000 ms, text `locked for 30 minutes`"),
        ("You have been locked out for 1 hour", "3600000 ms, text `out for 1 hour`"),
        (
            "Your IP has been blocked until 2026-11-30 14:10:00 UTC",
            "600000 ms, text `blocked until 2026-11-30 14:10:00 UTC`",
        ),
        (
            "Limited requests. Wait at least 40 seconds before trying again.",
            "40000 ms, text `Wait at least 40 seconds`",
        ),
        ("Slow down: please wait 2 minutes 5 seconds", "125000 ms, text `wait 2 minutes 5 seconds`"),
        ("You need to wait 30s.", "30000 ms, text `wait 30s`"),
        (
            "Please retry your request after 2026-11-30T14:00:10Z.",
            "10000 ms, text `retry your request after 2026-11-30T14:00:10Z`",
        ),
        (
            "Rate limit exceeded. Available again at 14:30 UTC",
            "1800000 ms, text `Available again at 14:30 UTC`",
        ),
        (
            "Rate limit exceeded. Available again at 13:30 UTC",
            "84600000 ms, text `Available again at 13:30 UTC`",
        ),
        ("Please try again at 13:58 UTC", "0 ms, text `try again at 13:58 UTC`"),
        ("Please try again at 10:00 EST", "3600000 ms, text `try again at 10:00 EST`"),
        ("Please try again after 7:30 AM PDT", "1800000 ms, text `try again after 7:30 AM PDT`"),
        ("Please retry at 16:00 GMT+1", "3600000 ms, text `retry at 16:00 GMT+1`"),
        ("Try again at Nov 30, 2026 7:35 AM PST", "5700000 ms, text `Try again at Nov 30, 2026 7:35 AM PST`"),
        ("retry_at: 14:30 UTC", "1800000 ms, text `retry_at: 14:30 UTC`"),
        ("Your limit resets at midnight UTC", "36000000 ms, text `resets at midnight UTC`"),
        (
            "limit reached, resets at Mon, 30 Nov 2026 14:05:00 GMT",
            "300000 ms, text `resets at Mon, 30 Nov 2026 14:05:00 GMT`",
        ),
        ("API rate limit will reset in 12 minutes", "720000 ms, text `reset in 12 minutes`"),
        ("Do not try again for 5 minutes", "300000 ms, text `try again for 5 minutes`"),
        (
            "You cannot retry before 2026-11-30T14:00:30Z",
            "30000 ms, text `retry before 2026-11-30T14:00:30Z`",
        ),
        (
            "The service is not available until 2026-11-30T15:00:00+01:00",
            "0 ms, text `available until 2026-11-30T15:00:00+01:00`",
        ),
        ("please call again in 10 s", "10000 ms, text `call again in 10 s`"),
        ("Service paused. We'll be back in 30 minutes", "1800000 ms, text `back in 30 minutes`"),
        ("The request could not be processed, please retry in 10s", "10000 ms, text `retry in 10s`"),
        ("Not enough quota please try again in 10s", "10000 ms, text `try again in 10s`"),
        ("The limit will reset, retry in 10s", "10000 ms, text `retry in 10s`"),
        ("You won’t be able to try again for 10 minutes", "600000 ms, text `try again for 10 minutes`"),
        (
            "Out of call volume quota. Quota will be replenished in 03:12:45.",
            "11565000 ms, text `replenished in 03:12:45`",
        ),
        ("rate limited: wait 1m30s", "90000 ms, text `wait 1m30s`"),
        ("Slow down (wait 15 seconds)", "15000 ms, text `wait 15 seconds`"),
        ("Too many requests; next request allowed in 12 seconds", "12000 ms, text `allowed in 12 seconds`"),
        ("Your access will be restored in 10 minutes", "600000 ms, text `restored in 10 minutes`"),
        (
            "Scheduled maintenance until 2026-11-30T14:30:00Z",
            "1800000 ms, text `maintenance until 2026-11-30T14:30:00Z`",
        ),
        (
            "For security purposes, you can only request this after 53 seconds.",
            "53000 ms, text `request this after 53 seconds`",
        ),
        ("Rate limit hit. Reset at 1796047500", "300000 ms, text `Reset at 1796047500`"),
        ("Retry in PT1M30S", "90000 ms, text `Retry in PT1M30S`"),
        ("Try again in 00:05:00", "300000 ms, text `Try again in 00:05:00`"),
        ("Retry after: 15 seconds", "15000 ms, text `Retry after: 15 seconds`"),
        ("retry after 1796047500", "300000 ms, text `retry after 1796047500`"),
    ] {
        check(text, expected);
    }
}

// R117: `key: value` pairs and headers, as programs print them.
#[test]
fn pairs() {
    for (text, expected) in [
        ("engine blocked, suspended_time=180", "180000 ms, text `suspended_time=180`"),
        ("RateLimited(retry_after=Some(1.5))", "1500 ms, text `retry_after=Some(1.5`"),
        ("headers: { 'retry-after': '20', 'x-request-id': 'r' }", "20000 ms, text `retry-after': '20`"),
        ("'retry-after': [ '7' ]", "7000 ms, text `retry-after': [ '7`"),
        ("[('Retry-After', '30'), ('Server', 'x')]", "30000 ms, text `Retry-After', '30`"),
        ("(b'retry-after', b'30')", "30000 ms, text `retry-after', b'30`"),
        ("[Retry-After:\"30\", Date:\"x\"]", "30000 ms, text `Retry-After:\"30`"),
        (
            "HTTP/1.1 429\r\nRetry-After: Mon, 30 Nov 2026 14:01:00 GMT\r\n",
            "60000 ms, text `Retry-After: Mon, 30 Nov 2026 14:01:00 GMT`",
        ),
        ("RetryAfterMs=250", "250 ms, text `RetryAfterMs=250`"),
        ("RetryAfter: 00:00:00.5070000, Substatus: 3200", "507 ms, text `RetryAfter: 00:00:00.5070000`"),
        (
            "<Code>SlowDown</Code><RetryAfterSeconds>5</RetryAfterSeconds>",
            "5000 ms, text `RetryAfterSeconds>5`",
        ),
        ("retryAfter => 5", "5000 ms, text `retryAfter => 5`"),
        ("{\"retryAfter\": \"2 minutes\"}", "120000 ms, text `retryAfter\": \"2 minutes`"),
        (
            "data: {\"error\": \"RATE_LIMITED\", \"retryAfter\": 3600}",
            "3600000 ms, text `retryAfter\": 3600`",
        ),
        ("model is loading, 'estimated_time': 20.5", "20500 ms, text `estimated_time': 20.5`"),
    ] {
        check(text, expected);
    }
}

// A range and an "up to" are bounds, not what was said.
#[test]
fn bounds() {
    for (text, expected) in [
        ("Please retry after 1-2 minutes", "≤ 120000 ms, text `retry after 1-2 minutes`"),
        ("wait up to 5 minutes", "≤ 300000 ms, text `wait up to 5 minutes`"),
        ("Rate limit will reset within 1 minute.", "≤ 60000 ms, text `reset within 1 minute`"),
        ("Daily limit reached, resets at midnight", "≤ 86400000 ms, text `resets at midnight`"),
        ("Try again in 2 minutes or wait up to an hour", "120000 ms, text `Try again in 2 minutes`"),
    ] {
        check(text, expected);
    }
}

// Statements of another kind, vague ones, a client's own plans, counts of other things.
#[test]
fn other_statements_say_nothing() {
    for text in [
        "",
        "Meeting in 5 minutes",
        "Let's meet again in 5 minutes",
        "Calendar event 'Stand-up in 10 minutes' not found",
        "in 4 seconds",
        "Please try again later",
        "Please try again in a few minutes.",
        "Please wait a few minutes before you try again.",
        "try again in some time",
        "Retrying in 5 seconds",
        "will retry in 5 seconds",
        "We'll retry in 5 seconds",
        "will try again in 30 seconds",
        "next retry in 5s",
        "attempting to retry in 5s",
        "Waiting 60 seconds before retrying",
        "gave up: retry after 3 attempts failed",
        "Do not retry after 429",
        "retry 3 times in 5 seconds",
        "retry within 5 minutes",
        "Retry after 5%",
        "Retry after 3/5",
        "Connection reset after 30 seconds",
        "rate limited stream: connection was reset in 5 seconds",
        "Timed out after wait 30 seconds",
        "failed to wait 30s",
        "had to wait 30 seconds for a lock",
        "Lock wait timeout 50s exceeded",
        "Process was blocked for 5 seconds",
        "not available in 5 minutes",
        "not allowed in 5 minutes",
        "Lock: failed, wait of 3 locks",
        "available in 5 regions",
        "Please wait for the administrator",
        "retry_after=None",
        "retry_after=null",
        "retryDelay: 100",
        "retryConfig: { retryDelay: 100, retry: 3 }",
        "\"retryDelay\": \"100\"",
        "estimated_time: 20",
        "retry_after=-5",
        "retry after -5 seconds",
        "retry after 1e9 seconds",
        "retry after 99999999999999999999999",
        "try again in 9999 days",
        "respect_retry_after_header=5",
        "Retry-After header missing",
        "FLOOD_WAIT_X",
        "LOCK_WAIT_5",
        "limit reached|5",
        "Your limit resets on April 27 at 5:30",
        "Try again at 2026-11-30 15:00:00 America/New_York",
        "Try again at 2026-11-30 15:00:00 Pacific Time",
        "Try again after Nov 30, 2026 4:35 PM PT",
        "Try again after 3:00 PM",
        "Try again after 15:00 BST",
        "Try again at 99:00 pm UTC",
        "Try again after 99:00 pm UTC",
        "retry_at: \"3:00 PM\"",
    ] {
        check(text, "nothing");
    }
}

// R117: a past instant means now; of several times the latest counts.
#[test]
fn past_and_several() {
    check("retry after 2020-01-01T00:00:00Z", "0 ms, text `retry after 2020-01-01T00:00:00Z`");
    check("try again in 5s. Please wait 20 seconds", "20000 ms, text `wait 20 seconds`");
}

// Messages, causes and the standard error are read alike.
#[test]
fn every_text_of_a_failure_is_read() {
    let phrase = "Please try again in 8s";
    let expected = "8000 ms, text `try again in 8s`";
    assert_eq!(told(&failure(429, &[], phrase, "")), expected);
    assert_eq!(told(&failure(429, &[], "", phrase)), expected);
    let mut failure = failure(0, &[], "", "");
    failure.causes.push(health_model::failure::Cause { message: phrase.to_owned(), ..Default::default() });
    assert_eq!(told(&failure), expected);
    failure.causes.clear();
    failure.stderr_tail = Some(format!("{}{phrase}", "x ".repeat(20_000)));
    assert_eq!(told(&failure), expected);
}
