//! Function by backend and dtype: where each side implements it, and what was executed of it; then every op of the table
//! of ops with every dtype it means something for, run or not.

use std::collections::BTreeMap;

use parity_model::{DType, Family, Op, record::RunRecord};
use parity_report::{
    cells::{Cell, Index},
    count_text,
    gfm::{Table, code},
    markdown::{backend_title, cell_text},
};

use crate::{
    functions::{self, BackendFunction},
    sources::Sources,
};

/// The op means something for the dtype, and the run has no case of it.
const NOT_RUN: &str = "not run";
/// The op means nothing for the dtype.
const NO_MEANING: &str = "-";

pub(crate) fn render(run: &RunRecord, sources: &Sources) -> String {
    let mut page = crate::opening("Functions by backend and dtype", run);
    if !sources.is_empty() {
        write_functions(&mut page, run, sources);
    }
    page.push_str(&format!(
        "\n## Ops by dtype\n\nAgreed/executed, worst error in ULP and as a share of its limit. `{NOT_RUN}`: the op means something for the dtype, and this run \
         has no case of it.\n`{NO_MEANING}`: it means nothing there. The dtype is that of the data; ids and conditions \
         have their own.\n"
    ));
    let index = Index::of(run);
    for column in 0..run.backends.len() {
        let title = backend_title(run, column);
        page.push_str(&format!("\n{}", summary(&index, &title, column)));
        for family in Family::ALL {
            page.push_str(&format!("\n### {family} on {title}\n\n"));
            page.push_str(&table(&index, *family, column).render());
        }
    }
    page
}

/// Where candle's CUDA backend and ours define each function, and what each backend of the run made of its ops.
fn write_functions(page: &mut String, run: &RunRecord, sources: &Sources) {
    page.push_str(
        "\nWhere a function is defined was looked for in the sources when this page was made: candle's as published, ours in this \
         repository. A backend of the run has\n`implemented` a function if every executed case of its ops agrees, `partial` if some do, `unsupported` if none does; \
         then agreed/executed and the worst\nerror. candle's CUDA backend `refuses` what its function answers with an error alone; `absent` has no definition. Functions \
         without figures have no op of their\nown in the specs: they are reached on the way of every case, or not at all.\n",
    );
    let by_function = cases_by_function();
    for group in functions::groups(sources, &run.candle_version) {
        let titles = (0..run.backends.len()).map(|column| backend_title(run, column));
        let header = ["function", "candle's CUDA", "ROCm here", "ops"].map(str::to_owned);
        let dtypes = tested(run).map(|column| format!("dtypes on {}", run.backends[column].backend));
        let mut table = Table::new(header.into_iter().chain(titles).chain(dtypes)).texts(usize::MAX);
        for function in &group.functions {
            let none = Vec::new();
            let ops = by_function.get(function.name).unwrap_or(&none);
            table.row(function_row(run, function, ops));
        }
        if !table.is_empty() {
            page.push_str(&format!("\n## {}\n\n{}", group.heading, table.render()));
        }
    }
    page.push_str(&format!(
        "\n## Made of several functions\n\nOps that candle makes of the functions above, in the same way on every backend; those that the run has cases of.\n\n{}",
        composed(run).render()
    ));
}

fn composed(run: &RunRecord) -> Table {
    let titles = (0..run.backends.len()).map(|column| backend_title(run, column));
    let dtypes = tested(run).map(|column| format!("dtypes on {}", run.backends[column].backend));
    let mut table = Table::new(["op".to_owned()].into_iter().chain(titles).chain(dtypes)).texts(usize::MAX);
    for op in Op::ALL.iter().filter(|op| functions::reached(**op).is_none()) {
        let cells = (0..run.backends.len()).map(|column| of_ops(run, &[*op], column));
        let cells: Vec<_> = cells.collect();
        if cells.iter().flatten().next().is_some() {
            let statuses = cells.iter().map(|cell| status(cell.as_ref()));
            let dtypes = tested(run).map(|column| self::dtypes(run, &[*op], column));
            table.row(std::iter::once(code(op.name())).chain(statuses).chain(dtypes));
        }
    }
    table
}

/// The columns of all backends but the reference.
fn tested(run: &RunRecord) -> impl Iterator<Item = usize> {
    (0..run.backends.len()).filter(|column| run.backends[*column].backend != run.reference)
}

fn cases_by_function() -> BTreeMap<&'static str, Vec<Op>> {
    let mut map: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for op in Op::ALL {
        if let Some(function) = functions::reached(*op) {
            map.entry(function).or_default().push(*op);
        }
    }
    map
}

