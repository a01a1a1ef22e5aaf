//! `arch`: the arrows between crates, compared with one table.
//!
//! Owns the table (which crate may depend on which), the list of what a core crate must never reach, and the list of
//! who may hold which outside crate. The rules are pure functions over a [`Graph`]; only [`arch`] runs cargo. Knows
//! nothing of source code: an arrow is a line in a manifest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Context, Result, bail};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use crate::{process, workspace};

/// One crate of the workspace and the crates inside it that it may depend on, build and normal dependencies alike.
///
/// Dev dependencies are free: they never reach a user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Package name, which is also the folder's name except for `proto` and `tests`.
    pub(crate) name: &'static str,
    /// A core crate: no I/O, no clock, no randomness in its whole normal closure.
    pub(crate) starred: bool,
    /// Folder below the root.
    pub(crate) folder: &'static str,
    may_depend_on: &'static [&'static str],
}

/// The architecture. A new arrow is a decision: it takes an ADR and a line here.
pub(crate) const TABLE: &[Row] = &[
    core("health-model", "crates/health-model", &[]),
    core("checker", "crates/checker", &["health-model"]),
    row("ports", "crates/ports", &["health-model"]),
    row("health-service", "crates/health-service", &["checker", "health-model", "ports"]),
    row("store-memory", "crates/store-memory", &["health-model", "ports"]),
    row("store-sqlite", "crates/store-sqlite", &["health-model", "ports"]),
    row("store-postgres", "crates/store-postgres", &["health-model", "ports"]),
    row("agrajag-proto", "proto", &[]),
    row(
        "grpc-server",
        "crates/grpc-server",
        &[
            "agrajag-proto",
            "checker",
            "health-model",
            "health-service",
            "ports",
            "store-memory",
            "store-postgres",
            "store-sqlite",
        ],
    ),
    row("agrajag", "crates/agrajag", &["agrajag-proto", "checker", "grpc-server", "health-model"]),
    // For tests only: nothing that ships may depend on what follows.
    // The memory store is the model that random operations are compared with (ADR 0010).
    row(
        "store-conformance",
        "crates/store-conformance",
        &["health-model", "health-service", "ports", "store-memory", "test-support"],
    ),
    row("test-support", "crates/test-support", &["health-model", "health-service", "ports"]),
    row(
        "agrajag-tests",
        "tests",
        &[
            "agrajag-proto",
            "checker",
            "grpc-server",
            "health-model",
            "health-service",
            "ports",
            "store-conformance",
            "store-memory",
            "store-postgres",
            "store-sqlite",
            "test-support",
        ],
    ),
    row("xtask", "xtask", &[]),
];

/// What a core crate must not have in its normal closure, with the families that share the prefix (`tokio-util`).
const IO: &[&str] = &["async-openai", "getrandom", "hyper", "mio", "reqwest", "sqlx", "tokio", "tonic"];

/// Features of chrono that read the clock; both come with its default features.
const CLOCK_FEATURES: &[&str] = &["clock", "default", "now"];

/// Outside crates that only the named crates may list in their manifests.
const HOLDERS: &[(&str, &[&str])] = &[
    ("sqlx", &["store-postgres", "store-sqlite"]),
    ("tonic", &["agrajag", "agrajag-proto", "agrajag-tests", "grpc-server"]),
    ("axum", &["agrajag-tests", "grpc-server"]),
];

const fn row(name: &'static str, folder: &'static str, may_depend_on: &'static [&'static str]) -> Row {
    Row { name, starred: false, folder, may_depend_on }
}

const fn core(name: &'static str, folder: &'static str, may_depend_on: &'static [&'static str]) -> Row {
    Row { name, starred: true, folder, may_depend_on }
}

/// Checks this workspace, and prints what it looked at.
pub(crate) fn arch() -> Result<()> {
    let metadata = MetadataCommand::new()
        .current_dir(workspace::root())
        .exec()
        .context("cannot read the workspace with cargo metadata")?;
    let graph = Graph::of(&metadata)?;
    let mut problems = problems(&graph, TABLE);
    for row in workspace::starred() {
        // Alone, because a workspace build unifies features and so blames a core crate for what another one asked for.
        let tree = process::output(&mut process::cargo([
            "tree",
            "--package",
            row.name,
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}|{f}",
        ]))?;
        problems.extend(problems_alone(row.name, &tree));
    }
    if problems.is_empty() {
        println!(
            "arch: {} crates, {} arrows, {} core crates free of I/O",
            graph.members().count(),
            graph.members().map(|(_, member)| graph.inner(member).count()).sum::<usize>(),
            workspace::starred().count()
        );
        return Ok(());
    }
    bail!(
        "the workspace breaks its architecture (table in `xtask/src/arch.rs`):\n  {}",
        problems.join("\n  ")
    );
}

/// What the rules need to know of the dependency graph.
#[derive(Default, Debug)]
struct Graph {
    packages: BTreeMap<String, Package>,
}

/// One package; the key in the graph is cargo's package id.
#[derive(Default, Debug)]
struct Package {
    name: String,
    member: bool,
    /// Keys of the packages it depends on normally or at build time.
    arrows: BTreeSet<String>,
    /// Features of chrono that its own manifest asks for; `default` stands for the default features.
    chrono: Vec<String>,
}

