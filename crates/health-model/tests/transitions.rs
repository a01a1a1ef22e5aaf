//! Transitions: marks, history, connection events, clearing (R33…R35, R52, R55…R60; DESIGN §11.1).

mod support;

use chrono::TimeDelta;
use health_model::document::Connection;
use health_model::success::{self, Evidence};
use health_model::transition::{Mark, OutageChange};
use health_model::{
    Cascade, Classification, Document, EffectKind, EffectiveStatus, EtaBasis, Hold, Origin, Policy, Scope,
    Status,
};
use support::{alice, apply, key, mark, marked, new, open, t, tool};

#[test]
fn a_mark_sets_status_since_and_history() {
    // R14, R21, R33, R35, R37, R57
    let mut document = new(Scope::Project, "essay");
    let change = apply(&mut document, &EffectKind::Mark(mark(Status::Down, Some(t(300)))), t(10));
    assert_eq!(change.outage, Some(OutageChange::Opened));
    let health = document.health.as_ref().unwrap();
    assert_eq!((health.status, health.since), (Status::Down, t(10)));
    assert_eq!(health.expected_recovery_at, Some(t(300)));
    assert_eq!(document.last_checked_at, Some(t(10)));
    assert_eq!((document.created_at, document.updated_at), (t(0), t(10)));
    let entry = &document.history[0];
    assert_eq!((entry.classification, entry.at), (Classification::TechnicallyBroken, t(10)));
    assert_eq!((entry.by.as_str(), entry.recovery_at), ("checker", Some(t(300))));
}

#[test]
fn since_and_history_move_only_when_status_or_class_changes() {
    // R33, R35; DESIGN §11.1. The defect: racing calls filled the ring.
    let mut document = marked(Scope::Project, "essay", Status::Down, Some(t(300)), t(0));
    apply(&mut document, &EffectKind::Mark(mark(Status::Down, Some(t(900)))), t(310));
    let health = document.health.as_ref().unwrap();
    assert_eq!((health.since, health.expected_recovery_at), (t(0), Some(t(900))));
    assert_eq!(document.history.len(), 1);
    assert_eq!(document.last_checked_at, Some(t(310)));
}

#[test]
fn a_verdict_never_shortens_what_better_sources_said() {
    // DESIGN §11.1
    for basis in [EtaBasis::Engine, EtaBasis::Admin, EtaBasis::RetryAfter] {
        let mut document = new(Scope::Project, "essay");
        let long = Mark { eta_basis: basis, ..mark(Status::Down, Some(t(3_600))) };
        apply(&mut document, &EffectKind::Mark(long), t(0));
        apply(&mut document, &EffectKind::Mark(mark(Status::Down, Some(t(600)))), t(10));
        assert_eq!(document.health.as_ref().unwrap().expected_recovery_at, Some(t(3_600)));
        apply(&mut document, &EffectKind::Mark(mark(Status::Down, Some(t(7_200)))), t(20));
        assert_eq!(document.health.as_ref().unwrap().expected_recovery_at, Some(t(7_200)), "longer is fine");
    }
    let mut document = marked(Scope::Project, "essay", Status::Down, Some(t(3_600)), t(0));
    apply(&mut document, &EffectKind::Mark(mark(Status::Down, Some(t(600)))), t(10));
    assert_eq!(document.health.unwrap().expected_recovery_at, Some(t(600)), "computed ones may move");
}

#[test]
fn words_keep_the_first_eta_until_it_moves_by_more_than_ten_minutes() {
    // C22; DESIGN §10
    let mut document = marked(Scope::Project, "essay", Status::Down, Some(t(1_800)), t(0));
    let told = |it: &Document| it.health.as_ref().unwrap().announced_recovery_at;
    apply(&mut document, &EffectKind::Mark(mark(Status::Down, Some(t(2_400)))), t(60));
    assert_eq!(told(&document), Some(t(1_800)));
    apply(&mut document, &EffectKind::Mark(mark(Status::Down, Some(t(2_401)))), t(70));
    assert_eq!(told(&document), Some(t(2_401)));
}

