//! Products of matrices: of a batch, of a transposed view, by rocBLAS where the machine has one.
//! `cargo run -p rocm-backend --example 05-matmul`
#![expect(clippy::print_stdout, reason = "an example tells what it did")]

use rocm_backend::{Device, Result, View, ops, trace};

/// `tests/examples.rs` runs it.
pub(crate) fn main() -> Result<()> {
    let device = Device::new(0)?;
    let l = device.upload(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let r = device.upload(&[1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0])?;

    // 2x3 times 3x2, and the same with the right one stored by columns.
    let product = ops::matmul(View::contiguous(&l, &[2, 3]), View::contiguous(&r, &[3, 2]))?;
    assert_eq!(product.download::<f32>()?, [4.0, 5.0, 10.0, 11.0]);
    let by_columns = ops::matmul(View::contiguous(&l, &[2, 3]), View::new(&r, &[3, 2], &[1, 3]))?;
    assert_eq!(by_columns.download::<f32>()?, [1.0, 6.0, 4.0, 15.0]);

    // Three products of one matrix with one column each: a batch, whose left matrix is repeated by a stride of 0.
    let l = View::new(&l, &[3, 2, 1], &[0, 1, 1]);
    let batch = ops::matmul(l, View::contiguous(&r, &[3, 1, 2]))?;
    assert_eq!(batch.len(), 3 * 2 * 2);

    for served in trace::served(&device) {
        println!(
            "{} of {} by {} ({})",
            served.times, served.op, served.by, served.level
        );
    }
    Ok(())
}
