//! `cargo xtask`: the workspace's front door.
//!
//! One verb per job; `cargo xtask ci` runs the checks in order. This program depends on no crate of the workspace, so it
//! builds and speaks also while they do not compile.
#![expect(clippy::print_stdout, reason = "a command line program talks on standard output")]

mod arch;
mod check;
mod ci;
mod codegen;
mod licences;
mod pg;
mod process;
mod proto;
mod python;
mod requirements;
mod snap;
mod spawn;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "The development workflow of this repository"
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run every check in order and print one table of them.
    Ci,
    /// Formatting, lints, each core crate alone, documentation.
    Check,
    /// Compare the arrows between crates with the table in `xtask/src/arch.rs`.
    Arch,
    /// House rules that no compiler knows: module charters, file lengths, links, snapshots, error pages.
    Tidy,
    /// Regenerate the code of `proto/src/generated` from the `.proto` files.
    Codegen {
        /// Change nothing; fail if what is committed differs.
        #[arg(long)]
        check: bool,
    },
    /// Rules of the `.proto` files.
    #[command(subcommand)]
    Proto(ProtoVerb),
    /// Licences and sources of all dependencies, by the list in `deny.toml`; prints packages in several versions.
    Licences,
    /// Print each requirement with the tests that cite it; fail for one that is done and cited by none.
    Requirements {
        #[command(subcommand)]
        verb: Option<RequirementsVerb>,
    },
    /// Run tests with all they need: PostgreSQL, Python, the built binary.
    Test {
        /// Which tests.
        #[arg(value_enum, default_value_t = test::Suite::All)]
        suite: test::Suite,
        /// Passed to the test runner, for example a part of a test's name.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Pending snapshots of a test run.
    #[command(subcommand)]
    Snap(SnapVerb),
    /// Start or stop a PostgreSQL cluster that outlives the command.
    #[command(subcommand)]
    Pg(PgVerb),
    /// Bring the accuracy page and the snapshots of the packs up to date; with files, score those failures.
    Corpus {
        /// `--check` to compare only; `--baselines FILE…`; or files and options of `agrajag rules test`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run the benchmark of the working tree, in release; `classify` measures the rules alone.
    Bench {
        /// Passed on.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Mutate rule files (`rules`) or failures (`classify`) until time is up or something breaks, in release.
    Fuzz {
        /// Passed on: `--minutes N`, `--seed N`, the target.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

#[derive(Subcommand)]
enum ProtoVerb {
    /// Lint and check the format.
    Lint,
    /// Rewrite the files in the format.
    Format,
    /// Compare with the last tag.
    Breaking,
}

#[derive(Subcommand)]
enum RequirementsVerb {
    /// Change the state of requirements in `docs/requirements.md`.
    Set {
        /// One of done, open, later, n/a.
        state: String,
        /// Numbers and ranges: R47 C3 R9..R12.
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

#[derive(Subcommand)]
enum SnapVerb {
    /// Show what each pending snapshot would change.
    Review,
    /// Make all of them the expected ones.
    Accept,
}

#[derive(Subcommand)]
enum PgVerb {
    /// Start a cluster, or find the one that is up, and print its URL.
    Up {
        /// With fsync on, as kill tests and benchmarks want it.
        #[arg(long)]
        durable: bool,
    },
    /// Stop what `up` started.
    Down,
}

fn main() -> ExitCode {
    match run(Cli::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(verb: Verb) -> Result<()> {
    match verb {
        Verb::Ci => ci::ci(),
        Verb::Check => check::check(),
        Verb::Arch => arch::arch(),
        Verb::Tidy => tidy::tidy(),
        Verb::Codegen { check } => codegen::codegen(check),
        Verb::Proto(ProtoVerb::Lint) => proto::lint(),
        Verb::Proto(ProtoVerb::Format) => proto::format(),
        Verb::Proto(ProtoVerb::Breaking) => {
            if let test::Outcome::Skipped(reason) = proto::breaking()? {
                println!("skipped: {reason}");
            }
            Ok(())
        }
        Verb::Licences => licences::licences(),
        Verb::Requirements { verb: None } => requirements::report(true),
        Verb::Requirements { verb: Some(RequirementsVerb::Set { state, ids }) } => {
            requirements::set(&state, &ids)
        }
        Verb::Test { suite, args } => test::test(suite, &args),
        Verb::Snap(SnapVerb::Review) => snap::review(),
        Verb::Snap(SnapVerb::Accept) => snap::accept(),
        Verb::Pg(PgVerb::Up { durable }) => {
            pg::up(if durable { pg::Durability::Durable } else { pg::Durability::Fast })
        }
        Verb::Pg(PgVerb::Down) => pg::down(),
        Verb::Corpus { args } => spawn::corpus(&args),
        Verb::Bench { args } => spawn::bench(&args),
        Verb::Fuzz { args } => spawn::fuzz(&args),
    }
}
