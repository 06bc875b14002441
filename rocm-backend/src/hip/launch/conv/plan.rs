//! A convolution as a product of matrices: weights times the windows of images.

use crate::ops::window::Axis;
use crate::view::Region;

/// Sizes of a convolution as a product, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) batch: usize,
    pub(super) c_in: usize,
    pub(super) c_out: usize,
    /// Input, taps and output in y and x; one dimension has height 1.
    pub(super) input: [usize; 2],
    pub(super) taps: [usize; 2],
    pub(super) output: [usize; 2],
    pub(super) padding: [usize; 2],
    pub(super) stride: usize,
    pub(super) dilation: usize,
}

impl Plan {
    pub(super) fn new(x: &Region<'_>, c_out: usize, axes: &[Axis]) -> Option<Plan> {
        let &[batch, c_in, ..] = x.dims() else { return None };
        let pair = |of: fn(&Axis) -> usize| match axes {
            [x] => Some([1, of(x)]),
            [y, x] => Some([of(y), of(x)]),
            _ => None,
        };
        let slide = axes.first()?.slide();
        Some(Plan {
            batch,
            c_in,
            c_out,
            input: pair(Axis::input)?,
            taps: pair(Axis::taps)?,
            output: pair(Axis::output)?,
            padding: if axes.len() == 1 {
                [0, slide.padding]
            } else {
                [slide.padding; 2]
            },
            stride: slide.stride,
            dilation: slide.dilation,
        })
    }

    /// Rows of the matrix of columns: what each sum is of.
    pub(super) fn depth(&self) -> Option<usize> {
        self.c_in.checked_mul(self.taps[0])?.checked_mul(self.taps[1])
    }

    pub(super) fn pixels(&self) -> Option<usize> {
        self.output[0].checked_mul(self.output[1])
    }

    /// Whether the columns of a contiguous input are the input itself.
    pub(super) fn is_pointwise(&self) -> bool {
        self.taps == [1, 1] && self.padding == [0, 0] && self.stride == 1
    }
}
