//! Convolutions and their transposes, in one and two dimensions.

use parity_model::op::Conv;

use super::Answer;
use crate::dot::{SOURCE, dot};
use crate::expected::Call;
use crate::numbers::{Numbers, indices, ravel};

/// The parameters, whichever op they are of.
struct Window {
    padding: usize,
    stride: usize,
    dilation: usize,
    groups: usize,
}

pub(crate) fn answer(call: &Call<'_>, op: Conv) -> Answer {
    let (transposed, grouped) = match op {
        Conv::Conv1d | Conv::Conv2d => (false, true),
        Conv::ConvTranspose1d => (true, true),
        Conv::ConvTranspose2d => (true, false),
    };
    let first = usize::from(transposed);
    let window = Window {
        padding: call.whole(0),
        stride: call.whole(1 + first),
        dilation: call.whole(2 + first),
        groups: if grouped { call.whole(3 + first) } else { 1 },
    };
    let (x, kernel) = (Numbers::of(&call.args[0]), Numbers::of(&call.args[1]));
    let element = |index: Vec<usize>| {
        let terms = if transposed {
            window.transposed(call, &index)
        } else {
            window.forward(call, &index)
        };
        dot(call.arithmetic, call.dtype, &x, &kernel, terms.into_iter())
    };
    (indices(&call.shape).map(element).collect(), SOURCE.to_owned())
}

impl Window {
    /// out[b, o, y..] = sum over c, k.. of x[b, c, y stride + k dilation - padding ..] kernel[o, c, k..].
    fn forward(&self, call: &Call<'_>, index: &[usize]) -> Vec<(usize, usize)> {
        let (x, kernel) = (&call.args[0].shape, &call.args[1].shape);
        let group = index[1] / (call.shape[1] / self.groups);
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
    fn transposed(&self, call: &Call<'_>, index: &[usize]) -> Vec<(usize, usize)> {
        let (x, kernel) = (&call.args[0].shape, &call.args[1].shape);
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
