//! The admin service: reads the wire strictly, calls, writes the wire. Every change by hand leaves a line in the audit log
//! (target `audit`): who, what, where and why.

use std::sync::Arc;

use agrajag_proto::v1;
use agrajag_proto::v1::admin_service_server::AdminService;
use health_model::{DocumentKey, Scope};
use health_service::Error as ServiceError;
use health_service::admin::{AdminChange, DocumentView};
use ports::Versioned;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use crate::api::{Api, respond, revision};
use crate::error::Error;
use crate::wire::admin::{self, Change};
use crate::wire::fields::{MAX_ID, Violations};
use crate::wire::time::timestamp;
use crate::wire::{backtest, health, jobs, page, rules};

/// The service as gRPC sees it.
#[derive(Clone)]
pub(crate) struct AdminApi(pub(crate) Arc<Api>);

/// What a change of a document answers: the document, how much changed, the revision.
type Changed = (v1::HealthDocument, usize, String);

impl AdminApi {
    async fn document(&self, it: v1::GetDocumentRequest) -> Result<v1::GetDocumentResponse, Error> {
        let key = admin::key(&it.tenant_id, it.key)?;
        // Read from the store, which knows more than any revision that was ever told.
        let (document, now) = self.0.service.document(&key).await?;
        Ok(v1::GetDocumentResponse {
            document: Some(self.shown(&document, now)),
            evaluated_at: Some(timestamp(now)),
            revision: revision(self.0.service.revision()),
            stale: false,
            warnings: Vec::new(),
        })
    }

    async fn list(&self, it: v1::ListDocumentsRequest) -> Result<v1::ListDocumentsResponse, Error> {
        let filter = admin::document_filter(&it)?;
        let scope = filter.scope.map(Scope::as_str);
        let status = filter.status.map(|it| it.as_str());
        let filters = page::filters(&(&filter.tenant_id, scope, &filter.scope_id, &filter.tool_name, status));
        let after: Option<DocumentKey> = page::read(filters, &it.page_token)?;
        let size = page::size(it.page_size, self.0.max_page_size());
        let found = self.0.service.documents(&filter, after.as_ref(), size).await?;
        Ok(v1::ListDocumentsResponse {
            documents: found.documents.iter().map(|it| self.shown(it, found.evaluated_at)).collect(),
            next_page_token: found.next.map(|it| page::write(filters, it)).transpose()?.unwrap_or_default(),
            evaluated_at: Some(timestamp(found.evaluated_at)),
            revision: revision(self.0.service.revision()),
            stale: false,
            warnings: Vec::new(),
        })
    }

    async fn change(&self, rpc: &'static str, change: Result<Change, Error>) -> Result<Changed, Error> {
        let Change { key, kind, by, note } = change?;
        let (document, n_changed, at) = self.0.service.change(key.clone(), kind, &by).await?;
        audit(rpc, &key.to_string(), &by, &note, n_changed);
        Ok((self.shown(&document, self.0.service.now()), n_changed, revision(at)))
    }

    async fn clear_cooldown(&self, it: v1::ClearCooldownRequest) -> Result<v1::ClearCooldownResponse, Error> {
        let change = admin::clear_cooldown(it)?;
        let AdminChange::ClearCooldown { signature, user_id } = &change.kind else {
            return Err(Error::Internal);
        };
        let signatures =
            if signature.is_empty() { self.signatures(&change.key).await? } else { vec![signature.clone()] };
        let mut n_cleared = 0;
        let mut last = None;
        for signature in signatures {
            let kind = AdminChange::ClearCooldown { signature, user_id: user_id.clone() };
            let change = Ok(Change { kind, ..change.clone() });
            let (document, n, at) = self.change("ClearCooldown", change).await?;
            n_cleared += n;
            last = Some((document, at));
        }
        let (document, at) = match last {
            Some((document, at)) => (Some(document), at),
            None => (None, revision(self.0.service.revision())),
        };
        Ok(v1::ClearCooldownResponse {
            document,
            n_cleared: u32::try_from(n_cleared).unwrap_or(u32::MAX),
            revision: at,
            warnings: Vec::new(),
        })
    }

