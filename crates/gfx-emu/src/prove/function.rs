//! What integer operations compute, as functions of their sources: for sets of numbers, and which bits of the sources count.
//!
//! An operation that is not here may give any result, and all of its sources count.

use super::value::{Value, below, low};
use crate::isa::{Kind, Op};

/// A function of up to three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// Of each bit by itself.
    Bits(Bits),
    Add,
    Sub,
    Mul,
    /// The upper half of a product.
    MulHigh {
        signed: bool,
    },
    /// The product of the low 24 bits.
    Mul24,
    Shl,
    Shr,
    Sar,
    Min {
        signed: bool,
    },
    Max {
        signed: bool,
    },
    /// The least of three.
    Min3 {
        signed: bool,
    },
    /// The greatest of three.
    Max3 {
        signed: bool,
    },
    /// A field: its lowest bit and its width are the second and the third source.
    Field {
        signed: bool,
    },
    /// The same, both in the second source.
    PackedField {
        signed: bool,
    },
    Add3,
    /// `a * b + c` of the low 24 bits of `a` and `b`.
    Mad24,
    /// `a * b + c` in 64 bits.
    Mad64,
    ShlAdd,
    AddShl,
    ShlOr,
    XorAdd,
    /// `a << n` plus `b`.
    AddMultiple(u32),
    /// With the sign of so many bits.
    Extend(u32),
    /// A byte becomes a float.
    FloatOfByte(u32),
    /// Bytes of the first two sources, as the third one names them.
    Bytes,
}

/// A function of each bit by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bits {
    Copy,
    Not,
    And,
    Or,
    Xor,
    Nand,
    Nor,
    Xnor,
    AndNot,
    OrNot,
    Xor3,
    Or3,
    AndOr,
    /// The second where the first has ones, else the third.
    Insert,
}

impl Bits {
    /// What it makes of words.
    pub(super) fn of(self, [a, b, c]: [u64; 3]) -> u64 {
        match self {
            Bits::Copy => a,
            Bits::Not => !a,
            Bits::And => a & b,
            Bits::Or => a | b,
            Bits::Xor => a ^ b,
            Bits::Nand => !(a & b),
            Bits::Nor => !(a | b),
            Bits::Xnor => !(a ^ b),
            Bits::AndNot => a & !b,
            Bits::OrNot => a | !b,
            Bits::Xor3 => a ^ b ^ c,
            Bits::Or3 => a | b | c,
            Bits::AndOr => a & b | c,
            Bits::Insert => a & b | !a & c,
        }
    }
}

/// A function and how it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Applied {
    pub(super) function: Function,
    /// Bits of the result.
    pub(super) bits: u32,
    /// The first two sources change places.
    pub(super) reversed: bool,
}

impl Applied {
    /// The function of an operation, where it is one of these.
    pub(super) fn of(op: Op) -> Option<Applied> {
        let (function, reversed) = function(op)?;
        let bits = match op.signature().dst {
            Kind::B64 | Kind::I64 => 64,
            Kind::B16 => 16,
            _ => 32,
        };
        Some(Applied {
            function,
            bits,
            reversed,
        })
    }

    /// The place among the function's arguments of a source of the instruction, and the other way round.
    pub(super) fn place(self, source: usize) -> usize {
        match source {
            0 | 1 if self.reversed => 1 - source,
            _ => source,
        }
    }

    /// The sources in the order of the function.
    pub(super) fn arguments<T: Copy>(self, sources: [T; 3]) -> [T; 3] {
        [0, 1, 2].map(|i| sources[self.place(i)])
    }

