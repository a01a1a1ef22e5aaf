//! `agrajag rules lint`: rules that parse and are hardly meant. The checks are the checker's (`checker::lint`).

use std::io;

use checker::lint::{Finding, Source, lint, shipped};
use checker::{LayerKind, Options, Severity};
use serde_json::json;

use crate::args::read;
use crate::args::rules::MAX_LAYER;
use crate::commands::Context;
use crate::error::{Error, Exit};
use crate::local::Packs;
use crate::output::{Format, Out, printable};
use crate::show::plural;

/// How it ends, for `--help`.
pub(super) const EXIT_CODES: &str = "Exit codes: 0 if nothing is found, 1 if something is, 2 if a file cannot be read as rules.\n\
                                     docs/rules.md explains every check, whose name ends a finding in brackets.";

/// Flags of `rules lint`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// A rule file; `-` is standard input. Several are laid one over the other.
    #[arg(value_name = "FILE", required_unless_present = "shipped")]
    files: Vec<String>,
    /// What the files are to be. A rule of a pack must give its reason in `note`.
    #[arg(long, value_name = "LAYER", default_value = "tenant")]
    layer: Layer,
    /// The rule packs that the files lie over, `all` that ship or `none`.
    #[arg(long, value_name = "PACKS", default_value = "all")]
    packs: Packs,
    /// Look at the packs of this program instead of files.
    #[arg(long, conflicts_with_all = ["files", "layer", "packs"])]
    shipped: bool,
    /// Leave out what is no error: what can be proved to be a mistake stays.
    #[arg(long)]
    errors_only: bool,
}

/// What a file is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Layer {
    /// A tenant's layer.
    Tenant,
    /// A project's layer.
    Project,
    /// A pack.
    Pack,
}

impl Layer {
    const fn kind(self) -> LayerKind {
        match self {
            Self::Tenant => LayerKind::Tenant,
            Self::Project => LayerKind::Project,
            Self::Pack => LayerKind::Pack,
        }
    }
}

/// Looks and shows. Exit code 1 if something is found, 2 if a file is no layer of rules.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let texts = args.files.iter().map(|it| read("", it, MAX_LAYER)).collect::<Result<Vec<_>, _>>()?;
    let of_file = |(name, text)| Source { kind: args.layer.kind(), name, text };
    let sources = match args.shipped {
        true => shipped(),
        false => {
            args.files.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).map(of_file).collect()
        }
    };
    let options = Options { packs: args.packs == Packs::All, ..Options::default() };
    let (mut findings, is_refused) = lint(&sources, options);
    let shadows: Vec<&str> = sources.iter().filter(|it| is_shadow(it)).map(|it| it.name).collect();
    if args.errors_only {
        findings.retain(|it| it.severity == Severity::Error);
    }
    render(&mut context.out, sources.len(), &findings, &shadows)?;
    Ok(match (is_refused, findings.is_empty()) {
        (true, _) => Exit::Findings(2),
        (false, false) => Exit::Findings(1),
        (false, true) => Exit::Ok,
    })
}

/// Whether the file says that it is in force for nobody: that is no mistake, and easily forgotten.
fn is_shadow(source: &Source<'_>) -> bool {
    checker::parse(source.kind, source.name, source.text).is_shadow
}

fn render(out: &mut Out, n_files: usize, findings: &[Finding], shadows: &[&str]) -> io::Result<()> {
    let n = |wanted: Severity| findings.iter().filter(|it| it.severity == wanted).count() as u64;
    let (n_errors, n_warnings) = (n(Severity::Error), n(Severity::Warning));
    match out.format() {
        Format::Json => {
            let answer = json!({"nErrors": n_errors, "nWarnings": n_warnings, "findings": findings, "shadows": shadows});
            out.line(&serde_json::to_string_pretty(&answer)?)?;
        }
        Format::Table => {
            findings.iter().try_for_each(|it| out.line(&printable(&it.to_string())))?;
            for it in shadows {
                out.line(&printable(&format!(
                    "{it}: `shadow: true`, in force for nobody; looked at as if it were in force"
                )))?;
            }
            out.line(&format!(
                "{}: {}, {}",
                plural(n_files as u64, "file"),
                plural(n_errors, "error"),
                plural(n_warnings, "warning")
            ))?;
        }
    }
    out.flush()
}
