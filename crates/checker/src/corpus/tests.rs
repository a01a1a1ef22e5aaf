//! Tests of the format and of the terms.

use health_model::{Classification, Policy, Target, ToolKind};

use super::*;
use crate::decide::Settings;
use crate::table::{Options, RuleTable};

fn row(id: &str, error: &str, expected: &str, target: &str) -> Row {
    let line = format!(
        r#"{{"id": "{id}", "runtime": "node", "tool": {{"name": "t", "kind": "rest", "target": "{target}"}}, "error": {error}, "expected": {expected}}}"#
    );
    parse_row(&line).unwrap()
}

const CERTAIN: &str = r#"{"classification": "INTERMITTENT", "alsoAcceptable": [], "certainty": "certain", "retryAfter": "PT20S", "why": "x"}"#;

#[test]
fn a_row_is_a_failure_of_a_tool() {
    let error = r#"{"httpStatus": 429, "headers": {"Retry-After": "20", "date": "Mon, 30 Nov 2026 14:00:00 GMT"},
        "exceptionType": "E", "errorCode": -32001, "message": "m", "body": "b"}"#;
    let row = row("a", &error.replace('\n', " "), CERTAIN, "argument");
    assert_eq!((row.tool.kind, row.tool.target), (Some(ToolKind::Rest), Some(Target::Argument)));
    assert_eq!(row.failure.http_status, Some(429));
    assert_eq!(row.failure.header("retry-after").collect::<Vec<_>>(), ["20"]);
    assert_eq!(row.failure.json_rpc_code, Some(-32_001));
    assert_eq!(row.failure.error_code.as_deref(), Some("-32001"));
    assert_eq!(row.now.to_rfc3339(), "2026-11-30T14:00:00+00:00");
    assert_eq!(row.expected.retry_after.unwrap().num_seconds(), 20);
}

#[test]
fn a_code_is_read_as_more_only_where_its_form_is_unambiguous() {
    let codes = |code: &str| {
        let failure = row("a", &format!(r#"{{"errorCode": "{code}"}}"#), CERTAIN, "unknown").failure;
        (failure.json_rpc_code, failure.sql_state, failure.grpc_status)
    };
    assert_eq!(codes("28P01"), (None, Some("28P01".to_owned()), None));
    assert_eq!(codes("18456"), (None, None, None), "five digits may be a number of SQL Server");
    assert_eq!(codes("UNAVAILABLE"), (None, None, Some("UNAVAILABLE".to_owned())));
    assert_eq!(codes("404"), (None, None, None));
    assert_eq!(codes("AAAAA"), (None, None, None));
}

#[test]
fn a_bad_line_is_named_with_field_and_what_is_wanted() {
    let good = r#"{"id": "a", "tool": {"name": "t"}, "error": {}, "expected": {"classification": "UNCLEAR", "certainty": "likely"}}"#;
    assert_eq!(parse_rows(&format!("\n{good}\n\n{good}\n")).unwrap().len(), 2);
    let classes = "one of TECHNICALLY_BROKEN, USER_SPECIFIC_TECHNICAL, USER_PERMISSION, USER_INPUT, INTERMITTENT, WORKING, UNCLEAR";
    let with = |from: &str, to: &str| good.replace(from, to);
    for (bad, told) in [
        ("{}".to_owned(), "`tool` is missing, wanted an object with `name`".to_owned()),
        ("x".to_owned(), "no JSON at column 1, wanted one object a line".to_owned()),
        (
            "[]".to_owned(),
            "the row is a list, wanted an object with `id`, `tool`, `error` and `expected`".to_owned(),
        ),
        (with("\"a\"", "7"), "`id` is `7`, wanted a text".to_owned()),
        (with("{\"name\": \"t\"}", "{}"), "`tool.name` is missing, wanted a text".to_owned()),
        (
            with("\"error\": {}", "\"error\": {\"httpStatus\": \"403\"}"),
            "`error.httpStatus` is `403`, wanted a number such as 403".to_owned(),
        ),
        (
            with("\"error\": {}", "\"error\": {\"headers\": []}"),
            "`error.headers` is a list, wanted an object of names and values".to_owned(),
        ),
        (with("UNCLEAR", "BROKEN"), format!("`expected.classification` is `BROKEN`, wanted {classes}")),
        (
            with("{\"classification\": \"UNCLEAR\", \"certainty\": \"likely\"}", "\"BROKEN\""),
            format!("`expected` is `BROKEN`, wanted {classes}"),
        ),
        (
            with("likely", "maybe"),
            "`expected.certainty` is `maybe`, wanted `certain`, `likely` or `contested`".to_owned(),
        ),
        (
            with("\"likely\"", "\"likely\", \"retryAfter\": \"soon\""),
            "`expected.retryAfter` is `soon`, wanted an ISO-8601 duration of a fixed length such as PT20S"
                .to_owned(),
        ),
    ] {
        let error = parse_rows(&format!("{good}\n{bad}")).unwrap_err();
        assert_eq!(error.to_string(), format!("line 2: {told}"));
    }
}

/// A misspelt field makes a row say less than its author thinks: each is told once, with what may be meant.
#[test]
fn unknown_fields_are_told_once_each() {
    let text = r#"{"id": "a", "own": 1, "tool": {"name": "t", "provider": "x"}, "error": {"mesage": "m", "body": "b"}, "expected": "UNCLEAR"}

{"id": "b", "tool": {"name": "t"}, "error": {"mesage": "m", "zzz": 1}, "expected": {"classification": "UNCLEAR", "why": "w", "retryafter": null}}
"#;
    let told: Vec<String> = unknown_fields(text).iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "line 1 and 1 more: `error.mesage` is unknown and passed over; is `message` meant?",
            "line 1: `tool.provider` is unknown and passed over",
            "line 3: `error.zzz` is unknown and passed over",
            "line 3: `expected.retryafter` is unknown and passed over; is `retryAfter` meant?",
        ]
    );
    assert_eq!(unknown_fields(EXAMPLE), []);
    assert_eq!(unknown_fields("x\n[]\n{\"error\": 7}"), []);
}

