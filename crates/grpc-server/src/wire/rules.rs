//! Rules as the wire shows them: layers, findings, effective lists, dry runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agrajag_proto::v1;
use checker::{Diagnostic, Entry, LayerKind, Outcome, RuleExplanation, Severity};
use health_model::key::DEFAULT_PROJECT;
use health_model::{Effect, EffectKind};
use health_service::rules::{FileLayer, LayerInUse, Validated};
use health_service::{Rules, Service};
use ports::{RuleLayerKey, RuleLayerRecord};

use super::caller::wire_key;
use super::fields::{MAX_ID, Violations, Warnings, given};
use super::time::timestamp;
use super::{verdict, words};
use crate::api::revision;
use crate::config::{Config, Packs};
use crate::error::{Error, Violation};

/// Bytes of a layer.
pub(crate) const MAX_LAYER: usize = checker::limits::MAX_FILE_BYTES;

/// The rules that ship, without any layer yet.
pub(crate) fn registry(config: &Config) -> Arc<Rules> {
    Arc::new(Rules::new(options(config)))
}

/// Takes what the documents directory holds.
pub(crate) fn take_files(rules: &Rules, files: Vec<FileLayer>) {
    let n = files.len();
    rules.set_file_layers(files);
    tracing::info!(n_layers = n, "rule files were read");
}

/// Errors and warnings in all layers.
pub(crate) fn counts(service: &Service) -> (u64, u64) {
    let (errors, warnings) = service.rules().n_findings();
    (errors as u64, warnings as u64)
}

/// How many rules are skipped, by layer; layers without such rules are left out.
pub(crate) fn skipped(service: &Service) -> BTreeMap<RuleLayerKey, usize> {
    let mut skipped = BTreeMap::new();
    for layer in service.rules().layers() {
        let n = n_skipped(&layer.diagnostics);
        if n > 0 {
            *skipped.entry(layer.key).or_default() += n;
        }
    }
    skipped
}

/// A layer's text that is longer than any parser may see.
pub(crate) fn check_length(yaml: &str, field: &str) -> Result<(), Error> {
    let mut violations = Violations::default();
    if yaml.is_empty() {
        violations.push(field, "is empty; give the text of the layer");
    } else if yaml.len() > MAX_LAYER {
        violations.push(field, format!("has {} bytes; at most {MAX_LAYER} are allowed", yaml.len()));
    }
    violations.finish()
}

/// A finding of a layer that is refused, as one wrong field.
pub(crate) fn violation(it: &Diagnostic) -> Violation {
    let field = if it.field.is_empty() { "yaml".to_owned() } else { format!("yaml:{}", it.field) };
    let rule = it.rule_id.as_ref().map(|it| format!("rule `{it}`: ")).unwrap_or_default();
    let place = if it.line > 0 { format!("line {}: ", it.line) } else { String::new() };
    Violation { field, message: format!("{place}{rule}{}", it.message) }
}

/// Explain: the verdict, every rule, what would be written.
pub(crate) async fn explain(
    service: &Service,
    request: health_service::explain::ExplainRequest,
    warnings: Warnings,
) -> Result<v1::ExplainResponse, Error> {
    if let Some(text) = &request.rules_yaml {
        check_length(text, "rules_yaml")?;
    }
    let answer = service.explain(request).await?;
    let mut writes: Vec<v1::PlannedWrite> = answer.effects.iter().map(planned).collect();
    if answer.enqueues {
        writes.push(v1::PlannedWrite { key: None, what: "a diagnosis is asked for".to_owned() });
    }
    Ok(v1::ExplainResponse {
        verdict: Some(verdict::verdict(&answer.verdict, true)),
        rules: answer.rules.iter().enumerate().map(explanation).collect(),
        diagnostics: answer.diagnostics.iter().map(diagnostic).collect(),
        writes,
        revision: revision(answer.revision),
        stale: answer.stale,
        warnings: warnings.into_vec(),
    })
}

/// The list in force for a tenant and project.
pub(crate) fn effective(
    service: &Service,
    it: v1::GetEffectiveRulesRequest,
) -> Result<v1::GetEffectiveRulesResponse, Error> {
    let mut violations = Violations::default();
    violations.optional("tenant_id", &it.tenant_id, MAX_ID);
    violations.optional("project_id", &it.project_id, MAX_ID);
    violations.finish()?;
    let project = given(it.project_id).unwrap_or_else(|| DEFAULT_PROJECT.to_owned());
    let table = service.rules().table(&it.tenant_id, &project);
    let mut diagnostics: Vec<Diagnostic> = service
        .rules()
        .layers()
        .into_iter()
        .filter(|layer| layer.key.tenant_id == it.tenant_id)
        .filter(|layer| layer.key.project_id.as_ref().is_none_or(|it| *it == project))
        .flat_map(|it| it.diagnostics)
        .collect();
    for it in table.diagnostics() {
        if !diagnostics.contains(it) {
            diagnostics.push(it.clone());
        }
    }
    Ok(v1::GetEffectiveRulesResponse {
        rules: table.entries().iter().enumerate().map(|(at, it)| rule(at, it, table.diagnostics())).collect(),
        diagnostics: diagnostics.iter().map(diagnostic).collect(),
        revision: revision(service.revision()),
        stale: service.stats().stale,
        warnings: Vec::new(),
        shadow_changes: service
            .shadow_changes(&it.tenant_id, Some(&project))
            .into_iter()
            .map(|(change, count)| v1::ShadowChange {
                rule_id: change.rule_id,
                classification: words::wire_classification(change.classification).into(),
                shadow_rule_id: change.shadow_rule_id,
                shadow_classification: words::wire_classification(change.shadow_classification).into(),
                count,
            })
            .collect(),
    })
}

