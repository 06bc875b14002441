//! What an instruction makes of the numbers of the cases: the executor computes it where all is known, else what is known of sets of
//! numbers is known of these.

use super::super::function::Applied;
use super::super::operands::{self, Half};
use super::super::value::{Value, low};
use super::Seen;
use super::held::{HeldState, Lanes, RegisterPair};
use crate::exec;
use crate::isa::{Inst, Kind, Op, Src, Unit};
use crate::wave::{self, Wave, reg};

/// One of the two that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Kernel,
    Mutant,
}

/// What an instruction writes.
pub(super) struct Written<const W: usize> {
    pub(super) rows: Vec<RegisterPair<W>>,
    /// Lanes of a mask: of a comparison, or of carries.
    pub(super) mask: Lanes,
}

/// Numbers of one side.
struct Words<const W: usize> {
    numbers: Vec<[u32; W]>,
    known: Vec<[u32; W]>,
    mask: u64,
    mask_known: u64,
}

/// A source register of the vector registers.
struct Source<const W: usize> {
    row: RegisterPair<W>,
    /// Bits that decide the result.
    counting: u32,
}

/// Whether an instruction is one whose lanes the executor can be asked for.
fn is_of_lanes(inst: &Inst, lanes: usize) -> bool {
    let of_all_lanes = matches!(inst.op, Op::MbcntLo | Op::MbcntHi);
    !operands::of(inst, lanes).crosses && inst.dpp.is_none() && inst.parts.is_none() && !of_all_lanes
}

/// The masks that an instruction looks at, besides EXEC.
fn masks_of(inst: &Inst) -> Vec<u8> {
    let kinds = inst.op.signature().src.iter();
    let sources = inst.src.iter().zip(kinds).filter_map(|(src, kind)| match src {
        Src::Scalar(n) if *kind == Kind::Mask => Some(*n),
        _ => None,
    });
    let mut masks: Vec<u8> = sources.collect();
    if inst.unit == Unit::Vector && matches!(inst.op, Op::DivFmasF32 | Op::DivFmasF64) {
        masks.push(reg::VCC as u8);
    }
    masks
}

/// The scalar registers that an instruction looks at as numbers, which must not differ.
pub(super) fn numbers_of(inst: &Inst, lanes: usize) -> u128 {
    let kinds = inst.op.signature().src;
    let mut found = 0;
    for (src, kind) in inst.src.iter().zip(kinds) {
        if let Src::Scalar(n) = src
            && *kind != Kind::Mask
        {
            for word in 0..kind.registers(lanes) {
                found |= 1 << (n.saturating_add(word) & 127);
            }
        }
    }
    found
}

/// What an instruction writes in the kernel, and what it or its mutant does in the other.
pub(super) fn written<const W: usize>(
    place: &HeldState<W>,
    wave: &mut Wave<W>,
    (inst, seen): (&Inst, &Seen),
    mutant: Option<(&Inst, &Seen)>,
) -> Written<W> {
    let words = usize::from(operands::of(inst, W).dst_words);
    let is_compare = inst.unit == Unit::Compare;
    let words = if is_compare { 0 } else { words };
    let sources = sources(place, inst, seen);
    let mut unlike_sources = unlike(place, inst, sources.as_deref());
    if !operands::of(inst, W).whole {
        // The rest of the register stays.
        let registers = inst.dst..inst.dst + words as u16;
        unlike_sources |= registers.fold(0, |all, n| all | place.differing_lanes(n, u32::MAX));
    }
    let kernel = computed(place, wave, inst, seen, sources.as_deref(), Side::Kernel, words);
    let other = match mutant {
        Some((mutant, seen)) => {
            let sources = self::sources(place, mutant, seen);
            computed(place, wave, mutant, seen, sources.as_deref(), Side::Mutant, words)
        }
        None if unlike_sources != 0 => {
            computed(place, wave, inst, seen, sources.as_deref(), Side::Mutant, words)
        }
        None => None,
    };
    // Where nothing differs before, nothing does after.
    let alike = if mutant.is_none() { !unlike_sources } else { 0 };
    let nothing = || Words {
        numbers: vec![[0; W]; words],
        known: vec![[0; W]; words],
        mask: 0,
        mask_known: 0,
    };
    let kernel = kernel.unwrap_or_else(nothing);
    let other = other.unwrap_or_else(nothing);
    let mut rows = vec![RegisterPair::UNKNOWN; words];
    for (i, row) in rows.iter_mut().enumerate() {
        let facts = if i == 0 { seen.result } else { seen.result.upper() };
        for lane in 0..W {
            let number = kernel.numbers[i][lane];
            if alike >> lane & 1 != 0 {
                // What is known of all numbers is known of these.
                let (zeros, ones) = match i {
                    0 | 1 => (facts.zeros as u32, facts.ones as u32),
                    _ => (0, 0),
                };
                let own = kernel.known[i][lane];
                row.known[lane] = own | zeros | ones;
                row.kernel[lane] = number & own | ones & !own;
                row.mutant[lane] = row.kernel[lane];
            } else {
                row.known[lane] = kernel.known[i][lane] & other.known[i][lane];
                (row.kernel[lane], row.mutant[lane]) = (number, other.numbers[i][lane]);
                row.unlike[lane] = !row.known[lane];
            }
        }
    }
    let of_mutant = |one: u64, two: u64| one & alike | two & !alike;
    let known = kernel.mask_known & of_mutant(u64::MAX, other.mask_known);
    Written {
        rows,
        mask: Lanes {
            kernel: kernel.mask,
            mutant: of_mutant(kernel.mask, other.mask),
            known,
            unlike: !known & !alike,
        },
    }
}

