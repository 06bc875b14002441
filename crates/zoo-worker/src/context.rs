//! What a network is built from: its job, its device, its weights and its inputs.

use std::path::Path;

use candle_core::{DType, Device, Result, Tensor, bail};
use candle_nn::VarBuilder;
use serde::de::DeserializeOwned;
use zoo_protocol::{Dtype, Job};

use crate::{calls::RecordedCall, weights::Weights};

/// The named results of a network.
pub(crate) type Outputs = Vec<(String, Tensor)>;

/// A job on a device.
pub(crate) struct Context {
    job: Job,
    dtype: DType,
    device: Device,
    weights: Weights,
    calls: Vec<RecordedCall>,
}

impl Context {
    pub(crate) fn new(job: Job, device: Device) -> Result<Context> {
        let dtype = match job.run {
            Dtype::F64 => DType::F64,
            Dtype::F32 => DType::F32,
            Dtype::F16 => DType::F16,
            Dtype::Bf16 => DType::BF16,
            other => bail!("no network computes in {other}"),
        };
        let absent = job.spec.absent.clone();
        let weights = Weights::new(job.seed, job.weights, job.nudge, job.fault.clone(), absent);
        let weights = match &job.file {
            Some(path) if !job.spec.is_gguf() && !job.spec.is_onnx() => weights.of_file(path)?,
            _ => weights,
        };
        let calls = match &job.calls {
            Some(path) => crate::calls::load(path, job.spec.steps + 1)?,
            None => vec![],
        };
        Ok(Context {
            job,
            dtype,
            device,
            weights,
            calls,
        })
    }

    pub(crate) fn architecture(&self) -> &str {
        &self.job.spec.architecture
    }

    pub(crate) fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The calls that another program made, on the CPU.
    pub(crate) fn calls(&self) -> &[RecordedCall] {
        &self.calls
    }

    /// The file of GGUF or ONNX that the weights come from.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.job.file.as_deref()
    }

    /// The format of quantized weights.
    pub(crate) fn storage(&self) -> Dtype {
        self.job.weights
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The devices that compute the network together; the first one is [`Context::device`].
    pub(crate) fn devices(&self) -> Result<Vec<Device>> {
        let others = (1..self.job.spec.devices).map(Device::new_rocm);
        [Ok(self.device.clone())].into_iter().chain(others).collect()
    }

    pub(crate) fn steps(&self) -> usize {
        self.job.spec.steps
    }

    pub(crate) fn vb(&self) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(self.weights.clone()), self.dtype, self.device.clone())
    }

    /// The network's configuration.
    pub(crate) fn config<C: DeserializeOwned>(&self) -> Result<C> {
        let fields = serde_json::Value::Object(self.job.spec.config.clone());
        serde_json::from_value(fields)
            .map_err(|why| candle_core::Error::msg(format!("the config of {}: {why}", self.job.spec.name)))
    }

    /// A whole number of the configuration.
    pub(crate) fn number(&self, field: &str) -> Result<usize> {
        let found = self
            .job
            .spec
            .config
            .get(field)
            .and_then(serde_json::Value::as_u64);
        match found.and_then(|number| usize::try_from(number).ok()) {
            Some(number) => Ok(number),
            None => bail!(
                "the config of {} needs a whole number `{field}`",
                self.job.spec.name
            ),
        }
    }

    /// A number of the configuration.
    pub(crate) fn float(&self, field: &str) -> Result<f64> {
        let found = self
            .job
            .spec
            .config
            .get(field)
            .and_then(serde_json::Value::as_f64);
        match found {
            Some(number) => Ok(number),
            None => bail!("the config of {} needs a number `{field}`", self.job.spec.name),
        }
    }

    /// Token ids, as a batch of one.
    pub(crate) fn ids(&self, name: &str, count: usize, vocabulary: usize) -> Result<Tensor> {
        let below = u32::try_from(vocabulary).unwrap_or(u32::MAX);
        let ids = self.weights.choices(name, count, below);
        Tensor::from_vec(ids, (1, count), &self.device)
    }

    /// The tokens of the first call and `steps` more, as a batch of one: those of the spec's text, or those of the seed.
    pub(crate) fn tokens(&self, steps: usize) -> Result<Tensor> {
        let count = self.length() + steps;
        match &self.job.spec.text {
            None => self.ids("tokens", count, self.number("vocab_size")?),
            Some(text) => {
                let ids: Vec<u32> = text
                    .prompt
                    .iter()
                    .chain(&text.continuation)
                    .copied()
                    .take(count)
                    .collect();
                Tensor::from_vec(ids, (1, count), &self.device)
            }
        }
    }

    /// A word of the configuration.
    pub(crate) fn word(&self, field: &str) -> Result<&str> {
        match self
            .job
            .spec
            .config
            .get(field)
            .and_then(serde_json::Value::as_str)
        {
            Some(word) => Ok(word),
            None => bail!("the config of {} needs a word `{field}`", self.job.spec.name),
        }
    }

    /// The shape of the first input, without the batch.
    pub(crate) fn dims(&self) -> &[usize] {
        &self.job.spec.input
    }

    /// How long the first input is.
    pub(crate) fn length(&self) -> usize {
        self.job.spec.input.first().copied().unwrap_or(1)
    }

    /// The first input of a network that is fed with numbers: a batch of one.
    pub(crate) fn floats(&self) -> Result<Tensor> {
        let mut dims = vec![1];
        dims.extend(&self.job.spec.input);
        self.floats_of("input", &dims)
    }

    /// An input of numbers between -1 and 1.
    pub(crate) fn floats_of(&self, name: &str, dims: &[usize]) -> Result<Tensor> {
        let values = self.weights.input(name, dims);
        Tensor::from_vec(values, dims, &Device::Cpu)?
            .to_dtype(self.dtype)?
            .to_device(&self.device)
    }

    /// Feeds a language model: the first tokens at once, then one at a time with what it has cached. The tokens are those of
    /// the spec's text or of the seed, not the model's own, so that a step depends on no choice.
    pub(crate) fn generate(
        &self,
        mut forward: impl FnMut(&Tensor, usize) -> Result<Tensor>,
    ) -> Result<Outputs> {
        let first = self.length();
        let ids = self.tokens(self.steps())?;
        let mut outputs = vec![(
            "prefill".to_owned(),
            forward(&ids.narrow(1, 0, first)?.contiguous()?, 0)?,
        )];
        for step in 0..self.steps() {
            let id = ids.narrow(1, first + step, 1)?.contiguous()?;
            outputs.push((format!("token {}", step + 1), forward(&id, first + step)?));
        }
        Ok(outputs)
    }

    /// The result of a network that is called once.
    pub(crate) fn once(&self, tensor: Tensor) -> Outputs {
        vec![("output".to_owned(), tensor)]
    }
}
