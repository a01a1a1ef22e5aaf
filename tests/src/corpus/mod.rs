//! The repository's own labelled failures: what `docs/accuracy.md` and the snapshots of the packs are made of.
//!
//! Rows stand in `crates/checker/packs/tests/`, one file a family of tools, and in `crates/checker/tests/fixtures/corpus/`,
//! one file a runtime. This module owns where they are and what is made of them; what a figure means is the checker's.
//!
//! - [`page`]: the generated part of `docs/accuracy.md`, and the short table of the README.
//! - [`block`]: generated parts of files that people write otherwise.

pub mod block;
pub mod page;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use checker::corpus::{self, Got, Row};
use checker::{Options, RuleTable, Settings};
use health_model::Policy;

/// Rows of one kind of tools, or of one runtime.
#[derive(Debug)]
pub struct Family {
    /// The name of its file.
    pub name: String,
    /// Its rows, in order.
    pub rows: Vec<Row>,
}

/// All labelled rows of the repository that were really seen.
#[derive(Debug)]
pub struct Corpus {
    /// By name; the families of packs, then the runtimes as one, named `runtimes`.
    pub families: Vec<Family>,
}

/// How a failure is classified.
#[derive(Debug)]
pub struct Way {
    /// For people.
    pub name: &'static str,
    table: RuleTable,
    settings: Settings,
}

impl Way {
    /// The specification's twelve rules by the letter: names stand for themselves, nothing is read from texts.
    #[must_use]
    pub fn literal() -> Self {
        let options = Options { literal: true, packs: false };
        let table = RuleTable::bundled(options);
        Self { name: "the 12 rules, by the letter", table, settings: Settings::literal() }
    }

    /// The same rules, names and texts read by their meaning.
    #[must_use]
    pub fn by_meaning() -> Self {
        let table = RuleTable::bundled(Options::BUNDLED);
        Self { name: "the 12 rules, read by meaning", table, settings: Settings::default() }
    }

    /// What `agrajag` does without being told otherwise: the twelve rules under all packs.
    #[must_use]
    pub fn shipped() -> Self {
        let table = RuleTable::bundled(Options::default());
        Self { name: "Agrajag as shipped", table, settings: Settings::default() }
    }

    /// How many rules there are.
    #[must_use]
    pub fn n_rules(&self) -> usize {
        self.table.entries().len()
    }

    /// What a row gets.
    #[must_use]
    pub fn got(&self, row: &Row) -> Got {
        corpus::got(row, &self.table, &Policy::default(), &self.settings)
    }

    /// The figures over rows.
    #[must_use]
    pub fn score(&self, rows: &[Row]) -> corpus::Score {
        corpus::score(rows, &self.table, &Policy::default(), &self.settings)
    }
}

impl Corpus {
    /// Reads the rows of the repository at `root`. Rows of runtimes that were written as an example, and not seen, are left
    /// out: they would be counted as evidence.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or holds a line that is no row.
    pub fn read(root: &Path) -> Result<Self> {
        let mut families = folder(&root.join("crates/checker/packs/tests"))?;
        let mut runtimes = Family { name: "runtimes".to_owned(), rows: Vec::new() };
        for family in folder(&root.join("crates/checker/tests/fixtures/corpus"))? {
            runtimes.rows.extend(family.rows.into_iter().filter(was_seen));
        }
        families.push(runtimes);
        Ok(Self { families })
    }

    /// All rows, in the order of the families.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        self.families.iter().flat_map(|it| it.rows.iter().cloned()).collect()
    }
}

/// Whether a row has a source that can be looked at or run again.
#[must_use]
pub fn was_seen(row: &Row) -> bool {
    row.source.starts_with("https://") || row.source.starts_with("provoked: ")
}

fn folder(path: &Path) -> Result<Vec<Family>> {
    let shown = path.display();
    let entries = fs::read_dir(path).with_context(|| format!("cannot read `{shown}`"))?;
    let mut files: Vec<PathBuf> = entries.map(|it| Ok(it?.path())).collect::<Result<_>>()?;
    files.retain(|it| it.extension().is_some_and(|it| it == "jsonl"));
    files.sort();
    ensure!(!files.is_empty(), "`{shown}` holds no rows");
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let rows = corpus::parse_rows(&text).with_context(|| format!("in `{}`", file.display()))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Family { name, rows })
    };
    files.into_iter().map(read).collect()
}

/// The snapshot of a family: a line a row.
#[must_use]
pub fn snapshot(family: &Family, way: &Way) -> String {
    family.rows.iter().map(|row| corpus::line(row, &way.got(row)) + "\n").collect()
}
