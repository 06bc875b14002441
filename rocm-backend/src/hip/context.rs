//! One device in use: its stream, its memory, its loaded modules.
//!
//! The invariant everything here rests on: **one private stream a context**. Work runs in the order it was submitted,
//! so a block of memory may go back to the pool, or be handed out again, while a kernel that uses it is still
//! queued: the work of whoever gets it next runs after that kernel. Another context of the device that gets it
//! waits for this one's stream (pool.rs).
//!
//! A context is `Send` and `Sync` because each of its parts is: handles that HIP locks itself, and locks. HIP has
//! one current device per thread, so [`Context::bind`] comes before every call.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::graph::Capturing;
use super::memory::DeviceMemory;
use super::module::Modules;
use super::pool::{Block, Pool};
use super::query;
use super::reports::Reports;
use super::staging::Staging;
use super::stream::Stream;
use super::{blas, miopen, rand};
use crate::generator::BlockCounter;
use crate::trace::Ledger;
use crate::usage::Usage;
use crate::{DeviceInfo, Error, Libraries, Library};

/// Dims-and-strides tables kept on the device. Kernels need one for each strided call, and programs repeat themselves.
const KEPT_LAYOUTS: usize = 4096;
/// Elements of a strided walk that kernels number in one launch, as `Divisor` of `kernels/layout.h` has it.
const MOST: usize = 1 << 31;

pub(crate) struct Context {
    ordinal: c_int,
    info: DeviceInfo,
    generator: Mutex<BlockCounter>,
    ledger: Ledger,
    usage: Mutex<Usage>,
    // Dropped in this order, after `Drop::drop` below has waited for the stream.
    rocblas: Mutex<Option<blas::BlasHandle>>,
    rocrand: Mutex<Option<rand::Generator>>,
    miopen: Mutex<Option<miopen::MiopenHandle>>,
    modules: Arc<Modules>,
    layouts: Mutex<BTreeMap<Vec<u64>, Block>>,
    reports: Mutex<Reports>,
    capturing: Capturing,
    waits: AtomicU64,
    most: AtomicUsize,
    #[cfg(test)]
    launches: AtomicUsize,
    staging: Mutex<Slots>,
    pool: Arc<Pool>,
    stream: Arc<Stream>,
}

/// The context's pinned memory, made at its first transfer.
#[derive(Default)]
pub(crate) struct Slots(Option<Staging>);

impl Slots {
    /// The context's device is this thread's.
    pub(crate) fn get(&mut self) -> Result<&mut Staging, Error> {
        Ok(match &mut self.0 {
            Some(staging) => staging,
            none => none.insert(Staging::new()?),
        })
    }
}

/// A dims-and-strides table on the device: kept for the context's life, or for one launch.
pub(crate) enum LayoutTable {
    Kept(Block),
    Once(DeviceMemory),
}

impl Context {
    pub(crate) fn new(ordinal: c_int, info: DeviceInfo) -> Result<Context, Error> {
        query::set_device(ordinal)?;
        let pool = Pool::of(ordinal, info.driver().allocator());
        let modules = Modules::of(ordinal, info.driver().name());
        Ok(Context {
            ordinal,
            info,
            generator: Mutex::default(),
            ledger: Ledger::default(),
            usage: Mutex::default(),
            rocblas: Mutex::default(),
            rocrand: Mutex::default(),
            miopen: Mutex::default(),
            modules,
            layouts: Mutex::default(),
            reports: Mutex::default(),
            capturing: Capturing::default(),
            waits: AtomicU64::default(),
            most: AtomicUsize::new(MOST),
            #[cfg(test)]
            launches: AtomicUsize::default(),
            staging: Mutex::default(),
            pool,
            stream: Arc::new(Stream::new()?),
        })
    }

    /// Makes this context's device the calling thread's. To be called before any HIP call that works on the
    /// current device.
    ///
    /// # Errors
    /// [`Error::Hip`]; [`Error::Capture`] while another thread captures a graph on the context.
    pub(crate) fn bind(&self) -> Result<(), Error> {
        self.refuse_beside_capture()?;
        self.select()
    }