/// What a layer's text would be told. A text that cannot be used is an answer here, not an error.
pub(crate) async fn validate(
    service: &Service,
    it: v1::ValidateRulesRequest,
) -> Result<v1::ValidateRulesResponse, Error> {
    let mut violations = Violations::default();
    violations.optional("tenant_id", &it.tenant_id, MAX_ID);
    violations.optional("project_id", &it.project_id, MAX_ID);
    violations.finish()?;
    check_length(&it.yaml, "yaml")?;
    let key = RuleLayerKey { tenant_id: it.tenant_id, project_id: given(it.project_id) };
    let Validated { n_rules, diagnostics, .. } = service.validate_rules(key, it.yaml).await?;
    let fit = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Ok(v1::ValidateRulesResponse {
        valid: diagnostics.iter().all(|it| it.severity != Severity::Error),
        n_rules: fit(n_rules),
        n_skipped: fit(n_skipped(&diagnostics)),
        diagnostics: diagnostics.iter().map(diagnostic).collect(),
        revision: revision(service.revision()),
        warnings: Vec::new(),
    })
}

/// A layer of the store.
pub(crate) fn stored_layer(it: RuleLayerRecord, found: &Validated, with_text: bool) -> v1::RuleLayer {
    let fit = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    v1::RuleLayer {
        n_rules: fit(found.n_rules),
        shadow: found.is_shadow,
        n_skipped: fit(n_skipped(&found.diagnostics)),
        diagnostics: found.diagnostics.iter().map(diagnostic).collect(),
        tenant_id: it.key.tenant_id,
        project_id: it.key.project_id.unwrap_or_default(),
        source: v1::RuleLayerSource::Store.into(),
        updated_at: Some(timestamp(it.updated_at)),
        by: it.updated_by,
        yaml: if with_text { it.text } else { String::new() },
        version: it.version,
    }
}

/// Every layer of a tenant: those in use, with what the store says besides.
pub(crate) fn layers(
    service: &Service,
    tenant_id: &str,
    stored: Vec<(RuleLayerRecord, Validated)>,
    with_text: bool,
) -> Vec<v1::RuleLayer> {
    let mut layers: Vec<v1::RuleLayer> = service
        .rules()
        .layers()
        .iter()
        .filter(|it| it.key.tenant_id == tenant_id && !it.is_stored)
        .map(file_layer)
        .collect();
    layers.extend(stored.into_iter().map(|(it, found)| stored_layer(it, &found, with_text)));
    // Of one level the store's, which wins, before the file's.
    layers.sort_by(|a, b| (&a.project_id, b.source).cmp(&(&b.project_id, a.source)));
    layers
}

fn file_layer(it: &LayerInUse) -> v1::RuleLayer {
    v1::RuleLayer {
        tenant_id: it.key.tenant_id.clone(),
        project_id: it.key.project_id.clone().unwrap_or_default(),
        source: v1::RuleLayerSource::File.into(),
        n_rules: u32::try_from(it.n_rules).unwrap_or(u32::MAX),
        shadow: it.is_shadow,
        n_skipped: u32::try_from(n_skipped(&it.diagnostics)).unwrap_or(u32::MAX),
        diagnostics: it.diagnostics.iter().map(diagnostic).collect(),
        ..v1::RuleLayer::default()
    }
}

/// How many rules the errors are about: a finding names its rule by the place in the list.
fn n_skipped(diagnostics: &[Diagnostic]) -> usize {
    diagnostics
        .iter()
        .filter(|it| it.severity == Severity::Error)
        .filter_map(|it| it.field.split_once(']').map(|(rule, _)| rule))
        .collect::<BTreeSet<_>>()
        .len()
}

pub(super) fn diagnostic(it: &Diagnostic) -> v1::RuleDiagnostic {
    let severity = match it.severity {
        Severity::Error => v1::RuleSeverity::Error,
        Severity::Warning => v1::RuleSeverity::Warning,
    };
    v1::RuleDiagnostic {
        severity: severity.into(),
        file: it.source.clone(),
        line: it.line,
        column: it.column,
        rule_id: it.rule_id.clone().unwrap_or_default(),
        field: it.field.clone(),
        message: it.message.clone(),
    }
}

