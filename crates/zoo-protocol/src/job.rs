//! A model to compute once, and what became of it.

use std::path::PathBuf;

use parity_model::record::BackendInfo;
use serde::{Deserialize, Serialize};

use crate::{Dtype, ModelSpec};

/// All that one worker is asked. It computes the jobs in their order on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The device, as `--backend` names it.
    pub device: String,
    /// The jobs.
    pub jobs: Vec<Job>,
}

/// A model to compute once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The model.
    pub spec: ModelSpec,
    /// What weights and inputs are derived from, beside their names.
    pub seed: u64,
    /// The format that weights and inputs are rounded to.
    pub weights: Dtype,
    /// The float format that the model computes in.
    pub run: Dtype,
    /// 0 for the weights themselves. With another number a quarter of them, chosen by that number, are one unit in the last
    /// place larger or smaller.
    pub nudge: u32,
    /// A wrong tensor, for a negative control.
    pub fault: Option<WrongWeight>,
    /// Whether every op is compared with the CPU's on the same inputs.
    pub watch: bool,
    /// The whole path of the spec's file of weights, where it has one.
    pub file: Option<PathBuf>,
    /// The whole path of the spec's file of calls, where it has one.
    pub calls: Option<PathBuf>,
}

/// A tensor of weights that are all multiplied by a factor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrongWeight {
    /// The tensor's whole name.
    pub tensor: String,
    /// The factor.
    pub factor: f64,
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The device is open. The first reply, once.
    Ready(BackendInfo),
    /// The device cannot be opened; nothing follows.
    Unavailable(String),
    /// The model ran.
    Done(Box<Answer>),
    /// The model, or candle, refused: its words.
    Failed(String),
    /// The model takes more GPUs than there are, in words. Nothing ran.
    TooFew(String),
    /// What the model needs and the worker does not have, in words. Nothing ran.
    Lacks(String),
}

/// What a model gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The results, in the order they were computed.
    pub outputs: Vec<Output>,
    /// What another program has in the place of each of them, where the spec names calls of one.
    pub others: Vec<Output>,
    /// Ops that ran on the CPU though the device was another, and how often.
    pub fallbacks: Vec<(String, u64)>,
    /// Kernels and library functions that the device executed, by name, where it tells.
    pub kernels: Vec<String>,
    /// Weights that the model asked for, in elements.
    pub parameters: u64,
    /// Seconds for building the model and running it.
    pub seconds: f64,
    /// The ops in their order, where they were watched.
    pub ops: Vec<Watched>,
}

/// One result of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Which one: `prefill`, `token 1`, `loss 3`.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its elements in order, exact.
    pub values: Vec<f64>,
    /// Whether they are whole numbers that stand for choices, such as codes or tokens.
    pub is_choice: bool,
}

/// An op that was watched: how far the device's result is from one in f64, and how far the CPU's is, for equal inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// The op's name, as candle's.
    pub op: String,
    /// Which of its forms: the dtype that a cast makes, the format of quantized weights. Empty for others.
    pub form: String,
    /// Its parameters in the order of candle's arguments, where they are told.
    pub params: Vec<f64>,
    /// The shapes of its inputs, as layouts walk them.
    pub inputs: Vec<Vec<usize>>,
    /// Their strides, in elements.
    pub strides: Vec<Vec<usize>>,
    /// The places of their first elements.
    pub offsets: Vec<usize>,
    /// The dtypes of its inputs.
    pub dtypes: Vec<String>,
    /// Elements of the result.
    pub elements: usize,
    /// The largest distance of an element of the device's result from the f64 one. Infinite where one is a number and the
    /// other is not.
    pub device: f64,
    /// The same for the CPU's result in the op's own dtype.
    pub cpu: f64,
    /// The magnitude that roundings are relative to: the largest sum of absolute terms where the op is a sum, else the largest
    /// element of the result.
    pub scale: f64,
    /// The largest distance of the device's result from that of a model computed in f64 throughout; none where it is lost.
    pub drift: Option<f64>,
    /// The largest element of that result.
    pub magnitude: f64,
    /// FNV-1a of the result's elements, in hex.
    pub digest: String,
    /// Why nothing was compared, where nothing was.
    pub skipped: Option<String>,
}
