//! Who calls: the flags behind `agrajag.v1.Caller`.

use agrajag_proto::v1;

/// The tenant where none is named.
pub(crate) const DEFAULT_TENANT: &str = "default";

/// Who calls.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Who calls")]
pub(crate) struct CallerArgs {
    /// The tenant [default: `default`].
    #[arg(long, value_name = "ID")]
    pub(crate) tenant: Option<String>,
    /// The project inside the tenant [default: the project `default`].
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<String>,
    /// The person on whose behalf the tool is called. Without one, trouble of the caller's own credential, right or
    /// quota is answered and not stored.
    #[arg(long, value_name = "ID")]
    pub(crate) user: Option<String>,
    /// The conversation or connection. Without one, a state that belongs to a session is answered and not stored.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Language of the hints for people, for example `de-CH`.
    #[arg(long, value_name = "TAG")]
    pub(crate) locale: Option<String>,
}

impl CallerArgs {
    /// Lays the flags over `caller`.
    pub(crate) fn apply(&self, caller: &mut v1::Caller) {
        let flags = [
            (&self.tenant, &mut caller.tenant_id),
            (&self.project, &mut caller.project_id),
            (&self.user, &mut caller.user_id),
            (&self.session, &mut caller.session_id),
            (&self.locale, &mut caller.locale),
        ];
        for (flag, field) in flags {
            if let Some(value) = flag {
                field.clone_from(value);
            }
        }
        // An empty `--tenant ""` is the user's own word and is refused by the server.
        if caller.tenant_id.is_empty() && self.tenant.is_none() {
            DEFAULT_TENANT.clone_into(&mut caller.tenant_id);
        }
    }

    /// The caller by flags and defaults alone.
    pub(crate) fn to_caller(&self) -> v1::Caller {
        let mut caller = v1::Caller::default();
        self.apply(&mut caller);
        caller
    }
}
