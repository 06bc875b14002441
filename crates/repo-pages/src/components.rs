//! Component by backend: one row a family of ops, each cell what ran, what agreed and the worst error; and how many functions
//! of each part of a backend are there at all.

use parity_model::record::{CaseRecord, RunRecord};
use parity_report::{
    SCORE_DEFINITION, Score,
    cells::{Cell, families},
    count_text, error_text,
    gfm::Table,
    markdown::backend_title,
    shared_count, shared_section,
};

use crate::{functions, sources::Sources};

pub(crate) fn render(run: &RunRecord, sources: &Sources) -> String {
    let mut page = crate::opening("Components by backend", run);
    page.push_str(&format!(
        "\n{SCORE_DEFINITION}\n\n## Parity scores\n\n{}",
        scores(run)
    ));
    if let Some(section) = shared_section(run) {
        page.push_str(&format!("\n{section}"));
    }
    if !sources.is_empty() {
        page.push_str(&format!(
            "\n## Functions of a backend\n\nThose that candle's traits and types ask of one, as they were found in the sources; each is on the page of [coverage](coverage.md).\n\n{}",
            parts(run, sources)
        ));
    }
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

/// A row a component, a column a backend.
fn scores(run: &RunRecord) -> String {
    let titles = (0..run.backends.len()).map(|column| backend_title(run, column));
    let mut table = Table::new(std::iter::once("component".to_owned()).chain(titles));
    let mut row = |name: &str, of: &dyn Fn(&CaseRecord) -> bool| {
        let score = |column| {
            let cases = run.cases.iter().filter(|case| of(case));
            let score = Score::of(cases.filter_map(|case: &CaseRecord| case.results.get(column)));
            let (agreed, executed) = (count_text(score.agreed), count_text(score.executed));
            format!("{} ({agreed}/{executed})", score.percent())
        };
        table.row(std::iter::once(name.to_owned()).chain((0..run.backends.len()).map(score)));
    };
    for family in families(run) {
        row(family, &|case| case.family == family);
    }
    row("all", &|_| true);
    table.render()
}

/// A row a part of a backend: its functions, and how many of them each side defines.
fn parts(run: &RunRecord, sources: &Sources) -> String {
    let mut table = Table::new([
        "part",
        "functions",
        "candle's CUDA defines",
        "of these only refuse",
        "ROCm here defines",
    ]);
    for group in functions::groups(sources, &run.candle_version) {
        let functions = &group.functions;
        let cuda = functions.iter().filter_map(|function| function.cuda.as_ref());
        let counts = [
            functions.len(),
            cuda.clone().count(),
            cuda.filter(|line| line.refuses).count(),
            functions
                .iter()
                .filter(|function| function.ours.is_some())
                .count(),
        ];
        table.row(std::iter::once(group.heading.to_owned()).chain(counts.map(count_text)));
    }
    table.render()
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
        "shared",
        "failing",
        "by CPU",
        "not run",
    ]);
    for family in families(run) {
        let of_family = |case: &&CaseRecord| case.family == family;
        table.row(row(run, family, run.cases.iter().filter(of_family), column));
    }
    table.row(row(run, "all", run.cases.iter(), column));
    table
}

fn row<'a>(
    run: &RunRecord,
    name: &str,
    cases: impl Iterator<Item = &'a CaseRecord>,
    column: usize,
) -> Vec<String> {
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
        blank_zero(shared_count(run, cases.iter().copied(), column)),
        blank_zero(score.failing),
        blank_zero(score.by_fallback),
        blank_zero(score.not_run),
    ]
}
