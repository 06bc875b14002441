//! Vector operations that look at other lanes, at masks, or at registers beyond their operands.

use super::host::Host;
use super::lane::{self, Lane};
use super::table::Function;
use super::{Trouble, division, fp8, int, matrix, pair, salu, scaled, unimplemented};
use crate::fp::{self, Format as _, Mode};
use crate::isa::ops::for_each_op;
use crate::isa::{Inst, OPS, Op, Relative, Src};
use crate::wave::{Wave, reg};

/// Enters the vector rows of the operation table: a function of the wave, the instruction and the mode.
macro_rules! executors {
    (
        int { $($int:tt)* }
        float { $($float:tt)* }
        packed_int { $($packed_int:tt)* }
        packed_float { $($packed_float:tt)* }
        compare { $($compare:tt)* }
        scalar { $($scalar:tt)* }
        scalar_scc { $($scalar_scc:tt)* }
        scalar_old { $($scalar_old:tt)* }
        exec32 { $($exec32:tt)* }
        exec64 { $($exec64:tt)* }
        scalar_float { $($scalar_float:tt)* }
        scalar_compare { $($scalar_compare:tt)* }
        vector { $($v:ident: $vd:ident + $vm:ident = ($($vs:ident),*) [$($kind:ident $i:literal),*] $f:expr;)* }
        other { $($other:tt)* }
    ) => {
        /// Enters the vector operations into the table.
        pub(super) const fn enter<H: Host, const W: usize>(mut table: [Function<H, W>; OPS]) -> [Function<H, W>; OPS] {
            $(table[Op::$v as usize] = |host, wave, inst, mode| {
                $(if lane::is_derived(inst, $i) {
                    lane::derive::<H, W, lane::$kind>(host, wave, inst, $i);
                })*
                host.run(
                    #[inline(always)]
                    move || $f(wave, inst, mode.on(H::FUSES)),
                )
            };)*
            table
        }
    };
}
for_each_op!(executors);

#[inline(always)]
fn nothing<const W: usize>(_: &mut Wave<W>, _: &Inst, _: Mode) {}

/// The value of a source in one lane.
#[inline(always)]
fn lane_of<const W: usize>(wave: &Wave<W>, inst: &Inst, lane: usize) -> u32 {
    let mut buffer = [0; W];
    lane::row(wave, inst.src[0], &mut buffer)[lane]
}

/// The first active lane to a scalar register; lane 0 where none is active.
#[inline(always)]
fn read_first_lane<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let first = wave.exec().trailing_zeros() as usize % W;
    wave.set_sgpr(usize::from(inst.dst), lane_of(wave, inst, first));
}

/// A lane by its number to a scalar register, whatever EXEC says.
#[inline(always)]
fn read_lane<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let lane = salu::source(wave, inst.src[1]) as usize % W;
    wave.set_sgpr(usize::from(inst.dst), lane_of(wave, inst, lane));
}

/// A scalar to a lane by its number, whatever EXEC says.
#[inline(always)]
fn write_lane<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let lane = salu::source(wave, inst.src[1]) as usize % W;
    wave.vgpr[usize::from(inst.dst)][lane] = salu::source(wave, inst.src[0]);
}

/// `mask ? src1 : src0`.
#[inline(always)]
fn select<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let mask = lane::spread::<W>(lane::mask(wave, inst.src[2]));
    let (a, b) = (lane::F32::rows(wave, inst, 0), lane::F32::rows(wave, inst, 1));
    let mut out = [0; W];
    for (i, out) in out.iter_mut().enumerate() {
        *out = a[i] ^ (a[i] ^ b[i]) & mask[i];
    }
    lane::store(wave, usize::from(inst.dst), &out);
}

fn select16<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    lane::F16::prepare(wave, inst, 0);
    lane::F16::prepare(wave, inst, 1);
    let mask = lane::mask(wave, inst.src[2]);
    let (a, b) = (lane::F16::rows(wave, inst, 0), lane::F16::rows(wave, inst, 1));
    let mut out = [0; W];
    for (i, out) in out.iter_mut().enumerate() {
        *out = lane::F16::get(if mask >> i & 1 != 0 { b } else { a }, i);
    }
    lane::B16::write(wave, inst, mode, &out);
}

/// `a - b - borrow`, and whether it borrows.
#[inline(always)]
fn subtract(a: u32, b: u32, borrow: u32) -> (u32, u32) {
    let difference = a.wrapping_sub(b);
    (
        difference.wrapping_sub(borrow),
        u32::from(a < b) | u32::from(difference < borrow),
    )
}

