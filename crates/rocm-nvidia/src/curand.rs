//! cuRAND, as far as rocRAND's entry points need it: numbers after NVIDIA's "cuRAND" and the library's functions, found once. What is
//! called when, rocrand.rs decides.
#![expect(unsafe_code, reason = "takes code addresses from a foreign library")]

use core::ffi::c_uint;

use crate::cuda::Handle;
use crate::library::{self, Status};

pub(crate) const SUCCESS: Status = 0;
/// `curandRngType_t`: CURAND_RNG_PSEUDO_PHILOX4_32_10.
pub(crate) const PHILOX: c_uint = 161;

library::functions! { Curand;
    curandCreateGenerator(*mut Handle, c_uint);
    curandDestroyGenerator(Handle);
    curandSetStream(Handle, Handle);
    curandSetPseudoRandomGeneratorSeed(Handle, u64);
    curandSetGeneratorOffset(Handle, u64);
    curandGenerateUniform(Handle, *mut f32, usize);
    curandGenerateUniformDouble(Handle, *mut f64, usize);
    curandGenerateNormal(Handle, *mut f32, usize, f32, f32);
    curandGenerateNormalDouble(Handle, *mut f64, usize, f64, f64);
}

library::once!(Curand);
