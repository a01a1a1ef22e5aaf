//! Stores that are broken, full, away or of the future: the service fails open, says so, loses nothing that was
//! acknowledged, and goes on when the store does (DESIGN §2.4, §2.5, §10).

use std::fs;
use std::path::Path;
use std::process::Command;

use agrajag_proto::v1;
use agrajag_proto::v1::{Durability, ErrorReason, ToolState, WarningCode};
use agrajag_tests::child::{self, Output};
use agrajag_tests::client::{Client, refusal, warned};
use agrajag_tests::disk::SmallDisk;
use agrajag_tests::messages::{at_project, caller, check, connection_refused, http, lookup, rest};
use agrajag_tests::postgres::Database;
use agrajag_tests::proxy::Proxy;
use agrajag_tests::refusal::Refusal;
use agrajag_tests::server::{Server, Setup};
use agrajag_tests::wait::until;
use agrajag_tests::{env, http as plain};
use tonic::Code;

/// A write by hand.
async fn mark(client: &Client, tool: &str) -> Result<(), Box<Refusal>> {
    let request = v1::MarkUnavailableRequest {
        tenant_id: "acme".to_owned(),
        key: Some(at_project(tool)),
        ..Default::default()
    };
    match client.admin().mark_unavailable(request).await {
        Ok(_) => Ok(()),
        Err(status) => Err(Box::new(Refusal::of(&status))),
    }
}

/// What holds while a store is away: verdicts and lookups are given and say so, nothing is called stored, a person's
/// write is refused with the reason, and the process says where it stands.
async fn fails_open(server: &Server, reasons: &[ErrorReason]) {
    let client = &server.client;
    let response = client.check(check(caller("alice"), rest("unheard_of"), connection_refused())).await;
    assert!(warned(&response.warnings).iter().any(|(it, _)| *it == WarningCode::StoreAway), "{response:?}");
    let verdict = response.verdict.expect("a verdict");
    assert_eq!((verdict.signature.as_str(), verdict.durability()), ("connect-refused", Durability::None));
    assert!(verdict.text.starts_with("Call of `unheard_of` failed"), "{}", verdict.text);
    let response = client.check(check(caller("alice"), rest("unheard_of"), http(500))).await;
    assert_eq!(
        response.verdict.expect("a verdict").diagnosis(),
        v1::DiagnosisState::Suppressed,
        "no job was made"
    );
    let response = client.lookup(lookup(caller("alice"), [rest("never_seen")])).await;
    assert_eq!(response.tools[0].state(), ToolState::Ok, "unknown means usable");
    let result = client.success(caller("alice"), rest("never_seen")).await;
    assert_ne!(result.outcome(), v1::SuccessOutcome::Cleared);
    let refused = mark(client, "unheard_of").await.expect_err("it cannot be stored");
    assert!(reasons.contains(&refused.reason), "{refused:?}");
    assert!(refused.message.len() > 20, "it says what to look at: {refused:?}");
}

/// Waits until the server has noticed, and checks what it tells operators.
async fn tells_operators(server: &Server) {
    until("the server tells that its store is away", async || (!server.has_store().await).then_some(()))
        .await;
    let health = plain::get(server.address, "/healthz").await;
    assert_eq!(
        (health.status, health.json()["store"].as_str()),
        (200, Some("away")),
        "it serves all the same"
    );
}

async fn goes_on(server: &Server) {
    until("the store is back", async || server.has_store().await.then_some(())).await;
    until("writes are taken again", async || mark(&server.client, "afterwards").await.ok()).await;
    // A tool of its own each time: a failure that is known already has nothing to store.
    let tool = format!("afterwards_{}", server.client.now().await);
    let verdict = server.client.verdict(caller("alice"), rest(&tool), connection_refused()).await;
    assert_eq!(verdict.durability(), Durability::Committed);
}

