//! The pages of a record of counters. Each is a function of the record alone.

use std::fmt::Write;

use parity_model::record::KernelCost;

use super::{
    card::{Bound, Card},
    record::{COST_VERSION, CostRow, CostRun, Counted, KIND},
};
use crate::record::ReadError;

/// The record as JSON.
///
/// # Errors
/// None that a record of counters has.
pub fn json(run: &CostRun) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(run).map(|text| text + "\n")
}

/// The record of a JSON text; `None` of a text that says it is something else.
///
/// # Errors
/// The text cannot be read as a record, or another version wrote it.
pub fn parse(text: &str) -> Result<Option<CostRun>, ReadError> {
    let malformed = |error: serde_json::Error| ReadError::Malformed(error.to_string());
    let value: serde_json::Value = serde_json::from_str(text).map_err(malformed)?;
    if value.get("kind").and_then(serde_json::Value::as_str) != Some(KIND) {
        return Ok(None);
    }
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version == u64::from(COST_VERSION) => {}
        Some(version) => return Err(ReadError::Version(version)),
        None => return Err(ReadError::Malformed("it has no version".to_owned())),
    }
    let run: CostRun = serde_json::from_value(value).map_err(malformed)?;
    let columns = run.devices.len();
    if run.rows.iter().any(|row| row.results.len() != columns) {
        return Err(ReadError::Malformed(format!(
            "a row has not a result for each of the {columns} devices"
        )));
    }
    Ok(Some(run))
}

/// Columns of the tables: a name, and what it says.
const COLUMNS: [(&str, &str); 19] = [
    ("waves", "waves of all launches"),
    (
        "vector",
        "instructions a wave of the vector ALU, those of the next three columns among them",
    ),
    (
        "trans",
        "those of them that are transcendental functions, at a quarter of the rate",
    ),
    (
        "mul",
        "those that multiply 32-bit integers, at a quarter of the rate",
    ),
    (
        "f64",
        "those that compute in 64 bits, at a sixteenth of the rate on gfx1100",
    ),
    ("matrix", "matrix instructions a wave"),
    ("scalar", "scalar instructions a wave, loads among them"),
    ("branch", "branches, calls and ends a wave"),
    ("requests", "vector requests to memory a wave"),
    ("LDS", "LDS instructions a wave"),
    ("barriers", "barriers a wave"),
    (
        "B/item",
        "bytes in lines that the launch touches, each line once, for each work-item",
    ),
    ("lines/req", "lines of the vector cache that a request touches"),
    (
        "useful %",
        "bytes that requests name, of the bytes of those lines: 100 is coalesced",
    ),
    (
        "conflict %",
        "clocks of the LDS that are there because of bank conflicts",
    ),
    ("active %", "active lanes of vector instructions"),
    (
        "VGPR SGPR LDS scratch",
        "registers of a wave, bytes of LDS of a workgroup, bytes of private memory of a work-item",
    ),
    (
        "waves/SIMD",
        "waves that a SIMD can hold, and what allows no more",
    ),
    (
        "bound",
        "the part of the card that the kernel keeps busy longest; how busy the next one is then",
    ),
];

/// The first line of a table.
fn header() -> Vec<&'static str> {
    let names = COLUMNS.iter().map(|(name, _)| *name);
    ["row", "kernel"].into_iter().chain(names).collect()
}

/// A number of the kernel for each of something, with a digit.
fn each(value: u64, of: u64) -> String {
    match (value, of) {
        (_, 0) => "–".to_owned(),
        (0, _) => "0".to_owned(),
        (value, of) => format!("{:.1}", value as f64 / of as f64),
    }
}

fn percent(value: f64, of: f64) -> String {
    match of > 0.0 {
        true => format!("{:.0}", value / of * 100.0),
        false => "–".to_owned(),
    }
}

/// The words of a bound.
fn bounded(bound: Option<Bound>) -> String {
    match bound {
        None => "–".to_owned(),
        Some(Bound { part, next, .. }) => {
            let (second, share) = next;
            format!("{}, {} {:.0} %", part.name(), second.name(), share * 100.0)
        }
    }
}

fn cells(row: &CostRow, kernel: &KernelCost, card: Option<&Card>) -> Vec<String> {
    let counter = |name| kernel.counter(name);
    let waves = counter("waves");
    let line = card.map_or(0.0, |card| card.line);
    let lines = counter("lines") as f64 * line;
    let times = match kernel.launches {
        1 => String::new(),
        count => format!(" ×{count}"),
    };
    let items = counter("work_items");
    vec![
        row.label().to_owned(),
        format!("{}{times}", kernel.kernel),
        waves.to_string(),
        each(kernel.vector(), waves),
        each(counter("transcendental"), waves),
        each(counter("multiply"), waves),
        each(counter("double"), waves),
        each(counter("matrix"), waves),
        each(kernel.sum(&["salu", "smem"]), waves),
        each(counter("branch"), waves),
        each(kernel.requests(), waves),
        each(counter("lds"), waves),
        each(counter("barrier"), waves),
        match items {
            0 => "–".to_owned(),
            items => format!("{:.1}", counter("launch_lines") as f64 * line / items as f64),
        },
        each(counter("lines"), kernel.requests()),
        percent(counter("useful_bytes") as f64, lines),
        percent(counter("lds_conflicts") as f64, counter("lds_cycles") as f64),
        percent(counter("active_lanes") as f64, counter("lane_slots") as f64),
        format!(
            "{} {} {} {}",
            kernel.vgprs, kernel.sgprs, kernel.lds, kernel.scratch
        ),
        format!("{} {}", kernel.occupancy, kernel.limit),
        bounded(card.and_then(|card| card.bound(kernel))),
    ]
}

