//! Which public service is behind a tool: evidence by host, tool, header or body, never by a lone word.

use std::collections::BTreeMap;

use health_model::{Failure, Tool};

use crate::rule::Case;
use crate::unwrap::{Bits, CodeMap, normalise};

use super::literals::{Literal, Literals};

/// What gives a public service away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provider {
    /// The name that rules use.
    pub name: String,
    /// Hosts; those below them count too. Also looked for in the texts.
    pub hosts: Vec<String>,
    /// Words of the tool's name, of its provider, or of the exception type: `jira` is one of `mcp__jira__search`.
    pub words: Vec<String>,
    /// Names of response headers.
    pub headers: Vec<String>,
    /// Texts that only this service prints.
    pub texts: Vec<String>,
}

/// The providers of a table, numbered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Providers {
    all: Vec<String>,
    numbers: BTreeMap<String, u32>,
    /// While it is built: the providers of a word.
    named: BTreeMap<Box<[u8]>, Vec<u32>>,
    words: CodeMap,
    by_word: Vec<Vec<u32>>,
    /// Sorted.
    by_literal: Vec<(u32, u32)>,
    /// The literals that are evidence.
    literals: Bits,
    by_header: BTreeMap<String, Vec<u32>>,
    by_host: Vec<(String, u32)>,
}

impl Providers {
    /// Adds a provider; what is known of one of the same name is kept.
    pub(crate) fn add(&mut self, provider: &Provider, literals: &mut Literals) {
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let id = *self.numbers.entry(provider.name.clone()).or_insert(next);
        if id == next {
            self.all.push(provider.name.clone());
        }
        for word in provider.words.iter().filter_map(|it| normalise(it)) {
            self.named.entry(word).or_default().push(id);
        }
        self.by_host.extend(provider.hosts.iter().map(|it| (it.to_ascii_lowercase(), id)));
        for header in &provider.headers {
            self.by_header.entry(header.to_ascii_lowercase()).or_default().push(id);
        }
        let texts = provider.hosts.iter().chain(&provider.texts);
        self.by_literal.extend(texts.map(|it| (literals.number(Literal::new(it, Case::Words)), id)));
    }

    /// Numbers the words; no provider is added after that.
    pub(crate) fn finish(&mut self, n_literals: usize) {
        self.by_literal.sort_unstable();
        self.literals = Bits::with_room(n_literals);
        self.by_literal.iter().for_each(|(literal, _)| self.literals.insert(*literal));
        let named = std::mem::take(&mut self.named);
        self.words = CodeMap::build(named.keys().cloned());
        self.by_word = vec![Vec::new(); self.words.len()];
        for (word, ids) in named {
            let slot = self.words.id(&word).and_then(|it| self.by_word.get_mut(it as usize));
            if let Some(slot) = slot {
                *slot = ids;
            }
        }
    }

    pub(crate) fn id(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(crate) fn name(&self, id: u32) -> Option<&str> {
        self.all.get(id as usize).map(String::as_str)
    }

    /// One bit for each provider that there is evidence of.
    pub(crate) fn evident(&self, tool: &Tool, failure: &Failure, found: &Bits) -> Bits {
        let mut evident = Bits::with_room(self.all.len());
        let named = std::iter::once(tool.name.as_str()).chain(tool.provider.as_deref());
        let types = failure
            .exception_type
            .iter()
            .chain(failure.causes.iter().filter_map(|it| it.exception_type.as_ref()));
        for name in named.chain(types.map(String::as_str)) {
            words(name, |word| {
                self.words.find(word, |it| {
                    self.by_word.get(it as usize).into_iter().flatten().for_each(|it| evident.insert(*it));
                });
            });
        }
        for literal in found.both(&self.literals) {
            let from = self.by_literal.partition_point(|(it, _)| *it < literal);
            let of_literal = self.by_literal.iter().skip(from).take_while(|(it, _)| *it == literal);
            of_literal.for_each(|(_, id)| evident.insert(*id));
        }
        for (name, _) in &failure.headers {
            let ids = match self.by_header.get(name) {
                None if name.bytes().any(|it| it.is_ascii_uppercase()) => {
                    self.by_header.get(&name.to_ascii_lowercase())
                }
                ids => ids,
            };
            ids.into_iter().flatten().for_each(|it| evident.insert(*it));
        }
        // Only a database has a SQLSTATE to report in a field of its own.
        if failure.sql_state.is_some()
            && let Some(id) = self.id("sql")
        {
            evident.insert(id);
        }
        if let Some(host) = failure.target_host.as_deref() {
            let host = host.to_ascii_lowercase();
            let host = host.rsplit_once(':').map_or(host.as_str(), |(host, _)| host);
            for (suffix, id) in &self.by_host {
                if host.strip_suffix(suffix.as_str()).is_some_and(|it| it.is_empty() || it.ends_with('.')) {
                    evident.insert(*id);
                }
            }
        }
        evident
    }
}

/// The words of a name: `mcp__GitHub__searchCode` has `mcp`, `GitHub`, `Git`, `Hub`, `searchCode`, `search` and `Code`.
fn words(name: &str, mut each: impl FnMut(&str)) {
    for part in name.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty()).take(16) {
        each(part);
        let bytes = part.as_bytes();
        let mut from = 0;
        for (at, pair) in (1..).zip(bytes.windows(2)) {
            if let [before, letter] = pair
                && before.is_ascii_lowercase()
                && letter.is_ascii_uppercase()
            {
                each(part.get(from..at).unwrap_or_default());
                from = at;
            }
        }
        if from > 0 {
            each(part.get(from..).unwrap_or_default());
        }
    }
}
