//! Convolutions and their columns against loops on the host. Whole numbers make every sum exact, so that equality is asked
//! for; one test has fractions and a bound.

use rocm_backend::ops::{self, Window};
use rocm_backend::{DType, DynBuffer, Result};

use crate::images::{LIES, Lie, Tensor, held, indices, read};
use crate::support::device;

/// The dtypes of candle's convolution kernels.
const CANDLE: [DType; 6] = [
    DType::BF16,
    DType::F16,
    DType::F32,
    DType::F64,
    DType::U8,
    DType::U32,
];

#[derive(Debug, Clone, Copy)]
struct Params {
    padding: usize,
    stride: usize,
    dilation: usize,
    /// Of a transposed convolution.
    extra: Option<usize>,
}

fn params(padding: usize, stride: usize, dilation: usize) -> Params {
    Params {
        padding,
        stride,
        dilation,
        extra: None,
    }
}

/// All of some paddings, strides and dilations; `extras` makes them transposed ones.
fn grid(extras: &[Option<usize>]) -> Vec<Params> {
    let all = indices(&[3, 3, 2, extras.len()]);
    all.iter()
        .map(|i| Params {
            extra: extras[i[3]],
            ..params(i[0], i[1] + 1, i[2] + 1)
        })
        .collect()
}

impl Params {
    fn output(&self, input: usize, taps: usize) -> usize {
        let window = self.dilation * (taps - 1) + 1;
        match self.extra {
            None => (input + 2 * self.padding - window) / self.stride + 1,
            Some(extra) => (input - 1) * self.stride + window + extra - 2 * self.padding,
        }
    }

    /// The place in the input that meets `tap` at `out`, if there can be one.
    fn input(&self, out: usize, tap: usize) -> Option<isize> {
        let [out, tap, padding, stride, dilation] =
            [out, tap, self.padding, self.stride, self.dilation].map(|n| n as isize);
        match self.extra {
            None => Some(out * stride + tap * dilation - padding),
            Some(_) => {
                let reach = out + padding - tap * dilation;
                (reach % stride == 0).then_some(reach / stride)
            }
        }
    }

    fn window(&self) -> Window {
        Window {
            stride: self.stride,
            padding: self.padding,
            dilation: self.dilation,
        }
    }

    fn run(&self, dtype: DType, x: &Tensor, kernel: &Tensor) -> Result<DynBuffer> {
        let device = device();
        let (x_buffer, kernel_buffer) = (x.upload(&device, dtype), kernel.upload(&device, dtype));
        let (x_view, kernel_view) = (x.view(&x_buffer), kernel.view(&kernel_buffer));
        let window = self.window();
        match (self.extra, x.dims.len()) {
            (None, 3) => ops::conv1d(x_view, kernel_view, window),
            (None, _) => ops::conv2d(x_view, kernel_view, window),
            (Some(extra), 3) => ops::conv_transpose1d(x_view, kernel_view, window, extra),
            (Some(extra), _) => ops::conv_transpose2d(x_view, kernel_view, window, extra),
        }
    }

    /// The sums, and the sums of the terms' absolute values.
    fn expected(&self, x: &Tensor, kernel: &Tensor) -> Vec<(f64, f64)> {
        let is_row = x.dims.len() == 3;
        let size = |t: &Tensor| {
            if is_row {
                [1, t.dims[2]]
            } else {
                [t.dims[2], t.dims[3]]
            }
        };
        let (input, taps) = (size(x), size(kernel));
        let c_out = kernel.dims[usize::from(self.extra.is_some())];
        let height = if is_row { 1 } else { self.output(input[0], taps[0]) };
        let width = self.output(input[1], taps[1]);
        let in_y = |out, tap| if is_row { Some(0) } else { self.input(out, tap) };
        let results = indices(&[x.dims[0], c_out, height, width]);
        let terms = indices(&[x.dims[1], taps[0], taps[1]]);
        let sum = |at: &Vec<usize>| {
            let terms = terms.iter().filter_map(|term| {
                let [channel, tap_y, tap_x] = term[..] else {
                    return None;
                };
                let element = x.pixel(at[0], channel, in_y(at[2], tap_y)?, self.input(at[3], tap_x)?)?;
                let channels = if self.extra.is_some() {
                    [channel, at[1]]
                } else {
                    [at[1], channel]
                };
                Some(element * kernel.pixel(channels[0], channels[1], tap_y as isize, tap_x as isize)?)
            });
            terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
        };
        results.iter().map(sum).collect()
    }

