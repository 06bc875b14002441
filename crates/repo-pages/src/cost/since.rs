//! What a change of the kernels did to what they cost: a record of an earlier build beside today's.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use parity_bench::cost::{CARDS, Card, CostRow, CostRun};

/// Rows that the page names as those that became dearer.
const NAMED: usize = 12;
/// A bound that rose by less has not risen.
const SLACK: f64 = 1.02;

/// A row on a card: its bound now over its bound before.
struct Change<'a> {
    label: &'a str,
    family: &'a str,
    target: &'a str,
    ratio: f64,
}

/// The bounds of all rows that both records have, on cards that both have.
fn changes<'a>(before: &CostRun, run: &'a CostRun) -> Vec<Change<'a>> {
    let old: BTreeMap<&str, &CostRow> = before.rows.iter().map(|row| (row.case.as_str(), row)).collect();
    let columns: Vec<(&Card, usize, usize)> = CARDS
        .iter()
        .filter_map(|card| {
            let column = |run: &CostRun| run.devices.iter().position(|device| device.target == card.target);
            Some((card, column(before)?, column(run)?))
        })
        .collect();
    let mut changes = Vec::new();
    for row in &run.rows {
        let Some(old) = old.get(row.case.as_str()) else {
            continue;
        };
        for (card, then, now) in &columns {
            let clocks = |row: &CostRow, column| row.kernels(column).map(|kernels| card.total(kernels));
            let (Some(then), Some(now)) = (clocks(old, *then), clocks(row, *now)) else {
                continue;
            };
            if then > 0.0 && now > 0.0 {
                changes.push(Change {
                    label: row.label(),
                    family: row.label().split('/').next().unwrap_or_default(),
                    target: card.target,
                    ratio: now / then,
                });
            }
        }
    }
    changes
}

/// The geometric mean of ratios, and how many there are.
fn mean<'a>(changes: impl Iterator<Item = &'a Change<'a>>) -> Option<(f64, usize)> {
    let (sum, count) = changes.fold((0.0, 0_usize), |(sum, count), change| {
        (sum + change.ratio.ln(), count + 1)
    });
    (count > 0).then(|| ((sum / count as f64).exp(), count))
}

/// The section of the page.
pub(super) fn since(text: &mut String, before: &CostRun, run: &CostRun) -> std::fmt::Result {
    let changes = changes(before, run);
    let targets: Vec<&str> = CARDS
        .iter()
        .map(|card| card.target)
        .filter(|target| changes.iter().any(|change| change.target == *target))
        .collect();
    writeln!(
        text,
        "## Since an earlier build\n\nThe bound of each row, in clocks, over that of the kernels in \
         [cost-before.json.gz](cost-before.json.gz): geometric means, below 1 where the kernels became cheaper. In brackets, how many \
         rows became cheaper and how many dearer, by more than 2 %.\n"
    )?;
    writeln!(text, "| family | {} |", targets.join(" | "))?;
    writeln!(text, "|---|{}", "---:|".repeat(targets.len()))?;
    let families: BTreeSet<&str> = changes.iter().map(|change| change.family).collect();
    for family in families.into_iter().map(Some).chain([None]) {
        write!(text, "| {} |", family.unwrap_or("all"))?;
        for target in &targets {
            let of = || {
                changes.iter().filter(|change| {
                    change.target == *target && family.is_none_or(|family| family == change.family)
                })
            };
            match mean(of()) {
                Some((mean, count)) => {
                    let cheaper = of().filter(|change| change.ratio * SLACK < 1.0).count();
                    let dearer = of().filter(|change| change.ratio > SLACK).count();
                    write!(text, " {mean:.2} ({cheaper} and {dearer} of {count}) |")?;
                }
                None => write!(text, " – |")?,
            }
        }
        text.push('\n');
    }
    let mut dearer: Vec<&Change<'_>> = changes.iter().filter(|change| change.ratio > SLACK).collect();
    dearer.sort_by(|a, b| b.ratio.total_cmp(&a.ratio).then(a.label.cmp(b.label)));
    if dearer.is_empty() {
        return writeln!(text, "\nNo row became dearer.\n");
    }
    writeln!(text, "\nDearer by the most, of {}:\n", dearer.len())?;
    for change in dearer.iter().take(NAMED) {
        writeln!(
            text,
            "- `{}` on {}: {:.2}",
            change.label, change.target, change.ratio
        )?;
    }
    text.push('\n');
    Ok(())
}
