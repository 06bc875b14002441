//! Read-modify-writes of 32 and 64 bits in device memory, LDS and scratch. Lanes go one after the other, lowest first.

use super::port::{self, At, Ports};
use super::{Trouble, unimplemented};
use crate::fault::FaultKind;
use crate::fp::{self, Mode};
use crate::isa::{Inst, Op, Src};
use crate::wave::{Group, Row, Wave};

/// Atomics follow no MODE: numbers win over NaNs, denormals are kept.
const MODE: Mode = Mode::NONE;

/// A function of 16 bits on both halves of two dwords.
fn halves(a: u32, b: u32, f: impl Fn(Mode, u16, u16) -> u16) -> u32 {
    let half = |shift: u32| u32::from(f(MODE, (a >> shift) as u16, (b >> shift) as u16)) << shift;
    half(0) | half(16)
}

/// What a dword becomes: `data` and, for the ones with two operands, `second`.
fn update32(op: Op, old: u32, data: u32, second: u32) -> Option<u32> {
    let number = |bits: u32| f32::from_bits(bits);
    Some(match op {
        Op::AtomicSwapB32 => data,
        Op::AtomicAddU32 => old.wrapping_add(data),
        Op::AtomicSubU32 => old.wrapping_sub(data),
        Op::AtomicRsubU32 => data.wrapping_sub(old),
        Op::AtomicCsubU32 => old.saturating_sub(data),
        Op::AtomicMinI32 => (old as i32).min(data as i32) as u32,
        Op::AtomicMinU32 => old.min(data),
        Op::AtomicMaxI32 => (old as i32).max(data as i32) as u32,
        Op::AtomicMaxU32 => old.max(data),
        Op::AtomicAndB32 => old & data,
        Op::AtomicOrB32 => old | data,
        Op::AtomicXorB32 => old ^ data,
        // Counts up to `data`, then starts again at 0; and down, starting again at `data`.
        Op::AtomicIncU32 => {
            if old >= data {
                0
            } else {
                old + 1
            }
        }
        Op::AtomicDecU32 => {
            if old == 0 || old > data {
                data
            } else {
                old - 1
            }
        }
        Op::AtomicMskorB32 => old & !data | second,
        Op::AtomicCmpswapB32 | Op::DsCmpstoreB32 => {
            if old == second {
                data
            } else {
                old
            }
        }
        Op::AtomicCmpswapF32 | Op::DsCmpstoreF32 => {
            if number(old) == number(second) {
                data
            } else {
                old
            }
        }
        Op::AtomicMinF32 => fp::min::<fp::F32>(MODE, old, data),
        Op::AtomicMaxF32 => fp::max::<fp::F32>(MODE, old, data),
        Op::AtomicAddF32 => fp::add::<fp::F32>(MODE, old, data),
        Op::AtomicPkAddF16 => halves(old, data, fp::add::<fp::F16>),
        Op::AtomicPkAddBf16 => halves(old, data, |_, a, b| {
            let wide = |half: u16| u32::from(half) << 16;
            super::matrix::bf16_of_f32(fp::add::<fp::F32>(MODE, wide(a), wide(b)))
        }),
        Op::DsWrap => {
            if old >= data {
                old - data
            } else {
                old.wrapping_add(second)
            }
        }
        _ => return None,
    })
}

/// What a qword becomes.
fn update64(op: Op, old: u64, data: u64, second: u64) -> Option<u64> {
    let number = |bits: u64| f64::from_bits(bits);
    Some(match op {
        Op::AtomicSwapB64 => data,
        Op::AtomicAddU64 => old.wrapping_add(data),
        Op::AtomicSubU64 => old.wrapping_sub(data),
        Op::AtomicRsubU64 => data.wrapping_sub(old),
        Op::AtomicMinI64 => (old as i64).min(data as i64) as u64,
        Op::AtomicMinU64 => old.min(data),
        Op::AtomicMaxI64 => (old as i64).max(data as i64) as u64,
        Op::AtomicMaxU64 => old.max(data),
        Op::AtomicAndB64 => old & data,
        Op::AtomicOrB64 => old | data,
        Op::AtomicXorB64 => old ^ data,
        Op::AtomicIncU64 => {
            if old >= data {
                0
            } else {
                old + 1
            }
        }
        Op::AtomicDecU64 => {
            if old == 0 || old > data {
                data
            } else {
                old - 1
            }
        }
        Op::AtomicMskorB64 => old & !data | second,
        Op::AtomicCmpswapB64 | Op::DsCmpstoreB64 => {
            if old == second {
                data
            } else {
                old
            }
        }
        Op::DsCmpstoreF64 => {
            if number(old) == number(second) {
                data
            } else {
                old
            }
        }
        Op::AtomicMinF64 => fp::min::<fp::F64>(MODE, old, data),
        Op::AtomicMaxF64 => fp::max::<fp::F64>(MODE, old, data),
        Op::AtomicAddF64 => fp::add::<fp::F64>(MODE, old, data),
        // The dwords of `data` whose top bit is set are exchanged, without that bit.
        Op::AtomicCondxchg32B64 => [0, 32].into_iter().fold(old, |all, shift| {
            let word = data >> shift & 0xffff_ffff;
            if word >> 31 != 0 {
                all & !(0xffff_ffff << shift) | (word & 0x7fff_ffff) << shift
            } else {
                all
            }
        }),
        _ => return None,
    })
}

