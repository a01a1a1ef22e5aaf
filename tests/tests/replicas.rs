//! Several servers on one store, and several tenants on one server.

use agrajag_proto::v1;
use agrajag_proto::v1::{DiagnosisState, ErrorReason, ToolState, WarningCode};
use agrajag_tests::client::{refusal, warned};
use agrajag_tests::messages::{
    at_project, caller, check, connection_refused, http, http_body, lookup, rest, success,
};
use agrajag_tests::on_every_store;
use agrajag_tests::postgres::Database;
use agrajag_tests::server::{Server, Setup};
use agrajag_tests::wait::until;

on_every_store! { tenants_never_see_each_other }

async fn two_on_one_file() -> (Server, Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("agrajag.db");
    let first = Setup::sqlite_at(&file).start().await;
    let second = Setup::sqlite_at(&file).start().await;
    (first, second, folder)
}

async fn two_on_one_database() -> (Server, Server, Database) {
    let database = Database::fresh();
    let first = Setup::postgres_at(&database.url()).start().await;
    let second = Setup::postgres_at(&database.url()).start().await;
    (first, second, database)
}

/// DESIGN §5, §8: what one server acknowledged, the other answers at once to a reader that brings the revision; and to
/// everybody else soon after.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_with_a_revision_sees_its_writes_on_the_other_server_sqlite() {
    let (first, second, _folder) = two_on_one_file().await;
    read_your_writes(&first, &second).await;
}

/// The same on PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_with_a_revision_sees_its_writes_on_the_other_server_postgres() {
    let (first, second, _database) = two_on_one_database().await;
    read_your_writes(&first, &second).await;
}

async fn read_your_writes(first: &Server, second: &Server) {
    assert_eq!(first.client.info().await.store_epoch, second.client.info().await.store_epoch);
    for n in 0..20 {
        let tool = rest(&format!("tool_{n}"));
        // The other server has looked already, so that it holds a copy in which the tool is fine.
        assert_eq!(second.client.state(caller("bob"), tool.clone()).await, ToolState::Ok);
        let written = first.client.check(check(caller("alice"), tool.clone(), connection_refused())).await;
        let ask =
            v1::LookupRequest { at_least: written.revision.clone(), ..lookup(caller("bob"), [tool.clone()]) };
        let read = second.client.lookup(ask).await;
        assert_eq!(read.tools[0].state(), ToolState::Down, "tool {n}");
        assert!(
            !warned(&read.warnings).iter().any(|(it, _)| *it == WarningCode::Behind),
            "{:?}",
            read.warnings
        );
        let cleared = second.client.successes(success(caller("bob"), tool.clone())).await;
        let ask = v1::LookupRequest { at_least: cleared.revision, ..lookup(caller("alice"), [tool.clone()]) };
        assert_eq!(first.client.lookup(ask).await.tools[0].state(), ToolState::Ok, "tool {n}");
        let ask = v1::LookupRequest {
            consistency: v1::Consistency::Store.into(),
            ..lookup(caller("carol"), [tool.clone()])
        };
        assert_eq!(first.client.lookup(ask).await.tools[0].state(), ToolState::Ok);
    }
    first.client.verdict(caller("alice"), rest("followed"), connection_refused()).await;
    until("the other server follows the feed", async || {
        (second.client.state(caller("bob"), rest("followed")).await == ToolState::Down).then_some(())
    })
    .await;
}

/// DESIGN §8, R198: two servers that judge the same storm make one job and lose no hit.
#[tokio::test(flavor = "multi_thread")]
async fn two_servers_share_one_storm_sqlite() {
    let (first, second, _folder) = two_on_one_file().await;
    one_job(&first, &second).await;
}

/// The same on PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn two_servers_share_one_storm_postgres() {
    let (first, second, _database) = two_on_one_database().await;
    one_job(&first, &second).await;
}

async fn one_job(first: &Server, second: &Server) {
    let calls = (0..200).map(|n| {
        let server = if n % 2 == 0 { first } else { second };
        server.client.verdict(caller(&format!("user-{n}")), rest("search"), http(500))
    });
    let verdicts = futures::future::join_all(calls).await;
    let enqueued = verdicts.iter().filter(|it| it.diagnosis() == DiagnosisState::Enqueued).count();
    let coalesced = verdicts.iter().filter(|it| it.diagnosis() == DiagnosisState::Coalesced).count();
    assert_eq!(
        (enqueued, coalesced),
        (1, 0),
        "one of them made the job, in the commit that opened the window"
    );
    assert_eq!(first.client.jobs().await.len(), 1);
    until("both servers' hits are added up", async || {
        let document = first.client.document(at_project("search")).await;
        (document.cooldowns[0].hits == 200).then_some(())
    })
    .await;
}

