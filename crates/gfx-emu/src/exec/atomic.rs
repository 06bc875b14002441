//! Read-modify-writes of 32 and 64 bits in device memory, LDS and scratch. Lanes go one after the other, lowest first.

use super::space::{self, At, Spaces};
use super::{Trouble, address, unimplemented};
use crate::fault::FaultKind;
use crate::fp::{self, Mode};
use crate::isa::{Atomic, Atomic32, Atomic64, Inst, Src};
use crate::wave::{Group, Wave};

/// Atomics follow no MODE: numbers win over NaNs, denormals are kept.
const MODE: Mode = Mode::NONE;

/// A function of 16 bits on both halves of two dwords.
fn halves(a: u32, b: u32, f: impl Fn(Mode, u16, u16) -> u16) -> u32 {
    let half = |shift: u32| u32::from(f(MODE, (a >> shift) as u16, (b >> shift) as u16)) << shift;
    half(0) | half(16)
}

/// What a dword becomes: `data` and, for the ones with two operands, `second`.
fn update32(op: Atomic32, old: u32, data: u32, second: u32) -> u32 {
    let number = |bits: u32| f32::from_bits(bits);
    match op {
        Atomic32::Swap => data,
        Atomic32::Add => old.wrapping_add(data),
        Atomic32::Sub => old.wrapping_sub(data),
        Atomic32::ReverseSub => data.wrapping_sub(old),
        Atomic32::ClampedSub => old.saturating_sub(data),
        Atomic32::ConditionalSub => old.checked_sub(data).unwrap_or(old),
        Atomic32::MinSigned => (old as i32).min(data as i32) as u32,
        Atomic32::MinUnsigned => old.min(data),
        Atomic32::MaxSigned => (old as i32).max(data as i32) as u32,
        Atomic32::MaxUnsigned => old.max(data),
        Atomic32::And => old & data,
        Atomic32::Or => old | data,
        Atomic32::Xor => old ^ data,
        // Counts up to `data`, then starts again at 0; and down, starting again at `data`.
        Atomic32::Inc => {
            if old >= data {
                0
            } else {
                old + 1
            }
        }
        Atomic32::Dec => {
            if old == 0 || old > data {
                data
            } else {
                old - 1
            }
        }
        Atomic32::MaskOr => old & !data | second,
        Atomic32::CompareSwap => {
            if old == second {
                data
            } else {
                old
            }
        }
        Atomic32::CompareSwapFloat => {
            if number(old) == number(second) {
                data
            } else {
                old
            }
        }
        Atomic32::MinFloat => fp::min::<fp::F32>(MODE, old, data),
        Atomic32::MaxFloat => fp::max::<fp::F32>(MODE, old, data),
        Atomic32::AddFloat => fp::add::<fp::F32>(MODE, old, data),
        Atomic32::PackedAddF16 => halves(old, data, fp::add::<fp::F16>),
        Atomic32::PackedAddBf16 => halves(old, data, |_, a, b| {
            let wide = |half: u16| u32::from(half) << 16;
            super::matrix::bf16_of_f32(fp::add::<fp::F32>(MODE, wide(a), wide(b)))
        }),
        Atomic32::Wrap => {
            if old >= data {
                old - data
            } else {
                old.wrapping_add(second)
            }
        }
    }
}

/// What a qword becomes.
fn update64(op: Atomic64, old: u64, data: u64, second: u64) -> u64 {
    let number = |bits: u64| f64::from_bits(bits);
    match op {
        Atomic64::Swap => data,
        Atomic64::Add => old.wrapping_add(data),
        Atomic64::Sub => old.wrapping_sub(data),
        Atomic64::ReverseSub => data.wrapping_sub(old),
        Atomic64::MinSigned => (old as i64).min(data as i64) as u64,
        Atomic64::MinUnsigned => old.min(data),
        Atomic64::MaxSigned => (old as i64).max(data as i64) as u64,
        Atomic64::MaxUnsigned => old.max(data),
        Atomic64::And => old & data,
        Atomic64::Or => old | data,
        Atomic64::Xor => old ^ data,
        Atomic64::Inc => {
            if old >= data {
                0
            } else {
                old + 1
            }
        }
        Atomic64::Dec => {
            if old == 0 || old > data {
                data
            } else {
                old - 1
            }
        }
        Atomic64::MaskOr => old & !data | second,
        Atomic64::CompareSwap => {
            if old == second {
                data
            } else {
                old
            }
        }
        Atomic64::CompareSwapFloat => {
            if number(old) == number(second) {
                data
            } else {
                old
            }
        }
        Atomic64::MinFloat => fp::min::<fp::F64>(MODE, old, data),
        Atomic64::MaxFloat => fp::max::<fp::F64>(MODE, old, data),
        Atomic64::AddFloat => fp::add::<fp::F64>(MODE, old, data),
        // The dwords of `data` whose top bit is set are exchanged, without that bit.
        Atomic64::ExchangeMarked => [0, 32].into_iter().fold(old, |all, shift| {
            let word = data >> shift & 0xffff_ffff;
            if word >> 31 != 0 {
                all & !(0xffff_ffff << shift) | (word & 0x7fff_ffff) << shift
            } else {
                all
            }
        }),
    }
}

