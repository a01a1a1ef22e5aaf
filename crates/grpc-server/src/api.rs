//! The tool health service: one function a use case, shared by gRPC and HTTP. Reads the wire, calls, writes the wire;
//! nothing is decided here.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use agrajag_proto::v1::tool_health_service_server::ToolHealthService;
use agrajag_proto::v1::{self, ErrorReason, Warning, WarningCode};
use futures::{Stream, StreamExt as _};
use health_model::Instant;
use health_service::watch::{WatchEvent, WatchMessage};
use health_service::{Note, Service, event, success};
use ports::RuleLayerKey;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::config::{Config, Mode};
use crate::edge::Shared;
use crate::error::{Error, Violation, reason_name};
use crate::metrics::Metrics;
use crate::wire::fields::{MAX_ID, Warnings};
use crate::wire::time::timestamp;
use crate::wire::{failure, health, notes, render, requests, rules, verdict, words};

/// Tools in one message of a watch.
const SNAPSHOT_PART: usize = 1_000;

/// What the handlers share.
pub(crate) struct Api {
    pub(crate) service: Service,
    config: Config,
    store_kind: &'static str,
    started_at: Instant,
    metrics: Arc<Metrics>,
    shared: Arc<Shared>,
    /// Ends the streams when the server stops.
    streams: CancellationToken,
    /// How many rules are skipped, by layer.
    skipped: RwLock<Arc<BTreeMap<RuleLayerKey, usize>>>,
}

impl Api {
    pub(crate) fn new(
        service: Service,
        config: Config,
        store_kind: &'static str,
        metrics: Arc<Metrics>,
        shared: Arc<Shared>,
        streams: CancellationToken,
    ) -> Self {
        let started_at = service.now();
        Self { service, config, store_kind, started_at, metrics, shared, streams, skipped: RwLock::default() }
    }

    /// One failed call. `oddities` are those of the wire's own form.
    pub(crate) async fn check(
        &self,
        wire: v1::CheckRequest,
        oddities: Vec<Warning>,
    ) -> Result<v1::CheckResponse, Error> {
        let mut warnings = Warnings::from(oddities);
        let asked_for = wire.at_least.clone();
        let wanted = render::wanted(&wire, &mut warnings);
        let (request, is_full) = requests::check(wire, self.service.now(), &mut warnings)?;
        self.warn_of_rules(&request.caller.tenant_id, &request.caller.project_id, &mut warnings);
        let tool = if self.config.metrics.by_tool { request.tool.name.clone() } else { String::new() };
        let answer = self.service.check(request).await;
        self.say(&answer.notes, &asked_for, &mut warnings);
        let verdict = verdict::checked(&answer, is_full);
        self.metrics.check(verdict.classification(), &tool);
        let renderings = render::renderings(wanted.as_ref(), &answer.verdict, &mut warnings);
        Ok(v1::CheckResponse {
            verdict: Some(verdict),
            revision: revision(answer.revision),
            stale: answer.stale,
            warnings: warnings.into_vec(),
            renderings,
        })
    }

    /// Successful calls.
    pub(crate) async fn record_success(
        &self,
        wire: v1::RecordSuccessRequest,
        oddities: Vec<Warning>,
    ) -> Result<v1::RecordSuccessResponse, Error> {
        let mut warnings = Warnings::from(oddities);
        let names =
            wire.successes.iter().map(|it| it.tool.as_ref().map(|it| it.name.clone()).unwrap_or_default());
        let names: Vec<String> = names.collect();
        let (request, places) = requests::record_success(wire, self.config.limits.max_tools, &mut warnings)?;
        let answer = self.service.record_success(request).await;
        self.say(&answer.notes, "", &mut warnings);
        let results = in_order(names, places, &answer.results, success_result, |tool_name, status| {
            v1::SuccessResult { tool_name, status: Some(status), ..v1::SuccessResult::default() }
        });
        for it in &results {
            self.metrics.success(it.outcome());
        }
        Ok(v1::RecordSuccessResponse {
            results,
            durability: health::durability(answer.durability).into(),
            revision: revision(answer.revision),
            stale: answer.stale,
            warnings: warnings.into_vec(),
        })
    }

