//! What a run of models is stored as.

use parity_model::record::BackendInfo;
use serde::{Deserialize, Serialize};
use zoo_protocol::Dtype;

/// The version of the record's form.
pub const VERSION: u32 = 1;

/// A run of models on some devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`VERSION`].
    pub zoo_version: u32,
    /// The version of candle and candle-transformers.
    pub candle_version: String,
    /// What weights and inputs derive from.
    pub seed: u64,
    /// Wall time, seconds.
    pub seconds: f64,
    /// The devices that ran.
    pub backends: Vec<BackendInfo>,
    /// Results that a run which was cut off does not have.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: usize,
    /// One for each model, dtype and device, in the order of the specs.
    pub results: Vec<ModelResult>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What became of a model in one dtype on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelResult {
    /// The model's name.
    pub model: String,
    /// Its network.
    pub architecture: String,
    /// The format of its weights.
    pub dtype: Dtype,
    /// The device, as `--backend` names it.
    pub backend: String,
    /// How near to a GPU the results were computed.
    pub level: String,
    /// What was decided.
    pub verdict: ModelVerdict,
    /// Why, where that takes words.
    pub message: Option<String>,
    /// What the results were held against.
    pub reference: String,
    /// Results compared: the first call's, and each step's.
    pub outputs: usize,
    /// The result that used most of its limit.
    pub worst: Option<String>,
    /// The device's distance there, relative to the reference's largest element.
    pub error: Option<f64>,
    /// The largest distance of the CPU's own runs there.
    pub own: Option<f64>,
    /// The limit there.
    pub limit: Option<f64>,
    /// Whether the device's largest elements are where the reference's are.
    pub same_argmax: Option<bool>,
    /// How it continues a text that another program continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Texts>,
    /// How near another program is, whose calls of the network are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Other>,
    /// Ops that ran on the CPU, and how often.
    pub fallbacks: Vec<(String, u64)>,
    /// How many kernels and library functions computed it.
    pub kernels: usize,
    /// Elements of the weights.
    pub parameters: u64,
    /// Seconds that the device took.
    pub seconds: f64,
    /// Seconds that the CPU took for the same.
    pub cpu_seconds: f64,
}

/// How near the results of another program are, relative to the reference's largest element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Other {
    /// The program and its version.
    pub program: String,
    /// Its distance from the reference; none where it is infinite.
    pub error: Option<f64>,
    /// The limit there, which is the device's as well.
    pub limit: Option<f64>,
    /// Its distance from the device; none where it is infinite.
    pub device: Option<f64>,
}

/// How a text that another program continued goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texts {
    /// On the device.
    pub device: Continued,
    /// In the run that the device is held against.
    pub reference: Continued,
}

impl Texts {
    /// Whether the text goes on as it should, and what is to be said of that. `otherwise`: why candle's network has another text.
    pub(crate) fn judged(&self, limit: f64, otherwise: Option<&str>) -> (bool, Option<String>) {
        let device = self.device.refused("the device", limit);
        let words = device.or_else(|| self.reference.refused("the reference", limit));
        match otherwise {
            None => (words.is_none(), words),
            // What is known is of candle's network, and so of the reference: it excuses no device that parts alone.
            Some(why) if self.reference.first_other.is_some() => {
                (true, words.map(|words| format!("known: {why}: {words}")))
            }
            Some(why) => (
                false,
                Some(format!(
                    "the text goes on as it should, though the spec says: {why}"
                )),
            ),
        }
    }
}

/// How one run continues a text, beside another program's tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Continued {
    /// Tokens of the other program.
    pub tokens: usize,
    /// Those that the run finds likeliest as well.
    pub same: usize,
    /// The first of the others, counted from 1.
    pub first_other: Option<usize>,
    /// How far below the run's likeliest token the other program's one is, at most, relative to the largest logit.
    pub gap: f64,
}

impl Continued {
    /// Why this is not the other program's text, in words, where two roundings of at most `limit` do not explain it: each program's
    /// logits may be that far from the right ones, and both may move two tokens towards each other.
    pub(crate) fn refused(&self, whose: &str, limit: f64) -> Option<String> {
        let first = self.first_other.filter(|_| self.gap > 4.0 * limit)?;
        let (same, tokens, gap) = (self.same, self.tokens, self.gap);
        Some(format!(
            "{whose}: {same} of {tokens} tokens are the likeliest; token {first} is the first that is not, and one is {gap:.1e} of the largest \
             logit below the likeliest, above four times the limit of {limit:.1e}"
        ))
    }
}

/// The verdicts and their table, so that each meaning is written once.
macro_rules! verdicts {
    ($($variant:ident $word:literal $fails:literal: $meaning:literal,)*) => {
        /// What was decided about a model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum ModelVerdict {
            $(#[doc = $meaning] $variant,)*
        }

        impl ModelVerdict {
            /// Every verdict.
            pub const ALL: &[ModelVerdict] = &[$(ModelVerdict::$variant,)*];

            /// The word of tables.
            pub const fn word(self) -> &'static str {
                match self { $(ModelVerdict::$variant => $word,)* }
            }

            /// What it means.
            pub const fn meaning(self) -> &'static str {
                match self { $(ModelVerdict::$variant => $meaning,)* }
            }

            /// Whether it fails a run.
            pub const fn fails(self) -> bool {
                match self { $(ModelVerdict::$variant => $fails,)* }
            }
        }
    };
}

verdicts! {
    Agrees "agrees" false: "every result is inside its limit",
    Chaotic "chaotic" false: "the CPU's own runs part by more than half of the dtype's digits, so that a distance says nothing",
    CpuFails "cpu-fails" false: "candle's CPU cannot run it in this dtype, or gives no numbers: there is nothing to compare with",
    Known "known-failure" false: "a result is outside its limit as a finding says; the others are inside",
    TooFew "too-few-devices" false: "it takes several devices, and there are fewer: nothing ran",
    Lacks "lacks" true: "what the network needs is not in this program or in its files: nothing ran",
    Wrong "wrong" true: "a result is outside its limit, or has another shape, or is a NaN where the CPU has a number",
    Fallback "fallback" true: "the device did not compute all of it: an op ran on the CPU, or no kernel ran",
    Refused "refused" true: "the device refused what the CPU computed",
    Died "died" true: "the worker died",
    Timeout "timeout" true: "the worker's time was over",
}

impl Record {
    /// How many results fail the run.
    pub fn failing(&self) -> usize {
        self.results
            .iter()
            .filter(|result| result.verdict.fails())
            .count()
    }

    /// How many results have a verdict.
    pub fn count(&self, verdict: ModelVerdict) -> usize {
        self.results
            .iter()
            .filter(|result| result.verdict == verdict)
            .count()
    }
}
