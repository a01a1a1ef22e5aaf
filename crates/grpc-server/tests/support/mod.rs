//! A running server on loopback, and the requests that tests begin with.
#![allow(dead_code, reason = "each test binary uses its own part of it")]

use std::time::Duration;

use agrajag_proto::v1;
use agrajag_proto::v1::admin_service_client::AdminServiceClient;
use agrajag_proto::v1::tool_health_service_client::ToolHealthServiceClient;
use grpc_server::config::{Config, Span, StoreUrl};
use grpc_server::{ServeError, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::transport::Channel;
use tonic_types::StatusExt as _;

/// A running server and the way to end it.
pub(crate) struct Running {
    pub(crate) address: std::net::SocketAddr,
    end: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServeError>>,
}

pub(crate) fn config() -> Config {
    Config {
        listen: ([127, 0, 0, 1], 0).into(),
        store: Some(StoreUrl::Memory),
        shutdown: grpc_server::config::Shutdown { grace: Span::secs(5) },
        ..Config::default()
    }
}

impl Running {
    pub(crate) async fn start(config: Config) -> Self {
        let server = Server::bind(config).await.unwrap();
        let (end, ended) = oneshot::channel();
        let address = server.local_addr();
        let task = tokio::spawn(server.run(async {
            let _ = ended.await;
        }));
        Self { address, end, task }
    }

    pub(crate) async fn channel(&self) -> Channel {
        Channel::from_shared(format!("http://{}", self.address)).unwrap().connect().await.unwrap()
    }

    pub(crate) async fn health(&self) -> ToolHealthServiceClient<Channel> {
        ToolHealthServiceClient::new(self.channel().await)
    }

    pub(crate) async fn admin(&self) -> AdminServiceClient<Channel> {
        AdminServiceClient::new(self.channel().await)
    }

    /// One HTTP/1.1 exchange: status, headers, body.
    pub(crate) async fn http(&self, request: &str, headers: &str, body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let length = body.len();
        let text = format!(
            "{request} HTTP/1.1\r\nhost: agrajag\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A server that refuses early may close before everything was sent.
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_lowercase(), body.to_owned())
    }

    pub(crate) async fn stop(self) {
        self.end.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }
}

pub(crate) fn caller() -> Option<v1::Caller> {
    Some(v1::Caller {
        tenant_id: "acme".to_owned(),
        project_id: "essay".to_owned(),
        user_id: "alice".to_owned(),
        ..v1::Caller::default()
    })
}

pub(crate) fn tool(name: &str) -> Option<v1::Tool> {
    Some(v1::Tool { name: name.to_owned(), kind: v1::ToolKind::Rest.into(), ..v1::Tool::default() })
}

pub(crate) fn failed(tool_name: &str, http_status: i32) -> v1::CheckRequest {
    v1::CheckRequest {
        caller: caller(),
        tool: tool(tool_name),
        failure: Some(v1::Failure { http_status: Some(http_status), ..v1::Failure::default() }),
        ..v1::CheckRequest::default()
    }
}

pub(crate) fn refused() -> v1::Failure {
    v1::Failure { kind: v1::FailureKind::ConnectRefused.into(), ..v1::Failure::default() }
}

pub(crate) fn reason(status: &Status) -> String {
    status.get_details_error_info().map(|it| it.reason).unwrap_or_default()
}

/// Waits until `done`, at most `limit`, looking every few milliseconds.
pub(crate) async fn eventually<F: Future<Output = bool>>(
    limit: Duration,
    mut done: impl FnMut() -> F,
) -> bool {
    tokio::time::timeout(limit, async {
        while !done().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .is_ok()
}
