//! The rule format: what is read, and what is said about what is not (R103…R120).

mod support;

use checker::rule::{Condition, CooldownSpec, Position, RuleScope};
use checker::{LayerKind, ParsedLayer, Severity};
use chrono::TimeDelta;
use health_model::{Classification, Fault, HealthAction, Remedy};
use support::layer;

fn parsed(yaml: &str) -> ParsedLayer {
    layer(LayerKind::Tenant, yaml)
}

/// A layer of one rule between two good ones, given as the rule's lines.
fn between_good_ones(lines: &[&str]) -> ParsedLayer {
    let mut yaml = String::from(
        "patterns:\n  - {id: one, match: {httpStatus: 400}, signature: s, classification: UNCLEAR}\n",
    );
    for (at, line) in lines.iter().enumerate() {
        yaml.push_str(if at == 0 { "  - " } else { "    " });
        yaml.push_str(line);
        yaml.push('\n');
    }
    yaml.push_str("  - {id: two, match: {httpStatus: 402}, signature: s, classification: UNCLEAR}\n");
    parsed(&yaml)
}

fn ids(layer: &ParsedLayer) -> Vec<&str> {
    layer.rules.iter().map(|it| it.id.as_str()).collect()
}

/// R103, R107, R108, R115, R116, R117, R118, R119, R120: every field, in one rule.
#[test]
fn every_field_is_read() {
    let yaml = "
patterns:
  - id: all
    match:
      dispatchCode: [BACKEND_FAILED]
      toolKind: [MCP, REST]
      target: FIXED
      httpStatusRange: [400, 499]
      schemaViolation: false
      notFoundOf: entity
      kind: [dns, reset]
      exceptionType: [java.net.ConnectException, com.acme.Odd]
      errorCode: -32000
      bodyContains: [quota, \"over quota\"]
    signature: all-fields
    classification: TECHNICALLY_BROKEN
    cooldown: PT90S
    healthAction: markDegraded
    locked: true
    note: a note
    before: http-5xx
    scope: tenant
    fault: UPSTREAM
    remedy: PLAN_WITHOUT
";
    let layer = parsed(yaml);
    assert_eq!(layer.diagnostics, []);
    let rule = &layer.rules[0];
    let fields: Vec<&str> = rule.conditions.iter().map(Condition::field).collect();
    assert_eq!(
        fields,
        [
            "dispatchCode",
            "toolKind",
            "target",
            "httpStatusRange",
            "schemaViolation",
            "notFoundOf",
            "kind",
            "exceptionType",
            "errorCode",
            "bodyContains"
        ]
    );
    assert!(matches!(&rule.conditions[8], Condition::ErrorCode(codes) if codes[..] == ["-32000".to_owned()]));
    assert_eq!((rule.id.as_str(), rule.signature.as_str(), rule.line), ("all", "all-fields", 3));
    assert_eq!(rule.classification, Classification::TechnicallyBroken);
    assert_eq!(rule.cooldown, CooldownSpec::Base(TimeDelta::seconds(90)));
    assert_eq!(rule.health_action, Some(HealthAction::MarkDegraded));
    assert!(rule.locked);
    assert_eq!(rule.note, "a note");
    assert_eq!(rule.position, Some(Position::Before("http-5xx".to_owned())));
    assert_eq!(rule.scope, Some(RuleScope::Tenant));
    assert_eq!((rule.fault, rule.remedy), (Some(Fault::Upstream), Some(Remedy::PlanWithout)));
}

/// R107, R108, R115, R116, R119: what is required, and what is false or empty by default.
#[test]
fn required_fields_and_defaults() {
    let good = between_good_ones(&["id: mid", "match: {}", "signature: s", "classification: UNCLEAR"]);
    assert_eq!(ids(&good), ["one", "mid", "two"]);
    let rule = &good.rules[1];
    assert!(rule.matches_everything() && !rule.locked && rule.note.is_empty());
    assert_eq!((&rule.cooldown, rule.health_action, &rule.position), (&CooldownSpec::Default, None, &None));
    let lines = ["id: mid", "match: {httpStatus: 401}", "signature: s", "classification: UNCLEAR"];
    for (missing, field) in [(0, "id"), (1, "match"), (2, "signature"), (3, "classification")] {
        let lines: Vec<&str> =
            lines.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, it)| *it).collect();
        let layer = between_good_ones(&lines);
        assert_eq!(ids(&layer), ["one", "two"]);
        let found = &layer.diagnostics[0];
        assert_eq!(found.field, format!("patterns[1].{field}"));
        assert_eq!((found.line, found.column), (3, 5), "at the rule");
        assert_eq!(found.message, "missing; every rule has it");
    }
}

