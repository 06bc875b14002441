//! The functions of a backend, as candle cuts them: the methods of its storage and device traits, the fused ops of
//! candle-nn, and ggml's formats. Says for each op which of them it reaches, and where each side's definition is to be
//! looked for. The lines themselves come from the sources.

use parity_model::{
    Op,
    op::{Binary, Conv, Copies, Indexing, Matmul, Nn, Pool, Quantized, Reduce, Unary, Upsample},
};

use crate::sources::{Item, Line, Place, Sources};

/// A function of a backend.
pub(crate) struct BackendFunction<'a> {
    pub(crate) name: &'a str,
    /// candle's CUDA backend; none where it has no such function.
    pub(crate) cuda: Option<Line<'a>>,
    /// Ours.
    pub(crate) ours: Option<Line<'a>>,
}

/// A trait that backends implement.
struct Interface {
    heading: &'static str,
    name: &'static str,
    cuda: (&'static str, &'static str),
    ours: (&'static str, &'static str),
}

/// Paths of candle-core begin in its package.
const DECLARATIONS: &str = "src/backend.rs";
const INTERFACES: [Interface; 2] = [
    Interface {
        heading: "Storage",
        name: "BackendStorage",
        cuda: ("src/cuda_backend/mod.rs", "BackendStorage for CudaStorage"),
        ours: (
            "crates/candle-core/glue/rocm/storage.rs",
            "BackendStorage for RocmStorage",
        ),
    },
    Interface {
        heading: "Device",
        name: "BackendDevice",
        cuda: ("src/cuda_backend/device.rs", "BackendDevice for CudaDevice"),
        ours: (
            "crates/candle-core/glue/rocm/device.rs",
            "BackendDevice for RocmDevice",
        ),
    },
];

/// An op that candle hands to a device as a type of its own.
struct Custom {
    name: &'static str,
    /// The package, the file in it and the `impl` in that.
    cuda: (&'static str, &'static str, &'static str),
    /// What our table knows the type by.
    ours: &'static str,
}

const CUSTOM: &str = "crates/candle-core/glue/rocm/custom.rs";
#[rustfmt::skip] // One op a line.
const CUSTOMS: [Custom; 8] = [
    Custom { name: "sigmoid",          cuda: ("candle-nn", "src/ops.rs", "CustomOp1 for Sigmoid {"),              ours: "\"candle_nn::ops::Sigmoid\"" },
    Custom { name: "softmax_last_dim", cuda: ("candle-nn", "src/ops.rs", "CustomOp1 for SoftmaxLastDim {"),       ours: "\"candle_nn::ops::SoftmaxLastDim\"" },
    Custom { name: "rms_norm",         cuda: ("candle-nn", "src/ops.rs", "CustomOp2 for RmsNorm {"),              ours: "\"candle_nn::ops::RmsNorm\"" },
    Custom { name: "layer_norm",       cuda: ("candle-nn", "src/ops.rs", "CustomOp3 for LayerNorm {"),            ours: "\"candle_nn::ops::LayerNorm\"" },
    Custom { name: "rope",             cuda: ("candle-nn", "src/rotary_emb.rs", "CustomOp3 for RotaryEmb {"),     ours: "\"candle_nn::rotary_emb::RotaryEmb\"" },
    Custom { name: "rope_i",           cuda: ("candle-nn", "src/rotary_emb.rs", "CustomOp3 for RotaryEmbI {"),    ours: "\"candle_nn::rotary_emb::RotaryEmbI\"" },
    Custom { name: "rope_thd",         cuda: ("candle-nn", "src/rotary_emb.rs", "CustomOp3 for RotaryEmbThd {"),  ours: "\"candle_nn::rotary_emb::RotaryEmbThd\"" },
    Custom { name: "arg_sort",         cuda: ("candle-core", "src/sort.rs", "CustomOp1 for ArgSort {"),           ours: "\"candle_core::sort::ArgSort\"" },
];

const GGML: [&str; 8] = [
    "dequantize",
    "dequantize_f16",
    "fwd",
    "embedding",
    "indexed_moe_forward",
    "quantize",
    "quantize_imatrix",
    "data",
];

/// Functions under a heading.
pub(crate) struct Group<'a> {
    pub(crate) heading: &'static str,
    pub(crate) functions: Vec<BackendFunction<'a>>,
}

