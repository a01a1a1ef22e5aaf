//! A dozen verdicts in every dialect: one snapshot a dialect, one line a verdict.

use std::sync::LazyLock;

use checker::{Options, RuleTable, Settings, decide_alone};
use chrono::TimeZone as _;
use health_model::vocabulary::{
    Classification, DiagnosisState, DispatchCode, Fault, Remedy, RetryBasis, RetrySafety, Scope,
};
use health_model::words::{Failed, Reason, failure_text};
use health_model::{Failure, Instant, Policy, Tool};
use serde_json::Value;

use super::*;

const PAGE: &str = include_str!("../../../../docs/renderings.md");

static TABLE: LazyLock<RuleTable> = LazyLock::new(|| RuleTable::bundled(Options::default()));

const CALL: Call<'_> = Call { id: Some("call_7Hq2"), tool: "jira_search" };

fn at(second: u32, milli: u32) -> Instant {
    let at = chrono::Utc.with_ymd_and_hms(2026, 11, 30, 22, 1, second).unwrap();
    at + chrono::TimeDelta::milliseconds(milli.into())
}

/// A verdict as the checker gives it, with the words that belong to it.
fn verdict(
    classification: Classification,
    signature: &str,
    fault: Fault,
    remedy: Remedy,
    retry: Option<(Instant, RetryBasis)>,
) -> Verdict {
    let failed = Failed {
        tool: CALL.tool,
        signature,
        classification,
        reason: Reason::of(classification, signature),
        remedy,
        retry,
        is_health_signal: true,
    };
    Verdict {
        classification,
        signature: signature.to_owned(),
        rule_id: signature.to_owned(),
        evidence: Vec::new(),
        dispatch_code: Some(DispatchCode::BackendFailed),
        fault,
        remedy,
        retry_at: retry.map(|it| it.0),
        retry_basis: retry.map(|it| it.1),
        retry_safety: RetrySafety::Safe,
        scope: Some(Scope::Project),
        cooldown: None,
        diagnosis: DiagnosisState::None,
        model_text: failure_text(&failed),
        user_hint: None,
        is_health_signal: true,
    }
}

/// The verdict on the failure that `docs/renderings.md` shows, as the shipped rules decide it.
fn rate_limit() -> Verdict {
    let tool = Tool { name: CALL.tool.to_owned(), ..Tool::default() };
    let headers = vec![("Retry-After".to_owned(), "30".to_owned())];
    let failure = Failure { http_status: Some(429), headers, ..Failure::default() };
    let (policy, settings) = (Policy::default(), Settings::default());
    let now = at(7, 0) - chrono::TimeDelta::seconds(30);
    decide_alone(&TABLE, "acme", "default", &tool, &failure, &policy, &settings, now).verdict
}

fn dozen() -> Vec<(&'static str, Verdict)> {
    use Classification as C;
    let not_a_signal = Verdict {
        is_health_signal: false,
        scope: None,
        rule_id: String::new(),
        model_text: failure_text(&Failed {
            tool: CALL.tool,
            signature: "cancelled",
            classification: C::Unclear,
            reason: Some(Reason::Stopped),
            remedy: Remedy::PlanWithout,
            retry: None,
            is_health_signal: false,
        }),
        ..verdict(C::Unclear, "cancelled", Fault::Unknown, Remedy::PlanWithout, None)
    };
    vec![
        ("rate limit of a user", rate_limit()),
        (
            "missing right",
            Verdict {
                scope: Some(Scope::User),
                user_hint: Some("Ask an administrator of jira_search for the right.".to_owned()),
                ..verdict(C::UserPermission, "http-403", Fault::UserRight, Remedy::AskAdmin, None)
            },
        ),
        (
            "expired token",
            Verdict {
                scope: Some(Scope::User),
                user_hint: Some("Melde dich bei jira_search neu an: „Zugang erneuern“.".to_owned()),
                ..verdict(
                    C::UserSpecificTechnical,
                    "http-401",
                    Fault::UserCredential,
                    Remedy::Reauthenticate,
                    None,
                )
            },
        ),
        (
            "bad arguments",
            verdict(C::UserInput, "schema-violation", Fault::CallerInput, Remedy::FixInput, None),
        ),
        ("bad host in an argument", verdict(C::UserInput, "dns", Fault::Target, Remedy::FixInput, None)),
        (
            "refused connection",
            verdict(
                C::TechnicallyBroken,
                "connect-refused",
                Fault::Upstream,
                Remedy::PlanWithout,
                Some((at(30, 0), RetryBasis::Computed)),
            ),
        ),
        (
            "client gone",
            Verdict {
                scope: Some(Scope::Session),
                ..verdict(C::TechnicallyBroken, "client-gone", Fault::ToolHost, Remedy::ReopenSession, None)
            },
        ),
        (
            "shared rate limit",
            Verdict {
                retry_safety: RetrySafety::VerifyFirst,
                ..verdict(
                    C::Intermittent,
                    "http-503",
                    Fault::Upstream,
                    Remedy::RetryAt,
                    Some((at(7, 250), RetryBasis::UpperBound)),
                )
            },
        ),
        (
            "requests of a user per minute",
            verdict(
                C::Intermittent,
                "http-429",
                Fault::Upstream,
                Remedy::RetryAt,
                Some((at(59, 1), RetryBasis::Exact)),
            ),
        ),
        (
            "nobody knows",
            Verdict {
                diagnosis: DiagnosisState::Enqueued,
                retry_safety: RetrySafety::Unsafe,
                ..verdict(
                    C::Unclear,
                    "http-500",
                    Fault::Unknown,
                    Remedy::AwaitDiagnosis,
                    Some((at(0, 0), RetryBasis::Computed)),
                )
            },
        ),
        (
            "seen to work",
            Verdict {
                diagnosis: DiagnosisState::AlreadyDiagnosed,
                ..verdict(C::Working, "http-500", Fault::Network, Remedy::RetryAt, None)
            },
        ),
        ("cancelled", not_a_signal),
        (
            "quotes and line breaks",
            Verdict {
                model_text: "Call of `a\"b\\c` failed:\n\tno data came back. <&> „ü“ \u{1f527}".to_owned(),
                ..verdict(C::Unclear, "a\"b", Fault::Unknown, Remedy::PlanWithout, None)
            },
        ),
    ]
}