    /// A connection opened or closed, a process was killed.
    pub(crate) async fn record_event(
        &self,
        wire: v1::RecordEventRequest,
    ) -> Result<v1::RecordEventResponse, Error> {
        let mut warnings = Warnings::default();
        let names = wire.tools.iter().map(|it| it.name.clone()).collect();
        let now = self.service.now();
        let (request, places) =
            requests::record_event(wire, self.config.limits.max_tools, now, &mut warnings)?;
        let answer = self.service.record_event(request).await?;
        self.say(&answer.notes, "", &mut warnings);
        let results = in_order(names, places, &answer.results, event_result, |tool_name, status| {
            v1::EventResult { tool_name, status: Some(status), ..v1::EventResult::default() }
        });
        for it in &results {
            self.metrics.event(it.outcome());
        }
        Ok(v1::RecordEventResponse {
            results,
            durability: health::durability(answer.durability).into(),
            revision: revision(answer.revision),
            stale: false,
            warnings: warnings.into_vec(),
        })
    }

    /// Many tools at once.
    pub(crate) async fn lookup(
        &self,
        wire: v1::LookupRequest,
        oddities: Vec<Warning>,
    ) -> Result<v1::LookupResponse, Error> {
        let mut warnings = Warnings::from(oddities);
        let asked_for = wire.at_least.clone();
        let request = requests::lookup(wire, self.config.limits.max_tools, &mut warnings)?;
        let answer = self.service.lookup(request).await;
        self.say(&answer.notes, &asked_for, &mut warnings);
        self.metrics.lookup(answer.tools.len());
        Ok(v1::LookupResponse {
            tools: answer.tools.into_iter().map(health::tool_health).collect(),
            block: answer.block,
            recovered: answer.recovered,
            shown: answer.shown,
            evaluated_at: Some(timestamp(answer.evaluated_at)),
            next_change_at: answer.next_change_at.map(timestamp),
            revision: revision(answer.revision),
            stale: answer.stale,
            warnings: warnings.into_vec(),
        })
    }

    async fn watch(&self, wire: v1::WatchRequest) -> Result<WatchStream, Error> {
        let mut warnings = Warnings::default();
        let request = requests::watch(wire, self.config.limits.max_tools, &mut warnings)?;
        let messages = self.service.watch(request).await?;
        let mut oddities = Some(warnings);
        let stopped = self.streams.clone().cancelled_owned();
        let parts = ReceiverStream::new(messages).flat_map(move |message| {
            let warnings = oddities.take().unwrap_or_default();
            futures::stream::iter(watch_parts(message, warnings).into_iter().map(Ok))
        });
        // A watch ends by itself only when the server does: the client is to come back, here or elsewhere.
        let end = futures::stream::once(std::future::ready(Err(Error::ShuttingDown.status())));
        Ok(Box::pin(parts.take_until(stopped).chain(end)))
    }

