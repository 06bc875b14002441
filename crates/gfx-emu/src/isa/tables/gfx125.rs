//! Where GFX12.5 (gfx1250) departs from the rows of RDNA4: rows that come first, and opcodes that it does not have.
//!
//! Opcode numbers: LLVM 23's disassembler, whose texts are in `tests/isa/gfx1250.txt`. No manual of the card is public. What an operation
//! computes follows from its name, where an instruction of another card has it, or from what LLVM makes of it; the others are refused:
//! conversions with a scale or with random bits, exchanges of lanes by numbers of the instruction, transposing loads, sparse products,
//! clusters, asynchronous copies and tensors.

use super::*;

/// Its rows, by format.
pub(super) const ROWS: &Formats = &[
    ("SOP1", SOP1),
    ("SOPK", SOPK),
    ("SOPP", NO_SOPP),
    ("SOPP", SOPP),
    ("VOP1", VOP1),
    ("VOP2", VOP2),
    ("VOP3", VOP3),
    ("VOP3P", NO_VOP3P),
    ("VOP3P", VOP3P),
    ("VOPD", VOPD),
    ("VOPD3", VOPD3),
    ("DS", DS),
    ("FLAT", FLAT),
    ("MUBUF", MUBUF),
];

/// GFX12.5, SOP1: other names for the program counter.
#[rustfmt::skip] // one instruction a line
const SOP1: &[InstructionRow] = &[
    row(0x06, "s_get_shader_cycles_u64", STime),
    row(0x47, "s_get_pc_i64", SGetpc),
    row(0x48, "s_set_pc_i64", SSetpc),
    row(0x49, "s_swap_pc_i64", SSwappc),
    row(0x4a, "s_rfe_i64", UnsupportedS64),
    row(0x4b, "s_add_pc_i64", UnsupportedS64),
];

/// GFX12.5, SOPK: another name for a call.
const SOPK: &[InstructionRow] = &[row(0x14, "s_call_i64", SCall)];

/// GFX12.5, SOPP: more waits, and two more bits for the numbers of vector registers.
#[rustfmt::skip] // one instruction a line
const SOPP: &[InstructionRow] = &[
    row(0x04, "s_monitor_sleep", SNop),
    row(0x06, "s_set_vgpr_msb", SSetVgprMsb),
    row(0x3e, "s_setprio_inc_wg", SNop),
    row(0x45, "s_wait_xcnt", SNop),
    row(0x4a, "s_wait_asynccnt", SNop),
    row(0x4b, "s_wait_tensorcnt", SNop),
];

/// GFX12.5, SOPP: opcodes that it does not have.
const NO_SOPP: &[InstructionRow] = &all_absent([0x01, 0x09, 0x0b, 0x42, 0x43, 0x44]);

/// GFX12.5, VOP1: moves of 64 bits, the hyperbolic tangent, functions of brain floats, 8-bit floats as halves.
#[rustfmt::skip] // one instruction a line
const VOP1: &[InstructionRow] = &[
    row(0x1d, "v_mov_b64", MovB64),
    row(0x1e, "v_tanh_f32", TanhF32),
    row(0x1f, "v_tanh_f16", TanhF16),
    row(0x49, "v_permlane16_swap_b32", Permlane16Swap),
    row(0x4a, "v_tanh_bf16", TanhBf16),
    row(0x4b, "v_prng_b32", PrngB32),
    row(0x72, "v_cvt_f32_bf16", CvtF32Bf16),
    row(0x73, "v_sat_pk4_i4_i8", UnsupportedNibbles),
    row(0x74, "v_sat_pk4_u4_u8", UnsupportedNibbles),
    row(0x75, "v_cvt_pk_f16_fp8", CvtPkF16OcpFp8),
    row(0x76, "v_cvt_pk_f16_bf8", CvtPkF16OcpBf8),
    row(0x77, "v_cvt_f16_fp8", CvtF16OcpFp8),
    row(0x78, "v_cvt_f16_bf8", CvtF16OcpBf8),
    row(0x79, "v_rcp_bf16", RcpBf16),
    row(0x7a, "v_sqrt_bf16", SqrtBf16),
    row(0x7b, "v_rsq_bf16", RsqBf16),
    row(0x7c, "v_log_bf16", LogBf16),
    row(0x7d, "v_exp_bf16", ExpBf16),
    row(0x7e, "v_sin_bf16", SinBf16),
    row(0x7f, "v_cos_bf16", CosBf16),
];

