//! THE table of operations: one row an operation, its operand kinds, and what it does: a function, or a [`Unit`].
//!
//! An operation is what an instruction does, whatever its encoding: `v_add_f32` as VOP2, VOP3, DPP and one half of a
//! `v_dual_add_f32` are all [`Op::AddF32`]. Opcode numbers and mnemonics are in `tables.rs`. A row without its last column
//! does not compile, nor does a new variant of what is there without its code in [`crate::exec`].

use super::unit::{
    Atomic, Atomic32, Atomic64, Condition, Control, Element, Mfma, Part, RegisterCount, Relative,
    ScalarAccess, Share, Smfmac, Tiles, Transfer, Unit, Wmma,
};

/// How an operand is read or written: its width, and whether float modifiers and float constants apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No operand.
    Void,
    /// 16 bits, integer.
    B16,
    /// Half precision.
    F16,
    /// The 16-bit brain format.
    Bf16,
    /// 32 bits, integer.
    B32,
    /// Single precision.
    F32,
    /// 64 bits, unsigned: a 32-bit literal is zero-extended.
    B64,
    /// 64 bits, signed: a 32-bit literal is sign-extended.
    I64,
    /// Double precision: a 32-bit literal is the high half.
    F64,
    /// Two 16-bit integers.
    P16,
    /// Two half-precision numbers.
    PF16,
    /// Two numbers in the 16-bit brain format.
    PBf16,
    /// Single precision, or half of a register as half precision (`v_fma_mix`).
    Mix,
    /// The same with the 16-bit brain format in the place of half precision.
    BrainMix,
    /// One bit a lane, in scalar registers.
    Mask,
    /// Two single-precision numbers in consecutive registers.
    PF32,
    /// 96 bits.
    B96,
    /// 128 bits.
    B128,
    /// 192 bits.
    B192,
    /// 256 bits.
    B256,
    /// 512 bits.
    B512,
    /// 1024 bits.
    B1024,
    /// 16 rows and columns of 32 bits, spread over the lanes of a wave.
    Tile,
    /// The same of 16 bits.
    Tile16,
    /// The same of 8 bits.
    Tile8,
    /// The same of 4 bits.
    Tile4,
}

impl Kind {
    /// 32-bit registers an operand of this kind takes in a wave of `lanes` lanes.
    pub(crate) fn registers(self, lanes: usize) -> u8 {
        match self {
            Kind::Void => 0,
            Kind::B16 | Kind::F16 | Kind::Bf16 | Kind::B32 | Kind::F32 => 1,
            Kind::P16 | Kind::PF16 | Kind::PBf16 | Kind::Mix | Kind::BrainMix => 1,
            Kind::B64 | Kind::I64 | Kind::F64 | Kind::PF32 => 2,
            Kind::Mask => (lanes / 32) as u8,
            Kind::B96 => 3,
            Kind::B128 => 4,
            Kind::B192 => 6,
            Kind::B256 => 8,
            Kind::B512 => 16,
            Kind::B1024 => 32,
            Kind::Tile => (256 / lanes) as u8,
            Kind::Tile16 => (128 / lanes) as u8,
            Kind::Tile8 => (64 / lanes) as u8,
            Kind::Tile4 => 1,
        }
    }

    /// Whether the operand is half a register, selected by `op_sel`.
    pub(crate) fn is_half(self) -> bool {
        matches!(self, Kind::B16 | Kind::F16 | Kind::Bf16)
    }

    /// Whether `neg` and `abs` apply.
    pub(crate) fn is_float(self) -> bool {
        matches!(self, Kind::F16 | Kind::Bf16 | Kind::F32 | Kind::F64)
    }

    /// Whether `op_sel_hi` says how precise the operand is.
    pub(crate) fn is_mixed(self) -> bool {
        matches!(self, Kind::Mix | Kind::BrainMix)
    }

    /// Whether it is two floats of 16 bits.
    pub(crate) fn is_float_pair(self) -> bool {
        matches!(self, Kind::PF16 | Kind::PBf16)
    }
}

/// The operand kinds of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// Destination.
    pub(crate) dst: Kind,
    /// Second destination: a mask in scalar registers.
    pub(crate) sdst: Kind,
    /// Sources.
    pub(crate) src: &'static [Kind],
}

/// Calls `$then!` with every operation, grouped by unit; those of pairs are in the group before, and at the end as pairs.
#[rustfmt::skip] // one group a line
macro_rules! with_pairs {
    (
        $then:ident
        int { $($int:tt)* }
        saturating { $($i:ident, $is:ident: $id:ident = $ia:tt $if:expr, $ig:expr;)* }
        float { $($float:tt)* }
        directed { $($f:ident, $fd:ident: $ft:ident = $fa:tt $ff:expr, $fg:expr;)* }
        packed_int { $($packed_int:tt)* }
        packed_saturating { $($p:ident, $ps:ident: $pd:ident = $pa:tt $pf:expr, $pg:expr;)* }
        packed_float { $($packed_float:tt)* }
        packed_directed { $($q:ident, $qd:ident: $qt:ident = $qa:tt $qf:expr, $qg:expr;)* }
        $($rest:tt)*
    ) => { $then! {
        int { $($int)* $($i: $id = $ia $if; $is: $id = $ia $ig;)* }
        float { $($float)* $($f: $ft = $fa $ff; $fd: $ft = $fa $fg;)* }
        packed_int { $($packed_int)* $($p: $pd = $pa $pf; $ps: $pd = $pa $pg;)* }
        packed_float { $($packed_float)* $($q: $qt = $qa $qf; $qd: $qt = $qa $qg;)* }
        $($rest)*
        saturated { $($i $is)* $($p $ps)* }
        directed { $($f $fd)* $($q $qd)* }
    } };
}
pub(crate) use with_pairs;