    #[track_caller]
    fn check(&self, dtype: DType, x: &Tensor, kernel: &Tensor) {
        let want: Vec<f64> = self.expected(x, kernel).into_iter().map(|(sum, _)| sum).collect();
        let got = read(&self.run(dtype, x, kernel).unwrap());
        assert_eq!(
            got,
            held(dtype, &want),
            "{dtype}: {self:?}, {:?} by {:?}",
            x.dims,
            kernel.dims
        );
    }
}

/// Two batches of three channels and one of nine: five results are four at once and one more.
fn check_grid(dtypes: &[DType], input: &[usize], taps: &[usize], extras: &[Option<usize>]) {
    let dims = |channels: [usize; 2], rest: &[usize]| [&channels[..], rest].concat();
    let channels = if extras == [None] { [5, 3] } else { [3, 5] };
    for (i, params) in grid(extras).into_iter().enumerate() {
        for &dtype in dtypes {
            let x = Tensor::small(dtype, &dims([2, 3], input), LIES[i % LIES.len()], i);
            let kernel = Tensor::small(
                dtype,
                &dims(channels, taps),
                LIES[(i / 5 + i) % LIES.len()],
                i + 1,
            );
            params.check(dtype, &x, &kernel);
        }
    }
}

#[test]
fn conv1d_equals_a_host_loop_for_every_padding_stride_dilation_and_layout() {
    check_grid(&CANDLE, &[7], &[3], &[None]);
}

#[test]
fn conv2d_equals_a_host_loop_for_every_padding_stride_dilation_and_layout() {
    check_grid(&[DType::F32], &[5, 6], &[3, 2], &[None]);
    for dtype in CANDLE {
        let x = Tensor::small(dtype, &[2, 3, 4, 5], Lie::Transposed, 1);
        params(1, 1, 1).check(dtype, &x, &Tensor::small(dtype, &[6, 3, 2, 3], Lie::Stepped, 2));
    }
}

#[test]
fn conv_transpose1d_equals_a_host_loop_for_every_padding_stride_dilation_and_layout() {
    check_grid(DType::ALL, &[4], &[3], &[Some(0), Some(1)]);
}

#[test]
fn conv_transpose2d_equals_a_host_loop_for_every_padding_stride_dilation_and_layout() {
    check_grid(&[DType::F32], &[4, 3], &[3, 3], &[Some(0), Some(2)]);
    for &dtype in DType::ALL {
        let params = Params {
            extra: Some(1),
            ..params(1, 2, 1)
        };
        let x = Tensor::small(dtype, &[2, 3, 3, 2], Lie::Transposed, 1);
        params.check(dtype, &x, &Tensor::small(dtype, &[3, 6, 2, 3], Lie::Stepped, 2));
    }
}

#[test]
fn every_layout_meets_every_layout() {
    for lie in LIES {
        for kernel_lie in LIES {
            let x = Tensor::small(DType::F32, &[3, 2, 3, 4], lie, 3);
            let kernel = Tensor::small(DType::F32, &[4, 2, 2, 2], kernel_lie, 4);
            params(1, 1, 1).check(DType::F32, &x, &kernel);
        }
    }
}

#[test]
fn images_of_every_number_of_pixels_are_filled_to_the_end() {
    for pixels in [1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1025] {
        for channels in [1, 3, 4, 9] {
            let x = Tensor::small(DType::F32, &[1, 1, pixels], Lie::Contiguous, pixels);
            let kernel = Tensor::small(DType::F32, &[channels, 1, 1], Lie::Contiguous, 1);
            params(0, 1, 1).check(DType::F32, &x, &kernel);
        }
    }
}

#[test]
fn many_channels_and_taps_are_all_summed() {
    let x = Tensor::small(DType::F32, &[2, 67, 6, 5], Lie::Contiguous, 1);
    params(2, 1, 1).check(
        DType::F32,
        &x,
        &Tensor::small(DType::F32, &[9, 67, 5, 5], Lie::Contiguous, 2),
    );
    let kernel = Tensor::small(DType::F32, &[67, 9, 5, 5], Lie::Contiguous, 2);
    Params {
        extra: Some(0),
        ..params(2, 3, 1)
    }
    .check(DType::F32, &x, &kernel);
}

