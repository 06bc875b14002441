//! A launch by the dispatch packet of a queue: sizes, arguments and the kernel are where the packet says.
//!
//! Nothing is copied. The kernarg segment, with its hidden arguments, is the one that the packet's writer filled. Source:
//! HSA Runtime Specification, "Kernel dispatch packet".

use super::slot::PACKET_BYTES;
use super::{
    Dispatch, LaunchError, LaunchOptions, LaunchStats, Limits, Setup, check_kernel, check_sizes, execute,
    private_size,
};
use crate::code::{CodeObject, Kernel, Placement};
use crate::fault::Access;
use crate::memory::Memory;
use crate::sanitize::Arguments;

/// A kernel dispatch packet in device memory.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The kernel that its kernel object stands for.
    pub kernel: &'a Kernel,
    /// Where that kernel's code object lies in device memory.
    pub placement: Placement,
    /// Guest address of its 64 bytes.
    pub address: u64,
}

/// Runs the kernel of a dispatch packet to its end, as [`launch`](super::launch) does. The workgroup may be as large as the device
/// allows, whatever the kernel declares: AMD's runtime launches its own kernels so. A grid's last workgroups may be
/// partial. The caller filled the hidden arguments.
///
/// # Errors
/// [`LaunchError::Packet`] when the packet or its arguments are not in device memory or contradict themselves; else those of
/// [`launch`](super::launch).
pub fn launch_packet(
    code: &CodeObject,
    packet: &Packet<'_>,
    memory: &Memory,
    options: &LaunchOptions,
) -> Result<LaunchStats, LaunchError> {
    let Packet {
        kernel,
        placement,
        address,
    } = *packet;
    let wrong = |what: String| LaunchError::Packet {
        kernel: kernel.name.clone(),
        address,
        what,
    };
    let mut bytes = [0; PACKET_BYTES];
    memory
        .read(address, &mut bytes)
        .map_err(|fault| wrong(format!("cannot be read: {fault}")))?;
    let fields = PacketFields(&bytes);
    let dimensions = fields.u16(2) & 3;
    let mut block = [4, 6, 8].map(|at| u32::from(fields.u16(at)));
    let mut items = [12, 16, 20].map(|at| fields.u32(at));
    if dimensions == 0 {
        return Err(wrong("has no dimensions".to_owned()));
    }
    // The sizes of dimensions that a packet does not have are 1, and some leave them 0.
    for dim in usize::from(dimensions)..3 {
        block[dim] = block[dim].max(1);
        items[dim] = items[dim].max(1);
    }
    if block.contains(&0) || items.contains(&0) {
        return Err(wrong(format!(
            "has {items:?} work-items in workgroups of {block:?}"
        )));
    }
    let kernarg = u64::from_le_bytes(fields.at(40));
    let size = u64::from(kernel.kernarg_size);
    memory
        .check(kernarg, size, Access::Load)
        .map_err(|fault| wrong(format!("has {size} bytes of arguments at {kernarg:#x}: {fault}")))?;
    let scratch = private_size(&kernel.descriptor).max(fields.u32(24));
    check_kernel(code.target(), kernel, scratch)?;
    let dispatch = Dispatch {
        kernel,
        placement,
        grid: std::array::from_fn(|dim| items[dim].div_ceil(block[dim])),
        block,
        dynamic_lds: fields
            .u32(28)
            .saturating_sub(kernel.descriptor.group_segment_size),
        kernarg: &[],
    };
    check_sizes(code.target(), &dispatch, Limits::DEVICE.workgroup_size)?;
    let setup = Setup {
        packet: address,
        kernarg,
        items,
        scratch,
        arguments: Arguments {
            slot: kernarg,
            room: size,
            packet: 0,
            base: kernarg,
            size,
        },
    };
    execute(code, &dispatch, &setup, memory, options)
}

/// The little-endian fields of a packet.
struct PacketFields<'a>(&'a [u8; PACKET_BYTES]);

impl PacketFields<'_> {
    fn at<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|i| self.0[at + i])
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.at(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.at(at))
    }
}
