//! Compares the kernels that were compiled with the ones candle launches (`kernels/inventory.txt`) and with the ones
//! `kernels/README.md` promises, by what the code objects say about themselves. Runs no kernel.

use std::collections::{BTreeMap, BTreeSet};

use code_object::CodeObject;
use rocm_backend::DType;
use rocm_backend::ops::{Binary, Compare, Reduce, Unary, UnaryParam};

#[path = "support/compiled.rs"]
mod compiled;

const INVENTORY: &str = include_str!("../kernels/inventory.txt");

const FLOATS: &[&str] = &["bf16", "f16", "f32", "f64", "f8_e4m3"];
const INTS: &[&str] = &["u8", "u32", "i16", "i32", "i64"];
const FILL: &[&str] = &["fill", "const_set", "copy2d", "transpose"];
/// The dtypes of kernels of operands that are turned.
const TURNED: &[&str] = &["bf16", "f16", "f32"];
const SUMS: &[&str] = &["fast_sum_small", "sum", "sum_short"];
/// Reductions in parts, before the name of what they do, with their modules.
const PARTS: &[(&str, &str)] = &[
    ("reduce_parts", "parts_"),
    ("reduce_columns", "columns_"),
    ("reduce_parts", "join_"),
];
const NEURAL: &[&str] = &[
    "softmax",
    "rmsnorm",
    "layernorm",
    "softmax_short",
    "softmax_long",
    "rmsnorm_short",
    "layernorm_short",
    "rope",
    "rope_i",
    "rope_thd",
];
/// Formats of ggml's with products.
const GGML: &[&str] = &[
    "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k",
];
/// The same, as GGUF names them.
const PRODUCTS: &[&str] = &[
    "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K",
];
/// Every block format, as kernels of experts name it.
const BLOCKS: &[&str] = &[
    "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q8_1", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "q8_K",
];
/// Of `<op>_<dtype of the ids>_<dtype>`.
const INDEXING: &[&str] = &["is", "gather", "rows_by", "s", "sa", "ia"];

/// Kernels of windows and images.
const WINDOWS: &[&str] = &[
    "conv_transpose1d",
    "conv_transpose2d",
    "avg_pool2d",
    "max_pool2d",
    "upsample_nearest1d",
    "upsample_nearest2d",
    "upsample_bilinear2d",
];
const CONV: &[&str] = &["conv1d", "conv2d", "im2col1d", "im2col", "col2im1d"];

/// The modules of candle-kernels that are here, and how many kernels each has there.
const MODULES: &[(&str, usize)] = &[
    ("affine", 10),
    ("binary", 96),
    ("cast", 58),
    ("conv", 66),
    ("fill", 24),
    ("indexing", 125),
    ("quantized", 142),
    ("reduce", 71),
    ("sort", 14),
    ("ternary", 26),
    ("unary", 123),
];

#[derive(Debug, Clone, PartialEq, Eq)]
struct Arg {
    kind: String,
    offset: u64,
    size: u64,
}

#[derive(Debug, Clone)]
struct Kernel {
    args: Vec<Arg>,
    scratch_bytes: u64,
    spilled_vgprs: u64,
    wave_size: u64,
}

/// Module and kernel name to kernel, of one target.
type Kernels = BTreeMap<(String, String), Kernel>;

fn compiled() -> BTreeMap<&'static str, Kernels> {
    let mut targets = BTreeMap::<&str, Kernels>::new();
    for (target, module, elf) in compiled::code_objects() {
        let object = CodeObject::parse(elf).expect("a code object");
        for kernel in object.metadata().expect("a metadata note").kernels {
            let explicit = kernel.args.into_iter().filter(|arg| !arg.kind.is_hidden());
            let args = explicit.map(|arg| Arg {
                kind: arg.kind.to_string(),
                offset: arg.offset.into(),
                size: arg.size.into(),
            });
            let read = Kernel {
                args: args.collect(),
                scratch_bytes: kernel.private_segment_size.into(),
                spilled_vgprs: kernel.spilled_vgprs.into(),
                wave_size: kernel.wavefront_size.into(),
            };
            let name = (module.to_string(), kernel.name);
            targets.entry(target).or_default().insert(name, read);
        }
    }
    assert!(!targets.is_empty(), "no code object was built");
    targets
}

