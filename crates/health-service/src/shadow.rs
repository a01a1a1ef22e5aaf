//! Shadow layers: what rules that are only tried out would have said of the failures that were reported.
//!
//! Counts, and acts on nothing. In memory, of this server, since its start.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use checker::RuleTable;
use health_model::{Caller, Classification, Failure, Tool, Verdict};

/// Changes that are kept apart; further ones are only counted.
const MAX_CHANGES: usize = 1_000;

/// One way in which a shadow layer would decide otherwise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShadowChange {
    /// The rule that decided; empty if none did.
    pub rule_id: String,
    /// What it said.
    pub classification: Classification,
    /// The rule that would decide.
    pub shadow_rule_id: String,
    /// What it would say.
    pub shadow_classification: Classification,
}

/// What the shadow layers would have changed.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    same: AtomicU64,
    different: AtomicU64,
    changes: Mutex<BTreeMap<(String, String, ShadowChange), u64>>,
}

impl Shadow {
    /// Evaluates the shadow of a table, if it has one.
    pub(crate) fn note(
        &self,
        table: &RuleTable,
        caller: &Caller,
        tool: &Tool,
        failure: &Failure,
        verdict: &Verdict,
    ) {
        let Some(shadow) = table.shadow() else { return };
        // What was answered before any rule was asked stays so.
        if !verdict.is_health_signal && verdict.rule_id.is_empty() {
            return;
        }
        let (now, would) = (table.classify(tool, failure), shadow.classify(tool, failure));
        if now.rule() == would.rule() {
            self.same.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.different.fetch_add(1, Ordering::Relaxed);
        let change = ShadowChange {
            rule_id: now.rule().id.clone(),
            classification: now.rule().classification,
            shadow_rule_id: would.rule().id.clone(),
            shadow_classification: would.rule().classification,
        };
        let key = (caller.tenant_id.clone(), caller.project_id.clone(), change);
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if changes.len() < MAX_CHANGES || changes.contains_key(&key) {
            *changes.entry(key).or_default() += 1;
        }
    }

    /// How many failures a shadow would decide alike, and how many otherwise.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.same.load(Ordering::Relaxed), self.different.load(Ordering::Relaxed))
    }

    /// The changes of a project, or of all projects of a tenant, the most frequent first.
    pub(crate) fn changes(&self, tenant_id: &str, project_id: Option<&str>) -> Vec<(ShadowChange, u64)> {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: BTreeMap<ShadowChange, u64> = BTreeMap::new();
        for ((tenant, project, change), n) in changes.iter() {
            if tenant == tenant_id && project_id.is_none_or(|it| it == project) {
                *found.entry(change.clone()).or_default() += n;
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        found
    }
}

#[cfg(test)]
mod tests {
    use checker::{LayerKind, Options, parse};

    use super::*;

    // Evaluated and counted, never acted upon.
    #[test]
    fn a_shadow_is_counted_and_changes_nothing() {
        let yaml = "shadow: true\npatterns:\n  - {id: teapot, before: first, match: {httpStatus: 418}, signature: s, classification: USER_INPUT}\n";
        let layer = parse(LayerKind::Project, "p.yaml", yaml);
        assert!(layer.is_shadow && layer.diagnostics.is_empty(), "{:?}", layer.diagnostics);
        let table = RuleTable::build([&layer], Options::BUNDLED);
        let (tool, caller) = (
            Tool::default(),
            Caller { tenant_id: "t".to_owned(), project_id: "p".to_owned(), ..Caller::default() },
        );
        let shadow = Shadow::default();
        for status in [418, 418, 500] {
            let failure = Failure { http_status: Some(status), ..Failure::default() };
            let view = health_model::View { cascade: health_model::Cascade::default(), user_id: None };
            let now = health_model::Instant::from_timestamp(1_796_040_000, 0).unwrap();
            let policy = health_model::Policy::default();
            let settings = checker::Settings::default();
            let decision = checker::decide(&table, &caller, &tool, &failure, &view, &policy, &settings, now);
            assert_ne!(decision.verdict.rule_id, "teapot", "it decides nothing");
            shadow.note(&table, &caller, &tool, &failure, &decision.verdict);
        }
        assert_eq!(shadow.counts(), (1, 2));
        let change = ShadowChange {
            rule_id: "fallback".to_owned(),
            classification: Classification::Unclear,
            shadow_rule_id: "teapot".to_owned(),
            shadow_classification: Classification::UserInput,
        };
        assert_eq!(shadow.changes("t", None), [(change.clone(), 2)]);
        assert_eq!(shadow.changes("t", Some("p")), [(change, 2)]);
        assert!(shadow.changes("t", Some("q")).is_empty() && shadow.changes("u", None).is_empty());
        let without = RuleTable::bundled(Options::BUNDLED);
        shadow.note(
            &without,
            &caller,
            &tool,
            &Failure::default(),
            &checker::decide(
                &without,
                &caller,
                &tool,
                &Failure::default(),
                &health_model::View { cascade: health_model::Cascade::default(), user_id: None },
                &health_model::Policy::default(),
                &checker::Settings::default(),
                health_model::Instant::from_timestamp(1_796_040_000, 0).unwrap(),
            )
            .verdict,
        );
        assert_eq!(shadow.counts(), (1, 2), "without a shadow nothing is counted");
    }
}
