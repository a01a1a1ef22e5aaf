//! Explain: a dry run of Check. What would match and why, and what would be written. Writes nothing (DESIGN §5).

use checker::{Diagnostic, RuleExplanation};
use health_model::{Caller, Effect, Failure, Tool, Verdict, View as CallerView};
use ports::{Revision, RuleLayerKey};

use crate::Service;

/// What is asked.
#[derive(Debug, Clone)]
pub struct ExplainRequest {
    /// Who called.
    pub caller: Caller,
    /// What was called.
    pub tool: Tool,
    /// How it failed.
    pub failure: Failure,
    /// A rule layer to try on top of those in force.
    pub rules_yaml: Option<String>,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct ExplainAnswer {
    /// The verdict that Check would give.
    pub verdict: Verdict,
    /// Every rule, in order.
    pub rules: Vec<RuleExplanation>,
    /// What is wrong with the layer that was tried.
    pub diagnostics: Vec<Diagnostic>,
    /// What Check would write.
    pub effects: Vec<Effect>,
    /// It would also ask for a diagnosis.
    pub enqueues: bool,
    /// What the answer has seen.
    pub revision: Option<Revision>,
    /// The answer rests on a copy that may be out of date.
    pub stale: bool,
}

impl Service {
    /// Explains one failed call.
    pub async fn explain(&self, request: ExplainRequest) -> ExplainAnswer {
        let now = self.clock.now();
        let ExplainRequest { caller, tool, failure, rules_yaml } = request;
        let read = self.read(&caller, tool.provider.as_deref(), None, false).await;
        let (table, diagnostics) = match &rules_yaml {
            None => (self.rules.table(&caller.tenant_id, &caller.project_id), Vec::new()),
            Some(text) => {
                let key = RuleLayerKey {
                    tenant_id: caller.tenant_id.clone(),
                    project_id: Some(caller.project_id.clone()),
                };
                let (parsed, table) = self.rules.with_layer(&key, text);
                (std::sync::Arc::new(table), parsed.diagnostics)
            }
        };
        let cascade = read.containers.cascade(&tool.name);
        let view = CallerView { cascade, user_id: caller.user_id.as_deref() };
        let policy = &self.settings.policy;
        let decision =
            checker::decide(&table, &caller, &tool, &failure, &view, policy, &self.settings.decide, now);
        ExplainAnswer {
            verdict: decision.verdict,
            rules: checker::explain(&table, &tool, &failure).rules,
            diagnostics,
            effects: decision.effects,
            enqueues: decision.job.is_some(),
            revision: self.view.position(),
            stale: read.stale,
        }
    }
}