/// `a + b + carry`, and whether it carries.
#[inline(always)]
fn add(a: u32, b: u32, carry: u32) -> (u32, u32) {
    let sum = a.wrapping_add(b);
    let all = sum.wrapping_add(carry);
    (all, u32::from(sum < a) | u32::from(all < sum))
}

#[inline(always)]
fn add_carry<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    carry(wave, inst, false, u32::MAX, add);
}

#[inline(always)]
fn add_with_carry<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    carry(wave, inst, true, u32::MAX, add);
}

#[inline(always)]
fn sub_borrow<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    carry(wave, inst, false, 0, subtract);
}

#[inline(always)]
fn sub_with_borrow<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    carry(wave, inst, true, 0, subtract);
}

#[inline(always)]
fn sub_rev_borrow<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    carry(wave, inst, false, 0, |a, b, c| subtract(b, a, c));
}

#[inline(always)]
fn sub_rev_with_borrow<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    carry(wave, inst, true, 0, |a, b, c| subtract(b, a, c));
}

/// Sums with a carry in, if it `takes` one as the third source, and a carry out. A carry is 0 or 1. A clamped sum that carries
/// is `limit`.
#[inline(always)]
fn carry<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    takes: bool,
    limit: u32,
    f: impl Fn(u32, u32, u32) -> (u32, u32),
) {
    let carry_in = if takes {
        lane::spread::<W>(lane::mask(wave, inst.src[2]))
    } else {
        [0; W]
    };
    let (a, b) = (lane::B32::rows(wave, inst, 0), lane::B32::rows(wave, inst, 1));
    let (mut out, mut hits) = ([0; W], [0; W]);
    for i in 0..W {
        (out[i], hits[i]) = f(a[i], b[i], carry_in[i] & 1);
    }
    if inst.clamp {
        for i in 0..W {
            out[i] = if hits[i] != 0 { limit } else { out[i] };
        }
    }
    let mask = lane::pack(&hits) & wave.active;
    lane::store(wave, usize::from(inst.dst), &out);
    wave.set_mask(usize::from(inst.sdst), mask);
}

#[inline(always)]
fn div_scale<const W: usize, L, F>(wave: &mut Wave<W>, inst: &Inst, mode: Mode)
where
    F: division::Division,
    L: Lane<Value = F::Bits>,
{
    L::prepare(wave, inst, 0);
    L::prepare(wave, inst, 1);
    L::prepare(wave, inst, 2);
    let (a, b, c) = (
        L::rows(wave, inst, 0),
        L::rows(wave, inst, 1),
        L::rows(wave, inst, 2),
    );
    let (mut out, mut hits) = ([F::Bits::default(); W], [0; W]);
    for i in 0..W {
        let (value, scaled) = division::scale::<F>(mode, L::get(a, i), L::get(b, i), L::get(c, i));
        (out[i], hits[i]) = (value, u32::from(scaled));
    }
    let mask = lane::pack(&hits) & wave.active;
    L::write(wave, inst, mode, &out);
    wave.set_mask(usize::from(inst.sdst), mask);
}

#[inline(always)]
fn div_fmas<const W: usize, L, F>(wave: &mut Wave<W>, inst: &Inst, mode: Mode)
where
    F: division::Division,
    L: Lane<Value = F::Bits>,
{
    let vcc = wave.mask(reg::VCC);
    L::prepare(wave, inst, 0);
    L::prepare(wave, inst, 1);
    L::prepare(wave, inst, 2);
    let (a, b, c) = (
        L::rows(wave, inst, 0),
        L::rows(wave, inst, 1),
        L::rows(wave, inst, 2),
    );
    let mut out = [F::Bits::default(); W];
    if vcc & wave.active == 0 {
        // Hardly any quotient must be scaled back.
        for (i, out) in out.iter_mut().enumerate() {
            *out = fp::fma::<F>(mode, L::get(a, i), L::get(b, i), L::get(c, i));
        }
        return L::write(wave, inst, mode, &out);
    }
    for (i, out) in out.iter_mut().enumerate() {
        let scaled = vcc >> i & 1 != 0;
        *out = division::fmas::<F>(mode, L::get(a, i), L::get(b, i), L::get(c, i), scaled);
    }
    L::write(wave, inst, mode, &out);
}

