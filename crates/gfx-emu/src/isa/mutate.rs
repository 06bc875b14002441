//! Changes one instruction of machine code into another legal one: what is wrong with it is known, and nothing is compiled.
//!
//! A candidate is a change of one field of the encoding. It is kept when the decoder reads the candidate as the instruction
//! that was meant: every part that was not to change is as it was.

mod fields;
mod names;

use std::collections::{BTreeMap, BTreeSet};

use super::decode;
use super::instruction::{Encoding, Instruction, Isa, Operand};
use super::ops::Kind as Of;
use super::print;
use super::unit::{Control, Share, Transfer, Unit};
use crate::wave::reg;
use fields::{format_word, offset_field, opcode_field, source_fields};
use names::renames;

/// What is wrong with a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MutationKind {
    /// A comparison has another relation.
    Compare,
    /// Another operation: a difference for a sum, a maximum for a minimum, signed for unsigned.
    Operation,
    /// A constant is the next one.
    Constant,
    /// An amount or direction of a shift is another one.
    Shift,
    /// The operands of an operation that does not commute are swapped.
    Operands,
    /// A store, or an atomic without result, does not happen.
    Store,
    /// A barrier does not hold.
    Barrier,
    /// A wait, or a control of a cache, does not happen.
    Wait,
    /// A branch is taken when it should not be, and the other way round.
    Branch,
    /// Rounding or subnormal numbers are handled in another way.
    Mode,
    /// Other lanes are active.
    Lanes,
    /// An offset of a memory access is one element more.
    Offset,
}

impl MutationKind {
    /// Every kind, in the order of tables.
    pub const ALL: [MutationKind; 12] = [
        MutationKind::Compare,
        MutationKind::Operation,
        MutationKind::Constant,
        MutationKind::Shift,
        MutationKind::Operands,
        MutationKind::Store,
        MutationKind::Barrier,
        MutationKind::Wait,
        MutationKind::Branch,
        MutationKind::Mode,
        MutationKind::Lanes,
        MutationKind::Offset,
    ];

    /// The word of tables.
    pub const fn word(self) -> &'static str {
        match self {
            MutationKind::Compare => "compare",
            MutationKind::Operation => "operation",
            MutationKind::Constant => "constant",
            MutationKind::Shift => "shift",
            MutationKind::Operands => "operands",
            MutationKind::Store => "store",
            MutationKind::Barrier => "barrier",
            MutationKind::Wait => "wait",
            MutationKind::Branch => "branch",
            MutationKind::Mode => "mode",
            MutationKind::Lanes => "lanes",
            MutationKind::Offset => "offset",
        }
    }

    /// Why no case can notice it on this emulator, where that holds of every mutant of the kind.
    pub const fn equivalent(self) -> Option<&'static str> {
        match self {
            MutationKind::Wait => {
                Some("every instruction is complete before the next begins, so there is nothing to wait for")
            }
            _ => None,
        }
    }
}

/// Does nothing, for one wait state, in every instruction set.
const NOP: u32 = 0xbf80_0000;

/// An instruction in the place of another.
pub(crate) struct Mutant {
    /// What is wrong with it.
    pub(crate) kind: MutationKind,
    /// Its bytes, as many as before.
    pub(crate) bytes: Vec<u8>,
    /// As assembly text.
    pub(crate) text: String,
}

/// Makes mutants, and remembers which opcodes there are.
#[derive(Debug, Default)]
pub(crate) struct Mutagen(Opcodes);

impl Mutagen {
    /// Every mutant of the instruction that `text` begins with.
    pub(crate) fn mutants(&mut self, isa: Isa, lanes: usize, text: &[u8]) -> Vec<Mutant> {
        let decoder = |text: &[u8]| decode::decode(isa, lanes, text).ok();
        let Some(inst) = decoder(text) else {
            return vec![];
        };
        let site = Site {
            bytes: text.get(..usize::from(inst.size)).unwrap_or_default(),
            inst: &inst,
        };
        let mutants = mutants(&site, &decoder, &mut self.0).into_iter();
        let told = |(kind, bytes): (MutationKind, Vec<u8>)| Mutant {
            kind,
            text: decoder(&bytes).map_or_else(String::new, |inst| print::print(&inst)),
            bytes,
        };
        mutants.map(told).collect()
    }
}

