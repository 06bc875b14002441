//! Whether the kernels use the instructions they were written for: 16 bytes at a time where elements are contiguous, and
//! the matrix cores of the targets that have some. Read from the disassembly of the code objects; runs no kernel.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use gfx_emu::{CodeObject, disassemble};
use rocm_backend::DType;
use rocm_backend::ops::{Binary, Compare, Reduce, Unary, UnaryParam};

#[path = "support/compiled.rs"]
mod compiled;

const ALL: &[&str] = &[
    "bf16", "f16", "f32", "f64", "f8_e4m3", "u8", "u32", "i16", "i32", "i64",
];
const WIDE: &[&str] = &["bf16", "f16", "f32", "f64"];
const LOADS: &[&str] = &["load"];
const STORES: &[&str] = &["store"];
const BOTH: &[&str] = &["load", "store"];

/// A module, names of its kernels, dtypes that stand behind them, and which way they move 16 bytes.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

/// Kernels that are `<name>_<dtype>`, for each of the dtypes.
const PACKED: &[Row] = &[
    (
        "binary",
        &["eq", "ne", "lt", "le", "gt", "ge"],
        &["u8", "f8_e4m3"],
        STORES,
    ),
    ("affine", &["affine"], ALL, BOTH),
    ("affine", &["affine_turned"], &["bf16", "f16", "f32"], BOTH),
    (
        "unary",
        &["uexp_turned", "upowf_turned"],
        &["bf16", "f16", "f32"],
        BOTH,
    ),
    (
        "binary",
        &["badd_turned", "bdiv_turned"],
        &["bf16", "f16", "f32"],
        BOTH,
    ),
    ("cast", &["cast_turned_f32"], &["bf16", "f16"], LOADS),
    ("cast", &["cast_turned_bf16", "cast_turned_f16"], &["f32"], STORES),
    ("fill", &["fill", "const_set"], ALL, STORES),
    ("fill", &["copy2d"], ALL, BOTH),
    // The wider of the two dtypes decides how many elements are moved at once.
    (
        "cast",
        &["cast_f32"],
        &["bf16", "f16", "f8_e4m3", "u8", "i16"],
        LOADS,
    ),
    (
        "cast",
        &["cast_u32", "cast_i32", "cast_i64", "cast_f64"],
        &["u8", "f8_e4m3", "bf16"],
        LOADS,
    ),
    (
        "cast",
        &["cast_f32", "cast_f64", "cast_i64"],
        &["f64", "i64"],
        STORES,
    ),
    (
        "cast",
        &["cast_bf16", "cast_f16", "cast_u8", "cast_f8_e4m3"],
        &["f32", "f64", "i64", "u32"],
        STORES,
    ),
    ("cast", &["cast_f32"], &["f32", "u32", "i32"], BOTH),
    ("cast", &["cast_bf16", "cast_f16"], &["bf16", "f16", "i16"], BOTH),
    ("ternary", &["where_u8", "where_i64"], &["f64", "i64"], BOTH),
    (
        "ternary",
        &["where_u8", "where_u32"],
        &["f32", "u32", "i32"],
        BOTH,
    ),
    ("ternary", &["where_u8"], ALL, BOTH),
    ("reduce", &["softmax", "rmsnorm", "layernorm"], WIDE, BOTH),
    ("gemm", &["gemm"], WIDE, LOADS),
    (
        "moe",
        &["moe_gemm_gguf"],
        &[
            "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "f32",
        ],
        LOADS,
    ),
    (
        "quantized",
        &["mul_mat_vec"],
        &[
            "q4_0_q8_1_cuda1",
            "q5_1_q8_1_cuda8",
            "q8_0_q8_1_cuda1",
            "q2_K_q8_1_cuda1",
            "q6_K_q8_1_cuda8",
        ],
        LOADS,
    ),
];

/// Matrix instructions of kernels of products: target, module, kernel, the mnemonic.
const MATRIX: &[(&str, &str, &str, &str)] = &[
    ("gfx1100", "gemm", "gemm_f16", "v_wmma_f32_16x16x16_f16"),
    ("gfx1100", "gemm", "gemm_bf16", "v_wmma_f32_16x16x16_bf16"),
    ("gfx1201", "gemm", "gemm_f16", "v_wmma_f32_16x16x16_f16"),
    ("gfx1201", "gemm", "gemm_bf16", "v_wmma_f32_16x16x16_bf16"),
    ("gfx942", "gemm", "gemm_f16", "v_mfma_f32_16x16x16_f16"),
    ("gfx942", "gemm", "gemm_bf16", "v_mfma_f32_16x16x16_bf16"),
    ("gfx942", "gemm", "gemm_f32", "v_mfma_f32_16x16x4_f32"),
    ("gfx942", "gemm", "gemm_f64", "v_mfma_f64_16x16x4_f64"),
    // Its 16-bit matrix instructions would flush subnormal operands.
    ("gfx90a", "gemm", "gemm_f16", "v_mfma_f32_16x16x4f32"),
    ("gfx90a", "gemm", "gemm_bf16", "v_mfma_f32_16x16x4f32"),
    ("gfx90a", "gemm", "gemm_f32", "v_mfma_f32_16x16x4f32"),
    ("gfx90a", "gemm", "gemm_f64", "v_mfma_f64_16x16x4f64"),
    ("gfx1100", "scaled", "gemm_f8_e4m3_f32", "v_wmma_f32_16x16x16_f16"),
    (
        "gfx1201",
        "scaled",
        "gemm_f8_e4m3_f32",
        "v_wmma_f32_16x16x16_fp8_fp8",
    ),
    (
        "gfx942",
        "scaled",
        "gemm_f8_e4m3_bf16",
        "v_mfma_f32_16x16x32_fp8_fp8",
    ),
    // No f8_e4m3 is a subnormal f16.
    ("gfx90a", "scaled", "gemm_f8_e4m3_f16", "v_mfma_f32_16x16x16f16"),
];