/// [`div_fmas`], rounded as the mode says.
fn div_fmas_directed<const W: usize, L, F>(wave: &mut Wave<W>, inst: &Inst, mode: Mode)
where
    F: division::Division,
    L: Lane<Value = F::Bits>,
{
    let vcc = wave.mask(reg::VCC);
    for source in 0..3 {
        L::prepare(wave, inst, source);
    }
    let (a, b, c) = (
        L::rows(wave, inst, 0),
        L::rows(wave, inst, 1),
        L::rows(wave, inst, 2),
    );
    let mut out = [F::Bits::default(); W];
    for (i, out) in out.iter_mut().enumerate() {
        let scaled = vcc >> i & 1 != 0;
        *out = division::fmas_directed::<F>(mode, L::get(a, i), L::get(b, i), L::get(c, i), scaled);
    }
    L::write(wave, inst, mode, &out);
}

/// 32 x 32 + 64 bits, with the carry or overflow as a mask.
#[inline(always)]
fn wide_mad<const W: usize>(wave: &mut Wave<W>, inst: &Inst, f: impl Fn(u32, u32, u64) -> (u64, bool)) {
    let (a, b) = (lane::B32::rows(wave, inst, 0), lane::B32::rows(wave, inst, 1));
    let c = lane::B64::rows(wave, inst, 2);
    let (mut low, mut high) = ([0; W], [0; W]);
    let mut carries = 0;
    if usize::from(inst.sdst) == reg::NULL {
        // Nobody asks for the carries.
        for i in 0..W {
            let value = f(a[i], b[i], lane::B64::get(c, i)).0;
            (low[i], high[i]) = (value as u32, (value >> 32) as u32);
        }
    } else {
        let mut hits = [0; W];
        for i in 0..W {
            let (value, carry) = f(a[i], b[i], lane::B64::get(c, i));
            (low[i], high[i]) = (value as u32, (value >> 32) as u32);
            hits[i] = u32::from(carry);
        }
        carries = lane::pack(&hits) & wave.active;
    }
    lane::store(wave, usize::from(inst.dst), &low);
    lane::store(wave, usize::from(inst.dst) + 1, &high);
    wave.set_mask(usize::from(inst.sdst), carries);
}

#[inline(always)]
fn mad_unsigned<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let clamp = inst.clamp;
    wide_mad(wave, inst, |a, b, c| {
        let (sum, overflow) = (u64::from(a) * u64::from(b)).overflowing_add(c);
        (if clamp && overflow { u64::MAX } else { sum }, overflow)
    });
}

#[inline(always)]
fn mad_signed<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let clamp = inst.clamp;
    wide_mad(wave, inst, |a, b, c| {
        let product = i64::from(a as i32) * i64::from(b as i32);
        let (sum, overflow) = product.overflowing_add(c as i64);
        let limited = if clamp {
            product.saturating_add(c as i64)
        } else {
            sum
        };
        (limited as u64, overflow)
    });
}

/// Four masked sums of absolute differences, each added to a register of its own.
fn mqsad<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let (mut a, mut buffer) = ([0; W], [0; W]);
    lane::row64(wave, inst.src[0], &mut a);
    let b = *lane::row(wave, inst.src[1], &mut buffer);
    let sums: [[u32; W]; 4] = std::array::from_fn(|i| {
        let mut buffer = [0; W];
        let addend = match inst.src[2] {
            Src::Vgpr(n) => Src::Vgpr(n + i as u16),
            other => other,
        };
        let c = lane::row(wave, addend, &mut buffer);
        let sum = if inst.clamp {
            int::msad_u8_sat
        } else {
            int::msad_u8
        };
        std::array::from_fn(|lane| sum((a[lane] >> (8 * i)) as u32, b[lane], c[lane]))
    });
    for (i, sum) in sums.iter().enumerate() {
        lane::store(wave, usize::from(inst.dst) + i, sum);
    }
}

/// Ones of the source below this lane, plus `src1`. `START` is the lane of the mask's lowest bit.
#[inline(always)]
fn count_below<const W: usize, const START: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
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
fn permlane<const W: usize, const ACROSS: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let select =
        u64::from(salu::source(wave, inst.src[1])) | u64::from(salu::source(wave, inst.src[2])) << 32;
    permute_rows::<W, ACROSS>(wave, inst, |lane| (select >> (4 * (lane & 15)) & 15) as usize);
}

/// Each lane reads the lane of a row that the low four bits of its second source name.
fn permlane_var<const W: usize, const ACROSS: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
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
fn permlane64<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    if W > 32 {
        let mut buffer = [0; W];
        let row = *lane::row(wave, inst.src[0], &mut buffer);
        let out = std::array::from_fn(|lane| row[lane ^ 32]);
        lane::store(wave, usize::from(inst.dst), &out);
    }
}

/// Exchanges two registers in the active lanes.
fn swap<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    if let Src::Vgpr(second) = inst.src[0] {
        exchange(wave, usize::from(inst.dst), usize::from(second));
    }
}

