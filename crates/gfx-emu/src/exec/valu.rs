//! Lane functions and comparisons: the rows of the operation table applied to every lane.

use super::host::Host;
use super::lane::{self, Lane};
use super::{convert, cube, division, fp8, int, transcendental};
use crate::fp::{self, Mode};
use crate::isa::ops::for_each_op;
use crate::isa::{Inst, Op};
use crate::wave::Wave;

/// An operation on one source.
type Unary<'a, D, A> = &'a dyn Fn(Mode, A) -> D;
/// An operation on two sources.
type Binary<'a, D, A, B> = &'a dyn Fn(Mode, A, B) -> D;
/// An operation on three sources.
type Ternary<'a, D, A, B, C> = &'a dyn Fn(Mode, A, B, C) -> D;

/// Defines an applier: `$name` calls the body compiled for the host, or on a compact one the body that was compiled once for
/// the operand kinds.
macro_rules! applier {
    (
        $(#[$doc:meta])*
        $name:ident, $compact:ident, $body:ident, $dyn:ident, [$($kind:ident),*], ($($arg:ident: $ty:ty),*) -> $out:ty
    ) => {
        $(#[$doc])*
        #[inline(never)]
        fn $name<H: Host, const W: usize, $($kind: Lane),*>(
            host: H,
            wave: &mut Wave<W>,
            inst: &Inst,
            mode: Mode,
            f: impl Fn(Mode, $($ty),*) -> $out,
        ) {
            if H::COMPACT {
                return $compact::<W, $($kind),*>(wave, inst, mode, &f);
            }
            host.run(
                #[inline(always)]
                move || $body::<W, $($kind),*>(wave, inst, mode.on(H::FUSES), f),
            );
        }

        #[inline(never)]
        fn $compact<const W: usize, $($kind: Lane),*>(
            wave: &mut Wave<W>,
            inst: &Inst,
            mode: Mode,
            f: $dyn<'_, $out, $($ty),*>,
        ) {
            $body::<W, $($kind),*>(wave, inst, mode, f);
        }
    };
}

applier! {
    /// One source.
    unary, unary_compact, unary_rows, Unary, [D, A], (a: A::Value) -> D::Value
}
applier! {
    /// Two sources.
    binary, binary_compact, binary_rows, Binary, [D, A, B], (a: A::Value, b: B::Value) -> D::Value
}
applier! {
    /// Three sources.
    ternary, ternary_compact, ternary_rows, Ternary, [D, A, B, C], (a: A::Value, b: B::Value, c: C::Value) -> D::Value
}

#[inline(always)]
fn unary_rows<const W: usize, D: Lane, A: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    f: impl Fn(Mode, A::Value) -> D::Value,
) {
    A::prepare(wave, inst, 0);
    let a = A::rows(wave, inst, 0);
    let mut out = [D::Value::default(); W];
    for (i, out) in out.iter_mut().enumerate() {
        *out = f(mode, A::get(a, i));
    }
    D::write(wave, inst, mode, &out);
}

#[inline(always)]
fn binary_rows<const W: usize, D: Lane, A: Lane, B: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    f: impl Fn(Mode, A::Value, B::Value) -> D::Value,
) {
    A::prepare(wave, inst, 0);
    B::prepare(wave, inst, 1);
    let (a, b) = (A::rows(wave, inst, 0), B::rows(wave, inst, 1));
    let mut out = [D::Value::default(); W];
    for (i, out) in out.iter_mut().enumerate() {
        *out = f(mode, A::get(a, i), B::get(b, i));
    }
    D::write(wave, inst, mode, &out);
}

#[inline(always)]
fn ternary_rows<const W: usize, D: Lane, A: Lane, B: Lane, C: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    f: impl Fn(Mode, A::Value, B::Value, C::Value) -> D::Value,
) {
    A::prepare(wave, inst, 0);
    B::prepare(wave, inst, 1);
    C::prepare(wave, inst, 2);
    let (a, b, c) = (
        A::rows(wave, inst, 0),
        B::rows(wave, inst, 1),
        C::rows(wave, inst, 2),
    );
    let mut out = [D::Value::default(); W];
    for (i, out) in out.iter_mut().enumerate() {
        *out = f(mode, A::get(a, i), B::get(b, i), C::get(c, i));
    }
    D::write(wave, inst, mode, &out);
}

/// Two or three packed sources, a function of 16 bits on both halves. With two, the third reads as zero.
#[inline(never)]
fn packed<H: Host, const W: usize>(
    host: H,
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    float: bool,
    f: impl Fn(Mode, u16, u16, u16) -> u16,
) {
    if H::COMPACT {
        return packed_compact(wave, inst, mode, float, &f);
    }
    host.run(
        #[inline(always)]
        move || packed_rows(wave, inst, mode.on(H::FUSES), float, f),
    );
}

#[inline(never)]
fn packed_compact<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    float: bool,
    f: Ternary<'_, u16, u16, u16, u16>,
) {
    packed_rows(wave, inst, mode, float, f);
}

