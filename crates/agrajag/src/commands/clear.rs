//! `agrajag clear`: a whole entry made empty.

use agrajag_proto::v1;

use super::{Context, WriterArgs, write_document};
use crate::args::key::KeyArgs;
use crate::error::{Error, Exit};

/// Flags of `clear`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    writer: WriterArgs,
    #[command(flatten)]
    key: KeyArgs,
}

/// Clears and shows the document.
pub(crate) async fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let remote = context.connect().await?;
    let request = v1::ClearDocumentRequest {
        tenant_id: args.key.tenant_id(),
        key: Some(args.key.to_key()),
        note: args.writer.note(),
        by: args.writer.by(),
    };
    let response = remote.answer(remote.admin().clear_document(remote.request(request)).await)?;
    context
        .out
        .answer(&response, |out| write_document(out, response.document.as_ref(), &response.warnings))?;
    Ok(Exit::Ok)
}
