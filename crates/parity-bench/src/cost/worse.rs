//! What got worse between two records.

use super::record::{CostRow, CostRun, Counted};
use parity_model::record::KernelCost;

/// Which way a number is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Fewer are.
    Fewer,
    /// More are.
    More,
}

/// How the value of a row on a device is made of its kernels.
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    /// The sum of a counter.
    Counter(&'static str),
    /// Launches.
    Launches,
    /// Lanes that a vector instruction had and did not use.
    IdleLanes,
    /// The fewest waves of a SIMD that one of the kernels allows.
    Occupancy,
}

/// What is compared: waits are not, nor what only says how much work there was.
pub const COMPARED: &[(&str, Figure, Better)] = &[
    ("launches", Figure::Launches, Better::Fewer),
    ("valu", Figure::Counter("valu"), Better::Fewer),
    ("transcendental", Figure::Counter("transcendental"), Better::Fewer),
    ("multiply", Figure::Counter("multiply"), Better::Fewer),
    ("double", Figure::Counter("double"), Better::Fewer),
    ("matrix_cycles", Figure::Counter("matrix_cycles"), Better::Fewer),
    ("idle_lanes", Figure::IdleLanes, Better::Fewer),
    ("salu", Figure::Counter("salu"), Better::Fewer),
    ("branch", Figure::Counter("branch"), Better::Fewer),
    ("barrier", Figure::Counter("barrier"), Better::Fewer),
    ("smem", Figure::Counter("smem"), Better::Fewer),
    ("smem_lines", Figure::Counter("smem_lines"), Better::Fewer),
    ("vmem_load", Figure::Counter("vmem_load"), Better::Fewer),
    ("vmem_store", Figure::Counter("vmem_store"), Better::Fewer),
    ("vmem_atomic", Figure::Counter("vmem_atomic"), Better::Fewer),
    ("lines", Figure::Counter("lines"), Better::Fewer),
    ("group_lines", Figure::Counter("group_lines"), Better::Fewer),
    ("launch_lines", Figure::Counter("launch_lines"), Better::Fewer),
    ("scratch_bytes", Figure::Counter("scratch_bytes"), Better::Fewer),
    ("lds", Figure::Counter("lds"), Better::Fewer),
    ("lds_cycles", Figure::Counter("lds_cycles"), Better::Fewer),
    ("lds_conflicts", Figure::Counter("lds_conflicts"), Better::Fewer),
    ("occupancy", Figure::Occupancy, Better::More),
];

impl Figure {
    fn of(self, kernels: &[KernelCost]) -> u64 {
        let sum = |of: fn(&KernelCost) -> u64| kernels.iter().map(of).sum();
        match self {
            Figure::Counter(name) => kernels.iter().map(|kernel| kernel.counter(name)).sum(),
            Figure::Launches => sum(|kernel| kernel.launches),
            Figure::IdleLanes => sum(|kernel| {
                kernel
                    .counter("lane_slots")
                    .saturating_sub(kernel.counter("active_lanes"))
            }),
            Figure::Occupancy => {
                let each = kernels.iter().map(|kernel| u64::from(kernel.occupancy));
                each.min().unwrap_or(0)
            }
        }
    }
}

/// A row that the gate refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worsening {
    /// The row's label.
    pub row: String,
    /// The device, as it is called in the base.
    pub device: String,
    /// What is wrong with it.
    pub what: What,
}

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A number got worse: its name, what it was and what it is.
    Worse(&'static str, u64, u64),
    /// The base has counters of it, and the other record has none, for this reason.
    Vanished(String),
}

impl std::fmt::Display for Worsening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Worsening { row, device, what } = self;
        match what {
            What::Worse(name, before, now) => {
                write!(f, "{row} on {device}: {name} {before} before, {now} now")?;
                match *before {
                    0 => Ok(()),
                    before => write!(f, " ({:+.1} %)", (*now as f64 / before as f64 - 1.0) * 100.0),
                }
            }
            What::Vanished(why) => write!(f, "{row} on {device}: {why}"),
        }
    }
}