/// One bad rule is skipped alone; each finding names line, column, field, value and remedy. A mistake in `match` never
/// makes a rule match more.
#[test]
fn each_mistake_is_named_and_costs_one_rule() {
    // What is wrong, in the place of `match: …`; line, column, field, what the message holds.
    let in_match: &[(&str, u32, &str, &str)] = &[
        ("httpStatus: \"401\"", 14, "match.httpStatus", "found the text `401`; write 401 without quotes"),
        (
            "httpStatus: 4x1",
            14,
            "match.httpStatus",
            "expected a number from 100 to 999, found the text `4x1`",
        ),
        ("httpStatus: 99", 14, "match.httpStatus", "`99` is no HTTP status"),
        ("httpStatus: 70000", 14, "match.httpStatus", "`70000` is no HTTP status"),
        ("httpStatus: []", 14, "match.httpStatus", "the list is empty"),
        ("httpStatus: ~", 14, "match.httpStatus", "found nothing"),
        ("httpstatus: 401", 2, "match", "unknown field `httpstatus`; is `httpStatus` meant?"),
        ("httpStatuss: 401", 2, "match", "unknown field `httpStatuss`; is `httpStatus` meant?"),
        (
            "statusCode: 401",
            2,
            "match",
            "unknown field `statusCode`; the fields are httpStatus, httpStatusRange",
        ),
        (
            "httpStatusRange: [599, 500]",
            19,
            "match.httpStatusRange",
            "reversed and matches nothing; write [500, 599]",
        ),
        (
            "httpStatusRange: [500]",
            19,
            "match.httpStatusRange",
            "expected two numbers, found 1; write [500, 599]",
        ),
        ("httpStatusRange: 5xx", 19, "match.httpStatusRange", "found the text `5xx`; write [500, 599]"),
        ("httpStatusRange: [\"500\", 599]", 19, "match.httpStatusRange", "write 500 without quotes"),
        ("exceptionType: a.B", 17, "match.exceptionType", "found the text `a.B`; write [\"a.B\"]"),
        ("exceptionType: []", 17, "match.exceptionType", "the list is empty"),
        ("exceptionType: [1]", 18, "match.exceptionType[0]", "found the number `1`; put it in quotes"),
        ("bodyContains: [x, \"\"]", 20, "match.bodyContains[1]", "the text is empty"),
        ("bodyContains: [\" \"]", 17, "match.bodyContains[0]", "the text is empty"),
        ("bodyContains: {a: b}", 16, "match.bodyContains", "expected a list, found a mapping"),
        ("errorCode: []", 13, "match.errorCode", "the list is empty"),
        ("errorCode: true", 13, "match.errorCode", "put it in quotes"),
        ("kind: [dsn]", 9, "match.kind[0]", "unknown failure kind `dsn`; write one of connect_refused"),
        ("kind: [connect-refused]", 9, "match.kind[0]", "is `connect_refused` meant?"),
        ("kind: dns", 8, "match.kind", "write [\"dns\"]"),
        ("target: argument", 10, "match.target", "is `ARGUMENT` meant?"),
        ("notFoundOf: route", 14, "match.notFoundOf", "write one of endpoint, entity"),
        (
            "schemaViolation: \"yes\"",
            19,
            "match.schemaViolation",
            "expected true or false, found the text `yes`",
        ),
        ("toolKind: [SOAP]", 13, "match.toolKind[0]", "unknown tool kind `SOAP`"),
        (
            "dispatchCode: [BACKEND_UNREACHABEL]",
            17,
            "match.dispatchCode[0]",
            "is `BACKEND_UNREACHABLE` meant?",
        ),
        ("httpStatus: 401, httpStatus: 402", 19, "match.httpStatus", "given twice; keep one of the two"),
        ("<<: {httpStatus: 401}", 2, "match", "unknown field `<<`"),
        ("1: 2", 2, "match", "expected a field's name, found the number `1`"),
        ("httpStatus: !x 401", 14, "match.httpStatus", "found a value with the tag `!x`"),
    ];
    for (wrong, column, field, message) in in_match {
        let line = format!("match: {{{wrong}}}");
        let layer = between_good_ones(&["id: bad", "signature: s", "classification: UNCLEAR", &line]);
        assert_eq!(ids(&layer), ["one", "two"], "{wrong}: the rule is skipped, the others stay");
        let found = &layer.diagnostics[0];
        assert_eq!((found.severity, found.rule_id.as_deref()), (Severity::Error, Some("bad")), "{wrong}");
        assert_eq!(found.field, format!("patterns[1].{field}"), "{wrong}");
        assert!(found.message.contains(message), "{wrong}: {}", found.message);
        assert_eq!((found.line, found.column), (6, 4 + 7 + column), "{wrong}: {found}");
    }
}

