//! Faults that no case of an op can notice, each with the reason. An entry that a case does notice is stale.

use parity_model::Op;

/// One entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The op's name.
    pub op: &'static str,
    /// The perturbation's name.
    pub perturbation: &'static str,
    /// Why a pass is right.
    pub reason: &'static str,
}

impl Declared {
    /// Whether the entry is about this pair.
    pub fn is(&self, op: Op, perturbation: &str) -> bool {
        self.op == op.name() && self.perturbation == perturbation
    }
}

const SAME_NUMBERS: &str =
    "equal elements in another order are the same numbers; zeros of both signs are equal";

/// Of an op that draws random numbers: what is wrong with them is right for another call.
const fn of_sample(op: &'static str, perturbation: &'static str, reason: &'static str) -> Declared {
    Declared {
        op,
        perturbation,
        reason,
    }
}

const ANOTHER_CALL: &str = "numbers of another call are a sample of the distribution, as right as these";
const ANOTHER_ORDER: &str =
    "independent numbers in another order are a sample of the distribution, as right as these";
const ONE_NUMBER: &str =
    "one number of thousands that is a step off its place does not show another distribution";
const NEAR_ZERO: &str = "numbers so near zero are too few for their loss to be told from chance";

/// The entries.
pub const DECLARED: &[Declared] = &[
    Declared {
        op: "sort_desc",
        perturbation: "unstable-sort",
        reason: SAME_NUMBERS,
    },
    Declared {
        op: "log_softmax",
        perturbation: "subnormals-flushed",
        reason: "a logarithm so near zero is that of a sum near 1, whose roundoff is larger than any subnormal",
    },
    of_sample("rand_uniform", "stale", ANOTHER_CALL),
    of_sample("rand_uniform", "wave-tail-stale", ANOTHER_CALL),
    of_sample("rand_uniform", "group-tail-stale", ANOTHER_CALL),
    of_sample("rand_uniform", "neighbour", ANOTHER_ORDER),
    of_sample("rand_uniform", "transposed", ANOTHER_ORDER),
    of_sample("rand_uniform", "beyond-limit", ONE_NUMBER),
    of_sample("rand_normal", "stale", ANOTHER_CALL),
    of_sample("rand_normal", "wave-tail-stale", ANOTHER_CALL),
    of_sample("rand_normal", "group-tail-stale", ANOTHER_CALL),
    of_sample("rand_normal", "neighbour", ANOTHER_ORDER),
    of_sample("rand_normal", "transposed", ANOTHER_ORDER),
    of_sample("rand_normal", "beyond-limit", ONE_NUMBER),
    of_sample("rand_uniform", "subnormals-flushed", NEAR_ZERO),
    of_sample("rand_uniform_seeded", "stale", ANOTHER_CALL),
    of_sample("rand_uniform_seeded", "neighbour", ANOTHER_ORDER),
    of_sample("rand_uniform_seeded", "subnormals-flushed", NEAR_ZERO),
    of_sample("rand_normal_seeded", "stale", ANOTHER_CALL),
    of_sample("rand_normal_seeded", "neighbour", ANOTHER_ORDER),
    of_sample("rand_normal_seeded", "subnormals-flushed", NEAR_ZERO),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_names_an_op_and_a_perturbation_and_stands_once() {
        for (i, entry) in DECLARED.iter().enumerate() {
            assert!(entry.op.parse::<Op>().is_ok(), "{entry:?}");
            let names = crate::PERTURBATIONS.iter().map(|perturbation| perturbation.name);
            assert_eq!(
                names.filter(|name| *name == entry.perturbation).count(),
                1,
                "{entry:?}"
            );
            let again = DECLARED[..i]
                .iter()
                .any(|other| (other.op, other.perturbation) == (entry.op, entry.perturbation));
            assert!(!again && entry.reason.len() > 20, "{entry:?}");
        }
    }
}
