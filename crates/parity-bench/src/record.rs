//! The record of a measurement: all that its pages are made of.

use parity_model::{Case, record::BackendInfo};
use serde::{Deserialize, Serialize};

use crate::work::Work;

/// Version of the JSON layout; bumped when a reader of the old one would misread the new one.
pub const BENCH_VERSION: u32 = 1;

/// One measurement: provenance, and a row for each call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRun {
    /// [`BENCH_VERSION`].
    pub version: u32,
    /// `parity`'s own version.
    pub parity_version: String,
    /// candle-core's version.
    pub candle_version: String,
    /// Commit of the working tree, where known.
    pub commit: Option<String>,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// Wall time of everything, seconds.
    pub seconds: f64,
    /// Seed the inputs derive from.
    pub seed: u64,
    /// Samples taken of each row on each device.
    pub samples: usize,
    /// Microseconds that a sample lasts at least, where so many calls are allowed.
    pub sample_us: f64,
    /// Bytes of inputs that calls rotate over at least, where so many sets are allowed.
    pub rotated_bytes: u64,
    /// The devices, in the order in which they were asked for.
    pub devices: Vec<BackendInfo>,
    /// What each device reaches, measured in the same run.
    pub ceilings: Vec<Ceilings>,
    /// The rows, in the order of their ids.
    pub rows: Vec<Row>,
}

/// What a device reaches at best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Bytes a second of a copy, read and written, in 10^9; `None` where it failed.
    pub copy_gb: Option<f64>,
    /// Operations a second of a product of large square bf16 matrices through the device's own library or kernels, in 10^12; of the
    /// host CPU, of small f32 ones.
    pub product_tflops: Option<f64>,
}

/// One call on every device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The case's id.
    pub case: String,
    /// [`Work::elements`].
    pub elements: u64,
    /// [`Work::bytes`].
    pub bytes: u64,
    /// [`Work::flops`].
    pub flops: u64,
    /// What each device made of it.
    pub results: Vec<Measured>,
}

impl Row {
    /// The row of a case.
    pub fn of(case: &Case, results: Vec<Measured>) -> Row {
        let Work {
            elements,
            bytes,
            flops,
        } = Work::of(case);
        Row {
            case: case.id().to_string(),
            elements,
            bytes,
            flops,
            results,
        }
    }

    /// Whether it counts as large.
    pub fn is_large(&self) -> bool {
        self.elements >= crate::LARGE
    }

    /// The id without the values, and without the layouts where all are contiguous.
    pub fn label(&self) -> &str {
        label(&self.case)
    }

    /// Whether the call computes next to nothing with each element that it moves, so that a copy's bandwidth is what it can
    /// reach: elementwise ops, casts, copies, fills, reductions, normalizations, rows by number, weights back to floats. Not
    /// products, windows, sorts, and what writes or reads places in any order.
    pub fn moves_memory(&self) -> bool {
        let name = self.case.split(['(', ':']).next().unwrap_or_default();
        let Some((family, op)) = name.split_once('/') else {
            return false;
        };
        match family {
            "unary" | "binary" | "broadcast" | "cast" | "copy" | "where" | "reduce" | "nn" => true,
            "indexing" => op == "index_select",
            "quantized" => op.starts_with("dequantize"),
            _ => false,
        }
    }

    /// The times of device `column`, if it has any.
    pub fn times(&self, column: usize) -> Option<&Times> {
        match self.results.get(column)? {
            Measured::Times(times) => Some(times),
            Measured::Refused(_) => None,
        }
    }

    /// Bytes a second in 10^9.
    pub fn gb_per_second(&self, column: usize) -> Option<f64> {
        let median = self.times(column)?.median()?;
        Some(self.bytes as f64 / median / 1e3)
    }

    /// Operations a second in 10^12, of a product.
    pub fn tflops(&self, column: usize) -> Option<f64> {
        let median = self.times(column)?.median()?;
        (self.flops > 0).then(|| self.flops as f64 / median / 1e6)
    }
}

/// An id without the values, and without the layouts where all are contiguous.
pub(crate) fn label(case: &str) -> &str {
    let text = case.rsplit_once(':').map_or(case, |(text, _)| text);
    match text.rsplit_once(':') {
        Some((short, layouts)) if layouts.split(',').all(|layout| layout == "contiguous") => short,
        _ => text,
    }
}

/// What a device made of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// It has times.
    Times(Times),
    /// It has none, for this reason.
    Refused(String),
}

