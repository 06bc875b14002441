//! Component by backend: one row a family of ops, each cell what ran, what agreed and the worst error.

use parity_model::record::{CaseRecord, RunRecord};

use crate::{
    cells::{Cell, families},
    facts::{SCORE_DEFINITION, count_text, error_text},
    gfm::Table,
    markdown::backend_title,
};

pub(super) fn render(run: &RunRecord) -> String {
    let mut page = super::opening("Components by backend", run);
    page.push_str(&format!("\n{SCORE_DEFINITION}\n"));
    for column in 0..run.backends.len() {
        page.push_str(&format!("\n## {}\n\n", backend_title(run, column)));
        page.push_str(&table(run, column).render());
    }
    page.push_str(
        "\nWorst error: in ULP of the output's dtype and as a share of the limit, against the oracle, known failures left \
         out; 0 where every result is exact.\n",
    );
    page
}

fn table(run: &RunRecord, column: usize) -> Table {
    let mut table = Table::new([
        "component",
        "ops",
        "executed",
        "agreed",
        "score",
        "worst error",
        "known",
        "failing",
        "by CPU",
        "not run",
    ]);
    for family in families(run) {
        let of_family = |case: &&CaseRecord| case.family == family;
        table.row(row(family, run.cases.iter().filter(of_family), column));
    }
    table.row(row("all", run.cases.iter(), column));
    table
}

fn row<'a>(name: &str, cases: impl Iterator<Item = &'a CaseRecord>, column: usize) -> Vec<String> {
    let cases: Vec<_> = cases.collect();
    let ops: std::collections::BTreeSet<_> = cases.iter().map(|case| (&case.family, &case.op)).collect();
    let results: Vec<_> = cases.iter().filter_map(|case| case.results.get(column)).collect();
    let Some(cell) = Cell::of(results) else {
        return vec![name.to_owned()];
    };
    let score = cell.score;
    let blank_zero = |count: usize| {
        if count == 0 {
            String::new()
        } else {
            count_text(count)
        }
    };
    vec![
        name.to_owned(),
        count_text(ops.len()),
        count_text(score.executed),
        count_text(score.agreed),
        score.percent(),
        cell.worst.map_or_else(|| "-".to_owned(), error_text),
        blank_zero(score.known),
        blank_zero(score.failing),
        blank_zero(score.by_fallback),
        blank_zero(score.not_run),
    ]
}
