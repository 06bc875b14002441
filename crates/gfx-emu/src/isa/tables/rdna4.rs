//! Where RDNA4 (gfx1200, gfx1201) departs from the rows of RDNA3.5: rows that come first, and opcodes that it does not have.
//!
//! Minima and maxima have new opcodes, by the names of IEEE 754-2019, waits have a counter each, a barrier has two halves, and
//! memory instructions have other fields (`decode/rdna4.rs`). Opcode numbers: "RDNA4 Instruction Set Architecture", chapter 15,
//! checked against LLVM 19's disassembler by `tests/isa`.

use super::*;

/// Its rows, by format.
pub(super) const ROWS: &Formats = &[
    ("SOP1", SOP1),
    ("SOP2", SOP2),
    ("SOPK", NO_SOPK),
    ("SOPK", SOPK),
    ("SOPP", NO_SOPP),
    ("SOPP", SOPP),
    ("SMEM", SMEM),
    ("VOP1", VOP1),
    ("VOP2", VOP2),
    ("VOPC", NO_VOPC),
    ("VOP3", NO_VOP3),
    ("VOP3", VOP3),
    ("VOP3P", VOP3P),
    ("VOPD", VOPD),
    ("DS", NO_DS),
    ("DS", DS),
    ("FLAT", FLAT),
    ("MUBUF", MUBUF),
];

/// RDNA4, SOP1: barriers, and a sleep of a length in a register.
#[rustfmt::skip] // one instruction a line
const SOP1: &[InstructionRow] = &[
    row(0x4e, "s_barrier_signal", SBarrierSignal),
    row(0x4f, "s_barrier_signal_isfirst", UnsupportedS32),
    row(0x50, "s_get_barrier_state", UnsupportedB32),
    row(0x51, "s_barrier_init", UnsupportedS32),
    row(0x52, "s_barrier_join", UnsupportedS32),
    row(0x57, "s_wakeup_barrier", UnsupportedS32),
    row(0x58, "s_sleep_var", SWait),
];

/// RDNA4, SOP2.
#[rustfmt::skip] // one instruction a line
const SOP2: &[InstructionRow] = &[
    row(0x00, "s_add_co_u32", SAddU32),
    row(0x01, "s_sub_co_u32", SSubU32),
    row(0x02, "s_add_co_i32", SAddI32),
    row(0x03, "s_sub_co_i32", SSubI32),
    row(0x04, "s_add_co_ci_u32", SAddcU32),
    row(0x05, "s_sub_co_ci_u32", SSubbU32),
    row(0x42, "s_min_num_f32", SMinF32),
    row(0x43, "s_max_num_f32", SMaxF32),
    row(0x4b, "s_min_num_f16", SMinF16),
    row(0x4c, "s_max_num_f16", SMaxF16),
    row(0x4f, "s_minimum_f32", SMinimumF32),
    row(0x50, "s_maximum_f32", SMaximumF32),
    row(0x51, "s_minimum_f16", SMinimumF16),
    row(0x52, "s_maximum_f16", SMaximumF16),
    row(0x53, "s_add_nc_u64", SAddNcU64),
    row(0x54, "s_sub_nc_u64", SSubNcU64),
    row(0x55, "s_mul_u64", SMulU64),
];

/// RDNA4, SOPK: no comparisons and no waits.
#[rustfmt::skip] // one instruction a line
const SOPK: &[InstructionRow] = &[
    acc_k(0x0f, "s_addk_co_i32", SAddI32),
];

/// RDNA4, SOPK: opcodes that it does not have.
const NO_SOPK: &[InstructionRow] = &all_absent([
    0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x16, 0x17, 0x18, 0x19, 0x1a,
    0x1b,
]);

