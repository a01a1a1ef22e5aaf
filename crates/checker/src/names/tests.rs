//! Tests of the families of names, codes and phrases.

use std::collections::BTreeSet;

use health_model::failure::Cause;
use health_model::{Failure, Phase};

use super::phrases::{Guard, PHRASES};
use super::*;

use FailureKind::{
    Cancelled, Closed, ConnectRefused, ConnectTimeout, Decode, Dns, NetworkUnreachable, NotStarted, Protocol,
    ReadTimeout, Reset, Timeout, Tls, ToolException,
};

fn of_name(name: &str) -> Option<FailureKind> {
    kind_of_name(name).map(|it| it.kind)
}

fn typed(exception_type: &str, message: &str) -> Failure {
    Failure {
        exception_type: Some(exception_type.to_owned()),
        message: message.to_owned(),
        ..Failure::default()
    }
}

fn kind(failure: &Failure) -> Option<FailureKind> {
    derive(failure).map(|it| it.kind)
}

fn of_text(message: &str) -> Option<FailureKind> {
    kind(&Failure { message: message.to_owned(), ..Failure::default() })
}

/// C16: the same failure in six runtimes.
#[test]
fn one_fault_has_one_kind_in_every_runtime() {
    for (kind, names) in [
        (ConnectRefused, &["java.net.ConnectException", "ConnectionRefusedError", "ECONNREFUSED"][..]),
        (Dns, &["java.net.UnknownHostException", "socket.gaierror", "ENOTFOUND", "*net.DNSError"]),
        (
            Timeout,
            &[
                "java.net.SocketTimeoutException",
                "TimeoutError",
                "ETIMEDOUT",
                "context.deadlineExceededError",
                "tokio::time::error::Elapsed",
                "System.TimeoutException",
            ],
        ),
        (
            Tls,
            &[
                "javax.net.ssl.SSLHandshakeException",
                "ssl.SSLCertVerificationError",
                "CERT_HAS_EXPIRED",
                "x509.UnknownAuthorityError",
                "crypto/x509.HostnameError",
                "rustls::Error",
                "System.Security.Authentication.AuthenticationException",
            ],
        ),
        (
            Reset,
            &["ConnectionResetError", "ECONNRESET", "java.io.EOFException", "http.client.RemoteDisconnected"],
        ),
        (
            ConnectTimeout,
            &["java.net.http.HttpConnectTimeoutException", "httpx.ConnectTimeout", "UND_ERR_CONNECT_TIMEOUT"],
        ),
        (
            ReadTimeout,
            &[
                "requests.exceptions.ReadTimeout",
                "UND_ERR_HEADERS_TIMEOUT",
                "io.netty.handler.timeout.ReadTimeoutException",
            ],
        ),
        (NetworkUnreachable, &["java.net.NoRouteToHostException", "EHOSTUNREACH", "ENETUNREACH"]),
        (
            Decode,
            &[
                "json.decoder.JSONDecodeError",
                "com.fasterxml.jackson.core.JsonParseException",
                "*json.SyntaxError",
                "serde_json::Error",
                "System.Text.Json.JsonException",
            ],
        ),
        (
            Cancelled,
            &[
                "asyncio.CancelledError",
                "AbortError",
                "ERR_CANCELED",
                "System.OperationCanceledException",
                "java.util.concurrent.CancellationException",
            ],
        ),
        (NotStarted, &["*exec.Error"]),
        (Closed, &["anyio.ClosedResourceError", "websockets.exceptions.ConnectionClosedError"]),
        (Protocol, &["HPE_INVALID_CONSTANT", "httpx.RemoteProtocolError", "java.net.ProtocolException"]),
        (
            ToolException,
            &[
                "ToolException",
                "de.example.tools.ToolException",
                "langchain_core.tools::ToolException",
                "App\\Tool\\ToolException",
                "tools/ToolException",
            ],
        ),
    ] {
        for name in names {
            assert_eq!(of_name(name), Some(kind), "{name}");
        }
    }
}

