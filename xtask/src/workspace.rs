//! Where things are in this repository.
//!
//! Owns the root folder and the list of files under version control. Knows nothing of what a check does with them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// The repository's root: the parent of this package's folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The build folder. `CARGO_TARGET_DIR` wins over the default, as it does for cargo.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// Every file that is, or could be, committed: tracked files and untracked ones that no ignore rule covers.
///
/// Paths are relative to the root, sorted, and exist on disk (a deleted but tracked file is left out).
pub(crate) fn files() -> Result<Vec<PathBuf>> {
    let listing = process::output(
        Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
            .current_dir(root()),
    )
    .context("cannot list the repository's files with git")?;
    let mut files: Vec<PathBuf> =
        listing.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    files.retain(|file| root().join(file).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

/// The starred crates of the architecture table: no I/O, no clock.
pub(crate) fn starred() -> impl Iterator<Item = &'static crate::arch::Row> {
    crate::arch::TABLE.iter().filter(|row| row.starred)
}
