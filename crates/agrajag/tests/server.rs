//! The program against a server of its own: `demo`, `serve` with the commands of the first minute, `doctor`.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Output, Stdio};

use common::{agrajag, code, json, run, stderr, stdout};

/// A server with a store in memory or in a file, killed when it is dropped.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(flags: &[&str]) -> Self {
        let mut child = agrajag()
            .args(["serve", "--listen", "127.0.0.1:0", "--output", "json", "--log", "warn"])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("it says where it listens");
        let said: serde_json::Value = serde_json::from_str(&line).expect("one object");
        let url = said["listening"].as_str().expect("an address").to_owned();
        Self { child, url }
    }

    fn run(&self, line: &[&str]) -> Output {
        agrajag().args(line).args(["--server", &self.url]).output().expect("the program starts")
    }

    fn json(&self, line: &[&str]) -> serde_json::Value {
        json(&self.run(&[line, &["--output", "json"]].concat()))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The story holds, is readable in a minute, and leaves no colour and no log on a pipe. The demo compares each fact with
/// the server's answer, so that its exit code stands for R1, R2, R3, R8, R10, R16, R31, R43, R45, R46, R54, R55, R72, R81,
/// R99, R100, R102, R129, C16 and C24.
#[test]
fn the_demo_tells_its_story_in_sixty_lines() {
    let output = run(&["demo"]);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().count() <= 60, "{text}");
    assert!(text.lines().all(|it| it.chars().count() <= 100), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    for told in
        ["6. ", "BACKEND_UNREACHABLE", "USER_PERMISSION", "Retry-After says 17 s", "available again", "node"]
    {
        assert!(text.contains(told), "`{told}` is missing:\n{text}");
    }
    let story = json(&run(&["demo", "--output", "json"]));
    assert_eq!(story["scenes"].as_array().map(Vec::len), Some(6));
}

/// The first minute of a new user, with nothing set up: serve, check, lookup, success, lookup.
#[test]
fn the_first_minute() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = format!("sqlite:{}", dir.path().join("agrajag.db").display());
    let serving = Serving::start(&["--store", &store]);
    let who = ["--tenant", "acme", "--project", "essay", "--user", "alice"];

    let line = [&["check", "--tool", "jira_search", "--http-status", "403"][..], &who].concat();
    let checked = serving.run(&line);
    assert_eq!(code(&checked), 0, "{}", stderr(&checked));
    assert!(
        stdout(&checked).starts_with("jira_search: USER_PERMISSION (http-403)\n"),
        "{}",
        stdout(&checked)
    );
    assert!(stdout(&checked).lines().all(|it| it.chars().count() <= 100), "{}", stdout(&checked));

    let lookup = serving.run(&[&["lookup", "jira_search"][..], &who].concat());
    assert_eq!(code(&lookup), 0, "a missing right is no health matter: {}", stdout(&lookup));

    let refused = ["check", "--tool", "wiki", "--exception-type", "java.net.ConnectException"];
    let broken = serving.json(&[&refused[..], &["--message", "Connection refused"], &who].concat());
    assert_eq!(broken["verdict"]["classification"], "CLASSIFICATION_TECHNICALLY_BROKEN");
    let lookup = serving.run(&[&["lookup", "wiki", "jira_search"][..], &who].concat());
    assert_eq!(code(&lookup), 11, "{}{}", stdout(&lookup), stderr(&lookup));
    let looked_up = serving.json(&[&["lookup", "wiki"][..], &who].concat());
    let shown = looked_up["shown"].as_str().expect("a token").to_owned();

    let cleared = serving.json(&[&["success", "wiki"][..], &who].concat());
    assert_eq!(cleared["results"][0]["outcome"], "SUCCESS_OUTCOME_CLEARED");
    let after = serving.json(&[&["lookup", "wiki", "--shown", &shown][..], &who].concat());
    assert_eq!(after["recovered"], serde_json::json!(["wiki"]));
}

