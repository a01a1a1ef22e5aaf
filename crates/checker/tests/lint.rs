//! What the linter finds, and what it must leave alone.

use std::collections::BTreeSet;

use checker::lint::{Check, Finding, Source, lint, shipped};
use checker::{LayerKind, Options, Severity};

/// The findings of one text as a tenant's layer.
fn found(text: &str) -> Vec<Finding> {
    lint(&[Source { kind: LayerKind::Tenant, name: "rules.yaml", text }], Options::default()).0
}

/// The findings of one rule with these lines, each as `check field value`.
fn told(lines: &str) -> Vec<String> {
    let lines: Vec<String> = lines.lines().map(|it| format!("    {}\n", it)).collect();
    let text = format!(
        "providers: {{ github: {{ hosts: [github.com] }} }}\npatterns:\n  - id: mine\n    before: first\n    signature: mine\n{}",
        lines.concat()
    );
    let source = Source { kind: LayerKind::Tenant, name: "rules.yaml", text: &text };
    lint(&[source], Options::BUNDLED)
        .0
        .iter()
        .map(|it| format!("{} {} {}", it.check, it.field, it.value).trim_end().to_owned())
        .collect()
}

fn told_of(class: &str, matches: &str) -> Vec<String> {
    told(&format!("classification: {class}\nmatch: {matches}"))
}

/// R105, R106: conditions that no failure meets, and some that only look like it.
#[test]
fn contradicting_conditions_never_match() {
    for (matches, expected) in [
        (
            "{ httpStatus: 403, httpStatusRange: [500, 599] }",
            "never-matches match.httpStatusRange 500 to 599",
        ),
        (
            "{ status: [400, 404], any: [{ status: 500 }, { status: '410..420' }] }",
            "never-matches match.any[0].status 500",
        ),
        (
            "{ kind: [dns], exceptionType: [java.net.ConnectException] }",
            "never-matches match.exceptionType java.net.ConnectException",
        ),
        (
            "{ target: ARGUMENT, any: [{ target: FIXED, code: [EACCES] }] }",
            "never-matches match.any[0].target FIXED",
        ),
        (
            "{ isError: true, any: [{ isError: false, code: [a_b] }] }",
            "never-matches match.any[0].isError false",
        ),
        (
            "{ phase: [spawn], code: [a_b], any: [{ phase: [call] }] }",
            "never-matches match.any[0].phase call",
        ),
        (
            "{ status: 404, code: [NotHere], not: { status: '400..499' } }",
            "never-matches match.not status 400 to 499",
        ),
        (
            "{ text: ['disk is full'], not: { any: [{ text: ['disk is full', 'no inodes'] }] } }",
            "never-matches match.not any text `disk is full`, `no inodes`",
        ),
        (
            "{ sqlState: ['42P01'], code: [a_b], not: { sqlState: ['42'] } }",
            "never-matches match.not sqlState 42",
        ),
        (
            "{ text: ['the disk is full'], not: { text: ['disk is full', '*inodes*'] } }",
            "never-matches match.not text `disk is full`, `*inodes*`",
        ),
        (
            "{ exceptionType: [acme.LedgerLocked], not: { exceptionType: [LedgerLocked] } }",
            "never-matches match.not exceptionType LedgerLocked",
        ),
        (
            "{ jsonRpcCode: -32001, not: { jsonRpcCode: ['-32010..-32000'] } }",
            "never-matches match.not jsonRpcCode -32010 to -32000",
        ),
        (
            "{ dispatchCode: [BACKEND_FAILED], not: { dispatchCode: [BACKEND_FAILED, BACKEND_UNREACHABLE] } }",
            "never-matches match.not dispatchCode BACKEND_FAILED, BACKEND_UNREACHABLE",
        ),
        ("{ closeCode: 12 }", "impossible-value match.closeCode 12"),
        ("{ kind: [cancelled] }", "impossible-value match.kind cancelled"),
    ] {
        assert_eq!(told_of("INTERMITTENT", matches), [expected], "{matches}");
    }
    let long = "x".repeat(65);
    assert_eq!(
        told_of("INTERMITTENT", &format!("{{ code: [{long}] }}")),
        [format!("impossible-value match.code {long}")]
    );
    // One branch of two: the branch is named, the rule still matches.
    assert_eq!(
        told_of("INTERMITTENT", "{ status: 404, any: [{ status: 500 }, { code: [NoSuchKey] }] }"),
        ["never-matches match.any[0].status 500"]
    );
    for fine in [
        "{ httpStatus: 502, status: 404 }",
        "{ httpStatus: '500..510', httpStatusRange: [505, 599] }",
        "{ kind: [timeout], exceptionType: [httpx.ConnectTimeout] }",
        "{ kind: [dns], exceptionType: [java.net.ConnectException, OwnException] }",
        "{ status: '400..410', code: [a_b], not: { status: 404 } }",
        "{ status: 404, code: [a_b], not: { status: 404, text: ['no such user'] } }",
        "{ jsonRpcCode: -32000, any: [{ jsonRpcCode: -32001 }] }",
        "{ text: ['the disk is full'], not: { text: ['disk is fuller'] } }",
        "{ sqlState: ['42'], code: [a_b], not: { sqlState: ['42P01'] } }",
        "{ httpStatus: 499, kind: [cancelled] }",
        "{ kind: [cancelled], any: [{ httpStatus: 499 }, { code: [a_b] }] }",
        "{ dispatchCode: [BACKEND_UNREACHABLE], kind: [cancelled] }",
    ] {
        assert_eq!(told_of("INTERMITTENT", fine), [""; 0], "{fine}");
    }
}

