//! Several runs of one backend, one after another: score, worst share of a limit and time of every family, as sparklines
//! and as SVG.

use std::fmt::Write;

use parity_model::record::{CaseResult, RunRecord};
use serde_json::{Value, json};

use crate::{
    facts::{Score, agrees, share_text},
    html::escape,
};

/// Runs in the order given, each with the place of the backend among its columns.
pub struct Trend<'a> {
    runs: Vec<(&'a RunRecord, usize)>,
    families: Vec<Family<'a>>,
}

/// A family's figures, one for each run; `None` where the run has no such result.
struct Family<'a> {
    name: &'a str,
    /// Percent of the executed results that agree.
    scores: Vec<Option<f64>>,
    /// The greatest share of a limit that a result which agrees uses.
    shares: Vec<Option<f64>>,
    /// Seconds on the backend.
    seconds: Vec<Option<f64>>,
}

/// The row that counts every family.
const ALL: &str = "all";

/// A figure of a family: its title, its values, and how one reads.
type Series<'f> = (&'static str, &'f [Option<f64>], fn(f64) -> String);

impl Family<'_> {
    fn series(&self) -> [Series<'_>; 3] {
        [
            ("score", &self.scores, |percent| format!("{percent:.2} %")),
            ("worst share of a limit", &self.shares, share_text),
            ("time", &self.seconds, |seconds| format!("{seconds:.2} s")),
        ]
    }
}

impl<'a> Trend<'a> {
    /// The figures of runs. A family that any of them has is a row; the last row is all of them.
    pub fn of(runs: Vec<(&'a RunRecord, usize)>) -> Trend<'a> {
        let mut names: Vec<&str> = Vec::new();
        for (run, _) in &runs {
            for case in &run.cases {
                if !names.contains(&case.family.as_str()) {
                    names.push(&case.family);
                }
            }
        }
        names.push(ALL);
        let family = |name: &'a str| {
            let each = |figure: fn(&[&CaseResult]) -> Option<f64>| {
                let of = |(run, column): &(&'a RunRecord, usize)| figure(&results(run, *column, name));
                runs.iter().map(of).collect()
            };
            Family {
                name,
                scores: each(score),
                shares: each(worst_share),
                seconds: each(seconds),
            }
        };
        let families = names.into_iter().map(family).collect();
        Trend { runs, families }
    }

    /// A line for each run, then rows of words for each family: name, and for each figure its sparkline and the first and the last
    /// value.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let row = |family: &Family<'_>| {
            let words = family.series().into_iter().flat_map(|(title, values, text)| {
                let mut ends = values.iter().flatten();
                let first = ends.next().map_or("-".to_owned(), |value| text(*value));
                let last = ends.last().map_or(first.clone(), |value| text(*value));
                let ends = match first == last {
                    true => last,
                    false => format!("{first} → {last}"),
                };
                [title.to_owned(), spark(values), ends]
            });
            std::iter::once(family.name.to_owned()).chain(words).collect()
        };
        self.families.iter().map(row).collect()
    }

    /// The figures as JSON: `runs` in order, and `families` with a list of values for each figure, null where a run has none.
    pub fn json(&self) -> Value {
        let run = |(run, column): &(&RunRecord, usize)| {
            let info = &run.backends[*column];
            json!({
                "started": run.started, "commit": run.commit, "candle_version": run.candle_version,
                "cases": run.cases.len(), "backend": info.backend, "device": info.device, "level": info.level,
            })
        };
        let family = |family: &Family<'_>| json!({"family": family.name, "score": family.scores, "worst_share": family.shares, "seconds": family.seconds});
        json!({
            "runs": self.runs.iter().map(run).collect::<Vec<_>>(),
            "families": self.families.iter().map(family).collect::<Vec<_>>(),
        })
    }

    /// The runs, the earliest first.
    pub fn runs(&self) -> impl Iterator<Item = &'a RunRecord> {
        self.runs.iter().map(|(run, _)| *run)
    }

    /// One SVG image: a row of three small charts for each family. Every chart has its own scale, which its title states.
    pub fn svg(&self) -> String {
        let (left, gap) = (WIDTH_OF_NAMES, 16);
        let width = left + 3 * (CHART.0 + gap);
        let height = HEAD + self.families.len() as u32 * CHART.1;
        let mut page = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"sans-serif\" \
             font-size=\"12\"><title>Score, worst share of a limit and time by family, over {} runs</title>\n",
            self.runs.len()
        );
        for (place, family) in self.families.iter().enumerate() {
            let top = HEAD + place as u32 * CHART.1;
            let name = escape(family.name);
            let _ = writeln!(
                page,
                "<text x=\"0\" y=\"{}\" fill=\"currentColor\">{name}</text>",
                top + 18
            );
            for (column, (title, values, text)) in family.series().into_iter().enumerate() {
                let x = left + column as u32 * (CHART.0 + gap);
                if place == 0 {
                    let _ = writeln!(
                        page,
                        "<text x=\"{x}\" y=\"14\" fill=\"currentColor\">{title}</text>"
                    );
                }
                let words: Vec<_> = values
                    .iter()
                    .map(|value| value.map_or("-".to_owned(), text))
                    .collect();
                let _ = writeln!(
                    page,
                    "<g><title>{name}, {title}: {}</title>{}</g>",
                    escape(&words.join(", ")),
                    chart(values, x, top)
                );
            }
        }
        page.push_str("</svg>\n");
        page
    }
}

