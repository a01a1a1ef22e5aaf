//! HTTP on the same port: JSON for Check, RecordSuccess and Lookup, `/healthz`, `/metrics`.
//!
//! The first minute is a curl line, so any content type is read as JSON. Errors are problem details after RFC 9457 with
//! the reason of `google.rpc.ErrorInfo`. A web page in somebody's browser is no client: requests that a page sent are
//! refused, so that no page can write to a server on this machine.

use std::future::Future;
use std::sync::Arc;

use agrajag_proto::v1::Warning;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::routing::{get, post};
use http::{HeaderValue, Response, StatusCode, header};
use tonic::Code;

use crate::api::Api;
use crate::edge::is_grpc;
use crate::error::{DOMAIN, Error, reason_name};
use crate::json;
use crate::metrics::Metrics;

/// The routes beside gRPC. `/metrics` is left out where it has an address of its own.
pub(crate) fn router(api: Arc<Api>, with_metrics: bool) -> Router {
    let router = Router::new()
        .route("/v1/check", post(check))
        .route("/v1/record-success", post(record_success))
        .route("/v1/lookup", post(lookup))
        .route("/healthz", get(healthz))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method);
    let router = if with_metrics { router.route("/metrics", get(metrics)) } else { router };
    router.with_state(api)
}

/// The routes of an address for metrics alone.
pub(crate) fn metrics_router(metrics: Arc<Metrics>) -> Router {
    Router::new()
        .route("/metrics", get(|State(it): State<Arc<Metrics>>| async move { metrics_text(&it) }))
        .with_state(metrics)
}

/// An error as problem details.
pub(crate) fn problem(error: &Error) -> Response<Body> {
    let (reason, code) = error.kind();
    let status = match error {
        Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        _ => http_status(code),
    };
    let reason = reason_name(reason);
    let violations: Vec<_> = error
        .violations()
        .into_iter()
        .take(100)
        .map(|it| serde_json::json!({ "field": it.field, "message": it.message }))
        .collect();
    let mut problem = serde_json::json!({
        "type": format!("urn:agrajag:error:{reason}"),
        "title": reason,
        "status": status.as_u16(),
        "detail": error.message(),
        "reason": reason,
        "domain": DOMAIN,
    });
    if !violations.is_empty() {
        problem["violations"] = violations.into();
    }
    let mut response = respond(status, "application/problem+json", problem.to_string().into_bytes());
    if let Some(delay) = error.retry_delay() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(delay.as_secs().max(1)));
    }
    response
}

async fn check(State(api): State<Arc<Api>>, request: Request) -> Response<Body> {
    let call = async |request, warnings| api.check(request, warnings).await;
    answer(&api, request, "CheckRequest", "CheckResponse", call).await
}

async fn record_success(State(api): State<Arc<Api>>, request: Request) -> Response<Body> {
    let call = async |request, warnings| api.record_success(request, warnings).await;
    answer(&api, request, "RecordSuccessRequest", "RecordSuccessResponse", call).await
}

async fn lookup(State(api): State<Arc<Api>>, request: Request) -> Response<Body> {
    let call = async |request, warnings| api.lookup(request, warnings).await;
    answer(&api, request, "LookupRequest", "LookupResponse", call).await
}

/// Reads JSON, calls, writes JSON.
async fn answer<Q, A, F>(
    api: &Api,
    request: Request,
    request_name: &str,
    response_name: &str,
    call: impl FnOnce(Q, Vec<Warning>) -> F,
) -> Response<Body>
where
    Q: prost::Message + Default,
    A: prost::Message,
    F: Future<Output = Result<A, Error>>,
{
    let answered = async {
        refuse_pages(&request)?;
        let body = body(request, api.max_request_bytes()).await?;
        let (request, warnings) = json::read(request_name, &body)?;
        let mut body = json::write(response_name, &call(request, warnings).await?)?;
        body.push(b'\n');
        Ok(body)
    };
    match answered.await {
        Ok(body) => respond(StatusCode::OK, "application/json", body),
        Err(error) => {
            api.refused(&error);
            problem(&error)
        }
    }
}

/// Browsers say where a request comes from; programs do not.
fn refuse_pages(request: &Request) -> Result<(), Error> {
    match request.headers().get(header::ORIGIN) {
        None => Ok(()),
        Some(origin) => Err(Error::Malformed {
            message: format!("a web page ({origin:?}) cannot call this service; call it from a program"),
        }),
    }
}

async fn body(request: Request, max: usize) -> Result<Bytes, Error> {
    axum::body::to_bytes(request.into_body(), max).await.map_err(|error| {
        let mut cause: Option<&dyn std::error::Error> = Some(&error);
        while let Some(it) = cause {
            if it.to_string().contains("length limit exceeded") {
                return Error::TooLarge { max };
            }
            cause = it.source();
        }
        Error::Malformed { message: "the body broke off".to_owned() }
    })
}

/// Serving is being able to answer: a store that is away is told and changes nothing (DESIGN §2.4).
async fn healthz(State(api): State<Arc<Api>>) -> Response<Body> {
    let stopping = api.is_stopping();
    let body = serde_json::json!({
        "status": if stopping { "stopping" } else { "serving" },
        "store": if api.is_store_available() { "available" } else { "away" },
    });
    let status = if stopping { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    respond(status, "application/json", format!("{body}\n").into_bytes())
}

async fn metrics(State(api): State<Arc<Api>>) -> Response<Body> {
    metrics_text(api.metrics())
}

fn metrics_text(metrics: &Metrics) -> Response<Body> {
    let (media_type, text) = metrics.text();
    respond(StatusCode::OK, media_type, text)
}

/// gRPC clients are told in their own way that there is no such method.
async fn not_found(request: Request) -> Response<Body> {
    if is_grpc(request.headers()) {
        let message = format!("there is no method `{}`", request.uri().path());
        return tonic::Status::unimplemented(message).into_http();
    }
    let detail = format!(
        "there is nothing at `{}`; POST JSON to /v1/check, /v1/record-success or /v1/lookup, or GET /healthz or /metrics",
        request.uri().path()
    );
    plain_problem(StatusCode::NOT_FOUND, &detail)
}

async fn wrong_method(request: Request) -> Response<Body> {
    let detail = format!("`{}` does not take {}", request.uri().path(), request.method());
    plain_problem(StatusCode::METHOD_NOT_ALLOWED, &detail)
}

/// A problem of HTTP alone, which has no reason of ours.
fn plain_problem(status: StatusCode, detail: &str) -> Response<Body> {
    let problem = serde_json::json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or_default(),
        "status": status.as_u16(),
        "detail": detail,
    });
    respond(status, "application/problem+json", problem.to_string().into_bytes())
}

fn respond(status: StatusCode, media_type: &'static str, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

const fn http_status(code: Code) -> StatusCode {
    match code {
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Aborted => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
