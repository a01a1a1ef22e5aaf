//! Tests of the search for rules that are never reached: what it finds, and what it costs.

use proptest::prelude::*;

use super::super::follows::AsWritten;
use super::super::{Options, RuleTable};
use super::*;
use crate::parse::{ParsedLayer, parse};
use crate::rule::Case;

fn layer_of(conditions: Vec<Vec<Condition>>) -> ParsedLayer {
    let yaml = "patterns:\n  - {id: a, match: {httpStatus: 418}, signature: s, classification: UNCLEAR, before: first}\n";
    let mut layer = parse(LayerKind::Tenant, "t.yaml", yaml);
    let rule = layer.rules.pop().unwrap();
    let rules = conditions.into_iter().enumerate();
    layer.rules = rules
        .map(|(at, it)| crate::rule::Rule { id: format!("r{at}"), conditions: it, ..rule.clone() })
        .collect();
    layer
}

/// What is found with so many steps, and how many it took.
fn found(table: &RuleTable, steps: usize) -> (Vec<Diagnostic>, usize) {
    let mut diagnostics = Vec::new();
    let left = report_within(steps, &table.entries, &table.lexicon.literals, false, &mut diagnostics);
    (diagnostics, steps - left)
}

fn texts(texts: Vec<String>) -> Condition {
    Condition::Contains(Needles::new(texts, Case::Words))
}

/// Each of a thousand rules has ninety texts in common with all others, and one of its own.
fn alike() -> RuleTable {
    let rule = |at: usize| {
        let shared = (0..90).map(|it| format!("shared text {}", (it + at) % 90));
        vec![texts(shared.chain([format!("own text {at}x")]).collect())]
    };
    RuleTable::build([&layer_of((0..1_000).map(rule).collect())], Options::BUNDLED)
}

#[test]
fn rules_are_told_apart_by_what_few_have() {
    let table = alike();
    assert_eq!(table.diagnostics(), []);
    let (_, steps) = found(&table, limits::MAX_COMPARISONS);
    assert!(steps < 3_000_000, "{steps} steps for half a million pairs of rules with 91 texts each");
}

#[test]
fn what_was_not_compared_is_said() {
    let (told, _) = found(&alike(), 10_000);
    let [it] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((it.severity, it.field.as_str(), &*it.source), (Severity::Warning, "patterns", "t.yaml"));
    assert!(it.message.contains("rules are not compared with all those before them"), "{it}");
    // What is found before is found.
    let one = texts(vec!["quota is used up".to_owned()]);
    let table = RuleTable::build([&layer_of(vec![vec![one.clone()], vec![one]])], Options::BUNDLED);
    assert_eq!(found(&table, 1_000).0.len(), 1);
}

#[test]
fn what_is_found_beyond_the_limit_is_counted() {
    let one = || vec![texts(vec!["quota is used up".to_owned()])];
    let table = RuleTable::build([&layer_of((0..70).map(|_| one()).collect())], Options::BUNDLED);
    let told = table.diagnostics();
    assert_eq!(told.len(), limits::MAX_DIAGNOSTICS + 1);
    assert!(told.last().unwrap().message.starts_with("5 further rules are never reached"), "{told:?}");
}

#[test]
fn the_packs_take_a_part_of_the_steps() {
    let (told, steps) = found(&RuleTable::build([], Options::default()), limits::MAX_COMPARISONS);
    assert_eq!(told, []);
    assert!(steps < limits::MAX_COMPARISONS / 5, "{steps}");
}

fn conditions() -> impl Strategy<Value = Vec<Condition>> {
    let needle = prop::sample::select(vec![
        "abc", "*abc", "abc*", "*abc*", "abc def", "xabc", "*xabc", "def", "ABC", "-abc", "abcabc", "bcab*",
    ]);
    let case = prop::sample::select(vec![Case::Words, Case::Exact]);
    let needles = (prop::collection::vec(needle, 1..4), case).prop_map(|(it, case)| {
        // Without regard to case there are no stars.
        let text = |it: &str| if case == Case::Exact { it.replace('*', "") } else { it.to_owned() };
        Condition::Contains(Needles::new(it.into_iter().map(text).collect(), case))
    });
    let code = prop::sample::select(vec!["a_b", "AB", "c_d", "e", "E"]);
    let codes = prop::collection::vec(code, 1..4)
        .prop_map(|it| Condition::Code(Codes::new(it.into_iter().map(str::to_owned).collect())));
    let status = (400_u16..404, 0_u16..3).prop_map(|(from, n)| Condition::HttpStatusRange(from, from + n));
    let plain = prop_oneof![needles, codes, status].boxed();
    let any =
        prop::collection::vec(prop::collection::vec(plain.clone(), 1..3), 1..3).prop_map(Condition::Any);
    prop::collection::vec(prop_oneof![4 => plain, 1 => any], 1..3)
}

proptest! {
    /// The numbers say what the texts say, and the search leaves no pair out.
    #[test]
    fn the_search_finds_what_comparing_all_finds(rules in prop::collection::vec(conditions(), 2..8)) {
        let table = RuleTable::build([&layer_of(rules)], Options::BUNDLED);
        let named: Vec<Option<String>> = table.diagnostics().iter().map(|it| it.rule_id.clone()).collect();
        let entries = table.entries();
        let is_hidden = |(at, it): &(usize, &Entry)| {
            entries
                .iter()
                .take(*at)
                .any(|wide| covers(&wide.rule.conditions, &it.rule.conditions, false, &mut AsWritten))
        };
        let tenants = entries.iter().enumerate().filter(|(_, it)| it.layer == LayerKind::Tenant);
        let hidden: Vec<Option<String>> = tenants.filter(is_hidden).map(|(_, it)| Some(it.rule.id.clone())).collect();
        prop_assert_eq!(named, hidden);
    }
}
