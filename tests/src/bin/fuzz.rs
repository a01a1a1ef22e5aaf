//! `cargo xtask fuzz`: mutated rule files and failures, until time is up or something breaks.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agrajag_tests::fuzz::driver::{self, Summary, Until};
use agrajag_tests::fuzz::seeds;
use agrajag_tests::fuzz::target::Target;
use agrajag_tests::random::Random;
use anyhow::{Context as _, Result, bail};
use clap::Parser;

/// Where inputs are kept that once broke a target; a test replays them.
const REGRESSIONS: &str = "crates/checker/tests/fixtures/fuzz";

/// Fuzzes one target.
#[derive(Debug, Parser)]
#[command(max_term_width = 100)]
struct Args {
    /// What is fuzzed.
    #[arg(value_enum)]
    target: Target,
    /// For how long.
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    minutes: f64,
    /// End after so many inputs.
    #[arg(long, value_name = "N")]
    runs: Option<u64>,
    /// Repeat a run [default: AGRAJAG_TEST_SEED, else another each time].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("this package is in a workspace")?;
    let folder = root.join(REGRESSIONS).join(args.target.name());
    let mut inputs = seeds::of(args.target, root)?;
    inputs.extend(kept(&folder)?);
    let seed = args.seed.unwrap_or_else(|| Random::announced("fuzz").next_u64());
    say(&format!("{}: {} inputs to start from, seed {seed}", args.target.name(), inputs.len()))?;
    let time =
        Duration::try_from_secs_f64(args.minutes * 60.0).context("`--minutes` is no length of time")?;
    let until = Until { runs: args.runs, time: Some(time) };
    let place = folder.clone();
    let hung = move |input: &[u8]| match keep(&place, input) {
        Ok(path) => eprintln!("does not end: `{}`", path.display()),
        Err(error) => eprintln!("does not end, and cannot be kept: {error:#}"),
    };
    let watch = |summary: &Summary| eprintln!("{}", line(summary));
    let summary = driver::fuzz(args.target, inputs, seed, until, watch, hung);
    say(&line(&summary))?;
    if let Some(finding) = summary.finding {
        let path = keep(&folder, &finding.input)?;
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        bail!("{:?}\nkept as `{shown}`, which the test `fuzz` replays", finding.fault);
    }
    Ok(())
}

fn say(text: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

fn line(it: &Summary) -> String {
    let (took, bytes) = it.slowest;
    format!("{} inputs, {} kinds of answers; slowest {took:.1?} for {bytes} bytes", it.runs, it.kept)
}

fn kept(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    entries.map(|it| Ok(fs::read(it?.path())?)).collect()
}

/// Writes an input under a name that follows from what it holds.
fn keep(folder: &Path, input: &[u8]) -> Result<PathBuf> {
    let mut hash = DefaultHasher::new();
    input.hash(&mut hash);
    let path = folder.join(format!("{:016x}.bin", hash.finish()));
    fs::create_dir_all(folder)?;
    fs::write(&path, input).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(path)
}
