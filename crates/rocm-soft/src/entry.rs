//! The HIP entry points: C's side. `unsafe` is in this file of the crate and in those of `entry/`.
//!
//! Each turns C's pointers into addresses, slices and handles and leaves the rest to safe code in device.rs.
//! What HIP asks of its caller, the safety comments rely on: an out-pointer is null or writable for its type,
//! a host range is readable or writable for the size given with it, a text ends with a NUL, and nobody else
//! writes to these meanwhile. Device pointers and handles are never dereferenced, so nothing is asked of
//! them. No panic crosses into C.
#![expect(
    unsafe_code,
    reason = "C hands in raw pointers; see above for what is relied on"
)]
#![expect(non_snake_case, reason = "the functions have the names of HIP's")]

use core::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ushort, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use rocm_rs::driver::put_text;
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::{
    hipDevice_t, hipDeviceAttribute_t, hipDeviceProp_tR0600, hipDeviceptr_t, hipError_t, hipEvent_t,
    hipFunction_attribute, hipFunction_t, hipMemPool_t, hipMemPoolAttr, hipMemcpyKind, hipModule_t,
    hipStream_t,
};

use crate::device::{LaunchShape, device};
use crate::devices;
use crate::error::{self, Result};
use crate::properties;
use copies::{copy, submit_copy, submit_fill};
use launch::{code_object, kernarg};

const INVALID_VALUE: hipError_t = hip::hipError_t_hipErrorInvalidValue;
/// The handle of the one memory pool; it pools nothing.
const POOL: usize = 5 << 40;
/// Alignment of pinned host memory: a page, as HIP gives it.
const HOST_ALIGN: usize = 4096;

/// Pinned host memory by address.
static HOST: Mutex<BTreeMap<usize, Layout>> = Mutex::new(BTreeMap::new());

/// Runs an entry point's body; a panic in it is a bug of ours and becomes `hipErrorUnknown`.
fn guard(body: impl FnOnce() -> Result) -> hipError_t {
    let result = catch_unwind(AssertUnwindSafe(body));
    error::record(result.unwrap_or(Err(hip::hipError_t_hipErrorUnknown)))
}

/// Runs a library's entry point and gives its status; a panic is a bug of ours and becomes `panicked`.
fn status_of<S>(success: S, panicked: S, body: impl FnOnce() -> core::result::Result<(), S>) -> S {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => success,
        Ok(Err(status)) => status,
        Err(_) => panicked,
    }
}

/// The place an out-pointer points to.
///
/// # Safety
/// `pointer` is null, or valid for writing a `T` for as long as the result is used.
unsafe fn out<'a, T>(pointer: *mut T) -> Result<&'a mut MaybeUninit<T>> {
    // SAFETY: the caller promises it; `MaybeUninit<T>` has `T`'s layout and may be uninitialised.
    unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() }.ok_or(INVALID_VALUE)
}

/// A caller's text.
///
/// # Safety
/// `pointer` is null, or points to bytes that end with a NUL and do not change while the result is used.
unsafe fn text<'a>(pointer: *const c_char) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, and the caller promises the rest.
    unsafe { CStr::from_ptr(pointer) }
        .to_str()
        .map_err(|_| INVALID_VALUE)
}

/// A caller's bytes.
///
/// # Safety
/// `pointer` is null, or valid for reading `len` bytes that do not change while the result is used.
unsafe fn bytes<'a>(pointer: *const c_void, len: usize) -> Result<&'a [u8]> {
    if pointer.is_null() || isize::try_from(len).is_err() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, not longer than any object, and the caller promises the rest.
    Ok(unsafe { core::slice::from_raw_parts(pointer.cast(), len) })
}

/// A handle or a device address as the pointer C sees.
fn opaque<T>(handle: usize) -> *mut T {
    ptr::without_provenance_mut(handle)
}

fn address(pointer: *const c_void) -> u64 {
    pointer.addr() as u64
}

fn check_device(id: c_int) -> Result {
    devices::at(id).map(|_| ())
}

/// Defines the entry points of one library, their table, and a check at compile time that each has the signature of the
/// declaration. A body gives what C gets.
macro_rules! foreign {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $status:ty $body:block)*) => {
        $(
            unsafe extern "C" fn $name($($arg: $ty),*) -> $status $body
            const _: [unsafe extern "C" fn($($ty),*) -> $status; 2] = [$name, declared::$name];
        )*

        /// Names of the entry points.
        pub(crate) const SYMBOLS: &[&str] = &[$(stringify!($name)),*];

        /// Their addresses, in the order of [`SYMBOLS`].
        pub(crate) fn addresses() -> [*const c_void; SYMBOLS.len()] {
            [$($name as *const c_void),*]
        }
    };
}