/// Units of the image: a chart's width and height, the height above the first, the width of the families' names.
const CHART: (u32, u32) = (180, 26);
const HEAD: u32 = 20;
const WIDTH_OF_NAMES: u32 = 90;

fn results<'a>(run: &'a RunRecord, column: usize, family: &str) -> Vec<&'a CaseResult> {
    let cases = run
        .cases
        .iter()
        .filter(|case| family == ALL || case.family == family);
    cases.filter_map(|case| case.results.get(column)).collect()
}

fn score(results: &[&CaseResult]) -> Option<f64> {
    let score = Score::of(results.iter().copied());
    (score.executed > 0).then(|| 100.0 * score.agreed as f64 / score.executed as f64)
}

fn worst_share(results: &[&CaseResult]) -> Option<f64> {
    let agreeing = results.iter().filter(|result| agrees(result.verdict));
    let shares = agreeing.filter_map(|result| Some(result.vs_oracle.as_ref()?.limit_used));
    shares.reduce(f64::max)
}

fn seconds(results: &[&CaseResult]) -> Option<f64> {
    let millis: f64 = results.iter().map(|result| result.millis).sum();
    (!results.is_empty()).then_some(millis / 1000.0)
}

/// Each value's place between the least (0) and the greatest (1); halfway where all are the same.
fn places(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let finite = || values.iter().flatten().copied().filter(|value| value.is_finite());
    let (least, most) = (
        finite().fold(f64::INFINITY, f64::min),
        finite().fold(f64::NEG_INFINITY, f64::max),
    );
    let place = |value: f64| match most > least {
        true => ((value - least) / (most - least)).clamp(0.0, 1.0),
        false => 0.5,
    };
    values.iter().map(|value| value.map(place)).collect()
}

/// A character for each value, from the least to the greatest; a space where there is none.
fn spark(values: &[Option<f64>]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |place: Option<f64>| place.map_or(' ', |place| BARS[(place * 7.0).round() as usize]);
    places(values).into_iter().map(bar).collect()
}

/// A line through the values, broken where there is none, and a dot at the last.
fn chart(values: &[Option<f64>], x: u32, top: u32) -> String {
    let step = f64::from(CHART.0) / values.len().saturating_sub(1).max(1) as f64;
    let at = |run: usize, place: f64| {
        let (across, down) = (
            f64::from(x) + step * run as f64,
            f64::from(top) + 22.0 - 18.0 * place,
        );
        (across, down)
    };
    let places = places(values);
    let mut page = String::new();
    let mut lines: Vec<Vec<String>> = vec![vec![]];
    for (run, place) in places.iter().enumerate() {
        match place {
            Some(place) => {
                let (across, down) = at(run, *place);
                lines
                    .last_mut()
                    .into_iter()
                    .for_each(|line| line.push(format!("{across:.1},{down:.1}")));
            }
            None => lines.push(vec![]),
        }
    }
    for line in lines.iter().filter(|line| line.len() > 1) {
        let _ = write!(
            page,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#2a6fb0\" stroke-width=\"1.5\"/>",
            line.join(" ")
        );
    }
    let last = places
        .iter()
        .enumerate()
        .rev()
        .find_map(|(run, place)| Some((run, (*place)?)));
    if let Some((run, place)) = last {
        let (across, down) = at(run, place);
        let _ = write!(
            page,
            "<circle cx=\"{across:.1}\" cy=\"{down:.1}\" r=\"2.5\" fill=\"#2a6fb0\"/>"
        );
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_spans_the_least_to_the_greatest_value_and_leaves_gaps() {
        assert_eq!(spark(&[Some(1.0), None, Some(3.0), Some(2.0)]), "▁ █▅");
        assert_eq!(spark(&[Some(5.0), Some(5.0)]), "▅▅");
        assert_eq!(spark(&[None]), " ");
        assert_eq!(spark(&[Some(0.0), Some(f64::INFINITY), Some(1.0)]), "▁██");
    }

    #[test]
    fn a_gap_breaks_the_line_of_a_chart() {
        let whole = chart(&[Some(1.0), Some(2.0), Some(3.0), Some(4.0)], 0, 0);
        assert_eq!(whole.matches("<polyline").count(), 1);
        let broken = chart(&[Some(1.0), Some(2.0), None, Some(3.0), Some(4.0)], 0, 0);
        assert_eq!(broken.matches("<polyline").count(), 2);
        assert_eq!(chart(&[None, None], 0, 0), "");
    }
}
