//! Messages as text for people: the parts that several commands show.
//!
//! Pure: message in, table or lines out. What a field means stands in the `.proto` files; here is only how it reads.

use agrajag_proto::v1;
use health_model::Classification;

use crate::args::time::shown;
use crate::output::printable;
use crate::table::Table;
use crate::wire::word;

/// What every verdict begins with: the tool, its class, its signature.
pub(crate) fn headline(tool: &str, verdict: &v1::Verdict) -> String {
    let class = word::<v1::Classification>(verdict.classification);
    printable(&format!("{tool}: {class} ({})", verdict.signature))
}

/// A verdict as a list of name and value, without class and signature: those stand in its headline. With `full` the
/// fields that made the rule match, too.
pub(crate) fn verdict(verdict: &v1::Verdict, full: bool) -> Table {
    let mut table = Table::list();
    table
        .entry("fault", &word::<v1::Fault>(verdict.fault))
        .entry("remedy", &word::<v1::Remedy>(verdict.remedy))
        .entry("retry", &retry(verdict))
        .entry("repeating", &word::<v1::RetrySafety>(verdict.retry_safety))
        .entry("to the model", &verdict.text)
        .entry("to the user", &verdict.user_hint);
    if verdict.dispatch_code != 0 {
        table.entry("dispatch", &word::<v1::DispatchCode>(verdict.dispatch_code));
    }
    if let Some(cooldown) = &verdict.cooldown {
        table.entry("cooldown", &self::cooldown(cooldown));
    }
    table.entry("diagnosis", &diagnosis(verdict)).entry("alike", &alike(verdict));
    if let Some(health) = &verdict.health {
        table.entry("health", &self::health(health));
    }
    table.entry("stored", &word::<v1::Durability>(verdict.durability)).entry("rule", &rule(verdict));
    for evidence in verdict.evidence.iter().filter(|_| full) {
        table.entry("evidence", &self::evidence(evidence));
    }
    table
}

/// A tool's health as a row of [`health_table`].
pub(crate) fn health_row(table: &mut Table, tool: &v1::ToolHealth) {
    let words = match &tool.hold {
        Some(hold) => format!("{} (held by {}: {})", tool.words, hold.by, hold.reason),
        None => tool.words.clone(),
    };
    table.row([
        &tool.tool_name,
        &word::<v1::ToolState>(tool.state),
        &word::<v1::Scope>(tool.scope),
        &tool.reason_code,
        &shown(tool.retry_at.as_ref()),
        &words,
    ]);
}

/// The table of [`health_row`].
pub(crate) fn health_table() -> Table {
    Table::new(["TOOL", "STATE", "SCOPE", "REASON", "RETRY AT", "WORDS FOR THE MODEL"])
}

/// A key in one word: `PROJECT essay`.
pub(crate) fn place(key: Option<&v1::DocumentKey>) -> String {
    let Some(key) = key else { return String::new() };
    let id = if key.provider.is_empty() { &key.scope_id } else { &key.provider };
    format!("{} {id}", word::<v1::Scope>(key.scope)).trim_end().to_owned()
}

/// The name of a key's tool.
pub(crate) fn tool(key: Option<&v1::DocumentKey>) -> &str {
    key.map_or("", |it| it.tool_name.as_str())
}

