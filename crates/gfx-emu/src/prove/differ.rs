//! How the result of an instruction differs from that of another in its place, for the numbers that their sources can have.

use super::demand::Demand;
use super::function::{Applied, Bits, Function};
use super::operands;
use super::state::State;
use super::value::{Value, low};
use crate::isa::{Inst, Op, Part, Src, Transfer, Unit};

/// What may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// Bits of the destination; of one with more than two registers, all or none.
    dst: u64,
    /// The mask that is a second destination.
    mask: bool,
    scc: bool,
}

impl Difference {
    const NOTHING: Difference = Difference {
        dst: 0,
        mask: false,
        scc: false,
    };

    pub(super) fn is_nothing(self) -> bool {
        self == Difference::NOTHING
    }

    /// Whether nothing looks at what differs.
    pub(super) fn is_unread(self, inst: &Inst, after: &Demand) -> bool {
        let lanes = after.lanes();
        let operands = operands::of(inst, lanes);
        let word = |i: u8| {
            let n = inst.dst + u16::from(i);
            match operands.dst_is_vector {
                true => after.vector(n),
                false => after.scalar.get(usize::from(n)).copied().unwrap_or(u32::MAX),
            }
        };
        let differs = |i: u8| match i {
            0 => self.dst as u32,
            1 => (self.dst >> 32) as u32,
            _ if self.dst != 0 => u32::MAX,
            _ => 0,
        };
        let masks = (0..operands.mask_words).map(|i| usize::from(inst.sdst + i));
        (0..operands.dst_words).all(|i| word(i) & differs(i) == 0)
            && !(self.scc && after.scc)
            && !(self.mask && masks.into_iter().any(|n| after.scalar.get(n) != Some(&0)))
    }
}

/// Whether an instruction is the same as another.
pub(super) fn is_same(inst: &Inst, other: &Inst) -> bool {
    let rest = |inst: &Inst| {
        (
            (
                inst.op, inst.unit, inst.dst, inst.sdst, inst.src, inst.space, inst.imm,
            ),
            (
                inst.address,
                inst.base,
                inst.soffset,
                inst.idxen,
                inst.offen,
                inst.factor,
            ),
            (inst.returns, inst.writes_exec, inst.clears_half, inst.entangled),
        )
    };
    same_flags(inst, other)
        && rest(inst) == rest(other)
        && inst.dpp == other.dpp
        && inst.parts == other.parts
        && inst.scales == other.scales
        && inst.broadcast == other.broadcast
}

/// How an instruction and its mutant differ; `None` where they may differ in more than in the registers that the instruction
/// writes.
pub(super) fn between(inst: &Inst, mutant: &Inst, state: &State, lanes: usize) -> Option<Difference> {
    let same_places = inst.dst == mutant.dst
        && inst.sdst == mutant.sdst
        && inst.writes_exec == mutant.writes_exec
        && inst.entangled == mutant.entangled
        && inst.dpp == mutant.dpp
        && inst.parts == mutant.parts
        && inst.clears_half == mutant.clears_half;
    let (of_inst, of_mutant) = (operands::of(inst, lanes), operands::of(mutant, lanes));
    let same_writes = of_inst
        == operands::Operands {
            writes_scc: of_inst.writes_scc,
            ..of_mutant
        };
    if !same_places || !same_writes {
        return None;
    }
    match (inst.unit, mutant.unit) {
        (Unit::Memory(Transfer::LoadPart(one)), Unit::Memory(Transfer::LoadPart(other))) => {
            loads(inst, mutant, one, other)
        }
        (Unit::Compare, Unit::Compare) => {
            let same = relations(inst, mutant, state);
            if !same && inst.writes_exec {
                return None;
            }
            Some(Difference {
                dst: if same { 0 } else { u64::MAX },
                ..Difference::NOTHING
            })
        }
        (Unit::Scalar, Unit::Scalar) if !of_inst.has_effects => Some(scalar(inst, mutant, state)),
        (Unit::Lane, Unit::Lane) | (Unit::Vector, Unit::Vector)
            if !of_inst.has_effects && !of_inst.crosses =>
        {
            let dst = results(inst, mutant, state);
            Some(Difference {
                dst,
                mask: dst != 0,
                scc: false,
            })
        }
        _ => None,
    }
}

