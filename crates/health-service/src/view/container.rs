//! Containers as the view holds them: documents by tool, and how much memory they take. Knows no store.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use health_model::vocabulary::Scope;
use health_model::{Caller, Cascade, ContainerKey};
use ports::{Change, LoadedContainer, Versioned};
use quick_cache::{Equivalent, Weighter};

/// All documents of one container, by tool.
///
/// In buckets that copies share: taking in a change copies the bucket of one tool, not the container, so that a write
/// costs the same in a project of ten tools and of ten thousand.
#[derive(Debug, Default)]
pub(crate) struct Container {
    /// A power of two of them, or none if the container is empty.
    buckets: Vec<Arc<Vec<Entry>>>,
    n_entries: usize,
    /// Bytes, estimated.
    weight: u64,
}

/// One tool.
#[derive(Debug, Clone)]
struct Entry {
    hash: u64,
    tool: Arc<str>,
    slot: Slot,
}

/// Entries in a bucket when a container is built; at four times that it is built anew.
const BUCKET_SIZE: usize = 8;

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

impl Entry {
    fn new(tool: &str, slot: Slot) -> Self {
        Self { hash: hash(tool), tool: Arc::from(tool), slot }
    }

    fn weight(&self) -> u64 {
        let content = match &self.slot {
            Slot::Deleted(_) => 0,
            Slot::Held(it) => {
                let document = &it.document;
                let notes: usize = document.history.iter().map(|it| 160 + it.note.len()).sum();
                let diagnosis = document.last_diagnosis.as_ref().map_or(0, |it| it.note.len());
                let hold = document.hold.as_ref().map_or(0, |it| it.reason.len());
                520 + self.tool.len() + notes + diagnosis + hold + document.cooldowns.len() * 120
            }
        };
        (80 + self.tool.len() + content) as u64
    }
}

impl Container {
    pub(crate) fn document(&self, tool: &str) -> Option<&Arc<Versioned>> {
        self.slot(tool)?.held()
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = &Arc<Versioned>> {
        self.entries().filter_map(|it| it.slot.held())
    }

    pub(super) fn of(loaded: LoadedContainer) -> Self {
        let entries = loaded.documents.into_iter().map(|it| {
            let tool = it.document.key.tool_name.clone();
            Entry::new(&tool, Slot::Held(Arc::new(it)))
        });
        Self::build(entries.collect())
    }

    /// A copy with the changes taken in; `None` if the copy held is as new as all of them.
    pub(super) fn with(&self, changes: &[&Change]) -> Option<Self> {
        let is_newer = |container: &Self, it: &Change| {
            container.slot(&it.key.tool_name).is_none_or(|held| held.version() < it.version)
        };
        if !changes.iter().any(|it| is_newer(self, it)) {
            return None;
        }
        let mut copy = Self { buckets: self.buckets.clone(), n_entries: self.n_entries, weight: self.weight };
        for change in changes {
            // Of two changes of one key the later version counts.
            if is_newer(&copy, change) {
                let slot = match &change.document {
                    Some(it) => Slot::Held(Arc::new(it.clone())),
                    None => Slot::Deleted(change.version),
                };
                copy.put(Entry::new(&change.key.tool_name, slot));
            }
        }
        Some(copy)
    }

    fn build(entries: Vec<Entry>) -> Self {
        let n_entries = entries.len();
        let weight = entries.iter().map(Entry::weight).sum();
        let mut buckets = vec![Vec::new(); n_entries.div_ceil(BUCKET_SIZE).next_power_of_two()];
        for it in entries {
            let at = bucket(it.hash, buckets.len());
            if let Some(bucket) = buckets.get_mut(at) {
                bucket.push(it);
            }
        }
        Self { buckets: buckets.into_iter().map(Arc::new).collect(), n_entries, weight }
    }

    fn put(&mut self, entry: Entry) {
        if self.n_entries >= self.buckets.len() * BUCKET_SIZE * 4 {
            *self = Self::build(self.entries().cloned().collect());
        }
        let at = bucket(entry.hash, self.buckets.len());
        let Some(shared) = self.buckets.get_mut(at) else { return };
        let bucket = Arc::make_mut(shared);
        self.weight += entry.weight();
        match bucket.iter_mut().find(|it| it.hash == entry.hash && it.tool == entry.tool) {
            Some(held) => {
                self.weight = self.weight.saturating_sub(held.weight());
                *held = entry;
            }
            None => {
                bucket.push(entry);
                self.n_entries += 1;
            }
        }
    }

    fn slot(&self, tool: &str) -> Option<&Slot> {
        if self.n_entries == 0 {
            return None;
        }
        let hash = hash(tool);
        let bucket = self.buckets.get(bucket(hash, self.buckets.len()))?;
        bucket.iter().find(|it| it.hash == hash && *it.tool == *tool).map(|it| &it.slot)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.buckets.iter().flat_map(|it| it.iter())
    }
}

/// FNV-1a.
fn hash(tool: &str) -> u64 {
    tool.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, it| (hash ^ u64::from(it)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The bucket of a hash among `n`, a power of two. FNV's low bits are its best.
const fn bucket(hash: u64, n: usize) -> usize {
    hash as usize & n.wrapping_sub(1)
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
        160 + (key.tenant_id.len() + key.scope_id.len()) as u64 + container.weight
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

#[cfg(test)]
mod tests {
    use health_model::{Document, Instant};

    use super::*;

    fn key() -> ContainerKey {
        ContainerKey { tenant_id: "acme".to_owned(), scope: Scope::Project, scope_id: "essay".to_owned() }
    }

    fn change(tool: &str, version: u64, is_held: bool) -> Change {
        let document = Document::new(key().document(tool), Instant::UNIX_EPOCH);
        let document = is_held.then_some(Versioned { document, version });
        Change { key: key().document(tool), document, version }
    }

    /// DESIGN §8: the copy follows the versions, whatever the order and the size.
    #[test]
    fn a_container_follows_its_changes() {
        let mut container = Container::default();
        let mut model = std::collections::BTreeMap::new();
        for step in 0..5_000_u64 {
            let tool = format!("tool_{}", step * 7 % 700);
            // Every ninth change is an old one that comes late, every fifth a delete.
            let version = if step % 9 == 0 { step / 2 } else { step + 1 };
            let change = change(&tool, version, step % 5 != 0);
            let known = model.get(&tool).map_or(0, |it: &(u64, bool)| it.0);
            let next = container.with(&[&change]);
            assert_eq!(next.is_some(), version > known || !model.contains_key(&tool));
            if let Some(next) = next {
                container = next;
                model.insert(tool, (version, step % 5 != 0));
            }
        }
        for (tool, (version, is_held)) in &model {
            let found = container.document(tool).map(|it| it.version);
            assert_eq!(found, is_held.then_some(*version), "{tool}");
        }
        assert_eq!(container.documents().count(), model.values().filter(|it| it.1).count());
        let weight: u64 = container.entries().map(Entry::weight).sum();
        assert_eq!((container.weight, container.n_entries), (weight, model.len()));
    }
}
