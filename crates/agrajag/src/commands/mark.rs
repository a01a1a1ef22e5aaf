//! `agrajag mark`: a status set by hand.

use std::time::Duration;

use agrajag_proto::v1;
use chrono::{DateTime, Utc};

use super::{Context, WriterArgs, write_document};
use crate::args::key::KeyArgs;
use crate::args::time;
use crate::client::Remote;
use crate::error::{Error, Exit};
use crate::wire::choice;

/// Flags of `mark`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// The status.
    #[arg(value_parser = choice::<v1::HealthStatus>(), ignore_case = true)]
    status: v1::HealthStatus,
    /// Why it is down or degraded [default: technically-broken when down, intermittent when degraded].
    #[arg(long, value_parser = choice::<v1::Classification>(), ignore_case = true)]
    class: Option<v1::Classification>,
    #[command(flatten)]
    end: EndArgs,
    #[command(flatten)]
    writer: WriterArgs,
    #[command(flatten)]
    key: KeyArgs,
}

/// When it ends.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct EndArgs {
    /// When it is expected to end, for example `2026-11-30T14:05:00Z`.
    #[arg(long, value_name = "INSTANT", value_parser = time::instant, conflicts_with = "within")]
    until: Option<DateTime<Utc>>,
    /// The same as a span from the server's time on, for example `2h`.
    #[arg(long = "for", value_name = "SPAN", value_parser = time::span)]
    within: Option<Duration>,
}

impl EndArgs {
    /// Whether an end is named.
    fn is_given(&self) -> bool {
        self.until.is_some() || self.within.is_some()
    }

    /// The end, if one is named: a span counts from the server's time on.
    pub(crate) async fn at(&self, remote: &Remote) -> Result<Option<prost_types::Timestamp>, Error> {
        let end = match self.within {
            Some(span) => Some(remote.now().await? + span),
            None => self.until,
        };
        Ok(end.map(time::wire_instant))
    }
}

/// Writes and shows the document.
pub(crate) async fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    if args.status == v1::HealthStatus::Ok && (args.class.is_some() || args.end.is_given()) {
        return Err(Error::input(
            "`mark ok` takes neither `--class` nor `--until` nor `--for`",
            "leave them away: a tool that works has no cause and no end of it",
        ));
    }
    let remote = context.connect().await?;
    let end = args.end.at(&remote).await?;
    let (tenant_id, key, note, by) =
        (args.key.tenant_id(), Some(args.key.to_key()), args.writer.note(), args.writer.by());
    let classification = args.class.map_or(0, i32::from);
    let mut admin = remote.admin();
    let out = &mut context.out;
    match args.status {
        v1::HealthStatus::Down => {
            let request = v1::MarkUnavailableRequest {
                tenant_id,
                key,
                classification,
                expected_recovery_at: end,
                note,
                by,
            };
            let response = remote.answer(admin.mark_unavailable(remote.request(request)).await)?;
            out.answer(&response, |out| write_document(out, response.document.as_ref(), &response.warnings))?;
        }
        v1::HealthStatus::Degraded => {
            let request = v1::MarkDegradedRequest {
                tenant_id,
                key,
                classification,
                expected_recovery_at: end,
                note,
                by,
            };
            let response = remote.answer(admin.mark_degraded(remote.request(request)).await)?;
            out.answer(&response, |out| write_document(out, response.document.as_ref(), &response.warnings))?;
        }
        v1::HealthStatus::Ok | v1::HealthStatus::Unspecified => {
            let request = v1::MarkAvailableRequest { tenant_id, key, note, by };
            let response = remote.answer(admin.mark_available(remote.request(request)).await)?;
            out.answer(&response, |out| write_document(out, response.document.as_ref(), &response.warnings))?;
        }
    }
    Ok(Exit::Ok)
}
