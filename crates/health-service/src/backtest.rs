//! Backtest: the journal of failures, judged by the rules in force and by the rules with one layer replaced. Writes nothing.
//!
//! Each failure is judged as if nothing were on record for its tool, at the time of its report, for a caller who has every
//! id: what is compared are the rules alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use checker::limits::{MAX_SHOWN_BYTES, head};
use checker::{Decision, Diagnostic, RuleTable};
use health_model::vocabulary::Classification;
use health_model::{EffectKind, Failure, Instant, Tool};
use ports::{FailureEntry, Revision, RuleLayerKey};

use crate::Service;
use crate::error::Error;
use crate::journal::record;
use crate::rules::Replaced;
use crate::settings::Settings;

/// Failures in one read of the store.
const PAGE: usize = 1_000;

/// Examples of one change.
const MAX_EXAMPLES: usize = 5;

/// What is asked.
#[derive(Debug, Clone)]
pub struct BacktestRequest {
    /// The layer to replace.
    pub layer: RuleLayerKey,
    /// Its text instead.
    pub yaml: String,
    /// Replay failures of this project alone. A layer of a project never concerns others.
    pub project_id: Option<String>,
    /// Replay at most so many failures, the latest ones; `None` = all.
    pub limit: Option<usize>,
}

/// The answer.
#[derive(Debug, Clone, Default)]
pub struct BacktestAnswer {
    /// Failures judged twice.
    pub n_replayed: usize,
    /// Of these, judged alike.
    pub n_unchanged: usize,
    /// Of these, cut when they were recorded: rules may see less of them than they saw then.
    pub n_cut: usize,
    /// Of these, decided by another rule in force now than when they were reported.
    pub n_drifted: usize,
    /// Entries passed over because this program cannot read them.
    pub n_unreadable: usize,
    /// When the first replayed failure was reported.
    pub oldest: Option<Instant>,
    /// When the last one was.
    pub newest: Option<Instant>,
    /// What changes, the most frequent first.
    pub changes: Vec<RuleChange>,
    /// What is wrong with the layer. With a text that cannot be used at all nothing is replayed.
    pub diagnostics: Vec<Diagnostic>,
    /// The server keeps a journal.
    pub is_journal_on: bool,
    /// What the answer has seen.
    pub revision: Option<Revision>,
}

/// Who decided, and what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    /// The rule; empty where the dispatch code alone decided.
    pub rule_id: String,
    /// The class.
    pub classification: Classification,
}

/// Failures that change alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleChange {
    /// Under the rules in force.
    pub before: Outcome,
    /// Under the rules asked about.
    pub after: Outcome,
    /// How many.
    pub count: usize,
    /// Parts of the verdict that differ for at least one of them, as `rule`, `classification`, `signature`, `fault`,
    /// `remedy`, `retry`, `scope`, `cooldown`, `status`.
    pub parts: Vec<&'static str>,
    /// Some of them, the latest first.
    pub examples: Vec<Example>,
}

/// One of the failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// When it was reported.
    pub at: Instant,
    /// The project of the call.
    pub project_id: String,
    /// The tool.
    pub tool_name: String,
    /// The beginning of what it says, masked.
    pub excerpt: String,
}

impl Service {
    /// What would change with another text for a rule layer, measured on the failures of the tenant's journal.
    ///
    /// # Errors
    ///
    /// The store's failure.
    pub async fn backtest(&self, request: BacktestRequest) -> Result<BacktestAnswer, Error> {
        let BacktestRequest { layer, yaml, project_id, limit } = request;
        // So that what was reported before is among it.
        self.flush_journal().await;
        let rules = Arc::clone(self.rules());
        let replaced = {
            let layer = layer.clone();
            tokio::task::spawn_blocking(move || rules.replacing(&layer, &yaml)).await
        };
        let replaced = replaced.map_err(|_| Error::ShuttingDown)?;
        let mut answer = BacktestAnswer {
            diagnostics: replaced.diagnostics.clone(),
            is_journal_on: self.journal.is_on(),
            revision: self.view.position(),
            ..BacktestAnswer::default()
        };
        if replaced.is_refused {
            return Ok(answer);
        }
        let project_id = layer.project_id.clone().or(project_id);
        let mut replay =
            Replay { service: self.clone(), tenant_id: layer.tenant_id, replaced, changes: BTreeMap::new() };
        let mut left = limit.unwrap_or(usize::MAX);
        let mut before = None;
        while left > 0 {
            let size = left.min(PAGE);
            let page = self.store.list_failures(&replay.tenant_id, project_id.as_deref(), before, size);
            let page = self.admin(page).await?;
            answer.n_unreadable += page.n_unreadable;
            let entries = page.entries;
            let is_last = entries.len() < size;
            let Some(last) = entries.last() else { break };
            before = Some(last.place());
            left -= entries.len();
            let judging = tokio::task::spawn_blocking(move || {
                for entry in entries {
                    replay.entry(entry, &mut answer);
                }
                (replay, answer)
            });
            (replay, answer) = judging.await.map_err(|_| Error::ShuttingDown)?;
            if is_last {
                break;
            }
        }
        answer.changes = replay.changes.into_values().collect();
        answer.changes.sort_by_key(|it| std::cmp::Reverse(it.count));
        Ok(answer)
    }
}

