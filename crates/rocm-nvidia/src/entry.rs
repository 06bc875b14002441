//! The HIP entry points: C's side of this crate. Each asks NVIDIA's driver for the same thing.
//!
//! What HIP asks of its caller, the safety comments rely on: an out-pointer is null or writable for its type, a host range is
//! readable or writable for the size given with it until an asynchronous copy is done, a text ends with a NUL, and a handle or
//! device address is one that these functions gave and that still lives. The same is what the driver asks of this file; so
//! what is passed on needs no further word. No panic crosses into C.
//!
//! Every device has one context, the one that CUDA's runtime uses as well ("primary"). HIP keeps the current device a thread;
//! the driver keeps the current context a thread, which other CUDA code in the process may change. So every call that depends
//! on it sets it.
#![expect(
    unsafe_code,
    reason = "C hands in raw pointers, and the driver takes them; see above for what is relied on"
)]
#![expect(non_snake_case, reason = "the functions have the names of HIP's")]

mod context;
pub(crate) mod graph;
mod module;

use core::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ushort, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::{
    hipDevice_t, hipDeviceAttribute_t, hipDeviceProp_tR0600, hipDeviceptr_t, hipError_t, hipEvent_t,
    hipFunction_attribute, hipFunction_t, hipMemcpyKind, hipModule_t, hipStream_t,
};

use context::{CONTEXTS, ask, bound, context, count, device, driver, take};
pub(crate) use context::{bound_to, current};
use module::{extra_list, load_module};

use crate::cuda::{self, Address, Copy2d, Cuda, Handle};
use crate::error::{self, Result};
use crate::library::Status;
use crate::properties;

/// A code of HIP's, for blas.rs.
pub(crate) type Code = hipError_t;
pub(crate) const OUT_OF_MEMORY: Code = hip::hipError_t_hipErrorOutOfMemory;
const INVALID_VALUE: hipError_t = hip::hipError_t_hipErrorInvalidValue;
/// Dynamic LDS up to this many bytes needs no permission of the driver.
const PLAIN_SHARED_BYTES: c_uint = 48 << 10;

/// Runs an entry point's body; a panic in it is a bug of ours and becomes `hipErrorUnknown`.
fn guard(body: impl FnOnce() -> Result) -> hipError_t {
    error::begin();
    let result = catch_unwind(AssertUnwindSafe(body));
    error::record(result.unwrap_or(Err(hip::hipError_t_hipErrorUnknown)))
}

/// `Ok` for success; else HIP's code, with the driver's words kept for whoever asks.
pub(crate) fn done(cuda: &Cuda, status: Status) -> Result {
    if status == cuda::SUCCESS {
        return Ok(());
    }
    let words = |ask: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
        let mut text = ptr::null();
        // SAFETY: takes any number; `text` is a live pointer to be written.
        let found = unsafe { ask(status, &raw mut text) };
        if found != cuda::SUCCESS || text.is_null() {
            return None;
        }
        // SAFETY: the driver gave a static C string.
        Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    };
    let name =
        words(cuda.cuGetErrorName).unwrap_or_else(|| "an error that the driver does not name".to_owned());
    let text = words(cuda.cuGetErrorString).map_or(String::new(), |text| format!(": {text}"));
    error::keep(format!("{name} ({status}){text}"));
    Err(error::of_cuda(status))
}

/// The place an out-pointer points to.
///
/// # Safety
/// `pointer` is null, or valid for writing a `T` for as long as the result is used.
pub(crate) unsafe fn out<'a, T>(pointer: *mut T) -> Result<&'a mut MaybeUninit<T>> {
    // SAFETY: the caller promises it; `MaybeUninit<T>` has `T`'s layout and may be uninitialised.
    unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() }.ok_or(INVALID_VALUE)
}

fn address(pointer: *const c_void) -> Address {
    pointer.addr() as Address
}

