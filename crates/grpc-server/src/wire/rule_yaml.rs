//! A rule as the text that would be read as the same rule again.

use checker::Rule;
use checker::rule::{Condition, CooldownSpec, Numbers, Position, RETRY_UNITS, RetrySpec, RuleScope};
use chrono::TimeDelta;
use serde_json::{Map, Value, json};

/// The rule as one item of `patterns`. Fields that the rule leaves open are left out.
pub(crate) fn write(rule: &Rule) -> String {
    let matched = all_wanted(&rule.conditions);
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("id", rule.id.as_str().into());
    put("match", matched);
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
    match &rule.retry {
        RetrySpec::Common => {}
        RetrySpec::Nowhere => {
            put("retry", "none".into());
        }
        RetrySpec::Header(name) => {
            put("retry", format!("header:{name}").into());
        }
        RetrySpec::Json(pointer, unit) => {
            let word = RETRY_UNITS.iter().find(|(_, it)| it == unit).map_or("", |(word, _)| word);
            put("retry", format!("json:{pointer} {word}").into());
        }
        RetrySpec::Within(length) => {
            put("retry", format!("within:{}", duration(*length)).into());
        }
    }
    if !rule.is_health_signal {
        put("healthSignal", false.into());
    }
    serde_yaml::to_string(&fields).unwrap_or_default()
}

fn all_wanted(conditions: &[Condition]) -> Value {
    let fields = conditions.iter().map(|it| (it.field().to_owned(), wanted(it)));
    Value::Object(fields.collect::<Map<_, _>>())
}

fn numbers(numbers: &Numbers) -> Value {
    let values = numbers.ranges().iter().map(|(from, to)| match from == to {
        true => Value::from(*from),
        false => format!("{from}..{to}").into(),
    });
    match values.collect::<Vec<_>>().as_slice() {
        [one] => one.clone(),
        many => many.into(),
    }
}

fn wanted(condition: &Condition) -> Value {
    match condition {
        Condition::DispatchCode(it) => it.iter().map(|it| it.as_str()).collect(),
        Condition::ToolKind(it) => it.iter().map(|it| it.as_str()).collect(),
        Condition::Target(it) => it.as_str().into(),
        Condition::Phase(it) => it.iter().map(|it| it.as_str()).collect(),
        Condition::HttpStatus(it)
        | Condition::Status(it)
        | Condition::JsonRpcCode(it)
        | Condition::CloseCode(it)
        | Condition::ExitCode(it) => numbers(it),
        Condition::HttpStatusRange(from, to) => json!([from, to]),
        Condition::SchemaViolation(it) | Condition::IsError(it) => (*it).into(),
        Condition::NotFoundOf(it) => it.as_str().into(),
        Condition::Kind(it) => it.iter().map(|it| it.as_str()).collect(),
        Condition::ExceptionType(it) => it.names().iter().map(String::as_str).collect(),
        Condition::ErrorCode(it) => match it.as_slice() {
            [one] => one.as_str().into(),
            many => many.iter().map(String::as_str).collect(),
        },
        Condition::Code(it) => it.names().iter().map(String::as_str).collect(),
        Condition::GrpcStatus(it) | Condition::SqlState(it) => it.iter().map(String::as_str).collect(),
        Condition::Provider(it) => it.names().iter().map(String::as_str).collect(),
        Condition::ToolName(it) | Condition::Method(it) => it.iter().map(|it| it.as_str()).collect(),
        Condition::Header(tests) => {
            let values = |values: &[checker::rule::Wildcard]| values.iter().map(|it| it.as_str()).collect();
            tests
                .iter()
                .map(|it| (it.name().to_owned(), it.values().map_or(Value::Bool(true), values)))
                .collect()
        }
        Condition::Json(tests) => {
            let values = |values: &[Value]| Value::from(values);
            tests
                .iter()
                .map(|it| (it.pointer().to_owned(), it.values().map_or(Value::Bool(true), values)))
                .collect()
        }
        Condition::BodyShape(it) => it.iter().map(|it| it.as_str()).collect(),
        Condition::Contains(it) => it.texts().iter().map(String::as_str).collect(),
        Condition::Regex(it) => it.iter().map(|it| it.as_str()).collect(),
        Condition::Any(branches) => branches.iter().map(|it| all_wanted(it)).collect(),
        Condition::Not(conditions) => all_wanted(conditions),
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