/// A start that demands its store and cannot have it.
fn start_required(home: &Path, store: &str) -> Output {
    let mut command = child::command(home);
    command.args(["serve", "--listen", "127.0.0.1:0", "--require-store", "--store", store]);
    child::run(command)
}

/// "Bad input": a file that is no database is told by name, left as it is, and costs no verdict.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_database() {
    let setup = Setup::sqlite();
    let file = setup.sqlite_file();
    let garbage = b"this is the diary of a madman\n".repeat(500);
    fs::write(&file, &garbage).expect("a file");
    let mut server = setup.without_waiting_for_the_store().spawn().await;
    fails_open(&server, &[ErrorReason::StoreUnavailable, ErrorReason::StoreCorrupt]).await;
    tells_operators(&server).await;
    let printed = server.process().printed();
    assert!(printed.contains(file.to_str().expect("UTF-8")), "the log names the file: {printed}");
    assert!(printed.contains("not a SQLite database"), "{printed}");
    assert_eq!(fs::read(&file).expect("the file"), garbage, "it is somebody's");
    let home = tempfile::tempdir().expect("a folder");
    let output = start_required(home.path(), &format!("sqlite:{}", file.display()));
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(
        output.stderr.contains("not a SQLite database") && output.stderr.contains("store"),
        "{}",
        output.stderr
    );
    // Once it is moved away the server makes a store of its own.
    fs::rename(&file, file.with_extension("diary")).expect("moved");
    goes_on(&server).await;
}

/// "Bad input": a database of which pages were overwritten does not end the server, and is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_database() {
    let server = Setup::sqlite().spawn().await;
    for n in 0..200 {
        server.client.verdict(caller("alice"), rest(&format!("tool_{n}")), connection_refused()).await;
    }
    let file = server.sqlite_file();
    let setup = server.stop().await;
    let mut bytes = fs::read(&file).expect("the file");
    assert!(bytes.len() > 64 << 10, "something to damage");
    for byte in bytes.iter_mut().skip(8 << 10) {
        *byte = byte.wrapping_mul(31).wrapping_add(7);
    }
    fs::write(&file, bytes).expect("damaged");
    let mut server = setup.without_waiting_for_the_store().spawn().await;
    for n in 0..200 {
        let request = check(caller("alice"), rest(&format!("tool_{n}")), connection_refused());
        let verdict = server.client.check(request).await.verdict.expect("a verdict");
        assert_eq!(verdict.signature, "connect-refused");
    }
    let list = v1::ListDocumentsRequest { tenant_id: "acme".to_owned(), ..Default::default() };
    if let Err(status) = server.client.admin().list_documents(list).await {
        let refused = Refusal::of(&status);
        assert_ne!(refused.code, Code::Unknown, "{refused:?}");
    }
    assert!(server.process().is_running());
    let printed = server.process().printed();
    assert!(!printed.contains("panicked"), "{printed}");
    assert!(printed.contains("damaged") || printed.contains("corrupt"), "the log tells: {printed}");
}

/// "Bad input": a file that cannot be written. The header says so, which holds for root as well; a file system that is
/// mounted read-only reads the same to SQLite.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_database() {
    let server = Setup::sqlite().spawn().await;
    server.client.verdict(caller("alice"), rest("jira"), connection_refused()).await;
    let file = server.sqlite_file();
    let setup = server.stop().await;
    set_write_version(&file, 3);
    let mut server = setup.without_waiting_for_the_store().spawn().await;
    fails_open(&server, &[ErrorReason::StoreUnavailable]).await;
    tells_operators(&server).await;
    let printed = server.process().printed();
    assert!(printed.contains("read-only") && printed.contains("writable"), "problem and remedy: {printed}");
    set_write_version(&file, 2);
    goes_on(&server).await;
    assert_eq!(server.client.state(caller("bob"), rest("jira")).await, ToolState::Down, "nothing was lost");
}

