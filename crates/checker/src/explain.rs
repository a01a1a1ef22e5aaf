//! For every rule: matched, or the first condition that did not, with what was seen there (DESIGN §2.8).
//!
//! A dry run: nothing is decided and nothing is written.

use health_model::verdict::Evidence;
use health_model::{Classification, Failure, NotFoundOf, Tool};

use crate::facts::Facts;
use crate::rule::{BodyShape, Condition, LayerKind, Rule, shown};
use crate::table::{Entry, RuleTable};

/// How a table reads one failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The canonical kind and its source, such as `dns (code `ENOTFOUND`)`; `None` if nothing tells it.
    pub kind: Option<String>,
    /// Every rule, in the order of the table. The first that matched decides.
    pub rules: Vec<RuleExplanation>,
}

/// How one rule reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleExplanation {
    /// The rule.
    pub rule_id: String,
    /// Its layer.
    pub layer: LayerKind,
    /// The layer's name for people.
    pub source: String,
    /// The line in the layer; 0 = not known.
    pub line: u32,
    /// What it would say.
    pub signature: String,
    /// What it would say.
    pub classification: Classification,
    /// Whether it matched.
    pub outcome: Outcome,
    /// Whether it is the one that decides.
    pub decides: bool,
}

/// Whether a rule matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All conditions held.
    Matched {
        /// Why, a field each; empty for a rule that matches everything.
        evidence: Vec<Evidence>,
    },
    /// A condition did not hold.
    Failed {
        /// The first one, as written in `match`.
        field: &'static str,
        /// What it looks for, cut.
        wanted: String,
        /// What is there: from outside, cut and masked.
        seen: String,
        /// Those that held and say something of this failure: the rules that nearly matched have some. What holds for
        /// nearly every failure (a `not`, a `target`, what a reporter has to deny) is left out.
        held: Vec<Evidence>,
    },
}

/// Explains a failure under a table.
#[must_use]
pub fn explain(table: &RuleTable, tool: &Tool, failure: &Failure) -> Explanation {
    let facts = table.facts(tool, failure);
    let mut decided = false;
    let rules = table.entries().iter().map(|Entry { rule, layer, source, .. }| {
        let outcome = outcome(rule, &facts);
        let decides = !decided && matches!(outcome, Outcome::Matched { .. });
        decided |= decides;
        RuleExplanation {
            rule_id: rule.id.clone(),
            layer: *layer,
            source: source.to_string(),
            line: rule.line,
            signature: rule.signature.clone(),
            classification: rule.classification,
            outcome,
            decides,
        }
    });
    let rules = rules.collect();
    Explanation { kind: facts.derived().map(ToString::to_string), rules }
}

fn outcome(rule: &Rule, facts: &Facts<'_>) -> Outcome {
    match rule.conditions.iter().find(|it| !it.holds(facts)) {
        None => Outcome::Matched { evidence: rule.conditions.iter().map(|it| it.evidence(facts)).collect() },
        Some(failed) => Outcome::Failed {
            field: failed.field(),
            wanted: shown(failed.wanted()),
            seen: shown(failed.seen(facts)),
            held: {
                let held = rule.conditions.iter().filter(|it| says_something(it, facts) && it.holds(facts));
                held.map(|it| it.evidence(facts)).collect()
            },
        },
    }
}

/// Whether it tells something of this failure that a condition holds: it would not for a failure of which nothing is said.
fn says_something(condition: &Condition, facts: &Facts<'_>) -> bool {
    match condition {
        Condition::Not(_)
        | Condition::Target(_)
        | Condition::IsError(false)
        | Condition::SchemaViolation(false) => false,
        Condition::NotFoundOf(NotFoundOf::Endpoint) => facts.failure().not_found_of.is_some(),
        Condition::BodyShape(_) => {
            matches!(facts.body_shape(), BodyShape::Json | BodyShape::Html | BodyShape::Xml)
        }
        Condition::Any(branches) => {
            let mut held = branches.iter().filter(|it| it.iter().all(|it| it.holds(facts)));
            held.any(|it| it.iter().any(|it| says_something(it, facts)))
        }
        _ => true,
    }
}
