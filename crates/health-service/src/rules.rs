//! Rule layers of files and of the store, compiled per tenant and project (R103…R107, R121…R124, ADR 0008).
//!
//! A table is compiled when a layer changes, never while a failure waits: reading one is a look-up. A layer whose text
//! cannot be read at all keeps its last good content; what is wrong is kept for whoever asks.
//!
//! Reading a text and compiling a table take long where a tenant writes much. No lock is held meanwhile that a question
//! waits for, and [`Service`](crate::Service) asks for both off the threads that serve requests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use checker::{Diagnostic, LayerKind, Options, ParsedLayer, RuleTable, Severity};
use ports::{RuleLayerKey, RuleLayerRecord};

use crate::shadow::{Changes, ShadowChange};

/// A rule layer as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLayer {
    /// Whose layer it is.
    pub key: RuleLayerKey,
    /// The file, for people.
    pub path: String,
    /// Its text, or why it cannot be read.
    pub text: Result<String, String>,
}

/// One layer as it is used.
#[derive(Debug, Clone)]
pub struct LayerInUse {
    /// Whose layer it is.
    pub key: RuleLayerKey,
    /// The file, or `store`.
    pub source: String,
    /// It comes from the store.
    pub is_stored: bool,
    /// Rules in use.
    pub n_rules: usize,
    /// It says `shadow: true`: its rules are in force for nobody.
    pub is_shadow: bool,
    /// Everything found in it, of the text as it is now.
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Clone)]
struct Layer {
    source: String,
    text: Result<String, String>,
    /// The last content that could be read.
    parsed: Arc<ParsedLayer>,
    /// What is wrong with the text as it is now.
    diagnostics: Vec<Diagnostic>,
}

/// Cheap to copy: what is large in it is shared.
#[derive(Clone, Default)]
struct Layers {
    /// Of the stored layers; older ones that come late are passed over.
    revision: u64,
    files: BTreeMap<RuleLayerKey, Arc<Layer>>,
    stored: BTreeMap<RuleLayerKey, Arc<Layer>>,
}

/// What is to be said of a layer's text.
#[derive(Debug, Clone, Default)]
pub struct Validated {
    /// Usable rules.
    pub n_rules: usize,
    /// It says `shadow: true`.
    pub is_shadow: bool,
    /// Everything found in it, also in its place among the other layers; of a shadow as if it were none.
    pub diagnostics: Vec<Diagnostic>,
}

/// The tables of one tenant.
#[derive(Clone)]
struct TenantTables {
    /// The layers that they were compiled from.
    parts: Vec<Arc<ParsedLayer>>,
    own: Arc<RuleTable>,
    projects: HashMap<String, Arc<RuleTable>>,
    /// What their shadows would change. Counted anew with the tables: of other rules it says nothing.
    changes: Arc<Changes>,
}

/// The rules of one project, and where it is counted what their shadow would change.
pub(crate) struct InForce {
    pub(crate) table: Arc<RuleTable>,
    /// The project, if the table is its alone.
    pub(crate) project_id: Option<String>,
    /// `None` = the tenant has no layers.
    pub(crate) changes: Option<Arc<Changes>>,
}

/// The rules of one tenant with one layer replaced, beside those in force. See [`Rules::replacing`].
pub struct Replaced {
    /// The text cannot be used at all.
    pub is_refused: bool,
    /// Everything found in the text, also in its place among the other layers.
    pub diagnostics: Vec<Diagnostic>,
    tenant_id: String,
    options: Options,
    layers: Layers,
    /// By project, `None` for those without a layer of their own. Compiled when they are asked for.
    tables: BTreeMap<Option<String>, Arc<RuleTable>>,
}

impl Replaced {
    /// The table of a project. The first call for a project with layers of its own compiles it.
    pub fn table(&mut self, project_id: &str) -> Arc<RuleTable> {
        let key = RuleLayerKey { tenant_id: self.tenant_id.clone(), project_id: Some(project_id.to_owned()) };
        let has_own = self.layers.files.contains_key(&key) || self.layers.stored.contains_key(&key);
        let own = key.project_id.filter(|_| has_own);
        let Self { tenant_id, options, layers, tables, .. } = self;
        let compile = || build(layers, tenant_id, own.as_deref(), *options);
        Arc::clone(tables.entry(own.clone()).or_insert_with(compile))
    }
}