fn rendered(dialect: Dialect, verdict: &Verdict) -> String {
    render(dialect, verdict, CALL).unwrap()
}

/// The words for the model in a rendering.
fn words(dialect: Dialect, rendering: &Value) -> &Value {
    match dialect {
        Dialect::Mcp => &rendering["content"][0]["text"],
        Dialect::Anthropic | Dialect::OpenaiChat | Dialect::Langchain => &rendering["content"],
        Dialect::OpenaiResponses => &rendering["output"],
        Dialect::ProblemJson => &rendering["detail"],
    }
}

/// Every remedy and every class in every dialect, byte by byte.
#[test]
fn a_dozen_verdicts_in_every_dialect() {
    let dozen = dozen();
    for class in Classification::ALL {
        assert!(dozen.iter().any(|(_, it)| it.classification == *class), "{class} is missing");
    }
    for remedy in Remedy::ALL {
        assert!(dozen.iter().any(|(_, it)| it.remedy == *remedy), "{remedy} is missing");
    }
    let lines = |dialect| {
        let lines = dozen.iter().map(|(name, it)| format!("# {name}\n{}\n", rendered(dialect, it)));
        lines.collect::<String>()
    };
    insta::assert_snapshot!("mcp", lines(Dialect::Mcp));
    insta::assert_snapshot!("anthropic", lines(Dialect::Anthropic));
    insta::assert_snapshot!("openai-chat", lines(Dialect::OpenaiChat));
    insta::assert_snapshot!("openai-responses", lines(Dialect::OpenaiResponses));
    insta::assert_snapshot!("langchain", lines(Dialect::Langchain));
    insta::assert_snapshot!("problem-json", lines(Dialect::ProblemJson));
}

/// C22, DESIGN §2.7: the same verdict gives the same bytes, on one line, and the words are the verdict's own.
#[test]
fn the_words_are_unchanged_and_the_bytes_are_the_same() {
    for &dialect in Dialect::ALL {
        for (name, verdict) in dozen() {
            let text = rendered(dialect, &verdict);
            assert_eq!(text, rendered(dialect, &verdict.clone()), "{dialect}: {name}");
            assert!(!text.contains('\n'), "{dialect}: {name}");
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(words(dialect, &value), verdict.model_text.as_str(), "{dialect}: {name}");
        }
    }
}

/// The evidence holds text from outside (DESIGN §2.6), and the time of the cooldown moves: neither is rendered.
#[test]
fn what_only_explains_a_verdict_is_not_rendered() {
    let plain = rate_limit();
    let explained = Verdict {
        evidence: vec![health_model::verdict::Evidence {
            field: "bodyContains".to_owned(),
            expected: "quota".to_owned(),
            seen: "text from outside".to_owned(),
        }],
        cooldown: Some(health_model::verdict::CooldownSeen {
            active: true,
            until: at(9, 0),
            episodes: 3,
            scope: Scope::User,
        }),
        ..plain.clone()
    };
    for &dialect in Dialect::ALL {
        assert_eq!(rendered(dialect, &explained), rendered(dialect, &plain), "{dialect}");
    }
}

