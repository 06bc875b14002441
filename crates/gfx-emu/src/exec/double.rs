//! The sanitizer's view of vector registers: a wave runs beside its double, which began with other garbage in the registers.
//!
//! What differs between the two depends on a register that nobody wrote. That holds to the bit and needs no rule for any
//! instruction, because the double executes them too; memory it shares with its wave. As compilers leave registers unwritten
//! on purpose, a difference may travel through registers and private memory. It is a finding where it decides an address, a
//! branch or the active lanes, or reaches memory that others see. A dependence is missed when two kinds of garbage
//! happen to compare equal. A dependence that does not exist is never reported.

use super::salu::source64;
use super::space::{self, At};
use super::{Trouble, buffer, control, memory, watch};
use crate::fault::{Decision, FaultKind};
use crate::isa::{Control, Inst, Program, Space, Src, Transfer, Unit, matrix_products, registers_alone};
use crate::wave::{Group, Stop, Wave, reg};

/// The double of a wave that has not begun: the same except the registers that the hardware leaves as they were. Those before
/// [`Wave::touched`] hold the work-item ids.
pub(crate) fn of<const W: usize>(wave: &Wave<W>) -> Wave<W> {
    let mut double = wave.clone();
    let given = usize::from(wave.touched);
    double.touched = u16::MAX;
    for (register, row) in double.vgpr.iter_mut().enumerate().skip(given) {
        for (lane, word) in row.iter_mut().enumerate() {
            *word = garbage((register * W + lane) as u32);
        }
    }
    double
}

/// A word unlike the zero that the wave itself begins with, whatever it is taken for: a huge number of either sign in every
/// float format, a large integer, no byte zero.
fn garbage(seed: u32) -> u32 {
    let noise = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9);
    noise & 0x80fe_feff | 0x7101_0101
}

/// Executes one instruction, both halves of a dual one; nothing when the wave goes on after it.
pub(crate) fn step<const W: usize>(
    wave: &mut Wave<W>,
    program: &Program,
    group: &mut Group<'_>,
    budget: &mut u64,
) -> Result<Option<Stop>, (usize, Option<usize>, FaultKind)> {
    // A budget of one instruction: the watchdog stops the wave in front of the next.
    let given = (*budget).min(1);
    let mut left = given;
    let result = super::run(wave, program, group, &mut left);
    *budget -= given - left;
    match result {
        Err((_, _, FaultKind::Watchdog { .. })) if left < given => Ok(None),
        Err(trouble) => Err(trouble),
        Ok(stop) => Ok(Some(stop)),
    }
}

/// [`super::run`] of a wave beside its double.
pub(crate) fn run<const W: usize>(
    wave: &mut Wave<W>,
    double: &mut Wave<W>,
    program: &Program,
    group: &mut Group<'_>,
    budget: &mut u64,
) -> Result<Stop, (usize, Option<usize>, FaultKind)> {
    super::enter(wave, program).map_err(|kind| (program.pc(wave.pc), None, kind))?;
    loop {
        let index = wave.pc;
        let Some(inst) = program.insts().get(index) else {
            return super::run(wave, program, group, budget);
        };
        let located = |(lane, kind): Trouble| (program.pc(index), lane, kind);
        if *budget > 0 {
            decides(wave, double, inst).map_err(located)?;
        }
        // The instruction may overwrite its own addresses.
        let private = private_lanes(wave, inst);
        let alike = is_product(inst) && sources_alike(wave, double, inst);
        let stop = step(wave, program, group, budget)?;
        double.pc = index;
        if alike {
            take(wave, double, inst);
        } else {
            follow(wave, double, program, group, private, inst).map_err(located)?;
        }
        if let Some(stop) = stop {
            return Ok(stop);
        }
    }
}

fn finding(lane: Option<usize>, decides: Decision) -> Trouble {
    (lane, FaultKind::UnwrittenRegister { decides })
}

