//! Lookup: order, limits, freshness, surface and placement.

use agrajag_proto::v1;
use agrajag_proto::v1::{ErrorReason, Placement, SurfaceMode, ToolState, Visibility};
use agrajag_tests::client::{refusal, warned};
use agrajag_tests::messages::{caller, connection_refused, http_body, http_header, lookup, micros, rest};
use agrajag_tests::server::{Server, Setup};
use tonic::Code;

/// A server with one tool down for the project, one for Alice and one degraded for her.
async fn troubled() -> Server {
    let server = Setup::memory().start().await;
    let alice = || caller("alice");
    server.client.verdict(alice(), rest("jira_search"), connection_refused()).await;
    server.client.verdict(alice(), rest("calendar"), http_body(401, "token_expired")).await;
    server.client.verdict(alice(), rest("mail_send"), http_header(429, "Retry-After", "3600")).await;
    server
}

fn names(response: &v1::LookupResponse) -> Vec<&str> {
    response.tools.iter().map(|it| it.tool_name.as_str()).collect()
}

/// R69, DESIGN §5: a thousand tools are answered in the order of the request, repeated names too.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_tools_keep_their_order() {
    let server = troubled().await;
    let mut wanted: Vec<String> = (0..998).map(|n| format!("tool_{:03}", n * 7 % 998)).collect();
    wanted.insert(500, "jira_search".to_owned());
    wanted.push("jira_search".to_owned());
    let response = server.client.lookup(lookup(caller("bob"), wanted.iter().map(|it| rest(it)))).await;
    assert_eq!(names(&response), wanted);
    let down: Vec<usize> = (0..1_000).filter(|at| response.tools[*at].state() == ToolState::Down).collect();
    assert_eq!(down, [500, 999]);
    assert!(response.shown.len() <= 1_024);
}

/// DESIGN §5, "Bad input": one tool more is refused, and the answer names the field, the number and the limit.
#[tokio::test(flavor = "multi_thread")]
async fn one_tool_too_many_is_refused() {
    let server = Setup::memory().start().await;
    let request = lookup(caller("bob"), (0..1_001).map(|n| rest(&format!("tool_{n}"))));
    let refusal = refusal(server.client.tools().lookup(request).await);
    assert_eq!((refusal.code, refusal.reason), (Code::InvalidArgument, ErrorReason::TooManyItems));
    assert_eq!(refusal.fields(), ["tools"]);
    assert!(refusal.message.contains("1001") && refusal.message.contains("1000"), "{}", refusal.message);
}

/// DESIGN §5: without tools every one of the caller's cascade that is not OK is answered, by name.
#[tokio::test(flavor = "multi_thread")]
async fn no_tools_means_all_that_are_not_ok() {
    let server = troubled().await;
    let of_alice = server.client.lookup(lookup(caller("alice"), [])).await;
    assert_eq!(names(&of_alice), ["calendar", "jira_search", "mail_send"]);
    let of_bob = server.client.lookup(lookup(caller("bob"), [])).await;
    assert_eq!(names(&of_bob), ["jira_search"]);
    let elsewhere = v1::Caller { project_id: "other".to_owned(), ..caller("bob") };
    assert!(server.client.lookup(lookup(elsewhere, [])).await.tools.is_empty());
    let nobody = v1::Caller { tenant_id: "acme".to_owned(), ..Default::default() };
    assert!(server.client.lookup(lookup(nobody, [])).await.tools.is_empty(), "no project means `default`");
}

/// R71, R72, R79, C26: the surface mode decides whether a tool is offered, the placement where the words go; the state
/// is the same in all of them.
#[tokio::test(flavor = "multi_thread")]
async fn surface_and_placement_are_projections() {
    let server = troubled().await;
    let tools = ["jira_search", "calendar", "mail_send", "wiki"];
    let ask = async |surface: SurfaceMode, placement: Placement| {
        let request = v1::LookupRequest {
            surface: surface.into(),
            placement: placement.into(),
            ..lookup(caller("alice"), tools.map(rest))
        };
        server.client.lookup(request).await
    };
    let visible = async |surface| {
        let response = ask(surface, Placement::Unspecified).await;
        let states: Vec<_> = response.tools.iter().map(v1::ToolHealth::state).collect();
        assert_eq!(states, [ToolState::Down, ToolState::Down, ToolState::Degraded, ToolState::Ok]);
        response.tools.iter().map(v1::ToolHealth::visibility).collect::<Vec<_>>()
    };
    use Visibility::{Deferred, Hidden, Listed};
    assert_eq!(visible(SurfaceMode::Unspecified).await, [Listed, Listed, Listed, Listed]);
    assert_eq!(visible(SurfaceMode::Annotate).await, [Listed, Listed, Listed, Listed]);
    assert_eq!(visible(SurfaceMode::Stable).await, [Listed, Listed, Listed, Listed]);
    assert_eq!(visible(SurfaceMode::Demote).await, [Deferred, Deferred, Listed, Listed]);
    // Only what is out of order for everybody is hidden: a person can renew a token.
    assert_eq!(visible(SurfaceMode::Hide).await, [Hidden, Listed, Listed, Listed]);

    let block = ask(SurfaceMode::Unspecified, Placement::Block).await;
    assert_eq!(block.block.lines().count(), 4, "{}", block.block);
    let description = ask(SurfaceMode::Unspecified, Placement::Description).await;
    assert!(description.block.is_empty());
    assert_eq!(description.tools[0].words, block.tools[0].words);
    let none = ask(SurfaceMode::Unspecified, Placement::None).await;
    assert!(none.block.is_empty() && none.tools.iter().all(|it| it.words.is_empty()));
    assert!(block.tools[2].words.starts_with("intermittent since "), "{}", block.tools[2].words);
}

