//! How well counters put calls into the order of their measured times, on a card of another maker.

use parity_model::record::KernelCost;

use super::{
    card::{Card, CardPart},
    record::{CostRow, CostRun},
};
use crate::record::{BenchRun, Row};

/// A measured row, and the row of counters for it.
#[derive(Clone, Debug)]
pub struct CountedRow<'a> {
    /// The measured row.
    pub row: &'a Row,
    /// Its time in microseconds.
    pub micros: f64,
    /// Clocks of the card that the counters say at least, scaled to the row.
    pub clocks: f64,
    /// Bytes in lines that the launches touch, scaled to the row.
    pub lines: f64,
    /// The same where each workgroup fetches its lines anew.
    pub group_lines: f64,
    /// Lanes of vector instructions, scaled to the row.
    pub instructions: f64,
}

/// Rank correlations of the measured times with numbers that need no measurement.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// The large rows that both records have.
    pub pairs: Vec<CountedRow<'a>>,
    /// With the bytes that the call must move, by its shapes alone.
    pub by_shapes: f64,
    /// With the bytes in lines.
    pub by_lines: f64,
    /// With the bytes in lines that each workgroup fetches anew.
    pub by_group_lines: f64,
    /// With the vector instructions.
    pub by_instructions: f64,
    /// With the clocks.
    pub by_clocks: f64,
    /// Of times for each byte that the call must move with clocks for each: what is left where the size says nothing.
    pub by_clocks_a_byte: f64,
}

/// Pairs the measured times of device `timed` with the counters of device `counted`. A row is paired with the row of counters that has
/// the same op with its parameters, dtypes, layouts and numbers of dimensions, and of those with the one whose arguments share
/// most extents with its own; at least one of the first argument's. Lines that a launch touches are scaled by the ratio of the bytes that
/// both calls must move, everything else by that of their operations where they are products, and of their elements elsewhere. Rows
/// that `left_out` picks are left out, and rows that are not large: their time is that of a launch. `None` when fewer than three rows have a partner.
pub fn order<'a>(
    times: &'a BenchRun,
    timed: usize,
    costs: &CostRun,
    counted: usize,
    left_out: impl Fn(&Row) -> bool,
) -> Option<Order<'a>> {
    let card = Card::of(&costs.devices.get(counted)?.target)?;
    let forms: Vec<_> = costs.rows.iter().map(|row| (Form::of(&row.case), row)).collect();
    let pair = |row: &'a Row| {
        if left_out(row) || !row.is_large() {
            return None;
        }
        let form = Form::of(&row.case)?;
        let micros = row.times(timed)?.median()?;
        let shared = |other: &&(Option<Form<'_>>, _)| other.0.as_ref().and_then(|other| form.shared(other));
        // The first of those with most: `max_by_key` gives the last.
        let (_, cost) = forms
            .iter()
            .rev()
            .filter(|other| shared(other).is_some())
            .max_by_key(shared)?;
        let kernels = cost.kernels(counted)?;
        let scale = Scale::of(row, cost);
        let sum = |of: &dyn Fn(&KernelCost) -> f64| kernels.iter().map(of).sum::<f64>();
        let most = |kernel: &KernelCost| {
            let clocks = CardPart::ALL.map(|part| scale.of_part(part) * card.clocks(part, kernel));
            clocks.into_iter().fold(0.0, f64::max)
        };
        Some(CountedRow {
            row,
            micros,
            clocks: sum(&most),
            lines: scale.bytes * sum(&|kernel| kernel.counter("launch_lines") as f64 * card.line),
            group_lines: scale.work * sum(&|kernel| kernel.counter("group_lines") as f64 * card.line),
            instructions: scale.work * sum(&|kernel| kernel.vector() as f64 * f64::from(kernel.lanes)),
        })
    };
    let pairs: Vec<_> = times.rows.iter().filter_map(pair).collect();
    let of = |value: &dyn Fn(&CountedRow<'_>) -> f64| pairs.iter().map(value).collect::<Vec<f64>>();
    let micros = of(&|pair| pair.micros);
    let bytes = of(&|pair| pair.row.bytes as f64);
    let each = |values: &[f64]| {
        values
            .iter()
            .zip(&bytes)
            .map(|(value, bytes)| value / bytes)
            .collect::<Vec<_>>()
    };
    let clocks = of(&|pair| pair.clocks);
    Some(Order {
        by_shapes: spearman(&micros, &bytes)?,
        by_lines: spearman(&micros, &of(&|pair| pair.lines))?,
        by_group_lines: spearman(&micros, &of(&|pair| pair.group_lines))?,
        by_instructions: spearman(&micros, &of(&|pair| pair.instructions))?,
        by_clocks: spearman(&micros, &clocks)?,
        by_clocks_a_byte: spearman(&each(&micros), &each(&clocks))?,
        pairs,
    })
}

impl<'a> Order<'a> {
    /// The rows whose place by time for each byte is farthest from that by clocks for each byte, as parts of all places: above 0
    /// where the card took longer than the counters say. The farthest first.
    pub fn misplaced(&self) -> Vec<(&CountedRow<'a>, f64)> {
        let each = |value: fn(&CountedRow<'_>) -> f64| {
            let values: Vec<_> = self
                .pairs
                .iter()
                .map(|pair| value(pair) / pair.row.bytes as f64)
                .collect();
            ranks(&values)
        };
        let (times, clocks) = (each(|pair| pair.micros), each(|pair| pair.clocks));
        let count = self.pairs.len() as f64;
        let apart = times
            .iter()
            .zip(&clocks)
            .map(|(time, clocks)| (time - clocks) / count);
        let mut all: Vec<_> = self.pairs.iter().zip(apart).collect();
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        all
    }
}

