//! `agrajag hold set|release`: an administrator's word that wins over health.

use agrajag_proto::v1;

use super::mark::EndArgs;
use super::{Context, write_document};
use crate::args::key::KeyArgs;
use crate::error::{Error, Exit};
use crate::wire::choice;

/// Verbs of `hold`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Command {
    /// Show this status whatever happens, until the hold ends.
    Set(SetArgs),
    /// End a hold: health decides again.
    Release(ReleaseArgs),
}

/// Flags of `hold set`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SetArgs {
    /// The status to show. `ok` keeps a tool usable whatever its health says.
    #[arg(long, value_parser = choice::<v1::HealthStatus>(), ignore_case = true)]
    status: v1::HealthStatus,
    /// Why, for people, at most 500 characters. Never shown to a model.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Without an end it ends by hand only.
    #[command(flatten)]
    end: EndArgs,
    /// Who sets it [default: admin].
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    #[command(flatten)]
    key: KeyArgs,
}

/// Flags of `hold release`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReleaseArgs {
    /// Who ends it [default: admin].
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    #[command(flatten)]
    key: KeyArgs,
}

/// Runs one verb and shows the document.
pub(crate) async fn run(command: Command, context: &mut Context) -> Result<Exit, Error> {
    let remote = context.connect().await?;
    let out = &mut context.out;
    match command {
        Command::Set(args) => {
            let request = v1::SetHoldRequest {
                tenant_id: args.key.tenant_id(),
                key: Some(args.key.to_key()),
                status: args.status.into(),
                reason: args.reason,
                until: args.end.at(&remote).await?,
                by: args.by.unwrap_or_default(),
            };
            let response = remote.answer(remote.admin().set_hold(remote.request(request)).await)?;
            out.answer(&response, |out| write_document(out, response.document.as_ref(), &response.warnings))?;
        }
        Command::Release(args) => {
            let request = v1::ReleaseHoldRequest {
                tenant_id: args.key.tenant_id(),
                key: Some(args.key.to_key()),
                by: args.by.unwrap_or_default(),
            };
            let response = remote.answer(remote.admin().release_hold(remote.request(request)).await)?;
            out.answer(&response, |out| write_document(out, response.document.as_ref(), &response.warnings))?;
        }
    }
    Ok(Exit::Ok)
}
