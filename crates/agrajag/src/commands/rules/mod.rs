//! `agrajag rules …`: rules looked at, checked, scored, and kept in a server's store.
//!
//! `validate`, `show` and `test` need no server; `show --effective`, `layers`, `put` and `delete` ask one.

mod layers;
mod score;
mod show;
mod validate;

use std::path::PathBuf;

use checker::{LayerKind, ParsedLayer};

use super::Context;
use crate::args::caller::DEFAULT_TENANT;
use crate::error::{Error, Exit};

/// One byte more than a layer may have, so that the parser says what is wrong with it.
const MAX_LAYER: u64 = checker::limits::MAX_FILE_BYTES as u64 + 1;

/// Where a layer is, below the folder of its tenant or project (R104).
const LAYER_FILE: &str = "_vance/agrajag/error-patterns.yaml";

/// Verbs of `rules`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Command {
    /// Check rule files: every error with file, line, column and field. Exit code 2 if there is one.
    Validate(validate::Args),
    /// List the rules in the order in which they are tried, with the layer each comes from.
    Show(show::Args),
    /// Score labelled failures with the rules: coverage, precision, overclaimed, harm.
    Test(score::Args),
    /// List the rule layers of a tenant, from files and from the store.
    Layers(layers::ListArgs),
    /// Put a rule layer into the store of a server.
    Put(layers::PutArgs),
    /// Delete a rule layer from the store of a server.
    Delete(layers::DeleteArgs),
}

/// Runs one verb.
pub(crate) async fn run(command: Command, context: &mut Context) -> Result<Exit, Error> {
    match command {
        Command::Validate(args) => validate::run(&args, context),
        Command::Show(args) => show::run(args, context).await,
        Command::Test(args) => score::run(&args, context),
        Command::Layers(args) => layers::list(args, context).await,
        Command::Put(args) => layers::put(args, context).await,
        Command::Delete(args) => layers::delete(args, context).await,
    }
}

/// Whose rules.
#[derive(Debug, Clone, clap::Args)]
struct OwnerArgs {
    /// The tenant.
    #[arg(long, value_name = "ID", default_value = DEFAULT_TENANT)]
    tenant: String,
    /// The project [default: the project `default`].
    #[arg(long, value_name = "ID")]
    project: Option<String>,
}

/// Which layers lie over the bundled rules.
#[derive(Debug, Clone, clap::Args)]
struct LayerArgs {
    /// The directory with the rule layers of tenants and projects: `DIR/TENANT[/PROJECT]/_vance/agrajag/error-patterns.yaml`.
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    #[command(flatten)]
    owner: OwnerArgs,
}

impl LayerArgs {
    /// The layers of tenant and project, parsed. A directory without a layer of theirs has none.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the directory or a layer in it cannot be read.
    fn read(&self) -> Result<Vec<ParsedLayer>, Error> {
        let Some(root) = &self.rules else { return Ok(Vec::new()) };
        if !root.is_dir() {
            return Err(Error::input(
                format!("`--rules {}` is no directory", root.display()),
                "name the directory that holds a folder for each tenant",
            ));
        }
        let tenant = root.join(&self.owner.tenant);
        let project = tenant.join(self.owner.project.as_deref().unwrap_or("default"));
        let mut layers = Vec::new();
        for (kind, folder) in [(LayerKind::Tenant, tenant), (LayerKind::Project, project)] {
            let file = folder.join(LAYER_FILE);
            if file.is_file() {
                layers.push(read_layer(kind, &file.display().to_string())?);
            }
        }
        Ok(layers)
    }
}

/// Reads and parses one layer.
fn read_layer(kind: LayerKind, file: &str) -> Result<ParsedLayer, Error> {
    let text = crate::args::read("FILE", file, MAX_LAYER)?;
    Ok(checker::parse(kind, file, &text))
}
