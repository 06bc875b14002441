//! The sparse matrix cores of CDNA3 and CDNA4: `D += A * B`, where of each four elements of a row of A two are there and the others zero.
//!
//! The third source says, two bits an element, which of its four places it has. Layouts: "AMD Instinct MI300 Instruction
//! Set Architecture", section "Sparse Matrix Instructions": A as the dense product of half the depth has it, B as that of the
//! whole, with twice the elements a lane.

use super::{Trouble, lane, mfma, unimplemented};
use crate::isa::{Inst, Smfmac, Src};
use crate::wave::Wave;

/// Lanes of the waves that have matrix cores.
const LANES: usize = 64;

/// Executes a sparse product. Every lane takes part, whatever EXEC says.
#[inline(never)]
pub(super) fn execute<const W: usize>(wave: &mut Wave<W>, inst: &Inst, shape: Smfmac) -> Result<(), Trouble> {
    if W != LANES {
        return Err(unimplemented());
    }
    let Smfmac {
        size,
        depth,
        a: kind_a,
        b: kind_b,
    } = shape;
    let (size, depth, kinds) = (usize::from(size), usize::from(depth), [kind_a, kind_b]);
    let [Src::Vgpr(a), Src::Vgpr(b), Src::Vgpr(places)] = inst.src else {
        return Err(unimplemented());
    };
    let [a, b, places, dst] = [a, b, places, inst.dst].map(usize::from);
    let groups = LANES / size;
    let bits = kinds[0].bits();
    // Elements of A a lane has, and bits of their places: one of several sets in the third source.
    let held = depth / 2 / groups;
    let set = 2 * held;
    let shift = inst.imm as usize * set;
    if shift >= 32 {
        return Err(unimplemented());
    }
    let mut out = vec![[0; W]; size * size / LANES];
    for (row, column) in (0..size).flat_map(|row| (0..size).map(move |column| (row, column))) {
        let group = row / 4 % groups;
        let (lane, item) = (column + size * group, row / (4 * groups) * 4 + row % 4);
        let mut sum = mfma::element(wave, dst, lane, item, 32);
        for (group, element) in (0..groups).flat_map(|group| (0..held).map(move |element| (group, element))) {
            let (lane_a, lane_b) = (row + size * group, column + size * group);
            let place = wave.vgpr[places][lane_a] >> shift >> (2 * element) & 3;
            let left = mfma::element(wave, a, lane_a, element, bits);
            let right = mfma::element(wave, b, lane_b, element / 2 * 4 + place as usize, bits);
            sum = mfma::step(inst.isa, kinds, sum, left, right);
        }
        out[item][lane] = sum as u32;
    }
    wave.active = Wave::<W>::ALL;
    for (v, row) in out.iter().enumerate() {
        lane::store(wave, dst + v, row);
    }
    Ok(())
}