/// GFX12.5, VOP2: arithmetic in 64 bits.
#[rustfmt::skip] // one instruction a line
const VOP2: &[InstructionRow] = &[
    acc(0x17, "v_fmac_f64", FmaF64),
    mk(0x23, "v_fmamk_f64", FmaF64),
    ak(0x24, "v_fmaak_f64", FmaF64),
    row(0x28, "v_add_nc_u64", AddNcU64),
    row(0x29, "v_sub_nc_u64", SubNcU64),
    row(0x2a, "v_mul_u64", MulU64),
];

/// GFX12.5, VOP3: any function of three bits, sums and products in 64 bits, sums with an extreme, conversions with a scale.
#[rustfmt::skip] // one instruction a line
const VOP3: &[InstructionRow] = &[
    row(0x233, "v_bitop3_b16", Bitop3B16),
    row(0x234, "v_bitop3_b32", Bitop3B32),
    row(0x235, "v_mad_u32", MadU32),
    row(0x23f, "v_perm_pk16_b4_u4", UnsupportedPermute2),
    row(0x242, "v_perm_pk16_b6_u4", UnsupportedPermute3),
    row(0x243, "v_perm_pk16_b8_u4", UnsupportedPermute4),
    row(0x252, "v_lshl_add_u64", LshlAddU64),
    row(0x25e, "v_add_max_i32", AddMaxI32),
    row(0x25f, "v_add_max_u32", AddMaxU32),
    row(0x260, "v_add_min_i32", AddMinI32),
    row(0x261, "v_add_min_u32", AddMinU32),
    absent(0x266),
    absent(0x267),
    row(0x270, "v_permlane_bcast_b32", UnsupportedLanes),
    row(0x271, "v_permlane_up_b32", UnsupportedLanes),
    row(0x272, "v_permlane_down_b32", UnsupportedLanes),
    row(0x273, "v_permlane_xor_b32", UnsupportedLanes),
    row(0x290, "v_ashr_pk_i8_i32", AshrPkI8I32),
    row(0x291, "v_ashr_pk_u8_i32", AshrPkU8I32),
    row(0x297, "v_cvt_scalef32_sr_pk8_fp4_f32", UnsupportedSrNarrow8),
    row(0x298, "v_cvt_scalef32_sr_pk8_fp8_f32", UnsupportedSrNarrow8Bytes),
    row(0x299, "v_cvt_scalef32_sr_pk8_bf8_f32", UnsupportedSrNarrow8Bytes),
    row(0x29f, "v_cvt_scale_pk8_f16_fp4", UnsupportedWiden8Halves),
    row(0x2a0, "v_cvt_scale_pk8_bf16_fp4", UnsupportedWiden8Halves),
    row(0x2a1, "v_cvt_scale_pk8_f32_fp4", UnsupportedWiden8),
    row(0x2a8, "v_cvt_scale_pk8_f16_fp8", UnsupportedWiden8HalfBytes),
    row(0x2a9, "v_cvt_scale_pk8_bf16_fp8", UnsupportedWiden8HalfBytes),
    row(0x2aa, "v_cvt_scale_pk8_f32_fp8", UnsupportedWiden8Bytes),
    row(0x2ab, "v_cvt_scale_pk8_f16_bf8", UnsupportedWiden8HalfBytes),
    row(0x2ac, "v_cvt_scale_pk8_bf16_bf8", UnsupportedWiden8HalfBytes),
    row(0x2ad, "v_cvt_scale_pk8_f32_bf8", UnsupportedWiden8Bytes),
    row(0x2b0, "v_cvt_scalef32_pk8_fp4_f32", UnsupportedNarrow8Of512),
    row(0x2b3, "v_cvt_scalef32_pk8_fp4_f16", UnsupportedNarrow8Halves),
    row(0x2b4, "v_cvt_scalef32_pk8_fp8_bf16", UnsupportedNarrow8HalfBytes),
    row(0x2b5, "v_cvt_scalef32_pk8_bf8_bf16", UnsupportedNarrow8HalfBytes),
    row(0x2b8, "v_cvt_scalef32_pk8_fp4_bf16", UnsupportedNarrow8Halves),
    row(0x2b9, "v_cvt_scalef32_sr_pk8_fp4_f16", UnsupportedSrNarrow8Halves),
    row(0x2bc, "v_cvt_scalef32_sr_pk8_fp4_bf16", UnsupportedSrNarrow8Halves),
    row(0x2bf, "v_cvt_scalef32_sr_pk8_fp8_f16", UnsupportedSrNarrow8HalfBytes),
    row(0x2c0, "v_cvt_scalef32_sr_pk8_fp8_bf16", UnsupportedSrNarrow8HalfBytes),
    row(0x2c1, "v_cvt_scalef32_sr_pk8_bf8_f16", UnsupportedSrNarrow8HalfBytes),
    row(0x2c2, "v_cvt_scalef32_sr_pk8_bf8_bf16", UnsupportedSrNarrow8HalfBytes),
    row(0x2c3, "v_cvt_scalef32_pk8_fp8_f32", UnsupportedNarrow8Bytes),
    row(0x2c4, "v_cvt_scalef32_pk8_fp8_f16", UnsupportedNarrow8HalfBytes),
    row(0x2c5, "v_cvt_scalef32_pk8_bf8_f32", UnsupportedNarrow8Bytes),
    row(0x2c6, "v_cvt_scalef32_pk8_bf8_f16", UnsupportedNarrow8HalfBytes),
    row(0x2c7, "v_cvt_scale_pk16_f16_fp6", UnsupportedWiden16Halves),
    row(0x2c8, "v_cvt_scale_pk16_bf16_fp6", UnsupportedWiden16Halves),
    row(0x2c9, "v_cvt_scale_pk16_f32_fp6", UnsupportedWiden16),
    row(0x2ca, "v_cvt_scale_pk16_f16_bf6", UnsupportedWiden16Halves),
    row(0x2cb, "v_cvt_scale_pk16_bf16_bf6", UnsupportedWiden16Halves),
    row(0x2cc, "v_cvt_scale_pk16_f32_bf6", UnsupportedWiden16),
    row(0x2cd, "v_cvt_scalef32_pk16_fp6_f32", UnsupportedNarrow16),
    row(0x2ce, "v_cvt_scalef32_pk16_bf6_f32", UnsupportedNarrow16),
    row(0x2cf, "v_cvt_scalef32_pk16_fp6_f16", UnsupportedNarrow16Halves),
    row(0x2d0, "v_cvt_scalef32_pk16_bf6_f16", UnsupportedNarrow16Halves),
    row(0x2d1, "v_cvt_scalef32_pk16_fp6_bf16", UnsupportedNarrow16Halves),
    row(0x2d2, "v_cvt_scalef32_pk16_bf6_bf16", UnsupportedNarrow16Halves),
    row(0x2d3, "v_cvt_scalef32_sr_pk16_fp6_f32", UnsupportedSrNarrow16),
    row(0x2d4, "v_cvt_scalef32_sr_pk16_bf6_f32", UnsupportedSrNarrow16),
    row(0x2d5, "v_cvt_scalef32_sr_pk16_fp6_f16", UnsupportedSrNarrow16Halves),
    row(0x2d6, "v_cvt_scalef32_sr_pk16_bf6_f16", UnsupportedSrNarrow16Halves),
    row(0x2d7, "v_cvt_scalef32_sr_pk16_fp6_bf16", UnsupportedSrNarrow16Halves),
    row(0x2d8, "v_cvt_scalef32_sr_pk16_bf6_bf16", UnsupportedSrNarrow16Halves),
    row(0x2fa, "v_mad_nc_u64_u32", MadNcU64U32),
    row(0x2fb, "v_mad_nc_i64_i32", MadNcI64I32),
    row(0x314, "v_permlane_idx_gen_b32", UnsupportedLaneNumbers),
    row(0x318, "v_min_u64", MinU64),
    row(0x319, "v_max_u64", MaxU64),
    row(0x31a, "v_min_i64", MinI64),
    row(0x31b, "v_max_i64", MaxI64),
    row(0x36d, "v_cvt_pk_bf16_f32", CvtPkBf16F32),
    row(0x36e, "v_cvt_sr_pk_bf16_f32", UnsupportedSrPair),
    row(0x36f, "v_cvt_pk_f16_f32", CvtPkF16F32),
    row(0x370, "v_cvt_sr_pk_f16_f32", UnsupportedSrPair),
    row(0x372, "v_cvt_pk_fp8_f16", CvtPkOcpFp8F16),
    row(0x373, "v_cvt_pk_bf8_f16", CvtPkOcpBf8F16),
    row(0x374, "v_cvt_sr_fp8_f16", UnsupportedSrHalfByte),
    row(0x375, "v_cvt_sr_bf8_f16", UnsupportedSrHalfByte),
];

