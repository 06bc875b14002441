//! The pages of a measurement. Each is a function of the record alone.

use std::fmt::Write;

use crate::{
    compare::{Ratios, ratios},
    record::{BENCH_VERSION, BenchRun, Measured, ReadError, Row},
};

/// A row that is slower than candle's by more than the noise of a measurement.
const CLEARLY_BELOW: f64 = 0.97;

/// The share of a copy's bandwidth that a large row which only moves memory should reach.
const OF_COPY: f64 = 0.85;

/// The record as JSON.
///
/// # Errors
/// A number that JSON does not have, which no measured time is.
pub fn json(run: &BenchRun) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(run).map(|text| text + "\n")
}

/// The record of a JSON text.
///
/// # Errors
/// The text cannot be read as a record, or another version wrote it.
pub fn parse(text: &str) -> Result<BenchRun, ReadError> {
    let malformed = |error: serde_json::Error| ReadError::Malformed(error.to_string());
    let value: serde_json::Value = serde_json::from_str(text).map_err(malformed)?;
    match value.get("version").and_then(serde_json::Value::as_u64) {
        Some(version) if version == u64::from(BENCH_VERSION) => {}
        Some(version) => return Err(ReadError::Version(version)),
        None => return Err(ReadError::Malformed("it has no version".to_owned())),
    }
    let run: BenchRun = serde_json::from_value(value).map_err(malformed)?;
    let columns = run.devices.len();
    if run.ceilings.len() != columns || run.rows.iter().any(|row| row.results.len() != columns) {
        return Err(ReadError::Malformed(format!(
            "a row has not a result for each of the {columns} devices"
        )));
    }
    Ok(run)
}

