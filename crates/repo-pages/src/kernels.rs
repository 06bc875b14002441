//! Kernel by kernel: what candle's CUDA modules hold, what the compiled code objects hold, where the host launches each,
//! and how often this run executed it. Arguments and layouts are on the page of signatures.

use std::collections::{BTreeMap, BTreeSet};

use parity_model::record::RunRecord;
use parity_report::{
    count_text,
    gfm::{Table, code},
    markdown::backend_title,
};

use crate::{
    code_object::{CodeObject, Resources},
    inventory,
    sources::{Line, Sources, function_name},
    stem::split,
    trace::{Service, services, telling},
};

/// Kernel names by module.
type Modules<'a> = BTreeMap<&'a str, BTreeSet<String>>;

pub(crate) fn render(run: &RunRecord, inventory: &str, objects: &[CodeObject], sources: &Sources) -> String {
    let candles = by_module(inventory::candles(inventory).into_keys());
    let mut page = crate::opening("Kernels", run);
    page.push_str(
        "\nThe kernels of candle-kernels' CUDA modules (`rocm-backend/kernels/inventory.txt`) and those in the code objects compiled from `rocm-backend/kernels`, by their \
         names. Their arguments\nare on the page of [signatures](signatures.md). A kernel that is there may still compute the wrong thing: what was executed, and agreed, is in the tables \
         of every kernel.\n",
    );
    let targets = inventory::targets(objects);
    for target in &targets {
        let ours = by_module(inventory::ours(objects, target).into_keys());
        page.push_str(&format!("\n## {target}\n\n{}", summary(&candles, &ours)));
        page.push_str(&missing(&candles, &ours));
        page.push_str(&taken(objects, target));
    }
    // The lists are the same for every target unless one lacks a kernel, which the summaries show.
    if let Some(target) = targets.first() {
        let ours = by_module(inventory::ours(objects, target).into_keys());
        page.push_str(&every_kernel(run, target, &candles, &ours, sources));
    }
    page
}

fn by_module<'a>(keys: impl Iterator<Item = inventory::Key<'a>>) -> Modules<'a> {
    let mut modules = Modules::new();
    for (module, name) in keys {
        modules.entry(module).or_default().insert(name);
    }
    modules
}

fn module_names<'a>(candles: &Modules<'a>, ours: &Modules<'a>) -> BTreeSet<&'a str> {
    candles.keys().chain(ours.keys()).copied().collect()
}

fn of<'a>(modules: &'a Modules<'_>, module: &str) -> &'a BTreeSet<String> {
    const NONE: &BTreeSet<String> = &BTreeSet::new();
    modules.get(module).unwrap_or(NONE)
}

fn summary(candles: &Modules<'_>, ours: &Modules<'_>) -> String {
    let mut table = Table::new([
        "module",
        "candle's",
        "of these here",
        "missing",
        "beyond candle's",
        "all here",
    ]);
    let mut sums = [0; 5];
    for module in module_names(candles, ours) {
        let (candles, ours) = (of(candles, module), of(ours, module));
        let here = candles.intersection(ours).count();
        let counts = [
            candles.len(),
            here,
            candles.len() - here,
            ours.len() - here,
            ours.len(),
        ];
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        table.row(std::iter::once(module.to_owned()).chain(counts.map(count_text)));
    }
    table.row(std::iter::once("all".to_owned()).chain(sums.map(count_text)));
    table.render()
}

fn missing(candles: &Modules<'_>, ours: &Modules<'_>) -> String {
    let mut page = String::new();
    for (module, kernels) in candles {
        let names: Vec<_> = kernels
            .difference(of(ours, module))
            .map(|name| code(name))
            .collect();
        if !names.is_empty() {
            page.push_str(&format!("\nMissing in {module}: {}\n", names.join(", ")));
        }
    }
    page
}

/// What the waves of a target share.
struct Unit {
    /// Vector registers of a lane that a SIMD has, and in what portions waves get them.
    vgprs: [u64; 2],
    /// Waves that a SIMD holds at most.
    waves: u64,
    /// Bytes of LDS that a workgroup's SIMDs have together, and in what portions workgroups get them.
    lds: [u64; 2],
    /// SIMDs that share this LDS.
    simds: u64,
}