#[inline(always)]
fn packed_rows<const W: usize>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    float: bool,
    f: impl Fn(Mode, u16, u16, u16) -> u16,
) {
    let mut halves = [[0; W]; 2];
    for (high, out) in [false, true].into_iter().zip(&mut halves) {
        let a = lane::packed_source(wave, inst, 0, high, float);
        let b = lane::packed_source(wave, inst, 1, high, float);
        let c = lane::packed_source(wave, inst, 2, high, float);
        for i in 0..W {
            out[i] = f(mode, a[i], b[i], c[i]);
        }
    }
    lane::packed_write(wave, inst, mode, &halves);
}

/// A comparison: the mask of the active lanes whose relation counts as true.
#[inline(never)]
fn compare<H: Host, const W: usize, A: Lane, B: Lane>(
    host: H,
    wave: &mut Wave<W>,
    inst: &Inst,
    relation: impl Fn(A::Value, B::Value) -> u32,
) {
    if H::COMPACT {
        return compare_compact::<W, A, B>(wave, inst, &relation);
    }
    host.run(
        #[inline(always)]
        move || compare_rows::<W, A, B>(wave, inst, relation),
    );
}

#[inline(never)]
fn compare_compact<const W: usize, A: Lane, B: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    relation: &dyn Fn(A::Value, B::Value) -> u32,
) {
    compare_rows::<W, A, B>(wave, inst, relation);
}

#[inline(always)]
fn compare_rows<const W: usize, A: Lane, B: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    relation: impl Fn(A::Value, B::Value) -> u32,
) {
    A::prepare(wave, inst, 0);
    B::prepare(wave, inst, 1);
    let (a, b) = (A::rows(wave, inst, 0), B::rows(wave, inst, 1));
    let counts = u32::from(inst.relations);
    let mut hits = [0; W];
    for (i, hit) in hits.iter_mut().enumerate() {
        *hit = u32::from(relation(A::get(a, i), B::get(b, i)) & counts != 0);
    }
    let mask = lane::pack(&hits) & wave.active;
    wave.set_mask(usize::from(inst.dst), mask);
    if W > 32 && inst.writes_exec {
        wave.set_exec(mask);
    }
}

/// Applies an integer row; its function knows no mode.
macro_rules! lanes {
    ($host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident) $f:expr) => {
        unary::<H, W, lane::$d, lane::$a>($host, $wave, $inst, $mode, |_, a| $f(a))
    };
    ($host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident) $f:expr) => {
        binary::<H, W, lane::$d, lane::$a, lane::$b>($host, $wave, $inst, $mode, |_, a, b| $f(a, b))
    };
    ($host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident, $c:ident) $f:expr) => {
        ternary::<H, W, lane::$d, lane::$a, lane::$b, lane::$c>($host, $wave, $inst, $mode, |_, a, b, c| {
            $f(a, b, c)
        })
    };
}

/// Applies a row whose function takes the mode.
macro_rules! float_lanes {
    ($host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident) $f:expr) => {
        unary::<H, W, lane::$d, lane::$a>($host, $wave, $inst, $mode, $f)
    };
    ($host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident) $f:expr) => {
        binary::<H, W, lane::$d, lane::$a, lane::$b>($host, $wave, $inst, $mode, $f)
    };
    ($host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident, $c:ident) $f:expr) => {
        ternary::<H, W, lane::$d, lane::$a, lane::$b, lane::$c>($host, $wave, $inst, $mode, $f)
    };
}

macro_rules! packed_lanes {
    ($host:ident $wave:ident $inst:ident $mode:ident, ($a:ident, $b:ident) $f:expr) => {
        packed($host, $wave, $inst, $mode, false, |_, a, b, _| $f(a, b))
    };
    ($host:ident $wave:ident $inst:ident $mode:ident, ($a:ident, $b:ident, $c:ident) $f:expr) => {
        packed($host, $wave, $inst, $mode, false, |_, a, b, c| $f(a, b, c))
    };
    (float $host:ident $wave:ident $inst:ident $mode:ident, ($a:ident, $b:ident) $f:expr) => {
        packed($host, $wave, $inst, $mode, true, |mode, a, b, _| $f(mode, a, b))
    };
    (float $host:ident $wave:ident $inst:ident $mode:ident, ($a:ident, $b:ident, $c:ident) $f:expr) => {
        packed($host, $wave, $inst, $mode, true, $f)
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
        pub(super) fn execute<H: Host, const W: usize>(host: H, wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
            match inst.op {
                $(Op::$ti => lanes!(host wave inst mode, $tid = ($($tis),*) $tif),)*
                $(Op::$tf => float_lanes!(host wave inst mode, $tfd = ($($tfs),*) $tff),)*
                $(Op::$pi => packed_lanes!(host wave inst mode, ($($pis),*) $pif),)*
                $(Op::$pf => packed_lanes!(float host wave inst mode, ($($pfs),*) $pff),)*
                _ => {}
            }
        }

        /// Executes a comparison. Other operations do nothing here.
        pub(super) fn execute_compare<H: Host, const W: usize>(host: H, wave: &mut Wave<W>, inst: &Inst) {
            match inst.op {
                $(Op::$c => compare::<H, W, lane::$ca, lane::$cb>(host, wave, inst, $cf),)*
                _ => {}
            }
        }
    };
}
for_each_op!(executors);
