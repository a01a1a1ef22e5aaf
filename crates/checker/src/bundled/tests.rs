//! The bundled file against the specification's table, row by row.

use health_model::{Classification, HealthAction};

use super::*;
use crate::rule::{Condition, CooldownSpec, Rule};

/// What a row of the table says of the match.
fn matched(rule: &Rule) -> String {
    let conditions = rule.conditions.iter().map(|it| format!("{} {}", it.field(), it.wanted()));
    conditions.collect::<Vec<_>>().join("; ")
}

fn cooldown(rule: &Rule) -> String {
    match &rule.cooldown {
        CooldownSpec::Default => "-".to_owned(),
        CooldownSpec::Base(it) => format!("{} min", it.num_minutes()),
        CooldownSpec::Header(name) => format!("header:{name}"),
    }
}

/// R125, R126, R127, R128, R129, R130, R131, R132, R133, R134, R135, R136, R137: one to one, in order. C15: what the
/// specification's selectors cannot say is said with ours.
#[test]
fn the_bundled_file_mirrors_the_table() {
    use Classification::{
        Intermittent, TechnicallyBroken, Unclear, UserInput, UserPermission, UserSpecificTechnical,
    };
    type Row = (&'static str, &'static str, &'static str, Classification, &'static str, bool);
    let table: [Row; 12] = [
        (
            "http-401-expired-token",
            "httpStatus 401; bodyContains `expired_token`, `token_expired`",
            "http-401-expired",
            UserSpecificTechnical,
            "1440 min",
            true,
        ),
        ("http-401-generic", "httpStatus 401", "http-401", Unclear, "-", false),
        ("http-403", "httpStatus 403", "http-403", UserPermission, "1440 min", true),
        ("http-404-endpoint", "httpStatus 404; notFoundOf endpoint", "http-404", Unclear, "-", false),
        ("http-429", "httpStatus 429", "http-429", Intermittent, "header:retry-after", true),
        ("http-5xx", "httpStatusRange 500 to 599", "http-5xx", Unclear, "-", false),
        ("socket-timeout", "exceptionType java.net.SocketTimeoutException", "timeout", Unclear, "-", false),
        (
            "connect-refused",
            "exceptionType java.net.ConnectException, java.net.UnknownHostException",
            "connect-refused",
            TechnicallyBroken,
            "5 min",
            true,
        ),
        ("schema-violation", "schemaViolation true", "schema-violation", Unclear, "-", false),
        (
            "manual-read-not-found",
            "exceptionType ToolException; bodyContains `Manual not found`",
            "manual-not-found",
            UserInput,
            "-",
            true,
        ),
        ("tool-exception-generic", "exceptionType ToolException", "tool-exception", Unclear, "-", false),
        ("fallback", "", "unclassified", Unclear, "-", true),
    ];
    assert_eq!(layer().diagnostics, [], "no findings");
    assert_eq!(layer().rules.len(), table.len());
    for (rule, row) in layer().rules.iter().zip(table) {
        let (id, conditions, signature, class, length, locked) = row;
        assert_eq!(rule.id, id);
        assert_eq!(
            (
                matched(rule).as_str(),
                rule.signature.as_str(),
                rule.classification,
                cooldown(rule).as_str(),
                rule.locked
            ),
            (conditions, signature, class, length, locked),
            "{id}"
        );
        let action = (id == "connect-refused").then_some(HealthAction::MarkUnavailable);
        assert_eq!(rule.health_action, action, "{id}");
        assert_eq!((rule.scope, rule.fault, rule.remedy, &rule.position), (None, None, None, &None), "{id}");
        assert!(rule.line > 0, "{id}");
    }
}

/// R134: `5 min (default)` is the default of its class.
#[test]
fn the_default_of_the_manual_rule_is_five_minutes() {
    let backoff = health_model::Policy::default().backoff(Classification::UserInput);
    assert_eq!((backoff.base.num_minutes(), backoff.factor), (5, 1));
}

/// R140: no generic "not found" among the needles.
#[test]
fn no_needle_collects_every_not_found() {
    for condition in layer().rules.iter().flat_map(|it| &it.conditions) {
        if let Condition::Contains(needles) = condition {
            assert!(needles.texts().iter().all(|it| !it.eq_ignore_ascii_case("not found")), "{needles:?}");
        }
    }
}
