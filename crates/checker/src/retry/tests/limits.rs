//! What headers say of limits, and when that counts.

use super::{failure, told};

type Headers<'a> = &'a [(&'a str, &'a str)];

#[track_caller]
fn check(status: u16, headers: Headers<'_>, message: &str, expected: &str) {
    assert_eq!(told(&failure(status, headers, message, "")), expected, "{status} {headers:?} {message}");
}

// R117: a limit that is used up says when it is refilled, whatever the status.
#[test]
fn used_up_limits() {
    let cases: &[(Headers<'_>, &str)] = &[
        (
            &[
                ("x-ratelimit-limit", "60"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1796047500"),
            ],
            "300000 ms, header `x-ratelimit-reset`",
        ),
        (
            &[("x-ratelimit-remaining", "0.0"), ("x-ratelimit-reset", "435")],
            "435000 ms, header `x-ratelimit-reset`",
        ),
        (
            &[("x-rate-limit-remaining", "0"), ("x-rate-limit-reset", "1796047500")],
            "300000 ms, header `x-rate-limit-reset`",
        ),
        (
            &[("x-ratelimit-remaining", "-1"), ("x-ratelimit-reset-after", "1.5")],
            "1500 ms, header `x-ratelimit-reset-after`",
        ),
        (&[("ratelimit-remaining", "0"), ("ratelimit-reset", "41")], "41000 ms, header `ratelimit-reset`"),
        (
            &[("ratelimit-remaining", "0"), ("ratelimit-resettime", "Mon, 30 Nov 2026 14:05:00 GMT")],
            "300000 ms, header `ratelimit-resettime`",
        ),
        (
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "2026-11-30T14:05Z")],
            "300000 ms, header `x-ratelimit-reset`",
        ),
        (
            &[
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "Mon Nov 30 2026 15:05:00 GMT+0100 (CET)"),
            ],
            "300000 ms, header `x-ratelimit-reset`",
        ),
        (
            &[("x-ratelimit-requests-remaining", "0"), ("x-ratelimit-requests-reset", "1796047500000")],
            "300000 ms, header `x-ratelimit-requests-reset`",
        ),
        (
            &[
                ("x-ratelimit-remaining-requests", "2999"),
                ("x-ratelimit-reset-requests", "20h"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ],
            "360000 ms, header `x-ratelimit-reset-tokens`",
        ),
        (
            &[
                ("anthropic-ratelimit-requests-remaining", "49"),
                ("anthropic-ratelimit-requests-reset", "2026-11-30T14:59:00Z"),
                ("anthropic-ratelimit-input-tokens-remaining", "0"),
                ("anthropic-ratelimit-input-tokens-reset", "2026-11-30T14:00:12Z"),
            ],
            "12000 ms, header `anthropic-ratelimit-input-tokens-reset`",
        ),
        (
            &[
                ("anthropic-ratelimit-unified-5h-status", "rejected"),
                ("anthropic-ratelimit-unified-5h-reset", "1796047500"),
                ("anthropic-ratelimit-unified-7d-status", "allowed_warning"),
                ("anthropic-ratelimit-unified-7d-reset", "1796500000"),
            ],
            "300000 ms, header `anthropic-ratelimit-unified-5h-reset`",
        ),
        (
            &[("x-ratelimit-remaining", "0, 14523"), ("x-ratelimit-reset", "1, 1419704")],
            "1000 ms, header `x-ratelimit-reset`",
        ),
        (
            &[("x-ratelimit-remaining", "1, 0"), ("x-ratelimit-reset", "1, 1419704")],
            "1419704000 ms, header `x-ratelimit-reset`",
        ),
        (&[("ratelimit", "\"default\";r=0;t=30")], "30000 ms, header `ratelimit`"),
        (&[("ratelimit", "\"hour\";r=99;t=3000, \"burst\";r=0;t=3")], "3000 ms, header `ratelimit`"),
        (&[("ratelimit", "limit=10, remaining=0, reset=5")], "5000 ms, header `ratelimit`"),
        (
            &[("ratelimit-policy", "\"burst\";q=100;w=60"), ("ratelimit", "\"burst\";r=0")],
            "≤ 60000 ms, header `ratelimit-policy`",
        ),
        (
            &[("zendesk-ratelimit-tickets-index", "total=100; remaining=0; resets=41")],
            "41000 ms, header `zendesk-ratelimit-tickets-index`",
        ),
        (
            &[("x-ratelimit-remaining-minute", "0"), ("x-ratelimit-remaining-hour", "70")],
            "≤ 60000 ms, header `x-ratelimit-remaining-minute`",
        ),
        (
            &[("x-app-limit-24hour-remaining", "0"), ("x-app-limit-24hour-reset", "1796047500")],
            "300000 ms, header `x-app-limit-24hour-reset`",
        ),
        (
            &[("ratelimit-limit", "100;w=60"), ("ratelimit-remaining", "0;w=60")],
            "≤ 60000 ms, header `ratelimit-limit`",
        ),
    ];
    for (headers, expected) in cases {
        for status in [200, 403, 429, 503] {
            check(status, headers, "", expected);
        }
    }
}

