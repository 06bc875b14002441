//! Upsampling against loops on the host: every dtype and layout, larger and smaller. The host's arithmetic is the kernels',
//! operator for operator, so that equality is asked for.

use rocm_backend::{DType, DynBuffer, ops};

use crate::images::{LIES, Lie, Tensor, held, indices, read};
use crate::support::device;

fn nearest(out: usize, output: usize, input: usize) -> usize {
    out * input / output
}

/// Whole factors of which the reciprocal in f64 is too small: a scale that is rounded to nearest misses an element.
#[test]
fn nearest_by_a_whole_number_repeats_every_element_as_often() {
    let device = device();
    for (input, factor) in [(2, 49), (3, 98), (7, 103), (5, 107), (2, 161), (1, 49)] {
        let x = Tensor::small(DType::F32, &[1, 2, input], LIES[0], 1);
        let buffer = x.upload(&device, DType::F32);
        let size = input * factor;
        // The control: the product with the nearest number is below a whole number somewhere.
        let scale = input as f64 / size as f64;
        let missed = (0..size).any(|out| (out as f64 * scale) as usize != out / factor);
        assert_eq!(missed, input > 1, "{input} by {factor}");
        let place = |at: &Vec<usize>| x.at(&[at[0], at[1], at[2] / factor]);
        let want: Vec<f64> = indices(&[1, 2, size]).iter().map(place).collect();
        assert_eq!(
            read(&ops::upsample_nearest1d(x.view(&buffer), size).unwrap()),
            want,
            "{input} by {factor}"
        );
    }
}

#[test]
fn nearest1d_equals_a_host_loop_on_every_layout() {
    let device = device();
    for &dtype in DType::ALL {
        for lie in LIES {
            let x = Tensor::small(dtype, &[2, 3, 7], lie, 1);
            let buffer = x.upload(&device, dtype);
            for size in [1, 2, 7, 10, 21, 33] {
                let place = |at: &Vec<usize>| x.at(&[at[0], at[1], nearest(at[2], size, 7)]);
                let want: Vec<f64> = indices(&[2, 3, size]).iter().map(place).collect();
                let got = read(&ops::upsample_nearest1d(x.view(&buffer), size).unwrap());
                assert_eq!(got, want, "{dtype}, {lie:?}: {size}");
            }
        }
    }
}

