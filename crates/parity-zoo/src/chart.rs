//! A bisection as one HTML page without scripts: how an error grows over the ops of a network, and what each op adds.

use std::fmt::Write as _;

use crate::{Bisection, Step, render::operands};

/// Units of the chart: of an op, of a decade, and beside and below the plot.
const OP: f64 = 7.0;
const DECADE: f64 = 20.0;
const LEFT: f64 = 56.0;
const BELOW: f64 = 36.0;
/// The decades that it shows: from 1e-17, below a rounding of f64, to 1.
const DECADES: f64 = 17.0;

const STYLE: &str = "body{font:15px/1.5 sans-serif;margin:2em auto;max-width:80em;padding:0 1em;color:#1a1a1a;background:#fff}\
    svg{width:100%;height:auto}figure{margin:1em 0;overflow-x:auto}table{border-collapse:collapse}caption{text-align:left;padding:.3em 0}\
    th,td{padding:.15em .6em;text-align:right;border-bottom:1px solid #ddd}th:nth-child(2),td:nth-child(2),th:last-child,td:last-child{text-align:left}\
    tr.outside{background:#fde3e1;font-weight:bold}.key{display:inline-block;width:1.2em;height:.5em;margin-right:.4em}";

/// The series: a name, a colour that has contrast 3 and more against white, and its value at an op, relative to the op's magnitude.
type Series = (&'static str, &'static str, fn(&Step) -> Option<f64>);

const SERIES: [Series; 4] = [
    ("distance from the network in f64", "#0b5fa5", |step| {
        relative(step, step.op.drift?)
    }),
    (
        "what the op adds, its inputs being the device's",
        "#b3261e",
        |step| compared(step, step.op.device),
    ),
    ("what the CPU adds for the same inputs", "#5f6368", |step| {
        compared(step, step.op.cpu)
    }),
    ("what the op may add", "#8a5a00", |step| {
        compared(step, step.limit)
    }),
];

fn compared(step: &Step, distance: f64) -> Option<f64> {
    relative(step, distance).filter(|_| step.op.skipped.is_none())
}

fn relative(step: &Step, distance: f64) -> Option<f64> {
    Some(distance / step.op.magnitude.max(f64::MIN_POSITIVE)).filter(|share| share.is_finite())
}

/// A bisection as a page.
pub fn bisection_html(found: &Bisection) -> String {
    let title = format!("{} {} on {}", found.model, found.dtype, found.backend.backend);
    let title = escape(&title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style></head>\n<body><main><h1>{title}</h1>\n"
    );
    let verdict = match found
        .first
        .and_then(|place| Some((place, found.steps.get(place)?)))
    {
        None => "No op is outside its limit.".to_owned(),
        Some((place, step)) => format!(
            "Op {place}, <code>{}</code> of {}, is the first outside its limit.",
            escape(&step.op.op),
            escape(&operands(step))
        ),
    };
    let device = escape(&format!(
        "{}, {}, level {}",
        found.backend.device, found.backend.driver, found.backend.level
    ));
    let fallbacks = found
        .fallbacks
        .iter()
        .map(|(op, count)| format!(" {} ran on the CPU, {count} times.", escape(op)));
    let _ = writeln!(
        page,
        "<p>{verdict}{} The device: {device}.</p>",
        fallbacks.collect::<String>()
    );
    let _ = writeln!(
        page,
        "<figure>{}<figcaption>{}</figcaption></figure>",
        chart(found),
        keys()
    );
    page.push_str(&table(found));
    page.push_str("</main></body></html>\n");
    page
}

fn keys() -> String {
    let key = |(name, colour, _): &Series| {
        format!("<div><span class=\"key\" style=\"background:{colour}\"></span>{name}</div>")
    };
    let keys: String = SERIES.iter().map(key).collect();
    format!("Errors relative to the largest element of each op's result.{keys}")
}

/// The height of a share in the plot; what is smaller than the last decade is at the bottom.
fn height(share: f64) -> f64 {
    -share.log10().clamp(-DECADES, 0.0) * DECADE + 10.0
}

