//! What the software device says about itself: attributes and the property struct, from one list of figures.

use core::ffi::c_int;

use gfx_emu::{Limits, Target};
use rocm_env::Card;
use rocm_rs::driver::put_text;
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::{hipDeviceAttribute_t, hipDeviceProp_tR0600};

/// A card that can be modelled.
#[derive(Debug)]
pub(crate) struct Model {
    /// Device name.
    pub(crate) name: &'static str,
    /// The processor whose code objects it executes.
    pub(crate) target: &'static str,
    /// The processor with its features, as HIP spells it.
    arch: &'static str,
    /// Lanes of a wave.
    warp_size: c_int,
    /// Instruction set version.
    major: c_int,
    minor: c_int,
    /// 32-bit registers of a multiprocessor.
    registers: c_int,
    /// Whether the memory of the card corrects errors.
    ecc: c_int,
}

impl Model {
    /// The model of a card.
    pub(crate) const fn of(card: Card) -> &'static Model {
        match card {
            Card::Gfx1100 => &Model {
                name: "software AMD GPU (gfx1100)",
                target: "gfx1100",
                arch: "gfx1100",
                warp_size: 32,
                major: 11,
                minor: 0,
                registers: 196_608,
                ecc: 0,
            },
            Card::Gfx1151 => &Model {
                name: "software AMD GPU (gfx1151)",
                target: "gfx1151",
                arch: "gfx1151",
                warp_size: 32,
                major: 11,
                minor: 5,
                registers: 196_608,
                ecc: 0,
            },
            Card::Gfx1200 => &Model {
                name: "software AMD GPU (gfx1200)",
                target: "gfx1200",
                arch: "gfx1200",
                warp_size: 32,
                major: 12,
                minor: 0,
                registers: 196_608,
                ecc: 0,
            },
            Card::Gfx1201 => &Model {
                name: "software AMD GPU (gfx1201)",
                target: "gfx1201",
                arch: "gfx1201",
                warp_size: 32,
                major: 12,
                minor: 0,
                registers: 196_608,
                ecc: 0,
            },
            Card::Gfx1030 => &Model {
                name: "software AMD GPU (gfx1030)",
                target: "gfx1030",
                arch: "gfx1030",
                warp_size: 32,
                major: 10,
                minor: 3,
                registers: 131_072,
                ecc: 0,
            },
            Card::Gfx942 => &Model {
                name: "software AMD GPU (gfx942)",
                target: "gfx942",
                arch: "gfx942:sramecc+:xnack-",
                warp_size: 64,
                major: 9,
                minor: 4,
                registers: 131_072,
                ecc: 1,
            },
            Card::Gfx950 => &Model {
                name: "software AMD GPU (gfx950)",
                target: "gfx950",
                arch: "gfx950:sramecc+:xnack-",
                warp_size: 64,
                major: 9,
                minor: 5,
                registers: 131_072,
                ecc: 1,
            },
            Card::Gfx1250 => &Model {
                name: "software AMD GPU (gfx1250)",
                target: "gfx1250",
                arch: "gfx1250",
                warp_size: 32,
                major: 12,
                minor: 5,
                registers: 131_072,
                ecc: 1,
            },
            Card::Gfx90a => &Model {
                name: "software AMD GPU (gfx90a)",
                target: "gfx90a",
                arch: "gfx90a:sramecc+:xnack-",
                warp_size: 64,
                major: 9,
                minor: 0,
                registers: 131_072,
                ecc: 1,
            },
        }
    }
}

/// Fixed, not the host's: launch shapes derived from it, and so results, are the same on every machine.
const MULTIPROCESSORS: c_int = 8;
/// Work-items resident on a multiprocessor.
const THREADS_PER_MULTIPROCESSOR: c_int = 2048;
const BLOCK: c_int = Limits::DEVICE.workgroup_size.cast_signed();

/// Bytes of LDS that a workgroup of the card may have.
fn lds(model: &Model) -> c_int {
    let limits = Target::named(model.target).map_or(Limits::DEVICE, Limits::of);
    limits.lds.cast_signed()
}

macro_rules! attributes {
    ($model:ident: $($constant:ident = $value:expr;)*) => {
        /// Attribute and value.
        fn attributes($model: &Model) -> Vec<(hipDeviceAttribute_t, c_int)> {
            vec![$((hip::$constant, $value)),*]
        }
    };
}

