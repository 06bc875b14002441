//! Where CDNA4 (gfx950) departs from the rows of CDNA3: rows that come first, and opcodes that it does not have.
//!
//! Opcode numbers: LLVM 21's disassembler, whose texts are in `tests/isa/gfx950.txt`. Its 8-bit floats are those of the Open Compute
//! Project. Conversions that round by random bits are refused: which bits they add to which element is not known here.

use super::*;

/// Its rows, by format.
pub(super) const ROWS: &Formats = &[
    ("VOP1", VOP1),
    ("VOP2", VOP2),
    ("VOP3", VOP3),
    ("VOP3P", VOP3P),
    ("DS", DS),
    ("FLAT", FLAT),
    ("MUBUF", MUBUF),
];

/// CDNA4, VOP1: 8-bit floats of the other formats, exchanges of rows, random numbers.
#[rustfmt::skip] // one instruction a line
const VOP1: &[InstructionRow] = &[
    row(0x54, "v_cvt_f32_fp8", CvtF32OcpByteFp8),
    row(0x55, "v_cvt_f32_bf8", CvtF32OcpByteBf8),
    row(0x56, "v_cvt_pk_f32_fp8", CvtPkF32OcpBytesFp8),
    row(0x57, "v_cvt_pk_f32_bf8", CvtPkF32OcpBytesBf8),
    row(0x58, "v_prng_b32", PrngB32),
    row(0x59, "v_permlane16_swap_b32", Permlane16Swap),
    row(0x5a, "v_permlane32_swap_b32", Permlane32Swap),
    row(0x5b, "v_cvt_f32_bf16", CvtF32Bf16),
];

/// CDNA4, VOP2: a dot product.
const VOP2: &[InstructionRow] = &[acc(0x16, "v_dot2c_f32_bf16", Dot2F32Bf16)];