/// Lines of the table of device `column`: a line for each row and kernel.
fn table(run: &CostRun, column: usize) -> Vec<Vec<String>> {
    let card = run
        .devices
        .get(column)
        .and_then(|device| Card::of(&device.target));
    let rows = run.rows.iter();
    let lines = rows.flat_map(|row| {
        let kernels = row.kernels(column).unwrap_or_default();
        kernels.iter().map(move |kernel| cells(row, kernel, card))
    });
    lines.collect()
}

/// What the columns mean, one a line.
fn legend(page: &mut String, mark: &str) {
    for (name, what) in COLUMNS {
        let _ = writeln!(page, "{mark}{name}: {what}");
    }
}

/// What a device is.
fn device(run: &CostRun, column: usize) -> String {
    let Some(info) = run.devices.get(column) else {
        return String::new();
    };
    let peaks = Card::of(&info.target).map_or(String::new(), |card| {
        format!(
            "; bounds are those of a {}: {} compute units, {} bytes of memory a clock, lines of {} bytes",
            card.name, card.units, card.memory, card.line
        )
    });
    format!("{}: {} ({}){peaks}", info.backend, info.device, info.level)
}

/// Rows without counters, with the reason.
fn refusals(run: &CostRun, page: &mut String) {
    let mut first = true;
    for row in &run.rows {
        for (device, result) in run.devices.iter().zip(&row.results) {
            let why = match result {
                Counted::Kernels(kernels) if kernels.is_empty() => "it launches no kernel",
                Counted::Kernels(_) => continue,
                Counted::Refused(why) => why.lines().next().unwrap_or_default(),
            };
            if std::mem::take(&mut first) {
                page.push_str("\nNot counted:\n\n");
            }
            let _ = writeln!(page, "- {} on {}: {why}", row.label(), device.backend);
        }
    }
}

