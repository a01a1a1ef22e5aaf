//! Machine codes: errno names, Node's and undici's codes, browser net errors, Windows socket codes.
//!
//! Compared with case and as whole words; a few families are known by their prefix.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use health_model::FailureKind;

use super::{Known, Strength, errno};

use FailureKind::{
    Cancelled, Closed, ConnectRefused, ConnectTimeout, Decode, Dns, NetworkUnreachable, Protocol,
    ReadTimeout, Reset, Timeout, Tls,
};
use Strength::{Exact, Generic, Weak};

/// Codes by meaning.
///
/// A resolver that asks to try again (`EAI_AGAIN`) says nothing about the name: that is `network_unreachable`, not `dns`.
pub(super) const CODES: &[(FailureKind, Strength, &[&str])] = &[
    (
        ConnectRefused,
        Exact,
        &[
            "ECONNREFUSED",
            "WSAECONNREFUSED",
            "econnrefused",
            "ERR_CONNECTION_REFUSED",
            "NS_ERROR_CONNECTION_REFUSED",
        ],
    ),
    (
        Dns,
        Exact,
        &[
            "ENOTFOUND",
            "EAI_NONAME",
            "EAI_NODATA",
            "WSAHOST_NOT_FOUND",
            "WSANO_DATA",
            "NXDOMAIN",
            "nxdomain",
            "ERR_NAME_NOT_RESOLVED",
            "NS_ERROR_UNKNOWN_HOST",
        ],
    ),
    (
        NetworkUnreachable,
        Exact,
        &[
            "ENETUNREACH",
            "EHOSTUNREACH",
            "ENETDOWN",
            "EHOSTDOWN",
            "ENONET",
            "EADDRNOTAVAIL",
            "WSAENETUNREACH",
            "WSAEHOSTUNREACH",
            "WSAEADDRNOTAVAIL",
            "EAI_AGAIN",
            "WSATRY_AGAIN",
            "SERVFAIL",
            "ERR_INTERNET_DISCONNECTED",
            "ERR_ADDRESS_UNREACHABLE",
            "ERR_NETWORK_CHANGED",
            "ERR_NAME_RESOLUTION_FAILED",
            "NS_ERROR_OFFLINE",
        ],
    ),
    (
        Tls,
        Exact,
        &[
            "DEPTH_ZERO_SELF_SIGNED_CERT",
            "SELF_SIGNED_CERT_IN_CHAIN",
            "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
            "UNABLE_TO_GET_ISSUER_CERT",
            "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
            "UNABLE_TO_DECRYPT_CERT_SIGNATURE",
            "UNABLE_TO_GET_CRL",
            "CRL_HAS_EXPIRED",
            "HOSTNAME_MISMATCH",
            "INVALID_CA",
            "INVALID_PURPOSE",
            "PATH_LENGTH_EXCEEDED",
            "CERTIFICATE_VERIFY_FAILED",
            "WRONG_VERSION_NUMBER",
            "ERR_BAD_SSL_CLIENT_AUTH_CERT",
        ],
    ),
    (Tls, Generic, &["EPROTO"]),
    (
        ConnectTimeout,
        Exact,
        &[
            "UND_ERR_CONNECT_TIMEOUT",
            "ERR_CONNECTION_TIMED_OUT",
            "ERR_SOCKET_CONNECTION_TIMEOUT",
            "ERR_TLS_HANDSHAKE_TIMEOUT",
        ],
    ),
    (
        ReadTimeout,
        Exact,
        &["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "ESOCKETTIMEDOUT", "ERR_HTTP_REQUEST_TIMEOUT"],
    ),
    (
        Timeout,
        Generic,
        &["ETIMEDOUT", "ETIME", "WSAETIMEDOUT", "ERR_TIMED_OUT", "NS_ERROR_NET_TIMEOUT", "TIMEOUT_ERR"],
    ),
    (
        Reset,
        Generic,
        &[
            "ECONNRESET",
            "ECONNABORTED",
            "EPIPE",
            "ESHUTDOWN",
            "WSAECONNRESET",
            "WSAECONNABORTED",
            "UND_ERR_SOCKET",
            "ERR_STREAM_PREMATURE_CLOSE",
            "ERR_HTTP2_SESSION_ERROR",
            "ERR_HTTP2_STREAM_ERROR",
            "ERR_HTTP2_GOAWAY_SESSION",
            "ERR_CONNECTION_RESET",
            "ERR_CONNECTION_CLOSED",
            "ERR_CONNECTION_ABORTED",
            "ERR_EMPTY_RESPONSE",
            "NS_ERROR_NET_RESET",
            "NS_ERROR_NET_INTERRUPT",
        ],
    ),
    (
        Protocol,
        Generic,
        &[
            "ERR_HTTP2_PROTOCOL_ERROR",
            "ERR_QUIC_PROTOCOL_ERROR",
            "ERR_INVALID_HTTP_RESPONSE",
            "ERR_UNEXPECTED_PROXY_AUTH",
        ],
    ),
    (Decode, Generic, &["ERR_CONTENT_DECODING_FAILED", "ERR_BODY_PARSE_FAILURE", "Z_DATA_ERROR"]),
    (Closed, Generic, &["ERR_SOCKET_CLOSED", "ERR_IPC_CHANNEL_CLOSED", "ENOTCONN", "WSAENOTCONN"]),
    (Cancelled, Weak, &["ERR_CANCELED", "ABORT_ERR", "ECANCELED"]),
];

/// Families of codes by their prefix.
pub(super) const PREFIXES: &[(FailureKind, Strength, &str)] = &[
    (Tls, Exact, "CERT_"),
    (Tls, Exact, "ERR_CERT_"),
    (Tls, Exact, "ERR_SSL_"),
    (Tls, Exact, "ERR_TLS_"),
    (Tls, Exact, "SEC_ERROR_"),
    (Tls, Exact, "SSL_ERROR_"),
    (Tls, Exact, "MOZILLA_PKIX_ERROR_"),
    (Protocol, Generic, "HPE_"),
];

static BY_CODE: LazyLock<BTreeMap<&'static str, Known>> = LazyLock::new(|| {
    let entries = CODES.iter().flat_map(|&(kind, strength, words)| {
        words.iter().map(move |&word| (word, Known { word, kind, strength }))
    });
    entries.collect()
});