/// Calls `$then!` with every operation, as [`with_pairs`] does.
#[rustfmt::skip] // one operation a line
macro_rules! for_each_op {
    ($then:ident) => { $crate::isa::ops::with_pairs! { $then
        // Lane functions of bits alone.
        int {
            MovB32: B32 = (B32) int::mov;
            MovB16: B16 = (B16) int::mov16;
            MovB64: B64 = (B64) int::mov64;
            AccMov: B32 = (B32) int::mov;
            NotB32: B32 = (B32) int::not;
            NotB16: B16 = (B16) int::not16;
            BfrevB32: B32 = (B32) int::reverse;
            ClzI32U32: B32 = (B32) int::clz;
            CtzI32B32: B32 = (B32) int::ctz;
            ClsI32: B32 = (B32) int::cls;
            CvtI32I16: B32 = (B16) int::i32_of_i16;
            CvtU32U16: B32 = (B16) int::u32_of_u16;
            SatPkU8I16: B16 = (P16) int::sat_pk_u8_i16;
            MulHiI32I24: B32 = (B32, B32) int::mul_hi_i24;
            MulHiU32U24: B32 = (B32, B32) int::mul_hi_u24;
            MinI32: B32 = (B32, B32) int::min_i32;
            MaxI32: B32 = (B32, B32) int::max_i32;
            MinU32: B32 = (B32, B32) int::min_u32;
            MaxU32: B32 = (B32, B32) int::max_u32;
            LshlrevB32: B32 = (B32, B32) int::shl_rev;
            LshrrevB32: B32 = (B32, B32) int::shr_rev;
            AshrrevI32: B32 = (B32, B32) int::sar_rev;
            AndB32: B32 = (B32, B32) int::and;
            OrB32: B32 = (B32, B32) int::or;
            XorB32: B32 = (B32, B32) int::xor;
            XnorB32: B32 = (B32, B32) int::xnor;
            MulLoU32: B32 = (B32, B32) u32::wrapping_mul;
            MulHiU32: B32 = (B32, B32) int::mul_hi_u32;
            MulHiI32: B32 = (B32, B32) int::mul_hi_i32;
            BfmB32: B32 = (B32, B32) int::bfm;
            BcntU32B32: B32 = (B32, B32) int::bcnt;
            CvtPkU16U32: B32 = (B32, B32) int::cvt_pk_u16_u32;
            CvtPkI16I32: B32 = (B32, B32) int::cvt_pk_i16_i32;
            LshlrevB64: B64 = (B32, B64) int::shl64_rev;
            LshrrevB64: B64 = (B32, B64) int::shr64_rev;
            AshrrevI64: I64 = (B32, I64) int::sar64_rev;
            BfeU32: B32 = (B32, B32, B32) int::bfe_u32;
            BfeI32: B32 = (B32, B32, B32) int::bfe_i32;
            BfiB32: B32 = (B32, B32, B32) int::bfi;
            LerpU8: B32 = (B32, B32, B32) int::lerp_u8;
            AlignbitB32: B32 = (B32, B32, B32) int::alignbit;
            AlignbyteB32: B32 = (B32, B32, B32) int::alignbyte;
            Min3I32: B32 = (B32, B32, B32) int::min3_i32;
            Min3U32: B32 = (B32, B32, B32) int::min3_u32;
            Max3I32: B32 = (B32, B32, B32) int::max3_i32;
            Max3U32: B32 = (B32, B32, B32) int::max3_u32;
            Med3I32: B32 = (B32, B32, B32) int::med3_i32;
            Med3U32: B32 = (B32, B32, B32) int::med3_u32;
            MaxminI32: B32 = (B32, B32, B32) int::maxmin_i32;
            MaxminU32: B32 = (B32, B32, B32) int::maxmin_u32;
            MinmaxI32: B32 = (B32, B32, B32) int::minmax_i32;
            MinmaxU32: B32 = (B32, B32, B32) int::minmax_u32;
            QsadPkU16U8: B64 = (B64, B32, B64) int::qsad_pk_u16_u8;
            MqsadPkU16U8: B64 = (B64, B32, B64) int::mqsad_pk_u16_u8;
            Xor3B32: B32 = (B32, B32, B32) int::xor3;
            Or3B32: B32 = (B32, B32, B32) int::or3;
            AndOrB32: B32 = (B32, B32, B32) int::and_or;
            Add3U32: B32 = (B32, B32, B32) int::add3;
            XadU32: B32 = (B32, B32, B32) int::xad;
            LshlAddU32: B32 = (B32, B32, B32) int::lshl_add;
            LshlAddU64: B64 = (B64, B32, B64) int::lshl_add64;
            AddLshlU32: B32 = (B32, B32, B32) int::add_lshl;
            LshlOrB32: B32 = (B32, B32, B32) int::lshl_or;
            PermB32: B32 = (B32, B32, B32) int::perm;
            Min3I16: B16 = (B16, B16, B16) int::min3_i16;
            Min3U16: B16 = (B16, B16, B16) int::min3_u16;
            Max3I16: B16 = (B16, B16, B16) int::max3_i16;
            Max3U16: B16 = (B16, B16, B16) int::max3_u16;
            Med3I16: B16 = (B16, B16, B16) int::med3_i16;
            Med3U16: B16 = (B16, B16, B16) int::med3_u16;
            MulLoU16: B16 = (B16, B16) u16::wrapping_mul;
            MinI16: B16 = (B16, B16) int::min_i16;
            MaxI16: B16 = (B16, B16) int::max_i16;
            MinU16: B16 = (B16, B16) int::min_u16;
            MaxU16: B16 = (B16, B16) int::max_u16;
            LshlrevB16: B16 = (B16, B16) int::shl16_rev;
            LshrrevB16: B16 = (B16, B16) int::shr16_rev;
            AshrrevI16: B16 = (B16, B16) int::sar16_rev;
            AndB16: B16 = (B16, B16) int::and16;
            OrB16: B16 = (B16, B16) int::or16;
            XorB16: B16 = (B16, B16) int::xor16;
            AshrPkI8I32: B16 = (B32, B32, B32) int::ashr_pk_i8;
            AshrPkU8I32: B16 = (B32, B32, B32) int::ashr_pk_u8;
            PrngB32: B32 = (B32) int::prng;
            AddNcU64: B64 = (B64, B64) u64::wrapping_add;
            SubNcU64: B64 = (B64, B64) u64::wrapping_sub;
            MulU64: B64 = (B64, B64) u64::wrapping_mul;
            MinU64: B64 = (B64, B64) u64::min;
            MaxU64: B64 = (B64, B64) u64::max;
            MinI64: I64 = (I64, I64) int::min_i64;
            MaxI64: I64 = (I64, I64) int::max_i64;
            MadU32: B32 = (B32, B32, B32) int::mad32;
            MadNcU64U32: B64 = (B32, B32, B64) int::mad_nc_u64;
            MadNcI64I32: I64 = (B32, B32, I64) int::mad_nc_i64;
            AddMaxI32: B32 = (B32, B32, B32) int::add_max_i32;
            AddMaxU32: B32 = (B32, B32, B32) int::add_max_u32;
            AddMinI32: B32 = (B32, B32, B32) int::add_min_i32;
            AddMinU32: B32 = (B32, B32, B32) int::add_min_u32;
            PackB32F16: B32 = (F16, F16) int::pack;
        }
        // The same, and with the clamp bit: AMD's manuals and LLVM's page of modifiers have integer results stop at the largest and smallest
        // number of their type.
        saturating {
            AddU32, AddU32Sat: B32 = (B32, B32) u32::wrapping_add, u32::saturating_add;
            SubU32, SubU32Sat: B32 = (B32, B32) u32::wrapping_sub, u32::saturating_sub;
            SubrevU32, SubrevU32Sat: B32 = (B32, B32) int::sub_rev, int::sub_rev_sat;
            AddI32, AddI32Sat: B32 = (B32, B32) u32::wrapping_add, int::add_i32_sat;
            SubI32, SubI32Sat: B32 = (B32, B32) u32::wrapping_sub, int::sub_i32_sat;
            AddU16, AddU16Sat: B16 = (B16, B16) u16::wrapping_add, u16::saturating_add;
            SubU16, SubU16Sat: B16 = (B16, B16) u16::wrapping_sub, u16::saturating_sub;
            SubrevU16, SubrevU16Sat: B16 = (B16, B16) int::sub_rev16, int::sub_rev16_sat;
            AddI16, AddI16Sat: B16 = (B16, B16) u16::wrapping_add, int::add_i16_sat;
            SubI16, SubI16Sat: B16 = (B16, B16) u16::wrapping_sub, int::sub_i16_sat;
            MulI32I24, MulI32I24Sat: B32 = (B32, B32) int::mul_i24, int::mul_i24_sat;
            MulU32U24, MulU32U24Sat: B32 = (B32, B32) int::mul_u24, int::mul_u24_sat;
            MadI32I24, MadI32I24Sat: B32 = (B32, B32, B32) int::mad_i24, int::mad_i24_sat;
            MadU32U24, MadU32U24Sat: B32 = (B32, B32, B32) int::mad_u24, int::mad_u24_sat;
            MadU32U16, MadU32U16Sat: B32 = (B16, B16, B32) int::mad_u32_u16, int::mad_u32_u16_sat;
            MadI32I16, MadI32I16Sat: B32 = (B16, B16, B32) int::mad_i32_i16, int::mad_i32_i16_sat;
            SadU8, SadU8Sat: B32 = (B32, B32, B32) int::sad_u8, int::sad_u8_sat;
            SadHiU8, SadHiU8Sat: B32 = (B32, B32, B32) int::sad_hi_u8, int::sad_hi_u8_sat;
            SadU16, SadU16Sat: B32 = (B32, B32, B32) int::sad_u16, int::sad_u16_sat;
            SadU32, SadU32Sat: B32 = (B32, B32, B32) int::sad_u32, int::sad_u32_sat;
            MsadU8, MsadU8Sat: B32 = (B32, B32, B32) int::msad_u8, int::msad_u8_sat;
            MadU16, MadU16Sat: B16 = (B16, B16, B16) int::mad16, int::mad_u16_sat;
            MadI16, MadI16Sat: B16 = (B16, B16, B16) int::mad16, int::mad_i16_sat;
            Dot4U32U8, Dot4U32U8Sat: B32 = (B32, B32, B32) int::dot4_u32_u8, int::dot_sat::<8, false>;
            Dot8U32U4, Dot8U32U4Sat: B32 = (B32, B32, B32) int::dot8_u32_u4, int::dot_sat::<4, false>;
            Dot2I32I16, Dot2I32I16Sat: B32 = (P16, P16, B32) int::dot2_i32_i16, int::dot_sat::<16, true>;
            Dot2U32U16, Dot2U32U16Sat: B32 = (P16, P16, B32) int::dot2_u32_u16, int::dot_sat::<16, false>;
            Dot4I32I8, Dot4I32I8Sat: B32 = (B32, B32, B32) int::dot4_i32_i8, int::dot_sat::<8, true>;
            Dot8I32I4, Dot8I32I4Sat: B32 = (B32, B32, B32) int::dot8_i32_i4, int::dot_sat::<4, true>;
        }
        // Lane functions that follow the floating-point mode.
        float {
            CvtF32Ubyte0: F32 = (B32) convert::f32_of_byte::<0>;
            CvtF32Ubyte1: F32 = (B32) convert::f32_of_byte::<1>;
            CvtF32Ubyte2: F32 = (B32) convert::f32_of_byte::<2>;
            CvtF32Ubyte3: F32 = (B32) convert::f32_of_byte::<3>;
            CvtF64I32: F64 = (B32) convert::f64_of_i32;
            CvtF64U32: F64 = (B32) convert::f64_of_u32;
            CvtU32F32: B32 = (F32) convert::u32_of::<fp::F32>;
            CvtI32F32: B32 = (F32) convert::i32_of::<fp::F32>;
            CvtU32F64: B32 = (F64) convert::u32_of::<fp::F64>;
            CvtI32F64: B32 = (F64) convert::i32_of::<fp::F64>;
            CvtU16F16: B16 = (F16) convert::u16_of_f16;
            CvtI16F16: B16 = (F16) convert::i16_of_f16;
            CvtNearestI32F32: B32 = (F32) convert::nearest_i32;
            CvtFloorI32F32: B32 = (F32) convert::floor_i32;
            CvtOffF32I4: F32 = (B32) convert::off_f32_i4;
            CvtF32F16: F32 = (F16) convert::f32_of_f16;
            CvtF64F32: F64 = (F32) convert::f64_of_f32;
            CvtNormI16F16: B16 = (F16) convert::norm_i16::<fp::F16>;
            CvtNormU16F16: B16 = (F16) convert::norm_u16::<fp::F16>;
            CvtPkNormI16F16: B32 = (F16, F16) convert::pk_norm_i16::<fp::F16>;
            CvtPkNormU16F16: B32 = (F16, F16) convert::pk_norm_u16::<fp::F16>;
            CvtPkNormI16F32: B32 = (F32, F32) convert::pk_norm_i16::<fp::F32>;
            CvtPkNormU16F32: B32 = (F32, F32) convert::pk_norm_u16::<fp::F32>;
            CvtPkI16F32: B32 = (F32, F32) convert::pk_i16_f32;
            CvtPkU16F32: B32 = (F32, F32) convert::pk_u16_f32;
            CvtPkRtzF16F32: B32 = (F32, F32) convert::pk_rtz_f16_f32;
            CvtPkU8F32: B32 = (F32, B32, B32) convert::pk_u8_f32;
            CvtF32Fp8: F32 = (B32) fp8::f32_of_fp8;
            CvtF32Bf8: F32 = (B32) fp8::f32_of_bf8;
            CvtPkF32Fp8: B64 = (B32) fp8::pk_f32_of_fp8;
            CvtPkF32Bf8: B64 = (B32) fp8::pk_f32_of_bf8;
            CvtPkFp8F32: B16 = (F32, F32) fp8::pk_fp8_of_f32;
            CvtPkBf8F32: B16 = (F32, F32) fp8::pk_bf8_of_f32;
            CvtPkOcpFp8F32: B16 = (F32, F32) fp8::pk_ocp_fp8_of_f32;
            CvtPkOcpBf8F32: B16 = (F32, F32) fp8::pk_ocp_bf8_of_f32;
            CvtF32OcpByteFp8: F32 = (B32) fp8::f32_of_ocp_fp8;
            CvtF32OcpByteBf8: F32 = (B32) fp8::f32_of_ocp_bf8;
            CvtPkF32OcpBytesFp8: B64 = (B32) fp8::pk_f32_of_ocp_fp8;
            CvtPkF32OcpBytesBf8: B64 = (B32) fp8::pk_f32_of_ocp_bf8;
            CvtF32Bf16: F32 = (F16) convert::f32_of_bf16;
            CvtPkF16F32: B32 = (F32, F32) convert::pk_f16_f32;
            CvtPkBf16F32: B32 = (F32, F32) convert::pk_bf16_f32;
            CvtPkF16OcpFp8: B32 = (B16) fp8::pk_f16_of_ocp_fp8;
            CvtPkF16OcpBf8: B32 = (B16) fp8::pk_f16_of_ocp_bf8;
            CvtPkOcpFp8F16: B16 = (PF16) fp8::pk_ocp_fp8_of_f16;
            CvtPkOcpBf8F16: B16 = (PF16) fp8::pk_ocp_bf8_of_f16;
            TruncF16: F16 = (F16) fp::trunc::<fp::F16>;
            CeilF16: F16 = (F16) fp::ceil::<fp::F16>;
            RndneF16: F16 = (F16) fp::rndne::<fp::F16>;
            FloorF16: F16 = (F16) fp::floor::<fp::F16>;
            FractF16: F16 = (F16) fp::fract::<fp::F16>;
            TruncF32: F32 = (F32) fp::trunc::<fp::F32>;
            CeilF32: F32 = (F32) fp::ceil::<fp::F32>;
            RndneF32: F32 = (F32) fp::rndne::<fp::F32>;
            FloorF32: F32 = (F32) fp::floor::<fp::F32>;
            FractF32: F32 = (F32) fp::fract::<fp::F32>;
            TruncF64: F64 = (F64) fp::trunc::<fp::F64>;
            CeilF64: F64 = (F64) fp::ceil::<fp::F64>;
            RndneF64: F64 = (F64) fp::rndne::<fp::F64>;
            FloorF64: F64 = (F64) fp::floor::<fp::F64>;
            FractF64: F64 = (F64) fp::fract::<fp::F64>;
            ExpF16: F16 = (F16) transcendental::exp::<fp::F16>;
            LogF16: F16 = (F16) transcendental::log::<fp::F16>;
            RcpF16: F16 = (F16) transcendental::rcp::<fp::F16>;
            RsqF16: F16 = (F16) transcendental::rsq::<fp::F16>;
            SqrtF16: F16 = (F16) transcendental::sqrt::<fp::F16>;
            SinF16: F16 = (F16) transcendental::sin::<fp::F16>;
            CosF16: F16 = (F16) transcendental::cos::<fp::F16>;
            ExpF32: F32 = (F32) transcendental::exp::<fp::F32>;
            LogF32: F32 = (F32) transcendental::log::<fp::F32>;
            RcpF32: F32 = (F32) transcendental::rcp::<fp::F32>;
            RsqF32: F32 = (F32) transcendental::rsq::<fp::F32>;
            SqrtF32: F32 = (F32) transcendental::sqrt::<fp::F32>;
            SinF32: F32 = (F32) transcendental::sin::<fp::F32>;
            CosF32: F32 = (F32) transcendental::cos::<fp::F32>;
            RcpF64: F64 = (F64) transcendental::rcp::<fp::F64>;
            RsqF64: F64 = (F64) transcendental::rsq::<fp::F64>;
            SqrtF64: F64 = (F64) transcendental::sqrt::<fp::F64>;
            TanhF16: F16 = (F16) transcendental::tanh::<fp::F16>;
            TanhF32: F32 = (F32) transcendental::tanh::<fp::F32>;
            TanhBf16: Bf16 = (Bf16) transcendental::tanh::<fp::Bf16>;
            ExpBf16: Bf16 = (Bf16) transcendental::exp::<fp::Bf16>;
            LogBf16: Bf16 = (Bf16) transcendental::log::<fp::Bf16>;
            RcpBf16: Bf16 = (Bf16) transcendental::rcp::<fp::Bf16>;
            RsqBf16: Bf16 = (Bf16) transcendental::rsq::<fp::Bf16>;
            SqrtBf16: Bf16 = (Bf16) transcendental::sqrt::<fp::Bf16>;
            SinBf16: Bf16 = (Bf16) transcendental::sin::<fp::Bf16>;
            CosBf16: Bf16 = (Bf16) transcendental::cos::<fp::Bf16>;
            TrigPreopF64: F64 = (F64, B32) transcendental::trig_preop;
            FrexpExpI16F16: B16 = (F16) fp::frexp_exp16;
            FrexpExpI32F32: B32 = (F32) fp::frexp_exp::<fp::F32>;
            FrexpExpI32F64: B32 = (F64) fp::frexp_exp::<fp::F64>;
            FrexpMantF16: F16 = (F16) fp::frexp_mant::<fp::F16>;
            FrexpMantF32: F32 = (F32) fp::frexp_mant::<fp::F32>;
            FrexpMantF64: F64 = (F64) fp::frexp_mant::<fp::F64>;
            MinF16: F16 = (F16, F16) fp::min::<fp::F16>;
            MaxF16: F16 = (F16, F16) fp::max::<fp::F16>;
            MinF32: F32 = (F32, F32) fp::min::<fp::F32>;
            MaxF32: F32 = (F32, F32) fp::max::<fp::F32>;
            MinimumF16: F16 = (F16, F16) fp::minimum::<fp::F16>;
            MaximumF16: F16 = (F16, F16) fp::maximum::<fp::F16>;
            MinimumF32: F32 = (F32, F32) fp::minimum::<fp::F32>;
            MaximumF32: F32 = (F32, F32) fp::maximum::<fp::F32>;
            MinimumF64: F64 = (F64, F64) fp::minimum::<fp::F64>;
            MaximumF64: F64 = (F64, F64) fp::maximum::<fp::F64>;
            MinF64: F64 = (F64, F64) fp::min::<fp::F64>;
            MaxF64: F64 = (F64, F64) fp::max::<fp::F64>;
            Min3F16: F16 = (F16, F16, F16) fp::min3::<fp::F16>;
            Max3F16: F16 = (F16, F16, F16) fp::max3::<fp::F16>;
            Med3F16: F16 = (F16, F16, F16) fp::med3::<fp::F16>;
            MaxminF16: F16 = (F16, F16, F16) fp::maxmin::<fp::F16>;
            MinmaxF16: F16 = (F16, F16, F16) fp::minmax::<fp::F16>;
            Min3F32: F32 = (F32, F32, F32) fp::min3::<fp::F32>;
            Max3F32: F32 = (F32, F32, F32) fp::max3::<fp::F32>;
            Med3F32: F32 = (F32, F32, F32) fp::med3::<fp::F32>;
            MaxminF32: F32 = (F32, F32, F32) fp::maxmin::<fp::F32>;
            MinmaxF32: F32 = (F32, F32, F32) fp::minmax::<fp::F32>;
            Minimum3F16: F16 = (F16, F16, F16) fp::minimum3::<fp::F16>;
            Maximum3F16: F16 = (F16, F16, F16) fp::maximum3::<fp::F16>;
            MinimummaximumF16: F16 = (F16, F16, F16) fp::minimum_maximum::<fp::F16>;
            MaximumminimumF16: F16 = (F16, F16, F16) fp::maximum_minimum::<fp::F16>;
            Minimum3F32: F32 = (F32, F32, F32) fp::minimum3::<fp::F32>;
            Maximum3F32: F32 = (F32, F32, F32) fp::maximum3::<fp::F32>;
            MinimummaximumF32: F32 = (F32, F32, F32) fp::minimum_maximum::<fp::F32>;
            MaximumminimumF32: F32 = (F32, F32, F32) fp::maximum_minimum::<fp::F32>;
            DivFixupF16: F16 = (F16, F16, F16) division::fixup::<fp::F16>;
            DivFixupF32: F32 = (F32, F32, F32) division::fixup::<fp::F32>;
            DivFixupF64: F64 = (F64, F64, F64) division::fixup::<fp::F64>;
            CubeidF32: F32 = (F32, F32, F32) cube::id;
            CubescF32: F32 = (F32, F32, F32) cube::sc;
            CubetcF32: F32 = (F32, F32, F32) cube::tc;
            CubemaF32: F32 = (F32, F32, F32) cube::ma;
        }
        // The same that round: to nearest even, and as the mode says.
        directed {
            AddF16, AddF16Directed: F16 = (F16, F16) fp::add::<fp::F16>, directed::add::<fp::F16>;
            SubF16, SubF16Directed: F16 = (F16, F16) fp::sub::<fp::F16>, directed::sub::<fp::F16>;
            SubrevF16, SubrevF16Directed: F16 = (F16, F16) fp::sub_rev::<fp::F16>, directed::sub_rev::<fp::F16>;
            MulF16, MulF16Directed: F16 = (F16, F16) fp::mul::<fp::F16>, directed::mul::<fp::F16>;
            FmaF16, FmaF16Directed: F16 = (F16, F16, F16) fp::fma::<fp::F16>, directed::fma::<fp::F16>;
            MadF16, MadF16Directed: F16 = (F16, F16, F16) fp::mad::<fp::F16>, directed::mad::<fp::F16>;
            LdexpF16, LdexpF16Directed: F16 = (F16, B16) fp::ldexp16, directed::ldexp16;
            AddF32, AddF32Directed: F32 = (F32, F32) fp::add::<fp::F32>, directed::add::<fp::F32>;
            SubF32, SubF32Directed: F32 = (F32, F32) fp::sub::<fp::F32>, directed::sub::<fp::F32>;
            SubrevF32, SubrevF32Directed: F32 = (F32, F32) fp::sub_rev::<fp::F32>, directed::sub_rev::<fp::F32>;
            MulF32, MulF32Directed: F32 = (F32, F32) fp::mul::<fp::F32>, directed::mul::<fp::F32>;
            FmaF32, FmaF32Directed: F32 = (F32, F32, F32) fp::fma::<fp::F32>, directed::fma::<fp::F32>;
            LdexpF32, LdexpF32Directed: F32 = (F32, B32) fp::ldexp::<fp::F32>, directed::ldexp::<fp::F32>;
            AddF64, AddF64Directed: F64 = (F64, F64) fp::add::<fp::F64>, directed::add::<fp::F64>;
            MulF64, MulF64Directed: F64 = (F64, F64) fp::mul::<fp::F64>, directed::mul::<fp::F64>;
            FmaF64, FmaF64Directed: F64 = (F64, F64, F64) fp::fma::<fp::F64>, directed::fma::<fp::F64>;
            LdexpF64, LdexpF64Directed: F64 = (F64, B32) fp::ldexp::<fp::F64>, directed::ldexp::<fp::F64>;
            CvtF16F32, CvtF16F32Directed: F16 = (F32) convert::f16_of_f32, directed::f16_of_f32;
            CvtF32F64, CvtF32F64Directed: F32 = (F64) convert::f32_of_f64, convert::f32_of_f64_directed;
            CvtF32I32, CvtF32I32Directed: F32 = (B32) convert::f32_of_i32, convert::f32_of_i32_directed;
            CvtF32U32, CvtF32U32Directed: F32 = (B32) convert::f32_of_u32, convert::f32_of_u32_directed;
            CvtF16U16, CvtF16U16Directed: F16 = (B16) convert::f16_of_u16, convert::f16_of_u16_directed;
            CvtF16I16, CvtF16I16Directed: F16 = (B16) convert::f16_of_i16, convert::f16_of_i16_directed;
            MadF32, MadF32Directed: F32 = (F32, F32, F32) fp::mad_flushed, directed::mad_flushed;
            MulDx9ZeroF32, MulDx9ZeroF32Directed: F32 = (F32, F32) fp::mul_dx9_zero, directed::mul_dx9_zero;
            FmaDx9ZeroF32, FmaDx9ZeroF32Directed: F32 = (F32, F32, F32) fp::fma_dx9_zero, directed::fma_dx9_zero;
            MullitF32, MullitF32Directed: F32 = (F32, F32, F32) fp::mullit, directed::mullit;
        }
        // Functions of 16 bits, applied to both halves of a register.
        packed_int {
            PkMulLoU16: P16 = (P16, P16) u16::wrapping_mul;
            PkLshlrevB16: P16 = (P16, P16) int::shl16_rev;
            PkLshrrevB16: P16 = (P16, P16) int::shr16_rev;
            PkAshrrevI16: P16 = (P16, P16) int::sar16_rev;
            PkMaxI16: P16 = (P16, P16) int::max_i16;
            PkMinI16: P16 = (P16, P16) int::min_i16;
            PkMaxU16: P16 = (P16, P16) int::max_u16;
            PkMinU16: P16 = (P16, P16) int::min_u16;
            PkMax3I16: P16 = (P16, P16, P16) int::max3_i16;
            PkMax3U16: P16 = (P16, P16, P16) int::max3_u16;
            PkMin3I16: P16 = (P16, P16, P16) int::min3_i16;
            PkMin3U16: P16 = (P16, P16, P16) int::min3_u16;
            PkAddMaxI16: P16 = (P16, P16, P16) int::add_max_i16;
            PkAddMaxU16: P16 = (P16, P16, P16) int::add_max_u16;
            PkAddMinI16: P16 = (P16, P16, P16) int::add_min_i16;
            PkAddMinU16: P16 = (P16, P16, P16) int::add_min_u16;
        }
        packed_saturating {
            PkAddI16, PkAddI16Sat: P16 = (P16, P16) u16::wrapping_add, int::add_i16_sat;
            PkSubI16, PkSubI16Sat: P16 = (P16, P16) u16::wrapping_sub, int::sub_i16_sat;
            PkAddU16, PkAddU16Sat: P16 = (P16, P16) u16::wrapping_add, u16::saturating_add;
            PkSubU16, PkSubU16Sat: P16 = (P16, P16) u16::wrapping_sub, u16::saturating_sub;
            PkMadI16, PkMadI16Sat: P16 = (P16, P16, P16) int::mad16, int::mad_i16_sat;
            PkMadU16, PkMadU16Sat: P16 = (P16, P16, P16) int::mad16, int::mad_u16_sat;
        }
        packed_float {
            PkMinF16: PF16 = (PF16, PF16) fp::min::<fp::F16>;
            PkMaxF16: PF16 = (PF16, PF16) fp::max::<fp::F16>;
            PkMinimumF16: PF16 = (PF16, PF16) fp::minimum::<fp::F16>;
            PkMaximumF16: PF16 = (PF16, PF16) fp::maximum::<fp::F16>;
            PkMinimum3F16: PF16 = (PF16, PF16, PF16) fp::minimum3::<fp::F16>;
            PkMaximum3F16: PF16 = (PF16, PF16, PF16) fp::maximum3::<fp::F16>;
            PkMin3F16: PF16 = (PF16, PF16, PF16) fp::min3::<fp::F16>;
            PkMax3F16: PF16 = (PF16, PF16, PF16) fp::max3::<fp::F16>;
            PkFmaBf16: PBf16 = (PBf16, PBf16, PBf16) fp::fma::<fp::Bf16>;
            PkAddBf16: PBf16 = (PBf16, PBf16) fp::add::<fp::Bf16>;
            PkMulBf16: PBf16 = (PBf16, PBf16) fp::mul::<fp::Bf16>;
            PkMinBf16: PBf16 = (PBf16, PBf16) fp::min::<fp::Bf16>;
            PkMaxBf16: PBf16 = (PBf16, PBf16) fp::max::<fp::Bf16>;
        }
        packed_directed {
            PkFmaF16, PkFmaF16Directed: PF16 = (PF16, PF16, PF16) fp::fma::<fp::F16>, directed::fma::<fp::F16>;
            PkAddF16, PkAddF16Directed: PF16 = (PF16, PF16) fp::add::<fp::F16>, directed::add::<fp::F16>;
            PkMulF16, PkMulF16Directed: PF16 = (PF16, PF16) fp::mul::<fp::F16>, directed::mul::<fp::F16>;
        }
        // Comparisons: which relations count as true is part of the opcode.
        compare {
            CmpF16: Mask = (F16, F16) fp::relation::<fp::F16>;
            CmpF32: Mask = (F32, F32) fp::relation::<fp::F32>;
            CmpF64: Mask = (F64, F64) fp::relation::<fp::F64>;
            CmpI16: Mask = (B16, B16) int::relation_i16;
            CmpU16: Mask = (B16, B16) int::relation_u16;
            CmpI32: Mask = (B32, B32) int::relation_i32;
            CmpU32: Mask = (B32, B32) int::relation_u32;
            CmpI64: Mask = (I64, I64) int::relation_i64;
            CmpU64: Mask = (B64, B64) int::relation_u64;
            CmpClassF16: Mask = (F16, B16) fp::class_relation16;
            CmpClassF32: Mask = (F32, B32) fp::class_relation::<fp::F32>;
            CmpClassF64: Mask = (F64, B32) fp::class_relation::<fp::F64>;
        }
        // Scalar functions: they give a value, a value and SCC, or SCC alone.
        scalar {
            SMovB32: B32 = (B32) scalar::mov;
            SMovB64: B64 = (B64) scalar::mov64;
            SBrevB32: B32 = (B32) u32::reverse_bits;
            SBrevB64: B64 = (B64) u64::reverse_bits;
            SCtzI32B32: B32 = (B32) int::ctz;
            SCtzI32B64: B32 = (B64) scalar::ctz64;
            SFf0I32B32: B32 = (B32) scalar::ff0;
            SFf0I32B64: B32 = (B64) scalar::ff0_64;
            SClzI32U32: B32 = (B32) int::clz;
            SClzI32U64: B32 = (B64) scalar::clz64;
            SClsI32: B32 = (B32) int::cls;
            SClsI32I64: B32 = (I64) scalar::cls64;
            SSextI32I8: B32 = (B32) scalar::sext8;
            SSextI32I16: B32 = (B32) scalar::sext16;
            SBitreplicateB64B32: B64 = (B32) scalar::bitreplicate;
            SAbsI32: B32 = (B32) scalar::abs;
            SBcnt0I32B32: B32 = (B32) scalar::bcnt0;
            SBcnt0I32B64: B32 = (B64) scalar::bcnt0_64;
            SBcnt1I32B32: B32 = (B32) scalar::bcnt1;
            SBcnt1I32B64: B32 = (B64) scalar::bcnt1_64;
            SQuadmaskB32: B32 = (B32) scalar::quadmask;
            SQuadmaskB64: B64 = (B64) scalar::quadmask64;
            SWqmB32: B32 = (B32) scalar::wqm;
            SWqmB64: B64 = (B64) scalar::wqm64;
            SNotB32: B32 = (B32) scalar::not;
            SNotB64: B64 = (B64) scalar::not64;
            SAddU32: B32 = (B32, B32) scalar::add_u32;
            SSubU32: B32 = (B32, B32) scalar::sub_u32;
            SAddI32: B32 = (B32, B32) scalar::add_i32;
            SSubI32: B32 = (B32, B32) scalar::sub_i32;
            SAbsdiffI32: B32 = (B32, B32) scalar::absdiff;
            SLshlB32: B32 = (B32, B32) scalar::lshl;
            SLshlB64: B64 = (B64, B32) scalar::lshl64;
            SLshrB32: B32 = (B32, B32) scalar::lshr;
            SLshrB64: B64 = (B64, B32) scalar::lshr64;
            SAshrI32: B32 = (B32, B32) scalar::ashr;
            SAshrI64: I64 = (I64, B32) scalar::ashr64;
            SLshl1AddU32: B32 = (B32, B32) scalar::lshl_add::<1>;
            SLshl2AddU32: B32 = (B32, B32) scalar::lshl_add::<2>;
            SLshl3AddU32: B32 = (B32, B32) scalar::lshl_add::<3>;
            SLshl4AddU32: B32 = (B32, B32) scalar::lshl_add::<4>;
            SMinI32: B32 = (B32, B32) scalar::min_i32;
            SMinU32: B32 = (B32, B32) scalar::min_u32;
            SMaxI32: B32 = (B32, B32) scalar::max_i32;
            SMaxU32: B32 = (B32, B32) scalar::max_u32;
            SAndB32: B32 = (B32, B32) scalar::and;
            SAndB64: B64 = (B64, B64) scalar::and64;
            SOrB32: B32 = (B32, B32) scalar::or;
            SOrB64: B64 = (B64, B64) scalar::or64;
            SXorB32: B32 = (B32, B32) scalar::xor;
            SXorB64: B64 = (B64, B64) scalar::xor64;
            SNandB32: B32 = (B32, B32) scalar::nand;
            SNandB64: B64 = (B64, B64) scalar::nand64;
            SNorB32: B32 = (B32, B32) scalar::nor;
            SNorB64: B64 = (B64, B64) scalar::nor64;
            SXnorB32: B32 = (B32, B32) scalar::xnor;
            SXnorB64: B64 = (B64, B64) scalar::xnor64;
            SAndNot1B32: B32 = (B32, B32) scalar::and_not1;
            SAndNot1B64: B64 = (B64, B64) scalar::and_not1_64;
            SOrNot1B32: B32 = (B32, B32) scalar::or_not1;
            SOrNot1B64: B64 = (B64, B64) scalar::or_not1_64;
            SBfeU32: B32 = (B32, B32) scalar::bfe_u32;
            SBfeI32: B32 = (B32, B32) scalar::bfe_i32;
            SBfeU64: B64 = (B64, B32) scalar::bfe_u64;
            SBfeI64: I64 = (I64, B32) scalar::bfe_i64;
            SBfmB32: B32 = (B32, B32) int::bfm;
            SBfmB64: B64 = (B32, B32) scalar::bfm64;
            SMulI32: B32 = (B32, B32) u32::wrapping_mul;
            SMulHiU32: B32 = (B32, B32) int::mul_hi_u32;
            SMulHiI32: B32 = (B32, B32) int::mul_hi_i32;
            SAddNcU64: B64 = (B64, B64) u64::wrapping_add;
            SSubNcU64: B64 = (B64, B64) u64::wrapping_sub;
            SMulU64: B64 = (B64, B64) u64::wrapping_mul;
            SPackLlB32B16: B32 = (B32, B32) scalar::pack_ll;
            SPackLhB32B16: B32 = (B32, B32) scalar::pack_lh;
            SPackHhB32B16: B32 = (B32, B32) scalar::pack_hh;
            SPackHlB32B16: B32 = (B32, B32) scalar::pack_hl;
            SCmpEqI32: Void = (B32, B32) scalar::eq;
            SCmpLgI32: Void = (B32, B32) scalar::ne;
            SCmpGtI32: Void = (B32, B32) scalar::gt_i32;
            SCmpGeI32: Void = (B32, B32) scalar::ge_i32;
            SCmpLtI32: Void = (B32, B32) scalar::lt_i32;
            SCmpLeI32: Void = (B32, B32) scalar::le_i32;
            SCmpEqU32: Void = (B32, B32) scalar::eq;
            SCmpLgU32: Void = (B32, B32) scalar::ne;
            SCmpGtU32: Void = (B32, B32) scalar::gt_u32;
            SCmpGeU32: Void = (B32, B32) scalar::ge_u32;
            SCmpLtU32: Void = (B32, B32) scalar::lt_u32;
            SCmpLeU32: Void = (B32, B32) scalar::le_u32;
            SBitcmp0B32: Void = (B32, B32) scalar::bitcmp0;
            SBitcmp1B32: Void = (B32, B32) scalar::bitcmp1;
            SBitcmp0B64: Void = (B64, B32) scalar::bitcmp0_64;
            SBitcmp1B64: Void = (B64, B32) scalar::bitcmp1_64;
            SCmpEqU64: Void = (B64, B64) scalar::eq64;
            SCmpLgU64: Void = (B64, B64) scalar::ne64;
        }
        // Scalar functions that read SCC (first argument) or the old destination (last argument, marked `old`).
        scalar_scc {
            SAddcU32: B32 = (B32, B32) scalar::addc;
            SSubbU32: B32 = (B32, B32) scalar::subb;
            SCselectB32: B32 = (B32, B32) scalar::cselect;
            SCselectB64: B64 = (B64, B64) scalar::cselect;
        }
        scalar_old {
            SCmovB32: B32 = (B32) scalar::cmov;
            SCmovB64: B64 = (B64) scalar::cmov;
            SBitset0B32: B32 = (B32) scalar::bitset0;
            SBitset0B64: B64 = (B32) scalar::bitset0_64;
            SBitset1B32: B32 = (B32) scalar::bitset1;
            SBitset1B64: B64 = (B32) scalar::bitset1_64;
        }
        // EXEC becomes the function of the source and of EXEC; SCC tells whether a lane is left.
        exec {
            SAndSaveexecB32, SAndSaveexecB64: |s, e| s & e;
            SOrSaveexecB32, SOrSaveexecB64: |s, e| s | e;
            SXorSaveexecB32, SXorSaveexecB64: |s, e| s ^ e;
            SNandSaveexecB32, SNandSaveexecB64: |s, e| !(s & e);
            SNorSaveexecB32, SNorSaveexecB64: |s, e| !(s | e);
            SXnorSaveexecB32, SXnorSaveexecB64: |s, e| !(s ^ e);
            SAndNot0SaveexecB32, SAndNot0SaveexecB64: |s, e| !s & e;
            SOrNot0SaveexecB32, SOrNot0SaveexecB64: |s, e| !s | e;
            SAndNot1SaveexecB32, SAndNot1SaveexecB64: |s, e| s & !e;
            SOrNot1SaveexecB32, SOrNot1SaveexecB64: |s, e| s | !e;
            SAndNot0WrexecB32, SAndNot0WrexecB64: |s, e| !s & e;
            SAndNot1WrexecB32, SAndNot1WrexecB64: |s, e| s & !e;
        }
        // Scalar functions that follow the floating-point mode: one that rounds to nearest even, and one that asks the mode how to
        // round. Half precision is in the low half of a register; the other half of a result is zero.
        scalar_float {
            SCeilF32: F32 = (F32) fp::ceil::<fp::F32>, fp::ceil::<fp::F32>;
            SFloorF32: F32 = (F32) fp::floor::<fp::F32>, fp::floor::<fp::F32>;
            STruncF32: F32 = (F32) fp::trunc::<fp::F32>, fp::trunc::<fp::F32>;
            SRndneF32: F32 = (F32) fp::rndne::<fp::F32>, fp::rndne::<fp::F32>;
            SCvtF32I32: F32 = (B32) convert::f32_of_i32, convert::f32_of_i32_directed;
            SCvtF32U32: F32 = (B32) convert::f32_of_u32, convert::f32_of_u32_directed;
            SCvtI32F32: B32 = (F32) convert::i32_of::<fp::F32>, convert::i32_of::<fp::F32>;
            SCvtU32F32: B32 = (F32) convert::u32_of::<fp::F32>, convert::u32_of::<fp::F32>;
            SCvtF16F32: F16 = (F32) convert::f16_of_f32, directed::f16_of_f32;
            SCvtF32F16: F32 = (F16) convert::f32_of_f16, convert::f32_of_f16;
            SCvtHiF32F16: F32 = (B32) convert::f32_of_high_f16, convert::f32_of_high_f16;
            SCeilF16: F16 = (F16) fp::ceil::<fp::F16>, fp::ceil::<fp::F16>;
            SFloorF16: F16 = (F16) fp::floor::<fp::F16>, fp::floor::<fp::F16>;
            STruncF16: F16 = (F16) fp::trunc::<fp::F16>, fp::trunc::<fp::F16>;
            SRndneF16: F16 = (F16) fp::rndne::<fp::F16>, fp::rndne::<fp::F16>;
            SAddF32: F32 = (F32, F32) fp::add::<fp::F32>, directed::add::<fp::F32>;
            SSubF32: F32 = (F32, F32) fp::sub::<fp::F32>, directed::sub::<fp::F32>;
            SMinF32: F32 = (F32, F32) fp::min::<fp::F32>, fp::min::<fp::F32>;
            SMaxF32: F32 = (F32, F32) fp::max::<fp::F32>, fp::max::<fp::F32>;
            SMinimumF32: F32 = (F32, F32) fp::minimum::<fp::F32>, fp::minimum::<fp::F32>;
            SMaximumF32: F32 = (F32, F32) fp::maximum::<fp::F32>, fp::maximum::<fp::F32>;
            SMinimumF16: F16 = (F16, F16) fp::minimum::<fp::F16>, fp::minimum::<fp::F16>;
            SMaximumF16: F16 = (F16, F16) fp::maximum::<fp::F16>, fp::maximum::<fp::F16>;
            SExpF32: F32 = (F32) transcendental::exp::<fp::F32>, transcendental::exp::<fp::F32>;
            SExpF16: F16 = (F16) transcendental::exp::<fp::F16>, transcendental::exp::<fp::F16>;
            SLogF32: F32 = (F32) transcendental::log::<fp::F32>, transcendental::log::<fp::F32>;
            SLogF16: F16 = (F16) transcendental::log::<fp::F16>, transcendental::log::<fp::F16>;
            SRcpF32: F32 = (F32) transcendental::rcp::<fp::F32>, transcendental::rcp::<fp::F32>;
            SRcpF16: F16 = (F16) transcendental::rcp::<fp::F16>, transcendental::rcp::<fp::F16>;
            SRsqF32: F32 = (F32) transcendental::rsq::<fp::F32>, transcendental::rsq::<fp::F32>;
            SRsqF16: F16 = (F16) transcendental::rsq::<fp::F16>, transcendental::rsq::<fp::F16>;
            SSqrtF32: F32 = (F32) transcendental::sqrt::<fp::F32>, transcendental::sqrt::<fp::F32>;
            SSqrtF16: F16 = (F16) transcendental::sqrt::<fp::F16>, transcendental::sqrt::<fp::F16>;
            SMulF32: F32 = (F32, F32) fp::mul::<fp::F32>, directed::mul::<fp::F32>;
            SFmaF32: F32 = (F32, F32, F32) fp::fma::<fp::F32>, directed::fma::<fp::F32>;
            SCvtPkRtzF16F32: B32 = (F32, F32) convert::pk_rtz_f16_f32, convert::pk_rtz_f16_f32;
            SAddF16: F16 = (F16, F16) fp::add::<fp::F16>, directed::add::<fp::F16>;
            SSubF16: F16 = (F16, F16) fp::sub::<fp::F16>, directed::sub::<fp::F16>;
            SMinF16: F16 = (F16, F16) fp::min::<fp::F16>, fp::min::<fp::F16>;
            SMaxF16: F16 = (F16, F16) fp::max::<fp::F16>, fp::max::<fp::F16>;
            SMulF16: F16 = (F16, F16) fp::mul::<fp::F16>, directed::mul::<fp::F16>;
            SFmaF16: F16 = (F16, F16, F16) fp::fma::<fp::F16>, directed::fma::<fp::F16>;
        }
        // Comparisons of scalars, which give SCC: which relations count as true is part of the opcode.
        scalar_compare {
            SCmpF32: Void = (F32, F32) fp::relation::<fp::F32>;
            SCmpF16: Void = (F16, F16) fp::relation::<fp::F16>;
        }
        // Vector operations that look at other lanes, masks or several registers: a function of [`crate::exec`] of the wave,
        // the instruction and the mode, and in brackets the sources that are made ready before it is called.
        vector {
            VNop: Void + Void = () [] nothing;
            ReadFirstLane: B32 + Void = (B32) [] read_first_lane;
            ReadLane: B32 + Void = (B32, B32) [] read_lane;
            WriteLane: B32 + Void = (B32, B32) [] write_lane;
            CndmaskB32: F32 + Void = (F32, F32, Mask) [F32 0, F32 1] select;
            CndmaskB16: F16 + Void = (F16, F16, Mask) [] select16;
            AddCoU32: B32 + Mask = (B32, B32) [B32 0, B32 1] add_carry;
            SubCoU32: B32 + Mask = (B32, B32) [B32 0, B32 1] sub_borrow;
            SubrevCoU32: B32 + Mask = (B32, B32) [B32 0, B32 1] sub_rev_borrow;
            AddCoCiU32: B32 + Mask = (B32, B32, Mask) [B32 0, B32 1] add_with_carry;
            SubCoCiU32: B32 + Mask = (B32, B32, Mask) [B32 0, B32 1] sub_with_borrow;
            SubrevCoCiU32: B32 + Mask = (B32, B32, Mask) [B32 0, B32 1] sub_rev_with_borrow;
            DivScaleF32: F32 + Mask = (F32, F32, F32) [] div_scale::<W, lane::F32, fp::F32>;
            DivScaleF64: F64 + Mask = (F64, F64, F64) [] div_scale::<W, lane::F64, fp::F64>;
            DivFmasF32: F32 + Void = (F32, F32, F32) [] div_fmas::<W, lane::F32, fp::F32>;
            DivFmasF64: F64 + Void = (F64, F64, F64) [] div_fmas::<W, lane::F64, fp::F64>;
            DivFmasF32Directed: F32 + Void = (F32, F32, F32) [] div_fmas_directed::<W, lane::F32, fp::F32>;
            DivFmasF64Directed: F64 + Void = (F64, F64, F64) [] div_fmas_directed::<W, lane::F64, fp::F64>;
            MadU64U32: B64 + Mask = (B32, B32, B64) [B32 0, B32 1, B64 2] mad_unsigned;
            MadI64I32: I64 + Mask = (B32, B32, I64) [B32 0, B32 1, B64 2] mad_signed;
            MqsadU32U8: B128 + Void = (B64, B32, B128) [] mqsad;
            MbcntLo: B32 + Void = (B32, B32) [] count_below::<W, 0>;
            MbcntHi: B32 + Void = (B32, B32) [] count_below::<W, 32>;
            Permlane16: B32 + Void = (B32, B32, B32) [] permlane::<W, 0>;
            Permlanex16: B32 + Void = (B32, B32, B32) [] permlane::<W, 16>;
            Permlane16Var: B32 + Void = (B32, B32) [] permlane_var::<W, 0>;
            Permlanex16Var: B32 + Void = (B32, B32) [] permlane_var::<W, 16>;
            Permlane64: B32 + Void = (B32) [] permlane64;
            SwapB32: B32 + Void = (B32) [] swap;
            FmaMixF32: F32 + Void = (Mix, Mix, Mix) [] fma_mix32::<W, false>;
            FmaMixloF16: F16 + Void = (Mix, Mix, Mix) [] fma_mix16::<W, false, false>;
            FmaMixhiF16: F16 + Void = (Mix, Mix, Mix) [] fma_mix16::<W, false, true>;
            FmaMixF32Bf16: F32 + Void = (BrainMix, BrainMix, BrainMix) [] fma_mix32::<W, true>;
            FmaMixloBf16: Bf16 + Void = (BrainMix, BrainMix, BrainMix) [] fma_mix16::<W, true, false>;
            FmaMixhiBf16: Bf16 + Void = (BrainMix, BrainMix, BrainMix) [] fma_mix16::<W, true, true>;
            Dot2F32F16: F32 + Void = (PF16, PF16, F32) [] dot2_f16;
            Dot2F32Bf16: F32 + Void = (P16, P16, F32) [] dot2_bf16;
            Dot2F16F16: F16 + Void = (PF16, PF16, F16) [] dot2_half_f16;
            Dot2Bf16Bf16: B16 + Void = (P16, P16, B16) [] dot2_half_bf16;
            CvtF32OcpFp8: F32 + Void = (B32) [] fp8::one_of::<W, 3>;
            CvtF32OcpBf8: F32 + Void = (B32) [] fp8::one_of::<W, 2>;
            CvtF16OcpFp8: F16 + Void = (B32) [] fp8::half_of::<W, 3>;
            CvtF16OcpBf8: F16 + Void = (B32) [] fp8::half_of::<W, 2>;
            CvtPkF32OcpFp8: B64 + Void = (B32) [] fp8::two_of::<W, 3>;
            CvtPkF32OcpBf8: B64 + Void = (B32) [] fp8::two_of::<W, 2>;
            Dot4F32Fp8Fp8: F32 + Void = (B32, B32, F32) [] fp8::dot4::<W, 3, 3>;
            Dot4F32Fp8Bf8: F32 + Void = (B32, B32, F32) [] fp8::dot4::<W, 3, 2>;
            Dot4F32Bf8Fp8: F32 + Void = (B32, B32, F32) [] fp8::dot4::<W, 2, 3>;
            Dot4F32Bf8Bf8: F32 + Void = (B32, B32, F32) [] fp8::dot4::<W, 2, 2>;
            Dot4I32Iu8: B32 + Void = (B32, B32, B32) [] dot_int::<W, 8>;
            Dot8I32Iu4: B32 + Void = (B32, B32, B32) [] dot_int::<W, 4>;
            PkFmaF32: PF32 + Void = (PF32, PF32, PF32) [] pair::fma;
            PkMulF32: PF32 + Void = (PF32, PF32) [] pair::mul;
            PkAddF32: PF32 + Void = (PF32, PF32) [] pair::add;
            PkFmaF32Directed: PF32 + Void = (PF32, PF32, PF32) [] pair::fma_directed;
            PkMulF32Directed: PF32 + Void = (PF32, PF32) [] pair::mul_directed;
            PkAddF32Directed: PF32 + Void = (PF32, PF32) [] pair::add_directed;
            PkMovB32: PF32 + Void = (PF32, PF32) [] pair::select;
            Permlane16Swap: B32 + Void = (B32) [] swap_rows::<W, 16>;
            Permlane32Swap: B32 + Void = (B32) [] swap_rows::<W, 32>;
            Bitop3B32: B32 + Void = (B32, B32, B32) [B32 0, B32 1, B32 2] bitop3;
            Bitop3B16: B16 + Void = (B16, B16, B16) [] bitop3_half;
            Bitop2B32: B32 + Void = (B32, B32) [B32 0, B32 1] bitop2;
            CvtScalef32PkFp8F32: B32 + Void = (F32, F32, F32) [] scaled::narrow_two::<W, { scaled::SINGLE }, { scaled::FP8 }>;
            CvtScalef32PkBf8F32: B32 + Void = (F32, F32, F32) [] scaled::narrow_two::<W, { scaled::SINGLE }, { scaled::BF8 }>;
            CvtScalef32PkF32Fp8: B64 + Void = (B32, F32) [] scaled::widen_two::<W, { scaled::FP8 }, { scaled::SINGLE }>;
            CvtScalef32PkF32Bf8: B64 + Void = (B32, F32) [] scaled::widen_two::<W, { scaled::BF8 }, { scaled::SINGLE }>;
            CvtScalef32F32Fp8: B32 + Void = (B32, F32) [] scaled::widen_one::<W, { scaled::FP8 }, { scaled::SINGLE }>;
            CvtScalef32F32Bf8: B32 + Void = (B32, F32) [] scaled::widen_one::<W, { scaled::BF8 }, { scaled::SINGLE }>;
            CvtScalef32PkFp4F32: B32 + Void = (F32, F32, F32) [] scaled::narrow_two::<W, { scaled::SINGLE }, { scaled::FP4 }>;
            CvtScalef32PkF32Fp4: B64 + Void = (B32, F32) [] scaled::widen_two::<W, { scaled::FP4 }, { scaled::SINGLE }>;
            CvtScalef32PkFp8F16: B32 + Void = (PF16, F32) [] scaled::narrow_two::<W, { scaled::HALF }, { scaled::FP8 }>;
            CvtScalef32PkBf8F16: B32 + Void = (PF16, F32) [] scaled::narrow_two::<W, { scaled::HALF }, { scaled::BF8 }>;
            CvtScalef32PkFp8Bf16: B32 + Void = (PF16, F32) [] scaled::narrow_two::<W, { scaled::BRAIN }, { scaled::FP8 }>;
            CvtScalef32PkBf8Bf16: B32 + Void = (PF16, F32) [] scaled::narrow_two::<W, { scaled::BRAIN }, { scaled::BF8 }>;
            CvtScalef32PkF16Fp8: B32 + Void = (B32, F32) [] scaled::widen_two::<W, { scaled::FP8 }, { scaled::HALF }>;
            CvtScalef32PkF16Bf8: B32 + Void = (B32, F32) [] scaled::widen_two::<W, { scaled::BF8 }, { scaled::HALF }>;
            CvtScalef32F16Fp8: B32 + Void = (B32, F32) [] scaled::widen_one::<W, { scaled::FP8 }, { scaled::HALF }>;
            CvtScalef32F16Bf8: B32 + Void = (B32, F32) [] scaled::widen_one::<W, { scaled::BF8 }, { scaled::HALF }>;
            CvtScalef32PkFp4F16: B32 + Void = (PF16, F32) [] scaled::narrow_two::<W, { scaled::HALF }, { scaled::FP4 }>;
            CvtScalef32PkFp4Bf16: B32 + Void = (PF16, F32) [] scaled::narrow_two::<W, { scaled::BRAIN }, { scaled::FP4 }>;
            CvtScalef32PkF16Fp4: B32 + Void = (B32, F32) [] scaled::widen_two::<W, { scaled::FP4 }, { scaled::HALF }>;
            CvtScalef32PkBf16Fp4: B32 + Void = (B32, F32) [] scaled::widen_two::<W, { scaled::FP4 }, { scaled::BRAIN }>;
            CvtScalef322xpk16Fp6F32: B192 + Void = (B512, B512, F32) [] scaled::narrow_all::<W, { scaled::SINGLE }, { scaled::FP6 }>;
            CvtScalef322xpk16Bf6F32: B192 + Void = (B512, B512, F32) [] scaled::narrow_all::<W, { scaled::SINGLE }, { scaled::BF6 }>;
            CvtScalef32Pk32F32Fp6: B1024 + Void = (B192, F32) [] scaled::widen_all::<W, { scaled::FP6 }, { scaled::SINGLE }>;
            CvtScalef32Pk32F32Bf6: B1024 + Void = (B192, F32) [] scaled::widen_all::<W, { scaled::BF6 }, { scaled::SINGLE }>;
            CvtScalef32Pk32Fp6F16: B192 + Void = (B512, F32) [] scaled::narrow_all::<W, { scaled::HALF }, { scaled::FP6 }>;
            CvtScalef32Pk32Fp6Bf16: B192 + Void = (B512, F32) [] scaled::narrow_all::<W, { scaled::BRAIN }, { scaled::FP6 }>;
            CvtScalef32Pk32Bf6F16: B192 + Void = (B512, F32) [] scaled::narrow_all::<W, { scaled::HALF }, { scaled::BF6 }>;
            CvtScalef32Pk32Bf6Bf16: B192 + Void = (B512, F32) [] scaled::narrow_all::<W, { scaled::BRAIN }, { scaled::BF6 }>;
            CvtScalef32Pk32F16Fp6: B512 + Void = (B192, F32) [] scaled::widen_all::<W, { scaled::FP6 }, { scaled::HALF }>;
            CvtScalef32Pk32Bf16Fp6: B512 + Void = (B192, F32) [] scaled::widen_all::<W, { scaled::FP6 }, { scaled::BRAIN }>;
            CvtScalef32Pk32F16Bf6: B512 + Void = (B192, F32) [] scaled::widen_all::<W, { scaled::BF6 }, { scaled::HALF }>;
            CvtScalef32Pk32Bf16Bf6: B512 + Void = (B192, F32) [] scaled::widen_all::<W, { scaled::BF6 }, { scaled::BRAIN }>;
            CvtScalef32PkBf16Fp8: B32 + Void = (B32, F32) [] scaled::widen_two::<W, { scaled::FP8 }, { scaled::BRAIN }>;
            CvtScalef32PkBf16Bf8: B32 + Void = (B32, F32) [] scaled::widen_two::<W, { scaled::BF8 }, { scaled::BRAIN }>;
        }
        // Everything else: the last column is the operation's [`Unit`], which says what it does.
        other {
            // Moves by register numbers that M0 changes, and the matrix instructions of RDNA3.
            MovrelS: B32 + Void = (B32) Unit::MoveRelative(Relative::Source);
            MovrelD: B32 + Void = (B32) Unit::MoveRelative(Relative::Destination);
            MovrelSd: B32 + Void = (B32) Unit::MoveRelative(Relative::Both);
            MovrelSd2: B32 + Void = (B32) Unit::MoveRelative(Relative::Fields);
            SwapRel: B32 + Void = (B32) Unit::SwapRelative;
            WmmaF32F16: Tile + Void = (B256, B256, Tile) Unit::Wmma(Wmma { element: F16, narrow: false });
            WmmaF32Bf16: Tile + Void = (B256, B256, Tile) Unit::Wmma(Wmma { element: Bf16, narrow: false });
            WmmaF16F16: Tile + Void = (B256, B256, Tile) Unit::Wmma(Wmma { element: F16, narrow: true });
            WmmaBf16Bf16: Tile + Void = (B256, B256, Tile) Unit::Wmma(Wmma { element: Bf16, narrow: true });
            WmmaI32Iu8: Tile + Void = (B128, B128, Tile) Unit::Wmma(Wmma { element: I8, narrow: false });
            WmmaI32Iu4: Tile + Void = (B64, B64, Tile) Unit::Wmma(Wmma { element: I4, narrow: false });
            // The matrix instructions of RDNA4.
            TileF32F16: Tile + Void = (Tile16, Tile16, Tile) Unit::Tiles(Tiles { a: F16, b: F16, depth: 16, halves: None });
            TileF32Bf16: Tile + Void = (Tile16, Tile16, Tile) Unit::Tiles(Tiles { a: Bf16, b: Bf16, depth: 16, halves: None });
            TileF16F16: Tile16 + Void = (Tile16, Tile16, Tile16) Unit::Tiles(Tiles { a: F16, b: F16, depth: 16, halves: Some(F16) });
            TileBf16Bf16: Tile16 + Void = (Tile16, Tile16, Tile16) Unit::Tiles(Tiles { a: Bf16, b: Bf16, depth: 16, halves: Some(Bf16) });
            TileI32Iu8: Tile + Void = (Tile8, Tile8, Tile) Unit::Tiles(Tiles { a: I8, b: I8, depth: 16, halves: None });
            TileI32Iu4: Tile + Void = (Tile4, Tile4, Tile) Unit::Tiles(Tiles { a: I4, b: I4, depth: 16, halves: None });
            TileI32Iu4x32: Tile + Void = (Tile8, Tile8, Tile) Unit::Tiles(Tiles { a: I4, b: I4, depth: 32, halves: None });
            TileF32Fp8Fp8: Tile + Void = (Tile8, Tile8, Tile) Unit::Tiles(Tiles { a: Fp8, b: Fp8, depth: 16, halves: None });
            TileF32Fp8Bf8: Tile + Void = (Tile8, Tile8, Tile) Unit::Tiles(Tiles { a: Fp8, b: Bf8, depth: 16, halves: None });
            TileF32Bf8Fp8: Tile + Void = (Tile8, Tile8, Tile) Unit::Tiles(Tiles { a: Bf8, b: Fp8, depth: 16, halves: None });
            TileF32Bf8Bf8: Tile + Void = (Tile8, Tile8, Tile) Unit::Tiles(Tiles { a: Bf8, b: Bf8, depth: 16, halves: None });
            TileF32F32x4: Tile + Void = (B64, B64, Tile) Unit::Tiles(Tiles { a: F32, b: F32, depth: 4, halves: None });
            TileF32F16x32: Tile + Void = (B256, B256, Tile) Unit::Tiles(Tiles { a: F16, b: F16, depth: 32, halves: None });
            TileF16F16x32: Tile16 + Void = (B256, B256, Tile16) Unit::Tiles(Tiles { a: F16, b: F16, depth: 32, halves: Some(F16) });
            TileF32Bf16x32: Tile + Void = (B256, B256, Tile) Unit::Tiles(Tiles { a: Bf16, b: Bf16, depth: 32, halves: None });
            TileBf16Bf16x32: Tile16 + Void = (B256, B256, Tile16) Unit::Tiles(Tiles { a: Bf16, b: Bf16, depth: 32, halves: Some(Bf16) });
            TileF32Fp8Fp8x64: Tile + Void = (B256, B256, Tile) Unit::Tiles(Tiles { a: Fp8, b: Fp8, depth: 64, halves: None });
            TileF16Fp8Fp8x64: Tile16 + Void = (B256, B256, Tile16) Unit::Tiles(Tiles { a: Fp8, b: Fp8, depth: 64, halves: Some(F16) });
            TileF32Fp8Bf8x64: Tile + Void = (B256, B256, Tile) Unit::Tiles(Tiles { a: Fp8, b: Bf8, depth: 64, halves: None });
            TileF16Fp8Bf8x64: Tile16 + Void = (B256, B256, Tile16) Unit::Tiles(Tiles { a: Fp8, b: Bf8, depth: 64, halves: Some(F16) });
            TileF32Bf8Fp8x64: Tile + Void = (B256, B256, Tile) Unit::Tiles(Tiles { a: Bf8, b: Fp8, depth: 64, halves: None });
            TileF16Bf8Fp8x64: Tile16 + Void = (B256, B256, Tile16) Unit::Tiles(Tiles { a: Bf8, b: Fp8, depth: 64, halves: Some(F16) });
            TileF32Bf8Bf8x64: Tile + Void = (B256, B256, Tile) Unit::Tiles(Tiles { a: Bf8, b: Bf8, depth: 64, halves: None });
            TileF16Bf8Bf8x64: Tile16 + Void = (B256, B256, Tile16) Unit::Tiles(Tiles { a: Bf8, b: Bf8, depth: 64, halves: Some(F16) });
            TileF32Fp8Fp8x128: Tile + Void = (B512, B512, Tile) Unit::Tiles(Tiles { a: Fp8, b: Fp8, depth: 128, halves: None });
            TileF16Fp8Fp8x128: Tile16 + Void = (B512, B512, Tile16) Unit::Tiles(Tiles { a: Fp8, b: Fp8, depth: 128, halves: Some(F16) });
            TileF32Fp8Bf8x128: Tile + Void = (B512, B512, Tile) Unit::Tiles(Tiles { a: Fp8, b: Bf8, depth: 128, halves: None });
            TileF16Fp8Bf8x128: Tile16 + Void = (B512, B512, Tile16) Unit::Tiles(Tiles { a: Fp8, b: Bf8, depth: 128, halves: Some(F16) });
            TileF32Bf8Fp8x128: Tile + Void = (B512, B512, Tile) Unit::Tiles(Tiles { a: Bf8, b: Fp8, depth: 128, halves: None });
            TileF16Bf8Fp8x128: Tile16 + Void = (B512, B512, Tile16) Unit::Tiles(Tiles { a: Bf8, b: Fp8, depth: 128, halves: Some(F16) });
            TileF32Bf8Bf8x128: Tile + Void = (B512, B512, Tile) Unit::Tiles(Tiles { a: Bf8, b: Bf8, depth: 128, halves: None });
            TileF16Bf8Bf8x128: Tile16 + Void = (B512, B512, Tile16) Unit::Tiles(Tiles { a: Bf8, b: Bf8, depth: 128, halves: Some(F16) });
            TileI32Iu8x64: Tile + Void = (B256, B256, Tile) Unit::Tiles(Tiles { a: I8, b: I8, depth: 64, halves: None });
            SparseF32F16: Tile + Void = (Tile16, Tile, B32) Unit::SparseTiles(Tiles { a: F16, b: F16, depth: 32, halves: None });
            SparseF32Bf16: Tile + Void = (Tile16, Tile, B32) Unit::SparseTiles(Tiles { a: Bf16, b: Bf16, depth: 32, halves: None });
            SparseF16F16: Tile16 + Void = (Tile16, Tile, B32) Unit::SparseTiles(Tiles { a: F16, b: F16, depth: 32, halves: Some(F16) });
            SparseBf16Bf16: Tile16 + Void = (Tile16, Tile, B32) Unit::SparseTiles(Tiles { a: Bf16, b: Bf16, depth: 32, halves: Some(Bf16) });
            SparseI32Iu8: Tile + Void = (Tile8, Tile16, B32) Unit::SparseTiles(Tiles { a: I8, b: I8, depth: 32, halves: None });
            SparseI32Iu4: Tile + Void = (Tile4, Tile8, B32) Unit::SparseTiles(Tiles { a: I4, b: I4, depth: 32, halves: None });
            SparseI32Iu4x64: Tile + Void = (Tile8, Tile16, B32) Unit::SparseTiles(Tiles { a: I4, b: I4, depth: 64, halves: None });
            SparseF32Fp8Fp8: Tile + Void = (Tile8, Tile16, B32) Unit::SparseTiles(Tiles { a: Fp8, b: Fp8, depth: 32, halves: None });
            SparseF32Fp8Bf8: Tile + Void = (Tile8, Tile16, B32) Unit::SparseTiles(Tiles { a: Fp8, b: Bf8, depth: 32, halves: None });
            SparseF32Bf8Fp8: Tile + Void = (Tile8, Tile16, B32) Unit::SparseTiles(Tiles { a: Bf8, b: Fp8, depth: 32, halves: None });
            SparseF32Bf8Bf8: Tile + Void = (Tile8, Tile16, B32) Unit::SparseTiles(Tiles { a: Bf8, b: Bf8, depth: 32, halves: None });
            // Matrix cores: rows and columns, depth, blocks where there are several, element type.
            Mfma32x1B2F32: B1024 + Void = (B32, B32, B1024) Unit::Mfma(Mfma { size: 32, depth: 1, blocks: 2, a: F32, b: F32 });
            Mfma16x1B4F32: B512 + Void = (B32, B32, B512) Unit::Mfma(Mfma { size: 16, depth: 1, blocks: 4, a: F32, b: F32 });
            Mfma4x1B16F32: B128 + Void = (B32, B32, B128) Unit::Mfma(Mfma { size: 4, depth: 1, blocks: 16, a: F32, b: F32 });
            Mfma32x2F32: B512 + Void = (B32, B32, B512) Unit::Mfma(Mfma { size: 32, depth: 2, blocks: 1, a: F32, b: F32 });
            Mfma16x4F32: B128 + Void = (B32, B32, B128) Unit::Mfma(Mfma { size: 16, depth: 4, blocks: 1, a: F32, b: F32 });
            Mfma32x4B2F16: B1024 + Void = (B64, B64, B1024) Unit::Mfma(Mfma { size: 32, depth: 4, blocks: 2, a: F16, b: F16 });
            Mfma16x4B4F16: B512 + Void = (B64, B64, B512) Unit::Mfma(Mfma { size: 16, depth: 4, blocks: 4, a: F16, b: F16 });
            Mfma4x4B16F16: B128 + Void = (B64, B64, B128) Unit::Mfma(Mfma { size: 4, depth: 4, blocks: 16, a: F16, b: F16 });
            Mfma32x8F16: B512 + Void = (B64, B64, B512) Unit::Mfma(Mfma { size: 32, depth: 8, blocks: 1, a: F16, b: F16 });
            Mfma16x16F16: B128 + Void = (B64, B64, B128) Unit::Mfma(Mfma { size: 16, depth: 16, blocks: 1, a: F16, b: F16 });
            Mfma32x4B2I8: B1024 + Void = (B32, B32, B1024) Unit::Mfma(Mfma { size: 32, depth: 4, blocks: 2, a: I8, b: I8 });
            Mfma16x4B4I8: B512 + Void = (B32, B32, B512) Unit::Mfma(Mfma { size: 16, depth: 4, blocks: 4, a: I8, b: I8 });
            Mfma4x4B16I8: B128 + Void = (B32, B32, B128) Unit::Mfma(Mfma { size: 4, depth: 4, blocks: 16, a: I8, b: I8 });
            Mfma32x16I8: B512 + Void = (B64, B64, B512) Unit::Mfma(Mfma { size: 32, depth: 16, blocks: 1, a: I8, b: I8 });
            Mfma16x32I8: B128 + Void = (B64, B64, B128) Unit::Mfma(Mfma { size: 16, depth: 32, blocks: 1, a: I8, b: I8 });
            Mfma32x4B2Bf16: B1024 + Void = (B64, B64, B1024) Unit::Mfma(Mfma { size: 32, depth: 4, blocks: 2, a: Bf16, b: Bf16 });
            Mfma16x4B4Bf16: B512 + Void = (B64, B64, B512) Unit::Mfma(Mfma { size: 16, depth: 4, blocks: 4, a: Bf16, b: Bf16 });
            Mfma4x4B16Bf16: B128 + Void = (B64, B64, B128) Unit::Mfma(Mfma { size: 4, depth: 4, blocks: 16, a: Bf16, b: Bf16 });
            Mfma32x8Bf16: B512 + Void = (B64, B64, B512) Unit::Mfma(Mfma { size: 32, depth: 8, blocks: 1, a: Bf16, b: Bf16 });
            Mfma16x16Bf16: B128 + Void = (B64, B64, B128) Unit::Mfma(Mfma { size: 16, depth: 16, blocks: 1, a: Bf16, b: Bf16 });
            Mfma16x4F64: B256 + Void = (B64, B64, B256) Unit::Mfma(Mfma { size: 16, depth: 4, blocks: 1, a: F64, b: F64 });
            Mfma4x4B4F64: B64 + Void = (B64, B64, B64) Unit::Mfma(Mfma { size: 4, depth: 4, blocks: 4, a: F64, b: F64 });
            Mfma16x32Bf8Bf8: B128 + Void = (B64, B64, B128) Unit::Mfma(Mfma { size: 16, depth: 32, blocks: 1, a: Bf8, b: Bf8 });
            Mfma16x32Bf8Fp8: B128 + Void = (B64, B64, B128) Unit::Mfma(Mfma { size: 16, depth: 32, blocks: 1, a: Bf8, b: Fp8 });
            Mfma16x32Fp8Bf8: B128 + Void = (B64, B64, B128) Unit::Mfma(Mfma { size: 16, depth: 32, blocks: 1, a: Fp8, b: Bf8 });
            Mfma16x32Fp8Fp8: B128 + Void = (B64, B64, B128) Unit::Mfma(Mfma { size: 16, depth: 32, blocks: 1, a: Fp8, b: Fp8 });
            Mfma32x16Bf8Bf8: B512 + Void = (B64, B64, B512) Unit::Mfma(Mfma { size: 32, depth: 16, blocks: 1, a: Bf8, b: Bf8 });
            Mfma32x16Bf8Fp8: B512 + Void = (B64, B64, B512) Unit::Mfma(Mfma { size: 32, depth: 16, blocks: 1, a: Bf8, b: Fp8 });
            Mfma32x16Fp8Bf8: B512 + Void = (B64, B64, B512) Unit::Mfma(Mfma { size: 32, depth: 16, blocks: 1, a: Fp8, b: Bf8 });
            Mfma32x16Fp8Fp8: B512 + Void = (B64, B64, B512) Unit::Mfma(Mfma { size: 32, depth: 16, blocks: 1, a: Fp8, b: Fp8 });
            Mfma32x8I8: B512 + Void = (B32, B32, B512) Unit::Mfma(Mfma { size: 32, depth: 8, blocks: 1, a: I8, b: I8 });
            Mfma16x16I8: B128 + Void = (B32, B32, B128) Unit::Mfma(Mfma { size: 16, depth: 16, blocks: 1, a: I8, b: I8 });
            Mfma32x2B2Bf16: B1024 + Void = (B32, B32, B1024) Unit::Mfma(Mfma { size: 32, depth: 2, blocks: 2, a: Bf16, b: Bf16 });
            Mfma16x2B4Bf16: B512 + Void = (B32, B32, B512) Unit::Mfma(Mfma { size: 16, depth: 2, blocks: 4, a: Bf16, b: Bf16 });
            Mfma4x2B16Bf16: B128 + Void = (B32, B32, B128) Unit::Mfma(Mfma { size: 4, depth: 2, blocks: 16, a: Bf16, b: Bf16 });
            Mfma32x4Bf16: B512 + Void = (B32, B32, B512) Unit::Mfma(Mfma { size: 32, depth: 4, blocks: 1, a: Bf16, b: Bf16 });
            Mfma16x8Bf16: B128 + Void = (B32, B32, B128) Unit::Mfma(Mfma { size: 16, depth: 8, blocks: 1, a: Bf16, b: Bf16 });
            Mfma16x8Xf32: B128 + Void = (B64, B64, B128) Unit::Mfma(Mfma { size: 16, depth: 8, blocks: 1, a: Xf32, b: Xf32 });
            Mfma32x4Xf32: B512 + Void = (B64, B64, B512) Unit::Mfma(Mfma { size: 32, depth: 4, blocks: 1, a: Xf32, b: Xf32 });
            Mfma16x32F16: B128 + Void = (B128, B128, B128) Unit::Mfma(Mfma { size: 16, depth: 32, blocks: 1, a: F16, b: F16 });
            Mfma32x16F16: B512 + Void = (B128, B128, B512) Unit::Mfma(Mfma { size: 32, depth: 16, blocks: 1, a: F16, b: F16 });
            Mfma16x32Bf16: B128 + Void = (B128, B128, B128) Unit::Mfma(Mfma { size: 16, depth: 32, blocks: 1, a: Bf16, b: Bf16 });
            Mfma32x16Bf16: B512 + Void = (B128, B128, B512) Unit::Mfma(Mfma { size: 32, depth: 16, blocks: 1, a: Bf16, b: Bf16 });
            Mfma16x64I8: B128 + Void = (B128, B128, B128) Unit::Mfma(Mfma { size: 16, depth: 64, blocks: 1, a: I8, b: I8 });
            Mfma32x32I8: B512 + Void = (B128, B128, B512) Unit::Mfma(Mfma { size: 32, depth: 32, blocks: 1, a: I8, b: I8 });
            // Each instruction names the elements of its own two factors.
            Mfma16x128F8f6f4: B128 + Void = (B256, B256, B128) Unit::Mfma(Mfma { size: 16, depth: 128, blocks: 1, a: Fp8, b: Fp8 });
            Mfma32x64F8f6f4: B512 + Void = (B256, B256, B512) Unit::Mfma(Mfma { size: 32, depth: 64, blocks: 1, a: Fp8, b: Fp8 });
            // Sparse matrix cores: rows and columns, depth, element types. The third source says which elements of A there are.
            Smfmac16x32F16: B128 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 16, depth: 32, a: F16, b: F16 });
            Smfmac32x16F16: B512 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 32, depth: 16, a: F16, b: F16 });
            Smfmac16x32Bf16: B128 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 16, depth: 32, a: Bf16, b: Bf16 });
            Smfmac32x16Bf16: B512 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 32, depth: 16, a: Bf16, b: Bf16 });
            Smfmac16x64I8: B128 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 16, depth: 64, a: I8, b: I8 });
            Smfmac32x32I8: B512 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 32, depth: 32, a: I8, b: I8 });
            Smfmac16x64Bf8Bf8: B128 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 16, depth: 64, a: Bf8, b: Bf8 });
            Smfmac16x64Bf8Fp8: B128 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 16, depth: 64, a: Bf8, b: Fp8 });
            Smfmac16x64Fp8Bf8: B128 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 16, depth: 64, a: Fp8, b: Bf8 });
            Smfmac16x64Fp8Fp8: B128 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 16, depth: 64, a: Fp8, b: Fp8 });
            Smfmac32x32Bf8Bf8: B512 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 32, depth: 32, a: Bf8, b: Bf8 });
            Smfmac32x32Bf8Fp8: B512 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 32, depth: 32, a: Bf8, b: Fp8 });
            Smfmac32x32Fp8Bf8: B512 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 32, depth: 32, a: Fp8, b: Bf8 });
            Smfmac32x32Fp8Fp8: B512 + Void = (B64, B128, B32) Unit::Smfmac(Smfmac { size: 32, depth: 32, a: Fp8, b: Fp8 });
            Smfmac16x64F16: B128 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 16, depth: 64, a: F16, b: F16 });
            Smfmac16x64Bf16: B128 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 16, depth: 64, a: Bf16, b: Bf16 });
            Smfmac16x128I8: B128 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 16, depth: 128, a: I8, b: I8 });
            Smfmac16x128Bf8Bf8: B128 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 16, depth: 128, a: Bf8, b: Bf8 });
            Smfmac16x128Bf8Fp8: B128 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 16, depth: 128, a: Bf8, b: Fp8 });
            Smfmac16x128Fp8Bf8: B128 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 16, depth: 128, a: Fp8, b: Bf8 });
            Smfmac16x128Fp8Fp8: B128 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 16, depth: 128, a: Fp8, b: Fp8 });
            Smfmac32x32F16: B512 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 32, depth: 32, a: F16, b: F16 });
            Smfmac32x32Bf16: B512 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 32, depth: 32, a: Bf16, b: Bf16 });
            Smfmac32x64I8: B512 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 32, depth: 64, a: I8, b: I8 });
            Smfmac32x64Bf8Bf8: B512 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 32, depth: 64, a: Bf8, b: Bf8 });
            Smfmac32x64Bf8Fp8: B512 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 32, depth: 64, a: Bf8, b: Fp8 });
            Smfmac32x64Fp8Bf8: B512 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 32, depth: 64, a: Fp8, b: Bf8 });
            Smfmac32x64Fp8Fp8: B512 + Void = (B128, B256, B32) Unit::Smfmac(Smfmac { size: 32, depth: 64, a: Fp8, b: Fp8 });
            // Program flow and wave state.
            SNop: Void + Void = () Unit::Control(Wait);
            SWait: Void + Void = (B32) Unit::Control(Wait);
            // It says how the registers of the instructions after it are numbered, which are decoded so.
            SSetVgprMsb: Void + Void = () Unit::Control(Wait);
            SBranch: Void + Void = () Unit::Control(Branch(Always));
            SCbranchScc0: Void + Void = () Unit::Control(Branch(Scc(false)));
            SCbranchScc1: Void + Void = () Unit::Control(Branch(Scc(true)));
            SCbranchVccz: Void + Void = () Unit::Control(Branch(VccIsZero(true)));
            SCbranchVccnz: Void + Void = () Unit::Control(Branch(VccIsZero(false)));
            SCbranchExecz: Void + Void = () Unit::Control(Branch(ExecIsZero(true)));
            SCbranchExecnz: Void + Void = () Unit::Control(Branch(ExecIsZero(false)));
            SCbranchDebug: Void + Void = () Unit::Control(Branch(Debugger));
            SSubvectorLoopBegin: B32 + Void = () Unit::Unsupported;
            SSubvectorLoopEnd: B32 + Void = () Unit::Unsupported;
            SEndpgm: Void + Void = () Unit::Control(End);
            SBarrier: Void + Void = () Unit::Control(Barrier);
            SBarrierSignal: Void + Void = (B32) Unit::Control(BarrierSignal);
            SBarrierWait: Void + Void = () Unit::Control(BarrierWait);
            SPrefetch: Void + Void = () Unit::Control(Wait);
            SSendmsg: Void + Void = () Unit::Control(Message);
            STrap: Void + Void = () Unit::Control(Trap);
            SSethalt: Void + Void = () Unit::Control(Halt);
            SRoundMode: Void + Void = () Unit::Control(RoundMode);
            SDenormMode: Void + Void = () Unit::Control(DenormMode);
            SGetreg: B32 + Void = () Unit::Control(GetRegister);
            SSetreg: Void + Void = (B32) Unit::Control(SetRegister);
            SSetregImm32: Void + Void = (B32) Unit::Control(SetRegister);
            SGetpc: B64 + Void = () Unit::Control(GetPc);
            SSetpc: Void + Void = (B64) Unit::Control(SetPc);
            SSwappc: B64 + Void = (B64) Unit::Control(SwapPc);
            SCall: B64 + Void = () Unit::Control(Call);
            SMovrelsB32: B32 + Void = (B32) Unit::Control(MoveRelative(Relative::Source, One));
            SMovrelsB64: B64 + Void = (B64) Unit::Control(MoveRelative(Relative::Source, Two));
            SMovreldB32: B32 + Void = (B32) Unit::Control(MoveRelative(Relative::Destination, One));
            SMovreldB64: B64 + Void = (B64) Unit::Control(MoveRelative(Relative::Destination, Two));
            SMovrelsd2B32: B32 + Void = (B32) Unit::Control(MoveRelative(Relative::Fields, One));
            SVersion: Void + Void = () Unit::Control(Wait);
            STime: B64 + Void = () Unit::Control(Time);
            SSendmsgRtnB32: B32 + Void = () Unit::Control(MessageReturn(One));
            SSendmsgRtnB64: B64 + Void = () Unit::Control(MessageReturn(Two));
            SSetGprIdxOn: Void + Void = (B32) Unit::Control(IndexOn);
            SSetGprIdxIdx: Void + Void = (B32) Unit::Control(IndexValue);
            SSetGprIdxMode: Void + Void = () Unit::Control(IndexMode);
            SSetGprIdxOff: Void + Void = () Unit::Control(IndexOff);
            // These rows are for the printer.
            Unsupported: Void + Void = () Unit::Unsupported;
            UnsupportedB32: B32 + Void = (B32) Unit::Unsupported;
            UnsupportedS64: Void + Void = (B64) Unit::Unsupported;
            UnsupportedS32: Void + Void = (B32) Unit::Unsupported;
            UnsupportedS32S32: Void + Void = (B32, B32) Unit::Unsupported;
            UnsupportedS64S32: Void + Void = (B64, B32) Unit::Unsupported;
            UnsupportedS64S64: Void + Void = (B64, B64) Unit::Unsupported;
            UnsupportedFork: B64 + Void = () Unit::Unsupported;
            UnsupportedMad: F32 + Void = (F32, F32, F32) Unit::Unsupported;
            UnsupportedSr: B32 + Void = (F32, B32) Unit::Unsupported;
            UnsupportedSrScaled: B32 + Void = (F32, B32, F32) Unit::Unsupported;
            UnsupportedSrScaledPair: B32 + Void = (F64, B32, F32) Unit::Unsupported;
            UnsupportedSrScaledHalf: B32 + Void = (F16, B32, F32) Unit::Unsupported;
            UnsupportedSrScaledHalves: B32 + Void = (PF16, B32, F32) Unit::Unsupported;
            UnsupportedSrScaledSingles: B192 + Void = (B1024, B32, F32) Unit::Unsupported;
            UnsupportedSrScaledAll: B192 + Void = (B512, B32, F32) Unit::Unsupported;
            UnsupportedSrHalf: F16 + Void = (F32, B32) Unit::Unsupported;
            UnsupportedSparse: Tile + Void = (B256, B512, B32) Unit::Unsupported;
            UnsupportedSparseToHalves: Tile16 + Void = (B256, B512, B32) Unit::Unsupported;
            UnsupportedSparseByPair: Tile + Void = (B256, B512, B64) Unit::Unsupported;
            UnsupportedSparseToHalvesByPair: Tile16 + Void = (B256, B512, B64) Unit::Unsupported;
            UnsupportedTileBf16F32: Tile16 + Void = (B256, B256, Tile) Unit::Unsupported;
            UnsupportedLoadBlock: B1024 + Void = () Unit::Unsupported;
            UnsupportedStoreBlock: Void + Void = (B1024) Unit::Unsupported;
            UnsupportedLoadTr128: Tile16 + Void = () Unit::Unsupported;
            UnsupportedLoadTr64: Tile8 + Void = () Unit::Unsupported;
            UnsupportedOrderedAdd: B64 + Void = (B64) Unit::Unsupported;
            UnsupportedNibbles: B16 + Void = (B32) Unit::Unsupported;
            UnsupportedPermute2: B64 + Void = (B32, B32, B64) Unit::Unsupported;
            UnsupportedPermute3: B96 + Void = (B32, B64, B64) Unit::Unsupported;
            UnsupportedPermute4: B128 + Void = (B64, B64, B64) Unit::Unsupported;
            UnsupportedLanes: B32 + Void = (B32, B32, B32) Unit::Unsupported;
            UnsupportedLaneNumbers: B32 + Void = (B32, B32) Unit::Unsupported;
            UnsupportedSrPair: B32 + Void = (F32, F32, B32) Unit::Unsupported;
            UnsupportedSrHalfByte: B32 + Void = (F16, B32) Unit::Unsupported;
            UnsupportedNarrow8Of512: B32 + Void = (B256, F32) Unit::Unsupported;
            UnsupportedNarrow8Bytes: B64 + Void = (B256, F32) Unit::Unsupported;
            UnsupportedNarrow8Halves: B32 + Void = (B128, F32) Unit::Unsupported;
            UnsupportedNarrow8HalfBytes: B64 + Void = (B128, F32) Unit::Unsupported;
            UnsupportedNarrow16: B96 + Void = (B512, F32) Unit::Unsupported;
            UnsupportedNarrow16Halves: B96 + Void = (B256, F32) Unit::Unsupported;
            UnsupportedSrNarrow8: B32 + Void = (B256, B32, F32) Unit::Unsupported;
            UnsupportedSrNarrow8Bytes: B64 + Void = (B256, B32, F32) Unit::Unsupported;
            UnsupportedSrNarrow8Halves: B32 + Void = (B128, B32, F32) Unit::Unsupported;
            UnsupportedSrNarrow8HalfBytes: B64 + Void = (B128, B32, F32) Unit::Unsupported;
            UnsupportedSrNarrow16: B96 + Void = (B512, B32, F32) Unit::Unsupported;
            UnsupportedSrNarrow16Halves: B96 + Void = (B256, B32, F32) Unit::Unsupported;
            UnsupportedWiden8Halves: B128 + Void = (B32, B32) Unit::Unsupported;
            UnsupportedWiden8: B256 + Void = (B32, B32) Unit::Unsupported;
            UnsupportedWiden8HalfBytes: B128 + Void = (B64, B32) Unit::Unsupported;
            UnsupportedWiden8Bytes: B256 + Void = (B64, B32) Unit::Unsupported;
            UnsupportedWiden16Halves: B256 + Void = (B96, B32) Unit::Unsupported;
            UnsupportedWiden16: B512 + Void = (B96, B32) Unit::Unsupported;
            UnsupportedArrive: Void + Void = () Unit::Unsupported;
            UnsupportedArriveReturn: B64 + Void = (B64) Unit::Unsupported;
            UnsupportedLoadTr4: B64 + Void = () Unit::Unsupported;
            UnsupportedLoadTr6: B96 + Void = () Unit::Unsupported;
            UnsupportedLoadTr16: B128 + Void = () Unit::Unsupported;
            UnsupportedLoadToShare: B32 + Void = () Unit::Unsupported;
            UnsupportedStoreFromShare: Void + Void = (B32) Unit::Unsupported;
            UnsupportedClusterB32: B32 + Void = () Unit::Unsupported;
            UnsupportedClusterB64: B64 + Void = () Unit::Unsupported;
            UnsupportedClusterB128: B128 + Void = () Unit::Unsupported;
            GlobalPrefetch: Void + Void = () Unit::Control(Wait);
            // Scalar loads.
            SLoadB32: B32 + Void = () Unit::ScalarMemory(ScalarAccess::Load(1));
            SLoadB64: B64 + Void = () Unit::ScalarMemory(ScalarAccess::Load(2));
            SLoadB96: B96 + Void = () Unit::ScalarMemory(ScalarAccess::Load(3));
            SLoadU8: B32 + Void = () Unit::ScalarMemory(ScalarAccess::LoadPart { bytes: 1, signed: false });
            SLoadI8: B32 + Void = () Unit::ScalarMemory(ScalarAccess::LoadPart { bytes: 1, signed: true });
            SLoadU16: B32 + Void = () Unit::ScalarMemory(ScalarAccess::LoadPart { bytes: 2, signed: false });
            SLoadI16: B32 + Void = () Unit::ScalarMemory(ScalarAccess::LoadPart { bytes: 2, signed: true });
            SLoadB128: B128 + Void = () Unit::ScalarMemory(ScalarAccess::Load(4));
            SLoadB256: B256 + Void = () Unit::ScalarMemory(ScalarAccess::Load(8));
            SLoadB512: B512 + Void = () Unit::ScalarMemory(ScalarAccess::Load(16));
            SBufferLoadB32: B32 + Void = () Unit::ScalarMemory(ScalarAccess::Load(1));
            SBufferLoadB64: B64 + Void = () Unit::ScalarMemory(ScalarAccess::Load(2));
            SBufferLoadB128: B128 + Void = () Unit::ScalarMemory(ScalarAccess::Load(4));
            SBufferLoadB256: B256 + Void = () Unit::ScalarMemory(ScalarAccess::Load(8));
            SBufferLoadB512: B512 + Void = () Unit::ScalarMemory(ScalarAccess::Load(16));
            SStoreB32: Void + Void = (B32) Unit::ScalarMemory(ScalarAccess::Store(1));
            SStoreB64: Void + Void = (B64) Unit::ScalarMemory(ScalarAccess::Store(2));
            SStoreB128: Void + Void = (B128) Unit::ScalarMemory(ScalarAccess::Store(4));
            // Loads and stores of any address space.
            LoadU8: B32 + Void = () Unit::Memory(LoadPart(Part { bytes: 1, signed: false, half: None }));
            LoadI8: B32 + Void = () Unit::Memory(LoadPart(Part { bytes: 1, signed: true, half: None }));
            LoadU16: B32 + Void = () Unit::Memory(LoadPart(Part { bytes: 2, signed: false, half: None }));
            LoadI16: B32 + Void = () Unit::Memory(LoadPart(Part { bytes: 2, signed: true, half: None }));
            LoadB32: B32 + Void = () Unit::Memory(Load(One));
            LoadB64: B64 + Void = () Unit::Memory(Load(Two));
            LoadB96: B96 + Void = () Unit::Memory(Load(Three));
            LoadB128: B128 + Void = () Unit::Memory(Load(Four));
            LoadD16U8: B32 + Void = () Unit::Memory(LoadPart(Part { bytes: 1, signed: false, half: Some(false) }));
            LoadD16I8: B32 + Void = () Unit::Memory(LoadPart(Part { bytes: 1, signed: true, half: Some(false) }));
            LoadD16B16: B32 + Void = () Unit::Memory(LoadPart(Part { bytes: 2, signed: false, half: Some(false) }));
            LoadD16HiU8: B32 + Void = () Unit::Memory(LoadPart(Part { bytes: 1, signed: false, half: Some(true) }));
            LoadD16HiI8: B32 + Void = () Unit::Memory(LoadPart(Part { bytes: 1, signed: true, half: Some(true) }));
            LoadD16HiB16: B32 + Void = () Unit::Memory(LoadPart(Part { bytes: 2, signed: false, half: Some(true) }));
            StoreB8: Void + Void = (B32) Unit::Memory(StorePart { bytes: 1, high: false });
            StoreB16: Void + Void = (B32) Unit::Memory(StorePart { bytes: 2, high: false });
            StoreB32: Void + Void = (B32) Unit::Memory(Store(One));
            StoreB64: Void + Void = (B64) Unit::Memory(Store(Two));
            StoreB96: Void + Void = (B96) Unit::Memory(Store(Three));
            StoreB128: Void + Void = (B128) Unit::Memory(Store(Four));
            StoreD16HiB8: Void + Void = (B32) Unit::Memory(StorePart { bytes: 1, high: true });
            StoreD16HiB16: Void + Void = (B32) Unit::Memory(StorePart { bytes: 2, high: true });
            LoadAddtid: B32 + Void = () Unit::Memory(LoadAtLane);
            StoreAddtid: Void + Void = (B32) Unit::Memory(StoreAtLane);
            LoadLdsU8: Void + Void = () Unit::Memory(LoadToShare { bytes: 1, signed: false });
            LoadLdsI8: Void + Void = () Unit::Memory(LoadToShare { bytes: 1, signed: true });
            LoadLdsU16: Void + Void = () Unit::Memory(LoadToShare { bytes: 2, signed: false });
            LoadLdsI16: Void + Void = () Unit::Memory(LoadToShare { bytes: 2, signed: true });
            LoadLdsB96: Void + Void = () Unit::Memory(LoadToShare { bytes: 12, signed: false });
            LoadLdsB128: Void + Void = () Unit::Memory(LoadToShare { bytes: 16, signed: false });
            LoadTransposed4: B64 + Void = () Unit::Memory(LoadTransposed(4));
            LoadTransposed6: B96 + Void = () Unit::Memory(LoadTransposed(6));
            LoadTransposed8: B64 + Void = () Unit::Memory(LoadTransposed(8));
            LoadTransposed16: B64 + Void = () Unit::Memory(LoadTransposed(16));
            LoadLdsB32: Void + Void = () Unit::Memory(LoadToShare { bytes: 4, signed: false });
            // Read-modify-writes of any address space; the instruction says whether the old value is wanted.
            AtomicSwapB32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::Swap));
            AtomicCmpswapB32: B32 + Void = (B64) Unit::Atomic(Dword(Atomic32::CompareSwap));
            AtomicAddU32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::Add));
            AtomicSubU32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::Sub));
            AtomicRsubU32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::ReverseSub));
            AtomicCsubU32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::ClampedSub));
            AtomicCondSubU32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::ConditionalSub));
            AtomicMinI32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::MinSigned));
            AtomicMinU32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::MinUnsigned));
            AtomicMaxI32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::MaxSigned));
            AtomicMaxU32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::MaxUnsigned));
            AtomicAndB32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::And));
            AtomicOrB32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::Or));
            AtomicXorB32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::Xor));
            AtomicIncU32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::Inc));
            AtomicDecU32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::Dec));
            AtomicMskorB32: B32 + Void = (B32, B32) Unit::Atomic(Dword(Atomic32::MaskOr));
            AtomicCmpswapF32: B32 + Void = (B64) Unit::Atomic(Dword(Atomic32::CompareSwapFloat));
            AtomicMinF32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::MinFloat));
            AtomicMaxF32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::MaxFloat));
            AtomicAddF32: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::AddFloat));
            AtomicPkAddF16: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::PackedAddF16));
            AtomicPkAddBf16: B32 + Void = (B32) Unit::Atomic(Dword(Atomic32::PackedAddBf16));
            AtomicSwapB64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::Swap));
            AtomicCmpswapB64: B64 + Void = (B128) Unit::Atomic(Qword(Atomic64::CompareSwap));
            AtomicAddU64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::Add));
            AtomicSubU64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::Sub));
            AtomicRsubU64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::ReverseSub));
            AtomicMinI64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::MinSigned));
            AtomicMinU64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::MinUnsigned));
            AtomicMaxI64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::MaxSigned));
            AtomicMaxU64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::MaxUnsigned));
            AtomicAndB64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::And));
            AtomicOrB64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::Or));
            AtomicXorB64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::Xor));
            AtomicIncU64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::Inc));
            AtomicDecU64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::Dec));
            AtomicMskorB64: B64 + Void = (B64, B64) Unit::Atomic(Qword(Atomic64::MaskOr));
            AtomicMinF64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::MinFloat));
            AtomicMaxF64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::MaxFloat));
            AtomicCmpswapF64: B64 + Void = (B128) Unit::Atomic(Qword(Atomic64::CompareSwapFloat));
            AtomicAddF64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::AddFloat));
            AtomicCondxchg32B64: B64 + Void = (B64) Unit::Atomic(Qword(Atomic64::ExchangeMarked));
            // The data share alone: value and comparand in two operands, two addresses, lane exchange.
            DsCmpstoreB32: B32 + Void = (B32, B32) Unit::Atomic(Dword(Atomic32::CompareSwap));
            DsCmpstoreB64: B64 + Void = (B64, B64) Unit::Atomic(Qword(Atomic64::CompareSwap));
            DsCmpstoreF32: B32 + Void = (B32, B32) Unit::Atomic(Dword(Atomic32::CompareSwapFloat));
            DsCmpstoreF64: B64 + Void = (B64, B64) Unit::Atomic(Qword(Atomic64::CompareSwapFloat));
            DsWrap: B32 + Void = (B32, B32) Unit::Atomic(Dword(Atomic32::Wrap));
            DsLoad2B32: B64 + Void = () Unit::Share(Load2(One));
            DsLoad2B64: B128 + Void = () Unit::Share(Load2(Two));
            DsStore2B32: Void + Void = (B32, B32) Unit::Share(Store2(One));
            DsStore2B64: Void + Void = (B64, B64) Unit::Share(Store2(Two));
            DsExchange2B32: B64 + Void = (B32, B32) Unit::Share(Exchange2(One));
            DsExchange2B64: B128 + Void = (B64, B64) Unit::Share(Exchange2(Two));
            DsSwizzle: B32 + Void = () Unit::Share(Swizzle);
            DsPermute: B32 + Void = (B32) Unit::Share(Permute);
            DsBpermute: B32 + Void = (B32) Unit::Share(Bpermute);
            DsConsume: B32 + Void = () Unit::Share(Consume);
            DsAppend: B32 + Void = () Unit::Share(Append);
        }
    } };
}
pub(crate) use for_each_op;

