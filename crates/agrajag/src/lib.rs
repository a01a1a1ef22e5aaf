//! The one binary of Agrajag: server, client and workbench on one command line.
//!
//! Every command is a thin layer: flags become a message, the message goes to a server (or to a part of one in this
//! process), the answer becomes a table or JSON. What a failure means is decided elsewhere.
//!
//! Reading order:
//! - `cli`: the command line, its help and the table of exit codes.
//! - `args`: groups of flags that become messages.
//! - `commands`: one module a command.
//! - `client`, `local`: the way to a server; one of our own.
//! - `error`: what can go wrong, how it is told, the exit code.
//! - `output`, `table`, `show`, `json`, `wire`: how answers read.
//!
//! Invariants: nothing but `output` writes to standard output; an error never shows as a panic; a text from outside
//! reaches the terminal without control characters.

mod args;
mod cli;
mod client;
mod commands;
mod error;
mod json;
mod local;
mod output;
mod show;
mod table;
mod wire;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use commands::Context;
use error::{Error, Exit};
use output::{Format, Out};

/// Runs one command line, the program's name first, and gives the exit code of `agrajag --help`.
pub fn run(line: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let cli = match Cli::try_parse_from(line) {
        Ok(cli) => cli,
        // Help and version come this way too. Whoever closed the pipe does not want them.
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let format = cli.global.output;
    match execute(cli) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            let code = error.exit_code();
            if code != 0 {
                tell(&error, format);
            }
            ExitCode::from(code)
        }
    }
}

fn execute(cli: Cli) -> Result<Exit, Error> {
    let runtime = runtime(&cli.command).map_err(|error| {
        Error::failed(format!("cannot start the runtime: {error}"), "free memory or file handles")
    })?;
    let mut context = Context { out: Out::stdout(cli.global.output), global: cli.global };
    let result = runtime.block_on(commands::run(cli.command, &mut context));
    // A read from a terminal or a slow resolver must not hold the process back.
    runtime.shutdown_background();
    result
}

fn runtime(command: &Command) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = match command {
        Command::Serve(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    builder.enable_all().build()
}

/// Tells an error on standard error. If that is closed, there is nobody to tell.
fn tell(error: &Error, format: Format) {
    let text = match format {
        Format::Table => error.to_text(),
        Format::Json => error.to_json(),
    };
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
