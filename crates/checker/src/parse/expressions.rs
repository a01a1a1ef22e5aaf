//! The regular expressions of one layer: each compiled once, and bounded in number and memory, since aliases write a long
//! list many times with a few bytes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::limits;
use crate::rule::{Pattern, PatternError};

use super::fields;
use super::node::Node;

/// What was compiled so far. What is past a limit costs its rule and is not compiled.
#[derive(Default)]
pub(super) struct Expressions {
    known: RefCell<BTreeMap<String, Result<Pattern, PatternError>>>,
    n_bytes: Cell<usize>,
}

impl Expressions {
    /// One expression, or what is wrong with it.
    pub(super) fn read(&self, node: &Node) -> Result<Pattern, String> {
        let source = fields::text(limits::MAX_NEEDLE_BYTES)(node)?;
        let shown = limits::head(&source, 80);
        let mut known = self.known.borrow_mut();
        if let Some(known) = known.get(&source) {
            return known.clone().map_err(|error| format!("`{shown}` {error}"));
        }
        if known.len() >= limits::MAX_EXPRESSIONS {
            return Err(format!(
                "`{shown}` is over the {} different expressions that a layer has at most; write it as text, or split the layer",
                limits::MAX_EXPRESSIONS
            ));
        }
        let over = || {
            format!(
                "`{shown}` takes the layer's expressions over {} bytes when compiled; shorten them, bound their repetitions such as {{1,400}}, or write them as text",
                limits::MAX_EXPRESSION_BYTES
            )
        };
        if self.n_bytes.get() > limits::MAX_EXPRESSION_BYTES {
            return Err(over());
        }
        let compiled = Pattern::new(&source);
        let n_bytes = match &compiled {
            Ok(it) => it.bytes(),
            // As much was done before it was given up.
            Err(PatternError::TooLarge) => limits::MAX_COMPILED_BYTES,
            Err(_) => 0,
        };
        self.n_bytes.set(self.n_bytes.get().saturating_add(n_bytes));
        if compiled.is_ok() && self.n_bytes.get() > limits::MAX_EXPRESSION_BYTES {
            return Err(over());
        }
        let answer = compiled.clone().map_err(|error| format!("`{shown}` {error}"));
        known.insert(source, compiled);
        answer
    }
}
