//! Elements to the device, from buffer to buffer, and back. `cargo run -p rocm-backend --example 01-copy`
#![expect(clippy::print_stdout, reason = "an example tells what it did")]

use rocm_backend::{Device, Result, View, ViewMut, ops};

/// `tests/examples.rs` runs it.
pub(crate) fn main() -> Result<()> {
    let device = Device::new(0)?;
    println!("{device}, {}", device.info().driver());

    // A host slice becomes a `Buffer<f32>`; nothing waits for the copy. A download waits for all work before it.
    let mut x = device.upload(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    assert_eq!(x.download()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);

    // Memory that is there already is used again.
    x.write(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0])?;
    let mut host = [0.0; 6];
    x.read(&mut host)?;
    assert_eq!(host, [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);

    // Views say which elements: here the columns of two rows of three are copied after a first zero.
    let mut columns = device.zeros::<f32>(7)?;
    let turned = View::new(&x, &[3, 2], &[1, 3]);
    ops::copy(turned, ViewMut::contiguous(&mut columns, &[6]).at(1))?;
    assert_eq!(columns.download()?, [0.0, 6.0, 3.0, 5.0, 2.0, 4.0, 1.0]);
    ops::fill(ViewMut::contiguous(&mut columns, &[2]), 9.0_f32)?;
    assert_eq!(columns.download()?[..3], [9.0, 9.0, 3.0]);
    Ok(())
}