/// Eight channels: windows of whole packs of weights, which matrix cores take where they multiply f32. Neither 20 nor 70 channels, nor the
/// pixels, fill their tiles.
#[test]
fn windows_of_whole_packs_equal_a_host_loop() {
    for (i, (padding, stride, dilation)) in [(0, 1, 1), (1, 2, 1), (2, 1, 2), (4, 3, 2)]
        .into_iter()
        .enumerate()
    {
        let params = params(padding, stride, dilation);
        for c_out in [20, 70] {
            let x = Tensor::small(DType::F32, &[2, 8, 7, 9], LIES[i % LIES.len()], i);
            let kernel = Tensor::small(DType::F32, &[c_out, 8, 3, 3], Lie::Contiguous, i + 1);
            params.check(DType::F32, &x, &kernel);
        }
        let x = Tensor::small(DType::F32, &[2, 8, 75], LIES[i % LIES.len()], i);
        let kernel = Tensor::small(DType::F32, &[70, 8, 5], Lie::Contiguous, i + 1);
        params.check(DType::F32, &x, &kernel);
    }
}

/// The same of numbers at both ends of f32's range, and beyond: whole numbers of them are exact, and one that is not finite meets the windows
/// that have it, and no other.
#[test]
fn windows_of_whole_packs_have_room_for_every_number() {
    let kernel = Tensor::small(DType::F32, &[20, 8, 3, 3], Lie::Contiguous, 1);
    let images = |number: &dyn Fn(usize) -> f64| Tensor::new(&[2, 8, 5, 6], Lie::Contiguous, number);
    let whole = |i: usize| ((i * 37) % 9) as f64 - 4.0;
    for exponent in [-149, -126, 100, 115] {
        let x = images(&|i| whole(i) * 2_f64.powi(exponent));
        params(1, 1, 1).check(DType::F32, &x, &kernel);
    }
    for (x, weight) in [
        (f64::INFINITY, 1.0),
        (f64::NAN, 1.0),
        (-1.0, f64::INFINITY),
        (f64::NEG_INFINITY, f64::INFINITY),
    ] {
        let x = images(&|i| if i == 100 { x } else { whole(i) });
        let kernel = Tensor::new(&[20, 8, 3, 3], Lie::Contiguous, |i| {
            if i == 500 { weight } else { whole(i) }
        });
        let params = params(0, 1, 1);
        let want = params.expected(&x, &kernel).into_iter().map(|(sum, _)| sum);
        let got = read(&params.run(DType::F32, &x, &kernel).unwrap());
        for (i, (got, want)) in got.iter().zip(want).enumerate() {
            assert!(
                got == &want || (got.is_nan() && want.is_nan()),
                "{i}: {got}, not {want}"
            );
        }
    }
}

#[test]
fn sums_of_narrow_floats_are_rounded_once() {
    // Added one by one in the dtype, the ones vanish.
    for (dtype, large) in [(DType::F16, 2048.0), (DType::BF16, 256.0), (DType::F8E4M3, 16.0)] {
        let (x, ones) = (
            Tensor::of(&[1, 3, 1], &[large, 1.0, 1.0]),
            Tensor::of(&[3, 1, 1], &[1.0; 3]),
        );
        let transposed = Params {
            extra: Some(0),
            ..params(0, 1, 1)
        };
        assert_eq!(
            read(&transposed.run(dtype, &x, &ones).unwrap()),
            [large + 2.0],
            "{dtype}, channels"
        );
        let (row, taps) = (
            Tensor::of(&[1, 1, 3], &[large, 1.0, 1.0]),
            Tensor::of(&[1, 1, 3], &[1.0; 3]),
        );
        let middle = read(&transposed.run(dtype, &row, &taps).unwrap())[2];
        assert_eq!(middle, large + 2.0, "{dtype}, taps");
        if dtype != DType::F8E4M3 {
            assert_eq!(
                read(&params(0, 1, 1).run(dtype, &row, &taps).unwrap()),
                [large + 2.0],
                "{dtype}"
            );
        }
    }
}

#[test]
fn integers_wrap() {
    let (x, kernel) = (
        Tensor::of(&[1, 2, 1], &[200.0, 100.0]),
        Tensor::of(&[1, 2, 1], &[3.0, 2.0]),
    );
    let wrapped = f64::from((800 % 256) as u8);
    assert_eq!(
        read(&params(0, 1, 1).run(DType::U8, &x, &kernel).unwrap()),
        [wrapped]
    );
    let (x, kernel) = (
        Tensor::of(&[1, 1, 1], &[-30000.0]),
        Tensor::of(&[1, 1, 1], &[3.0]),
    );
    let transposed = Params {
        extra: Some(0),
        ..params(0, 1, 1)
    };
    assert_eq!(
        read(&transposed.run(DType::I16, &x, &kernel).unwrap()),
        [f64::from(-90000_i32 as i16)]
    );
}

