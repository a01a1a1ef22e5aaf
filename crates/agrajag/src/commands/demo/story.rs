//! The scenes: what agent runtimes report, who sees what afterwards, and why.
//!
//! Every scene is a real gRPC client and has tools of its own, so that none depends on another. What a line says was
//! compared with an answer first.

use agrajag_proto::v1;
use chrono::{DateTime, TimeDelta};

use super::failures;
use super::teller::Teller;
use crate::args::time;
use crate::client::Remote;
use crate::error::Error;
use crate::show;
use crate::wire::{WireEnum, word};

/// The tenant and the project in which the story plays.
const TENANT: &str = "acme";
const PROJECT: &str = "essay";

/// How many seconds the rate limit of the story lasts.
const RETRY_AFTER: u32 = 17;

/// Plays every scene.
///
/// # Errors
///
/// [`Error::Failed`] at the first answer that is not as the story has it.
pub(super) async fn play(remote: &Remote, teller: &mut Teller<'_>) -> Result<(), Error> {
    let stage = Stage { remote };
    stage.disconnect(teller).await?;
    stage.missing_right(teller).await?;
    stage.rate_limit(teller).await?;
    stage.outage(teller).await?;
    stage.three_spellings(teller).await?;
    stage.unclear(teller).await
}

struct Stage<'a> {
    remote: &'a Remote,
}

