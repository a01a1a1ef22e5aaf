//! `licences`: licence, source and duplicates of every package in the lock file's graph.
//!
//! A built-in stand-in for the part of cargo-deny that must always run. The allow list is the one of `deny.toml`, so there
//! is one place to change. Knows nothing of advisories: those need cargo-deny and its database.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{Metadata, MetadataCommand};

use crate::workspace;

/// How cargo writes that a package comes from a registry, and not from a repository or a folder. Other registries than the
/// default one are not configured here.
const REGISTRY: &str = "registry+";

/// Fails for a licence that is not allowed or a package from elsewhere; lists packages present in several versions.
pub(crate) fn licences() -> Result<()> {
    let deny = workspace::root().join("deny.toml");
    let text = fs::read_to_string(&deny).with_context(|| format!("cannot read `{}`", deny.display()))?;
    let allowed = allow_list(&text);
    ensure!(!allowed.is_empty(), "`deny.toml` has no `allow = [` list below `[licenses]`");

    let metadata =
        MetadataCommand::new().current_dir(workspace::root()).exec().context("cannot run cargo metadata")?;
    let problems = problems(&metadata, &allowed);
    let duplicates = duplicates(&metadata);
    println!("licences: {} packages, {} licences allowed", metadata.packages.len(), allowed.len());
    println!("{} packages in several versions:", duplicates.len());
    for (name, versions) in &duplicates {
        println!("  {name} {}", versions.join(", "));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        bail!("some packages may not be used:\n  {}", problems.join("\n  "))
    }
}

fn problems(metadata: &Metadata, allowed: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in &metadata.packages {
        let name = format!("`{} {}`", package.name, package.version);
        match &package.license {
            None => problems.push(format!("{name} names no licence")),
            Some(licence) if !is_allowed(licence, allowed) => {
                problems
                    .push(format!("{name} has the licence `{licence}`, which `deny.toml` does not allow"));
            }
            Some(_) => {}
        }
        // A package without a source is a member of the workspace.
        if let Some(source) = package.source.as_ref().filter(|source| !source.repr.starts_with(REGISTRY)) {
            problems.push(format!("{name} comes from `{}`", source.repr));
        }
    }
    problems
}

fn duplicates(metadata: &Metadata) -> BTreeMap<&str, Vec<String>> {
    let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for package in &metadata.packages {
        versions.entry(package.name.as_str()).or_default().push(package.version.to_string());
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions
}

/// The strings of the list `allow` in the section `[licenses]`.
fn allow_list(deny: &str) -> Vec<String> {
    let section = deny.lines().skip_while(|line| line.trim() != "[licenses]").skip(1);
    let section = section.take_while(|line| !line.starts_with('['));
    let list =
        section.skip_while(|line| !line.starts_with("allow = [")).take_while(|line| line.trim() != "]");
    list.filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect()
}

/// Whether the terms of an SPDX expression can be met by allowed licences alone.
///
/// `/` is the old spelling of `OR`. An exception (`WITH`) only widens what its licence permits.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { tokens: &tokens, allowed };
    parser.any() == Some(true) && parser.tokens.is_empty()
}

/// Evaluates while it reads; `None` is a syntax error.
struct Parser<'a> {
    tokens: &'a [&'a str],
    allowed: &'a [String],
}

impl Parser<'_> {
    fn any(&mut self) -> Option<bool> {
        let mut value = self.all()?;
        while self.take("OR") {
            value |= self.all()?;
        }
        Some(value)
    }

    fn all(&mut self) -> Option<bool> {
        let mut value = self.one()?;
        while self.take("AND") {
            value &= self.one()?;
        }
        Some(value)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let value = self.any()?;
            return self.take(")").then_some(value);
        }
        let (licence, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        if self.take("WITH") {
            self.tokens = self.tokens.split_first()?.1;
        }
        Some(self.allowed.iter().any(|allowed| allowed == licence))
    }

    fn take(&mut self, token: &str) -> bool {
        match self.tokens.split_first() {
            Some((first, rest)) if *first == token => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Vec<String> {
        ["MIT", "Apache-2.0", "ISC"].map(str::to_owned).to_vec()
    }

    #[test]
    fn one_allowed_choice_is_enough_and_every_part_is_needed() {
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/Unlicense",
            "Apache-2.0 AND ISC",
            "(GPL-3.0 OR MIT) AND ISC",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        ] {
            assert!(is_allowed(good, &allowed()), "{good}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", "", "MIT OR", "(MIT", "MIT ISC"]
        {
            assert!(!is_allowed(bad, &allowed()), "{bad}");
        }
    }

    #[test]
    fn the_allow_list_is_read_from_its_own_section() {
        let deny = "[bans]\nallow = [\n  \"no\",\n]\n[licenses]\n# why\nallow = [\n  \"MIT\",\n  # a note\n  \"ISC\",\n]\n[sources]\nallow = [\n  \"no\",\n]\n";
        assert_eq!(allow_list(deny), ["MIT", "ISC"]);
    }
}
