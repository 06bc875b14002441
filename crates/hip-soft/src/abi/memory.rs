//! Allocations, pinned and managed memory, pools, and what is known of an address.

use core::ffi::{c_int, c_uint, c_void};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::{hipMemoryType, hipPointerAttribute_t};

use super::{In, Out, Plain, address, calls, pointer};
use crate::error::{self, INVALID_VALUE, NOT_SUPPORTED, Result};
use crate::handles::Table;
use crate::memory::{self, Owner};
use crate::work::Work;
use crate::{device, jobs, stream};

const DEVICE: hipMemoryType = hip::hipMemoryType_hipMemoryTypeDevice;
const HOST: hipMemoryType = hip::hipMemoryType_hipMemoryTypeHost;
const MANAGED: hipMemoryType = hip::hipMemoryType_hipMemoryTypeManaged;
/// The attribute of a pool that says what it keeps of freed memory. It is kept for the program: no pool keeps memory.
const KEEP: c_uint = hip::hipMemPoolAttr_hipMemPoolAttrReleaseThreshold;

/// A pool of a card's memory.
struct Pool {
    card: usize,
    keep: AtomicU64,
}

static POOLS: Table<Pool> = Table::new();
/// The handles of the cards' own pools, and of those that are in use.
static DEFAULTS: Mutex<BTreeMap<usize, (usize, usize)>> = Mutex::new(BTreeMap::new());

fn pool(handle: usize) -> Result<Arc<Pool>> {
    POOLS.get(handle).map_err(|_| INVALID_VALUE)
}

/// The handles of a card's own pool and of the one in use.
fn pools_of(number: c_int, act: impl FnOnce(&mut (usize, usize))) -> Result<(usize, usize)> {
    let (card, _) = device::at(number)?;
    // Whole stores only: a panic cannot leave it half changed.
    let mut defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = defaults.entry(card).or_insert_with(|| {
        let keep = AtomicU64::new(0);
        let own = POOLS.insert(Pool { card, keep });
        (own, own)
    });
    act(entry);
    Ok(*entry)
}

/// Frees an allocation once all work is done that may use it.
fn free(address: u64, kinds: &[hipMemoryType]) -> Result {
    let runtime = device::runtime()?;
    if address == 0 {
        return Ok(());
    }
    let base = memory::base(address, kinds)?;
    jobs::drain()?;
    runtime.pools().free(base).map_err(error::of)
}

fn host(place: Out<*mut c_void>, bytes: usize, flags: c_uint) -> Result {
    place.check()?;
    place.put(pointer(memory::allocate_host(bytes, flags, false)?))
}

fn allocate(place: Out<*mut c_void>, bytes: usize) -> Result {
    place.check()?;
    place.put(pointer(memory::allocate(bytes)?))
}

/// The owner of an address, which must have one.
fn owner(address: u64) -> Result<Owner> {
    Owner::of(address)?.ok_or(INVALID_VALUE)
}

/// Rows of a pitch that a card's rows begin well at.
fn pitched(place: Out<*mut c_void>, pitch: Out<usize>, width: usize, height: usize) -> Result {
    pitch.check()?;
    let row = width.checked_next_multiple_of(256).ok_or(INVALID_VALUE)?;
    allocate(place, row.checked_mul(height).ok_or(INVALID_VALUE)?)?;
    pitch.put(row)
}

fn attributes(address: u64) -> Result<hipPointerAttribute_t> {
    let unregistered = hipPointerAttribute_t {
        type_: hip::hipMemoryType_hipMemoryTypeUnregistered,
        device: -2,
        ..hipPointerAttribute_t::zero()
    };
    let Some(owner) = Owner::of(address)? else {
        return Ok(unregistered);
    };
    let seen_by_host = owner.kind != DEVICE;
    Ok(hipPointerAttribute_t {
        type_: owner.kind,
        device: owner.card as c_int,
        devicePointer: pointer(address),
        hostPointer: if seen_by_host {
            pointer(address)
        } else {
            std::ptr::null_mut()
        },
        isManaged: c_int::from(owner.kind == MANAGED),
        allocationFlags: owner.flags,
    })
}

