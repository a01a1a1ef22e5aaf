//! Admin: reading, listing and changing documents by hand; rule layers; jobs. Every write is an error where it cannot be
//! stored: a person is waiting for it.

use chrono::TimeDelta;
use health_model::cooldown::{Window, saturating_add};
use health_model::policy::FALLBACK_RECOVERY;
use health_model::transition::Mark;
use health_model::vocabulary::{Classification, EffectiveStatus, EtaBasis, Origin, Scope, Status};
use health_model::{Document, DocumentKey, Effect, EffectKind, Hold, Instant, cascade};
use ports::{
    Counter, DeleteSelector, DocumentFilter, Job, JobFilter, Revision, RuleLayerKey, RuleLayerRecord,
};

use crate::Service;
use crate::error::Error;
use crate::explain::off_the_runtime;
use crate::rules::Validated;
use crate::settings::Mode;
use crate::writer::{Planned, World};

/// A document as an administrator sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentView {
    /// The document.
    pub document: Document,
    /// Its version; 0 = it is not stored.
    pub version: u64,
    /// What its own verdict reads now, without the rest of any cascade.
    pub state: EffectiveStatus,
    /// The counters of its windows.
    pub counters: Vec<Counter>,
}

/// A change by hand.
#[derive(Debug, Clone, PartialEq)]
pub enum AdminChange {
    /// Sets a status.
    Mark {
        /// The status.
        status: Status,
        /// The class.
        classification: Classification,
        /// When it should be usable again; for DEGRADED `None` = in 15 minutes (C9).
        expected_recovery_at: Option<Instant>,
        /// Audit text.
        note: String,
    },
    /// Sets or replaces the hold.
    SetHold {
        /// The status that is shown.
        status: Status,
        /// For people.
        reason: String,
        /// When it ends by itself.
        until: Option<Instant>,
    },
    /// Removes the hold.
    ReleaseHold,
    /// Opens a cooldown.
    SetCooldown {
        /// The kind of error.
        signature: String,
        /// The user; `None` = everybody in scope.
        user_id: Option<String>,
        /// How long; `None` = the default of the class.
        duration: Option<TimeDelta>,
        /// The class.
        classification: Classification,
    },
    /// Removes cooldowns of a signature.
    ClearCooldown {
        /// The kind of error.
        signature: String,
        /// `None` = of every user and the scope-wide one; `Some(None)` = the scope-wide one.
        user_id: Option<Option<String>>,
    },
    /// Removes status, diagnosis, history and cooldowns; a hold stays.
    Clear,
}

/// A page of documents.
#[derive(Debug, Clone, PartialEq)]
pub struct DocumentViews {
    /// The documents.
    pub documents: Vec<DocumentView>,
    /// Pass it as `after` for the next page.
    pub next: Option<DocumentKey>,
    /// The instant that the states hold for.
    pub evaluated_at: Instant,
}

impl Service {
    /// One document, from the store, with its counters.
    ///
    /// # Errors
    ///
    /// [`Error::DocumentNotFound`], or the store's failure.
    pub async fn document(&self, key: &DocumentKey) -> Result<(DocumentView, Instant), Error> {
        let now = self.clock.now();
        self.flush_hits().await;
        let found = self.admin(self.store.load_document(key)).await?;
        let found = found.ok_or_else(|| Error::DocumentNotFound { key: key.to_string() })?;
        Ok((self.seen(found.document, found.version, now).await?, now))
    }

    /// A page of documents.
    ///
    /// # Errors
    ///
    /// The store's failure.
    pub async fn documents(
        &self,
        filter: &DocumentFilter,
        after: Option<&DocumentKey>,
        limit: usize,
    ) -> Result<DocumentViews, Error> {
        let now = self.clock.now();
        let page = self.admin(self.store.list_documents(filter, after, limit)).await?;
        let documents = page
            .documents
            .into_iter()
            .map(|it| DocumentView {
                state: self.own_state(&it.document, now),
                document: it.document,
                version: it.version,
                counters: Vec::new(),
            })
            .collect();
        Ok(DocumentViews { documents, next: page.next, evaluated_at: now })
    }

