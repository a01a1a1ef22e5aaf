//! Plain text tables and lists of name and value that fit a given width.
//!
//! Pure: strings in, text out. Columns share the width; where it does not suffice, the widest give way and their cells
//! continue on the next line. Cells are cleaned of control characters.

use crate::output::printable;

/// Between two columns.
const GAP: usize = 2;

/// No column gets narrower, so that words stay readable.
const MIN_COLUMN: usize = 8;

/// Rows of cells, with or without a head.
#[derive(Debug, Default)]
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    indent: usize,
    kept: Vec<usize>,
}

impl Table {
    /// A table with a head.
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        Self {
            head: head.iter().map(|&it| it.to_owned()).collect(),
            rows: Vec::new(),
            indent: 0,
            kept: Vec::new(),
        }
    }

    /// Columns, from 0, that stay in one line as long as the others can give way: names that people copy.
    pub(crate) fn keep<const N: usize>(mut self, columns: [usize; N]) -> Self {
        self.kept = columns.to_vec();
        self
    }

    /// A list of name and value, indented by two.
    pub(crate) fn list() -> Self {
        Self { head: Vec::new(), rows: Vec::new(), indent: 2, kept: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) -> &mut Self {
        debug_assert!(self.head.is_empty() || self.head.len() == N, "a row has as many cells as the head");
        self.rows.push(cells.iter().map(|it| printable(it).trim().to_owned()).collect());
        self
    }

    /// Adds a row of a list unless the value is empty.
    pub(crate) fn entry(&mut self, name: &str, value: &str) -> &mut Self {
        if !value.is_empty() {
            self.row([name, value]);
        }
        self
    }

    /// Whether there is no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text, no line wider than `width`, without spaces at the ends of lines. `colour` paints state words.
    pub(crate) fn render(&self, width: usize, colour: bool) -> String {
        let all: Vec<&Vec<String>> =
            std::iter::once(&self.head).filter(|it| !it.is_empty()).chain(&self.rows).collect();
        let n_columns = all.iter().map(|it| it.len()).max().unwrap_or(0);
        if n_columns == 0 {
            return String::new();
        }
        let wanted: Vec<usize> = (0..n_columns)
            .map(|column| all.iter().filter_map(|it| it.get(column)).map(|it| len(it)).max().unwrap_or(0))
            .collect();
        let widths = fit(wanted, width.saturating_sub(self.indent + GAP * (n_columns - 1)), &self.kept);
        let mut text = String::new();
        for cells in all {
            let wrapped: Vec<Vec<String>> =
                cells.iter().zip(&widths).map(|(cell, &width)| wrap(cell, width)).collect();
            let height = wrapped.iter().map(Vec::len).max().unwrap_or(1).max(1);
            for line in 0..height {
                let start = text.len();
                text.push_str(&" ".repeat(self.indent));
                let mut pending = 0;
                for (lines, &width) in wrapped.iter().zip(&widths) {
                    let part = lines.get(line).map_or("", String::as_str);
                    if part.is_empty() {
                        pending += width + GAP;
                        continue;
                    }
                    text.push_str(&" ".repeat(pending));
                    text.push_str(&if colour { paint(part) } else { part.to_owned() });
                    pending = width - len(part) + GAP;
                }
                let end = text.trim_end_matches(' ').len();
                text.truncate(end.max(start));
                text.push('\n');
            }
        }
        text
    }
}

/// Characters, as a stand-in for columns of a terminal.
fn len(text: &str) -> usize {
    text.chars().count()
}

/// Takes from the widest column until the sum fits, from those that are kept last, but leaves each its minimum.
fn fit(mut widths: Vec<usize>, room: usize, kept: &[usize]) -> Vec<usize> {
    for spares in [kept, &[]] {
        while widths.iter().sum::<usize>() > room {
            let others = widths.iter_mut().enumerate().filter(|(at, _)| !spares.contains(at));
            let widest = others.map(|(_, it)| it).max_by_key(|it| **it);
            let Some(widest) = widest.filter(|it| **it > MIN_COLUMN) else { break };
            *widest -= 1;
        }
    }
    widths
}