#[test]
fn the_ring_keeps_the_newest_entries() {
    // R35, R77
    let policy = Policy { history_limit: 5, ..Policy::default() };
    let mut document = new(Scope::Project, "essay");
    for at in 0..12 {
        let status = if at % 2 == 0 { Status::Down } else { Status::Ok };
        health_model::transition::apply(&mut document, &EffectKind::Mark(mark(status, None)), &policy, t(at));
    }
    assert_eq!(document.history.len(), 5);
    assert_eq!(document.history.last().unwrap().at, t(11));
    assert_eq!(document.history[0].at, t(7));
}

#[test]
fn a_success_sets_the_shown_entry_ok_and_pushes_working() {
    // R18, R19, R55, R56; DESIGN §11.3
    for status in [Status::Down, Status::Degraded] {
        let document = marked(Scope::Project, "essay", status, Some(t(300)), t(0));
        let documents = [document];
        let cascade = Cascade::new(&documents);
        let evidence = Evidence { started_at: t(5), signature: None };
        let effects = success::plan(&cascade, &alice(), &tool(), evidence, &Policy::default(), t(6));
        let mut document = documents[0].clone();
        for it in &effects {
            assert_eq!(it.key, document.key);
            apply(&mut document, &it.kind, t(6));
        }
        assert_eq!(document.health.as_ref().unwrap().status, Status::Ok);
        assert_eq!(document.history.last().unwrap().classification, Classification::Working);
        assert_eq!(document.last_success_at, Some(t(6)));
    }
}

#[test]
fn a_success_of_a_call_that_began_before_the_trouble_says_nothing() {
    // DESIGN §11.3
    let documents = [marked(Scope::Project, "essay", Status::Down, Some(t(300)), t(10))];
    let cascade = Cascade::new(&documents);
    for (started, clears) in [(t(9), 0), (t(10), 0), (t(11), 1)] {
        let evidence = Evidence { started_at: started, signature: None };
        let effects = success::plan(&cascade, &alice(), &tool(), evidence, &Policy::default(), t(20));
        assert_eq!(effects.len(), clears, "started at {started}");
    }
}

#[test]
fn a_success_speaks_against_every_older_verdict_of_the_callers_cascade() {
    // R55; ADR 0011: a rate limit of the user shadows the outage of the project, and the success ends both.
    let user = marked(Scope::User, "alice", Status::Degraded, Some(t(900)), t(20));
    let project = marked(Scope::Project, "essay", Status::Down, Some(t(300)), t(10));
    let younger = marked(Scope::Tenant, "acme", Status::Down, Some(t(900)), t(40));
    let documents = [user, project, younger];
    let cascade = Cascade::new(&documents);
    let evidence = Evidence { started_at: t(30), signature: None };
    let effects = success::plan(&cascade, &alice(), &tool(), evidence, &Policy::default(), t(50));
    let scopes: Vec<Scope> = effects.iter().map(|it| it.key.scope).collect();
    assert_eq!(scopes, [Scope::User, Scope::Project], "the tenant's is younger than the call");
}

#[test]
fn at_global_the_home_scope_gets_an_ok_entry_and_global_stays() {
    // R28, R55, C1; DESIGN §11.3
    let documents = [marked(Scope::Global, "atlassian", Status::Down, None, t(0))];
    let cascade = Cascade::new(&documents);
    let evidence = Evidence { started_at: t(5), signature: None };
    let effects = success::plan(&cascade, &alice(), &tool(), evidence, &Policy::default(), t(6));
    assert_eq!(effects.len(), 1);
    assert_eq!(effects[0].key, key(Scope::Project, "essay"));
    let mut home = new(Scope::Project, "essay");
    apply(&mut home, &effects[0].kind, t(6));
    let both = [home, documents[0].clone()];
    assert_eq!(Cascade::new(&both).state(&Policy::default(), t(7)).effective, EffectiveStatus::Ok);
}

