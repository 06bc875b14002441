//! Random work on shared memory until the time is up; then nothing may be left but the cache.
//! `ROCM_ALLOCATOR=caching cargo run -p rocm-backend --example soak -- --seconds 60 --seed 1`

#![expect(clippy::print_stdout, reason = "tells what it did")]

#[path = "../tests/soak/mod.rs"]
mod soak;

use std::thread;
use std::time::{Duration, Instant};

use rocm_backend::Device;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The number after `--name`, if it is there.
fn option(name: &str) -> Result<Option<u64>, Failure> {
    let mut args = std::env::args().skip_while(|arg| arg != name).skip(1);
    Ok(args.next().map(|text| text.parse()).transpose()?)
}

fn main() -> Result<(), Failure> {
    let (seconds, seed) = (option("--seconds")?.unwrap_or(10), option("--seed")?.unwrap_or(1));
    let end = Instant::now() + Duration::from_secs(seconds);
    // Two threads with two streams each, all of one device: blocks that one gave back serve the others.
    let devices = [Device::new(0)?, Device::new(0)?, Device::new(0)?, Device::new(0)?];
    let before = devices[0].memory()?;
    let work = |pair: &[Device], seed| soak::run(pair, seed, |_| Instant::now() < end);
    let (one, other) = devices.split_at(2);
    let steps = thread::scope(|scope| {
        let beside = scope.spawn(|| work(other, seed.wrapping_add(1)));
        let steps = work(one, seed)?;
        Ok::<_, Failure>(steps + beside.join().map_err(|_| "the second thread panicked")??)
    })?;
    for device in &devices {
        let memory = device.memory()?;
        println!("{steps} steps; {device}: {memory:?}");
        if memory.live != 0 || memory.buffers != 0 {
            return Err("buffers are left after all were dropped".into());
        }
    }
    devices[0].release_cached()?;
    let after = devices[0].memory()?;
    println!(
        "driver {}; {} bytes free before, {} after",
        devices[0].info().driver(),
        before.free,
        after.free
    );
    Ok(())
}
