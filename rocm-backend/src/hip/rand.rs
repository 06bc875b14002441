//! rocRAND behind a safe type: a Philox4x32-10 generator of one stream, put to a place of its sequence before each draw.
#![expect(unsafe_code, reason = "calls rocRAND")]

use rocm_rs::rocrand::bindings::{self, rocrand_generator, rocrand_status};

use super::status::check_library;
use super::stream::Stream;
use crate::{DType, Result};

/// A rocRAND generator whose work goes to one stream.
#[derive(Debug)]
pub(crate) struct Generator(rocrand_generator);

// SAFETY: rocRAND ties a generator to no thread; it asks that two threads do not use one at a time, and a `Generator` is
// used through `&mut` only.
unsafe impl Send for Generator {}

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Draw {
    /// From above 0 to 1.
    Uniform,
    /// Mean and standard deviation.
    Normal(f64, f64),
}

impl Draw {
    /// The function that draws elements of `dtype`; none where rocRAND has none that this crate calls.
    pub(crate) fn function(self, dtype: DType) -> Option<&'static str> {
        match (self, dtype) {
            (Draw::Uniform, DType::F32) => Some("rocrand_generate_uniform"),
            (Draw::Uniform, DType::F64) => Some("rocrand_generate_uniform_double"),
            (Draw::Normal(..), DType::F32) => Some("rocrand_generate_normal"),
            (Draw::Normal(..), DType::F64) => Some("rocrand_generate_normal_double"),
            _ => None,
        }
    }
}

impl Generator {
    /// A generator for `stream` on this thread's device. Philox, because its results do not depend on how rocRAND spreads
    /// them over threads, and because this crate's own kernels have it.
    pub(crate) fn new(stream: &Stream) -> Result<Generator> {
        let mut raw = std::ptr::null_mut();
        let kind = bindings::rocrand_rng_type_ROCRAND_RNG_PSEUDO_PHILOX4_32_10;
        // SAFETY: `raw` is a live handle to be written.
        check("rocrand_create_generator", unsafe {
            bindings::rocrand_create_generator(&raw mut raw, kind)
        })?;
        let generator = Generator(raw);
        // SAFETY: the generator lives, and so does the stream, which outlives it in its context.
        check("rocrand_set_stream", unsafe {
            bindings::rocrand_set_stream(raw, stream.raw().cast())
        })?;
        Ok(generator)
    }

    /// Fills `len` elements of `dtype` at `out` from word `word` of the sequence of `seed` on. False where rocRAND does not
    /// draw such elements: nothing was done.
    ///
    /// # Safety
    /// The elements lie there, in memory of the generator's device, and nobody else uses them while the stream gets to it.
    pub(crate) unsafe fn fill(
        &mut self,
        draw: Draw,
        dtype: DType,
        (seed, word): (u64, u64),
        out: usize,
        len: usize,
    ) -> Result<bool> {
        let Some(function) = draw.function(dtype) else {
            return Ok(false);
        };
        // SAFETY: the generator lives.
        check("rocrand_set_seed", unsafe {
            bindings::rocrand_set_seed(self.0, seed)
        })?;
        // SAFETY: as above.
        check("rocrand_set_offset", unsafe {
            bindings::rocrand_set_offset(self.0, word)
        })?;
        let (singles, doubles) = (
            std::ptr::without_provenance_mut(out),
            std::ptr::without_provenance_mut(out),
        );
        // SAFETY: the generator lives, and the function is that of `dtype`; the rest is the caller's promise.
        let status = unsafe {
            match (draw, dtype) {
                (Draw::Uniform, DType::F64) => {
                    bindings::rocrand_generate_uniform_double(self.0, doubles, len)
                }
                (Draw::Uniform, _) => bindings::rocrand_generate_uniform(self.0, singles, len),
                (Draw::Normal(mean, std), DType::F64) => {
                    bindings::rocrand_generate_normal_double(self.0, doubles, len, mean, std)
                }
                (Draw::Normal(mean, std), _) => {
                    bindings::rocrand_generate_normal(self.0, singles, len, mean as f32, std as f32)
                }
            }
        };
        match status {
            bindings::rocrand_status_ROCRAND_STATUS_TYPE_ERROR
            | bindings::rocrand_status_ROCRAND_STATUS_DOUBLE_PRECISION_REQUIRED => Ok(false),
            status => check(function, status).map(|()| true),
        }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // SAFETY: made by rocrand_create_generator and destroyed only here. A failure leaves nothing to do.
        let _ = unsafe { bindings::rocrand_destroy_generator(self.0) };
    }
}

macro_rules! names {
    ($($status:ident $name:literal;)*) => {
        /// rocRAND's name for a status; it has no function that tells.
        fn name(status: rocrand_status) -> &'static str {
            match status {
                $(bindings::$status => $name,)*
                _ => "a status that rocRAND does not name",
            }
        }
    };
}

names! {
    rocrand_status_ROCRAND_STATUS_VERSION_MISMATCH "ROCRAND_STATUS_VERSION_MISMATCH";
    rocrand_status_ROCRAND_STATUS_NOT_CREATED "ROCRAND_STATUS_NOT_CREATED";
    rocrand_status_ROCRAND_STATUS_ALLOCATION_FAILED "ROCRAND_STATUS_ALLOCATION_FAILED";
    rocrand_status_ROCRAND_STATUS_TYPE_ERROR "ROCRAND_STATUS_TYPE_ERROR";
    rocrand_status_ROCRAND_STATUS_OUT_OF_RANGE "ROCRAND_STATUS_OUT_OF_RANGE";
    rocrand_status_ROCRAND_STATUS_LENGTH_NOT_MULTIPLE "ROCRAND_STATUS_LENGTH_NOT_MULTIPLE";
    rocrand_status_ROCRAND_STATUS_LAUNCH_FAILURE "ROCRAND_STATUS_LAUNCH_FAILURE";
    rocrand_status_ROCRAND_STATUS_INTERNAL_ERROR "ROCRAND_STATUS_INTERNAL_ERROR";
}

/// `Ok` for success; else the error of the C function `call`.
fn check(call: &'static str, status: rocrand_status) -> Result<()> {
    check_library("rocRAND", call, status, || name(status).to_owned())
}
