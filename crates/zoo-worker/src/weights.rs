//! Weights made of their names: every element follows from the tensor's name, its place and the seed, so that each device and
//! each process gets the same ones. Or those of a file, nudged and spoilt in the same way.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use candle_core::{DType, Device, Error, Result, Shape, Tensor};
use candle_nn::{Init, var_builder::SimpleBackend};
use half::{bf16, f16};
use zoo_protocol::{Dtype, WrongWeight};

use crate::files;

/// Makes tensors on request.
#[derive(Clone)]
pub(crate) struct Weights {
    seed: u64,
    /// The tensors of a file, in the place of made ones.
    file: Option<Arc<HashMap<String, Tensor>>>,
    /// The format that elements are rounded to.
    storage: Dtype,
    nudge: u32,
    wrong: Option<WrongWeight>,
    /// Parts of names that no tensor has.
    absent: Vec<String>,
    parameters: Arc<AtomicU64>,
}

impl Weights {
    pub(crate) fn new(
        seed: u64,
        storage: Dtype,
        nudge: u32,
        wrong: Option<WrongWeight>,
        absent: Vec<String>,
    ) -> Weights {
        Weights {
            seed,
            file: None,
            storage,
            nudge,
            wrong,
            absent,
            parameters: Arc::default(),
        }
    }

    /// The same with the tensors of a file.
    pub(crate) fn of_file(self, path: &Path) -> Result<Weights> {
        let tensors = files::load(path)?;
        Ok(Weights {
            file: Some(Arc::new(tensors)),
            ..self
        })
    }

    /// Elements made so far.
    pub(crate) fn parameters(&self) -> u64 {
        self.parameters.load(Ordering::Relaxed)
    }

    /// Notes that a network has so many weights more.
    pub(crate) fn count(&self, elements: usize) {
        self.parameters.fetch_add(elements as u64, Ordering::Relaxed);
    }

    /// The tensor of this name on a device.
    pub(crate) fn tensor(&self, name: &str, dims: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
        let values = match &self.file {
            None => self.values(name, dims, scale_of(name, dims)),
            Some(tensors) => self.changed(name, stored(tensors, name, dims)?),
        };
        self.count(values.len());
        Tensor::from_vec(values, dims, &Device::Cpu)?
            .to_dtype(dtype)?
            .to_device(device)
    }

    /// Numbers between -1 and 1 that a model is fed, as a tensor's weights are made.
    pub(crate) fn input(&self, name: &str, dims: &[usize]) -> Vec<f64> {
        self.values(
            name,
            dims,
            Scale {
                mean: 0.0,
                spread: 1.0,
            },
        )
    }

    /// Whole numbers from 0 to `below`.
    pub(crate) fn choices(&self, name: &str, count: usize, below: u32) -> Vec<u32> {
        let mut numbers = Numbers::new(self.seed, name);
        let choice = |_| u32::try_from(numbers.draw() % u64::from(below.max(1))).unwrap_or(0);
        (0..count).map(choice).collect()
    }

    fn values(&self, name: &str, dims: &[usize], scale: Scale) -> Vec<f64> {
        let count: usize = dims.iter().product();
        let mut numbers = Numbers::new(self.seed, name);
        let element = |_| scale.spread.mul_add(numbers.uniform(), scale.mean);
        self.changed(name, (0..count).map(element).collect())
    }

    /// A tensor's elements in the format that it is stored in, nudged and multiplied as the job says.
    pub(crate) fn changed(&self, name: &str, mut values: Vec<f64>) -> Vec<f64> {
        let mut nudges = Numbers::new(u64::from(self.nudge), name);
        let factor = self.factor(name);
        for value in &mut values {
            let stored = round(*value, self.storage);
            let nudged = match (self.nudge, nudges.draw() % 8) {
                (0, _) | (_, 2..) => stored,
                (_, 0) => beside(stored, self.storage, 1.0),
                (_, _) => beside(stored, self.storage, -1.0),
            };
            *value = nudged * factor;
        }
        values
    }

    /// What the tensor's elements are multiplied by: 1 where it is not the wrong one.
    pub(crate) fn factor(&self, name: &str) -> f64 {
        match &self.wrong {
            Some(wrong) if wrong.tensor == name => wrong.factor,
            _ => 1.0,
        }
    }
}

/// The elements of a file's tensor, of the shape that the network asks for.
fn stored(tensors: &HashMap<String, Tensor>, name: &str, dims: &[usize]) -> Result<Vec<f64>> {
    let Some(tensor) = tensors.get(name) else {
        let path = name.to_owned();
        return Err(Error::CannotFindTensor { path }.bt());
    };
    if tensor.dims() != dims {
        candle_core::bail!(
            "{name}: the file has the shape {:?}, the network asks for {dims:?}",
            tensor.dims()
        );
    }
    tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

impl SimpleBackend for Weights {
    fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        if !self.contains_tensor(name) {
            let path = name.to_owned();
            return Err(Error::CannotFindTensor { path }.bt());
        }
        self.tensor(name, shape.dims(), dtype, device)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        candle_core::bail!(
            "{name}: the network asks for a tensor without its shape, which names alone do not give"
        )
    }

    fn contains_tensor(&self, name: &str) -> bool {
        let is_absent = self.absent.iter().any(|part| name.contains(part.as_str()));
        !is_absent
            && self
                .file
                .as_ref()
                .is_none_or(|tensors| tensors.contains_key(name))
    }
}

