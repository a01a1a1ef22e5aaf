//! Watch: a snapshot, then changes for a caller's cascade, RETESTING too when it falls due (C17, R5).
//!
//! A watch holds what it told last and tells what reads differently. It is woken by the feed and by the clock; being
//! woken too often costs a comparison, being told twice is impossible.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use health_model::vocabulary::{EffectiveStatus, Scope};
use health_model::{Caller, ContainerKey, Instant, Tool};
use ports::Revision;
use tokio::sync::{broadcast, mpsc};

use crate::error::Error;
use crate::lookup::{self, Projection, ToolHealth};
use crate::settings::{Placement, Surface};
use crate::view::Notice;
use crate::{Note, Service};

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct WatchRequest {
    /// Who asks.
    pub caller: Caller,
    /// The tools; none = every tool that some document of the cascade names.
    pub tools: Vec<Tool>,
    /// Go on after this revision, without a snapshot.
    pub from: Option<Revision>,
    /// How often to send a heartbeat while nothing changes.
    pub heartbeat: Option<Duration>,
    /// `None` = as configured.
    pub surface: Option<Surface>,
    /// `None` = as configured.
    pub placement: Option<Placement>,
}

/// What a watch tells.
#[derive(Debug, Clone, PartialEq)]
pub enum WatchEvent {
    /// How things stand at the beginning.
    Snapshot(Vec<ToolHealth>),
    /// These read differently than before.
    Change(Vec<ToolHealth>),
    /// Nothing changed.
    Heartbeat,
}

/// One message of a watch.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchMessage {
    /// What it tells.
    pub event: WatchEvent,
    /// The instant it holds for.
    pub evaluated_at: Instant,
    /// Where to go on from after a break.
    pub revision: Option<Revision>,
    /// It rests on a copy that may be out of date.
    pub stale: bool,
    /// What else there is to say.
    pub notes: Vec<Note>,
}

/// Default and bounds of the heartbeat interval.
const HEARTBEAT: (Duration, Duration, Duration) =
    (Duration::from_secs(1), Duration::from_secs(15), Duration::from_secs(300));

/// Counts the open watches.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Service {
    /// Starts a watch. It ends when the receiver is dropped or the service shuts down.
    ///
    /// # Errors
    ///
    /// [`Error::RevisionTooOld`] where the feed no longer knows `from`; [`Error::TooManyWatches`]; the store's failure
    /// while `from` is looked up.
    pub async fn watch(&self, request: WatchRequest) -> Result<mpsc::Receiver<WatchMessage>, Error> {
        let limit = self.settings.watch_limit;
        let open = Open(Arc::clone(&self.watches));
        if open.0.fetch_add(1, Ordering::Relaxed) >= limit {
            return Err(Error::TooManyWatches { limit });
        }
        // Before anything is read: what changes from here on wakes the watch.
        let notices = self.view.notices();
        let first = match &request.from {
            None => None,
            Some(from) => Some(self.changed_since(&request.caller, from).await?),
        };
        let (sender, receiver) = mpsc::channel(16);
        let watcher = Watcher {
            projection: self.projection(request.surface, request.placement),
            heartbeat: request.heartbeat.map_or(HEARTBEAT.1, |it| it.clamp(HEARTBEAT.0, HEARTBEAT.2)),
            clamped: request.heartbeat.is_some_and(|it| it < HEARTBEAT.0 || it > HEARTBEAT.2),
            service: self.clone(),
            caller: request.caller,
            tools: request.tools,
            told: BTreeMap::new(),
            known: BTreeSet::new(),
            sender,
            _open: open,
        };
        tokio::spawn(watcher.run(notices, first));
        Ok(receiver)
    }

    /// The tools of the caller's cascade that changed after a revision.
    async fn changed_since(&self, caller: &Caller, from: &Revision) -> Result<BTreeSet<String>, Error> {
        let mut tools = BTreeSet::new();
        let mut position = from.clone();
        loop {
            let page = self.admin(self.store.changes(&position, 1_000)).await?;
            for it in page.changes {
                if is_of(caller, &it.key.container()) {
                    tools.insert(it.key.tool_name);
                }
            }
            position = page.next;
            if !page.more {
                return Ok(tools);
            }
        }
    }
}

fn is_of(caller: &Caller, key: &ContainerKey) -> bool {
    if key.scope == Scope::Global {
        return true;
    }
    caller.container(key.scope, None).as_ref() == Some(key)
}

struct Watcher {
    service: Service,
    caller: Caller,
    tools: Vec<Tool>,
    projection: Projection,
    heartbeat: Duration,
    clamped: bool,
    told: BTreeMap<String, ToolHealth>,
    /// Without named tools: those that were told of. They stay: a deleted document reads OK, and that is a change.
    known: BTreeSet<String>,
    sender: mpsc::Sender<WatchMessage>,
    _open: Open,
}

/// The health of every watched tool, and when it may change by itself.
struct Reading {
    tools: Vec<ToolHealth>,
    next_change_at: Option<Instant>,
    revision: Option<Revision>,
    stale: bool,
    away: bool,
    now: Instant,
}

