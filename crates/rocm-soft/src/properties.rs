//! What the software device says about itself: attributes and the property struct, from one list of figures.

use core::ffi::{c_char, c_int};

use gfx_emu::Limits;
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::{hipDeviceAttribute_t, hipDeviceProp_tR0600};

/// Device name.
pub(crate) const NAME: &str = "software AMD GPU (gfx1100)";
/// The processor whose code objects it executes.
pub(crate) const ARCH: &str = "gfx1100";
/// Bytes of device memory.
pub(crate) const CAPACITY: u64 = 16 << 30;
/// Fixed, not the host's: launch shapes derived from it, and so results, are the same on every machine.
const MULTIPROCESSORS: c_int = 8;
/// Work-items resident on a multiprocessor of gfx1100.
const THREADS_PER_MULTIPROCESSOR: c_int = 2048;
/// 32-bit registers of a multiprocessor.
const REGISTERS: c_int = 196_608;
const WARP_SIZE: c_int = 32;
const LDS: c_int = Limits::DEVICE.lds.cast_signed();
const BLOCK: c_int = Limits::DEVICE.workgroup_size.cast_signed();

macro_rules! attributes {
    ($($constant:ident = $value:expr;)*) => {
        /// Attribute and value.
        const ATTRIBUTES: &[(hipDeviceAttribute_t, c_int)] = &[$((hip::$constant, $value)),*];
    };
}

attributes! {
    hipDeviceAttribute_t_hipDeviceAttributeWarpSize = WARP_SIZE;
    hipDeviceAttribute_t_hipDeviceAttributeMultiprocessorCount = MULTIPROCESSORS;
    hipDeviceAttribute_t_hipDeviceAttributePhysicalMultiProcessorCount = MULTIPROCESSORS;
    hipDeviceAttribute_t_hipDeviceAttributeMaxThreadsPerMultiProcessor = THREADS_PER_MULTIPROCESSOR;
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlocksPerMultiProcessor = THREADS_PER_MULTIPROCESSOR / WARP_SIZE;
    hipDeviceAttribute_t_hipDeviceAttributeMaxThreadsPerBlock = BLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimX = BLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimY = BLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimZ = BLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimX = c_int::MAX;
    hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimY = 65_536;
    hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimZ = 65_536;
    hipDeviceAttribute_t_hipDeviceAttributeMaxSharedMemoryPerBlock = LDS;
    hipDeviceAttribute_t_hipDeviceAttributeSharedMemPerBlockOptin = LDS;
    hipDeviceAttribute_t_hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = LDS;
    hipDeviceAttribute_t_hipDeviceAttributeMaxRegistersPerBlock = REGISTERS;
    hipDeviceAttribute_t_hipDeviceAttributeMaxRegistersPerMultiprocessor = REGISTERS;
    hipDeviceAttribute_t_hipDeviceAttributeTotalConstantMemory = c_int::MAX;
    hipDeviceAttribute_t_hipDeviceAttributeComputeCapabilityMajor = 11;
    hipDeviceAttribute_t_hipDeviceAttributeComputeCapabilityMinor = 0;
    hipDeviceAttribute_t_hipDeviceAttributeClockRate = 0;
    hipDeviceAttribute_t_hipDeviceAttributeMemoryClockRate = 0;
    hipDeviceAttribute_t_hipDeviceAttributeMemoryBusWidth = 0;
    hipDeviceAttribute_t_hipDeviceAttributeL2CacheSize = 0;
    hipDeviceAttribute_t_hipDeviceAttributeComputeMode = 0;
    hipDeviceAttribute_t_hipDeviceAttributeConcurrentKernels = 1;
    hipDeviceAttribute_t_hipDeviceAttributeUnifiedAddressing = 0;
    hipDeviceAttribute_t_hipDeviceAttributeManagedMemory = 0;
    hipDeviceAttribute_t_hipDeviceAttributeCanMapHostMemory = 0;
    hipDeviceAttribute_t_hipDeviceAttributeHostRegisterSupported = 0;
    hipDeviceAttribute_t_hipDeviceAttributeCooperativeLaunch = 0;
    hipDeviceAttribute_t_hipDeviceAttributeCooperativeMultiDeviceLaunch = 0;
    hipDeviceAttribute_t_hipDeviceAttributeMemoryPoolsSupported = 1;
    hipDeviceAttribute_t_hipDeviceAttributeEccEnabled = 0;
    hipDeviceAttribute_t_hipDeviceAttributeIntegrated = 1;
    hipDeviceAttribute_t_hipDeviceAttributeIsMultiGpuBoard = 0;
    hipDeviceAttribute_t_hipDeviceAttributeKernelExecTimeout = 1;
    hipDeviceAttribute_t_hipDeviceAttributePciBusId = 0;
    hipDeviceAttribute_t_hipDeviceAttributePciDeviceId = 0;
    hipDeviceAttribute_t_hipDeviceAttributePciDomainID = 0;
}