/// CDNA4, VOP3: any function of three bits, conversions with a scale, and others.
#[rustfmt::skip] // one instruction a line
const VOP3: &[InstructionRow] = &[
    row(0x233, "v_bitop3_b16", Bitop3B16),
    row(0x234, "v_bitop3_b32", Bitop3B32),
    row(0x235, "v_cvt_scalef32_pk_fp8_f32", CvtScalef32PkFp8F32),
    row(0x236, "v_cvt_scalef32_pk_bf8_f32", CvtScalef32PkBf8F32),
    row(0x237, "v_cvt_scalef32_sr_fp8_f32", UnsupportedSrScaled),
    row(0x238, "v_cvt_scalef32_sr_bf8_f32", UnsupportedSrScaled),
    row(0x239, "v_cvt_scalef32_pk_f32_fp8", CvtScalef32PkF32Fp8),
    row(0x23a, "v_cvt_scalef32_pk_f32_bf8", CvtScalef32PkF32Bf8),
    row(0x23b, "v_cvt_scalef32_f32_fp8", CvtScalef32F32Fp8),
    row(0x23c, "v_cvt_scalef32_f32_bf8", CvtScalef32F32Bf8),
    row(0x23d, "v_cvt_scalef32_pk_fp4_f32", CvtScalef32PkFp4F32),
    row(0x23e, "v_cvt_scalef32_sr_pk_fp4_f32", UnsupportedSrScaledPair),
    row(0x23f, "v_cvt_scalef32_pk_f32_fp4", CvtScalef32PkF32Fp4),
    row(0x240, "v_cvt_scalef32_pk_fp8_f16", CvtScalef32PkFp8F16),
    row(0x241, "v_cvt_scalef32_pk_bf8_f16", CvtScalef32PkBf8F16),
    row(0x242, "v_cvt_scalef32_sr_fp8_f16", UnsupportedSrScaledHalf),
    row(0x243, "v_cvt_scalef32_sr_bf8_f16", UnsupportedSrScaledHalf),
    row(0x244, "v_cvt_scalef32_pk_fp8_bf16", CvtScalef32PkFp8Bf16),
    row(0x245, "v_cvt_scalef32_pk_bf8_bf16", CvtScalef32PkBf8Bf16),
    row(0x246, "v_cvt_scalef32_sr_fp8_bf16", UnsupportedSrScaledHalf),
    row(0x247, "v_cvt_scalef32_sr_bf8_bf16", UnsupportedSrScaledHalf),
    row(0x248, "v_cvt_scalef32_pk_f16_fp8", CvtScalef32PkF16Fp8),
    row(0x249, "v_cvt_scalef32_pk_f16_bf8", CvtScalef32PkF16Bf8),
    row(0x24a, "v_cvt_scalef32_f16_fp8", CvtScalef32F16Fp8),
    row(0x24b, "v_cvt_scalef32_f16_bf8", CvtScalef32F16Bf8),
    row(0x24c, "v_cvt_scalef32_pk_fp4_f16", CvtScalef32PkFp4F16),
    row(0x24d, "v_cvt_scalef32_pk_fp4_bf16", CvtScalef32PkFp4Bf16),
    row(0x24e, "v_cvt_scalef32_sr_pk_fp4_f16", UnsupportedSrScaledHalves),
    row(0x24f, "v_cvt_scalef32_sr_pk_fp4_bf16", UnsupportedSrScaledHalves),
    row(0x250, "v_cvt_scalef32_pk_f16_fp4", CvtScalef32PkF16Fp4),
    row(0x251, "v_cvt_scalef32_pk_bf16_fp4", CvtScalef32PkBf16Fp4),
    row(0x252, "v_cvt_scalef32_2xpk16_fp6_f32", CvtScalef322xpk16Fp6F32),
    row(0x253, "v_cvt_scalef32_2xpk16_bf6_f32", CvtScalef322xpk16Bf6F32),
    row(0x254, "v_cvt_scalef32_sr_pk32_fp6_f32", UnsupportedSrScaledSingles),
    row(0x255, "v_cvt_scalef32_sr_pk32_bf6_f32", UnsupportedSrScaledSingles),
    row(0x256, "v_cvt_scalef32_pk32_f32_fp6", CvtScalef32Pk32F32Fp6),
    row(0x257, "v_cvt_scalef32_pk32_f32_bf6", CvtScalef32Pk32F32Bf6),
    row(0x258, "v_cvt_scalef32_pk32_fp6_f16", CvtScalef32Pk32Fp6F16),
    row(0x259, "v_cvt_scalef32_pk32_fp6_bf16", CvtScalef32Pk32Fp6Bf16),
    row(0x25a, "v_cvt_scalef32_pk32_bf6_f16", CvtScalef32Pk32Bf6F16),
    row(0x25b, "v_cvt_scalef32_pk32_bf6_bf16", CvtScalef32Pk32Bf6Bf16),
    row(0x25c, "v_cvt_scalef32_sr_pk32_fp6_f16", UnsupportedSrScaledAll),
    row(0x25d, "v_cvt_scalef32_sr_pk32_fp6_bf16", UnsupportedSrScaledAll),
    row(0x25e, "v_cvt_scalef32_sr_pk32_bf6_f16", UnsupportedSrScaledAll),
    row(0x25f, "v_cvt_scalef32_sr_pk32_bf6_bf16", UnsupportedSrScaledAll),
    row(0x260, "v_cvt_scalef32_pk32_f16_fp6", CvtScalef32Pk32F16Fp6),
    row(0x261, "v_cvt_scalef32_pk32_bf16_fp6", CvtScalef32Pk32Bf16Fp6),
    row(0x262, "v_cvt_scalef32_pk32_f16_bf6", CvtScalef32Pk32F16Bf6),
    row(0x263, "v_cvt_scalef32_pk32_bf16_bf6", CvtScalef32Pk32Bf16Bf6),
    row(0x265, "v_ashr_pk_i8_i32", AshrPkI8I32),
    row(0x266, "v_ashr_pk_u8_i32", AshrPkU8I32),
    row(0x267, "v_cvt_pk_f16_f32", CvtPkF16F32),
    row(0x268, "v_cvt_pk_bf16_f32", CvtPkBf16F32),
    row(0x269, "v_cvt_scalef32_pk_bf16_fp8", CvtScalef32PkBf16Fp8),
    row(0x26a, "v_cvt_scalef32_pk_bf16_bf8", CvtScalef32PkBf16Bf8),
    row(0x2a2, "v_cvt_pk_fp8_f32", CvtPkOcpFp8F32),
    row(0x2a3, "v_cvt_pk_bf8_f32", CvtPkOcpBf8F32),
    row(0x2a6, "v_cvt_sr_f16_f32", UnsupportedSrHalf),
    row(0x2a7, "v_cvt_sr_bf16_f32", UnsupportedSrHalf),
    row(0x2a8, "v_minimum3_f32", Minimum3F32),
    row(0x2a9, "v_maximum3_f32", Maximum3F32),
];

