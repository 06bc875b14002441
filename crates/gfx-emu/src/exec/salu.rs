//! Scalar functions of the operation table: sources in, destination and SCC out.

use super::host::Host;
use super::lane::{self, condition};
use super::table::WaveFunction;
use super::{convert, int, scalar_fn as scalar, transcendental};
use crate::fp::{self, Mode, directed, zeroed};
use crate::isa::ops::for_each_op;
use crate::isa::{Inst, OPS, Op, Src};
use crate::wave::Wave;

/// A scalar operand's width.
trait Scalar: Sized {
    fn read<const W: usize>(wave: &Wave<W>, src: Src) -> Self;
    fn read_dst<const W: usize>(wave: &Wave<W>, inst: &Inst) -> Self;
}

/// A 32-bit scalar source.
#[inline(always)]
pub(super) fn source<const W: usize>(wave: &Wave<W>, src: Src) -> u32 {
    match src {
        Src::Scalar(n) => wave.sgpr[usize::from(n & 127)],
        Src::Const(value) => value as u32,
        // No scalar encoding names the others.
        other => u32::from(condition(wave, other)),
    }
}

/// A 64-bit scalar source.
#[inline(always)]
pub(super) fn source64<const W: usize>(wave: &Wave<W>, src: Src) -> u64 {
    match src {
        Src::Scalar(n) => wave.sgpr64(usize::from(n)),
        Src::Const(value) => value,
        other => u64::from(condition(wave, other)),
    }
}

impl Scalar for u32 {
    #[inline(always)]
    fn read<const W: usize>(wave: &Wave<W>, src: Src) -> u32 {
        source(wave, src)
    }
    #[inline(always)]
    fn read_dst<const W: usize>(wave: &Wave<W>, inst: &Inst) -> u32 {
        wave.sgpr[usize::from(inst.dst & 127)]
    }
}

impl Scalar for u64 {
    #[inline(always)]
    fn read<const W: usize>(wave: &Wave<W>, src: Src) -> u64 {
        source64(wave, src)
    }
    #[inline(always)]
    fn read_dst<const W: usize>(wave: &Wave<W>, inst: &Inst) -> u64 {
        wave.sgpr64(usize::from(inst.dst))
    }
}

/// What a scalar function returns.
trait ScalarResult {
    fn store<const W: usize>(self, wave: &mut Wave<W>, inst: &Inst);
}

impl ScalarResult for u32 {
    #[inline(always)]
    fn store<const W: usize>(self, wave: &mut Wave<W>, inst: &Inst) {
        wave.set_sgpr(usize::from(inst.dst), self);
    }
}

impl ScalarResult for u64 {
    #[inline(always)]
    fn store<const W: usize>(self, wave: &mut Wave<W>, inst: &Inst) {
        wave.set_sgpr64(usize::from(inst.dst), self);
    }
}

impl ScalarResult for bool {
    #[inline(always)]
    fn store<const W: usize>(self, wave: &mut Wave<W>, _: &Inst) {
        wave.scc = self;
    }
}

impl<T: ScalarResult> ScalarResult for (T, bool) {
    #[inline(always)]
    fn store<const W: usize>(self, wave: &mut Wave<W>, inst: &Inst) {
        self.0.store(wave, inst);
        wave.scc = self.1;
    }
}

#[inline(always)]
fn unary<const W: usize, A: Scalar, R: ScalarResult>(wave: &mut Wave<W>, inst: &Inst, f: impl Fn(A) -> R) {
    f(A::read(wave, inst.src[0])).store(wave, inst);
}

#[inline(always)]
fn binary<const W: usize, A: Scalar, B: Scalar, R: ScalarResult>(
    wave: &mut Wave<W>,
    inst: &Inst,
    f: impl Fn(A, B) -> R,
) {
    f(A::read(wave, inst.src[0]), B::read(wave, inst.src[1])).store(wave, inst);
}

#[inline(always)]
fn with_old<const W: usize, A: Scalar, D: Scalar + ScalarResult>(
    wave: &mut Wave<W>,
    inst: &Inst,
    f: impl Fn(bool, A, D) -> D,
) {
    f(wave.scc, A::read(wave, inst.src[0]), D::read_dst(wave, inst)).store(wave, inst);
}

/// EXEC becomes `f(source, EXEC)`; the destination gets the old EXEC, or with `write` the new one. The narrow forms leave the
/// lanes from 32 on alone.
fn exec<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    wide: bool,
    write: bool,
    f: impl Fn(u64, u64) -> u64,
) {
    let limit = if wide { u64::MAX } else { u64::from(u32::MAX) };
    let (source, old) = (source64(wave, inst.src[0]) & limit, wave.exec());
    let new = f(source, old & limit) & limit & Wave::<W>::ALL;
    wave.set_exec(new | old & !limit);
    let result = if write { new } else { old & limit };
    if wide {
        wave.set_sgpr64(usize::from(inst.dst), result);
    } else {
        wave.set_sgpr(usize::from(inst.dst), result as u32);
    }
    wave.scc = new != 0;
}

/// A kind of operand of the functions that follow the floating-point mode.
trait ScalarFloat {
    type Bits;
    fn read<const W: usize>(wave: &Wave<W>, inst: &Inst, i: usize, mode: Mode) -> Self::Bits;
    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, bits: Self::Bits);
}

impl ScalarFloat for lane::B32 {
    type Bits = u32;

    fn read<const W: usize>(wave: &Wave<W>, inst: &Inst, i: usize, _: Mode) -> u32 {
        source(wave, inst.src[i])
    }

    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, _: Mode, bits: u32) {
        bits.store(wave, inst);
    }
}

