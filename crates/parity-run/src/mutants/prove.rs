//! Which mutants no launch shows, as far as that can be proven without running them.

use std::collections::BTreeMap;

use gfx_emu::{CodeObject, Prover};
use rayon::prelude::*;

use super::{Fate, Objects, sample::Candidate};
use crate::error::Error;

/// Notes at each candidate why no launch can show it, where there is a proof.
///
/// # Errors
/// A code object that ran cannot be read.
pub(super) fn mark(drawn: &mut [Candidate], loaded: &Objects) -> Result<(), Error> {
    let mut by_object: BTreeMap<String, BTreeMap<String, Vec<&mut Candidate>>> = BTreeMap::new();
    for candidate in drawn {
        let (id, kernel) = candidate.key.clone();
        let of_kernel = by_object.entry(id).or_default().entry(kernel).or_default();
        of_kernel.push(candidate);
    }
    let broken = |what: String| Error::Internal(format!("a code object that ran cannot be read: {what}"));
    for (id, by_kernel) in by_object {
        let file = loaded.get(&id).ok_or_else(|| broken(id))?;
        let code = CodeObject::load(file).map_err(|error| broken(error.to_string()))?;
        let kernels: Vec<(String, Vec<&mut Candidate>)> = by_kernel.into_iter().collect();
        kernels
            .into_par_iter()
            .try_for_each(|(name, candidates)| -> Result<(), Error> {
                let kernel = code.kernel(&name).ok_or_else(|| broken(name))?;
                let prover = Prover::new(&code, kernel).map_err(|error| broken(error.to_string()))?;
                for candidate in candidates {
                    let within = || {
                        let sizes = parity_exec::has_sizes(&kernel.name);
                        sizes
                            .then(|| prover.equivalent_within(&candidate.mutation))
                            .flatten()
                    };
                    candidate.proof = prover.equivalent(&candidate.mutation).or_else(within);
                }
                Ok(())
            })?;
    }
    Ok(())
}

/// The mutants that a case noticed although there is a proof that none can, as an error.
pub(super) fn disproof(drawn: &[Candidate], fates: &[Fate]) -> Option<Error> {
    let noticed = |fate: &Fate| matches!(fate, Fate::Killed { .. } | Fate::Survived { .. });
    let wrong = drawn.iter().zip(fates).filter(|(_, fate)| noticed(fate));
    let told = wrong.filter_map(|(candidate, fate)| {
        let proof = candidate.proof?.text();
        let (kernel, mutation) = (&candidate.key.1, &candidate.mutation);
        Some(format!(
            "{} {kernel} {:#06x}: {} -> {}: {fate:?}, but: {proof}",
            candidate.target, mutation.pc, mutation.before, mutation.after
        ))
    });
    let told: Vec<String> = told.collect();
    let proven = drawn.iter().filter(|candidate| candidate.proof.is_some());
    (!told.is_empty()).then(|| {
        Error::Internal(format!(
            "{} of {} proofs are wrong\n{}",
            told.len(),
            proven.count(),
            told.join("\n")
        ))
    })
}