/// Whether what `inst` is about to do depends on a register that nobody wrote.
fn decides<const W: usize>(wave: &Wave<W>, double: &Wave<W>, inst: &Inst) -> Result<(), Trouble> {
    if let Unit::Control(control) = inst.unit {
        return branch(wave, double, inst, control);
    }
    if shares_memory(inst.unit) {
        addresses(wave, double, inst)?;
        return data(wave, double, inst);
    }
    let Unit::ScalarMemory(access) = inst.unit else {
        return Ok(());
    };
    let [one, other] = [wave, double].map(|wave| memory::consecutive(wave, inst, access));
    if one.address != other.address || one.readable != other.readable {
        return Err(finding(None, Decision::Address));
    }
    let Src::Scalar(first) = inst.src[0] else {
        return Ok(());
    };
    let count = inst.op.signature().src[0].registers(W);
    let mut registers = (first..first + count).map(usize::from);
    if registers.any(|n| wave.sgpr[n & 127] != double.sgpr[n & 127]) {
        return Err(finding(None, Decision::Data));
    }
    Ok(())
}

/// Whether a vector instruction goes to memory that the double has in common with its wave.
fn shares_memory(unit: Unit) -> bool {
    match unit {
        Unit::Memory(_) | Unit::Atomic(_) => true,
        // Exchanges between lanes by the data share's wires touch no memory.
        Unit::Share(share) => !share.is_exchange(),
        registers_alone!()
        | matrix_products!()
        | Unit::Control(_)
        | Unit::Unsupported
        | Unit::ScalarMemory(_) => false,
    }
}

fn branch<const W: usize>(
    wave: &Wave<W>,
    double: &Wave<W>,
    inst: &Inst,
    control: Control,
) -> Result<(), Trouble> {
    let differs = match control {
        Control::Branch(condition) => control::holds(wave, condition) != control::holds(double, condition),
        Control::SetPc | Control::SwapPc => source64(wave, inst.src[0]) != source64(double, inst.src[0]),
        Control::Wait
        | Control::End
        | Control::Barrier
        | Control::BarrierSignal
        | Control::BarrierWait
        | Control::Message
        | Control::MessageReturn(_)
        | Control::Trap
        | Control::Halt
        | Control::RoundMode
        | Control::DenormMode
        | Control::GetRegister
        | Control::SetRegister
        | Control::GetPc
        | Control::Call
        | Control::MoveRelative(..)
        | Control::Time
        | Control::IndexOn
        | Control::IndexValue
        | Control::IndexMode
        | Control::IndexOff => false,
    };
    if differs {
        return Err(finding(None, Decision::Branch));
    }
    Ok(())
}

/// The active lanes, lowest first.
fn active<const W: usize>(wave: &Wave<W>) -> impl Iterator<Item = usize> {
    let exec = wave.exec();
    (0..W).filter(move |lane| exec >> lane & 1 != 0)
}

fn addresses<const W: usize>(wave: &Wave<W>, double: &Wave<W>, inst: &Inst) -> Result<(), Trouble> {
    let counts = matches!(inst.unit, Unit::Share(share) if share.counts());
    let starts_at_m0 = counts || watch::goes_to_share(inst.unit);
    if starts_at_m0 && wave.sgpr[reg::M0] != double.sgpr[reg::M0] {
        return Err(finding(None, Decision::Address));
    }
    let lane = if buffer::is_resource(wave, inst) {
        let words = (usize::from(inst.base)..usize::from(inst.base) + 4).chain([usize::from(inst.soffset)]);
        if words.map(|n| n & 127).any(|n| wave.sgpr[n] != double.sgpr[n]) {
            return Err(finding(None, Decision::Address));
        }
        let count = usize::from(inst.idxen) + usize::from(inst.offen);
        let first = inst.address.map_or(0, usize::from);
        let word =
            |wave: &Wave<W>, register: usize, lane: usize| wave.vgpr.get(register).map(|row| row[lane]);
        active(wave).find(|lane| {
            let mut registers = first..first + count;
            registers.any(|register| word(wave, register, *lane) != word(double, register, *lane))
        })
    } else {
        // Most often the registers are the same, one or a pair of them, which is less to compare than addresses are to compute.
        let (first, count) = inst.address.map_or((0, 0), |first| (usize::from(first), 2));
        let mut rows = wave.vgpr.iter().zip(&double.vgpr).skip(first).take(count);
        if wave.sgpr == double.sgpr && rows.all(|(row, other)| row == other) {
            return Ok(());
        }
        let [one, other] = [wave, double].map(|wave| memory::addresses(wave, inst));
        active(wave).find(|lane| one[*lane] != other[*lane])
    };
    match lane {
        Some(_) => Err(finding(lane, Decision::Address)),
        None => Ok(()),
    }
}

