//! `agrajag check`: one failed call in, one verdict out.

use std::io;

use agrajag_proto::v1;

use super::{Context, write_warnings};
use crate::args::call::CallArgs;
use crate::error::{Error, Exit};
use crate::output::{Out, aside};
use crate::show;
use crate::wire::{WireEnum as _, choice};

/// Flags of `check`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Makes a repeated report count once: the same id within an hour changes nothing again.
    #[arg(long, value_name = "ID")]
    report_id: Option<String>,
    /// A revision of an earlier answer: this one is to know at least that much.
    #[arg(long, value_name = "REVISION")]
    at_least: Option<String>,
    /// Show the fields that made the rule match, too. `--output json` has them always.
    #[arg(long)]
    full: bool,
    /// Print the verdict in the form that another program takes, and nothing else; warnings go to standard error.
    #[arg(long, value_name = "DIALECT", value_parser = choice::<v1::RenderDialect>(), ignore_case = true)]
    render: Option<v1::RenderDialect>,
    /// The model's own id of the failed call. All dialects but `mcp` and `problem-json` need it.
    #[arg(long, value_name = "ID")]
    call_id: Option<String>,
    #[command(flatten)]
    call: CallArgs,
}

/// Reports the call and shows the verdict.
pub(crate) async fn run(args: &Args, context: &mut Context) -> Result<Exit, Error> {
    let request = request(args)?;
    let tool = request.tool.as_ref().map_or_else(String::new, |it| it.name.clone());
    let remote = context.connect().await?;
    let response = remote.answer(remote.health().check(remote.request(request)).await)?;
    match args.render {
        Some(dialect) => write_rendering(&mut context.out, dialect, &response)?,
        None => context.out.answer(&response, |out| render(out, &tool, &response, args.full))?,
    }
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
    // What is shown of it without `--full`: that others failed alike.
    if args.render.is_none() {
        request.set_detail(v1::DetailLevel::Full);
    }
    if let Some(id) = &args.call_id {
        request.call_id.clone_from(id);
    }
    if let Some(dialect) = args.render {
        if request.call_id.is_empty() && needs_call_id(dialect) {
            return Err(Error::input(
                format!("`--render {}` answers a call by its id, and none is given", dialect.flag()),
                "add `--call-id` with the id that the model gave the call",
            ));
        }
        request.render = vec![dialect.into()];
    }
    Ok(request)
}

/// Asked before anything is sent: a report that is counted should not have to be repeated for its rendering.
fn needs_call_id(dialect: v1::RenderDialect) -> bool {
    !matches!(dialect, v1::RenderDialect::Mcp | v1::RenderDialect::ProblemJson)
}

/// The rendering alone, as the server made it, so that it can be passed on.
fn write_rendering(
    out: &mut Out,
    dialect: v1::RenderDialect,
    response: &v1::CheckResponse,
) -> Result<(), Error> {
    show::warnings(&response.warnings, response.stale).iter().for_each(|it| aside(it));
    let Some(rendering) = response.renderings.iter().find(|it| it.dialect() == dialect) else {
        return Err(Error::failed(
            format!("the server gave the verdict, but not for `--render {}`", dialect.flag()),
            "see the warnings, and compare the versions: `agrajag info` shows the server's",
        ));
    };
    out.line(&rendering.content)?;
    out.flush()?;
    Ok(())
}

fn render(out: &mut Out, tool: &str, response: &v1::CheckResponse, full: bool) -> io::Result<()> {
    let verdict = response.verdict.clone().unwrap_or_default();
    out.line(&show::headline(tool, &verdict))?;
    out.table(&show::verdict(&verdict, full))?;
    write_warnings(out, &response.warnings, response.stale)
}

#[cfg(test)]
mod tests;
