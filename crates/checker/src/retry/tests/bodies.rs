//! What fields of a JSON body say.

use serde_json::{Value, json};

use super::{failure, line, now, told};
use crate::retry::{Clock, Unit, from_pointer};

// R117: fields at any depth, as the named services send them.
#[test]
fn fields_of_bodies() {
    for (body, expected) in [
        (json!({"ok": false, "error": "ratelimited", "retry_after": 30}), "30000 ms, body `/retry_after`"),
        (
            json!({"ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 35}}),
            "35000 ms, body `/parameters/retry_after`",
        ),
        (
            json!({"error": {"code": 429, "details": [{"a": 1}, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "45.837906927s"}]}}),
            "45838 ms, body `/error/details/1/retryDelay`",
        ),
        (
            json!({"details": [{"retryDelay": {"seconds": "3", "nanos": 500_000_000}}]}),
            "3500 ms, body `/details/0/retryDelay`",
        ),
        (
            json!({"error": {"reason": {".tag": "too_many_requests"}, "retry_after": 300}}),
            "300000 ms, body `/error/retry_after`",
        ),
        (json!({"success": false, "statusCode": 429, "retryAfter": 60}), "60000 ms, body `/retryAfter`"),
        (json!({"retryAfterMs": 1500}), "1500 ms, body `/retryAfterMs`"),
        (json!({"retry_after_ms": "250"}), "250 ms, body `/retry_after_ms`"),
        (json!({"details": {"retryAfterSeconds": 7}}), "7000 ms, body `/details/retryAfterSeconds`"),
        (
            json!({"error": "Model m is currently loading", "estimated_time": 20.5}),
            "20500 ms, body `/estimated_time`",
        ),
        (json!({"wait_seconds": 4}), "4000 ms, body `/wait_seconds`"),
        (json!({"reset_in": 9}), "9000 ms, body `/reset_in`"),
        (
            json!({"error": {"type": "usage_limit_reached", "resets_at": 1_796_047_500, "resets_in_seconds": 301}}),
            "301000 ms, body `/error/resets_in_seconds`",
        ),
        (json!({"error": {"resets_at": 1_796_047_500}}), "300000 ms, body `/error/resets_at`"),
        (json!({"retry_at": "2026-11-30T14:00:05Z"}), "5000 ms, body `/retry_at`"),
        (json!({"headers": {"Retry-After": ["6"]}}), "6000 ms, body `/headers/Retry-After`"),
        (json!({"a/b": {"c~d": {"retry_after": 0.25}}}), "250 ms, body `/a~1b/c~0d/retry_after`"),
        (json!({"error": {"message": "Please try again in 8s"}}), "8000 ms, text `try again in 8s`"),
        (
            json!({"error": {"message": "{\n \"error\": {\"details\": [{\"retryDelay\": \"36s\"}]}}"}}),
            "36000 ms, text `retryDelay\": \"36s`",
        ),
        (json!([{"retry_after": 2}, {"retry_after": 5}]), "5000 ms, body `/1/retry_after`"),
    ] {
        assert_eq!(told(&failure(0, &[], "", &body.to_string())), expected, "{body}");
    }
}

#[test]
fn other_fields_say_nothing() {
    for body in [
        json!({"retry_after": null}),
        json!({"retry_after": true}),
        json!({"retry_after": -5}),
        json!({"retry_after": "soon"}),
        json!({"retry_after": {}}),
        json!({"retry_after": 1e300}),
        json!({"retryDelay": 100}),
        json!({"retryDelay": "100"}),
        json!({"estimated_time": 20}),
        json!({"config": {"retryAfter": 100, "message": "try again in 5s"}}),
        json!({"input": "Please try again in 5 seconds"}),
        json!({"title": "Stand-up in 5 minutes"}),
        json!({"timeout": 30, "expires_in": 3600}),
        json!({"remaining": 3, "reset_at": 1_796_047_500}),
    ] {
        assert_eq!(told(&failure(0, &[], "", &body.to_string())), "nothing", "{body}");
    }
}

// Discord counted milliseconds in whole numbers before version 8 of its API, and seconds with a fraction since.
#[test]
fn discord_counted_milliseconds_once() {
    let body = |number: &str| {
        format!(r#"{{"message": "You are being rate limited.", "global": false, "retry_after": {number}}}"#)
    };
    for (number, headers, expected) in [
        ("6457", &[][..], "6457 ms, body `/retry_after`"),
        ("6457", &[("retry-after", "6457")], "6457 ms, header `retry-after`"),
        ("6457", &[("x-ratelimit-reset-after", "6.457")], "6457 ms, body `/retry_after`"),
        ("6457", &[("x-ratelimit-reset-after", "6457")], "6457000 ms, body `/retry_after`"),
        ("6457", &[("x-ratelimit-scope", "user")], "6457000 ms, body `/retry_after`"),
        ("6457.0", &[], "6457000 ms, body `/retry_after`"),
        ("737.317", &[], "737317 ms, body `/retry_after`"),
        ("64.57", &[("retry-after", "65")], "65000 ms, header `retry-after`"),
        ("999", &[], "999000 ms, body `/retry_after`"),
    ] {
        assert_eq!(told(&failure(429, headers, "", &body(number))), expected, "{number} {headers:?}");
        let quoted = failure(429, headers, &format!("HTTP 429: {}", body(number)), "");
        let same = expected.split(',').next();
        assert_eq!(told(&quoted).split(',').next(), same, "{number} {headers:?}");
    }
    let other = failure(429, &[], "", r#"{"retry_after": 6457}"#);
    assert_eq!(told(&other), "6457000 ms, body `/retry_after`");
}

// R117: an object of a body may list headers, or describe a limit.
#[test]
fn limits_in_bodies() {
    for (body, expected) in [
        (
            json!({"error": {"message": "Rate limit exceeded: free-models-per-day", "metadata": {"headers":
                {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1796047500000"}}}}),
            "300000 ms, body `/error/metadata/headers/X-RateLimit-Reset`",
        ),
        (
            json!({"error": {"code": "rate_limited", "limit": {"remaining": 0, "reset": 1_796_047_500_000_i64, "total": 100}}}),
            "300000 ms, body `/error/limit/reset`",
        ),
        (
            json!({"data": {"rateLimit": {"remaining": 0, "resetAt": "2026-11-30T14:05:00Z"}}}),
            "300000 ms, body `/data/rateLimit/resetAt`",
        ),
        (json!({"data": {"rateLimit": {"remaining": 9, "resetAt": "2026-11-30T14:55:00Z"}}}), "nothing"),
    ] {
        assert_eq!(told(&failure(200, &[], "", &body.to_string())), expected, "{body}");
    }
}

// A body that is nested too deeply is read as text, and never overflows the stack.
#[test]
fn deep_bodies_are_safe() {
    let deep = |levels: usize| format!("{}{{\"retry_after\": 5}}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(told(&failure(429, &[], "", &deep(63))).starts_with("5000 ms, body `/0/0/"));
    assert_eq!(told(&failure(429, &[], "", &deep(64))), "5000 ms, text `retry_after\": 5`");
    assert_eq!(told(&failure(429, &[], "", &"[".repeat(1_000_000))), "nothing");
    assert_eq!(told(&failure(429, &[], "", &"{\"a\":".repeat(1_000_000))), "nothing");
}

// R117: a rule may name a field.
#[test]
fn a_rule_may_name_a_field() {
    let body: Value =
        json!({"wait": {"minutes": 2, "text": "PT5S", "at": 1_655_207_364, "d": {"seconds": 4}}, "list": []});
    for (pointer, unit, expected) in [
        ("/wait/minutes", Unit::Minutes, "120000 ms, body `/wait/minutes`"),
        ("/wait/minutes", Unit::Milliseconds, "2 ms, body `/wait/minutes`"),
        ("/wait/text", Unit::Auto, "5000 ms, body `/wait/text`"),
        ("/wait/d", Unit::Auto, "4000 ms, body `/wait/d`"),
        ("/wait/at", Unit::Epoch, "0 ms, body `/wait/at`"),
        ("/wait/no", Unit::Auto, "nothing"),
        ("/list", Unit::Auto, "nothing"),
    ] {
        assert_eq!(line(from_pointer(&body, pointer, unit, now()).as_ref()), expected, "{pointer}");
    }
    let dated = failure(429, &[("date", "Tue, 14 Jun 2022 11:48:53 GMT")], "", "");
    let said = from_pointer(&body, "/wait/at", Unit::Auto, Clock::of(&dated, now()));
    assert_eq!(line(said.as_ref()), "31000 ms, body `/wait/at`");
}