/// The lanes in which what an instruction looks at may differ.
fn unlike<const W: usize>(place: &HeldState<W>, inst: &Inst, sources: Option<&[Vec<Source<W>>]>) -> u64 {
    let masks = masks_of(inst).into_iter().map(|n| place.mask(n).differing());
    let masks = masks.fold(0, |all, lanes| all | lanes);
    let Some(sources) = sources else {
        // It looks at all of what it names.
        let named = super::vectors_of(inst, W);
        return named
            .into_iter()
            .fold(masks, |all, (n, bits)| all | place.differing_lanes(n, bits));
    };
    let mut found = masks;
    for source in sources.iter().flatten() {
        for lane in 0..W {
            let differs = source.row.differing(lane) & source.counting != 0;
            found |= u64::from(differs) << lane;
        }
    }
    found
}

/// The vector registers of the sources with what is known of them in active lanes; `None` where the executor cannot be asked.
fn sources<const W: usize>(place: &HeldState<W>, inst: &Inst, seen: &Seen) -> Option<Vec<Vec<Source<W>>>> {
    if !is_of_lanes(inst, W) {
        return None;
    }
    let kinds = inst.op.signature().src;
    let simple = if operands::is_plain(inst) {
        Applied::of(inst.op)
    } else {
        None
    };
    let of_source = |(i, kind): (usize, &Kind)| {
        let Src::Vgpr(n) = inst.src[i] else {
            return Some(vec![]);
        };
        let words = kind.registers(W);
        if words > 2 || *kind == Kind::Mask {
            return None;
        }
        let half = operands::half(inst, i, *kind);
        let counting = match simple {
            Some(applied) => applied.counting(i, low(applied.bits), operands::known(inst)),
            None => u64::MAX,
        };
        let word = |word: u8| {
            let counting = match half {
                Half::Low => counting as u32 & 0xffff,
                // Which half an operand is says where its bits are.
                Half::High => 0xffff_0000,
                Half::Whole => (counting >> (32 * word)) as u32,
            };
            let mut row = place.row(n + u16::from(word));
            // Of half a register, the rest is not in the set.
            let value = match half {
                Half::Whole => seen.sources[i],
                _ => Value::any(64),
            };
            let (zeros, ones) = (
                (value.zeros >> (32 * word)) as u32,
                (value.ones >> (32 * word)) as u32,
            );
            for lane in 0..W {
                let new = (zeros | ones) & !row.known[lane] & !row.unlike[lane];
                row.known[lane] |= new;
                row.kernel[lane] |= ones & new;
                row.mutant[lane] |= ones & new;
            }
            Source { row, counting }
        };
        Some((0..words).map(word).collect())
    };
    kinds.iter().enumerate().map(of_source).collect()
}

