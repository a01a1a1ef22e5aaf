//! Lookup: which tools are usable for this caller now, and what words go to the model (R69…R76, C22).

use std::collections::{BTreeMap, BTreeSet};

use health_model::vocabulary::{Classification, EffectiveStatus, EtaBasis, Scope, Status};
use health_model::{Caller, Cascade, ContainerKey, Instant, Policy, State, Tool, cooldown, success, words};
use ports::Revision;

use crate::settings::{Placement, Surface};
use crate::shown::Shown;
use crate::view::Containers;
use crate::{Note, Service};

/// Tools that are always listed (R310, C32).
const FLOOR: [&str; 2] = ["tool_list", "tool_description"];

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct LookupRequest {
    /// Who asks.
    pub caller: Caller,
    /// The tools, answered in this order; none = all of the cascade that are not OK, by name. Such a lookup does not see
    /// GLOBAL entries, which count for named providers only.
    pub tools: Vec<Tool>,
    /// The token of the last answer in this conversation.
    pub shown: Vec<u8>,
    /// The caller has seen this revision.
    pub at_least: Option<Revision>,
    /// Read the store, not the view.
    pub fresh: bool,
    /// `None` = as configured.
    pub surface: Option<Surface>,
    /// `None` = as configured.
    pub placement: Option<Placement>,
}

/// What the model may see of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// In the list.
    Listed,
    /// By name only.
    Deferred,
    /// Not at all.
    Hidden,
}

/// One tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolHealth {
    /// The name.
    pub tool_name: String,
    /// The state for this caller.
    pub state: EffectiveStatus,
    /// What the model may see.
    pub visibility: Visibility,
    /// The suffix of its line; empty = none.
    pub words: String,
    /// When a call is worth trying.
    pub retry_at: Option<Instant>,
    /// `hold`, or the signature or class behind the state; empty if OK.
    pub reason_code: String,
    /// The class behind the state.
    pub classification: Option<Classification>,
    /// The scope that decides.
    pub scope: Option<Scope>,
    /// Since when.
    pub since: Option<Instant>,
    /// A reported success would change something.
    pub report_success: bool,
    /// The hold that decides.
    pub hold: Option<health_model::Hold>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupAnswer {
    /// In the order of the request.
    pub tools: Vec<ToolHealth>,
    /// The block for after the prompt-cache marker; empty = nothing to say, or another placement.
    pub block: String,
    /// Tools that were shown as in trouble before and are OK again.
    pub recovered: Vec<String>,
    /// The token for the next lookup of this conversation.
    pub shown: Vec<u8>,
    /// The instant it holds for.
    pub evaluated_at: Instant,
    /// When it may read differently without any write.
    pub next_change_at: Option<Instant>,
    /// What the answer has seen.
    pub revision: Option<Revision>,
    /// The answer rests on a copy that may be out of date.
    pub stale: bool,
    /// What else there is to say.
    pub notes: Vec<Note>,
}

/// How to project, resolved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Projection {
    pub(crate) surface: Surface,
    pub(crate) placement: Placement,
}

impl Service {
    /// Answers from memory where it can. Never fails: without the store tools are usable, and the answer says so.
    pub async fn lookup(&self, request: LookupRequest) -> LookupAnswer {
        let now = self.clock.now();
        let LookupRequest { caller, tools, shown, at_least, fresh, surface, placement } = request;
        let projection = self.projection(surface, placement);
        let mut notes = Vec::new();
        let before = Shown::decode(&shown).unwrap_or_else(|| {
            notes.push(Note::ShownUnreadable);
            Shown::default()
        });
        let read = self.read(&caller, None, at_least.as_ref(), fresh).await;
        if read.away {
            notes.push(Note::StoreAway);
        }
        let mut stale = read.stale;
        let fresh = fresh || self.view.is_behind(at_least.as_ref());
        let mut answer = Vec::with_capacity(tools.len());
        let mut next_change_at: Option<Instant> = None;
        let everything = tools.is_empty();
        let globals =
            if everything { BTreeMap::new() } else { self.globals(&tools, fresh, &mut stale).await };
        let named = if everything { known_tools(&read.containers) } else { tools };
        let mut healthy = BTreeSet::new();
        for tool in &named {
            let containers = match tool.provider.as_deref().and_then(|it| globals.get(it)) {
                Some(global) => &read.containers.with_global(Some(std::sync::Arc::clone(global))),
                None => &read.containers,
            };
            let cascade = containers.cascade(&tool.name);
            let (health, next) = project(&cascade, &caller, tool, projection, &self.settings.policy, now);
            next_change_at = [next_change_at, next].into_iter().flatten().min();
            if health.state == EffectiveStatus::Ok {
                healthy.insert(tool.name.clone());
            }
            if !everything || health.state != EffectiveStatus::Ok {
                answer.push(health);
            }
        }
        let recovered: Vec<String> = healthy.into_iter().filter(|it| before.holds(it)).collect();
        let spoken: BTreeMap<&str, &str> = answer
            .iter()
            .filter(|it| !it.words.is_empty())
            .map(|it| (it.tool_name.as_str(), it.words.as_str()))
            .collect();
        let pairs = || spoken.iter().map(|(tool, words)| (*tool, *words));
        let names: Vec<&str> = recovered.iter().map(String::as_str).collect();
        let block = match projection.placement {
            Placement::Block => words::block(pairs(), &names).unwrap_or_default(),
            Placement::Description | Placement::None => String::new(),
        };
        let token = before.next(pairs(), names.iter().copied()).encode();
        LookupAnswer {
            tools: answer,
            block,
            recovered,
            shown: token,
            evaluated_at: now,
            next_change_at,
            revision: self.view.position(),
            stale,
            notes,
        }
    }

