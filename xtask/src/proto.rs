//! `proto lint` and `proto breaking`: the rules of the `.proto` files.
//!
//! Owns which buf runs and how it gets there: the npm package brings the program inside, so nothing else is fetched.
//! The rules themselves stand in `buf.yaml`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::test::Outcome;
use crate::{process, workspace};

/// Version of the npm package `@bufbuild/buf`, which is also buf's version.
const BUF_VERSION: &str = "1.75.0";

/// Lints the `.proto` files and checks their formatting.
pub(crate) fn lint() -> Result<()> {
    let buf = buf()?;
    process::run(Command::new(&buf).arg("lint").current_dir(workspace::root()))?;
    process::run(Command::new(&buf).args(["format", "--diff", "--exit-code"]).current_dir(workspace::root()))
}

/// Rewrites the `.proto` files in buf's format.
pub(crate) fn format() -> Result<()> {
    process::run(Command::new(buf()?).args(["format", "--write"]).current_dir(workspace::root()))
}

/// Compares the `.proto` files with those of the last tag.
pub(crate) fn breaking() -> Result<Outcome> {
    let describe = Command::new("git")
        .args(["describe", "--tags", "--abbrev=0"])
        .current_dir(workspace::root())
        .output();
    let tag = match describe {
        Ok(done) if done.status.success() => String::from_utf8_lossy(&done.stdout).trim().to_owned(),
        _ => {
            return Ok(Outcome::Skipped(
                "no tag yet: the interface is free to change until the first one".into(),
            ));
        }
    };
    // `buf` reads the repository through git; a linked worktree has no folder of that name.
    let git_dir = process::output(
        Command::new("git")
            .args(["rev-parse", "--path-format=absolute", "--git-common-dir"])
            .current_dir(workspace::root()),
    )?;
    let against = format!("{}#tag={tag}", git_dir.trim());
    process::run(
        Command::new(buf()?).args(["breaking", "--against", &against]).current_dir(workspace::root()),
    )?;
    println!("no breaking change since {tag}");
    Ok(Outcome::Passed)
}

/// The pinned buf, installed below the target folder on first use.
fn buf() -> Result<PathBuf> {
    let tools = workspace::target().join("tools");
    let buf = tools.join("node_modules/.bin/buf");
    let installed = process::output(Command::new(&buf).arg("--version"))
        .is_ok_and(|version| version.trim() == BUF_VERSION);
    if !installed {
        let npm = process::find("npm").context("npm is not installed; buf comes as an npm package")?;
        std::fs::create_dir_all(&tools).with_context(|| format!("cannot create `{}`", tools.display()))?;
        process::run(
            Command::new(npm)
                .args(["install", "--no-audit", "--no-fund", "--no-save", "--loglevel", "error", "--prefix"])
                .arg(&tools)
                .arg(format!("@bufbuild/buf@{BUF_VERSION}")),
        )?;
    }
    Ok(buf)
}
