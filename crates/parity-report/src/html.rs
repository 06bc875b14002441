//! A run as one HTML page that needs nothing else: heat maps of op by dtype, error histograms, and the cases of
//! each cell. What a reader sees at once is rendered here; the cases are data that the page's script lists on
//! demand.

mod data;
mod histogram;
mod map;
mod scatter;

use std::fmt::Write;

use parity_model::record::RunRecord;

use crate::{
    Shared, Totals,
    cells::families,
    facts::{self, SCORE_DEFINITION, Score, count_text, known_failures},
    shared::SHARED_DEFINITION,
    trend::Trend,
};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Renders the page.
///
/// # Errors
/// When a value has no JSON form; none of the record's lacks one.
pub fn render(run: &RunRecord) -> Result<String, serde_json::Error> {
    render_with(run, &[])
}

/// Renders the page with a chart for each trend, of the column that it is named by.
///
/// # Errors
/// As [`render`].
pub fn render_with(run: &RunRecord, trends: &[(&str, Trend<'_>)]) -> Result<String, serde_json::Error> {
    let data = data::Data::of(run);
    let packed = data.packed()?;
    let mut page = String::new();
    // Writing to a `String` does not fail.
    let _ = write_page(&mut page, run, trends, &data, &packed);
    Ok(page)
}

fn write_page(
    page: &mut String,
    run: &RunRecord,
    trends: &[(&str, Trend<'_>)],
    data: &data::Data<'_>,
    packed: &str,
) -> std::fmt::Result {
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>parity: {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(&title(run))
    )?;
    write_header(page, run)?;
    page.push_str("<main>\n");
    write_controls(page, run)?;
    page.push_str("<div class=\"split\">\n<div>\n");
    map::write_legend(page)?;
    for column in 0..run.backends.len() {
        map::write(page, run, column, data)?;
    }
    write_histograms(page, run)?;
    write_known(page, run)?;
    write_trends(page, trends)?;
    page.push_str("</div>\n");
    page.push_str(PANEL);
    page.push_str("</div>\n");
    page.push_str("</main>\n");
    write!(
        page,
        "<script type=\"application/gzip\" id=\"data\">{packed}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// Where the script lists cases.
const PANEL: &str = "<section class=\"panel\" id=\"panel\" aria-labelledby=\"panel-title\" hidden>\n\
    <header><h2 id=\"panel-title\" tabindex=\"-1\"></h2><button type=\"button\" id=\"close\">Close</button></header>\n\
    <p id=\"panel-sum\"></p>\n<div id=\"cases\"></div>\n<button type=\"button\" id=\"more\" hidden></button>\n</section>\n";

fn title(run: &RunRecord) -> String {
    let tested = run
        .backends
        .iter()
        .filter(|backend| backend.backend != run.reference);
    let names: Vec<_> = tested.map(|backend| backend.backend.as_str()).collect();
    if names.is_empty() {
        return run.reference.clone();
    }
    format!("{} against {}", names.join(", "), run.reference)
}

fn write_header(page: &mut String, run: &RunRecord) -> std::fmt::Result {
    let commit = run.commit.as_deref().unwrap_or("unknown commit");
    write!(
        page,
        "<header class=\"top\">\n<h1><span>parity</span> {}</h1>\n\
         <p class=\"provenance\">parity {} ({}) · candle-core {} · {} · {:.1} s · seed {} · {} of {}</p>\n\
         <div class=\"cards\">\n",
        escape(&title(run)),
        escape(&run.parity_version),
        escape(commit),
        escape(&run.candle_version),
        escape(&run.started),
        run.seconds,
        run.seed,
        facts::planned_text(run),
        escape(&families(run).join(", ")),
    )?;
    for column in 0..run.backends.len() {
        write_card(page, run, column)?;
    }
    write!(page, "</div>\n<p class=\"small\">{SCORE_DEFINITION}</p>\n")?;
    if (0..run.backends.len()).any(|column| Shared::of(run, column).is_some()) {
        writeln!(page, "<p class=\"small\">{SHARED_DEFINITION}</p>")?;
    }
    page.push_str("</header>\n");
    Ok(())
}

/// A backend: its device, its score, its verdicts.
fn write_card(page: &mut String, run: &RunRecord, column: usize) -> std::fmt::Result {
    let backend = &run.backends[column];
    let score = Score::of(facts::column(run, column));
    let role = if backend.backend == run.reference {
        ", the reference"
    } else {
        ""
    };
    write!(
        page,
        "<section class=\"card\">\n<h2>{} <span class=\"level\">level {}{role}</span></h2>\n<p class=\"device\">{}</p>\n\
         <p class=\"score\"><strong>{}</strong> {} of {} executed agree</p>\n",
        escape(&backend.backend),
        escape(&backend.level),
        escape(&device(backend)),
        score.percent(),
        count_text(score.agreed),
        count_text(score.executed),
    )?;
    if let Some(shared) = Shared::of(run, column) {
        writeln!(page, "<p class=\"device\">{shared}</p>")?;
    }
    page.push_str("<p class=\"verdicts\">");
    for (verdict, count) in Totals::of(facts::column(run, column)).given() {
        let class = class_of(verdict.fails_run(), facts::agrees(verdict));
        write!(
            page,
            "<button type=\"button\" class=\"verdict {class}\" data-backend=\"{column}\" data-verdict=\"{0}\">{1} {0}</button>",
            verdict.name(),
            count_text(count),
        )?;
    }
    if score.by_fallback > 0 {
        write!(
            page,
            "<span class=\"verdict known\">{} by CPU fallback</span>",
            count_text(score.by_fallback)
        )?;
    }
    page.push_str("</p>\n</section>\n");
    Ok(())
}

fn device(backend: &parity_model::record::BackendInfo) -> String {
    let target = Some(backend.target.as_str()).filter(|target| !target.is_empty());
    [
        Some(backend.device.as_str()),
        target,
        Some(backend.driver.as_str()),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(" · ")
}

/// The class that colors a verdict or a cell.
fn class_of(fails: bool, agrees: bool) -> &'static str {
    match (fails, agrees) {
        (true, _) => "bad",
        (false, true) => "good",
        (false, false) => "known",
    }
}

fn write_controls(page: &mut String, run: &RunRecord) -> std::fmt::Result {
    page.push_str(
        "<noscript><p>Without JavaScript the maps, the histograms and the known failures are all there is; the cases \
         behind a cell are in the JSON and CSV forms of this report.</p></noscript>\n\
         <p id=\"unreadable\" hidden>This browser cannot unpack the cases, for which it needs DecompressionStream (Chromium 80, Firefox \
         113, Safari 16.4 or later): they are in the JSON and CSV forms of this report.</p>\n\
         <form class=\"controls\" role=\"search\" hidden>\n<label>Filter <input type=\"search\" id=\"filter\" \
         placeholder=\"exp f16 transposed\" autocomplete=\"off\" spellcheck=\"false\"></label>\n\
         <label>Verdict <select id=\"verdict\"><option value=\"\">any</option><option value=\"!\">fails the run</option>",
    );
    for (verdict, _) in Totals::of(run.cases.iter().flat_map(|case| &case.results)).given() {
        write!(page, "<option>{}</option>", verdict.name())?;
    }
    page.push_str("</select></label>\n<fieldset><legend>Backend</legend>");
    for (column, backend) in run.backends.iter().enumerate() {
        write!(
            page,
            "<label><input type=\"radio\" name=\"backend\" value=\"{column}\"> {}</label>",
            escape(&backend.backend)
        )?;
    }
    page.push_str("</fieldset>\n<output id=\"found\"></output>\n</form>\n");
    Ok(())
}

fn write_histograms(page: &mut String, run: &RunRecord) -> std::fmt::Result {
    for (histogram, words) in [
        (
            &histogram::SHARES,
            "The worst error of every result as a share of its limit, known failures left out; bars on a logarithmic scale.",
        ),
        (
            &histogram::ULPS,
            "The worst error of every result in units in the last place of the output's dtype, known failures left out. Where a \
             formula cancels, many ULP may be within the limit.",
        ),
    ] {
        write!(
            page,
            "<section>\n<h2>{}</h2>\n<p class=\"small\">{words}</p>\n<div class=\"cards\">\n",
            histogram.heading
        )?;
        for column in 0..run.backends.len() {
            histogram::write(page, run, column, histogram)?;
        }
        page.push_str("</div>\n</section>\n");
    }
    write_scatters(page, run)
}

fn write_scatters(page: &mut String, run: &RunRecord) -> std::fmt::Result {
    page.push_str(
        "<section>\n<h2>Error against magnitude</h2>\n<p class=\"small\">The worst element of every inexact result; \
         <span><i class=\"dot good-dot\"></i>agrees</span> <span><i class=\"dot known-dot\"></i>known failure</span> \
         <span><i class=\"dot bad-dot\"></i>fails the run</span></p>\n<div class=\"cards\">\n",
    );
    for column in 0..run.backends.len() {
        scatter::write(page, run, column)?;
    }
    page.push_str("</div>\n</section>\n");
    Ok(())
}

/// How the figures of each column went over stored runs.
fn write_trends(page: &mut String, trends: &[(&str, Trend<'_>)]) -> std::fmt::Result {
    if trends.is_empty() {
        return Ok(());
    }
    page.push_str("<section>\n<h2>Trend</h2>\n");
    for (backend, trend) in trends {
        write!(page, "<h3>{}</h3>\n<ul>", escape(backend))?;
        for run in trend.runs() {
            let commit = run.commit.as_deref().unwrap_or("unknown commit");
            let cases = count_text(run.cases.len());
            write!(
                page,
                "<li>{} ({}), {cases} cases</li>",
                escape(&run.started),
                escape(commit)
            )?;
        }
        // Scores and times are read off the charts' titles, and `parity trend` has all of it.
        writeln!(page, "</ul>\n{}", trend.svg())?;
    }
    page.push_str("</section>\n");
    Ok(())
}

fn write_known(page: &mut String, run: &RunRecord) -> std::fmt::Result {
    page.push_str("<section>\n<h2>Known failures</h2>\n");
    let reasons = known_failures(run);
    if reasons.is_empty() {
        page.push_str("<p>None.</p>\n");
    }
    for reason in reasons {
        write!(
            page,
            "<details class=\"case\"><summary><b class=\"verdict known\">{} on {}</b> {}</summary>\n<pre>",
            count_text(reason.cases.len()),
            escape(reason.backend),
            escape(reason.text)
        )?;
        for case in reason.cases {
            writeln!(page, "{}", escape(&case.id))?;
        }
        page.push_str("</pre></details>\n");
    }
    page.push_str("</section>\n");
    Ok(())
}

/// Text as HTML, in content and in quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}
