//! Small kernels, compiled by clang for a real card's instruction set, loaded and launched.
//!
//! What single instructions compute is checked elsewhere; here it is the way of a launch and what can go
//! wrong on it.

// `cfg(test)` is always set here; it tells clippy that these are tests, where `unwrap` is allowed.
#[cfg(test)]
mod compile;
#[cfg(test)]
mod counters;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod fault;
#[cfg(test)]
mod flip;
#[cfg(test)]
mod gfx1250;
#[cfg(test)]
mod host;
#[cfg(test)]
mod load;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod packet;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod random;
#[cfg(test)]
mod registers;
#[cfg(test)]
mod run;
#[cfg(test)]
mod sanitizer;
#[cfg(test)]
mod support;
