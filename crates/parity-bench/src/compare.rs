//! Two devices of one measurement, and two measurements of one device.

use crate::record::{BenchRun, Row};

/// How much longer a row may take than in an earlier measurement: 10 % more.
pub const TOLERANCE: f64 = 1.1;

/// A row that two devices have times of.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The row.
    pub row: &'a Row,
    /// The time of the first device over that of the second: above 1, the second is faster.
    pub ratio: f64,
}

/// The first two devices of a measurement, row by row.
#[derive(Clone, Debug)]
pub struct Ratios<'a> {
    /// Rows that both have times of, in their order.
    pub pairs: Vec<Pair<'a>>,
}

impl<'a> Ratios<'a> {
    /// The geometric mean over large rows, or over small ones; `None` if there are none.
    pub fn mean(&self, large: bool) -> Option<f64> {
        geometric_mean(self.of(large).map(|pair| pair.ratio))
    }

    /// The large rows, or the small ones.
    pub fn of(&self, large: bool) -> impl Iterator<Item = Pair<'a>> {
        self.pairs
            .iter()
            .copied()
            .filter(move |pair| pair.row.is_large() == large)
    }

    /// Rows on which the second device is slower than `1 / bar` times the first, the slowest first.
    pub fn below(&self, bar: f64) -> Vec<Pair<'a>> {
        let mut below: Vec<_> = self
            .pairs
            .iter()
            .copied()
            .filter(|pair| pair.ratio < bar)
            .collect();
        below.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        below
    }
}

/// Compares the first two devices; `None` where there are fewer.
pub fn ratios(run: &BenchRun) -> Option<Ratios<'_>> {
    if run.devices.len() < 2 {
        return None;
    }
    let pair = |row| {
        Some(Pair {
            row,
            ratio: median(row, 0)? / median(row, 1)?,
        })
    };
    Some(Ratios {
        pairs: run.rows.iter().filter_map(pair).collect(),
    })
}

fn median(row: &Row, column: usize) -> Option<f64> {
    row.times(column)?.median()
}

/// The number whose logarithm is the mean of the logarithms; `None` of no numbers, or where one is not above 0.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values {
        if !(value > 0.0 && value.is_finite()) {
            return None;
        }
        sum += value.ln();
        count += 1;
    }
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

/// A row that takes longer than it did.
#[derive(Clone, Copy, Debug)]
pub struct Slower<'a> {
    /// The row as it is now.
    pub row: &'a Row,
    /// The column of the device.
    pub column: usize,
    /// The time now over the time then.
    pub factor: f64,
}

/// Rows of `now` that take more than [`TOLERANCE`] times as long as in `then` on the device of the same name, and so clearly that
/// the middle halves of their samples lie apart; the worst first. And how many rows and devices both have.
pub fn slower<'a>(then: &BenchRun, now: &'a BenchRun) -> (Vec<Slower<'a>>, usize) {
    let (mut found, mut compared) = (Vec::new(), 0);
    for (column, device) in now.devices.iter().enumerate() {
        let earlier = then
            .devices
            .iter()
            .position(|other| other.backend == device.backend);
        let Some(earlier) = earlier else { continue };
        for row in &now.rows {
            let old = then.rows.iter().find(|old| old.case == row.case);
            let (Some(old), Some(new)) = (old.and_then(|old| old.times(earlier)), row.times(column)) else {
                continue;
            };
            let medians = old.median().zip(new.median());
            let halves = old.quantile(0.75).zip(new.quantile(0.25));
            if let (Some((before, after)), Some((most, least))) = (medians, halves) {
                compared += 1;
                if after > before * TOLERANCE && least > most {
                    let factor = after / before;
                    found.push(Slower { row, column, factor });
                }
            }
        }
    }
    found.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    (found, compared)
}

#[cfg(test)]
pub(crate) mod tests {
    use parity_model::record::BackendInfo;

    use super::*;
    use crate::record::{BENCH_VERSION, Ceilings, Measured, Times};

    pub(crate) fn device(name: &str) -> BackendInfo {
        BackendInfo {
            backend: name.to_owned(),
            device: "a card".to_owned(),
            level: "hardware".to_owned(),
            driver: "d".to_owned(),
            target: "t".to_owned(),
            host: None,
            selector: None,
        }
    }