/// The same for the fields of the rule itself.
#[test]
fn mistakes_outside_match_are_named() {
    for (wrong, field, message) in [
        ("cooldown: 300", "cooldown", "found the number `300`; write an ISO-8601 duration like PT5M"),
        ("cooldown: 5m", "cooldown", "`5m` is no duration of a fixed length"),
        ("cooldown: P1M", "cooldown", "`P1M` is no duration of a fixed length"),
        ("cooldown: PT0S", "cooldown", "no time at all"),
        ("cooldown: P8D", "cooldown", "longer than P7D"),
        ("cooldown: \"header:\"", "cooldown", "no name of a header"),
        ("cooldown: \"header:a b\"", "cooldown", "`a b` is no name of a header"),
        (
            "healthAction: markDown",
            "healthAction",
            "unknown health action `markDown`; write one of auto, none, markUnavailable, markDegraded",
        ),
        ("locked: \"true\"", "locked", "expected true or false, found the text `true`"),
        ("note: \"\"", "note", "the text is empty"),
        ("before: \"a b\"", "before", "holds ' '"),
        ("before: bad", "before", "the rule cannot stand before itself"),
        (
            "scope: GLOBAL",
            "scope",
            "unknown scope `GLOBAL`; write one of credential, home, session, user, project, tenant",
        ),
        ("fault: NOBODY", "fault", "unknown fault `NOBODY`"),
        ("remedy: RETRY", "remedy", "unknown remedy `RETRY`"),
        ("colldown: PT5M", "", "unknown field `colldown`; is `cooldown` meant?"),
        ("signature: t", "signature", "given twice"),
    ] {
        let layer = between_good_ones(&[
            "id: bad",
            "match: {httpStatus: 401}",
            "signature: s",
            "classification: UNCLEAR",
            wrong,
        ]);
        assert_eq!(ids(&layer), ["one", "two"], "{wrong}");
        let found = &layer.diagnostics[0];
        let place = if field.is_empty() { "patterns[1]".to_owned() } else { format!("patterns[1].{field}") };
        assert_eq!((found.field.as_str(), found.line), (place.as_str(), 7), "{wrong}: {found}");
        assert!(found.message.contains(message), "{wrong}: {}", found.message);
    }
    for (lines, message) in [
        (
            &["id: \"a b\"", "match: {}", "signature: s", "classification: UNCLEAR"][..],
            "`a b` holds ' '; a name is made of",
        ),
        (
            &["id: 5", "match: {}", "signature: s", "classification: UNCLEAR"],
            "found the number `5`; put it in quotes",
        ),
        (
            &["id: a", "match: {httpStatus: 401}", "signature: \"`x`\"", "classification: UNCLEAR"],
            "holds '`'",
        ),
        (
            &["id: a", "match: {httpStatus: 401}", "signature: s", "classification: BROKEN"],
            "unknown classification `BROKEN`",
        ),
        (
            &["id: a", "match:", "signature: s", "classification: UNCLEAR"],
            "found nothing; a rule that matches everything says so: {}",
        ),
        (&["id: a", "match: []", "signature: s", "classification: UNCLEAR"], "found a list of 0"),
        (
            &["id: fallback", "match: {httpStatus: 401}", "signature: s", "classification: UNCLEAR"],
            "the fallback matches everything",
        ),
        (
            &["id: fallback", "match: {}", "before: first", "signature: s", "classification: UNCLEAR"],
            "the fallback stands last",
        ),
        (&["just text"], "expected a rule, found the text `just text`"),
    ] {
        let layer = between_good_ones(lines);
        assert_eq!(ids(&layer), ["one", "two"], "{lines:?}");
        assert!(
            layer.diagnostics.iter().any(|it| it.message.contains(message)),
            "{lines:?}: {:?}",
            layer.diagnostics
        );
    }
}

