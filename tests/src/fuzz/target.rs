//! What is run: reading a rule file, and classifying a failure.
//!
//! A run says how the program answered, as one number; a law that does not hold is a panic, like any other.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;
use std::time::Duration;

use checker::{LayerKind, Options, RuleTable, Settings, decide_alone};
use chrono::{DateTime, Utc};
use clap::ValueEnum;
use health_model::key::DEFAULT_PROJECT;
use health_model::{Classification, EffectKind, Failure, Policy, Scope, Status, Target as ToolTarget, Tool};

use super::failure;

/// What is fuzzed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// Parse a rule file, build a table of it, classify one failure with it.
    Rules,
    /// Classify a failure with all packs, and decide what follows.
    Classify,
}

/// How long a run may take. Far more than it does: what passes these bounds is no noise of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Whatever the length.
    pub base: Duration,
    /// And for each byte of the input.
    pub per_byte: Duration,
}

impl Bound {
    /// The time for an input of this length.
    #[must_use]
    pub fn of(self, bytes: usize) -> Duration {
        self.base + self.per_byte * u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// The bound of a build without optimisation.
    #[must_use]
    pub fn times(self, factor: u32) -> Self {
        Self { base: self.base * factor, per_byte: self.per_byte * factor }
    }
}

static TABLE: LazyLock<RuleTable> = LazyLock::new(|| RuleTable::bundled(Options::default()));

impl Target {
    /// The name on the command line, and of the folder of its regressions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Classify => "classify",
        }
    }

    /// How long a run may take in a release build. A quadratic reader of 64 KiB needs some hundred times as much.
    #[must_use]
    pub const fn bound(self) -> Bound {
        match self {
            // Compiling expressions costs most; a rule of a line can have one of a megabyte.
            Self::Rules => Bound { base: Duration::from_millis(50), per_byte: Duration::from_micros(10) },
            Self::Classify => Bound { base: Duration::from_millis(2), per_byte: Duration::from_nanos(2_500) },
        }
    }

    /// Runs one input; the number is the same for answers of the same kind.
    ///
    /// # Panics
    ///
    /// If a law does not hold.
    #[must_use]
    pub fn run(self, input: &[u8]) -> u64 {
        let text = String::from_utf8_lossy(input);
        let mut answer = DefaultHasher::new();
        match self {
            Self::Rules => rules(&text, &mut answer),
            Self::Classify => {
                let (tool, failure) = failure::decode(&text);
                judged(&TABLE, &tool, &failure, &mut answer);
            }
        }
        answer.finish()
    }
}

/// Laws: findings point into the text; ids are unique; the table has a last resort, and decides.
fn rules(text: &str, answer: &mut impl Hasher) {
    let layer = checker::parse(LayerKind::Project, "fuzz.yaml", text);
    // YAML ends lines at more characters than Rust does.
    let n_lines = text.matches(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count() + 2;
    for it in &layer.diagnostics {
        assert!(it.line as usize <= n_lines, "line {} of {n_lines}: {it}", it.line);
        assert!(!it.message.is_empty(), "a finding says what is wrong");
        let field: String = it.field.chars().filter(|it| !it.is_ascii_digit()).take(40).collect();
        let kind: String = it.message.split('`').next().unwrap_or_default().chars().take(24).collect();
        (it.severity.as_str(), field, kind).hash(answer);
    }
    let ids: BTreeSet<&str> = layer.rules.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids.len(), layer.rules.len(), "ids are unique");
    let table = RuleTable::build([&layer], Options::BUNDLED);
    assert!(table.entries().last().is_some_and(|it| it.rule.matches_everything()), "the fallback is last");
    layer.rules.len().min(4).hash(answer);
    for rule in &layer.rules {
        rule.conditions.iter().map(std::mem::discriminant).for_each(|it| it.hash(answer));
        rule.classification.as_str().hash(answer);
    }
    // The file is a text like any other.
    let failure = Failure { message: text.to_owned(), ..Failure::default() };
    judged(&table, &Tool { name: "wiki".to_owned(), ..Tool::default() }, &failure, answer);
}

/// Laws: the same again is the same; nothing is written for everybody; no status for the user's own mistake, none for a
/// target that came with the call; no retry time in the past.
fn judged(table: &RuleTable, tool: &Tool, failure: &Failure, answer: &mut impl Hasher) {
    let now = DateTime::<Utc>::from_timestamp(1_796_040_000, 0).unwrap_or_default();
    let (policy, settings) = (Policy::default(), Settings::default());
    let once = || decide_alone(table, "t", DEFAULT_PROJECT, tool, failure, &policy, &settings, now);
    let decision = once();
    let verdict = &decision.verdict;
    assert!(once() == decision, "the same failure gets the same verdict");
    assert!(verdict.retry_at.is_none_or(|it| it >= now), "retry at {:?}, which has passed", verdict.retry_at);
    assert!(!verdict.rule_id.is_empty() || !verdict.is_health_signal, "nothing decided");
    let is_own = matches!(verdict.classification, Classification::UserInput | Classification::UserPermission);
    for effect in &decision.effects {
        assert!(effect.key.scope != Scope::Global, "written for everybody: {effect:?}");
        if let EffectKind::Mark(mark) = &effect.kind {
            let is_bad = mark.status != Status::Ok;
            assert!(!(is_bad && is_own), "a status for the user's own mistake: {effect:?}");
            assert!(
                !(is_bad && tool.target == Some(ToolTarget::Argument)),
                "a status for an argument: {effect:?}"
            );
        }
        std::mem::discriminant(&effect.kind).hash(answer);
    }
    let facts = table.facts(tool, failure);
    assert_eq!(table.classify_facts(&facts).rule().id, table.classify(tool, failure).rule().id);
    assert!(facts.text_bytes() <= 64 * 16 * 1024, "what is matched is bounded");
    (verdict.classification.as_str(), &verdict.rule_id, verdict.is_health_signal).hash(answer);
    (verdict.evidence.len().min(8), decision.job.is_some(), facts.status().is_some()).hash(answer);
    (facts.kind_evidence().len().min(1), facts.json().is_some(), facts.rpc_codes().len().min(2)).hash(answer);
    (facts.exit_codes().len().min(2), facts.close_codes().len().min(2), facts.sql_states().len().min(2))
        .hash(answer);
    std::mem::discriminant(&verdict.remedy).hash(answer);
    verdict.retry_basis.map(|it| std::mem::discriminant(&it)).hash(answer);
    std::mem::discriminant(&facts.body_shape()).hash(answer);
}
