//! The record of counters. It holds nothing that differs between two runs of one build: no date, no duration.

use parity_model::{
    Case,
    record::{BackendInfo, KernelCost},
};
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
    Kernels(Vec<KernelCost>),
    /// It did nothing, for this reason.
    Refused(String),
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
    pub fn kernels(&self, column: usize) -> Option<&[KernelCost]> {
        match self.results.get(column)? {
            Counted::Kernels(kernels) => Some(kernels),
            Counted::Refused(_) => None,
        }
    }
}
