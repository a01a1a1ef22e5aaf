//! Shadows are evaluated and counted, and never acted upon.

use checker::{Decision, Options};
use health_model::{Caller, Cascade, Instant, Policy, Tool, View};
use ports::{RuleLayerKey, RuleLayerRecord};

use super::*;
use crate::rules::Rules;

fn key(project_id: Option<&str>) -> RuleLayerKey {
    RuleLayerKey { tenant_id: "t".to_owned(), project_id: project_id.map(str::to_owned) }
}

fn layer(project_id: Option<&str>, text: &str) -> RuleLayerRecord {
    RuleLayerRecord {
        key: key(project_id),
        text: text.to_owned(),
        updated_at: Instant::UNIX_EPOCH,
        updated_by: "olga".to_owned(),
        version: 1,
    }
}

/// The packs under one layer of the project `p`.
fn rules(text: &str) -> Rules {
    let rules = Rules::new(Options::default());
    rules.set_store_layers(1, vec![layer(Some("p"), text)]);
    assert!(rules.layers().iter().all(|it| it.diagnostics.is_empty()), "{:?}", rules.layers());
    rules
}

fn decide(rules: &InForce, failure: &Failure) -> Decision {
    let caller = Caller { tenant_id: "t".to_owned(), project_id: "p".to_owned(), ..Caller::default() };
    let view = View { cascade: Cascade::default(), user_id: None };
    let (policy, settings) = (Policy::default(), checker::Settings::default());
    let now = Instant::from_timestamp(1_796_040_000, 0).expect("an instant");
    checker::decide(&rules.table, &caller, &Tool::default(), failure, &view, &policy, &settings, now)
}

/// Reports failures of a project as Check does, each once.
fn report(shadow: &Shadow, rules: &Rules, project: &str, failures: &[Failure]) {
    for failure in failures {
        let rules = rules.in_force("t", project);
        let verdict = decide(&rules, failure).verdict;
        shadow.note(&rules, &Tool::default(), failure, &verdict);
    }
}

fn http(status: u16) -> Failure {
    Failure { http_status: Some(status), ..Failure::default() }
}

fn saying(message: &str) -> Failure {
    Failure { message: message.to_owned(), ..Failure::default() }
}

const TEAPOT: &str = "shadow: true\npatterns:\n  - {id: teapot, before: first, match: {httpStatus: 418}, signature: s, classification: USER_INPUT}\n";

fn teapot(n: u64) -> (ShadowChange, u64) {
    let change = ShadowChange {
        rule_id: "fallback".to_owned(),
        classification: Classification::Unclear,
        shadow_rule_id: "teapot".to_owned(),
        shadow_classification: Classification::UserInput,
    };
    (change, n)
}

#[test]
fn a_shadow_is_counted_and_changes_nothing() {
    let (shadow, rules) = (Shadow::default(), rules(TEAPOT));
    assert_eq!(decide(&rules.in_force("t", "p"), &http(418)).verdict.rule_id, "fallback");
    report(&shadow, &rules, "p", &[http(418), http(418), http(500)]);
    assert_eq!(shadow.counts(), (1, 2));
    assert_eq!(rules.shadow_changes("t", None), [teapot(2)]);
    assert_eq!(rules.shadow_changes("t", Some("p")), [teapot(2)]);
    assert_eq!((rules.shadow_changes("t", Some("q")), rules.shadow_changes("u", None)), (vec![], vec![]));
    report(&shadow, &rules, "q", &[http(418)]);
    assert_eq!(shadow.counts(), (1, 2), "without a shadow nothing is counted");
}

/// A shadow's texts, codes and providers shift the numbers of everybody else's; the rules stay the same rules.
#[test]
fn rules_that_the_shadow_does_not_touch_are_the_same() {
    let failures = [
        saying("invalid_grant: Token has been expired or revoked."),
        saying("rate limit exceeded"),
        saying("connect ECONNREFUSED 127.0.0.1:1"),
        saying("database is locked"),
        saying("Your credit balance is too low to access the Anthropic API."),
        Failure { error_code: Some("AccessDenied".to_owned()), ..Failure::default() },
        Failure { body: "{\"error\": {\"code\": \"insufficient_quota\"}}".to_owned(), ..http(429) },
        http(404),
    ];
    let rule = "signature: s, classification: USER_INPUT";
    for matcher in
        ["text: [\"i am a teapot\"]", "code: [AAA_TEAPOT]", "regex: ['tea[pb]ot boils']", "provider: [acme]"]
    {
        let acme = "providers: {acme: {words: [acme], texts: [\"Acme kettle\"], hosts: [acme.example]}}\n";
        let yaml = format!(
            "shadow: true\n{acme}patterns:\n  - {{id: new, before: first, match: {{{matcher}}}, {rule}}}\n"
        );
        let (shadow, rules) = (Shadow::default(), rules(&yaml));
        report(&shadow, &rules, "p", &failures);
        assert_eq!(rules.shadow_changes("t", None), [], "{matcher}");
        assert_eq!(shadow.counts(), (failures.len() as u64, 0), "{matcher}");
    }
}

