//! The figures as Markdown: the generated part of `docs/accuracy.md`, and the short table of the README.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use checker::corpus::{Baseline, Certainty, Got, Row, Score, score_baseline};
use health_model::Classification;

use super::{Corpus, Way};

/// The generated part of `docs/accuracy.md`.
#[must_use]
pub fn accuracy(corpus: &Corpus) -> String {
    let rows = corpus.rows();
    let shipped = Way::shipped();
    let got: Vec<(&Row, Got)> = rows.iter().map(|row| (row, shipped.got(row))).collect();
    let parts = [
        size(&rows),
        "## Side by side".to_owned(),
        side_by_side(&rows),
        "## Per class".to_owned(),
        per_class(&got),
        "## What was taken for what".to_owned(),
        confusion(&got),
        "## Per family".to_owned(),
        per_family(corpus, &shipped),
        "## By certainty".to_owned(),
        by_certainty(&shipped.score(&rows)),
    ];
    parts.map(|it| it.trim_end().to_owned()).join("\n\n")
}

/// The short table of the README.
#[must_use]
pub fn short(corpus: &Corpus) -> String {
    let rows = corpus.rows();
    let mut text = String::from(
        "| | answered of what could be told | right of what was answered | claimed of what nobody could tell |\n|---|---|---|---|\n",
    );
    for (name, score, _) in ways(&rows) {
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} |",
            coverage(&score),
            precision(&score),
            overclaimed(&score)
        );
    }
    text
}

fn size(rows: &[Row]) -> String {
    let pages: BTreeSet<&str> =
        rows.iter().map(|it| it.source.as_str()).filter(|it| it.starts_with("https://")).collect();
    let provoked = rows.iter().filter(|it| it.source.starts_with("provoked: ")).count();
    let tellable = rows.iter().filter(|it| it.expected.is_tellable()).count();
    let unclear = rows.iter().filter(|it| it.expected.is_unclear()).count();
    format!(
        "{} failures: {} from {} public pages, {provoked} provoked.\n{tellable} are tellable; of {unclear} nobody could tell; {} have two labels of which one is UNCLEAR.",
        rows.len(),
        rows.len() - provoked,
        pages.len(),
        rows.len() - tellable - unclear
    )
}

/// Every way with its figures, and whether it sets statuses and retry times at all.
fn ways(rows: &[Row]) -> Vec<(String, Score, bool)> {
    let [status, words] = Baseline::ALL.map(|it| score_baseline(rows, it));
    let mut ways = vec![
        ("status code only".to_owned(), status, false),
        ("status, then words, as LLM gateways map exceptions".to_owned(), words, false),
    ];
    for way in [Way::literal(), Way::by_meaning(), Way::shipped()] {
        let name = match way.name {
            "Agrajag as shipped" => format!("**{}**", way.name),
            name => name.to_owned(),
        };
        ways.push((name, way.score(rows), true));
    }
    ways
}

fn side_by_side(rows: &[Row]) -> String {
    let mut text = String::from(
        "| | coverage | precision | right of tellable | overclaimed | harm | retry errors |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (name, score, acts) in ways(rows) {
        let count = |n: usize| if acts { n.to_string() } else { "–".to_owned() };
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {} |",
            coverage(&score),
            precision(&score),
            percent(score.right, score.tellable),
            overclaimed(&score),
            count(score.harm),
            count(score.retry_errors)
        );
    }
    let with_retry = rows.iter().filter(|it| it.expected.retry_after.is_some()).count();
    let _ = writeln!(
        text,
        "\n{with_retry} rows say when to retry.\nThe simple classifiers set no status and no retry time, hence the dashes."
    );
    text
}

fn per_class(got: &[(&Row, Got)]) -> String {
    let mut text = String::from(
        "| class | labelled | right | recall | given | rightly | precision |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for &class in Classification::ALL {
        let labelled: Vec<_> = got.iter().filter(|(row, _)| row.expected.classification == class).collect();
        let given: Vec<_> = got.iter().filter(|(_, got)| got.classification == class).collect();
        if labelled.is_empty() && given.is_empty() {
            continue;
        }
        let right = |rows: &[&(&Row, Got)]| {
            rows.iter().filter(|(row, got)| row.expected.accepts(got.classification)).count()
        };
        let (found, rightly) = (right(&labelled), right(&given));
        let _ = writeln!(
            text,
            "| {class} | {} | {found} | {} | {} | {rightly} | {} |",
            labelled.len(),
            percent(found, labelled.len()),
            given.len(),
            percent(rightly, given.len())
        );
    }
    text
}

fn confusion(got: &[(&Row, Got)]) -> String {
    let mut counts: BTreeMap<(Classification, Classification), usize> = BTreeMap::new();
    for (row, got) in got {
        *counts.entry((row.expected.classification, got.classification)).or_default() += 1;
    }
    let used: Vec<Classification> = Classification::ALL
        .iter()
        .copied()
        .filter(|class| counts.keys().any(|(label, got)| label == class || got == class))
        .collect();
    let mut text = String::from("| label ↓, got → |");
    used.iter().for_each(|it| {
        let _ = write!(text, " {it} |");
    });
    let _ = writeln!(text, "\n| --- |{}", " ---: |".repeat(used.len()));
    for &label in &used {
        let _ = write!(text, "| {label} |");
        for &got in &used {
            let count = counts.get(&(label, got)).copied().unwrap_or_default();
            let _ = match count {
                0 => write!(text, " · |"),
                count if label == got => write!(text, " **{count}** |"),
                count => write!(text, " {count} |"),
            };
        }
        text.push('\n');
    }
    text.push_str(
        "\nA row with two labels stands under its first one, also where the second is what it got.\n",
    );
    text
}

fn per_family(corpus: &Corpus, way: &Way) -> String {
    let mut text = String::from(
        "| family | rows | coverage | precision | overclaimed | harm | retry errors |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for family in &corpus.families {
        let score = way.score(&family.rows);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} of {} | {} | {} |",
            family.name,
            score.rows,
            coverage(&score),
            precision(&score),
            score.unclear.overclaimed,
            score.unclear.rows,
            score.harm,
            score.retry_errors
        );
    }
    text
}

fn by_certainty(score: &Score) -> String {
    let mut text = String::from("| certainty | rows | right | |\n| --- | ---: | ---: | ---: |\n");
    for (certainty, of) in [
        (Certainty::Certain, score.certain),
        (Certainty::Likely, score.likely),
        (Certainty::Contested, score.contested),
    ] {
        let name = match certainty {
            Certainty::Certain => "certain",
            Certainty::Likely => "likely",
            Certainty::Contested => "contested",
        };
        let _ = writeln!(text, "| {name} | {} | {} | {} |", of.rows, of.right, percent(of.right, of.rows));
    }
    text
}

fn coverage(score: &Score) -> String {
    percent(score.answered, score.tellable)
}

fn precision(score: &Score) -> String {
    percent(score.right, score.answered)
}

fn overclaimed(score: &Score) -> String {
    percent(score.unclear.overclaimed, score.unclear.rows)
}

fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
    let percent = part as f64 * 100.0 / whole as f64;
    format!("{percent:.1} %")
}