/// GFX12.5, VOP3P: pairs of numbers, brain floats, products of other depths.
#[rustfmt::skip] // one instruction a line
const VOP3P: &[InstructionRow] = &[
    row(0x11, "v_pk_fma_bf16", PkFmaBf16),
    row(0x14, "v_pk_add_max_i16", PkAddMaxI16),
    row(0x15, "v_pk_add_max_u16", PkAddMaxU16),
    row(0x1f, "v_pk_fma_f32", PkFmaF32),
    row(0x23, "v_pk_add_bf16", PkAddBf16),
    row(0x28, "v_pk_mul_f32", PkMulF32),
    row(0x29, "v_pk_add_f32", PkAddF32),
    row(0x2a, "v_pk_mul_bf16", PkMulBf16),
    row(0x2b, "v_pk_min_num_bf16", PkMinBf16),
    row(0x2c, "v_pk_max_num_bf16", PkMaxBf16),
    row(0x2d, "v_pk_add_min_i16", PkAddMinI16),
    row(0x2e, "v_pk_add_min_u16", PkAddMinU16),
    row(0x2f, "v_pk_max3_i16", PkMax3I16),
    row(0x30, "v_pk_max3_u16", PkMax3U16),
    row(0x31, "v_pk_min3_i16", PkMin3I16),
    row(0x32, "v_pk_min3_u16", PkMin3U16),
    row(0x36, "v_pk_minimum3_f16", PkMinimum3F16),
    row(0x37, "v_pk_maximum3_f16", PkMaximum3F16),
    row(0x38, "v_pk_min3_num_f16", PkMin3F16),
    row(0x39, "v_pk_max3_num_f16", PkMax3F16),
    row(0x3d, "v_fma_mix_f32_bf16", FmaMixF32Bf16),
    row(0x3e, "v_fma_mixlo_bf16", FmaMixloBf16),
    row(0x3f, "v_fma_mixhi_bf16", FmaMixhiBf16),
    row(0x5d, "v_wmma_f32_16x16x4_f32", TileF32F32x4),
    row(0x60, "v_wmma_f32_16x16x32_f16", TileF32F16x32),
    row(0x61, "v_wmma_f16_16x16x32_f16", TileF16F16x32),
    row(0x62, "v_wmma_f32_16x16x32_bf16", TileF32Bf16x32),
    row(0x63, "v_wmma_bf16_16x16x32_bf16", TileBf16Bf16x32),
    row(0x64, "v_wmma_bf16f32_16x16x32_bf16", UnsupportedTileBf16F32),
    row(0x65, "v_swmmac_f32_16x16x64_f16", UnsupportedSparse),
    row(0x66, "v_swmmac_f32_16x16x64_bf16", UnsupportedSparse),
    row(0x67, "v_swmmac_f16_16x16x64_f16", UnsupportedSparseToHalves),
    row(0x68, "v_swmmac_bf16_16x16x64_bf16", UnsupportedSparseToHalves),
    row(0x69, "v_swmmac_bf16f32_16x16x64_bf16", UnsupportedSparse),
    row(0x6a, "v_wmma_f32_16x16x64_fp8_fp8", TileF32Fp8Fp8x64),
    row(0x6b, "v_wmma_f32_16x16x64_fp8_bf8", TileF32Fp8Bf8x64),
    row(0x6c, "v_wmma_f32_16x16x64_bf8_fp8", TileF32Bf8Fp8x64),
    row(0x6d, "v_wmma_f32_16x16x64_bf8_bf8", TileF32Bf8Bf8x64),
    row(0x6e, "v_wmma_f16_16x16x64_fp8_fp8", TileF16Fp8Fp8x64),
    row(0x6f, "v_wmma_f16_16x16x64_fp8_bf8", TileF16Fp8Bf8x64),
    row(0x70, "v_wmma_f16_16x16x64_bf8_fp8", TileF16Bf8Fp8x64),
    row(0x71, "v_wmma_f16_16x16x64_bf8_bf8", TileF16Bf8Bf8x64),
    row(0x72, "v_wmma_i32_16x16x64_iu8", TileI32Iu8x64),
    row(0x73, "v_swmmac_f32_16x16x128_fp8_fp8", UnsupportedSparseByPair),
    row(0x74, "v_swmmac_f32_16x16x128_fp8_bf8", UnsupportedSparseByPair),
    row(0x75, "v_swmmac_f32_16x16x128_bf8_fp8", UnsupportedSparseByPair),
    row(0x76, "v_swmmac_f32_16x16x128_bf8_bf8", UnsupportedSparseByPair),
    row(0x77, "v_swmmac_f16_16x16x128_fp8_fp8", UnsupportedSparseToHalvesByPair),
    row(0x78, "v_swmmac_f16_16x16x128_fp8_bf8", UnsupportedSparseToHalvesByPair),
    row(0x79, "v_swmmac_f16_16x16x128_bf8_fp8", UnsupportedSparseToHalvesByPair),
    row(0x7a, "v_swmmac_f16_16x16x128_bf8_bf8", UnsupportedSparseToHalvesByPair),
    row(0x7b, "v_swmmac_i32_16x16x128_iu8", UnsupportedSparseByPair),
    row(0x80, "v_wmma_f32_16x16x128_fp8_fp8", TileF32Fp8Fp8x128),
    row(0x81, "v_wmma_f32_16x16x128_fp8_bf8", TileF32Fp8Bf8x128),
    row(0x82, "v_wmma_f32_16x16x128_bf8_fp8", TileF32Bf8Fp8x128),
    row(0x83, "v_wmma_f32_16x16x128_bf8_bf8", TileF32Bf8Bf8x128),
    row(0x84, "v_wmma_f16_16x16x128_fp8_fp8", TileF16Fp8Fp8x128),
    row(0x85, "v_wmma_f16_16x16x128_fp8_bf8", TileF16Fp8Bf8x128),
    row(0x86, "v_wmma_f16_16x16x128_bf8_fp8", TileF16Bf8Fp8x128),
    row(0x87, "v_wmma_f16_16x16x128_bf8_bf8", TileF16Bf8Bf8x128),
];

