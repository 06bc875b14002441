//! Memory: the local data share, addresses, buffers.

use super::*;

/// Rows of atomics of the local data share, each without the old value and with it: 0x20 opcodes later, by the name with `_rtn`.
macro_rules! ds_atomics {
    ($(($rdna3:literal, $rdna2:literal, $cdna3:literal, $($name:literal)/+, $ty:literal, $op:ident),)*) => {
        Numbered {
            rdna3: &[$(
                ds($rdna3, concat!(newest!($($name)+), "_", $ty), $op),
                ds_rtn($rdna3 + 0x20, concat!(newest!($($name)+), "_rtn_", $ty), $op),
            )*],
            rdna2: &[$(
                ds($rdna2, concat!(oldest!($($name)+), "_", $ty), $op),
                ds_rtn($rdna2 + 0x20, concat!(oldest!($($name)+), "_rtn_", $ty), $op),
            )*],
            cdna3: &[$(
                ds($cdna3, concat!(oldest!($($name)+), "_", $ty), $op),
                ds_rtn($cdna3 + 0x20, concat!(oldest!($($name)+), "_rtn_", $ty), $op),
            )*],
        }
    };
}

/// Rows that FLAT and MUBUF have at the same opcodes.
pub(crate) struct Accesses {
    pub(crate) flat: Numbered,
    /// By the names with `buffer_` in front.
    pub(crate) mubuf: Numbered,
}

macro_rules! accesses {
    ($($form:ident($rdna3:tt, $rdna2:tt, $cdna3:tt, $($name:literal)/+, $op:ident),)*) => {
        Accesses {
            flat: numbered! { $($form($rdna3, $rdna2, $cdna3, $($name)/+, $op),)* },
            mubuf: numbered! { "buffer_" $(row($rdna3, $rdna2, $cdna3, $($name)/+, $op),)* },
        }
    };
}

/// Atomics on integers. SMEM of CDNA3 has them, too: in buffers at the same opcodes, and by addresses 0x40 opcodes later.
pub(crate) struct Atomics {
    pub(crate) flat: Numbered,
    pub(crate) mubuf: Numbered,
    pub(crate) smem: &'static [InstructionRow],
}

macro_rules! atomics {
    ($(($rdna3:literal, $rdna2:literal, $cdna3:literal, $($name:literal)/+, $op:ident),)*) => {
        Atomics {
            flat: numbered! { "atomic_" $(not_scratch($rdna3, $rdna2, $cdna3, $($name)/+, $op),)* },
            mubuf: numbered! { "buffer_atomic_" $(row($rdna3, $rdna2, $cdna3, $($name)/+, $op),)* },
            smem: &[$(
                row($cdna3, concat!("s_buffer_atomic_", oldest!($($name)+)), $op),
                row($cdna3 + 0x40, concat!("s_atomic_", oldest!($($name)+)), $op),
            )*],
        }
    };
}

