//! Executes an instruction with a wrong result.
//!
//! What is flipped is one bit that matters, in each active lane: of an integer the lowest, of a float the lowest of its exponent, so
//! that the number is twice as large or half. A comparison says the opposite. Bits that are only moved or loaded, and matrices, may
//! be either: of each register of theirs it is bit 23, where single precision has its exponent. What a store or an atomic
//! without a result writes is flipped on its way. An address in the same registers is flipped with it.

use super::host::Host;
use super::{NextPc, Trouble};
use crate::fp::Mode;
use crate::isa::{
    Atomic, Atomic32, Atomic64, Element, Inst, Kind, Op, ScalarAccess, Share, Src, Tiles, Transfer, Unit,
    WHOLE, Wmma, matrix_products,
};
use crate::wave::{Group, Wave, reg};

/// The bits of registers with an even and with an odd number within a result.
type RegisterBits = [u32; 2];

/// The lowest bit of an integer of 32 bits, or of 64.
const LOWEST: RegisterBits = [1, 0];
/// The lowest bit of the exponent of single precision, in each register.
const SINGLES: RegisterBits = [1 << 23; 2];
const DOUBLE: RegisterBits = [0, 1 << 20];
const HALF: u32 = 1 << 10;
const BRAIN: u32 = 1 << 7;

/// What is flipped of an instruction.
enum Effect {
    Nothing,
    Scc,
    /// Scalar registers from the destination on.
    Scalar(RegisterBits),
    /// A mask of lanes.
    Mask,
    /// Vector registers from the destination on.
    Vector(RegisterBits),
    /// The vector registers that it stores.
    Stored(RegisterBits),
}

impl Op {
    /// Whether [`execute`] has something to flip.
    pub(crate) fn leaves_a_result(self) -> bool {
        match self.unit() {
            Unit::Control(_) | Unit::Unsupported | Unit::MoveRelative(_) | Unit::SwapRelative => false,
            Unit::ScalarMemory(access) => {
                matches!(access, ScalarAccess::Load(_) | ScalarAccess::LoadPart { .. })
            }
            Unit::Memory(transfer) => !transfer.goes_to_share(),
            // One lane is written, whatever lanes are active.
            Unit::Lane
            | Unit::Compare
            | Unit::Scalar
            | Unit::Vector
            | matrix_products!()
            | Unit::Atomic(_)
            | Unit::Share(_) => !matches!(self, Op::VNop | Op::WriteLane),
        }
    }
}

/// Executes an instruction that is flipped, or both halves of a dual one of which one is.
pub(super) fn execute<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    pair: (&Inst, Option<&Inst>),
    flipped: [bool; 2],
    mode: Mode,
) -> Result<NextPc, Trouble> {
    let (inst, after) = pair;
    // Which registers an indexed instruction names is known when it is executed.
    let known = !(wave.indexed && inst.unit.is_vector());
    let effect = if flipped[0] && known {
        effect(inst)
    } else {
        Effect::Nothing
    };
    if let Effect::Stored(bits) = effect {
        let lanes = wave.exec();
        stored(wave, inst, bits, lanes);
        let flow = super::execute(host, wave, group, inst, after, mode);
        stored(wave, inst, bits, lanes);
        count(group, lanes.count_ones());
        return flow;
    }
    let flow = super::execute(host, wave, group, inst, after, mode)?;
    count(group, apply(wave, inst, &effect));
    if let (NextPc::SkipOne, Some(second), true) = (&flow, after, flipped[1]) {
        let effect = self::effect(second);
        count(group, apply(wave, second, &effect));
    }
    Ok(flow)
}

fn count(group: &Group<'_>, results: u32) {
    if let Some(flips) = &group.flips {
        flips.count(results.into());
    }
}