/// A cancelled call reaches the rules where a status was reported, or the dispatcher says that the backend is gone.
#[test]
fn a_rule_for_cancelled_calls_is_an_error_only_where_none_reaches_it() {
    let severity = |matches: &str| {
        let text = format!(
            "patterns: [{{id: a, before: first, match: {matches}, signature: a, classification: INTERMITTENT}}]"
        );
        let findings = found(&text);
        findings.iter().find(|it| it.check == Check::ImpossibleValue).map(|it| it.severity)
    };
    assert_eq!(severity("{ kind: [cancelled] }"), Some(Severity::Warning));
    assert_eq!(severity("{ kind: [cancelled], not: { httpStatus: '100..999' } }"), Some(Severity::Warning));
    let never = "{ kind: [cancelled], dispatchCode: [BACKEND_FAILED], not: { httpStatusRange: [100, 999] } }";
    assert_eq!(severity(never), Some(Severity::Error));
    assert_eq!(severity("{ kind: [cancelled], httpStatus: 499 }"), None);
    // What is told is so.
    let yaml = "patterns: [{id: a, before: first, match: {kind: [cancelled]}, signature: a, classification: INTERMITTENT}]";
    let layer = checker::parse(LayerKind::Tenant, "t.yaml", yaml);
    let table = checker::RuleTable::build([&layer], Options::BUNDLED);
    let decides = |http_status| {
        let failure = health_model::Failure {
            http_status,
            exception_type: Some("AbortError".to_owned()),
            ..health_model::Failure::default()
        };
        let (tool, policy) = (health_model::Tool::default(), health_model::Policy::default());
        let now = health_model::Instant::from_timestamp(1_796_040_000, 0).unwrap();
        let settings = checker::Settings::default();
        checker::decide_alone(&table, "t", "p", &tool, &failure, &policy, &settings, now).verdict.rule_id
    };
    assert_eq!((decides(Some(499)).as_str(), decides(None).as_str()), ("a", ""));
}

/// A provider that nobody describes is never seen; one that the file describes is.
#[test]
fn unknown_providers_are_named() {
    let rule = "patterns:\n  - id: a\n    before: first\n    match:\n      code: [Gone]\n      provider: [githab]\n    signature: a\n    classification: USER_INPUT\n";
    let findings = found(rule);
    assert_eq!(findings.len(), 1, "{findings:?}");
    let it = &findings[0];
    assert_eq!((it.check, it.severity, it.line), (Check::UnknownProvider, Severity::Error, 6));
    assert!(it.remedy.contains("github"), "{}", it.remedy);
    assert_eq!(found(&format!("providers: {{ githab: {{ hosts: [githab.example] }} }}\n{rule}")), []);
    // Without the packs their providers are not known either.
    let text = rule.replace("githab", "github");
    assert_eq!(found(&text), []);
    let source = Source { kind: LayerKind::Tenant, name: "rules.yaml", text: &text };
    assert_eq!(lint(&[source], Options::BUNDLED).0.len(), 1);
}

