//! Kernels of this crate on views: functions, comparisons, a repeated row, a reduction.
//! `cargo run -p rocm-backend --example 02-elementwise`
#![expect(clippy::print_stdout, reason = "an example tells what it did")]

use rocm_backend::ops::{self, Binary, Compare, Reduce, Unary, UnaryParam};
use rocm_backend::{Device, Error, Result, View};

/// `tests/examples.rs` runs it.
pub(crate) fn main() -> Result<()> {
    let device = Device::new(0)?;
    let x = device.upload(&[-2.0_f32, -1.0, 0.0, 1.0, 2.0, 3.0])?;

    // Results are new buffers. Their dtype is known at run time; `download` checks it.
    let relu = ops::unary(Unary::Relu, x.view())?;
    assert_eq!(relu.download::<f32>()?, [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
    let squares = ops::unary_param(UnaryParam::Powf, 2.0, relu.view())?;
    let negative = ops::compare(Compare::Lt, x.view(), relu.view())?;
    assert_eq!(negative.download::<u8>()?, [1, 1, 0, 0, 0, 0]);

    // A stride of 0 repeats: the row is added to both rows of a matrix.
    let row = device.upload(&[10.0_f32, 20.0, 30.0])?;
    let matrix = View::contiguous(&x, &[2, 3]);
    let sums = ops::binary(Binary::Add, matrix, View::new(&row, &[2, 3], &[0, 1]))?;
    assert_eq!(sums.download::<f32>()?, [8.0, 19.0, 30.0, 11.0, 22.0, 33.0]);
    let of_rows = ops::reduce(Reduce::Sum, View::contiguous(&sums, &[2, 3]), &[1])?;
    assert_eq!(of_rows.download::<f32>()?, [57.0, 66.0]);

    // What does not fit is refused before anything runs, by an error that can be matched on.
    match ops::binary(Binary::Add, matrix, row.view()) {
        Err(Error::Shape { op, .. }) => assert_eq!(op, "badd"),
        other => panic!("shapes that differ: {other:?}"),
    }
    println!("the squares are {:?}", squares.download::<f32>()?);
    Ok(())
}