/// RDNA4, SOPP: a wait for each counter, the other half of a barrier.
#[rustfmt::skip] // one instruction a line
const SOPP: &[InstructionRow] = &[
    row(0x08, "s_wait_alu", SNop),
    row(0x14, "s_barrier_wait", SBarrierWait),
    row(0x15, "s_barrier_leave", Unsupported),
    row(0x40, "s_wait_loadcnt", SNop),
    row(0x41, "s_wait_storecnt", SNop),
    row(0x42, "s_wait_samplecnt", SNop),
    row(0x43, "s_wait_bvhcnt", SNop),
    row(0x44, "s_wait_expcnt", SNop),
    row(0x46, "s_wait_dscnt", SNop),
    row(0x47, "s_wait_kmcnt", SNop),
    row(0x48, "s_wait_loadcnt_dscnt", SNop),
    row(0x49, "s_wait_storecnt_dscnt", SNop),
];

/// RDNA4, SOPP: opcodes that it does not have.
const NO_SOPP: &[InstructionRow] = &all_absent([0x04, 0x27, 0x28, 0x29, 0x2a, 0x3d]);

/// RDNA4, SMEM: all of it.
#[rustfmt::skip] // one instruction a line
const SMEM: &[InstructionRow] = &[
    row(0x00, "s_load_b32", SLoadB32),
    row(0x01, "s_load_b64", SLoadB64),
    row(0x02, "s_load_b128", SLoadB128),
    row(0x03, "s_load_b256", SLoadB256),
    row(0x04, "s_load_b512", SLoadB512),
    row(0x05, "s_load_b96", SLoadB96),
    row(0x08, "s_load_i8", SLoadI8),
    row(0x09, "s_load_u8", SLoadU8),
    row(0x0a, "s_load_i16", SLoadI16),
    row(0x0b, "s_load_u16", SLoadU16),
    row(0x10, "s_buffer_load_b32", SBufferLoadB32),
    row(0x11, "s_buffer_load_b64", SBufferLoadB64),
    row(0x12, "s_buffer_load_b128", SBufferLoadB128),
    row(0x13, "s_buffer_load_b256", SBufferLoadB256),
    row(0x14, "s_buffer_load_b512", SBufferLoadB512),
    row(0x15, "s_buffer_load_b96", SLoadB96),
    row(0x18, "s_buffer_load_i8", SLoadI8),
    row(0x19, "s_buffer_load_u8", SLoadU8),
    row(0x1a, "s_buffer_load_i16", SLoadI16),
    row(0x1b, "s_buffer_load_u16", SLoadU16),
    row(0x21, "s_dcache_inv", SNop),
    row(0x22, "s_atc_probe", SNop),
    row(0x23, "s_atc_probe_buffer", SNop),
    row(0x24, "s_prefetch_inst", SPrefetch),
    row(0x25, "s_prefetch_inst_pc_rel", SPrefetch),
    row(0x26, "s_prefetch_data", SPrefetch),
    row(0x27, "s_buffer_prefetch_data", SPrefetch),
    row(0x28, "s_prefetch_data_pc_rel", SPrefetch),
];

/// RDNA4, VOP1: 8-bit floats.
#[rustfmt::skip] // one instruction a line
const VOP1: &[InstructionRow] = &[
    row(0x6c, "v_cvt_f32_fp8", CvtF32OcpFp8),
    row(0x6d, "v_cvt_f32_bf8", CvtF32OcpBf8),
    row(0x6e, "v_cvt_pk_f32_fp8", CvtPkF32OcpFp8),
    row(0x6f, "v_cvt_pk_f32_bf8", CvtPkF32OcpBf8),
];

/// RDNA4, VOP2: what is often used of double precision, minima and maxima.
#[rustfmt::skip] // one instruction a line
const VOP2: &[InstructionRow] = &[
    row(0x02, "v_add_f64", AddF64),
    row(0x06, "v_mul_f64", MulF64),
    row(0x0d, "v_min_num_f64", MinF64),
    row(0x0e, "v_max_num_f64", MaxF64),
    absent(0x0f),
    absent(0x10),
    row(0x15, "v_min_num_f32", MinF32),
    row(0x16, "v_max_num_f32", MaxF32),
    row(0x1f, "v_lshlrev_b64", LshlrevB64),
    row(0x30, "v_min_num_f16", MinF16),
    row(0x31, "v_max_num_f16", MaxF16),
    absent(0x39),
    absent(0x3a),
];

