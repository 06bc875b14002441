//! Lane functions and comparisons: the rows of the operation table applied to every lane.

use super::host::Host;
use super::lane::{self, Lane};
use super::table::WaveFunction;
use super::{convert, cube, division, fp8, int, transcendental};
use crate::fp::{self, Mode, directed};
use crate::isa::ops::for_each_op;
use crate::isa::{Inst, OPS, Op};
use crate::wave::Wave;

/// An operation on one source.
type Unary<'a, D, A> = &'a dyn Fn(Mode, A) -> D;
/// An operation on two sources.
type Binary<'a, D, A, B> = &'a dyn Fn(Mode, A, B) -> D;
/// An operation on three sources.
type Ternary<'a, D, A, B, C> = &'a dyn Fn(Mode, A, B, C) -> D;

/// Prepares the sources that cannot be read directly from a vector register.
macro_rules! ready {
    ($host:ident $wave:ident $inst:ident, $($kind:ty, $i:literal);*) => {
        if $(lane::is_derived($inst, $i))||* {
            $(if lane::is_derived($inst, $i) {
                lane::derive::<H, W, $kind>($host, $wave, $inst, $i);
            })*
        }
    };
}

/// Defines an applier: `$name` calls the body compiled for the host, or on a compact one the body that was compiled once for
/// the operand kinds.
macro_rules! applier {
    (
        $(#[$doc:meta])*
        $name:ident, $compact:ident, $body:ident, $dyn:ident, [$($kind:ident),*], ($($arg:ident $i:literal: $ty:ty),*) -> $out:ty
    ) => {
        $(#[$doc])*
        #[inline(always)]
        fn $name<H: Host, const W: usize, const HOPES: bool, $($kind: Lane),*>(
            host: H,
            wave: &mut Wave<W>,
            inst: &Inst,
            mode: Mode,
            f: impl Fn(Mode, $($ty),*) -> $out,
        ) {
            ready!(host wave inst, $($arg, $i);*);
            if H::COMPACT {
                return $compact::<W, HOPES, $($kind),*>(wave, inst, mode, &f);
            }
            host.run(
                #[inline(always)]
                move || $body::<W, HOPES, $($kind),*>(wave, inst, mode.on(H::FUSES), f),
            );
        }

        #[inline(never)]
        fn $compact<const W: usize, const HOPES: bool, $($kind: Lane),*>(
            wave: &mut Wave<W>,
            inst: &Inst,
            mode: Mode,
            f: $dyn<'_, $out, $($ty),*>,
        ) {
            $body::<W, HOPES, $($kind),*>(wave, inst, mode, f);
        }
    };
}

applier! {
    /// One source.
    unary, unary_compact, unary_rows, Unary, [D, A], (A 0: A::Value) -> D::Value
}
applier! {
    /// Two sources.
    binary, binary_compact, binary_rows, Binary, [D, A, B], (A 0: A::Value, B 1: B::Value) -> D::Value
}
applier! {
    /// Three sources.
    ternary, ternary_compact, ternary_rows, Ternary, [D, A, B, C], (A 0: A::Value, B 1: B::Value, C 2: C::Value) -> D::Value
}

/// `f` of every lane.
#[inline(always)]
fn lanes<const W: usize, D: Lane>(f: impl Fn(usize) -> D::Value) -> [D::Value; W] {
    let mut out = [D::Value::default(); W];
    for (i, out) in out.iter_mut().enumerate() {
        *out = f(i);
    }
    out
}

/// The same, unless a result is a NaN.
#[inline(always)]
fn numbers<const W: usize, D: Lane>(f: impl Fn(usize) -> D::Value) -> Option<[D::Value; W]> {
    let mut out = [D::Value::default(); W];
    let mut nans = D::Value::default();
    for (i, out) in out.iter_mut().enumerate() {
        *out = f(i);
        nans = nans | D::nan(*out);
    }
    (nans == D::Value::default()).then_some(out)
}

/// Whether an operation is computed with NaNs left to chance at first ([`Mode::any_nan`]), and again with the rules for them
/// where there is one among the results: there hardly ever is. For the operations that kernels compute most.
const fn hopes_for_numbers(op: Op) -> bool {
    matches!(
        op,
        Op::AddF32
            | Op::SubF32
            | Op::SubrevF32
            | Op::MulF32
            | Op::FmaF32
            | Op::RndneF32
            | Op::FloorF32
            | Op::AddF64
            | Op::MulF64
            | Op::FmaF64
            | Op::AddF16
            | Op::SubF16
            | Op::MulF16
            | Op::FmaF16
    )
}

#[inline(always)]
fn unary_rows<const W: usize, const HOPES: bool, D: Lane, A: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    f: impl Fn(Mode, A::Value) -> D::Value,
) {
    let a = A::rows(wave, inst, 0);
    let quick = mode.with_any_nan();
    if HOPES
        && let Some(out) = numbers::<W, D>(
            #[inline(always)]
            |i| f(quick, A::get(a, i)),
        )
    {
        return D::write(wave, inst, mode, &out);
    }
    let out = lanes::<W, D>(
        #[inline(always)]
        |i| f(mode, A::get(a, i)),
    );
    D::write(wave, inst, mode, &out);
}

#[inline(always)]
fn binary_rows<const W: usize, const HOPES: bool, D: Lane, A: Lane, B: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    f: impl Fn(Mode, A::Value, B::Value) -> D::Value,
) {
    let (a, b) = (A::rows(wave, inst, 0), B::rows(wave, inst, 1));
    let quick = mode.with_any_nan();
    if HOPES
        && let Some(out) = numbers::<W, D>(
            #[inline(always)]
            |i| f(quick, A::get(a, i), B::get(b, i)),
        )
    {
        return D::write(wave, inst, mode, &out);
    }
    let out = lanes::<W, D>(
        #[inline(always)]
        |i| f(mode, A::get(a, i), B::get(b, i)),
    );
    D::write(wave, inst, mode, &out);
}

