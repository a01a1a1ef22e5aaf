//! A YAML document as a tree that keeps duplicate keys, and the place of any node of it.
//!
//! The library's own tree type makes one duplicate key an error of the whole document; a bad rule must cost itself alone.
//! Its reader tells the place of a node only in errors, so a place is found by reading again and failing there.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use crate::limits;

/// A YAML value, aliases expanded.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// In the order of the text, duplicates kept.
    Map(Vec<(Node, Node)>),
    /// A value with a tag of its own.
    Tagged(String),
}

/// One step from a node to a node inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Item(usize),
    Key(usize),
    Value(usize),
}

/// Why a text is no YAML.
#[derive(Debug)]
pub(super) struct Unreadable {
    /// From 1; 0 = not known.
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) message: String,
}

impl Node {
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, for a message: the value in backticks, cut.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Bool(it) => format!("the truth value `{it}`"),
            Self::Int(it) => format!("the number `{it}`"),
            Self::Float(it) => format!("the number `{it}`"),
            Self::Text(it) => format!("the text `{}`", limits::head(it, 80)),
            Self::List(it) => format!("a list of {}", it.len()),
            Self::Map(_) => "a mapping".to_owned(),
            Self::Tagged(tag) => format!("a value with the tag `!{}`", limits::head(tag, 80)),
        }
    }
}

/// Reads the one document of a text.
pub(super) fn read(text: &str) -> Result<Node, Unreadable> {
    let budget = Cell::new(limits::MAX_EXPANDED_BYTES);
    let seed = Seed { budget: &budget, depth: 0, find: None };
    seed.deserialize(serde_yaml::Deserializer::from_str(text)).map_err(|error| {
        let (line, column) = place_of(&error).unwrap_or((0, 0));
        Unreadable { line, column, message: format!("not readable as YAML: {error}") }
    })
}

/// The line and column of the node at `path`, from 1.
pub(super) fn locate(text: &str, path: &[Step]) -> Option<(u32, u32)> {
    let budget = Cell::new(limits::MAX_EXPANDED_BYTES);
    let seed = Seed { budget: &budget, depth: 0, find: Some(path) };
    let error = seed.deserialize(serde_yaml::Deserializer::from_str(text)).err()?;
    place_of(&error)
}

fn place_of(error: &serde_yaml::Error) -> Option<(u32, u32)> {
    let place = error.location()?;
    Some((u32::try_from(place.line()).ok()?, u32::try_from(place.column()).ok()?))
}

/// Reads a node; with `find`, fails at the node that the path leads to.
#[derive(Clone, Copy)]
struct Seed<'a> {
    /// What the expansion of aliases may still cost, over the whole document.
    budget: &'a Cell<usize>,
    depth: usize,
    find: Option<&'a [Step]>,
}

impl<'a> Seed<'a> {
    fn spend<E: serde::de::Error>(self, bytes: usize) -> Result<(), E> {
        match self.budget.get().checked_sub(bytes + size_of::<Node>()) {
            Some(left) => {
                self.budget.set(left);
                Ok(())
            }
            None => Err(E::custom("its aliases expand to more than is read; write the values out")),
        }
    }

    fn inner(self, step: Step) -> Self {
        let find = self.find.and_then(|path| {
            let (first, rest) = path.split_first()?;
            (*first == step).then_some(rest)
        });
        Seed { find, depth: self.depth + 1, ..self }
    }

    fn is_target(self) -> bool {
        self.find.is_some_and(<[Step]>::is_empty)
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Node, E> {
        self.scalar(Node::Null, 0)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Node, E> {
        self.scalar(Node::Null, 0)
    }

    fn visit_bool<E: serde::de::Error>(self, it: bool) -> Result<Node, E> {
        self.scalar(Node::Bool(it), 0)
    }

    fn visit_i64<E: serde::de::Error>(self, it: i64) -> Result<Node, E> {
        self.scalar(Node::Int(it.into()), 0)
    }

    fn visit_u64<E: serde::de::Error>(self, it: u64) -> Result<Node, E> {
        self.scalar(Node::Int(it.into()), 0)
    }

    fn visit_i128<E: serde::de::Error>(self, it: i128) -> Result<Node, E> {
        self.scalar(Node::Int(it), 0)
    }

    fn visit_u128<E: serde::de::Error>(self, it: u128) -> Result<Node, E> {
        self.scalar(i128::try_from(it).map_or_else(|_| Node::Text(it.to_string()), Node::Int), 0)
    }

    fn visit_f64<E: serde::de::Error>(self, it: f64) -> Result<Node, E> {
        self.scalar(Node::Float(it), 0)
    }

    fn visit_str<E: serde::de::Error>(self, it: &str) -> Result<Node, E> {
        self.scalar(Node::Text(it.to_owned()), it.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        self.enter()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self.inner(Step::Item(items.len())))? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        self.enter()?;
        let mut entries = Vec::new();
        while let Some(key) = access.next_key_seed(self.inner(Step::Key(entries.len())))? {
            let value = access.next_value_seed(self.inner(Step::Value(entries.len())))?;
            entries.push((key, value));
        }
        Ok(Node::Map(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Node, A::Error> {
        self.enter()?;
        let (tag, value) = access.variant::<String>()?;
        value.newtype_variant_seed(Seed { find: None, depth: self.depth + 1, ..self })?;
        Ok(Node::Tagged(tag))
    }
}

impl Seed<'_> {
    fn scalar<E: serde::de::Error>(self, node: Node, bytes: usize) -> Result<Node, E> {
        self.spend(bytes)?;
        if self.is_target() { Err(E::custom("here")) } else { Ok(node) }
    }

    fn enter<E: serde::de::Error>(self) -> Result<(), E> {
        self.spend(0)?;
        if self.is_target() {
            return Err(E::custom("here"));
        }
        if self.depth >= limits::MAX_NESTING {
            let message = format!("nested deeper than {} levels; flatten it", limits::MAX_NESTING);
            return Err(E::custom(message));
        }
        Ok(())
    }
}