/// GFX12.5, VOP3P: opcodes that it does not have.
const NO_VOP3P: &[InstructionRow] = &all_absent([
    0x13, 0x1a, 0x24, 0x25, 0x26, 0x27, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a,
]);

/// GFX12.5, VOPD.
#[rustfmt::skip] // one instruction a line
const VOPD: &[InstructionRow] = &[
    acc(0x0c, "v_dual_dot2acc_f32_f16", Dot2F32F16),
    acc(0x0d, "v_dual_dot2acc_f32_bf16", Dot2F32Bf16),
    absent(0x12),
    row(0x14, "v_dual_sub_nc_u32", SubU32),
    row(0x15, "v_dual_lshrrev_b32", LshrrevB32),
    row(0x16, "v_dual_ashrrev_i32", AshrrevI32),
    row(0x17, "v_dual_max_i32", MaxI32),
    row(0x18, "v_dual_min_i32", MinI32),
];

/// GFX12.5, VOPD with three words: what the form with two lacks. Opcodes above 0x1f exist for the first half only, 0x12, 0x17 and 0x18 for the second.
#[rustfmt::skip] // one instruction a line
const VOPD3: &[InstructionRow] = &[
    absent(0x01),
    absent(0x02),
    row(0x12, "v_dual_bitop2_b32", Bitop2B32),
    row(0x13, "v_dual_fma_f32", FmaF32),
    row(0x20, "v_dual_fma_f64", FmaF64),
    row(0x21, "v_dual_add_f64", AddF64),
    row(0x22, "v_dual_mul_f64", MulF64),
    row(0x23, "v_dual_max_num_f64", MaxF64),
    row(0x24, "v_dual_min_num_f64", MinF64),
];