/// The meaning of a code.
pub(super) fn lookup(code: &str) -> Option<Known> {
    if let Some(known) = BY_CODE.get(code) {
        return Some(*known);
    }
    let is_code = |it: &str| it.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    PREFIXES
        .iter()
        .find(|(_, _, prefix)| {
            code.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && is_code(rest))
        })
        .map(|&(kind, strength, word)| Known { word, kind, strength })
}

/// What an error number of Linux, macOS or Windows sockets means. Numbers that are something else on one of them are
/// left out: the text beside them says it.
pub(super) const fn number(number: i64) -> Option<(FailureKind, Strength)> {
    Some(match number {
        111 | 10061 => (ConnectRefused, Exact),
        -2 | -5 | 11001 | 11004 => (Dns, Exact),
        -3 | 99..=101 | 112 | 113 | 10049..=10051 | 10065 | 11002 => (NetworkUnreachable, Exact),
        10060 => (ConnectTimeout, Exact),
        110 => (Timeout, Generic),
        32 | 103 | 104 | 10053 | 10054 => (Reset, Generic),
        _ => return None,
    })
}

/// What a number behind `errno` means: above zero the system's, below it libuv's.
pub(super) fn errno(number: i64) -> Option<(FailureKind, Strength)> {
    if number > 0 {
        return self::number(number);
    }
    errno::libuv(number).and_then(lookup).map(|it| (it.kind, it.strength))
}