/// A replay under way.
struct Replay {
    service: Service,
    tenant_id: String,
    replaced: Replaced,
    changes: BTreeMap<(Outcome, Outcome), RuleChange>,
}

impl Replay {
    fn entry(&mut self, entry: FailureEntry, answer: &mut BacktestAnswer) {
        let record = match record::read(&entry.content) {
            Ok(record) => record,
            Err(error) => {
                tracing::warn!(
                    id = %entry.id,
                    error = &error as &dyn std::error::Error,
                    "an entry of the journal of failures cannot be read"
                );
                answer.n_unreadable += 1;
                return;
            }
        };
        answer.n_replayed += 1;
        answer.n_cut += usize::from(record.is_cut);
        answer.newest = answer.newest.max(Some(entry.at));
        answer.oldest = Some(answer.oldest.map_or(entry.at, |it| it.min(entry.at)));
        let reported = record.verdict.clone();
        let (tool, failure) = record.into_parts();
        let current = self.service.rules().table(&self.tenant_id, &entry.project_id);
        let old = self.judge(&current, &entry, &tool, &failure);
        let changed = self.replaced.table(&entry.project_id);
        let new = self.judge(&changed, &entry, &tool, &failure);
        answer.n_drifted += usize::from(old.verdict.rule_id != reported.rule_id);
        let parts = differing(&old, &new);
        if parts.is_empty() {
            answer.n_unchanged += 1;
            return;
        }
        let (before, after) = (outcome(&old), outcome(&new));
        let change = self.changes.entry((before.clone(), after.clone())).or_insert_with(|| RuleChange {
            before,
            after,
            count: 0,
            parts: Vec::new(),
            examples: Vec::new(),
        });
        change.count += 1;
        for part in parts {
            if !change.parts.contains(&part) {
                change.parts.push(part);
            }
        }
        if change.examples.len() < MAX_EXAMPLES {
            change.examples.push(Example {
                at: entry.at,
                project_id: entry.project_id,
                tool_name: tool.name,
                excerpt: excerpt(&failure),
            });
        }
    }

    /// As Check judges it, with nothing on record.
    fn judge(&self, table: &RuleTable, entry: &FailureEntry, tool: &Tool, failure: &Failure) -> Decision {
        let Settings { policy, decide, .. } = self.service.settings();
        let FailureEntry { tenant_id, project_id, at, .. } = entry;
        checker::decide_alone(table, tenant_id, project_id, tool, failure, policy, decide, *at)
    }
}

fn outcome(decision: &Decision) -> Outcome {
    Outcome { rule_id: decision.verdict.rule_id.clone(), classification: decision.verdict.classification }
}

/// The parts of two verdicts that differ.
fn differing(old: &Decision, new: &Decision) -> Vec<&'static str> {
    let marks = |it: &Decision| -> Vec<_> {
        let mark = |it: &health_model::Effect| match &it.kind {
            EffectKind::Mark(mark) => Some((it.key.scope, mark.status)),
            _ => None,
        };
        it.effects.iter().filter_map(mark).collect()
    };
    let (a, b) = (&old.verdict, &new.verdict);
    let until = |it: &health_model::Verdict| it.cooldown.as_ref().map(|it| (it.scope, it.until));
    [
        ("rule", a.rule_id != b.rule_id),
        ("classification", a.classification != b.classification),
        ("signature", a.signature != b.signature),
        ("fault", a.fault != b.fault),
        ("remedy", a.remedy != b.remedy),
        ("retry", (a.retry_at, a.retry_basis) != (b.retry_at, b.retry_basis)),
        ("scope", a.scope != b.scope),
        ("cooldown", until(a) != until(b)),
        ("status", marks(old) != marks(new)),
    ]
    .into_iter()
    .filter_map(|(part, differs)| differs.then_some(part))
    .collect()
}

/// What tells the failure from others, on one line. It is masked already.
fn excerpt(failure: &Failure) -> String {
    let stderr = failure.stderr_tail.as_deref().unwrap_or_default();
    let causes = failure.causes.iter().map(|it| it.message.as_str());
    let names = [&failure.error_code, &failure.exception_type].into_iter().flatten().map(String::as_str);
    let texts =
        [failure.message.as_str(), failure.body.as_str(), stderr].into_iter().chain(causes).chain(names);
    let text = texts.map(str::trim).find(|it| !it.is_empty()).unwrap_or_default();
    match failure.http_status {
        Some(status) if text.is_empty() => format!("status {status}"),
        _ => head(&text.replace(['\n', '\r'], " "), MAX_SHOWN_BYTES).to_owned(),
    }
}