    async fn get_info(&self) -> v1::GetInfoResponse {
        let settings = self.service.settings();
        let info = self.service.store_info().await.ok();
        let stats = self.service.stats();
        let (errors, warnings) = rules::counts(&self.service);
        let limits = &self.config.limits;
        let fit = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
        v1::GetInfoResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            store_epoch: info.as_ref().map(|it| it.epoch.clone()).unwrap_or_default(),
            store_kind: self.store_kind.to_owned(),
            store_available: info.is_some(),
            mode: match self.config.mode {
                Mode::Active => v1::ServerMode::Active,
                Mode::Observe => v1::ServerMode::Observe,
            }
            .into(),
            default_action: match self.config.checker.default_action {
                crate::config::DefaultAction::Auto => "auto",
                crate::config::DefaultAction::None => "none",
            }
            .to_owned(),
            packs: rules::packs(&self.service),
            surface: requests::wire_surface(settings.surface).into(),
            placement: requests::wire_placement(settings.placement).into(),
            limits: Some(v1::Limits {
                max_tools: fit(limits.max_tools),
                max_tool_name_bytes: fit(MAX_ID),
                max_id_bytes: fit(MAX_ID),
                max_matched_body_bytes: fit(failure::MATCHED_BODY),
                max_request_bytes: fit(limits.max_request_bytes),
                max_rule_layer_bytes: fit(rules::MAX_LAYER),
                max_page_size: fit(limits.max_page_size),
                max_concurrent_requests_per_connection: limits.max_streams_per_connection,
                history_size: fit(settings.policy.history_limit),
                max_watches: fit(settings.watch_limit),
            }),
            n_rule_errors: u32::try_from(errors).unwrap_or(u32::MAX),
            n_rule_warnings: u32::try_from(warnings).unwrap_or(u32::MAX),
            now: Some(timestamp(self.service.now())),
            started_at: Some(timestamp(self.started_at)),
            revision: revision(self.service.revision()),
            stale: stats.stale,
            warnings: Vec::new(),
        }
    }

    async fn explain(&self, wire: v1::ExplainRequest) -> Result<v1::ExplainResponse, Error> {
        let mut warnings = Warnings::default();
        let now = self.service.now();
        let request = requests::explain(wire, now, &mut warnings)?;
        rules::explain(&self.service, request, warnings).await
    }

    /// What a use case has to say, and whether the caller's own revision was reached.
    fn say(&self, noted: &[Note], asked_for: &str, warnings: &mut Warnings) {
        notes::push(noted, warnings);
        if !asked_for.is_empty() && noted.contains(&Note::StoreAway) {
            warnings.push(WarningCode::Behind, "at_least", "this answer may not yet hold that revision");
        }
    }

    /// The layers that may lack rules are looked up now and then, not for every failure.
    fn warn_of_rules(&self, tenant_id: &str, project_id: &str, warnings: &mut Warnings) {
        let skipped = Arc::clone(&self.skipped.read().unwrap_or_else(PoisonError::into_inner));
        if skipped.is_empty() {
            return;
        }
        let n: usize = [None, Some(project_id)]
            .into_iter()
            .map(|it| RuleLayerKey { tenant_id: tenant_id.to_owned(), project_id: it.map(str::to_owned) })
            .filter_map(|it| skipped.get(&it))
            .sum();
        if n > 0 {
            let message = format!(
                "rules of this tenant and project are skipped: {n}; GetEffectiveRules or `agrajag rules layers` shows why"
            );
            warnings.push(WarningCode::RuleSkipped, "", message);
        }
    }

    /// Looks at the rule layers again.
    pub(crate) fn refresh(&self) {
        *self.skipped.write().unwrap_or_else(PoisonError::into_inner) =
            Arc::new(rules::skipped(&self.service));
    }

    pub(crate) fn refused(&self, error: &Error) {
        self.metrics.refusal(reason_name(error.kind().0));
    }

    pub(crate) fn max_request_bytes(&self) -> usize {
        self.config.limits.max_request_bytes
    }

    pub(crate) fn max_page_size(&self) -> usize {
        self.config.limits.max_page_size
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.shared.stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn is_store_available(&self) -> bool {
        let stats = self.service.stats();
        !stats.store_away && !stats.stale
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

/// A response of gRPC: counts what was refused.
pub(crate) fn respond<T>(api: &Api, result: Result<T, Error>) -> Result<Response<T>, Status> {
    match result {
        Ok(it) => Ok(Response::new(it)),
        Err(error) => {
            api.refused(&error);
            Err(error.status())
        }
    }
}

type WatchStream = Pin<Box<dyn Stream<Item = Result<v1::WatchResponse, Status>> + Send>>;

/// The service as gRPC sees it.
#[derive(Clone)]
pub(crate) struct HealthApi(pub(crate) Arc<Api>);

#[tonic::async_trait]
impl ToolHealthService for HealthApi {
    type WatchStream = WatchStream;

    async fn check(&self, request: Request<v1::CheckRequest>) -> Result<Response<v1::CheckResponse>, Status> {
        respond(&self.0, self.0.check(request.into_inner(), Vec::new()).await)
    }

    async fn record_success(
        &self,
        request: Request<v1::RecordSuccessRequest>,
    ) -> Result<Response<v1::RecordSuccessResponse>, Status> {
        respond(&self.0, self.0.record_success(request.into_inner(), Vec::new()).await)
    }

    async fn record_event(
        &self,
        request: Request<v1::RecordEventRequest>,
    ) -> Result<Response<v1::RecordEventResponse>, Status> {
        respond(&self.0, self.0.record_event(request.into_inner()).await)
    }

    async fn lookup(
        &self,
        request: Request<v1::LookupRequest>,
    ) -> Result<Response<v1::LookupResponse>, Status> {
        respond(&self.0, self.0.lookup(request.into_inner(), Vec::new()).await)
    }

    async fn watch(&self, request: Request<v1::WatchRequest>) -> Result<Response<WatchStream>, Status> {
        respond(&self.0, self.0.watch(request.into_inner()).await)
    }

    async fn explain(
        &self,
        request: Request<v1::ExplainRequest>,
    ) -> Result<Response<v1::ExplainResponse>, Status> {
        respond(&self.0, self.0.explain(request.into_inner()).await)
    }

    async fn get_info(
        &self,
        _: Request<v1::GetInfoRequest>,
    ) -> Result<Response<v1::GetInfoResponse>, Status> {
        Ok(Response::new(self.0.get_info().await))
    }
}

pub(crate) fn revision(it: Option<ports::Revision>) -> String {
    it.map(|it| it.to_string()).unwrap_or_default()
}

/// The results of a batch in the order of the request: those of the use case, and what is wrong with the others.
fn in_order<R, W>(
    names: Vec<String>,
    places: Vec<Result<usize, Violation>>,
    results: &[R],
    good: impl Fn(String, &R) -> W,
    bad: impl Fn(String, v1::ItemStatus) -> W,
) -> Vec<W> {
    names
        .into_iter()
        .zip(places)
        .filter_map(|(name, place)| match place {
            Ok(at) => results.get(at).map(|it| good(name, it)),
            Err(violation) => Some(bad(name, requests::item_status(violation))),
        })
        .collect()
}

fn success_result(tool_name: String, it: &success::SuccessResult) -> v1::SuccessResult {
    use success::SuccessOutcome as Outcome;
    let outcome = match it.outcome {
        Outcome::Cleared => v1::SuccessOutcome::Cleared,
        Outcome::NothingToClear => v1::SuccessOutcome::NothingToClear,
        Outcome::NotASuccess => v1::SuccessOutcome::NotASuccess,
        Outcome::TooOld => v1::SuccessOutcome::TooOld,
        Outcome::Held => v1::SuccessOutcome::Held,
        Outcome::WouldClear => v1::SuccessOutcome::WouldClear,
        Outcome::NotStored => v1::SuccessOutcome::NotStored,
    };
    let status = (it.outcome == Outcome::NotStored).then(|| v1::ItemStatus {
        code: tonic::Code::Unavailable as i32,
        reason: ErrorReason::StoreUnavailable.into(),
        field: String::new(),
        message: "could not be stored; report it again".to_owned(),
    });
    v1::SuccessResult {
        tool_name,
        outcome: outcome.into(),
        state: words::wire_state(it.state).into(),
        n_cooldowns_cleared: it.n_cooldowns_cleared,
        status,
    }
}

fn event_result(tool_name: String, it: &event::EventResult) -> v1::EventResult {
    use event::EventOutcome as Outcome;
    let outcome = match it.outcome {
        Outcome::Applied => v1::EventOutcome::Applied,
        Outcome::NoChange => v1::EventOutcome::NoChange,
        Outcome::Older => v1::EventOutcome::Older,
        Outcome::WouldApply => v1::EventOutcome::WouldApply,
        Outcome::NoScopeId => v1::EventOutcome::Unspecified,
    };
    let status = (it.outcome == Outcome::NoScopeId).then(|| {
        requests::item_status(Violation {
            field: "caller.session_id".to_owned(),
            message: "is empty, and the tool lives in a session; nothing can be stored without it".to_owned(),
        })
    });
    v1::EventResult { tool_name, outcome: outcome.into(), state: words::wire_state(it.state).into(), status }
}

/// One message of a watch; a large snapshot comes in several.
fn watch_parts(message: WatchMessage, mut warnings: Warnings) -> Vec<v1::WatchResponse> {
    use v1::watch_response::Event;
    notes::push(&message.notes, &mut warnings);
    let evaluated_at = Some(timestamp(message.evaluated_at));
    let events = match message.event {
        WatchEvent::Heartbeat => vec![Event::Heartbeat(v1::WatchHeartbeat { at: evaluated_at })],
        WatchEvent::Change(tools) => {
            let tools = tools.into_iter().map(health::tool_health).collect();
            vec![Event::Change(v1::WatchChange { tools, evaluated_at })]
        }
        WatchEvent::Snapshot(tools) => {
            let tools: Vec<_> = tools.into_iter().map(health::tool_health).collect();
            let n = tools.len().div_ceil(SNAPSHOT_PART).max(1);
            (0..n)
                .map(|part| {
                    let tools =
                        tools.iter().skip(part * SNAPSHOT_PART).take(SNAPSHOT_PART).cloned().collect();
                    Event::Snapshot(v1::WatchSnapshot { tools, last: part + 1 == n, evaluated_at })
                })
                .collect()
        }
    };
    let revision = revision(message.revision);
    let mut warnings = warnings.into_vec();
    events
        .into_iter()
        .map(|event| v1::WatchResponse {
            event: Some(event),
            revision: revision.clone(),
            stale: message.stale,
            warnings: std::mem::take(&mut warnings),
        })
        .collect()
}

#[cfg(test)]
mod tests;
