//! Function by dtype: every op of the table of ops and every dtype it means something for, run or not.

use parity_model::{DType, Family, Op, record::RunRecord};

use crate::{
    cells::{Cell, Index},
    facts::count_text,
    gfm::Table,
    markdown::{backend_title, cell_text},
};

/// The op means something for the dtype, and the run has no case of it.
const NOT_RUN: &str = "not run";
/// The op means nothing for the dtype.
const NO_MEANING: &str = "-";

pub(super) fn render(run: &RunRecord) -> String {
    let mut page = super::opening("Functions by dtype", run);
    page.push_str(&format!(
        "\nAgreed/executed, worst error in ULP and as a share of its limit. `{NOT_RUN}`: the function means something for the dtype, and this run \
         has no case of it.\n`{NO_MEANING}`: it means nothing there. The dtype is that of the data; ids and conditions \
         have their own.\n"
    ));
    let index = Index::of(run);
    for column in 0..run.backends.len() {
        let title = backend_title(run, column);
        page.push_str(&format!("\n## {title}\n\n{}", summary(&index, column)));
        for family in Family::ALL {
            page.push_str(&format!("\n### {family} on {title}\n\n"));
            page.push_str(&table(&index, *family, column).render());
        }
    }
    page
}

/// Counts over the pairs of op and dtype that mean something.
fn summary(index: &Index<'_>, column: usize) -> String {
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
        "{functions} of {} functions executed. Of {} pairs of function and dtype {} executed; in {} of these every case agreed.\n",
        Op::ALL.len(),
        count_text(all),
        count_text(executed),
        count_text(agreed)
    )
}

fn table(index: &Index<'_>, family: Family, column: usize) -> Table {
    let dtypes = DType::ALL.map(DType::name);
    let mut table = Table::new(["function"].into_iter().chain(dtypes));
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