    /// The same for what submits nothing.
    pub(super) fn select(&self) -> Result<(), Error> {
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

    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Elements that a launch over strided operands has at most: kernels number them in 32 bits.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// Makes launches shorter, so that tests see what is cut without tensors of gigabytes.
    #[cfg(test)]
    pub(crate) fn set_most(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// How many kernels were launched.
    #[cfg(test)]
    pub(crate) fn launches(&self) -> usize {
        self.launches.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(crate) fn count_launch(&self) {
        self.launches.fetch_add(1, Ordering::Relaxed);
    }

    /// Pinned memory for transfers, one at a time.
    pub(crate) fn staging(&self) -> MutexGuard<'_, Slots> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What kernels say of ids.
    pub(super) fn reports(&self) -> MutexGuard<'_, Reports> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a graph is captured, and of what.
    pub(super) fn capturing(&self) -> &Capturing {
        &self.capturing
    }

    /// Waits for all submitted work.
    pub(crate) fn synchronize(&self) -> Result<(), Error> {
        let look = self.begin_look()?;
        self.count_wait();
        self.stream.synchronize()?;
        look.end()
    }

    /// The host waits for what was submitted to the stream.
    pub(super) fn count_wait(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it did.
    pub(crate) fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// Makes the handle of the library that multiplies, where one does.
    pub(super) fn prepare_libraries(&self) -> Result<(), Error> {
        match self.info.driver().rocblas() {
            Library::Absent(_) => Ok(()),
            Library::System(_) | Library::Model => self.with_rocblas(|_| Ok(())),
        }
    }

    /// Bytes that this context's buffers hold.
    pub(crate) fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The modules that are loaded on this context's device.
    pub(crate) fn modules(&self) -> &Modules {
        &self.modules
    }

    /// The state of the device's random numbers.
    pub(crate) fn generator(&self) -> MutexGuard<'_, BlockCounter> {
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
        f: impl FnOnce(&mut blas::BlasHandle) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with(&self.rocblas, blas::BlasHandle::new, f)
    }

    /// The same with its rocRAND generator.
    pub(crate) fn with_rocrand<T>(
        &self,
        f: impl FnOnce(&mut rand::Generator) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with(&self.rocrand, rand::Generator::new, f)
    }

    /// The same with its MIOpen handle.
    pub(crate) fn with_miopen<T>(
        &self,
        f: impl FnOnce(&mut miopen::MiopenHandle) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with(&self.miopen, miopen::MiopenHandle::new, f)
    }

    fn with<H, T>(
        &self,
        place: &Mutex<Option<H>>,
        new: fn(&Stream) -> Result<H, Error>,
        f: impl FnOnce(&mut H) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.info.driver().libraries() == Libraries::Model {
            // It computes when it is called, and not when a graph is replayed.
            self.refuse_in_capture("a model of a library")?;
        }
        self.bind()?;
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match &mut *place {
            Some(handle) => handle,
            none => none.insert(new(&self.stream)?),
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
        if layouts.len() >= KEPT_LAYOUTS {
            let mut memory = DeviceMemory::new(self, bytes.len())?;
            memory.upload(&bytes)?;
            return Ok(LayoutTable::Once(memory));
        }
        let block = self.lasting_with(&bytes)?;
        layouts.insert(table, block);
        Ok(LayoutTable::Kept(block))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A failing device cannot be waited for; its memory and modules are given back all the same.
        let _ = self.select();
        let _ = self.stream.synchronize();
        let layouts = self.layouts.get_mut().unwrap_or_else(PoisonError::into_inner);
        let reports = self.reports.get_mut().unwrap_or_else(PoisonError::into_inner);
        for block in std::mem::take(layouts).into_values().chain(reports.take_blocks()) {
            self.pool.put(&self.stream, block);
        }
    }
}