/// Executes an atomic.
pub(super) fn execute<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    atomic: Atomic,
) -> Result<(), Trouble> {
    let addresses = address::all(wave, inst);
    let places = std::array::from_fn(|lane| Some(space::place(inst.space, lane, addresses[lane])));
    at_places(wave, group, inst, atomic, &places)
}

/// Executes an atomic at the places of the lanes; a lane without one gets zero back and changes nothing.
pub(super) fn at_places<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    atomic: Atomic,
    places: &[Option<At>; W],
) -> Result<(), Trouble> {
    let words = atomic.words();
    let Src::Vgpr(first) = inst.src[0] else {
        return Err(unimplemented());
    };
    let first = usize::from(first);
    // DS has value and second operand in two operands, the other formats keep value and comparand in one tuple.
    let second = match inst.src[1] {
        Src::Vgpr(second) => usize::from(second),
        _ if compares(atomic) => first + words,
        _ => first,
    };
    let active = wave.active;
    let (vgpr, mut spaces) = space::split(wave, group);
    for lane in (0..W).filter(|lane| active >> lane & 1 != 0) {
        let word = |register: usize| vgpr.get(register).map_or(0, |row| u64::from(row[lane]));
        let value = |register: usize| match atomic {
            Atomic::Dword(_) => word(register),
            Atomic::Qword(_) => word(register) | word(register + 1) << 32,
        };
        let old = match places[lane] {
            Some(at) => exchange(&mut spaces, atomic, at, value(first), value(second)),
            None => Ok(0),
        };
        let old = old.map_err(|kind| (Some(lane), kind))?;
        if inst.returns {
            for (i, row) in vgpr
                .iter_mut()
                .skip(usize::from(inst.dst))
                .take(words)
                .enumerate()
            {
                row[lane] = (old >> (32 * i)) as u32;
            }
        }
    }
    Ok(())
}

/// Executes an atomic of scalar registers; one that is out of its buffer's range gets zero back and changes nothing.
pub(super) fn scalar<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    atomic: Atomic,
    address: u64,
    in_range: bool,
) -> Result<(), Trouble> {
    let Src::Scalar(first) = inst.src[0] else {
        return Err(unimplemented());
    };
    let (first, words) = (usize::from(first), atomic.words());
    let value = |register: usize| match atomic {
        Atomic::Dword(_) => u64::from(wave.sgpr[register & 127]),
        Atomic::Qword(_) => wave.sgpr64(register),
    };
    let (data, second) = (value(first), value(first + words));
    let (_, mut spaces) = space::split(wave, group);
    let old = if in_range {
        exchange(&mut spaces, atomic, At::Global(address), data, second).map_err(|kind| (None, kind))?
    } else {
        0
    };
    if inst.returns {
        for i in 0..words {
            wave.set_sgpr(usize::from(inst.dst) + i, (old >> (32 * i)) as u32);
        }
    }
    Ok(())
}

/// Whether the second operand is compared with the old value.
fn compares(atomic: Atomic) -> bool {
    match atomic {
        Atomic::Dword(op) => matches!(op, Atomic32::CompareSwap | Atomic32::CompareSwapFloat),
        Atomic::Qword(op) => matches!(op, Atomic64::CompareSwap | Atomic64::CompareSwapFloat),
    }
}

/// Changes one place; gives its old value.
fn exchange(
    spaces: &mut Spaces<'_>,
    atomic: Atomic,
    at: At,
    data: u64,
    second: u64,
) -> Result<u64, FaultKind> {
    match atomic {
        Atomic::Dword(op) => {
            let old = spaces.atomic(at, |old| update32(op, old, data as u32, second as u32))?;
            Ok(u64::from(old))
        }
        Atomic::Qword(op) => spaces.atomic64(at, |old| update64(op, old, data, second)),
    }
}
