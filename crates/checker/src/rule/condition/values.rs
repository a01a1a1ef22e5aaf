//! Values to compare with: numbers, codes, wildcards, headers, JSON values, shapes of bodies.

use std::fmt;

use health_model::Failure;
use serde_json::Value;

use crate::redact;
use crate::unwrap::{Mask, normalise};

/// Whole numbers and ranges of them, both ends included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Numbers(Vec<(i64, i64)>);

impl Numbers {
    /// From ranges; no range may be reversed.
    #[must_use]
    pub const fn new(ranges: Vec<(i64, i64)>) -> Self {
        Self(ranges)
    }

    /// One number.
    #[must_use]
    pub fn one(number: i64) -> Self {
        Self(vec![(number, number)])
    }

    /// The ranges.
    #[must_use]
    pub fn ranges(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// Whether a number is among them.
    #[must_use]
    pub fn contains(&self, number: i64) -> bool {
        self.0.iter().any(|(from, to)| *from <= number && number <= *to)
    }

    /// Whether each of them is among the other's.
    #[must_use]
    pub fn is_subset(&self, of: &Self) -> bool {
        self.0.iter().all(|it| of.has_all_of(*it))
    }

    /// Whether one of the ranges holds a whole other one.
    pub(crate) fn has_all_of(&self, (from, to): (i64, i64)) -> bool {
        self.0.iter().any(|(wide_from, wide_to)| *wide_from <= from && to <= *wide_to)
    }

    /// The numbers, unless there are more than `limit`.
    pub(crate) fn listed(&self, limit: usize) -> Option<Vec<i64>> {
        let n: i64 = self
            .0
            .iter()
            .map(|(from, to)| to.saturating_sub(*from).saturating_add(1))
            .fold(0, i64::saturating_add);
        (usize::try_from(n).is_ok_and(|it| it <= limit))
            .then(|| self.0.iter().flat_map(|(from, to)| *from..=*to).collect())
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (from, to)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            if from == to {
                write!(f, "{comma}{from}")?;
            } else {
                write!(f, "{comma}{from} to {to}")?;
            }
        }
        Ok(())
    }
}

/// Machine codes, compared by their letters and digits.
#[derive(Debug, Clone, Default)]
pub struct Codes {
    names: Vec<String>,
    normalised: Vec<Box<[u8]>>,
    /// The codes' numbers in a table; empty outside one.
    pub(crate) ids: Vec<u32>,
    pub(crate) mask: Mask,
}

impl Codes {
    /// From the codes as written; one without letters and digits is left out.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        let normalised = names.iter().filter_map(|it| normalise(it)).collect();
        Self { names, normalised, ids: Vec::new(), mask: Mask::default() }
    }

    /// The codes as written.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The codes as compared.
    pub(crate) fn normalised(&self) -> &[Box<[u8]>] {
        &self.normalised
    }
}

/// By what they say: their numbers differ from table to table.
impl PartialEq for Codes {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl Eq for Codes {}

/// Providers, by name.
#[derive(Debug, Clone, Default)]
pub struct ProviderNames {
    names: Vec<String>,
    /// The providers' numbers in a table; empty outside one, and for a name that no layer describes.
    pub(crate) ids: Vec<u32>,
}

impl ProviderNames {
    /// From the names as written.
    #[must_use]
    pub const fn new(names: Vec<String>) -> Self {
        Self { names, ids: Vec::new() }
    }

    /// The names as written.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// By what they say: their numbers differ from table to table.
impl PartialEq for ProviderNames {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl Eq for ProviderNames {}

/// A text in which `*` stands for any characters. Letters are compared without case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wildcard(String);

impl Wildcard {
    /// From the text as written.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_ascii_lowercase())
    }

    /// The text, in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text fits.
    #[must_use]
    pub fn fits(&self, text: &str) -> bool {
        self.fits_lower(&text.to_ascii_lowercase())
    }

    /// As [`Wildcard::fits`], of a text without capitals.
    pub(crate) fn fits_lower(&self, text: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = text.strip_prefix(first) else { return false };
        let mut parts = parts.peekable();
        if parts.peek().is_none() {
            return rest.is_empty();
        }
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return rest.ends_with(part);
            }
            match rest.split_once(part) {
                Some((_, behind)) => rest = behind,
                None => return false,
            }
        }
        true
    }
}

