//! Who calls, what is called, and under which keys its health is stored.

use serde::{Deserialize, Serialize};

use crate::vocabulary::Target;
use crate::vocabulary::{Scope, ToolKind};

/// The project that a caller without one belongs to (DESIGN §4).
pub const DEFAULT_PROJECT: &str = "default";

/// Who makes the call. Ids of one tenant never match another's, also when the strings are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Caller {
    /// The tenant; never empty in a valid request.
    pub tenant_id: String,
    /// The project; [`DEFAULT_PROJECT`] if the request named none.
    pub project_id: String,
    /// The user, if a person is behind the call.
    pub user_id: Option<String>,
    /// The session, if the call belongs to one.
    pub session_id: Option<String>,
    /// BCP 47 tag of the user's language.
    pub locale: Option<String>,
}

/// What is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Tool {
    /// The name under which the brain offers it; 1 to 256 bytes.
    pub name: String,
    /// Where it runs.
    pub kind: Option<ToolKind>,
    /// Where faults of the tool itself are written: SESSION, PROJECT or TENANT. See [`Tool::home_scope`].
    pub declared_home_scope: Option<Scope>,
    /// The public service behind it. GLOBAL entries count only for tools that declare the same provider.
    pub provider: Option<String>,
    /// Whether the target came with the call.
    pub target: Option<Target>,
}

impl Tool {
    /// The scope that faults of the tool are written at: the declared one, else SESSION for client tools (R25), else
    /// PROJECT (R26, R27). USER and GLOBAL are no homes and count as not declared.
    #[must_use]
    pub fn home_scope(&self) -> Scope {
        match (self.declared_home_scope, self.kind) {
            (Some(it @ (Scope::Session | Scope::Project | Scope::Tenant)), _) => it,
            (_, Some(ToolKind::Client)) => Scope::Session,
            _ => Scope::Project,
        }
    }
}

/// All tools of one (tenant, scope, scope id): the unit that is loaded and cached.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContainerKey {
    /// Empty for GLOBAL.
    pub tenant_id: String,
    /// Who is affected.
    pub scope: Scope,
    /// The id at that scope; the provider's name for GLOBAL. Never empty.
    pub scope_id: String,
}

/// The key of a document (R32, with the tenant of C25). Unique.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DocumentKey {
    /// Empty for GLOBAL.
    pub tenant_id: String,
    /// Who is affected.
    pub scope: Scope,
    /// The id at that scope; the provider's name for GLOBAL. Never empty.
    pub scope_id: String,
    /// The tool's name; 1 to 256 bytes.
    pub tool_name: String,
}

impl ContainerKey {
    /// The key of `tool_name`'s document in this container.
    #[must_use]
    pub fn document(&self, tool_name: &str) -> DocumentKey {
        DocumentKey {
            tenant_id: self.tenant_id.clone(),
            scope: self.scope,
            scope_id: self.scope_id.clone(),
            tool_name: tool_name.to_owned(),
        }
    }

    /// The container that is one row for all tenants.
    #[must_use]
    pub fn global(provider: &str) -> Self {
        Self { tenant_id: String::new(), scope: Scope::Global, scope_id: provider.to_owned() }
    }
}

impl DocumentKey {
    /// The container that holds the document.
    #[must_use]
    pub fn container(&self) -> ContainerKey {
        ContainerKey { tenant_id: self.tenant_id.clone(), scope: self.scope, scope_id: self.scope_id.clone() }
    }
}

impl std::fmt::Display for DocumentKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}/{}", self.tenant_id, self.scope, self.scope_id, self.tool_name)
    }
}

impl Caller {
    /// The container of this caller at `scope`, or `None` where the caller has no id there: such a verdict is
    /// answered, never stored and never widened (DESIGN §4). GLOBAL needs the tool's provider.
    #[must_use]
    pub fn container(&self, scope: Scope, provider: Option<&str>) -> Option<ContainerKey> {
        let own =
            |id: &str| ContainerKey { tenant_id: self.tenant_id.clone(), scope, scope_id: id.to_owned() };
        match scope {
            Scope::Session => self.session_id.as_deref().map(own),
            Scope::User => self.user_id.as_deref().map(own),
            Scope::Project => Some(own(&self.project_id)),
            Scope::Tenant => Some(own(&self.tenant_id)),
            Scope::Global => provider.map(ContainerKey::global),
        }
    }

    /// What this caller's retry times are spread by (C18): equal in every answer that names one.
    #[must_use]
    pub fn spread_key(&self) -> String {
        let ids = [Some(self.project_id.as_str()), self.user_id.as_deref(), self.session_id.as_deref()];
        ids.into_iter().fold(self.tenant_id.clone(), |mut key, id| {
            key.push('/');
            key.push_str(id.unwrap_or_default());
            key
        })
    }

    /// The containers of the cascade, narrow to wide (R22).
    pub fn cascade<'a>(&'a self, provider: Option<&'a str>) -> impl Iterator<Item = ContainerKey> + 'a {
        Scope::ALL.iter().filter_map(move |&scope| self.container(scope, provider))
    }
}