/// The kernarg layout of C: each argument at the next multiple of its size.
fn laid_out(arguments: &[&str]) -> Vec<Arg> {
    let mut end = 0u64;
    let place = |argument: &&str| {
        let (kind, size) = match *argument {
            pointer if pointer.starts_with('*') => ("global_buffer", 8),
            "u8" | "f8_e4m3" | "bool" => ("by_value", 1),
            "i16" | "f16" | "bf16" => ("by_value", 2),
            "u32" | "i32" | "f32" => ("by_value", 4),
            "u64" | "i64" | "f64" => ("by_value", 8),
            other => panic!("inventory.txt: unknown argument {other}"),
        };
        let offset = end.next_multiple_of(size);
        end = offset + size;
        Arg {
            kind: kind.to_owned(),
            offset,
            size,
        }
    };
    arguments.iter().map(place).collect()
}

/// What the kernels lack of the inventory; one line for each difference.
fn differences(inventory: &str, kernels: &Kernels) -> Vec<String> {
    let mut found = Vec::new();
    for line in inventory.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [module, name, arguments @ ..] = words.as_slice() else {
            panic!("inventory.txt: bad line {line:?}")
        };
        let ours = name.replace("_fp8_e4m3", "_f8_e4m3");
        match kernels.get(&(module.to_string(), ours.clone())) {
            None => found.push(format!("{module}: no {ours}")),
            Some(kernel) if kernel.args != laid_out(arguments) => {
                found.push(format!(
                    "{module}: {ours} has {:?}, expected {:?}",
                    kernel.args,
                    laid_out(arguments)
                ));
            }
            Some(_) => {}
        }
    }
    found
}

/// The kernels that keep registers in memory.
fn spilling(kernels: &Kernels) -> Vec<&str> {
    let spills = |kernel: &Kernel| kernel.scratch_bytes > 0 || kernel.spilled_vgprs > 0;
    kernels
        .iter()
        .filter(|(_, kernel)| spills(kernel))
        .map(|((_, name), _)| name.as_str())
        .collect()
}

/// The kernels that operations name by an enum: module, name and dtypes.
fn listed() -> Vec<(&'static str, &'static str, &'static [DType])> {
    let unary = Unary::ALL.iter().map(|op| ("unary", op.name(), op.dtypes()));
    let with_a_number = UnaryParam::ALL.iter().map(|op| ("unary", op.name(), op.dtypes()));
    let binary = Binary::ALL.iter().map(|op| ("binary", op.name(), op.dtypes()));
    let compare = Compare::ALL.iter().map(|op| ("binary", op.name(), op.dtypes()));
    let reduce = Reduce::ALL.iter().map(|op| ("reduce", op.name(), op.dtypes()));
    unary
        .chain(with_a_number)
        .chain(binary)
        .chain(compare)
        .chain(reduce)
        .collect()
}

