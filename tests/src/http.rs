//! A plain HTTP/1.1 client: one request, one connection, the whole answer.
//!
//! Written by hand on purpose: it sends what it is told, also what a real client would refuse to send.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// No answer takes longer.
const LIMIT: Duration = Duration::from_secs(30);

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, decoded if it was chunked.
    pub body: String,
}

impl Reply {
    /// The value of the first header of this name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.body))
    }
}

/// GET.
///
/// # Panics
///
/// If nothing answers.
pub async fn get(address: SocketAddr, path: &str) -> Reply {
    exchange(address, &head("GET", path, address, None, 0), b"").await
}

/// POST of a JSON text, whatever is in it.
///
/// # Panics
///
/// If nothing answers.
pub async fn post(address: SocketAddr, path: &str, body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    exchange(address, &head("POST", path, address, Some("application/json"), body.len()), body).await
}

/// The lines before the body.
#[must_use]
pub fn head(method: &str, path: &str, host: SocketAddr, content_type: Option<&str>, length: usize) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    if let Some(content_type) = content_type {
        text.push_str(&format!("content-type: {content_type}\r\ncontent-length: {length}\r\n"));
    }
    text.push_str("\r\n");
    text
}

/// Sends bytes and reads the answer to its end.
///
/// # Panics
///
/// If nothing answers, or not in time, or no HTTP.
pub async fn exchange(address: SocketAddr, head: &str, body: &[u8]) -> Reply {
    let work = async {
        let mut stream = TcpStream::connect(address).await.expect("the server listens");
        stream.write_all(head.as_bytes()).await.expect("the request is sent");
        // A server that refuses may close before it has read everything: then its answer is what counts.
        let _ = stream.write_all(body).await;
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes).await;
        assert!(read.is_ok() || !bytes.is_empty(), "no answer: {read:?}");
        bytes
    };
    let bytes = tokio::time::timeout(LIMIT, work).await.expect("an answer in time");
    parse(&bytes).unwrap_or_else(|| panic!("no HTTP answer: {}", String::from_utf8_lossy(&bytes)))
}

fn parse(bytes: &[u8]) -> Option<Reply> {
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned()))
        .collect();
    let body = &bytes[end + 4..];
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if chunked { unchunk(body)? } else { body.to_vec() };
    Some(Reply { status, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|it| it == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..end]).ok()?.split(';').next()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
        rest = rest.get(end + 4 + size..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_with_a_length_and_in_chunks() {
        let plain =
            parse(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\nno").expect("an answer");
        assert_eq!(
            (plain.status, plain.header("content-type"), plain.body.as_str()),
            (404, Some("text/plain"), "no")
        );
        let chunked =
            parse(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
        assert_eq!(chunked.expect("an answer").body, "abcde");
        assert!(parse(b"garbage").is_none());
    }
}