/// RDNA4, VOPC: no comparisons whose result is known before.
const NO_VOPC: &[InstructionRow] = &all_absent([
    0x00, 0x0f, 0x80, 0x8f, 0x10, 0x1f, 0x90, 0x9f, 0x20, 0x2f, 0xa0, 0xaf, 0x40, 0x47, 0xc0, 0xc7, 0x48,
    0x4f, 0xc8, 0xcf, 0x50, 0x57, 0xd0, 0xd7, 0x58, 0x5f, 0xd8, 0xdf,
]);

/// RDNA4, VOP3.
#[rustfmt::skip] // one instruction a line
const VOP3: &[InstructionRow] = &[
    row(0x229, "v_min3_num_f32", Min3F32),
    row(0x22a, "v_max3_num_f32", Max3F32),
    row(0x22b, "v_min3_num_f16", Min3F16),
    row(0x22c, "v_max3_num_f16", Max3F16),
    row(0x22d, "v_minimum3_f32", Minimum3F32),
    row(0x22e, "v_maximum3_f32", Maximum3F32),
    row(0x22f, "v_minimum3_f16", Minimum3F16),
    row(0x230, "v_maximum3_f16", Maximum3F16),
    row(0x231, "v_med3_num_f32", Med3F32),
    row(0x232, "v_med3_num_f16", Med3F16),
    row(0x268, "v_minmax_num_f32", MinmaxF32),
    row(0x269, "v_maxmin_num_f32", MaxminF32),
    row(0x26a, "v_minmax_num_f16", MinmaxF16),
    row(0x26b, "v_maxmin_num_f16", MaxminF16),
    row(0x26c, "v_minimummaximum_f32", MinimummaximumF32),
    row(0x26d, "v_maximumminimum_f32", MaximumminimumF32),
    row(0x26e, "v_minimummaximum_f16", MinimummaximumF16),
    row(0x26f, "v_maximumminimum_f16", MaximumminimumF16),
    row(0x280, "v_s_exp_f32", SExpF32),
    row(0x281, "v_s_exp_f16", SExpF16),
    row(0x282, "v_s_log_f32", SLogF32),
    row(0x283, "v_s_log_f16", SLogF16),
    row(0x284, "v_s_rcp_f32", SRcpF32),
    row(0x285, "v_s_rcp_f16", SRcpF16),
    row(0x286, "v_s_rsq_f32", SRsqF32),
    row(0x287, "v_s_rsq_f16", SRsqF16),
    row(0x288, "v_s_sqrt_f32", SSqrtF32),
    row(0x289, "v_s_sqrt_f16", SSqrtF16),
    row(0x2fe, "v_mad_co_u64_u32", MadU64U32),
    row(0x2ff, "v_mad_co_i64_i32", MadI64I32),
    row(0x30f, "v_permlane16_var_b32", Permlane16Var),
    row(0x310, "v_permlanex16_var_b32", Permlanex16Var),
    row(0x341, "v_minimum_f64", MinimumF64),
    row(0x342, "v_maximum_f64", MaximumF64),
    row(0x365, "v_minimum_f32", MinimumF32),
    row(0x366, "v_maximum_f32", MaximumF32),
    row(0x367, "v_minimum_f16", MinimumF16),
    row(0x368, "v_maximum_f16", MaximumF16),
    row(0x369, "v_cvt_pk_fp8_f32", CvtPkOcpFp8F32),
    row(0x36a, "v_cvt_pk_bf8_f32", CvtPkOcpBf8F32),
    row(0x36b, "v_cvt_sr_fp8_f32", UnsupportedSr),
    row(0x36c, "v_cvt_sr_bf8_f32", UnsupportedSr),
];

