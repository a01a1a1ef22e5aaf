//! Explain: a dry run of Check. What would match and why, and what would be written. Writes nothing (DESIGN §5).

use std::sync::Arc;

use checker::{Diagnostic, RuleExplanation};
use health_model::{Caller, Effect, Failure, Tool, Verdict, View as CallerView};
use ports::{Revision, RuleLayerKey};

use crate::Service;
use crate::error::Error;
use crate::rules::Validated;
use crate::settings::Settings;

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
    ///
    /// # Errors
    ///
    /// [`Error::ShuttingDown`].
    pub async fn explain(&self, request: ExplainRequest) -> Result<ExplainAnswer, Error> {
        let now = self.clock.now();
        let read = self.read(&request.caller, request.tool.provider.as_deref(), None, false).await;
        // Every rule is tested, and those of a text are compiled first.
        let service = self.clone();
        off_the_runtime(move || {
            let ExplainRequest { caller, tool, failure, rules_yaml } = request;
            let (table, diagnostics) = match &rules_yaml {
                None => (service.rules.table(&caller.tenant_id, &caller.project_id), Vec::new()),
                Some(text) => {
                    let key = RuleLayerKey {
                        tenant_id: caller.tenant_id.clone(),
                        project_id: Some(caller.project_id.clone()),
                    };
                    let (parsed, table) = service.rules.with_layer(&key, text);
                    (Arc::new(table), parsed.diagnostics)
                }
            };
            let cascade = read.containers.cascade(&tool.name);
            let view = CallerView { cascade, user_id: caller.user_id.as_deref() };
            let Settings { policy, decide, .. } = &*service.settings;
            let decision = checker::decide(&table, &caller, &tool, &failure, &view, policy, decide, now);
            ExplainAnswer {
                verdict: decision.verdict,
                rules: checker::explain(&table, &tool, &failure).rules,
                diagnostics,
                effects: decision.effects,
                enqueues: decision.job.is_some(),
                revision: service.view.position(),
                stale: read.stale,
            }
        })
        .await
    }

    /// What a rule layer's text would be told. Writes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::ShuttingDown`].
    pub async fn validate_rules(&self, key: RuleLayerKey, text: String) -> Result<Validated, Error> {
        let rules = Arc::clone(&self.rules);
        off_the_runtime(move || rules.validate(&key, &text)).await
    }
}

/// Runs what may take long where no request waits for the thread.
pub(crate) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::ShuttingDown)
}
