//! The rules on small made-up graphs, and a real `tokio` planted in a copy of this workspace's manifests.

use std::fs;
use std::path::Path;

use super::*;

const SMALL: &[Row] = &[
    core("model", "crates/model", &[]),
    row("service", "crates/service", &["model"]),
    row("store", "crates/store", &["model"]),
];

/// A graph of packages by name; a name with a `/` before it is outside the workspace.
fn graph(packages: &[(&str, &[&str])]) -> Graph {
    let package = |&(name, arrows): &(&str, &[&str])| {
        let package = Package {
            name: name.trim_start_matches('/').to_owned(),
            member: !name.starts_with('/'),
            arrows: arrows.iter().map(|&arrow| arrow.to_owned()).collect(),
            chrono: Vec::new(),
        };
        (name.to_owned(), package)
    };
    Graph { packages: packages.iter().map(package).collect() }
}

fn sound() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("model", &["/serde"]),
        ("service", &["model", "/tokio"]),
        ("store", &["model"]),
        ("/serde", &[]),
        ("/tokio", &["/mio"]),
        ("/mio", &[]),
    ]
}

#[test]
fn a_graph_that_follows_the_table_passes() {
    assert_eq!(problems(&graph(&sound()), SMALL), [""; 0]);
}

#[test]
fn an_arrow_that_is_not_listed_fails() {
    let mut packages = sound();
    packages[2] = ("store", &["model", "service"]);
    assert_eq!(problems(&graph(&packages), SMALL), ["`store` may not depend on `service`"]);
}

#[test]
fn a_crate_that_is_not_listed_fails_and_so_does_a_row_without_a_crate() {
    let mut packages = sound();
    packages[2] = ("helpers", &[]);
    assert_eq!(
        problems(&graph(&packages), SMALL),
        ["`helpers` is not in the table", "`store` is in the table but not in the workspace"]
    );
}

#[test]
fn io_in_a_core_crate_is_found_through_others_and_the_path_is_told() {
    let mut packages = sound();
    packages[3] = ("/serde", &["/helper"]);
    packages.push(("/helper", &["/tokio-util"]));
    packages.push(("/tokio-util", &["/tokio"]));
    assert_eq!(
        problems(&graph(&packages), SMALL),
        [
            "core crate `model` reaches I/O: model → serde → helper → tokio-util",
            "core crate `model` reaches I/O: model → serde → helper → tokio-util → tokio",
            "core crate `model` reaches I/O: model → serde → helper → tokio-util → tokio → mio",
        ]
    );
}

#[test]
fn a_name_that_only_begins_alike_is_no_io() {
    assert!(is_io("tokio") && is_io("sqlx-core") && is_io("hyper-util"));
    assert!(!is_io("tokioish") && !is_io("hyperlink") && !is_io("miow"));
}

#[test]
fn only_the_named_crates_hold_sqlx() {
    let packages = graph(&[("model", &[]), ("service", &["/sqlx"]), ("store", &[]), ("/sqlx", &[])]);
    assert_eq!(
        problems(&packages, SMALL),
        ["`service` may not hold `sqlx`; only store-postgres, store-sqlite may"]
    );
}

#[test]
fn a_core_crate_that_asks_for_the_clock_fails() {
    for feature in ["now", "clock", "default"] {
        let mut graph = graph(&sound());
        graph.packages.get_mut("model").unwrap().chrono = vec!["serde".to_owned(), feature.to_owned()];
        let expected =
            format!("core crate `model` asks for chrono's feature `{feature}`, which reads the clock");
        assert_eq!(problems(&graph, SMALL), [expected]);
    }
}

#[test]
fn a_clock_that_comes_through_another_crate_shows_when_built_alone() {
    let tree = "model v0.0.0 (/x)|\nchrono v0.4.45|alloc,now,std (*)\nserde v1.0.0|default,derive\n";
    assert_eq!(
        problems_alone("model", tree),
        ["core crate `model`, built alone, gets chrono's feature `now`"]
    );
    assert_eq!(problems_alone("model", "chrono v0.4.45|alloc,serde,std\n"), [""; 0]);
    let tree = "model v0.0.0 (/x)|\ntokio v1.54.0|default\n";
    assert_eq!(problems_alone("model", tree), ["core crate `model`, built alone, reaches I/O: tokio"]);
}

/// What holds the state and what judges a failure can neither diagnose nor probe nor call a model, because they reach
/// nothing that could (R4, R91, R143, R144).
#[test]
fn core_crates_may_depend_on_core_crates_only() {
    let starred: Vec<&str> = TABLE.iter().filter(|row| row.starred).map(|row| row.name).collect();
    assert_eq!(starred, ["health-model", "checker"]);
    for row in TABLE.iter().filter(|row| row.starred) {
        assert!(row.may_depend_on.iter().all(|name| starred.contains(name)), "{row:?}");
    }
}

#[test]
fn folders_of_the_table_hold_the_packages() {
    for row in TABLE {
        let manifest = workspace::root().join(row.folder).join("Cargo.toml");
        let manifest =
            fs::read_to_string(&manifest).unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
        assert!(manifest.contains(&format!("name = \"{}\"", row.name)), "{}", row.folder);
    }
}

/// R91, R143, R144. The real manifests, copied without their code; `cargo metadata` reads no more than that.
#[test]
fn a_planted_tokio_in_a_real_core_crate_fails() {
    let copy = tempfile::tempdir().unwrap();
    copy_manifests(copy.path());
    let read = || {
        let metadata = MetadataCommand::new()
            .current_dir(copy.path())
            .other_options(["--offline".to_owned()])
            .exec()
            .unwrap_or_else(|error| panic!("{error}"));
        problems(&Graph::of(&metadata).unwrap(), TABLE)
    };
    let blames_tokio = |problem: &String| problem.starts_with("core crate") && problem.contains("tokio");
    assert!(!read().iter().any(blames_tokio), "nothing is planted yet");

    let manifest = copy.path().join("crates/health-model/Cargo.toml");
    let planted = fs::read_to_string(&manifest)
        .unwrap()
        .replace("[dependencies]", "[dependencies]\ntokio = { workspace = true, features = [\"rt\"] }");
    fs::write(&manifest, planted).unwrap();
    let problems = read();
    for path in [
        "`health-model` reaches I/O: health-model → tokio",
        "`checker` reaches I/O: checker → health-model → tokio",
    ] {
        assert!(problems.iter().any(|problem| problem.ends_with(path)), "{path} is not in {problems:#?}");
    }
}

fn copy_manifests(to: &Path) {
    let root = workspace::root();
    for file in ["Cargo.toml", "Cargo.lock"] {
        fs::copy(root.join(file), to.join(file)).unwrap();
    }
    let metadata = MetadataCommand::new().current_dir(&root).no_deps().exec().unwrap();
    for package in &metadata.packages {
        let manifest = package.manifest_path.as_std_path();
        let folder = manifest.parent().unwrap().strip_prefix(&root).unwrap();
        fs::create_dir_all(to.join(folder)).unwrap();
        fs::copy(manifest, to.join(folder).join("Cargo.toml")).unwrap();
        for target in &package.targets {
            let source = to.join(target.src_path.as_std_path().strip_prefix(&root).unwrap());
            fs::create_dir_all(source.parent().unwrap()).unwrap();
            fs::write(source, "").unwrap();
        }
    }
}
