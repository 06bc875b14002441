//! Data-share operations with a rule of their own: two addresses, lane exchange, append counters.

use super::host::Host;
use super::space::{self, At};
use super::{Trouble, batch, unimplemented};
use crate::isa::{Inst, RegisterCount, Share, Src};
use crate::wave::{Group, Wave, reg};

/// Executes one operation.
pub(super) fn execute<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    share: Share,
) -> Result<(), Trouble> {
    match share {
        Share::Load2(words) | Share::Store2(words) => {
            let stores = matches!(share, Share::Store2(_));
            let done = match words {
                RegisterCount::One => batch::two_addresses::<H, W, 1>(host, wave, group, inst, stores),
                RegisterCount::Two => batch::two_addresses::<H, W, 2>(host, wave, group, inst, stores),
                RegisterCount::Three | RegisterCount::Four => false,
            };
            if done {
                return Ok(());
            }
            two_addresses(wave, group, inst, words.count(), !stores, stores)
        }
        Share::Exchange2(words) => two_addresses(wave, group, inst, words.count(), true, true),
        Share::Swizzle => exchange(wave, inst, share, swizzle),
        Share::Bpermute => exchange(wave, inst, share, |_, inst, lane, address| {
            let index = (address.wrapping_add(inst.imm as u32) / 4) as usize;
            Some(inst.isa.lane_of_permute::<W>(lane, index))
        }),
        Share::Permute => {
            push(wave, inst);
            Ok(())
        }
        Share::Consume => counter(wave, group, inst, u32::wrapping_sub),
        Share::Append => counter(wave, group, inst, u32::wrapping_add),
    }
}

fn register(src: Src) -> usize {
    match src {
        Src::Vgpr(n) => usize::from(n),
        _ => 0,
    }
}

/// Loads, stores or exchanges at two addresses, `words` dwords each.
fn two_addresses<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    words: usize,
    reads: bool,
    writes: bool,
) -> Result<(), Trouble> {
    // The immediate holds both offsets in dwords.
    let offsets = [inst.imm as u32 & 0xffff, inst.imm as u32 >> 16].map(|offset| 4 * offset);
    let address = inst.address.ok_or_else(unimplemented)?;
    let active = wave.active;
    let (vgpr, mut spaces) = space::split(wave, group);
    for lane in (0..W).filter(|lane| active >> lane & 1 != 0) {
        let base = vgpr[usize::from(address)][lane];
        let mut old = [0; 4];
        for (i, offset) in offsets.into_iter().enumerate() {
            let at = At::Lds(u64::from(base.wrapping_add(offset)));
            let old = &mut old[i * words..(i + 1) * words];
            let mut data = [0; 2];
            if writes {
                for (word, value) in data[..words].iter_mut().enumerate() {
                    *value = vgpr[register(inst.src[i]) + word][lane];
                }
            }
            let done = if reads { spaces.load_words(at, old) } else { Ok(()) };
            let done = done.and_then(|()| {
                if writes {
                    spaces.store_words(at, &data[..words])
                } else {
                    Ok(())
                }
            });
            done.map_err(|kind| (Some(lane), kind))?;
        }
        if reads {
            for (i, value) in old[..2 * words].iter().enumerate() {
                vgpr[usize::from(inst.dst) + i][lane] = *value;
            }
        }
    }
    Ok(())
}

/// Each active lane gets the value of the lane that `from` names; a lane that is not active gives zero.
fn exchange<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    share: Share,
    from: impl Fn(&Wave<W>, &Inst, usize, u32) -> Option<usize>,
) -> Result<(), Trouble> {
    let address = usize::from(inst.address.ok_or_else(unimplemented)?);
    // ds_swizzle has no data operand: what would be the address is the data.
    let data = if share == Share::Swizzle {
        address
    } else {
        register(inst.src[0])
    };
    let mut out = [0; W];
    for (lane, out) in out.iter_mut().enumerate() {
        let source = from(wave, inst, lane, wave.vgpr[address][lane]).ok_or_else(unimplemented)?;
        if wave.active >> source & 1 != 0 {
            *out = wave.vgpr[data][source];
        }
    }
    super::lane::store(wave, usize::from(inst.dst), &out);
    Ok(())
}

/// The lane that `lane` reads under the pattern in the offset; `None` for the FFT patterns.
fn swizzle<const W: usize>(_: &Wave<W>, inst: &Inst, lane: usize, _: u32) -> Option<usize> {
    let pattern = inst.imm as usize & 0xffff;
    let (group, lane) = (lane & !31, lane & 31);
    let (low, middle, high) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
    let from = match pattern {
        0xe000.. => return None,
        // Rotation of the lanes that `low` does not hold fixed.
        0xc000.. => {
            let by = if high & 1 != 0 { 32 - middle } else { middle };
            lane & low | (lane + by) & 31 & !low
        }
        0x8000.. => lane & !3 | pattern >> (2 * (lane & 3)) & 3,
        _ => (lane & low | middle) ^ high,
    };
    Some(group + from)
}

/// Each active lane gives its value to the lane it names; the highest giver wins. Lanes nobody names get zero.
fn push<const W: usize>(wave: &mut Wave<W>, inst: &Inst) {
    let mut out = [0; W];
    let address = inst.address.map_or(0, usize::from);
    for lane in (0..W).filter(|lane| wave.active >> lane & 1 != 0) {
        let to = wave.vgpr[address][lane].wrapping_add(inst.imm as u32) / 4;
        out[inst.isa.lane_of_permute::<W>(lane, to as usize)] = wave.vgpr[register(inst.src[0])][lane];
    }
    super::lane::store(wave, usize::from(inst.dst), &out);
}

/// Changes a counter in LDS by the number of active lanes; every active lane gets the old value.
fn counter<const W: usize>(
    wave: &mut Wave<W>,
    group: &mut Group<'_>,
    inst: &Inst,
    change: impl Fn(u32, u32) -> u32,
) -> Result<(), Trouble> {
    let at = At::Lds(u64::from(wave.sgpr[reg::M0] >> 16) + u64::from(inst.imm as u16));
    let count = wave.active.count_ones();
    let (_, mut spaces) = space::split(wave, group);
    let old = spaces
        .atomic(at, |old| change(old, count))
        .map_err(|kind| (None, kind))?;
    super::lane::store(wave, usize::from(inst.dst), &[old; W]);
    Ok(())
}
