//! Black-box tests of the product, and what they stand on: servers to start, kill and take the store away from, clients,
//! and waiting for conditions.
//!
//! The tests themselves are in `tests/`, one file a subject; `src/bin/bench.rs` measures. Everything goes over the wire:
//! nothing here looks inside a server, so that the same stories hold for any client in any language.
//!
//! - [`mod@env`]: what `cargo xtask test` tells about the surroundings.
//! - [`server`]: a server of our own, in this process or as a child; [`child`]: the binary; [`postgres`], [`proxy`]: stores.
//! - [`disk`]: one that is full.
//! - [`client`], [`http`], [`raw`], [`messages`], [`nonsense`], [`refusal`]: asking, politely or not, and reading answers.
//! - [`wait`], [`random`]: conditions instead of sleeping, seeds instead of luck.

pub mod bench;
pub mod child;
pub mod classify;
pub mod client;
pub mod corpus;
pub mod disk;
pub mod env;
pub mod fuzz;
pub mod http;
pub mod messages;
pub mod nonsense;
pub mod postgres;
pub mod proxy;
pub mod random;
pub mod raw;
pub mod refusal;
pub mod server;
pub mod wait;

use server::Server;

/// The value of a counter or gauge at `/metrics`, summed over its labels; 0 if nobody has counted yet.
///
/// # Panics
///
/// If the server does not answer.
pub async fn metric(server: &Server, name: &str) -> u64 {
    let text = http::get(server.address, "/metrics").await.body;
    let lines = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let value = if rest.starts_with('{') { rest.rsplit_once(' ')?.1 } else { rest.strip_prefix(' ')? };
        value.parse::<f64>().ok()
    });
    lines.sum::<f64>() as u64
}

/// Makes of each story three tests: on memory, on SQLite and on PostgreSQL. A story is an async function that takes a
/// [`&Server`](server::Server).
#[macro_export]
macro_rules! on_every_store {
    ($($story:ident),+ $(,)?) => {
        $(
            mod $story {
                #[tokio::test(flavor = "multi_thread")]
                async fn memory() {
                    super::$story(&$crate::server::Setup::memory().start().await).await;
                }

                #[tokio::test(flavor = "multi_thread")]
                async fn sqlite() {
                    super::$story(&$crate::server::Setup::sqlite().start().await).await;
                }

                #[tokio::test(flavor = "multi_thread")]
                async fn postgres() {
                    super::$story(&$crate::server::Setup::postgres().start().await).await;
                }
            }
        )+
    };
}
