//! The server at the edge: configuration, wire ↔ model, telemetry, and the wiring of stores and service to one port.
//!
//! Thin on purpose: it decides nothing about health. The use cases are `health-service`'s, the rules `checker`'s, the
//! documents the stores'.
//!
//! Reading order:
//! - [`config`]: every setting and limit, and where settings come from.
//! - [`server`]: the wiring, and the order in which a server ends.
//! - `edge`: what every request passes: limits, deadline, span, measurement.
//! - `api`, `admin_api`: the two services; `http_api`, `json`: three of their methods as JSON.
//! - `wire`: wire ↔ model, as free functions.
//! - `error`: the closed set of errors and their reasons.
//! - `late_store`, `stores`, `rules_dir`, `system`: what the service stands on.
//! - [`telemetry`], `metrics`: logs, traces, numbers.
//!
//! Invariants: the server never ends because of a request; a report is never refused for what it says about the failure;
//! no internal cause reaches a client; a tenant is never a label.

pub mod config;
pub mod server;
pub mod system;
pub mod telemetry;

mod admin_api;
mod api;
mod edge;
mod error;
mod http_api;
mod json;
mod late_store;
mod metrics;
mod rules_dir;
mod stores;
mod wire;

pub use config::{Config, ConfigError, Loaded, Sources};
pub use metrics::MetricsError;
pub use server::{ServeError, Server, serve};
pub use telemetry::{TelemetryError, TelemetryGuard};
