//! Which rules can match at all: the cost of classifying stays flat as rules grow.
//!
//! Of every rule one condition is its anchor: a necessary one whose facts can be looked up. A failure's facts name the
//! rules whose anchors hold; only those are tested, in the order of the table. A rule without an anchor is always tested.

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::names;
use crate::rule::Condition;
use crate::unwrap::Bits;

use super::Entry;

/// The most numbers that an anchor lists.
const MAX_NUMBERS: usize = 128;

/// A fact by which rules are found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Anchor {
    Code(u32),
    Literal(u32),
    Rpc(i64),
    Grpc(String),
    /// A class or a whole SQLSTATE.
    SqlState(String),
    Close(i64),
    Exit(i64),
    Type(String),
    Kind(u32),
    /// Of the innermost status.
    Status(i64),
    /// Of the reported one.
    HttpStatus(i64),
}

/// Rules by their anchors.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    n_rules: usize,
    always: Vec<u32>,
    by_code: Vec<Vec<u32>>,
    by_literal: Vec<Vec<u32>>,
    by_kind: Vec<Vec<u32>>,
    by_status: BTreeMap<i64, Vec<u32>>,
    by_http_status: BTreeMap<i64, Vec<u32>>,
    by_type: BTreeMap<String, Vec<u32>>,
    by_grpc: BTreeMap<String, Vec<u32>>,
    by_sql_state: BTreeMap<String, Vec<u32>>,
    other: BTreeMap<Anchor, Vec<u32>>,
}

impl Index {
    /// Indexes rules whose codes and literals have their numbers.
    pub(super) fn build(entries: &[Entry], n_codes: usize, n_literals: usize, literal_mode: bool) -> Self {
        let mut index = Self {
            n_rules: entries.len(),
            by_code: vec![Vec::new(); n_codes],
            by_literal: vec![Vec::new(); n_literals],
            by_kind: vec![Vec::new(); 32],
            ..Self::default()
        };
        for (rule, entry) in (0_u32..).zip(entries) {
            match best(entry.rule.conditions.iter(), literal_mode) {
                None => index.always.push(rule),
                Some((_, anchors)) => anchors.into_iter().for_each(|it| index.add(it, rule)),
            }
        }
        index
    }

    fn add(&mut self, anchor: Anchor, rule: u32) {
        let rules = match anchor {
            Anchor::Code(it) => self.by_code.get_mut(it as usize),
            Anchor::Literal(it) => self.by_literal.get_mut(it as usize),
            Anchor::Kind(it) => self.by_kind.get_mut(it as usize),
            Anchor::Status(it) => Some(self.by_status.entry(it).or_default()),
            Anchor::HttpStatus(it) => Some(self.by_http_status.entry(it).or_default()),
            Anchor::Type(it) => Some(self.by_type.entry(it).or_default()),
            Anchor::Grpc(it) => Some(self.by_grpc.entry(it).or_default()),
            Anchor::SqlState(it) => Some(self.by_sql_state.entry(it).or_default()),
            other => Some(self.other.entry(other).or_default()),
        };
        match rules {
            Some(rules) if rules.last() == Some(&rule) => {}
            Some(rules) => rules.push(rule),
            None => self.always.push(rule),
        }
    }

    /// The rules whose anchors hold.
    pub(super) fn candidates(&self, facts: &Facts<'_>) -> Bits {
        let mut rules = Bits::with_room(self.n_rules);
        let mut add = |found: Option<&Vec<u32>>| found.into_iter().flatten().for_each(|it| rules.insert(*it));
        add(Some(&self.always));
        facts.code_bits().iter().for_each(|it| add(self.by_code.get(it as usize)));
        facts.literal_bits().iter().for_each(|it| add(self.by_literal.get(it as usize)));
        if let Some(kind) = facts.kind() {
            add(self.by_kind.get(kind as usize));
        }
        if let Some(status) = facts.status() {
            add(self.by_status.get(&i64::from(status)));
        }
        if let Some(status) = facts.failure().http_status {
            add(self.by_http_status.get(&i64::from(status)));
        }
        facts.rpc_codes().iter().for_each(|it| add(self.other.get(&Anchor::Rpc(*it))));
        facts.grpc_statuses().iter().for_each(|it| add(self.by_grpc.get(*it)));
        for state in facts.sql_states() {
            add(self.by_sql_state.get(*state));
            add(self.by_sql_state.get(crate::limits::head(state, 2)));
        }
        facts.close_codes().iter().for_each(|it| add(self.other.get(&Anchor::Close(i64::from(*it)))));
        facts.exit_codes().iter().for_each(|it| add(self.other.get(&Anchor::Exit(*it))));
        facts.type_names().iter().for_each(|it| add(self.by_type.get(*it)));
        rules
    }
}

/// The best anchor of conditions that all must hold, with its rank: fewer failures have the lower ones.
fn best<'a>(
    conditions: impl Iterator<Item = &'a Condition>,
    literal_mode: bool,
) -> Option<(u8, Vec<Anchor>)> {
    conditions.filter_map(|it| anchors(it, literal_mode)).min_by_key(|(rank, _)| *rank)
}

fn anchors(condition: &Condition, literal_mode: bool) -> Option<(u8, Vec<Anchor>)> {
    let listed = |numbers: &crate::rule::Numbers, of: fn(i64) -> Anchor| {
        numbers.listed(MAX_NUMBERS).map(|it| it.into_iter().map(of).collect::<Vec<_>>())
    };
    Some(match condition {
        Condition::Code(codes) => (0, codes.ids.iter().copied().map(Anchor::Code).collect()),
        Condition::Contains(needles) if !needles.ids.is_empty() => {
            (1, needles.ids.iter().copied().map(Anchor::Literal).collect())
        }
        Condition::Regex(patterns) if patterns.iter().all(|it| !it.ids.is_empty()) => {
            (1, patterns.iter().flat_map(|it| &it.ids).copied().map(Anchor::Literal).collect())
        }
        Condition::JsonRpcCode(codes) => (2, listed(codes, Anchor::Rpc)?),
        Condition::GrpcStatus(names) => (2, names.iter().cloned().map(Anchor::Grpc).collect()),
        Condition::SqlState(states) => (2, states.iter().cloned().map(Anchor::SqlState).collect()),
        Condition::CloseCode(codes) => (2, listed(codes, Anchor::Close)?),
        Condition::ExitCode(codes) => (3, listed(codes, Anchor::Exit)?),
        Condition::ExceptionType(types) => {
            let names = types.names().iter().map(|it| Anchor::Type(names::last_segment(it).to_owned()));
            let kinds = types.kinds().iter().map(|it| Anchor::Kind(it as u32));
            let kinds: Vec<Anchor> = if literal_mode { Vec::new() } else { kinds.collect() };
            (4, names.chain(kinds).collect())
        }
        Condition::Kind(kinds) => (5, kinds.iter().map(|it| Anchor::Kind(it as u32)).collect()),
        Condition::Status(statuses) => (6, listed(statuses, Anchor::Status)?),
        Condition::HttpStatus(statuses) => (6, listed(statuses, Anchor::HttpStatus)?),
        Condition::HttpStatusRange(from, to) if usize::from(to - from) < MAX_NUMBERS => {
            (7, (*from..=*to).map(|it| Anchor::HttpStatus(i64::from(it))).collect())
        }
        Condition::Any(branches) => {
            let mut all = Vec::new();
            let mut worst = 0;
            for branch in branches {
                let (rank, anchors) = best(branch.iter(), literal_mode)?;
                worst = worst.max(rank);
                all.extend(anchors);
            }
            (worst, all)
        }
        _ => return None,
    })
}