calls! {
    fn hipMalloc(place: Out<*mut c_void>, bytes: usize) {
        allocate(place, bytes)
    }

    fn hipExtMallocWithFlags(place: Out<*mut c_void>, bytes: usize, _flags: c_uint) {
        allocate(place, bytes)
    }

    fn hipFree(memory: *mut c_void) {
        free(address(memory), &[DEVICE, MANAGED, HOST])
    }

    fn hipMallocPitch(place: Out<*mut c_void>, pitch: Out<usize>, width: usize, height: usize) {
        pitched(place, pitch, width, height)
    }

    fn hipMemAllocPitch(place: Out<*mut c_void>, pitch: Out<usize>, width: usize, height: usize, _element: c_uint) {
        pitched(place, pitch, width, height)
    }

    fn hipMalloc3D(place: Out<hip::hipPitchedPtr>, extent: hip::hipExtent) {
        place.check()?;
        let hip::hipExtent { width, height, depth } = extent;
        let rows = height.checked_mul(depth).ok_or(INVALID_VALUE)?;
        let (mut memory, mut pitch) = (std::ptr::null_mut(), 0);
        pitched(Out(&raw mut memory), Out(&raw mut pitch), width, rows)?;
        place.put(hip::hipPitchedPtr { ptr: memory, pitch, xsize: width, ysize: height })
    }

    fn hipMallocManaged(place: Out<*mut c_void>, bytes: usize, flags: c_uint) {
        place.check()?;
        if flags != hip::hipMemAttachGlobal && flags != hip::hipMemAttachHost {
            return Err(INVALID_VALUE);
        }
        place.put(pointer(memory::allocate_host(bytes, flags, true)?))
    }

    fn hipHostMalloc(place: Out<*mut c_void>, bytes: usize, flags: c_uint) {
        host(place, bytes, flags)
    }

    fn hipHostAlloc(place: Out<*mut c_void>, bytes: usize, flags: c_uint) {
        host(place, bytes, flags)
    }

    fn hipMallocHost(place: Out<*mut c_void>, bytes: usize) {
        host(place, bytes, 0)
    }

    fn hipMemAllocHost(place: Out<*mut c_void>, bytes: usize) {
        host(place, bytes, 0)
    }

    fn hipHostFree(memory: *mut c_void) {
        free(address(memory), &[HOST])
    }

    fn hipFreeHost(memory: *mut c_void) {
        free(address(memory), &[HOST])
    }

    fn hipHostGetDevicePointer(place: Out<*mut c_void>, memory: *mut c_void, _flags: c_uint) {
        place.check()?;
        let owner = owner(address(memory))?;
        if owner.kind == DEVICE {
            return Err(INVALID_VALUE);
        }
        place.put(memory)
    }

    fn hipHostGetFlags(flags: Out<c_uint>, memory: *mut c_void) {
        flags.check()?;
        let owner = owner(address(memory))?;
        if owner.kind == HOST { flags.put(owner.flags) } else { Err(INVALID_VALUE) }
    }

    fn hipHostRegister(memory: *mut c_void, bytes: usize, _flags: c_uint) {
        let start = address(memory);
        if start == 0 || bytes == 0 {
            return Err(INVALID_VALUE);
        }
        if Owner::of(start)?.is_some() {
            // Twice is allowed, and undone by one call.
            return Ok(());
        }
        // SAFETY: C's caller registers memory that stays as it is until it is unregistered.
        unsafe { device::runtime()?.pools().lock(start, bytes as u64) }.map_err(error::of)
    }

    fn hipHostUnregister(memory: *mut c_void) {
        let start = address(memory);
        let known = Owner::of(start)?;
        if start == 0 || known.is_none_or(|owner| owner.kind != HOST) {
            return Err(hip::hipError_t_hipErrorHostMemoryNotRegistered);
        }
        jobs::drain()?;
        device::runtime()?.pools().unlock(start).map_err(error::of)
    }

    fn hipMemPrefetchAsync(memory: *const c_void, bytes: usize, number: c_int, stream: usize) {
        // All memory is everywhere. -1 is the host.
        if number != -1 {
            device::at(number)?;
        }
        stream::get(stream)?;
        let owner = owner(address(memory))?;
        if owner.kind == MANAGED && bytes > 0 { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn hipMemAdvise(memory: *const c_void, bytes: usize, _advice: c_uint, number: c_int) {
        if number != -1 {
            device::at(number)?;
        }
        owner(address(memory))?;
        if bytes > 0 { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn hipStreamAttachMemAsync(stream: usize, memory: *mut c_void, _bytes: usize, _flags: c_uint) {
        stream::get(stream)?;
        owner(address(memory)).map(drop)
    }

    fn hipMallocAsync(place: Out<*mut c_void>, bytes: usize, stream: usize) {
        stream::get(stream)?;
        allocate(place, bytes)
    }

    fn hipMallocFromPoolAsync(place: Out<*mut c_void>, bytes: usize, pool: usize, stream: usize) {
        self::pool(pool)?;
        stream::get(stream)?;
        allocate(place, bytes)
    }

    fn hipFreeAsync(memory: *mut c_void, stream: usize) {
        let start = address(memory);
        if start == 0 {
            // As HIP 7.2 has it; 6.4 refuses it.
            return Ok(());
        }
        let base = memory::base(start, &[DEVICE])?;
        stream::get(stream)?.submit(Work::Free(base))
    }

    fn hipDeviceGetDefaultMemPool(place: Out<usize>, number: c_int) {
        place.put(pools_of(number, |_| {})?.0)
    }

    fn hipDeviceGetMemPool(place: Out<usize>, number: c_int) {
        place.put(pools_of(number, |_| {})?.1)
    }

    fn hipDeviceSetMemPool(number: c_int, handle: usize) {
        if pool(handle)?.card != device::at(number)?.0 {
            return Err(INVALID_VALUE);
        }
        pools_of(number, |pools| pools.1 = handle).map(drop)
    }

    fn hipMemPoolTrimTo(handle: usize, _keep: usize) {
        pool(handle).map(drop)
    }

    fn hipMemPoolSetAttribute(handle: usize, attribute: c_uint, value: In<u64>) {
        let pool = pool(handle)?;
        match attribute {
            // Reuse of three kinds: numbers of 32 bits.
            1..=3 => In(value.0.cast::<c_int>()).get().map(drop),
            KEEP => {
                pool.keep.store(value.get()?, SeqCst);
                Ok(())
            }
            5..=8 => value.get().map(drop),
            _ => Err(INVALID_VALUE),
        }
    }

    fn hipMemPoolGetAttribute(handle: usize, attribute: c_uint, value: Out<u64>) {
        let pool = pool(handle)?;
        let (free, all) = device::memory(pool.card)?;
        match attribute {
            // Reuse of three kinds: numbers of 32 bits.
            1..=3 => Out(value.0.cast::<c_int>()).put(1),
            KEEP => value.put(pool.keep.load(SeqCst)),
            // What is reserved and used, at most and now.
            5..=8 => value.put(all - free),
            _ => Err(INVALID_VALUE),
        }
    }

    fn hipMemPoolSetAccess(handle: usize, _accesses: *const c_void, _count: usize) {
        pool(handle).map(drop)
    }

    fn hipMemPoolCreate(place: Out<usize>, asked: In<hip::hipMemPoolProps>) {
        place.check()?;
        let asked = asked.get()?;
        if asked.location.type_ != hip::hipMemLocationType_hipMemLocationTypeDevice {
            return Err(INVALID_VALUE);
        }
        let (card, _) = device::at(asked.location.id)?;
        let keep = AtomicU64::new(0);
        place.put(POOLS.insert(Pool { card, keep }))
    }

    fn hipMemPoolDestroy(handle: usize) {
        POOLS.remove(handle).map(drop).map_err(|_| INVALID_VALUE)
    }

    fn hipMemGetAddressRange(base: Out<*mut c_void>, bytes: Out<usize>, memory: *mut c_void) {
        let owner = Owner::of(address(memory))?.ok_or(hip::hipError_t_hipErrorNotFound)?;
        base.put_if(pointer(owner.base));
        bytes.put_if(owner.bytes as usize);
        Ok(())
    }

    fn hipMemPtrGetInfo(memory: *mut c_void, bytes: Out<usize>) {
        bytes.check()?;
        bytes.put(owner(address(memory))?.bytes as usize)
    }

    fn hipPointerGetAttributes(to: Out<hipPointerAttribute_t>, memory: *const c_void) {
        to.check()?;
        to.put(attributes(address(memory))?)
    }

    fn hipPointerGetAttribute(to: *mut c_void, attribute: c_uint, memory: *mut c_void) {
        let known = attributes(address(memory))?;
        let range = Owner::of(address(memory))?;
        match attribute {
            2 => Out(to.cast::<c_uint>()).put(known.type_),
            3 => Out(to.cast()).put(known.devicePointer),
            4 => Out(to.cast()).put(known.hostPointer),
            8 => Out(to.cast::<c_uint>()).put(known.isManaged.cast_unsigned()),
            9 => Out(to.cast::<c_int>()).put(known.device),
            11 => Out(to.cast::<u64>()).put(range.ok_or(INVALID_VALUE)?.base),
            12 => Out(to.cast::<u64>()).put(range.ok_or(INVALID_VALUE)?.bytes),
            _ => Err(NOT_SUPPORTED),
        }
    }

    fn hipDrvPointerGetAttributes(count: c_uint, attributes: In<c_uint>, places: In<*mut c_void>, memory: *mut c_void) {
        let (attributes, places) = (attributes.list(count as usize)?, places.list(count as usize)?);
        for (attribute, place) in attributes.into_iter().zip(places) {
            // SAFETY: each place is for the attribute that C's caller names with it.
            match unsafe { hipPointerGetAttribute(place, attribute, memory) } {
                0 => {}
                code => return Err(code),
            }
        }
        Ok(())
    }
}
