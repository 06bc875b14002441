//! Devices and their contexts, and which of them is the thread's.

use core::cell::Cell;
use core::ffi::c_int;
use core::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{done, hip};
use crate::cuda::{self, Cuda, Handle};
use crate::error::Result;
use crate::library::Status;

/// A device, and its context once that is known.
#[derive(Clone, Copy)]
struct Current {
    device: c_int,
    context: Option<Handle>,
}

thread_local! {
    /// This thread's device. Its context is the same for the rest of the process, so that it is looked up once.
    static CURRENT: Cell<Current> = const { Cell::new(Current { device: 0, context: None }) };
}

/// The primary contexts, by device; kept for the rest of the process.
pub(super) static CONTEXTS: Mutex<Vec<(c_int, usize)>> = Mutex::new(Vec::new());

/// The driver, initialized once.
pub(super) fn driver() -> Result<&'static Cuda> {
    static INITIALIZED: OnceLock<Status> = OnceLock::new();
    let cuda = cuda::loaded().ok_or(hip::hipError_t_hipErrorNotInitialized)?;
    // SAFETY: takes a number, which must be 0.
    let status = *INITIALIZED.get_or_init(|| unsafe { (cuda.cuInit)(0) });
    done(cuda, status)?;
    Ok(cuda)
}

/// How many devices the driver has.
pub(super) fn count(cuda: &Cuda) -> Result<c_int> {
    let mut count = 0;
    // SAFETY: `count` is a live int.
    done(cuda, unsafe { (cuda.cuDeviceGetCount)(&raw mut count) })?;
    Ok(count)
}

/// The driver's handle of a device.
pub(super) fn device(cuda: &Cuda, id: c_int) -> Result<cuda::Device> {
    if !(0..count(cuda)?).contains(&id) {
        return Err(hip::hipError_t_hipErrorInvalidDevice);
    }
    let mut device = 0;
    // SAFETY: `device` is a live handle to be written.
    done(cuda, unsafe { (cuda.cuDeviceGet)(&raw mut device, id) })?;
    Ok(device)
}

/// The primary context of a device.
pub(super) fn context(cuda: &Cuda, id: c_int) -> Result<Handle> {
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, context)) = contexts.iter().find(|(known, _)| *known == id) {
        return Ok(ptr::with_exposed_provenance_mut(*context));
    }
    let device = device(cuda, id)?;
    let mut context: Handle = ptr::null_mut();
    // SAFETY: `context` is a live handle to be written. It is never released: handles of streams and modules may outlive
    // every count of ours.
    done(cuda, unsafe {
        (cuda.cuDevicePrimaryCtxRetain)(&raw mut context, device)
    })?;
    contexts.push((id, context.expose_provenance()));
    Ok(context)
}

/// The driver, with the context of this thread's device as the thread's.
pub(super) fn bound() -> Result<&'static Cuda> {
    let cuda = driver()?;
    let Current { device, context } = CURRENT.get();
    match context {
        Some(context) => bind(cuda, context)?,
        None => take(cuda, device)?,
    }
    Ok(cuda)
}

/// Makes a device this thread's.
pub(super) fn take(cuda: &Cuda, device: c_int) -> Result {
    let context = context(cuda, device)?;
    bind(cuda, context)?;
    CURRENT.set(Current {
        device,
        context: Some(context),
    });
    Ok(())
}

/// Makes a context the driver's for this thread.
fn bind(cuda: &Cuda, context: Handle) -> Result {
    // SAFETY: a context that lives as long as the process.
    done(cuda, unsafe { (cuda.cuCtxSetCurrent)(context) })
}

/// This thread's device.
pub(crate) fn current() -> c_int {
    CURRENT.get().device
}

/// The driver, with the context of device `id` as the thread's.
pub(crate) fn bound_to(id: c_int) -> Result<&'static Cuda> {
    if id == current() {
        return bound();
    }
    let cuda = driver()?;
    bind(cuda, context(cuda, id)?)?;
    Ok(cuda)
}

/// An attribute of a device, by the driver's number.
pub(super) fn ask(cuda: &Cuda, device: cuda::Device, attribute: c_int) -> Result<c_int> {
    let mut value = 0;
    // SAFETY: `value` is a live int.
    done(cuda, unsafe {
        (cuda.cuDeviceGetAttribute)(&raw mut value, attribute, device)
    })?;
    Ok(value)
}
