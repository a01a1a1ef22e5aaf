//! Nonsense over the wire: whatever comes in, the server answers, and goes on.

use std::time::Duration;

use agrajag_tests::messages::{caller, http, rest};
use agrajag_tests::random::Random;
use agrajag_tests::refusal::Refusal;
use agrajag_tests::server::{Server, Setup};
use agrajag_tests::{http as plain, nonsense, raw};
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tonic::Code;
use tonic_types::StatusExt as _;

const LIMIT: Duration = Duration::from_secs(20);

/// Rounds over all methods.
const ROUNDS: usize = 60;

/// The child runs, serves, has not panicked anywhere, and judges as before.
async fn is_well(server: &mut Server) {
    assert!(server.process().is_running(), "it ended: {}", server.process().printed());
    let verdict = server.client.verdict(caller("nobody-else"), rest("untouched"), http(403)).await;
    assert_eq!(verdict.signature, "http-403");
    let printed = server.process().printed();
    assert!(!printed.contains("panicked"), "{printed}");
}

/// DESIGN §5, §2.4: any well-formed message is answered or refused with a reason that has a page; never INTERNAL, and
/// never the end of the server.
#[tokio::test(flavor = "multi_thread")]
async fn any_message_is_answered_or_refused_with_a_reason() {
    any_message(Random::announced("any message")).await;
}

/// Seeds that once ended a call without an answer.
#[tokio::test(flavor = "multi_thread")]
async fn messages_that_ended_a_call_are_answered() {
    // A heartbeat interval of the least number of seconds there is.
    any_message(Random::new(11_250_319_935_843_784_520)).await;
}

async fn any_message(mut random: Random) {
    let mut server = Setup::sqlite().spawn().await;
    let methods = nonsense::methods();
    let mut answered = 0_usize;
    for _ in 0..ROUNDS {
        for method in &methods {
            let message = nonsense::message(&method.input(), &mut random);
            let path = nonsense::path(method);
            match raw::call(server.client.channel(), &path, message.encode_to_vec(), LIMIT).await {
                Ok(_) => answered += 1,
                Err(status) => {
                    let told = status.get_error_details().error_info().is_some();
                    assert!(told, "{path}: {status:?}\n{message:?}");
                    let refused = Refusal::of(&status);
                    let is_a_fault = matches!(refused.code, Code::Internal | Code::Unknown | Code::DataLoss);
                    assert!(!is_a_fault, "{path}: {refused:?}\n{message:?}");
                }
            }
        }
    }
    assert!(answered > ROUNDS, "most of it was refused before it was looked at: {answered} answers");
    is_well(&mut server).await;
}

/// Bytes that are no message: refused by the transport or read as far as they go, and the connection lives.
#[tokio::test(flavor = "multi_thread")]
async fn any_bytes_leave_the_server_alive() {
    let mut server = Setup::memory().spawn().await;
    let mut random = Random::announced("any bytes");
    let methods = nonsense::methods();
    for round in 0..ROUNDS {
        for method in &methods {
            let bytes = if round % 2 == 0 {
                let len = random.index(2_000);
                random.bytes(len)
            } else {
                nonsense::damaged(
                    nonsense::message(&method.input(), &mut random).encode_to_vec(),
                    &mut random,
                )
            };
            // What comes back is the transport's to say; that something does is what counts.
            let _ = raw::call(server.client.channel(), &nonsense::path(method), bytes, LIMIT).await;
        }
    }
    is_well(&mut server).await;
}

/// JSON that is damaged or odd: an answer or a 4xx, never a 5xx.
#[tokio::test(flavor = "multi_thread")]
async fn any_json_is_answered_or_refused() {
    let mut server = Setup::memory().spawn().await;
    let mut random = Random::announced("any JSON");
    let paths = [("Check", "/v1/check"), ("Lookup", "/v1/lookup"), ("RecordSuccess", "/v1/record-success")];
    let methods = nonsense::methods();
    for round in 0..ROUNDS * 3 {
        let (name, path) = paths[round % paths.len()];
        let method = methods.iter().find(|it| it.name() == name).expect("the method");
        let message = nonsense::message(&method.input(), &mut random);
        // A time that no calendar has cannot be written as JSON: then the body is what it is.
        let json = serde_json::to_vec(&message).unwrap_or_default();
        let body = if round % 2 == 0 { json } else { nonsense::damaged(json, &mut random) };
        let reply = plain::post(server.address, path, &body).await;
        assert!(
            matches!(reply.status, 200 | 400 | 413),
            "{}: {}",
            reply.status,
            String::from_utf8_lossy(&body)
        );
    }
    is_well(&mut server).await;
}

/// Bytes that are no HTTP at all, and connections that say nothing or break off.
#[tokio::test(flavor = "multi_thread")]
async fn any_connection_leaves_the_server_alive() {
    let mut server = Setup::memory().spawn().await;
    let mut random = Random::announced("any connection");
    for round in 0..100 {
        let mut stream = tokio::net::TcpStream::connect(server.address).await.expect("it listens");
        let bytes = match round % 4 {
            0 => Vec::new(),
            1 => {
                let len = random.index(5_000);
                random.bytes(len)
            }
            2 => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".iter().copied().chain(random.bytes(200)).collect(),
            _ => {
                plain::head("POST", "/v1/check", server.address, Some("application/json"), 1_000).into_bytes()
            }
        };
        // The server may have closed it already.
        let _ = stream.write_all(&bytes).await;
        if round % 8 == 1 {
            let mut answer = Vec::new();
            let _ = tokio::time::timeout(Duration::from_millis(20), stream.read_to_end(&mut answer)).await;
        }
    }
    is_well(&mut server).await;
}
