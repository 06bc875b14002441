//! How far a window slides along a dimension, and how many results that makes: the sizes of convolutions and poolings.
//! An [`Axis`] cannot be made of sizes that a kernel could not count with.

use crate::{Error, Result};

/// Heights, widths, and positions in the padding beside them stay below this: kernels have 32-bit signed numbers for
/// them.
const LIMIT: usize = 1 << 31;

/// How a window is laid on a dimension, in elements. The default has stride 1, no padding and dilation 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// From one window to the next.
    pub stride: usize,
    /// Zeros at either end.
    pub padding: usize,
    /// From one tap of a window to the next.
    pub dilation: usize,
}

impl Default for Window {
    fn default() -> Window {
        Window {
            stride: 1,
            padding: 0,
            dilation: 1,
        }
    }
}

/// One dimension that a window slides along: checked sizes, all less than 2³¹.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    input: usize,
    taps: usize,
    output: usize,
    slide: Window,
}

impl Window {
    /// Windows without padding whose taps are neighbours.
    pub(crate) fn plain(stride: usize) -> Window {
        Window {
            stride,
            ..Window::default()
        }
    }
}

impl Axis {
    /// As many windows of `taps` as lie inside `input` elements and their padding:
    /// `(input + 2 padding - dilation (taps - 1) - 1) / stride + 1`, rounded down, as candle and PyTorch count.
    ///
    /// # Errors
    /// `Error::Parameter` for a window of no taps or wider than the padded input and for a stride or a dilation of 0;
    /// `Error::TooLarge` for numbers from 2³¹ on.
    pub(crate) fn gathered(op: &str, input: usize, taps: usize, slide: Window) -> Result<Axis> {
        check_slide(op, taps, slide)?;
        let padded = bounded(
            op,
            slide.padding.checked_mul(2).and_then(|n| n.checked_add(input)),
        )?;
        let window = bounded(op, reach(taps, slide))?;
        let room = padded.checked_sub(window).ok_or_else(|| {
            Error::parameter(
                op,
                format!("a window of {window} elements is wider than an input of {padded}, padding included"),
            )
        })?;
        Ok(Axis {
            input,
            taps,
            output: room / slide.stride + 1,
            slide,
        })
    }

    /// What `input` elements spread to, the transposed way, less the padding:
    /// `(input - 1) stride + dilation (taps - 1) + extra + 1 - 2 padding`.
    ///
    /// # Errors
    /// As [`Axis::gathered`]; `Error::Shape` for an input of no elements, and `Error::Parameter` where the padding takes more
    /// than there is.
    pub(crate) fn scattered(
        op: &str,
        input: usize,
        taps: usize,
        slide: Window,
        extra: usize,
    ) -> Result<Axis> {
        check_slide(op, taps, slide)?;
        let Some(steps) = input.checked_sub(1) else {
            return Err(Error::shape(op, "an input of no elements"));
        };
        let spread = steps
            .checked_mul(slide.stride)
            .and_then(|n| n.checked_add(reach(taps, slide)?)?.checked_add(extra));
        let spread = bounded(op, spread)?;
        let output = slide
            .padding
            .checked_mul(2)
            .and_then(|both| spread.checked_sub(both));
        let output = output.ok_or_else(|| {
            Error::parameter(
                op,
                format!(
                    "a padding of {} takes more than the {spread} elements there are",
                    slide.padding
                ),
            )
        })?;
        Ok(Axis {
            input,
            taps,
            output,
            slide,
        })
    }

    /// Elements of the input, without padding.
    pub(crate) fn input(&self) -> usize {
        self.input
    }

    /// Taps of the window.
    pub(crate) fn taps(&self) -> usize {
        self.taps
    }

    /// Elements of the result.
    pub(crate) fn output(&self) -> usize {
        self.output
    }

    /// How the window is laid.
    pub(crate) fn slide(&self) -> Window {
        self.slide
    }
}

/// Elements from the first tap of a window to its last.
fn reach(taps: usize, slide: Window) -> Option<usize> {
    (taps - 1).checked_mul(slide.dilation)?.checked_add(1)
}

fn check_slide(op: &str, taps: usize, slide: Window) -> Result<()> {
    if taps == 0 {
        return Err(Error::parameter(op, "a window of no elements"));
    }
    for (number, name) in [(slide.stride, "stride"), (slide.dilation, "dilation")] {
        if number == 0 {
            return Err(Error::parameter(op, format!("a {name} of 0")));
        }
    }
    for number in [taps, slide.stride, slide.padding, slide.dilation] {
        bounded(op, Some(number))?;
    }
    Ok(())
}

