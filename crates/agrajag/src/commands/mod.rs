//! One module a command: its flags, its request, its rendering.
//!
//! Each has `Args` (or `Command` where there are verbs below it) and `run`. What can be decided without a server is a
//! function of its own, so that it is tested without one.

pub(crate) mod check;
pub(crate) mod clear;
pub(crate) mod cooldown;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod documents;
pub(crate) mod event;
pub(crate) mod explain;
pub(crate) mod hold;
pub(crate) mod info;
pub(crate) mod jobs;
pub(crate) mod lookup;
pub(crate) mod mark;
pub(crate) mod rules;
pub(crate) mod serve;
pub(crate) mod success;
pub(crate) mod watch;

use std::io;

use agrajag_proto::v1;

use crate::cli::{Command, Global};
use crate::client::Remote;
use crate::error::{Error, Exit};
use crate::output::Out;
use crate::show;

/// What a command works with.
pub(crate) struct Context {
    /// The flags of every command.
    pub(crate) global: Global,
    /// Where the answer goes.
    pub(crate) out: Out,
}

impl Context {
    /// Connects to the server of the flags.
    pub(crate) async fn connect(&self) -> Result<Remote, Error> {
        Remote::connect(&self.global.server, self.global.timeout).await
    }
}

/// Runs one command.
pub(crate) async fn run(command: Command, context: &mut Context) -> Result<Exit, Error> {
    match command {
        Command::Serve(args) => serve::run(args, context).await,
        Command::Demo(args) => demo::run(args, context).await,
        Command::Check(args) => check::run(&args, context).await,
        Command::Success(args) => success::run(&args, context).await,
        Command::Event(args) => event::run(&args, context).await,
        Command::Lookup(args) => lookup::run(&args, context).await,
        Command::Watch(args) => watch::run(&args, context).await,
        Command::Explain(args) => explain::run(&args, context).await,
        Command::Rules(command) => rules::run(command, context).await,
        Command::Doctor(args) => doctor::run(&args, context).await,
        Command::Info(args) => info::run(&args, context).await,
        Command::Documents(command) => documents::run(command, context).await,
        Command::Mark(args) => mark::run(&args, context).await,
        Command::Hold(command) => hold::run(command, context).await,
        Command::Cooldown(command) => cooldown::run(command, context).await,
        Command::Clear(args) => clear::run(&args, context).await,
        Command::Jobs(command) => jobs::run(command, context).await,
    }
}

/// Who writes by hand, and why. Shared by the commands of people.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct WriterArgs {
    /// Who writes, for the history [default: admin].
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Note for people, at most 500 characters. Never shown to a model.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

impl WriterArgs {
    fn by(&self) -> String {
        self.by.clone().unwrap_or_default()
    }

    fn note(&self) -> String {
        self.note.clone().unwrap_or_default()
    }
}

/// Writes the lines about oddities under an answer.
fn write_warnings(out: &mut Out, warnings: &[v1::Warning], stale: bool) -> io::Result<()> {
    show::warnings(warnings, stale).iter().try_for_each(|it| out.line(it))
}

/// Writes a document after a write by hand.
fn write_document(
    out: &mut Out,
    document: Option<&v1::HealthDocument>,
    warnings: &[v1::Warning],
) -> io::Result<()> {
    for table in document.map(show::document).unwrap_or_default() {
        out.table(&table)?;
    }
    write_warnings(out, warnings, false)
}
