//! What to do and what to say, by the reason: an empty account needs no new login, a refusal no right, a rate limit a name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::collections::BTreeSet;

use checker::{Options, RuleTable, packs};
use health_model::{
    Classification, CredentialOwner, Failure, Fault, Remedy, RetryBasis, Tool, ToolKind, Verdict,
};
use serde_yaml::Value;
use support::{World, status, with_header};

/// A world with the packs and a tool that is no MCP server's.
fn world() -> World {
    let tool = Tool { name: "crm".to_owned(), kind: Some(ToolKind::Rest), ..Tool::default() };
    World { table: RuleTable::bundled(Options::default()), tool, ..World::new() }
}

fn verdict(failure: &Failure) -> Verdict {
    world().decide(failure).verdict
}

fn said(message: &str) -> Failure {
    Failure { message: message.to_owned(), ..Failure::default() }
}

/// The words of a text, `DailyLimit_exceeded` being three.
fn words_of(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut was_lower = false;
    for it in text.chars().chain([' ']) {
        if !it.is_alphanumeric() || (it.is_uppercase() && was_lower) {
            words.insert(std::mem::take(&mut word).to_lowercase());
        }
        was_lower = it.is_lowercase();
        if it.is_alphanumeric() {
            word.push(it);
        }
    }
    words
}

/// The texts that a `match` looks for, without those that it excludes.
fn wanted(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(it) => into.push(it.clone()),
        Value::Sequence(list) => list.iter().for_each(|it| wanted(it, into)),
        Value::Mapping(fields) => fields
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), Some("not" | "header" | "json")))
            .for_each(|(_, it)| wanted(it, into)),
        _ => {}
    }
}

/// The rule alone, matching whatever comes.
fn alone(rule: &Value) -> World {
    let mut rule = rule.clone();
    let fields = rule.as_mapping_mut().unwrap();
    fields.insert("match".into(), serde_yaml::from_str("{not: {target: ARGUMENT}}").unwrap());
    fields.insert("before".into(), "first".into());
    fields.insert("id".into(), "alone".into());
    let layer = serde_yaml::to_string(&serde_yaml::Mapping::from_iter([(
        Value::from("patterns"),
        Value::Sequence(vec![rule]),
    )]));
    World::with_rules(&layer.unwrap())
}