/// Times of a call on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Microseconds a call, one for each sample, in the order in which they were taken.
    pub micros: Vec<f64>,
    /// Calls that a sample is the mean of.
    pub calls: usize,
    /// Sets of inputs that calls rotated over.
    pub sets: usize,
}

impl Times {
    /// The value below which `part` of the samples lie, between two samples where it falls there; `None` without samples, or
    /// when a sample is zero, negative or not finite.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        if self
            .micros
            .iter()
            .any(|micros| !(micros.is_finite() && *micros > 0.0))
        {
            return None;
        }
        let mut sorted = self.micros.clone();
        sorted.sort_by(f64::total_cmp);
        let place = part.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        Some(below + (above - below) * place.fract())
    }

    /// The median, microseconds.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// The distance of the quartiles as a share of the median.
    pub fn spread(&self) -> Option<f64> {
        Some((self.quantile(0.75)? - self.quantile(0.25)?) / self.median()?)
    }
}

impl BenchRun {
    /// The copy bandwidth that rows of device `column` are held to: the best that this run measured on the same hardware, whatever
    /// drove it.
    pub fn copy_gb(&self, column: usize) -> Option<f64> {
        let own = self.devices.get(column)?;
        let same = self.devices.iter().zip(&self.ceilings);
        let same = same.filter(|(other, _)| other.device == own.device && other.host == own.host);
        same.filter_map(|(_, ceilings)| ceilings.copy_gb).reduce(f64::max)
    }

    /// The share of the copy bandwidth that a row reaches, 1 for all of it.
    pub fn share(&self, row: &Row, column: usize) -> Option<f64> {
        Some(row.gb_per_second(column)? / self.copy_gb(column)?)
    }
}

/// Why a text cannot be read as a record.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The text is not JSON, or its fields are others.
    #[error("the file does not hold a measurement of `parity bench`: {0}")]
    Malformed(String),
    /// Another parity wrote it.
    #[error("the measurement has version {0}, expected {BENCH_VERSION}: measure again with this parity")]
    Version(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn times(micros: &[f64]) -> Times {
        Times {
            micros: micros.to_vec(),
            calls: 1,
            sets: 1,
        }
    }

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert_eq!(times(&[5.0, 1.0, 3.0]).median(), Some(3.0));
        assert_eq!(times(&[4.0, 1.0, 3.0, 2.0]).median(), Some(2.5));
        assert_eq!(times(&[7.0]).spread(), Some(0.0));
        assert_eq!(times(&[1.0, 2.0, 3.0, 4.0, 5.0]).spread(), Some(2.0 / 3.0));
    }

    #[test]
    fn no_time_is_made_of_none_or_of_nonsense() {
        for micros in [&[][..], &[0.0, 1.0], &[1.0, f64::NAN], &[-1.0]] {
            assert_eq!(times(micros).median(), None, "{micros:?}");
        }
    }

    #[test]
    fn rows_that_only_move_memory_are_told_by_family_and_op() {
        let moves = |id: &str| Row::of(&id.parse().unwrap(), vec![]).moves_memory();
        for id in [
            "unary/exp:f32:[2,3]:contiguous:uniform(-1,1)",
            "reduce/sum(1):f32:[2,3]:contiguous:uniform(-1,1)",
            "quantized/dequantize_to_f16_q4_0:u8:[32,32]:contiguous:any",
            "indexing/index_select(0):f16,u32:[4,4],[2]:contiguous,contiguous:any",
        ] {
            assert!(moves(id), "{id}");
        }
        for id in [
            "matmul/matmul:f16:[2,3],[3,4]:contiguous,contiguous:uniform(-1,1)",
            "quantized/qmatmul_q4_0:f32,u8:[1,32],[32,32]:contiguous,contiguous:quants",
            "indexing/gather(1):f16,u32:[4,4],[4,4]:contiguous,contiguous:any",
        ] {
            assert!(!moves(id), "{id}");
        }
    }

    #[test]
    fn a_label_leaves_out_what_says_nothing() {
        let label = |id: &str| {
            let row = Row::of(&id.parse().unwrap(), vec![]);
            row.label().to_owned()
        };
        assert_eq!(
            label("unary/exp:f32:[2,3]:contiguous:uniform(-1,1)"),
            "unary/exp:f32:[2,3]"
        );
        assert_eq!(
            label("binary/add:f32:[2,3],[2,3]:contiguous,broadcast:any"),
            "binary/add:f32:[2,3],[2,3]:contiguous,broadcast"
        );
    }
}
