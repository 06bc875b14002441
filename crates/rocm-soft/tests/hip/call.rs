//! Calls a HIP function by its name, typed by rocm-rs's declaration, and a few of them in Rust's clothes.

use core::ffi::{c_uint, c_void};
use core::ptr;
use std::ffi::CString;

use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::{hipError_t, hipFunction_t, hipModule_t};

/// The implementation of `name` as a function pointer of type `F`, which the witness tells and which is never
/// called: the declaration has no definition here.
///
/// # Safety
/// `F` is the function pointer type of the declaration called `name`.
pub(crate) unsafe fn resolve<F: Copy>(name: &str, _witness: impl FnOnce() -> F) -> F {
    let address = rocm_soft::symbol(name).unwrap_or_else(|| panic!("no symbol {name}"));
    assert_eq!(size_of::<F>(), size_of_val(&address));
    // SAFETY: the caller promises that `F` is the function's type; it is as large as an address.
    unsafe { core::mem::transmute_copy(&address) }
}

/// Stands for an argument's type.
macro_rules! infer {
    ($argument:expr) => {
        _
    };
}
pub(crate) use infer;

/// `call!(hipFree(pointer))`: the code the function gives.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let witness = || {
            let declared: unsafe extern "C" fn($($crate::call::infer!($argument)),*) -> _ =
                rocm_rs::hip::bindings::$name;
            declared
        };
        // SAFETY: the type is the declaration's, and the tests pass what HIP asks for.
        unsafe { $crate::call::resolve(stringify!($name), witness)($($argument),*) }
    }};
}
pub(crate) use call;

pub(crate) const OK: hipError_t = hip::hipError_t_hipSuccess;

pub(crate) fn malloc(bytes: usize) -> *mut c_void {
    let mut pointer = ptr::null_mut();
    assert_eq!(call!(hipMalloc(&mut pointer, bytes)), OK);
    pointer
}

pub(crate) fn upload(data: &[u32]) -> *mut c_void {
    let pointer = malloc(size_of_val(data));
    let kind = hip::hipMemcpyKind_hipMemcpyHostToDevice;
    assert_eq!(
        call!(hipMemcpy(pointer, data.as_ptr().cast(), size_of_val(data), kind)),
        OK
    );
    pointer
}

pub(crate) fn download(pointer: *mut c_void, len: usize) -> Vec<u32> {
    let mut data = vec![0_u32; len];
    let kind = hip::hipMemcpyKind_hipMemcpyDeviceToHost;
    assert_eq!(
        call!(hipMemcpy(data.as_mut_ptr().cast(), pointer, 4 * len, kind)),
        OK
    );
    data
}

pub(crate) fn load(image: &[u8]) -> Result<hipModule_t, hipError_t> {
    let mut module = ptr::null_mut();
    match call!(hipModuleLoadData(&mut module, image.as_ptr().cast())) {
        OK => Ok(module),
        code => Err(code),
    }
}

pub(crate) fn function(module: hipModule_t, name: &str) -> Result<hipFunction_t, hipError_t> {
    let mut function = ptr::null_mut();
    let name = CString::new(name).unwrap();
    match call!(hipModuleGetFunction(&mut function, module, name.as_ptr())) {
        OK => Ok(function),
        code => Err(code),
    }
}

/// Launches with `kernelParams`; each of `arguments` points to one argument.
pub(crate) fn launch(
    function: hipFunction_t,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    arguments: &mut [*mut c_void],
) -> hipError_t {
    let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
    let (stream, extra) = (ptr::null_mut(), ptr::null_mut());
    let arguments = arguments.as_mut_ptr();
    call!(hipModuleLaunchKernel(
        function, gx, gy, gz, bx, by, bz, 0, stream, arguments, extra
    ))
}

/// A pointer to an argument, as `kernelParams` wants it.
pub(crate) fn arg<T>(value: &mut T) -> *mut c_void {
    ptr::from_mut(value).cast()
}
