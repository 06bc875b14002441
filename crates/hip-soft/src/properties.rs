//! What a card says of itself: what AMD's runtime 7.2 says of the same software card, except for images, virtual memory handles and
//! memory of other processes, which are not offered. `ci/rocm-programs --only ctest` compares the two.

use gfx_emu::{Kernel, Limits};
use rocm_env::Card;
use rocm_rs::driver::put_text;
use rocm_rs::hip::bindings::hipDeviceProp_tR0600;
use soft_runtime::card::{isa_name, target, traits};

/// HIP 7.2, as its version is a number: 10,000,000 a major version, 100,000 a minor.
pub(crate) const VERSION: i32 = 70_253_211;
const BLOCK: i32 = 1024;
const GRID: [i32; 3] = [i32::MAX, 65_536, 65_536];
const THREADS: i32 = 2048;

/// The number of multiprocessors: workgroup processors on RDNA, compute units on CDNA.
fn units(card: Card) -> i32 {
    let traits = traits(card);
    (if traits.lanes == 32 {
        traits.units / 2
    } else {
        traits.units
    })
    .cast_signed()
}

fn lds(card: Card) -> i32 {
    Limits::of(target(card)).lds.cast_signed()
}

/// Vector registers of a multiprocessor, as HIP counts them.
fn registers(card: Card) -> i32 {
    if traits(card).lanes == 32 {
        196_608
    } else {
        131_072
    }
}

/// Workgroups that a multiprocessor has at a time.
fn workgroups(card: Card) -> i32 {
    if traits(card).lanes == 32 { 64 } else { 32 }
}

/// Major and minor version of a processor's name: `gfx1100` is 11.0, `gfx90a` 9.0, `gfx942` 9.4.
fn version(card: Card) -> (i32, i32) {
    let digits: Vec<i32> = card
        .word()
        .bytes()
        .filter(u8::is_ascii_hexdigit)
        .skip(1)
        .map(|digit| char::from(digit).to_digit(16).unwrap_or(0).cast_signed())
        .collect();
    match *digits.as_slice() {
        [ten, one, minor, _] => (10 * ten + one, minor),
        [major, minor, _] => (major, minor),
        _ => (0, 0),
    }
}

/// The value of an attribute with HIP's number; `None` for one that the card does not have.
pub(crate) fn attribute(card: Card, capacity: u64, attribute: u32) -> Option<i32> {
    let traits = traits(card);
    let (major, minor) = version(card);
    Some(match attribute {
        // What is offered: engines that copy, mapped host memory, several kernels at once, overlap, caches, managed memory's
        // addresses, priorities, pools, registered memory.
        2 => 8,
        3 | 8 | 12 | 14 | 15 | 20 | 78 | 85 | 88 | 90 | 91 => 1,
        5 => traits.clock.cast_signed() * 1000,
        19 | 70 => 4 << 20,
        23 => major,
        61 => minor,
        25 => workgroups(card),
        26..=28 | 56 => BLOCK,
        29..=31 => GRID[(attribute - 29) as usize],
        57 => THREADS,
        58 | 83 => i32::MAX,
        // The bus in bits, and the bytes that rows of a pitch and images would begin at.
        59 | 79 | 81 | 82 => 256,
        60 | 10_017 => 1_000_000,
        63 | 10_015 => units(card),
        67 => 1,
        71 | 72 => registers(card),
        74 | 75 | 10_002 => lds(card),
        76 => lds(card),
        84 => i32::try_from(capacity).unwrap_or(i32::MAX),
        87 => traits.lanes.cast_signed(),
        10_012 | 10_013 | 10_018 => 1,
        10_019 => {
            if traits.lanes == 32 {
                256
            } else {
                512
            }
        }
        10_020 => traits.chip.cast_signed(),
        // What is not: error correction, cooperative launches, images and the like.
        0
        | 1
        | 4
        | 6
        | 7
        | 9..=11
        | 13
        | 16..=18
        | 22
        | 24
        | 32
        | 39
        | 41..=44
        | 49..=51
        | 53
        | 62
        | 65
        | 66
        | 68
        | 69 => 0,
        73 | 89 | 92 | 10_005..=10_011 | 10_014 | 10_016 => 0,
        _ => return None,
    })
}