#[inline(always)]
fn ternary_rows<const W: usize, const HOPES: bool, D: Lane, A: Lane, B: Lane, C: Lane>(
    wave: &mut Wave<W>,
    inst: &Inst,
    mode: Mode,
    f: impl Fn(Mode, A::Value, B::Value, C::Value) -> D::Value,
) {
    let (a, b, c) = (
        A::rows(wave, inst, 0),
        B::rows(wave, inst, 1),
        C::rows(wave, inst, 2),
    );
    let quick = mode.with_any_nan();
    if HOPES
        && let Some(out) = numbers::<W, D>(
            #[inline(always)]
            |i| f(quick, A::get(a, i), B::get(b, i), C::get(c, i)),
        )
    {
        return D::write(wave, inst, mode, &out);
    }
    let out = lanes::<W, D>(
        #[inline(always)]
        |i| f(mode, A::get(a, i), B::get(b, i), C::get(c, i)),
    );
    D::write(wave, inst, mode, &out);
}

/// Two or three packed sources, a function of 16 bits on both halves. With two, the third reads as zero.
#[inline(always)]
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
        let quick = mode.with_any_nan();
        let numbers = float.then(|| {
            numbers::<W, lane::F16>(
                #[inline(always)]
                |i| f(quick, a[i], b[i], c[i]),
            )
        });
        *out = numbers.flatten().unwrap_or_else(
            #[inline(always)]
            || {
                lanes::<W, lane::F16>(
                    #[inline(always)]
                    |i| f(mode, a[i], b[i], c[i]),
                )
            },
        );
    }
    lane::packed_write(wave, inst, mode, &halves);
}

