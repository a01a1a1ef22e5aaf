//! Rules that are never reached, because an earlier one matches everything that they do (C14).
//!
//! Conservative: a rule is named only where that can be proved from the conditions alone.

use crate::diagnostic::{Diagnostic, Severity};
use crate::limits;
use crate::rule::{Case, Condition, LayerKind, Numbers, is_name, text_ends};

use super::Entry;

/// Names the rules of packs, tenants and projects that are never reached, each with the first rule that hides it. What
/// ships and is hidden by a tenant is hidden on purpose.
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
        // Whoever stands in a higher layer overrules on purpose.
        if entry.layer == LayerKind::Pack && hiding.layer > LayerKind::Pack {
            continue;
        }
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
    use Condition::{
        Any, Code, Contains, DispatchCode, ErrorCode, ExceptionType, GrpcStatus, HttpStatus, HttpStatusRange,
        JsonRpcCode, Kind, Provider, SqlState, Status, ToolKind,
    };
    let one_range = |from: u16, to: u16| Numbers::new(vec![(i64::from(from), i64::from(to))]);
    match (wide, narrow) {
        (HttpStatusRange(from, to), HttpStatus(narrow)) => narrow.is_subset(&one_range(*from, *to)),
        (HttpStatusRange(from, to), HttpStatusRange(inner_from, inner_to)) => {
            from <= inner_from && inner_to <= to
        }
        (HttpStatus(wide), HttpStatusRange(from, to)) => one_range(*from, *to).is_subset(wide),
        (HttpStatus(wide), HttpStatus(narrow))
        | (Status(wide), Status(narrow))
        | (JsonRpcCode(wide), JsonRpcCode(narrow)) => narrow.is_subset(wide),
        (Code(wide), Code(narrow)) => narrow.normalised().iter().all(|it| wide.normalised().contains(it)),
        (GrpcStatus(wide), GrpcStatus(narrow)) | (ErrorCode(wide), ErrorCode(narrow)) => {
            narrow.iter().all(|it| wide.contains(it))
        }
        (Provider(wide), Provider(narrow)) => narrow.names().iter().all(|it| wide.names().contains(it)),
        (SqlState(wide), SqlState(narrow)) => {
            narrow.iter().all(|it| wide.iter().any(|wide| it.starts_with(wide.as_str())))
        }
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
        (Contains(wide), Contains(narrow)) => narrow
            .texts()
            .iter()
            .all(|text| wide.texts().iter().any(|it| holds_in(it, wide.case(), text, narrow.case()))),
        (wide @ Any(_), narrow @ Any(_)) if wide == narrow => true,
        (Any(branches), narrow) => {
            branches.iter().any(|it| matches!(it.as_slice(), [one] if follows(one, narrow, literal)))
        }
        (wide, narrow) => wide == narrow,
    }
}

/// Whether a needle is in every text that holds another one.
fn holds_in(wide: &str, wide_case: Case, narrow: &str, narrow_case: Case) -> bool {
    match (wide_case, narrow_case) {
        (Case::Exact, Case::Exact) => narrow.contains(wide),
        (Case::Exact, Case::Words) => false,
        (Case::Words, _) => {
            let (bare, begins, closes) = text_ends(wide, wide_case);
            let (narrow, inner_begins, inner_closes) = text_ends(narrow, narrow_case);
            let (bare, narrow) = (bare.to_ascii_lowercase(), narrow.to_ascii_lowercase());
            // At its ends a word of the wide one must be one of the narrow one too.
            let is_word = |it: Option<u8>| it.is_some_and(|it| it.is_ascii_alphanumeric());
            narrow.match_indices(&bare).any(|(at, _)| {
                let end = at + bare.len();
                let before = at.checked_sub(1).and_then(|it| narrow.as_bytes().get(it)).copied();
                let after = narrow.as_bytes().get(end).copied();
                let first = bare.bytes().next();
                let last = bare.bytes().next_back();
                let left =
                    !begins || !is_word(first) || if at == 0 { inner_begins } else { !is_word(before) };
                let right = !closes
                    || !is_word(last)
                    || if end == narrow.len() { inner_closes } else { !is_word(after) };
                left && right
            })
        }
    }
}
