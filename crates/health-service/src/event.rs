//! RecordEvent: the system path (R57, R58, R80, R81, R141, R142). Binary facts of the connection layer, without the
//! Checker.

use health_model::document::Connection;
use health_model::vocabulary::{EffectiveStatus, Scope, Status};
use health_model::{Caller, ContainerKey, DocumentKey, Effect, EffectKind, Instant, Tool};
use ports::Revision;

use crate::check::Durability;
use crate::error::Error;
use crate::settings::Mode;
use crate::writer::{Planned, World};
use crate::{Note, Service};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A connection opened: its tools are there.
    ConnectionOpened,
    /// A connection closed: its tools are gone.
    ConnectionClosed,
    /// The process behind the tools was killed.
    SubprocessKilled,
}

/// One event for a set of tools at one scope.
#[derive(Debug, Clone)]
pub struct RecordEventRequest {
    /// Who reports.
    pub caller: Caller,
    /// Where the tools live; `None` = each tool's home scope.
    pub scope: Option<Scope>,
    /// The id at that scope; `None` = the caller's own.
    pub scope_id: Option<String>,
    /// The tools.
    pub tools: Vec<Tool>,
    /// What happened.
    pub event: Event,
    /// The connection; empty if it has no name.
    pub connection_id: String,
    /// Grows over the events of this connection; 0 = not numbered.
    pub sequence: u64,
    /// When it happened; `None` = now. Not after now.
    pub occurred_at: Option<Instant>,
    /// For the audit trail.
    pub reason: String,
}

/// What one event did to one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventOutcome {
    /// The status was written.
    Applied,
    /// The tool had that status already.
    NoChange,
    /// A later event is known; this one lost.
    Older,
    /// Mode `observe`: it would have been written.
    WouldApply,
    /// The caller has no id at the tool's scope: nothing can be stored.
    NoScopeId,
}

/// The answer for one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventResult {
    /// What it did.
    pub outcome: EventOutcome,
    /// What the document reads afterwards.
    pub state: EffectiveStatus,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct RecordEventAnswer {
    /// In the order of the request.
    pub results: Vec<EventResult>,
    /// Whether it is stored.
    pub durability: Durability,
    /// A reader that has reached it sees the event.
    pub revision: Option<Revision>,
    /// What else there is to say.
    pub notes: Vec<Note>,
}

impl Service {
    /// Takes in one event.
    ///
    /// # Errors
    ///
    /// The store failed, or the writer is full: nothing is known to be stored, and the report should be sent again.
    pub async fn record_event(&self, request: RecordEventRequest) -> Result<RecordEventAnswer, Error> {
        let now = self.clock.now();
        let keys: Vec<Option<DocumentKey>> = request.tools.iter().map(|it| key_of(&request, it)).collect();
        let at = request.occurred_at.map_or(now, |it| it.min(now));
        let connection = Connection {
            id: request.connection_id.clone(),
            sequence: request.sequence,
            at,
            open: request.event == Event::ConnectionOpened,
        };
        let word = match request.event {
            Event::ConnectionOpened => "connection opened",
            Event::ConnectionClosed => "connection closed",
            Event::SubprocessKilled => "subprocess killed",
        };
        // A reason is text from outside: a close frame or a line of standard error.
        let note = match request.reason.as_str() {
            "" => word.to_owned(),
            reason => format!("{word}: {}", checker::redact::excerpt(reason)),
        };
        let mut containers: Vec<ContainerKey> = keys.iter().flatten().map(DocumentKey::container).collect();
        containers.sort_unstable();
        containers.dedup();
        let is_observing = self.settings.mode == Mode::Observe;
        let plan = move |world: &World<'_>| {
            let mut before = Vec::with_capacity(keys.len());
            let mut effects = Vec::new();
            for key in &keys {
                let Some(key) = key else {
                    before.push(None);
                    continue;
                };
                let status = world.document(key).and_then(|it| it.health.as_ref()).map(|it| it.status);
                before.push(Some(status.unwrap_or(Status::Ok)));
                let kind = EffectKind::ConnectionEvent { connection: connection.clone(), note: note.clone() };
                effects.push(Effect { key: key.clone(), kind });
            }
            let planned = if is_observing { Vec::new() } else { effects };
            (before, Planned { effects: planned, jobs: Vec::new() })
        };
        let (before, written) = self.writer()?.write(containers, now, plan).await?;
        let down = request.event != Event::ConnectionOpened;
        let target = if down { Status::Down } else { Status::Ok };
        let mut changed = written.changed.iter().copied();
        let results = before
            .into_iter()
            .map(|before| {
                let Some(before) = before else {
                    return EventResult { outcome: EventOutcome::NoScopeId, state: EffectiveStatus::Ok };
                };
                let outcome = if is_observing {
                    EventOutcome::WouldApply
                } else if !changed.next().unwrap_or(false) {
                    EventOutcome::Older
                } else if before == target {
                    EventOutcome::NoChange
                } else {
                    EventOutcome::Applied
                };
                let status = match outcome {
                    EventOutcome::Applied | EventOutcome::NoChange => target,
                    _ => before,
                };
                EventResult { outcome, state: EffectiveStatus::of(status) }
            })
            .collect();
        let stored = written.revision.is_some();
        Ok(RecordEventAnswer {
            results,
            durability: if stored { Durability::Committed } else { Durability::None },
            revision: written.revision.or_else(|| self.view.position()),
            notes: if is_observing { vec![Note::ObserveMode] } else { Vec::new() },
        })
    }
}

fn key_of(request: &RecordEventRequest, tool: &Tool) -> Option<DocumentKey> {
    let scope = request.scope.unwrap_or_else(|| tool.home_scope());
    let container = match &request.scope_id {
        Some(id) if scope != Scope::Global => {
            ContainerKey { tenant_id: request.caller.tenant_id.clone(), scope, scope_id: id.clone() }
        }
        _ if scope == Scope::Global => return None, // Never written by one tenant.
        _ => request.caller.container(scope, None)?,
    };
    Some(container.document(&tool.name))
}