/// RDNA4, VOP3: opcodes that it does not have.
const NO_VOP3: &[InstructionRow] = &all_absent([
    0x219, 0x21c, 0x21f, 0x249, 0x24c, 0x24f, 0x25e, 0x25f, 0x260, 0x261, 0x327, 0x328, 0x329, 0x32a, 0x33c,
]);

/// RDNA4, VOP3P: minima and maxima, 8-bit floats, matrices that lie in other registers, sparse ones.
#[rustfmt::skip] // one instruction a line
const VOP3P: &[InstructionRow] = &[
    absent(0x11),
    absent(0x12),
    row(0x1b, "v_pk_min_num_f16", PkMinF16),
    row(0x1c, "v_pk_max_num_f16", PkMaxF16),
    row(0x1d, "v_pk_minimum_f16", PkMinimumF16),
    row(0x1e, "v_pk_maximum_f16", PkMaximumF16),
    row(0x24, "v_dot4_f32_fp8_bf8", Dot4F32Fp8Bf8),
    row(0x25, "v_dot4_f32_bf8_fp8", Dot4F32Bf8Fp8),
    row(0x26, "v_dot4_f32_fp8_fp8", Dot4F32Fp8Fp8),
    row(0x27, "v_dot4_f32_bf8_bf8", Dot4F32Bf8Bf8),
    row(0x40, "v_wmma_f32_16x16x16_f16", TileF32F16),
    row(0x41, "v_wmma_f32_16x16x16_bf16", TileF32Bf16),
    row(0x42, "v_wmma_f16_16x16x16_f16", TileF16F16),
    row(0x43, "v_wmma_bf16_16x16x16_bf16", TileBf16Bf16),
    row(0x44, "v_wmma_i32_16x16x16_iu8", TileI32Iu8),
    row(0x45, "v_wmma_i32_16x16x16_iu4", TileI32Iu4),
    row(0x46, "v_wmma_f32_16x16x16_fp8_fp8", TileF32Fp8Fp8),
    row(0x47, "v_wmma_f32_16x16x16_fp8_bf8", TileF32Fp8Bf8),
    row(0x48, "v_wmma_f32_16x16x16_bf8_fp8", TileF32Bf8Fp8),
    row(0x49, "v_wmma_f32_16x16x16_bf8_bf8", TileF32Bf8Bf8),
    row(0x4a, "v_wmma_i32_16x16x32_iu4", TileI32Iu4x32),
    row(0x50, "v_swmmac_f32_16x16x32_f16", SparseF32F16),
    row(0x51, "v_swmmac_f32_16x16x32_bf16", SparseF32Bf16),
    row(0x52, "v_swmmac_f16_16x16x32_f16", SparseF16F16),
    row(0x53, "v_swmmac_bf16_16x16x32_bf16", SparseBf16Bf16),
    row(0x54, "v_swmmac_i32_16x16x32_iu8", SparseI32Iu8),
    row(0x55, "v_swmmac_i32_16x16x32_iu4", SparseI32Iu4),
    row(0x56, "v_swmmac_i32_16x16x64_iu4", SparseI32Iu4x64),
    row(0x57, "v_swmmac_f32_16x16x32_fp8_fp8", SparseF32Fp8Fp8),
    row(0x58, "v_swmmac_f32_16x16x32_fp8_bf8", SparseF32Fp8Bf8),
    row(0x59, "v_swmmac_f32_16x16x32_bf8_fp8", SparseF32Bf8Fp8),
    row(0x5a, "v_swmmac_f32_16x16x32_bf8_bf8", SparseF32Bf8Bf8),
];

/// RDNA4, VOPD.
#[rustfmt::skip] // one instruction a line
const VOPD: &[InstructionRow] = &[
    row(0x0a, "v_dual_max_num_f32", MaxF32),
    row(0x0b, "v_dual_min_num_f32", MinF32),
    absent(0x0c),
];

