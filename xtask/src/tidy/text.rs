//! Rules for any text: no path of one machine, links that lead somewhere, a changelog that is kept.

use std::collections::BTreeSet;

use super::File;

/// Folders that exist on a developer's machine only. Split, so that this list does not find itself.
const MACHINE_FOLDERS: &[&str] = &[concat!("/wo", "rk/"), concat!("/tmp/", "helper"), concat!("/fa", "rm/")];

/// No file names a folder of the machine that it was written on, nor the folder of this clone.
pub(super) fn machine_paths(files: &[File], root: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for (n, line) in file.text.lines().enumerate() {
            let folders = MACHINE_FOLDERS.iter().copied().chain([root]);
            if let Some(folder) = folders.into_iter().find(|folder| has_path(line, folder)) {
                complaints.push(format!("{}:{}: names the machine's `{folder}`", file.path, n + 1));
            }
        }
    }
    complaints
}

/// Whether an absolute path that begins with `folder` is in the line; `/a/b/c` does not begin with `/b/`.
fn has_path(line: &str, folder: &str) -> bool {
    // The root of the file system as the root of a clone says nothing.
    folder.len() > 1
        && line.match_indices(folder).any(|(at, _)| {
            let before = line.get(..at).and_then(|before| before.chars().next_back());
            before.is_none_or(|c| !c.is_alphanumeric() && !"_-.~*/}".contains(c))
        })
}

/// Relative links of Markdown files lead to files or folders of the repository.
pub(super) fn links(files: &[File]) -> Vec<String> {
    let mut known: BTreeSet<&str> = BTreeSet::from([""]);
    for file in files {
        known.extend(std::iter::successors(Some(file.path.as_str()), |path| Some(path.rsplit_once('/')?.0)));
    }
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.extension() == "md") {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, target) in link_targets(&file.text) {
            if !resolve(folder, target).is_some_and(|path| known.contains(path.as_str())) {
                complaints.push(format!("{}:{line}: the link `{target}` leads nowhere", file.path));
            }
        }
    }
    complaints
}

/// Relative link targets with their lines, without fragments; code is skipped.
fn link_targets(markdown: &str) -> Vec<(usize, &str)> {
    let mut targets = Vec::new();
    let mut in_fence = false;
    for (n, line) in markdown.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        // Even pieces stand outside of backticks.
        let inline = line.split('`').step_by(2).flat_map(|text| text.split("](").skip(1));
        let inline = inline.filter_map(|rest| rest.split([')', ' ']).next());
        let reference =
            line.starts_with('[').then(|| line.split_once("]: ")).flatten().map(|(_, target)| target.trim());
        for target in inline.chain(reference) {
            let target = target.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                targets.push((n + 1, target));
            }
        }
    }
    targets
}

/// The path from the root that a relative link means; `None` if it leads out of the repository.
fn resolve(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = if target.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().filter(|part| !part.is_empty())?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"))
}

/// The changelog has a place for the change at hand.
pub(super) fn changelog(files: &[File]) -> Vec<String> {
    let unreleased = |file: &File| {
        file.text.lines().any(|line| {
            line.strip_prefix("## ")
                .is_some_and(|title| title.trim_matches(['[', ']']).eq_ignore_ascii_case("unreleased"))
        })
    };
    match files.iter().find(|file| file.path == "CHANGELOG.md") {
        Some(changelog) if unreleased(changelog) => Vec::new(),
        Some(_) => vec!["CHANGELOG.md: lacks the section `## [Unreleased]`".to_owned()],
        None => vec!["CHANGELOG.md: missing".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn a_path_of_the_machine_is_found_with_its_line() {
        let own = MACHINE_FOLDERS[0];
        let files = [
            file("a.md", &format!("fine\nsee {own}main\n")),
            file("b.rs", "root is \"/clone/here\"\n"),
            file("c.jsonl", &format!("at build (/home/runner{own}app/index.js)\n")),
        ];
        assert_eq!(
            machine_paths(&files, "/clone/here"),
            [
                format!("a.md:2: names the machine's `{own}`"),
                "b.rs:1: names the machine's `/clone/here`".to_owned()
            ]
        );
    }

    #[test]
    fn links_to_files_and_folders_resolve_from_where_they_stand() {
        let readme = "[a](docs/a.md#part) [web](https://x.org/y) [top](#top) `[not](a-link.md)`\n```\n[code](no.md)\n```\n\
                      [ref]: docs\n";
        let a = "[up](../README.md) [side](b.md \"title\") [out](../../x.md) [gone](c.md)\n";
        let files = [file("README.md", readme), file("docs/a.md", a), file("docs/b.md", "")];
        assert_eq!(
            links(&files),
            [
                "docs/a.md:1: the link `../../x.md` leads nowhere",
                "docs/a.md:1: the link `c.md` leads nowhere",
            ]
        );
    }

    #[test]
    fn the_changelog_needs_its_unreleased_section() {
        assert_eq!(changelog(&[]).len(), 1);
        assert_eq!(changelog(&[file("CHANGELOG.md", "# Changelog\n## 0.1\n")]).len(), 1);
        assert_eq!(changelog(&[file("CHANGELOG.md", "## [Unreleased]\n")]), [""; 0]);
    }
}
