//! The search for citations: comments of test code.
//!
//! Owns what counts as test code, what counts as a comment, and which test a comment belongs to.

use super::{Citations, Id};

/// Crates that exist for tests only: all their code is test code.
const TEST_CRATES: &[&str] = &["crates/store-conformance/", "crates/test-support/", "tests/"];

/// Code that handles numbers of requirements as data.
const EXCEPTIONS: &[&str] = &["xtask/src/requirements"];

/// Whether the file may hold test code that cites.
pub(super) fn may_cite(path: &str) -> bool {
    let kind = ["rs", "py", "yaml"].iter().any(|extension| path.ends_with(&format!(".{extension}")));
    kind && !EXCEPTIONS.iter().any(|exception| path.starts_with(exception))
}

/// Adds the citations of one file.
pub(super) fn citations(path: &str, code: &str, into: &mut Citations) {
    let language = Language::of(path);
    let lines: Vec<&str> = code.lines().collect();
    let mut inside = if is_test_file(path) { Region::Whole } else { Region::Outside };
    let mut current: Option<&str> = None;
    for (n, line) in lines.iter().enumerate() {
        inside = inside.step(line, lines.get(n + 1..).unwrap_or_default());
        if inside == Region::Outside {
            continue;
        }
        current = language.function(line).or(current);
        let ids = ids(language.comment(line));
        if ids.is_empty() {
            continue;
        }
        let test = language.annotated(lines.get(n..).unwrap_or_default()).or(current);
        let name = test.map_or_else(|| path.to_owned(), |test| format!("{path} {test}"));
        for id in ids {
            into.entry(id).or_default().insert(name.clone());
        }
    }
}

fn is_test_file(path: &str) -> bool {
    path.contains("/tests/")
        || path.ends_with("/tests.rs")
        || TEST_CRATES.iter().any(|folder| path.starts_with(folder))
}

/// Where a line stands: in a file that is a test as a whole, inside a `#[cfg(test)]` module, or outside.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Region {
    Whole,
    Outside,
    /// The line that closes the module, found by its indentation: the code is formatted by rustfmt.
    Module(String),
}

impl Region {
    fn step(self, line: &str, rest: &[&str]) -> Self {
        match self {
            Self::Outside if line.trim() == "#[cfg(test)]" => {
                let item = rest
                    .iter()
                    .find(|line| !line.trim_start().starts_with("#["))
                    .copied()
                    .unwrap_or_default();
                if item.trim_start().starts_with("mod ") && item.ends_with('{') {
                    let indentation = item.len() - item.trim_start().len();
                    Self::Module(format!("{}}}", " ".repeat(indentation)))
                } else {
                    Self::Outside
                }
            }
            Self::Module(end) if line == end => Self::Outside,
            other => other,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    Python,
    Yaml,
}

impl Language {
    fn of(path: &str) -> Self {
        match path.rsplit_once('.') {
            Some((_, "py")) => Self::Python,
            Some((_, "yaml")) => Self::Yaml,
            _ => Self::Rust,
        }
    }

    /// The part of a line that is a comment. Python's docstrings have no mark, so there the whole line counts.
    fn comment(self, line: &str) -> &str {
        let mark = match self {
            Self::Rust => "//",
            Self::Python => return line,
            Self::Yaml => "#",
        };
        line.find(mark).and_then(|at| line.get(at..)).unwrap_or_default()
    }

    /// The name of the function that a line begins to define.
    fn function(self, line: &str) -> Option<&str> {
        let keyword = match self {
            Self::Rust => "fn ",
            Self::Python => "def ",
            Self::Yaml => return None,
        };
        let code = line.trim_start();
        if code.starts_with("//") || code.starts_with('#') {
            return None;
        }
        let at = code
            .find(keyword)
            .filter(|at| *at == 0 || code.get(..*at).is_some_and(|before| before.ends_with(' ')))?;
        let rest = code.get(at + keyword.len()..)?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
    }

    /// The function below a comment of its own: the first line that is no comment, attribute or blank, if it defines one.
    fn annotated<'a>(self, lines: &[&'a str]) -> Option<&'a str> {
        let mark = if self == Self::Rust { "//" } else { "#" };
        let first = lines.first()?.trim_start();
        if !first.starts_with(mark) || first.starts_with("//!") {
            return None;
        }
        let skipped = |line: &&&str| {
            let line = line.trim_start();
            line.is_empty() || line.starts_with(mark) || line.starts_with("#[") || line.starts_with('@')
        };
        self.function(lines.iter().find(|line| !skipped(line))?)
    }
}

