//! Containers as the view holds them: documents by tool, and how much memory they take. Knows no store.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use health_model::vocabulary::Scope;
use health_model::{Caller, Cascade, ContainerKey};
use ports::{Change, LoadedContainer, Versioned};
use quick_cache::{Equivalent, Weighter};

/// All documents of one container, by tool.
#[derive(Debug, Default)]
pub(crate) struct Container {
    documents: HashMap<String, Slot>,
}

/// A document, or the version at which it was deleted: an older change that comes late must not bring it back.
#[derive(Debug, Clone)]
enum Slot {
    Held(Arc<Versioned>),
    Deleted(u64),
}

impl Slot {
    fn version(&self) -> u64 {
        match self {
            Self::Held(it) => it.version,
            Self::Deleted(version) => *version,
        }
    }

    fn held(&self) -> Option<&Arc<Versioned>> {
        match self {
            Self::Held(it) => Some(it),
            Self::Deleted(_) => None,
        }
    }
}

impl Container {
    pub(crate) fn document(&self, tool: &str) -> Option<&Arc<Versioned>> {
        if self.documents.is_empty() { None } else { self.documents.get(tool)?.held() }
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = &Arc<Versioned>> {
        self.documents.values().filter_map(Slot::held)
    }

    pub(super) fn of(loaded: LoadedContainer) -> Self {
        let documents = loaded
            .documents
            .into_iter()
            .map(|it| (it.document.key.tool_name.clone(), Slot::Held(Arc::new(it))))
            .collect();
        Self { documents }
    }

    /// A copy with the changes taken in; `None` if the copy held is as new as all of them.
    pub(super) fn with(&self, changes: &[&Change]) -> Option<Self> {
        let newer: Vec<&&Change> = changes
            .iter()
            .filter(|it| self.documents.get(&it.key.tool_name).is_none_or(|held| held.version() < it.version))
            .collect();
        if newer.is_empty() {
            return None;
        }
        let mut documents = self.documents.clone();
        for change in newer {
            let slot = match &change.document {
                Some(it) => Slot::Held(Arc::new(it.clone())),
                None => Slot::Deleted(change.version),
            };
            // Of two changes of one key the later version counts.
            if documents.get(&change.key.tool_name).is_none_or(|it| it.version() < change.version) {
                documents.insert(change.key.tool_name.clone(), slot);
            }
        }
        Some(Self { documents })
    }
}

/// A container's key without owning it: hashes as [`ContainerKey`] does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyRef<'a> {
    pub(super) tenant_id: &'a str,
    pub(super) scope: Scope,
    pub(super) scope_id: &'a str,
}

impl Hash for KeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.tenant_id.hash(state);
        self.scope.hash(state);
        self.scope_id.hash(state);
    }
}

impl Equivalent<ContainerKey> for KeyRef<'_> {
    fn equivalent(&self, key: &ContainerKey) -> bool {
        self.tenant_id == key.tenant_id && self.scope == key.scope && self.scope_id == key.scope_id
    }
}

#[derive(Clone)]
pub(super) struct Weight;

impl Weighter<ContainerKey, Arc<Container>> for Weight {
    fn weight(&self, key: &ContainerKey, container: &Arc<Container>) -> u64 {
        let rows: usize = container
            .documents
            .iter()
            .map(|(tool, slot)| match slot {
                Slot::Deleted(_) => 80 + tool.len(),
                Slot::Held(it) => {
                    let document = &it.document;
                    let notes: usize = document.history.iter().map(|it| 160 + it.note.len()).sum();
                    let diagnosis = document.last_diagnosis.as_ref().map_or(0, |it| it.note.len());
                    let hold = document.hold.as_ref().map_or(0, |it| it.reason.len());
                    600 + tool.len() * 2 + notes + diagnosis + hold + document.cooldowns.len() * 120
                }
            })
            .sum();
        (160 + key.tenant_id.len() + key.scope_id.len() + rows) as u64
    }
}

/// The containers of one caller, narrow to wide; `None` where the caller has no id.
#[derive(Clone, Default)]
pub(crate) struct Containers {
    pub(super) by_scope: [Option<Arc<Container>>; 5],
    /// At least one of them is the view's copy, not just read from the store.
    pub(crate) from_view: bool,
}

impl Containers {
    /// The documents of one tool that apply to the caller.
    pub(crate) fn cascade(&self, tool: &str) -> Cascade<'_> {
        Cascade::new(self.by_scope.iter().flatten().filter_map(|it| it.document(tool)).map(|it| &it.document))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Container>> {
        self.by_scope.iter().flatten()
    }

    /// The same caller with the GLOBAL container of another provider.
    pub(crate) fn with_global(&self, global: Option<Arc<Container>>) -> Self {
        let mut other = self.clone();
        other.by_scope[4] = global;
        other
    }
}

pub(super) fn key_ref<'a>(caller: &'a Caller, scope: Scope, provider: Option<&'a str>) -> Option<KeyRef<'a>> {
    let (tenant_id, scope_id) = match scope {
        Scope::Session => (caller.tenant_id.as_str(), caller.session_id.as_deref()?),
        Scope::User => (caller.tenant_id.as_str(), caller.user_id.as_deref()?),
        Scope::Project => (caller.tenant_id.as_str(), caller.project_id.as_str()),
        Scope::Tenant => (caller.tenant_id.as_str(), caller.tenant_id.as_str()),
        Scope::Global => ("", provider?),
    };
    Some(KeyRef { tenant_id, scope, scope_id })
}