/// A table with a line for each row: columns of numbers at the right, the label last.
pub fn text(run: &BenchRun) -> String {
    let mut page = String::new();
    for (column, device) in run.devices.iter().enumerate() {
        let _ = writeln!(
            page,
            "{}: {} ({}, {}){}",
            device.backend,
            device.device,
            device.level,
            device.driver,
            reached(run, column)
        );
    }
    let pairs = ratios(run);
    let mut table = vec![header(run, pairs.is_some())];
    table.extend(run.rows.iter().map(|row| cells(run, row, pairs.as_ref())));
    let widths: Vec<usize> = (0..table[0].len())
        .map(|at| {
            table
                .iter()
                .map(|line| line[at].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    page.push('\n');
    for line in &table {
        let (label, numbers) = line
            .split_first()
            .map_or(("", &[][..]), |(label, rest)| (label.as_str(), rest));
        for (cell, width) in numbers.iter().zip(&widths[1..]) {
            let _ = write!(page, "{cell:>width$}  ");
        }
        let _ = writeln!(page, "{label}");
    }
    refusals(run, &mut page);
    page.push('\n');
    page.push_str(&summary(run, pairs.as_ref(), "  "));
    page.push_str(&below_copy(run, "  "));
    page
}

/// The same as a page of markdown.
pub fn markdown(run: &BenchRun) -> String {
    let mut page = String::new();
    let pairs = ratios(run);
    for (column, device) in run.devices.iter().enumerate() {
        let _ = writeln!(
            page,
            "- `{}`: {} ({}, {}, {}){}",
            device.backend,
            device.device,
            device.level,
            device.driver,
            device.target,
            reached(run, column)
        );
    }
    page.push('\n');
    page.push_str(&summary(run, pairs.as_ref(), "- "));
    page.push_str(&below_copy(run, "- "));
    let head = header(run, pairs.is_some());
    let _ = writeln!(page, "\n| {} |", head.join(" | "));
    let _ = writeln!(page, "|---{}|", "|---:".repeat(head.len() - 1));
    for row in &run.rows {
        let mut line = cells(run, row, pairs.as_ref());
        line[0] = format!("`{}`", line[0]);
        let _ = writeln!(page, "| {} |", line.join(" | "));
    }
    refusals(run, &mut page);
    page
}

/// A line for each row and device.
pub fn csv(run: &BenchRun) -> String {
    let mut page = String::from(
        "case,device,elements,bytes,flops,median_us,quartile_1_us,quartile_3_us,gb_s,tflop_s,share_of_copy,refused\n",
    );
    for row in &run.rows {
        for (column, (device, result)) in run.devices.iter().zip(&row.results).enumerate() {
            let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
            let quantile = |part| number(row.times(column).and_then(|times| times.quantile(part)));
            let refused = match result {
                Measured::Times(_) => "",
                Measured::Refused(why) => why.lines().next().unwrap_or_default(),
            };
            let cells = [
                quoted(&row.case),
                quoted(&device.backend),
                row.elements.to_string(),
                row.bytes.to_string(),
                row.flops.to_string(),
                quantile(0.5),
                quantile(0.25),
                quantile(0.75),
                number(row.gb_per_second(column)),
                number(row.tflops(column)),
                number(run.share(row, column)),
                quoted(refused),
            ];
            page.push_str(&cells.join(","));
            page.push('\n');
        }
    }
    page
}

pub(crate) fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// What the device reached of a copy and a product.
fn reached(run: &BenchRun, column: usize) -> String {
    let Some(ceilings) = run.ceilings.get(column) else {
        return String::new();
    };
    let copy = ceilings.copy_gb.map(|gb| format!("a copy moves {gb:.0} GB/s"));
    let product = ceilings
        .product_tflops
        .map(|tflops| format!("a product runs at {tflops:.1} TFLOP/s"));
    let all: Vec<String> = copy.into_iter().chain(product).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("; {}", all.join(", ")),
    }
}

fn header(run: &BenchRun, compared: bool) -> Vec<String> {
    let mut cells = vec!["row".to_owned()];
    for device in &run.devices {
        let name = &device.backend;
        cells.extend([
            format!("{name} µs"),
            "±%".to_owned(),
            "GB/s".to_owned(),
            "% of copy".to_owned(),
            "TFLOP/s".to_owned(),
        ]);
    }
    if compared {
        cells.push("ratio".to_owned());
    }
    cells
}

fn cells(run: &BenchRun, row: &Row, pairs: Option<&Ratios<'_>>) -> Vec<String> {
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
    };
    let mut cells = vec![row.label().to_owned()];
    for column in 0..run.devices.len() {
        let times = row.times(column);
        cells.push(number(times.and_then(|times| times.median()), 1));
        cells.push(number(
            times
                .and_then(|times| times.spread())
                .map(|spread| spread * 100.0),
            1,
        ));
        cells.push(number(row.gb_per_second(column), 0));
        cells.push(number(run.share(row, column).map(|share| share * 100.0), 0));
        cells.push(match row.flops {
            0 => String::new(),
            _ => number(row.tflops(column), 2),
        });
    }
    if let Some(pairs) = pairs {
        let pair = pairs.pairs.iter().find(|pair| pair.row.case == row.case);
        cells.push(number(pair.map(|pair| pair.ratio), 2));
    }
    cells
}

/// Rows without a time, with the reason.
fn refusals(run: &BenchRun, page: &mut String) {
    let mut first = true;
    for row in &run.rows {
        for (device, result) in run.devices.iter().zip(&row.results) {
            if let Measured::Refused(why) = result {
                if std::mem::take(&mut first) {
                    page.push_str("\nNot timed:\n\n");
                }
                let why = why.lines().next().unwrap_or_default();
                let _ = writeln!(page, "- {} on {}: {why}", row.label(), device.backend);
            }
        }
    }
}

/// Means of the ratios and the rows below 1, one a line.
fn summary(run: &BenchRun, pairs: Option<&Ratios<'_>>, mark: &str) -> String {
    let mut page = String::new();
    let (Some(pairs), [first, second, ..]) = (pairs, run.devices.as_slice()) else {
        let _ = writeln!(
            page,
            "{mark}{} rows on {} device{}",
            run.rows.len(),
            run.devices.len(),
            if run.devices.len() == 1 { "" } else { "s" }
        );
        return page;
    };
    let (first, second) = (&first.backend, &second.backend);
    for (large, what) in [(true, "large"), (false, "small")] {
        let count = pairs.of(large).count();
        match pairs.mean(large) {
            Some(mean) => {
                let _ = writeln!(
                    page,
                    "{mark}{what} rows: the geometric mean of {first}'s time over {second}'s is {mean:.2}, of {count} rows"
                );
            }
            None => {
                let _ = writeln!(page, "{mark}{what} rows: none has a time of both");
            }
        }
        let mut below = pairs.below(1.0);
        below.retain(|pair| pair.row.is_large() == large);
        let clearly = below.iter().filter(|pair| pair.ratio < CLEARLY_BELOW).count();
        let list: Vec<String> = below
            .iter()
            .map(|pair| format!("{} {:.2}", pair.row.label(), pair.ratio))
            .collect();
        match list.is_empty() {
            true => {
                let _ = writeln!(page, "{mark}{what} rows on which {second} is slower: none");
            }
            false => {
                let _ = writeln!(
                    page,
                    "{mark}{what} rows on which {second} is slower: {}, {clearly} of them below {CLEARLY_BELOW}: {}",
                    list.len(),
                    list.join("; ")
                );
            }
        }
    }
    page
}

/// The large rows on which the last device, the one under test, moves memory clearly slower than a copy does, the slowest first.
fn below_copy(run: &BenchRun, mark: &str) -> String {
    let Some((column, device)) = run.devices.iter().enumerate().next_back() else {
        return String::new();
    };
    let moving = run.rows.iter().filter(|row| row.is_large() && row.moves_memory());
    let shares: Vec<_> = moving
        .filter_map(|row| Some((row, run.share(row, column)?)))
        .collect();
    if shares.is_empty() {
        return String::new();
    }
    let count = shares.len();
    let mut below = shares;
    below.retain(|(_, share)| *share < OF_COPY);
    below.sort_by(|a, b| a.1.total_cmp(&b.1));
    let list: Vec<String> = below
        .iter()
        .map(|(row, share)| format!("{} {:.0} %", row.label(), share * 100.0))
        .collect();
    let list = match list.is_empty() {
        true => "none".to_owned(),
        false => format!("{}: {}", list.len(), list.join("; ")),
    };
    format!(
        "{mark}large rows that only move memory, {count} on {}, below {:.0} % of a copy's bandwidth: {list}\n",
        device.backend,
        OF_COPY * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::run;

    const BIG: usize = 1 << 23;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let run = run(&["a", "b"], &[(BIG, &[6.0, 2.0]), (64, &[1.0, 0.0])]);
        assert_eq!(parse(&json(&run).unwrap()).unwrap(), run);
    }

    #[test]
    fn another_version_another_text_and_missing_results_are_refused() {
        let good = json(&run(&["a"], &[(64, &[1.0])])).unwrap();
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert!(error(&good.replace("\"version\": 1", "\"version\": 9")).contains("version 9"));
        assert!(error("{}").contains("no version"));
        assert!(error("[").contains("does not hold a measurement"));
        let mut short = run(&["a"], &[(64, &[1.0])]);
        short.rows[0].results.clear();
        assert!(error(&json(&short).unwrap()).contains("each of the 1 devices"));
    }

    #[test]
    fn the_table_has_times_ratios_and_what_was_refused() {
        let run = run(
            &["a", "b"],
            &[(BIG, &[6.0, 2.0]), (64, &[1.0, 2.0]), (65, &[1.0, 0.0])],
        );
        for page in [text(&run), markdown(&run)] {
            assert!(page.contains("is 3.00, of 1 rows"), "{page}");
            assert!(
                page.contains("slower: 1, 1 of them below 0.97: unary/neg:f32:[64] 0.50"),
                "{page}"
            );
            assert!(page.contains("unary/neg:f32:[65] on b: no"), "{page}");
        }
    }

    #[test]
    fn rows_that_move_memory_slower_than_a_copy_are_listed_for_the_last_device() {
        // 8 bytes an element: 2^23 of them in 100 µs are 671 GB/s.
        let mut run = run(
            &["a", "b"],
            &[
                (BIG, &[100.0, 200.0]),
                (BIG + 1, &[900.0, 110.0]),
                (64, &[1.0, 2.0]),
            ],
        );
        run.ceilings[1].copy_gb = Some(671.0);
        let list = "- large rows that only move memory, 2 on b, below 85 % of a copy's bandwidth: 1: unary/neg:f32:[8388608] 50 %\n";
        assert!(markdown(&run).contains(list), "{}", markdown(&run));
        // The negative controls: against a slower copy no row is slow, and without a copy the page has no list.
        run.ceilings[1].copy_gb = Some(300.0);
        assert!(markdown(&run).contains("of a copy's bandwidth: none\n"));
        run.ceilings
            .iter_mut()
            .for_each(|ceilings| ceilings.copy_gb = None);
        assert!(!markdown(&run).contains("only move memory"));
        run.ceilings[1].copy_gb = Some(671.0);
        run.rows[0].case = run.rows[0].case.replace("unary/neg", "sort/argsort_asc");
        assert!(markdown(&run).contains("of a copy's bandwidth: none\n"));
    }

    #[test]
    fn one_device_has_a_table_without_ratios() {
        let page = text(&run(&["a"], &[(64, &[1.0])]));
        assert!(
            !page.contains("ratio") && page.contains("1 rows on 1 device\n"),
            "{page}"
        );
    }

    #[test]
    fn a_case_of_several_shapes_is_one_cell_of_csv() {
        let page = csv(&run(&["a"], &[(64, &[1.0]), (65, &[0.0])]));
        let mut lines = page.lines();
        let columns = lines.next().unwrap().split(',').count();
        assert!(lines.all(|line| line.split(',').count() == columns), "{page}");
        assert_eq!(quoted("[1],[2]"), "\"[1],[2]\"");
    }
}
