//! Runs a test of this binary in a process of its own.

use std::process::Command;

/// Tells a test that it is the child, and which directory is its.
pub(crate) const CHILD: &str = "AGRAJAG_TEST_CHILD";

/// A command that runs the test `name` of this binary alone, as a child.
pub(crate) fn child(name: &str, directory: &std::path::Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", name, "--nocapture"]).env(CHILD, directory);
    command
}
