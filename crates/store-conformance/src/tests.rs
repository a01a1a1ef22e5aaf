//! The lists of this crate are complete.

use std::collections::BTreeSet;

/// The sources of the cases.
const SOURCES: [&str; 17] = [
    include_str!("cases/counters.rs"),
    include_str!("cases/deletes.rs"),
    include_str!("cases/documents.rs"),
    include_str!("cases/erasure.rs"),
    include_str!("cases/feed.rs"),
    include_str!("cases/handles.rs"),
    include_str!("cases/jobs.rs"),
    include_str!("cases/journal.rs"),
    include_str!("cases/leases.rs"),
    include_str!("cases/listing.rs"),
    include_str!("cases/outages.rs"),
    include_str!("cases/queue_limit.rs"),
    include_str!("cases/random.rs"),
    include_str!("cases/rules.rs"),
    include_str!("cases/sweeps.rs"),
    include_str!("cases/unreadable.rs"),
    include_str!("cases/writers.rs"),
];

fn written() -> BTreeSet<&'static str> {
    let lines = SOURCES.iter().flat_map(|it| it.lines());
    lines.filter_map(|it| it.strip_prefix("pub async fn ")?.split_once('(')).map(|(name, _)| name).collect()
}

#[test]
fn every_case_is_run() {
    let mut run = Vec::new();
    macro_rules! push {
        ($name:ident) => {
            run.push(stringify!($name))
        };
    }
    crate::each_case!(push);
    assert_eq!(run.iter().copied().collect::<BTreeSet<_>>(), written());
    assert_eq!(run.len(), written().len(), "no case is run twice");
}

#[test]
fn every_case_stands_beside_a_promise() {
    let table = include_str!("lib.rs");
    let missing: Vec<_> = written().into_iter().filter(|it| !table.contains(&format!("`{it}`"))).collect();
    assert!(missing.is_empty(), "not in the table of promises: {missing:?}");
}