#[test]
fn a_hold_is_not_touched_by_a_success() {
    // DESIGN §4, §11.3
    let mut document = new(Scope::Project, "essay");
    let hold = Hold {
        status: Status::Down,
        reason: String::new(),
        since: t(0),
        until: None,
        by: "admin".to_owned(),
    };
    apply(&mut document, &EffectKind::SetHold(hold), t(0));
    let documents = [document];
    let cascade = Cascade::new(&documents);
    let evidence = Evidence { started_at: t(5), signature: None };
    assert!(success::plan(&cascade, &alice(), &tool(), evidence, &Policy::default(), t(6)).is_empty());
    assert!(!success::is_worth_reporting(&cascade, &alice(), &tool(), &Policy::default(), t(6)));
}

fn event_at(id: &str, sequence: u64, open: bool, at: i64) -> EffectKind {
    EffectKind::ConnectionEvent {
        connection: Connection { id: id.to_owned(), sequence, at: t(at), open },
        note: String::new(),
    }
}

fn event(id: &str, sequence: u64, open: bool) -> EffectKind {
    event_at(id, sequence, open, 0)
}

fn status(document: &Document) -> Option<Status> {
    document.health.as_ref().map(|it| it.status)
}

#[test]
fn closing_a_connection_takes_its_tools_down_and_opening_brings_them_back() {
    // R57, R58, R80, R81, R86, R141, R142, C17
    let mut document = new(Scope::Session, "s1");
    apply(&mut document, &open("http-5xx", None, Classification::Unclear), t(0));
    assert!(apply(&mut document, &event("c1", 1, true), t(0)).changed);
    assert_eq!(status(&document), None, "an open connection is no verdict");
    apply(&mut document, &event("c1", 2, false), t(10));
    assert_eq!(status(&document), Some(Status::Down));
    assert_eq!(document.health.as_ref().unwrap().origin, Origin::Event);
    apply(&mut document, &event("c2", 3, true), t(20));
    assert_eq!(status(&document), Some(Status::Ok));
    assert_eq!(document.cooldowns.len(), 1, "R57: status and history only");
}

#[test]
fn older_events_lose() {
    // DESIGN §5: the close of an old connection arrives after the new one opened.
    let mut document = new(Scope::Session, "s1");
    apply(&mut document, &event("c2", 5, true), t(10));
    assert!(!apply(&mut document, &event("c1", 4, false), t(11)).changed, "smaller number");
    assert!(!apply(&mut document, &event("c1", 9, false), t(12)).changed, "of another connection");
    assert!(!apply(&mut document, &event("c2", 5, false), t(13)).changed, "same number");
    assert_eq!(status(&document), None);
    assert!(apply(&mut document, &event("c2", 6, false), t(14)).changed);
    assert_eq!(status(&document), Some(Status::Down));
}

#[test]
fn numbers_of_different_connections_are_not_compared() {
    // DESIGN §5: two brains number their events each for itself.
    let mut document = new(Scope::Project, "essay");
    apply(&mut document, &event_at("a", 500, true, 10), t(10));
    apply(&mut document, &event_at("a", 501, false, 20), t(20));
    assert_eq!(status(&document), Some(Status::Down));
    assert!(apply(&mut document, &event_at("b", 4, true, 30), t(30)).changed);
    assert_eq!(status(&document), Some(Status::Ok));
    assert!(!apply(&mut document, &event_at("a", 502, true, 5), t(31)).changed, "it happened before");
}

#[test]
fn unnumbered_events_are_ordered_by_their_time_and_not_by_checks() {
    // DESIGN §5
    let mut document = new(Scope::Session, "s1");
    apply(&mut document, &event_at("", 0, false, 10), t(10));
    assert!(!apply(&mut document, &event_at("", 0, true, 5), t(11)).changed);
    apply(&mut document, &EffectKind::Mark(mark(Status::Down, Some(t(300)))), t(13));
    assert!(
        apply(&mut document, &event_at("", 0, true, 12), t(14)).changed,
        "a check between does not count"
    );
    assert_eq!(status(&document), Some(Status::Ok));
    let mut healthy = marked(Scope::Session, "s1", Status::Ok, None, t(50));
    assert!(!apply(&mut healthy, &event_at("", 0, false, 40), t(60)).changed, "it worked since");
}