/// CDNA4, VOP3P: packed extremes, wider products, and products of factors in formats of their own; no shortened floats.
#[rustfmt::skip] // one instruction a line
const VOP3P: &[InstructionRow] = &[
    row(0x1a, "v_dot2_f32_bf16", Dot2F32Bf16),
    row(0x1b, "v_pk_minimum3_f16", PkMinimum3F16),
    row(0x1c, "v_pk_maximum3_f16", PkMaximum3F16),
    row(0x2d, "v_mfma_f32_16x16x128_f8f6f4", Mfma16x128F8f6f4),
    row(0x2e, "v_mfma_f32_32x32x64_f8f6f4", Mfma32x64F8f6f4),
    row(0x35, "v_mfma_f32_16x16x32_bf16", Mfma16x32Bf16),
    row(0x36, "v_mfma_i32_16x16x64_i8", Mfma16x64I8),
    row(0x37, "v_mfma_f32_32x32x16_bf16", Mfma32x16Bf16),
    row(0x38, "v_mfma_i32_32x32x32_i8", Mfma32x32I8),
    row(0x39, "v_smfmac_f32_16x16x64_bf16", Smfmac16x64Bf16),
    row(0x3a, "v_smfmac_i32_16x16x128_i8", Smfmac16x128I8),
    row(0x3b, "v_smfmac_f32_16x16x128_bf8_bf8", Smfmac16x128Bf8Bf8),
    row(0x3c, "v_smfmac_f32_16x16x128_bf8_fp8", Smfmac16x128Bf8Fp8),
    row(0x3d, "v_smfmac_f32_16x16x128_fp8_bf8", Smfmac16x128Fp8Bf8),
    absent(0x3e),
    absent(0x3f),
    row(0x43, "v_smfmac_f32_16x16x128_fp8_fp8", Smfmac16x128Fp8Fp8),
    row(0x46, "v_smfmac_f32_32x32x32_bf16", Smfmac32x32Bf16),
    row(0x47, "v_smfmac_i32_32x32x64_i8", Smfmac32x64I8),
    row(0x4b, "v_smfmac_f32_32x32x64_bf8_bf8", Smfmac32x64Bf8Bf8),
    row(0x4e, "v_smfmac_f32_32x32x64_bf8_fp8", Smfmac32x64Bf8Fp8),
    row(0x4f, "v_smfmac_f32_32x32x64_fp8_bf8", Smfmac32x64Fp8Bf8),
    row(0x53, "v_smfmac_f32_32x32x64_fp8_fp8", Smfmac32x64Fp8Fp8),
    row(0x54, "v_mfma_f32_16x16x32_f16", Mfma16x32F16),
    row(0x55, "v_mfma_f32_32x32x16_f16", Mfma32x16F16),
    row(0x5a, "v_smfmac_f32_16x16x64_f16", Smfmac16x64F16),
    row(0x5b, "v_smfmac_f32_32x32x32_f16", Smfmac32x32F16),
];

/// CDNA4, DS: loads that transpose.
#[rustfmt::skip] // one instruction a line
const DS: &[InstructionRow] = &[
    ds_rtn(0xe0, "ds_read_b64_tr_b4", LoadTransposed4),
    ds_rtn(0xe1, "ds_read_b96_tr_b6", LoadTransposed6),
    ds_rtn(0xe2, "ds_read_b64_tr_b8", LoadTransposed8),
    ds_rtn(0xe3, "ds_read_b64_tr_b16", LoadTransposed16),
];

/// CDNA4, FLAT: wider loads into LDS.
#[rustfmt::skip] // one instruction a line
const FLAT: &[InstructionRow] = &[
    global_only(0x7d, "load_lds_dwordx4", LoadLdsB128),
    global_only(0x7e, "load_lds_dwordx3", LoadLdsB96),
];

/// CDNA4, MUBUF: an atomic on pairs of brain floats.
#[rustfmt::skip] // one instruction a line
const MUBUF: &[InstructionRow] = &[
    row(0x52, "buffer_atomic_pk_add_bf16", AtomicPkAddBf16),
];
