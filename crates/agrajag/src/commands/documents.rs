//! `agrajag documents list|show|delete`: what is stored about tools.

use std::io;

use agrajag_proto::v1;
use agrajag_proto::v1::delete_documents_request::Target;

use super::{Context, WriterArgs, write_document, write_warnings};
use crate::args::caller::DEFAULT_TENANT;
use crate::args::key::KeyArgs;
use crate::args::time::shown_in_column;
use crate::error::{Error, Exit};
use crate::output::Out;
use crate::show;
use crate::table::Table;
use crate::wire::{choice, word};

/// Verbs of `documents`.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum Command {
    /// List documents, one page.
    List(ListArgs),
    /// Show one document with its cooldowns and its history.
    Show(ShowArgs),
    /// Delete documents for good: one, or all of a user, a session or a tenant.
    Delete(DeleteArgs),
}

/// Flags of `documents list`. The filters narrow each other.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ListArgs {
    /// The tenant.
    #[arg(long, value_name = "ID", default_value = DEFAULT_TENANT)]
    tenant: String,
    /// Only documents with this stored status.
    #[arg(long, value_parser = choice::<v1::HealthStatus>(), ignore_case = true)]
    status: Option<v1::HealthStatus>,
    /// Only documents of this scope [default: all but global].
    #[arg(long, value_parser = choice::<v1::Scope>(), ignore_case = true)]
    scope: Option<v1::Scope>,
    /// Only documents of this session, user or project.
    #[arg(long, value_name = "ID", requires = "scope")]
    scope_id: Option<String>,
    /// Only documents of this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    #[command(flatten)]
    page: PageArgs,
}

/// Which page.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PageArgs {
    /// How many to show, 1 to 1000 [default: 100].
    #[arg(long, value_name = "N")]
    pub(crate) page_size: Option<u32>,
    /// The token under the page before, with the same filters.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) page_token: Option<String>,
}

/// Flags of `documents show`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    key: KeyArgs,
}

/// Flags of `documents delete`.
#[derive(Debug, Clone, clap::Args)]
#[command(group = clap::ArgGroup::new("target").required(true))]
pub(crate) struct DeleteArgs {
    /// The tenant [default: `default`; none at scope global].
    #[arg(long, value_name = "ID")]
    tenant: Option<String>,
    /// One document: its tool.
    #[arg(long, value_name = "NAME", group = "target", requires = "scope")]
    tool: Option<String>,
    /// One document: where it stands.
    #[arg(long, value_parser = choice::<v1::Scope>(), ignore_case = true, requires = "tool")]
    scope: Option<v1::Scope>,
    /// One document: its session, user or project.
    #[arg(long, value_name = "ID", requires = "tool")]
    scope_id: Option<String>,
    /// One document: its provider, at scope global.
    #[arg(long, value_name = "NAME", requires = "tool")]
    provider: Option<String>,
    /// Every document at scope user of this user.
    #[arg(long, value_name = "ID", group = "target")]
    user: Option<String>,
    /// Every document at scope session of this session.
    #[arg(long, value_name = "ID", group = "target")]
    session: Option<String>,
    /// Everything of the tenant: documents, jobs and rule layers. Needs `--tenant`.
    #[arg(long, group = "target", requires = "tenant")]
    whole_tenant: bool,
    #[command(flatten)]
    writer: WriterArgs,
}

/// Runs one verb.
pub(crate) async fn run(command: Command, context: &mut Context) -> Result<Exit, Error> {
    let remote = context.connect().await?;
    let out = &mut context.out;
    match command {
        Command::List(args) => {
            let request = remote.request(list_request(args));
            let response = remote.answer(remote.admin().list_documents(request).await)?;
            out.answer(&response, |out| render_list(out, &response))?;
        }
        Command::Show(args) => {
            let request = v1::GetDocumentRequest {
                tenant_id: args.key.tenant_id(),
                key: Some(args.key.to_key()),
                at_least: String::new(),
            };
            let response = remote.answer(remote.admin().get_document(remote.request(request)).await)?;
            out.answer(&response, |out| write_document(out, response.document.as_ref(), &response.warnings))?;
        }
        Command::Delete(args) => {
            let request = remote.request(delete_request(args));
            let response = remote.answer(remote.admin().delete_documents(request).await)?;
            out.answer(&response, |out| {
                out.line(&format!("{} deleted", show::plural(response.n_deleted, "document")))?;
                write_warnings(out, &response.warnings, false)
            })?;
        }
    }
    Ok(Exit::Ok)
}

