//! A histogram of errors as shares of their limits, as inline SVG.

use std::fmt::Write;

use parity_model::{
    Verdict,
    record::{CaseResult, RunRecord},
};

use super::escape;
use crate::{
    facts::{self, count_text},
    markdown::backend_title,
};

/// Upper ends of the bins and their labels; the last one is beyond the limit.
const BINS: [(f64, &str); 8] = [
    (0.0, "exact"),
    (0.01, "to 1 %"),
    (0.1, "to 10 %"),
    (0.25, "to 25 %"),
    (0.5, "to 50 %"),
    (0.75, "to 75 %"),
    (1.0, "to 100 %"),
    (f64::INFINITY, "beyond"),
];

const ROW: usize = 22;
const WIDTH: usize = 360;
const LABEL: usize = 72;
const COUNT: usize = 56;

pub(super) fn write(page: &mut String, run: &RunRecord, column: usize) -> std::fmt::Result {
    let counts = counts(facts::column(run, column));
    let title = escape(&backend_title(run, column));
    let words: Vec<_> = BINS
        .iter()
        .zip(counts)
        .map(|((_, label), count)| format!("{label}: {count}"))
        .collect();
    write!(
        page,
        "<figure class=\"card\"><figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" \
         aria-label=\"Results by share of the limit: {}\">\n",
        ROW * BINS.len(),
        words.join("; ")
    )?;
    let most = counts.into_iter().max().unwrap_or(0);
    for (i, ((_, label), count)) in BINS.iter().zip(counts).enumerate() {
        let middle = i * ROW + ROW / 2;
        let length = length(count, most);
        let class = if i + 1 == BINS.len() { "bar beyond" } else { "bar" };
        writeln!(
            page,
            "<text x=\"{}\" y=\"{middle}\" class=\"label\">{label}</text><rect class=\"{class}\" x=\"{LABEL}\" y=\"{}\" \
             width=\"{length:.1}\" height=\"{}\" rx=\"2\"/><text x=\"{:.1}\" y=\"{middle}\">{}</text>",
            LABEL - 8,
            i * ROW + 3,
            ROW - 6,
            LABEL as f64 + length + 6.0,
            count_text(count)
        )?;
    }
    page.push_str("</svg></figure>\n");
    Ok(())
}

fn counts<'a>(results: impl Iterator<Item = &'a CaseResult>) -> [usize; BINS.len()] {
    let mut counts = [0; BINS.len()];
    for result in results.filter(|result| result.verdict != Verdict::KnownFailure) {
        let Some(error) = &result.vs_oracle else { continue };
        let bin = BINS.iter().position(|(end, _)| error.limit_used <= *end);
        counts[bin.unwrap_or(BINS.len() - 1)] += 1;
    }
    counts
}

/// A bar's length: logarithmic, so that a single result beyond the limit shows beside thousands of exact ones.
fn length(count: usize, most: usize) -> f64 {
    if count == 0 {
        return 0.0;
    }
    let room = (WIDTH - LABEL - COUNT) as f64;
    room * (1.0 + count as f64).ln() / (1.0 + most as f64).ln()
}
