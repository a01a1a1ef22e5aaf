//! The cascade: which document speaks (R7, R22…R31, R69…R75, C1, C17; DESIGN §4).

mod support;

use health_model::{
    Cascade, Classification, Document, EffectKind, EffectiveStatus, Hold, Origin, Policy, Scope, Status,
    Tool, ToolKind,
};
use support::{alice, apply, mark, marked, new, open, t};

fn state_of(documents: &[Document], at: i64) -> (EffectiveStatus, Option<Scope>) {
    let cascade = Cascade::new(documents);
    let state = cascade.state(&Policy::default(), t(at));
    (state.effective, state.decided_by.map(|it| it.key.scope))
}

#[test]
fn nothing_known_is_ok() {
    // R22, R69, R70
    assert_eq!(state_of(&[], 0), (EffectiveStatus::Ok, None));
}

#[test]
fn the_narrowest_verdict_wins_in_the_order_of_the_cascade() {
    // R5, R7, R22, R23, R24
    let scopes = [
        (Scope::Session, "s1"),
        (Scope::User, "alice"),
        (Scope::Project, "essay"),
        (Scope::Tenant, "acme"),
        (Scope::Global, "atlassian"),
    ];
    for narrow in 0..scopes.len() {
        let documents: Vec<Document> = scopes[narrow..]
            .iter()
            .map(|(scope, id)| marked(*scope, id, Status::Down, Some(t(600)), t(0)))
            .collect();
        assert_eq!(state_of(&documents, 1), (EffectiveStatus::Down, Some(scopes[narrow].0)));
    }
}

#[test]
fn a_document_with_cooldowns_only_has_no_say() {
    // R8, R30, R31, C1, C3: GLOBAL DOWN shows through a USER entry that holds only a cooldown.
    let global = marked(Scope::Global, "atlassian", Status::Down, None, t(0));
    let mut user = new(Scope::User, "alice");
    apply(&mut user, &open("http-403", Some("alice"), Classification::UserPermission), t(0));
    let before = (global.clone(), user.clone());
    assert_eq!(state_of(&[user.clone(), global.clone()], 1), (EffectiveStatus::Down, Some(Scope::Global)));
    assert_eq!(state_of(std::slice::from_ref(&user), 1), (EffectiveStatus::Ok, None));
    assert_eq!((global, user), before, "both entries remain");
}

#[test]
fn an_ok_shadows_a_wider_outage_only_if_it_is_newer() {
    // C1
    let global = marked(Scope::Global, "atlassian", Status::Down, None, t(100));
    let older = marked(Scope::Project, "essay", Status::Ok, None, t(50));
    let newer = marked(Scope::Project, "essay", Status::Ok, None, t(150));
    assert_eq!(state_of(&[older, global.clone()], 200).0, EffectiveStatus::Down);
    assert_eq!(state_of(&[newer, global], 200), (EffectiveStatus::Ok, Some(Scope::Project)));
}

#[test]
fn a_degraded_shadows_a_wider_down_only_if_it_is_newer() {
    // C1
    let down = marked(Scope::Project, "essay", Status::Down, None, t(100));
    let older = marked(Scope::User, "alice", Status::Degraded, Some(t(900)), t(50));
    let newer = marked(Scope::User, "alice", Status::Degraded, Some(t(900)), t(150));
    assert_eq!(state_of(&[older, down.clone()], 200), (EffectiveStatus::Down, Some(Scope::Project)));
    assert_eq!(state_of(&[newer, down], 200), (EffectiveStatus::Degraded, Some(Scope::User)));
}

#[test]
fn past_its_recovery_a_verdict_reads_retesting() {
    // R5, R74; DESIGN §11.1 for DEGRADED
    for status in [Status::Down, Status::Degraded] {
        let document = marked(Scope::Project, "essay", status, Some(t(300)), t(0));
        assert_ne!(state_of(std::slice::from_ref(&document), 299).0, EffectiveStatus::Retesting);
        assert_eq!(state_of(&[document], 300).0, EffectiveStatus::Retesting);
    }
}