impl Stage<'_> {
    /// R10, R81, C24: a client's tools are down in its session only, and a forgotten tool is no unknown tool.
    async fn disconnect(&self, teller: &mut Teller<'_>) -> Result<(), Error> {
        teller.scene("Alice's laptop client disconnects: its tools are down in that session, nowhere else");
        let laptop = caller("alice", "s-laptop");
        let desk = caller("alice", "s-desk");
        let tool = client_tool("editor_open");
        let closed = self.event(&laptop, &tool, v1::ToolEvent::ConnectionClosed, 1).await?;
        teller.same("outcome of the disconnect", closed, v1::EventOutcome::Applied)?;

        let there = self.health(&laptop, &tool).await?;
        teller.same("state at the laptop", there.state(), v1::ToolState::Down)?;
        teller.same("scope at the laptop", there.scope(), v1::Scope::Session)?;
        teller
            .fact("words at the laptop", there.words.contains("in this session"), || there.words.clone())?;
        teller.line("alice, laptop", &tool.name, format!("{}: {}", there.state().word(), there.words));

        let here = self.health(&desk, &tool).await?;
        teller.same("state at the desk", here.state(), v1::ToolState::Ok)?;
        teller.line("alice, desk", &tool.name, "OK: another session, another client");

        let verdict = self.check(&laptop, &tool, failures::not_registered()).await?;
        teller.same("dispatch code", verdict.dispatch_code(), v1::DispatchCode::BackendUnreachable)?;
        teller.same("remedy", verdict.remedy(), v1::Remedy::ReopenSession)?;
        teller.line(
            "alice, laptop",
            &tool.name,
            "NOT_REGISTERED is answered as BACKEND_UNREACHABLE: REOPEN_SESSION",
        );

        let opened = self.event(&laptop, &tool, v1::ToolEvent::ConnectionOpened, 2).await?;
        teller.same("outcome of the reconnect", opened, v1::EventOutcome::Applied)?;
        let back = self.health(&laptop, &tool).await?;
        teller.same("state after the reconnect", back.state(), v1::ToolState::Ok)?;
        teller.line("alice, laptop", &tool.name, "OK: the client is connected again");
        Ok(teller.end_scene()?)
    }

    /// R3, R16, R46: a missing right is no health matter, and one user's is nobody else's.
    async fn missing_right(&self, teller: &mut Teller<'_>) -> Result<(), Error> {
        teller.scene("Alice lacks a right (403): her matter, not the tool's and not Bob's");
        let (alice, bob) = (caller("alice", "s-1"), caller("bob", "s-2"));
        let tool = rest_tool("jira_search");
        let verdict = self.check(&alice, &tool, failures::forbidden()).await?;
        teller.same("class", verdict.classification(), v1::Classification::UserPermission)?;
        teller.same("fault", verdict.fault(), v1::Fault::UserRight)?;
        teller.same("remedy", verdict.remedy(), v1::Remedy::AskAdmin)?;
        teller.same("diagnosis", verdict.diagnosis(), v1::DiagnosisState::None)?;
        let cooldown = verdict.cooldown.unwrap_or_default();
        teller.same("scope of the cooldown", cooldown.scope(), v1::Scope::User)?;
        teller.line("alice", &tool.name, format!("{}: no diagnosis, ask an administrator", kind(&verdict)));

        let for_alice = self.health(&alice, &tool).await?;
        teller.same("state for alice", for_alice.state(), v1::ToolState::Ok)?;
        teller.same("words for alice", for_alice.words.as_str(), "")?;
        teller.line("alice", &tool.name, "OK: a missing right never changes a status");

        let for_bob = self.health(&bob, &tool).await?;
        teller.same("state for bob", for_bob.state(), v1::ToolState::Ok)?;
        let success = self.success(&bob, &tool).await?;
        teller.same("outcome for bob", success, v1::SuccessOutcome::NothingToClear)?;
        teller.line("bob", &tool.name, "OK: his calls work, and alice's cooldown stays hers");
        let again = self.check(&alice, &tool, failures::forbidden()).await?;
        let active = again.cooldown.unwrap_or_default().active;
        teller.same("cooldown of alice still runs", active, true)?;
        Ok(teller.end_scene()?)
    }

    /// R2, R129: an announced time is passed on exactly, and a user's quota is the user's.
    async fn rate_limit(&self, teller: &mut Teller<'_>) -> Result<(), Error> {
        teller.scene("Carol meets a rate limit (429) that says when it ends");
        let (carol, bob) = (caller("carol", "s-3"), caller("bob", "s-2"));
        let tool = rest_tool("mail_send");
        let before = self.remote.now().await?;
        let verdict = self.check(&carol, &tool, failures::rate_limited(RETRY_AFTER)).await?;
        let after = self.remote.now().await?;
        teller.same("class", verdict.classification(), v1::Classification::Intermittent)?;
        teller.same("remedy", verdict.remedy(), v1::Remedy::RetryAt)?;
        teller.same("basis", verdict.retry_basis(), v1::RetryBasis::Exact)?;
        let retry_at = time::from_wire(verdict.retry_at.as_ref()).unwrap_or(DateTime::UNIX_EPOCH);
        let span = TimeDelta::seconds(RETRY_AFTER.into());
        let holds = (before + span..=after + span).contains(&retry_at);
        teller.fact("retry time", holds, || format!("{retry_at} is not {RETRY_AFTER} s after {after}"))?;
        let at = time::shown(verdict.retry_at.as_ref());
        teller.line(
            "carol",
            &tool.name,
            format!("{}: Retry-After says {RETRY_AFTER} s: {at}", kind(&verdict)),
        );

        let for_bob = self.health(&bob, &tool).await?;
        teller.same("state for bob", for_bob.state(), v1::ToolState::Ok)?;
        teller.line("bob", &tool.name, "OK: the limit belongs to carol's credential");
        Ok(teller.end_scene()?)
    }

    /// R54, R55, R72, R100: one user finds the outage, all are told, anybody's success ends it, and that is told once.
    async fn outage(&self, teller: &mut Teller<'_>) -> Result<(), Error> {
        teller.scene("The wiki's server is gone: one finds out, all are told, until somebody succeeds");
        let (alice, bob, carol) = (caller("alice", "s-1"), caller("bob", "s-2"), caller("carol", "s-3"));
        let tool = rest_tool("wiki");
        let verdict = self.check(&alice, &tool, failures::refused_in_go()).await?;
        teller.same("class", verdict.classification(), v1::Classification::TechnicallyBroken)?;
        teller.same("signature", verdict.signature.as_str(), "connect-refused")?;
        let health = verdict.health.unwrap_or_default();
        teller.same("state after the call", health.state(), v1::ToolState::Down)?;
        teller.same("durability", verdict.durability(), v1::Durability::Committed)?;
        teller.line("alice", &tool.name, format!("{}: down for the project", kind(&verdict)));

        let told = self.lookup(&bob, &tool, &[]).await?;
        let row = first(&told);
        teller.same("state for bob", row.state(), v1::ToolState::Down)?;
        teller.same("scope for bob", row.scope(), v1::Scope::Project)?;
        teller.fact("words for bob", row.words.contains("unavailable"), || row.words.clone())?;
        teller.fact("block for bob's prompt", told.block.contains(&row.words), || told.block.clone())?;
        teller.line("bob", &tool.name, format!("in his prompt: {}", row.words));

        let success = self.success(&carol, &tool).await?;
        teller.same("outcome of carol's call", success, v1::SuccessOutcome::Cleared)?;
        teller.line("carol", &tool.name, "calls it all the same and succeeds: cleared");

        let next = self.lookup(&bob, &tool, &told.shown).await?;
        teller.same("state for bob afterwards", first(&next).state(), v1::ToolState::Ok)?;
        teller.same("recovered", next.recovered.as_slice(), std::slice::from_ref(&tool.name))?;
        teller.fact("announcement", next.block.contains("available again: wiki"), || next.block.clone())?;
        teller.line("bob", &tool.name, "in his next prompt: available again: wiki");
        let last = self.lookup(&bob, &tool, &next.shown).await?;
        teller
            .fact("recovery is told once", last.recovered.is_empty(), || format!("{:?}", last.recovered))?;
        teller.line("bob", &tool.name, "in the one after that: nothing, it is told once");
        Ok(teller.end_scene()?)
    }

    /// C16, R43, R44: one fault has one signature and one cooldown, whatever language reports it.
    async fn three_spellings(&self, teller: &mut Teller<'_>) -> Result<(), Error> {
        teller.scene("One fault in three languages: one signature, one cooldown");
        let tool = rest_tool("billing_invoices");
        let mut first_until = None;
        for (n, (language, printed, failure)) in (1..).zip(failures::refused_in_three_languages()) {
            let verdict = self.check(&caller(language, "s-4"), &tool, failure).await?;
            teller.same("signature", verdict.signature.as_str(), "connect-refused")?;
            let cooldown = verdict.cooldown.unwrap_or_default();
            teller.same("cooldown was running before", cooldown.active, n > 1)?;
            teller.same("failures in the window", cooldown.hits, n)?;
            let until = *first_until.get_or_insert(cooldown.until);
            teller.same("end of the cooldown", cooldown.until, until)?;
            let window = if n == 1 { "a new window" } else { "the same window" };
            teller.line(
                language,
                &tool.name,
                format!("{printed}: {}, {window}, {}", verdict.signature, show::plural(n, "failure")),
            );
        }
        Ok(teller.end_scene()?)
    }

    /// R20, R99, R102, R199: what nobody can tell is diagnosed once, however many ask.
    async fn unclear(&self, teller: &mut Teller<'_>) -> Result<(), Error> {
        teller.scene("An error that tells nothing (500): diagnosed once, however many meet it");
        let tool = rest_tool("report_build");
        let alice = self.check(&caller("alice", "s-1"), &tool, failures::internal_error()).await?;
        teller.same("class", alice.classification(), v1::Classification::Unclear)?;
        teller.same("diagnosis", alice.diagnosis(), v1::DiagnosisState::Enqueued)?;
        teller.line("alice", &tool.name, format!("{}: a diagnosis is enqueued", kind(&alice)));

        let bob = self.check(&caller("bob", "s-2"), &tool, failures::internal_error()).await?;
        let joined =
            matches!(bob.diagnosis(), v1::DiagnosisState::Coalesced | v1::DiagnosisState::Suppressed);
        teller.fact("diagnosis for bob", joined, || bob.diagnosis().word().to_owned())?;
        teller.line("bob", &tool.name, format!("the same: {}, no second one", bob.diagnosis().word()));

        let request = v1::ListJobsRequest {
            tenant_id: TENANT.to_owned(),
            tool_name: tool.name.clone(),
            ..Default::default()
        };
        let jobs =
            self.remote.answer(self.remote.admin().list_jobs(self.remote.request(request)).await)?.jobs;
        teller.same("number of jobs", jobs.len(), 1)?;
        teller.same(
            "state of the job",
            jobs.first().map_or(0, |it| it.state),
            v1::JobState::Queued.into(),
        )?;
        let health = self.health(&caller("carol", "s-3"), &tool).await?;
        teller.same("state for carol", health.state(), v1::ToolState::Ok)?;
        teller.line("carol", &tool.name, "OK: unknown means usable; one job waits");
        Ok(teller.end_scene()?)
    }

    async fn check(
        &self,
        caller: &v1::Caller,
        tool: &v1::Tool,
        failure: v1::Failure,
    ) -> Result<v1::Verdict, Error> {
        let request = v1::CheckRequest {
            caller: Some(caller.clone()),
            tool: Some(tool.clone()),
            failure: Some(failure),
            ..Default::default()
        };
        let response = self.remote.answer(self.remote.health().check(self.remote.request(request)).await)?;
        Ok(response.verdict.unwrap_or_default())
    }

    async fn lookup(
        &self,
        caller: &v1::Caller,
        tool: &v1::Tool,
        shown: &[u8],
    ) -> Result<v1::LookupResponse, Error> {
        let request = v1::LookupRequest {
            caller: Some(caller.clone()),
            tools: vec![tool.clone()],
            shown: shown.to_vec(),
            ..Default::default()
        };
        self.remote.answer(self.remote.health().lookup(self.remote.request(request)).await)
    }

    async fn health(&self, caller: &v1::Caller, tool: &v1::Tool) -> Result<v1::ToolHealth, Error> {
        Ok(first(&self.lookup(caller, tool, &[]).await?))
    }

    async fn success(&self, caller: &v1::Caller, tool: &v1::Tool) -> Result<v1::SuccessOutcome, Error> {
        let request = v1::RecordSuccessRequest {
            caller: Some(caller.clone()),
            successes: vec![v1::Success {
                tool: Some(tool.clone()),
                http_status: Some(200),
                ..Default::default()
            }],
            ..Default::default()
        };
        let response =
            self.remote.answer(self.remote.health().record_success(self.remote.request(request)).await)?;
        Ok(response.results.first().map_or(v1::SuccessOutcome::Unspecified, v1::SuccessResult::outcome))
    }

    async fn event(
        &self,
        caller: &v1::Caller,
        tool: &v1::Tool,
        event: v1::ToolEvent,
        sequence: u64,
    ) -> Result<v1::EventOutcome, Error> {
        let request = v1::RecordEventRequest {
            caller: Some(caller.clone()),
            tools: vec![tool.clone()],
            event: event.into(),
            connection_id: "laptop-1".to_owned(),
            sequence,
            ..Default::default()
        };
        let response =
            self.remote.answer(self.remote.health().record_event(self.remote.request(request)).await)?;
        Ok(response.results.first().map_or(v1::EventOutcome::Unspecified, v1::EventResult::outcome))
    }
}

fn caller(user: &str, session: &str) -> v1::Caller {
    v1::Caller {
        tenant_id: TENANT.to_owned(),
        project_id: PROJECT.to_owned(),
        user_id: user.to_owned(),
        session_id: session.to_owned(),
        locale: String::new(),
    }
}

fn client_tool(name: &str) -> v1::Tool {
    v1::Tool { kind: v1::ToolKind::Client.into(), ..rest_tool(name) }
}

fn rest_tool(name: &str) -> v1::Tool {
    v1::Tool { name: name.to_owned(), kind: v1::ToolKind::Rest.into(), ..Default::default() }
}

fn first(response: &v1::LookupResponse) -> v1::ToolHealth {
    response.tools.first().cloned().unwrap_or_default()
}

/// Class and rule in a word.
fn kind(verdict: &v1::Verdict) -> String {
    format!("{} (rule {})", word::<v1::Classification>(verdict.classification), verdict.rule_id)
}
