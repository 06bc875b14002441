//! Vector operations that look at other lanes, at masks, or at registers beyond their operands.

mod lanes;
mod mixed;

use lanes::{count_below, exchange, permlane, permlane_var, permlane64, swap, swap_rows};
use mixed::{dot_int, dot2_bf16, dot2_f16, dot2_half_bf16, dot2_half_f16, fma_mix16, fma_mix32};

use super::host::Host;
use super::lane::{self, Lane};
use super::table::WaveFunction;
use super::{Trouble, division, fp8, int, pair, salu, scaled, unimplemented};
use crate::fp::{self, Mode};
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
        exec { $($exec:tt)* }
        scalar_float { $($scalar_float:tt)* }
        scalar_compare { $($scalar_compare:tt)* }
        vector { $($v:ident: $vd:ident + $vm:ident = ($($vs:ident),*) [$($kind:ident $i:literal),*] $f:expr;)* }
        $($rest:tt)*
    ) => {
        /// Enters the vector operations into the table.
        pub(super) const fn enter<H: Host, const W: usize>(mut table: [WaveFunction<H, W>; OPS]) -> [WaveFunction<H, W>; OPS] {
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
