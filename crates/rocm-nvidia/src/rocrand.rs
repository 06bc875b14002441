//! rocRAND's entry points over cuRAND. Both have Philox4x32-10, seeds and places in its sequence of 64 bits, and statuses of nearly the same
//! numbers. They do not draw the same numbers: how words become a number, each decides for itself.
//!
//! cuRAND draws normal numbers in pairs, rocRAND any number of them: an odd number is `ROCRAND_STATUS_TYPE_ERROR` here, as what the
//! generator does not draw, and nothing is written.
#![expect(
    unsafe_code,
    reason = "C hands in raw pointers, and cuRAND takes them; entry.rs says what is relied on"
)]

use core::ffi::c_int;
use core::ptr;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rocm_rs::rocrand::bindings::{self as declared, rocrand_generator, rocrand_rng_type, rocrand_status};

use crate::cuda::Handle;
use crate::curand::{self, Curand};
use crate::library::{self, EntryResult as Result, Status, call};
use crate::{entry, error};

const NOT_CREATED: rocrand_status = declared::rocrand_status_ROCRAND_STATUS_NOT_CREATED;
const ALLOCATION_FAILED: rocrand_status = declared::rocrand_status_ROCRAND_STATUS_ALLOCATION_FAILED;
const TYPE_ERROR: rocrand_status = declared::rocrand_status_ROCRAND_STATUS_TYPE_ERROR;
const LAUNCH_FAILURE: rocrand_status = declared::rocrand_status_ROCRAND_STATUS_LAUNCH_FAILURE;
const INTERNAL_ERROR: rocrand_status = declared::rocrand_status_ROCRAND_STATUS_INTERNAL_ERROR;

/// The devices of the living generators, by cuRAND's own handle, which is rocRAND's as well.
static GENERATORS: Mutex<BTreeMap<usize, c_int>> = Mutex::new(BTreeMap::new());

fn generators() -> MutexGuard<'static, BTreeMap<usize, c_int>> {
    GENERATORS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn guard(body: impl FnOnce() -> Result) -> rocrand_status {
    library::guard(INTERNAL_ERROR, body)
}

/// `Ok` for success; else rocRAND's status, with cuRAND's number kept for whoever asks.
fn done(call: &str, status: Status) -> Result {
    if status == curand::SUCCESS {
        return Ok(());
    }
    error::keep(format!("{call}: curandStatus_t {status}"));
    Err(match status {
        // Of the same number and meaning.
        100..=106 => status,
        // CURAND_STATUS_LAUNCH_FAILURE, CURAND_STATUS_PREEXISTING_FAILURE.
        201 | 202 => LAUNCH_FAILURE,
        _ => INTERNAL_ERROR,
    })
}

fn of_hip(code: entry::Code) -> rocrand_status {
    match code {
        entry::OUT_OF_MEMORY => ALLOCATION_FAILED,
        _ => INTERNAL_ERROR,
    }
}

fn library() -> Result<&'static Curand> {
    curand::loaded().ok_or(NOT_CREATED)
}

/// cuRAND and the generator as it takes it, with the context of the generator's device as the thread's.
fn bound(generator: rocrand_generator) -> Result<(&'static Curand, Handle)> {
    let library = library()?;
    let device = generators().get(&generator.addr()).copied().ok_or(NOT_CREATED)?;
    entry::bound_to(device).map_err(of_hip)?;
    Ok((library, generator.cast()))
}

/// Refuses a number of normal numbers that cuRAND does not draw.
fn in_pairs(n: usize) -> Result {
    if n.is_multiple_of(2) {
        Ok(())
    } else {
        Err(TYPE_ERROR)
    }
}

