//! `agrajag watch`: a snapshot of the caller's tools, then every change, until Ctrl-C.

use std::io;
use std::time::Duration;

use agrajag_proto::v1;
use agrajag_proto::v1::watch_response::Event;
use tonic::Status;

use super::lookup::SurfaceArgs;
use super::{Context, write_warnings};
use crate::args::caller::CallerArgs;
use crate::args::time;
use crate::args::tool::ToolsArgs;
use crate::error::{Error, Exit};
use crate::json::to_json;
use crate::output::{Format, Out};
use crate::show;
use crate::table::Table;
use crate::wire::word;

/// Flags of `watch`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Go on after this revision, without a snapshot.
    #[arg(long, value_name = "REVISION")]
    from_revision: Option<String>,
    /// How often the server gives a sign of life while nothing changes, 1s to 5m [default: 15s].
    #[arg(long, value_name = "SPAN", value_parser = time::span)]
    heartbeat: Option<Duration>,
    /// End with exit code 0 after this many changes; 0 ends after the snapshot.
    #[arg(long, value_name = "N")]
    max_changes: Option<u64>,
    /// Without tools: every one of the caller's cascade.
    #[command(flatten)]
    tools: ToolsArgs,
    #[command(flatten)]
    caller: CallerArgs,
    #[command(flatten)]
    surface: SurfaceArgs,
}

/// Follows the stream. Ends with Ctrl-C, with the last change asked for, or with the server.
pub(crate) async fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let remote = context.connect().await?;
    // The deadline is for the beginning only: a watch has no end.
    let mut client = remote.health();
    let opening = tokio::time::timeout(context.global.timeout, client.watch(request(args)));
    let mut stream = match opening.await {
        Ok(opened) => remote.answer(opened)?,
        Err(_) => return remote.answer(Err(Status::deadline_exceeded("the watch did not begin"))),
    };
    let mut progress = Progress::new(args.max_changes, args.from_revision.is_some());
    while !progress.is_done() {
        let message = tokio::select! {
            message = stream.message() => match message {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(status) => return remote.answer(Err(status)),
            },
            signal = tokio::signal::ctrl_c() => {
                signal?;
                break;
            }
        };
        render(&mut context.out, &message)?;
        progress.take_in(&message);
    }
    if context.out.format() == Format::Table && !progress.revision.is_empty() {
        context.out.line(&format!("go on with --from-revision {}", progress.revision))?;
    }
    Ok(Exit::Ok)
}

fn request(args: &Args) -> v1::WatchRequest {
    v1::WatchRequest {
        caller: Some(args.caller.to_caller()),
        tools: args.tools.to_tools(),
        from_revision: args.from_revision.clone().unwrap_or_default(),
        heartbeat_interval: args.heartbeat.map(time::wire_span),
        surface: args.surface.surface.map_or(0, i32::from),
        placement: args.surface.placement.map_or(0, i32::from),
    }
}

/// How far a watch has come.
#[derive(Debug)]
struct Progress {
    max_changes: Option<u64>,
    n_changes: u64,
    has_begun: bool,
    revision: String,
}

impl Progress {
    fn new(max_changes: Option<u64>, without_snapshot: bool) -> Self {
        Self { max_changes, n_changes: 0, has_begun: without_snapshot, revision: String::new() }
    }

    fn take_in(&mut self, message: &v1::WatchResponse) {
        if !message.revision.is_empty() {
            self.revision.clone_from(&message.revision);
        }
        match &message.event {
            Some(Event::Snapshot(snapshot)) => self.has_begun |= snapshot.last,
            Some(Event::Change(_)) => self.n_changes += 1,
            Some(Event::Heartbeat(_)) | None => {}
        }
    }

    fn is_done(&self) -> bool {
        self.has_begun && self.max_changes.is_some_and(|it| self.n_changes >= it)
    }
}

fn render(out: &mut Out, message: &v1::WatchResponse) -> io::Result<()> {
    if out.format() == Format::Json {
        out.line(&to_json(message, true))?;
        return out.flush();
    }
    match &message.event {
        Some(Event::Snapshot(it)) => {
            let at = time::shown(it.evaluated_at.as_ref());
            out.line(&format!("{at}  snapshot, {}", show::plural(it.tools.len() as u64, "tool")))?;
            out.table(&rows(&it.tools))?;
        }
        Some(Event::Change(it)) => {
            out.line(&format!("{}  change", time::shown(it.evaluated_at.as_ref())))?;
            out.table(&rows(&it.tools))?;
        }
        // Signs of life are for programs.
        Some(Event::Heartbeat(_)) | None => {}
    }
    write_warnings(out, &message.warnings, message.stale)?;
    out.flush()
}

fn rows(tools: &[v1::ToolHealth]) -> Table {
    let mut table = Table::list();
    for it in tools {
        table.row([&it.tool_name, &word::<v1::ToolState>(it.state), &it.reason_code, &it.words]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(event: Event) -> v1::WatchResponse {
        v1::WatchResponse { event: Some(event), revision: "r1".to_owned(), ..Default::default() }
    }

    fn change() -> v1::WatchResponse {
        message(Event::Change(v1::WatchChange {
            tools: vec![v1::ToolHealth {
                tool_name: "wiki".to_owned(),
                state: v1::ToolState::Down.into(),
                reason_code: "connect-refused".to_owned(),
                words: "unavailable since 2026-11-30 14:05 UTC; do not call it, plan without it".to_owned(),
                ..Default::default()
            }],
            evaluated_at: Some(prost_types::Timestamp { seconds: 1_796_000_000, nanos: 0 }),
        }))
    }

    #[test]
    fn it_ends_after_the_changes_asked_for_and_never_within_the_snapshot() {
        let mut progress = Progress::new(Some(0), false);
        assert!(!progress.is_done());
        progress.take_in(&message(Event::Snapshot(v1::WatchSnapshot { last: false, ..Default::default() })));
        assert!(!progress.is_done(), "the snapshot goes on");
        progress.take_in(&message(Event::Snapshot(v1::WatchSnapshot { last: true, ..Default::default() })));
        assert!(progress.is_done());
        let mut progress = Progress::new(Some(1), true);
        progress.take_in(&message(Event::Heartbeat(v1::WatchHeartbeat::default())));
        assert!(!progress.is_done(), "a sign of life is no change");
        progress.take_in(&change());
        assert!(progress.is_done());
        assert_eq!(progress.revision, "r1");
        assert!(!Progress::new(None, true).is_done());
    }

    #[test]
    fn a_change_is_a_line_for_people_and_an_object_a_line_for_programs() {
        let (mut out, written) = Out::captured(Format::Table);
        render(&mut out, &change()).expect("memory");
        render(&mut out, &message(Event::Heartbeat(v1::WatchHeartbeat::default()))).expect("memory");
        insta::assert_snapshot!(written.text(), @"
        2026-11-30 00:53:20 UTC  change
          wiki  DOWN  connect-refused  unavailable since 2026-11-30 14:05 UTC; do not call it, plan without
                                       it
        ");
        let (mut out, written) = Out::captured(Format::Json);
        render(&mut out, &change()).expect("memory");
        render(&mut out, &message(Event::Heartbeat(v1::WatchHeartbeat::default()))).expect("memory");
        let lines: Vec<serde_json::Value> =
            written.text().lines().map(|it| serde_json::from_str(it).expect("JSON")).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["change"]["tools"][0]["toolName"], "wiki");
    }
}
