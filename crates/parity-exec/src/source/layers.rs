//! The source of layers, losses, gradients and random numbers.

use parity_model::op::{Differentiable, Grad, GradOnly, Layers, Random};
use parity_model::{Case, DType, Op};

use super::rust_type;

/// The expression for a layer of candle-nn's on `x0`, `x1` and so on.
pub(super) fn layers(op: Layers, dtype: DType, params: &[f64]) -> String {
    let param = |i: usize| params.get(i).copied().unwrap_or(0.0);
    let module = |built: &str| format!("candle_core::Module::forward(&{built}, &x0)?");
    let config = |of: &str| {
        format!(
            "candle_nn::{of}Config {{ padding: {}, stride: {}, dilation: {}, groups: {}, ..Default::default() }}",
            param(0),
            param(1),
            param(2),
            param(3)
        )
    };
    let conv = |of: &str| {
        module(&format!(
            "candle_nn::{of}::new(x1.clone(), Some(x2.clone()), {})",
            config(of)
        ))
    };
    let transposed = |of: &str, fields: &[&str]| {
        let fields: Vec<_> = fields
            .iter()
            .zip(params)
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        module(&format!(
            "candle_nn::{of}::new(x1.clone(), Some(x2.clone()), candle_nn::{of}Config {{ {} }})",
            fields.join(", ")
        ))
    };
    match op {
        Layers::Linear => module("candle_nn::Linear::new(x1.clone(), Some(x2.clone()))"),
        Layers::Conv1dBias => conv("Conv1d"),
        Layers::Conv2dBias => conv("Conv2d"),
        Layers::ConvTranspose1dBias => transposed(
            "ConvTranspose1d",
            ["padding", "output_padding", "stride", "dilation", "groups"].as_slice(),
        ),
        Layers::ConvTranspose2dBias => transposed(
            "ConvTranspose2d",
            &["padding", "output_padding", "stride", "dilation"],
        ),
        Layers::RmsNormLayer => module(&format!("candle_nn::RmsNorm::new(x1.clone(), {:?})", param(0))),
        Layers::LayerNormLayer => module(&format!(
            "candle_nn::LayerNorm::new(x1.clone(), x2.clone(), {:?})",
            param(0)
        )),
        Layers::RopeISlow => "candle_nn::rotary_emb::rope_i_slow(&x0, &x1, &x2)?".to_owned(),
        Layers::FlashAttention => format!(
            "candle_nn::attention::flash_attn::<{}>(&x0, &x1, &x2, 1.0 / (x0.dim(3)? as f32).sqrt(), \
             candle_nn::attention::AttnMask::{}, None, None)?",
            rust_type(dtype),
            if param(0) == 1.0 { "causal()" } else { "None" }
        ),
        Layers::Sdpa => format!(
            "candle_nn::ops::sdpa(&x0, &x1, &x2, None, {}, 1.0 / (x0.dim(3)? as f32).sqrt(), 1.0)?",
            param(0) == 1.0
        ),
        Layers::Embedding => {
            "candle_core::Module::forward(&candle_nn::Embedding::new(x0.clone(), x0.dim(1)?), &x1)?"
                .to_owned()
        }
        Layers::RmsNormSlow => format!("candle_nn::ops::{op}(&x0, &x1, {:?})?", param(0)),
        Layers::LayerNormSlow => format!("candle_nn::ops::{op}(&x0, &x1, &x2, {:?})?", param(0)),
        Layers::GroupNorm => module(&format!(
            "candle_nn::GroupNorm::new(x1.clone(), x2.clone(), x1.dim(0)?, {}, {:?})?",
            param(0),
            param(1)
        )),
        Layers::BatchNormEval => format!(
            "candle_core::ModuleT::forward_t(&candle_nn::BatchNorm::new(x1.dim(0)?, x1.clone(), x2.clone(), x3.clone(), \
             x4.clone(), {:?})?, &x0, false)?",
            param(0)
        ),
        Layers::BatchNormTrain => format!(
            "candle_nn::BatchNorm::new(x1.dim(0)?, x1.clone(), x1.clone(), x1.clone(), x2.clone(), \
             {:?})?.forward_train(&x0)?",
            param(0)
        ),
        Layers::RopeSlow => "candle_nn::rotary_emb::rope_slow(&x0, &x1, &x2)?".to_owned(),
        Layers::Attention => attention(param(0) == 1.0),
        Layers::Nll | Layers::CrossEntropy | Layers::Mse => format!("candle_nn::loss::{op}(&x0, &x1)?"),
        Layers::Huber => format!("candle_nn::loss::huber(&x0, &x1, {:?})?", param(0)),
        Layers::BceWithLogit => "candle_nn::loss::binary_cross_entropy_with_logit(&x0, &x1)?".to_owned(),
        Layers::PRelu => module("candle_nn::PReLU::new(x1.clone(), false)"),
        Layers::LstmStep => cell(
            "LSTM",
            ["x3", "x4", "x5", "x6"],
            "candle_nn::rnn::LSTMState::new(x1.clone(), x2.clone())",
        ),
        Layers::GruStep => cell(
            "GRU",
            ["x2", "x3", "x4", "x5"],
            "candle_nn::rnn::GRUState { h: x1.clone() }",
        ),
    }
}

