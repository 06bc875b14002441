//! Lane functions and comparisons: the rows of the operation table applied to every lane.

use super::lane::{self, Lane};
use super::{convert, cube, division, fp8, int, transcendental};
use crate::fp::{self, Mode};
use crate::isa::ops::for_each_op;
use crate::isa::{Inst, Op};
use crate::wave::Wave;

/// One source.
#[inline(never)]
fn unary<const W: usize, D: Lane, A: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    f: impl Fn(A::Value) -> D::Value,
) {
    let mut out = [D::Value::default(); W];
    let mut buffer = [A::Value::default(); W];
    let a = A::read(wave, inst, 0, &mut buffer);
    for i in 0..W {
        out[i] = f(a[i]);
    }
    D::write(wave, inst, mode, &out);
}

/// Two sources.
#[inline(never)]
fn binary<const W: usize, D: Lane, A: Lane, B: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    f: impl Fn(A::Value, B::Value) -> D::Value,
) {
    let mut out = [D::Value::default(); W];
    let (mut buffer_a, mut buffer_b) = ([A::Value::default(); W], [B::Value::default(); W]);
    let a = A::read(wave, inst, 0, &mut buffer_a);
    let b = B::read(wave, inst, 1, &mut buffer_b);
    for i in 0..W {
        out[i] = f(a[i], b[i]);
    }
    D::write(wave, inst, mode, &out);
}

/// Three sources.
#[inline(never)]
fn ternary<const W: usize, D: Lane, A: Lane, B: Lane, C: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    f: impl Fn(A::Value, B::Value, C::Value) -> D::Value,
) {
    let mut out = [D::Value::default(); W];
    let mut buffers = (
        [A::Value::default(); W],
        [B::Value::default(); W],
        [C::Value::default(); W],
    );
    let a = A::read(wave, inst, 0, &mut buffers.0);
    let b = B::read(wave, inst, 1, &mut buffers.1);
    let c = C::read(wave, inst, 2, &mut buffers.2);
    for i in 0..W {
        out[i] = f(a[i], b[i], c[i]);
    }
    D::write(wave, inst, mode, &out);
}

/// Two or three packed sources, a function of 16 bits on both halves. With two, the third reads as zero.
#[inline(never)]
fn packed<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    float: bool,
    f: impl Fn(u16, u16, u16) -> u16,
) {
    let halves = [false, true].map(|high| {
        let [a, b, c] = [0, 1, 2].map(|i| lane::packed_source(wave, inst, i, high, float));
        let mut out = [0; W];
        for i in 0..W {
            out[i] = f(a[i], b[i], c[i]);
        }
        out
    });
    lane::packed_write(wave, inst, mode, halves);
}

/// A comparison: the mask of the active lanes whose relation counts as true.
#[inline(never)]
fn compare<const W: usize, A: Lane, B: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    relation: impl Fn(A::Value, B::Value) -> u8,
) {
    let (mut buffer_a, mut buffer_b) = ([A::Value::default(); W], [B::Value::default(); W]);
    let a = A::read(wave, inst, 0, &mut buffer_a);
    let b = B::read(wave, inst, 1, &mut buffer_b);
    let mut hits = [0u8; W];
    for i in 0..W {
        hits[i] = u8::from(relation(a[i], b[i]) & inst.relations != 0);
    }
    let mask = pack(&hits) & wave.active;
    wave.set_mask(usize::from(inst.dst), mask);
    if W > 32 && inst.writes_exec {
        wave.set_exec(mask);
    }
}

/// One bit for each byte, which is 0 or 1. Eight at a time: the product moves byte `i`'s bit to bit `56 + i`.
#[inline(always)]
pub(super) fn pack<const W: usize>(hits: &[u8; W]) -> u64 {
    hits.chunks_exact(8).enumerate().fold(0, |mask, (i, eight)| {
        let joined = eight
            .iter()
            .rev()
            .fold(0u64, |all, hit| all << 8 | u64::from(*hit));
        mask | (joined.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i)
    })
}

macro_rules! lanes {
    ($wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident) $f:expr) => {
        unary::<W, lane::$d, lane::$a>($wave, $inst, $mode, $f)
    };
    ($wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident) $f:expr) => {
        binary::<W, lane::$d, lane::$a, lane::$b>($wave, $inst, $mode, $f)
    };
    ($wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident, $c:ident) $f:expr) => {
        ternary::<W, lane::$d, lane::$a, lane::$b, lane::$c>($wave, $inst, $mode, $f)
    };
}

macro_rules! float_lanes {
    ($wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident) $f:expr) => {
        unary::<W, lane::$d, lane::$a>($wave, $inst, $mode, |a| $f($mode, a))
    };
    ($wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident) $f:expr) => {
        binary::<W, lane::$d, lane::$a, lane::$b>($wave, $inst, $mode, |a, b| $f($mode, a, b))
    };
    ($wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident, $c:ident) $f:expr) => {
        ternary::<W, lane::$d, lane::$a, lane::$b, lane::$c>($wave, $inst, $mode, |a, b, c| {
            $f($mode, a, b, c)
        })
    };
}

macro_rules! packed_lanes {
    ($wave:ident $inst:ident $mode:ident, ($a:ident, $b:ident) $f:expr) => {
        packed($wave, $inst, $mode, false, |a, b, _| $f(a, b))
    };
    ($wave:ident $inst:ident $mode:ident, ($a:ident, $b:ident, $c:ident) $f:expr) => {
        packed($wave, $inst, $mode, false, $f)
    };
    (float $wave:ident $inst:ident $mode:ident, ($a:ident, $b:ident) $f:expr) => {
        packed($wave, $inst, $mode, true, |a, b, _| $f($mode, a, b))
    };
    (float $wave:ident $inst:ident $mode:ident, ($a:ident, $b:ident, $c:ident) $f:expr) => {
        packed($wave, $inst, $mode, true, |a, b, c| $f($mode, a, b, c))
    };
}

macro_rules! executors {
    (
        int { $($ti:ident: $tid:ident = ($($tis:ident),*) $tif:expr;)* }
        float { $($tf:ident: $tfd:ident = ($($tfs:ident),*) $tff:expr;)* }
        packed_int { $($pi:ident: $pid:ident = ($($pis:ident),*) $pif:expr;)* }
        packed_float { $($pf:ident: $pfd:ident = ($($pfs:ident),*) $pff:expr;)* }
        compare { $($c:ident: $cd:ident = ($ca:ident, $cb:ident) $cf:expr;)* }
        $($rest:tt)*
    ) => {
        /// Executes a lane function. Other operations do nothing here; [`crate::isa::Unit`] keeps them away.
        pub(super) fn execute<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
            match inst.op {
                $(Op::$ti => lanes!(wave inst mode, $tid = ($($tis),*) $tif),)*
                $(Op::$tf => float_lanes!(wave inst mode, $tfd = ($($tfs),*) $tff),)*
                $(Op::$pi => packed_lanes!(wave inst mode, ($($pis),*) $pif),)*
                $(Op::$pf => packed_lanes!(float wave inst mode, ($($pfs),*) $pff),)*
                _ => {}
            }
        }

        /// Executes a comparison. Other operations do nothing here.
        pub(super) fn execute_compare<const W: usize>(wave: &mut Wave<W>, inst: &Inst) {
            match inst.op {
                $(Op::$c => compare::<W, lane::$ca, lane::$cb>(wave, inst, $cf),)*
                _ => {}
            }
        }
    };
}
for_each_op!(executors);