/// Loads from one address, of as many bytes.
fn loads(inst: &Inst, mutant: &Inst, one: Part, other: Part) -> Option<Difference> {
    let same = inst.address == mutant.address
        && inst.base == mutant.base
        && inst.soffset == mutant.soffset
        && inst.imm == mutant.imm
        && inst.space == mutant.space
        && inst.src == mutant.src
        && (inst.idxen, inst.offen, inst.factor) == (mutant.idxen, mutant.offen, mutant.factor)
        && Part { signed: true, ..one }
            == Part {
                signed: true,
                ..other
            };
    let shift = if one.half == Some(true) { 16 } else { 0 };
    let register = if one.half.is_some() { low(16) } else { low(32) };
    let dst = (register & !low(8 * u32::from(one.bytes))) << shift;
    same.then_some(Difference {
        dst,
        ..Difference::NOTHING
    })
}

/// Whether all that decides a result besides operation and sources is the same.
fn same_flags(inst: &Inst, mutant: &Inst) -> bool {
    (
        inst.neg,
        inst.abs,
        inst.op_sel,
        inst.op_sel_hi,
        inst.clamp,
        inst.omod,
        inst.relations,
    ) == (
        mutant.neg,
        mutant.abs,
        mutant.op_sel,
        mutant.op_sel_hi,
        mutant.clamp,
        mutant.omod,
        mutant.relations,
    )
}

/// Bits in which two vector or scalar results may differ. For one that has a carry, any difference counts for that too.
fn results(inst: &Inst, mutant: &Inst, state: &State) -> u64 {
    const ANY: u64 = u64::MAX;
    let (sources, others) = (state.sources(inst), state.sources(mutant));
    if !same_flags(inst, mutant) {
        return ANY;
    }
    let plain = operands::is_plain(inst);
    if let (Some(one), Some(other)) = (conversion(inst.op), conversion(mutant.op)) {
        // A number without the sign bit is the same number with either sign.
        let bits = one.0;
        let same =
            one.0 == other.0 && one.1 == other.1 && inst.src == mutant.src && sources[0].is_clear(bits - 1);
        return if same && inst.dpp.is_none() && inst.parts.is_none() {
            0
        } else {
            ANY
        };
    }
    if !plain {
        return ANY;
    }
    if let (Op::CndmaskB32, Op::CndmaskB32)
    | (Op::SCselectB32, Op::SCselectB32)
    | (Op::SCselectB64, Op::SCselectB64) = (inst.op, mutant.op)
        && inst.src[2] == mutant.src[2]
    {
        return [0, 1]
            .map(|i| unlike(inst.src[i], mutant.src[i], sources[i], others[i]))
            .into_iter()
            .fold(0, |all, bits| all | bits);
    }
    if carry_alike(inst, mutant, state) {
        return 0;
    }
    let (Some(one), Some(other)) = (Applied::of(inst.op), Applied::of(mutant.op)) else {
        return ANY;
    };
    if one.bits != other.bits {
        return ANY;
    }
    let carries = matches!(
        inst.op,
        Op::AddCoU32 | Op::SubCoU32 | Op::SubrevCoU32 | Op::MadU64U32
    );
    let bits = differing(
        one.function,
        other.function,
        Sides {
            src: [one.arguments(inst.src), other.arguments(mutant.src)],
            values: [one.arguments(sources), other.arguments(others)],
        },
        one.bits,
    );
    // The carry is written to another register: the result does not have it.
    if carries && inst.op != mutant.op {
        ANY
    } else {
        bits & low(one.bits)
    }
}

/// How a sum or difference with a carry is made of its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrying {
    Sum,
    Difference,
    Reversed,
}

impl Carrying {
    fn of(op: Op) -> Option<Carrying> {
        Some(match op {
            Op::AddCoCiU32 | Op::SAddcU32 => Carrying::Sum,
            Op::SubCoCiU32 | Op::SSubbU32 => Carrying::Difference,
            Op::SubrevCoCiU32 => Carrying::Reversed,
            _ => return None,
        })
    }
}