fn attention(causal: bool) -> String {
    let mask = if causal {
        "    let t = x0.dim(2)?;\n    let hidden = |i: usize| if i % t > i / t { f32::NEG_INFINITY } else { 0.0 };\n    \
         let mask: Vec<f32> = (0..t * t).map(hidden).collect();\n    \
         let mask = Tensor::from_vec(mask, (t, t), &device)?.to_dtype(x0.dtype())?;\n    \
         let scores = scores.broadcast_add(&mask)?;\n"
    } else {
        ""
    };
    format!(
        "{{\n    let scale = 1.0 / (x0.dim(3)? as f64).sqrt();\n    \
         let scores = (x0.matmul(&x1.transpose(2, 3)?)? * scale)?;\n{mask}    \
         candle_nn::ops::softmax(&scores, 3)?.matmul(&x2)?\n}}"
    )
}

/// One step of a recurrent cell with `weights` from `state`.
fn cell(name: &str, weights: [&str; 4], state: &str) -> String {
    let names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"];
    let named = names.iter().zip(weights);
    let named: Vec<String> = named
        .map(|(name, tensor)| format!("(\"{name}\".to_owned(), {tensor}.clone())"))
        .collect();
    format!(
        "{{\n    let weights = std::collections::HashMap::from([{}]);\n    \
         let weights = candle_nn::VarBuilder::from_tensors(weights, x0.dtype(), &device);\n    \
         let cell = candle_nn::{name}::new(x0.dim(1)?, x1.dim(1)?, Default::default(), weights)?;\n    \
         candle_nn::RNN::step(&cell, &x0, &{state})?.h\n}}",
        named.join(", ")
    )
}

/// The expression for a gradient. The argument becomes a variable as it is: what lies under its view does not.
pub(super) fn grad(op: Grad, case: &Case) -> String {
    // The shape rules have seen that the parameters name an argument.
    let (params, by) = op.split(&case.params).unwrap_or((&[], 0));
    let whole = |i: usize| params.get(i).copied().unwrap_or(0.0);
    let y = match op.of() {
        Differentiable::Op(function) => super::call(&Case {
            op: function,
            params: params.to_vec(),
            args: case.args[..case.args.len() - 1].to_vec(),
            ..case.clone()
        }),
        Differentiable::GradOnly(GradOnly::Permute) => {
            "x0.permute((0..x0.rank()).rev().collect::<Vec<_>>())?".to_owned()
        }
        Differentiable::GradOnly(GradOnly::Flatten) => "x0.flatten_all()?".to_owned(),
        Differentiable::GradOnly(GradOnly::Expand) => format!("x0.broadcast_left({})?", whole(0)),
    };
    let weight = case.args.len() - 1;
    let y = y.replace('\n', "\n    ");
    let missing = Op::Grad(op).name();
    format!(
        "{{\n    let by = candle_core::Var::from_tensor(&x{by})?;\n    let x{by} = by.as_tensor().clone();\n    \
         let y = {y};\n    let grads = y.mul(&x{weight})?.sum_all()?.backward()?;\n    \
         grads.get(&by).cloned().ok_or(candle_core::Error::BackwardNotSupported {{ op: \"{missing}\" }})?\n}}"
    )
}

/// The expression for two draws, one after the other along a new first dimension.
pub(super) fn random(op: Random, params: &[f64]) -> String {
    let param = |i: usize| params.get(i).copied().unwrap_or(0.0);
    let method = match op {
        Random::Uniform | Random::UniformSeeded => "rand_like",
        Random::Normal | Random::NormalSeeded => "randn_like",
    };
    let draw = format!("x0.{method}({:?}, {:?})?", param(0), param(1));
    match op {
        Random::Uniform | Random::Normal => format!("Tensor::stack(&[{draw}, {draw}], 0)?"),
        Random::UniformSeeded | Random::NormalSeeded => {
            let seed = format!("device.set_seed({})?;", param(2));
            format!(
                "{{\n    {seed}\n    let first = {draw};\n    {seed}\n    Tensor::stack(&[first, {draw}], 0)?\n}}"
            )
        }
    }
}