    /// The results of all members of the sources.
    pub(super) fn result(self, sources: [Value; 3]) -> Value {
        let [a, b, c] = self.arguments(sources);
        let bits = self.bits;
        let result = match self.function {
            Function::Bits(f) => of_bits(f, [a, b, c], bits),
            Function::Add => a.plus(b, bits),
            Function::Sub => a.minus(b, bits),
            Function::Mul => a.times(b, bits),
            Function::MulHigh { signed } => {
                if signed && !(a.is_clear(31) && b.is_clear(31)) {
                    Value::WORD
                } else {
                    a.times(b, 64).upper()
                }
            }
            Function::Mul24 => a.truncated(24).times(b.truncated(24), 32),
            Function::Mad24 => a.truncated(24).times(b.truncated(24), 32).plus(c, 32),
            Function::Mad64 => a.times(b, 64).plus(c, 64),
            Function::Shl => shifted(a, b, bits, |a, by| a.shifted_left(by, bits)),
            Function::Shr => shifted(a, b, bits, Value::shifted_right),
            Function::Sar => {
                if a.is_clear(bits - 1) {
                    shifted(a, b, bits, Value::shifted_right)
                } else {
                    shifted(a, b, bits, |a, by| a.shifted_right(by).extended(bits - by, bits))
                }
            }
            Function::Min { signed } => extreme(a, b, bits, signed, u64::min),
            Function::Max { signed } => extreme(a, b, bits, signed, u64::max),
            Function::Min3 { signed } => {
                extreme(extreme(a, b, bits, signed, u64::min), c, bits, signed, u64::min)
            }
            Function::Max3 { signed } => {
                extreme(extreme(a, b, bits, signed, u64::max), c, bits, signed, u64::max)
            }
            Function::Field { signed } => field(a, b, c, signed),
            Function::PackedField { signed } => packed_field(a, b, bits, signed),
            Function::Add3 => a.plus(b, 32).plus(c, 32),
            Function::ShlAdd => shifted(a, b.and(Value::exactly(shift_mask(bits))), bits, |a, by| {
                a.shifted_left(by, bits)
            })
            .plus(c, bits),
            Function::AddShl => shifted(a.plus(b, 32), c, 32, |a, by| a.shifted_left(by, 32)),
            Function::ShlOr => shifted(a, b, 32, |a, by| a.shifted_left(by, 32)).or(c),
            Function::XorAdd => a.xor(b).plus(c, 32),
            Function::AddMultiple(by) => a.shifted_left(by, 32).plus(b, 32),
            Function::Extend(from) => a.extended(from, 32),
            Function::FloatOfByte(_) | Function::Bytes => Value::WORD,
        };
        result.truncated(bits)
    }

    /// The bits of source `i` that may change the bits `wanted` of the result. Sources with a number in `known` have it.
    pub(super) fn counting(self, i: usize, wanted: u64, known: [Option<u64>; 3]) -> u64 {
        let wanted = wanted & low(self.bits);
        if wanted == 0 {
            return 0;
        }
        let known = self.arguments(known);
        let under = below(wanted);
        let all = u64::MAX;
        let by = |i: usize, mask: u64| known[i].map(|by| (by & mask) as u32);
        let amount = u64::from(self.bits - 1);
        match (self.function, self.place(i)) {
            (Function::Bits(f), place) => wanted & sensitive(f, place, known),
            (Function::Add | Function::Sub | Function::Mul | Function::Add3, _) => under,
            (Function::Mad24, 2) => under,
            (Function::Mul24 | Function::Mad24, _) => under & low(24),
            (Function::Mad64 | Function::XorAdd, _) => under,
            (Function::Shl, 0) => by(1, amount).map_or(under, |by| wanted >> by),
            (Function::Shr, 0) => by(1, amount).map_or(all, |by| wanted << by),
            (Function::Sar, 0) => by(1, amount).map_or(all, |by| {
                let sign = 1 << (self.bits - 1);
                let kept = wanted & low(self.bits - by);
                kept << by | if kept == wanted { 0 } else { sign }
            }),
            // An amount is taken modulo the number of bits.
            (Function::Shl | Function::Shr | Function::Sar, _) => amount,
            (Function::Field { signed }, 0) => match (by(1, 31), by(2, 31)) {
                (Some(from), Some(width)) => of_field(wanted, from, width, 32, signed),
                _ => all,
            },
            (Function::Field { .. }, _) => 31,
            (Function::PackedField { signed }, 0) => match known[1] {
                Some(field) => {
                    let from = (field & amount) as u32;
                    of_field(wanted, from, (field >> 16 & 0x7f) as u32, self.bits, signed)
                }
                None => all,
            },
            (Function::PackedField { .. }, _) => amount | 0x7f << 16,
            (Function::ShlAdd, 0) => shift_amount(known[1], self.bits).map_or(under, |by| under >> by),
            (Function::ShlAdd, 1) => shift_mask(self.bits),
            (Function::ShlAdd, _) => under,
            (Function::AddShl, 0 | 1) => by(2, 31).map_or(under, |by| below(wanted >> by)),
            (Function::AddShl, _) => 31,
            (Function::ShlOr, 0) => by(1, 31).map_or(under, |by| wanted >> by),
            (Function::ShlOr, 1) => 31,
            (Function::ShlOr, _) => wanted,
            (Function::AddMultiple(by), 0) => under >> by,
            (Function::AddMultiple(_), _) => under,
            (Function::Extend(from), _) => of_field(wanted, 0, from, 32, true),
            (Function::FloatOfByte(byte), _) => 0xff << (8 * byte),
            (Function::Bytes, 0) => known[2].map_or(all, |names| named_bytes(wanted, names, 4)),
            (Function::Bytes, 1) => known[2].map_or(all, |names| named_bytes(wanted, names, 0)),
            (Function::Bytes, _) => all,
            (Function::MulHigh { .. } | Function::Min { .. } | Function::Max { .. }, _) => all,
            (Function::Min3 { .. } | Function::Max3 { .. }, _) => all,
        }
    }
}

