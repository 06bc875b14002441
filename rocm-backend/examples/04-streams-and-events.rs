//! Two streams of one GPU: work beside work, an order between them, and the time between two events.
//! `cargo run -p rocm-backend --example 04-streams-and-events`
#![expect(clippy::print_stdout, reason = "an example tells what it did")]

use rocm_backend::ops::{self, Binary, Unary};
use rocm_backend::{Device, Error, Result};

/// `tests/examples.rs` runs it.
pub(crate) fn main() -> Result<()> {
    // A `Device` is a GPU and a stream of work on it. Its clones are the same stream, this is another one.
    let first = Device::new(0)?;
    let second = first.new_stream()?;
    let (x, y) = (first.upload(&[1.0_f32; 1000])?, second.upload(&[2.0_f32; 1000])?);

    // What is submitted to either may run beside the other; on each, in order.
    let start = first.record()?;
    let negated = ops::unary(Unary::Neg, x.view())?;
    let squared = ops::unary(Unary::Sqr, y.view())?;

    // Buffers of two streams do not meet by accident ..
    let refusal = ops::binary(Binary::Add, negated.view(), squared.view());
    assert!(matches!(refusal, Err(Error::Devices { .. })));
    // .. one is handed over: what `first` gets from now on runs after all that `second` has got. No byte is copied.
    let squared = squared.move_to(&first)?;
    let sum = ops::binary(Binary::Add, negated.view(), squared.view())?;
    assert_eq!(sum.download::<f32>()?, [3.0; 1000]);

    // An order without a buffer: `second` goes on after this point of `first`, and the host waits for neither.
    let end = first.record()?;
    second.wait(&end)?;
    second.synchronize()?;
    assert!(end.is_done()?);
    println!("three kernels took {:?} on {first}", end.since(&start)?);
    Ok(())
}
