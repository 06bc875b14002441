//! Whose memory an address is, and what was asked for when it was allocated.

use gfx_emu::Access;
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::hipMemoryType;
use soft_runtime::pools::{Known, Pool};

use crate::device;
use crate::error::{self, INVALID_VALUE, Result};

/// What an allocation of host memory is for; kept with the block.
const PINNED: u64 = 1;
const MANAGED: u64 = 2;
/// What the program allocated in a card's memory, not a code object.
const OF_CARD: u64 = 4;
/// Where the flags of a call begin in that word.
const FLAGS: u32 = 8;

/// What is known of an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    /// HIP's type of memory.
    pub(crate) kind: hipMemoryType,
    pub(crate) card: usize,
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    /// Of the call that allocated it.
    pub(crate) flags: u32,
}

impl Owner {
    /// Of an address; `None` for memory of the program that it does not share.
    pub(crate) fn of(address: u64) -> Result<Option<Owner>> {
        let known = device::runtime()?.pools().known(address);
        Ok(match known {
            Known::Block(base, bytes, Pool::Device(card), _) => Some(Owner {
                kind: hip::hipMemoryType_hipMemoryTypeDevice,
                card,
                base,
                bytes,
                flags: 0,
            }),
            Known::Block(base, bytes, _, asked) if asked & (PINNED | MANAGED) != 0 => Some(Owner {
                kind: match asked & MANAGED {
                    0 => hip::hipMemoryType_hipMemoryTypeHost,
                    _ => hip::hipMemoryType_hipMemoryTypeManaged,
                },
                card: 0,
                base,
                bytes,
                flags: (asked >> FLAGS) as u32,
            }),
            Known::Locked(base, bytes) => Some(Owner {
                kind: hip::hipMemoryType_hipMemoryTypeHost,
                card: 0,
                base,
                bytes,
                flags: 0,
            }),
            Known::Block(..) | Known::Unknown => None,
        })
    }
}

/// Device memory; no bytes have no address.
pub(crate) fn allocate(bytes: usize) -> Result<u64> {
    match bytes {
        0 => Ok(0),
        _ => {
            let address = device::allocate(Pool::Device(device::current()), bytes)?;
            device::runtime()?
                .pools()
                .keep(address, OF_CARD)
                .map_err(error::of)?;
            Ok(address)
        }
    }
}

/// Frees everything that the program allocated in a card's memory. Its code objects stay.
pub(crate) fn reset(card: usize) -> Result {
    let mut pools = device::runtime()?.pools();
    for address in pools.kept(Pool::Device(card), OF_CARD) {
        pools.free(address).map_err(error::of)?;
    }
    Ok(())
}

/// Host memory that kernels see, pinned or managed.
pub(crate) fn allocate_host(bytes: usize, flags: u32, managed: bool) -> Result<u64> {
    if bytes == 0 {
        return match managed {
            true => Err(INVALID_VALUE),
            false => Ok(0),
        };
    }
    let address = device::allocate(Pool::HostFine, bytes)?;
    let asked = if managed { MANAGED } else { PINNED } | u64::from(flags) << FLAGS;
    let kept = device::runtime()?.pools().keep(address, asked);
    kept.map_err(error::of)?;
    Ok(address)
}

/// The base of the allocation of one of these types that an address lies in: AMD's runtime frees by any address.
pub(crate) fn base(address: u64, kinds: &[hipMemoryType]) -> Result<u64> {
    let owner = Owner::of(address)?.filter(|owner| kinds.contains(&owner.kind));
    owner.map(|owner| owner.base).ok_or(INVALID_VALUE)
}

/// Whether the program alone knows of it: what a copy to or from it waits for.
pub(crate) fn is_pageable(address: u64) -> Result<bool> {
    Ok(Owner::of(address)?.is_none())
}

/// Refuses a range that leaves the allocation that it begins in, and the null pointer.
pub(crate) fn check(address: u64, bytes: u64, access: Access) -> Result {
    if bytes == 0 {
        return Ok(());
    }
    if address == 0 {
        return Err(INVALID_VALUE);
    }
    match Owner::of(address)? {
        Some(owner) if owner.bytes - (address - owner.base).min(owner.bytes) < bytes => Err(INVALID_VALUE),
        Some(owner) if owner.kind != hip::hipMemoryType_hipMemoryTypeHost => {
            let view = device::runtime()?.pools().view();
            view.check(address, bytes, access).map_err(|_| INVALID_VALUE)
        }
        _ => Ok(()),
    }
}