// R117: a limit with a remainder did not strike, unless the failure is a rate limit.
#[test]
fn limits_with_a_remainder() {
    let near: Headers<'_> =
        &[("x-ratelimit-limit", "30"), ("x-ratelimit-remaining", "12"), ("x-ratelimit-reset", "1796047240")];
    check(503, near, "", "nothing");
    check(429, near, "", "≤ 40000 ms, header `x-ratelimit-reset`");
    check(403, near, "You have exceeded a secondary rate limit", "≤ 40000 ms, header `x-ratelimit-reset`");
    check(403, near, "Resource not accessible by integration", "nothing");
    let far: Headers<'_> =
        &[("x-ratelimit-limit", "5000"), ("x-ratelimit-remaining", "4900"), ("x-ratelimit-reset", "3000")];
    check(429, far, "", "nothing");
    let low: Headers<'_> =
        &[("x-ratelimit-limit", "5000"), ("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", "3000")];
    check(429, low, "", "≤ 3000000 ms, header `x-ratelimit-reset`");
    let two: Headers<'_> = &[
        ("x-ratelimit-limit-requests", "10000"),
        ("x-ratelimit-remaining-requests", "9999"),
        ("x-ratelimit-reset-requests", "8.64s"),
        ("x-ratelimit-limit-tokens", "200000"),
        ("x-ratelimit-remaining-tokens", "500"),
        ("x-ratelimit-reset-tokens", "59.7s"),
    ];
    check(429, two, "", "≤ 59700 ms, header `x-ratelimit-reset-tokens`");
}

// R117: a reset of which no remainder is told counts where the failure is a rate limit.
#[test]
fn limits_without_a_remainder() {
    check(429, &[("x-ratelimit-reset", "24")], "", "24000 ms, header `x-ratelimit-reset`");
    check(0, &[("x-ratelimit-reset", "24")], "Too Many Requests", "24000 ms, header `x-ratelimit-reset`");
    check(500, &[("x-ratelimit-reset", "24")], "", "nothing");
    check(429, &[("ratelimit-policy", "\"a\";q=5;w=10")], "", "≤ 10000 ms, header `ratelimit-policy`");
    check(429, &[("ratelimit-reset", "-5")], "", "nothing");
    check(429, &[("x-ratelimit-reset", "1600000000")], "", "0 ms, header `x-ratelimit-reset`");
}

// A limit that a text only lists does not make the failure a rate limit.
#[test]
fn listed_headers_are_no_rate_limit() {
    let text = "HTTP 500, headers: {'x-ratelimit-remaining': '12', 'x-ratelimit-reset': '30', 'x-rate-limit-reset': '30'}";
    check(500, &[], text, "nothing");
    check(
        500,
        &[("x-ratelimit-reset", "30")],
        "RateLimitError: try later",
        "30000 ms, header `x-ratelimit-reset`",
    );
}

// Headers that a text lists.
#[test]
fn limits_in_texts() {
    let text = "RateLimitError: 429 headers: { 'x-ratelimit-limit-requests': '60', 'x-ratelimit-remaining-requests': '0', \
                'x-ratelimit-reset-requests': '1m2s' }";
    check(0, &[], text, "62000 ms, text `x-ratelimit-reset-requests`");
    let lines = "HTTP/2 403\nx-ratelimit-remaining: 0\nx-ratelimit-reset: 1796047500\n";
    check(0, &[], lines, "300000 ms, text `x-ratelimit-reset`");
}

// R117: the window that an exceeded limit is named after is an upper bound.
#[test]
fn windows() {
    for (status, message, expected) in [
        (
            429,
            "Quota exceeded for quota metric 'Reads' and limit 'Reads per minute per user'",
            "≤ 60000 ms, text `per minute`",
        ),
        (429, "Rate limit of 50,000 input tokens per minute", "≤ 60000 ms, text `per minute`"),
        (
            0,
            "Number of requests exceeded the limit of 6000 over time window of 300 seconds.",
            "≤ 300000 ms, text `window of 300 seconds`",
        ),
        (0, "The meter runs at 5 beats per minute", "nothing"),
        (500, "billed per hour", "nothing"),
        (429, "limit of 5 per minute exceeded, try again in 3 s", "3000 ms, text `try again in 3 s`"),
    ] {
        check(status, &[], message, expected);
    }
    let body = r#"{"error":{"details":[{"violations":[{"quotaId":"RequestsPerDayPerProject"}]}]}}"#;
    assert_eq!(told(&failure(429, &[], "", body)), "≤ 86400000 ms, text `PerDay`");
}
