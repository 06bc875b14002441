//! What RDNA3.5 (gfx1151) has beside the rows of RDNA3: floating point in scalar registers, and a hint.
//!
//! Opcode numbers: "RDNA3.5 Instruction Set Architecture", chapter 16, checked against LLVM 19's disassembler by `tests/isa`.

use super::*;

/// Its rows, by format.
pub(super) const ROWS: &Formats = &[("SOP1", SOP1), ("SOP2", SOP2), ("SOPC", SOPC), ("SOPP", SOPP)];

/// RDNA3.5, SOP1.
#[rustfmt::skip] // one instruction a line
const SOP1: &[InstructionRow] = &[
    row(0x60, "s_ceil_f32", SCeilF32),
    row(0x61, "s_floor_f32", SFloorF32),
    row(0x62, "s_trunc_f32", STruncF32),
    row(0x63, "s_rndne_f32", SRndneF32),
    row(0x64, "s_cvt_f32_i32", SCvtF32I32),
    row(0x65, "s_cvt_f32_u32", SCvtF32U32),
    row(0x66, "s_cvt_i32_f32", SCvtI32F32),
    row(0x67, "s_cvt_u32_f32", SCvtU32F32),
    row(0x68, "s_cvt_f16_f32", SCvtF16F32),
    row(0x69, "s_cvt_f32_f16", SCvtF32F16),
    row(0x6a, "s_cvt_hi_f32_f16", SCvtHiF32F16),
    row(0x6b, "s_ceil_f16", SCeilF16),
    row(0x6c, "s_floor_f16", SFloorF16),
    row(0x6d, "s_trunc_f16", STruncF16),
    row(0x6e, "s_rndne_f16", SRndneF16),
];

/// RDNA3.5, SOP2.
#[rustfmt::skip] // one instruction a line
const SOP2: &[InstructionRow] = &[
    row(0x40, "s_add_f32", SAddF32),
    row(0x41, "s_sub_f32", SSubF32),
    row(0x42, "s_min_f32", SMinF32),
    row(0x43, "s_max_f32", SMaxF32),
    row(0x44, "s_mul_f32", SMulF32),
    ak(0x45, "s_fmaak_f32", SFmaF32),
    mk(0x46, "s_fmamk_f32", SFmaF32),
    acc(0x47, "s_fmac_f32", SFmaF32),
    row(0x48, "s_cvt_pk_rtz_f16_f32", SCvtPkRtzF16F32),
    row(0x49, "s_add_f16", SAddF16),
    row(0x4a, "s_sub_f16", SSubF16),
    row(0x4b, "s_min_f16", SMinF16),
    row(0x4c, "s_max_f16", SMaxF16),
    row(0x4d, "s_mul_f16", SMulF16),
    acc(0x4e, "s_fmac_f16", SFmaF16),
];

/// RDNA3.5, SOPP: which results are read once, for the hardware's caches of operands.
const SOPP: &[InstructionRow] = &[row(0x13, "s_singleuse_vdst", SNop)];

/// Comparisons of one type. The low bits of the opcode are the relations that count as true.
macro_rules! compare {
    ($(($base:literal, $op:ident, $ty:literal, [$($relations:literal $name:literal),*]))*) => {
        &[$($(
            InstructionRow { opcode: $base + $relations, mnemonic: concat!("s_cmp_", $name, "_", $ty), op: $op, form: Form::Usual, relations: $relations },
        )*)*]
    };
}

/// RDNA3.5, SOPC.
#[rustfmt::skip] // one type a line
const SOPC: &[InstructionRow] = compare! {
    (0x40, SCmpF32, "f32", [1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "lg", 6 "ge", 7 "o", 8 "u", 9 "nge", 10 "nlg", 11 "ngt", 12 "nle", 13 "neq", 14 "nlt"])
    (0x50, SCmpF16, "f16", [1 "lt", 2 "eq", 3 "le", 4 "gt", 5 "lg", 6 "ge", 7 "o", 8 "u", 9 "nge", 10 "nlg", 11 "ngt", 12 "nle", 13 "neq", 14 "nlt"])
};
