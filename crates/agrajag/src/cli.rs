//! The command line: every command and the flags that all of them share.
//!
//! Owns names, help and the table of exit codes; what a command does stands in its own module.

use std::time::Duration;

use crate::args::time;
use crate::commands;
use crate::output::Format;

/// The exit codes, for `--help`.
const EXIT_CODES: &str = "\
Exit codes:
  0   fine
  1   the server refused the operation, or something on this machine failed
  2   usage or bad input: an unknown flag, an unreadable file, rules with errors, a field that the
      server does not accept
  3   no server answers at --server, or not within --timeout
  10  lookup: a tool is degraded and none is down
  11  lookup: a tool is down

With `--output json` the answer is one JSON object on standard output (`watch`: one a line), by the JSON
mapping of the messages in proto/agrajag/v1; an error is one JSON object on standard error.

First steps:
  agrajag demo
  agrajag serve
  agrajag check --tool jira_search --user alice --exception-type ConnectionRefusedError
  agrajag lookup --user alice jira_search wiki";

/// Says what a failed tool call means and which tools are usable.
#[derive(Debug, clap::Parser)]
#[command(name = "agrajag", version, after_help = EXIT_CODES, term_width = 100)]
pub(crate) struct Cli {
    /// Flags of every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Every command")]
pub(crate) struct Global {
    /// The server to ask.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "AGRAJAG_SERVER",
        hide_env_values = true,
        default_value = "http://127.0.0.1:4242"
    )]
    pub(crate) server: String,
    /// How to answer: for people or for programs.
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        env = "AGRAJAG_OUTPUT",
        hide_env_values = true,
        default_value = "table"
    )]
    pub(crate) output: Format,
    /// How long a call to the server may take.
    #[arg(long, global = true, value_name = "SPAN", default_value = "10s", value_parser = time::span)]
    pub(crate) timeout: Duration,
}

/// What to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run the server. Without flags: SQLite in the user's data directory, 127.0.0.1:4242.
    Serve(commands::serve::Args),
    /// Play a story of real failures against a server of its own, in under a minute.
    Demo(commands::demo::Args),
    /// Report one failed call and get the verdict.
    Check(Box<commands::check::Args>),
    /// Report successful calls; a success that finds trouble recorded clears it.
    Success(commands::success::Args),
    /// Report that a connection opened or closed, or that a process was killed.
    Event(commands::event::Args),
    /// Ask which tools are usable, and for the words that the model is told.
    #[command(
        after_help = "Exit codes: 0 usable, 10 a tool is degraded and none is down, 11 a tool is down; \
                            others as `agrajag --help` says."
    )]
    Lookup(commands::lookup::Args),
    /// Follow the state of tools: a snapshot, then every change.
    Watch(commands::watch::Args),
    /// Say what would match a failed call and why; writes nothing.
    Explain(Box<commands::explain::Args>),
    /// Look at rules, check them and score them.
    #[command(subcommand)]
    Rules(commands::rules::Command),
    /// Check configuration, store, rules, ports and server, with a remedy for what is wrong.
    Doctor(commands::doctor::Args),
    /// Ask the server what it is: version, store, limits, modes.
    Info(commands::info::Args),
    /// Look at health documents, or delete them.
    #[command(subcommand)]
    Documents(commands::documents::Command),
    /// Mark a tool as ok, degraded or down by hand.
    Mark(commands::mark::Args),
    /// Set or release a hold: a status that wins over health until it ends.
    #[command(subcommand)]
    Hold(commands::hold::Command),
    /// Set or clear a cooldown.
    #[command(subcommand)]
    Cooldown(commands::cooldown::Command),
    /// Clear a whole entry: status, diagnosis, history and cooldowns. A hold stays.
    Clear(commands::clear::Args),
    /// Look at diagnosis jobs.
    #[command(subcommand)]
    Jobs(commands::jobs::Command),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// clap's own check of the whole tree: no two flags of one name, no default that does not parse.
    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_names_every_exit_code() {
        let help = Cli::command().render_long_help().to_string();
        for code in [0, 1, 2, 3, 10, 11] {
            assert!(
                help.lines().any(|it| it.starts_with(&format!("  {code} "))),
                "{code} is missing:\n{help}"
            );
        }
        assert!(help.lines().all(|it| it.chars().count() <= 100), "{help}");
    }
}
