//! NVIDIA's driver interface, as far as HIP's entry points need it: names and types after NVIDIA's "CUDA Driver API", and the
//! library's functions, found once. What is called when, entry.rs decides.
#![expect(unsafe_code, reason = "takes code addresses from a foreign library")]

use core::ffi::{c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::library::{self, Missing, Status};

/// `CUdevice`.
pub(crate) type Device = c_int;
/// `CUcontext`, `CUstream`, `CUevent`, `CUmodule`, `CUfunction`, `CUgraph`, `CUgraphExec`: pointers to what only the driver knows.
pub(crate) type Handle = *mut c_void;
/// `CUdeviceptr`.
pub(crate) type Address = u64;

pub(crate) const SUCCESS: Status = 0;

/// `CU_MEMHOSTALLOC_PORTABLE`: pinned for all devices, as HIP pins.
pub(crate) const HOST_PORTABLE: c_uint = 1;
/// `CUjit_option`: the log of errors and its length.
pub(crate) const JIT_ERROR_LOG: c_int = 5;
pub(crate) const JIT_ERROR_LOG_BYTES: c_int = 6;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
pub(crate) const DYNAMIC_SHARED_BYTES: c_int = 8;
/// `CUmemorytype`.
pub(crate) const MEMORY_HOST: c_uint = 1;
pub(crate) const MEMORY_DEVICE: c_uint = 2;
pub(crate) const MEMORY_UNIFIED: c_uint = 4;

/// `CUDA_MEMCPY2D`.
#[repr(C)]
pub(crate) struct Copy2d {
    pub(crate) source_x: usize,
    pub(crate) source_y: usize,
    pub(crate) source_type: c_uint,
    pub(crate) source_host: *const c_void,
    pub(crate) source_device: Address,
    pub(crate) source_array: Handle,
    pub(crate) source_pitch: usize,
    pub(crate) target_x: usize,
    pub(crate) target_y: usize,
    pub(crate) target_type: c_uint,
    pub(crate) target_host: *mut c_void,
    pub(crate) target_device: Address,
    pub(crate) target_array: Handle,
    pub(crate) target_pitch: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}
const _: () = assert!(size_of::<Copy2d>() == 128);

library::functions! { Cuda;
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut Device, c_int);
    cuDeviceGetName(*mut c_char, c_int, Device);
    cuDeviceTotalMem_v2(*mut usize, Device);
    cuDeviceGetAttribute(*mut c_int, c_int, Device);
    cuDeviceCanAccessPeer(*mut c_int, Device, Device);
    cuDevicePrimaryCtxRetain(*mut Handle, Device);
    cuCtxSetCurrent(Handle);
    cuCtxSynchronize();
    cuCtxEnablePeerAccess(Handle, c_uint);
    cuGetErrorName(Status, *mut *const c_char);
    cuGetErrorString(Status, *mut *const c_char);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut Address, usize);
    cuMemFree_v2(Address);
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost(*mut c_void);
    cuMemcpyAsync(Address, Address, usize, Handle);
    cuMemcpyHtoDAsync_v2(Address, *const c_void, usize, Handle);
    cuMemcpyDtoHAsync_v2(*mut c_void, Address, usize, Handle);
    cuMemcpyDtoDAsync_v2(Address, Address, usize, Handle);
    cuMemcpyPeerAsync(Address, Handle, Address, Handle, usize, Handle);
    cuMemcpy2DAsync_v2(*const Copy2d, Handle);
    cuMemsetD8Async(Address, u8, usize, Handle);
    cuMemsetD16Async(Address, u16, usize, Handle);
    cuMemsetD32Async(Address, c_uint, usize, Handle);
    cuStreamCreate(*mut Handle, c_uint);
    cuStreamDestroy_v2(Handle);
    cuStreamSynchronize(Handle);
    cuStreamQuery(Handle);
    cuStreamWaitEvent(Handle, Handle, c_uint);
    cuStreamGetCtx(Handle, *mut Handle);
    cuStreamBeginCapture_v2(Handle, c_uint);
    cuStreamEndCapture(Handle, *mut Handle);
    cuStreamIsCapturing(Handle, *mut c_uint);
    cuGraphGetNodes(Handle, *mut Handle, *mut usize);
    cuGraphInstantiateWithFlags(*mut Handle, Handle, u64);
    cuGraphLaunch(Handle, Handle);
    cuGraphExecDestroy(Handle);
    cuGraphDestroy(Handle);
    cuEventCreate(*mut Handle, c_uint);
    cuEventDestroy_v2(Handle);
    cuEventRecord(Handle, Handle);
    cuEventSynchronize(Handle);
    cuEventQuery(Handle);
    cuEventElapsedTime(*mut f32, Handle, Handle);
    cuModuleLoadDataEx(*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    cuModuleUnload(Handle);
    cuModuleGetFunction(*mut Handle, Handle, *const c_char);
    cuFuncGetAttribute(*mut c_int, c_int, Handle);
    cuFuncSetAttribute(Handle, c_int, c_int);
    cuLaunchKernel(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void,
        *mut *mut c_void,
    );
    cuOccupancyMaxPotentialBlockSize(*mut c_int, *mut c_int, Handle, *const c_void, usize, c_int);
}

static CUDA: OnceLock<Cuda> = OnceLock::new();

/// The driver, once it was loaded.
pub(crate) fn loaded() -> Option<&'static Cuda> {
    CUDA.get()
}

/// Loads the driver, unless one is loaded. Once loaded it stays loaded.
pub(crate) fn load(path: &Path) -> Result<(), Missing> {
    static LOADING: Mutex<()> = Mutex::new(());
    let _turn = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if CUDA.get().is_some() {
        return Ok(());
    }
    let library = library::open(path)?;
    // SAFETY: the library has the name of NVIDIA's driver and is never unloaded.
    let cuda = unsafe { Cuda::resolve(library) }.map_err(Missing::Functions)?;
    // Nobody else fills it: the lock is held.
    let _ = CUDA.set(cuda);
    Ok(())
}