/// DS: atomics.
pub(crate) const DS_ATOMICS: Numbered = ds_atomics! {
    (0x00, 0x00, 0x00, "ds_add", "u32", AtomicAddU32),
    (0x01, 0x01, 0x01, "ds_sub", "u32", AtomicSubU32),
    (0x02, 0x02, 0x02, "ds_rsub", "u32", AtomicRsubU32),
    (0x03, 0x03, 0x03, "ds_inc", "u32", AtomicIncU32),
    (0x04, 0x04, 0x04, "ds_dec", "u32", AtomicDecU32),
    (0x05, 0x05, 0x05, "ds_min", "i32", AtomicMinI32),
    (0x06, 0x06, 0x06, "ds_max", "i32", AtomicMaxI32),
    (0x07, 0x07, 0x07, "ds_min", "u32", AtomicMinU32),
    (0x08, 0x08, 0x08, "ds_max", "u32", AtomicMaxU32),
    (0x09, 0x09, 0x09, "ds_and", "b32", AtomicAndB32),
    (0x0a, 0x0a, 0x0a, "ds_or", "b32", AtomicOrB32),
    (0x0b, 0x0b, 0x0b, "ds_xor", "b32", AtomicXorB32),
    (0x0c, 0x0c, 0x0c, "ds_mskor", "b32", AtomicMskorB32),
    (0x10, 0x10, 0x10, "ds_cmpstore" / "ds_cmpst", "b32", DsCmpstoreB32),
    (0x11, 0x11, 0x11, "ds_cmpstore" / "ds_cmpst", "f32", DsCmpstoreF32),
    (0x12, 0x12, 0x12, "ds_min", "f32", AtomicMinF32),
    (0x13, 0x13, 0x13, "ds_max", "f32", AtomicMaxF32),
    (0x40, 0x40, 0x40, "ds_add", "u64", AtomicAddU64),
    (0x41, 0x41, 0x41, "ds_sub", "u64", AtomicSubU64),
    (0x42, 0x42, 0x42, "ds_rsub", "u64", AtomicRsubU64),
    (0x43, 0x43, 0x43, "ds_inc", "u64", AtomicIncU64),
    (0x44, 0x44, 0x44, "ds_dec", "u64", AtomicDecU64),
    (0x45, 0x45, 0x45, "ds_min", "i64", AtomicMinI64),
    (0x46, 0x46, 0x46, "ds_max", "i64", AtomicMaxI64),
    (0x47, 0x47, 0x47, "ds_min", "u64", AtomicMinU64),
    (0x48, 0x48, 0x48, "ds_max", "u64", AtomicMaxU64),
    (0x49, 0x49, 0x49, "ds_and", "b64", AtomicAndB64),
    (0x4a, 0x4a, 0x4a, "ds_or", "b64", AtomicOrB64),
    (0x4b, 0x4b, 0x4b, "ds_xor", "b64", AtomicXorB64),
    (0x4c, 0x4c, 0x4c, "ds_mskor", "b64", AtomicMskorB64),
    (0x50, 0x50, 0x50, "ds_cmpstore" / "ds_cmpst", "b64", DsCmpstoreB64),
    (0x51, 0x51, 0x51, "ds_cmpstore" / "ds_cmpst", "f64", DsCmpstoreF64),
    (0x52, 0x52, 0x52, "ds_min", "f64", AtomicMinF64),
    (0x53, 0x53, 0x53, "ds_max", "f64", AtomicMaxF64),
};

