//! What a run has found, as a table for people and as JSON for programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::load::Window;

/// One case against one baseline with so many clients.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The product's call.
    pub name: String,
    /// What it is compared with: `empty`, `echo`, or `bytes`.
    pub baseline: String,
    /// Callers, each with one call at a time.
    pub clients: usize,
    /// The product's calls a second: the median of its windows.
    pub rps: f64,
    /// The same of the baseline.
    pub baseline_rps: f64,
    /// The product's throughput in parts of the baseline's: the median over the turns. More is better.
    pub throughput_ratio: f64,
    /// The median time of a call in parts of the baseline's. Less is better.
    pub p50_ratio: f64,
    /// The same of the 99th percentile.
    pub p99_ratio: f64,
    /// The same of the processor time that the server's threads take for a call; 0 where the system does not tell.
    pub server_cpu_ratio: f64,
    /// The median time of a call of the product in microseconds.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
}

/// Every row of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// In the order in which they were measured.
    pub cases: Vec<Row>,
}

impl Row {
    /// Compares windows that were measured in turns.
    #[must_use]
    pub fn new(name: &str, baseline: &str, clients: usize, product: &[Window], bare: &[Window]) -> Self {
        let ratio = |of: fn(&Window) -> f64| {
            let ratios = product.iter().zip(bare).filter(|(_, bare)| of(bare) > 0.0);
            median(ratios.map(|(product, bare)| of(product) / of(bare)).collect())
        };
        let of_product = |of: fn(&Window) -> f64| median(product.iter().map(of).collect());
        Self {
            name: name.to_owned(),
            baseline: baseline.to_owned(),
            clients,
            rps: of_product(|it| it.rps),
            baseline_rps: median(bare.iter().map(|it| it.rps).collect()),
            throughput_ratio: ratio(|it| it.rps),
            p50_ratio: ratio(|it| it.p50),
            p99_ratio: ratio(|it| it.p99),
            server_cpu_ratio: ratio(|it| it.server_cpu),
            p50_us: of_product(|it| it.p50),
            p99_us: of_product(|it| it.p99),
        }
    }
}

impl Report {
    /// One line of the table.
    #[must_use]
    pub fn line(row: &Row) -> String {
        let Row { name, baseline, clients, rps, baseline_rps, .. } = row;
        let mut line = format!("{name:24} {clients:>4}  {baseline:6} {rps:>9.0} {baseline_rps:>9.0}");
        for ratio in [row.throughput_ratio, row.p50_ratio, row.p99_ratio, row.server_cpu_ratio] {
            // Writing to a string does not fail.
            let _ = write!(line, " {ratio:>9.3}");
        }
        let _ = write!(line, " {:>9.0} {:>9.0}", row.p50_us, row.p99_us);
        line
    }

    /// The line above the table.
    #[must_use]
    pub fn head() -> String {
        format!(
            "{:24} {:>4}  {:6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "case",
            "n",
            "beside",
            "rps",
            "bare rps",
            "rps ratio",
            "p50 ratio",
            "p99 ratio",
            "cpu ratio",
            "p50 µs",
            "p99 µs"
        )
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(rps: f64, p50: f64) -> Window {
        Window { rps, p50, p99: p50 * 2.0, server_cpu: 0.0 }
    }

    #[test]
    fn the_median_of_the_turns_counts_and_not_the_ratio_of_medians() {
        // A machine that was slow in one turn met both.
        let product = [window(90.0, 10.0), window(9.0, 100.0), window(80.0, 11.0)];
        let bare = [window(100.0, 10.0), window(10.0, 100.0), window(100.0, 10.0)];
        let row = Row::new("check", "echo", 16, &product, &bare);
        assert!((row.throughput_ratio - 0.9).abs() < 1e-9, "{row:?}");
        assert!((row.p50_ratio - 1.0).abs() < 1e-9 && (row.rps - 80.0).abs() < 1e-9, "{row:?}");
        assert!(row.server_cpu_ratio.abs() < 1e-9, "the system did not tell: {row:?}");
        assert_eq!(median(Vec::new()), 0.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn the_json_has_the_fields_that_programs_read() {
        let row = Row::new("lookup_1", "empty", 1, &[window(1.0, 1.0)], &[window(1.0, 1.0)]);
        let json = serde_json::to_value(Report { cases: vec![row] }).expect("JSON");
        for field in [
            "name",
            "rps",
            "baseline_rps",
            "throughput_ratio",
            "p50_ratio",
            "p99_ratio",
            "clients",
            "baseline",
        ] {
            assert!(!json["cases"][0][field].is_null(), "{field}");
        }
    }
}