/// C16: subtypes count as their supertypes.
#[test]
fn subtypes_are_known() {
    for (name, kind) in [
        ("io.netty.channel.AbstractChannel$AnnotatedConnectException", ConnectRefused),
        ("org.apache.http.conn.HttpHostConnectException", ConnectRefused),
        ("java.nio.channels.UnresolvedAddressException", Dns),
        ("io.netty.channel.ConnectTimeoutException", ConnectTimeout),
        ("System.Threading.Tasks.TaskCanceledException", Cancelled),
        ("kotlinx.coroutines.TimeoutCancellationException", Timeout),
        ("aiohttp.client_exceptions.ClientConnectorCertificateError", Tls),
        ("urllib3.exceptions.NameResolutionError", Dns),
        ("ERR_TLS_CERT_ALTNAME_INVALID", Tls),
        ("ERR_SSL_WRONG_VERSION_NUMBER", Tls),
    ] {
        assert_eq!(of_name(name), Some(kind), "{name}");
    }
}

#[test]
fn wrappers_and_unknown_names_say_nothing() {
    for name in [
        "requests.exceptions.ConnectionError",
        "httpx.ConnectError",
        "*url.Error",
        "reqwest::Error",
        "System.Net.Http.HttpRequestException",
        "java.net.SocketException",
        "java.io.IOException",
        "TypeError",
        "Error",
        "Exception",
        "CERT_",
        "econnrefuse",
        "",
        "My.AuthenticationException",
    ] {
        assert_eq!(of_name(name), None, "{name}");
    }
}

#[test]
fn phrases_of_every_runtime_are_read() {
    for (message, kind) in [
        ("[Errno 111] Connection refused", ConnectRefused),
        ("dial tcp 10.0.0.7:443: connect: connection refused", ConnectRefused),
        ("tcp connect error: Connection refused (os error 111)", ConnectRefused),
        ("tcp connect error: Verbindung verweigert (os error 111)", ConnectRefused),
        ("connect ECONNREFUSED ::1:5432", ConnectRefused),
        ("Connection refused (db.internal:5432)", ConnectRefused),
        ("[WinError 10061] Zielcomputer verweigerte die Verbindung", ConnectRefused),
        ("Can't connect to MySQL server on 'db' (111)", ConnectRefused),
        ("net::ERR_CONNECTION_REFUSED at http://localhost/", ConnectRefused),
        ("connect() failed (111: Connection refused) while connecting to upstream", ConnectRefused),
        ("dial unix /run/x.sock: connect: no such file or directory", ConnectRefused),
        ("getaddrinfo ENOTFOUND api.internal", Dns),
        ("lookup api.internal on 10.0.0.2:53: no such host", Dns),
        ("[Errno -2] Name or service not known", Dns),
        ("[Errno 11001] getaddrinfo failed", Dns),
        ("No such host is known. (api.internal:443)", Dns),
        ("curl: (6) Could not resolve host: api.internal", Dns),
        ("failed to lookup address information: Name or service not known", Dns),
        ("failed to lookup address information: Temporary failure in name resolution", NetworkUnreachable),
        ("[Errno -3] Temporary failure in name resolution", NetworkUnreachable),
        ("lookup api.internal on 10.0.0.2:53: server misbehaving", NetworkUnreachable),
        ("dial tcp: lookup api.internal: i/o timeout", Timeout),
        ("dial tcp 10.0.0.7:443: connect: no route to host", NetworkUnreachable),
        ("[Errno 101] Network is unreachable", NetworkUnreachable),
        ("errno: -4078", ConnectRefused),
        ("{ errno: -111 }", ConnectRefused),
        ("errno: -3008, hostname: 'x'", Dns),
        ("errno: -3001", NetworkUnreachable),
        ("errno: -4039", Timeout),
        ("{\"errno\": -4077,\"syscall\":\"read\"}", Reset),
        ("npm error errno -4077", Reset),
        ("npm ERR! errno -4062", NetworkUnreachable),
        ("dial tcp 10.0.0.7:443: i/o timeout", ConnectTimeout),
        ("read tcp 10.0.0.1:5->10.0.0.7:443: i/o timeout", Timeout),
        ("connect ETIMEDOUT 10.0.0.7:443", ConnectTimeout),
        ("[WinError 10060] x", ConnectTimeout),
        ("net/http: TLS handshake timeout", ConnectTimeout),
        ("HTTPSConnectionPool(host='h', port=443): Read timed out. (read timeout=5)", ReadTimeout),
        ("timeout of 5000ms exceeded", Timeout),
        ("context deadline exceeded", Timeout),
        ("curl: (28) Operation timed out after 5000 milliseconds", Timeout),
        ("read: connection reset by peer", Reset),
        ("[Errno 104] Connection reset by peer", Reset),
        ("socket hang up", Reset),
        ("Get \"http://h/\": EOF", Reset),
        ("unexpected EOF", Reset),
        ("error:0A00010B:SSL routines::wrong version number", Tls),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", Tls),
        ("x509: certificate signed by unknown authority", Tls),
        ("remote error: tls: handshake failure", Tls),
        ("net::ERR_CERT_DATE_INVALID", Tls),
        ("spawn uvx ENOENT", NotStarted),
        ("exec: \"uvx\": executable file not found in $PATH", NotStarted),
        ("bash: uvx: command not found", NotStarted),
        ("Cannot run program \"uvx\": error=2, No such file or directory", NotStarted),
        ("MCP error -32000: Connection closed", Closed),
        ("Unexpected token '<', \"<html>\" is not valid JSON", Decode),
        ("net/http: HTTP/1.x transport connection broken: malformed HTTP response \"x\"", Protocol),
    ] {
        assert_eq!(of_text(message), Some(kind), "{message}");
    }
}

