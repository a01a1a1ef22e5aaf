//! A client for stories: asks one thing and panics where the story cannot go on.

use std::time::Duration;

use agrajag_proto::v1;
use agrajag_proto::v1::admin_service_client::AdminServiceClient;
use agrajag_proto::v1::tool_health_service_client::ToolHealthServiceClient;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::messages;
use crate::refusal::Refusal;

/// No call of a story takes longer.
const LIMIT: Duration = Duration::from_secs(30);

/// Clients of one server over one connection.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Channel,
}

impl Client {
    /// Connects at the first call.
    ///
    /// # Panics
    ///
    /// If `url` is none.
    #[must_use]
    pub fn new(url: &str) -> Self {
        let endpoint = Endpoint::from_shared(url.to_owned()).expect("a URL");
        Self { channel: endpoint.timeout(LIMIT).tcp_nodelay(true).connect_lazy() }
    }

    /// The calls of agent runtimes.
    #[must_use]
    pub fn tools(&self) -> ToolHealthServiceClient<Channel> {
        ToolHealthServiceClient::new(self.channel.clone()).max_decoding_message_size(64 << 20)
    }

    /// The calls of people.
    #[must_use]
    pub fn admin(&self) -> AdminServiceClient<Channel> {
        AdminServiceClient::new(self.channel.clone()).max_decoding_message_size(64 << 20)
    }

    /// The connection, for calls of other services.
    #[must_use]
    pub fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// What `grpc.health.v1` says of a service; `None` while nothing answers.
    pub async fn serving(&self, service: &str) -> Option<ServingStatus> {
        let request = tonic_health::pb::HealthCheckRequest { service: service.to_owned() };
        let response = HealthClient::new(self.channel()).check(request).await.ok()?;
        Some(response.into_inner().status())
    }

    /// Check.
    ///
    /// # Panics
    ///
    /// If it is refused.
    pub async fn check(&self, request: v1::CheckRequest) -> v1::CheckResponse {
        self.tools().check(request).await.expect("Check answers").into_inner()
    }

    /// The verdict of Check.
    ///
    /// # Panics
    ///
    /// If it is refused or there is no verdict.
    pub async fn verdict(&self, caller: v1::Caller, tool: v1::Tool, failure: v1::Failure) -> v1::Verdict {
        let response = self.check(messages::check(caller, tool, failure)).await;
        response.verdict.expect("a verdict")
    }

    /// Lookup.
    ///
    /// # Panics
    ///
    /// If it is refused.
    pub async fn lookup(&self, request: v1::LookupRequest) -> v1::LookupResponse {
        self.tools().lookup(request).await.expect("Lookup answers").into_inner()
    }

    /// How one tool reads.
    ///
    /// # Panics
    ///
    /// If it is refused or the answer has another length.
    pub async fn health(&self, caller: v1::Caller, tool: v1::Tool) -> v1::ToolHealth {
        let mut response = self.lookup(messages::lookup(caller, [tool])).await;
        assert_eq!(response.tools.len(), 1, "one tool was asked for");
        response.tools.remove(0)
    }

    /// The state of one tool.
    ///
    /// # Panics
    ///
    /// As [`Client::health`].
    pub async fn state(&self, caller: v1::Caller, tool: v1::Tool) -> v1::ToolState {
        self.health(caller, tool).await.state()
    }

    /// RecordSuccess of one call.
    ///
    /// # Panics
    ///
    /// If it is refused or the answer has another length.
    pub async fn success(&self, caller: v1::Caller, tool: v1::Tool) -> v1::SuccessResult {
        self.successes(messages::success(caller, tool)).await.results.remove(0)
    }

    /// RecordSuccess.
    ///
    /// # Panics
    ///
    /// If it is refused or the answer has another length.
    pub async fn successes(&self, request: v1::RecordSuccessRequest) -> v1::RecordSuccessResponse {
        let n = request.successes.len();
        let response =
            self.tools().record_success(request).await.expect("RecordSuccess answers").into_inner();
        assert_eq!(response.results.len(), n, "one result for each success");
        response
    }

    /// RecordEvent.
    ///
    /// # Panics
    ///
    /// If it is refused or the answer has another length.
    pub async fn event(&self, request: v1::RecordEventRequest) -> v1::RecordEventResponse {
        let n = request.tools.len();
        let response = self.tools().record_event(request).await.expect("RecordEvent answers").into_inner();
        assert_eq!(response.results.len(), n, "one result for each tool");
        response
    }

    /// GetInfo.
    ///
    /// # Panics
    ///
    /// If it is refused.
    pub async fn info(&self) -> v1::GetInfoResponse {
        self.tools().get_info(v1::GetInfoRequest {}).await.expect("GetInfo answers").into_inner()
    }

    /// The server's time, in microseconds since the epoch: tests read no clock of their own.
    ///
    /// # Panics
    ///
    /// If it is refused.
    pub async fn now(&self) -> i64 {
        messages::micros(&self.info().await.now.expect("the server's time"))
    }

    /// One document of the tenant of most stories.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub async fn document(&self, key: v1::DocumentKey) -> v1::HealthDocument {
        let request = v1::GetDocumentRequest {
            tenant_id: messages::TENANT.to_owned(),
            key: Some(key),
            ..Default::default()
        };
        let response = self.admin().get_document(request).await.expect("GetDocument answers").into_inner();
        response.document.expect("a document")
    }

    /// Every job of the tenant of most stories.
    ///
    /// # Panics
    ///
    /// If it is refused.
    pub async fn jobs(&self) -> Vec<v1::Job> {
        let request = v1::ListJobsRequest { tenant_id: messages::TENANT.to_owned(), ..Default::default() };
        self.admin().list_jobs(request).await.expect("ListJobs answers").into_inner().jobs
    }
}

/// A request with a deadline.
#[must_use]
pub fn with_deadline<T>(message: T, deadline: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(deadline);
    request
}

/// Why a call was refused.
///
/// # Panics
///
/// If it was not, or without a reason that has a page.
pub fn refusal<T: std::fmt::Debug>(result: Result<T, Status>) -> Refusal {
    match result {
        Ok(response) => panic!("answered instead of refused: {response:?}"),
        Err(status) => Refusal::of(&status),
    }
}

/// The codes and fields of warnings.
#[must_use]
pub fn warned(warnings: &[v1::Warning]) -> Vec<(v1::WarningCode, &str)> {
    warnings.iter().map(|it| (it.code(), it.field.as_str())).collect()
}
