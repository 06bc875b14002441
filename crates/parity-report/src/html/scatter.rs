//! The worst element of every inexact result: its error over the size of the value that it should have had, as inline SVG.
//! Both scales are logarithmic; a value of zero, and an infinite error, have a lane of their own.

use std::{collections::BTreeSet, fmt::Write};

use parity_model::{
    Verdict,
    record::{CaseResult, RunRecord},
};

use super::escape;
use crate::{
    facts::{self, agrees, count_text},
    markdown::backend_title,
};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 280.0;
/// The plot inside, in the same units.
const LEFT: f64 = 58.0;
const RIGHT: f64 = 436.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 236.0;
/// Between a lane and the scale.
const LANE: f64 = 34.0;

/// What became of a result, as its dot shows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DotClass {
    Agrees,
    Known,
    Fails,
}

impl DotClass {
    /// In the order they are drawn: the last lies on top.
    const ALL: [(DotClass, &'static str, &'static str); 3] = [
        (DotClass::Agrees, "dots", "agrees"),
        (DotClass::Known, "dots knowns", "known failure"),
        (DotClass::Fails, "dots fails", "fails the run"),
    ];

    fn of(verdict: Verdict) -> DotClass {
        match (agrees(verdict), verdict.fails_run()) {
            (true, _) => DotClass::Agrees,
            (false, true) => DotClass::Fails,
            (false, false) => DotClass::Known,
        }
    }
}

/// A dot, in powers of ten; `None` is drawn in the lane.
#[derive(Clone, Copy)]
struct Dot {
    kind: DotClass,
    magnitude: Option<f64>,
    ulp: Option<f64>,
}

/// The powers of ten between which a scale runs. The same for every run, so that plots can be compared. A value
/// beyond an end is drawn at that end.
#[derive(Clone, Copy)]
struct Scale {
    low: i32,
    high: i32,
    step: i32,
    /// Whether a value may lie below the low end.
    open: bool,
}

const ACROSS: Scale = Scale {
    low: -8,
    high: 8,
    step: 4,
    open: true,
};
/// An error of less than an ULP is drawn as one.
const UP: Scale = Scale {
    low: 0,
    high: 8,
    step: 2,
    open: false,
};

impl Scale {
    /// The marks, with their labels.
    fn ticks(self) -> impl Iterator<Item = (f64, String)> {
        let count = (self.high - self.low) / self.step;
        (0..=count).map(move |i| {
            let exponent = self.low + self.step * i;
            let beyond = match exponent {
                end if end == self.high => "\u{2265}",
                end if end == self.low && self.open => "\u{2264}",
                _ => "",
            };
            let power = if exponent == 0 {
                "1".to_owned()
            } else {
                format!("1e{exponent}")
            };
            (f64::from(exponent), format!("{beyond}{power}"))
        })
    }

    /// Where a value lies between the ends.
    fn part(self, value: f64) -> f64 {
        let (low, high) = (f64::from(self.low), f64::from(self.high));
        (value.clamp(low, high) - low) / (high - low)
    }
}

fn x(magnitude: Option<f64>) -> f64 {
    let start = LEFT + LANE;
    magnitude.map_or(LEFT, |magnitude| start + ACROSS.part(magnitude) * (RIGHT - start))
}

fn y(ulp: Option<f64>) -> f64 {
    let end = TOP + LANE;
    ulp.map_or(TOP, |ulp| BOTTOM - UP.part(ulp) * (BOTTOM - end))
}

