//! The record of a run: everything a report is rendered from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Case, Metrics, Verdict};

/// Version of the JSON layout; bumped when a reader of the old one would misread the new one.
pub const RECORD_VERSION: u32 = 2;

/// One run: provenance and a line per case and backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`RECORD_VERSION`].
    pub version: u32,
    /// `parity`'s own version.
    pub parity_version: String,
    /// candle-core's version.
    pub candle_version: String,
    /// Commit of the working tree, where known; `-dirty` appended when it differs from the commit.
    pub commit: Option<String>,
    /// Start of the run, RFC 3339, UTC.
    pub started: String,
    /// Wall time, seconds.
    pub seconds: f64,
    /// Seed the inputs derive from.
    pub seed: u64,
    /// SHA-256, in hex, of every case of the specs with its limit, and of the known failures: runs with the same one went
    /// by the same rules.
    pub specs: String,
    /// The part of a plan that this run was; absent where it was all of it.
    pub shard: Option<Shard>,
    /// The backend whose values the others are blamed against when there is no oracle.
    pub reference: String,
    /// The backends that ran, reference first.
    pub backends: Vec<BackendInfo>,
    /// What `parity run --backend B --case ID` needs besides to repeat a case of this run, quoted for a shell:
    /// `--seed 7`, `--spec-dir dir`. Empty when the defaults were used.
    pub repro_args: Vec<String>,
    /// Cases planned, each to run once on every backend.
    pub planned: usize,
    /// Cases that were selected and left out, from the whole plan, because they are not among the recorded outputs that the
    /// run was compared with.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_recorded: usize,
    /// One per case, in plan order.
    pub cases: Vec<CaseRecord>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A part of a plan, run on its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which part, from 1.
    pub index: usize,
    /// Parts in all.
    pub of: usize,
    /// Cases of the whole plan.
    pub planned: usize,
    /// SHA-256 of the ids of the whole plan, in hex: shards of one plan have the same one.
    pub plan: String,
    /// The place of each of the shard's cases in the plan, in order, from 0.
    pub places: Vec<usize>,
}

/// The device of a backend's column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackendInfo {
    /// `cpu`, `cuda`, `rocm`, with a device where one was named, such as `rocm:gfx942`; [`RECORDED`] and a name for recorded
    /// outputs.
    pub backend: String,
    /// Device name, e.g. `software AMD GPU`.
    pub device: String,
    /// `host`, `hardware`, `isa` (code object executed by the software GPU) or `model` (host model of a library).
    pub level: String,
    /// The driver and its version, e.g. `rocm-soft 0.1.0`.
    pub driver: String,
    /// Instruction-set target, e.g. `gfx1100`; empty where it means nothing.
    pub target: String,
    /// Where the worker ran, as the command line named it, e.g. `ssh://gpu7`; absent where it ran on parity's own host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The name that `--backend` has for the device, e.g. `rocm:gfx942`, where the environment chose it and the column's own
    /// name would lead elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

/// What the name of a column of recorded outputs begins with: `golden:cuda-h200`.
pub const RECORDED: &str = "golden:";

impl BackendInfo {
    /// Whether the column holds recorded outputs, which no backend computes here.
    pub fn is_recorded(&self) -> bool {
        self.backend.starts_with(RECORDED)
    }

    /// The word for `--backend` that gives this column: the backend, its device, and the place where its worker ran. None gives recorded
    /// outputs: [`RunRecord::repro_args`] names them.
    pub fn option(&self) -> Option<String> {
        if self.is_recorded() {
            return None;
        }
        let device = self.selector.as_ref().unwrap_or(&self.backend);
        Some(match &self.host {
            None => device.clone(),
            Some(host) => format!("{device}={host}"),
        })
    }
}

