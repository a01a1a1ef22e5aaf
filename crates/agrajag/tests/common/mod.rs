//! Shared by the black-box tests: the built program, started without any setting of the environment it is tested in.

#![allow(dead_code, reason = "each test file uses a part")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program.
pub(crate) fn agrajag() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agrajag"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AGRAJAG_")) {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

/// Runs one command line to its end.
pub(crate) fn run(line: &[&str]) -> Output {
    agrajag().args(line).output().expect("the program starts")
}

/// The exit code.
pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().expect("it ends by itself")
}

/// Standard output.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// Standard output as one JSON value.
pub(crate) fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(output), stderr(output)))
}

/// A file below `tests/fixtures`.
pub(crate) fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    path.to_str().expect("UTF-8").to_owned()
}