fn function_row(run: &RunRecord, function: &BackendFunction<'_>, ops: &[Op]) -> Vec<String> {
    let cuda = match &function.cuda {
        None => "absent".to_owned(),
        Some(line) if line.refuses => format!("refuses, {}", line.plain()),
        Some(line) => line.plain(),
    };
    let ours = match &function.ours {
        None => "absent".to_owned(),
        Some(line) => line.link(),
    };
    let mut row = vec![code(function.name), cuda, ours, ops_text(ops)];
    for column in 0..run.backends.len() {
        row.push(status(of_ops(run, ops, column).as_ref()));
    }
    for column in tested(run) {
        row.push(dtypes(run, ops, column));
    }
    row
}

/// All ops of a long list are not worth a row as long.
fn ops_text(ops: &[Op]) -> String {
    match ops {
        [] => String::new(),
        [first, .., last] if ops.len() > 6 => format!("{}: {} .. {}", ops.len(), first.name(), last.name()),
        _ => ops.iter().map(|op| op.name()).collect::<Vec<_>>().join(" "),
    }
}

fn of_ops(run: &RunRecord, ops: &[Op], column: usize) -> Option<Cell> {
    let ours = |family: &str, op: &str| {
        let known = ops.iter().find(|known| known.name() == op);
        known.is_some_and(|known| known.family().name() == family)
    };
    let cases = run.cases.iter().filter(|case| ours(&case.family, &case.op));
    Cell::of(cases.filter_map(|case| case.results.get(column)).collect())
}

fn status(cell: Option<&Cell>) -> String {
    let Some(cell) = cell else { return String::new() };
    let word = match (cell.score.agreed, cell.score.executed) {
        (_, 0) => return NOT_RUN.to_owned(),
        (0, _) => "unsupported",
        (agreed, executed) if agreed == executed => "implemented",
        _ => "partial",
    };
    format!("{word} {}", cell_text(Some(cell)))
}

/// The dtypes in which every executed case agrees, and those in which some do not.
fn dtypes(run: &RunRecord, ops: &[Op], column: usize) -> String {
    let (mut whole, mut part) = (Vec::new(), Vec::new());
    for dtype in DType::ALL {
        let name = dtype.name();
        let of_dtype = run.cases.iter().filter(|case| case.dtype == name);
        let of_ops = of_dtype.filter(|case| ops.iter().any(|op| op.name() == case.op));
        let results = of_ops.filter_map(|case| case.results.get(column)).collect();
        match Cell::of(results).map(|cell| cell.score) {
            None => {}
            Some(score) if score.executed == 0 => {}
            Some(score) if score.agreed == score.executed => whole.push(name),
            Some(_) => part.push(name),
        }
    }
    match part.as_slice() {
        [] => whole.join(" "),
        _ => format!("{}; partly {}", whole.join(" "), part.join(" ")),
    }
}

/// Counts over the pairs of op and dtype that mean something.
fn summary(index: &Index<'_>, title: &str, column: usize) -> String {
    let (mut all, mut executed, mut agreed, mut functions) = (0, 0, 0, 0);
    for op in Op::ALL {
        let cells = op.dtypes().iter().map(|dtype| cell(index, *op, *dtype, column));
        let cells: Vec<_> = cells.collect();
        let ran = cells.iter().flatten().filter(|cell| cell.score.executed > 0);
        let ran: Vec<_> = ran.collect();
        all += cells.len();
        executed += ran.len();
        agreed += ran
            .iter()
            .filter(|cell| cell.score.agreed == cell.totals.all())
            .count();
        functions += usize::from(!ran.is_empty());
    }
    format!(
        "{title}: {functions} of {} ops executed. Of {} pairs of op and dtype {} executed; in {} of these every case agreed.\n",
        Op::ALL.len(),
        count_text(all),
        count_text(executed),
        count_text(agreed)
    )
}

fn table(index: &Index<'_>, family: Family, column: usize) -> Table {
    let dtypes = DType::ALL.map(DType::name);
    let mut table = Table::new(["op"].into_iter().chain(dtypes));
    for op in Op::ALL.iter().filter(|op| op.family() == family) {
        let cell = |dtype: DType| match cell(index, *op, dtype, column) {
            Some(cell) => cell_text(Some(&cell)),
            None if op.accepts(dtype) => NOT_RUN.to_owned(),
            None => NO_MEANING.to_owned(),
        };
        let cells = DType::ALL.map(cell);
        table.row(std::iter::once(op.name().to_owned()).chain(cells));
    }
    table
}

fn cell(index: &Index<'_>, op: Op, dtype: DType, column: usize) -> Option<Cell> {
    index.cell(op.family().name(), op.name(), dtype.name(), column)
}