/// RDNA4, DS.
#[rustfmt::skip] // one instruction a line
const DS: &[InstructionRow] = &[
    ds(0x12, "ds_min_num_f32", AtomicMinF32),
    ds(0x13, "ds_max_num_f32", AtomicMaxF32),
    ds(0x14, "ds_nop", SNop),
    ds_rtn(0x32, "ds_min_num_rtn_f32", AtomicMinF32),
    ds_rtn(0x33, "ds_max_num_rtn_f32", AtomicMaxF32),
    ds(0x52, "ds_min_num_f64", AtomicMinF64),
    ds(0x53, "ds_max_num_f64", AtomicMaxF64),
    ds_rtn(0x72, "ds_min_num_rtn_f64", AtomicMinF64),
    ds_rtn(0x73, "ds_max_num_rtn_f64", AtomicMaxF64),
    ds(0x98, "ds_cond_sub_u32", AtomicCondSubU32),
    ds(0x99, "ds_sub_clamp_u32", AtomicCsubU32),
    ds(0x9a, "ds_pk_add_f16", AtomicPkAddF16),
    ds(0x9b, "ds_pk_add_bf16", AtomicPkAddBf16),
    ds_rtn(0xa8, "ds_cond_sub_rtn_u32", AtomicCondSubU32),
    ds_rtn(0xa9, "ds_sub_clamp_rtn_u32", AtomicCsubU32),
    ds_rtn(0xaa, "ds_pk_add_rtn_f16", AtomicPkAddF16),
    ds_rtn(0xab, "ds_pk_add_rtn_bf16", AtomicPkAddBf16),
];

/// RDNA4, DS: opcodes that it does not have.
const NO_DS: &[InstructionRow] = &all_absent([
    0x11, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x31, 0x34, 0x3f, 0x51, 0x71, 0x7a, 0x7b, 0xad,
]);

/// RDNA4, FLAT, GLOBAL and SCRATCH.
#[rustfmt::skip] // one instruction a line
const FLAT: &[InstructionRow] = &[
    global_only(0x2b, "inv", SNop),
    global_only(0x2c, "wb", SNop),
    not_scratch(0x37, "atomic_sub_clamp_u32", AtomicCsubU32),
    global_only(0x4f, "wbinv", SNop),
    not_scratch(0x50, "atomic_cond_sub_u32", AtomicCondSubU32),
    not_scratch(0x51, "atomic_min_num_f32", AtomicMinF32),
    not_scratch(0x52, "atomic_max_num_f32", AtomicMaxF32),
    not_flat(0x53, "load_block", UnsupportedLoadBlock),
    not_flat(0x54, "store_block", UnsupportedStoreBlock),
    global_only(0x57, "load_tr_b128", UnsupportedLoadTr128),
    global_only(0x58, "load_tr_b64", UnsupportedLoadTr64),
    not_scratch(0x59, "atomic_pk_add_f16", AtomicPkAddF16),
    not_scratch(0x5a, "atomic_pk_add_bf16", AtomicPkAddBf16),
    global_only(0x73, "atomic_ordered_add_b64", UnsupportedOrderedAdd),
];

/// RDNA4, MUBUF.
#[rustfmt::skip] // one instruction a line
const MUBUF: &[InstructionRow] = &[
    absent(0x2b),
    absent(0x2c),
    row(0x37, "buffer_atomic_sub_clamp_u32", AtomicCsubU32),
    row(0x50, "buffer_atomic_cond_sub_u32", AtomicCondSubU32),
    row(0x51, "buffer_atomic_min_num_f32", AtomicMinF32),
    row(0x52, "buffer_atomic_max_num_f32", AtomicMaxF32),
    row(0x59, "buffer_atomic_pk_add_f16", AtomicPkAddF16),
    row(0x5a, "buffer_atomic_pk_add_bf16", AtomicPkAddBf16),
];