/// From LLVM's "User Guide for AMDGPU Backend" and AMD's documents of the instruction sets; none for other targets. What
/// shares LDS is a workgroup processor of RDNA, two compute units in one, and a compute unit of the others.
fn unit(target: &str) -> Option<Unit> {
    let unit = |vgprs, waves, lds| Unit {
        vgprs,
        waves,
        lds: [lds, 512],
        simds: 4,
    };
    match target {
        "gfx1100" | "gfx1151" | "gfx1200" | "gfx1201" => Some(unit([1536, 24], 16, 128 << 10)),
        "gfx1030" => Some(unit([1024, 16], 16, 128 << 10)),
        "gfx90a" | "gfx942" => Some(unit([512, 8], 8, 64 << 10)),
        "gfx950" => Some(unit([512, 8], 8, 160 << 10)),
        "gfx1250" => Some(unit([1024, 16], 16, 320 << 10)),
        _ => None,
    }
}

/// Waves that a SIMD holds of a kernel, as far as its vector registers and its LDS allow; workgroups are the greatest that it
/// may be launched with.
fn waves(target: &str, taken: &Resources) -> Option<u64> {
    let unit = unit(target)?;
    let portions = |[all, portion]: [u64; 2], wanted: u64| all / wanted.max(1).next_multiple_of(portion);
    let of_registers = portions(unit.vgprs, taken.vgprs);
    let of_lds = match taken.lds {
        0 => unit.waves,
        lds => {
            let together = portions(unit.lds, lds) * taken.workgroup.div_ceil(taken.wave.max(1));
            together.div_ceil(unit.simds)
        }
    };
    Some(of_registers.min(of_lds).min(unit.waves))
}

/// Registers, LDS and scratch of each module's kernels: the most that one of them takes.
fn taken(objects: &[CodeObject], target: &str) -> String {
    let mut table = Table::new([
        "module",
        "kernel of the most VGPRs",
        "VGPRs",
        "SGPRs",
        "LDS, bytes",
        "fewest waves a SIMD",
        "kernels with scratch",
    ])
    .texts(2);
    for object in objects.iter().filter(|object| object.target == target) {
        let most = |of: fn(&Resources) -> u64| object.resources.values().map(of).max().unwrap_or(0);
        let vgprs = most(|taken| taken.vgprs);
        let greatest = object.resources.iter().find(|(_, taken)| taken.vgprs == vgprs);
        let kernels = object.resources.values();
        let fewest = kernels.clone().filter_map(|taken| waves(target, taken)).min();
        let spilling = kernels.filter(|taken| taken.scratch > 0);
        table.row([
            object.module.clone(),
            greatest.map_or_else(String::new, |(name, _)| code(name)),
            vgprs.to_string(),
            most(|taken| taken.sgprs).to_string(),
            most(|taken| taken.lds).to_string(),
            fewest.map_or_else(String::new, |waves| waves.to_string()),
            spilling.count().to_string(),
        ]);
    }
    format!(
        "\nThe most that a kernel of each module takes, as its metadata says, and how few waves of one of them a SIMD holds at a time, as far \
         as vector registers\nand LDS allow, in the greatest workgroups that it may be launched with. Kernels with scratch keep registers in \
         memory.\n\n{}",
        table.render()
    )
}

/// A kernel without its element types.
#[derive(Default)]
struct Row<'a> {
    /// Element types of candle's kernels that are here, of those that are missing, and of those beyond candle's.
    dtypes: [Vec<&'a str>; 3],
    executed: usize,
    service: Service<'a>,
}

fn every_kernel(
    run: &RunRecord,
    target: &str,
    candles: &Modules<'_>,
    ours: &Modules<'_>,
    sources: &Sources,
) -> String {
    let column = telling(run).first().copied();
    let services = column.map(|column| services(run, column)).unwrap_or_default();
    let mut page = format!(
        "\n## Every kernel\n\nAs compiled for {target}; the element types a kernel's name ends in, if any. `launched by` is where the host names the kernel. "
    );
    page.push_str(&column.map_or_else(
        || "No backend of this run tells which kernels it launched.\n".to_owned(),
        |column| {
            let title = backend_title(run, column);
            format!(
                "`executed` counts the kernels\nof the row that {title} launched in this run, of those here; then the cases they had a part in, and those of them that agree.\n"
            )
        },
    ));
    for module in module_names(candles, ours) {
        let rows = rows(of(candles, module), of(ours, module), &services);
        let mut table = Table::new([
            "kernel",
            "candle's, here",
            "candle's, missing",
            "beyond candle's",
            "launched by",
            "executed",
            "cases",
            "agreed",
        ])
        .texts(5);
        for (stem, row) in &rows {
            let here = row.dtypes[0].len() + row.dtypes[2].len();
            let launched = launched_by(sources, module, stem).map_or_else(String::new, |line| line.link());
            let dtypes = row.dtypes.iter().map(|dtypes| dtypes.join(" "));
            let figures = [
                format!("{}/{here}", row.executed),
                count_text(row.service.cases),
                count_text(row.service.agreed),
            ];
            let cells = std::iter::once(code(stem)).chain(dtypes);
            table.row(cells.chain([launched]).chain(figures));
        }
        page.push_str(&format!("\n### {module}\n\n{}", table.render()));
    }
    page
}

