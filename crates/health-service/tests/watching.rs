//! Watch: snapshot, changes, RETESTING when it falls due, resuming (DESIGN §5).

mod support;

use health_model::vocabulary::EffectiveStatus;
use health_service::watch::{WatchEvent, WatchMessage, WatchRequest};
use health_service::{Error, Note};
use ports::Revision;
use support::{World, caller, refused, tool, world};
use tokio::sync::mpsc::Receiver;

fn watch_of(user: &str) -> WatchRequest {
    WatchRequest { caller: caller(user), ..WatchRequest::default() }
}

async fn next(messages: &mut Receiver<WatchMessage>) -> WatchMessage {
    tokio::time::timeout(std::time::Duration::from_secs(10), messages.recv())
        .await
        .expect("a message within ten seconds")
        .expect("the watch is open")
}

fn states(message: &WatchMessage) -> Vec<(&str, EffectiveStatus)> {
    match &message.event {
        WatchEvent::Snapshot(tools) | WatchEvent::Change(tools) => {
            tools.iter().map(|it| (it.tool_name.as_str(), it.state)).collect()
        }
        WatchEvent::Heartbeat => Vec::new(),
    }
}

async fn down(world: &World) -> Receiver<WatchMessage> {
    let mut messages = world.service.watch(watch_of("bob")).await.expect("a watch");
    let first = next(&mut messages).await;
    assert!(matches!(first.event, WatchEvent::Snapshot(ref it) if it.is_empty()));
    world.check("alice", refused()).await;
    let change = next(&mut messages).await;
    assert_eq!(states(&change), [("jira_search", EffectiveStatus::Down)]);
    messages
}

/// R2, R55, C17
#[tokio::test]
async fn a_watch_tells_changes_retesting_and_recovery() {
    let world = world();
    let mut messages = down(&world).await;
    world.clock.wait_for_sleepers(2).await;
    world.advance(181);
    let change = next(&mut messages).await;
    assert_eq!(states(&change), [("jira_search", EffectiveStatus::Down)], "the words end two minutes before");
    world.advance(120);
    assert_eq!(states(&next(&mut messages).await), [("jira_search", EffectiveStatus::Retesting)]);
    world.success("alice").await;
    assert_eq!(states(&next(&mut messages).await), [("jira_search", EffectiveStatus::Ok)]);
}

/// DESIGN §5: resumable from a revision.
#[tokio::test]
async fn a_watch_goes_on_after_a_break() {
    let world = world();
    let mut messages = world.service.watch(watch_of("bob")).await.unwrap();
    let revision = next(&mut messages).await.revision;
    drop(messages);
    world.check("alice", refused()).await;
    let mut resumed = world.service.watch(WatchRequest { from: revision, ..watch_of("bob") }).await.unwrap();
    let first = next(&mut resumed).await;
    assert!(matches!(first.event, WatchEvent::Change(_)), "no snapshot");
    assert_eq!(states(&first), [("jira_search", EffectiveStatus::Down)]);
}

/// C17: what changed by time alone during the break is told too, and so is what was deleted.
#[tokio::test]
async fn a_resumed_watch_tells_what_time_and_deletes_changed() {
    let world = world();
    world.check("alice", refused()).await;
    let mut messages = world.service.watch(watch_of("bob")).await.unwrap();
    let first = next(&mut messages).await;
    assert_eq!(states(&first), [("jira_search", EffectiveStatus::Down)]);
    drop(messages);
    world.advance(301);
    let resume = |from| WatchRequest { from, ..watch_of("bob") };
    let mut resumed = world.service.watch(resume(first.revision.clone())).await.unwrap();
    let due = next(&mut resumed).await;
    assert_eq!(states(&due), [("jira_search", EffectiveStatus::Retesting)]);
    drop(resumed);
    let tenant = ports::DeleteSelector::Tenant { tenant_id: "acme".to_owned() };
    world.service.delete(&tenant).await.unwrap();
    let mut resumed = world.service.watch(resume(due.revision)).await.unwrap();
    let gone = next(&mut resumed).await;
    assert_eq!(states(&gone), [("jira_search", EffectiveStatus::Ok)]);
}

/// DESIGN §5: OUT_OF_RANGE.
#[tokio::test]
async fn a_revision_of_another_store_is_refused() {
    let world = world();
    let from = Some(Revision { epoch: "another".to_owned(), position: 1 });
    let refused = world.service.watch(WatchRequest { from, ..watch_of("bob") }).await;
    assert!(matches!(refused, Err(Error::RevisionTooOld { .. })), "{refused:?}");
}

/// Another tenant's and another session's changes wake nobody else's watch; heartbeats come all the same.
#[tokio::test]
async fn a_watch_sees_its_own_cascade_only_and_hears_heartbeats() {
    let world = world();
    let request = WatchRequest {
        tools: vec![tool("jira_search")],
        heartbeat: Some(std::time::Duration::from_millis(1)),
        ..watch_of("bob")
    };
    let mut messages = world.service.watch(request).await.unwrap();
    let first = next(&mut messages).await;
    assert!(first.notes.contains(&Note::HeartbeatClamped));
    assert_eq!(states(&first), [("jira_search", EffectiveStatus::Ok)], "named tools are told also when OK");
    let mut other = support::request("alice", refused());
    other.caller.tenant_id = "globex".to_owned();
    world.service.check(other).await;
    assert_eq!(next(&mut messages).await.event, WatchEvent::Heartbeat);
}
