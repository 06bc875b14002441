//! Convolutions: which algorithms of cuDNN's are offered as solutions, and how one runs.

use core::ffi::{c_int, c_uint, c_void};

use rocm_rs::miopen::bindings::{
    self as declared, miopenConvSolution_t, miopenConvolutionDescriptor_t, miopenHandle_t,
    miopenTensorDescriptor_t,
};

use super::objects::{bound, convolution, tensor};
use super::{BAD_PARAMETER, done};
use crate::cuda::Handle;
use crate::cudnn::{self, Cudnn, Offer};
use crate::entry;
use crate::library::{EntryResult as Result, call};

/// What MIOpen calls an algorithm of `cudnnConvolutionFwdAlgo_t`; none where it is not offered.
fn kind(algorithm: c_uint) -> Option<c_uint> {
    match algorithm {
        // IMPLICIT_GEMM, IMPLICIT_PRECOMP_GEMM.
        0 | 1 => Some(declared::miopenConvAlgorithm_t_miopenConvolutionAlgoImplicitGEMM),
        2 => Some(declared::miopenConvAlgorithm_t_miopenConvolutionAlgoGEMM),
        3 => Some(declared::miopenConvAlgorithm_t_miopenConvolutionAlgoDirect),
        _ => None,
    }
}

/// The algorithm of a solution that was offered.
fn algorithm(solution: u64) -> Result<c_uint> {
    let algorithm = solution.checked_sub(1).and_then(|n| c_uint::try_from(n).ok());
    algorithm
        .filter(|&algorithm| kind(algorithm).is_some())
        .ok_or(BAD_PARAMETER)
}

/// Those of cuDNN's offers that keep to what the head of miopen.rs says.
fn acceptable(offers: &[Offer]) -> impl Iterator<Item = miopenConvSolution_t> {
    offers.iter().filter_map(|offer| {
        let is_good = offer.status == cudnn::SUCCESS && offer.determinism == cudnn::DETERMINISTIC;
        Some(miopenConvSolution_t {
            time: offer.time,
            workspace_size: offer.memory,
            solution_id: u64::from(offer.algorithm) + 1,
            algorithm: kind(offer.algorithm).filter(|_| is_good)?,
        })
    })
}

/// The offers that cuDNN is asked for: it has no more algorithms.
const OFFERS: usize = 16;

/// Descriptors of a convolution: what goes in, the weights, what comes out, and how they are laid on one another.
#[derive(Clone, Copy)]
pub(super) struct Problem {
    pub(super) handle: miopenHandle_t,
    pub(super) from: miopenTensorDescriptor_t,
    pub(super) weights: miopenTensorDescriptor_t,
    pub(super) convolution: miopenConvolutionDescriptor_t,
    pub(super) to: miopenTensorDescriptor_t,
}

impl Problem {
    /// cuDNN, its handle, and its descriptors of what goes in, weights, convolution and what comes out.
    fn parts(&self) -> Result<(&'static Cudnn, Handle, [Handle; 4])> {
        let (library, raw) = bound(self.handle)?;
        let (from, _, dtype) = tensor(self.from)?;
        let (_, weights, of_weights) = tensor(self.weights)?;
        let (to, _, of_results) = tensor(self.to)?;
        if of_weights != dtype || of_results != dtype {
            return Err(BAD_PARAMETER);
        }
        Ok((
            library,
            raw,
            [from, weights, convolution(self.convolution, dtype)?, to],
        ))
    }

    /// Writes at most `room` solutions, and how many they are.
    ///
    /// # Safety
    /// `count` is null or writable, and `solutions` null or room for so many.
    pub(super) unsafe fn offer(
        &self,
        room: usize,
        count: *mut usize,
        solutions: *mut miopenConvSolution_t,
    ) -> Result {
        let (library, raw, [from, weights, convolution, to]) = self.parts()?;
        // SAFETY: the caller's promise.
        let count = unsafe { entry::out(count) }.map_err(|_| BAD_PARAMETER)?;
        if solutions.is_null() && room > 0 {
            return Err(BAD_PARAMETER);
        }
        let (mut found, mut offers) = (0, [Offer::default(); OFFERS]);
        // SAFETY: living objects, and room for as many offers as are asked for.
        unsafe {
            call!(library.cudnnGetConvolutionForwardAlgorithm_v7(
                raw,
                from,
                weights,
                convolution,
                to,
                OFFERS as c_int,
                &raw mut found,
                offers.as_mut_ptr(),
            ))
        }?;
        let found = usize::try_from(found).unwrap_or(0).min(OFFERS);
        let mut written = 0;
        for solution in acceptable(&offers[..found]).take(room) {
            // SAFETY: fewer than `room`, for which there is room.
            unsafe { solutions.add(written).write(solution) };
            written += 1;
        }
        count.write(written);
        Ok(())
    }

    /// Whether the solution is one that may have been offered; cuDNN compiles when it runs.
    pub(super) fn check(&self, solution: u64) -> Result {
        self.parts()?;
        algorithm(solution).map(drop)
    }

    /// # Safety
    /// What MIOpen asks of the addresses: tensors as described, and a workspace of `room` bytes, in the device's memory.
    pub(super) unsafe fn run(
        &self,
        [input, weights]: [*const c_void; 2],
        output: *mut c_void,
        workspace: (*mut c_void, usize),
        solution: u64,
    ) -> Result {
        let (library, raw, [from, of_weights, convolution, to]) = self.parts()?;
        let algorithm = algorithm(solution)?;
        let (one, zero) = (1.0_f32, 0.0_f32);
        let (one, zero): (*const c_void, *const c_void) = ((&raw const one).cast(), (&raw const zero).cast());
        let (room, bytes) = workspace;
        // SAFETY: living objects; the scalars are f32 on the host for all three dtypes. The rest is the caller's promise.
        unsafe {
            call!(library.cudnnConvolutionForward(
                raw,
                one,
                from,
                input,
                of_weights,
                weights,
                convolution,
                algorithm,
                room,
                bytes,
                zero,
                to,
                output,
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the numbers of `cudnnConvolutionFwdAlgo_t`: 4 to 7 are Fourier's and Winograd's.
    #[test]
    fn algorithms_that_mix_pixels_or_have_no_order_are_not_offered() {
        let offer = |algorithm| Offer {
            algorithm,
            determinism: cudnn::DETERMINISTIC,
            ..Offer::default()
        };
        let all: Vec<Offer> = (0..8).map(offer).collect();
        let of = |offers: &[Offer]| Vec::from_iter(acceptable(offers).map(|solution| solution.solution_id));
        assert_eq!(of(&all), [1, 2, 3, 4]);
        let unordered = Offer {
            determinism: 0,
            ..offer(1)
        };
        let refused = Offer {
            status: 3000,
            ..offer(1)
        };
        assert_eq!(of(&[unordered, refused]), [0; 0]);
        assert_eq!([1, 4].map(algorithm), [Ok(0), Ok(3)]);
        assert_eq!([0, 5, u64::MAX].map(algorithm), [Err(BAD_PARAMETER); 3]);
    }
}