fn exchange<const W: usize>(wave: &mut Wave<W>, first: usize, second: usize) {
    let (a, b) = (wave.vgpr[first], wave.vgpr[second]);
    lane::store(wave, first, &b);
    lane::store(wave, second, &a);
}

/// Exchanges rows of `ROW` lanes of two registers: the odd ones of the first with the even ones of the second. Lanes that are not active
/// keep what they have, as is assumed.
fn swap_rows<const W: usize, const ROW: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
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

/// Any function of three bits: the bits of `a`, `b` and `c` name a bit of the table, that of `a` the highest.
fn function_of_bits(table: i32, a: u32, b: u32, c: u32) -> u32 {
    let terms = (0..8).filter(|term| table >> term & 1 != 0);
    let of = |word: u32, is_set: bool| if is_set { word } else { !word };
    terms.fold(0, |all, term| {
        all | of(a, term & 4 != 0) & of(b, term & 2 != 0) & of(c, term & 1 != 0)
    })
}

#[inline(always)]
fn bitop3<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let [a, b, c] = [0, 1, 2].map(|i| lane::B32::rows(wave, inst, i));
    let out = std::array::from_fn(|i| function_of_bits(inst.imm, a[i], b[i], c[i]));
    lane::store(wave, usize::from(inst.dst), &out);
}

/// A function of the bits of two registers; the third is zero.
fn bitop2<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode) {
    let [a, b] = [0, 1].map(|i| lane::B32::rows(wave, inst, i));
    let out = std::array::from_fn(|i| function_of_bits(inst.imm, a[i], b[i], 0));
    lane::store(wave, usize::from(inst.dst), &out);
}

fn bitop3_half<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    let half = |i: usize| lane::halves(wave, inst.src[i], inst.op_sel >> i & 1 != 0, false, false);
    let [a, b, c] = [0, 1, 2].map(half);
    let out =
        std::array::from_fn(|i| function_of_bits(inst.imm, a[i].into(), b[i].into(), c[i].into()) as u16);
    lane::B16::write(wave, inst, mode, &out);
}

/// The registers of a relative move. What the card does beyond the wave's registers is not documented.
fn relative_registers<const W: usize>(
    wave: &Wave<W>,
    inst: &Inst,
    relative: Relative,
) -> Result<(Src, usize), Trouble> {
    let (from, to) = relative.offsets(wave.sgpr[reg::M0]);
    let moved = |register: u16, by: usize| {
        let register = usize::from(register).wrapping_add(by);
        (register < wave.vgpr.len())
            .then_some(register as u16)
            .ok_or_else(unimplemented)
    };
    let source = match inst.src[0] {
        Src::Vgpr(n) => Src::Vgpr(moved(n, from)?),
        other => other,
    };
    Ok((source, usize::from(moved(inst.dst, to)?)))
}

/// A move whose register numbers have M0 added.
pub(super) fn move_relative<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    relative: Relative,
) -> Result<(), Trouble> {
    let (from, to) = relative_registers(wave, inst, relative)?;
    let mut buffer = [0; W];
    let row = *lane::row(wave, from, &mut buffer);
    lane::store(wave, to, &row);
    Ok(())
}

/// Exchanges two registers whose numbers have M0 added.
pub(super) fn swap_relative<const W: usize>(wave: &mut Wave<W>, inst: &Inst) -> Result<(), Trouble> {
    let (from, to) = relative_registers(wave, inst, Relative::Fields)?;
    if let Src::Vgpr(from) = from {
        exchange(wave, usize::from(from), to);
    }
    Ok(())
}

/// A source of the mixed-precision operations as single precision.
#[inline(always)]
fn mixed<const W: usize, const BRAIN: bool>(wave: &mut Wave<W>, inst: &Inst, i: usize) -> [u32; W] {
    let bit = |bits: u8| bits >> i & 1 != 0;
    if bit(inst.op_sel_hi) {
        let halves = lane::halves(wave, inst.src[i], bit(inst.op_sel), bit(inst.abs), bit(inst.neg));
        return if BRAIN {
            lane::each(&halves, |half| u32::from(half) << 16)
        } else {
            lane::each(&halves, lane::single)
        };
    }
    lane::F32::prepare(wave, inst, i);
    *lane::F32::rows(wave, inst, i)
}

#[inline(always)]
fn fma_mix<const W: usize, const BRAIN: bool>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) -> [u32; W] {
    let [a, b, c] = [0, 1, 2].map(|i| mixed::<W, BRAIN>(wave, inst, i));
    if mode.is_directed() {
        return std::array::from_fn(|i| fp::directed::fma::<fp::F32>(mode, a[i], b[i], c[i]));
    }
    let mut out = [0; W];
    for (i, out) in out.iter_mut().enumerate() {
        *out = fp::fma::<fp::F32>(mode, a[i], b[i], c[i]);
    }
    out
}

