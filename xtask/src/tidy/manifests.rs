//! Rules for manifests and `clippy.toml`: inherited lints, repeated bans, no dependency without a use.

use std::collections::BTreeSet;

use super::File;
use crate::workspace;

/// Dependencies that no code names because only their presence counts, as (package, dependency).
const USED_BY_PRESENCE: &[(&str, &str)] = &[];

fn packages(files: &[File]) -> impl Iterator<Item = &File> {
    files
        .iter()
        .filter(|file| file.named("Cargo.toml") && file.text.lines().any(|line| line.trim() == "[package]"))
}

/// Every package takes the workspace's lints.
pub(super) fn inherited_lints(files: &[File]) -> Vec<String> {
    packages(files)
        .filter(|manifest| !section(&manifest.text, "lints").any(|line| line == "workspace = true"))
        .map(|manifest| format!("{}: lacks `[lints]` with `workspace = true`", manifest.path))
        .collect()
}

/// A crate's `clippy.toml` replaces the root's, so it must repeat every line of it.
pub(super) fn clippy_files(files: &[File]) -> Vec<String> {
    let rules = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().map(|line| line.trim().trim_end_matches(',').to_owned());
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
    };
    let text_of = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let Some(root) = text_of("clippy.toml") else { return vec!["clippy.toml: missing".to_owned()] };
    let mut complaints = Vec::new();
    for row in workspace::starred() {
        let path = format!("{}/clippy.toml", row.folder);
        let Some(own) = text_of(&path) else {
            complaints.push(format!("{path}: missing; core crates ban I/O and clocks there"));
            continue;
        };
        for rule in rules(root).difference(&rules(own)) {
            complaints.push(format!("{path}: lacks the root's `{rule}`"));
        }
    }
    complaints
}

/// A dependency that no source file of its package names is dead weight.
pub(super) fn unused_dependencies(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for manifest in packages(files) {
        let folder = manifest.path.trim_end_matches("Cargo.toml");
        let mut code =
            files.iter().filter(|file| file.extension() == "rs" && file.path.starts_with(folder)).peekable();
        if code.peek().is_none() {
            continue;
        }
        let words: BTreeSet<&str> = code.flat_map(|file| words(&file.text)).collect();
        for dependency in dependencies(&manifest.text) {
            let excepted = USED_BY_PRESENCE.contains(&(folder.trim_end_matches('/'), dependency));
            if !excepted && !words.contains(dependency.replace('-', "_").as_str()) {
                complaints.push(format!("{}: nothing uses the dependency `{dependency}`", manifest.path));
            }
        }
    }
    complaints
}

/// The lines of one section, trimmed.
fn section<'a>(manifest: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let header = format!("[{name}]");
    let body = manifest.lines().map(str::trim).skip_while(move |line| *line != header).skip(1);
    body.take_while(|line| !line.starts_with('['))
}

/// The keys of every dependency section of a manifest.
fn dependencies(manifest: &str) -> Vec<&str> {
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    let lines = sections.into_iter().flat_map(|name| section(manifest, name));
    let keys =
        lines.filter(|line| !line.starts_with('#')).filter_map(|line| line.split(['.', '=', ' ']).next());
    keys.filter(|key| !key.is_empty()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"a\"\n[lints]\nworkspace = true\n[dependencies]\n# a note\nserde.workspace = true\nserde-json = \"1\"\n[dev-dependencies]\ntokio = { workspace = true }\n";

    #[test]
    fn a_package_without_the_workspace_lints_is_named() {
        let files = [
            file("Cargo.toml", "[workspace]\n"),
            file("a/Cargo.toml", MANIFEST),
            file("b/Cargo.toml", "[package]\n[lints]\n[dependencies]\nworkspace = true\n"),
        ];
        assert_eq!(inherited_lints(&files), ["b/Cargo.toml: lacks `[lints]` with `workspace = true`"]);
    }

    #[test]
    fn a_dependency_that_no_code_names_is_found() {
        let used = file("a/src/lib.rs", "use serde_json::Value; #[derive(serde::Serialize)] struct A;");
        let files = [file("a/Cargo.toml", MANIFEST), used, file("b/src/lib.rs", "tokio")];
        assert_eq!(unused_dependencies(&files), ["a/Cargo.toml: nothing uses the dependency `tokio`"]);
    }

    #[test]
    fn a_core_crate_repeats_the_root_bans() {
        let root = "# why\ndisallowed-methods = [\n    { path = \"a::now\", reason = \"x\" },\n]\n";
        let own = "disallowed-methods = [\n    { path = \"b\", reason = \"y\" },\n    { path = \"a::now\", reason = \"x\" }\n]\n";
        let files = [
            file("clippy.toml", root),
            file("crates/health-model/clippy.toml", own),
            file("crates/checker/clippy.toml", "disallowed-methods = [\n]\n"),
        ];
        assert_eq!(
            clippy_files(&files),
            ["crates/checker/clippy.toml: lacks the root's `{ path = \"a::now\", reason = \"x\" }`"]
        );
        assert_eq!(clippy_files(&files[..2]).len(), 1);
    }
}