/// Every layer, and every table compiled from them.
pub struct Rules {
    options: Options,
    base: Arc<RuleTable>,
    /// Held while layers are replaced: one change after another.
    changing: Mutex<()>,
    layers: Mutex<Layers>,
    tables: RwLock<HashMap<String, TenantTables>>,
}

impl Rules {
    /// The bundled rules, without any layer.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let base = Arc::new(RuleTable::bundled(options));
        Self {
            options,
            base,
            changing: Mutex::default(),
            layers: Mutex::default(),
            tables: RwLock::default(),
        }
    }

    /// The table of a project.
    #[must_use]
    pub fn table(&self, tenant_id: &str, project_id: &str) -> Arc<RuleTable> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        match tables.get(tenant_id) {
            None => Arc::clone(&self.base),
            Some(tenant) => Arc::clone(tenant.projects.get(project_id).unwrap_or(&tenant.own)),
        }
    }

    /// The table of a project with what belongs to it.
    pub(crate) fn in_force(&self, tenant_id: &str, project_id: &str) -> InForce {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let Some(tenant) = tables.get(tenant_id) else {
            return InForce { table: Arc::clone(&self.base), project_id: None, changes: None };
        };
        let own = tenant.projects.get_key_value(project_id);
        InForce {
            table: Arc::clone(own.map_or(&tenant.own, |(_, table)| table)),
            project_id: own.map(|(project_id, _)| project_id.clone()),
            changes: Some(Arc::clone(&tenant.changes)),
        }
    }

    /// What the shadows of a tenant would have changed since its rules are what they are, the most frequent first: of one
    /// project, or of all. Projects without layers of their own have one list in common.
    #[must_use]
    pub fn shadow_changes(&self, tenant_id: &str, project_id: Option<&str>) -> Vec<(ShadowChange, u64)> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let Some(tenant) = tables.get(tenant_id) else { return Vec::new() };
        match project_id {
            None => tenant.changes.of_all(),
            Some(it) => tenant.changes.of(tenant.projects.contains_key(it).then_some(it)),
        }
    }

    /// Replaces all layers that are files.
    pub fn set_file_layers(&self, files: Vec<FileLayer>) {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut layers = self.snapshot();
        let before = std::mem::take(&mut layers.files);
        layers.files =
            files.into_iter().map(|it| (it.key.clone(), read(it, &before))).collect::<BTreeMap<_, _>>();
        self.put_in_force(layers);
    }

    /// Replaces all layers of the store, unless newer ones are known. `revision` is that of the list.
    pub fn set_store_layers(&self, revision: u64, stored: Vec<RuleLayerRecord>) {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut layers = self.snapshot();
        if revision < layers.revision {
            return;
        }
        layers.revision = revision;
        let before = std::mem::take(&mut layers.stored);
        layers.stored = stored
            .into_iter()
            .map(|it| FileLayer { path: stored_name(&it.key), key: it.key, text: Ok(it.text) })
            .map(|it| (it.key.clone(), read(it, &before)))
            .collect();
        self.put_in_force(layers);
    }

    fn snapshot(&self) -> Layers {
        self.layers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put_in_force(&self, layers: Layers) {
        self.compile(&layers);
        *self.layers.lock().unwrap_or_else(PoisonError::into_inner) = layers;
    }

    /// What a layer's text would be told, as a layer and in its place among the others; a shadow as if it were none. Changes
    /// nothing.
    #[must_use]
    pub fn validate(&self, key: &RuleLayerKey, text: &str) -> Validated {
        if let Some((layer, table)) = self.known(key, text) {
            return validated(&layer, &table);
        }
        let parsed = checker::parse(kind_of(key), &stored_name(key), text);
        let is_shadow = parsed.is_shadow;
        let (layer, table) = self.in_place(key, parsed);
        Validated { is_shadow, ..validated(&layer, &table) }
    }

    /// A text that is in force as it stands: nothing has to be compiled to say what is to be said of it.
    fn known(&self, key: &RuleLayerKey, text: &str) -> Option<(Arc<ParsedLayer>, Arc<RuleTable>)> {
        let layer = self.snapshot().stored.remove(key).filter(|it| it.text.as_deref() == Ok(text))?;
        let parsed = &layer.parsed;
        // Of a text that cannot be read, what is in force is an older one.
        if parsed.is_shadow || layer.diagnostics != parsed.diagnostics {
            return None;
        }
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let tenant = tables.get(&key.tenant_id)?;
        let table = match &key.project_id {
            None => &tenant.own,
            Some(project_id) => tenant.projects.get(project_id)?,
        };
        let is_part = tenant.parts.iter().any(|it| Arc::ptr_eq(it, parsed));
        is_part.then(|| (Arc::clone(parsed), Arc::clone(table)))
    }

    /// The table of a project as it would be with this text as its topmost layer, also if it says `shadow: true`. Changes
    /// nothing.
    #[must_use]
    pub fn with_layer(&self, key: &RuleLayerKey, text: &str) -> (ParsedLayer, RuleTable) {
        self.in_place(key, checker::parse(kind_of(key), &stored_name(key), text))
    }

    fn in_place(&self, key: &RuleLayerKey, parsed: ParsedLayer) -> (ParsedLayer, RuleTable) {
        let parsed = parsed.tried();
        let layers = self.snapshot();
        let mut stack = stack(&layers, &key.tenant_id, key.project_id.as_deref());
        // The stored layer of the same name gives way to the text.
        let stored = layers.stored.get(key).map(|it| Arc::clone(&it.parsed));
        stack.retain(|it| stored.as_ref().is_none_or(|stored| !Arc::ptr_eq(it, stored)));
        let mut order: Vec<&ParsedLayer> = stack.iter().map(|it| &**it).collect();
        order.push(&parsed);
        let table = RuleTable::build(order, self.options);
        (parsed, table)
    }

    /// The tenant's rules as they would be with this text in the place of one layer: the store's of that name, else the
    /// file's, else one more; also if it says `shadow: true`. Changes nothing.
    #[must_use]
    pub fn replacing(&self, key: &RuleLayerKey, text: &str) -> Replaced {
        let parsed = Arc::new(checker::parse(kind_of(key), &stored_name(key), text).tried());
        let mut layers = self.snapshot();
        layers.files.retain(|it, _| it.tenant_id == key.tenant_id);
        layers.stored.retain(|it, _| it.tenant_id == key.tenant_id);
        if !layers.stored.contains_key(key) {
            layers.files.remove(key);
        }
        let layer = Layer {
            source: parsed.source.clone(),
            text: Ok(String::new()),
            parsed: Arc::clone(&parsed),
            diagnostics: Vec::new(),
        };
        layers.stored.insert(key.clone(), Arc::new(layer));
        let in_place = build(&layers, &key.tenant_id, key.project_id.as_deref(), self.options);
        Replaced {
            is_refused: parsed.is_refused,
            diagnostics: validated(&parsed, &in_place).diagnostics,
            tenant_id: key.tenant_id.clone(),
            options: self.options,
            layers,
            tables: BTreeMap::from([(key.project_id.clone(), in_place)]),
        }
    }

    /// Every layer in use, sorted by tenant, project and source.
    #[must_use]
    pub fn layers(&self) -> Vec<LayerInUse> {
        let layers = self.snapshot();
        let of = |(key, layer): (&RuleLayerKey, &Arc<Layer>), is_stored| LayerInUse {
            key: key.clone(),
            source: layer.source.clone(),
            is_stored,
            n_rules: layer.parsed.rules.len(),
            is_shadow: layer.parsed.is_shadow,
            diagnostics: layer.diagnostics.clone(),
        };
        let mut all: Vec<LayerInUse> = layers.files.iter().map(|it| of(it, false)).collect();
        all.extend(layers.stored.iter().map(|it| of(it, true)));
        all.sort_by(|a, b| (&a.key, a.is_stored).cmp(&(&b.key, b.is_stored)));
        all
    }

    /// Errors and warnings over all layers.
    #[must_use]
    pub fn n_findings(&self) -> (usize, usize) {
        let layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
        let all = || layers.files.values().chain(layers.stored.values()).flat_map(|it| &it.diagnostics);
        let errors = all().filter(|it| it.severity == Severity::Error).count();
        (errors, all().count() - errors)
    }

    /// Compiles the tables of every tenant one of whose layers is another one than before.
    fn compile(&self, layers: &Layers) {
        let mut stacks: BTreeMap<&str, Vec<Arc<ParsedLayer>>> = BTreeMap::new();
        for (key, layer) in layers.files.iter().chain(&layers.stored) {
            stacks.entry(&key.tenant_id).or_default().push(Arc::clone(&layer.parsed));
        }
        let same = |a: &[Arc<ParsedLayer>], b: &[Arc<ParsedLayer>]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        let before = self.tables.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut tables = HashMap::new();
        for (tenant, parts) in stacks {
            if let Some(known) = before.get(tenant).filter(|it| same(&it.parts, &parts)) {
                tables.insert(tenant.to_owned(), known.clone());
                continue;
            }
            let own = self.build(layers, tenant, None);
            let projects: BTreeSet<&str> = layers
                .files
                .keys()
                .chain(layers.stored.keys())
                .filter(|it| it.tenant_id == tenant)
                .filter_map(|it| it.project_id.as_deref())
                .collect();
            let projects = projects
                .into_iter()
                .map(|it| (it.to_owned(), self.build(layers, tenant, Some(it))))
                .collect();
            let changes = Arc::default();
            tables.insert(tenant.to_owned(), TenantTables { parts, own, projects, changes });
        }
        *self.tables.write().unwrap_or_else(PoisonError::into_inner) = tables;
    }

    fn build(&self, layers: &Layers, tenant_id: &str, project_id: Option<&str>) -> Arc<RuleTable> {
        build(layers, tenant_id, project_id, self.options)
    }
}

