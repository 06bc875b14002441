//! Integer lane functions: what one lane computes, on bits.
//!
//! Names follow the mnemonics. `_rev` functions take the shift amount or the subtrahend first, as the instructions do.

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) -> $out:ty { $body:expr })*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name($($arg: $ty),*) -> $out { $body }
    )*};
}

/// The low 24 bits, sign-extended.
#[inline(always)]
fn low24(a: u32) -> i32 {
    (a << 8) as i32 >> 8
}

#[inline(always)]
fn bytes(a: u32) -> [u32; 4] {
    a.to_le_bytes().map(u32::from)
}

#[inline(always)]
fn joined(low: u16, high: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

#[rustfmt::skip] // one function a line
functions! {
    mov(a: u32) -> u32 { a }
    mov16(a: u16) -> u16 { a }
    not(a: u32) -> u32 { !a }
    not16(a: u16) -> u16 { !a }
    reverse(a: u32) -> u32 { a.reverse_bits() }
    /// Zeros above the highest one; -1 without a one.
    clz(a: u32) -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } }
    /// Zeros below the lowest one; -1 without a one.
    ctz(a: u32) -> u32 { if a == 0 { u32::MAX } else { a.trailing_zeros() } }
    /// Leading bits equal to the sign; -1 when all are.
    cls(a: u32) -> u32 { if a == 0 || a == u32::MAX { u32::MAX } else { (a ^ (a as i32 >> 31) as u32).leading_zeros() } }
    i32_of_i16(a: u16) -> u32 { a as i16 as u32 }
    u32_of_u16(a: u16) -> u32 { u32::from(a) }
    mul_i24(a: u32, b: u32) -> u32 { low24(a).wrapping_mul(low24(b)) as u32 }
    mul_hi_i24(a: u32, b: u32) -> u32 { ((i64::from(low24(a)) * i64::from(low24(b))) >> 32) as u32 }
    mul_u24(a: u32, b: u32) -> u32 { (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff) }
    mul_hi_u24(a: u32, b: u32) -> u32 { ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) >> 32) as u32 }
    mad_i24(a: u32, b: u32, c: u32) -> u32 { mul_i24(a, b).wrapping_add(c) }
    mad_u24(a: u32, b: u32, c: u32) -> u32 { mul_u24(a, b).wrapping_add(c) }
    /// Clamped to what 32 bits hold.
    mul_i24_sat(a: u32, b: u32) -> u32 { mad_i24_sat(a, b, 0) }
    mul_u24_sat(a: u32, b: u32) -> u32 { mad_u24_sat(a, b, 0) }
    mad_i24_sat(a: u32, b: u32, c: u32) -> u32 { sat_i32(i64::from(low24(a)) * i64::from(low24(b)) + i64::from(c as i32)) }
    mad_u24_sat(a: u32, b: u32, c: u32) -> u32 { sat_u32(u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff) + u64::from(c)) }
    sat_i32(a: i64) -> u32 { a.clamp(i32::MIN.into(), i32::MAX.into()) as u32 }
    sat_u32(a: u64) -> u32 { a.min(u32::MAX.into()) as u32 }
    sad_u8_sat(a: u32, b: u32, c: u32) -> u32 { sad_u8(a, b, 0).saturating_add(c) }
    sad_hi_u8_sat(a: u32, b: u32, c: u32) -> u32 { (sad_u8(a, b, 0) << 16).saturating_add(c) }
    sad_u16_sat(a: u32, b: u32, c: u32) -> u32 { sad_u16(a, b, 0).saturating_add(c) }
    sad_u32_sat(a: u32, b: u32, c: u32) -> u32 { a.abs_diff(b).saturating_add(c) }
    msad_u8_sat(a: u32, b: u32, c: u32) -> u32 { msad_u8(a, b, 0).saturating_add(c) }
    min_i32(a: u32, b: u32) -> u32 { (a as i32).min(b as i32) as u32 }
    max_i32(a: u32, b: u32) -> u32 { (a as i32).max(b as i32) as u32 }
    min_u32(a: u32, b: u32) -> u32 { a.min(b) }
    max_u32(a: u32, b: u32) -> u32 { a.max(b) }
    min3_i32(a: u32, b: u32, c: u32) -> u32 { min_i32(min_i32(a, b), c) }
    max3_i32(a: u32, b: u32, c: u32) -> u32 { max_i32(max_i32(a, b), c) }
    med3_i32(a: u32, b: u32, c: u32) -> u32 { max_i32(min_i32(a, b), min_i32(max_i32(a, b), c)) }
    maxmin_i32(a: u32, b: u32, c: u32) -> u32 { min_i32(max_i32(a, b), c) }
    minmax_i32(a: u32, b: u32, c: u32) -> u32 { max_i32(min_i32(a, b), c) }
    min3_u32(a: u32, b: u32, c: u32) -> u32 { a.min(b).min(c) }
    max3_u32(a: u32, b: u32, c: u32) -> u32 { a.max(b).max(c) }
    med3_u32(a: u32, b: u32, c: u32) -> u32 { a.min(b).max(a.max(b).min(c)) }
    maxmin_u32(a: u32, b: u32, c: u32) -> u32 { a.max(b).min(c) }
    minmax_u32(a: u32, b: u32, c: u32) -> u32 { a.min(b).max(c) }
    shl_rev(a: u32, b: u32) -> u32 { b << (a & 31) }
    shr_rev(a: u32, b: u32) -> u32 { b >> (a & 31) }
    sar_rev(a: u32, b: u32) -> u32 { (b as i32 >> (a & 31)) as u32 }
    shl64_rev(a: u32, b: u64) -> u64 { b << (a & 63) }
    shr64_rev(a: u32, b: u64) -> u64 { b >> (a & 63) }
    sar64_rev(a: u32, b: u64) -> u64 { (b as i64 >> (a & 63)) as u64 }
    shl16_rev(a: u16, b: u16) -> u16 { b << (a & 15) }
    shr16_rev(a: u16, b: u16) -> u16 { b >> (a & 15) }
    sar16_rev(a: u16, b: u16) -> u16 { (b as i16 >> (a & 15)) as u16 }
    and(a: u32, b: u32) -> u32 { a & b }
    or(a: u32, b: u32) -> u32 { a | b }
    xor(a: u32, b: u32) -> u32 { a ^ b }
    xnor(a: u32, b: u32) -> u32 { !(a ^ b) }
    and16(a: u16, b: u16) -> u16 { a & b }
    or16(a: u16, b: u16) -> u16 { a | b }
    xor16(a: u16, b: u16) -> u16 { a ^ b }
    sub_rev(a: u32, b: u32) -> u32 { b.wrapping_sub(a) }
    sub_rev16(a: u16, b: u16) -> u16 { b.wrapping_sub(a) }
    sub_rev16_sat(a: u16, b: u16) -> u16 { b.saturating_sub(a) }
    mov64(a: u64) -> u64 { a }
    lshl_add64(a: u64, b: u32, c: u64) -> u64 { (a << (b & 7)).wrapping_add(c) }
    dot2_i32_i16(a: u32, b: u32, c: u32) -> u32 { dot(a, b, 16, true).wrapping_add(c) }
    dot2_u32_u16(a: u32, b: u32, c: u32) -> u32 { dot(a, b, 16, false).wrapping_add(c) }
    dot4_i32_i8(a: u32, b: u32, c: u32) -> u32 { dot(a, b, 8, true).wrapping_add(c) }
    dot8_i32_i4(a: u32, b: u32, c: u32) -> u32 { dot(a, b, 4, true).wrapping_add(c) }
    sub_rev_sat(a: u32, b: u32) -> u32 { b.saturating_sub(a) }
    add_i32_sat(a: u32, b: u32) -> u32 { (a as i32).saturating_add(b as i32) as u32 }
    sub_i32_sat(a: u32, b: u32) -> u32 { (a as i32).saturating_sub(b as i32) as u32 }
    add_i16_sat(a: u16, b: u16) -> u16 { (a as i16).saturating_add(b as i16) as u16 }
    sub_i16_sat(a: u16, b: u16) -> u16 { (a as i16).saturating_sub(b as i16) as u16 }
    mul_hi_u32(a: u32, b: u32) -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 }
    mul_hi_i32(a: u32, b: u32) -> u32 { ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32 }
    /// `a` ones, shifted up by `b`.
    bfm(a: u32, b: u32) -> u32 { ((1 << (a & 31)) - 1) << (b & 31) }
    /// Ones in `a`, plus `b`.
    bcnt(a: u32, b: u32) -> u32 { a.count_ones().wrapping_add(b) }
    cvt_pk_u16_u32(a: u32, b: u32) -> u32 { a.min(0xffff) | b.min(0xffff) << 16 }
    cvt_pk_i16_i32(a: u32, b: u32) -> u32 { joined(sat_i16(a), sat_i16(b)) }
    /// `a` and `b` shifted right by `c`, as bytes that saturate.
    ashr_pk_i8(a: u32, b: u32, c: u32) -> u16 { shifted_bytes([a, b], c, -0x80, 0x7f) }
    ashr_pk_u8(a: u32, b: u32, c: u32) -> u16 { shifted_bytes([a, b], c, 0, 0xff) }
    shifted_bytes(numbers: [u32; 2], by: u32, low: i32, high: i32) -> u16 { u16::from_le_bytes(numbers.map(|number| (number as i32 >> (by & 31)).clamp(low, high) as u8)) }
    /// The next state of a shift register with feedback at bits 7, 6, 2 and 0.
    prng(a: u32) -> u32 { a << 1 ^ if a >> 31 != 0 { 0xc5 } else { 0 } }
    sat_i16(a: u32) -> u16 { (a as i32).clamp(-0x8000, 0x7fff) as u16 }
    /// `c` bits of `a` from bit `b` upwards.
    bfe_u32(a: u32, b: u32, c: u32) -> u32 { a >> (b & 31) & ((1 << (c & 31)) - 1) }
    /// The sign of `a` is shifted in, and the field is sign-extended from its highest bit.
    bfe_i32(a: u32, b: u32, c: u32) -> u32 { sign_extend((a as i32 >> (b & 31)) as u32, c & 31) }
    /// The low `count` (less than 32) bits, sign-extended.
    sign_extend(a: u32, count: u32) -> u32 { if count == 0 { 0 } else { ((a << (32 - count)) as i32 >> (32 - count)) as u32 } }
    /// `b` where `a` has ones, `c` where it has zeros.
    bfi(a: u32, b: u32, c: u32) -> u32 { a & b | !a & c }
    xor3(a: u32, b: u32, c: u32) -> u32 { a ^ b ^ c }
    or3(a: u32, b: u32, c: u32) -> u32 { a | b | c }
    and_or(a: u32, b: u32, c: u32) -> u32 { a & b | c }
    add3(a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b).wrapping_add(c) }
    min_i64(a: u64, b: u64) -> u64 { (a as i64).min(b as i64) as u64 }
    max_i64(a: u64, b: u64) -> u64 { (a as i64).max(b as i64) as u64 }
    mad32(a: u32, b: u32, c: u32) -> u32 { a.wrapping_mul(b).wrapping_add(c) }
    mad_nc_u64(a: u32, b: u32, c: u64) -> u64 { (u64::from(a) * u64::from(b)).wrapping_add(c) }
    mad_nc_i64(a: u32, b: u32, c: u64) -> u64 { (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64 }
    /// LLVM makes these of a sum that stops at the end of its range.
    add_max_i32(a: u32, b: u32, c: u32) -> u32 { max_i32(add_i32_sat(a, b), c) }
    add_max_u32(a: u32, b: u32, c: u32) -> u32 { a.saturating_add(b).max(c) }
    add_min_i32(a: u32, b: u32, c: u32) -> u32 { min_i32(add_i32_sat(a, b), c) }
    add_min_u32(a: u32, b: u32, c: u32) -> u32 { a.saturating_add(b).min(c) }
    add_max_i16(a: u16, b: u16, c: u16) -> u16 { max_i16(add_i16_sat(a, b), c) }
    add_max_u16(a: u16, b: u16, c: u16) -> u16 { a.saturating_add(b).max(c) }
    add_min_i16(a: u16, b: u16, c: u16) -> u16 { min_i16(add_i16_sat(a, b), c) }
    add_min_u16(a: u16, b: u16, c: u16) -> u16 { a.saturating_add(b).min(c) }
    xad(a: u32, b: u32, c: u32) -> u32 { (a ^ b).wrapping_add(c) }
    lshl_add(a: u32, b: u32, c: u32) -> u32 { (a << (b & 31)).wrapping_add(c) }
    add_lshl(a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b) << (c & 31) }
    lshl_or(a: u32, b: u32, c: u32) -> u32 { a << (b & 31) | c }
    /// 32 bits of `{a, b}` from bit `c` upwards.
    alignbit(a: u32, b: u32, c: u32) -> u32 { ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32 }
    alignbyte(a: u32, b: u32, c: u32) -> u32 { ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32 }
    mad16(a: u16, b: u16, c: u16) -> u16 { a.wrapping_mul(b).wrapping_add(c) }
    mad_u16_sat(a: u16, b: u16, c: u16) -> u16 { (u64::from(a) * u64::from(b) + u64::from(c)).min(0xffff) as u16 }
    mad_i16_sat(a: u16, b: u16, c: u16) -> u16 { (i64::from(a as i16) * i64::from(b as i16) + i64::from(c as i16)).clamp(-0x8000, 0x7fff) as u16 }
    mad_u32_u16(a: u16, b: u16, c: u32) -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) }
    mad_i32_i16(a: u16, b: u16, c: u32) -> u32 { (i32::from(a as i16) * i32::from(b as i16)).wrapping_add(c as i32) as u32 }
    mad_u32_u16_sat(a: u16, b: u16, c: u32) -> u32 { (u32::from(a) * u32::from(b)).saturating_add(c) }
    mad_i32_i16_sat(a: u16, b: u16, c: u32) -> u32 { (i32::from(a as i16) * i32::from(b as i16)).saturating_add(c as i32) as u32 }
    min_i16(a: u16, b: u16) -> u16 { (a as i16).min(b as i16) as u16 }
    max_i16(a: u16, b: u16) -> u16 { (a as i16).max(b as i16) as u16 }
    min_u16(a: u16, b: u16) -> u16 { a.min(b) }
    max_u16(a: u16, b: u16) -> u16 { a.max(b) }
    min3_i16(a: u16, b: u16, c: u16) -> u16 { min_i16(min_i16(a, b), c) }
    max3_i16(a: u16, b: u16, c: u16) -> u16 { max_i16(max_i16(a, b), c) }
    med3_i16(a: u16, b: u16, c: u16) -> u16 { max_i16(min_i16(a, b), min_i16(max_i16(a, b), c)) }
    min3_u16(a: u16, b: u16, c: u16) -> u16 { a.min(b).min(c) }
    max3_u16(a: u16, b: u16, c: u16) -> u16 { a.max(b).max(c) }
    med3_u16(a: u16, b: u16, c: u16) -> u16 { a.min(b).max(a.max(b).min(c)) }
    pack(a: u16, b: u16) -> u32 { joined(a, b) }
    relation_i16(a: u16, b: u16) -> u32 { relation(a as i16, b as i16) }
    relation_u16(a: u16, b: u16) -> u32 { relation(a, b) }
    relation_i32(a: u32, b: u32) -> u32 { relation(a as i32, b as i32) }
    relation_u32(a: u32, b: u32) -> u32 { relation(a, b) }
    relation_i64(a: u64, b: u64) -> u32 { relation64((a >> 32) as i32, a as u32, (b >> 32) as i32, b as u32) }
    relation_u64(a: u64, b: u64) -> u32 { relation64((a >> 32) as u32, a as u32, (b >> 32) as u32, b as u32) }
}

