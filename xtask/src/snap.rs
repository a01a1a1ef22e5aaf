//! `snap review` and `snap accept`: what a test run left as pending snapshots.
//!
//! Owns finding, showing and accepting `.snap.new` files. Snapshots written inside the source need cargo-insta, because
//! accepting them rewrites code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{process, workspace};

/// Shows the difference that each pending snapshot would make; changes nothing.
pub(crate) fn review() -> Result<()> {
    if has_cargo_insta() {
        return process::run(&mut process::cargo(["insta", "review", "--workspace"]));
    }
    let pending = pending()?;
    for new in &pending.files {
        let old = accepted_path(new);
        println!("== {}", shown(&old));
        let old = if old.is_file() { old } else { PathBuf::from("/dev/null") };
        // `diff` exits with 1 for a difference, which is no failure here.
        let status =
            Command::new("diff").arg("-u").arg(old).arg(new).status().context("cannot start `diff`")?;
        if status.code().is_none_or(|code| code > 1) {
            bail!("`diff` failed: {status}");
        }
    }
    println!("{} pending snapshots; `cargo xtask snap accept` takes them all", pending.files.len());
    pending.report_inline()
}

/// Makes every pending snapshot the expected one.
pub(crate) fn accept() -> Result<()> {
    if has_cargo_insta() {
        return process::run(&mut process::cargo(["insta", "accept", "--workspace"]));
    }
    let pending = pending()?;
    for new in &pending.files {
        let old = accepted_path(new);
        let text = fs::read_to_string(new).with_context(|| format!("cannot read `{}`", new.display()))?;
        fs::write(&old, without_assertion_line(&text))
            .with_context(|| format!("cannot write `{}`", old.display()))?;
        fs::remove_file(new).with_context(|| format!("cannot remove `{}`", new.display()))?;
        println!("accepted {}", shown(&old));
    }
    println!("accepted {} snapshots", pending.files.len());
    pending.report_inline()
}

fn has_cargo_insta() -> bool {
    process::output(&mut process::cargo(["insta", "--version"])).is_ok()
}

struct Pending {
    files: Vec<PathBuf>,
    inline: Vec<PathBuf>,
}

impl Pending {
    fn report_inline(&self) -> Result<()> {
        if self.inline.is_empty() {
            return Ok(());
        }
        let files: Vec<String> = self.inline.iter().map(|file| shown(file)).collect();
        bail!("inline snapshots are pending and need cargo-insta or an edit by hand: {}", files.join(", "));
    }
}

/// Pending files are ignored by git, so the folders are walked.
fn pending() -> Result<Pending> {
    let mut pending = Pending { files: Vec::new(), inline: Vec::new() };
    let root = workspace::root();
    let mut folders = vec![root.join("crates"), root.join("proto"), root.join("tests"), root.join("xtask")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read `{}`", folder.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".snap.new") {
                pending.files.push(path);
            } else if name.ends_with(".pending-snap") {
                pending.inline.push(path);
            }
        }
    }
    pending.files.sort();
    pending.inline.sort();
    Ok(pending)
}

/// `a.snap.new` → `a.snap`.
fn accepted_path(new: &Path) -> PathBuf {
    new.with_extension("")
}

/// The line number of the assertion belongs to a pending snapshot only: in an accepted one it would change with every edit.
fn without_assertion_line(text: &str) -> String {
    let mut in_header = false;
    let mut fences = 0;
    let lines = text.split_inclusive('\n').filter(|line| {
        if line.trim_end() == "---" && fences < 2 {
            fences += 1;
            in_header = fences == 1;
        }
        !(in_header && line.starts_with("assertion_line:"))
    });
    lines.collect()
}

fn shown(path: &Path) -> String {
    path.strip_prefix(workspace::root()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accepted_file_stands_beside_the_pending_one() {
        assert_eq!(accepted_path(Path::new("a/gateway-502.snap.new")), Path::new("a/gateway-502.snap"));
    }

    #[test]
    fn only_the_header_loses_its_assertion_line() {
        let text = "---\nsource: a.rs\nassertion_line: 7\nexpression: x\n---\nassertion_line: 8\n---\nassertion_line: 9\n";
        assert_eq!(
            without_assertion_line(text),
            "---\nsource: a.rs\nexpression: x\n---\nassertion_line: 8\n---\nassertion_line: 9\n"
        );
    }
}
