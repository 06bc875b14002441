//! What is cut into several launches is what one launch makes, bit for bit. Elements differ from each other, so that a piece that
//! reads or writes in the wrong place shows.

use crate::ops::{self, Bilinear, Binary, Reduce, Unary, Window};
use crate::{DType, Device, DynBuffer, Error, Result, View, ViewMut, driver};

type Scatter = fn(ViewMut<'_>, View<'_>, View<'_>, usize) -> Result<()>;
type Rope = fn(View<'_>, View<'_>, View<'_>) -> Result<DynBuffer>;

fn device() -> Device {
    Device::of(driver::soft_for_tests(), 0).unwrap()
}

/// What a call makes as bytes, and in how many launches, where one launch counts `most` elements.
fn made(device: &Device, most: usize, call: &dyn Fn() -> Result<DynBuffer>) -> Result<(Vec<u8>, usize)> {
    device.context().set_most(most);
    let before = device.context().launches();
    let out = call();
    let launches = device.context().launches() - before;
    device.context().set_most(1 << 31);
    Ok((out?.download_bytes()?, launches))
}

/// Holds what a call makes in many launches against what it makes in few.
fn check(device: &Device, name: &str, most: &[usize], call: &dyn Fn() -> Result<DynBuffer>) {
    let (whole, few) = made(device, 1 << 31, call).unwrap();
    for &most in most {
        let (parts, many) = made(device, most, call).unwrap();
        assert_eq!(parts, whole, "{name} by {most}");
        assert!(
            many > few,
            "{name} by {most}: {many} launches, {few} without a limit"
        );
    }
}

fn is_too_large(device: &Device, most: usize, call: &dyn Fn() -> Result<DynBuffer>) {
    match made(device, most, call) {
        Err(Error::TooLarge { reason, .. }) => assert!(reason.contains(&most.to_string()), "{reason}"),
        other => panic!("{other:?}"),
    }
}

fn iota(device: &Device, len: usize) -> DynBuffer {
    let values: Vec<f32> = (0..len).map(|i| i as f32 - 7.5).collect();
    device.upload(&values).unwrap().untyped()
}

#[test]
fn element_wise_operations_on_strided_views_are_cut_anywhere() {
    let device = device();
    let (x, y) = (iota(&device, 3 * 4 * 10), iota(&device, 10));
    let chosen: DynBuffer = device.upload(&[1_u8, 0, 0, 1, 1, 0, 1]).unwrap().untyped();
    // Every second element, two dimensions swapped; one repeated.
    let dims = [4, 3, 5];
    let strided = || View::new(&x, &dims, &[10, 40, 2]);
    let repeated = || View::new(&y, &dims, &[0, 0, 1]);
    let sparse = || View::new(&chosen, &dims, &[1, 0, 0]).at(1);
    let most = [59, 17, 15, 7, 1];
    check(&device, "unary", &most, &|| ops::unary(Unary::Neg, strided()));
    check(&device, "cast", &most, &|| ops::cast(strided(), DType::F16));
    check(&device, "binary", &most, &|| {
        ops::binary(Binary::Sub, strided(), repeated())
    });
    check(&device, "where", &most, &|| {
        ops::where_cond(sparse(), strided(), repeated())
    });
    check(&device, "const_set", &most, &|| {
        let mut out = iota(&device, 120);
        ops::fill(ViewMut::new(&mut out, &dims, &[10, 40, 2]).at(1), 3.0_f32)?;
        Ok(out)
    });
    check(&device, "copy2d", &[11, 9, 1], &|| {
        let mut out = iota(&device, 40);
        ops::copy2d(
            View::new(&x, &[5, 3], &[7, 1]),
            ViewMut::new(&mut out, &[5, 3], &[4, 1]).at(2),
        )?;
        Ok(out)
    });
    // Contiguous elements are not numbered in 32 bits, and are not cut.
    let plain = || ops::unary(Unary::Neg, x.view());
    assert_eq!(made(&device, 1, &plain).unwrap().1, 1);
}

#[test]
fn reductions_of_strided_rows_are_copied_first() {
    let device = device();
    let x = iota(&device, 240);
    let view = || View::new(&x, &[4, 6, 5], &[10, 40, 2]);
    for op in Reduce::ALL.iter().copied() {
        for dims in [&[0][..], &[1, 2], &[0, 1, 2]] {
            check(&device, op.name(), &[119, 30, 7], &|| {
                ops::reduce(op, view(), dims)
            });
        }
    }
    is_too_large(&device, 119, &|| {
        let mut out = iota(&device, 4);
        ops::add_sums(view(), &[1, 2], &mut out).map(|()| out)
    });
}

#[test]
fn elements_by_ids_are_cut_before_and_along_the_dimension() {
    let device = device();
    let x = iota(&device, 4 * 6 * 3);
    let ids: DynBuffer = device.upload(&[5_u32, 0, 3, 3, 1]).unwrap().untyped();
    let each: Vec<u32> = (0..4 * 5 * 3).map(|i| i * 7 % 6).collect();
    let each: DynBuffer = device.upload(&each).unwrap().untyped();
    let source = iota(&device, 4 * 5 * 3);
    let plain = || View::contiguous(&x, &[4, 6, 3]);
    let of = |dims| View::contiguous(&each, dims);
    check(&device, "index_select", &[59, 15, 8, 3], &|| {
        ops::index_select(plain(), ids.view(), 1)
    });
    check(&device, "index_select, strided", &[71, 15, 8], &|| {
        ops::index_select(View::new(&x, &[3, 6, 4], &[1, 3, 18]), ids.view(), 1)
    });
    check(&device, "gather", &[59, 15, 8, 3], &|| {
        ops::gather(plain(), of(&[4, 5, 3]), 1)
    });
    for most in [11, 3] {
        for (name, scatter) in [
            ("scatter", ops::scatter_set as Scatter),
            ("scatter_add", ops::scatter_add_set),
        ] {
            check(&device, name, &[most], &|| {
                let mut out = iota(&device, 4 * 6 * 3);
                let dst = ViewMut::contiguous(&mut out, &[4, 6, 3]);
                scatter(dst, of(&[4, 5, 3]), View::contiguous(&source, &[4, 5, 3]), 1)?;
                Ok(out)
            });
        }
        check(&device, "index_add", &[most], &|| {
            ops::index_add(plain(), ids.view(), View::contiguous(&source, &[4, 5, 3]), 1)
        });
    }
    is_too_large(&device, 2, &|| ops::gather(plain(), of(&[4, 5, 3]), 1));
}

#[test]
fn sorted_rows_and_rotated_batches_are_cut_between_them() {
    let device = device();
    let long: Vec<f32> = (0..3 * 2100).map(|i| (i * 7919 % 5003) as f32).collect();
    let long: DynBuffer = device.upload(&long).unwrap().untyped();
    let rows = || View::contiguous(&long, &[3, 2100]);
    check(&device, "argsort", &[4200, 2100], &|| ops::argsort(rows(), true));
    is_too_large(&device, 2099, &|| ops::argsort(rows(), true));

    let (x, cos, sin) = (
        iota(&device, 3 * 2 * 4 * 6),
        iota(&device, 3 * 4 * 3),
        iota(&device, 40),
    );
    for (name, rope, dims) in [
        ("rope", ops::rope as Rope, [3, 2, 4, 6]),
        ("rope_i", ops::rope_i, [3, 2, 4, 6]),
        ("rope_thd", ops::rope_thd, [3, 4, 2, 6]),
    ] {
        let input = || View::contiguous(&x, &dims);
        check(&device, name, &[143, 48], &|| {
            rope(
                input(),
                View::contiguous(&cos, &[3, 4, 3]),
                View::contiguous(&sin, &[3, 4, 3]),
            )
        });
        check(&device, name, &[48], &|| {
            rope(
                input(),
                View::contiguous(&cos, &[4, 3]),
                View::contiguous(&sin, &[4, 3]),
            )
        });
        is_too_large(&device, 47, &|| {
            rope(
                input(),
                View::contiguous(&cos, &[4, 3]),
                View::contiguous(&sin, &[4, 3]),
            )
        });
    }
}

#[test]
fn images_are_cut_between_batches_and_where_they_can_between_channels() {
    let device = device();
    let x = iota(&device, 2 * 3 * 7 * 8);
    let images = || View::contiguous(&x, &[2, 3, 7, 8]);
    let rows = || View::contiguous(&x, &[2, 3, 56]);
    let window = Window {
        stride: 2,
        padding: 1,
        dilation: 1,
    };
    check(&device, "im2col", &[500, 300], &|| {
        ops::im2col(images(), [2, 3], window)
    });
    check(&device, "im2col1d", &[150, 100], &|| {
        ops::im2col1d(rows(), 3, window)
    });
    check(&device, "col2im1d", &[200, 119], &|| {
        ops::col2im1d(View::contiguous(&x, &[2, 8, 7, 3]), 2)
    });
    check(&device, "avg_pool2d", &[53, 20, 9], &|| {
        ops::avg_pool2d(images(), (2, 3), (2, 2))
    });
    check(&device, "max_pool2d", &[53, 20, 9], &|| {
        ops::max_pool2d(images(), (2, 3), (2, 2))
    });
    check(&device, "nearest1d", &[539, 200, 90], &|| {
        ops::upsample_nearest1d(rows(), 90)
    });
    check(&device, "nearest2d", &[500, 400, 110], &|| {
        ops::upsample_nearest2d(images(), 10, 11)
    });
    check(&device, "bilinear", &[500, 400, 110], &|| {
        let how = Bilinear {
            size: [10, 11],
            align_corners: false,
            scale: [None; 2],
        };
        ops::upsample_bilinear2d(images(), how)
    });
    is_too_large(&device, 8, &|| ops::max_pool2d(images(), (2, 3), (2, 2)));
    is_too_large(&device, 10, &|| ops::im2col(images(), [2, 3], window));
}

#[test]
fn more_matrices_that_lie_apart_than_kernels_count_are_refused() {
    let device = device();
    let x = iota(&device, 4 * 3 * 5 * 7);
    let l = || View::new(&x, &[3, 4, 5, 6], &[35, 105, 7, 1]);
    let r = || View::new(&x, &[3, 4, 6, 5], &[35, 105, 1, 7]);
    assert!(made(&device, 12, &|| ops::matmul(l(), r())).is_ok());
    is_too_large(&device, 11, &|| ops::matmul(l(), r()));
}
