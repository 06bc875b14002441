//! Where CDNA2 (gfx90a) departs from the rows of CDNA3: rows that come first, and opcodes that it does not have.
//!
//! Opcode numbers: "AMD Instinct MI200 Instruction Set Architecture", chapter 12, checked against LLVM 19's disassembler
//! by `tests/isa`.

use super::*;

const fn absent(opcode: u16) -> InstructionRow {
    form(opcode, "", Unsupported, Form::Absent)
}

/// CDNA2, VOP1: no wide move, no 8-bit floats.
pub(crate) const VOP1: &[InstructionRow] = &[
    absent(0x38),
    absent(0x54),
    absent(0x55),
    absent(0x56),
    absent(0x57),
];

/// CDNA2, VOP2: multiply-add that rounds twice and flushes denormals.
#[rustfmt::skip] // one instruction a line
pub(crate) const VOP2: &[InstructionRow] = &[
    acc(0x16, "v_mac_f32", MadF32),
    mk(0x17, "v_madmk_f32", MadF32),
    ak(0x18, "v_madak_f32", MadF32),
];

/// CDNA2, VOP3: the same, no 8-bit floats, no shift and addition of 64 bits.
#[rustfmt::skip] // one instruction a line
pub(crate) const VOP3: &[InstructionRow] = &[
    row(0x1c0, "v_mad_legacy_f32", UnsupportedMad),
    row(0x1c1, "v_mad_f32", MadF32),
    absent(0x208),
    absent(0x2a2),
    absent(0x2a3),
    absent(0x2a4),
    absent(0x2a5),
];

/// CDNA2, VOP3P: matrices.
#[rustfmt::skip] // one instruction a line
pub(crate) const VOP3P: &[InstructionRow] = &[
    absent(0x3e),
    absent(0x3f),
    row(0x40, "v_mfma_f32_32x32x1f32", Mfma32x1B2F32),
    row(0x41, "v_mfma_f32_16x16x1f32", Mfma16x1B4F32),
    row(0x42, "v_mfma_f32_4x4x1f32", Mfma4x1B16F32),
    absent(0x43),
    row(0x44, "v_mfma_f32_32x32x2f32", Mfma32x2F32),
    row(0x45, "v_mfma_f32_16x16x4f32", Mfma16x4F32),
    absent(0x46),
    absent(0x47),
    row(0x48, "v_mfma_f32_32x32x4f16", Mfma32x4B2F16),
    row(0x49, "v_mfma_f32_16x16x4f16", Mfma16x4B4F16),
    row(0x4a, "v_mfma_f32_4x4x4f16", Mfma4x4B16F16),
    absent(0x4b),
    row(0x4c, "v_mfma_f32_32x32x8f16", Mfma32x8F16),
    row(0x4d, "v_mfma_f32_16x16x16f16", Mfma16x16F16),
    absent(0x4e),
    absent(0x4f),
    row(0x50, "v_mfma_i32_32x32x4i8", Mfma32x4B2I8),
    row(0x51, "v_mfma_i32_16x16x4i8", Mfma16x4B4I8),
    row(0x52, "v_mfma_i32_4x4x4i8", Mfma4x4B16I8),
    absent(0x53),
    row(0x54, "v_mfma_i32_32x32x8i8", Mfma32x8I8),
    row(0x55, "v_mfma_i32_16x16x16i8", Mfma16x16I8),
    absent(0x56),
    absent(0x57),
    absent(0x5a),
    absent(0x5b),
    absent(0x5c),
    absent(0x5d),
    absent(0x5e),
    absent(0x5f),
    absent(0x60),
    absent(0x61),
    absent(0x62),
    row(0x63, "v_mfma_f32_32x32x4bf16_1k", Mfma32x4B2Bf16),
    row(0x64, "v_mfma_f32_16x16x4bf16_1k", Mfma16x4B4Bf16),
    row(0x65, "v_mfma_f32_4x4x4bf16_1k", Mfma4x4B16Bf16),
    row(0x66, "v_mfma_f32_32x32x8bf16_1k", Mfma32x8Bf16),
    row(0x67, "v_mfma_f32_16x16x16bf16_1k", Mfma16x16Bf16),
    row(0x68, "v_mfma_f32_32x32x2bf16", Mfma32x2B2Bf16),
    row(0x69, "v_mfma_f32_16x16x2bf16", Mfma16x2B4Bf16),
    absent(0x6a),
    row(0x6b, "v_mfma_f32_4x4x2bf16", Mfma4x2B16Bf16),
    row(0x6c, "v_mfma_f32_32x32x4bf16", Mfma32x4Bf16),
    row(0x6d, "v_mfma_f32_16x16x8bf16", Mfma16x8Bf16),
    row(0x6e, "v_mfma_f64_16x16x4f64", Mfma16x4F64),
    row(0x6f, "v_mfma_f64_4x4x4f64", Mfma4x4B4F64),
    absent(0x70),
    absent(0x71),
    absent(0x72),
    absent(0x73),
    absent(0x74),
    absent(0x75),
    absent(0x76),
    absent(0x77),
    absent(0x78),
    absent(0x79),
    absent(0x7a),
    absent(0x7b),
    absent(0x7c),
    absent(0x7d),
    absent(0x7e),
    absent(0x7f),
];

/// CDNA2, DS: no atomics on pairs.
pub(crate) const DS: &[InstructionRow] = &[absent(0x17), absent(0x18), absent(0xb7), absent(0xb8)];

/// CDNA2, FLAT: loads into LDS by a bit, no atomics on pairs of brain floats, and not all of the others by flat addresses.
pub(crate) const FLAT: &[InstructionRow] = &[
    absent(0x26),
    absent(0x27),
    absent(0x28),
    absent(0x29),
    absent(0x2a),
    global_only(0x4d, "atomic_add_f32", AtomicAddF32),
    global_only(0x4e, "atomic_pk_add_f16", AtomicPkAddF16),
    absent(0x52),
];

/// CDNA2, FLAT with the bit for data that goes to LDS; the opcode is that of the load into registers.
pub(crate) const TO_LDS: &[InstructionRow] = &[
    not_flat(0x10, "load_ubyte lds", LoadLdsU8),
    not_flat(0x11, "load_sbyte lds", LoadLdsI8),
    not_flat(0x12, "load_ushort lds", LoadLdsU16),
    not_flat(0x13, "load_sshort lds", LoadLdsI16),
    not_flat(0x14, "load_dword lds", LoadLdsB32),
];

/// CDNA2, MUBUF: another cache control.
#[rustfmt::skip] // one instruction a line
pub(crate) const MUBUF: &[InstructionRow] = &[
    row(0x29, "buffer_invl2", SNop),
];