/// The value of an attribute, as far as this device has it.
pub(crate) fn attribute(attribute: hipDeviceAttribute_t) -> Option<c_int> {
    ATTRIBUTES.iter().find(|row| row.0 == attribute).map(|row| row.1)
}

/// Fills the property struct, which comes in zeroed.
pub(crate) fn fill(properties: &mut hipDeviceProp_tR0600) {
    put_text(&mut properties.name, NAME);
    put_text(&mut properties.gcnArchName, ARCH);
    properties.totalGlobalMem = CAPACITY as usize;
    properties.totalConstMem = c_int::MAX as usize;
    properties.sharedMemPerBlock = LDS as usize;
    properties.sharedMemPerBlockOptin = LDS as usize;
    properties.sharedMemPerMultiprocessor = LDS as usize;
    properties.maxSharedMemoryPerMultiProcessor = LDS as usize;
    properties.regsPerBlock = REGISTERS;
    properties.regsPerMultiprocessor = REGISTERS;
    properties.warpSize = WARP_SIZE;
    properties.maxThreadsPerBlock = BLOCK;
    properties.maxThreadsDim = [BLOCK; 3];
    properties.maxGridSize = [c_int::MAX, 65_536, 65_536];
    properties.maxThreadsPerMultiProcessor = THREADS_PER_MULTIPROCESSOR;
    properties.maxBlocksPerMultiProcessor = THREADS_PER_MULTIPROCESSOR / WARP_SIZE;
    properties.multiProcessorCount = MULTIPROCESSORS;
    properties.major = 11;
    properties.integrated = 1;
    properties.concurrentKernels = 1;
    properties.memoryPoolsSupported = 1;
    properties.kernelExecTimeoutEnabled = 1;
    properties.arch.set_hasGlobalInt32Atomics(1);
    properties.arch.set_hasGlobalInt64Atomics(1);
    properties.arch.set_hasSharedInt32Atomics(1);
    properties.arch.set_hasDoubles(1);
}

/// A block size for a kernel that allows at most `kernel_limit` work-items, and the workgroups that fill the
/// device. `limit` is the caller's own, 0 for none.
pub(crate) fn occupancy(kernel_limit: u32, limit: c_int) -> (c_int, c_int) {
    let mut block = kernel_limit.min(Limits::DEVICE.workgroup_size).cast_signed();
    if limit > 0 {
        block = block.min(limit);
    }
    let block = block.max(1);
    (
        MULTIPROCESSORS * (THREADS_PER_MULTIPROCESSOR / block).max(1),
        block,
    )
}

/// Writes a text with its terminating NUL, cut off where the field ends.
pub(crate) fn put_text(field: &mut [c_char], text: &str) {
    let Some(room) = field.len().checked_sub(1) else {
        return;
    };
    let bytes = text.bytes().map(u8::cast_signed).take(room).chain([0]);
    for (place, byte) in field.iter_mut().zip(bytes) {
        *place = byte;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_listed_once() {
        for (i, row) in ATTRIBUTES.iter().enumerate() {
            assert!(
                ATTRIBUTES[..i].iter().all(|other| other.0 != row.0),
                "attribute {}",
                row.0
            );
        }
    }

    #[test]
    fn a_text_is_cut_to_its_field_and_ended() {
        let mut field = [1; 4];
        put_text(&mut field, "abcdef");
        assert_eq!(field, [97, 98, 99, 0]);
        put_text(&mut field, "x");
        assert_eq!(field, [120, 0, 99, 0]);
        put_text(&mut [], "x");
    }

    #[test]
    fn occupancy_keeps_to_the_kernels_and_the_callers_limit() {
        assert_eq!(occupancy(1024, 0), (16, 1024));
        assert_eq!(occupancy(256, 0), (64, 256));
        assert_eq!(occupancy(256, 64), (256, 64));
        assert_eq!(occupancy(1024, 4096).1, 1024);
    }
}
