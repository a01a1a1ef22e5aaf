//! `test`: everything that a test run needs, and the run itself.
//!
//! Owns which suite needs what (PostgreSQL, Python, the built binary), the environment variables that tell tests where it
//! is, and the summary. Knows nothing of what the tests assert.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::pg::{Cluster, Durability};
use crate::{pg, process, python, workspace};

/// The environment variable in which black-box tests find the `agrajag` binary.
const BINARY: &str = "AGRAJAG_TEST_BIN";

/// Packages that need a store outside the process.
const STORES: &[&str] = &["store-conformance", "store-memory", "store-postgres", "store-sqlite"];

/// The package of black-box tests.
const BLACK_BOX: &str = "agrajag-tests";

/// Which tests to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Suite {
    /// What needs nothing outside the process.
    Unit,
    /// The conformance suite and the stores' own tests, on memory, SQLite and PostgreSQL.
    Stores,
    /// Black-box tests against the built binary, in Rust and Python.
    E2e,
    /// All of them, and the doc tests.
    All,
}

impl Suite {
    /// The package selection for cargo.
    fn selection(self) -> Vec<&'static str> {
        match self {
            Self::Unit => {
                let excluded = STORES.iter().chain([&BLACK_BOX]).flat_map(|package| ["--exclude", package]);
                ["--workspace"].into_iter().chain(excluded).collect()
            }
            Self::Stores => STORES.iter().flat_map(|package| ["--package", package]).collect(),
            Self::E2e => vec!["--package", BLACK_BOX],
            Self::All => vec!["--workspace"],
        }
    }

    fn needs_postgres(self) -> bool {
        self != Self::Unit
    }

    fn needs_binary(self) -> bool {
        matches!(self, Self::E2e | Self::All)
    }
}

/// Runs the suite; `args` go to the test runner, so a name selects tests.
pub(crate) fn test(suite: Suite, args: &[String]) -> Result<()> {
    // Held to the end: dropping it stops the clusters.
    let surroundings = Surroundings::prepare(suite)?;
    let mut parts = vec![Part::run("tests", || tests(suite, args, &surroundings))];
    // A selection by name is about tests; compiling every example for it would only cost time.
    if args.is_empty() {
        parts.push(Part::run("doc tests", || doc_tests(suite, &surroundings)));
    }
    drop(surroundings);
    summarise(&parts)
}

fn tests(suite: Suite, args: &[String], surroundings: &Surroundings) -> Result<()> {
    let nextest = process::output(&mut process::cargo(["nextest", "--version"])).is_ok();
    let mut command = if nextest {
        let profile = if std::env::var_os("CI").is_some() { "ci" } else { "default" };
        process::cargo(["nextest", "run", "--profile", profile])
    } else {
        println!("cargo-nextest is not installed; running `cargo test`, which has no time limit per test");
        process::cargo(["test", "--tests", "--no-fail-fast"])
    };
    process::run(command.args(suite.selection()).args(args).envs(surroundings.variables()))
}

fn doc_tests(suite: Suite, surroundings: &Surroundings) -> Result<()> {
    process::run(process::cargo(["test", "--doc"]).args(suite.selection()).envs(surroundings.variables()))
}

/// What tests find around them.
struct Surroundings {
    variables: Vec<(&'static str, String)>,
    _clusters: Vec<Cluster>,
}

impl Surroundings {
    fn prepare(suite: Suite) -> Result<Self> {
        let mut variables = Vec::new();
        let mut clusters = Vec::new();
        if suite.needs_binary() {
            variables.push((python::VARIABLE, python::prepare()?.to_string_lossy().into_owned()));
            variables.push((BINARY, build_binary()?.to_string_lossy().into_owned()));
        }
        if suite.needs_postgres() {
            for durability in Durability::ALL {
                let variable = durability.variable();
                if let Ok(url) = std::env::var(variable) {
                    pg::check_url(variable, &url)?;
                    println!("{variable}={url} (given)");
                    continue;
                }
                let cluster = Cluster::start(durability)?;
                println!("{variable}={}", cluster.url());
                variables.push((variable, cluster.url().to_owned()));
                clusters.push(cluster);
            }
        }
        Ok(Self { variables, _clusters: clusters })
    }

    fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (*name, value.as_str()))
    }
}

/// Builds the binaries together with the tests: the same units, so the test runner finds all of them fresh.
fn build_binary() -> Result<PathBuf> {
    process::run(&mut process::cargo(["build", "--workspace", "--bins", "--tests"]))?;
    let binary = workspace::target().join("debug/agrajag");
    if !binary.is_file() {
        bail!("the build made no `{}`", binary.display());
    }
    binary.canonicalize().context("cannot resolve the path of the built binary")
}

/// One line of a summary.
pub(crate) struct Part {
    name: String,
    outcome: Outcome,
    took: Duration,
}

/// How a part ended.
pub(crate) enum Outcome {
    /// It did its work and found nothing wrong.
    Passed,
    /// It did not run, for this reason.
    Skipped(String),
    /// It found something wrong.
    Failed(String),
}

impl Part {
    /// Runs a part and notes how long it took; its error is printed and kept, so that the next part runs.
    pub(crate) fn run(name: &str, work: impl FnOnce() -> Result<()>) -> Self {
        Self::run_or_skip(name, || work().map(|()| Outcome::Passed))
    }

    /// The same for a part that may find that it cannot run here.
    pub(crate) fn run_or_skip(name: &str, work: impl FnOnce() -> Result<Outcome>) -> Self {
        println!("\n== {name}");
        let started = Instant::now();
        let outcome = work().unwrap_or_else(|error| {
            println!("error: {error:#}");
            Outcome::Failed(format!("{error:#}"))
        });
        if let Outcome::Skipped(reason) = &outcome {
            println!("skipped: {reason}");
        }
        Self { name: name.to_owned(), outcome, took: started.elapsed() }
    }
}

/// Prints one line per part, and fails if any part did.
pub(crate) fn summarise(parts: &[Part]) -> Result<()> {
    println!("\n{}", table(parts));
    let failed: Vec<&str> = parts
        .iter()
        .filter(|part| matches!(part.outcome, Outcome::Failed(_)))
        .map(|part| part.name.as_str())
        .collect();
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}

fn table(parts: &[Part]) -> String {
    let width = parts.iter().map(|part| part.name.len()).max().unwrap_or_default();
    let lines = parts.iter().map(|part| {
        let (word, note) = match &part.outcome {
            Outcome::Passed => ("ok", ""),
            Outcome::Skipped(reason) => ("skipped", reason.as_str()),
            Outcome::Failed(error) => ("FAILED", error.lines().next().unwrap_or_default()),
        };
        let line = format!("{:width$}  {:>6.1} s  {word:7}  {note}", part.name, part.took.as_secs_f64());
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_tests_leave_out_what_needs_a_database_or_the_binary() {
        let unit = Suite::Unit.selection();
        for package in STORES.iter().chain([&BLACK_BOX]) {
            assert!(unit.windows(2).any(|pair| pair == ["--exclude", package]), "{package}");
        }
        assert!(!Suite::Unit.needs_postgres() && !Suite::Unit.needs_binary());
        assert_eq!(Suite::All.selection(), ["--workspace"]);
    }

    #[test]
    fn the_summary_says_how_each_part_ended_and_fails_for_one_failure() {
        let part =
            |name: &str, outcome| Part { name: name.to_owned(), outcome, took: Duration::from_millis(1250) };
        let mut parts =
            vec![part("tests", Outcome::Passed), part("deny", Outcome::Skipped("not installed".into()))];
        assert_eq!(table(&parts), "tests     1.2 s  ok\ndeny      1.2 s  skipped  not installed");
        assert!(summarise(&parts).is_ok());
        parts.push(part("tidy", Outcome::Failed("two things\nmore".into())));
        assert!(table(&parts).ends_with("tidy      1.2 s  FAILED   two things"));
        assert_eq!(summarise(&parts).unwrap_err().to_string(), "failed: tidy");
    }

    #[test]
    fn an_error_in_one_part_does_not_end_the_run() {
        let parts = [Part::run("a", || bail!("broken")), Part::run("b", || Ok(()))];
        assert!(matches!(&parts[0].outcome, Outcome::Failed(error) if error == "broken"));
        assert!(matches!(parts[1].outcome, Outcome::Passed));
    }
}