#[inline(always)]
fn fma_mix32<const W: usize, const BRAIN: bool>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    let out = fma_mix::<W, BRAIN>(wave, inst, mode);
    lane::F32::write(wave, inst, mode, &out);
}

/// The result in 16 bits, in one half of the destination.
#[inline(always)]
fn fma_mix16<const W: usize, const BRAIN: bool, const HIGH: bool>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
) {
    let out = lane::each(&fma_mix::<W, BRAIN>(wave, inst, mode), |sum| {
        let half = if BRAIN {
            fp::brain::bf16_of_f32(f32::from_bits(sum))
        } else {
            super::convert::f16_of_f32(mode, sum)
        };
        match (inst.clamp, BRAIN) {
            (false, _) => half,
            (true, true) => fp::clamp::<fp::Bf16>(mode, half),
            (true, false) => fp::clamp::<fp::F16>(mode, half),
        }
    });
    lane::store_half(wave, usize::from(inst.dst), HIGH, &out);
}

/// `c + a.low * b.low + a.high * b.high` of every lane, in single precision, one fused step after the other.
#[inline(always)]
fn dot2_sums<const W: usize>(
    wave: &Wave<W>,
    inst: &Inst,
    mode: Mode,
    addend: &[u32; W],
    widen: impl Fn(u16) -> u32,
) -> [u32; W] {
    let mut sums = *addend;
    for high in [false, true] {
        let [a, b] = [0, 1].map(|i| lane::packed_source(wave, inst, i, high, true));
        for i in 0..W {
            sums[i] = fp::fma::<fp::F32>(mode, widen(a[i]), widen(b[i]), sums[i]);
        }
    }
    sums
}

#[inline(always)]
fn dot2<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, widen: impl Fn(u16) -> u32) {
    let mut buffer = [0; W];
    let flip = u32::from(inst.neg >> 2 & 1) << 31;
    let addend = lane::row(wave, inst.src[2], &mut buffer).map(|value| value ^ flip);
    let sums = dot2_sums(wave, inst, mode, &addend, widen);
    lane::F32::write(wave, inst, mode, &sums);
}

#[inline(always)]
fn dot2_f16<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    dot2(wave, inst, mode, lane::single);
}

#[inline(always)]
fn dot2_bf16<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    dot2(wave, inst, mode, single_of_bf16);
}

/// A number in the 16-bit brain format in single precision.
#[inline(always)]
fn single_of_bf16(half: u16) -> u32 {
    u32::from(half) << 16
}

fn dot2_half_f16<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    dot2_half(wave, inst, mode, lane::single, |sum| {
        fp::F16::round(f64::from(f32::from_bits(sum)))
    });
}

fn dot2_half_bf16<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    dot2_half(wave, inst, mode, single_of_bf16, matrix::bf16_of_f32);
}

/// [`dot2`] with a half as addend and result.
fn dot2_half<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    widen: impl Fn(u16) -> u32 + Copy,
    narrow: impl Fn(u32) -> u16,
) {
    let bit = |bits: u8| bits >> 2 & 1 != 0;
    let addend = lane::halves(wave, inst.src[2], bit(inst.op_sel), bit(inst.abs), bit(inst.neg)).map(widen);
    // VOP3 has no op_sel_hi: the sources are whole pairs, and op_sel is about addend and result.
    let pairs = Inst {
        op_sel: 0,
        op_sel_hi: 7,
        ..inst.clone()
    };
    let sums = dot2_sums(wave, &pairs, mode, &addend, widen).map(narrow);
    lane::B16::write(wave, inst, mode, &sums);
}

/// Products of integer fields, summed, plus `c`; the sign bits of the first two sources say which are signed.
#[inline(always)]
fn dot_int<const W: usize, const BITS: u32>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    let mut buffers = [[0; W]; 3];
    let [a, b, c] = &mut buffers;
    let a = lane::row(wave, inst.src[0], a);
    let b = lane::row(wave, inst.src[1], b);
    let c = lane::row(wave, inst.src[2], c);
    let signed = [inst.neg & 1 != 0, inst.neg & 2 != 0];
    let mut out = [0; W];
    for (i, out) in out.iter_mut().enumerate() {
        *out = matrix::sum(c[i], matrix::dot(a[i], b[i], BITS, signed), inst.clamp);
    }
    lane::B32::write(wave, inst, mode, &out);
}
