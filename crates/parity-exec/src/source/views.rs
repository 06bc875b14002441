//! The source of views, caches and tensors that are made.

use parity_model::Case;
use parity_model::op::Copies;

use super::{rust_type, scalar};

/// The expression for an op whose result is a view, or is made of numbers.
pub(super) fn copies(op: Copies, case: &Case) -> String {
    let params = &case.params;
    let whole = |i: usize| params.get(i).copied().unwrap_or(0.0);
    let all = || params.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let like = "x0.dtype(), &device";
    match op {
        Copies::Permute | Copies::Reshape | Copies::BroadcastAs => format!("x0.{op}(vec![{}])?", all()),
        Copies::Index => {
            let before = ".., ".repeat(whole(0) as usize);
            format!(
                "candle_core::IndexOp::i(&x0, ({before}{}..{},))?",
                whole(1),
                whole(2)
            )
        }
        Copies::SliceAssign => {
            let lens = case.args.get(1).map_or(&[][..], |arg| &arg.shape);
            let ranges = params.iter().zip(lens);
            let ranges: Vec<_> = ranges
                .map(|(start, len)| format!("{start}..{}", start + *len as f64))
                .collect();
            format!("x0.slice_assign(&[{}], &x1)?", ranges.join(", "))
        }
        Copies::KvCache | Copies::RotatingKvCache => {
            let name = if op == Copies::KvCache {
                "KvCache"
            } else {
                "RotatingKvCache"
            };
            format!(
                "{{\n    let mut cache = candle_nn::kv_cache::{name}::new({}, {});\n    cache.append(&x0, &x0)?;\n    \
                 cache.append(&x1, &x1)?.0\n}}",
                whole(0),
                whole(1)
            )
        }
        Copies::Meshgrid => format!(
            "Tensor::meshgrid(&[&x0, &x1], {})?[{}].clone()",
            whole(0) == 1.0,
            whole(1)
        ),
        Copies::Full => format!(
            "Tensor::full({}, x0.shape(), &device)?",
            scalar(case.dtype, whole(0))
        ),
        Copies::Zeros | Copies::Ones => format!("Tensor::{op}(x0.shape(), {like})?"),
        Copies::Eye | Copies::Tril | Copies::Triu => format!("Tensor::{op}(x0.dim(0)?, {like})?"),
        Copies::Arange => {
            let numbers = [0, 1, 2].map(|i| scalar(case.dtype, whole(i)));
            format!("Tensor::arange_step({}, x0.device())?", numbers.join(", "))
        }
        Copies::OneHot => {
            let number = rust_type(case.dtype);
            format!(
                "{{\n    let numbers = x0.to_vec1::<{number}>()?;\n    \
                 candle_nn::encoding::one_hot(x1.clone(), {}, numbers[1], numbers[0])?\n}}",
                whole(0)
            )
        }
        _ => format!("x0.{op}({})?", all()),
    }
}