    pub(crate) fn projection(&self, surface: Option<Surface>, placement: Option<Placement>) -> Projection {
        Projection {
            surface: surface.unwrap_or(self.settings.surface),
            placement: placement.unwrap_or(self.settings.placement),
        }
    }

    /// The GLOBAL containers of the providers that these tools name.
    pub(crate) async fn globals(
        &self,
        tools: &[Tool],
        fresh: bool,
        stale: &mut bool,
    ) -> BTreeMap<String, std::sync::Arc<crate::view::Container>> {
        let providers: BTreeSet<&str> = tools.iter().filter_map(|it| it.provider.as_deref()).collect();
        match self.view.many(providers.into_iter().map(ContainerKey::global), fresh).await {
            Ok(found) => found.into_iter().map(|(key, container)| (key.scope_id, container)).collect(),
            Err(error) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "answered without GLOBAL entries");
                *stale = true;
                BTreeMap::new()
            }
        }
    }
}

/// Every tool that some document of the caller names.
pub(crate) fn known_tools(containers: &Containers) -> Vec<Tool> {
    let names: BTreeSet<&str> = containers
        .iter()
        .flat_map(|it| it.documents())
        .map(|it| it.document.key.tool_name.as_str())
        .collect();
    names.into_iter().map(|name| Tool { name: name.to_owned(), ..Tool::default() }).collect()
}

/// One tool's health for one caller, and when it may read differently without a write.
pub(crate) fn project(
    cascade: &Cascade<'_>,
    caller: &Caller,
    tool: &Tool,
    projection: Projection,
    policy: &Policy,
    now: Instant,
) -> (ToolHealth, Option<Instant>) {
    let state = cascade.state(policy, now);
    let words = match projection.placement {
        Placement::None => None,
        Placement::Block | Placement::Description => words::annotation(&state, now),
    };
    let next = words::annotation_changes_at(&state, now);
    let is_ok = state.effective == EffectiveStatus::Ok;
    let health = ToolHealth {
        tool_name: tool.name.clone(),
        state: state.effective,
        visibility: visibility(&state, &tool.name, projection.surface),
        words: words.unwrap_or_default(),
        retry_at: retry_at(&state, caller, now),
        reason_code: match (state.hold, state.health) {
            (Some(_), _) => "hold".to_owned(),
            (None, Some(it)) if !is_ok => {
                it.signature.clone().unwrap_or_else(|| it.classification.as_str().to_owned())
            }
            _ => String::new(),
        },
        classification: state.health.filter(|_| !is_ok).map(|it| it.classification),
        scope: state.decided_by.map(|it| it.key.scope),
        since: state.hold.map(|it| it.since).or(state.health.map(|it| it.since)),
        report_success: success::is_worth_reporting(cascade, caller, tool, policy, now),
        hold: state.hold.cloned(),
    };
    (health, next)
}

fn visibility(state: &State<'_>, tool: &str, surface: Surface) -> Visibility {
    let is_down = state.effective == EffectiveStatus::Down;
    if !is_down || FLOOR.contains(&tool) {
        return Visibility::Listed;
    }
    match surface {
        Surface::Annotate | Surface::Stable => Visibility::Listed,
        Surface::Demote => Visibility::Deferred,
        Surface::Hide => {
            let is_broken =
                state.health.is_none_or(|it| it.classification == Classification::TechnicallyBroken);
            if is_broken { Visibility::Hidden } else { Visibility::Listed }
        }
    }
}

/// When a call is worth trying: the expected recovery, spread per caller where we computed it (C18).
fn retry_at(state: &State<'_>, caller: &Caller, now: Instant) -> Option<Instant> {
    if let Some(hold) = state.hold {
        return hold.until.filter(|_| hold.status != Status::Ok);
    }
    let health = state.health.filter(|it| it.status != Status::Ok)?;
    let eta = health.expected_recovery_at.filter(|it| *it > now)?;
    if health.eta_basis != EtaBasis::Computed {
        return Some(eta);
    }
    let opened = state.decided_by.and_then(|it| it.last_checked_at).unwrap_or(health.since);
    Some(cooldown::spread(opened, eta, &caller.spread_key()))
}