#[test]
fn a_failed_call_does_not_turn_a_disconnect_into_a_passing_outage() {
    // R1, C17, C24; DESIGN §11.4: it ends by reconnect, not after five minutes.
    let mut document = new(Scope::Session, "s1");
    apply(&mut document, &event("c1", 1, false), t(0));
    apply(&mut document, &EffectKind::Mark(mark(Status::Down, Some(t(310)))), t(10));
    let health = document.health.as_ref().unwrap();
    assert_eq!((health.origin, health.expected_recovery_at), (Origin::Event, None));
    let documents = [document];
    let later = Cascade::new(&documents).state(&Policy::default(), t(86_400)).effective;
    assert_eq!(later, EffectiveStatus::Down);
}

#[test]
fn a_failed_call_does_not_soften_what_better_sources_said() {
    // DESIGN §11.1
    for (eta, at) in [(None, 10), (Some(t(3_600)), 10)] {
        let mut document = new(Scope::Project, "essay");
        let mut word = mark(Status::Down, eta);
        (word.origin, word.eta_basis) = (Origin::Admin, EtaBasis::Admin);
        apply(&mut document, &EffectKind::Mark(word), t(0));
        let change = apply(&mut document, &EffectKind::Mark(mark(Status::Degraded, Some(t(40)))), t(at));
        assert_eq!(status(&document), Some(Status::Down));
        assert_eq!(change.outage, None);
        assert_eq!(document.last_checked_at, Some(t(at)));
    }
}

#[test]
fn an_administrators_word_that_it_works_clears_all_cooldowns() {
    // R19, R52, R60
    let mut document = marked(Scope::Project, "essay", Status::Down, None, t(0));
    apply(&mut document, &open("connect-refused", None, Classification::TechnicallyBroken), t(0));
    let change = apply(&mut document, &EffectKind::Mark(Mark::working("admin/eve", Origin::Admin)), t(5));
    assert!(document.cooldowns.is_empty());
    assert_eq!(change.outage, Some(OutageChange::Closed));
}

#[test]
fn clearing_an_entry_keeps_the_hold_and_clearing_a_cooldown_keeps_the_rest() {
    // R60, C11
    let mut document = marked(Scope::Project, "essay", Status::Down, None, t(0));
    apply(&mut document, &open("a", None, Classification::Unclear), t(0));
    apply(&mut document, &open("b", None, Classification::Unclear), t(0));
    let clear_a = EffectKind::ClearCooldown { signature: "a".to_owned(), user_id: None };
    assert!(apply(&mut document, &clear_a, t(1)).changed);
    assert!(!apply(&mut document, &clear_a, t(1)).changed);
    assert_eq!(document.cooldowns.len(), 1);
    let hold =
        Hold { status: Status::Ok, reason: String::new(), since: t(1), until: None, by: "admin".to_owned() };
    apply(&mut document, &EffectKind::SetHold(hold.clone()), t(1));
    apply(&mut document, &EffectKind::Clear, t(2));
    assert_eq!((status(&document), document.cooldowns.len(), document.history.len()), (None, 0, 0));
    assert_eq!(document.hold, Some(hold));
}

#[test]
fn the_stored_form_reads_back_and_is_stable() {
    // R32…R37; the stored format is a contract with older and newer programs.
    let mut document = marked(Scope::Project, "essay", Status::Down, Some(t(300)), t(0));
    apply(&mut document, &open("connect-refused", None, Classification::TechnicallyBroken), t(0));
    let json = serde_json::to_string_pretty(&document).unwrap();
    assert_eq!(serde_json::from_str::<Document>(&json).unwrap(), document);
    insta::assert_snapshot!(json);
    assert_eq!(document.cooldowns[0].window(), TimeDelta::seconds(300));
}