/// An instruction on its way to its mutants.
struct Site<'a> {
    inst: &'a Instruction,
    bytes: &'a [u8],
}

/// Where a field lies: which dword, its lowest bit, its bits.
type EncodingField = (usize, u32, u32);

/// Opcodes that were found for a mnemonic, or that there is none.
type Opcodes = BTreeMap<(&'static str, String), Option<u32>>;

/// What decodes candidates.
type Decoder<'a> = &'a dyn Fn(&[u8]) -> Option<Instruction>;

/// Every mutant of an instruction, as the bytes that take its place.
fn mutants(site: &Site<'_>, decoder: Decoder<'_>, opcodes: &mut Opcodes) -> Vec<(MutationKind, Vec<u8>)> {
    let mut found = vec![];
    // The greater of a number and itself is the less, too: compilers write so where a NaN is to become quiet.
    let inst = site.inst;
    let same =
        inst.src[0] == inst.src[1] && inst.row.op.signature().src.len() == 2 && inst.neg | inst.abs == 0;
    let idle = same
        && ["_min", "_max"]
            .iter()
            .any(|word| inst.row.mnemonic.contains(word));
    let renames = if idle { vec![] } else { renames(inst.row.mnemonic) };
    for (kind, mnemonic) in renames {
        let renamed = site.renamed(&mnemonic, decoder, opcodes);
        found.extend(renamed.map(|bytes| (kind, bytes)));
    }
    site.constants(decoder, &mut found);
    site.swapped(decoder, &mut found);
    site.negated(decoder, &mut found);
    site.dropped(&mut found);
    site.modes(decoder, &mut found);
    site.offsets(decoder, &mut found);
    // Two ways may lead to one mutant.
    let mut seen = BTreeSet::new();
    found.retain(|(_, bytes)| bytes != site.bytes && seen.insert(bytes.clone()));
    found
}

fn is_float(kind: Of) -> bool {
    matches!(kind, Of::F16 | Of::Bf16 | Of::F32 | Of::F64 | Of::PF32)
        || kind.is_float_pair()
        || kind.is_mixed()
}

/// Whether the operands of an operation cannot be swapped.
fn is_ordered(mnemonic: &str) -> bool {
    let words = [
        "_sub", "_lsh", "_ash", "cndmask", "cselect", "ldexp", "_lt_", "_le_", "_gt_", "_ge_", "andn",
        "and_not", "orn",
    ];
    words.iter().any(|word| mnemonic.contains(word))
}

impl Site<'_> {
    fn word(&self, index: usize) -> u32 {
        let bytes = self.bytes.get(4 * index..4 * index + 4).unwrap_or_default();
        bytes
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u32::from(*byte))
    }

    fn get(&self, (word, low, width): EncodingField) -> u32 {
        self.word(word) >> low & ((1 << width) - 1)
    }

    /// The bytes with other fields.
    fn with(&self, fields: &[(EncodingField, u32)]) -> Vec<u8> {
        let mut bytes = self.bytes.to_vec();
        for &((word, low, width), value) in fields {
            let Some(place) = bytes.get_mut(4 * word..4 * word + 4) else {
                continue;
            };
            let mask = (((1_u64 << width) - 1) as u32) << low;
            let old = place
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u32::from(*byte));
            place.copy_from_slice(&(old & !mask | value << low & mask).to_le_bytes());
        }
        bytes
    }

    /// The candidate, if it decodes to the instruction as `change` makes it.
    fn checked(
        &self,
        bytes: Vec<u8>,
        decoder: Decoder<'_>,
        change: impl FnOnce(&mut Instruction),
    ) -> Option<Vec<u8>> {
        let mut wanted = self.inst.clone();
        change(&mut wanted);
        (decoder(&bytes)? == wanted).then_some(bytes)
    }

    /// With another opcode.
    fn renamed(&self, mnemonic: &str, decoder: Decoder<'_>, opcodes: &mut Opcodes) -> Option<Vec<u8>> {
        let field = opcode_field(self.inst.isa, self.inst.format);
        let as_wanted = |value: u32| {
            let bytes = self.with(&[(field, value)]);
            let found = decoder(&bytes)?;
            let row = found.row;
            let same = row.mnemonic == mnemonic
                && row.op.unit() != Unit::Unsupported
                && Instruction {
                    row,
                    ..self.inst.clone()
                } == found;
            same.then_some(bytes)
        };
        let key = (format_word(self.inst.format), mnemonic.to_owned());
        if let Some(known) = opcodes.get(&key) {
            return known.and_then(as_wanted);
        }
        let named = |value: &u32| {
            let found = decoder(&self.with(&[(field, *value)]));
            found.is_some_and(|found| found.row.mnemonic == mnemonic)
        };
        let opcode = (0..1 << field.2).find(named);
        opcodes.insert(key, opcode);
        opcode.and_then(as_wanted)
    }

    /// Constants by one, amounts of shifts among them.
    fn constants(&self, decoder: Decoder<'_>, found: &mut Vec<(MutationKind, Vec<u8>)>) {
        let inst = self.inst;
        let shifts = ["lsh", "ash", "bfe", "alignb"]
            .iter()
            .any(|word| inst.row.mnemonic.contains(word));
        let label = if shifts {
            MutationKind::Shift
        } else {
            MutationKind::Constant
        };
        let kinds = inst.row.op.signature().src;
        for (i, field) in source_fields(inst.format).iter().enumerate() {
            let Some(Operand::Inline(code)) = inst.src.get(i) else {
                continue;
            };
            let float = kinds.get(i).is_some_and(|kind| is_float(*kind));
            let next = match code {
                // 0.0 becomes 1.0; other integers as bits of a float are next to nothing.
                128 if float => 242,
                129..=208 if float => continue,
                192 | 208 => code - 1,
                128..=191 | 193..=207 => code + 1,
                246 | 247 => code - 2,
                240..=245 => code + 2,
                _ => continue,
            };
            let bytes = self.with(&[(*field, u32::from(next))]);
            let bytes = self.checked(bytes, decoder, |wanted| wanted.src[i] = Operand::Inline(next));
            found.extend(bytes.map(|bytes| (label, bytes)));
        }
        let literal = inst
            .src
            .iter()
            .enumerate()
            .find_map(|(i, operand)| match operand {
                Operand::Literal(value) => Some((*value, kinds.get(i).copied())),
                _ => None,
            });
        if let Some((value, kind)) = literal {
            // Of a float, a bit that changes it by a few thousandths: less may be within what its function may err.
            let next = match kind {
                Some(Of::F32 | Of::PF32 | Of::Mix) => value ^ 1 << 15,
                Some(Of::F64) => value ^ 1 << 12,
                Some(Of::F16 | Of::PF16) => value ^ 1 << 3,
                _ => value.wrapping_add(1),
            };
            let word = self.bytes.len() / 4 - 1;
            let bytes = self.with(&[((word, 0, 32), next)]);
            let bytes = self.checked(bytes, decoder, |wanted| {
                let halves = wanted.dual.as_deref_mut().map(|dual| &mut dual.src);
                for operand in wanted.src.iter_mut().chain(halves.into_iter().flatten()) {
                    if *operand == Operand::Literal(value) {
                        *operand = Operand::Literal(next);
                    }
                }
            });
            found.extend(bytes.map(|bytes| (label, bytes)));
        }
        let constant = inst
            .src
            .iter()
            .position(|operand| matches!(operand, Operand::Constant(_)));
        if constant.is_some() {
            let next = self.get((0, 0, 16)).wrapping_add(1) & 0xffff;
            let bytes = self.with(&[((0, 0, 16), next)]);
            if decoder(&bytes).is_some_and(|found| found.row == inst.row && found.dst == inst.dst) {
                found.push((label, bytes));
            }
        }
    }

    /// The first two operands swapped.
    fn swapped(&self, decoder: Decoder<'_>, found: &mut Vec<(MutationKind, Vec<u8>)>) {
        let inst = self.inst;
        let [first, second, ..] = source_fields(inst.format) else {
            return;
        };
        if !is_ordered(inst.row.mnemonic) || inst.src[0] == inst.src[1] || inst.neg | inst.abs != 0 {
            return;
        }
        let (one, other) = (self.get(*first), self.get(*second));
        let (one, other) = match inst.format {
            // The second is a vector register, without the bit that says so.
            Encoding::Vop2 | Encoding::Vopc | Encoding::Vopd | Encoding::Vopd3 if one < 256 => return,
            Encoding::Vop2 | Encoding::Vopc | Encoding::Vopd | Encoding::Vopd3 => (one - 256, other + 256),
            _ => (one, other),
        };
        let bytes = self.with(&[(*first, other), (*second, one)]);
        let bytes = self.checked(bytes, decoder, |wanted| wanted.src.swap(0, 1));
        found.extend(bytes.map(|bytes| (MutationKind::Operands, bytes)));
    }

    /// The last summand negated, of sums without a twin that subtracts.
    fn negated(&self, decoder: Decoder<'_>, found: &mut Vec<(MutationKind, Vec<u8>)>) {
        let inst = self.inst;
        let sums = ["_add_f", "_fma_f", "_mul_f", "_fma_mix"]
            .iter()
            .any(|word| inst.row.mnemonic.contains(word));
        if !sums || !matches!(inst.format, Encoding::Vop3 | Encoding::Vop3p) {
            return;
        }
        let last = inst.row.op.signature().src.len().saturating_sub(1);
        let bytes = self.with(&[((1, 29, 3), u32::from(inst.neg ^ 1 << last))]);
        let bytes = self.checked(bytes, decoder, |wanted| wanted.neg ^= 1 << last);
        found.extend(bytes.map(|bytes| (MutationKind::Operation, bytes)));
    }

    /// Nothing in its place.
    fn dropped(&self, found: &mut Vec<(MutationKind, Vec<u8>)>) {
        let inst = self.inst;
        let mnemonic = inst.row.mnemonic;
        let writes_exec = |operand: Operand| matches!(operand, Operand::Scalar(code) if usize::from(code) == reg::EXEC || usize::from(code) == reg::EXEC + 1);
        let kind = match inst.row.op.unit() {
            Unit::Memory(Transfer::Store(_) | Transfer::StorePart { .. } | Transfer::StoreAtLane)
            | Unit::Share(Share::Store2(_)) => MutationKind::Store,
            Unit::Atomic(_) if inst.dst == Operand::None => MutationKind::Store,
            Unit::Control(Control::Barrier) => MutationKind::Barrier,
            Unit::Control(Control::Wait)
                if ["wait", "inv", "wb"].iter().any(|word| mnemonic.contains(word)) =>
            {
                MutationKind::Wait
            }
            Unit::Scalar if writes_exec(inst.dst) => MutationKind::Lanes,
            _ => return,
        };
        let words = self.bytes.len() / 4;
        found.push((kind, NOP.to_le_bytes().repeat(words)));
    }

    /// Another mode of rounding or of subnormal numbers.
    fn modes(&self, decoder: Decoder<'_>, found: &mut Vec<(MutationKind, Vec<u8>)>) {
        let word = match self.inst.row.op.unit() {
            Unit::Control(Control::RoundMode | Control::DenormMode) => 0,
            Unit::Control(Control::SetRegister) if self.bytes.len() > 4 => 1,
            _ => return,
        };
        let field = (word, 0, 2);
        let bytes = self.with(&[(field, self.get(field) ^ 3)]);
        if decoder(&bytes).is_some() {
            found.push((MutationKind::Mode, bytes));
        }
    }

    /// The offset of an access, by one element.
    fn offsets(&self, decoder: Decoder<'_>, found: &mut Vec<(MutationKind, Vec<u8>)>) {
        let inst = self.inst;
        let step = match inst.row.op.unit() {
            Unit::Memory(transfer) => transfer.bytes() as u32,
            Unit::Atomic(atomic) => 4 * atomic.words() as u32,
            Unit::ScalarMemory(_) => 4,
            // Numbers of lanes are those of the bytes of a register of each lane.
            Unit::Share(Share::Permute | Share::Bpermute) => 4,
            // In elements, and patterns of exchanges.
            Unit::Share(_) => 1,
            _ => return,
        };
        let Some(field) = offset_field(inst.isa, inst.format) else {
            return;
        };
        let bytes = self.with(&[(field, self.get(field).wrapping_add(step))]);
        let moved = decoder(&bytes).filter(|found| found.imm != inst.imm);
        let bytes = moved.and_then(|moved| self.checked(bytes, decoder, |wanted| wanted.imm = moved.imm));
        found.extend(bytes.map(|bytes| (MutationKind::Offset, bytes)));
    }
}