/// Rows of `now` that are worse than in `base` by more than `percent` of a number of [`COMPARED`], and rows that are in `base` alone.
/// And how many rows and devices were compared. What is in `now` alone is not looked at.
pub fn worse(base: &CostRun, now: &CostRun, percent: f64) -> (Vec<Worsening>, usize) {
    let (mut found, mut compared) = (vec![], 0);
    for (column, device) in base.devices.iter().enumerate() {
        let place = |other: &CostRun| {
            let mut devices = other.devices.iter();
            devices.position(|other| other.backend == device.backend)
        };
        let finding = |row: &CostRow, what| Worsening {
            row: row.label().to_owned(),
            device: device.backend.clone(),
            what,
        };
        for row in &base.rows {
            let Some(before) = row.kernels(column) else {
                continue;
            };
            compared += 1;
            let other = now.rows.iter().find(|other| other.case == row.case);
            let result = match (place(now), other) {
                (None, _) => Err("the device is gone".to_owned()),
                (_, None) => Err("the row is gone".to_owned()),
                (Some(place), Some(other)) => match other.results.get(place) {
                    Some(Counted::Kernels(kernels)) => Ok(kernels),
                    Some(Counted::Refused(why)) => Err(format!("it is refused now: {why}")),
                    None => Err("the row has no result".to_owned()),
                },
            };
            match result {
                Err(why) => found.push(finding(row, What::Vanished(why))),
                Ok(after) => {
                    let all = all_worse(before, after, percent);
                    found.extend(
                        all.map(|(name, before, after)| finding(row, What::Worse(name, before, after))),
                    );
                }
            }
        }
    }
    (found, compared)
}

/// The numbers of [`COMPARED`] that got worse by more than `percent` from one run of some kernels to another: their names, what they were
/// and what they are.
fn all_worse(
    before: &[KernelCost],
    after: &[KernelCost],
    percent: f64,
) -> impl Iterator<Item = (&'static str, u64, u64)> {
    COMPARED.iter().filter_map(move |(name, value, better)| {
        let (before, after) = (value.of(before), value.of(after));
        is_worse(before, after, *better, percent).then_some((*name, before, after))
    })
}

/// Percent by which a counter may be worse unless the gate is asked for something else: kernels that are compiled anew move by an instruction.
pub const TOLERANCE: f64 = 2.0;

/// Whether the gate refuses what some kernels did after what they did before; see [`worse`].
pub fn is_dearer(before: &[KernelCost], after: &[KernelCost], percent: f64) -> bool {
    all_worse(before, after, percent).next().is_some()
}

fn is_worse(before: u64, after: u64, better: Better, percent: f64) -> bool {
    let share = percent / 100.0;
    match better {
        Better::Fewer => after > before && after as f64 > before as f64 * (1.0 + share),
        Better::More => after < before && (after as f64) < before as f64 * (1.0 - share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::page::tests::{kernel, run};

    fn findings(now: &[(&str, u64)], percent: f64) -> Vec<String> {
        let base = kernel(&[
            ("valu", 1000),
            ("lines", 100),
            ("lane_slots", 640),
            ("active_lanes", 640),
        ]);
        let mut counters = base.clone();
        for (name, value) in now {
            counters.counters.insert((*name).to_owned(), *value);
        }
        let (found, compared) = worse(&run(vec![base]), &run(vec![counters]), percent);
        assert_eq!(compared, 1);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_counter_that_grew_by_more_than_the_share_is_named_with_both_values() {
        let found = findings(&[("lines", 3200)], 2.0);
        assert_eq!(
            found,
            ["unary/neg:f32:[64] on rocm:gfx1100: lines 100 before, 3200 now (+3100.0 %)"]
        );
        assert!(findings(&[("valu", 1020)], 2.0).is_empty(), "2 % more");
        assert_eq!(findings(&[("valu", 1021)], 2.0).len(), 1);
        assert_eq!(findings(&[("valu", 1001)], 0.0).len(), 1);
        assert!(findings(&[("valu", 900), ("lines", 1)], 0.0).is_empty());
        let found = findings(&[("lds_conflicts", 62)], 2.0);
        assert!(found[0].ends_with("lds_conflicts 0 before, 62 now"), "{found:?}");
        let found = findings(&[("active_lanes", 320)], 2.0);
        assert!(found[0].ends_with("idle_lanes 0 before, 320 now"), "{found:?}");
        assert!(findings(&[("wait", 9999), ("lane_bytes", 9999)], 0.0).is_empty());
    }

    #[test]
    fn fewer_waves_of_a_simd_are_worse() {
        let (base, mut now) = (kernel(&[]), kernel(&[]));
        now.occupancy -= 1;
        let found = worse(&run(vec![base]), &run(vec![now]), 2.0).0;
        assert_eq!(found[0].what, What::Worse("occupancy", 16, 15));
    }

    #[test]
    fn what_vanished_is_refused() {
        let base = run(vec![kernel(&[])]);
        let mut now = base.clone();
        now.rows.clear();
        let words = |now: &CostRun| worse(&base, now, 2.0).0[0].to_string();
        assert!(words(&now).ends_with("the row is gone"));
        now.rows.clone_from(&base.rows);
        now.rows[0].results[0] = Counted::Refused("no memory".to_owned());
        assert!(words(&now).ends_with("it is refused now: no memory"));
        now.devices[0].backend = "rocm:gfx942".to_owned();
        assert!(words(&now).ends_with("the device is gone"));
        // The gate passes over rows that the base did not count.
        assert!(worse(&now, &base, 2.0).0.is_empty());
    }
}
