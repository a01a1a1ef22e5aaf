//! `cargo xtask bench classify`: nanoseconds for one failure, by number of rules and length of the body.

use std::io::Write as _;
use std::path::Path;

use agrajag_tests::classify::report::{Report, Row};
use agrajag_tests::classify::{bodies, measure, rules};
use agrajag_tests::corpus::Corpus;
use anyhow::{Context as _, Result};
use checker::{Options, RuleTable};
use clap::{Parser, ValueEnum};

/// Measures classification alone, without a server.
#[derive(Debug, Parser)]
#[command(max_term_width = 100)]
struct Args {
    /// Batches of each failure; the median counts.
    #[arg(long, value_name = "N", default_value_t = 7)]
    rounds: usize,
    /// Tables of so many rules, made up; the one with all packs is always measured.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [12, 100, 300, 1_000])]
    rules: Vec<usize>,
    /// Lengths of the body in KiB.
    #[arg(long, value_name = "KIB", value_delimiter = ',', default_values_t = [0, 4, 64])]
    bodies: Vec<usize>,
    /// For people or for programs.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("this package is in a workspace")?;
    let rows = Corpus::read(root)?.rows();
    let mut tables: Vec<(&'static str, RuleTable)> =
        args.rules.iter().map(|n| ("made-up", rules::table(*n))).collect();
    tables.push(("packs", RuleTable::bundled(Options::default())));
    let mut inputs = vec![(None, bodies::as_they_are(&rows))];
    inputs.extend(args.bodies.iter().map(|kib| (Some(kib << 10), bodies::of_length(&rows, kib << 10))));
    let mut report = Report::default();
    let mut out = std::io::stdout().lock();
    if args.output == Format::Table {
        writeln!(out, "{}", Report::head())?;
    }
    for (name, table) in &tables {
        for (bytes, cases) in &inputs {
            let row = Row::new(name, table.entries().len(), *bytes, &measure::all(table, cases, args.rounds));
            if args.output == Format::Table {
                writeln!(out, "{}", Report::line(&row))?;
            }
            report.push(row);
        }
    }
    match args.output {
        Format::Table => {
            writeln!(out, "1,000 rules take {} of 100 at 4 KiB", report.ratio_1000_to_100_at_4_kib)?;
        }
        Format::Json => writeln!(out, "{}", serde_json::to_string(&report)?)?,
    }
    Ok(())
}
