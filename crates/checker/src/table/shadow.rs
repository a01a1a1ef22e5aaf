//! Rules that are never reached, because an earlier one matches everything that they do (C14).
//!
//! Conservative: a rule is named only where that can be proved from the conditions alone.

use crate::diagnostic::{Diagnostic, Severity};
use crate::limits;
use crate::rule::{Condition, LayerKind, is_name};

use super::Entry;

/// Names the rules of packs, tenants and projects that are never reached, each with the first rule that hides it. Bundled
/// rules that a tenant hides are hidden on purpose.
pub(super) fn report(entries: &[Entry], literal: bool, diagnostics: &mut Vec<Diagnostic>) {
    let mut n_named = 0;
    for (at, entry) in entries.iter().enumerate() {
        if entry.layer == LayerKind::Bundled || n_named >= limits::MAX_DIAGNOSTICS {
            continue;
        }
        let Some(hiding) =
            entries.iter().take(at).find(|it| covers(&it.rule.conditions, &entry.rule.conditions, literal))
        else {
            continue;
        };
        n_named += 1;
        diagnostics.push(Diagnostic {
            severity: Severity::Warning,
            source: entry.source.to_string(),
            line: entry.rule.line,
            column: 0,
            field: "match".to_owned(),
            rule_id: Some(entry.rule.id.clone()),
            message: format!(
                "never reached: rule `{0}` of the {1} layer stands before it and matches all that it does; write before: {0}",
                hiding.rule.id, hiding.layer
            ),
        });
    }
}

/// Whether the first conditions hold wherever the second do.
fn covers(wide: &[Condition], narrow: &[Condition], literal: bool) -> bool {
    wide.iter().all(|condition| narrow.iter().any(|it| follows(condition, it, literal)))
}

/// Whether `wide` holds wherever `narrow` does.
fn follows(wide: &Condition, narrow: &Condition, literal: bool) -> bool {
    use Condition::{BodyContains, DispatchCode, ExceptionType, HttpStatus, HttpStatusRange, Kind, ToolKind};
    match (wide, narrow) {
        (HttpStatusRange(from, to), HttpStatus(status)) => from <= status && status <= to,
        (HttpStatusRange(from, to), HttpStatusRange(inner_from, inner_to)) => {
            from <= inner_from && inner_to <= to
        }
        (HttpStatus(status), HttpStatusRange(from, to)) => from == status && to == status,
        (DispatchCode(wide), DispatchCode(narrow)) => narrow.iter().all(|it| wide.contains(it)),
        (ToolKind(wide), ToolKind(narrow)) => narrow.iter().all(|it| wide.contains(it)),
        (Kind(wide), Kind(narrow)) => narrow.is_subset(*wide),
        (ExceptionType(wide), ExceptionType(narrow)) if literal => {
            narrow.names().iter().all(|it| wide.names().iter().any(|name| is_name(it, name)))
        }
        (Kind(_), ExceptionType(_)) | (ExceptionType(_), Kind(_)) if literal => false,
        (Kind(wide), ExceptionType(narrow)) => narrow.raw().is_empty() && narrow.kinds().is_subset(*wide),
        (ExceptionType(wide), Kind(narrow)) => narrow.is_subset(wide.kinds()),
        (ExceptionType(wide), ExceptionType(narrow)) => {
            narrow.kinds().is_subset(wide.kinds())
                && narrow.raw().iter().all(|it| wide.raw().iter().any(|name| is_name(it, name)))
        }
        (BodyContains(wide), BodyContains(narrow)) => {
            narrow.texts().iter().all(|text| wide.texts().iter().any(|it| text.contains(it.as_str())))
        }
        (wide, narrow) => wide == narrow,
    }
}