/// C14: a rule to which an earlier one leaves only what is said expressly, which hardly any reporter does.
#[test]
fn a_rule_that_hardly_any_failure_reaches_is_named() {
    let rule = |lines: &str| {
        format!(
            "patterns:\n  - id: widget\n    match: {{ httpStatus: 404, bodyContains: [Widget]{lines}\n    signature: widget\n    classification: USER_INPUT\n"
        )
    };
    let lines: Vec<String> = found(&rule(" }")).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "rules.yaml:3: warning: rule `widget`: match: reached only where the reporter says notFoundOf: entity: rule \
          `http-404-endpoint` of the bundled layer stands before it and takes all else; write before: http-404-endpoint \
          [never-reached]"
        ]
    );
    for fine in [", notFoundOf: entity }", " }\n    before: http-404-endpoint", " }\n    before: first"] {
        assert_eq!(found(&rule(fine)), [], "{fine}");
    }
    // Nothing is left at all: that is told once.
    let told: Vec<Check> = found(&rule(", notFoundOf: endpoint }")).iter().map(|it| it.check).collect();
    assert_eq!(told, [Check::NeverReached]);
}

/// C14: the merge's findings are passed on, with what to do.
#[test]
fn the_order_is_looked_at() {
    let text = "patterns:\n  - id: a\n    match: { httpStatus: 403, code: [a_b] }\n    signature: a\n    classification: USER_INPUT\n  - id: b\n    before: nothing\n    match: { code: [own_code] }\n    signature: b\n    classification: USER_INPUT\n";
    let findings = found(text);
    let told: Vec<(Check, u32)> = findings.iter().map(|it| (it.check, it.line)).collect();
    assert_eq!(told, [(Check::NeverReached, 2), (Check::Place, 6)]);
    assert!(findings[0].remedy.starts_with("write before: "), "{:?}", findings[0]);
}

/// What a shadow will be in force as is looked at.
#[test]
fn the_order_of_a_shadow_is_looked_at() {
    let rules = "patterns:\n\
        - {id: a, match: {httpStatus: 418}, signature: s, classification: USER_INPUT}\n\
        - {id: b, match: {httpStatus: 418}, signature: s, classification: USER_INPUT}\n";
    let checks = |text: &str| found(text).iter().map(|it| it.check.to_string()).collect::<Vec<_>>();
    assert!(!checks(rules).is_empty());
    assert_eq!(checks(&format!("{rules}shadow: true\n")), checks(rules));
}

/// A word that everything prints, alone; with something beside it, or where nothing is claimed, it is fine.
#[test]
fn rules_that_match_too_much_are_named() {
    for word in ["not found", "retry", "error", "failed", "timeout", "denied", "Not Found", "EOF"] {
        let field = "bodyContains";
        let matches = format!("{{ bodyContains: ['{word}'] }}");
        assert_eq!(told_of("USER_INPUT", &matches), [format!("common-word match.{field} {word}")], "{word}");
        let matches = format!("{{ any: [{{ text: ['{word}*'], isError: true }}, {{ code: [a_b] }}] }}");
        let expected = format!("common-word match.any[0].text {word}*");
        assert_eq!(told_of("USER_INPUT", &matches), [expected], "{word}");
        for fine in [
            format!("{{ text: ['{word}'], status: 404 }}"),
            format!("{{ text: ['{word}'], provider: [github] }}"),
            format!("{{ text: ['{word}'], any: [{{ text: ['in the vault'] }}, {{ code: [a_b] }}] }}"),
            format!("{{ text: ['the vault is {word}'] }}"),
        ] {
            assert_eq!(told_of("USER_INPUT", &fine), [""; 0], "{fine}");
        }
        assert_eq!(told_of("UNCLEAR", &format!("{{ text: ['{word}'] }}")), [""; 0]);
    }
    for (matches, expected) in [
        ("{ status: '400..499' }", "wide-status match.status 400 to 499"),
        ("{ httpStatusRange: [500, 599], target: FIXED }", "wide-status match.httpStatusRange 500 to 599"),
        ("{ provider: [github], toolKind: [REST] }", "provider-alone match.provider github"),
        ("{ regex: ['.*quota.*'] }", "wide-regex match.regex .*quota.*"),
        ("{ regex: ['quota.+used up'] }", "wide-regex match.regex quota.+used up"),
    ] {
        assert_eq!(told_of("USER_INPUT", matches), [expected], "{matches}");
    }
    for fine in [
        "{ status: '400..499', code: [quota_exceeded] }",
        "{ status: '500..504' }",
        "{ provider: [github], status: 404 }",
        "{ regex: ['quota.{0,80}used up', 'api\\.host/[.*]quota', 'a\\.*quota'] }",
    ] {
        assert_eq!(told_of("USER_INPUT", fine), [""; 0], "{fine}");
    }
}

