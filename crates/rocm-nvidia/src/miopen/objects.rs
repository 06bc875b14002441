//! What handles of MIOpen's name: objects of cuDNN's, by numbers that C takes for addresses.

use core::ffi::{c_int, c_uint};
use core::ptr;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rocm_rs::miopen::bindings::{miopenConvolutionDescriptor_t, miopenHandle_t, miopenTensorDescriptor_t};

use super::{BAD_PARAMETER, INTERNAL_ERROR, library, of_hip};
use crate::cuda::Handle;
use crate::cudnn::{self, Cudnn};
use crate::entry;
use crate::library::EntryResult as Result;

/// What a handle of MIOpen's names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Object {
    /// cuDNN's handle and its device.
    Library(Raw, c_int),
    /// cuDNN has descriptors for images and others for weights; one of MIOpen's may become either. And the dtype, once it is set.
    Tensor {
        images: Raw,
        weights: Raw,
        dtype: Option<c_uint>,
    },
    /// For f32, and for dtypes of 16 bits.
    Convolution {
        exact: Raw,
        halves: Raw,
    },
    Pooling(Raw),
}

/// An object of cuDNN's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw(pub(super) Handle);

// SAFETY: cuDNN ties none of its objects to a thread; MIOpen's contract is that one thread at a time uses one.
unsafe impl Send for Raw {}

/// The living objects by their numbers, which are their addresses for C.
pub(super) struct Objects {
    pub(super) living: BTreeMap<usize, Object>,
    made: usize,
}

static OBJECTS: Mutex<Objects> = Mutex::new(Objects {
    living: BTreeMap::new(),
    made: 0,
});

pub(super) fn objects() -> MutexGuard<'static, Objects> {
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of a new object, which is never given again.
fn insert(object: Object) -> usize {
    let mut objects = objects();
    objects.made += 16;
    let number = objects.made;
    objects.living.insert(number, object);
    number
}

pub(super) fn object<T>(of: *mut T) -> Result<Object> {
    objects().living.get(&of.addr()).copied().ok_or(BAD_PARAMETER)
}

/// Takes an object that `is_it` from the living ones.
pub(super) fn take<T>(of: *mut T, is_it: impl FnOnce(&Object) -> bool) -> Result<Object> {
    let mut objects = objects();
    match objects.living.get(&of.addr()) {
        Some(object) if is_it(object) => objects.living.remove(&of.addr()).ok_or(INTERNAL_ERROR),
        _ => Err(BAD_PARAMETER),
    }
}

/// cuDNN and the handle as it takes it, with the context of the handle's device as the thread's.
pub(super) fn bound(handle: miopenHandle_t) -> Result<(&'static Cudnn, Handle)> {
    let library = library()?;
    let Object::Library(Raw(raw), device) = object(handle)? else {
        return Err(BAD_PARAMETER);
    };
    entry::bound_to(device).map_err(of_hip)?;
    Ok((library, raw))
}

/// A tensor's descriptors as images and as weights, and its dtype.
pub(super) fn tensor(of: miopenTensorDescriptor_t) -> Result<(Handle, Handle, c_uint)> {
    match object(of)? {
        Object::Tensor {
            images: Raw(images),
            weights: Raw(weights),
            dtype: Some(dtype),
        } => Ok((images, weights, dtype)),
        _ => Err(BAD_PARAMETER),
    }
}

/// How a convolution of such elements is described.
pub(super) fn convolution(of: miopenConvolutionDescriptor_t, dtype: c_uint) -> Result<Handle> {
    let Object::Convolution {
        exact: Raw(exact),
        halves: Raw(halves),
    } = object(of)?
    else {
        return Err(BAD_PARAMETER);
    };
    Ok(if dtype == cudnn::FLOAT { exact } else { halves })
}

/// A new object at an out-pointer of C's.
///
/// # Safety
/// `out` is null or writable.
pub(super) unsafe fn create<T>(
    out: *mut *mut T,
    object: impl FnOnce(&'static Cudnn) -> Result<Object>,
) -> Result {
    // SAFETY: the caller's promise.
    let out = unsafe { entry::out(out) }.map_err(|_| BAD_PARAMETER)?;
    let number = insert(object(library()?)?);
    out.write(ptr::without_provenance_mut(number));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_nobody_made_is_none() {
        let nobody = ptr::without_provenance_mut::<u8>(8);
        assert_eq!(object(nobody).unwrap_err(), BAD_PARAMETER);
        assert_eq!(take(nobody, |_| true).unwrap_err(), BAD_PARAMETER);
    }
}
