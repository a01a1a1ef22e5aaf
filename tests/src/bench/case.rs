//! What is called, and what it is compared with.
//!
//! A case makes the state that it needs, takes the product's own answer as that of its baselines, and gives back calls
//! that can be made over and over.

use std::sync::Arc;

use agrajag_proto::v1;
use anyhow::{Context as _, Result, ensure};
use prost::Message;
use tonic::transport::Channel;

use super::baseline::Baseline;
use super::codec::Outgoing;
use super::load::{Call, call};
use crate::client::Client;
use crate::messages::{caller, check, connection_refused, http, lookup, rest, success};

/// Tools of the large lookup, and of a project.
const MANY: usize = 300;

/// Every how many of them one is down.
const DOWN_EVERY: usize = 30;

const CHECK: &str = "/agrajag.v1.ToolHealthService/Check";
const RECORD_SUCCESS: &str = "/agrajag.v1.ToolHealthService/RecordSuccess";
const LOOKUP: &str = "/agrajag.v1.ToolHealthService/Lookup";

/// One call of the product and its baselines by name.
pub struct Case {
    /// Its name in the report.
    pub name: String,
    /// The product's.
    pub product: Call,
    /// `empty`: nothing in, nothing out. `echo`: the same messages. `bytes`: the same answer, encoded beforehand.
    pub baselines: Vec<(&'static str, Call)>,
}

/// What cases are made from.
pub struct Surroundings<'a> {
    /// A client of the server.
    pub client: &'a Client,
    /// The bare calls on the same port.
    pub baseline: &'a Baseline,
}

impl Surroundings<'_> {
    async fn case<Q, A>(
        &self,
        name: &str,
        path: &str,
        request: impl Fn(u64) -> Arc<Q> + Send + Sync + Clone + 'static,
        answer: A,
    ) -> Result<Case>
    where
        Q: Message + Default + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let encoded: Arc<[u8]> = answer.encode_to_vec().into();
        let empty = self.baseline.add::<(), ()>(&format!("{name}/empty"), Outgoing::Message(Arc::new(())));
        let echo = self.baseline.add::<Q, A>(&format!("{name}/echo"), Outgoing::Message(Arc::new(answer)));
        let bytes =
            self.baseline.add::<Q, A>(&format!("{name}/bytes"), Outgoing::Encoded(Arc::clone(&encoded)));
        let nothing = Arc::new(());
        let mut baselines = vec![
            ("empty", call::<(), ()>(&empty, move |_| Arc::clone(&nothing))?),
            ("echo", call::<Q, A>(&echo, request.clone())?),
        ];
        // For one small message both are the same.
        if encoded.len() > 4_096 {
            baselines.push(("bytes", call::<Q, A>(&bytes, request.clone())?));
        }
        Ok(Case { name: name.to_owned(), product: call::<Q, A>(path, request)?, baselines })
    }

    /// Check while a cooldown runs: the failures behind the first.
    ///
    /// # Errors
    ///
    /// The server does not answer as it should.
    pub async fn check_cooldown(&self) -> Result<Case> {
        let request = check(caller("alice"), rest("jira_search"), http(403));
        let mut tools = self.client.tools();
        tools.check(request.clone()).await?;
        let answer = tools.check(request.clone()).await?.into_inner();
        let cooldown = answer.verdict.as_ref().and_then(|it| it.cooldown).context("a cooldown")?;
        ensure!(cooldown.active, "the second failure meets a cooldown");
        let request = Arc::new(request);
        self.case("check_cooldown", CHECK, move |_| Arc::clone(&request), answer).await
    }

    /// Check of a first failure: a document is written and acknowledged as committed.
    ///
    /// # Errors
    ///
    /// The server does not answer as it should.
    pub async fn check_durable(&self, name: &str) -> Result<Case> {
        // Projects of a usual size: what one holds is read and copied as a whole.
        let make = |prefix: &'static str, n: u64| {
            let caller =
                v1::Caller { project_id: format!("{prefix}_{}", n / MANY as u64), ..caller("alice") };
            Arc::new(check(caller, rest(&format!("tool_{n}")), connection_refused()))
        };
        let first = make("warm", 0);
        let answer = self.client.tools().check(v1::CheckRequest::clone(&first)).await?.into_inner();
        let durability = answer.verdict.as_ref().map(v1::Verdict::durability);
        ensure!(durability == Some(v1::Durability::Committed), "it is committed, not {durability:?}");
        // The product and its echo count on their own, so no tool of the product comes twice.
        self.case(name, CHECK, move |n| make("project", n), answer).await
    }

    /// RecordSuccess where there is nothing to clear: what healthy tools cost.
    ///
    /// # Errors
    ///
    /// The server does not answer as it should.
    pub async fn record_success_noop(&self) -> Result<Case> {
        let request = success(caller("alice"), rest("healthy"));
        let answer = self.client.tools().record_success(request.clone()).await?.into_inner();
        let outcome = answer.results.first().map(v1::SuccessResult::outcome);
        ensure!(outcome == Some(v1::SuccessOutcome::NothingToClear), "nothing to clear, not {outcome:?}");
        let request = Arc::new(request);
        self.case("record_success_noop", RECORD_SUCCESS, move |_| Arc::clone(&request), answer).await
    }

    /// Lookup of one tool, which is fine.
    ///
    /// # Errors
    ///
    /// The server does not answer as it should.
    pub async fn lookup_1(&self) -> Result<Case> {
        self.lookup("lookup_1", lookup(caller("bob"), [rest("healthy")])).await
    }

    /// Lookup of three hundred tools, one in thirty down.
    ///
    /// # Errors
    ///
    /// The server does not answer as it should.
    pub async fn lookup_300(&self) -> Result<Case> {
        let name = |n: usize| format!("tool_of_many_{n}");
        for n in (0..MANY).step_by(DOWN_EVERY) {
            self.client.tools().check(check(caller("alice"), rest(&name(n)), connection_refused())).await?;
        }
        self.lookup("lookup_300", lookup(caller("bob"), (0..MANY).map(|n| rest(&name(n))))).await
    }

    async fn lookup(&self, name: &str, request: v1::LookupRequest) -> Result<Case> {
        let answer = self.client.tools().lookup(request.clone()).await?.into_inner();
        ensure!(
            answer.tools.len() == request.tools.len() && !answer.stale,
            "every tool, from a view that is fresh"
        );
        let request = Arc::new(request);
        self.case(name, LOOKUP, move |_| Arc::clone(&request), answer).await
    }
}

/// A channel that is not used by anybody else.
///
/// # Errors
///
/// Nothing answers.
pub async fn warm(channel: &Channel, case: &Case) -> Result<()> {
    for call in std::iter::once(&case.product).chain(case.baselines.iter().map(|(_, call)| call)) {
        call(channel.clone()).await.with_context(|| format!("the first call of `{}`", case.name))?;
    }
    Ok(())
}