#[test]
fn nearest2d_equals_a_host_loop_on_every_layout() {
    let device = device();
    for &dtype in DType::ALL {
        for lie in LIES {
            let x = Tensor::small(dtype, &[2, 3, 4, 5], lie, 1);
            let buffer = x.upload(&device, dtype);
            for (h, w) in [(1, 1), (4, 5), (8, 10), (3, 11), (7, 2)] {
                let place =
                    |at: &Vec<usize>| x.at(&[at[0], at[1], nearest(at[2], h, 4), nearest(at[3], w, 5)]);
                let want: Vec<f64> = indices(&[2, 3, h, w]).iter().map(place).collect();
                let got = read(&ops::upsample_nearest2d(x.view(&buffer), h, w).unwrap());
                assert_eq!(got, want, "{dtype}, {lie:?}: {h} by {w}");
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Bilinear {
    size: [usize; 2],
    align_corners: bool,
    scales: [Option<f64>; 2],
}

/// Elements are areas, and the sizes say how far apart results lie.
fn sized(h: usize, w: usize) -> ops::Bilinear {
    ops::Bilinear {
        size: [h, w],
        ..ops::Bilinear::default()
    }
}

impl Bilinear {
    fn how(&self) -> ops::Bilinear {
        ops::Bilinear {
            size: self.size,
            align_corners: self.align_corners,
            scale: self.scales,
        }
    }

    /// Two neighbours and the weight of the second.
    fn between(&self, axis: usize, out: usize, input: usize) -> (usize, usize, f64) {
        let (output, out) = (self.size[axis], out as f64);
        let place = if self.align_corners {
            let steps = output.max(2) - 1;
            let scale = if output > 1 {
                (input - 1) as f64 / steps as f64
            } else {
                0.0
            };
            scale * out
        } else {
            let scale = self.scales[axis].map_or(input as f64 / output as f64, |scale| 1.0 / scale);
            scale * (out + 0.5) - 0.5
        };
        let place = place.clamp(0.0, (input - 1) as f64);
        let first = place.floor();
        (first as usize, (first as usize + 1).min(input - 1), place - first)
    }

    fn expected(&self, x: &Tensor) -> Vec<f64> {
        let [height, width] = [x.dims[2], x.dims[3]];
        let mixed = |at: &Vec<usize>| {
            let (top, bottom, down) = self.between(0, at[2], height);
            let (left, right, across) = self.between(1, at[3], width);
            let pixel = |y, x_at| x.at(&[at[0], at[1], y, x_at]);
            let row = |y| pixel(y, left) * (1.0 - across) + pixel(y, right) * across;
            row(top) * (1.0 - down) + row(bottom) * down
        };
        indices(&[x.dims[0], x.dims[1], self.size[0], self.size[1]])
            .iter()
            .map(mixed)
            .collect()
    }

    #[track_caller]
    fn check(&self, dtype: DType, x: &Tensor) {
        let buffer = x.upload(&device(), dtype);
        let got = ops::upsample_bilinear2d(x.view(&buffer), self.how());
        let want = held(dtype, &self.expected(x));
        assert_eq!(read(&got.unwrap()), want, "{dtype}, {self:?} of {:?}", x.dims);
    }
}

#[test]
fn bilinear2d_equals_a_host_loop_on_every_layout() {
    for &dtype in DType::ALL {
        for lie in LIES {
            let x = Tensor::small(dtype, &[2, 2, 4, 5], lie, 1);
            for (size, align_corners) in [([8, 10], false), ([8, 10], true), ([3, 7], false), ([2, 9], true)]
            {
                Bilinear {
                    size,
                    align_corners,
                    scales: [None; 2],
                }
                .check(dtype, &x);
            }
        }
    }
}

#[test]
fn bilinear2d_takes_scales_and_images_of_one_element() {
    let image = Tensor::small(DType::F32, &[1, 2, 5, 7], Lie::Contiguous, 1);
    for (size, scales) in [
        ([11, 17], [Some(2.3), Some(2.5)]),
        ([2, 3], [Some(0.5), None]),
        ([11, 7], [Some(2.3), Some(1.1)]),
    ] {
        for align_corners in [false, true] {
            Bilinear {
                size,
                align_corners,
                scales,
            }
            .check(DType::F32, &image);
        }
    }
    for dims in [[1, 1, 1, 1], [1, 1, 1, 4], [1, 1, 4, 1]] {
        for align_corners in [false, true] {
            let x = Tensor::small(DType::F32, &dims, Lie::Contiguous, 2);
            Bilinear {
                size: [3, 3],
                align_corners,
                scales: [None; 2],
            }
            .check(DType::F32, &x);
            Bilinear {
                size: [1, 2],
                align_corners,
                scales: [None; 2],
            }
            .check(DType::F32, &x);
        }
    }
}

#[test]
fn a_scale_that_reaches_beyond_the_image_repeats_its_edge() {
    let x = Tensor::small(DType::F32, &[1, 1, 3, 3], Lie::Contiguous, 1);
    Bilinear {
        size: [6, 6],
        align_corners: false,
        scales: [Some(0.25), Some(1e-3)],
    }
    .check(DType::F32, &x);
}

#[test]
fn an_image_of_the_same_size_is_copied_from_its_view() {
    // A weight of 0 times an infinity would be NaN.
    for lie in LIES {
        let x = Tensor::new(&[2, 2, 3, 4], lie, |i| {
            if i % 5 == 0 { f64::INFINITY } else { i as f64 }
        });
        let buffer = x.upload(&device(), DType::F32);
        let want: Vec<f64> = indices(&x.dims).iter().map(|at| x.at(at)).collect();
        for scale in [None, Some(1.3)] {
            let got = ops::upsample_bilinear2d(
                x.view(&buffer),
                ops::Bilinear {
                    scale: [scale; 2],
                    ..sized(3, 4)
                },
            )
            .unwrap();
            assert_eq!(read(&got), want, "{lie:?}");
        }
    }
}

#[test]
fn the_mixture_is_rounded_once() {
    // Half way between f16 neighbours, but for a little that f32 would lose before the second rounding.
    let (low, high) = (1.0, 1.0 + 2_f64.powi(-10));
    let x = Tensor::of(&[1, 1, 1, 2], &[low, high]);
    for (nudge, want) in [(1.0 + 1e-9, high), (1.0 - 1e-9, low)] {
        // The second of two results lies at 1.5 / scale - 0.5, here a little beside 0.5.
        let bilinear = Bilinear {
            size: [1, 3],
            align_corners: false,
            scales: [None, Some(1.5 / nudge)],
        };
        let weight = bilinear.between(1, 1, 2).2;
        assert!(weight != 0.5 && (weight - 0.5).abs() < 1e-8, "{weight}");
        let buffer = x.upload(&device(), DType::F16);
        let got = ops::upsample_bilinear2d(x.view(&buffer), bilinear.how()).unwrap();
        assert_eq!(read(&got)[1], want, "{weight}");
    }
}

#[test]
fn integers_truncate_and_the_largest_stays_the_largest() {
    let x = Tensor::of(&[1, 1, 1, 2], &[-3.0, 0.0]);
    let buffer = x.upload(&device(), DType::I32);
    let got = ops::upsample_bilinear2d(x.view(&buffer), sized(1, 4)).unwrap();
    assert_eq!(read(&got), [-3.0, -2.0, 0.0, 0.0], "of -3, -2.25, -0.75, 0");
    let device = device();
    let largest = DynBuffer::from_bytes(&device, DType::I64, &i64::MAX.to_le_bytes().repeat(2)).unwrap();
    let got = ops::upsample_bilinear2d(x.view(&largest), sized(1, 3)).unwrap();
    assert_eq!(got.download_bytes().unwrap(), i64::MAX.to_le_bytes().repeat(3));
}

#[test]
fn empty_results_are_empty_and_what_makes_no_sense_is_refused() {
    let device = device();
    let empty = Tensor::small(DType::F32, &[0, 3, 4, 4], Lie::Contiguous, 1);
    let buffer = empty.upload(&device, DType::F32);
    assert!(
        ops::upsample_nearest2d(empty.view(&buffer), 2, 2)
            .unwrap()
            .is_empty()
    );
    assert!(
        ops::upsample_bilinear2d(
            empty.view(&buffer),
            ops::Bilinear {
                align_corners: true,
                ..sized(4, 4)
            }
        )
        .unwrap()
        .is_empty()
    );
    let hollow = Tensor::small(DType::F32, &[1, 3, 0], Lie::Contiguous, 1);
    assert_eq!(
        ops::upsample_nearest1d(hollow.view(&buffer), 2)
            .unwrap_err()
            .to_string(),
        "upsample_nearest1d: a result of [1, 3, 2] from images of no elements"
    );
    let x = Tensor::small(DType::F32, &[1, 1, 2, 2], Lie::Contiguous, 1);
    let buffer = x.upload(&device, DType::F32);
    assert!(ops::upsample_nearest2d(x.view(&buffer), 0, 3).unwrap().is_empty());
    assert_eq!(
        ops::upsample_nearest1d(x.view(&buffer), 2)
            .unwrap_err()
            .to_string(),
        "upsample_nearest1d: an input of [1, 1, 2, 2]; it must have 3 dimensions"
    );
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refusal = ops::upsample_bilinear2d(
            x.view(&buffer),
            ops::Bilinear {
                scale: [Some(scale), None],
                ..sized(3, 3)
            },
        )
        .unwrap_err();
        assert!(
            refusal.to_string().contains("must be finite and greater than 0"),
            "{refusal}"
        );
    }
    assert!(
        ops::upsample_nearest2d(x.view(&buffer), 1 << 31, 1)
            .unwrap_err()
            .to_string()
            .contains("31 bits")
    );
}