/// A document as a list of name and value, then its cooldowns and its history.
pub(crate) fn document(document: &v1::HealthDocument) -> Vec<Table> {
    let mut list = Table::list();
    list.entry("tool", tool(document.key.as_ref()))
        .entry("scope", &place(document.key.as_ref()))
        .entry("reads", &word::<v1::ToolState>(document.state));
    // A document that holds only cooldowns or a hold has no status.
    if document.status != 0 {
        list.entry("status", &word::<v1::HealthStatus>(document.status))
            .entry("class", &word::<v1::Classification>(document.classification))
            .entry("signature", &document.signature)
            .entry("set by", &word::<v1::StatusOrigin>(document.origin));
    }
    list.entry("since", &shown(document.since.as_ref()));
    let recovery = shown(document.expected_recovery_at.as_ref());
    if !recovery.is_empty() {
        let basis = word::<v1::RecoveryBasis>(document.recovery_basis);
        list.entry("expected back", &format!("{recovery} ({basis})"));
    }
    if let Some(hold) = &document.hold {
        list.entry("hold", &self::hold(hold));
    }
    if let Some(diagnosis) = &document.last_diagnosis {
        let class = word::<v1::Classification>(diagnosis.classification);
        let at = shown(diagnosis.at.as_ref());
        list.entry("diagnosed", &format!("{class} at {at} by {}: {}", diagnosis.by, diagnosis.note));
    }
    if let Some(connection) = &document.connection {
        let state = if connection.open { "open" } else { "closed" };
        list.entry("connection", &format!("{} #{} {state}", connection.id, connection.sequence));
    }
    list.entry("last success", &shown(document.last_success_at.as_ref()))
        .entry("last checked", &shown(document.last_checked_at.as_ref()))
        .entry("created", &shown(document.created_at.as_ref()))
        .entry("updated", &shown(document.updated_at.as_ref()))
        .entry("version", &document.version.to_string());

    let mut cooldowns = Table::new(["COOLDOWN", "USER", "UNTIL", "HITS", "WINDOWS", "CLASS", "CLEARED"]);
    for it in &document.cooldowns {
        cooldowns.row([
            &it.signature,
            if it.user_id.is_empty() { "(all)" } else { &it.user_id },
            &shown(it.until.as_ref()),
            &it.hits.to_string(),
            &it.episodes.to_string(),
            &word::<v1::Classification>(it.classification),
            &shown(it.cleared_at.as_ref()),
        ]);
    }
    let mut history = Table::new(["HISTORY", "STATUS", "CLASS", "SIGNATURE", "USER", "BY", "NOTE"]);
    for it in &document.history {
        history.row([
            &shown(it.at.as_ref()),
            &word::<v1::HealthStatus>(it.status),
            &word::<v1::Classification>(it.classification),
            &it.signature,
            &it.user_id,
            &it.by,
            &it.note,
        ]);
    }
    [list, cooldowns, history].into_iter().filter(|it| !it.is_empty()).collect()
}

/// The lines about oddities that go under an answer.
pub(crate) fn warnings(warnings: &[v1::Warning], stale: bool) -> Vec<String> {
    let mut lines: Vec<String> = warnings
        .iter()
        .map(|it| {
            let field = if it.field.is_empty() { String::new() } else { format!(" `{}`", it.field) };
            printable(&format!("warning: {}{field}: {}", word::<v1::WarningCode>(it.code), it.message))
        })
        .collect();
    if stale {
        lines.push("warning: the answer may be out of date: the server cannot follow its store".to_owned());
    }
    lines
}

/// Diagnostics of rules, one paragraph each, as the checker itself writes them (DESIGN §6).
pub(crate) fn diagnostics(diagnostics: &[v1::RuleDiagnostic]) -> Vec<String> {
    diagnostics
        .iter()
        .map(|it| {
            let severity = match it.severity() {
                v1::RuleSeverity::Error => checker::Severity::Error,
                v1::RuleSeverity::Warning | v1::RuleSeverity::Unspecified => checker::Severity::Warning,
            };
            let finding = checker::Diagnostic {
                severity,
                source: it.file.clone(),
                line: it.line,
                column: it.column,
                field: it.field.clone(),
                rule_id: Some(it.rule_id.clone()).filter(|it| !it.is_empty()),
                message: it.message.clone(),
            };
            printable(&finding.to_string())
        })
        .collect()
}

/// A field that was looked at: `httpStatus 403 = 403`.
pub(crate) fn evidence(evidence: &v1::Evidence) -> String {
    match (evidence.expected.is_empty(), evidence.seen.is_empty()) {
        (true, _) => format!("{}: {}", evidence.field, evidence.seen),
        (false, true) => format!("{}: wants {}, nothing there", evidence.field, evidence.expected),
        (false, false) => format!("{}: wants {}, saw {}", evidence.field, evidence.expected, evidence.seen),
    }
}

/// When to try again, and how that is founded.
fn retry(verdict: &v1::Verdict) -> String {
    match shown(verdict.retry_at.as_ref()) {
        at if at.is_empty() => "no time is known".to_owned(),
        at => format!("not before {at} ({})", word::<v1::RetryBasis>(verdict.retry_basis)),
    }
}

