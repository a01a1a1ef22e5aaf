//! Logs and traces: the process's subscriber, and the trace that a request belongs to.
//!
//! [`init`] is called once by the program, never by [`crate::Server`]: several servers may live in one process. Traces go
//! nowhere unless an endpoint is configured.

use http::HeaderMap;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{TraceContextExt as _, TracerProvider as _};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::filter::{EnvFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, fmt};

use crate::config::{LogFormat, Telemetry};

/// The crates whose spans are exported. Those of the exporter's own connection would make it export for ever.
const OUR_CRATES: [&str; 7] =
    ["agrajag", "checker", "grpc_server", "health_service", "store_memory", "store_postgres", "store_sqlite"];

/// Why the logs or traces cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter cannot be read.
    #[error(
        "`telemetry.log` cannot be `{filter}`; write a level such as `info`, or `info,grpc_server=debug`"
    )]
    Filter {
        /// The filter.
        filter: String,
        /// Why.
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    /// The endpoint cannot be used.
    #[error("`telemetry.otlp_endpoint` cannot be `{endpoint}`; write for example `http://127.0.0.1:4317`")]
    Endpoint {
        /// The endpoint.
        endpoint: String,
        /// Why.
        #[source]
        source: opentelemetry_otlp::ExporterBuildError,
    },
    /// The process already has a subscriber.
    #[error("the logs of this process are already set up")]
    AlreadySetUp,
}

/// Sends what is left when it is told to.
#[derive(Debug, Default)]
pub struct TelemetryGuard {
    traces: Option<SdkTracerProvider>,
}

impl TelemetryGuard {
    /// Sends the spans that are still waiting; at most 5 seconds. Blocks.
    pub fn shutdown(self) {
        if let Some(traces) = self.traces
            && let Err(error) = traces.shutdown_with_timeout(std::time::Duration::from_secs(5))
        {
            tracing::warn!(error = &error as &dyn std::error::Error, "spans were lost");
        }
    }
}

/// Sets up the logs of this process on standard error, and the export of traces where an endpoint is configured. Must be
/// called within a tokio runtime.
///
/// # Errors
/// A setting cannot be used, or the process already has a subscriber.
pub fn init(config: &Telemetry) -> Result<TelemetryGuard, TelemetryError> {
    let filter = EnvFilter::try_new(&config.log)
        .map_err(|source| TelemetryError::Filter { filter: config.log.clone(), source })?;
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines: Box<dyn Layer<_> + Send + Sync> = match config.log_format {
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let traces = config.otlp_endpoint.as_deref().map(tracer_provider).transpose()?;
    let guard = TelemetryGuard { traces: traces.clone() };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(traces.map(|it| export(&it)))
        .try_init()
        .map_err(|_| TelemetryError::AlreadySetUp)?;
    Ok(guard)
}

/// What this process is, for traces and metrics.
pub(crate) fn resource() -> Resource {
    Resource::builder()
        .with_service_name("agrajag")
        .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Makes the request's span a part of the trace that the client named, if it is exported at all.
pub(crate) fn adopt_parent(span: &tracing::Span, headers: &HeaderMap) {
    if span.is_disabled() || !headers.contains_key("traceparent") {
        return;
    }
    let parent = TraceContextPropagator::new().extract(&Headers(headers));
    if parent.span().span_context().is_valid() {
        // Without an exporter there is nothing to adopt it.
        let _ = span.set_parent(parent);
    }
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|it| it.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(http::HeaderName::as_str).collect()
    }
}

fn tracer_provider(endpoint: &str) -> Result<SdkTracerProvider, TelemetryError> {
    let exporter = SpanExporter::builder()
        .with_tonic()
        .with_endpoint(endpoint)
        .build()
        .map_err(|source| TelemetryError::Endpoint { endpoint: endpoint.to_owned(), source })?;
    Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource()).build())
}

fn export<S>(provider: &SdkTracerProvider) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let targets = OUR_CRATES.into_iter().map(|it| (it, LevelFilter::DEBUG));
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("agrajag"))
        .with_filter(Targets::new().with_targets(targets).with_default(LevelFilter::OFF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_is_none_says_what_to_write() {
        let config = Telemetry { log: "info,=".to_owned(), ..Telemetry::default() };
        let error = init(&config).unwrap_err().to_string();
        assert!(error.starts_with("`telemetry.log` cannot be `info,=`; write a level"), "{error}");
    }

    #[tokio::test]
    async fn an_endpoint_that_is_none_says_what_to_write() {
        let config = Telemetry { otlp_endpoint: Some("not a url".to_owned()), ..Telemetry::default() };
        let error = init(&config).unwrap_err().to_string();
        assert!(error.starts_with("`telemetry.otlp_endpoint` cannot be `not a url`"), "{error}");
    }
}