library::entries! {
    fn rocrand_create_generator(generator: *mut rocrand_generator, kind: rocrand_rng_type) -> rocrand_status {
        guard(|| {
            // SAFETY: rocRAND's contract on out-pointers: null, or writable for a generator.
            let generator = unsafe { entry::out(generator) }.map_err(|_| NOT_CREATED)?;
            if kind != declared::rocrand_rng_type_ROCRAND_RNG_PSEUDO_PHILOX4_32_10 {
                return Err(TYPE_ERROR);
            }
            let library = library()?;
            let device = entry::current();
            entry::bound_to(device).map_err(of_hip)?;
            let mut raw: Handle = ptr::null_mut();
            // SAFETY: `raw` is a live generator to be written.
            unsafe { call!(library.curandCreateGenerator(&raw mut raw, curand::PHILOX)) }?;
            generators().insert(raw.expose_provenance(), device);
            generator.write(raw.cast());
            Ok(())
        })
    }

    fn rocrand_destroy_generator(generator: rocrand_generator) -> rocrand_status {
        guard(|| {
            let (library, raw) = bound(generator)?;
            generators().remove(&generator.addr());
            // SAFETY: a living generator, which nobody finds any more.
            unsafe { call!(library.curandDestroyGenerator(raw)) }
        })
    }

    fn rocrand_set_stream(generator: rocrand_generator, stream: declared::hipStream_t) -> rocrand_status {
        guard(|| {
            let (library, raw) = bound(generator)?;
            // SAFETY: a living generator; HIP's contract on the stream.
            unsafe { call!(library.curandSetStream(raw, stream.cast())) }
        })
    }

    fn rocrand_set_seed(generator: rocrand_generator, seed: core::ffi::c_ulonglong) -> rocrand_status {
        guard(|| {
            let (library, raw) = bound(generator)?;
            // SAFETY: a living generator and a number.
            unsafe { call!(library.curandSetPseudoRandomGeneratorSeed(raw, seed)) }
        })
    }

    fn rocrand_set_offset(generator: rocrand_generator, offset: core::ffi::c_ulonglong) -> rocrand_status {
        guard(|| {
            let (library, raw) = bound(generator)?;
            // SAFETY: a living generator and a number.
            unsafe { call!(library.curandSetGeneratorOffset(raw, offset)) }
        })
    }

    fn rocrand_generate_uniform(generator: rocrand_generator, out: *mut f32, n: usize) -> rocrand_status {
        guard(|| {
            let (library, raw) = bound(generator)?;
            // SAFETY: a living generator; rocRAND's contract is that `out` is `n` elements of the device's memory.
            unsafe { call!(library.curandGenerateUniform(raw, out, n)) }
        })
    }

    fn rocrand_generate_uniform_double(generator: rocrand_generator, out: *mut f64, n: usize) -> rocrand_status {
        guard(|| {
            let (library, raw) = bound(generator)?;
            // SAFETY: as above.
            unsafe { call!(library.curandGenerateUniformDouble(raw, out, n)) }
        })
    }

    fn rocrand_generate_normal(
        generator: rocrand_generator, out: *mut f32, n: usize, mean: f32, deviation: f32,
    ) -> rocrand_status {
        guard(|| {
            let (library, raw) = bound(generator)?;
            in_pairs(n)?;
            // SAFETY: as above.
            unsafe { call!(library.curandGenerateNormal(raw, out, n, mean, deviation)) }
        })
    }

    fn rocrand_generate_normal_double(
        generator: rocrand_generator, out: *mut f64, n: usize, mean: f64, deviation: f64,
    ) -> rocrand_status {
        guard(|| {
            let (library, raw) = bound(generator)?;
            in_pairs(n)?;
            // SAFETY: as above.
            unsafe { call!(library.curandGenerateNormalDouble(raw, out, n, mean, deviation)) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUCCESS: rocrand_status = declared::rocrand_status_ROCRAND_STATUS_SUCCESS;

    #[test]
    fn no_failure_of_curand_becomes_a_success() {
        assert_eq!(done("curandSetStream", 0), Ok(()));
        for status in (1..300).chain([999]) {
            let told = done("curandSetStream", status);
            assert!(told.is_err_and(|code| code != SUCCESS), "{status}");
            let words = error::take_detail().unwrap();
            assert_eq!(words, format!("curandSetStream: curandStatus_t {status}"));
        }
    }

    #[test]
    fn statuses_have_the_numbers_of_rocrand() {
        let of = |status| done("curandSetStream", status).unwrap_err();
        assert_eq!(
            [101, 102, 103, 201, 999].map(of),
            [
                NOT_CREATED,
                ALLOCATION_FAILED,
                TYPE_ERROR,
                LAUNCH_FAILURE,
                INTERNAL_ERROR
            ]
        );
    }

    #[test]
    fn normal_numbers_come_in_pairs() {
        assert_eq!(
            [0, 1, 2, 33].map(in_pairs),
            [Ok(()), Err(TYPE_ERROR), Ok(()), Err(TYPE_ERROR)]
        );
    }

    #[test]
    fn a_generator_that_nobody_made_is_none() {
        // SAFETY: no generator is looked into that was not made here.
        let status = unsafe { rocrand_set_seed(ptr::without_provenance_mut(8), 1) };
        assert_eq!(status, NOT_CREATED);
    }
}
