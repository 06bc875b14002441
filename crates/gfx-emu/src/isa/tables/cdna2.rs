//! Where CDNA2 (gfx90a) departs from the rows of CDNA3: rows that come first, and opcodes that it does not have.
//!
//! Opcode numbers: "AMD Instinct MI200 Instruction Set Architecture", chapter 12, checked against LLVM 19's disassembler
//! by `tests/isa`.

use super::*;

/// Its rows, by format.
pub(super) const ROWS: &Formats = &[
    ("VOP1", NO_VOP1),
    ("VOP2", VOP2),
    ("VOP3", NO_VOP3),
    ("VOP3", VOP3),
    ("VOP3P", NO_VOP3P),
    ("VOP3P", VOP3P),
    ("DS", DS),
    ("FLAT", NO_FLAT),
    ("FLAT", FLAT),
    ("FLAT to LDS", TO_LDS.cdna3),
    ("MUBUF", MUBUF),
];

/// CDNA2, VOP1: no wide move, no 8-bit floats.
const NO_VOP1: &[InstructionRow] = &all_absent([0x38, 0x54, 0x55, 0x56, 0x57]);

/// CDNA2, VOP2: multiply-add that rounds twice and flushes denormals.
#[rustfmt::skip] // one instruction a line
const VOP2: &[InstructionRow] = &[
    acc(0x16, "v_mac_f32", MadF32),
    mk(0x17, "v_madmk_f32", MadF32),
    ak(0x18, "v_madak_f32", MadF32),
];

/// CDNA2, VOP3: the same, no 8-bit floats, no shift and addition of 64 bits.
#[rustfmt::skip] // one instruction a line
const VOP3: &[InstructionRow] = &[
    row(0x1c0, "v_mad_legacy_f32", UnsupportedMad),
    row(0x1c1, "v_mad_f32", MadF32),
];

/// CDNA2, VOP3: opcodes that it does not have.
const NO_VOP3: &[InstructionRow] = &all_absent([0x208, 0x2a2, 0x2a3, 0x2a4, 0x2a5]);

/// CDNA2, VOP3P: matrices.
#[rustfmt::skip] // one instruction a line
const VOP3P: &[InstructionRow] = &[
    row(0x40, "v_mfma_f32_32x32x1f32", Mfma32x1B2F32),
    row(0x41, "v_mfma_f32_16x16x1f32", Mfma16x1B4F32),
    row(0x42, "v_mfma_f32_4x4x1f32", Mfma4x1B16F32),
    row(0x44, "v_mfma_f32_32x32x2f32", Mfma32x2F32),
    row(0x45, "v_mfma_f32_16x16x4f32", Mfma16x4F32),
    row(0x48, "v_mfma_f32_32x32x4f16", Mfma32x4B2F16),
    row(0x49, "v_mfma_f32_16x16x4f16", Mfma16x4B4F16),
    row(0x4a, "v_mfma_f32_4x4x4f16", Mfma4x4B16F16),
    row(0x4c, "v_mfma_f32_32x32x8f16", Mfma32x8F16),
    row(0x4d, "v_mfma_f32_16x16x16f16", Mfma16x16F16),
    row(0x50, "v_mfma_i32_32x32x4i8", Mfma32x4B2I8),
    row(0x51, "v_mfma_i32_16x16x4i8", Mfma16x4B4I8),
    row(0x52, "v_mfma_i32_4x4x4i8", Mfma4x4B16I8),
    row(0x54, "v_mfma_i32_32x32x8i8", Mfma32x8I8),
    row(0x55, "v_mfma_i32_16x16x16i8", Mfma16x16I8),
    row(0x63, "v_mfma_f32_32x32x4bf16_1k", Mfma32x4B2Bf16),
    row(0x64, "v_mfma_f32_16x16x4bf16_1k", Mfma16x4B4Bf16),
    row(0x65, "v_mfma_f32_4x4x4bf16_1k", Mfma4x4B16Bf16),
    row(0x66, "v_mfma_f32_32x32x8bf16_1k", Mfma32x8Bf16),
    row(0x67, "v_mfma_f32_16x16x16bf16_1k", Mfma16x16Bf16),
    row(0x68, "v_mfma_f32_32x32x2bf16", Mfma32x2B2Bf16),
    row(0x69, "v_mfma_f32_16x16x2bf16", Mfma16x2B4Bf16),
    row(0x6b, "v_mfma_f32_4x4x2bf16", Mfma4x2B16Bf16),
    row(0x6c, "v_mfma_f32_32x32x4bf16", Mfma32x4Bf16),
    row(0x6d, "v_mfma_f32_16x16x8bf16", Mfma16x8Bf16),
    row(0x6e, "v_mfma_f64_16x16x4f64", Mfma16x4F64),
    row(0x6f, "v_mfma_f64_4x4x4f64", Mfma4x4B4F64),
];

/// CDNA2, VOP3P: opcodes that it does not have.
const NO_VOP3P: &[InstructionRow] = &all_absent([
    0x3e, 0x3f, 0x43, 0x46, 0x47, 0x4b, 0x4e, 0x4f, 0x53, 0x56, 0x57, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f,
    0x60, 0x61, 0x62, 0x6a, 0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x7b, 0x7c,
    0x7d, 0x7e, 0x7f,
]);

/// CDNA2, DS: no atomics on pairs.
const DS: &[InstructionRow] = &[absent(0x17), absent(0x18), absent(0xb7), absent(0xb8)];

/// CDNA2, FLAT: loads into LDS by a bit, no atomics on pairs of brain floats, and not all of the others by flat addresses.
const FLAT: &[InstructionRow] = &[
    global_only(0x4d, "atomic_add_f32", AtomicAddF32),
    global_only(0x4e, "atomic_pk_add_f16", AtomicPkAddF16),
];

/// CDNA2, FLAT: opcodes that it does not have.
const NO_FLAT: &[InstructionRow] = &all_absent([0x26, 0x27, 0x28, 0x29, 0x2a, 0x52]);

/// CDNA2, MUBUF: another cache control.
#[rustfmt::skip] // one instruction a line
const MUBUF: &[InstructionRow] = &[
    row(0x29, "buffer_invl2", SNop),
];
