//! Cards, versions, errors.

use core::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use rocm_env::Card;
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::{hipDeviceProp_tR0600, hipError_t};

use super::{Out, Plain, Text, calls, values};
use crate::error::{self, INVALID_VALUE, NOT_SUPPORTED, Result};
use crate::{device, jobs, memory, properties};

/// The handle of a card's context, which is its number: there is one a card.
const CONTEXT: usize = 0x5000;

/// A text for C's caller, who gave room for `len` bytes. A longer one is cut off.
fn put(text: &str, to: *mut c_char, len: c_int) -> Result {
    let room = usize::try_from(len)
        .ok()
        .and_then(|len| len.checked_sub(1))
        .ok_or(INVALID_VALUE)?;
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    for (index, byte) in text.bytes().take(room).chain([0]).enumerate() {
        Out(to.wrapping_add(index)).put(c_char::from_ne_bytes([byte]))?;
    }
    Ok(())
}

fn bus(card: usize) -> String {
    format!("0000:{:02x}:00.0", card + 1)
}

fn card(number: c_int) -> Result<(usize, Card)> {
    device::at(number)
}

/// Refuses a number that is not a code of HIP's.
fn known(code: hipError_t) -> Result {
    let is_known = code == hip::hipError_t_hipErrorUnknown || error::name(code) != c"hipErrorUnknown";
    is_known.then_some(()).ok_or(INVALID_VALUE)
}

/// The value of a limit. It is kept for the program: stacks, heaps and private memory of kernels have what they need.
fn limit(limit: c_uint) -> Result<&'static AtomicUsize> {
    static STACK: AtomicUsize = AtomicUsize::new(1024);
    static HEAP: AtomicUsize = AtomicUsize::new(8 << 20);
    static PRIVATE: [AtomicUsize; 3] = [
        AtomicUsize::new(0),
        AtomicUsize::new(1 << 30),
        AtomicUsize::new(1 << 30),
    ];
    match limit {
        hip::hipLimit_t_hipLimitStackSize => Ok(&STACK),
        hip::hipLimit_t_hipLimitMallocHeapSize => Ok(&HEAP),
        hip::hipLimit_t_hipExtLimitScratchMin => Ok(&PRIVATE[0]),
        hip::hipLimit_t_hipExtLimitScratchMax => Ok(&PRIVATE[1]),
        hip::hipLimit_t_hipExtLimitScratchCurrent => Ok(&PRIVATE[2]),
        _ => Err(hip::hipError_t_hipErrorUnsupportedLimit),
    }
}

/// The properties as programs compiled before ROCm 6 know them.
#[repr(C)]
pub(crate) struct OldProperties {
    name: [c_char; 256],
    global: usize,
    lds: usize,
    registers: c_int,
    lanes: c_int,
    block: c_int,
    blocks: [c_int; 3],
    grid: [c_int; 3],
    clock: c_int,
    memory_clock: c_int,
    bus_width: c_int,
    constant: usize,
    major: c_int,
    minor: c_int,
    units: c_int,
    cache: c_int,
    threads: c_int,
    compute_mode: c_int,
    instruction_clock: c_int,
    arch: hip::hipDeviceArch_t,
    concurrent: c_int,
    pci: [c_int; 3],
    unit_lds: usize,
    multi_board: c_int,
    maps_host: c_int,
    gcn: c_int,
    gcn_name: [c_char; 256],
    // Integrated, cooperative, images: none.
    none: [c_int; 9],
    flush: [usize; 2],
    pitch: usize,
    alignment: [usize; 2],
    // Timeouts, error correction, further kinds of cooperation, large BAR, revision, managed memory.
    neither: [c_int; 14],
}

fn old_properties(new: &hipDeviceProp_tR0600) -> OldProperties {
    OldProperties {
        name: new.name,
        global: new.totalGlobalMem,
        lds: new.sharedMemPerBlock,
        registers: new.regsPerBlock,
        lanes: new.warpSize,
        block: new.maxThreadsPerBlock,
        blocks: new.maxThreadsDim,
        grid: new.maxGridSize,
        clock: new.clockRate,
        memory_clock: new.memoryClockRate,
        bus_width: new.memoryBusWidth,
        constant: new.totalConstMem,
        major: new.major,
        minor: new.minor,
        units: new.multiProcessorCount,
        cache: new.l2CacheSize,
        threads: new.maxThreadsPerMultiProcessor,
        compute_mode: new.computeMode,
        instruction_clock: new.clockInstructionRate,
        arch: new.arch,
        concurrent: new.concurrentKernels,
        pci: [new.pciDomainID, new.pciBusID, new.pciDeviceID],
        unit_lds: new.maxSharedMemoryPerMultiProcessor,
        multi_board: new.isMultiGpuBoard,
        maps_host: new.canMapHostMemory,
        gcn: 100 * new.major + 10 * new.minor,
        gcn_name: new.gcnArchName,
        none: [0; 9],
        flush: [0; 2],
        pitch: new.memPitch,
        alignment: [new.textureAlignment, new.texturePitchAlignment],
        neither: [0; 14],
    }
}

