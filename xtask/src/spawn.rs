//! `corpus`, `bench` and `fuzz`: verbs that build a program of the workspace and hand over to it.
//!
//! Owns the command lines only; what the programs do with their arguments is theirs.

use anyhow::Result;

use crate::{process, workspace};

/// Without arguments, brings `docs/accuracy.md`, the README's table and the snapshots of the packs up to date; with
/// `--check` it only compares. Files are scored with the built binary: `agrajag rules test …`.
pub(crate) fn corpus(args: &[String]) -> Result<()> {
    let is_own = args.first().is_none_or(|it| ["--check", "--baselines"].contains(&it.as_str()));
    if is_own {
        process::run(&mut process::cargo(["build", "--package", "agrajag-tests", "--bin", "corpus"]))?;
        let binary = workspace::target().join("debug/corpus");
        return process::run(std::process::Command::new(binary).args(args));
    }
    process::run(&mut process::cargo(["build", "--package", "agrajag"]))?;
    let binary = workspace::target().join("debug/agrajag");
    // In the caller's folder: the arguments name files.
    process::run(std::process::Command::new(binary).args(["rules", "test"]).args(args))
}

/// Runs the benchmark, which builds in release: that of classification if the first argument says so, else that of calls.
pub(crate) fn bench(args: &[String]) -> Result<()> {
    match args.split_first() {
        Some((first, rest)) if first == "classify" => in_release("classify", rest),
        _ => in_release("bench", args),
    }
}

/// Fuzzes a target, in release: what is slow in a build without optimisation says nothing.
pub(crate) fn fuzz(args: &[String]) -> Result<()> {
    in_release("fuzz", args)
}

fn in_release(binary: &str, args: &[String]) -> Result<()> {
    process::run(
        process::cargo(["run", "--release", "--package", "agrajag-tests", "--bin", binary, "--"]).args(args),
    )
}