/// DESIGN §5, §8: an answer says for when it holds and when it changes by itself.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_says_when_it_changes_by_itself() {
    let server = troubled().await;
    let before = server.client.now().await;
    let response = server.client.lookup(lookup(caller("bob"), [rest("jira_search")])).await;
    let evaluated = micros(response.evaluated_at.as_ref().expect("an instant"));
    let next = micros(response.next_change_at.as_ref().expect("it recovers"));
    assert!(evaluated >= before && next > evaluated);
    assert!(next <= evaluated + 300_000_000, "at the latest when the 5 minutes are over");
    let fine = server.client.lookup(lookup(caller("bob"), [rest("wiki")])).await;
    assert_eq!(fine.next_change_at, None);
}

/// DESIGN §4: a GLOBAL state is an administrator's, names a provider, and counts for tools of that provider alone, in
/// every tenant.
#[tokio::test(flavor = "multi_thread")]
async fn a_global_state_counts_for_its_provider_alone() {
    let server = Setup::memory().start().await;
    let key = v1::DocumentKey {
        scope: v1::Scope::Global.into(),
        tool_name: "repo_search".to_owned(),
        provider: "github".to_owned(),
        ..Default::default()
    };
    let mark = v1::MarkUnavailableRequest { key: Some(key), ..Default::default() };
    server.client.admin().mark_unavailable(mark).await.expect("marked");
    let of = |provider: &str| v1::Tool { provider: provider.to_owned(), ..rest("repo_search") };
    for tenant in ["acme", "globex"] {
        let caller = v1::Caller { tenant_id: tenant.to_owned(), ..caller("alice") };
        let health = server.client.health(caller.clone(), of("github")).await;
        assert_eq!((health.state(), health.scope()), (ToolState::Down, v1::Scope::Global));
        assert_eq!(server.client.state(caller.clone(), of("gitlab")).await, ToolState::Ok);
        assert_eq!(server.client.state(caller, of("")).await, ToolState::Ok);
    }
    // A success of one tenant heals it there and nowhere else (DESIGN §11.3).
    let result = server.client.success(caller("alice"), of("github")).await;
    assert_eq!(result.state(), ToolState::Ok);
    let globex = v1::Caller { tenant_id: "globex".to_owned(), ..caller("alice") };
    assert_eq!(server.client.state(globex, of("github")).await, ToolState::Down);
}

/// DESIGN §5: tokens and revisions that are not ours are passed over with a warning; unknown words too.
#[tokio::test(flavor = "multi_thread")]
async fn odd_tokens_are_passed_over() {
    let server = troubled().await;
    let request = v1::LookupRequest {
        shown: b"\x07 not ours".to_vec(),
        at_least: "not ours".to_owned(),
        surface: 99,
        placement: 98,
        consistency: 97,
        ..lookup(caller("bob"), [rest("jira_search")])
    };
    let response = server.client.lookup(request).await;
    assert_eq!(response.tools[0].state(), ToolState::Down);
    let warned = warned(&response.warnings);
    for (code, field) in [
        (v1::WarningCode::Dropped, "shown"),
        (v1::WarningCode::Dropped, "at_least"),
        (v1::WarningCode::UnknownValue, "surface"),
        (v1::WarningCode::UnknownValue, "placement"),
        (v1::WarningCode::UnknownValue, "consistency"),
    ] {
        assert!(warned.contains(&(code, field)), "{field}: {warned:?}");
    }
}

/// R74, C17: past its announced time a tool reads RETESTING, has no words, and a success clears it.
#[tokio::test(flavor = "multi_thread")]
async fn past_its_time_a_tool_is_retested() {
    let server = Setup::memory().start().await;
    let now = server.client.now().await;
    let mark = v1::MarkUnavailableRequest {
        tenant_id: "acme".to_owned(),
        key: Some(agrajag_tests::messages::at_project("jira_search")),
        expected_recovery_at: Some(agrajag_tests::messages::at_micros(now + 1_500_000)),
        ..Default::default()
    };
    server.client.admin().mark_unavailable(mark).await.expect("marked");
    let health = server.client.health(caller("alice"), rest("jira_search")).await;
    assert_eq!((health.state(), health.words.as_str()), (ToolState::Down, ""), "under two minutes: no words");
    let health = agrajag_tests::wait::until("the tool is retested", async || {
        let health = server.client.health(caller("alice"), rest("jira_search")).await;
        (health.state() == ToolState::Retesting).then_some(health)
    })
    .await;
    assert!(health.words.is_empty() && health.report_success, "{health:?}");
    let result = server.client.success(caller("alice"), rest("jira_search")).await;
    assert_eq!((result.outcome(), result.state()), (v1::SuccessOutcome::Cleared, ToolState::Ok));
}
