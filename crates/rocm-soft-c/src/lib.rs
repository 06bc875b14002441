//! `librocm_soft.so`: raw AMD GPU machine code run from C, without ROCm and without a GPU.
//!
//! Four functions, declared in `include/rocm_soft.h`. They know instructions and memory, no code objects and no HIP; the
//! HIP entry points are the crate rocm-soft's. [`abi`] has the C side, [`run`] the rest in safe code.

mod abi;
mod run;
