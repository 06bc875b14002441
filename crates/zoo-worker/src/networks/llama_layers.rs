//! The weights of llama's layers by their published names, for networks that compute them in a way of their own.

use candle_core::{Result, Tensor};
use candle_nn::ops;

use crate::context::Context;

/// The sizes of a network.
pub(super) struct Sizes {
    pub(super) vocabulary: usize,
    pub(super) hidden: usize,
    pub(super) inner: usize,
    /// Of a head.
    pub(super) width: usize,
    /// Heads of keys and values.
    pub(super) of_keys: usize,
    pub(super) layers: usize,
}

impl Sizes {
    pub(super) fn of(context: &Context) -> Result<Sizes> {
        let hidden = context.number("hidden_size")?;
        Ok(Sizes {
            vocabulary: context.number("vocab_size")?,
            hidden,
            inner: context.number("intermediate_size")?,
            width: hidden / context.number("num_attention_heads")?,
            of_keys: context.number("num_key_value_heads")?,
            layers: context.number("num_hidden_layers")?,
        })
    }

    /// The angles of all positions: (positions, half of a head's width).
    pub(super) fn turns(&self, positions: usize, theta: f64) -> Result<Tensor> {
        let half = self.width / 2;
        let turn = |at: usize, i: usize| at as f64 / theta.powf(2.0 * i as f64 / self.width as f64);
        let turns: Vec<f64> = (0..positions)
            .flat_map(|at| (0..half).map(move |i| turn(at, i)))
            .collect();
        Tensor::from_vec(turns, (positions, half), &candle_core::Device::Cpu)
    }
}

/// What the ranks of several devices have of a matrix.
#[derive(Clone, Copy)]
pub(super) enum Share {
    Rows,
    Columns,
}

/// The weights of one layer, or of a device's share of it.
pub(super) struct Layer {
    pub(super) norm: Tensor,
    pub(super) query: Tensor,
    pub(super) key: Tensor,
    pub(super) value: Tensor,
    pub(super) out: Tensor,
    norm_after: Tensor,
    gate: Tensor,
    up: Tensor,
    down: Tensor,
}

impl Layer {
    /// Layer `number`: `vector` finds a norm's weights by name, `matrix` a matrix of this shape, or the share of it.
    pub(super) fn load(
        number: usize,
        sizes: &Sizes,
        vector: impl Fn(&str) -> Result<Tensor>,
        matrix: impl Fn(&str, (usize, usize), Share) -> Result<Tensor>,
    ) -> Result<Layer> {
        let name = |part: &str| format!("model.layers.{number}.{part}.weight");
        let (hidden, inner, keys) = (sizes.hidden, sizes.inner, sizes.of_keys * sizes.width);
        Ok(Layer {
            norm: vector(&name("input_layernorm"))?,
            query: matrix(&name("self_attn.q_proj"), (hidden, hidden), Share::Rows)?,
            key: matrix(&name("self_attn.k_proj"), (keys, hidden), Share::Rows)?,
            value: matrix(&name("self_attn.v_proj"), (keys, hidden), Share::Rows)?,
            out: matrix(&name("self_attn.o_proj"), (hidden, hidden), Share::Columns)?,
            norm_after: vector(&name("post_attention_layernorm"))?,
            gate: matrix(&name("mlp.gate_proj"), (inner, hidden), Share::Rows)?,
            up: matrix(&name("mlp.up_proj"), (inner, hidden), Share::Rows)?,
            down: matrix(&name("mlp.down_proj"), (hidden, inner), Share::Columns)?,
        })
    }

    /// What the feed-forward layer, or the share of it, adds to `x`. `norm` is the norm of rows.
    pub(super) fn feed(
        &self,
        x: &Tensor,
        norm: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let normed = norm(x, &self.norm_after)?;
        let gated = (ops::silu(&linear(&normed, &self.gate)?)? * linear(&normed, &self.up)?)?;
        linear(&gated, &self.down)
    }
}

/// Rows times the transposed matrix.
pub(super) fn linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    x.broadcast_matmul(&weight.t()?)
}
