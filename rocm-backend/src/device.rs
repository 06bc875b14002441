//! A GPU in use.

use std::fmt;
use std::sync::Arc;

use crate::generator::Generator;
use crate::hip::context::Context;
use crate::hip::query;
use crate::served::{Served, Step};
use crate::{Buffer, DType, DriverInfo, Error, Event, Result, driver};

/// A GPU, with a stream of its own. Clones share the stream and the memory; two calls of [`Device::new`] do not,
/// and buffers of one are strangers to the other.
#[derive(Clone)]
pub struct Device(Arc<Context>);

/// What a device says of itself.
#[derive(Debug, Clone)]
pub struct DeviceInfo {
    name: String,
    target: String,
    warp_size: u32,
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
    /// [`Error::Driver`] when there is no driver as `ROCM_DRIVER` asks for, [`Error::Invalid`] when it has no such
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
            .ok_or_else(|| {
                Error::Invalid(format!(
                    "there is no ROCm device {ordinal}: {} has {count}",
                    driver.name()
                ))
            })?;
        query::set_device(raw)?;
        let properties = query::properties(raw)?;
        let target = properties.arch.split(':').next().unwrap_or_default().to_owned();
        let info = DeviceInfo {
            name: properties.name,
            target,
            warp_size: properties.warp_size,
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
    /// [`Error::Hip`] or [`Error::DeviceFault`] when some of it failed.
    pub fn synchronize(&self) -> Result<()> {
        self.0.bind()?;
        self.0.stream().synchronize()
    }

    /// Marks this point in the device's work.
    ///
    /// # Errors
    /// [`Error::Hip`].
    pub fn record(&self) -> Result<Event> {
        Event::record(&self.0)
    }

    /// `len` elements of zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn zeros(&self, dtype: DType, len: usize) -> Result<Buffer> {
        let mut buffer = Buffer::new(self, dtype, len)?;
        buffer.memory_mut().zero()?;
        Ok(buffer)
    }

    /// Room for `len` elements, holding whatever the device has there: the leavings of an earlier buffer, perhaps.
    ///
    /// Safe, because the host never looks at device memory: it downloads a copy, made of bytes that have values.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn uninit(&self, dtype: DType, len: usize) -> Result<Buffer> {
        Buffer::new(self, dtype, len)
    }

    /// Elements from their bytes, little-endian. They pass through pinned memory, and their copy is submitted like a kernel:
    /// nothing waits for it, and if it fails, a later call says so.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the bytes are not whole elements, [`Error::OutOfMemory`] or [`Error::Hip`].
    pub fn upload(&self, dtype: DType, bytes: &[u8]) -> Result<Buffer> {
        let size = dtype.size_in_bytes();
        if !bytes.len().is_multiple_of(size) {
            return Err(Error::Invalid(format!(
                "{} bytes are not whole elements of {dtype}",
                bytes.len()
            )));
        }
        let mut buffer = Buffer::new(self, dtype, bytes.len() / size)?;
        buffer.memory_mut().upload(bytes)?;
        Ok(buffer)
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
        *self.0.generator() = Generator::new(seed);
    }

    /// The seed that was set last; until then that of a new device, 299792458.
    pub fn seed(&self) -> u64 {
        self.0.generator().seed()
    }

    /// What has computed the results of operations that kernels and libraries can serve both, ordered by name.
    pub fn served(&self) -> Vec<Served> {
        self.0.ledger().read()
    }

    /// What the device has executed since the last call, each step once, by name: kernels, functions of libraries, and what
    /// the HIP runtime does inside the device's memory. Transfers from and to the host are none of it.
    pub fn take_trace(&self) -> Vec<Step> {
        self.0.ledger().take_trace()
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
