//! Flags become the request that they stand for.

use prost_types::Timestamp;

use super::*;
use crate::output::Format;

pub(crate) fn response() -> v1::CheckResponse {
    let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
    v1::CheckResponse {
        verdict: Some(v1::Verdict {
            classification: v1::Classification::UserPermission.into(),
            signature: "http-403".to_owned(),
            rule_id: "http-403".to_owned(),
            fault: v1::Fault::UserRight.into(),
            remedy: v1::Remedy::AskAdmin.into(),
            retry_at: None,
            retry_basis: v1::RetryBasis::None.into(),
            retry_safety: v1::RetrySafety::Safe.into(),
            dispatch_code: v1::DispatchCode::BackendFailed.into(),
            text: "Call of `jira_search` failed (http-403): this user lacks the right to do that. No data came back: \
                   do not report or assume a result. Calling again does not help; tell the user which right is missing."
                .to_owned(),
            user_hint: "Ask an administrator of jira_search for the right.".to_owned(),
            cooldown: Some(v1::Cooldown {
                active: false,
                until: at(1_796_086_400),
                hits: 1,
                episodes: 1,
                scope: v1::Scope::User.into(),
            }),
            diagnosis: v1::DiagnosisState::None.into(),
            job_id: String::new(),
            health: Some(v1::HealthSummary { state: v1::ToolState::Ok.into(), ..Default::default() }),
            durability: v1::Durability::Committed.into(),
            evidence: vec![v1::Evidence {
                field: "httpStatus".to_owned(),
                expected: "403".to_owned(),
                seen: "403".to_owned(),
            }],
        }),
        revision: "r7".to_owned(),
        stale: false,
        warnings: vec![v1::Warning {
            code: v1::WarningCode::Dropped.into(),
            field: "failure.headers[0].name".to_owned(),
            message: "`a b` is no header name and is left out".to_owned(),
        }],
        renderings: vec![v1::Rendering {
            dialect: v1::RenderDialect::Mcp.into(),
            media_type: "application/json".to_owned(),
            content: r#"{"isError":true}"#.to_owned(),
        }],
    }
}

#[test]
fn a_verdict_reads_in_100_columns() {
    let (mut out, written) = Out::captured(Format::Table);
    render(&mut out, "jira_search", &response(), true).expect("memory");
    let text = written.text();
    assert!(text.lines().all(|it| it.chars().count() <= 100), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_json_answer_is_one_object_without_anything_around_it() {
    let (mut out, written) = Out::captured(Format::Json);
    let response = response();
    out.answer(&response, |_| panic!("no table is asked for")).expect("memory");
    let value: serde_json::Value = serde_json::from_str(&written.text()).expect("one JSON value");
    assert_eq!(value["verdict"]["classification"], "CLASSIFICATION_USER_PERMISSION");
    assert_eq!(value["verdict"]["cooldown"]["hits"], "1", "64-bit numbers are texts in proto3 JSON");
}

fn asked(flags: &[&str]) -> Result<v1::CheckRequest, Error> {
    use clap::Parser as _;
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }
    request(&Line::parse_from(["check", "--tool", "x"].iter().chain(flags)).args)
}

#[test]
fn the_flags_of_the_report_itself_reach_the_request() {
    let request = asked(&["--report-id", "r", "--at-least", "7"]).expect("usable");
    assert_eq!((request.report_id.as_str(), request.at_least.as_str()), ("r", "7"));
    assert_eq!(request.detail(), v1::DetailLevel::Full);
    assert!(request.render.is_empty());
    let request = asked(&["--render", "openai-chat", "--call-id", "c"]).expect("usable");
    assert_eq!(request.render, [v1::RenderDialect::OpenaiChat as i32]);
    assert_eq!(request.call_id, "c");
    assert_eq!(request.detail(), v1::DetailLevel::Unspecified, "a rendering shows none of it");
}

/// DESIGN §2.3: that others failed alike is told to everybody, the fields of the rule to who asks.
#[test]
fn like_failures_are_told_without_asking() {
    let mut response = response();
    let verdict = response.verdict.as_mut().expect("there");
    verdict.diagnosis = v1::DiagnosisState::Enqueued.into();
    verdict.evidence.push(v1::Evidence {
        field: "likeFailures".to_owned(),
        expected: "3 users within 15 min".to_owned(),
        seen: "3 users within 1 s".to_owned(),
    });
    let shown = |response: &v1::CheckResponse, full| {
        let (mut out, written) = Out::captured(Format::Table);
        render(&mut out, "jira_search", response, full).expect("memory");
        written.text()
    };
    let text = shown(&response, false);
    assert!(
        text.contains("  alike         3 users failed alike within 1 s: the tool is being looked at\n"),
        "{text}"
    );
    assert!(!text.contains("evidence"), "{text}");
    let text = shown(&response, true);
    assert!(
        text.contains("evidence      likeFailures: wants 3 users within 15 min, saw 3 users within 1 s"),
        "{text}"
    );
    response.verdict.as_mut().expect("there").diagnosis = v1::DiagnosisState::None.into();
    let text = shown(&response, false);
    assert!(text.contains("within 1 s: a look at the tool was asked for before"), "{text}");
}

/// What cannot be rendered is refused before the report is sent and counted.
#[test]
fn a_rendering_that_answers_a_call_needs_its_id() {
    for dialect in v1::RenderDialect::all() {
        let answer = asked(&["--render", &dialect.flag()]);
        assert_eq!(answer.is_err(), needs_call_id(dialect), "{}", dialect.flag());
    }
    let error = asked(&["--render", "anthropic"]).expect_err("no id");
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_text().contains("--render anthropic") && error.to_text().contains("--call-id"));
}

/// A hook passes standard output on: the rendering and a line's end, nothing of the verdict or the warnings.
#[test]
fn a_rendering_is_printed_alone() {
    for format in [Format::Table, Format::Json] {
        let (mut out, written) = Out::captured(format);
        write_rendering(&mut out, v1::RenderDialect::Mcp, &response()).expect("memory");
        assert_eq!(written.text(), "{\"isError\":true}\n");
    }
    let (mut out, written) = Out::captured(Format::Table);
    let error =
        write_rendering(&mut out, v1::RenderDialect::Langchain, &response()).expect_err("not answered");
    assert!(error.to_text().contains("--render langchain"), "{}", error.to_text());
    assert_eq!((written.text().as_str(), error.exit_code()), ("", 1));
}
