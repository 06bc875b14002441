//! Follows a kernel's code from its entry: over branches, and into the functions that it may call.

use std::collections::BTreeMap;

use super::{Code, DecodeError, hex};
use crate::isa::decode::{self, Invalid};
use crate::isa::instruction::{Instruction, Isa, Operand};
use crate::isa::ops::Op;
use crate::isa::unit::{Condition, Control, TRAP_DEBUG, Unit};

/// What is known of the code while it is decoded.
pub(super) struct DecodeWalk<'a> {
    pub(super) isa: Isa,
    pub(super) lanes: usize,
    pub(super) code: &'a Code<'a>,
}

impl DecodeWalk<'_> {
    /// Follows the program flow from `start`, but into no function that is called, and not on from what is known already.
    pub(super) fn follow(
        &self,
        start: usize,
        known: &BTreeMap<usize, Instruction>,
    ) -> Result<BTreeMap<usize, Instruction>, DecodeError> {
        let relative = |offset: i64| offset - self.code.entry as i64;
        let mut reached = BTreeMap::new();
        // Functions begin and end with the first banks of registers.
        let mut pending = vec![(start as i64, 0)];
        while let Some((start, mut banks)) = pending.pop() {
            let mut offset = start;
            loop {
                let at = usize::try_from(offset)
                    .ok()
                    .filter(|at| self.code.segment.contains(at));
                let at = at.ok_or(DecodeError::End { pc: relative(offset) })?;
                if let Some(there) = reached.get(&at).or_else(|| known.get(&at)) {
                    let there: &Instruction = there;
                    if there.banks != banks && there.row.op != Op::SSetVgprMsb {
                        return Err(DecodeError::Banks { pc: relative(offset) });
                    }
                    break;
                }
                let text = self.code.image.get(at..self.code.segment.end).unwrap_or_default();
                let inst = decode::decode(self.isa, self.lanes, text).map_err(|invalid| match invalid {
                    Invalid::Unknown => DecodeError::Unknown {
                        pc: relative(offset),
                        words: hex(text, 0, 8),
                    },
                    Invalid::Truncated => DecodeError::End { pc: relative(offset) },
                })?;
                let inst = inst.in_banks(banks);
                if inst.row.op == Op::SSetVgprMsb {
                    banks = inst.imm as u8;
                }
                offset += i64::from(inst.size);
                pending.extend(branch_target(&inst, at).map(|target| (target, banks)));
                let last = match inst.row.op.unit() {
                    Unit::Control(Control::End | Control::Branch(Condition::Always) | Control::SetPc) => true,
                    // Compilers put nothing after a trap that does not return.
                    Unit::Control(Control::Trap) => inst.imm != TRAP_DEBUG,
                    _ => false,
                };
                reached.insert(at, inst);
                if last {
                    break;
                }
            }
        }
        match overlap(&reached) {
            Some(at) => Err(DecodeError::Overlap {
                pc: relative(at as i64),
            }),
            None => Ok(reached),
        }
    }

    /// Adds the functions that may be called from what was reached: those whose address an instruction computes, and, once
    /// something jumps to a register, those that have their address in memory. What cannot be decoded is not added; a call
    /// of it is a fault.
    pub(super) fn add_callees(&self, reached: &mut BTreeMap<usize, Instruction>) {
        let jumps = |inst: &Instruction| {
            matches!(
                inst.row.op.unit(),
                Unit::Control(Control::SwapPc | Control::SetPc)
            )
        };
        if !reached.values().any(jumps) {
            return;
        }
        let mut pending = computed_addresses(reached.iter(), reached);
        pending.extend(self.code.functions);
        while let Some(start) = pending.pop() {
            if reached.contains_key(&start) {
                continue;
            }
            // Long branches lead back into the kernel: each would follow all of it once more.
            let Ok(function) = self.follow(start, reached) else {
                continue;
            };
            let fits = |(at, inst): (&usize, &Instruction)| {
                let before = reached.range(..at).next_back();
                let next = reached.range(at..).next();
                before.is_none_or(|(start, inst)| start + usize::from(inst.size) <= *at)
                    && next.is_none_or(|(start, _)| at + usize::from(inst.size) <= *start)
            };
            if function.iter().all(fits) {
                let added: Vec<usize> = function.keys().copied().collect();
                reached.extend(function);
                let added = added.iter().filter_map(|at| reached.get_key_value(at));
                pending.extend(computed_addresses(added, reached));
            }
        }
    }
}

