//! Operations that move values between lanes, and one that counts lanes.

use crate::exec::{lane, salu};
use crate::fp::Mode;
use crate::isa::{Inst, Src};
use crate::wave::Wave;

/// Ones of the source below this lane, plus `src1`. `START` is the lane of the mask's lowest bit.
#[inline(always)]
pub(super) fn count_below<const W: usize, const START: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let (mut buffer_a, mut buffer_b) = ([0; W], [0; W]);
    let a = lane::row(wave, inst.src[0], &mut buffer_a);
    let b = lane::row(wave, inst.src[1], &mut buffer_b);
    let mut out = [0; W];
    for i in 0..W {
        let below = i.saturating_sub(START).min(32);
        let mask = ((1u64 << below) - 1) as u32;
        out[i] = (a[i] & mask).count_ones().wrapping_add(b[i]);
    }
    lane::store(wave, usize::from(inst.dst), &out);
}

/// Each lane reads the lane of a row that its 4 bits of the two scalar sources name.
pub(super) fn permlane<const W: usize, const ACROSS: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let select =
        u64::from(salu::source(wave, inst.src[1])) | u64::from(salu::source(wave, inst.src[2])) << 32;
    permute_rows::<W, ACROSS>(wave, inst, |lane| (select >> (4 * (lane & 15)) & 15) as usize);
}

/// Each lane reads the lane of a row that the low four bits of its second source name.
pub(super) fn permlane_var<const W: usize, const ACROSS: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let mut buffer = [0; W];
    let names = *lane::row(wave, inst.src[1], &mut buffer);
    permute_rows::<W, ACROSS>(wave, inst, |lane| (names[lane] & 15) as usize);
}

/// Each lane reads a lane of its own row, or of the one `ACROSS`. `op_sel` holds two flags: inactive lanes may be read, and lanes that
/// may not be read give zero instead of keeping the destination.
#[inline(always)]
fn permute_rows<const W: usize, const ACROSS: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    place: impl Fn(usize) -> usize,
) {
    let (fetch_inactive, bound_ctrl) = (inst.op_sel & 1 != 0, inst.op_sel & 2 != 0);
    let mut buffer = [0; W];
    let row = *lane::row(wave, inst.src[0], &mut buffer);
    let (exec, active) = (wave.exec(), wave.active);
    let mut out = [0; W];
    for (lane, out) in out.iter_mut().enumerate() {
        let source = (lane & !15 ^ ACROSS) + place(lane);
        if fetch_inactive || exec >> source & 1 != 0 {
            *out = row[source];
        } else if !bound_ctrl {
            wave.active &= !(1 << lane);
        }
    }
    lane::store(wave, usize::from(inst.dst), &out);
    wave.active = active;
}

/// Exchanges the halves of a 64-lane wave; does nothing in one of 32.
pub(super) fn permlane64<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    if W > 32 {
        let mut buffer = [0; W];
        let row = *lane::row(wave, inst.src[0], &mut buffer);
        let out = std::array::from_fn(|lane| row[lane ^ 32]);
        lane::store(wave, usize::from(inst.dst), &out);
    }
}

/// Exchanges two registers in the active lanes.
pub(super) fn swap<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    if let Src::Vgpr(second) = inst.src[0] {
        exchange(wave, usize::from(inst.dst), usize::from(second));
    }
}

pub(super) fn exchange<const W: usize>(wave: &mut Wave<W>, first: usize, second: usize) {
    let (a, b) = (wave.vgpr[first], wave.vgpr[second]);
    lane::store(wave, first, &b);
    lane::store(wave, second, &a);
}

/// Exchanges rows of `ROW` lanes of two registers: the odd ones of the first with the even ones of the second. Lanes that are not active
/// keep what they have, as is assumed.
pub(super) fn swap_rows<const W: usize, const ROW: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let Src::Vgpr(second) = inst.src[0] else { return };
    let (first, second) = (usize::from(inst.dst), usize::from(second));
    let (old_first, old_second) = (*wave.vgpr[first], *wave.vgpr[second]);
    let odd = |lane: usize| lane & ROW != 0;
    let of_first = std::array::from_fn(|lane| {
        if odd(lane) {
            old_second[lane ^ ROW]
        } else {
            old_first[lane]
        }
    });
    let of_second = std::array::from_fn(|lane| {
        if odd(lane) {
            old_second[lane]
        } else {
            old_first[lane ^ ROW]
        }
    });
    lane::store(wave, first, &of_first);
    lane::store(wave, second, &of_second);
}
