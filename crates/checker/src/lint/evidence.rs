//! Providers that are recognised by what others print as well.

use crate::facts::Provider;

use super::{Check, Remark, wide};

/// Words of names that many services share.
const COMMON_WORDS: &[&str] = &[
    "api",
    "app",
    "client",
    "close",
    "closed",
    "cloud",
    "core",
    "data",
    "error",
    "exception",
    "fetch",
    "file",
    "get",
    "http",
    "https",
    "json",
    "list",
    "net",
    "request",
    "response",
    "rest",
    "search",
    "server",
    "service",
    "status",
    "tool",
    "web",
];

/// What is too common in the evidence of a provider.
pub(super) fn check(provider: &Provider, add: &mut impl FnMut(Remark)) {
    let name = &provider.name;
    let mut common = |field: &str, value: &str, what: &str| {
        add(Remark::warning(Check::CommonEvidence, &format!("providers.{name}.{field}"), value)
            .say(format!("is no evidence of {name}: {what}"))
            .remedy("name what only this service has"));
    };
    for word in provider.words.iter().filter(|it| COMMON_WORDS.contains(&it.to_ascii_lowercase().as_str())) {
        common("words", word, "tools and exceptions of other services have it in their names");
    }
    for text in &provider.texts {
        let bare = text.trim_matches('*');
        if wide::is_common(bare) && !bare.eq_ignore_ascii_case(name) {
            common("texts", text, "failures of every kind print it");
        }
    }
    for host in provider.hosts.iter().filter(|it| !it.contains('.')) {
        common("hosts", host, "it is no name of a host in a domain");
    }
    for header in ["server", "date", "content-type", "retry-after", "x-request-id", "via"] {
        if provider.headers.iter().any(|it| it.eq_ignore_ascii_case(header)) {
            common("headers", header, "every server sends it");
        }
    }
}
