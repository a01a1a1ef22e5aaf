//! What the doctor says of each finding.

use std::time::Duration;

use super::*;
use crate::cli::Global;

fn context(format: Format) -> (Context, crate::output::Captured) {
    let (out, written) = Out::captured(format);
    let global =
        Global { server: "127.0.0.1:1".to_owned(), output: format, timeout: Duration::from_secs(10) };
    (Context { global, out }, written)
}

fn info() -> v1::GetInfoResponse {
    v1::GetInfoResponse {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        store_kind: "sqlite".to_owned(),
        store_available: true,
        store_epoch: "e1".to_owned(),
        ..Default::default()
    }
}

#[test]
fn a_server_is_judged_by_version_rules_and_mode() {
    let status = |info| answering("http://127.0.0.1:4242", Some(Ok(info))).status;
    assert_eq!(status(info()), Status::Ok);
    assert_eq!(status(v1::GetInfoResponse { version: "99.0.0".to_owned(), ..info() }), Status::Warn);
    assert_eq!(status(v1::GetInfoResponse { n_rule_errors: 2, ..info() }), Status::Fail);
    assert_eq!(status(v1::GetInfoResponse { mode: v1::ServerMode::Observe.into(), ..info() }), Status::Warn);
    assert_eq!(answering("x", None).status, Status::Warn);
}

#[test]
fn the_store_of_a_server_is_judged_by_what_the_server_says() {
    assert_eq!(store_of_server(&info()).status, Status::Ok);
    assert_eq!(store_of_server(&v1::GetInfoResponse { stale: true, ..info() }).status, Status::Warn);
    assert_eq!(
        store_of_server(&v1::GetInfoResponse { store_available: false, ..info() }).status,
        Status::Fail
    );
}

#[test]
fn a_file_that_does_not_exist_is_not_made() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("a/b/agrajag.db");
    assert_eq!(new_file(&path).status, Status::Ok);
    assert!(dir.path().read_dir().expect("readable").next().is_none(), "nothing was made");
    std::fs::write(dir.path().join("file"), "").expect("written");
    let check = new_file(&dir.path().join("file/agrajag.db"));
    assert_eq!(check.status, Status::Fail);
    assert!(check.detail.contains("file"), "{}", check.detail);
}

#[tokio::test]
async fn an_address_of_another_program_fails_and_a_free_one_does_not() {
    let (context, _) = context(Format::Table);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = listener.local_addr().expect("bound");
    // The other program hangs up at once.
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let check = address(taken, &context).await;
    assert_eq!(check.status, Status::Fail, "{check:?}");
    assert!(check.detail.contains(&taken.to_string()) && check.remedy.contains("--listen"), "{check:?}");
    let free: SocketAddr = ([127, 0, 0, 1], 0).into();
    assert_eq!(address(free, &context).await.status, Status::Ok);
}

#[tokio::test]
async fn a_server_of_ours_may_hold_the_address() {
    let (context, _) = context(Format::Table);
    let local = Local::in_memory(None, crate::local::Packs::None).await.expect("starts");
    let check = address(local.address(), &context).await;
    assert_eq!(check.status, Status::Ok, "{check:?}");
    assert!(check.detail.contains("Agrajag server"), "{check:?}");
    local.stop().await.expect("ends");
}

#[tokio::test]
async fn a_store_that_is_no_store_fails_with_its_cause() {
    let (context, _) = context(Format::Table);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("agrajag.db");
    std::fs::write(
        &path,
        "this is no database at all, and long enough to be taken for a header of one".repeat(20),
    )
    .expect("written");
    let config = Config { store: Some(StoreUrl::Sqlite(path.clone())), ..Config::default() };
    let check = store(&config, None, &context).await;
    assert_eq!(check.status, Status::Fail, "{check:?}");
    assert!(check.detail.contains("agrajag.db"), "{check:?}");
    let good = dir.path().join("good.db");
    let config = Config { store: Some(StoreUrl::Sqlite(good.clone())), ..Config::default() };
    let local = Local::start(Config { require_store: true, ..config.clone() }).await.expect("makes the file");
    local.stop().await.expect("ends");
    let check = store(&config, None, &context).await;
    assert_eq!(check.status, Status::Ok, "{check:?}");
    let config = Config { store: Some(StoreUrl::Memory), ..Config::default() };
    assert_eq!(store(&config, None, &context).await.status, Status::Warn);
}

/// DESIGN §6: a bad rule is skipped alone, and the error is visible in `doctor`.
#[tokio::test]
async fn a_rule_with_an_error_is_shown_with_file_and_line() {
    let (context, _) = context(Format::Table);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let folder = dir.path().join("acme/_vance/agrajag");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(
        folder.join("error-patterns.yaml"),
        "patterns:\n  - id: mine\n    match: {httpStatus: many}\n    signature: mine\n    classification: UNCLEAR\n",
    )
    .expect("written");
    let config = Config { documents: Some(dir.path().to_owned()), ..Config::default() };
    let check = rules(&config, &context).await;
    assert_eq!(check.status, Status::Fail, "{check:?}");
    assert!(check.detail.contains("error-patterns.yaml:3") && check.detail.contains("mine"), "{check:?}");
    assert_eq!(rules(&Config::default(), &context).await.status, Status::Ok);
}

#[test]
fn the_worst_check_decides_and_every_remedy_is_shown() {
    let checks = [
        ok("program", "version 1"),
        warn("server", "no server answers at `http://127.0.0.1:4242`", "start one with `agrajag serve`"),
        fail("address", "`127.0.0.1:4242` is held by another program", "stop that program"),
    ];
    let (mut context, written) = context(Format::Table);
    render(&mut context.out, &checks, Status::Fail).expect("memory");
    insta::assert_snapshot!(written.text());
    let (mut context, written) = self::context(Format::Json);
    render(&mut context.out, &checks, Status::Fail).expect("memory");
    let object: serde_json::Value = serde_json::from_str(&written.text()).expect("one object");
    assert_eq!(
        (object["worst"].as_str(), object["checks"][2]["status"].as_str()),
        (Some("fail"), Some("fail"))
    );
}
