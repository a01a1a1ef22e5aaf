//! The Markdown table of requirements: reading it, and changing states in place.

use std::collections::BTreeSet;
use std::fmt;

use super::Id;

/// The longest description, in words: the table is an index, not the specification.
const MAX_WORDS: usize = 12;

/// How far a requirement is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Built and tested.
    Done,
    /// Part of the work at hand.
    Open,
    /// Part of something that does not exist yet.
    Later,
    /// A non-goal, or nothing that a test can show.
    NotApplicable,
}

impl State {
    pub(super) const NAMES: &str = "done, open, later, n/a";

    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "done" => Some(Self::Done),
            "open" => Some(Self::Open),
            "later" => Some(Self::Later),
            "n/a" => Some(Self::NotApplicable),
            _ => None,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Done => "done",
            Self::Open => "open",
            Self::Later => "later",
            Self::NotApplicable => "n/a",
        })
    }
}

/// One line of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) id: Id,
    pub(super) what: String,
    pub(super) state: State,
    /// The crates or modules that answer for it.
    pub(super) place: String,
}

/// The rows of every table whose first cell is a number, and what is wrong with the others that look alike.
pub(super) fn parse(markdown: &str) -> (Vec<Row>, Vec<String>) {
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for (n, line) in markdown.lines().enumerate() {
        match row(line) {
            Some(Ok(row)) => rows.push(row),
            Some(Err(problem)) => problems.push(format!("line {}: {problem}", n + 1)),
            None => {}
        }
    }
    (rows, problems)
}

/// Changes the state of the wanted numbers; gives back the text and how many rows changed.
pub(super) fn set(markdown: &str, state: State, wanted: &BTreeSet<Id>) -> (String, usize) {
    let mut changed = 0;
    let lines = markdown.split_inclusive('\n').map(|line| match row(line.trim_end()) {
        Some(Ok(row)) if wanted.contains(&row.id) && row.state != state => {
            changed += 1;
            format!("| {} | {} | {state} | {} |\n", row.id, row.what, row.place)
        }
        _ => line.to_owned(),
    });
    let text = lines.collect();
    (text, changed)
}

fn row(line: &str) -> Option<Result<Row, String>> {
    let line = line.strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let id = Id::parse(cells.first()?)?;
    Some(checked(id, &cells))
}

fn checked(id: Id, cells: &[&str]) -> Result<Row, String> {
    let [_, what, state, place] = cells else {
        return Err(format!("{id} has {} cells instead of 4", cells.len()));
    };
    if !id.exists() {
        return Err(format!("no such requirement: {id}"));
    }
    let words = what.split_whitespace().count();
    if !(1..=MAX_WORDS).contains(&words) {
        return Err(format!("{id} is described in {words} words; 1 to {MAX_WORDS} are allowed"));
    }
    let state = State::parse(state)
        .ok_or_else(|| format!("{id} has the state `{state}`; known are {}", State::NAMES))?;
    Ok(Row { id, what: (*what).to_owned(), state, place: (*place).to_owned() })
}