/// A copy in the order of `stream`.
///
/// # Safety
/// Each side is valid for `len` bytes where `kind` says it is, until the copy is done.
unsafe fn copy(
    cuda: &Cuda,
    target: *mut c_void,
    source: *const c_void,
    len: usize,
    kind: hipMemcpyKind,
    stream: Handle,
) -> Result {
    if len == 0 {
        return Ok(());
    }
    // SAFETY: the caller promises both sides.
    let status = unsafe {
        match kind {
            hip::hipMemcpyKind_hipMemcpyHostToDevice => {
                (cuda.cuMemcpyHtoDAsync_v2)(address(target), source, len, stream)
            }
            hip::hipMemcpyKind_hipMemcpyDeviceToHost => {
                (cuda.cuMemcpyDtoHAsync_v2)(target, address(source), len, stream)
            }
            hip::hipMemcpyKind_hipMemcpyDeviceToDevice | hip::hipMemcpyKind_hipMemcpyDeviceToDeviceNoCU => {
                (cuda.cuMemcpyDtoDAsync_v2)(address(target), address(source), len, stream)
            }
            // The driver tells by the addresses.
            hip::hipMemcpyKind_hipMemcpyHostToHost | hip::hipMemcpyKind_hipMemcpyDefault => {
                (cuda.cuMemcpyAsync)(address(target), address(source), len, stream)
            }
            _ => return Err(hip::hipError_t_hipErrorInvalidMemcpyDirection),
        }
    };
    done(cuda, status)
}

