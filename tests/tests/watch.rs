//! Watch: a snapshot, then what changes, whoever changed it.

use std::time::Duration;

use agrajag_proto::v1;
use agrajag_proto::v1::watch_response::Event;
use agrajag_proto::v1::{ErrorReason, ToolState, WarningCode};
use agrajag_tests::client::{Client, refusal, warned};
use agrajag_tests::messages::{
    at_micros, at_project, caller, connection_refused, http, micros, rest, seconds,
};
use agrajag_tests::on_every_store;
use agrajag_tests::server::{Server, Setup};
use agrajag_tests::wait::SOON;
use tonic::{Code, Streaming};

on_every_store! {
    a_watch_tells_the_snapshot_and_each_change,
    a_watch_goes_on_where_it_was_cut,
    a_retest_falls_due_without_a_write,
}

struct Watch {
    stream: Streaming<v1::WatchResponse>,
}

impl Watch {
    async fn open(client: &Client, request: v1::WatchRequest) -> Self {
        let stream = client.tools().watch(request).await.expect("Watch answers").into_inner();
        Self { stream }
    }

    /// The next message, heartbeats too.
    async fn message(&mut self) -> v1::WatchResponse {
        let next = tokio::time::timeout(SOON, self.stream.message()).await.expect("a message in time");
        next.expect("no error").expect("the stream goes on")
    }

    /// The tools of the next message that is no heartbeat.
    async fn tools(&mut self) -> (Vec<v1::ToolHealth>, v1::WatchResponse) {
        loop {
            let message = self.message().await;
            match message.event.clone().expect("an event") {
                Event::Snapshot(it) => return (it.tools, message),
                Event::Change(it) => return (it.tools, message),
                Event::Heartbeat(_) => {}
            }
        }
    }

    /// The one tool of the next change: name and state.
    async fn change(&mut self) -> (String, ToolState) {
        let (tools, message) = self.tools().await;
        assert!(matches!(message.event, Some(Event::Change(_))), "{message:?}");
        assert_eq!(tools.len(), 1, "{tools:?}");
        (tools[0].tool_name.clone(), tools[0].state())
    }
}

fn request(user: &str, tools: &[&str]) -> v1::WatchRequest {
    v1::WatchRequest {
        caller: Some(caller(user)),
        tools: tools.iter().map(|it| rest(it)).collect(),
        ..Default::default()
    }
}

fn down(tool: &str) -> (String, ToolState) {
    (tool.to_owned(), ToolState::Down)
}

fn fine(tool: &str) -> (String, ToolState) {
    (tool.to_owned(), ToolState::Ok)
}

/// DESIGN §5: the snapshot in the order of the request, then every change of the caller's cascade and of no other. A
/// cooldown changes no state; what it changes is whether a success is worth a report.
async fn a_watch_tells_the_snapshot_and_each_change(server: &Server) {
    let client = &server.client;
    client.verdict(caller("alice"), rest("jira_search"), connection_refused()).await;
    let mut named = Watch::open(client, request("bob", &["wiki", "jira_search"])).await;
    let (tools, first) = named.tools().await;
    assert!(matches!(&first.event, Some(Event::Snapshot(it)) if it.last), "{first:?}");
    let states: Vec<_> = tools.iter().map(|it| (it.tool_name.clone(), it.state())).collect();
    assert_eq!(states, [fine("wiki"), down("jira_search")]);
    let mut all = Watch::open(client, request("bob", &[])).await;
    let (tools, _) = all.tools().await;
    assert_eq!(tools.iter().map(|it| it.tool_name.as_str()).collect::<Vec<_>>(), ["jira_search"]);

    client.verdict(caller("bob"), rest("wiki"), http(500)).await;
    let (tools, _) = named.tools().await;
    assert_eq!((tools[0].state(), tools[0].report_success), (ToolState::Ok, true), "{tools:?}");
    // None of these is Bob's business, or changes how a tool reads.
    client.verdict(caller("bob"), rest("wiki"), http(500)).await;
    client.verdict(caller("alice"), rest("wiki"), http(403)).await;
    client
        .verdict(caller("alice"), rest("wiki"), agrajag_tests::messages::http_body(401, "token_expired"))
        .await;
    let elsewhere = v1::Caller { project_id: "other".to_owned(), ..caller("carol") };
    client.verdict(elsewhere, rest("wiki"), connection_refused()).await;

    client.success(caller("alice"), rest("jira_search")).await;
    assert_eq!(named.change().await, fine("jira_search"));
    assert_eq!(all.change().await, fine("jira_search"));
    client.verdict(caller("alice"), rest("calendar"), connection_refused()).await;
    assert_eq!(all.change().await, down("calendar"));
    client.verdict(caller("alice"), rest("wiki"), connection_refused()).await;
    assert_eq!(named.change().await, down("wiki"), "calendar was not asked for");
    assert_eq!(all.change().await, down("wiki"));
    // A deleted document reads OK again, and that is a change.
    let delete = v1::DeleteDocumentsRequest {
        tenant_id: "acme".to_owned(),
        target: Some(v1::delete_documents_request::Target::Key(at_project("calendar"))),
        ..Default::default()
    };
    client.admin().delete_documents(delete).await.expect("deleted");
    assert_eq!(all.change().await, fine("calendar"));
}

