//! Which document: the flags behind `agrajag.v1.DocumentKey`.

use agrajag_proto::v1;

use super::caller::DEFAULT_TENANT;
use crate::wire::choice;

/// Which health document.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "The document")]
pub(crate) struct KeyArgs {
    /// The tenant [default: `default`].
    #[arg(long, value_name = "ID")]
    tenant: Option<String>,
    /// Where the document stands.
    #[arg(long, value_parser = choice::<v1::Scope>(), ignore_case = true)]
    scope: v1::Scope,
    /// The session, user or project. Not needed at scope tenant and global.
    #[arg(long, value_name = "ID")]
    scope_id: Option<String>,
    /// The tool's name.
    #[arg(long, value_name = "NAME")]
    tool: String,
    /// The provider, for scope global.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
}

impl KeyArgs {
    /// The tenant: empty for a GLOBAL document, which belongs to none.
    pub(crate) fn tenant_id(&self) -> String {
        match (&self.tenant, self.scope) {
            (Some(tenant), _) => tenant.clone(),
            (None, v1::Scope::Global) => String::new(),
            (None, _) => DEFAULT_TENANT.to_owned(),
        }
    }

    /// The key.
    pub(crate) fn to_key(&self) -> v1::DocumentKey {
        v1::DocumentKey {
            scope: self.scope.into(),
            scope_id: self.scope_id.clone().unwrap_or_default(),
            tool_name: self.tool.clone(),
            provider: self.provider.clone().unwrap_or_default(),
        }
    }
}