/// How two integers relate: 1 less, 2 equal, 4 greater.
#[inline(always)]
fn relation64<T: Ord + Copy>(a_high: T, a_low: u32, b_high: T, b_low: u32) -> u32 {
    // By halves: the registers hold halves, and most hosts compare those faster.
    let (same, less) = (a_high == b_high, a_high < b_high);
    let less = u32::from(less) | u32::from(same) & u32::from(a_low < b_low);
    let equal = u32::from(same) & u32::from(a_low == b_low);
    less | equal << 1 | ((less | equal) ^ 1) << 2
}

/// How two numbers relate, as [`fp::relation`] says it.
#[inline(always)]
fn relation<T: Ord + Copy>(a: T, b: T) -> u32 {
    u32::from(a < b) | u32::from(a == b) << 1 | u32::from(a > b) << 2
}

/// Two signed 16-bit numbers, each limited to a byte.
#[inline(always)]
pub(super) fn sat_pk_u8_i16(a: u32) -> u16 {
    let limited = |half: u32| (half as i16).clamp(0, 255) as u16;
    limited(a) | limited(a >> 16) << 8
}

/// Average of the bytes of `a` and `b`, rounded up where the byte of `c` is odd.
#[inline(always)]
pub(super) fn lerp_u8(a: u32, b: u32, c: u32) -> u32 {
    let (a, b, c) = (bytes(a), bytes(b), bytes(c));
    (0..4).fold(0, |all, i| all | ((a[i] + b[i] + (c[i] & 1)) >> 1) << (8 * i))
}

