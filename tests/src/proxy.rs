//! A TCP proxy that can be cut: how a test takes a database away and gives it back.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Passes bytes between a loopback port of its own and one address, while it is not cut.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    is_cut: Arc<watch::Sender<bool>>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// A proxy for `upstream`, `HOST:PORT`.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn start(upstream: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let is_cut = Arc::new(watch::Sender::new(false));
        let upstream = upstream.to_owned();
        let task = tokio::spawn({
            let is_cut = Arc::clone(&is_cut);
            async move {
                while let Ok((client, _)) = listener.accept().await {
                    tokio::spawn(pass(client, upstream.clone(), is_cut.subscribe()));
                }
            }
        });
        Self { address, is_cut, task }
    }

    /// Where to connect.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends every connection and refuses further ones.
    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Lets connections through again.
    pub fn restore(&self) {
        self.is_cut.send_replace(false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.task.abort();
    }
}

async fn pass(mut client: TcpStream, upstream: String, mut is_cut: watch::Receiver<bool>) {
    if *is_cut.borrow() {
        return;
    }
    let Ok(mut server) = TcpStream::connect(upstream).await else { return };
    // Small messages in both directions: without this each would wait for the next.
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
        _ = is_cut.wait_for(|it| *it) => {}
    }
}
