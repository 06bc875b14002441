//! One device in use: its stream, its memory, its loaded modules.
//!
//! The invariant everything here rests on: **one private stream a context**. Work runs in the order it was submitted,
//! so a block of memory may go back to the pool, or be handed out again, while a kernel that uses it is still
//! queued: whoever gets it next is queued behind.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::blas;
use super::memory::{Block, DeviceMemory, Pool};
use super::module::Module;
use super::query;
use super::stream::Stream;
use crate::generator::Generator;
use crate::served::Ledger;
use crate::{DeviceInfo, DriverKind, Error};

/// Dims-and-strides tables kept on the device. Kernels need one for each strided call, and programs repeat themselves.
const KEPT_LAYOUTS: usize = 4096;

pub(crate) struct Context {
    ordinal: c_int,
    info: DeviceInfo,
    generator: Mutex<Generator>,
    ledger: Ledger,
    // Dropped in this order, after `Drop::drop` below has waited for the stream.
    rocblas: Mutex<Option<blas::Handle>>,
    modules: Mutex<BTreeMap<&'static str, Arc<Module>>>,
    layouts: Mutex<BTreeMap<Vec<u64>, Block>>,
    pool: Pool,
    stream: Stream,
}

/// A dims-and-strides table on the device: kept for the context's life, or for one launch.
pub(crate) enum LayoutTable {
    Kept(Block),
    Once(DeviceMemory),
}

impl Context {
    pub(crate) fn new(ordinal: c_int, info: DeviceInfo) -> Result<Context, Error> {
        query::set_device(ordinal)?;
        let pool = match info.driver().kind() {
            DriverKind::System => Pool::caching(),
            DriverKind::Soft => Pool::exact(),
        };
        Ok(Context {
            ordinal,
            info,
            generator: Mutex::default(),
            ledger: Ledger::default(),
            rocblas: Mutex::default(),
            modules: Mutex::default(),
            layouts: Mutex::default(),
            pool,
            stream: Stream::new()?,
        })
    }

    /// Makes this context's device the calling thread's. To be called before any HIP call that works on the
    /// current device.
    pub(crate) fn bind(&self) -> Result<(), Error> {
        query::set_device(self.ordinal)
    }

    pub(crate) fn ordinal(&self) -> usize {
        // A context is made for ordinals that HIP counted, so the number is not negative.
        self.ordinal.unsigned_abs() as usize
    }

    /// The ordinal as HIP takes it.
    pub(crate) fn raw_ordinal(&self) -> c_int {
        self.ordinal
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn modules(&self) -> &Mutex<BTreeMap<&'static str, Arc<Module>>> {
        &self.modules
    }

    /// The state of the device's random numbers.
    pub(crate) fn generator(&self) -> MutexGuard<'_, Generator> {
        self.generator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What served which operation how often.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Calls `f` with the context's rocBLAS handle, made at the first call, and with this context's device as the
    /// thread's.
    pub(crate) fn with_rocblas<T>(
        &self,
        f: impl FnOnce(&mut blas::Handle) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.bind()?;
        let mut rocblas = self.rocblas.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match &mut *rocblas {
            Some(handle) => handle,
            none => none.insert(blas::Handle::new(&self.stream)?),
        };
        f(handle)
    }

    /// `table` (dims, then strides) in device memory.
    pub(crate) fn layout_table(self: &Arc<Self>, table: Vec<u64>) -> Result<LayoutTable, Error> {
        let mut layouts = self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&block) = layouts.get(&table) {
            return Ok(LayoutTable::Kept(block));
        }
        let bytes: Vec<u8> = table.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut memory = DeviceMemory::new(self, bytes.len())?;
        memory.upload(&bytes)?;
        if layouts.len() >= KEPT_LAYOUTS {
            return Ok(LayoutTable::Once(memory));
        }
        let block = memory.into_block();
        layouts.insert(table, block);
        Ok(LayoutTable::Kept(block))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A failing device cannot be waited for; its memory and modules are given back all the same.
        let _ = self.bind();
        let _ = self.stream.synchronize();
        let layouts = self.layouts.get_mut().unwrap_or_else(PoisonError::into_inner);
        for block in std::mem::take(layouts).into_values() {
            self.pool.put(block);
        }
        self.pool.release();
    }
}
