//! Counting and measuring, shown at `/metrics` and, where an endpoint is configured, pushed by OTLP.
//!
//! The tenant is never a label, and the tool only where the operator asks for it (DESIGN §10): each would make a time
//! series of every name that a client sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agrajag_proto::v1;
use health_service::{Service, Stats};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider as _};
use opentelemetry_otlp::{MetricExporter, WithExportConfig as _};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use prometheus::{Encoder as _, Registry, TextEncoder};

use crate::edge::Method;
use crate::telemetry;

/// Buckets of durations in seconds: from a lookup in memory to a store that is nearly away.
const SECONDS: [f64; 16] = [
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
];

/// Why metrics cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// The endpoint cannot be used.
    #[error("`telemetry.otlp_endpoint` cannot be `{endpoint}`; write for example `http://127.0.0.1:4317`")]
    Endpoint {
        /// The endpoint.
        endpoint: String,
        /// Why.
        #[source]
        source: opentelemetry_otlp::ExporterBuildError,
    },
    /// The registry refused.
    #[error("metrics cannot be registered")]
    Registry(#[source] opentelemetry_sdk::error::OTelSdkError),
}

/// The instruments of one server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    provider: SdkMeterProvider,
    meter: Meter,
    requests: Histogram<f64>,
    checks: Counter<u64>,
    lookups: Counter<u64>,
    lookup_tools: Counter<u64>,
    successes: Counter<u64>,
    events: Counter<u64>,
    refused: Counter<u64>,
    by_tool: bool,
    queued_jobs: AtomicU64,
}

impl Metrics {
    pub(crate) fn new(by_tool: bool, otlp_endpoint: Option<&str>) -> Result<Self, MetricsError> {
        let registry = Registry::new();
        let exporter = opentelemetry_prometheus::exporter()
            .with_registry(registry.clone())
            .scope_info_enabled(false)
            .build()
            .map_err(MetricsError::Registry)?;
        let mut provider =
            SdkMeterProvider::builder().with_reader(exporter).with_resource(telemetry::resource());
        if let Some(endpoint) = otlp_endpoint {
            let exporter = MetricExporter::builder()
                .with_tonic()
                .with_endpoint(endpoint)
                .build()
                .map_err(|source| MetricsError::Endpoint { endpoint: endpoint.to_owned(), source })?;
            provider = provider.with_periodic_exporter(exporter);
        }
        let provider = provider.build();
        let meter = provider.meter("agrajag");
        let counter =
            |name: &'static str, text: &'static str| meter.u64_counter(name).with_description(text).build();
        Ok(Self {
            requests: meter
                .f64_histogram("rpc.server.call.duration")
                .with_unit("s")
                .with_description("how long requests took")
                .with_boundaries(SECONDS.to_vec())
                .build(),
            checks: counter("agrajag.checks", "failed calls that were judged, by classification"),
            lookups: counter("agrajag.lookups", "lookups that were answered"),
            lookup_tools: counter("agrajag.lookup.tools", "tools that were asked for in lookups"),
            successes: counter("agrajag.successes", "successful calls that were reported, by outcome"),
            events: counter("agrajag.events", "connection events for one tool, by outcome"),
            refused: counter("agrajag.refusals", "requests that were refused, by reason"),
            registry,
            provider,
            meter,
            by_tool,
            queued_jobs: AtomicU64::new(0),
        })
    }

    /// Shows what the service counts itself, read whenever somebody looks.
    pub(crate) fn observe(self: &Arc<Self>, service: &Service) {
        let gauge = |name: &'static str, text: &'static str, read: fn(&Stats) -> u64| {
            let service = service.clone();
            self.meter
                .u64_observable_gauge(name)
                .with_description(text)
                .with_callback(move |it| it.observe(read(&service.stats()), &[]))
                .build();
        };
        gauge("agrajag.write.queue", "decisions waiting for the writer", |it| it.queue_depth);
        gauge("agrajag.view.size", "bytes of the view, estimated", |it| it.view_bytes);
        gauge("agrajag.watches", "open watches", |it| it.watches);
        gauge("agrajag.stale", "1 while answers may be out of date", |it| u64::from(it.stale));
        gauge("agrajag.store.available", "1 while the store answers", |it| {
            u64::from(!(it.store_away || it.stale))
        });
        let counter = |name: &'static str, text: &'static str, read: fn(&Stats) -> u64| {
            let service = service.clone();
            self.meter
                .u64_observable_counter(name)
                .with_description(text)
                .with_callback(move |it| it.observe(read(&service.stats()), &[]))
                .build();
        };
        counter("agrajag.store.commits", "transactions committed", |it| it.commits);
        counter("agrajag.store.documents", "documents written", |it| it.documents_written);
        counter("agrajag.store.conflicts", "batches that lost against another server", |it| it.conflicts);
        counter("agrajag.store.errors", "batches that could not be stored", |it| it.failures);
        counter("agrajag.journal.entries", "failures appended to the journal", |it| it.journal_written);
        counter("agrajag.journal.dropped", "failures that the journal lacks", |it| it.journal_dropped);
        counter("agrajag.shadow.same", "failures that shadow layers decide alike", |it| it.shadow_same);
        counter("agrajag.shadow.different", "failures that shadow layers decide otherwise", |it| {
            it.shadow_different
        });
        counter("agrajag.view.misses", "containers that had to be loaded", |it| it.view_misses);
        let metrics = Arc::downgrade(self);
        self.meter
            .u64_observable_gauge("agrajag.jobs.queued")
            .with_description("diagnoses that are queued, of all tenants")
            .with_callback(move |it| {
                if let Some(metrics) = metrics.upgrade() {
                    it.observe(metrics.queued_jobs.load(Ordering::Relaxed), &[]);
                }
            })
            .build();
        for (severity, read) in
            [("error", n_errors as fn(&Service) -> u64), ("warning", n_warnings as fn(&Service) -> u64)]
        {
            let service = service.clone();
            self.meter
                .u64_observable_gauge(if severity == "error" {
                    "agrajag.rule.errors"
                } else {
                    "agrajag.rule.warnings"
                })
                .with_description(if severity == "error" {
                    "errors in the rules of all layers"
                } else {
                    "warnings about the rules of all layers"
                })
                .with_callback(move |it| it.observe(read(&service), &[]))
                .build();
        }
    }