/// Flips what an instruction has just left; how many lanes, or one of a scalar.
fn apply<const W: usize>(wave: &mut Wave<W>, inst: &Inst, effect: &Effect) -> u32 {
    let first = usize::from(inst.dst);
    let count = usize::from(inst.op.signature().dst.registers(W));
    match *effect {
        Effect::Nothing | Effect::Stored(_) => return 0,
        Effect::Scc => wave.scc = !wave.scc,
        Effect::Scalar(bits) => {
            for i in 0..count {
                wave.set_sgpr(first + i, wave.sgpr[(first + i) & 127] ^ bits[i & 1]);
            }
        }
        Effect::Mask => {
            wave.set_mask(first, wave.mask(first) ^ wave.active);
            if inst.writes_exec && first != reg::EXEC {
                wave.set_exec(wave.exec() ^ wave.active);
            }
            return wave.active.count_ones();
        }
        Effect::Vector(bits) => {
            flip(wave, first, count, bits, wave.active);
            return wave.active.count_ones();
        }
    }
    1
}

/// Flips bits of `count` vector registers.
fn flip<const W: usize>(wave: &mut Wave<W>, first: usize, count: usize, bits: RegisterBits, lanes: u64) {
    for (i, row) in wave.vgpr.iter_mut().skip(first).take(count).enumerate() {
        for lane in (0..W).filter(|lane| lanes >> lane & 1 != 0) {
            row[lane] ^= bits[i & 1];
        }
    }
}

/// Flips what is to be stored, or flips it back.
fn stored<const W: usize>(wave: &mut Wave<W>, inst: &Inst, bits: RegisterBits, lanes: u64) {
    let kinds = inst.op.signature().src;
    // Of an atomic's two operands the second is what memory is compared with.
    let operands = if matches!(inst.unit, Unit::Atomic(_)) {
        1
    } else {
        kinds.len()
    };
    for (source, kind) in inst.src.iter().zip(kinds).take(operands) {
        if let Src::Vgpr(first) = source {
            flip(
                wave,
                usize::from(*first),
                usize::from(kind.registers(W)),
                bits,
                lanes,
            );
        }
    }
}

fn effect(inst: &Inst) -> Effect {
    if !inst.op.leaves_a_result() {
        return Effect::Nothing;
    }
    match inst.unit {
        Unit::Scalar if inst.op.signature().dst == Kind::Void => Effect::Scc,
        Unit::Scalar => Effect::Scalar(of_kind(inst)),
        Unit::ScalarMemory(ScalarAccess::Load(_) | ScalarAccess::LoadPart { .. }) => Effect::Scalar(LOWEST),
        Unit::Compare => Effect::Mask,
        Unit::Vector if matches!(inst.op, Op::ReadLane | Op::ReadFirstLane) => Effect::Scalar(SINGLES),
        Unit::Lane | Unit::Vector => Effect::Vector(in_its_part(inst, of_kind(inst))),
        Unit::Wmma(Wmma {
            element,
            narrow: true,
        }) => {
            let high = inst.op_sel & 4 != 0;
            Effect::Vector([of_halves(element) << if high { 16 } else { 0 }; 2])
        }
        Unit::Tiles(Tiles {
            halves: Some(element),
            ..
        })
        | Unit::SparseTiles(Tiles {
            halves: Some(element),
            ..
        }) => Effect::Vector(both(of_halves(element))),
        matrix_products!() => Effect::Vector(SINGLES),
        Unit::Memory(transfer) => of_transfer(transfer),
        Unit::Atomic(_) if inst.returns => Effect::Vector(LOWEST),
        Unit::Atomic(atomic) => Effect::Stored(of_atomic(atomic)),
        Unit::Share(Share::Store2(_)) => Effect::Stored(SINGLES),
        Unit::Share(Share::Consume | Share::Append) => Effect::Vector(LOWEST),
        Unit::Share(
            Share::Load2(_) | Share::Exchange2(_) | Share::Swizzle | Share::Permute | Share::Bpermute,
        ) => Effect::Vector(SINGLES),
        Unit::Control(_)
        | Unit::Unsupported
        | Unit::MoveRelative(_)
        | Unit::SwapRelative
        | Unit::ScalarMemory(_) => Effect::Nothing,
    }
}

