//! What a launch puts into device memory before its first wave: the dispatch packet, and after it the kernarg segment with
//! the hidden arguments.

use code_object::{Arg, ArgKind};

use super::Dispatch;
use crate::memory::{KERNARG_AT, Memory, SLOT_BYTES, Slot};
use crate::wave::{PRIVATE_BASE, SHARED_BASE};

/// Bytes of a dispatch packet.
pub(super) const PACKET_BYTES: usize = 64;
/// `setup` of a dispatch packet and the hidden argument: HIP launches are three-dimensional whatever the
/// sizes.
const GRID_DIMS: u16 = 3;

/// Fills a slot: the dispatch packet, then the kernarg segment.
pub(super) fn write(dispatch: &Dispatch<'_>, memory: &Memory, slot: &Slot<'_>) {
    let mut bytes = [0; SLOT_BYTES];
    let kernarg = &mut bytes[KERNARG_AT..KERNARG_AT + dispatch.kernel.kernarg_size as usize];
    kernarg[..dispatch.kernarg.len()].copy_from_slice(dispatch.kernarg);
    for arg in dispatch.kernel.args.iter().filter(|arg| arg.kind.is_hidden()) {
        let place = &mut kernarg[arg.offset as usize..(arg.offset + arg.size) as usize];
        place.fill(0);
        let value = hidden(arg, dispatch).to_le_bytes();
        let len = place.len().min(value.len());
        place[..len].copy_from_slice(&value[..len]);
    }
    bytes[..PACKET_BYTES].copy_from_slice(&packet(dispatch, slot.address + KERNARG_AT as u64));
    let written = memory.write(slot.address, &bytes);
    debug_assert!(written.is_ok(), "a slot is an allocation of SLOT_BYTES");
}

/// The value of a hidden argument. HIP's grids hold whole workgroups only, so no workgroup is partial.
fn hidden(arg: &Arg, dispatch: &Dispatch<'_>) -> u64 {
    let pick = |sizes: [u32; 3], dim: u8| u64::from(sizes[usize::from(dim)]);
    match arg.kind {
        ArgKind::HiddenBlockCount(dim) => pick(dispatch.grid, dim),
        ArgKind::HiddenGroupSize(dim) => pick(dispatch.block, dim),
        ArgKind::HiddenGridDims => u64::from(GRID_DIMS),
        ArgKind::HiddenDynamicLdsSize => u64::from(dispatch.dynamic_lds),
        ArgKind::HiddenPrivateBase => PRIVATE_BASE >> 32,
        ArgKind::HiddenSharedBase => SHARED_BASE >> 32,
        // A service of the host's runtime, or padding: null on this device.
        ArgKind::HiddenRemainder(_) | ArgKind::HiddenGlobalOffset(_) | ArgKind::HiddenOther(_) => 0,
        // The caller fills these in.
        ArgKind::ByValue | ArgKind::GlobalBuffer | ArgKind::DynamicSharedPointer | ArgKind::Other(_) => 0,
    }
}

/// The dispatch packet that `__builtin_amdgcn_dispatch_ptr` points to. No kernel object and no completion
/// signal: a kernel has no use for them.
fn packet(dispatch: &Dispatch<'_>, kernarg: u64) -> [u8; PACKET_BYTES] {
    let descriptor = &dispatch.kernel.descriptor;
    let mut packet = [0; PACKET_BYTES];
    let mut put = |at: usize, value: &[u8]| packet[at..at + value.len()].copy_from_slice(value);
    put(2, &GRID_DIMS.to_le_bytes());
    for dim in 0..3 {
        put(4 + 2 * dim, &(dispatch.block[dim] as u16).to_le_bytes());
        put(
            12 + 4 * dim,
            &(dispatch.grid[dim] * dispatch.block[dim]).to_le_bytes(),
        );
    }
    put(24, &descriptor.private_segment_size.to_le_bytes());
    put(
        28,
        &(descriptor.group_segment_size + dispatch.dynamic_lds).to_le_bytes(),
    );
    put(40, &kernarg.to_le_bytes());
    packet
}
