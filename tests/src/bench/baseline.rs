//! The bare calls, mounted beside the product on its port: what gRPC itself costs.
//!
//! Each method decodes its request and answers what was made beforehand. They pass no limit, no deadline, no span and no
//! measurement: whatever the product does besides deciding is counted against it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, RwLock};
use std::task::{Context, Poll};

use http::{Request, Response};
use prost::Message;
use tonic::Status;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::service::Routes;

use super::codec::{Outgoing, Shared};

/// The prefix of every path here.
pub const PREFIX: &str = "/agrajag.bench.Baseline/";

type Handler =
    Arc<dyn Fn(Request<Body>) -> Pin<Box<dyn Future<Output = Response<Body>> + Send>> + Send + Sync>;

/// The methods by path. Clones share them, so that one can be added while the server runs.
#[derive(Clone, Default)]
pub struct Baseline {
    handlers: Arc<RwLock<BTreeMap<String, Handler>>>,
}

/// Answers the same, whatever is asked.
struct Answer<Q, A> {
    answer: Outgoing<A>,
    request: PhantomData<fn(Q)>,
}

impl<Q: Message + Default + 'static, A: Message + Default + 'static> UnaryService<Q> for Answer<Q, A> {
    type Response = Outgoing<A>;
    type Future = Ready<Result<tonic::Response<Outgoing<A>>, Status>>;

    fn call(&mut self, request: tonic::Request<Q>) -> Self::Future {
        black_box(request.get_ref());
        ready(Ok(tonic::Response::new(self.answer.clone())))
    }
}

impl Baseline {
    /// Routes with no method yet.
    #[must_use]
    pub fn routes(&self) -> Routes {
        Routes::new(self.clone())
    }

    /// Adds a method that decodes `Q` and answers this; returns its path.
    ///
    /// # Panics
    ///
    /// If another thread panicked while it added one.
    pub fn add<Q, A>(&self, name: &str, answer: Outgoing<A>) -> String
    where
        Q: Message + Default + Send + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let handler: Handler = Arc::new(move |request| {
            let answer = answer.clone();
            Box::pin(async move {
                let mut grpc = Grpc::new(Shared::<A, Q>::default()).max_decoding_message_size(64 << 20);
                grpc.unary(Answer { answer, request: PhantomData }, request).await
            })
        });
        let path = format!("{PREFIX}{name}");
        self.handlers.write().expect("no panic").insert(path.clone(), handler);
        path
    }
}

impl NamedService for Baseline {
    const NAME: &'static str = "agrajag.bench.Baseline";
}

impl tower::Service<Request<Body>> for Baseline {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let handler = self.handlers.read().expect("no panic").get(request.uri().path()).cloned();
        match handler {
            Some(handler) => {
                let answer = handler(request);
                Box::pin(async move { Ok(answer.await) })
            }
            None => Box::pin(ready(Ok(Status::unimplemented("no such baseline").into_http()))),
        }
    }
}