/// Sum of absolute differences of the bytes, plus `c`.
#[inline(always)]
pub(super) fn sad_u8(a: u32, b: u32, c: u32) -> u32 {
    let (a, b) = (bytes(a), bytes(b));
    (0..4).fold(c, |sum, i| sum.wrapping_add(a[i].abs_diff(b[i])))
}

/// [`sad_u8`] without addend in the high half, plus `c`.
#[inline(always)]
pub(super) fn sad_hi_u8(a: u32, b: u32, c: u32) -> u32 {
    (sad_u8(a, b, 0) << 16).wrapping_add(c)
}

/// Sum of absolute differences of the halves, plus `c`.
#[inline(always)]
pub(super) fn sad_u16(a: u32, b: u32, c: u32) -> u32 {
    let halves = (a & 0xffff).abs_diff(b & 0xffff) + (a >> 16).abs_diff(b >> 16);
    halves.wrapping_add(c)
}

/// Absolute difference, plus `c`.
#[inline(always)]
pub(super) fn sad_u32(a: u32, b: u32, c: u32) -> u32 {
    a.abs_diff(b).wrapping_add(c)
}

/// [`sad_u8`] over the bytes where the reference `b` is not zero.
#[inline(always)]
pub(super) fn msad_u8(a: u32, b: u32, c: u32) -> u32 {
    let (a, b) = (bytes(a), bytes(b));
    (0..4)
        .filter(|i| b[*i] != 0)
        .fold(c, |sum, i| sum.wrapping_add(a[i].abs_diff(b[i])))
}

