//! `ci`: every check in order.
//!
//! Owns the order and the verdict. A failed step does not end the run: one run shows everything that is wrong.

use anyhow::Result;

use crate::test::{Outcome, Part, Suite};
use crate::{arch, check, codegen, licences, process, proto, requirements, spawn, test, tidy};

/// Runs every check and prints one table with the time of each.
pub(crate) fn ci() -> Result<()> {
    let parts = [
        Part::run("check", check::check),
        Part::run("arch", arch::arch),
        Part::run("tidy", tidy::tidy),
        Part::run("codegen", || codegen::codegen(true)),
        Part::run("proto lint", proto::lint),
        Part::run_or_skip("proto breaking", proto::breaking),
        Part::run_or_skip("deny", deny),
        Part::run("licences", licences::licences),
        Part::run("requirements", || requirements::report(false)),
        Part::run("corpus", || spawn::corpus(&["--check".to_owned()])),
        Part::run("test", || test::test(Suite::All, &[])),
    ];
    test::summarise(&parts)
}

/// Runs cargo-deny where it is installed; `arch` and `licences` check the same rules always.
fn deny() -> Result<Outcome> {
    if process::output(&mut process::cargo(["deny", "--version"])).is_err() {
        return Ok(Outcome::Skipped("cargo-deny is not installed; arch and licences check its rules".into()));
    }
    process::run(&mut process::cargo(["deny", "check", "bans", "licenses", "sources"]))?;
    Ok(Outcome::Passed)
}
