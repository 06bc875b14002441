//! Where the lanes of a memory instruction go, by the rules of its address space. Each rule is here once.

use crate::isa::{Inst, Space};
use crate::wave::{PRIVATE_BASE, Wave, reg};

/// How an address is made: what all lanes have in common, and the vector register that each lane adds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// 64 bits: the base, and 32 bits of a register.
    Base { base: u64, index: Option<u8> },
    /// 64 bits: a pair of registers, and an offset.
    Pair { register: u8, offset: u64 },
    /// 32 bits, with the upper half fixed: sums wrap, because compilers reach back from a large offset.
    Narrow {
        upper: u64,
        base: u32,
        index: Option<u8>,
    },
}

/// The rule of an instruction with the offset `imm`. Buffers are private memory here; other descriptors have their own rules
/// in buffer.rs.
#[inline(always)]
pub(super) fn rule<const W: usize>(wave: &Wave<W>, inst: &Inst, imm: i32) -> Rule {
    let scalar = |n: u8| wave.sgpr[usize::from(n & 127)];
    let (offset, index) = (imm as i64 as u64, inst.address);
    match inst.space {
        Space::Lds => Rule::Narrow {
            upper: 0,
            base: u32::from(imm as u16),
            index,
        },
        Space::Scratch => Rule::Narrow {
            upper: 0,
            base: scalar(inst.base).wrapping_add(imm as u32),
            index,
        },
        Space::Buffer => Rule::Narrow {
            upper: PRIVATE_BASE,
            // The card interleaves the lanes' private memory, and the scalar offset counts the bytes of all of them.
            base: (scalar(inst.soffset) / W as u32).wrapping_add(imm as u32),
            index,
        },
        Space::Global | Space::Flat => match index {
            Some(register) if usize::from(inst.base) == reg::NULL => Rule::Pair { register, offset },
            _ => Rule::Base {
                base: wave.sgpr64(usize::from(inst.base)).wrapping_add(offset),
                index,
            },
        },
    }
}

/// The address of each lane.
pub(super) fn all<const W: usize>(wave: &Wave<W>, inst: &Inst) -> [u64; W] {
    let row = |n: u8, lane: usize| wave.vgpr[usize::from(n)][lane];
    let mut out = [0; W];
    match rule(wave, inst, inst.imm) {
        Rule::Base { base, index } => {
            for (lane, out) in out.iter_mut().enumerate() {
                *out = base.wrapping_add(index.map_or(0, |n| row(n, lane).into()));
            }
        }
        Rule::Pair { register, offset } => {
            let (low, high) = (
                &wave.vgpr[usize::from(register)],
                &wave.vgpr[usize::from(register) + 1],
            );
            for (lane, out) in out.iter_mut().enumerate() {
                *out = (u64::from(low[lane]) | u64::from(high[lane]) << 32).wrapping_add(offset);
            }
        }
        Rule::Narrow { upper, base, index } => {
            for (lane, out) in out.iter_mut().enumerate() {
                *out = upper | u64::from(base.wrapping_add(index.map_or(0, |n| row(n, lane))));
            }
        }
    }
    out
}