    /// Every signature that the document has a cooldown of; none if there is no such document.
    async fn signatures(&self, key: &DocumentKey) -> Result<Vec<String>, Error> {
        let found = match self.0.service.document(key).await {
            Ok((found, _)) => found,
            Err(ServiceError::DocumentNotFound { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut signatures: Vec<String> =
            found.document.cooldowns.into_iter().map(|it| it.signature).collect();
        signatures.dedup();
        Ok(signatures)
    }

    async fn delete(&self, it: v1::DeleteDocumentsRequest) -> Result<v1::DeleteDocumentsResponse, Error> {
        let (selector, by) = admin::delete_documents(it)?;
        let (n_deleted, at) = self.0.service.delete(&selector).await?;
        audit("DeleteDocuments", &format!("{selector:?}"), &by, "", usize::try_from(n_deleted).unwrap_or(0));
        Ok(v1::DeleteDocumentsResponse { n_deleted, revision: at.to_string(), warnings: Vec::new() })
    }

    async fn backtest(&self, it: v1::BacktestRulesRequest) -> Result<v1::BacktestRulesResponse, Error> {
        let request = backtest::request(it)?;
        Ok(backtest::response(self.0.service.backtest(request).await?))
    }

    async fn put_layer(&self, it: v1::PutRuleLayerRequest) -> Result<v1::PutRuleLayerResponse, Error> {
        let key = admin::layer_key(it.tenant_id, it.project_id, &it.by)?;
        rules::check_length(&it.yaml, "yaml")?;
        let name = format!("{key:?}");
        let put = self.0.service.put_rule_layer(key, it.yaml, &it.by, it.expected_version).await?;
        audit("PutRuleLayer", &name, &it.by, "", 1);
        let (record, found) = put;
        Ok(v1::PutRuleLayerResponse {
            layer: Some(rules::stored_layer(record, &found, false)),
            revision: revision(self.0.service.revision()),
            warnings: Vec::new(),
        })
    }

    async fn delete_layer(
        &self,
        it: v1::DeleteRuleLayerRequest,
    ) -> Result<v1::DeleteRuleLayerResponse, Error> {
        let key = admin::layer_key(it.tenant_id, it.project_id, &it.by)?;
        let deleted = self.0.service.delete_rule_layer(&key, it.expected_version).await?;
        audit("DeleteRuleLayer", &format!("{key:?}"), &it.by, "", usize::from(deleted));
        Ok(v1::DeleteRuleLayerResponse {
            deleted,
            revision: revision(self.0.service.revision()),
            warnings: Vec::new(),
        })
    }

    async fn layers(&self, it: v1::ListRuleLayersRequest) -> Result<v1::ListRuleLayersResponse, Error> {
        let mut violations = Violations::default();
        violations.required("tenant_id", &it.tenant_id, MAX_ID);
        violations.finish()?;
        let stored = self.0.service.rule_layers(&it.tenant_id).await?;
        Ok(v1::ListRuleLayersResponse {
            layers: rules::layers(&self.0.service, &it.tenant_id, stored, it.include_yaml),
            revision: revision(self.0.service.revision()),
            stale: false,
            warnings: Vec::new(),
        })
    }

    async fn jobs(&self, it: v1::ListJobsRequest) -> Result<v1::ListJobsResponse, Error> {
        let filter = admin::job_filter(&it)?;
        let state = filter.state.map(ports::JobState::as_str);
        let filters = page::filters(&("jobs", &filter.tenant_id, state, &filter.tool_name));
        let after: Option<Uuid> = page::read(filters, &it.page_token)?;
        let size = page::size(it.page_size, self.0.max_page_size());
        // One more than asked for tells whether there is another page.
        let mut found = self.0.service.jobs(&filter, after, size + 1).await?;
        let has_more = found.len() > size;
        found.truncate(size);
        let next = found.last().filter(|_| has_more).map(|it| page::write(filters, it.id)).transpose()?;
        Ok(v1::ListJobsResponse {
            jobs: found.into_iter().map(jobs::job).collect(),
            next_page_token: next.unwrap_or_default(),
            revision: revision(self.0.service.revision()),
            warnings: Vec::new(),
        })
    }

    fn shown(&self, it: &DocumentView, now: health_model::Instant) -> v1::HealthDocument {
        let versioned = Versioned { document: it.document.clone(), version: it.version };
        health::document(&versioned, &it.counters, &self.0.service.settings().policy, now)
    }
}

/// One line for each change by hand.
fn audit(rpc: &'static str, what: &str, by: &str, note: &str, n_changed: usize) {
    let by = if by.is_empty() { "admin" } else { by };
    tracing::info!(target: "audit", rpc, what, by, note, n_changed, "changed by hand");
}

macro_rules! changes {
    ($self:ident, $rpc:literal, $change:expr, $response:ident) => {{
        let changed = $self.change($rpc, $change).await;
        respond(
            &$self.0,
            changed.map(|(document, _, revision)| v1::$response {
                document: Some(document),
                revision,
                warnings: Vec::new(),
            }),
        )
    }};
}

#[tonic::async_trait]
impl AdminService for AdminApi {
    async fn get_document(
        &self,
        request: Request<v1::GetDocumentRequest>,
    ) -> Result<Response<v1::GetDocumentResponse>, Status> {
        respond(&self.0, self.document(request.into_inner()).await)
    }

    async fn list_documents(
        &self,
        request: Request<v1::ListDocumentsRequest>,
    ) -> Result<Response<v1::ListDocumentsResponse>, Status> {
        respond(&self.0, self.list(request.into_inner()).await)
    }

    async fn mark_unavailable(
        &self,
        request: Request<v1::MarkUnavailableRequest>,
    ) -> Result<Response<v1::MarkUnavailableResponse>, Status> {
        let change = admin::mark_unavailable(request.into_inner(), self.0.service.now());
        changes!(self, "MarkUnavailable", change, MarkUnavailableResponse)
    }

    async fn mark_degraded(
        &self,
        request: Request<v1::MarkDegradedRequest>,
    ) -> Result<Response<v1::MarkDegradedResponse>, Status> {
        let change = admin::mark_degraded(request.into_inner(), self.0.service.now());
        changes!(self, "MarkDegraded", change, MarkDegradedResponse)
    }

    async fn mark_available(
        &self,
        request: Request<v1::MarkAvailableRequest>,
    ) -> Result<Response<v1::MarkAvailableResponse>, Status> {
        changes!(self, "MarkAvailable", admin::mark_available(request.into_inner()), MarkAvailableResponse)
    }

    async fn set_hold(
        &self,
        request: Request<v1::SetHoldRequest>,
    ) -> Result<Response<v1::SetHoldResponse>, Status> {
        let change = admin::set_hold(request.into_inner(), self.0.service.now());
        changes!(self, "SetHold", change, SetHoldResponse)
    }

    async fn release_hold(
        &self,
        request: Request<v1::ReleaseHoldRequest>,
    ) -> Result<Response<v1::ReleaseHoldResponse>, Status> {
        changes!(self, "ReleaseHold", admin::release_hold(request.into_inner()), ReleaseHoldResponse)
    }

    async fn set_cooldown(
        &self,
        request: Request<v1::SetCooldownRequest>,
    ) -> Result<Response<v1::SetCooldownResponse>, Status> {
        changes!(self, "SetCooldown", admin::set_cooldown(request.into_inner()), SetCooldownResponse)
    }

    async fn clear_cooldown(
        &self,
        request: Request<v1::ClearCooldownRequest>,
    ) -> Result<Response<v1::ClearCooldownResponse>, Status> {
        respond(&self.0, self.clear_cooldown(request.into_inner()).await)
    }

    async fn clear_document(
        &self,
        request: Request<v1::ClearDocumentRequest>,
    ) -> Result<Response<v1::ClearDocumentResponse>, Status> {
        changes!(self, "ClearDocument", admin::clear_document(request.into_inner()), ClearDocumentResponse)
    }

    async fn delete_documents(
        &self,
        request: Request<v1::DeleteDocumentsRequest>,
    ) -> Result<Response<v1::DeleteDocumentsResponse>, Status> {
        respond(&self.0, self.delete(request.into_inner()).await)
    }

    async fn get_effective_rules(
        &self,
        request: Request<v1::GetEffectiveRulesRequest>,
    ) -> Result<Response<v1::GetEffectiveRulesResponse>, Status> {
        respond(&self.0, rules::effective(&self.0.service, request.into_inner()))
    }

    async fn validate_rules(
        &self,
        request: Request<v1::ValidateRulesRequest>,
    ) -> Result<Response<v1::ValidateRulesResponse>, Status> {
        respond(&self.0, rules::validate(&self.0.service, request.into_inner()).await)
    }

    async fn backtest_rules(
        &self,
        request: Request<v1::BacktestRulesRequest>,
    ) -> Result<Response<v1::BacktestRulesResponse>, Status> {
        respond(&self.0, self.backtest(request.into_inner()).await)
    }

    async fn put_rule_layer(
        &self,
        request: Request<v1::PutRuleLayerRequest>,
    ) -> Result<Response<v1::PutRuleLayerResponse>, Status> {
        respond(&self.0, self.put_layer(request.into_inner()).await)
    }

    async fn delete_rule_layer(
        &self,
        request: Request<v1::DeleteRuleLayerRequest>,
    ) -> Result<Response<v1::DeleteRuleLayerResponse>, Status> {
        respond(&self.0, self.delete_layer(request.into_inner()).await)
    }

    async fn list_rule_layers(
        &self,
        request: Request<v1::ListRuleLayersRequest>,
    ) -> Result<Response<v1::ListRuleLayersResponse>, Status> {
        respond(&self.0, self.layers(request.into_inner()).await)
    }

    async fn list_jobs(
        &self,
        request: Request<v1::ListJobsRequest>,
    ) -> Result<Response<v1::ListJobsResponse>, Status> {
        respond(&self.0, self.jobs(request.into_inner()).await)
    }
}