pub(super) fn write(page: &mut String, run: &RunRecord, column: usize) -> std::fmt::Result {
    let (dots, left_out) = dots(facts::column(run, column));
    let title = escape(&backend_title(run, column));
    let counts = DotClass::ALL.map(|(kind, _, words)| {
        let count = dots.iter().filter(|dot| dot.kind == kind).count();
        format!("{words}: {count}")
    });
    write!(
        page,
        "<figure class=\"card\"><figcaption>{title}</figcaption>\n<svg class=\"scatter\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"Errors in ULP over the size of the expected value; {}\">\n",
        counts.join("; ")
    )?;
    write_axes(page)?;
    for (kind, class, _) in DotClass::ALL {
        // Dots that fall on one another are drawn once; tenths of a unit are finer than a screen shows.
        let place = |dot: &Dot| {
            let tenths = |length: f64| (length * 10.0).round() as i64;
            (tenths(x(dot.magnitude)), tenths(y(dot.ulp)))
        };
        let places: BTreeSet<_> = dots.iter().filter(|dot| dot.kind == kind).map(place).collect();
        if places.is_empty() {
            continue;
        }
        write!(page, "<path class=\"{class}\" d=\"")?;
        for (x, y) in places {
            write!(page, "M{} {}h0", x as f64 / 10.0, y as f64 / 10.0)?;
        }
        page.push_str("\"/>\n");
    }
    page.push_str("</svg>\n");
    let some_left = if left_out == 0 {
        String::new()
    } else {
        format!(
            ", {} left out: the value should be infinite or NaN",
            count_text(left_out)
        )
    };
    writeln!(
        page,
        "<p class=\"small\">{} inexact results{some_left}</p></figure>",
        count_text(dots.len() + left_out)
    )
}

fn write_axes(page: &mut String) -> std::fmt::Result {
    let bottom = BOTTOM + 16.0;
    for (exponent, label) in ACROSS.ticks() {
        let x = x(Some(exponent));
        write!(
            page,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\
             <text class=\"tick middle\" x=\"{x:.1}\" y=\"{bottom}\">{label}</text>"
        )?;
    }
    for (exponent, label) in UP.ticks() {
        let y = y(Some(exponent));
        write!(
            page,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"tick label\" x=\"{}\" y=\"{y:.1}\">{label}</text>",
            LEFT - 8.0
        )?;
    }
    let (zero, infinite) = (x(None), y(None));
    writeln!(
        page,
        "<text class=\"tick middle\" x=\"{zero}\" y=\"{bottom}\">0</text>\
         <text class=\"tick label\" x=\"{}\" y=\"{infinite}\">inf</text>\
         <text class=\"tick\" x=\"4\" y=\"8\">error, ULP</text>\
         <text class=\"tick middle\" x=\"{}\" y=\"{}\">size of the expected value</text>",
        LEFT - 8.0,
        (LEFT + RIGHT) / 2.0,
        HEIGHT - 6.0
    )
}

/// The dots, and how many results have none because the expected value is not finite.
fn dots<'a>(results: impl Iterator<Item = &'a CaseResult>) -> (Vec<Dot>, usize) {
    let (mut dots, mut left_out) = (Vec::new(), 0);
    for result in results {
        let worst = result.vs_oracle.as_ref().and_then(|error| error.worst.as_ref());
        let Some(worst) = worst.filter(|worst| worst.ulp > 0.0) else {
            continue;
        };
        match worst.expected.parse::<f64>() {
            Ok(expected) if expected.is_finite() => dots.push(Dot {
                kind: DotClass::of(result.verdict),
                magnitude: (expected != 0.0).then(|| expected.abs().log10()),
                ulp: worst.ulp.is_finite().then(|| worst.ulp.log10()),
            }),
            _ => left_out += 1,
        }
    }
    (dots, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_an_end_of_a_scale_stands_at_it() {
        let parts = [-400.0, -8.0, 0.0, 8.0, 300.0].map(|value| ACROSS.part(value));
        assert_eq!(parts, [0.0, 0.0, 0.5, 1.0, 1.0]);
        let labels: Vec<_> = UP.ticks().map(|(_, label)| label).collect();
        assert_eq!(labels, ["1", "1e2", "1e4", "1e6", "\u{2265}1e8"]);
    }

    #[test]
    fn a_zero_and_an_infinite_error_have_lanes_of_their_own() {
        assert!(x(None) < x(Some(-400.0)));
        assert!(y(None) < y(Some(300.0)), "up is less");
    }
}