/// DS: the rest of the local data share.
pub(crate) const DS: Numbered = numbered! {
    ds(0x0d, 0x0d, 0x0d, "ds_store_b32" / "ds_write_b32", StoreB32),
    ds2(0x0e, 0x0e, 0x0e, "ds_store_2addr_b32" / "ds_write2_b32", DsStore2B32),
    ds2_64(0x0f, 0x0f, 0x0f, "ds_store_2addr_stride64_b32" / "ds_write2st64_b32", DsStore2B32),
    ds(_, 0x14, _, "ds_nop", SNop),
    ds(0x15, 0x15, 0x15, "ds_add_f32", AtomicAddF32),
    ds(_, _, 0x17, "ds_pk_add_f16", AtomicPkAddF16),
    ds(_, _, 0x18, "ds_pk_add_bf16", AtomicPkAddBf16),
    ds(0x18, 0x18, 0x98, "ds_gws_sema_release_all", Unsupported),
    ds(0x19, 0x19, 0x99, "ds_gws_init", Unsupported),
    ds(0x1a, 0x1a, 0x9a, "ds_gws_sema_v", Unsupported),
    ds(0x1b, 0x1b, 0x9b, "ds_gws_sema_br", Unsupported),
    ds(0x1c, 0x1c, 0x9c, "ds_gws_sema_p", Unsupported),
    ds(0x1d, 0x1d, 0x9d, "ds_gws_barrier", Unsupported),
    ds(0x1e, 0x1e, 0x1e, "ds_store_b8" / "ds_write_b8", StoreB8),
    ds(0x1f, 0x1f, 0x1f, "ds_store_b16" / "ds_write_b16", StoreB16),
    ds_rtn(0x2d, 0x2d, 0x2d, "ds_storexchg_rtn_b32" / "ds_wrxchg_rtn_b32", AtomicSwapB32),
    ds2(0x2e, 0x2e, 0x2e, "ds_storexchg_2addr_rtn_b32" / "ds_wrxchg2_rtn_b32", DsExchange2B32),
    ds2_64(0x2f, 0x2f, 0x2f, "ds_storexchg_2addr_stride64_rtn_b32" / "ds_wrxchg2st64_rtn_b32", DsExchange2B32),
    ds_rtn(0x34, 0x34, 0x34, "ds_wrap_rtn_b32", DsWrap),
    ds_rtn(0x35, 0x35, 0x3d, "ds_swizzle_b32", DsSwizzle),
    ds_rtn(0x36, 0x36, 0x36, "ds_load_b32" / "ds_read_b32", LoadB32),
    ds2(0x37, 0x37, 0x37, "ds_load_2addr_b32" / "ds_read2_b32", DsLoad2B32),
    ds2_64(0x38, 0x38, 0x38, "ds_load_2addr_stride64_b32" / "ds_read2st64_b32", DsLoad2B32),
    ds_rtn(0x39, 0x39, 0x39, "ds_load_i8" / "ds_read_i8", LoadI8),
    ds_rtn(0x3a, 0x3a, 0x3a, "ds_load_u8" / "ds_read_u8", LoadU8),
    ds_rtn(0x3b, 0x3b, 0x3b, "ds_load_i16" / "ds_read_i16", LoadI16),
    ds_rtn(0x3c, 0x3c, 0x3c, "ds_load_u16" / "ds_read_u16", LoadU16),
    ds_rtn(0x3d, 0x3d, 0xbd, "ds_consume", DsConsume),
    ds_rtn(0x3e, 0x3e, 0xbe, "ds_append", DsAppend),
    ds(0x3f, 0x3f, _, "ds_ordered_count", Unsupported),
    ds(0x4d, 0x4d, 0x4d, "ds_store_b64" / "ds_write_b64", StoreB64),
    ds2(0x4e, 0x4e, 0x4e, "ds_store_2addr_b64" / "ds_write2_b64", DsStore2B64),
    ds2_64(0x4f, 0x4f, 0x4f, "ds_store_2addr_stride64_b64" / "ds_write2st64_b64", DsStore2B64),
    ds_rtn(0x6d, 0x6d, 0x6d, "ds_storexchg_rtn_b64" / "ds_wrxchg_rtn_b64", AtomicSwapB64),
    ds2(0x6e, 0x6e, 0x6e, "ds_storexchg_2addr_rtn_b64" / "ds_wrxchg2_rtn_b64", DsExchange2B64),
    ds2_64(0x6f, 0x6f, 0x6f, "ds_storexchg_2addr_stride64_rtn_b64" / "ds_wrxchg2st64_rtn_b64", DsExchange2B64),
    ds_rtn(0x76, 0x76, 0x76, "ds_load_b64" / "ds_read_b64", LoadB64),
    ds2(0x77, 0x77, 0x77, "ds_load_2addr_b64" / "ds_read2_b64", DsLoad2B64),
    ds2_64(0x78, 0x78, 0x78, "ds_load_2addr_stride64_b64" / "ds_read2st64_b64", DsLoad2B64),
    ds_rtn(_, _, 0x7c, "ds_add_rtn_f64", AtomicAddF64),
    ds_rtn(0x79, 0x55, 0x35, "ds_add_rtn_f32", AtomicAddF32),
    ds(0x7a, _, _, "ds_add_gs_reg_rtn", Unsupported),
    ds(0x7b, _, _, "ds_sub_gs_reg_rtn", Unsupported),
    ds_rtn(0x7e, 0x7e, 0x7e, "ds_condxchg32_rtn_b64", AtomicCondxchg32B64),
    ds(0xa0, 0xa0, 0x54, "ds_store_b8_d16_hi" / "ds_write_b8_d16_hi", StoreD16HiB8),
    ds(0xa1, 0xa1, 0x55, "ds_store_b16_d16_hi" / "ds_write_b16_d16_hi", StoreD16HiB16),
    ds_rtn(0xa2, 0xa2, 0x56, "ds_load_u8_d16" / "ds_read_u8_d16", LoadD16U8),
    ds_rtn(0xa3, 0xa3, 0x57, "ds_load_u8_d16_hi" / "ds_read_u8_d16_hi", LoadD16HiU8),
    ds_rtn(0xa4, 0xa4, 0x58, "ds_load_i8_d16" / "ds_read_i8_d16", LoadD16I8),
    ds_rtn(0xa5, 0xa5, 0x59, "ds_load_i8_d16_hi" / "ds_read_i8_d16_hi", LoadD16HiI8),
    ds_rtn(0xa6, 0xa6, 0x5a, "ds_load_u16_d16" / "ds_read_u16_d16", LoadD16B16),
    ds_rtn(0xa7, 0xa7, 0x5b, "ds_load_u16_d16_hi" / "ds_read_u16_d16_hi", LoadD16HiB16),
    ds(_, _, 0x5c, "ds_add_f64", AtomicAddF64),
    ds(0xad, _, _, "ds_bvh_stack_rtn_b32", Unsupported),
    ds(0xb0, 0xb0, 0x1d, "ds_store_addtid_b32" / "ds_write_addtid_b32", StoreAddtid),
    ds_rtn(0xb1, 0xb1, 0xb6, "ds_load_addtid_b32" / "ds_read_addtid_b32", LoadAddtid),
    ds_rtn(_, _, 0xb7, "ds_pk_add_rtn_f16", AtomicPkAddF16),
    ds_rtn(_, _, 0xb8, "ds_pk_add_rtn_bf16", AtomicPkAddBf16),
    ds_rtn(0xb2, 0xb2, 0x3e, "ds_permute_b32", DsPermute),
    ds_rtn(0xb3, 0xb3, 0x3f, "ds_bpermute_b32", DsBpermute),
    ds(0xde, 0xde, 0xde, "ds_store_b96" / "ds_write_b96", StoreB96),
    ds(0xdf, 0xdf, 0xdf, "ds_store_b128" / "ds_write_b128", StoreB128),
    ds_rtn(0xfe, 0xfe, 0xfe, "ds_load_b96" / "ds_read_b96", LoadB96),
    ds_rtn(0xff, 0xff, 0xff, "ds_load_b128" / "ds_read_b128", LoadB128),
};