/// The version that a program must know to write the file: byte 18 of its header.
fn set_write_version(file: &Path, version: u8) {
    let mut bytes = fs::read(file).expect("the file");
    bytes[18] = version;
    fs::write(file, bytes).expect("written");
}

fn python(code: &str, arguments: &[&str]) {
    let mut command = Command::new(env::required(env::PYTHON));
    let output = command.arg("-c").arg(code).args(arguments).output().expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Makes a file look as if a newer program wrote it, or as it was before that.
fn set_future(file: &Path, is_future: bool) {
    let change = if is_future {
        "create table kept as select version, min_reader from agrajag_schema; \
         update agrajag_schema set version = 99, min_reader = 99"
    } else {
        "update agrajag_schema set version = (select version from kept), min_reader = (select min_reader from kept); \
         drop table kept"
    };
    let code = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.executescript(sys.argv[2]); db.commit(); db.close()";
    python(code, &[file.to_str().expect("UTF-8"), change]);
}

/// "Bad input", DESIGN §8: a file that a newer program wrote is told as such and not touched.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_the_future() {
    let server = Setup::sqlite().spawn().await;
    server.client.verdict(caller("alice"), rest("jira"), connection_refused()).await;
    let file = server.sqlite_file();
    let setup = server.stop().await;
    set_future(&file, true);
    let server = setup.without_waiting_for_the_store().spawn().await;
    fails_open(&server, &[ErrorReason::StoreTooNew]).await;
    tells_operators(&server).await;
    let refused = mark(&server.client, "jira").await.expect_err("too new");
    assert_eq!(refused.code, Code::FailedPrecondition);
    assert!(refused.message.contains("99"), "{refused:?}");
    let home = tempfile::tempdir().expect("a folder");
    let output = start_required(home.path(), &format!("sqlite:{}", file.display()));
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("99"), "{}", output.stderr);
    set_future(&file, false);
    goes_on(&server).await;
    assert_eq!(server.client.state(caller("bob"), rest("jira")).await, ToolState::Down, "nothing was lost");
}

/// The same on PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn a_shared_database_of_the_future() {
    let database = Database::fresh();
    let server = Setup::postgres_at(&database.url()).spawn().await;
    server.client.verdict(caller("alice"), rest("jira"), connection_refused()).await;
    let setup = server.stop().await;
    let newest = "INSERT INTO agrajag.schema_migration (version, min_reader) VALUES (99, 99)";
    database.execute(newest).expect("the schema's table");
    let server = setup.without_waiting_for_the_store().spawn().await;
    fails_open(&server, &[ErrorReason::StoreTooNew]).await;
    let home = tempfile::tempdir().expect("a folder");
    let output = start_required(home.path(), &database.url());
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("99"), "{}", output.stderr);
    database.execute("DELETE FROM agrajag.schema_migration WHERE version = 99").expect("put back");
    goes_on(&server).await;
    assert_eq!(server.client.state(caller("bob"), rest("jira")).await, ToolState::Down, "nothing was lost");
}

/// "Bad input": a disk without room. Reads and verdicts go on, no write is called stored that is not, and when there is
/// room again everything that was acknowledged is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = SmallDisk::on(folder.path());
    if !disk.is_mounted() {
        eprintln!(
            "this user may not mount a small disk; `files_that_may_not_grow` shows what can be shown without one"
        );
        return;
    }
    let file = folder.path().join("agrajag.db");
    let mut server = Setup::sqlite_at(&file).spawn().await;
    let mut acknowledged = Vec::new();
    for n in 0..50 {
        let tool = format!("before_{n}");
        server.client.verdict(caller("alice"), rest(&tool), connection_refused()).await;
        acknowledged.push(tool);
    }
    let filler = disk.fill();
    // What SQLite has in its log already may still find room; not for long.
    let n = until("a write finds no room", async || {
        let tool = format!("during_{}", acknowledged.len());
        let verdict = server.client.verdict(caller("alice"), rest(&tool), connection_refused()).await;
        if verdict.durability() == Durability::Committed {
            acknowledged.push(tool);
            return None;
        }
        Some(acknowledged.len())
    })
    .await;
    eprintln!("full after {n} documents");
    fails_open(&server, &[ErrorReason::StoreUnavailable]).await;
    assert_eq!(server.client.state(caller("bob"), rest("before_0")).await, ToolState::Down, "reads go on");
    assert!(server.process().is_running());
    fs::remove_file(filler).expect("removed");
    goes_on(&server).await;
    is_all_there(&server, &acknowledged).await;
    // Also after a start from what is on the disk.
    let server = server.kill().spawn().await;
    is_all_there(&server, &acknowledged).await;
    drop(server);
    drop(disk);
}

