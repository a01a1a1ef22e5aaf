//! Rules for labelled failures: each says where it was seen and what it is, and a family has enough of them.
//!
//! Owns what makes a row evidence. Whether the rules answer it rightly is for tests.

use std::collections::BTreeMap;

use serde_json::Value;

use super::File;

/// Where the rows of the rule packs are, a file a family.
const ROWS: &str = "crates/checker/packs/tests/";

/// Where the rule packs are.
const PACKS: &str = "crates/checker/packs/";

/// A family with fewer rows says nothing about its rules.
const FEWEST: usize = 15;

/// Packs that belong to no family: the rows of all families test what a word or a status alone says.
const OF_NO_FAMILY: &[&str] = &["words", "status"];

/// The classes that a label may name.
const CLASSES: &[&str] = &[
    "TECHNICALLY_BROKEN",
    "USER_SPECIFIC_TECHNICAL",
    "USER_PERMISSION",
    "USER_INPUT",
    "INTERMITTENT",
    "UNCLEAR",
];

/// Rows with source and label, unique ids, at least fifteen of each family, and a family for each pack.
pub(super) fn rows(files: &[File]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.starts_with(ROWS) && file.extension() == "jsonl") {
        let lines = file.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let mut n = 0;
        for (at, line) in lines {
            n += 1;
            let place = format!("{}:{}", file.path, at + 1);
            let Ok(row) = serde_json::from_str::<Value>(line) else {
                complaints.push(format!("{place}: no JSON"));
                continue;
            };
            complaints.extend(faults(&row).map(|it| format!("{place}: {it}")));
            if let Some(id) = row["id"].as_str()
                && let Some(first) = ids.insert(id.to_owned(), place.clone())
            {
                complaints.push(format!("{place}: the id `{id}` is that of {first}"));
            }
        }
        if n < FEWEST {
            complaints.push(format!("{}: {n} rows, a family has at least {FEWEST}", file.path));
        }
    }
    complaints.extend(packs_without_rows(files));
    complaints
}

fn faults(row: &Value) -> impl Iterator<Item = String> {
    let id = row["id"].as_str().filter(|it| !it.is_empty());
    let source = row["source"].as_str().unwrap_or_default();
    let is_page = source.strip_prefix("https://").is_some_and(|it| it.contains('.') && !it.contains(' '));
    let is_provoked = source.strip_prefix("provoked: ").is_some_and(|it| !it.trim().is_empty());
    let label = &row["expected"];
    let label = label["classification"].as_str().or(label.as_str()).unwrap_or_default();
    let faults = [
        id.is_none().then(|| "lacks an id".to_owned()),
        (!is_page && !is_provoked).then(|| {
            format!("the source is `{source}`, wanted the https address of a page or `provoked: ` and what was run")
        }),
        (!CLASSES.contains(&label)).then(|| format!("the label is `{label}`, wanted a class")),
    ];
    faults.into_iter().flatten()
}

fn packs_without_rows(files: &[File]) -> impl Iterator<Item = String> {
    let name = |file: &File| {
        let name = file.path.strip_prefix(PACKS)?.strip_suffix(".yaml")?;
        (!name.contains('/') && !OF_NO_FAMILY.contains(&name)).then(|| name.to_owned())
    };
    files.iter().filter_map(name).filter_map(|name| {
        let rows = format!("{ROWS}{name}.jsonl");
        let has_rows = files.iter().any(|file| file.path == rows);
        (!has_rows).then(|| format!("{PACKS}{name}.yaml: a pack without rows, wanted `{rows}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn row(id: usize, source: &str, expected: &str) -> String {
        format!(r#"{{"id": "a-{id}", "source": "{source}", "expected": {expected}}}"#) + "\n"
    }

    fn good(ids: std::ops::Range<usize>) -> String {
        ids.map(|id| row(id, "https://example.org/1", r#"{"classification": "USER_INPUT"}"#)).collect()
    }

    #[test]
    fn a_family_of_rows_with_source_and_label_is_fine() {
        let text = good(0..14) + &row(14, "provoked: psql to a closed port", "\"UNCLEAR\"");
        let files = [
            file(&format!("{ROWS}a.jsonl"), &text),
            file(&format!("{PACKS}a.yaml"), ""),
            file(&format!("{PACKS}words.yaml"), ""),
            file("elsewhere/rows.jsonl", "{}\n"),
        ];
        assert_eq!(rows(&files), [""; 0]);
    }

    #[test]
    fn each_fault_of_a_row_is_told_with_its_place() {
        let path = format!("{ROWS}a.jsonl");
        let bad = row(20, "http://example.org/1", "\"USER_INPUT\"")
            + &row(21, "provoked: ", "\"USER_INPUT\"")
            + &row(22, "https://example.org/1", "{\"classification\": \"WORKING\"}")
            + &row(3, "https://example.org/1", "\"USER_INPUT\"")
            + "{\n{\"expected\": \"USER_INPUT\", \"source\": \"https://example.org\"}\n";
        let wanted = "wanted the https address of a page or `provoked: ` and what was run";
        assert_eq!(
            rows(&[file(&path, &(good(0..15) + &bad))]),
            [
                format!("{path}:16: the source is `http://example.org/1`, {wanted}"),
                format!("{path}:17: the source is `provoked: `, {wanted}"),
                format!("{path}:18: the label is `WORKING`, wanted a class"),
                format!("{path}:19: the id `a-3` is that of {path}:4"),
                format!("{path}:20: no JSON"),
                format!("{path}:21: lacks an id"),
            ]
        );
    }

    #[test]
    fn a_family_needs_fifteen_rows_and_a_pack_a_family() {
        let files = [
            file(&format!("{ROWS}a.jsonl"), &good(0..14)),
            file(&format!("{PACKS}a.yaml"), ""),
            file(&format!("{PACKS}b.yaml"), ""),
        ];
        assert_eq!(
            rows(&files),
            [
                format!("{ROWS}a.jsonl: 14 rows, a family has at least 15"),
                format!("{PACKS}b.yaml: a pack without rows, wanted `{ROWS}b.jsonl`"),
            ]
        );
    }
}
