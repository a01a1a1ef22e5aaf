//! `agrajag demo`: a story of real failures against a server of its own.
//!
//! Starts a server in this process, on a free loopback port, with SQLite in a temporary directory; plays the story as a
//! client over gRPC; prints who saw what and why. Needs no network, no set-up and leaves nothing behind.

mod failures;
mod story;
mod teller;

use std::time::Instant;

use grpc_server::Config;
use grpc_server::config::StoreUrl;

use super::Context;
use crate::error::{Error, Exit};
use crate::local::Local;
use crate::output::Format;
use teller::Teller;

/// Flags of `demo`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {}

/// Plays the story. Exit code 1 if the server answers otherwise than the story has it.
pub(crate) async fn run(_: Args, context: &mut Context) -> Result<Exit, Error> {
    let begun = Instant::now();
    let directory = tempfile::Builder::new().prefix("agrajag-demo-").tempdir().map_err(|error| {
        Error::failed(
            format!("no temporary directory: {error}"),
            "point TMPDIR to a directory that may be written",
        )
    })?;
    let store = StoreUrl::Sqlite(directory.path().join("agrajag.db"));
    let local = Local::start(Config { store: Some(store), require_store: true, ..Config::default() }).await?;
    let remote = local.connect(context.global.timeout).await?;
    if context.out.format() == Format::Table {
        context.out.line(&format!(
            "A server of its own at http://{}, SQLite in a temporary directory; all of one project.",
            local.address()
        ))?;
    }
    let mut teller = Teller::new(&mut context.out);
    let played = story::play(&remote, &mut teller).await;
    drop(remote);
    local.stop().await?;
    played?;
    teller.end(begun.elapsed().as_secs_f64())?;
    Ok(Exit::Ok)
}