/// A shell hook passes standard output on as it is: one line of JSON, and nothing of the verdict around it.
#[test]
fn a_hook_gets_the_rendering_alone() {
    let serving = Serving::start(&["--store", "memory:"]);
    let line = ["check", "--tool", "jira_search", "--http-status", "403", "--render"];
    let mcp = serving.run(&[&line[..], &["mcp"]].concat());
    assert_eq!(code(&mcp), 0, "{}", stderr(&mcp));
    assert_eq!(stdout(&mcp).lines().count(), 1, "{}", stdout(&mcp));
    let result = json(&mcp);
    assert_eq!(result["isError"], true);
    assert!(
        result["content"][0]["text"].as_str().is_some_and(|it| it.contains("failed (http-403)")),
        "{result}"
    );
    let chat = json(&serving.run(&[&line[..], &["openai-chat", "--call-id", "call_1"]].concat()));
    assert_eq!((&chat["role"], &chat["tool_call_id"]), (&"tool".into(), &"call_1".into()));
    assert_eq!(chat["content"], result["content"][0]["text"], "the same verdict has the same words");
    let without = serving.run(&[&line[..], &["anthropic"]].concat());
    assert_eq!((code(&without), stdout(&without).as_str()), (2, ""));
}

/// DESIGN §2.3: on the third user's like failure `check` says so, asked or not.
#[test]
fn like_failures_of_several_users_are_told() {
    let serving = Serving::start(&["--store", "memory:"]);
    let check = |user: &str, more: &[&str]| {
        let line =
            ["check", "--tool", "crm", "--http-status", "401", "--message", "token expired", "--user", user];
        serving.run(&[&line[..], more].concat())
    };
    assert!(!stdout(&check("a", &[])).contains("alike"), "{}", stdout(&check("a", &[])));
    check("b", &[]);
    let third = stdout(&check("c", &[]));
    assert!(
        third.contains("  alike         3 users failed alike within ")
            && third.contains(": the tool is being looked at"),
        "{third}"
    );
    let fourth = json(&check("d", &["--output", "json"]));
    let evidence = fourth["verdict"]["evidence"].as_array().expect("evidence");
    assert!(evidence.iter().any(|it| it["field"] == "likeFailures"), "{fourth}");
}

/// A layer that is in force for nobody is marked; of one that lost a rule every answer says so, without two prefixes.
#[test]
fn a_shadow_and_a_skipped_rule_are_told() {
    let serving = Serving::start(&["--store", "memory:"]);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("layer.yaml");
    let rule = "patterns:\n  - id: a\n    before: first\n    match: { httpStatus: 418 }\n    signature: a\n    classification: UNCLEAR\n";
    std::fs::write(&file, format!("shadow: true\n{rule}")).expect("written");
    let path = file.to_str().expect("UTF-8");
    let put = serving.run(&["rules", "put", path, "--tenant", "acme"]);
    assert!(stdout(&put).contains("no: SHADOW"), "{}{}", stdout(&put), stderr(&put));
    let layers = serving.json(&["rules", "layers", "--tenant", "acme"]);
    assert_eq!(layers["layers"][0]["shadow"], true, "{layers}");
    let shown = serving.run(&["rules", "show", "--effective", "--tenant", "acme"]);
    assert!(stderr(&shown).contains("SHADOW: the layer of tenant acme says"), "{}", stderr(&shown));

    let layer = dir.path().join("documents/acme/_vance/agrajag/error-patterns.yaml");
    std::fs::create_dir_all(layer.parent().expect("a folder")).expect("made");
    std::fs::write(&layer, rule.replace("match:", "mach:")).expect("written");
    let documents = dir.path().join("documents");
    let serving = Serving::start(&["--store", "memory:", "--documents", documents.to_str().expect("UTF-8")]);
    let line = ["check", "--tool", "crm", "--http-status", "403", "--tenant", "acme", "--render", "mcp"];
    let rendered = serving.run(&line);
    assert!(stderr(&rendered).starts_with("warning: RULE_SKIPPED"), "{}", stderr(&rendered));
}