#[test]
fn fractions_stay_within_the_bound_of_a_blocked_sum() {
    let fraction = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5;
    let (x_dims, kernel_dims) = ([1, 33, 5, 6], [5, 33, 3, 3]);
    let held = |dims: &[usize], step: usize| {
        Tensor::new(dims, Lie::Contiguous, |i| f64::from(fraction(i * step) as f32))
    };
    let (x, kernel) = (held(&x_dims, 1), held(&kernel_dims, 3));
    let params = params(1, 1, 1);
    // A chain over 33 channels, then one over 9 taps: each operation is within half an ulp.
    let steps = f64::from(33 + 9 + 1) * 2_f64.powi(-24);
    let bound = steps / (1.0 - steps);
    let got = read(&params.run(DType::F32, &x, &kernel).unwrap());
    for (i, (got, (sum, size))) in got.iter().zip(params.expected(&x, &kernel)).enumerate() {
        assert!(
            (got - sum).abs() <= bound * size,
            "{i}: {got} for {sum}, more than {bound} of {size}"
        );
    }
}

#[test]
fn the_padding_is_zeros_that_infinity_makes_nan_of() {
    let kernel = Tensor::of(&[1, 1, 2], &[f64::INFINITY, 1.0]);
    let got = read(
        &params(1, 1, 1)
            .run(DType::F32, &Tensor::of(&[1, 1, 2], &[1.0, 1.0]), &kernel)
            .unwrap(),
    );
    assert!(got[0].is_nan(), "{got:?}");
    assert_eq!(got[1..], [f64::INFINITY; 2]);
    let transposed = Params {
        extra: Some(0),
        ..params(0, 1, 1)
    };
    let got = read(
        &transposed
            .run(DType::F32, &Tensor::of(&[1, 1, 1], &[1.0]), &kernel)
            .unwrap(),
    );
    assert_eq!(got, [f64::INFINITY, 1.0], "a transposed convolution pads nothing");
}

#[test]
fn a_sum_over_nothing_is_zero_and_an_empty_batch_is_empty() {
    let run = |params: Params, x: &[usize], kernel: &[usize]| {
        let (x, kernel) = (
            Tensor::small(DType::F32, x, Lie::Contiguous, 1),
            Tensor::small(DType::F32, kernel, Lie::Contiguous, 1),
        );
        read(&params.run(DType::F32, &x, &kernel).unwrap())
    };
    let transposed = Params {
        extra: Some(0),
        ..params(0, 1, 1)
    };
    assert_eq!(run(params(0, 1, 1), &[0, 2, 5], &[3, 2, 2]), [0.0; 0]);
    assert_eq!(run(params(0, 1, 1), &[2, 0, 5], &[3, 0, 2]), [0.0; 2 * 3 * 4]);
    assert_eq!(run(params(1, 1, 1), &[2, 2, 0], &[3, 2, 2]), [0.0; 2 * 3]);
    assert_eq!(run(params(0, 1, 1), &[2, 2, 5], &[0, 2, 2]), [0.0; 0]);
    assert_eq!(run(transposed, &[2, 0, 5], &[0, 3, 2]), [0.0; 2 * 3 * 6]);
    assert_eq!(run(transposed, &[0, 2, 5, 5], &[2, 3, 2, 2]), [0.0; 0]);
}

#[test]
fn operands_that_do_not_fit_are_refused_in_words() {
    let refusal = |params: Params, x: &[usize], kernel: &[usize]| {
        let (x, kernel) = (
            Tensor::small(DType::F32, x, Lie::Contiguous, 1),
            Tensor::small(DType::F32, kernel, Lie::Contiguous, 1),
        );
        params.run(DType::F32, &x, &kernel).unwrap_err().to_string()
    };
    let transposed = Params {
        extra: Some(0),
        ..params(0, 1, 1)
    };
    assert_eq!(
        refusal(params(0, 1, 1), &[1, 2, 3], &[4, 3, 2]),
        "conv1d: an input of [1, 2, 3] and a kernel of [4, 3, 2] differ in their input channels"
    );
    assert!(refusal(transposed, &[1, 2, 3], &[3, 2, 2]).contains("differ in their input channels"));
    assert!(refusal(params(0, 1, 1), &[1, 2, 3], &[4, 2, 2, 2]).ends_with("must have 3 dimensions each"));
    assert_eq!(
        refusal(params(1, 1, 2), &[1, 2, 2, 9], &[4, 2, 3, 3]),
        "conv2d: a window of 5 elements is wider than an input of 4, padding included"
    );
    assert_eq!(
        refusal(params(0, 0, 1), &[1, 1, 2], &[1, 1, 1]),
        "conv1d: a stride of 0"
    );
    assert_eq!(
        refusal(params(0, 1, 1), &[1, 1, 2], &[1, 1, 0]),
        "conv1d: a window of no elements"
    );
    assert_eq!(
        refusal(transposed, &[1, 1, 0], &[1, 1, 1]),
        "conv_transpose1d: an input of no elements"
    );
    let device = device();
    let (x, kernel) = (Tensor::of(&[1, 1, 1], &[1.0]), Tensor::of(&[1, 1, 1], &[1.0]));
    let (float, int) = (x.upload(&device, DType::F32), kernel.upload(&device, DType::U8));
    assert_eq!(
        ops::conv1d(x.view(&float), kernel.view(&int), Window::default())
            .unwrap_err()
            .to_string(),
        "conv1d: elements of u8 where f32 is expected"
    );
    let wide = x.upload(&device, DType::I64);
    assert_eq!(
        ops::conv1d(x.view(&wide), kernel.view(&wide), Window::default())
            .unwrap_err()
            .to_string(),
        "rocm has no kernel for `conv1d` on i64"
    );
}

