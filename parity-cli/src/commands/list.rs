//! `parity list`: the cases a selection holds, the table of ops, the backends and their devices.

use std::fmt::Write;

use parity_exec::{Backend, probe};
use parity_model::{Family, Op};
use parity_report::text::describe;

use super::run::{START_LIMIT, worker_command};
use crate::{
    args::{ListArgs, Listing},
    exit::{Exit, Failure},
    output::print,
    select::select,
    settings::Selection,
    specs,
};

pub(crate) fn list(args: ListArgs) -> Result<Exit, Failure> {
    let page = match args.what {
        Listing::Cases => cases(&Selection::resolve(args.select)?)?,
        Listing::Ops => ops(),
        Listing::Backends => backends()?,
    };
    print(&page)?;
    Ok(Exit::Ok)
}

fn cases(selection: &Selection) -> Result<String, Failure> {
    let dir = specs::find(selection.spec_dir.as_deref())?;
    let cases = select(&specs::load(&dir)?, &selection.which)?;
    Ok(cases.iter().map(|case| format!("{}\n", case.id())).collect())
}

fn ops() -> String {
    let mut page = String::new();
    for &family in Family::ALL {
        for op in Op::ALL.iter().filter(|op| op.family() == family) {
            let params = match op.params() {
                [] => String::new(),
                params => format!("({})", params.join(", ")),
            };
            let dtypes: Vec<_> = op.dtypes().iter().map(|dtype| dtype.name()).collect();
            // Writing to a `String` does not fail.
            let _ = writeln!(
                page,
                "{family}/{op}{params}  {}  [{}]",
                op.definition(),
                dtypes.join(" ")
            );
        }
    }
    page
}

/// Opens every backend, each in a worker, so that one that crashes is listed as such.
fn backends() -> Result<String, Failure> {
    let mut page = String::new();
    for backend in Backend::ALL {
        let line = match probe(&worker_command(backend, 1)?, START_LIMIT) {
            Ok(info) => describe(&info),
            Err(error) => error.to_string(),
        };
        let _ = writeln!(page, "{:5} {line}", backend.name());
    }
    Ok(page)
}