/// Four byte-wise sums, each of a window of `a` one byte further up, added to the 16-bit fields of `c`.
#[inline(always)]
fn windows(a: u64, c: u64, sum: impl Fn(u32, u32) -> u32) -> u64 {
    (0..4).fold(0, |all, i| {
        let field = (c >> (16 * i)) as u32 & 0xffff;
        all | u64::from(sum((a >> (8 * i)) as u32, field).min(0xffff)) << (16 * i)
    })
}

/// Four sums of absolute differences, each limited to 16 bits.
#[inline(always)]
pub(super) fn qsad_pk_u16_u8(a: u64, b: u32, c: u64) -> u64 {
    windows(a, c, |window, field| sad_u8(window, b, field))
}

/// [`qsad_pk_u16_u8`] over the bytes where the reference is not zero.
#[inline(always)]
pub(super) fn mqsad_pk_u16_u8(a: u64, b: u32, c: u64) -> u64 {
    windows(a, c, |window, field| msad_u8(window, b, field))
}

/// Each byte of the result is the byte of `{a, b}` that the byte of `c` names: 0..=7, sign of a half (8..=11), zero (12)
/// or ones.
#[inline(always)]
pub(super) fn perm(a: u32, b: u32, c: u32) -> u32 {
    let both = u64::from(a) << 32 | u64::from(b);
    (0..4).fold(0, |all, i| {
        let byte = match c >> (8 * i) & 0xff {
            n @ 0..=7 => (both >> (8 * n)) as u32 & 0xff,
            n @ 8..=11 => 0xff * ((both >> (16 * (n - 8) + 15)) as u32 & 1),
            12 => 0,
            _ => 0xff,
        };
        all | byte << (8 * i)
    })
}