/// A number with the sign, in bit `at`, that absolute value and negation leave. Vector instructions on scalars alone have them.
fn with_sign(inst: &Inst, i: usize, at: u32, bits: u32) -> u32 {
    let has = |modifiers: u8| u32::from(modifiers >> i & 1) << at;
    bits & !has(inst.abs) ^ has(inst.neg)
}

impl ScalarFloat for lane::F32 {
    type Bits = u32;

    fn read<const W: usize>(wave: &Wave<W>, inst: &Inst, i: usize, mode: Mode) -> u32 {
        let bits = with_sign(inst, i, 31, source(wave, inst.src[i]));
        zeroed::<fp::F32>(bits, mode.single_flushed.sources)
    }

    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, bits: u32) {
        zeroed::<fp::F32>(bits, mode.single_flushed.results).store(wave, inst);
    }
}

impl ScalarFloat for lane::F16 {
    type Bits = u16;

    fn read<const W: usize>(wave: &Wave<W>, inst: &Inst, i: usize, mode: Mode) -> u16 {
        let bits = with_sign(inst, i, 15, source(wave, inst.src[i])) as u16;
        zeroed::<fp::F16>(bits, mode.others_flushed.sources)
    }

    fn write<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode, bits: u16) {
        u32::from(zeroed::<fp::F16>(bits, mode.others_flushed.results)).store(wave, inst);
    }
}

/// Applies a function that follows the floating-point mode.
macro_rules! number {
    ($wave:ident $inst:ident $mode:ident, $d:ident = ($($kind:ident $i:literal),*) $f:expr) => {{
        let bits = $f($mode, $(lane::$kind::read($wave, $inst, $i, $mode)),*);
        lane::$d::write($wave, $inst, $mode, bits);
    }};
    ($wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident) $f:expr) => {
        number!($wave $inst $mode, $d = ($a 0) $f)
    };
    ($wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident) $f:expr) => {
        number!($wave $inst $mode, $d = ($a 0, $b 1) $f)
    };
    ($wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident, $c:ident) $f:expr) => {
        number!($wave $inst $mode, $d = ($a 0, $b 1, $c 2) $f)
    };
}

macro_rules! values {
    ($wave:ident $inst:ident ($a:ident) $f:expr) => {
        unary($wave, $inst, $f)
    };
    ($wave:ident $inst:ident ($a:ident, $b:ident) $f:expr) => {
        binary($wave, $inst, $f)
    };
}

macro_rules! executor {
    (
        int { $($int:tt)* }
        float { $($float:tt)* }
        packed_int { $($packed_int:tt)* }
        packed_float { $($packed_float:tt)* }
        compare { $($compare:tt)* }
        scalar { $($s:ident: $sd:ident = ($($ss:ident),*) $sf:expr;)* }
        scalar_scc { $($x:ident: $xd:ident = ($($xs:ident),*) $xf:expr;)* }
        scalar_old { $($o:ident: $od:ident = ($($os:ident),*) $of:expr;)* }
        exec { $($e:ident, $g:ident: $ef:expr;)* }
        scalar_float { $($y:ident: $yd:ident = ($($ys:ident),*) $yf:expr, $yg:expr;)* }
        scalar_compare { $($z:ident: $zd:ident = ($za:ident, $zb:ident) $zf:expr;)* }
        $($rest:tt)*
    ) => {
        /// Enters the scalar functions into the table.
        pub(super) const fn enter<H: Host, const W: usize>(mut table: [WaveFunction<H, W>; OPS]) -> [WaveFunction<H, W>; OPS] {
            $(table[Op::$s as usize] = |_, wave, inst, _| values!(wave inst ($($ss),*) $sf);)*
            $(table[Op::$x as usize] = |_, wave, inst, _| {
                let scc = wave.scc;
                binary(wave, inst, |a: operand!($xd), b: operand!($xd)| $xf(scc, a, b));
            };)*
            $(table[Op::$o as usize] = |_, wave, inst, _| {
                with_old(wave, inst, $of as fn(bool, operand_of!($($os)*), operand!($od)) -> operand!($od));
            };)*
            $(table[Op::$e as usize] = |_, wave, inst, _| exec(wave, inst, false, writes_new(inst.op), $ef);)*
            $(table[Op::$g as usize] = |_, wave, inst, _| exec(wave, inst, true, writes_new(inst.op), $ef);)*
            $(table[Op::$y as usize] = |_, wave, inst, mode| {
                if mode.is_directed() {
                    number!(wave inst mode, $yd = ($($ys),*) $yg);
                } else {
                    number!(wave inst mode, $yd = ($($ys),*) $yf);
                }
            };)*
            $(table[Op::$z as usize] = |_, wave, inst, mode| {
                let (a, b) = (lane::$za::read(wave, inst, 0, mode), lane::$zb::read(wave, inst, 1, mode));
                let relation = $zf(a, b);
                wave.scc = relation & u32::from(inst.relations) != 0;
            };)*
            table
        }
    };
}

/// The host type of a scalar kind.
macro_rules! operand {
    (B32) => {
        u32
    };
    (B64) => {
        u64
    };
}
macro_rules! operand_of {
    ($kind:ident) => {
        operand!($kind)
    };
}

fn writes_new(op: Op) -> bool {
    matches!(
        op,
        Op::SAndNot0WrexecB32 | Op::SAndNot1WrexecB32 | Op::SAndNot0WrexecB64 | Op::SAndNot1WrexecB64
    )
}

for_each_op!(executor);