const fn origin(it: LayerKind) -> v1::RuleOrigin {
    match it {
        LayerKind::Bundled => v1::RuleOrigin::Bundled,
        LayerKind::Pack => v1::RuleOrigin::Pack,
        LayerKind::Tenant => v1::RuleOrigin::Tenant,
        LayerKind::Project => v1::RuleOrigin::Project,
    }
}

/// One effect in words, for people.
fn planned(it: &Effect) -> v1::PlannedWrite {
    let until = |at: Option<health_model::Instant>| {
        at.map(|it| format!(" until {}", it.format("%Y-%m-%d %H:%M:%S UTC"))).unwrap_or_default()
    };
    let of = |user: &Option<String>| user.as_ref().map(|it| format!(" of user `{it}`")).unwrap_or_default();
    let what = match &it.kind {
        EffectKind::Mark(mark) => {
            format!("status {} ({}){}", mark.status, mark.classification, until(mark.expected_recovery_at))
        }
        EffectKind::OpenCooldown { signature, user_id, .. } => {
            format!("cooldown of `{signature}`{}", of(user_id))
        }
        EffectKind::ClearCooldown { signature, user_id } | EffectKind::EndCooldown { signature, user_id } => {
            format!("end of the cooldown of `{signature}`{}", of(user_id))
        }
        EffectKind::Clear => "nothing is left but a hold".to_owned(),
        EffectKind::SetHold(hold) => format!("hold {}{}", hold.status, until(hold.until)),
        EffectKind::ReleaseHold => "the hold ends".to_owned(),
        EffectKind::ConnectionEvent { connection, .. } => {
            format!("connection {}", if connection.open { "opened" } else { "closed" })
        }
        EffectKind::RecordDiagnosis(it) => format!("diagnosis {}", it.classification),
        EffectKind::NoteLikeFailure { signature, .. } => {
            format!("note of one user's `{signature}`, in case others fail alike")
        }
        EffectKind::ForgetLikeFailures { .. } | EffectKind::ForgetUser { .. } => {
            "end of notes of users' failures".to_owned()
        }
    };
    v1::PlannedWrite { key: Some(wire_key(&it.key)), what }
}

fn options(config: &Config) -> checker::Options {
    checker::Options { packs: config.rules.packs == Packs::All, ..checker::Options::default() }
}

/// What the table says of rules that are never reached begins so; the rule that hides it follows.
const HIDDEN_BY: &str = "never reached: rule `";

fn rule(at: usize, entry: &Entry, found: &[Diagnostic]) -> v1::Rule {
    let Entry { rule, layer, source, .. } = entry;
    let shadowed_by = found
        .iter()
        .filter(|it| it.rule_id.as_deref() == Some(rule.id.as_str()))
        .filter_map(|it| it.message.strip_prefix(HIDDEN_BY)?.split_once('`'))
        .map(|(id, _)| id.to_owned())
        .collect();
    v1::Rule {
        position: position(at),
        rule_id: rule.id.clone(),
        origin: origin(*layer).into(),
        signature: rule.signature.clone(),
        classification: words::wire_classification(rule.classification).into(),
        locked: rule.locked,
        shadowed_by,
        yaml: super::rule_yaml::write(rule),
        source: source.to_string(),
        line: rule.line,
    }
}

fn explanation((at, it): (usize, &RuleExplanation)) -> v1::RuleExplanation {
    let (matched_fields, first_mismatch): (Vec<_>, _) = match &it.outcome {
        Outcome::Matched { evidence } => (evidence.iter().map(verdict::evidence).collect(), None),
        Outcome::Failed { field, wanted, seen, held } => {
            let mismatch =
                v1::Evidence { field: (*field).to_owned(), expected: wanted.clone(), seen: seen.clone() };
            (held.iter().map(verdict::evidence).collect(), Some(mismatch))
        }
    };
    v1::RuleExplanation {
        position: position(at),
        rule_id: it.rule_id.clone(),
        origin: origin(it.layer).into(),
        signature: it.signature.clone(),
        classification: words::wire_classification(it.classification).into(),
        matched: first_mismatch.is_none(),
        selected: it.decides,
        n_matched: u32::try_from(matched_fields.len()).unwrap_or(u32::MAX),
        matched_fields,
        first_mismatch,
    }
}

fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX).saturating_add(1)
}

/// The packs in force, in their order.
pub(crate) fn packs(service: &Service) -> Vec<String> {
    let table = service.rules().table("", DEFAULT_PROJECT);
    let mut packs: Vec<String> = Vec::new();
    for entry in table.entries().iter().filter(|it| it.layer == LayerKind::Pack) {
        let name = entry.source.trim_end_matches(".yaml");
        if packs.iter().all(|it| it != name) {
            packs.push(name.to_owned());
        }
    }
    packs
}

#[cfg(test)]
mod tests;
