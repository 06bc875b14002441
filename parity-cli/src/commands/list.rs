//! `parity list`: the cases a selection holds, the table of ops, the backends and their devices.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use parity_exec::{Backend, probe};
use parity_model::{Family, Op};
use parity_report::text::describe;
use parity_run::{START_LIMIT, Selection, worker};

use crate::{
    args::{ListArgs, Listing},
    columns::columns,
    exit::{Exit, Failure},
    output::print,
    settings::selection,
};

pub(crate) fn list(args: ListArgs) -> Result<Exit, Failure> {
    let page = match args.what {
        Listing::Cases(args) => cases(&selection(args)?)?,
        Listing::Ops(args) => ops(&selection(args)?)?,
        Listing::Tags(args) => tags(&selection(args)?)?,
        Listing::Devices => devices()?,
        Listing::Backends => backends()?,
    };
    print(&page)?;
    Ok(Exit::Ok)
}

fn cases(selection: &Selection) -> Result<String, Failure> {
    let cases = selection.cases()?;
    Ok(cases.iter().map(|case| format!("{}\n", case.id())).collect())
}

/// The table of ops; where cases are selected, those that a case of the specs has.
fn ops(selection: &Selection) -> Result<String, Failure> {
    let selected: Option<BTreeSet<Op>> = match selection.is_whole() {
        true => None,
        false => Some(selection.cases()?.iter().map(|case| case.op).collect()),
    };
    let mut page = String::new();
    let all = Op::all();
    for &family in Family::NAMED {
        let members = all.iter().filter(|op| op.family() == family);
        for op in members.filter(|op| selected.as_ref().is_none_or(|selected| selected.contains(op))) {
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
    Ok(page)
}

/// Every tag, with the number of the selected cases that have it.
fn tags(selection: &Selection) -> Result<String, Failure> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for case in selection.cases()? {
        case.tags
            .into_iter()
            .for_each(|tag| *counts.entry(tag).or_default() += 1);
    }
    if counts.is_empty() {
        let message = "no selected case has a tag; `tags = [..]` in a group of a spec gives it some";
        return Err(Failure::new(Exit::NothingMatched, message));
    }
    let rows: Vec<_> = counts
        .into_iter()
        .map(|(tag, count)| vec![tag, count.to_string()])
        .collect();
    Ok(columns("", &rows))
}

/// Opens every backend, each in a worker, so that one that crashes is listed as such.
fn backends() -> Result<String, Failure> {
    let mut page = String::new();
    for backend in Backend::ALL {
        let line = match probe(&worker::command(&backend.into(), 1, None)?, START_LIMIT) {
            Ok(info) => describe(&info),
            Err(error) => error.to_string(),
        };
        let _ = writeln!(page, "{:5} {line}", backend.name());
    }
    Ok(page)
}

/// Every device, by the name that `--backend` has for it.
fn devices() -> Result<String, Failure> {
    let mut rows = vec![
        ["backend", "device", "level", "target", "driver"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut missing = String::new();
    for device in Backend::ALL.into_iter().flat_map(Backend::devices) {
        match probe(&worker::command(&device, 1, None)?, START_LIMIT) {
            Ok(info) => rows.push(vec![
                info.backend,
                info.device,
                info.level,
                info.target,
                info.driver,
            ]),
            Err(error) => {
                let _ = writeln!(missing, "{}: {error}", device.name());
            }
        }
    }
    Ok(format!("{}\nnot here:\n{missing}", columns("", &rows)))
}
