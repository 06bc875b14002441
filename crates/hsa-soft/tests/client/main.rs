//! A client of the library: the calls of AMD's HIP runtime, and those that no sane program makes.
#![expect(unsafe_code, reason = "calls a C library")]

// `cfg(test)` is always set here; it tells clippy that these are tests, where `unwrap` is allowed.
#[cfg(test)]
mod blits;
#[cfg(test)]
mod built;
#[cfg(test)]
#[path = "../../../gfx-emu/tests/launch_kernels/compile.rs"]
mod compile;
#[cfg(test)]
mod library;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod vmem;
