//! `agrajag rules …`: rules looked at, checked, scored, and kept in a server's store.
//!
//! `validate`, `lint`, `schema`, `show` and `test` need no server; `show --effective`, `backtest`, `layers`, `put` and `delete` ask one.

mod backtest;
mod bars;
mod layers;
mod lint;
mod score;
mod show;
mod validate;

use checker::{LayerKind, ParsedLayer};

use super::Context;
use crate::args::caller::DEFAULT_TENANT;
use crate::args::rules::{DEFAULT_PROJECT, LAYER_FILE, MAX_LAYER, RulesPath, rules_path};
use crate::error::{Error, Exit};

/// Verbs of `rules`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Command {
    /// Check rule files: every error with file, line, column and field. Exit code 2 if there is one.
    Validate(validate::Args),
    /// Look for rules that can never match, are never reached, match too much or contradict themselves.
    #[command(after_help = lint::EXIT_CODES)]
    Lint(lint::Args),
    /// Print the JSON Schema of rule files, with which editors complete and check them.
    Schema,
    /// List the rules in the order in which they are tried, with the layer each comes from.
    Show(show::Args),
    /// Score labelled failures with the rules: coverage, precision, overclaimed, harm. Exit code 1 if a bar is missed.
    #[command(after_help = score::row_help())]
    Test(score::Args),
    /// Try a rule file on the failures that a server has on record: what would change.
    #[command(after_help = backtest::EXIT_CODES)]
    Backtest(backtest::Args),
    /// List the rule layers of a tenant, from files and from the store.
    #[command(visible_alias = "list")]
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
        Command::Lint(args) => lint::run(&args, context),
        Command::Schema => {
            context.out.text(checker::schema::TEXT)?;
            context.out.flush()?;
            Ok(Exit::Ok)
        }
        Command::Show(args) => show::run(args, context).await,
        Command::Test(args) => score::run(&args, context),
        Command::Backtest(args) => backtest::run(args, context).await,
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
    /// Rules to lay over the shipped ones: a file, which counts as the project's layer (`-` is standard input), or a
    /// directory with the layers of tenants and projects: `DIR/TENANT[/PROJECT]/_vance/agrajag/error-patterns.yaml`.
    #[arg(long, value_name = "FILE|DIR", value_parser = rules_path)]
    rules: Option<RulesPath>,
    #[command(flatten)]
    owner: OwnerArgs,
}

impl LayerArgs {
    /// The layers of tenant and project, parsed. A directory without a layer of theirs has none.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the file or a layer in the directory cannot be read.
    fn read(&self) -> Result<Vec<ParsedLayer>, Error> {
        let root = match &self.rules {
            None => return Ok(Vec::new()),
            Some(RulesPath::File(file)) => {
                let text = crate::args::read("--rules", file, MAX_LAYER)?;
                return Ok(vec![checker::parse(LayerKind::Project, file, &text).tried()]);
            }
            Some(RulesPath::Directory(root)) => root,
        };
        let tenant = root.join(&self.owner.tenant);
        let project = tenant.join(self.owner.project.as_deref().unwrap_or(DEFAULT_PROJECT));
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
    let text = crate::args::read("", file, MAX_LAYER)?;
    Ok(checker::parse(kind, file, &text))
}