    pub(crate) fn request(&self, method: Method, is_grpc: bool, outcome: &'static str, took: Duration) {
        let labels = [
            KeyValue::new("rpc.method", method.name()),
            KeyValue::new("rpc.response.status_code", outcome),
            KeyValue::new("rpc.system.name", if is_grpc { "grpc" } else { "http" }),
        ];
        self.requests.record(took.as_secs_f64(), &labels);
    }

    pub(crate) fn check(&self, classification: v1::Classification, tool: &str) {
        let class = KeyValue::new(
            "classification",
            classification.as_str_name().trim_start_matches("CLASSIFICATION_"),
        );
        if self.by_tool {
            self.checks.add(1, &[class, KeyValue::new("tool", tool.to_owned())]);
        } else {
            self.checks.add(1, &[class]);
        }
    }

    pub(crate) fn lookup(&self, n_tools: usize) {
        self.lookups.add(1, &[]);
        self.lookup_tools.add(n_tools as u64, &[]);
    }

    pub(crate) fn success(&self, outcome: v1::SuccessOutcome) {
        let outcome = outcome.as_str_name().trim_start_matches("SUCCESS_OUTCOME_");
        self.successes.add(1, &[KeyValue::new("outcome", outcome)]);
    }

    pub(crate) fn event(&self, outcome: v1::EventOutcome) {
        let outcome = outcome.as_str_name().trim_start_matches("EVENT_OUTCOME_");
        self.events.add(1, &[KeyValue::new("outcome", outcome)]);
    }

    pub(crate) fn refusal(&self, reason: &'static str) {
        self.refused.add(1, &[KeyValue::new("reason", reason)]);
    }

    pub(crate) fn set_queued_jobs(&self, n: u64) {
        self.queued_jobs.store(n, Ordering::Relaxed);
    }

    /// The text that Prometheus reads, and its media type.
    pub(crate) fn text(&self) -> (&'static str, Vec<u8>) {
        let mut text = Vec::with_capacity(8 << 10);
        if let Err(error) = TextEncoder::new().encode(&self.registry.gather(), &mut text) {
            tracing::error!(error = &error as &dyn std::error::Error, "metrics cannot be shown");
        }
        (prometheus::TEXT_FORMAT, text)
    }

    /// Pushes what is left, where an endpoint is configured. Blocks.
    pub(crate) fn shutdown(&self) {
        if let Err(error) = self.provider.shutdown() {
            tracing::debug!(error = &error as &dyn std::error::Error, "metrics were lost");
        }
    }
}

fn n_errors(service: &Service) -> u64 {
    crate::wire::rules::counts(service).0
}

fn n_warnings(service: &Service) -> u64 {
    crate::wire::rules::counts(service).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_shown_without_tenant_and_tool() {
        let metrics = Metrics::new(false, None).unwrap();
        metrics.check(v1::Classification::UserPermission, "jira_search");
        metrics.check(v1::Classification::UserPermission, "wiki");
        metrics.request(Method::Check, true, "OK", Duration::from_micros(80));
        metrics.lookup(300);
        let (_, text) = metrics.text();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("agrajag_checks_total{classification=\"USER_PERMISSION\"} 2"), "{text}");
        assert!(text.contains("agrajag_lookup_tools_total 300"), "{text}");
        assert!(text.contains("rpc_server_call_duration_seconds_bucket{"), "{text}");
        assert!(text.contains("le=\"0.0001\"} 1"), "{text}");
        assert!(!text.contains("jira_search"), "{text}");
        assert!(!text.contains("otel_scope_name"), "{text}");
    }

    #[test]
    fn tools_are_told_on_request() {
        let metrics = Metrics::new(true, None).unwrap();
        metrics.check(v1::Classification::Unclear, "jira_search");
        let text = String::from_utf8(metrics.text().1).unwrap();
        assert!(text.contains("tool=\"jira_search\""), "{text}");
    }
}
