//! What a user's deletion takes from documents that are not the user's: their entries among the like failures that tools'
//! home documents note (DESIGN §2.3). A store deletes whole documents; what stands inside of one is taken out here.

use health_model::promotion::pseudonym;
use health_model::vocabulary::Scope;
use health_model::{Document, Effect, EffectKind, Instant};
use ports::DocumentFilter;

use crate::Service;
use crate::error::Error;
use crate::writer::{Planned, World};

/// Documents looked at in one read.
const PAGE: usize = 1_000;

impl Service {
    /// Drops the user's like failures in every home document of the tenant. Doing it again is harmless.
    pub(crate) async fn forget_user(
        &self,
        tenant_id: &str,
        user_id: &str,
        now: Instant,
    ) -> Result<(), Error> {
        let user = pseudonym(tenant_id, user_id);
        let names = |it: &Document| it.like_failures.iter().any(|it| it.user == user);
        for scope in [Scope::Project, Scope::Tenant] {
            let filter = DocumentFilter {
                tenant_id: tenant_id.to_owned(),
                scope: Some(scope),
                ..DocumentFilter::default()
            };
            let mut after = None;
            loop {
                let listed = self.store.list_documents(&filter, after.as_ref(), PAGE);
                let page = self.view.patient(self.settings.delete_timeout, listed).await?;
                for it in page.documents.iter().filter(|it| names(&it.document)) {
                    let key = it.document.key.clone();
                    let kind = EffectKind::ForgetUser { user: user.clone() };
                    let plan = move |_: &World<'_>| {
                        let effects = vec![Effect { key: key.clone(), kind: kind.clone() }];
                        ((), Planned { effects, jobs: Vec::new() })
                    };
                    self.writer()?.write(vec![it.document.key.container()], now, plan).await?;
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }
}
