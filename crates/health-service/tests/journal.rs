//! The journal of failures, and rules tried on it.

mod support;

use std::sync::Arc;

use health_model::vocabulary::Classification;
use health_model::{Caller, Failure};
use health_service::backtest::{BacktestAnswer, BacktestRequest, Outcome};
use health_service::check::CheckRequest;
use health_service::{Mode, Service, Settings};
use ports::{DeleteSelector, FailureEntry, RuleLayerKey, Store};
use support::{World, caller, http, refused, request, service_on, tool, world, world_with};

/// Makes a 403 with this text the input's fault.
const TEAPOT: &str = "\
patterns:
  - id: teapot
    before: first
    match: { httpStatus: 403, bodyContains: [\"teapot\"] }
    signature: teapot
    classification: USER_INPUT
";

fn saying(status: u16, body: &str) -> Failure {
    Failure { body: body.to_owned(), ..http(status) }
}

fn layer(project: Option<&str>) -> RuleLayerKey {
    RuleLayerKey { tenant_id: "acme".to_owned(), project_id: project.map(str::to_owned) }
}

fn asked(project: Option<&str>, yaml: &str) -> BacktestRequest {
    BacktestRequest { layer: layer(project), yaml: yaml.to_owned(), project_id: None, limit: None }
}

async fn backtest(service: &Service, request: BacktestRequest) -> BacktestAnswer {
    service.backtest(request).await.expect("memory answers")
}

async fn entries(world: &World, tenant: &str) -> Vec<FailureEntry> {
    world.store.list_failures(tenant, None, None, 1_000).await.expect("memory answers").entries
}

/// Reports a failure; who decided it.
async fn check_in(service: &Service, tenant: &str, project: &str, failure: Failure) -> Outcome {
    let caller = Caller { tenant_id: tenant.to_owned(), project_id: project.to_owned(), ..caller("alice") };
    let answer = service.check(CheckRequest { caller, ..request("alice", failure) }).await;
    outcome(&answer.verdict.rule_id, answer.verdict.classification)
}

fn outcome(rule_id: &str, classification: Classification) -> Outcome {
    Outcome { rule_id: rule_id.to_owned(), classification }
}

/// What is reported is there after a restart: once, without user and session, with what was answered.
#[tokio::test]
async fn reported_failures_are_on_record_after_a_restart() {
    let world = world();
    world.check("alice", saying(503, "alice has no cups, says session-of-alice")).await;
    world.advance(1);
    world.check("bob", refused()).await;
    let repeated = CheckRequest { report_id: Some("r1".to_owned()), ..request("alice", http(403)) };
    world.advance(1);
    let answered = world.service.check(repeated.clone()).await.verdict;
    world.service.check(repeated).await;
    assert!(world.service.shutdown(std::time::Duration::from_secs(10)).await);
    assert_eq!((world.service.stats().journal_written, world.service.stats().journal_dropped), (3, 0));

    let found = entries(&world, "acme").await;
    assert_eq!(found.len(), 3, "{found:?}");
    for it in &found {
        assert_eq!(it.project_id, "essay");
        assert!(!it.content.contains("alice") && !it.content.contains("bob"), "{}", it.content);
        assert!(it.content.contains("jira_search") && it.content.contains("\"verdict\""), "{}", it.content);
    }
    let rule = format!("\"ruleId\":\"{}\"", answered.rule_id);
    assert!(found[0].content.contains(&rule) && found[2].content.contains("has no cups"));

    let again = service_on(Arc::new(world.store.handle()), &world.clock, 7, Settings::default());
    let answer = backtest(&again, asked(None, TEAPOT)).await;
    assert_eq!((answer.n_replayed, answer.n_unchanged, answer.n_drifted), (3, 3, 0));
}

/// Equal failures of one flush are one entry: a storm does not push everything else out.
#[tokio::test]
async fn a_storm_is_one_entry() {
    let world = world();
    for n in 0..400 {
        world.check(&format!("user-{n}"), refused()).await;
    }
    world.check("alice", http(404)).await;
    let answer = backtest(&world.service, asked(None, "patterns: []")).await;
    // A flush may have come in between: each makes one.
    assert!((2..30).contains(&answer.n_replayed), "{answer:?}");
}

/// `journal.max_entries` is a tenant's own limit, and the latest are kept.
#[tokio::test]
async fn a_tenant_keeps_its_latest_failures() {
    let world = world_with(Settings { journal_limit: Some(5), ..Settings::default() });
    for n in 0..20 {
        world.advance(1);
        check_in(&world.service, "acme", "essay", saying(503, &format!("cup {n}"))).await;
        if n < 2 {
            check_in(&world.service, "globex", "essay", saying(503, &format!("globe {n}"))).await;
        }
    }
    backtest(&world.service, asked(None, "patterns: []")).await;
    let kept: Vec<bool> = (0..20)
        .map(|n| format!("\"cup {n}\""))
        .rev()
        .zip(entries(&world, "acme").await)
        .map(|(cup, entry)| entry.content.contains(&cup))
        .collect();
    assert_eq!(kept, [true; 5]);
    assert_eq!(entries(&world, "globex").await.len(), 2);
}

/// DESIGN §10: off is off, and mode `observe` writes nothing.
#[tokio::test]
async fn without_a_journal_nothing_is_kept() {
    let settings = [
        Settings { journal_limit: None, ..Settings::default() },
        Settings { mode: Mode::Observe, ..Settings::default() },
    ];
    for settings in settings {
        let world = world_with(settings);
        world.check("alice", refused()).await;
        let answer = backtest(&world.service, asked(None, TEAPOT)).await;
        assert_eq!((answer.n_replayed, answer.is_journal_on), (0, false));
        world.service.shutdown(std::time::Duration::from_secs(10)).await;
        assert_eq!(entries(&world, "acme").await, []);
    }
}

/// DESIGN §4, §9: what was reported before a tenant is deleted does not come into the journal after it.
#[tokio::test]
async fn a_deleted_tenant_has_no_journal() {
    let world = world();
    check_in(&world.service, "acme", "essay", refused()).await;
    check_in(&world.service, "globex", "essay", refused()).await;
    let selector = DeleteSelector::Tenant { tenant_id: "acme".to_owned() };
    world.service.delete(&selector).await.expect("memory answers");
    assert!(world.service.shutdown(std::time::Duration::from_secs(10)).await);
    assert_eq!(entries(&world, "acme").await, []);
    assert_eq!(entries(&world, "globex").await.len(), 1);
}

/// What would change is told by rule and class, with examples that hold no secret; nothing is written and nothing is put into
/// force.
#[tokio::test]
async fn a_changed_layer_is_measured_on_what_was_reported() {
    let world = world();
    let mut reported = Vec::new();
    for n in 0..7 {
        world.advance(1);
        let body = format!("the teapot {n} leaks, password=hunter2");
        reported.push(check_in(&world.service, "acme", "essay", saying(403, &body)).await);
    }
    check_in(&world.service, "acme", "essay", http(404)).await;
    check_in(&world.service, "acme", "poem", saying(403, "another teapot")).await;
    check_in(&world.service, "globex", "essay", saying(503, "a teapot of others")).await;
    let before = world.lookup("alice").await.tools[0].state;

    let answer = backtest(&world.service, asked(Some("essay"), TEAPOT)).await;
    assert_eq!((answer.n_replayed, answer.n_unchanged, answer.n_cut, answer.n_unreadable), (8, 1, 0, 0));
    assert_eq!(answer.diagnostics, []);
    let [change] = answer.changes.as_slice() else { panic!("{answer:?}") };
    assert_eq!(change.before.classification, Classification::UserPermission);
    assert!(reported.iter().all(|it| *it == change.before), "{reported:?}");
    assert_eq!(change.after, outcome("teapot", Classification::UserInput));
    assert_eq!((change.count, change.examples.len()), (7, 5));
    for part in ["rule", "classification", "signature", "fault", "remedy", "cooldown"] {
        assert!(change.parts.contains(&part), "{part}: {:?}", change.parts);
    }
    let example = &change.examples[0];
    assert_eq!((example.project_id.as_str(), example.tool_name.as_str()), ("essay", "jira_search"));
    assert_eq!(example.excerpt, "the teapot 6 leaks, password=[secret]");
    assert_eq!(answer.newest, Some(example.at));
    assert!(answer.oldest < answer.newest);

    // As the tenant's layer it concerns every project, or the one that is asked about.
    let answer = backtest(&world.service, asked(None, TEAPOT)).await;
    assert_eq!((answer.n_replayed, answer.changes[0].count), (9, 8));
    let of_poem = BacktestRequest { project_id: Some("poem".to_owned()), ..asked(None, TEAPOT) };
    let answer = backtest(&world.service, of_poem).await;
    assert_eq!((answer.n_replayed, answer.changes[0].count), (1, 1));
    let latest = BacktestRequest { limit: Some(2), ..asked(None, TEAPOT) };
    assert_eq!(backtest(&world.service, latest).await.n_replayed, 2);

    assert_eq!(world.lookup("alice").await.tools[0].state, before);
    assert!(world.service.rules().layers().is_empty(), "nothing is put");
    let latest = entries(&world, "acme").await.len();
    backtest(&world.service, asked(None, TEAPOT)).await;
    assert_eq!(entries(&world, "acme").await.len(), latest);
}

/// The layer in the store is replaced, not laid over: a rule that the text lacks is gone.
#[tokio::test]
async fn a_rule_that_the_text_lacks_is_gone() {
    let world = world();
    let put = world.service.put_rule_layer(layer(Some("essay")), TEAPOT.to_owned(), "olga", None).await;
    put.expect("no error in it");
    world.check("alice", saying(403, "teapot")).await;

    let answer = backtest(&world.service, asked(Some("essay"), TEAPOT)).await;
    assert_eq!((answer.n_replayed, answer.n_unchanged), (1, 1), "the same text changes nothing");
    let answer = backtest(&world.service, asked(Some("essay"), "patterns: []")).await;
    let [change] = answer.changes.as_slice() else { panic!("{answer:?}") };
    assert_eq!(change.before, outcome("teapot", Classification::UserInput));
    assert_eq!(change.after.classification, Classification::UserPermission);
    // The same class and rule, and yet another verdict.
    let answer =
        backtest(&world.service, asked(Some("essay"), &format!("{TEAPOT}    remedy: ASK_ADMIN\n"))).await;
    let [change] = answer.changes.as_slice() else { panic!("{answer:?}") };
    assert_eq!((&change.before, change.parts.as_slice()), (&change.after, ["remedy"].as_slice()));

    // What is in force now differs from what was answered.
    world.service.delete_rule_layer(&layer(Some("essay")), None).await.expect("memory answers");
    let answer = backtest(&world.service, asked(Some("essay"), "patterns: []")).await;
    assert_eq!((answer.n_unchanged, answer.n_drifted), (1, 1));
}

/// A text that is to be a shadow would change nothing: what it would change is what is asked.
#[tokio::test]
async fn a_shadow_is_tried_as_if_it_were_in_force() {
    let world = world();
    world.check("alice", saying(403, "teapot")).await;
    let shadow = format!("shadow: true\n{TEAPOT}");
    for project in [Some("essay"), None] {
        let answer = backtest(&world.service, asked(project, &shadow)).await;
        let [change] = answer.changes.as_slice() else { panic!("{answer:?}") };
        assert_eq!(change.after, outcome("teapot", Classification::UserInput));
        let [found] = answer.diagnostics.as_slice() else { panic!("{:?}", answer.diagnostics) };
        assert_eq!((found.severity, found.field.as_str()), (checker::Severity::Warning, "shadow"));
    }
    // As it is put, it is one.
    let put = world.service.put_rule_layer(layer(Some("essay")), shadow.clone(), "olga", None).await;
    put.expect("no error in it");
    let decided = check_in(&world.service, "acme", "essay", saying(403, "teapot")).await;
    assert_ne!(decided.rule_id, "teapot");
    let answer = backtest(&world.service, asked(Some("essay"), &shadow)).await;
    assert_eq!(answer.changes.len(), 1, "against what is in force without it");
}

/// A bad rule is left out and named; a text that is no layer is not replayed.
#[tokio::test]
async fn what_is_wrong_with_the_text_is_told() {
    let world = world();
    world.check("alice", saying(403, "teapot")).await;
    let bad = format!(
        "{TEAPOT}  - id: bad\n    match: {{ httpStatus: tea }}\n    signature: s\n    classification: UNCLEAR\n"
    );
    let answer = backtest(&world.service, asked(Some("essay"), &bad)).await;
    assert_eq!((answer.n_replayed, answer.changes.len()), (1, 1));
    let found = answer.diagnostics.iter().find(|it| it.rule_id.as_deref() == Some("bad"));
    assert!(found.is_some_and(|it| it.line == 8), "{:?}", answer.diagnostics);

    let answer = backtest(&world.service, asked(Some("essay"), "patterns: [")).await;
    assert_eq!((answer.n_replayed, answer.changes.len(), answer.diagnostics.len()), (0, 0, 1));
}

/// A row that the store cannot read makes a page no shorter: the replay goes on behind it, and says that it was there.
#[tokio::test]
async fn rows_that_the_store_cannot_read_are_passed_over() {
    let world = world();
    world.check("alice", saying(403, "teapot")).await;
    world.service.shutdown(std::time::Duration::from_secs(10)).await;
    let known = entries(&world, "acme").await.remove(0);
    let id = |n: u128| uuid::Uuid::from_u128(n + 1);
    let more: Vec<_> = (0..2_500).map(|n| FailureEntry { id: id(n), ..known.clone() }).collect();
    world.store.append_failures(&more, 10_000).await.expect("memory answers");
    for n in [2_499, 2_000, 1_999, 1_400, 0] {
        assert!(world.store.damage_failure(id(n)).expect("memory answers"));
    }
    let again = service_on(Arc::new(world.store.handle()), &world.clock, 7, Settings::default());
    let answer = backtest(&again, asked(Some("essay"), TEAPOT)).await;
    assert_eq!((answer.n_replayed, answer.n_unreadable, answer.changes[0].count), (2_496, 5, 2_496));
    let latest = BacktestRequest { limit: Some(600), ..asked(Some("essay"), TEAPOT) };
    assert_eq!(backtest(&again, latest).await.n_replayed, 600);
}

/// An entry that this program cannot read stops nothing.
#[tokio::test]
async fn entries_of_a_newer_program_are_passed_over() {
    let world = world();
    world.check("alice", saying(403, "teapot")).await;
    let newer = FailureEntry {
        id: uuid::Uuid::from_u128(1),
        tenant_id: "acme".to_owned(),
        project_id: "essay".to_owned(),
        at: support::start(),
        content: "{\"format\":99}".to_owned(),
    };
    world.store.append_failures(&[newer], 10).await.expect("memory answers");
    let answer = backtest(&world.service, asked(Some("essay"), TEAPOT)).await;
    assert_eq!((answer.n_replayed, answer.n_unreadable, answer.changes[0].count), (1, 1, 1));
    assert_eq!(answer.changes[0].examples[0].tool_name, tool("jira_search").name);
}