/// R114…R120: fields that do nothing beside others.
#[test]
fn contradictions_between_fields_are_named() {
    for (lines, expected) in [
        ("classification: INTERMITTENT\nretry: none", "contradiction retry none"),
        ("classification: USER_INPUT\nretry: header:x-reset", "contradiction retry header:x-reset"),
        (
            "classification: UNCLEAR\nhealthSignal: false\nhealthAction: markDegraded",
            "contradiction healthAction markDegraded",
        ),
        ("classification: UNCLEAR\nhealthSignal: false\ncooldown: PT5M", "contradiction cooldown PT5M"),
        ("classification: WORKING\ncooldown: PT5M", "contradiction cooldown PT5M"),
        ("classification: INTERMITTENT\ncooldown: PT4H", "long-cooldown cooldown PT4H"),
        ("classification: USER_PERMISSION\nhealthAction: markUnavailable", "format patterns[0].healthAction"),
    ] {
        assert_eq!(told(&format!("match: {{ code: [own_code] }}\n{lines}")), [expected], "{lines}");
    }
    let fetches = "match: { code: [own_code], target: ARGUMENT }\nclassification: TECHNICALLY_BROKEN\nhealthAction: markUnavailable";
    assert_eq!(told(fetches), ["contradiction healthAction markUnavailable"]);
    for fine in [
        "classification: USER_PERMISSION\ncooldown: PT24H",
        "classification: INTERMITTENT\nretry: within:PT1M",
    ] {
        assert_eq!(told(&format!("match: {{ code: [own_code] }}\n{fine}")), [""; 0], "{fine}");
    }
}

/// DESIGN §5: a fault or a remedy that the class itself denies; what fits is left alone.
#[test]
fn a_fault_and_a_remedy_fit_the_class() {
    let told = |class: &str, line: &str| {
        told(&format!("match: {{ code: [own_code] }}\nclassification: {class}\n{line}"))
    };
    for (class, line, is_odd) in [
        ("USER_INPUT", "fault: UPSTREAM", true),
        ("USER_INPUT", "fault: TARGET", false),
        ("USER_INPUT", "remedy: RETRY_AT", true),
        ("USER_INPUT", "remedy: AWAIT_DIAGNOSIS", true),
        ("USER_INPUT", "remedy: PLAN_WITHOUT", false),
        ("USER_PERMISSION", "fault: TOOL_HOST", true),
        ("USER_PERMISSION", "fault: USER_CREDENTIAL", false),
        ("USER_PERMISSION", "remedy: RETRY_AT", true),
        ("USER_PERMISSION", "remedy: REAUTHENTICATE", false),
        ("USER_SPECIFIC_TECHNICAL", "fault: NETWORK", true),
        ("USER_SPECIFIC_TECHNICAL", "remedy: FIX_INPUT", true),
        ("USER_SPECIFIC_TECHNICAL", "remedy: RETRY_AT", false),
        ("TECHNICALLY_BROKEN", "fault: CALLER_INPUT", true),
        ("TECHNICALLY_BROKEN", "fault: TOOL_HOST", false),
        ("TECHNICALLY_BROKEN", "remedy: REAUTHENTICATE", true),
        ("TECHNICALLY_BROKEN", "remedy: ASK_ADMIN", false),
        ("INTERMITTENT", "fault: USER_RIGHT", true),
        ("INTERMITTENT", "fault: UPSTREAM", false),
        ("INTERMITTENT", "remedy: ASK_ADMIN", true),
        ("INTERMITTENT", "remedy: REOPEN_SESSION", false),
        ("UNCLEAR", "fault: CALLER_INPUT", true),
        ("UNCLEAR", "remedy: FIX_INPUT", true),
        ("UNCLEAR", "remedy: PLAN_WITHOUT", false),
        ("WORKING", "remedy: RETRY_AT", true),
    ] {
        let expected = match is_odd {
            true => vec![format!("contradiction {}", line.replace(": ", " "))],
            false => Vec::new(),
        };
        assert_eq!(told(class, line), expected, "{class} {line}");
    }
    let both = told("USER_INPUT", "fault: UPSTREAM\nremedy: RETRY_AT");
    assert_eq!(both, ["contradiction fault UPSTREAM", "contradiction remedy RETRY_AT"]);
}

/// A refusal says by itself that a right is missing, and of any other class little.
#[test]
fn a_refusal_is_no_common_word_of_a_missing_right() {
    for word in ["access denied", "not permitted"] {
        let matches = format!("{{ text: ['{word}'] }}");
        assert_eq!(told_of("USER_PERMISSION", &matches), [""; 0], "{word}");
        assert_eq!(told_of("USER_INPUT", &matches), [format!("common-word match.text {word}")]);
    }
    assert_eq!(told_of("USER_PERMISSION", "{ text: [denied] }"), ["common-word match.text denied"]);
}

