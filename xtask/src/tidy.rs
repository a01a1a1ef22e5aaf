//! `tidy`: house rules that no compiler knows.
//!
//! Owns reading the repository's files once and running every rule over them. Each rule is a pure function from files to
//! complaints, in a module of its own; all of them run, so that one run shows everything.

mod errors;
mod manifests;
mod rows;
mod rust;
mod snapshots;
mod text;

use std::fs;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// A file under version control.
#[derive(Debug)]
struct File {
    /// Path from the root, with `/` between folders.
    path: String,
    /// What it says; empty for a file that is not UTF-8.
    text: String,
}

impl File {
    fn named(&self, name: &str) -> bool {
        self.path == name || self.path.ends_with(&format!("/{name}"))
    }

    fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    fn is_generated(&self) -> bool {
        self.path.starts_with("proto/src/generated/")
    }
}

/// Runs every rule; fails with one line per complaint.
pub(crate) fn tidy() -> Result<()> {
    let files = read_files()?;
    let root = workspace::root();
    let mut complaints = Vec::new();
    complaints.extend(rust::module_docs(&files));
    complaints.extend(rust::lengths(&files));
    complaints.extend(rust::core_lints(&files));
    complaints.extend(manifests::inherited_lints(&files));
    complaints.extend(manifests::clippy_files(&files));
    complaints.extend(manifests::unused_dependencies(&files));
    complaints.extend(snapshots::orphans(&files));
    complaints.extend(snapshots::pending(&files));
    complaints.extend(text::machine_paths(&files, &root.to_string_lossy()));
    complaints.extend(text::links(&files));
    complaints.extend(text::changelog(&files));
    complaints.extend(errors::pages(&files));
    complaints.extend(rows::rows(&files));
    if complaints.is_empty() {
        println!("tidy: {} files", files.len());
        return Ok(());
    }
    bail!("{} complaints:\n  {}", complaints.len(), complaints.join("\n  "));
}

fn read_files() -> Result<Vec<File>> {
    let root = workspace::root();
    let read = |path: std::path::PathBuf| {
        let bytes =
            fs::read(root.join(&path)).with_context(|| format!("cannot read `{}`", path.display()))?;
        let text = String::from_utf8(bytes).unwrap_or_default();
        Ok(File { path: path.to_string_lossy().replace('\\', "/"), text })
    };
    workspace::files()?.into_iter().map(read).collect()
}

#[cfg(test)]
fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}