/// How much more a measured row does than the row of counters for it.
struct Scale {
    bytes: f64,
    work: f64,
}

impl Scale {
    fn of(row: &Row, cost: &CostRow) -> Scale {
        let ratio = |large: u64, small: u64| large as f64 / small.max(1) as f64;
        Scale {
            bytes: ratio(row.bytes, cost.bytes),
            work: match cost.flops {
                0 => ratio(row.elements, cost.elements),
                flops => ratio(row.flops, flops),
            },
        }
    }

    fn of_part(&self, part: CardPart) -> f64 {
        match part {
            CardPart::Memory => self.bytes,
            CardPart::Cache | CardPart::Vector | CardPart::Matrix | CardPart::Share | CardPart::Scalar => {
                self.work
            }
        }
    }
}

/// What two rows must have in common, and their extents.
struct Form<'a> {
    /// The op with its parameters, and the dtypes.
    head: &'a str,
    /// The layouts.
    layouts: &'a str,
    shapes: Vec<Vec<u64>>,
}

impl<'a> Form<'a> {
    /// Of an id: `family/op(params):dtypes:[shape],[shape]:layouts:values`.
    fn of(id: &'a str) -> Option<Form<'a>> {
        let (rest, _values) = id.rsplit_once(':')?;
        let (rest, layouts) = rest.rsplit_once(':')?;
        let (head, shapes) = rest.rsplit_once(':')?;
        let shape = |text: &str| {
            let extents = text.trim_matches(['[', ']']).split(',');
            extents
                .filter(|text| !text.is_empty())
                .map(|text| text.parse().ok())
                .collect()
        };
        Some(Form {
            head,
            layouts,
            shapes: shapes.split("],[").map(shape).collect::<Option<_>>()?,
        })
    }

    /// How many extents of two forms are the same, where one of them may stand for the other.
    fn shared(&self, other: &Form<'_>) -> Option<usize> {
        let ranks = |form: &Form<'_>| form.shapes.iter().map(Vec::len).collect::<Vec<_>>();
        if self.head != other.head || self.layouts != other.layouts || ranks(self) != ranks(other) {
            return None;
        }
        let same = |(a, b): (&Vec<u64>, &Vec<u64>)| a.iter().zip(b).filter(|(a, b)| a == b).count();
        let shared = self.shapes.iter().zip(&other.shapes).map(same);
        let first = same((self.shapes.first()?, other.shapes.first()?));
        (first > 0).then(|| shared.sum())
    }
}

/// Spearman's rank correlation, of equal values the mean of their ranks; `None` of fewer than three values, or where all are equal.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.len() < 3 {
        return None;
    }
    let (a, b) = (ranks(a), ranks(b));
    let middle = (a.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 {
        let each = a.iter().zip(b);
        each.map(|(a, b)| (a - middle) * (b - middle)).sum()
    };
    let spread = (product(&a, &a) * product(&b, &b)).sqrt();
    (spread > 0.0).then(|| product(&a, &b) / spread)
}

/// The place of each value in their order, from 1.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut at = 0;
    while at < order.len() {
        let alike = order[at..]
            .iter()
            .take_while(|place| values[**place].total_cmp(&values[order[at]]).is_eq())
            .count();
        let mean = at as f64 + (alike as f64 + 1.0) / 2.0;
        for place in &order[at..at + alike] {
            ranks[*place] = mean;
        }
        at += alike;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_correlate_as_spearman_has_it() {
        let up = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(spearman(&up, &[10.0, 20.0, 30.0, 400.0]), Some(1.0));
        assert_eq!(spearman(&up, &[4.0, 3.0, 2.0, 1.0]), Some(-1.0));
        // 1 - 6 Σd² / (n (n² - 1)) with d² = 1 + 1 + 1 + 1.
        assert!((spearman(&up, &[2.0, 1.0, 4.0, 3.0]).unwrap() - 0.6).abs() < 1e-12);
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [2.5, 1.0, 2.5]);
        assert_eq!(spearman(&up, &[7.0; 4]), None, "no order");
        assert_eq!(spearman(&up[..2], &up[..2]), None);
    }

    #[test]
    fn a_row_is_paired_with_the_nearest_of_the_same_form() {
        let form = |id| Form::of(id).unwrap();
        let large = form("reduce/sum(1):f32:[8192,8192]:contiguous:uniform(-1,1)");
        let shared = |id| large.shared(&form(id));
        assert_eq!(shared("reduce/sum(1):f32:[8,8192]:contiguous:any"), Some(1));
        assert_eq!(shared("reduce/sum(1):f32:[8192,8192]:contiguous:any"), Some(2));
        for other in [
            "reduce/sum(1):f32:[8,64]:contiguous:any",
            "reduce/sum(0):f32:[8,8192]:contiguous:any",
            "reduce/sum(1):f16:[8,8192]:contiguous:any",
            "reduce/sum(1):f32:[8,8192]:transposed:any",
            "reduce/sum(1):f32:[8,8192,1]:contiguous:any",
        ] {
            assert_eq!(shared(other), None, "{other}");
        }
        let pair = form("nn/rms_norm(0.00001):f16:[4,4096],[4096]:contiguous,contiguous:any");
        assert_eq!(pair.shapes, [vec![4, 4096], vec![4096]]);
        assert_eq!(pair.head, "nn/rms_norm(0.00001):f16");
    }
}