/// FLAT and MUBUF: atomics on integers.
pub(crate) const ATOMICS: Atomics = atomics! {
    (0x33, 0x30, 0x40, "swap_b32" / "swap", AtomicSwapB32),
    (0x34, 0x31, 0x41, "cmpswap_b32" / "cmpswap", AtomicCmpswapB32),
    (0x35, 0x32, 0x42, "add_u32" / "add", AtomicAddU32),
    (0x36, 0x33, 0x43, "sub_u32" / "sub", AtomicSubU32),
    (0x38, 0x35, 0x44, "min_i32" / "smin", AtomicMinI32),
    (0x39, 0x36, 0x45, "min_u32" / "umin", AtomicMinU32),
    (0x3a, 0x37, 0x46, "max_i32" / "smax", AtomicMaxI32),
    (0x3b, 0x38, 0x47, "max_u32" / "umax", AtomicMaxU32),
    (0x3c, 0x39, 0x48, "and_b32" / "and", AtomicAndB32),
    (0x3d, 0x3a, 0x49, "or_b32" / "or", AtomicOrB32),
    (0x3e, 0x3b, 0x4a, "xor_b32" / "xor", AtomicXorB32),
    (0x3f, 0x3c, 0x4b, "inc_u32" / "inc", AtomicIncU32),
    (0x40, 0x3d, 0x4c, "dec_u32" / "dec", AtomicDecU32),
    (0x41, 0x50, 0x60, "swap_b64" / "swap_x2", AtomicSwapB64),
    (0x42, 0x51, 0x61, "cmpswap_b64" / "cmpswap_x2", AtomicCmpswapB64),
    (0x43, 0x52, 0x62, "add_u64" / "add_x2", AtomicAddU64),
    (0x44, 0x53, 0x63, "sub_u64" / "sub_x2", AtomicSubU64),
    (0x45, 0x55, 0x64, "min_i64" / "smin_x2", AtomicMinI64),
    (0x46, 0x56, 0x65, "min_u64" / "umin_x2", AtomicMinU64),
    (0x47, 0x57, 0x66, "max_i64" / "smax_x2", AtomicMaxI64),
    (0x48, 0x58, 0x67, "max_u64" / "umax_x2", AtomicMaxU64),
    (0x49, 0x59, 0x68, "and_b64" / "and_x2", AtomicAndB64),
    (0x4a, 0x5a, 0x69, "or_b64" / "or_x2", AtomicOrB64),
    (0x4b, 0x5b, 0x6a, "xor_b64" / "xor_x2", AtomicXorB64),
    (0x4c, 0x5c, 0x6b, "inc_u64" / "inc_x2", AtomicIncU64),
    (0x4d, 0x5d, 0x6c, "dec_u64" / "dec_x2", AtomicDecU64),
};

