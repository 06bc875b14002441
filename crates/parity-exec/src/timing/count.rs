//! What the launches of a call do on a software GPU. What a counter means is gfx-emu's to say.

use candle_core::rocm_backend::{environment, trial};
use parity_model::{Case, record::KernelCost};

use super::inputs;
use crate::{backend::CandleRunner, worker::Runner as _};

/// What each kernel does that a call of the case launches.
///
/// # Errors
/// The call's error, or that nothing here counts.
pub(super) fn kernels(runner: &CandleRunner, case: &Case, seed: u64) -> Result<Vec<KernelCost>, String> {
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
    Ok(trial::take_counted().into_iter().map(cost).collect())
}

/// The level of a software GPU's results.
fn counting_level() -> String {
    candle_core::rocm_backend::trace::Level::Isa.to_string()
}

/// What the launches of one kernel did, as records have it.
pub(crate) fn cost(counted: trial::Counted) -> KernelCost {
    let trial::Counted {
        kernel,
        block,
        resources,
        launches,
        counters,
    } = counted;
    KernelCost {
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
