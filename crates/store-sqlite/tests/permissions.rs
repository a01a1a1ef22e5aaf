//! Files and directories that may not be written.
//!
//! Nothing is forbidden to root, so where the tests run as root a child does the work as another user.

#![cfg(target_os = "linux")]

mod support;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use ports::{Store, StoreError};
use store_sqlite::{SqliteOptions, SqliteStore};

/// A user and group that own nothing.
const NOBODY: u32 = 65_534;

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("the mode is set");
}

/// Runs the test `name` as a user who may be forbidden something, in `directory`.
fn run_unprivileged(name: &str, directory: &Path) {
    let mut command = support::child(name, directory);
    if std::fs::metadata("/proc/self").expect("this process").uid() == 0 {
        // The build directory may be closed to others: a copy of this binary beside the data is not.
        let copy = directory.join("test-binary");
        std::fs::copy(command.get_program(), &copy).expect("a copy");
        set_mode(&copy, 0o755);
        let mut copied = std::process::Command::new(copy);
        copied.args(command.get_args()).env(support::CHILD, directory).current_dir("/");
        copied.uid(NOBODY).gid(NOBODY);
        command = copied;
    }
    let output = command.output().expect("the child runs");
    let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "the child ran its test: {text}");
}

#[test]
fn what_may_not_be_written_is_named() {
    if let Some(directory) = std::env::var_os(support::CHILD) {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(check(PathBuf::from(directory)));
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    set_mode(root, 0o755);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for name in ["read-only-file", "read-only-directory", "closed-directory"] {
        std::fs::create_dir(root.join(name)).expect("a directory");
        let path = root.join(name).join("store.db");
        runtime.block_on(async {
            SqliteStore::open(&path, SqliteOptions::default()).await.expect("the store opens").close().await;
        });
    }
    std::fs::create_dir(root.join("empty-directory")).expect("a directory");
    set_mode(&root.join("read-only-file"), 0o777);
    set_mode(&root.join("read-only-file").join("store.db"), 0o444);
    set_mode(&root.join("read-only-directory").join("store.db"), 0o666);
    set_mode(&root.join("read-only-directory"), 0o555);
    set_mode(&root.join("empty-directory"), 0o555);
    set_mode(&root.join("closed-directory"), 0o000);
    run_unprivileged("what_may_not_be_written_is_named", root);
    for name in ["read-only-directory", "empty-directory", "closed-directory"] {
        set_mode(&root.join(name), 0o755);
    }
}

async fn check(root: PathBuf) {
    for (name, remedy) in [
        ("read-only-file", "is read-only: make the file and its directory writable"),
        ("read-only-directory", "is read-only: make the file and its directory writable"),
        ("empty-directory", "must exist and be writable for this user"),
        ("closed-directory", "must exist and be writable for this user"),
    ] {
        let path = root.join(name).join("store.db");
        let opened = SqliteStore::open(&path, SqliteOptions::default()).await;
        let error = opened.map(drop).expect_err(name);
        assert!(matches!(error, StoreError::Unavailable { .. }), "{name}: {error:?}");
        let text = error.to_string();
        assert!(text.contains(&format!("`{}`", path.display())), "{name}: no path in {text}");
        assert!(text.contains(remedy), "{name}: no `{remedy}` in {text}");
    }
}