fn promised() -> BTreeSet<(String, String)> {
    let mut names: BTreeSet<_> = listed()
        .into_iter()
        .flat_map(|(module, name, dtypes)| {
            let symbol = move |dtype: &DType| (module.to_owned(), format!("{name}_{}", dtype.suffix()));
            dtypes.iter().map(symbol)
        })
        .collect();
    let mut add = |module: &str, prefix: &str, ops: &[&str], dtypes: &[&str]| {
        for op in ops {
            names.extend(
                dtypes
                    .iter()
                    .map(|dtype| (module.to_owned(), format!("{prefix}{op}_{dtype}"))),
            );
        }
    };
    let elementwise = listed().into_iter().filter(|(module, ..)| *module != "reduce");
    for (module, name, _) in elementwise.filter(|(_, name, _)| *name != Unary::Copy.name()) {
        add(module, &format!("{name}_"), &["turned"], TURNED);
    }
    add("affine", "affine_", &["turned"], TURNED);
    for from in TURNED {
        let others: Vec<&str> = TURNED.iter().copied().filter(|to| to != from).collect();
        add("cast", "cast_turned_", &[from], &others);
    }
    add("ternary", "where_turned_", &["u8"], TURNED);
    for dtypes in [FLOATS, INTS] {
        add("affine", "", &["affine"], dtypes);
        add("fill", "", FILL, dtypes);
        for source in FLOATS.iter().chain(INTS) {
            add("cast", "cast_", &[source], dtypes);
        }
        add("conv", "", WINDOWS, dtypes);
        add("reduce", "", SUMS, dtypes);
        for (module, kind) in PARTS {
            add(module, kind, &["sum", "max", "min", "argmax", "argmin"], dtypes);
        }
        add(
            "sort",
            "asort_",
            &["asc", "desc", "merge_asc", "merge_desc"],
            dtypes,
        );
        add("ternary", "where_", INTS, dtypes);
        for op in INDEXING {
            add("indexing", &format!("{op}_"), INTS, dtypes);
        }
    }
    add("conv", "", CONV, &["bf16", "f16", "f32", "f64", "u8", "u32"]);
    add("reduce", "", NEURAL, &["bf16", "f16", "f32", "f64"]);
    add("indexing", "", &["ids_check"], INTS);
    add("random", "", &["rand_uniform", "rand_normal"], FLOATS);
    add("random", "", &["philox"], &["u32"]);
    add("gemm", "", &["gemm", "gemv"], &["bf16", "f16", "f32", "f64"]);
    add(
        "attention",
        "flash_attn_",
        &["32", "64", "128", "256"],
        &["bf16", "f16", "f32"],
    );
    add("scaled", "gemm_", &["f8_e4m3"], &["bf16", "f16", "f32"]);
    add("paged", "paged_attn_", &["128", "256"], &["bf16", "f16", "f32"]);
    add("paged", "", &["rope_append"], &["bf16", "f16", "f32"]);
    add("unfold", "", &["unfold"], &["bf16", "f16", "f32", "f64"]);
    add("moe", "", &["moe_gemm"], &["bf16", "f16", "f32"]);
    add("moe", "moe_gemm_", &["gguf"], &["bf16", "f16", "f32"]);
    add("moe", "moe_gemm_", &["gguf"], BLOCKS);
    add(
        "quantized",
        "dequantize_block_",
        &["q8_1", "f32", "f16", "bf16"],
        &["f32", "f16"],
    );
    let (small, super_blocks) = PRODUCTS.split_at(5);
    add("quantized", "dequantize_block_", small, &["bf16"]);
    add("quantized", "dequantize_block_", super_blocks, &["bf16_pair"]);
    add("quantized", "", &["twice"], &["bf16", "f16", "f32"]);
    add("quantized", "mul_mat_vec_", PRODUCTS, &["bf16", "f16", "f32"]);
    add("quantized", "get_", &["rows"], &["q8_1", "q8_K"]);
    add("quantized", "mmvq_gguf_", &["quantize_q8_1"], &["bf16", "f16"]);
    add("quantized", "mmvq_gguf_", GGML, &["bf16_plain", "f16_plain"]);
    let candles = INVENTORY
        .lines()
        .filter_map(|line| line.strip_prefix("quantized "));
    let name = |line: &str| line.split(' ').next().map(str::to_owned);
    names.extend(
        candles
            .filter_map(name)
            .map(|name| ("quantized".to_owned(), name)),
    );
    names
}

/// The lines of inventory.txt for the modules of [`MODULES`].
fn inventory() -> String {
    let ours = |line: &&str| {
        MODULES
            .iter()
            .any(|(module, _)| line.split(' ').next() == Some(module))
    };
    INVENTORY
        .lines()
        .filter(ours)
        .fold(String::new(), |text, line| text + line + "\n")
}