fn all_properties(number: c_int) -> Result<hipDeviceProp_tR0600> {
    let (index, card) = card(number)?;
    let mut all = hipDeviceProp_tR0600::zero();
    properties::fill(card, index, device::runtime()?.capacity, &mut all);
    Ok(all)
}

calls! {
    fn hipInit(flags: c_uint) {
        device::runtime()?;
        if flags == 0 { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn hipDriverGetVersion(version: Out<c_int>) {
        version.put(properties::VERSION)
    }

    fn hipRuntimeGetVersion(version: Out<c_int>) {
        version.put(properties::VERSION)
    }

    fn hipGetDeviceCount(count: Out<c_int>) {
        count.put(device::count()? as c_int)
    }

    fn hipSetDevice(number: c_int) {
        device::set(number)
    }

    fn hipGetDevice(number: Out<c_int>) {
        device::runtime()?;
        number.put(device::current() as c_int)
    }

    fn hipDeviceGet(device: Out<c_int>, number: c_int) {
        let (index, _) = card(number)?;
        device.put(index as c_int)
    }

    fn hipDeviceGetName(name: *mut c_char, len: c_int, number: c_int) {
        let (_, card) = card(number)?;
        put(soft_runtime::card::traits(card).name, name, len)
    }

    fn hipDeviceGetUuid(uuid: Out<[u8; 16]>, number: c_int) {
        let (index, _) = card(number)?;
        let text = format!("{:016x}", index + 1);
        uuid.put(text.as_bytes().try_into().map_err(|_| INVALID_VALUE)?)
    }

    fn hipDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, number: c_int) {
        let (_, card) = card(number)?;
        let capacity = device::runtime()?.capacity;
        major.put(properties::attribute(card, capacity, 23).ok_or(INVALID_VALUE)?)?;
        minor.put(properties::attribute(card, capacity, 61).ok_or(INVALID_VALUE)?)
    }

    fn hipDeviceGetAttribute(value: Out<c_int>, attribute: c_uint, number: c_int) {
        value.check()?;
        let (index, card) = card(number)?;
        // The one attribute that differs between equal cards.
        if attribute == hip::hipDeviceAttribute_t_hipDeviceAttributePciBusId {
            return value.put(index as c_int + 1);
        }
        let found = properties::attribute(card, device::runtime()?.capacity, attribute);
        value.put(found.ok_or(INVALID_VALUE)?)
    }

    fn hipGetDevicePropertiesR0600(properties: Out<hipDeviceProp_tR0600>, number: c_int) {
        properties.check()?;
        properties.put(all_properties(number)?)
    }

    fn hipGetDeviceProperties(properties: Out<OldProperties>, number: c_int) {
        properties.check()?;
        properties.put(old_properties(&all_properties(number)?))
    }

    fn hipDeviceTotalMem(bytes: Out<usize>, number: c_int) {
        bytes.check()?;
        let (index, _) = card(number)?;
        bytes.put(device::memory(index)?.1 as usize)
    }

    fn hipMemGetInfo(free: Out<usize>, total: Out<usize>) {
        let (left, all) = device::memory(device::current())?;
        free.put_if(left as usize);
        total.put_if(all as usize);
        Ok(())
    }

    fn hipDeviceGetPCIBusId(text: *mut c_char, len: c_int, number: c_int) {
        let (index, _) = card(number)?;
        put(&bus(index), text, len)
    }

    fn hipDeviceGetByPCIBusId(number: Out<c_int>, text: Text) {
        number.check()?;
        let wanted = text.get()?;
        let found = (0..device::count()?).find(|card| bus(*card).eq_ignore_ascii_case(&wanted));
        number.put(found.ok_or(INVALID_VALUE)? as c_int)
    }

    fn hipDeviceGetLimit(value: Out<usize>, limit: c_uint) {
        value.check()?;
        value.put(self::limit(limit)?.load(SeqCst))
    }

    fn hipDeviceSetLimit(limit: c_uint, value: usize) {
        self::limit(limit)?.store(value, SeqCst);
        Ok(())
    }

    fn hipDeviceGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        least.put_if(1);
        greatest.put_if(-1);
        Ok(())
    }

    fn hipDeviceSynchronize() {
        device::runtime()?;
        jobs::drain()
    }

    fn hipDeviceReset() {
        device::runtime()?;
        jobs::drain()?;
        memory::reset(device::current())
    }

    fn hipSetDeviceFlags(_flags: c_uint) {
        device::runtime().map(drop)
    }

    fn hipGetDeviceFlags(flags: Out<c_uint>) {
        device::runtime()?;
        flags.put(0)
    }

    fn hipDeviceGetCacheConfig(config: Out<c_uint>) {
        config.put(0)
    }

    fn hipDeviceSetCacheConfig(_config: c_uint) {
        Ok(())
    }

    fn hipDeviceGetSharedMemConfig(config: Out<c_uint>) {
        config.put(0)
    }

    fn hipDeviceSetSharedMemConfig(_config: c_uint) {
        Ok(())
    }

    fn hipDeviceCanAccessPeer(can: Out<c_int>, from: c_int, to: c_int) {
        let (from, to) = (card(from)?.0, card(to)?.0);
        can.put(c_int::from(from != to))
    }

    fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        // Every card reaches all memory.
        let (peer, _) = card(peer)?;
        if flags == 0 && peer != device::current() { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn hipDeviceDisablePeerAccess(peer: c_int) {
        let (peer, _) = card(peer)?;
        if peer == device::current() { Err(hip::hipError_t_hipErrorPeerAccessNotEnabled) } else { Ok(()) }
    }

    fn hipDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_uint, from: c_int, to: c_int) {
        let (from, to) = (card(from)?.0, card(to)?.0);
        if from == to || attribute > 3 {
            return Err(INVALID_VALUE);
        }
        value.put(c_int::from(attribute != 0))
    }

    fn hipCtxGetCurrent(context: Out<usize>) {
        context.put(CONTEXT + device::current())
    }

    fn hipCtxGetDevice(number: Out<c_int>) {
        number.put(device::current() as c_int)
    }

    fn hipCtxSetCurrent(context: usize) {
        let card = context.checked_sub(CONTEXT).ok_or(hip::hipError_t_hipErrorInvalidContext)?;
        device::set(card as c_int).map_err(|_| hip::hipError_t_hipErrorInvalidContext)
    }

    fn hipCtxSynchronize() {
        jobs::drain()
    }

    fn hipDevicePrimaryCtxRetain(context: Out<usize>, number: c_int) {
        context.put(CONTEXT + card(number)?.0)
    }

    fn hipDevicePrimaryCtxRelease(number: c_int) {
        card(number).map(drop)
    }

    fn hipDevicePrimaryCtxGetState(number: c_int, flags: Out<c_uint>, active: Out<c_int>) {
        card(number)?;
        flags.put_if(0);
        active.put_if(1);
        Ok(())
    }

    fn hipProfilerStart() {
        Err(NOT_SUPPORTED)
    }

    fn hipProfilerStop() {
        Err(NOT_SUPPORTED)
    }

    fn hipDrvGetErrorName(code: hipError_t, text: Out<*const c_char>) {
        known(code)?;
        text.put(error::name(code).as_ptr())
    }

    fn hipDrvGetErrorString(code: hipError_t, text: Out<*const c_char>) {
        known(code)?;
        text.put(error::text(code).as_ptr())
    }

    fn hipGetProcAddress(name: Text, function: Out<*const c_void>, _version: c_int, _flags: u64, status: Out<c_uint>) {
        function.check()?;
        let name = name.get()?;
        // Whoever asks for the plain name has today's header, in which it means the newer properties.
        let name = match &*name {
            "hipGetDeviceProperties" => "hipGetDevicePropertiesR0600",
            name => name,
        };
        let all = super::all();
        let found = all.iter().find(|(known, _)| *known == name);
        status.put_if(c_uint::from(found.is_none()));
        function.put(found.ok_or(INVALID_VALUE)?.1)
    }
}

values! {
    fn hipGetErrorName(code: hipError_t) -> *const c_char {
        error::name(code).as_ptr()
    }

    fn hipGetErrorString(code: hipError_t) -> *const c_char {
        error::text(code).as_ptr()
    }

    fn hipGetLastError() -> hipError_t {
        error::take_last()
    }

    fn hipExtGetLastError() -> hipError_t {
        error::peek_last()
    }

    fn hipPeekAtLastError() -> hipError_t {
        error::peek_last()
    }

    // How many cards there are. AMD's runtime has no function of this name: a program that finds it knows that they are software.
    fn hip_soft_gpu() -> u32 {
        device::count().map_or(0, |count| count as u32)
    }
}