/// Products of unsigned bytes, summed, plus `c`.
#[inline(always)]
pub(super) fn dot4_u32_u8(a: u32, b: u32, c: u32) -> u32 {
    let (a, b) = (bytes(a), bytes(b));
    (0..4).fold(c, |sum, i| sum.wrapping_add(a[i] * b[i]))
}

/// Products of unsigned 4-bit fields, summed, plus `c`.
#[inline(always)]
pub(super) fn dot8_u32_u4(a: u32, b: u32, c: u32) -> u32 {
    (0..8).fold(c, |sum, i| {
        sum.wrapping_add((a >> (4 * i) & 15) * (b >> (4 * i) & 15))
    })
}

/// Sum of the products of the fields of two words, of `BITS` bits each, plus `c`, saturated.
#[inline(always)]
pub(super) fn dot_sat<const BITS: u32, const SIGNED: bool>(a: u32, b: u32, c: u32) -> u32 {
    let sum = super::matrix::dot(a, b, BITS, [SIGNED; 2]);
    if SIGNED {
        let sum = sum + i64::from(c as i32);
        sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32
    } else {
        (sum + i64::from(c)).clamp(0, u32::MAX.into()) as u32
    }
}

/// Sum of the products of the fields of two words.
#[inline(always)]
fn dot(a: u32, b: u32, bits: u32, signed: bool) -> u32 {
    super::matrix::dot(a, b, bits, [signed; 2]) as u32
}
