//! `agrajag check`: one failed call in, one verdict out.

use std::io;

use agrajag_proto::v1;

use super::{Context, write_warnings};
use crate::args::call::CallArgs;
use crate::error::{Error, Exit};
use crate::output::Out;
use crate::show;

/// Flags of `check`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Makes a repeated report count once: the same id within an hour changes nothing again.
    #[arg(long, value_name = "ID")]
    report_id: Option<String>,
    /// A revision of an earlier answer: this one is to know at least that much.
    #[arg(long, value_name = "REVISION")]
    at_least: Option<String>,
    /// Show the fields that made the rule match, too.
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    call: CallArgs,
}

/// Reports the call and shows the verdict.
pub(crate) async fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let request = request(args)?;
    let tool = request.tool.as_ref().map_or_else(String::new, |it| it.name.clone());
    let remote = context.connect().await?;
    let response = remote.answer(remote.health().check(remote.request(request)).await)?;
    context.out.answer(&response, |out| render(out, &tool, &response))?;
    Ok(Exit::Ok)
}

fn request(args: &Args) -> Result<v1::CheckRequest, Error> {
    let mut request = args.call.to_request()?;
    if let Some(id) = &args.report_id {
        request.report_id.clone_from(id);
    }
    if let Some(revision) = &args.at_least {
        request.at_least.clone_from(revision);
    }
    if args.full {
        request.set_detail(v1::DetailLevel::Full);
    }
    Ok(request)
}

fn render(out: &mut Out, tool: &str, response: &v1::CheckResponse) -> io::Result<()> {
    let verdict = response.verdict.clone().unwrap_or_default();
    out.line(&show::headline(tool, &verdict))?;
    out.table(&show::verdict(&verdict))?;
    write_warnings(out, &response.warnings, response.stale)
}

#[cfg(test)]
mod tests;