/// The windows of `x` as rows, by the definition of a convolution.
fn columns(params: Params, x: &Tensor, taps: &[usize]) -> Vec<f64> {
    let is_row = taps.len() == 1;
    let outputs: Vec<usize> = x.dims[2..]
        .iter()
        .zip(taps)
        .map(|(&input, &taps)| params.output(input, taps))
        .collect();
    let dims = [&[x.dims[0]], &outputs[..], &[x.dims[1]], taps].concat();
    let element = |at: &Vec<usize>| {
        let y_x = if is_row {
            [Some(0), params.input(at[1], at[3])]
        } else {
            [params.input(at[1], at[4]), params.input(at[2], at[5])]
        };
        let channel = at[taps.len() + 1];
        x.pixel(at[0], channel, y_x[0].unwrap(), y_x[1].unwrap())
            .unwrap_or(0.0)
    };
    indices(&dims).iter().map(element).collect()
}

#[test]
fn columns_are_the_windows_of_the_input() {
    let device = device();
    for (i, params) in grid(&[None]).into_iter().enumerate() {
        let window = params.window();
        for dtype in CANDLE {
            let lie = LIES[i % LIES.len()];
            let row = Tensor::small(dtype, &[2, 3, 7], lie, i);
            let buffer = row.upload(&device, dtype);
            let got = read(&ops::im2col1d(row.view(&buffer), 3, window).unwrap());
            assert_eq!(got, columns(params, &row, &[3]), "{dtype}: {params:?}, {lie:?}");
            let image = Tensor::small(dtype, &[2, 2, 4, 5], lie, i);
            let buffer = image.upload(&device, dtype);
            let got = read(&ops::im2col(image.view(&buffer), [2, 3], window).unwrap());
            assert_eq!(
                got,
                columns(params, &image, &[2, 3]),
                "{dtype}: {params:?}, {lie:?}"
            );
        }
    }
}

#[test]
fn columns_added_up_are_a_transposed_convolution() {
    let device = device();
    for dtype in CANDLE {
        for stride in 1..5 {
            let rows = Tensor::small(dtype, &[2, 4, 3, 3], Lie::Contiguous, stride);
            let length = 3 * stride + 3;
            let mut want = vec![0.0; 2 * 3 * length];
            for at in indices(&rows.dims) {
                want[(at[0] * 3 + at[2]) * length + at[1] * stride + at[3]] += rows.at(&at);
            }
            let buffer = rows.upload(&device, dtype);
            let got = read(&ops::col2im1d(rows.view(&buffer), stride).unwrap());
            assert_eq!(got, held(dtype, &want), "{dtype}, stride {stride}");
        }
    }
    let rows = Tensor::small(DType::F32, &[2, 4, 3, 3], Lie::Transposed, 1);
    let buffer = rows.upload(&device, DType::F32);
    assert_eq!(
        ops::col2im1d(rows.view(&buffer), 1).unwrap_err().to_string(),
        "col2im1d: the rows must be contiguous"
    );
}

#[test]
fn overlapping_columns_of_narrow_floats_are_rounded_once() {
    let device = device();
    for (dtype, large) in [(DType::F16, 2048.0), (DType::BF16, 256.0)] {
        let rows = Tensor::of(&[1, 3, 1, 3], &[0.0, 0.0, large, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
        let buffer = rows.upload(&device, dtype);
        let got = read(&ops::col2im1d(rows.view(&buffer), 1).unwrap());
        assert_eq!(got, [0.0, 0.0, large + 2.0, 0.0, 0.0], "{dtype}");
    }
}
