//! The binary from the command line: the demo, the first minute, exit codes, and what it says when it cannot start.

use std::net::TcpListener;
use std::path::Path;

use agrajag_tests::child::{self, Output};
use agrajag_tests::messages::{caller, connection_refused, http_header, rest};
use agrajag_tests::server::{Server, Setup};

/// Runs one command line of the binary, with a server if there is one.
fn agrajag(home: &Path, server: Option<&Server>, line: &[&str]) -> Output {
    let mut command = child::command(home);
    if let Some(server) = server {
        command.env("AGRAJAG_SERVER", server.url());
    }
    command.args(line);
    child::run(command)
}

/// "Must show" 1: the demo plays its story against a server of its own and checks it itself; a screen or two of text.
#[test]
fn the_demo_plays_its_story() {
    let home = tempfile::tempdir().expect("a folder");
    let output = agrajag(home.path(), None, &["demo"]);
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    let lines = output.stdout.lines().count();
    assert!((10..=60).contains(&lines), "{lines} lines:\n{}", output.stdout);
    for word in ["403", "429", "500", "bob", "alice"] {
        assert!(output.stdout.to_lowercase().contains(word), "nothing of `{word}`:\n{}", output.stdout);
    }
    let left: Vec<_> = std::fs::read_dir(home.path()).expect("the folder").collect();
    assert!(left.is_empty(), "the demo leaves nothing behind: {left:?}");
}

/// "Must show" 1: serve, check and lookup as the README has them; the exit code tells a script what Lookup found.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_minute() {
    let home = tempfile::tempdir().expect("a folder");
    let server = Setup::sqlite().spawn().await;
    let line =
        ["check", "--tool", "jira_search", "--tenant", "acme", "--project", "essay", "--user", "alice"];
    let line: Vec<&str> = line.into_iter().chain(["--http-status", "403"]).collect();
    let output = agrajag(home.path(), Some(&server), &line);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(
        output.stdout.contains("USER_PERMISSION") && output.stdout.contains("http-403"),
        "{}",
        output.stdout
    );
    let as_json: Vec<&str> = line.iter().copied().chain(["--output", "json"]).collect();
    let output = agrajag(home.path(), Some(&server), &as_json);
    let answer: serde_json::Value = serde_json::from_str(&output.stdout).expect("one JSON object");
    assert_eq!(answer["verdict"]["signature"], "http-403");
    assert_eq!(answer["verdict"]["cooldown"]["active"], true);

    let lookup = |tools: &[&str]| {
        let line = ["lookup", "--tenant", "acme", "--project", "essay", "--user", "alice"];
        agrajag(
            home.path(),
            Some(&server),
            &line.into_iter().chain(tools.iter().copied()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(lookup(&["jira_search", "wiki"]).code, Some(0));
    server.client.verdict(caller("alice"), rest("mail"), http_header(429, "Retry-After", "600")).await;
    assert_eq!(lookup(&["jira_search", "mail"]).code, Some(10), "degraded");
    server.client.verdict(caller("alice"), rest("wiki"), connection_refused()).await;
    let output = lookup(&["mail", "wiki"]);
    assert_eq!(output.code, Some(11), "down");
    assert!(output.stdout.contains("expected back at"), "{}", output.stdout);
}

/// Exit codes: 2 for what cannot be meant, 3 where nothing answers; over JSON the error is JSON.
#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_tell_what_went_wrong() {
    let home = tempfile::tempdir().expect("a folder");
    assert_eq!(agrajag(home.path(), None, &["check", "--no-such-flag"]).code, Some(2));
    let address = agrajag_tests::server::free_address().to_string();
    let output = agrajag(home.path(), None, &["lookup", "--server", &address, "--output", "json", "wiki"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
    let error: serde_json::Value = serde_json::from_str(&output.stderr).expect("one JSON object");
    assert!(error.to_string().contains(&address), "{error}");
    let server = Setup::memory().start().await;
    let output =
        agrajag(home.path(), Some(&server), &["check", "--tool", &"n".repeat(257), "--http-status", "500"]);
    assert_eq!(output.code, Some(2), "a field that the server does not accept: {}", output.stderr);
    assert!(output.stderr.contains("tool.name"), "{}", output.stderr);
}

/// "Bad input": a port in use ends the start with address, setting and remedy, and nothing is left behind.
#[test]
fn a_port_in_use_is_told() {
    let home = tempfile::tempdir().expect("a folder");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    let output = agrajag(home.path(), None, &["serve", "--listen", &address, "--store", "memory:"]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    for word in [address.as_str(), "listen", "in use"] {
        assert!(output.stderr.contains(word), "nothing of `{word}`: {}", output.stderr);
    }
}

/// DESIGN §9: an address that others reach needs a word; settings that cannot be are told with their names.
#[test]
fn unusable_settings_are_told() {
    let home = tempfile::tempdir().expect("a folder");
    for (line, words) in [
        (vec!["serve", "--listen", "0.0.0.0:0"], vec!["listen", "0.0.0.0:0", "--insecure"]),
        (vec!["serve", "--store", "mysql://x"], vec!["store", "mysql", "sqlite:PATH"]),
        (vec!["serve", "--set", "limits.max_tools=0"], vec!["limits.max_tools", "`0`", "1 to"]),
        (vec!["serve", "--documents", "no/such/place"], vec!["documents", "no/such/place"]),
    ] {
        let output = agrajag(home.path(), None, &line);
        assert_eq!(output.code, Some(2), "{line:?}: {}", output.stderr);
        for word in words {
            assert!(output.stderr.contains(word), "{line:?}: nothing of `{word}`: {}", output.stderr);
        }
    }
}
