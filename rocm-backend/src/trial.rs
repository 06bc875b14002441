//! What a test of kernels asks of the software device: which instructions ran, a wrong instruction, counters, and the sizes that proofs about
//! this crate's kernels assume.

pub use rocm_soft::trial::*;

/// Kernels whose numbers of 64 bits, as `gfx_emu::Kernel::leading_numbers` has them, are not all sizes: seeds and counters of random numbers,
/// scales, how far attention reaches, and what memory is filled with.
const NOT_OF_SIZES: [&str; 7] = [
    "rand_uniform_",
    "rand_normal_",
    "philox_",
    "upsample_",
    "flash_attn_",
    "paged_attn_",
    "fill_",
];

/// Whether the numbers of 64 bits that a kernel of this crate has before its first pointer, or after it if it begins with one, are sizes, which the software device has below 2^31.
pub fn has_sizes(kernel: &str) -> bool {
    !NOT_OF_SIZES.iter().any(|start| kernel.starts_with(start))
}

/// Refuses from now on launches of this crate's kernels that pass a larger size.
pub fn hold_to_sizes() {
    rocm_soft::trial::hold_to_sizes(has_sizes);
}

#[cfg(test)]
mod tests {
    use super::has_sizes;

    #[test]
    fn a_seed_a_scale_a_reach_and_a_filling_are_no_sizes() {
        let of = |kernel: &str| has_sizes(kernel);
        assert_eq!(
            ["affine_f32", "gemm_bf16", "is_u32_f32", "sa_u8_f32"].map(of),
            [true; 4]
        );
        assert_eq!(
            [
                "rand_uniform_f32",
                "upsample_nearest2d_u8",
                "paged_attn_128_f32",
                "fill_f64"
            ]
            .map(of),
            [false; 4]
        );
    }
}