fn cooldown(cooldown: &v1::Cooldown) -> String {
    let until = shown(cooldown.until.as_ref());
    if until.is_empty() {
        return "none".to_owned();
    }
    let scope = word::<v1::Scope>(cooldown.scope);
    if cooldown.hits == 0 {
        // Nothing was counted: an explanation, or a server that observes.
        return format!("would run until {until} at {scope}");
    }
    let state = if cooldown.active { "running already" } else { "begun" };
    format!("{state}, until {until} at {scope}: failure {} in window {}", cooldown.hits, cooldown.episodes)
}

fn diagnosis(verdict: &v1::Verdict) -> String {
    let state = word::<v1::DiagnosisState>(verdict.diagnosis);
    if verdict.job_id.is_empty() { state } else { format!("{state}, job {}", verdict.job_id) }
}

/// A class in at most ten letters, for a column.
pub(crate) const fn short_class(class: Classification) -> &'static str {
    match class {
        Classification::TechnicallyBroken => "BROKEN",
        Classification::UserSpecificTechnical => "USER-SPEC",
        Classification::UserPermission => "PERMISSION",
        Classification::UserInput => "INPUT",
        Classification::Intermittent => "INTERMITT",
        Classification::Working => "WORKING",
        Classification::Unclear => "UNCLEAR",
    }
}

/// The same of a class of the wire; one that has no short name is written out.
pub(crate) fn short_wire_class(class: i32) -> String {
    let name = word::<v1::Classification>(class);
    name.parse().map_or(name, |it| short_class(it).to_owned())
}

/// That several users failed alike, where the server says so (DESIGN §2.3).
fn alike(verdict: &v1::Verdict) -> String {
    let Some(it) = verdict.evidence.iter().find(|it| it.field == "likeFailures") else {
        return String::new();
    };
    let (users, span) = it.seen.split_once(" within ").unwrap_or((&it.seen, "a short time"));
    let what = match verdict.diagnosis() {
        v1::DiagnosisState::Enqueued | v1::DiagnosisState::Coalesced => "the tool is being looked at",
        _ => "a look at the tool was asked for before",
    };
    format!("{users} failed alike within {span}: {what}")
}

fn health(health: &v1::HealthSummary) -> String {
    let mut text = word::<v1::ToolState>(health.state);
    if health.scope != 0 {
        text.push_str(&format!(" at {}", word::<v1::Scope>(health.scope)));
    }
    let since = shown(health.since.as_ref());
    if !since.is_empty() {
        text.push_str(&format!(" since {since}"));
    }
    let recovery = shown(health.expected_recovery_at.as_ref());
    if !recovery.is_empty() {
        text.push_str(&format!(", expected back {recovery}"));
    }
    text.push_str(if health.changed { " (changed by this call)" } else { " (not changed by this call)" });
    text
}

fn hold(hold: &v1::Hold) -> String {
    let status = word::<v1::HealthStatus>(hold.status);
    let until = match shown(hold.until.as_ref()) {
        until if until.is_empty() => "by hand".to_owned(),
        until => until,
    };
    format!("{status} since {} by {}, ends {until}: {}", shown(hold.since.as_ref()), hold.by, hold.reason)
}

fn rule(verdict: &v1::Verdict) -> String {
    if verdict.rule_id.is_empty() {
        format!("none (signature {})", verdict.signature)
    } else {
        format!("{} (signature {})", verdict.rule_id, verdict.signature)
    }
}

/// `1 failure`, `2 failures`.
pub(crate) fn plural(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A verdict that wrote nothing does not say that a window was begun.
    #[test]
    fn a_cooldown_that_is_not_kept_would_run() {
        let window = |hits, active| v1::Cooldown {
            hits,
            active,
            episodes: 1,
            until: Some(prost_types::Timestamp { seconds: 1_796_047_500, nanos: 0 }),
            scope: v1::Scope::User.into(),
        };
        assert!(cooldown(&window(0, false)).starts_with("would run until 2026-11-30"));
        assert!(cooldown(&window(1, false)).starts_with("begun, until 2026-11-30"));
        assert!(cooldown(&window(3, true)).ends_with("failure 3 in window 1"));
    }
}