    /// Changes one document by hand. Returns it as it is afterwards, how many of the effects changed something, and the
    /// revision.
    ///
    /// # Errors
    ///
    /// [`Error::ObserveMode`]; [`Error::DocumentNotFound`] where there is nothing to clear or release; or that it could not be
    /// stored.
    pub async fn change(
        &self,
        key: DocumentKey,
        change: AdminChange,
        by: &str,
    ) -> Result<(DocumentView, usize, Option<Revision>), Error> {
        self.must_write()?;
        let now = self.clock.now();
        // What takes away needs something to take from; what sets makes the document.
        let needs_document = matches!(change, AdminChange::Clear | AdminChange::ReleaseHold);
        let by = if by.is_empty() { "admin".to_owned() } else { format!("admin/{by}") };
        let target = key.clone();
        let plan = move |world: &World<'_>| {
            let kinds = effects(&change, &by, world.document(&target), now);
            let effects = kinds.into_iter().map(|kind| Effect { key: target.clone(), kind }).collect();
            (world.document(&target).cloned(), Planned { effects, jobs: Vec::new() })
        };
        let (before, written) = self.writer()?.write(vec![key.container()], now, plan).await?;
        let n_changed = written.changed.iter().filter(|it| **it).count();
        let view = match written.documents.first() {
            Some(it) => self.seen(it.document.clone(), it.version, now).await?,
            None if needs_document && before.is_none() => {
                return Err(Error::DocumentNotFound { key: key.to_string() });
            }
            None => {
                let document = before.unwrap_or_else(|| Document::new(key, now));
                self.seen(document, 0, now).await?
            }
        };
        Ok((view, n_changed, written.revision.or_else(|| self.view.position())))
    }

    /// Deletes documents for good (R42). Of a user also what home documents note of their failures.
    ///
    /// # Errors
    ///
    /// [`Error::ObserveMode`], or the store's failure.
    pub async fn delete(&self, selector: &DeleteSelector) -> Result<(u64, Revision), Error> {
        self.must_write()?;
        let now = self.clock.now();
        match selector {
            DeleteSelector::User { tenant_id, user_id } => self.forget_user(tenant_id, user_id, now).await?,
            // What was reported before must not come into the journal after it.
            DeleteSelector::Tenant { .. } => self.flush_journal().await,
            DeleteSelector::One(_) | DeleteSelector::Session { .. } => {}
        }
        Ok(self.view.patient(self.settings.delete_timeout, self.store.delete(selector, now)).await?)
    }

    /// Puts a rule layer into the store. It takes effect at once here and within two seconds on other servers. Rules with
    /// errors are refused as a whole: nothing is stored.
    ///
    /// # Errors
    ///
    /// [`Error::RulesInvalid`] with every finding; [`Error::ObserveMode`]; the store's failure, also where `expected`
    /// is not the version found.
    pub async fn put_rule_layer(
        &self,
        key: RuleLayerKey,
        text: String,
        by: &str,
        expected: Option<u64>,
    ) -> Result<(RuleLayerRecord, Validated), Error> {
        self.must_write()?;
        let found = self.validate_rules(key.clone(), text.clone()).await?;
        let is_error = |it: &&checker::Diagnostic| it.severity == checker::Severity::Error;
        let n_errors = found.diagnostics.iter().filter(is_error).count();
        if n_errors > 0 {
            return Err(Error::RulesInvalid { n_errors, diagnostics: found.diagnostics });
        }
        let mut layer = RuleLayerRecord {
            key,
            text,
            updated_at: self.clock.now(),
            updated_by: by.to_owned(),
            version: 0,
        };
        layer.version = self.admin(self.store.put_rule_layer(&layer, expected)).await?;
        self.reload_after_put().await;
        Ok((layer, found))
    }

    /// Deletes a rule layer from the store.
    ///
    /// # Errors
    ///
    /// As [`Service::put_rule_layer`].
    pub async fn delete_rule_layer(&self, key: &RuleLayerKey, expected: Option<u64>) -> Result<bool, Error> {
        self.must_write()?;
        let deleted = self.admin(self.store.delete_rule_layer(key, expected)).await?;
        self.reload_after_put().await;
        Ok(deleted)
    }

    /// The layers of one tenant in the store, each with what is to be said of it.
    ///
    /// # Errors
    ///
    /// The store's failure, or [`Error::ShuttingDown`].
    pub async fn rule_layers(&self, tenant_id: &str) -> Result<Vec<(RuleLayerRecord, Validated)>, Error> {
        let (_, mut layers) = self.admin(self.store.list_rule_layers()).await?;
        layers.retain(|it| it.key.tenant_id == tenant_id);
        let rules = std::sync::Arc::clone(&self.rules);
        let validated = move |it: RuleLayerRecord| {
            let found = rules.validate(&it.key, &it.text);
            (it, found)
        };
        off_the_runtime(move || layers.into_iter().map(validated).collect()).await
    }

    /// A page of jobs.
    ///
    /// # Errors
    ///
    /// The store's failure.
    pub async fn jobs(
        &self,
        filter: &JobFilter,
        after: Option<uuid::Uuid>,
        limit: usize,
    ) -> Result<Vec<Job>, Error> {
        Ok(self.admin(self.store.list_jobs(filter, after, limit)).await?)
    }

    /// A store call that a person waits for: it may take longer than a check may, and says nothing about the store that
    /// others should act upon.
    pub(crate) async fn admin<T>(
        &self,
        call: impl Future<Output = Result<T, ports::StoreError>>,
    ) -> Result<T, ports::StoreError> {
        self.view.patient(self.settings.admin_timeout, call).await
    }

    /// The layer is stored: that it is not in force here yet is no error of the put, the next poll makes it so.
    async fn reload_after_put(&self) {
        if let Err(error) = self.reload_rules().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "stored rules are in force at the next poll"
            );
        }
    }

    fn must_write(&self) -> Result<(), Error> {
        match self.settings.mode {
            Mode::Active => Ok(()),
            Mode::Observe => Err(Error::ObserveMode),
        }
    }

    async fn seen(&self, document: Document, version: u64, now: Instant) -> Result<DocumentView, Error> {
        let counters = if document.cooldowns.is_empty() {
            Vec::new()
        } else {
            self.admin(self.store.load_counters(&document.key)).await?
        };
        Ok(DocumentView { state: self.own_state(&document, now), document, version, counters })
    }

    fn own_state(&self, document: &Document, now: Instant) -> EffectiveStatus {
        cascade::Cascade::new([document]).state(&self.settings.policy, now).effective
    }
}

