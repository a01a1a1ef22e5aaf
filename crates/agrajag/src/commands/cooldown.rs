//! `agrajag cooldown set|clear`: windows in which the same failure starts nothing anew.

use std::time::Duration;

use agrajag_proto::v1;

use super::{Context, WriterArgs, write_document};
use crate::args::key::KeyArgs;
use crate::args::time;
use crate::error::{Error, Exit};
use crate::show;
use crate::wire::choice;

/// Verbs of `cooldown`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Command {
    /// Set a cooldown, or set it anew.
    Set(SetArgs),
    /// Clear cooldowns of one document.
    Clear(ClearArgs),
}

/// Flags of `cooldown set`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SetArgs {
    /// The failure's signature, for example `http-403`.
    #[arg(long, value_name = "SIGNATURE")]
    signature: String,
    /// The user it counts for [default: everybody in the document's scope].
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// How long, from the server's time on.
    #[arg(long = "for", value_name = "SPAN", value_parser = time::span)]
    duration: Duration,
    /// What the failure means.
    #[arg(long, value_parser = choice::<v1::Classification>(), ignore_case = true)]
    class: v1::Classification,
    #[command(flatten)]
    writer: WriterArgs,
    #[command(flatten)]
    key: KeyArgs,
}

/// Flags of `cooldown clear`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClearArgs {
    /// The failure's signature [default: every one].
    #[arg(long, value_name = "SIGNATURE")]
    signature: Option<String>,
    /// Only those of this user; an empty one means those of everybody [default: all].
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Who writes [default: admin].
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
            let request = v1::SetCooldownRequest {
                tenant_id: args.key.tenant_id(),
                key: Some(args.key.to_key()),
                signature: args.signature,
                user_id: args.user.unwrap_or_default(),
                duration: Some(time::wire_span(args.duration)),
                classification: args.class.into(),
                note: args.writer.note(),
                by: args.writer.by(),
            };
            let response = remote.answer(remote.admin().set_cooldown(remote.request(request)).await)?;
            out.answer(&response, |out| write_document(out, response.document.as_ref(), &response.warnings))?;
        }
        Command::Clear(args) => {
            let request = v1::ClearCooldownRequest {
                tenant_id: args.key.tenant_id(),
                key: Some(args.key.to_key()),
                signature: args.signature.unwrap_or_default(),
                user_id: args.user,
                by: args.by.unwrap_or_default(),
            };
            let response = remote.answer(remote.admin().clear_cooldown(remote.request(request)).await)?;
            out.answer(&response, |out| {
                out.line(&format!("{} cleared", show::plural(response.n_cleared.into(), "cooldown")))?;
                write_document(out, response.document.as_ref(), &response.warnings)
            })?;
        }
    }
    Ok(Exit::Ok)
}