/// DESIGN §6: a layer that was put on one server is in force on the other within two seconds.
#[tokio::test(flavor = "multi_thread")]
async fn rules_are_put_for_every_server() {
    let (first, second, _folder) = two_on_one_file().await;
    let yaml = "\
patterns:
  - id: teapot
    match: { httpStatus: 418 }
    signature: teapot
    classification: USER_INPUT
";
    let put =
        v1::PutRuleLayerRequest { tenant_id: "acme".to_owned(), yaml: yaml.to_owned(), ..Default::default() };
    first.client.admin().put_rule_layer(put).await.expect("put");
    let began = std::time::Instant::now();
    until("the rule is in force on the other server", async || {
        let verdict = second.client.verdict(caller("alice"), rest("kettle"), http(418)).await;
        (verdict.signature == "teapot").then_some(())
    })
    .await;
    eprintln!("in force on the other server after {:?}", began.elapsed());
}

/// DESIGN §4, §9: ids of one tenant never match those of another, also when all strings are equal: not in a verdict, a
/// lookup, a document, a listing, a job, a rule or a deletion.
async fn tenants_never_see_each_other(server: &Server) {
    let client = &server.client;
    let globex = || v1::Caller { tenant_id: "globex".to_owned(), ..caller("alice") };
    client.verdict(caller("alice"), rest("jira"), connection_refused()).await;
    client.verdict(caller("alice"), rest("mail"), http_body(401, "token_expired")).await;
    client.verdict(caller("alice"), rest("search"), http(500)).await;
    let put = v1::PutRuleLayerRequest {
        tenant_id: "acme".to_owned(),
        yaml:
            "patterns: [{ id: t, match: { httpStatus: 418 }, signature: teapot, classification: USER_INPUT }]"
                .to_owned(),
        ..Default::default()
    };
    client.admin().put_rule_layer(put).await.expect("put");

    let response = client.lookup(lookup(globex(), ["jira", "mail", "search"].map(rest))).await;
    assert!(
        response.tools.iter().all(|it| it.state() == ToolState::Ok && !it.report_success),
        "{response:?}"
    );
    assert!(client.lookup(lookup(globex(), [])).await.tools.is_empty());
    let verdict = client.verdict(globex(), rest("search"), http(500)).await;
    assert_eq!(verdict.diagnosis(), DiagnosisState::Enqueued, "acme's cooldown and job are not globex's");
    assert_ne!(client.verdict(globex(), rest("kettle"), http(418)).await.signature, "teapot");
    let result = client.success(globex(), rest("jira")).await;
    assert_eq!(result.outcome(), v1::SuccessOutcome::NothingToClear);
    assert_eq!(
        client.state(caller("bob"), rest("jira")).await,
        ToolState::Down,
        "and clears nothing of acme"
    );

    let get = v1::GetDocumentRequest {
        tenant_id: "globex".to_owned(),
        key: Some(at_project("jira")),
        ..Default::default()
    };
    assert_eq!(refusal(client.admin().get_document(get).await).reason, ErrorReason::DocumentNotFound);
    let list = v1::ListDocumentsRequest { tenant_id: "globex".to_owned(), ..Default::default() };
    let listed = client.admin().list_documents(list).await.expect("a page").into_inner().documents;
    let mut tools: Vec<_> = listed.into_iter().map(|it| it.key.expect("a key").tool_name).collect();
    tools.dedup();
    assert_eq!(tools, ["kettle", "search"], "its own alone");
    let jobs = v1::ListJobsRequest { tenant_id: "globex".to_owned(), ..Default::default() };
    let jobs = client.admin().list_jobs(jobs).await.expect("jobs").into_inner().jobs;
    assert!(jobs.iter().all(|it| it.tenant_id == "globex") && !jobs.is_empty());
    let layers = v1::ListRuleLayersRequest { tenant_id: "globex".to_owned(), include_yaml: true };
    assert!(client.admin().list_rule_layers(layers).await.expect("layers").into_inner().layers.is_empty());
    let delete = v1::DeleteDocumentsRequest {
        tenant_id: "globex".to_owned(),
        target: Some(v1::delete_documents_request::Target::WholeTenant(true)),
        ..Default::default()
    };
    client.admin().delete_documents(delete).await.expect("deleted");
    assert_eq!(client.jobs().await.len(), 1, "acme's job is untouched");
    assert_eq!(client.state(caller("bob"), rest("jira")).await, ToolState::Down);
    assert_eq!(client.verdict(caller("bob"), rest("kettle"), http(418)).await.signature, "teapot");
}