fn effects(change: &AdminChange, by: &str, before: Option<&Document>, now: Instant) -> Vec<EffectKind> {
    match change {
        AdminChange::Mark { status, classification, expected_recovery_at, note } => {
            let fallback = (*status == Status::Degraded).then(|| saturating_add(now, FALLBACK_RECOVERY));
            vec![EffectKind::Mark(Mark {
                status: *status,
                classification: *classification,
                expected_recovery_at: expected_recovery_at.or(fallback),
                eta_basis: EtaBasis::Admin,
                origin: Origin::Admin,
                signature: None,
                user_id: None,
                by: by.to_owned(),
                note: note.clone(),
            })]
        }
        AdminChange::SetHold { status, reason, until } => vec![EffectKind::SetHold(Hold {
            status: *status,
            reason: reason.clone(),
            since: now,
            until: *until,
            by: by.to_owned(),
        })],
        AdminChange::ReleaseHold => vec![EffectKind::ReleaseHold],
        AdminChange::SetCooldown { signature, user_id, duration, classification } => {
            let window = match duration {
                Some(it) => Window::Exactly(saturating_add(now, *it)),
                None => Window::Default,
            };
            vec![EffectKind::OpenCooldown {
                signature: signature.clone(),
                user_id: user_id.clone(),
                classification: *classification,
                window,
            }]
        }
        AdminChange::ClearCooldown { signature, user_id } => before
            .iter()
            .flat_map(|it| it.cooldowns.iter())
            .filter(|it| it.signature == *signature)
            .filter(|it| user_id.as_ref().is_none_or(|wanted| *wanted == it.user_id))
            .map(|it| EffectKind::ClearCooldown {
                signature: it.signature.clone(),
                user_id: it.user_id.clone(),
            })
            .collect(),
        AdminChange::Clear => vec![EffectKind::Clear],
    }
}

/// The key of a document as an administrator names it.
///
/// GLOBAL documents are one row for all tenants and are named by provider (DESIGN §4).
#[must_use]
pub fn document_key(tenant_id: &str, scope: Scope, scope_id: &str, tool_name: &str) -> DocumentKey {
    let tenant_id = if scope == Scope::Global { "" } else { tenant_id };
    DocumentKey {
        tenant_id: tenant_id.to_owned(),
        scope,
        scope_id: scope_id.to_owned(),
        tool_name: tool_name.to_owned(),
    }
}
