//! The record of counters. It holds nothing that differs between two runs of one build: no date, no duration.

use std::collections::BTreeMap;

use parity_model::{Case, record::BackendInfo};
use serde::{Deserialize, Serialize};

use crate::work::Work;

/// Version of the JSON layout; bumped when a reader of the old one would misread the new one.
pub const COST_VERSION: u32 = 1;

/// What the field `kind` of the record says, which tells it from a measurement of times.
pub const KIND: &str = "cost";

/// What the calls of some rows cost on some cards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostRun {
    /// [`KIND`].
    pub kind: String,
    /// [`COST_VERSION`].
    pub version: u32,
    /// `parity`'s own version.
    pub parity_version: String,
    /// candle-core's version.
    pub candle_version: String,
    /// Seed the inputs derive from.
    pub seed: u64,
    /// The software GPUs, in the order in which they were asked for.
    pub devices: Vec<BackendInfo>,
    /// The rows, in the order of their ids.
    pub rows: Vec<CostRow>,
}

/// One call on every card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostRow {
    /// The case's id.
    pub case: String,
    /// [`Work::elements`].
    pub elements: u64,
    /// [`Work::bytes`].
    pub bytes: u64,
    /// [`Work::flops`].
    pub flops: u64,
    /// What each card made of it.
    pub results: Vec<Counted>,
}

/// What a card made of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// What each kernel did, by name.
    Kernels(Vec<Kernel>),
    /// It did nothing, for this reason.
    Refused(String),
}

/// What the launches of one kernel with workgroups of one size did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its name.
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

impl Kernel {
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

impl CostRow {
    /// The row of a case.
    pub fn of(case: &Case, results: Vec<Counted>) -> CostRow {
        let Work {
            elements,
            bytes,
            flops,
        } = Work::of(case);
        CostRow {
            case: case.id().to_string(),
            elements,
            bytes,
            flops,
            results,
        }
    }

    /// The id without the values, and without the layouts where all are contiguous.
    pub fn label(&self) -> &str {
        crate::record::label(&self.case)
    }

    /// The kernels of device `column`, if it has any.
    pub fn kernels(&self, column: usize) -> Option<&[Kernel]> {
        match self.results.get(column)? {
            Counted::Kernels(kernels) => Some(kernels),
            Counted::Refused(_) => None,
        }
    }
}
