//! Groups a run's results into the cells of a table: op by dtype, for one backend and one family.

use std::collections::BTreeMap;

use parity_model::{
    DType, Family, Op, Verdict,
    record::{CaseRecord, CaseResult, RunRecord},
};

use crate::{Totals, facts::Score};

/// One family's results on one backend.
pub(crate) struct Grid<'a> {
    /// Dtypes with at least one case, in candle's order.
    pub(crate) dtypes: Vec<&'a str>,
    /// Ops in the order of the op table; one cell per dtype, `None` where nothing was planned.
    pub(crate) rows: Vec<(&'a str, Vec<Option<Cell>>)>,
}

/// What one op did on one dtype.
pub struct Cell {
    /// Verdicts by their names.
    pub totals: Totals,
    /// The largest error; none where no case gave a value.
    pub worst: Option<WorstError>,
    /// How many agree.
    pub score: Score,
}

/// Errors against the oracle, each the largest over the cases that gave a value; those of known failures are left out,
/// as they would hide all others.
#[derive(Clone, Copy)]
pub struct WorstError {
    /// In units in the last place.
    pub ulp: f64,
    /// As a fraction of the limit, which need not be a number of ULP.
    pub limit_used: f64,
}

/// A run's cases by family, op and dtype.
pub struct Index<'a>(BTreeMap<(&'a str, &'a str, &'a str), Vec<&'a CaseRecord>>);

impl<'a> Index<'a> {
    /// Sorts the cases of a run.
    pub fn of(run: &'a RunRecord) -> Index<'a> {
        let mut cells = BTreeMap::<_, Vec<_>>::new();
        for case in &run.cases {
            let key = (case.family.as_str(), case.op.as_str(), case.dtype.as_str());
            cells.entry(key).or_default().push(case);
        }
        Index(cells)
    }

    /// What `op` did on `dtype` on the backend in `column`; `None` where nothing was planned.
    pub fn cell(&self, family: &str, op: &str, dtype: &str, column: usize) -> Option<Cell> {
        let cases = self.cases(family, op, dtype).iter();
        Cell::of(cases.filter_map(|case| case.results.get(column)).collect())
    }

    /// The cases of a cell, in plan order.
    pub fn cases<'s>(&'s self, family: &'s str, op: &'s str, dtype: &'s str) -> &'s [&'a CaseRecord] {
        self.0.get(&(family, op, dtype)).map_or(&[], Vec::as_slice)
    }
}

/// Families in the order of their table.
pub fn families(run: &RunRecord) -> Vec<&str> {
    let families = distinct(run.cases.iter().map(|case| case.family.as_str()));
    by_table(
        families,
        &Family::NAMED
            .iter()
            .map(|family| family.name())
            .collect::<Vec<_>>(),
    )
}

/// The results of `family` on the backend in `column`.
pub(crate) fn grid<'a>(run: &'a RunRecord, family: &str, column: usize) -> Grid<'a> {
    let cases: Vec<_> = run.cases.iter().filter(|case| case.family == family).collect();
    let dtypes = distinct(cases.iter().map(|case| case.dtype.as_str()));
    let dtypes = by_table(dtypes, &DType::ALL.map(DType::name));
    let row = |op| {
        let cell = |dtype: &&str| {
            let here = cases.iter().filter(|case| case.op == op && case.dtype == *dtype);
            Cell::of(here.filter_map(|case| case.results.get(column)).collect())
        };
        (op, dtypes.iter().map(cell).collect())
    };
    let table: Vec<_> = Op::all().iter().map(|op| op.name()).collect();
    let ops = by_table(distinct(cases.iter().map(|case| case.op.as_str())), &table);
    let rows = ops.into_iter().map(row).collect();
    Grid { dtypes, rows }
}

impl Cell {
    /// Counts some results; `None` where there is none.
    pub fn of(results: Vec<&CaseResult>) -> Option<Cell> {
        if results.is_empty() {
            return None;
        }
        let unexplained = results
            .iter()
            .filter(|result| result.verdict != Verdict::KnownFailure);
        let errors = unexplained.filter_map(|result| result.vs_oracle.as_ref());
        let errors = errors.map(|error| WorstError {
            ulp: error.max_ulp,
            limit_used: error.limit_used,
        });
        let worst = errors.reduce(|a, b| WorstError {
            ulp: a.ulp.max(b.ulp),
            limit_used: a.limit_used.max(b.limit_used),
        });
        Some(Cell {
            score: Score::of(results.iter().copied()),
            totals: Totals::of(results),
            worst,
        })
    }
}

/// Distinct words, in order of first appearance.
pub fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for word in words {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    seen
}

/// Words in the order of a table; those that a newer parity wrote and this table lacks come last.
fn by_table<'a>(mut words: Vec<&'a str>, table: &[&str]) -> Vec<&'a str> {
    words.sort_by_key(|word| {
        table
            .iter()
            .position(|known| known == word)
            .unwrap_or(table.len())
    });
    words
}
