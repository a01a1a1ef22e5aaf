//! `requirements`: which tests cite which requirement.
//!
//! Owns the table in `docs/requirements.md`, the search for citations in test code, and the comparison of both. A citation
//! is a number in a comment of test code; what it claims is for a reader to judge.

mod scan;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;
use table::{Row, State};

/// Where the table stands, from the root.
const TABLE: &str = "docs/requirements.md";

/// A series of numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Series {
    /// Statements of the specifications.
    R,
    /// Decisions where those contradict each other or leave a hole.
    C,
}

impl Series {
    /// The highest number.
    fn last(self) -> u16 {
        match self {
            Self::R => 353,
            Self::C => 34,
        }
    }
}

/// A requirement's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Id {
    series: Series,
    number: u16,
}

impl Id {
    /// Reads `R47`; gives none for a word of another shape. The number may be out of range.
    fn parse(word: &str) -> Option<Self> {
        let series = match word.chars().next()? {
            'R' => Series::R,
            'C' => Series::C,
            _ => return None,
        };
        let digits = word.get(1..)?;
        let shaped = (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        Some(Self { series, number: digits.parse().ok().filter(|_| shaped)? })
    }

    fn exists(self) -> bool {
        (1..=self.series.last()).contains(&self.number)
    }

    fn all() -> impl Iterator<Item = Self> {
        [Series::R, Series::C]
            .into_iter()
            .flat_map(|series| (1..=series.last()).map(move |number| Self { series, number }))
    }

    /// `R9` to `R12`, both included; none if the ends are of two series or in the wrong order.
    fn range(first: Self, last: Self) -> Option<impl Iterator<Item = Self>> {
        let sound = first.series == last.series && first.number <= last.number;
        sound.then(|| (first.number..=last.number).map(move |number| Self { series: first.series, number }))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{}", self.series, self.number)
    }
}

/// Each number with the tests that cite it.
type Citations = BTreeMap<Id, BTreeSet<String>>;

/// Compares the table with the tests; with `list` every number is printed.
pub(crate) fn report(list: bool) -> Result<()> {
    let root = workspace::root();
    let text = fs::read_to_string(root.join(TABLE)).with_context(|| format!("cannot read `{TABLE}`"))?;
    let (rows, mut problems) = table::parse(&text);
    let mut citations = Citations::new();
    for path in workspace::files()? {
        let name = path.to_string_lossy().into_owned();
        if scan::may_cite(&name) {
            let code =
                fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read `{name}`"))?;
            scan::citations(&name, &code, &mut citations);
        }
    }
    problems.extend(compare(&rows, &citations));
    if list {
        let lines: String = rows.iter().map(|row| line(row, &citations) + "\n").collect();
        match std::io::stdout().write_all(lines.as_bytes()) {
            // Whoever reads it has seen enough, as `head` does.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written.context("cannot print the list")?,
        }
    }
    println!("{}", counts(&rows, &citations));
    if problems.is_empty() { Ok(()) } else { bail!("table and tests disagree:\n  {}", problems.join("\n  ")) }
}

/// Sets the state of some numbers in the table; `R9…R12` (or `R9..R12`) stands for all between.
pub(crate) fn set(state: &str, ids: &[String]) -> Result<()> {
    let state = State::parse(state)
        .with_context(|| format!("no such state: `{state}`; known are {}", State::NAMES))?;
    let mut wanted = BTreeSet::new();
    for word in ids.iter().flat_map(|ids| ids.split([' ', ','])).filter(|word| !word.is_empty()) {
        let (first, last) = word.split_once("..").or_else(|| word.split_once('…')).unwrap_or((word, word));
        let range = Id::parse(first).zip(Id::parse(last)).and_then(|(first, last)| Id::range(first, last));
        let range =
            range.with_context(|| format!("`{word}` is no number like R47, nor a range like R9..R12"))?;
        wanted.extend(range);
    }
    ensure!(!wanted.is_empty(), "no numbers given");
    let path = workspace::root().join(TABLE);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{TABLE}`"))?;
    let (text, changed) = table::set(&text, state, &wanted);
    fs::write(&path, text).with_context(|| format!("cannot write `{TABLE}`"))?;
    println!("{changed} of {} numbers changed to `{state}`", wanted.len());
    Ok(())
}

fn line(row: &Row, citations: &Citations) -> String {
    let tests: Vec<&str> = citations.get(&row.id).into_iter().flatten().map(String::as_str).collect();
    let tests = if tests.is_empty() { "–".to_owned() } else { tests.join("; ") };
    format!("{:5} {:5} {} [{}]: {tests}", row.id.to_string(), row.state.to_string(), row.what, row.place)
}

fn counts(rows: &[Row], citations: &Citations) -> String {
    let of = |state| rows.iter().filter(|row| row.state == state).count();
    let tests: BTreeSet<&String> = citations.values().flatten().collect();
    format!(
        "requirements: {} done, {} open, {} later, {} n/a; {} cited by {} tests",
        of(State::Done),
        of(State::Open),
        of(State::Later),
        of(State::NotApplicable),
        citations.len(),
        tests.len()
    )
}

/// What is wrong between the table and the tests.
fn compare(rows: &[Row], citations: &Citations) -> Vec<String> {
    let mut problems = Vec::new();
    let listed: BTreeSet<Id> = rows.iter().map(|row| row.id).collect();
    if listed.len() < rows.len() {
        let twice =
            rows.iter().map(|row| row.id).filter(|id| rows.iter().filter(|row| row.id == *id).count() > 1);
        problems.push(format!("listed more than once: {}", joined(twice.collect::<BTreeSet<_>>())));
    }
    let absent: Vec<Id> = Id::all().filter(|id| !listed.contains(id)).collect();
    if !absent.is_empty() {
        problems.push(format!("not listed: {}", joined(absent)));
    }
    let uncited: Vec<Id> = rows
        .iter()
        .filter(|row| row.state == State::Done && !citations.contains_key(&row.id))
        .map(|row| row.id)
        .collect();
    if !uncited.is_empty() {
        problems.push(format!("done, but no test cites them: {}", joined(uncited)));
    }
    for (id, tests) in citations.iter().filter(|(id, _)| !id.exists()) {
        let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
        problems.push(format!("no such requirement: {id}, cited by {}", tests.join("; ")));
    }
    problems
}

fn joined(ids: impl IntoIterator<Item = Id>) -> String {
    ids.into_iter().map(|id| id.to_string()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
