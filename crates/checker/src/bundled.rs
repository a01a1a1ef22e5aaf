//! The specification's twelve rules (R125…R137), from their own file. Owns nothing but the file.

use std::sync::LazyLock;

use crate::parse::{ParsedLayer, parse};
use crate::rule::LayerKind;

/// The text of the file.
pub const TEXT: &str = include_str!("../rules/bundled.yaml");

static LAYER: LazyLock<ParsedLayer> = LazyLock::new(|| parse(LayerKind::Bundled, "bundled.yaml", TEXT));

/// The parsed file. A test keeps it free of findings and equal to the specification's table.
#[must_use]
pub fn layer() -> &'static ParsedLayer {
    &LAYER
}

#[cfg(test)]
mod tests;
