//! Names of kernels: `is_i64_f32` is `is` for the element types `i64_f32`.

/// Words that name an element type at the end of a kernel's name.
const DTYPES: [&str; 10] = [
    "bf16", "f16", "f32", "f64", "f8_e4m3", "u8", "u32", "i16", "i32", "i64",
];

/// The name without its element types, and these.
pub(crate) fn split(name: &str) -> (&str, &str) {
    let mut stem = name;
    while let Some(shorter) = DTYPES
        .iter()
        .find_map(|dtype| stem.strip_suffix(dtype)?.strip_suffix('_'))
    {
        stem = shorter;
    }
    (stem, name[stem.len()..].trim_start_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_in_its_element_types() {
        for (name, parts) in [
            ("uexp_f32", ("uexp", "f32")),
            ("is_i64_f8_e4m3", ("is", "i64_f8_e4m3")),
            ("cast_bf16_f16", ("cast", "bf16_f16")),
            ("dequantize_block_q4_0_f32", ("dequantize_block_q4_0", "f32")),
            ("mul_mat_vec_q4_0_q8_1_cuda1", ("mul_mat_vec_q4_0_q8_1_cuda1", "")),
        ] {
            assert_eq!(split(name), parts);
        }
    }
}
