//! Reads `providers`: what gives a public service away.

use crate::diagnostic::Severity;
use crate::facts::Provider;
use crate::limits;

use super::fields::{self, Fields};
use super::locate::Report;
use super::node::{Node, Step};

/// The fields of a provider.
const FIELDS: &[&str] = &["hosts", "words", "headers", "texts"];

/// The providers without mistakes.
pub(super) fn read(node: &Node, at: usize, report: &mut Report<'_>) -> Vec<Provider> {
    let entries = match node {
        Node::Map(entries) => entries.as_slice(),
        Node::Null => &[],
        other => {
            let message = format!("expected a mapping from names to providers, found {}", other.describe());
            report.at(Severity::Error, &[Step::Value(at)], "providers", None, message);
            return Vec::new();
        }
    };
    let mut providers = Vec::new();
    for (index, (key, value)) in entries.iter().enumerate() {
        let path = [Step::Value(at), Step::Value(index)];
        let name = match fields::name(limits::MAX_ID_BYTES)(key) {
            Ok(name) => name,
            Err(message) => {
                report.at(Severity::Error, &[Step::Value(at), Step::Key(index)], "providers", None, message);
                continue;
            }
        };
        let Node::Map(entries) = value else {
            let message =
                format!("expected a mapping with {}, found {}", FIELDS.join(", "), value.describe());
            report.at(Severity::Error, &path, &format!("providers.{name}"), None, message);
            continue;
        };
        let mut fields = Fields::new(entries, &path, format!("providers.{name}"), None, report);
        fields.check_names(FIELDS);
        let text = || fields::text(limits::MAX_NEEDLE_BYTES);
        let hosts = fields.read_list("hosts", text()).unwrap_or_default();
        let words = fields.read_list("words", text()).unwrap_or_default();
        let headers = fields.read_list("headers", text()).unwrap_or_default();
        let texts = fields.read_list("texts", text()).unwrap_or_default();
        if !fields.has_failed() {
            providers.push(Provider { name, hosts, words, headers, texts });
        }
    }
    providers
}
