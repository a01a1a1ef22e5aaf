//! Compares `docs/configuration.md` with the settings: every name, default and range of the page holds.

use serde_json::Value;

use super::*;

const PAGE: &str = include_str!("../../../../docs/configuration.md");

/// A row of the table of settings.
struct Documented {
    path: String,
    default: String,
    range: String,
    variable: String,
    meaning: String,
}

fn documented() -> Vec<Documented> {
    let (_, table) = PAGE.split_once("## Settings").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let rows = table.lines().filter(|it| it.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [path, default, range, variable, meaning] = cells.as_slice() else { panic!("{row}") };
        let bare = |it: &str| it.trim_matches('`').to_owned();
        Documented {
            path: bare(path),
            default: bare(default),
            range: (*range).to_owned(),
            variable: bare(variable),
            meaning: (*meaning).to_owned(),
        }
    })
    .collect()
}

/// The texts in backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Whether the setting takes the value, given through its variable.
fn takes(row: &Documented, value: &str) -> bool {
    let env = [(row.variable.clone(), value.to_owned())].into_iter().collect();
    let loaded = Sources { env, ..Sources::default() }.load();
    loaded.is_ok_and(|it| it.warnings.is_empty() && it.origins.contains_key(&row.path))
}

fn leaves(tree: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    match tree {
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                leaves(field, &path, found);
            }
        }
        leaf => found.push((path.to_owned(), leaf.clone())),
    }
}

/// DESIGN §10: every setting is on the page with its default, and the page names no other.
#[test]
fn the_page_names_every_setting_with_its_default() {
    let mut settings = Vec::new();
    leaves(&serde_json::to_value(Config::default()).unwrap(), "", &mut settings);
    let mut told: Vec<(String, String)> = documented().into_iter().map(|it| (it.path, it.default)).collect();
    let mut held: Vec<(String, String)> = settings
        .into_iter()
        .map(|(path, value)| {
            let text = match value {
                Value::Null => "none".to_owned(),
                Value::String(text) => text,
                other => other.to_string(),
            };
            (path, text)
        })
        .collect();
    told.sort();
    held.sort();
    assert_eq!(told, held);
    assert!(documented().iter().all(|it| it.meaning.len() >= 20 && it.meaning.ends_with('.')));
}

/// DESIGN §10: both ends of a range are taken and what lies beyond is not; so is every word of a set.
#[test]
fn the_ranges_of_the_page_hold() {
    let mut n_ranges = 0;
    for row in documented() {
        let ends = quoted(&row.range);
        if row.range.contains("` to `") {
            n_ranges += 1;
            let (least, most) = (ends[0], ends[1]);
            assert!(takes(&row, least) && takes(&row, most), "{}: {}", row.path, row.range);
            let beyond = |end: &str, by: i64| match end.parse::<i64>() {
                Ok(number) => (number + by).to_string(),
                Err(_) => {
                    let span: Span = end.parse().unwrap();
                    format!("{}ms", i64::try_from(span.duration().as_millis()).unwrap() + by)
                }
            };
            assert!(!takes(&row, &beyond(least, -1)), "{}: below {least}", row.path);
            assert!(!takes(&row, &beyond(most, 1)), "{}: above {most}", row.path);
        }
        if let Some(word) = row.range.strip_suffix('`').filter(|it| !it.ends_with("to `")) {
            let words = if word.contains(" to ") { &ends[2..] } else { &ends[..] };
            for word in words {
                assert!(takes(&row, word), "{}: {word}", row.path);
            }
            assert!(words.is_empty() || !takes(&row, "no such word"), "{}", row.path);
        }
    }
    assert!(n_ranges >= 14, "{n_ranges}");
}

/// The complete file of the page is one, and the variables that are no settings are passed over in silence.
#[test]
fn the_example_of_the_page_loads() {
    let (_, text) = PAGE.split_once("```yaml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("agrajag.yaml");
    std::fs::write(&file, text).unwrap();
    let (_, variables) = PAGE.split_once("## Variables that are no settings").unwrap();
    let env = variables
        .lines()
        .filter(|it| it.starts_with("| `"))
        .map(|it| (quoted(it)[0].to_owned(), "x".to_owned()))
        .collect();
    let loaded = Sources { file: Some(file), env, ..Sources::default() }.load().unwrap();
    assert_eq!(loaded.warnings, [""; 0]);
    assert_eq!((loaded.config.limits.max_tools, loaded.config.history.limit), (2_000, 50));
}
