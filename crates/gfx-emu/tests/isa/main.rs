//! The instruction set: decoder and printer against LLVM, and what single instructions do to the registers of a wave.
//!
//! LLVM 19's assembler, disassembler, code generator and constant folder must be installed; a test fails with the name
//! of the one it misses. Whole kernels are in `launch_kernels`.

// `cfg(test)` is always set here; it tells clippy that these are tests, where `unwrap` is allowed.
#[cfg(test)]
#[path = "../launch_kernels/numbers.rs"]
mod numbers;

#[cfg(test)]
mod apfloat;
#[cfg(test)]
mod authority;
#[cfg(test)]
mod bytes;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod cdna3;
#[cfg(test)]
mod clamp;
#[cfg(test)]
mod compiled;
#[cfg(test)]
mod control;
#[cfg(test)]
mod convert;
#[cfg(test)]
mod cross_lane;
#[cfg(test)]
mod decode;
#[cfg(test)]
mod decode_cdna3;
#[cfg(test)]
mod decode_rdna2;
#[cfg(test)]
mod decode_rdna4;
#[cfg(test)]
mod denormals;
#[cfg(test)]
mod division;
#[cfg(test)]
mod float;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod gfx1250;
#[cfg(test)]
mod gfx950;
#[cfg(test)]
mod gfx950_rows;
#[cfg(test)]
mod integer;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod llvm;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod modifiers;
#[cfg(test)]
mod newer;
#[cfg(test)]
mod packed;
#[cfg(test)]
mod page;
#[cfg(test)]
mod prove;
#[cfg(test)]
mod random_words;
#[cfg(test)]
mod rdna2;
#[cfg(test)]
mod rdna4;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod rest;
#[cfg(test)]
mod rounding;
#[cfg(test)]
mod rows_cdna3;
#[cfg(test)]
mod scalar;
#[cfg(test)]
mod scalar_float;
#[cfg(test)]
mod sparse;
#[cfg(test)]
mod sparse_tiles;
#[cfg(test)]
mod tiles;
#[cfg(test)]
mod twin;
#[cfg(test)]
mod wave;
#[cfg(test)]
mod wave64;
#[cfg(test)]
mod wmma;