/// Where an instruction begins before the one in front of it ends.
fn overlap(reached: &BTreeMap<usize, Instruction>) -> Option<usize> {
    let mut end = 0;
    reached.iter().find_map(|(&at, inst)| {
        let overlaps = at < end;
        end = at + usize::from(inst.size);
        overlaps.then_some(at)
    })
}

/// The offsets that an `s_getpc_b64` of `among` and the two additions after it compute: compilers address functions and constants
/// so. Tensile, which generates the kernels of rocBLAS and hipBLASLt, puts the distance into a register first, by `s_add_i32` of two
/// constants.
fn computed_addresses<'a>(
    among: impl Iterator<Item = (&'a usize, &'a Instruction)>,
    reached: &BTreeMap<usize, Instruction>,
) -> Vec<usize> {
    /// How many instructions after `s_getpc_b64` are searched for the additions: others may come between them.
    const WITHIN: usize = 16;
    let literal = |operand| match operand {
        Operand::Literal(value) => Some(value),
        Operand::Inline(code @ 128..=192) => Some(u32::from(code) - 128),
        Operand::Inline(code @ 193..=208) => Some((192 - i32::from(code)).cast_unsigned()),
        _ => None,
    };
    let starts = among.filter_map(|(at, inst)| match (inst.row.op, inst.dst) {
        (Op::SGetpc, Operand::Scalar(low)) => Some((*at, usize::from(inst.size), low)),
        _ => None,
    });
    let target = |(at, size, low): (usize, usize, u8)| {
        let next = reached.range(at + size..).take(WITHIN);
        let addition = |op, register| {
            let mut additions = next.clone().filter(|(_, inst)| inst.row.op == op);
            let found = additions.find(|(_, inst)| inst.dst == Operand::Scalar(register))?;
            Some(found.1.src)
        };
        let added = |op, register| addition(op, register)?.into_iter().find_map(literal);
        let distance = |operand| match operand {
            Operand::Scalar(register) => {
                let [a, b, ..] = addition(Op::SAddI32, register)?;
                Some(literal(a)?.wrapping_add(literal(b)?).cast_signed())
            }
            _ => None,
        };
        // GFX12.5 adds 64 bits at once. GFX12 has that as well, and uses it for other things.
        let sums = |(_, inst): &(&usize, &Instruction)| {
            inst.dst == Operand::Scalar(low) && matches!(inst.row.op, Op::SAddU32 | Op::SAddNcU64)
        };
        let (_, first) = next.clone().find(sums)?;
        if first.row.op == Op::SAddNcU64 {
            let distance = first.src.into_iter().find_map(|operand| match operand {
                Operand::Wide(value) => Some(value.cast_signed()),
                operand => literal(operand).map(|value| i64::from(value.cast_signed())),
            })?;
            return usize::try_from(((at + size) as i64).wrapping_add(distance)).ok();
        }
        let high = i64::from(added(Op::SAddcU32, low + 1)?) << 32;
        let low = match added(Op::SAddU32, low) {
            Some(low) => i64::from(low),
            None => i64::from(addition(Op::SAddU32, low)?.into_iter().find_map(distance)?),
        };
        // The constants may belong to something else, and then their sum may overflow.
        usize::try_from(((at + size) as i64).wrapping_add(high).wrapping_add(low)).ok()
    };
    starts.filter_map(target).collect()
}

/// Byte offset a branch goes to.
pub(super) fn branch_target(inst: &Instruction, offset: usize) -> Option<i64> {
    // The subvector loops branch as well, though nothing executes them.
    let loops = matches!(inst.row.op, Op::SSubvectorLoopBegin | Op::SSubvectorLoopEnd);
    let branches = matches!(
        inst.row.op.unit(),
        Unit::Control(Control::Branch(_) | Control::Call)
    ) || loops;
    branches.then(|| offset as i64 + i64::from(inst.size) + 4 * i64::from(inst.imm))
}
