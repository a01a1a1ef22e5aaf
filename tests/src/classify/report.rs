//! What a run has found, as a table for people and as JSON for programs.

use serde::Serialize;

use super::measure::{Time, quantile};

/// The failures of one length with one table.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// `made-up` or `packs`.
    pub table: &'static str,
    /// How many rules it has.
    pub rules: usize,
    /// Bytes of the body; none where the rows are as they are.
    pub body_bytes: Option<usize>,
    /// The median of the bytes that the rules see.
    pub matched_bytes: usize,
    /// Failures measured.
    pub failures: usize,
    /// The median time of a failure without the JSON.
    pub classify_ns: f64,
    /// The 99th percentile of the same.
    pub classify_p99_ns: f64,
    /// The median time of reading the body's JSON.
    pub json_ns: f64,
    /// The median time of the call as a whole.
    pub call_ns: f64,
    /// The median over the failures of the time over 3 µs a byte that is seen, in nanoseconds; negative where the time is below 3 µs.
    pub over_3us_ns_per_byte: f64,
}

/// Every row of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// In the order in which they were measured.
    pub cases: Vec<Row>,
    /// The time of 1,000 rules in parts of that of 100, with a body of 4 KiB; 0 if one of them was not measured.
    pub ratio_1000_to_100_at_4_kib: f64,
}

impl Row {
    /// Sums up the times of all failures.
    #[must_use]
    pub fn new(table: &'static str, rules: usize, body_bytes: Option<usize>, times: &[Time]) -> Self {
        let of = |of: fn(&Time) -> f64, share| quantile(times.iter().map(of).collect(), share);
        #[expect(clippy::cast_precision_loss, reason = "bytes of a failure are far below 2^52")]
        let (matched, over) = (
            of(|it| it.matched as f64, 0.5),
            of(|it| (it.classify - 3_000.0) / it.matched.max(1) as f64, 0.5),
        );
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let matched_bytes = matched as usize;
        Self {
            table,
            rules,
            body_bytes,
            matched_bytes,
            failures: times.len(),
            classify_ns: of(|it| it.classify, 0.5).round(),
            classify_p99_ns: of(|it| it.classify, 0.99).round(),
            json_ns: of(|it| it.json, 0.5).round(),
            call_ns: of(|it| it.call, 0.5).round(),
            over_3us_ns_per_byte: (over * 100.0).round() / 100.0,
        }
    }
}

impl Report {
    /// Adds a row.
    pub fn push(&mut self, row: Row) {
        self.cases.push(row);
        let at = |rules| {
            let mut rows = self.cases.iter();
            rows.find(|it| it.table == "made-up" && it.rules == rules && it.body_bytes == Some(4 << 10))
        };
        if let (Some(many), Some(few)) = (at(1_000), at(100)) {
            self.ratio_1000_to_100_at_4_kib =
                (many.classify_ns / few.classify_ns * 1_000.0).round() / 1_000.0;
        }
    }

    /// The line above the table.
    #[must_use]
    pub fn head() -> String {
        format!(
            "{:8} {:>6} {:>9} {:>9} {:>12} {:>9} {:>9} {:>9} {:>9}",
            "table", "rules", "body B", "seen B", "classify ns", "p99 ns", "json ns", "call ns", "ns/B>3µs"
        )
    }

    /// One line of the table.
    #[must_use]
    pub fn line(row: &Row) -> String {
        let body = row.body_bytes.map_or_else(|| "own".to_owned(), |it| it.to_string());
        format!(
            "{:8} {:>6} {body:>9} {:>9} {:>12.0} {:>9.0} {:>9.0} {:>9.0} {:>9.2}",
            row.table,
            row.rules,
            row.matched_bytes,
            row.classify_ns,
            row.classify_p99_ns,
            row.json_ns,
            row.call_ns,
            row.over_3us_ns_per_byte
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_over_the_failures_and_the_ratio_of_two_tables() {
        let time = |classify| Time { classify, json: 10.0, call: classify, matched: 100 };
        let times = |base: f64| [time(base), time(base * 3.0), time(base * 2.0)];
        let mut report = Report::default();
        report.push(Row::new("made-up", 100, Some(4_096), &times(2_000.0)));
        assert!(report.ratio_1000_to_100_at_4_kib.abs() < 1e-9, "one of them is not there yet");
        report.push(Row::new("made-up", 1_000, Some(4_096), &times(3_000.0)));
        assert!((report.ratio_1000_to_100_at_4_kib - 1.5).abs() < 1e-9, "{report:?}");
        let row = &report.cases[0];
        assert!((row.classify_ns - 4_000.0).abs() < 1e-9, "{row:?}");
        assert!((row.over_3us_ns_per_byte - 10.0).abs() < 1e-9, "{row:?}");
        assert_eq!((row.matched_bytes, row.failures), (100, 3));
    }
}
