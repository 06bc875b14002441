//! Whether the kernels of a mutant do something else than the right ones, although no result differs.
//!
//! A choice between two ways that compute the same shows in no result: packs of elements or single ones, one batch or another. It shows
//! in what a software GPU counts. Two things are told: whether any counter is another one, and whether the gate of costs (`ci/cost`)
//! would refuse what the kernels do. Neither is a verdict of a case, and neither is added to those that cases notice.
//!
//! The software GPU counts products of integers and sums apart. Here one counter holds both: a vector instruction in the place of another
//! vector instruction leaves the counters as they are.

use parity_bench::cost::{TOLERANCE, is_dearer};
use parity_exec::{Bench, Mutant};
use parity_model::record::KernelCost;

use super::{Lab, Witness};

/// Cases of which the launches are counted, for each mutant.
const COUNTED: usize = 24;
/// Counters of vector arithmetic besides `valu`.
const VECTOR: [&str; 3] = ["transcendental", "multiply", "double"];
/// What is not compared: a dropped instruction is a wait in its place.
const LEFT_OUT: [&str; 2] = ["wait", "matrix_cycles"];

/// How the counters of a mutant's launches differ from those of the right kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// In nothing.
    #[default]
    Same,
    /// In a counter, and the gate of costs refuses none.
    Other,
    /// The gate of costs refuses one.
    Dearer,
}

impl Cost {
    fn of(right: &[KernelCost], wrong: &[KernelCost]) -> Cost {
        let (right, wrong) = (alike(right), alike(wrong));
        if right == wrong {
            Cost::Same
        } else if is_dearer(&right, &wrong, TOLERANCE) {
            Cost::Dearer
        } else {
            Cost::Other
        }
    }
}

/// The counters, those of all vector arithmetic in one.
fn alike(kernels: &[KernelCost]) -> Vec<KernelCost> {
    let mut kernels = kernels.to_vec();
    for kernel in &mut kernels {
        let all = kernel.sum(&VECTOR) + kernel.counter("valu");
        kernel
            .counters
            .retain(|name, _| !VECTOR.contains(&name.as_str()) && !LEFT_OUT.contains(&name.as_str()));
        kernel.counters.insert("valu".to_owned(), all);
    }
    kernels
}

impl Lab<'_> {
    /// The most that differs in one of the cases; `None` when the trial is to stop.
    pub(super) fn cost<'b>(
        &'b self,
        bench: &mut Bench<'b>,
        mutant: &Mutant,
        shown: &[&Witness],
    ) -> Option<Cost> {
        let mut most = Cost::Same;
        for witness in shown.iter().take(COUNTED) {
            let mut count = |mutant| {
                let execution = bench.count(&witness.case, mutant, &self.supervision)?;
                Some(execution.counted)
            };
            let (right, wrong) = (count(None)?, count(Some(mutant))?);
            let cost = Cost::of(&right, &wrong);
            // What a case does may be another thing each time: a worker's first call, random numbers, an order of atomics.
            if cost > most && count(None)? == right {
                most = cost;
            }
            if most == Cost::Dearer {
                break;
            }
        }
        Some(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(counters: &[(&str, u64)]) -> KernelCost {
        KernelCost {
            kernel: "sum".to_owned(),
            launches: 1,
            counters: counters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            ..KernelCost::default()
        }
    }

    fn cost(wrong: &[(&str, u64)]) -> Cost {
        let right = [
            ("valu", 100),
            ("multiply", 2),
            ("salu", 50),
            ("lines", 9),
            ("wait", 5),
        ];
        let mut changed = kernel(&right);
        for (name, value) in wrong {
            changed.counters.insert((*name).to_owned(), *value);
        }
        Cost::of(&[kernel(&right)], &[changed])
    }

    #[test]
    fn one_vector_instruction_in_the_place_of_another_is_no_difference() {
        assert_eq!(cost(&[]), Cost::Same);
        assert_eq!(cost(&[("valu", 99), ("multiply", 3)]), Cost::Same);
        assert_eq!(cost(&[("wait", 50)]), Cost::Same);
        assert_eq!(cost(&[("valu", 99), ("multiply", 4)]), Cost::Other);
    }

    #[test]
    fn more_is_dearer_by_the_gate_s_measure_and_less_is_other() {
        assert_eq!(cost(&[("valu", 110)]), Cost::Dearer);
        assert_eq!(cost(&[("lines", 18)]), Cost::Dearer);
        assert_eq!(cost(&[("valu", 101)]), Cost::Other);
        assert_eq!(cost(&[("valu", 20), ("lines", 3)]), Cost::Other);
    }
}