/// A table for each card: columns of numbers, and the row and its kernel last.
pub fn text(run: &CostRun) -> String {
    let mut page = String::new();
    for column in 0..run.devices.len() {
        let _ = writeln!(page, "{}\n", device(run, column));
        let mut lines = vec![header().into_iter().map(str::to_owned).collect::<Vec<_>>()];
        lines.extend(table(run, column));
        let width = |at: usize| {
            let widths = lines.iter().map(|line| line[at].chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..header().len()).map(width).collect();
        for line in &lines {
            for (cell, width) in line.iter().zip(&widths).skip(2) {
                let _ = write!(page, "{cell:>width$}  ");
            }
            let _ = writeln!(page, "{}  {}", line[0], line[1]);
        }
        page.push('\n');
    }
    legend(&mut page, "  ");
    refusals(run, &mut page);
    page
}

/// The same as a page of markdown.
pub fn markdown(run: &CostRun) -> String {
    let mut page = String::new();
    legend(&mut page, "- ");
    for column in 0..run.devices.len() {
        let name = run
            .devices
            .get(column)
            .map_or("", |device| device.target.as_str());
        let _ = writeln!(page, "\n## {name}\n\n{}\n", device(run, column));
        let head = header();
        let _ = writeln!(page, "| {} |", head.join(" | "));
        let _ = writeln!(page, "|---|---{}|", "|---:".repeat(head.len() - 2));
        for line in table(run, column) {
            let line: Vec<String> = line
                .into_iter()
                .enumerate()
                .map(|(at, cell)| if at < 2 { format!("`{cell}`") } else { cell })
                .collect();
            let _ = writeln!(page, "| {} |", line.join(" | "));
        }
    }
    refusals(run, &mut page);
    page
}

/// A line for each row, device and kernel, with every counter.
pub fn csv(run: &CostRun) -> String {
    let kernels = || {
        let results = run
            .rows
            .iter()
            .flat_map(|row| (0..run.devices.len()).filter_map(|at| row.kernels(at)));
        results.flatten()
    };
    // Every record has the same counters; the first kernel names them.
    let names: Vec<&str> = kernels()
        .next()
        .map(|kernel| kernel.counters.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let fixed = "case,device,kernel,launches,block,lanes,vgprs,sgprs,lds_bytes_a_workgroup,scratch,occupancy,limit,bound,refused";
    let mut page = fixed.to_owned();
    for name in &names {
        let _ = write!(page, ",{name}");
    }
    page.push('\n');
    for row in &run.rows {
        for (info, result) in run.devices.iter().zip(&row.results) {
            let head = [
                crate::render::quoted(&row.case),
                crate::render::quoted(&info.backend),
            ]
            .join(",");
            match result {
                Counted::Refused(why) => {
                    let why = crate::render::quoted(why.lines().next().unwrap_or_default());
                    let _ = writeln!(page, "{head}{}{why}{}", ",".repeat(12), ",".repeat(names.len()));
                }
                Counted::Kernels(kernels) => {
                    for kernel in kernels {
                        let bound = Card::of(&info.target).and_then(|card| card.bound(kernel));
                        let [x, y, z] = kernel.block;
                        let _ = write!(
                            page,
                            "{head},{},{},{x}x{y}x{z},{},{},{},{},{},{},{},{},",
                            kernel.kernel,
                            kernel.launches,
                            kernel.lanes,
                            kernel.vgprs,
                            kernel.sgprs,
                            kernel.lds,
                            kernel.scratch,
                            kernel.occupancy,
                            kernel.limit,
                            bound.map_or("", |bound| bound.part.name()),
                        );
                        for name in &names {
                            let _ = write!(page, ",{}", kernel.counter(name));
                        }
                        page.push('\n');
                    }
                }
            }
        }
    }
    page
}

#[cfg(test)]
pub(crate) mod tests {
    use parity_model::record::BackendInfo;

    use super::*;

    /// A kernel that was launched once, with these counters and no others.
    pub(crate) fn kernel(counters: &[(&str, u64)]) -> KernelCost {
        KernelCost {
            kernel: "k".to_owned(),
            launches: 1,
            block: [256, 1, 1],
            lanes: 32,
            vgprs: 8,
            sgprs: 16,
            lds: 0,
            scratch: 0,
            occupancy: 16,
            limit: "waves".to_owned(),
            counters: counters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
        }
    }

    /// A record of one row on gfx1100.
    pub(crate) fn run(kernels: Vec<KernelCost>) -> CostRun {
        let case = "unary/neg:f32:[64]:contiguous:any".parse().unwrap();
        CostRun {
            kind: KIND.to_owned(),
            version: COST_VERSION,
            parity_version: "0".to_owned(),
            candle_version: "0".to_owned(),
            seed: 0,
            devices: vec![BackendInfo {
                backend: "rocm:gfx1100".to_owned(),
                device: "a card".to_owned(),
                level: "isa".to_owned(),
                driver: "d".to_owned(),
                target: "gfx1100".to_owned(),
                host: None,
                selector: None,
            }],
            rows: vec![CostRow::of(&case, vec![Counted::Kernels(kernels)])],
        }
    }

    fn copy() -> KernelCost {
        kernel(&[
            ("waves", 2),
            ("work_items", 64),
            ("valu", 10),
            ("vmem_load", 2),
            ("vmem_store", 2),
            ("lines", 66),
            ("launch_lines", 66),
            ("useful_bytes", 512),
            ("active_lanes", 240),
            ("lane_slots", 320),
        ])
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_another_kind_is_told() {
        let run = run(vec![copy()]);
        let text = json(&run).unwrap();
        assert_eq!(parse(&text).unwrap(), Some(run));
        assert_eq!(parse("{\"version\": 1}").unwrap(), None, "a measurement of times");
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert!(error(&text.replace("\"version\": 1", "\"version\": 9")).contains("version 9"));
        assert!(error("{\"kind\": \"cost\"}").contains("no version"));
    }

    #[test]
    fn the_tables_say_what_bounds_a_kernel_and_how_much_is_useful() {
        let run = run(vec![copy()]);
        for page in [text(&run), markdown(&run)] {
            // 66 lines of 128 bytes: 512 useful bytes of 8448, 132 bytes an item, 16.5 lines a request.
            for cell in ["5.0", "132.0", "16.5", "6", "75", "8 16 0 0", "16 waves"] {
                assert!(page.contains(cell), "{cell}: {page}");
            }
            assert!(page.contains("device memory, vector cache 3 %"), "{page}");
            assert!(
                !page.contains("µs") && !page.contains(" ms"),
                "no time is claimed: {page}"
            );
        }
    }

    #[test]
    fn every_line_of_csv_has_as_many_cells() {
        let mut run = run(vec![copy(), copy()]);
        let mut refused = run.rows[0].clone();
        refused.results = vec![Counted::Refused("no, not at all".to_owned())];
        run.rows.push(refused);
        let page = csv(&run);
        let cells = |line: &str| {
            let mut quoted = false;
            line.chars()
                .filter(|c| {
                    quoted ^= *c == '"';
                    *c == ',' && !quoted
                })
                .count()
        };
        let counts: Vec<_> = page.lines().map(cells).collect();
        assert_eq!(counts.len(), 4);
        assert!(counts.iter().all(|count| *count == counts[0]), "{page}");
    }
}
