//! Data-parallel primitives: `src0` of an instruction read from another lane.

use super::{Trouble, unimplemented};
use crate::isa::{Dpp, Inst, Shuffle};
use crate::wave::Wave;

/// The lane that `lane` reads; `None` when it is out of the row.
fn source<const W: usize>(shuffle: Shuffle, lane: usize) -> Result<Option<usize>, Trouble> {
    let row = lane & !15;
    let at = lane & 15;
    Ok(match shuffle {
        Shuffle::Dpp8(lanes) => Some((lane & !7) + (lanes >> (3 * (lane & 7)) & 7) as usize),
        Shuffle::Dpp16(control) => {
            let n = usize::from(control & 15);
            match control {
                0..=0xff => Some((lane & !3) + usize::from(control >> (2 * (lane & 3)) & 3)),
                // row_shl moves data to lower lanes: each lane reads from above.
                0x101..=0x10f => (at + n < 16).then_some(lane + n),
                0x111..=0x11f => at.checked_sub(n).map(|at| row + at),
                0x121..=0x12f => Some(row + (at + 16 - n) % 16),
                // Whole-wave shifts and rotations by one lane.
                0x130 => Some(lane + 1),
                0x134 => Some((lane + 1) % W),
                0x138 => lane.checked_sub(1),
                0x13c => Some((lane + W - 1) % W),
                // The last lane of a row, or of two rows, for all of what follows.
                0x142 => row.checked_sub(1),
                0x143 => (lane & !31).checked_sub(1),
                0x140 => Some(row + 15 - at),
                0x141 => Some((lane & !7) + 7 - (lane & 7)),
                0x150..=0x15f => Some(row + n),
                0x160..=0x16f => Some(row + (at ^ n)),
                _ => return Err(unimplemented()),
            }
        }
    })
}

/// Shuffles the source of a DPP instruction into [`Wave::staged`], on CDNA the next register too, and takes the lanes that
/// are not written out of [`Wave::active`].
#[inline]
pub(super) fn apply<const W: usize>(wave: &mut Wave<W>, inst: &Inst) -> Result<(), Trouble> {
    let Some((register, dpp)) = &inst.dpp else {
        return Ok(());
    };
    shuffle(wave, inst, usize::from(*register), dpp)
}

fn shuffle<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    register: usize,
    dpp: &Dpp,
) -> Result<(), Trouble> {
    let exec = wave.exec();
    let registers = if inst.isa.is_rdna() { 1 } else { 2 };
    for lane in 0..W {
        let from = source::<W>(dpp.shuffle, lane)?.filter(|from| *from < W);
        let readable = from.filter(|from| dpp.fetch_inactive || exec >> from & 1 != 0);
        for i in 0..registers {
            let row = wave.vgpr.get(register + i);
            wave.staged[i][lane] = readable.zip(row).map_or(0, |(from, row)| row[from]);
        }
        let (row, bank) = (lane / 16 % 4, lane / 4 % 4);
        let masked = dpp.row_mask >> row & 1 == 0 || dpp.bank_mask >> bank & 1 == 0;
        // Without bound_ctrl a lane without a source keeps what it has.
        if masked || readable.is_none() && !dpp.bound_ctrl {
            wave.active &= !(1 << lane);
        }
    }
    Ok(())
}