/// FLAT and MUBUF: loads, stores, and the other atomics. Loads and stores in the formats of textures, and loads of buffers into LDS,
/// are not compiled for compute kernels.
pub(crate) const ACCESSES: Accesses = accesses! {
    any_space(0x10, 0x08, 0x10, "load_u8" / "load_ubyte", LoadU8),
    any_space(0x11, 0x09, 0x11, "load_i8" / "load_sbyte", LoadI8),
    any_space(0x12, 0x0a, 0x12, "load_u16" / "load_ushort", LoadU16),
    any_space(0x13, 0x0b, 0x13, "load_i16" / "load_sshort", LoadI16),
    any_space(0x14, 0x0c, 0x14, "load_b32" / "load_dword", LoadB32),
    any_space(0x15, 0x0d, 0x15, "load_b64" / "load_dwordx2", LoadB64),
    any_space(0x16, 0x0f, 0x16, "load_b96" / "load_dwordx3", LoadB96),
    any_space(0x17, 0x0e, 0x17, "load_b128" / "load_dwordx4", LoadB128),
    any_space(0x18, 0x18, 0x18, "store_b8" / "store_byte", StoreB8),
    any_space(0x19, 0x1a, 0x1a, "store_b16" / "store_short", StoreB16),
    any_space(0x1a, 0x1c, 0x1c, "store_b32" / "store_dword", StoreB32),
    any_space(0x1b, 0x1d, 0x1d, "store_b64" / "store_dwordx2", StoreB64),
    any_space(0x1c, 0x1f, 0x1e, "store_b96" / "store_dwordx3", StoreB96),
    any_space(0x1d, 0x1e, 0x1f, "store_b128" / "store_dwordx4", StoreB128),
    any_space(0x1e, 0x20, 0x20, "load_d16_u8" / "load_ubyte_d16", LoadD16U8),
    any_space(0x1f, 0x22, 0x22, "load_d16_i8" / "load_sbyte_d16", LoadD16I8),
    any_space(0x20, 0x24, 0x24, "load_d16_b16" / "load_short_d16", LoadD16B16),
    any_space(0x21, 0x21, 0x21, "load_d16_hi_u8" / "load_ubyte_d16_hi", LoadD16HiU8),
    any_space(0x22, 0x23, 0x23, "load_d16_hi_i8" / "load_sbyte_d16_hi", LoadD16HiI8),
    any_space(0x23, 0x25, 0x25, "load_d16_hi_b16" / "load_short_d16_hi", LoadD16HiB16),
    any_space(0x24, 0x19, 0x19, "store_d16_hi_b8" / "store_byte_d16_hi", StoreD16HiB8),
    any_space(0x25, 0x1b, 0x1b, "store_d16_hi_b16" / "store_short_d16_hi", StoreD16HiB16),
    global_only(0x37, 0x34, _, "atomic_csub_u32" / "atomic_csub", AtomicCsubU32),
    not_scratch(_, 0x5e, _, "atomic_fcmpswap_x2", AtomicCmpswapF64),
    not_scratch(_, 0x5f, _, "atomic_fmin_x2", AtomicMinF64),
    not_scratch(_, 0x60, _, "atomic_fmax_x2", AtomicMaxF64),
    not_scratch(0x50, 0x3e, _, "atomic_cmpswap_f32" / "atomic_fcmpswap", AtomicCmpswapF32),
    not_scratch(0x51, 0x3f, _, "atomic_min_f32" / "atomic_fmin", AtomicMinF32),
    not_scratch(0x52, 0x40, _, "atomic_max_f32" / "atomic_fmax", AtomicMaxF32),
    not_scratch(0x56, _, 0x4d, "atomic_add_f32", AtomicAddF32),
    not_scratch(_, _, 0x4e, "atomic_pk_add_f16", AtomicPkAddF16),
    not_scratch(_, _, 0x4f, "atomic_add_f64", AtomicAddF64),
    not_scratch(_, _, 0x50, "atomic_min_f64", AtomicMinF64),
    not_scratch(_, _, 0x51, "atomic_max_f64", AtomicMaxF64),
};