impl Graph {
    fn of(metadata: &Metadata) -> Result<Self> {
        let resolve = metadata.resolve.as_ref().context("cargo metadata gave no dependency graph")?;
        let mut graph = Self::default();
        for package in &metadata.packages {
            let chrono = package.dependencies.iter().filter(|it| it.name == "chrono" && is_arrow(it.kind));
            let asked = chrono.flat_map(|it| {
                let default = it.uses_default_features.then(|| "default".to_owned());
                it.features.iter().cloned().chain(default)
            });
            graph.packages.insert(
                package.id.repr.clone(),
                Package {
                    name: package.name.to_string(),
                    member: metadata.workspace_members.contains(&package.id),
                    arrows: BTreeSet::new(),
                    chrono: asked.collect(),
                },
            );
        }
        for node in &resolve.nodes {
            let arrows = node.deps.iter().filter(|dep| dep.dep_kinds.iter().any(|kind| is_arrow(kind.kind)));
            if let Some(package) = graph.packages.get_mut(&node.id.repr) {
                package.arrows.extend(arrows.map(|dep| dep.pkg.repr.clone()));
            }
        }
        Ok(graph)
    }

    fn members(&self) -> impl Iterator<Item = (&String, &Package)> {
        self.packages.iter().filter(|(_, package)| package.member)
    }

    fn targets(&self, package: &Package) -> impl Iterator<Item = &Package> {
        package.arrows.iter().filter_map(|key| self.packages.get(key))
    }

    /// The members that a package depends on.
    fn inner(&self, package: &Package) -> impl Iterator<Item = &Package> {
        self.targets(package).filter(|target| target.member)
    }

    /// The shortest path from the package to each package of its closure, as names, itself first.
    fn paths(&self, from: &str) -> Vec<Vec<&str>> {
        let mut seen = BTreeSet::from([from]);
        let mut queue = VecDeque::from([(from, Vec::new())]);
        let mut paths = Vec::new();
        while let Some((key, mut path)) = queue.pop_front() {
            let Some(package) = self.packages.get(key) else { continue };
            path.push(package.name.as_str());
            for next in &package.arrows {
                if seen.insert(next.as_str()) {
                    queue.push_back((next.as_str(), path.clone()));
                }
            }
            paths.push(path);
        }
        paths
    }
}

fn is_arrow(kind: DependencyKind) -> bool {
    matches!(kind, DependencyKind::Normal | DependencyKind::Build)
}

/// Every breach of the table, one sentence each, sorted by crate.
fn problems(graph: &Graph, table: &[Row]) -> Vec<String> {
    let mut problems = Vec::new();
    for (key, package) in graph.members() {
        let name = &package.name;
        let Some(row) = table.iter().find(|row| row.name == name) else {
            problems.push(format!("`{name}` is not in the table"));
            continue;
        };
        for target in graph.inner(package).filter(|target| !row.may_depend_on.contains(&target.name.as_str()))
        {
            problems.push(format!("`{name}` may not depend on `{}`", target.name));
        }
        for target in graph.targets(package) {
            let holders = HOLDERS.iter().find(|(held, _)| *held == target.name).map(|(_, holders)| *holders);
            if let Some(holders) = holders.filter(|holders| !holders.contains(&name.as_str())) {
                problems.push(format!(
                    "`{name}` may not hold `{}`; only {} may",
                    target.name,
                    holders.join(", ")
                ));
            }
        }
        if row.starred {
            problems.extend(core_problems(graph, key, package));
        }
    }
    for row in table.iter().filter(|row| !graph.members().any(|(_, package)| package.name == row.name)) {
        problems.push(format!("`{}` is in the table but not in the workspace", row.name));
    }
    problems
}

fn core_problems(graph: &Graph, key: &str, package: &Package) -> Vec<String> {
    let name = &package.name;
    let mut problems = Vec::new();
    for path in graph.paths(key) {
        if path.last().is_some_and(|last| is_io(last)) {
            problems.push(format!("core crate `{name}` reaches I/O: {}", path.join(" → ")));
        }
    }
    for feature in package.chrono.iter().filter(|feature| CLOCK_FEATURES.contains(&feature.as_str())) {
        problems.push(format!(
            "core crate `{name}` asks for chrono's feature `{feature}`, which reads the clock"
        ));
    }
    problems
}

/// Breaches seen in `cargo tree --format '{p}|{f}'` of one core crate built alone, with the features it really gets.
fn problems_alone(name: &str, tree: &str) -> Vec<String> {
    let mut problems = BTreeSet::new();
    for line in tree.lines() {
        let Some((package, features)) = line.split_once('|') else { continue };
        let package = package.split(' ').next().unwrap_or_default();
        if is_io(package) {
            problems.insert(format!("core crate `{name}`, built alone, reaches I/O: {package}"));
        }
        if package == "chrono" {
            // The list ends with a note on packages printed before.
            let features = features.split([',', ' ']).filter(|feature| CLOCK_FEATURES.contains(feature));
            for feature in features {
                problems
                    .insert(format!("core crate `{name}`, built alone, gets chrono's feature `{feature}`"));
            }
        }
    }
    problems.into_iter().collect()
}

/// Whether the package is one of [`IO`] or of a family of it.
fn is_io(package: &str) -> bool {
    IO.iter().any(|io| package.strip_prefix(io).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
}

#[cfg(test)]
mod tests;