/// Whether two sums or differences with a carry have the same result and carry alike, because what they add or subtract is zero, or because both
/// are of the same numbers.
fn carry_alike(inst: &Inst, mutant: &Inst, state: &State) -> bool {
    let (Some(one), Some(other)) = (Carrying::of(inst.op), Carrying::of(mutant.op)) else {
        return false;
    };
    if inst.src[2] != mutant.src[2] || inst.op.unit() != mutant.op.unit() {
        return false;
    }
    let numbers = |inst: &Inst| {
        let [a, b, _] = state.sources(inst);
        [a.number(), b.number()]
    };
    let ([a, b], [mutant_a, mutant_b]) = (numbers(inst), numbers(mutant));
    if one == other {
        return a.is_some() && b.is_some() && (a, b) == (mutant_a, mutant_b);
    }
    let alike = inst.src[..2] == mutant.src[..2];
    let no_carry = state.carried(inst).number() == Some(0);
    let either = |x, y| (one, other) == (x, y) || (other, one) == (x, y);
    alike
        && (either(Carrying::Sum, Carrying::Difference) && b == Some(0) && no_carry
            || either(Carrying::Sum, Carrying::Reversed) && a == Some(0) && no_carry
            || either(Carrying::Difference, Carrying::Reversed) && a.is_some() && a == b)
}

/// Bits in which an operand may differ from another.
fn unlike(one: Src, other: Src, a: Value, b: Value) -> u64 {
    if one == other {
        return 0;
    }
    // What is known of both and the same.
    !(a.zeros & b.zeros | a.ones & b.ones)
}

/// Operands of a function and of another one.
struct Sides {
    src: [[Src; 3]; 2],
    values: [[Value; 3]; 2],
}

/// Bits in which the results of two functions may differ.
fn differing(f: Function, g: Function, sides: Sides, bits: u32) -> u64 {
    const ANY: u64 = u64::MAX;
    let Sides { src, values } = sides;
    let [a, b, c] = values[0];
    let apply = |function, values| {
        let applied = Applied {
            function,
            bits,
            reversed: false,
        };
        applied.result(values)
    };
    let (one, other) = (apply(f, values[0]), apply(g, values[1]));
    // What is known of both and the same does not differ.
    let mut found = !(one.zeros & other.zeros | one.ones & other.ones);
    if let (Function::Bits(f), Function::Bits(g)) = (f, g) {
        found &= differing_bits([f, g], src, values);
    }
    if src[0] == src[1] && f == g {
        return 0;
    }
    let same = src[0] == src[1];
    let highest = bits - 1;
    let clear = |value: Value| value.is_clear(highest);
    found &= match (f, g) {
        (Function::MulHigh { .. }, Function::MulHigh { .. })
        | (Function::Min { signed: true }, Function::Min { signed: false })
        | (Function::Min { signed: false }, Function::Min { signed: true })
        | (Function::Max { signed: true }, Function::Max { signed: false })
        | (Function::Max { signed: false }, Function::Max { signed: true })
            if same && clear(a) && clear(b) =>
        {
            0
        }
        (Function::Min3 { .. }, Function::Min3 { .. }) | (Function::Max3 { .. }, Function::Max3 { .. })
            if same && clear(a) && clear(b) && clear(c) =>
        {
            0
        }
        (Function::Shr, Function::Sar) | (Function::Sar, Function::Shr) if same => match b.number() {
            _ if clear(a) => 0,
            // Above what was there.
            Some(by) => !low(bits - (by as u32 & highest)),
            None => ANY,
        },
        (Function::Field { .. }, Function::Field { .. }) if same => {
            match (values[0][1].number(), values[0][2].number()) {
                (Some(from), Some(width)) => {
                    let (from, width) = ((from & 31) as u32, (width & 31) as u32);
                    match width {
                        0 => 0,
                        _ if from + width <= 32 && a.is_clear(from + width - 1) => 0,
                        _ if from + width <= 32 => !low(width),
                        _ => ANY,
                    }
                }
                _ => ANY,
            }
        }
        (Function::PackedField { .. }, Function::PackedField { .. }) if same => match b.number() {
            Some(field) => {
                let (from, width) = ((field & u64::from(highest)) as u32, (field >> 16 & 0x7f) as u32);
                match width {
                    0 => 0,
                    _ if from + width <= bits && a.is_clear(from + width - 1) => 0,
                    _ if from + width <= bits => !low(width),
                    _ => ANY,
                }
            }
            None => ANY,
        },
        // Sums of numbers without a common bit have no carries.
        (Function::Add, Function::Bits(Bits::Or | Bits::Xor))
        | (Function::Bits(Bits::Or | Bits::Xor), Function::Add)
            if same && a.zeros | b.zeros == ANY =>
        {
            0
        }
        (Function::Add, Function::Add) => block_of_sums(src, values).map_or(ANY, low),
        // `a + b` and `a - b` differ by twice `b`.
        (Function::Add, Function::Sub) | (Function::Sub, Function::Add) if same => {
            let even = b.zeros.trailing_ones();
            if even >= highest { 0 } else { !low(even + 1) }
        }
        (Function::Add | Function::Bits(_) | Function::Sub | Function::Mul, _) | (_, _) => ANY,
    };
    found
}

