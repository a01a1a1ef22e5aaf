//! The time of each step of a classification.
//!
//! A step of one failure takes about as long as reading the clock; so a batch of the same failure is timed as one. Reading
//! a body's JSON, which happens at most once a failure and only where a rule asks, is done between the steps and timed
//! apart: what is left is the same whether a rule asks or not.

use std::hint::black_box;
use std::time::{Duration, Instant};

use checker::{RuleTable, facts::Facts};

use super::bodies::Case;

/// The time of one failure, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// Reading the facts and finding the rule, without the JSON.
    pub classify: f64,
    /// Reading the body's JSON.
    pub json: f64,
    /// All as a caller calls it: facts, JSON where a rule asks, the rule, and giving the memory back.
    pub call: f64,
    /// Bytes of text that the rules see.
    pub matched: usize,
}

/// The times of all failures: of each the median of `rounds` batches.
#[must_use]
pub fn all(table: &RuleTable, cases: &[Case], rounds: usize) -> Vec<Time> {
    cases.iter().map(|it| one(table, it, rounds.max(1))).collect()
}

fn one(table: &RuleTable, (tool, failure): &Case, rounds: usize) -> Time {
    let facts = table.facts(tool, failure);
    let matched = facts.text_bytes();
    // About 50 µs a batch, whatever the length.
    let n = (20_000 / (matched + 500)).clamp(2, 40);
    let (mut classify, mut json, mut call) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let mut all: Vec<Facts<'_>> = Vec::with_capacity(n);
        let begin = Instant::now();
        for _ in 0..n {
            all.push(table.facts(black_box(tool), black_box(failure)));
        }
        let of_facts = begin.elapsed();
        let begin = Instant::now();
        for it in &all {
            black_box(it.json());
        }
        json.push(begin.elapsed());
        let begin = Instant::now();
        for it in &all {
            black_box(table.classify_facts(it));
        }
        classify.push(of_facts + begin.elapsed());
        drop(all);
        let begin = Instant::now();
        for _ in 0..n {
            black_box(table.classify(black_box(tool), black_box(failure)));
        }
        call.push(begin.elapsed());
    }
    let each = |times: Vec<Duration>| {
        #[expect(clippy::cast_precision_loss, reason = "a batch is far below 2^52")]
        let times = times.into_iter().map(|it| it.as_nanos() as f64 / n as f64).collect();
        quantile(times, 0.5)
    };
    Time { classify: each(classify), json: each(json), call: each(call), matched }
}

/// The value below which this share of the values is; 0 of none.
#[must_use]
pub fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index, rounded down"
    )]
    let at = ((values.len().saturating_sub(1)) as f64 * share) as usize;
    values.get(at).copied().unwrap_or_default()
}
