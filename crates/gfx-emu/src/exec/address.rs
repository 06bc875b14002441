//! Where the lanes of a memory instruction go, by the rules of its address space. Each rule is here once.

use crate::isa::{Inst, Isa, Space};
use crate::wave::{PRIVATE_BASE, SCRATCH_BASE, Wave, reg};

/// How an address is made: what all lanes have in common, and the vector register that each lane adds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// 64 bits: the base, and 32 bits of a register.
    Base { base: u64, index: Option<u16> },
    /// 64 bits: the base, and a multiple of a register with its sign.
    Multiple { base: u64, register: u16, factor: u8 },
    /// 64 bits: a pair of registers, and an offset.
    Pair { register: u16, offset: u64 },
    /// 32 bits, with the upper half fixed: sums wrap, because compilers reach back from a large offset.
    Narrow {
        upper: u64,
        base: u32,
        index: Option<u16>,
    },
}

/// The product of a register and what a lane accesses, with its sign.
#[inline(always)]
fn multiple(value: u32, factor: u8) -> u64 {
    (i64::from(value as i32) * i64::from(factor)) as u64
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
            Some(register) if inst.isa == Isa::Gfx125 => Rule::Multiple {
                base: wave.sgpr64(usize::from(inst.base)).wrapping_add(offset),
                register,
                factor: inst.factor,
            },
            _ => Rule::Base {
                base: wave.sgpr64(usize::from(inst.base)).wrapping_add(offset),
                index,
            },
        },
    }
}

/// The address of each lane.
pub(super) fn all<const W: usize>(wave: &Wave<W>, inst: &Inst) -> [u64; W] {
    let row = |n: u16, lane: usize| wave.vgpr[usize::from(n)][lane];
    let mut out = [0; W];
    match rule(wave, inst, inst.imm) {
        Rule::Base { base, index } => {
            for (lane, out) in out.iter_mut().enumerate() {
                *out = base.wrapping_add(index.map_or(0, |n| row(n, lane).into()));
            }
        }
        Rule::Multiple {
            base,
            register,
            factor,
        } => {
            for (lane, out) in out.iter_mut().enumerate() {
                *out = base.wrapping_add(multiple(row(register, lane), factor));
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
                let index = index.map_or(0, |n| row(n, lane).wrapping_mul(inst.factor.into()));
                *out = upper | u64::from(base.wrapping_add(index));
            }
        }
    }
    if inst.isa == Isa::Gfx125 && inst.space == Space::Flat {
        for (lane, out) in out.iter_mut().enumerate() {
            *out = private(lane, *out);
        }
    }
    out
}

/// Bit of a flat address of gfx1250's private memory where the number of the lane begins.
const LANE: u32 = 52;

/// A flat address of gfx1250 as those of other cards are: compilers put the lane's number into addresses of its private memory. An
/// address of another lane's memory is left unchanged, and the access fails.
fn private(lane: usize, address: u64) -> u64 {
    let own = SCRATCH_BASE | (lane as u64) << LANE;
    if address >> 32 == own >> 32 {
        PRIVATE_BASE | address & 0xffff_ffff
    } else {
        address
    }
}
