//! Sub-dword addressing (SDWA): an operation on bytes or halves of its registers.

use super::host::Host;
use super::{Trouble, flush, lane, table, unimplemented};
use crate::fp::Mode;
use crate::isa::{Inst, Unit, WHOLE};
use crate::wave::Wave;

/// Lowest bit and number of bits of a part.
fn place(part: u8) -> (u32, u32) {
    match part {
        0..=3 => (8 * u32::from(part), 8),
        4 | 5 => (16 * u32::from(part - 4), 16),
        _ => (0, 32),
    }
}

/// A part of a register, zero- or sign-extended.
fn extract(value: u32, part: u8, signed: bool) -> u32 {
    let (low, count) = place(part);
    let top = value << (32 - count - low);
    if signed {
        (top as i32 >> (32 - count)) as u32
    } else {
        top >> (32 - count)
    }
}

/// `result` in a part of a register that held `old`.
fn insert(result: u32, old: u32, part: u8, unused: u8) -> u32 {
    let (low, count) = place(part);
    let field = if count == 32 { u32::MAX } else { (1 << count) - 1 };
    match unused {
        // The sign fills what is above; what is below is zero.
        1 => extract(result, if count == 8 { 0 } else { 4 }, true) << low,
        2 => old & !(field << low) | (result & field) << low,
        _ => (result & field) << low,
    }
}

/// Executes an operation on parts.
pub(super) fn execute<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
) -> Result<(), Trouble> {
    let parts = inst
        .parts
        .as_deref()
        .filter(|_| inst.unit.is_tabled())
        .ok_or_else(unimplemented)?;
    for (i, source) in parts.from.iter().enumerate() {
        let mut buffer = [0; W];
        let row = *lane::row(wave, *source, &mut buffer);
        let signed = parts.sdwa.extend >> i & 1 != 0;
        wave.staged[i].0 = row.map(|value| extract(value, parts.sdwa.select[i], signed));
    }
    if inst.unit == Unit::Compare {
        compute(host, wave, inst, mode);
        return Ok(());
    }
    let register = usize::from(inst.dst);
    let old = *wave.vgpr.get(register).ok_or_else(unimplemented)?;
    compute(host, wave, inst, mode);
    let part = parts.sdwa.dst;
    if part != WHOLE {
        let result = wave.vgpr[register];
        let merged = std::array::from_fn(|i| insert(result[i], old[i], part, parts.sdwa.unused));
        lane::store(wave, register, &merged);
    }
    Ok(())
}

/// The operation on the parts that were staged.
fn compute<H: Host, const W: usize>(host: H, wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    if mode.is_unusual() {
        flush::execute(host, wave, inst, mode);
    } else {
        table::execute(host, wave, inst, mode);
    }
}
