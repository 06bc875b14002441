//! What an NVIDIA GPU says of itself, in HIP's words: which attribute of the driver answers which of HIP's, and the property
//! struct made of them. Who asks the driver is entry.rs.

use core::ffi::c_int;

use rocm_rs::driver::put_text;
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::{hipDeviceAttribute_t, hipDeviceProp_tR0600};

use crate::error::Result;

/// Asks the driver for an attribute of one device, by its number.
pub(crate) type Ask<'a> = &'a mut dyn FnMut(c_int) -> Result<c_int>;

/// Numbers of `CUdevice_attribute` that the property struct is made of.
mod number {
    use core::ffi::c_int;

    pub(super) const THREADS_PER_BLOCK: c_int = 1;
    pub(super) const BLOCK: [c_int; 3] = [2, 3, 4];
    pub(super) const GRID: [c_int; 3] = [5, 6, 7];
    pub(super) const SHARED_PER_BLOCK: c_int = 8;
    pub(super) const CONSTANT: c_int = 9;
    pub(super) const WARP: c_int = 10;
    pub(super) const REGISTERS_PER_BLOCK: c_int = 12;
    pub(super) const CLOCK: c_int = 13;
    pub(super) const MULTIPROCESSORS: c_int = 16;
    pub(super) const TIMEOUT: c_int = 17;
    pub(super) const INTEGRATED: c_int = 18;
    pub(super) const MAP_HOST: c_int = 19;
    pub(super) const COMPUTE_MODE: c_int = 20;
    pub(super) const CONCURRENT_KERNELS: c_int = 31;
    pub(super) const ECC: c_int = 32;
    pub(super) const PCI_BUS: c_int = 33;
    pub(super) const PCI_DEVICE: c_int = 34;
    pub(super) const MEMORY_CLOCK: c_int = 36;
    pub(super) const BUS_WIDTH: c_int = 37;
    pub(super) const L2: c_int = 38;
    pub(super) const THREADS_PER_MULTIPROCESSOR: c_int = 39;
    pub(super) const UNIFIED_ADDRESSING: c_int = 41;
    pub(super) const PCI_DOMAIN: c_int = 50;
    pub(super) const MAJOR: c_int = 75;
    pub(super) const MINOR: c_int = 76;
    pub(super) const SHARED_PER_MULTIPROCESSOR: c_int = 81;
    pub(super) const REGISTERS_PER_MULTIPROCESSOR: c_int = 82;
    pub(super) const MANAGED: c_int = 83;
    pub(super) const MULTI_GPU_BOARD: c_int = 84;
    pub(super) const COOPERATIVE: c_int = 95;
    pub(super) const COOPERATIVE_MULTI_DEVICE: c_int = 96;
    pub(super) const SHARED_OPTIN: c_int = 97;
    pub(super) const HOST_REGISTER: c_int = 99;
    pub(super) const BLOCKS_PER_MULTIPROCESSOR: c_int = 106;
    pub(super) const POOLS: c_int = 115;
}

macro_rules! attributes {
    ($($constant:ident = $number:expr;)*) => {
        /// HIP's attribute and the driver's.
        const ATTRIBUTES: &[(hipDeviceAttribute_t, c_int)] = &[$((hip::$constant, $number)),*];
    };
}

attributes! {
    hipDeviceAttribute_t_hipDeviceAttributeWarpSize = number::WARP;
    hipDeviceAttribute_t_hipDeviceAttributeMultiprocessorCount = number::MULTIPROCESSORS;
    hipDeviceAttribute_t_hipDeviceAttributePhysicalMultiProcessorCount = number::MULTIPROCESSORS;
    hipDeviceAttribute_t_hipDeviceAttributeMaxThreadsPerMultiProcessor = number::THREADS_PER_MULTIPROCESSOR;
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlocksPerMultiProcessor = number::BLOCKS_PER_MULTIPROCESSOR;
    hipDeviceAttribute_t_hipDeviceAttributeMaxThreadsPerBlock = number::THREADS_PER_BLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimX = number::BLOCK[0];
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimY = number::BLOCK[1];
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimZ = number::BLOCK[2];
    hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimX = number::GRID[0];
    hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimY = number::GRID[1];
    hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimZ = number::GRID[2];
    hipDeviceAttribute_t_hipDeviceAttributeMaxSharedMemoryPerBlock = number::SHARED_PER_BLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeSharedMemPerBlockOptin = number::SHARED_OPTIN;
    hipDeviceAttribute_t_hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = number::SHARED_PER_MULTIPROCESSOR;
    hipDeviceAttribute_t_hipDeviceAttributeMaxRegistersPerBlock = number::REGISTERS_PER_BLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMaxRegistersPerMultiprocessor = number::REGISTERS_PER_MULTIPROCESSOR;
    hipDeviceAttribute_t_hipDeviceAttributeTotalConstantMemory = number::CONSTANT;
    hipDeviceAttribute_t_hipDeviceAttributeComputeCapabilityMajor = number::MAJOR;
    hipDeviceAttribute_t_hipDeviceAttributeComputeCapabilityMinor = number::MINOR;
    hipDeviceAttribute_t_hipDeviceAttributeClockRate = number::CLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMemoryClockRate = number::MEMORY_CLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMemoryBusWidth = number::BUS_WIDTH;
    hipDeviceAttribute_t_hipDeviceAttributeL2CacheSize = number::L2;
    hipDeviceAttribute_t_hipDeviceAttributeComputeMode = number::COMPUTE_MODE;
    hipDeviceAttribute_t_hipDeviceAttributeConcurrentKernels = number::CONCURRENT_KERNELS;
    hipDeviceAttribute_t_hipDeviceAttributeUnifiedAddressing = number::UNIFIED_ADDRESSING;
    hipDeviceAttribute_t_hipDeviceAttributeManagedMemory = number::MANAGED;
    hipDeviceAttribute_t_hipDeviceAttributeCanMapHostMemory = number::MAP_HOST;
    hipDeviceAttribute_t_hipDeviceAttributeHostRegisterSupported = number::HOST_REGISTER;
    hipDeviceAttribute_t_hipDeviceAttributeCooperativeLaunch = number::COOPERATIVE;
    hipDeviceAttribute_t_hipDeviceAttributeCooperativeMultiDeviceLaunch = number::COOPERATIVE_MULTI_DEVICE;
    hipDeviceAttribute_t_hipDeviceAttributeMemoryPoolsSupported = number::POOLS;
    hipDeviceAttribute_t_hipDeviceAttributeEccEnabled = number::ECC;
    hipDeviceAttribute_t_hipDeviceAttributeIntegrated = number::INTEGRATED;
    hipDeviceAttribute_t_hipDeviceAttributeIsMultiGpuBoard = number::MULTI_GPU_BOARD;
    hipDeviceAttribute_t_hipDeviceAttributeKernelExecTimeout = number::TIMEOUT;
    hipDeviceAttribute_t_hipDeviceAttributePciBusId = number::PCI_BUS;
    hipDeviceAttribute_t_hipDeviceAttributePciDeviceId = number::PCI_DEVICE;
    hipDeviceAttribute_t_hipDeviceAttributePciDomainID = number::PCI_DOMAIN;
}

