//! The journals of failures, one a tenant.

use std::collections::{BTreeMap, HashSet};

use ports::{FailureEntry, FailurePage, FailurePlace};
use uuid::Uuid;

use crate::micros;

/// All journals.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// By tenant, the latest last.
    entries: BTreeMap<String, BTreeMap<FailurePlace, FailureEntry>>,
    /// Of all entries.
    ids: HashSet<Uuid>,
    /// Those that cannot be read.
    unreadable: HashSet<Uuid>,
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
                self.unreadable.remove(&place.id);
            }
        }
    }

    pub(crate) fn damage(&mut self, id: Uuid) -> bool {
        self.ids.contains(&id) && self.unreadable.insert(id)
    }

    pub(crate) fn list(
        &self,
        tenant_id: &str,
        project_id: Option<&str>,
        before: Option<FailurePlace>,
        limit: usize,
    ) -> FailurePage {
        // Places on record have no more than microseconds.
        let before = before.map(|it| FailurePlace { at: micros(it.at), ..it });
        let journal = self.entries.get(tenant_id).into_iter().flatten().rev();
        let rows = journal
            .filter(|(place, _)| before.is_none_or(|it| **place < it))
            .map(|(_, entry)| entry)
            .filter(|it| project_id.is_none_or(|wanted| it.project_id == wanted));
        let mut page = FailurePage::default();
        for row in rows {
            if page.entries.len() >= limit {
                break;
            }
            if self.unreadable.contains(&row.id) {
                page.n_unreadable += 1;
            } else {
                page.entries.push(row.clone());
            }
        }
        page
    }

    pub(crate) fn delete(&mut self, tenant_id: &str) {
        for place in self.entries.remove(tenant_id).unwrap_or_default().into_keys() {
            self.ids.remove(&place.id);
            self.unreadable.remove(&place.id);
        }
    }
}
