//! `agrajag lookup`: which tools are usable for this caller, and what the model is told.

use std::io;

use agrajag_proto::v1;

use super::{Context, write_warnings};
use crate::args::caller::CallerArgs;
use crate::args::tool::ToolsArgs;
use crate::error::{Error, Exit};
use crate::json::from_json;
use crate::output::{Out, printable};
use crate::show;
use crate::wire::choice;

/// Flags of `lookup`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// `shown` of the last answer of this conversation: what recovered since is then told.
    #[arg(long, value_name = "BASE64", value_parser = token)]
    shown: Option<Token>,
    /// A revision of an earlier answer: this one is to know at least that much.
    #[arg(long, value_name = "REVISION")]
    at_least: Option<String>,
    /// Read the store before answering, not the server's copy.
    #[arg(long)]
    fresh: bool,
    /// Without tools: every one of the caller's cascade that is not OK.
    #[command(flatten)]
    tools: ToolsArgs,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    surface: SurfaceArgs,
}

/// The opaque token of an answer.
#[derive(Debug, Clone)]
struct Token(Vec<u8>);

/// Reads a token as the JSON mapping writes it.
fn token(text: &str) -> Result<Token, String> {
    from_json::<v1::LookupRequest>(&serde_json::json!({ "shown": text }).to_string())
        .map(|it| Token(it.shown))
        .map_err(|_| "no Base64; take it as it stands in the JSON of an earlier answer".to_owned())
}

/// How trouble shows. `watch` takes the same.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "How trouble shows")]
pub(crate) struct SurfaceArgs {
    /// In the tool list [default: as the server is configured].
    #[arg(long, value_parser = choice::<v1::SurfaceMode>(), ignore_case = true)]
    pub(crate) surface: Option<v1::SurfaceMode>,
    /// Where the words go [default: as the server is configured].
    #[arg(long, value_parser = choice::<v1::Placement>(), ignore_case = true)]
    pub(crate) placement: Option<v1::Placement>,
}

/// Asks and shows the table, then the block.
pub(crate) async fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let remote = context.connect().await?;
    let response = remote.answer(remote.health().lookup(remote.request(request(args))).await)?;
    context.out.answer(&response, |out| render(out, &response))?;
    Ok(exit(&response))
}

fn request(args: &Args) -> v1::LookupRequest {
    v1::LookupRequest {
        caller: Some(args.caller.to_caller()),
        tools: args.tools.to_tools(),
        shown: args.shown.clone().map(|it| it.0).unwrap_or_default(),
        at_least: args.at_least.clone().unwrap_or_default(),
        consistency: if args.fresh { v1::Consistency::Store.into() } else { 0 },
        surface: args.surface.surface.map_or(0, i32::from),
        placement: args.surface.placement.map_or(0, i32::from),
    }
}

/// The worst state decides. RETESTING counts as usable.
fn exit(response: &v1::LookupResponse) -> Exit {
    let exit = |it: &v1::ToolHealth| match it.state() {
        v1::ToolState::Down => Exit::Down,
        v1::ToolState::Degraded => Exit::Degraded,
        _ => Exit::Ok,
    };
    response.tools.iter().map(exit).max().unwrap_or(Exit::Ok)
}

fn render(out: &mut Out, response: &v1::LookupResponse) -> io::Result<()> {
    if response.tools.is_empty() {
        out.line("No tool of this caller is in trouble.")?;
    } else {
        let mut table = show::health_table();
        response.tools.iter().for_each(|it| show::health_row(&mut table, it));
        out.table(&table)?;
    }
    if !response.recovered.is_empty() {
        out.line(&printable(&format!("available again: {}", response.recovered.join(", "))))?;
    }
    if !response.block.is_empty() {
        out.line("")?;
        out.line("For the prompt, behind its cached part:")?;
        for line in response.block.lines() {
            out.line(&printable(line))?;
        }
    }
    write_warnings(out, &response.warnings, response.stale)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use prost_types::Timestamp;

    use super::*;
    use crate::json::to_json;
    use crate::output::Format;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn tool(name: &str, state: v1::ToolState) -> v1::ToolHealth {
        v1::ToolHealth { tool_name: name.to_owned(), state: state.into(), ..Default::default() }
    }

    #[test]
    fn the_order_of_the_command_line_is_the_order_of_the_request() {
        let line = Line::parse_from([
            "lookup",
            "b",
            "a",
            "--tool",
            "c",
            "--user",
            "alice",
            "--surface",
            "hide",
            "--placement",
            "none",
            "--fresh",
            "--shown",
            "AAEC",
            "--at-least",
            "r1",
        ]);
        insta::assert_snapshot!(to_json(&request(&line.args), true), @r#"{"caller":{"tenantId":"default","userId":"alice"},"tools":[{"name":"b"},{"name":"a"},{"name":"c"}],"shown":"AAEC","atLeast":"r1","consistency":"CONSISTENCY_STORE","surface":"SURFACE_MODE_HIDE","placement":"PLACEMENT_NONE"}"#);
    }

    /// The exit codes that scripts build on: 10 degraded, 11 down, the worst decides, RETESTING is usable.
    #[test]
    fn the_worst_state_is_the_exit_code() {
        use v1::ToolState::{Degraded, Down, Ok, Retesting};
        let code = |states: &[v1::ToolState]| {
            let tools = states.iter().map(|it| tool("x", *it)).collect();
            exit(&v1::LookupResponse { tools, ..Default::default() }).code()
        };
        assert_eq!(code(&[]), 0);
        assert_eq!(code(&[Ok, Retesting]), 0);
        assert_eq!(code(&[Ok, Degraded]), 10);
        assert_eq!(code(&[Down, Degraded, Ok]), 11);
    }

    #[test]
    fn the_table_and_the_block_fit_100_columns() {
        let words =
            "currently unavailable, expected back at 2026-11-30 14:10 UTC; do not call it, plan without it";
        let down = v1::ToolHealth {
            words: words.to_owned(),
            retry_at: Some(Timestamp { seconds: 1_796_000_000, nanos: 500_000_000 }),
            reason_code: "connect-refused".to_owned(),
            scope: v1::Scope::Project.into(),
            ..tool("jira_search", v1::ToolState::Down)
        };
        let response = v1::LookupResponse {
            tools: vec![down, tool("wiki", v1::ToolState::Ok)],
            block: format!("Tool availability:\n- jira_search: {words}\n"),
            recovered: vec!["mail".to_owned()],
            stale: true,
            ..Default::default()
        };
        let (mut out, written) = Out::captured(Format::Table);
        render(&mut out, &response).expect("memory");
        let text = written.text();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_token_that_is_none_is_refused() {
        assert!(Line::try_parse_from(["lookup", "--shown", "no Base64!"]).is_err());
    }

    #[test]
    fn nothing_in_trouble_is_a_sentence() {
        let (mut out, written) = Out::captured(Format::Table);
        render(&mut out, &v1::LookupResponse::default()).expect("memory");
        assert_eq!(written.text(), "No tool of this caller is in trouble.\n");
    }
}
