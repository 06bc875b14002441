//! Convolutions and their transposes, in one and two dimensions.

use parity_model::op::Conv;

use super::Answer;
use crate::dot::{SOURCE, dot};
use crate::expected::Call;
use crate::numbers::{Numbers, indices, ravel};
use crate::program::Program;
use crate::tape::Tensor;

/// The parameters, whichever op they are of.
struct Window {
    padding: usize,
    stride: usize,
    dilation: usize,
    groups: usize,
}

pub(crate) fn answer(call: &Call<'_>, op: Conv) -> Answer {
    let (x, kernel) = (Numbers::of(&call.args[0]), Numbers::of(&call.args[1]));
    let shapes = [&*call.args[0].shape, &*call.args[1].shape];
    let element = |terms: Vec<_>| dot(call.sums, call.dtype, &x, &kernel, terms.into_iter());
    let terms = terms(op, &call.case.params, shapes, &call.shape);
    (terms.map(element).collect(), SOURCE.to_owned())
}

/// The convolution of the first two arguments on a tape.
pub(crate) fn formula<'t>(call: &Program<'t, '_>, op: Conv) -> Tensor<'t> {
    let (x, kernel) = (call.x(0), call.x(1));
    let shapes = [x.shape(), kernel.shape()];
    let terms = terms(op, call.params, shapes.each_ref().map(Vec::as_slice), call.output);
    x.dot(kernel, call.output, terms.collect())
}

/// For each element of the output the places of its factors in input and kernel, whose shapes are given.
fn terms<'a>(
    op: Conv,
    params: &[f64],
    [x, kernel]: [&'a [usize]; 2],
    output: &'a [usize],
) -> impl Iterator<Item = Vec<(usize, usize)>> + use<'a> {
    let whole = |i: usize| params[i] as usize;
    let (transposed, grouped) = match op {
        Conv::Conv1d | Conv::Conv2d => (false, true),
        Conv::ConvTranspose1d => (true, true),
        Conv::ConvTranspose2d => (true, false),
    };
    let first = usize::from(transposed);
    let window = Window {
        padding: whole(0),
        stride: whole(1 + first),
        dilation: whole(2 + first),
        groups: if grouped { whole(3 + first) } else { 1 },
    };
    indices(output).map(move |index| {
        if transposed {
            window.transposed([x, kernel], &index)
        } else {
            window.forward([x, kernel], output, &index)
        }
    })
}

impl Window {
    /// out[b, o, y..] = sum over c, k.. of x[b, c, y stride + k dilation - padding ..] kernel[o, c, k..].
    fn forward(&self, [x, kernel]: [&[usize]; 2], output: &[usize], index: &[usize]) -> Vec<(usize, usize)> {
        let group = index[1] / (output[1] / self.groups);
        let mut terms = Vec::new();
        for k in indices(&kernel[1..]) {
            let spatial = (2..x.len()).map(|d| {
                let at = (index[d] * self.stride + k[d - 1] * self.dilation).checked_sub(self.padding)?;
                (at < x[d]).then_some(at)
            });
            if let Some(spatial) = spatial.collect::<Option<Vec<usize>>>() {
                let from = [&[index[0], group * kernel[1] + k[0]], spatial.as_slice()].concat();
                let with = [&[index[1]], k.as_slice()].concat();
                terms.push((ravel(&from, x), ravel(&with, kernel)));
            }
        }
        terms
    }

    /// out[b, o, y..] = sum over c, k.. where y + padding = i stride + k dilation of x[b, c, i..] kernel[c, o, k..].
    fn transposed(&self, [x, kernel]: [&[usize]; 2], index: &[usize]) -> Vec<(usize, usize)> {
        let (group, out) = (index[1] / kernel[1], index[1] % kernel[1]);
        let channels = x[1] / self.groups;
        let mut terms = Vec::new();
        for channel in group * channels..(group + 1) * channels {
            for k in indices(&kernel[2..]) {
                let spatial = (2..x.len()).map(|d| {
                    let at = (index[d] + self.padding).checked_sub(k[d - 2] * self.dilation)?;
                    (at % self.stride == 0 && at / self.stride < x[d]).then_some(at / self.stride)
                });
                if let Some(spatial) = spatial.collect::<Option<Vec<usize>>>() {
                    let from = [&[index[0], channel], spatial.as_slice()].concat();
                    let with = [&[channel, out], k.as_slice()].concat();
                    terms.push((ravel(&from, x), ravel(&with, kernel)));
                }
            }
        }
        terms
    }
}
