//! Scalar functions: what a SALU instruction computes from its sources.
//!
//! A function returns the value, the value and SCC, or SCC alone; [`super::salu`] stores what it gets.

/// A value whose SCC tells whether it is not zero.
#[inline(always)]
fn flag(value: u32) -> (u32, bool) {
    (value, value != 0)
}

#[inline(always)]
fn flag64(value: u64) -> (u64, bool) {
    (value, value != 0)
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) -> $out:ty { $body:expr })*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name($($arg: $ty),*) -> $out { $body }
    )*};
}

#[rustfmt::skip] // one function a line
functions! {
    mov(a: u32) -> u32 { a }
    mov64(a: u64) -> u64 { a }
    /// The lowest zero bit.
    ff0(a: u32) -> u32 { super::int::ctz(!a) }
    ff0_64(a: u64) -> u32 { ctz64(!a) }
    ctz64(a: u64) -> u32 { if a == 0 { u32::MAX } else { a.trailing_zeros() } }
    clz64(a: u64) -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } }
    cls64(a: u64) -> u32 { if a == 0 || a == u64::MAX { u32::MAX } else { (a ^ (a as i64 >> 63) as u64).leading_zeros() } }
    sext8(a: u32) -> u32 { a as i8 as u32 }
    sext16(a: u32) -> u32 { a as i16 as u32 }
    /// Every bit twice.
    bitreplicate(a: u32) -> u64 { (0..32).fold(0, |all, i| all | (u64::from(a >> i & 1) * 3) << (2 * i)) }
    abs(a: u32) -> (u32, bool) { flag((a as i32).wrapping_abs() as u32) }
    bcnt0(a: u32) -> (u32, bool) { flag(a.count_zeros()) }
    bcnt0_64(a: u64) -> (u32, bool) { flag(a.count_zeros()) }
    bcnt1(a: u32) -> (u32, bool) { flag(a.count_ones()) }
    bcnt1_64(a: u64) -> (u32, bool) { flag(a.count_ones()) }
    /// Bit `i` tells whether any of the four bits from `4 * i` is set.
    quadmask(a: u32) -> (u32, bool) { flag((0..8).fold(0, |all, i| all | u32::from(a >> (4 * i) & 15 != 0) << i)) }
    quadmask64(a: u64) -> (u64, bool) { flag64((0..16).fold(0, |all, i| all | u64::from(a >> (4 * i) & 15 != 0) << i)) }
    /// Whole-quad mode: four ones where any of the four is one.
    wqm(a: u32) -> (u32, bool) { flag((0..8).fold(0, |all, i| all | (u32::from(a >> (4 * i) & 15 != 0) * 15) << (4 * i))) }
    wqm64(a: u64) -> (u64, bool) { flag64((0..16).fold(0, |all, i| all | (u64::from(a >> (4 * i) & 15 != 0) * 15) << (4 * i))) }
    not(a: u32) -> (u32, bool) { flag(!a) }
    not64(a: u64) -> (u64, bool) { flag64(!a) }
    /// SCC is the carry.
    add_u32(a: u32, b: u32) -> (u32, bool) { a.overflowing_add(b) }
    /// SCC is the borrow.
    sub_u32(a: u32, b: u32) -> (u32, bool) { a.overflowing_sub(b) }
    /// SCC is the signed overflow.
    add_i32(a: u32, b: u32) -> (u32, bool) { signed((a as i32).overflowing_add(b as i32)) }
    sub_i32(a: u32, b: u32) -> (u32, bool) { signed((a as i32).overflowing_sub(b as i32)) }
    signed(result: (i32, bool)) -> (u32, bool) { (result.0 as u32, result.1) }
    absdiff(a: u32, b: u32) -> (u32, bool) { flag((a as i32).wrapping_sub(b as i32).wrapping_abs() as u32) }
    lshl(a: u32, b: u32) -> (u32, bool) { flag(a << (b & 31)) }
    lshl64(a: u64, b: u32) -> (u64, bool) { flag64(a << (b & 63)) }
    lshr(a: u32, b: u32) -> (u32, bool) { flag(a >> (b & 31)) }
    lshr64(a: u64, b: u32) -> (u64, bool) { flag64(a >> (b & 63)) }
    ashr(a: u32, b: u32) -> (u32, bool) { flag((a as i32 >> (b & 31)) as u32) }
    ashr64(a: u64, b: u32) -> (u64, bool) { flag64((a as i64 >> (b & 63)) as u64) }
    /// SCC tells that `a` is the result.
    min_i32(a: u32, b: u32) -> (u32, bool) { ((a as i32).min(b as i32) as u32, (a as i32) < b as i32) }
    min_u32(a: u32, b: u32) -> (u32, bool) { (a.min(b), a < b) }
    max_i32(a: u32, b: u32) -> (u32, bool) { ((a as i32).max(b as i32) as u32, a as i32 >= b as i32) }
    max_u32(a: u32, b: u32) -> (u32, bool) { (a.max(b), a >= b) }
    and(a: u32, b: u32) -> (u32, bool) { flag(a & b) }
    and64(a: u64, b: u64) -> (u64, bool) { flag64(a & b) }
    or(a: u32, b: u32) -> (u32, bool) { flag(a | b) }
    or64(a: u64, b: u64) -> (u64, bool) { flag64(a | b) }
    xor(a: u32, b: u32) -> (u32, bool) { flag(a ^ b) }
    xor64(a: u64, b: u64) -> (u64, bool) { flag64(a ^ b) }
    nand(a: u32, b: u32) -> (u32, bool) { flag(!(a & b)) }
    nand64(a: u64, b: u64) -> (u64, bool) { flag64(!(a & b)) }
    nor(a: u32, b: u32) -> (u32, bool) { flag(!(a | b)) }
    nor64(a: u64, b: u64) -> (u64, bool) { flag64(!(a | b)) }
    xnor(a: u32, b: u32) -> (u32, bool) { flag(!(a ^ b)) }
    xnor64(a: u64, b: u64) -> (u64, bool) { flag64(!(a ^ b)) }
    and_not1(a: u32, b: u32) -> (u32, bool) { flag(a & !b) }
    and_not1_64(a: u64, b: u64) -> (u64, bool) { flag64(a & !b) }
    or_not1(a: u32, b: u32) -> (u32, bool) { flag(a | !b) }
    or_not1_64(a: u64, b: u64) -> (u64, bool) { flag64(a | !b) }
    /// Offset in bits 4:0 of `b`, width in bits 22:16.
    bfe_u32(a: u32, b: u32) -> (u32, bool) { flag((field(u64::from(a >> (b & 31)), b)) as u32) }
    bfe_i32(a: u32, b: u32) -> (u32, bool) { flag(signed_field(i64::from(a as i32) >> (b & 31), b, 32) as u32) }
    /// Offset in bits 5:0 of `b`, width in bits 22:16.
    bfe_u64(a: u64, b: u32) -> (u64, bool) { flag64(field(a >> (b & 63), b)) }
    bfe_i64(a: u64, b: u32) -> (u64, bool) { flag64(signed_field(a as i64 >> (b & 63), b, 64)) }
    bfm64(a: u32, b: u32) -> u64 { ((1u64 << (a & 63)) - 1) << (b & 63) }
    pack_ll(a: u32, b: u32) -> u32 { a & 0xffff | b << 16 }
    pack_lh(a: u32, b: u32) -> u32 { a & 0xffff | b & 0xffff_0000 }
    pack_hh(a: u32, b: u32) -> u32 { a >> 16 | b & 0xffff_0000 }
    pack_hl(a: u32, b: u32) -> u32 { a >> 16 | b << 16 }
    eq(a: u32, b: u32) -> bool { a == b }
    ne(a: u32, b: u32) -> bool { a != b }
    gt_i32(a: u32, b: u32) -> bool { a as i32 > b as i32 }
    ge_i32(a: u32, b: u32) -> bool { a as i32 >= b as i32 }
    lt_i32(a: u32, b: u32) -> bool { (a as i32) < b as i32 }
    le_i32(a: u32, b: u32) -> bool { a as i32 <= b as i32 }
    gt_u32(a: u32, b: u32) -> bool { a > b }
    ge_u32(a: u32, b: u32) -> bool { a >= b }
    lt_u32(a: u32, b: u32) -> bool { a < b }
    le_u32(a: u32, b: u32) -> bool { a <= b }
    eq64(a: u64, b: u64) -> bool { a == b }
    ne64(a: u64, b: u64) -> bool { a != b }
    bitcmp0(a: u32, b: u32) -> bool { a >> (b & 31) & 1 == 0 }
    bitcmp1(a: u32, b: u32) -> bool { a >> (b & 31) & 1 == 1 }
    bitcmp0_64(a: u64, b: u32) -> bool { a >> (b & 63) & 1 == 0 }
    bitcmp1_64(a: u64, b: u32) -> bool { a >> (b & 63) & 1 == 1 }
    bitset0(_scc: bool, a: u32, old: u32) -> u32 { old & !(1 << (a & 31)) }
    bitset0_64(_scc: bool, a: u32, old: u64) -> u64 { old & !(1 << (a & 63)) }
    bitset1(_scc: bool, a: u32, old: u32) -> u32 { old | 1 << (a & 31) }
    bitset1_64(_scc: bool, a: u32, old: u64) -> u64 { old | 1 << (a & 63) }
}