/// Whether the operation works on dwords; `None` when it is no atomic.
pub(super) fn is_narrow(op: Op) -> Option<bool> {
    match (update32(op, 0, 0, 0), update64(op, 0, 0, 0)) {
        (Some(_), _) => Some(true),
        (_, Some(_)) => Some(false),
        _ => None,
    }
}

/// Executes an atomic.
pub(super) fn execute<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
) -> Result<(), Trouble> {
    let addresses = port::addresses(wave, inst);
    let places = std::array::from_fn(|lane| Some(port::place(inst.space, lane, addresses[lane])));
    at_places(wave, group, inst, &places)
}

/// Executes an atomic at the places of the lanes; a lane without one gets zero back and changes nothing.
pub(super) fn at_places<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    places: &[Option<At>; W],
) -> Result<(), Trouble> {
    let narrow = is_narrow(inst.op).ok_or_else(unimplemented)?;
    let register = |src: Src| match src {
        Src::Vgpr(n) => Some(usize::from(n)),
        _ => None,
    };
    let words = if narrow { 1 } else { 2 };
    let first = register(inst.src[0]).ok_or_else(unimplemented)?;
    // FLAT keeps value and comparand in one tuple, DS in two operands.
    let pair = matches!(
        inst.op,
        Op::AtomicCmpswapB32 | Op::AtomicCmpswapF32 | Op::AtomicCmpswapB64
    );
    let second = if pair {
        first + words
    } else {
        register(inst.src[1]).unwrap_or(first)
    };
    let active = wave.active;
    let (vgpr, mut ports) = port::split(wave, group);
    for lane in (0..W).filter(|lane| active >> lane & 1 != 0) {
        let old = if let Some(at) = places[lane] {
            old_value(&mut ports, vgpr, inst.op, at, lane, [first, second], narrow)
        } else {
            Ok(0)
        };
        let old = old.map_err(|kind| (Some(lane), kind))?;
        if inst.returns {
            vgpr[usize::from(inst.dst)][lane] = old as u32;
            if !narrow {
                vgpr[usize::from(inst.dst) + 1][lane] = (old >> 32) as u32;
            }
        }
    }
    Ok(())
}

/// Exchanges at one lane's place; `registers` hold data and second operand.
fn old_value<const W: usize>(
    ports: &mut Ports<'_>,
    vgpr: &[Row<W>],
    op: Op,
    at: At,
    lane: usize,
    [first, second]: [usize; 2],
    narrow: bool,
) -> Result<u64, FaultKind> {
    if narrow {
        let (data, other) = (vgpr[first][lane], vgpr[second][lane]);
        return exchange32(ports, op, at, data, other).map(u64::from);
    }
    let wide = |n: usize| u64::from(vgpr[n][lane]) | u64::from(vgpr[n + 1][lane]) << 32;
    exchange64(ports, op, at, wide(first), wide(second))
}

/// Executes an atomic of a scalar register; one that is out of its buffer's range gets zero back and changes nothing.
pub(super) fn scalar<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    address: u64,
    in_range: bool,
) -> Result<(), Trouble> {
    let narrow = is_narrow(inst.op).ok_or_else(unimplemented)?;
    let Src::Scalar(first) = inst.src[0] else {
        return Err(unimplemented());
    };
    let first = usize::from(first);
    let at = At::Global(address);
    let (data, second) = if narrow {
        (
            u64::from(wave.sgpr[first & 127]),
            u64::from(wave.sgpr[(first + 1) & 127]),
        )
    } else {
        (wave.sgpr64(first), wave.sgpr64(first + 2))
    };
    let (_, mut ports) = port::split(wave, group);
    let old = match (in_range, narrow) {
        (false, _) => Ok(0),
        (true, true) => exchange32(&mut ports, inst.op, at, data as u32, second as u32).map(u64::from),
        (true, false) => exchange64(&mut ports, inst.op, at, data, second),
    };
    let old = old.map_err(|kind| (None, kind))?;
    if inst.returns && narrow {
        wave.set_sgpr(usize::from(inst.dst), old as u32);
    } else if inst.returns {
        wave.set_sgpr64(usize::from(inst.dst), old);
    }
    Ok(())
}

fn exchange32(ports: &mut Ports<'_>, op: Op, at: At, data: u32, second: u32) -> Result<u32, FaultKind> {
    ports.atomic(at, |old| update32(op, old, data, second).unwrap_or(old))
}

fn exchange64(ports: &mut Ports<'_>, op: Op, at: At, data: u64, second: u64) -> Result<u64, FaultKind> {
    ports.atomic64(at, |old| update64(op, old, data, second).unwrap_or(old))
}
