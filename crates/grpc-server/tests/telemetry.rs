//! Traces and metrics reach a collector, and a request's span belongs to the trace that the client named.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::sync::{Arc, Mutex};

use grpc_server::config::{Config, Telemetry};
use grpc_server::telemetry;
use opentelemetry_proto::tonic::collector::metrics::v1 as metrics;
use opentelemetry_proto::tonic::collector::trace::v1 as trace;
use support::{Running, config, failed};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// A span's name and the id of its trace.
type Span = (String, Vec<u8>);

/// Keeps what it is sent.
#[derive(Clone, Default)]
struct Collector {
    spans: Arc<Mutex<Vec<Span>>>,
    metrics: Arc<Mutex<Vec<String>>>,
}

#[tonic::async_trait]
impl trace::trace_service_server::TraceService for Collector {
    async fn export(
        &self,
        request: Request<trace::ExportTraceServiceRequest>,
    ) -> Result<Response<trace::ExportTraceServiceResponse>, Status> {
        let scopes = request.into_inner().resource_spans.into_iter().flat_map(|it| it.scope_spans);
        let spans = scopes.flat_map(|it| it.spans).map(|it| (it.name, it.trace_id));
        self.spans.lock().unwrap().extend(spans);
        Ok(Response::new(trace::ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl metrics::metrics_service_server::MetricsService for Collector {
    async fn export(
        &self,
        request: Request<metrics::ExportMetricsServiceRequest>,
    ) -> Result<Response<metrics::ExportMetricsServiceResponse>, Status> {
        let scopes = request.into_inner().resource_metrics.into_iter().flat_map(|it| it.scope_metrics);
        self.metrics.lock().unwrap().extend(scopes.flat_map(|it| it.metrics).map(|it| it.name));
        Ok(Response::new(metrics::ExportMetricsServiceResponse::default()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_and_metrics_reach_the_collector() {
    let collector = Collector::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(
        tonic::transport::Server::builder()
            .add_service(trace::trace_service_server::TraceServiceServer::new(collector.clone()))
            .add_service(metrics::metrics_service_server::MetricsServiceServer::new(collector.clone()))
            .serve_with_incoming(TcpListenerStream::new(listener)),
    );
    let telemetry =
        Telemetry { otlp_endpoint: Some(endpoint), log: "warn".to_owned(), ..Telemetry::default() };
    let guard = telemetry::init(&telemetry).unwrap();
    assert!(telemetry::init(&Telemetry::default()).is_err(), "one subscriber a process");

    let running = Running::start(Config { telemetry, ..config() }).await;
    let mut request = Request::new(failed("jira_search", 403));
    let trace_id = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace_id}-b7ad6b7169203331-01").parse().unwrap();
    request.metadata_mut().insert("traceparent", parent);
    running.health().await.check(request).await.unwrap();
    running.stop().await;
    tokio::task::spawn_blocking(move || guard.shutdown()).await.unwrap();

    let spans = collector.spans.lock().unwrap().clone();
    let check = spans.iter().find(|it| it.0 == "agrajag.v1.ToolHealthService/Check");
    let check = check.unwrap_or_else(|| panic!("{spans:?}"));
    let hex: String = check.1.iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!(hex, trace_id, "the span belongs to the client's trace");
    let names = collector.metrics.lock().unwrap().clone();
    assert!(names.iter().any(|it| it == "agrajag.checks"), "{names:?}");
}
