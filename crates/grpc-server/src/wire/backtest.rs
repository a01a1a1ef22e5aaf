//! Backtests of a rule layer: the request, strictly, and the answer.

use agrajag_proto::v1;
use health_model::key::DEFAULT_PROJECT;
use health_service::backtest::{BacktestAnswer, BacktestRequest, Example, Outcome, RuleChange};
use ports::RuleLayerKey;

use super::fields::{MAX_ID, Violations, given};
use super::time::timestamp;
use super::{rules, words};
use crate::api::revision;
use crate::error::Error;

pub(crate) fn request(it: v1::BacktestRulesRequest) -> Result<BacktestRequest, Error> {
    let mut violations = Violations::default();
    violations.required("tenant_id", &it.tenant_id, MAX_ID);
    violations.optional("project_id", &it.project_id, MAX_ID);
    let kind = v1::RuleOrigin::try_from(it.layer);
    let is_of_project = match kind {
        Ok(v1::RuleOrigin::Unspecified) => !it.project_id.is_empty(),
        Ok(v1::RuleOrigin::Tenant) => false,
        Ok(v1::RuleOrigin::Project) => true,
        Ok(v1::RuleOrigin::Bundled | v1::RuleOrigin::Pack) | Err(_) => {
            let shown = kind.map_or_else(|_| it.layer.to_string(), |kind| kind.as_str_name().to_owned());
            violations
                .push("layer", format!("is {shown}; give TENANT or PROJECT: what ships cannot be replaced"));
            false
        }
    };
    violations.finish()?;
    rules::check_length(&it.yaml, "yaml")?;
    let project_id = given(it.project_id);
    let own = is_of_project.then(|| project_id.clone().unwrap_or_else(|| DEFAULT_PROJECT.to_owned()));
    Ok(BacktestRequest {
        layer: RuleLayerKey { tenant_id: it.tenant_id, project_id: own },
        yaml: it.yaml,
        project_id,
        limit: usize::try_from(it.limit).ok().filter(|it| *it > 0),
    })
}

pub(crate) fn response(it: BacktestAnswer) -> v1::BacktestRulesResponse {
    v1::BacktestRulesResponse {
        n_replayed: fit(it.n_replayed),
        n_unchanged: fit(it.n_unchanged),
        changes: it.changes.into_iter().map(change).collect(),
        diagnostics: it.diagnostics.iter().map(rules::diagnostic).collect(),
        n_cut: fit(it.n_cut),
        n_drifted: fit(it.n_drifted),
        n_unreadable: fit(it.n_unreadable),
        oldest_at: it.oldest.map(timestamp),
        newest_at: it.newest.map(timestamp),
        journal_enabled: it.is_journal_on,
        revision: revision(it.revision),
        warnings: Vec::new(),
    }
}

fn change(it: RuleChange) -> v1::BacktestChange {
    v1::BacktestChange {
        before: Some(outcome(it.before)),
        after: Some(outcome(it.after)),
        count: fit(it.count),
        parts: it.parts.into_iter().map(str::to_owned).collect(),
        examples: it.examples.into_iter().map(example).collect(),
    }
}

fn outcome(it: Outcome) -> v1::BacktestOutcome {
    let classification = words::wire_classification(it.classification).into();
    v1::BacktestOutcome { rule_id: it.rule_id, classification }
}

fn example(it: Example) -> v1::BacktestExample {
    v1::BacktestExample {
        at: Some(timestamp(it.at)),
        project_id: it.project_id,
        tool_name: it.tool_name,
        excerpt: it.excerpt,
    }
}

fn fit(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(project: &str, layer: i32) -> Result<BacktestRequest, Error> {
        request(v1::BacktestRulesRequest {
            tenant_id: "acme".to_owned(),
            project_id: project.to_owned(),
            layer,
            yaml: "patterns: []".to_owned(),
            limit: 0,
        })
    }

    #[test]
    fn the_layer_follows_from_the_project_unless_it_is_named() {
        let (tenant, project) = (v1::RuleOrigin::Tenant as i32, v1::RuleOrigin::Project as i32);
        for (given, layer, own, replayed) in [
            ("", 0, None, None),
            ("essay", 0, Some("essay"), Some("essay")),
            ("essay", tenant, None, Some("essay")),
            ("essay", project, Some("essay"), Some("essay")),
            ("", project, Some("default"), None),
        ] {
            let it = asked(given, layer).unwrap();
            let key = (it.layer.project_id.as_deref(), it.project_id.as_deref(), it.limit);
            assert_eq!(key, (own, replayed, None), "{given} {layer}");
        }
    }

    #[test]
    fn what_ships_is_no_layer_to_replace() {
        for layer in [v1::RuleOrigin::Bundled as i32, v1::RuleOrigin::Pack as i32, 99] {
            let Err(Error::InvalidField(found)) = asked("", layer) else { panic!("{layer} is taken") };
            assert_eq!(found[0].field, "layer");
        }
    }
}