rocm_rs::hip_entries! {
results {
    fn hipInit(flags: c_uint) {
        driver()?;
        if flags == 0 { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn hipGetDeviceCount(number: *mut c_int) {
        // SAFETY: HIP's contract on out-pointers.
        let number = unsafe { out(number) }?;
        number.write(0);
        number.write(count(driver()?)?);
        Ok(())
    }

    fn hipSetDevice(id: c_int) {
        if id == current() { bound().map(drop) } else { take(driver()?, id) }
    }

    fn hipGetDevice(id: *mut c_int) {
        // SAFETY: HIP's contract on out-pointers.
        unsafe { out(id) }?.write(current());
        Ok(())
    }

    fn hipDeviceGetAttribute(value: *mut c_int, attribute: hipDeviceAttribute_t, id: c_int) {
        // SAFETY: HIP's contract on out-pointers.
        let value = unsafe { out(value) }?;
        let cuda = driver()?;
        let number = properties::attribute(attribute).ok_or(INVALID_VALUE)?;
        value.write(ask(cuda, device(cuda, id)?, number)?);
        Ok(())
    }

    fn hipGetDevicePropertiesR0600(properties: *mut hipDeviceProp_tR0600, id: c_int) {
        // SAFETY: HIP's contract on out-pointers.
        let place = unsafe { out(properties) }?;
        let cuda = driver()?;
        let device = device(cuda, id)?;
        // SAFETY: the struct has integers, arrays of them and raw pointers, for all of which zero is a value.
        let mut filled: hipDeviceProp_tR0600 = unsafe { MaybeUninit::zeroed().assume_init() };
        properties::fill(&mut filled, &mut |attribute| ask(cuda, device, attribute))?;
        let len = c_int::try_from(filled.name.len()).unwrap_or(0);
        // SAFETY: the field has `len` characters, the driver ends what it writes there; the size is live.
        unsafe {
            done(cuda, (cuda.cuDeviceGetName)(filled.name.as_mut_ptr(), len, device))?;
            done(cuda, (cuda.cuDeviceTotalMem_v2)(&raw mut filled.totalGlobalMem, device))?;
        }
        place.write(filled);
        Ok(())
    }

    fn hipDriverGetVersion(version: *mut c_int) {
        // SAFETY: HIP's contract on out-pointers.
        let version = unsafe { out(version) }?;
        let cuda = driver()?;
        // SAFETY: a live place for an int.
        done(cuda, unsafe { (cuda.cuDriverGetVersion)(version.as_mut_ptr()) })
    }

    // HIP's runtime is this crate; its version, as HIP packs one, is that of the driver's interface: 13.0 is 130000000.
    fn hipRuntimeGetVersion(version: *mut c_int) {
        // SAFETY: HIP's contract on out-pointers.
        let version = unsafe { out(version) }?;
        let cuda = driver()?;
        let mut packed = 0;
        // SAFETY: a live int.
        done(cuda, unsafe { (cuda.cuDriverGetVersion)(&raw mut packed) })?;
        version.write(packed / 1000 * 10_000_000 + packed % 1000 / 10 * 100_000);
        Ok(())
    }

    fn hipMemGetInfo(free: *mut usize, total: *mut usize) {
        // SAFETY: HIP's contract on out-pointers.
        let (free, total) = unsafe { (out(free)?, out(total)?) };
        let cuda = bound()?;
        // SAFETY: live places for two sizes.
        done(cuda, unsafe { (cuda.cuMemGetInfo_v2)(free.as_mut_ptr(), total.as_mut_ptr()) })
    }

    fn hipDeviceSynchronize() {
        let cuda = bound()?;
        // SAFETY: takes nothing.
        done(cuda, unsafe { (cuda.cuCtxSynchronize)() })
    }

    fn hipDeviceCanAccessPeer(can: *mut c_int, id: c_int, peer: c_int) {
        // SAFETY: HIP's contract on out-pointers.
        let can = unsafe { out(can) }?;
        let cuda = driver()?;
        // SAFETY: a live place for an int, and two devices of the driver.
        done(cuda, unsafe {
            (cuda.cuDeviceCanAccessPeer)(can.as_mut_ptr(), device(cuda, id)?, device(cuda, peer)?)
        })
    }

    fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        let cuda = bound()?;
        // SAFETY: a context that lives as long as the process.
        done(cuda, unsafe { (cuda.cuCtxEnablePeerAccess)(context(cuda, peer)?, flags) })
    }

    fn hipMalloc(pointer: *mut *mut c_void, size: usize) {
        // SAFETY: HIP's contract on out-pointers.
        let pointer = unsafe { out(pointer) }?;
        pointer.write(ptr::null_mut());
        if size == 0 {
            return Ok(());
        }
        let cuda = bound()?;
        let mut address = 0;
        // SAFETY: a live address to be written.
        done(cuda, unsafe { (cuda.cuMemAlloc_v2)(&raw mut address, size) })?;
        pointer.write(ptr::without_provenance_mut(address as usize));
        Ok(())
    }

    // HIP waits for the device, whose work may still use the memory; the driver does not promise it. The memory goes back
    // even where that work failed.
    fn hipFree(pointer: *mut c_void) {
        if pointer.is_null() {
            return Ok(());
        }
        let cuda = bound()?;
        // SAFETY: takes nothing.
        let waited = unsafe { (cuda.cuCtxSynchronize)() };
        // SAFETY: HIP's contract on device addresses.
        let freed = unsafe { (cuda.cuMemFree_v2)(address(pointer)) };
        done(cuda, freed).and(done(cuda, waited))
    }

    fn hipHostMalloc(pointer: *mut *mut c_void, size: usize, flags: c_uint) {
        // Pinned memory is coherent here, whatever is asked for.
        let coherence = hip::hipHostMallocCoherent | hip::hipHostMallocNonCoherent;
        let known = hip::hipHostMallocPortable | hip::hipHostMallocMapped | hip::hipHostMallocWriteCombined;
        // SAFETY: HIP's contract on out-pointers.
        let pointer = unsafe { out(pointer) }?;
        pointer.write(ptr::null_mut());
        if flags & !(known | coherence) != 0 {
            return Err(INVALID_VALUE);
        }
        if size == 0 {
            return Ok(());
        }
        let cuda = bound()?;
        // SAFETY: a live place for a pointer. Both interfaces have the same three flags.
        done(cuda, unsafe {
            (cuda.cuMemHostAlloc)(pointer.as_mut_ptr(), size, flags & known | cuda::HOST_PORTABLE)
        })
    }

    fn hipHostFree(pointer: *mut c_void) {
        if pointer.is_null() {
            return Ok(());
        }
        let cuda = bound()?;
        // SAFETY: HIP's contract: it came from `hipHostMalloc`.
        done(cuda, unsafe { (cuda.cuMemFreeHost)(pointer) })
    }

    // The host waits, as HIP says, whichever sides there are.
    fn hipMemcpy(target: *mut c_void, source: *const c_void, size: usize, kind: hipMemcpyKind) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on both ranges.
        unsafe { copy(cuda, target, source, size, kind, ptr::null_mut()) }?;
        // SAFETY: null is the default stream.
        done(cuda, unsafe { (cuda.cuStreamSynchronize)(ptr::null_mut()) })
    }

    fn hipMemcpyAsync(
        target: *mut c_void, source: *const c_void, size: usize, kind: hipMemcpyKind, stream: hipStream_t,
    ) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on both ranges and the stream.
        unsafe { copy(cuda, target, source, size, kind, stream.cast()) }
    }

    fn hipMemcpyPeerAsync(
        target: *mut c_void, target_id: c_int, source: *const c_void, source_id: c_int, size: usize,
        stream: hipStream_t,
    ) {
        let cuda = bound()?;
        let (there, here) = (context(cuda, target_id)?, context(cuda, source_id)?);
        // SAFETY: HIP's contract on device addresses and streams.
        done(cuda, unsafe {
            (cuda.cuMemcpyPeerAsync)(address(target), there, address(source), here, size, stream.cast())
        })
    }

    fn hipMemcpy2DAsync(
        target: *mut c_void, target_pitch: usize, source: *const c_void, source_pitch: usize, width: usize,
        height: usize, kind: hipMemcpyKind, stream: hipStream_t,
    ) {
        let cuda = bound()?;
        if width == 0 || height == 0 {
            return Ok(());
        }
        if target_pitch < width || source_pitch < width {
            return Err(hip::hipError_t_hipErrorInvalidPitchValue);
        }
        let (from, to) = match kind {
            hip::hipMemcpyKind_hipMemcpyHostToHost => (cuda::MEMORY_HOST, cuda::MEMORY_HOST),
            hip::hipMemcpyKind_hipMemcpyHostToDevice => (cuda::MEMORY_HOST, cuda::MEMORY_DEVICE),
            hip::hipMemcpyKind_hipMemcpyDeviceToHost => (cuda::MEMORY_DEVICE, cuda::MEMORY_HOST),
            hip::hipMemcpyKind_hipMemcpyDeviceToDevice => (cuda::MEMORY_DEVICE, cuda::MEMORY_DEVICE),
            hip::hipMemcpyKind_hipMemcpyDefault => (cuda::MEMORY_UNIFIED, cuda::MEMORY_UNIFIED),
            _ => return Err(hip::hipError_t_hipErrorInvalidMemcpyDirection),
        };
        let plan = Copy2d {
            source_x: 0, source_y: 0, source_type: from, source_host: source, source_device: address(source),
            source_array: ptr::null_mut(), source_pitch,
            target_x: 0, target_y: 0, target_type: to, target_host: target, target_device: address(target),
            target_array: ptr::null_mut(), target_pitch, width, height,
        };
        // SAFETY: a live plan; HIP's contract on both ranges and the stream.
        done(cuda, unsafe { (cuda.cuMemcpy2DAsync_v2)(&raw const plan, stream.cast()) })
    }

    fn hipMemsetAsync(target: *mut c_void, value: c_int, size: usize, stream: hipStream_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on device addresses and streams. As in C, the low byte is what counts.
        done(cuda, unsafe { (cuda.cuMemsetD8Async)(address(target), value as u8, size, stream.cast()) })
    }

    fn hipMemsetD8Async(target: hipDeviceptr_t, value: c_uchar, count: usize, stream: hipStream_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on device addresses and streams.
        done(cuda, unsafe { (cuda.cuMemsetD8Async)(address(target), value, count, stream.cast()) })
    }

    fn hipMemsetD16Async(target: hipDeviceptr_t, value: c_ushort, count: usize, stream: hipStream_t) {
        let cuda = bound()?;
        // SAFETY: as above.
        done(cuda, unsafe { (cuda.cuMemsetD16Async)(address(target), value, count, stream.cast()) })
    }

    fn hipMemsetD32Async(target: hipDeviceptr_t, value: c_int, count: usize, stream: hipStream_t) {
        let cuda = bound()?;
        // SAFETY: as above.
        done(cuda, unsafe {
            (cuda.cuMemsetD32Async)(address(target), value.cast_unsigned(), count, stream.cast())
        })
    }

    fn hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: c_uint) {
        // SAFETY: HIP's contract on out-pointers.
        let stream = unsafe { out(stream) }?;
        if ![hip::hipStreamDefault, hip::hipStreamNonBlocking].contains(&flags) {
            return Err(INVALID_VALUE);
        }
        let cuda = bound()?;
        // SAFETY: a live place for a handle. Both interfaces have the same two flags.
        done(cuda, unsafe { (cuda.cuStreamCreate)(stream.as_mut_ptr().cast(), flags) })
    }

    fn hipStreamDestroy(stream: hipStream_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuStreamDestroy_v2)(stream.cast()) })
    }

    fn hipStreamSynchronize(stream: hipStream_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuStreamSynchronize)(stream.cast()) })
    }

    fn hipStreamQuery(stream: hipStream_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuStreamQuery)(stream.cast()) })
    }

    fn hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuStreamWaitEvent)(stream.cast(), event.cast(), flags) })
    }

    fn hipStreamGetDevice(stream: hipStream_t, id: *mut hipDevice_t) {
        // SAFETY: HIP's contract on out-pointers.
        let id = unsafe { out(id) }?;
        let cuda = bound()?;
        let mut home: Handle = ptr::null_mut();
        // SAFETY: a live handle to be written; HIP's contract on the stream.
        done(cuda, unsafe { (cuda.cuStreamGetCtx)(stream.cast(), &raw mut home) })?;
        let contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = contexts.iter().find(|(_, context)| *context == home.addr());
        id.write(known.ok_or(hip::hipError_t_hipErrorInvalidContext)?.0);
        Ok(())
    }

    fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint) {
        // When memory becomes visible is AMD's matter; an event of NVIDIA's makes all of it visible.
        let release = hip::hipEventReleaseToDevice | hip::hipEventReleaseToSystem | hip::hipEventDisableSystemFence;
        let known = hip::hipEventBlockingSync | hip::hipEventDisableTiming;
        // SAFETY: HIP's contract on out-pointers.
        let event = unsafe { out(event) }?;
        if flags & !(known | release) != 0 {
            return Err(INVALID_VALUE);
        }
        let cuda = bound()?;
        // SAFETY: a live place for a handle. Both interfaces have the same two flags.
        done(cuda, unsafe { (cuda.cuEventCreate)(event.as_mut_ptr().cast(), flags & known) })
    }

    fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuEventRecord)(event.cast(), stream.cast()) })
    }

    fn hipEventSynchronize(event: hipEvent_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuEventSynchronize)(event.cast()) })
    }

    fn hipEventQuery(event: hipEvent_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuEventQuery)(event.cast()) })
    }

    fn hipEventElapsedTime(milliseconds: *mut f32, start: hipEvent_t, stop: hipEvent_t) {
        // SAFETY: HIP's contract on out-pointers.
        let milliseconds = unsafe { out(milliseconds) }?;
        let cuda = bound()?;
        // SAFETY: a live place for a float; HIP's contract on handles.
        done(cuda, unsafe {
            (cuda.cuEventElapsedTime)(milliseconds.as_mut_ptr(), start.cast(), stop.cast())
        })
    }

    fn hipEventDestroy(event: hipEvent_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuEventDestroy_v2)(event.cast()) })
    }

    fn hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) {
        // SAFETY: HIP's contract on out-pointers.
        let module = unsafe { out(module) }?;
        if image.is_null() {
            return Err(INVALID_VALUE);
        }
        let cuda = bound()?;
        // SAFETY: not null, and HIP's contract is that it is a whole image. Of PTX that means up to its NUL.
        module.write(unsafe { load_module(cuda, image) }?);
        Ok(())
    }

    fn hipModuleUnload(module: hipModule_t) {
        let cuda = bound()?;
        // SAFETY: HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuModuleUnload)(module.cast()) })
    }

    fn hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, name: *const c_char) {
        // SAFETY: HIP's contract on out-pointers.
        let function = unsafe { out(function) }?;
        if name.is_null() {
            return Err(INVALID_VALUE);
        }
        let cuda = bound()?;
        // SAFETY: a live place for a handle; HIP's contracts on handles and texts.
        done(cuda, unsafe { (cuda.cuModuleGetFunction)(function.as_mut_ptr().cast(), module.cast(), name) })
    }

    fn hipModuleLaunchKernel(
        function: hipFunction_t, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint,
        block_y: c_uint, block_z: c_uint, dynamic_lds: c_uint, stream: hipStream_t,
        parameters: *mut *mut c_void, extra: *mut *mut c_void,
    ) {
        if !parameters.is_null() && !extra.is_null() {
            return Err(INVALID_VALUE);
        }
        let cuda = bound()?;
        let function = function.cast();
        if dynamic_lds > PLAIN_SHARED_BYTES {
            let bytes = c_int::try_from(dynamic_lds).map_err(|_| INVALID_VALUE)?;
            // SAFETY: HIP's contract on handles; the driver refuses more than the device has.
            done(cuda, unsafe { (cuda.cuFuncSetAttribute)(function, cuda::DYNAMIC_SHARED_BYTES, bytes) })?;
        }
        // SAFETY: HIP's contract on an `extra` list.
        let mut list = if extra.is_null() { None } else { Some(unsafe { extra_list(extra) }?) };
        let list = list.as_mut().map_or(ptr::null_mut(), |list| list.as_mut_ptr());
        // SAFETY: HIP's contract on handles and on the two ways to pass arguments, of which the driver copies as many bytes
        // as the kernel declares before it returns.
        done(cuda, unsafe {
            (cuda.cuLaunchKernel)(
                function, grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_lds, stream.cast(), parameters, list,
            )
        })
    }

    fn hipModuleOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, function: hipFunction_t, dynamic_lds: usize, limit: c_int,
    ) {
        // SAFETY: HIP's contract on out-pointers.
        let (grid, block) = unsafe { (out(grid)?, out(block)?) };
        let cuda = bound()?;
        // SAFETY: live places for two ints; HIP's contract on handles. Without a function that tells the LDS of a block
        // size, the number holds for all.
        done(cuda, unsafe {
            (cuda.cuOccupancyMaxPotentialBlockSize)(
                grid.as_mut_ptr(), block.as_mut_ptr(), function.cast(), ptr::null(), dynamic_lds, limit,
            )
        })
    }

    fn hipFuncGetAttribute(value: *mut c_int, attribute: hipFunction_attribute, function: hipFunction_t) {
        // SAFETY: HIP's contract on out-pointers.
        let value = unsafe { out(value) }?;
        // Both interfaces number the first ten alike.
        let attribute = c_int::try_from(attribute).ok().filter(|number| *number < 10).ok_or(INVALID_VALUE)?;
        let cuda = bound()?;
        // SAFETY: a live place for an int; HIP's contract on handles.
        done(cuda, unsafe { (cuda.cuFuncGetAttribute)(value.as_mut_ptr(), attribute, function.cast()) })
    }
}
values {
    fn hipGetErrorName(code: hipError_t) -> *const c_char {
        error::name(code).as_ptr()
    }

    fn hipGetErrorString(code: hipError_t) -> *const c_char {
        error::text(code).as_ptr()
    }

    fn hipGetLastError() -> hipError_t {
        error::take_last()
    }

    fn hipPeekAtLastError() -> hipError_t {
        error::peek_last()
    }
}
}