/// DESIGN §5: a watch that was cut goes on after a revision, without a snapshot, with what happened in between; one from
/// another store or too old gets OUT_OF_RANGE.
async fn a_watch_goes_on_where_it_was_cut(server: &Server) {
    let client = &server.client;
    client.verdict(caller("alice"), rest("jira_search"), connection_refused()).await;
    let mut watch = Watch::open(client, request("bob", &[])).await;
    let (_, message) = watch.tools().await;
    drop(watch);
    client.verdict(caller("alice"), rest("calendar"), connection_refused()).await;
    let on = v1::WatchRequest { from_revision: message.revision.clone(), ..request("bob", &[]) };
    let mut watch = Watch::open(client, on).await;
    // Nothing is left out; what was told just before the cut may be told again.
    while watch.tools().await.0.iter().all(|it| it.tool_name != "calendar") {}
    client.success(caller("alice"), rest("jira_search")).await;
    assert_eq!(watch.change().await, fine("jira_search"));

    let (_, position) = message.revision.rsplit_once(':').expect("a revision");
    let stranger = v1::WatchRequest {
        from_revision: format!("00000000-0000-0000-0000-000000000000:{position}"),
        ..request("bob", &[])
    };
    let refused = refusal(open_and_read(client, stranger).await);
    assert_eq!((refused.code, refused.reason), (Code::OutOfRange, ErrorReason::RevisionTooOld));
    let nonsense = v1::WatchRequest { from_revision: "yesterday".to_owned(), ..request("bob", &[]) };
    let refused = refusal(open_and_read(client, nonsense).await);
    assert_eq!((refused.code, refused.fields()), (Code::InvalidArgument, vec!["from_revision"]));
}

/// A stream may be refused at once or with its first message.
async fn open_and_read(
    client: &Client,
    request: v1::WatchRequest,
) -> Result<v1::WatchResponse, tonic::Status> {
    let mut stream = client.tools().watch(request).await?.into_inner();
    stream.message().await.map(Option::unwrap_or_default)
}

/// R5, R74, C17: RETESTING is told when it falls due, though nobody wrote anything.
async fn a_retest_falls_due_without_a_write(server: &Server) {
    let client = &server.client;
    let due = client.now().await + 1_500_000;
    let mark = v1::MarkUnavailableRequest {
        tenant_id: "acme".to_owned(),
        key: Some(at_project("jira_search")),
        expected_recovery_at: Some(at_micros(due)),
        ..Default::default()
    };
    client.admin().mark_unavailable(mark).await.expect("marked");
    let mut watch = Watch::open(client, request("bob", &["jira_search"])).await;
    let (tools, _) = watch.tools().await;
    assert_eq!(tools[0].state(), ToolState::Down);
    let (tools, message) = watch.tools().await;
    assert_eq!(tools[0].state(), ToolState::Retesting, "{message:?}");
    let Some(Event::Change(change)) = message.event else { panic!("a change") };
    assert!(micros(&change.evaluated_at.expect("an instant")) >= due, "not before its time");
}

/// DESIGN §5: heartbeats come while nothing changes, and an odd interval is clamped with a warning.
#[tokio::test(flavor = "multi_thread")]
async fn heartbeats_come_while_nothing_changes() {
    let server = Setup::memory().start().await;
    let asked = v1::WatchRequest { heartbeat_interval: Some(seconds(0)), ..request("bob", &["wiki"]) };
    let mut watch = Watch::open(&server.client, asked).await;
    let (_, first) = watch.tools().await;
    assert!(warned(&first.warnings).contains(&(WarningCode::Clamped, "heartbeat_interval")), "{first:?}");
    let began = std::time::Instant::now();
    for _ in 0..2 {
        let message = watch.message().await;
        assert!(matches!(message.event, Some(Event::Heartbeat(_))), "{message:?}");
        assert!(!message.revision.is_empty(), "a watch can go on from a heartbeat");
    }
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(1_500), "clamped to one second, not {took:?} for two");
}

/// DESIGN §9, §10: watches are counted, and one more than allowed is refused with the time to wait; a watch that was
/// closed makes room.
#[tokio::test(flavor = "multi_thread")]
async fn there_are_only_so_many_watches() {
    let server = Setup::memory().set("limits.max_watches", "2").start().await;
    let client = &server.client;
    let mut first = Watch::open(client, request("bob", &["wiki"])).await;
    let mut second = Watch::open(client, request("bob", &["wiki"])).await;
    first.tools().await;
    second.tools().await;
    let refused = refusal(open_and_read(client, request("bob", &["wiki"])).await);
    assert_eq!((refused.code, refused.reason), (Code::ResourceExhausted, ErrorReason::Overloaded));
    assert!(refused.retry);
    drop(first);
    agrajag_tests::wait::until("the closed watch makes room", async || {
        open_and_read(client, request("bob", &["wiki"])).await.ok()
    })
    .await;
}

/// DESIGN §4: nobody watches another tenant, also with the same ids.
#[tokio::test(flavor = "multi_thread")]
async fn another_tenant_is_not_seen() {
    let server = Setup::memory().start().await;
    let stranger = v1::Caller { tenant_id: "globex".to_owned(), ..caller("alice") };
    let asked = v1::WatchRequest {
        caller: Some(stranger.clone()),
        heartbeat_interval: Some(seconds(1)),
        ..Default::default()
    };
    let mut watch = Watch::open(&server.client, asked).await;
    watch.tools().await;
    server.client.verdict(caller("alice"), rest("jira_search"), connection_refused()).await;
    // A heartbeat begins behind what was written before it: whatever was to be told has been told.
    let message = watch.message().await;
    assert!(matches!(message.event, Some(Event::Heartbeat(_))), "{message:?}");
    server.client.verdict(stranger, rest("wiki"), connection_refused()).await;
    assert_eq!(watch.change().await, down("wiki"));
}
