//! Who provides what: this project's kernels, AMD's libraries, the HIP runtime, or the CPU, as the backend's own trace of
//! every case tells; and which functions of AMD's libraries the backend can call at all.

use std::collections::{BTreeMap, BTreeSet};

use parity_model::{Op, record::RunRecord};
use parity_report::{
    agrees,
    cells::{distinct, families},
    count_text,
    gfm::{Table, code},
    markdown::{self, backend_title},
};

use crate::{
    sources::Sources,
    stem::split,
    trace::{Provider, Step, telling},
};

/// The table of foreign functions.
const SEAM: &str = "rocm-backend/src/hip/sys.rs";

pub(crate) fn render(run: &RunRecord, models: Option<&RunRecord>, sources: &Sources) -> String {
    let mut page = crate::opening("Who provides what", run);
    page.push_str(
        "\nA device notes what it executes while a case runs, from the op's call to its end: kernels, functions of libraries, and what the HIP runtime \
         does inside the device's\nmemory (copies and fills). A case may need several. Transfers from and to the host are not counted.\n",
    );
    let titled = |run: &RunRecord, column| backend_title(run, column);
    write_run(&mut page, run, &titled);
    if let Some(models) = models {
        page.push_str(
            "\n# With models of the libraries\n\nThe same device in another run, in which host models of AMD's libraries answered where the \
             backend calls one: what such calls would be given and have to return, not what a\nGPU makes of them. None of these figures are in those above.\n\n",
        );
        // Writing to a `String` does not fail.
        let _ = markdown::write_provenance(&mut page, models);
        let titled = |run: &RunRecord, column| format!("{}, models", backend_title(run, column));
        write_run(&mut page, models, &titled);
    }
    if let Some(text) = sources.text(SEAM) {
        page.push_str(&seam(text));
    }
    page
}

/// The tables of a run; `titled` makes the headings of a page differ.
fn write_run(page: &mut String, run: &RunRecord, titled: &dyn Fn(&RunRecord, usize) -> String) {
    let telling = telling(run);
    if telling.is_empty() {
        page.push_str("\nNo backend of this run tells what computed its results.\n");
    }
    for column in telling {
        let title = titled(run, column);
        page.push_str(&format!("\n## {title}: providers\n\n{}", providers(run, column)));
        page.push_str(&format!(
            "\n## {title}: function by provider\n\nResults by who had a part in them. `nothing` ran where there was nothing to compute: no element, a view \
             that candle hands back as it is, or arguments that were refused.\n"
        ));
        for family in families(run) {
            let functions = functions(run, family, column);
            page.push_str(&format!("\n### {family} on {title}\n\n{functions}"));
        }
    }
}

/// A row a provider, those that served nothing included.
fn providers(run: &RunRecord, column: usize) -> String {
    let mut table = Table::new([
        "provider",
        "level",
        "results",
        "agreed",
        "ops",
        "different kernels or functions",
    ]);
    for provider in Provider::of_run(run, column) {
        let (mut results, mut agreed, mut by_model) = (0, 0, 0);
        let (mut ops, mut names) = (BTreeSet::new(), BTreeSet::new());
        for case in &run.cases {
            let Some(result) = case.results.get(column) else {
                continue;
            };
            let steps = result.served_by.iter().map(|text| Step::parse(text));
            let steps: Vec<_> = steps.filter(|step| Provider::of(step.by) == provider).collect();
            if steps.is_empty() {
                continue;
            }
            results += 1;
            agreed += usize::from(agrees(result.verdict) && result.fallbacks.is_empty());
            by_model += usize::from(steps.iter().any(|step| step.by_model));
            ops.insert((&case.family, &case.op));
            names.extend(steps.iter().map(|step| step.by));
        }
        let level = match (results, by_model) {
            (0, _) => "-",
            (_, 0) => least_level(&run.backends[column].level),
            _ => "model",
        };
        table.row([
            provider.name().to_owned(),
            level.to_owned(),
            count_text(results),
            count_text(agreed),
            count_text(ops.len()),
            count_text(names.len()),
        ]);
    }
    let fallen = run.cases.iter().filter_map(|case| case.results.get(column));
    let fallen = fallen.filter(|result| !result.fallbacks.is_empty()).count();
    table.row([
        "the CPU".to_owned(),
        if fallen == 0 { "-" } else { "host" }.to_owned(),
        count_text(fallen),
        count_text(0),
    ]);
    table.render()
}

