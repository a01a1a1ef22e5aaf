//! The score of a table over labelled failures.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use health_model::key::DEFAULT_PROJECT;
use health_model::{Classification, EffectKind, Instant, Policy, Scope, Status, Target};
use serde::Serialize;

use crate::decide::{Settings, decide_alone};
use crate::table::RuleTable;

use super::baseline::Baseline;
use super::row::{Certainty, Row};

/// A retry time may be off by this much.
const RETRY_TOLERANCE: TimeDelta = TimeDelta::seconds(1);

/// How well a table does. Serialises to the JSON of `agrajag rules test`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// All rows.
    pub rows: usize,
    /// Rows of which no label is UNCLEAR.
    pub tellable: usize,
    /// Tellable rows that got a class other than UNCLEAR.
    pub answered: usize,
    /// Answered rows that got the label or an acceptable one.
    pub right: usize,
    /// Answered of tellable, 0 to 1.
    pub coverage: f64,
    /// Right of answered, 0 to 1.
    pub precision: f64,
    /// All rows with a sure label.
    pub certain: OfCertainty,
    /// All rows with an agreed label.
    pub likely: OfCertainty,
    /// All rows with two labels.
    pub contested: OfCertainty,
    /// Rows of which nobody could tell.
    pub unclear: OfUnclear,
    /// Rows whose verdict would set a status that the label forbids. Must be 0.
    pub harm: usize,
    /// Rows that say when to retry and got another time.
    pub retry_errors: usize,
    /// By the label.
    pub by_class: BTreeMap<Classification, OfClass>,
    /// All rows that did not get a right class, in order.
    pub misses: Vec<Miss>,
    /// The rows of [`Score::retry_errors`], in order.
    pub retry_misses: Vec<RetryMiss>,
    /// Rows by label and class that they got.
    #[serde(skip)]
    pub confusion: BTreeMap<(Classification, Classification), usize>,
    /// The rows of [`Score::harm`].
    #[serde(skip)]
    pub harmed: Vec<String>,
}

/// Rows of one certainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OfCertainty {
    /// How many.
    pub rows: usize,
    /// How many of them got a right class.
    pub right: usize,
}

/// Rows of which nobody could tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OfUnclear {
    /// How many.
    pub rows: usize,
    /// How many of them got a class all the same.
    pub overclaimed: usize,
}

/// Rows of one label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OfClass {
    /// How many.
    pub rows: usize,
    /// How many of them got a class other than UNCLEAR.
    pub answered: usize,
    /// How many of them got a right class.
    pub right: usize,
}

/// A row that did not get a right class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Miss {
    /// The row.
    pub id: String,
    /// The label.
    pub expected: Classification,
    /// What it got.
    pub got: Classification,
    /// The rule that decided; empty if none did.
    pub rule_id: String,
    /// The signature.
    pub signature: String,
}

/// A row that says when to retry and got another time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RetryMiss {
    /// The row.
    pub id: String,
    /// How long the label says to wait, as an ISO-8601 duration.
    pub wanted: String,
    /// How long the verdict says to wait; absent if it names no time.
    pub got: Option<String>,
    /// The rule that decided; empty if none did.
    pub rule_id: String,
}

/// What a row got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Got {
    /// The class.
    pub classification: Classification,
    /// The rule that decided; empty if none did.
    pub rule_id: String,
    /// The signature.
    pub signature: String,
    /// When to retry.
    pub retry_at: Option<Instant>,
    /// The statuses that would be written, with their scopes.
    pub marks: Vec<(Scope, Status)>,
}

/// Decides one row, for a caller who has every id, with an empty store.
#[must_use]
pub fn got(row: &Row, table: &RuleTable, policy: &Policy, settings: &Settings) -> Got {
    let Row { tool, failure, now, .. } = row;
    let decision = decide_alone(table, "t", DEFAULT_PROJECT, tool, failure, policy, settings, *now);
    let marks = decision.effects.iter().filter_map(|it| match &it.kind {
        EffectKind::Mark(mark) => Some((it.key.scope, mark.status)),
        _ => None,
    });
    Got {
        marks: marks.collect(),
        classification: decision.verdict.classification,
        rule_id: decision.verdict.rule_id,
        signature: decision.verdict.signature,
        retry_at: decision.verdict.retry_at,
    }
}

/// Scores a table over rows.
#[must_use]
pub fn score(rows: &[Row], table: &RuleTable, policy: &Policy, settings: &Settings) -> Score {
    score_by(rows, |row| got(row, table, policy, settings))
}