fn rows<'a>(
    candles: &'a BTreeSet<String>,
    ours: &'a BTreeSet<String>,
    services: &BTreeMap<&str, Service<'a>>,
) -> BTreeMap<&'a str, Row<'a>> {
    let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for name in candles.union(ours) {
        let (stem, dtypes) = split(name);
        let place = match (candles.contains(name), ours.contains(name)) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        };
        let row = rows.entry(stem).or_default();
        row.dtypes[place].push(if dtypes.is_empty() { "yes" } else { dtypes });
        if let Some(service) = services.get(name.as_str()) {
            row.executed += 1;
            row.service.add(service);
        }
    }
    rows
}

/// Where the host's code names a kernel of `module`: in a string that is its name, or that its name begins with.
fn launched_by<'a>(sources: &'a Sources, module: &str, stem: &str) -> Option<Line<'a>> {
    const LAUNCHES: &str = "rocm-backend/src/hip/launch/";
    let own = format!("{LAUNCHES}{module}.rs");
    let folders = [
        own.as_str(),
        LAUNCHES,
        "rocm-backend/src/ops/",
        "rocm-backend/src/kernel.rs",
    ];
    // Files that call a vendor's library say `conv2d` too, and launch nothing.
    let calls_library = |path: &str| {
        ["miopen", "rocblas", "rocrand"]
            .iter()
            .any(|name| path.contains(name))
    };
    let files = folders.iter().flat_map(|folder| sources.below(folder));
    let mut files = files.filter(|(path, _)| !calls_library(path));
    files.find_map(|(path, text)| {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let line = code.lines().position(|line| names(line, stem))?;
        let before: Vec<_> = code.lines().take(line + 1).collect();
        let function = before.iter().rev().find_map(|line| function_name(line));
        Some(Line {
            path,
            number: line + 1,
            item: function.map_or_else(|| format!("\"{stem}\""), |name| format!("fn {name}")),
            refuses: false,
        })
    })
}

/// Whether a line of code has the string `stem`, or the beginning of it in a string that goes on with a variable.
fn names(line: &str, stem: &str) -> bool {
    let line = line.split("//").next().unwrap_or_default();
    line.split('"')
        .skip(1)
        .step_by(2)
        .any(|text| match text.split_once("_{") {
            None => text == stem,
            Some((start, _)) => start.len() > 2 && (start == stem || stem.starts_with(&format!("{start}_"))),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_limited_by_registers_in_portions() {
        let of = |target, vgprs| {
            let taken = Resources {
                vgprs,
                ..Resources::default()
            };
            waves(target, &taken)
        };
        assert_eq!(of("gfx1100", 96), Some(16));
        assert_eq!(of("gfx1100", 97), Some(12), "120 of them");
        assert_eq!(of("gfx942", 64), Some(8));
        assert_eq!(of("gfx942", 65), Some(7));
        assert_eq!(of("gfx942", 512), Some(1));
        assert_eq!(of("gfx1030", 64), Some(16));
        assert_eq!(of("gfx1030", 65), Some(12), "80 of them");
        assert_eq!(of("gfx1010", 64), None);
    }

    #[test]
    fn waves_are_limited_by_the_lds_of_their_workgroups() {
        let of = |target, lds, workgroup, wave| {
            let taken = Resources {
                lds,
                workgroup,
                wave,
                ..Resources::default()
            };
            waves(target, &taken)
        };
        assert_eq!(
            of("gfx1100", 20 << 10, 128, 32),
            Some(6),
            "six workgroups of four waves"
        );
        assert_eq!(
            of("gfx1100", 64 << 10, 1024, 32),
            Some(16),
            "two workgroups of 32 waves"
        );
        assert_eq!(
            of("gfx942", 20 << 10, 256, 64),
            Some(3),
            "three workgroups of four waves"
        );
        assert_eq!(
            of("gfx942", 64 << 10, 64, 64),
            Some(1),
            "one wave, on one of four SIMDs"
        );
        assert_eq!(of("gfx942", 0, 64, 64), Some(8));
    }

    #[test]
    fn the_line_that_names_a_kernel_is_told_from_one_that_names_another() {
        assert!(names("named(\"uexp\", x)", "uexp"));
        assert!(names("format!(\"get_rows_{}\", f)", "get_rows_q4_0"));
        assert!(!names("named(\"uexp2\", x)", "uexp"));
        assert!(!names("format!(\"{op}_{dtype}\")", "uexp"));
        assert!(!names("other(uexp) // \"uexp\"", "uexp"));
    }
}