impl Watcher {
    async fn run(mut self, mut notices: broadcast::Receiver<Notice>, resumed: Option<BTreeSet<String>>) {
        if self.tools.is_empty() {
            self.known.extend(resumed.iter().flatten().cloned());
        }
        // After a break from the store: the view may be behind the changes that the feed has just named.
        let reading = self.read(resumed.is_some()).await;
        let mut next_change_at = reading.next_change_at;
        let event = match resumed {
            None => {
                let shown: Vec<ToolHealth> = if self.tools.is_empty() {
                    reading.tools.iter().filter(|it| it.state != EffectiveStatus::Ok).cloned().collect()
                } else {
                    reading.tools.clone()
                };
                WatchEvent::Snapshot(shown)
            }
            Some(changed) => {
                // What changed by a write, and what may have changed by time alone.
                let is_news = |it: &&ToolHealth| {
                    changed.contains(&it.tool_name) || it.state != EffectiveStatus::Ok || it.since.is_some()
                };
                WatchEvent::Change(reading.tools.iter().filter(is_news).cloned().collect())
            }
        };
        self.told = reading.tools.iter().map(|it| (it.tool_name.clone(), it.clone())).collect();
        let mut notes = Vec::new();
        if self.clamped {
            notes.push(Note::HeartbeatClamped);
        }
        if reading.away {
            notes.push(Note::StoreAway);
        }
        if matches!(&event, WatchEvent::Change(it) if it.is_empty()) {
            if !self.send(WatchEvent::Heartbeat, &reading, notes).await {
                return;
            }
        } else if !self.send(event, &reading, notes).await {
            return;
        }
        let stop = self.service.stop.clone();
        let mut quiet_until = tokio::time::Instant::now() + self.heartbeat;
        loop {
            let due = async {
                match next_change_at {
                    Some(at) => self.service.clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let woken = tokio::select! {
                () = stop.cancelled() => return,
                () = self.sender.closed() => return,
                () = due => true,
                () = tokio::time::sleep_until(quiet_until) => false,
                notice = notices.recv() => match notice {
                    Ok(Notice::Changed(keys)) => {
                        if !keys.iter().any(|it| is_of(&self.caller, &it.container())) {
                            continue;
                        }
                        true
                    }
                    Ok(Notice::Everything) | Err(broadcast::error::RecvError::Lagged(_)) => true,
                    Err(broadcast::error::RecvError::Closed) => return,
                },
            };
            let reading = self.read(false).await;
            next_change_at = reading.next_change_at;
            let changed: Vec<ToolHealth> = reading
                .tools
                .iter()
                .filter(|it| match self.told.get(&it.tool_name) {
                    Some(told) => told != *it,
                    None => it.state != EffectiveStatus::Ok,
                })
                .cloned()
                .collect();
            for it in &reading.tools {
                self.told.insert(it.tool_name.clone(), it.clone());
            }
            let event = match (changed.is_empty(), woken) {
                (false, _) => WatchEvent::Change(changed),
                (true, false) => WatchEvent::Heartbeat,
                (true, true) => continue,
            };
            if !self.send(event, &reading, Vec::new()).await {
                return;
            }
            quiet_until = tokio::time::Instant::now() + self.heartbeat;
        }
    }

    async fn read(&self, fresh: bool) -> Reading {
        let service = &self.service;
        // The revision first: what is read afterwards is at least as new.
        let revision = service.view.position();
        let now = service.clock.now();
        let read = service.read(&self.caller, None, None, fresh).await;
        let mut stale = read.stale;
        let globals = service.globals(&self.tools, fresh, &mut stale).await;
        let named = if self.tools.is_empty() {
            let mut names: BTreeSet<String> =
                lookup::known_tools(&read.containers).into_iter().map(|it| it.name).collect();
            names.extend(self.told.keys().chain(&self.known).cloned());
            names.into_iter().map(|name| Tool { name, ..Tool::default() }).collect()
        } else {
            self.tools.clone()
        };
        let mut tools = Vec::with_capacity(named.len());
        let mut next_change_at: Option<Instant> = None;
        for tool in &named {
            let global = tool.provider.as_deref().and_then(|it| globals.get(it)).map(Arc::clone);
            let containers = read.containers.with_global(global);
            let cascade = containers.cascade(&tool.name);
            let (health, next) =
                lookup::project(&cascade, &self.caller, tool, self.projection, &service.settings.policy, now);
            next_change_at = [next_change_at, next].into_iter().flatten().min();
            tools.push(health);
        }
        Reading { tools, next_change_at, revision, stale, away: read.away, now }
    }

    async fn send(&self, event: WatchEvent, reading: &Reading, notes: Vec<Note>) -> bool {
        let message = WatchMessage {
            event,
            evaluated_at: reading.now,
            revision: reading.revision.clone(),
            stale: reading.stale,
            notes,
        };
        self.sender.send(message).await.is_ok()
    }
}