/// The operations of 64 bits that shift and add look at three bits of the amount.
fn shift_mask(bits: u32) -> u64 {
    if bits == 64 { 7 } else { 31 }
}

fn shift_amount(by: Option<u64>, bits: u32) -> Option<u32> {
    by.map(|by| (by & shift_mask(bits)) as u32)
}

/// The bits of the source of a field that change `wanted`.
fn of_field(wanted: u64, from: u32, width: u32, bits: u32, signed: bool) -> u64 {
    if width == 0 {
        return 0;
    }
    let kept = wanted & low(width);
    let highest = 1 << (width.min(bits) - 1);
    let sign = if signed && kept != wanted { highest } else { 0 };
    let fields = u128::from(kept | sign) << from;
    // What lies above the source is its sign, where there is one.
    let above = if signed && fields >> bits != 0 {
        1 << (bits - 1)
    } else {
        0
    };
    fields as u64 & low(bits) | above
}

/// The bits of the source whose bytes have the numbers from `first` on that change `wanted` of a choice of bytes.
fn named_bytes(wanted: u64, names: u64, first: u64) -> u64 {
    let byte = |i: u32| {
        let wanted = wanted >> (8 * i) & 0xff;
        match names >> (8 * i) & 0xff {
            name @ 0..=7 if name / 4 == first / 4 => wanted << (8 * (name - first)),
            // The sign of a half.
            name @ 8..=11 if wanted != 0 && (name - 8) / 2 == first / 4 => 1 << (16 * ((name - 8) % 2) + 15),
            _ => 0,
        }
    };
    (0..4).map(byte).fold(0, |all, bits| all | bits)
}

/// The bits of argument `place` that change the result at all.
fn sensitive(f: Bits, place: usize, known: [Option<u64>; 3]) -> u64 {
    let choices = known.map(|number| number.map_or([0, u64::MAX], |number| [number; 2]));
    let mut found = 0;
    for choice in 0..8 {
        let mut words = [0, 1, 2].map(|i| choices[i][choice >> i & 1]);
        words[place] = 0;
        let without = f.of(words);
        words[place] = u64::MAX;
        found |= without ^ f.of(words);
    }
    found
}

fn of_bits(f: Bits, [a, b, c]: [Value; 3], bits: u32) -> Value {
    match f {
        Bits::Copy => a,
        Bits::Not => a.not(bits),
        Bits::And => a.and(b),
        Bits::Or => a.or(b),
        Bits::Xor => a.xor(b),
        Bits::Nand => a.and(b).not(bits),
        Bits::Nor => a.or(b).not(bits),
        Bits::Xnor => a.xor(b).not(bits),
        Bits::AndNot => a.and(b.not(bits)),
        Bits::OrNot => a.or(b.not(bits)),
        Bits::Xor3 => a.xor(b).xor(c),
        Bits::Or3 => a.or(b).or(c),
        Bits::AndOr => a.and(b).or(c),
        Bits::Insert => a.and(b).or(a.not(bits).and(c)),
    }
}

