//! Rules for snapshot files: none pending, none that no test reads.

use super::File;

/// Pending snapshots are ignored by git; one that is committed all the same is a mistake.
pub(super) fn pending(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|file| file.path.ends_with(".snap.new") || file.path.ends_with(".pending-snap"))
        .map(|file| {
            format!("{}: a pending snapshot; accept it (`cargo xtask snap accept`) or remove it", file.path)
        })
        .collect()
}

/// A snapshot's header names the test file and, for fixtures, the input; both must exist, and the test must name it.
pub(super) fn orphans(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    for snapshot in files.iter().filter(|file| file.extension() == "snap") {
        let header = |key: &str| {
            let header = snapshot.text.lines().skip(1).take_while(|line| *line != "---");
            let mut values = header.filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            values.next().map(|value| value.trim().trim_matches('"').to_owned())
        };
        let find = |path: &str| files.iter().find(|file| file.path == path);
        let Some(source) = header("source").as_deref().and_then(find) else {
            complaints.push(format!("{}: an orphan, its test file is gone", snapshot.path));
            continue;
        };
        match header("input_file") {
            Some(input) if find(&input).is_none() => {
                complaints.push(format!("{}: an orphan, its input `{input}` is gone", snapshot.path));
            }
            Some(_) => {}
            None if !source.text.contains(name(&snapshot.path)) => {
                complaints.push(format!("{}: an orphan, `{}` does not name it", snapshot.path, source.path));
            }
            None => {}
        }
    }
    complaints
}

/// The name that the test gave: the last part of the file's name, without the suffix for a setting (`@…`) or for the n-th
/// assertion of one function (`-2`).
fn name(path: &str) -> &str {
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".snap");
    let stem = stem.rsplit("__").next().unwrap_or(stem);
    let stem = stem.split('@').next().unwrap_or(stem);
    match stem.rsplit_once('-') {
        Some((name, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            name
        }
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn a_snapshot_that_its_test_names_is_kept() {
        let files = [
            file("a/src/lib.rs", "fn test_words() { assert_snapshot!(x); assert_snapshot!(\"named\", y); }"),
            file("a/src/snapshots/a__words.snap", "---\nsource: a/src/lib.rs\nexpression: x\n---\nbody\n"),
            file("a/src/snapshots/a__words-2.snap", "---\nsource: a/src/lib.rs\n---\n"),
            file("a/src/snapshots/a__named@setting.snap", "---\nsource: a/src/lib.rs\n---\n"),
            file("a/fixtures/one.yaml", ""),
            file("a/fixtures/one.snap", "---\nsource: a/src/lib.rs\ninput_file: a/fixtures/one.yaml\n---\n"),
        ];
        assert_eq!(orphans(&files), [""; 0]);
    }

    #[test]
    fn orphans_are_told_with_what_is_missing() {
        let files = [
            file("a/src/lib.rs", ""),
            file("a/x__gone.snap", "---\nsource: a/src/gone.rs\n---\n"),
            file("a/x__old.snap", "---\nsource: a/src/lib.rs\n---\n"),
            file("a/f.snap", "---\nsource: a/src/lib.rs\ninput_file: a/f.yaml\n---\n"),
        ];
        assert_eq!(
            orphans(&files),
            [
                "a/x__gone.snap: an orphan, its test file is gone",
                "a/x__old.snap: an orphan, `a/src/lib.rs` does not name it",
                "a/f.snap: an orphan, its input `a/f.yaml` is gone",
            ]
        );
        assert_eq!(pending(&[file("a.snap.new", ""), file("a.snap", "")]).len(), 1);
    }
}
