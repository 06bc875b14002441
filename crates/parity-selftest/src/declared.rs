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

/// The entries.
pub const DECLARED: &[Declared] = &[
    Declared {
        op: "sort_asc",
        perturbation: "unstable-sort",
        reason: SAME_NUMBERS,
    },
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