fn list_request(args: ListArgs) -> v1::ListDocumentsRequest {
    let is_global = args.scope == Some(v1::Scope::Global);
    v1::ListDocumentsRequest {
        tenant_id: if is_global { String::new() } else { args.tenant },
        status: args.status.map_or(0, i32::from),
        scope: args.scope.map_or(0, i32::from),
        scope_id: args.scope_id.unwrap_or_default(),
        tool_name: args.tool.unwrap_or_default(),
        page_size: args.page.page_size.unwrap_or_default(),
        page_token: args.page.page_token.unwrap_or_default(),
    }
}

fn delete_request(args: DeleteArgs) -> v1::DeleteDocumentsRequest {
    let is_global = args.scope == Some(v1::Scope::Global);
    let target = if let Some(user) = args.user {
        Target::UserId(user)
    } else if let Some(session) = args.session {
        Target::SessionId(session)
    } else if args.whole_tenant {
        Target::WholeTenant(true)
    } else {
        Target::Key(v1::DocumentKey {
            scope: args.scope.map_or(0, i32::from),
            scope_id: args.scope_id.unwrap_or_default(),
            tool_name: args.tool.unwrap_or_default(),
            provider: args.provider.unwrap_or_default(),
        })
    };
    let tenant =
        args.tenant.unwrap_or_else(|| if is_global { String::new() } else { DEFAULT_TENANT.to_owned() });
    v1::DeleteDocumentsRequest { tenant_id: tenant, target: Some(target), by: args.writer.by() }
}

fn render_list(out: &mut Out, response: &v1::ListDocumentsResponse) -> io::Result<()> {
    if response.documents.is_empty() {
        out.line("No document.")?;
    } else {
        let mut table =
            Table::new(["TOOL", "SCOPE", "READS", "SIGNATURE", "SINCE (UTC)", "BACK AT (UTC)", "COOLDOWNS"]);
        for it in &response.documents {
            table.row([
                show::tool(it.key.as_ref()),
                &show::place(it.key.as_ref()),
                &word::<v1::ToolState>(it.state),
                &it.signature,
                &shown_in_column(it.since.as_ref()),
                &shown_in_column(it.expected_recovery_at.as_ref()),
                &it.cooldowns.len().to_string(),
            ]);
        }
        out.table(&table)?;
    }
    render_next(out, &response.next_page_token)?;
    write_warnings(out, &response.warnings, response.stale)
}

/// Says how to get the next page, if there is one.
pub(crate) fn render_next(out: &mut Out, token: &str) -> io::Result<()> {
    if token.is_empty() { Ok(()) } else { out.line(&format!("more: --page-token {token}")) }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(subcommand)]
        command: Command,
    }

    fn delete(line: &[&str]) -> Option<v1::DeleteDocumentsRequest> {
        let line = ["documents", "delete"].iter().chain(line);
        match Line::try_parse_from(line).ok()?.command {
            Command::Delete(args) => Some(delete_request(args)),
            _ => None,
        }
    }

    /// What is deleted for good is named in one way only, and a whole tenant never by default.
    #[test]
    fn exactly_one_target_is_named() {
        let one = delete(&["--tool", "wiki", "--scope", "project", "--scope-id", "essay"]).expect("usable");
        assert_eq!(one.tenant_id, "default");
        assert!(matches!(one.target, Some(Target::Key(key)) if key.scope() == v1::Scope::Project));
        let user = delete(&["--tenant", "acme", "--user", "alice", "--by", "root"]).expect("usable");
        assert_eq!((user.target, user.by.as_str()), (Some(Target::UserId("alice".to_owned())), "root"));
        let global = delete(&["--tool", "wiki", "--scope", "global", "--provider", "p"]).expect("usable");
        assert_eq!(global.tenant_id, "");
        assert!(delete(&[]).is_none());
        assert!(delete(&["--user", "a", "--session", "s"]).is_none());
        assert!(delete(&["--tool", "wiki"]).is_none(), "a tool without its scope");
        assert!(delete(&["--whole-tenant"]).is_none(), "a whole tenant must be named");
        let tenant = delete(&["--whole-tenant", "--tenant", "acme"]).expect("usable");
        assert_eq!(tenant.target, Some(Target::WholeTenant(true)));
    }

    #[test]
    fn filters_reach_the_request() {
        let line = Line::parse_from([
            "documents",
            "list",
            "--tenant",
            "acme",
            "--status",
            "down",
            "--scope",
            "user",
            "--scope-id",
            "alice",
            "--tool",
            "wiki",
            "--page-size",
            "7",
            "--page-token",
            "t",
        ]);
        let Command::List(args) = line.command else { panic!("list") };
        let request = list_request(args);
        assert_eq!((request.status(), request.scope()), (v1::HealthStatus::Down, v1::Scope::User));
        assert_eq!((request.page_size, request.page_token.as_str()), (7, "t"));
        assert!(Line::try_parse_from(["documents", "list", "--scope-id", "alice"]).is_err());
    }
}
