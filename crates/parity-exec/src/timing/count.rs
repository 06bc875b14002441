//! What the launches of a call do on a software GPU. What a counter means is gfx-emu's to say.

use std::collections::BTreeMap;

use candle_core::rocm_backend::{environment, trial};
use parity_model::Case;
use serde::{Deserialize, Serialize};

use super::inputs;
use crate::{backend::CandleRunner, worker::Runner as _};

/// What the launches of one kernel with workgroups of one size did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCount {
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
    /// What allows no more, as `gfx_emu::Limit` names it.
    pub limit: String,
    /// The counters by the names that `gfx_emu::Counters` gives them, summed over the launches.
    pub counters: BTreeMap<String, u64>,
}

/// What each kernel does that a call of the case launches.
///
/// # Errors
/// The call's error, or that nothing here counts.
pub(super) fn kernels(runner: &CandleRunner, case: &Case, seed: u64) -> Result<Vec<KernelCount>, String> {
    let words = |error: candle_core::Error| CandleRunner::words(&error);
    let info = runner.info();
    if info.level != counting_level() {
        return Err(format!(
            "{} is {}, which counts nothing",
            info.backend, info.device
        ));
    }
    if environment::SANITIZE
        .get()
        .is_ok_and(|switch| *switch == environment::Switch::On)
    {
        let name = environment::names::SANITIZE;
        return Err(format!("nothing is counted under the sanitizer: unset {name}"));
    }
    let call = inputs::call(case, runner.device(), seed)?;
    // The first call loads kernels, and leaves what later calls find there.
    drop(call().map_err(words)?);
    // What a call that failed left behind is not this one's.
    drop(trial::take_counted());
    trial::count(true);
    let result = call().and_then(|result| runner.device().synchronize().map(|()| result));
    trial::count(false);
    drop(result.map_err(words)?);
    Ok(trial::take_counted().into_iter().map(count).collect())
}

/// The level of a software GPU's results.
fn counting_level() -> String {
    candle_core::rocm_backend::trace::Level::Isa.to_string()
}

fn count(counted: trial::Counted) -> KernelCount {
    let trial::Counted {
        kernel,
        block,
        resources,
        launches,
        counters,
    } = counted;
    KernelCount {
        kernel,
        launches,
        block,
        lanes: resources.lanes,
        vgprs: resources.vgprs,
        sgprs: resources.sgprs,
        lds: resources.lds,
        scratch: resources.scratch,
        occupancy: resources.occupancy,
        limit: resources.limit.name().to_owned(),
        counters: counters
            .values()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    }
}