    /// A measurement of `devices` with rows of so many elements and these times, 0 for a refusal.
    pub(crate) fn run(devices: &[&str], rows: &[(usize, &[f64])]) -> BenchRun {
        let measured = |micros: &f64| match *micros > 0.0 {
            true => Measured::Times(Times {
                micros: vec![*micros; 3],
                calls: 1,
                sets: 1,
            }),
            false => Measured::Refused("no".to_owned()),
        };
        let row = |(elements, times): &(usize, &[f64])| {
            let case = format!("unary/neg:f32:[{elements}]:contiguous:any")
                .parse()
                .unwrap();
            Row::of(&case, times.iter().map(measured).collect())
        };
        BenchRun {
            version: BENCH_VERSION,
            parity_version: "0".to_owned(),
            candle_version: "0".to_owned(),
            commit: None,
            started: "2026-01-01T00:00:00Z".to_owned(),
            seconds: 1.0,
            seed: 0,
            samples: 3,
            sample_us: 1.0,
            rotated_bytes: 1,
            devices: devices.iter().map(|name| device(name)).collect(),
            ceilings: devices
                .iter()
                .map(|_| Ceilings {
                    copy_gb: Some(100.0),
                    product_tflops: None,
                })
                .collect(),
            rows: rows.iter().map(row).collect(),
        }
    }

    const BIG: usize = 1 << 23;

    #[test]
    fn the_geometric_mean_of_a_factor_and_its_inverse_is_one() {
        let mean = |values: &[f64]| geometric_mean(values.iter().copied());
        assert!((mean(&[4.0, 0.25]).unwrap() - 1.0).abs() < 1e-12);
        assert!(
            (mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12,
            "not the mean, which is 5"
        );
        assert_eq!(mean(&[]), None);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(mean(&[1.0, bad]), None, "{bad}");
        }
    }

    #[test]
    fn ratios_are_of_the_first_over_the_second_and_only_where_both_have_times() {
        let run = run(
            &["a", "b"],
            &[(BIG, &[6.0, 2.0]), (BIG + 1, &[1.0, 0.0]), (64, &[1.0, 2.0])],
        );
        let ratios = ratios(&run).unwrap();
        assert_eq!(ratios.pairs.len(), 2, "a refusal has no time");
        assert!((ratios.mean(true).unwrap() - 3.0).abs() < 1e-12);
        assert!((ratios.mean(false).unwrap() - 0.5).abs() < 1e-12);
        let below = ratios.below(1.0);
        assert_eq!(below.len(), 1);
        assert_eq!(below[0].row.elements, 64);
        assert!(ratios.below(0.5).is_empty(), "a row at the bar is not below it");
    }

    #[test]
    fn one_device_has_no_ratio() {
        assert!(ratios(&run(&["a"], &[(BIG, &[1.0])])).is_none());
    }

    #[test]
    fn a_row_is_slower_only_beyond_the_tolerance() {
        let then = run(&["a"], &[(BIG, &[100.0]), (64, &[10.0])]);
        let now = |big, small| run(&["a"], &[(BIG, &[big]), (64, &[small])]);
        let found = |now: &BenchRun| {
            slower(&then, now)
                .0
                .iter()
                .map(|s| s.row.elements)
                .collect::<Vec<_>>()
        };
        assert!(found(&now(109.0, 9.0)).is_empty());
        assert_eq!(found(&now(120.0, 20.0)), [64, BIG as u64], "the worst first");
        let other = run(&["b"], &[(BIG, &[900.0])]);
        let (none, compared) = slower(&then, &other);
        assert!(none.is_empty() && compared == 0, "another device is not compared");
    }

    #[test]
    fn a_median_that_moved_within_its_own_samples_is_not_slower() {
        let mut then = run(&["a"], &[(BIG, &[100.0])]);
        let wide = Times {
            micros: vec![60.0, 100.0, 300.0],
            calls: 1,
            sets: 1,
        };
        then.rows[0].results = vec![Measured::Times(wide)];
        let now = run(&["a"], &[(BIG, &[130.0])]);
        assert!(slower(&then, &now).0.is_empty());
    }
}