/// Every function, with the lines found in `sources`, which hold candle's of `version`.
pub(crate) fn groups<'a>(sources: &'a Sources, version: &str) -> Vec<Group<'a>> {
    let package = |name: &str, path: &str| format!("{name}-{version}/{path}");
    let find = |path: &str, inside: &str, item: Item<'_>| sources.find(&Place { path, inside, item });
    let mut groups = Vec::new();
    for interface in &INTERFACES {
        let methods = sources.methods(&package("candle-core", DECLARATIONS), interface.name);
        let function = |name| {
            let ((cuda, head), (ours, our_head)) = (interface.cuda, interface.ours);
            BackendFunction {
                name,
                cuda: find(&package("candle-core", cuda), head, Item::Fn(name)),
                ours: find(ours, our_head, Item::Fn(name)),
            }
        };
        groups.push(Group {
            heading: interface.heading,
            functions: methods.into_iter().map(function).collect(),
        });
    }
    let custom = |custom: &Custom| {
        let (name, file, head) = custom.cuda;
        BackendFunction {
            name: custom.name,
            cuda: find(&package(name, file), head, Item::Fn("cuda_fwd")),
            ours: find(CUSTOM, "", Item::Text(custom.ours)),
        }
    };
    groups.push(Group {
        heading: "Fused ops",
        functions: CUSTOMS.iter().map(custom).collect(),
    });
    let cuda = package("candle-core", "src/quantized/cuda.rs");
    let ours = "crates/candle-core/glue/quantized/rocm_storage.rs";
    let ggml = |name: &&'static str| BackendFunction {
        name,
        cuda: find(&cuda, "impl QCudaStorage {", Item::Fn(name)),
        ours: find(ours, "impl QRocmStorage {", Item::Fn(name)),
    };
    groups.push(Group {
        heading: "ggml's formats",
        functions: GGML.iter().map(ggml).collect(),
    });
    groups
}

/// The function that an op is; none for an op that candle makes of several on every backend.
pub(crate) fn reached(op: Op) -> Option<&'static str> {
    let name = match op {
        Op::Unary(Unary::Affine | Unary::DivNumber) => "affine",
        Op::Unary(Unary::Powf) => "powf",
        Op::Unary(Unary::Elu) => "elu",
        Op::Unary(Unary::Clamp | Unary::RoundTo) => return None,
        Op::Unary(
            Unary::EqNumber
            | Unary::NeNumber
            | Unary::LtNumber
            | Unary::LeNumber
            | Unary::GtNumber
            | Unary::GeNumber,
        ) => "cmp",
        Op::Unary(_) => "unary_impl",
        Op::Binary(Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge) => "cmp",
        Op::Binary(Binary::Pow) => return None,
        Op::Binary(_) => "binary_impl",
        Op::Broadcast(op) => return reached(op.into()),
        Op::Cast(_) => "to_dtype",
        Op::Where(_) => "where_cond",
        Op::Reduce(Reduce::CumSum | Reduce::Norm, _) => return None,
        Op::Reduce(..) => "reduce_op",
        Op::Indexing(Indexing::IndexSelect) => "index_select",
        Op::Indexing(Indexing::Gather) => "gather",
        Op::Indexing(Indexing::Scatter | Indexing::ScatterSet) => "scatter_set",
        Op::Indexing(Indexing::ScatterAdd | Indexing::ScatterAddSet) => "scatter_add_set",
        Op::Indexing(Indexing::IndexAdd) => "index_add",
        Op::Matmul(Matmul::Dot) => return None,
        Op::Matmul(_) => "matmul",
        Op::Conv(Conv::Conv1d) => "conv1d",
        Op::Conv(Conv::ConvTranspose1d) => "conv_transpose1d",
        Op::Conv(Conv::Conv2d) => "conv2d",
        Op::Conv(Conv::ConvTranspose2d) => "conv_transpose2d",
        Op::Pool(Pool::AvgPool2d) => "avg_pool2d",
        Op::Pool(Pool::MaxPool2d) => "max_pool2d",
        Op::Upsample(Upsample::Nearest1d) => "upsample_nearest1d",
        Op::Upsample(Upsample::Nearest2d) => "upsample_nearest2d",
        Op::Upsample(Upsample::Bilinear2d | Upsample::BilinearScale) => "upsample_bilinear2d",
        Op::Copies(Copies::Copy) => "copy_strided_src",
        Op::Copies(Copies::Fill | Copies::Ones | Copies::Full) => "const_set",
        Op::Copies(Copies::Zeros) => "zeros_impl",
        Op::Copies(Copies::Cat | Copies::SliceSet) => "copy2d",
        Op::Copies(_) => return None,
        Op::Sort(_) => "arg_sort",
        Op::Nn(
            Nn::Sigmoid
            | Nn::SoftmaxLastDim
            | Nn::RmsNorm
            | Nn::LayerNorm
            | Nn::Rope
            | Nn::RopeI
            | Nn::RopeThd,
        ) => op.name(),
        Op::Nn(_) | Op::Layers(_) | Op::Random(_) | Op::Grad(_) | Op::Own(_) => return None,
        Op::Quantized(Quantized::Dequantize(_)) => "dequantize",
        Op::Quantized(Quantized::DequantizeF16(_)) => "dequantize_f16",
        Op::Quantized(Quantized::Qmatmul(_)) => "fwd",
        Op::Quantized(Quantized::Embedding(_)) => "embedding",
        Op::Quantized(Quantized::IndexedMoe(_)) => "indexed_moe_forward",
        Op::Quantized(Quantized::Quantize(_)) => "quantize",
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fused_or_quantized_op_is_a_function_of_the_tables() {
        let listed: Vec<_> = CUSTOMS.iter().map(|custom| custom.name).chain(GGML).collect();
        for op in Op::ALL {
            let a_method = !matches!(op, Op::Nn(_) | Op::Quantized(_) | Op::Sort(_));
            if let Some(name) = reached(*op).filter(|_| !a_method) {
                assert!(listed.contains(&name), "{op} is {name}");
            }
        }
    }
}