/// The text in lines of at most `width` characters, broken between words where that is possible.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|it| !it.is_empty()) {
        if !line.is_empty() && len(&line) + 1 + len(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        let mut rest = word;
        while !rest.is_empty() {
            let room = width - len(&line);
            let (part, behind) = match rest.char_indices().nth(room) {
                None => (rest, ""),
                Some((end, _)) => rest.split_at(break_before(rest, end)),
            };
            line.push_str(part);
            rest = behind;
            if !rest.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Where a word that is too long is broken: behind the last mark between its parts, unless that leaves a short line.
fn break_before(word: &str, end: usize) -> usize {
    let head = word.get(..end).unwrap_or_default();
    let mark = head.rfind(['-', '_', '/', '.', ':']).map(|it| it + 1);
    mark.filter(|it| *it * 3 > end).unwrap_or(end)
}

/// State words in the colours that people expect.
fn paint(cell: &str) -> String {
    let colour = match cell {
        "DOWN" | "fail" | "ERROR" => "31",
        "DEGRADED" | "RETESTING" | "warn" | "WARNING" => "33",
        "OK" | "ok" => "32",
        _ => return cell.to_owned(),
    };
    format!("\u{1b}[{colour}m{cell}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_cell_continues_on_the_next_line_within_the_width() {
        let mut table = Table::new(["TOOL", "STATE", "WORDS"]);
        table.row([
            "jira_search",
            "DOWN",
            "currently unavailable for this user, expected back at 2026-11-30 14:05 UTC; do not call it, plan without it",
        ]);
        table.row(["wiki", "OK", ""]);
        let text = table.render(60, false);
        insta::assert_snapshot!(text, @r"
        TOOL         STATE  WORDS
        jira_search  DOWN   currently unavailable for this user,
                            expected back at 2026-11-30 14:05 UTC;
                            do not call it, plan without it
        wiki         OK
        ");
        assert!(text.lines().all(|it| len(it) <= 60 && !it.ends_with(' ')));
    }

    #[test]
    fn a_word_without_a_break_is_cut_and_nothing_is_lost() {
        let mut table = Table::list();
        let long = "x".repeat(150);
        table.entry("text", &long).entry("none", "");
        let text = table.render(40, false);
        assert!(text.lines().all(|it| len(it) <= 40), "{text}");
        assert_eq!(text.matches('x').count(), 150 + 1, "the x of `text` and every other");
        assert!(!text.contains("none"));
    }

    #[test]
    fn a_name_is_broken_between_its_parts_and_a_kept_one_not_at_all() {
        let mut table = Table::new(["RULE", "SIGNATURE", "NOTE"]);
        let (rule, signature) = ("dev-github-no-reason", "github-changed-meanwhile");
        table.row([rule, signature, "some words behind it"]);
        insta::assert_snapshot!(table.render(50, false), @r"
        RULE              SIGNATURE        NOTE
        dev-github-no-    github-changed-  some words
        reason            meanwhile        behind it
        ");
        let table = table.keep([0]);
        assert!(table.render(44, false).contains(rule), "{}", table.render(44, false));
        // There is no room for it at all.
        assert!(table.render(24, false).lines().all(|it| len(it) <= 30), "{}", table.render(24, false));
    }

    #[test]
    fn control_characters_of_a_cell_do_not_reach_the_terminal() {
        let mut table = Table::new(["A"]);
        table.row(["a\u{1b}[31mb\nc\u{202e}d"]);
        assert_eq!(table.render(40, false), "A\na?[31mb c?d\n");
    }

    #[test]
    fn colour_changes_no_alignment() {
        let mut table = Table::new(["STATE", "TOOL"]);
        table.row(["DOWN", "jira"]);
        let painted = table.render(40, true);
        assert_eq!(painted.replace("\u{1b}[31m", "").replace("\u{1b}[0m", ""), table.render(40, false));
        assert!(painted.contains("\u{1b}[31mDOWN\u{1b}[0m"));
    }
}
