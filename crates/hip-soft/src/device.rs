//! The cards, and the one that a thread works on.

use std::cell::Cell;

use rocm_env::Card;
use rocm_rs::hip::bindings as hip;
use soft_runtime::runtime::{self, Runtime};

use crate::error::{self, Result};

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// The process's runtime. The first call makes it.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    runtime::init().map_err(|_| hip::hipError_t_hipErrorNoDevice)
}

/// How many cards there are.
pub(crate) fn count() -> Result<usize> {
    Ok(runtime()?.cards.len())
}

/// The card with a number, as C counts.
pub(crate) fn at(number: i32) -> Result<(usize, Card)> {
    let index = usize::try_from(number).map_err(|_| hip::hipError_t_hipErrorInvalidDevice)?;
    let card = runtime()?.cards.get(index);
    card.map(|card| (index, *card))
        .ok_or(hip::hipError_t_hipErrorInvalidDevice)
}

/// The number of this thread's card.
pub(crate) fn current() -> usize {
    CURRENT.get()
}

/// This thread works on another card from now on.
pub(crate) fn set(number: i32) -> Result {
    CURRENT.set(at(number)?.0);
    Ok(())
}

/// Bytes of a card that are free, and all.
pub(crate) fn memory(card: usize) -> Result<(u64, u64)> {
    let runtime = runtime()?;
    Ok((runtime.pools().available(card), runtime.capacity))
}

/// An allocation's address.
pub(crate) fn allocate(pool: soft_runtime::pools::Pool, bytes: usize) -> Result<u64> {
    runtime()?.pools().allocate(pool, bytes as u64).map_err(error::of)
}