/// GFX12.5, DS: double precision, loads that transpose, arrivals at barriers in memory.
#[rustfmt::skip] // one instruction a line
const DS: &[InstructionRow] = &[
    ds(0x54, "ds_add_f64", AtomicAddF64),
    ds(0x56, "ds_atomic_async_barrier_arrive_b64", UnsupportedArrive),
    ds_rtn(0x74, "ds_add_rtn_f64", AtomicAddF64),
    ds_rtn(0x75, "ds_atomic_barrier_arrive_rtn_b64", UnsupportedArriveReturn),
    ds_rtn(0xfa, "ds_load_tr4_b64", UnsupportedLoadTr4),
    ds_rtn(0xfb, "ds_load_tr6_b96", UnsupportedLoadTr6),
    ds_rtn(0xfc, "ds_load_tr16_b128", UnsupportedLoadTr16),
    ds_rtn(0xfd, "ds_load_tr8_b64", UnsupportedLoadTr4),
];

/// GFX12.5, FLAT, GLOBAL and SCRATCH: double precision, hints, copies to and from LDS, clusters, loads that transpose.
#[rustfmt::skip] // one instruction a line
const FLAT: &[InstructionRow] = &[
    not_scratch(0x55, "atomic_add_f64", AtomicAddF64),
    global_only(0x57, "load_tr16_b128", UnsupportedLoadTr16),
    global_only(0x58, "load_tr8_b64", UnsupportedLoadTr4),
    not_scratch(0x5b, "atomic_min_num_f64", AtomicMinF64),
    not_scratch(0x5c, "atomic_max_num_f64", AtomicMaxF64),
    not_scratch(0x5d, "prefetch_b8", GlobalPrefetch),
    global_only(0x5f, "load_async_to_lds_b8", UnsupportedLoadToShare),
    global_only(0x60, "load_async_to_lds_b32", UnsupportedLoadToShare),
    global_only(0x61, "load_async_to_lds_b64", UnsupportedLoadToShare),
    global_only(0x62, "load_async_to_lds_b128", UnsupportedLoadToShare),
    global_only(0x63, "store_async_from_lds_b8", UnsupportedStoreFromShare),
    global_only(0x64, "store_async_from_lds_b32", UnsupportedStoreFromShare),
    global_only(0x65, "store_async_from_lds_b64", UnsupportedStoreFromShare),
    global_only(0x66, "store_async_from_lds_b128", UnsupportedStoreFromShare),
    global_only(0x67, "cluster_load_b32", UnsupportedClusterB32),
    global_only(0x68, "cluster_load_b64", UnsupportedClusterB64),
    global_only(0x69, "cluster_load_b128", UnsupportedClusterB128),
    global_only(0x6a, "cluster_load_async_to_lds_b8", UnsupportedLoadToShare),
    global_only(0x6b, "cluster_load_async_to_lds_b32", UnsupportedLoadToShare),
    global_only(0x6c, "cluster_load_async_to_lds_b64", UnsupportedLoadToShare),
    global_only(0x6d, "cluster_load_async_to_lds_b128", UnsupportedLoadToShare),
    not_scratch(0x70, "load_monitor_b32", LoadB32),
    not_scratch(0x71, "load_monitor_b64", LoadB64),
    not_scratch(0x72, "load_monitor_b128", LoadB128),
    global_only(0x73, "load_tr4_b64", UnsupportedLoadTr4),
    global_only(0x74, "load_tr6_b96", UnsupportedLoadTr6),
];

/// GFX12.5, MUBUF: atomics in double precision.
#[rustfmt::skip] // one instruction a line
const MUBUF: &[InstructionRow] = &[
    row(0x55, "buffer_atomic_add_f64", AtomicAddF64),
    row(0x5b, "buffer_atomic_min_num_f64", AtomicMinF64),
    row(0x5c, "buffer_atomic_max_num_f64", AtomicMaxF64),
];