attributes! { model:
    hipDeviceAttribute_t_hipDeviceAttributeWarpSize = model.warp_size;
    hipDeviceAttribute_t_hipDeviceAttributeMultiprocessorCount = MULTIPROCESSORS;
    hipDeviceAttribute_t_hipDeviceAttributePhysicalMultiProcessorCount = MULTIPROCESSORS;
    hipDeviceAttribute_t_hipDeviceAttributeMaxThreadsPerMultiProcessor = THREADS_PER_MULTIPROCESSOR;
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlocksPerMultiProcessor = THREADS_PER_MULTIPROCESSOR / model.warp_size;
    hipDeviceAttribute_t_hipDeviceAttributeMaxThreadsPerBlock = BLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimX = BLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimY = BLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMaxBlockDimZ = BLOCK;
    hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimX = c_int::MAX;
    hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimY = 65_536;
    hipDeviceAttribute_t_hipDeviceAttributeMaxGridDimZ = 65_536;
    hipDeviceAttribute_t_hipDeviceAttributeMaxSharedMemoryPerBlock = lds(model);
    hipDeviceAttribute_t_hipDeviceAttributeSharedMemPerBlockOptin = lds(model);
    hipDeviceAttribute_t_hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = lds(model);
    hipDeviceAttribute_t_hipDeviceAttributeMaxRegistersPerBlock = model.registers;
    hipDeviceAttribute_t_hipDeviceAttributeMaxRegistersPerMultiprocessor = model.registers;
    hipDeviceAttribute_t_hipDeviceAttributeTotalConstantMemory = c_int::MAX;
    hipDeviceAttribute_t_hipDeviceAttributeComputeCapabilityMajor = model.major;
    hipDeviceAttribute_t_hipDeviceAttributeComputeCapabilityMinor = model.minor;
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
    hipDeviceAttribute_t_hipDeviceAttributeEccEnabled = model.ecc;
    hipDeviceAttribute_t_hipDeviceAttributeIntegrated = 1;
    hipDeviceAttribute_t_hipDeviceAttributeIsMultiGpuBoard = 0;
    hipDeviceAttribute_t_hipDeviceAttributeKernelExecTimeout = 1;
    hipDeviceAttribute_t_hipDeviceAttributePciBusId = 0;
    hipDeviceAttribute_t_hipDeviceAttributePciDeviceId = 0;
    hipDeviceAttribute_t_hipDeviceAttributePciDomainID = 0;
}

/// The value of an attribute, as far as this device has it.
pub(crate) fn attribute(model: &Model, attribute: hipDeviceAttribute_t) -> Option<c_int> {
    let all = attributes(model);
    all.iter().find(|row| row.0 == attribute).map(|row| row.1)
}

/// Fills the property struct, which comes in zeroed.
pub(crate) fn fill(model: &Model, properties: &mut hipDeviceProp_tR0600) {
    put_text(&mut properties.name, model.name);
    put_text(&mut properties.gcnArchName, model.arch);
    properties.totalConstMem = c_int::MAX as usize;
    properties.sharedMemPerBlock = lds(model) as usize;
    properties.sharedMemPerBlockOptin = lds(model) as usize;
    properties.sharedMemPerMultiprocessor = lds(model) as usize;
    properties.maxSharedMemoryPerMultiProcessor = lds(model) as usize;
    properties.regsPerBlock = model.registers;
    properties.regsPerMultiprocessor = model.registers;
    properties.warpSize = model.warp_size;
    properties.maxThreadsPerBlock = BLOCK;
    properties.maxThreadsDim = [BLOCK; 3];
    properties.maxGridSize = [c_int::MAX, 65_536, 65_536];
    properties.maxThreadsPerMultiProcessor = THREADS_PER_MULTIPROCESSOR;
    properties.maxBlocksPerMultiProcessor = THREADS_PER_MULTIPROCESSOR / model.warp_size;
    properties.multiProcessorCount = MULTIPROCESSORS;
    properties.major = model.major;
    properties.minor = model.minor;
    properties.ECCEnabled = model.ecc;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_listed_once() {
        let all = attributes(Model::of(Card::Gfx1100));
        for (i, row) in all.iter().enumerate() {
            assert!(
                all[..i].iter().all(|other| other.0 != row.0),
                "attribute {}",
                row.0
            );
        }
    }

    #[test]
    fn occupancy_keeps_to_the_kernels_and_the_callers_limit() {
        assert_eq!(occupancy(1024, 0), (16, 1024));
        assert_eq!(occupancy(256, 0), (64, 256));
        assert_eq!(occupancy(256, 64), (256, 64));
        assert_eq!(occupancy(1024, 4096).1, 1024);
    }
}
