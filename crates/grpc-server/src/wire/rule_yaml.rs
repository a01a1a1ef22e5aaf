//! A rule as the text that would be read as the same rule again.

use checker::Rule;
use checker::rule::{Condition, CooldownSpec, Position, RuleScope};
use chrono::TimeDelta;
use serde_json::{Map, Value, json};

/// The rule as one item of `patterns`. Fields that the rule leaves open are left out.
pub(crate) fn write(rule: &Rule) -> String {
    let mut matched = Map::new();
    for condition in &rule.conditions {
        matched.insert(condition.field().to_owned(), wanted(condition));
    }
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("id", rule.id.as_str().into());
    put("match", matched.into());
    put("signature", rule.signature.as_str().into());
    put("classification", rule.classification.as_str().into());
    match &rule.cooldown {
        CooldownSpec::Default => {}
        CooldownSpec::Base(length) => {
            put("cooldown", duration(*length).into());
        }
        CooldownSpec::Header(name) => {
            put("cooldown", format!("header:{name}").into());
        }
    }
    if let Some(it) = rule.health_action {
        put("healthAction", it.as_str().into());
    }
    if rule.locked {
        put("locked", true.into());
    }
    if !rule.note.is_empty() {
        put("note", rule.note.as_str().into());
    }
    match &rule.position {
        None => {}
        Some(Position::First) => {
            put("before", "first".into());
        }
        Some(Position::Before(id)) => {
            put("before", id.as_str().into());
        }
    }
    if let Some((word, _)) = RuleScope::ALL.iter().find(|(_, it)| rule.scope == Some(*it)) {
        put("scope", (*word).into());
    }
    if let Some(it) = rule.fault {
        put("fault", it.as_str().into());
    }
    if let Some(it) = rule.remedy {
        put("remedy", it.as_str().into());
    }
    serde_yaml::to_string(&fields).unwrap_or_default()
}

fn wanted(condition: &Condition) -> Value {
    match condition {
        Condition::DispatchCode(it) => it.iter().map(|it| it.as_str()).collect(),
        Condition::ToolKind(it) => it.iter().map(|it| it.as_str()).collect(),
        Condition::Target(it) => it.as_str().into(),
        Condition::HttpStatus(it) => (*it).into(),
        Condition::HttpStatusRange(from, to) => json!([from, to]),
        Condition::SchemaViolation(it) => (*it).into(),
        Condition::NotFoundOf(it) => it.as_str().into(),
        Condition::Kind(it) => it.iter().map(|it| it.as_str()).collect(),
        Condition::ExceptionType(it) => it.names().iter().map(String::as_str).collect(),
        Condition::ErrorCode(it) => it.as_str().into(),
        Condition::BodyContains(it) => it.texts().iter().map(String::as_str).collect(),
    }
}

/// ISO 8601, down to milliseconds.
fn duration(length: TimeDelta) -> String {
    let millis = length.num_milliseconds().max(0);
    let (seconds, rest) = (millis / 1_000, millis % 1_000);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let mut text = "PT".to_owned();
    if hours > 0 {
        text.push_str(&format!("{hours}H"));
    }
    if minutes > 0 {
        text.push_str(&format!("{minutes}M"));
    }
    if rest > 0 {
        text.push_str(&format!("{seconds}.{rest:03}S"));
    } else if seconds > 0 || text == "PT" {
        text.push_str(&format!("{seconds}S"));
    }
    text
}

#[cfg(test)]
mod tests {
    use checker::{LayerKind, parse};

    use super::*;

    fn again(rule: &Rule) -> Rule {
        let item = write(rule).lines().map(|it| format!("    {it}\n")).collect::<String>();
        let text = format!("patterns:\n  - {}", item.trim_start());
        let layer = parse(LayerKind::Tenant, "test", &text);
        assert_eq!(layer.n_errors(), 0, "{text}\n{:?}", layer.diagnostics);
        Rule { line: rule.line, ..layer.rules.into_iter().next().unwrap() }
    }

    /// R125 to R136: what is shown of each bundled rule is the rule.
    #[test]
    fn the_bundled_rules_read_back_as_themselves() {
        let layer = checker::bundled::layer();
        assert_eq!(layer.rules.len(), 12);
        for rule in &layer.rules {
            assert_eq!(again(rule), *rule);
        }
    }

    #[test]
    fn every_field_reads_back() {
        let text = "patterns:\n  - id: full\n    match:\n      dispatchCode: [BACKEND_FAILED]\n      toolKind: [MCP, REST]\n      \
                    target: FIXED\n      httpStatusRange: [500, 599]\n      schemaViolation: true\n      notFoundOf: entity\n      \
                    kind: [dns, tls]\n      exceptionType: [ConnectionError]\n      errorCode: '42'\n      \
                    bodyContains: ['a: b', '- c']\n    signature: full\n    classification: INTERMITTENT\n    \
                    cooldown: PT1H2M3.5S\n    healthAction: none\n    locked: true\n    note: 'why: because'\n    \
                    before: first\n    scope: home\n    fault: UPSTREAM\n    remedy: RETRY_AT\n";
        let layer = parse(LayerKind::Tenant, "test", text);
        assert_eq!(layer.n_errors(), 0, "{:?}", layer.diagnostics);
        assert_eq!(again(&layer.rules[0]), layer.rules[0]);
    }

    #[test]
    fn durations_are_written_as_they_are_read() {
        for (millis, text) in [
            (0, "PT0S"),
            (500, "PT0.500S"),
            (300_000, "PT5M"),
            (86_400_000, "PT24H"),
            (3_661_000, "PT1H1M1S"),
        ] {
            assert_eq!(duration(TimeDelta::milliseconds(millis)), text);
        }
    }
}