/// The driver's number for an attribute of HIP's, as far as it has it.
pub(crate) fn attribute(attribute: hipDeviceAttribute_t) -> Option<c_int> {
    ATTRIBUTES.iter().find(|row| row.0 == attribute).map(|row| row.1)
}

/// Fills the property struct, which comes in zeroed, but for the device's name and memory. What the driver does not tell
/// stays 0. The architecture, which HIP has for AMD's processors, is `sm_90` or the like.
pub(crate) fn fill(properties: &mut hipDeviceProp_tR0600, ask: Ask<'_>) -> Result {
    let (major, minor) = (ask(number::MAJOR)?, ask(number::MINOR)?);
    put_text(&mut properties.gcnArchName, &format!("sm_{major}{minor}"));
    properties.major = major;
    properties.minor = minor;
    properties.warpSize = ask(number::WARP)?;
    properties.maxThreadsPerBlock = ask(number::THREADS_PER_BLOCK)?;
    for (i, (block, grid)) in number::BLOCK.into_iter().zip(number::GRID).enumerate() {
        properties.maxThreadsDim[i] = ask(block)?;
        properties.maxGridSize[i] = ask(grid)?;
    }
    properties.sharedMemPerBlock = bytes(ask(number::SHARED_PER_BLOCK)?);
    properties.sharedMemPerBlockOptin = bytes(ask(number::SHARED_OPTIN)?);
    let shared = bytes(ask(number::SHARED_PER_MULTIPROCESSOR)?);
    properties.sharedMemPerMultiprocessor = shared;
    properties.maxSharedMemoryPerMultiProcessor = shared;
    properties.totalConstMem = bytes(ask(number::CONSTANT)?);
    properties.regsPerBlock = ask(number::REGISTERS_PER_BLOCK)?;
    properties.regsPerMultiprocessor = ask(number::REGISTERS_PER_MULTIPROCESSOR)?;
    properties.multiProcessorCount = ask(number::MULTIPROCESSORS)?;
    properties.maxThreadsPerMultiProcessor = ask(number::THREADS_PER_MULTIPROCESSOR)?;
    properties.maxBlocksPerMultiProcessor = ask(number::BLOCKS_PER_MULTIPROCESSOR)?;
    properties.l2CacheSize = ask(number::L2)?;
    properties.memoryBusWidth = ask(number::BUS_WIDTH)?;
    properties.clockRate = ask(number::CLOCK)?;
    properties.memoryClockRate = ask(number::MEMORY_CLOCK)?;
    properties.ECCEnabled = ask(number::ECC)?;
    properties.integrated = ask(number::INTEGRATED)?;
    properties.concurrentKernels = ask(number::CONCURRENT_KERNELS)?;
    properties.memoryPoolsSupported = ask(number::POOLS)?;
    properties.kernelExecTimeoutEnabled = ask(number::TIMEOUT)?;
    properties.pciBusID = ask(number::PCI_BUS)?;
    properties.pciDeviceID = ask(number::PCI_DEVICE)?;
    properties.pciDomainID = ask(number::PCI_DOMAIN)?;
    Ok(())
}

fn bytes(number: c_int) -> usize {
    usize::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_listed_once_and_another_is_not_made_up() {
        for (i, row) in ATTRIBUTES.iter().enumerate() {
            assert!(ATTRIBUTES[..i].iter().all(|other| other.0 != row.0), "{}", row.0);
        }
        assert_eq!(
            attribute(hip::hipDeviceAttribute_t_hipDeviceAttributeWarpSize),
            Some(10)
        );
        assert_eq!(attribute(u32::MAX), None);
    }
}
