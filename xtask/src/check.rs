//! `check`: what the compiler, the linter and the documentation tool say.
//!
//! Owns their command lines. Each core crate is also built alone, because a workspace build unifies features and so lets a
//! core crate use what another crate turned on.

use anyhow::Result;

use crate::{process, workspace};

/// Formatting, lints with warnings denied, each core crate alone, documentation with warnings denied.
pub(crate) fn check() -> Result<()> {
    process::run(&mut process::cargo(["fmt", "--all", "--check"]))?;
    process::run(&mut process::cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    for row in workspace::starred() {
        process::run(&mut process::cargo(["check", "--package", row.name]))?;
    }
    process::run(
        process::cargo(["doc", "--workspace", "--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}