#[test]
fn a_form_that_answers_a_call_needs_its_id() {
    for &dialect in Dialect::ALL {
        for id in [None, Some("")] {
            let answer = render(dialect, &rate_limit(), Call { id, tool: "" });
            if dialect.needs_call_id() {
                assert_eq!(answer, Err(Error::NoCallId(dialect)));
            } else {
                let text = answer.unwrap();
                assert!(!text.contains("\"instance\"") && !text.contains("\"name\""), "{text}");
            }
        }
    }
    assert_eq!(
        Error::NoCallId(Dialect::Anthropic).to_string(),
        "a rendering for `anthropic` needs the id of the call"
    );
}

/// The naming rules of `_meta` in MCP: labels, a slash, a name; nothing that names MCP in any revision.
#[test]
fn the_key_in_meta_is_legal_and_not_reserved() {
    let (prefix, name) = META_KEY.split_once('/').unwrap();
    for label in prefix.split('.') {
        assert!(label.starts_with(|it: char| it.is_ascii_alphabetic()), "{label}");
        assert!(label.ends_with(|it: char| it.is_ascii_alphanumeric()), "{label}");
        assert!(label.chars().all(|it| it.is_ascii_alphanumeric() || it == '-'), "{label}");
        assert!(!["mcp", "modelcontextprotocol"].contains(&label));
    }
    assert!(name.chars().all(|it| it.is_ascii_alphanumeric()), "{name}");
}

/// RFC 9457: a type has one title, its members are as the RFC types them, extensions are letters, digits and `_`.
#[test]
fn problems_are_as_the_rfc_wants_them() {
    let mut titles = std::collections::BTreeMap::new();
    for (name, verdict) in dozen() {
        let problem: Value = serde_json::from_str(&rendered(Dialect::ProblemJson, &verdict)).unwrap();
        let (kind, title) = (problem["type"].as_str().unwrap(), problem["title"].as_str().unwrap());
        let known = titles.entry(kind.to_owned()).or_insert_with(|| title.to_owned());
        assert_eq!(known, title, "{name}");
        assert!((400..600).contains(&problem["status"].as_u64().unwrap()), "{name}");
        assert_eq!(problem.get("retry_after").is_some(), verdict.retry_at.is_some(), "{name}");
        for member in problem.as_object().unwrap().keys() {
            assert!(member.len() >= 3 && member.starts_with(|it: char| it.is_ascii_alphabetic()), "{member}");
            assert!(member.chars().all(|it| it.is_ascii_alphanumeric() || it == '_'), "{member}");
        }
    }
    let call = Call { id: Some("a b/ü%"), tool: "" };
    let problem: Value =
        serde_json::from_str(&render(Dialect::ProblemJson, &rate_limit(), call).unwrap()).unwrap();
    assert_eq!(problem["instance"], "urn:agrajag:call:a%20b%2F%C3%BC%25");
}

/// R129: never earlier than said. The header has whole seconds, the field is exact.
#[test]
fn retry_after_is_rounded_up() {
    let verdict = Verdict { retry_at: Some(at(59, 1)), ..rate_limit() };
    let problem: Value = serde_json::from_str(&rendered(Dialect::ProblemJson, &verdict)).unwrap();
    assert_eq!(problem["retry_after"], "Mon, 30 Nov 2026 22:02:00 GMT");
    assert_eq!(problem["retry_at"], "2026-11-30T22:01:59.001Z");
}

/// The page shows what is rendered, laid out for people.
#[test]
fn the_page_shows_every_dialect_as_it_is() {
    for &dialect in Dialect::ALL {
        let (_, section) = PAGE.split_once(&format!("\n## `{dialect}`")).expect("a section");
        let (_, block) = section.split_once("```json\n").expect("an example");
        let (block, _) = block.split_once("\n```").expect("an end");
        assert_eq!(compact(block), rendered(dialect, &rate_limit()), "docs/renderings.md: {dialect}");
        assert!(section.contains(dialect.media_type()), "{dialect}");
    }
}

/// JSON without the blanks between its tokens; the order of keys stays.
fn compact(json: &str) -> String {
    let (mut is_text, mut is_escaped) = (false, false);
    json.chars()
        .filter(|it| {
            let was_text = is_text;
            match it {
                '"' if !is_escaped => is_text = !is_text,
                _ => {}
            }
            is_escaped = was_text && *it == '\\' && !is_escaped;
            was_text || !it.is_whitespace()
        })
        .collect()
}