/// Fills the properties, which come in zeroed.
pub(crate) fn fill(card: Card, number: usize, capacity: u64, to: &mut hipDeviceProp_tR0600) {
    let traits = traits(card);
    let isa = isa_name(card);
    put_text(&mut to.name, traits.name);
    put_text(&mut to.gcnArchName, isa.trim_start_matches("amdgcn-amd-amdhsa--"));
    let uuid = format!("{:016x}", number + 1);
    put_text(&mut to.uuid.bytes, &uuid);
    to.uuid.bytes[15] = uuid.bytes().last().map_or(0, u8::cast_signed) as _;
    to.totalGlobalMem = capacity as usize;
    let lds = self::lds(card);
    to.sharedMemPerBlock = lds as usize;
    to.sharedMemPerBlockOptin = lds as usize;
    to.sharedMemPerMultiprocessor = lds as usize;
    to.maxSharedMemoryPerMultiProcessor = lds as usize;
    to.regsPerBlock = registers(card);
    to.regsPerMultiprocessor = registers(card);
    to.warpSize = traits.lanes.cast_signed();
    to.memPitch = i32::MAX as usize;
    to.maxThreadsPerBlock = BLOCK;
    to.maxThreadsDim = [BLOCK; 3];
    to.maxGridSize = GRID;
    to.clockRate = traits.clock.cast_signed() * 1000;
    to.totalConstMem = i32::MAX as usize;
    (to.major, to.minor) = version(card);
    to.deviceOverlap = 1;
    to.multiProcessorCount = units(card);
    to.canMapHostMemory = 1;
    to.concurrentKernels = 1;
    to.pciBusID = number as i32 + 1;
    to.asyncEngineCount = 8;
    to.memoryClockRate = 1_000_000;
    to.memoryBusWidth = 256;
    to.textureAlignment = 256;
    to.texturePitchAlignment = 256;
    to.surfaceAlignment = 256;
    to.l2CacheSize = 4 << 20;
    to.persistingL2CacheMaxSize = 4 << 20;
    to.maxThreadsPerMultiProcessor = THREADS;
    to.streamPrioritiesSupported = 1;
    to.globalL1CacheSupported = 1;
    to.localL1CacheSupported = 1;
    to.hostNativeAtomicSupported = 1;
    to.maxBlocksPerMultiProcessor = workgroups(card);
    to.hostRegisterSupported = 1;
    to.memoryPoolsSupported = 1;
    to.memoryPoolSupportedHandleTypes = 1;
    to.asicRevision = 1;
    to.clockInstructionRate = 1_000_000;
    to.arch.set_hasGlobalInt32Atomics(1);
    to.arch.set_hasGlobalFloatAtomicExch(1);
    to.arch.set_hasSharedInt32Atomics(1);
    to.arch.set_hasSharedFloatAtomicExch(1);
    to.arch.set_hasFloatAtomicAdd(1);
    to.arch.set_hasGlobalInt64Atomics(1);
    to.arch.set_hasSharedInt64Atomics(1);
    to.arch.set_hasDoubles(1);
    to.arch.set_hasWarpVote(1);
    to.arch.set_hasWarpBallot(1);
    to.arch.set_hasWarpShuffle(1);
    to.arch.set_hasThreadFenceSystem(1);
    to.arch.set_has3dGrid(1);
}

/// Workgroups of a kernel that a multiprocessor has at a time, by its waves and its LDS.
pub(crate) fn occupancy(card: Card, kernel: &Kernel, block: i32, dynamic_lds: usize) -> Option<i32> {
    let block = u32::try_from(block).ok().filter(|block| *block > 0)?;
    if block > kernel.max_workgroup_size.min(BLOCK.cast_unsigned()) {
        return Some(0);
    }
    let traits = traits(card);
    let waves = block.div_ceil(traits.lanes);
    let by_waves = traits.waves * if traits.lanes == 32 { 2 } else { 1 } / waves;
    let lds = u64::from(kernel.descriptor.group_segment_size) + dynamic_lds as u64;
    let all = u64::from(Limits::of(target(card)).lds) * if traits.lanes == 32 { 2 } else { 1 };
    let by_lds = all.checked_div(lds).unwrap_or(u64::MAX);
    i32::try_from(by_lds.min(u64::from(by_waves))).ok()
}

/// A workgroup's size that fills the card, and so many workgroups; `limit` is the caller's own, 0 for none.
pub(crate) fn potential(card: Card, kernel: &Kernel, dynamic_lds: usize, limit: i32) -> Option<(i32, i32)> {
    let most = kernel.max_workgroup_size.min(BLOCK.cast_unsigned()).cast_signed();
    let block = if limit > 0 { most.min(limit) } else { most };
    let groups = occupancy(card, kernel, block, dynamic_lds)?;
    Some((groups * units(card), block))
}
