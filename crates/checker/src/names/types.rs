//! Names of exception and error types, by their last segment, and by their full name where the last one says too little.
//!
//! A wrapper that says nothing about the cause (`requests.exceptions.ConnectionError`, `*url.Error`, `reqwest::Error`,
//! `TypeError: fetch failed`) is in neither table: what it wraps speaks. Subtypes stand beside their supertypes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use health_model::FailureKind;

use super::{Known, SEPARATORS, Strength};

use FailureKind::{
    Cancelled, Closed, ConnectRefused, ConnectTimeout, Decode, Dns, NetworkUnreachable, NotStarted, Protocol,
    ReadTimeout, Reset, Timeout, Tls, ToolException,
};
use Strength::{Exact, Generic, Weak};

/// Full names: where the last segment means something else elsewhere.
const FULL: &[(FailureKind, Strength, &[&str])] = &[
    (NotStarted, Exact, &["exec.Error"]),
    (
        Tls,
        Exact,
        &[
            "System.Security.Authentication.AuthenticationException",
            "x509.HostnameError",
            "x509.CertificateInvalidError",
            "tls.AlertError",
            "rustls::Error",
            "rustls::error::Error",
            "webpki::Error",
            "rustls_webpki::Error",
        ],
    ),
    (
        Tls,
        Generic,
        &["native_tls::Error", "openssl::ssl::Error", "openssl::error::ErrorStack", "OpenSSL.SSL.Error"],
    ),
    (Timeout, Generic, &["socket.timeout", "_socket.timeout", "http.httpError"]),
    (Dns, Generic, &["socket.herror", "dns.resolver.NoAnswer"]),
    (Dns, Exact, &["dns.resolver.NXDOMAIN"]),
    (
        Reset,
        Generic,
        &[
            "httpx.ReadError",
            "httpx.WriteError",
            "httpcore.ReadError",
            "httpcore.WriteError",
            "http2.GoAwayError",
        ],
    ),
    (Protocol, Generic, &["http2.StreamError", "http2.ConnectionError"]),
    (Closed, Generic, &["websockets.exceptions.ConnectionClosedError"]),
    (Decode, Generic, &["serde_json::Error", "serde_json::error::Error", "json.SyntaxError"]),
    (Cancelled, Weak, &["context.Canceled", "context.canceledError"]),
    (ToolException, Weak, &["fastmcp.exceptions.ToolError", "mcp.server.fastmcp.exceptions.ToolError"]),
];