/// A comparison: the mask of the active lanes whose relation counts as true.
#[inline(always)]
fn compare<H: Host, const W: usize, A: Lane, B: Lane>(
    host: H,
    wave: &mut Wave<W>,
    inst: &Inst,
    relation: impl Fn(A::Value, B::Value) -> u32,
) {
    if let (Some(a), Some(b)) = (A::uniform(wave, inst, 0), B::uniform(wave, inst, 1)) {
        let counts = relation(a, b) & u32::from(inst.relations) != 0;
        return decided(wave, inst, if counts { wave.active } else { 0 });
    }
    ready!(host wave inst, A, 0; B, 1);
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
    let (a, b) = (A::rows(wave, inst, 0), B::rows(wave, inst, 1));
    let counts = u32::from(inst.relations);
    let mut hits = [0; W];
    for (i, hit) in hits.iter_mut().enumerate() {
        *hit = u32::from(relation(A::get(a, i), B::get(b, i)) & counts != 0);
    }
    decided(wave, inst, lane::pack(&hits) & wave.active);
}

/// The result of a comparison.
#[inline(always)]
fn decided<const W: usize>(wave: &mut Wave<W>, inst: &Inst, mask: u64) {
    wave.set_mask(usize::from(inst.dst), mask);
    if inst.writes_exec {
        wave.set_exec(mask);
    }
}

/// Applies an integer row; its function takes no mode.
macro_rules! int_lanes {
    ($host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident) $f:expr) => {
        unary::<H, W, false, lane::$d, lane::$a>($host, $wave, $inst, $mode, |_, a| $f(a))
    };
    ($host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident) $f:expr) => {
        binary::<H, W, false, lane::$d, lane::$a, lane::$b>($host, $wave, $inst, $mode, |_, a, b| $f(a, b))
    };
    ($host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident, $c:ident) $f:expr) => {
        ternary::<H, W, false, lane::$d, lane::$a, lane::$b, lane::$c>(
            $host,
            $wave,
            $inst,
            $mode,
            |_, a, b, c| $f(a, b, c),
        )
    };
}

/// Applies a row whose function takes the mode.
macro_rules! float_lanes {
    ($op:ident $host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident) $f:expr) => {
        unary::<H, W, { hopes_for_numbers(Op::$op) }, lane::$d, lane::$a>($host, $wave, $inst, $mode, $f)
    };
    ($op:ident $host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident) $f:expr) => {
        binary::<H, W, { hopes_for_numbers(Op::$op) }, lane::$d, lane::$a, lane::$b>(
            $host, $wave, $inst, $mode, $f,
        )
    };
    ($op:ident $host:ident $wave:ident $inst:ident $mode:ident, $d:ident = ($a:ident, $b:ident, $c:ident) $f:expr) => {
        ternary::<H, W, { hopes_for_numbers(Op::$op) }, lane::$d, lane::$a, lane::$b, lane::$c>(
            $host, $wave, $inst, $mode, $f,
        )
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
        /// Enters the lane functions and the comparisons into the table.
        pub(super) const fn enter<H: Host, const W: usize>(mut table: [WaveFunction<H, W>; OPS]) -> [WaveFunction<H, W>; OPS] {
            $(table[Op::$ti as usize] = |host, wave, inst, mode| {
                int_lanes!(host wave inst mode, $tid = ($($tis),*) $tif)
            };)*
            $(table[Op::$tf as usize] = |host, wave, inst, mode| {
                float_lanes!($tf host wave inst mode, $tfd = ($($tfs),*) $tff)
            };)*
            $(table[Op::$pi as usize] = |host, wave, inst, mode| {
                packed_lanes!(host wave inst mode, ($($pis),*) $pif)
            };)*
            $(table[Op::$pf as usize] = |host, wave, inst, mode| {
                packed_lanes!(float host wave inst mode, ($($pfs),*) $pff)
            };)*
            $(table[Op::$c as usize] = |host, wave, inst, _| {
                compare::<H, W, lane::$ca, lane::$cb>(host, wave, inst, $cf)
            };)*
            table
        }
    };
}
for_each_op!(executors);
