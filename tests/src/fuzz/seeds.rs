//! The inputs to start from.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::failure;
use super::target::Target;
use crate::corpus::Corpus;

/// The repository's own inputs for a target: every labelled failure, or every shipped rule as a file of its own.
///
/// # Errors
///
/// They cannot be read.
pub fn of(target: Target, root: &Path) -> Result<Vec<Vec<u8>>> {
    match target {
        Target::Classify => {
            Ok(Corpus::read(root)?.rows().iter().map(|row| failure::encode(row).into_bytes()).collect())
        }
        Target::Rules => {
            let mut seeds = Vec::new();
            for (name, text) in checker::packs::SOURCES {
                seeds.extend(rules(text));
                anyhow::ensure!(!seeds.is_empty(), "`{name}` holds no rule");
            }
            let path = root.join("docs/rules.md");
            let docs =
                fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
            // Every second piece is inside a fence.
            let fenced = docs.split("```").skip(1).step_by(2).filter_map(|it| it.strip_prefix("yaml\n"));
            seeds.extend(fenced.map(|it| it.as_bytes().to_vec()));
            Ok(seeds)
        }
    }
}

/// Each rule of a file alone, and what stands above them.
fn rules(text: &str) -> Vec<Vec<u8>> {
    let Some((head, patterns)) = text.split_once("patterns:\n") else { return Vec::new() };
    let mut seeds = vec![format!("{head}patterns: []\n").into_bytes()];
    let rules = patterns.split("\n  - id:").filter(|it| !it.trim().is_empty());
    seeds.extend(
        rules.map(|it| format!("patterns:\n  - id:{}\n", it.trim_start_matches("  - id:")).into_bytes()),
    );
    seeds
}