/// What is to be said of a layer that is part of a table.
fn validated(layer: &ParsedLayer, table: &RuleTable) -> Validated {
    let mut diagnostics = layer.diagnostics.clone();
    diagnostics.extend(table.diagnostics().iter().filter(|it| it.source == layer.source).cloned());
    diagnostics.dedup();
    Validated { n_rules: layer.rules.len(), is_shadow: layer.is_shadow, diagnostics }
}

fn build(layers: &Layers, tenant_id: &str, project_id: Option<&str>, options: Options) -> Arc<RuleTable> {
    let stack = stack(layers, tenant_id, project_id);
    let order: Vec<&ParsedLayer> = stack.iter().map(|it| &**it).collect();
    Arc::new(RuleTable::build(order, options))
}

/// The layers of a project, wide to narrow: tenant file, tenant store, project file, project store.
fn stack(layers: &Layers, tenant_id: &str, project_id: Option<&str>) -> Vec<Arc<ParsedLayer>> {
    let mut keys = vec![RuleLayerKey { tenant_id: tenant_id.to_owned(), project_id: None }];
    if let Some(project_id) = project_id {
        keys.push(RuleLayerKey { tenant_id: tenant_id.to_owned(), project_id: Some(project_id.to_owned()) });
    }
    keys.iter()
        .flat_map(|key| [layers.files.get(key), layers.stored.get(key)])
        .flatten()
        .map(|it| Arc::clone(&it.parsed))
        .collect()
}