/// What a pack owes: a reason for each rule, ids of its own, evidence that is one.
#[test]
fn packs_owe_more() {
    let text = "providers:\n  brain:\n    words: [brain, client]\n    texts: [error, 'Brain API']\n    hosts: [localhost]\npatterns:\n  - id: brain-full\n    match: { code: [brain_full] }\n    signature: brain-full\n    classification: INTERMITTENT\n";
    let told = |kind| {
        let source = Source { kind, name: "brain.yaml", text };
        let findings = lint(&[source], Options::default()).0;
        findings.iter().map(|it| (it.check, it.line, it.value.clone())).collect::<Vec<_>>()
    };
    let evidence = [
        (Check::CommonEvidence, 3, "client".to_owned()),
        (Check::CommonEvidence, 4, "error".to_owned()),
        (Check::CommonEvidence, 5, "localhost".to_owned()),
    ];
    let expected = [&evidence[..], &[(Check::NoteMissing, 7, String::new())]].concat();
    assert_eq!(told(LayerKind::Pack), expected);
    assert!(told(LayerKind::Tenant).starts_with(&evidence));

    let rule = "patterns:\n  - id: same\n    match: { code: [own_code] }\n    signature: same\n    classification: USER_INPUT\n    note: why\n";
    let pack = |name| Source { kind: LayerKind::Pack, name, text: rule };
    let findings = lint(&[pack("a.yaml"), pack("b.yaml")], Options::default()).0;
    let taken: Vec<(&str, &str)> = findings
        .iter()
        .filter(|it| it.check == Check::IdTaken)
        .map(|it| (it.file.as_str(), it.message.as_str()))
        .collect();
    assert_eq!(taken, [("b.yaml", "is a rule of a.yaml already")]);
}

/// A finding says where, what and what to do, and a text that is no layer says so.
#[test]
fn a_finding_is_one_line_with_a_remedy() {
    let text = "patterns:\n  - id: first-one\n    match: { code: [own_code] }\n    signature: a\n    classification: USER_INPUT\n  - id: second\n    before: first\n    match:\n      any:\n        - code: [other_code]\n        - text:\n            - fine words here\n            - denied\n    signature: b\n    classification: USER_PERMISSION\n";
    let findings = found(text);
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "rules.yaml:13: warning: rule `second`: match.any[1].text: `denied` is printed by failures of every kind; \
          write the whole phrase, or add a code, a status or a provider [common-word]"
        ]
    );
    let (findings, is_refused) =
        lint(&[Source { kind: LayerKind::Tenant, name: "x", text: "rules: []" }], Options::default());
    assert!(is_refused);
    assert!(findings.iter().all(|it| it.check == Check::Format && it.severity == Severity::Error));
    // The spelling is one and the same everywhere.
    for it in Check::ALL {
        assert_eq!(serde_json::to_value(it).ok(), Some(serde_json::json!(it.as_str())));
    }
    let names: BTreeSet<&str> = Check::ALL.iter().map(|it| it.as_str()).collect();
    assert_eq!(names.len(), Check::ALL.len());
}

/// R103, C14: the packs that ship keep every rule that they ask others to keep.
#[test]
fn nothing_is_found_in_the_shipped_packs() {
    let (findings, is_refused) = lint(&shipped(), Options::default());
    let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(findings, [""; 0]);
    assert!(!is_refused);
}

mod laws {
    use checker::lint::{Source, lint, shipped};
    use checker::{LayerKind, Options};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// R105: whatever a text holds, the linter answers, and each finding lies in it.
        #[test]
        fn any_text_is_looked_at(pack in 0..shipped().len(), at in any::<prop::sample::Index>(), len in 0..200_usize, put in "[ -~\n]{0,24}") {
            let text = shipped()[pack].text;
            let (from, to) = (text.floor_char_boundary(at.index(text.len().max(1)).min(text.len())), text.len());
            let end = text.floor_char_boundary((from + len).min(to));
            let text = format!("{}{put}{}", &text[..from], &text[end.max(from)..]);
            let n_lines = text.lines().count();
            let source = Source { kind: LayerKind::Tenant, name: "mine.yaml", text: &text };
            let (findings, is_refused) = lint(&[source], Options::BUNDLED);
            prop_assert!(!is_refused || !findings.is_empty());
            for it in findings {
                prop_assert!(usize::try_from(it.line).is_ok_and(|it| it <= n_lines + 1), "{it} of {n_lines} lines");
                prop_assert!(!it.message.is_empty() && it.file == "mine.yaml");
            }
        }
    }
}