fn chart(found: &Bisection) -> String {
    #[expect(
        clippy::cast_precision_loss,
        reason = "networks have thousands of ops, not 2^53"
    )]
    let at = |place: usize| OP.mul_add(place as f64, LEFT);
    let (right, bottom) = (at(found.steps.len()), DECADES.mul_add(DECADE, 10.0));
    let (wide, high) = (right + OP, bottom + BELOW);
    let mut image = format!(
        "<svg viewBox=\"0 0 {wide:.0} {high:.0}\" role=\"img\" font-family=\"sans-serif\" font-size=\"11\"><title>Errors of {} ops, by \
         decades</title>\n",
        found.steps.len()
    );
    for decade in (0..=17).step_by(3) {
        let y = height(10_f64.powi(-decade));
        let _ = writeln!(
            image,
            "<line x1=\"{LEFT}\" x2=\"{right:.0}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/><text x=\"0\" y=\"{:.1}\">1e-{decade}</text>",
            y + 4.0
        );
    }
    for place in (0..found.steps.len()).step_by(20) {
        let _ = writeln!(
            image,
            "<text x=\"{:.1}\" y=\"{:.1}\">{place}</text>",
            at(place),
            bottom + 18.0
        );
    }
    for (name, colour, value) in SERIES {
        let points = found.steps.iter().enumerate().filter_map(|(place, step)| {
            let share = value(step)?;
            Some(format!("{:.1},{:.1}", at(place), height(share)))
        });
        let points: Vec<String> = points.collect();
        let _ = writeln!(
            image,
            "<g><title>{name}</title><polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/></g>",
            points.join(" ")
        );
    }
    for (place, step) in found.steps.iter().enumerate().filter(|(_, step)| step.is_outside) {
        let y = compared(step, step.op.device).map_or(10.0, height);
        let _ = writeln!(
            image,
            "<g><title>op {place}, {}, is outside its limit</title><circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#b3261e\"/></g>",
            escape(&step.op.op),
            at(place)
        );
    }
    image.push_str("</svg>");
    image
}

fn table(found: &Bisection) -> String {
    let mut page =
        "<table><caption>The ops in their order; errors are absolute</caption><thead><tr>".to_owned();
    for head in [
        "op",
        "name",
        "error",
        "CPU's",
        "limit",
        "distance from f64",
        "operands",
    ] {
        let _ = write!(page, "<th scope=\"col\">{head}</th>");
    }
    page.push_str("</tr></thead><tbody>\n");
    for (place, step) in found.steps.iter().enumerate() {
        let class = if step.is_outside { " class=\"outside\"" } else { "" };
        let figures = match &step.op.skipped {
            Some(why) => format!("<td colspan=\"3\">{}</td>", escape(why)),
            None => format!(
                "<td>{:.1e}</td><td>{:.1e}</td><td>{:.1e}</td>",
                step.op.device, step.op.cpu, step.limit
            ),
        };
        let drift = step
            .op
            .drift
            .map_or_else(|| "-".to_owned(), |drift| format!("{drift:.1e}"));
        let _ = writeln!(
            page,
            "<tr{class}><td>{place}</td><td>{}</td>{figures}<td>{drift}</td><td>{}</td></tr>",
            escape(&step.op.op),
            escape(&operands(step))
        );
    }
    page.push_str("</tbody></table>\n");
    page
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Dtype, Watched, samples};

    #[test]
    fn a_page_draws_each_series_marks_what_is_outside_and_escapes_names() {
        let op = |name: &str, device: f64, skipped: Option<&str>| Watched {
            inputs: vec![vec![2, 3]],
            drift: Some(1e-6),
            skipped: skipped.map(str::to_owned),
            ..samples::op(name, device, 1e-7)
        };
        let answer = Answer {
            ops: vec![
                op("add", 1e-7, None),
                op("<gelu>", 1e-2, None),
                op("sort", 0.0, Some("not <compared>")),
            ],
            ..Answer::default()
        };
        let page = bisection_html(&Bisection::of("m", Dtype::F32, samples::device(), &answer));
        assert!(
            page.contains("Op 1, <code>&lt;gelu&gt;</code> of f32[2,3], is the first outside its limit."),
            "{page}"
        );
        assert_eq!(page.matches("<polyline").count(), SERIES.len());
        assert_eq!(page.matches("<circle").count(), 1);
        // 1e-2 is two decades below the top, and the drift of all three ops six.
        assert!(
            page.contains(&format!("{:.1},{:.1}", LEFT + OP, 2.0f64.mul_add(DECADE, 10.0))),
            "{page}"
        );
        assert_eq!(page.matches(",130.0").count(), 3, "{page}");
        assert!(page.contains("not &lt;compared&gt;") && !page.contains("<gelu>"));
    }
}
