//! `agrajag event`: what a runtime knows about its connections and processes (R57, R58).

use std::io;

use agrajag_proto::v1;
use chrono::{DateTime, Utc};

use super::success::item_status;
use super::{Context, write_warnings};
use crate::args::caller::CallerArgs;
use crate::args::time;
use crate::args::tool::{ToolsArgs, home_scope};
use crate::error::{Error, Exit};
use crate::output::Out;
use crate::table::Table;
use crate::wire::{choice, word};

/// Flags of `event`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// What happened.
    #[arg(value_parser = choice::<v1::ToolEvent>(), ignore_case = true)]
    event: v1::ToolEvent,
    #[command(flatten)]
    tools: ToolsArgs,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Which connection, and when.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "The connection")]
struct ConnectionArgs {
    /// Where the tools live [default: each tool's home scope].
    #[arg(long, value_parser = home_scope(), ignore_case = true)]
    scope: Option<v1::Scope>,
    /// The session, project or tenant [default: the caller's own].
    #[arg(long, value_name = "ID")]
    scope_id: Option<String>,
    /// The connection or process.
    #[arg(long, value_name = "ID")]
    connection_id: Option<String>,
    /// Counts the events of one connection: a lower one than the last known loses.
    #[arg(long, value_name = "N")]
    sequence: Option<u64>,
    /// When it happened [default: at arrival].
    #[arg(long, value_name = "INSTANT", value_parser = time::instant)]
    occurred_at: Option<DateTime<Utc>>,
    /// Why, for people. Never shown to a model.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Reports the event and shows what it did.
pub(crate) async fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let request = request(args)?;
    let remote = context.connect().await?;
    let response = remote.answer(remote.health().record_event(remote.request(request)).await)?;
    context.out.answer(&response, |out| render(out, &response))?;
    let refused = response.results.iter().any(|it| it.status.is_some());
    Ok(if refused { Exit::Findings(2) } else { Exit::Ok })
}

fn request(args: &Args) -> Result<v1::RecordEventRequest, Error> {
    let tools = args.tools.to_tools();
    if tools.is_empty() {
        return Err(Error::input(
            "no tool is named",
            "name the tools behind the connection: `agrajag event connection-closed --session s-1 --kind client editor_open`",
        ));
    }
    let connection = &args.connection;
    Ok(v1::RecordEventRequest {
        caller: Some(args.caller.to_caller()),
        scope: connection.scope.map_or(0, i32::from),
        scope_id: connection.scope_id.clone().unwrap_or_default(),
        tools,
        event: args.event.into(),
        connection_id: connection.connection_id.clone().unwrap_or_default(),
        sequence: connection.sequence.unwrap_or_default(),
        occurred_at: connection.occurred_at.map(time::wire_instant),
        reason: connection.reason.clone().unwrap_or_default(),
    })
}

fn render(out: &mut Out, response: &v1::RecordEventResponse) -> io::Result<()> {
    let mut table = Table::new(["TOOL", "OUTCOME", "STATE", "NOT ACCEPTED"]);
    for result in &response.results {
        table.row([
            &result.tool_name,
            &word::<v1::EventOutcome>(result.outcome),
            &word::<v1::ToolState>(result.state),
            &result.status.as_ref().map_or_else(String::new, item_status),
        ]);
    }
    out.table(&table)?;
    out.line(&format!("stored: {}", word::<v1::Durability>(response.durability)))?;
    write_warnings(out, &response.warnings, response.stale)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// R58: a disconnect names the tools, the connection and its place in the order.
    #[test]
    fn the_event_and_its_order_reach_the_request() {
        let line = Line::parse_from([
            "event",
            "connection-closed",
            "editor_open",
            "editor_save",
            "--kind",
            "client",
            "--session",
            "s-1",
            "--scope",
            "session",
            "--connection-id",
            "c-9",
            "--sequence",
            "4",
            "--reason",
            "laptop asleep",
        ]);
        let request = request(&line.args).expect("usable");
        assert_eq!(request.event(), v1::ToolEvent::ConnectionClosed);
        assert_eq!(request.scope(), v1::Scope::Session);
        assert_eq!(request.tools.len(), 2);
        assert!(request.tools.iter().all(|it| it.kind() == v1::ToolKind::Client));
        assert_eq!((request.connection_id.as_str(), request.sequence), ("c-9", 4));
        assert_eq!(request.reason, "laptop asleep");
        let without = Line::parse_from(["event", "connection-opened"]);
        assert_eq!(super::request(&without.args).expect_err("no tool").exit_code(), 2);
    }
}