/// Scores a baseline over rows, in the same terms. It sets no status and no retry time, so that [`Score::harm`] is 0 and
/// [`Score::retry_errors`] counts every row that says when to retry.
#[must_use]
pub fn score_baseline(rows: &[Row], baseline: Baseline) -> Score {
    score_by(rows, |row| Got {
        classification: baseline.classify(&row.failure),
        rule_id: String::new(),
        signature: String::new(),
        retry_at: None,
        marks: Vec::new(),
    })
}

/// One line of a snapshot: whether the class is right, the row, its labels, what it got, the rule that decided, and whether
/// the retry time is wrong.
#[must_use]
pub fn line(row: &Row, got: &Got) -> String {
    let mark = if row.expected.accepts(got.classification) { ' ' } else { '!' };
    let labels: Vec<&str> = row.expected.labels().map(Classification::as_str).collect();
    let rule = if got.rule_id.is_empty() { "-" } else { &got.rule_id };
    let (id, class) = (&row.id, got.classification.as_str());
    let retry = if is_retry_error(row, got) { "  wrong retry time" } else { "" };
    format!("{mark} {id:<14} {:<48} {class:<24} {rule}{retry}", labels.join("|"))
}

fn score_by(rows: &[Row], decide: impl Fn(&Row) -> Got) -> Score {
    let mut score = Score {
        rows: rows.len(),
        tellable: 0,
        answered: 0,
        right: 0,
        coverage: 0.0,
        precision: 0.0,
        certain: OfCertainty::default(),
        likely: OfCertainty::default(),
        contested: OfCertainty::default(),
        unclear: OfUnclear::default(),
        harm: 0,
        retry_errors: 0,
        by_class: BTreeMap::new(),
        misses: Vec::new(),
        retry_misses: Vec::new(),
        confusion: BTreeMap::new(),
        harmed: Vec::new(),
    };
    for row in rows {
        count(&mut score, row, decide(row));
    }
    score.coverage = ratio(score.answered, score.tellable);
    score.precision = ratio(score.right, score.answered);
    score
}

fn count(score: &mut Score, row: &Row, got: Got) {
    let expected = &row.expected;
    let is_right = expected.accepts(got.classification);
    let is_answered = got.classification != Classification::Unclear;
    if expected.is_tellable() {
        score.tellable += 1;
        score.answered += usize::from(is_answered);
        score.right += usize::from(is_answered && is_right);
    }
    if expected.is_unclear() {
        score.unclear.rows += 1;
        score.unclear.overclaimed += usize::from(is_answered);
    }
    let of_certainty = match expected.certainty {
        Certainty::Certain => &mut score.certain,
        Certainty::Likely => &mut score.likely,
        Certainty::Contested => &mut score.contested,
    };
    of_certainty.rows += 1;
    of_certainty.right += usize::from(is_right);
    let of_class = score.by_class.entry(expected.classification).or_default();
    of_class.rows += 1;
    of_class.answered += usize::from(is_answered);
    of_class.right += usize::from(is_right);
    *score.confusion.entry((expected.classification, got.classification)).or_default() += 1;
    if is_harm(row, &got) {
        score.harm += 1;
        score.harmed.push(row.id.clone());
    }
    if let Some(wanted) = row.expected.retry_after.filter(|_| is_retry_error(row, &got)) {
        score.retry_errors += 1;
        score.retry_misses.push(RetryMiss {
            id: row.id.clone(),
            wanted: wanted.to_string(),
            got: got.retry_at.map(|at| (at - row.now).to_string()),
            rule_id: got.rule_id.clone(),
        });
    }
    if !is_right {
        score.misses.push(Miss {
            id: row.id.clone(),
            expected: expected.classification,
            got: got.classification,
            rule_id: got.rule_id,
            signature: got.signature,
        });
    }
}

/// A status wider than its user for a failure that is the user's own, or one of the tool for a target that is not.
fn is_harm(row: &Row, got: &Got) -> bool {
    let is_own = row.expected.labels().all(|it| {
        matches!(
            it,
            Classification::UserInput
                | Classification::UserPermission
                | Classification::UserSpecificTechnical
        )
    });
    got.marks.iter().filter(|(_, status)| *status != Status::Ok).any(|(scope, _)| {
        let is_wider = !matches!(scope, Scope::Session | Scope::User);
        (is_own && is_wider) || row.tool.target == Some(Target::Argument)
    })
}

fn is_retry_error(row: &Row, got: &Got) -> bool {
    let Some(wanted) = row.expected.retry_after else { return false };
    got.retry_at.is_none_or(|at| (at - row.now - wanted).abs() > RETRY_TOLERANCE)
}

/// Rounded to four places, so that equal scores print equally.
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
    let exact = part as f64 / whole as f64;
    (exact * 10_000.0).round() / 10_000.0
}
