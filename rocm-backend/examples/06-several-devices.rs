//! One buffer on every GPU there is. Without a GPU, two software ones:
//! `ROCM_SOFT_DEVICES=gfx1100,gfx942 cargo run -p rocm-backend --example 06-several-devices`
#![expect(clippy::print_stdout, reason = "an example tells what it did")]

use rocm_backend::ops::{self, Unary};
use rocm_backend::{Device, Result};

/// `tests/examples.rs` runs it.
pub(crate) fn main() -> Result<()> {
    let devices = (0..Device::count()?)
        .map(Device::new)
        .collect::<Result<Vec<Device>>>()?;
    let Some((first, others)) = devices.split_first() else {
        println!("there is no device");
        return Ok(());
    };
    let x = first.upload(&[1.0_f32, 4.0, 9.0])?;

    // HIP takes the way between the two; no byte passes through this process, and nothing waits.
    let mut copies = vec![x.try_clone()?];
    for device in others {
        copies.push(x.copy_to(device)?);
    }
    // The devices work at once: each has got its kernel before the first result is waited for.
    let roots = copies.iter().map(|copy| ops::unary(Unary::Sqrt, copy.view()));
    for root in roots.collect::<Result<Vec<_>>>()? {
        assert_eq!(root.download::<f32>()?, [1.0, 2.0, 3.0]);
        println!("the roots are right on {}", root.device());
    }
    Ok(())
}