/// The mnemonics of a kernel's instructions, in order; none if there is no such kernel.
fn mnemonics(code: &CodeObject, kernel: &str) -> Vec<String> {
    let Some(kernel) = code.kernels().find(|found| found.name == kernel) else {
        return Vec::new();
    };
    let mut rest = code.code(kernel);
    let mut found = Vec::new();
    while !rest.is_empty() {
        // After the last instruction there may be padding.
        let Ok((text, size)) = disassemble(code.target(), rest) else {
            break;
        };
        found.extend(text.split(' ').next().map(str::to_owned));
        rest = &rest[size..];
    }
    found
}

/// Whether a mnemonic moves 16 bytes, for `way` `load` or `store`.
fn moves_a_pack(mnemonic: &str, way: &str) -> bool {
    let name = mnemonic
        .strip_prefix("global_")
        .and_then(|name| name.strip_prefix(way));
    matches!(name, Some("_b128" | "_dwordx4"))
}

/// The code objects of a module, with their targets.
fn of_module(module: &str) -> Vec<(&'static str, CodeObject)> {
    compiled::code_objects()
        .filter(|(_, name, _)| *name == module)
        .map(|(target, _, elf)| (target, CodeObject::load(elf).unwrap()))
        .collect()
}

#[test]
fn kernels_move_contiguous_elements_16_bytes_at_a_time() {
    let mut narrow = Vec::new();
    let mut look = |module: &str, kernels: &[String], ways: &[&str]| {
        for (target, code) in of_module(module) {
            for kernel in kernels {
                let found = mnemonics(&code, kernel);
                let is_missing = |way: &&&str| !found.iter().any(|name| moves_a_pack(name, way));
                narrow.extend(
                    ways.iter()
                        .filter(is_missing)
                        .map(|way| format!("{target}: {kernel}: {way}")),
                );
            }
        }
    };
    for (module, names, suffixes, ways) in PACKED {
        let symbols = |name| suffixes.iter().map(move |suffix| format!("{name}_{suffix}"));
        look(module, &names.iter().flat_map(symbols).collect::<Vec<_>>(), ways);
    }
    let of = |name: &str, dtypes: &[DType]| -> Vec<String> {
        dtypes
            .iter()
            .map(|dtype| format!("{name}_{}", dtype.suffix()))
            .collect()
    };
    for op in Unary::ALL {
        look("unary", &of(op.name(), op.dtypes()), BOTH);
    }
    for op in UnaryParam::ALL {
        look("unary", &of(op.name(), op.dtypes()), BOTH);
    }
    for op in Binary::ALL {
        look("binary", &of(op.name(), op.dtypes()), BOTH);
    }
    for op in Compare::ALL {
        look("binary", &of(op.name(), op.dtypes()), LOADS);
    }
    for op in Reduce::ALL {
        look("reduce", &of(op.name(), op.dtypes()), LOADS);
    }
    assert_eq!(narrow, Vec::<String>::new());
}

#[test]
fn a_kernel_that_moves_single_elements_is_found() {
    let mut targets = 0;
    for (target, code) in of_module("reduce") {
        let found = mnemonics(&code, "fast_sum_small_f32");
        assert!(
            found.iter().any(|name| name.starts_with("global_load")),
            "{target}"
        );
        assert!(!found.iter().any(|name| moves_a_pack(name, "load")), "{target}");
        targets += 1;
    }
    assert!(targets > 0);
    assert!(moves_a_pack("global_load_b128", "load") && moves_a_pack("global_store_dwordx4", "store"));
    assert!(!moves_a_pack("global_load_b128", "store") && !moves_a_pack("ds_load_b128", "load"));
}

#[test]
fn products_of_matrices_are_the_matrix_cores_work_where_there_are_some() {
    for (of, module, kernel, wanted) in MATRIX {
        for (target, code) in of_module(module).into_iter().filter(|(target, _)| target == of) {
            let found = mnemonics(&code, kernel);
            assert!(
                found.iter().any(|name| name == wanted),
                "{target}: {kernel}: no {wanted}"
            );
            let others = found
                .iter()
                .filter(|name| name.starts_with("v_wmma") || name.starts_with("v_mfma"))
                .filter(|name| name != wanted);
            assert_eq!(others.count(), 0, "{target}: {kernel}");
        }
    }
    for (target, code) in of_module("gemm") {
        for kernel in ["gemm_f32", "gemv_f32"]
            .iter()
            .filter(|_| matches!(target, "gfx1100" | "gfx1201"))
        {
            let found = mnemonics(&code, kernel);
            assert!(
                !found.iter().any(|name| name.starts_with("v_wmma")),
                "{kernel}: it has no such instruction"
            );
            assert!(found.iter().any(|name| name.contains("fma")), "{kernel}");
        }
    }
}