/// Of an element of 16 bits.
fn of_halves(element: Element) -> u32 {
    if element == Element::Bf16 { BRAIN } else { HALF }
}

/// In both halves of each register.
fn both(bit: u32) -> RegisterBits {
    [bit | bit << 16; 2]
}

/// Of a result that an operation computes.
fn of_kind(inst: &Inst) -> RegisterBits {
    match inst.op {
        Op::MovB32 | Op::MovB64 | Op::AccMov | Op::PkMovB32 | Op::SwapB32 | Op::PermB32 => return SINGLES,
        Op::Permlane16 | Op::Permlanex16 | Op::Permlane16Var | Op::Permlanex16Var => return SINGLES,
        Op::Permlane64 | Op::Permlane16Swap | Op::Permlane32Swap => return SINGLES,
        Op::CvtPkRtzF16F32 | Op::CvtPkF16F32 | Op::SCvtPkRtzF16F32 | Op::PackB32F16 => return both(HALF),
        Op::CvtPkBf16F32 => return both(BRAIN),
        _ => {}
    }
    let half = |bit: u32| {
        let high = inst.op_sel & 8 != 0 || matches!(inst.op, Op::FmaMixhiF16 | Op::FmaMixhiBf16);
        [if high { bit << 16 } else { bit }, 0]
    };
    match inst.op.signature().dst {
        Kind::Void | Kind::Mask | Kind::B32 | Kind::B64 | Kind::I64 => LOWEST,
        Kind::B16 => half(1),
        Kind::F16 => half(HALF),
        Kind::Bf16 => half(BRAIN),
        Kind::F64 => DOUBLE,
        Kind::P16 => both(1),
        Kind::PF16 => both(HALF),
        Kind::PBf16 => both(BRAIN),
        Kind::F32 | Kind::PF32 | Kind::Mix | Kind::BrainMix => SINGLES,
        Kind::B96 | Kind::B128 | Kind::B192 | Kind::B256 | Kind::B512 | Kind::B1024 => SINGLES,
        Kind::Tile | Kind::Tile16 | Kind::Tile8 | Kind::Tile4 => SINGLES,
    }
}

/// The bits where sub-dword addressing puts them: what a byte has no room for is its lowest bit.
fn in_its_part(inst: &Inst, bits: RegisterBits) -> RegisterBits {
    match inst.parts.as_ref().map_or(WHOLE, |parts| parts.sdwa.dst) {
        byte @ 0..=3 => [1 << (8 * byte), 0],
        half @ 4..=5 => {
            let low = bits[0] & 0xffff;
            [low.max(1) << (16 * (half - 4)), 0]
        }
        _ => bits,
    }
}

fn of_transfer(transfer: Transfer) -> Effect {
    let part = |bytes: u8, high: bool| {
        let bit = if bytes == 1 { 1 } else { HALF };
        [if high { bit << 16 } else { bit }, 0]
    };
    match transfer {
        Transfer::Load(_) | Transfer::LoadAtLane | Transfer::LoadTransposed(_) => Effect::Vector(SINGLES),
        Transfer::LoadPart(loaded) => Effect::Vector(part(loaded.bytes, loaded.half == Some(true))),
        Transfer::Store(_) | Transfer::StoreAtLane => Effect::Stored(SINGLES),
        Transfer::StorePart { bytes, high } => Effect::Stored(part(bytes, high)),
        Transfer::LoadToShare { .. } => Effect::Nothing,
    }
}

/// Of what an atomic takes to memory.
fn of_atomic(atomic: Atomic) -> RegisterBits {
    match atomic {
        Atomic::Dword(Atomic32::AddFloat | Atomic32::MinFloat | Atomic32::MaxFloat) => SINGLES,
        Atomic::Dword(Atomic32::PackedAddF16) => both(HALF),
        Atomic::Dword(Atomic32::PackedAddBf16) => both(BRAIN),
        Atomic::Qword(Atomic64::AddFloat | Atomic64::MinFloat | Atomic64::MaxFloat) => DOUBLE,
        Atomic::Dword(_) | Atomic::Qword(_) => LOWEST,
    }
}
