//! `agrajag success`: calls that worked, with the evidence.

use std::io;
use std::time::Duration;

use agrajag_proto::v1;

use super::{Context, write_warnings};
use crate::args::caller::CallerArgs;
use crate::args::time;
use crate::args::tool::ToolsArgs;
use crate::error::{Error, Exit};
use crate::output::Out;
use crate::table::Table;
use crate::wire::word;

/// Flags of `success`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Makes a repeated report count once.
    #[arg(long, value_name = "ID")]
    report_id: Option<String>,
    #[command(flatten)]
    tools: ToolsArgs,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    evidence: EvidenceArgs,
}

/// What shows that the call worked.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "The evidence")]
struct EvidenceArgs {
    /// `ok` of the result. False: not a success.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    ok: Option<bool>,
    /// The HTTP status. 400 and above: not a success.
    #[arg(long, value_name = "CODE")]
    http_status: Option<i32>,
    /// `isError` of an MCP tool result. True: not a success.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    is_error: Option<bool>,
    /// The code of a JSON-RPC error. Present: not a success.
    #[arg(long, value_name = "CODE", allow_negative_numbers = true)]
    json_rpc_code: Option<i64>,
    /// How long the call took: trouble that began after the call did is not cleared.
    #[arg(long, value_name = "SPAN", value_parser = time::span)]
    elapsed: Option<Duration>,
    /// The operation inside the tool.
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,
    /// The signature that is over, where the server clears by signature.
    #[arg(long, value_name = "SIGNATURE")]
    signature: Option<String>,
}

/// Reports the calls and shows what that cleared.
pub(crate) async fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let request = request(args)?;
    let remote = context.connect().await?;
    let response = remote.answer(remote.health().record_success(remote.request(request)).await)?;
    context.out.answer(&response, |out| render(out, &response))?;
    Ok(exit(&response))
}

fn request(args: &Args) -> Result<v1::RecordSuccessRequest, Error> {
    let tools = args.tools.to_tools();
    if tools.is_empty() {
        return Err(Error::input(
            "no tool is named",
            "name the tool that was called: `agrajag success jira_search`",
        ));
    }
    let evidence = &args.evidence;
    let successes = tools
        .into_iter()
        .map(|tool| v1::Success {
            tool: Some(tool),
            ok: evidence.ok,
            http_status: evidence.http_status,
            is_error: evidence.is_error,
            json_rpc_code: evidence.json_rpc_code,
            elapsed: evidence.elapsed.map(time::wire_span),
            operation: evidence.operation.clone().unwrap_or_default(),
            signature: evidence.signature.clone().unwrap_or_default(),
        })
        .collect();
    Ok(v1::RecordSuccessRequest {
        caller: Some(args.caller.to_caller()),
        successes,
        report_id: args.report_id.clone().unwrap_or_default(),
    })
}

/// Bad input if the server did not accept one of the items.
fn exit(response: &v1::RecordSuccessResponse) -> Exit {
    if response.results.iter().any(|it| it.status.is_some()) { Exit::Findings(2) } else { Exit::Ok }
}

fn render(out: &mut Out, response: &v1::RecordSuccessResponse) -> io::Result<()> {
    let mut table = Table::new(["TOOL", "OUTCOME", "STATE", "COOLDOWNS CLEARED", "NOT ACCEPTED"]);
    for result in &response.results {
        table.row([
            &result.tool_name,
            &word::<v1::SuccessOutcome>(result.outcome),
            &word::<v1::ToolState>(result.state),
            &result.n_cooldowns_cleared.to_string(),
            &result.status.as_ref().map_or_else(String::new, item_status),
        ]);
    }
    out.table(&table)?;
    out.line(&format!("stored: {}", word::<v1::Durability>(response.durability)))?;
    write_warnings(out, &response.warnings, response.stale)
}

/// Why an item of a batch was not accepted.
pub(crate) fn item_status(status: &v1::ItemStatus) -> String {
    format!("{} `{}`: {}", word::<v1::ErrorReason>(status.reason), status.field, status.message)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::json::to_json;
    use crate::output::Format;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn one_evidence_counts_for_every_tool_named() {
        let line = Line::parse_from([
            "success",
            "jira_search",
            "--tool",
            "wiki",
            "--user",
            "alice",
            "--kind",
            "mcp",
            "--is-error=false",
            "--elapsed",
            "2s",
            "--report-id",
            "r",
        ]);
        let request = request(&line.args).expect("usable");
        insta::assert_snapshot!(to_json(&request, true), @r#"{"caller":{"tenantId":"default","userId":"alice"},"successes":[{"tool":{"name":"jira_search","kind":"TOOL_KIND_MCP"},"isError":false,"elapsed":"2s"},{"tool":{"name":"wiki","kind":"TOOL_KIND_MCP"},"isError":false,"elapsed":"2s"}],"reportId":"r"}"#);
    }

    #[test]
    fn no_tool_is_bad_input() {
        let line = Line::parse_from(["success", "--ok"]);
        assert_eq!(request(&line.args).expect_err("no tool").exit_code(), 2);
    }

    #[test]
    fn an_item_that_was_not_accepted_shows_and_changes_the_exit_code() {
        let mut response = v1::RecordSuccessResponse {
            results: vec![v1::SuccessResult {
                tool_name: "wiki".to_owned(),
                outcome: v1::SuccessOutcome::Cleared.into(),
                state: v1::ToolState::Ok.into(),
                n_cooldowns_cleared: 2,
                status: None,
            }],
            durability: v1::Durability::Committed.into(),
            ..Default::default()
        };
        assert_eq!(exit(&response), Exit::Ok);
        response.results.push(v1::SuccessResult {
            status: Some(v1::ItemStatus {
                code: 3,
                reason: v1::ErrorReason::InvalidField.into(),
                field: "successes[1].tool.name".to_owned(),
                message: "must not be empty".to_owned(),
            }),
            ..Default::default()
        });
        assert_eq!(exit(&response).code(), 2);
        let (mut out, written) = Out::captured(Format::Table);
        render(&mut out, &response).expect("memory");
        insta::assert_snapshot!(written.text());
    }
}