/// `number`, if kernels can count to it.
pub(crate) fn bounded(op: &str, number: Option<usize>) -> Result<usize> {
    number.filter(|&number| number < LIMIT).ok_or_else(|| {
        let number = number.map_or("more than 64 bits hold".to_owned(), |number| number.to_string());
        Error::too_large(
            op,
            format!("a size of {number}; kernels count heights and widths in 31 bits"),
        )
    })
}

/// The number of elements of `dims`.
pub(crate) fn elements(op: &str, dims: &[usize]) -> Result<usize> {
    if dims.contains(&0) {
        return Ok(0);
    }
    let numel = dims.iter().try_fold(1_usize, |n, &dim| n.checked_mul(dim));
    numel.ok_or_else(|| Error::uncountable(op, dims))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slide(stride: usize, padding: usize, dilation: usize) -> Window {
        Window {
            stride,
            padding,
            dilation,
        }
    }

    #[test]
    fn windows_are_counted_as_they_are_laid() {
        for input in 1..8 {
            for (taps, stride, padding, dilation) in [(1, 1, 0, 1), (3, 1, 1, 1), (2, 3, 0, 2), (3, 2, 2, 2)]
            {
                let axis = Axis::gathered("t", input, taps, slide(stride, padding, dilation));
                let last = dilation * (taps - 1);
                let windows = (0..input + 2 * padding)
                    .step_by(stride)
                    .filter(|start| start + last < input + 2 * padding);
                assert_eq!(
                    axis.map_or(0, |axis| axis.output()),
                    windows.count(),
                    "{input} {taps} {stride}"
                );
            }
        }
    }

    #[test]
    fn what_is_scattered_is_gathered_again() {
        for (input, taps, stride, padding, dilation) in
            [(4, 3, 1, 0, 1), (5, 3, 2, 1, 1), (3, 2, 3, 1, 2), (1, 1, 9, 0, 1)]
        {
            let slide = slide(stride, padding, dilation);
            let spread = Axis::scattered("t", input, taps, slide, 0).unwrap();
            assert_eq!(
                Axis::gathered("t", spread.output(), taps, slide)
                    .unwrap()
                    .output(),
                input
            );
            let more = Axis::scattered("t", input, taps, slide, 2).unwrap();
            assert_eq!(more.output(), spread.output() + 2);
        }
    }

    #[test]
    fn sizes_that_make_no_result_are_refused_in_words() {
        let gathered = |input, taps, slide| {
            Axis::gathered("conv1d", input, taps, slide)
                .unwrap_err()
                .to_string()
        };
        let scattered = |input, taps, slide| {
            Axis::scattered("conv_transpose1d", input, taps, slide, 0)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            gathered(3, 3, slide(1, 0, 2)),
            "conv1d: a window of 5 elements is wider than an input of 3, padding included"
        );
        assert_eq!(gathered(3, 0, slide(1, 0, 1)), "conv1d: a window of no elements");
        assert_eq!(gathered(3, 1, slide(0, 0, 1)), "conv1d: a stride of 0");
        assert_eq!(gathered(3, 2, slide(1, 0, 0)), "conv1d: a dilation of 0");
        assert_eq!(
            scattered(3, 2, slide(1, 0, 0)),
            "conv_transpose1d: a dilation of 0"
        );
        assert!(gathered(3, 1, slide(1, 1 << 30, 1)).contains("31 bits"));
        assert!(gathered(3, 2, slide(1, usize::MAX, 1)).contains("31 bits"));
        assert!(gathered(1 << 31, 1, slide(1, 0, 1)).contains("a size of 2147483648"));
        assert!(gathered(3, 5, slide(1, 0, 1 << 30)).contains("31 bits"));
        assert_eq!(
            scattered(0, 1, slide(1, 0, 1)),
            "conv_transpose1d: an input of no elements"
        );
        assert_eq!(
            scattered(2, 1, slide(1, 2, 1)),
            "conv_transpose1d: a padding of 2 takes more than the 2 elements there are"
        );
        assert!(scattered(3, 1, slide(1 << 30, 0, 1)).contains("31 bits"));
    }
}