fn shifted(a: Value, by: Value, bits: u32, f: impl Fn(Value, u32) -> Value) -> Value {
    let by = by.and(Value::exactly(u64::from(bits - 1)));
    let each = by.each(64, |by| f(a, by as u32));
    each.unwrap_or(Value::any(bits))
}

fn extreme(a: Value, b: Value, bits: u32, signed: bool, f: impl Fn(u64, u64) -> u64) -> Value {
    let either = a.or_else(b);
    if signed && !(a.is_clear(bits - 1) && b.is_clear(bits - 1)) {
        return either;
    }
    Value {
        lo: f(a.lo, b.lo),
        hi: f(a.hi, b.hi),
        ..either
    }
}

fn field(a: Value, from: Value, width: Value, signed: bool) -> Value {
    let taken = if signed && !a.is_clear(31) {
        return match (from.number(), width.number()) {
            (Some(from), Some(width)) if (from & 31) + (width & 31) <= 32 && width & 31 != 0 => a
                .shifted_right((from & 31) as u32)
                .extended((width & 31) as u32, 32),
            _ => Value::WORD,
        };
    } else {
        shifted(a, from, 32, Value::shifted_right)
    };
    match width.number() {
        Some(width) if signed && width & 31 != 0 => taken.extended((width & 31) as u32, 32),
        Some(width) if !signed => taken.truncated((width & 31) as u32),
        _ if signed => Value::WORD,
        _ => Value::up_to(taken.hi),
    }
}

fn packed_field(a: Value, field: Value, bits: u32, signed: bool) -> Value {
    let Some(field) = field.number() else {
        return Value::any(bits);
    };
    let (from, width) = ((field & u64::from(bits - 1)) as u32, (field >> 16 & 0x7f) as u32);
    match width {
        0 => Value::exactly(0),
        _ if !signed => a.shifted_right(from).truncated(width.min(bits)),
        _ if from + width <= bits => a.shifted_right(from).extended(width, bits),
        _ => Value::any(bits),
    }
}