macro_rules! define {
    (
        int { $($ti:ident: $tid:ident = ($($tis:ident),*) $tif:expr;)* }
        float { $($tf:ident: $tfd:ident = ($($tfs:ident),*) $tff:expr;)* }
        packed_int { $($pi:ident: $pid:ident = ($($pis:ident),*) $pif:expr;)* }
        packed_float { $($pf:ident: $pfd:ident = ($($pfs:ident),*) $pff:expr;)* }
        compare { $($c:ident: $cd:ident = ($($cs:ident),*) $cf:expr;)* }
        scalar { $($s:ident: $sd:ident = ($($ss:ident),*) $sf:expr;)* }
        scalar_scc { $($x:ident: $xd:ident = ($($xs:ident),*) $xf:expr;)* }
        scalar_old { $($o:ident: $od:ident = ($($os:ident),*) $of:expr;)* }
        exec { $($e:ident, $g:ident: $ef:expr;)* }
        scalar_float { $($y:ident: $yd:ident = ($($ys:ident),*) $yf:expr, $yg:expr;)* }
        scalar_compare { $($z:ident: $zd:ident = ($($zs:ident),*) $zf:expr;)* }
        vector { $($v:ident: $vd:ident + $vm:ident = ($($vs:ident),*) [$($vr:tt)*] $vf:expr;)* }
        other { $($n:ident: $nd:ident + $nm:ident = ($($ns:ident),*) $nu:expr;)* }
        saturated { $($plain:ident $saturated:ident)* }
        directed { $($nearest:ident $directed:ident)* }
    ) => {
        /// What an instruction does, whatever its encoding. Names follow the mnemonics without `v_` and encoding suffix;
        /// scalar operations begin with `S`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub(crate) enum Op {
            $($ti,)* $($tf,)* $($pi,)* $($pf,)* $($c,)* $($s,)* $($x,)* $($o,)* $($e,)* $($g,)* $($y,)* $($z,)* $($v,)* $($n,)*
        }

        impl Op {
            /// The operand kinds.
            pub(crate) fn signature(self) -> Signature {
                let (dst, sdst, src): (Kind, Kind, &'static [Kind]) = match self {
                    $(Op::$ti => (Kind::$tid, Kind::Void, &[$(Kind::$tis),*]),)*
                    $(Op::$tf => (Kind::$tfd, Kind::Void, &[$(Kind::$tfs),*]),)*
                    $(Op::$pi => (Kind::$pid, Kind::Void, &[$(Kind::$pis),*]),)*
                    $(Op::$pf => (Kind::$pfd, Kind::Void, &[$(Kind::$pfs),*]),)*
                    $(Op::$c => (Kind::$cd, Kind::Void, &[$(Kind::$cs),*]),)*
                    $(Op::$s => (Kind::$sd, Kind::Void, &[$(Kind::$ss),*]),)*
                    $(Op::$x => (Kind::$xd, Kind::Void, &[$(Kind::$xs),*]),)*
                    $(Op::$o => (Kind::$od, Kind::Void, &[$(Kind::$os),*]),)*
                    $(Op::$e => (Kind::B32, Kind::Void, &[Kind::B32]),)*
                    $(Op::$g => (Kind::B64, Kind::Void, &[Kind::B64]),)*
                    $(Op::$y => (Kind::$yd, Kind::Void, &[$(Kind::$ys),*]),)*
                    $(Op::$z => (Kind::$zd, Kind::Void, &[$(Kind::$zs),*]),)*
                    $(Op::$v => (Kind::$vd, Kind::$vm, &[$(Kind::$vs),*]),)*
                    $(Op::$n => (Kind::$nd, Kind::$nm, &[$(Kind::$ns),*]),)*
                };
                Signature { dst, sdst, src }
            }

            /// The unit that executes it.
            pub(crate) fn unit(self) -> Unit {
                use Atomic::{Dword, Qword};
                use Condition::{Always, Debugger, ExecIsZero, Scc, VccIsZero};
                use Control::{
                    Barrier, BarrierSignal, BarrierWait, Branch, Call, DenormMode, End, GetPc, GetRegister, Halt, IndexMode, IndexOff, IndexOn, IndexValue,
                    Message, MessageReturn, MoveRelative, RoundMode, SetPc, SetRegister, SwapPc, Time, Trap, Wait,
                };
                use Element::{Bf8, Bf16, F16, F32, F64, Fp8, I4, I8, Xf32};
                use Share::{Append, Bpermute, Consume, Exchange2, Load2, Permute, Store2, Swizzle};
                use Transfer::{Load, LoadAtLane, LoadPart, LoadToShare, LoadTransposed, Store, StoreAtLane, StorePart};
                use RegisterCount::{Four, One, Three, Two};
                match self {
                    $(Op::$ti)|* | $(Op::$tf)|* | $(Op::$pi)|* | $(Op::$pf)|* => Unit::Lane,
                    $(Op::$c)|* => Unit::Compare,
                    $(Op::$s)|* | $(Op::$x)|* | $(Op::$o)|* | $(Op::$e)|* | $(Op::$g)|* => Unit::Scalar,
                    $(Op::$y)|* | $(Op::$z)|* => Unit::Scalar,
                    $(Op::$v)|* => Unit::Vector,
                    $(Op::$n => $nu,)*
                }
            }

            /// The operation that a set clamp bit asks for. `None` where another function says what the bit does, or where that is not
            /// clear; float results are clamped to 0..=1 where they are written.
            pub(crate) fn saturated(self) -> Option<Op> {
                match self {
                    $(Op::$plain => Some(Op::$saturated),)*
                    _ => None,
                }
            }

            /// The operation that asks the mode how to round, where this one rounds to nearest even.
            pub(crate) fn directed(self) -> Option<Op> {
                match self {
                    $(Op::$nearest => Some(Op::$directed),)*
                    Op::PkFmaF32 => Some(Op::PkFmaF32Directed),
                    Op::PkMulF32 => Some(Op::PkMulF32Directed),
                    Op::PkAddF32 => Some(Op::PkAddF32Directed),
                    Op::DivFmasF32 => Some(Op::DivFmasF32Directed),
                    Op::DivFmasF64 => Some(Op::DivFmasF64Directed),
                    _ => None,
                }
            }

            /// Whether EXEC is among its destinations, whatever they are.
            pub(crate) fn sets_exec(self) -> bool {
                matches!(self, $(Op::$e)|* | $(Op::$g)|*)
            }
        }

        /// How many operations there are.
        pub(crate) const OPS: usize = [
            $(Op::$ti,)* $(Op::$tf,)* $(Op::$pi,)* $(Op::$pf,)* $(Op::$c,)* $(Op::$s,)* $(Op::$x,)* $(Op::$o,)* $(Op::$e,)* $(Op::$g,)* $(Op::$y,)* $(Op::$z,)* $(Op::$v,)* $(Op::$n,)*
        ]
        .len();
    };
}
for_each_op!(define);
