//! A small world for decisions: a caller, a tool, the documents on record, a clock that is stepped by hand.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test binary uses its own part; one that cannot go on has failed"
)]

use checker::{Decision, LayerKind, Options, ParsedLayer, RuleTable, Settings, decide, parse};
use chrono::TimeDelta;
use health_model::transition::{self, Mark};
use health_model::{
    Caller, Cascade, Classification, Document, DocumentKey, Effect, EffectKind, Failure, Instant, Policy,
    Scope, Status, Tool, ToolKind, View,
};

/// Everything that a decision needs.
pub(crate) struct World {
    pub(crate) table: RuleTable,
    pub(crate) caller: Caller,
    pub(crate) tool: Tool,
    pub(crate) documents: Vec<Document>,
    pub(crate) policy: Policy,
    pub(crate) settings: Settings,
    pub(crate) now: Instant,
}

impl World {
    /// Alice in project `essay` of `acme`, calling an MCP tool; nothing on record; the bundled rules.
    pub(crate) fn new() -> Self {
        Self {
            table: RuleTable::bundled(Options::BUNDLED),
            caller: caller("alice"),
            tool: tool(ToolKind::Mcp),
            documents: Vec::new(),
            policy: Policy::default(),
            settings: Settings::default(),
            now: start(),
        }
    }

    /// The same with a tenant's rules over the bundled ones.
    pub(crate) fn with_rules(yaml: &str) -> Self {
        Self { table: table(yaml), ..Self::new() }
    }

    pub(crate) fn decide(&self, failure: &Failure) -> Decision {
        self.decide_for(&self.caller, failure)
    }

    pub(crate) fn decide_for(&self, caller: &Caller, failure: &Failure) -> Decision {
        let containers: Vec<_> = caller.cascade(self.tool.provider.as_deref()).collect();
        let mine = self
            .documents
            .iter()
            .filter(|it| it.key.tool_name == self.tool.name && containers.contains(&it.key.container()));
        let view = View { cascade: Cascade::new(mine), user_id: caller.user_id.as_deref() };
        decide(&self.table, caller, &self.tool, failure, &view, &self.policy, &self.settings, self.now)
    }

    /// Decides and applies the effects.
    pub(crate) fn fail(&mut self, failure: &Failure) -> Decision {
        let decision = self.decide(failure);
        self.apply(&decision.effects);
        decision
    }

    pub(crate) fn fail_for(&mut self, caller: &Caller, failure: &Failure) -> Decision {
        let decision = self.decide_for(caller, failure);
        self.apply(&decision.effects);
        decision
    }

    pub(crate) fn apply(&mut self, effects: &[Effect]) {
        for effect in effects {
            let now = self.now;
            let at = match self.documents.iter().position(|it| it.key == effect.key) {
                Some(at) => at,
                None => {
                    self.documents.push(Document::new(effect.key.clone(), now));
                    self.documents.len() - 1
                }
            };
            transition::apply(&mut self.documents[at], &effect.kind, &self.policy, now);
        }
    }

    pub(crate) fn advance(&mut self, by: TimeDelta) {
        self.now += by;
    }

    pub(crate) fn document(&self, scope: Scope) -> Option<&Document> {
        self.documents.iter().find(|it| it.key.scope == scope)
    }

    pub(crate) fn key(&self, scope: Scope) -> DocumentKey {
        self.caller.container(scope, Some("provider")).unwrap().document(&self.tool.name)
    }
}

pub(crate) fn start() -> Instant {
    "2026-11-30T14:00:00Z".parse().unwrap()
}

pub(crate) fn caller(user: &str) -> Caller {
    Caller {
        tenant_id: "acme".to_owned(),
        project_id: "essay".to_owned(),
        user_id: Some(user.to_owned()),
        session_id: Some(format!("session-of-{user}")),
        locale: None,
    }
}

pub(crate) fn tool(kind: ToolKind) -> Tool {
    Tool { name: "search".to_owned(), kind: Some(kind), ..Tool::default() }
}

pub(crate) fn status(status: u16) -> Failure {
    Failure { http_status: Some(status), ..Failure::default() }
}

pub(crate) fn typed(exception_type: &str, message: &str) -> Failure {
    Failure {
        exception_type: Some(exception_type.to_owned()),
        message: message.to_owned(),
        ..Failure::default()
    }
}

pub(crate) fn with_header(failure: Failure, name: &str, value: &str) -> Failure {
    Failure { headers: vec![(name.to_owned(), value.to_owned())], ..failure }
}

pub(crate) fn layer(kind: LayerKind, yaml: &str) -> ParsedLayer {
    parse(kind, &format!("{kind}.yaml"), yaml)
}

/// The bundled rules under a tenant's, which must be without findings.
pub(crate) fn table(yaml: &str) -> RuleTable {
    let layer = layer(LayerKind::Tenant, yaml);
    assert_eq!(layer.diagnostics, []);
    RuleTable::build([&layer], Options::BUNDLED)
}

/// The statuses that a decision writes, with scope and class.
pub(crate) fn marks(decision: &Decision) -> Vec<(Scope, Status, Classification)> {
    let marks = decision.effects.iter().filter_map(|it| match &it.kind {
        EffectKind::Mark(Mark { status, classification, .. }) => {
            Some((it.key.scope, *status, *classification))
        }
        _ => None,
    });
    marks.collect()
}

/// What a decision writes but notes of users' failures, which are no verdicts.
pub(crate) fn verdicts(decision: &Decision) -> impl Iterator<Item = &Effect> {
    decision.effects.iter().filter(|it| !matches!(it.kind, EffectKind::NoteLikeFailure { .. }))
}

/// The cooldowns that a decision opens: scope, signature, user.
pub(crate) fn opened(decision: &Decision) -> Vec<(Scope, &str, Option<&str>)> {
    let opened = decision.effects.iter().filter_map(|it| match &it.kind {
        EffectKind::OpenCooldown { signature, user_id, .. } => {
            Some((it.key.scope, signature.as_str(), user_id.as_deref()))
        }
        _ => None,
    });
    opened.collect()
}
