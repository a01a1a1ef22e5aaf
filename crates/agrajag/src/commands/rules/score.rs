//! `agrajag rules test`: labelled failures decided by the rules, and how often that is right.
//!
//! Terms and format of a row are the corpus's own (`checker::corpus`); here they are read from files and shown.

use std::io;

use checker::corpus::{self, OfCertainty, Score};
use checker::{Options, ParsedLayer, RuleTable, Settings};
use health_model::{Classification, Policy};

use super::LayerArgs;
use super::bars::Bars;
use crate::args::read;
use crate::commands::Context;
use crate::error::{Error, Exit};
use crate::local::Packs;
use crate::output::{Format, Out, aside, note, printable};
use crate::show::{self, plural};
use crate::table::Table;

/// The largest corpus file.
const MAX_FILE: u64 = 256 << 20;

/// Flags of `rules test`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// A file of labelled failures, one JSON object a line (see below); `-` is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// The rule packs in force: `all` that ship, or `none`, the bundled twelve rules alone.
    #[arg(long, value_name = "PACKS", default_value = "all")]
    packs: Packs,
    /// The specification's letter: no aliases of exception names, and an absent `healthAction` means none.
    #[arg(long)]
    literal: bool,
    /// Show this many of the failures that got a wrong class, and as many of those that got a wrong retry time.
    #[arg(long, value_name = "N", default_value_t = 0)]
    misses: usize,
    #[command(flatten)]
    bars: Bars,
    #[command(flatten)]
    layers: LayerArgs,
}

/// What a row is, for `--help`.
pub(super) fn row_help() -> String {
    format!(
        "A row of FILE, on one line:\n{}\n\n\
         `expected` may also be an object with `classification`, `alsoAcceptable` (a list of classes), `certainty` \
         (`certain`, `likely` or `contested`; default: likely) and `retryAfter` (PT20S). docs/rules.md names every field.\n\
         What is said besides (fields of `error`, `tool` and `expected` that are unknown, findings in `--rules`) goes to \
         standard error, with `--output json` into `warnings`.",
        corpus::EXAMPLE
    )
}

/// Scores and shows. Exit code 1 if a figure misses its bar.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let mut rows = Vec::new();
    let mut warnings = Vec::new();
    for file in &args.files {
        let text = read("", file, MAX_FILE)?;
        let remedy = || format!("write one such object a line: {}", corpus::EXAMPLE);
        let read = corpus::parse_rows(&text)
            .map_err(|error| Error::input(format!("`{file}`: {error}"), remedy()))?;
        if read.is_empty() {
            return Err(Error::input(format!("`{file}` holds no row"), remedy()));
        }
        rows.extend(read);
        warnings.extend(corpus::unknown_fields(&text).iter().map(|it| format!("warning: `{file}`: {it}")));
    }
    let layers = args.layers.read()?;
    let table = table(&layers, args);
    warnings.extend(layers.iter().flat_map(|it| &it.diagnostics).map(ToString::to_string));
    warnings.iter_mut().for_each(|it| *it = printable(it));
    let settings = if args.literal { Settings::literal() } else { Settings::default() };
    let score = corpus::score(&rows, &table, &Policy::default(), &settings);
    let missed = args.bars.missed(&score);
    match context.out.format() {
        Format::Json => {
            context.out.line(&answer(&score, &warnings)?)?;
            missed.iter().for_each(|it| note(it));
        }
        Format::Table => {
            warnings.iter().for_each(|it| aside(it));
            render(&mut context.out, &score, table.entries().len(), args.misses)?;
        }
    }
    if context.out.format() == Format::Table && !missed.is_empty() {
        context.out.line("")?;
        missed.iter().try_for_each(|it| context.out.line(it))?;
    }
    context.out.flush()?;
    Ok(if missed.is_empty() { Exit::Ok } else { Exit::Findings(1) })
}