/// Whether the lanes differ in what they give to memory that others see.
fn data<const W: usize>(wave: &Wave<W>, double: &Wave<W>, inst: &Inst) -> Result<(), Trouble> {
    let kinds = inst.op.signature().src;
    for (source, kind) in inst.src.iter().zip(kinds) {
        let Src::Vgpr(first) = *source else { continue };
        let words = kind.registers(W);
        let rows = usize::from(first)..usize::from(first) + usize::from(words);
        if wave.vgpr.get(rows.clone()) == double.vgpr.get(rows) {
            continue;
        }
        let bytes = if let Unit::Memory(transfer) = inst.unit {
            transfer.bytes() as usize
        } else {
            4 * usize::from(words)
        };
        let places = memory::addresses(wave, inst);
        let lane = active(wave).find(|lane| {
            let [one, other] = [wave, double].map(|wave| watch::bytes_of(wave, inst.unit, *source, *lane));
            let differing = (0..bytes).filter(|i| one[*i] != other[*i]);
            !is_private(wave, inst, *lane, places[*lane]) && counts(differing, bytes, inst.unit)
        });
        if lane.is_some() {
            return Err(finding(lane, Decision::Data));
        }
    }
    Ok(())
}

/// Whether differing bytes of a store are a finding. A vector of three is stored as one of four, with anything in the last:
/// the last quarter, or the last half of the second 16 bytes of 32.
fn counts(mut differing: impl Iterator<Item = usize>, bytes: usize, unit: Unit) -> bool {
    let padding = match bytes {
        _ if matches!(unit, Unit::Atomic(_)) => bytes,
        16 => 8,
        4 | 8 => bytes - bytes / 4,
        _ => bytes,
    };
    differing.next().is_some_and(|first| first < padding)
}

/// Whether a lane's access to `address` stays in its private memory.
fn is_private<const W: usize>(wave: &Wave<W>, inst: &Inst, lane: usize, address: u64) -> bool {
    !buffer::is_resource(wave, inst) && matches!(space::place(inst.space, lane, address), At::Scratch { .. })
}

/// The active lanes of which an instruction reaches private memory.
fn private_lanes<const W: usize>(wave: &Wave<W>, inst: &Inst) -> u64 {
    match inst.space {
        _ if !matches!(inst.unit, Unit::Memory(_) | Unit::Atomic(_)) => 0,
        Space::Flat => {
            let places = memory::addresses(wave, inst);
            let private = active(wave).filter(|lane| is_private(wave, inst, *lane, places[*lane]));
            private.fold(0, |lanes, lane| lanes | 1 << lane)
        }
        Space::Scratch => wave.exec(),
        Space::Buffer if !buffer::is_resource(wave, inst) => wave.exec(),
        Space::Buffer | Space::Global | Space::Lds => 0,
    }
}

/// Takes the double past the instruction that its wave has just executed, of which the lanes `private` reached private
/// memory: the double has its own.
fn follow<const W: usize>(
    wave: &Wave<W>,
    double: &mut Wave<W>,
    program: &Program,
    group: &mut Group<'_>,
    private: u64,
    inst: &Inst,
) -> Result<(), Trouble> {
    if matches!(inst.unit, Unit::ScalarMemory(_)) {
        let first = usize::from(inst.dst);
        let count = inst.op.signature().dst.registers(W);
        for n in first..first + usize::from(count) {
            double.set_sgpr(n, wave.sgpr[n & 127]);
        }
    } else if shares_memory(inst.unit) {
        if private != 0 {
            double.set_exec(private);
            imitate(double, program, group)?;
            double.set_exec(wave.exec());
        }
        receive(wave, double, !private, inst);
    } else {
        imitate(double, program, group)?;
    }
    double.mode = wave.mode;
    let differ = wave.exec() ^ double.exec();
    if differ != 0 {
        return Err(finding(Some(differ.trailing_zeros() as usize), Decision::Lanes));
    }
    Ok(())
}