/// The function of an operation, and whether its first two sources change places.
#[rustfmt::skip] // one function a line
fn function(op: Op) -> Option<(Function, bool)> {
    let straight = |function| Some((function, false));
    let reversed = |function| Some((function, true));
    match op {
        Op::MovB32 | Op::MovB64 | Op::AccMov | Op::SMovB32 | Op::SMovB64 => straight(Function::Bits(Bits::Copy)),
        Op::NotB32 | Op::SNotB32 | Op::SNotB64 => straight(Function::Bits(Bits::Not)),
        Op::AndB32 | Op::SAndB32 | Op::SAndB64 => straight(Function::Bits(Bits::And)),
        Op::OrB32 | Op::SOrB32 | Op::SOrB64 => straight(Function::Bits(Bits::Or)),
        Op::XorB32 | Op::SXorB32 | Op::SXorB64 => straight(Function::Bits(Bits::Xor)),
        Op::XnorB32 | Op::SXnorB32 | Op::SXnorB64 => straight(Function::Bits(Bits::Xnor)),
        Op::SNandB32 | Op::SNandB64 => straight(Function::Bits(Bits::Nand)),
        Op::SNorB32 | Op::SNorB64 => straight(Function::Bits(Bits::Nor)),
        Op::SAndNot1B32 | Op::SAndNot1B64 => straight(Function::Bits(Bits::AndNot)),
        Op::SOrNot1B32 | Op::SOrNot1B64 => straight(Function::Bits(Bits::OrNot)),
        Op::Xor3B32 => straight(Function::Bits(Bits::Xor3)),
        Op::Or3B32 => straight(Function::Bits(Bits::Or3)),
        Op::AndOrB32 => straight(Function::Bits(Bits::AndOr)),
        Op::BfiB32 => straight(Function::Bits(Bits::Insert)),
        Op::AddU32 | Op::AddI32 | Op::SAddU32 | Op::SAddI32 | Op::AddNcU64 | Op::SAddNcU64 | Op::AddCoU32 => straight(Function::Add),
        Op::SubU32 | Op::SubI32 | Op::SSubU32 | Op::SSubI32 | Op::SubNcU64 | Op::SSubNcU64 | Op::SubCoU32 => straight(Function::Sub),
        Op::SubrevU32 | Op::SubrevCoU32 => reversed(Function::Sub),
        Op::MulLoU32 | Op::SMulI32 | Op::MulU64 | Op::SMulU64 => straight(Function::Mul),
        Op::MulHiU32 | Op::SMulHiU32 => straight(Function::MulHigh { signed: false }),
        Op::MulHiI32 | Op::SMulHiI32 => straight(Function::MulHigh { signed: true }),
        Op::MulU32U24 => straight(Function::Mul24),
        Op::MadU32U24 => straight(Function::Mad24),
        Op::MadU64U32 | Op::MadNcU64U32 => straight(Function::Mad64),
        Op::LshlrevB32 | Op::LshlrevB64 => reversed(Function::Shl),
        Op::LshrrevB32 | Op::LshrrevB64 => reversed(Function::Shr),
        Op::AshrrevI32 | Op::AshrrevI64 => reversed(Function::Sar),
        Op::SLshlB32 | Op::SLshlB64 => straight(Function::Shl),
        Op::SLshrB32 | Op::SLshrB64 => straight(Function::Shr),
        Op::SAshrI32 | Op::SAshrI64 => straight(Function::Sar),
        Op::MinU16 | Op::MinU32 | Op::SMinU32 | Op::MinU64 => straight(Function::Min { signed: false }),
        Op::MinI16 | Op::MinI32 | Op::SMinI32 | Op::MinI64 => straight(Function::Min { signed: true }),
        Op::MaxU16 | Op::MaxU32 | Op::SMaxU32 | Op::MaxU64 => straight(Function::Max { signed: false }),
        Op::MaxI16 | Op::MaxI32 | Op::SMaxI32 | Op::MaxI64 => straight(Function::Max { signed: true }),
        Op::Min3U16 | Op::Min3U32 => straight(Function::Min3 { signed: false }),
        Op::Min3I16 | Op::Min3I32 => straight(Function::Min3 { signed: true }),
        Op::Max3U16 | Op::Max3U32 => straight(Function::Max3 { signed: false }),
        Op::Max3I16 | Op::Max3I32 => straight(Function::Max3 { signed: true }),
        Op::BfeU32 => straight(Function::Field { signed: false }),
        Op::BfeI32 => straight(Function::Field { signed: true }),
        Op::SBfeU32 | Op::SBfeU64 => straight(Function::PackedField { signed: false }),
        Op::SBfeI32 | Op::SBfeI64 => straight(Function::PackedField { signed: true }),
        Op::Add3U32 => straight(Function::Add3),
        Op::LshlAddU32 | Op::LshlAddU64 => straight(Function::ShlAdd),
        Op::AddLshlU32 => straight(Function::AddShl),
        Op::LshlOrB32 => straight(Function::ShlOr),
        Op::XadU32 => straight(Function::XorAdd),
        Op::SLshl1AddU32 => straight(Function::AddMultiple(1)),
        Op::SLshl2AddU32 => straight(Function::AddMultiple(2)),
        Op::SLshl3AddU32 => straight(Function::AddMultiple(3)),
        Op::SLshl4AddU32 => straight(Function::AddMultiple(4)),
        Op::SSextI32I8 => straight(Function::Extend(8)),
        Op::SSextI32I16 => straight(Function::Extend(16)),
        Op::AndB16 => straight(Function::Bits(Bits::And)),
        Op::OrB16 => straight(Function::Bits(Bits::Or)),
        Op::XorB16 => straight(Function::Bits(Bits::Xor)),
        Op::NotB16 => straight(Function::Bits(Bits::Not)),
        Op::AddU16 | Op::AddI16 => straight(Function::Add),
        Op::SubU16 | Op::SubI16 => straight(Function::Sub),
        Op::MulLoU16 => straight(Function::Mul),
        Op::LshlrevB16 => reversed(Function::Shl),
        Op::LshrrevB16 => reversed(Function::Shr),
        Op::AshrrevI16 => reversed(Function::Sar),
        Op::PermB32 => straight(Function::Bytes),
        Op::CvtF32Ubyte0 => straight(Function::FloatOfByte(0)),
        Op::CvtF32Ubyte1 => straight(Function::FloatOfByte(1)),
        Op::CvtF32Ubyte2 => straight(Function::FloatOfByte(2)),
        Op::CvtF32Ubyte3 => straight(Function::FloatOfByte(3)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUNCTIONS: [Op; 36] = [
        Op::MinU16,
        Op::MaxI16,
        Op::MinU32,
        Op::Min3U16,
        Op::Max3I16,
        Op::Max3U32,
        Op::AndB32,
        Op::XorB32,
        Op::SAndNot1B64,
        Op::BfiB32,
        Op::AndOrB32,
        Op::AddU32,
        Op::SubrevU32,
        Op::SSubNcU64,
        Op::MulLoU32,
        Op::MulU32U24,
        Op::MadU32U24,
        Op::MadU64U32,
        Op::LshlrevB32,
        Op::LshrrevB64,
        Op::AshrrevI32,
        Op::SAshrI64,
        Op::LshlrevB16,
        Op::AshrrevI16,
        Op::BfeU32,
        Op::BfeI32,
        Op::SBfeU32,
        Op::SBfeI32,
        Op::Add3U32,
        Op::LshlAddU32,
        Op::LshlAddU64,
        Op::AddLshlU32,
        Op::LshlOrB32,
        Op::XadU32,
        Op::SLshl3AddU32,
        Op::SSextI32I8,
    ];

    /// Numbers without a pattern.
    fn noise(seed: &mut u64) -> u64 {
        *seed = seed
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (*seed ^ *seed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    #[test]
    fn bits_that_do_not_count_change_nothing_that_is_wanted() {
        let mut seed = 1;
        let mut compared = 0;
        for op in FUNCTIONS {
            let applied = Applied::of(op).unwrap();
            let kinds = op.signature().src;
            let bits = |i: usize| match kinds.get(i) {
                Some(Kind::B64 | Kind::I64) => 64,
                Some(Kind::B16) => 16,
                _ => 32,
            };
            for round in 0..400 {
                let mut sources = [0, 1, 2].map(|i| noise(&mut seed) & low(bits(i)));
                // Small ones, too, as amounts are.
                for source in &mut sources {
                    *source = if noise(&mut seed) & 3 == 0 {
                        *source & 31
                    } else {
                        *source
                    };
                }
                let result = |sources: [u64; 3]| applied.result(sources.map(Value::exactly)).number();
                let Some(right) = result(sources) else { continue };
                let wanted =
                    low(1 + (noise(&mut seed) % 32) as u32) << (noise(&mut seed) % 32) & low(applied.bits);
                for i in 0..kinds.len() {
                    // Some of the others are known.
                    let known = [0, 1, 2].map(|j| (i != j && round >> j & 1 != 0).then_some(sources[j]));
                    let counting = applied.counting(i, wanted, known);
                    let mut changed = sources;
                    changed[i] ^= noise(&mut seed) & !counting & low(bits(i));
                    let Some(got) = result(changed) else { continue };
                    assert_eq!(
                        (right ^ got) & wanted,
                        0,
                        "{op:?} {sources:x?} {changed:x?} {wanted:#x}"
                    );
                    compared += 1;
                }
            }
        }
        assert!(compared > 15_000, "{compared}");
    }

    #[test]
    fn results_of_sets_have_those_of_their_members() {
        let mut seed = 2;
        for op in FUNCTIONS {
            let applied = Applied::of(op).unwrap();
            for _ in 0..200 {
                let bits = [0, 1, 2].map(|_| (noise(&mut seed) % 16 + 1) as u32);
                let sets = bits.map(Value::any);
                let members = bits.map(|bits| noise(&mut seed) & low(bits));
                let Some(number) = applied.result(members.map(Value::exactly)).number() else {
                    continue;
                };
                let all = applied.result(sets);
                assert!(
                    (all.lo..=all.hi).contains(&number) && number & all.zeros == 0 && !number & all.ones == 0,
                    "{op:?} {members:x?} {number:#x} {all:x?}"
                );
            }
        }
    }
}