#[test]
fn prose_about_connections_is_no_phrase() {
    for message in [
        "the bank had the connection refused by the user",
        "a page about connection resets",
        "no such hostel",
        "Manual not found: 'connection refused'",
        "no results for \"[Errno 111] Connection refused\"",
        "no results for `ECONNREFUSED`",
        "error after 111 ms",
        "line 10061",
        "os error 2",
        "errno: -2",
        "errno: -5",
        "errno: -4058",
        "errno: the line broke (104)",
        "XECONNREFUSED",
        "ECONNREFUSEDX",
        "spawn of a new ENOENT",
        "50 ms exceeded",
        "teof: eofx",
        "my.ErrorTimeoutish",
        "ssh -o ConnectTimeout=3 host",
        "order canceled",
        "",
    ] {
        assert_eq!(of_text(message), None, "{message}");
    }
}

/// C16: the innermost cause wins over its wrappers; a strong word over a weak one, wherever it stands.
#[test]
fn the_innermost_cause_wins() {
    let cause = |exception_type: &str, message: &str| Cause {
        exception_type: Some(exception_type.to_owned()),
        message: message.to_owned(),
        code: None,
    };
    let mut failure = typed("java.util.concurrent.CompletionException", "failed");
    failure.causes =
        vec![cause("java.net.http.HttpTimeoutException", "x"), cause("java.net.UnknownHostException", "h")];
    assert_eq!(kind(&failure), Some(Dns));
    failure.causes.push(cause("java.io.EOFException", ""));
    assert_eq!(kind(&failure), Some(Dns), "a broken connection says less than a name that does not resolve");
    let printed = typed("X", "outer (Caused by ReadTimeoutError: x) ---> java.net.NoRouteToHostException: y");
    assert_eq!(kind(&printed), Some(NetworkUnreachable));
    // A time-out that runs as a cancellation is a time-out.
    let mut timeout = typed("TimeoutError", "");
    timeout.causes = vec![cause("asyncio.CancelledError", "")];
    assert_eq!(kind(&timeout), Some(Timeout));
}

