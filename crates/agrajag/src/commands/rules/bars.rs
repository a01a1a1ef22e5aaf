//! The bars of `agrajag rules test`: figures that a corpus must reach, for whoever checks rules in a pipeline.

use checker::corpus::Score;

/// Figures that must be reached. Of a share that has no rows the figure is 0.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Bars {
    /// Exit with 1 unless at least this share of the answered rows is right, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_precision: Option<f64>,
    /// Exit with 1 unless at least this share of the tellable rows is answered, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_coverage: Option<f64>,
    /// Exit with 1 if more than this share of the unclear rows gets a class, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_overclaimed: Option<f64>,
    /// Exit with 1 if more rows than this would harm somebody.
    #[arg(long, value_name = "N")]
    max_harm: Option<usize>,
    /// Exit with 1 if more rows than this say when to retry and get another time.
    #[arg(long, value_name = "N")]
    max_retry_errors: Option<usize>,
}

impl Bars {
    /// One line for each figure that misses its bar.
    pub(super) fn missed(&self, score: &Score) -> Vec<String> {
        // The score's own figures are rounded: a bar is missed by the smallest part.
        let least = [
            ("precision", score.right, score.answered, "--min-precision", self.min_precision),
            ("coverage", score.answered, score.tellable, "--min-coverage", self.min_coverage),
        ];
        let mut missed = Vec::new();
        for (figure, part, whole, flag, bar) in least {
            if let Some(bar) = bar.filter(|it| ratio(part, whole) < *it) {
                missed.push(line(figure, part, whole, "below", flag, bar));
            }
        }
        let (part, whole) = (score.unclear.overclaimed, score.unclear.rows);
        if let Some(bar) = self.max_overclaimed.filter(|it| ratio(part, whole) > *it) {
            missed.push(line("overclaimed", part, whole, "above", "--max-overclaimed", bar));
        }
        if let Some(bar) = self.max_harm.filter(|it| score.harm > *it) {
            missed.push(format!("missed: harm is {}, above --max-harm {bar}", score.harm));
        }
        if let Some(bar) = self.max_retry_errors.filter(|it| score.retry_errors > *it) {
            let n = score.retry_errors;
            missed.push(format!("missed: retry errors are {n}, above --max-retry-errors {bar}"));
        }
        missed
    }
}

fn line(figure: &str, part: usize, whole: usize, side: &str, flag: &str, bar: f64) -> String {
    format!("missed: {figure} is {:.4} ({part} of {whole}), {side} {flag} {bar}", ratio(part, whole))
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
    let ratio = part as f64 / whole as f64;
    ratio
}

fn share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok().filter(|it| (0.0..=1.0).contains(it));
    share.ok_or_else(|| format!("`{text}` is no share; give a number from 0 to 1, such as 0.93"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_lies_between_nothing_and_all() {
        for (text, expected) in
            [("0", Some(0.0)), ("1", Some(1.0)), (".93", Some(0.93)), ("1e-2", Some(0.01))]
        {
            assert_eq!(share(text).ok(), expected, "{text}");
        }
        for text in ["93", "-0.1", "1.0001", "NaN", "inf", "", "93 %", "0,93"] {
            assert!(share(text).is_err_and(|it| it.contains("0.93")), "{text}");
        }
    }
}
