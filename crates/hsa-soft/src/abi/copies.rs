//! Copies and fills by the host, at once or when signals allow it.

use super::{List, Out, calls};
use crate::deferred::{COPIES, Task};
use crate::signal::{self, Signal};
use soft_runtime::report;
use soft_runtime::runtime::{self, Runtime, now};
use soft_runtime::status::{Answer, Status};

/// `hsa_pitched_ptr_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Pitched {
    base: u64,
    pitch: usize,
    slice: usize,
}

/// `hsa_dim3_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Extent {
    x: u32,
    y: u32,
    z: u32,
}

impl Pitched {
    /// Address of a byte at `offset`, in row `y` and slice `z` from there.
    fn row(self, offset: Extent, y: u32, z: u32) -> Answer<u64> {
        let at = |pitch: usize, index: u32, from: u32| {
            (pitch as u64).checked_mul(u64::from(from) + u64::from(index))
        };
        let rows = at(self.pitch, y, offset.y);
        let slices = at(self.slice, z, offset.z);
        rows.zip(slices)
            .and_then(|(rows, slices)| rows.checked_add(slices))
            .and_then(|bytes| bytes.checked_add(u64::from(offset.x)))
            .and_then(|bytes| self.base.checked_add(bytes))
            .ok_or(Status::InvalidArgument)
    }
}

/// Copies now.
fn copy(runtime: &Runtime, target: u64, source: u64, bytes: u64) -> Answer<()> {
    // SAFETY: C's caller promises that memory which is not of a pool can be read and written.
    unsafe { runtime.pools().copy(target, source, bytes) }
}

/// Does something once all of `waits` are 0, then completes `done`. At once, where nothing is to be waited for.
fn when(
    waits: Vec<Signal>,
    done: Option<Signal>,
    mut act: impl FnMut() -> Answer<()> + Send + 'static,
) -> Answer<()> {
    let mut carry_out = move || {
        let start = now();
        let result = act();
        if let Some(done) = done {
            done.complete(start, now());
        }
        result
    };
    if signal::all_zero(&waits) {
        return carry_out();
    }
    COPIES.add(Task {
        ready: Box::new(move || signal::all_zero(&waits)),
        act: Box::new(move || {
            if let Err(status) = carry_out() {
                report::finding(&format!(
                    "a copy between buffers failed with status {:#x}",
                    status as u32
                ));
            }
            false
        }),
    })
}

/// The signals of a list.
fn signals(count: u32, list: List<u64>) -> Answer<Vec<Signal>> {
    let handles = list.read(count as usize)?;
    handles.into_iter().map(Signal::of).collect()
}

fn copy_when(target: u64, source: u64, bytes: usize, count: u32, waits: List<u64>, done: u64) -> Answer<()> {
    let runtime = runtime::get()?;
    let (waits, done) = (signals(count, waits)?, Signal::optional(done)?);
    let bytes = bytes as u64;
    if bytes > 0 {
        let pools = runtime.pools();
        pools.check(target, bytes)?;
        pools.check(source, bytes)?;
    }
    when(waits, done, move || copy(runtime, target, source, bytes))
}

calls! {
    fn hsa_memory_copy(target: u64, source: u64, bytes: usize) {
        Ok(copy(runtime::get()?, target, source, bytes as u64)?)
    }

    fn hsa_amd_memory_fill(address: u64, value: u32, count: usize) {
        let runtime = runtime::get()?;
        let bytes = (count as u64).checked_mul(4).ok_or(Status::InvalidArgument)?;
        let pools = runtime.pools();
        let words = soft_runtime::host::arena().and_then(|arena| arena.words(address, bytes));
        let words = words.ok_or(Status::InvalidArgument)?;
        pools.check(address, bytes)?;
        for word in words {
            word.store(value, std::sync::atomic::Ordering::Relaxed);
        }
        pools.written(address, bytes);
        Ok(())
    }

    fn hsa_amd_memory_async_copy(
        target: u64, _target_agent: u64, source: u64, _source_agent: u64, bytes: usize, count: u32, waits: List<u64>, done: u64,
    ) {
        Ok(copy_when(target, source, bytes, count, waits, done)?)
    }

    fn hsa_amd_memory_async_copy_on_engine(
        target: u64, _target_agent: u64, source: u64, _source_agent: u64, bytes: usize, count: u32, waits: List<u64>, done: u64,
        _engine: u32, _force: bool,
    ) {
        Ok(copy_when(target, source, bytes, count, waits, done)?)
    }

    fn hsa_amd_memory_async_copy_rect(
        target: List<Pitched>, target_offset: List<Extent>, source: List<Pitched>, source_offset: List<Extent>,
        range: List<Extent>, _agent: u64, _direction: u32, count: u32, waits: List<u64>, done: u64,
    ) {
        let runtime = runtime::get()?;
        let (waits, done) = (signals(count, waits)?, Signal::optional(done)?);
        let (target, source, range) = (target.first()?, source.first()?, range.first()?);
        let (target_offset, source_offset) = (target_offset.first()?, source_offset.first()?);
        Ok(when(waits, done, move || {
            for z in 0..range.z {
                for y in 0..range.y {
                    let (to, from) = (target.row(target_offset, y, z)?, source.row(source_offset, y, z)?);
                    copy(runtime, to, from, u64::from(range.x))?;
                }
            }
            Ok(())
        })?)
    }

    fn hsa_amd_memory_copy_engine_status(_target: u64, _source: u64, engines: Out<u32>) {
        Ok(engines.put(1)?)
    }

    fn hsa_amd_memory_get_preferred_copy_engine(_target: u64, _source: u64, engines: Out<u32>) {
        Ok(engines.put(1)?)
    }
}