#[test]
fn a_label_may_be_a_class_alone_and_is_likely_unless_it_says_more() {
    let short = parse_row(EXAMPLE).unwrap();
    let label = r#"{"classification": "USER_PERMISSION"}"#;
    let long = parse_row(&EXAMPLE.replace("\"USER_PERMISSION\"", label)).unwrap();
    assert_eq!(short, long);
    assert_eq!(short.expected.certainty, Certainty::Likely);
    let table = RuleTable::bundled(Options::BUNDLED);
    let score = score(&[short], &table, &Policy::default(), &Settings::default());
    assert_eq!((score.right, score.likely), (1, OfCertainty { rows: 1, right: 1 }));
}

/// A status decides alone; else words do, in the order of their groups; a status that stands for no class says nothing.
#[test]
fn the_baselines_by_hand() {
    let class =
        |baseline: Baseline, error: &str| baseline.classify(&row("a", error, CERTAIN, "fixed").failure);
    let both = |error: &str| Baseline::ALL.map(|it| class(it, error));
    let forbidden = r#"{"httpStatus": 403, "message": "API rate limit exceeded"}"#;
    assert_eq!(both(forbidden), [Classification::UserPermission; 2], "the status wins, rightly or not");
    let timeout = r#"{"httpStatus": 500, "message": "Read Timed Out"}"#;
    assert_eq!(both(timeout), [Classification::Unclear, Classification::Intermittent]);
    let body = r#"{"body": "{\"error\": \"invalid_api_key\", \"status\": 401}"}"#;
    assert_eq!(both(body), [Classification::Unclear, Classification::UserSpecificTechnical]);
    let name = r#"{"exceptionType": "NotFound", "errorCode": "does not exist"}"#;
    assert_eq!(both(name), [Classification::Unclear, Classification::UserInput]);
    assert_eq!(both(r#"{"httpStatus": 500, "message": "boom"}"#), [Classification::Unclear; 2]);
    let rows = [
        row("right", r#"{"httpStatus": 429, "headers": {"retry-after": "20"}}"#, CERTAIN, "fixed"),
        row("words", r#"{"message": "rate limit"}"#, CERTAIN, "fixed"),
    ];
    let [by_status, by_words] = Baseline::ALL.map(|it| score_baseline(&rows, it));
    assert_eq!((by_status.answered, by_status.right, by_status.harm), (1, 1, 0));
    assert_eq!((by_words.answered, by_words.right, by_words.retry_errors), (2, 2, 2));
}

/// The terms, each counted by hand.
#[test]
fn the_terms_of_the_score() {
    let label = |class: &str, also: &str, certainty: &str| {
        format!(
            r#"{{"classification": "{class}", "alsoAcceptable": [{also}], "certainty": "{certainty}", "retryAfter": null, "why": ""}}"#
        )
    };
    let status = |status: u16| format!(r#"{{"httpStatus": {status}}}"#);
    let refused = r#"{"message": "connect ECONNREFUSED 10.0.0.1:1"}"#;
    let rows = [
        // Right, with the retry time that the label asks for.
        row("right", r#"{"httpStatus": 429, "headers": {"retry-after": "20"}}"#, CERTAIN, "fixed"),
        // Right, but the retry time is not in a header.
        row("retry", &status(429), CERTAIN, "fixed"),
        // Answered and wrong; its status stays with the user: no harm.
        row("wrong", &status(429), &label("USER_INPUT", "", "certain"), "fixed"),
        // Answered and wrong, and a status of the tool for the user's own mistake: harm.
        row("harm", refused, &label("USER_INPUT", "\"USER_PERMISSION\"", "likely"), "fixed"),
        // Tellable and not answered.
        row("silent", &status(500), &label("TECHNICALLY_BROKEN", "", "likely"), "fixed"),
        // Nobody could tell, and a class was given.
        row("over", &status(403), &label("UNCLEAR", "", "likely"), "fixed"),
        // Nobody could tell, and none was given.
        row("unclear", &status(500), &label("UNCLEAR", "", "certain"), "fixed"),
        // Two labels, one of them UNCLEAR: neither tellable nor overclaimed, right either way.
        row("contested", &status(403), &label("UNCLEAR", "\"USER_PERMISSION\"", "contested"), "fixed"),
        // The target came with the call: the input's fault, and no status.
        row("target", refused, &label("USER_INPUT", "", "certain"), "argument"),
    ];
    let table = RuleTable::bundled(Options::BUNDLED);
    let score = score(&rows, &table, &Policy::default(), &Settings::default());
    assert_eq!((score.rows, score.tellable, score.answered, score.right), (9, 6, 5, 3));
    assert_eq!((score.coverage, score.precision), (0.8333, 0.6));
    assert_eq!(score.certain, OfCertainty { rows: 5, right: 4 });
    assert_eq!(score.likely, OfCertainty { rows: 3, right: 0 });
    assert_eq!(score.contested, OfCertainty { rows: 1, right: 1 });
    assert_eq!(score.unclear, OfUnclear { rows: 2, overclaimed: 1 });
    assert_eq!((score.harm, score.harmed.as_slice()), (1, ["harm".to_owned()].as_slice()));
    assert_eq!(score.retry_errors, 1);
    let retries: Vec<(&str, &str, bool)> =
        score.retry_misses.iter().map(|it| (&*it.id, &*it.wanted, it.got.is_some())).collect();
    assert_eq!(retries, [("retry", "PT20S", true)]);
    let misses: Vec<&str> = score.misses.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(misses, ["wrong", "harm", "silent", "over"]);
    assert_eq!(score.by_class[&Classification::UserInput], OfClass { rows: 3, answered: 3, right: 1 });
    assert_eq!(score.confusion[&(Classification::UserInput, Classification::Intermittent)], 1);
}

#[test]
fn the_score_serialises_to_the_documented_shape() {
    let rows = [row("a", r#"{"httpStatus": 403}"#, CERTAIN, "fixed")];
    let table = RuleTable::bundled(Options::BUNDLED);
    let score = score(&rows, &table, &Policy::default(), &Settings::default());
    let json = serde_json::to_string(&score).unwrap();
    assert_eq!(
        json,
        concat!(
            r#"{"rows":1,"tellable":1,"answered":1,"right":0,"coverage":1.0,"precision":0.0,"#,
            r#""certain":{"rows":1,"right":0},"likely":{"rows":0,"right":0},"contested":{"rows":0,"right":0},"#,
            r#""unclear":{"rows":0,"overclaimed":0},"harm":0,"retry_errors":1,"#,
            r#""by_class":{"INTERMITTENT":{"rows":1,"answered":1,"right":0}},"#,
            r#""misses":[{"id":"a","expected":"INTERMITTENT","got":"USER_PERMISSION","rule_id":"http-403","signature":"http-403"}],"#,
            r#""retry_misses":[{"id":"a","wanted":"PT20S","got":null,"rule_id":"http-403"}]}"#
        )
    );
}
