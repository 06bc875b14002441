//! Groups a run's results into the cells of a table: op by dtype, for one backend and one family.

use parity_model::{
    DType,
    record::{CaseResult, RunRecord},
};

use crate::Totals;

/// One family's results on one backend.
pub(crate) struct Grid<'a> {
    /// Dtypes with at least one case, in candle's order.
    pub(crate) dtypes: Vec<&'a str>,
    /// Ops in plan order; one cell per dtype, `None` where nothing was planned.
    pub(crate) rows: Vec<(&'a str, Vec<Option<Cell>>)>,
}

/// What one op did on one dtype.
pub(crate) struct Cell {
    pub(crate) totals: Totals,
    /// Largest error against the oracle, in ULP, over the cases that gave a value.
    pub(crate) worst_ulp: Option<f64>,
    /// Cases of which the CPU computed a part.
    pub(crate) fallbacks: usize,
}

/// Families in plan order.
pub(crate) fn families(run: &RunRecord) -> Vec<&str> {
    in_order(run.cases.iter().map(|case| case.family.as_str()))
}

/// The results of `family` on the backend in `column`.
pub(crate) fn grid<'a>(run: &'a RunRecord, family: &str, column: usize) -> Grid<'a> {
    let cases: Vec<_> = run.cases.iter().filter(|case| case.family == family).collect();
    let mut dtypes = in_order(cases.iter().map(|case| case.dtype.as_str()));
    dtypes.sort_by_key(|name| DType::ALL.iter().position(|dtype| dtype.name() == *name));
    let row = |op| {
        let cell = |dtype: &&str| {
            let here = cases.iter().filter(|case| case.op == op && case.dtype == *dtype);
            Cell::of(here.filter_map(|case| case.results.get(column)).collect())
        };
        (op, dtypes.iter().map(cell).collect())
    };
    let rows = in_order(cases.iter().map(|case| case.op.as_str())).into_iter().map(row).collect();
    Grid { dtypes, rows }
}

impl Cell {
    fn of(results: Vec<&CaseResult>) -> Option<Cell> {
        if results.is_empty() {
            return None;
        }
        let errors = results.iter().filter_map(|result| result.vs_oracle.as_ref());
        let worst_ulp = errors.map(|metrics| metrics.max_ulp).reduce(f64::max);
        let fallbacks = results.iter().filter(|result| !result.fallbacks.is_empty()).count();
        Some(Cell { totals: Totals::of(results), worst_ulp, fallbacks })
    }
}

/// Distinct words, in order of first appearance.
pub(crate) fn in_order<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for word in words {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    seen
}
