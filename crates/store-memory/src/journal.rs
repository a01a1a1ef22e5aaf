//! The journals of failures, one a tenant.

use std::collections::{BTreeMap, HashSet};

use ports::{FailureEntry, FailurePlace};
use uuid::Uuid;

use crate::micros;

/// All journals.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// By tenant, the latest last.
    entries: BTreeMap<String, BTreeMap<FailurePlace, FailureEntry>>,
    /// Of all entries.
    ids: HashSet<Uuid>,
}

impl Journal {
    pub(crate) fn append(&mut self, entries: &[FailureEntry], keep: usize) {
        for entry in entries {
            if self.ids.insert(entry.id) {
                let entry = FailureEntry { at: micros(entry.at), ..entry.clone() };
                self.entries.entry(entry.tenant_id.clone()).or_default().insert(entry.place(), entry);
            }
        }
        for entry in entries {
            let Some(journal) = self.entries.get_mut(&entry.tenant_id) else { continue };
            while journal.len() > keep {
                let Some((place, _)) = journal.pop_first() else { break };
                self.ids.remove(&place.id);
            }
        }
    }

    pub(crate) fn list(
        &self,
        tenant_id: &str,
        project_id: Option<&str>,
        before: Option<FailurePlace>,
        limit: usize,
    ) -> Vec<FailureEntry> {
        // Places on record have no more than microseconds.
        let before = before.map(|it| FailurePlace { at: micros(it.at), ..it });
        let journal = self.entries.get(tenant_id).into_iter().flatten().rev();
        journal
            .filter(|(place, _)| before.is_none_or(|it| **place < it))
            .map(|(_, entry)| entry)
            .filter(|it| project_id.is_none_or(|wanted| it.project_id == wanted))
            .take(limit)
            .cloned()
            .collect()
    }

    pub(crate) fn delete(&mut self, tenant_id: &str) {
        for place in self.entries.remove(tenant_id).unwrap_or_default().into_keys() {
            self.ids.remove(&place.id);
        }
    }
}
