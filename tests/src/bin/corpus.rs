//! `cargo xtask corpus`: figures and snapshots of the repository's own labelled failures, written or compared.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use agrajag_tests::corpus::{Corpus, Way, block, page, snapshot};
use anyhow::{Context as _, Result, bail};
use clap::Parser;

/// Where the snapshots are, a file a family.
const SNAPSHOTS: &str = "crates/checker/tests/fixtures/packs";

/// Writes `docs/accuracy.md`, the README's table and the snapshots of the packs.
#[derive(Debug, Parser)]
#[command(max_term_width = 100)]
struct Args {
    /// Change nothing; fail if what is there differs.
    #[arg(long)]
    check: bool,
    /// Score these files of rows with the two simple classifiers instead, and print the figures.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "check")]
    baselines: Vec<PathBuf>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.baselines.is_empty() {
        return baselines(&args.baselines);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("this package is in a workspace")?;
    let corpus = Corpus::read(root)?;
    let mut files = vec![
        part(root, "docs/accuracy.md", &page::accuracy(&corpus))?,
        part(root, "README.md", &page::short(&corpus))?,
    ];
    let way = Way::shipped();
    for family in &corpus.families {
        files.push((root.join(SNAPSHOTS).join(format!("{}.txt", family.name)), snapshot(family, &way)));
    }
    let mut stale = Vec::new();
    for (path, wanted) in files {
        if fs::read_to_string(&path).is_ok_and(|it| it == wanted) {
            continue;
        }
        stale.push(path.strip_prefix(root).unwrap_or(&path).display().to_string());
        if !args.check {
            fs::write(&path, wanted).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
    }
    let kept: Vec<String> = corpus.families.iter().map(|it| format!("{}.txt", it.name)).collect();
    for entry in fs::read_dir(root.join(SNAPSHOTS)).context("cannot read the snapshots")? {
        let (path, name) =
            (entry.as_ref().map(fs::DirEntry::path), entry.as_ref().map(fs::DirEntry::file_name));
        if let (Ok(path), Ok(name)) = (path, name)
            && !kept.iter().any(|it| name.to_str() == Some(it))
        {
            stale.push(format!("{SNAPSHOTS}/{}", name.display()));
            if !args.check {
                fs::remove_file(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
            }
        }
    }
    if args.check && !stale.is_empty() {
        bail!("stale: {}; run `cargo xtask corpus` and look at what changed", stale.join(", "));
    }
    let rows = corpus.rows().len();
    let told =
        if stale.is_empty() { "nothing changed".to_owned() } else { format!("changed {}", stale.join(", ")) };
    writeln!(std::io::stdout(), "corpus: {rows} rows, {} rules; {told}", way.n_rules())?;
    Ok(())
}

/// A file with its generated part as it should be.
fn part(root: &Path, file: &str, part: &str) -> Result<(PathBuf, String)> {
    let path = root.join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{file}`"))?;
    Ok((path, block::replaced(&text, part).with_context(|| format!("`{file}`"))?))
}

fn baselines(files: &[PathBuf]) -> Result<()> {
    let mut rows = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        rows.extend(checker::corpus::parse_rows(&text).with_context(|| format!("in `{}`", file.display()))?);
    }
    for baseline in checker::corpus::Baseline::ALL {
        let score = checker::corpus::score_baseline(&rows, baseline);
        writeln!(
            std::io::stdout(),
            "{baseline:?}: coverage {:.4}, precision {:.4}, right {} of {} tellable, overclaimed {} of {} unclear",
            score.coverage,
            score.precision,
            score.right,
            score.tellable,
            score.unclear.overclaimed,
            score.unclear.rows
        )?;
    }
    Ok(())
}