async fn is_all_there(server: &Server, tools: &[String]) {
    let request = v1::LookupRequest {
        consistency: v1::Consistency::Store.into(),
        ..lookup(caller("bob"), tools.iter().map(|it| rest(it)))
    };
    let response = server.client.lookup(request).await;
    let lost: Vec<_> = response.tools.iter().filter(|it| it.state() != ToolState::Down).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

/// The same by a limit on the size of files, which any user can set, and with the failure of a disk instead of a full one.
#[tokio::test(flavor = "multi_thread")]
async fn files_that_may_not_grow() {
    let mut server = Setup::sqlite().limit_files(1_024).spawn().await;
    let mut acknowledged = Vec::new();
    until("a write finds no room", async || {
        let tool = format!("tool_{}", acknowledged.len());
        let verdict = server.client.verdict(caller("alice"), rest(&tool), connection_refused()).await;
        if verdict.durability() == Durability::Committed {
            acknowledged.push(tool);
            return None;
        }
        Some(())
    })
    .await;
    fails_open(&server, &[ErrorReason::StoreUnavailable]).await;
    assert!(server.process().is_running());
    let server = server.kill().limit_files(u64::MAX).spawn().await;
    goes_on(&server).await;
    is_all_there(&server, &acknowledged).await;
}

/// "Bad input", DESIGN §10: a database that is away at the start, comes, goes, and comes back. What was acknowledged
/// before is answered while it is away, marked as stale.
#[tokio::test(flavor = "multi_thread")]
async fn postgres_goes_away_and_comes_back() {
    let database = Database::fresh();
    let proxy = Proxy::start(database.authority()).await;
    proxy.cut();
    let url = database.url_through(&proxy.address().to_string());
    let mut server = Setup::postgres_at(&url).without_waiting_for_the_store().spawn().await;
    fails_open(&server, &[ErrorReason::StoreUnavailable]).await;
    tells_operators(&server).await;
    let home = tempfile::tempdir().expect("a folder");
    let output = start_required(home.path(), &url);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("store"), "{}", output.stderr);

    proxy.restore();
    goes_on(&server).await;
    server.client.verdict(caller("alice"), rest("jira"), connection_refused()).await;
    assert_eq!(server.client.state(caller("bob"), rest("jira")).await, ToolState::Down);

    proxy.cut();
    tells_operators(&server).await;
    fails_open(&server, &[ErrorReason::StoreUnavailable]).await;
    until("what is known is told, and that it may be out of date", async || {
        let response = server.client.lookup(lookup(caller("bob"), [rest("jira")])).await;
        assert_eq!(response.tools[0].state(), ToolState::Down);
        response.stale.then_some(())
    })
    .await;
    let info = server.client.info().await;
    assert!(!info.store_available, "{info:?}");

    proxy.restore();
    goes_on(&server).await;
    assert_eq!(server.client.state(caller("bob"), rest("jira")).await, ToolState::Down);
    let refused = refusal(server.client.admin().list_documents(v1::ListDocumentsRequest::default()).await);
    assert_eq!(refused.reason, ErrorReason::InvalidField, "errors are those of the request again");
    assert!(server.process().is_running());
}
