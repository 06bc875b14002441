//! Kernel by kernel: the arguments that candle's declares and ours, and by which path and for which layouts it was
//! executed. What the results were worth is beside it; which kernels there are at all is on the page of kernels.

use std::collections::{BTreeMap, BTreeSet};

use parity_model::record::RunRecord;
use parity_report::{
    count_text,
    gfm::{Table, code},
    markdown::backend_title,
};

use crate::{
    code_object::{Arg, CodeObject},
    inventory::{self, Key},
    stem::split,
    trace::{Service, services, telling},
};

pub(crate) fn render(run: &RunRecord, inventory: &str, objects: &[CodeObject]) -> String {
    let mut page = crate::opening("Kernel signatures and layouts", run);
    let column = telling(run).first().copied();
    let target = target(run, objects, column);
    let candles = inventory::candles(inventory);
    let ours = inventory::ours(objects, target);
    page.push_str(&format!(
        "\nArguments in order. candle's are those of its CUDA kernels (`rocm-backend/kernels/inventory.txt`): `*f32` is a pointer, `u64` a value. Ours are what the \
         code objects for\n{target} declare: `*` is a pointer, `8` a value of 8 bytes; `same` are as many of the same kinds and sizes. A kernel that takes a table of dims and \
         strides walks\nits operands one element after the other where the table is null.\n"
    ));
    match column {
        None => page.push_str("\nNo backend of this run tells which kernels it launched: the counts are missing.\n"),
        Some(column) => page.push_str(&format!(
            "\nCases in which a kernel was launched on {}, those of them that agree, and those in which the table was null, and was not. A case may have both. A kernel \
             without cases was not\nexecuted in this run.\n",
            backend_title(run, column)
        )),
    }
    let services = column.map(|column| services(run, column)).unwrap_or_default();
    page.push_str(&format!(
        "\n## Checklist\n\n{}",
        checklist(&candles, &ours, &services)
    ));
    for module in modules(&candles, &ours) {
        page.push_str(&format!(
            "\n## {module}\n\n{}",
            arguments(module, &candles, &ours, &services)
        ));
        let layouts = layouts(module, &ours, &services);
        if !layouts.is_empty() {
            page.push_str(&format!(
                "\nCases by the layouts of their arguments, over all element types:\n\n{}",
                layouts.render()
            ));
        }
    }
    page
}

/// The target the run was on, if it was compiled for; else the first that was.
fn target<'a>(run: &'a RunRecord, objects: &'a [CodeObject], column: Option<usize>) -> &'a str {
    let targets = inventory::targets(objects);
    let ran = column.map(|column| run.backends[column].target.as_str());
    let ran = ran.filter(|target| targets.contains(target));
    ran.or_else(|| targets.first().copied()).unwrap_or_default()
}

type Candles<'a> = BTreeMap<Key<'a>, Vec<&'a str>>;
type Ours<'a> = BTreeMap<Key<'a>, &'a [Arg]>;
type Services<'a> = BTreeMap<&'a str, Service<'a>>;

fn modules<'a>(candles: &Candles<'a>, ours: &Ours<'a>) -> BTreeSet<&'a str> {
    candles
        .keys()
        .chain(ours.keys())
        .map(|(module, _)| *module)
        .collect()
}

fn fits(candles: &[&str], ours: &[Arg]) -> bool {
    candles
        .iter()
        .map(|argument| inventory::declared(argument))
        .eq(ours.iter().copied())
}

/// A row a module: signatures that fit, kernels executed, by which path.
fn checklist(candles: &Candles<'_>, ours: &Ours<'_>, services: &Services<'_>) -> String {
    let mut table = Table::new([
        "module",
        "candle's",
        "same arguments",
        "other arguments",
        "missing",
        "here",
        "executed",
        "contiguous path",
        "strided path",
    ]);
    let mut sums = [0; 8];
    for module in modules(candles, ours) {
        let mut counts = [0; 8];
        for (key, arguments) in candles.iter().filter(|((of, _), _)| *of == module) {
            let place = match ours.get(key) {
                Some(args) if fits(arguments, args) => 1,
                Some(_) => 2,
                None => 3,
            };
            counts[0] += 1;
            counts[place] += 1;
        }
        for (_, name) in ours.keys().filter(|(of, _)| *of == module) {
            let service = services.get(name.as_str());
            counts[4] += 1;
            counts[5] += usize::from(service.is_some());
            counts[6] += usize::from(service.is_some_and(|service| service.contiguous > 0));
            counts[7] += usize::from(service.is_some_and(|service| service.strided > 0));
        }
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        table.row(std::iter::once(module.to_owned()).chain(counts.map(count_text)));
    }
    table.row(std::iter::once("all".to_owned()).chain(sums.map(count_text)));
    table.render()
}

fn arguments(module: &str, candles: &Candles<'_>, ours: &Ours<'_>, services: &Services<'_>) -> String {
    let mut table = Table::new([
        "kernel",
        "candle's arguments",
        "ours",
        "cases",
        "agreed",
        "contiguous",
        "strided",
    ])
    .texts(3);
    let keys: BTreeSet<_> = candles
        .keys()
        .chain(ours.keys())
        .filter(|(of, _)| *of == module)
        .collect();
    for key in keys {
        let theirs = candles.get(key);
        let args = ours.get(key);
        let mine = match (theirs, args) {
            (_, None) => "missing".to_owned(),
            (Some(theirs), Some(args)) if fits(theirs, args) => "same".to_owned(),
            (_, Some(args)) => args.iter().map(Arg::to_string).collect::<Vec<_>>().join(" "),
        };
        // A star alone is markup.
        let mine = if mine.contains('*') { code(&mine) } else { mine };
        let theirs = theirs.map_or_else(|| "-".to_owned(), |words| code(&words.join(" ")));
        let mut row = vec![code(&key.1), theirs, mine];
        if let Some(service) = services.get(key.1.as_str()) {
            let takes_table = service.contiguous + service.strided > 0;
            let path = |count| {
                if takes_table {
                    count_text(count)
                } else {
                    "-".to_owned()
                }
            };
            row.extend([service.cases, service.agreed].map(count_text));
            row.extend([service.contiguous, service.strided].map(path));
        }
        table.row(row);
    }
    table.render()
}

/// A row a kernel, its element types taken together; a column a layout that any of the module's cases has.
fn layouts(module: &str, ours: &Ours<'_>, services: &Services<'_>) -> Table {
    let mut rows: BTreeMap<&str, Service<'_>> = BTreeMap::new();
    for (_, name) in ours.keys().filter(|(of, _)| *of == module) {
        if let Some(service) = services.get(name.as_str()) {
            rows.entry(split(name).0).or_default().add(service);
        }
    }
    let used: BTreeSet<_> = rows
        .values()
        .flat_map(|service| service.layouts.keys().copied())
        .collect();
    let mut table = Table::new(["kernel"].into_iter().chain(used.iter().copied()));
    for (stem, service) in &rows {
        let cells = used.iter().map(|layout| service.layouts.get(layout));
        let cells = cells.map(|count| count.map_or_else(String::new, |count| count_text(*count)));
        table.row(std::iter::once(code(stem)).chain(cells));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_another_size_or_number_do_not_fit() {
        let candles = ["u64", "*u64", "f32", "bool"];
        let same = [Arg::Value(8), Arg::Pointer, Arg::Value(4), Arg::Value(1)];
        assert!(fits(&candles, &same));
        assert!(!fits(&candles, &same[..3]));
        let mut wider = same;
        wider[2] = Arg::Value(8);
        assert!(!fits(&candles, &wider));
    }
}