/// What an instruction makes of the numbers of one side.
fn computed<const W: usize>(
    place: &HeldState<W>,
    wave: &mut Wave<W>,
    inst: &Inst,
    seen: &Seen,
    sources: Option<&[Vec<Source<W>>]>,
    side: Side,
    words: usize,
) -> Option<Words<W>> {
    let sources = sources?;
    let mut found = executed(place, wave, inst, seen, sources, side, words).unwrap_or_else(|| Words {
        numbers: vec![[0; W]; words],
        known: vec![[0; W]; words],
        mask: 0,
        mask_known: 0,
    });
    if inst.unit == Unit::Compare {
        let open = place.reached & !found.mask_known;
        for lane in (0..W).filter(|lane| open >> lane & 1 != 0) {
            let Some(holds) = of_relation(inst, seen, sources, side, lane) else {
                continue;
            };
            found.mask = found.mask & !(1 << lane) | u64::from(holds) << lane;
            found.mask_known |= 1 << lane;
        }
    }
    if words == 0 || words > 2 {
        return Some(found);
    }
    let complete = |found: &Words<W>, lane: usize| found.known.iter().all(|known| known[lane] == u32::MAX);
    for lane in 0..W {
        if place.reached >> lane & 1 == 0 || complete(&found, lane) {
            continue;
        }
        let Some(value) = of_set(place, inst, seen, sources, side, lane) else {
            break;
        };
        for i in 0..words {
            let (zeros, ones) = ((value.zeros >> (32 * i)) as u32, (value.ones >> (32 * i)) as u32);
            let new = (zeros | ones) & !found.known[i][lane];
            found.numbers[i][lane] = found.numbers[i][lane] & found.known[i][lane] | ones & new;
            found.known[i][lane] |= new;
        }
    }
    Some(found)
}

fn number<const W: usize>(row: &RegisterPair<W>, side: Side) -> &[u32; W] {
    match side {
        Side::Kernel => &row.kernel,
        Side::Mutant => &row.mutant,
    }
}

fn lanes(mask: Lanes, side: Side) -> u64 {
    match side {
        Side::Kernel => mask.kernel,
        Side::Mutant => mask.mutant,
    }
}

/// What every quiet NaN of single precision has.
const NAN: u64 = 0x7fc0_0000;

/// The relation of numbers one of which is a NaN, as comparisons have it.
const UNORDERED: u8 = 8;

/// What is known of a source in a lane.
fn set_of<const W: usize>(
    seen: &Seen,
    sources: &[Vec<Source<W>>],
    side: Side,
    lane: usize,
    i: usize,
) -> Value {
    let words = sources.get(i).filter(|words| !words.is_empty());
    let Some(words) = words else {
        return seen.sources[i];
    };
    let (mut zeros, mut ones) = (!low(32 * words.len() as u32), 0);
    for (word, source) in words.iter().enumerate() {
        let known = source.row.known[lane];
        let number = number(&source.row, side)[lane] & known;
        zeros |= u64::from(known & !number) << (32 * word);
        ones |= u64::from(number) << (32 * word);
    }
    Value::of_bits(zeros, ones)
}

/// Whether a comparison holds in a lane, where what is known of its sources decides it.
fn of_relation<const W: usize>(
    inst: &Inst,
    seen: &Seen,
    sources: &[Vec<Source<W>>],
    side: Side,
    lane: usize,
) -> Option<bool> {
    let (a, b) = (
        set_of(seen, sources, side, lane, 0),
        set_of(seen, sources, side, lane, 1),
    );
    let is_nan = |value: Value| value.ones & NAN == NAN;
    if inst.op == Op::CmpF32 && (is_nan(a) || is_nan(b)) {
        return Some(inst.relations & UNORDERED != 0);
    }
    if !matches!(inst.op, Op::CmpU32 | Op::CmpU64) || !operands::is_plain(inst) {
        return None;
    }
    let less = u8::from(a.lo < b.hi);
    let equal = u8::from(a.lo <= b.hi && b.lo <= a.hi) << 1;
    let greater = u8::from(a.hi > b.lo) << 2;
    let possible = less | equal | greater;
    match possible & inst.relations {
        0 => Some(false),
        some if some == possible => Some(true),
        _ => None,
    }
}

/// What is known of a lane's result by what is known of its sources; `None` for operations of which nothing is known in any lane.
fn of_set<const W: usize>(
    place: &HeldState<W>,
    inst: &Inst,
    seen: &Seen,
    sources: &[Vec<Source<W>>],
    side: Side,
    lane: usize,
) -> Option<Value> {
    let value = |i: usize| set_of(seen, sources, side, lane, i);
    if matches!(
        inst.op,
        Op::AddF32 | Op::SubF32 | Op::SubrevF32 | Op::MulF32 | Op::FmaF32
    ) {
        // A NaN stays one, a quiet one; which one is not asked.
        let count = inst.op.signature().src.len();
        let is_nan = (0..count).any(|i| value(i).ones & NAN == NAN);
        let alone = !inst.clamp && inst.omod == 0;
        return Some(Value::of_bits(!low(32), if is_nan && alone { NAN } else { 0 }));
    }
    if !operands::is_plain(inst) || !operands::of(inst, W).whole {
        return None;
    }
    if inst.op == Op::CndmaskB32 {
        let Src::Scalar(n) = inst.src[2] else { return None };
        let mask = place.mask(n);
        let is = |lanes: u64| lanes >> lane & 1 != 0;
        return Some(match (is(mask.known), is(lanes(mask, side))) {
            (true, true) => value(1),
            (true, false) => value(0),
            (false, _) => value(0).or_else(value(1)),
        });
    }
    let kinds = inst.op.signature();
    if kinds.dst.is_half() || kinds.src.iter().any(|kind| kind.is_half()) {
        return None;
    }
    Some(Applied::of(inst.op)?.result([value(0), value(1), value(2)]))
}

