//! Shadow layers: what rules that are only tried out would have said of the failures that were reported.
//!
//! Counts, and acts on nothing. In memory, of this server. What would change is kept per tenant while its rules stay the
//! same, so that no tenant and no caller takes the room of another.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use health_model::{Classification, DispatchCode, Failure, Tool, Verdict};

use crate::rules::InForce;

/// Changes of one tenant that are kept apart; further ones are only counted.
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

/// What the shadows of one tenant would have changed.
///
/// Keyed by the project only where that has rules of its own: callers name projects as they like.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<BTreeMap<(Option<String>, ShadowChange), u64>>);

impl Changes {
    fn add(&self, project_id: Option<&str>, change: ShadowChange) {
        let key = (project_id.map(str::to_owned), change);
        let mut changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if changes.len() < MAX_CHANGES || changes.contains_key(&key) {
            *changes.entry(key).or_default() += 1;
        }
    }

    /// The changes of a project with rules of its own, or of all without, the most frequent first.
    pub(crate) fn of(&self, project_id: Option<&str>) -> Vec<(ShadowChange, u64)> {
        self.sum(|it| it == project_id)
    }

    /// The changes of all projects, the most frequent first.
    pub(crate) fn of_all(&self) -> Vec<(ShadowChange, u64)> {
        self.sum(|_| true)
    }

    fn sum(&self, is_wanted: impl Fn(Option<&str>) -> bool) -> Vec<(ShadowChange, u64)> {
        let changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: BTreeMap<ShadowChange, u64> = BTreeMap::new();
        for ((project_id, change), n) in changes.iter() {
            if is_wanted(project_id.as_deref()) {
                *found.entry(change.clone()).or_default() += n;
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(_, n)| Reverse(*n));
        found
    }
}

/// How many failures the shadows of all tenants decide alike, and how many otherwise.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    same: AtomicU64,
    different: AtomicU64,
}

impl Shadow {
    /// Evaluates the shadow of the rules, if they have one. `verdict` is what the rules themselves said.
    pub(crate) fn note(&self, rules: &InForce, tool: &Tool, failure: &Failure, verdict: &Verdict) {
        let Some(shadow) = rules.table.shadow() else { return };
        // What was answered before any rule was asked stays so.
        let was_refused = !verdict.is_health_signal && verdict.rule_id.is_empty();
        if was_refused || failure.dispatch_code == Some(DispatchCode::NotRegistered) {
            return;
        }
        // Without the id of a rule none but the fallback matched, and the reporter knew better.
        let entries = rules.table.entries();
        let now = entries.iter().map(|it| &it.rule).find(|it| it.id == verdict.rule_id);
        let classified = shadow.classify(tool, failure);
        let would = classified.rule();
        if now.map_or(classified.is_fallback, |it| it == would) {
            self.same.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.different.fetch_add(1, Ordering::Relaxed);
        let Some(changes) = &rules.changes else { return };
        let change = ShadowChange {
            rule_id: verdict.rule_id.clone(),
            classification: now.map_or(verdict.classification, |it| it.classification),
            shadow_rule_id: would.id.clone(),
            shadow_classification: would.classification,
        };
        changes.add(rules.project_id.as_deref(), change);
    }

    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.same.load(Ordering::Relaxed), self.different.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests;