/// Of every pack: only a rule about a credential sends the user to a login, and none that looks for an empty account, a
/// due bill or a shut account is about a credential.
#[test]
fn no_rule_about_an_account_asks_for_a_login() {
    const NAMES: [&str; 13] = [
        "quota",
        "money",
        "credit",
        "credits",
        "billing",
        "bill",
        "balance",
        "limit",
        "plan",
        "payment",
        "suspended",
        "locked",
        "account",
    ];
    const TEXTS: [&str; 14] = [
        "quota",
        "quotas",
        "suspended",
        "suspend",
        "deactivated",
        "lockout",
        "balance",
        "billing",
        "unpaid",
        "overdue",
        "credits",
        "banned",
        "frozen",
        "payment",
    ];
    let mut wrong = Vec::new();
    let mut asked = 0;
    for (name, text) in packs::SOURCES {
        let layer: Value = serde_yaml::from_str(text).unwrap();
        for rule in layer["patterns"].as_sequence().unwrap() {
            if rule["classification"] != "USER_SPECIFIC_TECHNICAL" {
                continue;
            }
            let verdict = alone(rule).decide(&said("x")).verdict;
            if verdict.remedy != Remedy::Reauthenticate {
                let said = format!("{} {:?}", verdict.model_text, verdict.user_hint);
                assert!(!said.contains("log in"), "{name}: {said}");
                continue;
            }
            asked += 1;
            let (id, signature) = (rule["id"].as_str().unwrap(), rule["signature"].as_str().unwrap());
            let named = words_of(&format!("{id} {signature}"));
            wrong.extend(
                NAMES
                    .iter()
                    .filter(|it| named.contains(**it))
                    .map(|it| format!("{name} {id} {signature}: {it}")),
            );
            let mut texts = Vec::new();
            wanted(&rule["match"], &mut texts);
            for text in texts {
                let words = words_of(&text);
                // A key that is shut is replaced by another one.
                let is_of_key = words.contains("key") || words.contains("keys");
                let found = TEXTS.iter().filter(|it| !is_of_key && words.contains(**it));
                wrong.extend(found.map(|it| format!("{name} {id}: {it} in `{text}`")));
            }
        }
    }
    assert!(asked > 40, "{asked} rules are about a credential");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_empty_account_needs_no_new_login() {
    for (failure, what) in [
        (
            Failure { body: r#"{"error":{"code":"insufficient_quota"}}"#.to_owned(), ..status(429) },
            "has no quota left, or a bill is due",
        ),
        (Failure { body: "Your quota is used up".to_owned(), ..status(403) }, "has no quota left"),
        (
            Failure { body: "Your account has been suspended".to_owned(), ..status(403) },
            "locked, suspended or not active",
        ),
        (
            Failure {
                body: r#"[{"message":"TotalRequests Limit exceeded.","errorCode":"REQUEST_LIMIT_EXCEEDED"}]"#
                    .to_owned(),
                target_host: Some("acme.my.salesforce.com".to_owned()),
                ..status(403)
            },
            "has no quota left",
        ),
        (status(402), "a bill of the account behind it is due"),
    ] {
        let verdict = verdict(&failure);
        assert_eq!(verdict.classification, Classification::UserSpecificTechnical, "{failure:?}");
        assert_eq!((verdict.remedy, verdict.fault), (Remedy::AskAdmin, Fault::UserCredential), "{failure:?}");
        assert!(verdict.model_text.contains(what), "{}", verdict.model_text);
        let said = format!("{} {}", verdict.model_text, verdict.user_hint.unwrap());
        assert!(!said.contains("log in") && !said.contains("right is missing"), "{said}");
    }
}

/// A quota that fills again at a known time, and a lock that opens then, are waited for; a bill is not.
#[test]
fn a_known_time_is_waited_for() {
    let with_time = |failure: Failure| with_header(failure, "Retry-After", "3600");
    let daily = verdict(&Failure { body: "Your daily quota is used up".to_owned(), ..status(403) });
    assert_eq!((daily.remedy, daily.retry_basis), (Remedy::RetryAt, Some(RetryBasis::UpperBound)));
    for message in ["Your daily quota is used up", "Your account has been locked"] {
        let verdict = verdict(&with_time(Failure { body: message.to_owned(), ..status(403) }));
        assert_eq!(
            (verdict.remedy, verdict.retry_basis),
            (Remedy::RetryAt, Some(RetryBasis::Exact)),
            "{message}"
        );
        assert!(verdict.model_text.ends_with("Do not call it again before 2026-11-30 15:00:00 UTC."));
    }
    assert_eq!(verdict(&with_time(status(402))).remedy, Remedy::AskAdmin);
}

#[test]
fn a_credential_is_renewed_by_its_owner() {
    let expired = Failure { body: r#"{"error":"expired_token"}"#.to_owned(), ..status(401) };
    let own = verdict(&expired);
    assert_eq!(own.remedy, Remedy::Reauthenticate);
    assert!(
        own.model_text.contains("Ask the user to log in again or renew the credential; without that, do not")
    );
    let shared = verdict(&Failure { credential: Some(CredentialOwner::Project), ..expired });
    assert_eq!(shared.remedy, Remedy::AskAdmin);
    assert!(shared.model_text.contains("whoever looks after the credential has to renew it"));
}

/// A rule's own remedy stands, and the words make up no reason that neither it nor its signature names.
#[test]
fn a_rules_own_remedy_stands() {
    let rule = |rest: &str| {
        World::with_rules(&format!(
            "patterns:\n  - {{id: a, before: first, match: {{not: {{target: ARGUMENT}}}}, classification: USER_SPECIFIC_TECHNICAL, {rest}}}\n"
        ))
    };
    let verdict = rule("signature: acme-quota, remedy: REAUTHENTICATE").decide(&said("x")).verdict;
    assert_eq!(verdict.remedy, Remedy::Reauthenticate);
    let verdict = rule("signature: acme-odd, remedy: ASK_ADMIN").decide(&said("x")).verdict;
    assert!(verdict.model_text.contains("this user's access to it does not work"), "{}", verdict.model_text);
    assert!(verdict.model_text.contains("whoever looks after it has to act"), "{}", verdict.model_text);
}

/// A refusal by the user is no missing right, and another agent's lock no refusal.
#[test]
fn a_refusal_is_no_missing_right() {
    let refused =
        verdict(&said("The user doesn't want to proceed with this tool use. The tool use was rejected."));
    assert!(!refused.is_health_signal);
    assert_eq!((refused.fault, refused.remedy), (Fault::Unknown, Remedy::PlanWithout));
    assert!(refused.model_text.contains("the user or the host declined this call"), "{}", refused.model_text);
    assert!(
        refused.model_text.ends_with("Ask the user before calling it again, or plan without it."),
        "{}",
        refused.model_text
    );
    for text in [
        "tool call rejected: resource locked by another agent",
        "Permission denied: file is locked by another agent",
        "lock is held by agent-7",
        "another agent is holding the write lock",
    ] {
        let locked = verdict(&said(text));
        assert_eq!((locked.rule_id.as_str(), locked.remedy), ("mcp-lock-of-host", Remedy::RetryAt), "{text}");
        assert!(!locked.is_health_signal, "{text}");
        assert!(locked.model_text.contains("something else holds"), "{}", locked.model_text);
    }
    let stopped = verdict(&said("Interrupted by user"));
    assert!(stopped.model_text.contains("Ask the user before"), "{}", stopped.model_text);
}

/// 429 with a time, by status or by a signature's words: a rate limit, by name, and nobody's credential.
#[test]
fn a_rate_limit_is_called_one() {
    let failure = with_header(status(429), "Retry-After", "30");
    let verdict = verdict(&failure);
    assert_eq!((verdict.fault, verdict.remedy), (Fault::Upstream, Remedy::RetryAt));
    assert!(verdict.model_text.contains("): a rate limit is reached. "), "{}", verdict.model_text);
    assert_eq!(
        verdict.user_hint.as_deref(),
        Some("`crm` limits how often it may be called; it can be used again at 2026-11-30 14:00:30 UTC.")
    );
    let rule = |rest: &str| {
        World::with_rules(&format!(
            "patterns:\n  - {{id: a, before: first, match: {{not: {{target: ARGUMENT}}}}, classification: INTERMITTENT, {rest}}}\n"
        ))
    };
    for (rest, failure, what) in [
        ("signature: acme-rate-limit", said("x"), "a rate limit is reached"),
        ("signature: acme-passing", said("HTTP 429 Too Many Requests"), "a rate limit is reached"),
        ("signature: acme-passing, scope: credential", said("x"), "a passing fault or a rate limit"),
        ("signature: acme-passing", said("x"), "a passing fault."),
        ("signature: acme-overloaded", status(429), "overloaded"),
    ] {
        let text = rule(rest).decide(&failure).verdict.model_text;
        assert!(text.contains(what), "{rest}: {text}");
    }
}

/// What the tool's owner has to act on is no right that the user lacks.
#[test]
fn asking_somebody_else_is_not_always_for_a_right() {
    let disabled = verdict(&said("this tool is disabled"));
    assert_eq!(disabled.remedy, Remedy::AskAdmin);
    assert!(!disabled.model_text.contains("right"), "{}", disabled.model_text);
}
