//! The way to a server: address, connection, deadline.
//!
//! Owns how a status becomes an [`Error`]. Knows no request.

use std::time::Duration;

use agrajag_proto::v1;
use agrajag_proto::v1::admin_service_client::AdminServiceClient;
use agrajag_proto::v1::tool_health_service_client::ToolHealthServiceClient;
use chrono::{DateTime, Utc};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};

use crate::args::time;
use crate::error::Error;

/// The largest answer that is read: a page of a thousand full documents fits.
const MAX_ANSWER: usize = 64 << 20;

/// A connection to one server.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    channel: Channel,
    server: String,
    timeout: Duration,
}

impl Remote {
    /// Connects. `server` may leave out `http://`. `timeout` bounds the connection, and each call on its own.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for an address that cannot be one, [`Error::Unreachable`] if nothing answers there.
    pub(crate) async fn connect(server: &str, timeout: Duration) -> Result<Self, Error> {
        let server = address(server)?;
        let endpoint = Endpoint::from_shared(server.clone())
            .map_err(|_| bad_address(&server))?
            .connect_timeout(timeout)
            .tcp_nodelay(true)
            .user_agent(concat!("agrajag/", env!("CARGO_PKG_VERSION")))
            .map_err(|_| bad_address(&server))?;
        let channel = endpoint.connect().await.map_err(|error| Error::Unreachable {
            server: server.clone(),
            instead: "",
            source: Box::new(error),
        })?;
        Ok(Self { channel, server, timeout })
    }

    /// The address in full.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// The calls of agent runtimes.
    pub(crate) fn health(&self) -> ToolHealthServiceClient<Channel> {
        ToolHealthServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER)
    }

    /// The calls of people.
    pub(crate) fn admin(&self) -> AdminServiceClient<Channel> {
        AdminServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER)
    }

    /// The server's time: the only clock that instants of an answer may be compared with.
    ///
    /// # Errors
    ///
    /// As every call; [`Error::Failed`] if the server does not tell its time.
    pub(crate) async fn now(&self) -> Result<DateTime<Utc>, Error> {
        let info = self.answer(self.health().get_info(self.request(v1::GetInfoRequest {})).await)?;
        time::from_wire(info.now.as_ref()).ok_or_else(|| {
            Error::failed("the server does not tell its time", "name the instant with `--until`")
        })
    }

    /// A request that carries the deadline.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(self.timeout);
        request
    }

    /// The response, or the status as an error of ours.
    pub(crate) fn answer<T>(&self, result: Result<Response<T>, Status>) -> Result<T, Error> {
        result.map(Response::into_inner).map_err(|status| Error::from_status(&self.server, status))
    }
}

/// The address with its scheme.
fn address(server: &str) -> Result<String, Error> {
    let server = server.trim();
    let server = server.strip_suffix('/').filter(|it| !it.ends_with('/')).unwrap_or(server);
    if server.starts_with("https://") {
        return Err(Error::input(
            format!("`--server {server}` asks for TLS, which this client does not speak"),
            "use `http://` to a local port, for example one that a TLS proxy or tunnel forwards",
        ));
    }
    match server.split_once("://") {
        Some(("http", host)) if !host.is_empty() => Ok(server.to_owned()),
        None if !server.is_empty() => Ok(format!("http://{server}")),
        _ => Err(bad_address(server)),
    }
}

fn bad_address(server: &str) -> Error {
    Error::input(
        format!("`--server {server}` is not an address"),
        "write it as `http://HOST:PORT`, for example `http://127.0.0.1:4242`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_leave_out_the_scheme_and_others_are_refused() {
        assert_eq!(address("127.0.0.1:4242").expect("usable"), "http://127.0.0.1:4242");
        assert_eq!(address("http://localhost:1/").expect("usable"), "http://localhost:1");
        for server in ["", "ftp://x", "http://", "https://x:1"] {
            assert_eq!(address(server).expect_err("refused").exit_code(), 2, "{server}");
        }
    }

    #[tokio::test]
    async fn nobody_there_is_unreachable_and_names_the_address() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let server = listener.local_addr().expect("bound").to_string();
        drop(listener);
        let error = Remote::connect(&server, Duration::from_secs(5)).await.expect_err("nobody there");
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_text().contains(&server), "{}", error.to_text());
        assert!(error.to_text().contains("agrajag serve"));
    }

    #[tokio::test]
    async fn an_address_with_a_space_is_bad_input() {
        let error = Remote::connect("http://a b:1", Duration::from_secs(5)).await.expect_err("no address");
        assert_eq!(error.exit_code(), 2);
    }
}