/// The numbers in a comment; `R9…R12` stands for all between.
fn ids(comment: &str) -> Vec<Id> {
    let mut found = Vec::new();
    let mut before: Option<Id> = None;
    let mut rest = comment;
    while !rest.is_empty() {
        let gap = rest.len() - rest.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_').len();
        let (separator, word_on) = rest.split_at(gap);
        let end = word_on.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(word_on.len());
        let (word, after) = word_on.split_at(end);
        let id = Id::parse(word);
        match (before, id) {
            (Some(first), Some(last)) if separator == "…" => {
                found.extend(Id::range(first, last).into_iter().flatten())
            }
            (_, Some(id)) => found.push(id),
            _ => {}
        }
        before = id;
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(path: &str, code: &str) -> Vec<String> {
        let mut found = Citations::new();
        citations(path, code, &mut found);
        found
            .iter()
            .map(|(id, tests)| format!("{id}: {}", tests.iter().cloned().collect::<Vec<_>>().join("; ")))
            .collect()
    }

    #[test]
    fn words_that_only_look_alike_are_no_citation() {
        let named: Vec<String> = ids("// R47, (C19) R9…R11; §R5: not R1234, XR7, R_8, r6, CR3 or C.")
            .iter()
            .map(Id::to_string)
            .collect();
        assert_eq!(named, ["R47", "C19", "R9", "R9", "R10", "R11", "R5"]);
    }

    #[test]
    fn comments_above_inside_and_behind_belong_to_their_test() {
        let code = "\
//! Laws: R1.
/// R2: the narrowest wins.
#[test]
#[expect(clippy::panic, reason = \"x\")]
fn narrowest() {
    let a = \"R3\";
    // R4
    let b = 1; // R5
}

// R6
#[tokio::test]
async fn second() {}
";
        assert_eq!(
            scanned("crates/a/tests/laws.rs", code),
            [
                "R1: crates/a/tests/laws.rs",
                "R2: crates/a/tests/laws.rs narrowest",
                "R4: crates/a/tests/laws.rs narrowest",
                "R5: crates/a/tests/laws.rs narrowest",
                "R6: crates/a/tests/laws.rs second",
            ]
        );
    }

    #[test]
    fn in_a_source_file_only_the_test_module_counts() {
        let code = "\
// R1
fn a() {}
#[cfg(test)]
fn helper() {} // R2
#[cfg(test)]
#[expect(x, reason = \"y\")]
mod tests {
    #[test]
    fn b() {
        // R3
    }
}
// R4
";
        assert_eq!(scanned("crates/a/src/lib.rs", code), ["R3: crates/a/src/lib.rs b"]);
        assert_eq!(
            scanned("crates/a/src/b/tests.rs", "// R4\nfn c() {}\n"),
            ["R4: crates/a/src/b/tests.rs c"]
        );
        assert_eq!(scanned("crates/a/src/b.rs", "// R4\nfn c() {}\n"), [""; 0]);
    }

    #[test]
    fn python_and_fixtures_cite_as_well() {
        let code = "# R1\ndef test_a():\n    \"\"\"A client leaves (R81).\"\"\"\n";
        assert_eq!(
            scanned("tests/python/test_a.py", code),
            ["R1: tests/python/test_a.py test_a", "R81: tests/python/test_a.py test_a",]
        );
        assert_eq!(scanned("crates/a/tests/b.yaml", "# R3\nid: R4\n"), ["R3: crates/a/tests/b.yaml"]);
        assert!(
            may_cite("tests/python/test_a.py")
                && !may_cite("docs/a.md")
                && !may_cite("xtask/src/requirements.rs")
        );
    }
}