/// What the executor makes of the lanes whose sources are known.
fn executed<const W: usize>(
    place: &HeldState<W>,
    wave: &mut Wave<W>,
    inst: &Inst,
    seen: &Seen,
    sources: &[Vec<Source<W>>],
    side: Side,
    words: usize,
) -> Option<Words<W>> {
    let mode = seen.mode?;
    let mut complete = place.reached;
    let kinds = inst.op.signature().src;
    let all = operands::of(inst, W);
    let is_compare = inst.unit == Unit::Compare;
    let old: Vec<RegisterPair<W>> = (0..words as u16).map(|i| place.row(inst.dst + i)).collect();
    // One register may be two sources, and of each of them something is known.
    let mut there: Vec<u16> = vec![];
    let mut set = |wave: &mut Wave<W>, n: u16, row: &RegisterPair<W>| {
        let place = wave.vgpr.get_mut(usize::from(n))?;
        let fresh = !there.contains(&n);
        there.push(n);
        for lane in 0..W {
            let number = number(row, side)[lane] & row.known[lane];
            place.0[lane] = if fresh { number } else { place.0[lane] | number };
        }
        Some(())
    };
    if !all.whole && !is_compare {
        for (i, old) in (0..).zip(&old) {
            set(wave, inst.dst + i, old)?;
        }
    }
    for (i, kind) in kinds.iter().enumerate() {
        match inst.src[i] {
            Src::Vgpr(n) => {
                for (word, source) in (0..).zip(&sources[i]) {
                    set(wave, n + word, &source.row)?;
                    for lane in 0..W {
                        let lacks = source.counting & !source.row.known[lane] != 0;
                        complete &= !(u64::from(lacks) << lane);
                    }
                }
            }
            Src::Scalar(n) if usize::from(n) >= reg::EXEC => return None,
            Src::Scalar(_) if *kind == Kind::Mask => {}
            Src::Scalar(n) => {
                let number = seen.sources[i].number()?;
                wave.set_sgpr(usize::from(n), number as u32);
                if kind.registers(W) == 2 {
                    wave.set_sgpr(usize::from(n) + 1, (number >> 32) as u32);
                }
            }
            Src::Const(_) | Src::None => {}
            Src::Scc | Src::Vccz | Src::Execz | Src::Staged(_) => return None,
        }
    }
    for n in masks_of(inst) {
        let mask = place.mask(n);
        complete &= mask.known;
        wave.set_mask(usize::from(n), lanes(mask, side));
    }
    if complete == 0 {
        return None;
    }
    wave.set_exec(Wave::<W>::ALL);
    wave.active = Wave::<W>::ALL;
    exec::alone(wave, inst, mode);
    let mut found = Words {
        numbers: vec![],
        known: vec![],
        mask: 0,
        mask_known: 0,
    };
    for (i, old) in old.iter().enumerate() {
        let row: &wave::Row<W> = wave.vgpr.get(usize::from(inst.dst) + i)?;
        let half: u32 = match (all.whole, inst.op_sel >> 3 & 1) {
            (true, _) => u32::MAX,
            (false, 0) => 0xffff,
            (false, _) => 0xffff_0000,
        };
        let known = std::array::from_fn(|lane| {
            let new = if complete >> lane & 1 != 0 { half } else { 0 };
            new | old.known[lane] & !half
        });
        found.numbers.push(row.0);
        found.known.push(known);
    }
    if is_compare {
        (found.mask, found.mask_known) = (wave.mask(usize::from(inst.dst)), complete);
    } else if all.mask_words > 0 {
        (found.mask, found.mask_known) = (wave.mask(usize::from(inst.sdst)), complete);
    }
    Some(found)
}
