//! The heat map of a backend: op by dtype, colored by the share of the limit that the worst error used.

use std::fmt::Write;

use parity_model::record::RunRecord;

use super::{data::Data, escape};
use crate::{
    cells::{Cell, families, grid},
    facts::{count_text, share_text, ulp_text},
    markdown::backend_title,
};

/// Upper ends of the shares of a limit that share a color, and the class of each.
const HEAT: [(f64, &str, &str); 5] = [
    (0.0, "h0", "exact"),
    (0.25, "h1", "up to 25 %"),
    (0.5, "h2", "up to 50 %"),
    (0.75, "h3", "up to 75 %"),
    (f64::INFINITY, "h4", "up to the limit"),
];

pub(super) fn write(page: &mut String, run: &RunRecord, column: usize, data: &Data<'_>) -> std::fmt::Result {
    let title = escape(&backend_title(run, column));
    write!(
        page,
        "<section class=\"map\" data-backend=\"{column}\">\n<h2>{title}: ops by dtype</h2>\n"
    )?;
    page.push_str("<div class=\"scroll\" tabindex=\"-1\">\n<table>\n");
    let dtypes = dtypes(run);
    page.push_str("<thead><tr><th scope=\"col\">op</th>");
    for dtype in &dtypes {
        write!(page, "<th scope=\"col\">{}</th>", escape(dtype))?;
    }
    page.push_str("</tr></thead>\n");
    for family in families(run) {
        let grid = grid(run, family, column);
        write!(
            page,
            "<tbody>\n<tr class=\"family\"><th scope=\"rowgroup\" colspan=\"{}\"><span>{}</span></th></tr>\n",
            dtypes.len() + 1,
            escape(family)
        )?;
        for (op, cells) in &grid.rows {
            write!(page, "<tr class=\"op\"><th scope=\"row\">{}</th>", breakable(op))?;
            for dtype in &dtypes {
                let place = grid.dtypes.iter().position(|known| known == dtype);
                let cell = place.and_then(|place| cells[place].as_ref());
                let number = data.number((family, op, dtype));
                write_cell(page, cell.zip(number), &format!("{op} {dtype}"))?;
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</tbody>\n");
    }
    page.push_str("</table>\n</div>\n</section>\n");
    Ok(())
}

/// The dtypes of the whole run: the maps of all families share their columns.
fn dtypes(run: &RunRecord) -> Vec<&str> {
    let used = |dtype: &&str| run.cases.iter().any(|case| case.dtype == *dtype);
    let mut dtypes: Vec<_> = parity_model::DType::ALL
        .iter()
        .map(|dtype| dtype.name())
        .filter(used)
        .collect();
    for case in &run.cases {
        // A dtype that a newer parity wrote and this table lacks.
        if !dtypes.contains(&case.dtype.as_str()) {
            dtypes.push(&case.dtype);
        }
    }
    dtypes
}

fn write_cell(page: &mut String, cell: Option<(&Cell, usize)>, name: &str) -> std::fmt::Result {
    let Some((cell, number)) = cell else {
        page.push_str("<td></td>");
        return Ok(());
    };
    let (class, text) = face(cell);
    write!(
        page,
        "<td><button type=\"button\" class=\"{class}\" data-cell=\"{number}\" tabindex=\"-1\" title=\"{}\">{text}</button></td>",
        escape(&format!("{name}: {}", sentence(cell)))
    )
}

/// The class and the text of a cell: the worst error in ULP, or how many results do not agree.
fn face(cell: &Cell) -> (&'static str, String) {
    let score = cell.score;
    if score.failing > 0 {
        return ("bad", format!("\u{2715}\u{a0}{}", score.failing));
    }
    if score.known > 0 {
        return ("known", format!("\u{2248}\u{a0}{}", score.known));
    }
    if score.by_fallback > 0 {
        return ("fallback", "CPU".to_owned());
    }
    let Some(worst) = cell.worst else {
        // Refused alike, or nothing to compare: agreement without a figure.
        return ("h0", "=".to_owned());
    };
    let used = worst.limit_used;
    let class = HEAT
        .iter()
        .find(|(end, ..)| used <= *end)
        .map_or("h4", |(_, class, _)| class);
    (class, short(worst.ulp))
}

/// A figure without zeros that say nothing: `1`, `0.5`, `1.7e7`.
fn short(ulp: f64) -> String {
    let text = ulp_text(ulp);
    match text.split_once('.') {
        Some((_, digits)) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => text,
    }
}

/// A name that a narrow screen may break after its underscores.
fn breakable(name: &str) -> String {
    escape(name).replace('_', "_<wbr>")
}

fn sentence(cell: &Cell) -> String {
    let score = cell.score;
    let mut text = format!(
        "{} of {} agree",
        count_text(score.agreed),
        count_text(score.executed)
    );
    if let Some(worst) = cell.worst {
        if worst.ulp == 0.0 && worst.limit_used == 0.0 {
            text.push_str(", all exact");
        } else {
            let (ulp, share) = (ulp_text(worst.ulp), share_text(worst.limit_used));
            text.push_str(&format!(", worst error {ulp} ULP, {share} of its limit"));
        }
    }
    for (verdict, count) in cell.totals.given() {
        if !crate::facts::agrees(verdict) {
            text.push_str(&format!(", {count} {}", verdict.name()));
        }
    }
    if score.by_fallback > 0 {
        text.push_str(&format!(", {} by CPU fallback", score.by_fallback));
    }
    text
}

pub(super) fn write_legend(page: &mut String) -> std::fmt::Result {
    page.push_str("<p class=\"legend\"><span>A cell's figure is its worst error in ULP, its color the share of the limit:</span>");
    for (_, class, words) in HEAT {
        write!(page, " <span><i class=\"{class}\"></i>{words}</span>")?;
    }
    page.push_str(
        " <span><i class=\"bad\">\u{2715}</i>fails the run</span> <span><i class=\"known\">\u{2248}</i>known failures</span> \
         <span><i class=\"fallback\"></i>computed by the CPU</span> <span>= agreement without a figure</span></p>\n",
    );
    Ok(())
}
