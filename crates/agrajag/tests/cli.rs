//! The built program from outside: usage errors, exit codes, what goes to which stream. No server of ours is needed.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::thread;

use common::{agrajag, code, run, stderr, stdout};

/// A port on which nothing listens.
fn closed_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a free port")
}

/// A server that answers every connection with these bytes, or never if there are none.
fn stranger(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { return };
            thread::spawn(move || {
                if answer.is_empty() {
                    // Reads until the client gives up, and says nothing.
                    let _ = connection.read_to_end(&mut Vec::new());
                } else {
                    let _ = connection.read(&mut [0; 64]);
                    let _ = connection.write_all(answer);
                }
            });
        }
    });
    address
}

#[test]
fn usage_errors_end_with_2_and_name_the_flag() {
    let lines: [(&[&str], &str); 9] = [
        (&[], "Usage"),
        (&["frobnicate"], "frobnicate"),
        (&["check"], "--tool"),
        (&["check", "--tool", "x", "--http-status", "many"], "--http-status"),
        (&["check", "--tool", "x", "--no-such-flag"], "--no-such-flag"),
        (&["lookup", "--kind", "soap"], "soap"),
        (&["check", "--tool", "x", "--timeout", "soon"], "soon"),
        (&["documents", "delete"], "--user"),
        (&["success"], "no tool is named"),
    ];
    for (line, expected) in lines {
        let output = run(line);
        assert_eq!(code(&output), 2, "{line:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{line:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{line:?}");
    }
}

#[test]
fn help_and_version_end_with_0() {
    let help = run(&["--help"]);
    assert_eq!(code(&help), 0);
    assert!(stdout(&help).contains("11  lookup: a tool is down"), "{}", stdout(&help));
    let version = run(&["--version"]);
    assert_eq!((code(&version), stdout(&version)), (0, format!("agrajag {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn every_command_says_3_where_nobody_listens() {
    let address = closed_port().to_string();
    let commands: [&[&str]; 12] = [
        &["check", "--tool", "x", "--http-status", "403"],
        &["success", "x"],
        &["event", "connection-closed", "x"],
        &["lookup", "x"],
        &["watch"],
        &["explain", "--tool", "x"],
        &["info"],
        &["documents", "list"],
        &["mark", "down", "--scope", "tenant", "--tool", "x"],
        &["hold", "set", "--status", "ok", "--scope", "tenant", "--tool", "x", "--reason", "r"],
        &["clear", "--scope", "tenant", "--tool", "x"],
        &["jobs", "list"],
    ];
    for line in commands {
        let output = agrajag().args(line).args(["--server", &address]).output().expect("the program starts");
        assert_eq!(code(&output), 3, "{line:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(&address), "{line:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("remedy:"), "{line:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{line:?}");
    }
}

#[test]
fn an_error_for_programs_is_one_object_on_standard_error() {
    let address = closed_port().to_string();
    let output = run(&["lookup", "x", "--server", &address, "--output", "json"]);
    assert_eq!((code(&output), stdout(&output).as_str()), (3, ""));
    let error: serde_json::Value = serde_json::from_str(&stderr(&output)).expect("one object");
    assert_eq!(error["error"]["reason"], "SERVER_UNREACHABLE");
    assert_eq!(error["error"]["exitCode"], 3);
    assert!(error["error"]["remedy"].as_str().is_some_and(|it| it.contains("agrajag serve")));
}

#[test]
fn the_environment_names_the_server_and_a_flag_wins() {
    let (from_env, from_flag) = (closed_port().to_string(), closed_port().to_string());
    let output = agrajag().arg("info").env("AGRAJAG_SERVER", &from_env).output().expect("the program starts");
    assert!(stderr(&output).contains(&from_env), "{}", stderr(&output));
    let output = agrajag()
        .args(["info", "--server", &from_flag])
        .env("AGRAJAG_SERVER", &from_env)
        .output()
        .expect("the program starts");
    assert!(stderr(&output).contains(&from_flag), "{}", stderr(&output));
}

/// A program that is no Agrajag server, and one that never answers, are told like nobody at all.
#[test]
fn strangers_and_silence_are_unreachable() {
    let http1 = stranger(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").to_string();
    let output = run(&["lookup", "x", "--server", &http1, "--timeout", "5s"]);
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    let silent = stranger(b"").to_string();
    for line in [&["lookup", "x"][..], &["watch", "x"]] {
        let output = agrajag()
            .args(line)
            .args(["--server", &silent, "--timeout", "300ms"])
            .output()
            .expect("the program starts");
        assert_eq!(code(&output), 3, "{line:?}: {}", stderr(&output));
    }
}

#[test]
fn unusable_input_ends_with_2_before_anything_is_sent() {
    let address = closed_port().to_string();
    let lines: [(&[&str], &str); 4] = [
        (&["check", "--tool", "x", "--body-file", "no/such/body"], "no/such/body"),
        (&["check", "--failure-file", "no/such/file"], "no/such/file"),
        (&["explain", "--tool", "x", "--rules-file", "no/such/rules"], "no/such/rules"),
        (&["mark", "ok", "--scope", "tenant", "--tool", "x", "--for", "1h"], "--for"),
    ];
    for (line, expected) in lines {
        let output = agrajag().args(line).args(["--server", &address]).output().expect("the program starts");
        assert_eq!(code(&output), 2, "{line:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{line:?}: {}", stderr(&output));
    }
    let output = run(&["info", "--server", "https://127.0.0.1:4242"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("TLS"), "{}", stderr(&output));
}

/// Whoever closes the pipe has read enough: no panic and no complaint.
#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = agrajag()
        .arg("--help")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
}