/// What became of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// The case's id: its filter and its repro.
    pub id: String,
    /// Op family, e.g. `unary`.
    pub family: String,
    /// Op name, e.g. `exp`.
    pub op: String,
    /// Dtype of the (first) input.
    pub dtype: String,
    /// Layout of every argument, comma separated.
    pub layout: String,
    /// Value set.
    pub values: String,
    /// Where the limit comes from, e.g. `1 ULP: ocml exp 1 (LLVM libc conformance)`.
    pub limit: String,
    /// One per backend, in [`RunRecord::backends`]' order.
    pub results: Vec<CaseResult>,
}

impl CaseRecord {
    /// The record of a case, one result a backend; `limit` says where its limit comes from.
    pub fn of(case: &Case, limit: String, results: Vec<CaseResult>) -> CaseRecord {
        let layouts: Vec<_> = case.args.iter().map(|arg| arg.layout.to_string()).collect();
        CaseRecord {
            id: case.id().to_string(),
            family: case.op.family().name().to_owned(),
            op: case.op.name().to_owned(),
            dtype: case.dtype.name().to_owned(),
            layout: layouts.join(","),
            values: case.values.to_string(),
            limit,
            results,
        }
    }
}

/// One case on one backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The judgement.
    pub verdict: Verdict,
    /// Error against the oracle, when a value came back.
    pub vs_oracle: Option<Metrics>,
    /// Error against the reference backend, when both gave a value; absent for the reference itself.
    pub vs_reference: Option<Metrics>,
    /// Why, in one line, for anything but a pass: the backend's words, or the known failure's reason.
    pub note: Option<String>,
    /// Ops of the case that ran on the CPU because the device has no kernel for them; empty where it did all itself, and where
    /// no value came back, of which the CPU could have computed a part.
    pub fallbacks: Vec<String>,
    /// Whether a result that does not agree is the reference's too, told where [`CaseResult::vs_reference`] measures nothing: the
    /// same bits, or a refusal of the same class.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub as_reference: bool,
    /// What computed the result, each once: kernels by symbol and by how they found the elements (`uexp_f32:strided`),
    /// functions of libraries, what the runtime did itself (`hipMemcpyAsync`); ` (model)` follows what a model
    /// answered. Empty where the backend does not tell.
    #[serde(default)]
    pub served_by: Vec<String>,
    /// Time the case took on the backend, milliseconds, transfers included.
    pub millis: f64,
}

impl CaseResult {
    /// A verdict, and nothing else that is known.
    pub const fn of(verdict: Verdict) -> CaseResult {
        CaseResult {
            verdict,
            vs_oracle: None,
            vs_reference: None,
            note: None,
            fallbacks: vec![],
            as_reference: false,
            served_by: vec![],
            millis: 0.0,
        }
    }
}

/// What the launches of one kernel with workgroups of one size did on a software GPU. What a counter counts is written at
/// `gfx_emu::Counters`, by the same names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCost {
    /// The kernel's name.
    pub kernel: String,
    /// How often the call launched it.
    pub launches: u64,
    /// Work-items of a workgroup in x, y, z.
    pub block: [u32; 3],
    /// Lanes of a wave.
    pub lanes: u32,
    /// Vector registers of a wave, accumulation registers included.
    pub vgprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// LDS of a workgroup in bytes.
    pub lds: u32,
    /// Private memory of a work-item in bytes.
    pub scratch: u32,
    /// Waves that a SIMD can hold.
    pub occupancy: u32,
    /// What allows no more: `waves`, `vgprs`, `sgprs`, `lds` or `workgroups`.
    pub limit: String,
    /// The counters, summed over the launches.
    pub counters: BTreeMap<String, u64>,
}

impl KernelCost {
    /// A counter by its name; 0 of one that the record does not have.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// The sum of several counters.
    pub fn sum(&self, names: &[&str]) -> u64 {
        names.iter().map(|name| self.counter(name)).sum()
    }

    /// Vector requests to memory.
    pub fn requests(&self) -> u64 {
        self.sum(&["vmem_load", "vmem_store", "vmem_atomic"])
    }

    /// Instructions of the vector arithmetic, matrix instructions left out.
    pub fn vector(&self) -> u64 {
        self.sum(&["valu", "transcendental", "multiply", "double"])
    }
}
