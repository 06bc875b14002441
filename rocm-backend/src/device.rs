//! A GPU in use.

use std::fmt;
use std::sync::Arc;

use crate::generator::BlockCounter;
use crate::hip::context::Context;
use crate::hip::query;
use crate::{Buffer, DriverInfo, DynBuffer, Element, Error, Event, Graph, Result, driver};

/// A GPU and a stream of work on it. Clones are the same stream: what they submit runs in that order, one after the other.
/// [`Device::new_stream`] and another [`Device::new`] give a stream beside it, whose buffers do not meet those of this one in
/// an operation; [`Buffer::move_to`] hands one over.
#[derive(Clone)]
pub struct Device(Arc<Context>);

/// What a device says of itself.
#[derive(Debug, Clone)]
pub struct DeviceInfo {
    name: String,
    target: String,
    warp_size: u32,
    compute_units: u32,
    driver: &'static DriverInfo,
}

/// Bytes of a device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Free on the device, as HIP says.
    pub free: usize,
    /// The device has in all.
    pub total: usize,
    /// Held by this [`Device`]'s buffers, and those of its clones.
    pub live: usize,
    /// The most that they held at one time.
    pub peak: usize,
    /// How many buffers, those of no elements aside.
    pub buffers: usize,
    /// Kept for the next buffers, of any [`Device`] of this process with this ordinal.
    pub cached: usize,
}

impl DeviceInfo {
    /// The marketing name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The instruction set kernels must be built for: `gfx1100`. Feature suffixes (`:xnack-`) are left out.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Lanes in a wavefront.
    pub fn warp_size(&self) -> u32 {
        self.warp_size
    }

    /// Compute units, which NVIDIA calls multiprocessors: workgroups of 1024 threads that run at one time at least. The software GPU says 8.
    pub fn compute_units(&self) -> u32 {
        self.compute_units
    }

    /// The driver the device was reached through.
    pub fn driver(&self) -> &'static DriverInfo {
        self.driver
    }
}

impl Device {
    /// How many devices the driver has.
    ///
    /// # Errors
    /// [`Error::Driver`] when there is no driver as `ROCM_DRIVER` asks for.
    pub fn count() -> Result<usize> {
        driver()?;
        query::device_count()
    }

    /// Device `ordinal`, counted from 0.
    ///
    /// # Errors
    /// [`Error::Driver`] when there is no driver as `ROCM_DRIVER` asks for, [`Error::NoDevice`] when it has no such
    /// device.
    pub fn new(ordinal: usize) -> Result<Device> {
        Device::of(driver()?, ordinal)
    }

    /// Device `ordinal` of `driver`, which fills the seam.
    pub(crate) fn of(driver: &'static DriverInfo, ordinal: usize) -> Result<Device> {
        let count = query::device_count()?;
        let raw = i32::try_from(ordinal)
            .ok()
            .filter(|_| ordinal < count)
            .ok_or_else(|| Error::NoDevice {
                ordinal,
                count,
                driver: driver.name(),
            })?;
        query::set_device(raw)?;
        let properties = query::properties(raw)?;
        let target = properties.arch.split(':').next().unwrap_or_default().to_owned();
        let info = DeviceInfo {
            name: properties.name,
            target,
            warp_size: properties.warp_size,
            compute_units: properties.multiprocessors,
            driver,
        };
        Ok(Device(Arc::new(Context::new(raw, info)?)))
    }

    /// The device's number.
    pub fn ordinal(&self) -> usize {
        self.0.ordinal()
    }

    /// Name, target and driver.
    pub fn info(&self) -> &DeviceInfo {
        self.0.info()
    }

    /// Whether buffers of the two may meet in one operation: they are clones of one [`Device::new`].
    pub fn same(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Waits until all submitted work is done.
    ///
    /// # Errors
    /// [`Error::Hip`] or [`Error::DeviceFault`] when some of it failed, [`Error::Index`] when some of it met an id that is not a
    /// position.
    pub fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }

    /// Marks this point in the device's work.
    ///
    /// # Errors
    /// [`Error::Hip`].
    pub fn record(&self) -> Result<Event> {
        Event::record(&self.0)
    }