/// The low bits of `a`, as many as bits 22:16 of `b` say.
#[inline(always)]
fn field(a: u64, b: u32) -> u64 {
    let width = b >> 16 & 127;
    if width >= 64 { a } else { a & ((1 << width) - 1) }
}

/// [`field`], sign-extended from its width, which is at most `bits`.
#[inline(always)]
fn signed_field(a: i64, b: u32, bits: u32) -> u64 {
    match (b >> 16 & 127).min(bits) {
        0 => 0,
        width => (a << (64 - width) >> (64 - width)) as u64,
    }
}

/// `(a << N) + b`; SCC is what does not fit 32 bits.
#[inline(always)]
pub(super) fn lshl_add<const N: u32>(a: u32, b: u32) -> (u32, bool) {
    let sum = (u64::from(a) << N) + u64::from(b);
    (sum as u32, sum > u64::from(u32::MAX))
}

/// `a + b` with the carry of the lower half.
#[inline(always)]
pub(super) fn addc(scc: bool, a: u32, b: u32) -> (u32, bool) {
    let sum = u64::from(a) + u64::from(b) + u64::from(scc);
    (sum as u32, sum > u64::from(u32::MAX))
}

/// `a - b` with the borrow of the lower half.
#[inline(always)]
pub(super) fn subb(scc: bool, a: u32, b: u32) -> (u32, bool) {
    let subtrahend = u64::from(b) + u64::from(scc);
    (a.wrapping_sub(subtrahend as u32), subtrahend > u64::from(a))
}

/// `a` when SCC is set, else `b`.
#[inline(always)]
pub(super) fn cselect<T>(scc: bool, a: T, b: T) -> T {
    if scc { a } else { b }
}

/// `a` when SCC is set, else the old destination.
#[inline(always)]
pub(super) fn cmov<T>(scc: bool, a: T, old: T) -> T {
    if scc { a } else { old }
}
