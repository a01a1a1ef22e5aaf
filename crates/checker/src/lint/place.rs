//! Where in a text a field with a value stands. Rules know their own line; the lines between are searched.

use crate::parse::ParsedLayer;

/// The lines of a text, and where its rules begin.
pub(super) struct Lines<'t> {
    lines: Vec<&'t str>,
    starts: Vec<u32>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str, layer: &ParsedLayer) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let mut starts: Vec<u32> = layer.rules.iter().map(|it| it.line).filter(|it| *it > 0).collect();
        // A rule that was skipped begins somewhere too, and what is its own must not be looked for in it.
        let dash = starts.first().and_then(|it| Some(indent(lines.get(*it as usize - 1)?)));
        let is_start = |it: &str| dash == Some(indent(it)) && it.trim_start().starts_with("- ");
        starts.extend((1_u32..).zip(&lines).filter(|(_, it)| is_start(it)).map(|(at, _)| at));
        starts.sort_unstable();
        starts.dedup();
        Self { lines, starts }
    }

    /// The line of a field's value in the rule that begins at `line`; that line itself if it cannot be told.
    pub(super) fn in_rule(&self, line: u32, field: &str, value: &str) -> u32 {
        if line == 0 {
            return 0;
        }
        let end = self.starts.iter().find(|it| **it > line).copied().unwrap_or(u32::MAX);
        self.find(line, end, field, value).unwrap_or(line)
    }

    /// The line of a value in the part before the rules or behind them.
    pub(super) fn in_providers(&self, field: &str, value: &str) -> u32 {
        let from = (1_u32..).zip(&self.lines).find(|(_, it)| it.starts_with("providers:")).map(|(at, _)| at);
        let from = from.unwrap_or(1);
        let end = self.starts.iter().find(|it| **it > from).copied().unwrap_or(u32::MAX);
        // The provider's name stands in the path: its own lines are looked at, not those of the one before.
        let mut parts = field.split('.').skip(1);
        let name = parts.next().unwrap_or_default();
        let own = self.find(from, end, name, "").unwrap_or(from);
        self.find(own, end, field, value).unwrap_or(own)
    }

    /// The first line from the field's name on that holds the value; else that of the name.
    fn find(&self, from: u32, end: u32, field: &str, value: &str) -> Option<u32> {
        let name = field.rsplit('.').next().unwrap_or(field);
        let name = name.split('[').next().unwrap_or(name);
        let named = format!("{name}:");
        let within = || {
            let numbered = (1_u32..).zip(&self.lines);
            numbered.filter(move |(at, _)| (from..end).contains(at)).map(|(at, line)| (at, *line))
        };
        let holds = |line: &str| value.is_empty() || line.contains(value);
        let first = within().find(|(_, line)| line.contains(&named)).map(|(at, _)| at)?;
        // The name may stand several times in the branches of a rule: the value says which is meant.
        let exact = within().find(|(at, line)| *at >= first && line.contains(&named) && holds(line));
        let below = || within().find(|(at, line)| *at > first && holds(line));
        Some(exact.or_else(below).map_or(first, |(at, _)| at))
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}