/// For sums of one register and of two numbers: how many low bits they differ in at most, where the register has zeros in these bits and the
/// numbers differ in no other. Such sums carry alike.
fn block_of_sums(src: [[Src; 3]; 2], values: [[Value; 3]; 2]) -> Option<u32> {
    let [one, other] = values;
    let even = one[0].zeros.trailing_ones();
    let (a, b) = (one[1].number()?, other[1].number()?);
    (src[0][0] == src[1][0] && (a ^ b) & !low(even) == 0).then_some(even)
}

/// The same for functions of each bit by itself. Registers that both read have one number.
fn differing_bits(functions: [Bits; 2], src: [[Src; 3]; 2], values: [[Value; 3]; 2]) -> u64 {
    // Each register once.
    let mut all: Vec<(Src, Value)> = vec![];
    for (src, value) in src.iter().flatten().zip(values.iter().flatten()) {
        if !all.iter().any(|(known, _)| known == src) {
            all.push((*src, *value));
        }
    }
    let mut found = 0;
    for choice in 0..1_u32 << all.len() {
        // Bits that can be as they are chosen.
        let mut possible = u64::MAX;
        for (i, (_, value)) in all.iter().enumerate() {
            possible &= if choice >> i & 1 != 0 {
                !value.zeros
            } else {
                !value.ones
            };
        }
        let word = |src: Src| {
            let place = all.iter().position(|(known, _)| *known == src).unwrap_or(0);
            if choice >> place & 1 != 0 { u64::MAX } else { 0 }
        };
        let [one, other] = [0, 1].map(|side| functions[side].of(src[side].map(word)));
        found |= possible & (one ^ other);
    }
    found
}

fn scalar(inst: &Inst, mutant: &Inst, state: &State) -> Difference {
    if let (Some((signed, counts)), Some((signed_too, counts_too))) =
        (scalar_relation(inst.op), scalar_relation(mutant.op))
    {
        let one = Comparison::of(state.source(inst, 0), state.source(inst, 1), counts, signed, 32);
        let other = Comparison::of(
            state.source(mutant, 0),
            state.source(mutant, 1),
            counts_too,
            signed_too,
            32,
        );
        let same = one.is_same(other, inst.src == mutant.src);
        return Difference {
            scc: !same,
            ..Difference::NOTHING
        };
    }
    let words = (
        inst.op.signature().dst.registers(32),
        mutant.op.signature().dst.registers(32),
    );
    if words.0 != words.1 || words.0 == 0 {
        return Difference {
            dst: u64::MAX,
            mask: false,
            scc: true,
        };
    }
    let dst = results(inst, mutant, state);
    let writes = [inst, mutant].map(|inst| operands::writes_scc(inst.op));
    let tells_zero = [inst, mutant].iter().all(|inst| {
        matches!(
            Applied::of(inst.op).map(|applied| applied.function),
            Some(
                Function::Bits(_)
                    | Function::Shl
                    | Function::Shr
                    | Function::Sar
                    | Function::PackedField { .. }
            )
        )
    });
    let extremes = inst.src == mutant.src
        && [inst, mutant].iter().all(|inst| {
            let function = Applied::of(inst.op).map(|applied| applied.function);
            matches!(function, Some(Function::Min { .. } | Function::Max { .. })) && {
                let [a, b, _] = state.sources(inst);
                a.is_clear(31) && b.is_clear(31)
            }
        });
    let is_sum = |inst: &Inst| matches!(inst.op, Op::SAddU32 | Op::SAddI32);
    let sums_carry_alike = inst.op == mutant.op
        && is_sum(inst)
        && block_of_sums(
            [inst.src, mutant.src],
            [state.sources(inst), state.sources(mutant)],
        )
        .is_some();
    let nonzero = [inst, mutant]
        .iter()
        .all(|inst| Applied::of(inst.op).is_some_and(|applied| applied.result(state.sources(inst)).lo > 0));
    let scc = match writes {
        [false, false] => false,
        // Both say whether the result is zero.
        [true, true] if tells_zero => dst != 0 && !nonzero,
        // The first is the lesser one, or the greater one.
        [true, true] if extremes => dst != 0,
        // Of sums it says what they carry.
        [true, true] if sums_carry_alike || carry_alike(inst, mutant, state) => false,
        _ => true,
    };
    Difference {
        dst,
        mask: false,
        scc,
    }
}

