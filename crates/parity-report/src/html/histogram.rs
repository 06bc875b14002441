//! Histograms of errors, as inline SVG: as shares of their limits, and in units in the last place.

use std::fmt::Write;

use parity_model::{
    Metrics, Verdict,
    record::{CaseResult, RunRecord},
};

use super::escape;
use crate::{
    facts::{self, count_text},
    markdown::backend_title,
};

/// What is counted, and into which bins.
pub(super) struct Histogram {
    pub(super) heading: &'static str,
    /// What a label for those who cannot see the bars begins with.
    spoken: &'static str,
    figure: fn(&Metrics) -> f64,
    /// Upper ends of the bins and their labels.
    bins: &'static [(f64, &'static str)],
    /// Bins from this one on are colored as errors.
    bad: usize,
}

pub(super) const SHARES: Histogram = Histogram {
    heading: "Share of the limit used",
    spoken: "Results by share of the limit",
    figure: |error| error.limit_used,
    bins: &[
        (0.0, "exact"),
        (0.01, "to 1 %"),
        (0.1, "to 10 %"),
        (0.25, "to 25 %"),
        (0.5, "to 50 %"),
        (0.75, "to 75 %"),
        (1.0, "to 100 %"),
        (f64::INFINITY, "beyond"),
    ],
    bad: 7,
};

/// No bin is bad in itself: a limit need not be a number of ULP.
pub(super) const ULPS: Histogram = Histogram {
    heading: "Errors in ULP",
    spoken: "Results by error in ULP",
    figure: |error| error.max_ulp,
    bins: &[
        (0.0, "exact"),
        (1.0, "to 1"),
        (2.0, "to 2"),
        (4.0, "to 4"),
        (16.0, "to 16"),
        (256.0, "to 256"),
        (65_536.0, "to 65,536"),
        (f64::MAX, "more"),
        (f64::INFINITY, "infinite"),
    ],
    bad: 8,
};

const ROW: usize = 22;
const WIDTH: usize = 360;
const LABEL: usize = 72;
const COUNT: usize = 56;

pub(super) fn write(
    page: &mut String,
    run: &RunRecord,
    column: usize,
    histogram: &Histogram,
) -> std::fmt::Result {
    let bins = histogram.bins;
    let counts = counts(facts::column(run, column), histogram);
    let title = escape(&backend_title(run, column));
    let words = bins.iter().zip(&counts);
    let words: Vec<_> = words
        .map(|((_, label), count)| format!("{label}: {count}"))
        .collect();
    write!(
        page,
        "<figure class=\"card\"><figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" \
         aria-label=\"{}: {}\">\n",
        ROW * bins.len(),
        histogram.spoken,
        words.join("; ")
    )?;
    let most = counts.iter().copied().max().unwrap_or(0);
    for (i, ((_, label), count)) in bins.iter().zip(counts).enumerate() {
        let middle = i * ROW + ROW / 2;
        let length = length(count, most);
        let class = if i >= histogram.bad { "bar beyond" } else { "bar" };
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

fn counts<'a>(results: impl Iterator<Item = &'a CaseResult>, histogram: &Histogram) -> Vec<usize> {
    let mut counts = vec![0; histogram.bins.len()];
    for result in results.filter(|result| result.verdict != Verdict::KnownFailure) {
        let Some(error) = &result.vs_oracle else { continue };
        let figure = (histogram.figure)(error);
        let bin = histogram.bins.iter().position(|(end, _)| figure <= *end);
        counts[bin.unwrap_or(histogram.bins.len() - 1)] += 1;
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