#[test]
fn text_refines_a_type() {
    for (name, message, expected) in [
        ("java.net.ConnectException", "Connection refused", ConnectRefused),
        ("java.net.ConnectException", "", ConnectRefused),
        ("java.net.ConnectException", "Connection timed out", ConnectTimeout),
        ("java.net.SocketTimeoutException", "Connect timed out", ConnectTimeout),
        ("java.net.SocketTimeoutException", "Read timed out", ReadTimeout),
        ("java.net.UnknownHostException", "h: Temporary failure in name resolution", NetworkUnreachable),
        ("javax.net.ssl.SSLException", "Connection reset", Reset),
        ("*url.Error", "Get \"http://h/\": context canceled", Cancelled),
        (
            "System.Threading.Tasks.TaskCanceledException",
            "The request was canceled due to the configured HttpClient.Timeout of 1 seconds elapsing.",
            Timeout,
        ),
    ] {
        assert_eq!(kind(&typed(name, message)), Some(expected), "{name}: {message}");
    }
}

/// A text that the tool writes itself often repeats the arguments of the call.
#[test]
fn the_text_of_a_tool_exception_is_not_read() {
    let failure = typed("x.ToolException", "Manual not found: [Errno 111] Connection refused");
    assert_eq!(kind(&failure), Some(ToolException));
    let mut failure = failure;
    failure.causes =
        vec![Cause { message: "connect ECONNREFUSED 10.0.0.1:1".to_owned(), ..Cause::default() }];
    assert_eq!(kind(&failure), Some(ConnectRefused), "its cause is");
}

/// Only an exception of this side tells that this side gave up.
#[test]
fn text_without_a_type_never_cancels() {
    assert_eq!(of_text("upstream: context canceled"), None);
}

#[test]
fn the_reporters_other_fields_speak_too() {
    let connecting = Failure { phase: Some(Phase::Connect), ..typed("TimeoutError", "") };
    assert_eq!(kind(&connecting), Some(ConnectTimeout));
    let numbered = Failure {
        syscall: Some("connect".to_owned()),
        message: "errno: -4039".to_owned(),
        ..Failure::default()
    };
    assert_eq!(kind(&numbered), Some(ConnectTimeout));
    let spawning = Failure { phase: Some(Phase::Spawn), ..typed("ENOENT", "") };
    assert_eq!(kind(&spawning), Some(NotStarted));
    let coded = Failure { error_code: Some("ECONNREFUSED".to_owned()), ..Failure::default() };
    assert_eq!(kind(&coded), Some(ConnectRefused));
    let grpc = Failure { grpc_status: Some("DEADLINE_EXCEEDED".to_owned()), ..Failure::default() };
    assert_eq!(kind(&grpc), Some(Timeout));
    let shell = Failure { exit_code: Some(127), ..Failure::default() };
    assert_eq!(kind(&shell), Some(NotStarted));
    assert_eq!(kind(&Failure { exit_code: Some(1), ..Failure::default() }), None);
}

#[test]
fn every_table_holds_each_word_once() {
    let mut seen = BTreeSet::new();
    for (full, known) in types::all() {
        assert!(seen.insert((full, known.word)), "type {}", known.word);
        assert!(full == known.word.contains(SEPARATORS), "{} is in the wrong table", known.word);
    }
    let mut seen = BTreeSet::new();
    for phrase in PHRASES.all() {
        assert!(seen.insert(phrase.text), "phrase {}", phrase.text);
        let compares_case = matches!(phrase.guard, Guard::Code | Guard::Prefix);
        assert!(compares_case || phrase.text == phrase.text.to_lowercase(), "{}", phrase.text);
    }
}

#[test]
fn a_kind_names_its_source() {
    let shown = |it: &Failure| derive(it).map(|it| it.to_string());
    assert_eq!(
        shown(&typed("a.ConnectException", "")).as_deref(),
        Some("connect_refused (type `ConnectException`)")
    );
    let failure = Failure { message: "x (os error 104)".to_owned(), ..Failure::default() };
    assert_eq!(shown(&failure).as_deref(), Some("reset (error number 104)"));
    let failure = Failure { message: "[Errno -3] Try again".to_owned(), ..Failure::default() };
    assert_eq!(shown(&failure).as_deref(), Some("network_unreachable (error number -3)"));
    assert_eq!(Derived::reported(Dns).to_string(), "dns (as reported)");
}
