//! Small networks that learn: the loss of every step, and the weights at the end.

use candle_core::{Module as _, Result, Tensor, Var, bail};
use candle_nn::{AdamW, Linear, Optimizer, ParamsAdamW, SGD, loss, ops};

use super::Network;
use crate::context::{Context, Outputs};

pub(super) const NETWORKS: &[Network] = &[
    ("train_mlp", mlp),
    ("train_cnn", cnn),
    ("train_attention", attention),
];

/// Classes of the task.
const CLASSES: usize = 4;

/// Weights that learn, by name.
struct Learner<'a> {
    context: &'a Context,
    weights: Vec<(String, Var)>,
}

impl<'a> Learner<'a> {
    fn new(context: &'a Context) -> Learner<'a> {
        let weights = vec![];
        Learner { context, weights }
    }

    fn var(&mut self, name: &str, dims: &[usize]) -> Result<Tensor> {
        let context = self.context;
        let first = context
            .weights()
            .tensor(name, dims, context.dtype(), context.device())?;
        let var = Var::from_tensor(&first)?;
        let tensor = var.as_tensor().clone();
        self.weights.push((name.to_owned(), var));
        Ok(tensor)
    }

    fn linear(&mut self, name: &str, inner: usize, outer: usize) -> Result<Linear> {
        let weight = self.var(&format!("{name}.weight"), &[outer, inner])?;
        let bias = self.var(&format!("{name}.bias"), &[outer])?;
        Ok(Linear::new(weight, Some(bias)))
    }

    /// Learns the classes of one batch for the context's steps.
    fn learn(self, batch: usize, logits: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Outputs> {
        let context = self.context;
        let mut dims = vec![batch];
        dims.extend(context.dims());
        let inputs = context.floats_of("input", &dims)?;
        let below = u32::try_from(CLASSES).unwrap_or(1);
        let targets = context.weights().choices("targets", batch, below);
        let targets = Tensor::from_vec(targets, batch, context.device())?;
        let vars: Vec<Var> = self.weights.iter().map(|(_, var)| var.clone()).collect();
        let mut optimizer = Rule::new(context, vars)?;
        let mut outputs = vec![];
        for step in 0..context.steps() {
            let loss = loss::nll(&ops::log_softmax(&logits(&inputs)?, 1)?, &targets)?;
            optimizer.step(&loss)?;
            outputs.push((format!("loss {step}"), loss));
        }
        for (name, var) in &self.weights {
            outputs.push((name.clone(), var.as_tensor().clone()));
        }
        Ok(outputs)
    }
}

/// The optimizer that the configuration names.
enum Rule {
    Sgd(SGD),
    AdamW(AdamW),
}

impl Rule {
    fn new(context: &Context, vars: Vec<Var>) -> Result<Rule> {
        let lr = context.float("learning_rate")?;
        match context.word("optimizer")? {
            "sgd" => Ok(Rule::Sgd(SGD::new(vars, lr)?)),
            "adamw" => {
                let params = ParamsAdamW {
                    lr,
                    ..ParamsAdamW::default()
                };
                Ok(Rule::AdamW(AdamW::new(vars, params)?))
            }
            other => bail!("unknown optimizer `{other}`: expected sgd or adamw"),
        }
    }

    fn step(&mut self, loss: &Tensor) -> Result<()> {
        match self {
            Rule::Sgd(sgd) => sgd.backward_step(loss),
            Rule::AdamW(adamw) => adamw.backward_step(loss),
        }
    }
}

fn mlp(context: &Context) -> Result<Outputs> {
    let (width, inner) = (context.length(), context.number("hidden_size")?);
    let mut learner = Learner::new(context);
    let first = learner.linear("first", width, inner)?;
    let second = learner.linear("second", inner, inner)?;
    let last = learner.linear("last", inner, CLASSES)?;
    learner.learn(16, |x| {
        last.forward(&second.forward(&first.forward(x)?.relu()?)?.gelu()?)
    })
}

/// Two convolutions, a pool and a batch normalization by the batch's own statistics.
fn cnn(context: &Context) -> Result<Outputs> {
    let channels = context.number("channels")?;
    let [depth, height, width] = context.dims()[..] else {
        bail!("train_cnn needs an input of three dims: channels, height, width");
    };
    let mut learner = Learner::new(context);
    let first = learner.var("first.weight", &[channels, depth, 3, 3])?;
    let second = learner.var("second.weight", &[channels, channels, 3, 3])?;
    let scale = learner
        .var("norm.weight", &[channels])?
        .reshape((1, channels, 1, 1))?;
    let shift = learner
        .var("norm.bias", &[channels])?
        .reshape((1, channels, 1, 1))?;
    let last = learner.linear("last", channels * (height / 2) * (width / 2), CLASSES)?;
    learner.learn(4, |x| {
        let x = x.conv2d(&first, 1, 1, 1, 1)?;
        let mean = x.mean_keepdim((0, 2, 3))?;
        let x = x.broadcast_sub(&mean)?;
        let spread = (x.sqr()?.mean_keepdim((0, 2, 3))? + 1e-5)?.sqrt()?;
        let x = x
            .broadcast_div(&spread)?
            .broadcast_mul(&scale)?
            .broadcast_add(&shift)?;
        let x = x.relu()?.avg_pool2d(2)?.conv2d(&second, 1, 1, 1, 1)?.relu()?;
        last.forward(&x.flatten_from(1)?)
    })
}

fn attention(context: &Context) -> Result<Outputs> {
    let [length, width] = context.dims()[..] else {
        bail!("train_attention needs an input of two dims: length, width");
    };
    let mut learner = Learner::new(context);
    let query = learner.linear("query", width, width)?;
    let key = learner.linear("key", width, width)?;
    let value = learner.linear("value", width, width)?;
    let last = learner.linear("last", length * width, CLASSES)?;
    #[expect(clippy::cast_precision_loss, reason = "a small width")]
    let scale = 1.0 / (width as f64).sqrt();
    learner.learn(4, |x| {
        let scores = (query.forward(x)?.matmul(&key.forward(x)?.t()?)? * scale)?;
        let mixed = ops::softmax(&scores, candle_core::D::Minus1)?.matmul(&value.forward(x)?)?;
        last.forward(&(mixed + x)?.flatten_from(1)?)
    })
}
