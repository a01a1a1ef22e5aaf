//! `corpus` and `bench`: verbs that build a program of the workspace and hand over to it.
//!
//! Owns the command lines only; what the programs do with their arguments is theirs.

use anyhow::Result;

use crate::{process, workspace};

/// Scores files of recorded failures with the built binary: `agrajag rules test …`.
pub(crate) fn corpus(args: &[String]) -> Result<()> {
    process::run(&mut process::cargo(["build", "--package", "agrajag"]))?;
    let binary = workspace::target().join("debug/agrajag");
    // In the caller's folder: the arguments name files.
    process::run(std::process::Command::new(binary).args(["rules", "test"]).args(args))
}

/// Runs the benchmark, which builds in release.
pub(crate) fn bench(args: &[String]) -> Result<()> {
    process::run(
        process::cargo(["run", "--release", "--package", "agrajag-tests", "--bin", "bench", "--"]).args(args),
    )
}