#[test]
fn retesting_never_shadows_an_active_trouble() {
    // C1; DESIGN §4
    let due = marked(Scope::User, "alice", Status::Down, Some(t(10)), t(5));
    let active = marked(Scope::Project, "essay", Status::Degraded, Some(t(900)), t(0));
    assert_eq!(state_of(&[due.clone(), active], 20), (EffectiveStatus::Degraded, Some(Scope::Project)));
    let wider_due = marked(Scope::Project, "essay", Status::Down, Some(t(10)), t(0));
    assert_eq!(state_of(&[due, wider_due], 20), (EffectiveStatus::Retesting, Some(Scope::User)));
}

#[test]
fn down_without_an_eta_is_retested_after_an_hour_counted_from_the_last_mark() {
    // C17, R75; DESIGN §11.4
    let mut document = marked(Scope::Project, "essay", Status::Down, None, t(0));
    assert_eq!(state_of(std::slice::from_ref(&document), 3_599).0, EffectiveStatus::Down);
    assert_eq!(state_of(std::slice::from_ref(&document), 3_600).0, EffectiveStatus::Retesting);
    apply(&mut document, &EffectKind::Mark(mark(Status::Down, None)), t(3_600));
    assert_eq!(
        state_of(std::slice::from_ref(&document), 3_601).0,
        EffectiveStatus::Down,
        "re-marked at once"
    );
    let mut gone = mark(Status::Down, None);
    gone.origin = Origin::Event;
    let mut event = new(Scope::Session, "s1");
    apply(&mut event, &EffectKind::Mark(gone), t(0));
    assert_eq!(state_of(&[event], 10 * 86_400).0, EffectiveStatus::Down, "ends by reconnect");
}

#[test]
fn a_hold_wins_over_health_and_ends_by_itself() {
    // DESIGN §4
    let mut project = marked(Scope::Project, "essay", Status::Ok, None, t(0));
    let hold = Hold {
        status: Status::Down,
        reason: "maintenance".to_owned(),
        since: t(10),
        until: Some(t(100)),
        by: "admin/eve".to_owned(),
    };
    apply(&mut project, &EffectKind::SetHold(hold), t(10));
    let session = marked(Scope::Session, "s1", Status::Ok, None, t(50));
    assert_eq!(
        state_of(&[session.clone(), project.clone()], 60),
        (EffectiveStatus::Down, Some(Scope::Project))
    );
    assert_eq!(state_of(&[session.clone(), project.clone()], 100).0, EffectiveStatus::Ok);
    apply(&mut project, &EffectKind::ReleaseHold, t(70));
    assert_eq!(state_of(&[session, project], 70).0, EffectiveStatus::Ok);
}

#[test]
fn the_answer_says_when_it_may_change_by_itself() {
    // R74, C17
    let cascade_of = [
        marked(Scope::User, "alice", Status::Degraded, Some(t(500)), t(0)),
        marked(Scope::Project, "essay", Status::Down, Some(t(300)), t(0)),
    ];
    let state = Cascade::new(&cascade_of).state(&Policy::default(), t(1)).next_change_at;
    assert_eq!(state, Some(t(300)));
}

#[test]
fn tools_have_a_home_scope() {
    // R24…R29
    let home = |kind, declared| Tool { kind, declared_home_scope: declared, ..support::tool() }.home_scope();
    assert_eq!(home(Some(ToolKind::Client), None), Scope::Session);
    assert_eq!(home(Some(ToolKind::Mcp), None), Scope::Project);
    assert_eq!(home(Some(ToolKind::Rest), None), Scope::Project);
    assert_eq!(home(None, Some(Scope::Tenant)), Scope::Tenant);
    assert_eq!(home(None, Some(Scope::User)), Scope::Project, "USER is no home");
    assert_eq!(home(Some(ToolKind::Client), Some(Scope::Global)), Scope::Session, "GLOBAL is no home");
}

#[test]
fn a_caller_without_an_id_has_no_container_there() {
    // R22, R28, R32, C25; DESIGN §4
    let mut caller = alice();
    caller.user_id = None;
    caller.session_id = None;
    let scopes: Vec<Scope> = caller.cascade(None).map(|it| it.scope).collect();
    assert_eq!(scopes, [Scope::Project, Scope::Tenant]);
    let with_provider: Vec<_> = alice().cascade(Some("atlassian")).collect();
    assert_eq!(with_provider.len(), 5);
    assert_eq!(with_provider[4].tenant_id, "", "one GLOBAL row for all tenants");
}
