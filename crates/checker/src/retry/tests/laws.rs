//! What holds for every failure.

use chrono::TimeDelta;
use proptest::prelude::*;

use super::{failure, now};
use crate::retry::{Unit, from_header, from_phrases, said};

fn pieces() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "retry",
        "try again",
        "in",
        "after",
        "at",
        "wait",
        "until",
        " ",
        "5",
        "5.5",
        "999999999999",
        "ms",
        "seconds",
        "m",
        "2026-11-30T14:05:00Z",
        "2026-",
        "Mon, 30 Nov 2026 14:05:00 GMT",
        "00:05:00",
        ":",
        "\"",
        "\\",
        "retry_after",
        "=",
        "retryDelay",
        "{ seconds: 3 nanos: 5 }",
        "{",
        "}",
        "[",
        "]",
        "limit",
        "resets",
        "per minute",
        "x-ratelimit-reset: 5",
        "PT5S",
        "–",
        "µs",
        "é",
        "\n",
        ".",
        "not",
        "available",
        "locked",
        "midnight",
        "14:00",
        " PST",
        " PM",
        " local time",
        "America/New_York",
        "reached|1796047500",
        "FLOOD_WAIT_3",
    ]);
    prop_oneof![prop::collection::vec(pieces, 0..40).prop_map(|it| it.concat()), "\\PC{0,200}",]
}

proptest! {
    // R117: no text, body or header makes it panic, and no time is before now or absurdly late.
    #[test]
    fn never_before_now(
        status in prop::sample::select(vec![0_u16, 200, 403, 429, 503]),
        message in pieces(),
        body in pieces(),
        header in pieces(),
        name in prop::sample::select(vec!["retry-after", "x-ratelimit-reset", "ratelimit", "x-ratelimit-remaining", "date"]),
    ) {
        let failure = failure(status, &[(name, &header), ("x-ratelimit-reset", &body)], &message, &body);
        if let Some(said) = said(&failure, now()) {
            prop_assert!(said.at >= now());
            prop_assert!(said.at - now() <= TimeDelta::days(366));
        }
    }

    // R117: never earlier than said, and at most a millisecond later.
    #[test]
    fn exactly_what_was_said(millis in 0_u64..30_000_000_000, nanos in 0_u64..1_000_000) {
        let total = u128::from(millis) * 1_000_000 + u128::from(nanos);
        let wanted = i64::try_from(total.div_ceil(1_000_000)).unwrap();
        let seconds = format!("{}.{:09}", total / 1_000_000_000, total % 1_000_000_000);
        let in_millis = format!("{millis}.{nanos:06}");
        let header = failure(429, &[("retry-after", &seconds), ("retry-after-ms", &in_millis)], "", "");
        let texts = [
            format!("Please try again in {seconds}s."),
            format!("Please try again in {in_millis}ms."),
            format!("retry_after={seconds}"),
            format!("{{\"retryDelay\": \"{seconds}s\"}}"),
        ];
        let mut all = vec![
            from_header(&header, "retry-after", None, now()),
            from_header(&header, "retry-after-ms", None, now()),
            from_header(&header, "retry-after", Some(Unit::Seconds), now()),
            said(&failure(429, &[], "", &texts[3]), now()),
        ];
        all.extend(texts.iter().map(|it| from_phrases(it, now())));
        for said in all {
            prop_assert_eq!(said.map(|it| (it.at - now()).num_milliseconds()), Some(wanted));
        }
    }

    // R117: an instant is never earlier than said.
    #[test]
    fn instants_are_exact(second in 0_i64..31_000_000) {
        let at = now() + TimeDelta::seconds(second);
        for value in [
            at.timestamp().to_string(),
            at.timestamp_millis().to_string(),
            at.to_rfc3339(),
            at.to_rfc2822(),
            at.format("%a, %d %b %Y %H:%M:%S GMT").to_string(),
            at.format("%A, %d-%b-%y %H:%M:%S GMT").to_string(),
            at.format("%a %b %e %H:%M:%S %Y").to_string(),
            (at - TimeDelta::hours(8)).format("%Y-%m-%d %H:%M:%S PST").to_string(),
            (at - TimeDelta::hours(4)).format("%b %e, %Y %I:%M:%S %p EDT").to_string(),
            (at + TimeDelta::hours(2)).format("%a %b %e %H:%M:%S CEST %Y").to_string(),
        ] {
            let failure = failure(429, &[("retry-after", &value)], "", "");
            prop_assert_eq!(said(&failure, now()).map(|it| it.at), Some(at), "{}", value);
        }
    }
}

// No text is read in more than linear time: 16 KiB of any piece are read in far less than what a square of it would take.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test measures time")]
fn no_text_is_expensive() {
    for piece in [
        "a",
        "1",
        "1,",
        "retry ",
        "retry in ",
        "retry in 5 ",
        "wait",
        "wait 1 ",
        "-",
        "a-",
        "per ",
        "Per",
        "retry_after",
        "retry_after:",
        "\\",
        "\\n",
        "{",
        "[",
        "\"",
        "limit-",
        "x-ratelimit-reset: 5, ",
        "2026-",
        "5 minutes ",
        "reset ",
        "µ",
        "again ",
        "try again ",
        "{\"a\":",
        "ratelimit",
        "rate-limit-",
        "1/",
        "/",
        "[\"retry\",",
        "0.",
        "P1D",
        "call ",
        "'",
        "_",
        "\n",
    ] {
        let text = piece.repeat(crate::limits::MAX_MATCHED_BYTES / piece.len());
        let failure = failure(429, &[], &text, &text);
        let start = std::time::Instant::now();
        let _ = said(&failure, now());
        assert!(start.elapsed().as_secs() < 1, "{piece:?}");
    }
}