/// A rule that is replaced by one of the same id is another rule.
#[test]
fn a_replaced_rule_is_another_one() {
    let yaml = "shadow: true\npatterns:\n  - {id: http-404-endpoint, match: {httpStatus: 404}, signature: s, classification: USER_INPUT}\n";
    let (shadow, rules) = (Shadow::default(), rules(yaml));
    let before = decide(&rules.in_force("t", "p"), &http(404)).verdict.rule_id;
    report(&shadow, &rules, "p", &[http(404)]);
    assert_eq!((before.as_str(), shadow.counts()), ("http-404-endpoint", (0, 1)));
}

/// Refusals of the host and unknown tools are answered before any rule is asked. Where only the dispatcher knew that the
/// backend is gone, a rule of the shadow's that knows more would decide.
#[test]
fn what_no_rule_decided() {
    let (shadow, rules) = (Shadow::default(), rules(TEAPOT));
    for code in [DispatchCode::NotRegistered, DispatchCode::Disallowed] {
        report(&shadow, &rules, "p", &[Failure { dispatch_code: Some(code), ..http(418) }]);
    }
    assert_eq!(shadow.counts(), (0, 0));
    let gone = |failure| Failure { dispatch_code: Some(DispatchCode::BackendUnreachable), ..failure };
    report(&shadow, &rules, "p", &[gone(Failure::default()), gone(http(418))]);
    assert_eq!(shadow.counts(), (1, 1));
    let (change, _) = teapot(1);
    let classification = Classification::TechnicallyBroken;
    assert_eq!(
        rules.shadow_changes("t", None),
        [(ShadowChange { rule_id: String::new(), classification, ..change }, 1)]
    );
}

/// Callers name projects as they like: those without rules of their own are counted together, and no tenant takes the room
/// of another.
#[test]
fn made_up_projects_take_no_room() {
    let shadow = Shadow::default();
    let rules = Rules::new(Options::BUNDLED);
    let other = RuleLayerRecord {
        key: RuleLayerKey { tenant_id: "u".to_owned(), project_id: None },
        ..layer(None, TEAPOT)
    };
    rules.set_store_layers(1, vec![layer(None, TEAPOT), layer(Some("p"), TEAPOT), other]);
    for n in 0..2 * MAX_CHANGES {
        report(&shadow, &rules, &format!("made-up-{n}"), &[http(418)]);
    }
    report(&shadow, &rules, "p", &[http(418)]);
    assert_eq!(rules.shadow_changes("t", Some("p")), [teapot(1)]);
    assert_eq!(rules.shadow_changes("t", Some("any")), [teapot(2 * MAX_CHANGES as u64)]);
    assert_eq!(rules.shadow_changes("t", None), [teapot(2 * MAX_CHANGES as u64 + 1)]);
    let changes = Changes::default();
    for n in 0..2 * MAX_CHANGES {
        changes.add(None, ShadowChange { rule_id: n.to_string(), ..teapot(1).0 });
    }
    assert_eq!(changes.of_all().len(), MAX_CHANGES);
}

/// What was counted of other rules says nothing of these; of other tenants' rules it does not matter.
#[test]
fn a_change_of_the_rules_counts_anew() {
    let shadow = Shadow::default();
    let rules = rules(TEAPOT);
    report(&shadow, &rules, "p", &[http(418)]);
    let late = rules.in_force("t", "p");
    let other = RuleLayerRecord {
        key: RuleLayerKey { tenant_id: "u".to_owned(), project_id: None },
        ..layer(None, TEAPOT)
    };
    rules.set_store_layers(2, vec![layer(Some("p"), TEAPOT), other.clone()]);
    assert_eq!(rules.shadow_changes("t", None), [teapot(1)]);
    rules.set_store_layers(3, vec![layer(Some("p"), &format!("{TEAPOT}# again\n")), other]);
    assert_eq!(rules.shadow_changes("t", None), []);
    // One that was under way counts for the rules that judged it.
    shadow.note(&late, &Tool::default(), &http(418), &decide(&late, &http(418)).verdict);
    assert_eq!(rules.shadow_changes("t", None), []);
    report(&shadow, &rules, "p", &[http(418)]);
    assert_eq!(rules.shadow_changes("t", None), [teapot(1)]);
    rules.set_store_layers(4, Vec::new());
    assert_eq!(rules.shadow_changes("t", None), []);
}