/// What a tensor's elements are like.
#[derive(Clone, Copy)]
struct Scale {
    mean: f64,
    /// Elements are at most this far from the mean, all distances equally likely.
    spread: f64,
}

/// Weights under which activations neither vanish nor explode. Matrices and kernels have the variance 1 / fan-in; scales of
/// norms are near 1, biases near 0, running variances positive; embeddings are as large as their input is meant to be.
fn scale_of(name: &str, dims: &[usize]) -> Scale {
    let last = name.rsplit('.').next().unwrap_or(name);
    let is_bias = last.contains("bias") || last == "beta" || last == "running_mean";
    let near_one = Scale {
        mean: 1.0,
        spread: 0.1,
    };
    if last == "running_var" || last == "cluster_usage" {
        return Scale {
            mean: 1.0,
            spread: 0.5,
        };
    }
    if is_bias {
        return Scale {
            mean: 0.0,
            spread: 0.1,
        };
    }
    let long = dims.iter().filter(|dim| **dim > 1).count();
    if last == "weight_g" || (long <= 1 && (dims.len() <= 1 || last == "alpha")) {
        return near_one;
    }
    if name.contains("embed") || name.contains("wte") || name.contains("wpe") || name.contains("token_embd") {
        return Scale {
            mean: 0.0,
            spread: 1.0,
        };
    }
    let fan_in: usize = dims.iter().skip(1).product();
    #[expect(clippy::cast_precision_loss, reason = "dims of small models")]
    let spread = (3.0 / fan_in.max(1) as f64).sqrt();
    Scale { mean: 0.0, spread }
}

/// A value in the format that a tensor is stored in. Blocks are made of f32.
fn round(value: f64, storage: Dtype) -> f64 {
    match storage {
        Dtype::F64 => value,
        Dtype::F16 => f16::from_f64(value).to_f64(),
        Dtype::Bf16 => bf16::from_f64(value).to_f64(),
        _ => f64::from(single(value)),
    }
}

/// A value rounded to f32.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the point")]
pub(crate) fn single(value: f64) -> f32 {
    value as f32
}

/// The number one unit in the last place from a value of a format, away from zero for a positive `side`.
fn beside(value: f64, storage: Dtype, side: f64) -> f64 {
    let unit = 2.0 * storage.computes_in().roundoff();
    // A unit is relative to the power of two at or below the value.
    let power = value.abs().log2().floor().exp2();
    if value == 0.0 {
        value
    } else {
        round((side * unit * power).mul_add(value.signum(), value), storage)
    }
}

/// Numbers that follow from a seed and a name: SplitMix64, begun at FNV-1a of the name.
struct Numbers {
    state: u64,
}

impl Numbers {
    fn new(seed: u64, name: &str) -> Numbers {
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let begin = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Numbers {
            state: name.bytes().fold(begin, fold),
        }
    }

    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between -1 and 1.
    fn uniform(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let bits = (self.draw() >> 11) as f64;
        bits.mul_add(2.0 / 9_007_199_254_740_992.0, -1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(nudge: u32) -> Weights {
        Weights::new(7, Dtype::F32, nudge, None, vec!["missing".to_owned()])
    }

    fn values(of: &Weights, name: &str) -> Vec<f64> {
        let tensor = of.tensor(name, &[40, 30], DType::F64, &Device::Cpu).unwrap();
        tensor.flatten_all().unwrap().to_vec1().unwrap()
    }

    #[test]
    fn a_name_and_a_seed_give_the_same_tensor_and_another_name_another_one() {
        assert_eq!(values(&weights(0), "a.weight"), values(&weights(0), "a.weight"));
        assert_ne!(values(&weights(0), "a.weight"), values(&weights(0), "b.weight"));
    }

    #[test]
    fn a_nudge_moves_a_quarter_of_the_weights_by_one_unit() {
        let (plain, nudged) = (values(&weights(0), "a.weight"), values(&weights(1), "a.weight"));
        let moved = plain.iter().zip(&nudged).filter(|(a, b)| a != b).count();
        assert!((200..400).contains(&moved), "{moved} of 1200");
        assert!(
            plain
                .iter()
                .zip(&nudged)
                .all(|(a, b)| (a - b).abs() <= a.abs() * 1.2e-7)
        );
        assert_ne!(nudged, values(&weights(2), "a.weight"));
    }

    #[test]
    fn matrices_keep_the_variance_of_what_they_multiply() {
        let all = values(&weights(0), "a.weight");
        let variance = all.iter().map(|x| x * x).sum::<f64>() / 1200.0;
        assert!((variance * 30.0 - 1.0).abs() < 0.1, "{variance}");
    }

    #[test]
    fn an_absent_tensor_is_an_error() {
        let got = weights(0).get(
            Shape::from(2),
            "x.missing.weight",
            Init::Const(0.0),
            DType::F32,
            &Device::Cpu,
        );
        assert!(got.is_err());
    }
}
