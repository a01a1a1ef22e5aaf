//! What a tool is: the flags behind `agrajag.v1.Tool`.

use agrajag_proto::v1;
use clap::builder::TypedValueParser;

use crate::wire::{choice, choice_of};

/// What the tool is, apart from its name.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "The tool")]
pub(crate) struct ToolArgs {
    /// How it is executed [default: rest].
    #[arg(long, value_parser = choice::<v1::ToolKind>(), ignore_case = true)]
    pub(crate) kind: Option<v1::ToolKind>,
    /// Where a fault of the tool itself is kept [default: session for a client tool, project for the others].
    #[arg(long, value_name = "SCOPE", value_parser = home_scope(), ignore_case = true)]
    pub(crate) home_scope: Option<v1::Scope>,
    /// The operator behind the tool, for example `github`: a GLOBAL state counts only for tools that name the same.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Whether the endpoint is the tool's own or comes with each call [default: fixed].
    #[arg(long, value_parser = choice::<v1::ToolTarget>(), ignore_case = true)]
    pub(crate) target: Option<v1::ToolTarget>,
}

/// The scopes at which a tool can be at home.
pub(crate) fn home_scope() -> impl TypedValueParser<Value = v1::Scope> {
    choice_of(vec![v1::Scope::Session, v1::Scope::Project, v1::Scope::Tenant])
}

impl ToolArgs {
    /// Lays the flags over `tool`.
    pub(crate) fn apply(&self, tool: &mut v1::Tool) {
        if let Some(kind) = self.kind {
            tool.set_kind(kind);
        }
        if let Some(scope) = self.home_scope {
            tool.set_home_scope(scope);
        }
        if let Some(provider) = &self.provider {
            tool.provider.clone_from(provider);
        }
        if let Some(target) = self.target {
            tool.set_target(target);
        }
    }

    /// A tool of this name by flags and defaults alone.
    pub(crate) fn to_tool(&self, name: &str) -> v1::Tool {
        let mut tool = v1::Tool { name: name.to_owned(), ..Default::default() };
        self.apply(&mut tool);
        tool
    }
}

/// Several tools that are alike apart from their names.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ToolsArgs {
    /// A tool by the name under which the model calls it.
    #[arg(value_name = "TOOL")]
    names: Vec<String>,
    /// The same as TOOL.
    #[arg(long = "tool", value_name = "NAME", help_heading = "The tool")]
    more: Vec<String>,
    #[command(flatten)]
    tool: ToolArgs,
}

impl ToolsArgs {
    /// The tools in the order of the command line, those without a flag first.
    pub(crate) fn to_tools(&self) -> Vec<v1::Tool> {
        self.names.iter().chain(&self.more).map(|it| self.tool.to_tool(it)).collect()
    }
}
