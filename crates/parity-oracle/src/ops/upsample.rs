//! Nearest and bilinear interpolation. Places of nearest neighbours are whole numbers. Coordinates of the bilinear one are computed
//! in f64, as every backend of candle does.

use parity_model::float::{Format, decode_int, encode_int};
use parity_model::op::Upsample;

use super::{Answer, moved};
use crate::Element;
use crate::expected::Call;
use crate::formula::ball::Accumulation;
use crate::limit::Limit;
use crate::numbers::{indices, ravel};
use crate::program::Program;
use crate::tape::Tensor;

pub(crate) fn answer(call: &Call<'_>, op: Upsample) -> Answer {
    let x = &call.args[0];
    let nearest = |index: Vec<usize>| x.bits(ravel(&nearest(&index, &x.shape, &call.shape), &x.shape));
    match op {
        Upsample::Nearest1d | Upsample::Nearest2d => moved(indices(&call.shape).map(nearest)),
        // To the same size, each element has the whole weight of itself: not even a NaN beside it changes it.
        Upsample::Bilinear2d | Upsample::BilinearScale if x.shape == call.shape => {
            moved((0..x.len()).map(|i| x.bits(i)))
        }
        Upsample::Bilinear2d | Upsample::BilinearScale => bilinear(call, op),
    }
}

/// The index of the element of the input, of shape `from`, that an output of shape `to` repeats at `index`. In whole numbers:
/// 2 / 98 is rounded down in f64, and 49 times that is below 1.
fn nearest(index: &[usize], from: &[usize], to: &[usize]) -> Vec<usize> {
    let source = |d: usize| {
        if d < 2 {
            index[d]
        } else {
            index[d] * from[d] / to[d]
        }
    };
    (0..index.len()).map(source).collect()
}

/// The two neighbours of an output coordinate, and the weight of the second. `step` is the distance of pixel centres; it is
/// not asked for where corners align.
fn neighbours(out: usize, from: usize, to: usize, align_corners: bool, step: f64) -> (usize, usize, f64) {
    let at = if align_corners {
        let scale = if to > 1 {
            (from - 1) as f64 / (to - 1) as f64
        } else {
            0.0
        };
        out as f64 * scale
    } else {
        ((out as f64 + 0.5) * step - 0.5).max(0.0)
    };
    let low = (at.floor() as usize).min(from - 1);
    (low, (low + 1).min(from - 1), (at - low as f64).clamp(0.0, 1.0))
}

fn bilinear(call: &Call<'_>, op: Upsample) -> Answer {
    let x = &call.args[0];
    let format = Format::of(call.dtype);
    let decode = |bits: u64| match &format {
        Some(format) => format.decode(bits),
        None => decode_int(call.dtype, bits) as f64,
    };
    let element = |index: Vec<usize>| {
        let [rows, columns] = along(op, &call.case.params, &x.shape, &call.shape, &index);
        let corner = |h: usize, w: usize| decode(x.bits(ravel(&[index[0], index[1], h, w], &x.shape)));
        let row = |h: usize| {
            let (l, r) = (corner(h, columns.0), corner(h, columns.1));
            (l * (1.0 - columns.2) + r * columns.2, l.abs().max(r.abs()))
        };
        let ((top, a), (bottom, b)) = (row(rows.0), row(rows.1));
        // A coordinate is as wrong as the roundings of its scale and of the product with it.
        let extent = (call.shape[2].max(call.shape[3]) + x.shape[2].max(x.shape[3])) as f64;
        let slack = (16.0 + 8.0 * extent) * f64::EPSILON * a.max(b);
        let mixed = top * (1.0 - rows.2) + bottom * rows.2;
        match &format {
            Some(format) => Element {
                bits: format.encode(mixed),
                limit: Limit { ulp: 1.0, abs: slack },
            },
            None => Element {
                bits: encode_int(call.dtype, mixed as i64),
                // Truncation makes a whole of the slack where that reaches an integer.
                limit: Limit {
                    ulp: f64::from(u8::from((mixed - slack).trunc() != (mixed + slack).trunc())),
                    abs: 0.0,
                },
            },
        }
    };
    let source = "coordinates, weights and products in f64, and one rounding to the dtype";
    (indices(&call.shape).map(element).collect(), source.to_owned())
}

/// The interpolation on a tape: products with the weights, which are rounded to the dtype.
pub(crate) fn formula<'t>(call: &Program<'t, '_>, op: Upsample) -> Tensor<'t> {
    let x = call.x(0);
    let own = x.shape();
    match op {
        Upsample::Nearest1d | Upsample::Nearest2d => {
            let from = |index: Vec<usize>| Some(ravel(&nearest(&index, &own, call.output), &own));
            let places = indices(call.output).map(from).collect();
            x.taken(call.output, places, Accumulation::Wide)
        }
        Upsample::Bilinear2d | Upsample::BilinearScale => {
            let (mut weights, mut terms) = (Vec::new(), Vec::new());
            for index in indices(call.output) {
                let [rows, columns] = along(op, call.params, &own, call.output, &index);
                let mut row = Vec::new();
                for (h, by_row) in [(rows.0, 1.0 - rows.2), (rows.1, rows.2)] {
                    for (w, by_column) in [(columns.0, 1.0 - columns.2), (columns.1, columns.2)] {
                        row.push((ravel(&[index[0], index[1], h, w], &own), weights.len()));
                        weights.push(by_row * by_column);
                    }
                }
                terms.push(row);
            }
            let weights = x.arithmetic.argument(&[weights.len()], &weights);
            x.dot(weights.rounded(), call.output, terms)
        }
    }
}

/// The neighbours of an output element among the rows and among the columns.
fn along(
    op: Upsample,
    params: &[f64],
    from: &[usize],
    to: &[usize],
    index: &[usize],
) -> [(usize, usize, f64); 2] {
    [2, 3].map(|d| {
        let step = match op {
            Upsample::BilinearScale => 1.0 / params[d - 2],
            Upsample::Bilinear2d | Upsample::Nearest1d | Upsample::Nearest2d => from[d] as f64 / to[d] as f64,
        };
        neighbours(index[d], from[d], to[d], params[2] == 1.0, step)
    })
}