/// What is wanted of a response header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderTest {
    name: String,
    values: Option<Vec<Wildcard>>,
}

impl HeaderTest {
    /// A header of this name whose value fits one of these; `None` = whatever its value.
    #[must_use]
    pub fn new(name: &str, values: Option<Vec<Wildcard>>) -> Self {
        Self { name: name.to_ascii_lowercase(), values }
    }

    /// The header's name, in lower case.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values, of which one must fit; `None` = any.
    #[must_use]
    pub fn values(&self) -> Option<&[Wildcard]> {
        self.values.as_deref()
    }

    pub(super) fn holds(&self, failure: &Failure) -> bool {
        failure.header(&self.name).any(|value| match &self.values {
            None => true,
            Some(values) => values.iter().any(|it| it.fits(value.trim())),
        })
    }

    pub(super) fn seen(&self, failure: &Failure) -> Option<String> {
        // Whether the value is secret shows in the name.
        failure.header(&self.name).next().map(|it| redact::excerpt(&format!("{}: {it}", self.name)))
    }
}

impl fmt::Display for HeaderTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.values {
            None => Ok(()),
            Some(values) => {
                let values: Vec<&str> = values.iter().map(Wildcard::as_str).collect();
                write!(f, ": {}", values.join(" or "))
            }
        }
    }
}

/// What is wanted of a value of a JSON body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonTest {
    pointer: String,
    values: Option<Vec<Value>>,
}

impl JsonTest {
    /// The value at this pointer (RFC 6901) equals one of these; `None` = there is one, whatever it is.
    #[must_use]
    pub const fn new(pointer: String, values: Option<Vec<Value>>) -> Self {
        Self { pointer, values }
    }

    /// The pointer.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The last name of the pointer that is one of an object for sure, and stands in a JSON text as it is.
    pub(super) fn key(&self) -> Option<&str> {
        let is_plain =
            |it: &&str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphabetic() || it == b'_');
        self.pointer.rsplit('/').find(is_plain)
    }

    /// The values, of which one must be there; `None` = any.
    #[must_use]
    pub fn values(&self) -> Option<&[Value]> {
        self.values.as_deref()
    }

    pub(super) fn holds(&self, json: &Value) -> bool {
        json.pointer(&self.pointer).is_some_and(|it| match &self.values {
            None => !it.is_null(),
            Some(values) => values.contains(it),
        })
    }

    pub(super) fn seen(&self, json: &Value) -> Option<String> {
        let value = json.pointer(&self.pointer)?;
        // What stands under a telling name is secret as a whole, whatever it is called itself.
        let is_secret =
            !(value.is_null() || value.is_boolean()) && self.pointer.split('/').any(redact::is_secret_name);
        Some(match is_secret {
            true => format!("{}: {}", self.pointer, redact::SECRET),
            false => redact::excerpt(&format!("{}: {value}", self.pointer)),
        })
    }
}

impl fmt::Display for JsonTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pointer)?;
        match &self.values {
            None => Ok(()),
            Some(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, ": {}", values.join(" or "))
            }
        }
    }
}

/// What a body looks like from its first characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyShape {
    /// Nothing, or white space.
    Empty,
    /// A JSON object or list.
    Json,
    /// A page.
    Html,
    /// Any other XML.
    Xml,
    /// Anything else.
    Text,
}

impl BodyShape {
    /// Every word with its spelling in a rule file.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("empty", Self::Empty),
        ("json", Self::Json),
        ("html", Self::Html),
        ("xml", Self::Xml),
        ("text", Self::Text),
    ];

    /// The shape of a body.
    #[must_use]
    pub fn of(body: &str) -> Self {
        let body = body.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        let begins = |it: &str| {
            body.as_bytes().get(..it.len()).is_some_and(|head| head.eq_ignore_ascii_case(it.as_bytes()))
        };
        if body.is_empty() {
            Self::Empty
        } else if body.starts_with(['{', '[']) {
            Self::Json
        } else if begins("<!doctype html") || begins("<html") || begins("<head") || begins("<body") {
            Self::Html
        } else if body.starts_with('<') {
            Self::Xml
        } else {
            Self::Text
        }
    }

    /// The stable spelling, lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Json => "json",
            Self::Html => "html",
            Self::Xml => "xml",
            Self::Text => "text",
        }
    }
}
