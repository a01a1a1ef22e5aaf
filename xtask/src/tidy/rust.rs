//! Rules for Rust source: a charter on every module, short files, no panics in core crates.

use super::File;
use crate::workspace;

/// The longest a source file may be, tests included.
const MAX_LINES: usize = 500;

/// Lints that each core crate denies in its `lib.rs`: it must not panic whatever it is given.
const CORE_LINTS: &[&str] = &[
    "clippy::expect_used",
    "clippy::indexing_slicing",
    "clippy::panic",
    "clippy::string_slice",
    "clippy::todo",
    "clippy::unreachable",
    "clippy::unwrap_used",
];

fn sources(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.extension() == "rs" && !file.is_generated())
}

/// Every module begins by saying what it is for.
pub(super) fn module_docs(files: &[File]) -> Vec<String> {
    sources(files)
        .filter(|file| !file.text.trim_start().starts_with("//!"))
        .map(|file| {
            format!("{}: does not begin with a `//!` comment that says what the module owns", file.path)
        })
        .collect()
}

/// Files stay short enough to be read in one go.
pub(super) fn lengths(files: &[File]) -> Vec<String> {
    sources(files)
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(file, lines)| format!("{}: {lines} lines; split it, {MAX_LINES} are the limit", file.path))
        .collect()
}

/// Core crates deny every lint against panics. `[lints] workspace = true` leaves no place for them in the manifest.
pub(super) fn core_lints(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for row in workspace::starred() {
        let path = format!("{}/src/lib.rs", row.folder);
        let denied =
            files.iter().find(|file| file.path == path).map(|file| denied(&file.text)).unwrap_or_default();
        for lint in CORE_LINTS.iter().filter(|lint| !denied.contains(**lint)) {
            complaints.push(format!("{path}: core crates deny `{lint}`"));
        }
    }
    complaints
}

/// The text of every inner attribute that denies or forbids something.
fn denied(text: &str) -> String {
    let attributes =
        text.split("#![").skip(1).filter_map(|rest| rest.split_once(")]").map(|(attribute, _)| attribute));
    attributes
        .filter(|attribute| attribute.contains("deny(") || attribute.contains("forbid("))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn a_module_without_a_charter_is_named() {
        let files = [file("a/src/lib.rs", "//! Owns a.\n"), file("a/src/b.rs", "use c;\n//! late\n")];
        let complaints = module_docs(&files);
        assert!(complaints.len() == 1 && complaints[0].starts_with("a/src/b.rs: "), "{complaints:?}");
    }

    #[test]
    fn only_written_code_is_measured() {
        let long = "//! x\n".repeat(MAX_LINES + 1);
        let files = [
            file("a.rs", &long),
            file("fits.rs", &"//! x\n".repeat(MAX_LINES)),
            file("proto/src/generated/agrajag.v1.rs", &long),
            file("a.md", &long),
        ];
        assert_eq!(lengths(&files), ["a.rs: 501 lines; split it, 500 are the limit"]);
    }

    #[test]
    fn each_missing_lint_of_a_core_crate_is_named() {
        let all = format!("//! x\n#![deny({})]\n", CORE_LINTS.join(", "));
        let all_outside_tests =
            format!("//! x\n#![cfg_attr(not(test), deny({}))]\n", CORE_LINTS.join(",\n    "));
        let without_one = all.replace("clippy::panic, ", "");
        let files = [
            file("crates/health-model/src/lib.rs", &all),
            file("crates/checker/src/lib.rs", &all_outside_tests),
        ];
        assert_eq!(core_lints(&files), [""; 0]);
        let files =
            [file("crates/health-model/src/lib.rs", &without_one), file("crates/checker/src/lib.rs", &all)];
        assert_eq!(core_lints(&files), ["crates/health-model/src/lib.rs: core crates deny `clippy::panic`"]);
        let only_allowed = all.replace("deny(", "allow(");
        let files =
            [file("crates/health-model/src/lib.rs", &all), file("crates/checker/src/lib.rs", &only_allowed)];
        assert_eq!(core_lints(&files).len(), CORE_LINTS.len());
    }
}