/// A report from standard input: a program writes JSON, a person lays flags over it.
#[test]
fn a_report_comes_from_standard_input() {
    let serving = Serving::start(&["--store", "memory:"]);
    let mut child = agrajag()
        .args(["check", "--failure-file", "-", "--user", "bob", "--output", "json", "--server", &serving.url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let report = r#"{"caller":{"tenantId":"acme","userId":"alice"},"tool":{"name":"crm"},"failure":{"httpStatus":403}}"#;
    child.stdin.take().expect("piped").write_all(report.as_bytes()).expect("read");
    let verdict = json(&child.wait_with_output().expect("it ends"));
    assert_eq!(verdict["verdict"]["signature"], "http-403");
    let documents = serving.json(&["documents", "list", "--tenant", "acme"]);
    assert_eq!(documents["documents"][0]["key"]["scopeId"], "bob", "the flag wins: {documents}");
}

/// The verbs of people: what they write is shown by the others.
#[test]
fn holds_marks_cooldowns_documents_and_jobs() {
    let serving = Serving::start(&["--store", "memory:"]);
    let key = ["--scope", "project", "--scope-id", "essay", "--tool", "wiki", "--tenant", "acme"];
    let caller = ["--tenant", "acme", "--project", "essay"];
    let write = |line: &[&str]| {
        let output = serving.run(&[line, &key].concat());
        assert_eq!(code(&output), 0, "{line:?}: {}{}", stdout(&output), stderr(&output));
        stdout(&output)
    };
    write(&["mark", "degraded", "--for", "20m", "--note", "slow disks", "--by", "root"]);
    assert_eq!(code(&serving.run(&[&["lookup", "wiki"][..], &caller].concat())), 10);
    write(&["mark", "down", "--until", "2100-01-01T00:00:00Z"]);
    assert_eq!(code(&serving.run(&[&["lookup", "wiki"][..], &caller].concat())), 11);
    write(&["hold", "set", "--status", "ok", "--reason", "we know better", "--for", "1h"]);
    assert_eq!(code(&serving.run(&[&["lookup", "wiki"][..], &caller].concat())), 0);
    write(&["hold", "release"]);
    assert_eq!(code(&serving.run(&[&["lookup", "wiki"][..], &caller].concat())), 11);
    write(&["cooldown", "set", "--signature", "http-500", "--for", "1h", "--class", "unclear"]);
    let shown = write(&["documents", "show"]);
    assert!(shown.contains("http-500") && shown.contains("slow disks"), "{shown}");
    assert!(shown.lines().all(|it| it.chars().count() <= 100), "{shown}");
    assert!(write(&["cooldown", "clear"]).contains("1 cooldown cleared"));
    write(&["mark", "ok"]);
    write(&["clear"]);
    let listed = serving.json(&["documents", "list", "--tenant", "acme"]);
    assert_eq!(listed["documents"].as_array().map(Vec::len), Some(1));
    let other = serving.run(&["documents", "list", "--tenant", "other"]);
    assert_eq!(stdout(&other), "No document.\n");
    let deleted = serving.run(&[&["documents", "delete"][..], &key].concat());
    assert!(stdout(&deleted).contains("1 document deleted"), "{}{}", stdout(&deleted), stderr(&deleted));
    let gone = serving.run(&[&["documents", "show"][..], &key].concat());
    assert_eq!(code(&gone), 1, "{}", stderr(&gone));
    assert!(stderr(&gone).contains("DOCUMENT_NOT_FOUND"), "{}", stderr(&gone));

    let unclear = ["check", "--tool", "report", "--http-status", "500"];
    serving.run(&[&unclear[..], &caller].concat());
    let jobs = serving.run(&["jobs", "list", "--tenant", "acme"]);
    assert!(stdout(&jobs).contains("report") && stdout(&jobs).contains("QUEUED"), "{}", stdout(&jobs));
}

/// What a server refuses is told with its reason and every field, as bad input.
#[test]
fn what_a_server_does_not_accept_is_bad_input() {
    let serving = Serving::start(&["--store", "memory:"]);
    let output = serving.run(&["check", "--tool", "", "--tenant", ""]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let text = stderr(&output);
    assert!(
        text.contains("INVALID_FIELD") && text.contains("tenant_id") && text.contains("tool.name"),
        "{text}"
    );
    let many: Vec<String> = (0..1_001).map(|it| format!("tool{it}")).collect();
    let mut line = vec!["lookup"];
    line.extend(many.iter().map(String::as_str));
    let output = serving.run(&line);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("TOO_MANY_ITEMS"), "{}", stderr(&output));
}

/// A session's own tools: an event closes them there, `watch` tells it, and a rule layer put by hand decides.
#[test]
fn events_watches_and_layers() {
    let serving = Serving::start(&["--store", "memory:"]);
    let caller = ["--tenant", "acme", "--user", "alice", "--session", "s-1", "--kind", "client"];
    let closed = serving.json(&[&["event", "connection-closed", "editor_open"][..], &caller].concat());
    assert_eq!(closed["results"][0]["outcome"], "EVENT_OUTCOME_APPLIED");
    let watched = serving
        .run(&[&["watch", "editor_open", "--max-changes", "0", "--output", "json"][..], &caller].concat());
    assert_eq!(code(&watched), 0, "{}", stderr(&watched));
    let first: serde_json::Value = serde_json::from_str(stdout(&watched).lines().next().expect("a snapshot"))
        .expect("one object a line");
    assert_eq!(first["snapshot"]["tools"][0]["state"], "TOOL_STATE_DOWN");

    let layer = common::fixture("documents/acme/_vance/agrajag/error-patterns.yaml");
    let put = serving.run(&["rules", "put", &layer, "--tenant", "acme", "--by", "root"]);
    assert_eq!(code(&put), 0, "{}", stderr(&put));
    let bad = serving.run(&["rules", "put", &common::fixture("bad-rules.yaml"), "--tenant", "acme"]);
    assert_eq!(code(&bad), 2, "{}", stderr(&bad));
    assert!(
        stderr(&bad).contains("RULES_INVALID") && stderr(&bad).contains("httpStatus"),
        "{}",
        stderr(&bad)
    );
    let rules = serving.json(&["rules", "show", "--effective", "--tenant", "acme"]);
    assert!(
        rules["rules"]
            .as_array()
            .expect("rules")
            .iter()
            .any(|it| { it["ruleId"] == "http-403" && it["origin"] == "RULE_ORIGIN_TENANT" })
    );
    let layers = serving.run(&["rules", "layers", "--tenant", "acme", "--yaml"]);
    assert!(
        stdout(&layers).contains("IN FORCE") && !stdout(&layers).contains("SHADOW"),
        "{}",
        stdout(&layers)
    );
    assert!(stdout(&layers).contains("account_suspended"), "{}", stdout(&layers));
    let explained = serving.run(&[
        "explain",
        "--tool",
        "crm",
        "--tenant",
        "acme",
        "--http-status",
        "403",
        "--body",
        "account_suspended",
    ]);
    assert!(stdout(&explained).contains("DECIDED"), "{}", stdout(&explained));
    assert!(stdout(&explained).starts_with("crm: USER_SPECIFIC_TECHNICAL"), "{}", stdout(&explained));
    let deleted = serving.run(&["rules", "delete", "--tenant", "acme"]);
    assert_eq!(stdout(&deleted), "deleted\n");
    assert_eq!(stdout(&serving.run(&["rules", "delete", "--tenant", "acme"])), "there was no such layer\n");
}

#[test]
fn explain_needs_no_server() {
    let output =
        run(&["explain", "--local", "--tool", "x", "--http-status", "429", "--header", "Retry-After: 5"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).starts_with("x: INTERMITTENT (http-429)"), "{}", stdout(&output));
    assert!(stdout(&output).lines().all(|it| it.chars().count() <= 100), "{}", stdout(&output));
    let literal = ["explain", "--local", "--packs", "none", "--all", "--tool", "x", "--output", "json"];
    assert_eq!(json(&run(&literal))["rules"].as_array().map(Vec::len), Some(12));
}

/// What stops a server at its start names setting, value and remedy.
#[test]
fn a_server_that_cannot_start_says_why() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let output = run(&["serve", "--listen", &address, "--store", "memory:"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(
        stderr(&output).contains(&address) && stderr(&output).contains("--listen"),
        "{}",
        stderr(&output)
    );

    let output = run(&["serve", "--listen", "0.0.0.0:0", "--store", "memory:"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("--insecure"), "{}", stderr(&output));

    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("agrajag.db");
    std::fs::write(&file, "no database ".repeat(500)).expect("written");
    let store = format!("sqlite:{}", file.display());
    let output = run(&["serve", "--listen", "127.0.0.1:0", "--store", &store, "--require-store"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("agrajag.db"), "{}", stderr(&output));

    let printed = run(&["serve", "--print-config", "--store", "postgres://u:secret@h/d"]);
    assert_eq!(code(&printed), 0);
    assert!(stdout(&printed).contains("postgres://u:***@h/d"), "{}", stdout(&printed));
}

/// A signal ends the server in order, and what was acknowledged is there afterwards.
#[test]
fn a_signal_ends_the_server_and_keeps_what_was_acknowledged() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = format!("sqlite:{}", dir.path().join("agrajag.db").display());
    let refused = ["check", "--tool", "wiki", "--failure-kind", "connect-refused", "--tenant", "acme"];
    for signal in ["TERM", "INT"] {
        let mut serving = Serving::start(&["--store", &store]);
        let checked = serving.json(&refused);
        assert_eq!(checked["verdict"]["durability"], "DURABILITY_COMMITTED", "{checked}");
        let pid = serving.child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-s", signal, &pid]).status().expect("kill runs");
        assert!(sent.success());
        assert_eq!(serving.child.wait().expect("it ends").code(), Some(0), "SIG{signal}");
        let serving = Serving::start(&["--store", &store]);
        assert_eq!(code(&serving.run(&["lookup", "wiki", "--tenant", "acme"])), 11, "SIG{signal}");
        assert_eq!(code(&serving.run(&["success", "wiki", "--tenant", "acme"])), 0);
    }
}

/// Every line of the doctor has a status, and a bad one a remedy; only a failure changes the exit code.
#[test]
fn doctor_tells_what_is_wrong() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = format!("sqlite:{}", dir.path().join("agrajag.db").display());
    let nobody = ["--server", "127.0.0.1:1", "--listen", "127.0.0.1:0"];
    let fine = run(&[&["doctor", "--store", &store][..], &nobody].concat());
    assert_eq!(code(&fine), 0, "{}{}", stdout(&fine), stderr(&fine));
    assert!(stdout(&fine).contains("agrajag serve"), "{}", stdout(&fine));
    assert!(dir.path().read_dir().expect("readable").next().is_none(), "the doctor makes no store");

    let bad = run(&[&["doctor", "--store", "nonsense"][..], &nobody].concat());
    assert_eq!(code(&bad), 1, "{}{}", stdout(&bad), stderr(&bad));
    let serving = Serving::start(&["--store", &store]);
    let report =
        json(&serving.run(&["doctor", "--store", &store, "--output", "json", "--listen", "127.0.0.1:0"]));
    assert_eq!(report["worst"], "ok", "{report}");
}