/// Last segments.
const SIMPLE: &[(FailureKind, Strength, &[&str])] = &[
    (
        ConnectRefused,
        Exact,
        &[
            // Java, with the subtypes of Netty, Apache and Lettuce.
            "ConnectException",
            "AnnotatedConnectException",
            "NativeConnectException",
            "HttpHostConnectException",
            // Python. botocore raises its own types for time-outs: this one means that nothing could be connected to.
            "ConnectionRefusedError",
            "EndpointConnectionError",
            // Node.
            "SequelizeConnectionRefusedError",
            "ConnectionRefusedException",
        ],
    ),
    (
        Dns,
        Exact,
        &[
            "UnknownHostException",
            "UnresolvedAddressException",
            "DnsNameResolverException",
            "DnsErrorCauseException",
            "gaierror",
            "NameResolutionError",
            "ClientConnectorDNSError",
            "SequelizeHostNotFoundError",
        ],
    ),
    (Dns, Generic, &["DNSError", "DNSException", "DnsNameResolverTimeoutException"]),
    (
        NetworkUnreachable,
        Exact,
        &[
            "NoRouteToHostException",
            "AnnotatedNoRouteToHostException",
            "PortUnreachableException",
            "SequelizeHostNotReachableError",
        ],
    ),
    (
        ConnectTimeout,
        Exact,
        &[
            "HttpConnectTimeoutException",
            "ConnectTimeoutException",
            "ConnectionRequestTimeoutException",
            "ConnectTimeout",
            "ConnectTimeoutError",
            "ConnectionTimeoutError",
            "SequelizeConnectionTimedOutError",
        ],
    ),
    (
        ReadTimeout,
        Exact,
        &[
            "ReadTimeoutException",
            "ResponseTimeoutException",
            "ReadTimeout",
            "ReadTimeoutError",
            "SocketTimeoutError",
            "HeadersTimeoutError",
            "BodyTimeoutError",
        ],
    ),
    (
        Timeout,
        Generic,
        &[
            "SocketTimeoutException",
            "HttpTimeoutException",
            "TimeoutException",
            "TimeoutCancellationException",
            "ApiCallTimeoutException",
            "ApiCallAttemptTimeoutException",
            "AsyncRequestTimeoutException",
            "TimeoutError",
            "Timeout",
            "TimeoutExpired",
            "WriteTimeout",
            "PoolTimeout",
            "ServerTimeoutError",
            "ConnectionTimeout",
            "APITimeoutError",
            "APIConnectionTimeoutError",
            "RequestTimeoutError",
            "DeadlineExceeded",
            "DeadlineExceededError",
            "deadlineExceededError",
            "timeoutError",
            "Elapsed",
        ],
    ),
    (
        Tls,
        Exact,
        &[
            "SSLHandshakeException",
            "SSLPeerUnverifiedException",
            "CertificateException",
            "CertificateExpiredException",
            "CertificateNotYetValidException",
            "CertPathValidatorException",
            "SunCertPathBuilderException",
            "SSLCertVerificationError",
            "CertificateError",
            "ClientConnectorCertificateError",
            "ClientConnectorSSLError",
            "UnknownAuthorityError",
            "CertificateVerificationError",
            "RecordHeaderError",
        ],
    ),
    (
        Tls,
        Generic,
        &[
            "SSLException",
            "SSLProtocolException",
            "SSLError",
            "SSLEOFError",
            "SSLZeroReturnError",
            "TlsError",
        ],
    ),
    (
        Reset,
        Generic,
        &[
            "EOFException",
            "ClosedChannelException",
            "AsynchronousCloseException",
            "StreamResetException",
            "ConnectionShutdownException",
            "NoHttpResponseException",
            "ConnectionClosedException",
            "PrematureCloseException",
            "PrematureChannelClosureException",
            "TruncatedChunkException",
            "MalformedChunkCodingException",
            "ConnectionResetException",
            "ConnectionResetError",
            "ConnectionAbortedError",
            "BrokenPipeError",
            "RemoteDisconnected",
            "IncompleteRead",
            "ChunkedEncodingError",
            "ProtocolError",
            "ServerDisconnectedError",
            "ClientPayloadError",
            "ConnectionClosedError",
            "SocketError",
            "IncompleteMessage",
            "HttpIOException",
        ],
    ),
    (
        Protocol,
        Generic,
        &[
            "ProtocolException",
            "ClientProtocolException",
            "Http2Exception",
            "UnknownServiceException",
            "RemoteProtocolError",
            "BadStatusLine",
            "ServerProtocolError",
            "HttpProtocolException",
        ],
    ),
    (
        Decode,
        Generic,
        &[
            "JsonParseException",
            "JsonEOFException",
            "JsonProcessingException",
            "JsonMappingException",
            "JsonSyntaxException",
            "MalformedJsonException",
            "MismatchedInputException",
            "InvalidFormatException",
            "UnrecognizedPropertyException",
            "JSONException",
            "JsonException",
            "JsonReaderException",
            "JsonSerializationException",
            "JSONDecodeError",
            "UnicodeDecodeError",
            "ContentDecodingError",
            "DecodingError",
            "ContentTypeError",
            "UnmarshalTypeError",
            "MalformedInputException",
            "SerializationException",
        ],
    ),
    (
        Closed,
        Generic,
        &[
            "ClosedResourceError",
            "BrokenResourceError",
            "EndOfStream",
            "ConnectionClosed",
            "ConnectionClosedOK",
            "ConnectionIsClosedError",
            "TransportClosedException",
        ],
    ),
    (
        Cancelled,
        Weak,
        &[
            "CancelledError",
            "CanceledError",
            "KeyboardInterrupt",
            "AbortError",
            "APIUserAbortError",
            "CancellationException",
            "JobCancellationException",
            "TaskCanceledException",
            "OperationCanceledException",
        ],
    ),
    (ToolException, Weak, &["ToolException"]),
];

type Table = BTreeMap<&'static str, Known>;

fn table(entries: &'static [(FailureKind, Strength, &'static [&'static str])]) -> Table {
    let entries = entries.iter().flat_map(|&(kind, strength, words)| {
        words.iter().map(move |&word| (word, Known { word, kind, strength }))
    });
    entries.collect()
}

static BY_FULL: LazyLock<Table> = LazyLock::new(|| table(FULL));
static BY_SIMPLE: LazyLock<Table> = LazyLock::new(|| table(SIMPLE));

/// The meaning of a type's name, without pointer marks and type parameters.
pub(super) fn lookup(name: &str) -> Option<Known> {
    let without_path = name.rsplit('/').next().unwrap_or(name);
    if let Some(known) = BY_FULL.get(name).or_else(|| BY_FULL.get(without_path)) {
        return Some(*known);
    }
    let last = name.rsplit(SEPARATORS).next().unwrap_or(name);
    BY_SIMPLE.get(last).copied()
}

#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = (bool, Known)> {
    let of = |full, entries: &'static [(FailureKind, Strength, &'static [&'static str])]| {
        entries.iter().flat_map(move |&(kind, strength, words)| {
            words.iter().map(move |&word| (full, Known { word, kind, strength }))
        })
    };
    of(true, FULL).chain(of(false, SIMPLE))
}