/// Whether a matrix core executes it, which takes long and gives the same from the same factors and sums. Not where the result depends
/// on the destination too: its other halves, or the sums themselves.
fn is_product(inst: &Inst) -> bool {
    let wide = matches!(inst.unit, Unit::Wmma(wmma) if !wmma.narrow);
    wide || matches!(inst.unit, Unit::Tiles(_) | Unit::Mfma(_)) && inst.scales.is_none()
}

/// Whether the wave and its double have the same in all registers that an instruction reads.
fn sources_alike<const W: usize>(wave: &Wave<W>, double: &Wave<W>, inst: &Inst) -> bool {
    let kinds = inst.op.signature().src;
    inst.src.iter().zip(kinds).all(|(source, kind)| match *source {
        Src::Vgpr(first) => {
            let rows = usize::from(first)..usize::from(first) + usize::from(kind.registers(W));
            wave.vgpr.get(rows.clone()) == double.vgpr.get(rows)
        }
        Src::Const(_) => true,
        _ => false,
    })
}

/// The double gets the result that its wave has computed.
fn take<const W: usize>(wave: &Wave<W>, double: &mut Wave<W>, inst: &Inst) {
    let first = usize::from(inst.dst);
    let count = usize::from(inst.op.signature().dst.registers(W));
    let rows = wave.vgpr.iter().zip(&mut double.vgpr).skip(first).take(count);
    rows.for_each(|(row, other)| other.clone_from(row));
    double.pc = wave.pc;
}

/// The double executes the instruction itself.
fn imitate<const W: usize>(
    double: &mut Wave<W>,
    program: &Program,
    group: &mut Group<'_>,
) -> Result<(), Trouble> {
    // The wave could execute it: what stops the double is a register number that it has from a register.
    let stepped = step(double, program, group, &mut 1);
    stepped.map_err(|(_, lane, _)| finding(lane, Decision::Register))?;
    Ok(())
}

/// The double gets what the wave got from memory, in `lanes`.
fn receive<const W: usize>(wave: &Wave<W>, double: &mut Wave<W>, lanes: u64, inst: &Inst) {
    if matches!(inst.unit, Unit::Atomic(_)) && !inst.returns {
        return;
    }
    // Bits that a load of a half leaves alone.
    let kept = if let Unit::Memory(Transfer::LoadPart(part)) = inst.unit {
        part.merged(0, u32::MAX, inst.clears_half)
    } else {
        0
    };
    let first = usize::from(inst.dst);
    let count = usize::from(inst.op.signature().dst.registers(W));
    let rows = wave.vgpr.iter().zip(&mut double.vgpr).skip(first).take(count);
    for (row, other) in rows {
        for lane in active(wave).filter(|lane| lanes >> lane & 1 != 0) {
            other[lane] = other[lane] & kept | row[lane] & !kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Transfer, Unit, counts, garbage};
    use crate::isa::{Atomic, Atomic32};

    #[test]
    fn garbage_differs_from_zero_in_every_byte_and_is_a_huge_number_in_every_format() {
        for seed in 0..100_000 {
            let word = garbage(seed);
            assert!(word.to_le_bytes().iter().all(|byte| *byte != 0), "{word:#x}");
            assert!(f32::from_bits(word).abs() > 1e29 && f32::from_bits(word).is_finite());
            let half = word >> 16 & 0x7fff;
            assert!((0x7000..0x7c00).contains(&half), "{word:#x}");
        }
        assert!((0..64).any(|seed| garbage(seed) >> 31 == 0) && (0..64).any(|seed| garbage(seed) >> 31 != 0));
    }

    #[test]
    fn only_the_fourth_of_three_elements_may_be_garbage() {
        for (differing, bytes, found) in [
            (0..0, 4, false),
            (3..4, 4, false),
            (2..4, 4, true),
            (0..1, 1, true),
            (1..2, 2, true),
            (6..8, 8, false),
            (4..8, 8, true),
            (8..16, 16, false),
            (12..16, 16, false),
            (4..8, 16, true),
            (11..12, 12, true),
        ] {
            assert_eq!(
                counts(differing.clone(), bytes, Unit::Memory(Transfer::LoadAtLane)),
                found,
                "{differing:?} of {bytes}"
            );
        }
        assert!(counts(3..4, 4, Unit::Atomic(Atomic::Dword(Atomic32::Add))));
    }
}