#[test]
fn the_inventory_holds_every_kernel_of_the_modules() {
    for (module, kernels) in MODULES {
        let of_module = |line: &&str| line.split(' ').next() == Some(module);
        assert_eq!(INVENTORY.lines().filter(of_module).count(), *kernels, "{module}");
    }
}

#[test]
fn the_readme_counts_the_kernels_of_candle() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let words: Vec<&str> = readme.split_whitespace().collect();
    let says = |count: usize| {
        words
            .join(" ")
            .contains(&format!("for each of the {count} that candle-kernels"))
    };
    let count = INVENTORY.lines().filter(|line| !line.starts_with('#')).count();
    assert!(says(count), "the README does not name {count} kernels");
    assert!(!says(count + 1));
}

#[test]
fn every_kernel_of_candle_is_there_with_the_same_arguments() {
    for (target, kernels) in compiled() {
        assert_eq!(
            differences(&inventory(), &kernels),
            Vec::<String>::new(),
            "{target}"
        );
    }
}

#[test]
fn a_missing_kernel_and_a_changed_argument_are_found() {
    for (target, kernels) in compiled() {
        let missing = "unary unothing_f32 u64 u64 *u64 *f32 *f32";
        assert_eq!(
            differences(missing, &kernels),
            ["unary: no unothing_f32"],
            "{target}"
        );
        let wrong = [
            "unary uelu_f32 u64 u64 *u64 *f32 *f32 f32", // the parameter last instead of first
            "unary uelu_f32 u64 u64 *u64 f64 *f32 *f32", // a wider parameter
            "unary uelu_f32 u64 u64 *u64 f32 *f32",      // an argument less
            "unary uelu_f32 u64 *u64 u64 f32 *f32 *f32", // a pointer for a number
            "affine affine_bf16 u64 u64 *u64 *bf16 *bf16 bf16 f32",
        ];
        for line in wrong {
            assert_eq!(differences(line, &kernels).len(), 1, "{target}: {line}");
        }
    }
}

#[test]
fn the_kernels_are_exactly_the_promised_ones_on_every_target() {
    let promised = promised();
    for (target, kernels) in compiled() {
        let names: BTreeSet<_> = kernels.into_keys().collect();
        assert_eq!(
            names.symmetric_difference(&promised).collect::<Vec<_>>(),
            Vec::<&(String, String)>::new(),
            "{target}"
        );
    }
}

#[test]
fn no_kernel_keeps_registers_in_memory() {
    for (target, kernels) in compiled() {
        assert_eq!(spilling(&kernels), Vec::<&str>::new(), "{target}");
    }
}

#[test]
fn a_kernel_that_keeps_registers_in_memory_is_found() {
    for mut kernels in compiled().into_values() {
        kernels
            .get_mut(&("unary".into(), "usin_f32".into()))
            .expect("usin_f32 is compiled")
            .scratch_bytes = 16;
        kernels
            .get_mut(&("unary".into(), "ucos_f32".into()))
            .expect("ucos_f32 is compiled")
            .spilled_vgprs = 1;
        assert_eq!(spilling(&kernels), ["ucos_f32", "usin_f32"]);
    }
}

#[test]
fn waves_have_32_lanes_on_rdna_and_64_on_cdna() {
    for (target, kernels) in compiled() {
        let sizes: BTreeSet<u64> = kernels.values().map(|kernel| kernel.wave_size).collect();
        let expected = if target.starts_with("gfx9") { 64 } else { 32 };
        assert_eq!(sizes, BTreeSet::from([expected]), "{target}");
    }
}

#[test]
fn code_objects_are_of_version_5() {
    for (target, module, elf) in compiled::code_objects() {
        let object = CodeObject::parse(elf).expect("a code object");
        let metadata = object.metadata().expect("a metadata note");
        assert_eq!(
            (object.version(), metadata.version),
            (5, [1, 2]),
            "{module} for {target}"
        );
    }
}
