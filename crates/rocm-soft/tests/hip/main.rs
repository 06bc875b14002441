//! The HIP entry points as a C program would use them: through their addresses, with HIP's own declarations.

#![expect(unsafe_code, reason = "the functions under test are C functions")]

// `cfg(test)` is always set here; it tells clippy that these are tests, where `unwrap` is allowed.
#[cfg(test)]
mod blas;
#[cfg(test)]
mod call;
#[cfg(test)]
#[path = "../../../gfx-emu/tests/launch_kernels/compile.rs"]
mod compile;
#[cfg(test)]
mod devices;
#[cfg(test)]
mod handles;
#[cfg(test)]
mod kernels;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod miopen;
#[cfg(test)]
mod rocrand;
#[cfg(test)]
mod sanitize;