/// FLAT, GLOBAL and SCRATCH alone; the address space is the beginning of the mnemonic.
pub(crate) const FLAT: Numbered = numbered! {
    not_flat(_, _, 0x26, "load_lds_ubyte", LoadLdsU8),
    not_flat(_, _, 0x27, "load_lds_sbyte", LoadLdsI8),
    not_flat(_, _, 0x28, "load_lds_ushort", LoadLdsU16),
    not_flat(_, _, 0x29, "load_lds_sshort", LoadLdsI16),
    not_flat(_, _, 0x2a, "load_lds_dword", LoadLdsB32),
    global_only(0x28, 0x16, _, "load_addtid_b32" / "load_dword_addtid", LoadAddtid),
    global_only(0x29, 0x17, _, "store_addtid_b32" / "store_dword_addtid", StoreAddtid),
    not_scratch(_, _, 0x52, "atomic_pk_add_bf16", AtomicPkAddBf16),
};

/// FLAT with the bit for data that goes to LDS, of RDNA2 and CDNA2; the opcode is that of the load into registers.
pub(crate) const TO_LDS: Numbered = numbered! {
    not_flat(_, 0x08, 0x10, "load_ubyte lds", LoadLdsU8),
    not_flat(_, 0x09, 0x11, "load_sbyte lds", LoadLdsI8),
    not_flat(_, 0x0a, 0x12, "load_ushort lds", LoadLdsU16),
    not_flat(_, 0x0b, 0x13, "load_sshort lds", LoadLdsI16),
    not_flat(_, 0x0c, 0x14, "load_dword lds", LoadLdsB32),
};

/// MUBUF alone: cache controls.
pub(crate) const MUBUF: Numbered = numbered! {
    row(_, _, 0x28, "buffer_wbl2", SNop),
    row(_, _, 0x29, "buffer_inv", SNop),
    row(_, _, 0x3e, "buffer_wbinvl1", SNop),
    row(_, _, 0x3f, "buffer_wbinvl1_vol", SNop),
    row(0x2b, 0x71, _, "buffer_gl0_inv", SNop),
    row(0x2c, 0x72, _, "buffer_gl1_inv", SNop),
};