/// Whether an operation converts an integer, from how many bits, and to what.
fn conversion(op: Op) -> Option<(u32, u32)> {
    Some(match op {
        Op::CvtF32I32 | Op::CvtF32U32 | Op::SCvtF32I32 | Op::SCvtF32U32 => (32, 32),
        Op::CvtF64I32 | Op::CvtF64U32 => (32, 64),
        Op::CvtF16I16 | Op::CvtF16U16 => (16, 16),
        _ => return None,
    })
}

/// A comparison: which relations are possible, and which of them it counts as true.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    /// 1 less, 2 equal, 4 greater.
    possible: u8,
    counts: u8,
    /// The numbers are ordered as if they had no sign, which they do not have.
    is_plain: bool,
    signed: bool,
}

impl Comparison {
    fn of(a: Value, b: Value, counts: u8, signed: bool, bits: u32) -> Comparison {
        let is_plain = !signed || a.is_clear(bits - 1) && b.is_clear(bits - 1);
        let possible = if is_plain {
            let apart = a.zeros & b.ones | a.ones & b.zeros != 0;
            u8::from(a.lo < b.hi)
                | u8::from(a.lo <= b.hi && b.lo <= a.hi && !apart) << 1
                | u8::from(a.hi > b.lo) << 2
        } else {
            7
        };
        Comparison {
            possible,
            counts,
            is_plain: is_plain && a.is_clear(bits - 1) && b.is_clear(bits - 1),
            signed,
        }
    }

    /// The answer, where there is one in any case.
    fn answer(self) -> Option<bool> {
        match self.counts & self.possible {
            0 => Some(false),
            all if all == self.possible => Some(true),
            _ => None,
        }
    }

    /// Whether two comparisons, `alike` where they compare the same operands, have the same answer.
    fn is_same(self, other: Comparison, alike: bool) -> bool {
        let definite = self.answer().is_some() && self.answer() == other.answer();
        let ordered_alike = alike && (self.signed == other.signed || self.is_plain && other.is_plain);
        let possible = self.possible & other.possible;
        definite || ordered_alike && self.counts & possible == other.counts & possible
    }
}

/// Whether two vector comparisons have the same answer in each active lane.
fn relations(inst: &Inst, mutant: &Inst, state: &State) -> bool {
    let [one, other] = [inst, mutant].map(|inst| {
        let (signed, bits) = match inst.op {
            Op::CmpU16 => (false, 16),
            Op::CmpI16 => (true, 16),
            Op::CmpU32 => (false, 32),
            Op::CmpI32 => (true, 32),
            Op::CmpU64 => (false, 64),
            Op::CmpI64 => (true, 64),
            _ => return None,
        };
        if inst.neg | inst.abs != 0 || inst.clamp || inst.dpp.is_some() || inst.parts.is_some() {
            return None;
        }
        let [a, b, _] = state.sources(inst);
        Some(Comparison::of(a, b, inst.relations, signed, bits))
    });
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    one.is_same(other, inst.src == mutant.src && inst.op_sel == mutant.op_sel)
}

/// Whether a scalar comparison has a sign, and the relations that it counts as true.
fn scalar_relation(op: Op) -> Option<(bool, u8)> {
    Some(match op {
        Op::SCmpEqI32 | Op::SCmpEqU32 => (false, 2),
        Op::SCmpLgI32 | Op::SCmpLgU32 => (false, 5),
        Op::SCmpGtI32 => (true, 4),
        Op::SCmpGeI32 => (true, 6),
        Op::SCmpLtI32 => (true, 1),
        Op::SCmpLeI32 => (true, 3),
        Op::SCmpGtU32 => (false, 4),
        Op::SCmpGeU32 => (false, 6),
        Op::SCmpLtU32 => (false, 1),
        Op::SCmpLeU32 => (false, 3),
        _ => return None,
    })
}
