//! `agrajag jobs list`: diagnoses that are due, under way or done.

use std::io;

use agrajag_proto::v1;

use super::documents::{PageArgs, render_next};
use super::{Context, write_warnings};
use crate::args::caller::DEFAULT_TENANT;
use crate::args::time::shown_in_column;
use crate::error::{Error, Exit};
use crate::output::Out;
use crate::show;
use crate::table::Table;
use crate::wire::{choice, word};

/// Verbs of `jobs`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Command {
    /// List jobs, newest first, one page.
    List(ListArgs),
}

/// Flags of `jobs list`. The filters narrow each other.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ListArgs {
    /// The tenant.
    #[arg(long, value_name = "ID", default_value = DEFAULT_TENANT)]
    tenant: String,
    /// Only jobs in this state.
    #[arg(long, value_parser = choice::<v1::JobState>(), ignore_case = true)]
    state: Option<v1::JobState>,
    /// Only jobs of this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// Runs one verb.
pub(crate) async fn run(command: Command, context: &mut Context) -> Result<Exit, Error> {
    let Command::List(args) = command;
    let remote = context.connect().await?;
    let request = v1::ListJobsRequest {
        tenant_id: args.tenant,
        state: args.state.map_or(0, i32::from),
        tool_name: args.tool.unwrap_or_default(),
        page_size: args.page.page_size.unwrap_or_default(),
        page_token: args.page.page_token.unwrap_or_default(),
    };
    let response = remote.answer(remote.admin().list_jobs(remote.request(request)).await)?;
    context.out.answer(&response, |out| render(out, &response))?;
    Ok(Exit::Ok)
}

fn render(out: &mut Out, response: &v1::ListJobsResponse) -> io::Result<()> {
    if response.jobs.is_empty() {
        out.line("No job.")?;
    } else {
        let mut table = Table::new(["JOB", "TOOL", "SIGNATURE", "STATE", "SIGNALS", "CREATED (UTC)"]);
        for job in &response.jobs {
            let state = match job.reason.as_str() {
                "" => word::<v1::JobState>(job.state),
                reason => format!("{}: {reason}", word::<v1::JobState>(job.state)),
            };
            table.row([
                &job.job_id,
                show::tool(job.key.as_ref()),
                &job.signature,
                &state,
                &job.n_signals.to_string(),
                &shown_in_column(job.created_at.as_ref()),
            ]);
        }
        out.table(&table)?;
    }
    render_next(out, &response.next_page_token)?;
    write_warnings(out, &response.warnings, false)
}