/// A finding is one line, whatever the value holds.
#[test]
fn a_finding_is_one_line() {
    let layer = between_good_ones(&[
        "id: \"a\\nb\"",
        "match: {httpStatus: \"x\\ny\"}",
        "signature: s",
        "classification: \"U\\nC\"",
    ]);
    assert_eq!(layer.diagnostics.len(), 3);
    for found in &layer.diagnostics {
        assert!(!found.to_string().contains('\n'), "{found:?}");
    }
}

/// All mistakes of a rule are named at once.
#[test]
fn all_mistakes_are_named_at_once() {
    let layer = between_good_ones(&[
        "id: bad",
        "match: {httpStatus: x, kind: []}",
        "signature: \"\"",
        "classification: UNCLER",
    ]);
    let fields: Vec<&str> = layer.diagnostics.iter().map(|it| it.field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "patterns[1].match.httpStatus",
            "patterns[1].match.kind",
            "patterns[1].signature",
            "patterns[1].classification"
        ]
    );
}

/// R107: ids are unique in a layer; of two the first stays.
#[test]
fn of_two_equal_ids_the_first_stays() {
    let layer = between_good_ones(&["id: one", "match: {}", "signature: s", "classification: UNCLEAR"]);
    assert_eq!(ids(&layer), ["one", "two"]);
    assert!(!layer.rules[0].matches_everything());
    let errors: Vec<String> = layer
        .diagnostics
        .iter()
        .filter(|it| it.severity == Severity::Error)
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        errors,
        [
            "tenant.yaml:3:5: error: rule `one`: patterns[1].id: the id stands at patterns[0] already; give this rule an id of its own, it is skipped"
        ]
    );
}

/// Limits of lengths and lists.
#[test]
fn limits_are_named() {
    let many = format!("match: {{bodyContains: [{}]}}", "x, ".repeat(257));
    let long = format!("match: {{bodyContains: [\"{}\"]}}", "x".repeat(513));
    let long_id = format!("id: {}", "x".repeat(129));
    let long_signature = format!("signature: {}", "x".repeat(65));
    let good = ["id: bad", "match: {httpStatus: 401}", "signature: s", "classification: UNCLEAR"];
    for (at, line, message) in [
        (1, &many, "the list has 257 values, at most 256 are allowed; split the rule"),
        (1, &long, "the text has 513 bytes, at most 512 are allowed; shorten it"),
        (0, &long_id, "the text has 129 bytes, at most 128 are allowed"),
        (2, &long_signature, "the text has 65 bytes, at most 64 are allowed"),
    ] {
        let mut lines = good;
        lines[at] = line;
        let layer = between_good_ones(&lines);
        assert_eq!(ids(&layer), ["one", "two"]);
        assert!(layer.diagnostics[0].message.contains(message), "{}", layer.diagnostics[0].message);
    }
}

/// R3, R138: a rule that asks for a status that its class never writes is told so, and stays.
#[test]
fn an_action_that_is_ignored_is_a_warning() {
    for class in ["USER_PERMISSION", "USER_INPUT", "WORKING"] {
        let class = format!("classification: {class}");
        let layer = between_good_ones(&[
            "id: odd",
            "match: {httpStatus: 401}",
            "signature: s",
            &class,
            "healthAction: markUnavailable",
        ]);
        assert_eq!(ids(&layer), ["one", "odd", "two"]);
        let found = &layer.diagnostics[0];
        assert_eq!((found.severity, found.line, found.column), (Severity::Warning, 7, 19));
        assert!(found.message.starts_with("`markUnavailable` is ignored"), "{}", found.message);
    }
}

/// R114: a rule that matches everything under another id than the fallback's is a likely mistake.
#[test]
fn a_rule_that_matches_everything_is_a_warning() {
    let layer = between_good_ones(&["id: any", "match: {}", "signature: s", "classification: UNCLEAR"]);
    assert_eq!(layer.n_errors(), 0);
    assert!(layer.diagnostics[0].message.contains("no rule behind it is ever reached"));
    let fallback = parsed("patterns: [{id: fallback, match: {}, signature: s, classification: UNCLEAR}]");
    assert_eq!(fallback.diagnostics, []);
    assert!(fallback.rules.first().unwrap().matches_everything());
}