    /// The same GPU with a stream of its own.
    ///
    /// # Errors
    /// [`Error::Hip`].
    pub fn new_stream(&self) -> Result<Device> {
        Device::of(self.info().driver(), self.ordinal())
    }

    /// Has all work that is submitted to this stream from now on run after what `event` marks, on whichever stream or GPU
    /// that was recorded. The host does not wait.
    ///
    /// # Errors
    /// [`Error::Hip`].
    pub fn wait(&self, event: &Event) -> Result<()> {
        event.hold(&self.0)
    }

    /// Captures what `f` submits to this stream, and runs none of it: [`Graph::replay`] does, any number of times and with one call of
    /// HIP's, which is what short kernels cost most. What `f` gives, buffers above all, has its elements after the first replay, and
    /// others after the next one. The graph keeps the memory that its work names, so that buffers may be dropped.
    ///
    /// Every replay does the same with whatever the buffers hold that were there before. What `f` uploads has the bytes of the capture in
    /// each. Sizes and offsets are those of the capture: what should differ from one replay to the next, as a position among cached
    /// keys, has to be in a buffer, and to be changed by the graph's own work or by [`Buffer::write`](crate::Buffer::write) between two.
    ///
    /// ```
    /// use rocm_backend::ops::{self, Binary};
    /// use rocm_backend::{Device, Result};
    ///
    /// fn main() -> Result<()> {
    ///     let device = Device::new(0)?;
    ///     let mut x = device.upload(&[1.0_f32, 2.0])?;
    ///     let (graph, doubled) = device.capture(|| ops::binary(Binary::Add, x.view(), x.view()))?;
    ///     graph.replay()?;
    ///     assert_eq!(doubled.download::<f32>()?, [2.0, 4.0]);
    ///     x.write(&[10.0, 20.0])?;
    ///     graph.replay()?;
    ///     assert_eq!(doubled.download::<f32>()?, [20.0, 40.0]);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of `f`, and no graph. [`Error::Capture`] from calls that cannot be part of one: those that wait for the device, copy to
    /// another stream or draw random numbers; and from other threads that use this stream meanwhile. [`Error::Hip`].
    pub fn capture<T, E: From<Error>>(
        &self,
        f: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<(Graph, T), E> {
        self.0.capture(f)
    }

    /// The elements of `host` on the device. They pass through pinned memory, and their copy is submitted like a kernel:
    /// nothing waits for it, and if it fails, a later call says so.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn upload<T: Element>(&self, host: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.uninit(host.len())?;
        buffer.write(host)?;
        Ok(buffer)
    }

    /// `len` elements of zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn zeros<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        DynBuffer::zeros(self, T::DTYPE, len).map(Buffer::assume)
    }

    /// Room for `len` elements, as [`DynBuffer::uninit`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn uninit<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        DynBuffer::uninit(self, T::DTYPE, len).map(Buffer::assume)
    }

    /// How the device's memory is used.
    ///
    /// # Errors
    /// [`Error::Hip`].
    pub fn memory(&self) -> Result<MemoryInfo> {
        self.0.bind()?;
        let (free, total) = query::memory()?;
        let cached = self.0.pool().cached();
        let usage = self.0.usage();
        Ok(MemoryInfo {
            free,
            total,
            live: usage.live(),
            peak: usage.peak(),
            buffers: usage.blocks(),
            cached,
        })
    }

    /// Gives the memory kept for later buffers back to HIP; waits for submitted work.
    ///
    /// # Errors
    /// [`Error::Hip`] or [`Error::DeviceFault`] when that work failed.
    pub fn release_cached(&self) -> Result<()> {
        self.synchronize()?;
        self.0.pool().release();
        Ok(())
    }

    /// Starts the device's random numbers anew: after one seed the same draws make the same numbers.
    pub fn set_seed(&self, seed: u64) {
        *self.0.generator() = BlockCounter::new(seed);
    }

    /// The seed that was set last; until then that of a new device, 299792458.
    pub fn seed(&self) -> u64 {
        self.0.generator().seed()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.0
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the context: it holds whole code objects.
        write!(f, "Device({self})")
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rocm:{} ({}, {})",
            self.ordinal(),
            self.info().name(),
            self.info().target()
        )
    }
}