/// Where a model answers some calls, the backend's level is `model`; its kernels were executed all the same.
fn least_level(level: &str) -> &str {
    if level == "model" { "isa" } else { level }
}

/// For each op how many results each provider had a part in, and the kernels and functions by name.
fn functions(run: &RunRecord, family: &str, column: usize) -> String {
    let all = Provider::of_run(run, column);
    let header = ["op", "by"]
        .into_iter()
        .chain(all.iter().map(|provider| provider.name()))
        .chain(["the CPU", "nothing"]);
    let mut table = Table::new(header).texts(2);
    let of_family: Vec<_> = run.cases.iter().filter(|case| case.family == family).collect();
    let mut ops = distinct(of_family.iter().map(|case| case.op.as_str()));
    ops.sort_by_key(|op| Op::ALL.iter().position(|known| known.name() == *op));
    for op in ops {
        let mut counts: BTreeMap<Provider, usize> = BTreeMap::new();
        let (mut by_cpu, mut nothing) = (0, 0);
        let mut names = BTreeSet::new();
        let cases = of_family.iter().filter(|case| case.op == op);
        for result in cases.filter_map(|case| case.results.get(column)) {
            let steps: Vec<_> = result.served_by.iter().map(|text| Step::parse(text)).collect();
            let providers: BTreeSet<_> = steps.iter().map(|step| Provider::of(step.by)).collect();
            for provider in providers {
                *counts.entry(provider).or_default() += 1;
            }
            by_cpu += usize::from(!result.fallbacks.is_empty());
            nothing += usize::from(steps.is_empty() && result.fallbacks.is_empty());
            names.extend(steps.iter().map(|step| split(step.by).0));
        }
        let names: Vec<_> = names.into_iter().map(code).collect();
        let figure = |count: usize| {
            if count == 0 {
                String::new()
            } else {
                count_text(count)
            }
        };
        let counts = all
            .iter()
            .map(|provider| figure(counts.get(provider).copied().unwrap_or(0)));
        let start = [op.to_owned(), names.join(" ")];
        let end = [by_cpu, nothing].map(figure);
        table.row(start.into_iter().chain(counts).chain(end));
    }
    table.render()
}

/// The foreign functions that the backend names, by library.
fn seam(text: &str) -> String {
    let production = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut names: BTreeMap<Provider, [Vec<&str>; 2]> = BTreeMap::new();
    for line in production.lines() {
        let words: Vec<_> = line.trim().trim_end_matches(';').split_whitespace().collect();
        if let [need @ ("Required" | "Optional"), _, name] = words.as_slice()
            && line.trim_end().ends_with(';')
        {
            let place = usize::from(*need == "Optional");
            names.entry(Provider::of(name)).or_default()[place].push(name);
        }
    }
    let mut table = Table::new([
        "library",
        "called by the backend",
        "reachable beside it",
        "the calls",
    ])
    .texts(usize::MAX);
    for provider in [
        Provider::Runtime,
        Provider::RocBlas,
        Provider::MiOpen,
        Provider::RocRand,
        Provider::Rccl,
    ] {
        let [called, reachable] = names.remove(&provider).unwrap_or_default();
        let calls: Vec<_> = called.iter().map(|name| code(name)).collect();
        table.row([
            provider.name().to_owned(),
            count_text(called.len()),
            count_text(reachable.len()),
            if calls.is_empty() {
                "none".to_owned()
            } else {
                calls.join(" ")
            },
        ]);
    }
    format!(
        "\n## What of AMD's libraries can be called\n\nrocm-rs declares them, but for RCCL's; [the seam](../{SEAM}) names those that the backend calls or makes reachable, and this table was read from it. \
         Libraries serve on\nhardware, where they are installed; on the software GPU only where [`ROCM_LIBRARIES=model`](../docs/environment.md) asks for their models, \
         but for RCCL's, whose model carries buffers between software GPUs in any case. On NVIDIA's GPUs NCCL has RCCL's functions.\n\n{}",
        table.render()
    )
}
