//! The rule packs that ship with the program: one YAML file a family, in the order in which they decide.
//!
//! Owns the list and its order: what knows a service stands before what knows a protocol, machine codes before words, and
//! the HTTP status, which says least, comes last.

use std::sync::LazyLock;

use crate::parse::{ParsedLayer, parse};
use crate::rule::LayerKind;

/// Name and text of every pack, first the one that decides first.
pub const SOURCES: &[(&str, &str)] = &[
    ("dev.yaml", include_str!("../packs/dev.yaml")),
    ("office.yaml", include_str!("../packs/office.yaml")),
    ("business.yaml", include_str!("../packs/business.yaml")),
    ("cloud.yaml", include_str!("../packs/cloud.yaml")),
    ("llm.yaml", include_str!("../packs/llm.yaml")),
    ("search.yaml", include_str!("../packs/search.yaml")),
    ("database.yaml", include_str!("../packs/database.yaml")),
    ("broker.yaml", include_str!("../packs/broker.yaml")),
    ("object.yaml", include_str!("../packs/object.yaml")),
    ("grpc.yaml", include_str!("../packs/grpc.yaml")),
    ("mcp.yaml", include_str!("../packs/mcp.yaml")),
    ("oauth.yaml", include_str!("../packs/oauth.yaml")),
    ("shell.yaml", include_str!("../packs/shell.yaml")),
    ("browser.yaml", include_str!("../packs/browser.yaml")),
    ("network.yaml", include_str!("../packs/network.yaml")),
    ("http.yaml", include_str!("../packs/http.yaml")),
    ("words.yaml", include_str!("../packs/words.yaml")),
    ("status.yaml", include_str!("../packs/status.yaml")),
];

static LAYERS: LazyLock<Vec<ParsedLayer>> =
    LazyLock::new(|| SOURCES.iter().map(|(name, text)| parse(LayerKind::Pack, name, text)).collect());

/// The packs, parsed once a process. They are tested to have no findings.
#[must_use]
pub fn layers() -> &'static [ParsedLayer] {
    &LAYERS
}
