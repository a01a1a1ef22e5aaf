//! Renderings of a verdict: which were asked for, and how they are answered. A report never fails for them
//! (DESIGN §5): what cannot be rendered is left out with a warning.

use agrajag_proto::v1::{self, WarningCode};
use health_model::Verdict;
use health_service::render::{Call, Dialect, render};

use super::caller::known;
use super::fields::{MAX_ID, Warnings};
use super::words;

/// What a request wants rendered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Each once, in the order of the request.
    dialects: Vec<Dialect>,
    call_id: String,
    tool: String,
}

/// What the request wants rendered; `None` = nothing, which is the usual case.
pub(crate) fn wanted(wire: &v1::CheckRequest, warnings: &mut Warnings) -> Option<Wanted> {
    let mut dialects = Vec::new();
    for (at, &word) in wire.render.iter().enumerate() {
        let dialect = known(word, words::render_dialect, || format!("render[{at}]"), warnings);
        if let Some(dialect) = dialect.filter(|it| !dialects.contains(it)) {
            dialects.push(dialect);
        }
    }
    if dialects.is_empty() {
        return None;
    }
    let mut call_id = wire.call_id.clone();
    if call_id.len() > MAX_ID {
        let message = format!("is {} bytes long and is left out; at most {MAX_ID} are taken", call_id.len());
        warnings.push(WarningCode::Dropped, "call_id", message);
        call_id.clear();
    }
    let tool = wire.tool.as_ref().map(|it| it.name.clone()).unwrap_or_default();
    Some(Wanted { dialects, call_id, tool })
}

/// The renderings that are possible.
pub(crate) fn renderings(
    wanted: Option<&Wanted>,
    verdict: &Verdict,
    warnings: &mut Warnings,
) -> Vec<v1::Rendering> {
    let Some(Wanted { dialects, call_id, tool }) = wanted else { return Vec::new() };
    let call = Call { id: Some(call_id.as_str()), tool };
    dialects
        .iter()
        .filter_map(|&dialect| match render(dialect, verdict, call) {
            Ok(content) => Some(v1::Rendering {
                dialect: words::wire_render_dialect(dialect).into(),
                media_type: dialect.media_type().to_owned(),
                content,
            }),
            Err(error) => {
                warnings.push(
                    WarningCode::Dropped,
                    "call_id",
                    format!("is missing: {error} and is left out"),
                );
                None
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(render: &[i32], call_id: &str) -> v1::CheckRequest {
        v1::CheckRequest {
            tool: Some(v1::Tool { name: "a".to_owned(), ..v1::Tool::default() }),
            render: render.to_vec(),
            call_id: call_id.to_owned(),
            ..v1::CheckRequest::default()
        }
    }

    /// DESIGN §5: an unknown word of a report is passed over with a warning.
    #[test]
    fn each_dialect_is_answered_once_and_an_unknown_one_is_left_out() {
        let mut warnings = Warnings::default();
        let wanted = wanted(&request(&[6, 77, 1, 6, 0], "c"), &mut warnings).unwrap();
        assert_eq!(wanted.dialects, [Dialect::ProblemJson, Dialect::Mcp]);
        assert_eq!(warnings.codes(), [(WarningCode::UnknownValue, "render[1]")]);
    }

    #[test]
    fn nothing_is_rendered_that_was_not_asked_for() {
        let mut warnings = Warnings::default();
        assert_eq!(wanted(&request(&[], &"c".repeat(257)), &mut warnings), None);
        assert!(warnings.codes().is_empty());
    }

    #[test]
    fn an_id_that_is_too_long_counts_as_none() {
        let mut warnings = Warnings::default();
        let wanted = wanted(&request(&[2], &"c".repeat(257)), &mut warnings).unwrap();
        assert_eq!(wanted.call_id, "");
        assert_eq!(warnings.codes(), [(WarningCode::Dropped, "call_id")]);
    }
}