mod copies;
pub(crate) mod graph;
mod launch;
pub(crate) mod miopen;
pub(crate) mod rccl;
pub(crate) mod rocblas;
pub(crate) mod rocrand;

rocm_rs::hip_entries! {
results {
    fn hipInit(flags: c_uint) {
        device()?;
        if flags == 0 { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn hipGetDeviceCount(count: *mut c_int) {
        // SAFETY: HIP's contract on out-pointers.
        let count = unsafe { out(count) }?;
        let devices = devices::all();
        count.write(devices.map_or(0, |devices| devices.len() as c_int));
        devices.map(|_| ())
    }

    fn hipSetDevice(id: c_int) {
        devices::select(id)
    }

    fn hipGetDevice(id: *mut c_int) {
        let current = device()?.id();
        // SAFETY: HIP's contract on out-pointers.
        unsafe { out(id) }?.write(current as c_int);
        Ok(())
    }

    fn hipDeviceGet(handle: *mut hipDevice_t, ordinal: c_int) {
        check_device(ordinal)?;
        // SAFETY: HIP's contract on out-pointers.
        unsafe { out(handle) }?.write(ordinal);
        Ok(())
    }

    fn hipDeviceGetName(name: *mut c_char, len: c_int, id: hipDevice_t) {
        check_device(id)?;
        let len = usize::try_from(len).ok().filter(|len| *len > 0 && !name.is_null()).ok_or(INVALID_VALUE)?;
        let mut field = vec![0; len];
        put_text(&mut field, devices::at(id)?.model().name);
        // SAFETY: not null, and HIP's contract is that `len` characters are writable.
        unsafe { ptr::copy_nonoverlapping(field.as_ptr(), name, len) };
        Ok(())
    }

    fn hipDeviceTotalMem(total: *mut usize, id: hipDevice_t) {
        check_device(id)?;
        // SAFETY: HIP's contract on out-pointers.
        unsafe { out(total) }?.write(devices::at(id)?.memory_info().1);
        Ok(())
    }

    fn hipDeviceGetAttribute(value: *mut c_int, attribute: hipDeviceAttribute_t, id: c_int) {
        // SAFETY: HIP's contract on out-pointers.
        let value = unsafe { out(value) }?;
        check_device(id)?;
        value.write(properties::attribute(devices::at(id)?.model(), attribute).ok_or(INVALID_VALUE)?);
        Ok(())
    }

    fn hipGetDevicePropertiesR0600(properties: *mut hipDeviceProp_tR0600, id: c_int) {
        // SAFETY: HIP's contract on out-pointers.
        let place = unsafe { out(properties) }?;
        check_device(id)?;
        // SAFETY: the struct has integers, arrays of them and raw pointers, for all of which zero is a value.
        let mut filled: hipDeviceProp_tR0600 = unsafe { MaybeUninit::zeroed().assume_init() };
        properties::fill(devices::at(id)?.model(), &mut filled);
        filled.totalGlobalMem = devices::at(id)?.memory_info().1;
        place.write(filled);
        Ok(())
    }

    fn hipDriverGetVersion(version: *mut c_int) {
        // SAFETY: HIP's contract on out-pointers.
        unsafe { out(version) }?.write(hip::HIP_VERSION.cast_signed());
        Ok(())
    }

    fn hipRuntimeGetVersion(version: *mut c_int) {
        // SAFETY: HIP's contract on out-pointers.
        unsafe { out(version) }?.write(hip::HIP_VERSION.cast_signed());
        Ok(())
    }

    fn hipDeviceSynchronize() {
        device().map(|_| ())
    }

    fn hipDeviceCanAccessPeer(can: *mut c_int, id: c_int, peer: c_int) {
        // SAFETY: HIP's contract on out-pointers.
        let can = unsafe { out(can) }?;
        check_device(id)?;
        check_device(peer)?;
        can.write(0);
        Ok(())
    }

    fn hipDeviceEnablePeerAccess(_peer: c_int, flags: c_uint) {
        device()?;
        // Kernels reach the memory of their own device; copies between devices need no access.
        Err(if flags == 0 { hip::hipError_t_hipErrorInvalidDevice } else { INVALID_VALUE })
    }

    fn hipMemGetInfo(free: *mut usize, total: *mut usize) {
        // SAFETY: HIP's contract on out-pointers.
        let (free, total) = unsafe { (out(free)?, out(total)?) };
        let info = device()?.memory_info();
        free.write(info.0);
        total.write(info.1);
        Ok(())
    }

    fn hipMalloc(pointer: *mut *mut c_void, size: usize) {
        // SAFETY: HIP's contract on out-pointers.
        let pointer = unsafe { out(pointer) }?;
        pointer.write(opaque(device()?.alloc(size)? as usize));
        Ok(())
    }

    fn hipFree(pointer: *mut c_void) {
        device()?.free(address(pointer))
    }

    fn hipMallocAsync(pointer: *mut *mut c_void, size: usize, stream: hipStream_t) {
        device()?.check_stream(stream.addr())?;
        // SAFETY: HIP's contract on out-pointers.
        let pointer = unsafe { out(pointer) }?;
        pointer.write(opaque(device()?.alloc(size)? as usize));
        Ok(())
    }

    fn hipFreeAsync(pointer: *mut c_void, stream: hipStream_t) {
        device()?.check_stream(stream.addr())?;
        if pointer.is_null() { Err(INVALID_VALUE) } else { device()?.free(address(pointer)) }
    }

    fn hipMemGetAddressRange(base: *mut hipDeviceptr_t, size: *mut usize, pointer: hipDeviceptr_t) {
        let found = device()?.allocation(address(pointer)).ok_or(hip::hipError_t_hipErrorNotFound)?;
        // SAFETY: HIP's contract on out-pointers.
        let (base, size) = unsafe { (out(base)?, out(size)?) };
        base.write(opaque(found.0 as usize));
        size.write(found.1 as usize);
        Ok(())
    }

    fn hipDeviceGetDefaultMemPool(pool: *mut hipMemPool_t, id: c_int) {
        // SAFETY: HIP's contract on out-pointers.
        let pool = unsafe { out(pool) }?;
        check_device(id)?;
        pool.write(opaque(POOL));
        Ok(())
    }

    fn hipMemPoolSetAttribute(pool: hipMemPool_t, _attribute: hipMemPoolAttr, value: *mut c_void) {
        // Attributes are about keeping freed memory; none is kept here.
        if pool.addr() == POOL && !value.is_null() { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn hipMemPoolTrimTo(pool: hipMemPool_t, _keep: usize) {
        if pool.addr() == POOL { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn hipHostMalloc(pointer: *mut *mut c_void, size: usize, _flags: c_uint) {
        // SAFETY: HIP's contract on out-pointers.
        let pointer = unsafe { out(pointer) }?;
        if size == 0 {
            pointer.write(ptr::null_mut());
            return Ok(());
        }
        let layout = Layout::from_size_align(size, HOST_ALIGN);
        let layout = layout.map_err(|_| hip::hipError_t_hipErrorOutOfMemory)?;
        // SAFETY: the layout's size is not zero.
        let host = unsafe { std::alloc::alloc_zeroed(layout) };
        if host.is_null() {
            return Err(hip::hipError_t_hipErrorOutOfMemory);
        }
        HOST.lock().unwrap_or_else(PoisonError::into_inner).insert(host.addr(), layout);
        pointer.write(host.cast());
        Ok(())
    }

    fn hipHostFree(pointer: *mut c_void) {
        if pointer.is_null() {
            return Ok(());
        }
        let layout = HOST.lock().unwrap_or_else(PoisonError::into_inner).remove(&pointer.addr());
        let layout = layout.ok_or(INVALID_VALUE)?;
        // SAFETY: `hipHostMalloc` allocated it with this layout, and it was still listed.
        unsafe { std::alloc::dealloc(pointer.cast(), layout) };
        Ok(())
    }

    fn hipMemcpy(target: *mut c_void, source: *const c_void, size: usize, kind: hipMemcpyKind) {
        // SAFETY: HIP's contract on host ranges.
        unsafe { copy(target, source, size, kind) }
    }

    fn hipMemcpyAsync(
        target: *mut c_void, source: *const c_void, size: usize, kind: hipMemcpyKind, stream: hipStream_t,
    ) {
        // SAFETY: HIP's contract on host ranges.
        unsafe { submit_copy(target, source, size, kind, stream) }
    }

    fn hipMemcpyWithStream(
        target: *mut c_void, source: *const c_void, size: usize, kind: hipMemcpyKind, stream: hipStream_t,
    ) {
        // It waits for the copy.
        device()?.must_run(stream.addr())?;
        // SAFETY: HIP's contract on host ranges.
        unsafe { copy(target, source, size, kind) }
    }

    fn hipMemcpyHtoD(target: hipDeviceptr_t, source: *const c_void, size: usize) {
        // SAFETY: HIP's contract on host ranges.
        unsafe { copy(target, source, size, hip::hipMemcpyKind_hipMemcpyHostToDevice) }
    }

    fn hipMemcpyDtoH(target: *mut c_void, source: hipDeviceptr_t, size: usize) {
        // SAFETY: HIP's contract on host ranges.
        unsafe { copy(target, source, size, hip::hipMemcpyKind_hipMemcpyDeviceToHost) }
    }

    fn hipMemcpyDtoD(target: hipDeviceptr_t, source: hipDeviceptr_t, size: usize) {
        device()?.copy(address(target), address(source), size)
    }

    fn hipMemcpyPeerAsync(
        target: *mut c_void, target_id: c_int, source: *const c_void, source_id: c_int, size: usize,
        stream: hipStream_t,
    ) {
        devices::at(target_id)?.owns(address(target))?;
        devices::at(source_id)?.owns(address(source))?;
        let kind = hip::hipMemcpyKind_hipMemcpyDeviceToDevice;
        // SAFETY: neither side is on the host.
        unsafe { submit_copy(target, source, size, kind, stream) }
    }

    fn hipMemcpy2DAsync(
        target: *mut c_void, target_pitch: usize, source: *const c_void, source_pitch: usize, width: usize,
        height: usize, kind: hipMemcpyKind, stream: hipStream_t,
    ) {
        device()?.check_stream(stream.addr())?;
        if width == 0 || height == 0 {
            return Ok(());
        }
        if target_pitch < width || source_pitch < width {
            return Err(hip::hipError_t_hipErrorInvalidPitchValue);
        }
        for row in 0..height {
            let target = target.cast::<u8>().wrapping_add(row.wrapping_mul(target_pitch)).cast();
            let source = source.cast::<u8>().wrapping_add(row.wrapping_mul(source_pitch)).cast();
            // SAFETY: HIP's contract on host ranges: `width` bytes in each of `height` rows.
            unsafe { submit_copy(target, source, width, kind, stream) }?;
        }
        Ok(())
    }

    fn hipMemset(target: *mut c_void, value: c_int, size: usize) {
        device()?.fill(address(target), &[value as u8], size)
    }

    fn hipMemsetAsync(target: *mut c_void, value: c_int, size: usize, stream: hipStream_t) {
        submit_fill(target, &[value as u8], size, stream)
    }

    fn hipMemsetD8Async(target: hipDeviceptr_t, value: c_uchar, count: usize, stream: hipStream_t) {
        submit_fill(target, &[value], count, stream)
    }

    fn hipMemsetD16Async(target: hipDeviceptr_t, value: c_ushort, count: usize, stream: hipStream_t) {
        submit_fill(target, &value.to_le_bytes(), count, stream)
    }

    fn hipMemsetD32Async(target: hipDeviceptr_t, value: c_int, count: usize, stream: hipStream_t) {
        submit_fill(target, &value.to_le_bytes(), count, stream)
    }

    fn hipStreamCreate(stream: *mut hipStream_t) {
        // SAFETY: HIP's contract on out-pointers.
        let stream = unsafe { out(stream) }?;
        stream.write(opaque(device()?.create_stream(hip::hipStreamDefault)?));
        Ok(())
    }

    fn hipStreamCreateWithFlags(stream: *mut hipStream_t, flags: c_uint) {
        // SAFETY: HIP's contract on out-pointers.
        let stream = unsafe { out(stream) }?;
        stream.write(opaque(device()?.create_stream(flags)?));
        Ok(())
    }

    fn hipStreamDestroy(stream: hipStream_t) {
        device()?.destroy_stream(stream.addr())
    }

    fn hipStreamSynchronize(stream: hipStream_t) {
        device()?.must_run(stream.addr())
    }

    fn hipStreamQuery(stream: hipStream_t) {
        device()?.must_run(stream.addr())
    }

    fn hipStreamWaitEvent(stream: hipStream_t, event: hipEvent_t, flags: c_uint) {
        device()?.must_run(stream.addr())?;
        device()?.check_event(event.addr())?;
        if flags == 0 { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn hipStreamGetDevice(stream: hipStream_t, id: *mut hipDevice_t) {
        device()?.check_stream(stream.addr())?;
        let home = devices::home(stream.addr(), device()?).id();
        // SAFETY: HIP's contract on out-pointers.
        unsafe { out(id) }?.write(home as c_int);
        Ok(())
    }

    fn hipEventCreate(event: *mut hipEvent_t) {
        // SAFETY: HIP's contract on out-pointers.
        let event = unsafe { out(event) }?;
        event.write(opaque(device()?.create_event(hip::hipEventDefault)));
        Ok(())
    }

    fn hipEventCreateWithFlags(event: *mut hipEvent_t, flags: c_uint) {
        // SAFETY: HIP's contract on out-pointers.
        let event = unsafe { out(event) }?;
        event.write(opaque(device()?.create_event(flags)));
        Ok(())
    }

    fn hipEventRecord(event: hipEvent_t, stream: hipStream_t) {
        device()?.record_event(event.addr(), stream.addr())
    }

    fn hipEventSynchronize(event: hipEvent_t) {
        device()?.check_event(event.addr())
    }

    fn hipEventQuery(event: hipEvent_t) {
        device()?.check_event(event.addr())
    }

    fn hipEventElapsedTime(milliseconds: *mut f32, start: hipEvent_t, stop: hipEvent_t) {
        // SAFETY: HIP's contract on out-pointers.
        let milliseconds = unsafe { out(milliseconds) }?;
        milliseconds.write(device()?.elapsed(start.addr(), stop.addr())?);
        Ok(())
    }

    fn hipEventDestroy(event: hipEvent_t) {
        device()?.destroy_event(event.addr())
    }

    fn hipModuleLoadData(module: *mut hipModule_t, image: *const c_void) {
        // SAFETY: HIP's contract on out-pointers.
        let module = unsafe { out(module) }?;
        // SAFETY: HIP's contract: a whole code object.
        let file = unsafe { code_object(image) }?;
        module.write(opaque(device()?.load_module(file)?));
        Ok(())
    }

    fn hipModuleUnload(module: hipModule_t) {
        device()?.unload_module(module.addr())
    }

    fn hipModuleGetFunction(function: *mut hipFunction_t, module: hipModule_t, name: *const c_char) {
        // SAFETY: HIP's contracts on out-pointers and texts.
        let (function, name) = unsafe { (out(function)?, text(name)?) };
        function.write(opaque(device()?.function(module.addr(), name)?));
        Ok(())
    }

    fn hipModuleGetGlobal(
        pointer: *mut hipDeviceptr_t, size: *mut usize, module: hipModule_t, name: *const c_char,
    ) {
        // SAFETY: HIP's contracts on out-pointers and texts.
        let (pointer, size, name) = unsafe { (out(pointer)?, out(size)?, text(name)?) };
        let (address, bytes) = device()?.variable(module.addr(), name)?;
        pointer.write(opaque(address as usize));
        size.write(bytes);
        Ok(())
    }

    fn hipModuleLaunchKernel(
        function: hipFunction_t, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint,
        block_y: c_uint, block_z: c_uint, dynamic_lds: c_uint, stream: hipStream_t,
        parameters: *mut *mut c_void, extra: *mut *mut c_void,
    ) {
        let shape = LaunchShape { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], dynamic_lds };
        // SAFETY: HIP's contract on the two ways to pass arguments.
        let kernarg = unsafe { kernarg(function.addr(), parameters, extra) }?;
        device()?.launch(function.addr(), &shape, stream.addr(), &kernarg)
    }

    fn hipModuleOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, function: hipFunction_t, _dynamic_lds: usize, limit: c_int,
    ) {
        // SAFETY: HIP's contract on out-pointers.
        let (grid, block) = unsafe { (out(grid)?, out(block)?) };
        let most = device()?.with_kernel(function.addr(), |kernel| kernel.max_workgroup_size)?;
        let (groups, size) = properties::occupancy(most, limit);
        grid.write(groups);
        block.write(size);
        Ok(())
    }

    fn hipFuncGetAttribute(value: *mut c_int, attribute: hipFunction_attribute, function: hipFunction_t) {
        // SAFETY: HIP's contract on out-pointers.
        let value = unsafe { out(value) }?;
        value.write(device()?.function_attribute(function.addr(), attribute)?);
        Ok(())
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
