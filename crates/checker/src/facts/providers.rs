//! Which public service is behind a tool: evidence by host, tool, header or body, never by a lone word.

use std::collections::BTreeMap;

use health_model::{Failure, Tool};

use crate::rule::Case;
use crate::unwrap::Bits;

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

#[derive(Debug, Clone, Default)]
struct Compiled {
    provider: Provider,
    literals: Vec<u32>,
}

/// The providers of a table, numbered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Providers {
    all: Vec<Compiled>,
    numbers: BTreeMap<String, u32>,
    words: BTreeMap<String, Vec<u32>>,
}

impl Providers {
    /// Adds a provider; what is known of one of the same name is kept.
    pub(crate) fn add(&mut self, provider: &Provider, literals: &mut Literals) {
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let id = *self.numbers.entry(provider.name.clone()).or_insert(next);
        if id == next {
            self.all.push(Compiled {
                provider: Provider { name: provider.name.clone(), ..Provider::default() },
                literals: Vec::new(),
            });
        }
        for word in &provider.words {
            self.words.entry(word.to_ascii_lowercase()).or_default().push(id);
        }
        let Some(known) = self.all.get_mut(id as usize) else { return };
        known.provider.hosts.extend(provider.hosts.iter().map(|it| it.to_ascii_lowercase()));
        known.provider.headers.extend(provider.headers.iter().map(|it| it.to_ascii_lowercase()));
        let texts = provider.hosts.iter().chain(&provider.texts);
        known.literals.extend(texts.map(|it| literals.number(Literal::new(it, Case::Words))));
    }

    pub(crate) fn id(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(crate) fn name(&self, id: u32) -> Option<&str> {
        self.all.get(id as usize).map(|it| it.provider.name.as_str())
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
            for word in words(name) {
                let ids = self.words.get(&word).map(Vec::as_slice).unwrap_or_default();
                ids.iter().for_each(|it| evident.insert(*it));
            }
        }
        let host = failure.target_host.as_deref().map(|it| it.to_ascii_lowercase());
        let host = host.as_deref().map(|it| it.rsplit_once(':').map_or(it, |(host, _)| host));
        for (id, Compiled { provider, literals }) in (0_u32..).zip(&self.all) {
            let is_host = |it: &String| {
                host.is_some_and(|host| {
                    host.strip_suffix(it.as_str()).is_some_and(|it| it.is_empty() || it.ends_with('.'))
                })
            };
            if literals.iter().any(|it| found.contains(*it))
                || provider.hosts.iter().any(is_host)
                || provider.headers.iter().any(|it| failure.header(it).next().is_some())
            {
                evident.insert(id);
            }
        }
        evident
    }
}

/// The words of a name, in lower case: `mcp__GitHub__searchCode` has `mcp`, `git`, `hub`, `github`, `search`, `code` and
/// `searchcode`.
fn words(name: &str) -> Vec<String> {
    let mut all = Vec::new();
    for part in name.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty()).take(16) {
        all.push(part.to_ascii_lowercase());
        let mut word = String::new();
        let mut was_lower = false;
        for letter in part.chars() {
            if letter.is_ascii_uppercase() && was_lower {
                all.push(std::mem::take(&mut word));
            }
            was_lower = letter.is_ascii_lowercase();
            word.push(letter.to_ascii_lowercase());
        }
        if word.len() < part.len() {
            all.push(word);
        }
    }
    all
}