fn read(file: FileLayer, before: &BTreeMap<RuleLayerKey, Arc<Layer>>) -> Arc<Layer> {
    let known = before.get(&file.key);
    if let Some(known) = known.filter(|it| it.text == file.text && it.source == file.path) {
        return Arc::clone(known);
    }
    let kind = kind_of(&file.key);
    let parsed = match &file.text {
        Ok(text) => checker::parse(kind, &file.path, text),
        Err(reason) => unreadable(kind, &file.path, reason),
    };
    let diagnostics = parsed.diagnostics.clone();
    for it in &diagnostics {
        tracing::warn!(tenant = %file.key.tenant_id, project = file.key.project_id.as_deref(), "{it}");
    }
    let parsed = match known {
        Some(known) if parsed.is_refused => Arc::clone(&known.parsed),
        _ => Arc::new(parsed),
    };
    Arc::new(Layer { source: file.path, text: file.text, parsed, diagnostics })
}

fn unreadable(kind: LayerKind, source: &str, reason: &str) -> ParsedLayer {
    let finding = Diagnostic {
        severity: Severity::Error,
        source: source.to_owned(),
        line: 0,
        column: 0,
        field: String::new(),
        rule_id: None,
        message: format!("the file cannot be read: {reason}; its last good content stays in force"),
    };
    ParsedLayer {
        kind,
        source: source.to_owned(),
        rules: Vec::new(),
        providers: Vec::new(),
        is_shadow: false,
        diagnostics: vec![finding],
        is_refused: true,
    }
}

fn kind_of(key: &RuleLayerKey) -> LayerKind {
    if key.project_id.is_some() { LayerKind::Project } else { LayerKind::Tenant }
}

fn stored_name(key: &RuleLayerKey) -> String {
    match &key.project_id {
        None => format!("store:{}", key.tenant_id),
        Some(project) => format!("store:{}/{project}", key.tenant_id),
    }
}

#[cfg(test)]
mod tests;