/// The score as one object, and in it what is odd about the rows and the rules, a line each.
fn answer(score: &Score, warnings: &[String]) -> io::Result<String> {
    let mut answer = serde_json::to_value(score)?;
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("warnings".to_owned(), warnings.into());
    }
    Ok(serde_json::to_string_pretty(&answer)?)
}

fn table(layers: &[ParsedLayer], args: &Args) -> RuleTable {
    RuleTable::build(layers, Options { literal: args.literal, packs: args.packs == Packs::All })
}

fn render(out: &mut Out, score: &Score, n_rules: usize, n_misses: usize) -> io::Result<()> {
    out.line(&format!(
        "{} decided by {}",
        plural(score.rows as u64, "labelled failure"),
        plural(n_rules as u64, "rule")
    ))?;
    let of = |part: usize, whole: usize, what: &str| {
        format!("{} ({part} of {whole} {what})", percent(part, whole))
    };
    let certainty = |it: OfCertainty| of(it.right, it.rows, "right");
    let mut figures = Table::list();
    figures
        .entry("coverage", &of(score.answered, score.tellable, "tellable got a class"))
        .entry("precision", &of(score.right, score.answered, "answered are right"))
        .entry("certain", &certainty(score.certain))
        .entry("likely", &certainty(score.likely))
        .entry("contested", &certainty(score.contested))
        .entry("overclaimed", &of(score.unclear.overclaimed, score.unclear.rows, "unclear got a class"))
        .entry("harm", &harm(score))
        .entry("retry errors", &score.retry_errors.to_string());
    out.table(&figures)?;
    out.line("")?;
    out.table(&confusion(score))?;
    if !score.misses.is_empty() || !score.retry_misses.is_empty() {
        out.line("")?;
    }
    if n_misses > 0 && !score.misses.is_empty() {
        let mut misses = Table::new(["FAILURE", "LABEL", "GOT", "RULE", "SIGNATURE"]);
        for it in score.misses.iter().take(n_misses) {
            misses.row([&it.id, it.expected.as_str(), it.got.as_str(), &it.rule_id, &it.signature]);
        }
        out.table(&misses)?;
    }
    if n_misses > 0 && !score.retry_misses.is_empty() {
        let mut misses = Table::new(["FAILURE", "RETRY AFTER", "GOT", "RULE"]);
        for it in score.retry_misses.iter().take(n_misses) {
            misses.row([&it.id, &it.wanted, it.got.as_deref().unwrap_or("no time"), &it.rule_id]);
        }
        out.table(&misses)?;
    }
    let left = |n: usize| n.saturating_sub(n_misses);
    for (n, what) in
        [(left(score.misses.len()), "not right"), (left(score.retry_misses.len()), "with another retry time")]
    {
        if n > 0 {
            out.line(&format!("{n} {what}: `--misses N` shows N, `--output json` holds all"))?;
        }
    }
    Ok(())
}

/// Rows: the label. Columns: the class that the rules gave.
fn confusion(score: &Score) -> Table {
    let classes = Classification::ALL;
    let mut head = ["LABEL \\ GOT"; 8];
    for (cell, class) in head.iter_mut().skip(1).zip(classes) {
        *cell = show::short_class(*class);
    }
    let mut table = Table::new(head);
    for &label in classes {
        let counts: Vec<usize> = classes
            .iter()
            .map(|&got| score.confusion.get(&(label, got)).copied().unwrap_or_default())
            .collect();
        if counts.iter().all(|it| *it == 0) {
            continue;
        }
        let cells: Vec<String> =
            counts.iter().map(|it| if *it == 0 { ".".to_owned() } else { it.to_string() }).collect();
        let mut row: [&str; 8] = [label.as_str(); 8];
        for (cell, count) in row.iter_mut().skip(1).zip(&cells) {
            *cell = count;
        }
        table.row(row);
    }
    table
}

fn harm(score: &Score) -> String {
    match score.harmed.as_slice() {
        [] => score.harm.to_string(),
        ids => printable(&format!("{}: {}", score.harm, ids.join(", "))),
    }
}

fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
    let percent = part as f64 * 100.0 / whole as f64;
    format!("{percent:.1} %")
}
